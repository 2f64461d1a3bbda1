"""The Service class: what an account can do with the datasets, whatever page or route asks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hartley.agent.asking import ChargeLimit, quote
from hartley.agent.planning import plan
from hartley.agent.price_curve import price_curve
from hartley.errors import OptionError
from hartley.exact import bits_at_most
from hartley.service.accounts import TokenScope
from hartley.service.answering import AskRequest, answer_once, own_refusal
from hartley.service.envelope import forbidden, not_found
from hartley.service.hosted_dataset import HostedDataset
from hartley.service.lanes import Ticket
from hartley.service.own_rows import RowIds, own_balance, own_charge, own_charges
from hartley.service.paid_answers import reopened
from hartley.service.resources import Resources
from hartley.service.shown import shown_answer, shown_text
from hartley.wording import bits_down

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.agent.answers.quote import Quote
    from hartley.agent.quotes import Wish
    from hartley.service.accounts import Identity
    from hartley.service.hosted_dataset import OpenVersion
    from hartley.service.own_rows import OwnBalance, OwnCharge
    from hartley.service.settings import ServiceSettings

INVENTED_ROWS = 500
"""Invented rows that take about as long as a price, and count as one."""
ROWS_SEARCHED = 1000
"""Rows of the history that one page of a search looks at."""


class Service:
    """The datasets of one worker, and everything that an account may do with them.

    Every method takes the identity of the account and checks what it may do. Replies are plain
    values, ready for JSON, and show of the ledger only what is the account's own.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.resources = resources = Resources(settings)
        self.ledger, self.accounts = resources.ledger, resources.accounts
        self.lanes, self.metrics = resources.lanes, resources.metrics
        self.checked: dict[str, tuple[float, str | None]] = {}
        """When parts were checked last, and what was wrong with them."""
        self.ids = RowIds(self.ledger.secret().key)
        self.hosted = {
            name: HostedDataset(dataset, settings, self.ledger, resources.guard)
            for name, dataset in settings.datasets.items()
        }

    def open(self) -> None:
        """Open every coded copy, so that the first question does not wait for it."""
        for hosted in self.hosted.values():
            hosted.open()

    def close(self) -> None:
        """Finish what was charged, and close everything."""
        self.lanes.close()
        for hosted in self.hosted.values():
            hosted.close()
        self.resources.close()

    def save(self) -> None:
        """Write what is not written for every request: counters, and where the ledger ends."""
        self.metrics.gauge("engine_admitted", self.lanes.admitted)
        self.metrics.save()
        for hosted in self.hosted.values():
            hosted.write_note()

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
        return (await self.lanes.quick(lambda: hosted.schema)).to_toml()

    async def dummy_rows(
        self, identity: Identity, name: str, rows: int, seed: int
    ) -> dict[str, list[Any]]:
        """Return invented rows by column: text for dates, plain values otherwise."""
        hosted = self.dataset(identity, name)
        most, limits = self.settings.limits.rows, self.settings.limits
        if not 1 <= rows <= most:
            raise OptionError(
                f"The number of rows is not from 1 to {most:,}", hint="ask for fewer rows"
            )
        count = 1 + rows // INVENTED_ROWS
        self.resources.rates.take(identity.account, "prices", limits.prices_per_minute, count)

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
        self.resources.count(identity, "prices", wishes)
        account, ticket = identity.account, Ticket(identity.account)

        def work(opened: OpenVersion) -> dict[str, Any]:
            desk = opened.agent.desk
            plans = desk.plan(list(wishes), None, None)
            self.resources.count_items(identity, "prices", wishes, plans)
            ticket.check()
            own = own_balance(hosted.own(account))
            # Rows of the ledger are not named by their numbers, which count all rows.
            quoted = quote(
                desk,
                plans,
                self.ledger,
                account,
                vacuous=vacuous,
                name_rows=False,
                limits=self._limits(account),
            )
            content = self._quoted(quoted, own)
            if explain:
                content["explanation"] = quoted.explanation
            if curve:
                content["curves"] = curves = []
                for wish in wishes:
                    ticket.check()
                    curve_of_wish = price_curve(wish, opened.agent, most=most, analyst=account)
                    curves.append(shown_text(curve_of_wish))
            return content

        # In a lane, since some prices take seconds, and repeats do not wait for them.
        content = await self.lanes.engine(lambda: hosted.run(work), ticket)
        self.metrics.count("questions", dataset=name, outcome="priced")
        return content

    def _quoted(self, quoted: Quote, own: OwnBalance) -> dict[str, Any]:
        """Return a quote with the account's balance only, and rows by names that count nothing."""
        refusal = None
        if quoted.refusal is not None:
            refusal = own_refusal(quoted.bits, own).problem
        shown = replace(quoted, remaining=own.remaining, refusal=refusal)
        return shown_text(shown) | {
            "given": [self.ids.name(row) for row in shown.given],
        }

    def _limits(self, account: str) -> list[ChargeLimit]:
        """Return what a charge to an account must keep beside its allowance: its daily cap.

        It counts the charge for the type of the public columns that costs most.
        """
        left = self.accounts.left_today(account)
        if left is None:
            return []
        words = f"the account may spend {bits_down(bits_at_most(left))} more today"
        return [ChargeLimit(lambda parts: parts.most <= left, words)]

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
        self.resources.count(identity, "prices", wishes)
        account, ticket = identity.account, Ticket(identity.account)

        def work(opened: OpenVersion) -> dict[str, Any]:
            plans = opened.agent.desk.plan(list(wishes), None, None)
            self.resources.count_items(identity, "prices", wishes, plans)
            ticket.check()
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
                # The part of a period is not looked at, which would show what others spent.
                limits=self._limits(account),
            )
            refusal = None if planned.refusal is None else own_refusal(planned.bits, own).problem
            return shown_text(replace(planned, remaining=own.remaining, refusal=refusal))

        return await self.lanes.engine(lambda: hosted.run(work), ticket)

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
        most_bits: float | None = None,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Answer questions: a repeat at once and for free, new ones in a lane of the engine.

        Args:
            identity: who asks.
            name: the dataset.
            wishes: the questions.
            batch: whether to reply with a list of answers, also for one question.
            vacuous: whether to pay for answers that say no more than the schema.
            given: the rows of a price, which the new one may rest on.
            most_bits: the bits of a price; if more is due by now, nothing is charged.
            key: an idempotency key: the same key and questions give the same reply for 24 hours.
        """
        hosted = self.dataset(identity, name)
        if not identity.scope.includes(TokenScope.REPEAT):
            raise forbidden(
                "This token may see prices, but ask nothing", "use a token with the scope 'ask'"
            )
        self.resources.check_batch(wishes)
        # What is no name of a row is a row that there is not: both are refused alike.
        rows = None if given is None else [self.ids.number(row) or 0 for row in given]
        # A database that keeps the copy runs its statements one after another.
        one_by_one = hosted.near is not None
        ticket = Ticket(identity.account, (name, tuple(wishes)), yields=one_by_one)
        asked = AskRequest(
            identity, hosted, tuple(wishes), batch, vacuous, rows, ticket, key, most_bits
        )
        return await answer_once(self.resources, asked)

    # --- what was asked ---

    async def budget(self, identity: Identity, name: str) -> dict[str, Any]:
        """Return the account's allowance, what was spent of it, and the promise of the dataset."""
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

    async def history(  # noqa: PLR0913 - parts of a request
        self,
        identity: Identity,
        name: str,
        *,
        after: str | None = None,
        limit: int = 50,
        newest: bool = False,
        find: str | None = None,
    ) -> dict[str, Any]:
        """Return a page of what the account paid for, and where the next page starts.

        ``find`` keeps the questions that contain a text; a page then looks at so many rows only.
        """
        hosted = self.dataset(identity, name)
        start = self._row(after)
        most = self.settings.limits.rows
        if not 1 <= limit <= most:
            raise OptionError(f"The limit is not from 1 to {most:,}", hint="ask for fewer rows")

        def work(opened: OpenVersion) -> dict[str, Any]:
            looked_at = limit if find is None else max(limit, ROWS_SEARCHED)
            charges = own_charges(
                self.ledger, name, identity.account, after=start, limit=looked_at + 1, newest=newest
            )
            matching = [
                charge
                for charge in charges[:looked_at]
                if find is None or find.casefold() in charge.note.casefold()
            ]
            page, last = matching[:limit], None
            if len(matching) > limit:
                last = page[-1]
            elif len(charges) > looked_at:
                last = charges[looked_at - 1]
            return {
                "rows": [self._charge_content(opened, charge) for charge in page],
                "next": None if last is None else self.ids.name(last.sequence),
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
            "added_bits": charge.added_bits,
            "answered": charge.answered,
            "present": (charge.version, charge.schema) == (opened.version, opened.schema_version),
        }

    async def answer(self, identity: Identity, name: str, row: str) -> dict[str, Any]:
        """Return what the account paid for in one row, with its answers and certificate, free."""
        hosted = self.dataset(identity, name)
        if not identity.scope.includes(TokenScope.REPEAT):
            raise forbidden(
                "This token may see prices, but no answers", "use a token with the scope 'repeat'"
            )
        number = self.ids.number(row)
        account = identity.account

        def work(opened: OpenVersion) -> dict[str, Any]:
            charge = None if number is None else own_charge(self.ledger, name, account, number)
            if charge is None:
                raise not_found("answer")
            content = self._charge_content(opened, charge)
            if not (content["present"] and charge.answered):
                return content | {"answers": None}
            answers = reopened(opened.agent.desk, self.ledger, account, charge)
            return content | {"answers": [shown_answer(answer) for answer in answers]}

        return await self.lanes.quick(lambda: hosted.run(work))

    async def certificate(self, identity: Identity, name: str, row: str) -> dict[str, Any]:
        """Return the certificate of one row; absent for a version that was replaced."""
        content = await self.answer(identity, name, row)
        if not content["answers"]:
            raise not_found("certificate")
        certificate: dict[str, Any] = content["answers"][0]["certificate"]
        return certificate


def _plain(value: Any) -> Any:  # noqa: ANN401 - a value of any column
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
