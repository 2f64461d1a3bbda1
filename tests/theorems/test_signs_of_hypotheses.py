"""The sign of a comparison means the same wherever a hypothesis is designed, counted or attacked.

The oracle is plain Python: every record is released by definition, or by an engine, and a record is
open where another one with the same output lies on the other side.
"""

import itertools
import operator
import random
from fractions import Fraction

import numpy as np
import pytest

from hartley import certify, design, release
from hartley.attacks.policy import PolicyInversion
from hartley.errors import HartleyError
from hartley.guarantees.verify import verify
from hartley.policies import LineColumn, MeetColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.hypotheses.hypothesis import LatticeColumn
from hartley.policies.hypotheses.lines import compare_policies
from hartley.policies.hypotheses.tables import hiding_policy
from hartley.tables.column_map import apply_map
from hartley.tables.opening import open_table

LINES = {
    "y": lambda y, _: y,
    "2*y - 1": lambda y, _: 2 * y - 1,
    "y**2/4": lambda y, _: y**2 / 4,
    "max(y, 3)": lambda y, _: max(y, 3),
    "y + z": lambda y, z: y + z,
}
SIGNS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
FLIPPED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
LIMITS = [Fraction(n, 4) for n in range(-2, 27)]  # ends, values on the step, between, and beyond


def opened(records, outputs, holds):
    """Count records, open ones, the smaller sides and open outputs."""
    sides = {}
    for record, output in zip(records, outputs, strict=True):
        sides.setdefault(output, [0, 0])[holds(record)] += 1
    shared = [pair for pair in sides.values() if all(pair)]
    return len(records), sum(map(sum, shared)), sum(map(min, shared)), len(shared)


def numbers(counts):
    return counts.records, counts.open, counts.pairs, counts.outputs


def blurred(x, line, reach):
    return line if abs(x - line) <= reach else x


def stretched(x, line, reach, ends, sign):
    """Stretch a value by definition; one on the line goes with the side that the sign gives it."""
    a, b = max(line - reach, ends[0]), min(line + reach, ends[1])
    if not (a < line < b and a <= x <= b):
        return x
    if x > line or (x == line and sign in (">=", "<")):
        return a + (x - line) * (b - a) / (b - line)
    return a + (x - a) * (b - a) / (line - a)


@pytest.mark.parametrize("sign", SIGNS)
def test_blurring_on_a_step_counts_what_its_outputs_leave_open(sign):
    for step, reach, limit in itertools.product(("1", "1/2", "3/2"), ("1/2", "1", "2"), LIMITS):
        column = LineColumn.read(
            "blur", "x", line=str(limit), reach=reach, low=0, high=6, step=step, sign=sign
        )
        values = [Fraction(step) * k for k in range(int(6 / Fraction(step)) + 1)]
        outputs = [blurred(x, limit, Fraction(reach)) for x in values]
        truth = opened(values, outputs, lambda x, limit=limit: SIGNS[sign](x, limit))
        found = column.all_left_open()[0]
        assert numbers(found.counts) == truth, (step, reach, limit)
        assert found.hypothesis == f"x {sign} {limit}"


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("line", LINES)
def test_blurring_beside_other_columns_counts_fibre_by_fibre(line, sign):
    others = {"y": ["0", "4", "1"]} | ({"z": ["0", "2", "2"]} if "z" in line else {})
    column = LineColumn.read(
        "blur", "x", line=line, reach="2", low=0, high=6, step=1, others=others, sign=sign
    )
    grid = itertools.product(range(7), range(5), (0, 2) if "z" in line else (0,))
    records = [tuple(map(Fraction, record)) for record in grid]

    def at(record):
        return LINES[line](*record[1:])

    outputs = [(blurred(record[0], at(record), 2), *record[1:]) for record in records]
    truth = opened(records, outputs, lambda record: SIGNS[sign](record[0], at(record)))
    assert numbers(column.all_left_open()[0].counts) == truth


@pytest.mark.parametrize("sign", SIGNS)
def test_all_compared_policies_judge_the_same_hypothesis(sign):
    lattice = {"x": LatticeColumn(0, 6, 1)}
    values, reach = [Fraction(x) for x in range(7)], Fraction(2)
    for limit in LIMITS:
        if not 0 <= limit <= 6:
            continue
        for text in (f"x {sign} {limit}", f"{limit} {FLIPPED[sign]} x"):
            blur, stretch, meet, _ = compare_policies(text, lattice, 2)
            sides = [SIGNS[sign](x, limit) for x in values]
            holds = dict(zip(values, sides, strict=True)).get
            outputs = [blurred(x, limit, reach) for x in values]
            assert numbers(blur.counts) == opened(values, outputs, holds), text
            outputs = [stretched(x, limit, reach, (0, 6), sign) for x in values]
            assert numbers(stretch.counts) == opened(values, outputs, holds), text
            below, above = sum(not side for side in sides), sum(sides)
            best = min(below, 4) + min(above, 4) if below and above else 0
            assert meet.counts.open == best, text


@pytest.mark.parametrize("sign", [*SIGNS, "==", "!="])
def test_meeting_counts_what_its_outputs_leave_open(sign):
    sides = SIGNS | {"==": operator.eq, "!=": operator.ne}
    lattice = LatticeColumn(0, 6, "1/2")
    values = [lattice.value(k) for k in range(lattice.last + 1)]
    for limit, reach in itertools.product(LIMITS, ("1/2", "1", "3/2")):
        holds = [sides[sign](x, limit) for x in values]
        for text in (f"x {sign} {limit}", f"{limit} {FLIPPED.get(sign, sign)} x"):
            if len(set(holds)) == 1:
                continue
            policy = hiding_policy(text, {"x": lattice}, ["x"], reach)
            outputs = policy.release_indices({"x": np.arange(lattice.last + 1)})["x"].tolist()
            truth = opened(values, outputs, dict(zip(values, holds, strict=True)).get)
            assert numbers(MeetColumn(policy).all_left_open()[0].counts) == truth, text


# --- from the design to the attack ----------------------------------------------------------------


def cases(seed, count):
    """Yield designs with a step, all of their records, and the line and the sign to judge by."""
    rng = random.Random(seed)  # noqa: S311 - cases of a test
    for _ in range(count):
        sign, policy = rng.choice(list(SIGNS)), rng.choice(["blur", "blur", "meet"])
        step, limit = rng.choice(["1", "1/2", "2"]), rng.choice(LIMITS)
        line = rng.choice([str(limit), "y", "2*y - 1"])
        text = f"x {sign} {line}" if rng.random() < 0.5 else f"{line} {FLIPPED[sign]} x"
        columns = {"x": {"range": [0, 6], "step": step}}
        columns |= {"y": {"range": [0, 3], "step": 1}} if "y" in line else {}
        wanted = {"objective": "hypothesis", "hypothesis": text, "columns": columns}
        wanted |= {"error": rng.choice(["1", "2", "3"]), "policy": policy}
        places = range(int(6 / Fraction(step)) + 1)
        ys = range(4 if "y" in line else 1)
        yield wanted, [(k * Fraction(step), Fraction(y)) for k in places for y in ys], line, sign


def judge(folder, wanted, records, line, sign):
    """Compare a design, its certificate, verification, release and attack with the outputs."""

    def at(record):
        return LINES[line](record[1], 0) if line in LINES else Fraction(line)

    def holds(record):
        return SIGNS[sign](record[0], at(record))

    try:
        planned = design(wanted)
    except HartleyError:
        reach = Fraction(wanted["error"])
        if wanted["policy"] == "blur":
            outputs = [(blurred(r[0], at(r), reach), r[1]) for r in records]
            assert opened(records, outputs, holds)[1] == 0, wanted
        else:
            sides = {r[1]: {holds(other) for other in records if other[1] == r[1]} for r in records}
            short = reach < Fraction(wanted["columns"]["x"]["step"])
            assert short or all(len(side) == 1 for side in sides.values()), wanted
        return 0
    path = planned.document.save(folder / "policy.toml")
    policy = PolicyDocument.load(path)
    assert policy == planned.document
    names = list(wanted["columns"])
    data = {name: [float(record[i]) for record in records] for i, name in enumerate(names)}
    out = folder / "out.csv"
    release(data, path, out, certificate=folder / "c.json", few=None)
    lines = out.read_text().splitlines()[1:]
    truth = count, is_open, _, _ = opened(records, lines, holds)
    certificate = verify(path, folder / "c.json")
    said = certificate.parameters
    assert (said["records"], said["open"], said["pairs"], said["outputs"]) == truth, wanted
    assert certificate == certify(policy).bind(path)
    assert f"{is_open:,} of the {count:,} possible records" in planned.certificate.claim
    (found,) = PolicyInversion().attack(policy, out).hypotheses
    failing = {text for text, record in zip(lines, records, strict=True) if not holds(record)}
    proved = sum(text not in failing for text in lines)
    assert (found.true, found.open, found.broken) == (proved, is_open, 0), wanted
    return is_open


@pytest.mark.parametrize("seed", range(3))
def test_one_meaning_from_the_design_to_the_attack(tmp_path, seed):
    assert sum(judge(tmp_path, *case) > 0 for case in cases(seed, 5)) >= 2


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 125))
def test_one_meaning_from_many_designs_to_the_attack(tmp_path, seed):
    for case in cases(seed, 40):
        judge(tmp_path, *case)


def test_a_hypothesis_that_the_range_decides_is_refused_by_its_own_sign():
    wanted = {"objective": "hypothesis", "error": 1, "policy": "blur"}
    wanted["columns"] = {"x": {"range": [0, 3], "step": "0.5"}}
    for text in ("x <= 3", "3 >= x", "x > 3", "x >= 0", "0 > x"):
        with pytest.raises(HartleyError, match="is decided everywhere: x is never"):
            design(wanted | {"hypothesis": text})
    for text in ("x >= 3", "3 > x", "x <= 0", "0 < x"):
        assert design(wanted | {"hypothesis": text}).certificate.parameters["open"] == 3
    for text in ("x = 1", "x == 1", "x != 1", "1 <= x <= 2"):
        with pytest.raises(HartleyError, match="does not compare one column with others by one of"):
            design(wanted | {"hypothesis": text})


VERSION_0_1 = """
format = 1

[design]
objective = "hypothesis"
hypothesis = "age > 30"
error = "5"

[[columns]]
name = "age"
kind = "blur"
line = "30"
reach = "5"
low = "0"
high = "34"
step = "2"
"""


@pytest.mark.parametrize("sign", SIGNS)
def test_a_file_without_a_sign_means_what_it_was_designed_for(tmp_path, sign):
    path = tmp_path / "policy.toml"
    path.write_text(VERSION_0_1.replace(">", sign))
    bare = tmp_path / "bare.toml"
    bare.write_text(VERSION_0_1.replace(VERSION_0_1[11 : VERSION_0_1.index("[[")], "\n"))
    assert certify(PolicyDocument.load(bare)).parameters["hypothesis"] == "age >= 30"
    # The certificate that version 0.1 wrote: it states and counts age >= 30, whatever was asked.
    old = certify(PolicyDocument.load(bare)).bind(path)
    again = certify(PolicyDocument.load(path)).bind(path)
    values = range(0, 35, 2)
    outputs = [blurred(x, 30, 5) for x in values]
    truth = opened(values, outputs, lambda x: SIGNS[sign](x, 30))
    assert (again.parameters["open"], again.parameters["pairs"]) == truth[1:3]
    assert again.parameters["hypothesis"] == f"age {sign} 30"
    assert verify(path, again).sound
    if sign == ">=":
        assert verify(path, old) == old == again
    else:
        with pytest.raises(HartleyError, match="does not hold"):
            verify(path, old)
    (found,) = PolicyInversion().attack(PolicyDocument.load(path), {"age": outputs}).hypotheses
    assert (found.text, found.open, found.broken) == (f"age {sign} 30", truth[1], 0)


@pytest.mark.parametrize("kind", ["blur", "stretch"])
@pytest.mark.parametrize("sign", SIGNS)
def test_the_sign_holds_for_values_without_a_step(kind, sign):
    """Values on the line, at the ends of its band and beside them are judged by the sign."""
    fields = {"line": "4", "reach": "1", "low": 0, "high": 8, "sign": sign}
    policy = PolicyDocument((LineColumn.read(kind, "x", **fields),))
    assert PolicyDocument.from_toml(policy.to_toml()) == policy
    assert certify(policy).parameters["hypothesis"] == f"x {sign} 4"
    drawn = np.random.default_rng(3).uniform(0, 8, 40).tolist()
    values = [0.5, 3.0, 3.5, 4.0, 4.5, 5.0, 7.5, *drawn]
    released = apply_map(open_table({"x": values}), policy.to_map()).expression.to_pyarrow()
    if kind == "stretch":
        exact = [stretched(Fraction(x), 4, 1, (0, 8), sign) for x in values]
        assert released["x"].to_pylist() == pytest.approx([float(x) for x in exact], rel=1e-14)
    finding = PolicyInversion().attack(policy, released)
    (found,) = finding.hypotheses
    assert found.text == f"x {sign} 4"
    assert finding.columns[0].impossible == 0
    # Stretching leaves one end of the band to its own side: the upper one where the line itself is
    # above, the lower one else.
    shown = [] if kind == "blur" else [5.0] if sign in (">=", "<") else [3.0]
    hidden = [x for x in values if 3 <= x <= 5 and x not in shown]
    assert (found.open, found.broken) == (len(hidden), len(shown))
    assert found.true == sum(SIGNS[sign](x, 4) for x in values if x not in hidden)


@pytest.mark.parametrize("sign", ["=", "==", "!=", "", 3])
def test_another_sign_is_refused(sign):
    fields = {"line": "4", "reach": "1", "low": 0, "high": 8, "sign": sign}
    with pytest.raises(HartleyError, match="does not compare a column with a line; hint: choose"):
        LineColumn.read("blur", "x", **fields)
