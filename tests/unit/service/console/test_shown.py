"""What pages say: positions of the slider, tables of answers, repairs, budgets, copied texts."""

import json
import shlex
from datetime import date
from fractions import Fraction

import pytest

from agents import read
from hartley import Agent, Schema, price, price_curve
from hartley.errors import Refused
from hartley.exact import floor_power
from hartley.service.console.ask import read_bits
from hartley.service.console.cards import (
    answer_tables,
    answer_words,
    budget_view,
    caption,
    dataset_card,
    priced_question,
    whole_range,
)
from hartley.service.console.pages import (
    aligned,
    bits_number,
    copied_texts,
    error_words,
    exact_bits,
    left_number,
    sentence,
    shown_refusal,
)
from hartley.text import bits_up
from hartley.trusted.questions.question import parse

SCHEMA = Schema.read(
    {
        "table": {"name": "people", "default_bits": 1},
        "columns": {
            "region": {"kind": "public", "values": ["north", "south"]},
            "age": {"kind": "private", "range": [18, 95], "step": 1},
            "born": {"kind": "private", "range": ["1950-01-01", "2010-12-31"], "step": 1},
            "job": {"kind": "private", "values": ["none", "trade", "care"]},
        },
    }
)
AGED = {
    "table": {"name": "people"},
    "columns": {"age": {"kind": "private", "range": [0, 15], "step": 1}},
}
QUESTIONS = [
    "SELECT AVG(age) FROM people",
    "SELECT COUNT(*) FROM people WHERE age >= 40",
    "SELECT MEDIAN(age) FROM people",
    "SELECT job, COUNT(*), AVG(age) FROM people GROUP BY job",
    "SELECT SUM(age), STDDEV(age) FROM people",
]


def curve_of(question):
    return price_curve(question, SCHEMA, rows=1000, most=12)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_position_buys_what_it_says(question):
    curve = curve_of(question)
    priced = priced_question(curve, "1", 100.0)
    costs = [floor_power(position.wish) for position in priced.positions]
    assert costs == sorted(set(costs))
    for position in priced.positions:
        quote = price(question, SCHEMA, rows=1000, bits=position.wish)
        assert quote.vacuous == ((),)  # every position reveals something
        assert quote.bits == pytest.approx(position.bits)
        errors = dict(quote.errors[0])
        if priced.rows_words:
            assert priced.rows_words == "where at least 100 rows count"
            assert f"{error_words(errors[priced.label])} for certain" in position.otherwise
            errors |= dict(dict(quote.errors_if[0]).get(100, ()))
        assert position.error == error_words(errors[priced.label])


@pytest.mark.parametrize("question", QUESTIONS)
def test_ticks_stand_at_whole_bits_with_the_error_of_each(question):
    curve = curve_of(question)
    priced = priced_question(curve, "1", 100.0)
    useful = [point for point in curve.points if not point.vacuous]
    errors = []
    for words, error, wish in priced.ticks:
        number, _, unit = words.partition(" ")
        assert (unit in {"bit", "bits"}, int(number) >= 1) == (True, True)
        within = [point for point in useful if point.bits <= int(number)]
        (position,) = [each for each in priced.positions if each.wish == wish]
        assert (within[-1].wish, position.error) == (wish, error)
        errors.append(error)
    assert errors
    assert len(set(errors)) == len(errors), "a tick that buys no smaller error is left out"


@pytest.mark.parametrize("question", QUESTIONS)
def test_after_an_answer_the_slider_begins_with_it_and_costs_what_a_quote_says(tmp_path, question):
    data = {
        "region": ["north", "south"] * 10,
        "age": list(range(20, 40)),
        "born": [date(1970, 1, 1)] * 20,
        "job": ["none", "trade"] * 10,
    }
    with Agent(data, SCHEMA, ledger=tmp_path / "ledger.db", budget=40) as agent:
        agent.ask(question, bits=4)
        curve = agent.curve(question, most=12)
        for wish in ("1", "4"):  # a wish for less shows what is paid for, too
            priced = priced_question(curve, wish, 100.0)
            first = priced.positions[0]
            assert (priced.chosen, first.price, first.bits) == (0, "paid for", 0)
            assert first.alone.endswith(" alone)")
            assert first.button == "Show the answer, free"
        charges = [position.bits for position in priced.positions]
        assert charges == sorted(set(charges))
        for position in priced.positions:
            quote = agent.price(question, bits=position.wish)
            assert quote.bits == position.bits == float(position.spend.split()[1])
            lower = quote.bits < quote.bits_alone
            assert position.alone == (f"({bits_up(quote.bits_alone)} alone)" if lower else "")


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_next_useful_price_is_better_and_nothing_lies_between(question):
    curve = curve_of(question)
    for position in priced_question(curve, "1", 100.0).positions:
        above = [p for p in curve.points if p.cells > floor_power(position.wish) and not p.vacuous]
        assert position.next_wish == (above[0].wish if above else "")


def test_a_wish_between_two_positions_becomes_a_position():
    priced = priced_question(curve_of(QUESTIONS[0]), "1.6", 100.0)
    assert priced.now.wish == "1.6"
    assert [position.wish for position in priced.positions][:3] == ["1", "1.6", "2"]


def test_a_wish_that_buys_nothing_becomes_the_first_useful_price():
    priced = priced_question(curve_of("SELECT MEDIAN(age) FROM people"), "0.5", 100.0)
    assert priced.chosen == 0
    assert priced.now.error != "exact"


def test_a_price_above_the_balance_cannot_be_paid():
    priced = priced_question(curve_of(QUESTIONS[0]), "3", 2.0)
    able = {position.wish: not position.short for position in priced.positions}
    assert able["2"]
    assert not able["3"]
    assert priced.now.left.startswith("You have 2 bits left")
    barred = priced_question(curve_of(QUESTIONS[0]), "3", 100.0, may_spend=False)
    assert all(position.short for position in barred.positions)


def test_a_price_above_the_daily_cap_cannot_be_paid_today(tmp_path):
    question = "SELECT MEDIAN(age) FROM people"
    with Agent({"age": [3, 4]}, AGED, ledger=tmp_path / "ledger.db", budget=20) as agent:
        agent.ask(question, bits=1)
        curve = agent.curve(question)
    priced = priced_question(curve, "2", 19.0, today=3)
    able = {position.bits: not position.short for position in priced.positions}
    assert able[0.0]
    assert able[1.0]
    assert not able[2.0]
    for position in priced.positions:
        assert position.plain()["short"] == position.short
    assert priced.positions[-1].short == "Your daily cap leaves 1.584 bits until midnight UTC."
    none = priced_question(curve, "2", 19.0, today=0)  # what is paid for is free all the same
    assert [not position.short for position in none.positions][:2] == [True, False]
    short = priced_question(curve, "2", 1.0, today=3).positions[-1].short
    assert short == "Your allowance does not cover this price."


def answered(question, step, totals):
    plan = parse(question, SCHEMA, 1000)
    plan = plan.with_steps([step] * len(plan.questions))
    return answer_tables(read(plan, totals).to_dict(), plan), plan


def test_an_answer_is_drawn_on_the_range_of_its_column():
    (table,), _ = answered("SELECT AVG(age) FROM people", 1000, [30_000])
    assert table.whole_ends == ("18", "95")
    assert table.headline.within.startswith("[")
    assert "certainly within" in table.headline.whole
    assert table.zoomed_ends is not None
    low, high = (float(end) for end in table.zoomed_ends)
    ends = json.loads(table.headline.within)
    assert 18 <= low <= ends[0] <= ends[1] <= high <= 95


def test_an_exact_number_has_no_zoom_and_a_date_has_dates():
    (table,), _ = answered("SELECT COUNT(*) FROM people WHERE age >= 40", 1, [400])
    assert (table.whole_ends, table.zoomed_ends) == (("0", "1,000"), None)
    assert table.headline.value == "400"
    (table,), _ = answered("SELECT MEDIAN(born) FROM people", 100, [9000])
    assert table.whole_ends == ("1950-01-01", "2010-12-31")


def test_groups_are_lines_with_their_keys():
    tables, _ = answered("SELECT region, COUNT(*) FROM people GROUP BY region", 1, [3, 7])
    assert [line.group for line in tables[0].lines] == [("north",), ("south",)]
    assert tables[0].headline is None
    assert tables[0].keys == ("region",)


@pytest.mark.parametrize("question", [*QUESTIONS, "SELECT VARIANCE(age), MAX(age) FROM people"])
def test_the_whole_range_contains_every_answer(question):
    plan = parse(question, SCHEMA, 1000)
    for end in (0, -1):
        totals = [(asked.least, asked.most)[end] for asked in plan.questions]
        for row in read(plan, totals).to_dict()["rows"]:
            for label, number in zip(plan.labels, row["numbers"], strict=True):
                if number["low"] is None:
                    continue
                scale = whole_range([item for item in plan.items if item.label == label], [])
                assert scale.low <= float(Fraction(number["low"])) + 1e-9
                assert float(Fraction(number["high"])) <= scale.high + 1e-9


@pytest.mark.parametrize(
    ("question", "culprit", "repaired"),
    [
        ("SELECT AVG(agee) FROM people", "agee", "SELECT AVG(age) FROM people"),
        (
            "SELECT COUNT(*) FROM people WHERE region = 'nort' AND job = 'care'",
            "region = 'nort'",
            "SELECT COUNT(*) FROM people WHERE region = 'north' AND job = 'care'",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE job IN ('care', 'trad')",
            "job IN ('care', 'trad')",
            "SELECT COUNT(*) FROM people WHERE job IN ('care', 'trade')",
        ),
    ],
)
def test_a_repair_is_a_question_that_is_answered(question, culprit, repaired):
    with pytest.raises(Refused) as caught:
        parse(question, SCHEMA, 1000)
    refused = caught.value
    refusal = shown_refusal(
        question, refused.problem, refused.hint, address="/d", place=refused.place
    )
    assert refusal.before + refusal.culprit + refusal.after == question
    assert refusal.culprit in culprit or culprit in refusal.culprit
    (repair,) = refusal.repairs
    assert repair.value == repaired
    assert repair.action == "/d/price"  # never /ask: a hint does not spend
    parse(repair.value, SCHEMA, 1000)


def test_a_hint_about_a_price_is_a_button():
    hint = "1.585 bits (--bits 1.585) give ±20; 2 bits (--bits 2) give ±10 if 100 rows count; ask"
    refusal = shown_refusal("SELECT 1", "The answer is vacuous", hint, address="/d")
    assert [repair.value for repair in refusal.repairs] == ["1.585", "2"]
    assert {repair.field for repair in refusal.repairs} == {"wish"}


def test_a_refusal_for_lack_of_bits_says_so():
    refusal = shown_refusal("SELECT 1", "It costs 3 bits", "ask less", address="/d", requested=3.0)
    assert refusal.title == "The budget does not cover it"
    assert refusal.repairs == []


def test_a_budget_counts_days_without_charges_too():
    paid = [("2026-02-27", 1.0), ("2026-03-02", 2.0), ("2026-03-02", 0.5)]
    view = budget_view(SCHEMA, spent=3.5, remaining=4.5, bits=8.0, paid=paid)
    assert view.days == 4
    assert [*view.table] == [
        ("2026-03-02", "2.5", 2),
        ("2026-02-27", "1", 1),
    ]
    assert "at most 8 of the 22.313 bits" in view.promise


def test_a_budget_as_large_as_a_record_promises_nothing():
    view = budget_view(SCHEMA, spent=0, remaining=99, bits=99.0, paid=[])
    assert "promises nothing" in view.promise
    assert "price questions" in budget_view(SCHEMA, spent=0, remaining=0, bits=0.0, paid=[]).promise


def test_examples_are_questions_that_are_answered():
    plain = {"job": {"kind": "private", "values": ["a b", "c"]}}
    categories = Schema.read({"table": {"name": "my table"}, "columns": plain})
    for schema in (SCHEMA, categories):
        examples = dataset_card(schema, 1000).examples
        assert len(examples) >= 2
        for _, text in examples:
            parse(text, schema, 1000)
    assert len(dataset_card(SCHEMA, 1000).examples) == 3


def test_copied_texts_are_what_they_say():
    question = "SELECT COUNT(*) FROM people\nWHERE region = 'north' -- \"it's\" $HOME"
    texts = dict(copied_texts(question, "1.6", "people", "https://example.org"))
    words = shlex.split(texts["curl"].replace("\\\n", " "))
    assert words[1] == "https://example.org/v1/datasets/people/ask"
    assert json.loads(words[-1]) == {"question": question, "bits": "1.6"}
    compile(texts["Python"], "copied", "exec")
    assert repr(question) in texts["Python"]
    assert texts["SQL"] == f"/* bits=1.6 */ {question}"


def test_numbers_are_rounded_to_the_safe_side():
    assert [bits_number(2.80735492), left_number(2.80735492)] == ["2.808", "2.807"]
    assert [exact_bits("33/2"), exact_bits("16")] == ["16.5", "16"]


def test_points_stand_in_one_column():
    assert [text.rstrip() for text in aligned(["9,471", "38,866.7"])] == ["9,471", "38,866.7"]
    assert [len(text.partition(".")[2]) for text in aligned(["1.5", "2.25"])] == [2, 2]
    assert {len(text) for text in aligned(["1", "2.25"])} == {4}
    assert aligned(["1", "exact"]) == ["1", "exact"]


def test_a_hint_is_written_as_sentences():
    hint = "did you mean age? the columns are age and sex"
    assert sentence(hint) == "Did you mean age? The columns are age and sex."


def test_a_paid_answer_in_a_few_words():
    number = {"shown": ["3,062", "exact", "0"]}
    assert answer_words([{"table": {"rows": [{"numbers": [number]}]}}]) == "3,062"
    assert answer_words([{"table": {"rows": [{"numbers": [number] * 2}]}}]) == "2 numbers"


def test_a_caption_says_what_was_paid_or_free():
    reply = {"bits": 3.0, "spent_bits": 3.0, "remaining_bits": 5.0}
    assert caption(reply) == (
        "Charged 3 bits for this answer. You have spent 3 bits in all, and have 5 bits left."
    )
    assert caption(reply | {"bits": 0.0}) == (
        "Free: nothing more is due. You have spent 3 bits in all, and have 5 bits left."
    )


@pytest.mark.parametrize("text", ["", "-1", "1e3", "nan", "1/2", "\u0661", "1" * 5, "1.", " 1"])
def test_only_plain_numbers_are_bits(text):
    assert read_bits(text) is None
