"""The compiled form of the price: it equals the form in Python, and no charge rests on it."""

import hashlib
from array import array
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

import hartley
from hartley.agent import asking
from hartley.agent.asking import quick_price
from hartley.agent.pricing.known_types import memory_of
from hartley.agent.pricing.price import price
from hartley.agent.questions.batch import All, Either, Form, Question, Statistic, Test as Leaf
from hartley.agent.questions.condition import EVERY, united
from hartley.agent.repricing import verify_prices
from hartley.kernels import batch_price
from hartley.ranges.schema.schema import Column, Schema

PEOPLE = 60
KINDS = ("private", "private", "private", "private", "public", "open")


def test_it_was_compiled_from_the_present_text():
    text = Path(hartley.__file__).parent / "kernels" / "batch_price.pyx"
    compiled_from = hashlib.sha256(text.read_bytes()).hexdigest()
    assert compiled_from == batch_price.SOURCE, "hint: make .venv/.developing compiles it again"


# --- random batches -----------------------------------------------------------------------------


def draw_schema(rng):
    columns = {}
    for name in "abcdefg"[: rng.randint(1, 7)]:
        high = rng.choice([1, 2, 4, 9, 100, 10**6])
        columns[name] = Column(
            name,
            rng.choice(KINDS),
            low=Fraction(0),
            high=Fraction(high),
            step=Fraction(1),
            nullable=rng.random() < 0.3,
        )
    rows = rng.choice(["public", "private"])
    return Schema("people", columns, None, 1, rows, None if rows == "public" else PEOPLE)


def draw_condition(rng, schema, depth=0):
    if depth < 2 and rng.random() < 0.4:
        parts = [draw_condition(rng, schema, depth + 1) for _ in range(rng.randint(0, 3))]
        return rng.choice([All, All, Either])(tuple(parts))
    column = rng.choice(list(schema.columns.values()))
    ends = [sorted(rng.choices(range(column.points), k=2)) for _ in range(rng.randint(1, 3))]
    return Leaf(column.name, united(map(tuple, ends)), column.nullable and rng.random() < 0.4)


def draw_question(rng, schema):
    statistic, where = rng.choice(list(Statistic)), draw_condition(rng, schema)
    if statistic is Statistic.COUNT:
        step = rng.choice([1, 1, 1, PEOPLE + 1, 7])  # exact, constant, in cells of several rows
        return Question(statistic, where, None, None, 0, PEOPLE, Fraction(step))
    names = sorted(rng.sample(list(schema.columns), rng.randint(0, min(3, len(schema.columns)))))
    terms = tuple((name, rng.choice((1, 2, -1, -3, 4))) for name in names)
    ends = [sorted((0, times * (schema.columns[name].points - 1))) for name, times in terms]
    constant = rng.choice([0, 0, 4, -5])
    low, high = constant + sum(e[0] for e in ends), constant + sum(e[1] for e in ends)
    if statistic is Statistic.ORDER:
        least, most, width = low, high, high - low + 1
    elif statistic is Statistic.SUM:
        least, most, width = PEOPLE * min(low, 0), PEOPLE * max(high, 0), max(high - low, 1)
    else:
        width = max(low * low, high * high, 1)
        least, most = 0, PEOPLE * width
    step = max(Fraction(rng.randint(1, 12 * width), rng.randint(1, 12)), Fraction(1))
    step = rng.choice([step, step, Fraction(1)])  # the finest cells: values are fewer than cells
    quantile = Fraction(1, 2) if statistic is Statistic.ORDER else None
    return Question(
        statistic, where, Form(terms, constant, Fraction(1)), quantile, least, most, step
    )


def compare(seed, most_questions):
    """Compare both forms for one random batch; return whether the compiled one decided it."""
    rng = Random(seed)  # noqa: S311 - a seed is enough
    schema = draw_schema(rng)
    batch = [draw_question(rng, schema) for _ in range(rng.randint(1, most_questions))]
    cells = asking._compiled_price(tuple(dict.fromkeys(batch)), schema)
    in_python = price(batch, schema).cells
    assert cells in {None, in_python}, (schema, batch)
    assert quick_price(batch, schema) == in_python
    return cells is not None


@pytest.mark.parametrize("block", range(20))
def test_both_forms_give_the_same_price(block):
    decided = [compare(seed, 6) for seed in range(60 * block, 60 * block + 60)]
    assert sum(decided) > len(decided) / 3  # the others have coarse counts, or are too large


@pytest.mark.parametrize("block", range(6))
def test_both_forms_give_the_same_price_of_many_linked_questions(block):
    """As an analyst asks them: each filters by one column, and together they have many atoms."""
    decided = 0
    for seed in range(20 * block, 20 * block + 20):
        rng = Random(seed)  # noqa: S311 - a seed is enough
        schema = draw_schema(rng)
        batch = []
        while len(batch) < 20:
            question = draw_question(rng, schema)
            if question.step != 7:  # no count in cells of several rows
                batch.append(replace(question, where=draw_condition(rng, schema, depth=2)))
        cells = asking._compiled_price(tuple(dict.fromkeys(batch)), schema)
        assert cells in {None, price(batch, schema).cells}, (schema, batch)
        decided += cells is not None
    assert decided >= 2


@pytest.mark.long
def test_both_forms_give_the_same_price_of_a_hundred_thousand_batches():
    decided = [compare(10**6 + seed, 2 + seed % 12) for seed in range(100_000)]
    assert sum(decided) > 30_000


# --- what is seldom met -------------------------------------------------------------------------


def whole(name, high):
    return Column(name, "private", low=Fraction(0), high=Fraction(high), step=Fraction(1))


def total(*terms, statistic=Statistic.SUM, step=1, where=EVERY):
    most = 2**62
    form = Form(terms, 0, Fraction(1))
    least = 0 if statistic is Statistic.SQUARES else -most
    return Question(statistic, where, form, None, least, most, Fraction(step))


def test_numbers_beyond_64_bits_are_left_to_python():
    schema = Schema("people", {"age": whole("age", 99)})
    batch = [total(("age", 2**70), ("age", 1))]
    assert asking._compiled_price(batch, schema) is None
    assert quick_price(batch, schema) == price(batch, schema).cells


@pytest.mark.parametrize("times", [2**20, 2**40, 2**61, 2**62, 2**63 - 1, -(2**63)])
def test_no_product_is_cut_off(times):
    schema = Schema("people", {"age": whole("age", 99), "size": whole("size", 2**40)})
    terms = ("age", times), ("size", 1)
    sums, fine_sums = total(*terms, step=Fraction(2**50, 3)), total(*terms)
    squares = total(*terms, statistic=Statistic.SQUARES, step=2**60)
    for batch in ([sums], [fine_sums], [squares], [sums, fine_sums, squares]):
        assert quick_price(batch, schema) == price(batch, schema).cells


@pytest.mark.parametrize("statistic", [Statistic.SUM, Statistic.SQUARES, Statistic.ORDER])
@pytest.mark.parametrize("step", [1, 2**62])
@pytest.mark.parametrize("where", [All(), Leaf("sick", ((1, 1),))])
def test_the_least_number_of_64_bits_loses_no_sign(statistic, step, where):
    schema = Schema("people", {"sick": whole("sick", 1)})
    form = Form((("sick", -(2**63)),), 0, Fraction(1))
    batch = [Question(statistic, where, form, None, -(2**63), 0, Fraction(step))]
    assert quick_price(batch, schema) == price(batch, schema).cells


def test_more_records_than_are_counted_cut_no_price_off():
    schema = Schema("people", {name: whole(name, 2**42) for name in "ab"})
    batch = [total(("a", 1), step=2000), total(("a", 1), ("b", 1), step=4000)]
    assert 2**62 < price(batch, schema).cells < 2**63
    assert quick_price(batch, schema) == price(batch, schema).cells


def test_types_beyond_the_cap_of_python_are_not_priced_together():
    """Python looks at columns of filters first, and there are too many types of these."""
    wards = [f"ward{number:02}" for number in range(15)]
    columns = {name: replace(whole(name, 1), kind="public") for name in wards}
    columns |= {"year": replace(whole("year", 15), kind="public"), "age": whole("age", 9)}

    def people(year, *names):
        tests = [Leaf(name, ((0, 0),)) for name in names]
        return All((*tests, Leaf("year", ((year, year),)), Leaf("age", ((0, 4),))))

    counts = [people(15, *wards), *(people(k, name) for k, name in enumerate(wards))]
    batch = [total(("age", 1), ("year", 1), step=3)]
    batch += [Question(Statistic.COUNT, where, None, None, 0, PEOPLE) for where in counts]
    schema = Schema("people", columns)
    assert quick_price(batch, schema) == price(batch, schema).cells


def up_to(column, code):
    return Leaf(column, ((0, code),))


def count(where):
    return Question(Statistic.COUNT, where, None, None, 0, PEOPLE)


@pytest.mark.parametrize("rows", ["public", "private"])
@pytest.mark.parametrize("high", [21, 10**6])
def test_kinds_of_records_up_to_the_cap_and_beyond_it(high, rows):
    most = None if rows == "public" else PEOPLE
    schema = Schema("people", {n: whole(n, high) for n in "ab"}, None, 1, rows, most)
    linked = [total(("a", 1), ("b", times), step=high) for times in (1, -1)]
    counts = [count(up_to("a", code)) for code in range(20)]
    counts += [count(up_to("b", code)) for code in range(20)]
    at_the_cap = linked + counts[1:]  # 20 times 21 kinds, and 256 + 4 times 41 terms are allowed
    assert quick_price(at_the_cap, schema) == price(at_the_cap, schema).cells
    beyond = linked + counts
    assert asking._compiled_price(tuple(beyond), schema) == price(beyond, schema).cells


@pytest.mark.parametrize(("by_a", "by_b", "decided"), [(4, 18, True), (7, 11, False)])
def test_somebody_absent_has_room_beside_all_kinds_of_records(by_a, by_b, decided):
    schema = Schema("people", {n: whole(n, 99) for n in "ab"}, None, 1, "private", PEOPLE)
    batch = [total(("a", 1), ("b", 1), step=50)]  # every present record counts
    batch += [count(up_to("a", code)) for code in range(by_a)]
    batch += [count(up_to("b", code)) for code in range(by_b)]
    cells = asking._compiled_price(tuple(batch), schema)
    assert cells == (price(batch, schema).cells if decided else None)  # of 95 and of 96 kinds


@pytest.mark.parametrize("kind", [All, Either])
def test_filters_over_two_columns_up_to_the_cap_and_beyond_it(kind):
    """Of conjunctions there are 21 kinds of records; of the others too many, all alike."""
    schema = Schema("people", {name: whole(name, 10**6) for name in "ab"})
    batch = [count(kind((up_to("a", code), up_to("b", code)))) for code in range(20)]
    assert quick_price(batch, schema) == price(batch, schema).cells


@pytest.mark.parametrize("times", [-10, 10])
@pytest.mark.parametrize("first", ["ward", "year"])
def test_values_of_known_columns_with_the_same_truth_are_one_type(times, first):
    names = ("ward", "year")
    columns = {name: replace(whole(name, 9), kind="public") for name in names}
    schema = Schema("people", columns | {"age": whole("age", 9)})
    squares = total(("age", 1), (first, times), statistic=Statistic.SQUARES, step=100)
    nobody_else = count(All((Leaf("ward", ((0, 0),)), Leaf("year", ((0, 0),)), up_to("age", 4))))
    batch = [squares, nobody_else]
    assert asking._compiled_price(tuple(batch), schema) == price(batch, schema).cells


def test_a_filter_that_a_public_value_fulfils_asks_for_no_private_column():
    columns = {name: whole(name, 9) for name in "abc"}
    schema = Schema("people", columns | {"ward": replace(whole("ward", 1), kind="public")})
    few, many = up_to("a", 3), Leaf("a", ((6, 9),))
    batch = [total(("a", 1), step=10, where=where) for where in (few, many)]
    batch.append(total(("c", 1), step=10, where=Either((few, up_to("ward", 0)))))
    assert asking._compiled_price(tuple(batch), schema) == price(batch, schema).cells == 6


def test_a_count_of_everybody_costs_nothing_beside_others():
    schema = Schema("people", {name: whole(name, 9) for name in "abcd"})
    batch = [total(("c", 1), step=10, where=up_to("a", 4))]
    batch.append(total(("d", 1), step=10, where=up_to("b", 4)))
    batch.append(count(Either((up_to("a", 5), Leaf("a", ((3, 9),)), up_to("b", 3)))))
    assert asking._compiled_price(tuple(batch), schema) == price(batch, schema).cells == 4


def test_groups_of_the_last_questions_of_many_have_prices_of_their_own():
    names = "abcdefghijklmnopqrst"
    schema = Schema("people", {name: whole(name, 20 + k) for k, name in enumerate(names)})
    batch = []
    for k, name in enumerate(names):
        batch += [*(count(up_to(name, code)) for code in range(4)), total((name, 1), step=21 - k)]
    assert asking._compiled_price(tuple(batch), schema) == price(batch, schema).cells


def test_forms_and_tests_that_no_text_is_translated_to_are_left_to_python():
    schema = Schema("people", {"age": whole("age", 9), "size": whole("size", 9)})
    twice = total(("age", 1), ("age", 1))
    below = Question(Statistic.COUNT, Leaf("age", ((-5, 3),)), None, None, 0, PEOPLE)
    for batch in ([twice, total(("age", 1))], [below]):
        assert asking._compiled_price(tuple(batch), schema) is None
        assert quick_price(batch, schema) == price(batch, schema).cells


def test_groups_without_a_common_column_may_have_more_than_64_bits_together():
    schema = Schema("people", {name: whole(name, 2**40) for name in "abc"})
    batch = [total((name, 1)) for name in "abc"]
    assert asking._compiled_price(batch, schema) == (2**40 + 1) ** 3


def test_texts_that_are_cut_off_or_changed_are_errors_or_prices():
    """Never a crash: whatever the numbers are, nothing is read or written beyond its place."""
    rng = Random(0)  # noqa: S311 - a seed is enough
    refused = priced = undecided = 0
    for _ in range(3000):
        schema = draw_schema(rng)
        for _ in range(rng.randint(1, 6)):
            quick_price([draw_question(rng, schema)], schema)
        flat = list(memory_of(schema).flat.values())
        if not flat:
            continue
        numbers = memoryview(bytearray(b"".join(flat))).cast("q")
        for _ in range(rng.randint(0, 3)):
            strange = rng.choice([0, -1, 1, 2, 7, 62, 63, 64, 255, 2**31, -(2**63), 2**63 - 1])
            numbers[rng.randrange(len(numbers))] = strange
        columns = batch_price.flat_columns(schema.columns)
        text = bytes(numbers)[: rng.choice([None, 8 * rng.randint(0, len(numbers))])]
        try:
            cells = batch_price.price_batch(columns, text, absent=False)
        except ValueError:
            refused += 1
        else:
            priced, undecided = priced + (cells is not None), undecided + (cells is None)
    assert min(refused, priced, undecided) > 50


def test_numbers_of_things_that_are_not_there_are_errors():
    """A sanitizer sees what these read or write beyond its place; a test sees that they raise."""
    columns = array("q", [5, 0]).tobytes()
    start = [0, 0, 1, 1, 0, PEOPLE, 1, 0, 0, 0]
    terms = 2**32 - 200  # 200 if its lower half alone were read
    many = [*start, -terms, *[0] * 400]
    # The last range of the second test is missing, and the tests are compared.
    cut_off = [*start, 2, 0, 1, 0, 0, 1, 1, 2, 0, 1, 0, 0, 1, 1]
    for numbers in (many, cut_off, [2**32, *start[1:], 0]):
        with pytest.raises(ValueError, match="hint: write it with flat_question"):
            batch_price.price_batch(columns, array("q", numbers).tobytes(), absent=False)


# --- no charge rests on it ----------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [1, 10**9], ids=["too low", "too high"])
def test_a_wrong_compiled_form_changes_no_charge(wrong, monkeypatch, tmp_path):
    schema = hartley.Schema.read(
        {
            "table": {"name": "people"},
            "columns": {
                "age": {"kind": "private", "range": [0, 99], "step": 1},
                "ward": {"kind": "public", "values": ["north", "south"]},
            },
        }
    )
    data = {"age": [20, 40, 60], "ward": ["north", "north", "south"]}
    texts = [
        "SELECT SUM(age) FROM people WHERE age >= 40",
        "SELECT COUNT(*) FROM people WHERE ward = 'north' AND age < 30",
        "SELECT MEDIAN(age) FROM people",
    ]

    def charged(ledger):
        with hartley.Agent(data, schema, ledger=tmp_path / ledger, budget=20) as agent:
            answers = [agent.ask(text, bits=2) for text in texts]
            together = agent.ask([f"{text} " for text in texts], bits=3)
            assert verify_prices(agent.ledger).holds
            return [answer.bits for answer in (*answers, *together)]

    right = charged("right.db")
    monkeypatch.setattr(asking, "_compiled_price", lambda *_: wrong)
    assert charged("wrong.db") == right
