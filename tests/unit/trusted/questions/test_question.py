"""Questions in SQL: resolved exactly, or refused at the place that cannot be answered."""

# ruff: noqa: E501 - a table of questions is read line by line
# ruff: noqa: S608 - texts of questions, which reach no engine
# ruff: noqa: S311 - random cases, not secrets
# ruff: noqa: PT017 - most texts are refused, some are not

import logging
import pickle
import random
from fractions import Fraction

import pytest

from hartley import Column, Schema
from hartley.errors import Refused
from hartley.trusted.questions.batch import Statistic, Test as Leaf
from hartley.trusted.questions.condition import EVERY, NONE
from hartley.trusted.questions.parsing import MOST_CHARACTERS, MOST_DEPTH
from hartley.trusted.questions.question import MOST_GROUPS, Selection, parse

DAY = Fraction(10957)  # 2000-01-01
COLUMNS = [
    Column("region", "public", values=("north", "south", "it's")),
    Column("sex", "open", values=("F", "M"), other=True),
    Column("height", "private", low=Fraction(100), high=Fraction(250), step=Fraction(1, 2), nullable=True),
    Column("age", "private", low=Fraction(0), high=Fraction(120), step=Fraction(1)),
    Column("smoker", "private", values=(True, False), nullable=True),
    Column("rooms", "private", values=(1, 2, 4)),
    Column("born", "private", low=DAY, high=DAY + 3652, step=Fraction(1), date=True),
    Column("seen", "private", low=DAY, high=DAY + 3640, step=Fraction(7), date=True),
    Column("Odd Name", "private", low=Fraction(0), high=Fraction(1), step=Fraction(1)),
]  # fmt: skip
SCHEMA = Schema("people", {c.name: c for c in COLUMNS}, unit="person_id")
PRIVATE = Schema("people", SCHEMA.columns, rows="private", max_rows=500)


def asked(text, schema=SCHEMA, rows=1000):
    return parse(text, schema, rows)


def refused(text, schema=SCHEMA):
    with pytest.raises(Refused) as caught:
        parse(text, schema, 1000)
    refusal = caught.value
    assert refusal.text == text
    assert 0 <= refusal.place[0] <= refusal.place[1] <= len(text)
    return refusal, text[slice(*refusal.place)]


REFUSALS = [
    # a clause or a statement
    ("SELECT COUNT(*) FROM people ORDER BY age", "ORDER BY", "ORDER BY age", "sort the answer"),
    ("SELECT COUNT(*) FROM people LIMIT 5", "LIMIT", "LIMIT 5", "every group is answered"),
    ("SELECT COUNT(*) FROM people GROUP BY sex HAVING COUNT(*) > 3", "HAVING", "HAVING COUNT(*) > 3", "yourself"),
    ("SELECT DISTINCT sex FROM people", "DISTINCT", "DISTINCT", "GROUP BY"),
    ("SELECT COUNT(DISTINCT sex) FROM people", "COUNT(DISTINCT ...)", "COUNT(DISTINCT sex)", "GROUP BY"),
    ("SELECT COUNT(*) FROM people JOIN others USING (age)", "A join", "JOIN others USING (age)", "one table"),
    ("SELECT COUNT(*) FROM people, others", "A join", "others", "one table"),
    ("SELECT COUNT(*) FROM (SELECT 1 FROM people)", "A subquery", "(SELECT 1 FROM people)", "WHERE"),
    ("SELECT COUNT(*) FROM people WHERE age IN (SELECT 3)", "A subquery", "age IN (SELECT 3)", "values themselves"),
    ("SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 3)", "EXISTS", "", "WHERE"),
    ("SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)", "A subquery", "", "WHERE"),
    ("WITH x AS (SELECT 1) SELECT COUNT(*) FROM people", "A common table expression", "WITH", "one SELECT"),
    ("SELECT COUNT(*) FROM people UNION SELECT 1", "UNION", "UNION", "combine the answers"),
    ("SELECT COUNT(*) FROM people EXCEPT SELECT 1", "EXCEPT", "EXCEPT", "combine the answers"),
    ("SELECT SUM(age) OVER () FROM people", "A window function", "SUM(age)", "GROUP BY"),
    ("SELECT COUNT(*) FROM people WINDOW w AS ()", "A window function", "WINDOW w", "GROUP BY"),
    ("SELECT COUNT(*) FROM people QUALIFY age > 1", "QUALIFY", "QUALIFY age > 1", "WHERE"),
    ("SELECT COUNT(*) FROM people TABLESAMPLE 10%", "plain name", "people TABLESAMPLE 10", "sample"),
    ("SELECT COUNT(*) FROM people USING SAMPLE 10", "Sampling", "10", "whole table"),
    ("SELECT COUNT(*) INTO x FROM people", "SELECT INTO", "INTO x", "never stored"),
    ("SELECT COUNT(*) FROM people FOR UPDATE", "Locking", "FOR", "nothing is ever written"),
    ("SELECT COUNT(*) FROM people; DROP TABLE people", "Several statements", "DROP", "a batch"),
    ("DROP TABLE people", "begins with 'DROP'", "DROP", "SELECT"),
    ("INSERT INTO people VALUES (1)", "begins with 'INSERT'", "INSERT", "SELECT"),
    ("FROM people SELECT COUNT(*)", "begins with FROM", "FROM", "SELECT"),
    ("(SELECT COUNT(*) FROM people)", "in parentheses", "(", "without parentheses"),
    ("   ", "empty", "   ", "SELECT"),
    ("-- nothing", "empty", "-- nothing", "SELECT"),
    ("SELECT COUNT(*)", "no table", "SELECT COUNT(*)", "FROM people"),
    ("SELECT COUNT(*) FROM persons", "'persons'", "persons", "the table is people"),
    ("SELECT COUNT(*) FROM main.people", "plain name", "main.people", "FROM people"),
    ("SELECT COUNT(*) FROM read_csv('x')", "by its name", "read_csv('x')", "FROM people"),
    ("SELECT COUNT(*) FROM 'people.csv'", "'people.csv'", "'people.csv'", "the table is people"),
    ("SELECT COUNT(*) FROM people PIVOT (SUM(age) FOR sex IN ('F'))", "plain name", "", "FROM people"),
    # the parser's own complaints
    ("SELECT COUNT(*) FROM people WHERE age >", "cannot be read", ">", "write for example"),
    ("SELECT COUNT(* FROM people", "near 'FROM'", "FROM", "write for example"),
    ("SELECT COUNT(*) FROM people WHERE sex = 'F", "cannot be read", "", "quotation mark"),
    # columns
    ("SELECT AVG(hieght) FROM people", "'hieght'", "hieght", "did you mean height?"),
    ("SELECT AVG(other.age) FROM people", "'other'", "other.age", "the table is people"),
    ("SELECT COUNT(person_id) FROM people", "names the person", "person_id", "the columns are"),
    ("SELECT COUNT(*) FROM people WHERE PERSON_ID = 3", "names the person", "PERSON_ID", "the columns are"),
    ("SELECT COUNT(*) FROM people GROUP BY Person_Id", "names the person", "Person_Id", "the columns are"),
    ("SELECT age FROM people", "individual rows", "age", "GROUP BY age"),
    ("SELECT sex, COUNT(*) FROM people GROUP BY region", "individual rows", "sex", "GROUP BY sex"),
    ("SELECT * FROM people", "* is not answered", "*", "COUNT(*)"),
    ("SELECT sex FROM people GROUP BY sex", "an aggregate", "", "COUNT(*)"),
    # aggregates
    ("SELECT AVG(sex) FROM people", "holds categories", "sex", "GROUP BY sex"),
    ("SELECT MAX(smoker) FROM people", "holds categories", "smoker", "GROUP BY smoker"),
    ("SELECT MODE(age) FROM people", "MODE", "MODE(age)", "MEDIAN"),
    ("SELECT ABS(age) FROM people", "ABS", "ABS(age)", "MEDIAN"),
    ("SELECT SUM(ABS(age)) FROM people", "ABS", "ABS(age)", "MEDIAN"),
    ("SELECT SUM(my_own(age)) FROM people", "MY_OWN", "my_own(age)", "MEDIAN"),
    ("SELECT SUM(age) + 1 FROM people", "Arithmetic with aggregates", "SUM(age) + 1", "yourself"),
    ("SELECT SUM(age) / COUNT(*) FROM people", "Arithmetic with aggregates", "SUM(age) / COUNT(*)", "yourself"),
    ("SELECT age + 1 FROM people", "an aggregate", "age + 1", "SUM(a + 2*b)"),
    ("SELECT 7 FROM people", "an aggregate", "7", "SUM(a + 2*b)"),
    ("SELECT SUM(age * height) FROM people", "multiplies two columns", "age * height", "constant"),
    ("SELECT SUM(age * age) FROM people", "multiplies two columns", "age * age", "constant"),
    ("SELECT SUM(1 / age) FROM people", "divide by a constant", "1 / age", "divide by a number"),
    ("SELECT SUM(age / 0) FROM people", "other than zero", "age / 0", "divide by a number"),
    ("SELECT SUM(age / (1 - 1)) FROM people", "other than zero", "age / (1 - 1)", "divide by a number"),
    ("SELECT SUM(3) FROM people", "no column", "SUM(3)", "COUNT(*)"),
    ("SELECT AVG(age - age) FROM people", "no column", "AVG(age - age)", "COUNT(*)"),
    ("SELECT SUM(born) FROM people", "adds up dates", "SUM(born)", "MEDIAN"),
    ("SELECT AVG(born + seen) FROM people", "adds up dates", "AVG(born + seen)", "difference"),
    ("SELECT SUM(age + NULL) FROM people", "NULL", "", "IS NULL"),
    ("SELECT SUM(age + 'x') FROM people", "'x' is not a number", "'x'", "number"),
    ("SELECT SUM(CASE WHEN age > 3 THEN 1 END) FROM people", "CASE", "", "WHERE"),
    ("SELECT SUM(age) FILTER (WHERE sex = 'F') FROM people", "FILTER", "", "WHERE"),
    ("SELECT COUNT(age, sex) FROM people", "one column", "COUNT(age, sex)", "COUNT(column)"),
    ("SELECT MIN(age, 3) FROM people", "more than one argument", "MIN(age, 3)", "one column"),
    ("SELECT QUANTILE(age, 1.5) FROM people", "between 0 and 1", "1.5", "QUANTILE(column, 0.9)"),
    ("SELECT QUANTILE(age, height) FROM people", "between 0 and 1", "height", "QUANTILE(column, 0.9)"),
    ("SELECT QUANTILE_CONT(age, 0.5) FROM people", "interpolated", "QUANTILE_CONT(age, 0.5)", "QUANTILE"),
    ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FROM people", "interpolated", "PERCENTILE_CONT(0.5)", "QUANTILE"),
    ("SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age DESC) FROM people", "not answered", "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age DESC)", "ORDER BY column"),
    ("SELECT SUM(1e300 * age) FROM people", "too large for an engine", "SUM(1e300 * age)", "smaller"),
    ("SELECT SUM(age + 0.00000000000000000000000000001) FROM people WHERE smoker", "too large for an engine", "SUM(age + 0.00000000000000000000000000001)", "rounder"),
    ("SELECT SUM(1e999 * age) FROM people", "too large or too small", "1e999", "decimal"),
    # filters
    ("SELECT COUNT(*) FROM people WHERE age > height", "compares columns", "age > height", "constants"),
    ("SELECT COUNT(*) FROM people WHERE sex = region", "compares columns", "sex = region", "constants"),
    ("SELECT COUNT(*) FROM people WHERE age = NULL", "never TRUE", "age = NULL", "IS NULL"),
    ("SELECT COUNT(*) FROM people WHERE age IN (1, NULL)", "NULL in a list", "age IN (1, NULL)", "IS NULL"),
    ("SELECT COUNT(*) FROM people WHERE region = 'nort'", "does not declare", "region = 'nort'", "did you mean 'north'?"),
    ("SELECT COUNT(*) FROM people WHERE sex IN ('F', 'X')", "does not declare", "sex IN ('F', 'X')", "NOT IN"),
    ("SELECT COUNT(*) FROM people WHERE rooms = 3", "does not declare", "rooms = 3", "1, 2, 4"),
    ("SELECT COUNT(*) FROM people WHERE rooms = '2'", "does not declare", "rooms = '2'", "2"),
    ("SELECT COUNT(*) FROM people WHERE rooms = TRUE", "does not declare", "rooms = TRUE", "1, 2, 4"),
    ("SELECT COUNT(*) FROM people WHERE smoker = 1", "does not declare", "smoker = 1", "TRUE, FALSE"),
    ("SELECT COUNT(*) FROM people WHERE height = 170.3", "never has", "height = 170.3", "170 and 170.5"),
    ("SELECT COUNT(*) FROM people WHERE age <> 130", "never has", "age <> 130", "0 to 120"),
    ("SELECT COUNT(*) FROM people WHERE seen = '2000-01-02'", "never has", "seen = '2000-01-02'", "2000-01-01 and 2000-01-08"),
    ("SELECT COUNT(*) FROM people WHERE region > 'a'", "by order", "region > 'a'", "IN ('north'"),
    ("SELECT COUNT(*) FROM people WHERE sex BETWEEN 'A' AND 'G'", "by order", "sex BETWEEN 'A' AND 'G'", "IN"),
    ("SELECT COUNT(*) FROM people WHERE region LIKE 'n%'", "LIKE", "region LIKE 'n%'", "IN"),
    ("SELECT COUNT(*) FROM people WHERE age % 2 = 0", "remainder", "age % 2", "IN"),
    ("SELECT COUNT(*) FROM people WHERE sqrt(age) > 2", "SQRT", "sqrt(age)", "in WHERE: none"),
    ("SELECT COUNT(*) FROM people WHERE age", "on its own", "age", "compare it"),
    ("SELECT COUNT(*) FROM people WHERE sex", "on its own", "sex", "compare it"),
    ("SELECT COUNT(*) FROM people WHERE age IS TRUE", "on its own", "age", "compare it"),
    ("SELECT COUNT(*) FROM people WHERE age IS DISTINCT FROM 3", "IS DISTINCT FROM", "age IS DISTINCT FROM 3", "IS NULL"),
    ("SELECT COUNT(*) FROM people WHERE (age > 3) IS TRUE", "not answered", "", "IS TRUE"),
    ("SELECT COUNT(*) FROM people WHERE age BETWEEN SYMMETRIC 3 AND 1", "SYMMETRIC", "age BETWEEN SYMMETRIC 3 AND 1", "smaller end"),
    ("SELECT COUNT(*) FROM people WHERE born > 3", "a date with something that is not a date", "born > 3", "DATE"),
    ("SELECT COUNT(*) FROM people WHERE age > DATE '2000-01-01'", "a date with something that is not a date", "", "DATE"),
    ("SELECT COUNT(*) FROM people WHERE born > '2000-02-31'", "not a number", "'2000-02-31'", "DATE"),
    ("SELECT COUNT(*) FROM people WHERE born > '2000'", "not a number", "'2000'", "DATE"),
    ("SELECT COUNT(*) FROM people WHERE age > '3'", "not a number", "'3'", "number"),
    ("SELECT COUNT(*) FROM people WHERE age = ?", "placeholder", "", "value itself"),
    ("SELECT COUNT(*) FROM people WHERE age::INT = 3", "A cast", "age", "types of the schema"),
    ("SELECT COUNT(*) FROM people WHERE (age, sex) = (1, 'F')", "A list of values", "", "one column at a time"),
    ("SELECT COUNT(*) FROM people WHERE age IN ()", "not followed by a list", "age", "values"),
    ("SELECT COUNT(*) FROM people WHERE COUNT(*) > 3", "COUNT", "", "in WHERE: none"),
    # groups
    ("SELECT COUNT(*) FROM people GROUP BY 1", "their positions", "1", "GROUP BY region"),
    ("SELECT COUNT(*) FROM people GROUP BY ROLLUP(sex)", "ROLLUP", "", "GROUP BY a column"),
    ("SELECT COUNT(*) FROM people GROUP BY ALL", "plain GROUP BY", "GROUP BY", "list the columns"),
    ("SELECT COUNT(*) FROM people GROUP BY sex, sex", "twice", "sex", "once"),
    ("SELECT COUNT(*) FROM people GROUP BY BIN(age, 0)", "positive", "BIN(age, 0)", "BIN(age, 10)"),
    ("SELECT COUNT(*) FROM people GROUP BY BIN(age)", "a column and a width", "BIN(age)", "BIN(age, 10)"),
    ("SELECT COUNT(*) FROM people GROUP BY BIN(sex, 2)", "into bins", "BIN(sex, 2)", "GROUP BY sex"),
    ("SELECT COUNT(*) FROM people GROUP BY FLOOR(born / 7)", "into bins", "FLOOR(born / 7)", "BIN(born, 30)"),
    ("SELECT COUNT(*) FROM people GROUP BY FLOOR(age)", "FLOOR", "FLOOR(age)", "FLOOR(column / width)"),
    ("SELECT COUNT(*) FROM people GROUP BY age % 3", "remainder", "age % 3", "BIN"),
    ("SELECT COUNT(*) FROM people GROUP BY BIN(age + 1, 10)", "not put a plain column", "BIN(age + 1, 10)", "BIN(age, 10)"),
    ("SELECT COUNT(*) FROM people GROUP BY age, height", f"more than {MOST_GROUPS:,} groups", "age, height", "wider bins"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "problem", "place", "hint"), REFUSALS, ids=lambda part: part)
def test_a_refusal_names_the_culprit_its_place_and_what_works(text, problem, place, hint):
    refusal, found = refused(text)
    assert problem in refusal.problem
    assert found == place or not place
    assert hint.lower() in refusal.hint.lower()
    assert "\n" not in str(refusal)


def test_a_refusal_is_the_same_whatever_the_rows():
    for text, *_ in REFUSALS:
        outcomes = set()
        for rows in (0, 1, 10_000):
            with pytest.raises(Refused) as caught:
                parse(text, SCHEMA, rows)
            outcomes.add((str(caught.value), caught.value.place))
        assert len(outcomes) == 1


def test_long_and_deep_questions_are_refused_at_once():
    assert "too long" in refused("SELECT COUNT(*) FROM people " + " " * MOST_CHARACTERS)[0].problem
    deep = "(" * (MOST_DEPTH + 1) + "age" + ")" * (MOST_DEPTH + 1)
    refusal, place = refused(f"SELECT SUM({deep}) FROM people")
    assert "parentheses deep" in refusal.problem
    assert place == "("
    assert (
        "nested" in refused(f"SELECT COUNT(*) FROM people WHERE {'NOT ' * 4000}smoker")[0].problem
    )
    assert "nested" in refused(f"SELECT SUM({'- ' * 4000}age) FROM people")[0].problem
    assert "nested" in refused(f"SELECT SUM({'age+' * 4000}age) FROM people")[0].problem


@pytest.mark.slow
def test_a_long_list_of_alternatives_is_read():
    ages = " OR ".join(f"age = {k % 60}" for k in range(1200))
    assert asked(f"SELECT COUNT(*) FROM people WHERE {ages}").questions[0].where == (
        Leaf("age", ((0, 59),))
    )
    listed = ", ".join(str(k % 60) for k in range(4000))
    assert asked(f"SELECT COUNT(*) FROM people WHERE age NOT IN ({listed})").questions[0].where == (
        Leaf("age", ((60, 120),))
    )


def test_with_private_rows_public_columns_and_row_numbers_are_out_of_reach():
    for text in (
        "SELECT COUNT(*) FROM people WHERE region = 'north'",
        "SELECT COUNT(*) FROM people GROUP BY region",
        "SELECT COUNT(region) FROM people",
    ):
        refusal, place = refused(text, PRIVATE)
        assert "who is in the table" in refusal.problem
        assert place in {"region", "region = 'north'"}
    count = asked("SELECT COUNT(*) FROM people", PRIVATE, 500).questions[0]
    assert (count.least, count.most) == (0, 500)
    kinds = [q.statistic for q in asked("SELECT AVG(age) FROM people", PRIVATE, 500).questions]
    assert kinds == [Statistic.SUM, Statistic.COUNT]


def test_a_refusal_travels_between_processes():
    refusal, _ = refused("SELECT AVG(hieght) FROM people")
    again = pickle.loads(pickle.dumps(refusal))  # noqa: S301 - our own bytes
    assert (str(again), again.place, again.text) == (str(refusal), refusal.place, refusal.text)


# --- what is answered -----------------------------------------------------------------------------


def test_a_name_that_could_mean_two_columns_is_refused():
    columns = [Column(name, "private", values=(1, 2)) for name in ("STRASSE", "straße")]
    schema = Schema("people", {column.name: column for column in columns})
    for name in ("STRASSE", "straße"):
        (question,) = asked(f"SELECT COUNT(*) FROM people WHERE {name} = 1", schema).questions
        assert question.where.column == name
    refusal, _ = refused("SELECT COUNT(*) FROM people WHERE Strasse = 1", schema)
    assert "no column 'Strasse'" in refusal.problem


def test_names_of_columns_and_tables_match_in_any_case_where_that_is_clear():
    plain = asked("SELECT SUM(age) FROM people WHERE height > 150")
    for text in (
        "select sum(AGE) from PEOPLE where Height > 150",
        'SELECT SUM(people.age) FROM "people" WHERE "height" > 150;',
        "SELECT SUM(p.age) FROM people AS p WHERE p.height > 150 -- a comment",
        "SELECT /* why */ SUM(p.age) FROM people p WHERE people.height > 150; /* done */ ;",
    ):
        found = asked(text)
        assert (found.questions, found.table) == (plain.questions, "people")
    assert asked('SELECT MAX("Odd Name") FROM people').questions
    assert asked('SELECT MAX("odd name") FROM people').questions


def test_labels_are_the_aliases_or_the_text_and_never_twice_the_same():
    found = asked(
        "SELECT COUNT( * ), AVG(age) AS mean, count(age) AS 'n, n', COUNT( * ) FROM people"
    )
    assert found.labels == ("COUNT( * )", "mean", "n, n", "COUNT( * ) (2)")
    assert [found.text[slice(*item.place)] for item in found.items][1] == "AVG(age) AS mean"
    grouped = asked("SELECT COUNT(*) AS sex, sex AS s, region FROM people GROUP BY region, sex")
    assert grouped.keys == ("region", "s")
    assert grouped.labels == ("sex",)


def test_groups_come_from_the_schema_in_its_order():
    found = asked("SELECT sex, smoker, COUNT(*) FROM people GROUP BY sex, smoker")
    shown = [tuple(key.shown for key in group) for group in found.groups]
    assert shown[:4] == [("F", "True"), ("F", "False"), ("F", "(missing)"), ("M", "True")]
    assert shown[-1] == ("(other)", "(missing)")
    assert len(found.items) == len(found.questions) == 9
    assert [item.group for item in found.items] == list(range(9))


def test_bins_cover_the_range_of_the_schema():
    found = asked("SELECT BIN(height, 60) AS h, COUNT(*) FROM people GROUP BY h")
    assert [key.shown for (key,) in found.groups] == ["60", "120", "180", "240", "(missing)"]
    assert [q.where for q in found.questions] == [
        Leaf("height", ((0, 39),)),
        Leaf("height", ((40, 159),)),
        Leaf("height", ((160, 279),)),
        Leaf("height", ((280, 300),)),
        Leaf("height", (), missing=True),
    ]
    fine = asked("SELECT COUNT(*) FROM people WHERE age < 3 GROUP BY BIN(age, 0.4)")
    assert [key.value for (key,) in fine.groups][:3] == [0, Fraction(4, 5), 2]
    days = asked("SELECT COUNT(*) FROM people GROUP BY BIN(born, 1000)")
    assert [key.shown for (key,) in days.groups] == [
        *("1997-05-19", "2000-02-13", "2002-11-09", "2005-08-05", "2008-05-01"),
    ]


def test_what_can_never_hold_is_answered_without_data():
    found = asked("SELECT COUNT(*), SUM(age), AVG(age) FROM people WHERE age > 500")
    assert {q.where for q in found.questions} == {NONE}
    assert {(q.least, q.most) for q in found.questions} == {(0, 0)}
    assert asked("SELECT COUNT(*) FROM people WHERE age <= 500").questions[0].where == EVERY


def test_bounds_of_totals_come_from_the_schema_and_the_public_rows():
    whole = asked("SELECT SUM(age - 10) FROM people").questions[0]
    assert (whole.least, whole.most, whole.form.constant) == (0, 120_000, 0)
    part = asked("SELECT SUM(age - 10) FROM people WHERE sex = 'F'").questions[0]
    assert (part.least, part.most, part.form.constant) == (-10_000, 110_000, -10)
    tall = asked("SELECT SUM(height) FROM people").questions[0]
    assert (tall.least, tall.most) == (0, 500_000)  # 500 halves of a centimetre a row, or missing
    assert tall.form.unit == Fraction(1, 2)
    assert tall.form.constant == 200
    squares = asked("SELECT VAR_POP(height) FROM people").questions[1]
    assert (squares.statistic, squares.least, squares.most) == (Statistic.SQUARES, 0, 90_000_000)
    median = asked("SELECT MEDIAN(height) FROM people").questions[0]
    assert (median.least, median.most, median.quantile) == (0, 300, Fraction(1, 2))


def test_a_form_without_a_common_grid_is_still_whole():
    found = asked("SELECT SUM(age / 3 + height / 7 + 0.1) FROM people").questions[0].form
    value = found.unit * (
        found.constant + dict(found.terms)["age"] * 6 + dict(found.terms)["height"] * 28
    )
    # ages count once and everything else is in proportion: 3 times the number asked for
    assert value == 3 * (Fraction(6, 3) + Fraction(100 + 14, 7) + Fraction(1, 10))


def test_dates_compare_with_dates_and_text():
    for where in ("born >= DATE '2000-01-11'", "born >= '2000-01-11'", "'2000-01-11' <= born",
                  "born - 10 >= DATE '2000-01-01'", "born > CAST('2000-01-10' AS DATE)"):  # fmt: skip
        found = asked(f"SELECT COUNT(*) FROM people WHERE {where}").questions[0].where
        assert found == Leaf("born", ((10, 3652),))
    assert asked("SELECT AVG(seen - born) FROM people").items[0].date is False
    assert asked("SELECT MAX(born + 30) FROM people").items[0].date is True


def test_truth_values_stand_alone_or_are_compared():
    for where in (
        "smoker",
        "smoker = TRUE",
        "TRUE = smoker",
        "smoker IS TRUE",
        "NOT smoker = FALSE",
    ):
        found = asked(f"SELECT COUNT(*) FROM people WHERE {where}").questions[0].where
        assert found == Leaf("smoker", ((0, 0),))
    assert asked("SELECT COUNT(*) FROM people WHERE smoker IS NOT TRUE").questions[0].where == (
        Leaf("smoker", ((1, 1),), missing=True)
    )


def test_undeclared_values_are_what_no_declared_value_is():
    found = asked("SELECT COUNT(*) FROM people WHERE sex NOT IN ('F', 'M')").questions[0].where
    assert found == Leaf("sex", ((2, 2),))
    assert asked("SELECT COUNT(*) FROM people WHERE region = 'it''s'").questions[0].where == (
        Leaf("region", ((2, 2),))
    )
    assert asked("SELECT COUNT(*) FROM people WHERE rooms >= 2").questions[0].where == (
        Leaf("rooms", ((1, 2),))
    )


def test_steps_are_set_one_a_question():
    found = asked("SELECT AVG(height) FROM people")
    assert {q.step for q in found.questions} == {1}
    told = found.with_steps([7, 1])
    assert [q.step for q in told.questions] == [7, 1]
    assert told.items == found.items
    with pytest.raises(ValueError, match="shorter"):
        found.with_steps([7])


# --- question fuzz ---

TEXTS = 20_000
SHARES = 20  # as many tests, so that one that hangs or fails is found quickly
FUZZED = [
    Column("age", "private", low=Fraction(0), high=Fraction(120), step=Fraction(1), nullable=True),
    Column("height", "open", low=Fraction(100), high=Fraction(250), step=Fraction(1, 2)),
    Column("region", "public", values=("north", "south")),
    Column("smoker", "private", values=(True, False), nullable=True),
    Column("born", "private", low=Fraction(0), high=Fraction(20000), step=Fraction(1), date=True),
]
SCHEMAS = [
    Schema("people", {c.name: c for c in FUZZED}, unit="id"),
    Schema("people", {c.name: c for c in FUZZED}, rows="private", max_rows=100),
]
GOOD = [
    "SELECT COUNT(*), AVG(age) AS m FROM people WHERE age BETWEEN 20 AND 40 AND region = 'north'",
    "SELECT region, STDDEV_SAMP(height) FROM people WHERE NOT (age > 3 OR smoker) GROUP BY region",
    "SELECT QUANTILE(age, 0.9), MEDIAN(2 * age - height) FROM people WHERE smoker IS NOT NULL",
    "SELECT BIN(age, 10) AS b, SUM(age + 2*height - 3) FROM people p GROUP BY b",
    "SELECT FLOOR(age / 20), MIN(born) FROM people WHERE born > DATE '1990-01-01' GROUP BY FLOOR(age / 20)",
    "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age) FROM people WHERE region IN ('north', 'south')",
    "SELECT VAR_POP(age), MAX(-age) FROM people WHERE age NOT IN (1, 2) OR 2 * age + 1 >= 5; -- end",
]  # fmt: skip
WORDS = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET UNION ALL DISTINCT JOIN ON USING WITH AS CASE WHEN
THEN ELSE END NULL TRUE FALSE NOT AND OR IN IS LIKE BETWEEN EXISTS OVER PARTITION ROWS WINDOW FILTER
INSERT UPDATE DELETE DROP CREATE TABLE INTO VALUES SET PRAGMA COPY ATTACH LATERAL PIVOT UNNEST INTERVAL
COUNT SUM AVG MIN MAX MEDIAN QUANTILE STDDEV VARIANCE BIN FLOOR ABS CAST EXTRACT COALESCE DATE TIMESTAMP
age height region smoker born id people * ( ) , ; . + - / % = <> < <= > >= || :: [ ] { } ? $1 :x @y # ~ ^
0 1 2.5 -3 1e5 1e999 0x1F 'north' 'x' '' "age" "" '2020-01-01' 1_000 .5 5. /* */ -- \\ ` ' " é \u202e \x00
""".split()  # fmt: skip  # noqa: SIM905 - a list would fill pages
LETTERS = "".join(map(chr, range(32, 127))) + "\n\t\x00\x1bé漢\u202e\U0001f600'\"();"


def made_up(random_):
    return " ".join(random_.choices(WORDS, k=random_.randint(1, 25)))


def made_from_parts(random_):
    """Join parts that are nearly right."""
    number = random_.choice(["age", "2*age", "age+height", "-born", "region", "age/0", "NULL", "3"])
    what = random_.choice(
        [f"{random_.choice(WORDS)}({number})", f"AVG({number})", "COUNT(*)", number]
    )
    leaf = (
        f"{number} {random_.choice(['=', '<', 'IS', 'IN', 'LIKE', 'BETWEEN'])} {made_up(random_)}"
    )
    where = random_.choice(["", f"WHERE {leaf}", f"WHERE NOT ({leaf} OR smoker)"])
    group = random_.choice(["", f"GROUP BY {number}", f"GROUP BY BIN({number}, 2)"])
    return f"SELECT {what} FROM people {where} {group}"


def mutated(random_):
    words = random_.choice(GOOD).replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
    for _ in range(random_.choice([1, 1, 2, 4])):
        place = random_.randrange(len(words))
        change = random_.randrange(5)
        if change == 0 and len(words) > 1:
            del words[place]
        elif change == 1:
            words.insert(place, random_.choice(WORDS))
        elif change == 2:
            words[place] = random_.choice(WORDS)
        elif change == 3:
            words.insert(place, words[random_.randrange(len(words))])
        else:
            other = random_.randrange(len(words))
            words[place], words[other] = words[other], words[place]
    return " ".join(words)


def scratched(random_):
    letters = list(random_.choice(GOOD))
    for _ in range(random_.choice([1, 1, 2, 6])):
        place = random_.randrange(len(letters))
        letters[place : place + random_.randint(0, 2)] = random_.choices(
            LETTERS, k=random_.randint(0, 2)
        )
    return "".join(letters)


def noise(random_):
    return "".join(random_.choices(LETTERS, k=random_.randint(0, 60)))


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_every_text_is_resolved_or_refused(share, caplog):
    random_ = random.Random(share)
    schema = SCHEMAS[share % 4 == 3]
    makers = [mutated, mutated, mutated, scratched, scratched, made_from_parts, made_up, noise]
    resolved = refused = 0
    with caplog.at_level(logging.DEBUG):
        for _ in range(TEXTS // SHARES):
            text = random_.choice(makers)(random_)
            try:
                found = parse(text, schema, 100)
            except Refused as refusal:
                refused += 1
                assert refusal.text == text
                begin, end = refusal.place
                assert 0 <= begin <= end <= len(text)
                assert refusal.problem
                assert refusal.hint
                assert str(refusal).isprintable()
            else:
                resolved += 1
                assert isinstance(found, Selection)
                assert found.items
                assert all(part < len(found.questions) for i in found.items for part in i.parts)
    assert resolved > 20
    assert refused > 600
    assert not caplog.records, "the parser complains about a text to nobody but its author"


@pytest.mark.parametrize("text", GOOD)
def test_the_texts_that_are_mutated_are_good_ones(text):
    assert parse(text, SCHEMAS[0], 100).items
