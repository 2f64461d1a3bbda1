"""Prices for one row per person: how many vectors of answers one record can cause.

This implements the theorem (batch) of docs/accountant.md, section "One batch, one row per person":
the smallest of the points, the product of single prices, and the sum over families of atoms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from math import prod
from operator import or_
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from hartley.agent.pricing.atoms import Atom
from hartley.agent.pricing.regions import (
    crossings,
    crossings_of_hull,
    crossings_with_zero,
    regions,
)
from hartley.agent.questions.batch import COUNT, ORDER, SQUARES, SUM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.agent.pricing.atoms import Asked, Atoms, Direction, IntRange
    from hartley.agent.pricing.regions import CellGrid, Vector


class PartPrice(NamedTuple):
    """The bounds of questions that are priced together; the smallest counts."""

    questions: tuple[int, ...]
    columns: tuple[str, ...]
    points: int | None
    singles: int | None
    """The product of the prices of the questions alone; None if it is certainly not the least."""
    atoms: tuple[tuple[tuple[int, ...], int], ...] | None
    """Each atom as the places of the questions that count its records, and its outputs."""
    joint: int | None
    """The sum over atoms, less the outputs that atoms share."""
    coarse: int | None = None
    """Coarse counts of disjoint filters together, times the other questions."""

    @property
    def cells(self) -> int:
        """The smallest of the bounds."""
        bounds = (self.points, self.singles, self.joint, self.coarse)
        return min([bound for bound in bounds if bound is not None])


@dataclass(frozen=True, slots=True)
class Windows:
    """How far directions can still vary by what was answered before, everybody else fixed."""

    lengths: Mapping[Direction, int]
    key: frozenset[tuple[Direction, int]] = field(init=False, repr=False, compare=False)
    """What they are looked up by."""
    _of: dict[Direction, int | None] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        """Make the key once."""
        object.__setattr__(self, "key", frozenset(self.lengths.items()))

    def of(self, direction: Direction) -> int | None:
        """Return how far a direction can vary: by its own window, or by those of its columns."""
        if len(direction) == 1:
            return self.lengths.get(direction)
        if not self.lengths:
            return self._joint(direction)  # nothing is kept for ever
        if direction not in self._of:  # every atom of a part asks for it
            self._of[direction] = self._joint(direction)
        return self._of[direction]

    def _joint(self, direction: Direction) -> int | None:
        own = self.lengths.get(direction)
        columns = [(self.lengths.get(((column, 1),)), times) for column, times in direction]
        if any(length is None for length, _ in columns):
            return own
        together = sum([abs(times) * (length or 0) for length, times in columns])
        return together if own is None else min(own, together)

    def codes(self, column: str, size: int) -> int:
        """Return how many of some codes of a column remain possible, at most."""
        length = self.lengths.get(((column, 1),))
        return size if length is None else min(size, length + 1)


NO_WINDOWS = Windows(MappingProxyType({}))


def price_part(  # noqa: PLR0913 - what a price rests on, each by name
    numbers: Sequence[int],
    atoms: Atoms,
    grids: Sequence[CellGrid],
    windows: Windows = NO_WINDOWS,
    *,
    absent: bool,
    whole: bool = False,
) -> PartPrice:
    """Price questions that share private columns, at one type of a row.

    ``absent`` means that the row may be absent; it adds a point that no question counts. ``whole``
    says that the atoms hold all records of the type, and that nothing was answered before: what
    a question costs alone is then worked out once.

    Proved: proofs/Families.v, price_bounds.
    """
    listed = atoms.atoms
    # The absent record counts for nothing, so it belongs to the atom whose records no question
    # counts. Without such an atom it is one of its own: two counts that share out all present
    # records have 2 outputs, and 3 with somebody who may be absent.
    if absent and all(atom.alive for atom in listed):
        listed = (*listed, Atom((), 1, ((0, 0),) * len(atoms.directions), 0))
    if windows.lengths:
        outputs = [outputs_of(atom, atoms, grids, windows) for atom in listed]
    else:
        outputs = _outputs_of_all(listed, atoms, grids)
    joint = _shared(listed, outputs, atoms, grids, windows)
    singles = _product_of_singles(listed, atoms, grids, windows, joint, absent=absent, whole=whole)
    kinds = tuple([(atom.alive, amount) for atom, amount in zip(listed, outputs, strict=True)])
    return PartPrice(tuple(numbers), atoms.columns, atoms.points + absent, singles, kinds, joint)


def _product_of_singles(  # noqa: PLR0913 - what a price rests on, each by name
    listed: Sequence[Atom],
    atoms: Atoms,
    grids: Sequence[CellGrid],
    windows: Windows,
    limit: int,
    *,
    absent: bool,
    whole: bool,
) -> int | None:
    """Return the product of what the questions cost alone; None once it passes a limit."""
    product = 1
    for k, (question, grid) in enumerate(zip(atoms.asked, grids, strict=True)):
        if product > limit:
            return None
        if not whole or grid.lengths is not None:  # lengths are collected at every call
            product *= single(k, listed, atoms, grid, windows)
            continue
        # Over all records, the other questions make no difference: which records pass its filter,
        # the range of its form over them and their codes depend on its own columns alone.
        key = (grid.over, grid.under, grid.least, grid.most, grid.anchored, absent)
        if key not in question.alone:
            question.alone[key] = single(k, listed, atoms, grid)
        product *= question.alone[key]
    return product


def signature_of(atoms: Atoms) -> object:
    """Return all that ``price_part`` looks at, for any steps, where nothing was answered before.

    Columns are numbered: a price does not depend on their names.
    """
    numbers = {column: number for number, column in enumerate(atoms.sizes)}
    listed, total = [], 0
    for alive, points, ranges, held in atoms.atoms:
        # No question is crossed more often than its direction has gaps, so an atom has no more
        # outputs than this, and further records make no difference.
        spans = [ranges[place] for place in {atoms.places[k] for k in alive}]
        most = prod([1 + len(alive) * (high - low) for low, high in spans])
        listed.append((alive, min(points, most), ranges if alive else (), held))
        total += most
    asked = [
        (q.statistic, tuple([(numbers[c], times) for c, times in q.direction]), q.scale, q.shift)
        for q in atoms.asked
    ]
    sizes = [tuple(parts) for parts in atoms.sizes.values()]
    return tuple(asked), tuple(listed), min(atoms.points, total), tuple(sizes)


def outputs_of(
    atom: Atom, atoms: Atoms, grids: Sequence[CellGrid], windows: Windows = NO_WINDOWS
) -> int:
    """Return a bound on how many vectors of answers the records of one atom cause (F_a).

    Proved: proofs/Atom.v, atom_outputs.
    """
    crossed = crossed_in(atom, atoms, grids, windows)
    if not crossed:
        return 1

    def codes(column: str, held: int) -> int:
        return windows.codes(column, atoms.size(column, held))

    return min(atom.points, regions(crossed, codes, atom.held))


def _outputs_of_all(listed: Sequence[Atom], atoms: Atoms, grids: Sequence[CellGrid]) -> list[int]:
    """Return the same for every atom where nothing was answered before.

    Most atoms share the ranges of most directions, so what crosses a range is counted once.
    """
    directions, places, size = atoms.directions, atoms.places, atoms.size
    # What a count or a form without private columns adds is the same in all of an atom.
    moving: dict[int, tuple[int, Asked, CellGrid, dict[IntRange, int]]] = {
        k: (places[k], question, grid, {})
        for k, (question, grid) in enumerate(zip(atoms.asked, grids, strict=True))
        if question.direction and question.statistic is not COUNT
    }
    outputs = []
    for alive, records, ranges, held in listed:
        crossed: dict[int, int] = {}
        for k in alive:
            if k in moving:
                place, question, grid, known = moving[k]
                span = ranges[place]
                if span in known:
                    amount = known[span]
                else:
                    amount = known[span] = crossings(question, span, grid)
                if amount:
                    crossed[place] = crossed.get(place, 0) + amount
        if not crossed:
            outputs.append(1)
        elif len(crossed) == 1:  # parallel boundaries
            ((place, amount),) = crossed.items()
            points = prod([size(column, held) for column, _ in directions[place]])
            outputs.append(min(records, 1 + amount, points))
        else:
            vectors: dict[Vector, int] = {directions[at]: crossed[at] for at in crossed}
            outputs.append(min(records, regions(vectors, size, held)))
    return outputs


def crossed_in(
    atom: Atom, atoms: Atoms, grids: Sequence[CellGrid], windows: Windows
) -> dict[Vector, int]:
    """Return how many boundaries cut the records of one atom, by direction."""
    # Parallel directions are added first: their hyperplanes never meet.
    crossed: dict[Vector, int] = {}
    asked, places, ranges, narrowed = atoms.asked, atoms.places, atom.ranges, windows.lengths
    for k in atom.alive:
        question = asked[k]
        direction = question.direction
        if not direction:
            continue
        window = windows.of(direction) if narrowed else None
        if amount := crossings(question, ranges[places[k]], grids[k], window):
            crossed[direction] = crossed.get(direction, 0) + amount
    return crossed


def single(
    k: int,
    listed: Sequence[Atom],
    atoms: Atoms,
    grid: CellGrid,
    windows: Windows = NO_WINDOWS,
) -> int:
    """Return the price of one question of the batch alone: inside, outside, and their hull."""
    question = atoms.asked[k]
    inside = [atom for atom in listed if k in atom.alive]
    order = question.statistic is ORDER
    # An order statistic of one cell still tells whether any row passed its filter.
    if not inside or (grid.constant and not order):
        return 1
    outside = len(inside) < len(listed)
    if question.statistic is COUNT:
        return 1 + outside
    # Alone, the question does not tell its atoms apart, so their hull is one range.
    span = _hull(k, inside, atoms)
    held = reduce(or_, [atom.held for atom in inside])
    sizes = [(column, atoms.size(column, held)) for column, _ in question.direction]
    points = prod([windows.codes(column, size) for column, size in sizes])
    window = windows.of(question.direction)
    within = min(points, 1 + crossings(question, span, grid, window))
    if order or (question.statistic is SUM and not outside):
        return within + outside
    # A record outside adds 0: "for a lone filtered sum it is 1 + ceil(H/w)".
    return min(within + outside, 1 + crossings_of_hull(question, span, grid))


def _hull(k: int, inside: Sequence[Atom], atoms: Atoms) -> IntRange:
    """Return the range of a question's direction over some atoms."""
    place = atoms.places[k]
    spans = [atom.ranges[place] for atom in inside]
    return min([low for low, _ in spans]), max([high for _, high in spans])


def _shared(
    listed: Sequence[Atom],
    outputs: Sequence[int],
    atoms: Atoms,
    grids: Sequence[CellGrid],
    windows: Windows,
) -> int:
    """Add up the outputs of atoms, less those that atoms share.

    Atoms in which the same counts and order statistics hold differ in sums alone, and a record that
    adds nothing to any sum would be common to all of them. Counting it once and, for every atom,
    only what lies beyond it gives a second bound. The smaller one counts. This is the paragraph
    *Atoms together*.
    """
    separating, orders = set(), set()
    for k, (question, grid) in enumerate(zip(atoms.asked, grids, strict=True)):
        if question.statistic is ORDER:
            separating.add(k)
            orders.add(k)
        elif question.statistic is COUNT and not grid.constant:
            separating.add(k)
    families: dict[tuple[int, ...], list[int]] = {}
    for place, atom in enumerate(listed):
        families.setdefault(tuple([k for k in atom[0] if k in separating]), []).append(place)
    total = 0
    for family, places in families.items():
        if len(places) == 1:
            total += outputs[places[0]]
            continue
        family_outputs = sum([outputs[place] for place in places])
        members = [listed[place] for place in places]
        # Atoms share an output only if every order statistic stays in one cell. For a largest value
        # together with a sum to which neither of two atoms adds anything, there are 2 outputs.
        if orders.isdisjoint(family) or _orders_agree(family, members, atoms, grids, windows):
            beyond = [_beyond_zero(listed[p], atoms, grids, outputs[p]) for p in places]
            family_outputs = min(family_outputs, 1 + sum(beyond))
        total += family_outputs
    return total


def _orders_agree(
    family: Sequence[int],
    members: Sequence[Atom],
    atoms: Atoms,
    grids: Sequence[CellGrid],
    windows: Windows,
) -> bool:
    """Whether every order statistic has the same cell for all records of the atoms."""
    return not any(
        atoms.asked[k].statistic is ORDER
        and crossings(
            atoms.asked[k],
            _hull(k, members, atoms),
            grids[k],
            windows.of(atoms.asked[k].direction),
        )
        for k in family
    )


def _beyond_zero(atom: Atom, atoms: Atoms, grids: Sequence[CellGrid], outputs: int) -> int:
    """Return a bound on the outputs that an atom adds to the output of adding nothing.

    Relative to that output every form starts at zero, in a space with one more dimension if no
    record makes all forms zero.
    """
    sums = []
    for k in atom.alive:
        question = atoms.asked[k]
        if question.statistic in (SUM, SQUARES) and not grids[k].constant:
            sums.append((question, atom.ranges[atoms.places[k]], grids[k]))
    if not sums:
        return 0
    if len(sums) == 1:
        return min(crossings_of_hull(*sums[0]), outputs)  # one form: boundaries on a line
    crossed: dict[Vector, int] = {}
    for question, span, grid in sums:
        if question.shift[0] != question.shift[1]:
            return outputs  # the constant is not one number, so it is no coordinate
        if amount := crossings_with_zero(question, span, grid):
            vector = _lifted(question)
            crossed[vector] = crossed.get(vector, 0) + amount
    return min(regions(crossed) - 1, outputs)


def _lifted(question: Asked) -> Vector:
    """Return the direction of a form with its constant as one more coordinate."""
    if not question.direction:
        return (("", 1),)
    if not question.shift[0]:
        return question.direction
    return (*question.direction, ("", Fraction(question.shift[0], question.scale)))
