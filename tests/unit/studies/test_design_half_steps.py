"""What a design against a hypothesis says is the most, where half steps would leave more open."""

from fractions import Fraction

import pytest

from hartley.studies.release.design import design

LINE = {
    "objective": "hypothesis",
    "hypothesis": "x >= 5",
    "columns": {"x": {"range": [0, 10], "step": 1}},
}
ON_STEPS = "No release of values on the declared steps that moves x by at most"


def most_open(reach, outputs):
    """The most records of 0..10 that releases at some places leave open, found by all windows."""
    windows = [{x for x in range(11) if abs(x - place) <= reach} for place in outputs]
    shared = [window for window in windows if min(window) < 5 <= max(window)]
    # For a line, all records near a shared output can be open at once: each has a partner of its
    # own mirrored at the line.
    return len(set().union(*shared))


@pytest.mark.parametrize("error", ["1.5", "1.7", "2.5"])
def test_releases_between_the_steps_are_excepted_where_they_leave_more_open(error):
    drafted = design(LINE | {"error": error})
    halves = [Fraction(k, 2) for k in range(21)]
    assert most_open(Fraction(error), range(11)) == drafted.certificate.parameters["open"]
    assert most_open(Fraction(error), halves) > drafted.certificate.parameters["open"]
    assert f"{ON_STEPS} {error} leaves more records open." in drafted.sentences


@pytest.mark.parametrize("error", ["1", "1.4", "2"])
def test_no_release_at_all_does_better_where_half_steps_are_of_no_use(error):
    drafted = design(LINE | {"error": error})
    halves = [Fraction(k, 2) for k in range(21)]
    assert most_open(Fraction(error), halves) == drafted.certificate.parameters["open"]
    said = f"No release that moves x by at most {error} leaves more records open."
    assert said in drafted.sentences


def test_what_somebody_knows_may_leave_no_use_for_half_steps():
    closer, further = (design(LINE | {"error": "1.5", "known_within": d}) for d in (2, 3))
    to = "leaves more records open to somebody who knows so much."
    assert f"No release that moves x by at most 1.5 {to}" in closer.sentences
    assert f"{ON_STEPS} 1.5 {to}" in further.sentences
