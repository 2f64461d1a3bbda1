"""Points of a curve in plain words; every number is rounded so that the sentence stays true."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_DOWN, Context, Decimal
from fractions import Fraction  # noqa: TC003 - the examples use it
from typing import TYPE_CHECKING

from hartley.guarantees.promise import down, exactly, plain, up_bits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.studies.specification import Specification
    from hartley.studies.tradeoff_points import BitsPoint, CellFacts, LinePoint, QueryPoint


MISSING_COUNTS = "A missing value is released as missing, which counts as one more output."


def query_sentences(wanted: Specification, point: QueryPoint) -> tuple[str, ...]:
    """Say what a query tells within an error, the most important first."""
    facts, best = point.equal, point.best
    about = f"{wanted.query} over {wanted.people:,} people" if wanted.people else str(wanted.query)
    cells = "1 cell" if facts.levels == 1 else f"{facts.levels:,} equal cells"
    found = [
        (
            f"Within an error of {exactly(point.error)}, {about} takes {cells} and tells at most "
            f"{up_bits(facts.person_bits)} about any one person."
        ),
        _together(facts),
    ]
    if facts.counts_missing:
        found.append(MISSING_COUNTS)
    if best is not None and best.leakage is not None and facts.leakage is not None:
        found.append(_least(point, best.leakage, facts.leakage))
    printed = facts.person_bits_printed
    # Of a record by itself the theorem says as many cells; that one may be missing comes on top.
    if printed is not None and printed < facts.person_bits and not facts.counts_missing:
        found.append(
            f"Theorem 8 as printed would say {up_bits(printed)} about one person, which is too "
            "little; the rule used here is the corrected one."
        )
    return (*found, *_adversary(facts))


def _together(facts: CellFacts) -> str:
    told = f"All data together: I⋆ = {up_bits(facts.maximin_information)}"
    privacy = f"P₂ = 1/I⋆ = {_metric(facts.privacy_of_information)}"
    if facts.leakage is not None:
        told += f", L₀ = {up_bits(facts.leakage)}"
        privacy += f" and P₁ = 1/L₀ = {_metric(facts.privacy_of_leakage)}"
    return f"{told}; the privacy metrics of the paper are {privacy}."


def _least(point: QueryPoint, least: float, equal: float) -> str:
    limit = point.leakage_limit
    sure = limit is not None and least <= limit + 1e-9
    if least < equal:
        rest = "and no policy within the error leaks less" if sure else "as far as was looked for"
        return f"Cells of least leakage tell L₀ = {up_bits(least)} instead, {rest}."
    return (
        f"No other cells within the error leak less{'' if sure else ', as far as was looked for'}."
    )


def _adversary(facts: CellFacts) -> tuple[str, ...]:
    words = "Whoever reconstructs all data has to reckon with an error of "
    bound = facts.smallest_error_bound
    if facts.smallest_error is not None:
        alone = "" if bound is None else f"; Theorem II.2 alone promises {down(bound)}"
        shown = f"{down(facts.smallest_error)} even after the most telling answer"
        return (f"{words}{shown}{alone}.",)
    return () if bound is None else (f"{words}{down(bound)} or more, by Theorem II.2.",)


def _metric(value: float | None) -> str:
    return "infinite" if value is None or value == math.inf else down(value)


def record_sentences(
    wanted: Specification, point: BitsPoint, points: Sequence[BitsPoint]
) -> tuple[str, ...]:
    """Say how far the columns of a record are off with a budget."""
    shared = point.largest
    weighted = ", times its weight," if wanted.weights else ""
    levels = ", ".join(f"{name} {count:,}" for name, count in shared.levels.items())
    off = (
        f"no column is off{weighted} by more than {exactly(shared.largest_error)}"
        if shared.largest_error
        else "every value is released as it is"
    )
    useless = next((each for each in points if not each.largest.largest_error), None)
    return (
        f"With {exactly(point.budget)} bits a record, {off}, in {shared.outputs:,} combinations.",
        f"Cells by column: {levels}.",
        "A further bit doubles what a record may be released as: about enough to halve the error "
        "of one column."
        if useless is None
        else f"From {exactly(useless.budget)} bits on, every value is released as it is: more bits "
        "are of no use.",
        *((MISSING_COUNTS,) if shared.counts_missing else ()),
    )


def line_sentences(point: LinePoint) -> tuple[str, ...]:
    """Say how well a hypothesis is hidden within an error."""
    kept, claimed = point.stretch, _metric(point.blur.claimed)
    deciding = math.ceil(kept.deciding_share * 1000) / 10
    kept_words = f"epsilon = {_metric(kept.epsilon)}: Priv = {_metric(kept.privacy)} bits"
    return (
        (
            f"Within an error of {exactly(point.error)}, stretching keeps {kept_words}, and "
            f"{deciding:g} % of the outputs still decide."
        ),
        (
            f"Blurring as printed claims epsilon = {claimed}. It leaves as many records open, but "
            "on a line without volume: by Priv, which counts outputs, it keeps 0."
        ),
        "Rounded values are hidden by blurring alone; stretching takes values without a step.",
        "A larger error hides more; for small errors epsilon falls in proportion to the error.",
        "Priv counts outputs only, so it can be raised by stretching what decides nothing.",
    )


def digits_down(value: float) -> str:
    """Show a number with three digits, rounded down.

    Example:
        >>> digits_down(2.8284), digits_down(57869.2), digits_down(0.000034567), digits_down(0)
        ('2.82', '57,800', '3.45e-5', '0')
    """
    if value <= 0:
        return "0"
    number = Context(prec=3, rounding=ROUND_DOWN).create_decimal(Decimal(value))
    return plain(number) if value >= 1e-3 else f"{number:.2e}".replace("e-0", "e-")


def digits_up(value: Fraction) -> str:
    """Show an exact number; one that is not short, rounded up to five digits.

    Example:
        >>> digits_up(Fraction(1, 2)), digits_up(Fraction(1, 3))
        ('0.5', '0.33334')
    """
    text = exactly(value)
    if "/" not in text and len(text) <= 8:
        return text
    above = Context(prec=5, rounding=ROUND_CEILING)
    return plain(above.divide(Decimal(value.numerator), Decimal(value.denominator)))
