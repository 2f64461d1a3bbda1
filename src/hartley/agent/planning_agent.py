"""The agent that ``hartley.Agent`` names: one that answers questions and also plans them.

Plans and curves read the schema and the ledger alone, and no answer rests on them. They are added
here, so that everything that ``hartley.agent.agent`` can reach stays small enough to be read.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from hartley.agent.opening_agent import OpeningAgent
from hartley.agent.planning import plan
from hartley.agent.price_curve import price_curve
from hartley.wording import bits_down, bits_up

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from hartley.agent.plan import Plan
    from hartley.agent.price_curve import PriceCurve
    from hartley.agent.quotes import Wish
    from hartley.agent.workload import WorkloadEntry


class PlanningAgent(OpeningAgent):
    """Holds a private table, answers questions truthfully and counts what it reveals in bits.

    Every answer is an interval that certainly contains the truth. With everybody else's data
    fixed, all analysts together see at most floor(2^budget) different transcripts as one
    person's data varies over its whole range (docs/accountant.md). This class adds ``plan`` and
    ``curve`` to ``OpeningAgent``; answers are those of ``hartley.agent.agent.Agent``.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> age = {"age": {"kind": "private", "range": [0, 7], "step": 1}}
        >>> agent = PlanningAgent(
        ...     {"age": [3, 4, 5]},
        ...     {"table": {"name": "people"}, "columns": age},
        ...     budget=4, ledger=folder.name + "/ledger.db",
        ... )
        >>> [point.cells for point in agent.curve("SELECT MAX(age) FROM people").points]
        [1, 2, 3, 4, 8]
        >>> texts = ["SELECT MEDIAN(age) FROM people", "SELECT MAX(age) FROM people"]
        >>> planned = agent.plan(texts, budget=3)
        >>> planned.bits, agent.ask(planned.wishes).bits, agent.remaining
        (3.0, 3.0, 1.0)
        >>> agent.close(); folder.cleanup()
    """

    def __repr__(self) -> str:
        return f"<agent for {self.schema.name}: {self._balance()}>"

    def __str__(self) -> str:
        return f"{self._balance()}\n{self.schema.describe()}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(column.name)}</td><td>{column.kind}</td>"
            f"<td>{html.escape(column.describe())}</td></tr>"
            for column in self.schema.columns.values()
        )
        return (
            f"<p><b>{html.escape(self.schema.name)}</b>: {html.escape(self._balance())}</p>"
            f"<table><tbody>{rows}</tbody></table>"
        )

    def _balance(self) -> str:
        """Say what of the budget is spent; nothing here depends on the data."""
        if self._closed:
            return "closed"
        state = self.state
        spent = f"{bits_up(state.balance.spent_bits)} spent"
        return (
            f"budget {bits_down(float(state.budget))}, {spent}, {bits_down(state.remaining)} left"
        )

    def plan(  # noqa: PLR0913 - what a plan rests on, each by name
        self,
        questions: str | os.PathLike[str] | Sequence[str | Wish | WorkloadEntry],
        *,
        budget: object = None,
        analyst: str | None = None,
        error: object = None,
        bits: object = None,
        min_rows: object = None,
        weights: Sequence[object] | None = None,
        absolute: bool = False,
        vacuous: bool = False,
    ) -> Plan:
        """Return what a workload costs as one batch and one by one; nothing is spent.

        With a budget, questions without a wish share it. The same as ``hartley.plan`` with this
        agent, which describes the options.
        """
        return plan(
            questions,
            self,
            budget=budget,
            analyst=analyst,
            error=error,
            bits=bits,
            min_rows=min_rows,
            weights=weights,
            absolute=absolute,
            vacuous=vacuous,
        )

    def curve(  # noqa: PLR0913 - what a price rests on, each by name
        self,
        question: str | Wish,
        *,
        error: object = None,
        bits: object = None,
        min_rows: object = None,
        most: object = 16,
        analyst: str | None = None,
    ) -> PriceCurve:
        """Return what more bits buy: the prices of a question at which some error becomes smaller.

        Nothing is spent. The same as ``hartley.price_curve`` with this agent, which describes the
        options.
        """
        return price_curve(
            question, self, error=error, bits=bits, min_rows=min_rows, most=most, analyst=analyst
        )


Agent = PlanningAgent
"""The public name."""
