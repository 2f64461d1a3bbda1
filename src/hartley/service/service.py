"""The Service class: what an account can do with the datasets, whatever page or route asks."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.ledger import open_ledger
from hartley.agent.planning import plan
from hartley.agent.price_curve import price_curve
from hartley.agent.quotes import Wish
from hartley.errors import NotPermitted, OptionError, Pending, Refused
from hartley.service.accounts import TokenScope, open_accounts
from hartley.service.envelope import ServiceError, forbidden, not_found, pending
from hartley.service.hosted_dataset import HostedDataset
from hartley.service.lanes import Lanes
from hartley.service.metrics import Metrics
from hartley.service.own_rows import RowIds, own_balance, own_charge, own_charges
from hartley.service.rates import Rates
from hartley.service.reopening import reopened
from hartley.wording import bits_down, bits_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.agent.answers.answer import Answer, BatchAnswer, Quote
    from hartley.agent.ledger.store import Transaction
    from hartley.service.accounts import Identity
    from hartley.service.hosted_dataset import OpenVersion
    from hartley.service.own_rows import OwnBalance, OwnCharge
    from hartley.service.settings import ServiceSettings


class Service:
    """The datasets of one worker, and everything that an account may do with them.

    Every method takes the identity of the account and checks what it may do. Replies are plain
    values, ready for JSON, and show of the ledger only what is the account's own.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.ledger = open_ledger(settings.ledger, create=False)
        try:
            self.accounts = open_accounts(self.ledger)
            self.ids = RowIds(self.ledger.secret().key)
        except BaseException:
            self.ledger.close()
            raise
        self.hosted = {
            name: HostedDataset(dataset, settings, self.ledger)
            for name, dataset in settings.datasets.items()
        }
        self.lanes = Lanes(settings.engine_lanes, settings.queue, settings.question_seconds)
        self.rates = Rates(settings.runtime)
        self.metrics = Metrics(settings.runtime)

    def open(self) -> None:
        """Open every coded copy, so that the first question does not wait for it."""
        for hosted in self.hosted.values():
            hosted.open()

    def close(self) -> None:
        """Finish what was charged, and close everything."""
        self.lanes.close()
        for hosted in self.hosted.values():
            hosted.close()
        self.accounts.close()
        self.ledger.close()
        self.metrics.close()
        self.rates.close()

    # --- who asks ---

    async def authenticate(self, token: str) -> Identity | None:
        """Return who a token stands for; None if it is not valid."""
        return await self._looked_up(lambda: self.accounts.authenticate(token))

    async def identity_of(self, account: str) -> Identity | None:
        """Return the identity of an account that a trusted proxy names; None if it is not valid."""
        return await self._looked_up(lambda: self.accounts.identity_of(account))

    async def _looked_up(self, work: Callable[[], Identity | None]) -> Identity | None:
        # A file answers in microseconds, less than a change of threads takes; a server may not.
        return work() if self.ledger.path is not None else await self.lanes.quick(work)

    # --- what there is ---

    def dataset(self, identity: Identity, name: str) -> HostedDataset:
        """Return a dataset; one that is not granted looks like one that does not exist."""
        hosted = self.hosted.get(name)
        if not identity.sees(name) or hosted is None:
            raise not_found()
        return hosted

    def visible(self, identity: Identity) -> list[str]:
        """Name the datasets that an account sees."""
        return [name for name in self.hosted if identity.sees(name)]

    async def describe(self, identity: Identity, name: str) -> dict[str, Any]:
        """Return what is public of a dataset."""
        hosted = self.dataset(identity, name)

        def work(opened: OpenVersion) -> dict[str, Any]:
            schema = opened.agent.schema
            state = self.ledger.state(name)
            return {
                "name": name,
                "version": opened.version,
                "schema_version": opened.schema_version,
                "rules": state.rule_version,
                "rows": state.rows,
                "record_bits": schema.record_bits,
                "default_bits": str(schema.default_bits),
                "description": schema.describe(),
            }

        return await self.lanes.quick(lambda: hosted.run(work))

    async def schema_text(self, identity: Identity, name: str) -> str:
        """Return the schema as TOML."""
        hosted = self.dataset(identity, name)
        return await self.lanes.quick(lambda: hosted.schema.to_toml())

    async def dummy_rows(
        self, identity: Identity, name: str, rows: int, seed: int
    ) -> dict[str, list[Any]]:
        """Return invented rows by column: text for dates, plain values otherwise."""
        hosted = self.dataset(identity, name)
        most = self.settings.limits.rows
        if not 1 <= rows <= most:
            raise OptionError(
                f"The number of rows is not from 1 to {most:,}", hint="ask for fewer rows"
            )

        def work() -> dict[str, list[Any]]:
            table = hosted.schema.dummy_data(rows, seed)
            return {
                column: [_plain(value) for value in values]
                for column, values in table.to_pydict().items()
            }

        return await self.lanes.quick(work)

    # --- prices ---

    async def price(  # noqa: PLR0913 - what a price rests on, each by name
        self,
        identity: Identity,
        name: str,
        wishes: Sequence[Wish],
        *,
        curve: bool = False,
        most: object = 16,
        explain: bool = False,
        vacuous: bool = False,
    ) -> dict[str, Any]:
        """Return what questions would cost the account now; nothing is spent."""
        hosted = self.dataset(identity, name)
        self._count(identity, "prices", wishes)
        account = identity.account

        def work(opened: OpenVersion) -> dict[str, Any]:
            own = own_balance(hosted.own(account))
            quote = opened.agent.price(list(wishes), analyst=account, vacuous=vacuous)
            content = self._quoted(quote, own)
            if explain:
                # Its last line names rows of the ledger by their numbers, which count all rows.
                content["explanation"] = quote.explanation.split("\nGiven what ")[0]
            if curve:
                content["curves"] = [
                    price_curve(wish, opened.agent, most=most, analyst=account).to_dict()
                    for wish in wishes
                ]
            return content

        content = await self._in_time(lambda: hosted.run(work))
        self.metrics.count("questions", dataset=name, outcome="priced")
        return content

    def _quoted(self, quote: Quote, own: OwnBalance) -> dict[str, Any]:
        """Return a quote with the own balance alone, and rows by names that count nothing."""
        refusal = None
        if quote.refusal is not None:
            refusal = own_refusal(quote.due or 0.0, own).problem
        return quote.to_dict() | {
            "remaining_bits": own.remaining,
            "refusal": refusal,
            "given": [self.ids.name(row) for row in quote.given],
        }

    async def plan(  # noqa: PLR0913 - what a plan rests on, each by name
        self,
        identity: Identity,
        name: str,
        wishes: Sequence[Wish],
        *,
        budget: object = None,
        weights: Sequence[object] | None = None,
        absolute: bool = False,
        vacuous: bool = False,
    ) -> dict[str, Any]:
        """Return what a workload costs as a batch and one by one, and how to share a budget."""
        hosted = self.dataset(identity, name)
        self._count(identity, "prices", wishes)
        account = identity.account

        def work(opened: OpenVersion) -> dict[str, Any]:
            own = own_balance(hosted.own(account))
            planned = plan(
                list(wishes),
                opened.agent,
                budget=budget,
                ledger=self.ledger,
                analyst=account,
                weights=weights,
                absolute=absolute,
                vacuous=vacuous,
            )
            refusal = None if planned.refusal is None else own_refusal(planned.bits, own).problem
            return planned.to_dict() | {"remaining_bits": own.remaining, "refusal": refusal}

        return await self._in_time(lambda: hosted.run(work))

    async def _in_time(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Compute prices in a lane: some take seconds, and repeats do not wait for them."""
        try:
            return await self.lanes.engine(work)
        except ServiceError as error:
            if error.code != "pending":
                raise
            raise ServiceError(
                503,
                "busy",
                "The price takes too long to compute",
                hint="ask fewer questions at once; nothing was charged",
                retry_after=1,
            ) from None

    # --- questions ---

    async def ask(  # noqa: PLR0913 - what an answer rests on, each by name
        self,
        identity: Identity,
        name: str,
        wishes: Sequence[Wish],
        *,
        batch: bool = False,
        vacuous: bool = False,
        given: Sequence[str] | None = None,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Answer questions: a repeat at once and for free, new ones in a lane of the engine.

        Args:
            identity: who asks.
            name: the dataset.
            wishes: the questions.
            batch: whether to reply with a list of answers, also for one question.
            vacuous: whether to pay for answers that say no more than the schema.
            given: the rows of a price, which is then not exceeded.
            key: an idempotency key: the same key and questions give the same reply for 24 hours.
        """
        hosted = self.dataset(identity, name)
        if not identity.scope.includes(TokenScope.REPEAT):
            raise forbidden(
                "This token may see prices, but ask nothing", "use a token with the scope 'ask'"
            )
        self._check_batch(wishes)
        if key is None:
            return await self._asked(identity, hosted, wishes, batch, vacuous, given)
        about = json.dumps([name, [[w.text, str(w.error), str(w.bits)] for w in wishes], vacuous])
        digest = hashlib.sha256(about.encode()).hexdigest()
        account = identity.account
        kept = await self.lanes.quick(lambda: self.accounts.idempotent(account, key, digest))
        if kept is None:
            reply = json.dumps(await self._asked(identity, hosted, wishes, batch, vacuous, given))
            kept = await self.lanes.quick(
                lambda: self.accounts.keep_reply(account, key, digest, reply)
            )
        content: dict[str, Any] = json.loads(kept)
        return content

    async def _asked(  # noqa: PLR0913, PLR0917 - as in ask
        self,
        identity: Identity,
        hosted: HostedDataset,
        wishes: Sequence[Wish],
        batch: bool,  # noqa: FBT001 - as in ask
        vacuous: bool,  # noqa: FBT001 - as in ask
        given: Sequence[str] | None,
    ) -> dict[str, Any]:
        rows = None if given is None else [n for row in given if (n := self.ids.number(row))]
        account = identity.account
        check = self._charge_check(identity)

        def repeat(opened: OpenVersion) -> dict[str, Any] | None:
            if not hosted.is_known_repeat(account, wishes):
                hosted.own(account)
            return ask(opened) if hosted.is_repeat(opened, account, wishes) else None

        def ask(opened: OpenVersion) -> dict[str, Any]:
            reply = opened.agent.ask(
                list(wishes), analyst=account, vacuous=vacuous, given=rows, check=check
            )
            return self._answered(hosted, account, reply, batch=batch)

        outcome = "repeat"
        try:
            if self.ledger.path is not None and hosted.is_known_repeat(account, wishes):
                # Reads of a file take less than a change of threads, and wait for no writer.
                content: dict[str, Any] | None = hosted.run(repeat, check=False)
            else:
                content = await self.lanes.quick(lambda: hosted.run(repeat, check=False))
            if content is None:
                if not identity.scope.includes(TokenScope.ASK):
                    raise forbidden(
                        "This token may repeat what the account has paid for, but ask nothing new",
                        "use a token with the scope 'ask'",
                    )
                self._count(identity, "asks", wishes)
                outcome = "new"
                content = await self.lanes.engine(lambda: hosted.run(ask, check=False))
        except NotPermitted as error:
            raise forbidden(error.problem, error.hint) from None
        except Pending as error:
            outcome = "pending"
            raise pending(error.problem) from None
        except Refused as error:
            outcome = "refused"
            raise await self._refusal(hosted, account, error) from None
        except ServiceError as error:
            outcome = error.code
            raise
        finally:
            self.metrics.count("questions", dataset=hosted.name, outcome=outcome)
        return content

    def _charge_check(self, identity: Identity) -> Callable[[Transaction, int], None]:
        """Return the last check before a charge: token, account and daily cap as they are now."""
        check = self.accounts.charge_check(identity)

        def checked(transaction: Transaction, cells: int) -> None:
            try:
                check(transaction, cells)
            except NotPermitted:
                raise
            except Refused as error:
                raise ServiceError(
                    409,
                    "daily_cap",
                    error.problem,
                    hint=error.hint,
                    requested=error.requested,
                    remaining=error.remaining,
                ) from None

        return checked

    async def _refusal(self, hosted: HostedDataset, account: str, error: Refused) -> Refused:
        """Return a refusal for lack of bits with the own balance alone; others stay as they are."""
        if error.requested is None:
            return error
        own = await self.lanes.quick(lambda: own_balance(hosted.own(account)))
        refusal = own_refusal(error.requested, own)
        if error.requested <= own.remaining:
            self.metrics.count("uncovered_allowances", dataset=hosted.name)
        return refusal

    def _answered(
        self, hosted: HostedDataset, account: str, reply: Answer | BatchAnswer, *, batch: bool
    ) -> dict[str, Any]:
        answers = [answer.to_dict() for answer in reply]  # type: ignore[union-attr]
        if hosted.shares_population:
            # What a population has left depends on others; the own allowance does not.
            own = own_balance(hosted.own(account))
            for content in answers:
                content |= {"spent_bits": own.spent, "remaining_bits": own.remaining}
        return {"bits": answers[0]["bits"], "answers": answers} if batch else answers[0]

    # --- what was asked ---

    async def budget(self, identity: Identity, name: str) -> dict[str, Any]:
        """Return the own allowance, what was spent of it, and the promise of the dataset."""
        hosted = self.dataset(identity, name)

        def work(opened: OpenVersion) -> dict[str, Any]:
            own = own_balance(hosted.own(identity.account))
            account = self.accounts.get(identity.account)
            schema = opened.agent.schema
            return own.to_dict() | {
                "dataset": name,
                "record_bits": schema.record_bits,
                "daily_cap_bits": None if account.daily_cap is None else str(account.daily_cap),
                "spent_today_bits": self.accounts.spent_today(identity.account),
            }

        return await self.lanes.quick(lambda: hosted.run(work))

    async def history(
        self,
        identity: Identity,
        name: str,
        *,
        after: str | None = None,
        limit: int = 50,
        newest: bool = False,
    ) -> dict[str, Any]:
        """Return a page of what the account paid for, and where the next page starts."""
        hosted = self.dataset(identity, name)
        start = self._row(after)
        most = self.settings.limits.rows
        if not 1 <= limit <= most:
            raise OptionError(f"The limit is not from 1 to {most:,}", hint="ask for fewer rows")

        def work(opened: OpenVersion) -> dict[str, Any]:
            charges = own_charges(
                self.ledger, name, identity.account, after=start, limit=limit + 1, newest=newest
            )
            page = charges[:limit]
            return {
                "rows": [self._charge_content(opened, charge) for charge in page],
                "next": self.ids.name(page[-1].sequence) if len(charges) > limit else None,
            }

        return await self.lanes.quick(lambda: hosted.run(work))

    def _row(self, name: str | None) -> int | None:
        if name is None:
            return None
        row = self.ids.number(name)
        if row is None:
            raise OptionError("There is no such row", hint="use the field next of a page")
        return row

    def _charge_content(self, opened: OpenVersion, charge: OwnCharge) -> dict[str, Any]:
        return {
            "id": self.ids.name(charge.sequence),
            "time": charge.time,
            "question": charge.note,
            "bits": charge.bits,
            "answered": charge.answered,
            "present": (charge.version, charge.schema) == (opened.version, opened.schema_version),
        }

    async def answer(self, identity: Identity, name: str, row: str) -> dict[str, Any]:
        """Return what the account paid for in one row, with its answers and certificate, free."""
        hosted = self.dataset(identity, name)
        number = self.ids.number(row)
        account = identity.account

        def work(opened: OpenVersion) -> dict[str, Any]:
            charge = (
                None if number is None else own_charge(self.ledger, name, account, number)
            )
            if charge is None:
                raise not_found("answer")
            content = self._charge_content(opened, charge)
            if not (content["present"] and charge.answered):
                return content | {"answers": None}
            reply = reopened(opened.agent, self.ledger, account, charge)
            answered = self._answered(hosted, account, reply, batch=True)
            return content | {"answers": answered["answers"]}

        return await self.lanes.quick(lambda: hosted.run(work))

    async def certificate(self, identity: Identity, name: str, row: str) -> dict[str, Any]:
        """Return the certificate of one row; absent for a version that was replaced."""
        content = await self.answer(identity, name, row)
        if not content["answers"]:
            raise not_found("certificate")
        certificate: dict[str, Any] = content["answers"][0]["certificate"]
        return certificate

    # --- limits ---

    def _count(self, identity: Identity, kind: str, wishes: Sequence[Wish]) -> None:
        self._check_batch(wishes)
        limits = self.settings.limits
        most = limits.prices_per_minute if kind == "prices" else limits.asks_per_minute
        self.rates.take(identity.account, kind, most, len(wishes))

    def _check_batch(self, wishes: Sequence[Wish]) -> None:
        most = self.settings.limits.questions_per_batch
        if not 1 <= len(wishes) <= most:
            raise ServiceError(
                422,
                "invalid",
                f"The batch does not have 1 to {most:,} questions",
                hint="send the others in a batch of their own",
            )


def own_refusal(bits: float, own: OwnBalance) -> Refused:
    """Return why a charge is refused, in words that say nothing about what others spent.

    The owner's budget covers all allowances (``hartley.service.coverage``), so the second sentence
    is needed only where somebody changed the ledger without the service.
    """
    if bits > own.remaining:
        problem = (
            f"The question costs {bits_up(bits)} and the allowance of the account has "
            f"{bits_down(own.remaining)} left"
        )
        hint = "ask for a coarser answer, with a larger error or fewer bits; repeats are free"
    else:
        problem = "The owner has not set enough bits aside for the allowances of this dataset"
        hint = "ask the owner of the service to look at the budget"
    return Refused(problem, hint=hint, requested=bits, remaining=own.remaining)


def _plain(value: Any) -> Any:  # noqa: ANN401 - a value of any column
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
