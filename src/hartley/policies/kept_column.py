"""A column released as it is, or clamped to a range."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.engines.maps.rules import Keep
from hartley.errors import OptionError
from hartley.policies.column import ColumnPolicy, Output, read_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.ranges.boxes.expression import Expression


@dataclass(frozen=True)
class KeptColumn(ColumnPolicy):
    """A column released as it is, or clamped to a range.

    Example:
        >>> KeptColumn("sex").to_rule()
        Keep(column='sex', low=None, high=None)
    """

    name: str
    low: Fraction | None = None
    high: Fraction | None = None

    kind = "keep"
    kinds = ("keep",)
    optional = ("low", "high")
    is_kept = True

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise OptionError("A range has only one end", hint="give both low and high, or neither")
        self.to_rule()

    @classmethod
    def read(cls, name: str, low: object = None, high: object = None) -> KeptColumn:
        """Build it from the fields of a file."""
        given = {"low": low, "high": high}
        return cls(name, **{f: read_number(end, f) for f, end in given.items() if end is not None})

    @classmethod
    def from_fields(cls, kind: str, name: str, fields: Mapping[str, object]) -> KeptColumn:
        """Build it from the fields of a file."""
        _ = kind  # there is one
        return cls.read(name, **fields)

    @property
    def range(self) -> tuple[Fraction, Fraction] | None:
        """The range to which values are clamped, if any."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def error(self) -> Fraction:
        """No value of the range is moved."""
        return Fraction(0)

    def to_rule(self) -> Keep:
        """Return what an engine executes."""
        return Keep(self.name, self.low, self.high)

    def to_rules(self) -> tuple[Keep]:
        """Return what an engine executes."""
        return (self.to_rule(),)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        return {} if self.range is None else {"low": str(self.low), "high": str(self.high)}

    def rises_between(self) -> tuple[Expression, ...]:
        """Return that what is released rises with the column everywhere."""
        return ()

    def outputs(self) -> Output:
        """Return that any value can come out, unless the range is a single number."""
        single = self.low is not None and self.low == self.high
        return Output(self.name, 1 if single else None, frozenset({self.name}))
