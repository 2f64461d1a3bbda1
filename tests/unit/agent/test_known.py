"""What earlier questions tell, in words: every sentence is read back and compared."""

# ruff: noqa: S311 - random cases, not secrets
# ruff: noqa: S608 - texts of questions

import random
import re
from fractions import Fraction

import pytest

from hartley import Agent, Schema, Wish
from hartley.agent.known import known_words
from hartley.trusted.precision import PriceDesk, questions_of

COLUMNS = {
    "region": {"kind": "public", "values": ["north", "east", "south"]},
    "sex": {"kind": "open", "values": ["F", "M"]},
    "age": {"kind": "private", "range": [18, 95], "step": 1, "unit": "years"},
    "income": {"kind": "private", "range": [0, 200000], "step": 100, "nullable": True},
    "diagnosis": {"kind": "private", "values": ["none", "asthma", "flu", "it's"]},
    "job": {"kind": "private", "values": ["trade", "care"], "other": True, "nullable": True},
    "born": {"kind": "private", "range": ["1920-01-01", "2005-12-31"]},
    "weight": {"kind": "private", "range": [30, 180], "step": "0.1"},
}
PEOPLE = Schema.read({"table": {"name": "t"}, "columns": COLUMNS})
DESK = PriceDesk(PEOPLE, 1000)


def questions(*texts, bits=4, desk=DESK):
    """Return the resolved questions of some texts, one row each."""
    return {
        row: questions_of(desk.plan([Wish(f"SELECT {text}", bits=bits)], None, None))
        for row, text in enumerate(texts, start=2)
    }


def known(asked, *texts, bits=4, desk=DESK):
    """Say what is known of a question after others."""
    (listed,) = questions(asked, bits=8, desk=desk).values()
    return known_words(listed, questions(*texts, bits=bits, desk=desk), desk.schema)


GROUPED = "diagnosis, COUNT(*) FROM t GROUP BY diagnosis"
AGE, MONEY, ILL = "AVG(age) FROM t", "AVG(income) FROM t", "COUNT(*) FROM t WHERE diagnosis = 'flu'"


@pytest.mark.parametrize(
    ("asked", "told", "words"),
    [
        (AGE, ["COUNT(*) FROM t WHERE age >= 65"], "age >= 65"),
        (AGE, ["COUNT(*) FROM t WHERE age < 65"], "age <= 64"),
        (AGE, ["COUNT(*) FROM t WHERE age BETWEEN 20 AND 29"], "age BETWEEN 20 AND 29"),
        (AGE, ["COUNT(*) FROM t WHERE age = 20 OR age > 90"], "age = 20 OR age >= 91"),
        (AGE, ["BIN(age, 10), COUNT(*) FROM t GROUP BY BIN(age, 10)"], "age in bins of 10"),
        (AGE, ["FLOOR(age / 8), COUNT(*) FROM t GROUP BY FLOOR(age / 8)"], "age in bins of 8"),
        (
            AGE,
            ["BIN(age, 10), COUNT(*) FROM t WHERE age >= 40 GROUP BY BIN(age, 10)"],
            "age in bins of 10 where age >= 40",
        ),
        (ILL, [GROUPED], "diagnosis (4 groups)"),
        (ILL, ["COUNT(*) FROM t WHERE diagnosis = 'it''s'"], "diagnosis = 'it''s'"),
        (ILL, ["COUNT(*) FROM t WHERE diagnosis <> 'none'"], "diagnosis <> 'none'"),
        (
            ILL,
            ["region, COUNT(*) FROM t WHERE diagnosis = 'flu' GROUP BY region"],
            "diagnosis = 'flu' by region",
        ),
        (
            ILL,
            ["region, diagnosis, COUNT(*) FROM t GROUP BY region, diagnosis"],
            "diagnosis (4 groups) by region",
        ),
        (
            ILL,
            ["diagnosis, COUNT(*) FROM t WHERE region = 'north' GROUP BY diagnosis"],
            "diagnosis (4 groups) where region = 'north'",
        ),
        (
            ILL,
            ["diagnosis, job, COUNT(*) FROM t GROUP BY diagnosis, job"],
            "diagnosis and job (16 groups)",
        ),
        (MONEY, ["COUNT(income) FROM t"], "income IS NOT NULL"),
        (MONEY, ["COUNT(*) FROM t WHERE income IS NULL"], "income IS NULL"),
        (
            MONEY,
            ["AVG(income) FROM t WHERE diagnosis = 'flu'"],
            (
                "diagnosis = 'flu' AND income IS NOT NULL; "
                "the sum of income where diagnosis = 'flu' up to 14,285.8"
            ),
        ),
        (
            "COUNT(*) FROM t WHERE job = 'care'",
            ["COUNT(*) FROM t WHERE job NOT IN ('care', 'trade')"],
            "job has another value",
        ),
        (
            "COUNT(*) FROM t WHERE born < '1950-01-01'",
            ["COUNT(*) FROM t WHERE born >= '2000-01-01'"],
            "born >= '2000-01-01'",
        ),
        (
            "AVG(weight) FROM t",
            ["COUNT(*) FROM t WHERE weight < 70"],
            "weight <= 69.9",
        ),
    ],
)
def test_filters_are_named_as_in_sql(asked, told, words):
    assert known(asked, *told) == f"Known: {words}."


@pytest.mark.parametrize(
    ("asked", "told", "bits", "words"),
    [
        (AGE, ["AVG(age) FROM t"], 1, "the sum of age up to 77 years"),
        (AGE, ["AVG(age) FROM t"], 7, "the sum of age exactly"),
        (
            AGE,
            ["SUM(age) FROM t WHERE region = 'north'"],
            1,
            "the sum of age where region = 'north' up to 77 years",
        ),
        (
            AGE,
            ["region, AVG(age) FROM t GROUP BY region"],
            2,
            "the sum of age by region up to 25.6667 years",
        ),
        (
            AGE,
            ["diagnosis, AVG(age) FROM t GROUP BY diagnosis"],
            3,
            "the sum of age by diagnosis up to 77 years",
        ),
        ("MEDIAN(age) FROM t", ["MEDIAN(age) FROM t"], 2, "the median of age up to 19.5 years"),
        (
            "QUANTILE(age, 0.9) FROM t",
            ["QUANTILE(age, 0.9) FROM t"],
            2,
            "the 0.9-quantile of age up to 19.5 years",
        ),
        ("MAX(-age) FROM t", ["MAX(-age) FROM t"], 2, "the minimum of age up to 19.5 years"),
        ("MIN(age) FROM t", ["MIN(age) FROM t"], 2, "the minimum of age up to 19.5 years"),
        ("MAX(born) FROM t", ["MAX(born) FROM t"], 2, "the maximum of born up to 7,853 days"),
        (
            "STDDEV(age) FROM t",
            ["STDDEV(age) FROM t"],
            2,
            "the sum of age up to 77 years, the sum of squares of (age - 18) up to 5,929",
        ),
        (
            "AVG(age + 2 * weight) FROM t",
            ["AVG(age + 2 * weight) FROM t"],
            2,
            "the sum of age + 2 weight up to 125.667",
        ),
    ],
)
def test_sums_are_known_up_to_the_width_of_their_cells(asked, told, bits, words):
    assert known(asked, *told, bits=bits).removeprefix("Known: ").split("; ")[-1] == f"{words}."


def test_what_does_not_bear_on_a_question_is_not_named():
    assert known(ILL, "COUNT(*) FROM t WHERE age >= 65", "AVG(weight) FROM t") == ""
    assert known(ILL, "COUNT(*) FROM t WHERE region = 'north'") == ""
    # A sum does not tell its filter, and no window holds where nobody knows who counts.
    assert known(AGE, "SUM(age) FROM t WHERE diagnosis = 'flu'", bits=1) == ""
    # A median is used only for a finer median of the same (rule S).
    assert known("MAX(age) FROM t", "MEDIAN(age) FROM t", bits=1) == ""


def test_a_long_list_says_how_many_more():
    texts = [f"COUNT(*) FROM t WHERE age >= {age}" for age in range(20, 90, 10)]
    assert known(AGE, *texts) == "Known: age >= 20, age >= 30, age >= 40, age >= 50 and 3 more."
    assert known(AGE, *texts[:5]).endswith("age >= 50, age >= 60.")  # none is left out for one more


def test_a_long_condition_is_named_by_its_columns():
    values = ", ".join(str(income) for income in range(1000, 40000, 2000))
    text = f"COUNT(*) FROM t WHERE income IN ({values}) AND diagnosis = 'flu'"
    assert known(ILL, text) == "Known: a condition on diagnosis and income."


def test_where_rows_are_private_a_count_of_everybody_is_known():
    table = {"name": "t", "rows": "private", "max_rows": 1000}
    columns = {name: column for name, column in COLUMNS.items() if column["kind"] != "public"}
    desk = PriceDesk(Schema.read({"table": table, "columns": columns}), 1000)
    assert known(ILL, "COUNT(*) FROM t", desk=desk) == "Known: who is in the table."
    by_sex = "sex, COUNT(*) FROM t GROUP BY sex"
    assert known(ILL, by_sex, desk=desk) == "Known: who is in the table by sex."
    assert known(ILL, "COUNT(*) FROM t WHERE sex = 'F'", desk=desk) == (
        "Known: who is in the table where sex = 'F'."
    )


def test_of_several_rows_of_a_person_their_number_is_known():
    table = {"name": "t", "unit": "person", "rows_per_unit": 3}
    desk = PriceDesk(Schema.read({"table": table, "columns": COLUMNS}), 1000)
    assert known(ILL, "COUNT(*) FROM t WHERE diagnosis = 'flu'", desk=desk) == (
        "Known: how many rows of a person count for diagnosis = 'flu'."
    )
    coarse = "COUNT(*) FROM t WHERE diagnosis = 'none'"
    assert known(coarse, coarse, desk=desk, bits=1) == (
        "Known: the number of rows where diagnosis = 'none' up to 3."
    )

    # Where their number is private, COUNT(*) tells it.
    table |= {"rows": "private", "max_rows": 1000}
    columns = {name: column for name, column in COLUMNS.items() if column["kind"] != "public"}
    desk = PriceDesk(Schema.read({"table": table, "columns": columns}), 1000)
    old = "COUNT(*) FROM t WHERE age >= 65"
    assert known(AGE, "COUNT(*) FROM t", old, desk=desk) == (
        "Known: how many rows of a person count for the whole table, age >= 65."
    )
    women = "COUNT(*) FROM t WHERE sex = 'F'"
    assert known(AGE, women, desk=desk) == ("Known: how many rows of a person count for sex = 'F'.")
    by_sex = "sex, COUNT(*) FROM t GROUP BY sex"
    assert known(AGE, by_sex, desk=desk) == (
        "Known: how many rows of a person count for the whole table by sex."
    )


def test_of_one_sum_in_two_steps_the_finest_is_named():
    (asked,) = questions(AGE, bits=8).values()
    for bits in ([4, 2], [2, 4]):
        wishes = [Wish(f"SELECT {AGE}", bits=each) for each in bits]
        row = {2: questions_of(DESK.plan(wishes, None, None))}
        assert known_words(asked, row, PEOPLE) == known(AGE, AGE, bits=4)


def test_names_that_are_not_plain_are_quoted_as_in_sql():
    columns = {
        "Ward, no.": {"kind": "public", "values": ["A'1", "B,2"]},
        'the "kind"': {"kind": "private", "values": ["a", "b", "c"]},
        "dose (mg)": {"kind": "private", "range": [0, 20], "step": "0.5"},
        "größe": {"kind": "private", "range": [0, 20], "step": 1},
    }
    desk = PriceDesk(Schema.read({"table": {"name": "t"}, "columns": columns}), 1000)
    dose = 'AVG("dose (mg)") FROM t'
    assert known(dose, 'COUNT(*) FROM t WHERE "dose (mg)" >= 3', desk=desk) == (
        'Known: "dose (mg)" >= 3.'
    )
    by_ward = '"Ward, no.", SUM("dose (mg)") FROM t GROUP BY "Ward, no."'
    assert known(dose, by_ward, desk=desk).startswith(
        'Known: the sum of "dose (mg)" by "Ward, no." up to '
    )
    kind = '"the ""kind""", COUNT(*) FROM t GROUP BY "the ""kind"""'
    assert known(kind, kind, desk=desk) == 'Known: "the ""kind""" (3 groups).'
    assert known("AVG(größe) FROM t", "COUNT(*) FROM t WHERE größe >= 3", desk=desk) == (
        "Known: größe >= 3."
    )


# --- every sentence is true -----------------------------------------------------------------------

FILTERS = [
    *("age >= 65", "age < 30", "income > 50000", "income IS NULL", "diagnosis = 'flu'"),
    *("diagnosis IN ('none', 'it''s')", "job = 'care'", "job IS NOT NULL", "region = 'north'"),
    *("born >= '1980-05-01'", "weight BETWEEN 60 AND 80.5", "NOT (age BETWEEN 30 AND 40)"),
]
KEYS = ["diagnosis", "region", "job", "BIN(age, 10)", "BIN(income, 25000)", "sex"]
NUMBERS = ["COUNT(*)", "SUM(age)", "AVG(age)", "AVG(income)", "MEDIAN(income)", "MAX(weight)"]


def drawn(rng):
    """Draw the text of a question."""
    chosen = rng.sample(FILTERS, rng.choice([0, 1, 1, 2]))
    where = f" WHERE {rng.choice([' AND ', ' OR ']).join(chosen)}" if chosen else ""
    number = rng.choice(NUMBERS)
    key = rng.choice(KEYS) if rng.random() < 0.4 and not number.startswith("M") else None
    return f"{f'{key}, ' if key else ''}{number} FROM t{where}{f' GROUP BY {key}' if key else ''}"


def read_back(words):
    """Return the questions that a sentence says are known, with the width that it names."""
    words = re.sub(r"a condition on [\w, ]+ and \w+", "more", words)
    filters, _, windows = words.removeprefix("Known: ").removesuffix(".").rpartition("; ")
    if not filters and not windows.startswith("the "):
        filters, windows = windows, ""
    for part in re.split(r", (?=[a-z]+ |\()(?!the )", filters) if filters else []:
        if "more" in part:
            continue
        yield part, _statement(part, "COUNT(*)"), ...
    for part in re.split(r", (?=the )", windows) if windows else []:
        if "more" not in part:
            found = re.fullmatch(
                r"the (sum|median|maximum) of (\w+)(.*?)(?: up to ([\d.,]+)[a-z ]*| exactly)", part
            )
            name, column, around, width = found.groups()
            text = _statement(f"{around}", f"{name.upper()[:6].replace('MAXIMU', 'MAX')}({column})")
            yield part, text, Fraction("1" if width is None else width.replace(",", ""))


def _statement(words, number):
    """Write a question whose statistics are those that the words name."""
    words = words.replace("job has another value", "job NOT IN ('trade', 'care')")
    found = re.fullmatch(
        r"\s*(?P<key>\w+)(?: \(\d+ groups\)| in bins of (?P<width>\d+))?"
        r"(?: by (?P<by>\w+))?(?: where (?P<where>.*?))?(?: by (?P<after>\w+))?",
        words,
    )
    groups = []
    if words.startswith(" by "):
        found = re.fullmatch(
            r" by (?P<key>\w+)(?: in bins of (?P<width>\d+))?(?: where (?P<where>.*))?", words
        )
    if found and ("group" in words or "bins" in words or words.startswith(" by ")):
        parts = found.groupdict()
        width = parts["width"]
        groups = [f"BIN({parts['key']}, {width})" if width else parts["key"]]
        groups += [parts[name] for name in ("by", "after") if parts.get(name)]
        where = parts["where"]
    else:
        where, _, by = words.removeprefix(" where ").partition(" by ")
        groups = [by] if by else []
    keys = ", ".join(groups)
    return (
        f"SELECT {f'{keys}, ' if keys else ''}{number} FROM t"
        f"{f' WHERE {where}' if where else ''}{f' GROUP BY {keys}' if keys else ''}"
    )


@pytest.mark.parametrize("seed", range(300))
def test_a_sentence_names_only_what_was_asked_and_as_coarsely_as_it_was_answered(seed):
    """Read back as SQL, the filters and sums of a sentence are those of earlier questions."""
    rng = random.Random(seed)
    rows = {}
    for row in range(2, 2 + rng.randint(1, 4)):
        text, bits = f"SELECT {drawn(rng)}", rng.randint(3, 9)
        rows[row] = questions_of(DESK.plan([Wish(text, bits=bits)], None, None))
    asked = questions_of(DESK.plan([Wish(f"SELECT {drawn(rng)}", bits=9)], None, None))
    told = {}
    for question in [question for listed in rows.values() for question in listed]:
        told.setdefault(statistic(question), []).append(question.step * unit(question))
    wheres = {question.where for listed in rows.values() for question in listed}
    sentence = known_words(asked, rows, PEOPLE)
    for words, text, width in read_back(sentence):
        # A mean asks for the sum above the lowest value, and for the count.
        texts = [text, text.replace("SUM(", "AVG(")]
        plans = [DESK.plan([Wish(text, bits=60)], None, None) for text in texts]
        named = [[q for q in questions_of(plan) if is_named(q, width)] for plan in plans]
        if width is ...:
            assert all(q.where in wheres or is_missing(q) for q in named[0]), (words, sentence)
            continue
        known_up_to = [
            max(
                (min(told.get(statistic(q), [10**9])) for q in listed if not is_missing(q)),
                default=0,
            )
            for listed in named
        ]
        assert min(known_up_to) <= width, (words, sentence)


def is_named(question, width):
    """Whether words name a question: counts, or the numbers whose width they say."""
    return (question.statistic.value == "count") == (width is ...)


def statistic(question):
    return (question.statistic, question.where, question.form, question.quantile)


def unit(question):
    """Return what one unit of a statistic is in the column's own values."""
    return 1 if question.form is None else question.form.unit


def is_missing(question):
    """Whether a group is the one of missing values, which words may leave out."""
    return getattr(question.where, "missing", False) or any(
        getattr(part, "missing", False) for part in getattr(question.where, "parts", ())
    )


# --- where it is shown ----------------------------------------------------------------------------


@pytest.fixture
def asked(tmp_path):
    schema = {"table": {"name": "t"}, "columns": {"age": COLUMNS["age"], "sex": COLUMNS["sex"]}}
    data = {"age": [20, 30, 40, 50, 60, 70], "sex": list("FMFMFM")}
    with Agent(data, schema, ledger=tmp_path / "ledger.db", budget=24) as agent:
        yield agent


OLD, YOUNG = "SELECT COUNT(*) FROM t WHERE age >= 65", "SELECT COUNT(*) FROM t WHERE age < 65"


def test_a_quote_and_an_explanation_say_what_is_known(asked):
    asked.ask(OLD)
    (charge,) = asked.history()
    words = (
        f"Given 1 earlier answer (row {charge.sequence}): 0 bits instead of 1 bit. "
        "Known: age >= 65."
    )
    assert asked.price(YOUNG).explanation.splitlines()[-1] == words
    assert words in asked.explain(YOUNG).splitlines()
    asked.ask(YOUNG)
    assert asked.price(YOUNG).explanation.splitlines()[-1] == "1 question was charged before: free."


def test_nothing_of_another_account_is_said(asked):
    asked.allow("ann", 5)
    asked.allow("bob", 5)
    asked.ask(OLD, analyst="ann")
    before = asked.price(YOUNG, analyst="bob")
    assert "Given" not in before.explanation
    asked.ask("SELECT COUNT(*) FROM t WHERE age >= 40", analyst="bob")
    for words in (
        asked.price(YOUNG, bits=3, analyst="bob").explanation,
        asked.explain("SELECT AVG(age) FROM t", bits=3, analyst="bob"),
    ):
        assert "65" not in words
    assert "Known: age >= 40." in asked.explain("SELECT AVG(age) FROM t", bits=4, analyst="bob")


def test_a_price_that_is_lower_for_some_public_values_alone_says_so(tmp_path):
    columns = {name: COLUMNS[name] for name in ("region", "age")}
    schema = {"table": {"name": "t"}, "columns": columns}
    data = {"age": [20, 30, 40], "region": ["north", "east", "south"]}
    with Agent(data, schema, ledger=tmp_path / "ledger.db", budget=24) as agent:
        agent.ask(f"{OLD} AND region = 'north'")
        words = agent.price("SELECT region, AVG(age) FROM t GROUP BY region", bits=2).explanation
    assert "Given 1 earlier answer" in words
    assert "less for some values of the public columns. Known: " in words
