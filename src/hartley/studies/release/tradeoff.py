"""The curve of privacy against utility of a specification, as ``hartley design`` reads it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from hartley.errors import OptionError
from hartley.exact import log_ratio, parse_number
from hartley.files import one_line
from hartley.guarantees.consequences import ROUGH
from hartley.policies.quantized_column import AllocatedColumn
from hartley.report import ReadableResult
from hartley.studies.release.drafting import draft
from hartley.studies.release.fields import read_error
from hartley.studies.release.specification import Specification
from hartley.studies.release.tradeoff_points import (
    AnswerFacts,
    BitsPoint,
    LinePoint,
    QueryPoint,
    bits_point,
    line_point,
    query_point,
)
from hartley.text import bits_up, counted, digits_down, exactly, tenth_percent_up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from hartley.studies.release.tradeoff_points import CellFacts

    Progress = Callable[[str, float], None]
    """Called with the name of the current step and the share of it that is done."""


# --- tradeoff sentences ---------------------------------------------------------------------------
# Sentences about points of a tradeoff curve; numbers are rounded so that they stay true.

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


# --- tradeoff errors ------------------------------------------------------------------------------
# The errors or budgets at which a tradeoff curve is measured.

USUAL, MOST = 16, 200
"""How many points a curve has by default, and at most."""
DIGITS = ("1", "1.25", "1.6", "2", "2.5", "3.2", "4", "5", "6.4", "8")
"""Ten numbers a decade, about evenly spaced for the eye."""


def read_errors(wish: str | Sequence[object]) -> list[Fraction]:
    """Read LOW:HIGH, LOW:HIGH:N or a list of errors.

    The N errors of a range are evenly spaced as logarithms and rounded to three digits.

    Example:
        >>> [float(error) for error in read_errors("0.1:10:3")]
        [0.1, 1.0, 10.0]
    """
    if not isinstance(wish, str):
        if not wish:
            raise OptionError("There is no error to look at", hint="write for example 0.1:10")
        return [read_error(error) for error in wish]
    parts = wish.split(":")
    if len(parts) not in (2, 3):
        raise OptionError(
            f"The errors '{one_line(str(wish))}' are not of the form LOW:HIGH",
            hint="write for example 0.1:10, or 0.1:10:20 for twenty of them",
        )
    low, high = (read_error(part.strip()) for part in parts[:2])
    count = parse_number(parts[2].strip() if len(parts) == 3 else USUAL, name="how many errors")
    if high < low:
        raise OptionError(
            f"The errors {wish} end before they begin", hint="write the smaller error first"
        )
    if count.denominator != 1 or not 1 <= count <= MOST:
        raise OptionError(
            f"The errors {wish} are not from 1 to {MOST} in number",
            hint="write for example 0.1:10:20",
        )
    return _between(low, high, int(count))


def _between(low: Fraction, high: Fraction, count: int) -> list[Fraction]:
    if count == 1 or low == high:
        return [low]
    ratio = log_ratio((high / low).numerator, (high / low).denominator) / (count - 1)
    inner = [low * Fraction(2 ** (k * ratio)) for k in range(1, count - 1)]
    return [low, *(Fraction(f"{float(error):.3g}") for error in inner), high]


def errors_for(
    high: Fraction, low: Fraction, chosen: Fraction | None, *, most: int = USUAL
) -> list[Fraction]:
    """Return round errors between two, both included, and around the chosen one.

    Example:
        >>> [float(error) for error in errors_for(Fraction(10), Fraction(1), None, most=5)]
        [10.0, 6.4, 3.2, 1.6, 1.0]
    """
    if chosen is not None:
        high, low = max(high, 2 * chosen), min(low, chosen / 2)
    errors = [high]
    for power in range(math.floor(math.log10(high)), math.floor(math.log10(low)) - 2, -1):
        for digits in reversed(DIGITS):
            error = Fraction(digits) * Fraction(10) ** power
            if low < error < high:
                errors.append(error)
    return thinned([*errors, low], most)


def thinned(places: Sequence[Fraction], most: int) -> list[Fraction]:
    """Leave out some of many places, evenly, and neither the first nor the last.

    Example:
        >>> [int(place) for place in thinned([Fraction(k) for k in range(9)], 3)]
        [0, 4, 8]
    """
    if len(places) <= most:
        return list(places)
    return [places[round(k * (len(places) - 1) / (most - 1))] for k in range(most)]


def budgets_for(wanted: Specification, errors: Sequence[Fraction] | None) -> list[Fraction]:
    """Return the budgets for a record to look at: whole bits, or those that errors take.

    An error takes log2 of the fewest levels of all columns within it, rounded up to thousandths.
    """
    assert wanted.bits is not None  # records are released within a budget
    labels = 1
    for column in draft(wanted):
        if column.cells is None:
            labels *= column.levels or 1
    least = Fraction(math.ceil(log_ratio(labels) * 1000), 1000)
    if errors is None:
        top = min(max(math.ceil(2 * wanted.bits), 12), _useful_bits(wanted, labels))
        places = thinned([Fraction(k) for k in range(math.ceil(least), top + 1)], USUAL + 9)
    else:
        places = [least + _bits_within(wanted, error) for error in errors]
    return sorted({*places, wanted.bits})


def _useful_bits(wanted: Specification, labels: int) -> int:
    """Return the whole bits with which every value is released as it is; a million if none do."""
    outputs = labels
    for name, column in wanted.columns.items():
        if column.range is not None:
            points = AllocatedColumn.of(name, {"range": column.range, "step": column.step}).points
            if points is None:
                return 10**6
            outputs *= points
    return max((outputs - 1).bit_length(), math.ceil(wanted.bits or 0))


def _bits_within(wanted: Specification, error: Fraction) -> Fraction:
    """Return the bits that it takes so that no column is off by more than an error."""
    outputs = 1
    for name, column in wanted.columns.items():
        if column.range is None:
            continue
        described = {"range": column.range, "step": column.step}
        levels = AllocatedColumn.of(name, described, wanted.weights.get(name, 1)).levels_within(
            error
        )
        assert levels is not None  # an error is positive
        outputs *= levels
    return Fraction(math.ceil(Fraction(log_ratio(outputs)) * 1000 + Fraction(1, 10**6)), 1000)


# --- tradeoff -------------------------------------------------------------------------------------


Point = QueryPoint | BitsPoint | LinePoint
"""One point of a curve, by what is traded: a query, a record, a hypothesis."""


@dataclass(frozen=True)
class Tradeoff(ReadableResult):
    """The curve of privacy against utility of a design, in numbers and in plain sentences."""

    specification: Specification
    points: tuple[Point, ...]
    """From the least useful to the most."""
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> Literal["query", "record", "hypothesis"]:
        """What is traded."""
        if self.specification.objective == "hypothesis":
            return "hypothesis"
        return "record" if self.specification.query is None else "query"

    @property
    def title(self) -> str:
        """What the curve is about, in a few words."""
        wanted = self.specification
        about = wanted.query or wanted.hypothesis or ", ".join(wanted.columns)
        return f"Privacy against utility: {wanted.title or about}"

    @property
    def chosen(self) -> Point | None:
        """The point that the design asks for, where it was measured."""
        return next((point for point in self.points if point.chosen), None)

    @cached_property
    def headline(self) -> str:
        """The curve in one sentence."""
        return self._sentences[0]

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        missed = sum(not _reached(point) for point in self.points)
        points = f"{missed} of {counted(len(self.points), 'point')}"
        rough = f"At {points} less may be told than is shown: {ROUGH}."
        return (*self._sentences[1:], *((rough,) if missed else ()), *self.notes)

    @cached_property
    def _sentences(self) -> tuple[str, ...]:
        point = self.chosen or self.points[len(self.points) // 2]
        if isinstance(point, QueryPoint):
            return query_sentences(self.specification, point)
        if isinstance(point, BitsPoint):
            every = [each for each in self.points if isinstance(each, BitsPoint)]
            return record_sentences(self.specification, point, every)
        return line_sentences(point)

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain values, ready for JSON.

        A number that is infinite or not known is null, and ``reasons`` beside it says why.
        """
        wanted = self.specification
        return {
            "format": 1,
            "kind": self.kind,
            "title": self.title,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "unit": "bits",
            "objective": wanted.objective,
            "query": wanted.query,
            "hypothesis": wanted.hypothesis,
            "people": wanted.people,
            "points": [plain_values(point) for point in self.points],
        }


def _reached(point: Point) -> bool:
    """Tell whether the volumes behind a point are known as closely as was wished."""
    if isinstance(point, QueryPoint):
        return point.equal.reached and (point.best is None or point.best.reached)
    return isinstance(point, BitsPoint) or point.reached


def plain_values(value: Any) -> Any:  # noqa: ANN401 - any part of a point
    """Return values that JSON holds: exact numbers as numbers, infinite ones as nothing.

    Example:
        >>> plain_values({"error": Fraction(1, 2), "privacy": math.inf})
        {'error': 0.5, 'privacy': None}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_values(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {name: plain_values(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain_values(item) for item in value]
    if isinstance(value, Fraction):
        value = float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def tradeoff(
    spec: Specification | Mapping[str, Any] | str | Path,
    *,
    errors: str | Sequence[object] | None = None,
    gap: float = 1e-4,
    progress: Progress | None = None,
) -> Tradeoff:
    """Measure how much releases within larger and smaller errors tell.

    For a query the metrics of Farokhi 2019: accuracy Q = 1/error, I*, L0, P1 = 1/L0, P2 = 1/I*, and
    the error of an adversary, dmin and dmax, in truth and as Theorems II.1 and II.2 bound it; and
    the bits about one person of Noiseless Privacy, Theorem 8, corrected and as printed; all of it
    for equal cells and for cells of least leakage. For records the bits against the least errors
    (Noiseless Privacy, Definition 2). For a hypothesis epsilon, Priv and mu(Delta) of Farokhi
    2021, Theorem 4, stretching (corrected) beside blurring (as printed). Exact, or bounds on the
    safe side. Costs the volumes of the cells of every point.

    Args:
        spec: the path of a TOML file, its content, or a specification that was read before.
        errors: the errors to look at, largest to smallest or not, or text such as "0.1:10" or
            "0.1:10:20"; sensible ones by default.
        gap: how far apart the bounds of a volume may be, as a part of it, where it is not exact.
        progress: called with the share of the points that is done.

    Example:
        >>> curve = tradeoff({
        ...     "objective": "maximin", "query": "mean(x)", "error": "0.5", "people": 2,
        ...     "columns": {"x": {"range": [-2, 2]}},
        ... }, errors=[2, 1, "0.5"])
        >>> [(point.equal.levels, point.equal.leakage) for point in curve.points]
        [(1, 0.0), (2, 1.0), (4, 3.0)]
    """
    wanted = Specification.of(spec)
    if wanted.parts:
        raise OptionError(
            "The trade-off is computed for one query, and the design asks for several",
            hint="write a design for each of them",
        )
    asked = None if errors is None else read_errors(errors)
    measure, places, chosen, notes = _plan(wanted, asked, gap)
    points = []
    for done, place in enumerate(places):
        if progress is not None:
            progress("points", done / len(places))
        points.append(measure(place, chosen=place == chosen))
    if progress is not None:
        progress("points", 1.0)
    return Tradeoff(wanted, tuple(points), notes)


def _plan(
    wanted: Specification, errors: Sequence[Fraction] | None, gap: float
) -> tuple[Callable[..., Point], list[Fraction], Fraction | None, tuple[str, ...]]:
    """Return the function that measures a point, all places, the place of the design, and notes."""
    if wanted.objective == "hypothesis":
        if wanted.lattice:
            raise OptionError(
                "The curve of a hypothesis is about volumes, of values without a step",
                hint="leave out the steps here; hartley.policies.compare_policies counts the open "
                "records of data with a step",
            )
        assert wanted.threshold is not None  # the objective needs it
        length = wanted.box[wanted.threshold.column].length
        places = errors_for(length / 5, length / 1000, wanted.error) if errors is None else errors
        measure = partial(line_point, wanted, gap=gap)
        return measure, _ordered([*places, wanted.error]), wanted.error, ()
    if wanted.query is None:
        return partial(bits_point, wanted), budgets_for(wanted, errors), wanted.bits, ()
    answer = AnswerFacts.of(wanted, gap=gap)
    chosen, notes = answer.chosen_error(wanted)
    if errors is None:
        errors = errors_for(*answer.usual_errors(chosen), chosen, most=answer.usual_points)
    return partial(query_point, answer), _ordered([*errors, chosen]), chosen, notes


def _ordered(places: Sequence[Fraction | None]) -> list[Fraction]:
    """Return errors once each, the largest first."""
    ordered = sorted({place for place in places if place is not None}, reverse=True)
    if not ordered:
        raise OptionError("There is no error to look at", hint="write for example --errors 0.1:10")
    return ordered
