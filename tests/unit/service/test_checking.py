"""``hartley serve --check``: everything that would keep a service from starting."""

import socket

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley.errors import HartleyError
from hartley.service.server import prepare
from hartley.service.settings import problems_of, read_settings
from hartley.trusted.ledger.store import LedgerStore

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


def test_another_address_than_that_of_the_file_is_checked(config):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        config.write_text(config.read_text().replace("127.0.0.1:0", address))
        assert "cannot listen" in words(config)
        assert problems_of(config, listen="127.0.0.1:0") == []
    assert "--workers" in problems_of(config, workers=0)[0].problem


def test_a_place_of_the_copy_that_cannot_be_written(config):
    config.write_text(config.read_text() + 'place = "none/t.duckdb"\n')
    assert "The key place in [datasets.t] names a folder" in words(config)
    config.with_name("none").mkdir()
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


@pytest.mark.parametrize(
    ("ages", "schema", "problem"),
    [
        ([1, None, 3], SCHEMA, "1 value of column 'age' of t.parquet is missing"),
        (["1", "x", "3"], SCHEMA, "Column 'age' of t.parquet holds text values"),
        ([1, 2, 3], SCHEMA.replace("name", 'unit = "who"\nname'), "Column 'who' is not in"),
    ],
)
def test_data_that_cannot_be_recorded_are_a_problem_before_the_first_start(
    config, ages, schema, problem
):
    """The same sentence as that of the start itself, and nothing is made."""
    pq.write_table(pa.table({"age": ages}), config.with_name("t.parquet"))
    config.with_name("t.toml").write_text(schema)
    before = sorted(config.parent.iterdir())
    told = words(config)
    assert problem in told
    assert sorted(config.parent.iterdir()) == before
    with pytest.raises(HartleyError) as refused:
        prepare(read_settings(config))
    assert refused.value.problem in told


def test_mistakes_of_the_file_hide_no_other_problem(config):
    config.write_text(
        config.read_text()
        .replace("[service]", '[service]\nworkers = 0\nqueue = -1\nlisten = "here"\nspeed = 9', 1)
        .replace('listen = "127.0.0.1:0"\n', "")
        .replace("budget = 8\n", "")
        + "[limits]\nbits_per_day = { bi = 0, bo = 1 }\nrows = 0\n[datasets.u]\nbudget = 2\n"
    )
    config.with_name("t.parquet").unlink()
    text = words(config)
    for part in (
        *("workers", "queue", "listen", "'speed'", "rows in [limits]", "'bi'", "'bo'"),
        *("schema in [datasets.u]", "budget in [datasets.t] is missing", "t.parquet"),
    ):
        assert part in text, part


def test_open_columns_that_cost_more_than_the_budget(config):
    schema = config.with_name("t.toml")
    schema.write_text(SCHEMA.replace('kind = "private"', 'kind = "open"'))
    assert words(config) == ""
    config.write_text(config.read_text().replace("budget = 8", "budget = 3"))
    assert "open columns of the schema alone cost 3.322 bits" in words(config)
    config.write_text(config.read_text().replace("budget = 3", "budget = 3.33"))
    assert words(config) == ""
    prepare(read_settings(config))
    assert words(config) == ""


def test_a_population_that_is_absent_or_has_too_little_left(config):
    from hartley import open_ledger

    schema = config.with_name("t.toml")
    schema.write_text(
        SCHEMA.replace('"t"', '"t"\npopulation = "town"').replace('"private"', '"open"')
    )
    assert "population 'town', which the ledger does not have" in words(config)
    with pytest.raises(HartleyError, match="town"):
        prepare(read_settings(config))
    with open_ledger(config.with_name("ledger.db")) as ledger:
        ledger.record("town", "population", {"bits": 2})
    assert "left of the population 'town'" in words(config)
    with pytest.raises(HartleyError, match="town"):
        prepare(read_settings(config))
    with open_ledger(config.with_name("ledger.db")) as ledger:
        ledger.record("town", "population", {"bits": 20})
    assert words(config) == ""
    prepare(read_settings(config))
    assert words(config) == ""


def test_a_column_that_the_table_does_not_have(config):
    config.with_name("t.toml").write_text(SCHEMA.replace("columns.age", "columns.height"))
    assert "height" in words(config)


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
    monkeypatch.setattr(LedgerStore, "may_append", lambda _: False)
    assert "not writable" in words(config)


def test_a_folder_of_the_ledger_that_is_missing(config):
    config.write_text(config.read_text().replace("ledger.db", "absent/ledger.db"))
    assert "absent" in words(config)


def test_allowances_that_the_budget_does_not_cover(config):
    from hartley import open_ledger

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
