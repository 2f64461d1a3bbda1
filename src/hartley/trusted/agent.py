"""TrustedAgent: ask(), with the whole course of a question on one screen."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from hartley.errors import InputError, OptionError
from hartley.exact import bits_at_least, check_bits
from hartley.results.answer import Answer, BatchAnswer
from hartley.results.quote import Wish
from hartley.trusted.data import DataVersion, ledger_head_file, load, remove_copy, replace_copy
from hartley.trusted.ledger.rows import NULL, digest
from hartley.trusted.pricing.conditional_price import RULES
from hartley.trusted.pricing.price import certificate_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from hartley.engines.table import Table
    from hartley.schema.schema import Schema
    from hartley.trusted.ledger.charging import Reservation
    from hartley.trusted.ledger.ledger import TrustedLedger
    from hartley.trusted.ledger.store import Transaction
    from hartley.trusted.questions.batch import Question


@runtime_checkable
class PriceOffer(Protocol):
    """What a quote says of its price; no answer rests on the rest of it."""

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
    """Answers questions about an open table truthfully, and charges a ledger what they reveal.

    Every answer is an interval that certainly contains the truth. With everybody else's data
    fixed, all analysts together see at most floor(2^budget) different transcripts as one
    person's data varies over its whole range (docs/accountant.md).
    """

    def __init__(  # noqa: PLR0913 - what an agent is made of, each by name
        self,
        table: Table | None,
        schema: Schema,
        *,
        ledger: TrustedLedger,
        budget: object = None,
        place: str | os.PathLike[str] | None = None,
        update: bool = False,
    ) -> None:
        """Open a dataset of a ledger, or create it, as ``hartley.Agent``; the ledger stays open."""
        self.ledger, self._place = ledger, place
        self._changing = threading.Lock()
        self._process, self.closed = os.getpid(), False
        coded = load(table, schema, ledger, budget=budget, place=place, update=update)
        self._data = DataVersion(schema, coded)
        self.head_file = ledger_head_file(ledger, place, in_file=coded.dialect.copies_are_files)
        self.note_head()

    @property
    def schema(self) -> Schema:
        """The public schema."""
        return self._data.schema

    @property
    def data(self) -> DataVersion:
        """The present version of the data; an error if nothing can be answered any more."""
        if self.closed or os.getpid() != self._process:
            what = "is closed" if self.closed else "was opened by another process"
            raise OptionError(
                f"The agent {what}", hint="open the dataset again, once in every process that asks"
            )
        return self._data

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
        on disk before any data is read. ``hartley.Agent.ask`` describes the arguments.
        """
        data = self.data  # one version until the reply, even if others replace it meanwhile
        if most_bits is not None:
            most_bits = check_bits(most_bits, name="most_bits=")
        if given is not None and isinstance(given, PriceOffer):
            most_bits = given.bits if most_bits is None else min(given.bits, most_bits)
            given = given.given
        plans = data.desk.plan(question, error, bits, min_rows)
        based = {"version": data.coded.version, "schema": data.schema_version, "rules": RULES}
        known, planned = data.desk.look_up(plans, self.ledger, analyst, **based)
        if not vacuous:
            data.desk.check_useful(known, planned.unpaid)

        def unchanged() -> None:  # a copy that changed could not be asked once this is charged
            try:
                data.coded.check_unchanged()
            except InputError:  # it is removed when the data are replaced; then that is said
                data.desk.look_up(plans, self.ledger, analyst, **based)
                raise

        prices = data.desk.prices(known.questions, given, most_bits=most_bits, check=unchanged)
        reserved = self.ledger.reserve(planned, prices, check)
        if reserved.sequence is not None:
            self.note_head()
        paid()
        cells = self._finish(data, reserved, known.questions)
        alone = data.price(known.questions, prices.alone)
        texts = [plan.text for plan in known.plans]
        certificate = certificate_of(texts, known.questions, alone, data.schema)
        due = bits_at_least(reserved.due.numerator, reserved.due.denominator)
        spent, remaining = reserved.balance.spent_bits, reserved.balance.remaining
        answers = tuple(
            Answer(
                text=plan.text,
                reading=data.reading(plan, [cells[at] for at in places]),
                bits=due,
                spent=spent,
                remaining=remaining,
                certificate=certificate,
                question_id=digest(*[reserved.digests[at] for at in places])[:16],  # never of data
                open_bits=bits_at_least(reserved.open_cells),
            )
            for plan, places in zip(known.plans, known.places, strict=True)
        )
        return answers[0] if isinstance(question, (str, Wish)) else BatchAnswer(answers)

    def _finish(
        self, data: DataVersion, paid: Reservation, questions: Sequence[Question]
    ) -> list[int | None]:
        """Run the paid questions without an answer, keep the answers, and return every cell."""
        cells = [None if text in {None, NULL} else int(text or 0) for text in paid.answers]
        missing = [i for i, text in enumerate(paid.answers) if text is None]
        if missing:
            new_cells = data.cells([questions[i] for i in missing])
            for i, cell in zip(missing, new_cells, strict=True):
                cells[i] = cell
            # Where the head is noted later, the answer is on disk by then, and its charge already.
            at_once = self.head_file is None or self.head_file.at_once
            texts = [None if cell is None else str(cell) for cell in cells]
            self.ledger.commit(paid, texts, durable=at_once)
            self.note_head()
        return cells

    def note_head(self) -> None:
        """Note next to the copy where the ledger ends, so that an older ledger is detected."""
        if self.head_file is not None:
            self.head_file.save()

    def update(
        self, table: Table, *, erasure: bool = False, check: Callable[[], None] | None = None
    ) -> None:
        """Replace the table by a new version; earlier charges stay."""
        self._replace(self.schema, table, "erasure" if erasure else "version", check)

    def change_schema(
        self, schema: Schema, table: Table, *, check: Callable[[], None] | None = None
    ) -> None:
        """Use another schema from now on, as a new version; earlier charges stay as they are.

        The unit and the population cannot change after the first charge, since a charge is counted
        for a unit.
        """
        self.check_successor(schema)
        self._replace(schema, table, "schema", check)

    def check_successor(self, schema: Schema) -> None:
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
            old = self.data
            fresh = replace_copy(
                table,
                schema,
                self.ledger,
                before=old.schema,
                place=self._place,
                kind=kind,
                check=check,
            )
            self._data = DataVersion(schema, fresh)
            self.note_head()
            remove_copy(self._place, old.coded.version, table)

    def close(self) -> None:
        """Close the connections to the data; all answers and charges are on disk."""
        self.closed = True
        self._data.coded.close()
