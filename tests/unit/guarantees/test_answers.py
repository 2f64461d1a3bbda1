"""What is promised about means and totals is what trying everybody gives."""

import math
from fractions import Fraction
from itertools import product

import pytest
from certified_policies import consequence, mean_of
from hypothesis import given, settings, strategies as st

from hartley.errors import InputError
from hartley.guarantees.exhaustive import verify_exhaustively
from hartley.guarantees.verify import certify
from hartley.policies import QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import UniformQuantizer

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
    from hartley.boxes.box import Box
    from hartley.boxes.expression import parse_expression
    from hartley.guarantees.answers import joint_leakage
    from hartley.policies.quantizer import UniformQuantizer

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
