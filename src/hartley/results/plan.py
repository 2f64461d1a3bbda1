"""A plan for a workload: what its questions cost together and one by one, and what to ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.errors import Refused
from hartley.exact import bits_at_least, bits_at_most
from hartley.files import one_line
from hartley.text import bits_down, bits_up, counted, digits_up, first_of, rounded
from hartley.trusted.ledger.rows import write_integer

if TYPE_CHECKING:
    from fractions import Fraction

    from hartley.agent.workload import Ordering, WorkloadEntry
    from hartley.trusted.ledger.state import Period
    from hartley.trusted.precision import Wish

MOST_NAMED = 3
"""At most this many numbers of a question are named in a line."""


@dataclass(frozen=True)
class PlannedQuestion:
    """A question of a plan: the wish to ask it with, and what that buys."""

    entry: WorkloadEntry
    """Its text, its wish and its weight."""
    chosen: bool
    """Whether the plan chose the number of bits; otherwise the question came with its wish."""
    cells: int
    """The price of the question alone, in an empty ledger."""
    errors: tuple[tuple[str, Fraction], ...]
    """The label of each number with its worst-case error, which holds for any data."""
    full_errors: tuple[tuple[str, Fraction], ...]
    """The same if every row counts that may count; smaller where their number is private."""
    score: Fraction
    """Its largest error times its weight: as a share of the range, or in plain numbers."""

    @property
    def text(self) -> str:
        """The question."""
        return self.entry.wish.text

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain values, ready for JSON."""
        wish = self.entry.wish
        return {
            "question": wish.text,
            "bits": None if wish.bits is None else str(wish.bits),
            "error": None if wish.error is None else str(wish.error),
            "min_rows": None if wish.min_rows is None else str(wish.min_rows),
            "weight": str(self.entry.weight),
            "chosen": self.chosen,
            "price_alone_bits": bits_at_least(self.cells),
            "worst_errors": {label: str(error) for label, error in self.errors},
            "errors_if_all_rows_count": {label: str(error) for label, error in self.full_errors},
            "weighted_error": str(self.score),
        }

    def error_words(self) -> str:
        """Write the errors; where they depend on the number of rows, those if all rows count."""
        words = []
        for (label, error), (_, full) in zip(self.errors, self.full_errors, strict=True):
            number = f"±{rounded(full, up=True)}" if full else "exact"
            words.append(f"{label} {number}{'' if full == error else ' if all rows count'}")
        return first_of(words, MOST_NAMED, rest="...")


@dataclass(frozen=True)
class Plan:
    """What a workload costs as one batch and one by one, and how a budget is shared among it.

    Prices are what ``ask`` charges the asking account: functions of the schema, the questions and
    the ledger, never of the data. A price is a bound on the answers that one person's data can
    cause, so neither the batch nor an order bounds the other: the batch is usually cheaper, and an
    order is cheaper where an answer decides a later one.
    """

    questions: tuple[PlannedQuestion, ...]
    excluded: tuple[tuple[str, str], ...]
    """The questions that are not in the plan, each with the reason."""
    batch: Fraction
    """What is due for all questions as one batch, in cells."""
    alone: Fraction
    """The same in an empty ledger."""
    given: Ordering
    """The charges one by one in the given order."""
    best: Ordering
    """The charges in the cheapest order; ``best.best`` says whether it is proved to be that."""
    limit: int | None = None
    """The cells that the batch may cost; None without a budget."""
    remaining: float | None = None
    """The bits left to the account; None without a ledger."""
    period: Period | None = None
    """The part of the budget for the present year, quarter or month; None if there is none, and in
    a service, where it would show what other accounts spent."""
    refusal: str | None = None
    """Which budget of the ledger does not cover the batch; None if all do."""
    exceeded: str | None = None
    """Which other limit the batch exceeds, such as a daily cap; None if it keeps all."""
    proved: bool | None = None
    """Whether every way to share the budget among the prices on the curves was tried; None if
    nothing was shared."""
    absolute: bool = False
    """Whether errors count in plain numbers, not as shares of the ranges."""

    @property
    def bits(self) -> float:
        """What is due for the batch, in bits."""
        return _bits(self.batch)

    @property
    def fits(self) -> bool | None:
        """Whether the batch is within the budget; None without one."""
        accepted = self.refusal is None and self.exceeded is None
        if self.limit is None:
            return None if self.remaining is None else accepted
        return self.batch <= self.limit and accepted

    @property
    def limited_by(self) -> str | None:
        """Which has least left, where the budget has a part by period; None where it has not.

        "period" for that part, "left" for what is left to the account in all, "both" where these
        are equal, and "budget" for the budget of the plan itself if it is less than they are.
        """
        if self.period is None or self.remaining is None:
            return None
        left = {"left": self.remaining, "period": self.period.balance.remaining}
        least = min(left.values())
        if self.limit is not None and bits_at_most(self.limit) < least:
            return "budget"
        names = [name for name, bits in left.items() if bits == least]
        return names[0] if len(names) == 1 else "both"

    @property
    def wishes(self) -> list[Wish]:
        """The batch, ready for ``ask``."""
        return [question.entry.wish for question in self.questions]

    @property
    def largest(self) -> Fraction | None:
        """The largest weighted error; None if there is no question."""
        return max((question.score for question in self.questions), default=None)

    def to_sql(self) -> str:
        """Return the batch as SQL with its wishes in comments, in the cheapest order.

        ``hartley ask --file`` and ``hartley plan`` read it.
        """
        if not self.questions:
            raise Refused(
                "No question of the workload is in the plan",
                hint="raise the budget, or ask for coarser answers",
            )
        head = f"-- {counted(len(self.questions), 'question')}, {bits_up(self.bits)} as one batch\n"
        entries = [self.questions[place].entry for place in self.best.places]
        return head + "".join(entry.to_sql() for entry in entries)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON."""
        return {
            "batch_bits": self.bits,
            "batch_cells": _write(self.batch),
            "batch_alone_bits": _bits(self.alone),
            "given_order": self._order(self.given),
            "best_order": self._order(self.best) | {"proved": self.best.best},
            "budget_cells": None if self.limit is None else write_integer(self.limit),
            "remaining_bits": self.remaining,
            "period": self._period(),
            "limited_by": self.limited_by,
            "fits": self.fits,
            "refusal": self.refusal or self.exceeded,
            "errors_as": "numbers" if self.absolute else "shares of the range",
            "largest_weighted_error": None if self.largest is None else str(self.largest),
            "shared": self.proved is not None,
            "sharing_proved": self.proved,
            "questions": [question.to_dict() for question in self.questions],
            "excluded": [{"question": text, "reason": reason} for text, reason in self.excluded],
        }

    def _period(self) -> dict[str, Any] | None:
        if self.period is None:
            return None
        return {
            "per": self.period.per,
            "name": self.period.name,
            "remaining_bits": self.period.balance.remaining,
            "next": self.period.following,
        }

    @staticmethod
    def _order(ordering: Ordering) -> dict[str, Any]:
        return {
            "places": [place + 1 for place in ordering.places],
            "bits": _bits(ordering.total),
            "charges_bits": [_bits(cells) for cells in ordering.cells],
        }

    def __str__(self) -> str:
        lines = [
            f"{number}. {one_line(question.text)}\n   {self._asked(question)}: "
            f"{question.error_words()}"
            for number, question in enumerate(self.questions, start=1)
        ]
        lines += [f"Not in the plan: {one_line(text)}: {reason}." for text, reason in self.excluded]
        return "\n".join([*lines, *self.sentences()])

    @staticmethod
    def _asked(question: PlannedQuestion) -> str:
        wish = question.entry.wish
        bits = bits_up(bits_at_least(question.cells))
        named = [("bits", wish.bits), ("error", wish.error), ("min_rows", wish.min_rows)]
        words = [f"{name}={value}" for name, value in named if value is not None]
        return f"{', '.join(words) or 'default bits'}, {bits} alone"

    def sentences(self) -> list[str]:
        """Say what the questions cost together and one by one, and how the budget was shared."""
        if not self.questions:
            return ["No question of the workload is in the plan."]
        lines = [f"As one batch: {bits_up(self.bits)}{self._instead(self.alone)}."]
        if len(self.questions) > 1:
            lines.append(f"One by one in the given order: {bits_up(_bits(self.given.total))}.")
            order = ", ".join(str(place + 1) for place in self.best.places)
            how = "best" if self.best.best else "best order that was found"
            lines.append(
                f"One by one in the {how}{' order' if self.best.best else ''} ({order}): "
                f"{bits_up(_bits(self.best.total))}{self._beside()}."
            )
        return lines + self._budget_words()

    def _instead(self, alone: Fraction) -> str:
        less = "" if self.batch == alone else f" instead of {bits_up(_bits(alone))}"
        return f"{less}, given what the account asked before" if less else ""

    def _beside(self) -> str:
        """Compare the best order with the batch; the batch price bounds no order."""
        total = self.best.total
        if total == self.batch:
            return ", as much as the batch"
        more = total > self.batch
        wide, narrow = (total, self.batch) if more else (self.batch, total)
        return f", {bits_up(_bits(wide / narrow))} {'more' if more else 'less'} than the batch"

    def _budget_words(self) -> list[str]:
        lines = []
        if self.limit is not None:
            over = "" if self.batch <= self.limit else ", which is too little"
            lines.append(f"Budget: {bits_down(bits_at_most(self.limit))}{over}.")
        if self.proved is not None and self.largest is not None:
            known = (
                "no other split among the prices of the curves has a smaller one"
                if self.proved
                else "the smallest that was found"
            )
            lines.append(f"Largest weighted error: {self._score_words()}; {known}.")
        if self.remaining is not None:
            lines.append(f"Left: {bits_down(self.remaining)}{self._period_words()}.")
        refusal = self.refusal or self.exceeded
        if refusal is not None:
            lines.append(f"It would be refused: {refusal}.")
        return lines

    def _period_words(self) -> str:
        """Say what is left of the present period, and which of both limits the plan."""
        if self.period is None or self.limited_by is None:
            return ""
        limiting = {
            "period": f"the part of the {self.period.per} limits",
            "left": "what is left in all limits",
            "both": "both limit",
            "budget": "its own budget limits",
        }
        return (
            f" in all, and {bits_down(self.period.balance.remaining)} of the part of "
            f"{self.period.words} until {self.period.following}; "
            f"{limiting[self.limited_by]} the plan"
        )

    def _score_words(self) -> str:
        assert self.largest is not None
        if self.absolute:
            return f"±{rounded(self.largest, up=True)}"
        return f"{digits_up(100 * self.largest, 2)} % of the range"


def _bits(due: Fraction) -> float:
    return bits_at_least(*due.as_integer_ratio())


def _write(due: Fraction) -> str:
    """Write what is due; it need not be a whole number (docs/accountant.md, "Paths")."""
    over = "" if due.denominator == 1 else f"/{write_integer(due.denominator)}"
    return f"{write_integer(due.numerator)}{over}"
