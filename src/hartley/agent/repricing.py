"""The charges of a ledger, computed again from its recorded schemas and resolved questions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hartley.agent.answers.cells import cell_of
from hartley.agent.ledger.rows.balances import one_part
from hartley.agent.ledger.rows.entries import NULL, read_integer
from hartley.agent.pricing.given_price import KNOWN_RULES, RULES, price_given, price_paths
from hartley.agent.pricing.price import open_factor, price
from hartley.agent.pricing.told import ToldBefore
from hartley.agent.questions.batch import All, Statistic, Test, columns_named, from_plain
from hartley.errors import HartleyError, InputError
from hartley.files import parse_toml
from hartley.ranges.schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.agent.ledger.auditable_ledger import Ledger
    from hartley.agent.ledger.verification import LedgerReport
    from hartley.agent.pricing.public_parts import PublicParts
    from hartley.agent.questions.batch import Condition


def reprice(
    schema: object,
    questions: Sequence[dict[str, Any]],
    rules: str,
    told: Sequence[dict[str, Any]] = (),
) -> int | None:
    """Return what a batch costs, from a recorded schema and plain questions.

    Args:
        schema: as an agent recorded it, the text of a TOML file.
        questions: as ``to_plain`` writes them.
        rules: the version of the pricing rules that the charge was made under.
        told: the questions of the earlier rows that it was priced from, from version 2 on.

    Returns:
        the cells, or None if no agent recorded the schema or the rules have another version.

    Example:
        >>> from hartley.agent.questions.batch import Question, Statistic, Test, to_plain
        >>> sex = {"sex": {"kind": "private", "values": ["F", "M"]}}
        >>> people = Schema.read({"table": {"name": "people"}, "columns": sex}).to_toml()
        >>> women = Question(Statistic.COUNT, Test("sex", ((0, 0),)), None, None, 0, 50)
        >>> reprice(people, [to_plain(women)], "1"), reprice(people, [to_plain(women)], "0")
        (2, None)
    """
    parts = reprice_by_public(schema, questions, rules, told)
    return None if parts is None else parts.most


def reprice_by_public(
    schema: object,
    questions: Sequence[dict[str, Any]],
    rules: str,
    told: Sequence[dict[str, Any]] = (),
) -> PublicParts | None:
    """Return what a batch costs every type of the public columns, as in ``reprice``."""
    read_schema = _schema(schema, rules)
    if read_schema is None:
        return None
    batch, earlier = ([from_plain(plain) for plain in listed] for listed in (questions, told))
    known = read_schema.columns.keys()
    if any(not columns_named(question) <= known for question in (*batch, *earlier)):
        raise InputError(
            "A recorded question is about a column that its recorded schema does not have",
            hint="verify the ledger, or restore it from a backup",
        )
    if rules == RULES:
        return price_paths(batch, ToldBefore(read_schema, earlier)).parts
    if rules == "1":
        return one_part(price(batch, read_schema).cells)
    return one_part(price_given(batch, ToldBefore(read_schema, earlier)).cells)


def may_answer(
    schema: object, question: dict[str, Any], rules: str, rows: int | None, answer: str
) -> bool:
    """Tell whether a plain question can have an answer, by its range and by a price of one cell.

    Only an order statistic of no rows is NULL. A question that costs nothing has one answer: the
    same in all tables with as many rows, as one person after the other changes, so that of rows
    which all have the first code of every private column. Where it looks at public or open columns,
    its answer depends on them, and a ledger does not hold them; nor does it hold a private number
    of rows, which open columns tell.
    """
    read_schema = _schema(schema, rules)
    if read_schema is None:
        return True
    asked, order = from_plain(question), Statistic.ORDER
    names = columns_named(asked) if rows is not None else read_schema.columns
    kinds = {read_schema.columns[name].kind for name in names}
    if kinds <= {"private"} and price([asked], read_schema).cells == 1:
        counts = _passes_first(asked.where) and bool(rows)
        value = 1 if asked.form is None else asked.form.constant
        value **= 2 if asked.statistic is Statistic.SQUARES else 1
        total = (
            (value if counts else None)
            if asked.statistic is order
            else value * counts * (rows or 0)
        )
        cell = cell_of(asked, total)
        return answer == (NULL if cell is None else str(cell))
    if answer == NULL:
        return asked.statistic is order
    return read_integer(answer) <= (asked.most - asked.least) // asked.step


def _passes_first(condition: Condition) -> bool:
    """Tell whether a record with the first code of every column passes."""
    if isinstance(condition, Test):
        return any(low == 0 for low, _ in condition.codes)
    passed = map(_passes_first, condition.parts)
    return all(passed) if isinstance(condition, All) else any(passed)


def open_cells(schema: object, rules: str) -> int | None:
    """Return the factor of the open columns of a recorded schema, or None as in ``reprice``."""
    read_schema = _schema(schema, rules)
    return None if read_schema is None else open_factor(read_schema)


def verify_prices(ledger: Ledger, **more: Any) -> LedgerReport:  # noqa: ANN401 - what Ledger.verify takes
    """Replay a ledger and compute every price in it again; linear in the number of rows."""
    return ledger.verify(reprice_by_public, open_factor=open_cells, may_answer=may_answer, **more)


def _schema(schema: object, rules: str) -> Schema | None:
    return _read(schema) if isinstance(schema, str) and rules in KNOWN_RULES else None


@lru_cache(maxsize=64)
def _read(text: str) -> Schema | None:
    try:
        return Schema.read(parse_toml(text, what="recorded schema"))
    except HartleyError:
        return None
