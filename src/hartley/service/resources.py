"""What a worker has open: the ledger, the accounts, its threads, and what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.agent.ledger.ledger import open_ledger
from hartley.service.accounts import open_accounts
from hartley.service.envelope import ServiceError
from hartley.service.lanes import Lanes
from hartley.service.metrics import Metrics
from hartley.service.rates import Rates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.agent.quotes import Wish
    from hartley.service.accounts import Identity
    from hartley.service.settings import ServiceSettings


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
        self.lanes = Lanes(settings.engine_lanes, settings.queue, settings.question_seconds)
        self.rates = Rates(settings.runtime)
        self.metrics = Metrics(settings.runtime)

    def count(self, identity: Identity, kind: str, wishes: Sequence[Wish]) -> None:
        """Count prices or asks of an account; raise an error if there were too many."""
        self.check_batch(wishes)
        limits = self.settings.limits
        most = limits.prices_per_minute if kind == "prices" else limits.asks_per_minute
        self.rates.take(identity.account, kind, most, len(wishes))

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
