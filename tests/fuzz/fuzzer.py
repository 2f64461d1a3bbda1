"""Feed changed documents to every reader and command; whatever is no sentence is a finding.

    python tests/fuzz/fuzzer.py --cases 5000 --seed 7
    python tests/fuzz/fuzzer.py --cases 500 --only policy question --keep findings

A case is a valid document with a few changes: other tokens, other lines, other bytes, deep nesting.
It may be read or be refused by a HartleyError. A message is one line with a hint, repeats no long
piece of the document and no cell of a table; it comes within seconds and in moderate memory.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from documents import PRIVATE
from mutations import mutate
from readers import READERS, Said, Unsaid, prepare

from hartley.errors import HartleyError

SECONDS = 10
"""Of the processor for one case; nearly all of them take a few milliseconds."""
STUCK_SECONDS = 120.0
"""Seconds on the clock after which a reader that never comes back to Python is given up."""
MEBIBYTES = 1024
"""By how much the memory of the process may grow in one case."""
LONGEST_MESSAGE = 1000
LONGEST_ECHO = 130
"""A line of the document may be repeated, and no more of it."""


@dataclass(frozen=True)
class Finding:
    """A case that did not end as it should, and all that is needed to see it again."""

    reader: str
    case: str
    problem: str
    document: bytes


class TookTooLong(BaseException):
    """Passes through every `except Exception`."""


def run_cases(
    cases: int, seed: int, only: list[str] | None = None
) -> tuple[list[Finding], Counter]:
    """Run some cases of every reader in turn; return what went wrong and how the cases ended."""
    findings, ends = [], Counter()
    folder = Path(tempfile.mkdtemp(prefix="hartley-fuzz-"))
    try:
        stage = prepare(folder)
        names = only or list(READERS)
        for number in range(cases):
            name = names[number % len(names)]
            # A case depends on its own number alone, so that one can be run again by itself.
            luck = random.Random(f"{seed} {number} {name}")  # noqa: S311 - a test
            document = mutate(luck.choice(stage.documents[name]), luck)
            problem, end = run_case(name, document, stage, luck)
            ends[f"{name}: {end}"] += 1
            if problem is not None:
                findings.append(Finding(name, f"{seed} {number}", problem, document))
                print(
                    f"--- {name}, case {seed} {number}\n{problem}\n{document[:300]!r}", flush=True
                )
    finally:
        shutil.rmtree(folder)
    return findings, ends


def run_case(
    name: str, document: bytes, stage: object, luck: random.Random
) -> tuple[str | None, str]:
    """Give a document to a reader; return what is wrong, if anything, and how it ended."""
    before, start = _peak(), time.monotonic()
    problem, end = None, "read"
    try:
        with _limited():
            READERS[name](document, stage, luck)
    except (HartleyError, Said) as error:
        problem, end = judge(str(error), document), "refused"
    except Unsaid as unsaid:
        problem, end = str(unsaid), "unsaid"
    except TookTooLong:
        problem, end = f"took more than {SECONDS} s\n{traceback.format_exc(limit=-6)}", "slow"
    except Exception:  # noqa: BLE001 - which is what a fuzzer looks for
        problem, end = traceback.format_exc(limit=-6), "crashed"
    if problem is None and _peak() - before > MEBIBYTES:
        problem = f"took {_peak() - before:.0f} MiB and {time.monotonic() - start:.1f} s"
    return problem, end


def judge(message: str, document: bytes) -> str | None:
    """Return what is wrong with a message about a document, or None."""
    text = document.decode("utf-8", "surrogateescape")
    problem, _, hint = message.partition("; hint: ")
    echoes = (message[i : i + LONGEST_ECHO] for i in range(len(message) - LONGEST_ECHO + 1))
    wrong = {
        "it is not one line": not message.isprintable(),
        "it is long": len(message) > LONGEST_MESSAGE,
        "it has no hint": not hint.strip() or not problem.strip(),
        "it has a traceback": "Traceback" in message,
        "it repeats a long piece of the document": any(echo in text for echo in echoes),
        "it shows a cell of the table": PRIVATE in message,
    }
    found = [what for what, holds in wrong.items() if holds]
    return f"{', '.join(found)}: {message[:2000]}" if found else None


@contextmanager
def _limited():
    def stop(*_):
        raise TookTooLong

    # Of the processor, not of the clock: the machine may be busy with other work.
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    # For what does not come back to Python at all.
    faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        faulthandler.cancel_dump_traceback_later()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=list(READERS))
    parser.add_argument("--keep", type=Path, help="a folder for the documents of findings")
    options = parser.parse_args()
    findings, ends = run_cases(options.cases, options.seed, options.only)
    for number, finding in enumerate(findings):
        if options.keep:
            options.keep.mkdir(exist_ok=True)
            (options.keep / f"{number}.{finding.reader}").write_bytes(finding.document)
    print(*(f"{times:6} {end}" for end, times in sorted(ends.items())), sep="\n")
    print(f"{options.cases} cases, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
