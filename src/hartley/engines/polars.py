"""Polars: data frames of this process, audited and released without a copy.

Frames go to DuckDB unless Polars is asked for by name; the numbers and files are the same.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hartley.engines.dialect import Dialect, builtin
from hartley.errors import EngineError


class Polars(Dialect):
    """Frames in memory, and lazy ones that are read when something is asked."""

    name, title = "polars", "Polars"
    holds_frames = True
    # Copies are compared and asked by statements, which reach Polars as expressions only.
    keeps_copies = False
    most_exact_digits = 15  # longer decimals have more digits than the double of their numerator

    def version(self, backend: Any) -> str:
        """Return the version of the library."""
        del backend
        return str(_library().__version__)

    def owns(self, frame: object) -> bool:
        """Tell whether a frame is one of Polars, eager or lazy."""
        return isinstance(frame, (_library().DataFrame, _library().LazyFrame))

    def hold_frame(self, frame: Any, name: str) -> Any:
        """Register a frame of Polars, or anything that converts to Arrow, under a name."""
        import ibis

        held = frame if self.owns(frame) else _library().from_arrow(frame)
        return ibis.polars.connect().create_table(name, held)

    def failures(self) -> tuple[type[BaseException], ...]:
        """Return its exceptions: a panic, as of a file that changed under a lazy frame, is none."""
        return (Exception, _library().exceptions.PanicException)

    # No ``batches`` of its own: the streaming engine of Polars 2.1 (``collect_batches``) gives rows
    # in another order, although it is asked to keep it. So all results are collected at once.

    def divide(self, dividend: Any, divisor: Any) -> Any:
        """Divide with Arrow: Polars multiplies by the reciprocal of a constant, rounding twice.

        It also does so where it finds out by itself that a column is constant or has one row.
        """
        return _quotient()(dividend, divisor)

    def exact_sum(self, integers: Any) -> Any:
        """Add up decimals, which Polars holds in 128 bits: its sums of 64 bits wrap silently."""
        return integers.cast("decimal(38, 0)").sum()

    def count_distinct(self, column: Any) -> Any:
        """Count the values that are there: Polars counts a missing one as one more."""
        return column.nunique(where=column.notnull())

    def with_previous(self, rows: Any, column: str, name: str) -> Any:
        """Sort and shift: Ibis has no windows of rows on Polars, which keeps the order of rows."""
        shift = builtin("shift", ("float64", "int64"), "float64")
        ordered = rows.order_by(column)
        return ordered.mutate(**{name: shift(ordered[column], 1)})

    def text_bytes(self, text: Any) -> Any:
        """Raise an error: only coded copies compare texts by their bytes."""
        del text
        self.refuse_copies()


def _library() -> Any:
    try:
        import polars as pl
    except ImportError:
        raise EngineError(
            "Polars is not installed", hint="pip install polars, or leave the engine out"
        ) from None
    return pl


@cache
def _quotient() -> Any:
    import ibis
    import ibis.expr.datatypes as dt

    types = (dt.float64, dt.float64), dt.float64
    return ibis.udf.scalar.pyarrow(_divide, name="hartley_quotient", signature=types)


def _divide(dividend: Any, divisor: Any) -> Any:
    import pyarrow.compute as pc

    return pc.divide(dividend, divisor)


POLARS = Polars()
