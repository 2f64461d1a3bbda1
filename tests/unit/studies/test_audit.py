import dataclasses
import json
import math

import pytest
from hypothesis import given, settings, strategies as st

import hartley
from hartley.errors import ColumnError, HartleyError, OptionError
from hartley.studies.look.audit import LARGEST_REGROUPED, Sweep
from hartley.studies.look.verdict import ONE_ROW
from hartley.text import number

PEOPLE = hartley.people(400)
MEASURES = [
    "hartley_entropy",
    "conditional_entropy",
    "relative_disarray",
    "nonstochastic_information",
    "nonstochastic_leakage",
    "symmetric_leakage",
    "information_transmission",
    "maximin_information",
    "guessing_leakage",
    "maximal_guessing_leakage",
    "identifiability",
    "zero_error_capacity_bound",
    "maximal_leakage",
    "pointwise_leakage",
    "mutual_information",
]


@pytest.fixture(scope="module")
def report():
    return hartley.audit(
        PEOPLE,
        secret="diagnosis",
        released=["age", "sex"],
        bins={"age": 10},
        sweep={"age": "1:12"},
        hypothesis="diagnosis = 'none'",
    )


def relation_of(step):
    return hartley.Relation.from_table(
        PEOPLE, secret="diagnosis", released=["age", "sex"], bins={"age": step}
    )


def test_every_measure_appears_with_the_value_of_its_function_and_a_sentence(report):
    relation = relation_of(10)
    assert [finding.name for finding in report.findings] == MEASURES
    for finding in report.findings:
        assert finding.value == getattr(hartley.measures, finding.name)(relation)
        assert finding.sentence.endswith(".")
        assert finding.symbol
    assert {finding.certainty for finding in report.findings} == {"exact", "bound", "estimate"}


def test_a_report_becomes_plain_json(report):
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert content["format"] == 1
    assert content["headline"] == report.headline
    assert content["findings"][0]["name"] == "hartley_entropy"
    assert len(content["sweep"]) == 12


def test_a_report_shows_itself_in_a_notebook(report):
    page = report._repr_html_()
    first, *others = report.verdict.sentences
    assert f"<p><b>{first}</b></p><p>{others[0]}" in page
    assert page.count("<tr>") == 1 + len(MEASURES)


def test_the_narrowest_values_come_first_and_are_right(report):
    relation = relation_of(10)
    sizes = [len(relation.conditional_range(released=n.released)) for n in report.narrowest]
    assert [narrowing.secrets_left for narrowing in report.narrowest] == sizes == sorted(sizes)
    assert sizes[0] == relation.summary.secret_sizes.min()


def test_no_secret_value_appears_in_a_report():
    marked = {"who": [f"secret-{i % 7}" for i in range(40)], "what": [i % 11 for i in range(40)]}
    report = hartley.audit(marked, secret="who", released="what", sweep={"what": "1:5"})
    assert "secret-" not in json.dumps(report.to_dict())
    assert "secret-" not in report._repr_html_()


@pytest.mark.slow
def test_the_sweep_equals_an_audit_of_every_step(report):
    for point in report.sweep:
        relation = relation_of(point.step)
        assert point.released_values == relation.summary.released
        for name in ("nonstochastic_leakage", "maximal_guessing_leakage", "maximin_information"):
            assert getattr(point, name) == getattr(hartley.measures, name)(relation)
        for name in ("maximal_leakage", "mutual_information"):
            assert getattr(point, name) == pytest.approx(getattr(hartley.measures, name)(relation))
        step = float(point.step)
        expected = max(abs(v - step * (v // step + 0.5)) for v in PEOPLE["age"].to_pylist())
        assert point.distortion == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["released", "drop", "value"])
@pytest.mark.parametrize("secret", ["job", hartley.ROW])
def test_regrouping_and_counting_anew_agree(monkeypatch, missing, secret):
    table = PEOPLE.select(["job", "income", "sex"])
    wish = {"income": "2500:20000:2500"}
    options = {"secret": secret, "released": ["sex", "income"], "missing": missing, "sweep": wish}
    regrouped = hartley.audit(table, **options)
    monkeypatch.setattr("hartley.studies.look.audit.LARGEST_REGROUPED", -1)
    anew = hartley.audit(table, **options)
    assert LARGEST_REGROUPED > 0
    for reused, counted in zip(regrouped.sweep, anew.sweep, strict=True):
        assert dataclasses.astuple(reused) == pytest.approx(dataclasses.astuple(counted))


def test_a_sweep_keeps_the_bins_of_other_columns():
    report = hartley.audit(
        PEOPLE,
        secret="diagnosis",
        released=["age", "height"],
        bins={"height": 20, "age": 7},
        sweep={"age": [30]},
    )
    direct = hartley.audit(
        PEOPLE, secret="diagnosis", released=["age", "height"], bins={"height": 20, "age": 30}
    )
    assert report.sweep[0].released_values == direct.released_values


def test_the_hypothesis_is_decided_by_the_counted_outputs(report):
    analysis = report.hypothesis
    assert (
        analysis.decide_true + analysis.decide_false + analysis.ambiguous == report.released_values
    )
    assert "diagnosis = 'none'" in analysis.sentence


def test_a_secret_of_one_value_is_refused():
    with pytest.raises(ColumnError, match=r"'age' holds one value only.*; hint: "):
        hartley.audit({"age": [3, 3], "sex": ["F", "M"]}, secret="age", released="sex")


def test_a_released_side_of_one_value_is_reported_with_a_note():
    report = hartley.audit({"age": [3, 4], "sex": ["F", "F"]}, secret="age", released="sex")
    assert report.headline == (
        "From sex, nothing follows about age: in its only group every value is as likely as in the "
        "whole table."
    )
    assert "'sex' holds one value only" in report.notes[0]
    assert report["nonstochastic_leakage"].value == 0


def test_dropped_rows_are_noted():
    report = hartley.audit(
        {"age": [3, 4, None], "sex": ["F", "M", "M"]}, secret="age", released="sex"
    )
    assert report.rows_dropped == 1
    assert report.headline.endswith(" 1 row in which age is missing is left out.")
    assert report.notes == (ONE_ROW,)


def test_a_blank_that_always_means_one_secret_is_no_nothing():
    """Whoever sees the release sees the blank, and it gives the diagnosis away."""
    blank = {"sex": ["F", "M"] * 20 + [None] * 5, "diagnosis": ["flu", "flu", "hiv", "hiv"] * 10}
    blank["diagnosis"] += ["hiv"] * 5
    report = hartley.audit(blank, secret="diagnosis", released="sex")
    assert (report.rows, report.rows_dropped) == (45, 0)
    assert report.headline.startswith("From sex, the diagnosis of 5 of 45 people is certain.")
    assert report.narrowest[0].released is None
    assert report.notes == (
        "Missing values of sex, in 5 rows, count as one value of their own.",
        ONE_ROW,
    )


def test_a_table_beyond_the_linear_programme_says_so(monkeypatch):
    monkeypatch.setattr("hartley.measures.capacity.LARGEST_PROGRAMME", 10)
    report = hartley.audit(PEOPLE, secret="diagnosis", released="age")
    assert "zero-error capacity is bounded by the smaller range" in report.notes[-2]
    small = min(report.secret_values, report.released_values)
    bound = report["zero_error_capacity_bound"].value
    assert math.log2(small) <= bound == pytest.approx(math.log2(small), abs=1e-12)


def test_progress_is_told_for_every_kind_of_work():
    shares = []
    hartley.audit(
        PEOPLE,
        secret="diagnosis",
        released="age",
        sweep={"age": "1:5"},
        progress=lambda kind, share: shares.append((kind, share)),
    )
    assert [share for kind, share in shares if kind == "sweep"] == pytest.approx(
        [0.2, 0.4, 0.6, 0.8, 1.0]
    )


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"age": "1"}, "LOW:HIGH"),
        ({"age": "5:1"}, "ends before it begins"),
        ({"age": "0:5"}, "not a positive number"),
        ({"age": "a:b"}, "not a number"),
        ({"age": "1:5:0"}, "not a positive number"),
        ({"age": "1:1000000"}, "more than 1,000"),
        ({"age": "1:2:3:4"}, "LOW:HIGH"),
        ({"sex": "1:5"}, "not released"),
        ({"age": "1:5", "sex": "1:5"}, "2 columns"),
        ({"age": []}, "no step"),
    ],
)
def test_a_bad_sweep_is_refused_in_one_sentence(wish, words):
    with pytest.raises((OptionError, ColumnError), match=words) as refused:
        hartley.audit(PEOPLE, secret="diagnosis", released="age", sweep=wish)
    assert "; hint: " in str(refused.value)


def test_a_sweep_of_text_is_refused():
    with pytest.raises(ColumnError, match=r"'job' .* holds text values"):
        hartley.audit(PEOPLE, secret="diagnosis", released="job", sweep={"job": "1:5"})


def test_steps_may_be_fractions():
    assert [float(step) for step in Sweep.parse({"x": "0.5:2:0.5"}).steps] == [0.5, 1, 1.5, 2]


@given(st.floats(min_value=0, max_value=100))
def test_rounding_up_is_never_below_and_less_than_a_cent_above(value):
    assert value <= float(number(value, round="up", places=2, zeros=True)) < value + 0.01 + 1e-12


@pytest.mark.slow
@settings(max_examples=40)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 3), st.sampled_from("ab")), min_size=2
    )
)
def test_sentences_about_any_table_are_true_of_it(rows):
    table = dict(zip(("x", "y", "z"), map(list, zip(*rows, strict=True)), strict=True))
    try:
        report = hartley.audit(table, secret="x", released=["y", "z"])
    except HartleyError:
        assert len(set(table["x"])) == 1
        return
    classes = {}
    for x, y, z in rows:
        classes.setdefault((y, z), []).append(x)
    least, everything = min(len(set(held)) for held in classes.values()), len(set(table["x"]))
    told = sum(len(held) for held in classes.values() if len(set(held)) == 1)
    fair = all(
        held.count(x) * len(rows) == table["x"].count(x) * len(held)
        for held in classes.values()
        for x in table["x"]
    )
    assert report.verdict.told == told
    assert ("is certain" in report.headline.split(". ")[0]) == (told > 0)
    assert ("nothing follows" in report.headline) == fair
    percent = report["identifiability"].sentence.split("at least ")[1].split(" %")[0]
    assert float(percent) <= 100 * least / everything
