"""Checking a ledger: every row from the first, as if it were written again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from hartley.agent.ledger.charging import CELL_INDEX
from hartley.agent.ledger.entries import (
    BEFORE_THE_FIRST,
    EVENTS,
    KINDS,
    Head,
    canonical,
    question_digest,
    read_integer,
    write_integer,
)
from hartley.agent.ledger.standing import Account, after_event, problem_after
from hartley.errors import HartleyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hartley.agent.ledger.entries import Entry
    from hartley.agent.ledger.standing import Standing

    Reprice: TypeAlias = Callable[[Any, list[dict[str, Any]], str], int | None]
    """A schema, questions and the version of the rules -> cells; None where it cannot tell."""
    OpenFactor: TypeAlias = Callable[[Any, str], int | None]
    """A schema and the version of the rules -> the factor of its open columns, or None."""


STRANGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What reading a row raises that no ledger wrote."""


@dataclass(frozen=True)
class Report:
    """What a check of the whole ledger found."""

    holds: bool
    rows: int
    """Rows that were read and hold."""
    first_bad: int | None
    """The first row that does not; None where the rows hold and something else does not."""
    problem: str | None
    head: Head | None
    repriced: int = 0
    """Charges that were computed again from the questions and the schema."""
    unpriced: int = 0
    """Charges that nobody computed again."""

    @property
    def sentence(self) -> str:
        """The finding in words."""
        if self.holds:
            many = "charge" if self.repriced == 1 else "charges"
            charges = f" and {self.repriced:,} {many}" if self.repriced else ""
            return f"The chain holds: {self.rows:,} rows, every balance{charges} computed again."
        return f"The chain does not hold: {self.problem}."


class Broken(Exception):  # noqa: N818 - never leaves this package
    """What is wrong with a row."""


class Replay:
    """Everything that rows lead to, computed anew."""

    def __init__(
        self, reprice: Reprice | None = None, open_factor: OpenFactor | None = None
    ) -> None:
        self._reprice, self._open_factor = reprice, open_factor
        self.last: Entry | None = None
        self.standings: dict[str, Standing] = {}
        self.accounts: dict[tuple[str, str], Account] = {}
        self.schemas: dict[str, Any] = {}
        self.versions: set[tuple[str, str]] = set()
        self.asked: dict[tuple[str, str], int] = {}
        self.charged: set[str] = set()
        self.answers: dict[str, tuple[str, int]] = {}
        self.repriced = self.unpriced = 0

    def step(self, entry: Entry) -> None:
        """Check one more row; raise what is wrong with it."""
        number = 1 if self.last is None else self.last.sequence + 1
        if entry.sequence != number:
            raise Broken(f"row {number} is missing")
        previous = BEFORE_THE_FIRST if self.last is None else self.last.hash
        if entry.previous != previous:
            raise Broken(f"row {number} does not follow the row before it")
        if entry.hash != entry.expected_hash:
            raise Broken(f"row {number} was changed after it was written")
        try:
            if entry.kind not in KINDS or canonical(entry.told) != entry.content:
                raise Broken(f"row {number} is not one that a ledger writes")
            self._replay(entry)
        except (*STRANGE, HartleyError):
            raise Broken(f"row {number} says something that a ledger does not") from None
        self.last = entry

    def _replay(self, entry: Entry) -> None:
        if (entry.dataset in self.standings) == (entry.kind == "created"):
            raise Broken(f"row {entry.sequence} is about a dataset at the wrong time")
        if entry.kind in EVENTS:
            standing, account = self._event(entry)
        elif entry.kind == "reserve":
            standing, account = self._reserve(entry)
        else:
            standing, account = self._commit(entry)
        if entry.state != standing.written(account):
            raise Broken(f"row {entry.sequence} holds another balance than the rows give")
        if (entry.schema, entry.rules) != (standing.schema, standing.rules):
            raise Broken(f"row {entry.sequence} names another schema or rules than it is under")
        self.standings[entry.dataset] = standing
        self.accounts[entry.dataset, entry.account] = account

    def _event(self, entry: Entry) -> tuple[Standing, Account]:
        told = entry.told
        holder = told["analyst"] if entry.kind == "allowance" else ""
        if (entry.account, entry.analyst) != (holder, holder):
            raise Broken(f"row {entry.sequence} charges the wrong account")
        before = self.standings.get(entry.dataset)
        account = self.accounts.get((entry.dataset, holder), Account())
        standing, account = after_event(before, account, entry.kind, told, entry.sequence)
        cells = write_integer(standing.open // (before.open if before else 1))
        if (entry.cells, entry.account_cells) != (cells, cells):
            raise Broken(f"row {entry.sequence} charges another factor than it says")
        problem = problem_after(standing, account, entry.kind)
        if problem:
            raise Broken(f"after row {entry.sequence} {problem}")
        if "version" in told:
            if (entry.dataset, told["version"]) in self.versions:
                raise Broken(f"row {entry.sequence} names a version that was used before")
            self.versions.add((entry.dataset, told["version"]))
        if "schema" in told:
            self.schemas[entry.dataset] = told["schema"]
        if "open_factor" in told:
            self._check_factor(entry)
        return standing, account

    def _check_factor(self, entry: Entry) -> None:
        """Compute anew what the open columns cost; a new version charges all of it."""
        told = entry.told
        if self._open_factor is None:
            return
        right = self._open_factor(self.schemas[entry.dataset], entry.rules)
        wanted = [told["open_factor"], *([told["open_charge"]] if "version" in told else [])]
        if right is not None and any(read_integer(factor) != right for factor in wanted):
            raise Broken(f"row {entry.sequence} charges another price than its open columns have")

    def _holder(self, entry: Entry) -> str:
        own = bool(entry.analyst) and (entry.dataset, entry.analyst) in self.accounts
        holder = entry.analyst if own else ""
        if entry.account != holder:
            raise Broken(f"row {entry.sequence} charges the wrong account")
        return holder

    def _reserve(self, entry: Entry) -> tuple[Standing, Account]:
        holder, told = self._holder(entry), entry.told
        standing = self.standings[entry.dataset]
        account = self.accounts[entry.dataset, holder]
        digests = [
            question_digest(entry.dataset, standing.version, standing.schema, canonical(question))
            for question in told["questions"]
        ]
        fresh = [at for at, digest in enumerate(digests) if digest not in self.charged]
        paid = any((digest, holder) in self.asked for digest in digests)
        if paid or len(set(digests)) != len(digests) or fresh != told["fresh"] or not digests:
            raise Broken(f"row {entry.sequence} charges for what was paid, or not for what was not")
        if told["version"] != standing.version:
            raise Broken(f"row {entry.sequence} is about another version of the data")
        cells, account_cells = read_integer(entry.cells), read_integer(entry.account_cells)
        self._check_price(entry, fresh, cells, account_cells)
        own, whole = standing.balance_of(account), standing.balance
        if not (1 <= cells <= whole.left and 1 <= account_cells <= own.left):
            raise Broken(f"row {entry.sequence} charges more than was left")
        self.charged.update(digests)
        self.asked.update(dict.fromkeys(((digest, holder) for digest in digests), entry.sequence))
        return (
            replace(standing, spent=standing.spent * cells, rules=entry.rules),
            replace(account, spent=account.spent * account_cells),
        )

    def _check_price(self, entry: Entry, fresh: list[int], cells: int, account_cells: int) -> None:
        if not fresh and cells != 1:
            raise Broken(f"row {entry.sequence} charges for what was paid")
        if self._reprice is None:
            self.unpriced += 1
            return
        questions = entry.told["questions"]
        schema = self.schemas[entry.dataset]
        right = self._reprice(schema, questions, entry.rules)
        some = [questions[at] for at in fresh]
        less = (
            right if some == questions else self._reprice(schema, some, entry.rules) if some else 1
        )
        if right is None or less is None:
            self.unpriced += 1
        elif (less, right) != (cells, account_cells):
            raise Broken(f"row {entry.sequence} charges another price than its questions have")
        else:
            self.repriced += 1

    def _commit(self, entry: Entry) -> tuple[Standing, Account]:
        holder, told = self._holder(entry), entry.told
        if (entry.cells, entry.account_cells) != ("1", "1"):
            raise Broken(f"row {entry.sequence} charges for an answer that was paid for")
        for digest, answer in told["answers"].items():
            if digest not in self.charged or digest in self.answers:
                raise Broken(f"row {entry.sequence} answers what was not asked, or twice")
            if not CELL_INDEX.fullmatch(answer):
                raise Broken(f"row {entry.sequence} holds an answer that is none")
            self.answers[digest] = answer, entry.sequence
        if not told["answers"]:
            raise Broken(f"row {entry.sequence} holds no answer")
        return self.standings[entry.dataset], self.accounts[entry.dataset, holder]


def replay(
    entries: Iterable[Entry],
    reprice: Reprice | None = None,
    open_factor: OpenFactor | None = None,
) -> tuple[Replay, Report]:
    """Check rows from the first one, up to the first that does not hold."""
    state = Replay(reprice, open_factor)
    problem = bad = None
    for entry in entries:
        try:
            state.step(entry)
        except Broken as error:
            problem, bad = str(error), 1 if state.last is None else state.last.sequence + 1
            break
    rows = 0 if state.last is None else state.last.sequence
    head = None if state.last is None else Head(state.last.sequence, state.last.hash)
    counts = (state.repriced, state.unpriced)
    return state, Report(problem is None, rows, bad, problem, head, *counts)
