"""Evidence of how a result came about: when, by which version and command, from which files.

A page and a JSON text carry it in a place of its own, with an empty place for a signature. It is no
part of the result, so that the same data give the same result at any time.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import shlex
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.errors import InputError, printable, without_password
from hartley.files import STANDARD_INPUT, file_digest
from hartley.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

EPOCH = "SOURCE_DATE_EPOCH"
"""The variable that fixes the time, in seconds since 1970, so that a run repeats exactly."""


@dataclass(frozen=True)
class FileDigest:
    """A file and the SHA-256 fingerprint of its bytes."""

    file: str
    sha256: str

    def to_dict(self) -> dict[str, str]:
        """Return it as plain values."""
        return {"file": self.file, "sha256": self.sha256}


@dataclass(frozen=True)
class Evidence:
    """How a result came about.

    Example:
        >>> made = Evidence("2026-11-16T09:00:00Z", "0.1", ("audit", "my file.csv"))
        >>> made.command
        "hartley audit 'my file.csv'"
        >>> made.to_dict()["signature"] is None
        True
    """

    time: str
    version: str
    words: tuple[str, ...] | None = None
    """The words after ``hartley`` on the command line; None if a function was called."""
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[FileDigest, ...] = ()
    outputs: tuple[FileDigest, ...] = ()

    @property
    def command(self) -> str | None:
        """The command, quoted for a shell; passwords in addresses are left out."""
        return None if self.words is None else shlex.join(["hartley", *self.words])

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, with an empty place for a signature."""
        return {
            "time": self.time,
            "version": self.version,
            "command": self.command,
            "options": dict(self.options),
            "inputs": [one.to_dict() for one in self.inputs],
            "outputs": [one.to_dict() for one in self.outputs],
            "signature": None,
        }

    def script(self) -> str:
        """Return a shell script that checks the inputs and runs the command again.

        Example:
            >>> made = Evidence("2026-11-16T09:00:00Z", "0.1", ("audit", "a b.csv"))
            >>> print(made.script().splitlines()[-1])
            exec hartley audit 'a b.csv' "$@"
        """
        lines = [
            "#!/bin/sh",
            f"# Repeats what Hartley {self.version} did at {self.time}. Run it in the same folder;",
            "# add --force to replace the files that it wrote.",
            "set -eu",
        ]
        for digest in self.inputs:
            # A name with a line break or a backslash has another form in a list of sha256sum, and
            # standard input can be read only once.
            if digest.file == STANDARD_INPUT:
                lines.append(f"# Standard input had the fingerprint {digest.sha256}")
            elif digest.file.isprintable() and "\\" not in digest.file:
                checked = shlex.quote(f"{digest.sha256}  {digest.file}")
                lines.append(f"printf '%s\\n' {checked} | sha256sum -c - >&2")
            else:
                lines.append(f"# {printable(digest.file)} had the fingerprint {digest.sha256}")
        return "\n".join([*lines, f'exec {self.command} "$@"', ""])


def timestamp() -> str:
    """Return the time in UTC, or the one that ``SOURCE_DATE_EPOCH`` fixes."""
    fixed = os.environ.get(EPOCH, "")
    seconds = int(fixed) if re.fullmatch(r"\d{1,11}", fixed) else None
    now = dt.datetime.now(dt.UTC) if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Recording:
    """What a running command was asked, and the files that it reads and may write."""

    words: tuple[str, ...]
    options: Mapping[str, Any]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    time: str = field(default_factory=timestamp)

    def evidence(self) -> Evidence:
        """Return what is known now: the outputs are those that are complete."""
        return Evidence(
            self.time,
            __version__,
            tuple(map(without_password, self.words)),
            self.options,
            digests(self.reads),
            digests(self.writes),
        )


_RECORDING: ContextVar[Recording | None] = ContextVar("recording", default=None)


@contextmanager
def recording(command: Recording) -> Iterator[None]:
    """Record a command while it runs, for the pages and the JSON that it writes."""
    mark = _RECORDING.set(command)
    try:
        yield
    finally:
        _RECORDING.reset(mark)


def record_options(options: Mapping[str, Any]) -> None:
    """Add options that a running command does not find on its command line."""
    if (running := _RECORDING.get()) is not None:
        _RECORDING.set(replace(running, options={**running.options, **options}))


def recorded_evidence() -> Evidence | None:
    """Return the evidence of the command that runs; None if none does."""
    running = _RECORDING.get()
    return None if running is None else running.evidence()


def page_evidence(path: str | os.PathLike[str]) -> Evidence:
    """Return the evidence for a page, which cannot hold the fingerprint of itself."""
    made = recorded_evidence() or Evidence(timestamp(), __version__)
    page = os.path.realpath(path)
    others = (one for one in made.outputs if os.path.realpath(one.file) != page)
    return replace(made, outputs=tuple(others))


def digests(files: Iterable[str]) -> tuple[FileDigest, ...]:
    """Return the fingerprints of the files that exist and can be read."""
    known = []
    for file in dict.fromkeys(files):
        try:
            known.append(FileDigest(file, file_digest(file)))
        except InputError:  # not written, gone, or a folder
            continue
    return tuple(known)


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a command as plain values; those that were not given are left out.

    Example:
        >>> plain_options({"table": ["a.csv"], "html": Path("page.html"), "null": None})
        {'table': ['a.csv'], 'html': 'page.html'}
    """

    def plain(value: object) -> Any:  # noqa: ANN401 - nested plain values
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        kept = isinstance(value, (bool, int, float)) or value is None
        return value if kept else without_password(str(value))

    return {name: plain(value) for name, value in options.items() if value is not None}


def existing_files(texts: Sequence[str]) -> list[str]:
    """Return the files that words name: paths, COL=FILE and FILE.duckdb::TABLE."""
    parts = [
        part for text in texts for part in (text, text.rpartition("=")[2], text.partition("::")[0])
    ]
    return [part for part in dict.fromkeys(parts) if part and _is_file(part)]


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a null byte
        return False
