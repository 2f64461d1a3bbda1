"""SARIF reports keep the rules of the standard that code hosts insist on."""

import json
from urllib.parse import unquote, urlsplit

import pytest

from hartley.studies.check.gate import RULES, GateCase, GateFinding, sarif_text

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
