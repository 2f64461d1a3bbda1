import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hartley
from command_line import run, run_process
from hartley.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    assert run("sample", folder / "people.parquet").returncode == 0
    return folder


@pytest.mark.slow
def test_an_audit_in_a_pipe_prints_json_and_writes_the_report(folder):
    found = run(
        *("audit", folder / "people.parquet", "--secret", "diagnosis", "--released", "age,sex"),
        *("--bins", "age=25", "--sweep", "age=1:5", "--html", folder / "audit.html"),
    )
    assert (found.returncode, found.stderr) == (0, "")
    content = json.loads(found.stdout)
    direct = hartley.audit(
        hartley.people(),
        secret="diagnosis",
        released=["age", "sex"],
        bins={"age": 25},
        sweep={"age": "1:5"},
    )
    assert content["headline"] == direct.headline
    assert content["html"] == str(folder / "audit.html")
    page = (folder / "audit.html").read_text()
    assert direct.headline in page
    assert "<svg" in page


@pytest.mark.slow
def test_an_audit_in_a_terminal_prints_text_with_a_progress_bar(folder, in_terminal):
    code, screen = in_terminal(
        *("audit", folder / "people.parquet", "--secret", "diagnosis", "--released", "age"),
        *("--sweep", "age=1:50"),
    )
    assert code == 0
    assert "Maximin information" in screen
    assert "Sweeping steps" in screen
    assert not screen.lstrip().startswith("{")


@pytest.mark.slow
def test_the_record_itself_may_be_the_secret(folder):
    found = run("audit", folder / "people.parquet", "--secret", "ROW", "--released", "region")
    content = json.loads(found.stdout)
    assert content["secret"] == ["ROW"]
    assert content["secret_values"] == 5000


@pytest.mark.slow
def test_a_file_without_a_header_is_read_with_names_and_a_mark_for_missing(tmp_path):
    path = tmp_path / "heart.data"
    path.write_text("63,145\n67,?\n41,130\n41,145\n")
    words = (
        *("audit", path, "--secret", "age", "--released", "pressure"),
        *("--names", "age,pressure", "--null", "?", "--bins", "pressure=10"),
    )
    content = json.loads(run(*words).stdout)
    assert (content["rows"], content["rows_dropped"], content["missing"]) == (4, 0, "released")
    content = json.loads(run(*words, "--missing", "drop").stdout)
    assert (content["rows"], content["rows_dropped"]) == (3, 1)
    assert content["headline"].endswith("1 row in which pressure is missing is left out.")
    assert content["released_values"] == 2


@pytest.mark.slow
def test_several_files_make_one_table(tmp_path):
    for seed in (1, 2):
        run("sample", tmp_path / f"part{seed}.csv", "--rows", 50, "--seed", seed)
    found = run(
        *("audit", tmp_path / "part1.csv", tmp_path / "part2.csv"),
        *("--secret", "job", "--released", "sex"),
    )
    assert json.loads(found.stdout)["rows"] == 100


@pytest.mark.slow
def test_a_sample_is_the_same_every_time(folder, tmp_path):
    run("sample", tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (folder / "people.parquet").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nope.parquet", "--secret", "a", "--released", "b"], "There is no file nope.parquet"),
        ([".", "--secret", "a", "--released", "b"], ". is a folder"),
        (["P", "--secret", "agee", "--released", "sex"], "did you mean 'age'?"),
        (["P", "--secret", "age", "--released", "sex", "--bins", "sex=2"], "'sex'"),
        (["P", "--secret", "age", "--released", "sex", "--bins", "age=0"], "'age' is 0"),
        (["P", "--secret", "age", "--released", "sex", "--bins", "age=-3"], "'age' is -3"),
        (["P", "--secret", "age", "--released", "sex", "--bins", "age"], "COL=STEP"),
        (["P", "--secret", "age", "--released", "sex", "--missing", "keep"], "'keep'"),
        (["P", "--secret", "age", "--released", "sex", "--sweep", "sex=1:5"], "'sex'"),
        (["P", "--secret", "age", "--released", "sex", "--sweep", "age=1:5"], "not released"),
        (["P", "--secret", "age", "--released", "sex,sex"], "'sex' is named twice"),
        (["P", "--secret", "age", "--released", ","], "no column"),
        (["P", "--secret", "age", "--released", "sex", "--memory-limit", "lots"], "'lots'"),
        (["P", "--secret", "age", "--released", "sex", "--hypothesis", "age >"], "cannot be read"),
        (
            ["P", "--secret", "age", "--released", "sex", "--hypothesis", "age > 0"],
            "true for every",
        ),
        (["P", "--secret", "age", "--released", "sex", "--html", "no/such/a.html"], "a.html"),
        (["BAD", "--secret", "age", "--released", "sex"], "not a readable Parquet file"),
    ],
)
def test_a_mistake_is_one_sentence_with_a_hint_and_exit_code_2(
    folder, words, expected, monkeypatch, capsys
):
    (folder / "bad.parquet").write_text("no parquet here")
    places = {"P": "people.parquet", "BAD": "bad.parquet"}
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["hartley", "audit", *(places.get(w, w) for w in words)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.strip().splitlines()
    assert line.startswith("Error: ")
    assert "; hint: " in line
    assert expected in line


def test_an_unknown_option_is_the_users_mistake(folder):
    found = run("audit", folder / "people.parquet", "--secert", "age")
    assert found.returncode == 2
    assert "Traceback" not in found.stderr


@pytest.mark.slow
def test_a_fault_inside_says_so_without_a_traceback(folder, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import hartley.studies.look.audit as a\n"
        "def broken(*_, **__): raise ZeroDivisionError('SECRET-7741')\n"
        "a.audit = broken\n"
    )
    words = ("audit", folder / "people.parquet", "--secret", "age", "--released", "sex")
    found = run_process(*words, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert found.returncode == 1
    assert "ZeroDivisionError" in found.stderr
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
    content = json.loads(run("doctor").stdout)
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
    found = run("doctor", "--engine", str(tmp_path / "some.duckdb"))
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["--help"], ["audit", "--help"], ["sample", "-h"], ["doctor", "-h"]]
)
def test_help_is_given(words):
    found = run(*words)
    assert found.returncode == 0
    assert "Usage: hartley" in found.stdout


def test_the_version_is_the_package_version():
    assert run("--version").stdout.strip() == f"hartley {hartley.__version__}"


@pytest.mark.slow
def test_the_sample_refuses_other_endings(tmp_path):
    found = run("sample", tmp_path / "people.xlsx")
    assert found.returncode == 2
    assert "; hint: " in found.stderr
    assert not Path(tmp_path / "people.xlsx").exists()
