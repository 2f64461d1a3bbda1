"""Accounts: names, roles, grants and caps, what their owners did, and how they are opened."""

import sqlite3
from datetime import timedelta
from fractions import Fraction

import pytest

from hartley import open_ledger
from hartley.errors import InputError, OptionError
from hartley.service.accounts import open_accounts
from hartley.service.identity import Role, verifier_of

BY = {"by": "owner"}


def test_an_account_begins_with_nothing(accounts):
    account = accounts.get("ana")
    assert (account.role, account.revoked, account.datasets, account.daily_cap) == (
        Role.ANALYST,
        None,
        frozenset(),
        None,
    )
    assert account.created == "2026-03-01T09:30:00.000000Z"
    assert [each.name for each in accounts.list()] == ["ana", "owner"]
    assert accounts.tokens("ana") == []


@pytest.mark.parametrize("name", ["", "Ana", "a b", "-a", "a" * 65, "a\n", "é", None, "a;b"])
def test_a_name_that_could_confuse_is_refused(accounts, name):
    with pytest.raises(OptionError, match="name of the account"):
        accounts.add(name, "analyst", **BY)


def test_a_name_is_never_used_twice(accounts):
    accounts.revoke_account("ana", **BY)
    with pytest.raises(InputError, match="There is an account 'ana' already"):
        accounts.add("ana", "analyst", **BY)


def test_mistakes_name_the_culprit(accounts):
    with pytest.raises(OptionError, match="no role 'king'; hint: use owner, analyst or auditor"):
        accounts.add("bob", "king", **BY)
    with pytest.raises(OptionError, match="first owner"):
        accounts.add("owner", "analyst", **BY)
    accounts.revoke_account("ana", **BY)
    with pytest.raises(InputError, match="no account 'bob'"):
        accounts.get("bob")
    for act in (
        lambda: accounts.issue_token("ana", scopes="ask", **BY),
        lambda: accounts.grant("ana", "people", **BY),
        lambda: accounts.revoke_account("ana", **BY),
        lambda: accounts.set_daily_cap("ana", 1, **BY),
    ):
        with pytest.raises(InputError, match="'ana' is revoked"):
            act()


def test_the_last_owner_stays(accounts):
    with pytest.raises(InputError, match="last owner"):
        accounts.revoke_account("owner", **BY)
    accounts.add("second", "owner", **BY)
    accounts.revoke_account("owner", **BY)
    assert accounts.get("owner").revoked == "2026-03-01T09:30:00.000000Z"


def test_a_grant_is_seen_and_withdrawn(accounts, token):
    accounts.grant("ana", "people", **BY)
    accounts.grant("ana", "people", **BY)
    identity = accounts.authenticate(token.text)
    assert (identity.sees("people"), identity.sees("patients")) == (True, False)
    accounts.withdraw("ana", "people", **BY)
    assert not accounts.authenticate(token.text).sees("people")
    owner = accounts.issue_token("owner", scopes="price", **BY)
    assert accounts.authenticate(owner.text).sees("anything")


def test_a_cap_is_an_exact_number(accounts):
    accounts.set_daily_cap("ana", "1.1", **BY)
    assert accounts.get("ana").daily_cap == Fraction(11, 10)
    accounts.set_daily_cap("ana", None, **BY)
    assert accounts.get("ana").daily_cap is None
    for bad in (-1, "many", float("nan"), 10**9):
        with pytest.raises(OptionError):
            accounts.set_daily_cap("ana", bad, **BY)


@pytest.mark.parametrize("text", ["\x00", "\ud800", "x" * 10_000, "a'; DROP TABLE x; --"])
def test_a_text_that_a_database_cannot_hold_names_nothing(accounts, text):
    assert accounts.identity_of(text) is None
    for act in (
        lambda: accounts.get(text),
        lambda: accounts.revoke_account(text, **BY),
        lambda: accounts.revoke_token(text, **BY),
        lambda: accounts.tokens(text),
        lambda: accounts.withdraw("ana", text, **BY) or accounts.grant(text, "people", **BY),
    ):
        with pytest.raises(InputError):
            act()
    accounts.note(text, text, text, text)
    assert accounts.audit()[-1].who.isprintable()


def test_numbers_that_a_database_cannot_hold_are_no_rows(accounts):
    assert accounts.audit(after=2**70) == []
    assert accounts.audit(after=-(2**70), limit=2**70) == accounts.audit()
    with pytest.raises(OptionError, match="too far away"):
        accounts.issue_token("ana", scopes="ask", expires=timedelta(days=10**8), **BY)


def test_every_act_is_a_row_by_pages(accounts, token):
    accounts.grant("ana", "people", **BY)
    accounts.set_daily_cap("ana", 2, **BY)
    accounts.withdraw("ana", "people", **BY)
    accounts.revoke_token(token.token_id, by="second")
    accounts.revoke_account("ana", **BY)
    accounts.note("owner", "allowance", "people", "ana 4")
    rows = accounts.audit()
    assert [(row.who, row.act, row.subject, row.detail) for row in rows] == [
        ("test", "add account", "owner", "owner"),
        ("owner", "add account", "ana", "analyst"),
        ("owner", "issue token", "ana", f"{token.token_id} ask"),
        ("owner", "grant", "ana", "people"),
        ("owner", "set daily cap", "ana", "2"),
        ("owner", "withdraw", "ana", "people"),
        ("second", "revoke token", "ana", token.token_id),
        ("owner", "revoke account", "ana", ""),
        ("owner", "allowance", "people", "ana 4"),
    ]
    assert [row.sequence for row in rows] == list(range(1, 10))
    assert accounts.audit(after=3, limit=2) == rows[3:5]
    assert accounts.audit(after=9) == accounts.audit(limit=-1) == []


@pytest.mark.parametrize("statement", ["UPDATE hartley_service_audit SET who = 'x'", "DELETE FROM"])
def test_the_database_keeps_the_rows_of_the_audit_log(accounts, place, address, statement):
    before = accounts.audit()
    full = statement if "SET" in statement else f"{statement} hartley_service_audit"
    with pytest.raises(Exception, match="rows of the audit log stay"):
        place.run(address, (full, ()))
    assert accounts.audit() == before


def test_a_refused_act_leaves_no_row(accounts):
    before = accounts.audit()
    with pytest.raises(InputError):
        accounts.revoke_account("owner", **BY)
    assert accounts.audit() == before


def test_accounts_are_opened_by_their_address(place):
    address = place.fresh()
    with pytest.raises(InputError):
        open_accounts(address, create=False)
    with open_accounts(address) as accounts:
        accounts.add("ana", "analyst", by="x")
    with open_accounts(address, create=False) as accounts:
        assert accounts.get("ana").name == "ana"


def test_a_ledger_without_accounts_gets_them_only_where_asked(place):
    address = place.fresh()
    with open_ledger(address) as ledger:
        with pytest.raises(InputError, match="has no accounts"):
            open_accounts(ledger, create=False)
        open_accounts(ledger).close()
        assert ledger.datasets() == []  # still open


def test_a_backup_of_the_ledger_has_no_accounts(accounts, token, tmp_path):
    target = tmp_path / "backup"
    if accounts.ledger.path is None:
        accounts.ledger.record("people", "created", {"bits": 1, "schema": {}, "rows": 1})
    accounts.ledger.backup(target)
    content = target.read_bytes()
    assert verifier_of(token.text).encode() not in content
    assert token.token_id.encode() not in content
    if accounts.ledger.path is not None:
        with sqlite3.connect(target) as connection:
            names = connection.execute("SELECT name FROM sqlite_master").fetchall()
        connection.close()
        assert not [name for (name,) in names if "service" in name]
