"""plan(): price a workload as one batch and one by one, and share a budget among its questions."""

from __future__ import annotations

import os
from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from hartley.agent.curve import curve_of, own_rows
from hartley.agent.quoting import ChargeLimit, open_desk, quote as quote_plans
from hartley.agent.workload import (
    NOTHING,
    Charges,
    earlier_answers,
    parse_workload,
    read_weight,
    read_workload,
)
from hartley.errors import OptionError
from hartley.exact import floor_power
from hartley.results.codec import ratio_bits
from hartley.results.plan import Ordering, PeriodLeft, Plan, PlannedQuestion, WorkloadEntry
from hartley.results.quote import Wish, useful_words
from hartley.text import bits_down, bits_up, count_of
from hartley.trusted.precision import refine_to_known_cells, vacuous_labels
from hartley.trusted.pricing.price import price as price_of
from hartley.trusted.questions.question import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hartley.agent.workload import Row
    from hartley.inputs import Document, LedgerSource, Number, PythonOnly, Text, Workload
    from hartley.results.plan import PricePoint
    from hartley.trusted.ledger.state import DatasetState, Period
    from hartley.trusted.precision import PriceDesk
    from hartley.trusted.pricing.after_answers import EarlierAnswers
    from hartley.trusted.pricing.regions import PublicParts
    from hartley.trusted.questions.question import Selection

MOST_SPLITS = 400
"""Up to this many ways to share a budget are all tried."""
MOST_CURVE_BITS = 32
"""A question gets no more bits than this, however large the budget is."""


def plan(  # noqa: PLR0913 - what a plan rests on, each by name
    questions: Workload,
    schema: Document,
    *,
    budget: Number | None = None,
    ledger: LedgerSource | None = None,
    rows: int | None = None,
    analyst: Text | None = None,
    error: Number | None = None,
    bits: Number | None = None,
    min_rows: Number | None = None,
    weights: PythonOnly[Sequence[object] | None] = None,
    absolute: bool = False,
    vacuous: bool = False,
    limits: PythonOnly[Sequence[ChargeLimit] | None] = None,
) -> Plan:
    """Plan a workload: its price as one batch and one by one, and how to share a budget.

    With a budget, questions without a wish share what the others leave of it: the largest weighted
    error of the batch is made as small as possible, then the next largest, and so on. Prices on the
    way are exact charges of whole batches. Up to 400 combinations are all tried; beyond, the result
    is the smallest error that a search over thresholds finds. The order is the cheapest that moves
    of single questions find. Prices depend on public things alone.

    Args:
        questions: A file of SQL statements, with wishes in comments: -- bits=2, -- error=0.5,
            -- min_rows=100, -- weight=3. In Python, also the statements in one text, or a list of
            texts and wishes.
        schema: The public schema of the table, in TOML. In Python, also its content or an open
            ``Agent``.
        budget: The bits that the batch may cost; questions without a wish share them. In Python,
            too, at most what is left in the ledger, also of the part of the present year, quarter
            or month.
        ledger: Take into account what your account asked before and has left. In Python, it also
            knows the number of rows.
        rows: The public number of rows, if there is no ledger to read it from; errors depend on it.
        analyst: The analyst who asks, if allowances are set.
        error: The largest error for questions without a wish.
        bits: The price of each question without a wish. In Python, too, these share the budget
            without ``error`` and ``bits``; without a budget too, they get the schema's bits.
        min_rows: Keep the --error of averages and spreads if at least N rows count; needed where
            their number is private.
        weights: how much the error of each question matters, if it is not in the text.
        absolute: Compare errors as numbers, not as shares of what the schema allows.
        vacuous: Also accept answers that are sure to say no more than the schema.
        limits: what a charge must keep beside the budget, such as a daily cap. By default, the
            budget of the dataset and the part of the present year, quarter or month, which show
            what all accounts spent.

    Example:
        >>> age = {"age": {"kind": "private", "range": [0, 7], "step": 1}}
        >>> people = {"table": {"name": "people"}, "columns": age}
        >>> workload = "SELECT MEDIAN(age) FROM people; SELECT MAX(age) FROM people; -- weight=2"
        >>> planned = plan(workload, people, rows=9, budget=3)
        >>> [(asked.cells, str(asked.errors[0][1])) for asked in planned.questions], planned.bits
        ([(8, '0'), (8, '0')], 3.0)
    """
    entries = _entries(questions, weights)
    with open_desk(schema, ledger=ledger, rows=rows) as (desk, opened):
        limit = None if budget is None else floor_power(budget)
        own: tuple[Row, ...] = ()
        spent = NOTHING
        period, beside = None, tuple(limits or ())
        if opened is not None:
            place = opened.trusted.read_as(desk.schema.name, analyst, lambda _, place: place)
            own, spent = own_rows(desk, opened, analyst), place.account.parts
            if limit is not None:
                limit = min(limit, place.balance.left)
            if limits is None:
                period = place.state.period
                beside = (_of_dataset(place.state), *_of_period(period))
        planner = _Planner(desk, own, spent, limit, absolute, vacuous, beside)
        shared = limit is not None and error is None and bits is None
        default = Wish("", error, bits, min_rows)
        drafts = [planner.draft(entry, default, shared=shared) for entry in entries]
        drafts, proved = planner.shared(drafts)
        chosen = [draft for draft in drafts if draft.excluded is None]
        result = replace(
            planner.result(chosen),
            proved=proved,
            excluded=tuple(
                (draft.entry.wish.text, draft.excluded) for draft in drafts if draft.excluded
            ),
        )
        if opened is None or not chosen:
            return result
        # The quote knows exactly what the period is charged, which may be less than the account.
        selections = [draft.selection for draft in chosen]
        quote = quote_plans(desk, selections, opened, analyst, vacuous=True, limits=limits or ())
        return replace(
            result,
            remaining=quote.remaining,
            period=None
            if period is None
            else PeriodLeft(period.per, period.name, period.balance.remaining, period.following),
            refusal=quote.refusal,
            exceeded=quote.exceeded,
        )


def _of_dataset(state: DatasetState) -> ChargeLimit:
    """Return the budget of the dataset, which open columns of new data may have used up.

    Allowances are parts of it, but they do not become smaller with it. The dataset is never charged
    more than the account, so what fits here is not refused.
    """
    return ChargeLimit(
        lambda parts: state.after(parts, state.rules).balance.holds(1),
        "the budget of the dataset no longer covers that",
    )


def _of_period(period: Period | None) -> Iterator[ChargeLimit]:
    """Yield the part of the budget for the present year, quarter or month, if there is one.

    The dataset is never charged more than the account, so what fits here is not refused.
    """
    if period is not None:
        remaining = bits_down(period.balance.remaining)
        yield ChargeLimit(
            lambda parts: period.charged(parts).balance.holds(1),
            f"the part of {period.words} has {remaining} left",
        )


def _entries(
    questions: str | os.PathLike[str] | Sequence[str | Wish | WorkloadEntry],
    weights: Sequence[object] | None,
) -> list[WorkloadEntry]:
    if isinstance(questions, str):
        entries = parse_workload(questions)
    elif isinstance(questions, os.PathLike):
        entries = read_workload(questions)
    elif isinstance(questions, (list, tuple)) and questions:
        entries = [_entry(question) for question in questions]
    else:
        raise OptionError(
            "The workload is neither SQL text, nor a path, nor a list of questions",
            hint="write for example ['SELECT COUNT(*) FROM people']",
        )
    if weights is None:
        return entries
    if len(weights) != len(entries):
        raise OptionError(
            f"There are {len(weights)} weights for {len(entries)} questions",
            hint="give one weight per question, in the same order",
        )
    pairs = zip(entries, weights, strict=True)
    return [replace(entry, weight=read_weight(weight)) for entry, weight in pairs]


def _entry(question: object) -> WorkloadEntry:
    if isinstance(question, WorkloadEntry):
        return replace(question)  # a question that is listed twice is planned twice
    wish = Wish(question) if isinstance(question, str) else question
    if not isinstance(wish, Wish) or not isinstance(wish.text, str):
        raise OptionError(
            "A question of the workload is neither SQL text nor a Wish",
            hint="write for example 'SELECT COUNT(*) FROM people'",
        )
    return WorkloadEntry(wish)


class _Level(NamedTuple):
    """A price of a question on its curve, and the weighted error that it buys."""

    score: Fraction
    selection: Selection
    point: PricePoint | None = None


@dataclass(frozen=True)
class _Draft:
    """A question on its way into the plan: the levels to choose from, the coarsest first."""

    entry: WorkloadEntry
    levels: tuple[_Level, ...] = ()
    at: int = 0
    excluded: str | None = None

    @property
    def level(self) -> _Level:
        return self.levels[self.at]

    @property
    def selection(self) -> Selection:
        return self.level.selection

    @property
    def chosen(self) -> bool:
        return self.level.point is not None

    def place_within(self, score: Fraction) -> int | None:
        """Return the coarsest level with an error within a threshold; None if there is none."""
        for place, level in enumerate(self.levels):
            if level.score <= score:
                return place
        return None


class _BatchCharge(NamedTuple):
    """What the account would be charged for some questions as one batch."""

    charges: Charges
    places: range

    @property
    def due(self) -> Fraction:
        """The factor by which its spending would grow."""
        return self.charges.batch_charge(self.places)

    @property
    def parts(self) -> PublicParts:
        """The charge to every type of the public columns."""
        return self.charges.charge(self.places)[0]

    @property
    def free(self) -> bool:
        """Whether all of it is paid for, so that no row is added."""
        return not self.charges.charge(self.places)[1]

    @property
    def words(self) -> str:
        """What would be charged, in words."""
        return bits_up(ratio_bits(self.due))


@dataclass(frozen=True)
class _Planner:
    """Plans questions at one desk; every price is a charge of a whole batch."""

    desk: PriceDesk
    own: tuple[Row, ...]
    spent: PublicParts
    limit: int | None
    absolute: bool
    vacuous: bool
    limits: tuple[ChargeLimit, ...] = ()

    @cached_property
    def _earlier(self) -> EarlierAnswers:
        return earlier_answers(self.desk.schema, self.own)

    def known(self, selection: Selection) -> Selection:
        """Return a selection as it would be answered: in cells that the account knows already."""
        return refine_to_known_cells(selection, self._earlier)

    # --- one question ---

    def draft(self, entry: WorkloadEntry, default: Wish, *, shared: bool) -> _Draft:
        """Read a question: with its wish, or with the levels of its curve."""
        wish = entry.wish.or_else(default.error, default.bits, default.min_rows)
        if shared and (wish.error, wish.bits, wish.min_rows) == (None, None, None):
            return self._draft_curve(entry)
        entry = replace(entry, wish=wish)
        (selection,) = self.desk.plan([wish], None, None)
        labels = vacuous_labels(selection, public_count=self.desk.public_count)
        if labels and not self.vacuous:
            cells = price_of(selection.questions, self.desk.schema).cells
            prices = self.desk.useful(selection, labels, cells)
            words = f"; {useful_words(prices)}" if prices else ""
            return _Draft(entry, excluded=f"it would say no more than the schema{words}")
        return _Draft(entry, (_Level(self._score(entry, selection), selection),))

    def _draft_curve(self, entry: WorkloadEntry) -> _Draft:
        assert self.limit is not None
        text = entry.wish.text
        finest = parse(text, self.desk.schema, self.desk.rows)
        # After earlier charges, an answer may be due for less than its price.
        limit = 1 << MOST_CURVE_BITS
        limit = limit if self.own else min(self.limit, limit)
        curve = curve_of(self.desk, finest, limit)
        levels: list[_Level] = []
        for point in curve.points:
            if point.vacuous and not self.vacuous:
                continue
            (selection,) = self.desk.plan([Wish(text, bits=point.wish)], None, None)
            score = self._score(entry, selection)
            if not levels or score < levels[-1].score:
                levels.append(_Level(score, selection, point))
        if levels:
            return _Draft(entry, tuple(levels))
        labels = curve.points[-1].vacuous if curve.points else finest.labels
        prices = self.desk.useful(finest, labels, 1)
        words = f"; {useful_words(prices)}" if prices else ""
        reason = f"no answer within the budget says more than the schema{words}"
        return _Draft(entry, excluded=reason)

    def _score(self, entry: WorkloadEntry, selection: Selection) -> Fraction:
        """Return the largest weighted error of a question, for a usual number of rows."""
        rows = self.desk.some_rows(selection)[0]
        errors = dict(self.desk.errors(self.known(selection), rows))
        if not self.absolute:
            coarsest = selection.with_steps([q.most - q.least + 1 for q in selection.questions])
            ranges = dict(self.desk.errors(coarsest, rows))
            # A number that the schema settles has no range, and no error either.
            errors = {
                label: error / ranges[label] if ranges[label] else error
                for label, error in errors.items()
            }
        return entry.weight * max(errors.values(), default=Fraction(0))

    # --- the budget ---

    def _charge(self, drafts: Sequence[_Draft]) -> _BatchCharge:
        """Return what the account would be charged for some questions as one batch."""
        selections = tuple(draft.selection for draft in drafts)
        charges = Charges(self.desk.schema, selections, self.own, self.spent)
        return _BatchCharge(charges, range(len(drafts)))

    def fits(self, drafts: Sequence[_Draft]) -> bool:
        """Return whether the budget and all other limits cover some questions as one batch."""
        return self._covers(self._charge(drafts))

    def _covers(self, charge: _BatchCharge) -> bool:
        if self.limit is None or charge.free:
            return True
        return charge.due <= self.limit and self._exceeded(charge) is None

    def _exceeded(self, charge: _BatchCharge) -> ChargeLimit | None:
        """Return the first limit beside the budget that a batch exceeds; a repeat exceeds none."""
        limits = () if charge.free else self.limits
        return next((limit for limit in limits if not limit.holds(charge.parts)), None)

    def shared(self, drafts: Sequence[_Draft]) -> tuple[list[_Draft], bool | None]:
        """Share the budget: exclude what does not fit, then make the largest errors small."""
        fitting = self._fitting(drafts)
        inside = [draft for draft in fitting if draft.excluded is None]
        if not any(draft.chosen for draft in inside):
            return fitting, None
        proved = prod(len(draft.levels) for draft in inside) <= MOST_SPLITS
        moved = iter(self._best_of_all(inside) if proved else self._filled(inside))
        return [draft if draft.excluded else next(moved) for draft in fitting], proved

    def _fitting(self, drafts: Sequence[_Draft]) -> list[_Draft]:
        """Exclude questions that do not fit at their coarsest: the weightiest stay first."""
        listed = list(drafts)
        places = [place for place, draft in enumerate(drafts) if draft.excluded is None]
        if self.fits([drafts[place] for place in places]):
            return listed
        inside: list[int] = []
        for place in sorted(places, key=lambda place: -drafts[place].entry.weight):
            together = sorted([*inside, place])
            charge = self._charge([drafts[other] for other in together])
            if self._covers(charge):
                inside = together
                continue
            beside = f" together with {count_of(len(inside), 'question')} that fit"
            reason = f"it does not fit, {charge.words}{beside if inside else ''}"
            limit = self._exceeded(charge)
            reason += "" if limit is None else f"; {limit.words}"
            listed[place] = replace(drafts[place], excluded=reason)
        return listed

    def _best_of_all(self, drafts: Sequence[_Draft]) -> list[_Draft]:
        """Try every combination of levels; the errors are compared largest first."""
        best: tuple[list[Fraction], Fraction] | None = None
        choice: tuple[int, ...] = ()
        for places in product(*(range(len(draft.levels)) for draft in drafts)):
            moved = _at(drafts, places)
            scores = sorted((draft.level.score for draft in moved), reverse=True)
            if best is not None and scores > best[0]:
                continue
            charge = self._charge(moved)
            if self._covers(charge) and (best is None or (scores, charge.due) < best):
                best, choice = (scores, charge.due), places
        return _at(drafts, choice)

    def _filled(self, drafts: Sequence[_Draft]) -> list[_Draft]:
        """Lower the largest error of all, then of all but those that cannot be lowered, and so on.

        A threshold asks each question for its coarsest level within it. Finer levels cost more but
        for rare alignments of cells, so the least threshold is found by halving.
        """
        current = list(drafts)
        free = {place for place, draft in enumerate(drafts) if len(draft.levels) > 1}
        while free:
            current = self._lowered(current, free)
            # No threshold lowers the largest error of all. Of several equal ones, some may still
            # fit a level finer; the others are done.
            largest = max(current[place].level.score for place in free)
            for place in sorted(free):
                if current[place].level.score == largest:
                    finer = self._finer(current, place)
                    if finer is None:
                        free.discard(place)
                    else:
                        current = finer
        return current

    def _lowered(self, drafts: list[_Draft], free: set[int]) -> list[_Draft]:
        now = max(drafts[place].level.score for place in free)
        scores = {level.score for place in free for level in drafts[place].levels}
        thresholds = sorted(score for score in scores if score <= now)

        def moved(threshold: Fraction) -> list[_Draft] | None:
            places = [draft.at for draft in drafts]
            for place in free:
                within = drafts[place].place_within(threshold)
                if within is None:
                    return None
                places[place] = max(within, drafts[place].at)
            return _at(drafts, places)

        def fits(threshold: Fraction) -> bool:
            candidate = moved(threshold)
            return candidate is not None and self.fits(candidate)

        at = bisect_left(thresholds, x=True, key=fits)
        return (moved(thresholds[at]) if at < len(thresholds) else None) or drafts

    def _finer(self, drafts: list[_Draft], place: int) -> list[_Draft] | None:
        """Return the drafts with one question a level finer, if that fits."""
        if drafts[place].at + 1 == len(drafts[place].levels):
            return None
        places = [draft.at + (k == place) for k, draft in enumerate(drafts)]
        candidate = _at(drafts, places)
        return candidate if self.fits(candidate) else None

    # --- the result ---

    def result(self, drafts: Sequence[_Draft]) -> Plan:
        """Price the chosen questions together, in the given order and in the best one."""
        charges, places = self._charge(drafts).charges, range(len(drafts))
        nothing = Ordering((), ())
        return Plan(
            questions=tuple(self._planned(draft) for draft in drafts),
            excluded=(),
            batch=charges.batch_charge(places),
            alone=Charges(self.desk.schema, charges.plans).batch_charge(places),
            given=charges.in_order(places) if drafts else nothing,
            best=charges.best_order() if drafts else nothing,
            limit=self.limit,
            absolute=self.absolute,
        )

    def _planned(self, draft: _Draft) -> PlannedQuestion:
        point, selection, entry = draft.level.point, draft.selection, draft.entry
        if point is not None:
            entry = replace(entry, wish=Wish(entry.wish.text, bits=point.wish))
        known, cells = self.known(selection), price_of(selection.questions, self.desk.schema).cells
        return PlannedQuestion(
            entry=entry,
            chosen=draft.chosen,
            cells=cells,
            errors=self.desk.errors(known),
            full_errors=self.desk.errors(known, self.desk.rows),
            useful=self.desk.useful_price(known, cells, known.labels),
            score=draft.level.score,
        )


def _at(drafts: Sequence[_Draft], places: Sequence[int]) -> list[_Draft]:
    return [replace(draft, at=place) for draft, place in zip(drafts, places, strict=True)]
