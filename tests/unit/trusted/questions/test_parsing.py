"""Trees that are used again are those that the parser would have made."""

# ruff: noqa: S311, S608 - random questions, not secrets

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from hartley import Schema
from hartley.errors import Refused
from hartley.trusted.questions import parsing as known_trees
from hartley.trusted.questions.parsing import _tokens, _tree, reading
from hartley.trusted.questions.question import parse

SCHEMA = Schema.read(
    {
        "table": {"name": "people"},
        "columns": {
            "age": {"kind": "private", "range": [0, 99], "step": "0.5"},
            "height": {"kind": "private", "range": [-5, 5], "step": 1},
            "job": {"kind": "private", "values": ["a", "b", "it''s", "7"]},
        },
    }
)
SHAPES = (
    "SELECT COUNT(*) FROM people WHERE age >= {n}",
    "SELECT  COUNT( * )  FROM people WHERE age >= {n} AND job = {s}",
    "SELECT AVG(age + {n}*height) FROM people WHERE NOT (age BETWEEN {n} AND {n})",
    "SELECT job, SUM(height - {n} / {n}) AS x FROM people GROUP BY job",
    "SELECT MEDIAN(age) FROM people WHERE job IN ({s}, {s}) OR -height < {n}",
    "SELECT COUNT({n}) FROM people\nWHERE {n} <= age AND {s} <> job",
)
NUMBERS = ("0", "3", "12", "7.5", "1e1", ".5", "99", "-2", "007", "1_0")
TEXTS = ("'a'", "'b'", "'it''s'", "'7'", "''", "'SELECT'", "'--'", "'nobody'")
STRANGE = (
    "SELECT COUNT(*) FROM people WHERE age >= DATE {s}",
    "SELECT QUANTILE(age, {n}) FROM people",
    "SELECT COUNT(*) FROM people WHERE age > INTERVAL {s}",
    "SELECT COUNT(*) FROM people LIMIT {n}",
    "SELECT COUNT(*) FROM people -- {n}",
    'SELECT COUNT(*) FROM people WHERE "age" > {n}',
    "SELECT COUNT(*) FROM people WHERE job = {s} {s}",
    "SELECT BIN(age, {n}), COUNT(*) FROM people GROUP BY BIN(age, {n})",
    "SELECT DATE_TRUNC({s}, age), COUNT(*) FROM people",
)


def drawn(rng, shape):
    """Return a text of a shape with constants at random."""
    while "{n}" in shape:
        shape = shape.replace("{n}", rng.choice(NUMBERS), 1)
    while "{s}" in shape:
        shape = shape.replace("{s}", rng.choice(TEXTS), 1)
    return shape


def described(tree):
    """Return all that is in a tree: its parts, and where they are."""
    return repr(tree), [(type(part).__name__, dict(part.meta)) for part in tree.walk()]


def outcome(text):
    """Return what becomes of a text."""
    try:
        return parse(text, SCHEMA, 100)
    except Refused as refused:
        return refused.problem, refused.hint, refused.text, refused.place


@pytest.fixture(autouse=True)
def _no_trees(monkeypatch):
    monkeypatch.setattr(known_trees, "_TREES", {})


@pytest.mark.parametrize("shape", [*SHAPES, *STRANGE])
def test_a_tree_that_is_used_again_is_the_one_that_the_parser_makes(shape):
    rng = random.Random(shape)
    for _ in range(25):
        text = drawn(rng, shape)
        tokens = _tokens(text)
        try:
            plain = described(_tree(text, tokens))
        except Refused:
            continue
        try:
            with reading(text) as statement:
                assert described(statement.select) == plain
        except Refused:
            pass  # a clause that is not answered
    assert bool(known_trees._TREES) == (shape in SHAPES)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_text_has_the_outcome_that_it_has_alone(shape, monkeypatch):
    rng = random.Random(7)
    texts = [drawn(rng, shape) for _ in range(30)]
    after_others = [outcome(text) for text in texts]
    alone = []
    for text in texts:
        monkeypatch.setattr(known_trees, "_TREES", {})
        alone.append(outcome(text))
    assert after_others == alone
    assert len({str(each) for each in alone}) > 3


def test_threads_never_share_a_tree():
    texts = [f"SELECT COUNT(*) FROM people WHERE age >= {n}" for n in range(90)] * 3
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(outcome, texts))
    assert [each.questions[0].where for each in together] == [
        each.questions[0].where for each in map(outcome, texts)
    ]


def test_a_refused_text_gives_its_tree_back():
    outcome("SELECT COUNT(*) FROM people WHERE age >= 3")
    assert isinstance(outcome("SELECT COUNT(*) FROM people WHERE age = 3.25"), tuple)
    assert len(known_trees._TREES) == 2


def test_few_trees_are_kept(monkeypatch):
    monkeypatch.setattr(known_trees, "MOST_TREES", 3)
    for number in range(10):
        outcome("SELECT " + ", ".join(["COUNT(*)"] * (number + 1)) + " FROM people")
    assert 1 <= len(known_trees._TREES) <= 3
