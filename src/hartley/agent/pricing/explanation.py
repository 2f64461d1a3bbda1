"""A price in words: its atoms, its factors, and which of the bounds won."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.guarantees.promise import up_bits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hartley.agent.pricing.one_row import Part
    from hartley.agent.pricing.worst import Case

MOST_LISTED = 12
"""Atoms beyond this many are counted, not listed."""


def explain(cells: int, bits: float, questions: int, case: Case) -> str:
    """Say in words which atoms and factors a price is made of."""
    asked, answers = _number(questions, "question"), _number(cells, "different answer")
    lines = [f"{asked}: one person's data can lead to at most {answers}, {up_bits(bits)}."]
    for part in case.parts:
        lines += _part(part)
    if case.absence:
        lines.append("Being absent from the table adds one output.")
    lines += [f"Further questions, bounded apart: {_number(f, 'output')}." for f in case.factors]
    factors = [*(part.cells for part in case.parts), *case.factors]
    if len(factors) > 1:
        lines.append(f"Parts without a common private column multiply to {cells}.")
    return "\n".join(lines)


def _part(part: Part) -> Iterator[str]:
    columns = ", ".join(part.columns) or "no private column"
    yield f"{_questions(part.questions)} ({columns}): {_number(part.cells, 'output')}."
    bounds = {
        "the records of these columns": part.points,
        "the questions one by one, multiplied": part.singles,
        "all kinds of records together": part.joint,
    }
    for words, bound in bounds.items():
        if bound is not None:
            won = ", the smallest" if bound == part.cells else ""
            yield f"  {words}: {bound}{won}"
    if part.atoms is None:
        return
    for alive, outputs in part.atoms[:MOST_LISTED]:
        numbers = [part.questions[place] for place in alive]
        whom = f"counted by {_questions(numbers).lower()}" if alive else "counted by no question"
        yield f"  records {whom}: {_number(outputs, 'output')}"
    if len(part.atoms) > MOST_LISTED:
        yield f"  and {len(part.atoms) - MOST_LISTED} more kinds of records"


def _questions(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number + 1) for number in numbers[:MOST_LISTED])
    rest = len(numbers) - MOST_LISTED
    word = "Question" if len(numbers) == 1 else "Questions"
    return f"{word} {shown}" + (f" and {rest} more" if rest > 0 else "")


def _number(amount: int, noun: str) -> str:
    return f"{amount} {noun}" + ("" if amount == 1 else "s")
