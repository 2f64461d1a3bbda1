"""People of a release, counted again from the written file by plain Python."""

import collections
import csv
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley.errors import OptionError
from hartley.files import write_all_or_none
from hartley.policies import KeptColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import UniformQuantizer
from hartley.studies.look.exposure import released_people
from hartley.studies.release.pram import pram
from hartley.studies.release.release import release

ROWS = 60


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
        seed=1,
    )
    assert report.people.given_away == {}
    assert report.people.counts.among_few == 0
    assert not report.people.drawn


def test_nobody_is_counted_where_that_is_not_wanted(tmp_path):
    policy = PolicyDocument((KeptColumn("sex"),))
    report = release({"sex": ["F", "M"]}, policy, tmp_path / "out.csv", few=None)
    assert report.people is None
    assert report.to_dict()["people"] is None


def test_a_k_of_one_is_refused_before_anything_is_written(tmp_path):
    policy = PolicyDocument((KeptColumn("sex"),))
    for study in (
        lambda: release({"sex": ["F"]}, policy, tmp_path / "out.csv", few=1),
        lambda: pram({"sex": ["F"]}, out=tmp_path / "out.csv", columns="sex", retain=1, few=1),
    ):
        with pytest.raises(OptionError, match="k is not a whole number"):
            study()
    assert not list(tmp_path.iterdir())


def test_a_file_that_waits_for_others_is_counted(tmp_path):
    policy = PolicyDocument((KeptColumn("sex"),))
    with write_all_or_none():
        report = release({"sex": ["F", "F", "M"]}, policy, tmp_path / "out.csv")
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
    report = release({"sex": values}, PolicyDocument((KeptColumn("sex"),)), tmp_path / "out.csv")
    assert report.people.counts.rows == len(values)
    alone = [value for value in values if values.count(value) == 1]
    assert report.people.counts.unique == len(alone)


def test_only_confidential_columns_leave_everybody_alike(tmp_path):
    out = tmp_path / "out.parquet"
    pq.write_table(pa.table({"ill": ["flu", "flu", "hiv"]}), out)
    counted = released_people(out, 2, confidential=["ill"])
    assert counted.counts.among_few == 0
    assert counted.given_away == {"ill": 0}
    assert collections.Counter(counted.to_dict())["given_away"] == {"ill": 0}
