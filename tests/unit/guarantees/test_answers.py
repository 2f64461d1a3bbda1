"""What is promised of answers, one or several, and of their volumes."""

import math
from fractions import Fraction
from itertools import product

import pytest
from certified_policies import consequence, mean_of
from hypothesis import given, settings, strategies as st

import hartley
from hartley import (
    Box,
    CutBox,
    InputError,
    OptionError,
    PolicyDocument,
    UniformQuantizer,
    VectorQuantizer,
    certify,
    verify_exhaustively,
)
from hartley.boxes import cut_box, variables, volumes
from hartley.boxes.expression import mean, total
from hartley.guarantees.consequences import ROUGH, of_cells
from hartley.policies import QuantizedColumn
from hartley.studies.release import tradeoff_points as tradeoff_answers

# --- means and totals ----------------------------------------------------------------------------


@pytest.mark.slow
@given(
    people=st.integers(1, 3),
    levels=st.integers(1, 9),
    function=st.sampled_from(["mean", "total"]),
    points=st.integers(2, 9),
)
@settings(max_examples=60, deadline=None)
def test_a_mean_or_total_gives_one_person_no_more_outputs_than_certified(
    people, levels, function, points
):
    document = mean_of(people, levels, function=function)
    grid = [Fraction(k, points - 1) for k in range(points)]
    certificate = certify(document)
    tried = verify_exhaustively(document, people={"x": grid})
    assert tried <= round(2**certificate.value) <= min(levels, math.ceil(levels / people) + 1)


def test_the_printed_rule_in_a_file_is_certified_as_unsound():
    # Mean of two, one bit: four cells as printed, and three of them within one person's reach.
    printed = PolicyDocument(
        (QuantizedColumn("m", UniformQuantizer(0, 1, 4, "printed"), of="mean(x)"),),
        design={"people": 2, "bits": "1", "columns": {"x": ["0", "1"]}},
    )
    assert verify_exhaustively(printed, people={"x": [Fraction(k, 8) for k in range(9)]}) == 3
    certificate = certify(printed)
    assert (certificate.sound, certificate.rule) == (False, "printed")
    assert "breaks the budget of 1 bit, which allows 2 values" in certificate.claim
    assert certify(printed, 2).sound


def test_a_mean_of_ten_million_people_is_certified_at_once():
    certificate = certify(mean_of(10_000_000, 150, low=100, high=250), 1)
    assert (certificate.value, certificate.sound) == (1.0, True)
    assert "leakage" not in {c.name for c in certificate.consequences}
    few = certify(mean_of(2, 21, low=100, high=250))
    assert consequence(few, "reconstruction error").value == pytest.approx(10.1015, abs=1e-4)


def test_two_answers_about_the_same_people_multiply():
    both = PolicyDocument(
        tuple(
            QuantizedColumn(name, UniformQuantizer(0, 1, 2), of=f"mean({name[0]})")
            for name in ("x", "y")
        ),
        design={"people": 2, "columns": {"x": ["0", "1"], "y": ["0", "1"]}},
    )
    certificate = certify(both, 2)
    assert (certificate.value, certificate.sound) == (2.0, True)
    grid = [Fraction(k, 4) for k in range(5)]
    assert verify_exhaustively(both, people={"x": grid, "y": grid}) == 4


@pytest.mark.parametrize(
    ("design", "told"),
    [
        ({"columns": {"x": ["0", "1"]}}, "does not say over how many people"),
        ({"people": 0, "columns": {"x": ["0", "1"]}}, "does not say over how many people"),
        ({"people": "5", "columns": {"x": ["0", "1"]}}, "does not say over how many people"),
        ({"people": True, "columns": {"x": ["0", "1"]}}, "does not say over how many people"),
        ({"people": 5}, "declares no range of 'x'"),
    ],
)
def test_a_mean_without_its_people_or_range_is_not_certified(design, told):
    column = QuantizedColumn("m", UniformQuantizer(0, 1, 4), of="mean(x)")
    with pytest.raises(InputError, match=told):
        certify(PolicyDocument((column,), design=design))


# --- joint counts --------------------------------------------------------------------------------

EIGHTHS = [Fraction(k, 8) for k in range(9)]


def means(people, *levels, functions=("mean",) * 9):
    """Return a policy that releases the mean or total of one column several times."""
    columns = []
    for k, (count, function) in enumerate(zip(levels, functions, strict=False)):
        high = people if function == "total" else 1
        cells = UniformQuantizer(0, high, count)
        columns.append(QuantizedColumn(f"m{k}", cells, of=f"{function}(x)"))
    return PolicyDocument(tuple(columns), design={"people": people, "columns": {"x": ["0", "1"]}})


@pytest.mark.parametrize(
    ("people", "levels", "alone", "joint"),
    [
        (2, (2, 2), (2, 2), 2),
        (2, (2, 4), (2, 3), 3),
        (2, (2, 3), (2, 3), 4),
        (2, (4, 3), (3, 3), 5),
        (4, (4, 6), (2, 3), 4),
        (4, (3, 5), (2, 3), 4),
        (4, (12, 12), (4, 4), 4),
    ],
)
def test_several_answers_about_one_column_are_counted_together(people, levels, alone, joint):
    one_by_one = tuple(
        verify_exhaustively(means(people, count), people={"x": EIGHTHS}) for count in levels
    )
    assert one_by_one == alone
    document = means(people, *levels)
    assert verify_exhaustively(document, people={"x": EIGHTHS}) == joint
    assert round(2 ** certify(document).value) == joint  # and not the product


def test_a_mean_and_a_total_of_one_column_are_one_answer():
    document = means(5, 20, 20, functions=("mean", "total"))
    assert certify(document).value == certify(means(5, 20)).value
    # So many cells are not listed, and the product is a bound still.
    fine = means(5, 10**6, 10**6)
    alone = Fraction(10**6, 5) + 1
    assert 2 ** certify(fine).value == pytest.approx(float(alone**2))


@pytest.mark.slow
@given(
    people=st.integers(1, 3),
    queries=st.lists(
        st.tuples(st.sampled_from("xy"), st.sampled_from(["mean", "total"]), st.integers(1, 5)),
        min_size=1,
        max_size=3,
    ),
    points=st.integers(1, 3),
)
@settings(max_examples=40, deadline=None)
def test_the_joint_count_is_that_of_trying_everybody(people, queries, points):
    """The oracle takes every table of people, and every record in the place of the first."""
    grid = [Fraction(k, points) for k in range(points + 1)]
    columns, cuts = [], []
    for k, (name, function, count) in enumerate(queries):
        high = people if function == "total" else 1
        cells = UniformQuantizer(0, high, count)
        columns.append(QuantizedColumn(f"m{k}", cells, of=f"{function}({name})"))
        cuts.append(("xy".index(name), 1 if function == "total" else people, cells))
    names = sorted({name for name, _, _ in queries})
    document = PolicyDocument(
        tuple(columns), design={"people": people, "columns": {n: ["0", "1"] for n in "xy"}}
    )
    most = 0
    for others in product(product(grid, repeat=2), repeat=people - 1):
        answers = set()
        for record in product(grid, repeat=2):
            sums = [sum(row[i] for row in (*others, record)) for i in (0, 1)]
            answers.add(tuple(cells.cell(sums[i] / share) for i, share, cells in cuts))
        most = max(most, len(answers))
    assert verify_exhaustively(document, people=dict.fromkeys(names, grid)) == most
    assert most <= 2 ** certify(document).value + 1e-9


def test_thousands_of_cells_of_a_nonlinear_query_are_not_measured_one_by_one():
    """age**4 has a cell for every 2,000 of 10^8: measuring them all took hours."""
    from hartley import Box, UniformQuantizer
    from hartley.boxes import parse_expression
    from hartley.guarantees.answers import joint_leakage

    box = Box({"age": (0, 100), "height": (100, 250)})
    query = parse_expression("age**+4 + 2*height")
    told = joint_leakage(box, query, UniformQuantizer(200, 100_000_500, 50_001))
    assert [consequence.name for consequence in told] == ["maximin information"]
    few = joint_leakage(box, query, UniformQuantizer(200, 100_000_500, 3))
    assert [consequence.name for consequence in few] == [
        "maximin information",
        "leakage",
        "reconstruction error",
    ]
    linear = joint_leakage(
        box, parse_expression("age + 2*height"), UniformQuantizer(200, 600, 1_200)
    )
    assert len(linear) == 3


SQUARE = Box.cube(0, 1, size=2)


def tried(queries, quantizers, values, people):
    """The oracle: everybody takes every value, and every person in turn varies."""
    most = 0
    for person in range(people):
        for others in product(values, repeat=people - 1):
            outputs = set()
            for value in values:
                point = [*others[:person], value, *others[person:]]
                outputs.add(
                    tuple(
                        cells.cell(query(point))
                        for query, cells in zip(queries, quantizers, strict=True)
                    )
                )
            most = max(most, len(outputs))
    return most


@pytest.mark.slow
@given(
    weights=st.integers(1, 3).flatmap(
        lambda n: st.lists(st.tuples(*[st.integers(-2, 2)] * n), min_size=1, max_size=3)
    ),
    levels=st.lists(st.integers(1, 5), min_size=3, max_size=3),
    points=st.integers(1, 4),
)
@settings(max_examples=60, deadline=None)
def test_linear_answers_give_one_person_no_more_than_is_certified(weights, levels, points):
    people = len(weights[0])
    box = Box.cube(0, 1, size=people)
    names = variables(*box.names)
    queries = [total([w * x for w, x in zip(row, names, strict=True)]) for row in weights]
    quantizers = tuple(
        UniformQuantizer(sum(min(w, 0) for w in row), sum(max(w, 0) for w in row), q)
        for row, q in zip(weights, levels, strict=False)
    )
    values = [Fraction(k, points) for k in range(points + 1)]
    functions = [
        lambda point, row=row: sum(w * x for w, x in zip(row, point, strict=True))
        for row in weights
    ]
    expected = tried(functions, quantizers, values, people)
    policy = VectorQuantizer(quantizers)
    everybody = dict.fromkeys(box.names, values)
    assert verify_exhaustively(policy, queries, everybody) == expected
    promised = 2 ** certify(policy, query=queries, box=box).value
    assert expected <= promised + 1e-9
    product_of = math.prod(
        2 ** certify(part, query=query, box=box).value
        for part, query in zip(quantizers, queries, strict=True)
    )
    assert promised <= product_of + 1e-9


@pytest.mark.slow
def test_queries_that_are_not_linear_multiply():
    policy = VectorQuantizer((UniformQuantizer(0, 1, 3), UniformQuantizer(0, 2, 2)))
    queries = ["x1*x2", "x1 + x2"]
    certificate = certify(policy, query=queries, box=SQUARE)
    assert 2**certificate.value == pytest.approx(6)
    eighths = [Fraction(k, 8) for k in range(9)]
    functions = [lambda p: p[0] * p[1], sum]
    expected = tried(functions, policy.parts, eighths, 2)
    assert (
        verify_exhaustively(policy, queries, dict.fromkeys(SQUARE.names, eighths)) == expected <= 6
    )


def test_the_claim_names_every_answer_and_the_error_of_all():
    policy = VectorQuantizer.for_error(ranges=[(0, 1), (-1, 1)], error="0.5", norm="euclidean")
    certificate = certify(policy, 3, query=["(x1 + x2)/2", "x1 - x2"], box=SQUARE)
    assert "answers to (x1 + x2)/2 and x1 - x2 are one of at most" in certificate.claim
    assert "within 0.4167 of the truth in Euclidean distance" in certificate.claim
    assert certificate.parameters["queries"] == ["(x1 + x2)/2", "x1 - x2"]
    assert {c.name for c in certificate.consequences} >= {"leakage of x1 - x2", "composition"}
    assert certificate.sound


def test_long_queries_that_are_shown_alike_are_not_taken_for_one():
    """Only the text is cut short; a mean of odd and one of even people move apart."""
    box = Box.cube(0, 1, size=40)
    names = variables(*box.names)
    halves = [mean(names[:20] + names[30:]), mean(names[:20] + names[20:30])]
    policy = VectorQuantizer((UniformQuantizer(0, 1, 90), UniformQuantizer(0, 1, 90)))
    apart = certify(policy, query=halves, box=box)
    same = certify(policy, query=[halves[0]] * 2, box=box)
    assert apart.value > same.value


def test_of_many_people_a_mean_is_tried_over_totals():
    """Twenty people of nine values are 9^20 tables and 161 totals."""
    box = Box.cube(0, 1, size=20)
    eighths = [Fraction(k, 8) for k in range(9)]
    quarters = UniformQuantizer(0, 1, 40)
    average = mean(variables(*box.names))
    assert verify_exhaustively(quarters, average, dict.fromkeys(box.names, eighths)) == 3
    assert 2 ** certify(quarters, query=average, box=box).value == pytest.approx(3)


def test_nobody_stands_beside_one_person():
    """Only with another person's data could the answer reach the second half."""
    halves = UniformQuantizer(0, 1, 2)
    assert verify_exhaustively(halves, "x1", {"x1": [0, "0.4"]}) == 1
    assert verify_exhaustively(halves, "x1 + x2", {"x1": [0, "0.4"], "x2": [0, "0.4"]}) == 2


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (certify, "certified with their queries"),
        (lambda p: certify(p, query=["x1", "x2"]), "certified with their queries"),
        (lambda p: certify(p, query=["x1"], box=SQUARE), "2 queries got 1"),
        (lambda p: certify(p, query="x1", box=SQUARE), "2 queries got 1"),
        (lambda p: certify(p.parts[0], query=["x1"], box=SQUARE), "releases one query"),
        (lambda p: verify_exhaustively(p, ["x1"], {"x1": [0]}), "2 queries got 1"),
        (lambda p: verify_exhaustively(p, ["x1", "x2"], {"x1": [0]}), "no values of 'x2'"),
        (lambda p: verify_exhaustively(p, ["x1", "x1"], {"x1": []}), "no values of 'x1'"),
    ],
)
def test_what_makes_no_sense_is_refused(call, problem):
    with pytest.raises(OptionError, match=problem):
        call(VectorQuantizer((UniformQuantizer(0, 1, 2), UniformQuantizer(0, 1, 2))))


# --- what rests on a volume says where the volume was not enclosed as closely as wished -----------


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
