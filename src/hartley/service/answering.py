"""The course of a question in the service: a repeat is looked up, anything new takes a lane."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hartley.agent.answers.answer import BatchAnswer
from hartley.errors import NotPermitted, Pending, Refused
from hartley.service.accounts import TokenScope
from hartley.service.accounts.keyed_requests import KeyedRequest
from hartley.service.envelope import ServiceError, forbidden, pending
from hartley.service.own_rows import own_balance
from hartley.service.resources import is_light
from hartley.service.shown import shown_answer
from hartley.wording import bits_down, bits_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.agent.ledger.stores.store import Transaction
    from hartley.agent.questions.selection import Selection
    from hartley.agent.quotes import Wish
    from hartley.service.accounts import Identity
    from hartley.service.hosted_dataset import HostedDataset, OpenVersion
    from hartley.service.lanes import Ticket
    from hartley.service.own_rows import OwnBalance
    from hartley.service.resources import Resources


@dataclass(frozen=True)
class AskRequest:
    """A request to answer questions."""

    identity: Identity
    hosted: HostedDataset
    wishes: tuple[Wish, ...]
    batch: bool
    vacuous: bool
    given: list[int] | None
    ticket: Ticket
    key: str | None = None
    """The idempotency key."""
    most_bits: float | None = None
    """What may be charged at most; None for whatever is due."""

    @property
    def account(self) -> str:
        """Who asks."""
        return self.identity.account

    @cached_property
    def keyed(self) -> KeyedRequest | None:
        """The request with its key; None without a key."""
        if self.key is None:
            return None
        wishes = [
            [wish.text, str(wish.error), str(wish.bits), str(wish.min_rows)] for wish in self.wishes
        ]
        terms = [self.batch, self.vacuous, self.given, self.most_bits]
        about = json.dumps([self.hosted.name, wishes, *terms])
        return KeyedRequest(self.account, self.key, hashlib.sha256(about.encode()).hexdigest())


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
                content = _charged(content, bound.bits, batch=asked.batch)
        reply = await quick(lambda: accounts.keep_reply(keyed, json.dumps(content)))
    else:
        reply = bound.reply
    replied: dict[str, Any] = json.loads(reply)
    return replied


def _charged(content: dict[str, Any], bits: float, *, batch: bool) -> dict[str, Any]:
    """Return a reply with what its request was charged before."""
    if not batch:
        return content | {"bits": bits}
    return {"bits": bits, "answers": [each | {"bits": bits} for each in content["answers"]]}


async def answer(resources: Resources, asked: AskRequest) -> dict[str, Any]:
    """Answer questions for an account, and count what became of them."""
    hosted, outcomes = asked.hosted, ["repeat"]
    light = is_light(asked.wishes) or hosted.is_known_repeat(asked.account, asked.wishes)
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

    if resources.ledger.path is not None and hosted.is_known_repeat(account, asked.wishes):
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
    hosted = asked.hosted
    if not asked.identity.scope.includes(TokenScope.ASK):
        raise forbidden(
            "This token may repeat what the account has paid for, but ask nothing new",
            "use a token with the scope 'ask'",
        )
    resources.count(asked.identity, "asks", asked.wishes)

    def work(opened: OpenVersion) -> dict[str, Any]:
        return _answered(resources, asked, opened)

    return await resources.lanes.engine(lambda: hosted.run(work, check=False), asked.ticket)


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
        paid=asked.ticket.note_paid,
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


# --- refusals -------------------------------------------------------------------------------------


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
    return own_refusal(error.requested, own)


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
        if not own.remaining:
            hint = "ask the owner of the service for a larger allowance; repeats are free"
    else:
        problem = "The owner has not set enough bits aside for the allowances of this dataset"
        hint = "ask the owner of the service to look at the budget"
    return Refused(problem, hint=hint, requested=bits, remaining=own.remaining)
