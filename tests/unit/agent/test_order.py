"""Orders of questions, against charges that a real ``Earlier`` computes row by row."""

import itertools
import random
from fractions import Fraction
from math import prod

import pytest

from hartley.agent.earlier import Earlier
from hartley.agent.ledger.reading import ChargedRow
from hartley.agent.order import MOST_ORDERED, Charges
from hartley.agent.planning_agent import Agent
from hartley.agent.pricing.public_parts import PublicParts
from hartley.agent.questions.batch import to_plain
from hartley.agent.quotes import Desk, questions_of
from hartley.errors import Refused
from hartley.ranges.schema.schema import Schema

POOL = [
    "SELECT COUNT(*) FROM t WHERE a >= 3",
    "SELECT COUNT(*) FROM t WHERE a < 3",
    "SELECT a, COUNT(*) FROM t GROUP BY a",
    "SELECT BIN(a, 2), COUNT(*) FROM t GROUP BY BIN(a, 2)",
    "SELECT BIN(a, 3), COUNT(*) FROM t GROUP BY BIN(a, 3)",
    "SELECT SUM(a) FROM t",
    "SELECT AVG(a) FROM t WHERE b = 1",
    "SELECT MEDIAN(a) FROM t",
    "SELECT b, COUNT(*) FROM t GROUP BY b",
    "SELECT b, AVG(a) FROM t GROUP BY b",
    "SELECT AVG(b) FROM t",
    "SELECT AVG(a) FROM t WHERE g = 'x'",
    "SELECT AVG(a) FROM t WHERE g = 'y'",
    "SELECT BIN(a, 2), COUNT(*) FROM t WHERE g = 'y' GROUP BY BIN(a, 2)",
    "SELECT COUNT(*) FROM t WHERE a >= 2 AND b >= 1",
    "SELECT SUM(a + b) FROM t",
]


def schema_of(rows_per_unit=1, rows="public", *, nullable=False, g="public"):
    table = {"name": "t", "rows": rows}
    if rows_per_unit > 1:
        table |= {"rows_per_unit": rows_per_unit, "unit": "p"}
    if rows == "private":
        table["max_rows"] = 9
    return Schema.read(
        {
            "table": table,
            "columns": {
                "a": {"kind": "private", "range": [0, 5], "step": 1, "nullable": nullable},
                "b": {"kind": "private", "range": [0, 2], "step": 1},
                "g": {"kind": g if rows == "public" else "open", "values": ["x", "y"]},
            },
        }
    )


def charges_in(schema, plans, order, own=()):
    """Charge question after question as a ledger does, with its own bookkeeping.

    Return what is due for each of them, and what was spent on every type before.
    """
    earlier = Earlier(schema)
    paid, spent = set(), PublicParts()

    def charge(questions):
        row = len(earlier._rows) + 1
        earlier._add(ChargedRow(row, "", "v", "s", tuple(map(to_plain, questions))))
        paid.update(questions)

    for row in own:
        spent = spent.times(earlier.price(row, "").by_public)
        charge(row)
    before, cells = spent, []
    for place in order:
        told = earlier.told("")
        asked = plans[place]
        asked = asked.with_steps([told.finest(q) or q.step for q in asked.questions])
        unpaid = [question for question in questions_of([asked]) if question not in paid]
        after = spent.times(earlier.price(unpaid, "").by_public) if unpaid else spent
        cells.append(Fraction(after.most, spent.most))
        spent = after
        if unpaid:
            charge(unpaid)
    return cells, before


def drawn(rng, number):
    """Draw a schema, plans and perhaps an earlier row."""
    schema = schema_of(
        rng.choice([1, 1, 1, 2]), rng.choice(["public", "private"]), nullable=rng.random() < 0.3
    )
    desk, plans = Desk(schema, 9), []
    while len(plans) <= number:
        try:
            plans += desk.plan([rng.choice(POOL)], None, rng.choice([1, 2, 3, 4]))
        except Refused:
            continue
    own = (tuple(questions_of(plans[:1])),) if rng.random() < 0.5 else ()
    return schema, plans[1:], own


def check_orders(seed, number):
    schema, plans, own = drawn(random.Random(seed), number)  # noqa: S311 - the same worlds every time
    totals = {}
    for order in itertools.permutations(range(number)):
        cells, spent = charges_in(schema, plans, order, own)
        charges = Charges(schema, tuple(plans), own, spent)
        assert list(charges.in_order(order).cells) == cells
        totals[order] = prod(cells)
    best = charges.best_order()
    assert best.best
    assert best.total == totals[best.places] == min(totals.values())


@pytest.mark.parametrize("seed", range(12))
def test_the_best_order_is_the_best_of_all_orders(seed):
    check_orders(seed, 3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("number", [4, 5])
def test_the_best_order_of_more_questions_is_the_best_of_all_orders(seed, number):
    check_orders(100 + seed, number)


def planned(*texts_and_bits, schema=None):
    schema = schema or schema_of()
    desk = Desk(schema, 9)
    plans = tuple(desk.plan([text], None, bits)[0] for text, bits in texts_and_bits)
    return Charges(schema, plans)


CUT = "SELECT COUNT(*) FROM t WHERE a >= {}"
CUTS = [(CUT.format(cut), 1) for cut in range(1, 6)]
BINS = "SELECT BIN(a, {0}), COUNT(*) FROM t GROUP BY BIN(a, {0})"


def test_fine_bins_before_coarse_ones_cost_less_than_the_other_way_round():
    """Bins of 1, 2 and 6 cells: the fine ones decide the coarse ones."""
    charges = planned((BINS.format(2), 3), (BINS.format(3), 3), (BINS.format(1), 3))
    assert charges.in_order((0, 1, 2)).cells == (3, 2, 2)
    best = charges.best_order()
    assert best.places[0] == 2
    assert best.cells == (6, 1, 1)


def test_the_batch_can_cost_less_than_every_order():
    """Cuts of one column: together 6 cells, one by one 2 each, whatever the order."""
    charges = planned(*CUTS)
    assert charges.due(range(5)) == 6
    assert charges.best_order().cells == (2, 2, 2, 2, 2)


def test_the_batch_can_cost_more_than_an_order():
    """A sum in steps of 5 and of 5/3: the fine one decides the other, and a batch pays for both."""
    charges = planned(("SELECT SUM(a) FROM t", 1), ("SELECT SUM(a) FROM t", 2))
    assert charges.due((0, 1)) == 5
    assert charges.best_order()[:2] == ((1, 0), (4, 1))


def test_an_order_that_sorting_by_price_does_not_find():
    """Bins of a lower the finer average, which decides the coarser one."""
    charges = planned(
        (POOL[4], 1), (POOL[10], 1), (POOL[11], 2), (POOL[11], 3), schema=schema_of(g="open")
    )
    best = charges.best_order()
    assert best.cells == (2, 2, 3, 1)
    assert best.total < min(charges.in_order(order).total for order in charges._likely_orders())


def test_of_two_ways_to_the_same_set_the_cheaper_one_is_kept():
    texts = [(POOL[1], 1), (POOL[4], 3), (POOL[11], 1), (POOL[11], 2), (POOL[7], 3)]
    charges = planned(*texts, schema=schema_of(g="open"))
    assert charges.best_order().cells == (2, 1, 3, 1, 3)


def test_a_coarser_answer_after_a_finer_one_is_free_even_where_cells_do_not_nest():
    """Steps of 5/3 and 5/2: the account is answered in the cells that it knows."""
    charges = planned(("SELECT SUM(a) FROM t", "1.6"), ("SELECT SUM(a) FROM t", 2))
    assert charges.in_order((1, 0)).cells == (4, 1)
    assert charges.in_order((0, 1)).cells == (3, 2)


def test_a_row_that_says_who_is_in_the_table_counts_for_every_column():
    """AVG(b) also asks COUNT(*); with COUNT(a >= 3) it decides both bins of a."""
    schema = schema_of(2, "private")
    texts = [(POOL[10], 4), (POOL[0], 2), (POOL[4], 4)]
    charges = planned(*texts, schema=schema)
    assert charges.in_order((0, 1, 2)).cells[-1] == 1
    cells, _ = charges_in(schema, charges.plans, (0, 1, 2))
    assert list(charges.in_order((0, 1, 2)).cells) == cells


def test_people_of_different_types_share_what_is_due():
    """Three bins of either type, and a sum of everybody in 2 cells: 3 times 2 at most."""
    bins = "SELECT BIN(a, 2), COUNT(*) FROM t WHERE g = '{}' GROUP BY BIN(a, 2)"
    charges = planned((bins.format("x"), 2), (bins.format("y"), 2), ("SELECT SUM(b) FROM t", 1))
    assert charges.in_order((0, 1, 2)).cells == (3, 1, 2)
    assert charges.best_order().total == charges.due(range(3)) == 6
    later = Charges(charges.schema, charges.plans, (), charges.charge([0])[0])
    assert (later.due([1]), later.due([0, 1]), later.due([2])) == (1, 3, 2)


def test_more_questions_get_a_cheaper_order_than_the_given_one():
    others = [(POOL[8], 2), (POOL[10], 2), (BINS.format(3), 2), (BINS.format(2), 2)]
    charges = planned(*CUTS, *others, (BINS.format(1), 3))
    assert len(charges.plans) > MOST_ORDERED
    best, given = charges.best_order(), charges.in_order(range(10))
    assert not best.best
    assert sorted(best.places) == list(range(10))
    assert charges.in_order(best.places) == best
    assert best.total < given.total
    assert best.total == 6 * 3  # the fine bins decide all about a, and the groups all about b


@pytest.mark.slow
def test_an_agent_charges_what_the_order_says(tmp_path):
    schema = schema_of()
    texts = [POOL[3], POOL[2], POOL[5], POOL[7], POOL[0]]
    desk = Desk(schema, 6)
    charges = Charges(schema, tuple(desk.plan(texts, None, 3)))
    data = {"a": [0, 1, 2, 3, 4, 5], "b": [0, 1, 2, 0, 1, 2], "g": list("xyxyxy")}
    for number, ordering in enumerate((charges.in_order(range(5)), charges.best_order())):
        with Agent(data, schema, ledger=tmp_path / f"{number}.db", budget=30) as agent:
            bits = [agent.ask(texts[place], bits=3, vacuous=True).bits for place in ordering.places]
        assert [round(2**charged) for charged in bits] == list(ordering.cells)
