"""What one person can cause by publications never exceeds their charge: a seeded part."""

import re
import shutil
from unittest import mock

import pyarrow as pa
import pytest
from publications import Publishing, enumerate_publications
from sessions import bits_of

import hartley
from hartley.errors import Refused
from hartley.studies.check import publication as check_questions
from hartley.studies.check.check import check

honest_question = check_questions._question


@pytest.mark.parametrize(
    "seeds", [range(100), pytest.param(range(200, 3200), marks=pytest.mark.long)]
)
def test_no_person_causes_more_publications_than_are_charged(seeds):
    found = [enumerate_publications(seed) for seed in seeds]
    assert not [wrong for _, _, wrong in found if wrong]
    assert sum(most == price > 1 for price, most, _ in found) > len(found) / 3


@pytest.mark.parametrize(
    ("forgotten", "seed"),
    [(r'COUNT\(\*\).*GROUP BY "g"$', 0), (r'COUNT\("v"\)', 175), ('"firm"', 7)],
)
def test_the_enumeration_finds_what_a_price_forgets(forgotten, seed):
    def ask(*words):
        text = honest_question(*words)
        return 'SELECT COUNT(*) FROM "t"' if re.search(forgotten, text) else text

    assert enumerate_publications(seed)[2] is None
    with mock.patch.object(check_questions, "_question", ask):
        assert enumerate_publications(seed)[2]


@pytest.mark.parametrize("seed", [7, pytest.param(26, marks=pytest.mark.long)])
@pytest.mark.parametrize("order", ["answer first", "publication first", "twice"])
def test_a_budget_holds_to_the_last_cell(tmp_path, seed, order):
    """What is left is enough if it is exactly the charge, and not if it is one cell less."""
    world = Publishing(seed)
    data, blocks = tabled(world, world.others()), world.blocks()
    second = [{**blocks[0], "file": "second.csv", "dims": ["age"], "where": "age >= 1"}]

    def publish(agent, outputs):
        options = {"schema": world.schema, "against": agent.ledger.path, **world.options}
        check(spec={"outputs": outputs}, reserve=True, **options)

    def ask(agent):
        agent.ask("SELECT COUNT(*) FROM t WHERE g = 'a' AND age = 0", error=0)

    steps = [ask, lambda agent: publish(agent, blocks)]
    if order == "twice":
        steps = [lambda agent: publish(agent, second), steps[1]]
    elif order == "publication first":
        steps.reverse()

    def spend(budget, name):
        with hartley.Agent(data, world.schema, budget=budget, ledger=tmp_path / name) as agent:
            spent = []
            for step in steps:
                try:
                    step(agent)
                except Refused:
                    spent.append(None)
                    continue
                spent.append(agent.ledger.balance("t").spent)
            return spent

    first, both = spend("30", "free.db")
    assert both > first > 1
    assert spend(str(bits_of(both)), "edge.db") == [first, both]
    assert spend(str(bits_of(both - 1)), "less.db") == [first, None]
    assert spend(str(bits_of(first)), "first.db") == [first, None]


def written(path, output, shown):
    """Write what is shown as one cell a line; None if it is withheld."""
    if shown in {None, ("withheld",)}:
        return None
    lines = [",".join([*output["dims"], "n"])]
    for keys, text in shown:
        named = ["Total"] * len(output["dims"]) if keys == ("Total",) else keys
        lines.append(",".join([*("missing" if k is None else str(k) for k in named), str(text)]))
    path.write_text("\n".join(lines) + "\n")
    return path


def listed(world):
    """Whether a file of it can be judged: no means, totals that fit, no p% of negative values."""
    if world.reads and world.columns["v"][0] < 0:
        return False
    return all(
        o["treatment"] not in {"mean", "rounded"} and not (o["complete"] and o["margin"])
        for o in world.outputs
    )


def tabled(world, people):
    """Return people as a table with the types of the schema."""
    rows = [(f"p{who}", row) for who, held in enumerate(people) for row in held]
    types = {name: type(values[0]) for name, values in world.columns.items()}
    data = {
        name: pa.array([row[name] for _, row in rows], pa.string() if kind is str else pa.int64())
        for name, kind in types.items()
    }
    who = {"who": pa.array([name for name, _ in rows], pa.string())} if world.unit else {}
    return pa.table(data | who)


POSSIBLE = [seed for seed in range(5_000, 5_200) if listed(Publishing(seed))]


@pytest.mark.parametrize(
    "seed", [*POSSIBLE[:6], *(pytest.param(s, marks=pytest.mark.long) for s in POSSIBLE[6:60])]
)
def test_a_file_of_the_schema_is_never_refused_and_never_changes_the_charge(tmp_path, seed):
    world = Publishing(seed)
    others, (public, rows) = world.others(), world.somebody()
    possible = world.data(public, rows)
    chosen = possible[:: max(1, len(possible) // 4)]
    made = tmp_path / "made.db"
    with hartley.Agent(tabled(world, [chosen[0], *others]), world.schema, budget=40, ledger=made):
        pass
    options = {"schema": world.schema, "spec": {"outputs": world.blocks()}, **world.options}
    booked = set()
    for number, held in enumerate([*chosen, None]):
        ledger = shutil.copy(made, tmp_path / f"{number}.db")
        people = [held or (), *others]
        shown = [None] * len(world.outputs) if held is None else world.publish(people)
        files = [
            written(tmp_path / f"o{place}.csv", output, shown[place])
            for place, output in enumerate(world.outputs)
        ]
        files = [path for path in files if path is not None]
        if files:
            table = tabled(world, people)
            report = check(*files, **options, against=ledger, charge=True, table=table)
        else:
            report = check(**options, against=ledger, reserve=True)
        with hartley.open_ledger(ledger) as opened:
            booked |= {(report.publication, charge.cells) for charge in opened.history("t")}
    assert {cells for _, cells in booked} <= {world.price()}
    assert len(booked) <= 1
