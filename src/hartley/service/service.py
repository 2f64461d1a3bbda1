"""The Service class: what an account can do with the datasets, whatever page or route asks."""

from __future__ import annotations

import hashlib
import ipaddress
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from hartley.agent.curve import price_curve
from hartley.agent.planning import plan
from hartley.agent.quoting import ChargeLimit, quote
from hartley.errors import NotPermitted, OptionError, Pending, Refused
from hartley.exact import bits_at_most
from hartley.results.answer import BatchAnswer
from hartley.service.administration import Administration
from hartley.service.hosting import HostedDataset, reopened
from hartley.service.identity import Identity, KeyedRequest, TokenScope
from hartley.service.lanes import Resources, Ticket, is_light
from hartley.service.own_rows import RowIds, own_balance, own_charge, own_charges
from hartley.service.replies import (
    ServiceError,
    forbidden,
    not_found,
    pending,
    shown_answer,
    shown_text,
    unauthorized,
)
from hartley.text import bits_down, bits_up
from hartley.trusted.ledger.store import read_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fastapi.security import HTTPAuthorizationCredentials

    from hartley.results.plan import Plan
    from hartley.results.quote import Quote, Wish
    from hartley.service.hosting import OpenVersion
    from hartley.service.own_rows import OwnBalance, OwnCharge
    from hartley.service.settings import ServiceSettings
    from hartley.trusted.ledger.store import Transaction
    from hartley.trusted.questions.question import Selection

T = TypeVar("T")
Result = TypeVar("Result", "Quote", "Plan")
INVENTED_ROWS = 500
"""Invented rows that take about as long as a price, and count as one."""
ROWS_SEARCHED = 1000
"""Rows of the history that one page of a search looks at."""
SCHEME = HTTPBearer(auto_error=False, description="A token that the owner issued.")
FORWARDED = ("forwarded", "x-forwarded-", "x-real-ip", "via")
"""How the names of headers begin that a proxy adds."""


# --- the course of a question: a repeat is looked up, anything new takes a lane ---


@dataclass(frozen=True)
class AskRequest:
    """A request to answer questions."""

    identity: Identity
    hosted: HostedDataset
    wishes: tuple[Wish, ...]
    batch: bool
    vacuous: bool
    given: list[int] | None
    most_bits: float | None
    """What may be charged at most; None for whatever is due."""
    ticket: Ticket
    keyed: KeyedRequest | None
    """The request with its idempotency key; None without a key."""

    @property
    def account(self) -> str:
        """Who asks."""
        return self.identity.account


async def answer_once(resources: Resources, asked: AskRequest) -> dict[str, Any]:
    """Answer questions; the same key and questions get the same reply, with the same charge."""
    keyed, accounts, quick = asked.keyed, resources.accounts, resources.lanes.quick
    if keyed is None:
        return await answer(resources, asked)
    bound = await quick(lambda: accounts.bound_key(keyed))
    if bound is None or bound.reply is None:
        content = await answer(resources, asked)
        if not content["bits"]:
            # Free now, and perhaps charged by an equal request whose reply was lost.
            bound = await quick(lambda: accounts.bound_key(keyed))
            if bound is not None and bound.bits:
                charged = {"bits": bound.bits}
                content = content | charged  # a new one: replies to repeats are kept
                if asked.batch:
                    content["answers"] = [each | charged for each in content["answers"]]
        reply = await quick(lambda: accounts.keep_reply(keyed, json.dumps(content)))
    else:
        reply = bound.reply
    replied: dict[str, Any] = json.loads(reply)
    return replied


async def answer(resources: Resources, asked: AskRequest) -> dict[str, Any]:
    """Answer questions for an account, and count what became of them."""
    hosted, outcomes = asked.hosted, ["repeat"]
    light = is_light(asked.wishes) or hosted.is_free_repeat(asked.account, asked.wishes)
    try:
        if not light:  # reading it takes as long as a price, so it counts as one until it is known
            await resources.lanes.finished(asked.ticket)
            resources.count(asked.identity, "prices", asked.wishes)
        content = await _repeated(resources, asked, outcomes, light=light)
        if content is None and await resources.lanes.finished(asked.ticket):
            content = await _repeated(resources, asked, outcomes, light=light)
        if content is None:
            outcomes.append("new")
            content = await _new(resources, asked)
        elif not light:
            resources.give_back(asked.identity, "prices", asked.wishes)
    except NotPermitted as error:
        outcomes.append("scope")
        raise forbidden(error.problem, error.hint) from None
    except Pending as error:
        outcomes.append("pending")
        raise pending(error.problem) from None
    except Refused as error:
        if outcomes[-1] == "repeat":  # a text that cannot be read takes time to refuse, too
            resources.count(asked.identity, "asks", asked.wishes)
        outcomes.append("refused")
        raise await _refusal(resources, asked, error) from None
    except ServiceError as error:
        outcomes.append(error.code)
        raise
    finally:
        resources.metrics.count("questions", dataset=hosted.name, outcome=outcomes[-1])
    return content


async def _repeated(
    resources: Resources, asked: AskRequest, outcomes: list[str], *, light: bool
) -> dict[str, Any] | None:
    """Return what the account has paid for; None if something of it is new or pending.

    Where a lane is free, a question that seems to be new is asked at once.
    """
    hosted, account = asked.hosted, asked.account
    may_ask = asked.identity.scope.includes(TokenScope.ASK)

    def admit(plans: Sequence[Selection]) -> None:
        asked.ticket.check()
        resources.check_items(plans)

    def work(opened: OpenVersion) -> dict[str, Any] | None:
        hosted.require_holder(opened, account)
        contents = hosted.repeat(opened, account, asked.wishes, admit, may_ask=may_ask)
        return None if contents is None else _content(contents, batch=asked.batch)

    if resources.ledger.path is not None and hosted.is_free_repeat(account, asked.wishes):
        # Reads of a file take less than a change of threads, and wait for no writer.
        return hosted.run(work, check=False)

    def at_once(opened: OpenVersion) -> dict[str, Any] | None:
        hosted.require_holder(opened, account)
        if hosted.seems_new(opened, account, asked.wishes, admit):
            return _ask_or_repeat(resources, asked, outcomes, opened) or work(opened)
        return work(opened)

    lanes = resources.lanes
    may_begin = lanes.is_free(account) and not lanes.is_finishing(asked.ticket)
    if light and not (may_ask and may_begin):
        return await resources.lanes.quick(lambda: hosted.run(work, check=False))
    if light:  # one change of threads for a new question
        return await resources.lanes.engine(lambda: hosted.run(at_once, check=False), asked.ticket)
    return await resources.lanes.engine(lambda: hosted.run(work, check=False), asked.ticket)


def _ask_or_repeat(
    resources: Resources, asked: AskRequest, outcomes: list[str], opened: OpenVersion
) -> dict[str, Any] | None:
    """Ask what seems to be new; None if it is to be looked up as a repeat.

    Another worker may have been asked the same: that is not counted as a question.
    """
    try:
        if "new" not in outcomes:  # once, also where a version was replaced meanwhile
            resources.count(asked.identity, "asks", asked.wishes)
    except ServiceError:
        if asked.hosted.repeat(opened, asked.account, asked.wishes, may_ask=True) is None:
            outcomes.append("new")
            raise
        return None
    outcomes.append("new")
    content = _answered(resources, asked, opened)
    if asked.ticket.charging:
        return content
    outcomes.append("repeat")
    resources.give_back(asked.identity, "asks", asked.wishes)
    return None


async def _new(resources: Resources, asked: AskRequest) -> dict[str, Any]:
    """Ask the agent, in a lane of the engine."""
    if not asked.identity.scope.includes(TokenScope.ASK):
        raise forbidden(
            "This token may repeat what the account has paid for, but ask nothing new",
            "use a token with the scope 'ask'",
        )
    resources.count(asked.identity, "asks", asked.wishes)
    return await resources.lanes.engine(
        lambda: asked.hosted.run(lambda opened: _answered(resources, asked, opened), check=False),
        asked.ticket,
    )


def _answered(resources: Resources, asked: AskRequest, opened: OpenVersion) -> dict[str, Any]:
    """Return the answers of the agent, which charges what is due."""
    plans = opened.agent.desk.plan(list(asked.wishes), None, None)
    resources.count_items(asked.identity, "asks", asked.wishes, plans)
    asked.ticket.check()
    reply = opened.agent.ask(
        list(asked.wishes),
        analyst=asked.account,
        vacuous=asked.vacuous,
        given=asked.given,
        most_bits=asked.most_bits,
        check=charge_check(resources, asked),
        paid=asked.ticket.mark_paid,
    )
    assert isinstance(reply, BatchAnswer)
    resources.ledger.store.read(resources.guard.check_in)  # notes the new rows
    answers = reply.answers
    if asked.hosted.shares_population:
        # What a population has left depends on others; the account's allowance does not.
        own = own_balance(asked.hosted.own(asked.account))
        answers = tuple(replace(each, spent=own.spent, remaining=own.remaining) for each in answers)
    return _content([shown_answer(each) for each in answers], batch=asked.batch)


def _content(contents: Sequence[dict[str, Any]], *, batch: bool) -> dict[str, Any]:
    return {"bits": contents[0]["bits"], "answers": contents} if batch else contents[0]


def charge_check(resources: Resources, asked: AskRequest) -> Callable[[Transaction, int], None]:
    """Return the last check before a charge: token, account and daily cap as they are now.

    All of it is in the transaction of the charge, and so is the key that the request is bound to.
    """
    accounts = resources.accounts
    check = accounts.charge_check(asked.identity)

    def checked(transaction: Transaction, cells: int) -> None:
        resources.guard.check_in(transaction, note=False)
        try:
            check(transaction, cells)
            asked.ticket.charge()
            if asked.keyed is not None:
                accounts.bind_key(transaction, asked.keyed, asked.hosted.name)
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


async def _refusal(resources: Resources, asked: AskRequest, error: Refused) -> Refused:
    """Return a refusal for lack of bits with the account's balance only; others are unchanged."""
    if error.requested is None:
        return error
    own = await resources.lanes.quick(lambda: own_balance(asked.hosted.own(asked.account)))
    if error.requested <= own.remaining:
        resources.metrics.count("uncovered_allowances", dataset=asked.hosted.name)
    return private_refusal(error.requested, own)


def private_refusal(bits: float, own: OwnBalance) -> Refused:
    """Return why a charge is refused, in words that say nothing about what others spent.

    The owner's budget covers all allowances (``hartley.service.own_rows``), so the second sentence
    is needed only where somebody changed the ledger without the service.
    """
    if bits > own.remaining:
        problem = (
            f"The question costs {bits_up(bits)} and the allowance of the account has "
            f"{bits_down(own.remaining)} left"
        )
        hint = "ask for a coarser answer, with a larger error or fewer bits; repeats are free"
        if not own.remaining:
            hint = "ask the owner of the service for a larger allowance; repeats are free"
    else:
        problem = "The owner has not set enough bits aside for the allowances of this dataset"
        hint = "ask the owner of the service to look at the budget"
    return Refused(problem, hint=hint, requested=bits, remaining=own.remaining)


# --- the service ---


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
        self.ids = RowIds(read_secret(self.ledger.store).key)
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
        return await self.look_up(lambda: self.accounts.authenticate(token))

    async def identity_of(self, account: str) -> Identity | None:
        """Return the identity of an account that a trusted proxy names; None if it is not valid."""
        return await self.look_up(lambda: self.accounts.identity_of(account))

    async def look_up(self, work: Callable[[], T]) -> T:
        """Return what the ledger's database says: a file at once, a server in another thread."""
        # A file answers in microseconds, less than a change of threads takes.
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
            plain = (str, int, float, bool, type(None))
            return {
                column: [value if isinstance(value, plain) else str(value) for value in values]
                for column, values in hosted.schema.dummy_data(rows, seed).to_pydict().items()
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
            content = shown_text(_private(quoted, own))
            content["given"] = [self.ids.name(int(row)) for row in quoted.given]
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
            return shown_text(_private(planned, own))

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
        keyed = None
        if key is not None:
            texts = [[w.text, str(w.error), str(w.bits), str(w.min_rows)] for w in wishes]
            about = json.dumps([name, texts, batch, vacuous, rows, most_bits])
            keyed = KeyedRequest(identity.account, key, hashlib.sha256(about.encode()).hexdigest())
        asked = AskRequest(
            identity, hosted, tuple(wishes), batch, vacuous, rows, most_bits, ticket, keyed
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
        start = None if after is None else self.ids.number(after)
        if after is not None and start is None:
            raise OptionError("There is no such row", hint="use the field next of a page")
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
        answers = (await self.answer(identity, name, row))["answers"]
        if not answers:
            raise not_found("certificate")
        certificate: dict[str, Any] = answers[0]["certificate"]
        return certificate


def _private(result: Result, own: OwnBalance) -> Result:
    """Return a quote or a plan with the account's own balance only."""
    refusal = result.refusal
    if refusal is not None and not result.exceeded:
        refusal = private_refusal(result.bits, own).problem
    return replace(result, remaining=own.remaining, refusal=refusal)


# --- who sends a request: a token in the header, or a name from a trusted reverse proxy ---


async def current_identity(
    request: Request, bearer: Annotated[object, Security(SCHEME)]
) -> Identity:
    """Return who sends a request; all tokens that are not valid get the same reply."""
    identity = await identity_of(request, bearer)  # type: ignore[arg-type]
    if identity is None:
        raise unauthorized()
    request.scope["state"]["account"] = identity.account
    return identity


async def identity_of(
    request: Request, bearer: HTTPAuthorizationCredentials | None
) -> Identity | None:
    """Return who a token, or else a trusted proxy, stands for; None if neither does."""
    service: Service = request.app.state.service
    if len(request.headers.getlist("authorization")) > 1:
        return None  # a proxy before the service may have looked at another one
    if bearer is not None:
        return await service.authenticate(bearer.credentials)
    name = proxied_name(request, service)
    return None if name is None else await service.identity_of(name)


def proxied_name(request: Request, service: Service) -> str | None:
    """Return the user that a listed proxy names; the header of anybody else is not looked at."""
    proxy = service.settings.proxy
    if proxy is None or request.client is None or request.client.host not in proxy.addresses:
        return None
    if request.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        return None  # a page elsewhere makes the browser of somebody who is logged in send this
    names = request.headers.getlist(proxy.user_header)
    return names[0] if len(names) == 1 else None


def is_local(request: Request) -> bool:
    """Tell whether a request comes from this machine itself, and not through a proxy on it."""
    if any(name.startswith(FORWARDED) for name in request.headers):
        return False
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False


# A dependency that is not a coroutine would run in a thread, at several times the cost.
async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _administration(request: Request) -> Administration:
    administration: Administration = request.app.state.administration
    return administration


Caller = Annotated[Identity, Depends(current_identity)]
Host = Annotated[Service, Depends(_service)]
Acts = Annotated[Administration, Depends(_administration)]
