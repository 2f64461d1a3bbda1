"""Write the certificate of a check: the proofs of all its verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.files import write_whole
from hartley.guarantees.table_certificate import KIND, NOT_PROMISED, TableCertificate, add_up
from hartley.measures.sensitivity import Frequency, Homogeneous, read_rule
from hartley.ranges.tables.system import HIGH, LOW

if TYPE_CHECKING:
    import os
    from fractions import Fraction
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.ranges.tables.inference import Inference
    from hartley.studies.check_report import CheckedCell, CheckedStatistic, CheckReport


def save_certificate(report: CheckReport, path: str | os.PathLike[str]) -> Path:
    """Write the certificate of a check to a file, whole or not at all."""
    return write_whole(path, certify_tables(report).to_json() + "\n")


def certify_tables(report: CheckReport) -> TableCertificate:
    """Collect the proofs of all verdicts of a check.

    Verdicts about contributions and insiders rest on the microdata, which a certificate for
    everybody cannot hold: they are refused.
    """
    rules = [read_rule(text) for text in report.rules]
    private = [str(rule) for rule in rules if not isinstance(rule, (Frequency, Homogeneous))]
    if private or report.insider != "none":
        raise OptionError(
            f"Verdicts of {private[0] if private else 'insiders'} rest on microdata, and a "
            "certificate cannot show them",
            hint="write a certificate of a check with frequency and homogeneous alone",
        )
    parts = [part for part in report.statistics if not part.assumed]
    if any(table.path is None for part in parts for table in part.tables):
        raise OptionError(
            "A certificate is bound to files, and some outputs are none",
            hint="check files alone, without a ledger, to get a certificate",
        )
    content = {
        "kind": KIND,
        "format": 1,
        "rules": list(report.rules),
        "left": report.left,
        "attacker": "anybody who has all outputs and knows how they were made",
        "not_promised": list(NOT_PROMISED),
        "outputs": [{"name": name, "sha256": digest} for name, digest in report.outputs],
        "trees": [
            {"dim": tree.dim, "parents": {k: list(v) for k, v in tree.parents.items()}}
            for tree in report.trees
        ],
        "statistics": [_part(part) for part in parts],
    }
    verdicts = [cell.verdict for part in parts for cell in part.cells]
    content["counts"] = {
        verdict: verdicts.count(verdict) for verdict in ("disclosed", "open", "protected", "safe")
    }
    return TableCertificate(content)


def _part(part: CheckedStatistic) -> dict[str, Any]:
    joint, inference, chosen = part.joint, part.inference, part.selections
    assert chosen is not None
    tables = _witnesses(inference)
    witnesses: list[dict[str, Any]] = []
    for table in tables:
        add_up(joint, table)
        if not joint.system.fits(table):  # a solver proposed it; only whole tables count
            continue
        if not witnesses:
            witnesses.append({"atoms": table[joint.atoms].tolist()})
            base = table
            continue
        change = table[joint.atoms] - base[joint.atoms]
        moved = np.flatnonzero(change)
        witnesses.append(
            {"move": {str(int(joint.atoms[i])): int(change[i]) for i in moved.tolist()}}
        )
    fitting = [table for table in tables if joint.system.fits(table)]
    used = np.stack(fitting) if fitting else np.empty((0, joint.system.size), np.int64)
    return {
        "statistic": part.statistic,
        "decimals": part.places,
        "outputs": [
            {"sha256": table.digest, "described": _described(table)} for table in part.tables
        ],
        "selections": {
            "conditions": list(chosen.conditions),
            "patterns": [list(pattern) for pattern in chosen.patterns],
            "dims": list(chosen.dims),
            "possible": [
                [list(keys), sorted(patterns)] for keys, patterns in sorted(chosen.possible.items())
            ],
        },
        "witnesses": witnesses,
        # A cell that states one number, about which no rule is, proves itself.
        "cells": [
            _cell(part, cell, used)
            for cell in part.cells
            if cell.verdict != "safe" or cell.stated[0] != cell.stated[1]
        ],
    }


def _described(table: Any) -> dict[str, Any]:  # noqa: ANN401 - a crosstab
    described = dict(table.described)
    if table.where is not None:
        described["where"] = table.where
    return described


def _witnesses(inference: Inference) -> list[NDArray[np.int64]]:
    """Return whole tables that together attain every inner end that is known."""
    if not inference.fitting:
        return []
    most = max((len(component.tables) for component in inference.components), default=1)
    settled = np.where(inference.bounds.low == inference.bounds.high, inference.bounds.low, 0)
    tables = []
    for number in range(most):
        table = settled.copy()
        for component in inference.components:
            table[component.cells] = component.tables[min(number, len(component.tables) - 1)]
        tables.append(table)
    return tables


def _cell(part: CheckedStatistic, cell: CheckedCell, tables: NDArray[np.int64]) -> dict[str, Any]:
    inference = part.inference
    values = tables[:, cell.cell]
    claim = {
        "cell": cell.cell,
        "keys": cell.keys,
        "outer": list(cell.outer),
        "inner": [int(values.min()), int(values.max())] if values.size else [None, None],
        "multipliers": [
            _written(inference.proof(cell.cell, side)) if end is not None else {}
            for side, end in ((LOW, cell.outer[0]), (HIGH, cell.outer[1]))
        ],
        "verdict": cell.verdict,
        "rule": cell.rule,
    }
    if cell.rule == "homogeneous" and cell.verdict == "disclosed":
        claim["line"] = _line(part, cell.cell)
    return claim


def _line(part: CheckedStatistic, cell: int) -> dict[str, Any]:
    """Return a line in which a cell is the only one that can be non-zero, with its proofs."""
    system, inference = part.joint.system, part.inference
    begins, rows = system.transposed
    for relation in rows[begins[cell] : begins[cell + 1]].tolist():
        parent, children = system.relation(relation)
        others = [child for child in children if child != cell]
        alone = others and cell in children and not inference.outer_high[others].any()
        if alone and inference.outer_low[parent] > 0:
            return {
                "relation": relation,
                "zeros": {str(c): _written(inference.proof(c, HIGH)) for c in others},
                "present": _written(inference.proof(parent, LOW)),
            }
    raise AssertionError


def _written(multipliers: dict[int, Fraction]) -> dict[str, str]:
    return {str(relation): str(y) for relation, y in sorted(multipliers.items())}
