"""The random name and the key of a ledger: drawn once, for everybody who opens it, never told."""

import json
import sqlite3
import subprocess
import sys

import pytest

from hartley.agent.ledger import open_ledger
from hartley.trusted.ledger.store import keep_digest, read_digest, read_secret

MANY = """
import sys
from hartley.agent.ledger import open_ledger
from hartley.trusted.ledger.store import read_secret
with open_ledger(sys.argv[1]) as ledger:
    print("ready", flush=True)
    sys.stdin.readline()
    print(read_secret(ledger.store).key.hex(), flush=True)
"""


def keep(ledger, version, digest):
    ledger.store.write(lambda t: keep_digest(ledger.store, t, version, digest))


def test_the_key_is_drawn_once_and_another_ledger_has_another(place):
    address = place.fresh()
    with open_ledger(address) as one, open_ledger(address) as two, open_ledger(place.fresh()) as x:
        assert read_secret(one.store) == read_secret(two.store) == read_secret(one.store)
        assert len(read_secret(one.store).key) == 32
        assert read_secret(x.store).key != read_secret(one.store).key
        assert read_secret(x.store).ledger != read_secret(one.store).ledger
    with open_ledger(address) as again:
        assert read_secret(again.store).key.hex() not in repr(read_secret(again.store))


@pytest.mark.slow
def test_processes_that_ask_at_once_get_the_same_key(place):
    address = place.fresh()
    open_ledger(address).close()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", MANY, address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    keys = {process.communicate("go\n")[0] for process in running}
    assert len(keys) == 1


def test_an_older_ledger_gets_its_key_when_it_is_first_needed(ledger, place):
    store = ledger.store
    assert not store.read(lambda t: store.holds_table(t, "hartley_private"))
    assert read_digest(ledger.store, "v1") is None
    rows = ledger.entries()
    read_secret(ledger.store)
    assert ledger.entries() == rows
    assert ledger.verify().holds
    del place


def test_digests_are_kept_by_version_and_replaced(ledger):
    keep(ledger, "v1", "ab")
    keep(ledger, "v2", "cd")
    keep(ledger, "v1", "ef")
    assert [read_digest(ledger.store, version) for version in ("v1", "v2", "v3")] == [
        "ef",
        "cd",
        None,
    ]


def test_neither_exports_nor_backups_hold_it_and_a_restore_keeps_the_own(place, ledger, tmp_path):
    secret = read_secret(ledger.store)
    keep(ledger, "v1", "0123456789abcdef" * 8)
    ledger.backup(tmp_path / "backup")
    ledger.export(tmp_path / "export")
    for name in ("backup", "export"):
        content = (tmp_path / name).read_bytes()
        assert secret.key.hex().encode() not in content
        assert secret.ledger.encode() not in content
        assert b"0123456789abcdef" * 8 not in content
    with open_ledger(place.fresh()) as other:
        own = read_secret(other.store)
        other.restore(tmp_path / "backup")
        assert read_secret(other.store) == own != secret
        assert read_digest(other.store, "v1") is None
    ledger.record("people", "budget", {"bits": 9})
    ledger.restore(tmp_path / "backup", force=True)
    assert read_secret(ledger.store) == secret


def test_nobody_sweeps_while_a_copy_is_made(ledger):
    seen = []

    def sweep(transaction):
        seen.append(transaction.all_versions())

    assert ledger.store.sweep(sweep)
    with ledger.store.making():
        assert not ledger.store.sweep(sweep)
        with ledger.store.making():  # several may make copies at once
            pass
        assert not ledger.store.sweep(sweep)
    assert ledger.store.sweep(sweep)
    assert [list(versions) for versions in seen] == [["people"]] * 2


@pytest.mark.parametrize(("before", "after"), [(0o644, 0o600), (0o664, 0o660), (0o600, 0o600)])
def test_the_file_is_for_its_owner_once_it_holds_a_key(tmp_path, before, after):
    path = tmp_path / "ledger.db"
    open_ledger(path).close()
    path.chmod(before)
    with open_ledger(path) as ledger:
        read_secret(ledger.store)
        modes = {name.name: name.stat().st_mode & 0o777 for name in tmp_path.iterdir()}
    assert set(modes.values()) == {after}


def test_a_copied_file_takes_its_key_along(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        secret = read_secret(ledger.store)
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        names = dict(connection.execute("SELECT name, value FROM hartley_private"))
    connection.close()
    assert json.dumps(sorted(names)) == '["key", "ledger"]'
    assert names["key"] == secret.key.hex()
