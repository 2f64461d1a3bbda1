"""Results as plain values: written by a table of their keys, and read from a reply by the same."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from hartley.errors import ReplyError
from hartley.exact import bits_at_least, write_integer
from hartley.files import (
    UNREADABLE,
    as_bits,
    as_cells,
    as_error,
    as_text,
    as_truth,
    as_whole,
    each,
    or_none,
    require,
)
from hartley.guarantees.promise import Certificate
from hartley.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SLACK = 1e-6
"""Bits that doubles may add."""
LONG = 10**15
"""Larger numbers of answers are shown as a power of two."""


@contextmanager
def reading_reply() -> Iterator[None]:
    """Raise ReplyError for anything that no service of this version replies."""
    try:
        yield
    except UNREADABLE:
        raise ReplyError(
            "The reply of the service is not in the form that this version of Hartley reads",
            hint="use the version of Hartley that the service runs",
        ) from None


def check_same(written: object, content: Any) -> None:  # noqa: ANN401 - nested plain values
    """Require that a reply says what was read from it; only the last digits of doubles may differ.

    A newer service may say more.
    """
    require(type(written) is type(content))  # 1, 1.0 and True are equal
    if isinstance(written, dict):
        for name, value in written.items():
            check_same(value, content[name])
    elif isinstance(written, list):
        for pair in zip(written, content, strict=True):
            check_same(*pair)
    elif isinstance(written, float):
        require(math.isclose(written, content, rel_tol=1e-9, abs_tol=1e-9))
        require(math.copysign(1, written) == math.copysign(1, content))
    else:
        require(written == content)


# --- codecs ---------------------------------------------------------------------------------------


class Codec(NamedTuple):
    """How a value is read from JSON, and how it is written there."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = lambda value: value


def many(codec: Codec) -> Codec:
    """Return the codec of a tuple of values."""
    return Codec(each(codec.read), lambda values: [codec.write(value) for value in values])


def perhaps(codec: Codec) -> Codec:
    """Return the codec of a value that may be None."""
    return Codec(or_none(codec.read), or_none(codec.write))


def ratio_bits(due: Fraction) -> float:
    """Return a charge in bits; it need not be a whole number of cells (docs/accountant.md)."""
    return bits_at_least(*due.as_integer_ratio())


def _write_ratio(due: Fraction) -> str:
    over = "" if due.denominator == 1 else f"/{write_integer(due.denominator)}"
    return f"{write_integer(due.numerator)}{over}"


def _read_ratio(text: object) -> Fraction:
    above, _, below = as_text(text).partition("/")
    due = Fraction(as_cells(above), as_cells(below or "1"))
    require(due >= 1)
    return due


def _read_promise(content: object) -> Certificate:
    """Read the certificate of answers: sound, with the same number wherever it is said."""
    certificate = Certificate.from_dict(content)
    cells = as_cells(certificate.parameters["cells"])
    check_same(bits_at_least(cells), certificate.value)
    require(certificate.sound)
    require(cells >= LONG or f" {cells:,} value" in certificate.claim)  # else in words
    return certificate


def certain_for(certificate: Certificate) -> str:
    """Say for which numbers answers are certain: those of the schema; empty if none was asked."""
    grids = certificate.parameters.get("certain_for")  # not in replies of earlier versions
    if not grids or not isinstance(grids, list):
        return ""
    return f"Certain for {listed(grids)}: other numbers count as the nearest."


TEXT, TRUTH, WHOLE, BITS = Codec(as_text), Codec(as_truth), Codec(as_whole), Codec(as_bits)
CELLS, RATIO, NUMBER = (
    Codec(as_cells, write_integer),
    Codec(_read_ratio, _write_ratio),
    Codec(as_error, str),
)
PROMISE = Codec(_read_promise, Certificate.to_dict)


# --- keys -----------------------------------------------------------------------------------------


class Field(NamedTuple):
    """A key that holds a field of a result."""

    name: str
    codec: Codec

    def write(self, result: object) -> object:
        """Return what stands under the key."""
        return self.codec.write(getattr(result, self.name))

    def read(self, content: object) -> dict[str, Any]:
        """Return the field, by its name."""
        return {self.name: self.codec.read(content)}


@dataclass(frozen=True)
class Lines:
    """A key that holds a list of objects; each of their keys holds an item of a field."""

    keys: dict[str, Field]

    def write(self, result: object) -> object:
        """Return the list."""
        columns = (
            many(field.codec).write(getattr(result, field.name)) for field in self.keys.values()
        )
        return [dict(zip(self.keys, line, strict=True)) for line in zip(*columns, strict=True)]

    def read(self, content: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the fields, by their names."""
        columns = {key: [line[key] for line in content] for key in self.keys}
        return {
            field.name: many(field.codec).read(columns[key]) for key, field in self.keys.items()
        }


class Said(NamedTuple):
    """A key that holds what follows from the fields."""

    write: Callable[[Any], object]

    def read(self, _: object) -> dict[str, Any]:
        """Return no field: ``check_same`` requires that the key holds what follows."""
        return {}


class Result:
    """A result that is written as plain values by a table of keys, and read by the same table."""

    KEYS: ClassVar[Mapping[str, Field | Lines | Said]]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, ready for JSON."""
        return {key: part.write(self) for key, part in self.KEYS.items()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read a reply; raise ReplyError for one that contradicts itself."""
        with reading_reply():
            result = cls._read(content)
            check_same(result.to_dict(), content)
        return result

    @classmethod
    def _read(cls, content: Mapping[str, Any], **more: object) -> Self:
        """Read the fields of a reply; ``more`` are those that no key holds."""
        given: dict[str, Any] = {}
        for key, part in cls.KEYS.items():
            given |= part.read(content[key])
        result = cls(**given, **more)
        result._check()
        return result

    def _check(self) -> None:
        """Raise an error for fields that no service puts together."""

    @classmethod
    def codec(cls) -> Codec:
        """Return the codec of such a result inside another one."""
        return Codec(cls._read, cls.to_dict)
