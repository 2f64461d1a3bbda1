"""The functions ask() and price(): one call each, as in ``hartley ask`` and ``hartley price``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.ledger import open_ledger
from hartley.agent.quotes import Desk, check_same_schema
from hartley.errors import OptionError
from hartley.ranges.schema.schema import Schema

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from hartley.agent.answers.answer import Answer, BatchAnswer, Quote
    from hartley.agent.ledger.ledger import Ledger
    from hartley.agent.quotes import Wish


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
    analyst: str | None = None,
    vacuous: bool = False,
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
        analyst: the analyst who asks, if allowances are set.
        vacuous: whether to accept answers that say no more than the schema.

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
    from hartley.agent.agent import Agent

    with Agent(table, schema, ledger=ledger, budget=budget, place=place, update=update) as agent:
        return agent.ask(question, error=error, bits=bits, analyst=analyst, vacuous=vacuous)


def price(  # noqa: PLR0913 - what a price rests on, each by name
    questions: str | Wish | Sequence[str | Wish],
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
    *,
    ledger: str | os.PathLike[str] | None = None,
    rows: int | None = None,
    error: object = None,
    bits: object = None,
    analyst: str | None = None,
    vacuous: bool = False,
) -> Quote:
    """Return what questions would cost, from the public schema alone; nothing is spent.

    Args:
        questions: SQL, a wish, or a list of them: a batch.
        schema: a ``Schema``, a dict or the path of a TOML file.
        ledger: the ledger, for the charge that is due now and the number of rows.
        rows: the public number of rows, if there is no ledger.
        error: the largest error that the answers may have.
        bits: the price of each question, instead of an error. By default, the schema's.
        analyst: the analyst who would ask.
        vacuous: whether to accept answers that say no more than the schema; otherwise the quote
            names them, with the next price that reveals more.

    Example:
        >>> age = {"age": {"kind": "private", "range": [0, 100], "step": 1}}
        >>> people = {"table": {"name": "people"}, "columns": age}
        >>> price("SELECT AVG(age) FROM people", people, rows=1000, bits=1).bits
        1.0
    """
    public = Schema.read(schema)
    opened = None if ledger is None else open_ledger(ledger, create=False)
    try:
        state = None if opened is None else opened.state(public.name)
        if state is not None:
            check_same_schema(public, state)
        public_rows = rows if state is None else state.rows
        most = public.max_rows if public.rows == "private" else public_rows
        if most is None:
            raise OptionError(
                "The number of rows is not known, and errors depend on it",
                hint="give rows= (--rows), or the ledger of the table",
            )
        if most < 1:
            raise OptionError(f"The number of rows {most} is not positive", hint="give at least 1")
        desk = Desk(public, most)
        plans = desk.plan(questions, error, bits)
        return desk.quote(plans, opened, analyst, vacuous=vacuous)
    finally:
        if opened is not None:
            opened.close()
