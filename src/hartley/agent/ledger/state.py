"""The state of a dataset and of its population, and how each kind of event changes it."""

from __future__ import annotations

import json
import math
import re
import secrets
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.entries import (
    LARGEST_SEQUENCE,
    STRANGE,
    canonical,
    chained,
    check_name,
    multiply,
    now,
    read_integer,
    schema_version,
    unreadable,
    write_integer,
)
from hartley.agent.ledger.terms import terms_of
from hartley.errors import OptionError, Refused
from hartley.exact import bits_at_least, bits_at_most, floor_power, parse_number
from hartley.wording import bits_up

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.agent.ledger.entries import Entry
    from hartley.agent.ledger.store import Transaction
    from hartley.agent.ledger.terms import Terms


@dataclass(frozen=True)
class Fund:
    """The budget of a population after some row, and the charges to the population itself."""

    budget: Fraction
    spent: int = 1

    def written(self) -> str:
        """Return the text that a row stores."""
        return canonical({"budget": str(self.budget), "spent": write_integer(self.spent)})


@dataclass(frozen=True)
class Population:
    """Datasets about the same people, and the budget that they share."""

    name: str
    balance: Balance
    """All charges to its datasets, including open columns, and to the population itself."""
    datasets: tuple[str, ...]

    def after(self, cells: int) -> Population:
        """Return the population after one more charge."""
        spent = self.balance.spent * cells
        return replace(self, balance=replace(self.balance, spent=spent))


def read_fund(entry: Entry) -> Fund:
    """Read the state of a population after one of its rows."""
    try:
        plain = json.loads(entry.state)
        return Fund(Fraction(plain["budget"]), read_integer(plain["spent"]))
    except STRANGE:
        raise unreadable(entry) from None


def find_population(
    transaction: Transaction, name: str, dataset: str = "", standing: Standing | None = None
) -> Population | None:
    """Return the state of a population, or None if it is not in the ledger.

    Args:
        transaction: the transaction to read in.
        name: the name of the population.
        dataset: a dataset that counts with a new state; it need not be a member yet.
        standing: the new state of that dataset.
    """
    row = transaction.latest("", name)
    if row is None:
        return None
    fund = read_fund(row)
    members = _members(transaction, name)
    if standing is not None:
        members[dataset] = standing
    # Theorem (population): the product over all datasets, their open columns counted over all
    # versions, and what is charged to the population itself.
    spent = fund.spent * math.prod(member.open * member.spent for member in members.values())
    return Population(name, Balance(fund.budget, spent), tuple(sorted(members)))


def _members(transaction: Transaction, name: str) -> dict[str, Standing]:
    mark = f'"population":{canonical(name)}'  # cheaper than reading all the others
    rows = [row for row in transaction.latest_of_all() if mark in row.state]
    standings = {row.dataset: read_standing(row)[0] for row in rows}
    return {dataset: each for dataset, each in standings.items() if each.population == name}


# --- what members may do --------------------------------------------------------------------------


def check_member(
    transaction: Transaction, dataset: str, before: Standing | None, after: Standing, terms: Terms
) -> None:
    """Raise an error if an event would break the promise of the population.

    Args:
        transaction: the transaction to read in.
        dataset: the name of the dataset.
        before: its state before the event; None if it is being created.
        after: its state after the event.
        terms: the terms of its schema after the event.
    """
    former = None if before is None else before.population
    # The promise of a population is about everything that its datasets revealed, so a dataset with
    # charges cannot leave. For the same reason a dataset joins with its whole history.
    if before is not None and former is not None and after.population != former and before.charged:
        raise Refused(
            f"The dataset '{dataset}' cannot leave the population '{former}' any more, because "
            "its charges count for all datasets of the population",
            hint=f'keep population = "{former}" in its schema',
        )
    if after.population is None:
        return
    name = check_name(after.population, what="population")
    population = find_population(transaction, name, dataset, after)
    if population is None:
        raise OptionError(
            f"The ledger has no population '{name}', which the schema of '{dataset}' names",
            hint=f"record its budget first: hartley ledger population '{name}' --budget BITS "
            'LEDGER, or ledger.record(name, "population", {"bits": ...})',
        )
    # "The same unit is needed because the person whose data vary must be one in all datasets."
    for other, its_terms in member_terms(transaction, population.datasets, dataset).items():
        if its_terms.unit != terms.unit:
            raise OptionError(
                f"The dataset '{dataset}' has a different unit from '{other}' of the population "
                f"'{name}': {terms.unit_in_words}, not {its_terms.unit_in_words}",
                hint="use the same column to identify people in all datasets of a population",
            )
    problem = problem_of_population(name, population.balance)
    if problem:
        known = None if before is None else find_population(transaction, name)
        raise Refused(
            f"The dataset '{dataset}' does not fit: {problem}",
            hint="raise the budget of the population first, or open fewer columns",
            remaining=None if known is None else known.balance.remaining,
        )


def member_terms(
    transaction: Transaction, datasets: tuple[str, ...], leaving_out: str
) -> dict[str, Terms]:
    """Return the terms of the schemas of some datasets, by name."""
    terms = {}
    for row in transaction.latest_of_all():
        if row.dataset in datasets and row.dataset != leaving_out:
            declared = transaction.entry(read_standing(row)[0].schema_row)
            terms[row.dataset] = terms_of(declared.told.get("schema") if declared else None)
    return terms


def problem_of_population(name: str, balance: Balance) -> str | None:
    """Return the problem if the charges to a population exceed its budget."""
    if balance.holds(1):
        return None
    return f"the charges to the population '{name}' exceed its budget"


# --- its own rows ---------------------------------------------------------------------------------


def settle_population(content: Mapping[str, Any], before: Fund | None) -> dict[str, Any]:
    """Return the event of a population in the form that the ledger stores."""
    check_words("population", content)
    bits = parse_number(needed(content, "bits", "population"), name="the number of bits")
    cells_within(bits)  # refuses what is out of reach
    return {
        **({"note": str(content["note"])} if "note" in content else {}),
        "before": None if before is None else str(before.budget),
        "bits": str(bits),
        "promise": promise(bits, of=" of all its datasets together"),
    }


def add_population(transaction: Transaction, name: str, content: Mapping[str, Any]) -> Entry:
    """Record a population or its new budget; raise an error if more is already spent."""
    row = transaction.latest("", name)
    before = None if row is None else read_fund(row)
    settled = settle_population(content, before)
    fund = replace(before or Fund(Fraction(0)), budget=Fraction(settled["bits"]))
    known = None if before is None else find_population(transaction, name)
    spent = 1 if known is None else known.balance.spent
    if not Balance(fund.budget, spent).holds(1):
        raise OptionError(
            f"The budget of the population '{name}' cannot be set: the charges so far exceed it",
            hint="give more bits",
        )
    entry = chained(
        transaction.last(),
        time=now(),
        dataset="",
        analyst="",
        account=name,
        kind="population",
        content=canonical(settled),
        cells="1",
        account_cells="1",
        schema="",
        rules="",
        state=fund.written(),
    )
    transaction.append(entry)
    return entry


MAY_SAY: Mapping[str, frozenset[str]] = {
    "created": frozenset({"bits", "open_factor", "schema", "rules", "rows", "version", "note"}),
    "version": frozenset({"rows", "open_factor", "rules", "version", "note"}),
    "erasure": frozenset({"rows", "open_factor", "version"}),  # no note: it could name the person
    "schema": frozenset(
        {"schema", "open_factor", "open_charge", "rules", "note", "rows", "version"}
    ),
    "budget": frozenset({"bits", "note"}),
    "allowance": frozenset({"analyst", "bits", "note"}),
    "population": frozenset({"bits", "note"}),
}
"""The fields that each kind of event may have, all of them public."""
RANDOM = re.compile(r"[0-9a-f-]{16,64}")


@dataclass(frozen=True)
class Balance:
    """The budget and the charges of a dataset, of an allowance, or of the rest of the budget."""

    bits: Fraction
    spent: int
    """The product of all charges."""
    population: Population | None = None
    """The population whose budget counts too, if datasets share one."""

    @property
    def limit(self) -> int:
        """The largest product allowed: floor(2^bits)."""
        return cells_within(self.bits)

    def holds(self, cells: int) -> bool:
        """Tell whether a further charge fits, without the cost of a division."""
        # The condition of the theorem: M times all charges times this one is at most floor(2^B),
        # in exact integers. The budget of the population must hold it too.
        wider = self.population
        return self.spent * cells <= self.limit and (wider is None or wider.balance.holds(cells))

    @property
    def left(self) -> int:
        """The largest number of cells of a further charge; 0 if nothing is left."""
        own = self.limit // self.spent
        return own if self.population is None else min(own, self.population.balance.left)

    @property
    def tightest(self) -> str:
        """Which budget is used up first, in words; empty if it is this one."""
        wider = self.population
        if wider is None or wider.balance.left >= self.limit // self.spent:
            return ""
        return f"the budget of the population '{wider.name}'"

    @property
    def spent_bits(self) -> float:
        """The bits spent, rounded up."""
        return bits_at_least(self.spent)

    @property
    def remaining(self) -> float:
        """The bits left, rounded down.

        Example:
            >>> Balance(Fraction(3), 2).remaining, Balance(Fraction(1, 2), 1).remaining
            (2.0, 0.0)
        """
        return bits_at_most(self.left)


@dataclass(frozen=True)
class Account:
    """The allowance of an analyst, or, without bits, the part of the budget outside allowances."""

    bits: Fraction | None = None
    spent: int = 1


@dataclass(frozen=True)
class Standing:
    """The state of a dataset after some row."""

    budget: Fraction
    allotted: Fraction
    """The sum of the allowances."""
    open: int
    """The product of the factors of the open columns, over all versions."""
    factor: int
    """The factor of the present schema, charged again with every version."""
    spent: int
    """The product of the charges of all questions."""
    version: str
    rows: int | None
    """The public number of rows; None if it is private."""
    schema_row: int
    """The row that holds the present schema."""
    schema: str
    rules: str
    population: str | None = None
    """The population whose budget it shares, according to its schema."""

    @property
    def charged(self) -> bool:
        """Whether anything was ever charged, open columns included."""
        return self.open * self.spent > 1

    @property
    def balance(self) -> Balance:
        """The balance of all analysts together."""
        # ``open`` is the factor M of the theorem, over all versions.
        return Balance(self.budget, self.open * self.spent)

    def balance_of(self, account: Account) -> Balance:
        """The balance of one account."""
        # Allowances are hard partitions: their bits add up to no more than the budget, so the
        # products of all accounts together stay within floor(2^B).
        free = self.budget - self.allotted
        return Balance(free if account.bits is None else account.bits, account.spent)

    def written(self, account: Account) -> str:
        """Return the text of both that a row stores."""
        shared = {} if self.population is None else {"population": self.population}
        return canonical(
            {
                **shared,
                "account": {
                    "bits": None if account.bits is None else str(account.bits),
                    "spent": write_integer(account.spent),
                },
                "allotted": str(self.allotted),
                "budget": str(self.budget),
                "factor": write_integer(self.factor),
                "open": write_integer(self.open),
                "rows": self.rows,
                "schema_row": self.schema_row,
                "spent": write_integer(self.spent),
                "version": self.version,
            }
        )


def read_standing(entry: Entry) -> tuple[Standing, Account]:
    """Read the state of the dataset and the account after a row."""
    try:
        plain = json.loads(entry.state)
        bits = plain["account"]["bits"]
        account = Account(
            None if bits is None else Fraction(bits), read_integer(plain["account"]["spent"])
        )
        standing = Standing(
            budget=Fraction(plain["budget"]),
            allotted=Fraction(plain["allotted"]),
            open=read_integer(plain["open"]),
            factor=read_integer(plain["factor"]),
            spent=read_integer(plain["spent"]),
            version=plain["version"],
            rows=plain["rows"],
            schema_row=plain["schema_row"],
            schema=entry.schema,
            rules=entry.rules,
            population=plain.get("population"),
        )
    except STRANGE:
        raise unreadable(entry) from None
    if type(standing.schema_row) is not int or not 0 < standing.schema_row <= LARGEST_SEQUENCE:
        raise unreadable(entry)
    return standing, account


# --- events -------------------------------------------------------------------------------------


def settle(
    kind: str, content: Mapping[str, Any], standing: Standing | None, account: Account | None
) -> dict[str, Any]:
    """Return an event in the form that the ledger stores: checked, complete, numbers as text.

    A version that is not given is drawn at random; raising a budget shows the new promise.
    """
    # Events are public. Only known fields are stored, so nothing private can get in.
    check_words(kind, content)
    settled: dict[str, Any] = {name: str(content[name]) for name in ("note",) if name in content}
    if kind in {"created", "schema"}:
        settled["schema"] = needed(content, "schema", kind)
    # A schema with a version is for new data: both are charged in one row.
    if kind in {"created", "version", "erasure"} or (kind == "schema" and "version" in content):
        settled["rows"] = _rows(content.get("rows"))
        settled["version"] = _version(content.get("version"))
    if kind in {"created", "version", "erasure", "schema"}:
        factor = _factor(content.get("open_factor", 1 if standing is None else standing.factor))
        settled["open_factor"] = write_integer(factor)
        settled["open_charge"] = write_integer(_factor(content.get("open_charge", factor)))
        rules = content.get("rules", "1" if standing is None else standing.rules)
        settled["rules"] = check_name(str(rules), what="pricing rules")
    if kind in {"created", "budget", "allowance"}:
        bits = parse_number(needed(content, "bits", kind), name="the number of bits")
        settled["bits"] = str(bits)
        cells_within(bits)  # refuses what is out of reach
        if kind == "allowance":
            settled["analyst"] = check_name(content.get("analyst"), what="analyst")
            settled["before"] = str(account.bits) if account and account.bits is not None else None
        else:
            settled["before"] = None if standing is None else str(standing.budget)
            settled["promise"] = promise(bits)
    return settled


def check_words(kind: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raise an error for fields that an event of a kind does not have, and return the others."""
    strange = sorted(set(map(str, content)) - MAY_SAY[kind])
    if strange:
        raise OptionError(
            f"An event of the kind {kind} has no field '{strange[0]}'",
            hint=f"its fields are {', '.join(sorted(MAY_SAY[kind]))}",
        )
    return content


def after_event(
    standing: Standing | None, account: Account, kind: str, settled: Mapping[str, Any], row: int
) -> tuple[Standing, Account]:
    """Return the state of a dataset and an account after an event in a row of the ledger."""
    bits = Fraction(settled["bits"]) if "bits" in settled else Fraction(0)
    if standing is None:
        standing = Standing(bits, Fraction(0), 1, 1, 1, "", None, row, "", "")
    elif kind == "migrated":
        return standing, account
    elif kind == "budget":
        return replace(standing, budget=bits), account
    if kind == "allowance":
        allotted = standing.allotted - (account.bits or 0) + bits
        return replace(standing, allotted=allotted), replace(account, bits=bits)
    # Every version of the data has open columns of its own to pay for: the factors multiply.
    charge = read_integer(settled["open_charge"])
    standing = replace(
        standing,
        open=multiply(standing.open, charge),
        factor=read_integer(settled["open_factor"]),
        rules=settled["rules"],
    )
    if "version" in settled:
        standing = replace(standing, version=settled["version"], rows=settled["rows"])
    if "schema" in settled:
        version = schema_version(settled["schema"])
        population = terms_of(settled["schema"]).population
        standing = replace(standing, schema=version, schema_row=row, population=population)
    # The account of an event that charges open columns is the one that no allowance sets aside.
    return standing, replace(account, spent=multiply(account.spent, charge))


def problem_after(standing: Standing, account: Account, kind: str) -> str | None:
    """Return which promise an event breaks, if any."""
    if not standing.balance.holds(1):
        return "the charges so far exceed the budget"
    if standing.allotted > standing.budget:
        return "the allowances together exceed the budget"
    if kind == "allowance" and not standing.balance_of(account).holds(1):
        return "the analyst has already spent more than the allowance"
    return None


def check_event(before: Standing | None, standing: Standing, account: Account, kind: str) -> None:
    """Raise an error if a promise would not hold after an event."""
    problem = problem_after(standing, account, kind)
    if problem is None:
        return
    if kind in {"budget", "allowance"}:
        raise OptionError(
            f"The {kind} cannot be set: {problem}", hint="give more bits, or lower the allowances"
        )
    charge = standing.open // (1 if before is None else before.open)
    raise Refused(
        f"The open columns cost {bits_up(bits_at_least(charge))}: {problem}",
        hint="raise the budget first, or open fewer columns",
        requested=bits_at_least(charge),
        remaining=None if before is None else before.balance.remaining,
    )


def promise(bits: Fraction, *, of: str = "") -> str:
    """Return the promise of a budget in words.

    Example:
        >>> print(promise(Fraction(4)))
        all analysts together see at most 16 different transcripts as the data of one person varies
    """
    limit = cells_within(bits)
    number = f"{limit:,}" if limit < 10**15 else f"2^{bits}"
    return (
        f"all analysts together see at most {number} different transcripts{of} as the data of one "
        "person varies"
    )


# --- numbers ------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def cells_within(bits: Fraction) -> int:
    """Return floor(2^bits), cached."""
    return floor_power(bits)


def needed(content: Mapping[str, Any], name: str, kind: str) -> Any:  # noqa: ANN401 - any plain value
    """Return a field that an event must have."""
    if name not in content:
        raise OptionError(
            f"An event of the kind {kind} lacks '{name}'",
            hint=f"its fields are {', '.join(sorted(MAY_SAY[kind]))}",
        )
    return content[name]


def _version(version: object) -> str:
    """Return a random name; a given name must be random too, which only its form can show.

    It is public. From a name computed from the data, somebody who knows all rows but one could
    find that row.
    """
    if version is None:
        return secrets.token_hex(8)
    if isinstance(version, str) and RANDOM.fullmatch(version):
        return version
    raise OptionError(
        "The version of the data is not a random name",
        hint="leave it out, or give secrets.token_hex(8); never compute it from the data",
    )


def _rows(rows: object) -> int | None:
    if rows is None or (isinstance(rows, int) and not isinstance(rows, bool) and rows >= 0):
        return rows
    raise OptionError(
        "The number of rows is not a whole number",
        hint="give the public number of rows, or None if it is private",
    )


def _factor(factor: object) -> int:
    if isinstance(factor, str) and factor.isdecimal():
        return _factor(read_integer(factor))
    if isinstance(factor, int) and not isinstance(factor, bool) and factor >= 1:
        return factor
    raise OptionError(
        "The factor of the open columns is not a whole number of 1 or more",
        hint="give the number of values that one person's open columns can have; 1 if none is open",
    )
