"""The accountant: charges of batches multiply, and their product never exceeds the budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from hartley.errors import OptionError, Refused
from hartley.exact import bits_at_least, bits_at_most, floor_power
from hartley.text import bits_down, bits_up, conjugate, count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence


class Priced(Protocol):
    """The price of a batch by a pricing rule."""

    @property
    def cells(self) -> int:
        """At most how many different answers one person's data can cause."""

    def explain(self) -> str:
        """Say in words what the price is made of."""


Question = TypeVar("Question", bound="Hashable")


@dataclass(frozen=True)
class ChargedBudget:
    """A budget and what was charged to it, in exact integers.

    Proved: proofs/Accountant.v, accountant_nodes.

    Example:
        >>> balance = ChargedBudget(limit=16, charged=6)
        >>> balance.room, balance.covers(2), balance.covers(3)
        (2, True, False)
    """

    limit: int
    """At most so many transcripts may be told apart: floor(2^B)."""
    charged: int = 1
    """The product of the factor of the open columns and of all charges."""

    @property
    def room(self) -> int:
        """The largest charge that is still covered; none where it is 0."""
        return self.limit // self.charged

    @property
    def spent(self) -> float:
        """What was charged, in bits, rounded up."""
        return bits_at_least(self.charged)

    @property
    def remaining(self) -> float:
        """What is left, in bits, rounded down, so that a wish for it is covered."""
        return bits_at_most(self.room)

    def covers(self, cells: int) -> bool:
        """Return whether a charge leaves the product within the budget."""
        return self.charged * cells <= self.limit

    def charge(self, cells: int) -> ChargedBudget:
        """Return the balance after a charge, or refuse it."""
        if cells < 1:
            raise OptionError(
                f"A charge of {cells} cells is no price", hint="an answer has at least one value"
            )
        if not self.covers(cells):
            cost = bits_at_least(cells)
            raise Refused(
                f"The batch costs {bits_up(cost)}; left: {bits_down(self.remaining)}",
                hint="allow a larger error, ask fewer questions, or ask the owner for a budget",
                requested=cost,
                remaining=self.remaining,
            )
        return ChargedBudget(self.limit, self.charged * cells)


class Accountant(Generic[Question]):
    r"""Keeps the product of all charges at or below 2^B.

    .. math:: M \cdot \prod_i c_i \le \lfloor 2^B \rfloor

    *Theorem.* With everybody else's data fixed, all analysts together then see at most
    floor(2^B) different transcripts as one person's data varies (docs/accountant.md). Exact
    integers; a question that was charged before is free, alone or inside a batch.

    ``price`` says what a batch of new questions costs, by the schema alone; ``open_factor`` is what
    the open columns cost at the start, ``charged`` the product of earlier charges.

    Proved: proofs/Accountant.v, accountant.

    Example:
        >>> class Cost(int):
        ...     cells = property(int)
        ...     def explain(self):
        ...         return f"{int(self)} cells"
        >>> accountant = Accountant(3, lambda batch: Cost(2 ** len(batch)))
        >>> accountant.charge(["how many?"]), accountant.charge(["how many?", "how old?"])
        (2, 2)
        >>> accountant.spent, accountant.remaining
        (2.0, 1.0)
        >>> print(accountant.explain(["how tall?"]))
        2 cells
        It costs 1 bit; 1 bit left, so it is covered.
    """

    def __init__(
        self,
        budget: object,
        price: Callable[[Sequence[Question]], Priced],
        *,
        open_factor: int = 1,
        charged: int = 1,
        answered: Iterable[Question] = (),
    ) -> None:
        self._price = price
        self._answered = set(answered)
        start = ChargedBudget(floor_power(budget))
        if not start.covers(open_factor * charged):
            raise OptionError(
                f"The budget of {budget} bits does not cover what is already told: the open columns"
                f" and earlier charges come to {bits_up(bits_at_least(open_factor * charged))}",
                hint="raise the budget, or declare fewer columns open",
            )
        self.balance = start.charge(open_factor * charged)

    @property
    def spent(self) -> float:
        """What was charged, in bits, rounded up."""
        return self.balance.spent

    @property
    def remaining(self) -> float:
        """What is left, in bits, rounded down."""
        return self.balance.remaining

    def quote(self, batch: Sequence[Question]) -> int:
        """Return what a batch would cost now; nothing is charged."""
        new = self._new(batch)
        return self._price(new).cells if new else 1

    def charge(self, batch: Sequence[Question]) -> int:
        """Charge a batch and return its cells; refuse it where the budget does not cover them."""
        cells = self.quote(batch)
        self.balance = self.balance.charge(cells)
        self._answered.update(batch)
        return cells

    def explain(self, batch: Sequence[Question]) -> str:
        """Say in words what a batch costs, what is free in it, and whether it is covered."""
        new = self._new(batch)
        lines = []
        repeated = len(dict.fromkeys(batch)) - len(new)
        if repeated:
            verb = conjugate(repeated, "was")
            lines.append(f"{count_of(repeated, 'question')} {verb} charged before: free.")
        if new:
            priced = self._price(new)
            covered = self.balance.covers(priced.cells)
            cost, remaining = bits_up(bits_at_least(priced.cells)), bits_down(self.remaining)
            end = "covered" if covered else "refused"
            lines += [priced.explain(), f"It costs {cost}; {remaining} left, so it is {end}."]
        return "\n".join(lines)

    def _new(self, batch: Sequence[Question]) -> list[Question]:
        return [question for question in dict.fromkeys(batch) if question not in self._answered]
