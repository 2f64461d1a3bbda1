"""Sums of hidden cells that tell somebody's part: which questions there are, and their proofs."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.guarantees.table_certificate import in_a_line, numbers, refuted
from hartley.guarantees.table_proofs import Witnesses, refer_to
from hartley.measures.sensitivity import Dominance, PPercent
from hartley.ranges.tables.one_table import OPEN, Holdings, OneTable, TightSum, remainders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.guarantees.table_verdicts import ProvedView
    from hartley.measures.sensitivity import Rule
    from hartley.ranges.tables.contributors import Contributors
    from hartley.ranges.tables.cover import Cover
    from hartley.ranges.tables.one_table import Target
    from hartley.ranges.tables.system import LinearSystem


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
    first = np.flatnonzero(np.diff(answers, prepend=OPEN - 2))
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
    """Prove the answers of every rule again, from the holdings that a certificate states.

    Args:
        system: the cells, and what is published about them.
        written: what a certificate writes about sums of hidden cells.
        proved: what is proved about the cells for anybody.
        rules: the rules.
        insider: what contributors know.
        name: the name of the certificate, for an error.
    """
    questions = read_holdings(written["holdings"], rules, insider)
    base, known = proved.witnesses.base, proved.witnesses.known
    moves = [numbers(written["moves"][part]) for part in ("start", "cell", "change")]
    tables = Witnesses(base, known, *moves)
    if (
        not refer_to(tables.start, tables.cell, system.size)
        or any(
            not refer_to(holdings.start, holdings.cell, system.size)
            or not holdings.cell.size == holdings.amount.size == holdings.alone.size
            for holdings, _ in questions.values()
        )
        or not (known.all() and tables.fit(system, proved.low, proved.high))
    ):
        raise refuted(name, "a table in it does not fit the outputs")
    shown = {0: base}
    for number, (begin, end) in enumerate(pairwise(tables.start.tolist()), 1):
        shown[number] = base.copy()
        shown[number][tables.cell[begin:end]] += tables.change[begin:end]
    for rule, (holdings, mine) in questions.items():
        block = written["answers"][rule]
        answers = np.full((len(mine), holdings.start.size), OPEN, np.int64)
        runs = np.repeat(numbers(block["answer"]), numbers(block["times"]))
        answers[:, holdings.attackers] = runs.reshape(len(mine), len(holdings.attackers))
        asked = OneTable(system, base, holdings, targets=mine, answers=answers)
        for t, attacker, *texts in block["proofs"]:
            listed = [[int(word) for word in text.split()] for text in texts]
            sides = [dict(zip(n[::2], n[1::2], strict=True)) for n in listed]
            asked.proofs.append(TightSum(int(t), int(attacker), *sides))
        if not all(
            0 <= tight.target < len(mine)
            and tight.attacker in holdings.attackers
            and all(0 <= r < system.relations for r in tight.multipliers)
            and holdings.proves(system, mine[tight.target], tight)
            for tight in asked.proofs
        ):
            raise refuted(name, "a sum of cells in it is not as small as it says")
        for t, number in {(t, n) for t, row in enumerate(answers.tolist()) for n in row}:
            room = number == OPEN or holdings.served(shown[number], mine[t], asked.tight(t))
            if not (room | (answers[t] != number)).all():
                raise refuted(name, "a table in it leaves too little room")
        yield asked
