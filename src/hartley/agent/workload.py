"""A file of questions: SQL statements, each with its wish and its weight written in comments.

``-- bits=2``, ``-- error=0.5``, ``-- min_rows=100`` and ``-- weight=3`` may stand before a
statement, inside it, or after its semicolon on the same line. Comments that begin otherwise are
remarks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.agent.questions.statement import DIALECT
from hartley.agent.quotes import Wish
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.files import one_line, read_text_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

MOST_STATEMENTS = 1000
"""A file with more questions is refused before they are read."""
_COMMENT = re.compile(r"--([^\n]*)|/\*(.*?)\*/", re.DOTALL)
_SETTING = re.compile(r"\s*(bits|error|min_rows|weight)\s*=\s*([^\s,;]*)[\s,;]*", re.IGNORECASE)


@dataclass(frozen=True)
class WorkloadEntry:
    """A question of a workload, its wish as it was written, and how much its error matters."""

    wish: Wish
    weight: Fraction = Fraction(1)

    def to_sql(self) -> str:
        """Return the question as a statement that ``parse_workload`` reads back."""
        wish = self.wish
        settings = [
            f"{name}={value}"
            for name, value in (
                ("bits", wish.bits),
                ("error", wish.error),
                ("min_rows", wish.min_rows),
            )
            if value is not None
        ]
        if self.weight != 1:
            settings.append(f"weight={self.weight}")
        head = f"-- {', '.join(settings)}\n" if settings else ""
        # A comment of the text could be read as another wish, or swallow the semicolon.
        return f"{head}{_without_comments(wish.text)};\n"


def read_workload(path: str | os.PathLike[str]) -> list[WorkloadEntry]:
    """Read a file of questions in SQL, separated by semicolons, with wishes in comments.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        ...     print("SELECT COUNT(*) FROM people; -- bits=2", file=file, flush=True)
        ...     read_workload(file.name)[0].wish.bits
        '2'
    """
    return parse_workload(read_text_file(path, what="file of questions"))


def parse_workload(text: str) -> list[WorkloadEntry]:
    r"""Return the questions of a text, with the wishes and weights in its comments.

    Only the text is split here; each question is read, or refused, when it is planned. Linear in
    the text.

    Example:
        >>> text = "-- bits=2\nSELECT COUNT(*) FROM people; SELECT AVG(age) FROM people -- weight=3"
        >>> for entry in parse_workload(text):
        ...     print(entry.wish.text, entry.wish.bits, entry.weight)
        SELECT COUNT(*) FROM people 2 1
        SELECT AVG(age) FROM people None 3
    """
    entries = []
    for statement, settings in _statements(text):
        entries.append(_entry(statement, settings))
        if len(entries) > MOST_STATEMENTS:
            raise OptionError(
                f"The file has more than {MOST_STATEMENTS:,} questions",
                hint="plan it in several parts",
            )
    if not entries:
        raise OptionError(
            "The file of questions has no question",
            hint="write SQL, for example SELECT COUNT(*) FROM people;",
        )
    return entries


def _entry(statement: str, settings: Sequence[tuple[str, str]]) -> WorkloadEntry:
    values: dict[str, str] = {}
    for name, value in settings:
        if name in values:
            raise OptionError(
                f"The question {one_line(statement)} has two comments with {name}=",
                hint="keep one of them",
            )
        values[name] = value
    if {"bits", "error"} <= values.keys():
        raise OptionError(
            f"The question {one_line(statement)} has comments with bits= and with error=",
            hint="keep one of them",
        )
    weight = read_weight(values.pop("weight", "1"))
    return WorkloadEntry(Wish(_without_comments(statement), **values), weight)


def read_weight(weight: object) -> Fraction:
    """Return a weight as an exact number, which must be positive.

    Example:
        >>> read_weight("0.5")
        Fraction(1, 2)
    """
    number = parse_number(weight, name="the weight of a question")
    if number <= 0:
        raise OptionError(
            f"The weight {one_line(str(weight))} of a question is not positive",
            hint="write a positive number; leave out questions that do not matter",
        )
    return number


def _statements(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each statement with the settings in the comments that belong to it."""
    begin = end = None
    settings: list[tuple[str, str]] = []
    place = last = 0
    for start, stop in _words(text):
        after, before = _gap(text, place, start, closed=end is not None)
        place = stop
        if end is not None:
            yield text[begin:end], settings + after
            begin = end = None
            settings, after = before, []
        else:
            settings = settings + after + before
        if text[start:stop] != ";":
            begin = start if begin is None else begin
            last = stop
        elif begin is not None:
            end = last
    after, before = _gap(text, place, len(text), closed=end is not None)
    if begin is not None:
        if end is None:
            end, after, before = last, after + before, []
        yield text[begin:end], settings + after
        settings = []
    if settings + before:
        name, value = (settings + before)[-1]
        raise OptionError(
            f"The comment {one_line(f'{name}={value}')} at the end of the file belongs to no "
            "question",
            hint="write it before its question, or after it on the same line",
        )


def _words(text: str) -> list[tuple[int, int]]:
    """Return the beginning and the end of every word of SQL; comments are no words."""
    from sqlglot import Dialect, errors

    try:
        tokens = Dialect.get_or_raise(DIALECT).tokenize(text)
    except (errors.SqlglotError, ValueError, IndexError):
        raise OptionError(
            "The file of questions cannot be read", hint="close every quotation mark and comment"
        ) from None
    return [(token.start, token.end + 1) for token in tokens]


def _without_comments(statement: str) -> str:
    """Return a statement without its comments, everything else as it was written."""
    parts, place = [], 0
    for start, stop in _words(statement):
        parts += [_COMMENT.sub(" ", statement[place:start]), statement[start:stop]]
        place = stop
    return "".join(parts).strip().rstrip("; \n")


def _gap(
    text: str, start: int, stop: int, *, closed: bool
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the settings between two words: for the question before, and for the one after.

    What follows a semicolon on its line belongs to the question that it ends.
    """
    before: list[tuple[str, str]] = []
    after: list[tuple[str, str]] = []
    for comment in _COMMENT.finditer(text, start, stop):
        same_line = closed and "\n" not in text[start : comment.start()]
        (after if same_line else before).extend(_settings(comment[1] or comment[2] or ""))
    return after, before


def _settings(comment: str) -> Iterator[tuple[str, str]]:
    """Yield the settings of a comment that begins with one; nothing for a remark."""
    place = 0
    while match := _SETTING.match(comment, place):
        if not match[2]:
            raise OptionError(
                f"The comment {one_line(comment.strip())} gives {match[1].lower()}= no value",
                hint="write for example -- bits=2, -- error=0.5 or -- weight=3",
            )
        yield match[1].lower(), match[2]
        place = match.end()
    if place and comment[place:].strip():
        raise OptionError(
            f"The comment {one_line(comment.strip())} cannot be read as a wish",
            hint="write for example -- bits=2, weight=3, and remarks in a comment of their own",
        )
