import json
import os
import subprocess
import sys

import pytest

import hartley
from command_line import run, run_process


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    assert run("sample", folder / "people.parquet").returncode == 0
    return folder


@pytest.mark.slow
def test_an_audit_in_a_terminal_prints_text_with_a_progress_bar(folder, in_terminal):
    code, screen = in_terminal(
        *("audit", folder / "people.parquet", "--secret", "diagnosis", "--released", "age"),
        *("--sweep", "age=1:50", "--details"),
    )
    assert code == 0
    assert "Maximin information" in screen
    assert "Sweeping steps" in screen
    assert not screen.lstrip().startswith("{")


@pytest.mark.slow
def test_a_file_without_a_header_is_read_with_names_and_a_mark_for_missing(tmp_path):
    path = tmp_path / "heart.data"
    path.write_text("63,145\n67,?\n41,130\n41,145\n")
    words = (
        *("audit", path, "--secret", "age", "--released", "pressure"),
        *("--names", "age,pressure", "--null", "?", "--bins", "pressure=10"),
    )
    content = json.loads(run(*words, "--json").stdout)
    assert (content["rows"], content["rows_dropped"], content["missing"]) == (4, 0, "released")
    content = json.loads(run(*words, "--missing", "drop", "--json").stdout)
    assert (content["rows"], content["rows_dropped"]) == (3, 1)
    assert content["headline"].endswith("1 row in which pressure is missing is left out.")
    assert content["released_values"] == 2


@pytest.mark.slow
def test_several_files_make_one_table(tmp_path):
    for seed in (1, 2):
        run("sample", tmp_path / f"part{seed}.csv", "--rows", 50, "--seed", seed)
    found = run(
        *("audit", tmp_path / "part1.csv", tmp_path / "part2.csv"),
        *("--secret", "job", "--released", "sex", "--json"),
    )
    assert json.loads(found.stdout)["rows"] == 100


@pytest.mark.slow
def test_a_sample_is_the_same_every_time(folder, tmp_path):
    run("sample", tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (folder / "people.parquet").read_bytes()


def test_an_unknown_option_is_the_users_mistake(folder):
    found = run("audit", folder / "people.parquet", "--secert", "age")
    assert found.returncode == 2
    assert "Traceback" not in found.stderr


@pytest.mark.slow
def test_a_fault_inside_says_so_without_a_traceback(folder, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import hartley.studies.look.exposure as e\n"
        "def broken(*_, **__): raise ZeroDivisionError('SECRET-7741')\n"
        "e.Judge.verdicts = broken\n"
    )
    words = ("audit", folder / "people.parquet", "--secret", "age", "--released", "sex")
    found = run_process(*words, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert found.returncode == 1
    assert "Something went wrong inside Hartley" in found.stderr
    assert "SECRET-7741" not in found.stderr
    assert "; hint: " in found.stderr


def test_an_interrupted_report_leaves_nothing_behind(tmp_path, monkeypatch):
    from hartley.files import write_whole

    target = tmp_path / "audit.html"
    target.write_text("old")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        write_whole(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.slow
def test_a_full_pipe_that_closes_ends_the_command_quietly(folder):
    words = f"audit {folder / 'people.parquet'} --secret ROW --released age --sweep age=1:200"
    found = subprocess.run(  # noqa: S602 - the pipe is what is tested
        f"{sys.executable} -m hartley.cli {words} | head -c 10",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in found.stderr
    assert "Exception" not in found.stderr


@pytest.mark.slow
def test_doctor_names_every_engine():
    content = json.loads(run("doctor", "--json").stdout)
    states = {check["name"]: check["state"] for check in content["checks"]}
    assert content["healthy"]
    assert states["engine duckdb"] == "ok"
    assert {"engine postgres", "engine spark"} <= states.keys()


@pytest.mark.slow
def test_doctor_shows_every_probe_of_an_engine(tmp_path):
    import duckdb

    from hartley.engines.probes import sql_questions
    from hartley.engines.registry import EMBEDDED

    duckdb.connect(str(tmp_path / "some.duckdb")).close()
    found = run("doctor", "--json", "--engine", str(tmp_path / "some.duckdb"))
    checks = json.loads(found.stdout)["checks"]
    shown = {check["name"]: check["state"] for check in checks if "probe: " in check["name"]}
    assert shown == {f"probe: {name}": "ok" for name, _, _ in sql_questions(EMBEDDED)}
    assert found.returncode == 0
    for address in (str(tmp_path / "none.duckdb"), "postgresql://me:secret@127.0.0.1:1/none"):
        missing = run("doctor", "--engine", address)
        assert missing.returncode == 1
        assert "does not answer" in missing.stdout
        assert "secret" not in missing.stdout + missing.stderr


def test_doctor_says_which_probe_fails_and_what_version_is_untried(monkeypatch):
    from hartley.engines import duckdb, probes
    from hartley.studies.check import doctor

    wrong = [probes.Probe("sums", 4, 0), probes.Probe("NaN", 1, 1)]
    with monkeypatch.context() as lying:
        lying.setattr(probes, "probe_engine", lambda *_: wrong)
        states = {check.name: (check.state, check.found) for check in doctor.probe(None)}
    assert states["probe: sums"] == ("broken", "0 instead of 4")
    assert states["probe: NaN"] == ("ok", "")
    duckdb._require_tried_library.cache_clear()
    with monkeypatch.context() as untried:
        untried.setattr(duckdb, "FIRST_UNTRIED", (1, 4))
        assert doctor._duckdb().state == "broken"
        assert "not one of the versions" in doctor._duckdb().found
    assert doctor._duckdb().state == "ok"


def test_doctor_says_what_to_install_for_what_is_missing(monkeypatch):
    from hartley.studies.check import doctor

    found = doctor._package("no-such-package", required=False, extra="pip install it")
    assert (found.state, found.hint) == ("absent", "pip install it")
    assert doctor._package("no-such-package", required=True, extra="").state == "broken"
    monkeypatch.setattr(doctor.shutil, "which", lambda _: None)
    assert "install Java" in doctor._spark().hint


def test_the_version_is_the_package_version():
    assert run("--version").stdout.strip() == f"hartley {hartley.__version__}"
