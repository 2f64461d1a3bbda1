"""Files that somebody made up get a sentence, never a traceback, and change nothing."""

import json
import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from typer.testing import CliRunner

from hartley.agent.ledger import open_ledger, read_head
from hartley.cli.attack import attack_app
from hartley.cli.ledger import ledger_app
from hartley.errors import EngineError, HartleyError, InputError, OptionError
from hartley.trusted.ledger.rows import Head

DEEP = "[" * 100_000
HEADS = {
    "empty": b"",
    "no JSON": b"head",
    "not UTF-8": b'\xff\xfe{"format":2}',
    "a list": b"[1, 2]",
    "a number": b"7",
    "null": b"null",
    "deep": DEEP.encode(),
    "deep inside": b'{"format":2,"hash":' + DEEP.encode(),
    "a huge number": b'{"format":2,"hash":"ab","sequence":' + b"9" * 5000 + b"}",
    "more than a row": b'{"format":2,"hash":"ab","sequence":9223372036854775808}',
    "infinite": b'{"format":2,"hash":"ab","sequence":1e999}',
    "a fraction": b'{"format":2,"hash":"ab","sequence":1.5}',
    "text": b'{"format":2,"hash":"ab","sequence":"1"}',
    "true": b'{"format":2,"hash":"ab","sequence":true}',
    "none": b'{"format":2,"hash":"ab","sequence":0}',
    "below": b'{"format":2,"hash":"ab","sequence":-1}',
    "no hash": b'{"format":2,"sequence":1}',
    "a hash that is none": b'{"format":2,"hash":["ab"],"sequence":1}',
    "a format that is none": b'{"format":{"a":1},"hash":"ab","sequence":1}',
    "a format below": b'{"format":-1,"hash":"ab","sequence":1}',
    "two": b'{"format":2,"hash":"ab","sequence":1}{"format":2,"hash":"ab","sequence":1}',
    "long": b" " * 20_000 + b'{"format":2,"hash":"ab","sequence":1}',
}


def command(app, *words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def file(tmp_path, filled):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        filled(ledger)
    return tmp_path / "ledger.db"


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("option", ["--head", "--from"])
def test_a_head_that_is_none_is_refused(file, tmp_path, name, option):
    (tmp_path / "head").write_bytes(HEADS[name])
    found = command(ledger_app, "verify", file, option, tmp_path / "head")
    assert isinstance(found.exception, InputError)
    assert "; hint: " in str(found.exception)


@pytest.mark.parametrize("option", ["--head", "--from"])
@pytest.mark.parametrize("name", [".", "nowhere", "nowhere/head", "x" * 300])
def test_a_head_that_is_no_file_is_refused(file, tmp_path, option, name):
    found = command(ledger_app, "verify", file, option, tmp_path / name)
    assert isinstance(found.exception, InputError)


@pytest.mark.parametrize(
    "head",
    [
        Head(10**9, "ab"),
        Head(2**63 - 1, ""),
        Head(3, "\u00e9\ud800"),
        Head(1, "ab", 1),
        Head(1, "ab", 7),
        Head(1, "ab", 10**30),
    ],
    ids=[1, 2, 3, 4, 5, 6],
)
def test_a_head_of_another_ledger_is_reported(place, filled, head):
    with open_ledger(place.fresh()) as ledger:
        filled(ledger)
        for report in (ledger.verify(head=head), ledger.verify(since=head)):
            assert not report.holds
            assert report.problem


@pytest.mark.parametrize("values", [(0, "ab"), (2**63, "ab"), ("1", "ab"), (1, b"ab"), (True, "a")])
def test_a_head_that_is_none_is_not_made(values):
    with pytest.raises(InputError, match="not in the format that a ledger writes"):
        Head(*values)


def test_a_head_in_a_file_is_read_back(file, tmp_path):
    with open_ledger(file) as ledger:
        assert read_head_of(ledger, tmp_path) == ledger.head()


def read_head_of(ledger, folder):
    ledger.save_head(folder / "head")
    return read_head(folder / "head")


# --- exports ------------------------------------------------------------------------------------


def lines(file, tmp_path):
    with open_ledger(file) as ledger:
        ledger.export(tmp_path / "good")
    return (tmp_path / "good").read_bytes().splitlines(keepends=True)


def hostile(good):
    """Yield contents of exports that somebody made up."""
    first = json.loads(good[0])
    yield DEEP.encode()
    yield good[0] + DEEP.encode()
    yield good[0] + b"\xff\xfe\n"
    yield b"\xff" + good[0]
    for name in ("ledger", "format", "sequence", "hash"):
        for value in (None, True, -1, 1.5, 10**400, "x", [], {}, "\ud800", "\0"):
            yield json.dumps({**first, name: value}).encode() + b"\n" + b"".join(good[1:])
        yield json.dumps({k: v for k, v in first.items() if k != name}).encode() + b"\n"
    row = json.loads(good[3])
    for name in row:
        for value in (None, True, -1, 1.5, 10**400, "x", [], {}, "\ud800", "\0", "9" * 5000):
            changed = json.dumps({**row, name: value}).encode() + b"\n"
            yield b"".join([*good[:3], changed, *good[4:]])
    yield b"".join([*good[:3], b"[]\n", *good[4:]])
    yield b"".join([*good[:3], b"\n", *good[4:]])
    yield b'{"format":2,"hash":"","ledger":"hartley","sequence":1e999}\n'
    yield good[0] + b'{"sequence":' + b"9" * 5000 + b"}\n"


@pytest.mark.slow
def test_no_made_up_export_is_restored_or_ends_in_a_traceback(file, place, tmp_path):
    tried = 0
    address = place.fresh()
    for content in hostile(lines(file, tmp_path)):
        (tmp_path / "bad").write_bytes(content)
        with open_ledger(address) as ledger:
            with pytest.raises(HartleyError, match="; hint: "):
                ledger.restore(tmp_path / "bad")
            assert ledger.head() is None
        tried += 1
    assert tried > 180


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_torn_export_ends_in_a_traceback(file, tmp_path, data):
    good = b"".join(lines(file, tmp_path)) if not (tmp_path / "good").exists() else (
        (tmp_path / "good").read_bytes()
    )  # fmt: skip
    start = data.draw(st.integers(0, len(good)))
    bad = (
        good[:start]
        + data.draw(st.binary(max_size=5))
        + good[start + data.draw(st.integers(0, 9)) :]
    )
    (tmp_path / "bad").write_bytes(bad)
    (tmp_path / "new.db").unlink(missing_ok=True)
    with open_ledger(tmp_path / "new.db") as ledger:
        try:
            ledger.restore(tmp_path / "bad")
        except HartleyError:
            assert ledger.head() is None
        else:
            assert ledger.verify().holds


def test_a_restore_from_what_is_no_file_is_a_sentence(tmp_path):
    for name in (".", "nowhere", "x" * 300):
        found = command(ledger_app, "restore", tmp_path / name, tmp_path / "new.db")
        assert isinstance(found.exception, InputError)


def test_a_backup_with_a_log_beside_it_is_restored_with_what_the_log_holds(tmp_path, filled):
    with open_ledger(tmp_path / "live.db") as live:
        filled(live)
        with open_ledger(tmp_path / "copy.db") as copy:  # while its log is not in its file yet
            assert (tmp_path / "live.db-wal").stat().st_size
            assert copy.restore(tmp_path / "live.db").rows == 14


# --- stores that somebody changed ---------------------------------------------------------------


def spoil(file, *statements):
    connection = sqlite3.connect(file)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM hartley_head",
        "UPDATE hartley_head SET format = 'x'",
        "UPDATE hartley_head SET sequence = 'x'",
        "UPDATE hartley_head SET hash = x'00'",
        "UPDATE hartley_head SET sequence = -3",
        "DROP TABLE hartley_asked",
        "DROP TABLE hartley_entries",
    ],
)
def test_a_store_that_was_spoilt_is_a_sentence_in_every_command(file, tmp_path, statement):
    spoil(file, statement)
    acts = [
        (ledger_app, "verify", file),
        (ledger_app, "show", file),
        (ledger_app, "export", file, tmp_path / "x"),
        (ledger_app, "population", "town", "--budget", "3", file),
        (attack_app, "reconstruction", file, "--dataset", "people"),
        (attack_app, "differencing", file, "--dataset", "people"),
    ]
    for app, *words in acts:
        found = command(app, *words)
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            assert isinstance(found.exception, HartleyError), (words, found.exception)
        else:
            assert words[0] in {"export", "show", "population"} or found.exit_code == 1, words
    assert command(ledger_app, "verify", file).exit_code != 0


def test_a_server_without_the_note_is_a_sentence(on_server, filled):
    address = on_server.fresh()
    with open_ledger(address) as ledger:
        filled(ledger)
        on_server.run(address, ("DELETE FROM hartley_head", ()))
        for act in (ledger.head, ledger.verify, lambda: ledger.state("people")):
            with pytest.raises(EngineError, match="record of its last row is missing"):
                act()
    with pytest.raises(EngineError, match="record of its last row is missing"):
        open_ledger(address)


def test_a_ledger_that_is_made_again_on_its_server_takes_no_charge(on_server, q):
    """What was shown from the one before is not in it."""
    address, dataset = on_server.fresh(), {"bits": 8, "schema": {"name": "people"}, "rows": 5}
    with open_ledger(address) as opened, open_ledger(address) as other:
        opened.record("people", "created", dataset)
        opened.reserve("people", None, q(1), lambda _: 2)
        for table in ("entries", "asked", "answers", "head"):
            on_server.run(address, (f"DROP TABLE hartley_{table} CASCADE", ()))
        with pytest.raises(HartleyError):
            opened.reserve("people", None, q(2), lambda _: 2)
        with open_ledger(address) as again:
            again.record("people", "created", dataset)
        for act in (lambda: opened.reserve("people", None, q(2), lambda _: 2), opened.head):
            with pytest.raises(EngineError, match="lacks rows that it had"):
                act()
        assert other.history("people") == []


@pytest.mark.parametrize("attack", ["reconstruction", "differencing"])
def test_a_ledger_that_no_agent_wrote_is_not_attacked(file, attack):
    found = command(attack_app, attack, file, "--dataset", "people")
    assert isinstance(found.exception, InputError)
    assert "No agent answered questions" in str(found.exception)


def test_a_damaged_file_is_a_sentence(file):
    content = bytearray(file.read_bytes())
    for start in range(4096, len(content), 2048):
        content[start : start + 600] = b"\xa5" * 600
    file.write_bytes(content)
    for words in (["verify", file], ["show", file]):
        found = command(ledger_app, *words)
        assert found.exit_code != 0
        assert isinstance(found.exception, (HartleyError, SystemExit))


# --- populations on the command line ------------------------------------------------------------


def test_a_population_is_set_shown_and_changed_by_commands(tmp_path):
    file = tmp_path / "new.db"
    made = command(ledger_app, "population", "town", "--budget", "3", file, "--text")
    assert made.exit_code == 0, made.exception
    assert "at most 8 different transcripts of all its datasets" in made.stdout
    with open_ledger(file) as ledger:
        schema = {"table": {"name": "a", "population": "town"}}
        ledger.record("a", "created", {"bits": 9, "schema": schema, "rows": 1})
        ledger.reserve("a", None, [{"q": 1}], lambda _: 4)
    shown = json.loads(command(ledger_app, "show", file, "--json").stdout)
    (town,) = shown["populations"]
    assert (town["name"], town["datasets"], town["balance"]["spent_bits"]) == ("town", ["a"], 2.0)
    assert shown["datasets"][0]["population"] == "town"
    text = command(ledger_app, "show", file, "--text").stdout
    assert "population town: 2 of 3 bits spent, 1 left; a" in text
    assert "1 of the budget of the population 'town' left" in text
    own = command(ledger_app, "show", file, "--analyst", "ann", "--json").stdout
    assert "populations" not in json.loads(own)
    changed = command(ledger_app, "population", "town", file, "--budget", "2", "--json")
    content = json.loads(changed.stdout)
    assert (content["before_bits"], content["balance"]["remaining_bits"]) == ("3", 0.0)
    refused = command(ledger_app, "population", "town", "--budget", "1", file)
    assert isinstance(refused.exception, OptionError)
    exchanged = command(ledger_app, "population", file, "--budget", "1", tmp_path / "town")
    assert isinstance(exchanged.exception, InputError)
    assert not (tmp_path / "town").exists()
