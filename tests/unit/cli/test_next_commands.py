"""The commands that a scan prints: each of them runs when it is pasted, for files as they come."""

import csv
import json
import random
import shlex

import openpyxl
import pytest

import command_line
from hartley import Roles

NAMES = ["PatNr", "Geburtsdatum", "PLZ", "Geschlecht", "Gehalt", "Diagnose"]


def patients(rows=200):
    draw = random.Random(1)  # noqa: S311 - no secret
    return [
        [
            f"P{1000 + k}",
            f"{draw.randint(1, 28):02d}.{draw.randint(1, 12):02d}.{draw.randint(1950, 1989)}",
            draw.choice(["01067", "10117", "80331", "20095"]),
            draw.choice(["m", "w"]),
            f"{draw.randint(1500, 6000)},{draw.randint(0, 99):02d}",
            draw.choice(["Grippe", "Müdigkeit", "keine Angabe"]),
        ]
        for k in range(rows)
    ]


def total(rows):
    cents = sum(int(row[4].replace(",", "")) for row in rows)
    return ["Summe", "", "", "", f"{cents // 100},{cents % 100:02d}", ""]


def written(path, lines, *, encoding="utf-8", delimiter=";"):
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(lines)
    return path.name


def sample(folder):
    command_line.run("sample", "people.csv", "--rows", 600, cwd=folder)
    return "people.csv"


def export(folder):
    return written(folder / "an export.csv", [NAMES, *patients()], encoding="cp1252")


def titled(folder):
    rows = patients()
    above = [["Bericht der Klinik"], ["Stand: 2024"], []]
    return written(folder / "kis's; report.csv", [*above, NAMES, *rows, total(rows)])


def workbook(folder):
    book = openpyxl.Workbook()
    book.active.title = "Blatt 1"
    book.create_sheet("empty").append(["nothing"])
    for row in (["Bericht"], [], NAMES, *patients()):
        book["Blatt 1"].append(row)
    book["Blatt 1"].append(["Total", *[None] * 5])
    book.save(folder / "report.xlsx")
    return "report.xlsx", "--sheet", "Blatt 1"


def without_keys(folder):
    rows = [[row[0], "ABC"[k % 3], row[5]] for k, row in enumerate(patients())]
    return written(folder / "wards.csv", [["patient", "ward", "diagnosis"], *rows])


def secrets_alone(folder):
    rows = [[row[0], row[5]] for row in patients()]
    return written(folder / "ill.csv", [["patient", "diagnosis"], *rows])


def amounts(folder):
    rows = [[row[4], f"{k},{k % 7}"] for k, row in enumerate(patients())]
    return written(folder / "amounts.csv", [["income", "tax"], *rows])


def unnamed(folder):
    rows = [[k % 50 + 20, "MF"[k % 2], "?" if k % 9 == 0 else "flu"] for k in range(200)]
    name = written(folder / "-x.csv", rows, delimiter="|")
    return f"./{name}", "--names", "age,sex,diagnosis", "--null", "--", "--delimiter", "|"


def doubled(folder):
    rows = [[k, k % 50 + 20, k % 40, "flu"] for k in range(200)]
    name = written(folder / "two.csv", [["id", "age", "age", ""], *rows])
    refused = command_line.run("scan", name, cwd=folder).stderr
    return name, *shlex.split(refused.partition("name all columns with ")[2])


def two_files(folder):
    halves = patients()[:100], patients()[100:]
    return tuple(written(folder / f"{k}.csv", [NAMES, *half]) for k, half in enumerate(halves))


FILES = [sample, export, titled, workbook, without_keys, secrets_alone, amounts, unnamed]
FILES += [doubled, two_files]


def commands_of(ran):
    assert ran.returncode == 0, ran.stderr
    lines = [line[2:] for line in ran.stdout.splitlines() if line.startswith("  hartley ")]
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.parametrize("made", FILES)
def test_every_command_that_a_scan_prints_runs_when_it_is_pasted(made, tmp_path):
    words = made(tmp_path)
    words = (words,) if isinstance(words, str) else words
    first = commands_of(command_line.run("scan", *words, cwd=tmp_path))
    assert first[0][0] == "scan"
    assert first[0][-2:] == ["--draft", "roles.toml"]
    after = commands_of(command_line.run(*first[0], cwd=tmp_path))
    path = tmp_path / "roles.toml"
    text = path.read_text().replace("confirmed = false", "confirmed = true")
    if '"key"' not in text and made not in {secrets_alone, amounts}:  # as the scan says
        text = text.replace('role = "undecided"', 'role = "key"')
    path.write_text(text)
    for command in [*first[1:], *after]:
        for name in ("released.csv", "released.html"):
            (tmp_path / name).unlink(missing_ok=True)
        ran = command_line.run(*command, cwd=tmp_path)
        assert ran.returncode == 0, (command, ran.stderr)
    verbs = {secrets_alone: [], amounts: ["audit", "microaggregate"]}
    then = verbs.get(made, ["anonymity", "anonymize"])
    assert [command[0] for command in first[1:]] == then
    assert [command[0] for command in after] == (made is not two_files) * ["schema"] + then


@pytest.mark.parametrize(("made", "header", "footer"), [(titled, 4, 1), (workbook, 3, 1)])
def test_titles_and_totals_are_left_out_of_the_draft_and_of_the_people(
    made, header, footer, tmp_path
):
    words = made(tmp_path)
    words = (words,) if isinstance(words, str) else words
    ran = command_line.run("scan", *words, "--draft", "roles.toml", cwd=tmp_path)
    assert "200 of 200 people are unique" in ran.stdout
    reading = Roles.read(tmp_path / "roles.toml").reading
    assert (reading.header, reading.footer) == (header, footer)
    assert f"(--header-line {header})" in ran.stdout
    assert f"seems to hold a total ('{'Summe' if made is titled else 'Total'}')" in ran.stdout


def test_a_total_that_does_not_add_up_is_named_and_left_to_the_owner(tmp_path):
    rows = patients()
    name = written(tmp_path / "k.csv", [NAMES, *rows, ["Summe", "", "", "", "5,00", ""]])
    ran = command_line.run("scan", name, "--draft", "roles.toml", cwd=tmp_path)
    assert "'Summe' stands in one of the last rows of k.csv, which does not add up" in ran.stdout
    assert Roles.read(tmp_path / "roles.toml").reading.footer == 0
    ran = command_line.run("scan", name, "--footer", "1", cwd=tmp_path)
    assert "200 of 200 people are unique" in ran.stdout
    assert "Summe" not in ran.stdout
    assert "--footer 1 --draft" in ran.stdout


def test_a_total_elsewhere_is_a_suspicion(tmp_path):
    rows = patients()
    name = written(tmp_path / "k.csv", [NAMES, *rows[:50], total(rows[:50]), *rows[50:]])
    ran = command_line.run("scan", name, "--json", cwd=tmp_path)
    assert "PatNr: 'Summe' in 1 row may be a total and no person." in ran.stdout


def test_standard_input_is_no_file_of_a_command(tmp_path):
    export(tmp_path)
    text = (tmp_path / "an export.csv").read_text(encoding="cp1252")
    for more in ([], ["--draft", "roles.toml"]):
        ran = command_line.run_process("scan", "-", *more, input=text, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert "hartley scan -" not in ran.stdout
        said = " ".join(ran.stdout.split())
        assert "Standard input is read only once: save the table to a file" in said


def test_the_evidence_of_a_run_says_how_its_roles_read_the_table(tmp_path):
    name = titled(tmp_path)
    command_line.run("scan", name, "--draft", "roles.toml", cwd=tmp_path)
    path = tmp_path / "roles.toml"
    path.write_text(path.read_text().replace("confirmed = false", "confirmed = true"))
    words = ("anonymity", name, "--roles", "roles.toml", "--null", "keine Angabe", "--json")
    options = json.loads(command_line.run(*words, cwd=tmp_path).stdout)["evidence"]["options"]
    told = {key: options[key] for key in ("header", "footer", "decimal", "dates", "null")}
    assert told == {
        "header": 4,
        "footer": 1,
        "decimal": ",",
        "dates": "day-first",
        "null": ["keine Angabe"],
    }


def test_drafting_a_schema_ends_in_a_command_and_dates_in_texts_in_a_hint(tmp_path):
    name = export(tmp_path)
    words = ("--encoding", "cp1252", "--decimal", ",")
    drafted = command_line.run("schema", "draft", name, *words, "-o", "s.toml", cwd=tmp_path)
    told = drafted.stdout.partition("Next: hartley ")[2]
    ran = command_line.run(*shlex.split(told), cwd=tmp_path)
    assert (ran.returncode, "200 rows" in ran.stdout) == (0, True), ran.stderr
    schema = tmp_path / "s.toml"
    kept = '[table]\nname = "t"\n[columns.Geburtsdatum]\nkind = "private"\n'
    schema.write_text(f"{kept}range = [1900-01-01, 2020-12-31]\n")
    asked = ("ask", "SELECT COUNT(*) FROM t WHERE Geburtsdatum > DATE '1980-01-01'")
    more = ("--table", name, "--schema", "s.toml", "--ledger", "l.db", "--budget", 9, *words)
    refused = command_line.run(*asked, *more, cwd=tmp_path)
    assert "read it as dates, for example with --dates day-first or --roles" in refused.stderr
    ran = command_line.run(*asked, *more, "--dates", "day-first", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
