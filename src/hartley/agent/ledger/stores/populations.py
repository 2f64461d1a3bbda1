"""Populations: datasets about the same people share a budget, inside a transaction."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.rows.balances import Balance, Population, cells_within, promise
from hartley.agent.ledger.rows.entries import (
    STRANGE,
    canonical,
    chained,
    check_name,
    now,
    read_integer,
    unreadable,
    write_integer,
)
from hartley.agent.ledger.rows.state import check_words, needed, read_standing
from hartley.agent.ledger.rows.terms import terms_of
from hartley.errors import OptionError, Refused
from hartley.exact import parse_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.agent.ledger.rows.entries import Entry
    from hartley.agent.ledger.rows.state import Standing
    from hartley.agent.ledger.rows.terms import Terms
    from hartley.agent.ledger.stores.store import Transaction


@dataclass(frozen=True)
class Fund:
    """The budget of a population after some row, and the charges to the population itself."""

    budget: Fraction
    spent: int = 1

    def written(self) -> str:
        """Return the text that a row stores."""
        return canonical({"budget": str(self.budget), "spent": write_integer(self.spent)})


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
