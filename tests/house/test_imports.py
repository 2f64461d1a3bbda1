"""A command imports what it uses, and no optional package is needed."""

import json
import os
import subprocess
import sys

import pytest

COUNT = """
import contextlib, io, json, sys
{before}
from hartley.cli.main import app
with contextlib.redirect_stdout(io.StringIO()):
    app(sys.argv[1:], prog_name="hartley", standalone_mode=False)
print(json.dumps(sorted(sys.modules)))
"""
WITHOUT_PANDAS = """
class Absent:
    def find_spec(self, name, *_):
        if name.split(".")[0] == "pandas":
            raise ModuleNotFoundError(f"No module named '{name}'")
sys.meta_path.insert(0, Absent())
"""
QUESTION = "SELECT COUNT(*) FROM people WHERE age > 50"
SCHEMA = """
[table]
name = "people"
[columns.age]
kind = "private"
range = [0, 120]
step = 1
"""
AUDIT = ["audit", "people.parquet", "--secret", "diagnosis", "--released", "age"]
COMMANDS = {
    "--help": (["--help"], 12),
    "sample": (["sample", "new.parquet", "--rows", "50"], 30),
    "datasets": (["datasets", "--data", "."], 30),
    "doctor": (["doctor"], 34),
    "schema": (["schema", "describe", "people.toml"], 45),
    "audit": (AUDIT, 80),
    "page": (
        [*AUDIT, "--html", "audit.html", "--force"],
        80,
    ),
    "anonymity": (["anonymity", "people.parquet", "--keys", "age,sex"], 100),
    "ledger": (["ledger", "show", "ledger.db"], 60),
    "price": (["price", QUESTION, "--schema", "people.toml", "--rows", "300"], 150),
    "plan": (["plan", "questions.sql", "--schema", "people.toml", "--rows", "300"], 150),
    "ask": (
        [
            *("ask", QUESTION, "--schema", "people.toml", "--ledger", "ledger.db"),
            *("--table", "people.parquet", "--budget", "9", "--bits", "3"),
        ],
        170,
    ),
}
"""A command line, and how many of our modules it may load."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imports")
    (folder / "people.toml").write_text(SCHEMA)
    (folder / "questions.sql").write_text(f"{QUESTION}; -- bits=1")
    loaded(folder, ["sample", "people.parquet", "--rows", "300"])
    loaded(folder, COMMANDS["ask"][0])
    return folder


def loaded(folder, words, before=""):
    done = subprocess.run(
        [sys.executable, "-c", COUNT.format(before=before), *words],
        cwd=folder,
        env=os.environ | {"COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_imports_what_it_uses(folder, name):
    words, most = COMMANDS[name]
    modules = loaded(folder, words)
    ours = [module for module in modules if module.split(".")[0] == "hartley"]
    assert len(ours) <= most, ours
    commands = {module for module in ours if module.startswith("hartley.cli.")}
    # Every command is recorded, for the evidence of its pages and JSON.
    every = ("main", "commands", "output", "reading", "recording")
    shared = {f"hartley.cli.{part}" for part in every}
    assert len(commands - shared) <= 3, commands
    if "--html" not in words:
        assert "matplotlib" not in modules
    if name in {"--help", "sample", "datasets", "schema", "ledger"}:
        assert not {"ibis", "duckdb", "numba", "scipy", "cvxpy"} & set(modules)


def test_a_client_loads_little_and_nothing_that_a_service_needs():
    code = "import hartley, json, sys; hartley.connect; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = json.loads(done.stdout)
    assert len([module for module in modules if module.split(".")[0] == "hartley"]) <= 25
    heavy = {
        "numpy",
        "pyarrow",
        "duckdb",
        "ibis",
        "sqlglot",
        "fastapi",
        "httpx",
        "requests",
        "rich",
    }
    assert not heavy & {*modules}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sample", "page", "anonymity", "ask", "doctor"])
def test_nothing_needs_pandas(folder, name):
    assert "pandas" not in loaded(folder, COMMANDS[name][0], WITHOUT_PANDAS)
