"""Households and sampling weights in the risk of records, recounted record by record."""

import csv
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from hartley import ColumnError, anonymity, audit
from hartley.cli.main import main
from hartley.studies.look.exposure import audit_risks, key_risks, population_risk, record_exposure

TESTDATA = Path(__file__).parents[4] / "shared" / "data" / "sdc" / "testdata.csv"
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


R_1_4 = math.log(4) / 3
R_2_40 = (1 - math.log(20) / 19) / 19
"""The risks of one record of weight 4, and of two whose weights sum to 40: r_1 = p/q ln(1/p), and
r_2 = p/q (1 - r_1)."""


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


def mean_of_one_over_all_alike(alike: int, mass: float) -> float:
    """Return E(1/F), F being ``alike`` and a negative binomial number, term by term.

    The chance of F = j is that of the last of ``alike`` drawings with success in the j-th drawing.
    """
    share = min(alike / mass, 1)
    log, terms, j = alike * math.log(share), [1 / alike if share == 1 else 0.0], alike
    while share < 1 and (j <= mass or terms[-1] > 1e-18):
        terms.append(math.exp(log) / j)
        log += math.log((1 - share) * j / (j + 1 - alike))
        j += 1
    return math.fsum(terms)


def recount(people: dict[str, list], rows: list[int]) -> list[tuple[int, int, float]]:
    """Return for each row: alike, least alike at home, and the estimated risk of its home."""
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
            1 - math.prod(1 - mean_of_one_over_all_alike(alike[j], mass[j]) for j in homes[i]),
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
    report = anonymity(people, roles=ROLES, few=4)
    assert report.people.household_among_few == sum(least < 4 for _, least, _ in expected)
    assert report.people.household_among_few >= report.people.among_few
    alone = {**people, "home": list(range(50))}
    by_itself = [risk for *_, risk in recount(alone, list(range(50)))]
    assert report.people.expected == pytest.approx(sum(by_itself))


@pytest.mark.parametrize("missing", ["released", "value", "drop"])
def test_an_audit_counts_households_over_its_own_rows(missing):
    people = survey(9)
    report = audit(people, roles=ROLES, missing=missing, few=4)
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
    report = anonymity(people, roles={"confirmed": True, "columns": columns}, few=2)
    assert report.people.sentence == (
        "1 person of 3 (at most 33.34 %) stands among fewer than 2, and 1 is unique. "
        "If everybody is as exposed as the most exposed member of their household, 2 stand among "
        "fewer than 2 (at most 66.67 %). By the sampling weights about 0.6 of them would be found "
        "in the population; this is an estimate and no promise."
    )
    content = report.to_dict()["people"]
    assert content["household_among_few"] == 2
    assert content["expected"] == pytest.approx(2 * R_2_40 + R_1_4)


def test_without_such_roles_nothing_is_added():
    people = {"age": [30, 30, 40]}
    report = anonymity(
        people, roles={"confirmed": True, "columns": {"age": {"role": "key"}}}, few=2
    )
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
    assert report.people.expected == pytest.approx(2 * (1 - math.log(5 / 2) / 1.5) / 1.5)


def test_small_weights_estimate_no_risk_above_one():
    roles = {"confirmed": True, "columns": {"age": {"role": "key"}, "w": {"role": "weight"}}}
    exposure = record_exposure({"age": [30, 40], "w": [0.1, 4]}, ["age"], roles=roles)
    assert exposure.estimated_risk.tolist() == pytest.approx([1.0, R_1_4])


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
    both = 1 - (1 - R_2_40) * (1 - R_1_4)
    risks = [float(row["estimated_risk"]) for row in rows]
    assert risks == pytest.approx([R_2_40, both, both])


@pytest.mark.parametrize("share", [1, 1 - 1e-12, 0.9, 0.51, 0.5, 0.49, 0.1, 0.01])
@pytest.mark.parametrize("alike", [1, 2, 3, 7, 39, 40, 41, 200])
def test_the_risk_by_weights_is_the_mean_of_one_over_all_who_are_alike(alike, share):
    mass = alike / share
    (risk,) = population_risk(np.array([alike]), np.array([mass]))
    assert risk == pytest.approx(mean_of_one_over_all_alike(alike, mass), rel=1e-9)
    assert risk <= 1 / alike
    assert alike / mass <= risk * alike * (1 + 1e-15)  # the mean of 1/F is no less than 1/mean(F)


def test_the_risk_by_weights_keeps_its_digits_far_out():
    sizes, masses = np.array([1, 3, 10, 10**9, 3]), np.array([1e15, 300, 1000, 1e12, 3.0])
    assert population_risk(sizes, masses) == pytest.approx(
        [
            math.log(1e15) / 1e15, 0.0049532207805903, 0.00110972617079171,
            1e-12 * (1 + 1e-9), 1 / 3,
        ], rel=1e-13,
    )  # fmt: skip


def test_the_risk_by_weights_of_six_records_and_their_homes():
    people = {"age": [1, 1, 1, 2, 2, 3], "w": [4, 10, 6, 5, 5, 20], "home": [1, 1, 2, 2, 3, 3]}
    columns = {name: ROLES["columns"][name] for name in people}
    named = {"confirmed": True, "columns": columns}
    three, two, one = 0.0675192834504, 0.14941013047, 0.15767011966
    alone = {"confirmed": True, "columns": {name: columns[name] for name in ("age", "w")}}
    found = record_exposure({name: people[name] for name in ("age", "w")}, ["age"], roles=alone)
    assert found.estimated_risk == pytest.approx([three] * 3 + [two] * 2 + [one], rel=1e-9)
    found = record_exposure(people, ["age"], roles=named)
    homes = [1 - (1 - three) ** 2, 1 - (1 - three) * (1 - two), 1 - (1 - two) * (1 - one)]
    assert found.estimated_risk == pytest.approx(np.repeat(homes, 2), rel=1e-9)
    assert found.expected == pytest.approx(3 * three + 2 * two + one)


@pytest.mark.skipif(not TESTDATA.exists(), reason="needs ../shared/data/sdc/testdata.csv")
def test_the_risk_by_weights_of_the_test_data_of_sdcmicro():
    keys = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
    roles = {name: {"role": "key"} for name in keys}
    roles |= {"sampling_weight": {"role": "weight"}, "ori_hid": {"role": "household"}}
    named = {"confirmed": True, "columns": roles}
    found = record_exposure(TESTDATA, keys, roles=named)
    assert found.expected == pytest.approx(10.7755251363)  # sdcMicro rounds upwards: 10.778
    assert found.estimated_risk.sum() == pytest.approx(51.7995914641)
    assert "about 10.8 of them" in anonymity(TESTDATA, roles=named).people.sentence
