"""Output that all attack commands share: the HTML page, and JSON or text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hartley.cli.gate import NEVER, check_gate_files, pass_gate
from hartley.cli.output import console, print_json, say, wants_json
from hartley.exact import parse_number
from hartley.files import check_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from hartley.attacks.finding import AttackResult


@dataclass(frozen=True)
class FindingGate:
    """The gate of an attack: a limit or a condition for its main number, and reports about it."""

    command: str
    read: Sequence[str | Path]
    fail_above: str | None
    fail_on: str
    junit: Path | None
    sarif: Path | None

    def __post_init__(self) -> None:
        check_gate_files(self.junit, self.sarif, self.read)
        if self.fail_above is not None:
            parse_number(self.fail_above, name="the limit of --fail-above")
        if self.fail_on != NEVER:
            from hartley.studies.check.gate import FAIL_ON_SUCCESS, check_condition

            check_condition(self.fail_on, FAIL_ON_SUCCESS)

    def test(self, finding: AttackResult) -> None:
        """Exit with 3 if the number of a finding is above the limit, or a condition holds."""
        from hartley.studies.check.gate import attack_condition, number_case, with_condition

        number = finding.number
        cases = [number_case(str(name), number.high, self.fail_above) for name in self.read]
        cases = with_condition(cases, attack_condition(number, self.fail_on))
        pass_gate(self.command, cases, junit=self.junit, sarif=self.sarif)


def check_page(html: Path | None, read: Iterable[str | Path] = ()) -> None:
    """Raise an error early if the page would overwrite an input or its folder is missing."""
    check_files({"report": html}, {"table": read})


def tell_finding(
    finding: AttackResult, *, html: Path | None, json: bool | None, gate: FindingGate | None = None
) -> None:
    """Write the page if asked for, print the finding of an attack, and let the gate decide."""
    from hartley.reports import write_html
    from hartley.reports.render import print_report

    written = write_html(finding, html) if html is not None else None
    if wants_json(json):
        print_json(finding.to_dict() | ({"html": str(written)} if written else {}))
    else:
        print_report(finding.report(), console())
        if written:
            say(f"Report: {written}")
    if gate is not None:
        gate.test(finding)
