"""The pages of results in a real browser: wide and narrow, light, dark and printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hartley

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
MODES = {
    "wide": (1280, "light", "screen"),
    "dark": (1280, "dark", "screen"),
    "narrow": (390, "light", "screen"),
    "narrow-dark": (390, "dark", "screen"),
    "print": (794, "dark", "print"),
}
ON_IMAGES = {"rgb(254, 254, 254)", "rgb(11, 31, 58)"}
LOOK = """() => {
  const box = (node) => node.getBoundingClientRect();
  const shown = [...document.querySelectorAll('.figure svg')].filter((svg) => box(svg).width > 0);
  const texts = (svg) => [...svg.querySelectorAll('text')];
  const outside = (svg) => texts(svg).filter((text) => {
    const a = box(text), b = box(svg);
    return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1
      || a.bottom > b.bottom + 1;
  }).map((text) => text.textContent);
  const meet = (a, b, room) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > room
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > room;
  // A text that is turned a little has a box far larger than itself.
  const upright = (text) => {
    const turned = /rotate\\((-?[\\d.]+)/.exec(text.getAttribute('transform') || '');
    return !turned || Number(turned[1]) % 90 === 0;
  };
  const overlapping = (svg) => {
    const all = texts(svg).filter((text) => upright(text) && text.textContent.trim());
    return all.flatMap((text, i) => all.slice(i + 1)
      .filter((other) => meet(box(text), box(other), 2))
      .map((other) => `${text.textContent} over ${other.textContent}`));
  };
  // The first patch of axes is their ground, on which the curves are drawn.
  const covering = (svg) => [...svg.querySelectorAll('[id^=legend]')].filter((legend) =>
    [...svg.querySelectorAll('[id^=axes]')].some((axes) =>
      meet(box(legend), box(axes.querySelector('[id^=patch]')), 2)));
  // A word of a usual length stands on one line.
  const broken = [];
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest('svg, style, code, pre')) continue;
    for (const match of node.data.matchAll(/[^\\s\\u2013/-]+/g)) {
      if (match[0].length > 20) continue;
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const lines = [...range.getClientRects()].map((line) => Math.round(line.bottom));
      if (lines.some((line) => Math.abs(line - lines[0]) > 4)) broken.push(match[0]);
    }
  }
  // An image has the same colours on every page, and so have the texts on it.
  const onImage = (text) => [...text.ownerSVGElement.querySelectorAll('image')].some((image) => {
    const a = box(text), b = box(image);
    return a.left > b.left && a.right < b.right && a.top > b.top && a.bottom < b.bottom;
  });
  const ink = (text) => getComputedStyle(text).fill;
  const all = shown.flatMap(texts);
  const inks = all.filter((text) => !onImage(text)).map(ink);
  return {
    sideways: document.documentElement.scrollWidth - innerWidth,
    tables: [...document.querySelectorAll('.scroll')]
      .filter((scroll) => scroll.scrollWidth > scroll.clientWidth + 1).length,
    pictures: shown.length,
    cut: shown.flatMap(outside),
    overlapping: shown.flatMap(overlapping),
    covering: shown.flatMap(covering).length,
    broken: broken,
    inks: [...new Set(inks)],
    inks_on_images: [...new Set(all.filter(onImage).map(ink))],
    paper: getComputedStyle(document.querySelector('section')).backgroundColor,
    folded: [...document.querySelectorAll('details')]
      .filter((details) => !details.querySelector('td').checkVisibility()).length,
    closed: document.querySelectorAll('details:not([open])').length,
  };
}"""


def results(folder):
    """Make a small result for every page that a command writes."""
    people = hartley.people().slice(0, 300)
    bins = {"age": 10}
    relation = hartley.Relation.from_table(people, secret="diagnosis", released="age", bins=bins)
    return {
        "scan": hartley.scan(people),
        "audit": hartley.audit(
            people, secret="diagnosis", released=["age", "sex"], bins=bins, sweep={"age": "1:12"}
        ),
        "audit of one release": hartley.audit(people, secret="diagnosis", released="region"),
        "anonymity": hartley.anonymity(people, keys=["age", "sex"], confidential="diagnosis"),
        "anonymized": hartley.anonymize(people, keys=["sex", "region"], k=3),
        "averages": hartley.microaggregate(people, 5, ["age", "height"]),
        "pram": hartley.pram(
            people, out=folder / "pram.csv", columns=["region", "sex"], retain=0.8, seed=7
        ),
        "gaussian": hartley.gaussian(people, key="height", confidential="weight", share=0.25),
        "curve": hartley.curve(people, key="age", confidential="diagnosis", bins=bins, points=4),
        "design": hartley.design(EXAMPLES / "height.design.toml"),
        "design of records": hartley.design(EXAMPLES / "people.design.toml"),
        "tradeoff": hartley.tradeoff(EXAMPLES / "height.design.toml"),
        "tradeoff of a hypothesis": hartley.tradeoff(EXAMPLES / "bmi.design.toml"),
        "prices": hartley.price_curve(
            "SELECT AVG(income) FROM people", EXAMPLES / "people.schema.toml", rows=300
        ),
        "guessing": hartley.attacks.BruteForceGuessing().attack(relation),
        "homogeneity": hartley.Homogeneity(["age", "sex"], ["diagnosis"]).attack(people),
        "check": hartley.check(EXAMPLES / "outputs" / "wards.csv"),
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return results(tmp_path_factory.mktemp("releases"))


@pytest.fixture(scope="module")
def pages(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {
        name: hartley.write_html(result, folder / f"{name}.html") for name, result in made.items()
    }


def luminance(colour):
    red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_page_fits_its_screen_and_follows_the_theme(pages, browser, photograph):
    problems = []
    page = browser.new_page()
    for name, path in pages.items():
        page.goto(path.as_uri())
        for mode, (width, scheme, medium) in MODES.items():
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(media=medium, color_scheme=scheme)
            seen = page.evaluate(LOOK)
            photograph(page, f"page-{name}-{mode}")
            problems += [(name, mode, problem) for problem in faults(seen, width, scheme, medium)]
    page.close()
    assert problems == []


def test_the_axes_of_every_picture_have_names(made):
    charts = [s.chart for result in made.values() for s in result.report().sections if s.chart]
    panels = [panel for chart in charts for panel in chart.panels]
    assert len(panels) > len(made)
    for panel in panels:  # a strip of cells has nothing upwards
        assert panel.x_label, panel
        assert panel.y_label or panel.ruler, panel


def faults(seen, width, scheme, medium):
    """List what is wrong with a page as it was seen."""
    dark = scheme == "dark" and medium == "screen"
    paper = luminance(seen["paper"])
    pale = [ink for ink in seen["inks"] if abs(luminance(ink) - paper) < 60]
    return [
        problem
        for problem, holds in (
            ("scrolls sideways", seen["sideways"] > 0),
            ("cuts a table", width == 390 and seen["tables"]),
            (f"cuts {seen['cut'][:3]}", seen["cut"]),
            (f"has texts over each other: {seen['overlapping'][:3]}", seen["overlapping"]),
            ("has a legend over a picture", seen["covering"]),
            (f"breaks words: {seen['broken'][:5]}", seen["broken"]),
            ("is not dark" if dark else "is dark", (paper < 128) != dark),
            (f"has pictures that cannot be read: {pale}", pale),
            ("changes texts on an image", not {*seen["inks_on_images"]} <= ON_IMAGES),
            ("folds what is printed", medium == "print" and seen["folded"]),
            ("opens tables", medium == "screen" and seen["folded"] != seen["closed"]),
        )
        if holds
    ]


BAD_PAGE = """<style>:root { color-scheme: light } section { background: #fff }</style><main>
<section><div class="figure"><svg width="200" height="100">
<text x="10" y="20">over</text><text x="12" y="22">under</text><text x="190" y="50">cut off</text>
<g id="axes_1"><g id="patch_2"><rect width="200" height="100"/></g>
<g id="legend_1"><rect x="20" y="60" width="50" height="20"/></g></g></svg></div>
<div style="width: 20px; word-break: break-all">diagnosis</div></section></main>"""


def test_faults_of_a_page_are_seen(browser):
    page = browser.new_page()
    page.set_content(BAD_PAGE)
    seen = page.evaluate(LOOK)
    page.close()
    assert seen["cut"] == ["cut off"]
    assert seen["overlapping"] == ["over over under"]
    assert seen["covering"] == 1
    assert seen["broken"] == ["diagnosis"]


def test_axe_finds_nothing_on_any_page(pages, browser, axe):
    problems = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    for name, path in pages.items():
        page.goto(path.as_uri())
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            complaints = axe(page, colours_only=scheme == "dark")
            problems += [f"{name} {scheme}: {problem}" for problem in complaints]
    page.close()
    assert problems == []


def test_every_colour_of_a_picture_has_its_place_in_the_dark(pages):
    missing = {
        (name, colour)
        for name, path in pages.items()
        for text in [path.read_text()]
        for colour in re.findall(r"var\(--c-([0-9a-f]{6}),", text)
        if f"--c-{colour}:" not in text
    }
    assert missing == set()
