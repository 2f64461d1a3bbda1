"""What the owner of a ledger is shown: overviews, charges, populations, pending questions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.charging import plan, read_batch
from hartley.agent.ledger.reading import State, read_state
from hartley.agent.ledger.rows.entries import (
    STRANGE,
    canonical,
    committed_answers,
    question_digest,
    read_integer,
    unreadable,
)
from hartley.agent.ledger.rows.state import read_standing
from hartley.agent.ledger.rows.terms import problem_of_schema, terms_of
from hartley.agent.ledger.stores.chain import find
from hartley.agent.ledger.stores.populations import find_population, read_fund

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hartley.agent.ledger.charging import Reservation
    from hartley.agent.ledger.rows.balances import Population
    from hartley.agent.ledger.rows.entries import Entry
    from hartley.agent.ledger.rows.terms import Terms
    from hartley.agent.ledger.stores.store import Transaction


@dataclass(frozen=True)
class Overview:
    """The state of a dataset in a few numbers, and how much was asked."""

    state: State
    batches: int
    """The number of paid batches."""
    questions: int
    """Questions in them."""
    broken: str | None
    """Why the promise is broken, if a row of an earlier version broke it."""


@dataclass(frozen=True)
class Charge:
    """One batch that was paid for."""

    sequence: int
    time: str
    analyst: str
    version: str
    questions: tuple[Any, ...]
    answers: tuple[str | None, ...]
    """Cell indices as text, 'null' for NULL; None if there is no answer yet."""
    cells: int
    """The charge to the dataset, for the type of the public columns that costs most; for an
    analyst, that to the analyst's account.
    """
    note: str | None
    due: Fraction = Fraction(1)
    """By which factor the largest product of charges grew: that of the dataset, or the account."""


def read_overview(transaction: Transaction, dataset: str) -> Overview:
    """Return the state of a dataset and how much was asked, without reading charges."""
    state = read_state(transaction, dataset)
    return Overview(
        state,
        *transaction.charges(dataset),
        broken=_broken_promise(transaction.schemas(dataset)),
    )


def _broken_promise(rows: Iterable[Entry]) -> str | None:
    """Return which row changed a schema in a way that is not allowed, if there is one."""
    before: Terms | None = None
    for row in rows:
        standing = read_standing(row)[0]
        try:
            terms = terms_of(row.told["schema"])
            charged = standing.open // read_integer(row.cells) * standing.spent > 1
            problem = (
                None
                if before is None
                else problem_of_schema(before, terms, row.told, charged=charged, rows=standing.rows)
            )
        except STRANGE:
            raise unreadable(row) from None
        if problem:
            return f"row {row.sequence} changed the schema, and {problem}"
        before = terms
    return None


def add_budgets(transaction: Transaction) -> tuple[int, Fraction]:
    """Return the number of budgets in the ledger, counting a shared one once, and their sum."""
    budgets: dict[tuple[str, str], list[Fraction]] = {}
    for row in transaction.latest_of_all():
        standing = read_standing(row)[0]
        shared = standing.population
        key = ("dataset", row.dataset) if shared is None else ("population", shared)
        budgets.setdefault(key, []).append(standing.budget)
    bits = Fraction(0)
    for (kind, name), listed in budgets.items():
        fund = transaction.latest("", name) if kind == "population" else None
        bits += sum(listed) if fund is None else min(sum(listed), read_fund(fund).budget)
    return len(budgets), bits


def list_populations(transaction: Transaction) -> list[Population]:
    """Return the state of every population."""
    populations = [find_population(transaction, name) for name in transaction.populations()]
    return [population for population in populations if population is not None]


def list_pending(transaction: Transaction, dataset: str) -> list[Reservation]:
    """Return the charged questions about the present version that have no answer."""
    waiting = []
    standing = find(transaction, dataset).standing
    for row in transaction.unanswered(dataset):
        entry = transaction.entry(row)
        assert entry is not None  # unanswered() joins with the rows
        try:
            about, questions = (entry.told["version"], entry.schema), entry.told["questions"]
        except STRANGE:
            raise unreadable(entry) from None
        if about == (standing.version, standing.schema):  # otherwise its data are gone
            batch = read_batch(dataset, entry.analyst, questions)
            waiting.append(plan(transaction, batch).reservation(row))
    return waiting


def list_charges(transaction: Transaction, dataset: str, analyst: str | None) -> list[Charge]:
    """Return every paid batch, or those of one analyst, with the answers in the rows."""
    find(transaction, dataset)
    charges: list[tuple[Entry, Fraction]] = []
    answers: dict[str, str] = {}
    spent: dict[str, int] = {}
    for entry in transaction.checked(dataset):
        answers |= committed_answers(entry)
        standing, account = read_standing(entry)
        holder, after = ("", standing.spent) if analyst is None else (entry.account, account.spent)
        if entry.kind == "reserve" and analyst in {None, entry.analyst}:
            charges.append((entry, Fraction(after, spent.get(holder, 1))))
        spent[holder] = after
    return [_charge(*charge, answers, own=analyst is not None) for charge in charges]


def _charge(entry: Entry, due: Fraction, answers: Mapping[str, str], *, own: bool) -> Charge:
    try:
        version, questions = entry.told["version"], tuple(entry.told["questions"])
        digests = [
            question_digest(entry.dataset, version, entry.schema, canonical(question))
            for question in questions
        ]
        return Charge(
            sequence=entry.sequence,
            time=entry.time,
            analyst=entry.analyst,
            version=version,
            questions=questions,
            answers=tuple(answers.get(digest) for digest in digests),
            cells=read_integer(entry.account_cells if own else entry.cells),
            note=entry.told.get("note"),
            due=due,
        )
    except STRANGE:
        raise unreadable(entry) from None
