"""Reading how a dataset stands inside a transaction, and adding a row to the chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.entries import canonical, chained, check_name, now, write_integer
from hartley.agent.ledger.standing import (
    Account,
    Standing,
    after_event,
    check_event,
    read_standing,
    settle,
)
from hartley.agent.ledger.store import check
from hartley.errors import OptionError, Stale

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.agent.ledger.entries import Entry
    from hartley.agent.ledger.store import Transaction


@dataclass(frozen=True)
class Place:
    """Where a row goes: a dataset, who asks, whose account is charged, and how both stand."""

    dataset: str
    analyst: str
    holder: str
    """The analyst, or empty for what no allowance sets aside."""
    standing: Standing
    account: Account


def find(transaction: Transaction, dataset: str, analyst: str = "") -> Place:
    """Return how a dataset and the account of an analyst stand."""
    check_name(dataset, what="dataset")
    check_name(analyst, what="analyst", empty=True)
    latest = transaction.latest(dataset)
    if latest is None:
        raise OptionError(
            f"The ledger holds no dataset '{dataset}'", hint="record that it was created first"
        )
    standing, account = read_standing(check(latest))
    own = transaction.latest(dataset, analyst) if analyst else None
    holder = analyst if own is not None else ""
    if latest.account != holder:
        row = own or transaction.latest(dataset, "")
        assert row is not None  # the row that created the dataset
        account = read_standing(check(row))[1]
    return Place(dataset, analyst, holder, standing, account)


def add_row(  # noqa: PLR0913 - the parts of a row, each by name
    transaction: Transaction,
    place: Place,
    kind: str,
    told: Mapping[str, Any],
    *,
    cells: int = 1,
    account_cells: int = 1,
    time: str | None = None,
) -> Entry:
    """Append a row that leaves the dataset as the place says."""
    entry = chained(
        transaction.last(),
        time=time or now(),
        dataset=place.dataset,
        analyst=place.analyst,
        account=place.holder,
        kind=kind,
        content=canonical(told),
        cells=write_integer(cells),
        account_cells=write_integer(account_cells),
        schema=place.standing.schema,
        rules=place.standing.rules,
        state=place.standing.written(place.account),
    )
    transaction.append(entry)
    return entry


def add_event(
    transaction: Transaction,
    dataset: str,
    kind: str,
    content: Mapping[str, Any],
    schema: str | None = None,
) -> Entry:
    """Check an event against how the dataset stands, and append it."""
    analyst = ""
    if kind == "allowance":
        analyst = check_name(content.get("analyst"), what="analyst")
    known = transaction.latest(dataset)
    if kind == "created":
        if known is not None:
            raise OptionError(
                f"The ledger holds a dataset '{dataset}' already",
                hint="a changed table is a new version of it; its budget never begins again",
            )
        standing, account = None, Account()
    else:
        place = find(transaction, dataset, analyst)
        standing, account = place.standing, place.account
        check_current(standing, None, schema)
        if analyst and place.holder != analyst:
            account = Account()  # begins with nothing spent
    told = settle(kind, content, standing, account)
    if told.get("version") in transaction.versions(dataset):
        raise OptionError(
            "The version of the data was used before", hint="new data get a new random name"
        )
    return add_settled(transaction, dataset, analyst, kind, told, standing, account)


def add_settled(  # noqa: PLR0913, PLR0917 - an event and how things stood before it
    transaction: Transaction,
    dataset: str,
    analyst: str,
    kind: str,
    told: Mapping[str, Any],
    standing: Standing | None,
    account: Account,
    time: str | None = None,
) -> Entry:
    """Append an event that was checked."""
    last = transaction.last()
    row = 1 if last is None else last.sequence + 1
    after, charged = after_event(standing, account, kind, told, row)
    check_event(standing, after, charged, kind)
    cells = after.open // (1 if standing is None else standing.open)
    place = Place(dataset, analyst, analyst, after, charged)
    return add_row(transaction, place, kind, told, cells=cells, account_cells=cells, time=time)


def check_current(standing: Standing, version: str | None, schema: str | None) -> None:
    """Refuse what is about data or a schema that were replaced meanwhile."""
    for given, present, what in (
        (version, standing.version, "data have a new version"),
        (schema, standing.schema, "schema was changed"),
    ):
        if given is not None and given != present:
            raise Stale(
                f"Nothing was asked, changed or charged, since the {what} meanwhile",
                hint="open the dataset again and try again",
            )
