"""The curve of privacy against utility of a specification, as ``hartley design`` reads it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from hartley.errors import OptionError
from hartley.guarantees.consequences import ROUGH
from hartley.readable import ReadableResult
from hartley.studies.specification import Specification
from hartley.studies.tradeoff_answers import AnswerFacts, QueryPoint, query_point
from hartley.studies.tradeoff_errors import budgets_for, errors_for, read_errors
from hartley.studies.tradeoff_hypotheses import LinePoint, line_point
from hartley.studies.tradeoff_records import BitsPoint, bits_point
from hartley.studies.tradeoff_sentences import line_sentences, query_sentences, record_sentences
from hartley.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    Progress = Callable[[str, float], None]
    """Called with the name of the current step and the share of it that is done."""

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
                hint="leave out the steps here; hartley.compare_policies counts the open records "
                "of data with a step",
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
