"""Parts of a budget for every year, quarter or month: questions stop at them, nothing resets."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from forgeries import rechained, refusal

from hartley.agent.ledger import open_ledger
from hartley.agent.replay import replay
from hartley.errors import OptionError, Refused
from hartley.trusted.ledger.rows import canonical
from hartley.trusted.ledger.state import Period, period_name

JUNE, JULY, LATER = (
    f"{day}T12:00:00.000000Z" for day in ("2027-06-30", "2027-07-01", "2028-01-01")
)


@pytest.fixture
def clock(monkeypatch):
    """The time that rows are given, to be set."""
    times = [JUNE]
    monkeypatch.setattr("hartley.trusted.ledger.chain.now", lambda: times[0])
    return times


@pytest.fixture
def ledger(place, about, clock):  # noqa: ARG001 - rows are dated by it
    with open_ledger(place.fresh()) as opened:
        opened.record("people", "created", about(10))
        opened.record("people", "period", {"per": "year", "bits": 3})
        yield opened


def ask(ledger, key, cells=2, analyst=None):
    paid = ledger.reserve("people", analyst, [{"q": key}], lambda _: cells)
    ledger.commit(paid, ["0"])
    return paid


def test_questions_stop_at_the_part_and_the_total_never_resets(ledger, clock):
    ask(ledger, 1, 8)
    with pytest.raises(Refused) as refused:
        ask(ledger, 2)
    assert refused.value.problem == (
        "The question costs 1 bit and the part of the year 2027 has 0 bits left"
    )
    assert refused.value.hint == (
        "ask from 2028-01-01 on, when the next year begins, or for a coarser answer"
    )
    assert not ledger.affords("people", None, [{"q": 2}], lambda _: 2)
    assert ask(ledger, 1, 8).cells == 1  # a repeat is free in any period
    clock[0] = LATER
    period = ledger.state("people").period
    assert (period.name, period.balance.remaining) == ("2028", 3.0)  # before any row says so
    ask(ledger, 3, 4)
    state = ledger.state("people")
    assert (state.spent, state.period.balance.spent, state.remaining) == (32, 4, 5.0)
    for year in (2029, 2030, 2031):
        clock[0] = f"{year}-03-01T00:00:00.000000Z"
        ask(ledger, year, 2)
    with pytest.raises(Refused, match="2 bits are left"):
        ask(ledger, 9, 8)
    assert ledger.verify().holds
    assert refusal(ledger.entries()) is None


def test_a_clock_that_is_set_back_opens_no_period_again(ledger, clock):
    clock[0] = LATER
    ask(ledger, 1, 8)
    clock[0] = JUNE
    assert ledger.state("people").period.name == "2028"
    with pytest.raises(Refused, match="the year 2028 has 0 bits left"):
        ask(ledger, 2)
    ledger.record("town", "population", {"bits": 3})
    times = [entry.time for entry in ledger.entries()]
    assert times == sorted(times)
    assert times[-1] == LATER
    assert ledger.verify().holds


@pytest.mark.parametrize(("per", "second"), [("month", "2027-07"), ("quarter", "2027-Q3")])
def test_months_and_quarters(ledger, clock, per, second):
    ledger.record("people", "period", {"per": per, "bits": 1})
    ask(ledger, 1)
    with pytest.raises(Refused, match="ask from 2027-07-01"):
        ask(ledger, 2)
    clock[0] = JULY
    ask(ledger, 2)
    assert ledger.state("people").period.name == second
    assert ledger.verify().holds
    assert refusal(ledger.entries()) is None


@pytest.mark.parametrize(
    ("per", "name", "following"),
    [
        ("year", "2027", "2028-01-01"),
        ("quarter", "2027-Q1", "2027-04-01"),
        ("quarter", "2027-Q4", "2028-01-01"),
        ("month", "2027-01", "2027-02-01"),
        ("month", "2027-12", "2028-01-01"),
    ],
)
def test_the_next_period_begins_on_a_day(per, name, following):
    day = Period(per, Fraction(1), name).following
    assert day == following
    assert period_name(per, f"{day}T00:00:00.000000Z") > name


def test_more_bits_keep_what_was_spent_and_another_period_begins_anew(ledger):
    ask(ledger, 1, 8)
    with pytest.raises(OptionError, match="exceed its part of the budget"):
        ledger.record("people", "period", {"per": "year", "bits": 2})
    ledger.record("people", "period", {"per": "year", "bits": 4})
    assert ledger.state("people").period.balance.spent == 8
    ledger.record("people", "period", {"per": "month", "bits": 1})
    assert ledger.state("people").period.balance.spent == 1
    entry = ledger.record("people", "period", {"per": None, "bits": None})
    assert entry.told["before"] == "1 per month"
    assert ledger.state("people").period is None
    ask(ledger, 2, 64)
    assert ledger.verify().holds
    assert refusal(ledger.entries()) is None


def test_the_worst_case_of_changing_the_kind_within_a_year(sqlite_place, about, clock):
    """The numbers of docs/accountant.md: 8 bits, six months of 1 bit, and 8 bits again."""
    with open_ledger(sqlite_place.fresh()) as ledger:
        ledger.record("people", "created", about(22))
        clock[0] = "2027-05-01T12:00:00.000000Z"
        ledger.record("people", "period", {"per": "year", "bits": 8})
        ask(ledger, 1, 256)
        for month in range(6, 12):
            clock[0] = f"2027-{month:02}-01T12:00:00.000000Z"
            if month == 6:
                ledger.record("people", "period", {"per": "month", "bits": 1})
            ask(ledger, month, 2)
            with pytest.raises(Refused, match="the part of the month"):
                ask(ledger, 100 + month, 2)
        clock[0] = "2027-12-01T12:00:00.000000Z"
        ledger.record("people", "period", {"per": "year", "bits": 8})
        ask(ledger, 12, 256)
        with pytest.raises(Refused):
            ask(ledger, 13, 2)
        assert ledger.state("people").spent == 2**22
        assert ledger.verify().holds
        assert refusal(ledger.entries()) is None


@pytest.mark.parametrize("wrong", [{"per": "week", "bits": 1}, {"per": "year"}, {"bits": 1}])
def test_a_period_needs_a_name_and_bits(ledger, wrong):
    with pytest.raises(OptionError):
        ledger.record("people", "period", wrong)


def test_open_columns_of_new_data_count_in_the_period(ledger):
    ask(ledger, 1, 2)
    ledger.record("people", "version", {"rows": 5, "open_factor": 4})
    assert ledger.state("people").period.balance.spent == 8
    with pytest.raises(Refused, match="the charges in the year 2027 exceed its part") as refused:
        ledger.record("people", "version", {"rows": 5, "open_factor": 2})
    assert "raise the part of the year 2027 first" in refused.value.hint
    assert ledger.verify().holds
    assert refusal(ledger.entries()) is None


def forged(entries, change):
    rows = list(entries)
    for at, entry in enumerate(rows):
        rows[at] = change(entry) or entry
    return rechained(rows)


def with_content(**lie):
    def change(entry):
        if entry.kind != "period":
            return None
        return replace(entry, content=canonical({**entry.told, **lie}))

    return change


def forgotten(entry):
    state = json.loads(entry.state)
    if entry.kind == "reserve":
        state["period"] = {**state["period"], "spent": "1"}
    return replace(entry, state=canonical(state))


def dated_back(entry):
    return replace(entry, time="2001-01-01T00:00:00.000000Z") if entry.kind == "commit" else None


def in_one_year(entry):
    return replace(entry, time=JUNE)


@pytest.mark.parametrize(
    "change",
    [
        forgotten,
        dated_back,
        in_one_year,
        with_content(name="2026"),
        with_content(bits="9"),
        with_content(before="3 per year"),
    ],
)
def test_forged_periods_are_found(ledger, clock, change):
    ask(ledger, 1, 8)
    clock[0] = LATER
    ask(ledger, 2, 2)
    entries = ledger.entries()
    assert replay(entries)[1].holds
    assert refusal(entries) is None
    rows = forged(entries, change)
    assert not replay(rows)[1].holds
    assert refusal(rows) is not None


def test_a_check_that_starts_from_a_head_knows_the_period(ledger, clock):
    ask(ledger, 1, 4)
    head = ledger.head()
    ask(ledger, 2, 2)
    clock[0] = LATER
    ask(ledger, 3, 8)
    assert ledger.verify(since=head).holds
