"""Plans for questions, made from public things alone before any data is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from hartley.agent.answers.useful import Useful, useful_words
from hartley.agent.earlier import Earlier, GivenPrices, check_rules
from hartley.agent.ledger.charging import batch_of, plan as charge_plan
from hartley.agent.ledger.rows.entries import canonical
from hartley.agent.precision import (
    coarsest_steps,
    steps_for_error,
    vacuous_labels,
    with_min_rows,
    worst_errors,
)
from hartley.agent.pricing.price import cells_within, price, steps_within
from hartley.agent.questions.batch import to_plain
from hartley.agent.questions.question import parse
from hartley.agent.statistics.statistics import fits
from hartley.errors import InputError, OptionError, Refused
from hartley.exact import floor_power

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from hartley.agent.ledger.charging import ChargePlan
    from hartley.agent.ledger.ledger import Ledger, State
    from hartley.agent.ledger.stores.chain import RowPlace
    from hartley.agent.ledger.stores.store import Transaction
    from hartley.agent.precision import PublicCount
    from hartley.agent.pricing.told import ToldBefore
    from hartley.agent.questions.batch import Question
    from hartley.agent.questions.selection import Selection
    from hartley.ranges.schema.schema import Schema

MOST_PLANS, MOST_KEPT = 1000, 100
"""The number of cached plans, and the largest number of statistics of a cached plan."""
MOST_LARGE = 2
"""The number of larger plans that are cached: a question is read several times for one answer."""
MOST_TRIES = 8
"""The number of prices tried, at doubling distances, until one reveals something."""


@dataclass(frozen=True)
class Wish:
    """A question with a wish for its answer: an error, or a price in bits.

    With ``min_rows``, averages and spreads keep the error if at least so many rows count.

    Example:
        >>> Wish("SELECT AVG(age) FROM people", error=0.5).error
        0.5
    """

    text: str
    error: object = None
    bits: object = None
    min_rows: object = None

    def or_else(self, error: object, bits: object, min_rows: object = None) -> Wish:
        """Return a question without a wish with another one; its own wish counts first."""
        if self.error is not None or self.bits is not None:
            return self
        return Wish(self.text, error, bits, min_rows if self.min_rows is None else self.min_rows)


@dataclass(frozen=True)
class KnownPlans:
    """Plans in the cells that an account knows, and their questions as the ledger writes them."""

    plans: tuple[Selection, ...]
    questions: tuple[Question, ...]
    """Every question of the plans once, in their order."""
    places: tuple[tuple[int, ...], ...]
    """For each plan, the places of its questions among them."""
    texts: tuple[str, ...]
    """The questions in their canonical form."""
    told: int
    """How many questions had told the account something."""
    wished: tuple[Selection, ...]
    """The plans as they were wished."""

    @classmethod
    def of(cls, wished: Sequence[Selection], told: ToldBefore) -> KnownPlans:
        """Return plans in the cells that were told already, where these are finer."""
        size = told.size
        plans = tuple(in_known_cells(plan, told) for plan in wished)
        questions = tuple(questions_of(plans))
        order = {question: place for place, question in enumerate(questions)}
        places = tuple(tuple(order[question] for question in plan.questions) for plan in plans)
        texts = tuple(canonical(to_plain(question)) for question in questions)
        return cls(plans, questions, places, texts, size, tuple(wished))

    @property
    def note(self) -> str:
        """The texts as they were typed, which are stored with a charge."""
        return "\n".join(plan.text for plan in self.plans)


@dataclass(frozen=True)
class Desk:
    """Reads and prices questions; it knows only what is public, and no data."""

    schema: Schema
    rows: int
    """The public number of rows, or the largest possible one."""
    public_count: PublicCount | None = None
    """Counts rows by public columns alone, if that is possible."""
    version: str | None = None
    """Of the data; None where it is the ledger's present one."""
    plans: dict[tuple[str, ...], Selection] = field(default_factory=dict, repr=False, compare=False)
    """The cached plans by text and wish, since plans depend on nothing else."""
    _steps: dict[object, tuple[Fraction, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """The steps that were searched for, by all that the search depends on."""
    _large: dict[tuple[str, ...], Selection] = field(
        default_factory=dict, repr=False, compare=False
    )
    _labels: dict[int, tuple[Selection, tuple[str, ...]]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _known: dict[tuple[object, ...], KnownPlans] = field(
        default_factory=dict, repr=False, compare=False
    )
    """By account and plans, which are kept with them, so that no other plan has the same id."""

    @cached_property
    def earlier(self) -> Earlier:
        """What was charged before, as far as it was read."""
        return Earlier(self.schema, self.version)

    def known_plans(
        self, plans: Sequence[Selection], ledger: Ledger, analyst: str | None
    ) -> list[Selection]:
        """Return plans in the cells that the account was told already, where these are finer.

        Such a question is a repeat, so it is free, and better than asked. Plans themselves never
        look at the ledger: the same text would be refined, and charged, again at every call.
        """
        holder = self.earlier.read_as(ledger, analyst, lambda _, place: place.holder)
        told = self.earlier.told(holder)
        return [in_known_cells(plan, told) for plan in plans]

    def look_up(
        self, plans: Sequence[Selection], ledger: Ledger, analyst: str | None, **given: str | None
    ) -> tuple[KnownPlans, ChargePlan]:
        """Return the same plans, and what of them is paid for in the same state of the ledger.

        ``given`` is what a charge for them would be based on, see ``Ledger.reserve``.
        """

        def work(transaction: Transaction, place: RowPlace) -> tuple[KnownPlans, ChargePlan]:
            known = self._in_known_cells(plans, place.holder)
            batch = batch_of(place.dataset, analyst, known.texts, note=known.note, **given)
            return known, charge_plan(transaction, batch, place)

        return self.earlier.read_as(ledger, analyst, work)

    def _in_known_cells(self, plans: Sequence[Selection], account: str) -> KnownPlans:
        key, told = (account, *map(id, plans)), self.earlier.told(account)
        known = self._known.get(key)
        if known is None or known.told != told.size:
            known = KnownPlans.of(plans, told)
            if len(known.questions) <= MOST_KEPT:
                if len(self._known) >= MOST_PLANS:
                    self._known.clear()
                self._known[key] = known
        return known

    def prices(
        self,
        questions: Sequence[Question],
        given: Sequence[int] | None = None,
        *,
        most_bits: float | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> GivenPrices:
        """Return the prices of parts of a batch after what was charged before."""
        return GivenPrices(questions, self.earlier, given=given, most_bits=most_bits, check=check)

    def plan(
        self,
        questions: str | Wish | Sequence[str | Wish],
        error: object,
        bits: object,
        min_rows: object = None,
    ) -> list[Selection]:
        """Parse and validate every question and choose its steps."""
        listed = [questions] if isinstance(questions, (str, Wish)) else questions
        if not isinstance(listed, (list, tuple)) or not all(map(_is_asked, listed)):
            raise OptionError(
                "The question is neither SQL text nor a Wish, nor a list of them",
                hint="write for example 'SELECT COUNT(*) FROM people'",
            )
        if not listed:
            raise OptionError("The batch has no question", hint="ask at least one")
        plans = []
        for item in listed:
            wish = item if isinstance(item, Wish) else Wish(item)
            plans.append(self._selection(wish.or_else(error, bits, min_rows)))
        return plans

    def _selection(self, wish: Wish) -> Selection:
        key = wish.text, repr(wish.error), repr(wish.bits), repr(wish.min_rows)
        known = self.plans.get(key) or self._large.get(key)
        if known is None:
            known = self._resolved(wish)
            large = len(known.questions) > MOST_KEPT
            kept, most = (self._large, MOST_LARGE) if large else (self.plans, MOST_PLANS)
            if len(kept) >= most:
                kept.clear()
            kept[key] = known
        return known

    def _resolved(self, wish: Wish) -> Selection:
        if wish.error is not None and wish.bits is not None:
            raise OptionError("Both an error and bits were given", hint="give one of them")
        if wish.error is None and wish.min_rows is not None:
            raise OptionError(
                "A least number of rows was given without an error",
                hint="give error= too (--error): it holds if that many rows count",
            )
        selection = parse(wish.text, self.schema, self.rows)
        if wish.error is not None:
            if wish.min_rows is not None:
                selection = with_min_rows(selection, wish.error, wish.min_rows)
            steps = steps_for_error(
                selection,
                wish.error,
                public_count=self.public_count,
                rows_per_unit=self.schema.rows_per_unit,
            )
            resolved = self._as_fine_at_that_price(selection.with_steps(steps))
        else:
            bits = self.schema.default_bits if wish.bits is None else wish.bits
            resolved = self._within(selection, bits)
        if not all(fits(question, self.schema, self.rows) for question in resolved.questions):
            raise Refused(
                "A total of this question could be too large for an exact sum",
                hint="use smaller coefficients, or coarser steps in the schema",
                text=wish.text,
            )
        return resolved

    def _within(self, selection: Selection, bits: object) -> Selection:
        """Return a selection with the finest steps for a number of bits."""
        try:
            limit = floor_power(bits, what="wished price")
            return selection.with_steps(self.steps_within(selection, limit))
        except Refused as refused:
            labels = selection.labels
            prices = self.useful(selection, labels, floor_power(bits, what="wished price"))
            raise Refused(
                refused.problem,
                hint=f"allow more bits: {useful_words(prices)}" if prices else refused.hint,
                text=selection.text,
            ) from None

    def steps_within(self, plan: Selection, limit: int) -> tuple[Fraction, ...]:
        """Return the finest steps at which a plan costs at most a number of cells."""
        return steps_within(plan.questions, limit, self.schema, plan.coarse_counts, self._steps)

    # --- answers that would say no more than the schema ---

    def check_useful(self, known: KnownPlans, unpaid: Sequence[int]) -> None:
        """Raise an error for answers that say no more than the schema, unless already paid for."""
        for plan, places in zip(known.plans, known.places, strict=True):
            labels = self.vacuous(plan)
            if not labels or not set(places).intersection(unpaid):
                continue
            prices = self.useful(plan, labels, price(plan.questions, self.schema).cells)
            raise Refused(
                f"The answer to {labels[0]} would be no narrower than the schema",
                hint=(f"{useful_words(prices)}; " if prices else "")
                + "ask for it anyway with vacuous=True (--vacuous)",
                text=plan.text,
                place=next(item.place for item in plan.items if item.label == labels[0]),
            )

    def vacuous(self, plan: Selection) -> tuple[str, ...]:
        """Return the vacuous labels of a plan; kept for cached plans, which are asked often."""
        known = self._labels.get(id(plan))
        if known is None or known[0] is not plan:
            known = plan, vacuous_labels(plan, public_count=self.public_count)
            if len(self._labels) >= MOST_PLANS:
                self._labels.clear()
            self._labels[id(plan)] = known
        return known[1]

    def useful(self, plan: Selection, labels: Sequence[str], cells: int) -> tuple[Useful, ...]:
        """Return the least price at which no label is vacuous, and the next whole number of bits.

        The errors are those of the given labels, which would be vacuous for less.
        """
        coarsest = coarsest_steps(plan, self.schema)
        limit = max(cells_within(plan.questions, coarsest, self.schema), cells + 1)
        for more in range(MOST_TRIES):
            first = self._useful_within(plan, limit + 2**more - 1, labels)
            if first is not None:
                break
        else:
            return ()
        whole = 1 << (first.cells - 1).bit_length()
        exact = not any(error for _, error in first.errors)
        if (
            exact or whole == first.cells or len(plan.questions) > MOST_KEPT
        ):  # a second search takes long
            return (first,)
        second = self._useful_within(plan, whole, labels)
        better = second is not None and second.errors != first.errors
        return (first, second) if second is not None and better else (first,)

    def _useful_within(self, plan: Selection, limit: int, labels: Sequence[str]) -> Useful | None:
        """Return the errors of labels within a limit of cells; None if a label stays vacuous."""
        try:
            steps = self.steps_within(plan, limit)
        except Refused:
            return None
        finer = plan.with_steps(steps)
        if vacuous_labels(finer, public_count=self.public_count):
            return None
        errors, certain = (self.errors(finer, fullest=fullest) for fullest in (True, False))
        named = tuple(error for error in errors if error[0] in labels)
        rows = None if set(named) <= {*certain} else self.rows
        return Useful(limit, named, rows)

    def _as_fine_at_that_price(self, selection: Selection) -> Selection:
        """Return a selection with the finest steps that cost no more than its own.

        Wishes that cost the same become the same question, so that the second one is free.
        """
        cells = price(selection.questions, self.schema).cells
        try:
            steps = self.steps_within(selection, cells)
        except Refused:
            return selection
        finer = all(new <= old.step for new, old in zip(steps, selection.questions, strict=True))
        return selection.with_steps(steps) if finer else selection

    def errors(
        self, plan: Selection, *, fullest: bool = False, at_least: int | None = None
    ) -> tuple[tuple[str, Fraction], ...]:
        """Return the largest error of each number of the text, over all groups."""
        worst: dict[str, Fraction] = {}
        errors = worst_errors(
            plan, public_count=self.public_count, fullest=fullest, at_least=at_least
        )
        for item, error in zip(plan.items, errors, strict=True):
            worst[item.label] = max(error, worst.get(item.label, error))
        return tuple(worst.items())


def _is_asked(question: object) -> bool:
    return isinstance(question, str) or (
        isinstance(question, Wish) and isinstance(question.text, str)
    )


def in_known_cells(plan: Selection, told: ToldBefore) -> Selection:
    """Return a plan in the cells that were told before, where these are finer: free, and better."""
    return plan.with_steps([told.finest(asked) or asked.step for asked in plan.questions])


def questions_of(plans: Sequence[Selection]) -> list[Question]:
    """Return every question of some plans once, in the order of the batch."""
    return list(dict.fromkeys(question for plan in plans for question in plan.questions))


def check_same_schema(schema: Schema, known: State) -> None:
    """Raise an error for another schema than the dataset's in the ledger, and for unknown rules."""
    check_rules(known.rule_version, f"the dataset '{schema.name}' was last charged")
    if known.schema != schema.to_toml():
        raise InputError(
            f"The schema of '{schema.name}' differs from the one in the ledger",
            hint="record the change with agent.change_schema(), or pass the schema of the ledger",
        )
