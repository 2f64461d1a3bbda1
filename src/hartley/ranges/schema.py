"""The public description of a table: its columns, their ranges and steps, whose data it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from hartley.exact import log_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

Role = Literal["public", "open", "private"]


@dataclass(frozen=True)
class Column:
    """A column as everybody may know it: its values are numbered 0 to points - 1."""

    name: str
    kind: Role
    """Public: known to everybody. Open: private, its value paid for once. Private: priced."""
    values: tuple[str | int | bool, ...] | None = None
    """The categories, in order; None of a numeric column."""
    other: bool = False
    """Whether every further category is one more value, the last."""
    low: Fraction | None = None
    high: Fraction | None = None
    step: Fraction | None = None
    """Code k of a numeric column means low + k step; others are clamped and snapped."""
    date: bool = False
    """Whether the numbers are days since 1970-01-01."""
    nullable: bool = False
    unit: str | None = None

    @property
    def numeric(self) -> bool:
        """Whether the values can be added."""
        return self.values is None

    @property
    def points(self) -> int:
        """How many values there are, a missing one not counted."""
        if self.values is not None:
            return len(self.values) + self.other
        assert self.low is not None
        assert self.high is not None
        assert self.step is not None
        return int((self.high - self.low) / self.step) + 1

    @property
    def size(self) -> int:
        """How many values there are, a missing one counted."""
        return self.points + self.nullable


@dataclass(frozen=True)
class Schema:
    """What everybody may know of a table."""

    name: str
    columns: Mapping[str, Column]
    unit: str | None = None
    """The column that names the person; without one, one row is one person."""
    rows_per_unit: int = 1
    rows: Literal["public", "private"] = "public"
    max_rows: int | None = None
    """The most rows that there can be; needed where the number of rows is private."""
    default_bits: Fraction = Fraction(1)

    @property
    def record_size(self) -> int:
        """How many records of one person there are, public columns set aside."""
        points = math.prod(c.size for c in self.columns.values() if c.kind != "public")
        r = self.rows_per_unit
        return math.comb(points + r - (self.rows == "public"), r)

    @property
    def record_bits(self) -> float:
        """The size of a record in bits."""
        return log_ratio(self.record_size)
