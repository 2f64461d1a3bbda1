"""Answers: numbers with intervals that certainly contain the truth, and tables of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fractions import Fraction

    import polars as pl
    import pyarrow as pa
    from rich.table import Table

    from hartley.agent.selection import Key


@dataclass(frozen=True)
class Estimate:
    """A number and an interval that certainly contains the truth.

    Example:
        >>> from fractions import Fraction
        >>> height = Estimate.within(Fraction(170), Fraction(171))
        >>> height.value, height.error
        (Fraction(341, 2), Fraction(1, 2))
    """

    value: Fraction | None
    """The middle of the interval; None where the answer is NULL."""
    low: Fraction | None
    high: Fraction | None
    error: Fraction | None
    """Half the width of the interval."""
    may_be_null: bool = False
    """Whether the true answer may be NULL; where it is not, it lies in the interval."""
    date: bool = False
    """Whether the numbers are days since 1970-01-01."""

    @classmethod
    def within(
        cls, low: Fraction, high: Fraction, *, may_be_null: bool = False, date: bool = False
    ) -> Estimate:
        """Return the estimate of an interval."""
        return cls((low + high) / 2, low, high, (high - low) / 2, may_be_null, date)

    @property
    def is_null(self) -> bool:
        """Whether the answer is NULL for certain."""
        return self.value is None


NULL = Estimate(None, None, None, None, may_be_null=True)


@dataclass(frozen=True)
class Reading:
    """The answer as a table: a row a group, an estimate a column."""

    keys: tuple[str, ...]
    groups: tuple[tuple[Key, ...], ...]
    labels: tuple[str, ...]
    rows: tuple[tuple[Estimate, ...], ...]

    @property
    def only(self) -> Estimate:
        """The one estimate of an answer that has one."""
        ((estimate,),) = self.rows
        return estimate

    def records(self) -> list[dict[str, object]]:
        """Return a dictionary a group, of plain values; intervals are rounded outward."""
        from hartley.agent.display import records

        return records(self)

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table: keys, and for each number value, low, high and error."""
        from hartley.agent.display import arrow_table

        return arrow_table(self)

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas carries no types
        """Return the same as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the same as a Polars frame."""
        from hartley.agent.display import polars_frame

        return polars_frame(self)

    def __rich__(self) -> Table:
        from hartley.agent.display import rich_table

        return rich_table(self)

    def _repr_html_(self) -> str:
        from hartley.agent.display import html_table

        return html_table(self)

    def __str__(self) -> str:
        from hartley.agent.display import plain_table

        return plain_table(self)
