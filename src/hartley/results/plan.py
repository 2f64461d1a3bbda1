"""Plans of workloads, and price curves: what questions cost together, and what more bits buy."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hartley.errors import Refused
from hartley.exact import bits_at_least, bits_at_most, floor_power, write_integer
from hartley.files import (
    as_error,
    as_text,
    as_truth,
    as_whole,
    each,
    one_line,
    or_none,
    require,
    write_whole,
)
from hartley.report import Chart, Grid, Heading, Panel, Readable, Report, Section, Series
from hartley.results import codec
from hartley.results.codec import ratio_bits
from hartley.results.quote import (
    ERRORS,
    ERRORS_IF,
    UsefulPrice,
    Wish,
    are_errors_of,
)
from hartley.text import bits_down, bits_text, bits_up, count_of, decimal_text, join_first, number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hartley.results.quote import Errors, ErrorsAtRows

# --- plan -----------------------------------------------------------------------------------------

ERRORS_AS = codec.Codec(
    lambda kind: kind == "numbers", {True: "numbers", False: "shares of the range"}.get
)
FROM_ONE = codec.Codec(lambda number: as_whole(number) - 1, lambda place: place + 1)
EXCLUDED = codec.Codec(
    lambda left: (as_text(left["question"]), as_text(left["reason"])),
    lambda left: {"question": left[0], "reason": left[1]},
)
MOST_WISHED, LONGEST_WISH, MOST_POINTS = 1000, 40, 10_000
"""Bits of a price on a curve that is read, the letters of these bits, and prices of a curve."""
WISHED = ("bits", "error", "min_rows")
MOST_NAMED = 3
"""At most this many numbers of a question are named in a line."""
MOST_PANELS, MOST_OPEN = 4, 12
"""Numbers of a question that a picture shows, and prices that a page lists unfolded."""


_COMMENT = re.compile(r"('[^']*'|\"[^\"]*\"|(\$\w*\$).*?\2)|--[^\n]*|/\*.*?\*/", re.DOTALL)
"""A comment of SQL, or a text or name in quotation marks, which may look like one."""


@dataclass(frozen=True)
class WorkloadEntry:
    """A question of a workload, its wish as it was written, and how much its error matters."""

    wish: Wish
    weight: Fraction = Fraction(1)

    def to_sql(self) -> str:
        """Return the question as a statement that ``parse_workload`` reads back."""
        settings = self.wish.settings + ([] if self.weight == 1 else [f"weight={self.weight}"])
        head = f"-- {', '.join(settings)}\n" if settings else ""
        # A comment of the text could be read as another wish, or swallow the semicolon.
        return f"{head}{without_comments(self.wish.text)};\n"


def without_comments(statement: str) -> str:
    """Return a statement of SQL without its comments, everything else as it was written.

    Example:
        >>> without_comments("SELECT 'a--b' -- a remark")
        "SELECT 'a--b'"
    """
    return _COMMENT.sub(lambda found: found[1] or " ", statement).strip().rstrip("; \n")


@dataclass(frozen=True)
class Ordering(codec.Result):
    """An order of questions, what each costs after those before it, and whether none is cheaper."""

    KEYS: ClassVar = {
        "places": codec.Field("places", codec.many(FROM_ONE)),
        "bits": codec.Said(lambda order: ratio_bits(order.total)),
        "charges_bits": codec.Said(lambda order: [*map(ratio_bits, order.cells)]),
        "cells": codec.Field("cells", codec.many(codec.RATIO)),
    }
    places: tuple[int, ...]
    """From 0; in JSON from 1."""
    cells: tuple[Fraction, ...]
    """What is due for each, in this order: the factor by which the largest number spent grows."""
    best: bool = False

    @property
    def total(self) -> Fraction:
        """The product of the charges."""
        return prod(self.cells, start=Fraction(1))


BEST_ORDER = codec.Codec(
    lambda content: replace(Ordering.codec().read(content), best=as_truth(content["proved"])),
    lambda order: order.to_dict() | {"proved": order.best},
)


def _wished(name: str, asked: PlannedQuestion) -> str | None:
    """Write what was wished for a question."""
    value = getattr(asked.entry.wish, name)
    return None if value is None else str(value)


@dataclass(frozen=True)
class PlannedQuestion(codec.Result):
    """A question of a plan: the wish to ask it with, and what that buys."""

    KEYS: ClassVar = {
        "question": codec.Said(lambda asked: asked.text),
        **{name: codec.Said(partial(_wished, name)) for name in WISHED},
        "weight": codec.Said(lambda asked: str(asked.entry.weight)),
        "chosen": codec.Field("chosen", codec.TRUTH),
        "price_alone_bits": codec.Said(lambda asked: bits_at_least(asked.cells)),
        "cells": codec.Field("cells", codec.CELLS),
        "worst_errors": codec.Field("errors", ERRORS),
        "errors_if_all_rows_count": codec.Field("full_errors", ERRORS),
        "useful": codec.Field("useful", UsefulPrice.codec()),
        "weighted_error": codec.Field("score", codec.NUMBER),
    }
    entry: WorkloadEntry
    """Its text, its wish and its weight."""
    chosen: bool
    """Whether the plan chose the number of bits; otherwise the question came with its wish."""
    cells: int
    """The price of the question alone, in an empty ledger."""
    errors: Errors
    """The label of each number with its worst-case error, which holds for any data."""
    full_errors: Errors
    """The same if every row counts that may count; smaller where their number is private."""
    useful: UsefulPrice
    """The same for as many rows as a group has on average, or for 100 where that is private."""
    score: Fraction
    """Its largest error times its weight: as a share of the range, or in plain numbers."""

    @property
    def text(self) -> str:
        """The question."""
        return self.entry.wish.text

    @classmethod
    def _read(cls, content: Mapping[str, Any], **_: object) -> Self:
        """Read a question of a reply; its wish is written in texts."""
        wished = {name: content[name] for name in WISHED}
        each(or_none(as_error))([*wished.values()])  # texts of exact numbers
        wish = Wish(as_text(content["question"]), **wished)
        return super()._read(content, entry=WorkloadEntry(wish, as_error(content["weight"])))

    def _check(self) -> None:
        """Require all errors of the same numbers."""
        some = self.errors, self.full_errors, self.useful.errors
        require(len({tuple(dict(errors)) for errors in some}) == 1)


@dataclass(frozen=True)
class PeriodLeft(codec.Result):
    """What is left of the part of a budget for the present year, quarter or month."""

    KEYS: ClassVar = {
        "per": codec.Field("per", codec.TEXT),
        "name": codec.Field("name", codec.TEXT),
        "remaining_bits": codec.Field("remaining", codec.BITS),
        "next": codec.Field("following", codec.TEXT),
    }
    per: str
    name: str
    """The year, quarter or month, as text that sorts: 2027, 2027-Q1 or 2027-01."""
    remaining: float
    following: str
    """The day on which the next one begins."""


@dataclass(frozen=True)
class Plan(codec.Result):
    """What a workload costs as one batch and one by one, and how a budget is shared among it.

    Prices are what ``ask`` charges the asking account: functions of the schema, the questions and
    the ledger, never of the data. A price is a bound on the answers that one person's data can
    cause, so neither the batch nor an order bounds the other: the batch is usually cheaper, and an
    order is cheaper where an answer decides a later one.
    """

    KEYS: ClassVar = {
        "batch_bits": codec.Said(lambda plan: plan.bits),
        "batch_cells": codec.Field("batch", codec.RATIO),
        "batch_alone_bits": codec.Said(lambda plan: ratio_bits(plan.alone)),
        "batch_alone_cells": codec.Field("alone", codec.RATIO),
        "given_order": codec.Field("given", Ordering.codec()),
        "best_order": codec.Field("best", BEST_ORDER),
        "budget_cells": codec.Field("limit", codec.perhaps(codec.CELLS)),
        "remaining_bits": codec.Field("remaining", codec.perhaps(codec.BITS)),
        "period": codec.Field("period", codec.perhaps(PeriodLeft.codec())),
        "limited_by": codec.Said(lambda plan: plan.limited_by),
        "fits": codec.Said(lambda plan: plan.fits),
        "refusal": codec.Field("refusal", codec.perhaps(codec.TEXT)),
        "exceeded": codec.Field("exceeded", codec.TRUTH),
        "errors_as": codec.Field("absolute", ERRORS_AS),
        "largest_weighted_error": codec.Said(
            lambda plan: codec.perhaps(codec.NUMBER).write(plan.largest)
        ),
        "shared": codec.Said(lambda plan: plan.proved is not None),
        "sharing_proved": codec.Field("proved", codec.perhaps(codec.TRUTH)),
        "questions": codec.Field("questions", codec.many(PlannedQuestion.codec())),
        "excluded": codec.Field("excluded", codec.many(EXCLUDED)),
    }
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
    period: PeriodLeft | None = None
    """The part of the budget for the present year, quarter or month; None if there is none, and in
    a service, where it would show what other accounts spent."""
    refusal: str | None = None
    """Why the batch would be refused, in words; None if it would not."""
    exceeded: bool = False
    """Whether the reason is a limit beside the budgets of the ledger, such as a daily cap."""
    proved: bool | None = None
    """Whether every way to share the budget among the prices on the curves was tried; None if
    nothing was shared."""
    absolute: bool = False
    """Whether errors count in plain numbers, not as shares of the ranges."""

    @property
    def bits(self) -> float:
        """The charge for the batch, in bits."""
        return ratio_bits(self.batch)

    @property
    def fits(self) -> bool | None:
        """Whether the batch is within the budget; None without one."""
        if self.limit is None:
            return None if self.remaining is None else self.refusal is None
        return self.batch <= self.limit and self.refusal is None

    @property
    def limited_by(self) -> str | None:
        """Which has least left, where the budget has a part by period; None where it has not.

        "period" for that part, "left" for what is left to the account in all, "both" where these
        are equal, and "budget" for the budget of the plan itself if it is less than they are.
        """
        if self.period is None or self.remaining is None:
            return None
        left = {"left": self.remaining, "period": self.period.remaining}
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
        head = (
            f"-- {count_of(len(self.questions), 'question')}, {bits_up(self.bits)} as one batch\n"
        )
        entries = [self.questions[place].entry for place in self.best.places]
        return head + "".join(entry.to_sql() for entry in entries)

    def write(self, path: Path) -> None:
        """Write the batch to a file."""
        write_whole(path, self.to_sql())

    def _check(self) -> None:
        """Require that both orders are of all questions."""
        places = list(range(len(self.questions)))
        for order in (self.given, self.best):
            require(sorted(order.places) == places and len(order.cells) == len(places))

    def __str__(self) -> str:
        lines = [
            f"{number}. {one_line(asked.text)}\n"
            f"   {', '.join(asked.entry.wish.settings) or 'default bits'}, "
            f"{bits_up(bits_at_least(asked.cells))} alone: {_error_words(asked)}"
            for number, asked in enumerate(self.questions, start=1)
        ]
        lines += [f"Not in the plan: {one_line(text)}: {reason}." for text, reason in self.excluded]
        return "\n".join([*lines, *self.sentences()])

    def sentences(self) -> list[str]:
        """Say what the questions cost together and one by one, and how the budget was shared."""
        if not self.questions:
            return ["No question of the workload is in the plan."]
        less = f" instead of {bits_up(ratio_bits(self.alone))}, given what the account asked before"
        less = "" if self.batch == self.alone else less
        lines = [f"As one batch: {bits_up(self.bits)}{less}."]
        if len(self.questions) > 1:
            lines.append(f"One by one in the given order: {bits_up(ratio_bits(self.given.total))}.")
            order = ", ".join(str(place + 1) for place in self.best.places)
            how = "best order" if self.best.best else "best order that was found"
            lines.append(
                f"One by one in the {how} ({order}): "
                f"{bits_up(ratio_bits(self.best.total))}{self._beside()}."
            )
        return lines + self._budget_words()

    def _beside(self) -> str:
        """Compare the best order with the batch; the batch price bounds no order."""
        total = self.best.total
        if total == self.batch:
            return ", as much as the batch"
        more = total > self.batch
        wide, narrow = (total, self.batch) if more else (self.batch, total)
        return f", {bits_up(ratio_bits(wide / narrow))} {'more' if more else 'less'} than the batch"

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
            largest = f"±{number(self.largest, round='up')}"
            if not self.absolute:
                largest = f"{number(100 * self.largest, 2, round='up')} % of the range"
            lines.append(f"Largest weighted error: {largest}; {known}.")
        if self.remaining is not None:
            lines.append(f"Left: {bits_down(self.remaining)}{self._period_words()}.")
        if self.refusal is not None:
            lines.append(f"It would be refused: {self.refusal}.")
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
            f" in all, and {bits_down(self.period.remaining)} of the part of the "
            f"{self.period.per} {self.period.name} until {self.period.following}; "
            f"{limiting[self.limited_by]} the plan"
        )


def _error_words(priced: PlannedQuestion | PricePoint) -> str:
    """Write the errors; where they depend on the number of rows, those for a usual one."""
    words = []
    for (label, error), (_, usual) in zip(priced.errors, priced.useful.errors, strict=True):
        shown = f"±{number(usual, round='up')}" if usual else "exact"
        shown += "" if usual == error else priced.useful.where
        if isinstance(priced, PricePoint) and label in priced.vacuous:
            shown = "no more than the schema"
        words.append(f"{label} {shown}")
    return join_first(words, MOST_NAMED, rest="...")


# --- curve ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PricePoint(codec.Result):
    """A price of one question, and the largest errors of its numbers at that price."""

    KEYS: ClassVar = {
        "bits_alone": codec.Said(lambda point: point.bits_alone),
        "bits": codec.Said(lambda point: point.bits),
        "cells": codec.Field("cells", codec.CELLS),
        "wish_bits": codec.Said(lambda point: point.wish),
        "due_bits": codec.Said(lambda point: point.due_bits),
        "due_cells": codec.Field("due", codec.perhaps(codec.RATIO)),
        "charged_cells": codec.Field("charged", codec.perhaps(codec.CELLS)),
        "worst_errors": codec.Field("errors", ERRORS),
        "errors_if_rows_count": codec.Field("errors_if", ERRORS_IF),
        "errors_if_all_rows_count": codec.Field("full_errors", ERRORS),
        "useful": codec.Field("useful", UsefulPrice.codec()),
        "vacuous": codec.Field("vacuous", codec.many(codec.TEXT)),
        "paid": codec.Field("paid", codec.TRUTH),
    }
    limit: int
    """The cells to ask for: ``floor(2^bits)`` of a wish that gives exactly this answer."""
    cells: int
    """The cells that the answer costs alone: at most the limit, unless the account knows more."""
    errors: Errors
    """The label of each number with its worst-case error, which holds for any data."""
    full_errors: Errors
    """The same if every row counts that may count; smaller where their number is private."""
    useful: UsefulPrice
    """The same for as many rows as a group has on average, or for 100 where that is private."""
    vacuous: tuple[str, ...] = ()
    """The labels of numbers that would say no more than the schema."""
    due: Fraction | None = None
    """What the account would be charged now, in cells: the factor by which its spending grows, so
    not always a whole number. None without a ledger."""
    errors_if: tuple[ErrorsAtRows, ...] = ()
    """The errors if at least so many rows count, where their number is private."""
    paid: bool = False
    """Whether the account was charged for all of it before."""
    charged: int | None = None
    """The cells of the charge to the account, for the type of the public columns that costs most: a
    daily cap counts them, also where less is added to what is spent. None without a ledger."""

    @property
    def free(self) -> bool:
        """Whether nothing would be charged now, although the answer has a price alone."""
        return self.due == 1 < self.cells

    @property
    def least(self) -> int:
        """The fewest cells of a wish that certainly gives this answer, or a better one."""
        return 1 if self.free else min(self.cells, self.limit)

    @property
    def bits_alone(self) -> float:
        """The price if the account had asked nothing before: log2 of the cells."""
        return bits_at_least(self.cells)

    @property
    def bits(self) -> float:
        """What the account would be charged now; without a ledger, the price alone."""
        return self.bits_alone if self.due is None else ratio_bits(self.due)

    @property
    def due_bits(self) -> float | None:
        """The former name of ``bits``, None without a ledger; it goes with the next version."""
        return None if self.due is None else self.bits

    @cached_property
    def wish(self) -> str:
        """The shortest number of bits that asks for exactly this answer."""
        return bits_for(self.limit)

    @classmethod
    def _read(cls, content: Mapping[str, Any], **_: object) -> Self:
        """Read a price of a reply."""
        wish = as_text(content["wish_bits"])
        require(len(wish) < LONGEST_WISH and as_error(wish) <= MOST_WISHED)
        point = super()._read(content, limit=floor_power(wish))
        vars(point)["wish"] = wish  # which takes long to find
        return point

    def _check(self) -> None:
        """Require all errors of the same numbers, and no more to be due than the price alone."""
        labels = {*dict(self.errors)}
        require(labels == {*dict(self.full_errors)} == {*dict(self.useful.errors)})
        require(labels >= {*self.vacuous} and are_errors_of(self.errors_if, self.errors))
        require(self.bits <= self.bits_alone + codec.SLACK)


@dataclass(frozen=True)
class PriceCurve(codec.Result, Readable):
    """The prices of a question at which some error becomes smaller, the cheapest first.

    An answer that is already paid for comes first, and after it only what is better.
    Each has two prices: ``bits_alone``, of one question in an empty ledger, and ``bits``, which the
    asking account would be charged now. Nothing depends on the data.
    """

    KEYS: ClassVar = {
        "question": codec.Field("text", codec.TEXT),
        "rows": codec.Field("rows", codec.WHOLE),
        "complete": codec.Field("complete", codec.TRUTH),
        "asked_bits": codec.Said(lambda curve: bits_at_least(curve.asked)),
        "asked_cells": codec.Field("asked", codec.CELLS),
        "next_useful": codec.Said(lambda curve: curve.next_point and curve.next_point.to_dict()),
        "points": codec.Field("points", codec.many(PricePoint.codec())),
    }
    text: str
    points: tuple[PricePoint, ...]
    rows: int
    """The number of rows, public or the largest possible one."""
    complete: bool
    """Whether the last point is the finest answer that there is; otherwise more bits buy more."""
    asked: int
    """The cells that the wish of the question costs: the price to compare with."""

    def at(self, bits: object) -> PricePoint | None:
        """Return the finest answer that a wish for some bits gives; None if there is none.

        What is free is given for any wish.
        """
        limit = floor_power(bits, what="price")
        return next((point for point in reversed(self.points) if point.least <= limit), None)

    def after(self, bits: object) -> PricePoint | None:
        """Return the next useful price above a wish for some bits; None at the end."""
        return self._above(floor_power(bits, what="price"))

    @property
    def next_point(self) -> PricePoint | None:
        """The next useful price above what the wish of the question costs."""
        return self._above(self.asked)

    def _above(self, cells: int) -> PricePoint | None:
        above = (point for point in self.points if point.least > cells and not point.vacuous)
        return next(above, None)

    def sentence(self) -> str:
        """Name the next useful price, or say that there is none."""
        point, now = self.next_point, bits_text(bits_at_least(self.asked))
        if point is not None:
            words = point.useful
            less = point.bits < point.bits_alone
            charged = f", of which {bits_text(point.bits)} would be charged now" if less else ""
            return f"Next useful price after {now}: {words}{charged}."
        end = "no price gives a smaller error" if self.complete else "it lies beyond this curve"
        return f"Next useful price after {now}: {end}."

    @classmethod
    def _read(cls, content: Mapping[str, Any], **_: object) -> Self:
        """Read a curve of a reply, of a sensible size."""
        require(len(content["points"]) <= MOST_POINTS)
        return super()._read(content)

    def csv(self) -> str:
        """Return one line per price and number: text for a spreadsheet."""
        import csv
        import io

        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        names = "bits_alone cells bits due_bits number error error_if_all_rows_count"
        writer.writerow(names.split())
        for point in self.points:
            due = "" if point.due_bits is None else point.due_bits
            price = point.bits_alone, write_integer(point.cells), point.bits, due
            for (label, error), (_, full) in zip(point.errors, point.full_errors, strict=True):
                writer.writerow((*price, label, float(error), float(full)))
        return out.getvalue()

    def report(self) -> Report:
        """Return the prices in sections: the question, and the errors that each price buys."""
        now = [_now_words(point) for point in self.points]
        columns = [
            (Heading("price alone", "amount"), [bits_text(p.bits_alone) for p in self.points]),
            *([(Heading("price now", "amount"), now)] if any(now) else ()),
            (Heading("largest error"), [_error_words(p) for p in self.points]),
        ]
        prices = Grid(
            tuple(heading for heading, _ in columns),
            tuple(zip(*(texts for _, texts in columns), strict=True)),
            folded="The numbers" if len(self.points) > MOST_OPEN else "",
            steps=True,
        )
        reading = (
            "The prices at which some error becomes smaller.",
            "The price alone is what the question costs if nothing was asked before.",
            "It depends on the schema and the question, never on the data.",
            *(("The price now is what the asking account would be charged.",) if any(now) else ()),
            "An error holds for any data, unless it says otherwise.",
        )
        return Report(
            "What more bits buy",
            self.sentence(),
            (),
            (
                Section("The question", (f"These numbers were asked for:\n{self.text}",)),
                Section("Error against price", reading, chart=self._chart(), table=prices),
            ),
            "Every number of cells up to 32 was tried, and beyond that prices a quarter of a bit "
            "apart.",
        )

    def _chart(self) -> Chart | None:
        """Return the error of every number, up to four, at every price."""
        if not self.points:
            return None
        bits = tuple(point.bits for point in self.points)
        panels = []
        for place, (label, _) in enumerate(self.points[-1].errors[:MOST_PANELS]):
            certain = tuple(float(point.errors[place][1]) for point in self.points)
            usual = tuple(float(point.useful.errors[place][1]) for point in self.points)
            series = [Series("for any data", bits, certain, kind="steps")]
            if usual != certain:
                where = next(point.useful.where for point in self.points if point.useful.rows)
                series.append(Series(where.strip(), bits, usual, kind="steps"))
            positive = all(error > 0 for error in (*certain, *usual))
            axis = f"error of {label}"
            panels.append(Panel("price (bits)", axis, tuple(series), y_log=positive))
        return Chart("", tuple(panels))

    def __str__(self) -> str:
        head = f"{count_of(len(self.points), 'price')} of {self.text}"
        lines = [f"{_price_words(point)}: {_error_words(point)}" for point in self.points]
        return "\n".join([head, *lines, self.sentence()])


def _price_words(point: PricePoint) -> str:
    """Write both prices of a point, once where they are the same."""
    alone, now = bits_text(point.bits_alone), _now_words(point)
    if point.free:
        return f"{now.capitalize()} ({alone} alone)"
    return alone if now in {"", alone} else f"{now} now, {alone} alone"


def _now_words(point: PricePoint) -> str:
    """Write what would be charged now; empty without a ledger."""
    if point.due is None:
        return ""
    if point.free:
        return "already paid for" if point.paid else "nothing more is due"
    return bits_text(point.bits)


def bits_for(cells: int) -> str:
    """Return the shortest decimal number of bits that buys exactly a number of cells.

    The smallest number with the fewest decimals among those with floor(2^bits) = cells.

    Example:
        >>> bits_for(4), bits_for(3), bits_for(1000)
        ('2', '1.6', '9.966')
    """
    number, unit = (cells - 1).bit_length(), 1
    while floor_power(Fraction(number, unit)) != cells:
        # One digit more: the smallest number that is enough lies among the next ten.
        unit *= 10
        tried = range(10 * number - 9, 10 * number)
        enough = (n for n in tried if floor_power(Fraction(n, unit)) >= cells)
        number = next(enough, 10 * number)
    return decimal_text(Fraction(number, unit))
