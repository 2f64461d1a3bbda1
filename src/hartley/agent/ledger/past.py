"""How everything stood at a saved head: read from the rows up to it, not checked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.appending import schema_of
from hartley.agent.ledger.populations import read_fund
from hartley.agent.ledger.standing import read_standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.agent.ledger.entries import Entry, Head
    from hartley.agent.ledger.populations import Fund
    from hartley.agent.ledger.standing import Account, Standing
    from hartley.agent.ledger.store import Transaction


class Past:
    """What the rows up to a head lead to.

    The state is in the rows: how a dataset, an account or a population stood is in its last row
    before the head. Each row that is read this way must be as it was written and continued by
    the next; which questions were paid for and answered is looked up the same way.
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
                    self.accounts[dataset, account] = read_standing(own)[1]
        for name in transaction.populations():
            row = transaction.latest("", name, until=head.sequence)
            if row is not None:
                self.funds[name] = read_fund(row)

    def had(self, dataset: str, version: str) -> bool:
        """Tell whether the data of a dataset had a version by then."""
        return version in self._transaction.versions(dataset, until=self.head.sequence)

    def paid(self, digests: Sequence[str]) -> dict[str, set[str]]:
        """Return the accounts that were charged for questions by then, by digest."""
        accounts = self._transaction.paid(digests, until=self.head.sequence).accounts
        return {digest: set(by) for digest, by in accounts.items()}

    def answered(self, digests: Sequence[str]) -> set[str]:
        """Return the questions that were answered by then."""
        return set(self._transaction.paid(digests, until=self.head.sequence).answers)
