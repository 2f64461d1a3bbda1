"""What rests on a volume says where the volume was not enclosed as closely as wished."""

import math
from fractions import Fraction

import pytest

import hartley
from hartley.boxes import cut_box, volumes
from hartley.boxes.box import Box
from hartley.boxes.cut_box import CutBox
from hartley.guarantees.consequences import ROUGH, of_cells
from hartley.studies.release import tradeoff_points as tradeoff_answers

FOUR = {f"x{i}": {"range": [0, 1]} for i in range(1, 5)}
SPHERE = " + ".join(f"{name}**2" for name in FOUR)
QUERY = {"objective": "maximin", "query": SPHERE, "error": "1/2", "columns": FOUR}
LINE = "w >= (a*b + c*a + b*b*c)/4"
UNITS = {name: {"range": [0, 1]} for name in "abc"}


@pytest.fixture
def few_boxes(monkeypatch):
    monkeypatch.setattr(cut_box, "BOXES_IN_ALL", 300)
    monkeypatch.setattr(volumes, "MOST_BOXES", 300)


@pytest.fixture(autouse=True)
def no_search_for_the_best_cells(monkeypatch):
    monkeypatch.setattr(tradeoff_answers, "MOST_CELLS_SEARCHED", 0)


@pytest.mark.usefixtures("few_boxes")
def test_the_leakage_of_cells_has_both_ends_where_the_gap_was_missed():
    cut = CutBox(Box.cube(0, 1, size=4), SPHERE, [0, 1, 4])
    inner = Fraction(math.pi**2 / 32)
    assert not cut.smallest.reached
    assert cut.smallest.low < inner < cut.smallest.high
    _, leakage, error = of_cells(cut)
    least = math.log2(cut.total / cut.smallest.high)
    assert least < -math.log2(inner) < leakage.value
    assert f"It is {math.floor(1000 * least) / 1000:.3f} bits at least: {ROUGH}" in leakage.sentence
    assert ROUGH in error.sentence


@pytest.mark.parametrize("query", ["x1**2 + 2*x2**2", "(x1 + x2)/2"])
def test_nothing_is_said_where_it_was_reached(query):
    spec = {"objective": "maximin", "query": query, "error": "1/2"}
    spec["columns"] = {"x1": {"range": [0, 1]}, "x2": {"range": [0, 1]}}
    assert not any(ROUGH in c.sentence for c in hartley.design(spec).certificate.consequences)
    curve = hartley.tradeoff(spec, errors=["1/2", "2"])
    assert not any(ROUGH in sentence for sentence in curve.sentences)
    assert all(point["equal"]["reached"] for point in curve.to_dict()["points"])


@pytest.mark.usefixtures("few_boxes")
def test_designs_and_curves_of_four_variables_say_it():
    assert any(ROUGH in sentence for sentence in hartley.design(QUERY).sentences)
    curve = hartley.tradeoff(QUERY, errors=["1/2", "4"])  # one cell of everything is exact
    assert [p["equal"]["reached"] for p in curve.to_dict()["points"]] == [True, False]
    assert f"At 1 of 2 points less may be told than is shown: {ROUGH}." in curve.sentences
    assert "L₀ ≤ " in curve.sentences[0]


@pytest.mark.usefixtures("few_boxes")
@pytest.mark.parametrize("policy", ["blur", "stretch"])
def test_a_line_over_many_columns_says_how_much_more_may_be_hidden(policy):
    spec = {"objective": "hypothesis", "hypothesis": LINE, "error": "1/5", "policy": policy}
    spec["columns"] = UNITS | {"w": {"range": [0, 1]}}
    claim = hartley.design(spec).certificate.claim
    assert f" %: {ROUGH}." in claim
    curve = hartley.tradeoff(spec, errors=["1/5"])
    assert not curve.points[0].reached
    assert any(ROUGH in sentence for sentence in curve.sentences)


@pytest.mark.usefixtures("few_boxes")
def test_meeting_beside_many_columns_without_a_step_says_that_more_may_be_open():
    spec = {"objective": "hypothesis", "hypothesis": LINE.replace("/4", "*3"), "error": 2}
    spec["columns"] = UNITS | {"w": {"range": [0, 20], "step": 1}}
    assert f"More may be open: {ROUGH}." in hartley.design(spec).certificate.claim
