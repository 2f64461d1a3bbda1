"""Several queries that are released together: the columns of their policy, and words about them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.exact import floor_power
from hartley.numerals import exactly_or_up
from hartley.policies.kinds import QuantizedColumn
from hartley.policies.quantizers.vector import CellBounds, VectorQuantizer, cells_needed
from hartley.ranges.boxes.expression import variables
from hartley.ranges.boxes.zonotope import Zonotope
from hartley.studies.drafting import MOST_CELLS, answer_name, answered
from hartley.wording import bits_up, counted, exactly, listed, noun_for

if TYPE_CHECKING:
    from hartley.guarantees.certificate import Certificate
    from hartley.policies.column import ColumnPolicy
    from hartley.ranges.boxes.expression import Expression
    from hartley.studies.specification import Specification


def draft_together(wanted: Specification) -> tuple[ColumnPolicy, ...]:
    """Return one column a query, in the cells of the grid that serves an objective best.

    Example:
        >>> from hartley.studies.specification import Specification
        >>> wanted = Specification.read({
        ...     "objective": "bits", "bits": 3, "query": ["mean(a)", "mean(b)"], "people": 10,
        ...     "columns": {"a": {"range": [0, 1]}, "b": {"range": [0, 1]}},
        ... })
        >>> [column.levels for column in draft_together(wanted)]
        [10, 30]
    """
    grid = grid_of(wanted)
    if max(grid.levels) > MOST_CELLS:
        limit = "error" if wanted.objective == "maximin" else "budget"
        raise OptionError(
            f"This {limit} takes {max(grid.levels):,} cells, more than can be told apart exactly",
            hint="allow a larger error" if limit == "error" else "give fewer bits",
        )
    return tuple(
        QuantizedColumn(answer_name(part), cells, answered(part))
        for part, cells in zip(_named(wanted.parts), grid.parts, strict=True)
    )


def grid_of(wanted: Specification) -> VectorQuantizer:
    """Return the grid of the fewest cells within an error, or of the least error in a budget."""
    ranges = [part.answer_range for part in wanted.parts]
    if wanted.objective == "maximin":
        return VectorQuantizer.for_error(ranges=ranges, error=_errors(wanted), norm=wanted.norm)
    assert wanted.bits is not None  # the objective needs it
    return VectorQuantizer.for_outputs(
        floor_power(wanted.bits),
        ranges=ranges,
        sensitivities=[part.reach for part in wanted.parts],
        norm=wanted.norm,
        weights=[wanted.weights.get(str(part.query), 1) for part in wanted.parts],
    )


def _errors(wanted: Specification) -> object:
    """Return the error of all queries, or of each its own."""
    return [part.error for part in wanted.parts] if wanted.error is None else wanted.error


def _named(parts: tuple[Specification, ...]) -> list[Specification]:
    """Give answers of one name names of their own."""
    names = [answer_name(part).lower() for part in parts]
    renamed = []
    for place, part in enumerate(parts, 1):
        if names.count(answer_name(part).lower()) == 1 or part.name is not None:
            renamed.append(part)
        elif part.aggregate is not None:
            name = f"{part.aggregate.function}_{part.aggregate.column}"
            renamed.append(replace(part, name=name))
        else:
            renamed.append(replace(part, name=f"{answer_name(part)}_{place}"))
    return renamed


# --- words ----------------------------------------------------------------------------------------


def queries_text(wanted: Specification) -> str:
    """Return the queries as they stand in a sentence."""
    return listed(str(part.query) for part in wanted.parts)


def headline_together(wanted: Specification, certificate: Certificate) -> str:
    """Return a design of several queries in one sentence."""
    grid = grid_of(wanted)
    shape = " × ".join(f"{levels:,}" for levels in grid.levels)  # noqa: RUF001 - a product
    whom = "any one person" if wanted.parts[0].aggregate is not None else "the person"
    return (
        f"{queries_text(wanted)} are released together in {counted(grid.outputs, 'cell')} "
        f"({shape}), never more than {_furthest(wanted, grid)} from the truth: at most "
        f"{bits_up(certificate.value)} about {whom}."
    )


def _furthest(wanted: Specification, grid: VectorQuantizer) -> str:
    if wanted.norm == "euclidean":
        return f"{exactly_or_up(grid.error)} in Euclidean distance"
    errors = [exactly_or_up(part.error) for part in grid.parts]
    return errors[0] if len(set(errors)) == 1 else f"{listed(errors)}, respectively,"


def sentences_together(wanted: Specification, certificate: Certificate) -> list[str]:
    """Say in which sense nothing better exists."""
    grid = grid_of(wanted)
    if wanted.objective == "maximin":
        return [_fewest(wanted, grid)]
    assert wanted.bits is not None  # the objective needs it
    if not certificate.sound:
        return []
    asked = f"{exactly(wanted.bits)} {noun_for(wanted.bits, 'bit')} were asked for"
    error = "Euclidean error" if wanted.norm == "euclidean" else "largest error"
    weighted = f"weighted {error}" if wanted.weights else error
    if not _move_apart(wanted):
        shared = "shared as if the answers moved independently, which is more than they do"
        return [f"{asked}, {shared}."]
    return [f"{asked}, and no other numbers of equal cells have a smaller {weighted}."]


def _fewest(wanted: Specification, grid: VectorQuantizer) -> str:
    """Say how many cells are needed within an error, as far as that is known."""
    bounds = _bounds(wanted, grid)
    if wanted.error is None:
        own = (f"{exactly(part.error)} for {part.query}" for part in wanted.parts if part.error)
        within = f"within {listed(own)}"
    else:
        how = "in Euclidean distance" if wanted.norm == "euclidean" else "in every answer"
        within = f"within {exactly(wanted.error)} {how}"
    if bounds.is_fewest and bounds.at_most == grid.outputs:
        return f"No release {within} has fewer cells."
    needed = f"any release {within} has {bounds.at_least:,} or more"
    if bounds.at_most < grid.outputs:
        return (
            f"Of the {counted(grid.outputs, 'cell')} {bounds.at_most:,} can hold an answer, and "
            f"{needed}."
        )
    if wanted.norm == "euclidean":
        shapes = f"cells of other shapes are {bounds.at_least:,} or more"
        return f"No grid of equal cells {within} has fewer cells; {shapes}."
    return f"This release has {counted(grid.outputs, 'cell')}, and {needed}."


def _bounds(wanted: Specification, grid: VectorQuantizer) -> CellBounds:
    """Return how few cells are possible; of queries that are not linear a wide bracket."""
    queries, box = [_over_columns(part) for part in wanted.parts], wanted.box
    if all(query.linear() is not None for query in queries):
        return cells_needed(Zonotope.of(queries, box), _errors(wanted), norm=wanted.norm)
    alone = [
        VectorQuantizer.for_error(ranges=[part.answer_range], error=part.error).outputs
        for part in wanted.parts
        if part.range_is_exact
    ]
    return CellBounds(max(alone, default=1), grid.outputs)


def _over_columns(part: Specification) -> Expression:
    """Return a query over the columns; of a mean or total over the mean of its column."""
    if part.expression is not None:
        return part.expression
    assert part.aggregate is not None  # one of both
    (column,) = variables(part.aggregate.column)
    return column if part.aggregate.function == "mean" else (part.people or 1) * column


def _move_apart(wanted: Specification) -> bool:
    """Tell whether no two queries read one column, so that each moves whatever the others do."""
    read = [name for part in wanted.parts for name in _over_columns(part).names]
    return len(read) == len(set(read))
