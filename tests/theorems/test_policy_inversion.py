"""A policy read backwards leaves exactly the inputs that it releases as what was released.

The oracle is written from the definition of each kind: it releases every possible record in plain
Python, in doubles where a release computes in doubles, and keeps those that come out right.
"""

import bisect
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import pyarrow as pa
import pytest

from hartley import PolicyDocument, Pram, UniformQuantizer
from hartley.attacks import PolicyInversion
from hartley.boxes import parse_expression
from hartley.boxes.box import SteppedRange
from hartley.policies import (
    ColumnPolicy,
    CutColumn,
    KeptColumn,
    LineColumn,
    MeetColumn,
    MergedColumn,
    QuantizedColumn,
)
from hartley.policies.column import HiddenSide, Output
from hartley.policies.kinds import KINDS, kind_of
from hartley.tables.release_rules import Formula
from hartley.tables.writing import release_rows


@dataclass
class Case:
    """A policy, the values that are possible, and what it releases for a record."""

    policy: PolicyDocument
    unknown: dict[str, list]
    """The possible values of the columns that are to be worked out."""
    image: Callable[[dict], set[tuple]]
    """All that can be released for a record, in the order of the policy's columns."""
    steps: dict[str, object] = field(default_factory=dict)
    fixed: dict[str, list] = field(default_factory=dict)
    """The values of columns that are released as they are."""
    holds: Callable[[dict], bool] | None = None


def equal_cells(draw):
    low, levels = draw.randint(-5, 5), draw.randint(1, 6)
    high, step = low + draw.randint(1, 12), Fraction(1, draw.choice((1, 2, 3, 10)))
    values = numbers(low, high, step)

    def image(record):
        width = Fraction(high - low, levels)
        edges = [float(low + k * width) for k in range(levels)]
        cell = bisect.bisect_right(edges, float(record["x"])) - 1
        return {(float(low + (cell + Fraction(1, 2)) * width),)}

    column = QuantizedColumn("x", UniformQuantizer(low, high, levels))
    return Case(PolicyDocument((column,)), {"x": values}, image, {"x": str(step)})


def cut_cells(draw):
    inner = sorted(draw.sample(range(1, 40), draw.randint(0, 5)))
    edges = [Fraction(0), *(Fraction(edge, 4) for edge in inner), Fraction(10)]
    released = [Fraction(draw.randint(0, 3)) for _ in edges[1:]]  # some alike, some falling
    step = Fraction(1, draw.choice((1, 4, 5)))

    def image(record):
        cell = bisect.bisect_right(edges[1:-1], record["x"])
        return {(float(released[cell]),)}

    column = CutColumn("x", tuple(edges), tuple(released))
    return Case(PolicyDocument((column,)), {"x": numbers(0, 10, step)}, image, {"x": str(step)})


def groups(draw):
    words = ["a", "b", "c", "d", "e", "007"]
    draw.shuffle(words)
    labels = {word: draw.choice(("one", "two", "7")) for word in words}
    by_label = {label: [w for w in words if labels[w] == label] for label in set(labels.values())}
    column = MergedColumn("x", tuple(map(tuple, by_label.values())), tuple(by_label))
    return Case(PolicyDocument((column,)), {"x": words}, lambda r: {(labels[r["x"]],)})


def line(kind):
    def case(draw):
        text = draw.choice(("h/2", "30*(h/100)**2", "3*h - 20", "h - 1/3"))
        reach, step = Fraction(draw.randint(1, 40), 10), Fraction(1, draw.choice((1, 2, 10)))
        fields = {"line": text, "reach": reach, "low": 0, "high": 20}
        kept = KeptColumn.read("h", 0, 30)
        policy = PolicyDocument((LineColumn.read(kind, "w", **fields), kept))
        expression = parse_expression(text)

        def image(record):
            return {(in_doubles(kind, float(record["w"]), record["h"], text, float(reach)),)}

        def holds(record):
            return record["w"] >= expression.at({"h": Fraction(record["h"])})

        heights = [float(draw.randint(0, 30)) for _ in range(4)]
        values = numbers(0, 20, step)
        return Case(policy, {"w": values}, image, {"w": str(step)}, {"h": heights}, holds)

    return case


LINES = {
    "h/2": lambda h: h / 2.0,
    "30*(h/100)**2": lambda h: 30.0 * ((h / 100.0) * (h / 100.0)),
    "3*h - 20": lambda h: 3.0 * h - 20.0,
    "h - 1/3": lambda h: h - 1.0 / 3.0,
}


def in_doubles(kind, x, h, text, r):
    """Release a value near a line as the paper says, corrected, in doubles."""
    g, low, high = LINES[text](h), 0.0, 20.0
    if not g - r <= x <= g + r:
        return x
    if kind == "blur":
        return g
    a, b = max(g - r, low), min(g + r, high)
    if not a < g < b:
        return x
    start, end = (g, b) if x >= g else (a, g)
    return min(b, a + ((x - start) * (b - a)) / (end - start))


def kept(draw):
    values = [float(draw.randint(0, 9)) for _ in range(5)]
    policy = PolicyDocument((KeptColumn.read("x", 0, 9),))
    return Case(policy, {}, lambda _: {()}, fixed={"x": values})


def drawn(draw):
    words, size = ["a", "b", "c", None], 4
    rows = [[draw.choice((0, 0, 1, 2)) for _ in range(size)] for _ in range(size)]
    for i, row in enumerate(rows):
        row[i] += 1
    matrix = [[f"{part}/{sum(row)}" for part in row] for row in rows]
    column = Pram(matrix, words, column="x")

    def image(record):
        chances = rows[words.index(record["x"])]
        return {(word,) for word, chance in zip(words, chances, strict=True) if chance}

    return Case(PolicyDocument((column,)), {"x": words}, image)


def meeting(draw):
    text = draw.choice(("w >= h/2", "w > h - 1/3", "2*w + h >= 20"))
    m, top = draw.randint(1, 3), 20
    fields = {"hypothesis": text, "low": "0", "high": str(top), "step": "1", "reach": str(m)}
    fields["others"] = {"h": ["0", "30", "1"]}
    policy = PolicyDocument(
        (MeetColumn.from_fields("meet", "w", fields), KeptColumn.read("h", 0, 30))
    )
    sides = {
        "w >= h/2": lambda w, h: w >= h / 2,
        "w > h - 1/3": lambda w, h: w > h - Fraction(1, 3),
        "2*w + h >= 20": lambda w, h: 2 * w + h >= 20,
    }

    def holds(record):
        return sides[text](Fraction(record["w"]), Fraction(record["h"]))

    def image(record):
        """Either side of the line moves by the reach, onto the other one and within the range."""
        w, shift = record["w"], 0
        if not holds(record) and holds(record | {"w": min(w + 2 * m, top)}):
            shift = m
        elif holds(record) and not holds(record | {"w": max(w - 2 * m, 0)}):
            shift = -m
        return {(float(min(max(w + shift, m), top - m) if shift else w),)}

    heights = [float(draw.randint(0, 30)) for _ in range(4)]
    return Case(policy, {"w": numbers(0, top, Fraction(1))}, image, {}, {"h": heights}, holds)


CASES = {
    "quantizer": equal_cells,
    "cuts": cut_cells,
    "merging": groups,
    "stretch": line("stretch"),
    "blur": line("blur"),
    "meet": meeting,
    "keep": kept,
    "pram": drawn,
}


def numbers(low, high, step):
    return [low + k * step for k in range(int((high - low) / step) + 1)]


def test_every_kind_of_policy_is_covered():
    ours = {word for word in KINDS if kind_of(word).__module__.startswith("hartley.")}
    assert ours == set(CASES), "write a case for the new kind: how it releases, in plain Python"


def records_of(case):
    """Every possible record, for every combination of the columns released as they are."""
    rows = set(zip(*case.fixed.values(), strict=True))
    fixed = [dict(zip(case.fixed, row, strict=True)) for row in rows]
    for known in fixed or [{}]:
        for values in itertools.product(*case.unknown.values()):
            yield known | dict(zip(case.unknown, values, strict=True))


def as_column(values):
    return [float(value) if isinstance(value, Fraction | int) else value for value in values]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", CASES)
def test_exactly_the_inputs_that_come_out_as_the_record_are_left(kind, seed):
    draw = random.Random(f"{kind} {seed}")  # noqa: S311 - the same cases again
    case = CASES[kind](draw)
    everything = list(records_of(case))
    truth = draw.choices(everything, k=30)
    names = [name for column in case.policy.columns for name in column.columns]
    moved = [name for name in names if name not in case.fixed]
    # What is released: by the engine, or one of those that can be drawn.
    if any(column.is_random for column in case.policy.columns):
        drawn_rows = [draw.choice(sorted(case.image(record), key=str)) for record in truth]
        released = {name: [row[i] for row in drawn_rows] for i, name in enumerate(moved)}
    else:
        inputs = {name: as_column([record[name] for record in truth]) for name in truth[0]}
        table = release_rows(pa.table(inputs), case.policy.to_map(), case.policy.ranges)
        released = table.to_pydict()
    found = PolicyInversion(steps=case.steps).attack(case.policy, released)
    assert found.fits_policy
    assert found.keeps_promise or found.hypotheses, found.headline
    outputs = list(zip(*(released[name] for name in moved), strict=True)) or [()] * len(truth)
    for inversion in found.columns:
        if inversion.released_as_is:
            assert (inversion.single, inversion.rows) == (len(truth), len(truth))
            continue
        assert inversion.left_out == inversion.impossible == 0
        listed = {key_of(row): row for row in inversion.records.to_pylist()}
        assert sum(row["rows"] for row in listed.values()) == len(truth)
        for record, y in zip(truth, outputs, strict=True):
            possible = preimage(case, everything, record, y)
            entry = listed[y, known_of(case, record)]
            values = {other[inversion.name] for other in possible}
            assert record[inversion.name] in values  # the oracle itself keeps the truth
            assert entry["possible"] == len(values)
            if isinstance(record[inversion.name], Fraction | int):
                ends = [float(min(values)), float(max(values))]
                assert [entry["least"], entry["largest"]] == ends
        counts = [
            len({other[inversion.name] for other in preimage(case, everything, record, y)})
            for record, y in zip(truth, outputs, strict=True)
        ]
        assert inversion.single == counts.count(1)
        assert inversion.fewest == min(counts)
        assert inversion.typical == sorted(counts)[(len(counts) - 1) // 2]
    for hypothesis in found.hypotheses:
        listed = {key_of(row): row for row in hypothesis.records.to_pylist()}
        for record, y in zip(truth, outputs, strict=True):
            sides = {case.holds(other) for other in preimage(case, everything, record, y)}
            entry = listed[y, known_of(case, record)]
            assert (entry["can_hold"], entry["can_fail"]) == (True in sides, False in sides)
            assert case.holds(record) in sides
        decided = hypothesis.true + hypothesis.false
        assert decided + hypothesis.open == len(truth)
    assert bool(found.hypotheses) == (case.holds is not None)


def preimage(case, everything, record, released):
    """Return the records with the same known columns that can come out as the released values."""
    return [
        other
        for other in everything
        if all(other[name] == record[name] for name in case.fixed) and released in case.image(other)
    ]


def key_of(row):
    known = row.get("known") or {}
    return tuple(row["released"].values()), tuple(known[name] for name in sorted(known))


def known_of(case, record):
    return tuple(record[name] for name in sorted(case.fixed))


# --- the numbers of the documentation -------------------------------------------------------------

BMI = "30*(h/100)**2"


def people(step=1, every=1):
    """Every weight of 30 to 200 kg with every height of 120 to 220 cm."""
    weights = numbers(30, 200, Fraction(step))
    pairs = list(itertools.product(weights, range(120, 221, every)))
    return {"w": [float(w) for w, _ in pairs], "h": [float(h) for _, h in pairs]}


def bmi(kind, reach):
    fields = {"line": BMI, "reach": reach, "low": 30, "high": 200}
    return PolicyDocument((LineColumn.read(kind, "w", **fields), KeptColumn.read("h", 120, 220)))


def attacked(policy, data, **knowledge):
    released = release_rows(pa.table(data), policy.to_map(), policy.ranges)
    return PolicyInversion(**knowledge).attack(policy, released, data)


def open_exactly(kind, reach, step=1, every=1):
    """Count the records that a policy leaves open if it is computed in rational numbers."""
    total = 0
    policy = bmi(kind, reach).lines["w"]
    for h in range(120, 221, every):
        sides = {}
        for w in numbers(30, 200, Fraction(step)):
            released = policy.release({"w": w, "h": h})["w"]
            sides.setdefault(released, []).append(w >= 30 * Fraction(h, 100) ** 2)
        total += sum(len(side) for side in sides.values() if len(set(side)) == 2)
    return total


def test_stretching_whole_kilograms_decides_everything_at_a_reach_of_4_3():
    (found,) = attacked(bmi("stretch", "4.3"), people(), steps={"w": 1}).hypotheses
    assert (found.open, found.decided) == (0, 17_271)
    assert (found.promised, found.broken) == (872, 872)


@pytest.mark.slow
def test_blurring_leaves_as_many_open_as_counted_exactly():
    whole = attacked(bmi("blur", "5"), people(), steps={"w": 1})
    (found,) = whole.hypotheses
    assert (found.open, found.decided, found.broken) == (1_011, 16_260, 0)
    assert open_exactly("blur", "5") == 1_011
    assert whole.columns[0].single == 16_260
    # In doubles 30*(170/100)**2 + 4.3 is below 91, which lies 4.3 from the line all the same: the
    # band is widened by what rounding may take off it.
    found = attacked(bmi("blur", "4.3"), people(), steps={"w": 1})
    assert open_exactly("blur", "4.3") == 872
    assert (found.hypotheses[0].open, found.hypotheses[0].broken) == (872, 0)
    assert found.keeps_promise
    tenths = attacked(bmi("blur", "5"), people("0.1", 5), steps={"w": "0.1"})
    exactly = open_exactly("blur", "5", "0.1", 5)
    assert exactly == 2_111
    assert (tenths.hypotheses[0].open, tenths.hypotheses[0].broken) == (exactly, 0)


@pytest.mark.slow
def test_knowing_the_weight_nearly_decides_what_blurring_hides():
    policy, data = bmi("blur", "5"), people()
    opens = {
        distance: attacked(policy, data, steps={"w": 1}, known_within={"w": distance})
        .hypotheses[0]
        .open
        for distance in (1, 2, 3, 5, 9, 10)
    }
    assert opens == {1: 202, 2: 404, 3: 606, 5: 1_010, 9: 1_011, 10: 1_011}


# --- a policy on a lattice, with one moved column and with two ------------------------------------


@dataclass(frozen=True)
class Swap(ColumnPolicy):
    """Moves both sides of a line onto one another: the optimal policy for values on a step."""

    moved: tuple[str, ...]
    line: str
    """At least zero where the hypothesis is true; it rises in every moved column."""
    reach: int
    low: int
    high: int

    kind = "swap"

    @property
    def name(self):
        return self.moved[0]

    @property
    def columns(self):
        return self.moved

    def to_rules(self):
        return tuple(Formula(name, self._tree(name), self.low, self.high) for name in self.moved)

    def _tree(self, name):
        m, low, high = (("const", str(n)) for n in (self.reach, self.low, self.high))
        double, zero = ("const", str(2 * self.reach)), ("const", "0")
        x = ("var", name)

        def at(shift):
            """The line where every moved column is shifted, within its range."""
            tree = parse_expression(self.line).to_tree()
            return substitute(tree, {
                n: ("max", ("min", (shift, ("var", n), double), high), low) for n in self.moved
            })  # fmt: skip

        here = parse_expression(self.line).to_tree()

        def core(tree):
            return ("max", ("min", tree, ("-", high, m)), ("+", low, m))

        up = ("and", ("<", here, zero), ("<=", zero, at("+")))
        down = ("and", ("<=", zero, here), ("<", at("-"), zero))
        return ("if", up, core(("+", x, m)), ("if", down, core(("-", x, m)), x))

    def outputs(self):
        names = frozenset({*self.moved, *parse_expression(self.line).names})
        return Output(self.name, None, names)

    def to_fields(self):
        return {}

    @property
    def range(self):
        return Fraction(self.low), Fraction(self.high)

    def hidden_sides(self):
        return (HiddenSide(f"{self.line} >= 0", (">=", parse_expression(self.line))),)


def substitute(tree, values):
    if tree[0] == "var":
        return values.get(tree[1], tree)
    return tuple(substitute(part, values) if isinstance(part, tuple) else part for part in tree)


@pytest.mark.slow
def test_a_policy_for_values_on_a_step_leaves_open_what_it_moves():
    kept = KeptColumn.read("h", 120, 220)
    opens = {}
    for reach in (4, 5):
        policy = PolicyDocument((Swap(("w",), f"w - {BMI}", reach, 30, 200), kept))
        (found,) = attacked(policy, people(), steps={"w": 1}).hypotheses
        assert (found.promised, found.broken) == (found.open, 0)
        opens[reach] = found.open
    assert opens == {4: 1_616, 5: 2_020}
    known = {
        distance: attacked(policy, people(), steps={"w": 1}, known_within={"w": distance})
        for distance in (1, 3, 9, 10)
    }
    opens = {distance: found.hypotheses[0].open for distance, found in known.items()}
    assert opens == {1: 0, 3: 0, 9: 0, 10: 2_020}


def test_two_moved_columns_are_worked_out_together():
    policy = PolicyDocument((Swap(("x", "y"), "x + y - 14", 1, 0, 14), KeptColumn("sex")))
    pairs = list(itertools.product(range(15), range(15)))
    data = {"x": [x for x, _ in pairs], "y": [y for _, y in pairs], "sex": ["F"] * len(pairs)}
    places = SteppedRange(Fraction(0), Fraction(14), Fraction(1))
    found = attacked(policy, data, values={"x": places, "y": places})
    images = {}
    for x, y in pairs:
        shift = 0
        if x + y < 14 <= min(x + 2, 14) + min(y + 2, 14):
            shift = 1
        elif x + y >= 14 > max(x - 2, 0) + max(y - 2, 0):
            shift = -1
        to = tuple(min(max(v + shift, 1), 13) if shift else v for v in (x, y))
        images.setdefault(to, []).append((x, y))
    sides = {to: {x + y >= 14 for x, y in inputs} for to, inputs in images.items()}
    opened = sum(len(images[to]) for to, side in sides.items() if len(side) == 2)
    (hypothesis,) = found.hypotheses
    assert (hypothesis.open, hypothesis.decided) == (opened, 225 - opened)
    assert hypothesis.broken == 0
    by_name = {column.name: column for column in found.columns}
    for place, name in enumerate("xy"):
        sizes = [(len({p[place] for p in inputs}), len(inputs)) for inputs in images.values()]
        counts = [size for size, times in sizes for _ in range(times)]
        assert by_name[name].single == counts.count(1)
        assert by_name[name].fewest == min(counts)
