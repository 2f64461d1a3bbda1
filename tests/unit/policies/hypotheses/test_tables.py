"""Tables of released places, for hypotheses of any kind."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from hartley import Hypothesis, MeetPolicy, OptionError, certify
from hartley.policies import LatticeColumn, TablePolicy, best_box, best_line, most_pairs
from hartley.policies.hypotheses import tables as module
from hartley.policies.hypotheses.hiding_columns import hiding_policy
from hartley.policies.hypotheses.open_records import ball, count_outputs_open

COLUMNS = {
    "a": LatticeColumn(0, 2, 1),
    "x": LatticeColumn(0, 12, "1/2"),
    "b": LatticeColumn(1, 3, 1),
}


@pytest.mark.parametrize("text", ["a*2 <= x <= a*2 + b", "x != a + b", "(x - 6)**2 >= a*b"])
@pytest.mark.parametrize("reach", ["0.5", "1.2", "2"])
def test_the_formula_releases_what_the_best_table_of_a_fibre_says(text, reach):
    policy = TablePolicy(text, COLUMNS, ["x"], reach)
    moves = int(float(reach) * 2)
    hypothesis = Hypothesis.parse(text)
    a, x, b = np.indices((3, 25, 3))
    released = policy.release_indices({"a": a, "x": x, "b": b})["x"]
    holds = np.zeros(a.shape, bool)
    for i in range(3):
        for j in range(3):
            sides = [
                hypothesis.holds(
                    {
                        "a": COLUMNS["a"].value(i),
                        "x": COLUMNS["x"].value(k),
                        "b": COLUMNS["b"].value(j),
                    }
                )
                for k in range(25)
            ]
            holds[i, :, j] = sides
            assert tuple(released[i, :, j]) == best_line(sides, moves).released
    outputs = (a * 3 + b) * 25 + released
    assert policy.count_open() == count_outputs_open(holds, outputs)
    assert (abs(released - x) <= moves).all()


def test_a_monotone_hypothesis_gets_a_formula_and_another_gets_tables():
    ten = {"x": LatticeColumn(0, 10, 1)}
    assert isinstance(hiding_policy("x >= 5", ten, ["x"], 1), MeetPolicy)
    table = hiding_policy("2 <= x <= 5", ten, ["x"], 1)
    assert isinstance(table, TablePolicy)
    promise = certify(table)
    assert promise.claim.startswith("8 of the 11 possible records")
    assert "by a table" in promise.claim
    assert any("knows more about x than" in words for words in promise.assumptions)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"hypothesis": ["a <= x", "x <= b"], "move": ["x", "a"]}, "by moving one column"),
        ({"move": ["z"]}, "columns to move"),
        ({"columns": {"x": COLUMNS["x"]}}, "not those that"),
        ({"reach": "0.4"}, "below one step"),
        ({"reach": 50}, "too large to be looked for"),
        ({"columns": COLUMNS | {"b": LatticeColumn(1, 2000, 1)}}, "too large to be looked for"),
        ({"hypothesis": ["a <= x <= b"] * 2}, "not a list of different ones"),
        ({"hypothesis": []}, "not a list of different ones"),
        ({"possible": "x >= 500"}, "No record on the declared steps fulfils"),
        ({"possible": "q >= 5"}, "not those that"),
        ({"released": [[0] * 25] * 8}, "does not hold a place for every record"),
        ({"released": [[0] * 25] * 9}, "further than the reach"),
        ({"released": [[0] * 24] * 9}, "does not hold a place"),
        ({"released": [[*range(24), 25]] * 9}, "does not hold a place"),
    ],
)
def test_what_makes_no_sense_is_refused(change, problem):
    fields = {"hypothesis": "a <= x <= b", "columns": COLUMNS, "move": ["x"], "reach": 1} | change
    with pytest.raises(OptionError, match=problem):
        TablePolicy(**fields)


# --- values that cannot occur, several hypotheses, several columns --------------------------------


def opened(policy, text, possible):
    """Return (R, N) of a hypothesis by releasing every possible record, by the definition."""
    columns = policy.columns
    grids = [range(columns[name].last + 1) for name in columns]
    sides, records = {}, []
    for place in itertools.product(*grids):
        record = {name: columns[name].value(i) for name, i in zip(columns, place, strict=True)}
        if possible is not None and not Hypothesis.parse(possible).holds(record):
            continue
        indices = dict(zip(columns, place, strict=True))
        released = policy.release_indices(indices)
        output = tuple(int(released.get(name, indices[name])) for name in columns)
        side = Hypothesis.parse(text).holds(record)
        sides.setdefault(output, set()).add(side)
        records.append((place, output))
        for i, name in enumerate(columns):
            assert abs(output[i] - place[i]) <= (1 if name in policy.move else 0) * 2
    return sum(len(sides[output]) == 2 for _, output in records), len(records)


@pytest.mark.parametrize("possible", [None, "x != 3 and x <= a + 8", "x in (0, 1, 4, 5, 11, 12)"])
@pytest.mark.parametrize("hypothesis", ["x >= a + b", "2 <= x <= 5"])
def test_records_that_cannot_occur_are_no_partners(hypothesis, possible):
    columns = COLUMNS | {"x": LatticeColumn(0, 12, 1)}
    text = f"{hypothesis} and a < 5 and b < 9"  # true everywhere, so that all columns are named
    policy = TablePolicy(text, columns, ["x"], 2, possible=possible)
    counts = policy.count_open()
    assert (counts.open, counts.records) == opened(policy, text, possible)
    everything = TablePolicy(text, columns, ["x"], 2)
    assert (possible is None) == (counts == everything.count_open())


def test_impossible_partners_would_decide_what_meet_calls_open():
    """With 2 and 3 impossible, x >= 3 is decided for every record that `meet` moves by one."""
    ten = {"x": LatticeColumn(0, 10, 1)}
    meet = MeetPolicy("x >= 3", ten, ["x"], 1)
    possible = [x for x in range(11) if x not in (2, 3)]
    released = {int(meet.release({"x": x})["x"]): set() for x in possible}
    for x in possible:
        released[int(meet.release({"x": x})["x"])].add(x >= 3)
    assert all(len(sides) == 1 for sides in released.values())
    table = TablePolicy("x >= 3", ten, ["x"], 2, possible="x != 2 and x != 3")
    assert table.count_open().open == 4


@pytest.mark.parametrize("seed", range(6))
def test_several_hypotheses_are_counted_each_by_the_definition(seed):
    draw = random.Random(seed)  # noqa: S311 - repeatable cases
    texts = draw.sample(
        ["x >= a + 3", "x < 2*a", "x >= 7", "x > 10 - a", "2 <= x <= 4", "x != 6"], 2 + seed % 2
    )
    columns = {"x": LatticeColumn(0, 12, 1), "a": LatticeColumn(0, 3, 1)}
    used = {name for text in texts for name in Hypothesis.parse(text).names}
    lattices = {name: column for name, column in columns.items() if name in used}
    policy = TablePolicy(texts, lattices, ["x"], 2)
    for place, text in enumerate(texts):
        assert policy.count_open(place).open == opened(policy, text, None)[0]
        grid = np.indices([column.last + 1 for column in lattices.values()])
        indices = dict(zip(lattices, grid, strict=True))
        assert policy.open_at(indices, place).sum() == policy.count_open(place).open


def test_thresholds_far_apart_leave_every_coverable_pair_open():
    policy = TablePolicy(["x >= 10", "x < 20", "x >= 29"], {"x": LatticeColumn(0, 40, 1)}, ["x"], 2)
    assert [policy.count_open(i).open for i in range(3)] == [8, 8, 8]


@pytest.mark.parametrize("norm", ["sup", "l1"])
def test_several_columns_move_by_a_table_that_a_file_holds(norm):
    columns = {
        "x": LatticeColumn(0, 5, 1),
        "y": LatticeColumn(0, 6, 1),
        "a": LatticeColumn(0, 1, 1),
    }
    policy = TablePolicy("(x - y)**2 >= 4*a + 1", columns, ["x", "y"], 1, norm=norm)
    count, records = opened(policy, "(x - y)**2 >= 4*a + 1", None)
    assert (policy.count_open().open, policy.count_open().records) == (count, records)
    assert count <= policy.most
    again = TablePolicy(
        "(x - y)**2 >= 4*a + 1", columns, ["x", "y"], 1, norm=norm, released=policy.places
    )
    assert again == policy
    assert again.count_open() == policy.count_open()


def test_a_given_table_is_not_taken_for_the_best_one():
    """Nothing is moved by it, and nine records could be left open."""
    ten = {"x": LatticeColumn(0, 10, 1)}
    still = TablePolicy("3 <= x <= 6", ten, ["x"], 1, released=[list(range(11))])
    assert (still.count_open().open, still.most) == (0, 8)
    assert TablePolicy("3 <= x <= 6", ten, ["x"], 1).most == 8


# --- tables for several moved columns, against every policy on small boxes ------------------------


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
