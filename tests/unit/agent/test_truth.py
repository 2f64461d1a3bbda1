"""Truth and soundness of the whole agent, by enumeration in plain Python."""

# ruff: noqa: S608 - texts of questions, of random questions
# ruff: noqa: S311 - random cases, not secrets
# ruff: noqa: PT017 - most questions are answered, some are refused

import importlib.util
import itertools
import math
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pyarrow as pa
import pytest

import hartley
from hartley import Agent, Column, Ledger, Schema, Wish, open_ledger
from hartley.agent.replay import verify_prices
from hartley.engines.coded_table import CodedTable
from hartley.engines.duckdb import EmbeddedStore
from hartley.errors import HartleyError, OptionError, Refused
from hartley.exact import floor_power
from hartley.tables.opening import open_table
from hartley.trusted import data as loading, earlier
from hartley.trusted.pricing.conditional_price import price_paths
from hartley.trusted.pricing.price import open_factor
from hartley.trusted.pricing.regions import PublicParts


@pytest.fixture(scope="module")
def oracle():
    """Random schemas, tables and questions, and a reader of them that shares nothing with ours."""
    path = Path(__file__).parents[1] / "trusted" / "random_questions.py"
    spec = importlib.util.spec_from_file_location("truth_oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- truth --------------------------------------------------------------------------------------

TYPES = {
    "a": pa.float64(),
    "b": pa.float64(),
    "d": pa.date32(),
    "c": pa.string(),
    "t": pa.bool_(),
    "g": pa.int64(),
}


def raw(oracle, random_, column, value):
    """Return something that snaps to a value of the schema: beside it, or far outside."""
    if value is None:
        return random_.choice([None, math.nan]) if column.name in "ab" else None
    if value == "undeclared":
        return random_.choice(["", "X", "x ", "undeclared"])
    if column.values is not None:
        return value
    if column.date:
        days = int(value) + random_.choice([0, 0, 3, -3, 1])
        days -= 9000 if value == column.low and random_.random() < 0.2 else 0
        return oracle.EPOCH + timedelta(days=days)
    if random_.random() < 0.2 and value in (column.low, column.high):
        outside = random_.choice([1, 1000, 1e300, math.inf])
        return float(value) + (outside if value == column.high else -outside)
    # From the lower edge, which belongs to the cell, to just below the upper one.
    beside = random_.choice([Fraction(0), Fraction(1, 4), Fraction(-1, 2), Fraction(499, 1000)])
    return float(value + beside * column.step)


def other_question(oracle, case):
    """Return another random question about the same table."""
    found, random_ = object.__new__(oracle.Case), case.random
    found.random, found.schema, found.codes, found.table = (
        random_,
        case.schema,
        case.codes,
        case.table,
    )
    text, _, found.filter = oracle.random_predicate(random_, case.schema, random_.randint(0, 3))
    aggregates = [oracle.random_aggregate(random_) for _ in range(random_.randint(1, 3))]
    found.computes = [compute for _, compute in aggregates]
    found.grouping, found.filtered = oracle.random_grouping(random_), random_.random() < 0.7
    by = "" if found.grouping is None else found.grouping[0]
    parts = [f"{spelled} AS n{i}" for i, (spelled, _) in enumerate(aggregates)]
    where = f" WHERE {text}" if found.filtered else ""
    key, group = (f"{by}, ", f" GROUP BY {by}") if by else ("", "")
    found.text = f"SELECT {key}{', '.join(parts)} FROM people{where}{group}"
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_truth_lies_in_every_interval_that_the_agent_tells(oracle, tmp_path, seed):
    case = oracle.Case(10_000 + seed)
    random_, schema = case.random, case.schema
    data = pa.table(
        {
            name: pa.array(
                [raw(oracle, random_, column, row[name]) for row in case.table], TYPES[name]
            )
            for name, column in schema.columns.items()
        }
    )
    answered = 0
    with Agent(data, schema, ledger=tmp_path / "l.db", budget=90_000) as agent:
        for _ in range(25):
            asked = other_question(oracle, case)
            wish = random_.choice([{}, {"bits": 2}, {"bits": 6}, {"error": 0}, {"error": 1.5}])
            try:
                answer = agent.ask(asked.text, **wish, vacuous=True)
            except Refused as refused:
                expected = (
                    ("does not say how many rows", "roots")
                    if "error" in wish
                    else ("Even the coarsest",)
                )
                assert any(words in refused.problem for words in expected)
                continue
            answered += 1
            asked.selection = SimpleNamespace(groups=answer.reading.groups)
            worst = dict(agent.price(asked.text, **wish).errors[0])
            for row, truths in zip(answer.reading.rows, asked.truths(), strict=True):
                for label, estimate, truth in zip(answer.reading.labels, row, truths, strict=True):
                    oracle.assert_contains(estimate, truth)
                    assert (estimate.error or 0) <= worst[label]
                    assert (estimate.error or 0) <= wish.get("error", math.inf)
        report = verify_prices(agent.ledger)
        assert report.holds, report.problem
        assert report.unpriced == 0
    assert answered > 10


# --- soundness ----------------------------------------------------------------------------------


def tiny_schema(random_, name):
    """Return a schema of two columns or three with few points, one or two rows a person."""
    rows_per_unit = random_.choice([1, 1, 1, 2])
    most = 5 if rows_per_unit == 1 else 3
    columns = {}
    kinds = ["private", random_.choice(["private", "open", "public"]), "private"]
    hidden = random_.random() < 0.35
    for letter, kind in zip("abc"[: random_.choice([2, 2, 3])], kinds, strict=False):
        points, null = random_.randint(2, most), random_.random() < 0.3
        role = "private" if hidden and kind == "public" else kind
        low = Fraction(random_.randint(-3, 2))
        columns[letter] = (
            Column(letter, role, tuple(f"v{k}" for k in range(points)), nullable=null)
            if random_.random() < 0.25
            else Column(
                letter, role, low=low, high=low + points - 1, step=Fraction(1), nullable=null
            )
        )
    unit = "who" if rows_per_unit > 1 else None
    rows, limit = ("private", 6) if hidden else ("public", None)
    return Schema(name, columns, unit, rows_per_unit, rows, limit)


def records(schema, *, public):
    """Return every record, with fixed values of the public columns."""
    values = [
        [public[c.name]]
        if c.kind == "public"
        else [*range(c.points), *([None] if c.nullable else [])]
        for c in schema.columns.values()
    ]
    return list(itertools.product(*values))


def databases(random_, schema):
    """Return the rows of the others, and every set of rows that one person may have."""
    public = {c.name: random_.randrange(c.points) for c in schema.columns.values()}
    everything = list(
        itertools.product(
            *([*range(c.points), *([None] if c.nullable else [])] for c in schema.columns.values())
        )
    )
    others = [random_.choice(everything) for _ in range(random_.randint(0, 2))]
    numbers = (
        range(schema.rows_per_unit + 1) if schema.rows == "private" else [schema.rows_per_unit]
    )
    of_one = records(schema, public=public)
    people = [p for r in numbers for p in itertools.combinations_with_replacement(of_one, r)]
    return others, people


def tiny_batch(random_, schema):
    """Return one to three questions about a tiny table, and a wish."""
    texts = [tiny_question(random_, schema) for _ in range(random_.choice([1, 1, 2, 3]))]
    wish = random_.choice([{"bits": 1}, {"bits": 1.6}, {"bits": 3}, {"error": 0}, {"error": 1}])
    return texts, wish | {"vacuous": random_.random() < 0.7}


def tiny_question(random_, schema):
    """Return a question about a tiny table; some are about everybody, some about nobody."""
    columns = list(schema.columns.values())
    numeric = [c.name for c in columns if c.numeric]
    aggregates = ["COUNT(*)", f"COUNT({random_.choice(columns).name})"]
    for name in numeric:
        forms = [name, f"{name} + {random_.choice(numeric)}", f"-2 * {name}"]
        shapes = ["SUM({})", "AVG({})", "MIN({})", "MAX({})", "MEDIAN({})", "VAR_POP({})"]
        shapes += ["MEDIAN({})", "QUANTILE({}, 0.7)"]
        aggregates.append(random_.choice(shapes).format(random_.choice(forms)))
    chosen = random_.sample(aggregates, random_.randint(1, 2))
    signs = [random_.choice([">=", "<", "=", "<>"]) for _ in columns]
    points = [random_.randrange(c.points) for c in columns]
    tests = [
        f"{c.name} {sign} {int(c.low) + point}" if c.numeric else f"{c.name} = 'v{point}'"
        for c, sign, point in zip(columns, signs, points, strict=True)
    ]
    tests += [f"NOT ({random_.choice(tests)})", f"{random_.choice(columns).name} IS NULL"]
    tests += [f"({tests[0]} OR {tests[1]}) AND NOT {tests[0]} AND NOT {tests[1]}", "FALSE"]
    where = random_.choice(["", f" WHERE {' AND '.join(random_.sample(tests, 2))}"])
    where = random_.choice([where, f" WHERE {' OR '.join(random_.sample(tests, 2))}"])
    where = random_.choice([where, where, where, " WHERE FALSE", " WHERE NOT FALSE"])
    group = random_.choice(["", "", f" GROUP BY {random_.choice(columns).name}"])
    return f"SELECT {', '.join(chosen)} FROM {{}}{where}{group}"


class FastCopies:
    """Puts codes into tables of one DuckDB in memory, so that hundreds of agents are quick."""

    def __init__(self):
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        self.rows, self.numbers = [], itertools.count()

    def code_table(self, _table, codings, *, version, **_promises):
        name = f"coded{next(self.numbers)}"
        types = ", ".join(f"c{i} TINYINT" for i in range(len(codings)))
        self.connection.execute(f"CREATE TABLE {name} ({types})")
        if self.rows:
            marks = ", ".join("?" * len(codings))
            self.connection.executemany(f"INSERT INTO {name} VALUES ({marks})", self.rows)
        store = EmbeddedStore(self.connection)
        store.relation = (name,)
        store.close = lambda: None
        return CodedTable(tuple(codings), len(self.rows), version, store)


@pytest.fixture(scope="module")
def copies():
    found = FastCopies()
    yield found
    found.connection.close()


@pytest.fixture
def quick(copies, monkeypatch):
    """Make agents of codes: quick(codes, schema, ledger, budget)."""
    monkeypatch.setattr(loading, "code_table", copies.code_table)
    dummy = open_table({"nothing": [0]})

    def make(rows, schema, ledger, budget):
        copies.rows = rows
        return Agent(dummy, schema, ledger=ledger, budget=budget)

    return make


def transcript(agent, pool):
    """Ask what depends on all that was seen before; return everything that is seen.

    The ledger is public, so its cells are seen, and not only what is displayed of them.
    """
    name, seen = agent.schema.name, []

    def see(*parts):
        # Each database has a name of its own here, and its rows stand behind those of the others.
        places = {row.sequence: place for place, row in enumerate(agent.history())}
        text = re.sub(
            r"(?<=given=)\([\d, ]+\)|(?<=\(row )\d+|(?<=\(rows )[\d, ]+",
            lambda rows: re.sub(r"\d+", lambda row: str(places[int(row[0])]), rows[0]),
            str(parts).replace(name, "tiny"),
        )
        seen.append(text)

    for _ in range(4):
        texts, wish = pool[zlib.crc32("".join(seen).encode()) % len(pool)]
        batch = [text.format(name) for text in texts]
        try:
            see(agent.price(batch, **wish))
            for answer in agent.ask(batch, **wish).to_dict()["answers"]:
                answer.pop("question_id")  # names the version, which is random
                see(answer)
        except Refused as refused:
            see(refused, refused.requested, refused.remaining)
        see([(charge.questions, charge.answers) for charge in agent.history()])
    see(agent.summary(), agent.spent, agent.remaining)
    return tuple(seen)


@dataclass(frozen=True)
class Place:
    """How agents are made, where they are charged, and how much they may spend."""

    make: Callable[..., Agent]
    ledger: Ledger
    budget: str


def enumerate_person(place, random_, schema, case, pool):
    """Run the agent for every value of one person's data; return Kraft's sum over transcripts."""
    others, people = case
    seen = {}
    for number, own in enumerate(people):
        rows = [*others, *own]
        random_.shuffle(rows)
        named = replace(schema, name=f"{schema.name}x{number}")
        with place.make(rows, named, place.ledger, place.budget) as agent:
            told, state = transcript(agent, pool), agent.state
        charged = state.open_factor * state.spent
        assert seen.setdefault(told, charged) == charged, "what is charged is seen"
        assert charged <= floor_power(place.budget)
    return sum(Fraction(1, charged) for charged in seen.values()), len(seen)


CASES = 20
MOST_PEOPLE = 40


def soundness(make, path, seeds):
    """Yield Kraft's sum of every case, how many transcripts there are, and how many databases."""
    with open_ledger(path) as ledger:
        for seed in seeds:
            random_ = random.Random(seed)
            case = databases(random_, schema := tiny_schema(random_, f"t{seed}"))
            while not MOST_PEOPLE // 4 <= len(case[1]) <= MOST_PEOPLE:
                case = databases(random_, schema := tiny_schema(random_, f"t{seed}"))
            pool = [tiny_batch(random_, schema) for _ in range(5)]
            open_bits = math.ceil(math.log2(open_factor(schema)))
            budget = str(open_bits + Fraction(random_.choice([6, 7, 10, 12, 16]), 2))
            place = Place(make, ledger, budget)
            kraft, transcripts = enumerate_person(place, random_, schema, case, pool)
            assert transcripts <= floor_power(budget)
            yield kraft, transcripts, len(case[1])


@pytest.mark.slow
def test_one_person_never_causes_more_transcripts_than_were_charged(quick, tmp_path):
    sums, transcripts, people = zip(*soundness(quick, tmp_path / "l.db", range(CASES)), strict=True)
    assert max(sums) <= 1
    assert max(sums) > Fraction(3, 4), "some case is nearly tight"
    assert sum(people) >= 300
    assert sum(transcripts) >= 80


@pytest.mark.slow
def test_the_enumeration_notices_a_price_that_is_too_low(quick, tmp_path, monkeypatch):
    """Else the test above would show nothing."""

    def less(questions, told):
        priced = price_paths(questions, told)
        less_by_type = tuple(max(1, cells - 1) for cells in priced.parts.cells)
        parts = PublicParts.of(priced.parts.cuts, less_by_type)
        return replace(priced, cells=parts.most, parts=parts)

    monkeypatch.setattr(earlier, "price_paths", less)
    found = soundness(quick, tmp_path / "l.db", range(CASES))
    assert any(kraft > 1 for kraft, _, _ in found)


@pytest.mark.slow
def test_the_same_holds_with_nothing_replaced(tmp_path):
    """A few tables, coded by the engine from values, not from codes."""
    sums = []
    with open_ledger(tmp_path / "l.db") as ledger:
        for seed in (3, 11):
            random_ = random.Random(seed)
            schema = Schema(
                f"t{seed}",
                {
                    "a": Column(
                        "a", "private", low=Fraction(0), high=Fraction(2), step=Fraction(1)
                    ),
                    "b": Column("b", "open", ("v0", "v1"), nullable=True),
                },
            )
            pool = [tiny_batch(random_, schema) for _ in range(5)]
            case = databases(random_, schema)
            assert len(case[1]) == 9
            place = Place(real, ledger, "5.5")
            sums.append(enumerate_person(place, random_, schema, case, pool)[0])
    assert max(sums) <= 1


def real(rows, schema, ledger, budget):
    data = {
        "a": pa.array([row[0] for row in rows], pa.int64()),
        "b": pa.array([None if row[1] is None else f"v{row[1]}" for row in rows], pa.string()),
    }
    return Agent(pa.table(data), schema, ledger=ledger, budget=budget)


# --- population ---

OTHERS = [(0, 2), (3, 1)]
POINTS = range(4)


def schema(name, **table):
    age = {"kind": "private", "range": [0, 3], "step": 1}
    return {"table": {"name": name, **table}, "columns": {"age": age}}


def agents(folder, person, bits, *, population):
    """Open two agents of tables that hold a person's values and those of two others."""
    shared = {"population": "town"} if population else {}
    with open_ledger(folder / "l.db") as ledger:
        if population:
            ledger.record("town", "population", {"bits": bits})
    return [
        hartley.Agent(
            {"age": [person[at], *(other[at] for other in OTHERS)]},
            schema(name, **shared),
            ledger=folder / "l.db",
            budget=bits,
        )
        for at, name in enumerate(("visits", "drugs"))
    ]


def shared_transcript(folder, person, seed, bits, *, population):
    """Ask whatever the answers so far suggest, and return all that was seen."""
    seen = []
    opened = agents(folder, person, bits, population=population)
    try:
        for step in range(7):
            choice = random.Random(repr((seed, step, seen)))
            agent = choice.choice(opened)
            what = choice.choice(["COUNT(*)", "SUM(age)"])
            where = f"FROM {agent.schema.name} WHERE age >= {choice.randrange(1, 4)}"
            try:
                answer = agent.ask(f"SELECT {what} {where}", bits=choice.choice([1, 2]))
                seen.append((str(answer.low), str(answer.high), answer.bits, answer.remaining))
            except Refused as refused:
                seen.append((str(refused), refused.remaining))
    finally:
        for agent in opened:
            agent.close()
    return tuple(seen)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_all_tables_of_a_population_tell_no_more_transcripts_than_its_budget(tmp_path, seed):
    bits = 2
    found = {True: set(), False: set()}
    for population, person in product(found, product(POINTS, POINTS)):
        folder = tmp_path / f"{population}{person}"
        folder.mkdir()
        found[population].add(shared_transcript(folder, person, seed, bits, population=population))
    assert 1 < len(found[True]) <= 2**bits
    assert len(found[False]) > 2**bits  # each table with a budget of its own


@pytest.mark.slow
def test_a_summary_names_the_population_or_how_datasets_multiply(tmp_path):
    visits, drugs = agents(tmp_path, (1, 2), 3, population=True)
    with visits, drugs, hartley.Agent(
        {"age": [1]}, schema("alone"), ledger=tmp_path / "l.db", budget="1/2"
    ) as alone:  # fmt: skip
        visits.ask("SELECT COUNT(*) FROM visits WHERE age > 2")
        drugs.ask("SELECT COUNT(*) FROM drugs WHERE age > 1")
        lines = drugs.summary().splitlines()
        assert "Spent 1 bit, " in lines[1]
        assert lines[1].endswith("1 bit of the budget of the population 'town' left.")
        assert lines[3] == (
            "Population town: at most 3 bits about one person from its 2 datasets together; "
            "spent 2 bits, 1 bit left."
        )
        assert "what other datasets reveal about the person comes on top" in alone.summary()
        assert "multiplies" not in drugs.summary()
        assert alone.ledger.added_budgets() == (2, Fraction(7, 2))
        quote = visits.price("SELECT SUM(age) FROM visits", bits=2)
        assert not quote.affordable
        assert "population 'town'" in quote.refusal
        assert "It would be refused" in str(quote)
        assert quote.to_dict()["refusal"] == quote.refusal
        assert visits.explain("SELECT SUM(age) FROM visits", bits=2).endswith("it is refused.")
        assert hartley.price(
            "SELECT SUM(age) FROM visits", visits.schema, ledger=tmp_path / "l.db", bits=1
        ).affordable


def test_an_unknown_population_leaves_no_copy_and_no_ledger(tmp_path):
    with pytest.raises(OptionError, match="no population 'town'"):
        hartley.Agent(
            {"age": [1]}, schema("a", population="town"), ledger=tmp_path / "l.db", budget=1
        )
    assert not list(tmp_path.iterdir())


def test_a_schema_keeps_its_population_and_is_the_same_without_one():
    plain, named = (hartley.Schema.read(schema("a", **more)) for more in ({}, {"population": "x"}))
    assert "population" not in plain.to_toml()
    assert 'population = "x"' in named.to_toml()
    assert "the population 'x'" in named.describe()
    for wrong in ("", 1, "a\nb", "x" * 201, True):
        with pytest.raises(OptionError, match="population that is not a name"):
            hartley.Schema.read(schema("a", population=wrong))


# --- silence ---

HIDDEN = {
    "age": {"kind": "private", "range": [0, 120], "step": 1},
    "pay": {"kind": "private", "range": [-10, 10], "step": "1/3", "nullable": True},
    "town": {"kind": "private", "values": ["Aa", "Bb"], "other": True, "nullable": True},
}
AREA = {"area": {"kind": "public", "values": ["north", "south", "west"]}}
PUBLIC = {"table": {"name": "people"}, "columns": HIDDEN | AREA}
PRIVATE = {
    "table": {
        "name": "people",
        "unit": "who",
        "rows_per_unit": 2,
        "rows": "private",
        "max_rows": 60,
    },
    "columns": HIDDEN,
}
SILENT_OTHERS = [
    {"who": 7 + k, "age": k * 5, "pay": k / 2 - 6, "town": "AaBb"[k % 2 :: 2], "area": "south"}
    for k in range(20)
]
MARK = "SECRET-4711"


def person(**values):
    return {"who": 1, "age": 50, "pay": 0.0, "town": "Aa", "area": "north", **values}


WORLDS = {
    "a person who is missing almost everywhere": (
        PUBLIC,
        [person(age=0, pay=None, town=None)],
        [person(age=10**6, pay=1e300, town=MARK)],
    ),
    "a person who holds every extreme": (
        PUBLIC,
        [person(age=120, pay=10.0, town="Bb")],
        [person(age=-5, pay=-10.0, town="Aa")],
    ),
    "a person who is there, or not": (
        PRIVATE,
        [],
        [person(age=120, pay=None, town=MARK), person(age=3, pay=-1e300, town=None)],
    ),
}


def table(rows):
    rows = [*SILENT_OTHERS, *rows]
    return {name: [row[name] for row in rows] for name in rows[0]}


# --- odd questions ------------------------------------------------------------------------------

ATOMS = [
    *("age", "pay", "town", "area", "AGE", '"age"', "people.age", "p.pay", "who", "wage", "*"),
    *("1", "-1", "0", "1e400", "0.1", "1/0", "NULL", "TRUE", "''", "'Aa'", f"'{MARK}'", "'x''y'"),
    *("DATE '2020-01-31'", "DATE 'soon'", "CURRENT_DATE", "?", ":x", "$1", "0x1F", "1_000"),
    *("(SELECT 1)", "RANDOM()", "age + pay", "2 * age - pay / 3", "age * pay", "age / 0", "- -age"),
]
AGGREGATES = [
    *("COUNT(*)", "COUNT({})", "SUM({})", "AVG({})", "MIN({})", "MAX({})", "MEDIAN({})"),
    *("QUANTILE({}, 0.3)", "QUANTILE({}, 2)", "VAR_POP({})", "STDDEV({})", "COUNT(DISTINCT {})"),
    *("SUM({}) OVER ()", "STRING_AGG({}, ',')", "{}", "SUM(COUNT({}))", "AVG({}) + 1", "MODE({})"),
    *("CORR(age, {})", "SUM({}) FILTER (WHERE age > 3)", "FIRST({})", "ARRAY_AGG({})"),
]
TESTS = [
    *("{0} >= {1}", "{0} = {1}", "{0} <> {1}", "NOT ({0} < {1})", "{0} BETWEEN {1} AND 60"),
    *("{0} IN ({1}, 50)", "{0} IS NULL", "{0} IS NOT NULL", "{0} LIKE '%a'", "{0} NOT IN ({1})"),
    *("{0} = {0}", "{0}", "{0} > ALL (SELECT 1)", "EXISTS (SELECT {1})", "{0} > > 1"),
    *("{0} >= {1} AND pay > 0", "({0} = 1 OR town = 'Aa')", "{0} IS DISTINCT FROM {1}"),
    "CASE WHEN {0} THEN 1 END",
]
SHAPES = [
    *("SELECT {a} FROM people WHERE {w}", "SELECT {a} FROM people"),
    *("SELECT {a}, COUNT(*) FROM people", "SELECT {a} FROM people WHERE {w};"),
    *("SELECT {a} FROM people WHERE {w} GROUP BY {x}", "SELECT {x}, {a} FROM people GROUP BY {x}"),
    *("SELECT {a} FROM people p WHERE {w}", "SELECT {a} FROM people GROUP BY FLOOR(age / 30)"),
    *("SELECT {a} FROM people JOIN people q ON 1=1 WHERE {w}", "{a}", "{w}", ""),
    *("SELECT {a} FROM people WHERE {w} HAVING {w}", "SELECT {a} FROM people LIMIT 1"),
    *("SELECT {a} FROM (SELECT * FROM people)", "SELECT DISTINCT {a} FROM people"),
    *("SELECT {a} FROM people UNION SELECT {a} FROM people", "DROP TABLE people"),
    *("SELECT {a} FROM persons WHERE {w}", "SELECT {a} FROM people -- {w}"),
    *("WITH t AS (SELECT 1) SELECT {a} FROM t", "SELECT {a} /* */ FROM"),
    *("UPDATE people SET age = 1 WHERE {w}", "SELECT {a} FROM people WHERE {w} ORDER BY {x}"),
]
WISHES = [{}, {}, *({"bits": b} for b in (0, 2, 7)), *({"error": e} for e in (0, 5, 0.01))]
BAD_WISHES = [{"error": -1}, {"bits": -1}, {"error": "x"}, {"error": 1, "bits": 1}, {"bits": "1/0"}]


def odd_questions(seed, number=500):
    """Return questions of which no two are alike, with what is wished of them."""
    order, found = random.Random(seed), {}
    while len(found) < number:
        pick = order.choice
        simple = order.random() < 0.6  # a list of nothing but nonsense would only meet the parser
        column = pick(["age", "pay", "age + 2 * pay"] if simple else ATOMS)
        aggregate = pick(AGGREGATES[:12] if simple else AGGREGATES).format(column)
        left = pick(["age", "pay"] if simple else ATOMS)
        right = pick(["50", "0", "-3.5", str(order.randrange(130))] if simple else ATOMS)
        test = pick(TESTS[:10] if simple else TESTS).format(left, right)
        shape = pick(SHAPES[:6] if simple else SHAPES)
        by = pick(["town", "area", "BIN(age, 60)"] if simple else ATOMS)
        text = shape.format(a=aggregate, w=test, x=by)
        wish = pick(BAD_WISHES) if order.random() < 0.05 else pick(WISHES)
        found[text, repr(wish)] = Wish(text, **wish)
    return list(found.values())


def outcome(act):
    """Return what somebody sees who does something: an error in all its parts, or a result."""
    try:
        return "done", act()
    except HartleyError as error:
        assert MARK not in str(error) or MARK in getattr(error, "text", "")
        parts = [getattr(error, name, None) for name in ("text", "place", "requested", "remaining")]
        return type(error).__name__, str(error), *parts


def paid(answer):
    """Return what an answer says besides its numbers."""
    reading = answer.reading
    content = answer.text, answer.bits, answer.spent, answer.remaining, answer.certificate
    return *content, reading.keys, reading.groups, reading.labels, len(reading.rows)


def behaviour(agent, questions):
    """Price and ask everything, some of it in batches; return all that is not an answer."""
    seen = []
    for number, wish in enumerate(questions):
        asked = [wish, questions[number // 2]] if number % 10 == 9 else wish
        seen.append(outcome(lambda asked=asked: agent.price(asked)))
        vacuous = number % 3 > 0  # some answers that say nothing are refused, some are wished
        kind, *rest = outcome(lambda asked=asked, v=vacuous: agent.ask(asked, vacuous=v))
        if kind == "done":
            answers = rest[0] if isinstance(asked, list) else [rest[0]]
            rest = [paid(answer) for answer in answers]
        seen.append((kind, *rest))
    seen.append(("summary", agent.summary(), agent.spent, agent.remaining))
    charges = [(c.analyst, c.questions, c.cells, c.note) for c in agent.history()]
    return seen, charges


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_two_databases_that_differ_in_one_person_refuse_and_price_alike(world, tmp_path):
    schema, *people = WORLDS[world]
    questions = odd_questions(len(world))
    assert len(questions) == 500
    seen = []
    for number, rows in enumerate(people):
        path = tmp_path / f"{number}.db"
        with Agent(table(rows), schema, ledger=path, budget="20.5") as agent:
            seen.append(behaviour(agent, questions))
    (first, charges), (second, others) = seen
    for one, other in zip(first, second, strict=True):
        assert one == other
    assert charges == others
    kinds = Counter(kind[0] for kind in first)
    assert kinds["Refused"] > 200, "most of the list is odd"
    assert kinds["done"] > 150, "and the rest is answered or priced"
    assert kinds["OptionError"] > 10
    over = [kind for kind in first if kind[0] == "Refused" and kind[4] is not None]
    assert len(over) > 30, "some are refused by the budget"
    assert charges


@pytest.mark.slow
def test_the_two_databases_of_a_world_do_answer_differently(tmp_path):
    """Else the test above would show nothing."""
    for number, (schema, *people) in enumerate(WORLDS.values()):
        answers = []
        for side, rows in enumerate(people):
            path = tmp_path / f"{number}{side}.db"
            with Agent(table(rows), schema, ledger=path, budget=60) as agent:
                text = "SELECT COUNT(pay), SUM(age) FROM people WHERE age <> 50"
                answers.append(agent.ask(text, error=0).reading)
        assert answers[0] != answers[1]


@pytest.mark.slow
def test_a_refusal_after_many_answers_depends_on_what_was_charged_alone(tmp_path):
    """The same sequence of questions ends at the same one, whatever was answered before."""
    schema, *people = WORLDS["a person who holds every extreme"]
    ends = []
    for number, rows in enumerate(people):
        with Agent(table(rows), schema, ledger=tmp_path / f"{number}.db", budget=6) as agent:
            for limit in range(120):
                try:
                    agent.ask(f"SELECT COUNT(*) FROM people WHERE age > {limit}")
                except Refused as refused:
                    ends.append((limit, str(refused), refused.requested, refused.remaining))
                    break
    assert ends[0] == ends[1]
    assert ends[0][0] == 6
