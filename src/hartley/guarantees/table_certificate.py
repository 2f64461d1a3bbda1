"""Certificates of checked tables: what they say, and how their numbers are written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import CertificateError
from hartley.measures.sensitivity import Dominance, PPercent

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from hartley.engines.crosstabs.crosstab import Crosstab
    from hartley.guarantees.table_proofs import WholeNumbers
    from hartley.measures.sensitivity import Rule
    from hartley.ranges.tables.contributors import Contributors

KIND = "hartley table certificate"
FORMAT = 4
NO_END = "."
"""Stands for an end or a number that is not known."""
ATTACKER = "anybody who has all outputs and knows how they were made"
NOT_PROMISED = (
    "what somebody knows beside the outputs listed here",
    "outputs and earlier publications that are not listed",
    "an algorithm that hid or rounded the cells, known and run backwards",
)


@dataclass(frozen=True)
class TableCertificate:
    """The verdicts of a check, each with its proof, bound to every byte of the outputs."""

    content: dict[str, Any]
    compared: bool = False
    """Whether its contributions were compared with the microdata."""
    tables: tuple[Crosstab, ...] = ()
    """The outputs as they were read again, where it was verified."""

    @property
    def counts(self) -> dict[str, int]:
        """How many cells have each verdict."""
        counts: dict[str, int] = self.content["counts"]
        return counts

    def to_json(self) -> str:
        """Return the certificate as JSON, with the fingerprint of all that it says."""
        body = {name: value for name, value in self.content.items() if name != "seal"}
        return json.dumps(body | {"seal": sealed(body)}, ensure_ascii=False, allow_nan=False)

    @property
    def paragraph(self) -> str:
        """What it says, in words."""
        said = ", ".join(f"{number} {verdict}" for verdict, number in self.counts.items() if number)
        taken = (
            " The contributions are those that it states." if self.rests_on_contributions else ""
        )
        outputs = [output for part in self.content["statistics"] for output in part["outputs"]]
        if any(output["reading"] == "untested" for output in outputs):
            taken += (
                " The totals of some outputs are neither declared nor tested: their cells are "
                "open, or disclosed under a reading that fits."
            )
        margins = sorted(
            {o["described"]["margins"] for o in outputs if "margins" in o["described"]}
        )
        if margins:
            taken += f" Totals are taken as declared: margins {', '.join(margins)}."
        return (
            f"Of {len(self.content['outputs'])} outputs under {', '.join(self.content['rules'])}: "
            f"{said}.{taken} Not covered: {'; '.join(NOT_PROMISED)}."
        )

    @property
    def rests_on_contributions(self) -> bool:
        """Whether it states contributions that were not compared with the microdata."""
        return bool(self.content["confidential"]) and not self.compared


def sealed(body: dict[str, Any]) -> str:
    """Return the fingerprint of the content of a certificate."""
    text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def is_table_certificate(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file is a certificate of tables, and not of a policy."""
    try:
        with Path(path).open("rb") as file:
            return KIND.encode() in file.read(200)
    except OSError:
        return False


def numbers(text: str) -> NDArray[np.int64]:
    """Read whole numbers that stand in a line."""
    return np.array(text.split(), np.int64) if text else np.empty(0, np.int64)


def whole_numbers(text: str) -> WholeNumbers:
    """Read whole numbers of any length that stand in a line."""
    listed = [int(word) for word in text.split()]
    try:
        return np.array(listed, np.int64)
    except OverflowError:  # words are too short for one of them
        return np.array(listed, object)


def in_a_line(values: Sequence[int] | NDArray[np.int64]) -> str:
    """Write whole numbers in a line."""
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    return " ".join(map(str, listed))


def ends_in_a_line(values: Sequence[int | None]) -> str:
    """Write ends in a line; one that is not known is a dot."""
    return " ".join(NO_END if value is None else str(value) for value in values)


def refuted(name: str, what: str) -> CertificateError:
    """Return the error for a certificate that does not hold."""
    return CertificateError(f"{name} does not hold: {what}", hint="check the outputs again")


def stated_contributions(known: Contributors, rules: Sequence[Rule]) -> dict[str, str]:
    """Return the largest contributions to each cell that a rule is about, and the rest."""
    amounts = np.split(known.amount, known.start[1:-1])
    cells = np.flatnonzero(known.number).tolist()
    return _stated(((str(cell), amounts[cell].tolist()) for cell in cells), rules)


def stated_remainders(
    known: Contributors, sums: Iterable[Sequence[int]], rules: Sequence[Rule]
) -> dict[str, str]:
    """Return the same for sums of several cells that are known exactly."""
    joined = ((in_a_line(cells), [n for n, _ in known.together(cells)]) for cells in sums)
    return _stated(joined, rules)


def _stated(parts: Iterable[tuple[str, list[int]]], rules: Sequence[Rule]) -> dict[str, str]:
    """Write the parts that a rule is about: as many of the largest as it needs, and the rest."""
    about = [rule for rule in rules if isinstance(rule, (PPercent, Dominance))]
    largest = max((rule.parts for rule in about), default=0)
    stated = {}
    for name, amounts in parts if about else ():
        mine = [*amounts[:largest], sum(amounts[largest:])]
        if any(needed(rule, mine) is not None for rule in about):
            stated[name] = in_a_line(mine)
    return stated


def needed(rule: PPercent | Dominance, parts: Sequence[int]) -> Fraction | None:
    """Return what the sum of parts, the largest first, must be able to be; None is nothing."""
    fractions = [Fraction(part) for part in parts]
    return rule.need([*fractions[: rule.parts], sum(fractions[rule.parts :], Fraction(0))])
