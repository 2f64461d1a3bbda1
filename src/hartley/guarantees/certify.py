"""Recompute a promise from the finished policy; never trust whoever designed it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError
from hartley.exact import floor_power, log_ratio, parse_number, round_up
from hartley.guarantees.certificate import Certificate
from hartley.guarantees.consequences import (
    down,
    of_cells,
    of_hypothesis_privacy,
    of_noiseless_privacy,
    up_bits,
)
from hartley.policies.allocation import Allocation
from hartley.policies.blurring import LinePolicy, StretchPolicy
from hartley.policies.calibration import cells_met
from hartley.policies.quantizer import UniformQuantizer
from hartley.ranges.cells import CutBox
from hartley.ranges.expression import Expression, as_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hartley.policies.optimal import CutQuantizer
    from hartley.ranges.box import Box

    Query = Expression | str | Callable[..., Any]

B, D = "Farokhi 2019 (Noiseless Privacy)", "Farokhi 2021"
OTHERS = "everybody else's data stays fixed while one person's varies over its whole range"
INSIDE = "every value lies in its declared range, or is clamped to it first"
MOST_PEOPLE_CUT = 10_000
MOST_CASES = 5_000_000


def certify(
    policy: UniformQuantizer | CutQuantizer | Allocation | LinePolicy,
    *,
    query: Query | None = None,
    box: Box | None = None,
    sensitivity: object = None,
    budget: object = None,
) -> Certificate:
    """Return what a finished policy promises.

    Args:
        policy: what releases.
        query: the query whose answer a quantizer releases, over the people of ``box``; without
            one, the quantizer releases one person's own value.
        box: the declared range of every person's value.
        sensitivity: how far one person's data can move the query, where it is not linear.
        budget: the bits that were asked for; whether the policy keeps to them is recomputed.

    Example:
        >>> from hartley.ranges.box import Box
        >>> quantizer = UniformQuantizer.for_bits(low=0, high=1, sensitivity="0.5", bits=1)
        >>> certify(quantizer, query="(x1 + x2)/2", box=Box.cube(0, 1, size=2)).value
        1.0
    """
    if isinstance(policy, LinePolicy):
        return _certify_line(policy)
    if isinstance(policy, Allocation):
        return _certify_record(policy.outputs, tuple(policy.levels), budget)
    if query is None and sensitivity is None:
        return _certify_record(policy.levels, ("the value",), budget)
    return _certify_answer(policy, query, box, sensitivity, budget)


def _certify_record(outputs: int, columns: Sequence[str], budget: object) -> Certificate:
    """Certify a release of records one by one: local noiseless privacy."""
    bits = log_ratio(outputs)
    kept = budget is None or outputs <= floor_power(budget)
    return Certificate(
        kind="local noiseless privacy",
        claim=(
            f"Whatever a person's record is, its release takes one of at most {outputs:,} values: "
            f"{up_bits(bits)} about the person."
        ),
        value=bits,
        unit="bits",
        theorem=f"{B}, Definition 2",
        rule="corrected",
        sound=kept,
        certainty="exact",
        assumptions=(INSIDE, f"nothing else is released of the record than {', '.join(columns)}"),
        consequences=of_noiseless_privacy(outputs, None),
        parameters={"budget": None if budget is None else str(budget)},
    )


def _certify_answer(
    policy: UniformQuantizer | CutQuantizer,
    query: Query | None,
    box: Box | None,
    sensitivity: object,
    budget: object,
) -> Certificate:
    """Certify a quantized answer about many people: noiseless privacy of each of them."""
    expression = None if query is None or box is None else as_expression(query, box.names)
    reach, person = _reach(expression, box, sensitivity)
    outputs = cells_met(policy.edges, reach)
    bits = log_ratio(outputs)
    rule = policy.rule if isinstance(policy, UniformQuantizer) else "corrected"
    kept = outputs <= floor_power(budget) if budget is not None else rule == "corrected"
    consequences = of_noiseless_privacy(outputs, person)
    if expression is not None and box is not None and len(box.names) <= MOST_PEOPLE_CUT:
        consequences += of_cells(CutBox(box, expression, policy.edges))
    return Certificate(
        kind="noiseless privacy",
        claim=(
            f"Whatever one person's data is, the answer takes one of at most {outputs:,} values: "
            f"{up_bits(bits)} about anybody, and the answer is within {policy.error} of the truth."
        ),
        value=bits,
        unit="bits",
        theorem=f"{B}, Theorem 8",
        rule=rule,
        sound=kept,
        certainty="bound",
        assumptions=(OTHERS, INSIDE),
        consequences=consequences,
        parameters={
            "query": None if expression is None else str(expression),
            "box": None if box is None else _plain_box(box),
            "sensitivity": str(reach),
            "budget": None if budget is None else str(budget),
        },
    )


def _reach(
    expression: Expression | None, box: Box | None, sensitivity: object
) -> tuple[Fraction, Fraction | None]:
    """Return how far one person can move the query, and the length of that person's range."""
    if expression is not None and box is not None:
        linear = expression.linear()
        if linear is not None:
            lengths = {name: box[name].length for name in linear[0]}
            moves = [abs(c) * lengths[name] for name, c in linear[0].items()]
            # The person of the smallest range is the one whose value is estimated best.
            return max(moves, default=Fraction(0)), min(lengths.values(), default=None)
    if sensitivity is None:
        raise OptionError(
            "How far one person can move this query is not known",
            hint="give sensitivity=, or a linear query with the ranges of its variables",
        )
    return parse_number(sensitivity, name="the sensitivity"), None


def _certify_line(policy: LinePolicy) -> Certificate:
    """Certify a policy against a hypothesis: how much volume leaves it open."""
    total, band = policy.box.volume, policy.band()
    hidden = Fraction(band.low) if isinstance(policy, StretchPolicy) else Fraction(0)
    epsilon = hidden / (total - hidden)
    ratio = total / (total - hidden)
    # What is promised is rounded down.
    privacy = (
        max(2 * log - round_up(log), 0.0) if (log := log_ratio(*ratio.as_integer_ratio())) else 0.0
    )
    sound = isinstance(policy, StretchPolicy)
    words = "policy stretches" if sound else "policy as printed collapses"
    return Certificate(
        kind="hypothesis privacy",
        claim=(
            f"The {words} the band around {policy.hypothesis.column} = {policy.hypothesis.line}. "
            f"It is {down(float(epsilon))}-private: Priv = {down(privacy)} bits, and moves "
            f"no value further than {policy.error}."
        ),
        value=privacy,
        unit="bits",
        theorem=f"{D}, Theorem 4",
        rule="corrected" if sound else "printed",
        sound=sound,
        certainty="exact" if band.exact else "bound",
        assumptions=(
            INSIDE,
            "only outputs are counted, and splitting those that decide nothing raises Priv",
        ),
        consequences=of_hypothesis_privacy(
            float(epsilon), float(Fraction(1, 2) + (total - Fraction(band.high)) / (4 * total))
        ),
        parameters={
            "hypothesis": f"{policy.hypothesis.column} >= {policy.hypothesis.line}",
            "box": _plain_box(policy.box),
            "error": str(policy.error),
        },
    )


def verify_exhaustively(
    policy: UniformQuantizer | CutQuantizer, query: Query, people: Mapping[str, Sequence[object]]
) -> int:
    """Return how many outputs one person can really produce, by trying everything.

    Every value of one person is tried beside every combination of the others'. Refused where
    that is too much. Exact.

    Example:
        >>> quarters = UniformQuantizer(0, 1, 4)
        >>> halves = [Fraction(k, 8) for k in range(9)]
        >>> verify_exhaustively(quarters, "(x1 + x2)/2", {"x1": halves, "x2": halves})
        3
    """
    exact = {
        name: [parse_number(v, name=f"a value of '{name}'") for v in values]
        for name, values in people.items()
    }
    expression = as_expression(query, exact)
    cases = 1
    for values in exact.values():
        cases *= len(values)
    if cases * len(exact) > MOST_CASES:
        raise OptionError(
            f"Trying everything would take {cases * len(exact):,} cases",
            hint=f"give fewer people or values, up to {MOST_CASES:,} cases",
        )
    most = 0
    for name, values in exact.items():
        others = [other for other in exact if other != name]
        for fixed in product(*(exact[other] for other in others)):
            point = dict(zip(others, fixed, strict=True))
            found = {policy.cell(expression.at(point | {name: v})) for v in values}
            most = max(most, len(found))
    return most


def _plain_box(box: Box) -> dict[str, list[str]]:
    return {name: [str(side.low), str(side.high)] for name, side in box.sides.items()}
