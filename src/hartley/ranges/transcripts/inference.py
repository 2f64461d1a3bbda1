"""Bounds that linear statements about a table imply, each with a proof or a witness."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hartley.errors import InputError
from hartley.ranges.multipliers import over_one_denominator
from hartley.ranges.transcripts.possible_records import LEAST_STEPS, all_totals
from hartley.ranges.transcripts.transcript import FAR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


MOST_UNKNOWNS = 30_000
"""A linear programme of more kinds of records than this is not solved."""
MOST_WHOLE = 5_000
"""With more kinds of records than this, no whole table is searched."""
MOST_NODES = 200
"""The most nodes of a search for a whole table."""

Table: TypeAlias = "tuple[NDArray[np.int64], ...]"
"""How many rows of each block have each kind of record."""


@dataclass(frozen=True)
class Block:
    """Rows that nobody can tell apart: each has one of some kinds of record."""

    rows: int
    weights: NDArray[np.int64]
    """What each kind adds to each statement: one row per kind, one column per statement."""

    def corners(self, cost: NDArray[np.int64], *, whole: bool = False) -> NDArray[np.intp]:
        """Return the kinds that a programme needs, by their numbers; see ``_corners``."""
        known = (cost == cost[0]).all() or any(
            (cost == column).all() or (cost == -column).all() for column in self.weights.T
        )
        if not known:  # a number of its own, beside those of the statements
            return _corners(np.column_stack([self.weights, cost]), whole=whole)
        return self._whole_corners if whole else self._plain_corners

    @cached_property
    def _plain_corners(self) -> NDArray[np.intp]:
        return _corners(self.weights)

    @cached_property
    def _whole_corners(self) -> NDArray[np.intp]:
        return _corners(self.weights, whole=True)


@dataclass(frozen=True)
class Proof:
    """Multipliers of statements, over one denominator: they prove a bound for every table.

    Any multipliers prove some bound; how good it is depends on them.
    """

    numerators: tuple[int, ...]
    denominator: int

    def fractions(self) -> dict[int, Fraction]:
        """Return the statements that are used, each with its multiplier."""
        return {i: Fraction(y, self.denominator) for i, y in enumerate(self.numerators) if y}


@dataclass(frozen=True)
class Reach:
    """What a total can be: never outside low to high, and certainly both least and most."""

    low: int
    high: int
    below: Proof | None = None
    """Why it is not smaller than ``low``; None where the schema alone, or a trial of all, says so.
    """
    above: Proof | None = None
    """Why it is not larger than ``high``, as multipliers for the negative of the total."""
    least: int | None = None
    """The smallest and the largest total of a table that was checked; None where none was found."""
    most: int | None = None
    values: int | None = None
    """How many totals are possible, where all tables were followed."""

    @property
    def settled(self) -> bool:
        """Whether one total alone is left."""
        return self.low == self.high

    @property
    def exact(self) -> bool:
        """Whether both ends are totals of tables that fit."""
        return self.low == self.least and self.high == self.most

    @property
    def fewest(self) -> int:
        """How many totals are certainly possible: one is, since some table was answered about."""
        if self.values is not None:
            return self.values
        return 1 + (self.least is not None and self.least != self.most)


@dataclass(frozen=True)
class Statements:
    r"""Blocks of rows, and statements that bound sums over all of them.

    For whole numbers of rows m with totals t between the ends l and h of all statements,

    .. math:: c \cdot m \ge \sum_b n_b \min_k \bigl(c_k - y \cdot w_k\bigr)
        + \sum_j \bigl(y_j^+ l_j - y_j^- h_j\bigr)

    holds for every y, and for the best y the right side is the least that fractions of rows allow
    (linear programming duality). So the best bound is that of all linear combinations of the
    statements at once.

    Example:
        >>> pay = np.arange(51)[:, None]
        >>> nobody = 0 * pay
        >>> eve, ann, bob = ([pay, nobody, nobody], [pay, pay, nobody], [pay, nobody, pay])
        >>> blocks = tuple(Block(1, np.hstack(weights)) for weights in (eve, ann, bob))
        >>> totals = np.array([83, 32, 14])  # of all, of Ann, of Bob
        >>> sums = Statements(blocks, totals, totals).reach([pay[:, 0], nobody[:, 0], nobody[:, 0]])
        >>> sums.low, sums.high, [str(y) for y in sums.below.fractions().values()]
        (37, 37, ['1', '-1', '-1'])
    """

    blocks: tuple[Block, ...]
    low: NDArray[np.int64]
    """The smallest that the total of each statement can be; -FAR is no end."""
    high: NDArray[np.int64]
    tables: list[Table] = field(default_factory=list, compare=False)
    """Whole tables that fit, as found so far; each of them tells something about every total."""

    # --- proofs -------------------------------------------------------------------------------

    def bound(self, costs: Sequence[NDArray[np.int64]], proof: Proof) -> Fraction:
        """Return what the multipliers prove: no table that fits has a smaller total cost."""
        numerators = [
            0 if (y > 0 and low <= -FAR) or (y < 0 and high >= FAR) else y
            for y, low, high in zip(
                proof.numerators, self.low.tolist(), self.high.tolist(), strict=True
            )
        ]
        total = sum(
            y * (low if y > 0 else high)
            for y, low, high in zip(numerators, self.low.tolist(), self.high.tolist(), strict=True)
            if y
        )
        for block, cost in zip(self.blocks, costs, strict=True):
            if block.rows:
                total += block.rows * _least_left(block, cost, numerators, proof.denominator)
        return Fraction(total, proof.denominator)

    def prove(self, costs: Sequence[NDArray[np.int64]]) -> tuple[Fraction, Proof] | None:
        """Return the best lower bound of the total cost and its proof; None where none is found."""
        prices = propose_multipliers(self, costs)
        if prices is None or not np.isfinite(prices).all():
            return None
        proofs = [Proof(numerators, d) for numerators, d in over_one_denominator(prices)]
        return max(
            ((self.bound(costs, proof), proof) for proof in proofs),
            key=lambda bounded: bounded[0],
        )

    # --- witnesses ----------------------------------------------------------------------------

    def fits(self, table: Table) -> bool:
        """Return whether a whole table has as many rows as there are, and agrees with all told."""
        if any(
            (m < 0).any() or int(m.sum()) != b.rows for m, b in zip(table, self.blocks, strict=True)
        ):
            return False
        totals = sum((m @ b.weights for m, b in zip(table, self.blocks, strict=True)), 0 * self.low)
        return bool((self.low <= totals).all() and (totals <= self.high).all())

    def witness(self, costs: Sequence[NDArray[np.int64]]) -> Table | None:
        """Return a whole table that fits, of a small total cost; None where none is found."""
        table = _whole_table(self, costs)
        if table is None or not self.fits(table):
            return None
        self.tables.append(table)
        return table

    # --- both ---------------------------------------------------------------------------------

    def plain(self, costs: Sequence[NDArray[np.int64]]) -> tuple[int, int]:
        """Return the smallest and the largest total cost before anything was told."""
        pairs = [(b.rows, c) for b, c in zip(self.blocks, costs, strict=True) if b.rows]
        return (
            sum(rows * int(cost.min()) for rows, cost in pairs),
            sum(rows * int(cost.max()) for rows, cost in pairs),
        )

    def reach(
        self, costs: Sequence[NDArray[np.int64]], *, steps: int = 0, search: bool = True
    ) -> Reach:
        """Return what the total of a whole number a row can be.

        Args:
            costs: the number of each kind of each block.
            steps: how many steps following all tables one by one may take; see ``all_totals``.
            search: whether to search whole tables that reach the ends.
        """
        low, high = self.plain(costs)
        totals = self._followed(costs, steps)
        possible = self._seen(costs) if totals is None else (int(totals[0]), int(totals[-1]))
        values = None if totals is None else totals.size
        if possible == (low, high):  # nothing beyond it needs a proof
            return Reach(low, high, None, None, *possible, values)
        negative = [-cost for cost in costs]
        below, above = self.prove(costs), self.prove(negative)
        if below is not None:
            low = max(low, math.ceil(below[0]))
        if above is not None:
            high = min(high, -math.ceil(above[0]))
        if totals is not None:
            low, high = int(totals[0]), int(totals[-1])
        elif low < high and search:
            if possible[0] != low:
                self.witness(costs)
            if possible[1] != high:
                self.witness(negative)
            possible = self._seen(costs)
        if low > high:
            raise _no_table()
        if low == high:
            possible = low, high
        return Reach(
            low,
            high,
            below[1] if below is not None and math.ceil(below[0]) == low else None,
            above[1] if above is not None and -math.ceil(above[0]) == high else None,
            *possible,
            1 if low == high else values,
        )

    def _seen(self, costs: Sequence[NDArray[np.int64]]) -> tuple[int | None, int | None]:
        totals = [
            sum(int(m @ cost) for m, cost in zip(table, costs, strict=True))
            for table in self.tables
        ]
        return min(totals, default=None), max(totals, default=None)

    def _followed(self, costs: Sequence[NDArray[np.int64]], steps: int) -> NDArray[np.int64] | None:
        """Return all totals in order, by way of all tables; None where those are too many."""
        rows = [block.rows for block in self.blocks]
        if sum(rows) * LEAST_STEPS > steps:
            return None
        tables = [
            np.unique(np.column_stack([block.weights, cost]), axis=0)
            for block, cost in zip(self.blocks, costs, strict=True)
        ]
        limits = np.append(self.low, -FAR), np.append(self.high, FAR)
        nobody = np.zeros((1, limits[0].size), np.int64)
        states = all_totals(tables, rows, nobody, limits, [steps])
        if states is not None and not len(states):
            raise _no_table()
        return None if states is None else np.unique(states[:, -1])


def _no_table() -> InputError:
    return InputError(
        "No table fits all the answers",
        hint="use the ledger and the schema of the table that was asked",
    )


def _least_left(
    block: Block, cost: NDArray[np.int64], numerators: Sequence[int], denominator: int
) -> int:
    """Return the least of cost minus multipliers times weights, in exact whole numbers."""
    used = [i for i, y in enumerate(numerators) if y]
    weights = block.weights[:, used]
    multipliers = [numerators[i] for i in used]
    largest = int(np.abs(weights).max(initial=0)) * sum(map(abs, multipliers))
    fits = largest + int(np.abs(cost).max(initial=0)) * denominator < FAR
    kind: Any = np.int64 if fits else object
    reduced_costs = cost.astype(kind) * denominator - weights.astype(kind) @ np.array(
        multipliers, kind
    )
    return int(reduced_costs.min())


# --- what the solver proposes -------------------------------------------------------------------


def propose_multipliers(
    statements: Statements, costs: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64] | None:
    """Ask a linear programme for multipliers of a good lower bound; None where it finds none."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    if not statements.low.size:
        return None
    parts = [
        (block.rows, block.weights[corners], cost[corners])
        for block, cost in zip(statements.blocks, costs, strict=True)
        if block.rows
        for corners in [block.corners(cost)]
    ]
    if sum(part[2].size for part in parts) > MOST_UNKNOWNS:
        return None
    weights = np.concatenate([part[1] for part in parts]).astype(np.float64)
    cost = np.concatenate([part[2] for part in parts]).astype(np.float64)
    scale = np.maximum(np.abs(weights).max(axis=0), 1.0)
    place = np.repeat(np.arange(len(parts)), [len(part[2]) for part in parts])
    upper, lower = statements.high < FAR, statements.low > -FAR
    columns = (weights / scale).T
    rows = np.concatenate([columns[upper], -columns[lower]])
    ends = np.concatenate([(statements.high / scale)[upper], (-statements.low / scale)[lower]])
    solved: Any = linprog(
        cost,
        A_ub=csr_array(rows),
        b_ub=ends,
        A_eq=csr_array((np.ones(cost.size), (place, np.arange(cost.size)))),
        b_eq=[float(part[0]) for part in parts],
        method="highs",
    )
    if solved.status != 0:
        return None
    prices = np.zeros(statements.low.size)
    prices[upper] += solved.ineqlin.marginals[: upper.sum()]
    prices[lower] -= solved.ineqlin.marginals[upper.sum() :]
    scaled: NDArray[np.float64] = prices / scale
    return scaled


def _corners(numbers: NDArray[np.int64], *, whole: bool = False) -> NDArray[np.intp]:
    """Leave out kinds that lie between two others, of which fractions of rows make no use.

    Of kinds that differ in one number alone, only those with its least and its largest stay; for
    whole rows also the 1st, 2nd, 4th, 8th ... after the least, which add up to every number in
    between. Kinds that count in the same statements are compared with each other.
    """
    _, patterns = np.unique(np.packbits(numbers != 0, axis=1), axis=0, return_inverse=True)
    order = np.argsort(patterns.reshape(-1), kind="stable")
    starts = np.flatnonzero(np.diff(patterns.reshape(-1)[order])) + 1
    parts = np.split(order, starts)
    return np.sort(np.concatenate([part[_ends_of_lines(numbers[part], whole)] for part in parts]))


def _ends_of_lines(numbers: NDArray[np.int64], whole: bool) -> NDArray[np.intp]:  # noqa: FBT001
    columns = {column.tobytes(): column for column in numbers.T if (column != column[0]).any()}
    if not columns:
        return np.zeros(1, np.intp)
    differing = np.column_stack(list(columns.values()))
    at = int(np.argmax(np.ptp(differing, axis=0)))
    widest, others = differing[:, at], np.delete(differing, at, axis=1)
    order = np.lexsort((widest, *others.T))
    changes = (others[order][1:] != others[order][:-1]).any(axis=1)
    first, last = np.append(True, changes), np.append(changes, True)
    is_end = first | last
    if whole:
        place = np.arange(order.size)
        after = place - np.maximum.accumulate(np.where(first, place, 0))
        is_end |= (after & (after - 1)) == 0
    return np.asarray(order[is_end])


def _whole_table(statements: Statements, costs: Sequence[NDArray[np.int64]]) -> Table | None:
    """Ask a search over whole numbers for a table of least cost; it need not fit."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    corners = [
        block.corners(cost, whole=True)
        for block, cost in zip(statements.blocks, costs, strict=True)
    ]
    place = np.repeat(np.arange(len(corners)), [kinds.size for kinds in corners])
    if place.size > MOST_WHOLE:
        return None
    rows = np.array([block.rows for block in statements.blocks], np.float64)
    weights = np.concatenate(
        [block.weights[kinds] for block, kinds in zip(statements.blocks, corners, strict=True)]
    ).astype(np.float64)
    sums = csr_array((np.ones(place.size), (place, np.arange(place.size))))
    conditions = [LinearConstraint(sums, rows, rows)]
    if statements.low.size:
        low = np.where(statements.low > -FAR, statements.low, -np.inf)
        high = np.where(statements.high < FAR, statements.high, np.inf)
        conditions.append(LinearConstraint(csr_array(weights.T), low, high))
    solved: Any = milp(
        np.concatenate([cost[kinds] for cost, kinds in zip(costs, corners, strict=True)]),
        constraints=conditions,
        integrality=np.ones(place.size),
        bounds=Bounds(0, rows[place]),
        options={"node_limit": MOST_NODES},
    )
    if solved.x is None:
        return None
    numbers, table = np.rint(solved.x).astype(np.int64), []
    for i, (block, kinds) in enumerate(zip(statements.blocks, corners, strict=True)):
        counts = np.zeros(len(block.weights), np.int64)
        counts[kinds] = numbers[place == i]
        table.append(counts)
    return tuple(table)
