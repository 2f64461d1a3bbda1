"""In which direction a hypothesis depends on a column: shown, never assumed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.files import one_line
from hartley.policies.hypotheses.sides.integer_form import IntegerForm
from hartley.ranges.boxes.box import Interval
from hartley.ranges.boxes.exact_intervals import natural_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hartley.policies.hypotheses.hypothesis import Hypothesis
    from hartley.policies.hypotheses.lattice import LatticeColumn
    from hartley.ranges.boxes.expression import Expression
    from hartley.ranges.boxes.signs import Clause

MOST_RECORDS = 2**22
"""So many records of a lattice are looked at one by one."""


class NotMonotone(OptionError):  # noqa: N818 - reads as what it says
    """A hypothesis that becomes true in one place and false in another as a column grows."""


def directions(
    hypothesis: Hypothesis, columns: Mapping[str, LatticeColumn], moved: Sequence[str]
) -> dict[str, int]:
    """Return +1 where a hypothesis can only become true as a column grows, -1 where only false.

    Shown by the signs of the expression over the declared ranges, rule by rule as for
    derivatives, or else by looking at every record of the lattice. A hypothesis that is neither
    on some fibre is refused: the policy `meet` is the best one, and hides, of monotone ones
    alone. A column on which nothing depends counts as +1. Costs nothing, or one look a record.

    Example:
        >>> from hartley.policies.hypotheses.hypothesis import Hypothesis
        >>> from hartley.policies.hypotheses.lattice import LatticeColumn
        >>> ten = LatticeColumn(0, 10, 1)
        >>> directions(Hypothesis.parse("2*x - y >= 3"), {"x": ten, "y": ten}, ["x", "y"])
        {'x': 1, 'y': -1}
    """
    sides = {name: Interval(column.low, column.high) for name, column in columns.items()}
    signs = {name: _direction_of(hypothesis.clause, name, sides) for name in moved}
    unknown = [name for name, sign in signs.items() if sign is None]
    if unknown:
        signs |= _looked_up(hypothesis, columns, unknown)
    return {name: sign or 1 for name, sign in signs.items()}


def open_grid(columns: Mapping[str, LatticeColumn], names: Iterable[str]) -> dict[str, Any]:
    """Return the indices of columns as arrays that broadcast to all records, an axis a column."""
    listed = list(names)
    axes = np.ogrid[tuple(slice(0, columns[name].last + 1) for name in listed)]
    return dict(zip(listed, axes, strict=True))


def _looked_up(
    hypothesis: Hypothesis, columns: Mapping[str, LatticeColumn], names: Sequence[str]
) -> dict[str, int | None]:
    """Find directions by looking at every record of the lattice."""
    read = hypothesis.names
    records = math.prod(columns[name].last + 1 for name in read)
    if records > MOST_RECORDS:
        raise OptionError(
            f"Whether the hypothesis '{one_line(hypothesis.text)}' is monotone in "
            f"'{names[0]}' cannot be shown, and {records:,} records are too many to look at",
            hint="write every column once, or declare coarser steps",
        )
    holds = np.broadcast_to(
        IntegerForm.of(hypothesis, columns).at(open_grid(columns, read)),
        tuple(columns[name].last + 1 for name in read),
    ).astype(np.int8)
    signs: dict[str, int | None] = {}
    for name in names:
        change = np.diff(holds, axis=read.index(name))
        if (change > 0).any() and (change < 0).any():
            raise NotMonotone(
                f"The hypothesis '{one_line(hypothesis.text)}' is not monotone in '{name}': as it "
                "grows, it becomes true in one place and false in another",
                hint="move a column in which it is monotone, or one column alone, without "
                "known_within, norm and round",
            )
        signs[name] = -1 if (change < 0).any() else 1
    return signs


# --- signs by rules -------------------------------------------------------------------------------


def _direction_of(clause: Clause, name: str, sides: Mapping[str, Interval]) -> int | None:
    """Return the direction of a clause: 0 where nothing depends on it, None where not known."""
    word, *parts = clause
    if word in (">=", ">"):
        return _direction(parts[0], name, sides)
    if word == "not":
        return _flipped(_direction_of(parts[0], name, sides), -1)
    return _joined(*(_direction_of(part, name, sides) for part in parts))


def _direction(  # noqa: PLR0911 - one line a rule
    expression: Expression, name: str, sides: Mapping[str, Interval]
) -> int | None:
    """Return the direction of an expression in a column over the declared ranges."""
    if name not in expression.names:
        return 0
    form = expression.linear()
    if form is not None:
        by = form[0].get(name, 0)
        return (by > 0) - (by < 0)
    operation, parts = expression.operation, expression.parts
    below = [_direction(part, name, sides) for part in parts]
    if operation in ("exp", "log", "sqrt") or (operation == "pow" and expression.arguments[1] % 2):
        return below[0]
    if operation in ("+", "min", "max"):
        return _joined(*below)
    if operation in ("-", "neg"):
        return _joined(*below[:-1], _flipped(below[-1], -1))
    signs = [_sign(part, sides) for part in parts]
    if operation in ("pow", "abs"):
        return _flipped(below[0], signs[0])
    if operation in ("*", "/"):
        # 1/g falls where g grows, as long as g does not pass zero.
        second = below[1] if operation == "*" else _flipped(below[1], -1)
        return _joined(_flipped(below[0], signs[1]), _flipped(second, signs[0]))
    return None


def _sign(expression: Expression, sides: Mapping[str, Interval]) -> int | None:
    """Return 1 where an expression is never negative, -1 where never positive, else None."""
    ends = natural_range(expression, sides)
    if ends is None:
        return None
    return 1 if ends[0] >= 0 else -1 if ends[1] <= 0 else None


def _flipped(direction: int | None, sign: int | None) -> int | None:
    if direction == 0:
        return 0
    return None if direction is None or sign is None else direction * sign


def _joined(*signs: int | None) -> int | None:
    """Return the direction that all have which depend on the column; None where they differ."""
    if None in signs:
        return None
    depending = {sign for sign in signs if sign}
    return None if len(depending) > 1 else next(iter(depending), 0)
