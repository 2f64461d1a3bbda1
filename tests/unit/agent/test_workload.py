"""Workloads as text, and the order of their questions."""

import random
from fractions import Fraction
from math import prod

import pytest
from hypothesis import given, strategies as st

from hartley import Agent, Schema, Wish, read_workload
from hartley.agent.workload import Charges, parse_workload
from hartley.errors import OptionError, Refused
from hartley.results.plan import Ordering, WorkloadEntry
from hartley.trusted.earlier import ChargedRows
from hartley.trusted.ledger.ledger import ChargedRow
from hartley.trusted.precision import PriceDesk, questions_of
from hartley.trusted.pricing.regions import PublicParts
from hartley.trusted.questions.batch import to_plain

COUNT, MEAN = "SELECT COUNT(*) FROM people", "SELECT AVG(age) FROM people"


def plain(entries):
    return [
        (entry.wish.text, entry.wish.bits, entry.wish.error, str(entry.weight)) for entry in entries
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"-- bits=2\n{COUNT};\n-- weight=3\n{MEAN}",
        f"{COUNT}; -- bits=2\n{MEAN} -- weight=3",
        f"{COUNT} -- bits=2\n;\n{MEAN}; /* weight=3 */",
        f"-- a remark; a semicolon\n{COUNT}; --BITS = 2\n\n;; /* weight=3 */ {MEAN};\n-- the end",
        COUNT.replace(" FROM", " /* bits=2 */ FROM") + f";\n-- weight=3\n{MEAN}",
    ],
)
def test_a_wish_stands_before_inside_or_behind_its_question(text):
    entries = plain(parse_workload(text))
    assert [(" ".join(words.split()), *rest) for words, *rest in entries] == [
        (COUNT, "2", None, "1"),
        (MEAN, None, None, "3"),
    ]


def test_a_comment_behind_a_semicolon_belongs_to_the_question_before_and_below_to_the_next():
    entries = parse_workload(f"{COUNT}; -- weight=2\n-- weight=5\n{MEAN};")
    assert [entry.weight for entry in entries] == [2, 5]


def test_texts_with_semicolons_and_signs_of_comments_stay_whole():
    text = "SELECT COUNT(*) FROM people WHERE job = ';-- bits=3 /*' -- bits=1"
    (entry,) = parse_workload(text)
    assert entry.wish == Wish(text.rpartition(" -- ")[0], bits="1")


def test_several_settings_share_a_comment():
    (entry,) = parse_workload(f"-- error=0.5, weight=1/2\n{MEAN}")
    assert plain([entry]) == [(MEAN, None, "0.5", "1/2")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no question"),
        (" ;; -- nothing", "no question"),
        ("SELECT 'a", "cannot be read"),
        (f"{COUNT};\n-- bits=2", "bits=2 at the end of the file belongs to no question"),
        (f"{COUNT} -- bits=", "gives bits= no value"),
        (f"{COUNT} -- bits=2 because", "cannot be read as a wish"),
        (f"{COUNT} -- weight=0", "not positive"),
        (f"{COUNT} -- weight=much", "not a number"),
        (f"-- bits=2\n{COUNT} -- bits=3", "two comments with bits="),
        (f"-- bits=2\n{COUNT} -- error=3", "with bits= and with error="),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(text, words):
    with pytest.raises(OptionError, match=words):
        parse_workload(text)


def test_a_file_has_at_most_a_thousand_questions():
    assert len(parse_workload(f"{COUNT};" * 1000)) == 1000
    with pytest.raises(OptionError, match="more than 1,000 questions"):
        parse_workload(f"{COUNT};" * 1001)


def test_a_file_is_read_and_a_missing_one_is_named(tmp_path):
    path = tmp_path / "questions.sql"
    path.write_text(f"{COUNT}; -- bits=2", encoding="utf-8")
    assert plain(read_workload(path)) == [(COUNT, "2", None, "1")]
    with pytest.raises(OptionError, match=r"file of questions .*absent.sql cannot be read"):
        read_workload(tmp_path / "absent.sql")


@given(
    st.lists(
        st.tuples(
            st.sampled_from([COUNT, MEAN, f"{MEAN} WHERE job = '; -- x'", f"{COUNT} -- bits=9"]),
            st.sampled_from([None, "2", "1.585"]),
            st.sampled_from([1, 3, "0.25"]),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_what_is_written_is_read_back(parts):
    entries = [
        WorkloadEntry(
            Wish(text, bits=bits), parse_workload(f"{COUNT} -- weight={weight}")[0].weight
        )
        for text, bits, weight in parts
    ]
    again = parse_workload("".join(entry.to_sql() for entry in entries))
    without = [entry.wish.text.removesuffix(" -- bits=9") for entry in entries]
    assert [entry.wish.text for entry in again] == without
    assert [(e.wish.bits, e.weight) for e in again] == [(e.wish.bits, e.weight) for e in entries]


# --- order ---

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
CROSSING = [
    "SELECT COUNT(*) FROM t WHERE a BETWEEN 1 AND 3",
    "SELECT COUNT(*) FROM t WHERE a IN (1, 2, 5)",
    "SELECT COUNT(*) FROM t WHERE a >= 3 OR b = 0",
    "SELECT COUNT(*) FROM t WHERE b >= 1",
    "SELECT MEDIAN(a) FROM t WHERE b = 1",
    "SELECT SUM(b), MEDIAN(a) FROM t WHERE a >= 2",
    "SELECT b, SUM(a) FROM t GROUP BY b",
]
"""Questions whose filters cross many of the others."""


def schema_of(rows_per_unit=1, rows="public", *, nullable=False, g="public"):
    """Return a schema with two private columns and g, which is left out if it is of no kind."""
    table = {"name": "t", "rows": rows}
    if rows_per_unit > 1:
        table |= {"rows_per_unit": rows_per_unit, "unit": "p"}
    if rows == "private":
        table["max_rows"] = 9
    columns = {
        "a": {"kind": "private", "range": [0, 5], "step": 1, "nullable": nullable},
        "b": {"kind": "private", "range": [0, 2], "step": 1},
    }
    if g is not None:
        columns["g"] = {"kind": g if rows == "public" else "open", "values": ["x", "y"]}
    return Schema.read({"table": table, "columns": columns})


def earlier_rows(schema, rows):
    earlier = ChargedRows(schema)
    for number, row in enumerate(rows, start=1):
        earlier._add(ChargedRow(number, "", "v", "s", tuple(map(to_plain, row))))
    return earlier


def charged(schema, rows, plan):
    """Charge one plan after rows as a ledger does: what every type pays, and the row it adds."""
    earlier = earlier_rows(schema, rows)
    told = earlier.told("")
    asked = plan.with_steps([told.finest(q) or q.step for q in plan.questions])
    paid = {question for row in rows for question in row}
    unpaid = tuple(question for question in questions_of([asked]) if question not in paid)
    return (earlier.price(unpaid, "").by_public if unpaid else PublicParts()), unpaid


def spent_on(schema, own):
    """Return what an account spent on its rows."""
    spent = PublicParts()
    for number, row in enumerate(own):
        spent = spent.times(earlier_rows(schema, own[:number]).price(row, "").by_public)
    return spent


def charges_of_orders(schema, plans, own=(), given=None):
    """Yield every order, or a given one alone, with what is due for each question of it."""

    def go_on(places, rows, spent, cells):
        left = [place for place in range(len(plans)) if place not in places]
        if not left:
            yield places, cells
        for place in left if given is None else given[len(places) :][:1]:
            parts, row = charged(schema, rows, plans[place])
            after = spent.times(parts)
            due = Fraction(after.most, spent.most)
            added = (*rows, row) if row else rows
            yield from go_on((*places, place), added, after, (*cells, due))

    return go_on((), tuple(own), spent_on(schema, own), ())


def drawn(rng, number, several=(1, 1, 1, 2), kinds=("public",), pool=POOL):
    """Draw a schema, plans and perhaps an earlier row."""
    schema = schema_of(
        rng.choice(several),
        rng.choice(["public", "private"]),
        nullable=rng.random() < 0.3,
        g=rng.choice(kinds),
    )
    pool = [text for text in pool if "g" in schema.columns or "g =" not in text]
    desk, plans = PriceDesk(schema, 9), []
    while len(plans) <= number:
        try:
            plans += desk.plan([rng.choice(pool)], None, rng.choice([1, 2, 3, 4]))
        except Refused:
            continue
    own = (tuple(questions_of(plans[:1])),) if rng.random() < 0.5 else ()
    return schema, plans[1:], own


def check_orders(seed, number, **drawn_from):
    rng = random.Random(seed)  # noqa: S311 - the same worlds every time
    schema, plans, own = drawn(rng, number, **drawn_from)
    charges = Charges(schema, tuple(plans), own, spent_on(schema, own))
    totals = {}
    for places, cells in charges_of_orders(schema, plans, own):
        if len(totals) < 120:
            assert charges.in_order(places).cells == cells
        totals[places] = prod(cells)
    best = charges.best_order()
    assert best.best == (number <= 2)
    assert best.total == totals[best.places] <= totals[tuple(range(number))]
    if best.best:
        assert best.total == min(totals.values())
    return best.total == min(totals.values())


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("number", [2, 3])
def test_an_order_costs_what_a_ledger_charges_and_the_found_one_no_more_than_the_given(
    seed, number
):
    check_orders(seed, number)


@pytest.mark.slow
@pytest.mark.parametrize("number", [4, 5])
def test_moves_of_single_questions_nearly_always_find_the_best_order(number):
    assert sum(check_orders(100 + seed, number) for seed in range(12)) >= 11


SEVERAL = {
    "several": (2, 3),
    "kinds": (None, None, None, "public", "open"),
    "pool": POOL + CROSSING,
}
"""Worlds in which a person has several rows; mostly all columns are private."""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "seed"), [(5, seed) for seed in range(8)] + [(6, 8), (6, 9)])
def test_orders_cost_what_a_ledger_charges_with_several_rows(number, seed):
    check_orders(200 + seed, number, **SEVERAL)


def planned(*texts_and_bits, schema=None):
    schema = schema or schema_of()
    desk = PriceDesk(schema, 9)
    plans = tuple(desk.plan([text], None, bits)[0] for text, bits in texts_and_bits)
    return Charges(schema, plans)


def all_private(columns, rows_per_unit=1):
    table = {"name": "t"}
    if rows_per_unit > 1:
        table |= {"rows_per_unit": rows_per_unit, "unit": "p"}
    kinds = {c: {"kind": "private", "range": [0, n - 1], "step": 1} for c, n in columns.items()}
    return Schema.read({"table": table, "columns": kinds})


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
    assert charges.batch_charge(range(5)) == 6
    assert charges.best_order().cells == (2, 2, 2, 2, 2)


def test_the_batch_can_cost_more_than_an_order():
    """A sum in steps of 5 and of 5/3: the fine one decides the other, and a batch pays for both."""
    charges = planned(("SELECT SUM(a) FROM t", 1), ("SELECT SUM(a) FROM t", 2))
    assert charges.batch_charge((0, 1)) == 5
    assert charges.best_order() == Ordering((1, 0), (4, 1), best=True)


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
    ((_, cells),) = charges_of_orders(schema, charges.plans, given=(0, 1, 2))
    assert charges.in_order((0, 1, 2)).cells == cells


def test_people_of_different_types_share_what_is_due():
    """Three bins of either type, and a sum of everybody in 2 cells: 3 times 2 at most."""
    bins = "SELECT BIN(a, 2), COUNT(*) FROM t WHERE g = '{}' GROUP BY BIN(a, 2)"
    charges = planned((bins.format("x"), 2), (bins.format("y"), 2), ("SELECT SUM(b) FROM t", 1))
    assert charges.in_order((0, 1, 2)).cells == (3, 1, 2)
    assert charges.best_order().total == charges.batch_charge(range(3)) == 6
    later = Charges(charges.schema, charges.plans, (), charges.charge([0])[0])
    assert (later.batch_charge([1]), later.batch_charge([0, 1]), later.batch_charge([2])) == (
        1,
        3,
        2,
    )


BY_BINS = [(CROSSING[1], 9), (BINS.format(2), 9), ("SELECT AVG(a) FROM t WHERE b = 1", 7)]


def test_of_counts_that_cross_the_first_ones_are_taken():
    """After the bins of a, their rows are known; after the count that crosses them, its own are."""
    charges = planned(*BY_BINS, schema=schema_of(3, g=None))
    assert charges.in_order((0, 1, 2)).cells == (4, 10, 29)
    assert charges.in_order((1, 0, 2)).cells == (10, 4, 18)
    assert charges.in_order((1, 2, 0)).cells == (10, 20, 4)
    assert charges.in_order((0, 2, 1)).cells == (4, 34, 10)


def test_of_filters_that_hold_for_the_same_records_the_last_one_counts():
    """One row per person: the columns of its form count as points, 2 of d and 3 of c."""
    charges = planned(
        ("SELECT MEDIAN(d) FROM t WHERE a >= 5 OR b >= 5", 3),
        ("SELECT MEDIAN(c) FROM t WHERE a >= 5 OR b >= 5", 3),
        ("SELECT SUM(a), SUM(a + b) FROM t", 9),
        schema=all_private({"a": 6, "b": 6, "c": 3, "d": 2}),
    )
    assert charges.in_order((0, 1, 2)).cells == (3, 3, 33)
    assert charges.in_order((1, 0, 2)).cells == (4, 2, 25)
    assert charges.best_order() == Ordering((1, 0, 2), (4, 2, 25))


GROUPS = [
    (BINS.format(2), 4),
    (BINS.format(3), 4),
    ("SELECT b, COUNT(*) FROM t GROUP BY b", 4),
    ("SELECT b, AVG(a) FROM t GROUP BY b", 4),
    ("SELECT c, AVG(a) FROM t GROUP BY c", 4),
    ("SELECT MEDIAN(a) FROM t", 4),
    ("SELECT c, COUNT(*) FROM t WHERE a >= 3 GROUP BY c", 4),
    ("SELECT AVG(c) FROM t", 4),
]


@pytest.mark.slow
def test_moves_of_single_questions_may_miss_the_best_order_which_is_said():
    charges = planned(*GROUPS, schema=all_private({"a": 6, "b": 3, "c": 4}, 2))
    found = charges.best_order()
    assert not found.best
    assert found.total == 2 * 967_680 > charges.batch_charge(range(8))


def test_more_questions_get_a_cheaper_order_than_the_given_one():
    others = [(POOL[8], 2), (POOL[10], 2), (BINS.format(3), 2), (BINS.format(2), 2)]
    charges = planned(*CUTS, *others, (BINS.format(1), 3))
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
    desk = PriceDesk(schema, 6)
    charges = Charges(schema, tuple(desk.plan(texts, None, 3)))
    data = {"a": [0, 1, 2, 3, 4, 5], "b": [0, 1, 2, 0, 1, 2], "g": list("xyxyxy")}
    for number, ordering in enumerate((charges.in_order(range(5)), charges.best_order())):
        with Agent(data, schema, ledger=tmp_path / f"{number}.db", budget=30) as agent:
            bits = [agent.ask(texts[place], bits=3, vacuous=True).bits for place in ordering.places]
        assert [round(2**charged) for charged in bits] == list(ordering.cells)
