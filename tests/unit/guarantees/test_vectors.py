"""Several answers about the same people: what is promised is no less than trying everybody."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from hartley.boxes.box import Box
from hartley.boxes.expression import mean, total, variables
from hartley.errors import OptionError
from hartley.guarantees.exhaustive import verify_exhaustively
from hartley.guarantees.verify import certify
from hartley.policies.quantizer import UniformQuantizer
from hartley.policies.vector import VectorQuantizer

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
