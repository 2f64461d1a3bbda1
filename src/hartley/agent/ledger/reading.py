"""Reading a ledger: balances, charges, answers and questions without an answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.agent.ledger.charging import plan, read_batch
from hartley.agent.ledger.rows.balances import Balance
from hartley.agent.ledger.rows.entries import (
    FORMAT,
    STRANGE,
    canonical,
    committed_answers,
    question_digest,
    read_integer,
    unreadable,
)
from hartley.agent.ledger.rows.state import read_standing
from hartley.agent.ledger.rows.terms import problem_of_schema, terms_of
from hartley.agent.ledger.stores.chain import find, schema_of
from hartley.agent.ledger.stores.populations import find_population, read_fund

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hartley.agent.ledger.charging import Reservation
    from hartley.agent.ledger.rows.balances import Period, Population
    from hartley.agent.ledger.rows.entries import Entry, Head
    from hartley.agent.ledger.rows.terms import Terms
    from hartley.agent.ledger.stores.store import Transaction


@dataclass(frozen=True)
class State:
    """The state of a dataset: its budget, its charges, its schema and its version."""

    dataset: str
    budget: Fraction
    """In bits."""
    open_factor: int
    """The product of the factors of the open columns, over all versions of the data."""
    spent: int
    """The product of all charges, for the type of the public columns that was charged most."""
    version: str
    rows: int | None
    """The public number of rows; None if it is private."""
    schema_version: str
    rule_version: str
    schema: Any
    """The recorded present schema."""
    allowances: Mapping[str, Balance]
    """By analyst."""
    free: Balance
    """The part of the budget outside allowances: all others share it, and it pays open columns."""
    head: Head
    population: Population | None = None
    """The population with its datasets and its balance, if the schema names one."""
    period: Period | None = None
    """The part of the budget for the present year, quarter or month, if the budget has parts."""

    @property
    def balance(self) -> Balance:
        """The balance of all analysts together, the open columns included."""
        return Balance(self.budget, self.open_factor * self.spent, self.population)

    @property
    def remaining(self) -> float:
        """What is left of the budget, in bits."""
        return self.balance.remaining


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


class ChargedRow(NamedTuple):
    """A row that charged an account for questions: what it told, whatever the answers are."""

    sequence: int
    account: str
    version: str
    schema: str
    questions: tuple[dict[str, Any], ...]


def known_answers(transaction: Transaction, dataset: str, texts: Sequence[str]) -> list[str | None]:
    """Return the answers to questions about the present version of the data, None where unknown."""
    standing = find(transaction, dataset).standing
    digests = [question_digest(dataset, standing.version, standing.schema, text) for text in texts]
    known = transaction.paid(digests).answers
    return [known.get(digest) for digest in digests]


def read_state(transaction: Transaction, dataset: str) -> State:
    """Return the state of a dataset."""
    place, head = find(transaction, dataset), transaction.head()
    assert head is not None  # there is a row
    standing = place.standing
    balances = {
        holder: replace(standing.balance_of(read_standing(row)[1]), population=place.population)
        for holder in transaction.accounts(dataset)
        if (row := transaction.latest(dataset, holder)) is not None
    }
    return State(
        dataset=dataset,
        budget=standing.budget,
        open_factor=standing.open,
        spent=standing.spent,
        version=standing.version,
        rows=standing.rows,
        schema_version=standing.schema,
        rule_version=standing.rules,
        schema=schema_of(transaction, dataset, standing),
        free=balances.pop(""),
        allowances=balances,
        head=head,
        population=place.population,
        period=standing.period,
    )


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
            waiting.append(plan(transaction, batch).reservation(batch, row))
    return waiting


def list_charged_rows(
    transaction: Transaction, dataset: str, after: int, analyst: str = ""
) -> tuple[list[ChargedRow], str]:
    """Return the rows that charged for questions about the present version, in their order.

    With them comes the account that an analyst's questions are charged to.
    """
    place = find(transaction, dataset, analyst)
    standing = place.standing
    rows = []
    # A schema that comes back on the same data starts with nothing told, like any other.
    for entry in transaction.reserved(dataset, max(after, standing.schema_row)):
        row = charged_row(entry)
        if (row.version, row.schema) == (standing.version, standing.schema):
            rows.append(row)
    return rows, place.holder


def charged_row(entry: Entry) -> ChargedRow:
    """Read what a row charged for."""
    try:
        content = entry.told
        return ChargedRow(
            entry.sequence,
            entry.account,
            content["version"],
            entry.schema,
            tuple(content["questions"]),
        )
    except STRANGE:
        raise unreadable(entry) from None


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


def hash_at(transaction: Transaction, head: Head) -> str | None:
    """Return the hash of the row that a saved head names; None if there is no such row."""
    if head.format != FORMAT:
        return transaction.hash_before_migration(head.format, head.sequence)
    return transaction.hash_of(head.sequence)
