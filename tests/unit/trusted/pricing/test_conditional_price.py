"""The ledger is public: cells, and not what is displayed of them, are what a price must bound."""

# ruff: noqa: S311 - random cases, not secrets
# ruff: noqa: S608 - texts of questions

import importlib.util
import itertools
import json
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest
from random_questions import coded as column

from hartley import Agent, Column, Schema
from hartley.engines.coded_table import CodedTable
from hartley.engines.duckdb import EmbeddedStore
from hartley.errors import Refused
from hartley.trusted.cells import cell_of
from hartley.trusted.precision import PriceDesk, questions_of
from hartley.trusted.pricing.price import price
from hartley.trusted.questions import condition
from hartley.trusted.questions.batch import Statistic
from hartley.trusted.statistics import totals

THEOREMS = Path(__file__).parents[3] / "theorems"


def module(name):
    spec = importlib.util.spec_from_file_location(name, THEOREMS / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


enumerator = module("enumerator")


A = Column("a", "private", low=Fraction(1), high=Fraction(5), step=Fraction(1), nullable=True)

# --- the attack of a batch about nobody ---------------------------------------------------------


def exported_cells(agent, path):
    """Return the cells that the exported ledger holds."""
    agent.ledger.export(path)
    cells = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row.get("kind") == "commit":
            cells += json.loads(row["content"])["answers"].values()
    return cells


@pytest.mark.parametrize("everybody_first", [False, True])
def test_quantiles_of_nobody_leave_one_constant_in_the_exported_ledger(tmp_path, everybody_first):
    ages = random.Random(1).sample(range(100), 40)
    schema = Schema("t", {"age": column("age", 100)})
    with Agent({"age": ages}, schema, ledger=tmp_path / "l", budget=9) as agent:
        median = "SELECT MEDIAN(age) FROM t"
        nobody = [f"SELECT QUANTILE(age, {k}/40) FROM t WHERE FALSE" for k in range(1, 41)]
        batch = [median, *nobody] if everybody_first else [*nobody, median]
        answers = agent.ask(batch, bits=5)
        told = {answer.text: answer for answer in answers}
        exact = sorted(ages)[19]
        assert told[median].low <= exact <= told[median].high
        cells = exported_cells(agent, tmp_path / "rows.jsonl")
    assert len(cells) == 41
    assert Counter(cells)["null"] == 40


@pytest.mark.slow
@pytest.mark.parametrize(
    "never",
    [
        "FALSE",
        "a < 2 AND a > 3",
        "a > 99",
        "a IS NULL AND a = 1",
        "b IS NULL",
        "b < 3 AND NOT b < 4",
        "(a = 1 OR b = 1) AND a > 2 AND b > 2",
        "(a IS NULL OR b = 1) AND a = 2 AND b = 3",
        "(a = 1 AND b > 2 OR a = 2 AND b > 3) AND b = 1",
    ],
)
def test_what_no_record_satisfies_is_a_constant_and_costs_nothing(tmp_path, never):
    schema = Schema("t", {"a": A, "b": replace(A, name="b", nullable=False)})
    aggregates = "COUNT(*), SUM(a), AVG(b), VAR_POP(b), MIN(a), MEDIAN(a), QUANTILE(a + b, 0.3)"
    seen = set()
    for number, a in enumerate(([1, 2, 3], [5, None, None], [4, 4, 4])):
        data = {"a": a, "b": [number + 1, 5, 1]}
        path = tmp_path / str(number)
        with Agent(data, schema, ledger=path, budget=9) as agent:
            answer = agent.ask(f"SELECT {aggregates} FROM t WHERE {never}")
            assert answer.bits == 0
            assert [estimate.value for estimate in answer.reading.rows[0]] == [0, 0, *[None] * 5]
            (charge,) = agent.history()
            seen.add((str(charge.questions), charge.answers))
    assert len(seen) == 1


def test_questions_whose_column_must_be_present_and_missing_at_once_are_about_nobody(tmp_path):
    with Agent({"a": [1, None]}, Schema("t", {"a": A}), ledger=tmp_path / "l", budget=9) as agent:
        text = "SELECT MEDIAN(a), AVG(a), SUM(a), COUNT(a) FROM t WHERE a IS NULL"
        answer = agent.ask(text)
        assert answer.bits == 0
        assert [estimate.value for estimate in answer.reading.rows[0]] == [None, None, 0, 0]


@pytest.mark.slow
def test_a_condition_that_is_too_long_to_look_into_costs_as_much_as_its_cell_tells(tmp_path):
    a = Column("a", "private", low=Fraction(1), high=Fraction(9), step=Fraction(1))
    b = Column("b", "private", low=Fraction(1), high=Fraction(99), step=Fraction(1))
    either = " OR ".join(f"a = {k % 4 + 1} AND b = {k}" for k in range(1, 90))
    text = f"SELECT MEDIAN(b) FROM t WHERE ({either}) AND a > 5"
    schema = Schema("t", {"a": a, "b": b})
    with Agent({"a": [9, 9], "b": [3, 4]}, schema, ledger=tmp_path / "l", budget=9) as agent:
        assert agent.price(text, error=0).cells == 100
        assert agent.ask(text, bits=5).reading.only.is_null


# --- every cell, by enumeration -----------------------------------------------------------------


def random_schema(random_):
    hidden = random_.random() < 0.3
    columns = {}
    for letter in "ab":
        kind = random_.choice(["private", "private", "open", "private" if hidden else "public"])
        kind, points = "private" if letter == "a" else kind, 1 + random_.randint(1, 3)
        columns[letter] = column(letter, points, kind, nullable=random_.random() < 0.4)
    rows_per_unit = random_.choice([1, 1, 2])
    unit, most = ("who" if rows_per_unit > 1 else None), (5 if hidden else None)
    return Schema("t", columns, unit, rows_per_unit, "private" if hidden else "public", most)


def random_where(random_):
    low = [f"{c} < {random_.randint(0, 3)}" for c in "ab"]
    high = [f"{c} >= {random_.randint(0, 4)}" for c in "ab"]
    missing = [f"{c} IS NULL" for c in "ab"]
    test = random_.choice([*low, *high, *missing])
    return random_.choice(
        [
            "FALSE",
            "FALSE",
            "NOT FALSE",
            "1 = 2",
            f"{test} OR NOT FALSE",
            f"{test} AND FALSE",
            f"({test}) AND NOT ({test})",
            f"({test}) OR NOT ({test})",
            f"({low[0]} OR {missing[1]}) AND {high[0]} AND {high[1]}",
            f"({low[0]} AND {low[1]} OR {missing[0]}) AND {high[0]}",
            test,
            test,
        ]
    )


def random_batch(random_):
    """Return up to three texts over few forms, so that many questions share a scan."""
    forms = ["a", "b", "a + b", "2 * a", "-1 * a"]
    shapes = ["MEDIAN({})", "QUANTILE({}, 0.3)", "MIN({})", "MAX({})"]
    shapes += ["SUM({})", "AVG({})", "VAR_POP({})", "COUNT(*)", "COUNT({})"]
    texts = []
    for _ in range(random_.randint(1, 3)):
        shape = random_.choice(shapes)
        form = random_.choice("ab" if shape == "COUNT({})" else forms)
        group = random_.choice(["", "", "", " GROUP BY b"])
        text = f"SELECT {shape.format(form)} FROM t WHERE {random_where(random_)}{group}"
        texts.append(text)
    return texts


class Tables:
    """Coded tables in one DuckDB."""

    def __init__(self):
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        self.numbers = itertools.count()

    def of(self, schema, rows):
        name = f"coded{next(self.numbers)}"
        columns = ", ".join(f"c{i} TINYINT" for i in range(len(schema.columns)))
        self.connection.execute(f"CREATE TABLE {name} ({columns})")
        if rows:
            marks = ", ".join("?" * len(schema.columns))
            self.connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        codings = tuple(column.coding for column in schema.columns.values())
        store = EmbeddedStore(self.connection)
        store.relation = (name,)
        return CodedTable(codings, len(rows), "version", store)


class Neighbours:
    """One tiny table for every value of one person's data, everybody else's fixed."""

    def __init__(self, random_, rng, tables):
        self.schema = schema = random_schema(random_)
        self.world = world = enumerator.World(schema)
        size = None if schema.rows == "private" else schema.rows_per_unit
        self.data = world.data(random_.choice(world.publics), size)
        self.own, self.others = world.tally(self.data), world.others(random_.randint(0, 1), 1, rng)
        self.coded = [
            tables.of(
                schema,
                [
                    tuple(record.values())
                    for record, times in zip(world.records, rows, strict=True)
                    for _ in range(times)
                ],
            )
            for rows in self.own + self.others
        ]
        self.desk = PriceDesk(schema, schema.max_rows or self.coded[0].rows)

    def planned(self, texts, wish):
        try:
            return questions_of(self.desk.plan(list(texts), **wish))
        except Refused:  # too few bits
            return []

    def plain_cells(self, question):
        """Return the cell of a question in each of the tables, computed in plain Python."""
        return enumerator.answers(self.world, question, self.own, self.others)[0].tolist()

    def told_apart(self, vectors):
        """Return how many vectors of cells one person causes at most, what is open given."""
        codes = {vector: number for number, vector in enumerate(dict.fromkeys(vectors))}
        numbers = np.array([[codes[vector] for vector in vectors]])
        return enumerator.largest(numbers, self.world.opened(self.data))[0]


def run_cells(coded, questions):
    cells = map(cell_of, questions, totals(coded, questions))
    return [enumerator.NULL if cell is None else cell for cell in cells]


def random_wish(random_):
    error = random_.choice([None, 0, 1])
    return {"error": error, "bits": random_.choice([1, 2, 4]) if error is None else None}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_every_cell_is_that_of_plain_python_and_the_price_bounds_all_of_them(seed, monkeypatch):
    random_, rng, tables = random.Random(seed), np.random.default_rng(seed), Tables()
    if seed == 3:
        monkeypatch.setattr(condition, "MOST_TERMS", 1)  # hardly any condition is looked into
    seen = Counter()
    for _ in range(10):
        near = Neighbours(random_, rng, tables)
        for _ in range(6):
            texts, wish = random_batch(random_), random_wish(random_)
            questions = near.planned(texts, wish)
            if not questions:
                continue
            plain = {question: near.plain_cells(question) for question in questions}
            orders = [near.planned(some, wish) for some in itertools.permutations(texts)]
            alone = [[question] for question in questions[:4]]
            for place, coded in enumerate(near.coded):
                # All orders and every question alone for a few people, for others one of them.
                batches = [*orders, *alone]
                for batch in batches if place < 2 else random_.sample(batches, 1):
                    assert run_cells(coded, batch) == [plain[q][place] for q in batch], texts
            vectors = list(zip(*plain.values(), strict=True))
            assert near.told_apart(vectors) <= price(questions, near.schema).cells, texts
            seen["batches"] += 1
            seen["constant"] += len(set(vectors)) == 1
            seen["ranked nobody"] += any(
                q.statistic is Statistic.ORDER and set(plain[q]) == {enumerator.NULL}
                for q in questions
            )
    assert seen["batches"] > 30
    assert seen["batches"] > seen["constant"] > 3
    assert seen["ranked nobody"] > 5
