"""Charts as they are drawn."""

import ast
import io
from pathlib import Path

import pytest

from hartley.measures.anonymity import SizeBand, sizes_panel
from hartley.report import Chart, Heat, Panel, Series
from hartley.reports.draw import plot_chart, stacked

PACKAGE = Path(__file__).parents[3] / "src" / "hartley"
LINE = Series("leak", (1.0, 10.0, 100.0), (1.0, 2.0, 4.0))


def drawn(*panels, **options):
    figure = plot_chart(Chart("Title", panels, **options))
    figure.savefig(io.BytesIO(), format="png")  # constrained layout and ticks happen here
    return figure


def heat(*rows):
    return Panel("x", "y", heat=Heat("shade", rows, 0, 1, 0, 1))


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_every_picture_names_its_axes(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Panel"):
            continue
        given = {word.arg for word in node.keywords}
        needed = node.args[: 1 if given & {"sideways", "ruler"} else 2]  # names, or nothing at all
        empty = [label for label in needed if getattr(label, "value", None) == ""]
        assert not empty, f"a picture without a label in line {node.lineno}"


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_a_last_row_that_is_not_full_stands_in_the_middle(number):
    figure = drawn(*[Panel("x", "y", (LINE,))] * number)
    places = [axes.get_position() for axes in figure.axes]
    assert len(places) == number
    if number in (3, 5):
        middle = (places[-1].x0 + places[-1].x1) / 2
        assert middle == pytest.approx(0.5, abs=0.05)
        assert places[-1].y1 < places[-2].y0


def test_a_logarithmic_axis_of_few_powers_shows_plain_numbers():
    axes = drawn(Panel("x", "y", (LINE,), x_log=True)).axes[0]
    assert {"1", "10", "100"} <= {label.get_text() for label in axes.get_xticklabels()}


def test_a_logarithmic_axis_of_many_powers_shows_powers():
    wide = Series("leak", (1.0, 1e9), (1.0, 2.0))
    labels = [label.get_text() for label in drawn(
        Panel("x", "y", (wide,), x_log=True)).axes[0].get_xticklabels()]  # fmt: skip
    assert "1000000" not in labels


def test_few_values_are_shown_as_so_many_shades():
    figure = drawn(heat((-1.5, 0.5), (1.5, 0.5)))
    labels = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert labels == ["\N{MINUS SIGN}1.5", "0.5", "1.5"]


def test_one_value_alone_can_be_shown():
    assert len(drawn(heat((2.0, 2.0), (2.0, 2.0))).axes) == 2


@pytest.mark.slow
def test_counts_that_are_mostly_zero_stand_on_white():
    sparse = drawn(heat((0.0, 0.0, 0.0), (0.0, 7.0, 0.0))).axes[0].images[0]
    assert sparse.get_cmap().name == "Blues"
    dense = drawn(heat((1.0, 2.0, 3.0), (0.0, 7.0, 4.0))).axes[0].images[0]
    assert dense.get_cmap().name == "viridis"


def test_counts_have_whole_numbers_beside_their_shades():
    values = tuple(tuple(float(i * j % 23) for i in range(9)) for j in range(9))
    figure = drawn(heat(*values))
    labels = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert labels
    assert all("." not in label for label in labels)


@pytest.mark.parametrize("kind", ["bars", "line"])
@pytest.mark.parametrize("long", [False, True])
def test_no_legend_lies_over_a_curve_or_a_title(kind, long):
    names = ["one", "two", "three" + " and a long name" * 3 * long]
    series = tuple(Series(name, ("a", "b"), (1.0, 1.0), kind) for name in names)
    figure = drawn(Panel("x", "y", series, title="Title", from_zero=True))
    for picture in (figure, stacked(figure)):
        picture.draw_without_rendering()
        axes = picture.axes[0]
        legend = axes.get_legend().get_window_extent()
        assert legend.y0 >= axes.get_window_extent().y1 - 1
        assert axes._left_title.get_window_extent().y0 >= legend.y1 - 4
        assert legend.x1 <= picture.bbox.x1 + 1


def test_bars_stand_in_the_order_of_their_series_whatever_the_order_of_their_names():
    one = Series("one", ("a", "b"), (1.0, 2.0), "bars")
    two = Series("two", ("b", "a"), (3.0, 4.0), "bars")
    first, second = drawn(Panel("x", "y", (one, two))).axes[0].containers
    at = {bar.get_height(): bar.get_x() for bar in (*first, *second)}
    assert at[1.0] < at[4.0] < at[2.0] < at[3.0]


def test_nothing_but_zeros_is_drawn_on_an_axis_up_to_one():
    flat = Series("none", (1.0, 2.0), (0.0, 0.0))
    assert drawn(Panel("x", "y", (flat,))).axes[0].get_ylim() == (-0.02, 1)


def test_synthetic_data_are_marked_in_the_title():
    assert "(synthetic data)" in drawn(Panel("x", "y", (LINE,)), synthetic=True).get_suptitle()
    assert "synthetic" not in drawn(Panel("x", "y", (LINE,))).get_suptitle()


def test_a_dashed_line_has_no_dots():
    dashed = Series("bound", (1.0, 2.0), (1.0, 2.0), dash="dashed")
    solid, other = drawn(Panel("x", "y", (LINE, dashed))).axes[0].lines
    assert solid.get_marker() == "."
    assert not other.get_marker() or other.get_marker() == "None"


def test_few_records_are_counted_in_whole_numbers():
    figure = drawn(sizes_panel([SizeBand(1, 1, classes=3, records=3)]))
    figure.savefig(io.BytesIO(), format="png")
    ticks = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(set(ticks)) == len(ticks) > 2


def test_a_long_note_stays_within_the_picture():
    panel = Panel("x", "y", (Series("", (0.0, 1.0), (0.0, 1.0)),))
    figure = plot_chart(Chart("title", (panel, panel), note="many long words " * 30))
    figure.draw_without_rendering()
    box = figure._supxlabel.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.x1
