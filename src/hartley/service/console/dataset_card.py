"""A dataset beside the editor: its columns in words, and three questions to begin with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from hartley.service.console.pages import PREFIX
from hartley.service.console.roundings import bits_left
from hartley.wording import counted, decimal_text

if TYPE_CHECKING:
    from hartley.ranges.schema.column import Column
    from hartley.ranges.schema.schema import Schema


@dataclass(frozen=True)
class ColumnWords:
    """A column as the page lists it."""

    name: str
    kind: str
    words: str


@dataclass(frozen=True)
class ExampleQuestion:
    """A question that can be priced with one click."""

    words: str
    text: str


@dataclass(frozen=True)
class DatasetCard:
    """What the pages of a dataset say about it."""

    name: str
    address: str
    rows_words: str
    columns: tuple[ColumnWords, ...]
    examples: tuple[ExampleQuestion, ...]


def dataset_card(schema: Schema, rows: int | None) -> DatasetCard:
    """Return the card of a dataset, from its public schema alone."""
    columns = [column for column in schema.columns.values() if column.name != schema.unit]
    size = "the number of rows is private" if rows is None else counted(rows, "row")
    return DatasetCard(
        schema.name,
        f"{PREFIX}/d/{quote(schema.name, safe='')}",
        f"{size} · {bits_left(schema.record_bits)} a person",
        tuple(ColumnWords(column.name, column.kind, _words(column)) for column in columns),
        tuple(_examples(schema.name, columns)),
    )


def _words(column: Column) -> str:
    """Write a column as it is listed: shorter than its description.

    Categories are listed, numbers have their ends, their step and their unit.
    """
    text = column.describe()
    if column.numeric:
        text = text.replace(" in steps of ", ", step ")
        text = text.split(" (")[0] + (", may be missing" if column.nullable else "")
    return text


def _examples(name: str, columns: list[Column]) -> list[ExampleQuestion]:
    """Return questions that this schema can answer: a count, averages of groups, a median."""
    numbers = [c for c in columns if c.numeric and not c.date and c.kind == "private"]
    classes = [c for c in columns if c.values is not None and len(c.values) <= 12]
    classes.sort(key=lambda column: ("public", "open", "private").index(column.kind))
    if not numbers:
        examples = [_example("How many rows are there?", "COUNT(*)", name)]
        if classes:
            words = f"How many are there by {classes[-1].name}?"
            examples.append(_example(words, "COUNT(*)", name, by=classes[-1]))
        return examples
    first, last, middle = numbers[0], numbers[-1], _middle(numbers[0])
    examples = [
        _example(
            f"How many have {first.name} of at least {middle}?",
            "COUNT(*)",
            name,
            where=f"{_spelled(first.name)} >= {middle}",
        )
    ]
    if classes:
        number = numbers[min(2, len(numbers) - 1)]
        words = f"What is the average {number.name} by {classes[0].name}?"
        examples.append(_example(words, f"AVG({_spelled(number.name)})", name, by=classes[0]))
    words = f"What is the median of {last.name}?"
    return [*examples, _example(words, f"MEDIAN({_spelled(last.name)})", name)]


def _example(
    words: str, number: str, table: str, *, by: Column | None = None, where: str = ""
) -> ExampleQuestion:
    parts = ["SELECT", number if by is None else f"{_spelled(by.name)}, {number}"]
    parts += ["FROM", _spelled(table)]
    parts += ["WHERE", where] if where else []
    parts += [] if by is None else ["GROUP BY", _spelled(by.name)]
    return ExampleQuestion(words, " ".join(parts))


def _middle(column: Column) -> str:
    assert column.low is not None
    assert column.step is not None
    return decimal_text(column.low + column.points // 2 * column.step)


def _spelled(name: str) -> str:
    """Write a name as SQL wants it."""
    plain = name.isidentifier() and name.isascii()
    return name if plain else '"' + name.replace('"', '""') + '"'
