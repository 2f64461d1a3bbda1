import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from hartley import (
    ColumnError,
    HartleyError,
    OptionError,
    PolicyDocument,
    Pram,
    TableError,
    UniformQuantizer,
    attack_policy,
    release,
    write_html,
)
from hartley.attacks import PolicyInversion, policy_search, policy_search as policy_inputs
from hartley.attacks.policy_search import exact_number, from_order, in_order
from hartley.boxes.box import SteppedRange
from hartley.policies import CutColumn, KeptColumn, LineColumn, MergedColumn, QuantizedColumn
from hartley.tables.writing import release_rows

AGES = QuantizedColumn("age", UniformQuantizer(0, 100, 10))
JOBS = MergedColumn("job", (("nurse", "doctor"), ("smith",)), ("health", "craft"), "other")


def near(kind, reach=2):
    fields = {"line": "h/2", "reach": reach, "low": 0, "high": 20}
    return PolicyDocument((LineColumn.read(kind, "w", **fields), KeptColumn.read("h", 0, 30)))


def by_name(found):
    return {column.name: column for column in found.columns}


def released_by(policy, data):
    return release_rows(pa.table(data), policy.to_map(), policy.ranges)


# --- columns one by one ---------------------------------------------------------------------------


def test_categories_in_no_group_leave_the_value_open_without_limit():
    policy = PolicyDocument((JOBS,))
    found = PolicyInversion().attack(policy, {"job": ["health", "craft", "other", None]})
    (job,) = found.columns
    assert (job.single, job.fewest, job.boundless, job.left_out) == (1, 1, 1, 1)
    assert job.values == 4  # three are named, and one stands for all others
    assert "are possible too" in job.sentence
    assert any("1 record in which a value is missing" in said for said in found.sentences)


def test_labels_that_look_like_numbers_are_read_as_text(tmp_path):
    policy = PolicyDocument((MergedColumn("zip", (("007", "008"), ("1",)), ("07", "1")),))
    report = release({"zip": ["007", "008", "1"]}, policy, tmp_path / "out.csv")
    assert report.rows == 3
    (zips,) = PolicyInversion().attack(policy, tmp_path / "out.csv").columns
    assert (zips.impossible, zips.single, zips.fewest, zips.typical) == (0, 1, 1, 2)


@pytest.mark.slow
def test_codes_that_look_like_numbers_are_known_as_text(tmp_path):
    policy = PolicyDocument((MergedColumn("zip", (("007", "7"), ("1",)), ("a", "b")), AGES))
    truth = pa.table({"zip": ["007", "7", "1"], "age": [5, 15, 25]})
    pa.csv.write_csv(truth, tmp_path / "truth.csv")
    release(tmp_path / "truth.csv", policy, tmp_path / "out.csv")
    known = PolicyInversion(known=["zip"]).attack(
        policy, tmp_path / "out.csv", tmp_path / "truth.csv"
    )
    assert by_name(known)["zip"].known
    assert known.keeps_promise


def test_what_is_drawn_leaves_every_value_with_a_chance_and_has_a_best_guess():
    matrix = [["1/2", "1/2", "0"], ["0", "1", "0"], ["1/4", "0", "3/4"]]
    policy = PolicyDocument((Pram(matrix, ["a", "b", "c"], column="x"),))
    (x,) = PolicyInversion().attack(policy, {"x": ["a", "b", "c", "c"]}).columns
    assert [row["possible"] for row in x.records.to_pylist()] == [2, 2, 1]
    assert (x.single, x.fewest, x.typical, x.values) == (2, 1, 1, 3)
    assert x.best_guess == 1.0  # c comes from c alone
    (x,) = PolicyInversion().attack(policy, {"x": ["a", "b"]}).columns
    assert x.best_guess == pytest.approx(2 / 3)
    assert "0.6667" in x.sentence


def test_columns_drawn_together_are_worked_out_together_and_one_of_them_may_be_known():
    pairs = [("a", 1), ("a", 2), ("b", 1)]
    matrix = [["1/2", "1/2", "0"], ["1/2", "1/2", "0"], ["0", "1/2", "1/2"]]
    policy = PolicyDocument((Pram(matrix, pairs, column=["x", "n"]),))
    released = {"x": ["a", "a", "b"], "n": [1, 2, 1]}
    x, n = PolicyInversion().attack(policy, released).columns
    assert (x.name, n.name) == ("n", "x")
    x, n = n, x
    possible = {tuple(r["released"].values()): r["possible"] for r in x.records.to_pylist()}
    assert possible == {("a", 1): 1, ("a", 2): 2, ("b", 1): 1}
    possible = {tuple(r["released"].values()): r["possible"] for r in n.records.to_pylist()}
    assert possible == {("a", 1): 2, ("a", 2): 2, ("b", 1): 1}
    truth = {"x": ["a", "b", "b"], "n": [2, 1, 1]}
    known = by_name(PolicyInversion(known=["x"]).attack(policy, released, truth))
    assert known["x"].known
    counts = {
        (*r["released"].values(), r["known"]["x"]): r["possible"]
        for r in known["n"].records.to_pylist()
    }
    assert counts == {("a", 1, "a"): 2, ("a", 2, "b"): 1, ("b", 1, "b"): 1}


def test_an_expression_in_cells_is_worked_out_over_all_its_columns():
    query = QuantizedColumn("area", UniformQuantizer(0, 12, 4), of="x*y")
    design = {"columns": {"x": ["0", "3"], "y": ["0", "4"]}}
    policy = PolicyDocument((query,), design=design)
    pairs = list(itertools.product(range(4), range(5)))
    data = {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}
    released = released_by(policy, data)
    found = by_name(PolicyInversion(steps={"x": 1, "y": 1}).attack(policy, released))
    cells = [min(x * y // 3, 3) for x, y in pairs]
    for place, name in enumerate("xy"):
        left = [len({p[place] for p, c in zip(pairs, cells, strict=True) if c == k}) for k in cells]
        assert found[name].fewest == min(left)
        assert found[name].single == left.count(1)
        assert found[name].typical == sorted(left)[(len(left) - 1) // 2]
    # A column that is known fixes the other ones more.
    known = PolicyInversion(steps={"y": 1}, known=["x"]).attack(policy, released, data)
    left = [
        sum(c == k and other[0] == pair[0] for other, c in zip(pairs, cells, strict=True))
        for pair, k in zip(pairs, cells, strict=True)
    ]
    assert by_name(known)["y"].single == left.count(1)


@pytest.mark.slow
def test_an_expression_over_numbers_without_a_step_is_refused_or_set_aside():
    query = QuantizedColumn("area", UniformQuantizer(0, 12, 4), of="x*y")
    design = {"columns": {"x": ["0", "3"], "y": ["0", "4"]}}
    alone = PolicyDocument((query,), design=design)
    with pytest.raises(OptionError, match="Nothing can be worked out about x and y: 'x' has no st"):
        PolicyInversion().attack(alone, {"area": [1.5]})
    both = PolicyDocument((query, AGES), design=design)
    found = PolicyInversion().attack(both, {"area": [1.5], "age": [5.0]})
    assert list(by_name(found)) == ["age"]
    assert found.underived[0][0] == ("x", "y")
    assert any(said.startswith("Nothing was worked out about x and y") for said in found.sentences)
    undeclared = PolicyDocument((query, AGES))
    found = PolicyInversion().attack(undeclared, {"area": [1.5], "age": [5.0]})
    assert "are not declared" in found.underived[0][1]


def test_two_lines_over_one_known_column_are_worked_out_apart():
    waist = LineColumn.read("blur", "v", line="h", reach=1, low=0, high=20)
    document = PolicyDocument((*near("blur").columns, waist))
    data = {"w": [8, 12, 17], "v": [3, 20, 11], "h": [20, 20, 10]}
    found = PolicyInversion(steps={"w": 1, "v": 1}).attack(document, released_by(document, data))
    assert [(h.text, h.open) for h in found.hypotheses] == [("w >= h/2", 2), ("v >= h", 2)]
    # 5, 5, 1 values of w; 1 of v below the line, 2 at the end of the range, 3 within its reach
    assert by_name(found)["w"].single == 1
    assert by_name(found)["v"].single == 1


def test_a_policy_that_releases_everything_as_it_is_says_so():
    policy = PolicyDocument((KeptColumn("sex"), KeptColumn("age")))
    found = PolicyInversion().attack(policy, {"sex": ["F", None], "age": [3, 4]})
    assert found.headline.startswith("Every column that was worked out is released as it is")
    assert found.number.value == 1
    assert [column.left_out for column in found.columns] == [1, 0]
    assert found.chart().panels


# --- numbers without a step -----------------------------------------------------------------------


def test_the_interval_of_a_cell_ends_at_its_last_double():
    policy = PolicyDocument((QuantizedColumn("x", UniformQuantizer("-0.3", "0.7", 3)),))
    released = released_by(policy, {"x": [-0.3, 0.1, 0.2, 0.7]})
    (x,) = PolicyInversion().attack(policy, released).columns
    edges = [float(Fraction("-0.3") + k * Fraction(1, 3)) for k in range(4)]
    assert not x.stepped
    for k, row in enumerate(x.records.to_pylist()):
        assert row["least"] == edges[k]
        assert row["largest"] == (math.nextafter(edges[k + 1], -1) if k < 2 else edges[k + 1])
        inside = in_order(np.array([row["least"], row["largest"]]))
        assert row["possible"] == float(inside[1] - inside[0]) + 1 - (k == 0)  # zero counts once
    assert x.narrowest == pytest.approx(1 / 3)


def test_zero_and_minus_zero_are_one_number():
    least = Fraction(5e-324)
    column = CutColumn("x", (-2 * least, least, 2 * least), (Fraction(0), Fraction(1)))
    released = released_by(PolicyDocument((column,)), {"x": [0.0]})
    (x,) = PolicyInversion().attack(PolicyDocument((column,)), released).columns
    assert (x.fewest, x.narrowest) == (3, 1e-323)  # two below zero, and zero


@pytest.mark.slow
def test_cells_released_in_any_order_are_found_among_all_doubles():
    for values, point, ends in (
        ((1, 1, "5/2", 3), 0.5, (0.0, math.nextafter(2, 0))),  # two cells released alike
        ((1, 1, 3, 3), 3.5, (2.0, 4.0)),
        ((3, 1, 3, 2), 0.5, (0.0, math.nextafter(3, 0))),  # the first and the third
        ((3, 1, 3, 2), 1.5, (1.0, math.nextafter(2, 0))),
    ):
        edges = tuple(map(Fraction, range(5)))
        document = PolicyDocument((CutColumn("x", edges, tuple(map(Fraction, values))),))
        (x,) = PolicyInversion().attack(document, released_by(document, {"x": [point]})).columns
        (row,) = x.records.to_pylist()
        assert (row["least"], row["largest"]) == ends


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stretch", "blur"])
def test_the_doubles_that_come_out_as_a_value_are_found_on_both_sides_of_a_line(kind):
    policy = near(kind)
    draw = random.Random(3)  # noqa: S311 - the same doubles again
    truth = {
        "w": [draw.uniform(0, 20) for _ in range(40)] + [10.0, 8.0, 12.0, 0.0, 20.0],
        "h": [draw.choice((20.0, 3.7, 29.9, 0.0)) for _ in range(40)] + [20.0] * 5,
    }
    released = released_by(policy, truth)
    found = PolicyInversion().attack(policy, released)
    (w,) = [column for column in found.columns if column.name == "w"]
    assert w.impossible == 0
    for row in w.records.to_pylist():
        y, h = row["released"]["w"], row["known"]["h"]
        ends = [row["least"], row["largest"]]
        outside = [math.nextafter(ends[0], -1), math.nextafter(ends[1], 21)]
        tried = {"w": [*ends, *outside], "h": [h] * 4}
        out = released_by(policy, tried).column("w").to_pylist()
        assert out[:2] == [y, y]
        assert all(o != y or not 0 <= x <= 20 for o, x in zip(out[2:], outside, strict=True))
    at = {(r["released"]["w"], r["known"]["h"]): r for r in w.records.to_pylist()}
    for x, y, h in zip(truth["w"], released.column("w").to_pylist(), truth["h"], strict=True):
        assert at[y, h]["least"] <= x <= at[y, h]["largest"]
    (side,) = found.hypotheses
    assert side.promised > 5
    assert side.open + side.decided == 45


@pytest.mark.slow
def test_a_band_whose_ends_are_rounded_is_promised_all_the_same():
    fields = {"line": "h/3", "reach": "7/10", "low": 0, "high": 20}
    kept = KeptColumn.read("h", 0, 60)
    policy = PolicyDocument((LineColumn.read("blur", "w", **fields), kept))
    heights = [float(h) for h in range(3, 58)]
    released = released_by(policy, {"w": [h / 3 for h in heights], "h": heights})
    (side,) = PolicyInversion().attack(policy, released).hypotheses
    assert (side.open, side.promised, side.broken) == (55, 55, 0)


def test_doubles_are_numbered_in_their_order():
    numbers = np.array([-math.inf, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.5, math.inf])
    codes = in_order(numbers)
    assert (np.diff(codes.astype(object)) > 0).all()
    assert from_order(codes).tolist() == numbers.tolist()


def test_too_many_records_or_inputs_are_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr("hartley.attacks.policy.MOST_SEARCHED", 3)
    with pytest.raises(OptionError, match="Nothing can be worked out about w: it has no step"):
        PolicyInversion().attack(near("blur"), {"w": [1.0, 2.0], "h": [3.0, 3.0]})
    monkeypatch.setattr("hartley.attacks.policy.MOST_INPUTS", 20)
    with pytest.raises(OptionError, match="21 inputs are possible, and no more than 20 are tried"):
        PolicyInversion(steps={"w": 1}).attack(near("blur"), {"w": [1.0], "h": [3.0]})
    assert policy_inputs.MOST_INPUTS > 10**6
    assert policy_search.MOST_SEARCHED > 10**5


# --- knowledge ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_known_nearly_or_rounded_rules_out_the_rest():
    policy = PolicyDocument((AGES,))
    truth = {"age": [0, 3, 5, 9, 10]}
    released = released_by(policy, truth)

    def left(**knowledge):
        found = PolicyInversion(steps={"age": 1}, **knowledge).attack(policy, released, truth)
        (age,) = found.columns
        counts = {}
        for row in age.records.to_pylist():
            counts.setdefault(row["released"]["age"], []).append(row["possible"])
        return {value: sorted(listed) for value, listed in counts.items()}

    assert left() == {5.0: [10], 15.0: [10]}
    assert left(known_within={"age": 2}) == {5.0: [3, 3, 5, 5], 15.0: [3]}
    assert left(known_within={"age": "0.5"}) == {5.0: [1, 1, 1, 1], 15.0: [1]}
    # Rounded to 0, 0 to 2; to 5, 3 to 7 (2.5 to 7.5); to 10, 8 and 9, and 10 to 12
    assert left(known_rounded={"age": 5}) == {5.0: [2, 3, 5, 5], 15.0: [3]}


def test_a_true_value_outside_the_range_is_taken_as_its_end():
    policy, truth = PolicyDocument((AGES,)), {"age": [120, -3]}
    attack = PolicyInversion(steps={"age": 1}, known_within={"age": 2})
    found = attack.attack(policy, released_by(policy, truth), truth)
    assert found.fits_policy
    ends = [(row["least"], row["largest"]) for row in found.columns[0].records.to_pylist()]
    assert ends == [(0.0, 2.0), (98.0, 100.0)]


def test_a_known_value_off_the_step_is_taken_as_it_prints():
    thirds = SteppedRange(Fraction(0), Fraction(9), Fraction(1, 3))
    assert exact_number(0.34, thirds) == Fraction(34, 100)
    assert exact_number(2 / 3, thirds) == Fraction(2, 3)
    assert exact_number(2, thirds) == 2


def test_a_continuous_column_known_nearly_leaves_what_lies_in_both_intervals():
    policy = PolicyDocument((AGES,))
    truth = {"age": [4.0, 9.5]}
    attack = PolicyInversion(known_within={"age": 1})
    (age,) = attack.attack(policy, released_by(policy, truth), truth).columns
    ends = [(row["least"], row["largest"]) for row in age.records.to_pylist()]
    assert ends == [(3.0, 5.0), (8.5, math.nextafter(10, 0))]


def test_a_column_that_is_known_decides_the_hypothesis_and_no_promise_is_broken():
    policy = near("blur")
    truth = {"w": [8, 12, 17], "h": [20, 20, 20]}
    found = PolicyInversion(known=["w"]).attack(policy, released_by(policy, truth), truth)
    (side,) = found.hypotheses
    assert (side.true, side.false, side.open, side.broken) == (2, 1, 0, 0)
    assert found.keeps_promise
    assert any("promises nothing against an adversary who knows" in s for s in found.sentences)
    assert "w is known exactly." in found.sentences
    assert by_name(found)["w"].sentence == "w is known beforehand, for 3 records."


# --- promises -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_record_that_no_input_is_released_as_is_said_loudly():
    found = PolicyInversion(steps={"age": 1}).attack(PolicyDocument((AGES,)), {"age": [5.0, 6.0]})
    assert (found.columns[0].impossible, found.fits_policy, found.keeps_promise) == (1, False, True)
    assert found.headline.startswith("NOT RELEASED BY THIS POLICY. ")
    assert any("THIS POLICY: 1 record cannot come from it" in said for said in found.sentences)
    other = PolicyInversion().attack(PolicyDocument((AGES,)), {"age": [5.0, 6.0]})
    assert other.columns[0].impossible == 1
    text = PolicyInversion().attack(PolicyDocument((AGES, JOBS)), {"age": [5.0], "job": ["x"]})
    assert by_name(text)["job"].impossible == 1


def test_more_values_than_the_policy_promises_are_said_loudly():
    single = PolicyDocument((QuantizedColumn("age", UniformQuantizer(0, 100, 1)),))
    found = PolicyInversion().attack(single, {"age": [50.0, 51.0]})
    assert [(o.promised, o.seen, o.within_promise) for o in found.outputs] == [(1, 2, False)]
    assert any("2 different values of age were released" in said for said in found.sentences)


def test_a_reach_below_one_step_hides_nothing_and_that_is_said_loudly():
    policy = near("blur", reach="1/2")
    data = {"w": list(range(21)), "h": [21] * 21}  # the line at 10.5 has 10 and 11 in reach
    kept = PolicyInversion(steps={"w": 1}).attack(policy, released_by(policy, data))
    assert (kept.hypotheses[0].open, kept.hypotheses[0].broken, kept.keeps_promise) == (2, 0, True)
    data["h"] = [20] * 21  # at 10 there is 10 alone
    broken = PolicyInversion(steps={"w": 1}).attack(policy, released_by(policy, data))
    assert (broken.hypotheses[0].open, broken.hypotheses[0].broken) == (0, 1)
    assert "PROMISE NOT KEPT" in broken.headline


def test_a_fibre_that_the_line_does_not_cross_promises_nothing():
    policy = near("blur", reach=3)
    data = {"w": [0, 1, 2, 3, 4], "h": [0] * 5}  # the line runs along the lower end
    found = PolicyInversion(steps={"w": 1}).attack(policy, released_by(policy, data))
    assert (found.hypotheses[0].promised, found.hypotheses[0].broken) == (0, 0)
    assert any(said.startswith("No record lies where") for said in found.sentences)


# --- the function, pages and refusals -------------------------------------------------------------


@pytest.mark.slow
def test_the_function_adds_the_certificate_and_reads_a_schema(tmp_path):
    policy = PolicyDocument((AGES, JOBS)).save(tmp_path / "policy.toml")
    schema = {
        "table": {"name": "people"},
        "columns": {
            "age": {"kind": "private", "range": [0, 100], "step": 5},
            "job": {"kind": "private", "values": ["nurse", "doctor", "smith", "cook"]},
        },
    }
    table = pa.table({"age": [5.0, 95.0, 95.0], "job": ["health", "other", "craft"]})
    pa.csv.write_csv(table, tmp_path / "out.csv")
    found = attack_policy(policy, tmp_path / "out.csv", schema=schema)
    columns = by_name(found)
    assert (columns["age"].fewest, columns["age"].typical, columns["age"].values) == (2, 3, 21)
    assert (columns["job"].single, columns["job"].boundless) == (2, 0)  # the others are cooks
    assert "is one of at most" in found.promise
    assert found.sentences[-1].startswith("The certificate of the policy says: Whatever a person's")
    coarser = attack_policy(policy, tmp_path / "out.csv", schema=schema, steps={"age": 1})
    assert by_name(coarser)["age"].values == 101
    json.dumps(found.to_dict())
    page = write_html(found, tmp_path / "page.html").read_text().replace("\xa0", " ")
    assert found.headline.split(";")[0] in page
    assert "values left" in page


def test_a_policy_without_a_certificate_is_attacked_all_the_same():
    beside = LineColumn.read("blur", "w", line="h/2", reach=2, low=40, high=50)
    policy = PolicyDocument((beside, KeptColumn.read("h", 0, 30)))
    found = attack_policy(policy, {"w": [45.0], "h": [20.0]}, steps={"w": 1})
    assert found.hypotheses[0].true == 1
    assert found.promise.startswith("nothing, because it cannot be made (The declared ranges")


POLICY = PolicyDocument((AGES, JOBS))
RELEASED = {"age": [5.0], "job": ["craft"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("knowledge", "data", "kind", "sentence"),
    [
        ({"steps": {"weight": 1}}, None, ColumnError, "The policy does not read column 'weight'"),
        ({"steps": {"job": 1}}, None, OptionError, "'job' has a step but no declared range"),
        ({"steps": {"age": 0}}, None, OptionError, "step for column 'age' is 0"),
        ({"known": ["age"]}, None, OptionError, "'age' are to be known, but there is no true tabl"),
        ({"known": ["age"]}, {"age": [1, 2]}, TableError, "has 1 rows and the dict has 2"),
        ({"known": ["age"]}, {"sex": [1]}, ColumnError, "Column 'age' is not in the dict"),
        ({"known_within": {"job": 1}}, {"job": ["x"]}, OptionError, "'job' has categories"),
        ({"known_within": {"age": -1}}, {"age": [1]}, OptionError, "'age' is known is negative"),
        ({"known_within": {"age": 1}}, {"age": ["x"]}, ColumnError, "does not hold numbers"),
        (
            {"known": ["age"], "known_rounded": {"age": 5}},
            {"age": [1]},
            OptionError,
            "Two things are said to be known of column 'age'",
        ),
    ],
)
def test_knowledge_that_makes_no_sense_is_refused(knowledge, data, kind, sentence):
    with pytest.raises(kind, match=sentence):
        PolicyInversion(**knowledge).attack(POLICY, RELEASED, data)


def test_a_table_without_rows_is_refused():
    with pytest.raises(TableError, match="has no rows"):
        PolicyInversion().attack(POLICY, pa.table({"age": [1.0], "job": ["x"]}).slice(1))


def test_a_released_column_must_be_there():
    with pytest.raises(ColumnError, match="Column 'job' is not in the dict"):
        PolicyInversion().attack(POLICY, {"age": [5.0]})


def test_one_number_of_a_whole_table_is_refused_in_one_sentence():
    column = QuantizedColumn("size", UniformQuantizer(0, 9, 3), of="mean(height)")
    policy = PolicyDocument((column,), design={"people": 10, "columns": {"height": ["0", "9"]}})
    with pytest.raises(HartleyError, match=r"releases mean\(height\) of a whole table, from which"):
        PolicyInversion().attack(policy, {"size": [1.5]})


@pytest.mark.slow
def test_what_is_drawn_and_read_by_another_column_is_set_aside():
    query = QuantizedColumn("twice", UniformQuantizer(0, 4, 2), of="2*n")
    policy = PolicyDocument((Pram.retaining("1/2", [0, 1, 2], column="n"), query, AGES))
    found = PolicyInversion().attack(policy, {"n": [1], "twice": [1.0], "age": [5.0]})
    ((names, reason),) = found.underived
    assert names == ("n",)
    assert reason == "what is drawn at random is read by another released column too"


def test_a_true_table_of_which_nothing_is_known_is_refused():
    with pytest.raises(OptionError, match="nothing is said to be known") as refused:
        attack_policy(POLICY, RELEASED, data=RELEASED)
    assert "--known" in refused.value.hint
