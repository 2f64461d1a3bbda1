"""A first start that fails: nothing half-made is left, and nothing that was there is removed."""

import os
import sqlite3
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley import open_ledger
from hartley.agent.agent import remove_unused_ledger
from hartley.errors import EngineError, HartleyError, InputError
from hartley.service import server
from hartley.service.accounts import open_accounts
from hartley.service.server import hand_over, prepare, serve
from hartley.service.settings import problems_of, read_settings
from hartley.tables.reading import ReadingOptions
from hartley.trusted.ledger import sqlite

pytestmark = pytest.mark.slow
SCHEMA = '[table]\nname = "{}"\n[columns.age]\nkind = "private"\nrange = [0, 9]\nstep = 1\n'
CONFIG = """\
[service]
listen = "127.0.0.1:0"
ledger = "ledger.db"
[datasets.t]
schema = "t.toml"
budget = 8
data = "t.parquet"
"""
SECOND = """\
[datasets.u]
schema = "u.toml"
budget = 8
data = "u.parquet"
"""


@pytest.fixture
def config(tmp_path):
    for name in ("t", "u"):
        pq.write_table(pa.table({"age": [1, 2, 3]}), tmp_path / f"{name}.parquet")
        (tmp_path / f"{name}.toml").write_text(SCHEMA.format(name))
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    return path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def start(config):
    return prepare(read_settings(config))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("budget = 8\n", ""),
        ("budget = 8", "budget = 100001"),
        ('"t.parquet"', '"none.parquet"'),
        ('"t.toml"', '"u.toml"'),
    ],
)
def test_a_configuration_that_cannot_be_served_leaves_nothing(config, old, new):
    config.write_text(CONFIG.replace(old, new))
    before = contents(config.parent)
    with pytest.raises(HartleyError):
        start(config)
    assert contents(config.parent) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, EngineError("no", hint="no")])
def test_whatever_ends_the_first_start_leaves_nothing(config, monkeypatch, error):
    def end(*_args, **_named):
        raise error

    before = contents(config.parent)
    monkeypatch.setattr(server, "Agent", end)
    with pytest.raises(error if isinstance(error, type) else type(error)):
        start(config)
    assert contents(config.parent) == before
    monkeypatch.undo()
    assert start(config) is not None


def test_rows_that_do_not_fit_leave_nothing(config):
    pq.write_table(pa.table({"age": [1, 2, None]}), config.with_name("t.parquet"))
    before = contents(config.parent)
    with pytest.raises(HartleyError, match="missing"):
        start(config)
    assert contents(config.parent) == before


def test_a_folder_that_cannot_be_written_to_is_named(config, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="or --ledger"):
        start(config)
    config.write_text(CONFIG.replace("ledger.db", "missing/ledger.db"))
    monkeypatch.undo()
    with pytest.raises(InputError, match="missing; hint: create the folder"):
        start(config)


def test_what_was_there_or_is_recorded_stays(config):
    ledger = config.with_name("ledger.db")
    open_ledger(ledger).close()
    config.write_text(CONFIG.replace("budget = 8\n", ""))
    with pytest.raises(HartleyError, match="no budget"):
        start(config)
    assert ledger.exists()
    ledger.unlink()
    config.write_text(CONFIG + SECOND.replace("budget = 8\n", ""))
    with pytest.raises(HartleyError, match="'u' is new"):
        start(config)
    with open_ledger(ledger) as opened:
        assert opened.datasets() == ["t"]
    config.write_text(CONFIG + SECOND)
    assert start(config) is not None


def test_a_file_that_others_use_stays(tmp_path):
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        ledger.datasets()
        remove_unused_ledger(path)
        assert path.exists()  # it is open
    with open_accounts(path):
        pass
    remove_unused_ledger(path)
    assert path.exists()  # it has tables of accounts
    path.unlink()
    with open_ledger(path) as ledger:
        ledger.record("t", "created", {"bits": 1, "schema": {}, "rows": 1})
    remove_unused_ledger(path)
    assert path.exists()  # it has a row
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE mine (n)")
    remove_unused_ledger(path)
    assert path.exists()  # it is no ledger
    path.unlink()
    remove_unused_ledger(path)
    assert not path.exists()
    open_ledger(path).close()
    remove_unused_ledger(path)
    assert list(tmp_path.iterdir()) == []


def test_who_has_opened_a_file_that_is_removed_writes_nothing_into_it(tmp_path, monkeypatch):
    path, keep_a_log = tmp_path / "ledger.db", sqlite.keep_a_log

    def remove_first(connection, until):
        path.unlink()
        keep_a_log(connection, until)

    monkeypatch.setattr(sqlite, "keep_a_log", remove_first)
    with pytest.raises(EngineError, match="does not answer"):
        open_ledger(path)


# --- the owner's token ---


def test_no_token_is_lost_by_a_start_that_fails_later(config):
    config.write_text(CONFIG + "[limits]\nbits_per_day = { nobody = 1 }\n")
    with pytest.raises(HartleyError, match="'nobody', which there is not"):
        start(config)
    config.write_text(CONFIG)
    token = start(config)
    with open_accounts(config.with_name("ledger.db")) as accounts:
        assert accounts.authenticate(token.text).account == "owner"


def test_a_token_that_nobody_could_be_given_is_revoked(config):
    seen = []

    def made(token):
        seen.append(token)
        hand_over(token, config.parent / "missing", terminal=False)

    with pytest.raises(InputError, match="issue one with hartley account token"):
        serve(read_settings(config), made=made)
    with open_accounts(config.with_name("ledger.db")) as accounts:
        assert accounts.authenticate(seen[0].text) is None
        assert accounts.tokens("owner")[0].revoked is not None


def test_a_file_of_another_token_is_kept(config):
    other = config.with_name("owner.token")
    other.write_text("of another service")
    token = start(config)
    sentence = hand_over(token, config.parent, terminal=False)
    assert other.read_text() == "of another service"
    (written,) = config.parent.glob("owner.*.token")
    assert written.read_text() == f"{token.text}\n"
    assert written.stat().st_mode & 0o077 == 0
    assert str(written) in sentence
    assert token.text not in sentence


# --- how files are written ---


def test_files_are_read_as_the_configuration_says(config):
    table = config.with_name("t.csv")
    table.write_bytes("age;n\xe4me\n1;x\n2;y\n".encode("cp1252"))
    text = CONFIG.replace("t.parquet", "t.csv")
    config.write_text(text)
    (problem,) = problems_of(config)
    assert problem.problem == "The data of [datasets.t]: The file t.csv is not UTF-8 text in line 1"
    assert problem.hint.endswith("; in a configuration, set encoding in [datasets.t.reading]")
    with pytest.raises(InputError, match=r"set encoding in \[datasets\.t\.reading\]"):
        start(config)
    config.write_text(text + '[datasets.t.reading]\nencoding = "cp1252"\ndelimiter = ";"\n')
    assert read_settings(config).datasets["t"].reading == ReadingOptions(
        encoding="cp1252", delimiter=";"
    )
    assert problems_of(config) == []
    start(config)
    with open_ledger(config.with_name("ledger.db")) as ledger:
        assert ledger.state("t").rows == 2


@pytest.mark.parametrize(
    ("reading", "problem"),
    [
        ('encoding = "cp99"', "In [datasets.t.reading]: The option encoding"),
        ("speed = 1", "In [datasets.t.reading]: 'speed' is no option"),
        ("trim = 1", "In [datasets.t.reading]: The option trim"),
    ],
)
def test_a_mistake_about_reading_names_its_section(config, reading, problem):
    config.write_text(f"{CONFIG}[datasets.t.reading]\n{reading}\n")
    (told,) = problems_of(config)
    assert told.problem.startswith(problem)
    config.write_text(CONFIG + "reading = 1\n")
    (told,) = problems_of(config)
    assert told.problem == "[datasets.t.reading] is not a section"
