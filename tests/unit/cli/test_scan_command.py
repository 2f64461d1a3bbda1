"""From a raw file to a release: hartley scan, roles, and the commands that read them."""

import csv
import datetime as dt
import json
import shlex
import sys

import numpy as np
import pytest

from hartley.cli.main import main

ROWS = 600


class Finished:
    """What a command printed, and its exit code."""

    def __init__(self, exit_code, shown):
        self.exit_code, self.stdout, self.output = exit_code, shown.out, shown.out + shown.err


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command as the shell does."""

    def finished(*words):
        monkeypatch.setattr(sys, "argv", ["hartley", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return Finished(ended.value.code or 0, capsys.readouterr())

    return finished


def run_json(run, *words):
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def confirm(path):
    text = path.read_text()
    assert "confirmed = false" in text
    path.write_text(text.replace("confirmed = false", "confirmed = true"))


def write(path, header, rows, *, delimiter=",", encoding="utf-8"):
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def ward(path):
    """Spaces around values, question marks, a number that identifies, duplicate rows."""
    rng = np.random.default_rng(1)
    numbers = rng.choice(900_000, ROWS, replace=False) + 100_000
    rows = [
        [
            numbers[i],
            f" {rng.integers(20, 80)}",
            rng.choice(["F", " F", "M", " ?"]),
            rng.choice([" nurse", "cook", "judge ", "smith"]),
            rng.choice(["flu", "hiv", "cold"]),
        ]
        for i in range(ROWS)
    ]
    return write(path, ["case", "age", "sex", "job", "diagnosis"], [*rows, rows[0], rows[1]])


def office(path):
    """Western Windows, semicolons, decimal commas, days first."""
    rng = np.random.default_rng(2)
    birth = [dt.date(1950, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 18_000, ROWS)]
    rows = [
        [
            f"MÜLLER-{i:04d}",
            birth[i].strftime("%d.%m.%Y"),
            rng.choice(["Köln", "Zürich", "Graz"]),
            f"{rng.integers(10_000, 90_000) / 8:.2f}".replace(".", ","),
        ]
        for i in range(ROWS)
    ]
    header = ["Name", "Geburtsdatum", "Ort", "Einkommen"]
    return write(path, header, rows, delimiter=";", encoding="cp1252")


def survey(path):
    """Three hundred columns, and a number of the respondent."""
    rng = np.random.default_rng(3)
    answers = rng.integers(1, 6, (ROWS, 297))
    rows = [
        [10_000 + i, rng.integers(18, 80), rng.choice(["f", "m"]), *answers[i]] for i in range(ROWS)
    ]
    return write(path, ["respondent", "age", "gender", *(f"q{i}" for i in range(297))], rows)


MESSY = {
    "ward": (ward, "case", {"age", "sex", "job"}, {"diagnosis"}),
    "office": (office, "Name", {"Geburtsdatum", "Ort"}, {"Einkommen"}),
    "survey": (survey, "respondent", {"age", "gender"}, set()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MESSY)
def test_messy_files_end_in_a_right_release(run, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    make, identifier, keys, confidential = MESSY[name]
    make(tmp_path / "raw file.csv")
    scan = run_json(run, "scan", "raw file.csv")
    what = {column["name"]: column for column in scan["columns"]}
    assert what[identifier]["what"] == "identifier"
    assert keys <= {*scan["keys"]}
    assert confidential == {*scan["confidential"]}
    first, second, third = (shlex.split(command) for command in scan["commands"])
    assert run(*first[1:]).exit_code == 0
    refused = run(*second[1:])
    assert refused.exit_code == 2
    assert "draft that nobody has confirmed" in refused.output
    assert not (tmp_path / "released.csv").exists()
    confirm(tmp_path / "roles.toml")
    anonymity = run_json(run, *second[1:])
    released = {c["name"] for c in scan["columns"] if c["role"] in {"key", "confidential", "kept"}}
    assert {*anonymity["keys"]} == {c["name"] for c in scan["columns"] if c["role"] == "key"}
    if not scan["undecided"]:  # which a scan counts among what others may know
        assert anonymity["unique"] == scan["people"]["unique"]
        assert anonymity["people"]["among_few"] == scan["people"]["among_few"]
    if confidential:
        audit = run_json(run, "audit", "raw file.csv", "--roles", "roles.toml")
        assert audit["people"]["unique"] == scan["people"]["unique"]
        assert audit["people"]["given_away"] == max(scan["given_away"].values())
    made = run_json(run, *third[1:])
    assert made["check"]["k"] >= 5
    with (tmp_path / "released.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert identifier not in rows[0]
    assert {*rows[0]} == released
    classes = {}
    for row in rows:
        key = tuple(row[name] for name in anonymity["keys"])
        classes[key] = classes.get(key, 0) + 1
    assert min(classes.values()) >= 5
    assert len(rows) >= 0.95 * ROWS
    written = (tmp_path / "released.csv").read_text(encoding="utf-8")
    assert not any(value in written for value in (" ?", " F", "MÜLLER"))


def test_what_a_scan_says_about_messy_files(run, tmp_path):
    said = run_json(run, "scan", str(ward(tmp_path / "ward.csv")))
    text = " ".join(said["suspicions"])
    assert "'?' seems to mark missing values" in text
    assert "with spaces around the value" in text
    assert said["duplicates"] == 2
    said = run_json(run, "scan", str(office(tmp_path / "office.csv")))
    assert "Einkommen: decimal commas." in said["suspicions"]
    assert "Geburtsdatum: dates with the day first." in said["suspicions"]


def test_a_scan_as_text_and_as_a_page(run, tmp_path):
    path, page = ward(tmp_path / "ward.csv"), tmp_path / "scan.html"
    risks = tmp_path / "risks.csv"
    result = run("scan", str(path), "--details", "--html", str(page), "--risks", str(risks))
    assert result.exit_code == 0, result.output
    assert "quasi-identifier candidate" in result.output
    assert f"hartley scan {path} --null '?' --trim --draft roles.toml" in result.output
    assert f"Report: {page}" in result.output
    content = page.read_text()
    assert "stand among fewer than 5" in content
    numbers = [line.split(",")[0] for line in path.read_text().splitlines()[1:]]
    assert not any(number in content + result.output for number in numbers)
    assert len(risks.read_text().splitlines()) == ROWS + 3


@pytest.fixture
def confirmed(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ward(tmp_path / "ward.csv")
    assert run("scan", "ward.csv", "--draft", "roles.toml").exit_code == 0
    confirm(tmp_path / "roles.toml")
    return tmp_path


@pytest.mark.slow
def test_every_command_reads_roles_and_no_identifier_leaves(run, confirmed):
    roles = ("--roles", "roles.toml")
    audit = run_json(run, "audit", "ward.csv", *roles, "--risks", "audit.parquet")
    assert (audit["secret"], audit["released"]) == (["diagnosis"], ["age", "sex", "job"])
    anonymity = run_json(run, "anonymity", "ward.csv", *roles, "--risks", "keys.csv")
    assert anonymity["keys"] == ["age", "sex", "job"]
    homogeneity = run_json(run, "attack", "homogeneity", "ward.csv", *roles)
    assert homogeneity["number"]["value"] > 0
    unique = run_json(run, "attack", "uniqueness", "ward.csv", *roles)
    assert unique["unique"] == anonymity["unique"] == audit["people"]["unique"]
    guessing = run_json(run, "attack", "guessing", "ward.csv", *roles)
    assert guessing["headline"]
    run_json(
        run, "pram", "ward.csv", *roles, "--retain", "0.8", "--missing", "value", "-o", "pram.csv"
    )
    run_json(run, "microaggregate", "ward.csv", *roles, "-k", "5", "-o", "averages.csv")
    run_json(run, "anonymize", "ward.csv", *roles, "-k", "5", "-o", "released.csv")
    for file in ("pram.csv", "averages.csv", "released.csv"):
        assert "case" not in (confirmed / file).read_text().splitlines()[0]
    draft = run("schema", "draft", "ward.csv", *roles)
    assert draft.exit_code == 0
    assert "# left out: 'case', an identifier" in draft.output
    assert "[columns.case]" not in draft.output


@pytest.mark.parametrize(
    "words",
    [
        ("anonymize", "ward.csv", "-k", "5", "-o", "out.csv", "--keep", "case"),
        ("microaggregate", "ward.csv", "-k", "5", "-o", "out.csv", "--keep", "case"),
        ("pram", "ward.csv", "--retain", "0.8", "-o", "out.csv", "--keep", "case"),
        ("audit", "ward.csv", "--released", "case"),
        ("anonymity", "ward.csv", "--keys", "case,age"),
        ("attack", "homogeneity", "ward.csv", "--keys", "case"),
    ],
)
def test_an_identifier_that_somebody_names_is_refused(run, confirmed, words):
    result = run(*words, "--roles", "roles.toml")
    assert result.exit_code == 2
    assert "Column 'case' is an identifier and is never released" in result.output
    assert not (confirmed / "out.csv").exists()


def test_questions_leave_identifiers_alone(run, confirmed):
    schema = confirmed / "people.toml"
    schema.write_text(
        '[table]\nname = "people"\n\n[columns.age]\nkind = "private"\nrange = [0, 100]\nstep = 1\n'
    )
    asked = ("ask", "SELECT COUNT(*) FROM people WHERE age >= 40", "--table", "ward.csv")
    settled = ("--schema", "people.toml", "--ledger", "ledger.db", "--budget", "9")
    answer = run_json(run, *asked, *settled, "--roles", "roles.toml")
    assert answer
    schema.write_text(
        schema.read_text() + '\n[columns.case]\nkind = "private"\nrange = [0, 1000000]\nstep = 1\n'
    )
    refused = run(*asked, *settled, "--roles", "roles.toml", "--json")
    assert refused.exit_code == 2
    assert "never asked about" in refused.output


def test_dates_are_binned_by_periods(run, tmp_path):
    path = str(office(tmp_path / "office.csv"))
    reading = ("--encoding", "cp1252", "--dates", "day-first", "--decimal", ",")
    rows = run_json(
        run, "audit", path, *reading, "--secret", "Ort", "--released", "Geburtsdatum",
        "--bins", "Geburtsdatum=decade",
    )  # fmt: skip
    assert rows["released_values"] == 5
    out = str(tmp_path / "out.csv")
    made = run_json(
        run, "anonymize", path, *reading, "--keys", "Geburtsdatum", "-k", "5",
        "--bins", "Geburtsdatum=month,quarter,year", "--suppress", "0.1", "-o", out,
    )  # fmt: skip
    assert made["check"]["k"] >= 5
    assert made["levels"]["Geburtsdatum"] in {1, 2, 3}
