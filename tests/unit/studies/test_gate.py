"""Gates: exact comparisons, exit codes of the commands, files of the pipelines."""

import json
import shlex
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from typer.testing import CliRunner

import command_line
import hartley
from hartley.cli.attack import attack_app
from hartley.errors import InputError
from hartley.studies.gate import is_above

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


ATTACKS = {
    "homogeneity": ["people.csv", "--keys", "sex", "--confidential", "age"],
    "guessing": ["people.csv", "--secret", "age", "--released", "sex"],
    "hypothesis": ["people.csv", "--secret=age", "--released=sex", "--hypothesis", "age >= 40"],
    "uniqueness": ["people.csv", "--columns", "sex"],
    "membership": ["homes.csv", "--person=home", "--order=hour", "--people=2", "--games=50"],
    "load-monitoring": ["power.csv", "--total", "main", "--appliances", "oven", "--train", "0.5"],
    "reconstruction": ["ledger.db"],
}


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
    (folder / "ledger.db").unlink(missing_ok=True)
    with hartley.Agent({"age": [3]}, schema, budget=4, ledger=folder / "ledger.db") as agent:
        agent.ask("SELECT SUM(age) FROM t", error=0)
    monkeypatch.chdir(folder)

    def exit_code(*words):
        result = CliRunner().invoke(attack_app, [attack, *ATTACKS[attack], "--fail-above", *words])
        if isinstance(result.exception, InputError):
            return 2
        return result.exit_code

    assert exit_code("-1", "--junit", "b.xml", "--sarif", "b.json") == 3
    assert 'failures="1"' in (folder / "b.xml").read_text()
    (result,) = json.loads((folder / "b.json").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "hartley/above"
    assert exit_code("1e9") == 0
    assert exit_code("much") == 2


def test_assert_safe_names_cells_and_no_number(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("g,n\na,15\nb,x\nc,x\nTotal,23\n")
    hartley.assert_safe(path, rules=("frequency<4",))
    with pytest.raises(AssertionError, match="g b is disclosed") as caught:
        hartley.assert_safe(path, rules=("frequency<11",))
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
