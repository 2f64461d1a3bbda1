"""Every row of a ledger computed again from those before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from hartley.errors import EngineError, HartleyError, InputError, Refused
from hartley.exact import read_integer, write_integer
from hartley.files import parse_toml
from hartley.schema.schema import Schema
from hartley.text import count_of, join_first, plural
from hartley.trusted.cells import cell_bounds, cell_of
from hartley.trusted.ledger.chain import (
    Fund,
    problem_of_population,
    read_fund,
    schema_of,
    settle_population,
)
from hartley.trusted.ledger.ledger import charged_row, hash_at
from hartley.trusted.ledger.rows import (
    BEFORE_THE_FIRST,
    CELL_INDEX,
    EVENTS,
    FORMAT,
    KINDS,
    NULL,
    STRANGE,
    Head,
    canonical,
    problem_of_schema,
    question_digest,
    terms_of,
)
from hartley.trusted.ledger.state import (
    MAY_SAY,
    ONE_PART,
    TIME,
    Account,
    Balance,
    after_event,
    charged_parts,
    charges_open,
    check_bits,
    check_content,
    normalize_event,
    one_part,
    problem_after,
    read_state,
)
from hartley.trusted.ledger.store import FIRST
from hartley.trusted.pricing.after_answers import EarlierAnswers
from hartley.trusted.pricing.conditional_price import (
    KNOWN_RULES,
    RULES,
    conditional_price,
    price_paths,
)
from hartley.trusted.pricing.price import open_factor, price
from hartley.trusted.questions.batch import All, Form, Statistic, Test, columns_named, from_plain
from hartley.trusted.questions.condition import EVERY, possible_terms
from hartley.trusted.questions.question import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from hartley.agent.ledger import Ledger
    from hartley.schema.schema import Column
    from hartley.trusted.ledger.ledger import ChargedRow
    from hartley.trusted.ledger.rows import Entry, Terms
    from hartley.trusted.ledger.state import DatasetState
    from hartley.trusted.ledger.store import Transaction
    from hartley.trusted.pricing.regions import PublicParts
    from hartley.trusted.questions.batch import Condition, Question

    Reprice: TypeAlias = Callable[..., int | PublicParts | None]
    """A schema, questions and the version of the rules -> cells; None if it cannot tell.

    Where a row names earlier rows, their questions are the fourth argument. Cells may depend on the
    type of the public columns.
    """
    MayAnswer: TypeAlias = Callable[..., bool]
    """A schema, a question, the version of the rules, the public number of rows and an answer, or
    None and a note -> whether it can be that of the question; True where it cannot tell.
    """
    OpenFactor: TypeAlias = Callable[[Any, str], int | None]
    """A schema and the version of the rules -> the factor of its open columns, or None."""


# --- past -----------------------------------------------------------------------------------------
# The state after the rows up to a saved head, read from those rows.


class Past:
    """The state after the rows up to a head.

    The state is in the rows: that of a dataset, an account or a population is in its last row
    before the head. Each row that is read this way must be unchanged and continued by the next;
    which questions were paid for and answered is looked up in the same way.
    """

    def __init__(self, transaction: Transaction, head: Head, last: Entry) -> None:
        self._transaction, self.head, self.last = transaction, head, last
        self.states: dict[str, DatasetState] = {}
        self.accounts: dict[tuple[str, str], Account] = {}
        self.schemas: dict[str, Any] = {}
        self.funds: dict[str, Fund] = {}
        for dataset in transaction.datasets():
            row = transaction.latest(dataset, until=head.sequence)
            if row is None:
                continue
            self.states[dataset] = read_state(row)[0]
            self.schemas[dataset] = schema_of(transaction, dataset, self.states[dataset])
            for account in transaction.accounts(dataset):
                own = transaction.latest(dataset, account, until=head.sequence)
                if own is not None:
                    then, its = read_state(own)
                    self.accounts[dataset, account] = self.states[dataset].own(its, then)
        for name in transaction.populations():
            row = transaction.latest("", name, until=head.sequence)
            if row is not None:
                self.funds[name] = read_fund(row)

    def had(self, dataset: str, version: str) -> bool:
        """Tell whether the data of a dataset had a version by then."""
        return version in self._transaction.versions(dataset, until=self.head.sequence)

    def charged_row(self, dataset: str, sequence: int) -> ChargedRow | None:
        """Return a row before the head that charged for questions about a dataset."""
        if sequence > self.head.sequence:
            return None
        entry = self._transaction.entry(sequence)
        if entry is None or (entry.dataset, entry.kind) != (dataset, "reserve"):
            return None
        return charged_row(entry)

    def paid(self, digests: Sequence[str]) -> dict[str, set[str]]:
        """Return the accounts that were charged for questions by then, by digest."""
        accounts = self._transaction.paid(digests, until=self.head.sequence).accounts
        return {digest: set(by) for digest, by in accounts.items()}

    def charged(self, dataset: str, digests: Sequence[str]) -> set[str]:
        """Return the questions that were charged for by then and are about a dataset."""
        paid = self._transaction.paid(digests, until=self.head.sequence).accounts
        rows = {digest: self._transaction.entry(min(by.values())) for digest, by in paid.items()}
        return {digest for digest, row in rows.items() if row and row.dataset == dataset}

    def question(self, dataset: str, digest: str) -> tuple[Any, dict[str, Any], str, int | None]:
        """Return schema, question, rules and public number of rows of a charge before the head."""
        paid = self._transaction.paid([digest], until=self.head.sequence).accounts[digest]
        entry = self._transaction.entry(min(paid.values()))
        assert entry is not None  # the index was compared with the rows
        content, schema = entry.told, None
        for row in self._transaction.schemas(dataset):
            schema = row.told["schema"] if row.sequence < entry.sequence else schema
        names = [
            question_digest(dataset, content["version"], entry.schema, canonical(question))
            for question in content["questions"]
        ]
        question = content["questions"][names.index(digest)]
        return schema, question, entry.rules, read_state(entry)[0].rows

    def answered(self, digests: Sequence[str]) -> set[str]:
        """Return the questions that were answered by then."""
        return set(self._transaction.paid(digests, until=self.head.sequence).answers)


# --- replay ---------------------------------------------------------------------------------------


class Broken(Exception):  # noqa: N818 - never leaves this package
    """Raised for an invalid row, with the problem."""


FORMAT_PROBLEM = "is not in the format that a ledger writes"
SUM_PROBLEM = "has a balance that differs from the sum of its rows"


def require(entry: Entry, holds: object, problem: str) -> None:
    """Raise Broken, with what is wrong with a row, unless something holds."""
    if not holds:
        raise Broken(f"row {entry.sequence} {problem}")


class Replay:
    """The state after the rows, computed again from the first row or from a saved head."""

    def __init__(
        self,
        reprice: Reprice | None = None,
        open_factor: OpenFactor | None = None,
        past: Past | None = None,
        may_answer: MayAnswer | None = None,
    ) -> None:
        self._reprice, self._open_factor, self._past = reprice, open_factor, past
        self._may_answer = may_answer
        self.last: Entry | None = None
        self.states: dict[str, DatasetState] = {}
        self.accounts: dict[tuple[str, str], Account] = {}
        self.schemas: dict[str, Any] = {}
        self.funds: dict[str, Fund] = {}
        self.charged_to: dict[str, int] = {}
        """The product of everything charged to each population."""
        self.versions: set[tuple[str, str]] = set()
        self.asked: dict[tuple[str, str], int] = {}
        self.charged: dict[str, str] = {}
        """The dataset that each charged question is about, by digest."""
        self.unanswered: dict[str, tuple[Any, dict[str, Any], str, int | None]] = {}
        """Schema, text, rules and public number of rows of charged questions without an answer."""
        self.answers: dict[str, tuple[str, int]] = {}
        self.told: dict[str, dict[int, ChargedRow]] = {}
        """Rows that charged for questions about the present version of each dataset."""
        self.broken_promises: list[tuple[int, str]] = []
        """Problems of unchanged rows that should never have been written."""
        self.dated_back: list[int] = []
        """Rows with an earlier time than the row before them: 0.1.0 followed a clock set back."""
        self.repriced, self.unpriced = 0, 0
        self.unchecked: list[int] = []
        """Rows whose charge was to be computed again, and could not be."""
        if past is not None:
            self.last, self.states, self.accounts = past.last, past.states, past.accounts
            self.schemas, self.funds = past.schemas, past.funds
            for name, fund in self.funds.items():
                self.charged_to[name] = fund.spent
                for member in self.states.values():
                    if member.population == name:
                        self.charged_to[name] *= member.open * member.spent

    def step(self, entry: Entry) -> None:
        """Check one more row; raise an error if it is invalid.

        First the chain is checked, then the content: each number in the row is computed again from
        the rows before it, with the functions that write rows.
        """
        number = 1 if self.last is None else self.last.sequence + 1
        if entry.sequence != number:
            raise Broken(f"row {number} is missing")
        previous = BEFORE_THE_FIRST if self.last is None else self.last.hash
        require(entry, entry.previous == previous, "does not follow the row before it")
        try:
            right = entry.hash == entry.expected_hash
            require(entry, right, "was changed after it was written")
            written = entry.kind in KINDS and canonical(entry.told) == entry.content
            require(entry, written and TIME.fullmatch(entry.time), FORMAT_PROBLEM)
            zero = any("\0" in str(value) for value in entry.fields)  # not every store can hold it
            require(entry, not zero, FORMAT_PROBLEM)
            check_content(entry.kind, entry.told)
            if entry.kind == "population":
                self._population(entry)
            else:
                self._replay(entry)
        except (*STRANGE, HartleyError):
            raise Broken(f"row {number} {FORMAT_PROBLEM}") from None
        if self.last is not None and entry.time < self.last.time:
            self.dated_back.append(number)
        self.last = entry

    def _replay(self, entry: Entry) -> None:
        fresh = (entry.dataset in self.states) != (entry.kind == "created")
        problem = "is about a dataset that is missing, or creates one twice"
        require(entry, entry.dataset and fresh, problem)
        present = self.states.get(entry.dataset)
        if present is not None and present.period is not None:
            in_time = self.last is None or entry.time >= self.last.time
            require(entry, in_time, "is dated before the row before it")
            self.states[entry.dataset] = present.at(entry.time)
        if entry.kind in EVENTS:
            state, account = self._event(entry)
        elif entry.kind == "reserve":
            state, account = self._reserve(entry)
        else:
            state, account = self._commit(entry)
        # Written again and compared as text: a state has one spelling, so nothing can hide in it.
        require(entry, entry.state == state.written(account), SUM_PROBLEM)
        named = (entry.schema, entry.rules) == (state.schema, state.rules)
        require(entry, named, "names a schema or rules other than those in force")
        self.states[entry.dataset] = state
        self.accounts[entry.dataset, entry.account] = account

    # --- populations ---

    def _population(self, entry: Entry) -> None:
        name, content = entry.account, entry.told
        rest = (entry.dataset, entry.analyst, entry.schema, entry.rules)
        free = (entry.cells, entry.account_cells) == ("1", "1")
        require(entry, name and rest == ("", "", "", "") and free, FORMAT_PROBLEM)
        before = self.funds.get(name)
        given = {word: value for word, value in content.items() if word in MAY_SAY["population"]}
        require(entry, content == settle_population(given, before), FORMAT_PROBLEM)
        fund = replace(before or Fund(Fraction(0)), budget=Fraction(content["bits"]))
        require(entry, entry.state == fund.written(), SUM_PROBLEM)
        self.funds[name] = fund
        self._charge_population(entry, name, 1)

    def _charge_population(self, entry: Entry, name: str, cells: int) -> None:
        self.charged_to[name] = self.charged_to.get(name, 1) * cells
        balance = Balance(self.funds[name].budget, self.charged_to[name])
        problem = problem_of_population(name, balance)
        if problem:
            raise Broken(f"after row {entry.sequence} {problem}")

    def _check_member(self, entry: Entry, before: DatasetState | None, after: DatasetState) -> None:
        """Check that a dataset joins, stays in or leaves a population only as allowed."""
        former = None if before is None else before.population
        leaves = before is not None and former not in {None, after.population} and before.charged
        require(entry, not leaves, "takes a dataset out of a population")
        name = after.population
        if name is None:
            return
        require(entry, name in self.funds, "names a population that does not exist")
        if "schema" in entry.told:
            units = {
                self._terms(dataset).unit
                for dataset, state in self.states.items()
                if state.population == name and dataset != entry.dataset
            }
            same = not units - {terms_of(entry.told["schema"]).unit}
            require(entry, same, "has a different unit from its population")
        joins = former != name  # with its whole history: the promise is about all of it
        cells = after.open * after.spent if joins else read_integer(entry.cells)
        self._charge_population(entry, name, cells)

    def _renew(self, dataset: str) -> None:
        """New data, or another schema: nothing is told yet, and all types begin at the largest."""
        self.told.pop(dataset, None)
        for (name, holder), account in list(self.accounts.items()):
            if name == dataset:
                self.accounts[name, holder] = account.renewed()

    def _terms(self, dataset: str) -> Terms:
        return terms_of(self.schemas[dataset])

    # --- datasets ---

    def _event(self, entry: Entry) -> tuple[DatasetState, Account]:
        content = entry.told
        holder = content["analyst"] if entry.kind == "allowance" else ""
        named = (entry.account, entry.analyst) == (holder, holder)
        require(entry, named, "charges the wrong account")
        before = self.states.get(entry.dataset)
        account = self.accounts.get((entry.dataset, holder), Account())
        self._check_bits(entry, before, account)
        state, account = after_event(before, account, entry.kind, content, entry.sequence)
        cells = write_integer(state.open // (before.open if before else 1))
        stated = (entry.cells, entry.account_cells) == (cells, cells) and charges_open(content)
        require(entry, stated, "charges a factor that differs from the one it states")
        problem = problem_after(state, account, entry.kind)
        if problem:
            raise Broken(f"after row {entry.sequence} {problem}")
        if "version" in content:
            used = self._had(entry.dataset, content["version"])
            require(entry, not used, "names a version that was used before")
            self.versions.add((entry.dataset, content["version"]))
        self._check_member(entry, before, state)
        if "version" in content or "schema" in content:
            self._renew(entry.dataset)
        if "schema" in content:
            if before is not None:
                self._check_schema(entry, before)
            self.schemas[entry.dataset] = content["schema"]
        if "open_factor" in content:
            self._check_factor(entry)
        return state, account

    @staticmethod
    def _check_bits(entry: Entry, before: DatasetState | None, account: Account) -> None:
        content = entry.told
        if entry.kind == "period":
            given = {word: value for word, value in content.items() if word in MAY_SAY["period"]}
            written = normalize_event("period", given, before, None, entry.time)
            require(entry, content == written, FORMAT_PROBLEM)
        elif entry.kind == "allowance":
            check_bits(content, account.bits)
        elif "bits" in content:
            check_bits(content, None if before is None else before.budget)

    def _had(self, dataset: str, version: str) -> bool:
        """Return whether a version was used before for the data of a dataset."""
        past = self._past is not None and self._past.had(dataset, version)
        return past or (dataset, version) in self.versions

    def _check_schema(self, entry: Entry, before: DatasetState) -> None:
        terms = terms_of(entry.told["schema"])
        problem = problem_of_schema(
            self._terms(entry.dataset),
            terms,
            entry.told,
            charged=before.charged,
            rows=before.rows,
        )
        if problem:
            # Earlier versions of Hartley allowed such rows. They are unchanged, so the chain holds,
            # but the promise is broken; the report says so separately.
            text = f"row {entry.sequence} changes the schema of '{entry.dataset}', and {problem}"
            self.broken_promises.append((entry.sequence, text))

    def _check_factor(self, entry: Entry) -> None:
        """Compute the price of the open columns again; a new version charges all of it."""
        content = entry.told
        if self._open_factor is None:
            return
        right = self._open_factor(self.schemas[entry.dataset], entry.rules)
        wanted = ["open_factor", *(["open_charge"] if "version" in content else [])]
        if right is None:
            self.unchecked.append(entry.sequence)
            return
        priced = all(read_integer(content[name]) == right for name in wanted)
        require(entry, priced, "charges a price that differs from that of its open columns")

    def _holder(self, entry: Entry) -> str:
        own = bool(entry.analyst) and (entry.dataset, entry.analyst) in self.accounts
        holder = entry.analyst if own else ""
        require(entry, entry.account == holder, "charges the wrong account")
        return holder

    def _reserve(self, entry: Entry) -> tuple[DatasetState, Account]:
        holder, content = self._holder(entry), entry.told
        state = self.states[entry.dataset]
        account = self.accounts[entry.dataset, holder]
        digests = [
            question_digest(entry.dataset, state.version, state.schema, canonical(question))
            for question in content["questions"]
        ]
        earlier = {} if self._past is None else self._past.paid(digests)
        fresh = [
            at
            for at, digest in enumerate(digests)
            if digest not in self.charged and digest not in earlier
        ]
        paid = any(
            (digest, holder) in self.asked or holder in earlier.get(digest, ())
            for digest in digests
        )
        same = canonical(content["fresh"]) == canonical(fresh)  # 0.0 and False equal 0, but differ
        problem = "charges for a question already paid, or fails to charge for an unpaid one"
        require(entry, not paid and same and 0 < len(digests) == len(set(digests)), problem)
        present = content["version"] == state.version
        require(entry, present, "is about another version of the data")
        cells, account_cells = read_integer(entry.cells), read_integer(entry.account_cells)
        parts = charged_parts(content, "parts", cells)
        account_parts = charged_parts(content, "account_parts", account_cells)
        self._check_price(entry, fresh, parts, account_parts)
        after, account = state.after(parts, entry.rules), account.charged(account_parts)
        period = after.period
        covered = (
            min(cells, account_cells) >= 1
            and after.balance.holds(1)
            and after.balance_of(account).holds(1)
            and (period is None or period.balance.holds(1))
        )
        require(entry, covered, "charges more than the budget had left")
        if state.population is not None:
            self.charged_to[state.population] //= state.spent
            self._charge_population(entry, state.population, after.spent)
        self.told.setdefault(entry.dataset, {})[entry.sequence] = charged_row(entry)
        self.charged.update(dict.fromkeys(digests, entry.dataset))
        self.asked.update(dict.fromkeys(((digest, holder) for digest in digests), entry.sequence))
        self._wait(entry, digests)
        return after, account

    def _wait(self, entry: Entry, digests: Sequence[str]) -> None:
        """Keep questions until they are answered, to check their answers; the note names them."""
        schema, rows = self.schemas[entry.dataset], self.states[entry.dataset].rows
        note = entry.told.get("note") or ""
        for digest, question in zip(digests, entry.told["questions"], strict=True):
            charged = schema, question, entry.rules, rows
            asks = self._may_answer is None or self._may_answer(*charged, None, note)
            require(entry, asks, "has a note that asks something else")
            if digest not in self.answers:
                self.unanswered[digest] = charged

    def _check_price(
        self, entry: Entry, fresh: list[int], parts: PublicParts, account_parts: PublicParts
    ) -> None:
        require(entry, fresh or parts.most == 1, "charges for a question already paid")
        account_told = self._earlier(entry, "account_given", entry.account)
        told = self._earlier(entry, "given", None)
        if self._reprice is None:
            self.unpriced += 1
            return
        questions = entry.told["questions"]
        # Two prices: for questions new to the account, and for questions new to everybody.
        right = self._price_again(entry, questions, account_told)
        new_questions = [questions[at] for at in fresh]
        less = (
            right
            if new_questions == questions and told == account_told
            else self._price_again(entry, new_questions, told)
            if new_questions
            else ONE_PART
        )
        if right is None or less is None:
            self.unpriced += 1
            self.unchecked.append(entry.sequence)
            return
        if told is not None:  # what bounds the account's new answers bounds the dataset's too
            less = less.smaller(right)
        priced = (less, right) == (parts, account_parts)
        require(entry, priced, "charges a price that differs from that of its questions")
        self.repriced += 1

    def _price_again(
        self, entry: Entry, questions: list[dict[str, Any]], told: list[dict[str, Any]] | None
    ) -> PublicParts | None:
        assert self._reprice is not None
        given = () if told is None else (told,)
        cells = self._reprice(self.schemas[entry.dataset], questions, entry.rules, *given)
        return one_part(cells) if isinstance(cells, int) else cells

    def _earlier(self, entry: Entry, word: str, account: str | None) -> list[dict[str, Any]] | None:
        """Return the questions of the earlier rows that a price names; None where it names none.

        Any earlier charges about the same version under the same schema may lower a price, and for
        an account only its own: every other row would make the price too small, or tell an analyst
        what others asked.
        """
        if word not in entry.told:
            return None
        questions: list[dict[str, Any]] = []
        state = self.states[entry.dataset]
        before = state.schema_row  # a schema that comes back starts with nothing told, too
        for sequence in entry.told[word]:
            row = None
            # A schema that comes back starts with nothing told, like any other.
            if type(sequence) is int and max(before, state.schema_row) < sequence < entry.sequence:
                row = self.told.get(entry.dataset, {}).get(sequence)
                if row is None and self._past is not None:
                    row = self._past.charged_row(entry.dataset, sequence)
            if (
                row is None
                or (row.version, row.schema) != (state.version, state.schema)
                or account not in {None, row.account}
            ):
                raise Broken(f"row {entry.sequence} is priced from a row that it must not use")
            questions += row.questions
            before = sequence
        return questions

    def _commit(self, entry: Entry) -> tuple[DatasetState, Account]:
        holder, content = self._holder(entry), entry.told
        free = (entry.cells, entry.account_cells) == ("1", "1")
        require(entry, free, "charges for an answer already paid")
        answered: Collection[str] = ()
        earlier: Collection[str] = ()
        if self._past is not None:
            earlier = self._past.charged(entry.dataset, list(content["answers"]))
            answered = self._past.answered(list(content["answers"]))
        for digest, answer in content["answers"].items():
            charged = self.charged.get(digest) == entry.dataset or digest in earlier
            once = charged and digest not in self.answers and digest not in answered
            require(entry, once, "answers a question that was not asked, or one twice")
            valid = CELL_INDEX.fullmatch(answer) and self._may_be(entry, digest, answer)
            require(entry, valid, "holds an invalid answer")
            self.answers[digest] = answer, entry.sequence
        known = content["answers"] and self._had(entry.dataset, content["version"])
        require(entry, known, "has no answer, or is about unknown data")
        return self.states[entry.dataset], self.accounts[entry.dataset, holder]

    def _may_be(self, entry: Entry, digest: str, answer: str) -> bool:
        """Return whether an answer is a cell of its question.

        A question's price rests on the range that it names: outside of it, a question that was
        priced as a constant could have any answer.
        """
        asked = self.unanswered.pop(digest, None)
        if self._may_answer is None:
            return True
        if asked is None and self._past is not None:
            asked = self._past.question(entry.dataset, digest)
        return asked is None or self._may_answer(*asked, answer)


# --- verification ---------------------------------------------------------------------------------
# Verification of a ledger: every row is computed again, and indexes and a saved head compared.

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
            charges = f" and {count_of(self.repriced, 'charge')}" if self.repriced else ""
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
    return f"{plural(len(rows), 'row')} {join_first([*map(str, rows)], MOST_NAMED)}"


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


# --- repricing ------------------------------------------------------------------------------------
# The charges of a ledger, computed again from its recorded schemas and resolved questions.

ANY_STEP = Fraction(1)
"""Stands for the step where only the rest of a question is compared."""


def reprice(
    schema: object,
    questions: Sequence[dict[str, Any]],
    rules: str,
    told: Sequence[dict[str, Any]] = (),
) -> PublicParts | None:
    """Return what a batch costs every type of the public columns; None if that cannot be told.

    From the text of the schema that an agent recorded, plain questions, the version of the pricing
    rules, and the questions of the earlier rows that the charge was priced from.
    """
    read_schema = _schema(schema, rules)
    if read_schema is None:
        return None
    batch, earlier = ([from_plain(plain) for plain in listed] for listed in (questions, told))
    known = read_schema.columns.keys()
    if any(not columns_named(question) <= known for question in (*batch, *earlier)):
        raise InputError(
            "A recorded question is about a column that its recorded schema does not have",
            hint="verify the ledger, or restore it from a backup",
        )
    if rules == RULES:
        return price_paths(batch, EarlierAnswers(read_schema, earlier)).parts
    if rules == "1":
        return one_part(price(batch, read_schema).cells)
    return one_part(conditional_price(batch, EarlierAnswers(read_schema, earlier)).cells)


def may_answer(  # noqa: PLR0913, PLR0917 - what a charge and an answer rest on
    schema: object,
    question: dict[str, Any],
    rules: str,
    rows: int | None,
    answer: str | None,
    note: str = "",
) -> bool:
    """Tell whether the rows of a plain question can give an answer, and its price allows it.

    Without an answer: whether the note of its charge asks for it, if that is a question at all and
    was written under the present rules, which read it as this version does.

    Only an order statistic of no rows is NULL. A question that costs nothing has one answer: the
    same in all tables with as many rows, as one person after the other changes, so that of rows
    which all have the first code of every private column. Where it looks at public or open columns,
    its answer depends on them, and a ledger does not hold them; nor does it hold a private number
    of rows, which open columns tell.
    """
    read_schema = _schema(schema, rules)
    if read_schema is None:
        return True
    asked, order = from_plain(question), Statistic.ORDER
    most_rows = rows if rows is not None else read_schema.max_rows or 0
    if answer is None:
        said = _noted(str(schema), note, most_rows) if rules == RULES else None
        return said is None or replace(asked, step=ANY_STEP) in said
    names = columns_named(asked) if rows is not None else read_schema.columns
    kinds = {read_schema.columns[name].kind for name in names}
    if kinds <= {"private"} and price([asked], read_schema).cells == 1:
        counts = _passes_first(asked.where) and bool(rows)
        value = 1 if asked.form is None else asked.form.constant
        value **= 2 if asked.statistic is Statistic.SQUARES else 1
        total = (
            (value if counts else None)
            if asked.statistic is order
            else value * counts * (rows or 0)
        )
        cell = cell_of(asked, total)
        return answer == (NULL if cell is None else str(cell))
    fewest = most_rows if asked.where == EVERY and rows is not None else 0
    if answer == NULL:
        return asked.statistic is order and not fewest
    reaches = list(_reaches(asked, read_schema.columns))
    bounds = cell_bounds(asked, read_integer(answer))
    if asked.statistic is order:
        return any(least <= bounds[1] and bounds[0] <= most for least, most in reaches)
    return _may_total(asked, reaches, bounds, (fewest, most_rows))


def _may_total(
    asked: Question,
    reaches: Sequence[tuple[int, int]],
    bounds: tuple[int, int],
    rows: tuple[int, int],
) -> bool:
    """Return whether rows with values in these ranges can have a total within bounds."""
    (low, high), (fewest, most_rows) = bounds, rows
    power = 2 if asked.statistic is Statistic.SQUARES else 1
    least = min((end**power for end, _ in reaches), default=0)
    most = max((end**power for _, end in reaches), default=0)
    for value, bound in ((least, high), (-most, -low)):  # as many rows as: rows * value <= bound
        if value > 0:
            most_rows = min(most_rows, bound // value)
        elif value < 0:
            fewest = max(fewest, -(bound // -value))
        elif bound < 0:
            return False
    return low <= high and fewest <= most_rows


def _reaches(asked: Question, columns: Mapping[str, Column]) -> Iterator[tuple[int, int]]:
    """Yield bounds of the form in parts of the rows that count: exact ones for a single column."""
    form = asked.form or Form((), 1, ANY_STEP)
    terms = possible_terms(asked.where, asked.form, columns)
    for term in ((),) if terms is None else terms:
        leaves = {name: codes for name, (codes, _) in term}
        ranges = [leaves.get(name) or ((0, columns[name].points - 1),) for name, _ in form.terms]
        if len(ranges) > 1:
            ranges = [((some[0][0], some[-1][1]),) for some in ranges]
        for codes in product(*ranges):
            pairs = zip(form.terms, codes, strict=True)
            ends = [sorted(factor * end for end in pair) for (_, factor), pair in pairs]
            low, high = (form.constant + sum(pair[side] for pair in ends) for side in (0, 1))
            yield low, high


@lru_cache(maxsize=64)
def _noted(text: str, note: str, rows: int) -> frozenset[Question] | None:
    """Return what a note asks that is a question, or one in each line; None for another note."""
    schema = _read(text)
    assert schema is not None
    for texts in ([note], note.split("\n")):
        try:
            plans = [parse(question, schema, rows) for question in texts]
        except Refused:
            continue
        asked = (asked for plan in plans for asked in plan.questions)
        return frozenset(replace(each, step=ANY_STEP) for each in asked)
    return None


def _passes_first(condition: Condition) -> bool:
    """Tell whether a record with the first code of every column passes."""
    if isinstance(condition, Test):
        return any(low == 0 for low, _ in condition.codes)
    passed = map(_passes_first, condition.parts)
    return all(passed) if isinstance(condition, All) else any(passed)


def open_cells(schema: object, rules: str) -> int | None:
    """Return the factor of the open columns of a recorded schema, or None as in ``reprice``."""
    read_schema = _schema(schema, rules)
    return None if read_schema is None else open_factor(read_schema)


def verify_prices(ledger: Ledger, **more: Any) -> LedgerReport:  # noqa: ANN401 - what Ledger.verify takes
    """Replay a ledger and compute every price in it again; linear in the number of rows."""
    return ledger.verify(reprice, open_factor=open_cells, may_answer=may_answer, **more)


def _schema(schema: object, rules: str) -> Schema | None:
    return _read(schema) if isinstance(schema, str) and rules in KNOWN_RULES else None


@lru_cache(maxsize=64)
def _read(text: str) -> Schema | None:
    try:
        return Schema.read(parse_toml(text, what="recorded schema"))
    except HartleyError:
        return None
