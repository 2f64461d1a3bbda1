import re

import pytest
from rich.cells import cell_len

import hartley
from hartley.errors import OptionError
from hartley.measures.anonymity import size_bands
from hartley.report import (
    Cell,
    Chart,
    Grid,
    Heading,
    Panel,
    Readable,
    Report,
    Section,
    Series,
    Tile,
)
from hartley.reports import plot, write_html
from hartley.reports.draw import figure_svg
from hartley.reports.render import (
    notebook,
    page,
    plain_text,
    report_of,
)

NAME = "<b>[bold]$x$"
"""A name that would spoil a page, a terminal or a picture."""
LINE = Chart("", (Panel(NAME, "bits", (Series(NAME, (1.0, 2.0), (0.5, 0.25)),)),), reading="Read.")
MEASURES = Grid(
    (Heading("measure", "name"), Heading("bits", "number"), Heading("what it means", "meaning")),
    (
        (Cell("leakage", "L₀", "bound"), Cell("1.00", share=0.5), "half of 50 % is told."),
        ("information", "0.00", f"nothing of {NAME}"),
    ),
)
NUMBERS = Grid(
    tuple(Heading(f"a long name of number {n}", "number", f"n{n}") for n in range(6)),
    tuple(tuple(f"{1000 * row + n:,}.125" for n in range(6)) for row in range(100)),
    folded="The numbers",
    most=10,
    steps=True,
)
REPORT = Report(
    f"Test of {NAME}",
    f"{NAME} tells half.",
    (Tile("7", f"people of {NAME}", warn=True),),
    (
        Section("First", (f"One of {NAME}.", "Two."), (f"a point {NAME}", "asked:\n  SELECT 1")),
        Section("Measures", chart=LINE, table=MEASURES),
        Section("Numbers", tiles=(Tile("3", "by two columns"),), table=NUMBERS),
        Section("Reading", ("Only on a page.",), page_only=True, warning=True),
        Section("Next", ("Run:",), commands=("hartley scan --draft my-roles.toml",)),
    ),
    f"Rounded up, {NAME}.",
)


@pytest.fixture
def listed(printed):
    """Return what a terminal and a page show of a table of one column."""

    def shown(rows, **more):
        report = Report("n", "h", (), (Section("s", table=Grid((Heading("x"),), rows, **more)),))
        return printed(report), page(report)

    return shown


# --- pages ----------------------------------------------------------------------------------------


def test_a_page_is_well_formed_escapes_every_text_and_needs_no_other_file(outline_of):
    text = page(REPORT)
    outline = outline_of(text)
    assert (outline.open, outline.links) == ([], [])
    assert NAME not in text
    assert outline.words.count(NAME) >= 8
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert text == page(REPORT)


def test_a_page_is_made_for_phones_and_printers_and_dark_rooms():
    text = page(REPORT)
    for words in ('name="viewport"', "@media print", "@media (max-width", "color-scheme: dark"):
        assert words in text
    assert text.count("<svg") == 2  # wide and narrow


def test_a_page_shows_everything_and_ends_with_the_evidence(tmp_path, outline_of):
    written = write_html(REPORT, tmp_path / "page.html").read_text()
    assert list(tmp_path.iterdir()) == [tmp_path / "page.html"]
    before, evidence = written.split('<section class="long evidence">')
    assert page(REPORT).startswith(before.rstrip())
    assert evidence.count("<section") == 0
    assert "Name, date and signature" in evidence
    words = outline_of(before).words
    for text in ("Only on a page.", "Read.", "Two.", "SELECT 1", "99,005.125", "half of 50 %"):
        assert text in words


def test_tables_look_as_what_they_hold():
    text = page(REPORT)
    assert '<table class="findings">' in text
    assert '<table class="dense cards">' in text
    assert "<summary>The numbers</summary>" in text
    assert '<tr class="bound">' in text
    assert '<i style="width:50.0%">' in text
    assert '<section class="warning">' in text
    assert '<div class="tile warn"><b>7</b>' in text
    assert ">What it means</th>" in text
    many = Grid((*MEASURES.headings[:2], *NUMBERS.headings[:2], MEASURES.headings[2]), ())
    assert '<table class="columns">' in page(Report("", "", (), (Section("", table=many),)))


def test_a_command_is_not_broken_within_an_option():
    assert '<span class="word">--draft</span> <span class="word">my-roles.toml</span>' in page(
        REPORT
    )


def test_a_long_list_is_cut_and_says_how_many_more_there_are(listed):
    terminal, on_page = listed(tuple((f"row {n}",) for n in range(700)), most=40)
    assert "row 39" in terminal
    assert "row 40" not in terminal
    assert "and 660 more" in terminal
    assert "row 499" in on_page
    assert "row 500" not in on_page
    assert "And 200 more." in on_page
    assert "row 699" in listed(tuple((f"row {n}",) for n in range(700)))[1]


def test_steps_are_shown_along_the_whole_scale_and_the_last_one_always(listed):
    terminal, on_page = listed(tuple((f"row {n}.",) for n in range(700)), most=10, steps=True)
    assert [n for n in range(700) if f"row {n}." in terminal] == [*range(0, 700, 70), 699]
    assert "row 698." in on_page
    assert "more" not in terminal


# --- terminals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [40, 80, 110])
def test_a_terminal_shows_the_same_in_lines_that_fit(width, printed):
    text = printed(REPORT, width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    for part in ("tells half.", "One of <b>[bold]$x$. Two.", "half of 50 %", "n5", "3 by two"):
        assert part in words or (part == "n5" and width < 110)
    assert "99,005.125" in words
    assert "bound" in words or width < 72
    for part in ("Only on a page", "Read.", "First", "50\n"):
        assert part not in text
    assert "hartley scan --draft my-roles.toml" in text


def test_a_narrow_terminal_prints_rows_as_lines_with_the_names_of_their_numbers(printed):
    text = printed(REPORT, 40)
    assert "leakage L₀ (bound)\n  bits 1.00\n  half of 50 % is told.\n" in text
    assert "a long name of number 0 0.125\n  a long name of number 1 1.125;" in text


def test_verdicts_are_coloured(printed):
    cells = (Cell("succeeds", good=False), Cell("fails", good=True))
    table = Grid((Heading("a"), Heading("b")), (cells,))
    report = Report("n", "h", (), (Section("s", table=table),))
    text = printed(report, 80, force_terminal=True, color_system="standard")
    assert "\x1b[31msucceeds" in text
    assert "\x1b[32mfails" in text
    assert '<span class="verdict bad">succeeds</span>' in page(report)


# --- print() and notebooks ------------------------------------------------------------------------


def test_print_says_the_sentences_and_what_measures_mean():
    lines = plain_text(REPORT).splitlines()
    assert lines[:4] == [
        f"{NAME} tells half.",
        f"• One of {NAME}. Two.",
        f"• a point {NAME}",
        "• asked:",
    ]
    assert "• leakage L₀ (bound): 1.00 bits. Half of 50 % is told." in lines
    assert lines[-2:] == ["• Next: Run:", "  hartley scan --draft my-roles.toml"]
    long = Report("n", "word " * 40)
    assert max(map(len, plain_text(long).splitlines())) <= 100


def test_a_notebook_shows_the_same_escaped(outline_of):
    text = notebook(REPORT)
    outline = outline_of(text)
    assert outline.open == []
    assert NAME not in text
    assert "<td>leakage L₀ (bound)</td><td>1.00</td>" in text


# --- doors ----------------------------------------------------------------------------------------


def test_the_first_picture_is_drawn():
    (axes,) = plot(REPORT).axes
    assert axes.get_xlabel() == NAME
    assert figure_svg(plot(REPORT)).startswith("<svg")
    with pytest.raises(OptionError, match="there is nothing to draw"):
        plot(Report("Test", "Nothing."))


@pytest.mark.parametrize("other", [None, "audit.html", {"age": [1]}, 3.5, hartley.AuditReport])
def test_something_else_than_a_result_is_refused_in_a_sentence(other, tmp_path):
    words = f"A {type(other).__name__} cannot be drawn"
    with pytest.raises(OptionError, match=words):
        plot(other)
    with pytest.raises(OptionError, match=words):
        write_html(other, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


# --- results --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    return hartley.people(200).rename_columns(
        {"age": NAME} | {name: name for name in hartley.people(1).column_names if name != "age"}
    )


def design_of(**more):
    columns = {NAME: {"range": [0, 1]}, "sex": {"values": ["F", "M"]}}
    return {"objective": "bits", "bits": 3, "columns": columns} | more


RESULTS = {
    "audit": lambda table: hartley.audit(
        table, secret="diagnosis", released=[NAME, "sex"], hypothesis="diagnosis = 'none'"
    ),
    "sweep": lambda table: hartley.audit(
        table, secret="diagnosis", released=[NAME], sweep={NAME: "1:10"}
    ),
    "scan": hartley.scan,
    "anonymity": lambda table: hartley.anonymity(
        table, keys=[NAME, "sex"], confidential=["diagnosis", "income"]
    ),
    "anonymize": lambda table: hartley.anonymize(
        table, [NAME, "sex"], 4, hierarchy={NAME: [10, 50]}, confidential="diagnosis"
    ),
    "homogeneity": lambda table: hartley.Homogeneity([NAME], ["diagnosis"]).attack(table),
    "microaggregate": lambda table: hartley.microaggregate(
        table, 4, [NAME, "height"], keep="diagnosis"
    ),
    "curve": lambda table: hartley.curve(
        table, key=NAME, confidential="diagnosis", bins={NAME: 20}, points=4
    ),
    "design": lambda _: hartley.design(design_of(title=NAME)),
    "tradeoff": lambda _: hartley.tradeoff(design_of(title=NAME)),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_a_result_says_itself_everywhere(make, table, outline_of, printed, tmp_path):
    result = make(table)
    assert isinstance(result, Readable)
    report = report_of(result)
    text = page(report)
    outline = outline_of(text)
    assert (outline.open, outline.links) == ([], [])
    assert NAME not in text
    assert NAME in outline.words
    for width in (60, 110):
        lines = printed(report, width).splitlines()
        assert all(cell_len(line) <= width for line in lines if line not in report.headline)
    assert f"{report.headline} {report.lead}".rstrip() == result.headline
    assert str(result).startswith(result.headline[:60])
    assert plot(result).axes
    assert write_html(result, tmp_path / "page.html").read_text().startswith(text[:1000])


def test_a_picture_of_records_has_a_bar_for_every_band_and_column(table):
    averages = RESULTS["microaggregate"](table)
    sizes, losses = plot(averages).axes
    assert [bar.get_height() for bar in sizes.patches] == [
        band.records for band in size_bands(averages.sizes)
    ]
    drawn = [bar.get_width() for bar in losses.patches]
    assert drawn == pytest.approx([100 * loss.loss for loss in averages.losses])


def test_the_curve_of_a_sweep_has_a_line_for_every_measure(table):
    report = RESULTS["sweep"](table)
    axes = plot(report).axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(labels) == 5
    line = next(line for line in axes.lines if line.get_label() == labels[0])
    assert list(line.get_xdata()) == sorted(point.distortion for point in report.sweep)


def test_people_are_counted_by_households_too():
    roles = {"confirmed": True, "columns": {"age": {"role": "key"}, "home": {"role": "household"}}}
    people = {"age": [30, 30, 30, 40], "home": ["a", "a", "b", "b"]}
    report = hartley.anonymity(people, few=2, roles=roles)
    assert "the most exposed member of their household, 2 stand" in page(report.report())
