"""Agent: holds a TrustedAgent; opens, asks, quotes, plans; ask()."""

from __future__ import annotations

import html
import os
import re
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hartley.agent.ledger import opened_ledger
from hartley.engines.coded_table import is_database
from hartley.engines.registry import EMBEDDED
from hartley.exact import bits_at_least
from hartley.schema.schema import Schema
from hartley.tables.opening import open_table
from hartley.text import bits_down, bits_up, count_of, exactly, html_table, in_notebook
from hartley.trusted.agent import TrustedAgent
from hartley.trusted.data import dataset_state
from hartley.trusted.ledger.sqlite import BESIDE
from hartley.trusted.ledger.state import period_words
from hartley.trusted.questions.batch import from_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from hartley.agent.ledger import Charge, Ledger, Overview
    from hartley.guarantees.accountant import Accountant
    from hartley.results.answer import Answer, BatchAnswer
    from hartley.results.plan import Plan, PriceCurve, WorkloadEntry
    from hartley.results.quote import Quote, Wish
    from hartley.schema.roles import RolesSource
    from hartley.trusted.agent import PriceOffer
    from hartley.trusted.data import Place
    from hartley.trusted.ledger.ledger import State
    from hartley.trusted.ledger.store import Transaction
    from hartley.trusted.precision import PriceDesk
    from hartley.trusted.questions.batch import Question


# --- unused file ----------------------------------------------------------------------------------
# Removing the file of a ledger that was made for nothing: it has no row, and nobody uses it.


def new_ledger_file(ledger: object) -> Path | None:
    """Return the file that opening a ledger would make; None if it exists, or is no file."""
    text = os.fspath(ledger) if isinstance(ledger, (str, os.PathLike)) else ""
    place = text.removeprefix("sqlite:///")
    if not place or "://" in place or os.path.exists(place):  # noqa: PTH110 - names no file: False
        return None
    return Path(place)


def remove_unused_ledger(path: Path) -> None:
    """Remove the file of a ledger without rows and accounts, unless another process has it open.

    SQLite gives up a write-ahead log only for the one connection that has the file open, and keeps
    everybody else out from then on. Who has opened the file and waits to write to it notices that
    it is gone (``SqliteLedgerStore``).
    """
    with (
        suppress(sqlite3.Error, OSError),
        closing(sqlite3.connect(path.absolute().as_uri() + "?mode=rw", 0, uri=True)) as connection,
    ):
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = [str(name) for (name,) in listed]
        used = any(name.startswith(BESIDE) for name in tables)
        if tables:
            used |= bool(connection.execute("SELECT 1 FROM hartley_entries LIMIT 1").fetchall())
        if mode == "delete" and not used:
            path.unlink()
            path.with_name(f"{path.name}-shm").unlink(missing_ok=True)  # left by a full disk


class Agent:
    """Holds a private table, answers questions truthfully and counts what it reveals in bits.

    Every answer is an interval that certainly contains the truth. With everybody else's data
    fixed, all analysts together see at most floor(2^budget) different transcripts as one
    person's data varies over its whole range (docs/accountant.md).

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> age = {"age": {"kind": "private", "range": [0, 100], "step": 1}}
        >>> agent = Agent(
        ...     {"age": [30, 40, 50]},
        ...     {"table": {"name": "people"}, "columns": age},
        ...     budget=4, ledger=folder.name + "/ledger.db",
        ... )
        >>> answer = agent.ask("SELECT COUNT(*) FROM people WHERE age >= 40")
        >>> str(answer.value), answer.bits, answer.remaining
        ('2', 1.0, 3.0)
        >>> agent.ask("SELECT COUNT(*) FROM people WHERE NOT age < 40").bits  # the same question
        0.0
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
            dataset_state(
                self.ledger.trusted, read.name
            )  # a ledger that cannot be read is the first problem
            self.trusted = TrustedAgent(
                None if data is None else open_table(data),
                read,
                ledger=self.ledger.trusted,
                budget=budget,
                place=default_copy_folder(place, ledger, read.name),
                update=update,
            )
            """What answers and charges: the course of a question, without what opens and shows."""
        except BaseException:
            if self._owns_ledger:
                self.ledger.close()
            if new_file is not None:  # made for nothing
                remove_unused_ledger(new_file)
            raise

    @property
    def schema(self) -> Schema:
        """The public schema."""
        return self.trusted.schema

    @property
    def desk(self) -> PriceDesk:
        """What prices are computed from, all of it public."""
        return self.trusted.data.desk

    def close(self) -> None:
        """Close the connections; all answers and charges are on disk."""
        self.trusted.close()
        if self._owns_ledger:  # a ledger passed by the caller may be used elsewhere
            self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- questions ---

    def ask(  # noqa: PLR0913 - what an answer rests on, each by name
        self,
        question: str | Wish | Sequence[str | Wish],
        *,
        error: object = None,
        bits: object = None,
        min_rows: object = None,
        analyst: str | None = None,
        vacuous: bool = False,
        given: PriceOffer | Sequence[int] | None = None,
        most_bits: float | None = None,
        check: Callable[[Transaction, int], None] | None = None,
        paid: Callable[[], None] = lambda: None,
    ) -> Answer | BatchAnswer:
        """Answer a question, or a batch of them, if the budget covers its price.

        Everything that can be refused is refused before anything is charged, and the charge is
        on disk before any data is read. The same question again is free, and a question that was
        partly answered before costs only what is still unknown.

        Args:
            question: SQL, a wish, or a list of them: a batch, priced together.
            error: the largest error that the answers may have.
            bits: the price of each question, instead of an error. By default, the schema's.
            min_rows: how many rows must count for the error, if their number is private.
            analyst: the analyst who asks.
            vacuous: whether to pay even for an answer that certainly says no more than the schema.
            given: a quote, which is then not exceeded: nothing is charged if more is due by now. Or
                the rows that the price is to rest on.
            most_bits: what may be charged at most; ``Stale`` is raised if more is due by now.
            check: one more condition of a charge, see ``Ledger.reserve``; never for a repeat.
            paid: called once all of it is paid for, by now or before, and before any data is read.

        Returns:
            an ``Answer``, or a ``BatchAnswer`` for a list.
        """
        return self.trusted.ask(
            question,
            error=error,
            bits=bits,
            min_rows=min_rows,
            analyst=analyst,
            vacuous=vacuous,
            given=given,
            most_bits=most_bits,
            check=check,
            paid=paid,
        )

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
        from hartley.agent.quoting import quote

        desk = self.desk  # of one version, even if others replace it meanwhile
        plans = desk.plan(question, error, bits, min_rows)
        return quote(desk, plans, self.ledger, analyst, vacuous=vacuous)

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
        from hartley.agent.quoting import explain

        desk = self.desk
        plans = desk.plan(question, error, bits, min_rows)
        return explain(desk, plans, self.ledger, analyst)

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
        from hartley.agent.planning import plan

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
        from hartley.agent.curve import price_curve

        return price_curve(
            question, self, error=error, bits=bits, min_rows=min_rows, most=most, analyst=analyst
        )

    # --- the account ---

    @property
    def state(self) -> State:
        """The state of the dataset, for its owner."""
        return self.ledger.state(self.schema.name)

    @property
    def spent(self) -> float:
        """The charges of all analysts together and of the open columns, in bits."""
        return self.state.balance.spent_bits

    @property
    def remaining(self) -> float:
        """What is left of the budget, in bits."""
        return self.state.remaining

    def set_budget(self, bits: object, *, per: str | None = None) -> str:
        """Change the budget, which only the owner may do; returns the new promise.

        Args:
            bits: the new budget; with ``per``, what may be charged in each period, None to end it.
            per: "year", "quarter" or "month" for a part of the budget in each of them, by the time
                in the ledger (UTC), counted from now on. The budget itself stays and never resets.
        """
        if per is None:
            entry = self.ledger.record(self.schema.name, "budget", {"bits": str(bits)})
            promise = str(entry.told["promise"])
        else:
            content = {"bits": None, "per": None} if bits is None else {"bits": bits, "per": per}
            self.ledger.record(self.schema.name, "period", content)
            promise = period_words(self.state.period)
        self.trusted.note_head()
        return promise

    def allow(self, analyst: str, bits: object) -> None:
        """Set a part of the budget aside for one analyst."""
        self.ledger.record(self.schema.name, "allowance", {"analyst": analyst, "bits": str(bits)})
        self.trusted.note_head()

    def update(
        self, data: object, *, erasure: bool = False, check: Callable[[], None] | None = None
    ) -> None:
        """Replace the table by a new version; earlier charges stay.

        Args:
            data: the complete new table: anything that ``open_table`` takes.
            erasure: whether the reason is that a person was removed.
            check: one more condition, called while nobody else writes; see ``Ledger.record``.
        """
        self.trusted.update(open_table(data), erasure=erasure, check=check)

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
        self.trusted.check_successor(changed)  # before the data is opened
        self.trusted.change_schema(changed, open_table(data), check=check)

    @property
    def accountant(self) -> Accountant[Question]:
        """The present charges, used to explain a batch; the ledger itself does the charging."""
        from hartley.guarantees.accountant import Accountant

        earlier, state = self.desk.earlier, self.state
        earlier.read(self.ledger.trusted)
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
        return self.ledger.history(self.schema.name, analyst)

    def summary(self) -> str:
        """Return a few lines that say what was promised, spent and asked."""
        overview = self.ledger.overview(self.schema.name)
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
        paid = count_of(overview.batches, "batch")
        lines = [
            promise,
            spent,
            f"Paid for: {paid} with {count_of(overview.questions, 'statistic')}.",
        ]
        return "\n".join(lines + _about_others(overview))

    def __repr__(self) -> str:
        return f"<agent for {self.schema.name}: {self._balance()}>"

    def __str__(self) -> str:
        return f"{self._balance()}\n{self.schema.describe()}"

    def _repr_html_(self) -> str:
        columns = self.schema.columns.values()
        lines = [(column.name, column.kind, column.describe()) for column in columns]
        return in_notebook(
            f"<p><b>{html.escape(self.schema.name)}</b>: {html.escape(self._balance())}</p>"
            f"{html_table(('column', 'kind', 'values'), lines)}"
        )

    def _balance(self) -> str:
        """Say what of the budget is spent; nothing here depends on the data."""
        if self.trusted.closed:
            return "closed"
        state = self.state
        spent = f"{bits_up(state.balance.spent_bits)} spent"
        return (
            f"budget {bits_down(float(state.budget))}, {spent}, {bits_down(state.remaining)} left"
        )


def _about_others(overview: Overview) -> list[str]:
    """Return the promises of the period and of the population, and whether one was broken."""
    period = overview.state.period
    lines = [] if period is None else [f"By period: {period_words(period)}."]
    population = overview.state.population
    if population is not None:
        shared = population.balance
        lines.append(
            f"Population {population.name}: at most {exactly(shared.bits)} bits about one person "
            f"from its {count_of(len(population.datasets), 'dataset')} together; spent "
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
        from hartley.schema.roles import Roles, open_with_roles

        schema = Schema.read(schema)
        confirmed = Roles.confirmed_by_owner(roles)
        confirmed.refuse_identifiers(schema.columns, "asked about")
        if table is not None:
            table, _ = open_with_roles(table, confirmed, unit=schema.unit)
    opened = Agent(table, schema, ledger=ledger, budget=budget, place=place, update=update)
    with opened as agent:
        return agent.ask(
            question, error=error, bits=bits, min_rows=min_rows, analyst=analyst, vacuous=vacuous
        )


def default_copy_folder(place: Place | None, ledger: object, dataset: str) -> Place | None:
    """Return the absolute place of coded copies; by default next to the ledger."""
    if place is None:
        text = os.fspath(ledger) if isinstance(ledger, (str, os.PathLike)) else ""
        path = text.removeprefix("sqlite:///")
        if not path or "://" in path:
            return None
        name = re.sub(r"[^A-Za-z0-9_-]", "_", dataset)[:100]  # if two become equal: versions differ
        place = Path(path).with_name(f"{Path(path).name}.{name}{EMBEDDED.endings[0]}")
    return Path(place).absolute() if is_database(place) else place
