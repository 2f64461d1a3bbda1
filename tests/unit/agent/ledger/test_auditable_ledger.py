"""The ledger that is shown, checked and kept: the one that charges, with more around it."""

import pytest

import hartley
from hartley.trusted.ledger.sqlite import SqliteLedgerStore
from hartley.trusted.ledger.store import LedgerStore


@pytest.fixture
def path(tmp_path):
    """A ledger with one dataset, a charge and its answer."""
    with hartley.open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.record("people", "created", {"bits": 3, "schema": {"name": "people"}, "rows": 5})
        paid = ledger.reserve("people", "ann", [{"count": "all"}], lambda _: 2)
        ledger.commit(paid, ["7"])
    return tmp_path / "ledger.db"


def test_both_ledgers_charge_alike(path):
    with hartley.open_ledger(path, create=False) as ledger, hartley.open_ledger(path) as other:
        assert isinstance(ledger, hartley.Ledger)
        again = ledger.reserve("people", "bob", [{"count": "all"}], lambda _: 2)
        assert again.answers == ("7",)
        ledger.reserve("people", "bob", [{"count": "old"}], lambda _: 2)
        assert other.state("people") == ledger.trusted.state("people")
        assert [charge.cells for charge in other.history("people")] == [2, 2]
        assert other.overview("people").batches == 2
        assert other.verify().holds


def test_a_store_that_is_no_file_is_backed_up_as_lines(path, tmp_path, monkeypatch):
    whole, lines, fresh = (tmp_path / name for name in ("whole.db", "lines.jsonl", "fresh.db"))
    with hartley.open_ledger(path) as ledger:
        ledger.backup(whole)
        assert whole.read_bytes().startswith(b"SQLite format 3")
        monkeypatch.setattr(SqliteLedgerStore, "copy_to", LedgerStore.copy_to)
        ledger.backup(lines)
        ledger.export(tmp_path / "export.jsonl")
        assert lines.read_bytes() == (tmp_path / "export.jsonl").read_bytes()
        head = ledger.head()
    with hartley.open_ledger(fresh) as restored:
        assert restored.restore(lines).head == head
