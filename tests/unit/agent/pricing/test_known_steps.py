"""Steps that were found for a batch and serve others: the same as a search for each of them."""

from fractions import Fraction

import numpy as np
import pytest

from hartley.errors import Refused
from hartley.schema.schema import Column, Schema
from hartley.trusted.pricing import one_row, price as worst_case
from hartley.trusted.pricing.price import steps_within
from hartley.trusted.questions.batch import All, Either, Form, Question, Statistic, Test as Leaf

ROWS = 40
ONE = Fraction(1)
KINDS = ("private", "private", "private", "public", "open")


def schema_of(rng):
    columns = {}
    for name in ("a", "b", "c", "d"):
        points = int(rng.integers(2, 9))
        columns[name] = Column(
            name,
            str(rng.choice(KINDS)),
            low=Fraction(0),
            high=Fraction(points - 1),
            step=Fraction(1),
            nullable=bool(rng.integers(5) == 0),
        )
    rows = ("public", "private")[rng.integers(2)]
    return Schema("tiny", columns, None, 1, rows, None if rows == "public" else ROWS)


def leaf(rng, schema):
    name = str(rng.choice(list(schema.columns)))
    low, high = sorted(rng.integers(0, schema.columns[name].points, 2).tolist())
    return Leaf(name, ((low, high),))


def template_of(rng, schema):
    """Return a statistic with its form, to be asked with many filters."""
    statistic = list(Statistic)[rng.integers(4)]
    names = sorted(rng.choice(list(schema.columns), rng.integers(1, 3), replace=False).tolist())
    return statistic, tuple((n, int(rng.integers(1, 4))) for n in names), int(rng.integers(3))


def question(rng, schema, template):
    statistic, terms, constant = template
    where = All()
    if rng.integers(6):
        tests = tuple(leaf(rng, schema) for _ in range(rng.choice([1, 1, 2])))
        where = (All, Either)[rng.integers(2)](tests)
    if statistic is Statistic.COUNT:
        return Question(statistic, where, None, None, 0, ROWS)
    columns = {name: schema.columns[name] for name, _ in terms}
    most = constant + sum(times * (columns[name].points - 1) for name, times in terms)
    present = [Leaf(n, ((0, c.points - 1),)) for n, c in columns.items() if c.nullable]
    form, where = Form(terms, constant, ONE), All((where, *present))
    if statistic is Statistic.ORDER:
        return Question(statistic, where, form, Fraction(1, 2), 0, most)
    top = most * most if statistic is Statistic.SQUARES else most
    return Question(statistic, where, form, None, 0, ROWS * top)


class Counted(dict):
    """A dict that counts what is taken from it."""

    taken = 0

    def get(self, key, default=None):
        value = super().get(key, default)
        self.taken += value is not None
        return value


def steps_or_words(*of):
    try:
        return steps_within(*of)
    except Refused as refused:
        return str(refused)


def differences(seeds):
    """Count the batches that get other steps with what was kept, and those that used it."""
    different = used = 0
    for seed in seeds:
        rng = np.random.default_rng([seed, 3])
        schema, known = schema_of(rng), Counted()
        templates = [template_of(rng, schema) for _ in range(3)]
        for _ in range(40):
            asked = rng.permutation(3)[: rng.choice([1, 1, 1, 2])]
            batch = [question(rng, schema, templates[k]) for k in asked]
            limit = int(rng.integers(2, 5))
            steps = steps_or_words(batch, limit, schema, (), known)
            different += steps != steps_or_words(batch, limit, schema)
        used += known.taken
    return different, used


@pytest.mark.parametrize("part", range(4))
def test_kept_steps_are_those_of_a_search(part):
    different, used = differences(range(4 * part, 4 * part + 4))
    assert different == 0
    assert used > 10


def test_batches_with_other_prices_do_not_share_steps(monkeypatch):
    """If records and their ranges were left out of the name, some batch would get other steps."""
    signature = one_row.signature_of

    def coarser(atoms):
        asked, listed, _, _ = signature(atoms)
        return asked, tuple([alive for alive, _, _, _ in listed])

    monkeypatch.setattr(worst_case, "signature_of", coarser)
    assert differences(range(6))[0] > 0
