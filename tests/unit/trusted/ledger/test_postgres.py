"""No message, report or page tells the password of a ledger."""

import json
import shlex
import sys
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from command_line import run
from hartley import Agent, open_ledger, open_table
from hartley.errors import HartleyError, without_password
from hartley.service.settings import DatasetSettings, ServiceSettings

CANARY = "c4nary"
OF_A = {
    "table": {"name": "t"},
    "columns": {"a": {"kind": "private", "range": [0, 1], "step": 1}},
}
SCHEMA = (
    '[table]\nname = "people"\n[columns.age]\nkind = "private"\nrange = [0, 100]\nstep = 1\n'
    '[columns.sex]\nkind = "private"\nvalues = ["F", "M"]\n'
)
ROLES = 'confirmed = true\n[columns.age]\nrole = "key"\n[columns.sex]\nrole = "key"\n'
DESIGN = 'objective = "bits"\nbits = 2\n[columns.age]\nrange = [0, 100]\nstep = 1\n'
MISTAKES = 7
"""At the end of the list of commands."""
on_server = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]


def commands(table: str, database: str) -> list[list[str]]:
    """Return every command that takes the address of a table or of a ledger, and what it writes."""
    ledger = ["--ledger", database]
    asked = "SELECT COUNT(*) FROM people"
    schema = ["--schema", "schema.toml"]
    return [
        ["design", "design.toml", "-o", "policy.toml", "--certificate", "d.json"],
        ["scan", table, "--html", "scan.html", "--draft", "draft.toml", "--script", "scan.sh"],
        ["scan", table, "--json"],
        ["audit", table, "--secret", "age", "--released", "sex", "--html", "a.html", "--json"],
        ["anonymity", table, "--keys", "age,sex", "--html", "k.html", "--script", "k.sh"],
        ["anonymity", table, "--keys", "age", "--risks", "risks.csv", "--json"],
        ["anonymity", table, "--keys", "age", "--population", table],
        ["anonymize", table, "--roles", "roles.toml", "-k", "2", "-o", "out.csv", "--json"],
        ["microaggregate", table, "--columns", "age", "-k", "2", "-o", "m.csv", "--json"],
        ["pram", table, "--column", "sex", "--retain", "0.8", "-o", "p.csv", "--html", "p.html",
         "--policy-out", "pram.toml", "--certificate", "p.json", "--script", "p.sh"],
        ["curve", table, "--key", "age", "--confidential", "sex", "--points", "3"],
        ["release", table, "policy.toml", "-o", "r.csv", "--certificate", "r.json", "--script",
         "r.sh"],
        ["attack", "policy", "policy.toml", table],
        ["attack", "uniqueness", table, "--columns", "age,sex", "--json", "--html", "u.html"],
        ["attack", "homogeneity", table, "--keys", "age", "--confidential", "sex"],
        ["schema", "draft", table, "-o", "s.toml"],
        ["schema", "check", "schema.toml", "--table", table],
        ["ask", asked, "--table", table, *schema, "--budget", "20", *ledger, "--error", "1",
         "--place", "hidden.people"],
        ["check", "table.csv", *schema, "--table", table, "--html", "c.html"],
        ["check", "table.csv", *schema, "--against", database, "--charge"],
        ["doctor", "--engine", database],
        ["price", asked, *schema, *ledger], ["plan", "questions.sql", *schema, *ledger],
        ["ledger", "show", database], ["ledger", "verify", database],
        ["ledger", "budget", database, "--per-year", "18"],
        ["ledger", "export", database, "e.json"], ["ledger", "backup", database, "b.db"],
        ["attack", "reconstruction", database], ["attack", "differencing", database],
        ["account", "add", "ann", database], ["account", "list", database],
        ["account", "token", "ann", database], ["account", "revoke", "ann", database],
        ["serve", table, *schema, *ledger, "--check"], ["serve", "../serve.toml", "--check"],
        ["ledger", "restore", "b.db", f"{database}x"], ["serve", "../broken.toml"],
        ["scan", table, "more", database], ["scan", table, "-k", database],
        ["ask", asked, "--url", database], ["ask", asked, "--url", f"https://ann:{CANARY}@h\u2100"],
    ]  # fmt: skip


def search(folder, words, ended):
    """Assert that no output holds the secret, nor a part of it."""
    said = {"stdout": ended.stdout, "stderr": ended.stderr}
    said |= {str(p): p.read_bytes().decode("latin-1") for p in folder.rglob("*") if p.is_file()}
    assert not [place for place, text in said.items() if CANARY in text.lower()], words
    assert "Traceback" not in ended.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HARTLEY_TOKEN", f"hartley_{CANARY}")
    (work / "table.csv").write_text("sex,n\nF,1\nM,2\n")
    (work / "schema.toml").write_text(SCHEMA)
    (work / "roles.toml").write_text(ROLES)
    (work / "design.toml").write_text(DESIGN)
    (work / "questions.sql").write_text("SELECT COUNT(*) FROM people;\n")
    return work


@pytest.fixture(scope="session")
def database(server):
    """The address of a database with a table, and a password, which its server does not ask for."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE TABLE people (age bigint, sex text)")
        connection.execute("INSERT INTO people VALUES (30, 'F'), (40, 'M'), (40, 'M')")
        connection.execute("CREATE SCHEMA hidden")
    yield parse_qs(urlsplit(server).query)["host"][0]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP TABLE people; DROP SCHEMA hidden CASCADE")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of open results
@pytest.mark.parametrize(
    "address",
    [
        pytest.param(None, marks=on_server, id="there"),
        f"postgres://ann:{CANARY}@127.0.0.1:1/people",
        f"postgresql://127.0.0.1:1/people?user=ann&password={CANARY}&connect_timeout=2",
        f"host=127.0.0.1 port=1 user=ann password='{CANARY} x' dbname=people",
    ],
)
def test_no_command_tells_the_password(folder, address, request):
    place = ledger = address
    if address is None:
        host = request.getfixturevalue("database")
        place = f"postgresql://postgres:a%40{CANARY}%2Fb@/postgres?host={host}"
        ledger = f"{place}&options=-csearch_path%3Dhidden"
    (folder.parent / "serve.toml").write_text(
        f'[service]\nledger = "{ledger}"\n[datasets.people]\nschema = "work/schema.toml"\n'
    )
    (folder.parent / "broken.toml").write_text(f"[service]\nledger = {ledger}\n")
    failed = []
    everything = commands(f"{place}::people", ledger)
    for words in everything:
        ended = run(*words)
        search(folder, words, ended)
        if ended.returncode:
            failed.append(words)
    if address is None:
        assert [words for words in failed if words[0] != "check"] == everything[-MISTAKES:]
    else:
        assert [words for words in everything if words not in failed] == everything[:1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # likewise
@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_the_next_commands_work_when_they_are_pasted(folder, database, monkeypatch):
    address = f"postgresql://postgres:{CANARY}@/postgres?host={database}&password={CANARY}::people"
    report = json.loads(run("scan", address, "--json").stdout)
    assert "PGPASSWORD" in " ".join(report["sentences"])
    monkeypatch.setenv("PGPASSWORD", CANARY)
    (folder / "roles.toml").unlink()  # the command writes them
    with Agent(address, "schema.toml", ledger="l.db", budget=2) as agent:
        assert CANARY not in f"{agent!r} {vars(agent)!r} {open_table(address)!r}"
    first = shlex.split(report["commands"][0])
    ended = run(*first[1:])
    assert ended.returncode == 0, ended.stderr
    search(folder, first, ended)


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{CANARY}@h/d::t", f"postgresql://ann:x/{CANARY}@h/d::t",
        f"postgresql://ann:x@{CANARY}@h/d::t", f"postgresql://ann:x?{CANARY}@h/d",
        f"postgresql://ann:x#{CANARY}@h/d", f"postgresql://ann:x {CANARY}@h/d",
        f"postgresql://:{CANARY}@h/d", f"postgresql://h/d?password=x@{CANARY}::t",
        f"postgresql://h/d?p%61ssword={CANARY}", f"postgresql://h/d?sslmode=require&sslpassword={CANARY}",
        f"postgresql://h/d?password={CANARY}::{CANARY}::t", f"POSTGRES://u:{CANARY}@h/d",
        f"host=h password={CANARY}", f"host=h password = 'a\\'{CANARY} b' user=x",
        f"PASSWORD='{CANARY}", f"sc://h:15002/;token={CANARY};user_id=1::t",
        f"postgresql:/ann:{CANARY}@h/d", f"https://{CANARY}@h/x", f"https://h/x?sig={CANARY}", f"https://h/x?{CANARY}",
        f"https://h/x#{CANARY}", f"s3://key:{CANARY}@b/p?endpoint_override=h",
        f"s3://b/p?access_key=a&secret_key={CANARY}", f"abfss://c:{CANARY}@h/x",
        f"postgresql://h/d?options=-csearch_path%3Da%20-cx.y%3D{CANARY}::t",
        f"postgresql://u:x\n{CANARY}@h/d", f"password=x\\ {CANARY} host=h", f"password='x'{CANARY}",
        f"password=x&{CANARY};{CANARY}", f'password = "x {CANARY}"', f"Server=h;Pwd={CANARY};",
        f"md:d?motherduck_token={CANARY}", f"ann:{CANARY}@h/d::t", f"postgresql:ann:{CANARY}@h/d",
        f"postgresql//ann:{CANARY}@h/d",
        f"https:/a.net/c/t.parquet?sv=2022&sig={CANARY}", f"t.parquet?sig={CANARY}",
        f"'{'x' * 300}.parquet?sv=1&sig={CANARY}'", f"t.csv?sslmode=require&key={CANARY}::t",
        f"see postgresql://h/d and postgresql://u:{CANARY}@h/d", f"--data=postgresql://u:{CANARY}@h/d",
    ],
)  # fmt: skip
def test_whatever_may_be_a_secret_is_masked(address):
    assert CANARY not in without_password(address)
    assert CANARY not in str(HartleyError(f"There is no file {address}", hint=f"not {address}"))
    made = ServiceSettings(address, {"d": DatasetSettings("d", "s.toml", data=address)})
    assert CANARY not in repr(made)


def test_the_place_of_an_error_is_shown_without_the_password(monkeypatch, capsys):
    def fail(**_):
        raise KeyError(f"postgresql://u:{CANARY}@h/d") from ValueError(f"password={CANARY}")

    monkeypatch.setenv("HARTLEY_DEBUG", "1")
    command_line = sys.modules["hartley.cli.main"]
    monkeypatch.setattr(command_line, "app", fail)
    monkeypatch.setattr(sys, "excepthook", None)
    with pytest.raises(KeyError) as failed:
        command_line.main()
    sys.excepthook(failed.type, failed.value, failed.tb)
    shown = capsys.readouterr().err
    assert "KeyError: 'postgresql://u@h/d'" in shown
    assert "password=..." in shown
    assert "in fail" in shown


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann@h:5/d?sslmode=require&host=/tmp/x::s.t", "https://h:8080/",
        "postgresql://[::1]/d::t", "SELECT a FROM t WHERE mail = 'a@b.c'", "data/*.csv?", "a=b;c=d",
        "t?/a=b.csv", "'t.db?sslmode=require'; hint: a ? b=c",
        "postgresql:///d?options=-csearch_path%3Da::t", "a:b c@d", "data/12:30.csv", "sqlite:////srv/ledger.db",
    ],
)  # fmt: skip
def test_what_is_no_secret_is_left_as_it_is(text):
    assert without_password(text) == text


@pytest.mark.parametrize(
    "address",
    [
        "host=127.0.0.1 port=1 password=SeKr1tPw",
        "port=1 PASSWORD = 'SeKr1tPw'",
        "postgresql+psycopg://ann:SeKr1tPw@host/db",
    ],
)
def test_settings_of_a_database_are_no_name_of_a_file(tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    for opens in (open_ledger, lambda ledger: Agent({"a": [1]}, OF_A, budget=3, ledger=ledger)):
        with pytest.raises(
            HartleyError, match=r"neither a file nor a .*l://user@host/database"
        ) as refused:
            opens(address)
        assert "SeKr1tPw" not in str(refused.value)
    assert not [*tmp_path.iterdir()]
