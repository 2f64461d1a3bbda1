"""An error of 0 makes an answer exact for any data, and nobody has more effects than were paid.

The tables, the truth and the effects are plain Python: nothing of the agent computes them.
"""

# ruff: noqa: S311 - random cases, not secrets
# ruff: noqa: S608 - texts of questions

import itertools
import math
import random
from fractions import Fraction

import pytest

import hartley
from hartley.schema.schema import Schema
from hartley.trusted.cells import cell_of, read_cells
from hartley.trusted.precision import PriceDesk
from hartley.trusted.pricing.price import open_factor, price
from hartley.trusted.questions.question import NumberKind

AGGREGATES = {
    "COUNT({})": len,
    "SUM({})": sum,
    "AVG({})": lambda values: Fraction(sum(values), len(values)) if values else None,
    "VAR_POP({})": lambda values: spread(values, 0),
    "VAR_SAMP({})": lambda values: spread(values, 1),
    "MIN({})": lambda values: min(values, default=None),
    "MAX({})": lambda values: max(values, default=None),
    "MEDIAN({})": lambda values: sorted(values)[math.ceil(len(values) / 2) - 1] if values else None,
}
FORMS = {
    "a": lambda row: row["a"],
    "2 * a - 1": lambda row: None if row["a"] is None else 2 * row["a"] - 1,
    "a - b": lambda row: None if None in (row["a"], row["b"]) else row["a"] - row["b"],
}
FILTERS = {
    "": lambda _: True,
    " WHERE a >= 1": lambda row: row["a"] is not None and row["a"] >= 1,
    " WHERE b IS NULL OR a = 0": lambda row: row["b"] is None or row["a"] == 0,
    " WHERE g = 'x'": lambda row: row["g"] == "x",
    " WHERE b = 0 AND NOT g = 'y'": lambda row: (
        row["b"] == 0 and row["g"] is not None and row["g"] != "y"
    ),
}


def spread(values, sample):
    if len(values) <= sample:
        return None
    mean = Fraction(sum(values), len(values))
    return sum((value - mean) ** 2 for value in values) / (len(values) - sample)


class World:
    """A random schema, the rows of the others, and every set of rows that one person may have."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        pick = self.random.choice
        self.private, per = pick([True, False]), pick([1, 1, 2])
        group = "private" if self.private else pick(["private", "open", "public"])
        null = pick([True, True, False])
        columns = {
            "a": {"kind": "private", "range": [0, pick([1, 2, 3])], "step": 1, "nullable": null},
            "b": {"kind": "private", "range": [-1, 0], "step": 1, "nullable": pick([True, False])},
            "g": {"kind": group, "values": ["x", "y"], "nullable": pick([True, False])},
        }
        table = {"name": "people"}
        if per > 1:
            table |= {"unit": "who", "rows_per_unit": per}
        if self.private:
            table |= {"rows": "private", "max_rows": 6}
        self.schema = Schema.read({"table": table, "columns": columns})
        everybody = [
            dict(zip("abg", record, strict=True))
            for record in itertools.product(
                *(
                    [*values, *([None] if columns[name]["nullable"] else [])]
                    for name, values in zip(
                        "abg",
                        (range(columns["a"]["range"][1] + 1), (-1, 0), "xy"),
                        strict=True,
                    )
                )
            )
        ]
        self.others = [pick(everybody) for _ in range(self.random.randint(0, 3))]
        public = pick(everybody)["g"]
        of_one = [row for row in everybody if group != "public" or row["g"] == public]
        numbers = range(per + 1) if self.private else [per]
        self.people = [
            [*self.others, *own]
            for number in numbers
            for own in itertools.combinations_with_replacement(of_one, number)
        ]
        rows = 6 if self.private else len(self.others) + per
        self.desk = PriceDesk(self.schema, rows)

    def question(self):
        """Return a text, and a function from rows to the values of each number, in its order."""
        choose = self.random.choice
        aggregate, form, where = (choose(list(all_)) for all_ in (AGGREGATES, FORMS, FILTERS))
        grouped = choose([True, False])
        column = self.schema.columns["g"]
        groups = [*column.values, *([None] if column.nullable else [])] if grouped else ["all"]
        number = aggregate.format("a" if aggregate.startswith("COUNT") else form)
        value_of = FORMS["a" if aggregate.startswith("COUNT") else form]
        keys = ("g, ", " GROUP BY g") if grouped else ("", "")
        text = f"SELECT {keys[0]}{number} FROM people{where}{keys[1]}"

        def values(rows):
            for group in groups:
                kept = (row for row in rows if FILTERS[where](row))
                found = (value_of(row) for row in kept if group in ("all", row["g"]))
                yield [value for value in found if value is not None]

        return text, AGGREGATES[aggregate], lambda rows: list(values(rows))


def totals(plan, values):
    """Return the total of each question of a plan from the values that count."""
    found = {}
    for item, some in zip(plan.items, values, strict=True):
        forms = [(value - item.shift) / item.scale for value in some]
        if item.count is not None:
            found[item.count] = len(some)
        if item.sum is not None:
            found[item.sum] = int(sum(forms))
        if item.squares is not None:
            found[item.squares] = int(sum(form**2 for form in forms))
        if item.order is not None:
            truth = AGGREGATES["MEDIAN({})"](some)
            if "MEDIAN" not in item.label:
                truth = (min if "MIN" in item.label else max)(some, default=None)
            found[item.order] = None if truth is None else int((truth - item.shift) / item.scale)
    return [found.get(place) for place in range(len(plan.questions))]


def check_world(seed):
    """Check some questions of one world; return how many answers were compared."""
    world, compared = World(seed), 0
    for _ in range(4):
        text, truth_of, values_of = world.question()
        error = world.random.choice([0, 0, 0, Fraction(1, 4), Fraction(1, 2), 1])
        (plan,) = world.desk.plan(text, error, None)
        cells = price(plan.questions, world.schema).cells * open_factor(world.schema)
        seen = set()
        for rows in world.people:
            values = values_of(rows)
            told = [
                None if total is None and not_asked(plan, place) else cell_of(question, total)
                for place, (question, total) in enumerate(
                    zip(plan.questions, totals(plan, values), strict=True)
                )
            ]
            seen.add(tuple(told))
            for (estimate,), some in zip(read_cells(plan, told).rows, values, strict=True):
                truth, compared = truth_of(some), compared + 1
                if truth is None:
                    assert estimate.is_null or estimate.may_be_null
                else:
                    assert estimate.low <= truth <= estimate.high
                    assert estimate.error <= error
        assert len(seen) <= cells, (text, error, seed)
    return compared


def not_asked(plan, place):
    return not any(place in item.parts for item in plan.items) or any(
        item.order == place for item in plan.items
    )


def test_a_seeded_part_of_all_worlds():
    assert sum(map(check_world, range(60))) > 3_000


@pytest.mark.long
def test_many_worlds():
    for seed in range(60, 3000):
        check_world(seed)


def test_the_enumeration_notices_a_sum_that_is_too_coarse(monkeypatch):
    def coarse(plan, steps):
        pairs = zip(plan.questions, steps, strict=True)
        wide = {item.sum for item in plan.items if item.kind is NumberKind.AVERAGE}
        return whole(
            plan,
            [step + (place in wide and q.most > q.least) for place, (q, step) in enumerate(pairs)],
        )

    kind = type(World(0).desk.plan("SELECT AVG(a) FROM people", 0, None)[0])
    whole = kind.with_steps
    monkeypatch.setattr(kind, "with_steps", coarse)
    with pytest.raises(AssertionError):
        sum(map(check_world, range(60)))


def test_an_average_of_a_nullable_column_is_exact_if_that_is_wished(tmp_path):
    column = {"kind": "private", "range": [0, 5], "step": 1, "nullable": True}
    schema = {"table": {"name": "people"}, "columns": {"a": column}}
    people = {"a": [1, None, 5, 2, 5, None]}
    with hartley.Agent(people, schema, ledger=tmp_path / "ledger.db", budget=40) as agent:
        quote = agent.price("SELECT AVG(a) FROM people", error=0)
        answer = agent.ask("SELECT AVG(a) FROM people", error=0)
        assert quote.cells == 7  # six values, or none
        assert answer.low == answer.high == Fraction(13, 4)
        assert answer.bits == quote.bits < 2.81
        assert answer.promised
        for text in ("VAR_POP(a)", "VAR_SAMP(a)", "AVG(3 * a - 1)", "MEDIAN(a)", "COUNT(a)"):
            assert agent.ask(f"SELECT {text} FROM people", error=0).error == 0
        rough = agent.ask("SELECT STDDEV(a) FROM people", error="0.000001")
        assert float(rough.low) == pytest.approx(4.25**0.5)
        with pytest.raises(hartley.Refused, match="rounding of square roots"):
            agent.ask("SELECT STDDEV(a) FROM people", error=0)
