"""Whom a table or a release exposes, recounted record by record."""

import csv
import json
import math
import random
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley import ROW, ColumnError, OptionError, anonymity, audit
from hartley.cli.main import main
from hartley.files import write_all_or_none
from hartley.policies import KeptColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import UniformQuantizer
from hartley.studies.look.exposure import (
    audit_risks,
    key_risks,
    population_risk,
    record_exposure,
    released_people,
)
from hartley.studies.release.pram import pram
from hartley.studies.release.release import release

# --- households and sampling weights --------------------------------------------------------------

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
    home = {i: f"row {i}" if people["home"][i] is None else people["home"][i] for i in rows}
    alike = {i: len({home[j] for j in rows if key[j] == key[i]}) for i in rows}
    records = {i: sum(key[j] == key[i] for j in rows) for i in rows}
    mass = {i: sum(people["w"][j] for j in rows if key[j] == key[i]) for i in rows}
    homes = {
        i: [j for j in rows if j == i or people["home"][i] == people["home"][j] is not None]
        for i in rows
    }
    return [
        (
            alike[i],
            min(alike[j] for j in homes[i]),
            1 - math.prod(1 - mean_of_one_over_all_alike(records[j], mass[j]) for j in homes[i]),
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
def test_an_audit_counts_households_whether_or_not_a_secret_is_missing(missing):
    people = survey(9)
    report = audit(people, roles=ROLES, missing=missing, few=4)
    rows = [i for i in range(50) if missing != "drop" or people["sex"][i]]
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
        "1 person of 3 (33.33 %) stands among fewer than 2, and 1 is unique. "
        "If everybody is as exposed as the most exposed member of their household, 2 stand among "
        "fewer than 2 (66.67 %). By the sampling weights about 0.6 of all 3 people would be found "
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
    assert "about 10.8 of all 4,580 people" in anonymity(TESTDATA, roles=named).people.sentence


# --- audits and reports on anonymity --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_people_and_risks_follow_their_definitions(seed):
    people = {name: survey(seed)[name] for name in ("age", "sex", "ill")}
    people["ill"] = [ill or "cold" for ill in people["ill"]]
    report = audit(people, secret="ill", released=["age", "sex"], few=4)
    keys = list(zip(people["age"], people["sex"], strict=True))
    alike, left = Counter(keys), {}
    for key, ill in zip(keys, people["ill"], strict=True):
        left.setdefault(key, set()).add(ill)
    assert report.people.unique == sum(alike[key] == 1 for key in keys)
    assert report.people.among_few == sum(alike[key] < 4 for key in keys)
    assert report.people.given_away == sum(len(left[key]) == 1 for key in keys)
    assert report.to_dict()["people"]["given_away"] == report.people.given_away
    risks = audit_risks(people, report).table
    assert risks["alike"].to_pylist() == [alike[key] for key in keys]
    assert risks["secrets_left"].to_pylist() == [len(left[key]) for key in keys]
    assert risks["given_away"].to_pylist() == [len(left[key]) == 1 for key in keys]
    assert risks["row"].to_pylist() == list(range(1, 51))
    again = anonymity(people, keys=["age", "sex"], few=4)
    assert again.people.among_few == report.people.among_few
    assert again.people.sentence in again.sentences
    assert key_risks(people, ["age", "sex"]).table["alike"].to_pylist() == [
        alike[key] for key in keys
    ]


def test_records_as_secrets_and_bins():
    people = {"age": [20, 21, 30, 31, 39], "sex": ["F"] * 5}
    report = audit(people, secret=ROW, released="age", bins={"age": 10})
    assert (report.people.given_away, report.people.unique, report.people.among_few) == (0, 0, 5)
    assert audit_risks(people, report).table["secrets_left"].to_pylist() == [2, 2, 3, 3, 3]


def test_a_sweep_counts_people_at_every_step():
    people = {"age": [20, 21, 30, 31, 39], "ill": ["a", "b", "a", "a", "a"]}
    report = audit(people, secret="ill", released="age", sweep={"age": [1, 10, 50]}, few=3)
    assert [point.given_away for point in report.sweep] == [5, 3, 0]
    assert [point.among_few for point in report.sweep] == [5, 2, 0]


def test_the_sentence_of_people():
    people = {"age": [20, 20, 30], "ill": ["a", "b", "a"]}
    assert audit(people, secret="ill", released="age").people.sentence == (
        "The secret of 1 person of 3 (33.33 %) is given away; 3 people of 3 (100 %) stand "
        "among fewer than 5, and 1 is unique."
    )
    with pytest.raises(OptionError, match="k is not a whole number of 2 or more"):
        audit(people, secret="ill", released="age", few=1)


def test_an_audit_needs_columns_or_roles():
    people = {"age": [20, 20, 30], "ill": ["a", "b", "a"]}
    with pytest.raises(OptionError, match="No secret column is named"):
        audit(people, released="age")
    roles = {
        "confirmed": True,
        "columns": {"age": {"role": "key"}, "ill": {"role": "confidential"}},
    }
    assert (
        audit(people, roles=roles).to_dict()
        == audit(people, secret="ill", released="age").to_dict()
    )


# --- people of a release, counted again in the written file ---------------------------------------

ROWS = 60
SEX = PolicyDocument((KeptColumn("sex"),))


def random_rows(seed: int) -> dict[str, list]:
    """Return a small table with missing values, in which some are alone and some are not."""
    draw = random.Random(seed)  # noqa: S311 - no secret is drawn
    return {
        "age": [draw.choice([None, 20, 21, 30, 31, 44, 58, 90]) for _ in range(ROWS)],
        "sex": [draw.choice(["F", "M", None]) for _ in range(ROWS)],
        "zip": [draw.choice(["007", "7", " 7", ""]) for _ in range(ROWS)],
        "ill": [draw.choice(["flu", "flu", "flu", "hiv", None]) for _ in range(ROWS)],
    }


def rows_of(path) -> list[dict]:
    """Read a release without the package."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def counted_again(rows: list[dict], keys, secret, k: int) -> tuple[int, int, int]:
    """Count unique people, those among few, and those given away, from the definition."""
    unique = few = given = 0
    for row in rows:
        alike = [other for other in rows if all(other[key] == row[key] for key in keys)]
        unique += len(alike) == 1
        few += len(alike) < k
        known = {other[secret] for other in alike} - {None, ""}
        given += row[secret] not in {None, ""} and len(known) == 1
    return unique, few, given


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("seed", range(4))
def test_people_of_a_release_are_those_of_the_written_file(seed, ending, tmp_path):
    out = tmp_path / f"out.{ending}"
    policy = PolicyDocument(
        (
            QuantizedColumn("age", UniformQuantizer(0, 100, 5)),
            KeptColumn("zip"),
            KeptColumn("ill"),
        )
    )
    report = release(random_rows(seed), policy, out, few=4)
    rows = rows_of(out)
    unique, few, _ = counted_again(rows, ["age", "zip", "ill"], "ill", 4)
    counts = report.people.counts
    assert (counts.rows, counts.k, counts.unique, counts.among_few) == (ROWS, 4, unique, few)
    assert report.people.given_away == {}
    assert report.to_dict()["people"]["among_few"] == few
    assert counts.sentence in " ".join(report.sentences)
    counted = released_people(out, 4, confidential=["ill"])
    unique, few, given = counted_again(rows, ["age", "zip"], "ill", 4)
    assert (counted.counts.unique, counted.counts.among_few) == (unique, few)
    assert counted.given_away == {"ill": given}


@pytest.mark.parametrize("seed", range(3))
def test_people_of_a_perturbation_are_counted_as_they_were_drawn(seed, tmp_path):
    out = tmp_path / "out.parquet"
    report = pram(
        random_rows(seed),
        out=out,
        columns="sex",
        missing="value",
        retain="0.7",
        keep=["age", "ill"],
        confidential="ill",
        seed=seed,
        few=3,
    )
    unique, few, given = counted_again(rows_of(out), ["sex", "age"], "ill", 3)
    assert (report.people.counts.unique, report.people.counts.among_few) == (unique, few)
    assert report.people.given_away == {"ill": given}
    content = json.loads(json.dumps(report.to_dict()))
    assert content["people"]["given_away"] == {"ill": given}
    assert any("may be somebody else" in sentence for sentence in report.sentences)
    assert any(f"give away ill for {given} p" in sentence for sentence in report.sentences)


def test_a_perturbed_secret_is_not_given_away_for_certain(tmp_path):
    people = {"ill": ["flu", "hiv"] * 5, "sex": ["F", "M"] * 5}
    report = pram(
        people,
        out=tmp_path / "out.csv",
        columns="ill",
        retain="0.9",
        keep="sex",
        confidential="ill",
        allow_dependence="sex",
        seed=1,
    )
    assert report.people.given_away == {}
    assert report.people.counts.among_few == 0
    assert not report.people.drawn


def test_nobody_is_counted_where_that_is_not_wanted(tmp_path):
    report = release({"sex": ["F", "M"]}, SEX, tmp_path / "out.csv", few=None)
    assert report.people is None
    assert report.to_dict()["people"] is None


def test_a_k_of_one_is_refused_before_anything_is_written(tmp_path):
    for study in (
        lambda: release({"sex": ["F"]}, SEX, tmp_path / "out.csv", few=1),
        lambda: pram({"sex": ["F"]}, out=tmp_path / "out.csv", columns="sex", retain=1, few=1),
    ):
        with pytest.raises(OptionError, match="k is not a whole number"):
            study()
    assert not list(tmp_path.iterdir())


def test_a_file_that_waits_for_others_is_counted(tmp_path):
    with write_all_or_none():
        report = release({"sex": ["F", "F", "M"]}, SEX, tmp_path / "out.csv")
        assert not (tmp_path / "out.csv").exists()
    assert report.people.counts.unique == 1


def test_the_header_of_a_release_of_texts_is_no_person(tmp_path):
    policy = PolicyDocument((KeptColumn("sex"), KeptColumn("job")))
    people = {"sex": ["F", "M", "F"], "job": ["cook", "smith", "cook"]}
    report = release(people, policy, tmp_path / "out.csv")
    assert (report.people.counts.rows, report.people.counts.unique) == (3, 1)


def test_an_answer_has_no_people(tmp_path):
    cells = QuantizedColumn("answer", UniformQuantizer(0, 100, 10), of="mean(age)")
    policy = PolicyDocument((cells,), design={"people": 4, "columns": {"age": ["0", "100"]}})
    report = release({"age": [20, 30, 40, 50]}, policy, tmp_path / "out.csv")
    assert report.people is None


def test_a_release_that_no_engine_reads_back_is_written_all_the_same(tmp_path):
    policy = PolicyDocument((KeptColumn("note"),))
    report = release({"note": ["x" * 3_000_000, "b"]}, policy, tmp_path / "out.csv")
    assert report.people is None
    assert (tmp_path / "out.csv").stat().st_size > 3_000_000


@pytest.mark.parametrize("values", [["F", None, None, "M"], [None, None], ["", "a", '"', "a\nb"]])
def test_lines_of_one_column_are_all_counted(values, tmp_path):
    report = release({"sex": values}, SEX, tmp_path / "out.csv")
    assert report.people.counts.rows == len(values)
    alone = [value for value in values if values.count(value) == 1]
    assert report.people.counts.unique == len(alone)


def test_only_confidential_columns_leave_everybody_alike(tmp_path):
    out = tmp_path / "out.parquet"
    pq.write_table(pa.table({"ill": ["flu", "flu", "hiv"]}), out)
    counted = released_people(out, 2, confidential=["ill"])
    assert counted.counts.among_few == 0
    assert counted.given_away == {"ill": 0}
    assert counted.to_dict()["given_away"] == {"ill": 0}
