"""Curves as tables, pictures and pages."""

import csv
import html
import io
import math
import re

import pytest

import hartley
from hartley.reports.render import page as page_of, picture
from hartley.studies.release.tradeoff import tradeoff

SPECS = {
    "query": {
        "objective": "maximin",
        "query": "mean(height)",
        "error": "0.5",
        "people": 20,
        "columns": {"height": {"range": [100, 250]}},
    },
    "record": {
        "objective": "bits",
        "bits": 6,
        "columns": {"age": {"range": [0, 120], "step": 1}, "$x$": {"range": [0, 1]}},
    },
    "hypothesis": {
        "objective": "hypothesis",
        "hypothesis": "x >= y",
        "error": "0.1",
        "columns": {"x": {"range": [0, 1]}, "y": {"range": [0, 1]}},
    },
}


@pytest.fixture(scope="module", params=SPECS)
def found(request):
    return tradeoff(SPECS[request.param])


@pytest.mark.slow
def test_the_page_and_the_table_show_every_number(found, printed):
    page, text = page_of(found), printed(found.report(), 120)
    assert " %" not in page, "a line never begins with a percent sign"
    page = page.replace("\N{NO-BREAK SPACE}%", " %")
    assert all(html.escape(sentence) in page for sentence in found.sentences)
    assert page.count('<tr class="asked">') == 1
    cells = re.findall(r'<td class="number"[^>]*>\s*([^<\s][^<]*?)\s*<', page)
    assert cells == [column.text(point) for point in found.points for column in found.columns]
    assert all(cell in text for cell in cells)
    assert "…" not in text


@pytest.mark.slow
def test_a_narrow_terminal_still_shows_every_number(found, printed):
    words = " ".join(printed(found.report(), 40).split())
    for point in found.points:
        assert all(f"{c.name} {c.text(point)}" in words for c in found.columns[1:])


def test_the_table_reads_back_from_csv(found):
    lines = list(csv.reader(io.StringIO(found.csv())))
    assert len(lines) == 1 + len(found.points)
    assert len({len(line) for line in lines}) == 1
    assert [line[-1] for line in lines].count("yes") == 1
    for point, line in zip(found.points, lines[1:], strict=True):
        for column, cell in zip(found.columns, line, strict=False):
            value = column.value(point)
            known = value is not None and value != math.inf
            assert (float(cell) == pytest.approx(float(value))) if known else cell == ""


def test_leakages_are_rounded_up_and_errors_down():
    curve = tradeoff(SPECS["query"], errors=["0.7"])
    for point in curve.points:
        shown = {column.name: column.text(point).replace(",", "") for column in curve.columns}
        assert float(shown["L₀ of equal cells, bits"]) >= point.equal.leakage
        assert float(shown["bits about one person"]) >= point.equal.person_bits
        assert float(shown["adversary's error dmin"]) <= point.equal.smallest_error
        assert float(shown["privacy P₁ = 1/L₀"]) <= point.equal.privacy_of_leakage


@pytest.mark.slow
def test_every_curve_is_drawn_with_its_values():
    curve = tradeoff(SPECS["query"])
    privacy, together, person, adversary = hartley.plot(curve).axes
    drawn = {line.get_label(): line for axes in (together, person) for line in axes.lines}
    line = drawn["maximin information I⋆"]
    kept = [p for p in curve.points if p.equal.maximin_information > 0]
    assert list(line.get_xdata()) == [float(point.error) for point in kept]
    assert list(line.get_ydata()) == [point.equal.maximin_information for point in kept]
    assert [float(y) for y in drawn["Theorem 8 as printed"].get_ydata()] == [
        point.equal.person_bits_printed for point in curve.points
    ]
    # One cell has infinite privacy, which no axis holds.
    assert all(len(line.get_xdata()) < len(curve.points) for line in privacy.lines[:3])
    assert len(adversary.get_legend().get_texts()) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_pictures_are_the_same_every_time(kind, begins):
    curve = tradeoff(SPECS["record"], errors=[1, 10])
    drawn = picture(curve, kind)
    assert drawn.startswith(begins)
    assert picture(curve, kind) == drawn
