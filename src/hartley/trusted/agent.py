"""The Agent class: ask(), with the whole course of a question on one screen.

It takes an open table, a schema and an open ledger. ``opening_agent.py`` opens them, and adds
price(), which says before a question what it would cost.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from hartley.engines.table import Table
from hartley.errors import InputError, OptionError
from hartley.exact import bits_at_least, check_bits, write_integer
from hartley.guarantees.promise import UNRELATED, Certificate
from hartley.results.answer import Answer, BatchAnswer
from hartley.results.quote import Wish
from hartley.schema.schema import Schema
from hartley.text import decimals_up
from hartley.trusted.data import Holding, head_note, load, remove_copy, replace_copy
from hartley.trusted.ledger.ledger import Ledger
from hartley.trusted.ledger.rows import NULL, digest
from hartley.trusted.ledger.state import period_words
from hartley.trusted.pricing.conditional_price import RULES
from hartley.trusted.pricing.price import BATCH_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from hartley.trusted.ledger.charging import Reservation
    from hartley.trusted.ledger.ledger import State
    from hartley.trusted.ledger.store import Transaction
    from hartley.trusted.precision import Desk
    from hartley.trusted.questions.batch import Question

LONG = 10**15
"""Larger numbers of answers are shown as a power of two."""


@runtime_checkable
class Quoted(Protocol):
    """What a quote says of its price, see ``answers/quote.py``; no answer rests on the rest."""

    @property
    def bits_alone(self) -> float:
        """The price if the account had asked nothing before."""

    @property
    def bits(self) -> float:
        """What would be charged now."""

    @property
    def given(self) -> Sequence[int]:
        """The rows of the asking account that the price rests on."""


class TrustedAgent:
    """Holds a private table, answers questions truthfully and counts what it reveals in bits.

    Every answer is an interval that certainly contains the truth. With everybody else's data
    fixed, all analysts together see at most floor(2^budget) different transcripts as one
    person's data varies over its whole range (docs/accountant.md).

    Example:
        >>> import tempfile
        >>> from hartley.trusted.ledger.ledger import open_ledger
        >>> from hartley.tables.opening import open_table
        >>> folder = tempfile.TemporaryDirectory()
        >>> age = {"age": {"kind": "private", "range": [0, 100], "step": 1}}
        >>> schema = Schema.read({"table": {"name": "people"}, "columns": age})
        >>> ledger = open_ledger(folder.name + "/ledger.db")
        >>> agent = Agent(open_table({"age": [30, 40, 50]}), schema, ledger=ledger, budget=4)
        >>> answer = agent.ask("SELECT COUNT(*) FROM people WHERE age >= 40")
        >>> str(answer.value), answer.bits, answer.remaining
        ('2', 1.0, 3.0)
        >>> agent.ask("SELECT COUNT(*) FROM people WHERE NOT age < 40").bits  # the same question
        0.0
        >>> agent.close(); ledger.close(); folder.cleanup()
    """

    def __init__(  # noqa: PLR0913 - what an agent is made of, each by name
        self,
        table: Table | None,
        schema: Schema,
        *,
        ledger: Ledger,
        budget: object = None,
        place: str | os.PathLike[str] | None = None,
        update: bool = False,
    ) -> None:
        """Open a dataset of a ledger, or create it.

        Args:
            table: the table, on DuckDB, PostgreSQL or Spark; None if its coded copy already exists.
            schema: the public schema.
            ledger: the ledger, which stays open when the agent is closed.
            budget: the budget in bits; needed only for a dataset that is new to the ledger.
            place: the place of the integer-coded copy. By default, it is gone with the connection.
            update: whether the table is a new version of a dataset in the ledger.
        """
        kinds = ((table, Table | None), (schema, Schema), (ledger, Ledger))
        if not all(isinstance(given, kind) for given, kind in kinds):
            raise OptionError(
                "This agent takes a table, a schema and a ledger that are open already",
                hint="use hartley.Agent, which opens them",
            )
        self.ledger, self._place = ledger, place
        self._changing = threading.Lock()
        self._process, self._closed = os.getpid(), False
        coded = load(table, schema, ledger, budget=budget, place=place, update=update)
        self._held = Holding(schema, coded)
        self._head = head_note(ledger, place, in_file=coded.dialect.copies_are_files)
        self._note_head()

    @property
    def schema(self) -> Schema:
        """The public schema."""
        return self._held.schema

    @property
    def desk(self) -> Desk:
        """What prices are computed from, all of it public."""
        return self._ready().desk

    # --- the walk ---

    def ask(  # noqa: PLR0913 - what an answer rests on, each by name
        self,
        question: str | Wish | Sequence[str | Wish],
        *,
        error: object = None,
        bits: object = None,
        min_rows: object = None,
        analyst: str | None = None,
        vacuous: bool = False,
        given: Quoted | Sequence[int] | None = None,
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
        held = self._ready()  # one version until the reply, even if others replace it meanwhile
        if most_bits is not None:
            most_bits = check_bits(most_bits, name="most_bits=")
        if given is not None and isinstance(given, Quoted):
            most_bits = given.bits if most_bits is None else min(given.bits, most_bits)
            given = given.given
        plans = held.desk.plan(question, error, bits, min_rows)
        based = {"version": held.coded.version, "schema": held.schema_version, "rules": RULES}
        known, planned = held.desk.look_up(plans, self.ledger, analyst, **based)
        if not vacuous:
            held.desk.check_useful(known, planned.unpaid)

        def unchanged() -> None:  # a copy that changed could not be asked once this is charged
            try:
                held.coded.check_unchanged()
            except InputError:  # it is removed when the data are replaced; then that is said
                held.desk.look_up(plans, self.ledger, analyst, **based)
                raise

        prices = held.desk.prices(known.questions, given, most_bits=most_bits, check=unchanged)
        reserved = self.ledger.reserve_planned(planned, prices, check)
        if reserved.sequence is not None:
            self._note_head()
        paid()
        cells = self._finish(held, reserved, known.questions)
        alone = held.price(known.questions, prices.alone)
        certificate = certificate_of([plan.text for plan in known.plans], alone, held.schema)
        due = bits_at_least(reserved.due.numerator, reserved.due.denominator)
        spent, remaining = reserved.balance.spent_bits, reserved.balance.remaining
        answers = tuple(
            Answer(
                text=plan.text,
                reading=held.reading(plan, [cells[at] for at in places]),
                bits=due,
                spent=spent,
                remaining=remaining,
                certificate=certificate,
                question_id=_identity(reserved, places),
                open_bits=bits_at_least(reserved.open_cells),
            )
            for plan, places in zip(known.plans, known.places, strict=True)
        )
        return answers[0] if isinstance(question, (str, Wish)) else BatchAnswer(answers)

    def _ready(self) -> Holding:
        """Return the current version; raise an error before a charge if nothing can be answered."""
        if self._closed or os.getpid() != self._process:
            what = "is closed" if self._closed else "was opened by another process"
            raise OptionError(
                f"The agent {what}", hint="open the dataset again, once in every process that asks"
            )
        return self._held

    def _finish(
        self, held: Holding, paid: Reservation, questions: Sequence[Question]
    ) -> list[int | None]:
        """Run the paid questions without an answer, keep the answers, and return every cell."""
        cells = [None if text in {None, NULL} else int(text or 0) for text in paid.answers]
        missing = [i for i, text in enumerate(paid.answers) if text is None]
        if missing:
            new_cells = held.cells([questions[i] for i in missing])
            for i, cell in zip(missing, new_cells, strict=True):
                cells[i] = cell
            # Where the head is noted later, the answer is on disk by then, and its charge already.
            at_once = self._head is None or self._head.at_once
            texts = [None if cell is None else str(cell) for cell in cells]
            self.ledger.commit(paid, texts, durable=at_once)
            self._note_head()
        return cells

    def _note_head(self) -> None:
        """Note next to the copy where the ledger ends, so that an older ledger is detected."""
        if self._head is not None:
            self._head.save()

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
        self._note_head()
        return promise

    def allow(self, analyst: str, bits: object) -> None:
        """Set a part of the budget aside for one analyst."""
        self.ledger.record(self.schema.name, "allowance", {"analyst": analyst, "bits": str(bits)})
        self._note_head()

    def update(
        self, table: Table, *, erasure: bool = False, check: Callable[[], None] | None = None
    ) -> None:
        """Replace the table by a new version; earlier charges stay.

        Args:
            table: the complete new table.
            erasure: whether the reason is that a person was removed.
            check: one more condition, called while nobody else writes; see ``Ledger.record``.
        """
        self._replace(self.schema, table, "erasure" if erasure else "version", check)

    def change_schema(
        self, schema: Schema, table: Table, *, check: Callable[[], None] | None = None
    ) -> None:
        """Use another schema from now on, as a new version; earlier charges stay as they are.

        ``check`` is one more condition, as in ``update``.

        The unit and the population cannot change after the first charge, since a charge is counted
        for a unit. The rows per unit, the ranges and the kinds of columns may change: each version
        is priced under its own schema.
        """
        self._check_changed(schema)
        self._replace(schema, table, "schema", check)

    def _check_changed(self, schema: Schema) -> None:
        """Raise an error for a schema that cannot follow the present one."""
        schema.require_confirmed()
        if schema.name != self.schema.name:
            raise OptionError(
                f"The changed schema is of '{schema.name}', not of '{self.schema.name}'",
                hint="keep the name of the table; another name is another dataset",
            )

    def _replace(
        self,
        schema: Schema,
        table: Table,
        kind: Literal["version", "erasure", "schema"],
        check: Callable[[], None] | None,
    ) -> None:
        """Use another version from now on; questions in progress finish with the old one."""
        with self._changing:
            old = self._ready()
            fresh = replace_copy(
                table,
                schema,
                self.ledger,
                before=old.schema,
                place=self._place,
                kind=kind,
                check=check,
            )
            self._held = Holding(schema, fresh)
            self._note_head()
            remove_copy(self._place, old.coded.version, table)

    def close(self) -> None:
        """Close the connections to the data; all answers and charges are on disk."""
        self._closed = True
        self._held.coded.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _identity(paid: Reservation, places: Sequence[int]) -> str:
    """Return the name of a resolved question: a digest of its text and version, never of data."""
    return digest(*[paid.digests[at] for at in places])[:16]


def certificate_of(texts: Sequence[str], cells: int, schema: Schema) -> Certificate:
    """Return the promise of a batch: how many answers one person's data can produce.

    Example:
        >>> from hartley.schema.schema import Schema
        >>> sex = {"sex": {"kind": "private", "values": ["F", "M"]}}
        >>> people = Schema.read({"table": {"name": "people"}, "columns": sex})
        >>> print(certificate_of(["SELECT COUNT(*) FROM people WHERE sex = 'F'"], 2, people).claim)
        Whatever the data of one person is, the answers take one of at most 2 values.
    """
    who = "one row is one person" if schema.unit is None else f"'{schema.unit}' names the person"
    rows = schema.rows_per_unit
    number = f"{cells:,}" if cells < LONG else f"2^{decimals_up(bits_at_least(cells))}"
    return Certificate(
        kind="noiseless privacy",
        claim=(
            "Whatever the data of one person is, the answers take one of at most "
            f"{number} value{'s' if cells != 1 else ''}."
        ),
        value=bits_at_least(cells),
        unit="bits",
        theorem="Farokhi 2019 (Noiseless Privacy), Definition 1, with the accountant's theorem",
        rule="corrected",
        sound=True,
        certainty="bound",
        assumptions=(
            f"{who}, who has at most {rows} row{'s' if rows != 1 else ''}",
            "everybody else's data stays fixed",
            UNRELATED,
            "the schema, public columns and the number of rows are known to everybody"
            if schema.rows == "public"
            else "the schema and public columns are known to everybody",
            "the truth is the table clamped to its ranges and snapped to its steps",
        ),
        parameters={"questions": list(texts), "cells": write_integer(cells), "rules": BATCH_RULES},
    )
