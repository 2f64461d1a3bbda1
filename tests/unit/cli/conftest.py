import os
import pty
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import hartley
from hartley.datasets.people import people


@pytest.fixture(scope="session")
def in_terminal():
    """Run a command as a person at a terminal does; return its exit code and what it showed."""

    def run(*words):
        reader, writer = pty.openpty()
        child = subprocess.Popen(
            [sys.executable, "-m", "hartley.cli", *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
        )
        os.close(writer)
        screen = b""
        while True:
            try:
                part = os.read(reader, 65536)
            except OSError:  # the child has closed its side
                break
            if not part:
                break
            screen += part
        os.close(reader)
        return child.wait(), screen.decode()

    return run


@pytest.fixture(scope="session")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    return folder


@pytest.fixture
def folder(inputs, monkeypatch):
    """Work in the folder of all inputs; what a test writes there is removed."""
    monkeypatch.chdir(inputs)
    kept = {*inputs.iterdir()}
    yield inputs
    for path in {*inputs.iterdir()} - kept:
        path.unlink()


SCHEMA = """
[table]
name = "people"
[columns.sex]
kind = "public"
values = ["F", "M"]
[columns.visits]
kind = "private"
range = [0, 20]
step = 1
"""
DESIGN = """
objective = "maximin"
query = "mean(height)"
error = 0.5
people = 20
[columns.height]
range = [100, 250]
"""
POLICY = """
format = 1
[[columns]]
name = "weight"
kind = "blur"
line = "30*(height/100)**2"
reach = "5"
low = "0"
high = "200"
[[columns]]
name = "height"
kind = "keep"
low = "0"
high = "250"
"""
PRAM = """
format = 1
[[columns]]
name = "sex"
kind = "pram"
values = ["F", "M"]
matrix = [["0.9", "0.1"], ["0.1", "0.9"]]
"""


ILL = {*people(120)["diagnosis"].to_pylist()}


def write_inputs(folder):
    """Write all files that the calls below read."""
    random = np.random.default_rng(1)
    table = people(120)
    on = random.random((2, 400)) < 0.4
    (folder / "questions.sql").write_text(
        "-- weight=2\nSELECT MEDIAN(visits) FROM people;\nSELECT AVG(visits) FROM people;\n"
    )
    tables = {
        "people": table,
        "everybody": pa.concat_tables([table, people(120, seed=3)]),
        "homes": {
            "home": np.repeat(np.arange(12), 3),
            "day": np.tile(np.arange(3), 12),
            **{f"h{h}": random.gamma(2, 1, 36).round(2) for h in range(4)},
        },
        "power": {"main": on[0] * 100 + on[1] * 900 + 40, "oven": on[1] * 900},
        "trips": {name: random.integers(0, 20, 300) for name in ("who", "x", "y")},
    }
    for name, content in tables.items():
        pyarrow.csv.write_csv(pa.table(content), folder / f"{name}.csv")
    texts = {
        "people.toml": SCHEMA,
        "height.design.toml": DESIGN,
        "policy.toml": POLICY,
        "sex.toml": PRAM,
        "sex.csv": ",F,M\nF,0.9,0.1\nM,0.1,0.9\n",
        "known.csv": ",w,x\nw,1,0.95\nx,0.95,1\n",
        "ill.csv": "".join(f"{ill},{ill == 'none'}\n" for ill in ILL),
        "outputs.csv": "g,n\na,15\nb,x\nTotal,23\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    hartley.release(folder / "people.csv", folder / "policy.toml", folder / "released.csv")
    with hartley.Agent(
        folder / "people.csv", folder / "people.toml", budget=8, ledger=folder / "ledger.db"
    ) as agent:
        agent.ask("SELECT AVG(visits) FROM people", bits=2)
        agent.ask("SELECT COUNT(*) FROM people WHERE visits > 9 GROUP BY sex")
