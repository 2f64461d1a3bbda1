"""Pictures: what is drawn lies where the number lies, and nothing can break out of it."""

import re
import xml.etree.ElementTree as ET

from hypothesis import given, strategies as st

from hartley.service.console.pages import (
    FLOOR,
    THINNEST,
    DrawnPrice,
    Scale,
    draw_curve,
    draw_days,
    draw_gauge,
    draw_interval,
    heights,
    zoomed,
)

numbers = st.floats(-1e6, 1e6)
intervals = st.tuples(numbers, numbers).map(lambda ends: (min(ends), max(ends)))


def parts(svg, name):
    return [part for part in ET.fromstring(svg).iter() if part.get("class") == name]  # noqa: S314 - our own text


def percent(part, name):
    return float(part.get(name).rstrip("%"))


@given(interval=intervals, range_=intervals)
def test_a_bar_covers_its_interval_and_stays_in_the_picture(interval, range_):
    scale = Scale(min(range_[0], interval[0]), max(range_[1], interval[1]))
    (bar,) = parts(draw_interval(*interval, scale, "words"), "bar")
    begin, width = percent(bar, "x"), percent(bar, "width")
    assert begin >= 0
    assert begin + width <= 100.001
    assert width >= THINNEST
    assert begin <= scale.place(interval[0]) + 0.002
    assert begin + width >= scale.place(interval[1]) - 0.002


@given(st.lists(intervals, min_size=1, max_size=6))
def test_a_zoom_shows_all_intervals_and_nothing_outside_the_range(some):
    whole = Scale(min(low for low, _ in some) - 1, max(high for _, high in some) + 1)
    near = zoomed(some, whole)
    assert whole.low <= near.low <= near.high <= whole.high
    for low, high in some:
        assert near.low <= low <= high <= near.high


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20))
def test_a_smaller_error_is_never_drawn_higher(errors):
    places = heights(errors)
    assert all(0 <= place <= FLOOR for place in places)
    for error, place in zip(errors, places, strict=True):
        for other, lower in zip(errors, places, strict=True):
            assert (error >= other) or place >= lower - 0.01


def test_equal_factors_are_equal_distances():
    assert heights([100.0, 10.0, 1.0, 0.0]) == [14.0, 66.0, 118.0, 140.0]
    assert Scale(30, 180).place(105) == 50.0
    assert zoomed([(70.0, 71.0), (74.0, 75.0)], Scale(30, 180)) == Scale(69.5, 75.5)


@given(st.text("<>&\"' ;/=aé±", max_size=40))
def test_a_label_cannot_break_out_of_a_picture(label):
    svg = draw_curve([DrawnPrice(1.0, 2.0, "±2"), DrawnPrice(3.0, 0.0, "exact")], 1, label)
    picture = ET.fromstring(svg)  # noqa: S314 - our own text
    assert {part.tag for part in picture.iter()} <= {"svg", "line", "circle", "text"}
    assert f"Error of {label} against its price" in picture.get("aria-label")


def test_the_mark_of_a_curve_is_at_the_chosen_price():
    points = [DrawnPrice(1.0, 0.4, "±0.4"), DrawnPrice(2.0, 0.1, "±0.1"), DrawnPrice(4.0, 0, "0")]
    for place, point in enumerate(points):
        (mark,) = parts(draw_curve(points, place, "AVG(age)"), "chosen")
        assert percent(mark, "cx") == 100 * point.bits / 4


def test_a_gauge_is_as_long_as_a_record():
    svg = draw_gauge(4, 8, 40)
    assert [percent(parts(svg, name)[0], "width") for name in ("spent", "budget")] == [10, 20]
    assert "4 bits spent of a budget of 8 bits" in svg
    assert parts(draw_gauge(0, 0, 40), "spent") == []
    assert percent(parts(draw_gauge(9, 9, 3), "spent")[0], "width") == 100


def test_days_are_bars_with_their_bits():
    svg = draw_days([("2026-03-01", 1.5), ("2026-03-02", 0.0), ("2026-03-03", 3.0)])
    bars = [float(bar.get("height")) for bar in parts(svg, "bar")]
    assert bars[1] == 2 * bars[0]
    assert re.findall(r">(03-0\d)<", svg) == ["03-01", "03-02", "03-03"]
    assert "none" in draw_days([])


def test_no_picture_has_a_style_that_the_security_policy_forbids():
    pictures = [
        draw_interval(1, 2, Scale(0, 3), "words"),
        draw_gauge(1, 2, 3),
        draw_days([("2026-03-01", 1.0)]),
        draw_curve([DrawnPrice(1.0, 2.0, "±2")], 0, "x"),
    ]
    for svg in pictures:
        assert "style" not in svg
        assert 'role="img"' in svg
        assert ET.fromstring(svg).get("aria-label")  # noqa: S314 - our own text
