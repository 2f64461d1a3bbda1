"""The pages of results in a real browser: wide and narrow, light, dark and printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hartley

EXAMPLES = Path(__file__).parents[2] / "examples"
MODES = {
    "wide": (1280, "light", "screen"),
    "dark": (1280, "dark", "screen"),
    "narrow": (390, "light", "screen"),
    "narrow and dark": (390, "dark", "screen"),
    "print": (794, "dark", "print"),
}
LOOK = """() => {
  const shown = [...document.querySelectorAll('.figure svg')]
    .filter((svg) => svg.getBoundingClientRect().width > 0);
  const outside = (svg) => [...svg.querySelectorAll('text')].filter((text) => {
    const a = text.getBoundingClientRect(), b = svg.getBoundingClientRect();
    return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1
      || a.bottom > b.bottom + 1;
  }).map((text) => text.textContent);
  const inks = shown.flatMap((svg) => [...svg.querySelectorAll('text')])
    .map((text) => getComputedStyle(text).fill);
  return {
    sideways: document.documentElement.scrollWidth - innerWidth,
    tables: [...document.querySelectorAll('.scroll')]
      .filter((box) => box.scrollWidth > box.clientWidth + 1).length,
    pictures: shown.length,
    cut: shown.flatMap(outside),
    inks: [...new Set(inks)],
    paper: getComputedStyle(document.querySelector('section')).backgroundColor,
    folded: [...document.querySelectorAll('details')]
      .filter((one) => !one.querySelector('td').checkVisibility()).length,
    closed: document.querySelectorAll('details:not([open])').length,
  };
}"""


def results():
    """Make a small result for every page."""
    people = hartley.people().slice(0, 300)
    bins = {"age": 10}
    relation = hartley.Relation.from_table(people, secret="diagnosis", released="age", bins=bins)
    return {
        "audit": hartley.audit(
            people, secret="diagnosis", released=["age", "sex"], bins=bins, sweep={"age": "1:12"}
        ),
        "anonymity": hartley.anonymity(people, keys=["age", "sex"], confidential="diagnosis"),
        "anonymized": hartley.anonymize(people, keys=["sex", "region"], k=3),
        "averages": hartley.microaggregate(people, 5, ["age", "height"]),
        "design": hartley.design(EXAMPLES / "height.design.toml"),
        "design of records": hartley.design(EXAMPLES / "people.design.toml"),
        "tradeoff": hartley.tradeoff(EXAMPLES / "height.design.toml"),
        "tradeoff of a hypothesis": hartley.tradeoff(EXAMPLES / "bmi.design.toml"),
        "prices": hartley.price_curve(
            "SELECT AVG(income) FROM people", EXAMPLES / "people.schema.toml", rows=300
        ),
        "guessing": hartley.BruteForceGuessing().attack(relation),
        "homogeneity": hartley.Homogeneity(["age", "sex"], ["diagnosis"]).attack(people),
        "check": hartley.check(EXAMPLES / "outputs" / "wards.csv"),
    }


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {
        name: hartley.write_html(result, folder / f"{name}.html")
        for name, result in results().items()
    }


def luminance(colour):
    red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.slow
def test_every_page_fits_its_screen_and_follows_the_theme(pages, browser):
    problems = []
    for name, path in pages.items():
        for mode, (width, scheme, medium) in MODES.items():
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.emulate_media(media=medium, color_scheme=scheme)
            page.goto(path.as_uri())
            seen = page.evaluate(LOOK)
            page.close()
            dark = scheme == "dark" and medium == "screen"
            paper = luminance(seen["paper"])
            pale = [ink for ink in seen["inks"] if abs(luminance(ink) - paper) < 60]
            problems += [
                (name, mode, problem)
                for problem, holds in (
                    ("scrolls sideways", seen["sideways"] > 0),
                    ("cuts a table", width == 390 and seen["tables"]),
                    (f"cuts {seen['cut'][:3]}", seen["cut"]),
                    ("is not dark" if dark else "is dark", (paper < 128) != dark),
                    (f"has pictures that cannot be read: {pale}", pale),
                    ("folds what is printed", medium == "print" and seen["folded"]),
                    ("opens tables", medium == "screen" and seen["folded"] != seen["closed"]),
                )
                if holds
            ]
    assert problems == []


@pytest.mark.slow
def test_every_colour_of_a_picture_has_its_place_in_the_dark(pages):
    missing = {
        (name, colour)
        for name, path in pages.items()
        for text in [path.read_text()]
        for colour in re.findall(r"var\(--c-([0-9a-f]{6}),", text)
        if f"--c-{colour}:" not in text
    }
    assert missing == set()
