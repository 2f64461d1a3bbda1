"""A box cut into cells by a quantized query: the continuous relation of a secret to a release."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from hartley.boxes.box import Interval
from hartley.boxes.enclosure import expression_text, range_bounds
from hartley.boxes.expression import as_expression
from hartley.boxes.volumes import Volume, most_boxes, volume
from hartley.errors import OptionError, UndefinedMeasure
from hartley.exact import parse_number
from hartley.ranges.joint_range import Size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from fractions import Fraction

    from hartley.boxes.box import Box
    from hartley.boxes.expression import Expression

Part = TypeVar("Part")
Measure = TypeVar("Measure")

RANGE_GAP = 1e-9
FEW_VARIABLES = 4
"""Up to so many variables every cell is measured as closely as a volume alone."""
BOXES_IN_ALL = 600_000
"""Of more variables all cells share so many boxes, which takes less than a minute."""
_REPORT: ContextVar[Callable[[float], None] | None] = ContextVar("report", default=None)


@contextmanager
def volumes_reported(report: Callable[[float], None] | None) -> Iterator[None]:
    """Report which share of the cells of a box is measured, while this lasts.

    Volumes are computed on first use, deep in a certificate, so that the function to call is not
    passed through everything above.

    Example:
        >>> from hartley.boxes.box import Box
        >>> cut = CutBox(Box.cube(0, 1, size=2), "x1*x2", [0, "1/2", 1])
        >>> with volumes_reported(lambda share: print(f"{share:.0%}")):
        ...     _ = cut.smallest
        50%
        100%
    """
    token = _REPORT.set(report)
    try:
        yield
    finally:
        _REPORT.reset(token)


def measured_one_by_one(parts: Sequence[Part], measure: Callable[[Part], Measure]) -> list[Measure]:
    """Return the measures of some parts, and report how many are done (``volumes_reported``)."""
    report, measures = _REPORT.get(), []
    for done, part in enumerate(parts, 1):
        measures.append(measure(part))
        if report is not None:
            report(done / len(parts))
    return measures


def boxes_each(sides: int, cells: int) -> int | None:
    """Return how many boxes a cell may take; None where a volume alone would take no fewer."""
    share = BOXES_IN_ALL // max(1, cells)
    return share if sides > FEW_VARIABLES and share < most_boxes(sides) else None


@dataclass(frozen=True)
class CutBox:
    """The relation of X in a box to the cell in which a query about X lies.

    The secret is any point of the box, the released value the cell of the query: [e_k, e_(k+1)),
    and the last one closed. A released value's conditional range is the part of the box that the
    query sends into that cell. Volumes are computed on first use; where the wished gap is missed,
    as from five or six variables on, their ``reached`` is False, and what measures make of
    ``smallest`` and ``largest`` is a bound that may be far from the truth. Cells that the
    query never reaches are no outputs; where that cannot be decided, they count as outputs.

    Args:
        box: what could be true.
        query: an expression, its text, or a Python function of the box's variables.
        edges: the edges of the cells in order, covering the query's range.
        gap: how far apart the bounds of a volume may be, as a part of it.

    Example:
        >>> from hartley.boxes.box import Box
        >>> cut = CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, -1, 0, 1, 2])
        >>> [str(part.low) for part in cut.volumes], str(cut.total)
        (['2', '6', '6', '2'], '16')
    """

    box: Box
    query: Expression
    edges: tuple[Fraction, ...]
    gap: float = 1e-6
    query_range: Interval = field(init=False, compare=False)
    """An interval that holds every value of the query; exact where it can be."""

    def __post_init__(self) -> None:
        edges = tuple(parse_number(edge, name="an edge") for edge in self.edges)
        if len(edges) < 2 or any(b <= a for a, b in pairwise(edges)):
            raise OptionError(
                "The edges of the cells do not increase", hint="give at least two, in order"
            )
        if self.box.volume == 0:
            raise OptionError(
                f"A side of the box {self.box} has zero length",
                hint="leave out variables whose value is known",
            )
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "query", as_expression(self.query, self.box.names))
        reached, attained = range_bounds(self.query, self.box, gap=RANGE_GAP)
        object.__setattr__(self, "query_range", reached)
        if attained.low < edges[0] or attained.high > edges[-1]:
            raise OptionError(
                f"The edges from {edges[0]} to {edges[-1]} do not cover the range of the query "
                f"'{expression_text(self.query)}'",
                hint=f"the query reaches {float(attained.low):.6g} and {float(attained.high):.6g}",
            )

    @property
    def total(self) -> Fraction:
        """The volume of the box."""
        return self.box.volume

    @cached_property  # every volume asks for one of them
    def cells(self) -> tuple[Interval, ...]:
        """All cells, reached or not."""
        last = len(self.edges) - 2
        return tuple(
            Interval(self.edges[k], self.edges[k + 1], high_closed=k == last)
            for k in range(last + 1)
        )

    @cached_property  # asked for by every measure
    def outputs(self) -> tuple[int, ...]:
        """The numbers of the cells that the query reaches, or may."""
        return tuple(k for k, cell in enumerate(self.cells) if cell.intersect(self.query_range))

    @cached_property  # seconds to minutes, as its extremes
    def volumes(self) -> tuple[Volume, ...]:
        """The volume of every output, in the order of the outputs."""
        return tuple(self._measured(self.outputs))

    @cached_property
    def smallest(self) -> Volume:
        """Bounds on the volume of the smallest output."""
        return self._extreme(min)

    @cached_property
    def largest(self) -> Volume:
        """Bounds on the volume of the largest output."""
        return self._extreme(max)

    def _extreme(self, chosen: Callable[[list[Fraction]], Fraction]) -> Volume:
        """Return the smallest (min) or the largest (max) volume of an output."""
        volumes = self._measured(self._candidates(smallest=chosen is min))
        low, high = chosen([v.low for v in volumes]), chosen([v.high for v in volumes])
        return Volume.between(low, high, gap=self.gap, whole=self.total)

    def _measured(self, cells: tuple[int, ...]) -> list[Volume]:
        """Return the volumes of some cells, and report how many are done."""
        return measured_one_by_one(cells, self.volume_of)

    @cached_property
    def _most_boxes(self) -> int | None:
        return boxes_each(len(self.query.names), len(self.outputs))

    def volume_of(self, k: int) -> Volume:
        """Return bounds on the volume of one cell, by its number."""
        if "volumes" in self.__dict__:
            return self.volumes[self.outputs.index(k)]
        cell = self.cells[k]
        # The ends lie beyond the range, so that no rounding is spent on them.
        low = min(cell.low, self.query_range.low) - 1 if k == 0 else cell.low
        last = k == len(self.edges) - 2
        high = max(cell.high, self.query_range.high) + 1 if last else cell.high
        interval = Interval(low, high, high_closed=last)
        return volume(self.box, self.query, interval, gap=self.gap, most=self._most_boxes)

    def _candidates(self, *, smallest: bool) -> tuple[int, ...]:
        """Return the outputs among which the smallest or the largest is.

        The law of a linear query is symmetric and falls from the middle, so of cells of one
        length the outermost holds least and the innermost most.
        """
        if self.query.linear() is None or "volumes" in self.__dict__:
            return self.outputs
        best: dict[Fraction, tuple[Fraction, int]] = {}
        for k in self.outputs:
            part = self.cells[k].intersect(self.query_range)
            assert part is not None  # an output meets the range
            off = abs(part.middle - self.query_range.middle) * (-1 if smallest else 1)
            best[part.length] = min(best.get(part.length, (off, k)), (off, k))
        return tuple(k for _, k in best.values())

    # --- what measures ask of a range -----------------------------------------------------------

    @property
    def secret_size(self) -> Size:
        """The volume of the box."""
        return Size.of(self.total)

    @property
    def largest_conditional(self) -> Size:
        """Bounds on the volume of the largest output."""
        return self.largest

    @property
    def smallest_conditional(self) -> Size:
        """Bounds on the volume of the smallest output."""
        return self.smallest

    @property
    def released_count(self) -> int:
        """How many outputs there are, or may be."""
        return len(self.outputs)

    @property
    def overlap_classes(self) -> int:
        """The number of outputs: the cells of a function are disjoint, each a class of its own."""
        return len(self.outputs)

    @property
    def pair_size(self) -> Size:
        """Refuse: the joint range of a continuous and a discrete side has no volume."""
        raise UndefinedMeasure(
            f"The information transmission from a box to {len(self.cells)} cells is undefined, "
            "since pairs of a continuous and a discrete value have no volume",
            hint="use nonstochastic_leakage or maximin_information",
        )

    @property
    def summary(self) -> Any:  # noqa: ANN401 - never returns
        """Refuse measures that count the values of the secret."""
        raise UndefinedMeasure(
            "This measure counts the values of the secret, but a box has uncountably many",
            hint="use a measure of volumes, such as nonstochastic_leakage",
        )
