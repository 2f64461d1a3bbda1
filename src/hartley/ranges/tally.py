"""Count the pairs of a large table, the engine streaming and a kernel counting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hartley.engines.counting import coded_rows
from hartley.engines.view import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.counting import CodedRows, Coding, Progress
    from hartley.engines.view import View
    from hartley.kernels.pairs import Tally

DEFAULT_MEMORY = 2_000_000_000
"""Rows that need more than this many bytes are grouped by the engine instead."""


@dataclass(frozen=True)
class CodedTally:
    """A tally by code, what the codes mean and whether the engine had to spill."""

    tally: Tally
    secret: Coding
    released: Coding
    spilled: bool


def tally_pairs(
    view: View,
    secret_at: Sequence[int],
    released_at: Sequence[int],
    *,
    memory_limit: int | None = None,
    progress: Progress | None = None,
) -> CodedTally:
    """Count the pairs of a large DuckDB table, given which columns make up each side.

    Where the packed rows fit in memory they stream through the kernel; otherwise the engine
    groups them, spilling to disk, and only the distinct pairs stream by. Memory then grows with
    the two ranges alone.
    """
    from hartley.kernels.pairs import MOST_ROWS, bytes_needed, table_changed

    def count() -> CodedTally:
        with coded_rows(view, secret_at, released_at, memory_limit) as rows:
            needed = bytes_needed(view.rows, rows.secret.width, rows.released.width)
            spilled = needed > (memory_limit or DEFAULT_MEMORY) or view.rows > MOST_ROWS
            tally = _count_grouped(rows, progress) if spilled else _count_packed(rows, progress)
            if int(tally.secret_rows.sum()) != view.rows:
                raise table_changed()
            return CodedTally(tally, rows.secret, rows.released, spilled)

    counted: CodedTally = run(view.table, count)
    return counted


def _count_packed(rows: CodedRows, progress: Progress | None) -> Tally:
    """Stream every row, packed into one integer, through the kernel."""
    from hartley.kernels.pairs import PairTally

    tally = PairTally(secrets=rows.secret.width, released=rows.released.width)
    for keys in rows.packed(tally.secret_bits, progress):
        tally.add(keys)
    return tally.finish()


def _count_grouped(rows: CodedRows, progress: Progress | None) -> Tally:
    """Let the engine group, and stream the distinct pairs twice."""
    from hartley.kernels.pairs import PairCounter

    counter = PairCounter(secrets=rows.secret.width, released=rows.released.width)
    with rows.grouped() as pairs:
        for add, begin in ((counter.add, 0.0), (counter.add_shares, 0.5)):
            for batch in pairs.stream(None if progress is None else _half(progress, begin)):
                add(*batch)
    return counter.finish()


def _half(progress: Progress, begin: float) -> Progress:
    """Report one half of the work as a part of the whole."""
    return lambda share: progress(begin + share / 2)
