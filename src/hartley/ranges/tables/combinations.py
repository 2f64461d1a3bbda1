"""What a weighted sum of numbers can be: bounds with multipliers, and tables at its ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.propagation import FAR
from hartley.ranges.multipliers import over_one_denominator
from hartley.ranges.tables.system import HIGH, LOW, NoTableFits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hartley.ranges.tables.component import TableComponent
    from hartley.ranges.tables.inference import Inference
    from hartley.ranges.tables.system import Multipliers

MOST_SEARCHED = 5_000
"""In a component of more unknown numbers than this, no whole table is searched for a sum."""
NODES = 2_000
"""The most nodes of such a search."""


@dataclass(frozen=True)
class CombinationRange:
    """What a weighted sum can be: never outside low to high, and certainly both least and most."""

    low: int | None
    """None is no end."""
    high: int | None
    below: Multipliers
    """Multipliers of the relations that prove ``low`` from what was stated."""
    above: Multipliers
    least: int | None
    """The smallest sum of a whole table that was checked; None where none was found."""
    most: int | None
    tables: tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]
    """Whole tables with these two sums."""


def combination_range(
    inference: Inference, weights: Mapping[int, int], *, search: bool = False
) -> CombinationRange:
    r"""Find out what a weighted sum of numbers can be.

    For any multipliers y of the relations A,

    .. math:: c \cdot x = (c - y A) \cdot x \ge \sum_k \min(d_k l_k, d_k u_k), \qquad d = c - y A

    and the best y, which a linear programme proposes, is that of all linear combinations of
    the relations at once. Parts of the system that share no relation are looked at one by one.

    Args:
        inference: the system, and what is known about it.
        weights: what each number counts with.
        search: whether to search whole tables for ends that no vertex of a programme attains.

    Example:
        >>> from hartley.kernels.propagation import FAR
        >>> from hartley.ranges.tables.inference import Inference
        >>> from hartley.ranges.tables.system import LinearSystem
        >>> row = LinearSystem.of([(3, [0, 1, 2])], [0, 0, 0, 9], [FAR, FAR, 4, 9])
        >>> sums = combination_range(Inference(row), {0: 2, 1: 2})
        >>> sums.low, sums.high, sums.least, sums.most, sums.below
        (10, 18, 10, 18, {0: Fraction(2, 1)})
    """
    parts: dict[int, dict[int, int]] = {}
    for cell, weight in weights.items():
        if weight:
            parts.setdefault(int(inference.component_of[cell]), {})[cell] = weight
    fixed = parts.pop(-1, {})
    settled = sum(weight * int(inference.bounds.low[cell]) for cell, weight in fixed.items())
    sums = [_PartSum.of(inference, name, part, search=search) for name, part in parts.items()]
    outer: list[int | None] = []
    proofs: list[Multipliers] = []
    for side in (LOW, HIGH):
        bounds = [part.outer[side] for part in sums]
        known = [end for end in bounds if end is not None]
        whole = settled + sum(known, Fraction(0))
        end = math.ceil(whole) if side == LOW else math.floor(whole)
        outer.append(end if len(known) == len(bounds) else None)
        used = {r: y for part in sums for r, y in part.multipliers[side].items()}
        proofs.append(inference.bounds.proof(weights, side, used))
    low, high = outer
    if low is not None and high is not None and low > high:
        raise NoTableFits(next(iter(proofs[LOW]), 0))
    attained = all(part.tables for part in sums)
    inner = [settled + sum(part.inner[side] for part in sums) for side in (LOW, HIGH)]
    if not attained:
        return CombinationRange(low, high, proofs[LOW], proofs[HIGH], None, None, (None, None))
    tables = _whole_table(inference, sums, LOW), _whole_table(inference, sums, HIGH)
    return CombinationRange(low, high, proofs[LOW], proofs[HIGH], inner[LOW], inner[HIGH], tables)


@dataclass
class _PartSum:
    """A weighted sum of numbers of one component."""

    component: TableComponent
    weights: Mapping[int, int]
    cost: NDArray[np.int64]
    """The weights, by the places of the component."""
    outer: list[Fraction | None]
    multipliers: list[Multipliers]
    inner: list[int]
    tables: list[NDArray[np.int64]]
    """Tables of the component with the least and the largest sum; empty if none is known."""
    long: bool
    """Whether sums may be longer than a machine word."""

    @classmethod
    def of(
        cls, inference: Inference, name: int, weights: Mapping[int, int], *, search: bool
    ) -> _PartSum:
        component = inference.components[name]
        cost = np.zeros(component.cells.size, np.int64)
        for cell, weight in weights.items():
            cost[inference.place_in[cell]] = weight
        ends = np.abs(np.concatenate([component.low, component.high])).astype(np.float64)
        long = float(np.abs(cost).sum()) * float(ends.max()) >= FAR / 2
        part = cls(component, weights, cost, [None, None], [{}, {}], [0, 0], [], long)
        for table in component.tables:
            part.attain(table)
        now = inference.bounds.low, inference.bounds.high
        for side in (LOW, HIGH):
            part.outer[side] = inference.system.bound(weights, {}, side, now)
            if component.programme is not None and not part.reached(side):
                part.solve(inference, side)
        if search and component.programme is not None and cost.size <= MOST_SEARCHED:
            for side in (LOW, HIGH):
                if not part.reached(side):
                    towards = cost if side == LOW else -cost
                    point = component.programme.solve_whole(towards.astype(np.float64), NODES)
                    if point is not None:
                        part.harvest(inference, point)
        return part

    def solve(self, inference: Inference, side: int) -> None:
        """Ask a programme for an end; keep what exact numbers confirm."""
        assert self.component.programme is not None
        sign = 1 if side == LOW else -1
        proposal = self.component.programme.solve((sign * self.cost).astype(np.float64))
        self.component.solves += 1
        if proposal is None:
            return
        self.harvest(inference, proposal.point)
        if proposal.multipliers is None or not np.isfinite(proposal.multipliers).all():
            return
        now = inference.bounds.low, inference.bounds.high
        for numerators, denominator in over_one_denominator(sign * proposal.multipliers):
            proposed = {
                int(r): Fraction(y, denominator)
                for r, y in zip(self.component.relations, numerators, strict=True)
                if y
            }
            self.prove(side, inference.system.bound(self.weights, proposed, side, now), proposed)
            if self.reached(side):
                break

    def prove(self, side: int, bound: Fraction | None, multipliers: Multipliers) -> None:
        """Keep a bound that is narrower than the one before."""
        before = self.outer[side]
        if bound is not None and (
            before is None or (bound > before if side == LOW else bound < before)
        ):
            self.outer[side], self.multipliers[side] = bound, multipliers

    def reached(self, side: int) -> bool:
        """Tell whether a table attains the outer end, as a whole number."""
        end = self.outer[side]
        if not self.tables or end is None:
            return False
        return self.inner[side] == (math.ceil(end) if side == LOW else math.floor(end))

    def attain(self, table: NDArray[np.int64]) -> bool:
        """Let a table that fits widen what is attained; tell whether it does."""
        total = int((self.cost.astype(object) if self.long else self.cost) @ table)
        if not self.tables:
            self.inner, self.tables = [total, total], [table, table]
            return True
        wider = total < self.inner[LOW], total > self.inner[HIGH]
        for side in (LOW, HIGH):
            if wider[side]:
                self.inner[side], self.tables[side] = total, table
        return any(wider)

    def harvest(self, inference: Inference, point: NDArray[np.float64]) -> None:
        """Keep a point that is a whole table and fits."""
        table = self.component.fitting_table(point)
        if table is not None and self.attain(table):
            inference.harvest(self.component, table, keep=True)


def _whole_table(inference: Inference, sums: list[_PartSum], side: int) -> NDArray[np.int64] | None:
    """Put the tables of all components together; None where one of them has none."""
    whole = np.where(inference.bounds.low == inference.bounds.high, inference.bounds.low, 0)
    mine = {id(part.component): part.tables[side] for part in sums}
    for component in inference.components:
        table = mine.get(id(component))
        if table is None:
            if not component.tables:
                return None
            table = component.tables[0]
        whole[component.cells] = table
    return whole
