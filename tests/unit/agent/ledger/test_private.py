"""The random name and the key of a ledger: drawn once, for everybody who opens it, never told."""

import json
import sqlite3
import subprocess
import sys

import pytest

from hartley.agent.ledger import open_ledger

MANY = """
import sys
from hartley.agent.ledger import open_ledger
with open_ledger(sys.argv[1]) as ledger:
    print("ready", flush=True)
    sys.stdin.readline()
    print(ledger.secret().key.hex(), flush=True)
"""


def test_the_key_is_drawn_once_and_another_ledger_has_another(place):
    address = place.fresh()
    with open_ledger(address) as one, open_ledger(address) as two, open_ledger(place.fresh()) as x:
        assert one.secret() == two.secret() == one.secret()
        assert len(one.secret().key) == 32
        assert x.secret().key != one.secret().key
        assert x.secret().ledger != one.secret().ledger
    with open_ledger(address) as again:
        assert again.secret().key.hex() not in repr(again.secret())


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
    store = ledger._store
    assert not store.read(lambda t: store.holds_table(t, "hartley_private"))
    assert ledger.copy_digest("v1") is None
    rows = ledger.entries()
    ledger.secret()
    assert ledger.entries() == rows
    assert ledger.verify().holds
    del place


def test_digests_are_kept_by_version_and_replaced(ledger):
    ledger.keep_copy_digest("v1", "ab")
    ledger.keep_copy_digest("v2", "cd")
    ledger.keep_copy_digest("v1", "ef")
    assert [ledger.copy_digest(version) for version in ("v1", "v2", "v3")] == ["ef", "cd", None]


def test_neither_exports_nor_backups_hold_it_and_a_restore_keeps_the_own(place, ledger, tmp_path):
    secret = ledger.secret()
    ledger.keep_copy_digest("v1", "0123456789abcdef" * 8)
    ledger.backup(tmp_path / "backup")
    ledger.export(tmp_path / "export")
    for name in ("backup", "export"):
        content = (tmp_path / name).read_bytes()
        assert secret.key.hex().encode() not in content
        assert secret.ledger.encode() not in content
        assert b"0123456789abcdef" * 8 not in content
    with open_ledger(place.fresh()) as other:
        own = other.secret()
        other.restore(tmp_path / "backup")
        assert other.secret() == own != secret
        assert other.copy_digest("v1") is None
    ledger.record("people", "budget", {"bits": 9})
    ledger.restore(tmp_path / "backup", force=True)
    assert ledger.secret() == secret


def test_nobody_sweeps_while_a_copy_is_made(ledger):
    seen = []
    assert ledger.sweep(seen.append)
    with ledger.making():
        assert not ledger.sweep(seen.append)
        with ledger.making():  # several may make copies at once
            pass
        assert not ledger.sweep(seen.append)
    assert ledger.sweep(seen.append)
    assert [list(versions) for versions in seen] == [["people"]] * 2


@pytest.mark.parametrize(("before", "after"), [(0o644, 0o600), (0o664, 0o660), (0o600, 0o600)])
def test_the_file_is_for_its_owner_once_it_holds_a_key(tmp_path, before, after):
    path = tmp_path / "ledger.db"
    open_ledger(path).close()
    path.chmod(before)
    with open_ledger(path) as ledger:
        ledger.secret()
        modes = {name.name: name.stat().st_mode & 0o777 for name in tmp_path.iterdir()}
    assert set(modes.values()) == {after}


def test_a_copied_file_takes_its_key_along(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        secret = ledger.secret()
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        names = dict(connection.execute("SELECT name, value FROM hartley_private"))
    connection.close()
    assert json.dumps(sorted(names)) == '["key", "ledger"]'
    assert names["key"] == secret.key.hex()
