"""The command: exit codes, files, and nothing confidential where it does not belong."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from command_line import run as hartley

pytestmark = pytest.mark.slow  # every test starts a process
HERE = {"capture_output": True, "text": True, "timeout": 120}
SECRET = "7391"  # noqa: S105 - a number of people


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    # 7391 follows, and stands in no file
    (folder / "bad.csv").write_text(f"g,n\na,15\nb,x\nTotal,{15 + int(SECRET)}\n")
    (folder / "good.csv").write_text("g,n\na,15\nb,12\nTotal,27\n")
    return folder


@pytest.fixture(scope="module")
def stopped(folder):
    return hartley(
        "check", "bad.csv", "--rule", "frequency<9999", "--junit", "j.xml", "--sarif", "s.json",
        "--certificate", "c.json", "--html", "p.html", "--text", cwd=folder,
    )  # fmt: skip


def test_a_disclosing_table_stops_with_three_and_shows_no_value(folder, stopped):
    assert stopped.returncode == 3, stopped.stderr
    piped = hartley("check", "bad.csv", "--rule", "frequency<9999", cwd=folder)
    assert piped.returncode == 3
    for text in (stopped.stdout, stopped.stderr, piped.stdout):
        assert SECRET not in text.replace(",", "")
    for name in ("j.xml", "s.json"):
        content = (folder / name).read_text()
        assert SECRET not in content
        assert str(15 + int(SECRET)) not in content
    assert f"{int(SECRET):,}" in (folder / "p.html").read_text()


def test_junit_and_sarif_say_where(folder, stopped):
    assert stopped.returncode == 3
    suite = ET.fromstring((folder / "j.xml").read_text())  # noqa: S314 - our own file
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    run = json.loads((folder / "s.json").read_text())
    assert run["version"] == "2.1.0"
    results = run["runs"][0]["results"]
    known = {rule["id"] for rule in run["runs"][0]["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in results} <= known
    lines = {r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in results}
    assert lines == {2, 3, 4}
    places = {r["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] for r in results}
    assert "g b" in places


def test_values_are_shown_on_request(folder):
    shown = hartley(
        "check", "bad.csv", "--rule", "frequency<9999", "--show-values", "--junit", "v.xml",
        "--text", cwd=folder,
    )  # fmt: skip
    assert f"{int(SECRET):,}" in shown.stdout
    assert f"{int(SECRET):,}" in (folder / "v.xml").read_text()


def test_what_is_safe_passes(folder):
    passed = hartley("check", "good.csv", "--junit", "g.xml", "--json", cwd=folder)
    assert passed.returncode == 0, passed.stderr
    assert json.loads(passed.stdout)["verdict"] == "safe"
    never = hartley("check", "bad.csv", "--fail-on", "never", cwd=folder)
    assert never.returncode == 0


def test_verify_proves_the_certificate_again(folder, stopped):
    assert stopped.returncode == 3
    held = hartley("verify", "bad.csv", "c.json", "--text", cwd=folder)
    assert held.returncode == 0, held.stderr
    assert "3 disclosed" in held.stdout
    other = hartley("verify", "good.csv", "c.json", cwd=folder)
    assert other.returncode == 2
    assert "other outputs" in other.stderr
    assert Path(folder, "c.json").read_text().count(SECRET) >= 1
