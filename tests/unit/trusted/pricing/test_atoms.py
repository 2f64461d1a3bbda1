"""Atoms: the kinds of records that no question of a batch distinguishes."""

from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from random_questions import coded, coded_schema, holds

from hartley.trusted.pricing import after_answers as told_parts, atoms
from hartley.trusted.pricing.after_answers import EarlierAnswers
from hartley.trusted.pricing.atoms import (
    Asked,
    PartedAtoms,
    classes,
    covering_ranges,
    direction_of,
    form_atoms,
)
from hartley.trusted.pricing.conditional_price import conditional_price
from hartley.trusted.pricing.one_row import Resolved, independent, price_part
from hartley.trusted.questions.batch import All, Either, Form, Question, Statistic, Test as Leaf
from hartley.trusted.questions.condition import MOST_TERMS, conjunctions

POINTS = {"a": 5, "b": 4, "c": 3}
NULLABLE = {"a": False, "b": True, "c": False}


def schema(kinds=("private",) * 3):
    return coded_schema(
        *(
            coded(name, points, kind, nullable=NULLABLE[name])
            for (name, points), kind in zip(POINTS.items(), kinds, strict=True)
        )
    )


def records():
    domains = [
        [*range(points), *([None] if NULLABLE[name] else [])] for name, points in POINTS.items()
    ]
    return [dict(zip(POINTS, codes, strict=True)) for codes in product(*domains)]


@st.composite
def leaves(draw):
    name = draw(st.sampled_from(sorted(POINTS)))
    chosen = sorted(draw(st.sets(st.integers(0, POINTS[name] - 1), max_size=3)))
    codes: list[tuple[int, int]] = []
    for code in chosen:
        if codes and codes[-1][1] == code - 1:
            codes[-1] = (codes[-1][0], code)
        else:
            codes.append((code, code))
    return Leaf(name, tuple(codes), draw(st.booleans()) and NULLABLE[name])


CONDITIONS = st.recursive(
    leaves(),
    lambda parts: st.builds(
        lambda kind, some: kind(tuple(some)),
        st.sampled_from([All, Either]),
        st.lists(parts, max_size=3),
    ),
    max_leaves=5,
)
FORMS = st.lists(
    st.sampled_from([(("a", 1),), (("c", -2),), (("a", 2), ("c", 3)), (("b", 1),)]), max_size=3
)


def asked(where, terms):
    form = Form(terms, 0, Fraction(1))
    question = Question(Statistic.SUM, where, form, None, 0, 10)
    resolved = Resolved([question], schema())
    (known,) = resolved.refine(resolved.start(), ("public", "open"))
    return [found for _, found in resolved.asked(known)]


@pytest.mark.slow
@given(condition=CONDITIONS)
def test_conjunctions_hold_where_the_condition_holds(condition):
    terms = conjunctions(condition)
    assert terms is not None
    for record in records():
        by_terms = any(
            all(holds(Leaf(column, *leaf), record) for column, leaf in term) for term in terms
        )
        assert by_terms == holds(condition, record)


def test_a_filter_of_too_many_conjunctions_is_not_expanded():
    either = Either((Leaf("a", ((0, 0),)), Leaf("b", ((0, 0),))))
    assert len(conjunctions(All((either,) * 6))) == MOST_TERMS
    assert conjunctions(All((either,) * 7)) is None
    assert conjunctions(Either((either,) * 33)) is None


@pytest.mark.slow
@settings(max_examples=300)
@given(conditions=st.lists(CONDITIONS, min_size=1, max_size=4), forms=FORMS)
def test_atoms_are_the_truth_vectors_with_their_points_and_ranges(conditions, forms):
    forms = [*forms, *[(("a", 1),)] * (len(conditions) - len(forms))]
    pairs = [
        (where, terms)
        for where, terms in zip(conditions, forms, strict=False)
        if any(truth(where, terms, record) for record in records())
    ]
    questions = tuple(found for where, terms in pairs for found in asked(where, terms))
    formed = form_atoms(questions, schema())
    expected = defaultdict(list)
    for record in records():
        alive = tuple(k for k, pair in enumerate(pairs) if truth(*pair, record))
        # Only columns that some question touches are multiplied out.
        expected[alive].append(tuple(record[c] for c in formed.columns))
    assert {atom.alive for atom in formed.atoms} == set(expected)
    assert sum(atom.points for atom in formed.atoms) == formed.points
    for atom in formed.atoms:
        points = {
            point: dict(zip(formed.columns, point, strict=True)) for point in expected[atom.alive]
        }
        assert atom.points == len(points)
        for k in atom.alive:
            direction = formed.asked[k].direction
            values = [sum(t * r[c] for c, t in direction) for r in points.values()]
            span = atom.ranges[formed.directions.index(direction)]
            assert span == (min(values), max(values))
            for column, _ in direction:
                assert formed.size(column, atom.held) == len({r[column] for r in points.values()})


@pytest.mark.slow
@settings(max_examples=300)
@given(conditions=st.lists(CONDITIONS, min_size=1, max_size=6), most=st.integers(1, 12))
def test_atoms_are_too_many_exactly_where_the_fates_of_some_columns_are(conditions, most):
    questions = tuple(found for where in conditions for found in asked(where, (("a", 1),)))
    terms = [dict(term) for question in questions for term in question.terms]
    columns = list(dict.fromkeys(column for term in terms for column in term))
    fates = [
        {
            tuple(
                all(holds(Leaf(c, *term[c]), record) for c in columns[:k] if c in term)
                for term in terms
            )
            for record in records()
        }
        for k in range(len(columns) + 1)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atoms, "MOST_ATOMS", (most, 0))
        found = form_atoms(questions, schema())
    assert (found is None) == (max(map(len, fates)) > most)


def truth(where, terms, record):
    return holds(where, record) and all(record[column] is not None for column, _ in terms)


@given(first=leaves(), second=leaves())
def test_classes_partition_a_column(first, second):
    column = schema().columns[first.column]
    asking = {(first.codes, first.missing): 1}
    if second.column == first.column:
        leaf = (second.codes, second.missing)
        asking[leaf] = asking.get(leaf, 0) | 2
    found = classes(column, asking, 4)
    assert sum(size for _, _, _, size in found) == column.size
    assert len({mask for mask, _, _, _ in found}) == len(found)
    for mask, low, high, _ in found:
        assert mask & 4
        assert 0 <= low <= high < column.points


def test_a_wide_column_is_cut_without_listing_it():
    found = classes(coded("v", 10**12 + 1), {(((5, 10**11),), False): 1}, 0)
    assert [(low, high) for _, low, high, _ in found] == [(0, 10**12), (5, 10**11)]
    assert sum(size for _, _, _, size in found) == 10**12 + 1


def test_directions_forget_scale_and_sign():
    assert direction_of((("a", 4), ("b", -6))) == ((("a", 2), ("b", -3)), 2)
    assert direction_of((("a", -4), ("b", 6))) == ((("a", 2), ("b", -3)), -2)
    assert direction_of(()) == ((), 1)


def test_questions_without_a_common_private_column_are_independent():
    def on(column):
        return Asked(Statistic.COUNT, (((column, (((0, 0),), False)),),), (), 1, (0, 0))

    both = Asked(Statistic.SUM, (((("c"), (((0, 0),), False)),),), (("a", 1),), 1, (0, 0))
    groups = independent(list(enumerate([on("a"), on("b"), both, on("c")])))
    assert sorted(sorted(number for number, _ in group) for group in groups) == [[0, 2, 3], [1]]


@pytest.mark.slow
@given(conditions=st.lists(CONDITIONS, min_size=1, max_size=3))
def test_types_of_known_columns_leave_the_right_part_of_each_filter(conditions):
    described = schema(("public", "open", "private"))
    questions = [Question(Statistic.COUNT, where, None, None, 0, 9) for where in conditions]
    resolved = Resolved(questions, described)
    found = set()
    for known in resolved.refine(resolved.start(), ("public", "open")):
        left = dict(resolved.asked(known))
        truths = tuple(
            tuple(
                k in left
                and any(
                    all(holds(Leaf(column, *leaf), {"c": code}) for column, leaf in term)
                    for term in left[k].terms
                )
                for code in range(POINTS["c"])
            )
            for k in range(len(questions))
        )
        found.add(truths)
    expected = {
        tuple(
            tuple(holds(where, {**record, "c": code}) for code in range(POINTS["c"]))
            for where in conditions
        )
        for record in records()
    }
    assert found == expected


# --- parted atoms ---

PARTED_POINTS = {"a": 9, "b": 6, "c": 4, "d": 7}
ROWS = 20


def schema_of(rng, rows="public"):
    columns = [
        coded(
            name,
            points,
            "private" if name != "d" else ("private", "public", "open")[rng.integers(3)],
            nullable=bool(rng.integers(5) == 0),
        )
        for name, points in PARTED_POINTS.items()
    ]
    return coded_schema(*columns, rows=rows, most=ROWS)


def leaf(rng, schema):
    name = str(rng.choice(list(PARTED_POINTS)))
    low, high = sorted(rng.integers(0, PARTED_POINTS[name], 2).tolist())
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
    most = sum(times * (PARTED_POINTS[name] - 1) for name, times in form.terms)
    present = tuple(
        Leaf(name, ((0, PARTED_POINTS[name] - 1),))
        for name in names
        if schema.columns[name].nullable
    )
    many, quantile = (1, Fraction(1, 2)) if statistic is Statistic.ORDER else (ROWS, None)
    step = Fraction(int(rng.integers(1, 2 * most)), int(rng.integers(1, 3)))
    return Question(statistic, All((where, *present)), form, quantile, 0, many * most, step)


def asked_of(rng):
    """Return the part of a question over private columns, as a type leaves it."""
    terms = []
    for _ in range(rng.integers(1, 3)):
        leaves = {}
        for name in rng.choice(list(PARTED_POINTS), rng.integers(0, 3), replace=False).tolist():
            low, high = sorted(rng.integers(0, PARTED_POINTS[name], 2).tolist())
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
            low, high = sorted(rng.integers(0, PARTED_POINTS[name], 2).tolist())
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
