"""Certificates of checked tables, proved again from the files without a solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.crosstabs.crosstab import Crosstab, PublishedCell
from hartley.engines.crosstabs.description import CategoryTree, read_description
from hartley.engines.crosstabs.reading import collector_paused, read_crosstab, with_places
from hartley.engines.crosstabs.readings import read_totals
from hartley.errors import CertificateError, HartleyError
from hartley.files import file_digest, parse_json, read_text_file
from hartley.guarantees.table_certificate import (
    ATTACKER,
    FORMAT,
    KIND,
    NOT_PROMISED,
    TableCertificate,
    refuted,
    sealed,
    stated_contributions,
    stated_remainders,
)
from hartley.guarantees.table_unions import prove_unions, stated_holdings
from hartley.guarantees.table_verdicts import (
    DISCLOSED,
    OPEN,
    SAFE,
    WORDS,
    check_claims,
    prove_view,
)
from hartley.measures.sensitivity import Dominance, PPercent, read_rule
from hartley.ranges.tables.contributors import read_contributors
from hartley.ranges.tables.cover import Selections, cover
from hartley.ranges.tables.one_table import hidden_sums, remainders, with_sums
from hartley.ranges.tables.universes import categories_of, universes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from hartley.guarantees.table_verdicts import ProvedView
    from hartley.measures.sensitivity import Rule
    from hartley.ranges.tables.contributors import Contributors
    from hartley.ranges.tables.cover import Cover


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
            raise CertificateError(f"{name} was changed", hint="check the outputs again")
        with collector_paused():
            tables = _verify(content, [str(path) for path in outputs], table, name)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError):
        raise CertificateError(
            f"{name} is not one of checked tables",
            hint="pass a file that this version of hartley check has written",
        ) from None
    return TableCertificate(content, table is not None, tuple(tables))


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
        raise refuted(name, "an output is not looked at in it")
    trees = tuple(
        CategoryTree(tree["dim"], {parent: tuple(kids) for parent, kids in tree["parents"].items()})
        for tree in content["trees"]
    )
    rules = [read_rule(text) for text in content["rules"]]
    _check_terms(content, rules, name)
    files = [_files(part, digests, trees, name) for part in content["statistics"]]
    _check_decimals(content["statistics"], files, name)
    read = [_read(part, mine) for part, mine in zip(content["statistics"], files, strict=True)]
    _check_division([tables for tables, _ in read], name)
    counts = np.zeros(len(WORDS), np.int64)
    for part, (tables, selections) in zip(content["statistics"], read, strict=True):
        if dict(part["categories"]) != categories_of(tables, trees):
            raise refuted(name, "its outputs have other categories")
        try:
            joint = cover(tables, trees, selections)
        except HartleyError as error:
            raise refuted(name, error.problem) from None
        views = [prove_view(joint.system, view, name) for view in part["views"]]
        counts += _verdicts(joint, part, views, rules, content, name)
        if table is not None and content["confidential"]:
            known = read_contributors(
                joint,
                tables[0],
                selections,
                table,
                content["contributor"],
                signed=bool((joint.system.low < 0).any()),
            )
            _compare(known, joint, views, part, rules, content["insider"], name)
    if dict(zip(WORDS, counts.tolist(), strict=True)) != content["counts"]:
        raise refuted(name, "the verdicts do not add up to its counts")
    return [output for tables in files for output in tables]


def _check_terms(content: dict[str, Any], rules: Sequence[Rule], name: str) -> None:
    """Refuse terms that no check has: verdicts would follow from them all the same."""
    private = any(isinstance(rule, (PPercent, Dominance)) for rule in rules)
    if (
        not rules
        or int(content["left"]) < 2
        or content["insider"] not in {"none", "sole", "holdings", "all"}
        or content["confidential"] is not (private or content["insider"] != "none")
        or content["attacker"] != ATTACKER
        or content["not_promised"] != list(NOT_PROMISED)
    ):
        raise refuted(name, "no check has its terms")


def _check_decimals(
    parts: Sequence[dict[str, Any]], files: Sequence[Sequence[Crosstab]], name: str
) -> None:
    """Refuse another unit than the last digit that some output of a statistic has."""
    finest = {part["statistic"]: 0 for part in parts}
    for output in (output for tables in files for output in tables):
        finest[output.statistic] = max(finest[output.statistic], output.places)
    if any(part["decimals"] != finest[part["statistic"]] for part in parts):
        raise refuted(name, "its outputs have other decimals")


def _check_division(parts: Sequence[Sequence[Crosstab]], name: str) -> None:
    """Refuse outputs that are looked at one by one, though they are about the same rows."""

    def named(groups: Iterable[Sequence[Crosstab]]) -> list[list[tuple[str, ...]]]:
        return sorted(sorted((t.digest, t.name, t.where or "") for t in group) for group in groups)

    for statistic in {table.statistic for part in parts for table in part}:
        mine = [part for part in parts if part[0].statistic == statistic]
        divided = universes([table for part in mine for table in part])
        if named(divided.groups) != named(mine):
            raise refuted(name, "it divides the outputs in another way")


def _verdicts(  # noqa: PLR0913, PLR0917 - a part, and the terms that it is judged under
    joint: Cover,
    part: dict[str, Any],
    views: Sequence[ProvedView],
    rules: Sequence[Rule],
    content: dict[str, Any],
    name: str,
) -> NDArray[np.int64]:
    """Work out the verdicts on all cells from what each attacker knows; count those claimed."""
    worst = np.zeros(joint.system.size, np.int64)
    if not views or part["views"][0]["knows"]:
        raise refuted(name, "what anybody sees is missing in it")
    counts, left = part["statistic"] == "count", int(content["left"])
    for view, proved in zip(part["views"], views, strict=True):
        stated = part["contributions"] | view["remainders"]
        needs = {cells: [int(number) for number in text.split()] for cells, text in stated.items()}
        verdicts = proved.verdicts(joint, rules, left, needs, counts=counts)
        verdicts[[int(cell) for cell, _ in view["knows"]]] = SAFE
        np.maximum(worst, verdicts, out=worst)
    if not counts and any(isinstance(rule, (PPercent, Dominance)) for rule in rules):
        asked = prove_unions(
            joint.system, part["unions"], views[0], rules, content["insider"], name
        )
        hidden = hidden_sums(joint, views[0].low, views[0].high)
        for answers in asked:
            doubtful = [*answers.doubtful()]
            worst[doubtful] = np.maximum(worst[doubtful], OPEN)
            tight = [with_sums(sum_.weights, hidden) for sum_ in answers.proofs]
            worst[[cell for cells in tight for cell in cells]] = DISCLOSED
    untested = any(output["reading"] == "untested" for output in part["outputs"])
    return check_claims(joint, part["cells"], views[0], worst, name, untested=untested)


def _files(
    part: dict[str, Any], digests: dict[str, str], trees: Sequence[CategoryTree], name: str
) -> list[Crosstab]:
    """Read the outputs of a part again, as it describes them, and their totals as it reads them."""
    try:
        files = [
            read_totals(
                read_crosstab(digests[output["sha256"]], read_description(output["described"])),
                trees,
            )
            for output in part["outputs"]
        ]
    except HartleyError as error:
        raise refuted(name, error.problem) from None
    if [table.reading for table in files] != [output["reading"] for output in part["outputs"]]:
        raise refuted(name, "the totals of an output are declared, tested or untested otherwise")
    if {table.statistic for table in files} - {part["statistic"]}:
        raise refuted(name, "an output is about another statistic")
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
    joint: Cover,
    views: Sequence[ProvedView],
    part: dict[str, Any],
    rules: Sequence[Rule],
    insider: str,
    name: str,
) -> None:
    """Compare the contributions and the insiders of a certificate with the microdata."""
    if part["statistic"] != "count":
        remaining = [
            stated_remainders(known, remainders(joint, view.low, view.high), rules)
            for view in views
        ]
        holdings = stated_holdings(joint, known, rules, insider)
        if (
            stated_contributions(known, rules) != part["contributions"]
            or remaining != [view["remainders"] for view in part["views"]]
            or (holdings["targets"] and holdings != part["unions"]["holdings"])
        ):
            raise refuted(name, "the microdata have other contributions")
    insiders = [dict(view["knows"]) for view in part["views"][1:]]
    for knows in insiders:
        cells = [*knows]
        people = {int(who) for who in known.who[known.start[cells]]}
        if (known.number[cells] != 1).any() or len(people) != 1:
            raise refuted(name, "an insider of it is none")
        if known.truth[cells].tolist() != [*knows.values()]:
            raise refuted(name, "an insider of it is none")
    if insider in {"sole", "all"}:
        # Who is alone in a cell that is settled learns nothing new from knowing it.
        for cells in known.sole(views[0].low < views[0].high):
            if not any({*cells} <= knows.keys() for knows in insiders):
                raise refuted(name, "an insider is missing in it")
