"""docs/papers.md lists every item of the papers, and what it names exists."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import hartley

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text()

ITEMS = {
    "A": """
        Definition II.1, Remark II.1, Assumption II.1, Theorem II.1, Example II.1, Theorem II.2,
        Definition II.2, Definition III.1, Theorem III.1, Definition III.2, Proposition III.1,
        Theorem IV.1, Definition IV.1, Theorem IV.2, Theorem IV.3, Corollary IV.1, Example IV.1,
        Example IV.2, Definition V.1, Proposition V.1,
        Future work: non-scalar queries, Future work: public datasets
    """,
    "B": """
        Proposition 1, Proposition 2, Proposition 3, Definition 1, Definition 2, Theorem 1,
        Theorem 2, Theorem 3, Theorem 4, Theorem 5, Theorem 6, Theorem 7, Definition 3, Theorem 8
    """,
    "C": """
        Definition 1, Proposition 1, Proposition 2, Definition 2, Proposition 3, Proposition 4,
        Example 1, Remark 1, Definition 3, Corollary 5, Proposition 6, Example 2, Remark 2,
        Definition 4, Future work: worst attribute, Future work: α-leakage, Future work: dynamics
    """,  # noqa: RUF001 - the alpha of the paper
    "D": """
        Example 1, Definition 1, Definition 2, Theorem 1, Theorem 2, Example 2, Theorem 3,
        Definition 3, Definition 4, Theorem 4, Remark 1, Example 3, Proposition 1, Definition 5,
        Definition 6, Theorem 5, Example 4, Future work: optimal trade-off,
        Future work: application, Future work: composition
    """,
    "E": """
        Theorem 1, Theorem 2, Proposition 3, Lemma 4, Proposition 5, Proposition 6,
        Algorithm, Algorithms
    """,
}
"""The numbered items of each paper in its own order, and its questions for future work."""

KINDS = (
    "Definition|Assumption|Theorem|Proposition|Lemma|Corollary|Remark|Example|Algorithm|Future work"
)
STATES = ("as printed", "[corrected]", "[sharper]", "beyond", "not software:", "replaced by")


def rows():
    """Return (paper, cells) of every line of the tables."""
    for section in PAGE.split("\n## Paper ")[1:]:
        for line in section.splitlines():
            if line.startswith("| ") and not line.startswith(("| item ", "| --- ")):
                yield section[0], [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


ROWS = list(rows())
IDS = [f"{paper} {cells[0]}" for paper, cells in ROWS]


def listed(paper):
    """Return the items that a paper's table lists, one by one."""
    return [item.strip() for p, cells in ROWS if p == paper for item in cells[0].split(",")]


@cache
def functions_of(path):
    tree = ast.parse((ROOT / "tests" / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@cache
def headings():
    """Return the anchors of the errata, as they are made of headings."""
    text = (ROOT / "docs" / "errata.md").read_text()
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^## (.*)$", text, re.MULTILINE)
    }


@pytest.mark.parametrize("paper", ITEMS)
def test_every_item_of_a_paper_is_listed_once_and_no_other_number(paper):
    wanted = [item.strip() for item in ITEMS[paper].split(",")]
    numbered = [item for item in listed(paper) if re.match(KINDS, item)]
    assert sorted(numbered) == sorted(wanted)


@pytest.mark.parametrize(("paper", "cells"), ROWS, ids=IDS)
def test_a_line_has_a_state_and_names_what_exists(paper, cells):
    assert len(cells) == 5, f"a line of paper {paper} has {len(cells)} cells"
    item, said, state, names, test = cells
    assert item
    assert said
    assert state.startswith(STATES)
    for name in re.findall(r"`([^`]+)`", names):
        module, _, last = name.rpartition(".")
        home = import_module(f"hartley.{module.removeprefix('hartley.')}") if module else hartley
        assert getattr(home, last) is not None
        assert module or last in hartley.__all__
    path, _, function = re.fullmatch(r"`(.+?)(::)(\w+)`", test).groups()
    assert function in functions_of(path)


@pytest.mark.parametrize(("paper", "cells"), ROWS, ids=IDS)
def test_a_corrected_item_links_its_erratum(paper, cells):
    links = re.findall(r"\]\(errata\.md#([^)]+)\)", cells[2])
    assert links or "corrected" not in cells[2]
    for link in links:
        assert link in headings()
        assert link.startswith(f"{paper.lower()}-")


def test_every_erratum_of_the_papers_is_linked_from_its_item():
    linked = set(re.findall(r"errata\.md#([^)]+)\)", PAGE))
    assert {anchor for anchor in headings() if re.match(r"[a-e]-", anchor)} == linked
