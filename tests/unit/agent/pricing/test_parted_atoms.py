"""Parts of atoms against the atoms of questions and filters together, formed for each run anew."""

from fractions import Fraction

import numpy as np
import pytest

from hartley.schema.schema import Column, Schema
from hartley.trusted.pricing import after_answers as told_parts, atoms
from hartley.trusted.pricing.after_answers import EarlierAnswers
from hartley.trusted.pricing.atoms import Asked, PartedAtoms, covering_ranges, form_atoms
from hartley.trusted.pricing.conditional_price import conditional_price
from hartley.trusted.pricing.one_row import price_part
from hartley.trusted.questions.batch import All, Either, Form, Question, Statistic, Test as Leaf

POINTS = {"a": 9, "b": 6, "c": 4, "d": 7}
ROWS = 20


def schema_of(rng, rows="public"):
    return Schema(
        "tiny",
        {
            name: Column(
                name,
                "private" if name != "d" else ("private", "public", "open")[rng.integers(3)],
                low=Fraction(0),
                high=Fraction(points - 1),
                step=Fraction(1),
                nullable=bool(rng.integers(5) == 0),
            )
            for name, points in POINTS.items()
        },
        None,
        1,
        rows,
        None if rows == "public" else ROWS,
    )


def leaf(rng, schema):
    name = str(rng.choice(list(POINTS)))
    low, high = sorted(rng.integers(0, POINTS[name], 2).tolist())
    return Leaf(name, ((low, high),), bool(schema.columns[name].nullable and rng.integers(3) == 0))


def condition(rng, schema):
    tests = tuple(leaf(rng, schema) for _ in range(rng.integers(1, 3)))
    return (All, Either)[rng.integers(2)](tests)


def question(rng, schema):
    statistic = (Statistic.COUNT, Statistic.COUNT, Statistic.SUM, Statistic.ORDER)[rng.integers(4)]
    where = All() if rng.integers(4) == 0 else condition(rng, schema)
    if statistic is Statistic.COUNT:
        return Question(statistic, where, None, None, 0, ROWS)
    names = sorted(rng.choice(["a", "b", "c"], rng.integers(1, 3), replace=False).tolist())
    form = Form(tuple((name, int(rng.integers(1, 3))) for name in names), 0, Fraction(1))
    most = sum(times * (POINTS[name] - 1) for name, times in form.terms)
    present = tuple(
        Leaf(name, ((0, POINTS[name] - 1),)) for name in names if schema.columns[name].nullable
    )
    many, quantile = (1, Fraction(1, 2)) if statistic is Statistic.ORDER else (ROWS, None)
    step = Fraction(int(rng.integers(1, 2 * most)), int(rng.integers(1, 3)))
    return Question(statistic, All((where, *present)), form, quantile, 0, many * most, step)


def asked_of(rng):
    """Return the part of a question over private columns, as a type leaves it."""
    terms = []
    for _ in range(rng.integers(1, 3)):
        leaves = {}
        for name in rng.choice(list(POINTS), rng.integers(0, 3), replace=False).tolist():
            low, high = sorted(rng.integers(0, POINTS[name], 2).tolist())
            leaves[name] = (((low, high),), bool(rng.integers(3) == 0))
        terms.append(tuple(sorted(leaves.items())))
    names = sorted(rng.choice(["a", "b", "c"], rng.integers(0, 3), replace=False).tolist())
    direction = tuple((name, 1) for name in names)
    statistic = Statistic.SUM if direction else Statistic.COUNT
    return Asked(statistic, tuple(dict.fromkeys(terms)), direction, 1, (0, 0))


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("cap", [None, (12, 0), (30, 1)])
def test_parts_of_runs_are_the_atoms_of_everything_together(seed, cap, monkeypatch):
    if cap is not None:
        monkeypatch.setattr(atoms, "MOST_ATOMS", cap)
    rng = np.random.default_rng([seed, 1])
    schema = schema_of(rng)
    questions = tuple(asked_of(rng) for _ in range(rng.integers(1, 4)))
    filters = [asked_of(rng) for _ in range(rng.integers(0, 6))]
    tested = sorted({c for each in (*questions, *filters) for t in each.terms for c, _ in t})
    varied = [c for c in tested if rng.integers(2)]
    parted = PartedAtoms(questions, filters, schema, varied)
    for _ in range(6):
        within = {}
        for name in varied:
            low, high = sorted(rng.integers(0, POINTS[name], 2).tolist())
            within[name] = (low, high)
        expected = form_atoms((*questions, *filters), schema, within)
        parts = parted.within(within)
        assert (parts is None) == (expected is None)
        if expected is None:
            continue
        empty = parted.empty(within)
        listed = {
            (part, alive): state
            for part, states in parts.items()
            for alive, state in states.items()
        }
        assert len(listed) == len(expected.atoms)
        for atom in expected.atoms:
            alive = sum(1 << k for k in atom.alive if k < len(questions))
            part = sum(
                parted.filter_bits[k - len(questions)] for k in atom.alive if k >= len(questions)
            )
            points, ranges, held = listed[part, alive]
            assert points == atom.points
            for k, each in enumerate(questions):
                assert ranges[empty.places[k]] == atom.ranges[expected.places[k]]
                for column, _ in each.direction:
                    assert empty.size(column, held) == expected.size(column, atom.held)


def plain_parts(self, numbers, questions, filters, sums, least):  # noqa: ARG001, PLR0913, PLR0917
    """Price every part of every run, formed anew: the search without an index or a bound."""
    presence = any(f.terms == told_parts.ALWAYS for f in filters)
    everywhere = told_parts._windows(
        sums, {told_parts.ALWAYS} if presence or not self.absent else set()
    )
    grids = [self.grids[number] for number in numbers]
    without = form_atoms(questions, self.schema)
    if without is None:
        return None
    largest = price_part(numbers, without, grids, absent=False).cells
    most, nowhere, joined = 0, 0, 0
    columns = frozenset().union(*[asked.columns for asked in questions])
    for within in covering_ranges((*questions, *filters), everywhere, self.schema):
        formed = form_atoms((*questions, *filters), self.schema, within)
        if formed is None:
            return None
        parts = {}
        for atom in formed.atoms:
            alive = tuple(k for k in atom.alive if k >= len(questions))
            own = tuple(k for k in atom.alive if k < len(questions))
            parts.setdefault(alive, []).append(atom._replace(alive=own))
        for alive, members in parts.items():
            true = {filters[k - len(questions)].terms for k in alive}
            if not self.absent or alive:
                true.add(told_parts.ALWAYS)
            windows = told_parts._windows(sums, true)
            points = 1
            for c in columns:
                low, high = within.get(c, (1, self.schema.columns[c].size))
                points *= windows.codes(c, high - low + 1)
            points = min(points, sum(atom.points for atom in members))
            part = formed._replace(asked=questions, atoms=tuple(members), points=points)
            cells = price_part(numbers, part, grids, windows, absent=False).cells
            most = max(most, cells)
            if most >= largest and not self.absent:
                return largest, largest, largest
            if not alive:
                nowhere = max(nowhere, cells)
                absent = price_part(numbers, part, grids, windows, absent=True).cells
                joined = max(joined, absent)
    return most, nowhere, max(joined, 1)


def near_windows(sums, questions, _):
    """Keep every window over a column of the questions, whether or not it can be used."""
    columns = {c for asked in questions for c in asked.columns}
    return tuple(window for window in sums if columns & {c for c, _ in window.direction})


@pytest.mark.parametrize("cap", [None, (16, 0), (10, 1)])
@pytest.mark.parametrize("seed", range(80))
def test_a_search_with_bounds_finds_the_price_of_a_search_without(seed, cap, monkeypatch):
    if cap is not None:  # where a run passes it, fewer earlier filters are looked at
        monkeypatch.setattr(atoms, "MOST_ATOMS", cap)
    rng = np.random.default_rng([seed, 2])
    schema = schema_of(rng, ("public", "private")[seed % 2])
    earlier = [question(rng, schema) for _ in range(rng.integers(1, 9))]
    # A sum narrows its form only where its filter holds, which the count of its rows tells.
    earlier += [
        Question(Statistic.COUNT, each.where, None, None, 0, ROWS) for each in earlier if each.form
    ]
    told = EarlierAnswers(schema, earlier)
    batches = [[question(rng, schema) for _ in range(rng.integers(1, 4))] for _ in range(4)]
    priced = [conditional_price(batch, told) for batch in batches]
    monkeypatch.setattr(told_parts.PartPricing, "_parts", plain_parts)
    monkeypatch.setattr(told_parts, "_usable", near_windows)
    for batch, price in zip(batches, priced, strict=True):
        plain = conditional_price(batch, told)
        assert (price.cells, price.rows) == (plain.cells, plain.rows)
