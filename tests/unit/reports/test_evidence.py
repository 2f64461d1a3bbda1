"""Evidence of results: time, version, command, fingerprints, and the script that repeats it."""

import datetime as dt
import hashlib
import json
import shlex
import subprocess
import sys

import pytest

import hartley
from command_line import run, run_process
from hartley.reports.evidence import (
    Evidence,
    FileDigest,
    digests,
    page_evidence,
    plain_options,
    recorded_evidence,
    timestamp,
    without_password,
)
from hartley.reports.render import page as page_of

NASTY = 'it\'s $(touch pwned) `x`; "q" é.csv'


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    monkeypatch.chdir(tmp_path)
    (tmp_path / NASTY).write_text("age,sex\n30,F\n40,M\n41,M\n")
    (tmp_path / "sex").write_text("no input: the name of a column is no file")
    return tmp_path / NASTY


AUDIT = ("--secret", "age", "--released", "sex")


@pytest.mark.slow
def test_the_json_of_a_command_holds_how_it_came_about(people):
    ran = run("audit", NASTY, *AUDIT, "--html", "a.html", "--json")
    evidence = json.loads(ran.stdout)["evidence"]
    assert evidence["time"] == "2001-09-09T01:46:40Z"
    assert evidence["version"] == hartley.__version__
    assert shlex.split(evidence["command"]) == [
        *("hartley", "audit", NASTY, *AUDIT, "--html", "a.html", "--json")
    ]
    assert evidence["options"]["released"] == ["sex"]
    assert evidence["signature"] is None
    digest = hashlib.sha256(people.read_bytes()).hexdigest()
    assert evidence["inputs"] == [{"file": NASTY, "sha256": digest}]
    page = people.with_name("a.html").read_bytes()
    written = hashlib.sha256(page).hexdigest()
    assert evidence["outputs"] == [{"file": "a.html", "sha256": written}]
    assert digest in page.decode()
    assert written not in page.decode()
    again = run("audit", NASTY, *AUDIT, "--html", "a.html", "--json", "--force")
    assert json.loads(again.stdout)["evidence"]["time"] == evidence["time"]


@pytest.mark.slow
def test_the_script_repeats_the_command_and_nothing_else(people, tmp_path):
    words = ("audit", NASTY, *AUDIT, "--html", "a b.html", "--script", "repeat.sh", "--json")
    first = json.loads(run(*words).stdout)
    page = (tmp_path / "a b.html").read_bytes()
    (tmp_path / "hartley").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hartley.cli "$@"\n')
    (tmp_path / "hartley").chmod(0o700)
    path = f"{tmp_path}:/usr/bin:/bin"
    script = tmp_path / "repeat.sh"
    assert script.stat().st_mode & 0o100

    def repeat(*more):
        import os

        return subprocess.run(
            ["sh", "repeat.sh", *more],
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    refused = repeat()
    assert refused.returncode == 2
    assert "exists already" in refused.stderr
    second = json.loads(repeat("--force").stdout)
    first.pop("evidence"), second.pop("evidence")
    assert first == second
    assert (tmp_path / "a b.html").read_bytes() != b""
    assert not (tmp_path / "pwned").exists()
    people.write_text("age,sex\n1,F\n")
    changed = repeat("--force")
    assert changed.returncode not in {0, 2}, "an input that changed stops the script"
    assert "FAILED" in changed.stdout + changed.stderr
    assert page


def test_a_script_of_hostile_names_stays_one_command():
    name = "a\nrm -rf x\n.csv"
    made = Evidence("t", "1", ("audit", name), inputs=(FileDigest(name, "f" * 64),))
    lines = made.script()
    # everything that a shell would run: the words after exec are one command with the odd name
    last = lines[lines.index("exec ") :].removesuffix(' "$@"\n')
    assert shlex.split(last) == ["exec", "hartley", "audit", name]
    comment = next(line for line in lines.splitlines() if "fingerprint" in line)
    assert comment.startswith("# ")
    before = lines[: lines.index("exec ")]
    assert "\nrm -rf" not in before


@pytest.mark.slow
@pytest.mark.usefixtures("people")
def test_the_fingerprint_of_standard_input_is_that_of_its_bytes(people, tmp_path):
    (tmp_path / "-").write_text("a file of that name is not what was read")
    words = ("audit", "-", *AUDIT, "--json", "--script", "again.sh")
    ran = run_process(*words, input=people.read_text())
    assert ran.returncode == 0, ran.stderr
    digest = hashlib.sha256(people.read_bytes()).hexdigest()
    assert json.loads(ran.stdout)["evidence"]["inputs"] == [{"file": "-", "sha256": digest}]
    script = (tmp_path / "again.sh").read_text()
    assert f"# Standard input had the fingerprint {digest}" in script
    assert "sha256sum" not in script  # it would read what the command needs


@pytest.mark.slow
@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("option", ["--html", "--script", "--junit", "--sarif"])
def test_a_file_is_replaced_only_by_force(tmp_path, option):
    (tmp_path / "old").write_text("precious")
    ran = run("audit", NASTY, *AUDIT, option, "old")
    assert ran.returncode == 2
    assert "old exists already; hint: give another name, or add --force" in ran.stderr
    assert (tmp_path / "old").read_text() == "precious"
    assert run("audit", NASTY, *AUDIT, option, "old", "--force").returncode == 0
    assert (tmp_path / "old").read_text() != "precious"


@pytest.mark.slow
def test_an_answer_says_no_fingerprint_of_the_private_table(people):
    schema = (
        "[table]\nname = 'people'\n[columns.age]\nkind = 'private'\nrange = [0, 100]\nstep = 1\n"
    )
    people.with_name("s.toml").write_text(schema)
    ran = run(
        *("ask", "SELECT COUNT(*) FROM people", "--schema", "s.toml", "--table", NASTY),
        *("--ledger", "l.db", "--budget", "50", "--json"),
    )
    assert ran.returncode == 0, ran.stderr
    evidence = json.loads(ran.stdout)["evidence"]
    assert evidence["inputs"] == []
    assert hashlib.sha256(people.read_bytes()).hexdigest() not in ran.stdout


def test_a_page_written_from_python_has_its_time_and_a_place_to_sign(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    report = hartley.audit({"a": [1, 2], "b": [1, 1]}, secret="a", released="b")
    page = hartley.write_html(report, tmp_path / "a.html").read_text()
    assert "Made at 1970-01-01T00:00:00Z by Hartley" in page
    assert "signature" in page
    assert "Made at" not in page_of(report), "what is not written to a file is no evidence"
    assert recorded_evidence() is None
    assert page_evidence(tmp_path / "a.html").command is None


@pytest.mark.parametrize("fixed", ["", "soon", "-5", "1e9", "9" * 40])
def test_without_a_sensible_fixed_time_it_is_now(monkeypatch, fixed):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", fixed)
    year = dt.datetime.now(dt.UTC).year
    assert timestamp()[:4] in {str(year), str(year + 1)}


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ann:s3cret@h/db::t", "postgresql://ann@h/db::t"),
        ("postgresql://ann@h:5432/db::t", "postgresql://ann@h:5432/db::t"),
        ("postgresql://ann:p:w@h:5432/db", "postgresql://ann@h:5432/db"),
        ("people.csv", "people.csv"),
    ],
)
def test_passwords_are_left_out(address, shown):
    assert without_password(address) == shown
    assert plain_options({"table": [address]}) == {"table": [shown]}


def test_files_that_are_not_there_have_no_fingerprint(tmp_path):
    (tmp_path / "a").write_text("")
    empty = hashlib.sha256(b"").hexdigest()
    names = [str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path), str(tmp_path / "a")]
    assert digests(names) == (FileDigest(names[0], empty),)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (NASTY, "would overwrite the file that the command reads"),
        ("link.csv", "would overwrite the file that the command reads"),
        ("a.html", "would overwrite the file that the command writes"),
        ("none/repeat.sh", "does not exist"),
    ],
)
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_script_replaces_no_file_of_its_command(people, script, problem, force):
    before = people.read_bytes()
    (people.parent / "link.csv").symlink_to(NASTY)
    ran = run("audit", NASTY, *AUDIT, "--html", "a.html", "--script", script, *force)
    assert ran.returncode == 2
    assert problem in ran.stderr
    assert people.read_bytes() == before
    assert not (people.parent / "a.html").exists()
