"""What is proved about published tables for one attacker, and the verdicts that follow."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.guarantees.table_certificate import (
    NO_END,
    needed,
    numbers,
    refuted,
    whole_numbers,
)
from hartley.guarantees.table_proofs import ProofRows, Witnesses, followed, refer_to
from hartley.kernels.propagation import FAR
from hartley.measures.sensitivity import Frequency, Homogeneous
from hartley.ranges.tables.cover import lines_of
from hartley.ranges.tables.one_table import (
    ONE_PERSON,
    HullPoint,
    TableHull,
    exact_sums_alone,
    hidden_sums,
    known_union,
    remainders,
    with_sums,
)
from hartley.ranges.tables.system import LOW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.measures.sensitivity import Rule
    from hartley.ranges.tables.cover import Cover
    from hartley.ranges.tables.system import LinearSystem

SAFE, PROTECTED, OPEN, DISCLOSED = range(4)
"""Verdicts, the worst last."""
WORDS = ("safe", "protected", "open", "disclosed")


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

        Args:
            joint: the cells.
            rules: the rules.
            left: how many values a cell must keep that its publication calls small.
            needs: for rules about contributions, the largest ones and the rest, of a cell or of
                cells whose sum is known exactly.
            counts: whether the cells count people.
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
                self._small_cells(joint, rule.threshold, worst)
            elif isinstance(rule, Homogeneous) and counts:
                self._homogeneous(joint, worst)
            elif not isinstance(rule, (Frequency, Homogeneous)) and not counts:
                for text, parts in needs.items():
                    need, cells = needed(rule, parts), numbers(text)
                    if cells.size > 1 and sums[tuple(cells.tolist())].total != sum(parts):
                        raise ValueError(text)
                    if need is not None:
                        mine = DISCLOSED if cells.size > 1 else self._reaching(cells[0], ceil(need))
                        if cells.size > 1:
                            cells = np.array(with_sums(cells.tolist(), hidden))
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

    def _small_cells(self, joint: Cover, k: int, worst: NDArray[np.int64]) -> None:
        small = (joint.system.high < k) & (self.low < self.high)
        enough = [cell for cell, mean in self.means.items() if mean >= k]
        small[enough] = False
        worst[small] = np.maximum(worst[small], OPEN)

    def _homogeneous(self, joint: Cover, worst: NDArray[np.int64]) -> None:
        system = joint.system
        for r in lines_of(joint).tolist():
            members = system.column[system.start[r] : system.start[r + 1]]
            parent, mine = members[0], members[1:][joint.possible[members[1:]]]
            if mine.size < 2 or not self.high[parent]:
                continue
            attained = int((self.most[mine] > 0).sum())
            possible = mine[self.high[mine] > 0]
            if attained >= 2 or not possible.size:
                continue
            alone = possible.size == 1 and (attained or self.low[parent] > 0)
            worst[possible[0]] = max(worst[possible[0]], DISCLOSED if alone else OPEN)

    def _reaching(self, cell: int, least: int) -> int:
        if self.most[cell] >= least:
            return PROTECTED
        return DISCLOSED if self.high[cell] < least else OPEN


def prove_view(stated: LinearSystem, view: Mapping[str, Any], name: str) -> ProvedView:
    """Prove the ends of all cells again for one attacker.

    Args:
        stated: the cells, and what is published about them.
        view: what a certificate writes about the attacker.
        name: the name of the certificate, for an error.
    """
    system = stated
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
    moves = view["moves"]
    witnesses = Witnesses(
        base, known, numbers(moves["start"]), numbers(moves["cell"]), numbers(moves["change"])
    )
    if not refer_to(witnesses.start, witnesses.cell, system.size) or not witnesses.fit(
        system, low, high
    ):
        raise refuted(name, "a table in it does not fit the outputs")
    least, most = witnesses.ends()
    moves = view["sums"]["moves"]
    changes = [numbers(moves[part]) for part in ("start", "cell", "change")]
    tables = Witnesses(base, known, *changes)
    means, known_sums = _prove_means(tables, system, (low, high), view["sums"], name)
    return ProvedView(low, high, least, most, witnesses, means, known_sums)


def _prove_means(
    tables: Witnesses,
    system: LinearSystem,
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    written: Mapping[str, Any],
    name: str,
) -> tuple[dict[int, Fraction], list[dict[int, Fraction]]]:
    """Add up means of tables again, and read combinations that may tell small sums."""
    if not refer_to(tables.start, tables.cell, system.size) or not tables.fit(system, *ends):
        raise refuted(name, "a table in it does not fit the outputs")
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


def _read_pairs(text: str) -> dict[int, int]:
    listed = [int(word) for word in text.split()]
    return dict(zip(listed[::2], listed[1::2], strict=True))


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

    Args:
        joint: the cells.
        cells: what a certificate claims of them.
        proved: what is proved about them for anybody.
        worst: the worst verdict on each that is proved for some attacker.
        name: the name of the certificate, for an error.
        untested: whether a total among them is neither declared nor tested: it protects nothing.
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
    for side, column in (
        ("low", proved.low),
        ("high", proved.high),
        ("least", proved.least),
        ("most", proved.most),
    ):
        there, stated = _ends(cells[side])
        mine = column[claimed]
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
