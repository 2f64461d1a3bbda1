"""The differencing attack: what combined answers of an agent reveal about few people."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hartley.attacks.finding import AttackEstimate, AttackResult, no_answer
from hartley.errors import InputError, OptionError
from hartley.knowledge.transcript import ABSENT, MOST_STEPS
from hartley.knowledge.transcript_bounds import Reach, Relaxation
from hartley.report import Chart, Panel, Series
from hartley.text import conjugate, count_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hartley.knowledge.transcript import Transcript
    from hartley.knowledge.transcript_bounds import Derivation, Statements


SHOWN = 12
"""So many differences are shown."""


@dataclass(frozen=True)
class Term:
    """An answer in a combination of answers."""

    times: Fraction
    question: str


@dataclass(frozen=True)
class Difference:
    """The total of few rows, and how many values all answers leave it."""

    rows: int
    """How many rows it can be about, given what is public and the answers."""
    before: int
    """How many values the total could have without the answers."""
    after: int
    """How many values it can still have at most: all between the ends that are not ruled out."""
    at_least: int
    """How many values it can still have at least: tables with these totals fit every answer."""
    low: int
    """The smallest total left, in the whole numbers of the answers."""
    high: int
    exact: bool
    """Whether tables that fit the answers reach the smallest and the largest total left."""
    record_kinds: int
    """How many rows it holds for; with ``one_row``, for each of them."""
    names: tuple[str, ...]
    """What is known about those rows, without values."""
    sized: bool
    """Whether the number of rows is known exactly, not only a bound on it."""
    one_row: bool
    """Whether it is about any one of several rows that public columns do not tell apart."""
    tried: bool
    """Whether all combinations of answers were tried, and not only two answers."""
    combination: tuple[Term, ...]
    """Answers that prove it, each with its multiplier; empty if none is needed."""
    below: Derivation | None = field(default=None, repr=False, compare=False)
    """Multipliers of all relations among records that prove ``low``; None where the schema, a pair
    of answers or a trial of all tables does."""
    above: Derivation | None = field(default=None, repr=False, compare=False)
    """Likewise for ``high``."""

    @property
    def excluded(self) -> float:
        """The share of totals that is ruled out."""
        return 1 - self.after / self.before

    @property
    def verdict(self) -> Literal["settled", "not settled", "open"]:
        """Settled if there is a proof, not settled if two tables fit, otherwise open."""
        if self.after == 1:
            return "settled"
        return "not settled" if self.at_least > 1 else "open"

    def verify(self) -> bool:
        """Tell whether the multipliers prove the ends, added up anew without a solver."""
        return all(
            derivation is None or derivation.end == end
            for derivation, end in ((self.below, self.low), (self.above, self.high))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain values, ready for JSON; no total is among them."""
        return {
            "rows": self.rows,
            "before": self.before,
            "after": self.after,
            "at_least": self.at_least,
            "verdict": self.verdict,
            "exact": self.exact,
            "one_of_rows": self.record_kinds if self.one_row else None,
            "rows_known": self.sized,
            "about": list(self.names),
            "all_combinations_tried": self.tried,
            "combination": [
                {"times": str(term.times), "question": term.question} for term in self.combination
            ],
        }


@dataclass(frozen=True)
class DifferencingFinding(AttackResult):
    """What combinations of answers reveal about few rows."""

    within: int
    answers: int
    left_out: int
    total_rows: int
    differences: tuple[Difference, ...]
    more_sets: bool = False
    """Whether there are more sets of that few rows than were examined."""
    public_known: bool = True
    """Whether it is known who has which public values."""
    measured: ClassVar[str] = "largest share of totals ruled out for that few rows"

    @property
    def few(self) -> tuple[Difference, ...]:
        """The totals of few enough rows."""
        return tuple(each for each in self.differences if each.rows <= self.within)

    @property
    def isolating(self) -> tuple[Difference, ...]:
        """The totals of few enough rows about which the answers reveal something."""
        return tuple(each for each in self.few if each.after < each.before)

    @property
    def untried(self) -> int:
        """For how many totals of few enough rows only pairs of answers were tried."""
        return sum(not difference.tried for difference in self.few)

    @property
    def worst(self) -> Difference | None:
        """The most revealing total of few enough rows; of equal ones, that of most answers."""
        return max(
            self.isolating, key=lambda each: (each.excluded, len(each.combination)), default=None
        )

    @property
    def smallest(self) -> Difference | None:
        """The difference of the fewest rows that reveals anything."""
        return next((each for each in self.differences if each.after < each.before), None)

    @property
    def unsized(self) -> tuple[Difference, ...]:
        """Settled totals of rows that public columns tell apart, where their number is unknown."""
        return tuple(
            d
            for d in self.differences
            if not (d.sized or d.one_row) and d.rows > self.within and d.after == 1 < d.before
        )

    @property
    def number(self) -> AttackEstimate:
        """The largest share of totals that is ruled out for few enough rows."""
        share = self.worst.excluded if self.worst else 0.0
        open_shares = [1 - each.at_least / each.before for each in self.few if not each.exact]
        most = 1.0 if self.more_sets else max([share, *open_shares])
        return AttackEstimate(share, share, most)

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        worst = self.worst
        if worst is not None:
            remaining = f"{worst.after:,} of {worst.before:,} possible"
            if worst.one_row and worst.sized:
                return (
                    f"{_used(worst)} leaves {remaining} values to any one of "
                    f"{worst.record_kinds:,} rows."
                )
            if worst.one_row:
                where = ", ".join(worst.names)
                return f"{_used(worst)} leaves {remaining} values to a row of {where}."
            return f"{_used(worst)} isolates {_rows(worst.rows)}, and leaves {remaining} totals."
        if self.unsized:
            most = min(self.unsized, key=lambda difference: difference.rows)
            return (
                f"{_used(most)} settles a total of rows that public columns tell apart, and leaves "
                f"1 of {most.before:,} possible totals; those are {most.rows:,} rows at most."
            )
        few = _rows(self.within, "or fewer")
        answers = count_of(self.answers, "answer")
        if self.untried or self.more_sets:
            return (
                f"None of the combinations of {answers} that were tried tells "
                f"anything about {few}; not all were tried."
            )
        return (
            f"No combination of {answers} tells anything about {few} to an "
            "adversary who knows nothing about the others."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        sentences = []
        shown = self.worst or next(iter(self.unsized), None)
        if shown is not None and shown.combination and shown.verdict == "settled":
            sentences.append(_written(shown))
        smallest = self.smallest
        sentences.append(
            "No combination that was tried, and no answer alone, rules out any total."
            if smallest is None
            else "The smallest set of rows that the answers tell something about has "
            f"{smallest.rows:,} of {self.total_rows:,} rows: {smallest.after:,} of "
            f"{smallest.before:,} totals are left."
        )
        if self.isolating:
            settled, unsettled = (
                sum(difference.verdict == verdict for difference in self.isolating)
                for verdict in ("settled", "not settled")
            )
            sentences.append(
                f"Of the totals of {_rows(self.within, 'or fewer')} {settled:,} are settled, "
                f"{unsettled:,} are narrowed, and {len(self.isolating) - settled - unsettled:,} "
                "are narrowed and perhaps settled."
            )
        if self.unsized:
            number = len(self.unsized)
            sentences.append(
                f"{count_of(number, 'total')} {conjugate(number, 'is')} settled of rows that "
                "public columns tell apart; how many rows those are is not known without the true "
                "table."
            )
        elif not self.public_known:
            sentences.append("Without the true table it is not known who has which public values.")
        if self.untried:
            sentences.append(
                f"For {self.untried:,} totals of that few rows only pairs of answers were tried."
            )
        if self.more_sets:
            sentences.append("There are more sets of that few rows than were examined.")
        if self.left_out:
            sentences.append(
                f"Not used, although they may reveal more: {count_of(self.left_out, 'answer')}, "
                "about older data or about too many values at once."
            )
        return tuple(sentences)

    def chart(self) -> Chart:
        """Return how much of the totals is left at least, for the fewest numbers of rows."""
        shares: dict[int, float] = {}
        for difference in self.differences:
            shares[difference.rows] = min(
                shares.get(difference.rows, 1.0), difference.after / difference.before
            )
        rows = tuple(shares)[:SHOWN]
        at, left = tuple(map(float, rows)), tuple(shares[number] for number in rows)
        x, y = "rows that the total can be about", "share of totals left"
        series = (Series("left", at, left, "points"),)
        return Chart("Combinations of answers", (Panel(x, y, series, x_log=True, y_log=True),))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "format": 1,
            **self._said(),
            "rows_within": self.within,
            "rows": self.total_rows,
            "answers": self.answers,
            "answers_left_out": self.left_out,
            "isolating": len(self.isolating),
            "settled": sum(difference.verdict == "settled" for difference in self.isolating),
            "only_pairs_tried": self.untried,
            "more_sets": self.more_sets,
            "differences": [difference.to_dict() for difference in self.differences[:SHOWN]],
        }


def _used(difference: Difference) -> str:
    number = len(difference.combination)
    if number == 1:
        return "One answer"
    if number == 2 or not difference.tried:
        return "Subtracting answers"
    return f"Combining {number:,} answers" if number else "Trying all tables that fit the answers"


def _written(difference: Difference) -> str:
    """Write a combination out: which answers are added and which subtracted."""
    terms = difference.combination
    if len(terms) > 6:
        return f"It is settled by a combination of {len(terms):,} answers."
    text = ""
    for term in sorted(terms, key=lambda term: term.times < 0):
        times = "" if abs(term.times) == 1 else f"{abs(term.times)} x "
        text += f" {'-' if term.times < 0 else '+'} {times}[{term.question}]"
    return f"It is settled by {text.removeprefix(' +').lstrip()}."


def _rows(number: int, more: str = "") -> str:
    return "a single row" if number == 1 else f"{number:,} rows {more}".rstrip()


# --- the attack -----------------------------------------------------------------------------------


MOST_TARGETS = 400
"""All combinations are tried for at most this many totals, those of the fewest rows first."""
MOST_SETS = 2_000
"""At most this many sets of rows are listed; the finding says so if there are more."""


@dataclass(frozen=True)
class Differencing:
    r"""Combines answers so that everybody except a few rows cancels out.

    .. math:: \sum_S v \ge \max_y \Bigl\{ \sum_j \bigl(y_j^+ l_j - y_j^- h_j\bigr)
        + \sum_g n_g \min_{r \in g} \bigl(v_r 1_S(r) - y \cdot w_r\bigr) \Bigr\}

    Answers are relations among whole numbers, for the same engine that checks published tables:
    how many rows have which records, what they add up to, and the total of each answer. All linear
    combinations y of all answers are tried at once, by a linear programme whose multipliers are
    checked in whole numbers; where the tables are few, all of them are followed as well. A total is
    called settled only with such a proof, not settled only with two tables that fit every answer,
    and open otherwise. The totals are those of everything that was counted, added up or ranked:
    over every set of at most ``rows`` rows that public columns tell apart, and over any single row.
    The cost grows with the number of those sets times a linear programme over
    the records that the answers tell apart; beyond ``MOST_TARGETS`` totals the finding says how
    many were not tried.

    Args:
        rows: a total is called isolating if it is about at most this many rows.

    Example:
        >>> from hartley.knowledge.transcript import AnswerCell, Group, Transcript
        >>> pay, who = np.tile(np.arange(51), 3), np.repeat([0, 1, 2], 51)
        >>> def told(total, inside):
        ...     return AnswerCell("SUM", inside, pay * inside, total, (total, total), least=0,
        ...                 step=Fraction(1))
        >>> answers = told(83, who >= 0), told(32, who == 1), told(14, who == 2)
        >>> groups = tuple(Group(1, np.flatnonzero(who == one)) for one in range(3))
        >>> town = Transcript(("pay",), pay[:, None], answers, groups, 51**3)
        >>> finding = Differencing().attack(town)
        >>> sorted((d.low, d.after, len(d.combination)) for d in finding.isolating)
        [(14, 1, 1), (32, 1, 1), (37, 1, 3)]
    """

    rows: int = 1

    def attack(self, *transcripts: Transcript) -> DifferencingFinding:
        """Return what combinations of answers reveal.

        Args:
            transcripts: one, or the parts of one that share no private column.
        """
        if self.rows < 1:
            raise OptionError(
                f"{self.rows:,} rows cannot be isolated", hint="give a number of rows from 1"
            )
        if not transcripts:
            raise no_answer()
        parts = [_Part(transcript, self.rows) for transcript in transcripts]
        targets = [(part, target) for part in parts for target in part.targets()]
        targets.sort(key=lambda pair: (pair[1].rows > self.rows, pair[1].rows))
        steps = MOST_STEPS // max(min(len(targets), MOST_TARGETS), 1)
        heard = sum(len(transcript.answers) for transcript in transcripts)
        differences = [
            difference
            for i, (part, target) in enumerate(targets)
            if (difference := part.difference(target, steps, tried=i < MOST_TARGETS)) is not None
        ]
        return DifferencingFinding(
            within=self.rows,
            answers=heard,
            left_out=transcripts[0].left_out,
            total_rows=transcripts[0].rows,
            differences=tuple(
                sorted(differences, key=lambda difference: (difference.rows, -difference.excluded))
            ),
            more_sets=any(part.has_more_sets for part in parts),
            public_known=all(atom.whole for part in parts for atom in part.atoms),
        )


@dataclass(frozen=True)
class _Atom:
    """The rows of one group that have one set of public values."""

    group: int
    kinds: NDArray[np.bool_]
    """Which of the group's kinds of records these rows can have."""
    rows: int
    """The largest number of rows this can be."""
    whole: bool
    """Whether these rows are the whole group, so that their number is known."""
    name: str


@dataclass(frozen=True)
class _Target:
    """A whole number for each record; the attack asks for its total over few rows."""

    costs: tuple[NDArray[np.int64], ...]
    rows: int
    atoms: tuple[_Atom, ...]
    difference: tuple[int, int] | None = None
    """The ends of the total, where it is the difference of two answers."""
    terms: tuple[Term, ...] = ()
    """Those two answers."""
    one_row: bool = False
    """Whether the total is about any one row of the only atom."""


@dataclass(frozen=True)
class _Part:
    """Answers that share private columns, as statements about kinds of records."""

    transcript: Transcript
    within: int

    @cached_property  # one, which remembers tables
    def relaxed(self) -> Relaxation:
        return Relaxation(self.transcript)

    @property
    def statements(self) -> Statements:
        return self.relaxed.statements

    @property
    def asked(self) -> range:
        """The places of the answers; each answer assigns a whole number to every row."""
        return range(len(self.transcript.answers))

    @property
    def totals(self) -> list[int]:
        """The places of the answers that add these numbers up."""
        return [i for i in self.asked if self.transcript.answers[i].is_total]

    @property
    def owners(self) -> list[int]:
        """The answer behind each statement."""
        return [j for j, answer in enumerate(self.transcript.answers) for _ in answer.bounds()]

    @cached_property
    def atoms(self) -> tuple[_Atom, ...]:
        """The sets of rows that public columns tell apart."""
        absent = (self.transcript.records == ABSENT).all(axis=1) & bool(self.transcript.columns)
        atoms = []
        for place, group in enumerate(self.transcript.groups):
            kinds = self.relaxed.kinds[place]
            there = np.zeros(len(kinds.weights), bool)
            there[kinds.kinds[~absent[group.records]]] = True
            pieces = {
                kind: there & (kinds.types == kind)
                for kind in np.unique(kinds.types[there]).tolist()
            }
            rows = self._most_rows(place, list(pieces.values()))
            for (kind, mine), most in zip(pieces.items(), rows, strict=True):
                if most:
                    name = group.name or self.transcript.type_name(kind)
                    atoms.append(_Atom(place, mine, most, bool(mine.all()), name))
        return tuple(atoms)

    def _most_rows(self, group: int, pieces: list[NDArray[np.bool_]]) -> list[int]:
        """Return how many rows of a group each of its pieces has at most."""
        rows = self.transcript.groups[group].rows
        # Each piece takes a linear programme, so that very many of them are not sized.
        if bool(pieces[0].all()) or len(pieces) > 500 or not self.relaxed.small:
            return [rows] * len(pieces)
        counted = [
            self.statements.reach(
                self._costs({group: mine.astype(np.int64)}), steps=MOST_STEPS // 20, search=False
            )
            for mine in pieces
        ]
        # A row that certainly belongs to one piece cannot belong to another.
        taken = sum(reach.low for reach in counted)
        return [min(reach.high, rows - taken + reach.low) for reach in counted]

    def _costs(self, numbers: dict[int, NDArray[np.int64]]) -> tuple[NDArray[np.int64], ...]:
        """Return the number of every kind of every group, 0 where none is given."""
        return tuple(
            numbers[place] if place in numbers else np.zeros(len(block.weights), np.int64)
            for place, block in enumerate(self.statements.blocks)
        )

    def targets(self) -> list[_Target]:
        """Return every total that is tried, each once."""
        distinct: dict[object, _Target] = {}
        for target in (*self._pairs(), *self._sets(), *self._sums_of_several(), *self._one_rows()):
            key = target.one_row, *(cost.tobytes() for cost in target.costs)
            if target.one_row:
                key = *key, target.atoms[0].group, target.atoms[0].kinds.tobytes()
            distinct.setdefault(key, target)
        return list(distinct.values())

    def _pairs(self) -> Iterator[_Target]:
        """Return the difference of every two totals, and every total by itself."""
        answers = [self.transcript.answers[i] for i in self.totals]
        nothing = np.zeros(len(self.transcript.records), np.int64)
        smaller = [
            (answer.inside, answer.values, answer.ends, (Term(Fraction(-1), answer.text),))
            for answer in answers
        ]
        for answer in answers:
            for inside, values, ends, other in (*smaller, (nothing > 0, nothing, (0, 0), ())):
                rest = answer.inside & ~inside
                nested = not (inside & ~answer.inside).any()
                if nested and rest.any() and (answer.values[inside] == values[inside]).all():
                    costs = self._by_kind(np.where(rest, answer.values, 0))
                    difference = answer.ends[0] - ends[1], answer.ends[1] - ends[0]
                    if any(self._varies(atom, costs[atom.group]) for atom in self.atoms):
                        terms = Term(Fraction(1), answer.text), *other
                        yield replace(self._about(costs, rest), difference=difference, terms=terms)

    def _by_kind(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return the number of every kind, given that of every record."""
        by_group = []
        for group, kinds in zip(self.transcript.groups, self.relaxed.kinds, strict=True):
            mine = np.zeros(len(kinds.weights), np.int64)
            mine[kinds.kinds] = numbers[group.records]
            by_group.append(mine)
        return tuple(by_group)

    def _about(self, costs: tuple[NDArray[np.int64], ...], rest: NDArray[np.bool_]) -> _Target:
        """Return a total with the rows that it can be about, by what is public."""
        groups, kinds = self.transcript.groups, self.relaxed.kinds
        atoms = tuple(
            atom
            for atom in self.atoms
            if rest[groups[atom.group].records[atom.kinds[kinds[atom.group].kinds]]].any()
        )
        return _Target(costs, self._rows(atoms), atoms)

    def _rows(self, atoms: tuple[_Atom, ...]) -> int:
        """Return how many rows some atoms have at most; no group counts more rows than it has."""
        rows: dict[int, int] = {}
        for atom in atoms:
            rows[atom.group] = rows.get(atom.group, 0) + atom.rows
        return sum(min(self.transcript.groups[group].rows, n) for group, n in rows.items())

    def _numbers(self, atom: _Atom, answer: int) -> NDArray[np.int64]:
        return np.where(atom.kinds, self.relaxed.kinds[atom.group].values[:, answer], 0)

    def _depends(self, atom: _Atom, answer: int) -> bool:
        """Tell whether an answer depends on the unknown values of an atom's rows."""
        return self._varies(atom, self.relaxed.kinds[atom.group].values[:, answer])

    @staticmethod
    def _varies(atom: _Atom, numbers: NDArray[np.int64]) -> bool:
        """Tell whether a number depends on what is private: public counts settle nothing."""
        mine = numbers[atom.kinds]
        return bool((mine != mine[0]).any())

    def _sets(self) -> Iterator[_Target]:
        """Take every set of few enough rows, and every atom of any size."""
        for answer, chosen in self._listed_sets[:MOST_SETS]:
            numbers: dict[int, NDArray[np.int64]] = {}
            for atom in chosen:
                numbers[atom.group] = numbers.get(atom.group, 0) + self._numbers(atom, answer)
            yield _Target(self._costs(numbers), self._rows(chosen), chosen)

    @property
    def has_more_sets(self) -> bool:
        """Whether there are more sets of rows than are looked at."""
        return len(self._listed_sets) > MOST_SETS

    @cached_property
    def _listed_sets(self) -> list[tuple[int, tuple[_Atom, ...]]]:
        """List answers with the atoms they depend on, single atoms first, one more than is used."""
        asked = {
            answer: [atom for atom in self.atoms if self._depends(atom, answer)]
            for answer in self.asked
        }
        single = ((answer, (atom,)) for answer, atoms in asked.items() for atom in atoms)
        several = ((i, chosen) for i, atoms in asked.items() for chosen in self._few_rows(atoms))
        return list(islice(chain(single, several), MOST_SETS + 1))

    def _few_rows(self, atoms: list[_Atom]) -> Iterator[tuple[_Atom, ...]]:
        """Return every set of several atoms that have few enough rows together."""
        started: list[tuple[tuple[_Atom, ...], int]] = [((), 0)]
        while started:
            chosen, start = started.pop()
            for place in range(start, len(atoms)):
                wider = (*chosen, atoms[place])
                if self._rows(wider) <= self.within:
                    started.append((wider, place + 1))
                    if chosen:
                        yield wider

    def _sums_of_several(self) -> Iterator[_Target]:
        """Search for sums of several answers in which everything but one atom cancels out."""
        for atom in self.atoms:
            if atom.rows > self.within:
                continue
            weights = self.relaxed.kinds[atom.group].values[:, self.totals]
            asked = {_shape(column[atom.kinds]) for column in weights.T}
            for multipliers in self._cancelling(atom):
                numbers = np.where(atom.kinds, weights @ multipliers, 0)
                shape = _shape(numbers[atom.kinds])
                if any(shape) and shape not in asked:  # otherwise one answer already asks for it
                    yield _Target(self._costs({atom.group: numbers}), atom.rows, (atom,))

    def _cancelling(self, atom: _Atom) -> list[NDArray[np.int64]]:
        """Return whole multipliers of totals under which no other row makes a difference."""
        rows = []
        for place, kinds in enumerate(self.relaxed.kinds):
            weights = kinds.values[:, self.totals]
            others = weights[~atom.kinds] if place == atom.group else weights
            if len(others):
                rows.append(others - others[:1])
        if not self.totals or sum(part.size for part in rows) > 500_000:
            return []
        nothing = np.zeros((1, len(self.totals)), np.int64)
        return _null_vectors(np.unique(np.concatenate([nothing, *rows]), axis=0))

    def _one_rows(self) -> Iterator[_Target]:
        """Take any one row of every atom that has, or may have, several."""
        for atom in self.atoms:
            if atom.whole and atom.rows == 1:
                continue
            for answer in self.asked:
                if self._depends(atom, answer):
                    numbers = self._numbers(atom, answer)[atom.kinds]
                    yield _Target((numbers,), 1, (atom,), one_row=True)

    def difference(self, target: _Target, steps: int, *, tried: bool) -> Difference | None:
        """Try all combinations of answers for one total; None if no such row can exist."""
        tried = tried and self.relaxed.small
        try:
            plain, reach = self._reach(target, steps if tried else None)
        except InputError:
            if target.one_row and not target.atoms[0].whole:
                return None
            raise
        low, high = reach.low, reach.high
        if target.difference is not None:
            low, high = max(low, target.difference[0]), min(high, target.difference[1])
        return Difference(
            rows=target.rows,
            before=plain[1] - plain[0] + 1,
            after=reach.values or high - low + 1,
            at_least=reach.fewest,
            low=low,
            high=high,
            exact=reach.exact,
            record_kinds=sum(atom.rows for atom in target.atoms),
            names=tuple(atom.name for atom in target.atoms if atom.name),
            sized=all(atom.whole for atom in target.atoms),
            one_row=target.one_row,
            tried=tried,
            combination=self._combination(reach, plain) or target.terms,
            below=reach.below if low == reach.low else None,
            above=reach.above if high == reach.high else None,
        )

    def _reach(self, target: _Target, steps: int | None) -> tuple[tuple[int, int], Reach]:
        """Return what a total, or the number of one row, could be without and with the answers."""
        if not target.one_row:
            plain = self.statements.plain(target.costs)
            reach = None if steps is None else self.statements.reach(target.costs, steps=steps)
            return plain, reach or Reach(*plain)
        (atom,), (cost,) = target.atoms, target.costs
        plain = int(cost.min()), int(cost.max())
        if steps is None:
            return plain, Reach(*plain)
        kinds = np.flatnonzero(atom.kinds)
        statements = self.relaxed.with_one_row(atom.group, kinds)
        statements.tables.extend(self.relaxed.tables_with_one_row(atom.group, kinds, cost))
        known = len(statements.tables)
        nothing = [np.zeros(len(block.weights), np.int64) for block in statements.blocks[1:]]
        reach = statements.reach([cost, *nothing], steps=steps)
        self.relaxed.remember(atom.group, kinds, statements.tables[known:])
        return plain, reach

    def _combination(self, reach: Reach, plain: tuple[int, int]) -> tuple[Term, ...]:
        """Return the answers that the better of two proofs uses, and how many times each."""
        proof = reach.below
        if proof is None or (
            reach.above is not None and plain[1] - reach.high > reach.low - plain[0]
        ):
            proof = reach.above
        if proof is None:
            return ()
        times: dict[int, Fraction] = {}
        for statement, multiplier in proof.statements.items():
            owner = self.owners[statement]
            times[owner] = times.get(owner, Fraction(0)) + multiplier
        answers = self.transcript.answers
        return tuple(Term(number, answers[i].text) for i, number in sorted(times.items()))


def _shape(numbers: NDArray[np.int64]) -> tuple[int, ...]:
    """Return numbers without their common constant and factor, which reveal nothing."""
    over = numbers - numbers[0]
    factor = int(np.gcd.reduce(over))
    if over[np.flatnonzero(over)[:1]].sum() < 0:
        factor = -factor
    return tuple((over // factor).tolist()) if factor else (0,)


def _null_vectors(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return whole vectors that every row turns into 0, as far as doubles show them."""
    # A mistake here cannot make a claim wrong: what a combination reveals is proved later.
    from scipy.linalg import null_space

    basis = null_space(np.linalg.qr(rows.astype(np.float64), mode="r")).T
    pivot = 0
    for column in range(basis.shape[1]):
        if pivot == len(basis):
            break
        best = pivot + int(np.argmax(np.abs(basis[pivot:, column])))
        if abs(basis[best, column]) < 1e-9:
            continue
        basis[[pivot, best]] = basis[[best, pivot]]
        basis[pivot] /= basis[pivot, column]
        others = np.arange(len(basis)) != pivot
        basis[others] -= np.outer(basis[others, column], basis[pivot])
        pivot += 1
    vectors = []
    for vector in basis:
        fractions = [Fraction(float(y)).limit_denominator(60) for y in vector]
        scale = math.lcm(*(y.denominator for y in fractions))
        vectors.append(np.array([int(y * scale) for y in fractions], np.int64))
    return vectors
