import re

import pytest

import hartley
from hartley.errors import OptionError
from hartley.reports.document import render_html
from hartley.reports.draw import figure_svg


@pytest.fixture(scope="module")
def report():
    return hartley.audit(
        hartley.people(300),
        secret="diagnosis",
        released=["age", "sex"],
        bins={"age": 10},
        sweep={"age": "1:10"},
        hypothesis="diagnosis = 'none'",
    )


def test_the_page_is_well_formed_and_needs_no_other_file(report, outline_of):
    page = render_html(report)
    outline = outline_of(page)
    assert outline.open == []
    assert outline.links == []
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


@pytest.mark.slow
def test_the_page_holds_every_finding_and_the_curve(report, outline_of):
    text = outline_of(render_html(report)).words
    for finding in report.findings:
        assert finding.title in text
        assert finding.sentence in text
        assert finding.shown in text
    assert report.hypothesis.sentence in text
    assert "largest distortion of age" in text


def test_the_page_escapes_what_comes_from_the_table():
    name = "<script>alert(1)</script>"
    table = {name: ["<b>", "<i>", "<u>"], "age": [1, 2, 2]}
    page = render_html(hartley.audit(table, secret="age", released=name))
    assert "<script>" not in page
    assert "<b>&lt;" not in page.replace("<b>&lt;script", "")
    assert "&lt;i&gt;" in page or "&lt;b&gt;" in page


def test_the_page_is_made_for_phones_and_printers(report):
    page = render_html(report)
    assert 'name="viewport"' in page
    assert "@media print" in page
    assert "@media (max-width" in page


@pytest.mark.slow
def test_the_same_report_gives_the_same_bytes(report):
    assert render_html(report) == render_html(report)


def test_a_plot_with_a_sweep_draws_a_line_a_measure(report):
    axes = hartley.plot(report).axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(labels) == 5
    line = next(line for line in axes.lines if line.get_label() == labels[0])
    assert list(line.get_xdata()) == sorted(point.distortion for point in report.sweep)


def test_a_plot_without_a_sweep_draws_a_bar_a_measure():
    report = hartley.audit({"x": [1, 2, 3], "y": [1, 1, 2]}, secret="x", released="y")
    figure = hartley.plot(report)
    assert len(figure.axes[0].patches) == len(report.findings)
    assert figure_svg(figure).startswith("<svg")


def test_a_report_of_an_unrelated_release_can_be_drawn_and_written(tmp_path):
    table = {"x": [1, 1, 2, 2], "y": [1, 2, 1, 2]}
    report = hartley.audit(table, secret="x", released="y", sweep={"y": [1, 2]})
    path = hartley.write_html(report, tmp_path / "audit.html")
    assert "tells nothing" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_a_narrow_terminal_still_shows_every_number(report):
    import io

    from rich.console import Console

    from hartley.reports.render import print_report

    out = io.StringIO()
    print_report(report.report(), Console(file=out, width=40))
    for finding in report.findings:
        assert f"bits {finding.marked}" in " ".join(out.getvalue().split())


@pytest.mark.parametrize("other", [None, "audit.html", {"age": [1]}, 3.5, hartley.AuditReport])
def test_something_else_than_a_result_is_refused_in_a_sentence(other, tmp_path):
    words = f"A {type(other).__name__} cannot be drawn"
    with pytest.raises(OptionError, match=words):
        hartley.plot(other)
    with pytest.raises(OptionError, match=words):
        hartley.write_html(other, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_results_without_a_page_are_refused_in_a_sentence_too(report, tmp_path):
    released = hartley.release(
        {"age": [1.0]},
        hartley.design(
            {"objective": "bits", "bits": 1, "columns": {"age": {"range": [0, 9]}}}
        ).document,
        tmp_path / "out.csv",
    )
    for other in (released, report.findings[0]):
        with pytest.raises(OptionError, match="cannot be drawn"):
            hartley.plot(other)
