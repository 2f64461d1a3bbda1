"""Whether a budget covers all allowances, so that no refusal shows an analyst what others spent.

A charge is refused if the account's allowance is too small, or if the budget of the dataset or of
its population is. The second kind would tell an analyst with enough allowance left that others have
spent much. It never happens while

    (charges outside allowances) <= floor(2^(budget - allowances)),

because then all charges together are at most floor(2^(budget - allowances)) times the product of
floor(2^allowance), which is at most floor(2^budget). Charges outside allowances are those of open
columns, which every new version pays again, and those of analysts without an account. A budget by
period covers no allowance: what one analyst asks in a year is refused to the others.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.exact import floor_power, parse_number

if TYPE_CHECKING:
    from hartley.agent.ledger.ledger import Ledger
    from hartley.service.accounts import Accounts


def uncovered(
    ledger: Ledger, dataset: str, *, more_bits: Fraction = Fraction(0), more_charges: int = 1
) -> str | None:
    """Return which budget does not cover its allowances, in words; None if all do.

    Args:
        ledger: the ledger.
        dataset: the dataset.
        more_bits: bits of allowances that are about to be added.
        more_charges: a charge outside allowances that is about to be made, in cells.
    """
    state = ledger.state(dataset)
    if state.period is not None and state.allowances:
        return f"the part of every {state.period.per} of the dataset '{dataset}'"
    if not _covers(state.free.bits - more_bits, state.free.spent * more_charges):
        return f"the budget of the dataset '{dataset}'"
    population = state.population
    if population is None:
        return None
    states = [ledger.state(member) for member in population.datasets]
    # What was charged to the population itself, without its datasets.
    within = math.prod(member.open_factor * member.spent for member in states)
    outside = math.prod(member.free.spent for member in states) * more_charges
    allotted = sum((member.budget - member.free.bits for member in states), Fraction(0))
    bits = population.balance.bits - allotted - more_bits
    if not _covers(bits, population.balance.spent // within * outside):
        return f"the budget of the population '{population.name}'"
    return None


def _covers(bits: Fraction, cells: int) -> bool:
    return bits >= 0 and cells <= floor_power(bits)


def require_covered(
    ledger: Ledger, dataset: str, *, more_bits: Fraction = Fraction(0), more_charges: int = 1
) -> None:
    """Raise an error if a change would leave allowances without cover."""
    problem = uncovered(ledger, dataset, more_bits=more_bits, more_charges=more_charges)
    if problem is not None:
        raise OptionError(
            f"Not enough of {problem} would be left for all allowances and open columns",
            hint="lower an allowance or raise the budget first: otherwise a refusal would show an "
            "analyst what others spent",
        )


def set_allowance(  # noqa: PLR0913 - what an allowance is made of, each by name
    ledger: Ledger, accounts: Accounts, *, dataset: str, account: str, bits: object, by: str
) -> Fraction:
    """Set the part of a budget that one account may spend; return it in bits.

    Raises OptionError if the budget would not cover all allowances. The allowance of a revoked
    account can only be lowered, so that its bits are free for others.
    """
    wanted = parse_number(bits, name="the allowance")
    revoked = accounts.get(account).revoked is not None

    def check() -> None:  # while nobody else writes
        known = ledger.state(dataset).allowances.get(account)
        more = wanted - (Fraction(0) if known is None else known.bits)
        if more > 0 and revoked:
            raise OptionError(
                f"The account '{account}' is revoked, so its allowance can only be lowered",
                hint="give the bits to an account that is in use",
            )
        if more > 0:
            require_covered(ledger, dataset, more_bits=more)

    ledger.record(dataset, "allowance", {"analyst": account, "bits": str(wanted)}, check=check)
    accounts.note(by, "set allowance", account, f"{dataset} {wanted}")
    return wanted
