"""What a worker has open: the ledger, the accounts, its threads, and what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.agent.ledger.auditable_ledger import open_ledger
from hartley.service.accounts import open_accounts
from hartley.service.envelope import ServiceError
from hartley.service.lanes import Lanes
from hartley.service.ledger_guard import LedgerGuard
from hartley.service.metrics import Metrics
from hartley.service.rates import Rates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.agent.questions.selection import Selection
    from hartley.agent.quotes import Wish
    from hartley.service.accounts import Identity
    from hartley.service.settings import ServiceSettings

ITEMS_OF_A_QUESTION = 25
"""Numbers that take about as long to price as a plain question, and count as one."""
LIGHT_TEXT = 1000
"""Characters up to which a text without groups and lists is read in a moment."""


def weight_of(wishes: Sequence[Wish]) -> int:
    """Return how many plain questions some count as, from their texts alone.

    Example:
        >>> from hartley.agent.quotes import Wish
        >>> many = Wish(f"SELECT {', '.join(['AVG(age)'] * 100)} FROM people")
        >>> weight_of([many]), weight_of([Wish("SELECT AVG(age) FROM people")] * 2)
        (4, 2)
    """
    return sum(1 + wish.text.count(",") // ITEMS_OF_A_QUESTION for wish in wishes)


def items_of(plans: Sequence[Selection]) -> int:
    """Return how many numbers plans would give: items of the texts, times their groups."""
    return sum(len(plan.items) for plan in plans)


def is_light(wishes: Sequence[Wish]) -> bool:
    """Tell whether questions are read in a moment, so that looking them up needs no lane.

    Groups are not in the text, so every text with groups may be long to read.
    """
    return sum(len(wish.text) for wish in wishes) <= LIGHT_TEXT and all(
        wish.text.count(",") < ITEMS_OF_A_QUESTION and "group" not in wish.text.lower()
        for wish in wishes
    )


class Resources:
    """The ledger and accounts of a worker, its lanes, rate limits and counters."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.ledger = open_ledger(settings.ledger, create=False)
        try:
            self.accounts = open_accounts(self.ledger)
        except BaseException:
            self.ledger.close()
            raise
        self.lanes = Lanes(
            settings.engine_lanes,
            settings.queue,
            settings.question_seconds,
            settings.limits.lanes_per_account or (settings.engine_lanes + 1) // 2,
            settings.pending_seconds,
        )
        self.guard = LedgerGuard(self.ledger, settings.runtime)
        self.rates = Rates(settings.runtime)
        self.metrics = Metrics(settings.runtime)

    def count(
        self, identity: Identity, kind: str, wishes: Sequence[Wish], *, more: int = 0
    ) -> None:
        """Count prices or asks of an account; raise an error if there were too many.

        A text counts by what it lists, and ``more`` where its groups are known by now.
        """
        self.check_batch(wishes)
        self._take(identity, kind, weight_of(wishes) + more)

    def count_items(
        self,
        identity: Identity,
        kind: str,
        wishes: Sequence[Wish],
        plans: Sequence[Selection],
    ) -> None:
        """Count the numbers that plans would give beyond what their texts list."""
        self.check_items(plans)
        more = items_of(plans) // ITEMS_OF_A_QUESTION - weight_of(wishes)
        if more > 0:
            self._take(identity, kind, more)

    def give_back(self, identity: Identity, kind: str, wishes: Sequence[Wish]) -> None:
        """Take back what was counted for questions that turned out to be repeats."""
        self._take(identity, kind, -weight_of(wishes))

    def _take(self, identity: Identity, kind: str, count: int) -> None:
        limits = self.settings.limits
        most = limits.prices_per_minute if kind == "prices" else limits.asks_per_minute
        self.rates.take(identity.account, kind, most, count)

    def check_items(self, plans: Sequence[Selection]) -> None:
        """Raise an error for plans of more numbers than one request may ask for."""
        most = self.settings.limits.numbers_per_request
        if items_of(plans) > most:
            raise ServiceError(
                422,
                "invalid",
                f"The request asks for {items_of(plans):,} numbers, and one may ask for {most:,}",
                hint="ask for fewer columns or groups at once",
            )

    def check_batch(self, wishes: Sequence[Wish]) -> None:
        """Raise an error for a batch without questions, or with too many."""
        most = self.settings.limits.questions_per_batch
        if not 1 <= len(wishes) <= most:
            raise ServiceError(
                422,
                "invalid",
                f"The batch does not have 1 to {most:,} questions",
                hint="send the others in a batch of their own",
            )

    def close(self) -> None:
        """Close everything; the threads must have ended."""
        self.accounts.close()
        self.ledger.close()
        self.metrics.close()
        self.rates.close()
        self.guard.close()
