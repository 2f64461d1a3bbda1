"""What must hold of an answer: its groups, NULL or not, and the truth inside every interval."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from plain_sql import EPOCH, OTHER, answer as true_answer, is_root

if TYPE_CHECKING:
    from collections.abc import Iterator


def wrong_numbers(  # noqa: PLR0913, PLR0917 - what an answer is compared with
    select: Any,
    wish: Any,
    answer: Any,
    rows: list[dict[str, Any]],
    columns: dict[str, Any],
    promised: dict[str, Fraction],
) -> Iterator[tuple[str, str]]:
    """Name everything that an answer says and the table does not."""
    reading = answer.reading
    expected = true_answer(select, rows, columns)
    shown_groups = [tuple(_shown_key(key) for key in keys) for keys in reading.groups]
    groups = [
        tuple(
            _expected_key(part, key, columns) for part, key in zip(group, select.keys, strict=True)
        )
        for group, _ in expected
    ]
    if shown_groups != groups:
        yield "other groups", str(shown_groups)
        return
    wished = {} if wish.error is None else dict.fromkeys(reading.labels, Fraction(str(wish.error)))
    records = answer.to_dict()["rows"]
    apart = len(set(reading.labels)) == len(reading.labels)
    for (_, numbers), estimates, record in zip(expected, reading.rows, records, strict=True):
        for aggregate, number, estimate, label in zip(
            select.aggregates, numbers, estimates, reading.labels, strict=True
        ):
            limits = [limit[label] for limit in (promised, wished) if label in limit]
            shown = record[label] if apart and not estimate.date else None
            for kind in _wrong(estimate, number, shown, limits, root=is_root(aggregate)):
                yield kind, f"{label}: {number} told as {estimate}, at most {limits} off"


def _wrong(
    estimate: Any, number: Fraction | None, shown: Any, limits: list[Fraction], *, root: bool
) -> Iterator[str]:
    """Say what is wrong with one estimate; of a deviation the square is known."""
    if number is None or estimate.is_null:
        if number is None and not estimate.may_be_null:
            yield "NULL not told"
        if number is not None:
            yield "NULL told of a number"
        return
    intervals = [(estimate.low, estimate.high)]
    if shown is not None:  # as floats, rounded outward
        intervals.append((Fraction(shown["low"]), Fraction(shown["high"])))
    for low, high in intervals:
        least = low if not root else max(low, Fraction(0)) ** 2
        most = high if not root else high * abs(high)
        if not least <= number <= most:
            yield "the truth is outside"
    for limit in limits:
        if estimate.error > limit:
            yield "wider than promised"
        if not root and abs(estimate.value - number) > limit:
            yield "farther off than promised"


def _shown_key(key: Any) -> Any:
    return key.shown if key.value is None else (type(key.value).__name__, str(key.value))


def _expected_key(part: Any, key: Any, columns: dict[str, Any]) -> Any:
    if part is None:
        return "(missing)"
    if part is OTHER:
        return "(other)"
    if columns[key.column].date and key.spelling != "floor":
        part = EPOCH + dt.timedelta(days=int(part))
    return type(part).__name__, str(part)
