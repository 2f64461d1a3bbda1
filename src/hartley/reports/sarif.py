"""Gates as SARIF 2.1.0, which code hosts show beside the lines of a file."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hartley.errors import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.studies.check.gate import GateCase, GateFinding

RULES = {
    "disclosed": "A cell can be worked out from what is published.",
    "open": "Neither disclosure nor protection of a cell is proved.",
    "singled-out": "A derived cell is exactly one person.",
    "above": "More is revealed than the limit allows.",
    "condition": "A condition to fail on holds.",
}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_text(command: str, cases: Sequence[GateCase]) -> str:
    """Return a SARIF report.

    Example:
        >>> json.loads(sarif_text("check", []))["version"]
        '2.1.0'
    """
    results = [_result(finding) for case in cases for finding in case.findings]
    driver = {
        "name": "hartley",
        "version": version("hartley"),
        "rules": [
            {"id": f"hartley/{name}", "shortDescription": {"text": text}}
            for name, text in RULES.items()
        ],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"hartley/{command}/"},
        "results": results,
    }
    content = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _uri(file: str) -> str:
    """Return a file as the reference of a URI: relative ones stay relative.

    Example:
        >>> _uri("out puts/a.csv"), _uri("/data/a.csv")
        ('out%20puts/a.csv', 'file:///data/a.csv')
    """
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _result(finding: GateFinding) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(finding.file)},
            "region": {"startLine": max(finding.line, 1)},
        }
    }
    if finding.place:
        location["logicalLocations"] = [{"fullyQualifiedName": printable(finding.place)}]
    return {
        "ruleId": f"hartley/{finding.rule}",
        "ruleIndex": list(RULES).index(finding.rule),
        "level": "warning" if finding.rule == "open" else "error",
        "message": {"text": printable(finding.message)},
        "locations": [location],
    }
