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
from hartley.agent.pricing.public_parts import PublicParts
from hartley.errors import OptionError, Refused
from hartley.exact import bits_at_least, bits_at_most, floor_power, parse_number
from hartley.wording import bits_down, bits_up, exactly, noun_for, verb_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.agent.ledger.entries import Entry
    from hartley.agent.ledger.store import Transaction
    from hartley.agent.ledger.terms import Terms


ONE_PART = PublicParts()
"""All types of the public columns, with nothing charged."""
PERIODS = {"year": 12, "quarter": 3, "month": 1}
"""The periods that a budget can have parts for, and how many months each has."""
TIME = re.compile(r"\d{4}-(0[1-9]|1[0-2])-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


def one_part(cells: int) -> PublicParts:
    """Return one number for all types of the public columns."""
    return PublicParts((), (cells,))


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

    def after(self, before: Standing, after: Standing) -> Population:
        """Return the population after a charge to one of its datasets."""
        spent = self.balance.spent // before.spent * after.spent  # a product with this factor
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
    last = transaction.last()
    entry = chained(
        last,
        time=now() if last is None else max(now(), last.time),
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
    "period": frozenset({"bits", "per", "note"}),
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
    parts: PublicParts = ONE_PART
    """The product of its charges for every type of the public columns."""

    @property
    def spent(self) -> int:
        """The largest product: what one person lost to it at most."""
        return self.parts.most

    def charged(self, cells: PublicParts) -> Account:
        """Return the account after one more charge."""
        return replace(self, parts=self.parts.times(cells, multiply))

    def renewed(self) -> Account:
        """Return the account for new data or another schema, whose types are others."""
        return replace(self, parts=one_part(self.spent))


@dataclass(frozen=True)
class Period:
    """A part of the budget for every year, quarter or month, and what was charged in this one."""

    per: str
    bits: Fraction
    name: str
    """The year, quarter or month, as text that sorts: 2027, 2027-Q1 or 2027-01."""
    parts: PublicParts = ONE_PART
    """The product of the charges in it for every type of the public columns, open ones included."""

    @property
    def balance(self) -> Balance:
        """The balance of the period."""
        return Balance(self.bits, self.parts.most)

    @property
    def words(self) -> str:
        """Name the period in a sentence."""
        return f"the {self.per} {self.name}"

    @property
    def following(self) -> str:
        """The day on which the next period begins.

        Example:
            >>> Period("quarter", Fraction(2), "2027-Q4").following
            '2028-01-01'
        """
        year, place = int(self.name[:4]), self.name[5:].removeprefix("Q")
        month = int(place or 1) * PERIODS[self.per] + 1 if place else 13
        return f"{year + month // 13:04}-{1 if month == 13 else month:02}-01"

    def at(self, time: str) -> Period:
        """Return the period of a time; one that a clock set back would open again stays closed."""
        name = period_name(self.per, time)
        return self if name <= self.name else Period(self.per, self.bits, name)

    def charged(self, cells: PublicParts) -> Period:
        """Return the period after one more charge."""
        return replace(self, parts=self.parts.times(cells, multiply))

    def renewed(self) -> Period:
        """Return the period for new data or another schema."""
        return replace(self, parts=one_part(self.parts.most))


def period_name(per: str, time: str) -> str:
    """Name the year, quarter or month of a time.

    Example:
        >>> period_name("quarter", "2027-05-01T00:00:00.000000Z")
        '2027-Q2'
    """
    if not TIME.fullmatch(time):
        raise ValueError(time)
    if per == "quarter":
        return f"{time[:4]}-Q{(int(time[5:7]) + 2) // 3}"
    return time[:4] if per == "year" else time[:7]


def period_words(period: Period | None) -> str:
    """Say what one person can lose in the present period, and what is left of that.

    Example:
        >>> print(period_words(Period("year", Fraction(8), "2027")))
        at most 8 bits in every year; in 2027 0 bits are spent and 8 bits left until 2028-01-01
    """
    if period is None:
        return "the budget has no parts by period"
    spent, remaining = period.balance.spent_bits, period.balance.remaining
    return (
        f"at most {exactly(period.bits)} {noun_for(period.bits, 'bit')} in every {period.per}; in "
        f"{period.name} {bits_up(spent)} {verb_for(spent, 'is')} spent and "
        f"{bits_down(remaining)} left until {period.following}"
    )


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
    parts: PublicParts
    """The product of the charges of all questions, for every type of the public columns."""
    version: str
    rows: int | None
    """The public number of rows; None if it is private."""
    schema_row: int
    """The row that holds the present schema."""
    schema: str
    rules: str
    population: str | None = None
    """The population whose budget it shares, according to its schema."""
    period: Period | None = None
    """The part of the budget for the present year, quarter or month."""

    @property
    def spent(self) -> int:
        """The largest product of charges for questions: what one person lost to them at most."""
        return self.parts.most

    @property
    def charged(self) -> bool:
        """Whether anything was ever charged, open columns included."""
        return self.open * self.spent > 1

    def after(self, cells: PublicParts, rules: str) -> Standing:
        """Return the state after one more charge for questions.

        Recorded even where the largest product does not rise: left out, a part could be asked about
        as long as it is not the largest, and then be larger than it says.
        """
        return replace(
            self,
            parts=self.parts.times(cells, multiply),
            period=None if self.period is None else self.period.charged(cells),
            rules=rules,
        )

    def at(self, time: str) -> Standing:
        """Return the state at a time, in its period."""
        return self if self.period is None else replace(self, period=self.period.at(time))

    def own(self, account: Account, then: Standing) -> Account:
        """Return an account as it was then, for the present data and schema."""
        same = (self.version, self.schema_row) == (then.version, then.schema_row)
        return account if same else account.renewed()

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
        shared: dict[str, Any] = {} if self.population is None else {"population": self.population}
        if self.period is not None:
            shared["period"] = {
                "bits": str(self.period.bits),
                "name": self.period.name,
                "per": self.period.per,
                "spent": write_integer(self.period.parts.most),
                **write_parts(self.period.parts),
            }
        return canonical(
            {
                **shared,
                **write_parts(self.parts),
                "account": {
                    "bits": None if account.bits is None else str(account.bits),
                    "spent": write_integer(account.spent),
                    **write_parts(account.parts),
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


@lru_cache(maxsize=64)
def _read_state(state: str, schema: str, rules: str) -> tuple[Standing, Account]:
    """Read the text of a state; cached, since the last row of a dataset is read often."""
    plain = json.loads(state)
    bits = plain["account"]["bits"]
    account = Account(None if bits is None else Fraction(bits), _spent(plain["account"]))
    period = plain.get("period")
    standing = Standing(
        budget=Fraction(plain["budget"]),
        allotted=Fraction(plain["allotted"]),
        open=read_integer(plain["open"]),
        factor=read_integer(plain["factor"]),
        parts=_spent(plain),
        version=plain["version"],
        rows=plain["rows"],
        schema_row=plain["schema_row"],
        schema=schema,
        rules=rules,
        population=plain.get("population"),
        period=None
        if period is None
        else Period(period["per"], Fraction(period["bits"]), period["name"], _spent(period)),
    )
    return standing, account


def read_standing(entry: Entry) -> tuple[Standing, Account]:
    """Read the state of the dataset and the account after a row."""
    try:
        standing, account = _read_state(entry.state, entry.schema, entry.rules)
    except STRANGE:
        raise unreadable(entry) from None
    if type(standing.schema_row) is not int or not 0 < standing.schema_row <= LARGEST_SEQUENCE:
        raise unreadable(entry)
    return standing, account


def write_parts(parts: PublicParts, word: str = "parts") -> dict[str, Any]:
    """Return numbers by public type as a row stores them; nothing where all types have one."""
    if not parts.cuts:
        return {}
    cuts = {name: list(starts) for name, starts in parts.cuts}
    return {word: {"cells": [write_integer(cells) for cells in parts.cells], "cuts": cuts}}


def read_parts(plain: Mapping[str, Any]) -> PublicParts:
    """Read what ``write_parts`` wrote; raise ValueError for anything else."""
    cuts = tuple((name, tuple(starts)) for name, starts in sorted(plain["cuts"].items()))
    parts = PublicParts(cuts, tuple(map(read_integer, plain["cells"])))
    codes = [list(starts) for _, starts in cuts]
    good = all(
        starts[0] == 0 and starts == sorted({*starts}) and all(type(code) is int for code in starts)
        for starts in codes
    ) and len(parts.cells) == math.prod(map(len, codes))
    good &= plain.keys() == {"cells", "cuts"}
    if not good or min(parts.cells) < 1 or parts != PublicParts.of(*(cuts, parts.cells)):
        raise ValueError
    return parts


def _spent(plain: Mapping[str, Any]) -> PublicParts:
    spent = read_integer(plain["spent"])
    parts = read_parts(plain["parts"]) if "parts" in plain else one_part(spent)
    if parts.most != spent:
        raise ValueError
    return parts


# --- events -------------------------------------------------------------------------------------


def settle(
    kind: str,
    content: Mapping[str, Any],
    standing: Standing | None,
    account: Account | None,
    time: str = "",
) -> dict[str, Any]:
    """Return an event in the form that the ledger stores: checked, complete, numbers as text.

    A version that is not given is drawn at random; raising a budget shows the new promise.
    """
    # Events are public. Only known fields are stored, so nothing private can get in.
    check_words(kind, content)
    settled: dict[str, Any] = {name: str(content[name]) for name in ("note",) if name in content}
    if kind == "period":
        assert standing is not None  # the event follows the creation
        return settled | _settle_period(content, standing, time)
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


def _settle_period(content: Mapping[str, Any], standing: Standing, time: str) -> dict[str, Any]:
    """Return what a period may lose, or that there are no periods any more."""
    per, before = needed(content, "per", "period"), standing.period
    settled: dict[str, Any] = {
        "before": None if before is None else f"{before.bits} per {before.per}"
    }
    if per is None:
        return settled | {"bits": None, "name": None, "per": None}
    if per not in PERIODS:
        raise OptionError(
            f"There is no period '{per}'", hint=f"give one of {', '.join(PERIODS)}, or None"
        )
    bits = parse_number(needed(content, "bits", "period"), name="the number of bits")
    cells_within(bits)  # refuses what is out of reach
    same = before is not None and before.per == per
    name = before.name if before is not None and same else period_name(per, time)
    return settled | {"bits": str(bits), "name": name, "per": per}


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
    ends = kind == "period" and settled["per"] is None
    bits = Fraction(settled["bits"]) if "bits" in settled and not ends else Fraction(0)
    if standing is None:
        standing = Standing(bits, Fraction(0), 1, 1, ONE_PART, "", None, row, "", "")
    elif kind == "migrated":
        return standing, account
    elif kind == "period":
        period = None
        if settled["per"] is not None:
            period = Period(settled["per"], bits, settled["name"])
            if standing.period is not None and standing.period.per == period.per:
                period = replace(standing.period, bits=bits)
        return replace(standing, period=period), account
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
        # The types of other data, or under another schema, are others: all begin at the largest.
        parts=one_part(standing.spent),
        period=None
        if standing.period is None
        else standing.period.renewed().charged(one_part(charge)),
    )
    if "version" in settled:
        standing = replace(standing, version=settled["version"], rows=settled["rows"])
    if "schema" in settled:
        version = schema_version(settled["schema"])
        population = terms_of(settled["schema"]).population
        standing = replace(standing, schema=version, schema_row=row, population=population)
    # The account of an event that charges open columns is the one that no allowance sets aside.
    return standing, account.renewed().charged(one_part(charge))


def problem_after(standing: Standing, account: Account, kind: str) -> str | None:
    """Return which promise an event breaks, if any."""
    if not standing.balance.holds(1):
        return "the charges so far exceed the budget"
    if standing.allotted > standing.budget:
        return "the allowances together exceed the budget"
    if standing.period is not None and not standing.period.balance.holds(1):
        return f"the charges in {standing.period.words} exceed its part of the budget"
    if kind == "allowance" and not standing.balance_of(account).holds(1):
        return "the analyst has already spent more than the allowance"
    return None


def check_event(before: Standing | None, standing: Standing, account: Account, kind: str) -> None:
    """Raise an error if a promise would not hold after an event."""
    problem = problem_after(standing, account, kind)
    if problem is None:
        return
    if kind in {"budget", "allowance", "period"}:
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
