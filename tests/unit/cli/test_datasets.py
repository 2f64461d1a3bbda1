import json
import os
from unittest import mock

import pyarrow.parquet
import pytest

import command_line
from hartley.datasets.catalogue import ENTRIES, dataset


def run(*words, cache, **options):
    with mock.patch.dict(os.environ, HARTLEY_DATA=str(cache)):
        return command_line.run(*words, **options)


@pytest.mark.slow
def test_the_list_says_which_copies_are_here(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "responses.csv").write_text("")
    listed = json.loads(run("datasets", "--json", cache=tmp_path).stdout)
    assert listed["folder"] == str(tmp_path)
    found = {one["name"]: one for one in listed["datasets"]}
    assert list(found) == list(ENTRIES)
    copies = {name: one["copy"] for name, one in found.items() if one["copy"]}
    assert copies == {"young_people": str(tmp_path / "deep" / "responses.csv")}
    assert found["hungarian"]["licence"] == "CC BY 4.0"
    elsewhere = json.loads(
        run("datasets", "--data", tmp_path / "deep", "--json", cache=tmp_path / "x").stdout
    )
    assert sum(one["copy"] is not None for one in elsewhere["datasets"]) == 1
    shown = run("datasets", "--text", cache=tmp_path).stdout
    assert all(name in shown for name in ENTRIES)
    assert shown.count(" yes ") > 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "told"),
    [("young_people", "needs an account at Kaggle"), ("iris", "There is no data set 'iris'")],
)
def test_what_cannot_be_fetched_is_one_sentence(tmp_path, name, told):
    found = run("datasets", "--fetch", name, cache=tmp_path)
    assert (found.returncode, found.stdout) == (2, "")
    assert told in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("hungarian", "rows"), ("taxi", "trips")])
def test_a_sample_like_a_data_set_is_that_of_its_generator(tmp_path, name, size):
    file = tmp_path / "some.parquet"
    told = json.loads(
        run(
            "sample", file, "--like", name, "--rows", 20, "--seed", 3, "--json", cache=tmp_path
        ).stdout
    )
    assert (told["rows"], told["synthetic"], told["name"]) == (20, True, name)
    table = pyarrow.parquet.read_table(file)
    assert table.to_pylist() == dataset(name, seed=3, **{size: 20}).table.to_pylist()
    assert table.schema.metadata[b"synthetic"].startswith(b"Synthetic, drawn by a seeded generator")
