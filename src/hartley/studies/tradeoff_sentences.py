"""Sentences about points of a tradeoff curve; numbers are rounded so that they stay true."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hartley.numerals import digits_down, tenth_percent_up
from hartley.wording import bits_up, exactly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.studies.specification import Specification
    from hartley.studies.tradeoff_answers import CellFacts, QueryPoint
    from hartley.studies.tradeoff_hypotheses import LinePoint
    from hartley.studies.tradeoff_records import BitsPoint


MISSING_COUNTS = "A missing value is released as missing, which counts as one more output."


def query_sentences(wanted: Specification, point: QueryPoint) -> tuple[str, ...]:
    """Say how much a query tells within an error, the most important sentence first."""
    facts, best = point.equal, point.best
    about = f"{wanted.query} over {wanted.people:,} people" if wanted.people else str(wanted.query)
    cells = "1 cell" if facts.levels == 1 else f"{facts.levels:,} equal cells"
    sentences = [
        (
            f"Within an error of {exactly(point.error)}, {about} takes {cells} and tells at most "
            f"{bits_up(facts.person_bits)} about any one person."
        ),
        _together(facts),
    ]
    if facts.counts_missing:
        sentences.append(MISSING_COUNTS)
    if best is not None and best.leakage is not None and facts.leakage is not None:
        sentences.append(_least(point, best.leakage, facts.leakage))
    printed = facts.person_bits_printed
    # For single records the theorem gives the same number of cells; a missing value is one more.
    if printed is not None and printed < facts.person_bits and not facts.counts_missing:
        sentences.append(
            f"Theorem 8 as printed would say {bits_up(printed)} about one person, which is too "
            "little; the rule used here is the corrected one."
        )
    return (*sentences, *_adversary(facts))


def _together(facts: CellFacts) -> str:
    measures = f"All data together: I⋆ = {bits_up(facts.maximin_information)}"
    privacy = f"P₂ = 1/I⋆ = {_metric(facts.privacy_of_information)}"
    if facts.leakage is not None:
        most, least = ("=", "=") if facts.certainty == "exact" else ("≤", "≥")
        measures += f", L₀ {most} {bits_up(facts.leakage)}"
        privacy += f" and P₁ = 1/L₀ {least} {_metric(facts.privacy_of_leakage)}"
    return f"{measures}; the privacy metrics of the paper are {privacy}."


def _least(point: QueryPoint, least: float, equal: float) -> str:
    limit = point.leakage_limit
    sure = limit is not None and least <= limit + 1e-9
    if least < equal:
        rest = "and no policy within the error leaks less" if sure else "the least that was found"
        return f"Cells of least leakage tell L₀ = {bits_up(least)} instead, {rest}."
    if sure:
        return "No other cells within the error leak less."
    return "The search found no cells within the error that leak less."


def _adversary(facts: CellFacts) -> tuple[str, ...]:
    words = "An adversary who reconstructs all data must expect an error of "
    bound = facts.smallest_error_bound
    if facts.smallest_error is not None:
        alone = "" if bound is None else f"; Theorem II.2 alone promises {digits_down(bound, 4)}"
        shown = f"{digits_down(facts.smallest_error, 4)} even after the most telling answer"
        return (f"{words}{shown}{alone}.",)
    return () if bound is None else (f"{words}{digits_down(bound, 4)} or more, by Theorem II.2.",)


def _metric(value: float | None) -> str:
    return "infinite" if value is None or value == math.inf else digits_down(value, 4)


def record_sentences(
    wanted: Specification, point: BitsPoint, points: Sequence[BitsPoint]
) -> tuple[str, ...]:
    """Say how large the errors of the columns of a record are with a budget."""
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
        "One more bit doubles the number of possible releases of a record: about enough to halve "
        "the error of one column."
        if useless is None
        else f"From {exactly(useless.budget)} bits on, every value is released as it is, so more "
        "bits change nothing.",
        *((MISSING_COUNTS,) if shared.counts_missing else ()),
    )


def line_sentences(point: LinePoint) -> tuple[str, ...]:
    """Say how well a hypothesis is hidden within an error."""
    stretched, claimed = point.stretch, _metric(point.blur.claimed)
    deciding = tenth_percent_up(stretched.deciding_share)
    kept_words = f"epsilon = {_metric(stretched.epsilon)}: Priv = {_metric(stretched.privacy)} bits"
    return (
        (
            f"Within an error of {exactly(point.error)}, stretching keeps {kept_words}, and "
            f"{deciding} of the outputs still decide."
        ),
        (
            f"Blurring as printed claims epsilon = {claimed}. It leaves as many records open, but "
            "on a line without volume: by Priv, which counts outputs, it keeps 0."
        ),
        "Stretching needs values without a step; of rounded ones it may hide none.",
        "A larger error hides more; for small errors epsilon falls in proportion to the error.",
        "Priv counts outputs only, so it can be raised by stretching what decides nothing.",
    )
