"""Whatever is read ends as a result or as one sentence: a seeded part of all cases.

All of them, and more: python tests/fuzz/fuzzer.py --cases 5000 --seed 7
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FUZZER = Path(__file__).with_name("fuzzer.py")


def fuzz(*words):
    return subprocess.run(
        [sys.executable, str(FUZZER), *words], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("cases", "seed"), [("280", "7"), pytest.param("5000", "8", marks=pytest.mark.long)]
)
def test_changed_documents_are_read_or_refused_in_a_sentence(cases, seed):
    run = fuzz("--cases", cases, "--seed", seed)
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-5000:]
    assert f"{cases} cases, 0 findings" in run.stdout
    readers = {line.split()[1] for line in run.stdout.splitlines() if re.match(r" +\d", line)}
    assert len(readers) == 21  # every way in is taken


PLANTED = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import fuzzer, readers
from hartley.errors import InputError

def careless(document, stage, luck):
    kind = luck.randrange(5)
    if kind == 0:
        raise KeyError(document)
    if kind == 1:
        raise InputError("two\\nlines".encode().decode("unicode_escape"), hint="")
    if kind == 2:
        readers.command("no-such-command")
    if kind == 3:
        while True:
            pass
    raise InputError("zq17private is not known", hint="name another")

fuzzer.SECONDS = 0.2
readers.READERS["head"] = careless
sys.exit(fuzzer.main())
"""


def test_the_fuzzer_finds_what_is_planted():
    run = subprocess.run(
        [
            *(sys.executable, "-c", PLANTED, str(FUZZER.parent)),
            *("--cases", "20", "--seed", "1", "--only", "head"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stderr
    assert "20 cases, 20 findings" in run.stdout
    for problem in ("KeyError", "has no hint", "exit code 2", "took more than", "shows a cell"):
        assert problem in run.stdout
