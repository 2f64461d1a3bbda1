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
    declared_column,
    evaluate,
    substitute,
)
from hartley.text import count_of, exactly

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from hartley.boxes.expression import Clause, Expression
    from hartley.policies.hypotheses.hypothesis import LatticeColumn
    from hartley.tables.release_rules import Tree

    Norm = Literal["sup", "l1", "l2"]
    Rounding = Literal["nearest", "down"]


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
    signs = []  # 1 where a part is never negative, -1 where never positive, None else
    for part in parts:
        ends = natural_range(part, sides)
        signs.append(None if ends is None else 1 if ends[0] >= 0 else -1 if ends[1] <= 0 else None)
    if operation in ("pow", "abs"):
        return _flipped(below[0], signs[0])
    if operation in ("*", "/"):
        # 1/g falls where g grows, as long as g does not pass zero.
        second = below[1] if operation == "*" else _flipped(below[1], -1)
        return _joined(_flipped(below[0], signs[1]), _flipped(second, signs[0]))
    return None


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


# --- policies -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HidingPolicy:
    """What policies that leave hypotheses open on data with a step share: what is moved, how far.

    A formula executes one where it can be (``MeetPolicy``), tables else (``TablePolicy``), and a
    line in doubles where other columns have no step (``ContinuousMeetPolicy``).
    """

    hypothesis: Hypothesis
    columns: Mapping[str, LatticeColumn] = field(hash=False)
    move: tuple[str, ...]
    reach: tuple[Fraction, ...]
    known_within: tuple[Fraction, ...] | None = None
    """To within what somebody may know the moved values; None where that is not allowed for."""
    norm: Norm = "sup"
    rounding: Rounding | None = None
    """How values between the steps are read; None where they are refused."""
    also: tuple[Hypothesis, ...] = ()
    """More hypotheses that are left open."""
    possible: Hypothesis | None = None
    """The condition that every possible record fulfils; None where all are possible."""
    ranges: Mapping[str, Interval] = field(default_factory=dict, hash=False)
    """The columns without a step."""
    released: tuple[tuple[int, ...], ...] = ()
    """The tables, where they were given."""

    def _read(  # noqa: PLR0913 - each is one choice of the user's
        self,
        hypothesis: Hypothesis | str | Sequence[Hypothesis | str],
        columns: Mapping[str, LatticeColumn],
        move: Sequence[str],
        reach: object,
        *,
        known_within: object = None,
        norm: Norm = "sup",
        rounding: Rounding | None = None,
        possible: Hypothesis | str | None = None,
        ranges: Mapping[str, Interval] | None = None,
        released: Sequence[Sequence[int]] = (),
    ) -> None:
        """Read what a policy is made of, and refuse one that hides nothing."""
        several = [hypothesis] if isinstance(hypothesis, (Hypothesis, str)) else list(hypothesis)
        read = [Hypothesis.parse(text) if isinstance(text, str) else text for text in several]
        moved = tuple(move)
        if not read or len({text.text for text in read}) < len(read):
            raise OptionError(
                "The hypotheses are not a list of different ones",
                hint='write for example hypothesis = ["age >= 18", "age >= 65"]',
            )
        fields: dict[str, Any] = {
            "hypothesis": read[0],
            "columns": dict(columns),
            "move": moved,
            "reach": read_distances(reach, None if norm != "sup" else moved),
            "known_within": None
            if known_within is None
            else read_distances(known_within, moved, "known_within"),
            "norm": norm,
            "rounding": rounding,
            "also": tuple(read[1:]),
            "possible": Hypothesis.parse(possible) if isinstance(possible, str) else possible,
            "ranges": dict(ranges or {}),
            "released": tuple(map(tuple, released)),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        raise NotImplementedError

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """All that is to stay open."""
        return (self.hypothesis, *self.also)

    @property
    def rounded_by(self) -> Fraction:
        """By how many steps rounding moves a value at most."""
        return {None: Fraction(0), "nearest": Fraction(1, 2), "down": Fraction(1)}[self.rounding]

    @property
    def moves(self) -> tuple[int, ...]:
        """By how many steps every column may be moved: m."""
        reaches = self.reach * len(self.move) if len(self.reach) == 1 else self.reach
        # What rounding moves a value by is part of its error.
        return tuple(
            max(0, math.floor(reach / self.columns[name].step - self.rounded_by))
            for reach, name in zip(reaches, self.move, strict=True)
        )

    @property
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
    def distance_to_partner(self) -> tuple[Fraction, ...] | None:
        """How far a value lies from its partner at most, in every moved column."""
        return tuple(
            (distance + self.rounded_by) * self.columns[name].step if distance else Fraction(0)
            for distance, name in zip(self.distances, self.move, strict=True)
        )

    @property
    def apart(self) -> tuple[Fraction, ...] | None:
        """The former name of ``distance_to_partner``."""
        return self.distance_to_partner

    @property
    def trees(self) -> Mapping[str, Tree]:
        """For every moved column the index that is released, as a formula over indices."""
        raise NotImplementedError

    @property
    def peak(self) -> int:
        """No integer on the way to a release is larger in size."""
        raise NotImplementedError

    def release_indices(self, indices: Mapping[str, Any]) -> dict[str, Any]:
        """Return the released indices of the moved columns, of arrays of indices."""
        integers = as_integers(indices, self.peak)
        return {name: evaluate(tree, integers) for name, tree in self.trees.items()}


class MeetPolicy(HidingPolicy):
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
        beside: dict[str, Any] = {"known_within": known_within, "norm": norm, "rounding": rounding}
        self._read([hypothesis], columns, move, reach, **beside)

    def _check(self) -> None:
        names = self.hypothesis.names
        for name in names:
            declared_column(name, self.columns)
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
        if self.rounding not in (None, "nearest", "down"):
            raise OptionError(
                f"The rounding {self.rounding!r} is unknown", hint='choose "nearest" or "down"'
            )
        for name in self.move if self.rounding is not None else ():
            if not self.columns[name].is_whole:
                raise OptionError(
                    f"The range of column '{name}' does not end on a step, so that rounding could "
                    "move a value by more than a step",
                    hint="declare a range of whole steps",
                )
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
        if self.norm == "sup":
            return super().moves
        weights = linear_weights(self.hypothesis, self.columns, self.move)
        # Rounding could already use up a part of the distance, in every column.
        if self.rounding is not None:
            raise OptionError(
                "Values are rounded to the step first only with a reach for every column",
                hint='leave out the norm, or the field "round"',
            )
        steps = [self.columns[name].step for name in self.move]
        return tuple(map(abs, best_direction(weights, steps, self.reach[0], self.norm)))

    @property
    def trees(self) -> dict[str, Tree]:
        """For every moved column the index that is released, as a formula over indices."""
        places, above, below = {}, {}, {}  # where sides meet, and the partners D steps away
        for name, distance in zip(self.move, self.distances, strict=True):
            last, sign = self.columns[name].last, self.signs[name]
            places[name] = meeting_places(name, last, distance, rising=sign > 0)
            above[name] = step_by(name, sign * distance, 0, last)
            below[name] = step_by(name, -sign * distance, 0, last)
        first, here = self.move[0], self.form.condition
        side = LinearSide.of(here, first) if len(self.move) == 1 else None
        if side is not None:
            near = side.near(self.distances[0], self.columns[first].last)
            lower, upper = places[first]
            moved = ("if", side.here, upper, lower)
            return {first: ("var", first) if near is None else ("if", near, moved, ("var", first))}
        holds_above, holds_below = substitute(here, above), substitute(here, below)
        trees: dict[str, Tree] = {}
        for name, (lower, upper) in places.items():
            stays = ("var", name)
            # A hypothesis that holds of the lower partner holds here; one that fails of the upper
            # partner fails here. What is left over is near the line, and few rows look further.
            near = ("if", holds_above, ("if", here, upper, lower), stays)
            trees[name] = ("if", holds_below, stays, near)
        return trees

    @property
    def peak(self) -> int:
        """No integer on the way to a release is larger in size."""
        ends = [self.columns[name].last for name in self.move]
        widest = max(2 * (end + d) for end, d in zip(ends, self.distances, strict=True))
        return max(self.form.peak, widest)

    def holds(self, indices: Mapping[str, Any]) -> NDArray[Any]:
        """Return 1 where the hypothesis holds and 0 elsewhere, of arrays of indices."""
        return self.form.at(indices)

    def release(self, record: Mapping[str, object]) -> dict[str, Fraction]:
        """Return what is released for one record on the lattice, exactly."""
        indices = {name: column.index(record[name]) for name, column in self.columns.items()}
        released = indices | self.release_indices(indices)
        return {name: column.value(int(released[name])) for name, column in self.columns.items()}


def halves(distance: int) -> tuple[int, int]:
    """Return how far the two partners go towards each other: p and q."""
    return distance - distance // 2, distance // 2


def meeting_places(name: str, last: int, distance: int, *, rising: bool) -> tuple[Tree, Tree]:
    """Return where a record goes for which a hypothesis fails, and one for which it holds."""
    if last < distance:  # all values of a short side are released as its middle
        middle: Tree = ("const", str(last // 2))
        return middle, middle
    ahead, back = halves(distance)
    if rising:
        return step_by(name, ahead, None, last - back), step_by(name, -back, ahead, None)
    return step_by(name, -ahead, back, None), step_by(name, back, None, last - ahead)


def step_by(name: str, steps: int, low: int | None, high: int | None) -> Tree:
    """Return an index moved by some steps, within those ends that could be passed."""
    tree: Tree = ("+", ("var", name), ("const", str(steps))) if steps else ("var", name)
    if high is not None and steps >= 0:
        tree = ("min", tree, ("const", str(high)))
    if low is not None and steps <= 0:
        tree = ("max", tree, ("const", str(low)))
    return tree


def read_distances(
    given: object, moved: Sequence[str] | None, what: str = "the reach"
) -> tuple[Fraction, ...]:
    """Read how far columns may be moved, or are known: one number for all, or one for each."""
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
            f"There are {len(listed)} numbers for {what} of {count_of(size, 'column')}",
            hint="give one for all, or one for each in the order of the moved columns",
        )
    numbers = tuple(parse_number(item, name=what) for item in listed)
    if any(number <= 0 for number in numbers):
        raise OptionError(
            f"{what[0].upper()}{what[1:]} is not positive", hint="give a positive number"
        )
    return numbers


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
    if math.prod(m + 1 for m in most) > 10**6:
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
