"""Estimates in place of released values: what is accepted, refused and said."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hartley import ColumnError, JointDistribution, OptionError, Pram, PrivacyDistortion
from hartley.policies import least_leaking, reconstruct

DOSE = Pram.retaining("0.8", [0, 10], column="dose")


def test_a_rule_a_result_and_a_matrix_are_taken_alike():
    joint = [[0.4, 0.1], [0.1, 0.4]]
    result = PrivacyDistortion(joint, "squared", values=[0, 10]).solve(distortion=20)
    laws = (joint, JointDistribution.of(joint), [[4, 1], [1, 4]])
    steps = [reconstruct(result, law) for law in laws]
    steps.append(reconstruct(Pram.of_result(result), joint))
    steps.append(reconstruct(result.matrix, joint, values=[0, 10]))
    assert {round(float(step.distortion), 9) for step in steps} == {16.0}
    assert {round(step.risk, 9) for step in steps} == {round(result.risk, 9)}
    best = least_leaking([1, 1], "squared", 20, values=[0, 10])
    assert reconstruct(best, [1, 1]).distortion == reconstruct(best.pram, [1, 1]).distortion


def test_counts_probabilities_and_fractions_are_the_same_law():
    steps = [
        reconstruct(DOSE, law)
        for law in ([3, 1], [0.75, 0.25], np.array([6, 2]), [Fraction(3, 4), Fraction(1, 4)])
    ]
    assert len({step.distortion for step in steps}) == 1


def test_several_columns_are_estimated_column_by_column():
    rule = Pram.retaining("0.4", [(0, 0), (0, 2), (4, 0), (4, 2)], column=["a", "b"])
    step = reconstruct(rule, [1, 1, 1, 1])
    assert step.pram.released[0] == (pytest.approx(1.6), pytest.approx(0.8))
    assert step.pram.columns == ("a", "b")


def test_a_value_that_the_law_lacks_can_still_be_released():
    """It is estimated as if all values were equally frequent, and adds no distortion."""
    rule = Pram([[1, 0], ["1/2", "1/2"]], [0, 10])
    step = reconstruct(rule, [5, 0])
    assert step.pram.released == (0, 10)
    assert step.distortion == 0
    never = Pram([[1, 0], [1, 0]], [0, 10])
    assert reconstruct(never, [1, 1]).pram.released == (5.0,)


def test_a_mean_that_rounds_to_something_worse_is_not_taken():
    third = Pram([[1], [1], [1]], [0, 0.1, 0.3], released=[0.4 / 3])
    step = reconstruct(third, [1, 1, 1])
    assert step.distortion <= step.before
    assert step.before - step.distortion < Fraction(1, 10**30)


def test_very_large_numbers_stay_exact():
    top = 2**60
    rule = Pram([["1/2", "1/2"], ["1/2", "1/2"]], [top, top + 1])
    step = reconstruct(rule, [1, 1], distortion="absolute")
    assert step.pram.released == (top, top + 1)  # both are medians, so they stay
    assert step.distortion == Fraction(1, 2)


@pytest.mark.parametrize(
    ("law", "options", "error", "sentence"),
    [
        ([1, 2, 3], {}, OptionError, "not 2 numbers"),
        ([1, -1], {}, OptionError, "negative"),
        ([0, 0], {}, OptionError, "all zero"),
        ([[0, 0], [0, 0]], {}, OptionError, "all zeros"),
        ([[1, 0], [1, -1]], {}, OptionError, "negative"),
        ([1, float("nan")], {}, OptionError, "negative|zero"),
        ([1, 1], {"distortion": "cubic"}, OptionError, "no distortion called cubic"),
        ([1, 1], {"distortion": [[1, 2, 3]] * 2}, OptionError, "3 columns for 2 released"),
        ([1, 1], {"base": 1}, OptionError, "base"),
    ],
)
def test_what_is_no_law_or_distortion_is_refused_in_a_sentence(law, options, error, sentence):
    with pytest.raises(error, match=sentence) as refused:
        reconstruct(DOSE, law, **options)
    assert refused.value.hint


@pytest.mark.parametrize("values", [["a", "b"], [True, False], [None, 1]])
def test_values_without_a_mean_are_refused_and_the_likeliest_is_found(values):
    rule = Pram.retaining("0.8", values, column="job")
    for distortion in ("squared", "absolute"):
        with pytest.raises(ColumnError, match="'job' contains something that is not a number"):
            reconstruct(rule, [1, 1], distortion=distortion)
    assert reconstruct(rule, [9, 1], distortion="zero_one").pram.released == (values[0],)


def test_the_sentences_say_both_distortions_and_both_risks():
    step = reconstruct(DOSE, [[3, 0], [0, 1]])
    first, second = step.sentences
    assert "falls from 20 to 13.1868" in first
    # The channel keeps with 0.8: H(0.65) - H(0.2) of the dose, which is the confidential side.
    assert round(step.risk, 4) == 0.2121
    assert "tell nothing more: 0.2122 bits about the confidential side on average" in second
    assert not step.is_fixed
    again = reconstruct(step.pram, [[3, 0], [0, 1]])
    assert "already the mean" in again.sentences[0]
    content = step.to_dict()
    assert content["exact_distortion_before"] == "20"
    assert content["risk"] == content["risk_before"] == step.risk
    words = reconstruct(Pram([[1], [1]], [0, 4], released=["x"]), [1, 1])
    assert words.sentences[0].endswith("the mean squared distortion is 4.")
    assert words.to_dict()["distortion_before"] is None


def test_a_rule_that_sees_both_sides_is_no_rule_of_one_column():
    joint = [[0.3, 0.1], [0.1, 0.5]]
    model = PrivacyDistortion(joint, "squared", sees="both")
    result = model.solve(risk=0.01)
    assert (result.sees, result.matrix.shape[0]) == ("both", len(model.inputs))
    with pytest.raises(OptionError, match="draws from pairs") as caught:
        Pram.of_result(result)
    assert "model.inputs" in caught.value.hint
    step = reconstruct(result, joint)
    assert step.distortion <= step.before
    with pytest.raises(OptionError, match="draws from pairs"):
        _ = step.pram
    assert step.to_dict()["columns"] == []


@pytest.mark.parametrize(
    "law", [[1, 2], [[1, 2]], [[0.3, 0.1, 0], [0.1, 0.5, 0]], "ab", None, [[0, 0], [0, 0]]]
)
def test_a_rule_of_pairs_takes_the_law_it_was_solved_for(law):
    result = PrivacyDistortion([[0.3, 0.1], [0.1, 0.5]], "squared", sees="both").solve(risk=0.01)
    with pytest.raises(OptionError):
        reconstruct(result, law)


def test_a_distortion_that_sees_the_confidential_value_is_weighed_by_pairs():
    joint = [[0.25, 0.25], [0.25, 0.25]]
    costs = np.zeros((2, 2, 2))
    costs[0, :, 0], costs[1, :, 1] = 1, 3  # the best release is the other confidential value
    result = PrivacyDistortion(joint, "squared", sees="both").solve(lam=1.0)
    step = reconstruct(replace(result, matrix=np.full((4, 2), 0.5)), joint, distortion=costs)
    assert (step.before, step.distortion, step.released) == (1, Fraction(1, 2), (0,))


def test_rules_of_the_key_take_the_law_as_before():
    joint = [[0.3, 0.1], [0.1, 0.5]]
    alone = PrivacyDistortion(joint, "squared").solve(risk=0.01)
    assert reconstruct(alone, joint).distortion <= reconstruct(alone, joint).before
