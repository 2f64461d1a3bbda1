"""Every row of a ledger computed again from those before it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from hartley.agent.ledger.reading import charged_row
from hartley.agent.ledger.rows.balances import ONE_PART, TIME, Balance, one_part
from hartley.agent.ledger.rows.contents import (
    charged_parts,
    charges_open,
    check_bits,
    check_content,
)
from hartley.agent.ledger.rows.entries import (
    BEFORE_THE_FIRST,
    CELL_INDEX,
    EVENTS,
    KINDS,
    STRANGE,
    canonical,
    question_digest,
    read_integer,
    write_integer,
)
from hartley.agent.ledger.rows.state import (
    MAY_SAY,
    Account,
    after_event,
    problem_after,
    settle,
)
from hartley.agent.ledger.rows.terms import problem_of_schema, terms_of
from hartley.agent.ledger.stores.populations import Fund, problem_of_population, settle_population
from hartley.errors import HartleyError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hartley.agent.ledger.past import Past
    from hartley.agent.ledger.reading import ChargedRow
    from hartley.agent.ledger.rows.entries import Entry
    from hartley.agent.ledger.rows.state import Standing
    from hartley.agent.ledger.rows.terms import Terms
    from hartley.agent.pricing.public_parts import PublicParts

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


class Broken(Exception):  # noqa: N818 - never leaves this package
    """Raised for an invalid row, with the problem."""


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
        self.standings: dict[str, Standing] = {}
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
            self.last, self.standings, self.accounts = past.last, past.standings, past.accounts
            self.schemas, self.funds = past.schemas, past.funds
            for name, fund in self.funds.items():
                self.charged_to[name] = fund.spent
                for member in self._members(name):
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
        if entry.previous != previous:
            raise Broken(f"row {number} does not follow the row before it")
        try:
            if entry.hash != entry.expected_hash:
                raise Broken(f"row {number} was changed after it was written")
            written = entry.kind in KINDS and canonical(entry.told) == entry.content
            if not written or not TIME.fullmatch(entry.time):
                raise Broken(f"row {number} is not in the format that a ledger writes")
            if any("\0" in str(value) for value in entry.fields):  # not every store can hold it
                raise Broken(f"row {number} is not in the format that a ledger writes")
            check_content(entry.kind, entry.told)
            if entry.kind == "population":
                self._population(entry)
            else:
                self._replay(entry)
        except (*STRANGE, HartleyError):
            raise Broken(f"row {number} is not in the format that a ledger writes") from None
        if self.last is not None and entry.time < self.last.time:
            self.dated_back.append(number)
        self.last = entry

    def _replay(self, entry: Entry) -> None:
        if not entry.dataset or (entry.dataset in self.standings) == (entry.kind == "created"):
            raise Broken(
                f"row {entry.sequence} is about a dataset that is missing, or creates one twice"
            )
        present = self.standings.get(entry.dataset)
        if present is not None and present.period is not None:
            if self.last is not None and entry.time < self.last.time:
                raise Broken(f"row {entry.sequence} is dated before the row before it")
            self.standings[entry.dataset] = present.at(entry.time)
        if entry.kind in EVENTS:
            standing, account = self._event(entry)
        elif entry.kind == "reserve":
            standing, account = self._reserve(entry)
        else:
            standing, account = self._commit(entry)
        # Written again and compared as text: a state has one spelling, so nothing can hide in it.
        if entry.state != standing.written(account):
            raise Broken(
                f"row {entry.sequence} has a balance that differs from the sum of its rows"
            )
        if (entry.schema, entry.rules) != (standing.schema, standing.rules):
            raise Broken(f"row {entry.sequence} names a schema or rules other than those in force")
        self.standings[entry.dataset] = standing
        self.accounts[entry.dataset, entry.account] = account

    # --- populations ---

    def _population(self, entry: Entry) -> None:
        name, content = entry.account, entry.told
        rest = (entry.dataset, entry.analyst, entry.schema, entry.rules)
        if not name or rest != ("", "", "", "") or (entry.cells, entry.account_cells) != ("1", "1"):
            raise Broken(f"row {entry.sequence} is not in the format that a ledger writes")
        before = self.funds.get(name)
        given = {word: value for word, value in content.items() if word in MAY_SAY["population"]}
        if content != settle_population(given, before):
            raise Broken(f"row {entry.sequence} is not in the format that a ledger writes")
        fund = replace(before or Fund(Fraction(0)), budget=Fraction(content["bits"]))
        if entry.state != fund.written():
            raise Broken(
                f"row {entry.sequence} has a balance that differs from the sum of its rows"
            )
        self.funds[name] = fund
        self._charge_population(entry, name, 1)

    def _charge_population(self, entry: Entry, name: str, cells: int) -> None:
        self.charged_to[name] = self.charged_to.get(name, 1) * cells
        balance = Balance(self.funds[name].budget, self.charged_to[name])
        problem = problem_of_population(name, balance)
        if problem:
            raise Broken(f"after row {entry.sequence} {problem}")

    def _members(self, name: str) -> list[Standing]:
        return [standing for standing in self.standings.values() if standing.population == name]

    def _check_member(self, entry: Entry, before: Standing | None, after: Standing) -> None:
        """Check that a dataset joins, stays in or leaves a population only as allowed."""
        former = None if before is None else before.population
        if before is not None and former not in {None, after.population} and before.charged:
            raise Broken(f"row {entry.sequence} takes a dataset out of a population")
        name = after.population
        if name is None:
            return
        if name not in self.funds:
            raise Broken(f"row {entry.sequence} names a population that does not exist")
        if "schema" in entry.told:
            units = {
                self._terms(dataset).unit
                for dataset, standing in self.standings.items()
                if standing.population == name and dataset != entry.dataset
            }
            if units - {terms_of(entry.told["schema"]).unit}:
                raise Broken(f"row {entry.sequence} has a different unit from its population")
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

    def _event(self, entry: Entry) -> tuple[Standing, Account]:
        content = entry.told
        holder = content["analyst"] if entry.kind == "allowance" else ""
        if (entry.account, entry.analyst) != (holder, holder):
            raise Broken(f"row {entry.sequence} charges the wrong account")
        before = self.standings.get(entry.dataset)
        account = self.accounts.get((entry.dataset, holder), Account())
        self._check_bits(entry, before, account)
        standing, account = after_event(before, account, entry.kind, content, entry.sequence)
        cells = write_integer(standing.open // (before.open if before else 1))
        if (entry.cells, entry.account_cells) != (cells, cells) or not charges_open(content):
            raise Broken(
                f"row {entry.sequence} charges a factor that differs from the one it states"
            )
        problem = problem_after(standing, account, entry.kind)
        if problem:
            raise Broken(f"after row {entry.sequence} {problem}")
        if "version" in content:
            self._check_version(entry)
        self._check_member(entry, before, standing)
        if "version" in content or "schema" in content:
            self._renew(entry.dataset)
        if "schema" in content:
            if before is not None:
                self._check_schema(entry, before)
            self.schemas[entry.dataset] = content["schema"]
        if "open_factor" in content:
            self._check_factor(entry)
        return standing, account

    @staticmethod
    def _check_bits(entry: Entry, before: Standing | None, account: Account) -> None:
        content = entry.told
        if entry.kind == "period":
            given = {word: value for word, value in content.items() if word in MAY_SAY["period"]}
            if content != settle("period", given, before, None, entry.time):
                raise Broken(f"row {entry.sequence} is not in the format that a ledger writes")
        elif entry.kind == "allowance":
            check_bits(content, account.bits)
        elif "bits" in content:
            check_bits(content, None if before is None else before.budget)

    def _check_version(self, entry: Entry) -> None:
        version = entry.told["version"]
        if self._had(entry.dataset, version):
            raise Broken(f"row {entry.sequence} names a version that was used before")
        self.versions.add((entry.dataset, version))

    def _had(self, dataset: str, version: str) -> bool:
        """Whether the data of a dataset had a version so far."""
        past = self._past is not None and self._past.had(dataset, version)
        return past or (dataset, version) in self.versions

    def _check_schema(self, entry: Entry, before: Standing) -> None:
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
        wanted = [
            content["open_factor"],
            *([content["open_charge"]] if "version" in content else []),
        ]
        if right is None:
            self.unchecked.append(entry.sequence)
        elif any(read_integer(factor) != right for factor in wanted):
            raise Broken(
                f"row {entry.sequence} charges a price that differs from that of its open columns"
            )

    def _holder(self, entry: Entry) -> str:
        own = bool(entry.analyst) and (entry.dataset, entry.analyst) in self.accounts
        holder = entry.analyst if own else ""
        if entry.account != holder:
            raise Broken(f"row {entry.sequence} charges the wrong account")
        return holder

    def _reserve(self, entry: Entry) -> tuple[Standing, Account]:
        holder, content = self._holder(entry), entry.told
        standing = self.standings[entry.dataset]
        account = self.accounts[entry.dataset, holder]
        digests = [
            question_digest(entry.dataset, standing.version, standing.schema, canonical(question))
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
        if paid or len(set(digests)) != len(digests) or not same or not digests:
            raise Broken(
                f"row {entry.sequence} charges for a question already paid, or fails to charge "
                "for an unpaid one"
            )
        if content["version"] != standing.version:
            raise Broken(f"row {entry.sequence} is about another version of the data")
        cells, account_cells = read_integer(entry.cells), read_integer(entry.account_cells)
        parts = charged_parts(content, "parts", cells)
        account_parts = charged_parts(content, "account_parts", account_cells)
        self._check_price(entry, fresh, parts, account_parts)
        after, account = standing.after(parts, entry.rules), account.charged(account_parts)
        period = after.period
        if not (
            min(cells, account_cells) >= 1
            and after.balance.holds(1)
            and after.balance_of(account).holds(1)
            and (period is None or period.balance.holds(1))
        ):
            raise Broken(f"row {entry.sequence} charges more than the budget had left")
        if standing.population is not None:
            self.charged_to[standing.population] //= standing.spent
            self._charge_population(entry, standing.population, after.spent)
        self.told.setdefault(entry.dataset, {})[entry.sequence] = charged_row(entry)
        self.charged.update(dict.fromkeys(digests, entry.dataset))
        self.asked.update(dict.fromkeys(((digest, holder) for digest in digests), entry.sequence))
        self._wait(entry, digests)
        return after, account

    def _wait(self, entry: Entry, digests: Sequence[str]) -> None:
        """Keep questions until they are answered, to check their answers; the note names them."""
        schema, rows = self.schemas[entry.dataset], self.standings[entry.dataset].rows
        note = entry.told.get("note") or ""
        for digest, question in zip(digests, entry.told["questions"], strict=True):
            charged = schema, question, entry.rules, rows
            if self._may_answer is not None and not self._may_answer(*charged, None, note):
                raise Broken(f"row {entry.sequence} has a note that asks something else")
            if digest not in self.answers:
                self.unanswered[digest] = charged

    def _check_price(
        self, entry: Entry, fresh: list[int], parts: PublicParts, account_parts: PublicParts
    ) -> None:
        if not fresh and parts.most != 1:
            raise Broken(f"row {entry.sequence} charges for a question already paid")
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
        if (less, right) != (parts, account_parts):
            raise Broken(
                f"row {entry.sequence} charges a price that differs from that of its questions"
            )
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
        standing = self.standings[entry.dataset]
        before = standing.schema_row  # a schema that comes back starts with nothing told, too
        for sequence in entry.told[word]:
            row = None
            # A schema that comes back starts with nothing told, like any other.
            if (
                type(sequence) is int
                and max(before, standing.schema_row) < sequence < entry.sequence
            ):
                row = self.told.get(entry.dataset, {}).get(sequence)
                if row is None and self._past is not None:
                    row = self._past.charged_row(entry.dataset, sequence)
            if (
                row is None
                or (row.version, row.schema) != (standing.version, standing.schema)
                or account not in {None, row.account}
            ):
                raise Broken(f"row {entry.sequence} is priced from a row that it must not use")
            questions += row.questions
            before = sequence
        return questions

    def _commit(self, entry: Entry) -> tuple[Standing, Account]:
        holder, content = self._holder(entry), entry.told
        if (entry.cells, entry.account_cells) != ("1", "1"):
            raise Broken(f"row {entry.sequence} charges for an answer already paid")
        answered: Collection[str] = ()
        earlier: Collection[str] = ()
        if self._past is not None:
            earlier = self._past.charged(entry.dataset, list(content["answers"]))
            answered = self._past.answered(list(content["answers"]))
        for digest, answer in content["answers"].items():
            charged = self.charged.get(digest) == entry.dataset or digest in earlier
            if not charged or digest in self.answers or digest in answered:
                raise Broken(
                    f"row {entry.sequence} answers a question that was not asked, or one twice"
                )
            if not CELL_INDEX.fullmatch(answer) or not self._may_be(entry, digest, answer):
                raise Broken(f"row {entry.sequence} holds an invalid answer")
            self.answers[digest] = answer, entry.sequence
        if not content["answers"] or not self._had(entry.dataset, content["version"]):
            raise Broken(f"row {entry.sequence} has no answer, or is about unknown data")
        return self.standings[entry.dataset], self.accounts[entry.dataset, holder]

    def _may_be(self, entry: Entry, digest: str, answer: str) -> bool:
        """Whether an answer is a cell of its question.

        A question's price rests on the range that it names: outside of it, a question that was
        priced as a constant could have any answer.
        """
        asked = self.unanswered.pop(digest, None)
        if self._may_answer is None:
            return True
        if asked is None and self._past is not None:
            asked = self._past.question(entry.dataset, digest)
        return asked is None or self._may_answer(*asked, answer)
