"""Run a release backwards: which inputs of a list come out as the records that were released.

The rules are executed by ``apply_map``, as a release executes them, so that what is found holds for
the doubles that are released and not only for the numbers that they stand for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.engines.maps.column_map import apply_map
from hartley.engines.maps.rules import Keep
from hartley.engines.tables.sources import open_table
from hartley.engines.tables.view import clean_column, run
from hartley.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hartley.engines.maps.rules import Rule
    from hartley.engines.tables.table import Table

    Ranges = Mapping[str, tuple[object, object]]


def distinct_records(table: Table, columns: Sequence[str]) -> Any:
    """Return the different records of some columns and how many rows have each.

    The columns are called ``c0``, ``c1``, ..., and ``rows`` comes last.

    Args:
        table: the table, on any engine.
        columns: the columns; each may be named once.

    Example:
        >>> people = open_table({"age": [30, 30, 40], "sex": ["F", "F", "M"]})
        >>> sorted(distinct_records(people, ["age", "sex"]).to_pydict()["rows"])
        [1, 2]
    """
    table.require(columns)
    rows = table.expression.select(
        **{f"c{i}": clean_column(table, name) for i, name in enumerate(columns)}
    )
    classes = rows.group_by([rows[name] for name in rows.columns]).aggregate(rows=rows.count())
    return run(table, classes.order_by(list(classes.columns)).to_pyarrow)


def count_present(table: Table, columns: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Return how many rows there are, and in how many of them each column has a value.

    Example:
        >>> count_present(open_table({"age": [30, None], "sex": ["F", "M"]}), ["age", "sex"])
        (2, {'age': 1, 'sex': 2})
    """
    table.require(columns)
    rows = table.expression
    counts = {f"n{i}": clean_column(table, name).count() for i, name in enumerate(columns)}
    row = run(table, rows.aggregate(rows=rows.count(), **counts).to_pyarrow).to_pylist()[0]
    return int(row["rows"]), {name: int(row[f"n{i}"]) for i, name in enumerate(columns)}


def count_different(table: Table, columns: Sequence[str]) -> int:
    """Return how many different values some columns hold together, missing ones not counted.

    Example:
        >>> count_different(open_table({"age": [30, 30, None], "sex": ["F", "M", "M"]}), ["age"])
        1
    """
    table.require(columns)
    values = {f"c{i}": clean_column(table, name) for i, name in enumerate(columns)}
    rows = table.expression.select(**values).drop_null().distinct()
    return int(run(table, rows.count().to_pyarrow).as_py())


def side_by_side(
    table: Table, columns: Sequence[str], other: Table, beside: Mapping[str, str]
) -> Table:
    """Return columns of a table with columns of another one beside them, row by row in order.

    Args:
        table: the table.
        columns: its columns.
        other: the other table, with as many rows.
        beside: the columns of the other one, by the name that they get.

    Example:
        >>> ages, names = open_table({"age": [30, 40]}), open_table({"name": ["Ann", "Ben"]})
        >>> side_by_side(ages, ["age"], names, {"who": "name"}).columns
        ('age', 'who')
    """
    other.require(tuple(beside.values()))
    rows = run(table, table.expression.select(*columns).to_pyarrow)
    more = run(
        other,
        other.expression.select(
            **{name: other.expression[of] for name, of in beside.items()}
        ).to_pyarrow,
    )
    if rows.num_rows != more.num_rows:
        raise TableError(
            f"{table.name} has {rows.num_rows:,} rows and {other.name} has {more.num_rows:,}",
            hint="pass the table that was released, with its rows in the same order",
        )
    for name in more.column_names:
        rows = rows.append_column(name, more.column(name))
    return open_table(rows)


def release_rows(inputs: Any, rules: Sequence[Rule], ranges: Ranges) -> Any:
    """Return what rules release for the rows of an Arrow table, in their order, as Arrow.

    Example:
        >>> import pyarrow as pa
        >>> from hartley.engines.maps.rules import UniformCells
        >>> ages = pa.table({"age": [17.0, 30.0]})
        >>> release_rows(ages, [UniformCells("age", 0, 100, 10)], {}).to_pydict()
        {'age': [15.0, 35.0]}
    """
    table = open_table(inputs)
    mapped = apply_map(table, rules, ranges=ranges)
    return run(table, mapped.expression.to_pyarrow)


def match_inputs(  # noqa: PLR0913 - what is released, by what, and what is known beside
    records: Any,
    sources: Any,
    notes: Any,
    rules: Sequence[Rule],
    *,
    ranges: Ranges,
    windows: Collection[int] = (),
    places: int = 1,
) -> Any:
    """Count for every released record the inputs that come out as it.

    Args:
        records: an Arrow table: ``record`` (its number), ``fibre``, the released values ``y0``,
            ``y1``, ... in the order of the rules, and ``low0``, ``high0``, ... of the windows.
        sources: an Arrow table of inputs, with the columns that the rules read.
        notes: an Arrow table beside it: ``fibre``, ``place0``, ``place1``, ... of the columns
            that were enumerated, and flags, whose least and largest value is returned.
        rules: what the engine executes, one a released value; none where ``notes`` hold the
            released values themselves.
        ranges: declared ranges of columns that formulas read.
        windows: the enumerated columns of which only places from ``low`` to ``high`` count.
        places: how many columns were enumerated.

    Returns:
        An Arrow table with a row a record that some input comes out as: ``record``, ``inputs``,
        for every enumerated column ``possible``, ``least`` and ``largest`` place, for every flag
        its ``min_`` and ``max_``, and the ``total`` of the flag ``chance``.
    """
    import ibis

    table, released, count = _released(sources, notes, rules, ranges)
    flags = [
        name
        for name in notes.column_names
        if name != "fibre" and not name.startswith(("place", "y"))
    ]
    asked = ibis.memtable(records)  # on the engine that executes the rules
    # try_cast: a released value of another type than the policy releases fits no input.
    alike = [asked.fibre == released.fibre] + [
        asked[f"y{i}"].try_cast(released[f"y{i}"].type()) == released[f"y{i}"] for i in range(count)
    ]
    inside = [
        (released[f"place{i}"] >= asked[f"low{i}"]) & (released[f"place{i}"] <= asked[f"high{i}"])
        for i in windows
    ]
    carried = ["fibre", *(f"place{i}" for i in range(places)), *flags]
    joined = asked.join(released, [*alike, *inside]).select(
        record=asked.record, **{f"in_{name}": released[name] for name in carried}
    )
    counts: dict[str, Any] = {"inputs": joined.count()}
    for i in range(places):
        place = joined[f"in_place{i}"]
        counts |= {
            f"possible{i}": joined.count() if places == 1 else place.nunique(),
            f"least{i}": place.min(),
            f"largest{i}": place.max(),
        }
    for name in flags:
        counts |= {
            f"min_{name}": joined[f"in_{name}"].min(),
            f"max_{name}": joined[f"in_{name}"].max(),
        }
    if "chance" in flags:
        counts["total"] = joined["in_chance"].sum()
    matched = joined.group_by("record").aggregate(**counts).order_by("record")
    return run(table, matched.to_pyarrow)


def _released(
    sources: Any, notes: Any, rules: Sequence[Rule], ranges: Ranges
) -> tuple[Table, Any, int]:
    """Return inputs with their notes and what is released for them, and how many values that is."""
    if not rules:
        listed = open_table(notes)
        return listed, listed.expression, sum(name.startswith("y") for name in notes.column_names)
    prefix = "note_"
    while any(name.lower().startswith(prefix) for name in sources.column_names):
        prefix += "_"
    noted = sources
    for name in notes.column_names:
        noted = noted.append_column(prefix + name, notes.column(name))
    carried = [Keep(prefix + name) for name in notes.column_names]
    table = open_table(noted)
    rows = apply_map(table, [*rules, *carried], ranges=ranges).rows
    values = {f"y{i}": rows[f"r{i}"] for i in range(len(rules))}
    more = {name: rows[f"r{len(rules) + j}"] for j, name in enumerate(notes.column_names)}
    return table, rows.select(**values, **more), len(rules)
