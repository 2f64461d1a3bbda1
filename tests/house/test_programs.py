"""Every benchmark, example and tool runs: benchmarks at the least sizes, without their peers."""

import contextlib
import importlib
import io
import json
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from command_line import run as run_command

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
LIBRARIES = {"measure", "results", "tables", "environments"}
"""What benchmarks have in common."""
ALONE = {"gpu_tradeoff": "needs no child process: it is for another machine", "run": "runs all"}
PEERS_LEFT_OUT = {
    "anonymity_peers": "pycanon",
    "ask_peers": "OpenDP and diffprivlib",
    "comparison": "OpenDP and diffprivlib",
    "partition": "networkx, rustworkx and dit",
    "pram": "qif",
    "privacy_distortion": "cvxpy with Clarabel",
}
"""Benchmarks whose peers are not installed here: each has an environment of many packages."""
NOTHING_LEFT = {"anonymity_peers", "ask_peers"}
"""Without peers these compare nothing; the second asks the agent all the same."""
RUN_ELSEWHERE = {
    "examples/picture.py": "tests/house/test_documents.py",
    "examples/location.py": "tests/papers/test_location_example.py",
    "tools/measure_tables.py": "tests/house/test_measures.py",
    "tools/verify_ledger.py": "tests/unit/trusted/ledger/forgeries.py",
}


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory):
    """The modules of the benchmarks, whose children run in this process and write to a folder."""
    before = set(sys.modules)
    with mock.patch.object(sys, "path", [str(BENCHMARKS), *sys.path]):
        tables, measure = map(importlib.import_module, ("tables", "measure"))
        tables.FOLDER = tmp_path_factory.mktemp("data")
        start = measure._run

        def run_here(work, out, err):
            if measure.TASK_FLAG not in work.command:
                return start(work, out, err)
            with mock.patch.object(sys, "argv", list(work.command[1:])):
                out.write_text(said(work.command[1]))
            return 0, SimpleNamespace(ru_utime=0.0, ru_stime=0.0, ru_maxrss=1)

        measure._run = run_here
        yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(BENCHMARKS)):
            del sys.modules[name]


def said(script):
    """Run a script to its end and return what it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(str(script), run_name="__main__")
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted({p.stem for p in BENCHMARKS.glob("*.py")} - LIBRARIES - ALONE.keys())
)
def test_a_benchmark_runs_at_the_least_sizes(benchmarks, name):
    peers = name == "check_tables"  # whose peers are installed with the product
    settings = benchmarks("results").Settings(quick=True, tiny=True, peers=peers, repeats=1)
    rows = benchmarks(name).run(settings)
    reasons = {row.result for row in rows if row.value is None}
    assert reasons == ({"left out: run without --no-peers"} if name in PEERS_LEFT_OUT else set())
    assert any(row.value is not None for row in rows) == (name not in NOTHING_LEFT)


@pytest.mark.slow
def test_all_benchmarks_are_in_one_table(benchmarks, tmp_path, monkeypatch):
    run = benchmarks("run")
    listed = {function.__module__ for function in run.BENCHMARKS.values()}
    assert listed == {p.stem for p in BENCHMARKS.glob("*.py")} - LIBRARIES - ALONE.keys()
    words = ["run.py", "--tiny", "--no-peers", "--only", "noiseless", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    run.main()
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert {row["benchmark"] for row in rows} == {"noiseless privacy"}
    assert "| noiseless privacy |" in (tmp_path / "results.md").read_text()


@pytest.mark.slow
def test_the_solver_certifies_what_the_benchmark_of_a_gpu_asks_on_numpy_as_well(monkeypatch):
    words = "--device numpy --points 65 --coarse 17 --secrets 17 --tolerance 1e-2"
    monkeypatch.setattr(sys, "argv", ["gpu_tradeoff.py", *words.split()])
    *_, last = map(json.loads, said(BENCHMARKS / "gpu_tradeoff.py").splitlines())
    assert last["stage"] == "done"
    assert last["gap"] <= 1e-2
    assert last["cost"] - last["bound"] == pytest.approx(last["gap"])


@pytest.mark.slow
def test_the_demonstration_runs(tmp_path, monkeypatch, capsys):
    def here(words, **_):
        assert words[:3] == [sys.executable, "-m", "hartley.cli"]
        found = run_command(*words[3:])
        assert found.returncode == 0, found.stderr
        return found

    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.setattr(subprocess, "run", here)
    monkeypatch.setattr(sys, "argv", ["demo.py", str(tmp_path)])
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert "bits that a released row tells at most" in shown
    assert "refused:" in shown
    assert (tmp_path / "design.html").is_file()


def test_every_example_and_tool_is_run_by_a_test():
    programs = {
        f"{folder}/{path.name}"
        for folder in ("examples", "tools")
        for path in (ROOT / folder).glob("*.py")
    }
    assert programs == {"examples/demo.py", "examples/ask_demo.py", *RUN_ELSEWHERE}
    for program, test in RUN_ELSEWHERE.items():
        assert Path(program).name in (ROOT / test).read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "tools").glob("need-*")), ids=lambda p: p.name)
def test_a_tool_that_installs_is_read_by_the_shell(path):
    """It is only read: what it installs takes minutes, and make test runs it."""
    subprocess.run(["sh", "-n", path], check=True)
