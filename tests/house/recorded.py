"""Record what commands print and public functions return, to prove that a change moves nothing.

    python tests/house/recorded.py [GROUP...]

writes ``tests/fixtures/recorded`` again; ``test_recorded.py`` compares it entry by entry. What runs
stands in ``tests/fixtures/inputs/recorded``:

- ``commands.txt`` has groups of commands. Those of a group run one after the other in a folder of
  their own, once with ``--text`` and once with ``--json``;
- ``calls.txt`` has groups of Python expressions. ``name = ...`` is kept for the next ones.

A line with ``<a|b>`` stands for two lines, one with ``a`` and one with ``b``; a line that is
indented goes on with the one before. The folder also has the files of ``tests/fixtures/inputs`` and
of ``examples``.

Only the command line and public names are used. Folders, versions, times and random names become
words, and the fingerprint of a file becomes the name of the file. Floats are kept to 12 digits.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
import math
import os
import re
import shlex
import shutil
import sys
import tempfile
import warnings
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pyarrow as pa

sys.path.append(str(Path(__file__).parents[1]))  # as the tests have it, for command_line

import hartley
from command_line import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
INPUTS = ROOT / "tests" / "fixtures" / "inputs"
RECORDED = ROOT / "tests" / "fixtures" / "recorded"
ENVIRONMENT = {
    "COLUMNS": "110",
    "HARTLEY_DATA": "cache",
    "NO_COLOR": "1",
    "SOURCE_DATE_EPOCH": "1000000000",
    "TERM": "dumb",
}
HEADING = "=== "
"""What the line begins with that names an entry."""
LONGEST = {".csv": 1000}
"""Of a text with more characters, the beginning and a digest of all of it are kept: 4,000 else."""
WRITTEN = (".csv", ".html", ".json", ".sarif", ".sh", ".sql", ".toml", ".xml")
"""Endings of files whose text is recorded when a command has written them."""
MASKS = {
    r"\x1b\[[0-9;]*m": "",
    r"\b20(2[5-9]|[3-9]\d)-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00| UTC)?)?": "<time>",
    rf"(?<![\d.]){re.escape(hartley.__version__)}(?![\d.])": "<version>",
    r" at 0x[0-9a-f]+": "",
    r"Matplotlib v[\d.]+": "Matplotlib",
    r'(?<="seconds": )[\d.]+': "0",
    r"[ \t]+$": "",
}
"""What is not the same in every run, for every group, and what stands there instead."""
RANDOM = {r"\b(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,}\b": "<random>"}
MORE_MASKS = {
    "solvers": {
        r"\b\d+(\.\d+)?e-(0[7-9]|[1-9]\d)\b": "0.0",
        r"\b0\.00001\b": "      0",  # or 0, as wide
    },
    "asking": RANDOM,
    "attacked_agents": RANDOM,
    "doctor": {
        r'\d+(\.\d+){1,3}[^\s"]*': "<version>",
        r'("?engine (postgres|spark)"?)[^}]*?(?=\n *}|\nengine)': r"\1 ...",
        "  +": "  ",
    },
}
DIGITS = {"solvers": 5}
"""Digits of a float that every processor computes alike: 12, but for iterations."""


# --- what runs ----------------------------------------------------------------------------------


def listed(name: str) -> dict[str, list[str]]:
    """Return the lines of a list by group, with every choice written out."""
    text = re.sub(r"\n[ \t]+", " ", (INPUTS / "recorded" / name).read_text(encoding="utf-8"))
    _, *parts = re.split(r"^\[(\w+)\]$", text, flags=re.MULTILINE)
    return {
        group: [
            each for line in lines.splitlines() if line and line[0] != "#" for each in choices(line)
        ]
        for group, lines in zip(parts[::2], parts[1::2], strict=True)
    }


def choices(line: str) -> Iterator[str]:
    """Return a line once for every combination of its choices."""
    parts = re.split(r"<([^<>|]*(?:\|[^<>|]*)+)>", line)
    offered = [part.split("|") if place % 2 else [part] for place, part in enumerate(parts)]
    return map("".join, itertools.product(*offered))


@contextlib.contextmanager
def prepared() -> Iterator[Path]:
    """Work in a new folder with all inputs, and fix what programs look at besides."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        shutil.copytree(INPUTS, folder, dirs_exist_ok=True)
        shutil.copytree(ROOT / "examples", folder / "examples")
        with mock.patch.dict(os.environ, ENVIRONMENT), contextlib.chdir(folder):
            yield folder


# --- what is kept of it -------------------------------------------------------------------------


UNSEEN = {"metadata", "script", "style"}


class Text(HTMLParser):
    """The texts of a page, one a line."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, _attributes: Any) -> None:
        self.hidden += tag in UNSEEN

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in UNSEEN

    def handle_data(self, data: str) -> None:
        if data.strip() and not self.hidden:
            self.parts.append(" ".join(data.split()))


def page_text(page: str) -> str:
    return "\n".join(Text(page).parts)


def masked(text: str, folder: Path, group: str = "") -> str:
    """Return a text without what belongs to a machine, a moment or a run."""
    digests = set(re.findall(r"\b[0-9a-f]{64}\b", text))
    for path in folder.rglob("*") if digests else ():
        if path.is_file() and (digest := digest_of(path)) in digests:
            text = text.replace(digest, f"<sha256 of {path.relative_to(folder)}>")
    text = text.replace(str(folder), "<folder>")
    for pattern, word in (MASKS | MORE_MASKS.get(group, {})).items():
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    digits = DIGITS.get(group, 12)

    def rounded(found: re.Match[str]) -> str:
        if len(re.sub(r"e.*|^[0.]+|\.", "", found[0])) <= digits:
            return found[0]
        return repr(float(f"{float(Fraction(found[0])):.{digits}g}"))

    exact = r"|\d{9,}/\d+" if group in DIGITS else ""
    return re.sub(rf"(?<![\w.])(\d+\.\d+(e[+-]?\d+)?{exact})(?![\w.])", rounded, text).strip("\n")


def digest_of(content: Path | str) -> str:
    """Return the fingerprint of a file or a text."""
    data = content.encode() if isinstance(content, str) else content.read_bytes()
    return hashlib.sha256(data).hexdigest()


def as_json(value: object) -> str:
    """Return plain values as sorted JSON, lists and tables without further ones on one line."""
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, default=str)
    return re.sub(r"[\[{]\s[^\[\]{}]*[\]}]", lambda found: " ".join(found[0].split()), text)


def json_again(text: str) -> str:
    try:
        return as_json(json.loads(text))
    except ValueError:
        return text


def kept(text: str, ending: str = "") -> str:
    """Return a text that is not too long, in which no line looks like a heading."""
    assert not re.search(f"^{HEADING}", text, re.MULTILINE), text
    longest = LONGEST.get(ending, 4000)
    return text if len(text) <= longest else f"{text[:longest]}\n... of {digest_of(text)}"


# --- commands -----------------------------------------------------------------------------------


def helps() -> dict[str, str]:
    """Return the help of all commands and sub-commands."""
    entries = {}
    waiting: list[tuple[str, ...]] = [()]
    with prepared() as folder:
        while waiting:
            words = waiting.pop()
            text = masked(run(*words, "--help").stdout, folder)
            plainer = re.sub(r" *│$|(?<=──)─+", "", text, flags=re.MULTILINE)
            entries[" ".join(["hartley", *words])] = plainer
            below = re.findall(r"^│ ([a-z][a-z-]+)  ", text, re.MULTILINE)
            waiting += [(*words, name) for name in below]
    return entries


def commands(group: str, lines: list[str]) -> dict[str, str]:
    """Return exit codes and all that commands print, draw and write, one after the other."""
    entries = {}
    for form in ("--text", "--json"):
        with prepared() as folder:
            for number, line in enumerate(lines, 1):
                for part, text in came_out(line, form, folder):
                    for kind, content in parts(part, masked(text, folder, group)):
                        entries[f"{number:02} hartley {line} | {kind}"] = content
                for page in folder.glob("*.html"):
                    page.unlink()
    return entries


def came_out(line: str, form: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Run a command, and yield what it printed and wrote: pages and files once, as text."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    done = run(
        *shlex.split(line.replace(" --html page.html", "") if form == "--json" else line), form
    )
    yield f"{form}, exit code and errors", f"{done.returncode}\n{done.stderr}"
    yield f"{form}, output", done.stdout
    for path in sorted(folder.rglob("*")) if form == "--text" else ():
        if path.suffix in WRITTEN and before.get(path) != path.stat().st_mtime_ns:
            yield str(path.relative_to(folder)), path.read_text(encoding="utf-8")


def parts(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield what is recorded of an output: of a page its texts, and a digest of all but its style.

    In the digest numbers count to one decimal: the pictures have more than every processor shares.
    """
    if name.endswith(".html"):
        rough = re.sub(r"<style>.*?</style>", "", text, count=1, flags=re.DOTALL)
        rough = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.1f}", rough)
        rough = re.sub(r"\b[a-z][0-9a-f]{10}\b", "name", rough)  # made of such numbers
        yield f"{name}, digest", digest_of(rough)
        text = page_text(text)
    if name.endswith((".json", "--json, output")):
        text = json_again(text)
    yield name, kept(text, name[-4:])


# --- calls --------------------------------------------------------------------------------------


def calls(group: str, lines: list[str]) -> dict[str, str]:
    """Return what calls return, or how they refuse, as texts."""
    entries = {}
    names = {"h": hartley, "Fraction": Fraction, "Path": Path, "math": math, "np": np, "pa": pa}
    with prepared() as folder, contextlib.ExitStack() as opened:
        for line in lines:
            name, _, expression = (
                line.partition(" = ") if re.match(r"\w+ = ", line) else ("", "", line)
            )
            try:
                value = eval(expression, names)  # noqa: S307 - the project's own calls
            except Exception as error:  # noqa: BLE001 - it is what comes out
                value = error
            if name:
                assert not isinstance(value, Exception), value
                names[name] = value
                if hasattr(value, "close"):
                    opened.callback(value.close)
            else:
                assert line not in entries, line
                entries[line] = kept(masked(shown(value), folder, group))
    return entries


def shown(value: Any) -> str:
    """Return all that a result says of itself: to readers, to programs and in a notebook."""
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    parts = [as_json(plain(value)) if not isinstance(value, str) else value]
    if type(value).__str__ not in {object.__str__, *(kind.__str__ for kind in PLAIN)}:
        parts.insert(0, f"str: {value}")
    if hasattr(value, "_repr_html_"):
        parts.append(f"html:\n{page_text(value._repr_html_())}")
    return "\n".join(parts)


PLAIN = (str, int, float, Fraction, tuple, list, dict, set, frozenset, np.ndarray, pa.Table)


def plain(value: Any) -> Any:  # noqa: PLR0911 - one for each kind
    """Return a value as JSON has it: exact numbers as their repr, other floats to 12 digits."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, pa.Table):
        return plain(value.to_pydict())
    if isinstance(value, Mapping):
        return {str(plain(name)): plain(item) for name, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain, value), key=repr)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value) if field.repr]
        return {name: plain(getattr(value, name)) for name in fields if name[0] != "_"}
    return repr(value)


# --- all of it ----------------------------------------------------------------------------------

GROUPS: dict[str, Callable[[], dict[str, str]]] = {"help": helps}
for _kind, _run in (("commands", commands), ("calls", calls)):
    for _group, _lines in listed(f"{_kind}.txt").items():
        GROUPS[f"{_kind}_{_group}"] = partial(_run, _group, _lines)


def found(group: str) -> dict[str, str]:
    """Return the entries of a group as they come out now."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # old names go on working
        return GROUPS[group]()


def read(group: str) -> dict[str, str]:
    """Return the entries of a group as they were recorded."""
    text = (RECORDED / f"{group}.txt").read_text(encoding="utf-8")
    parts = text.split(f"\n{HEADING}")[1:]
    return dict(part.removesuffix("\n").split("\n", 1) for part in parts)


def write(group: str) -> None:
    """Record a group, its entries in order."""
    entries = sorted(found(group).items())
    text = "".join(f"\n{HEADING}{name}\n{entry}\n" for name, entry in entries)
    (RECORDED / f"{group}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    RECORDED.mkdir(exist_ok=True)
    for chosen in sys.argv[1:] or GROUPS:
        write(chosen)
