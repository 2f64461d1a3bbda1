import itertools
import json
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hartley import ColumnError, OptionError, PolicyDocument, UniformQuantizer, Uniqueness
from hartley.attacks import grid_policy
from hartley.policies import KeptColumn, QuantizedColumn

SURE = 1 - 1e-9
"""With this confidence a test about chance fails wrongly less than once in 10^8 runs."""

tables = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.none() | st.integers(0, 3),
        st.none() | st.sampled_from(["a", "b", "c"]),
    ),
    min_size=1,
    max_size=14,
).filter(lambda rows: all(any(row[c] is not None for row in rows) for c in (1, 2)))


def columns_of(rows):
    who, x, y = zip(*rows, strict=True)
    return pa.table(
        {"who": pa.array(who), "x": pa.array(x, pa.int64()), "y": pa.array(y, pa.string())}
    )


def alone(points, person, known):
    return not any(set(known) <= theirs for other, theirs in points.items() if other != person)


@pytest.mark.slow
@settings(max_examples=25)
@given(tables)
def test_records_are_unique_exactly_where_nobody_has_the_same(rows):
    counted = Counter(row[1:] for row in rows)
    found = Uniqueness(columns_of(rows), ["x", "y"]).attack()
    assert found.unique == sum(times == 1 for times in counted.values())
    assert found.sizes == Counter(counted.values())
    assert found.number.value == found.unique / len(rows)
    assert found.number.is_exact


@pytest.mark.slow
@settings(max_examples=25)
@given(tables)
def test_one_point_and_all_points_single_out_exactly_as_many_as_a_count_says(rows):
    points = defaultdict(set)
    for who, *point in rows:
        points[who].add(tuple(point))
    attack = Uniqueness(columns_of(rows), ["x", "y"], person="who")
    by_one = sum(
        Fraction(sum(alone(points, person, [one]) for one in theirs), len(theirs))
        for person, theirs in points.items()
    )
    by_all = sum(alone(points, person, theirs) for person, theirs in points.items())
    one, every = attack.attack(known=1).number, attack.attack(known="all").number
    assert one.value == float(by_one / len(points))
    assert every.value == by_all / len(points)
    assert one.is_exact
    assert every.is_exact
    most = max(map(len, points.values()))
    assert attack.attack(known=most + 1).number == every


@pytest.mark.slow
def test_some_drawn_points_single_out_as_many_as_all_ways_to_draw_them_say():
    random = np.random.default_rng(5)
    rows = {(int(who), int(x)) for who, x in random.integers(0, (12, 15), (90, 2))}
    points = defaultdict(set)
    for who, x in rows:
        points[who].add(x)
    found = Uniqueness(
        {"who": [who for who, _ in rows], "x": [x for _, x in rows]}, ["x"], person="who"
    ).attack(known=3, confidence=SURE, seed=2)
    for known, one in zip((2, 3), found.singled[1:], strict=True):
        shares = []
        for person, theirs in points.items():
            ways = list(itertools.combinations(theirs, min(known, len(theirs))))
            shares.append(sum(alone(points, person, way) for way in ways) / len(ways))
        expected = sum(shares) / len(shares)
        assert 0.05 < expected < 0.95
        assert one.share.covers(expected)
        assert one.share.high - one.share.low < 0.07


# --- policies -----------------------------------------------------------------------------------


def trips(size=3000, seed=0):
    random = np.random.default_rng(seed)
    return {
        "who": random.integers(0, 100, size),
        "lat": random.uniform(40.5, 40.9, size).round(5),
        "lon": random.uniform(-74.2, -73.8, size).round(5),
    }


RANGES = {"lat": ("40.5", "40.9"), "lon": ("-74.2", "-73.8")}


@pytest.mark.parametrize(("bits", "levels"), [(0, 1), (1, 1), (2, 2), (3, 2), (5, 5), (8, 16)])
def test_a_point_of_a_grid_has_at_most_as_many_boxes_as_its_bits_allow(bits, levels):
    policy = grid_policy(RANGES, bits)
    assert [column.quantizer.levels for column in policy.columns] == [levels, levels]


@pytest.mark.slow
def test_a_finer_grid_makes_more_trips_unique_and_none_makes_no_difference():
    table = trips()
    shares = [
        Uniqueness(table, ["lat", "lon"], grid_policy(RANGES, bits)).attack().number.value
        for bits in (0, 4, 10, 14, 20)
    ]
    assert shares[0] == shares[1] == 0
    assert shares[1] < shares[2] < shares[3] < shares[4]
    found = Uniqueness(table, ["lat", "lon"], grid_policy(RANGES, 10)).attack()
    cells = [UniformQuantizer(*RANGES[name], 32) for name in ("lat", "lon")]
    counted = Counter(
        tuple(
            quantizer.cell(value)
            for quantizer, value in zip(cells, (table["lat"][i], table["lon"][i]), strict=True)
        )
        for i in range(3000)
    )
    assert found.unique == sum(times == 1 for times in counted.values())
    true = Uniqueness(table, ["lat", "lon"]).attack()
    assert found.true_sizes == true.sizes
    assert true.number.value > 0.99


@pytest.mark.slow
def test_everybody_is_singled_out_by_true_points_and_nobody_by_a_release_of_one_box():
    table = trips()
    leak = Uniqueness(table, ["lat", "lon"], person="who").attack(known=2)
    assert leak.number.low > 0.99
    nothing = Uniqueness(table, ["lat", "lon"], grid_policy(RANGES, 0), person="who")
    assert nothing.attack(known=2).number.value == 0
    assert nothing.attack(known="all").headline.startswith("All points of somebody together single")


def test_the_columns_of_a_policy_are_the_released_ones_where_none_are_named():
    policy = PolicyDocument(
        (QuantizedColumn("lat", UniformQuantizer(40, 41, 4)), KeptColumn("who"))
    )
    assert Uniqueness(trips(), policy=policy).attack().columns == ("lat", "who")
    assert Uniqueness(trips(), policy=policy, person="who").attack(known=1).columns == ("lat",)


# --- findings -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("known", [None, 3])
def test_a_finding_is_repeatable_json_with_a_picture(known):
    attack = Uniqueness(
        trips(), ["lat", "lon"], grid_policy(RANGES, 8), person="who" if known else None
    )
    found = attack.attack(known, seed=3)
    assert found == attack.attack(known, seed=3)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["number"]["value"] == found.number.value
    (panel,) = found.chart().panels
    if known:
        assert panel.series[0].y == tuple(one.share.value for one in found.singled)
        assert panel.series[0].x == ("1", "2", "3")
    else:
        assert [series.label for series in panel.series] == ["true values", "as released"]
        assert sum(panel.series[1].y) == pytest.approx(1)
        assert panel.series[1].y[0] == found.number.value
    assert all(sentence.endswith(".") for sentence in (found.headline, *found.sentences))


def test_the_picture_sorts_classes_by_their_size():
    sizes = [1, 2, 3, 5, 6, 10, 11, 100, 101]
    found = Uniqueness({"x": np.repeat(np.arange(9), sizes)}, ["x"]).attack()
    series = found.chart().panels[0].series[0]
    assert series.x == ("1", "2", "3 to 5", "6 to 10", "11 to 100", "over 100")
    total = sum(sizes)
    expected = [1 / total, 2 / total, 8 / total, 16 / total, 111 / total, 101 / total]
    assert series.y == pytest.approx(expected)


def test_rows_of_nobody_are_points_of_no_one():
    table = {"who": [1, None, 2], "x": [5, 5, 6]}
    found = Uniqueness(table, ["x"], person="who").attack(known=1)
    assert found.people == 2
    assert found.number.value == 1


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attack", "known", "error", "culprit"),
    [
        ({"columns": ["x"]}, 2, OptionError, "the other way round"),
        ({"columns": ["x"], "person": "who"}, None, OptionError, "the other way round"),
        ({"columns": ["x"], "person": "who"}, 0, OptionError, "known points is 0"),
        ({"columns": ["x"], "person": "who"}, "some", OptionError, "known points is some"),
        ({"columns": ["x"], "person": "whom"}, 1, ColumnError, "'whom'"),
        ({"columns": ["z"]}, None, ColumnError, "'z'"),
        ({"columns": ["x", "x"]}, None, OptionError, "'x' is named twice"),
        ({}, None, OptionError, "No released column"),
        ({"columns": ["x", "who"], "person": "who"}, 1, OptionError, "'who' is named twice"),
        ({"columns": ["who"], "policy": grid_policy({"x": (0, 9)}, 2)}, None, ColumnError, "'who'"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(attack, known, error, culprit):
    with pytest.raises(error, match=culprit):
        Uniqueness({"who": [1, 2], "x": [3, 4]}, **attack).attack(known)


def test_a_policy_of_one_answer_has_no_records_to_attack():
    mean = PolicyDocument(
        (QuantizedColumn("m", UniformQuantizer(0, 9, 3), of="mean(x)"),), design={"people": 2}
    )
    with pytest.raises(OptionError, match="whole table"):
        Uniqueness({"x": [3, 4]}, policy=mean).attack()
