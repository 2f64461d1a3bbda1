import dataclasses
import itertools
import json
import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import ColumnError, EngineError, OptionError
from hartley.measures.entropy import hartley_entropy
from hartley.measures.leakage import maximin_information, nonstochastic_leakage
from hartley.ranges import classes as counting
from hartley.ranges.relation import ROW, Relation
from hartley.studies.look.anonymity import anonymity, leaking_release
from hartley.tables.opening import open_table
from hartley.tables.view import prepare

WARD = {
    "age": [28, 28, 28, 28, 35, 35, 35, 35, None, None],
    "zip": ["130", "130", "130", "130", "148", "148", "148", "148", "", ""],
    "ill": ["flu", "hiv", "flu", "flu", "flu", "flu", "flu", "flu", "hiv", "flu"],
    "income": [3, 4, 5, 3, 9, 9, 9, 9, None, 4],
}
KEYS = st.one_of(st.none(), st.sampled_from([1.5, float("nan"), -0.0, 0.0]))
ROWS = st.lists(
    st.tuples(KEYS, st.sampled_from("ab"), st.sampled_from(["x", "y", "z", None])),
    min_size=1,
    max_size=25,
).filter(lambda rows: any(row[0] is not None and row[0] == row[0] for row in rows))


def plain(rows):
    """Return k, l and t in plain Python: NaN and None are one key, minus zero is zero.

    Records without a confidential value count in the classes, not in what is said about it.
    """
    people, groups = Counter(), defaultdict(list)
    for real, text, value in rows:
        missing = real is None or math.isnan(real)
        key = None if missing else real + 0.0, text
        people[key] += 1
        if value is not None:
            groups[key].append(value)
    whole = Counter(value for _, _, value in rows if value is not None)
    apart = [
        sum(
            abs(Fraction(group.count(value), len(group)) - Fraction(times, whole.total()))
            for value, times in whole.items()
        )
        / 2
        for group in groups.values()
    ]
    excluded = any(len(set(group)) < len(whole) for group in groups.values())
    return {
        "k": min(people.values()),
        "classes": len(people),
        "left_out": len(rows) - whole.total(),
        "l": min(len(set(group)) for group in groups.values()),
        "t": max(apart),
        "excluded": excluded,
    }


@pytest.fixture(params=["grouped", "cube", "integer key", "no key fits"])
def way(request, monkeypatch):
    """Count small tables as large ones are counted."""
    if request.param != "grouped":
        monkeypatch.setattr(counting, "FEW_ROWS", 0)
    if request.param == "cube":
        monkeypatch.setattr(counting, "SPARSE", 10**6)
    if request.param == "integer key":
        monkeypatch.setattr(counting, "MOST_CELLS", 0)
    if request.param == "no key fits":
        monkeypatch.setattr("hartley.tables.counts.WIDEST_KEY", 1)
    return request.param


def check(rows):
    columns = {"real": [r[0] for r in rows], "text": [r[1] for r in rows]}
    table = pa.table(columns | {"s": pa.array([r[2] for r in rows], pa.string())})
    if all(row[2] is None for row in rows):
        with pytest.raises(ColumnError, match="nothing but missing"):
            anonymity(table, keys=["real", "text"], confidential="s")
        return
    report = anonymity(table, keys=["real", "text"], confidential="s")
    expected, findings = plain(rows), report["s"]
    assert (report.k, report.classes) == (expected["k"], expected["classes"])
    assert (findings.rows + findings.left_out, findings.left_out) == (
        len(rows),
        expected["left_out"],
    )
    assert ("in which s is missing" in report.headline) == (expected["left_out"] > 0)
    assert (findings.distinct, findings.equal_closeness) == (expected["l"], expected["t"])
    assert math.isinf(findings.delta) == expected["excluded"]


@pytest.mark.slow
@given(rows=ROWS)
@settings(max_examples=40, deadline=None)
def test_a_report_equals_plain_counting_of_missing_keys_and_absent_values(rows):
    check(rows)


@pytest.mark.slow
def test_every_way_of_counting_gives_the_same_report(way):
    rng = np.random.default_rng(7)
    rows = list(
        zip(
            rng.choice([0.0, -0.0, 1.5, float("nan")], 60).tolist(),
            rng.choice(list("ab"), 60).tolist(),
            rng.choice(["x", "y", "z", None], 60).tolist(),
            strict=True,
        )
    )
    check(rows)
    report = anonymity(WARD, keys=["age", "zip"], confidential=["ill", "income"])
    assert (report.k, report.unique, report.classes, report.p_sensitive) == (2, 0, 3, 1)
    assert report["ill"].homogeneous_rows == 4
    assert report.to_dict()["confidential"][1]["values"] == 4
    # The second class holds 9 alone, the table 2, 2, 1 and 4 of 9: (2 + 4 + 5) / 9 over 3 steps.
    assert report["income"].ordered_closeness == Fraction(2 + 4 + 5, 9 * 3)
    if way == "cube":
        assert anonymity(WARD, keys="age").k == 2


@pytest.mark.usefixtures("way")
def test_a_table_that_changes_while_it_is_counted_is_refused():
    view = prepare(open_table(WARD), ["age", "ill"], missing="value")
    assert counting.count_classes(view, [0], 1).counts.rows == 10
    with pytest.raises(EngineError, match="the dict changed while it was being counted"):
        counting.count_classes(dataclasses.replace(view, rows=11), [0], 1)


def test_combinations_too_many_for_an_integer_are_numbered_on_the_way(monkeypatch):
    columns = [np.array([0, 1, 1, 0]), np.array([2, 0, 2, 2]), np.array([1, 1, 0, 1])]
    expected = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1]
    for widest in (2**62, 8):
        monkeypatch.setattr(counting, "WIDEST_KEY", widest)
        codes, width = counting.combine_codes(columns, [2, 3, 2])
        assert np.unique(codes, return_inverse=True)[1].tolist() == expected.tolist()
        assert codes.max() < width


def test_the_index_and_the_order_of_a_data_frame_play_no_part():
    frame = pd.DataFrame(WARD)
    expected = anonymity(frame, keys=["age", "zip"], confidential="ill")
    shuffled = frame.sample(frac=1, random_state=3)
    shuffled.index = [7, 7, 1, 3, 3, 9, -2, 0, 5, 5]
    report = anonymity(shuffled, keys=["age", "zip"], confidential="ill")
    assert report == expected


def test_unused_categories_are_no_values():
    ill = pd.Categorical(WARD["ill"], categories=["never", "flu", "hiv"])
    frame = pd.DataFrame({"zip": ["1"] * 10, "ill": ill})
    report = anonymity(frame, keys="zip", confidential="ill")
    assert (report["ill"].distinct, report["ill"].delta) == (2, 0.0)


def test_k_is_the_leakage_about_the_record():
    report = anonymity(WARD, keys="zip")
    relation = Relation.from_table(WARD, secret=ROW, released="zip", missing="value")
    assert report.leakage == nonstochastic_leakage(relation) == math.log2(10 / report.k)
    assert anonymity(WARD, keys="zip", base=10).unit == "digits"


def test_sentences_say_which_attacks_succeed_and_name_no_value():
    report = anonymity(WARD, keys=["age", "zip"], confidential="ill")
    text = " ".join((report.headline, *report.sentences))
    assert "succeeds for 4 of 10 rows. 1 of 3 classes has one value only" in text
    assert "Skewness attack on ill: succeeds for 2 of 10 rows" in text
    assert "Missing values of age, in 2 rows" in text
    for value in ("flu", "hiv", "130", "148"):
        assert value not in text
    alike = anonymity({"a": [1, 1], "s": ["x", "y"]}, keys="a", confidential="s")
    assert "Homogeneity attack on s: fails" in " ".join(alike.sentences)
    assert alike.headline == (
        "the dict is 2-anonymous over a: 2 people among fewer than 5. From a, nothing follows "
        "about s: in its only group every value is as likely as in the whole table."
    )
    alone = anonymity({"a": [1]}, keys="a")
    assert alone.sentences[0].startswith("1 row falls into 1 class of equal keys")


def test_people_and_rows_are_called_by_their_names():
    table = {"at": list("aabb"), "ill": list("xyxx"), "who": [1, 1, 2, 3]}
    said = " ".join(str(anonymity(table, keys="at", confidential="ill", unit="who")).split())
    assert "4 rows of 3 people fall into 2 classes" in said
    assert "Some person shares its keys with no other." in said
    assert "These measures count rows, not people." in said
    # What is certain of people is the verdict's: an attack would count rows.
    assert "homogeneity" not in said.lower()
    assert "measures count rows" not in str(anonymity(table, keys="at", confidential="ill"))


def test_an_order_may_be_given_and_changes_the_distance():
    table = {"k": [1, 1, 2, 2], "s": ["low", "mid", "top", "top"]}
    order = {"s": ["low", "mid", "top"]}
    plain_order = anonymity(table, keys="k", confidential="s", ordered=["s"])
    given_order = anonymity(table, keys="k", confidential="s", ordered={"s": ["mid", "top", "low"]})
    assert anonymity(table, keys="k", confidential="s")["s"].ordered_closeness is None
    assert plain_order == anonymity(table, keys="k", confidential="s", ordered=order)
    assert plain_order["s"].ordered_closeness == Fraction(3, 8)
    assert given_order["s"].ordered_closeness == Fraction(1, 4)


def test_a_hierarchy_brings_values_nearer():
    table = {"k": [1, 2, 3, 3], "s": ["a", "b", "c", "d"]}
    groups = {"a": ["ab"], "b": ["ab"], "c": ["cd"], "d": ["cd"]}
    report = anonymity(table, keys="k", confidential="s", hierarchy={"s": groups})["s"]
    assert (report.equal_closeness, report.hierarchical_closeness) == (
        Fraction(3, 4),
        Fraction(5, 8),
    )


def test_a_report_becomes_plain_json():
    report = anonymity(WARD, keys=["age"], confidential=["ill", "income"])
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert content["format"] == 1
    assert content["confidential"][0]["delta"] == "Infinity"
    assert content["p_sensitive"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": []}, "no key column"),
        ({"keys": ["age", "age"]}, "'age' is named twice"),
        ({"keys": "age", "confidential": "age"}, "both a key and confidential"),
        ({"keys": "agee"}, "'agee' is not in the dict"),
        ({"keys": "age", "ordered": ["ill"]}, "order or a hierarchy but is not confidential"),
        ({"keys": "age", "confidential": "ill", "ordered": "ill"}, "are not a list"),
        ({"keys": "age", "confidential": "ill", "ordered": {"ill": ["flu"]}}, "lacks a value"),
        (
            {"keys": "age", "confidential": "ill", "ordered": {"ill": ["flu", "hiv", "flu"]}},
            "or has one twice",
        ),
        (
            {"keys": "age", "confidential": "ill", "hierarchy": {"ill": {}}},
            "Row 1 of the dict, column 'ill', has a value that its hierarchy lacks",
        ),
        (
            {
                "keys": "age",
                "confidential": "ill",
                "hierarchy": {"ill": {"flu": ["g", "h"], "hiv": ["g", "i"]}},
            },
            "its entries 1 and 2 put one group of level 1 into two groups of level 2",
        ),
        ({"keys": "age", "base": 1}, "base 1 is not larger than 1"),
    ],
)
def test_bad_input_is_refused_in_a_sentence_without_values(options, message):
    with pytest.raises((OptionError, ColumnError), match=message) as caught:
        anonymity(open_table(WARD), **options)
    assert "hiv" not in str(caught.value)
    assert caught.value.hint


def test_a_report_has_the_columns_that_were_asked_for_only():
    with pytest.raises(OptionError, match="no confidential column 'x'"):
        anonymity(WARD, keys="age")["x"]


# --- Proposition V.1 --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("values", [2, 3])
def test_a_k_anonymous_release_can_leak_everything(values):
    k, others = 2, 2
    pairs = []
    for x, *rest in itertools.product(range(values), repeat=1 + others):
        release = leaking_release([x] * k + rest, k)
        assert anonymity({"record": list(map(str, release))}, keys="record").k >= k
        pairs.append((x, tuple(release)))
    relation = Relation.from_pairs(pairs)
    everything = hartley_entropy(relation)
    assert everything == pytest.approx(math.log2(values))
    assert nonstochastic_leakage(relation) == maximin_information(relation) == everything


@pytest.mark.parametrize(("records", "k"), [([1, 2], 2), ([1, 1, 2], 2), ([1], 2), ([1, 1], 0)])
def test_the_counterexample_refuses_what_would_not_be_k_anonymous(records, k):
    with pytest.raises(OptionError):
        leaking_release(records, k)


# --- a population -----------------------------------------------------------------------------


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from([1, 2, None]), st.sampled_from("ab")), min_size=1, max_size=15
    ).filter(lambda rows: any(row[0] for row in rows)),
    st.lists(st.tuples(st.sampled_from([1, 2, 3, None]), st.sampled_from("abc")), max_size=15),
    st.randoms(use_true_random=False),
)
@settings(max_examples=25, deadline=None)
def test_a_population_gives_the_risks_that_counting_people_gives(sample, others, random):
    everybody = [*sample, *others]
    random.shuffle(everybody)
    table, population = (
        {"age": [row[0] for row in rows], "sex": [row[1] for row in rows]}
        for rows in (sample, everybody)
    )
    report = anonymity(table, keys=["age", "sex"], population=population)
    n, people = Counter(sample), Counter(everybody)
    assert report.prosecutor == Fraction(1, min(n.values()))
    assert report.journalist == Fraction(1, min(people[key] for key in n))
    chances = [Fraction(n[key], people[key]) for key in n]
    assert report.marketer == sum(chances) / len(sample)
    assert report.population.k == min(people[key] for key in n)
    assert report.population.rows == len(everybody)
    assert report.sizes == anonymity(table, keys=["age", "sex"]).sizes


def test_keys_of_different_width_or_coding_meet_in_the_population():
    small = pa.table(
        {"a": pa.array([1, 2], pa.int16()), "b": pa.array(["x", "y"]).dictionary_encode()}
    )
    large = pa.table({"a": [1.0, 2.0, 2.0], "b": pa.array(["x", "y", "y"], pa.large_string())})
    report = anonymity(small, keys=["a", "b"], population=large)
    assert (report.journalist, report.marketer) == (1, Fraction(3, 4))


@pytest.mark.parametrize(
    ("population", "message"),
    [
        ({"zip": ["130"] * 9}, "fewer records than the dict in 2 of 3 classes"),
        ({"zip": list(range(9))}, "another type in the population"),
        ({"age": [1]}, "'zip' is not in the dict"),
    ],
)
def test_what_is_no_population_of_the_table_is_refused(population, message):
    with pytest.raises((OptionError, ColumnError), match=message):
        anonymity(WARD, keys="zip", population=population)


def test_without_a_population_the_journalist_is_said_to_be_a_bound():
    alone = anonymity(WARD, keys="zip")
    assert (alone.journalist, alone.population) == (alone.prosecutor, None)
    assert "the prosecutor's risk is the upper bound" in " ".join(str(alone).split())
    sampled = anonymity(WARD, keys="zip", population=WARD)
    assert sampled.journalist == alone.prosecutor
    assert "the 10 people of the dict" in " ".join(str(sampled).split())
