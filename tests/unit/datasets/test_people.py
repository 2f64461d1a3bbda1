import hashlib
import tomllib
from pathlib import Path

import numpy as np
import pytest

from hartley import Schema
from hartley.datasets.people import people, people_schema
from hartley.errors import OptionError


def test_the_sample_is_the_same_on_every_machine():
    rows = "\n".join(map(str, people(200).to_pylist()))
    assert hashlib.sha256(rows.encode()).hexdigest()[:16] == "f2dd61973dafbac6"


def test_the_sample_has_5000_plausible_people():
    table = people().to_pandas()
    assert len(table) == 5000
    assert table["person"].is_unique
    assert table["age"].between(18, 95).all()
    assert set(table["sex"]) == {"F", "M"}
    assert table["height"].between(130, 215).all()
    assert table["weight"].between(35, 160).all()
    assert 0 < table["income"].isna().sum() < 250
    assert table["diagnosis"].nunique() == 6


def test_columns_depend_on_each_other_as_among_people():
    table = people().to_pandas()
    by_sex = table.groupby("sex")["height"].mean()
    assert by_sex["M"] - by_sex["F"] > 8
    assert np.corrcoef(table["height"], table["weight"])[0, 1] > 0.4
    sick = table["diagnosis"] != "none"
    assert table[sick]["age"].mean() > table[~sick]["age"].mean() + 3
    assert (table[table["job"] == "retired"]["age"] > 60).all()


def test_another_seed_gives_another_table():
    assert people(50, seed=1).to_pylist() != people(50, seed=2).to_pylist()


def test_a_table_of_nobody_is_refused():
    with pytest.raises(OptionError, match="0 people"):
        people(0)


def test_the_schema_of_the_sample_is_the_example_and_fits_the_table():
    text = people_schema()
    example = Path(__file__).parents[3] / "examples" / "people.schema.toml"
    assert example.read_text() == text  # a copy for readers; the package has the one that counts
    schema = Schema.read(tomllib.loads(text))
    assert {schema.unit, *schema.columns} == {*people(1).column_names}
