"""The function price(), as in ``hartley price``, and the desk that it opens for prices."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.ledger import open_ledger
from hartley.agent.quotes import Desk, check_same_schema
from hartley.errors import OptionError
from hartley.ranges.schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hartley.agent.agent import Agent
    from hartley.agent.answers.quote import Quote
    from hartley.agent.ledger.ledger import Ledger
    from hartley.agent.quotes import Wish


def price(  # noqa: PLR0913 - what a price rests on, each by name
    questions: str | Wish | Sequence[str | Wish],
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
    *,
    ledger: str | os.PathLike[str] | None = None,
    rows: int | None = None,
    error: object = None,
    bits: object = None,
    min_rows: object = None,
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
        min_rows: how many rows must count for the error, if their number is private.
        analyst: the analyst who would ask.
        vacuous: whether to accept answers that say no more than the schema; otherwise the quote
            names them, with the next price that reveals more.

    Example:
        >>> age = {"age": {"kind": "private", "range": [0, 100], "step": 1}}
        >>> people = {"table": {"name": "people"}, "columns": age}
        >>> price("SELECT AVG(age) FROM people", people, rows=1000, bits=1).bits
        1.0
    """
    with open_desk(schema, ledger=ledger, rows=rows) as (desk, opened):
        plans = desk.plan(questions, error, bits, min_rows)
        return desk.quote(plans, opened, analyst, vacuous=vacuous)


@contextmanager
def open_desk(
    schema: Agent | Schema | Mapping[str, Any] | str | os.PathLike[str],
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    rows: int | None = None,
) -> Iterator[tuple[Desk, Ledger | None]]:
    """Open what prices are computed from: a desk that knows only what is public, and the ledger.

    Args:
        schema: a ``Schema``, a dict or the path of a TOML file; or an open ``Agent``, whose own
            desk and ledger are then used.
        ledger: the ledger, for the number of rows and earlier charges.
        rows: the public number of rows, if there is no ledger.
    """
    if not isinstance(schema, (Schema, Mapping, str, os.PathLike)):
        desk = getattr(schema, "desk", None)
        if not isinstance(desk, Desk):
            raise OptionError(
                "The schema is neither a Schema, a dict or a path, nor an open Agent",
                hint="name the TOML file of the schema",
            )
        yield desk, schema.ledger
        return
    public = Schema.read(schema)
    path = isinstance(ledger, (str, os.PathLike))
    opened = open_ledger(ledger, create=False) if isinstance(ledger, (str, os.PathLike)) else ledger
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
        yield Desk(public, most), opened
    finally:
        if path and opened is not None:
            opened.close()
