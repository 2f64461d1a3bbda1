"""Plans, against brute force over all splits and against what a real agent charges."""

import itertools
import math
import random
from fractions import Fraction
from pathlib import Path

import pytest

import hartley
from hartley import Agent, Wish, plan
from hartley.errors import OptionError, Refused
from hartley.exact import floor_power
from hartley.results.plan import bits_for

TINY = {
    "table": {"name": "t"},
    "columns": {
        "a": {"kind": "private", "range": [0, 11], "step": 1},
        "b": {"kind": "private", "range": [0, 5], "step": 1},
        "c": {"kind": "private", "values": ["u", "v", "w"]},
    },
}
DATA = {"a": list(range(12)), "b": [0, 1, 2, 3, 4, 5] * 2, "c": list("uvw") * 4}
MEDIAN, MAXIMUM = "SELECT MEDIAN(a) FROM t", "SELECT MAX(b) FROM t"
SUM = "SELECT SUM(a) FROM t"
GROUPS = "SELECT c, COUNT(*) FROM t GROUP BY c"
FILTERED = "SELECT AVG(b) FROM t WHERE c = 'u'"


def largest_share(quote, ranges, weights):
    """Return the largest weighted error of a quote as a share of its ranges."""
    return max(
        weight * (error / ranges[label] if ranges[label] else 0)
        for errors, weight in zip(quote.errors, weights, strict=True)
        for label, error in errors
    )


def smallest_by_brute_force(texts, weights, bits, ranges):
    """Try every number of cells for every question, each priced as a batch of wishes."""
    limit = floor_power(bits)
    best = None
    for cells in itertools.product(range(1, limit + 1), repeat=len(texts)):
        wishes = [Wish(text, bits=bits_for(k)) for text, k in zip(texts, cells, strict=True)]
        try:
            quote = hartley.price(wishes, TINY, rows=12)
        except Refused:
            continue
        if quote.cells > limit or any(quote.vacuous):
            continue
        share = largest_share(quote, ranges, weights)
        best = share if best is None else min(best, share)
    return best


RANGES = {"MEDIAN(a)": Fraction(11, 2), "MAX(b)": Fraction(5, 2), "SUM(a)": 66, "COUNT(*)": 6}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("texts", "weights", "bits"),
    [
        ((MEDIAN, MAXIMUM), (1, 1), 4),
        ((MEDIAN, MAXIMUM), (1, 3), "3.6"),
        ((MEDIAN, SUM), (1, 1), 3),
        ((MEDIAN, SUM, MAXIMUM), (2, 1, 1), 3),
        ((MEDIAN, GROUPS), (1, 1), "4.4"),
        ((SUM, GROUPS), (5, 1), 4),
    ],
)
def test_the_largest_error_is_the_smallest_of_all_splits(texts, weights, bits):
    planned = plan(list(texts), TINY, rows=12, budget=bits, weights=weights)
    assert planned.proved
    assert not planned.excluded
    assert planned.batch <= floor_power(bits)
    quote = hartley.price(planned.wishes, TINY, rows=12)
    assert quote.cells == planned.batch
    assert largest_share(quote, RANGES, weights) == planned.largest
    assert planned.largest == smallest_by_brute_force(texts, weights, bits, RANGES)


@pytest.mark.slow
def test_the_search_finds_what_trying_everything_finds(monkeypatch):
    for weights in ((1, 1, 1), (1, 4, 2), (3, 1, 1)):
        for bits in (3, 4, 5, 6):
            texts = [MEDIAN, MAXIMUM, GROUPS]
            asked = {"rows": 12, "budget": bits, "weights": weights}
            every = plan(texts, TINY, **asked)
            with monkeypatch.context() as few:
                few.setattr("hartley.agent.planning.MOST_SPLITS", 0)
                searched = plan(texts, TINY, **asked)
            assert every.proved in {True, None}
            assert not searched.proved
            assert searched.excluded == every.excluded
            assert searched.largest == every.largest
            assert searched.batch <= 2**bits


def test_the_next_largest_errors_are_made_small_too():
    """The groups are exact or nothing, and what they leave goes to the median."""
    planned = plan([MEDIAN, GROUPS], TINY, rows=12, budget=5)
    assert [asked.cells for asked in planned.questions] == [6, 3]
    finer = hartley.price([Wish(MEDIAN, bits=bits_for(12)), Wish(GROUPS, bits=2)], TINY, rows=12)
    assert finer.cells > 32 >= planned.batch


def test_a_wish_is_kept_and_the_others_share_what_it_leaves():
    text = f"-- error=1\n{MEDIAN};\n{MAXIMUM}; -- bits=1\n{GROUPS}"
    planned = plan(text, TINY, rows=12, budget=6)
    median, maximum, groups = planned.questions
    assert (median.entry.wish.error, median.chosen, median.errors) == (
        *("1", False),
        (("MEDIAN(a)", Fraction(1)),),
    )
    assert (maximum.entry.wish.bits, maximum.cells, maximum.chosen) == ("1", 2, False)
    assert (groups.cells, groups.chosen) == (3, True)


def test_what_does_not_fit_is_named_and_the_weightier_question_stays():
    for weights, inside in (((1, 1), MEDIAN), ((1, 2), GROUPS)):
        planned = plan([MEDIAN, GROUPS], TINY, rows=12, budget="1.6", weights=weights)
        assert [asked.text for asked in planned.questions] == [inside]
        ((text, reason),) = planned.excluded
        assert {text, inside} == {MEDIAN, GROUPS}
        assert reason == "it does not fit, 2.585 bits together with 1 question that fit"


def test_a_budget_too_small_for_anything_leaves_nothing_and_names_the_next_price():
    planned = plan([GROUPS], TINY, rows=12, budget=1)
    assert planned.questions == ()
    ((text, reason),) = planned.excluded
    assert text == GROUPS
    assert reason.startswith("no answer within the budget says more than the schema; 1.585 bits ")
    assert str(planned).endswith("No question of the workload is in the plan.")
    assert planned.to_dict()["questions"] == []
    with pytest.raises(Refused, match="No question"):
        planned.to_sql()


def test_vacuous_wishes_are_left_out_unless_accepted():
    planned = plan([Wish(GROUPS, bits=1), Wish(MEDIAN, bits=1)], TINY, rows=12)
    assert [text for text, _ in planned.excluded] == [GROUPS]
    assert planned.excluded[0][1].startswith("it would say no more than the schema; 1.585 bits")
    accepted = plan([Wish(GROUPS, bits=1), Wish(MEDIAN, bits=1)], TINY, rows=12, vacuous=True)
    assert not accepted.excluded
    assert accepted.batch == 2


def test_errors_can_be_compared_as_numbers():
    shares = plan([MEDIAN, MAXIMUM], TINY, rows=12, budget=4)
    numbers = plan([MEDIAN, MAXIMUM], TINY, rows=12, budget=4, absolute=True)
    assert numbers.largest == max(error for q in numbers.questions for _, error in q.errors)
    assert numbers.largest <= max(error for q in shares.questions for _, error in q.errors)
    assert "±" in numbers.sentences()[-1]
    assert "% of the range" in shares.sentences()[-1]


def test_without_a_budget_questions_get_their_wishes_and_the_schema_s_bits():
    planned = plan([MEDIAN, Wish(MAXIMUM, bits=2)], TINY, rows=12)
    assert [asked.cells for asked in planned.questions] == [2, 4]
    assert (planned.proved, planned.limit, planned.fits) == (None, None, None)
    assert [asked.cells for asked in plan([MEDIAN], TINY, rows=12, bits=3).questions] == [8]


def test_the_batch_is_written_as_sql_that_gives_the_same_plan():
    planned = plan([MEDIAN, SUM, GROUPS], TINY, rows=12, budget=7, weights=[1, 2, "0.5"])
    again = plan(planned.to_sql(), TINY, rows=12)
    assert again.batch == planned.batch
    assert {(q.text, q.errors, q.entry.weight) for q in again.questions} == {
        (q.text, q.errors, q.entry.weight) for q in planned.questions
    }


@pytest.mark.slow
def test_an_agent_charges_what_the_plan_says(tmp_path):
    texts = [MEDIAN, SUM, GROUPS, FILTERED]
    planned = plan(texts, TINY, rows=12, budget=8)
    with Agent(DATA, TINY, ledger=tmp_path / "batch.db", budget=20) as agent:
        answers = agent.ask(planned.wishes)
        assert answers.bits == planned.bits
        for answer, asked in zip(answers, planned.questions, strict=True):
            errors = dict(asked.errors)
            for row in answer.reading.rows:
                for label, estimate in zip(answer.reading.labels, row, strict=True):
                    assert estimate.error is None or estimate.error <= errors[label]
    for name in ("given", "best"):
        ordering = getattr(planned, name)
        with Agent(DATA, TINY, ledger=tmp_path / f"{name}.db", budget=20) as agent:
            charged = [agent.ask([planned.wishes[place]]).bits for place in ordering.places]
        assert [round(2**bits) for bits in charged] == list(ordering.cells)


@pytest.mark.slow
def test_a_ledger_lowers_the_plan_and_limits_it(tmp_path):
    with Agent(DATA, TINY, ledger=tmp_path / "ledger.db", budget=8) as agent:
        agent.ask(MEDIAN, bits=2)
        agent.allow("ann", 3)
        fresh = plan([MEDIAN, GROUPS], agent, budget=5, analyst="ann")
        assert fresh.limit == 8  # the allowance is smaller than the budget
        planned = plan([MEDIAN, GROUPS], agent, budget=3)
        assert planned.batch <= 8 < planned.alone
        assert planned.fits
        assert planned.remaining == agent.price(GROUPS).remaining
        same = plan([MEDIAN, GROUPS], TINY, ledger=tmp_path / "ledger.db", budget=3)
        assert same == planned
        state = agent.state
        assert agent.ask(planned.wishes).bits == planned.bits
        assert agent.state != state
        free = plan(planned.wishes, agent)
        assert free.batch == 1
        dear = plan([Wish(SUM, bits=7)], agent)
        assert dear.fits is False
        assert "It would be refused" in str(dear)


@pytest.mark.slow
def test_a_plan_keeps_what_is_left_of_the_period(tmp_path):
    with Agent(DATA, TINY, ledger=tmp_path / "ledger.db", budget=20) as agent:
        agent.set_budget(4, per="year")
        agent.ask(SUM, bits=1)
        planned = agent.plan([MEDIAN, MAXIMUM, GROUPS], budget=8)
        assert planned.bits <= 3
        assert planned.fits
        assert planned.excluded
        year = agent.state.period.name
        reason = planned.excluded[0][1]
        assert reason.endswith(f"; the part of the year {year} has 3 bits left")
        assert agent.ask(planned.wishes).bits == planned.bits
        # What is paid for is free, also where nothing of the period is left.
        agent.set_budget(planned.bits + 1, per="year")
        again = agent.plan(planned.wishes, budget=8)
        assert (again.bits, again.excluded, again.fits) == (0, (), True)
        assert agent.ask(again.wishes).bits == 0
        # Without a budget nothing is left out, and the plan says that it would be refused.
        wishes = [Wish(FILTERED, bits=3)]
        refused = agent.plan(wishes)
        assert not refused.fits
        assert f"the part of the year {year} has 0 bits left" in str(refused)
        with pytest.raises(Refused, match="the part of the year"):
            agent.ask(wishes)


@pytest.mark.parametrize(
    ("part", "budget", "limited_by", "words"),
    [
        (4, 8, "period", "the part of the year limits the plan"),
        (9, 8, "left", "what is left in all limits the plan"),
        (6, None, "both", "both limit the plan"),
        (9, 2, "budget", "its own budget limits the plan"),
        (None, 8, None, ""),
    ],
)
def test_a_plan_says_what_is_left_of_the_period_and_which_limits_it(
    tmp_path, part, budget, limited_by, words
):
    with Agent(DATA, TINY, ledger=tmp_path / "ledger.db", budget=6) as agent:
        agent.set_budget(part, per="year")
        agent.ask(SUM, bits=1)
        planned = agent.plan([Wish(MEDIAN, bits=1)], budget=budget)
        assert (planned.remaining, planned.limited_by) == (5, limited_by)
        content = planned.to_dict()
        assert content["limited_by"] == limited_by
        if part is None:
            assert content["period"] is None
            assert str(planned).endswith("Left: 5 bits.")
            return
        period = agent.state.period
        assert content["period"] == {
            "per": "year",
            "name": period.name,
            "remaining_bits": part - 1,
            "next": period.following,
        }
        assert str(planned).endswith(
            f"Left: 5 bits in all, and {part - 1} bits of the part of the year {period.name} "
            f"until {period.following}; {words}."
        )


@pytest.mark.slow
def test_a_plan_keeps_what_is_left_of_the_dataset(tmp_path):
    """Open columns of new data are charged to the dataset, and may leave less than allowances."""
    columns = {
        "a": {"kind": "private", "range": [0, 100], "step": 1},
        "sex": {"kind": "open", "values": ["F", "M"]},
    }
    schema = {"table": {"name": "t"}, "columns": columns}
    data = {"a": [1, 2, 50, 99], "sex": ["F", "M", "F", "M"]}
    texts = ["SELECT MEDIAN(a) FROM t", "SELECT COUNT(*) FROM t WHERE a >= 50"]
    with Agent(data, schema, ledger=tmp_path / "ledger.db", budget=10) as agent:
        agent.allow("ann", 6)
        for _ in range(6):
            agent.update(data)
        planned = agent.plan(texts, budget=6, analyst="ann")
        assert planned.fits
        assert 0 < planned.bits <= 3
        assert agent.ask(planned.wishes, analyst="ann").bits == planned.bits
        dear = agent.plan([Wish(texts[0], bits=6)], budget=6, analyst="ann")
        assert dear.excluded[0][1].endswith("; the budget of the dataset no longer covers that")


@pytest.mark.parametrize("seed", range(12))
def test_a_plan_within_a_budget_is_never_refused(tmp_path, seed):
    """Periods, allowances and public columns at random: what a plan promises is answered."""
    rng = random.Random(seed)  # noqa: S311 - reproducible
    columns = TINY["columns"] | {"r": {"kind": "public", "values": ["x", "y"]}}
    schema = {"table": {"name": "t"}, "columns": columns}
    texts = [MEDIAN, MAXIMUM, SUM, GROUPS, FILTERED]
    texts += [f"{text} WHERE r = '{value}'" for text in (MEDIAN, SUM) for value in "xy"]
    data = DATA | {"r": list("xy") * 6}
    with Agent(data, schema, ledger=tmp_path / "ledger.db", budget=30) as agent:
        agent.allow("ana", 9)
        agent.set_budget(rng.randint(4, 9), per=rng.choice(["year", "month"]))
        for _ in range(6):
            analyst, budget = rng.choice(["ana", None]), rng.randint(1, 6)
            planned = agent.plan(rng.sample(texts, 3), budget=budget, analyst=analyst)
            if planned.questions:
                assert planned.fits
                answers = agent.ask(planned.wishes, analyst=analyst, vacuous=True)
                assert answers.bits == planned.bits <= budget


def test_planning_writes_nothing_to_the_ledger(tmp_path):
    path = tmp_path / "ledger.db"
    with Agent(DATA, TINY, ledger=path, budget=8) as agent:
        agent.ask(MEDIAN, bits=2)
        before = len(agent.ledger.entries())
        plan([MEDIAN, GROUPS], agent, budget=4)
        hartley.price_curve(MEDIAN, agent)
        assert len(agent.ledger.entries()) == before


@pytest.mark.parametrize(
    ("questions", "options", "words"),
    [
        ([], {}, "neither SQL text"),
        (7, {}, "neither SQL text"),
        ([7], {}, "neither SQL text nor a Wish"),
        ([MEDIAN], {"weights": [1, 2]}, "2 weights for 1 questions"),
        ([MEDIAN], {"weights": [-1]}, "not positive"),
        ([MEDIAN], {"budget": -1}, "out of reach"),
        ([MEDIAN], {"rows": None}, "number of rows is not known"),
        ([Wish(MEDIAN, bits=1, error=1)], {}, "Both an error and bits"),
    ],
)
def test_mistakes_are_named(questions, options, words):
    with pytest.raises(OptionError, match=words):
        plan(questions, TINY, **({"rows": 12} | options))


def test_something_else_than_a_schema_or_an_agent_is_refused():
    with pytest.raises(OptionError, match="nor an open Agent"):
        plan([MEDIAN], 7)


def test_a_question_that_is_not_answered_points_at_the_place():
    with pytest.raises(Refused, match="no column 'x'") as refused:
        plan("SELECT MEDIAN(a) FROM t; SELECT AVG(x) FROM t;", TINY, rows=12, budget=4)
    assert refused.value.text == "SELECT AVG(x) FROM t"


def test_the_prices_of_a_plan_do_not_depend_on_the_data(tmp_path):
    texts = [MEDIAN, GROUPS, FILTERED]
    plans = []
    for number, data in enumerate((DATA, {name: values[:1] * 12 for name, values in DATA.items()})):
        with Agent(data, TINY, ledger=tmp_path / f"{number}.db", budget=9) as agent:
            agent.ask(MEDIAN, bits=1)
            plans.append(plan(texts, agent, budget=6))
    assert plans[0] == plans[1]


SESSION = """
SELECT AVG(age) FROM people; -- bits=1
SELECT AVG(height) FROM people; -- bits=1
SELECT AVG(weight) FROM people; -- bits=1
SELECT AVG(income) FROM people; -- bits=2
SELECT AVG(visits) FROM people; -- bits=1
SELECT region, AVG(age) FROM people GROUP BY region; -- bits=1
SELECT region, AVG(income) FROM people GROUP BY region; -- bits=2
SELECT sex, AVG(height) FROM people GROUP BY sex; -- bits=1
SELECT sex, AVG(income) FROM people GROUP BY sex; -- bits=2
SELECT diagnosis, COUNT(*) FROM people GROUP BY diagnosis; -- bits=3
SELECT job, COUNT(*) FROM people GROUP BY job; -- bits=3
SELECT BIN(age, 10), COUNT(*) FROM people GROUP BY BIN(age, 10); -- bits=4
SELECT MEDIAN(income) FROM people; -- bits=4
SELECT COUNT(*) FROM people WHERE visits = 0; -- bits=1
SELECT COUNT(*) FROM people WHERE age >= 65; -- bits=1
SELECT COUNT(*) FROM people WHERE diagnosis = 'diabetes' AND age >= 65; -- bits=1
SELECT diagnosis, AVG(age) FROM people GROUP BY diagnosis; -- bits=4
SELECT AVG(income) FROM people WHERE job = 'office'; -- bits=2
SELECT STDDEV(age) FROM people; -- bits=2
SELECT region, COUNT(*) FROM people WHERE diagnosis = 'diabetes' GROUP BY region; -- bits=1
"""


@pytest.mark.slow
def test_an_ordinary_session():
    """Without the open bit: 19.79 bits as one batch, 26.92 one by one as it stands."""
    schema = Path(__file__).parents[3] / "examples" / "people.schema.toml"
    planned = plan(SESSION, schema, rows=5000, vacuous=True)
    bits = [math.log2(cells) for cells in (planned.batch, planned.given.total, planned.best.total)]
    assert [round(number, 2) for number in bits] == [19.79, 26.92, 25.92]
    assert not planned.best.best
    assert "best order that was found" in str(planned)
