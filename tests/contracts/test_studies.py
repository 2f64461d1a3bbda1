"""Whole audits and releases on every engine: the numbers and the files of the embedded one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hartley import PolicyDocument, Pram, anonymity, audit, design, pram, release
from hartley.policies import KeptColumn

FLAG = Pram.retaining("0.8", [False, True], column="flag")


@pytest.fixture(scope="session")
def both(engine, embedded, tables) -> tuple[Any, Any]:
    """The same table on an engine and on the embedded one, none of its flags missing."""
    flags = tables["full"]["flag"]
    table = tables["holes"].set_column(tables["holes"].column_names.index("flag"), "flag", flags)
    return tuple(one.load("studies", table) for one in (engine, embedded))


def as_json(report: Any) -> str:
    return json.dumps(report.to_dict(), default=str, sort_keys=True)


def test_an_audit_says_the_same(both):
    found, expected = (
        as_json(
            audit(
                table,
                secret="count",
                released=["tenths", "text"],
                bins={"tenths": "0.1"},
                hypothesis="count >= 2",
            )
        )
        for table in both
    )
    assert found == expected


def test_anonymity_is_the_same(both):
    options = {"keys": ["flag", "Blood pressure"], "confidential": ["text"]}
    found, expected = (as_json(anonymity(table, **options)) for table in both)
    assert found == expected


def test_a_designed_release_is_the_same_file(both, tmp_path):
    cells = design(
        {
            "objective": "maximin",
            "query": "weight",
            "error": "1/3",
            "columns": {"weight": {"range": [-10, 10]}},
        }
    ).document.columns
    policy = PolicyDocument((*cells, *map(KeptColumn, ("text", "day", "moment", "money", "real"))))
    for number, table in enumerate(both):
        release(table, policy, tmp_path / f"{number}.csv")
    assert_same_files(tmp_path)


def test_what_is_drawn_at_random_is_drawn_alike(both, tmp_path):
    for number, table in enumerate(both):
        pram(table, FLAG, tmp_path / f"{number}.csv", keep=["small"], seed=7)
    assert_same_files(tmp_path)


def assert_same_files(folder: Any) -> None:
    assert (folder / "0.csv").read_bytes() == (folder / "1.csv").read_bytes()
