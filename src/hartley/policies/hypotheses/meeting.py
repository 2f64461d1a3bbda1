"""The policy `meet`: records from either side of a hypothesis are released as one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hartley.boxes.box import Interval
from hartley.boxes.intervals import natural_range
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.files import one_line
from hartley.policies.hypotheses.hypothesis import Hypothesis
from hartley.policies.hypotheses.sides import (
    IntegerForm,
    LinearSide,
    as_integers,
    evaluate,
    substitute,
)
from hartley.text import counted, exactly

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from hartley.boxes.expression import Clause, Expression
    from hartley.policies.hypotheses.hypothesis import LatticeColumn
    from hartley.tables.release_rules import Tree

    Norm = Literal["sup", "l1", "l2"]
    Rounding = Literal["nearest", "down"]


# --- monotone -------------------------------------------------------------------------------------
# In which direction a hypothesis depends on a column: shown, never assumed.

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


# --- meeting --------------------------------------------------------------------------------------


MOST_DIRECTIONS = 10**6
"""So many moves within a norm are compared one by one."""


@dataclass(frozen=True)
class MeetPolicy:
    r"""Release records from either side of a hypothesis at common places, within a reach.

    With indices x, reach m in steps, partners D = 2m steps apart (or fewer, see
    ``known_within``), p = ceil(D/2), q = D - p and sign t of the hypothesis in each column:

    .. math:: h(x)=0,\; h(clamp(x + tD))=1 \mapsto \min(x + p,\, U - q), \qquad
        h(x)=1,\; h(clamp(x - tD))=0 \mapsto \max(x - q,\, p)

    for t = +1, mirrored for t = -1; floor(U/2) in columns with U < D; every other record is
    released as it is. For hypotheses that are monotone in every moved column no policy within the
    reach that releases values on the same steps leaves more records open: Farokhi 2021, Theorem 4,
    replaced for data with a step. Half steps would join records floor(2 reach/step) steps apart,
    which is one more where that is odd. The premise is checked when the policy is made. Exact;
    three looks at the hypothesis a record.

    Args:
        hypothesis: what is to stay open, or its text.
        columns: the lattice of every column that it names.
        move: the columns that are moved; those of the others fix the fibre.
        reach: the furthest that a value may be moved: one number for all, or one a column, as a
            list in the order of ``move`` or by name, {"weight": 5}.
        known_within: somebody may know the values to within so much: partners are no further
            apart. Given like the reach.
        norm: how a single reach for several columns is measured, "l1" or "l2"; a reach a column
            ("sup") if left out. Of linear hypotheses alone.
        rounding: how values between the steps are read, "nearest" or "down"; refused if left out.

    Example:
        >>> from hartley.policies.hypotheses.hypothesis import LatticeColumn
        >>> policy = MeetPolicy("x >= 5", {"x": LatticeColumn(0, 10, 1)}, ["x"], 1)
        >>> [int(policy.release({"x": x})["x"]) for x in range(11)]
        [0, 1, 2, 4, 5, 4, 5, 7, 8, 9, 10]
    """

    hypothesis: Hypothesis
    columns: Mapping[str, LatticeColumn] = field(hash=False)
    move: tuple[str, ...]
    reach: tuple[Fraction, ...]
    known_within: tuple[Fraction, ...] | None = None
    norm: Norm = "sup"
    rounding: Rounding | None = None

    def __init__(  # noqa: PLR0913 - each is one choice of the user's
        self,
        hypothesis: Hypothesis | str,
        columns: Mapping[str, LatticeColumn],
        move: Sequence[str],
        reach: object,
        *,
        known_within: object = None,
        norm: Norm = "sup",
        rounding: Rounding | None = None,
    ) -> None:
        read = Hypothesis.parse(hypothesis) if isinstance(hypothesis, str) else hypothesis
        moved = tuple(move)
        shared = norm != "sup"
        fields: dict[str, Any] = {
            "hypothesis": read,
            "columns": dict(columns),
            "move": moved,
            "reach": read_distances(reach, None if shared else moved),
            "known_within": None
            if known_within is None
            else read_distances(known_within, moved, "known_within"),
            "norm": norm,
            "rounding": rounding,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        names = self.hypothesis.names
        for name in names:
            if name not in self.columns:
                raise OptionError(
                    f"The hypothesis names column '{name}', whose range and step are not declared",
                    hint=f"declare low, high and step of '{name}'",
                )
        if not self.move or len(set(self.move)) < len(self.move):
            raise OptionError(
                "The columns to move are not a list of different names",
                hint='write for example move = ["weight"]',
            )
        idle = [name for name in self.move if name not in names]
        if idle:
            raise OptionError(
                f"Column '{idle[0]}' is moved, but the hypothesis does not name it",
                hint=f"it names {', '.join(names)}",
            )
        unused = [name for name in self.columns if name not in names]
        if unused:
            raise OptionError(
                f"Column '{unused[0]}' is declared, but the hypothesis does not name it",
                hint="leave it out",
            )
        _ = self.form  # what cannot be decided in whole numbers is refused
        if self.rounding is not None:
            self._check_rounding()
        if not any(self.moves):
            raise OptionError(
                "The reach is below one step: nothing can be hidden",
                hint="allow values to be moved by a step"
                + (" and a half" if self.rounding == "nearest" else "")
                + " or more",
            )
        if not any(self.distances):
            raise OptionError(
                "Somebody who knows the values to within less than a step knows them: nothing "
                "can be hidden from them",
                hint="give a known_within of a step or more, or leave it out",
            )
        _ = self.signs  # a hypothesis that is not monotone is refused

    def _check_rounding(self) -> None:
        if self.rounding not in ("nearest", "down"):
            raise OptionError(
                f"The rounding {self.rounding!r} is unknown", hint='choose "nearest" or "down"'
            )
        for name in self.move:
            if not self.columns[name].is_whole:
                raise OptionError(
                    f"The range of column '{name}' does not end on a step, so that rounding could "
                    "move a value by more than a step",
                    hint="declare a range of whole steps",
                )

    # --- how far ------------------------------------------------------------------------------

    @property
    def rounded_by(self) -> Fraction:
        """By how many steps rounding moves a value at most."""
        return {None: Fraction(0), "nearest": Fraction(1, 2), "down": Fraction(1)}[self.rounding]

    @cached_property
    def form(self) -> IntegerForm:
        """The hypothesis in whole numbers."""
        return IntegerForm.of(self.hypothesis, self.columns)

    @cached_property
    def signs(self) -> dict[str, int]:
        """The direction of the hypothesis in every moved column."""
        return directions(self.hypothesis, self.columns, self.move)

    @cached_property
    def moves(self) -> tuple[int, ...]:
        """By how many steps every column may be moved: m."""
        lattices = [self.columns[name] for name in self.move]
        if self.norm != "sup":
            weights = linear_weights(self.hypothesis, self.columns, self.move)
            steps = [lattice.step for lattice in lattices]
            # Rounding could already use up a part of the distance, in every column.
            if self.rounding is not None:
                raise OptionError(
                    "Values are rounded to the step first only with a reach for every column",
                    hint='leave out the norm, or the field "round"',
                )
            return tuple(map(abs, best_direction(weights, steps, self.reach[0], self.norm)))
        # What rounding moves a value by is part of its error.
        return tuple(
            max(0, math.floor(reach / lattice.step - self.rounded_by))
            for reach, lattice in zip(self.reach, lattices, strict=True)
        )

    @cached_property
    def distances(self) -> tuple[int, ...]:
        """How many steps the two records that are released as one lie apart: D."""
        if self.known_within is None:
            return tuple(2 * m for m in self.moves)
        # A value between the steps lies further from its partner by what it is rounded.
        return tuple(
            min(2 * m, max(0, math.floor(known / self.columns[name].step - self.rounded_by)))
            for m, known, name in zip(self.moves, self.known_within, self.move, strict=True)
        )

    @property
    def errors(self) -> tuple[Fraction, ...]:
        """The furthest that a value of every moved column is moved, exactly."""
        return tuple(
            (max(halves(distance)) + self.rounded_by) * self.columns[name].step
            for distance, name in zip(self.distances, self.move, strict=True)
        )

    @property
    def apart(self) -> tuple[Fraction, ...]:
        """How far a value lies from its partner at most, in every moved column."""
        return tuple(
            (distance + self.rounded_by) * self.columns[name].step if distance else Fraction(0)
            for distance, name in zip(self.distances, self.move, strict=True)
        )

    # --- what is released ---------------------------------------------------------------------

    @cached_property
    def trees(self) -> dict[str, Tree]:
        """For every moved column the index that is released, as a formula over indices."""
        side = LinearSide.of(self.form.condition, self.move[0]) if len(self.move) == 1 else None
        if side is not None:
            name = self.move[0]
            near = side.near(self._distance(name), self.columns[name].last)
            lower, upper = self._meeting_places(name)
            moved = ("if", side.here, upper, lower)
            return {name: ("var", name) if near is None else ("if", near, moved, ("var", name))}
        above, below = (
            {name: self._shifted(name, way * sign) for name, sign in self.signs.items()}
            for way in (1, -1)
        )
        here = self.form.condition
        holds_above, holds_below = (substitute(here, partner) for partner in (above, below))
        trees: dict[str, Tree] = {}
        for name in self.move:
            lower, upper = self._meeting_places(name)
            stays = ("var", name)
            # A hypothesis that holds of the lower partner holds here; one that fails of the upper
            # partner fails here. What is left over is near the line, and few rows look further.
            near = ("if", holds_above, ("if", here, upper, lower), stays)
            trees[name] = ("if", holds_below, stays, near)
        return trees

    def _distance(self, name: str) -> int:
        return self.distances[self.move.index(name)]

    def _shifted(self, name: str, sign: int) -> Tree:
        """Return the index of a partner: D steps up or down, within the range."""
        return step_by(name, sign * self._distance(name), 0, self.columns[name].last)

    def _meeting_places(self, name: str) -> tuple[Tree, Tree]:
        """Return where a record goes for which the hypothesis fails, and one for which it holds."""
        last, rising = self.columns[name].last, self.signs[name] > 0
        return meeting_places(name, last, self._distance(name), rising=rising)

    @property
    def peak(self) -> int:
        """No integer on the way to a release is larger in size."""
        widest = max(2 * self.columns[name].last + 2 * self._distance(name) for name in self.move)
        return max(self.form.peak, widest)

    def holds(self, indices: Mapping[str, Any]) -> NDArray[Any]:
        """Return 1 where the hypothesis holds and 0 elsewhere, of arrays of indices."""
        return self.form.at(indices)

    def release_indices(self, indices: Mapping[str, Any]) -> dict[str, Any]:
        """Return the released indices of the moved columns, of arrays of indices."""
        integers = as_integers(indices, self.peak)
        return {name: evaluate(tree, integers) for name, tree in self.trees.items()}

    def release(self, record: Mapping[str, object]) -> dict[str, Fraction]:
        """Return what is released for one record on the lattice, exactly."""
        indices = {name: column.index(record[name]) for name, column in self.columns.items()}
        released = {name: int(index) for name, index in self.release_indices(indices).items()}
        return {
            name: column.value(released.get(name, indices[name]))
            for name, column in self.columns.items()
        }


def halves(distance: int) -> tuple[int, int]:
    """Return how far the two partners go towards each other: p and q."""
    return distance - distance // 2, distance // 2


def meeting_places(name: str, last: int, distance: int, *, rising: bool) -> tuple[Tree, Tree]:
    """Return where a record goes for which a hypothesis fails, and one for which it holds.

    Example:
        >>> meeting_places("x", 10, 2, rising=True)[0]
        ('min', ('+', ('var', 'x'), ('const', '1')), ('const', '9'))
    """
    if last < distance:  # all values of a short side are released as its middle
        middle: Tree = ("const", str(last // 2))
        return middle, middle
    ahead, back = halves(distance)
    if rising:
        return step_by(name, ahead, None, last - back), step_by(name, -back, ahead, None)
    return step_by(name, -ahead, back, None), step_by(name, back, None, last - ahead)


def step_by(name: str, steps: int, low: int | None, high: int | None) -> Tree:
    """Return an index moved by some steps, within ends; an end that cannot be passed is left out.

    Example:
        >>> step_by("x", 2, 0, 10)
        ('min', ('+', ('var', 'x'), ('const', '2')), ('const', '10'))
    """
    tree: Tree = ("+", ("var", name), ("const", str(steps))) if steps else ("var", name)
    if high is not None and steps >= 0:
        tree = ("min", tree, ("const", str(high)))
    if low is not None and steps <= 0:
        tree = ("max", tree, ("const", str(low)))
    return tree


def read_distances(
    given: object, moved: Sequence[str] | None, what: str = "the reach"
) -> tuple[Fraction, ...]:
    """Read how far columns may be moved, or are known: one number for all, or one for each.

    Example:
        >>> read_distances({"bonus": 1, "salary": 5}, ["salary", "bonus"])
        (Fraction(5, 1), Fraction(1, 1))
    """
    if isinstance(given, Mapping):
        if moved is None or set(given) != set(moved):
            raise OptionError(
                f"{what[0].upper()}{what[1:]} does not name the moved columns, each once",
                hint="give one number, which the norm measures over all of them"
                if moved is None
                else f"name {', '.join(moved)}, or give one number for all",
            )
        given = [given[name] for name in moved]
    size = 1 if moved is None else len(moved)
    listed = list(given) if isinstance(given, (list, tuple)) else [given] * size
    if len(listed) != size:
        raise OptionError(
            f"There are {len(listed)} numbers for {what} of {counted(size, 'column')}",
            hint="give one for all, or one for each in the order of the moved columns",
        )
    numbers = tuple(parse_number(item, name=what) for item in listed)
    if any(number <= 0 for number in numbers):
        raise OptionError(
            f"{what[0].upper()}{what[1:]} is not positive", hint="give a positive number"
        )
    return numbers


# --- hyperplanes and norms ------------------------------------------------------------------------


def linear_weights(
    hypothesis: Hypothesis, columns: Mapping[str, LatticeColumn], move: Sequence[str]
) -> list[Fraction]:
    """Return by how much one step of every moved column moves a linear hypothesis."""
    form = hypothesis.clause[1].linear() if hypothesis.clause[0] in (">=", ">") else None
    if form is None:
        raise OptionError(
            f"The hypothesis '{one_line(hypothesis.text)}' is not one comparison of a sum with a "
            "number, which a reach in a norm is for",
            hint="give a reach for every moved column, and leave out the norm",
        )
    return [form[0].get(name, Fraction(0)) * columns[name].step for name in move]


def best_direction(
    weights: Sequence[Fraction], steps: Sequence[Fraction], reach: Fraction, norm: Norm
) -> tuple[int, ...]:
    r"""Return the whole move within a norm that moves a linear hypothesis furthest.

    .. math:: v = \arg\max \{ w \cdot v : \|(s_i v_i)\| \le r,\; v \in Z^d \}

    Of equal ones that of least norm. Exact, by comparing all. On a lattice without ends, `meet`
    with m = \|v\| leaves every coverable record open; in a box corners may lose some.
    """
    if norm not in ("sup", "l1", "l2"):
        raise OptionError(f"The norm {norm!r} is unknown", hint="choose sup, l1 or l2")
    most = [math.floor(reach / step) if by else 0 for step, by in zip(steps, weights, strict=True)]
    if math.prod(m + 1 for m in most) > MOST_DIRECTIONS:
        raise OptionError(
            f"A reach of {exactly(reach)} allows too many moves to compare them",
            hint="give a reach for every moved column, and leave out the norm",
        )

    def length(move: tuple[int, ...]) -> Fraction:
        sizes = [step * m for step, m in zip(steps, move, strict=True)]
        if norm == "l1":
            return sum(sizes, Fraction(0))
        return sum((size * size for size in sizes), Fraction(0)) if norm == "l2" else max(sizes)

    limit = reach * reach if norm == "l2" else reach

    def rank(move: tuple[int, ...]) -> tuple[Fraction, Fraction]:
        gain = sum((abs(by) * m for by, m in zip(weights, move, strict=True)), Fraction(0))
        return gain, -length(move)

    allowed = itertools.product(*(range(m + 1) for m in most))
    best = max((move for move in allowed if length(move) <= limit), key=rank)
    return tuple(m if by >= 0 else -m for m, by in zip(best, weights, strict=True))
