"""Tables for hypotheses that are not monotone: fibre by fibre, as they are executed."""

import itertools
import random

import numpy as np
import pytest

from hartley.errors import OptionError
from hartley.guarantees.verify import certify
from hartley.policies.hypotheses.hiding_columns import hiding_policy
from hartley.policies.hypotheses.hypothesis import Hypothesis, LatticeColumn
from hartley.policies.hypotheses.lines import best_line
from hartley.policies.hypotheses.meeting import MeetPolicy
from hartley.policies.hypotheses.open_records import count_outputs_open
from hartley.policies.hypotheses.tables import TablePolicy

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
