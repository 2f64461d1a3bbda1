"""Design the best release: from what is wanted to a policy and its certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.boxes.cut_box import FEW_VARIABLES, volumes_reported
from hartley.boxes.expression import Expression
from hartley.boxes.intervals import enclose
from hartley.guarantees.verify import certify
from hartley.policies.document import PolicyDocument
from hartley.policies.hypotheses.open_records import OpenRecords
from hartley.policies.quantizer import levels_for_error
from hartley.report import (
    Cell,
    Chart,
    Grid,
    Groups,
    Heading,
    Heat,
    Panel,
    Readable,
    Report,
    Ruler,
    Section,
    Series,
    Tile,
)
from hartley.studies.release.drafting import (
    draft,
    draft_together,
    headline_together,
    queries_text,
    sentences_together,
)
from hartley.studies.release.specification import Specification
from hartley.studies.release.tradeoff import MISSING_COUNTS
from hartley.text import (
    bits_up,
    conjugate,
    count_of,
    exactly,
    exactly_or_up,
    listed,
    number,
    plural,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hartley.boxes.box import Box
    from hartley.guarantees.promise import Certificate
    from hartley.inputs import DesignFile, Progress
    from hartley.policies.column import ColumnPolicy
    from hartley.policies.quantizer import Quantizer


# --- design ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Design(Readable):
    """A policy that serves an objective best, what it promises, and why, in plain sentences."""

    specification: Specification
    document: PolicyDocument
    certificate: Certificate
    """What the finished policy promises; recomputed from it."""

    @property
    def title(self) -> str:
        """What was designed, in a few words."""
        wanted = self.specification
        return wanted.title or f"Design of a release of {_what(wanted)}"

    @property
    def headline(self) -> str:
        """The design in one sentence."""
        wanted, columns = self.specification, self.document.columns
        if wanted.objective == "hypothesis":
            return self._line_headline
        if wanted.parts:
            return headline_together(wanted, self.certificate)
        bits = bits_up(self.certificate.value)
        if wanted.query is None:
            return (
                f"A record is released as one of {_outputs(columns):,} combinations of "
                f"{listed(wanted.columns)}: at most {bits} about its person."
            )
        (column,) = columns
        assert column.cells is not None  # what a query is quantized by
        cells = count_of(column.cells.levels, "cell")
        accuracy = (
            f"{wanted.query} is released in {cells}, never more than "
            f"{exactly_or_up(column.cells.error)} from the truth"
        )
        if wanted.objective == "indistinguishability":
            return (
                f"{accuracy}: what tells one value of a person from another is at most {bits}, to "
                "somebody who knows nothing about the others."
            )
        return f"{accuracy}: at most {bits} about any one person."

    @property
    def _line_headline(self) -> str:
        wanted = self.specification
        hiding = [column for column in self.document.columns if not column.is_kept]
        every = [(name, column.error_of(name)) for column in hiding for name in column.columns]
        names = [name for name, error in every if error] or [name for name, _ in every]
        least = "at least " if wanted.also or (wanted.lattice and wanted.unstepped) else ""
        share = number(100 * _open_share(self.certificate), 4, round="down")
        whether = f"whether {wanted.hypothesis}"
        if wanted.also:
            whether = f"each of {listed([str(wanted.hypothesis), *wanted.also])}"
        return (
            f"{listed(names)} {conjugate(len(names), 'is')} moved by up to "
            f"{exactly(self._furthest)}, so that {least}{share} % of all possible records leave "
            f"open {whether}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        wanted = self.specification
        found = [column.sentence() for column in self.document.columns]
        found += _of_objective(wanted, self.document, self.certificate)
        if wanted.objective == "hypothesis" and not wanted.lattice:
            found.append(NO_STEP)
        told = ("estimation error", "reconstruction error", "success of a test")
        found += [one.sentence for one in self.certificate.consequences if one.name in told]
        missing = self.certificate.parameters.get("missing")
        if missing == "counted":
            found.append(MISSING_COUNTS)
        elif missing == "refused" and wanted.aggregate is None:
            found.append("The budget leaves no room for missing values: release it with --strict.")
        if not self.certificate.sound:
            found.append("This policy does not keep what was asked for; do not rely on it.")
        return tuple(found)

    @property
    def _furthest(self) -> Fraction:
        """The furthest that a value is moved near a line."""
        moved = (column.error for column in self.document.stepped.values())
        wanted = self.specification.error
        assert wanted is not None  # the objective needs it
        return max((error for error in moved if error is not None), default=wanted)

    @property
    def figures(self) -> tuple[tuple[str, str], ...]:
        """The few numbers that a reader looks for first, and what they are."""
        wanted, promised = self.specification, self.certificate
        if wanted.objective == "hypothesis":
            assert wanted.error is not None  # the objective needs it
            return (
                (number(promised.value, 4, round="down"), "bits of privacy against the hypothesis"),
                (
                    f"{number(100 * _open_share(promised), 4, round='down')} %",
                    "of all records leave it open",
                ),
                (exactly(self._furthest), "furthest that a value is moved"),
            )
        about_table = wanted.aggregate is not None or bool(self.document.aggregates)
        told = "about any one person" if about_table else "about the person"
        asks = wanted.query is not None or bool(wanted.parts)
        if wanted.objective == "indistinguishability":
            told = "to tell two values of a person apart"
        outputs = _outputs(self.document.columns)
        amount, unit = bits_up(promised.value).split(" ", 1)
        found = [
            (amount, f"{unit} {told} at most"),
            (f"{outputs:,}", "cells" if asks else "different releases"),
        ]
        errors = {column.name: column.error for column in self.document.columns}
        for name, error in errors.items() if len(errors) <= 2 else ():
            if error is not None:
                found.append((exactly_or_up(error), f"largest error of {name}"))
        if wanted.people is not None:
            found.append((f"{wanted.people:,}", "people"))
        return tuple(found)

    def report(self) -> Report:
        """Return the design in sections: what is released, its picture, what is promised."""
        return Report(
            self.title,
            self.headline,
            tuple(
                Tile(number, what, warn=not self.certificate.sound and not place)
                for place, (number, what) in enumerate(self.figures)
            ),
            tuple(self._sections()),
            "The certificate is computed from the finished policy, independently of the search "
            "that found it. Promised numbers are rounded so that the promise stays true.",
        )

    def _sections(self) -> Iterator[Section]:
        wanted, promised = self.specification, self.certificate
        if not promised.sound:
            unsound = (
                "It does not give the protection that was asked for. It is shown for comparison."
            )
            yield Section("Do not rely on this policy", (unsound,), page_only=True, warning=True)
        yield Section("What is released", points=self.sentences)
        drawn = _drawn(wanted, self.document)
        panels = tuple(part for part in drawn if isinstance(part, Panel))
        if panels:
            chart = Chart("", panels, across=1)
            yield Section(
                "The band" if wanted.hypothesis else "The cells", chart=chart, page_only=True
            )
        groups = tuple(_group_text(part) for part in drawn if isinstance(part, Groups))
        if groups:
            yield Section("The groups", points=groups, page_only=True)
        number = "exact" if promised.certainty == "exact" else "a bound"
        rule = "corrected" if promised.rule == "corrected" else "as printed"
        proof = f"The number is {number}, by {promised.theorem}, {rule}."
        yield Section("The certificate", points=(promised.claim, proof), page_only=True)
        if promised.assumptions:
            yield Section("What it assumes", points=promised.assumptions, page_only=True)
        if promised.consequences:
            headings = Heading("consequence", "name"), Heading("what it means", "meaning")
            followed = tuple(
                (one.name.capitalize(), Cell(one.sentence, one.theorem))
                for one in promised.consequences
            )
            yield Section("What follows from it", table=Grid(headings, followed), page_only=True)
        policy = (
            "This is the file that hartley release reads. The certificate holds for exactly these "
            f"bytes.\n{self.document.to_toml()}"
        )
        yield Section("The policy file", (policy,), page_only=True)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the policy."""
        self.document.save(path)

    def write_certificate(self, path: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
        """Write the certificate of the policy in the file ``out``."""
        self.certificate.bind(out).save(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the design as plain values, ready for JSON; exact numbers become text."""
        return {
            "format": 1,
            "title": self.title,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "sound": self.certificate.sound,
            "columns": [
                {"name": column.name, "kind": column.kind} | column.to_fields()
                for column in self.document.columns
            ],
            "policy": self.document.to_toml(),
            "certificate": self.certificate.to_dict(),
        }


def design(
    spec: DesignFile,
    *,
    progress: Progress | None = None,
) -> Design:
    """Design the release that serves an objective best, and certify it.

    The objective "maximin" has the fewest cells within an error (Farokhi 2019, Theorems IV.2 and
    IV.3, corrected), or one more where the range of a query is not known exactly; "leakage" the
    largest smallest cell (Theorem IV.3), "bits" the least error within a budget about one person
    (Farokhi 2019, Noiseless Privacy, Theorem 8, corrected; of records Definition 2),
    "indistinguishability" the most cells of a linear query of which at most 2^bits tell one value
    of a person from another (Farokhi 2021, Theorem 5, sharp), "hypothesis" hides on which side of
    a line a value lies (Farokhi 2021, Theorem 4, corrected; of columns with a step the most open
    records that any policy within the error leaves). Several queries, given as a list, are
    released in the cells of one grid. The certificate is recomputed from the finished policy, so
    it is exact or a bound as it says, whatever the search was. Cost: that of the search and of the
    volumes of the cells.

    Args:
        spec: The design specification: a TOML file, see docs/commands.md. In Python, also its
            content, or a specification that was read before.
        progress: called with "measure" and the share of the cells whose volumes are computed; for
            the least leakage first with "search" and the share of the places for their edges.

    Example:
        >>> found = design({
        ...     "objective": "maximin", "query": "mean(height)", "error": "0.5", "people": 5000,
        ...     "columns": {"height": {"range": [100, 250]}},
        ... })
        >>> found.document.columns[0].quantizer.levels, found.certificate.value
        (150, 1.0)
        >>> print(found.headline)  # doctest: +ELLIPSIS
        mean(height) is released in 150 cells, never more than 0.5 from the truth: at most 1 bit ...
    """
    wanted = Specification.of(spec)
    with volumes_reported(None if progress is None else partial(progress, "search")):
        columns = draft_together(wanted) if wanted.parts else draft(wanted)
    document = PolicyDocument(columns, title=wanted.title, design=_record(wanted))
    with volumes_reported(None if progress is None else partial(progress, "measure")):
        return Design(wanted, document, certify(document))


# --- pictures -------------------------------------------------------------------------------------

GRID = 240
"""Points along a side at which a query or a line is drawn."""


def _drawn(wanted: Specification, document: PolicyDocument) -> tuple[Panel | Groups, ...]:
    """Return what there is to draw: cells along a line or in a plane, a band, groups."""
    if wanted.hypothesis is not None:
        return () if wanted.threshold is None else _band(wanted, document)
    asked = wanted.parts or (wanted,) * len(document.columns)
    found: list[Panel | Groups] = []
    for column, part in zip(document.columns, asked, strict=True):
        picture = column.picture(float(part.reach) if part.aggregate is not None else None)
        found += _rulers(picture) if isinstance(picture, Ruler) else [picture] if picture else []
        has_plane = wanted.expression is not None and len(wanted.expression.names) == 2
        if has_plane and column.cells is not None and column.cells.levels <= 60:
            found.insert(0, _plane(wanted, column.cells))
    return tuple(found)


def _rulers(ruler: Ruler) -> list[Panel]:
    """Return the cells as a strip; and those around one edge, with the reach of one person."""
    cells = count_of(ruler.levels, "cell")
    strip = Panel(f"{ruler.name}: {cells}", "", ruler=replace(ruler, reach=None), size=(7.2, 1.5))
    if ruler.reach is None or ruler.levels == 1:
        return [strip]
    view = 1.3 * max(ruler.reach, 3 * ruler.width)
    edges = ruler.edges
    middle = edges[len(edges) // 2] if edges else (ruler.low + ruler.high) / 2
    low, high = max(middle - view / 2, ruler.low), min(middle + view / 2, ruler.high)
    near = tuple(edge for edge in edges if low <= edge <= high)
    moved = f"one person moves it by {ruler.reach:.3g}, a cell is {ruler.width:.3g} wide"
    around = replace(ruler, low=low, high=high, edges=near)
    return [strip, Panel(ruler.name, "", title=f"enlarged: {moved}", ruler=around, size=(7.2, 1.5))]


def _plane(wanted: Specification, cells: Quantizer) -> Panel:
    """Return the cells of a query in the plane of its two columns."""
    assert wanted.expression is not None  # checked by the caller
    first, second = wanted.expression.names
    ends = (*_ends(wanted.box, first), *_ends(wanted.box, second))
    x_values, y_values = np.linspace(*ends[:2], GRID), np.linspace(*ends[2:], GRID)
    across, up = (grid.ravel() for grid in np.meshgrid(x_values, y_values))
    values = _at(wanted.expression, {first: across, second: up}).reshape(GRID, GRID)
    heat = Heat("", tuple(map(tuple, values.tolist())), *ends, edges=tuple(map(float, cells.edges)))
    title = "all records of one shade give the same release"
    return Panel(first, second, heat=heat, title=title, size=(7.2, 4.4))


def _band(wanted: Specification, document: PolicyDocument) -> tuple[Panel, ...]:
    """Return a line over one column, and how far around it another column is hidden."""
    threshold, error = wanted.threshold, wanted.error
    assert threshold is not None  # a design about a hypothesis has both
    assert error is not None
    names = threshold.line.names
    if not names:
        return ()
    at = np.linspace(*_ends(wanted.box, names[0]), GRID)
    others = {name: np.full(GRID, float(wanted.box[name].middle)) for name in names[1:]}
    line = _at(threshold.line, {names[0]: at} | others)
    low, high = _ends(wanted.box, threshold.column)
    opened = [one for column in document.stepped.values() for one in column.all_left_open()]
    apart = [one.distance_to_partner[0] for one in opened if one.distance_to_partner]
    reach = float(max(apart, default=error))
    note = " and ".join(f"{name} = {values[0]:g}" for name, values in others.items())
    crossed = (line >= low) & (line <= high)
    x, y = tuple(at[crossed].tolist()), tuple(line[crossed].tolist())
    blurred = wanted.policy == "blur"
    series = (
        Series(
            "collapses onto the line" if blurred else "does not show on which side",
            x,
            y,
            "band",
            low=tuple(max(value - reach, low) for value in y),
            high=tuple(min(value + reach, high) for value in y),
            tone=1 if blurred else 0,
        ),
        Series("the line", x, y, tone=5),
    )
    across = names[0] + (f" ({note})" if note else "")
    return (Panel(across, threshold.column, series, size=(7.2, 4.4)),)


def _group_text(groups: Groups) -> str:
    """Return the labels of groups, each with its members if they are several."""
    shown = (
        label
        if len(members) == 1 or ", ".join(members) == label
        else f"{label} ({', '.join(members)})"
        for label, members in groups.groups
    )
    return f"{groups.name}: {'; '.join(shown)}"


def _ends(box: Box, name: str) -> tuple[float, float]:
    return float(box[name].low), float(box[name].high)


def _at(expression: Expression, points: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return a query at many points, to draw it: accurate to many digits, but not certified."""
    low, high = enclose(expression, {name: (at, at) for name, at in points.items()})
    size = next(iter(points.values())).size
    return np.broadcast_to((low + high) / 2, size)


# --- what it says ---------------------------------------------------------------------------------


NO_STEP = (
    "No step is declared, so that every number counts as possible. Recorded values have a step: "
    "declare it (step = ...) for every column, or a step to round to, and the release is designed "
    "for the values that there are, which leaves more records open."
)
"""What a design about a hypothesis says where its columns have no step."""


def _record(wanted: Specification) -> dict[str, Any]:
    """Return what a policy file says about what it was designed for."""
    plain = {
        "objective": wanted.objective,
        "query": wanted.query,
        "hypothesis": [wanted.hypothesis, *wanted.also] if wanted.also else wanted.hypothesis,
        "possible": wanted.possible,
        "people": wanted.people,
        "error": wanted.error,
        "bits": wanted.bits,
        "sensitivity": wanted.sensitivity,
    }
    found: dict[str, Any] = {
        name: value if isinstance(value, (str, int, list)) else _written(value)
        for name, value in plain.items()
        if value is not None
    }
    if wanted.parts:
        found |= {"query": [str(part.query) for part in wanted.parts], "norm": wanted.norm}
    if wanted.parts and wanted.objective == "maximin" and wanted.error is None:
        found["error"] = [_written(part.error) for part in wanted.parts if part.error is not None]
    if wanted.weights:
        found["weights"] = {name: _written(weight) for name, weight in wanted.weights.items()}
    ranges = {
        name: [_written(column.range.low), _written(column.range.high)]
        for name, column in wanted.columns.items()
        if column.range is not None
    }
    return found | ({"columns": ranges} if ranges else {})


def _written(number: Fraction) -> str:
    """Write an exact number as a decimal where that is exact and short, else as a fraction."""
    return exactly(number).replace(",", "")


# --- words ----------------------------------------------------------------------------------------


def _what(wanted: Specification) -> str:
    if wanted.hypothesis is not None:
        hypotheses = listed([wanted.hypothesis, *wanted.also], joint="or")
        return f"{listed(wanted.columns)} that hides whether {hypotheses}"
    if wanted.parts:
        return queries_text(wanted)
    return wanted.query or f"records of {listed(wanted.columns)}"


def _of_objective(
    wanted: Specification, document: PolicyDocument, certificate: Certificate
) -> list[str]:
    """Say in which sense nothing better exists."""
    if wanted.parts:
        return sentences_together(wanted, certificate)
    if wanted.objective == "maximin" and wanted.error is not None:
        return [_fewest(wanted, wanted.error)]
    if wanted.objective == "leakage" and wanted.error is not None:
        return [_largest_smallest(wanted.error, document)]
    if wanted.objective in ("bits", "indistinguishability") and wanted.bits is not None:
        return _of_budget(wanted, wanted.bits, certificate)
    if wanted.policy == "meet" and wanted.objective == "hypothesis":
        return _most_open(wanted, document)
    return []


def _largest_smallest(error: Fraction, document: PolicyDocument) -> str:
    """Say in which sense no release has a larger smallest cell."""
    query = document.columns[0].query
    if (
        isinstance(query, Expression)
        and query.linear() is None
        and len(query.names) > FEW_VARIABLES
    ):
        return (
            "The edges were looked for where the volumes of so many variables are enclosed only "
            f"roughly: whether a release within {exactly(error)} has a larger smallest cell is not "
            "known."
        )
    grid = "up to the grid on which edges were looked for"
    return f"No release within {exactly(error)} has a larger smallest cell, {grid}."


def _of_budget(wanted: Specification, bits: Fraction, certificate: Certificate) -> list[str]:
    """Say that nothing within the budget has a smaller error."""
    asked = f"{exactly(bits)} {plural(bits, 'bit')} were asked for"
    if wanted.query is not None:
        return [f"{asked}; more equal cells would break them."] if certificate.sound else []
    unused = float(bits) - certificate.value
    return [
        f"{asked}, and no other numbers of levels have a smaller largest "
        + ("weighted error" if wanted.weights else "error")
        + (
            f"; {number(unused, 4, round='down')} bits are of no use to any column."
            if unused >= 0.01
            else "."
        )
    ]


def _most_open(wanted: Specification, document: PolicyDocument) -> list[str]:
    """Say that nothing within the error leaves more open, where that is so: reach by reach."""
    assert wanted.error is not None  # the objective needs it
    opened = [one for column in document.columns for one in column.all_left_open()]
    if any(one.most is None for one in opened):
        return []
    within = {"sup": "", "l1": " in all", "l2": " in Euclidean distance"}[wanted.move_norm]
    for one in opened:
        if one.most is not None and isinstance(one.counts, OpenRecords):
            if one.counts.open == one.most:
                continue
            sentence = (
                f"No release of values on the declared steps that moves {listed(wanted.moved)} by "
                f"at most {exactly(wanted.error)}{within} leaves more than {one.most:,} records "
                f"open; whether one leaves more open than the {one.counts.open:,} of this one is "
                "not known."
            )
            return [sentence]
    to = "" if wanted.known_within is None else " to somebody who knows so much"
    # Between the steps a norm may allow moves that no whole steps make up.
    on_steps = within or _half_steps_help(wanted, wanted.error)
    values = " of values on the declared steps" if on_steps else ""
    moved = f"that moves {listed(wanted.moved)} by at most {exactly(wanted.error)}{within}"
    return [f"No release{values} {moved} leaves more records open{to}."]


def _half_steps_help(wanted: Specification, error: Fraction) -> bool:
    """Return whether releases between the steps could join records that lie further apart.

    Two records meet halfway, so half steps join records floor(2 error / step) steps apart, and
    whole steps those 2 floor(error / step) apart: x >= 5 within 1.5 has 4 and 7 meet at 5.5.
    """
    known = wanted.known_within or (None,)
    distances = known * len(wanted.moved) if len(known) == 1 else known
    for name, distance in zip(wanted.moved, distances, strict=True):
        step = wanted.lattice[name].step
        whole, half = 2 * math.floor(error / step), math.floor(2 * error / step)
        if half > whole and (distance is None or math.floor(distance / step) > whole):
            return True
    return False


def _fewest(wanted: Specification, error: Fraction) -> str:
    """Say how many cells are needed, as far as the range of the query is known.

    Answers that lie less than twice the error apart can share a cell, so what is needed follows
    from the length of the range; of many nonlinear queries that is known from either side only.
    """
    used = levels_for_error(wanted.answer_range.length, error)
    needed = used
    if wanted.expression is not None and not wanted.range_is_exact:
        needed = levels_for_error(wanted.known_range.inner.length, error)
    if needed == used:
        return f"No release within {exactly(error)} has fewer cells."
    between = "or" if used == needed + 1 else "to"
    return (
        f"Within {exactly(error)} the fewest cells are {needed:,} {between} {used:,}, as far as "
        f"the range of the query is known; this release has {used:,}."
    )


def _open_share(certificate: Certificate) -> float | Fraction:
    """Return which share of all records leaves a hypothesis open: counted, or 1 - 2^-bits."""
    counts = certificate.parameters
    if "open" in counts:
        return Fraction(counts["open"], counts["records"])
    return -math.expm1(-certificate.value * math.log(2))


def _outputs(columns: tuple[ColumnPolicy, ...]) -> int:
    return math.prod(column.levels for column in columns if column.levels is not None)
