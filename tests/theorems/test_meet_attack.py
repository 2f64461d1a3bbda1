"""An attack on `meet` by somebody who sees a released file and knows all but the record."""

import csv
import math
import random
from fractions import Fraction

import pyarrow as pa
import pytest

from hartley import certify, release
from hartley.attacks.policy import PolicyInversion
from hartley.guarantees.verify import verify
from hartley.policies import read_column
from hartley.policies.document import PolicyDocument
from hartley.policies.hypotheses.hypothesis import Hypothesis
from hartley.tables.writing import release_rows

POLICY = """
format = 1

[[columns]]
name = "kg"
kind = "{kind}"
{rule}
low = "30"
high = "200"
step = "{step}"
reach = "{reach}"
others = {{cm = ["120", "220", "{cm}"]}}

[[columns]]
name = "cm"
kind = "keep"
low = "120"
high = "220"
"""
RULES = {"meet": 'hypothesis = "kg >= 30*(cm/100)**2"', "blur": 'line = "30*(cm/100)**2"'}
CASES = [
    ("meet", "1", "1", "5"),
    ("meet", "0.5", "2", "4.3"),
    ("meet", "0.1", "5", "5"),
    ("meet", "0.1", "10", "4.3"),
    ("blur", "1", "1", "4.3"),
    ("blur", "0.1", "10", "5"),
]


def lattice(step, cm):
    """Return every possible record, as exact numbers."""
    heights = [Fraction(120) + k * Fraction(cm) for k in range(int(100 / Fraction(cm)) + 1)]
    weights = [Fraction(30) + k * Fraction(step) for k in range(int(170 / Fraction(step)) + 1)]
    return [(weight, height) for height in heights for weight in weights]


def obese(weight, height):
    return weight >= 30 * (height / 100) ** 2


def released_lines(records, policy, path):
    """Release records to a text file and return its lines, one a record."""
    table = pa.table(
        {"kg": [float(weight) for weight, _ in records], "cm": [float(cm) for _, cm in records]}
    )
    release(table, policy, path)
    with path.open(newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "step", "cm", "reach"), CASES)
def test_no_record_is_decided_that_the_certificate_calls_open(tmp_path, kind, step, cm, reach):
    path = tmp_path / "policy.toml"
    path.write_text(POLICY.format(kind=kind, rule=RULES[kind], step=step, cm=cm, reach=reach))
    certificate = certify(PolicyDocument.load(path)).bind(path)
    assert verify(path, certificate).sound

    possible = lattice(step, cm)
    sides = {}
    for record, line in zip(
        possible, released_lines(possible, path, tmp_path / "all.csv"), strict=True
    ):
        sides.setdefault(line, set()).add(obese(*record))
    generator = random.Random(17)  # noqa: S311 - repeatable cases
    people = [generator.choice(possible) for _ in range(10_000)]
    seen = released_lines(people, path, tmp_path / "people.csv")
    moves = math.floor(Fraction(reach) / Fraction(step))
    for (weight, height), line in zip(people, seen, strict=True):
        still_open = len(sides[line]) == 2
        bound = 30 * (height / 100) ** 2
        index = math.floor((weight - 30) / Fraction(step))
        first = math.ceil((bound - 30) / Fraction(step))
        if kind == "meet":
            assert still_open == (first - 2 * moves <= index < first + 2 * moves)
        else:
            assert still_open == (abs(weight - bound) <= Fraction(reach))
        assert abs(Fraction(line[0]) - weight) <= Fraction(reach) + Fraction(1, 10**12)

    lines = released_lines(possible, path, tmp_path / "again.csv")
    opened = sum(len(sides[line]) == 2 for line in lines)
    assert certificate.parameters["open"] == opened
    assert certificate.parameters["records"] == len(possible)


@pytest.mark.slow
def test_two_moved_columns_stay_open_in_the_released_file(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(
        """
format = 1

[[columns]]
name = "x"
kind = "meet"
hypothesis = "x + 2*y >= 7.35"
move = ["x", "y"]
low = ["0", "0"]
high = ["8", "5"]
step = ["0.1", "0.2"]
reach = ["0.35", "0.4"]
"""
    )
    certificate = certify(PolicyDocument.load(path))
    possible = [(Fraction(i, 10), Fraction(j, 5)) for i in range(81) for j in range(26)]
    table = pa.table({"x": [float(x) for x, _ in possible], "y": [float(y) for _, y in possible]})
    release(table, path, tmp_path / "all.csv")
    lines = (tmp_path / "all.csv").read_text().splitlines()[1:]
    sides = {}
    for (x, y), line in zip(possible, lines, strict=True):
        sides.setdefault(line, set()).add(x + 2 * y >= Fraction("7.35"))
        moved = [Fraction(part) for part in line.split(",")]
        assert abs(moved[0] - x) <= Fraction("0.35")
        assert abs(moved[1] - y) <= Fraction("0.4")
    assert certificate.parameters["open"] == sum(len(sides[line]) == 2 for line in lines)


def test_a_second_version_with_another_reach_decides_what_each_leaves_open():
    from hartley import MeetPolicy
    from hartley.policies import LatticeColumn

    ten = {"x": LatticeColumn(0, 10, 1)}
    one, two = (MeetPolicy("x >= 5", ten, ["x"], reach) for reach in (1, 2))
    both = {}
    for x in range(11):
        seen = tuple(int(policy.release({"x": x})["x"]) for policy in (one, two))
        both.setdefault(seen, []).append(x)
    assert both[4, 3] == [5]  # {3, 5} and {1, 5} together: the reason why one version is released


# --- tables, several hypotheses and columns, impossible records, other columns without a step -----

SMALL = {"name": "x", "kind": "meet", "low": "0", "high": "12", "step": "1", "reach": "2"}
FORMS = {
    "possible": SMALL
    | {"hypothesis": "x >= h", "possible": "x != h and x not in (3, 7)"}
    | {"others": {"h": ["2", "9", "1"]}},
    "several": SMALL
    | {"hypothesis": ["x >= h", "x >= 10", "x < h/2"], "others": {"h": ["2", "9", "1"]}},
    "table": SMALL | {"hypothesis": "h <= x <= h + 2", "others": {"h": ["2", "9", "1"]}},
    "no step": SMALL | {"hypothesis": "x >= h**2/8 + 1/3", "others": {"h": ["2", "9"]}},
}


def texts(fields):
    given = fields["hypothesis"]
    return given if isinstance(given, list) else [given]


@pytest.mark.parametrize("form", FORMS)
def test_an_attack_on_every_form_of_meet_finds_what_the_definition_says(form):
    fields = FORMS[form]
    policy = PolicyDocument((read_column(fields, 1), read_column({"name": "h", "kind": "keep"}, 2)))
    heights = [Fraction(h) for h in range(2, 10)]
    if form == "no step":  # some at which the line is a value, and some others
        heights = [Fraction(float(h)) for h in (2, 2.1, 4, 7 / 3, 5.5, math.sqrt(61.3), 8, 9)]
    can_be = Hypothesis.parse(fields.get("possible", "x >= 0"))
    records = [{"x": Fraction(x), "h": h} for h in heights for x in range(13)]
    records = [record for record in records if can_be.holds(record)]
    table = pa.table({name: [float(r[name]) for r in records] for name in ("x", "h")})
    released = release_rows(table, policy.to_map(), policy.ranges).to_pydict()
    finding = PolicyInversion().attack(policy, released)
    assert finding.keeps_promise
    outputs = list(zip(released["x"], released["h"], strict=True))
    assert len(finding.hypotheses) == len(texts(fields))
    for text, hypothesis in zip(texts(fields), finding.hypotheses, strict=True):
        sides = {}
        for record, output in zip(records, outputs, strict=True):
            sides.setdefault(output, set()).add(Hypothesis.parse(text).holds(record))
        opened = sum(len(sides[output]) == 2 for output in outputs)
        assert (hypothesis.text, hypothesis.open) == (text, opened)
        assert hypothesis.decided == len(records) - opened
        assert hypothesis.broken == 0
        assert 0 < hypothesis.promised <= opened
        if form != "no step":
            assert hypothesis.promised == opened
    counts = [one.counts for one in policy.columns[0].all_left_open()]
    if form != "no step":
        assert [one.open for one in counts] == [h.open for h in finding.hypotheses]
