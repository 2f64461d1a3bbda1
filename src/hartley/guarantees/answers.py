"""Promises for answers about many people, one at a time or several together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.boxes.box import Box, Interval
from hartley.boxes.enclosure import check_defined, expression_text, range_bounds
from hartley.boxes.expression import Expression, mean, total, variables
from hartley.boxes.intervals import natural_range
from hartley.errors import OptionError, printable
from hartley.exact import bits_at_least, floor_power, parse_number
from hartley.guarantees.columns import INSIDE, budget_text, compare_budget
from hartley.guarantees.consequences import (
    estimation_error,
    indistinguishability,
    maximin_of_cells,
    of_cells,
    of_noiseless_privacy,
)
from hartley.guarantees.promise import UNRELATED, B, Consequence, D, Promise
from hartley.policies.quantizer import cells_met, largest_share, outputs_telling_share
from hartley.text import at_most, bits_up, count_of, exactly, exactly_or_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hartley.policies.quantizer import Aggregate, Quantizer
    from hartley.policies.vector import VectorQuantizer


# --- answers --------------------------------------------------------------------------------------


OTHERS = "everybody else's data stays fixed while one person's varies over its whole range"
MOST_PEOPLE_CUT = 10_000
"""Up to so many people the volumes of the cells are computed."""
MOST_CELLS_MEASURED = 1_000
"""Cells of a nonlinear query are measured one by one, a tenth of a second each."""
MOST_CELLS_CUT = 100_000
"""Up to so many cells their volumes are compared."""
MOST_VARIABLES = 6
"""Up to so many variables of a query that is not linear its reach is computed."""


@dataclass(frozen=True)
class ReleasedAnswerClaim:
    """A quantized answer, and how far one person can move it."""

    query: str
    quantizer: Quantizer
    reach: Fraction
    person: Fraction | None = None
    """The length of the range of one person's value, where that is known."""
    of_total: tuple[str, int] | None = None
    """What it depends on alone: the total of a column or a query, and what that is divided by."""

    @property
    def outputs(self) -> int:
        """The most values that the answer takes while one person's data varies.

        Farokhi 2019 (Noiseless Privacy), Theorem 8, corrected.
        """
        return self.quantizer.outputs_within(self.reach)

    @property
    def printed(self) -> bool:
        """Whether the cells follow the rule as printed, which is unsound."""
        return self.quantizer.rule == "printed"

    @property
    def accuracy(self) -> str:
        """How far off the release is, as a sentence."""
        low, high = exactly(self.quantizer.low), exactly(self.quantizer.high)
        return (
            f" Answers from {low} to {high} are released within "
            f"{exactly_or_up(self.quantizer.error)} of the truth."
        )


def promise_answers(  # noqa: PLR0913 - what is known of the answers beside their cells
    answers: Sequence[ReleasedAnswerClaim],
    budget: object,
    *,
    outputs: int | None = None,
    accuracy: str | None = None,
    assumptions: tuple[str, ...] = (OTHERS, UNRELATED, INSIDE),
    more: tuple[Consequence, ...] = (),
    parameters: dict[str, object] | None = None,
) -> Promise:
    """Certify answers about many people: the outputs of several multiply (Theorem 6).

    Those about one column depend on one total, so that together they are the cells of the common
    refinement. A bound: one person may be able to produce less. ``outputs`` is how many joint
    answers one person can produce, where that is known better.
    """
    outputs = math.prod(map(joint_outputs, by_total(answers))) if outputs is None else outputs
    bits = bits_at_least(outputs)
    printed = any(answer.printed for answer in answers)
    keeps_budget = not printed if budget is None else outputs <= floor_power(budget)
    lengths = [answer.person for answer in answers if answer.person is not None]
    # The person of the smallest range is the one whose value is estimated best.
    errors = [estimation_error(min(lengths), outputs)] if lengths else []
    asked = " and ".join(answer.query for answer in answers)
    subject = f"answer to {asked} is" if len(answers) == 1 else f"answers to {asked} are"
    return Promise(
        kind="noiseless privacy",
        claim=(
            f"Whatever one person's data is, the {subject} one of at most "
            f"{count_of(outputs, 'value')}, even to somebody who knows everybody else's data: "
            f"{bits_up(bits)} about anybody."
            + compare_budget(budget, outputs)
            + (answers[0].accuracy if len(answers) == 1 else accuracy or "")
        ),
        value=bits,
        theorem=f"{B}, Theorem 8",
        rule="printed" if printed else "corrected",
        sound=keeps_budget,
        certainty="bound",
        assumptions=assumptions,
        consequences=(*of_noiseless_privacy(outputs, *errors), *more),
        parameters=(parameters or {}) | {"budget": budget_text(budget)},
    )


def by_total(answers: Sequence[ReleasedAnswerClaim]) -> Iterable[list[ReleasedAnswerClaim]]:
    """Group the answers that depend on one total alone."""
    groups: dict[object, list[ReleasedAnswerClaim]] = {}
    for place, answer in enumerate(answers):
        about = place if answer.of_total is None else answer.of_total[0]
        groups.setdefault(about, []).append(answer)
    return groups.values()


def outputs_of_one_number(answers: Sequence[ReleasedAnswerClaim]) -> int:
    """Return how many joint answers one person can produce whose data is one number.

    As the number grows, every linear answer moves one way only. The cell changes where one of them
    passes an edge, so that n answers of N_j cells each take at most 1 + sum (N_j - 1) values.
    """
    return 1 + sum(joint_outputs(group) - 1 for group in by_total(answers))


def joint_outputs(answers: Sequence[ReleasedAnswerClaim]) -> int:
    """Return how many joint values answers about one column take while one person's data varies.

    The person moves the total of the column by no more than the length of the range, so that the
    answers change where it passes an edge of one of them: the cells of the common refinement
    that an interval of that length meets. Too many edges to list leave the product.
    """
    product = math.prod(answer.outputs for answer in answers)
    many = sum(answer.quantizer.levels for answer in answers) > MOST_CELLS_CUT
    if len(answers) == 1 or many:
        return product
    edges: set[Fraction] = set()
    reach = Fraction(0)
    for answer in answers:
        assert answer.of_total is not None  # they are about one column
        share = answer.of_total[1]
        edges.update(edge * share for edge in answer.quantizer.edges[1:-1])
        reach = max(reach, answer.reach * share)
    if not edges:
        return 1
    # What lies beyond the first and the last edge belongs to the cells at the ends.
    inner = sorted(edges)
    return min(product, cells_met((inner[0] - reach - 1, *inner, inner[-1] + reach + 1), reach))


def answer_aggregate(
    aggregate: Aggregate, quantizer: Quantizer, side: Interval, people: int
) -> tuple[ReleasedAnswerClaim, tuple[Consequence, ...]]:
    """Return a mean or total over people of one range, and what its cells tell.

    Everybody counts alike, so that no list of people is needed to know how far one moves the
    answer; volumes are computed for some thousands of people only.
    """
    share = people if aggregate.function == "mean" else 1
    text = f"{aggregate} over {count_of(people, 'person').replace('persons', 'people')}"
    answer = ReleasedAnswerClaim(
        printable(text), quantizer, side.length / share, side.length, (aggregate.column, share)
    )
    ends = (people * side.low / share, people * side.high / share)
    more: tuple[Consequence, ...] = ()
    if people > MOST_PEOPLE_CUT or side.length == 0:
        return answer, more
    if _covers_exactly(quantizer, Interval(*ends)):
        telling = outputs_telling_share(Fraction(1, people), quantizer.levels)
        more += (indistinguishability(telling),)
    box = Box.cube(side.low, side.high, size=people)
    query = (mean if aggregate.function == "mean" else total)(variables(*box.names))
    return answer, (*more, *joint_leakage(box, query, quantizer))


def joint_leakage(box: Box, query: Expression, quantizer: Quantizer) -> tuple[Consequence, ...]:
    """Return what the cells of a query tell about all its data together, where that is feasible."""
    flat = not box.volume or quantizer.low == quantizer.high
    if flat or len(box.names) > MOST_PEOPLE_CUT or quantizer.levels > MOST_CELLS_CUT:
        return ()
    from hartley.boxes.cut_box import CutBox

    check_defined(query, box)
    ends = natural_range(query, box.sides)
    if ends is None:
        reached, _ = range_bounds(query, box)
        ends = (reached.low, reached.high)
    edges = list(quantizer.edges)
    # What lies outside the cells is clamped into the first and the last one.
    edges[0], edges[-1] = min(edges[0], ends[0]), max(edges[-1], ends[1])
    cut = CutBox(box, query, tuple(edges))
    # Of a linear query the smallest cell is known beforehand; of another, all have to be measured.
    measured = query.linear() is not None or quantizer.levels <= MOST_CELLS_MEASURED
    return of_cells(cut) if measured else (maximin_of_cells(cut),)


def _covers_exactly(quantizer: Quantizer, reached: Interval) -> bool:
    ends = (quantizer.low, quantizer.high)
    return quantizer.is_equal and ends == (reached.low, reached.high)


def promise_indistinguishability(
    quantizer: Quantizer, query: Expression, box: Box, budget: object
) -> Promise:
    """Certify how many outputs tell one value of a person from another.

    Farokhi 2021, Theorem 5, sharp (see ``outputs_telling_share``): of q equal cells over exactly
    the range of a linear query, where c are the coefficients times the lengths of the ranges.
    Exact: some two values of a person attain it.
    """
    form = query.linear()
    if form is None:
        raise OptionError(
            "Indistinguishability is certified for linear queries only",
            hint="give a weighted sum of people's values, or certify noiseless privacy",
        )
    weights = [abs(by) * box[name].length for name, by in form[0].items()]
    ends = [sorted((by * box[n].low, by * box[n].high)) for n, by in form[0].items()]
    reached = Interval(form[1] + sum(e[0] for e in ends), form[1] + sum(e[1] for e in ends))
    return certify_partial_query(
        quantizer,
        reached,
        largest_share(weights),
        budget,
        more=joint_leakage(box, query, quantizer),
        parameters={"levels": quantizer.levels},
    )


NOT_KNOWN = "nothing is known about the data of the others but its ranges"


def certify_partial_query(  # noqa: PLR0913 - what a promise is made of
    quantizer: Quantizer,
    reached: Interval,
    share: Fraction,
    budget: object,
    *,
    assumptions: tuple[str, ...] = (INSIDE, UNRELATED, NOT_KNOWN),
    more: tuple[Consequence, ...] = (),
    parameters: dict[str, object],
) -> Promise:
    """Certify a query in equal cells when one person can change only part of its range."""
    if not _covers_exactly(quantizer, reached):
        raise OptionError(
            f"The cells do not cover exactly the range {reached} of the query",
            hint="use UniformQuantizer.for_indistinguishability",
        )
    telling = outputs_telling_share(share, quantizer.levels)
    return Promise(
        kind="indistinguishability",
        claim=(
            f"To somebody who knows nothing about the others, {at_most(telling)} of the "
            f"{count_of(quantizer.levels, 'output')} can tell one value of a person from another"
            f"{'' if telling == 0 else f': {bits_up(bits_at_least(telling))}'}."
            + compare_budget(budget, telling)
            + ReleasedAnswerClaim("", quantizer, Fraction(0)).accuracy
        ),
        value=bits_at_least(telling),
        theorem=f"{D}, Theorem 5",
        rule=quantizer.rule,
        sound=budget is None or telling <= floor_power(budget),
        certainty="exact",
        assumptions=assumptions,
        consequences=more,
        parameters=parameters | {"budget": budget_text(budget)},
    )


def leakage_given_others(answer: ReleasedAnswerClaim) -> Consequence:
    """Say what the same cells tell somebody who does know the others' data."""
    bits = bits_at_least(answer.outputs)
    return Consequence(
        "to whoever knows the others",
        bits,
        "To somebody who knows everybody else's data, the answer is one of at most "
        f"{count_of(answer.outputs, 'value')}, whatever one person's data is: {bits_up(bits)}.",
        f"{B}, Theorem 8, corrected",
    )


def influence(query: Expression, box: Box, declared: object = None) -> Fraction:
    r"""Return how far one variable can move a query while the others stay fixed, at most.

    .. math:: S = \max_i \sup_{v, x, x'} |f(x, v) - f(x', v)|

    The sensitivity of Farokhi 2019 (Noiseless Privacy), Theorem 8. Exact for linear queries, and
    where the range of f(x, v) - f(x', v) is: of degree two in up to seven variables, and of one.
    For others a bound; a declared number counts where that bound allows it, and not where the
    query certainly reaches more.
    """
    declared_reach = None if declared is None else parse_number(declared, name="the sensitivity")
    least, most = reach_bounds(query, box)
    if most is None and declared_reach is None:
        raise OptionError(
            "How far one person can move this query is not known",
            hint="give sensitivity=, or a linear query with the ranges of its variables",
        )
    known = [number for number in (declared_reach, most) if number is not None]
    return raised(min(known), (least, most))


def raised(declared: Fraction, bounds: tuple[Fraction, Fraction | None]) -> Fraction:
    """Return a declared reach, or the most that a query moves if it certainly moves further.

    The reach is proved from within, so a smaller declared number was wrong; the truth may be
    larger still.

    Example:
        >>> around_two = (Fraction("1.9"), Fraction("2.1"))
        >>> [float(raised(Fraction(declared), around_two)) for declared in (1, 2, 3)]
        [2.1, 2.0, 3.0]
    """
    least, most = bounds
    return declared if declared >= least or most is None else most


def reach_bounds(query: Expression, box: Box) -> tuple[Fraction, Fraction | None]:
    """Return how far one variable can move a query, at least and at most; None if not known."""
    form = query.linear()
    if form is not None:
        moves = [abs(by) * box[name].length for name, by in form[0].items()]
        reach = max(moves, default=Fraction(0))
        return reach, reach
    if len(query.names) > MOST_VARIABLES:
        return Fraction(0), None
    bounds = [_moves(query, box, name) for name in query.names]
    return max(low for low, _ in bounds), max(high for _, high in bounds)


def _moves(query: Expression, box: Box, name: str) -> tuple[Fraction, Fraction]:
    """Return how far one variable moves a query, at least and at most."""
    from hartley.boxes.exact_range import known_range

    other = name + "'"
    sides = {n: box[n] for n in query.names}
    moved = query.put_in({name: Expression("var", (other,))})
    known = known_range(query - moved, Box(sides | {other: box[name]}))
    # Exchanging both values turns the sign of the change, so its largest value is its reach.
    return max(known.inner.high, -known.inner.low), max(known.outer.high, -known.outer.low)


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
    """
    names = [printable(expression_text(query)) for query in queries]
    reaches = [influence(query, box) for query in queries]
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
        consequence.about(name)
        for name, query, part in zip(names, queries, parts, strict=True)
        for consequence in joint_leakage(box, query, part)
    )
    ends = " × ".join(f"[{exactly(part.low)}, {exactly(part.high)}]" for part in policy.parts)  # noqa: RUF001
    how = "in every answer" if policy.norm == "sup" else "in Euclidean distance"
    error = exactly_or_up(policy.error)
    return promise_answers(
        answers,
        budget,
        outputs=_outputs(answers, queries, box),
        accuracy=f" Answers in {ends} are released within {error} of the truth {how}.",
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
