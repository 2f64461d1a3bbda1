"""The price of a batch, against enumeration and against what it must be."""

from dataclasses import replace
from fractions import Fraction
from math import ceil, comb, log2, prod
from random import Random

import pytest
from hypothesis import assume, given, settings, strategies as st
from random_questions import coded as column, coded_schema

from hartley import Schema
from hartley.errors import Refused
from hartley.exact import floor_power
from hartley.trusted.precision import PriceDesk
from hartley.trusted.pricing import price as worst
from hartley.trusted.pricing.after_answers import EarlierAnswers
from hartley.trusted.pricing.atoms import Atom, form_atoms
from hartley.trusted.pricing.conditional_price import conditional_price
from hartley.trusted.pricing.one_row import Resolved, independent, single
from hartley.trusted.pricing.price import open_factor, price, smallest, steps_within
from hartley.trusted.pricing.regions import CellGrid, elementary, regions
from hartley.trusted.questions.batch import All, Either, Form, Question, Statistic, Test as Leaf
from hartley.trusted.questions.condition import united

ROWS = 100
LENGTHS = st.integers(1, 400)
STEPS = st.fractions(Fraction(1, 3), 500, max_denominator=6)


def steps_for_bits(questions, bits, schema):
    return steps_within(questions, floor_power(bits), schema)


def table(*columns, r=1, rows="public"):
    return coded_schema(*columns, rows=rows, most=ROWS, unit=None if r == 1 else "who", per=r)


def total(name, where=None, step=1, constant=0, statistic=Statistic.SUM):
    form = Form(((name, 1),), constant, Fraction(1))
    return Question(statistic, where or All(), form, None, 0, 10**9, Fraction(step))


def median(name, points, where=None, step=1):
    form = Form(((name, 1),), 0, Fraction(1))
    half = Fraction(1, 2)
    return Question(Statistic.ORDER, where or All(), form, half, 0, points - 1, Fraction(step))


def count(where):
    return Question(Statistic.COUNT, where, None, None, 0, ROWS)


def at(name, low, high=None):
    return Leaf(name, ((low, low if high is None else high),))


# --- By hand --------------------------------------------------------------------------------------


@pytest.mark.slow
@given(length=LENGTHS, step=STEPS)
def test_an_unfiltered_sum_costs_the_cells_that_its_range_meets(length, step):
    cells = price([total("x", step=step)], table(column("x", length + 1))).cells
    assert cells == min(length, ceil(length / step)) + 1


@given(length=LENGTHS, low=st.integers(0, 300), step=STEPS)
def test_a_filtered_sum_costs_inside_and_outside_or_the_hull(length, low, step):
    schema = table(column("x", length + 1), column("f", 2))
    cells = price([total("x", at("f", 1), step, constant=low)], schema).cells
    apart = 2 + min(length, ceil(length / step)) - (low == 0)
    assert cells == min(apart, 1 + ceil((low + length) / step))


def test_a_group_by_of_exact_counts_costs_the_number_of_groups():
    schema = table(column("g", 7), column("x", 50))
    assert price([count(at("g", k)) for k in range(7)], schema).cells == 7
    assert price([count(at("g", k)) for k in range(5)], schema).cells == 6, "and all the others"


def test_a_public_group_by_costs_the_dearest_group():
    schema = table(column("g", 7, "public"), column("x", 50))
    sums = [total("x", at("g", k), step=10 + k) for k in range(7)]
    assert price(sums, schema).cells == price(sums[:1], schema).cells == 1 + ceil(Fraction(49, 10))


def test_an_open_column_is_paid_for_once_and_then_free():
    schema = table(column("g", 7, "open", nullable=True), column("x", 50))
    assert open_factor(schema) == 8
    assert price([count(at("g", 3))], schema).cells == 1


def test_several_rows_open_as_many_multisets_as_there_are():
    columns = (column("a", 3, "open"), column("b", 2, "open"), column("x", 4))
    assert open_factor(table(*columns, r=3)) == comb(6 + 2, 3)
    assert open_factor(table(*columns, r=3, rows="private")) == comb(6 + 3, 3)
    assert open_factor(table(columns[2], r=3, rows="private")) == 1


def test_the_number_of_rows_is_priced_where_it_is_private():
    assert price([count(All())], table(column("x", 4))).cells == 1
    assert price([count(All())], table(column("x", 4), rows="private")).cells == 2
    assert price([count(All())], table(column("x", 4), r=3, rows="private")).cells == 4
    opened = table(column("x", 4), column("g", 2, "open"), rows="private")
    assert price([count(All())], opened).cells == 1, "paid for with the open column"


def test_being_absent_joins_parts_without_a_common_column():
    schema = table(column("x", 4), column("y", 4), rows="private")
    sums = [total("x", constant=10), total("y", constant=10)]
    # Sixteen pairs of values, and no row at all.
    assert price(sums, schema).cells == 17


def test_two_steps_of_one_column_add_and_two_columns_multiply():
    schema = table(column("x", 101), column("y", 101))
    x, finer, y = total("x", step=25), total("x", at("x", 0, 100), step=20), total("y", step=50)
    assert price([x, replace(finer, where=All())], schema).cells == 1 + 4 + 5
    assert price([x, y], schema).cells == 5 * 3


def test_a_sum_with_its_squares_adds_along_the_column():
    schema = table(column("x", 11))
    squares = total("x", step=50, statistic=Statistic.SQUARES)
    assert price([total("x", step=5), squares], schema).cells == 1 + 2 + 2


def test_linear_forms_cut_the_plane():
    schema = table(column("x", 11), column("y", 11))
    form = Form((("x", 1), ("y", 1)), 0, Fraction(1))
    both = Question(Statistic.SUM, All(), form, None, 0, 10**6, Fraction(20))
    # Three directions in two dimensions, one boundary each: 1 + 3 + 3 regions.
    assert price([total("x", step=10), total("y", step=10), both], schema).cells == 7


def test_an_order_statistic_costs_the_levels_that_the_range_meets():
    schema = table(column("x", 100), column("f", 2))
    assert price([median("x", 100, step=25)], schema).cells == 4
    assert price([median("x", 100, at("f", 1), step=25)], schema).cells == 5, "and no rows"
    assert price([median("x", 100, at("x", 0, 24), step=25)], schema).cells == 2
    assert price([median("x", 100, at("x", 24, 25), step=25)], schema).cells == 3


def test_an_empty_batch_and_constant_questions_are_free():
    schema = table(column("x", 100))
    assert price([], schema).cells == 1
    assert price([total("x", step=10**9 + 1)], schema).cells == 1
    assert price([replace(count(at("x", 3)), step=Fraction(ROWS + 1))], schema).cells == 1


def test_a_question_twice_is_one_question():
    schema = table(column("x", 100))
    assert price([count(at("x", 3))] * 3, schema).cells == 2


@given(
    steps=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    lows=st.lists(st.integers(0, 29), min_size=4, max_size=4),
    r=st.integers(1, 2),
)
def test_a_batch_costs_at_least_each_part_and_at_most_the_product(steps, lows, r):
    schema = table(column("x", 30), column("y", 4), r=r)
    questions = [total("x", at("x", low, 29), step) for step, low in zip(steps, lows, strict=False)]
    whole = price(questions, schema).cells
    singles = [price([question], schema).cells for question in questions]
    assert max(singles) <= whole <= prod(singles)


def test_too_many_kinds_of_records_are_priced_in_parts():
    columns = [column(f"c{k}", 8) for k in range(12)]
    schema = table(*columns, column("x", 100))
    questions = [total("x", at(f"c{k}", 0, 3), step=33) for k in range(12)]
    found = price(questions, schema)
    assert found.case.parts[0].joint is None
    assert found.cells == 4**12, "each costs 1 + ceil(99 / 33)"


def test_a_group_by_with_several_rows_stays_near_the_multisets_of_groups():
    schema = table(column("g", 40), column("x", 100), r=3)
    questions = [count(at("g", k)) for k in range(40)]
    assert price(questions, schema).cells == comb(42, 3)
    sums = [total("x", at("g", k), step=99) for k in range(40)]
    # Three rows in one group, in two, or in three: 1 + 3, (1 + 2)(1 + 1) and (1 + 1)^3 outputs.
    assert price([*questions, *sums], schema).cells == 40 * 4 + 40 * 39 * 6 + comb(40, 3) * 8


def test_many_known_types_are_priced_in_parts(monkeypatch):
    schema = table(column("p", 9, "public"), column("q", 9, "public"), column("x", 100))
    questions = [total("x", at(name, 0, k), step=99) for name in "pq" for k in range(8)]
    assert price(questions, schema).cells == 1 + 16, "a row of the first values counts for all"
    monkeypatch.setattr("hartley.trusted.pricing.one_row.MOST_STATES", 20)
    assert price(questions, schema).cells == 9 * 9


# --- Regions --------------------------------------------------------------------------------------


@given(amounts=st.lists(st.integers(0, 5), max_size=5), most=st.integers(1, 5))
def test_elementary_sums_are_coefficients_of_the_product(amounts, most):
    coefficients = [1]
    for amount in amounts:
        shifted = [0, *(amount * c for c in coefficients)]
        coefficients = [a + b for a, b in zip([*coefficients, 0], shifted, strict=True)]
    assert elementary(amounts, most) == sum(coefficients[: most + 1])


def test_regions_count_rank_and_not_columns():
    x, y, z = "x", "y", "z"
    directions = {((x, 1), (y, 1)): 2, ((y, 1), (z, 1)): 2, ((x, 1), (z, -1)): 2}
    # The third is the difference of the first two: rank 2 in three columns.
    assert regions(directions) == 1 + 6 + 12


@pytest.mark.slow
@given(
    tests=st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 8)), min_size=4, max_size=9),
    points=st.integers(2, 9),
    step=st.integers(1, 9),
)
def test_a_price_beyond_the_caps_is_the_product_of_its_parts_or_all_records(tests, points, step):
    schema = table(*(column(name, points) for name in "xyz"))
    questions = [total(name, at(name, 0, cut), step + k) for k, (name, cut) in enumerate(tests)]
    linking = total("x", All((at("y", 1), at("z", 1))), step)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hartley.trusted.pricing.atoms.MOST_ATOMS", (1, 2))
        found = price([*questions, linking], schema).cells
        patch.setattr(worst, "product_within", lambda factor, items, _: prod(map(factor, items)))
        assert found == price([*questions, linking], schema).cells


# --- Wishes in bits -------------------------------------------------------------------------------


@given(length=LENGTHS, bits=st.integers(1, 6))
def test_an_unfiltered_sum_gets_the_length_over_k_minus_one(length, bits):
    schema = table(column("x", length + 1))
    (step,) = steps_for_bits([total("x")], bits, schema)
    k = 2**bits
    assert step == max(Fraction(length, k - 1), 1)
    assert price([total("x", step=step)], schema).cells <= k


@given(length=st.integers(40, 400), low=st.integers(1, 300), bits=st.integers(2, 5))
def test_a_filtered_sum_gets_the_smaller_of_hull_and_inside(length, low, bits):
    schema = table(column("x", length + 1), column("f", 2))
    (step,) = steps_for_bits([total("x", at("f", 1), constant=low)], bits, schema)
    k = 2**bits
    assert step == max(min(Fraction(low + length, k - 1), Fraction(length, k - 2)), 1)


@pytest.mark.parametrize("bits", [2, 5, 12, 20])
def test_a_question_alone_finds_its_steps_in_a_few_prices(bits, monkeypatch):
    priced = []
    plain = worst.Pricer.worst
    monkeypatch.setattr(
        worst.Pricer, "worst", lambda pricer, grids: priced.append(grids) or plain(pricer, grids)
    )
    schema = table(column("x", 10**9), column("f", 2))
    (step,) = steps_for_bits([total("x", at("f", 1), constant=7)], bits, schema)
    assert step == Fraction(10**9 + 6, 2**bits - 1)
    assert len(priced) <= 6


@settings(max_examples=60)
@given(
    lengths=st.lists(st.integers(2, 60), min_size=1, max_size=3),
    bits=st.fractions(0, 7, max_denominator=4),
    kinds=st.lists(st.sampled_from(["sum", "squares", "median", "count"]), min_size=3, max_size=3),
    r=st.integers(1, 2),
)
def test_steps_never_cost_more_than_the_wish_and_counts_are_exact_or_constant(
    lengths, bits, kinds, r
):
    schema = table(*(column(f"c{k}", n + 1) for k, n in enumerate(lengths)), column("f", 2), r=r)
    questions = []
    for k, (length, kind) in enumerate(zip(lengths, kinds, strict=False)):
        where = at("f", 1) if k == 1 else All()
        name = f"c{k}"
        if kind == "sum":
            questions.append(total(name, where))
        elif kind == "squares":
            questions.append(total(name, where, statistic=Statistic.SQUARES))
        elif kind == "median":
            questions.append(median(name, length + 1, where))
        else:
            questions.append(count(at(name, 1, length)))
    limit = floor_power(bits)
    try:
        steps = steps_for_bits(questions, bits, schema)
    except Refused:
        assert any(q.statistic is Statistic.ORDER for q in questions)
        return
    chosen = [replace(q, step=s) for q, s in zip(questions, steps, strict=True)]
    assert price(chosen, schema).cells <= limit
    for question, step in zip(chosen, steps, strict=True):
        constant = step > question.most - question.least
        assert question.statistic is not Statistic.COUNT or step == 1 or constant


@given(length=st.integers(10, 300), k=st.integers(2, 40))
def test_no_finer_step_of_a_lone_sum_fits(length, k):
    schema = table(column("x", length + 1), column("f", 2))
    question = total("x", at("f", 1), constant=3)
    (step,) = steps_for_bits([question], _bits(k), schema)
    assume(step > 1)
    finer = replace(question, step=step * Fraction(10**6 - 1, 10**6))
    assert price([finer], schema).cells > k


def _bits(k):
    """Return a wish whose floor(2^bits) is k."""
    bits = Fraction(ceil(log2(k) * 10**6), 10**6)
    assert floor_power(bits) == k
    return bits


def test_one_cell_is_a_constant_answer():
    schema = table(column("x", 100))
    assert steps_for_bits([total("x"), count(at("x", 3))], 0, schema) == (10**9 + 1, ROWS + 1)


def test_counts_stay_exact_where_the_wish_allows_it():
    schema = table(column("x", 100), column("f", 2))
    sum_step, count_step = steps_for_bits([total("x", at("f", 1)), count(at("f", 1))], 3, schema)
    assert count_step == 1
    assert sum_step == Fraction(99, 6), "seven cells inside, and one outside"


def test_a_wish_below_what_an_empty_set_tells_is_refused():
    schema = table(column("x", 100), column("f", 2))
    with pytest.raises(Refused, match="more than 1 possible outcomes") as caught:
        steps_for_bits([median("x", 100, at("f", 1))], 0, schema)
    assert "order statistic" in caught.value.hint


# --- Refinements ----------------------------------------------------------------------------------


def refined_cells(questions, answered, schema):
    return conditional_price(questions, EarlierAnswers(schema, answered)).cells


def test_a_refinement_costs_at_most_the_ratio_of_steps():
    schema = table(column("x", 1000))
    coarse, fine = total("x", step=100), total("x", step=50)
    assert price([fine], schema).cells == 21
    assert refined_cells([fine], [coarse], schema) == 2
    assert refined_cells([coarse], [coarse], schema) == 1
    assert refined_cells([coarse], [fine], schema) == 1, "coarser cells are known"
    assert refined_cells([total("x", step=30)], [coarse], schema) == 4, "30 does not divide 100"


def test_a_refinement_needs_the_same_rows_and_the_same_place_of_cells():
    schema = table(column("x", 1000), column("f", 2))
    coarse, fine = total("x", step=100), total("x", step=50)
    moved = replace(coarse, least=-10)
    filtered = replace(coarse, where=at("f", 1))
    assert refined_cells([fine], [filtered], schema) == price([fine], schema).cells
    # Other cells of the same sum are not those of rule S, but they leave a window (rule W).
    assert refined_cells([fine], [moved], schema) == 3


def test_a_refinement_inside_a_batch_multiplies_the_price_of_the_rest():
    schema = table(column("x", 1000), column("y", 10))
    coarse, fine, other = total("x", step=100), total("x", step=50), count(at("y", 3))
    assert refined_cells([fine, other], [coarse], schema) == 2 * 2


# --- Words ----------------------------------------------------------------------------------------


def test_an_explanation_names_atoms_factors_and_the_bound_that_won():
    schema = table(column("x", 100), column("f", 2))
    words = price([total("x", at("f", 1), step=25), count(at("f", 1))], schema).explain()
    assert words.splitlines() == [
        "2 questions: one person's data can lead to at most 6 different answers, 2.585 bits.",
        "Questions 1, 2 (f, x): 6 outputs.",
        "  the records of these columns: 200",
        "  the questions one by one, multiplied: 10",
        "  all kinds of records together: 6, the smallest",
        "  records counted by no question: 1 output",
        "  records counted by questions 1, 2: 5 outputs",
    ]


def test_an_explanation_mentions_absence_and_independent_parts():
    schema = table(column("x", 4), column("y", 4), rows="private")
    words = price([total("x", constant=10), total("y", constant=10)], schema).explain()
    assert "Being absent from the table adds one output." in words
    assert words.endswith("Parts without a common private column multiply to 17.")


def test_bits_of_a_price_are_never_below_the_truth():
    schema = table(column("x", 3))
    found = price([total("x")], schema)
    assert found.cells == 3
    assert floor_power(Fraction(found.bits)) >= 3


@pytest.mark.parametrize("limit", [2**31, 2**31 + 12_345, 2**40 - 1])
def test_the_search_halves_however_near_the_scales_are(limit):
    jumps, tried = [Fraction(1), Fraction(3_000_001, 2**31), Fraction(5, 2**33)], []

    def fits(scale):
        tried.append(scale)
        assert len(tried) < 500
        return sum(ceil(jump / scale) for jump in jumps) <= limit

    scale = smallest(fits, jumps, Fraction(1, 2**50), Fraction(1))
    below = max(jump / (jump // scale + 1) for jump in jumps)
    assert fits(scale)
    assert not fits(below)


def test_fine_cells_of_a_wide_column_are_found():
    wide = {"kind": "private", "range": [17, 21_474_836_487], "step": 10}
    schema = Schema.read({"table": {"name": "people"}, "columns": {"x": wide}})
    asked = "SELECT MAX(2*x - 0.5), MAX(x) FROM people GROUP BY BIN(x, 2684354560)"
    (plan,) = PriceDesk(schema, 1000).plan(asked, 10, None)
    assert plan.questions


# --- alone ---

FEW_ROWS = 50
POINTS = {"a": 9, "b": 4, "c": 12, "d": 3, "e": 5}


def schema_of(rng, rows):
    kinds = ["private", "private", "private", rng.choice(["private", "open"]), "public"]
    columns = [
        column(name, points, kind, nullable=rng.random() < 0.4)
        for (name, points), kind in zip(POINTS.items(), kinds, strict=True)
    ]
    return coded_schema(*columns, rows=rows, most=FEW_ROWS)


def condition(rng, schema, depth=0):
    if depth < 2 and rng.random() < 0.4:
        parts = [condition(rng, schema, depth + 1) for _ in range(rng.randint(0, 3))]
        return rng.choice([All, All, Either])(tuple(parts))
    name = rng.choice(list(POINTS))
    ends = [sorted(rng.choices(range(POINTS[name]), k=2)) for _ in range(rng.randint(1, 2))]
    missing = schema.columns[name].nullable and rng.random() < 0.3
    return Leaf(name, united(map(tuple, ends)), missing)


def question(rng, schema):
    statistic, where = rng.choice(list(Statistic)), condition(rng, schema)
    if statistic is Statistic.COUNT:
        return Question(statistic, where, None, None, 0, FEW_ROWS)
    names = sorted(rng.sample(list(POINTS), rng.randint(1, 3)))
    signs = (1, 2) if statistic is Statistic.SQUARES else (1, 2, -1, -3)
    terms = tuple((name, rng.choice(signs)) for name in names)
    ends = [sorted((0, times * (POINTS[name] - 1))) for name, times in terms]
    constant = rng.choice([0, 0, 4])
    low, high = (constant + sum(side) for side in zip(*ends, strict=True))
    order = statistic is Statistic.ORDER
    least, most = (low, high) if order else (FEW_ROWS * min(low, 0), FEW_ROWS * high**2)
    form, quantile = Form(terms, constant, Fraction(1)), Fraction(1, 2) if order else None
    step = Fraction(rng.randint(1, 40), rng.randint(1, 3))
    return Question(statistic, where, form, quantile, least, most, step)


def listed_in(formed, absent):
    """Return atoms, with one of the absent record where no other atom holds it."""
    if absent and all(atom.alive for atom in formed.atoms):
        return (*formed.atoms, Atom((), 1, ((0, 0),) * len(formed.directions), 0))
    return formed.atoms


@pytest.mark.parametrize("seed", range(60))
def test_alone_a_question_costs_the_same_beside_any_others(seed):
    rng = Random(seed)  # noqa: S311 - a seed is enough
    schema = schema_of(rng, "public")
    questions = [question(rng, schema) for _ in range(rng.randint(3, 7))]
    grids = [CellGrid.of(each) for each in questions]
    resolved = Resolved(questions, schema)
    for known in resolved.refine(resolved.start(), ("public", "open")):
        for group in independent(resolved.asked(known)):
            together = form_atoms(tuple(asked for _, asked in group), schema)
            for k, (number, asked) in enumerate(group):
                own = form_atoms((asked,), schema)
                for absent in (False, True):
                    alone = single(0, listed_in(own, absent), own, grids[number])
                    beside = single(k, listed_in(together, absent), together, grids[number])
                    assert beside == alone


@pytest.mark.parametrize("rows", ["public", "private"])
@pytest.mark.parametrize("seed", range(40))
def test_a_price_does_not_depend_on_what_was_priced_before(seed, rows):
    rng = Random(seed)  # noqa: S311 - a seed is enough
    schema = schema_of(rng, rows)
    batches = [[question(rng, schema) for _ in range(rng.randint(1, 5))] for _ in range(3)]
    batches.append([each for batch in batches for each in batch])
    # Nothing is kept from a schema to another one, though it be equal.
    fresh = [price(batch, Schema(**vars(schema))).explain() for batch in reversed(batches)]
    assert [price(batch, schema).explain() for batch in batches] == fresh[::-1]
