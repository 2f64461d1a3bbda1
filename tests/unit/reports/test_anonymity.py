import io
import re

import pytest
from rich.console import Console

import hartley
from hartley.reports.document import render_html
from hartley.reports.pages.anonymity import print_anonymity, print_anonymized
from hartley.reports.pages.microaggregation import print_microaggregation
from hartley.reports.terminal import plain_table
from hartley.studies.look.anonymity import attacks, column_measures
from hartley.studies.look.records import check_release

NAME = "<b>$x$"
"""A column whose name would spoil a page or a picture."""


@pytest.fixture(scope="module")
def table():
    return hartley.people(200).rename_columns(
        {"age": NAME, "sex": "sex", "height": "height", "diagnosis": "diagnosis"}
        | {name: name for name in ("person", "region", "job", "weight", "income", "visits")}
    )


@pytest.fixture(scope="module")
def report(table):
    return hartley.anonymity(table, keys=[NAME, "sex"], confidential=["diagnosis", "income"])


@pytest.fixture(scope="module")
def anonymized(table):
    return hartley.anonymize(table, [NAME, "sex"], 4, hierarchies={NAME: [10, 50]})


@pytest.fixture(scope="module")
def averaged(table):
    return hartley.policies.mdav(table, 4, [NAME, "height"], keep="diagnosis")


@pytest.fixture(params=["report", "anonymized", "averaged"])
def result(request):
    return request.getfixturevalue(request.param)


@pytest.mark.slow
def test_a_page_is_well_formed_needs_no_other_file_and_escapes_names(result, tmp_path, outline_of):
    page = render_html(result)
    outline = outline_of(page)
    assert (outline.open, outline.links) == ([], [])
    assert NAME not in page
    assert not re.search(r"url\((?!#)", page)
    written = hartley.write_html(result, tmp_path / "page.html").read_text()
    before, evidence = written.split('<section class="long evidence">')
    assert page.startswith(before.rstrip())
    assert evidence.count("<section") == 0  # the file ends with it
    assert page == render_html(result)


def test_the_page_of_a_report_holds_every_measure_attack_and_note(report, outline_of):
    text = outline_of(render_html(report)).words
    assert report.headline in text
    for note in report.notes:
        assert note in text
    for findings in report.confidential:
        for measure in column_measures(findings, report.unit):
            assert f"{measure.title} {measure.symbol} {measure.shown}" in text
            assert measure.sentence in text
    for attack in attacks(report):
        verdict = "succeeds" if attack.succeeds else "fails"
        assert f"{attack.title} on {attack.column} {verdict} {attack.records:,}" in text


@pytest.mark.slow
def test_the_page_of_a_release_says_what_it_lost_and_what_counting_again_gives(
    anonymized, averaged, outline_of
):
    text = outline_of(render_html(anonymized)).words
    assert f"{float(100 * anonymized.loss):.2f} % of the keys' detail lost" in text
    assert f"{check_release(anonymized).k} records in the smallest class" in text
    text = outline_of(render_html(averaged)).words
    for sentence in (averaged.headline, *averaged.sentences):
        assert sentence in text
    assert f"SSE {averaged.sse:.6g}, SST {averaged.sst:.6g}" in text
    assert "homogeneity on diagnosis" in text


def test_the_picture_has_a_bar_for_every_band_and_column(report, anonymized, averaged):
    (sizes,) = hartley.plot(report).axes
    assert [bar.get_height() for bar in sizes.patches] == [band.records for band in report.sizes]
    assert sum(bar.get_height() for bar in sizes.patches) == report.rows
    for release in (anonymized, averaged):
        left, right = hartley.plot(release).axes
        assert sum(bar.get_height() for bar in left.patches) == 200
        losses = [float(getattr(one, "loss", one)) for one in release.losses]
        drawn = [bar.get_width() for bar in reversed(right.patches)]
        assert drawn == pytest.approx([100 * loss for loss in losses])


@pytest.mark.slow
@pytest.mark.parametrize("width", [110, 60])
def test_the_terminal_shows_the_same_numbers_however_narrow(report, anonymized, averaged, width):
    out = io.StringIO()
    console = Console(file=out, width=width)
    print_anonymity(report, console)
    print_anonymized(anonymized, check_release(anonymized), console)
    print_microaggregation(averaged, check_release(averaged), console)
    text = out.getvalue()
    unfolded = {one.headline for one in (report, anonymized, averaged)}
    checked = (report, check_release(anonymized), check_release(averaged))
    unfolded |= {one.people.sentence for one in checked}
    assert all(len(line) <= width for line in text.splitlines() if line not in unfolded)
    for findings in report.confidential:
        for measure in column_measures(findings, report.unit):
            assert re.search(rf"{re.escape(measure.title)}.*{re.escape(measure.shown)}", text)
    assert "skewness" in text
    assert NAME in text


def test_a_table_without_confidential_columns_has_a_page_too(table):
    page = render_html(hartley.anonymity(table, keys="sex"))
    assert "Which attacks succeed" not in page
    assert "classes of equal keys" in page


def test_the_title_of_a_narrow_table_stays_in_one_line():
    out = io.StringIO()
    table = plain_table("Whom few columns single [out]")
    table.add_column("n")
    table.add_row("1")
    Console(file=out, width=80).print(table)
    assert out.getvalue().splitlines()[0].rstrip() == "Whom few columns single [out]"


def test_the_page_counts_people_by_households_too():
    roles = {"confirmed": True, "columns": {"age": {"role": "key"}, "home": {"role": "household"}}}
    people = {"age": [30, 30, 30, 40], "home": ["a", "a", "b", "b"]}
    report = hartley.anonymity(people, k=2, roles=roles)
    assert "the most exposed member of their household, 2 stand" in render_html(report)
