"""What each contributor adds to each cell of a table, counted where the data lies."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from hartley.engines.tables.condition import evaluate_condition
from hartley.engines.tables.sources import open_table
from hartley.engines.tables.table import Kind
from hartley.errors import ColumnError
from hartley.wording import decimal_text

if TYPE_CHECKING:
    from collections.abc import Sequence


class Contribution(NamedTuple):
    """The rows of one contributor with the same categories and the same conditions fulfilled."""

    keys: tuple[str, ...]
    held: tuple[bool, ...]
    contributor: object
    rows: int
    amount: Fraction


def contributions(
    table: object,
    dims: Sequence[str],
    conditions: Sequence[str] = (),
    *,
    value: str | None = None,
    contributor: str | None = None,
) -> list[Contribution]:
    """Group the rows of a table by categories, conditions and contributor.

    Args:
        table: anything that ``open_table`` takes.
        dims: the columns of the categories.
        conditions: SQL conditions over the columns, or columns that say where one holds.
        value: the column that is added up; none for counts.
        contributor: the column that names who contributes; without one, every row is another.

    Example:
        >>> rows = {"r": ["a", "a", "b"], "firm": [1, 1, 2], "v": [3, 4, 5]}
        >>> [(c.keys, c.rows, str(c.amount)) for c in
        ...  contributions(rows, ["r"], value="v", contributor="firm")]
        [(('a',), 2, '7'), (('b',), 1, '5')]
    """
    opened = open_table(table)
    named = [*dims, *([value] if value else []), *([contributor] if contributor else [])]
    opened.require(named)
    if value and opened.kind(value) not in {Kind.INTEGER, Kind.REAL}:
        raise ColumnError(f"Column '{value}' holds no numbers", hint="add up another column")
    expression = opened.expression
    groups = [*dims, *([contributor] if contributor else [])]
    if conditions or not contributor:
        return _row_by_row(opened, dims, conditions, value, contributor)
    summed = {"hartley_rows": expression.count()}
    if value:
        summed["hartley_amount"] = expression[value].cast("decimal(38, 9)").sum()
    grouped = expression.group_by(groups).aggregate(**summed).to_pyarrow().to_pydict()
    amounts = grouped.get("hartley_amount", grouped["hartley_rows"])
    held: tuple[bool, ...] = ()
    listed = [
        Contribution(
            tuple(_label(grouped[dim][i]) for dim in dims),
            held,
            grouped[contributor][i],
            rows,
            Fraction(amounts[i] or 0),
        )
        for i, rows in enumerate(grouped["hartley_rows"])
    ]
    return sorted(listed, key=lambda c: (c.keys, str(c.contributor)))


def _label(value: object) -> str:
    """Write a category as outputs do."""
    if isinstance(value, Decimal):
        return decimal_text(Fraction(value))
    return "missing" if value is None else str(value).strip()


def _row_by_row(
    opened: object,
    dims: Sequence[str],
    conditions: Sequence[str],
    value: str | None,
    contributor: str | None,
) -> list[Contribution]:
    """Evaluate conditions over the columns, and let the engine group their values."""
    import pyarrow as pa

    columns = opened.expression.to_pyarrow()  # type: ignore[attr-defined]  # an open table
    values = {name: columns.column(name).to_pylist() for name in columns.column_names}
    evaluated = {f.name for f in columns.schema if pa.types.is_boolean(f.type)}
    held = [
        values[text] if text in evaluated else evaluate_condition(text, values)
        for text in conditions
    ]
    data = {f"d{i}": columns.column(dim) for i, dim in enumerate(dims)}
    data |= {f"c{i}": pa.array(truth) for i, truth in enumerate(held)}
    data["who"] = columns.column(contributor) if contributor else pa.array(range(columns.num_rows))
    data["v"] = columns.column(value) if value else pa.array([1] * columns.num_rows)
    table = pa.table(data)
    if not contributor and not value:  # rows alike need no names
        keys = [name for name in table.column_names if name not in {"who", "v"}]
        grouped = table.group_by(keys).aggregate([("v", "sum")]).to_pydict()
        return sorted(
            Contribution(
                tuple(_label(grouped[f"d{i}"][at]) for i in range(len(dims))),
                tuple(bool(grouped[f"c{i}"][at]) for i in range(len(held))),
                None,
                int(rows),
                Fraction(int(rows)),
            )
            for at, rows in enumerate(grouped["v_sum"])
        )
    keys = [name for name in table.column_names if name != "v"]
    sums: dict[tuple[object, ...], list[Fraction]] = {}
    for row in zip(*(table.column(name).to_pylist() for name in [*keys, "v"]), strict=True):
        *key, amount = row
        sums.setdefault(tuple(key), []).append(Fraction(str(amount or 0)))
    n = len(dims)
    return [
        Contribution(
            tuple(map(_label, key[:n])),
            tuple(map(bool, key[n:-1])),
            key[-1],
            len(v),
            sum(v, Fraction(0)),
        )
        for key, v in sorted(sums.items(), key=str)
    ]
