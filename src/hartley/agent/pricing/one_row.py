"""One row a person: how many vectors of answers one record can cause, everybody else fixed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from hartley.agent.batch import Statistic
from hartley.agent.pricing.atoms import Atom
from hartley.agent.pricing.regions import (
    crossings,
    crossings_of_hull,
    crossings_with_zero,
    regions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.agent.pricing.atoms import Asked, Atoms, Range
    from hartley.agent.pricing.regions import Grid, Vector


@dataclass(frozen=True, slots=True)
class Part:
    """The bounds of questions that are priced together; the smallest counts."""

    questions: tuple[int, ...]
    columns: tuple[str, ...]
    points: int | None
    singles: int | None
    """The product of the prices of the questions alone; None where it is surely not the least."""
    atoms: tuple[tuple[tuple[int, ...], int], ...] | None
    """Each atom as the questions that count its records, and its outputs; None beyond the cap."""
    joint: int | None
    """The sum over atoms, less the outputs that atoms share."""

    @property
    def cells(self) -> int:
        """The smallest of the bounds."""
        return min(b for b in (self.points, self.singles, self.joint) if b is not None)


def price_part(
    numbers: Sequence[int], atoms: Atoms, grids: Sequence[Grid], *, absent: bool
) -> Part:
    """Price questions that share private columns, at one type of a row.

    ``absent`` says that there may be no row at all; it adds a point that no question counts.
    """
    found = atoms.atoms
    if absent and all(atom.alive for atom in found):
        found = (*found, Atom((), 1, ((0, 0),) * len(atoms.directions), ()))
    outputs = [outputs_of(atom, atoms, grids) for atom in found]
    homes: list[list[Atom]] = [[] for _ in atoms.asked]
    for atom in found:
        for k in atom.alive:
            homes[k].append(atom)
    joint = _shared(found, outputs, atoms, grids)
    product, singles = 1, True
    for k, question in enumerate(atoms.asked):
        singles = product <= joint
        if not singles:
            break
        outside = len(homes[k]) < len(found)
        product *= single(question, homes[k], atoms, grids[k], outside=outside)
    listed = tuple(
        (tuple(numbers[k] for k in atom.alive), amount)
        for atom, amount in zip(found, outputs, strict=True)
    )
    alone = product if singles else None
    return Part(tuple(numbers), atoms.columns, atoms.points + absent, alone, listed, joint)


def outputs_of(atom: Atom, atoms: Atoms, grids: Sequence[Grid]) -> int:
    """Return at most how many vectors of answers the records of one atom cause (F_a)."""
    crossed: dict[Vector, int] = {}
    for k in atom.alive:
        question = atoms.asked[k]
        if question.direction:
            span = atom.ranges[atoms.directions.index(question.direction)]
            amount = crossings(question, span, grids[k])
            if amount:
                crossed[question.direction] = crossed.get(question.direction, 0) + amount
    if not crossed:
        return 1

    def points(columns: tuple[str, ...]) -> int:
        return prod(atoms.size(column, atom.held) for column in columns)

    return min(atom.points, regions(crossed, points))


def single(
    question: Asked, inside: Sequence[Atom], atoms: Atoms, grid: Grid, *, outside: bool
) -> int:
    """Return the price of one question of the batch alone: inside, outside, and their hull."""
    if not inside:
        return 1
    order = question.statistic is Statistic.ORDER
    if grid.constant and not order:
        return 1
    if not question.direction:
        span: Range = (0, 0)
        within = 1
    else:
        place = atoms.directions.index(question.direction)
        spans = [atom.ranges[place] for atom in inside]
        span = (min(low for low, _ in spans), max(high for _, high in spans))
        held = inside[0].held
        for atom in inside[1:]:
            held = tuple(a | b for a, b in zip(held, atom.held, strict=True))
        points = prod(atoms.size(column, held) for column, _ in question.direction)
        within = min(points, 1 + crossings(question, span, grid))
    if not outside:
        if question.statistic is Statistic.SQUARES:
            return min(within, 1 + crossings_of_hull(question, span, grid))
        return within
    if order or question.statistic is Statistic.COUNT:
        return within + 1
    return min(within + 1, 1 + crossings_of_hull(question, span, grid))


def _shared(
    found: Sequence[Atom], outputs: Sequence[int], atoms: Atoms, grids: Sequence[Grid]
) -> int:
    """Add up the outputs of atoms, less those that atoms share.

    Atoms in which the same counts and order statistics hold differ in sums alone, and a record that
    adds nothing to any sum would be common to all of them. Counting it once and, for every atom,
    only what lies beyond it gives a second bound. The smaller one counts.
    """
    told = {
        k
        for k, question in enumerate(atoms.asked)
        if question.statistic is Statistic.ORDER
        or (question.statistic is Statistic.COUNT and not grids[k].constant)
    }
    families: dict[tuple[int, ...], list[int]] = {}
    for place, atom in enumerate(found):
        families.setdefault(tuple(k for k in atom.alive if k in told), []).append(place)
    total = 0
    for told_here, places in families.items():
        plain = sum(outputs[place] for place in places)
        members = [found[place] for place in places]
        if len(places) > 1 and _orders_agree(told_here, members, atoms, grids):
            beyond = 1
            for atom, place in zip(members, places, strict=True):
                more = _beyond_zero(atom, atoms, grids)
                beyond += outputs[place] if more is None else min(outputs[place], more)
            plain = min(plain, beyond)
        total += plain
    return total


def _orders_agree(
    told: Sequence[int], members: Sequence[Atom], atoms: Atoms, grids: Sequence[Grid]
) -> bool:
    """Whether every order statistic has the same cell wherever the record lies in the atoms."""
    for k in told:
        question = atoms.asked[k]
        if question.statistic is Statistic.ORDER and question.direction:
            place = atoms.directions.index(question.direction)
            spans = [atom.ranges[place] for atom in members]
            span = (min(low for low, _ in spans), max(high for _, high in spans))
            if crossings(question, span, grids[k]):
                return False
    return True


def _beyond_zero(atom: Atom, atoms: Atoms, grids: Sequence[Grid]) -> int | None:
    """Return how many outputs an atom adds to that of adding nothing; None where unknown.

    Seen from there every form runs from zero, in a space with one dimension more where no record
    makes all forms zero.
    """
    sums = []
    for k in atom.alive:
        question = atoms.asked[k]
        if question.statistic in (Statistic.SUM, Statistic.SQUARES) and not grids[k].constant:
            place = atoms.directions.index(question.direction) if question.direction else None
            sums.append((question, (0, 0) if place is None else atom.ranges[place], grids[k]))
    if len(sums) == 1:
        return min(crossings_of_hull(*sums[0]), atom.points)
    crossed: dict[Vector, int] = {}
    for question, span, grid in sums:
        if question.shift[0] != question.shift[1]:
            return None
        vector = _lifted(question)
        crossed[vector] = crossed.get(vector, 0) + crossings_with_zero(question, span, grid)
    return min(regions(crossed) - 1, atom.points)


def _lifted(question: Asked) -> Vector:
    """Return the direction of a form with its constant as one more coordinate."""
    if not question.direction:
        return (("", 1),)
    if not question.shift[0]:
        return question.direction
    return (*question.direction, ("", Fraction(question.shift[0], question.scale)))
