"""How files of rows are written: missing values, spaces, encoding, decimals, dates, sheets."""

from __future__ import annotations

import codecs
import difflib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from hartley.errors import OptionError
from hartley.files import one_line

DATES = ("year-first", "day-first", "month-first")
"""How days are written: 2024-12-31, 31.12.2024 or 12/31/2024."""
_TAB = ("tab", "\\t")


@dataclass(frozen=True)
class ReadingOptions:
    """How the files of a table are written, for every function that opens one.

    Args:
        null: texts that stand for a missing value, besides the empty field.
        trim: whether spaces around values and names of columns are left out.
        encoding: the encoding of CSV files, as Python names it: "utf-8", "cp1252", "utf-16".
        decimal: "." or ",", the sign before the decimals of a number.
        delimiter: the sign between the fields of a CSV file; None: the engine finds it.
        sheet: the sheet of an Excel file; None: the only one.
        header: the number of the line that holds the names of the columns; None: the first.
        dates: "year-first", "day-first" or "month-first": 2024-12-31, 31.12.2024, 12/31/2024.
        labels: whether values of SPSS, Stata and SAS files are replaced with their labels.
        names: names of the columns of CSV files that have no header line.

    Example:
        >>> ReadingOptions(null="?", trim=True).null
        ('?',)
    """

    null: tuple[str, ...] = ()
    trim: bool = False
    encoding: str = "utf-8"
    decimal: str = "."
    delimiter: str | None = None
    sheet: str | None = None
    header: int | None = None
    dates: str = "year-first"
    labels: bool = False
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        settle = functools.partial(object.__setattr__, self)
        settle("null", _texts("null", self.null))
        settle("names", None if self.names is None else _texts("names", self.names))
        for name in ("encoding", "decimal", "delimiter", "sheet", "dates"):
            value = getattr(self, name)
            if not (isinstance(value, str) or (value is None and name in _OPTIONAL)):
                raise _wrong(name, "is no text", "write it in quotes")
        for name in ("trim", "labels"):
            if not isinstance(getattr(self, name), bool):
                raise _wrong(name, "is neither true nor false", "write true or false")
        settle("encoding", _encoding(self.encoding))
        settle("delimiter", None if self.delimiter is None else _delimiter(self.delimiter))
        for name, choices in (("decimal", (".", ",")), ("dates", DATES)):
            if getattr(self, name) not in choices:
                shown = " or ".join(map(repr, choices))
                raise _wrong(name, f"is '{one_line(getattr(self, name))}'", f"write {shown}")
        _check_header(self.header, self.names)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the options that a file declares, for example the part [reading] of roles.

        Example:
            >>> ReadingOptions.from_dict({"null": ["?"], "decimal": ","}).decimal
            ','
        """
        known = [field.name for field in fields(cls)]
        for name in content:
            if name not in known:
                close = difflib.get_close_matches(str(name), known, n=1)
                raise OptionError(
                    f"'{one_line(str(name))}' is no option for reading a table",
                    hint=f"did you mean {close[0]}?" if close else f"use {', '.join(known)}",
                )
        return cls(**content)

    def to_dict(self) -> dict[str, Any]:
        """Return the options that differ from the default ones, as a file would declare them.

        Example:
            >>> ReadingOptions(null=("?",), trim=True).to_dict()
            {'null': ['?'], 'trim': True}
        """
        plain = type(self)()
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field in fields(self)
            if (value := getattr(self, field.name)) != getattr(plain, field.name)
        }

    def with_marks(self, null: str | Sequence[str], names: Sequence[str] | None) -> Self:
        """Return the options with more marks for missing values, and with names for the columns.

        Example:
            >>> ReadingOptions(null="?").with_marks("NA", None).null
            ('?', 'NA')
        """
        marks = dict.fromkeys([*self.null, *_texts("null", null)])
        given = self.names if names is None else _texts("names", names)
        return replace(self, null=tuple(marks), names=given)

    @property
    def marks(self) -> tuple[str, ...]:
        """The texts that stand for a missing value, the empty one among them."""
        listed = [mark.strip() for mark in self.null] if self.trim else self.null
        return tuple(dict.fromkeys(["", *listed]))

    @property
    def rewrites(self) -> bool:
        """Whether texts mean something else than what the engine would take them for."""
        return self.trim or self.decimal != "." or self.dates != "year-first"


_OPTIONAL = ("delimiter", "sheet")


def _texts(name: str, value: object) -> tuple[str, ...]:
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, Sequence) or not all(isinstance(item, str) for item in listed):
        raise _wrong(name, "is no list of texts", 'write it like ["?", "NA"]')
    return tuple(listed)


def _encoding(name: str) -> str:
    """Return the usual name of an encoding of texts."""
    try:
        codec = codecs.lookup(name)
        codec.incrementaldecoder().decode(b"", final=True)
        " ".encode(codec.name)
    except (LookupError, TypeError, ValueError):
        raise _wrong(
            "encoding", f"'{one_line(name)}' is unknown", "use utf-8, cp1252, latin-1 or utf-16"
        ) from None
    return "utf-8" if codec.name == "utf-8-sig" else codec.name


def _delimiter(sign: str) -> str:
    sign = "\t" if sign.lower() in _TAB else sign
    if len(sign.encode()) != 1 or sign in '"\r\n\0':
        raise _wrong("delimiter", f"is '{one_line(sign)}'", "use one sign such as ';' or 'tab'")
    return sign


def _check_header(line: object, names: object) -> None:
    if line is None:
        return
    if type(line) is not int or line < 1:
        raise _wrong("header", "is no number of a line", "the first line is 1")
    if names is not None:
        raise OptionError(
            "Names were given for columns, and a line that names them too",
            hint="name the columns, or the line of the header",
        )


def _wrong(name: str, why: str, hint: str) -> OptionError:
    return OptionError(f"The option {name} for reading a table {why}", hint=hint)


AS_WRITTEN = ReadingOptions()
"""UTF-8, decimal points, every space kept, and only empty fields missing."""
