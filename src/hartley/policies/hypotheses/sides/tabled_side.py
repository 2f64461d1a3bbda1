"""Comparisons with exp, log and sqrt, decided record by record and written as whole numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import OptionError
from hartley.policies.hypotheses.sides.choices import ONE, ZERO, chosen, place_tree, runs, starts
from hartley.ranges.boxes.box import Box, Interval
from hartley.ranges.boxes.enclosure import check_defined
from hartley.ranges.boxes.signs import ExactColumn, truth_at, undecided

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hartley.engines.maps.formula import Tree
    from hartley.policies.hypotheses.lattice import LatticeColumn
    from hartley.ranges.boxes.expression import Expression

MOST_POINTS = 2**20
"""At so many combinations of values a comparison is decided."""
MOST_PARTS = 2000
"""So many stretches of values are sent to an engine."""


def tabled_side(
    sign: str, expression: Expression, columns: Mapping[str, LatticeColumn]
) -> tuple[Tree, int]:
    """Return a tree over indices that is 1 where an expression is above zero, and its largest part.

    Values of exp, log and sqrt are not rational, but a lattice has finitely many points: at each
    the sign is certain, by intervals of rising precision. What is written down is, for every
    fibre, the index from which on the comparison holds, or a list of stretches. Exact. Refused
    where the expression may have no value within the ranges, or where no precision decides. Costs
    an interval a point.

    Args:
        sign: ">=" or ">".
        expression: what is compared with zero.
        columns: the lattice of every column that it names.

    Example:
        >>> from hartley.policies.hypotheses.lattice import LatticeColumn
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> tabled_side(">=", parse_expression("exp(x) - 3"), {"x": LatticeColumn(0, 4, "0.5")})[0]
        ('if', ('<=', ('const', '0'), ('+', ('var', 'x'), ('const', '-3'))), ('const', '1'), \
('const', '0'))
    """
    names = expression.names
    shape = tuple(columns[name].last + 1 for name in names)
    if math.prod(shape) > MOST_POINTS:
        raise OptionError(
            f"The hypothesis uses exp, log or sqrt of {math.prod(shape):,} combinations of values, "
            "too many to decide it at each",
            hint=f"declare coarser steps: up to {MOST_POINTS:,} combinations",
        )
    check_defined(
        expression, Box({name: Interval(columns[name].low, columns[name].high) for name in names})
    )
    holds = _truths(sign, expression, columns).reshape(shape)
    fibres = {
        name: np.moveaxis(holds, axis, -1).reshape(-1, shape[axis])
        for axis, name in enumerate(names)
    }
    parts = {name: _count_parts(rows) for name, rows in fibres.items()}
    along = min(parts, key=parts.__getitem__)
    if parts[along] > MOST_PARTS:
        raise OptionError(
            f"On these steps the hypothesis has {parts[along]:,} different parts, too many to be "
            "executed",
            hint=f"declare coarser steps: up to {MOST_PARTS:,} are executed",
        )
    others = [name for name in names if name != along]
    return _tree(fibres[along], along, place_tree(others, columns)), 2 * math.prod(shape)


def _tree(rows: NDArray[np.bool_], name: str, fibre: Tree) -> Tree:
    """Return 1 where the place of a fibre and the index of a column are marked."""
    own: Tree = ("var", name)
    for falls, sides in ((False, rows), (True, ~rows)):
        if (sides[:, :-1] <= sides[:, 1:]).all():  # from one index on
            firsts = (~sides).sum(axis=1)
            if falls:
                own, firsts = ("*", own, ("const", "-1")), 1 - firsts
            line = chosen(fibre, runs([-int(first) for first in firsts]))
            return ("if", ("<=", ZERO, ("+", own, line)), ONE, ZERO)
    leaves = [chosen(own, runs([int(side) for side in row])) for row in rows]
    return chosen(fibre, starts(leaves))


def _count_parts(rows: NDArray[np.bool_]) -> int:
    """Count the stretches of all fibres that differ from the one before them."""
    changed = np.ones(len(rows), bool)
    changed[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    switches = (rows[:, 1:] != rows[:, :-1]).sum(axis=1)
    return int((switches + 1)[changed].sum())


def _truths(
    sign: str, expression: Expression, columns: Mapping[str, LatticeColumn]
) -> NDArray[np.bool_]:
    """Decide a comparison at every combination of values, the last column running fastest."""
    names = expression.names
    shape = tuple(columns[name].last + 1 for name in names)
    places = np.unravel_index(np.arange(math.prod(shape)), shape)

    def numbers(name: str, indices: NDArray[np.intp]) -> ExactColumn:
        column = columns[name]
        doubles = np.array([float(column.value(index)) for index in range(column.last + 1)])
        return ExactColumn(doubles[indices], lambda i: column.value(int(indices[i])))

    points = {name: numbers(name, at) for name, at in zip(names, places, strict=True)}
    can_hold, can_fail = truth_at((sign, expression), points)
    if (can_hold & can_fail).any():
        raise undecided(expression)
    return can_hold
