"""What a question costs alone beside other questions, and questions that every type asks."""

from fractions import Fraction
from random import Random

import pytest

from hartley.schema.schema import Column, Schema
from hartley.trusted.pricing import atoms, price as worst_case
from hartley.trusted.pricing.atoms import Atom, form_atoms
from hartley.trusted.pricing.one_row import Resolved, independent, single
from hartley.trusted.pricing.price import price
from hartley.trusted.pricing.regions import CellGrid
from hartley.trusted.questions.batch import All, Either, Form, Question, Statistic, Test as Leaf
from hartley.trusted.questions.condition import united

ROWS = 50
POINTS = {"a": 9, "b": 4, "c": 12, "d": 3, "e": 5}


def schema_of(rng, rows):
    kinds = ["private", "private", "private", rng.choice(["private", "open"]), "public"]
    columns = {
        name: Column(
            name,
            kind,
            low=Fraction(0),
            high=Fraction(points - 1),
            step=Fraction(1),
            nullable=rng.random() < 0.4,
        )
        for (name, points), kind in zip(POINTS.items(), kinds, strict=True)
    }
    return Schema("people", columns, None, 1, rows, None if rows == "public" else ROWS)


def condition(rng, schema, depth=0):
    if depth < 2 and rng.random() < 0.4:
        parts = [condition(rng, schema, depth + 1) for _ in range(rng.randint(0, 3))]
        return rng.choice([All, All, Either])(tuple(parts))
    name = rng.choice(list(POINTS))
    ends = [sorted(rng.choices(range(POINTS[name]), k=2)) for _ in range(rng.randint(1, 2))]
    missing = schema.columns[name].nullable and rng.random() < 0.3
    return Leaf(name, united(map(tuple, ends)), missing)


def question(rng, schema):
    statistic, where = rng.choice(list(Statistic)), condition(rng, schema)
    if statistic is Statistic.COUNT:
        return Question(statistic, where, None, None, 0, ROWS)
    names = sorted(rng.sample(list(POINTS), rng.randint(1, 3)))
    signs = (1, 2) if statistic is Statistic.SQUARES else (1, 2, -1, -3)
    terms = tuple((name, rng.choice(signs)) for name in names)
    ends = [sorted((0, times * (POINTS[name] - 1))) for name, times in terms]
    constant = rng.choice([0, 0, 4])
    low, high = (constant + sum(side) for side in zip(*ends, strict=True))
    order = statistic is Statistic.ORDER
    least, most = (low, high) if order else (ROWS * min(low, 0), ROWS * high**2)
    form, quantile = Form(terms, constant, Fraction(1)), Fraction(1, 2) if order else None
    step = Fraction(rng.randint(1, 40), rng.randint(1, 3))
    return Question(statistic, where, form, quantile, least, most, step)


def listed_in(formed, absent):
    """Return atoms, with one of the absent record where no other atom holds it."""
    if absent and all(atom.alive for atom in formed.atoms):
        return (*formed.atoms, Atom((), 1, ((0, 0),) * len(formed.directions), 0))
    return formed.atoms


@pytest.mark.parametrize("seed", range(60))
def test_alone_a_question_costs_the_same_beside_any_others(seed):
    rng = Random(seed)  # noqa: S311 - a seed is enough
    schema = schema_of(rng, "public")
    questions = [question(rng, schema) for _ in range(rng.randint(3, 7))]
    grids = [CellGrid.of(each) for each in questions]
    resolved = Resolved(questions, schema)
    for known in resolved.refine(resolved.start(), ("public", "open")):
        for group in independent(resolved.asked(known)):
            together = form_atoms(tuple(asked for _, asked in group), schema)
            for k, (number, asked) in enumerate(group):
                own = form_atoms((asked,), schema)
                for absent in (False, True):
                    alone = single(0, listed_in(own, absent), own, grids[number])
                    beside = single(k, listed_in(together, absent), together, grids[number])
                    assert beside == alone


@pytest.mark.parametrize("rows", ["public", "private"])
@pytest.mark.parametrize("seed", range(40))
def test_a_price_does_not_depend_on_what_was_priced_before(seed, rows):
    rng = Random(seed)  # noqa: S311 - a seed is enough
    schema = schema_of(rng, rows)
    batches = [[question(rng, schema) for _ in range(rng.randint(1, 5))] for _ in range(3)]
    batches.append([each for batch in batches for each in batch])
    # Nothing is kept from a schema to another one, though it be equal.
    fresh = [price(batch, Schema(**vars(schema))).explain() for batch in reversed(batches)]
    assert [price(batch, schema).explain() for batch in batches] == fresh[::-1]


@pytest.mark.parametrize("seed", range(40))
def test_questions_that_all_types_ask_are_seen_to_be_beyond_the_cap(seed, monkeypatch):
    rng = Random(seed)  # noqa: S311 - a seed is enough
    schema = schema_of(rng, rng.choice(["public", "private"]))
    monkeypatch.setattr(atoms, "MOST_ATOMS", rng.choice([(2, 0), (4, 1), (16, 0)]))
    cuts = [Leaf(name, ((rng.randint(1, POINTS[name] - 1), POINTS[name]),)) for name in "abc"]
    linked = Form((("a", 1), ("b", 1), ("c", 1)), 0, Fraction(1))
    filters = [*cuts, All((cuts[0], Leaf("e", ((0, 0),))))]
    batch = [Question(Statistic.COUNT, where, None, None, 0, ROWS) for where in filters]
    batch.append(Question(Statistic.SUM, All(), linked, None, 0, ROWS * 30, Fraction(9)))
    batch += [question(rng, schema) for _ in range(8)]
    seen = []

    def looked_at(*of):
        seen.append(atoms.beyond_cap(*of))
        return seen[-1]

    monkeypatch.setattr(worst_case, "beyond_cap", looked_at)
    quick = price(batch, schema)
    monkeypatch.setattr(worst_case, "beyond_cap", lambda *_: False)
    assert price(batch, schema) == quick
    assert any(seen) or atoms.MOST_ATOMS != (2, 0)
