"""The columns of the policy that serves a specification best."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from hartley.boxes.box import Box
from hartley.boxes.expression import mean, total, variables
from hartley.boxes.zonotope import Zonotope
from hartley.errors import OptionError
from hartley.exact import floor_power
from hartley.policies.categories import CategoryMerging, MergedColumn
from hartley.policies.column import KeptColumn
from hartley.policies.hypotheses.hiding_columns import LineColumn, MeetColumn
from hartley.policies.hypotheses.tables import hiding_policy
from hartley.policies.optimal import optimal_quantizer
from hartley.policies.quantized_column import CutColumn, QuantizedColumn, allocate_bits, in_cells
from hartley.policies.quantizer import UniformQuantizer, largest_share, levels_for_share
from hartley.policies.vector import CellBounds, VectorQuantizer, cells_needed
from hartley.text import bits_up, count_of, exactly, exactly_or_up, listed, plural

if TYPE_CHECKING:
    from hartley.boxes.expression import Expression
    from hartley.guarantees.promise import Certificate
    from hartley.policies.column import ColumnPolicy
    from hartley.policies.optimal import CutQuantizer
    from hartley.studies.release.fields import DeclaredColumn
    from hartley.studies.release.specification import Specification


# --- drafting -------------------------------------------------------------------------------------


MOST_CELLS = 2**48
"""So many cells of a range are told apart exactly."""
MOST_LISTED = 2**16
"""So many cells are listed in a policy one by one."""
MOST_PEOPLE = 10_000
"""Of so many people the shares of a mean's or a total's cells are known."""


def draft(wanted: Specification) -> tuple[ColumnPolicy, ...]:
    """Return the columns of the policy that serves an objective best."""
    if wanted.objective == "hypothesis":
        return _line_columns(wanted)
    if wanted.query is None:
        return _record_columns(wanted)
    if wanted.objective == "leakage":
        return (CutColumn.cut(answer_name(wanted), best_cells(wanted), answered(wanted)),)
    return (QuantizedColumn(answer_name(wanted), _equal_cells(wanted), answered(wanted)),)


# --- one query ------------------------------------------------------------------------------------


def answer_name(wanted: Specification) -> str:
    """Return the name of the released answer: a given one, the query's only column, or "answer"."""
    if wanted.name is not None:
        return wanted.name
    if wanted.aggregate is not None:
        return wanted.aggregate.column
    column = _own_column(wanted)
    return "answer" if column is None else column


def answered(wanted: Specification) -> str | None:
    """Return the query that a policy names; None where it releases the table's own column."""
    return None if _own_column(wanted) == answer_name(wanted) else wanted.query


def _own_column(wanted: Specification) -> str | None:
    expression = wanted.expression
    return str(expression) if expression is not None and expression.operation == "var" else None


def _equal_cells(wanted: Specification) -> UniformQuantizer:
    """Return the fewest cells within an error, or the most within a budget."""
    low, high = wanted.answer_range.low, wanted.answer_range.high
    if wanted.objective == "maximin":
        cells = UniformQuantizer.for_error(low=low, high=high, error=wanted.error)
    elif wanted.objective == "indistinguishability":
        levels = levels_for_share(_largest_share(wanted), wanted.bits, rule=wanted.rule)
        cells = UniformQuantizer(low, high, levels, wanted.rule)
    else:
        cells = UniformQuantizer.for_bits(
            low=low, high=high, sensitivity=wanted.reach, bits=wanted.bits, rule=wanted.rule
        )
    if cells.levels > MOST_CELLS:
        limit = "error" if wanted.objective == "maximin" else "budget"
        raise OptionError(
            f"This {limit} takes {cells.levels:,} cells, more than can be told apart exactly",
            hint="allow a larger error" if limit == "error" else "give fewer bits",
        )
    return cells


def _largest_share(wanted: Specification) -> Fraction:
    """Return which part of a linear query's range one person moves at most."""
    if wanted.aggregate is not None:
        return Fraction(1, wanted.people or 1)
    form = None if wanted.expression is None else wanted.expression.linear()
    assert form is not None  # checked when the design was read
    return largest_share([by * wanted.box[name].length for name, by in form[0].items()])


def people_box(wanted: Specification) -> tuple[Expression, Box]:
    """Return a query and the box of all that it depends on, one variable a person or column."""
    if wanted.aggregate is None:
        assert wanted.expression is not None  # a design with a query
        return wanted.expression, wanted.box
    if (wanted.people or 0) > MOST_PEOPLE:
        raise OptionError(
            f"The least leakage is looked for among up to {MOST_PEOPLE:,} people",
            hint='use objective = "maximin", or "bits", which take any number',
        )
    side = wanted.box[wanted.aggregate.column]
    box = Box.cube(side.low, side.high, size=wanted.people or 1)
    query = mean if wanted.aggregate.function == "mean" else total
    return query(variables(*box.names)), box


def best_cells(wanted: Specification) -> CutQuantizer:
    """Return the cells within an error whose smallest is largest, so that the leakage is least."""
    query, box = people_box(wanted)
    return optimal_quantizer(query, box, wanted.error, "leakage")


# --- records --------------------------------------------------------------------------------------


def _record_columns(wanted: Specification) -> tuple[ColumnPolicy, ...]:
    """Share a budget among the columns of a record; categories take theirs first."""
    merged = {name: _merged(c) for name, c in wanted.columns.items() if not c.is_numeric}
    assert wanted.bits is not None  # the objective needs it
    limit = floor_power(wanted.bits)
    taken = math.prod(column.levels for column in merged.values())
    if taken > limit:
        raise OptionError(
            f"The categories of {' and '.join(merged)} alone give {taken:,} outputs, more than the "
            f"{limit:,} that {exactly(wanted.bits)} bits allow",
            hint="merge some by groups or bits of their own, or give more bits",
        )
    numeric = {
        name: {"range": column.range, "step": column.step}
        for name, column in wanted.columns.items()
        if column.is_numeric
    }
    columns: dict[str, ColumnPolicy] = dict(merged)
    if numeric:
        rest = wanted.bits if taken == 1 else _bits_of(limit // taken)
        shared = allocate_bits(numeric, rest, weights=wanted.weights)
        for name in numeric:
            cells = shared.quantizer(name)
            if not cells.is_equal and cells.levels > MOST_LISTED:
                raise OptionError(
                    f"Column '{name}' would get {cells.levels:,} cells of its steps",
                    hint=f"give fewer bits, or no step; up to {MOST_LISTED:,} are listed",
                )
            columns[name] = in_cells(name, cells)
    return tuple(columns[name] for name in wanted.columns)


def _merged(column: DeclaredColumn) -> MergedColumn:
    """Return the groups of a column of categories: as declared, by leakage, or each by itself."""
    if column.groups is not None:
        labels = tuple(label for label, _ in column.groups)
        return MergedColumn(column.name, tuple(g for _, g in column.groups), labels, column.other)
    if column.bits is None:
        alone = tuple((value,) for value in column.values)
        return MergedColumn(column.name, alone, tuple(map(str, column.values)), column.other)
    merging = CategoryMerging.for_leakage(
        dict.fromkeys(column.values, 1),
        bits=column.bits,
        hierarchy=column.hierarchy,
        column=column.name,
    )
    return MergedColumn(column.name, merging.groups, merging.labels, column.other)


def _bits_of(outputs: int) -> Fraction:
    """Return a budget in bits that allows exactly this many outputs.

    Example:
        >>> [floor_power(_bits_of(outputs)) for outputs in (1, 2, 3, 85, 10**30 + 1)]
        [1, 2, 3, 85, 1000000000000000000000000000001]
    """
    if outputs.bit_count() == 1:
        return Fraction(outputs.bit_length() - 1)
    digits = len(str(outputs)) + 10
    with localcontext() as context:
        context.prec = digits + 20
        above = Decimal(outputs).ln() / Decimal(2).ln() + Decimal(10) ** -digits
    return Fraction(math.ceil(Fraction(above) * 10**digits), 10**digits)


# --- a hypothesis ---------------------------------------------------------------------------------


def _line_columns(wanted: Specification) -> tuple[ColumnPolicy, ...]:
    """Move columns near the line, and release the others as they are."""
    hiding = _meeting(wanted) if wanted.policy == "meet" else _moving(wanted)
    columns: list[ColumnPolicy] = []
    for name, side in wanted.box.sides.items():
        if name == hiding.name:
            columns.append(hiding)
        elif name not in hiding.columns:
            columns.append(KeptColumn(name, side.low, side.high))
    return tuple(columns)


def _meeting(wanted: Specification) -> MeetColumn:
    """Return the columns that are moved where every column has a step."""
    assert wanted.hypothesis is not None  # the objective needs it
    return MeetColumn(
        hiding_policy(
            [wanted.hypothesis, *wanted.also],
            wanted.lattice,
            wanted.moved,
            wanted.error,
            known_within=wanted.known_within and list(wanted.known_within),
            norm=wanted.move_norm,
            rounding=wanted.rounding,
            ranges=wanted.unstepped,
            possible=wanted.possible,
        )
    )


def _moving(wanted: Specification) -> LineColumn:
    """Return the column that is stretched or blurred."""
    threshold = wanted.threshold
    assert threshold is not None  # the objective needs both
    assert wanted.error is not None
    name, side = threshold.column, wanted.box[threshold.column]
    kind: Literal["stretch", "blur"] = "blur" if wanted.policy == "blur" else "stretch"
    others = {other: column for other, column in wanted.lattice.items() if other != name}
    return LineColumn(
        kind,
        name,
        str(threshold.line),
        wanted.error,
        side.low,
        side.high,
        wanted.columns[name].step,
        others,
        threshold.sign,
    )


# --- joint drafting -------------------------------------------------------------------------------
# Several queries that are released together: the columns of their policy, and words about them.


def draft_together(wanted: Specification) -> tuple[ColumnPolicy, ...]:
    """Return one column a query, in the cells of the grid that serves an objective best."""
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
        f"{queries_text(wanted)} are released together in {count_of(grid.outputs, 'cell')} "
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
    asked = f"{exactly(wanted.bits)} {plural(wanted.bits, 'bit')} were asked for"
    error = "Euclidean error" if wanted.norm == "euclidean" else "largest error"
    weighted = f"weighted {error}" if wanted.weights else error
    read = [name for part in wanted.parts for name in _over_columns(part).names]
    if len(read) > len(set(read)):  # two queries read one column
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
            f"Of the {count_of(grid.outputs, 'cell')} {bounds.at_most:,} can hold an answer, and "
            f"{needed}."
        )
    if wanted.norm == "euclidean":
        shapes = f"cells of other shapes are {bounds.at_least:,} or more"
        return f"No grid of equal cells {within} has fewer cells; {shapes}."
    return f"This release has {count_of(grid.outputs, 'cell')}, and {needed}."


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
