"""Certificates of checked tables: what they say, and how their numbers are written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import ceil, comb
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import CertificateError, HartleyError
from hartley.files import file_digest, parse_json, read_text_file
from hartley.guarantees.promise import TABLES
from hartley.guarantees.table_proofs import ProofRows, Witnesses, followed, refer_to
from hartley.kernels.sums import FAR
from hartley.knowledge.cover import Selections, cover, lines_of
from hartley.knowledge.hidden_sums import (
    ONE_PERSON,
    OPEN as NO_TABLE,
    Holdings,
    HullPoint,
    OneTable,
    TableHull,
    TightSum,
    exact_sums_alone,
    hidden_sums,
    known_union,
    remainders,
    with_sums,
)
from hartley.knowledge.table_bounds import categories_of, read_contributors, universes
from hartley.knowledge.table_system import LOW
from hartley.measures.rules import Dominance, Frequency, Homogeneous, PPercent, read_rule
from hartley.tables.crosstab import Crosstab, PublishedCell, read_totals
from hartley.tables.described import CategoryTree, read_description
from hartley.tables.published import collector_paused, read_crosstab, with_places

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.guarantees.table_proofs import WholeNumbers
    from hartley.knowledge.cover import Cover
    from hartley.knowledge.hidden_sums import Target
    from hartley.knowledge.table_bounds import Contributors
    from hartley.knowledge.table_system import LinearSystem
    from hartley.measures.rules import Rule


# --- table certificate ----------------------------------------------------------------------------


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
    """Return the largest contributions to sums of several cells that are known exactly."""
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


# --- table unions ---------------------------------------------------------------------------------
# Sums of hidden cells that tell somebody's part: which questions there are, and their proofs.

MOST_TRIED, MOST_PARTIES = 20_000, 1_000
"""Of more joint parts, or more that are too large, only those of the largest in a cell or a
remainder are looked at."""


def attacker_of(rule: Rule, insider: str) -> str:
    """Return what contributors know under a rule: p% itself lets them know their own part."""
    widened = {"none": "holdings", "sole": "all"} if isinstance(rule, PPercent) else {}
    return widened.get(insider, insider)


def stated_holdings(
    joint: Cover, known: Contributors, rules: Sequence[Rule], insider: str
) -> dict[str, Any]:
    """Return whose part must not be told, and what they and the attackers have in hidden atoms."""
    hidden = np.zeros(joint.system.size, bool)
    hidden[joint.atoms] = True
    hidden &= joint.system.low < joint.system.high
    cell = np.repeat(np.arange(hidden.size), known.number)
    inside = hidden[cell]
    cell, who, amount = cell[inside], known.who[inside], known.amount[inside]
    alone = known.number[cell] == 1
    named = {
        rule: sorted(_parties(joint, known, rule, hidden, np.unique(who).tolist()))
        for rule in rules
        if isinstance(rule, (PPercent, Dominance))
    }
    people = {person for parties in named.values() for party in parties for person in party}
    for rule, parties in named.items():
        attacker = attacker_of(rule, insider)
        if parties and attacker != "none":
            people |= set(who[alone | ((amount > 0) & (attacker != "sole"))].tolist())
    rows = {person: row for row, person in enumerate(sorted(people))}
    kept = np.isin(who, np.fromiter(rows, np.int64, len(rows))) & ((amount > 0) | alone)
    cell, who, amount, alone = cell[kept], who[kept], amount[kept], alone[kept]
    order = np.lexsort([cell, who])
    return {
        "start": in_a_line(np.searchsorted(who[order], [*rows, known.who.max(initial=0) + 1])),
        "cell": in_a_line(cell[order]),
        "amount": in_a_line(amount[order]),
        "alone": in_a_line(alone[order].astype(np.int64)),
        "targets": {
            str(rule): [in_a_line([rows[person] for person in party]) for party in parties]
            for rule, parties in named.items()
        },
    }


def _parties(
    joint: Cover,
    known: Contributors,
    rule: PPercent | Dominance,
    hidden: NDArray[np.bool_],
    people: Sequence[int],
) -> set[tuple[int, ...]]:
    """Return contributors whose joint part is too large in some hidden atom, as it truly is."""
    atoms = {
        cell: known.together([cell])
        for cell in np.flatnonzero(hidden & (known.number > 0)).tolist()
        if rule.need(known.parts(cell, rule.parts)) is not None
    }
    if isinstance(rule, PPercent):
        return {
            (who,)
            for cell, parts in atoms.items()
            for at, (amount, who) in enumerate(parts)
            if int(known.truth[cell]) - (parts[at == 0][0] if len(parts) > 1 else 0)
            < rule.factor * amount
        }
    parts_of = {cell: {who: n for n, who in parts} for cell, parts in atoms.items()}

    def too_large(party: tuple[int, ...]) -> bool:
        return any(
            int(known.truth[cell]) < rule.factor * sum(parts.get(who, 0) for who in party)
            for cell, parts in parts_of.items()
        )

    together = min(rule.largest, len(people))
    if comb(len(people), together) <= MOST_TRIED:
        named = set(filter(too_large, combinations(people, together)))
        if len(named) <= MOST_PARTIES:
            return named
    unknown = np.flatnonzero((joint.system.low < joint.system.high) & (known.number > 0))
    sums = remainders(joint, joint.system.low, joint.system.high)
    largest = {
        tuple(sorted(who for n, who in known.together(cells)[: rule.largest] if n))
        for cells in [*((cell,) for cell in unknown.tolist()), *sums]
    }
    return set(filter(too_large, largest))


def read_holdings(
    written: Mapping[str, Any], rules: Sequence[Rule], insider: str
) -> dict[str, tuple[Holdings, list[Target]]]:
    """Return for every rule who attacks, with what they have, and the targets."""
    start, cell, amount, alone = (
        numbers(written[name]) for name in ("start", "cell", "amount", "alone")
    )
    asked = {}
    for rule in rules:
        if isinstance(rule, (PPercent, Dominance)):
            holdings = Holdings(start, cell, amount, alone > 0, attacker_of(rule, insider))
            asked[str(rule)] = (
                holdings,
                [
                    holdings.target(
                        tuple(numbers(text).tolist()),
                        rule.factor,
                        on_top=isinstance(rule, PPercent),
                    )
                    for text in written["targets"][str(rule)]
                ],
            )
    return asked


def written_answers(asked: OneTable) -> dict[str, Any]:
    """Write the answers to all questions of a rule: runs of numbers of tables, and proofs."""
    answers = asked.answers[:, asked.holdings.attackers].ravel()
    first = np.flatnonzero(np.diff(answers, prepend=NO_TABLE - 2))
    return {
        "answer": in_a_line(answers[first]),
        "times": in_a_line(np.diff(first, append=answers.size)),
        "proofs": [
            [
                str(tight.target),
                str(tight.attacker),
                in_a_line([n for entry in sorted(tight.weights.items()) for n in entry]),
                in_a_line([n for entry in sorted(tight.multipliers.items()) for n in entry]),
            ]
            for tight in asked.proofs
        ],
    }


def prove_unions(  # noqa: PLR0913, PLR0917 - a part, and the terms that it is judged under
    system: LinearSystem,
    written: Mapping[str, Any],
    proved: ProvedView,
    rules: Sequence[Rule],
    insider: str,
    name: str,
) -> Iterator[OneTable]:
    """Prove the answers of every rule again, from the holdings that a certificate states."""
    questions = read_holdings(written["holdings"], rules, insider)
    base, known = proved.witnesses.base, proved.witnesses.known
    tables = _read_tables(written["moves"], (base, known), system, (proved.low, proved.high), name)
    if not known.all() or any(
        not refer_to(holdings.start, holdings.cell, system.size)
        or not holdings.cell.size == holdings.amount.size == holdings.alone.size
        for holdings, _ in questions.values()
    ):
        raise refuted(name, UNFIT)
    shown = {0: base}
    for number, (begin, end) in enumerate(pairwise(tables.start.tolist()), 1):
        shown[number] = base.copy()
        shown[number][tables.cell[begin:end]] += tables.change[begin:end]
    for rule, (holdings, mine) in questions.items():
        block = written["answers"][rule]
        answers = np.full((len(mine), holdings.start.size), NO_TABLE, np.int64)
        runs = np.repeat(numbers(block["answer"]), numbers(block["times"]))
        answers[:, holdings.attackers] = runs.reshape(len(mine), len(holdings.attackers))
        asked = OneTable(system, base, holdings, targets=mine, answers=answers)
        for t, attacker, *texts in block["proofs"]:
            asked.proofs.append(TightSum(int(t), int(attacker), *map(_read_pairs, texts)))
        if not all(
            0 <= tight.target < len(mine)
            and tight.attacker in holdings.attackers
            and all(0 <= r < system.relations for r in tight.multipliers)
            and holdings.proves(system, mine[tight.target], tight)
            for tight in asked.proofs
        ):
            raise refuted(name, "a sum of cells in it is not as small as it says")
        for t, number in {(t, n) for t, row in enumerate(answers.tolist()) for n in row}:
            room = number == NO_TABLE or holdings.served(shown[number], mine[t], asked.tight(t))
            if not (room | (answers[t] != number)).all():
                raise refuted(name, "a table in it leaves too little room")
        yield asked


def _read_tables(
    written: Mapping[str, str],
    table: tuple[NDArray[np.int64], NDArray[np.bool_]],
    system: LinearSystem,
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    name: str,
) -> Witnesses:
    """Read changes of a whole table, and refuse those that do not fit proved bounds."""
    changes = [numbers(written[part]) for part in ("start", "cell", "change")]
    tables = Witnesses(*table, *changes)
    if not refer_to(tables.start, tables.cell, system.size) or not tables.fit(system, *ends):
        raise refuted(name, UNFIT)
    return tables


def _read_pairs(text: str) -> dict[int, int]:
    listed = [int(word) for word in text.split()]
    return dict(zip(listed[::2], listed[1::2], strict=True))


# --- table verdicts -------------------------------------------------------------------------------
# What is proved about published tables for one attacker, and the verdicts that follow.

SAFE, PROTECTED, OPEN, DISCLOSED = range(4)
"""Verdicts, the worst last."""
WORDS = ("safe", "protected", "open", "disclosed")
UNFIT = "a table in it does not fit the outputs"


@dataclass(frozen=True)
class ProvedView:
    """What is proved about all cells for one attacker: outer ends, attained ends, their number."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]
    witnesses: Witnesses
    means: Mapping[int, Fraction]
    """For cells, a number that some mean of the tables has; no mean has one below zero."""
    known: Sequence[Mapping[int, Fraction]]
    """Combinations of relations that may tell the sum of some cells."""

    def verdicts(
        self,
        joint: Cover,
        rules: Sequence[Rule],
        left: int,
        needs: Mapping[str, Sequence[int]],
        *,
        counts: bool,
    ) -> NDArray[np.int64]:
        """Return the verdict on every cell that follows from what is proved, and no better one.

        A cell that its publication calls small must keep so many values as ``left`` says; ``needs``
        are the largest contributions and the rest, of a cell or of cells with a known sum.
        """
        worst = np.zeros(joint.system.size, np.int64)
        sums = remainders(joint, self.low, self.high)
        hidden = hidden_sums(joint, self.low, self.high)
        settled = exact_sums_alone(joint.system, self.low, self.high)
        told = [known_union(joint, settled, multipliers) for multipliers in self.known]
        unions = [(tuple(union[0]), union[1]) for union in told if union is not None]
        published = {cells for cells, n in sums.items() if n.published}
        for rule in rules:
            if isinstance(rule, Frequency) and counts:
                np.maximum(worst, self._frequency(joint, rule.threshold, left), out=worst)
                known = unions + [(cells, Fraction(n.total)) for cells, n in sums.items()]
                small = [with_sums(cells, hidden) for cells, n in known if 0 < n < rule.threshold]
                worst[[cell for cells in small for cell in cells]] = DISCLOSED
                low_mean = (joint.system.high < rule.threshold) & (self.low < self.high)
                low_mean[[c for c, mean in self.means.items() if mean >= rule.threshold]] = False
                worst[low_mean] = np.maximum(worst[low_mean], OPEN)
            elif isinstance(rule, Homogeneous) and counts:
                self._homogeneous(joint, rule, worst)
            elif not isinstance(rule, (Frequency, Homogeneous)) and not counts:
                for text, parts in needs.items():
                    need, cells = needed(rule, parts), numbers(text).tolist()
                    if len(cells) > 1 and sums[tuple(cells)].total != sum(parts):
                        raise ValueError(text)
                    if need is not None:
                        mine = self._reaching(cells, ceil(need))
                        cells = cells if len(cells) == 1 else with_sums(cells, hidden)
                        worst[cells] = np.maximum(worst[cells], mine)
        if counts:
            single = (self.low == 1) & (self.high == 1)
            single[joint.published] = False
            alone = [cells for cells, n in sums.items() if n == ONE_PERSON]
            alone += [cells for cells, n in unions if n == 1 and cells not in published]
            single[[c for cells in alone for c in with_sums(cells, hidden)]] = True
            worst[single] = DISCLOSED
        return worst

    def _frequency(self, joint: Cover, k: int, left: int) -> NDArray[np.int64]:
        about = (self.low < k) & (self.high > 0)
        somebody = (self.low > 0) | (self.most >= 1)
        small = joint.system.high < k
        few = np.where(small, self.high - self.low + 1 < left, self.high < k)
        values = self.witnesses.number_of_values(about & small)
        enough = np.where(small, values >= left, self.most >= k)
        verdict = np.where(few, np.where(somebody, DISCLOSED, OPEN), OPEN)
        verdict = np.where(enough & ~(small & few), PROTECTED, verdict)
        return np.where(about, verdict, SAFE)

    def _homogeneous(self, joint: Cover, rule: Homogeneous, worst: NDArray[np.int64]) -> None:
        system, ends = joint.system, (self.low, self.high, self.least, self.most)
        for r in lines_of(joint).tolist():
            members = system.column[system.start[r] : system.start[r + 1]]
            parent, mine = members[0], members[1:][joint.possible[members[1:]]]
            if mine.size < 2 or not self.high[parent]:
                continue
            if rule.share < 1:
                for cell, verdict in rule.verdicts(ends, parent, mine.tolist()):
                    worst[cell] = max(worst[cell], WORDS.index(verdict))
                continue
            attained = int((self.most[mine] > 0).sum())
            possible = mine[self.high[mine] > 0]
            if attained >= 2 or not possible.size:
                continue
            alone = possible.size == 1 and (attained or self.low[parent] > 0)
            worst[possible[0]] = max(worst[possible[0]], DISCLOSED if alone else OPEN)

    def _reaching(self, cells: Sequence[int], least: int) -> int:
        if len(cells) > 1 or self.high[cells[0]] < least:
            return DISCLOSED
        return PROTECTED if self.most[cells[0]] >= least else OPEN


def prove_view(system: LinearSystem, view: Mapping[str, Any], name: str) -> ProvedView:
    """Prove the ends of all cells again for one attacker, as a certificate writes them."""
    if view["knows"]:
        cells, values = map(list, zip(*view["knows"], strict=True))
        if ((system.low[cells] > values) | (system.high[cells] < values)).any():
            raise refuted(name, "an insider knows what cannot be")
        system = system.knowing(cells, values)
    low, high = followed(system)
    written = view["multipliers"]
    proofs = ProofRows(
        numbers(written["cell"]),
        numbers(written["side"]),
        numbers(written["start"]),
        numbers(written["relation"]),
        whole_numbers(written["numerator"]),
        whole_numbers(written["denominator"]),
    )
    rows = np.arange(proofs.cell.size + 1)
    if (
        (proofs.denominator < 1).any()
        or not refer_to(rows, proofs.cell, system.size)
        or not refer_to(rows, proofs.side, 2)
        or not refer_to(proofs.start, proofs.relation, system.relations)
        or not proofs.start.size == proofs.cell.size + 1 == proofs.denominator.size + 1
        or proofs.numerator.size != proofs.relation.size
    ):
        raise refuted(name, "its multipliers are not well formed")
    for cell, side, end in zip(
        proofs.cell.tolist(), proofs.side.tolist(), proofs.bounds(system), strict=True
    ):
        if end is not None and side == LOW:
            low[cell] = max(low[cell], end)
        elif end is not None:
            high[cell] = min(high[cell], end)
    low, high = followed(system, (low, high))
    if (low > high).any():
        raise refuted(name, "no table fits")
    unknown = np.flatnonzero(low < high)
    base, known = low.copy(), np.ones(low.size, bool)
    there, written_base = _ends(view["base"])
    if there.size != unknown.size:
        raise refuted(name, "its table has another size")
    known[unknown], base[unknown] = there, written_base
    witnesses, tables = (
        _read_tables(moves, (base, known), system, (low, high), name)
        for moves in (view["moves"], view["sums"]["moves"])
    )
    means, known_sums = _prove_means(tables, system, view["sums"], name)
    return ProvedView(low, high, *witnesses.ends(), witnesses, means, known_sums)


def _prove_means(
    tables: Witnesses, system: LinearSystem, written: Mapping[str, Any], name: str
) -> tuple[dict[int, Fraction], list[dict[int, Fraction]]]:
    """Add up means of tables again, and read combinations that may tell small sums."""
    hull = TableHull(tables.base, tables.start, tables.cell, tables.change)
    cells, below = numbers(written["cell"]).tolist(), written["below"].split()
    means: dict[int, Fraction] = {}
    for cell, q, text in zip(cells, below, written["weights"], strict=True):
        weights = _read_pairs(text)
        if not (0 <= cell < system.size and all(0 <= n < hull.start.size - 1 for n in weights)):
            raise refuted(name, "a mean of tables in it does not exist")
        mean = hull.value(cell, HullPoint(weights, int(q)))
        if mean is not None:
            means[cell] = max(mean, means.get(cell, mean))
    known = [_read_pairs(text) for text in written["known"]]
    if any(not 0 <= r < system.relations for pairs in known for r in pairs):
        raise refuted(name, "a relation of it does not exist")
    return means, [{r: Fraction(y) for r, y in pairs.items()} for pairs in known]


def _ends(text: str) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Read ends: which of them are known, and the numbers, with zeros for the others."""
    words = text.split()
    known = np.array([word != NO_END for word in words], bool)
    return known, np.array([0 if word == NO_END else int(word) for word in words], np.int64)


def check_claims(  # noqa: PLR0913 - what is claimed, and what it is compared with
    joint: Cover,
    cells: Mapping[str, str],
    proved: ProvedView,
    worst: NDArray[np.int64],
    name: str,
    *,
    untested: bool = False,
) -> NDArray[np.int64]:
    """Compare every claim with what is proved, and count the verdicts that are claimed.

    ``worst`` is the worst verdict on each cell that is proved for some attacker; a total that is
    neither declared nor tested protects nothing.
    """
    if untested:
        told = joint.system.low == joint.system.high
        worst = np.where(joint.published & ~told, np.maximum(worst, OPEN), worst)
    # What a cell has by another name, it has.
    names, bad = joint.same, np.flatnonzero(worst > PROTECTED)
    worst = worst.copy()
    np.maximum.at(worst, names[bad], worst[bad])
    claimed, words = numbers(cells["cell"]), cells["verdict"].split()
    if not refer_to(np.array([0, claimed.size]), claimed, joint.system.size):
        raise refuted(name, "a cell of it does not exist")
    if np.unique(claimed).size < claimed.size or len(words) != claimed.size:
        raise refuted(name, "a cell occurs twice in it")
    for side in ("low", "high", "least", "most"):
        there, stated = _ends(cells[side])
        mine = getattr(proved, side)[claimed]
        finite = np.abs(mine) < FAR
        if there.size != claimed.size:
            raise refuted(name, "a cell has no interval in it")
        for at in np.flatnonzero((there != finite) | (stated != np.where(finite, mine, 0)))[:1]:
            cell = joint.name(int(claimed[at]))
            raise refuted(name, f"the interval of {cell} comes out differently")
    verdicts = np.array([WORDS.index(word) for word in words], np.int64)
    # A check may overlook what protects a cell, and no more than that.
    unnoticed = (verdicts == OPEN) & (untested | (worst[claimed] == PROTECTED))
    for at in np.flatnonzero((verdicts != worst[claimed]) & ~unnoticed)[:1]:
        cell = joint.name(int(claimed[at]))
        raise refuted(name, f"the verdict on {cell} does not follow")
    silent = np.ones(joint.system.size, bool)
    silent[claimed] = False
    new = silent & (names == np.arange(names.size))
    if (worst[silent & joint.published] != SAFE).any() or (worst[new] > PROTECTED).any():
        raise refuted(name, "a cell is missing in it")
    counts = np.bincount(verdicts, minlength=len(WORDS))
    counts[SAFE] += int((silent & joint.published).sum())
    return counts


# --- table verification ---------------------------------------------------------------------------
# Certificates of checked tables, proved again from the files without a solver.


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
        if content["kind"] != TABLES or content["format"] != FORMAT or seal != sealed(content):
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
    kind, places = part["statistic"], part["decimals"]
    for answer in part["answers"]:
        cell = PublishedCell((), int(answer["low"]), int(answer["high"]), "number", "", 1)
        where = answer["where"]
        tables.append(Crosstab(answer["name"], None, "", (), kind, where, (cell,), places, ()))
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
        alone = (known.number[cells] == 1).all() and len(people) == 1
        if not alone or known.truth[cells].tolist() != [*knows.values()]:
            raise refuted(name, "an insider of it is none")
    if insider in {"sole", "all"}:
        # Who is alone in a cell that is settled learns nothing new from knowing it.
        for cells in known.sole(views[0].low < views[0].high):
            if not any({*cells} <= knows.keys() for knows in insiders):
                raise refuted(name, "an insider is missing in it")
