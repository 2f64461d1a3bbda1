"""Gates as JUnit XML, which every pipeline shows: one test case an output."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from hartley.errors import printable
from hartley.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.studies.check.gate import GateCase


def junit_text(command: str, cases: Sequence[GateCase]) -> str:
    """Return a JUnit report.

    Example:
        >>> from hartley.studies.check.gate import GateCase
        >>> print(junit_text("check", [GateCase("a.csv", "a.csv", ())]).splitlines()[1])
        <testsuite name="hartley check" tests="1" failures="0">
    """
    failed = sum(not case.passed for case in cases)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuite name="hartley {command}" tests="{len(cases)}" failures="{failed}">',
    ]
    for case in cases:
        head = f'  <testcase classname="hartley.{command}" name={_attribute(case.name)}'
        if case.passed:
            lines.append(f"{head}/>")
            continue
        lines += [f"{head}>", f'    <failure message="{counted(len(case.findings), "finding")}">']
        lines += [
            escape(printable(f"{finding.file}:{finding.line}: {finding.message}"))
            for finding in case.findings
        ]
        lines += ["    </failure>", "  </testcase>"]
    return "\n".join([*lines, "</testsuite>", ""])


def _attribute(text: str) -> str:
    return quoteattr(printable(text))
