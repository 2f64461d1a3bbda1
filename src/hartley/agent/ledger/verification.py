"""Verification of a ledger: every row is computed again, and indexes and a saved head compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hartley.agent.ledger.past import Past
from hartley.agent.ledger.reading import hash_at
from hartley.agent.ledger.replay import Broken, Replay
from hartley.agent.ledger.rows.entries import FORMAT, Head
from hartley.agent.ledger.stores.store import FIRST
from hartley.errors import EngineError
from hartley.wording import counted, first_of, noun_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hartley.agent.ledger.replay import MayAnswer, OpenFactor, Reprice
    from hartley.agent.ledger.rows.entries import Entry
    from hartley.agent.ledger.stores.store import Transaction


MOST_NAMED = 12
"""Rows that a sentence names; the report lists all."""


@dataclass(frozen=True)
class LedgerReport:
    """The result of verifying a ledger."""

    holds: bool
    rows: int
    """The valid rows of the chain, including those taken from a saved head."""
    first_bad: int | None
    """The first invalid row; None if all rows are valid and something else is wrong."""
    problem: str | None
    head: Head | None
    repriced: int = 0
    """Charges that were computed again from the questions and the schema."""
    unpriced: int = 0
    """Charges that were not computed again."""
    unchecked: tuple[int, ...] = ()
    """Rows whose charge was to be computed again, and could not be: they do not hold."""
    intact: bool = True
    """Whether nothing was changed; if so and it still does not hold, a promise was broken."""
    dated_back: tuple[int, ...] = ()
    """Rows that are dated before the row before them, where no period rests on it."""
    since: Head | None = None
    """The saved head that the check started from; the rows up to it were not checked again."""

    @property
    def sentence(self) -> str:
        """The result in words."""
        taken = 0 if self.since is None else self.since.sequence
        trusted = f" Rows 1 to {taken:,} were taken from the saved head." if taken else ""
        if self.unchecked and self.intact:
            return f"The chain is not checked in full: {self.problem}.{trusted}"
        if self.holds:
            charges = f" and {counted(self.repriced, 'charge')}" if self.repriced else ""
            if self.unpriced:
                trusted += " No price was computed again."
            if self.dated_back:
                named = _named(self.dated_back)
                trusted += f" Dated before the row before it: {named}."
            rows = f"{self.rows - taken:,} rows{f' after row {taken:,}' if taken else ''}"
            return f"The chain holds: {rows}, every balance{charges} computed again.{trusted}"
        if self.intact:
            return f"The chain is intact, but its promise is broken: {self.problem}.{trusted}"
        return f"The chain does not hold: {self.problem}.{trusted}"


def replay(
    entries: Iterable[Entry],
    reprice: Reprice | None = None,
    open_factor: OpenFactor | None = None,
    past: Past | None = None,
    may_answer: MayAnswer | None = None,
) -> tuple[Replay, LedgerReport]:
    """Check rows from the first one, or from a saved head, up to the first invalid one."""
    state = Replay(reprice, open_factor, past, may_answer)
    problem = bad = None
    for entry in entries:
        try:
            state.step(entry)
        except Broken as error:
            problem, bad = str(error), 1 if state.last is None else state.last.sequence + 1
            break
    rows = 0 if state.last is None else state.last.sequence
    report = LedgerReport(
        holds=problem is None,
        rows=rows,
        first_bad=bad,
        problem=problem,
        head=None if state.last is None else Head(state.last.sequence, state.last.hash),
        repriced=state.repriced,
        unpriced=state.unpriced,
        intact=problem is None,
        unchecked=tuple(state.unchecked),
        dated_back=tuple(state.dated_back),
        since=None if past is None else past.head,
    )
    if report.holds and state.broken_promises:
        row, promise = state.broken_promises[0]
        report = replace(report, holds=False, first_bad=row, problem=promise, unchecked=())
    elif report.holds and state.unchecked:
        problem = f"the charge of {_named(state.unchecked)} was not computed "
        problem += "again, since its pricing rules or its schema cannot be read by this version"
        report = replace(report, holds=False, first_bad=state.unchecked[0], problem=problem)
    return state, report


def _named(rows: Sequence[int]) -> str:
    return f"{noun_for(len(rows), 'row')} {first_of([*map(str, rows)], MOST_NAMED)}"


def verify(  # noqa: PLR0913, PLR0917 - what a check rests on
    transaction: Transaction,
    reprice: Reprice | None = None,
    head: Head | None = None,
    open_factor: OpenFactor | None = None,
    since: Head | None = None,
    may_answer: MayAnswer | None = None,
) -> LedgerReport:
    """Replay every row, or those after a saved head; then compare the indexes and the note."""
    try:
        past = None if since is None else _past(transaction, since)
    except (Broken, EngineError) as error:
        return LedgerReport(
            holds=False,
            rows=0,
            first_bad=None,
            problem=getattr(error, "problem", str(error)),
            head=None,
            intact=False,
            since=since,
        )
    start = FIRST if since is None else since.sequence + 1
    state, report = replay(transaction.entries(start), reprice, open_factor, past, may_answer)
    if not report.intact:
        return report
    problem = _beside(transaction, state, report)
    if problem is None and head is not None:
        problem = _older(transaction, head)
    if problem is None:
        return report
    return replace(report, holds=False, intact=False, first_bad=None, problem=problem)


def _past(transaction: Transaction, since: Head) -> Past:
    """Return the state at a saved head, if its row is in the chain."""
    problem = _older(transaction, since)
    if problem is None and since.format != FORMAT:
        problem = "the saved head has an older format, and all its rows were rewritten since"
    row = None if problem else transaction.entry(since.sequence)
    if row is None:
        raise Broken(problem)
    return Past(transaction, since, row)


def _beside(transaction: Transaction, state: Replay, report: LedgerReport) -> str | None:
    """Return the problem if the note or an index does not match the rows."""
    noted = transaction.head()
    if noted != report.head:
        at = noted.sequence if noted else 0
        return f"the store says that it ends with row {at}, but its rows differ"
    asked, answers = transaction.indexed(0 if report.since is None else report.since.sequence)
    if {(digest, account): row for digest, account, row in asked} != state.asked:
        return "the index of the questions that were charged does not match the rows"
    if {digest: (answer, row) for digest, answer, row in answers} != state.answers:
        return "the index of the answers does not match the rows"
    return None


def _older(transaction: Transaction, head: Head) -> str | None:
    """Return the problem if the chain lacks the row that a saved head names."""
    known = hash_at(transaction, head)
    if known == head.hash:
        return None
    if known is None:
        end = transaction.head()
        return (
            f"it ends with row {0 if end is None else end.sequence}, but the saved head is row "
            f"{head.sequence}, so it was replaced by an older ledger"
        )
    return f"row {head.sequence} differs from the saved head, so the history was replaced"
