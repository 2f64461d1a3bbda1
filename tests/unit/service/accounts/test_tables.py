"""The format of the tables of accounts: created, migrated and refused in one transaction."""

from pathlib import Path

import pytest

from hartley import open_ledger
from hartley.errors import EngineError, HartleyError
from hartley.service import account_tables as tables
from hartley.service.accounts import open_accounts

PRESENT = tables.STEPS
STEP = "ALTER TABLE hartley_service_accounts ADD COLUMN email TEXT;\n"


@pytest.fixture
def older(address):
    """A service of the present format, which is older than the next one."""
    with open_accounts(address) as accounts:
        accounts.add("ana", "analyst", by="owner")
    return address


def columns(place, address):
    rows = place.run(address, ("SELECT * FROM hartley_service_accounts", ()))
    return len(rows[0])


def test_an_older_format_is_migrated_once(older, place, monkeypatch):
    monkeypatch.setattr(tables, "STEPS", [*PRESENT, STEP])
    for _ in range(2):
        with open_accounts(older) as accounts:
            assert [account.name for account in accounts.list()] == ["ana"]
    assert columns(place, older) == 6
    assert place.run(older, ("SELECT format FROM hartley_service_head", ())) == [
        (len(PRESENT) + 1,)
    ]


def test_a_new_database_takes_every_step(place, monkeypatch):
    monkeypatch.setattr(tables, "STEPS", [*PRESENT, STEP])
    address = place.fresh()
    with open_accounts(address) as accounts:
        accounts.add("ana", "analyst", by="owner")
    assert columns(place, address) == 6


def test_a_migration_that_fails_changes_nothing(older, place, monkeypatch):
    broken = f"{STEP}ALTER TABLE hartley_service_nothing ADD COLUMN x TEXT;\n"
    monkeypatch.setattr(tables, "STEPS", [*PRESENT, broken])
    with pytest.raises(HartleyError):
        open_accounts(older)
    monkeypatch.undo()
    assert columns(place, older) == 5
    with open_accounts(older) as accounts:
        assert accounts.get("ana").name == "ana"


def test_a_newer_format_is_refused(older, place):
    place.run(older, ("UPDATE hartley_service_head SET format = 7", ()))
    with pytest.raises(EngineError, match="have format 7, but this version of Hartley reads"):
        open_accounts(older)


def test_a_ledger_that_can_only_be_read_shows_its_accounts(sqlite_place):
    address = sqlite_place.fresh()
    with open_accounts(address) as accounts:
        accounts.add("ana", "analyst", by="owner")
        text = accounts.issue_token("ana", scopes="ask", by="owner").text
    with open_ledger(address) as ledger:
        ledger.store.only_reads = True  # as on a disk that is mounted read-only
        ledger.store._only_read()
        accounts = open_accounts(ledger)
        assert accounts.authenticate(text).account == "ana"  # its last use cannot be written
        accounts.flush()
        assert accounts.tokens("ana")[0].last_used is None
        with pytest.raises(HartleyError, match="read-only"):
            accounts.revoke_account("ana", by="owner")


def test_the_file_of_the_accounts_is_private(sqlite_place):
    address = sqlite_place.fresh()
    open_accounts(address).close()
    assert Path(address).stat().st_mode & 0o077 == 0


@pytest.mark.postgres
def test_the_tables_on_a_server_are_for_their_owner_alone(postgres_place):
    address = postgres_place.fresh()
    open_accounts(address).close()
    shared = (
        "SELECT relname FROM pg_class WHERE relname LIKE 'hartley_service%' AND relkind = 'r' "
        "AND pg_table_is_visible(oid) AND has_table_privilege('pg_monitor', oid, 'SELECT')"
    )
    assert postgres_place.run(address, (shared, ())) == []
