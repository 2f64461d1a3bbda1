"""One version of the data, ready to be asked: a schema, a coded copy, and what both imply."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from hartley.agent.answer import cell_of
from hartley.agent.batch import Question, Statistic, columns_of
from hartley.agent.ledger.entries import schema_version
from hartley.agent.pricing.price import price
from hartley.agent.quoting import Desk
from hartley.agent.statistics.statistics import totals
from hartley.engines.coded import Stopped
from hartley.errors import EngineError, HartleyError, Pending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.agent.batch import Condition
    from hartley.engines.coded import CodedTable
    from hartley.ranges.schema import Schema

K = TypeVar("K")

MOST_REMEMBERED = 1000
TRIES = 3
"""How often a failing engine is asked before the answer is pending."""


@dataclass(frozen=True)
class Holding:
    """A version, replaced whole by the next: who asks never sees half of one and half of another.

    Used by many threads at once; what it remembers are functions of public things.
    """

    schema: Schema
    coded: CodedTable
    _counts: dict[Condition, int] = field(default_factory=dict, repr=False, compare=False)
    _prices: dict[tuple[Question, ...], int] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def schema_version(self) -> str:
        """The version of the schema, as the ledger names it."""
        return schema_version(self.schema.to_toml())

    @cached_property
    def desk(self) -> Desk:
        """Where questions are read and priced, by the public number of rows of this version."""
        rows = self.schema.max_rows if self.schema.rows == "private" else self.coded.rows
        assert rows is not None  # a schema with private rows says the most that there can be
        return Desk(self.schema, rows, self.public_count)

    def public_count(self, condition: Condition) -> int | None:
        """Count rows by public columns alone, where the number of rows is public."""
        kinds = {self.schema.columns[name].kind for name in columns_of(condition)}
        if self.schema.rows == "private" or kinds - {"public"}:
            return None
        found = self._counts.get(condition)
        if found is None:
            count = Question(Statistic.COUNT, condition, None, None, 0, self.coded.rows)
            try:
                (found,) = totals(self.coded, [count])
            except HartleyError:
                raise
            except Exception as error:  # noqa: BLE001 - what it says may hold private values
                raise EngineError(
                    f"The engine {self.coded.engine} could not count public columns "
                    f"({type(error).__name__})",
                    hint="ask again later; nothing was charged",
                ) from None
            assert found is not None
            _remember(self._counts, condition, found)
        return found

    def price(self, questions: Sequence[Question]) -> int:
        """Price questions in cells; the same ones are often priced again."""
        key = tuple(questions)
        found = self._prices.get(key)
        if found is None:
            found = price(key, self.schema).cells
            _remember(self._prices, key, found)
        return found

    def cells(self, questions: Sequence[Question]) -> list[int | None]:
        """Run questions that are paid for, and return the cell that each total lies in."""
        for _ in range(TRIES):
            try:
                found = totals(self.coded, questions)
                return [cell_of(one, total) for one, total in zip(questions, found, strict=True)]
            except Stopped:  # by whoever runs the engine, so it is not asked again at once
                break
            except Exception:  # noqa: BLE001, S112 - how an engine fails may depend on the data
                continue
        raise Pending(
            "The answer is pending", hint="ask the same again later; it is paid for already"
        )


def _remember(known: dict[K, int], key: K, value: int) -> None:
    if len(known) >= MOST_REMEMBERED:
        known.clear()
    known[key] = value
