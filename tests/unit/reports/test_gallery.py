"""Figures as files, and all of them on one page."""

import csv
import io
import re

import pytest

from hartley.papers.figure import Claim, Figure, Reproduced
from hartley.report import Chart, Heat, Panel, Series
from hartley.reports.gallery import print_figure, render_gallery, write_figure, write_gallery


def figure(number, *, title="Leakage", data="young_people"):
    return Figure(
        name=f"D/{number}",
        title=title,
        shows="What leaks <b>here</b>.",
        compute=lambda: None,
        plot=lambda _: None,
        claims=lambda _: (),
        data=data,
    )


def chart(*, synthetic):
    line = Series("leak", (1.0, 2.0), (2.0, 1.0))
    heat = Heat("people", ((0.0, 1.0), (2.0, 3.0)), 0, 2, 0, 2)
    panels = (Panel("step", "bits", (line,)), Panel("x", "y", heat=heat, title="Map"))
    return Chart("D/1", panels, synthetic=synthetic)


@pytest.fixture(scope="module")
def found():
    return [
        Reproduced(figure(1), chart(synthetic=True), (Claim("It falls.", holds=True),)),
        Reproduced(
            figure(2, data=None), chart(synthetic=False), (Claim("It < rises.", holds=False),)
        ),
        Reproduced(figure(3), None, problem="There is no file; hint: get it"),
    ]


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery")
    write_gallery([write_figure(one, folder) for one in found], folder)
    return folder


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "gallery.html").read_text()


@pytest.mark.slow
def test_a_figure_is_written_as_two_pictures_and_a_table(found, tmp_path):
    drawn = write_figure(found[0], tmp_path)
    assert drawn.files == ("d-figure-1.png", "d-figure-1.svg", "d-figure-1.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(drawn.files)
    assert (tmp_path / "d-figure-1.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "d-figure-1.svg").read_text().startswith("<svg")
    assert "synthetic data" in (tmp_path / "d-figure-1.svg").read_text()
    rows = list(csv.DictReader(io.StringIO((tmp_path / "d-figure-1.csv").read_text())))
    assert {row["data"] for row in rows} == {"synthetic"}
    assert [row["y"] for row in rows if row["series"] == "leak"] == ["2.0", "1.0"]
    shades = [(r["x"], r["y"], r["value"]) for r in rows if r["series"] == "people"]
    assert shades[1:3] == [("1.5", "0.5", "1.0"), ("0.5", "1.5", "2.0")]


@pytest.mark.slow
def test_a_picture_is_the_same_every_time(found, tmp_path):
    write_figure(found[0], tmp_path)
    before = (tmp_path / "d-figure-1.svg").read_bytes()
    write_figure(found[0], tmp_path)
    assert (tmp_path / "d-figure-1.svg").read_bytes() == before


@pytest.mark.slow
def test_real_data_are_not_called_synthetic(found, tmp_path):
    write_figure(found[1], tmp_path)
    assert "synthetic" not in (tmp_path / "d-figure-2.svg").read_text()
    assert "synthetic" not in (tmp_path / "d-figure-2.csv").read_text()


def test_a_figure_without_data_has_no_files(found, tmp_path):
    assert write_figure(found[2], tmp_path).files == ()
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_page_needs_nothing_but_the_files_beside_it(page, folder):
    links = re.findall(r'(?:href|src)="([^"#]+)"', page)
    assert links
    assert all((folder / link).is_file() for link in links if not link.startswith("data:"))
    assert "<script" not in page
    assert not re.search(r"@import|url\(", page.split("</style>")[0])


def test_the_page_shows_every_figure_with_its_sentence_and_findings(page):
    text = re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    assert text.count("<section") == 3
    assert "What leaks &lt;b&gt;here&lt;/b&gt;." in text
    assert "<li>It falls.</li>" in text
    assert '<li class="broken"><b>Does not hold:</b> It &lt; rises.</li>' in text
    assert "1 of 2 expected findings do not hold; 1 figure could not be drawn" in text
    assert "There is no file; hint: get it" in text


@pytest.mark.slow
def test_the_page_marks_synthetic_figures_and_only_those(page):
    sections = page.split("<section")[1:]
    assert ['class="tag synthetic"' in section for section in sections] == [True, False, False]


@pytest.mark.slow
def test_a_page_without_a_broken_finding_says_so(found, tmp_path):
    page = render_gallery([write_figure(found[0], tmp_path)])
    assert "All 1 expected findings hold</h1>" in page


@pytest.mark.slow
def test_a_figure_in_a_terminal_says_what_holds_and_what_does_not(found, tmp_path):
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=80)
    for one in found:
        print_figure(write_figure(one, tmp_path), console)
    text = out.getvalue()
    assert "✓ It falls." in text
    assert "✗ does not hold: It < rises." in text
    assert "Not drawn: There is no file; hint: get it" in text
    assert "synthetic young people data" in text
