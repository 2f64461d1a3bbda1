"""Agents of one population: what one person can lose over all their tables together."""

import random
from fractions import Fraction
from itertools import product

import pytest

import hartley
from hartley.agent.ledger import open_ledger
from hartley.errors import OptionError, Refused

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


def transcript(folder, person, seed, bits, *, population):
    """Ask whatever the answers so far suggest, and return all that was seen."""
    seen = []
    opened = agents(folder, person, bits, population=population)
    try:
        for step in range(7):
            choice = random.Random(repr((seed, step, seen)))  # noqa: S311 - nothing secret
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
        found[population].add(transcript(folder, person, seed, bits, population=population))
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
