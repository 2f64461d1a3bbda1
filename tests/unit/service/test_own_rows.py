"""Names of rows, which say nothing about how many rows there are, and what own rows added."""

import random

import pytest
from hypothesis import given, strategies as st

from hartley import Agent
from hartley.errors import Refused
from hartley.service.own_rows import LAST, RowIds, own_charges

IDS = RowIds(b"a key")


@given(st.integers(1, LAST - 1))
def test_a_name_leads_back_to_its_row(sequence):
    assert IDS.number(IDS.name(sequence)) == sequence


@given(st.integers(1, 10**6))
def test_names_of_neighbours_and_of_other_ledgers_differ(sequence):
    names = {IDS.name(sequence), IDS.name(sequence + 1), RowIds(b"another").name(sequence)}
    assert len({name[:4] for name in names} | {name[-4:] for name in names}) >= 4


@given(st.text(max_size=20))
def test_what_is_no_name_is_no_row(text):
    number = IDS.number(text)
    assert number is None or IDS.name(number) == text


def test_no_bit_of_the_number_shows():
    """The first names are spread: every bit is set in about half of them."""
    names = [int(IDS.name(sequence), 16) for sequence in range(1, 257)]
    for bit in range(64):
        assert 80 < sum(name >> bit & 1 for name in names) < 176


SCHEMA = {
    "table": {"name": "people"},
    "columns": {
        "region": {"kind": "public", "values": ["north", "south", "west"]},
        "age": {"kind": "private", "range": [0, 15], "step": 1},
    },
}


@pytest.mark.parametrize("seed", range(4))
def test_an_own_row_says_what_its_answer_was_charged(tmp_path, seed):
    """Whoever asks between, over new data and new allowances, in pages of any size and order."""
    rng = random.Random(seed)  # noqa: S311 - reproducible
    data = {"region": ["north", "south", "west"] * 3, "age": list(range(9))}
    charged: dict[str, list[float]] = {"ana": [], "ben": []}
    with Agent(data, SCHEMA, ledger=tmp_path / "ledger.db", budget=60) as agent:
        bits = dict.fromkeys(charged, 12)
        for name in charged:
            agent.allow(name, bits[name])
        for _ in range(24):
            name, region = rng.choice(["ana", "ben"]), rng.choice(["north", "south", "west"])
            act = rng.random()
            if act < 0.1:
                agent.update(data)
            elif act < 0.2:
                bits[name] += 1
                agent.allow(name, bits[name])
            text = "SELECT MEDIAN(age) FROM people".replace("MEDIAN", rng.choice(["MEDIAN", "MAX"]))
            text += f" WHERE region = '{region}'" if rng.random() < 0.8 else ""
            rows = len(agent.history(name))
            try:
                answer = agent.ask(text, bits=rng.randint(1, 3), analyst=name)
            except Refused:
                continue
            if len(agent.history(name)) > rows:
                charged[name].append(answer.bits)
        for name, answers in charged.items():
            assert len(answers) > 2
            whole = own_charges(agent.ledger, "people", name, limit=100)
            assert [charge.added_bits for charge in whole] == answers
            assert [charge.added for charge in whole] == [
                charge.due for charge in agent.history(name)
            ]
            assert any(charge.added_bits < charge.bits for charge in whole)
            for newest in (False, True):
                ordered, after = whole[::-1] if newest else whole, None
                for start in range(0, len(whole), 2):
                    page = own_charges(
                        agent.ledger, "people", name, after=after, limit=2, newest=newest
                    )
                    assert page == ordered[start : start + 2]
                    after = page[-1].sequence
