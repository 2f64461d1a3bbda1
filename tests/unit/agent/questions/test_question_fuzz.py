"""Whatever the text, a question is resolved or refused: 20,000 generated and mutated texts."""

# ruff: noqa: E501 - a table of questions is read line by line
# ruff: noqa: S608 - texts of questions, which reach no engine
# ruff: noqa: S311 - random cases, not secrets
# ruff: noqa: PT017 - most texts are refused, some are not

import logging
import random
from fractions import Fraction

import pytest

from hartley.errors import Refused
from hartley.schema.schema import Column, Schema
from hartley.trusted.questions.question import Selection, parse

TEXTS = 20_000
SHARES = 20  # as many tests, so that one that hangs or fails is found quickly
COLUMNS = [
    Column("age", "private", low=Fraction(0), high=Fraction(120), step=Fraction(1), nullable=True),
    Column("height", "open", low=Fraction(100), high=Fraction(250), step=Fraction(1, 2)),
    Column("region", "public", values=("north", "south")),
    Column("smoker", "private", values=(True, False), nullable=True),
    Column("born", "private", low=Fraction(0), high=Fraction(20000), step=Fraction(1), date=True),
]
SCHEMAS = [
    Schema("people", {c.name: c for c in COLUMNS}, unit="id"),
    Schema("people", {c.name: c for c in COLUMNS}, rows="private", max_rows=100),
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
