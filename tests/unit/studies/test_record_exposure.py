"""Households and sampling weights in the risk of records, recounted record by record."""

import csv
import json
import sys

import numpy as np
import pytest

from hartley import ColumnError, anonymity, audit
from hartley.cli.main import main
from hartley.studies.record_exposure import record_exposure
from hartley.studies.record_risks import audit_risks, key_risks

ROLES = {
    "confirmed": True,
    "columns": {
        "age": {"role": "key"},
        "sex": {"role": "key"},
        "ill": {"role": "confidential"},
        "home": {"role": "household"},
        "w": {"role": "weight"},
    },
}


def survey(seed: int, rows: int = 50) -> dict[str, list]:
    """Return people in households, with weights and missing values."""
    rng = np.random.default_rng(seed)

    def holed(values: list) -> list:
        return [None if hole else v for v, hole in zip(values, rng.random(rows) < 0.1, strict=True)]

    return {
        "age": rng.integers(20, 28, rows).tolist(),
        "sex": holed(rng.choice(["F", "M"], rows).tolist()),
        "ill": holed(rng.choice(["flu", "hiv"], rows).tolist()),
        "home": holed(rng.integers(0, 20, rows).tolist()),
        "w": (rng.integers(1, 40, rows) / 4).tolist(),
    }


def recount(people: dict[str, list], rows: list[int]) -> list[tuple[int, int, float]]:
    """Return for each row: alike, least alike at home, and the largest estimated risk at home."""
    key = {i: (people["age"][i], people["sex"][i]) for i in rows}
    alike = {i: sum(key[j] == key[i] for j in rows) for i in rows}
    mass = {i: sum(people["w"][j] for j in rows if key[j] == key[i]) for i in rows}
    homes = {
        i: [j for j in rows if j == i or people["home"][i] == people["home"][j] is not None]
        for i in rows
    }
    return [
        (
            alike[i],
            min(alike[j] for j in homes[i]),
            max(1 / max(mass[j], 1) for j in homes[i]),
        )
        for i in rows
    ]


@pytest.mark.parametrize("seed", range(4))
def test_a_record_is_as_exposed_as_the_most_exposed_of_its_household(seed):
    people = survey(seed)
    expected = recount(people, list(range(50)))
    risks = key_risks(people, ["age", "sex"], roles=ROLES).table
    assert risks["alike"].to_pylist() == [alike for alike, _, _ in expected]
    assert risks["household_alike"].to_pylist() == [least for _, least, _ in expected]
    assert risks["risk"].to_pylist() == [1 / least for _, least, _ in expected]
    assert risks["estimated_risk"].to_pylist() == pytest.approx([risk for *_, risk in expected])
    report = anonymity(people, roles=ROLES, k=4)
    assert report.people.household_among_few == sum(least < 4 for _, least, _ in expected)
    assert report.people.household_among_few >= report.people.among_few
    alone = {**people, "home": list(range(50))}
    by_itself = [risk for *_, risk in recount(alone, list(range(50)))]
    assert report.people.expected == pytest.approx(sum(by_itself))


@pytest.mark.parametrize("missing", ["released", "value", "drop"])
def test_an_audit_counts_households_over_its_own_rows(missing):
    people = survey(9)
    report = audit(people, roles=ROLES, missing=missing, k=4)
    rows = [
        i
        for i in range(50)
        if missing == "value"
        or (people["ill"][i] is not None and (missing == "released" or people["sex"][i]))
    ]
    assert report.people.rows == len(rows)
    expected = recount(people, rows)
    assert report.people.household_among_few == sum(least < 4 for _, least, _ in expected)
    risks = audit_risks(people, report, roles=ROLES).table  # of all rows, missing being a value
    assert risks["household_alike"].to_pylist() == [
        least for _, least, _ in recount(people, list(range(50)))
    ]


def test_the_sentence_says_whose_risk_counts_and_that_weights_estimate():
    people = {"age": [30, 30, 40], "home": ["a", "b", "b"], "w": [10, 30, 4]}
    columns = {name: ROLES["columns"][name] for name in people}
    report = anonymity(people, roles={"confirmed": True, "columns": columns}, k=2)
    assert report.people.sentence == (
        "1 person of 3 (at most 33.34 %) stands among fewer than 2, and 1 is unique. "
        "If everybody is as exposed as the most exposed member of their household, 2 stand among "
        "fewer than 2 (at most 66.67 %). By the sampling weights about 0.3 of them would be found "
        "in the population; this is an estimate and no promise."
    )
    content = report.to_dict()["people"]
    assert content["household_among_few"] == 2
    assert content["expected"] == pytest.approx(0.3)


def test_without_such_roles_nothing_is_added():
    people = {"age": [30, 30, 40]}
    report = anonymity(people, roles={"confirmed": True, "columns": {"age": {"role": "key"}}}, k=2)
    assert report.people.household_among_few is None
    assert "expected" not in report.people.to_dict()
    risks = key_risks(people, ["age"]).table
    assert risks.column_names == ["row", "alike", "risk"]


@pytest.mark.parametrize("weight", [0, -1, None, float("nan"), float("inf")])
def test_a_weight_that_is_no_positive_number_is_refused(weight):
    people = {"age": [30, 30], "w": [1.5, weight]}
    roles = {"confirmed": True, "columns": {"age": {"role": "key"}, "w": {"role": "weight"}}}
    with pytest.raises(ColumnError, match=r"'w' .* is missing or not positive in 1 row"):
        record_exposure(people, ["age"], roles=roles)


def test_a_weight_of_texts_is_refused():
    roles = {"confirmed": True, "columns": {"age": {"role": "key"}, "w": {"role": "weight"}}}
    with pytest.raises(ColumnError, match="holds no numbers"):
        anonymity({"age": [30, 30], "w": ["a", "b"]}, roles=roles)


def test_the_first_of_several_weights_counts():
    columns = {"age": {"role": "key"}, "w": {"role": "weight"}, "v": {"role": "weight"}}
    people = {"age": [30, 30], "v": [1, 1], "w": [2, 3]}
    report = anonymity(people, roles={"confirmed": True, "columns": columns})
    assert report.people.expected == pytest.approx(2 / 5)


def test_small_weights_estimate_no_risk_above_one():
    roles = {"confirmed": True, "columns": {"age": {"role": "key"}, "w": {"role": "weight"}}}
    exposure = record_exposure({"age": [30, 40], "w": [0.1, 4]}, ["age"], roles=roles)
    assert exposure.estimated_risk.tolist() == [1.0, 0.25]


def test_the_command_writes_the_risk_of_the_household(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age,home,w\n30,a,10\n30,b,30\n40,b,4\n")
    (tmp_path / "roles.toml").write_text(
        'confirmed = true\n[columns.age]\nrole = "key"\n[columns.home]\nrole = "household"\n'
        '[columns.w]\nrole = "weight"\n'
    )
    words = ["anonymity", "people.csv", "--roles", "roles.toml", "--few", "2", "--json"]
    monkeypatch.setattr(sys, "argv", ["hartley", *words, "--risks", "risks.csv"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out)["people"]["household_among_few"] == 2
    with (tmp_path / "risks.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["risk"] for row in rows] == ["0.5", "1", "1"]
    assert [row["estimated_risk"] for row in rows] == ["0.025", "0.25", "0.25"]
