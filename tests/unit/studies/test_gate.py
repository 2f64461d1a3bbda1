"""Gates: exact comparisons, exit codes of the commands, JUnit and SARIF for pipelines."""

import json
import shlex
from fractions import Fraction
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given, strategies as st
from typer.testing import CliRunner

import command_line
import hartley
from hartley.attacks.finding import AttackEstimate
from hartley.cli.main import app
from hartley.errors import InputError
from hartley.ranges.relation import ExposureCounts, Relation
from hartley.studies.check.gate import (
    FAIL_ON_PEOPLE,
    RULES,
    GateCase,
    GateFinding,
    attack_condition,
    audit_gate,
    is_above,
    people_condition,
    sarif_text,
)
from hartley.studies.look.verdict import Verdict

ROOT = Path(__file__).parents[3]


@given(st.integers(1, 10**6), st.integers(1, 1000), st.integers(0, 60), st.integers(1, 8))
def test_a_limit_is_compared_exactly(numerator, denominator, up, down):
    bits = Fraction(up, down)
    power = Fraction(numerator, denominator) ** down
    assert is_above(numerator, denominator, bits) == (power > 2**up)


@pytest.mark.parametrize("bits", ["-1", "x", "1e9", "0.12345"])
def test_a_limit_that_makes_no_sense_is_refused(bits):
    with pytest.raises(InputError):
        is_above(1, 1, bits)


def run(folder, *arguments):
    return command_line.run(*arguments, cwd=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate")
    (folder / "people.csv").write_text("age,sex\n31,F\n32,F\n47,M\n48,M\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "code"), [("1", 0), ("0.999", 3)])
def test_an_audit_and_an_anonymity_report_stop_above_a_limit(folder, limit, code):
    audit = ["audit", "people.csv", "--secret", "age", "--released", "sex"]
    files = ("--junit", f"{limit}.xml", "--sarif", f"{limit}.json")
    stopped = run(folder, *audit, "--fail-above", limit, *files)
    assert stopped.returncode == code, stopped.stderr
    assert ("more is revealed than 0.999 bits" in stopped.stderr) == (code == 3)
    assert ('failures="1"' in (folder / f"{limit}.xml").read_text()) == (code == 3)
    anonymity = ["anonymity", "people.csv", "--keys", "sex"]
    assert run(folder, *anonymity, "--fail-above", limit).returncode == code


@pytest.mark.slow
def test_an_attack_stops_above_a_limit(folder):
    schema = {
        "table": {"name": "t"},
        "columns": {"age": {"kind": "private", "range": [0, 3], "step": 1}},
    }
    ledger = folder / "ledger.db"
    with hartley.Agent({"age": [3]}, schema, budget=4, ledger=ledger) as agent:
        agent.ask("SELECT SUM(age) FROM t", error=0)
    attack = ["attack", "differencing", ledger, "--fail-above"]
    assert run(folder, *attack, "2").returncode == 0
    assert run(folder, *attack, "1.9").returncode == 3


@pytest.mark.parametrize("unique", [0, 2])
@pytest.mark.parametrize("few", [0, 3])
@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([("flu", "A"), ("hiv", "A")] * 2, set()),
        ([("flu", "A")] * 19 + [("hiv", "A")] + [("flu", "B"), ("hiv", "B")], {"nearly"}),
        ([("flu", "A"), ("hiv", "B")], {"told", "given-away", "nearly"}),
    ],
)
def test_a_condition_about_people_looks_at_their_number_alone(unique, few, rows, told):
    people = ExposureCounts(rows=20, k=4, unique=unique, among_few=few)
    verdict = Verdict.of_summary(Relation.from_pairs(rows).summary, ["ward"], ["ill"])
    reasons = {word: people_condition(people, [verdict], word) for word in FAIL_ON_PEOPLE}
    stopped = {word for word, reason in reasons.items() if reason is not None}
    assert stopped == told | {word for word, at in (("unique", unique), ("few", few)) if at}
    assert all(f"(verdict: {verdict.word})" in reasons[word] for word in stopped)


@pytest.mark.slow
def test_the_limit_counts_what_is_ruled_out_and_what_becomes_likelier(tmp_path):
    skew = tmp_path / "skew.csv"
    lines = ["A,cancer"] * 999 + ["A,flu"] + ["B,flu"] * 999 + ["B,cancer"]
    skew.write_text("\n".join(["ward,diagnosis", *lines]) + "\n")
    words = [skew, "--secret", "diagnosis", "--released", "ward"]
    above = {limit: invoked("audit", *words, "--fail-above", limit) for limit in ("0", "0.998")}
    assert above == {"0": 3, "0.998": 3}
    assert invoked("audit", *words, "--fail-above", "0.999") == 0
    assert invoked("audit", *words, "--fail-on", "told") == 0
    assert invoked("audit", *words, "--fail-on", "nearly") == 3
    assert invoked("audit", *words, "--fail-on", "nearly", "--certainty", "0.9995") == 3
    assert invoked("audit", *words) == 0
    report = hartley.audit(skew, secret="diagnosis", released="ward")
    (case,) = audit_gate(report, "never", "0.9")
    assert case.findings[0].message == "more is revealed than 0.9 bits by what becomes likelier"
    told = hartley.audit({"a": [1, 2], "b": [1, 2]}, secret="a", released="b")
    (case,) = audit_gate(told, "never", "0.9")
    assert case.findings[0].message == "more is revealed than 0.9 bits by what is ruled out"


def test_a_condition_that_nobody_knows_is_refused():
    people = ExposureCounts(rows=20, k=4, unique=0, among_few=0)
    for word in ("told", "nearly", "given-away"):
        with pytest.raises(InputError, match="without a secret"):
            people_condition(people, [], word)
    with pytest.raises(InputError, match="no reason to fail"):
        people_condition(people, [], "certain")
    with pytest.raises(InputError, match="no reason to fail"):
        attack_condition(AttackEstimate.exact(0), "unique")


@pytest.mark.parametrize(
    ("low", "high", "stopped"),
    [
        (0, 0, set()),
        (0, 0.1, {"possible"}),
        (0.1, 0.2, {"certain", "possible"}),
        (0, float("nan"), {"possible"}),
    ],
)
def test_an_attack_is_certain_or_possible_by_the_ends_of_its_interval(low, high, stopped):
    number = AttackEstimate(low, low, high)
    words = ("certain", "possible", "never")
    assert {word for word in words if attack_condition(number, word) is not None} == stopped


def invoked(command, *words):
    """Return the exit code of a command; 2 for a user's mistake."""
    result = CliRunner().invoke(app, [command, *map(str, words)])
    return 2 if isinstance(result.exception, InputError) else result.exit_code


PEOPLE = "age,sex,ward\n31,F,a\n32,F,b\n47,M,c\n47,M,c\n48,M,c\n"


@pytest.mark.slow
def test_audits_and_anonymity_stop_on_a_condition(tmp_path):
    path, junit, sarif = tmp_path / "people.csv", tmp_path / "a.xml", tmp_path / "a.json"
    path.write_text(PEOPLE)
    by_sex = [path, "--secret", "age", "--released", "sex"]
    by_ward = [path, "--secret", "age", "--released", "ward"]
    for words, few, stopped in (
        (by_sex, 2, set()),
        (by_sex, 3, {"few"}),
        (by_ward, 2, {"unique", "few", "told", "nearly", "given-away"}),
    ):
        for word in FAIL_ON_PEOPLE:
            code = invoked("audit", *words, "--few", few, "--fail-on", word)
            assert code == (3 if word in stopped else 0), (words, word)
    keys = [path, "--keys", "sex"]
    assert invoked("anonymity", *keys, "--fail-on", "unique") == 0
    assert invoked("anonymity", *keys, "--fail-on", "few", "--few", 3) == 3
    assert invoked("anonymity", *keys, "--fail-on", "given-away") == 2
    wards = [*keys, "--confidential", "ward", "--fail-on", "given-away"]
    assert invoked("anonymity", *wards, "--junit", junit, "--sarif", sarif) == 3
    assert 'failures="1"' in junit.read_text()
    (result,) = json.loads(sarif.read_text())["runs"][0]["results"]
    assert result["ruleId"] == "hartley/condition"
    assert "47" not in junit.read_text().replace(str(path), "")
    for command, words in (("audit", by_sex), ("anonymity", keys)):
        assert invoked(command, *words, "--fail-on", "disclosed") == 2


@pytest.mark.slow
def test_differencing_stops_on_a_settled_total(tmp_path):
    schema = {
        "table": {"name": "t"},
        "columns": {"age": {"kind": "private", "range": [0, 3], "step": 1}},
    }
    for name, ages, question in (
        ("one.db", [3], "SELECT SUM(age) FROM t"),
        ("two.db", [1, 2], "SELECT SUM(age) FROM t"),
    ):
        with hartley.Agent({"age": ages}, schema, budget=6, ledger=tmp_path / name) as agent:
            agent.ask(question, error=0)
    attack = ["differencing", tmp_path / "one.db", "--fail-on"]
    assert invoked("attack", *attack, "settled") == 3
    assert invoked("attack", *attack, "open") == 3
    assert invoked("attack", *attack, "never") == 0
    assert invoked("attack", *attack, "certain") == 2
    two = ["differencing", tmp_path / "two.db", "--fail-on"]
    assert invoked("attack", *two, "settled") == 0


ATTACKS = {
    "homogeneity": ["people.csv", "--keys", "sex", "--confidential", "age"],
    "guessing": ["people.csv", "--secret", "age", "--released", "sex"],
    "hypothesis": ["people.csv", "--secret=age", "--released=sex", "--hypothesis", "age >= 40"],
    "uniqueness": ["people.csv", "--columns", "sex"],
    "membership": ["homes.csv", "--person=home", "--order=hour", "--people=2", "--games=50"],
    "load-monitoring": ["power.csv", "--total", "main", "--appliances", "oven", "--train", "0.5"],
    "reconstruction": ["ledger.db"],
}
HARMLESS = {"homogeneity", "uniqueness"}
"""Attacks that learn nothing at all from these tables."""


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_stops_above_a_limit(folder, attack, monkeypatch):
    rows = "".join(f"{home},{hour},{home + hour % 2}\n" for home in range(4) for hour in range(6))
    (folder / "homes.csv").write_text("home,hour,power\n" + rows)
    power = "".join(f"{100 + 900 * (i % 3 == 0)},{900 * (i % 3 == 0)}\n" for i in range(40))
    (folder / "power.csv").write_text("main,oven\n" + power)
    schema = {
        "table": {"name": "t"},
        "columns": {"age": {"kind": "private", "range": [0, 3], "step": 1}},
    }
    for old in [*folder.glob("ledger.db"), *folder.glob("*.head"), *folder.glob("b.*")]:
        old.unlink()
    with hartley.Agent({"age": [3]}, schema, budget=4, ledger=folder / "ledger.db") as agent:
        agent.ask("SELECT SUM(age) FROM t", error=0)
    monkeypatch.chdir(folder)

    def exit_code(*words):
        result = CliRunner().invoke(
            app, ["attack", attack, *ATTACKS[attack], "--fail-above", *words]
        )
        if isinstance(result.exception, InputError):
            return 2
        return result.exit_code

    assert exit_code("-1", "--junit", "b.xml", "--sarif", "b.json") == 3
    assert 'failures="1"' in (folder / "b.xml").read_text()
    (result,) = json.loads((folder / "b.json").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "hartley/above"
    assert exit_code("1e9") == 0
    assert exit_code("much") == 2
    if attack == "load-monitoring":  # its number is above zero by chance
        return
    assert exit_code("1e9", "--fail-on", "never") == 0
    assert exit_code("1e9", "--fail-on", "always") == 2
    assert exit_code("1e9", "--fail-on", "possible") == (0 if attack in HARMLESS else 3)


def test_assert_safe_names_cells_and_no_number(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("g,n\na,15\nb,x\nc,x\nTotal,23\n")
    hartley.assert_safe(path, rule=("frequency<4",))
    with pytest.raises(AssertionError, match="g b is disclosed") as caught:
        hartley.assert_safe(path, rule=("frequency<11",))
    assert "8" not in str(caught.value).replace(str(path), "")


def test_the_files_of_pipelines_call_options_that_exist():
    from hartley.cli.commands import load_command

    options = {option for part in load_command("check").params for option in part.opts}
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text()
    entry = next(line for line in hook.splitlines() if "entry:" in line).split("entry:")[1]
    action = (ROOT / "action.yml").read_text()
    command = next(line for line in action.splitlines() if "run: hartley check" in line)
    for text in (entry, command.split("run:")[1]):
        named = {word for word in shlex.split(text) if word.startswith("--")}
        assert named <= options | {"--text"}


# --- SARIF, with the rules of the standard that code hosts insist on ------------------------------


# The objects that are written, with the properties that SARIF 2.1.0 requires and allows of them
# (its schema forbids all others); None is a plain value, a list holds objects of one kind.
OBJECTS = {
    "log": (
        {"version", "runs"},
        {"$schema": None, "version": None, "runs": ["run"]},
    ),
    "run": (
        {"tool"},
        {"tool": "tool", "automationDetails": "details", "results": ["result"]},
    ),
    "tool": ({"driver"}, {"driver": "component"}),
    "component": ({"name"}, {"name": None, "version": None, "rules": ["rule"]}),
    "rule": ({"id"}, {"id": None, "shortDescription": "text"}),
    "text": ({"text"}, {"text": None}),
    "details": (set(), {"id": None}),
    "result": (
        {"message"},
        {
            "ruleId": None,
            "ruleIndex": None,
            "level": None,
            "message": "text",
            "locations": ["location"],
        },
    ),
    "location": (
        set(),
        {"physicalLocation": "physical", "logicalLocations": ["logical"]},
    ),
    "physical": ({"artifactLocation"}, {"artifactLocation": "artifact", "region": "region"}),
    "artifact": (set(), {"uri": None}),
    "region": (set(), {"startLine": None}),
    "logical": (set(), {"fullyQualifiedName": None}),
}


def follow(kind, content):
    """Compare an object and all below it with what the standard allows."""
    required, allowed = OBJECTS[kind]
    assert required <= set(content) <= set(allowed), kind
    for name, value in content.items():
        below = allowed[name]
        if isinstance(below, list):
            for part in value:
                follow(below[0], part)
        elif below is not None:
            follow(below, value)
        else:
            assert isinstance(value, (str, int)), name
            assert value != "", name


FINDINGS = [
    ("disclosed", "out puts/a:b.csv", 3, "region north", "A cell is disclosed."),
    ("open", "/data/ä.csv", 0, "", "A cell is open."),
    ("singled-out", "a.csv", 7, "north\u2028south", "One person\x00."),
    ("above", "../c.csv", 1, "x", "More is revealed."),
    ("condition", "c#d?.csv", 10**6, "", "Somebody is unique."),
]


@pytest.mark.parametrize("number", range(len(FINDINGS) + 1))
def test_a_report_follows_the_standard(number):
    findings = tuple(
        GateFinding(rule=rule, file=file, line=line, place=place, message=message)
        for rule, file, line, place, message in FINDINGS[:number]
    )
    log = json.loads(sarif_text("check", [GateCase("a.csv", "a.csv", findings)]))
    follow("log", log)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules) == len(RULES)
    assert run["automationDetails"]["id"].endswith("/")  # a category without an identifier
    assert len(run["results"]) == number
    for result, (_, file, line, _, _) in zip(run["results"], FINDINGS, strict=False):
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert type(result["ruleIndex"]) is int
        assert result["level"] == ("warning" if result["ruleId"] == "hartley/open" else "error")
        assert result["message"]["text"].isprintable()
        (location,) = result["locations"]
        assert location["physicalLocation"]["region"]["startLine"] == max(line, 1)
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.isascii()
        assert " " not in uri
        parts = urlsplit(uri)
        assert parts.scheme == ("file" if file.startswith("/") else "")
        assert unquote(parts.path) == file


def test_every_kind_of_finding_is_a_rule():
    assert {rule for rule, *_ in FINDINGS} == set(RULES)
