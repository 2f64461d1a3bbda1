"""The promise against a hypothesis about a person: the share of records that leave it open."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import OptionError, printable
from hartley.exact import bits_at_most
from hartley.guarantees.consequences import ROUGH, of_hypothesis_privacy
from hartley.guarantees.open_records import promise_open
from hartley.guarantees.promise import UNRELATED, D, Promise
from hartley.guarantees.records import INSIDE, count_outputs
from hartley.numerals import digits_down, digits_up, exactly_or_up
from hartley.ranges.boxes.enclosure import range_bounds, shown
from hartley.ranges.boxes.expression import variables
from hartley.wording import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.guarantees.records import Missing
    from hartley.policies.document import PolicyDocument
    from hartley.policies.hypotheses.blurring import LinePolicy
    from hartley.ranges.boxes.box import Box


NOTHING_ELSE = (
    "whoever tests the hypothesis knows the declared ranges and what is released, and nothing else "
    "about the record"
)
STEPLESS = "(of rounded ones it may hide none)"
POSSIBLE = "every combination of values in the declared ranges is possible"


def promise_line(policy: LinePolicy) -> Promise:
    """Certify a policy against a hypothesis by the share of records that it leaves open.

    log(mu(X) / mu(decided records)) (Farokhi 2021, Theorem 4, corrected). Of values that are
    stretched that is Priv, eq. 9, too. The policy as printed collapses its band onto a curve,
    which has no volume among the outputs: its records are left open, and yet Priv = 0.
    """
    refuse_certain(policy)
    total, band = policy.box.volume, policy.band()
    hidden = Fraction(band.low)
    epsilon = None if hidden == total else hidden / (total - hidden)
    left_open = math.inf if epsilon is None else bits_at_most(*(1 + epsilon).as_integer_ratio())
    claim = _stretched if policy.spreads else _blurred
    most = digits_up(100 * min(band.high / total, Fraction(1)), 4)
    private, bits = f"{_epsilon(epsilon)}-private", digits_down(left_open, 4)
    return Promise(
        kind="hypothesis privacy",
        claim=(
            f"{claim(policy, hidden / total, private, bits)} "
            f"No value is moved further than {exactly_or_up(policy.reach)}."
            + ("" if band.reached else f" More may be hidden, up to {most} %: {ROUGH}.")
        ),
        value=left_open,
        unit="bits",
        theorem=f"{D}, Theorem 4",
        rule="corrected",
        sound=True,
        certainty="exact" if band.exact else "bound",
        assumptions=(
            _fine_enough(policy),
            INSIDE,
            "no value is missing",
            POSSIBLE,
            NOTHING_ELSE,
            UNRELATED,
        ),
        consequences=of_hypothesis_privacy(
            epsilon if policy.spreads else Fraction(0), 1 - policy.confused()
        ),
        parameters={
            "hypothesis": printable(str(policy.hypothesis)),
            "box": plain_box(policy.box),
            "error": str(policy.error),
        },
    )


def _fine_enough(policy: LinePolicy) -> str:
    """Say how fine the values of the moved column must be."""
    column = printable(policy.column)
    if policy.spreads:
        return f"the values of {column} have no step {STEPLESS}"
    apart = exactly_or_up(policy.reach)
    return f"neighbouring possible values of {column} lie no further apart than {apart}"


def _stretched(policy: LinePolicy, share: Fraction, private: str, bits: str) -> str:
    return (
        f"For values of {printable(policy.column)} that have no step: within "
        f"{exactly_or_up(policy.reach)} of the line {_line(policy)} the release does not show on "
        f"which side of it a record lies: that is {digits_down(100 * share, 4)} % of all that "
        f"records could be. Elsewhere it does show. It is {private}, Priv = {bits} bits."
    )


def _blurred(policy: LinePolicy, share: Fraction, private: str, bits: str) -> str:
    return (
        f"Within {exactly_or_up(policy.reach)} of the line {_line(policy)} the line itself is "
        "released, which does not show on which side of it a record lies: that is "
        f"{digits_down(100 * share, 4)} % of all that records could be. Elsewhere it does show. "
        f"Counted in records it is {private}, "
        f"{bits} bits; by the volume of outputs, of which a line has none, Priv = 0."
    )


def _line(policy: LinePolicy) -> str:
    return printable(f"{policy.column} = {shown(policy.hypothesis.line)}")


def refuse_certain(policy: LinePolicy) -> None:
    """Refuse a hypothesis that the declared ranges alone decide."""
    (column,) = variables(policy.column)
    above, _ = range_bounds(column - policy.hypothesis.line, policy.box)
    if above.low >= 0 or above.high <= 0:
        holds = (above.low >= 0) == (policy.hypothesis.sign[0] == ">")
        raise OptionError(
            f"The declared ranges decide whether {policy.column} {policy.hypothesis.sign} "
            f"{shown(policy.hypothesis.line)}: it is {'' if holds else 'not '}so everywhere",
            hint="there is nothing to hide; check the ranges and the units of the columns",
        )


def plain_box(box: Box) -> dict[str, list[str]]:
    """Return a box as plain values."""
    return {printable(n): [str(side.low), str(side.high)] for n, side in box.sides.items()}


def _epsilon(epsilon: Fraction | None) -> str:
    return "infinitely" if epsilon is None else digits_down(epsilon, 4)


COARSER = (
    "the columns of the line are known as they are (where they are released otherwise, no more is "
    "decided)"
)


def promise_lines(document: PolicyDocument) -> Promise:
    """Certify the columns that are moved near a line, and say what is not promised beside.

    Of several lines the weakest promise counts.
    """
    names = list(document.lines)
    promises = [
        _with_rest(document, promise_line(line), {name}, set(line.hypothesis.line.names))
        for name, line in document.lines.items()
    ]
    for name, column in document.stepped.items():
        every = column.all_left_open()
        for opened in every:
            moved = set(opened.move)
            read = {*opened.columns, *opened.ranges} - moved
            promises.append(_with_rest(document, promise_open(opened), moved, read))
            names.append(name if len(every) == 1 else f"{name}, {printable(opened.hypothesis)}")
    weakest = min(promises, key=lambda promise: (promise.sound, promise.value))
    rest = _rest(document)
    if len(promises) == 1:
        return replace(weakest, claim=f"{weakest.claim} {rest}")
    consequences = [
        replace(
            consequence,
            name=f"{consequence.name} of {name}",
            sentence=f"Of {name}: {consequence.sentence}",
        )
        for promise, name in zip(promises, names, strict=True)
        for consequence in promise.consequences
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


def _with_rest(
    document: PolicyDocument, promise: Promise, moved: set[str], read: set[str]
) -> Promise:
    """Return a promise about moved columns, or none where another column shows their values."""
    leaking = [
        printable(other.name)
        for other in document.columns
        if not moved & set(other.columns) and moved & other.outputs().reads
    ]
    kept_names = {column.name for column in document.columns if column.is_kept}
    if not kept_names.issuperset(read):
        promise = replace(promise, assumptions=(*promise.assumptions, COARSER))
    if not leaking:
        return promise
    names = listed(printable(name) for name in sorted(moved))
    return replace(
        promise,
        claim=(
            f"Nothing is promised about {names}: what the policy hides near a "
            f"line shows in {' and '.join(leaking)}, computed from its true value."
        ),
        value=0.0,
        sound=False,
        certainty="exact",
        consequences=(),
    )


def _rest(document: PolicyDocument) -> str:
    """Say what is told by everything that has no line."""
    sizes: dict[str, int | None] = {}
    for column in document.columns:
        # On a step no value is missing: a release refuses such a table.
        missing: Missing = "counted" if column.lattice is None else "ruled out"
        sizes |= count_outputs([column.outputs()], missing)
    unbounded = [printable(name) for name, size in sizes.items() if size is None]
    few = [printable(name) for name, size in sizes.items() if size is not None]
    sentence = "Nothing else is promised about a person: "
    if unbounded:
        sentence += f"{', '.join(unbounded)} can take any value" + (", and " if few else "")
    if few:
        sentence += f"{', '.join(few)} together {_product(sizes):,} values"
    return f"{sentence}."


def _product(sizes: Mapping[str, int | None]) -> int:
    return math.prod(size for size in sizes.values() if size is not None)
