import re
from pathlib import Path

import pytest

import hartley
from hartley.errors import OptionError
from hartley.reports.draw import figure_svg
from hartley.reports.render import page as page_of

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.design.toml"))


def pictures(design):
    """Return the panels of the picture of a design."""
    charts = [section.chart for section in design.report().sections if section.chart is not None]
    return charts[0].panels if charts else ()


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda path: path.name.split(".")[0])
def design(request):
    return hartley.design(request.param)


@pytest.mark.slow
def test_the_page_says_what_is_promised_what_follows_and_what_is_released(design, outline_of):
    page = page_of(design)
    outline = outline_of(page)
    assert outline.open == []
    assert all(link.startswith("data:image/png;base64,") for link in outline.links)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    text = " ".join(outline.text).replace("\N{NO-BREAK SPACE}%", " %")
    assert design.headline in text
    assert design.certificate.claim in text
    for sentence in design.sentences:
        assert sentence in text
    for assumption in design.certificate.assumptions:
        assert assumption in text
    for consequence in design.certificate.consequences:
        assert consequence.sentence in text
    assert design.document.to_toml() in text
    assert "<svg" in page_of(design)


def test_a_policy_that_does_not_hold_warns_at_the_top():
    unsound = hartley.design({
        "objective": "bits", "bits": 1, "query": "mean(x)", "people": 2, "rule": "printed",
        "columns": {"x": {"range": [0, 1]}},
    })  # fmt: skip
    page = page_of(unsound)
    assert "Do not rely on this policy" in page
    assert page.index("Do not rely on this policy") < page.index("The certificate")


def test_the_page_escapes_what_stands_in_a_design():
    name = "<script>alert(1)</script>"
    column = {"values": ["<b>", "<i>"], "groups": {"<u>": ["<b>", "<i>"]}}
    found = hartley.design(
        {"objective": "bits", "bits": 1, "title": name, "columns": {name: column}}
    )
    page = page_of(found)
    assert "<script>" not in page
    assert "<u>" not in page
    assert "&lt;u&gt;" in page


def test_categories_alone_have_no_picture_but_a_page():
    found = hartley.design(
        {"objective": "bits", "bits": 1, "columns": {"sex": {"values": ["F", "M"]}}}
    )
    assert "<svg" not in page_of(found)
    with pytest.raises(OptionError, match="nothing to draw"):
        hartley.plot(found)


@pytest.mark.slow
def test_the_band_is_drawn_around_its_line():
    (path,) = [path for path in EXAMPLES if path.name.startswith("bmi")]
    axes = hartley.plot(hartley.design(path)).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("height", "weight")
    (line,) = axes.lines
    for height, weight in zip(line.get_xdata(), line.get_ydata(), strict=True):
        assert weight == pytest.approx(30 * (height / 100) ** 2)
    (panel,) = pictures(hartley.design(path))
    band, _ = panel.series
    for low, y, high in zip(band.low, band.y, band.high, strict=True):
        assert low == max(y - 5, 0)
        assert high == min(y + 5, 200)


def test_a_line_over_several_columns_names_what_the_others_are_taken_to_be():
    found = hartley.design({
        "objective": "hypothesis", "hypothesis": "a >= b*c", "error": 1,
        "columns": {"a": {"range": [0, 9]}, "b": {"range": [0, 3]}, "c": {"range": [0, 2]}},
    })  # fmt: skip
    (panel,) = pictures(found)
    assert panel.x_label == "b (c = 1)"
    _, line = panel.series
    assert line.y == pytest.approx(line.x)


def test_a_line_without_columns_is_a_page_without_a_picture():
    found = hartley.design({
        "objective": "hypothesis", "hypothesis": "a >= 4", "error": 1,
        "columns": {"a": {"range": [0, 9]}},
    })  # fmt: skip
    assert pictures(found) == ()
    assert "<svg" not in page_of(found)


def test_very_many_cells_can_be_drawn():
    found = hartley.design({
        "objective": "maximin", "query": "mean(x)", "people": 3, "error": "0.001",
        "columns": {"x": {"range": [0, 1]}},
    })  # fmt: skip
    assert figure_svg(hartley.plot(found)).startswith("<svg")
