from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from hartley.datasets.people import people
from hartley.errors import OptionError
from hartley.studies.release.generalisation import anonymize
from hartley.studies.release.microaggregation import (
    mdav,
    microaggregate,
    mu_approx,
    univariate_microaggregation,
)


@pytest.mark.slow
@pytest.mark.parametrize("method", [mdav, mu_approx, univariate_microaggregation])
@pytest.mark.parametrize("k", [2, 5])
def test_every_microaggregation_is_k_anonymous_when_counted_again(method, k):
    columns = "age" if method is univariate_microaggregation else ["age", "height"]
    averages = method(people(400), k, columns, keep=["diagnosis", "sex"])
    report = averages.checked
    times = Counter(averages.released["diagnosis"].to_pylist())
    assert averages.singling.columns[0].alone == list(times.values()).count(1)
    assert report.k >= k
    assert report.leakage <= averages.leakage + 1e-12
    assert [findings.column for findings in report.confidential] == ["diagnosis", "sex"]


@pytest.mark.parametrize(
    "options",
    [
        {"method": "mondrian"},
        {"hierarchy": {"age": [5, 10, 50]}},
        {"hierarchy": {"age": [5, 10, 50]}, "suppress": 0.1},
    ],
)
@pytest.mark.parametrize("k", [1, 4, 30])
def test_every_anonymized_table_is_k_anonymous_when_counted_again(options, k):
    keys = ["age", "sex", "region"]
    release = anonymize(people(300), keys, k, confidential="diagnosis", **options)
    report = release.checked
    assert report.k >= k
    assert (report.rows, report.classes) == (300 - release.suppressed, release.classes)
    assert report["diagnosis"].values == len(set(release.table["diagnosis"].to_pylist()))


def test_a_key_that_is_missing_everywhere_tells_nothing():
    table = pa.table({"a": [None, None, None, None, 1], "b": ["x", "x", "y", "y", "y"]})
    release = anonymize(table, ["a", "b"], 2, suppress="0.2")
    assert release.table["a"].null_count == 4
    assert release.checked.k == 2


def test_a_kept_column_that_identifies_people_is_named_among_the_averages():
    averages = mdav({"age": [20, 21, 60, 61], "id": [7, 8, 9, 10]}, 2, "age", keep="id")
    assert "id, released as it is, identifies everybody: 4 of 4 people" in " ".join(
        averages.sentences
    )
    assert averages.to_dict()["singled_out"]["together"] == 4
    assert mdav({"age": [20, 21, 60, 61]}, 2).singling.sentences == ()


def test_the_release_is_measured_and_not_what_the_method_says():
    averages = mdav({"a": [1, 2, 3, 4], "b": [5, 5, 9, 9]}, 2)
    broken = averages.released.set_column(0, "a", pa.array(np.arange(4.0)))
    assert replace(averages, released=broken).checked.k == 1


@pytest.mark.parametrize("method", ["mdav", "mu-approx", "univariate"])
def test_every_method_is_found_by_its_name(method):
    function = {"mdav": mdav, "mu-approx": mu_approx, "univariate": univariate_microaggregation}
    columns = "age" if method == "univariate" else ["age", "height"]
    averages = microaggregate(people(200), 4, columns, method=method, keep="sex")
    expected = function[method](people(200), 4, columns, keep="sex")
    assert averages.method == method
    assert averages.released.equals(expected.released)


def test_units_are_asked_about_only_where_they_count():
    raw = microaggregate(people(200), 4, ["age", "height"], raw=True)
    assert raw.released.equals(mdav(people(200), 4, ["age", "height"], standardise=False).released)
    with pytest.raises(OptionError, match="make no difference to the univariate optimum"):
        microaggregate(people(200), 4, "age", method="univariate", raw=True)
    with pytest.raises(OptionError, match="The method 'best' is unknown"):
        microaggregate(people(200), 4, "age", method="best")


# --- the files ------------------------------------------------------------------------------------

MAKERS = [
    pytest.param(lambda table, **keep: anonymize(table, "age", 2, **keep), id="anonymize"),
    pytest.param(lambda table, **keep: mdav(table, 2, "age", **keep), id="mdav"),
]


@pytest.mark.parametrize("make", MAKERS)
def test_a_release_is_written_whole_and_never_over_its_table(make, tmp_path):
    source, link = tmp_path / "people.csv", tmp_path / "link.csv"
    source.write_text("age,pay\n31,1\n38,2\n45,3\n46,4\n")
    link.symlink_to(source)
    before = source.read_text()
    release = make(source, keep="pay")
    for path in (source, link):
        with pytest.raises(OptionError, match=r"would overwrite the table people\.csv"):
            release.write(path)
    assert source.read_text() == before
    with pytest.raises(OptionError, match=r"ending of out\.xlsx names no format"):
        release.write(tmp_path / "out.xlsx")
    for ending, read in (("csv", pa.csv.read_csv), ("parquet", pa.parquet.read_table)):
        assert read(release.write(tmp_path / f"out.{ending}"))["pay"].to_pylist() == [1, 2, 3, 4]
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"people.csv", "link.csv", "out.csv", "out.parquet"}


@pytest.mark.parametrize("make", MAKERS)
def test_numbers_that_doubles_round_are_kept_as_they_are_written(make, tmp_path):
    ids = [f"{digit}2345678901234567890" for digit in (1, 3, 5, 7)]  # all doubles differ
    rows = "".join(f"{place // 2},{number}\n" for place, number in enumerate(ids))
    (tmp_path / "a.csv").write_text(f"age,id\n{rows}")
    release = make(tmp_path / "a.csv", keep="id")
    written = pa.parquet.read_table(release.write(tmp_path / "out.parquet"))
    assert written["id"].to_pylist() == ids
