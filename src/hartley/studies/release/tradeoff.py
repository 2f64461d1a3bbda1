"""The curve of privacy against utility of a specification, as ``hartley design`` reads it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from hartley.errors import OptionError
from hartley.exact import log_ratio, parse_number
from hartley.files import one_line
from hartley.guarantees.consequences import ROUGH
from hartley.policies.quantized_column import AllocatedColumn
from hartley.report import (
    Cell,
    Chart,
    Grid,
    Heading,
    Panel,
    Readable,
    Report,
    Section,
    Series,
    Tile,
    csv_text,
    plain_values,
)
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
from hartley.text import bits_up, count_of, exactly, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.inputs import DesignFile, Errors, Progress, PythonOnly
    from hartley.report import Dash
    from hartley.studies.release.tradeoff_points import CellFacts


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
        alone = (
            ""
            if bound is None
            else f"; Theorem II.2 alone promises {number(bound, 4, round='down')}"
        )
        shown = (
            f"{number(facts.smallest_error, 4, round='down')} even after the most telling answer"
        )
        return (f"{words}{shown}{alone}.",)
    return (
        ()
        if bound is None
        else (f"{words}{number(bound, 4, round='down')} or more, by Theorem II.2.",)
    )


def _metric(value: float | None) -> str:
    return "infinite" if value is None or value == math.inf else number(value, 4, round="down")


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
    deciding = cell_share(stretched.deciding_share)
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


# --- tradeoff tables ------------------------------------------------------------------------------
# The columns of the table of a curve, and its pictures.


@dataclass(frozen=True)
class CurveColumn:
    """A column of the table: a sign for the terminal, a name, and how to get its value."""

    sign: str
    name: str
    value: Callable[[Any], Any]
    show: Callable[[Any], str]

    def text(self, point: Point) -> str:
        """Return the value at a point in words; a dash where it is not known."""
        value = self.value(point)
        if value is None:
            return "–"  # noqa: RUF001 - a dash
        return "∞" if value == math.inf else self.show(value)


def cell_exact(value: Fraction) -> str:
    """Write an exact number; one that is not short with five digits, rounded up.

    Example:
        >>> cell_exact(Fraction(1, 2)), cell_exact(Fraction(1, 3))
        ('0.5', '0.33334')
    """
    text = exactly(value)
    short = "/" not in text and len(text) <= 8
    return text if short else number(value, 5, round="up")


def cell_up(value: float) -> str:
    """Write a number with two decimals, from a thousand on with none, rounded up.

    Example:
        >>> cell_up(2.801), cell_up(5792.4)
        ('2.81', '5,793')
    """
    return number(value, round="up", places=0 if value >= 1000 else 2, zeros=True)


def cell_down(value: float) -> str:
    """Write a number with three digits, rounded down, and with an exponent below a thousandth.

    Example:
        >>> cell_down(2.8284), cell_down(57869.2), cell_down(0.000034567), cell_down(0)
        ('2.82', '57,800', '3.45e-5', '0')
    """
    text = number(max(value, 0), 3, round="down")
    if not 0 < value < 1e-3:
        return text
    return f"{Decimal(text):.2e}"


def cell_count(value: int) -> str:
    """Write a count, from a thousand million on with an exponent.

    Example:
        >>> cell_count(12_000), cell_count(2**40)
        ('12,000', '1.10e+12')
    """
    return f"{value:,}" if value < 10**9 else f"{value:.2e}"


def cell_share(value: float) -> str:
    """Write a share that was rounded up to a double in percent with one decimal, rounded up.

    Example:
        >>> cell_share(0.12301), cell_share(0.1)
        ('12.4 %', '10 %')
    """
    return f"{number(100 * value, round='up', places=1, slack=1e-12)} %"


QUERY = (
    CurveColumn("error", "largest error allowed", lambda p: p.error, cell_exact),
    CurveColumn("Q", "accuracy Q of equal cells", lambda p: p.equal.accuracy, cell_down),
    CurveColumn("cells", "equal cells", lambda p: p.equal.levels, cell_count),
    CurveColumn("I⋆", "I⋆, bits", lambda p: p.equal.maximin_information, cell_up),
    CurveColumn("L₀", "L₀ of equal cells, bits", lambda p: p.equal.leakage, cell_up),
    CurveColumn(
        "least L₀", "L₀ of the best cells, bits", lambda p: p.best and p.best.leakage, cell_up
    ),
    CurveColumn("P₁", "privacy P₁ = 1/L₀", lambda p: p.equal.privacy_of_leakage, cell_down),
    CurveColumn("P₂", "privacy P₂ = 1/I⋆", lambda p: p.equal.privacy_of_information, cell_down),
    CurveColumn("dmin", "adversary's error dmin", lambda p: p.equal.smallest_error, cell_down),
    CurveColumn("≥", "dmin by Theorem II.2", lambda p: p.equal.smallest_error_bound, cell_down),
    CurveColumn("dmax", "adversary's error dmax", lambda p: p.equal.largest_error, cell_down),
    CurveColumn("≥", "dmax by Theorem II.1", lambda p: p.equal.largest_error_bound, cell_down),
    CurveColumn("person", "bits about one person", lambda p: p.equal.person_bits, cell_up),
    CurveColumn("printed", "as printed", lambda p: p.equal.person_bits_printed, cell_up),
)
LINE = (
    CurveColumn("error", "largest error allowed", lambda p: p.error, cell_exact),
    CurveColumn("ρ", "accuracy ρ = 1/error", lambda p: p.accuracy, cell_down),  # noqa: RUF001 - rho
    CurveColumn("ε kept", "ε of stretching", lambda p: p.stretch.epsilon, cell_down),
    CurveColumn("Priv", "Priv of stretching, bits", lambda p: p.stretch.privacy, cell_down),
    CurveColumn("μ(Δ)", "μ(Δ) of stretching", lambda p: p.stretch.deciding, lambda v: f"{v:,.6g}"),
    CurveColumn("deciding", "outputs that decide", lambda p: p.stretch.deciding_share, cell_share),
    CurveColumn("ε printed", "ε that blurring claims", lambda p: p.blur.claimed, cell_down),
    CurveColumn("ε blurred", "ε of blurring, by volume", lambda p: p.blur.epsilon, cell_down),
    CurveColumn("Priv blurred", "Priv of blurring, bits", lambda p: p.blur.privacy, cell_down),
)


def _of_records(names: Sequence[str]) -> tuple[CurveColumn, ...]:
    """Return the columns for records, among them the number of cells of each data column."""
    return (
        CurveColumn("bits", "bits a record", lambda p: p.budget, cell_exact),
        CurveColumn("outputs", "combinations", lambda p: p.largest.outputs, cell_count),
        CurveColumn("largest", "largest error", lambda p: p.largest.largest_error, cell_exact),
        *map(_of_column, names),
        CurveColumn("mean", "mean error", lambda p: p.largest.mean_error, cell_exact),
        CurveColumn(
            "least mean", "least mean error", lambda p: p.mean and p.mean.mean_error, cell_exact
        ),
    )


def _of_column(name: str) -> CurveColumn:
    return CurveColumn(name, f"cells of {name}", lambda p: p.largest.levels[name], cell_count)


TILES = {
    "query": ("cells", "I⋆", "L₀", "person"),
    "record": ("bits", "outputs", "largest", "mean"),
    "hypothesis": ("error", "ε kept", "Priv", "deciding"),
}
"""The signs of the columns shown at the top of the page."""
READING = {
    "query": "Further right is less useful. Above: what the release reveals about all data "
    "together, as the papers' privacy P and in bits. Below: what it reveals about one "
    "person, and the error of an adversary who reconstructs all data.",
    "record": "Further right is less private: a record may be released in more ways. Further down "
    "is more useful.",
    "hypothesis": "Further right is less useful. Higher on the left, and lower on the right, is "
    "more private.",
}
WIDE = 30
"""When values spread over more than this factor, the axis is logarithmic."""


@dataclass(frozen=True)
class _Curves:
    """What all panels of a picture share: the places of the points, and the one asked for."""

    x_label: str
    places: tuple[float, ...]
    chosen: tuple[tuple[str, float], ...]

    def panel(
        self, label: str, *curves: tuple[str, Sequence[float | None], int, Dash], x_log: bool = True
    ) -> Panel:
        """Return curves in one panel, without values that no axis holds."""
        known = [v for _, values, *_ in curves for v in values if v is not None and v != math.inf]
        positive = [value for value in known if value > 0]
        wide = bool(positive) and max(positive) > WIDE * min(positive)
        series = []
        for rank, (name, values, tone, dash) in enumerate(curves):
            finite = [
                (place, value)
                for place, value in zip(self.places, values, strict=True)
                if value is not None and value != math.inf and not (wide and value <= 0)
            ]
            x, y = tuple(at for at, _ in finite), tuple(value for _, value in finite)
            series.append(Series(name, x, y, dash=dash, tone=tone, width=1.8 if rank else 2.6))
        return Panel(
            self.x_label,
            label,
            tuple(one for one in series if one.x),
            x_log=x_log and min(self.places) > 0,
            y_log=wide,
            places=self.chosen,
            from_zero=not wide,
            size=(4.7, 3.6),
        )


def _query_panels(points: Sequence[QueryPoint], drawn: _Curves) -> tuple[Panel, ...]:
    equal, best = [point.equal for point in points], [point.best for point in points]
    of_best = [None if b is None else b.privacy_of_leakage for b in best]
    least = [None if b is None else b.leakage for b in best]
    return (
        drawn.panel(
            "privacy of the papers (1/bits)",
            ("P₂ = 1/I⋆", [f.privacy_of_information for f in equal], 0, "solid"),
            ("P₁ = 1/L₀, equal cells", [f.privacy_of_leakage for f in equal], 2, "solid"),
            ("P₁, cells of least leakage", of_best, 1, "dashed"),
        ),
        drawn.panel(
            "bits about all data together",
            ("leakage L₀, equal cells", [f.leakage for f in equal], 2, "solid"),
            ("L₀, cells of least leakage", least, 1, "dashed"),
            ("maximin information I⋆", [f.maximin_information for f in equal], 0, "solid"),
        ),
        drawn.panel(
            "bits about one person",
            ("corrected", [f.person_bits for f in equal], 0, "solid"),
            ("Theorem 8 as printed", [f.person_bits_printed for f in equal], 9, "dotted"),
        ),
        drawn.panel(
            "error of an adversary who reconstructs all data",
            ("dmax", [f.largest_error for f in equal], 5, "solid"),
            ("at least, by Theorem II.1", [f.largest_error_bound for f in equal], 5, "dotted"),
            ("dmin", [f.smallest_error for f in equal], 1, "solid"),
            ("at least, by Theorem II.2", [f.smallest_error_bound for f in equal], 1, "dotted"),
        ),
    )


def _line_panels(points: Sequence[LinePoint], drawn: _Curves) -> tuple[Panel, ...]:
    return (
        drawn.panel(
            "privacy against the hypothesis",
            ("ε kept by stretching", [p.stretch.epsilon for p in points], 0, "solid"),
            ("Priv of stretching (bits)", [p.stretch.privacy for p in points], 2, "solid"),
            ("ε that blurring claims; by volume 0", [p.blur.claimed for p in points], 9, "dotted"),
        ),
        drawn.panel(
            "outputs that decide it, μ(Δ) (%)",
            ("blurring, as printed", [100 * p.blur.deciding_share for p in points], 9, "dotted"),
            ("stretching", [100 * p.stretch.deciding_share for p in points], 0, "solid"),
        ),
    )


def _record_panels(points: Sequence[BitsPoint], drawn: _Curves) -> tuple[Panel, ...]:
    largest = [point.largest for point in points]
    least = [None if p.mean is None else float(p.mean.mean_error) for p in points]
    tones = (0, 2, 1, 5, 7, 4, 9)
    names = list(largest[0].errors)[: 2 * len(tones)]
    return (
        drawn.panel(
            "weighted error",
            ("largest error, made least", [float(s.largest_error) for s in largest], 1, "solid"),
            ("mean error of the same", [float(s.mean_error) for s in largest], 2, "solid"),
            ("mean error, made least", least, 0, "dashed"),
            x_log=False,
        ),
        drawn.panel(
            "error by column",
            *(
                (name, [float(s.errors[name]) for s in largest], tones[i % len(tones)], "solid")
                for i, name in enumerate(names)
            ),
            x_log=False,
        ),
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
    """Return round errors between two, both included, and around the chosen one."""
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
    """Leave out some of many places, evenly, and neither the first nor the last."""
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
    """Return the smallest number of bits at which no value is rounded, or 1,000,000."""
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
class Tradeoff(Readable):
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

    @property
    def headline(self) -> str:
        """The curve in one sentence."""
        return self._sentences[0]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        missed = sum(not _reached(point) for point in self.points)
        points = f"{missed} of {count_of(len(self.points), 'point')}"
        rough = f"At {points} less may be told than is shown: {ROUGH}."
        return (*self._sentences[1:], *((rough,) if missed else ()), *self.notes)

    @property
    def _sentences(self) -> tuple[str, ...]:
        point = self.chosen or self.points[len(self.points) // 2]
        if isinstance(point, QueryPoint):
            return query_sentences(self.specification, point)
        if isinstance(point, BitsPoint):
            every = [each for each in self.points if isinstance(each, BitsPoint)]
            return record_sentences(self.specification, point, every)
        return line_sentences(point)

    @property
    def columns(self) -> tuple[CurveColumn, ...]:
        """The columns of the table of the curve."""
        point = self.points[0]
        if isinstance(point, BitsPoint):
            return _of_records(list(point.largest.levels))
        return QUERY if isinstance(point, QueryPoint) else LINE

    def report(self) -> Report:
        """Return the curve in sections: what it says, its picture, and every point."""
        shown, chart = self.chosen or self.points[len(self.points) // 2], self._chart()
        first, *others = self.columns
        headings = tuple(Heading(column.name, "number", column.sign) for column in self.columns)
        rows: tuple[tuple[Cell | str, ...], ...] = tuple(
            (
                Cell(first.text(point), tag="asked" if point.chosen else ""),
                *(column.text(point) for column in others),
            )
            for point in self.points
        )
        unknown = "; ".join(self._unknown())
        why = (f"A dash (–) means that the number is not known: {unknown}.",) if unknown else ()  # noqa: RUF001 - a dash
        return Report(
            self.title,
            self.headline,
            tuple(
                Tile(column.text(shown), column.name)
                for column in self.columns
                if column.sign in TILES[self.kind]
            ),
            (
                Section("What the curve says", points=self.sentences),
                Section("Privacy against utility", chart=chart, page_only=True),
                Section("The numbers", why, table=Grid(headings, rows, steps=True)),
            ),
            "Leakages are exact or upper bounds; errors of an adversary are exact or lower bounds. "
            "The bold line is the point that the design asks for.",
        )

    def csv(self) -> str:
        """Return the points as comma-separated values, empty for unknown or infinite ones."""
        rows = (
            [
                *(plain_values(column.value(point)) for column in self.columns),
                "yes" if point.chosen else "no",
            ]
            for point in self.points
        )
        return csv_text([[*(column.name for column in self.columns), "asked for"], *rows])

    def _chart(self) -> Chart:
        points, reading = self.points, READING[self.kind]
        at = [p.budget if isinstance(p, BitsPoint) else p.error for p in points]
        chosen = [("asked for", float(a)) for a, p in zip(at, points, strict=True) if p.chosen]
        label = {
            "query": "largest error of the release (Q = 1/error)",
            "record": "bits a record",
            "hypothesis": "largest error of the release (1/ρ)",  # noqa: RUF001 - rho
        }[self.kind]
        drawn = _Curves(label, tuple(map(float, at)), tuple(chosen))
        panels = {"query": _query_panels, "record": _record_panels, "hypothesis": _line_panels}
        return Chart("", panels[self.kind](points, drawn), reading=reading)  # type: ignore[operator]  # of this kind

    def _unknown(self) -> list[str]:
        """Return why some numbers are not known, each reason once."""
        reasons: dict[str, None] = {}
        for point in self.points:
            every = [] if isinstance(point, LinePoint) else [point.reasons]
            if isinstance(point, QueryPoint):
                every.append(point.equal.reasons)
            for listed in every:
                reasons |= {why: None for why in listed.values() if not why.startswith("infinite")}
        return list(reasons)

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


def tradeoff(
    spec: DesignFile,
    *,
    errors: Errors | None = None,
    gap: PythonOnly[float] = 1e-4,
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
        spec: The design specification: a TOML file, see docs/commands.md. In Python, also its
            content, or a specification that was read before.
        errors: The errors to evaluate; default: a range that suits the design. In Python, a list of
            them, or text such as "0.1:10" or "0.1:10:20".
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
