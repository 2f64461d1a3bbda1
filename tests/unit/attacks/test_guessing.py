import json
from collections import defaultdict
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hartley import ROW, Relation, guessing_leakage, maximal_guessing_leakage
from hartley.attacks import BruteForceGuessing, HypothesisTesting

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("wxyz")), min_size=1, max_size=16)


def left_by(pairs):
    found = defaultdict(set)
    for secret, released in pairs:
        found[released].add(secret)
    return found


def counted(pairs):
    """Return a relation in which a pair that occurs twice counts twice."""
    return Relation.from_table(
        {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}, secret="x", released="y"
    )


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(pairs=PAIRS)
def test_trials_are_those_of_whoever_tries_all_values_that_are_left(pairs):
    relation = counted(pairs)
    finding = BruteForceGuessing().attack(relation)
    left = left_by(pairs)
    assert finding.trials == len({x for x, _ in pairs})
    assert finding.least == min(map(len, left.values()))
    assert finding.most == max(map(len, left.values()))
    # Somebody who tries m equally likely values in any order needs 1, 2, ... or m trials.
    average = sum(Fraction(sum(range(1, len(left[y]) + 1)), len(left[y])) for _, y in pairs)
    assert finding.average == average / len(pairs)
    assert finding.leakage == guessing_leakage(relation)
    assert finding.attribute_leakage == maximal_guessing_leakage(relation)
    alone = sum(len(left[y]) == 1 for _, y in pairs)
    assert finding.found_at_once == (alone if finding.trials > 1 else 0)


def test_a_planted_leak_is_found_and_nothing_where_sides_are_unrelated():
    leaking = Relation.from_pairs([(1, "a"), (2, "b"), (3, "b")])
    finding = BruteForceGuessing().attack(leaking)
    assert "1 trial of 3" in finding.headline
    unrelated = Relation.from_pairs([(x, y) for x in range(4) for y in "ab"])
    assert BruteForceGuessing().attack(unrelated).number.value == 0
    assert "saves a brute-force guesser" in BruteForceGuessing().attack(unrelated).headline


def test_an_attribute_of_the_secret_is_guessed_alone():
    votes = Relation.from_pairs([((a, b), a + b >= 1) for a in (0, 1) for b in (0, 1)])
    finding = BruteForceGuessing(lambda vote: vote[0]).attack(votes)
    assert (finding.trials, finding.least, finding.most) == (2, 1, 2)


def test_frequent_values_are_tried_first_by_those_who_know_them(monkeypatch):
    pairs = [("flu", "a")] * 6 + [("cold", "a")] * 2 + [("cold", "b")] * 2
    finding = BruteForceGuessing().attack(Relation.from_pairs(pairs))
    assert finding.expected.without == Fraction(6 + 2 * 4, 10)
    assert finding.expected.with_release == Fraction(6 + 2 * 2 + 2, 10)
    assert any("1.40 on average without the release and 1.20 with it" in s
               for s in finding.sentences)  # fmt: skip
    assert finding.to_dict()["trials_frequent_first"] == {"without": 1.4, "with": 1.2}
    monkeypatch.setattr("hartley.attacks.guessing.MOST_PAIRS", 2)
    finding = BruteForceGuessing().attack(Relation.from_pairs(pairs))
    assert finding.to_dict()["trials_frequent_first"] is None
    assert not any("frequent" in sentence for sentence in finding.sentences)


def test_the_record_itself_can_be_guessed():
    relation = Relation.from_table({"y": list("aab")}, secret=ROW, released="y")
    finding = BruteForceGuessing().attack(relation)
    assert (finding.trials, finding.left) == (3, ((1, 1), (2, 2)))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(pairs=PAIRS.filter(lambda pairs: len({x >= 3 for x, _ in pairs}) == 2))
def test_a_hypothesis_is_decided_for_the_rows_whose_release_leaves_no_doubt(pairs):
    relation = counted(pairs)
    finding = HypothesisTesting("x >= 3").attack(relation)
    left = left_by(pairs)
    true = sum(all(x >= 3 for x in left[y]) for _, y in pairs)
    false = sum(all(x < 3 for x in left[y]) for _, y in pairs)
    assert finding.rows == (true, false, len(pairs) - true - false)
    assert finding.share == Fraction(true + false, len(pairs))


def test_a_hypothesis_is_not_decided_where_sides_are_unrelated():
    unrelated = Relation.from_pairs([(x, y) for x in range(4) for y in "ab"])
    finding = HypothesisTesting(lambda x: x > 1).attack(unrelated)
    assert finding.number.value == 0
    assert finding.headline == "No released value decides for certain whether the hypothesis."
    assert finding.to_dict()["performance"] is None
    planted = Relation.from_pairs([(0, "a"), (3, "b")])
    assert HypothesisTesting(lambda x: x > 1).attack(planted).number.value == 1


@pytest.mark.parametrize("attack", [BruteForceGuessing(), HypothesisTesting(lambda x: x > 1)])
def test_findings_are_plain_and_can_be_drawn(attack):
    finding = attack.attack(Relation.from_pairs([(0, "a"), (1, "a"), (3, "b")]))
    json.dumps(finding.to_dict(), allow_nan=False)
    assert finding.chart().csv().count("\n") > 2
    assert all(sentence.endswith(".") for sentence in (finding.headline, *finding.sentences))
