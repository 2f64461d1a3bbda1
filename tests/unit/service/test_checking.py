"""``hartley serve --check``: everything that would keep a service from starting."""

import socket

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley.agent.ledger import Ledger
from hartley.service.checking import problems_of
from hartley.service.server import prepare
from hartley.service.settings import read_settings

pytestmark = pytest.mark.slow
SCHEMA = '[table]\nname = "t"\n[columns.age]\nkind = "private"\nrange = [0, 9]\nstep = 1\n'
CONFIG = """\
[service]
listen = "127.0.0.1:0"
ledger = "ledger.db"
{tls}
[datasets.t]
schema = "t.toml"
budget = 8
data = "t.parquet"
"""


@pytest.fixture
def config(tmp_path):
    pq.write_table(pa.table({"age": [1, 2, 3]}), tmp_path / "t.parquet")
    (tmp_path / "t.toml").write_text(SCHEMA)
    path = tmp_path / "config.toml"
    path.write_text(CONFIG.format(tls=""))
    return path


def words(path):
    return " | ".join(problem.problem for problem in problems_of(path))


def test_a_configuration_that_can_be_served_before_and_after_the_first_start(config):
    assert problems_of(config) == []
    assert not config.with_name("ledger.db").exists()  # nothing is made
    prepare(read_settings(config))
    assert problems_of(config) == []


def test_every_problem_is_told_at_once(config):
    config.write_text(CONFIG.format(tls='tls = { certificate = "c.pem", key = "k.pem" }'))
    config.with_name("t.toml").write_text(SCHEMA.replace('"t"', '"u"'))
    config.with_name("t.parquet").unlink()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        config.write_text(config.read_text().replace(":0", f":{port}"))
        text = words(config)
    assert f"127.0.0.1:{port}" in text
    assert "c.pem" in text
    assert "table 'u'" in text
    assert "t.parquet" in text


def test_a_schema_that_changed_or_is_a_draft(config):
    prepare(read_settings(config))
    schema = config.with_name("t.toml")
    schema.write_text(SCHEMA.replace("9", "8"))
    assert "differs from the one in the ledger" in words(config)
    schema.write_text(SCHEMA.replace('"t"', '"t"\ndraft = true'))
    assert "draft" in words(config)


def test_a_copy_that_is_missing(config):
    prepare(read_settings(config))
    for copy in config.parent.glob("ledger.db.t*.duckdb"):
        copy.unlink()
    assert "coded copy" in words(config)


def test_a_ledger_that_is_not_writable(config, monkeypatch):
    prepare(read_settings(config))
    # The rights of a file stop nobody who is root, as the tests may be.
    monkeypatch.setattr(Ledger, "only_reads", True)
    assert "not writable" in words(config)


def test_a_folder_of_the_ledger_that_is_missing(config):
    config.write_text(config.read_text().replace("ledger.db", "absent/ledger.db"))
    assert "absent" in words(config)


def test_allowances_that_the_budget_does_not_cover(config):
    from hartley.agent.ledger import open_ledger

    settings = read_settings(config)
    prepare(settings)
    with open_ledger(settings.ledger) as ledger:
        ledger.reserve("t", None, [{"of": "somebody without an account"}], lambda _: 4)
        ledger.record("t", "allowance", {"analyst": "ana", "bits": 7})
    assert "allowances" in words(config)


def test_a_cap_of_an_account_that_there_is_not(config):
    text = config.read_text()
    config.write_text(text + "[limits]\nbits_per_day = { bi = 0 }\n")
    assert "'bi'" in words(config)
    config.write_text(text.replace("budget = 8", 'budget = 8\nanalysts = ["bi"]'))
    prepare(read_settings(config))
    config.write_text(text + "[limits]\nbits_per_day = { bi = 0 }\n")
    assert words(config) == ""
    prepare(read_settings(config))
