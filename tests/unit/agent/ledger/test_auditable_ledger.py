"""The ledger that is shown, checked and kept: the one that charges, with more around it."""

import subprocess
import sys

import pytest

import hartley
import hartley.agent.ledger as door
from hartley.agent.ledger import AuditableLedger
from hartley.trusted.ledger.ledger import Ledger as ChargingLedger, open_ledger as open_charging
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
    assert hartley.Ledger is door.Ledger is AuditableLedger
    added = vars(AuditableLedger).keys() & vars(ChargingLedger).keys()
    assert added <= {"__doc__", "__module__", "__firstlineno__", "__static_attributes__"}
    with open_charging(path, create=False) as charging, hartley.open_ledger(path) as complete:
        assert type(charging) is ChargingLedger
        again = charging.reserve("people", "bob", [{"count": "all"}], lambda _: 2)
        assert again.answers == ("7",)
        charging.reserve("people", "bob", [{"count": "old"}], lambda _: 2)
        assert complete.state("people") == charging.state("people")
        assert [charge.cells for charge in complete.history("people")] == [2, 2]
        assert complete.overview("people").batches == 2
        assert complete.verify().holds


def test_the_package_offers_every_name():
    for name in door.__all__:
        assert getattr(door, name) is not None
    assert not hasattr(door, "anything_else")
    with pytest.warns(DeprecationWarning, match="LedgerReport"):
        assert door.Report is door.LedgerReport


def test_the_names_that_no_answer_needs_are_imported_on_first_use():
    code = (
        "import sys, hartley.agent.ledger as door\n"
        "names = ('auditable_ledger', 'backup', 'overview', 'replay', 'verification')\n"
        "loaded = lambda: sum(f'hartley.agent.ledger.{name}' in sys.modules for name in names)\n"
        "before = loaded(); door.open_ledger; print(before, loaded())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["0", "5"]


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
