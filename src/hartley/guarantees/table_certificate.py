"""Certificates of checked tables: every verdict proved again from the files, without a solver."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.crosstabs.crosstab import Crosstab, PublishedCell
from hartley.engines.crosstabs.description import CategoryTree, read_description
from hartley.engines.crosstabs.reading import read_crosstab, with_places
from hartley.errors import CertificateError, HartleyError
from hartley.files import file_digest, parse_json, read_text_file
from hartley.guarantees.table_proofs import (
    OPEN,
    PROTECTED,
    SAFE,
    WORDS,
    ProofRows,
    ProvedView,
    Witnesses,
    followed,
    refer_to,
)
from hartley.kernels.propagation import FAR
from hartley.measures.sensitivity import Dominance, PPercent, read_rule
from hartley.ranges.tables.contributors import read_contributors
from hartley.ranges.tables.cover import Selections, cover
from hartley.ranges.tables.system import LOW
from hartley.ranges.tables.universes import categories_of, universes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from hartley.measures.sensitivity import Rule
    from hartley.ranges.tables.contributors import Contributors
    from hartley.ranges.tables.cover import Cover

KIND = "hartley table certificate"
FORMAT = 2
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


def in_a_line(values: Sequence[int] | NDArray[np.int64]) -> str:
    """Write whole numbers in a line."""
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    return " ".join(map(str, listed))


def ends_in_a_line(values: Sequence[int | None]) -> str:
    """Write ends in a line; one that is not known is a dot."""
    return " ".join(NO_END if value is None else str(value) for value in values)


def _ends(text: str) -> list[int | None]:
    return [None if word == NO_END else int(word) for word in text.split()]


def verify_tables(
    outputs: Sequence[str | os.PathLike[str]],
    certificate: str | os.PathLike[str],
    table: object = None,
) -> TableCertificate:
    """Prove a certificate of tables again from its outputs; refuse one that does not hold.

    The outputs are read again, their relations and bounds are built again; multipliers are added
    up in whole numbers, whole tables are added up and compared, and the verdict on every cell is
    worked out from that, also on those that the certificate does not mention. No solver is used.

    Args:
        outputs: the files that were checked.
        certificate: the file of the certificate.
        table: the microdata, for verdicts about contributions and insiders; without them the
            contributions are those that the certificate states.

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
        if content["kind"] != KIND or content["format"] != FORMAT or seal != sealed(content):
            raise _changed(name)
        tables = _verify(content, [str(path) for path in outputs], table, name)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError):
        raise CertificateError(
            f"{name} is not one of checked tables",
            hint="pass a file that this version of hartley check has written",
        ) from None
    return TableCertificate(content, table is not None, tuple(tables))


def _changed(name: str) -> CertificateError:
    return CertificateError(f"{name} was changed", hint="check the outputs again")


def _wrong(name: str, what: str) -> CertificateError:
    return CertificateError(f"{name} does not hold: {what}", hint="check the outputs again")


def _verify(
    content: dict[str, Any], outputs: list[str], table: object, name: str
) -> list[Crosstab]:
    digests = {file_digest(path): path for path in outputs}
    listed = {output["sha256"] for output in content["outputs"]}
    if listed != set(digests):
        raise CertificateError(
            f"{name} belongs to other outputs than these",
            hint="name every output that was checked, as it was then",
        )
    used = {o["sha256"] for part in content["statistics"] for o in part["outputs"]}
    if used != listed:
        raise _wrong(name, "an output is not looked at in it")
    trees = tuple(
        CategoryTree(tree["dim"], {parent: tuple(kids) for parent, kids in tree["parents"].items()})
        for tree in content["trees"]
    )
    rules = [read_rule(text) for text in content["rules"]]
    _check_terms(content, rules, name)
    files = [_files(part, digests, name) for part in content["statistics"]]
    _check_decimals(content["statistics"], files, name)
    read = [_read(part, mine) for part, mine in zip(content["statistics"], files, strict=True)]
    _check_division([tables for tables, _ in read], name)
    counts = dict.fromkeys(WORDS, 0)
    for part, (tables, selections) in zip(content["statistics"], read, strict=True):
        if dict(part["categories"]) != categories_of(tables, trees):
            raise _wrong(name, "its outputs have other categories")
        try:
            joint = cover(tables, trees, selections)
        except HartleyError as error:
            raise _wrong(name, error.problem) from None
        views = [_view(joint, view, name) for view in part["views"]]
        verdicts = _verdicts(joint, part, views, rules, int(content["left"]), name)
        if table is not None and content["confidential"]:
            known = read_contributors(
                joint,
                tables[0],
                selections,
                table,
                content["contributor"],
                signed=bool((joint.system.low < 0).any()),
            )
            _compare(known, views[0], part, rules, content["insider"], name)
        for verdict in verdicts:
            counts[verdict] += 1
    if counts != content["counts"]:
        raise _wrong(name, "the verdicts do not add up to its counts")
    return [output for tables in files for output in tables]


def _check_terms(content: dict[str, Any], rules: Sequence[Rule], name: str) -> None:
    """Refuse terms that no check has: verdicts would follow from them all the same."""
    private = any(isinstance(rule, (PPercent, Dominance)) for rule in rules)
    if (
        not rules
        or int(content["left"]) < 2
        or content["insider"] not in {"none", "sole"}
        or content["confidential"] is not (private or content["insider"] != "none")
        or content["attacker"] != ATTACKER
        or content["not_promised"] != list(NOT_PROMISED)
    ):
        raise _wrong(name, "no check has its terms")


def _check_decimals(
    parts: Sequence[dict[str, Any]], files: Sequence[Sequence[Crosstab]], name: str
) -> None:
    """Refuse another unit than the last digit that some output of a statistic has."""
    finest = {part["statistic"]: 0 for part in parts}
    for output in (output for tables in files for output in tables):
        finest[output.statistic] = max(finest[output.statistic], output.places)
    if any(part["decimals"] != finest[part["statistic"]] for part in parts):
        raise _wrong(name, "its outputs have other decimals")


def _check_division(parts: Sequence[Sequence[Crosstab]], name: str) -> None:
    """Refuse outputs that are looked at one by one, though they are about the same rows."""

    def named(groups: Iterable[Sequence[Crosstab]]) -> list[list[tuple[str, ...]]]:
        return sorted(sorted((t.digest, t.name, t.where or "") for t in group) for group in groups)

    for statistic in {table.statistic for part in parts for table in part}:
        mine = [part for part in parts if part[0].statistic == statistic]
        divided = universes([table for part in mine for table in part])
        if named(divided.groups) != named(mine):
            raise _wrong(name, "it divides the outputs in another way")


def _verdicts(  # noqa: PLR0913, PLR0917 - a part, and the terms that it is judged under
    joint: Cover,
    part: dict[str, Any],
    views: Sequence[ProvedView],
    rules: Sequence[Rule],
    left: int,
    name: str,
) -> list[str]:
    """Work out the verdicts on all cells from what each attacker knows; return those claimed."""
    worst = np.zeros(joint.system.size, np.int64)
    if not views or part["views"][0]["knows"] is not None:
        raise _wrong(name, "what anybody sees is missing in it")
    counts, needs = part["statistic"] == "count", _needs(part)
    for view, proved in zip(part["views"], views, strict=True):
        verdicts = proved.verdicts(joint, rules, left, needs, counts=counts)
        if view["knows"] is not None:
            verdicts[int(view["knows"][0])] = SAFE
        np.maximum(worst, verdicts, out=worst)
    return _claims(joint, part["cells"], views[0], worst, name)


def _needs(part: dict[str, Any]) -> dict[int, list[Fraction]]:
    return {
        int(cell): [Fraction(int(number)) for number in text.split()]
        for cell, text in part["contributions"].items()
    }


def _files(part: dict[str, Any], digests: dict[str, str], name: str) -> list[Crosstab]:
    """Read the outputs of a part again, as it describes them."""
    try:
        files = [
            read_crosstab(digests[output["sha256"]], read_description(output["described"]))
            for output in part["outputs"]
        ]
    except HartleyError as error:
        raise _wrong(name, error.problem) from None
    if {table.statistic for table in files} - {part["statistic"]}:
        raise _wrong(name, "an output is about another statistic")
    return files


def _read(part: dict[str, Any], files: Sequence[Crosstab]) -> tuple[list[Crosstab], Selections]:
    """Return all that a part looks at; answers of a ledger stand in the certificate."""
    chosen = part["selections"]
    selections = Selections(
        tuple(chosen["conditions"]),
        tuple(tuple(map(bool, pattern)) for pattern in chosen["patterns"]),
        tuple(chosen["dims"]),
        {tuple(keys): frozenset(patterns) for keys, patterns in chosen["possible"]},
    )
    tables = [with_places(table, part["decimals"]) for table in files]
    for answer in part["answers"]:
        cell = PublishedCell((), int(answer["low"]), int(answer["high"]), "number", "", 1)
        tables.append(
            Crosstab(
                answer["name"],
                None,
                "",
                (),
                part["statistic"],
                answer["where"],
                (cell,),
                part["decimals"],
                (),
            )
        )
    return tables, selections


def _compare(  # noqa: PLR0913, PLR0917 - a part and the microdata
    known: Contributors,
    proved: ProvedView,
    part: dict[str, Any],
    rules: Sequence[Rule],
    insider: str,
    name: str,
) -> None:
    """Compare the contributions and the insiders of a certificate with the microdata."""
    if (
        part["statistic"] != "count"
        and stated_contributions(known.truth, known.start, known.amount, rules)
        != part["contributions"]
    ):
        raise _wrong(name, "the microdata have other contributions")
    insiders = {tuple(view["knows"]) for view in part["views"] if view["knows"] is not None}
    for cell, value in insiders:
        if known.number[cell] != 1 or known.truth[cell] != value:
            raise _wrong(name, "an insider of it is none")
    if insider == "sole":
        # Who is alone in a cell that is settled learns nothing new from knowing it.
        alone = np.flatnonzero((known.number == 1) & (proved.low < proved.high))
        if set(alone.tolist()) - {int(cell) for cell, _ in insiders}:
            raise _wrong(name, "an insider is missing in it")


def stated_contributions(
    truth: NDArray[np.int64],
    start: NDArray[np.int64],
    amount: NDArray[np.int64],
    rules: Sequence[Rule],
) -> dict[str, str]:
    """Return the largest contributions to each cell that a rule is about, and the rest.

    Args:
        truth: the sum of each cell.
        start: where the contributions to each cell begin.
        amount: the contributions, the largest first.
        rules: the rules; those about contributions say how many of them count.
    """
    about = [rule for rule in rules if isinstance(rule, (PPercent, Dominance))]
    if not about:
        return {}
    largest = max(rule.parts for rule in about)
    stated = {}
    for cell in np.flatnonzero(np.diff(start)).tolist():
        mine = amount[start[cell] : start[cell + 1]]
        top = mine[:largest].tolist()
        parts = [*top, int(truth[cell]) - sum(top)]
        fractions = [Fraction(part) for part in parts]
        if any(
            rule.need([*fractions[: rule.parts], sum(fractions[rule.parts :], Fraction(0))])
            is not None
            for rule in about
        ):
            stated[str(cell)] = in_a_line(parts)
    return stated


def _view(joint: Cover, view: dict[str, Any], name: str) -> ProvedView:
    """Prove the ends of all cells again for one attacker."""
    system = joint.system
    if view["knows"] is not None:
        cell, value = map(int, view["knows"])
        if not system.low[cell] <= value <= system.high[cell]:
            raise _wrong(name, "an insider knows what cannot be")
        system = system.knowing(cell, value)
    low, high = followed(system)
    written = view["multipliers"]
    proofs = ProofRows(
        numbers(written["cell"]),
        numbers(written["side"]),
        numbers(written["start"]),
        numbers(written["relation"]),
        [int(word) for word in written["numerator"].split()],
        [int(word) for word in written["denominator"].split()],
    )
    rows = np.arange(proofs.cell.size + 1)
    if (
        min(proofs.denominator, default=1) < 1
        or not refer_to(rows, proofs.cell, system.size)
        or not refer_to(rows, proofs.side, 2)
        or not refer_to(proofs.start, proofs.relation, system.relations)
        or not proofs.start.size == proofs.cell.size + 1 == len(proofs.denominator) + 1
        or len(proofs.numerator) != proofs.relation.size
    ):
        raise _wrong(name, "its multipliers are not well formed")
    for cell, side, end in zip(
        proofs.cell.tolist(), proofs.side.tolist(), proofs.bounds(system), strict=True
    ):
        if end is not None and side == LOW:
            low[cell] = max(low[cell], end)
        elif end is not None:
            high[cell] = min(high[cell], end)
    low, high = followed(system, (low, high))
    if (low > high).any():
        raise _wrong(name, "no table fits")
    unknown = np.flatnonzero(low < high)
    base, known = low.copy(), np.ones(low.size, bool)
    words = _ends(view["base"])
    if len(words) != unknown.size:
        raise _wrong(name, "its table has another size")
    known[unknown] = [word is not None for word in words]
    base[unknown] = [0 if word is None else word for word in words]
    moves = view["moves"]
    witnesses = Witnesses(
        base, known, numbers(moves["start"]), numbers(moves["cell"]), numbers(moves["change"])
    )
    if not refer_to(witnesses.start, witnesses.cell, system.size) or not witnesses.fit(
        system, low, high
    ):
        raise _wrong(name, "a table in it does not fit the outputs")
    least, most = witnesses.ends()
    return ProvedView(low, high, least, most, witnesses)


def _claims(
    joint: Cover, cells: dict[str, str], proved: ProvedView, worst: NDArray[np.int64], name: str
) -> list[str]:
    """Compare every claim with what is proved, and return the verdicts."""
    claimed = numbers(cells["cell"])
    verdicts = cells["verdict"].split()
    if not refer_to(np.array([0, claimed.size]), claimed, joint.system.size):
        raise _wrong(name, "a cell of it does not exist")
    if np.unique(claimed).size < claimed.size or len(verdicts) != claimed.size:
        raise _wrong(name, "a cell occurs twice in it")
    ends = [_ends(cells[side]) for side in ("low", "high", "least", "most")]
    columns = (proved.low, proved.high, proved.least, proved.most)
    for stated, column in zip(ends, columns, strict=True):
        there = [None if abs(end) >= FAR else end for end in column[claimed].tolist()]
        for cell, mine, other in zip(claimed.tolist(), stated, there, strict=True):
            if mine != other:
                raise _wrong(name, f"the interval of {joint.name(cell)} comes out differently")
    for cell, verdict in zip(claimed.tolist(), verdicts, strict=True):
        # A check may overlook what protects a cell, and no more than that.
        unnoticed = verdict == "open" and worst[cell] == PROTECTED
        if verdict != WORDS[worst[cell]] and not unnoticed:
            raise _wrong(name, f"the verdict on {joint.name(cell)} does not follow")
    silent = np.ones(joint.system.size, bool)
    silent[claimed] = False
    published = np.zeros(joint.system.size, bool)
    published[[cell for _, _, cell in joint.stated]] = True
    if (worst[silent & published] != SAFE).any() or (worst[silent] > PROTECTED).any():
        raise _wrong(name, "a cell is missing in it")
    assert OPEN > PROTECTED
    return [*verdicts, *(["safe"] * int((silent & published).sum()))]
