"""The Gaussian rule of a table or of covariances: numbers, sentences, releases, refusals."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import hartley
from hartley.datasets.people import people
from hartley.errors import ColumnError, HartleyError, InputError, OptionError
from hartley.reports.render import page as page_of
from hartley.studies.release.gaussian import gaussian

KNOWN = {"w": {"w": 1, "x": 0.95}, "x": {"w": 0.95, "x": 1}}
SIDES = {"confidential": "w", "key": "x"}
PEOPLE = people(2000)


@pytest.mark.parametrize(
    ("distortion", "risk", "lam"),
    [(0.25, 0.564858, 0.716066), (0.5, 0.300056, 1.216066), (0.75, 0.127850, 1.716066)],
)
def test_the_numbers_are_those_of_the_paper(distortion, risk, lam):
    report = gaussian(**SIDES, covariance=KNOWN, distortion=distortion, base=math.e)
    assert report.bound.high == pytest.approx(risk, abs=5e-7)
    assert report.bound.lam == pytest.approx(lam, abs=5e-7)
    assert report.bound.largest_risk == pytest.approx(1.163951, abs=5e-7)
    assert report.rule.distortion == pytest.approx(distortion)
    assert report.unit == "nats"
    # Whatever the law: half the logarithm of one over the share that is noise.
    assert report.rule.key_information == pytest.approx(-math.log(distortion) / 2, abs=1e-9)
    assert f"{math.ceil(report.bound.high * 1e6) / 1e6:.6f} nats" in report.headline


def test_a_share_is_a_distortion_in_variances():
    by_share = gaussian(**SIDES, covariance=KNOWN, share=0.25)
    by_distortion = gaussian(**SIDES, covariance=KNOWN, distortion=0.25)
    assert by_share.bound.high == by_distortion.bound.high
    assert by_share.share == pytest.approx(0.25)


def test_a_table_gives_its_own_covariances_and_is_released(tmp_path):
    out = tmp_path / "noisy.parquet"
    numbered = PEOPLE.append_column("row", pa.array(range(PEOPLE.num_rows)))
    report = gaussian(
        numbered, confidential="weight", key=["height", "age"], share=0.3, out=out,
        keep=["diagnosis", "row"], seed=5, steps={"height": "0.5"},
    )  # fmt: skip
    released = pq.read_table(out)
    assert released.column_names == ["height", "age", "diagnosis", "row"]
    places = [("height", "ascending"), ("age", "ascending")]
    assert released == released.sort_by(places)  # the order tells nothing
    released = released.sort_by("row")
    assert released["diagnosis"].to_pylist() == PEOPLE["diagnosis"].to_pylist()
    heights = released["height"].to_numpy()
    assert (heights * 2 == np.rint(heights * 2)).all()
    apart = sum(
        np.square(released[name].to_numpy() - PEOPLE[name].to_numpy()) for name in ("height", "age")
    )
    assert report.release.measured == pytest.approx(apart.mean())
    assert apart.mean() == pytest.approx(
        report.rule.distortion, abs=4 * apart.std() / math.sqrt(2000) + 0.5**2
    )
    words = " ".join(report.sentences)
    assert "rounded to multiples of 0.5" in words
    assert "anybody who knows or guesses it" in words
    assert "no part of this proof: diagnosis" in words
    assert "last digits" not in words
    again = tmp_path / "again.parquet"
    gaussian(
        numbered, confidential="weight", key=["height", "age"], share=0.3, out=again,
        keep=["diagnosis", "row"], seed=5, steps={"height": "0.5"},
    )  # fmt: skip
    assert pq.read_table(again).sort_by("row") == released


def test_public_covariances_release_a_table_without_looking_at_its_own(tmp_path):
    known = {
        "w": {"w": 1, "x": 0.5},
        "x": {"w": 0.5, "x": 4},
        "mean": {"w": 0, "x": 10},
    }
    table = {"x": [10.0, 12.0, 8.0], "w": [0.0, 1.0, 2.0]}
    out = tmp_path / "out.csv"
    report = gaussian(table, **SIDES, covariance=known, share=1, out=out)
    assert pyarrow.csv.read_csv(out)["x"].to_pylist() == [10.0, 10.0, 10.0]
    assert "computed from the means and covariances of the table" not in " ".join(report.sentences)
    # The confidential column need not be in the table then.
    gaussian({"x": [1.0]}, **SIDES, covariance=known, share=0.5)
    del known["mean"]
    with pytest.raises(OptionError, match="without the means"):
        gaussian(table, **SIDES, covariance=known, share=1)


def test_the_sentences_say_what_is_proved_for_which_data():
    report = gaussian(**SIDES, covariance=KNOWN, distortion=0.25)
    gaussian_data, distortion, above, below, estimate = report.proved
    assert "If both sides are Gaussian" in gaussian_data
    assert "0.814917 bits" in gaussian_data  # 0.5648577... nats, rounded down
    assert "at most 0.814918" in gaussian_data
    assert distortion.startswith("Whatever the distribution: if the key has these means")
    assert "25 % of its variance" in distortion
    assert "at most 1.000001 bits about the key" in above
    assert "nothing is proved from below" in below
    assert "a discrete one has none" in below
    assert "best linear estimate" in estimate


def test_an_entropy_gives_a_bound_from_below_that_is_never_negative():
    """Eq. (7): h(W) - log(2 pi e (1 - (1 - d) rho^2)) / 2, at least 0."""
    uniform = math.log2(math.sqrt(12))
    report = gaussian(**SIDES, covariance=KNOWN, distortion=0.25, entropy=uniform)
    wanted = uniform - 0.5 * math.log2(2 * math.pi * math.e * (1 - 0.75 * 0.95**2))
    assert report.entropy_bound.low == pytest.approx(wanted, abs=1e-9)
    assert report.entropy_bound.low <= wanted
    assert "no rule with this distortion tells less than" in report.proved[3]
    peaked = gaussian(**SIDES, covariance=KNOWN, distortion=0.25, entropy=-3)
    assert peaked.entropy_bound.low == 0


def test_little_noise_and_none_are_said():
    bare = gaussian(PEOPLE, confidential="weight", key=["height", "age"], share=0.2)
    assert "keeps more than 99 %" in " ".join(bare.proved)
    none = gaussian(**SIDES, covariance=KNOWN, distortion=0)
    assert "nothing is proved from above" in " ".join(none.proved)
    everything = gaussian(**SIDES, covariance=KNOWN, distortion=5)
    assert "tells nothing about w" in everything.headline
    assert everything.share == 1


def test_the_same_column_on_both_sides_is_rate_distortion():
    report = gaussian(confidential="x", key="x", covariance=KNOWN, distortion=0.25)
    assert report.bound.high == pytest.approx(1, abs=1e-6)
    assert report.headline.startswith("If x is Gaussian, x with noise")
    assert "without noise it tells without end" in report.headline
    assert all(point.mixture is None for point in report.frontier)
    json.dumps(report.to_dict(), allow_nan=False)
    assert "<svg" in page_of(report)


def test_units_do_not_count_where_the_key_is_standardised():
    metres = {
        "height": PEOPLE["height"].to_numpy() / 100,
        "age": PEOPLE["age"].to_numpy(),
        "weight": PEOPLE["weight"].to_numpy(),
    }
    options = {"confidential": "weight", "key": ["height", "age"], "share": 0.1}
    plain, scaled = (
        [gaussian(rows, **options, standardise=standardise).bound.high for rows in (PEOPLE, metres)]
        for standardise in (False, True)
    )
    assert plain[0] != pytest.approx(plain[1], rel=1e-2)
    assert scaled[0] == pytest.approx(scaled[1], rel=1e-6)
    report = gaussian(metres, **options, standardise=True)
    assert report.rule.distortion == pytest.approx(0.2)
    assert "in variances of the key columns" in " ".join(report.proved)


def test_the_frontier_is_convex_and_holds_the_rule():
    report = gaussian(**SIDES, covariance=KNOWN, distortion=0.5, points=9)
    highs = [point.high for point in report.frontier]
    assert highs == sorted(highs, reverse=True)
    assert (np.diff(highs, 2) >= -1e-9).all()
    assert highs[4] == pytest.approx(report.bound.high)
    for point in report.frontier:
        assert point.low <= point.high <= point.mixture + 1e-12


def test_the_report_is_plain_values_and_a_page(tmp_path):
    report = gaussian(
        PEOPLE, confidential="weight", key="height", share=0.5, out=tmp_path / "o.csv", points=5
    )
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert content["certificate"]["high"] == report.bound.high
    assert content["release"]["rows"] == 2000
    assert content["rule"]["gain"] == [[pytest.approx(0.5)]]
    page = page_of(report)
    assert page == page_of(report)
    for sentence in report.proved:
        assert sentence.split(":")[0].replace("'", "&#39;") in page
    assert hartley.plot(report).axes[0].get_xlabel() == "mean squared distortion of height"


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({}, OptionError, "Neither a table nor covariances"),
        ({"covariance": KNOWN, "out": "x.csv"}, OptionError, "no table to perturb"),
        ({"covariance": KNOWN, "share": None}, OptionError, "Exactly one of"),
        ({"covariance": KNOWN, "distortion": 1}, OptionError, "Exactly one of"),
        ({"covariance": KNOWN, "share": 1.1}, OptionError, "not from 0 to 1"),
        ({"covariance": KNOWN, "share": math.nan}, OptionError, "not from 0 to 1"),
        ({"covariance": KNOWN, "share": None, "distortion": -1}, OptionError, "of 0 or more"),
        ({"covariance": KNOWN, "points": 1}, OptionError, "more points than 1"),
        ({"covariance": KNOWN, "key": ["x", "x"]}, ColumnError, "named twice"),
        ({"covariance": KNOWN, "key": "y"}, ColumnError, "do not name the column 'y'"),
        ({"covariance": KNOWN, "steps": {"w": 1}}, ColumnError, "is no key column"),
        ({"covariance": KNOWN, "steps": {"x": 0}}, InputError, "step"),
        ({"covariance": KNOWN, "seed": -1}, OptionError, "seed -1"),
        ({"covariance": KNOWN, "entropy": 9}, OptionError, "No distribution of this covariance"),
        ({"covariance": "nowhere.csv"}, InputError, "nowhere.csv"),
        ({"covariance": KNOWN, "keep": "w"}, ColumnError, "confidential column 'w' would be"),
        ({"covariance": KNOWN, "keep": "x"}, ColumnError, "with noise and as it is"),
        ({"table": {"x": ["a"], "w": [1]}}, ColumnError, "does not hold numbers"),
        ({"table": {"x": [1.0, None], "w": [1, 2]}}, ColumnError, "missing or infinite"),
        ({"table": {"x": [1, 2], "w": [1, 2]}, "missing": "guess"}, OptionError, "'guess'"),
        ({"table": {"x": [1, 1], "w": [1, 2]}}, OptionError, "does not vary"),
        ({"table": {"x": [1, 2], "w": [1, 2]}, "out": "x.txt"}, OptionError, "names no format"),
    ],
)
def test_mistakes_are_refused_in_a_sentence(options, error, sentence):
    table = options.pop("table", None)
    with pytest.raises(error, match=sentence) as refused:
        gaussian(table, **{**SIDES, "share": 0.5, **options})
    assert refused.value.hint


def test_a_release_never_replaces_its_table(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(PEOPLE, path)
    before = path.read_bytes()
    with pytest.raises(HartleyError, match="overwrite"):
        gaussian(path, confidential="weight", key="height", share=0.5, out=path)
    assert path.read_bytes() == before
