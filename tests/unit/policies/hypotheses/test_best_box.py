"""Tables for several moved columns, against every policy on small boxes."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from hartley.policies.hypotheses import tables as module
from hartley.policies.hypotheses.open_records import ball, most_pairs
from hartley.policies.hypotheses.tables import best_box

ONES = [Fraction(1), Fraction(1)]


def choices(shape, norm, reach):
    """Return for every record the outputs within reach of it, by the definition."""
    places = list(itertools.product(*map(range, shape)))

    def length(a, b):
        apart = [abs(p - q) for p, q in zip(a, b, strict=True)]
        squares = sum(d * d for d in apart)
        return {"sup": max(apart), "l1": sum(apart), "l2": squares**0.5}[norm]

    return [[j for j, b in enumerate(places) if length(a, b) <= reach] for a in places]


def open_records(policy, sides, possible):
    """Count the records whose output has possible records on both sides."""
    held = {}
    for record, output in enumerate(policy):
        if possible[record]:
            held.setdefault(output, []).append(sides[record])
    return sum(len(listed) for listed in held.values() if len(set(listed)) == 2)


def most_open(allowed, sides, possible):
    """Return the most open records of any policy: an impossible record needs no output."""
    free = [options if possible[r] else [r] for r, options in enumerate(allowed)]
    return max(open_records(policy, sides, possible) for policy in itertools.product(*free))


CASES = [((2, 3), "sup", 1), ((2, 3), "l1", 2), ((1, 6), "sup", 2), ((3, 2), "l2", 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "norm", "reach"), CASES)
def test_the_integer_program_finds_the_best_of_all_policies(shape, norm, reach):
    draw = random.Random(11)  # noqa: S311 - repeatable cases
    allowed = choices(shape, norm, reach)
    moves = ball(norm, [reach] * 2, ONES, Fraction(reach))
    size = shape[0] * shape[1]
    for _ in range(6):
        sides = [draw.random() < 0.4 for _ in range(size)]
        possible = [draw.random() < 0.8 for _ in range(size)]
        table = best_box(np.array(sides).reshape(shape), moves, np.array(possible).reshape(shape))
        assert all(table.released[r] in allowed[r] for r in range(size) if possible[r])
        assert table.open == open_records(table.released, sides, possible)
        assert table.open == most_open(allowed, sides, possible) <= table.coverable
        assert table.finished or table.open == 0


def test_one_record_beside_many_opens_one_output_alone():
    """The bound is not reached: a single record is a partner at one place only."""
    x, y = np.indices((15, 15))
    table = best_box((x == 7) & (y == 7), ball("sup", [3, 3], ONES, Fraction(3)))
    assert (table.open, table.coverable, table.is_best) == (49, 169, False)


@pytest.mark.parametrize("limits", [{"MOST_PROGRAM_RECORDS": 0}, {}])
def test_without_a_finished_program_the_matching_of_the_sides_is_the_least(limits, monkeypatch):
    for name, value in limits.items():
        monkeypatch.setattr(module, name, value)
    x, y = np.indices((12, 12))
    holds = (x - 5) ** 2 + (y - 6) ** 2 <= 9
    moves = ball("sup", [1, 1], ONES, Fraction(1))
    table = best_box(holds, moves, nodes=1)
    assert 2 * most_pairs(holds, moves) <= table.open <= table.coverable
    assert not (limits and table.finished)
    allowed = choices((12, 12), "sup", 1)
    assert all(y in allowed[r] for r, y in enumerate(table.released))
    assert table.open == open_records(table.released, holds.ravel().tolist(), [True] * 144)


def test_a_hypothesis_that_is_the_same_everywhere_opens_nothing():
    table = best_box(np.ones((3, 3), bool), ball("sup", [1, 1], ONES, Fraction(1)))
    assert (table.open, table.coverable) == (0, 0)
    assert table.released == tuple(range(9))
