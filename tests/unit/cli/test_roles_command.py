"""Deciding about a table column by column: hartley roles."""

import io
import json
import sys

import pytest

from hartley import Roles
from hartley.cli.main import main

TABLE = "patient_id,age,ward,diagnosis\n" + "".join(
    f"P{i % 40:03d},{20 + i % 50},{'ABC'[i % 3]},{['flu', 'hiv'][i % 2]}\n" for i in range(60)
)
PROPOSED = {"patient_id": "unit", "age": "key", "ward": "undecided", "diagnosis": "confidential"}


@pytest.fixture
def decide(tmp_path, monkeypatch, capsys):
    """Run the command on a table of visits; returns its exit code and output."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(TABLE)

    def run(*words, typed="", terminal=False):
        monkeypatch.setattr(sys, "argv", ["hartley", "roles", "visits.csv", *words])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        monkeypatch.setattr(
            "hartley.cli.roles.is_terminal", lambda stream: terminal and stream is sys.stdin
        )
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return ended.value.code or 0, shown.out, shown.err

    return run


def roles_of(path):
    return {name: column.role for name, column in Roles.confirmed_by_owner(path).columns.items()}


def test_enter_accepts_what_is_proposed_and_names_change_it(decide, tmp_path):
    code, _, asked = decide(typed="\n\nkey\n\n", terminal=True)
    assert code == 0, asked
    assert roles_of(tmp_path / "roles.toml") == PROPOSED | {"ward": "key"}
    assert "1 of 4: patient_id, texts: 40 values, 0 missing" in asked
    assert "its name numbers people" in asked
    assert "Role of diagnosis [confidential]" in asked
    roles = Roles.read(tmp_path / "roles.toml")
    assert [int(width) for width in roles.columns["age"].levels] == [5, 10, 20]


def test_a_wrong_answer_is_asked_again(decide, tmp_path):
    code, _, asked = decide(typed="\nunit\nk\nKEY\n\nconf\n", terminal=True)
    assert code == 0, asked
    assert "Column 'patient_id' is the unit already; hint: choose identifier" in asked
    assert "'k' is no role of column 'age'; hint: choose identifier, unit," in asked
    assert roles_of(tmp_path / "roles.toml") == PROPOSED


def test_nothing_is_written_where_the_answers_end_early(decide, tmp_path):
    code, _, said = decide(typed="\n\n", terminal=True)
    assert (code, "nothing was left half-written" in said) == (130, True)
    assert not (tmp_path / "roles.toml").exists()


def test_answers_come_from_a_file_or_from_standard_input(decide, tmp_path):
    lines = "diagnosis = \nage=confidential\n\nward = kept\npatient_id = identifier\n"
    wanted = {"patient_id": "identifier", "age": "confidential", "ward": "kept"}
    (tmp_path / "answers.txt").write_text(lines)
    code, out, _ = decide("--answers", "answers.txt", "--out", "a.toml", "--json")
    assert (code, json.loads(out)["roles"]) == (0, PROPOSED | wanted)
    # A column that is no key has none of a key's rules.
    assert roles_of(tmp_path / "a.toml") == PROPOSED | wanted
    code, out, _ = decide("--answers", "-", "--out", "b.toml", "--text", typed=lines)
    assert code == 0
    assert "of 4 columns, 3 columns can be released" in out
    assert roles_of(tmp_path / "b.toml") == PROPOSED | wanted


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("age = key", "Nothing in standard input answers for column 'patient_id'; hint: add the"),
        ("aeg = key", "The line 'aeg = key' of standard input names no column; hint: write COLUMN"),
        ("age", "The line 'age' of standard input names no column"),
        ("age = key\nage = key", "The line 'age = key' of standard input repeats a column"),
        ("age = secret", "'secret' is no role of column 'age'; hint: choose identifier, unit,"),
        ("age = key\nward = u", "'u' is no role of column 'ward'"),
        ("age = unit\npatient_id =", "Column 'age' is the unit already"),
    ],
)
def test_answers_that_are_wrong_write_nothing(decide, tmp_path, lines, message):
    code, _, said = decide("--answers", "-", typed=lines)
    assert (code, message in said) == (2, True), said
    assert not (tmp_path / "roles.toml").exists()


def test_without_a_terminal_and_answers_it_refuses_with_commands_that_run(decide, tmp_path):
    code, _, said = decide()
    assert code == 2
    assert "There is no terminal in which to ask about the columns; hint: write lines" in said
    assert "hartley scan visits.csv --draft roles.toml" in said
    assert not (tmp_path / "roles.toml").exists()


def test_no_file_is_replaced(decide, tmp_path):
    (tmp_path / "roles.toml").write_text("mine")
    assert decide(typed="\n\n\n\n", terminal=True)[0] == 2
    assert (tmp_path / "roles.toml").read_text() == "mine"
    code, _, said = decide("--out", "visits.csv", "--force", typed="\n\n\n\n", terminal=True)
    assert code == 2, said
    assert (tmp_path / "visits.csv").read_text() == TABLE
