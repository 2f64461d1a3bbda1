"""Populations: datasets about the same people share one budget.

A row of a population belongs to no dataset; its account is the name of the population. The
product of everything that was charged to its datasets, their open columns counted, and to itself
stays within floor(2^budget). Which datasets belong to it their schemas say.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.entries import (
    STRANGE,
    canonical,
    chained,
    check_name,
    now,
    read_integer,
    write_integer,
)
from hartley.agent.ledger.rows import unreadable
from hartley.agent.ledger.standing import (
    Balance,
    cells_within,
    check_words,
    needed,
    promise,
    read_standing,
)
from hartley.agent.ledger.terms import terms_of
from hartley.errors import OptionError, Refused
from hartley.exact import parse_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.agent.ledger.entries import Entry
    from hartley.agent.ledger.standing import Standing
    from hartley.agent.ledger.store import Transaction
    from hartley.agent.ledger.terms import Terms


@dataclass(frozen=True)
class Fund:
    """The budget of a population after some row, and what was charged to it directly."""

    budget: Fraction
    spent: int = 1

    def written(self) -> str:
        """Write it as a row keeps it."""
        return canonical({"budget": str(self.budget), "spent": write_integer(self.spent)})


@dataclass(frozen=True)
class Population:
    """Datasets about the same people: what they may tell together, and have told."""

    name: str
    balance: Balance
    """Everything that was charged to its datasets, open columns counted, and to itself."""
    datasets: tuple[str, ...]

    def after(self, cells: int) -> Population:
        """Return how it stands after one more charge."""
        spent = self.balance.spent * cells
        return replace(self, balance=replace(self.balance, spent=spent))


def read_fund(entry: Entry) -> Fund:
    """Read how a population stood after one of its rows."""
    try:
        told = json.loads(entry.state)
        return Fund(Fraction(told["budget"]), read_integer(told["spent"]))
    except STRANGE:
        raise unreadable(entry) from None


def find_population(
    transaction: Transaction, name: str, dataset: str = "", standing: Standing | None = None
) -> Population | None:
    """Return how a population stands, or None where the ledger does not know it.

    Args:
        transaction: where to look.
        name: of the population.
        dataset: one that counts as it is about to stand; it need not belong to it yet.
        standing: how that one is about to stand.
    """
    row = transaction.latest("", name)
    if row is None:
        return None
    fund = read_fund(row)
    members = _members(transaction, name)
    if standing is not None:
        members[dataset] = standing
    spent = fund.spent * math.prod(member.open * member.spent for member in members.values())
    return Population(name, Balance(fund.budget, spent), tuple(sorted(members)))


def _members(transaction: Transaction, name: str) -> dict[str, Standing]:
    mark = f'"population":{canonical(name)}'  # cheaper than to read how all the others stand
    rows = [row for row in transaction.latest_of_all() if mark in row.state]
    standings = {row.dataset: read_standing(row)[0] for row in rows}
    return {dataset: each for dataset, each in standings.items() if each.population == name}


# --- what members may do --------------------------------------------------------------------------


def check_member(
    transaction: Transaction, dataset: str, before: Standing | None, after: Standing, terms: Terms
) -> None:
    """Refuse an event after which a dataset would break what its population promises.

    Args:
        transaction: where to look.
        dataset: which one.
        before: how it stands; None where it is being created.
        after: how it would stand.
        terms: of its schema then.
    """
    left = None if before is None else before.population
    if before is not None and left is not None and after.population != left and before.charged:
        raise Refused(
            f"The dataset '{dataset}' cannot leave the population '{left}' any more: what was "
            "charged to it was charged to all",
            hint=f'keep population = "{left}" in its schema',
        )
    if after.population is None:
        return
    name = check_name(after.population, what="population")
    population = find_population(transaction, name, dataset, after)
    if population is None:
        raise OptionError(
            f"The ledger holds no population '{name}', which the schema of '{dataset}' names",
            hint=f"record its budget first: hartley ledger population '{name}' --budget BITS "
            'LEDGER, or ledger.record(name, "population", {"bits": ...})',
        )
    for other, its_terms in member_terms(transaction, population.datasets, dataset).items():
        if its_terms.unit != terms.unit:
            raise OptionError(
                f"The dataset '{dataset}' has another unit than '{other}' of the population "
                f"'{name}': {terms.unit_in_words}, not {its_terms.unit_in_words}",
                hint="datasets of one population name the same people by the same column",
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
    """Return what the schemas of some datasets say, by their name."""
    found = {}
    for row in transaction.latest_of_all():
        if row.dataset in datasets and row.dataset != leaving_out:
            declared = transaction.entry(read_standing(row)[0].schema_row)
            found[row.dataset] = terms_of(declared.told.get("schema") if declared else None)
    return found


def problem_of_population(name: str, balance: Balance) -> str | None:
    """Say that a population was charged more than its budget, if so."""
    if balance.holds(1):
        return None
    return f"what is charged to the population '{name}' is more than its budget"


# --- its own rows ---------------------------------------------------------------------------------


def settle_population(content: Mapping[str, Any], before: Fund | None) -> dict[str, Any]:
    """Return the event of a population as the ledger keeps it."""
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
    """Record a population, or another budget of it; refused where more is spent already."""
    row = transaction.latest("", name)
    before = None if row is None else read_fund(row)
    told = settle_population(content, before)
    fund = replace(before or Fund(Fraction(0)), budget=Fraction(told["bits"]))
    known = None if before is None else find_population(transaction, name)
    spent = 1 if known is None else known.balance.spent
    if not Balance(fund.budget, spent).holds(1):
        raise OptionError(
            f"The budget of the population '{name}' cannot be set: what is charged already is more",
            hint="give more bits",
        )
    entry = chained(
        transaction.last(),
        time=now(),
        dataset="",
        analyst="",
        account=name,
        kind="population",
        content=canonical(told),
        cells="1",
        account_cells="1",
        schema="",
        rules="",
        state=fund.written(),
    )
    transaction.append(entry)
    return entry
