"""Questions by roles from end to end, and every function that takes roles given a draft."""

import json
import sys
from collections import Counter

import numpy as np
import pytest

import hartley
from hartley import draft_schema
from hartley.cli.main import main
from hartley.errors import HartleyError, OptionError
from hartley.studies.look.exposure import audit_risks, key_risks

ROWS = 60
ROLES = {
    "confirmed": True,
    "reading": {"null": ["?"], "trim": True},
    "columns": {
        "Person": {"role": "identifier"},
        "age": {"role": "key"},
        "sex": {"role": "key"},
        "ill": {"role": "confidential"},
        "home": {"role": "household"},
        "w": {"role": "weight"},
    },
}
DRAFT = ROLES | {"confirmed": False}
SCHEMA = """\
[table]
name = "people"
default_bits = 4

[columns.age]
kind = "private"
range = [0, 100]
step = 1
nullable = true

[columns.sex]
kind = "public"
values = ["F", "M"]
"""


def people(seed=5):
    rng = np.random.default_rng(seed)
    return {
        "Person": [f"SECRET{i}" for i in range(ROWS)],
        "age": rng.integers(20, 30, ROWS).tolist(),
        "sex": rng.choice(["F", "M"], ROWS).tolist(),
        "ill": rng.choice(["flu", "hiv"], ROWS).tolist(),
        "home": rng.integers(0, 25, ROWS).tolist(),
        "w": rng.integers(1, 9, ROWS).tolist(),
    }


def csv_of(columns):
    """Write a messy file: spaces around values, and ? for a missing age."""
    lines = [",".join(columns)]
    for i, row in enumerate(zip(*columns.values(), strict=True)):
        fields = [f" {value} " if name == "sex" else str(value) for name, value in
                  zip(columns, row, strict=True)]  # fmt: skip
        fields[1] = "?" if i % 20 == 0 else fields[1]
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"


def toml_of(roles):
    """Write roles as a file."""
    lines = [f"confirmed = {str(roles['confirmed']).lower()}", "[reading]", 'null = ["?"]']
    lines.append("trim = true")
    for name, fields in roles["columns"].items():
        lines += [f"[columns.{name}]", f'role = "{fields["role"]}"']
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(csv_of(people()))
    (tmp_path / "roles.toml").write_text(toml_of(ROLES))
    (tmp_path / "draft.toml").write_text(toml_of(DRAFT))
    (tmp_path / "people.toml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def ask(capsys, monkeypatch):
    """Ask as the shell does; return the exit code and what was printed on both streams."""

    def finished(question, *words):
        fixed = ("--schema", "people.toml", "--ledger", "ledger.db", "--json")
        monkeypatch.setattr(sys, "argv", ["hartley", "ask", question, *fixed, *words])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return ended.value.code or 0, shown.out, shown.err

    return finished


def test_a_question_is_answered_by_what_the_roles_read(folder, ask):
    table = people()
    given = ("--table", "people.csv", "--budget", "20", "--roles", "roles.toml")
    women = "SELECT COUNT(*) FROM people WHERE sex = 'F' AND age >= 25"
    code, out, err = ask(women, *given, "--error", "0")
    assert code == 0, err
    truth = sum(
        sex == "F" and age >= 25 and i % 20 != 0
        for i, (sex, age) in enumerate(zip(table["sex"], table["age"], strict=True))
    )
    assert str(truth) in json.dumps(json.loads(out)["rows"])
    told = {"table": "people.csv", "ledger": "other.db", "budget": 20, "error": 0}
    assert int(hartley.ask(women, "people.toml", **told, roles="roles.toml").value) == truth
    # The copy that an agent keeps holds no identifier.
    for path in folder.iterdir():
        if path.name != "people.csv":
            held = path.read_bytes() if path.is_file() else b""
            assert b"SECRET" not in held, path.name


@pytest.mark.parametrize("name", ["Person", "person", "PERSON"])
def test_no_spelling_of_an_identifier_is_asked_about(folder, ask, name):
    described = f'\n[columns.{name}]\nkind = "open"\nvalues = ["SECRET1"]\nother = true\n'
    (folder / "people.toml").write_text(SCHEMA + described)
    code, _, err = ask(
        f"SELECT COUNT(*) FROM people WHERE {name} = 'SECRET1'",  # noqa: S608 - a question
        *("--table", "people.csv", "--budget", "20", "--roles", "roles.toml"),
    )
    assert code == 2
    assert "is an identifier and is never asked about" in err
    assert not (folder / "ledger.db").exists()


def test_a_draft_answers_nothing_and_opens_no_ledger(folder, ask):
    code, out, err = ask(
        "SELECT COUNT(*) FROM people",
        *("--table", "people.csv", "--budget", "20", "--roles", "draft.toml"),
    )
    assert code == 2
    assert "draft that nobody has confirmed" in err
    assert "draft that nobody has confirmed" in json.loads(out)["error"]["reason"]
    assert not (folder / "ledger.db").exists()


def test_an_identifier_may_say_whose_row_it_is(folder, ask):
    (folder / "people.toml").write_text(
        SCHEMA.replace("default_bits", 'unit = "Person"\nrows_per_unit = 1\ndefault_bits')
    )
    code, out, err = ask(
        "SELECT COUNT(*) FROM people WHERE age >= 25",
        *("--table", "people.csv", "--budget", "20", "--roles", "roles.toml"),
    )
    assert code == 0, err
    assert "SECRET" not in out + err


@pytest.mark.parametrize(
    "study",
    [
        lambda _: hartley.audit(people(), roles=DRAFT),
        lambda _: hartley.anonymity(people(), roles=DRAFT),
        lambda _: hartley.anonymize(people(), k=2, roles=DRAFT),
        lambda _: hartley.microaggregate(people(), 2, roles=DRAFT),
        lambda out: hartley.pram(people(), out=out, retain="0.9", roles=DRAFT),
        lambda _: draft_schema(hartley.open_table(people()), roles=DRAFT),
        lambda _: key_risks(people(), ["age"], roles=DRAFT),
        lambda out: hartley.ask(
            "SELECT COUNT(*) FROM people",
            {"table": {"name": "people"}, "columns": {"sex": {"kind": "public", "values": ["F"]}}},
            table=people(),
            ledger=out.with_suffix(".db"),
            budget=2,
            roles=DRAFT,
        ),
    ],
)
@pytest.mark.parametrize("spoilt", [{}, {"confirmed": "true"}, {"confirmed": 1}])
def test_no_function_takes_a_draft(study, spoilt, tmp_path, monkeypatch):
    for key, value in spoilt.items():  # what only looks like a confirmation
        monkeypatch.setitem(DRAFT, key, value)
    with pytest.raises(OptionError, match=r"draft that nobody|not true or false"):
        study(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seed", range(3))
def test_people_by_roles_are_those_that_counting_finds(seed):
    table = people(seed)
    keys = list(zip(table["age"], table["sex"], strict=True))
    alike = Counter(keys)
    for key in alike:  # the smaller of people and households
        homes = {home for home, at in zip(table["home"], keys, strict=True) if at == key}
        alike[key] = min(alike[key], len(homes))
    least = {
        home: min(alike[k] for k, h in zip(keys, table["home"], strict=True) if h == home)
        for home in table["home"]
    }
    secrets = {key: {table["ill"][i] for i in range(ROWS) if keys[i] == key} for key in keys}
    audit = hartley.audit(table, roles=ROLES, few=4)
    anonymity = hartley.anonymity(table, roles=ROLES, few=4)
    for counts in (audit.people, anonymity.people):
        assert counts.unique == sum(alike[key] == 1 for key in keys)
        assert counts.among_few == sum(alike[key] < 4 for key in keys)
        assert counts.household_among_few == sum(least[home] < 4 for home in table["home"])
    assert audit.people.given_away == sum(len(secrets[key]) == 1 for key in keys)
    risks = audit_risks(table, audit, roles=ROLES).table
    assert "Person" not in risks.column_names
    assert risks["household_alike"].to_pylist() == [least[home] for home in table["home"]]


def test_an_identifier_that_is_named_is_refused_in_any_case():
    with pytest.raises(HartleyError, match="is an identifier and is never released"):
        hartley.anonymize(people(), ["age"], 2, keep="PERSON", roles=ROLES)
    with pytest.raises(HartleyError, match="is an identifier and is never released"):
        hartley.audit(people(), secret="person", released="age", roles=ROLES)
