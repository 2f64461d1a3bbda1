"""Inside a transaction: read the state of a dataset, and add a row to the chain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.rows.entries import (
    broken,
    canonical,
    chained,
    check_name,
    now,
    write_integer,
)
from hartley.agent.ledger.rows.state import (
    Account,
    Standing,
    after_event,
    check_event,
    read_standing,
    settle,
)
from hartley.agent.ledger.rows.terms import problem_of_schema, terms_of
from hartley.agent.ledger.stores.populations import check_member, find_population
from hartley.errors import OptionError, Refused, Stale

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.agent.ledger.rows.balances import Balance, Population
    from hartley.agent.ledger.rows.entries import Entry
    from hartley.agent.ledger.stores.store import Transaction
    from hartley.agent.pricing.public_parts import PublicParts


@dataclass(frozen=True)
class RowPlace:
    """Where a row goes: the dataset, the analyst, the charged account, and their states."""

    dataset: str
    analyst: str
    holder: str
    """The analyst, or empty for the part of the budget that no allowance sets aside."""
    standing: Standing
    account: Account
    population: Population | None = None
    """The population whose budget the dataset shares."""
    time: str = ""
    """Of the next row, if its period depends on it."""
    last_hash: str = ""
    """The hash of the dataset's last row, by which all of its rows are the same or not."""

    @property
    def balance(self) -> Balance:
        """The balance of the account."""
        own = self.standing.balance_of(self.account)
        return own if self.population is None else replace(own, population=self.population)

    def charged(self, cells: PublicParts, account_cells: PublicParts, rules: str) -> RowPlace:
        """Return the place after a charge for questions to the dataset and to the account."""
        after = self.standing.after(cells, rules)
        shared = self.population
        return replace(
            self,
            standing=after,
            account=self.account.charged(account_cells),
            population=None if shared is None else shared.after(self.standing.spent, after.spent),
        )


def find(transaction: Transaction, dataset: str, analyst: str = "") -> RowPlace:
    """Return the state of a dataset and of an analyst's account."""
    check_name(dataset, what="dataset")
    check_name(analyst, what="analyst", empty=True)
    latest = transaction.latest(dataset)
    if latest is None:
        raise OptionError(
            f"The ledger has no dataset '{dataset}'", hint="record its creation first"
        )
    # Every row holds the state of its dataset and its account after it, so the last row of each is
    # enough: no balance is added up again, and a long ledger is as fast as a short one.
    standing, account = read_standing(latest)
    time = ""
    if standing.period is not None:
        last = transaction.last()
        # Never before the last row: a clock that was set back opens no period again.
        time = max(now(), latest.time if last is None else last.time)
        standing = standing.at(time)
    own = None
    if analyst:  # often the last one who asked: then it is the row that was read already
        own = latest if latest.account == analyst else transaction.latest(dataset, analyst)
    holder = analyst if own is not None else ""
    if latest.account != holder:
        row = own or transaction.latest(dataset, "")
        if row is None:
            raise broken(f"the row that created '{dataset}' is missing")
        then, account = read_standing(row)
        account = standing.own(account, then)
    population = shared_by(transaction, standing)
    return RowPlace(dataset, analyst, holder, standing, account, population, time, latest.hash)


def shared_by(transaction: Transaction, standing: Standing) -> Population | None:
    """Return the population of a dataset, if it has one."""
    if standing.population is None:
        return None
    population = find_population(transaction, standing.population)
    if population is None:
        raise broken(f"the rows of the population '{standing.population}' are missing")
    return population


def schema_of(transaction: Transaction, dataset: str, standing: Standing) -> Any:  # noqa: ANN401 - any plain value
    """Return the recorded text of a dataset's present schema."""
    declared = transaction.entry(standing.schema_row)
    if declared is None or declared.dataset != dataset or "schema" not in declared.told:
        raise broken(f"the row with the schema of '{dataset}' is missing")
    return declared.told["schema"]


def add_row(  # noqa: PLR0913 - the parts of a row, each by name
    transaction: Transaction,
    place: RowPlace,
    kind: str,
    content: Mapping[str, Any],
    *,
    cells: int = 1,
    account_cells: int = 1,
    time: str | None = None,
) -> Entry:
    """Append a row, with the state of the dataset in the place."""
    last = transaction.last()
    present = place.time or now()
    entry = chained(
        last,
        time=time or (present if last is None else max(present, last.time)),
        dataset=place.dataset,
        analyst=place.analyst,
        account=place.holder,
        kind=kind,
        content=canonical(content),
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
    """Check an event against the state of the dataset, and append it."""
    analyst = ""
    if kind == "allowance":
        analyst = check_name(content.get("analyst"), what="analyst")
    known = transaction.latest(dataset)
    if kind == "created":
        if known is not None:
            raise OptionError(
                f"The ledger has a dataset '{dataset}' already",
                hint="record a changed table as a new version of it; its budget never starts again",
            )
        standing, account, time = None, Account(), ""
    else:
        # Checked in the transaction that writes: the state may have changed since the preparation.
        place = find(transaction, dataset, analyst)
        standing, account = place.standing, place.account
        last = transaction.last()
        time = place.time or max(now(), "" if last is None else last.time)
        check_current(standing, None, schema)
        if analyst and place.holder != analyst:
            account = Account()  # begins with nothing spent
    settled = settle(kind, content, standing, account, time)
    # Answers are stored by version: a reused name would give the answers of other data.
    if settled.get("version") in transaction.versions(dataset):
        raise OptionError(
            "The version of the data was used before", hint="give new data a new random name"
        )
    _check_terms(transaction, dataset, kind, settled, standing, account)
    return add_settled(transaction, dataset, analyst, kind, settled, standing, account, time)


def _check_terms(  # noqa: PLR0913, PLR0917 - an event and how things stood before it
    transaction: Transaction,
    dataset: str,
    kind: str,
    settled: Mapping[str, Any],
    standing: Standing | None,
    account: Account,
) -> None:
    """Raise an error if a schema would weaken charges or exceed the budget of the population."""
    after, charged = after_event(standing, account, kind, settled, 0)
    check_event(standing, after, charged, kind)
    before = None if standing is None else terms_of(schema_of(transaction, dataset, standing))
    terms = terms_of(settled["schema"]) if "schema" in settled else before
    if standing is not None and before is not None and terms is not None and "schema" in settled:
        problem = problem_of_schema(
            before, terms, settled, charged=standing.charged, rows=standing.rows
        )
        if problem:
            raise Refused(
                f"The schema of '{dataset}' cannot be changed in this way: {problem}",
                hint="keep the unit; for another unit create another dataset, whose budget adds "
                "to this one"
                if standing.charged and before.unit != terms.unit
                else "give the data with it, as a new version",
            )
    if terms is not None and kind in {"created", "version", "erasure", "schema"}:
        check_member(transaction, dataset, standing, after, terms)


def add_settled(  # noqa: PLR0913, PLR0917 - an event and how things stood before it
    transaction: Transaction,
    dataset: str,
    analyst: str,
    kind: str,
    settled: Mapping[str, Any],
    standing: Standing | None,
    account: Account,
    time: str | None = None,
) -> Entry:
    """Append a checked event."""
    last = transaction.last()
    row = 1 if last is None else last.sequence + 1
    after, charged = after_event(standing, account, kind, settled, row)
    check_event(standing, after, charged, kind)
    cells = after.open // (1 if standing is None else standing.open)  # what this row charges
    place = RowPlace(dataset, analyst, analyst, after, charged)
    return add_row(transaction, place, kind, settled, cells=cells, account_cells=cells, time=time)


def check_current(standing: Standing, version: str | None, schema: str | None) -> None:
    """Raise an error if the data or the schema were replaced meanwhile."""
    for given, present, what in (
        (version, standing.version, "data have a new version"),
        (schema, standing.schema, "schema was changed"),
    ):
        if given is not None and given != present:
            raise Stale(
                f"Nothing was asked, changed or charged, because the {what} in the meantime",
                hint="open the dataset again, and repeat the call",
            )
