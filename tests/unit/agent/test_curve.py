"""The prices at which errors fall, against every price tried one by one."""

from fractions import Fraction

import pytest

import hartley
from hartley import Agent, Wish, plan, price_curve
from hartley.errors import OptionError, Refused
from hartley.exact import floor_power
from hartley.results.plan import bits_for

TINY = {
    "table": {"name": "t"},
    "columns": {
        "a": {"kind": "private", "range": [0, 11], "step": 1},
        "c": {"kind": "private", "values": ["u", "v", "w"]},
        "d": {"kind": "private", "range": [0, 99], "step": 1},
    },
}
MEDIAN, GROUPS = "SELECT MEDIAN(a) FROM t", "SELECT c, COUNT(*) FROM t GROUP BY c"
TEXTS = [
    MEDIAN,
    GROUPS,
    "SELECT SUM(a) FROM t",
    "SELECT AVG(a) FROM t WHERE c = 'u'",
    "SELECT COUNT(*), AVG(a) FROM t WHERE c = 'u'",
    "SELECT MEDIAN(a) FROM t WHERE c = 'u'",
    "SELECT STDDEV(a) FROM t",
    "SELECT MEDIAN(d) FROM t",
    "SELECT c, AVG(a) FROM t GROUP BY c",
]


def quoted(text, cells):
    """Return the price and the errors that a wish of so many cells buys, None if refused."""
    try:
        quote = hartley.price(Wish(text, bits=bits_for(cells)), TINY, rows=12, vacuous=True)
    except Refused:
        return None
    return quote.cells, quote.errors[0]


@pytest.mark.parametrize("text", TEXTS)
def test_every_price_up_to_32_cells_at_which_an_error_falls_is_on_the_curve(text):
    curve = price_curve(text, TINY, rows=12, most=5)
    on_curve = {point.cells: dict(point.errors) for point in curve.points}
    lowest: dict[str, Fraction] = {}
    for cells in range(1, 33):
        offer = quoted(text, cells)
        if offer is None:
            continue
        charged, errors = offer
        for label, error in errors:
            if label in lowest and error < lowest[label]:
                assert on_curve[charged][label] == error
            lowest[label] = min(error, lowest.get(label, error))
    assert {label: min(errors[label] for errors in on_curve.values()) for label in lowest} == lowest


@pytest.mark.parametrize("text", TEXTS)
def test_the_wish_of_a_point_buys_its_errors_at_its_price(text):
    curve = price_curve(text, TINY, rows=12)
    assert curve.points
    for point in curve.points:
        assert quoted(text, floor_power(point.wish)) == (point.cells, point.errors)
    cells = [point.cells for point in curve.points]
    assert cells == sorted(set(cells))
    assert curve.complete


def test_the_next_useful_price_is_named():
    curve = price_curve(GROUPS, TINY, rows=12)
    assert [point.cells for point in curve.points] == [1, 3]
    assert curve.points[0].vacuous == ("COUNT(*)",)
    assert curve.after(0) == curve.after("1.5") == curve.points[1]
    assert curve.at("1.5") == curve.points[0]
    assert curve.after(2) is None
    exact = "1.585 bits (--bits 1.585) give the exact number."
    assert curve.sentence() == f"Next useful price after 0 bits: {exact}"
    exact = price_curve(MEDIAN, TINY, rows=12, error=0)
    assert exact.sentence().endswith("no price gives a smaller error.")
    cut = price_curve(MEDIAN, TINY, rows=12, bits=2, most=2)
    assert cut.sentence().endswith("it lies beyond this curve.")
    assert not cut.complete


def test_a_price_at_which_a_number_is_still_vacuous_is_not_useful():
    text = "SELECT COUNT(*), AVG(a), MEDIAN(a) FROM t WHERE c = 'u'"
    curve = price_curve(text, TINY, rows=12, bits=1)
    above = [point for point in curve.points if point.cells > curve.asked]
    assert above[0].vacuous
    assert curve.next_point == next(point for point in above if not point.vacuous)


def test_the_median_of_twelve_values():
    """K cells of 12 values are ceil(12 / K) wide: 12, 6, 4, 3, 3, 2, ... values."""
    curve = price_curve(MEDIAN, TINY, rows=12)
    widths = {1: 11, 2: 5, 3: 3, 4: 2, 6: 1, 12: 0}
    assert {point.cells: 2 * point.errors[0][1] for point in curve.points} == widths


def test_an_error_that_depends_on_the_number_of_rows_says_so():
    curve = price_curve("SELECT AVG(a) FROM t WHERE c = 'u'", TINY, rows=12)
    assert any(point.errors != point.full_errors for point in curve.points)
    assert "AVG(a) ±0.416667 if 12 rows count" in str(curve)
    assert curve.sentence().endswith("give ±0.417 if 12 rows count, ±0.5 if 10.")


def test_an_average_of_groups_is_priced_for_a_group_of_average_size():
    text = "SELECT c, AVG(a) FROM t GROUP BY c"
    curve = price_curve(text, TINY, rows=3000)
    planned = plan([text], TINY, rows=3000, budget=3)
    for said in (str(curve), str(planned), str(curve.report())):
        assert "in an average group (1,000 rows or more)" in said
        assert "all 3,000 rows" not in said
        assert "all rows count" not in said


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 7, 1000, 65_535, 2**40 + 1, 3**50])
def test_a_number_of_bits_buys_exactly_its_cells(cells):
    text = bits_for(cells)
    assert floor_power(text) == cells
    whole, _, digits = text.partition(".")
    if digits:  # with one digit less, the next smaller and larger numbers buy something else
        shorter = int(whole + digits) // 10
        scale = 10 ** (len(digits) - 1)
        assert floor_power(Fraction(shorter, scale)) < cells
        assert floor_power(Fraction(shorter + 1, scale)) > cells


@pytest.mark.slow
def test_with_a_ledger_the_curve_says_what_is_due(tmp_path):
    data = {"a": list(range(12)), "c": list("uvw") * 4, "d": [0] * 12}
    with Agent(data, TINY, ledger=tmp_path / "ledger.db", budget=9) as agent:
        agent.ask(MEDIAN, bits=2)
        curve = price_curve(MEDIAN, agent)
        due = {point.cells: point.due for point in curve.points}
        assert due == {4: 1, 6: 2, 12: 3}  # cells of 3 values are known
        assert [point.paid for point in curve.points] == [True, False, False]
        assert dict(curve.points[0].errors) == {"MEDIAN(a)": 1}
        for point in curve.points:
            quote = agent.price(MEDIAN, bits=point.wish)
            assert round(2**quote.bits) == point.due
            assert (quote.errors, quote.cells) == ((point.errors,), point.cells)
        for bits in (0, 1, 2):  # a wish for less is answered with what is known
            assert curve.at(bits) == curve.points[0]
            assert curve.after(bits) == curve.points[1]
        assert str(curve).splitlines()[1] == "Already paid for (2 bits alone): MEDIAN(a) ±1"
        assert curve.sentence() == (
            "Next useful price after 1 bit: 2.585 bits (--bits 2.585) give ±0.5, of which 1 bit "
            "would be charged now."
        )
        assert "\n≤ 1.585 bits now, ≤ 3.585 bits alone: MEDIAN(a) exact\n" in str(curve)
        assert curve == price_curve(MEDIAN, TINY, ledger=tmp_path / "ledger.db")


@pytest.mark.slow
def test_an_answer_that_earlier_ones_decide_is_free_and_was_not_paid_for(tmp_path):
    data = {"a": list(range(12)), "c": list("uvw") * 4, "d": [0] * 12}
    with Agent(data, TINY, ledger=tmp_path / "ledger.db", budget=9) as agent:
        agent.ask("SELECT COUNT(*) FROM t WHERE a >= 6")
        curve = price_curve("SELECT COUNT(*) FROM t WHERE a < 6", agent)
        (point,) = curve.points
        assert (point.free, point.paid, point.bits, point.bits_alone) == (True, False, 0, 1)
        assert "Nothing more is due (1 bit alone): COUNT(*) exact" in str(curve)
        assert "no price gives a smaller error" in curve.sentence()
        agent.ask("SELECT COUNT(*) FROM t WHERE a < 6")
        assert price_curve("SELECT COUNT(*) FROM t WHERE a < 6", agent).points[0].paid


@pytest.mark.slow
def test_what_is_due_counts_for_each_public_type_as_a_charge_does(tmp_path):
    columns = {
        "c": {"kind": "public", "values": ["u", "v"]},
        "a": {"kind": "private", "range": [0, 15], "step": 1},
    }
    schema = {"table": {"name": "t"}, "columns": columns}
    data = {"c": list("uv") * 8, "a": list(range(16))}
    average = "SELECT c, AVG(a) FROM t GROUP BY c"
    with Agent(data, schema, ledger=tmp_path / "ledger.db", budget=40) as agent:
        for name in ("ana", "bob"):
            agent.allow(name, 20)
        agent.ask("SELECT AVG(a) FROM t WHERE c = 'u'", bits=3, analyst="ana")
        agent.ask(average, bits=2, analyst="bob")
        smaller = 0
        for analyst in ("ana", "bob"):
            for point in price_curve(average, agent, analyst=analyst, most=5).points:
                quote = agent.price(average, bits=point.wish, analyst=analyst, vacuous=True)
                assert point.bits == point.due_bits == quote.bits
                assert point.bits_alone == quote.bits_alone
                assert dict(point.errors) == dict(quote.errors[0])
                assert point.errors_if == quote.errors_if[0]
                smaller += quote.bits < quote.bits_alone
        assert smaller


def test_a_curve_is_written_as_plain_values_and_as_csv():
    curve = price_curve("SELECT COUNT(*), AVG(a) FROM t WHERE c = 'u'", TINY, rows=12)
    plain = curve.to_dict()
    assert plain["next_useful"] in plain["points"]
    assert len(plain["points"]) == len(curve.points)
    lines = curve.csv().splitlines()
    assert lines[0] == "bits_alone,cells,bits,due_bits,number,error,error_if_all_rows_count"
    assert len(lines) == 1 + 2 * len(curve.points)


@pytest.mark.parametrize(
    ("question", "options", "words"),
    [
        ([MEDIAN], {}, "one question"),
        (MEDIAN, {"most": 65}, "too long"),
        (MEDIAN, {"most": -1}, "out of reach"),
        (MEDIAN, {"bits": 1, "error": 1}, "Both an error and bits"),
        (MEDIAN, {"rows": 0}, "not positive"),
    ],
)
def test_mistakes_are_named(question, options, words):
    with pytest.raises(OptionError, match=words):
        price_curve(question, TINY, **({"rows": 12} | options))


def test_a_curve_is_drawn(tmp_path):
    curve = price_curve("SELECT COUNT(*), AVG(a) FROM t WHERE c = 'u'", TINY, rows=12)
    first, second = hartley.plot(curve).axes
    assert first.get_xlabel() == "price (bits)"
    assert second.get_ylabel() == "error of AVG(a)"
    page = hartley.write_html(curve, tmp_path / "curve.html").read_text()
    assert curve.sentence().split(";")[0][:20] in page
    assert "<svg" in page
