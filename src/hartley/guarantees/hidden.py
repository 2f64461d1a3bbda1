"""What a policy file promises against hypotheses: lines near which it hides the side."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from hartley.errors import printable
from hartley.guarantees.lines import promise_line
from hartley.guarantees.records import count_outputs, outputs_of
from hartley.policies.blurring import BlurringPolicy, StretchPolicy, Threshold
from hartley.policies.columns import KeptColumn
from hartley.ranges.box import Box, Interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.guarantees.promise import Promise
    from hartley.policies.columns import LineColumn
    from hartley.policies.document import PolicyDocument

COARSER = (
    "the columns of the line are known as they are (where they are released otherwise, no more is "
    "decided)"
)


def promise_lines(document: PolicyDocument, lines: Sequence[LineColumn]) -> Promise:
    """Certify the columns that are moved near a line, and say what is not promised beside.

    Of several lines the weakest promise counts.
    """
    promises = [_promise_one(document, line) for line in lines]
    weakest = min(promises, key=lambda promise: (promise.sound, promise.value))
    rest = _rest(document)
    if len(promises) == 1:
        return replace(weakest, claim=f"{weakest.claim} {rest}")
    consequences = [
        replace(one, name=f"{one.name} of {line.name}", sentence=f"Of {line.name}: {one.sentence}")
        for promise, line in zip(promises, lines, strict=True)
        for one in promise.consequences
    ]
    claims = [promise.claim for promise in promises]
    return replace(
        weakest,
        claim=" ".join([*claims, rest]),
        sound=all(promise.sound for promise in promises),
        certainty="exact" if all(p.certainty == "exact" for p in promises) else "bound",
        consequences=tuple(consequences),
        parameters={"lines": [promise.parameters for promise in promises]},
    )


def _promise_one(document: PolicyDocument, column: LineColumn) -> Promise:
    ranges, expression = document.ranges, column.expression
    box = Box({name: Interval(*ranges[name]) for name in (column.name, *expression.names)})
    kind = StretchPolicy if column.kind == "stretch" else BlurringPolicy
    promise = promise_line(kind(Threshold(column.name, expression), column.reach, box))
    leaking = [
        printable(other.name)
        for other in document.columns
        if other is not column and column.name in outputs_of(other).reads
    ]
    exact = {c.name for c in document.columns if isinstance(c, KeptColumn)}
    if not exact.issuperset(expression.names):
        promise = replace(promise, assumptions=(*promise.assumptions, COARSER))
    if not leaking:
        return promise
    return replace(
        promise,
        claim=(
            f"Nothing is promised about {printable(column.name)}: what the policy hides near a "
            f"line shows in {' and '.join(leaking)}, computed from its true value."
        ),
        value=0.0,
        sound=False,
        certainty="exact",
        consequences=(),
    )


def _rest(document: PolicyDocument) -> str:
    """Say what is told by everything that has no line."""
    sizes = count_outputs(map(outputs_of, document.columns), "counted")
    kept = [printable(name) for name, size in sizes.items() if size is None]
    few = [printable(name) for name, size in sizes.items() if size is not None]
    told = f"Nothing else is promised about a person: {', '.join(kept)} can take any value"
    if few:
        told += f", and {', '.join(few)} together {_product(sizes):,} values"
    return f"{told}."


def _product(sizes: Mapping[str, int | None]) -> int:
    return math.prod(size for size in sizes.values() if size is not None)
