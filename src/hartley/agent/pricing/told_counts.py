"""Several rows a person: what exact counts told before leave to pay (rule N of docs/accountant.md).

An exact count tells how many of a person's rows satisfy its filter, everybody else fixed. A count
that is a rational combination of such counts is known. Filters that are nested or disjoint cut the
records into parts, each with a known number of rows.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING

from hartley.agent.pricing.atoms import Asked, direction_of, form_atoms
from hartley.agent.pricing.multisets import TypedAtom, seen_by, sum_over_multisets
from hartley.agent.pricing.regions import CellGrid, apart, rank
from hartley.agent.questions.batch import COUNT, columns_named
from hartley.agent.questions.condition import possible_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hartley.agent.pricing.atoms import Atom, Atoms
    from hartley.agent.pricing.multisets import Seen
    from hartley.agent.questions.batch import Question
    from hartley.ranges.schema.schema import Schema

MOST_VECTORS = 512
"""Ways to share a person's rows among parts; beyond, parts are not looked at."""
MOST_LISTED = 16_384
"""Multisets of atoms that are listed, over all ways together."""


def as_asked(question: Question, schema: Schema) -> Asked | None:
    """Return a question over all columns, whatever is known of them; None beyond a cap."""
    terms = possible_terms(question.where, question.form, schema.columns)
    if terms is None:
        return None
    form = question.form
    direction, scale = direction_of(form.terms) if form else ((), 1)
    constant = form.constant if form else 0
    return Asked(question.statistic, terms, direction, scale, (constant, constant))


def known_counts(
    questions: Sequence[Question], counts: Sequence[Question], schema: Schema
) -> set[Question]:
    """Return the counts, exact or coarse, that earlier exact counts decide.

    The number of rows that satisfy a filter is linear in its indicator. So it is known where the
    indicator is a rational combination of the indicators of earlier counts, and of "present" where
    the number of a person's rows is public. Solved over the atoms, in fractions.
    """
    known: set[Question] = set()
    for question in questions:
        if question.statistic is not COUNT:
            continue
        if question.step > 1 and CellGrid.of(question).constant:
            continue  # one cell: no question
        listed = [as_asked(each, schema) for each in (question, *counts)]
        possible = [asked for asked in listed if asked is not None]
        if len(possible) < len(listed):
            continue
        atoms = form_atoms(tuple(possible), schema)
        if atoms is None:
            continue
        vectors = [
            tuple((str(place), 1) for place, atom in enumerate(atoms.atoms) if k in atom.alive)
            for k in range(len(possible))
        ]
        if schema.rows == "public":
            vectors.append(tuple((str(place), 1) for place in range(len(atoms.atoms))))
        if rank(vectors[1:]) == rank(vectors):
            known.add(question)
    return known


def cells_in_parts(
    questions: Sequence[Question],
    counts: Sequence[Question],
    schema: Schema,
    memory: dict[object, int | None] | None = None,
) -> int | None:
    """Return the price of a batch where earlier counts fix the number of rows in parts.

    Only where every column is private. None where nothing is won or a cap is passed. ``memory``
    keeps the price for other orders of the counts in which the same ones are taken.
    """
    if any(column.kind != "private" for column in schema.columns.values()):
        return None
    total = 1
    for group, columns in apart([(q, columns_named(q)) for q in questions]):
        near = [count for count in counts if not columns or columns_named(count) & columns]
        cells = _group(group, near, schema, {} if memory is None else memory)
        if cells is None:
            return None
        total *= cells
    return total


def _group(
    questions: Sequence[Question],
    counts: Sequence[Question],
    schema: Schema,
    memory: dict[object, int | None],
) -> int | None:
    listed = [as_asked(each, schema) for each in (*questions, *counts)]
    possible = [asked for asked in listed if asked is not None]
    if len(possible) < len(listed):
        return None
    atoms = form_atoms(tuple(possible), schema)
    if atoms is None:
        return None
    places = [
        frozenset(place for place, atom in enumerate(atoms.atoms) if k in atom.alive)
        for k in range(len(questions), len(possible))
    ]
    taken = laminar(places)
    of_taken = [count for count, some in zip(counts, places, strict=True) if some in taken]
    key = (tuple(questions), frozenset(counts), frozenset(of_taken))
    if key not in memory:
        memory[key] = _in_parts(questions, atoms, taken, schema)
    return memory[key]


def _in_parts(
    questions: Sequence[Question], atoms: Atoms, taken: Sequence[frozenset[int]], schema: Schema
) -> int | None:
    grids = [CellGrid.of(question) for question in questions]
    # The last part lies outside all filters; absent slots are there too.
    parts: dict[frozenset[int], list[TypedAtom]] = {frozenset(): []}
    for place, atom in enumerate(atoms.atoms):
        around = frozenset(k for k, members in enumerate(taken) if place in members)
        kind = TypedAtom(str(place), atom.points, _seen(atom, atoms, len(questions)))
        parts.setdefault(around, []).append(kind)
    if schema.rows == "private":
        parts[frozenset()].append(TypedAtom("absent", 1, {}))
    kinds = [some for some in parts.values() if some]
    r = schema.rows_per_unit
    ways = comb(len(kinds) + r - 1, r)
    if ways > MOST_VECTORS:
        return None
    most = 1
    for amounts in _shares(len(kinds), r):
        outputs = sum_over_multisets(kinds, amounts, grids, max(MOST_LISTED // ways, 32))
        if outputs is None:
            return None
        most = max(most, outputs)
    return most


def _seen(atom: Atom, atoms: Atoms, questions: int) -> dict[int, Seen]:
    own = atom._replace(alive=tuple(k for k in atom.alive if k < questions))
    return seen_by(own, atoms, range(questions))


def laminar(sets: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Take sets in their order, each if it is nested in or disjoint from all that were taken.

    Parts of crossing filters have no known numbers of rows: of two rows, one in A and one in B are
    told apart from one in both and one in neither by no count of A and of B.
    """
    taken: list[frozenset[int]] = []
    for some in sets:
        if all(some <= other or other <= some or not some & other for other in taken):
            taken.append(some)
    return taken


def _shares(parts: int, rows: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to share rows among parts."""
    for bars in combinations(range(rows + parts - 1), parts - 1):
        edges = (-1, *bars, rows + parts - 1)
        yield tuple(after - before - 1 for before, after in pairwise(edges))
