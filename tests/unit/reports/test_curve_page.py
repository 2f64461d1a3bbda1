import io
import re

import pytest
from rich.console import Console

from hartley.reports.curve_page import plot_curve, print_curve, render_curve, write_curve_html
from hartley.studies.curve import privacy_curve

TABLE = {"<key>": [1, 1, 2, 2, 3, 3], "secret": [1, 2, 1, 2, 2, 2]}


@pytest.fixture(scope="module")
def report():
    return privacy_curve(TABLE, confidential="secret", key="<key>", points=5)


def test_the_picture_draws_the_curve_and_both_bounds(report):
    axes = plot_curve(report).axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert len(lines) == 3
    drawn = next(line for label, line in lines.items() if "best rules" in label)
    assert list(drawn.get_ydata()) == [point.risk for point in report.curve.points]
    lower = next(line for label, line in lines.items() if "lower bound" in label)
    for distortion, risk in zip(lower.get_xdata(), lower.get_ydata(), strict=True):
        assert 0 <= risk <= report.curve.upper(distortion) + 1e-12
    assert "secret" in axes.get_ylabel()


def test_the_page_is_whole_and_escapes_names(report, tmp_path):
    page = render_curve(report)
    assert "&lt;key&gt;" in page
    assert "<key>" not in re.sub(r"<svg.*</svg>", "", page, flags=re.DOTALL)
    assert page.count("<tr>") == len(report.curve.points) + 1
    assert "http://" not in re.sub(r"<svg.*</svg>", "", page, flags=re.DOTALL)
    assert write_curve_html(report, tmp_path / "curve.html").read_text() == page


def test_the_terminal_shows_the_headline_and_the_points(report):
    out = io.StringIO()
    print_curve(report, Console(file=out, width=110))
    text = out.getvalue()
    assert report.headline[:60] in text
    assert "none less than" in text
    assert f"{report.curve.points[0].risk:.5f}" in text
