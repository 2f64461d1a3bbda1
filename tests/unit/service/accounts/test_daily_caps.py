"""What a charge of an account is checked against, inside the transaction that writes it."""

import math
from contextlib import nullcontext

import pytest
from hypothesis import given, strategies as st

from hartley.errors import EngineError, NotPermitted, Refused
from hartley.exact import floor_power
from hartley.service.accounts import check_cap
from hartley.service.identity import Identity, Role, TokenScope


@pytest.fixture
def spend(accounts, hands, monkeypatch):
    """Charge an account: spend(question, cells) -> the charge, at the time of the test."""
    monkeypatch.setattr(
        "hartley.trusted.ledger.chain.now",
        lambda: hands.time.isoformat(timespec="microseconds").replace("+00:00", "Z"),
    )
    for dataset in ("people", "patients"):
        accounts.ledger.record(dataset, "created", {"bits": 100, "schema": {}, "rows": 9})

    def charge(question, cells, *, name="ana", dataset="people", identity=None):
        check = accounts.charge_check(identity or accounts.identity_of(name))
        asked = [{"q": question}]
        return accounts.ledger.reserve(
            dataset, name, asked, lambda _: cells, check=check
        ).account_cells

    return charge


def test_without_a_cap_nothing_more_is_checked(spend):
    assert spend(1, 2**60) == 2**60


def test_a_cap_is_reached_exactly_and_not_exceeded(accounts, spend):
    accounts.set_daily_cap("ana", 3, by="owner")
    assert spend(1, 4) == 4
    with pytest.raises(
        Refused, match=r"costs 1\.585 bits and the account may spend 1 bit more"
    ) as e:
        spend(2, 3)
    assert (e.value.requested > 1.58, e.value.remaining) == (True, 1.0)
    assert spend(3, 2) == 2
    with pytest.raises(Refused, match="may spend 0 bits more today"):
        spend(4, 2)
    assert spend(1, 4) == 1  # a repeat stays free
    assert accounts.spent_today("ana") == 3.0


def test_a_cap_of_nothing_leaves_repeats_and_constant_answers(accounts, spend):
    accounts.set_daily_cap("ana", 0, by="owner")
    assert spend(1, 1) == 1
    with pytest.raises(Refused):
        spend(2, 2)


def test_a_cap_counts_all_datasets_and_the_account_alone(accounts, spend):
    accounts.set_daily_cap("ana", 2, by="owner")
    accounts.add("bob", "analyst", by="owner")
    spend(0, 16, name="bob")
    spend(1, 2)
    spend(1, 2, dataset="patients")
    with pytest.raises(Refused):
        spend(2, 2, dataset="patients")
    with pytest.raises(Refused):
        spend(2, 2)
    assert accounts.spent_today("bob") == 4.0


def test_a_new_day_begins_at_midnight_utc(accounts, spend, hands):
    accounts.set_daily_cap("ana", 1, by="owner")
    spend(1, 2)
    hands.move(hours=14, minutes=29, seconds=59)  # 23:59:59
    with pytest.raises(Refused):
        spend(2, 2)
    hands.move(seconds=1)
    assert accounts.spent_today("ana") == 0.0
    spend(2, 2)
    with pytest.raises(Refused):
        spend(3, 2)


def test_a_worker_that_opens_later_counts_the_day_from_the_rows(
    accounts, other_worker, spend, hands, monkeypatch
):
    monkeypatch.setattr("hartley.service.accounts.PAGE", 3)
    spend(0, 8)
    hands.move(days=1)
    for number in range(1, 9):
        spend(number, 2)
    assert other_worker.spent_today("ana") == 8.0
    spend(9, 2)  # seen by reading only what came since
    assert other_worker.spent_today("ana") == accounts.spent_today("ana") == 9.0


def test_a_store_that_fails_on_the_way_leaves_no_part_of_a_day(accounts, spend, monkeypatch):
    for number in range(5):
        spend(number, 2)
    monkeypatch.setattr("hartley.service.accounts.PAGE", 2)
    accounts._daily._begin("")  # as after a start
    real, calls = accounts.ledger.store.read, []

    def failing(work):
        def once(transaction):
            run = transaction.run

            def breaking(statement, values):
                calls.append(statement)
                if len(calls) == 2:
                    raise EngineError("The store is gone", hint="wait")
                return run(statement, values)

            transaction.run = breaking
            return work(transaction)

        return real(once)

    monkeypatch.setattr(accounts.ledger.store, "read", failing)
    with pytest.raises(EngineError):
        accounts.spent_today("ana")
    assert accounts.spent_today("ana") == 5.0


def test_a_token_that_may_repeat_asks_nothing_new(accounts, spend):
    spend(1, 2)
    for scope in (TokenScope.REPEAT, TokenScope.PRICE):
        token = accounts.issue_token("ana", scopes=scope, by="owner")
        identity = accounts.authenticate(token.text)
        assert spend(1, 2, identity=identity) == 1
        with pytest.raises(NotPermitted, match="nothing new"):
            spend(2, 2, identity=identity)


@pytest.mark.parametrize("what", ["token", "account"])
def test_what_was_revoked_meanwhile_is_not_charged(accounts, spend, what):
    token = accounts.issue_token("ana", scopes="ask", by="owner")
    identity = accounts.authenticate(token.text)
    if what == "token":
        accounts.revoke_token(token.token_id, by="owner")
    else:
        accounts.revoke_account("ana", by="owner")
    with pytest.raises(NotPermitted, match="revoked or expired meanwhile"):
        spend(1, 2, identity=identity)
    stranger = Identity("nobody", Role.ANALYST, TokenScope.ASK, None)
    with pytest.raises(NotPermitted):
        spend(1, 2, identity=stranger)
    assert accounts.ledger.history("people") == []


@pytest.mark.slow
@given(
    st.fractions(0, 12, max_denominator=10),
    st.lists(st.integers(1, 40), min_size=1, max_size=12),
)
def test_a_cap_admits_just_the_products_within_it(cap, charges):
    """The oracle compares powers of integers: p <= 2^(a/b) if and only if p^b <= 2^a."""
    spent = 1
    for cells in charges:
        fits = (spent * cells) ** cap.denominator <= 2**cap.numerator
        with nullcontext() if fits else pytest.raises(Refused) as refusal:
            check_cap(cap, spent, cells)
        if fits:
            spent *= cells
        else:
            most = max(0.0, math.log2(floor_power(cap) / spent))
            assert refusal.value.remaining <= most + 1e-12


def test_the_hash_of_the_last_row_tells_a_restored_ledger(accounts, spend, place, address):
    spend(1, 2)
    spend(2, 2)
    assert accounts.spent_today("ana") == 2.0
    accounts._daily._hash = "of a row that is not there any more"
    accounts._daily._products = {"ana": 2**9}
    assert accounts.spent_today("ana") == 2.0
    assert place.run(address, ("SELECT count(*) FROM hartley_entries", ()))[0][0] == 4
