"""What is promised where several answers about the same people are released together."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import printable
from hartley.guarantees.answers import (
    ReleasedAnswerClaim,
    by_total,
    joint_outputs,
    of_query,
    outputs_of_one_number,
    promise_answers,
    reach_of,
)
from hartley.numerals import exactly_or_up
from hartley.ranges.boxes.enclosure import shown
from hartley.wording import exactly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.guarantees.promise import Promise
    from hartley.policies.quantizers.quantizer import Quantizer
    from hartley.policies.quantizers.vector import VectorQuantizer
    from hartley.ranges.boxes.box import Box
    from hartley.ranges.boxes.expression import Expression


def promise_vector(
    policy: VectorQuantizer,
    parts: Sequence[Quantizer],
    queries: Sequence[Expression],
    box: Box,
    budget: object,
) -> Promise:
    """Certify several quantized queries over people with one number each.

    Theorem 6 of Farokhi 2019 (Noiseless Privacy) multiplies what one person can produce in each
    answer. Linear answers move together as the person's number grows, which leaves fewer; so do
    several quantizers of one query, whose cells are those of the common refinement. A bound.

    Args:
        policy: the quantizers and the norm of their error.
        parts: the quantizer of every query.
        queries: the queries.
        box: the range of every person's number.
        budget: the bits that were asked for.
    """
    names = [printable(shown(query)) for query in queries]
    reaches = [reach_of(query, box) for query in queries]
    # Told apart by what they are, not by their text, which is cut short where it is long.
    same = [str(queries.index(query)) for query in queries]
    answers = [
        ReleasedAnswerClaim(name, part, reach, None, (of, 1))
        for name, part, reach, of in zip(names, parts, reaches, same, strict=True)
    ]
    # The person of the smallest range is the one whose value is estimated best.
    used = {name for query in queries for name in query.names}
    person = min((box[name].length for name in used), default=None)
    answers[0] = replace(answers[0], person=person or None)
    more = tuple(
        replace(
            consequence,
            name=f"{consequence.name} of {name}",
            sentence=f"About {name}: {consequence.sentence}",
        )
        for name, query, part in zip(names, queries, parts, strict=True)
        for consequence in of_query(box, query, part)
    )
    return promise_answers(
        answers,
        budget,
        outputs=_outputs(answers, queries, box),
        accuracy=_accuracy(policy),
        more=more,
        parameters={"queries": names, "sensitivities": [str(reach) for reach in reaches]},
    )


def _outputs(
    answers: Sequence[ReleasedAnswerClaim], queries: Sequence[Expression], box: Box
) -> int:
    """Return how many joint answers one person can produce at most."""
    product = math.prod(map(joint_outputs, by_total(answers)))
    forms = [query.linear() for query in queries]
    linear = [form[0] for form in forms if form is not None]
    if len(linear) < len(forms):
        return product
    most = 1
    for name in box.names:
        moves = [abs(weights.get(name, Fraction(0))) * box[name].length for weights in linear]
        of_person = [
            replace(answer, reach=move) for answer, move in zip(answers, moves, strict=True)
        ]
        most = max(most, outputs_of_one_number(of_person))
    return min(most, product)


def _accuracy(policy: VectorQuantizer) -> str:
    error = exactly_or_up(policy.error)
    ends = " × ".join(f"[{exactly(part.low)}, {exactly(part.high)}]" for part in policy.parts)  # noqa: RUF001
    how = "in every answer" if policy.norm == "sup" else "in Euclidean distance"
    return f" Answers in {ends} are released within {error} of the truth {how}."
