"""Replies with what a client needs to show them as the agent does: exact intervals, and text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.agent.answers.estimate import shown

if TYPE_CHECKING:
    from hartley.agent.answers.answer import Answer
    from hartley.agent.answers.estimate import Estimate, Reading
    from hartley.agent.answers.quote import Quote
    from hartley.agent.plan import Plan
    from hartley.agent.price_curve import PriceCurve


def shown_answer(answer: Answer) -> dict[str, Any]:
    """Return an answer for JSON: doubles in ``rows``, exact intervals and text in ``table``."""
    return answer.to_dict() | {"table": shown_table(answer.reading)}


def shown_table(reading: Reading) -> dict[str, Any]:
    """Return the table of an answer with exact intervals, each also as it is shown."""
    return {
        "keys": list(reading.keys),
        "labels": list(reading.labels),
        "rows": [
            {"keys": [key.shown for key in keys], "numbers": [_number(each) for each in row]}
            for keys, row in zip(reading.groups, reading.rows, strict=True)
        ],
    }


def _number(estimate: Estimate) -> dict[str, Any]:
    return {
        "low": None if estimate.low is None else str(estimate.low),
        "high": None if estimate.high is None else str(estimate.high),
        "may_be_null": estimate.may_be_null,
        "date": estimate.date,
        "promised": estimate.promised,
        "shown": list(shown(estimate)),
    }


def shown_text(result: Quote | PriceCurve | Plan) -> dict[str, Any]:
    """Return a price, a curve or a plan for JSON, with its text."""
    return result.to_dict() | {"text": str(result)}
