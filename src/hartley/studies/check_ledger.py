"""Agents and publications together: answers as published cells, publications as charges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.agent.answers.cells import cell_bounds
from hartley.agent.asking import open_desk
from hartley.agent.ledger.auditable_ledger import open_ledger
from hartley.agent.ledger.rows.entries import NULL
from hartley.agent.pricing.given_price import RULES
from hartley.agent.questions.batch import Statistic, from_plain, to_plain
from hartley.agent.questions.condition import EVERY
from hartley.agent.quotes import questions_of
from hartley.engines.crosstabs.crosstab import Crosstab, PublishedCell
from hartley.errors import InputError, Refused, Stale
from hartley.exact import bits_at_least
from hartley.files import one_line
from hartley.wording import bits_down, bits_up

if TYPE_CHECKING:
    import os

    from hartley.agent.questions.batch import Question
    from hartley.ranges.schema.schema import Schema


@dataclass(frozen=True)
class LedgerAnswers:
    """The answers of a ledger as published cells, and the conditions that they are about."""

    tables: tuple[Crosstab, ...] = ()
    conditions: dict[str, Any] | None = None
    """The conditions as the agent resolved them, by their names; None without a ledger."""
    notes: tuple[str, ...] = ()
    rows: int = 0
    """The number of rows, or the largest possible one."""
    version: str = ""
    """Of the dataset."""


def read_ledger(path: str | os.PathLike[str], schema: Schema) -> LedgerAnswers:
    """Read the answers about the present version of the schema's dataset.

    Every count and every sum of one column states an interval for the rows of its condition.
    Other answers are left out, and a note says how many.

    Args:
        path: the ledger.
        schema: the public schema of the microdata.
    """
    ledger = open_ledger(path, create=False)
    try:
        known = schema.name in ledger.datasets()
        state = ledger.state(schema.name) if known else None
        if state is None or state.schema != schema.to_toml():
            raise InputError(
                f"The ledger {path} is of another schema than '{schema.name}'",
                hint="give the schema that the agent was asked under",
            )
        charges = [c for c in ledger.history(schema.name) if c.version == state.version]
        rows = state.rows if schema.rows == "public" else None
        most = (schema.max_rows or 0) if rows is None else rows
    finally:
        ledger.close()
    tables: list[Crosstab] = []
    conditions: dict[str, Any] = {}
    left_out = 0
    for charge in charges:
        for plain, answer in zip(charge.questions, charge.answers, strict=True):
            if answer is None or answer == NULL:
                continue
            question = from_plain(plain)
            statistic = _statistic(question, schema)
            if statistic is None:
                left_out += 1
                continue
            low, high = cell_bounds(question, int(answer))
            name = None
            if question.where != EVERY:
                note = one_line(charge.note or "an answer", 60)
                name = f"{note} [{len(conditions) + 1}]"
                conditions[name] = question.where
            tables.append(_cell(f"answer {len(tables) + 1}", statistic, name, (low, high)))
    if rows is not None:
        tables.append(_cell("number of rows", "count", None, (rows, rows)))
    notes = (f"{left_out} answers of the ledger are no counts or sums.",) if left_out else ()
    return LedgerAnswers(tuple(tables), conditions, notes, most, state.version)


def _statistic(question: Question, schema: Schema) -> str | None:
    """Return what an answer is about, as outputs say it; None for what outputs do not hold."""
    if question.statistic is Statistic.COUNT:
        return "count"
    form = question.form
    if question.statistic is not Statistic.SUM or form is None or form.unit != 1:
        return None
    if len(form.terms) != 1 or form.terms[0][1] != 1 or question.least < 0:
        return None
    column = form.terms[0][0]
    # The form adds up the values themselves only if it begins with the smallest of them.
    return f"sum({column})" if schema.columns[column].low == form.constant else None


def _cell(name: str, statistic: str, where: str | None, ends: tuple[int, int]) -> Crosstab:
    cell = PublishedCell((), ends[0], ends[1], "number", "", 1)
    return Crosstab(name, None, name, (), statistic, where, (cell,), 0, ())


@dataclass(frozen=True)
class Publication:
    """A publication that is described, to be booked in a ledger before it leaves."""

    number: str
    questions: tuple[str, ...]
    """All that it can depend on, as questions to an agent."""
    schema: Schema
    version: str
    """Of the dataset."""
    ledger: str | os.PathLike[str]

    def book(self) -> str:
        """Book the batch price in one step, and say so; what was paid for before is free.

        Raises Refused if the budget does not cover it; then nothing is recorded.
        """
        opened = open_ledger(self.ledger, create=False)
        try:
            with open_desk(self.schema, ledger=opened) as (desk, _):
                plans = desk.plan(list(self.questions), 0, None)
                questions = questions_of(desk.known_plans(plans, opened, None))
                paid = opened.reserve(
                    self.schema.name,
                    None,
                    [to_plain(question) for question in questions],
                    desk.prices(questions),
                    note=f"publication {self.number}: " + "\n".join(self.questions),
                    version=self.version,
                    rules=RULES,
                )
        except Stale:
            raise
        except Refused as error:
            raise Refused(
                error.problem.replace("The question", "The publication", 1),
                hint="describe fewer outputs or fewer dims, or raise the budget",
                requested=error.requested,
                remaining=error.remaining,
            ) from None
        finally:
            opened.close()
        spent, left = paid.balance.spent_bits, paid.balance.remaining
        due = bits_up(bits_at_least(paid.due.numerator, paid.due.denominator))
        how = f" for {due}" if paid.sequence else ", before: it costs nothing now"
        remain = "there is no budget" if left is None else f"{bits_down(left)} remain"
        return f"Booked as publication {self.number}{how}. {bits_up(spent)} are spent, {remain}."
