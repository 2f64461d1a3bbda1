"""Write the certificate of a check: the proofs of all its verdicts."""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import CertificateError, HartleyError, OptionError
from hartley.files import parse_toml, write_whole
from hartley.guarantees.promise import TABLES
from hartley.guarantees.table_certificate import (
    ATTACKER,
    FORMAT,
    NOT_PROMISED,
    WORDS,
    TableCertificate,
    ends_in_a_line,
    in_a_line,
    stated_contributions,
    stated_holdings,
    stated_remainders,
    verify_tables,
    written_answers,
)
from hartley.guarantees.table_proofs import followed
from hartley.kernels.sums import FAR
from hartley.knowledge.hidden_sums import remainders
from hartley.knowledge.table_bounds import listed_changes
from hartley.knowledge.table_system import HIGH, LOW
from hartley.measures.rules import Dominance, PPercent, read_rule
from hartley.schema.schema import Schema
from hartley.studies.check.publication import (
    PublishedNumbers,
    clamped_rows,
    price_publication,
    publication_questions,
    read_condition,
    select,
    write_condition,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.measures.rules import Rule
    from hartley.studies.check.check_report import CheckedStatistic, CheckedView, CheckReport


MOST_SHOWN = 50
"""Multipliers are written for so many disclosed cells even where following bounds proves them."""


def save_certificate(report: CheckReport, path: str | os.PathLike[str]) -> Path:
    """Write the certificate of a check to a file, whole or not at all."""
    return write_whole(path, certify_tables(report).to_json() + "\n")


def certify_tables(report: CheckReport) -> TableCertificate:
    """Collect the proofs of all verdicts of a check.

    Verdicts about contributions and insiders rest on the microdata: their certificate states the
    contributions that matter, so it is confidential, and says so.
    """
    if not report.outputs:
        raise OptionError("There is no output to certify", hint="leave --certificate out")
    rules = [read_rule(text) for text in report.rules]
    parts = [part for part in report.statistics if not part.assumed]
    written = [_part(part, rules, report.insider) for part in parts]
    published = {o["sha256"] for part in written for o in part["outputs"]}
    if any(table.path is None and table.dims for part in parts for table in part.tables):
        raise OptionError(
            "A certificate is bound to files, and some outputs are none", hint="check files alone"
        )
    content = {
        "kind": TABLES,
        "format": FORMAT,
        "rules": list(report.rules),
        "left": report.left,
        "insider": report.insider,
        "confidential": _is_private(rules) or report.insider != "none",
        "contributor": report.contributor,
        "attacker": ATTACKER,
        "not_promised": list(NOT_PROMISED),
        "outputs": [
            {"name": name, "sha256": digest}
            for name, digest in report.outputs
            if digest in published
        ],
        "trees": [
            {"dim": tree.dim, "parents": {k: list(v) for k, v in tree.parents.items()}}
            for tree in report.trees
        ],
        "price": _price(report),
        "statistics": written,
    }
    verdicts = [v for part in written for v in part["cells"]["verdict"].split()]
    counts = {verdict: verdicts.count(verdict) for verdict in WORDS}
    counts["safe"] += sum(part.pop("silent") for part in written)
    return TableCertificate(content | {"counts": counts})


def verify_check(
    outputs: Sequence[str | os.PathLike[str]],
    certificate: str | os.PathLike[str],
    table: object = None,
) -> TableCertificate:
    """Verify a certificate of tables, and the price of a person and the conditions with it.

    The schema stands in the certificate; the agent's rules price the publication again, and its
    ranges decide again which conditions can hold together.
    """
    proved = verify_tables(outputs, certificate)
    try:
        same = _same_price(proved) and _same_conditions(proved)
    except (HartleyError, KeyError, TypeError, ValueError, IndexError, AttributeError):
        same = False
    if not same:
        raise CertificateError(
            f"The certificate {certificate} does not hold: the schema says something else",
            hint="check the outputs again",
        )
    if table is None:
        return proved
    resolved = _conditions(proved)
    if resolved is not None:
        table = clamped_rows(table, _schema(proved.content["price"]), resolved)
    return verify_tables(outputs, certificate, table)


def _same_price(proved: TableCertificate) -> bool:
    """Tell whether a certificate states the price of its outputs."""
    content, stated = proved.content, proved.content["price"]
    if stated is None:
        return True
    schema = _schema(stated)
    rules = [read_rule(text) for text in content["rules"]]
    reads = content["insider"] != "none" or _is_private(rules)
    outputs = list(map(PublishedNumbers.of, proved.tables))
    questions = publication_questions(outputs, schema, content["contributor"], reads=reads)
    cells, _ = price_publication(stated["questions"], schema)
    return sorted(questions) == sorted(stated["questions"]) and str(cells) == stated["publications"]


def _same_conditions(proved: TableCertificate) -> bool:
    """Tell whether conditions lie to each other as a certificate states."""
    stated = proved.content["price"]
    schema = None if stated is None else _schema(stated)
    resolved = _conditions(proved)
    return all(
        _written_selections(
            select(part["selections"]["conditions"], dict(part["categories"]), schema, resolved)
        )
        == part["selections"]
        for part in proved.content["statistics"]
    )


def _conditions(proved: TableCertificate) -> dict[str, Any] | None:
    """Return the conditions of a ledger's answers; None if the certificate is of none."""
    written = (proved.content["price"] or {}).get("conditions")
    return written and {name: read_condition(plain) for name, plain in written.items()}


def _schema(stated: dict[str, Any]) -> Schema:
    return Schema.read(parse_toml(stated["schema"], what="schema", kind=CertificateError))


def _is_private(rules: Sequence[Rule]) -> bool:
    return any(isinstance(rule, (PPercent, Dominance)) for rule in rules)


def _price(report: CheckReport) -> dict[str, Any] | None:
    if report.effects is None or report.schema is None:
        return None
    return {
        "publications": str(report.effects),
        "questions": list(report.questions),
        "schema": report.schema.to_toml(),
        "conditions": None
        if report.conditions is None
        else {name: write_condition(where) for name, where in report.conditions.items()},
    }


def _written_selections(chosen: Any) -> dict[str, Any]:  # noqa: ANN401 - selections
    return {
        "conditions": list(chosen.conditions),
        "patterns": [list(pattern) for pattern in chosen.patterns],
        "dims": list(chosen.dims),
        "possible": [
            [list(keys), sorted(patterns)] for keys, patterns in sorted(chosen.possible.items())
        ],
    }


def _part(part: CheckedStatistic, rules: Sequence[Rule], insider: str) -> dict[str, Any]:
    joint, chosen = part.joint, part.selections
    assert chosen is not None
    files = [table for table in part.tables if table.path is not None]
    answers = [table for table in part.tables if table.path is None and not table.dims]
    claimed = {
        cell.cell: cell.verdict
        for cell in part.cells
        if cell.verdict != "safe" or cell.stated[0] != cell.stated[1]
    }
    published = {cell for _, _, cell in joint.stated}
    ranges = [part.inference.range(cell) for cell in sorted(claimed)]
    contributions = {}
    if part.known is not None and part.statistic != "count":
        known = part.known
        contributions = stated_contributions(known, rules)
    return {
        "statistic": part.statistic,
        "decimals": part.places,
        "outputs": [
            {
                "sha256": table.digest,
                "described": dict(table.described)
                | ({} if table.where is None else {"where": table.where}),
                "reading": table.reading,
            }
            for table in files
        ],
        "answers": [
            {"name": t.name, "where": t.where, "low": t.cells[0].low, "high": t.cells[0].high}
            for t in answers
        ],
        "categories": [[dim, list(keys)] for dim, keys in part.categories.items()],
        "selections": _written_selections(chosen),
        "contributions": contributions,
        "views": [_view(view, part, rules) for view in part.views],
        "unions": _unions(part, rules, insider),
        "cells": {
            "cell": in_a_line(sorted(claimed)),
            "verdict": " ".join(claimed[cell] for cell in sorted(claimed)),
            "low": ends_in_a_line([ends.low for ends in ranges]),
            "high": ends_in_a_line([ends.high for ends in ranges]),
            "least": ends_in_a_line([ends.least for ends in ranges]),
            "most": ends_in_a_line([ends.most for ends in ranges]),
        },
        "silent": len(published - set(claimed)),
    }


def _unions(part: CheckedStatistic, rules: Sequence[Rule], insider: str) -> dict[str, Any]:
    """Write what was asked about sums of hidden cells, and the answers."""
    unions = part.views[0].unions
    if not unions or part.known is None:
        return {}
    first = next(iter(unions.values()))
    moved = [table - first.base for table in first.tables]
    changes = [{int(c): int(n[c]) for c in np.flatnonzero(n).tolist()} for n in moved]
    return {
        "holdings": stated_holdings(part.joint, part.known, rules, insider),
        "moves": _moves(*listed_changes(changes)),
        "answers": {rule: written_answers(asked) for rule, asked in unions.items()},
    }


def _moves(
    start: NDArray[np.int64], cell: NDArray[np.int64], change: NDArray[np.int64]
) -> dict[str, str]:
    return {"start": in_a_line(start), "cell": in_a_line(cell), "change": in_a_line(change)}


def _view(view: CheckedView, part: CheckedStatistic, rules: Sequence[Rule]) -> dict[str, Any]:
    """Write what one attacker knows: multipliers of ends, a table, and changes of it."""
    system, inference = view.inference.system, view.inference
    # What elimination settled is proved by multipliers, and bounds are followed from there on.
    settled = inference.bounds.settled_together
    low, high = followed(system)
    low[settled], high[settled] = inference.outer_low[settled], inference.outer_high[settled]
    low, high = followed(system, (low, high))
    disclosed = [cell for cell, o in view.opinions.items() if o.verdict == "disclosed"]
    shown = np.zeros(system.size, bool)
    shown[[*settled, *disclosed[:MOST_SHOWN]]] = True
    proofs = [
        (cell, side)
        for side, mine, reached in (
            (LOW, inference.outer_low, low),
            (HIGH, inference.outer_high, high),
        )
        for cell in np.flatnonzero((mine != reached) | (shown & (abs(mine) < FAR))).tolist()
    ]
    start, relations, numerators, denominators = [0], [], [], []
    for cell, side in proofs:
        multipliers = sorted(inference.proof(cell, side).items())
        below = lcm(*(y.denominator for _, y in multipliers))
        relations += [r for r, _ in multipliers]
        numerators += [int(y * below) for _, y in multipliers]
        denominators.append(below)
        start.append(len(relations))
    unknown = np.flatnonzero(inference.outer_low < inference.outer_high)
    base = inference.first_table()[unknown].tolist()
    remaining = {}
    if part.known is not None and part.statistic != "count":
        sums = remainders(part.joint, inference.outer_low, inference.outer_high)
        remaining = stated_remainders(part.known, sums, rules)
    return {
        "knows": [list(known) for known in view.knows],
        "remainders": remaining,
        "multipliers": {
            "cell": in_a_line([cell for cell, _ in proofs]),
            "side": in_a_line([side for _, side in proofs]),
            "start": in_a_line(start),
            "relation": in_a_line(relations),
            "numerator": in_a_line(numerators),
            "denominator": in_a_line(denominators),
        },
        "base": ends_in_a_line([None if end >= FAR else end for end in base]),
        "moves": _moves(*inference.differences()),  # the other tables of each component
        "sums": _sums(view),
    }


def _sums(view: CheckedView) -> dict[str, Any]:
    """Write means of tables with enough in small cells, and combinations that tell small sums."""
    means = sorted(view.means.items())
    changes = [dict(zip(cells, numbers, strict=True)) for cells, numbers in view.changes]
    return {
        "moves": _moves(*listed_changes(changes)),
        "cell": in_a_line([cell for cell, _ in means]),
        "below": in_a_line([mean.below for _, (_, mean) in means]),
        "weights": [in_a_line(_pairs(mean.weights)) for _, (_, mean) in means],
        "known": [
            in_a_line(_pairs({r: int(y * below) for r, y in proof.items()}))
            for proof in view.known_unions
            for below in [lcm(*(y.denominator for y in proof.values()))]
        ],
    }


def _pairs(numbers: Mapping[int, int]) -> list[int]:
    return [n for entry in sorted(numbers.items()) for n in entry]
