"""Paths: what is spent is kept for every type of the public columns (docs/accountant.md, "Paths").

Truth comes from enumerator.py, which knows nothing of prices. Here an analyst picks batches by what
was seen so far, as well as possible (dynamic programming); the ledger is a number for every value
of the public columns, and a batch is answered if the largest stays within the budget.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import enumerator
import numpy as np
import pytest
import tiny
from hypothesis import given, strategies as st

from hartley import Agent, Column, Schema
from hartley.agent.replay import verify_prices
from hartley.errors import Refused
from hartley.trusted.pricing import regions as public_parts
from hartley.trusted.pricing.after_answers import EarlierAnswers
from hartley.trusted.pricing.conditional_price import conditional_price, price_paths
from hartley.trusted.pricing.price import price
from hartley.trusted.pricing.regions import PublicParts
from hartley.trusted.questions.batch import All, Form, Question, Statistic, Test as Leaf

PEOPLE = 3
SUMS = (Statistic.COUNT, Statistic.COUNT, Statistic.SUM, Statistic.SUM, Statistic.SQUARES)


# --- random worlds --------------------------------------------------------------------------------


def draw(seed, rows_per_unit, *, orders):
    """Return a tiny schema with a public column, and batches that are about some values of it."""
    rng = np.random.default_rng([seed, rows_per_unit, orders, 7])
    rows = ("public", "public", "private")[rng.integers(3)]
    kinds = (["private", "public"], ["private", "private", "public"], ["private", "public", "open"])
    schema = None
    while schema is None or all(c.kind != "public" for c in schema.columns.values()):
        schema = tiny.random_schema(
            rng,
            rows_per_unit=rows_per_unit,
            rows=rows,
            domain={1: 48, 2: 14, 3: 8}[rows_per_unit],
            kinds=kinds[rng.integers(2 if rows == "private" else 3)],
        )
    most = (PEOPLE + 1) * rows_per_unit
    statistics = tuple(Statistic) if orders else SUMS
    batches = []
    for _ in range(3):
        size = 1 + int(rng.integers(3) == 0) + int(rng.integers(6) == 0)
        batch = [tiny.random_question(rng, schema, most, statistics) for _ in range(size)]
        batches += [batch, *related(batch, schema, rng)]
    order = rng.permutation(len(batches))[:6]
    return schema, [batches[place] for place in order.tolist()], rng


def related(batch, schema, rng):
    """Return the same questions about some values of a public column, or in other cells."""
    column = next(c for c in schema.columns.values() if c.kind == "public")
    listed = []
    for _ in range(int(rng.integers(1, 3))):
        low = int(rng.integers(column.points))
        where = Leaf(column.name, ((low, low if rng.integers(2) else column.points - 1),))
        listed.append([replace(q, where=All((where, q.where))) for q in batch])
    if batch[0].statistic is not Statistic.COUNT and rng.integers(2):
        step = Fraction(int(rng.integers(1, 8)), int(rng.integers(1, 3)))
        listed.append([replace(batch[0], step=step)])
    return listed


def trees(schema, batches, rng):
    """Yield other people's data as what every batch answers, for each public and open value."""
    world = enumerator.World(schema)
    others = np.concatenate([world.others(people, 1, rng) for people in range(PEOPLE + 1)])
    for kind, public in enumerate(world.publics):
        data = world.data(public)
        if len(data) > 60:
            continue
        numbers = [enumerator.transcripts(world, b, world.tally(data), others) for b in batches]
        opened = {}
        for place, value in enumerate(world.opened(data)):
            opened.setdefault(value, []).append(place)
        for row in range(len(others)):
            tables = [answers[row].tolist() for answers in numbers]
            for places in opened.values():
                yield kind, tables, tuple(places)


def publics_of(schema):
    """Return the codes of the public columns for each public value, in the enumerator's order."""
    columns = [c for c in schema.columns.values() if c.kind == "public"]
    values = enumerator.World(schema).publics
    return [
        {c.name: c.points if v is None else v for c, v in zip(columns, value, strict=True)}
        for value in values
    ]


def at(parts, codes):
    """Look a type up in numbers by public type, from the definition of their form."""
    place = 0
    for name, starts in parts.cuts:
        place = place * len(starts) + max(k for k, s in enumerate(starts) if s <= codes[name])
    return parts.cells[place]


def pricing(schema, batches):
    """Return what a batch costs every public value after some others."""
    known, publics = {}, publics_of(schema)

    def cost(number, asked):
        key = (number, asked)
        if key not in known:
            told = EarlierAnswers(schema, [q for place in sorted(asked) for q in batches[place]])
            parts = price_paths(batches[number], told).parts
            known[key] = tuple(at(parts, codes) for codes in publics)
        return known[key]

    return cost


def multiplied(spent, charge):
    return tuple(a * b for a, b in zip(spent, charge, strict=True))


def split(table, places):
    parts = {}
    for place in places:
        parts.setdefault(table[place], []).append(place)
    return [tuple(part) for part in parts.values()]


class Analyst:
    """The most transcripts that batches chosen by the answers can cause within a budget."""

    def __init__(self, tables, cost, limit, record=multiplied):
        self.tables, self.cost, self.limit, self.record = tables, cost, limit, record
        self.seen = {}

    def most(self, places, spent, asked=frozenset(), depth=3):
        key = (places, spent, asked, depth)
        if key not in self.seen:
            self.seen[key] = self._most(*key)
        return self.seen[key]

    def _most(self, places, spent, asked, depth):
        best = 1
        for number, table in enumerate(self.tables) if depth and len(places) > 1 else ():
            if number in asked:
                continue
            after = self.record(spent, self.cost(number, asked))
            if max(after) > self.limit:
                continue
            parts, later = split(table, places), asked | {number}
            best = max(best, sum(self.most(part, after, later, depth - 1) for part in parts))
        return best


def explore(seeds, rows_per_unit=1, *, record=multiplied, depth=3, cost_of=pricing):
    """Count worlds, those that exceed their budget, and nodes with more answers than charged."""
    counts = Counter()
    for seed in seeds:
        orders = rows_per_unit == 1 and seed % 3 == 0
        schema, batches, rng = draw(seed, rows_per_unit, orders=orders)
        cost = cost_of(schema, batches)
        alone = (1,) * len(publics_of(schema))
        for kind, tables, places in trees(schema, batches, rng):
            limit = int(rng.integers(2, 13))
            counts["worlds"] += 1
            analyst = Analyst(tables, cost, limit, record)
            counts["exceeded"] += analyst.most(places, alone, depth=depth) > limit
            # With an order statistic told, single nodes may have more children than their charge.
            for _ in range(0 if orders else 4):
                walk(kind, tables, cost, places, alone, rng, counts)
    return counts


def walk(kind, tables, cost, places, spent, rng, counts):  # noqa: PLR0913, PLR0917 - a walk's state
    asked = frozenset()
    for number in rng.permutation(len(tables))[:4].tolist():
        parts = split(tables[number], places)
        charge = cost(number, asked)
        after = multiplied(spent, charge)
        counts["nodes"] += 1
        counts["crowded"] += len(parts) > charge[kind]
        counts["attained"] += len(parts) == charge[kind]
        counts["shared"] += max(after) < max(spent) * max(charge)  # than without paths
        places, asked, spent = parts[rng.integers(len(parts))], asked | {number}, after


@pytest.mark.slow
@pytest.mark.parametrize(("rows_per_unit", "seeds"), [(1, 60), (2, 25), (3, 15)])
def test_no_strategy_exceeds_its_budget(rows_per_unit, seeds):
    counts = explore(range(seeds), rows_per_unit)
    assert (counts["exceeded"], counts["crowded"]) == (0, 0)
    assert counts["worlds"] > 4 * seeds
    assert counts["shared"] > counts["nodes"] / 40  # or paths would not have been tried
    assert counts["attained"] > counts["nodes"] / 3  # prices are mostly exact


SEEDS = {1: 3200, 2: 700, 3: 800}
"""How many seeds are tried for each number of rows per person, with at least these worlds."""
WORLDS = {1: 20_000, 2: 2_500, 3: 2_500}
AT_ONCE = 100  # so that processes can share them, and a run that was stopped can go on


@pytest.mark.long
@pytest.mark.parametrize(
    ("rows_per_unit", "first"),
    [(r, first) for r in SEEDS for first in range(1000, 1000 + SEEDS[r], AT_ONCE)],
)
def test_no_strategy_exceeds_its_budget_in_many_more_worlds(rows_per_unit, first):
    counts = explore(range(first, first + AT_ONCE), rows_per_unit)
    assert (counts["exceeded"], counts["crowded"]) == (0, 0)
    assert counts["worlds"] * SEEDS[rows_per_unit] > WORLDS[rows_per_unit] * AT_ONCE


# --- wrong rules ----------------------------------------------------------------------------------


def left_out(spent, charge):
    """Leave out a batch that does not raise the largest number."""
    after = multiplied(spent, charge)
    return after if max(after) > max(spent) else spent


def added(spent, charge):
    """Add what batches tell apart, instead of keeping the largest product."""
    return tuple(a + b - 1 for a, b in zip(spent, charge, strict=True))


def cheapest(schema, batches):
    """Charge every type what the cheapest costs."""
    right = pricing(schema, batches)

    def cost(number, asked):
        charge = right(number, asked)
        return (min(charge),) * len(charge)

    return cost


@pytest.mark.parametrize(
    ("first", "wrong"),
    [(48, {"record": left_out, "depth": 4}), (6, {"record": added}), (2, {"cost_of": cheapest})],
    ids=["left out", "sums", "the cheapest"],
)
def test_every_wrong_rule_is_caught(first, wrong):
    """The seeds before the first do not show it."""
    assert any(explore([seed], **wrong)["exceeded"] for seed in range(first, 300))


def test_a_batch_that_is_left_out_is_asked_again_and_again():
    """Six cells about the north; then each cut of the south by itself is no larger than that."""
    schema, rng = two_regions(), np.random.default_rng(1)
    north, south = (Leaf("region", ((k, k),)) for k in range(2))
    cuts = [Leaf("a", ((k, 5),)) for k in (1, 2, 3)]
    bins = [count(All((north, Leaf("a", ((k, k),))))) for k in range(6)]
    batches = [bins, *([count(All((south, cut)))] for cut in cuts)]
    cost, alone = pricing(schema, batches), (1, 1)
    for kind, tables, places in trees(schema, batches, rng):
        right = Analyst(tables, cost, 6).most(places, alone, depth=4)
        wrong = Analyst(tables, cost, 6, left_out).most(places, alone, depth=4)
        assert right <= 6
        assert wrong >= right
        assert kind == 0 or right >= 3


# --- numbers to be checked by hand ----------------------------------------------------------------


def two_regions():
    region = Column("region", "public", ("north", "south"))
    a = Column("a", "private", low=Fraction(0), high=Fraction(5), step=Fraction(1))
    return Schema("t", {"region": region, "a": a})


def count(where):
    return Question(Statistic.COUNT, where, None, None, 0, 20)


NORTH, SOUTH = (Leaf("region", ((k, k),)) for k in range(2))
UPPER = Leaf("a", ((3, 5),))
TOTAL = Form((("a", 1),), 0, Fraction(1))


def by_region(*questions, told=()):
    parts = price_paths(questions, EarlierAnswers(two_regions(), told)).parts
    return tuple(at(parts, {"region": code}) for code in range(2))


def test_prices_by_region_that_can_be_checked_by_hand():
    upper_north, upper_south = (count(All((where, UPPER))) for where in (NORTH, SOUTH))
    assert by_region(upper_north) == (2, 1)
    assert by_region(upper_north, upper_south) == (2, 2)
    assert by_region(count(UPPER)) == (2, 2)
    # What was told about the north says nothing about the south, and the other way round.
    assert by_region(count(UPPER), told=[upper_north]) == (1, 2)
    assert by_region(count(UPPER), told=[upper_north, upper_south]) == (1, 1)
    total = Question(Statistic.SUM, NORTH, TOTAL, None, 0, 100, Fraction(1))
    coarse = replace(total, step=Fraction(2))
    assert by_region(total) == (6, 1)
    assert by_region(total, told=[coarse]) == (2, 1)  # rule S
    assert by_region(replace(total, where=All()), told=[coarse]) == (2, 6)  # a window in the north
    bins = [count(All((NORTH, Leaf("a", ((k, k + 1),))))) for k in (0, 2, 4)]
    assert by_region(*[count(Leaf("a", ((k, k),))) for k in range(6)], told=bins) == (2, 6)


def test_a_price_by_type_is_never_above_the_price_for_all():
    for seed in range(60):
        schema, batches, _ = draw(seed, 1, orders=True)
        told = EarlierAnswers(schema, [question for batch in batches[1:] for question in batch])
        priced = price_paths(batches[0], told)
        assert priced.parts.most == priced.cells <= conditional_price(batches[0], told).cells
        assert (
            price_paths(batches[0], EarlierAnswers(schema)).cells <= price(batches[0], schema).cells
        )


def test_the_rows_that_a_price_names_give_it_again():
    for seed in range(60):
        schema, batches, _ = draw(seed, 1, orders=True)
        told = EarlierAnswers(schema)
        for row, batch in enumerate(batches[1:], start=1):
            for question in batch:
                told.add(question, row)
        priced, again = price_paths(batches[0], told), EarlierAnswers(schema)
        for row in priced.rows:
            for question in batches[row]:
                again.add(question, row)
        fewer = price_paths(batches[0], again).parts
        assert fewer.smaller(priced.parts) == fewer


# --- numbers by public type -----------------------------------------------------------------------

SIZES = {"p": 5, "q": 4, "r": 3}


@st.composite
def functions(draw_):
    """Draw a function on the types of three columns, as cuts and as numbers."""
    cuts = {
        name: (0, *sorted(draw_(st.sets(st.integers(1, size - 1)))))
        for name, size in SIZES.items()
        if draw_(st.booleans())
    }
    amount = prod(map(len, cuts.values()))
    cells = draw_(st.lists(st.integers(1, 4), min_size=amount, max_size=amount))
    return PublicParts.of(tuple(sorted(cuts.items())), tuple(cells))


def table_of(parts):
    kinds = product(*map(range, SIZES.values()))
    return [at(parts, dict(zip(SIZES, codes, strict=True))) for codes in kinds]


@given(functions(), functions())
def test_functions_multiply_and_compare_type_by_type(first, second):
    pairs = list(zip(table_of(first), table_of(second), strict=True))
    assert table_of(first.times(second)) == [a * b for a, b in pairs]
    assert table_of(first.smaller(second)) == [min(a, b) for a, b in pairs]
    assert first.most == max(table_of(first))
    assert (first == second) == (table_of(first) == table_of(second))  # one way to write each


@given(functions(), functions(), st.integers(1, 9))
def test_beyond_the_cap_the_larger_number_is_kept(first, second, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(public_parts, "MOST_PARTS", most)
        joined = first.times(second)
    assert len(joined.cells) <= most
    pairs = zip(table_of(joined), table_of(first), table_of(second), strict=True)
    assert all(whole >= a * b for whole, a, b in pairs)
    assert joined.most <= first.most * second.most


# --- whole agents ---------------------------------------------------------------------------------

PEOPLE_SCHEMA = {
    "table": {"name": "t"},
    "columns": {
        "region": {"kind": "public", "values": ["north", "south"]},
        "a": {"kind": "private", "range": [0, 3], "step": 1},
        "b": {"kind": "private", "values": ["x", "y"]},
    },
}
ASKED = [
    *(f"COUNT(*) FROM t WHERE region = 'north' AND a >= {k}" for k in (1, 2, 3)),
    *(f"COUNT(*) FROM t WHERE region = 'south' AND a >= {k}" for k in (1, 2, 3)),
    *(f"COUNT(*) FROM t WHERE region = '{r}' AND b = 'x'" for r in ("north", "south")),
    "SUM(a) FROM t",
    "SUM(a) FROM t WHERE region = 'north'",
    "COUNT(*) FROM t WHERE a >= 2",
    "b, COUNT(*) FROM t WHERE region = 'north' GROUP BY b",
    "MEDIAN(a) FROM t WHERE region = 'south'",
]  # fmt: skip


def transcript(folder, secret, seed, steps=7):
    """Return all that is seen by two analysts and the owner of one table."""
    regions, a, b = ["north", "south", "north"], [secret[0], 2, 1], [secret[1], "x", "y"]
    seen = []
    with Agent(
        {"region": regions, "a": a, "b": b},
        PEOPLE_SCHEMA,
        ledger=folder / "ledger.db",
        budget=3,
    ) as agent:
        agent.allow("ann", "3/2")
        for _ in range(steps):
            # The next step is a function of all that was seen before.
            rng = Random(f"{seed} {seen}")  # noqa: S311 - a strategy, not a secret
            who, text = rng.choice([None, "ann"]), "SELECT " + rng.choice(ASKED)
            bits = rng.choice([1, 1, 2])
            if rng.randrange(6) == 0:
                agent.update({"region": regions, "a": a, "b": b})
            quote = agent.price(text, bits=bits, analyst=who, vacuous=True)
            seen.append((quote.bits, quote.affordable, quote.remaining))
            try:
                answer = agent.ask(text, bits=bits, analyst=who, vacuous=True)
                assert answer.bits == quote.bits
                seen.append((str(answer.reading), answer.bits, answer.spent, answer.remaining))
            except Refused as refused:
                assert not quote.affordable
                seen.append(str(refused))
            seen.append((agent.spent, agent.remaining))
            cells = [
                e.told["answers"].values() for e in agent.ledger.entries() if e.kind == "commit"
            ]
            seen.append([list(each) for each in cells])
        assert verify_prices(agent.ledger).holds
    return str(seen)


def count_transcripts(tmp_path, seed):
    secrets = list(product(range(4), "xy"))
    folders = [tmp_path / f"{seed}-{k}" for k in range(len(secrets))]
    for folder in folders:
        folder.mkdir()
    pairs = zip(folders, secrets, strict=True)
    return len({transcript(folder, secret, seed) for folder, secret in pairs})


@pytest.mark.slow
def test_agents_show_no_more_transcripts_than_their_budget_says(tmp_path):
    most = [count_transcripts(tmp_path, seed) for seed in range(2)]
    assert max(most) <= 8
    assert max(most) >= 3


@pytest.mark.long
def test_many_agents_show_no_more_transcripts_than_their_budget_says(tmp_path):
    most = [count_transcripts(tmp_path, seed) for seed in range(100, 140)]
    assert max(most) <= 8
    assert max(most) >= 5
