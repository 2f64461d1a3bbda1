"""What ``outputs.toml`` declares about published tables, and who contributes to their cells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.errors import ColumnError, OptionError
from hartley.exact import parse_number
from hartley.files import one_line, parse_toml, read_text_file
from hartley.tables.crosstab import Interval, Marking, Rounding, read_marks
from hartley.tables.opening import open_table
from hartley.tables.view import evaluate_condition
from hartley.text import decimal_text

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from hartley.engines.table import Table


FIELDS = frozenset([
    "file", "dims", "statistic", "where", "total", "marks", "rounding", "decimal", "absent",
    "margins", "value", "sheet", "bounds", "complete", "labels", "decimals",
])  # fmt: skip
ALL_ROWS = "all rows"
"""What ``where`` says of a table that is about every row; without it, nobody has said so."""
STATISTIC = re.compile(r"count|sum\(([^()]+)\)")


@dataclass(frozen=True)
class OutputDescription:
    """What is declared about one published table; None where it is left to be guessed."""

    dims: tuple[str, ...] | None = None
    statistic: str = "count"
    where: str | None = None
    total: str | None = None
    marks: Mapping[str, Interval] = field(default_factory=dict)
    rounding: Rounding | None = None
    decimal: str | None = None
    absent: str | None = None
    """Whether a cell that is not listed is zero or hidden."""
    margins: str | None = None
    """Whether totals are those of all cells, or of the shown cells only."""
    value: str | None = None
    """The column of the numbers, where a table lists one cell a line."""
    sheet: str | None = None
    bounds: tuple[Fraction, Fraction] | None = None
    """The smallest and the largest sum of a cell inside the table, where values can be negative."""
    complete: bool = False
    """Whether every label of the schema is always listed, nothing is hidden, and it is published
    whatever a rule or a reviewer says of it."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Every label that a dimension can have: what the file does not list is there, and absent."""
    decimals: int = 0
    """How many decimals sums have at least, though the numbers in the file may have fewer."""
    stated: frozenset[str] = frozenset()
    """The fields that were written down, and not left to be guessed."""

    def to_dict(self) -> dict[str, Any]:
        """Return what is declared as plain values, which ``read_description`` reads."""
        marks = {
            mark: "hidden" if high is None else f"{low}-{high}"
            for mark, (low, high) in self.marks.items()
        }
        rounding = None if self.rounding is None else f"{self.rounding.kind} {self.rounding.base}"
        fields = {
            "dims": None if self.dims is None else list(self.dims),
            "marks": marks or None,
            "rounding": rounding,
            "bounds": None if self.bounds is None else [str(end) for end in self.bounds],
            "complete": self.complete or None,
            "decimals": self.decimals or None,
            "labels": {dim: list(each) for dim, each in self.labels.items()} or None,
            "where": self.where or (ALL_ROWS if "where" in self.stated else None),
        }
        names = ("statistic", "total", "decimal", "absent", "margins", "value", "sheet")
        fields |= {name: getattr(self, name) for name in names}
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def marking(self) -> Marking:
        """How the cells are read."""
        return Marking(self.marks, self.rounding, self.decimal)


@dataclass(frozen=True)
class CategoryTree:
    """Categories of a dimension that are sums of others."""

    dim: str
    parents: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        above: dict[str, str] = {}
        for parent, children in self.parents.items():
            for child in children:
                if child in above:
                    raise OptionError(
                        f"The tree of '{self.dim}' lists the category '{one_line(child)}' twice",
                        hint="list it once, or write a second [[trees]] block",
                    )
                above[child] = parent
        for category in above:
            node, steps = category, 0
            while node in above:
                node, steps = above[node], steps + 1
                if steps > len(above):
                    raise OptionError(
                        f"The tree of '{self.dim}' has a cycle at '{one_line(category)}'",
                        hint="a category cannot be a part of itself",
                    )


@dataclass(frozen=True)
class Descriptions:
    """What is declared about all tables of a check."""

    outputs: Mapping[str, OutputDescription] = field(default_factory=dict)
    default: OutputDescription = field(default_factory=OutputDescription)
    trees: tuple[CategoryTree, ...] = ()

    def of(self, name: str) -> OutputDescription:
        """Return what is declared about a file, by its path or its name."""
        by_name = self.outputs.get(Path(name).name, self.default)
        return self.outputs.get(name, by_name)


def read_descriptions(source: str | os.PathLike[str] | Mapping[str, Any]) -> Descriptions:
    """Read ``outputs.toml``, or the same as nested dicts."""
    content: Any = source
    if not hasattr(source, "keys"):
        text = read_text_file(source, what="description of the outputs")
        content = parse_toml(text, what="description of the outputs")
    strange = set(content) - {"outputs", "trees"}
    if strange:
        raise OptionError(
            f"The description of the outputs has an unknown part '{one_line(min(strange))}'",
            hint="write one [[outputs]] block per file, and [[trees]] blocks",
        )
    outputs: dict[str, OutputDescription] = {}
    for block in _blocks(content, "outputs"):
        name = str(block.get("file", ""))
        if not name or name in outputs:
            raise OptionError(
                f"A block of the description names {'a file twice' if name else 'no file'}",
                hint='begin every [[outputs]] block with file = "NAME", each file once',
            )
        outputs[name] = read_description(block)
    trees = tuple(_tree(block) for block in _blocks(content, "trees"))
    return Descriptions(outputs, trees=trees)


def _blocks(content: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    blocks = content.get(name, [])
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise OptionError(
            f"The part '{name}' of the description is not a list of blocks",
            hint=f"write [[{name}]] above each block",
        )
    return blocks


def read_description(block: Mapping[str, Any]) -> OutputDescription:
    """Read what one block declares about a table."""
    strange = set(block) - FIELDS
    if strange:
        raise OptionError(
            f"The description of an output has an unknown field '{one_line(min(strange))}'",
            hint=f"the fields are {', '.join(sorted(FIELDS))}",
        )
    rounding, statistic = _words(block, "rounding"), str(block.get("statistic", "count")).strip()
    if not STATISTIC.fullmatch(statistic):
        raise OptionError(
            f"The statistic '{one_line(statistic)}' is not covered",
            hint="write count or sum(column); means, ratios and percentages are not covered",
        )
    dims = block.get("dims")
    if dims is not None and (
        not isinstance(dims, (list, tuple)) or not dims or len(set(map(str, dims))) < len(dims)
    ):
        raise OptionError(
            "The dims of an output are not a list of different names",
            hint='write dims = ["region", "age"]',
        )
    marks = block.get("marks", {})
    if not hasattr(marks, "items"):
        raise OptionError(
            "The marks of an output are not a table", hint='write marks = {s = "hidden"}'
        )
    labels = block.get("labels", {})
    if not hasattr(labels, "items") or not all(isinstance(v, list) for v in labels.values()):
        raise OptionError(
            "The labels of an output are not a table of lists",
            hint='write labels = {sex = ["F", "M"]}',
        )
    decimals = block.get("decimals", 0)
    if type(decimals) is not int or not 0 <= decimals <= (0 if statistic == "count" else 12):
        raise OptionError(
            "The decimals of an output are no number from 0 to 12, or those of counts",
            hint="write decimals = 2 for sums whose numbers have two",
        )
    where, complete = _words(block, "where"), block.get("complete", False)
    if not isinstance(complete, bool) or (
        complete and (marks or "absent" in block or statistic == "count")
    ):
        raise OptionError(
            "The field complete of an output is no promise that it can keep",
            hint="write complete = true for sums that always list every label and hide nothing: "
            "without marks and absent",
        )
    return OutputDescription(
        dims=None if dims is None else tuple(map(str, dims)),
        statistic=statistic,
        where=None if where == ALL_ROWS else where,
        total=_words(block, "total"),
        marks=read_marks(marks),
        rounding=None if rounding in {None, "none"} else Rounding.parse(rounding),
        decimal=_choice(block, "decimal", (".", ",")),
        absent=_choice(block, "absent", ("zero", "hidden")),
        margins=_choice(block, "margins", ("all", "shown")),
        value=_words(block, "value"),
        sheet=_words(block, "sheet"),
        bounds=_bounds(block, statistic),
        complete=complete,
        decimals=decimals,
        labels={
            str(dim): tuple(str(label).strip() for label in each) for dim, each in labels.items()
        },
        stated=frozenset(block),
    )


def _bounds(block: Mapping[str, Any], statistic: str) -> tuple[Fraction, Fraction] | None:
    written = block.get("bounds")
    if written is None:
        return None
    if statistic == "count":
        raise OptionError("Counts are not negative, and need no bounds", hint="leave bounds out")
    if not isinstance(written, (list, tuple)) or len(written) != 2:
        raise OptionError(
            "The bounds of an output are not a pair", hint="write bounds = [-500, 2000]"
        )
    low, high = (parse_number(end, name="a bound") for end in written)
    if low > high:
        raise OptionError(
            "The bounds of an output are the wrong way round", hint="write bounds = [-500, 2000]"
        )
    return low, high


def _words(block: Mapping[str, Any], name: str) -> str | None:
    words = block.get(name)
    return None if words is None else str(words).strip()


def _choice(block: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> str | None:
    words = _words(block, name)
    if words is not None and words not in choices:
        raise OptionError(
            f"The field {name} of an output is '{one_line(words)}'",
            hint=f"write {' or '.join(choices)}",
        )
    return words


def _tree(block: dict[str, Any]) -> CategoryTree:
    parents = {name.strip(): children for name, children in block.items() if name != "dim"}
    if len(parents) + 1 < len(block):
        raise OptionError("A tree names a category twice", hint="write its parts in one list")
    if "dim" not in block or not all(isinstance(children, list) for children in parents.values()):
        raise OptionError(
            "A tree names no dimension, or a category without its parts",
            hint='write dim = "region" and then coast = ["north", "west"]',
        )
    return CategoryTree(
        str(block["dim"]),
        {name: tuple(str(part).strip() for part in parts) for name, parts in parents.items()},
    )


# --- what each contributor adds to each cell of a table, counted where the data lies --------------


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

    Conditions are SQL over the columns, or columns that say where one holds. Without a value rows
    are counted; without a contributor, every row is another one.
    """
    opened = open_table(table)
    named = [*dims, *([value] if value else []), *([contributor] if contributor else [])]
    opened.require(named)
    if value and not opened.kind(value).numeric:
        raise ColumnError(f"Column '{value}' holds no numbers", hint="add up another column")
    if conditions or not contributor:
        return _row_by_row(opened, dims, conditions, value, contributor)
    rows = opened.expression
    summed = {"hartley_rows": rows.count()}
    if value:
        summed["hartley_amount"] = rows[value].cast("decimal(38, 9)").sum()
    grouped = rows.group_by([*dims, contributor]).aggregate(**summed).to_pyarrow().to_pydict()
    amounts = grouped.get("hartley_amount", grouped["hartley_rows"])
    listed = []
    for i, number in enumerate(grouped["hartley_rows"]):
        keys = tuple(_label(grouped[dim][i]) for dim in dims)
        amount = Fraction(amounts[i] or 0)
        listed.append(Contribution(keys, (), grouped[contributor][i], number, amount))
    return sorted(listed, key=lambda c: (c.keys, str(c.contributor)))


def _label(value: object) -> str:
    """Write a category as outputs do."""
    if isinstance(value, Decimal):
        return decimal_text(Fraction(value))
    return "missing" if value is None else str(value).strip()


def _row_by_row(
    opened: Table,
    dims: Sequence[str],
    conditions: Sequence[str],
    value: str | None,
    contributor: str | None,
) -> list[Contribution]:
    """Evaluate conditions over the columns, and let the engine group their values."""
    import pyarrow as pa

    columns = opened.expression.to_pyarrow()
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
        listed = []
        for at, rows in enumerate(grouped["v_sum"]):
            labels = tuple(_label(grouped[f"d{i}"][at]) for i in range(len(dims)))
            holds = tuple(bool(grouped[f"c{i}"][at]) for i in range(len(held)))
            listed.append(Contribution(labels, holds, None, int(rows), Fraction(int(rows))))
        return sorted(listed)
    keys = [name for name in table.column_names if name != "v"]
    sums: dict[tuple[object, ...], list[Fraction]] = {}
    for row in zip(*(table.column(name).to_pylist() for name in [*keys, "v"]), strict=True):
        *key, amount = row
        sums.setdefault(tuple(key), []).append(Fraction(str(amount or 0)))
    listed = []
    for group, v in sorted(sums.items(), key=str):
        labels, holds = (
            tuple(map(_label, group[: len(dims)])),
            tuple(map(bool, group[len(dims) : -1])),
        )
        listed.append(Contribution(labels, holds, group[-1], len(v), sum(v, Fraction(0))))
    return listed
