"""The command line as a shell and its user meet it: completion, help, hints, warnings, input."""

import os
import re
import subprocess
import sys

import pytest

from command_line import run, run_process
from hartley.cli.commands import load_commands


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.csv").write_text("age;job\n30; NA\n40;na\n50;NA\n60;smith\n")
    return tmp_path / "people.csv"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "variables", "wanted"),
    [
        ("bash", {"COMP_WORDS": "hartley anonymi", "COMP_CWORD": "1"}, "anonymize"),
        ("bash", {"COMP_WORDS": "hartley audit --enc", "COMP_CWORD": "2"}, "--encoding"),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "hartley audit --rel"}, "--released"),
        (
            "fish",
            {
                "_TYPER_COMPLETE_ARGS": "hartley attack gue",
                "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            },
            "guessing",
        ),
    ],
)
def test_commands_and_options_are_completed(shell, variables, wanted):
    ran = run_process(env=os.environ | {"_HARTLEY_COMPLETE": f"complete_{shell}"} | variables)
    assert wanted in ran.stdout


@pytest.mark.slow
def test_no_help_shows_words_of_the_validator():
    for name, command in load_commands().items():
        for part, leaf in {"": command, **getattr(command, "commands", {})}.items():
            context = leaf.make_context(f"{name} {part}", [], resilient_parsing=True)
            for option in leaf.get_params(context):
                shown = option.display_type_rich(ctx=context) or ""
                assert not re.search(r"<|\blist\[|\bbool\b", shown), (name, part, option.opts)


@pytest.mark.slow
def test_a_missing_option_lists_the_columns_of_the_file(people):
    ran = run("audit", people, "--released", "age", "--delimiter", ";")
    assert ran.returncode == 2
    assert "The option --secret is missing" in ran.stderr
    assert "name some of the columns age, job" in ran.stderr
    assert "smith" not in ran.stderr
    assert "columns of" not in run("audit", "absent.csv", "--released", "age").stderr


@pytest.mark.slow
def test_a_value_next_to_a_mark_is_warned_about(people):
    words = ("audit", "--secret", "age", "--released", "job", "--null", "NA", "--text")
    ran = run(words[0], people, *words[1:])
    assert ran.returncode == 0, ran.stderr
    assert (
        "Warning: Column 'job' has 2 rows whose value differs from 'NA' only by spaces or case"
    ) in ran.stderr
    trimmed = run(words[0], people, *words[1:], "--trim")
    assert "has 1 row whose value differs" in trimmed.stderr


GROUPS = "nurse,care\nsmith,trade\n"
SCHEMA = """[table]
name = "jobs"
[columns.job]
kind = "private"
values = ["nurse", "smith"]
other = true
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "words", "instead"),
    [
        (
            GROUPS,
            ("anonymize", "jobs.csv", "--keys", "job", "--hierarchy", "job=said", "-k", "2"),
            "is not in its hierarchy",
        ),
        (
            'confirmed = true\n[columns.job]\nrole = "key"\nhierarchy = "groups.csv"\n',
            ("anonymity", "jobs.csv", "--roles", "said"),
            "is not in its hierarchy",
        ),
        (SCHEMA, ("schema", "check", "said", "--table", "jobs.csv"), "is not what the schema"),
    ],
)
def test_a_value_next_to_a_category_is_warned_about(tmp_path, monkeypatch, content, words, instead):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "said").write_text(content)
    (tmp_path / "groups.csv").write_text(GROUPS)
    (tmp_path / "jobs.csv").write_text("job,age\nnurse,1\nNurse,2\n nurse,3\nsmith,4\n")
    out = ("-o", "out.csv") if words[0] == "anonymize" else ()
    ran = run(*words, *out, "--text")
    near = "Warning: Column 'job' has 2 rows whose value differs from 'nurse' only by spaces or"
    assert f"{near} case, and {instead}" in ran.stderr


@pytest.mark.slow
def test_a_table_comes_from_standard_input():
    text = "age,sex\n30,F\n40,M\n"
    ran = run_process("audit", "-", "--secret", "age", "--released", "sex", "--text", input=text)
    assert ran.returncode == 0, ran.stderr
    assert "From sex, the age of all people is certain" in ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("module", ["hartley", "hartley.cli"])
def test_the_command_line_runs_as_a_module(module):
    ran = subprocess.run(
        [sys.executable, "-m", module, "schema", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Usage: hartley schema" in ran.stdout
