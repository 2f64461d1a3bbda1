"""Certificates of checked tables: every verdict proved again from the files, without a solver."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.crosstabs.description import CategoryTree, read_description
from hartley.engines.crosstabs.reading import read_crosstab, with_places
from hartley.errors import CertificateError, HartleyError
from hartley.files import file_digest, parse_json, read_text_file
from hartley.kernels.propagation import FAR
from hartley.measures.sensitivity import Frequency, Homogeneous, read_rule
from hartley.ranges.tables.cover import Selections, cover
from hartley.ranges.tables.system import HIGH, LOW

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hartley.ranges.tables.cover import Cover

KIND = "hartley table certificate"
NOT_PROMISED = (
    "what somebody knows beside the outputs listed here",
    "outputs and earlier publications that are not listed",
    "an algorithm that hid or rounded the cells, known and run backwards",
)


@dataclass(frozen=True)
class TableCertificate:
    """The verdicts of a check, each with its proof, bound to every byte of the outputs."""

    content: dict[str, Any]

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
        return (
            f"Of {len(self.content['outputs'])} outputs under {', '.join(self.content['rules'])}: "
            f"{said}. Not covered: {'; '.join(NOT_PROMISED)}."
        )


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


def verify_tables(
    outputs: Sequence[str | os.PathLike[str]], certificate: str | os.PathLike[str]
) -> TableCertificate:
    """Prove a certificate of tables again from its outputs; refuse one that does not hold.

    The outputs are read again, their relations and bounds are built again; multipliers are added
    up in exact rationals, whole tables are added up and compared. No solver is used.

    Args:
        outputs: the files that were checked.
        certificate: the file of the certificate.

    Raises:
        CertificateError: it belongs to other files, or something in it does not hold.
    """
    name = f"The certificate {certificate}"
    try:
        content = parse_json(
            read_text_file(certificate, what="certificate", kind=CertificateError),
            what="certificate",
            kind=CertificateError,
        )
        seal = content.pop("seal")
        if content["kind"] != KIND or seal != sealed(content):
            raise _changed(name)
        _verify(content, [str(path) for path in outputs], name)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError):
        raise CertificateError(
            f"{name} is not one of checked tables",
            hint="pass a file that hartley check has written",
        ) from None
    return TableCertificate(content)


def _changed(name: str) -> CertificateError:
    return CertificateError(f"{name} was changed", hint="check the outputs again")


def _wrong(name: str, what: str) -> CertificateError:
    return CertificateError(f"{name} does not hold: {what}", hint="check the outputs again")


def _verify(content: dict[str, Any], outputs: list[str], name: str) -> None:
    digests = {file_digest(path): path for path in outputs}
    listed = {output["sha256"] for output in content["outputs"]}
    if listed != set(digests):
        raise CertificateError(
            f"{name} belongs to other outputs than these",
            hint="name every output that was checked, as it was then",
        )
    trees = tuple(
        CategoryTree(tree["dim"], {parent: tuple(kids) for parent, kids in tree["parents"].items()})
        for tree in content["trees"]
    )
    listed_rules = [read_rule(text) for text in content["rules"]]
    counts = dict.fromkeys(content["counts"], 0)
    for part in content["statistics"]:
        rules = listed_rules if part["statistic"] == "count" else []
        joint = _rebuilt(part, digests, trees, name)
        tables = _tables(joint, part, name)
        claimed = [int(claim["cell"]) for claim in part["cells"]]
        if len(set(claimed)) < len(claimed):
            raise _wrong(name, "a cell occurs twice in it")
        counts["safe"] += _plainly_safe(joint, claimed, rules, name)
        for claim in part["cells"]:
            verdict = _claim(joint, claim, tables, rules, int(content["left"]), name)
            counts[verdict] += 1
    if counts != content["counts"]:
        raise _wrong(name, "the verdicts do not add up to its counts")


def _plainly_safe(joint: Cover, claimed: Sequence[int], rules: Sequence[object], name: str) -> int:
    """Count the published cells without a claim: each states one number that no rule is about."""
    silent = np.array(sorted({cell for _, _, cell in joint.stated} - {*claimed}), np.int64)
    low, high = joint.system.low[silent], joint.system.high[silent]
    small = np.zeros(silent.size, bool)
    for rule in rules:
        if isinstance(rule, Frequency):
            small |= (low > 0) & (low < rule.threshold)
    if (low != high).any() or small.any():
        raise _wrong(name, "a published cell is missing in it")
    return silent.size


def _rebuilt(
    part: dict[str, Any], digests: dict[str, str], trees: tuple[CategoryTree, ...], name: str
) -> Cover:
    """Read the outputs again and build their cells and relations."""
    chosen = part["selections"]
    selections = Selections(
        tuple(chosen["conditions"]),
        tuple(tuple(map(bool, pattern)) for pattern in chosen["patterns"]),
        tuple(chosen["dims"]),
        {tuple(keys): frozenset(patterns) for keys, patterns in chosen["possible"]},
    )
    try:
        tables = [
            with_places(
                read_crosstab(digests[output["sha256"]], read_description(output["described"])),
                part["decimals"],
            )
            for output in part["outputs"]
        ]
        return cover(tables, trees, selections)
    except HartleyError as error:
        raise _wrong(name, error.problem) from None


def _tables(joint: Cover, part: dict[str, Any], name: str) -> NDArray[np.int64]:
    """Add up every witness from its atoms, and compare it with all that is published."""
    base = np.zeros(joint.system.size, np.int64)
    if not part["witnesses"]:
        return base[None][:0]
    base[joint.atoms] = np.array(part["witnesses"][0]["atoms"], np.int64)
    tables = []
    for witness in part["witnesses"]:
        table = base.copy()
        for cell, change in witness.get("move", {}).items():
            table[int(cell)] += int(change)
        add_up(joint, table)
        if not joint.system.fits(table):
            raise _wrong(name, "a table in it does not fit the outputs")
        tables.append(table)
    return np.stack(tables)


def add_up(joint: Cover, table: NDArray[np.int64]) -> None:
    """Fill in every sum of a table, dimension by dimension, from its atoms."""
    shaped = table.reshape(joint.shape)
    for at, axis in enumerate(joint.axes):
        moved = np.moveaxis(shaped, at, 0)
        for node in range(len(axis.nodes)):
            below = axis.leaves_below[node]
            if below != {node}:
                moved[node] = moved[sorted(below)].sum(axis=0)


def _claim(  # noqa: PLR0913, PLR0917 - a claim and what it is compared with
    joint: Cover,
    claim: dict[str, Any],
    tables: NDArray[np.int64],
    rules: Sequence[object],
    left: int,
    name: str,
) -> str:
    """Prove both intervals of a cell again, and return the verdict that follows."""
    cell = int(claim["cell"])
    keys = {
        dim: key for dim, key in zip(joint.dims, joint.keys(cell), strict=True) if key is not None
    }
    if keys != claim["keys"]:
        raise _wrong(name, "a cell has other categories")
    outer: list[int | None] = []
    for side in (LOW, HIGH):
        multipliers = {int(r): Fraction(y) for r, y in claim["multipliers"][side].items()}
        bound = joint.system.bound(cell, multipliers, side)
        if bound is not None:
            outer.append(math.ceil(bound) if side == LOW else math.floor(bound))
        else:
            outer.append(None)
    values = tables[:, cell]
    inner = [int(values.min()), int(values.max())] if values.size else [None, None]
    if outer != claim["outer"] or inner != claim["inner"]:
        raise _wrong(name, f"the interval of {joint.name(cell)} comes out differently")
    verdict = claim["verdict"]
    low, high = outer
    if verdict == "safe" and any(
        isinstance(rule, Frequency) and high != 0 and (low is None or low < rule.threshold)
        for rule in rules
    ):
        raise _wrong(name, f"the verdict on {joint.name(cell)} does not follow")
    if verdict != "safe" and not _follows(verdict, joint, cell, outer, values, rules, left, claim):
        raise _wrong(name, f"the verdict on {joint.name(cell)} does not follow")
    return str(verdict)


def _follows(  # noqa: PLR0913, PLR0917 - a verdict and what it rests on
    verdict: str,
    joint: Cover,
    cell: int,
    outer: Sequence[int | None],
    values: NDArray[np.int64],
    rules: Sequence[object],
    left: int,
    claim: dict[str, Any],
) -> bool:
    """Tell whether a verdict follows from proved intervals. Open needs no proof."""
    if verdict == "open":
        return True
    rule = next((rule for rule in rules if str(rule) == claim["rule"]), None)
    low, high = outer
    if isinstance(rule, Homogeneous):
        return verdict == "disclosed" and _alone(joint, cell, claim)
    if not isinstance(rule, Frequency) or low is None:
        return False
    small = joint.system.high[cell] < min(rule.threshold, FAR)
    if verdict == "disclosed":
        width = math.inf if high is None else high - low + 1
        few = width < left if small else high is not None and high < rule.threshold
        return few and low < rule.threshold and high != 0
    if small:
        return np.unique(values).size >= left
    return bool(values.size) and int(values.max()) >= rule.threshold


def _alone(joint: Cover, cell: int, claim: dict[str, Any]) -> bool:
    """Tell whether all other cells of a line are proved to be zero, and the line is not empty."""
    relation = int(claim["line"]["relation"])
    parent, children = joint.system.relation(relation)
    if cell not in children or len(children) < 2:
        return False
    proofs = {
        int(c): {int(r): Fraction(y) for r, y in multipliers.items()}
        for c, multipliers in claim["line"]["zeros"].items()
    }
    zeros = all(
        joint.system.bound(c, proofs[c], HIGH) == 0 for c in children if c != cell and c in proofs
    )
    present = {int(r): Fraction(y) for r, y in claim["line"]["present"].items()}
    some = joint.system.bound(parent, present, LOW)
    return zeros and set(proofs) == set(children) - {cell} and some is not None and some > 0
