import json
from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hartley import ColumnError, Homogeneity, OptionError, open_table
from hartley.attacks import Similarity, Skewness
from hartley.attacks.finding import join_findings

ROWS = st.lists(
    st.tuples(
        st.sampled_from([20, 30, None]),
        st.sampled_from("ab"),
        st.sampled_from(["flu", "hiv", None]),
        st.integers(0, 9),
    ),
    max_size=14,
)


def table(rows):
    kinds = (pa.int64(), pa.string(), pa.string(), pa.int64())
    columns = zip(*rows, strict=True)
    names = ("age", "sex", "ill", "pay")
    return pa.table({n: pa.array(c, k) for n, c, k in zip(names, columns, kinds, strict=True)})


def classes(rows, place):
    """Return the values of each class; who has none does not count."""
    found = defaultdict(list)
    for row in rows:
        if row[place] is not None:
            found[row[:2]].append(row[place])
    return list(found.values())


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(rows=ROWS, times=st.integers(1, 4), distance=st.integers(0, 9))
def test_each_attack_counts_the_people_whose_class_gives_them_away(rows, times, distance):
    rows = [*rows, (30, "a", "flu", 4)]  # a column without any value is no column
    data, keys = open_table(table(rows)), ["age", "sex"]
    finding = Homogeneity(keys, ["ill"]).attack(data)
    alike = [c for c in classes(rows, 2) if len(set(c)) == 1]
    every = [row[2] for row in rows if row[2] is not None]
    known = len(set(every)) == 1
    (found,) = finding.disclosures
    assert found.people == (0 if known else sum(map(len, alike)))
    assert found.smallest == (None if known else min(map(len, alike), default=None))
    assert finding.number.value == found.people / len(every)
    assert (found.rows, finding.rows) == (len(every), len(rows))
    assert dict(finding.left_out) == (
        {"ill": len(rows) - len(every)} if None in [row[2] for row in rows] else {}
    )
    assert finding.k == min(Counter(row[:2] for row in rows).values())
    (guess,) = finding.guesses
    assert guess.with_keys * len(every) == sum(max(map(c.count, c)) for c in classes(rows, 2))

    (found,) = Skewness(keys, ["ill"], times).attack(data).disclosures
    skewed = [
        c
        for c in classes(rows, 2)
        if any(c.count(v) * len(every) > times * every.count(v) * len(c) for v in set(c))
    ]
    assert (found.people, found.classes) == (sum(map(len, skewed)), len(skewed))

    (found,) = Similarity(keys, {"pay": distance}).attack(data).disclosures
    every = [row[3] for row in rows]
    near = [c for c in classes(rows, 3) if max(c) - min(c) <= distance]
    known = max(every) - min(every) <= distance
    assert found.people == (0 if known else sum(map(len, near)))


PAY = {"age": [30, 30, 40, 40, 50, 50], "pay": [900.1, 900.2, 100.0, 5000.0, None, 7.0]}


@pytest.mark.slow
def test_similarity_treats_doubles_and_missing_values_as_people_read_them():
    finding = Similarity(["age"], {"pay": "0.1"}).attack(PAY)
    assert (
        finding.worst.people == 3
    )  # the two near each other, and who alone of a class has a value
    assert "to within 0.1" in finding.worst.learned
    assert "for 3 of 5 people. 1 row in which pay is missing is left out of" in finding.headline


def test_similarity_finds_values_of_one_group():
    ill = {"age": [30, 30, 40, 40], "ill": ["ulcer", "gastritis", "flu", "ulcer"]}
    groups = {"ulcer": ["stomach"], "gastritis": ["stomach"], "flu": ["lung"]}
    finding = Similarity(["age"], hierarchy={"ill": groups}).attack(ill)
    assert finding.number.value == 0.5
    assert "level 1" in finding.headline


@pytest.mark.slow
def test_a_planted_leak_is_found_and_nothing_where_classes_are_like_the_table():
    leaking = {"zip": [1, 1, 2, 2], "ill": ["a", "a", "a", "b"]}
    assert Homogeneity(["zip"], ["ill"]).attack(leaking).number.value == 0.5
    sound = {"zip": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"], "pay": [0, 90, 0, 90]}
    made = [
        Homogeneity(["zip"], ["ill", "pay"]).attack(sound),
        Skewness(["zip"], ["ill", "pay"]).attack(sound),
        Similarity(["zip"], {"pay": 10}).attack(sound),
    ]
    joined = join_findings(made)
    assert joined.number.value == 0
    assert joined.headline.endswith("no attack on its classes succeeds.")
    assert len(joined.disclosures) == 5


def test_a_finding_is_plain_and_never_shows_a_value():
    ill = {"age": [30, 30, 40, 40], "ill": ["SECRET", "SECRET", "b", "c"]}
    finding = Homogeneity(["age"], ["ill"]).attack(ill)
    told = json.dumps(finding.to_dict()) + finding.chart().csv()
    assert "SECRET" not in told
    assert finding.sentences[0].startswith("Homogeneity attack on ill: it learns")


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (Homogeneity([], ["ill"]), "No key was named"),
        (Homogeneity(["age"], []), "No confidential column was named"),
        (Homogeneity(["age"], ["age"]), "both a key and confidential"),
        (Homogeneity(["age", "age"], ["ill"]), "named twice"),
        (Skewness(["age"], ["ill"], 0), "ratio of a skewness attack is 0"),
        (Similarity(["age"], {"ill": -1}), "is negative"),
        (Similarity(["age"], {"ill": "far"}), "distance of column 'ill'"),
    ],
)
def test_bad_options_are_refused(attack, message):
    with pytest.raises(OptionError, match=message):
        attack.attack({"age": [1, 2], "ill": ["a", "b"]})


def test_text_is_not_near_other_text():
    with pytest.raises(ColumnError, match="does not hold numbers"):
        Similarity(["age"], {"ill": 1}).attack({"age": [1, 2], "ill": ["a", "b"]})
