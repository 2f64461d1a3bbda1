"""An agent that opens what it is given, files, data frames and addresses; ask() asks it once.

It also tells the owner how the account stands. No answer rests on either: a mistake here opens
another table than was meant, or words a summary wrongly. So ``hartley.agent.agent`` is without it.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.agent.agent import Agent
from hartley.agent.asking import explain, quote
from hartley.agent.data import state_of
from hartley.agent.ledger.auditable_ledger import opened_ledger
from hartley.agent.ledger.overview import list_charges, read_overview
from hartley.agent.ledger.rows.balances import period_words
from hartley.agent.ledger.stores.unused_file import new_ledger_file, remove_unused_ledger
from hartley.agent.questions.batch import from_plain
from hartley.engines.coded.copying import is_database
from hartley.engines.dialects.registry import EMBEDDED
from hartley.engines.tables.sources import open_table
from hartley.exact import bits_at_least
from hartley.guarantees.accountant import Accountant
from hartley.ranges.schema.roles import Roles, open_with_roles
from hartley.ranges.schema.schema import Schema
from hartley.wording import bits_down, bits_up, counted, exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from hartley.agent.answers.answer import Answer, BatchAnswer
    from hartley.agent.answers.quote import Quote
    from hartley.agent.data import Place
    from hartley.agent.ledger.ledger import Ledger
    from hartley.agent.ledger.overview import Charge, Overview
    from hartley.agent.questions.batch import Question
    from hartley.agent.quotes import Wish
    from hartley.ranges.schema.roles import RolesSource


class OpeningAgent(Agent):
    """An agent that opens its table, schema and ledger, quotes prices and explains its account.

    Answers are those of ``hartley.agent.agent.Agent``.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> age = {"age": {"kind": "private", "range": [0, 100], "step": 1}}
        >>> agent = OpeningAgent(
        ...     {"age": [30, 40, 50]},
        ...     {"table": {"name": "people"}, "columns": age},
        ...     budget=4, ledger=folder.name + "/ledger.db",
        ... )
        >>> agent.ask("SELECT COUNT(*) FROM people WHERE age >= 40").bits
        1.0
        >>> print(agent.summary().splitlines()[-1])
        Paid for: 1 batch with 1 statistic.
        >>> agent.close(); folder.cleanup()
    """

    def __init__(  # noqa: PLR0913 - what an agent is made of, each by name
        self,
        data: object,
        schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
        *,
        ledger: Ledger | str | os.PathLike[str],
        budget: object = None,
        place: str | os.PathLike[str] | None = None,
        update: bool = False,
    ) -> None:
        """Open a dataset of a ledger, or create it.

        Args:
            data: the table: anything that ``open_table`` takes, on DuckDB, PostgreSQL or Spark;
                None if its coded copy already exists.
            schema: the public schema: a ``Schema``, a dict or the path of a TOML file.
            budget: the budget in bits; needed only for a dataset that is new to the ledger.
            ledger: a path, ``sqlite:///path``, ``postgresql://...`` or an open ledger.
            place: the place of the integer-coded copy. By default, next to the ledger file.
            update: whether the table is a new version of a dataset in the ledger.
        """
        read = Schema.read(schema)
        new_file = new_ledger_file(ledger)
        self.ledger = opened_ledger(ledger, create=budget is not None)  # a typo creates no ledger
        self._owns_ledger = self.ledger is not ledger
        try:
            read.require_confirmed()
            state_of(self.ledger, read.name)  # a ledger that cannot be read is the first problem
            super().__init__(
                None if data is None else open_table(data),
                read,
                ledger=self.ledger,
                budget=budget,
                place=lasting_place(place, ledger, read.name),
                update=update,
            )
        except BaseException:
            self._close_ledger()
            if new_file is not None:  # made for nothing
                remove_unused_ledger(new_file)
            raise

    def update(
        self, data: object, *, erasure: bool = False, check: Callable[[], None] | None = None
    ) -> None:
        """Replace the table by a new version; earlier charges stay.

        Args:
            data: the complete new table: anything that ``open_table`` takes.
            erasure: whether the reason is that a person was removed.
            check: one more condition, called while nobody else writes; see ``Ledger.record``.
        """
        super().update(open_table(data), erasure=erasure, check=check)

    def change_schema(
        self,
        schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
        data: object,
        *,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Use another schema from now on, as a new version; earlier charges stay as they are.

        ``check`` is one more condition, as in ``update``.

        The unit and the population cannot change after the first charge, since a charge is counted
        for a unit. The rows per unit, the ranges and the kinds of columns may change: each version
        is priced under its own schema.
        """
        changed = Schema.read(schema)
        self._check_changed(changed)
        super().change_schema(changed, open_table(data), check=check)

    # --- prices and the account ---

    def price(  # noqa: PLR0913 - what a price rests on, each by name
        self,
        question: str | Wish | Sequence[str | Wish],
        *,
        error: object = None,
        bits: object = None,
        min_rows: object = None,
        analyst: str | None = None,
        vacuous: bool = False,
    ) -> Quote:
        """Return what questions would cost, from the schema alone; nothing is spent.

        Args:
            question: SQL, a wish, or a list of them: a batch.
            error: the largest error that the answers may have.
            bits: the price of each question, instead of an error. By default, the schema's.
            min_rows: how many rows must count for the error, if their number is private.
            analyst: the analyst who would ask.
            vacuous: whether to accept answers that say no more than the schema; otherwise the
                quote names them, with the next price that reveals more.
        """
        desk = self.desk  # of one version, even if others replace it meanwhile
        plans = desk.plan(question, error, bits, min_rows)
        return quote(desk, plans, self.ledger, analyst, vacuous=vacuous)

    @property
    def accountant(self) -> Accountant[Question]:
        """The present charges, used to explain a batch; the ledger itself does the charging."""
        earlier, state = self.desk.earlier, self.state
        earlier.read(self.ledger)
        charges = [charge for charge in self.history() if charge.version == state.version]
        # Its population or the present period may have less left than the dataset.
        left = state.balance.left
        if state.period is not None:
            left = min(left, state.period.balance.left)
        accountant = Accountant(
            state.budget,
            earlier.priced,
            open_factor=state.open_factor,
            charged=state.spent,
            answered=[from_plain(question) for charge in charges for question in charge.questions],
        )
        if state.population is not None or state.period is not None:
            balance = accountant.balance
            accountant.balance = replace(balance, limit=balance.charged * left)
        return accountant

    def history(self, analyst: str | None = None) -> list[Charge]:
        """Return every batch that was paid for, oldest first."""
        dataset = self.schema.name
        return self.ledger.read(lambda t: list_charges(t, dataset, analyst))

    def summary(self) -> str:
        """Return a few lines that say what was promised, spent and asked."""
        overview = self.ledger.read(lambda t: read_overview(t, self.schema.name))
        state, size = overview.state, self.schema.record_bits
        balance = state.balance
        share = f"at most {exactly(state.budget)} of"
        alone = (
            "" if state.population else "; what other datasets reveal about the person comes on top"
        )
        promise = (
            f"Dataset {self.schema.name}: {share if state.budget < size else 'all'} the "
            f"{bits_down(size)} of a record can be learned about one person{alone}."
        )
        tightest = f" of {balance.tightest}" if balance.tightest else ""
        spent = (
            f"Spent {bits_up(balance.spent_bits)}, of which open columns "
            f"{bits_up(bits_at_least(state.open_factor))}; "
            f"{bits_down(balance.remaining)}{tightest} left."
        )
        paid = counted(overview.batches, "batch")
        lines = [
            promise,
            spent,
            f"Paid for: {paid} with {counted(overview.questions, 'statistic')}.",
        ]
        return "\n".join(lines + _about_others(overview))

    def explain(
        self,
        question: str | Wish | Sequence[str | Wish],
        *,
        error: object = None,
        bits: object = None,
        min_rows: object = None,
        analyst: str | None = None,
    ) -> str:
        """Explain a charge: its atoms and factors, and whether the budget covers it."""
        desk = self.desk
        plans = desk.plan(question, error, bits, min_rows)
        return explain(desk, plans, self.ledger, analyst)

    def close(self) -> None:
        """Close the connections; all answers and charges are on disk."""
        super().close()
        self._close_ledger()

    def _close_ledger(self) -> None:
        if self._owns_ledger:  # a ledger passed by the caller may be used elsewhere
            self.ledger.close()


def _about_others(overview: Overview) -> list[str]:
    """Return the promises of the period and of the population, and whether one was broken."""
    period = overview.state.period
    lines = [] if period is None else [f"By period: {period_words(period)}."]
    population = overview.state.population
    if population is not None:
        shared = population.balance
        lines.append(
            f"Population {population.name}: at most {exactly(shared.bits)} bits about one person "
            f"from its {counted(len(population.datasets), 'dataset')} together; spent "
            f"{bits_up(shared.spent_bits)}, {bits_down(shared.remaining)} left."
        )
    if overview.broken is not None:
        lines.append(f"That promise is broken: {overview.broken}.")
    return lines


def ask(  # noqa: PLR0913 - what an answer rests on, each by name
    question: str | Wish | Sequence[str | Wish],
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
    *,
    ledger: Ledger | str | os.PathLike[str],
    table: object = None,
    budget: object = None,
    place: str | os.PathLike[str] | None = None,
    update: bool = False,
    error: object = None,
    bits: object = None,
    min_rows: object = None,
    analyst: str | None = None,
    vacuous: bool = False,
    roles: RolesSource | None = None,
) -> Answer | BatchAnswer:
    """Answer a question about a private table, truthfully, if the budget covers its price.

    Opens an ``Agent``, asks it and closes it. To ask often, keep an ``Agent`` open instead.

    Args:
        question: SQL, a wish, or a list of them: a batch, which is answered by a ``BatchAnswer``.
        schema: the public schema: a ``Schema``, a dict or the path of a TOML file.
        ledger: the ledger of charges: a path, ``sqlite:///path``, ``postgresql://...`` or an open
            ledger.
        table: the private table: anything that ``open_table`` takes; None if its coded copy
            exists from an earlier call.
        budget: the budget in bits, for a table that is new to the ledger.
        place: the place of the coded copy. By default, next to the ledger file.
        update: whether the table is a new version of one in the ledger.
        error: the largest error that the answers may have.
        bits: the price of each question, instead of an error. By default, the schema's.
        min_rows: how many rows must count for the error, if their number is private.
        analyst: the analyst who asks, if allowances are set.
        vacuous: whether to accept answers that say no more than the schema.
        roles: the confirmed roles of the columns, by which the table is read; a schema that
            describes an identifier is refused.

    Example:
        >>> import tempfile
        >>> age = {"age": {"kind": "private", "range": [0, 100], "step": 1}}
        >>> people = {"table": {"name": "people"}, "columns": age}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     answer = ask(
        ...         "SELECT COUNT(*) FROM people WHERE age >= 40", people,
        ...         table={"age": [30, 40, 50]}, ledger=folder + "/ledger.db", budget=4,
        ...     )
        >>> str(answer.value), answer.remaining
        ('2', 3.0)
    """
    if roles is not None:
        schema = Schema.read(schema)
        confirmed = Roles.confirmed_by_owner(roles)
        confirmed.refuse_identifiers(schema.columns, "asked about")
        if table is not None:
            table, _ = open_with_roles(table, confirmed, unit=schema.unit)
    opened = OpeningAgent(table, schema, ledger=ledger, budget=budget, place=place, update=update)
    with opened as agent:
        return agent.ask(
            question, error=error, bits=bits, min_rows=min_rows, analyst=analyst, vacuous=vacuous
        )


def lasting_place(place: Place | None, ledger: object, dataset: str) -> Place | None:
    """Return the absolute place of coded copies; by default next to the ledger."""
    if place is None:
        place = _beside(ledger, dataset)
    return Path(place).absolute() if place is not None and is_database(place) else place


def _beside(ledger: object, dataset: str) -> Path | None:
    """Return the place of coded copies next to a ledger file."""
    text = os.fspath(ledger) if isinstance(ledger, (str, os.PathLike)) else ""
    path = text.removeprefix("sqlite:///")
    if not path or "://" in path:
        return None
    name = re.sub(r"[^A-Za-z0-9_-]", "_", dataset)[:100]  # if two become equal: versions differ
    return Path(path).with_name(f"{Path(path).name}.{name}{EMBEDDED.endings[0]}")
