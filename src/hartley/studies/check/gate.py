"""Gates for pipelines: whether a result passes, and what stands in reports about it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from hartley.errors import OptionError, printable
from hartley.exact import parse_number
from hartley.inputs import formerly
from hartley.text import count_of
from hartley.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.attacks.differencing import DifferencingFinding
    from hartley.attacks.finding import AttackEstimate, AttackResult
    from hartley.ranges.relation import ExposureCounts
    from hartley.studies.check.check_report import CheckedCell, CheckReport
    from hartley.studies.look.anonymity import AnonymityReport
    from hartley.studies.look.audit import AuditReport
    from hartley.studies.look.verdict import Verdict
    from hartley.tables.crosstab import Crosstab

FAIL_ON = ("disclosed", "open", "never")
"""What a check can fail on."""
FAIL_ON_PEOPLE = ("told", "nearly", "few", "unique", "never", "given-away")
"""What an audit and a measurement of anonymity can fail on; given-away is told."""
FAIL_ON_SUCCESS = ("certain", "possible", "never")
"""What an attack can fail on."""
FAIL_ON_SETTLED = ("settled", "open", "never")
"""What the differencing attack can fail on."""
MOST_DENOMINATOR = 1000


@dataclass(frozen=True)
class GateFinding:
    """One reason to stop, without a value of the data."""

    rule: str
    """disclosed, open, singled-out, above or condition."""
    message: str
    file: str
    line: int = 1
    place: str = ""
    """The keys of a cell, or another name inside the file."""


@dataclass(frozen=True)
class GateCase:
    """One output or table that was tested, and what speaks against it."""

    name: str
    file: str
    findings: tuple[GateFinding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.findings


def is_above(numerator: int, denominator: int, bits: object) -> bool:
    """Return whether a ratio of counts is larger than 2**bits, exactly.

    Example:
        >>> is_above(8, 1, 3), is_above(9, 1, 3), is_above(3, 1, "1.584"), is_above(3, 1, "1.585")
        (False, True, True, False)
    """
    limit = parse_number(bits, name="the limit in bits")
    if limit < 0 or limit > 100_000 or limit.denominator > MOST_DENOMINATOR:
        raise OptionError(
            f"The limit of {bits} bits is out of reach",
            hint="give 0 bits or more, with at most three decimals",
        )
    power: int = numerator**limit.denominator
    allowed: int = denominator**limit.denominator << limit.numerator
    return power > allowed


def audit_gate(
    report: AuditReport, fail_on: str = "never", fail_above: object = None
) -> list[GateCase]:
    """Test whom an audited release singles out or tells about, and the bits that it reveals."""
    ruled_out = max(Fraction(one.values, 1 if one.told else one.left) for one in report.verdicts)
    gain = max(one.gain for one in report.verdicts)
    how = " by what is ruled out" if ruled_out >= gain else " by what becomes likelier"
    most = max(ruled_out, gain)
    case = above_case(report.table, (most.numerator, most.denominator), fail_above, how)
    return with_condition([case], people_condition(report.people, report.verdicts, fail_on))


def anonymity_gate(
    report: AnonymityReport, fail_on: str = "never", fail_above: object = None
) -> list[GateCase]:
    """Test whom the keys of a table single out or tell about, and the bits that they reveal."""
    case = above_case(report.table, (report.people.rows, report.k), fail_above)
    verdicts = [findings.verdict for findings in report.confidential]
    return with_condition([case], people_condition(report.people, verdicts, fail_on))


def attack_gate(
    finding: AttackResult, names: Sequence[str], fail_on: str = "never", fail_above: object = None
) -> list[GateCase]:
    """Test the number of an attack on the files of these names."""
    above, high = False, finding.number.high
    if fail_above is not None:
        allowed = parse_number(fail_above, name="the limit")
        above = not isfinite(high) or Fraction(high) > allowed
    why = f"the number of the attack is above {fail_above}"
    cases = [GateCase(n, n, (GateFinding("above", why, n),) if above else ()) for n in names]
    return with_condition(cases, attack_condition(finding.number, fail_on))


def differencing_gate(
    finding: DifferencingFinding,
    names: Sequence[str],
    fail_on: str = "never",
    fail_above: object = None,
) -> list[GateCase]:
    """Test what combinations of the answers in a ledger settle about few rows."""
    ratios = [(difference.before, difference.after) for difference in finding.isolating]
    worst = max(ratios, key=lambda ratio: Fraction(*ratio), default=(1, 1))
    case = above_case(names[0], worst, fail_above)
    return with_condition([case], differencing_condition(finding, fail_on))


def above_case(name: str, ratio: tuple[int, int], bits: object, how: str = "") -> GateCase:
    """Test a ratio of counts against a limit in bits; without a limit everything passes."""
    finding = GateFinding("above", f"more is revealed than {bits} bits{how}", name)
    return GateCase(name, name, (finding,) if bits is not None and is_above(*ratio, bits) else ())


def check_condition(fail_on: str, words: Sequence[str]) -> None:
    """Raise an error if a condition to fail on is none of those that a command knows."""
    if fail_on not in words:
        raise OptionError(f"'{fail_on}' is no reason to fail", hint=f"write {', '.join(words)}")


def people_condition(
    people: ExposureCounts, verdicts: Sequence[Verdict], fail_on: str
) -> str | None:
    """Return why the people in a release do not pass a condition, without a number of them."""
    check_condition(fail_on, FAIL_ON_PEOPLE)
    if fail_on in {"told", "given-away", "nearly"} and not verdicts:
        raise OptionError(
            "Whose secret is told is not known without a secret",
            hint="name the confidential columns (--confidential)",
        )
    told = any(one.told for one in verdicts), "somebody's secret is told for certain"
    near = any(one.nearly_told for one in verdicts), "somebody's secret is nearly told"
    reasons = {
        "unique": (people.unique, "somebody is unique in what is released"),
        "few": (people.among_few, f"somebody is among fewer than {people.k}"),
        "told": told,
        "given-away": told,
        "nearly": told if told[0] else near,
        "never": (0, ""),
    }
    stops, reason = reasons[fail_on]
    word = max(verdicts, key=lambda one: one.exposed).word if verdicts else "none"
    return f"{reason} (verdict: {word})" if stops else None


def attack_condition(number: AttackEstimate, fail_on: str) -> str | None:
    """Return why an attack does not pass a condition."""
    check_condition(fail_on, FAIL_ON_SUCCESS)
    if fail_on != "never" and number.low > 0:
        return "the attack succeeds"
    if fail_on == "possible" and not number.high <= 0:  # a number that is none is no proof
        return "the attack may succeed"
    return None


def differencing_condition(finding: DifferencingFinding, fail_on: str) -> str | None:
    """Return why combinations of answers do not pass a condition."""
    check_condition(fail_on, FAIL_ON_SETTLED)
    if fail_on == "never":
        return None
    if any(difference.verdict == "settled" for difference in finding.isolating):
        return "a total of few rows is settled"
    doubtful = any(difference.verdict == "open" for difference in finding.few)
    if fail_on == "open" and (doubtful or finding.more_sets):
        return "a total of few rows is open"
    return None


def with_condition(cases: Sequence[GateCase], reason: str | None) -> list[GateCase]:
    """Add the reason of a condition to every case, if there is one."""
    if reason is None:
        return list(cases)
    return [
        replace(case, findings=(*case.findings, GateFinding("condition", reason, case.file)))
        for case in cases
    ]


def check_gate(
    report: CheckReport, fail_on: str, fail_above: object = None, *, show_values: bool = False
) -> list[GateCase]:
    """Test every output of a check: one case an output, and one for the bits of a person."""
    check_condition(fail_on, FAIL_ON)
    counted = {"disclosed": {"disclosed"}, "open": {"disclosed", "open"}, "never": set()}[fail_on]
    findings: dict[str, list[GateFinding]] = {name: [] for name, _ in report.outputs}
    for part in report.statistics:
        for cell in part.cells:
            if cell.verdict not in counted and not (cell.suspected and counted):
                continue
            for output, file, line in _places(cell, list(findings), part.tables):
                message = f"{cell.name} is {cell.verdict} under {cell.rule}"
                if show_values:
                    message += f": {cell.interval(part.places)}"
                rule = "singled-out" if cell.singled_out and cell.certain else cell.verdict
                findings[output].append(GateFinding(rule, message, file, line, cell.name))
    files = {t.name: t.path or t.name for part in report.statistics for t in part.tables}
    cases = [GateCase(name, files.get(name, name), tuple(mine)) for name, mine in findings.items()]
    if fail_above is not None:
        if report.effects is None:
            raise OptionError(
                "The bits of a person are not known without a schema", hint="give --schema"
            )
        cases.append(above_case("bits of a person", (report.effects, 1), fail_above))
    return cases


def _places(
    cell: CheckedCell, published: list[str], tables: tuple[Crosstab, ...]
) -> list[tuple[str, str, int]]:
    """Return where a cell stands; one that no output lists belongs to the last of its own."""
    paths = {t.name: t.path or t.name for t in tables}
    places = [(p.output, p.path or p.output, p.line) for p in cell.places if p.output in published]
    last = max((name for name in paths if name in published), default=published[-1])
    return places or [(last, paths.get(last, last), 1)]


@formerly(rule="rules")
def assert_safe(
    *paths: object,
    rule: Sequence[str] = ("frequency<10",),
    fail_on: str = "disclosed",
    **more: object,
) -> None:
    r"""Fail a test if published tables disclose something: for use in a test suite.

    The message names cells and rules, never a number.

    Args:
        paths: what ``hartley.check`` takes.
        rule: the rules.
        fail_on: "disclosed" or "open".
        more: further arguments of ``hartley.check``.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "a.csv")
        ...     _ = path.write_text("region,n\nnorth,15\nsouth,12\nTotal,27\n")
        ...     assert_safe(path)
    """
    from hartley.studies.check.check import check

    report = check(*paths, rule=rule, **more)  # type: ignore[arg-type]  # checked there
    cases = check_gate(report, fail_on)
    messages = [f"{f.file}:{f.line}: {f.message}" for case in cases for f in case.findings]
    if messages:
        raise AssertionError("\n".join([report.headline, *messages]))


# --- JUnit and SARIF, which pipelines and code hosts show ----------------------------------------

RULES = {
    "disclosed": "A cell can be worked out from what is published.",
    "open": "Neither disclosure nor protection of a cell is proved.",
    "singled-out": "A derived cell is exactly one person.",
    "above": "More is revealed than the limit allows.",
    "condition": "A condition to fail on holds.",
}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def junit_text(command: str, cases: Sequence[GateCase]) -> str:
    """Return a JUnit report."""
    failed = sum(not case.passed for case in cases)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuite name="hartley {command}" tests="{len(cases)}" failures="{failed}">',
    ]
    for case in cases:
        head = f'  <testcase classname="hartley.{command}" name={quoteattr(printable(case.name))}'
        if case.passed:
            lines.append(f"{head}/>")
            continue
        lines += [f"{head}>", f'    <failure message="{count_of(len(case.findings), "finding")}">']
        lines += [
            escape(printable(f"{finding.file}:{finding.line}: {finding.message}"))
            for finding in case.findings
        ]
        lines += ["    </failure>", "  </testcase>"]
    return "\n".join([*lines, "</testsuite>", ""])


def sarif_text(command: str, cases: Sequence[GateCase]) -> str:
    """Return a SARIF report."""
    results = [_result(finding) for case in cases for finding in case.findings]
    driver = {
        "name": "hartley",
        "version": __version__,
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
