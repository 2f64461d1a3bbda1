"""The state after the rows up to a saved head, read from those rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.reading import charged_row
from hartley.agent.ledger.rows.entries import canonical, question_digest
from hartley.agent.ledger.rows.state import read_standing
from hartley.agent.ledger.stores.chain import schema_of
from hartley.agent.ledger.stores.populations import read_fund

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.agent.ledger.reading import ChargedRow
    from hartley.agent.ledger.rows.entries import Entry, Head
    from hartley.agent.ledger.rows.state import Account, Standing
    from hartley.agent.ledger.stores.populations import Fund
    from hartley.agent.ledger.stores.store import Transaction


class Past:
    """The state after the rows up to a head.

    The state is in the rows: that of a dataset, an account or a population is in its last row
    before the head. Each row that is read this way must be unchanged and continued by the next;
    which questions were paid for and answered is looked up in the same way.
    """

    def __init__(self, transaction: Transaction, head: Head, last: Entry) -> None:
        self._transaction, self.head, self.last = transaction, head, last
        self.standings: dict[str, Standing] = {}
        self.accounts: dict[tuple[str, str], Account] = {}
        self.schemas: dict[str, Any] = {}
        self.funds: dict[str, Fund] = {}
        for dataset in transaction.datasets():
            row = transaction.latest(dataset, until=head.sequence)
            if row is None:
                continue
            self.standings[dataset] = read_standing(row)[0]
            self.schemas[dataset] = schema_of(transaction, dataset, self.standings[dataset])
            for account in transaction.accounts(dataset):
                own = transaction.latest(dataset, account, until=head.sequence)
                if own is not None:
                    then, its = read_standing(own)
                    self.accounts[dataset, account] = self.standings[dataset].own(its, then)
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
        return schema, question, entry.rules, read_standing(entry)[0].rows

    def answered(self, digests: Sequence[str]) -> set[str]:
        """Return the questions that were answered by then."""
        return set(self._transaction.paid(digests, until=self.head.sequence).answers)
