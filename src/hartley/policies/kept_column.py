"""A column released as it is, clamped to a range, or as the values of its step."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.engines.maps.rules import Keep, UniformCells
from hartley.errors import OptionError
from hartley.policies.column import ColumnPolicy, Output, points_between, read_number, read_step
from hartley.wording import counted, exactly

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.ranges.boxes.expression import Expression


@dataclass(frozen=True)
class KeptColumn(ColumnPolicy):
    """A column released as it is, or clamped to a range.

    With a step it is one of the values low, low + step, low + 2 step and so on up to high, which
    can be counted; a number between two of them is released as the nearest one.

    Example:
        >>> KeptColumn("sex").to_rule()
        Keep(column='sex', low=None, high=None)
        >>> KeptColumn.read("age", low=0, high=100, step=1).outputs().count
        101
    """

    name: str
    low: Fraction | None = None
    high: Fraction | None = None
    step: Fraction | None = None

    kind = "keep"
    kinds = ("keep",)
    optional = ("low", "high", "step")

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise OptionError("A range has only one end", hint="give both low and high, or neither")
        if self.step is not None and self.range is None:
            raise OptionError(
                "A step without a range says nothing", hint="give low and high beside the step"
            )
        self.to_rule()

    @classmethod
    def read(
        cls, name: str, low: object = None, high: object = None, step: object = None
    ) -> KeptColumn:
        """Build it from the fields of a file."""
        given = {"low": low, "high": high}
        ends = {f: read_number(end, f) for f, end in given.items() if end is not None}
        return cls(name, **ends, step=read_step(step, name))

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
    def points(self) -> int | None:
        """How many values there are, where there is a step."""
        if self.low is None or self.high is None or self.step is None:
            return None
        return points_between(self.low, self.high, self.step)

    @property
    def is_kept(self) -> bool:
        """Whether every value of the range stays as it is; between two steps it does not."""
        return self.step is None

    @property
    def lists_values(self) -> bool:
        """Whether only the values of a step are possible."""
        return self.step is not None

    @property
    def error(self) -> Fraction:
        """No value of the range, or of its step, is moved."""
        return Fraction(0)

    def to_rule(self) -> Keep | UniformCells:
        """Return what an engine executes: a step is a cell around every one of its values."""
        if self.low is None or self.step is None or self.points is None:
            return Keep(self.name, self.low, self.high)
        first = self.low - self.step / 2
        end = first + self.points * self.step
        return UniformCells(self.name, first, end, self.points, listed=True)

    def to_rules(self) -> tuple[Keep | UniformCells]:
        """Return what an engine executes."""
        return (self.to_rule(),)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        step = {} if self.step is None else {"step": str(self.step)}
        return {} if self.range is None else {"low": str(self.low), "high": str(self.high)} | step

    def rises_between(self) -> tuple[Expression, ...]:
        """Return that what is released rises with the column everywhere."""
        return ()

    def outputs(self) -> Output:
        """Return that any value can come out, or those of a step, or a single one."""
        single = self.low is not None and self.low == self.high
        if self.points is not None:
            return Output(self.name, self.points, frozenset({self.name}), is_exact=True)
        return Output(self.name, 1 if single else None, frozenset({self.name}))

    def sentence(self) -> str:
        """Say that the column is released as it is, and how many values it has where they count."""
        if self.points is None or self.low is None or self.step is None:
            return super().sentence()
        return (
            f"{self.name} is released exactly, as one of {counted(self.points, 'value')} from "
            f"{exactly(self.low)} on in steps of {exactly(self.step)}; a value between two of them "
            "as the nearest one."
        )
