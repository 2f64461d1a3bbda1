"""The points of a trade-off curve: what is measured at one error or budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from hartley.boxes.box import Box, Interval
from hartley.boxes.cut_box import CutBox
from hartley.boxes.enclosure import range_bounds
from hartley.boxes.expression import mean, total, variables
from hartley.boxes.intervals import float_above, float_below
from hartley.boxes.volumes import volume
from hartley.boxes.zonotope import even_slab_ball
from hartley.errors import OptionError
from hartley.exact import bits_at_least, bits_at_most
from hartley.guarantees.columns import count_outputs
from hartley.guarantees.verify import missing_of
from hartley.measures.estimation import (
    largest_error,
    largest_error_bound,
    smallest_error,
    smallest_error_bound,
)
from hartley.measures.leakage import maximin_information, nonstochastic_leakage
from hartley.policies.column import Output
from hartley.policies.hypotheses.lines import StretchPolicy
from hartley.policies.optimal import optimal_quantizer
from hartley.policies.quantized_column import allocate_bits
from hartley.policies.quantizer import cells_met, levels_for_error
from hartley.studies.release.drafting import answered, draft

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.boxes.expression import Expression
    from hartley.boxes.volumes import Volume
    from hartley.policies.optimal import CutQuantizer
    from hartley.studies.release.specification import Specification

    Kind = Literal["equal", "least leakage"]


# --- tradeoff answers -----------------------------------------------------------------------------
# One point of a tradeoff for the answer to a query: how much cells within an error tell.

MOST_PEOPLE = 10_000
"""Volumes are computed for up to so many people."""
MOST_CELLS, MOST_CELLS_SEARCHED = 20_000, 64
"""The most cells that are measured, and that are searched for a query that is not linear."""
MOST_CORNERS = 10_000
"""The best estimator is computed if all cells together have at most about so many corners."""
UNRELATED = "infinite, since the release does not depend on the data"


@dataclass(frozen=True)
class CellFacts:
    """How much cells of an answer tell, by the metrics of Farokhi 2019 and of Noiseless Privacy.

    A number that is not known is None, and ``reasons`` says why; an infinite one has a reason
    too. Where volumes are bounds and not exact, leakages are never below the truth and errors of
    an adversary never above it.
    """

    kind: Kind
    levels: int
    error: Fraction
    """The largest distance between an answer and what is released for it."""
    accuracy: float
    """Q = 1/error."""
    maximin_information: float
    """I*, in bits."""
    leakage: float | None
    """L0, in bits."""
    privacy_of_leakage: float | None
    """P1 = 1/L0."""
    privacy_of_information: float
    """P2 = 1/I*."""
    smallest_error: float | None
    """dmin: the error of the best reconstruction of all data, given the most telling answer."""
    smallest_error_bound: float | None
    """The bound of Theorem II.2 for it."""
    largest_error: float | None
    """dmax: the same, given the least telling answer."""
    largest_error_bound: float | None
    """The bound of Theorem II.1 for it."""
    person_bits: float
    """The bits about one person: log2 of the cells that one person's data can reach."""
    counts_missing: bool
    """Whether a missing answer counts as one more of them."""
    person_bits_printed: float | None
    """The bits by Theorem 8 as printed: log2(q S/L), which is too little."""
    certainty: Literal["exact", "bound"]
    reasons: Mapping[str, str] = field(default_factory=dict)
    reached: bool = True
    """Whether volumes are known as closely as was wished; else bounds may be far from the truth."""


@dataclass(frozen=True)
class QueryPoint:
    """An allowed error, and how much equal cells and cells of least leakage tell within it."""

    error: Fraction
    chosen: bool
    """Whether it is what the design asks for."""
    equal: CellFacts
    best: CellFacts | None
    leakage_limit: float | None
    """The bits that L0 has at least under every policy within the error."""
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerFacts:
    """A query over its declared ranges: the range of its answer, and the reach of one person."""

    range: Interval
    reach: Fraction
    people: int | None
    """The number of people of a mean or a total."""
    side: Fraction
    """For a mean or a total, the length of one person's range."""
    expression: Expression | None
    """None where there are too many people for volumes."""
    box: Box | None
    gap: float = 1e-4
    """How well volumes are known where they are not exact, as a part of them."""
    budget: Fraction | None = None
    """The bits that were asked for, which may leave no room for missing values."""
    by_record: bool = False
    """Whether each record is answered by itself and may be missing."""

    @classmethod
    def of(cls, spec: Specification, *, gap: float = 1e-4) -> AnswerFacts:
        """Read a design that has a query."""
        if spec.aggregate is None:
            assert spec.expression is not None  # a design with a query
            used = Box({name: spec.box[name] for name in spec.expression.names})
            return cls(
                spec.answer_range,
                spec.reach,
                None,
                Fraction(0),
                spec.expression,
                used,
                gap,
                spec.bits,
                by_record=spec.sensitivity is None or answered(spec) is None,
            )
        assert spec.people is not None  # checked when the design was read
        side, expression, box = spec.box[spec.aggregate.column], None, None
        if spec.people <= MOST_PEOPLE:
            box = Box.cube(side.low, side.high, size=spec.people)
            of = mean if spec.aggregate.function == "mean" else total
            expression = of(variables(*box.names))
        return cls(spec.answer_range, spec.reach, spec.people, side.length, expression, box, gap)

    @property
    def is_linear(self) -> bool:
        """Whether volumes are exact, or nearly."""
        return self.expression is None or self.expression.linear() is not None

    @property
    def usual_points(self) -> int:
        """How many points a curve has by default; fewer where each takes long."""
        return 10 if not self.is_linear or (self.people or 0) > 1000 else 16

    def usual_errors(self, chosen: Fraction | None) -> tuple[Fraction, Fraction]:
        """Return the largest error, at which one cell is enough, and a small one."""
        largest = self.range.length / 2
        least = largest / (24 if chosen is None or not self.is_linear else 64)
        return largest, least

    def chosen_error(self, spec: Specification) -> tuple[Fraction | None, tuple[str, ...]]:
        """Return the error that a design asks for or its budget allows, if it can be measured."""
        error = spec.error
        if error is None:
            (column,) = draft(spec)
            assert column.cells is not None  # equal cells within a budget
            error = column.cells.error
        levels = levels_for_error(self.range.length, error)
        if levels <= MOST_CELLS:
            return error, ()
        note = f"The design itself takes {levels:,} cells, more than the {MOST_CELLS:,} shown here."
        return None, (note,)

    def counts_missing(self, cells: int) -> bool:
        """Tell whether a missing answer counts as one more cell, as in a policy's certificate."""
        output = Output("answer", cells, frozenset())
        return self.by_record and missing_of([output], self.budget) == "counted"

    def edges(self, levels: int) -> tuple[Fraction, ...]:
        """Return the edges of equal cells."""
        low, width = self.range.low, self.range.length / levels
        return tuple(low + k * width for k in range(levels + 1))


def query_point(answer: AnswerFacts, error: Fraction, *, chosen: bool = False) -> QueryPoint:
    """Measure equal cells and cells of least leakage within an error."""
    levels = levels_for_error(answer.range.length, error)
    if levels > MOST_CELLS:
        raise OptionError(
            f"An error of {float(error):g} takes {levels:,} cells, more than {MOST_CELLS:,}",
            hint="look at larger errors",
        )
    edges = answer.edges(levels)
    equal = cell_facts(answer, edges, "equal")
    cells = _best_cells(answer, error, levels)
    if isinstance(cells, str):
        reasons = dict.fromkeys(("best", "leakage_limit"), cells)
        return QueryPoint(error, chosen, equal, None, None, reasons)
    # The bits that the smallest cell tells under any policy, rounded down.
    share, best = cells.share_limit, cells.edges
    limit = None if share is None else bits_at_most(share.denominator, share.numerator)
    same = replace(equal, kind="least leakage")
    facts = same if best == edges else cell_facts(answer, best, "least leakage")
    if facts.leakage is not None and equal.leakage is not None and facts.leakage > equal.leakage:
        facts = same  # the search tries only some edges, and equal ones may not be among them
    return QueryPoint(error, chosen, equal, facts, limit)


def _best_cells(answer: AnswerFacts, error: Fraction, levels: int) -> CutQuantizer | str:
    """Return the cells of least leakage, or why they are not known."""
    if answer.expression is None or answer.box is None:
        return f"volumes are computed for up to {MOST_PEOPLE:,} people"
    if levels > MOST_CELLS_SEARCHED and not answer.is_linear:
        return f"not searched among more than {MOST_CELLS_SEARCHED} cells"
    try:
        return optimal_quantizer(answer.expression, answer.box, error, "leakage")
    except OptionError as refused:
        return refused.problem


def cell_facts(answer: AnswerFacts, edges: Sequence[Fraction], kind: Kind) -> CellFacts:
    """Measure one list of cells."""
    levels = len(edges) - 1
    off = max(b - a for a, b in pairwise(edges)) / 2
    reasons: dict[str, str] = {}
    if levels == 1:
        reasons |= dict.fromkeys(("privacy_of_leakage", "privacy_of_information"), UNRELATED)
    volumes = _volumes(answer, edges, reasons)
    errors = _errors(answer, edges, volumes, reasons)
    bits = bits_at_least(levels) if volumes is None else maximin_information(volumes)
    leakage = nonstochastic_leakage(volumes) if volumes is not None else None
    reached = cells_met(edges, answer.reach)
    missing = answer.counts_missing(reached)
    if leakage == math.inf:
        reasons["leakage"] = "infinite, as far as is certified: some cell may have no volume"
    return CellFacts(
        kind=kind,
        levels=levels,
        error=off,
        accuracy=float(1 / off),
        maximin_information=bits,
        leakage=leakage,
        privacy_of_leakage=None if leakage is None else _inverse(leakage),
        privacy_of_information=_inverse(bits),
        smallest_error=errors[0],
        smallest_error_bound=None if volumes is None else smallest_error_bound(volumes),
        largest_error=errors[1],
        largest_error_bound=None if volumes is None else largest_error_bound(volumes),
        person_bits=bits_at_least(reached + missing),
        counts_missing=missing,
        person_bits_printed=_printed(answer, levels, kind, reasons),
        certainty="exact" if volumes is None or volumes.smallest.exact else "bound",
        reasons=reasons,
        reached=volumes is None or (volumes.smallest.reached and volumes.largest.reached),
    )


def _inverse(bits: float) -> float:
    return 1 / bits if bits else math.inf


def _printed(answer: AnswerFacts, levels: int, kind: Kind, reasons: dict[str, str]) -> float | None:
    """Return the bits for which the printed Theorem 8 would allow this many equal cells."""
    if kind != "equal":
        reasons["person_bits_printed"] = "Theorem 8 is about equal cells"
        return None
    ratio = levels * answer.reach / answer.range.length
    return bits_at_least(ratio.numerator, ratio.denominator) if ratio > 1 else 0.0


def _volumes(
    answer: AnswerFacts, edges: Sequence[Fraction], reasons: dict[str, str]
) -> CutBox | None:
    if answer.expression is None or answer.box is None:
        why = f"volumes are computed for up to {MOST_PEOPLE:,} people"
        names = ("leakage", "privacy_of_leakage", "smallest_error_bound", "largest_error_bound")
        reasons |= dict.fromkeys(names, why)
        return None
    return CutBox(answer.box, answer.expression, tuple(edges), answer.gap)


def _errors(
    answer: AnswerFacts,
    edges: Sequence[Fraction],
    volumes: CutBox | None,
    reasons: dict[str, str],
) -> tuple[float | None, float | None]:
    """Return the error of the best estimator for the most and for the least telling cell."""
    if answer.people is not None:
        # In units of one person's range, the sum over people runs from 0 to their number.
        scale = answer.people / answer.range.length
        places = [(edge - answer.range.low) * scale for edge in edges]
        squares = [even_slab_ball(answer.people, low, high)[1] for low, high in pairwise(places)]
        return tuple(float(answer.side) * math.sqrt(end(squares)) for end in (min, max))  # type: ignore[return-value]  # two
    try:
        assert volumes is not None  # few variables
        if len(edges) * 2 ** len(volumes.box.names) > MOST_CORNERS:
            reasons |= dict.fromkeys(("smallest_error", "largest_error"), "too many cells")
            return None, None
        return smallest_error(volumes), largest_error(volumes)
    except OptionError:
        why = "computed for linear queries over a few columns only; the bound holds"
        reasons |= {"smallest_error": why, "largest_error": why}
        return None, None


# --- tradeoff hypotheses --------------------------------------------------------------------------
# One point of a tradeoff for a hypothesis: how well stretching and blurring hide it.


@dataclass(frozen=True)
class LineFacts:
    """How well one policy hides the side of a line on which a value lies, by Farokhi 2021."""

    kind: Literal["stretch", "blur"]
    claimed: float | None
    """The epsilon of Theorem 4: true for stretching; for blurring true of records, not outputs."""
    epsilon: float | None
    """Epsilon by the volume of outputs, eq. 9: the volume that leaves the hypothesis open over the
    rest."""
    privacy: float | None
    """Priv, in bits: log2 of all outputs over those that decide."""
    deciding: float
    """mu(Delta): the volume of the outputs that decide the hypothesis."""
    deciding_share: float
    """The part of the outputs that decide it."""
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LinePoint:
    """An error that is allowed, and how well stretching and blurring hide a hypothesis."""

    error: Fraction
    chosen: bool
    """Whether it is what the design asks for."""
    accuracy: float
    """rho = 1/error."""
    stretch: LineFacts
    blur: LineFacts
    certainty: Literal["exact", "bound"]
    reached: bool = True
    """Whether the volume of the band is known as closely as was wished; else more may be hidden."""


def line_point(
    spec: Specification, error: Fraction, *, chosen: bool = False, gap: float = 1e-6
) -> LinePoint:
    """Measure how well the two policies against a hypothesis hide it within an error.

    Farokhi 2021, Theorem 4, corrected: stretching keeps the epsilon that is claimed there,
    blurring leaves no output of positive volume open, though the records in its band are left
    open. Certified: epsilon and Priv are never above the truth, mu(Delta) never below it.
    """
    threshold = spec.threshold
    assert threshold is not None  # a design against a hypothesis
    policy = StretchPolicy(threshold, error, spec.box)
    band, total = policy.band(gap=gap), spec.box.volume
    (value,) = variables(threshold.column)
    side, plain = spec.box[threshold.column], band
    line, _ = range_bounds(threshold.line, spec.box) if threshold.line.names else (None, None)
    if line is None or not (side.low < line.low and line.high < side.high):
        # The paper's band also counts where the line runs outside the column's range.
        far = abs(value - threshold.line)
        plain = volume(spec.box, far, Interval(Fraction(-1), error), gap=gap)
    return LinePoint(
        error=error,
        chosen=chosen,
        accuracy=float(1 / error),
        stretch=_stretch_facts(band, total),
        blur=_blur_facts(plain, total),
        certainty="exact" if band.exact else "bound",
        reached=band.reached and plain.reached,
    )


def _stretch_facts(band: Volume, total: Fraction) -> LineFacts:
    """Return what stretching keeps: the band is open, everything else decides."""
    rest = total - band.low
    if rest == 0:
        why = dict.fromkeys(
            ("claimed", "epsilon", "privacy"), "infinite, since no output decides the hypothesis"
        )
        return LineFacts("stretch", math.inf, math.inf, math.inf, 0.0, 0.0, why)
    epsilon = float_below(band.low / rest)
    return LineFacts(
        "stretch",
        claimed=epsilon,
        epsilon=epsilon,
        privacy=bits_at_most(*(total / rest).as_integer_ratio()),
        deciding=float_above(rest),
        deciding_share=min(float_above(rest / total), 1.0),
    )


def _blur_facts(band: Volume, total: Fraction) -> LineFacts:
    """Return what blurring keeps: the band becomes a line without volume, and the rest decides."""
    rest = total - band.low
    if rest == 0:
        why = "the policy as printed leaves no output of positive volume"
        reasons = dict.fromkeys(("claimed", "epsilon", "privacy"), why)
        return LineFacts("blur", math.inf, None, None, 0.0, 0.0, reasons)
    return LineFacts("blur", float_below(band.low / rest), 0.0, 0.0, float_above(rest), 1.0)


# --- tradeoff records -----------------------------------------------------------------------------
# One point of a tradeoff for records: how a budget is shared among the columns.


@dataclass(frozen=True)
class Sharing:
    """How a budget is shared among the columns of a record, and the error of each."""

    levels: Mapping[str, int]
    errors: Mapping[str, Fraction]
    outputs: int
    """How many combinations a record is released as, missing values aside."""
    bits: float
    """The most that a release tells about its person: log2 of the outputs, with one more output a
    column for a missing value if the budget has room for it."""
    counts_missing: bool
    """Whether the budget has room for missing values."""
    largest_error: Fraction
    """The largest weighted error of a column."""
    mean_error: Fraction
    """The weighted mean of the errors."""


@dataclass(frozen=True)
class BitsPoint:
    """A budget for a record, and the least errors that it allows."""

    budget: Fraction
    chosen: bool
    """Whether it is what the design asks for."""
    largest: Sharing
    """With the least largest error, as ``hartley design`` shares it."""
    mean: Sharing | None
    """With the least mean error."""
    reasons: Mapping[str, str] = field(default_factory=dict)


def bits_point(spec: Specification, budget: Fraction, *, chosen: bool = False) -> BitsPoint:
    """Share a budget among the columns of a record, for the least largest and mean error.

    Farokhi 2019 (Noiseless Privacy), Definition 2. Exact.
    """
    levels, errors = {}, {}
    columns = draft(replace(spec, bits=budget))
    for column in columns:
        if column.cells is not None:
            levels[column.name] = column.cells.levels
            errors[column.name] = column.cells.error
    if not levels:
        raise OptionError(
            "The design has no column of numbers, so no error depends on the bits",
            hint="declare a column with a range",
        )
    outputs = [column.outputs() for column in columns]
    largest = _sharing(spec, levels, errors, outputs, budget)
    if len(levels) < len(columns):
        return BitsPoint(budget, chosen, largest, None, {"mean": "not computed with categories"})
    try:
        ranges = {
            name: {"range": spec.columns[name].range, "step": spec.columns[name].step}
            for name in levels
        }
        shared = allocate_bits(ranges, budget, weights=spec.weights, objective="mean")
    except OptionError as refused:
        return BitsPoint(budget, chosen, largest, None, {"mean": refused.problem})
    outputs = [Output(name, count, frozenset({name})) for name, count in shared.levels.items()]
    mean = _sharing(spec, shared.levels, shared.errors, outputs, budget)
    return BitsPoint(budget, chosen, largest, mean)


def _sharing(
    spec: Specification,
    levels: Mapping[str, int],
    errors: Mapping[str, Fraction],
    columns: Sequence[Output],
    budget: Fraction,
) -> Sharing:
    weights = {name: spec.weights.get(name, Fraction(1)) for name in levels}
    weighted = [weights[name] * errors[name] for name in levels]
    missing = missing_of(columns, budget)
    with_missing = count_outputs(columns, missing).values()
    return Sharing(
        levels=dict(levels),
        errors=dict(errors),
        outputs=math.prod(column.count or 1 for column in columns),
        bits=bits_at_least(math.prod(count or 1 for count in with_missing)),
        counts_missing=missing == "counted",
        largest_error=max(weighted),
        mean_error=sum(weighted, Fraction(0)) / sum(weights.values()),
    )
