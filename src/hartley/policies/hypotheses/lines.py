"""Blurring, stretching, the best line; policies compared."""

from __future__ import annotations

import bisect
import itertools
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hartley.boxes.box import Box, Interval
from hartley.boxes.expression import Expression, maximum, parse_expression, variables
from hartley.boxes.volumes import volume
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.files import one_line
from hartley.policies.hypotheses.hypothesis import Hypothesis
from hartley.policies.hypotheses.meeting import MeetPolicy
from hartley.policies.hypotheses.open_records import (
    OpenRecords,
    count_outputs_open,
    refuse_many,
    release_codes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.boxes.expression import Clause
    from hartley.boxes.volumes import Volume
    from hartley.policies.hypotheses.hypothesis import LatticeColumn

    State = tuple[int, int]
    """The last representative of either side: one for which the hypothesis fails, one not."""


FLIPPED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
"""Every sign that compares, and the same one read from the other side."""
COMPARISON = re.compile(r"^(?P<column>[^<>=]+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<threshold>[^<>=]+)$")


@dataclass(frozen=True)
class Threshold:
    """A hypothesis of the form: this column is at least, above, at most or below a line.

    The line is a function of the other columns.

    Example:
        >>> obese = Threshold.parse("weight >= 30 * (height/100)**2")
        >>> obese.column, str(obese.line)
        ('weight', '30*(height/100)**2')
        >>> str(Threshold.parse("3 > x"))
        'x < 3'
    """

    column: str
    line: Expression
    sign: str = ">="
    """How the column, on the left, is compared with the line."""

    def __post_init__(self) -> None:
        if self.sign not in FLIPPED:
            raise OptionError(
                f"The sign {self.sign!r} does not compare a column with a line",
                hint=f"choose from {', '.join(FLIPPED)}",
            )

    @classmethod
    def parse(cls, hypothesis: str) -> Threshold:
        """Read a hypothesis such as "weight >= 30 * (height/100)**2"."""
        match = COMPARISON.match(hypothesis.strip())
        if match:
            left, right = (parse_expression(match[name]) for name in ("column", "threshold"))
            sign = match["sign"]
            for column, line, way in ((left, right, sign), (right, left, FLIPPED[sign])):
                if column.operation == "var" and column.arguments[0] not in line.names:
                    return cls(column.arguments[0], line, way)
        raise OptionError(
            f"The hypothesis '{one_line(hypothesis)}' does not compare one column with others by "
            f"one of {', '.join(FLIPPED)}",
            hint="write it as column >= expression, for example weight >= 30*(height/100)**2",
        )

    @property
    def line_is_above(self) -> bool:
        """Whether a value on the line is on the side of those above it, not of those below."""
        return self.sign in (">=", "<")

    @property
    def clause(self) -> Clause:
        """The hypothesis, in the form that is evaluated."""
        (column,) = variables(self.column)
        above = column - self.line if self.sign[0] == ">" else self.line - column
        return (">=" if self.sign[1:] else ">", above)

    def __str__(self) -> str:
        return f"{self.column} {self.sign} {self.line}"


@dataclass(frozen=True)
class LinePolicy:
    """What the policies against one threshold share: where they act and how far they may move."""

    hypothesis: Threshold
    reach: Fraction
    """The furthest that a value may be moved: 1/rho."""
    box: Box

    kind = "line"
    spreads: ClassVar[bool] = False
    """Whether the band keeps its volume: each side is spread over all of it. Else it collapses onto
    the line, which has none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reach", parse_number(self.reach, name="the error"))
        if self.reach <= 0:
            raise OptionError(
                f"The error {self.reach} is not positive",
                hint="give a positive error; a policy that moves nothing hides nothing",
            )
        missing = [n for n in (self.column, *self.hypothesis.line.names) if n not in self.box.sides]
        if missing:
            raise OptionError(
                f"The hypothesis names '{missing[0]}', which has no declared range",
                hint=f"the ranges are of {', '.join(self.box.names)}",
            )

    @property
    def column(self) -> str:
        """The column that is moved."""
        return self.hypothesis.column

    @property
    def error(self) -> Fraction:
        """The largest distance between a value and what is released."""
        return self.reach

    def band(self, *, gap: float = 1e-6) -> Volume:
        """Return the volume of the band that is touched: closer to the line than the reach.

        Only fibres that the line crosses count: where it runs outside the column's range, or
        along its end, one hypothesis is certain anyway. A certified bound on both sides.
        """
        (value,) = variables(self.column)
        return self._near(abs(value - self.hypothesis.line) - self.reach, gap)

    def confused(self, *, gap: float = 1e-4) -> Fraction:
        r"""Return how often the best test of the hypothesis is misled, at most.

        .. math:: \tfrac12 \int \min(p_0, p_1)

        Both sides of the line are equally likely, and every record of a side is. The best test
        decides all but the band; there it takes the side with more mass on the fibre. With lengths
        a and b of a fibre's parts below and above the line within the reach, and volumes A and B
        of the sides, the integral over fibres of min(a/A, b/B) is one volume over B: that of the
        records above the line by no more than b and (B/A) a. Rounded up.
        """
        (value,) = variables(self.column)
        line, total = self.hypothesis.line, self.box.volume
        # The distance is cut off below, so that one interval is all that is negative.
        below = volume(self.box, maximum(value - line, -1), (-1, 0), gap=gap)
        least_below, least_above = below.low, total - below.high
        if not least_below or not least_above:
            return Fraction(1, 2)
        ratio = (total - below.low) / least_below
        above = value - line
        farthest = maximum(
            above - min(ratio, Fraction(1)) * self.reach,
            above - ratio * (line - self.box[self.column].low),
        )
        near = maximum(-above, farthest)
        return min(self._near(near, gap).high / least_above, Fraction(1)) / 2

    def _near(self, outside: Expression, gap: float) -> Volume:
        """Return the volume where a distance is negative, on fibres that the line crosses."""
        side, line = self.box[self.column], self.hypothesis.line
        beyond = maximum(side.low - line, line - side.high)
        # A distance is never below -reach, so this interval is all that is negative. Zero is left
        # out: on fibres where the line is an end of the range nothing is moved.
        inside = Interval(-self.reach - 1, Fraction(0), high_closed=False)
        return volume(self.box, maximum(outside, beyond), inside, gap=gap)


@dataclass(frozen=True)
class StretchPolicy(LinePolicy):
    r"""Stretch each side of the line over the whole band, so that neither side shows.

    .. math:: x \mapsto a + (x - g)\frac{b - a}{b - g} \;(g \le x \le b), \qquad
        x \mapsto a + (x - a)\frac{b - a}{g - a} \;(a \le x < g)

    with g the line, a = max(g - 1/rho, low) and b = min(g + 1/rho, high); where the hypothesis is
    that x is above the line, or at most on it, x = g goes with the lower side. Every value in the
    band can then come from either side. It reaches what Theorem 4 of Farokhi 2021 claims for its
    own policy (corrected): Priv = log(1 + epsilon), epsilon = mu(band) / (mu(X) - mu(band)).
    No value moves further than 1/rho. For values without a step only: of rounded ones it may hide
    none, and never hides more than blurring. Where the band lies within the range, it hides about
    as many if 1/rho is a whole number of steps and none if not; where an end of the range cuts the
    band off, some or none.

    Example:
        >>> from hartley.boxes.box import Box
        >>> people = Box({"weight": (0, 200), "height": (0, 250)})
        >>> obese = Threshold.parse("weight >= 30 * (height/100)**2")
        >>> policy = StretchPolicy(obese, 5, people)
        >>> policy.release({"weight": 120, "height": 200})["weight"]
        Fraction(115, 1)
    """

    kind = "stretch"
    spreads = True

    def release(self, record: Mapping[str, object]) -> dict[str, Fraction]:
        """Return what is released for one record, exactly."""
        exact = {name: parse_number(value, name=f"'{name}'") for name, value in record.items()}
        x, line, side = exact[self.column], self.hypothesis.line.at(exact), self.box[self.column]
        low, high = max(line - self.reach, side.low), min(line + self.reach, side.high)
        if low < line < high and low <= x <= high:
            is_above = x > line or (x == line and self.hypothesis.line_is_above)
            start, end = (line, high) if is_above else (low, line)
            exact[self.column] = low + (x - start) * (high - low) / (end - start)
        return exact


@dataclass(frozen=True)
class BlurringPolicy(LinePolicy):
    r"""Release the line itself for everything close to it: the policy of the paper, as printed.

    .. math:: x \mapsto g \;\text{ where }\; |x - g| \le 1/\rho

    Theorem 4 of Farokhi 2021. Every record in the band is left open, where the line has values on
    both sides of it in reach. By volume of outputs, as equation 9 counts, Priv = 0 all the same:
    the band collapses onto a curve, which has no volume. Counted in records, log mu(X) - log
    mu(decided) is what the theorem claims. It hides rounded values too, up to a step of 1/rho.

    Example:
        >>> from hartley.boxes.box import Box
        >>> obese = Threshold.parse("weight >= 30 * (height/100)**2")
        >>> policy = BlurringPolicy(obese, 5, Box({"weight": (0, 200), "height": (0, 250)}))
        >>> policy.release({"weight": 123, "height": 200})["weight"]
        Fraction(120, 1)
    """

    kind = "blur"

    def release(self, record: Mapping[str, object]) -> dict[str, Fraction]:
        """Return what is released for one record, exactly."""
        exact = {name: parse_number(value, name=f"'{name}'") for name, value in record.items()}
        line = self.hypothesis.line.at(exact)
        if abs(exact[self.column] - line) <= self.reach:
            exact[self.column] = line
        return exact


# --- the best policy on one column: a table of what every value becomes ---------------------------


@dataclass(frozen=True)
class LineTable:
    """What is released for every index of a column, and what that leaves open."""

    released: tuple[int | None, ...]
    """By index; None of a value that cannot occur."""
    open: int
    """R: the records that are left open."""
    outputs: int
    """O: the outputs that leave the hypothesis open."""
    pairs: int
    """E: the sum over outputs of the smaller number of records on either side."""


def count_table(sides: Sequence[bool | None], released: Sequence[int | None]) -> LineTable:
    """Count what a table of released indices leaves open."""
    tally: dict[int, list[int]] = {}
    for side, output in zip(sides, released, strict=True):
        if side is not None and output is not None:
            tally.setdefault(output, [0, 0])[side] += 1
    shared = [counts for counts in tally.values() if all(counts)]
    return LineTable(
        tuple(released), sum(map(sum, shared)), len(shared), sum(min(c) for c in shared)
    )


def rank_line(first: int, last: int, moves: int) -> LineTable:
    r"""Return the policy for one line that is best in open records, outputs and pairs at once.

    .. math:: R = \min(n_A, 2m) + \min(n_B, 2m), \qquad O = E = \min(n_A, n_B, 2m)

    with n_A = k values below the line and n_B = U + 1 - k from it on. It differs from `meet` only
    where both sides are shorter than 2m: there the longer one is spread evenly over the places of
    the shorter one. Exact; linear in the number of values.

    Args:
        first: the first index k on the upper side.
        last: the last index U.
        moves: by how many steps m a value may be moved.

    Example:
        >>> rank_line(5, 10, 1).released
        (0, 1, 2, 4, 5, 4, 5, 7, 8, 9, 10)
    """
    size = last + 1
    sides = [index >= first for index in range(size)]
    if first <= 0 or first > last or moves < 1:
        return count_table(sides, range(size))
    below, above = min(first, 2 * moves), min(size - first, 2 * moves)
    released = list(range(size))
    if below <= above:
        shift = min(moves, size - first) - below
        for k in range(-below, 0):
            released[first + k] = first + k + below + shift
        for k in range(above):
            released[first + k] = first + shift + k * below // above
        return count_table(sides, released)
    mirrored = rank_line(size - first, last, moves).released
    turned = [last - (output or 0) for output in reversed(mirrored)]
    return count_table(sides, turned)


def best_line(sides: Sequence[bool | None], moves: int) -> LineTable:
    """Return the policy on one column that leaves most records open, then most outputs.

    For any hypothesis: intervals, alternatives, switches. Open outputs are chosen in increasing
    order; the state is the last output with its last representative of either side, taken as
    early as possible, since all windows are equally wide. Exact, by dynamic programming; grows
    with the number of values and with the cube of the reach.

    Args:
        sides: for every index whether the hypothesis holds; None of a value that cannot occur.
        moves: by how many steps m a value may be moved.

    Example:
        >>> table = best_line([5 <= x <= 8 for x in range(21)], 1)
        >>> table.open, table.outputs
        (8, 4)
    """
    size = len(sides)
    if moves < 1:
        raise OptionError(
            "The reach is below one step: nothing can be hidden",
            hint="allow values to be moved by a step or more",
        )
    places = [[i for i, side in enumerate(sides) if side is wanted] for wanted in (False, True)]
    before = [0]  # how many possible records stand before an index
    for side in sides:
        before.append(before[-1] + (side is not None))
    chosen = _best_outputs(places, before, size, moves)
    released: list[int | None] = [None if side is None else i for i, side in enumerate(sides)]
    counts: dict[int, list[int]] = {}
    taken = set()
    for output, *pair in chosen:
        counts[output] = [1, 1]
        for index in pair:
            released[index] = output
            taken.add(index)
    outputs = [output for output, *_ in chosen]
    for index, side in enumerate(sides):
        if side is None or index in taken:
            continue
        near = outputs[
            bisect.bisect_left(outputs, index - moves) : bisect.bisect_right(outputs, index + moves)
        ]
        if near:  # where its side is in the minority, then where it moves least
            output = min(
                near, key=lambda y: (counts[y][side] - counts[y][not side], abs(y - index))
            )
            counts[output][side] += 1
            released[index] = output
    return count_table(sides, released)


def _best_outputs(
    places: list[list[int]], before: list[int], size: int, moves: int
) -> list[tuple[int, int, int]]:
    """Return the open outputs of a best policy, each with its two representatives."""
    states: list[dict[State, Worth]] = []
    best: list[Worth] = [Worth(0, 0)]  # by the number of outputs that were passed
    for output in range(size):
        fresh: dict[State, Worth] = {}
        # Windows further back than this share no record with the new one.
        far = max(0, output - 2 * moves)
        came: list[tuple[Worth, State, int]] = [(best[far], (-1, -1), 0)]
        for y in range(far, output):
            came += [(worth, state, y + moves + 1) for state, worth in states[y].items()]
        for worth, last, start in came:
            state = _next_pair(places, last, output, moves)
            if state is None:
                continue
            end = min(output + moves + 1, size)
            first = min(max(start, output - moves), end)  # the window may hold nothing new
            covered = worth.open + before[end] - before[first]
            chosen = Worth(covered, worth.outputs + 1, (output, *state), worth)
            if state not in fresh or fresh[state].rank < chosen.rank:
                fresh[state] = chosen
        states.append(_undominated(fresh))
        best.append(max([best[-1], *fresh.values()], key=lambda worth: worth.rank))
    return best[-1].way()


@dataclass(frozen=True)
class Worth:
    """What some chosen outputs leave open, and how they were chosen."""

    open: int
    outputs: int
    last: tuple[int, int, int] | None = None
    """The last output and its representatives."""
    before: Worth | None = None

    @property
    def rank(self) -> tuple[int, int]:
        """More open records first, then more outputs."""
        return self.open, self.outputs

    def way(self) -> list[tuple[int, int, int]]:
        """Return all outputs with their representatives, in increasing order."""
        steps = []
        worth: Worth | None = self
        while worth is not None and worth.last is not None:
            steps.append(worth.last)
            worth = worth.before
        return steps[::-1]


def _next_pair(places: list[list[int]], last: State, output: int, moves: int) -> State | None:
    """Return the earliest representatives of both sides for an output; None where one lacks."""
    pair = []
    for listed, taken in zip(places, last, strict=True):
        at = bisect.bisect_left(listed, max(taken + 1, output - moves))
        if at == len(listed) or listed[at] > output + moves:
            return None
        pair.append(listed[at])
    return pair[0], pair[1]


def _undominated(states: dict[State, Worth]) -> dict[State, Worth]:
    """Drop states that have later representatives than another one and are worth no more."""
    return {
        state: worth
        for state, worth in states.items()
        if not any(
            other != state
            and other[0] <= state[0]
            and other[1] <= state[1]
            and better.rank >= worth.rank
            for other, better in states.items()
        )
    }


def best_lines(firsts: Sequence[int], last: int, moves: int) -> tuple[LineTable, ...]:
    """Return one table for several thresholds on the same column, counted for each of them.

    With gaps of two or more the column is cut midway between thresholds, and each part has a
    line of its own: every record that could be left open for some threshold is open for the
    nearest. With gaps of 4m or more all pairs of a record and a threshold that could be open are.
    Thresholds that are neighbours share one table, that of the threshold that leaves more open.

    Args:
        firsts: for every threshold the first index at which it is reached, increasing.
        last: the last index.
        moves: by how many steps a value may be moved.

    Example:
        >>> [table.open for table in best_lines([3, 7], 9, 1)]
        [4, 4]
    """
    if any(low >= high for low, high in pairwise(firsts)) or not firsts:
        raise OptionError("The thresholds do not increase", hint="list them from the smallest")
    size = last + 1
    sides = [[index >= first for index in range(size)] for first in firsts]
    if any(high - low < 2 for low, high in pairwise(firsts)):
        tables = [best_line(listed, moves) for listed in sides]
        released = max(tables, key=lambda table: (table.open, table.outputs)).released
    else:
        cuts = [0, *((low + high) // 2 for low, high in pairwise(firsts)), size]
        parts: list[int | None] = []
        for (start, end), first in zip(pairwise(cuts), firsts, strict=True):
            part = rank_line(first - start, end - start - 1, moves).released
            parts += [None if output is None else output + start for output in part]
        released = tuple(parts)
    return tuple(count_table(listed, released) for listed in sides)


def best_table(sides: Sequence[Sequence[bool | None]], moves: int) -> LineTable:
    """Return one table on one column for one or several hypotheses, counted for the first.

    For one hypothesis that of ``best_line``, the best there is. For several, the column is cut
    midway between places where different ones change, with the best line in each part
    (``best_lines`` for thresholds), or the best table of one of them is shared. Of these tables
    the one is taken that leaves most hypotheses open at all, then most pairs of a record and a
    hypothesis. What it leaves open for each is exact; that no other table leaves more pairs open
    holds for thresholds that lie 4m or more apart.
    """
    if len(sides) == 1:
        return best_line(sides[0], moves)
    candidates = [_cut_lines(sides, moves), *(best_line(row, moves).released for row in sides)]
    changes = [_changes(row) for row in sides]
    whole = not any(None in row for row in sides)
    if whole and any(changes) and all(len(places) <= 1 for places in changes):  # thresholds
        firsts = sorted({index for places in changes for index in places})
        candidates.insert(0, best_lines(firsts, len(sides[0]) - 1, moves)[0].released)

    def worth(released: Sequence[int | None]) -> tuple[int, int]:
        opened = [count_table(row, released).open for row in sides]
        return sum(map(bool, opened)), sum(opened)

    return count_table(sides[0], max(candidates, key=worth))


def _changes(row: Sequence[bool | None]) -> list[int]:
    """Return where a hypothesis has another truth value than at the possible value before."""
    possible = [index for index, side in enumerate(row) if side is not None]
    return [index for before, index in pairwise(possible) if row[index] != row[before]]


def _cut_lines(sides: Sequence[Sequence[bool | None]], moves: int) -> tuple[int | None, ...]:
    """Return what is released if every stretch of a column hides the hypothesis that changes there.

    Stretches end midway between neighbouring changes of different hypotheses.
    """
    changes = sorted((index, owner) for owner, row in enumerate(sides) for index in _changes(row))
    cuts, owners = [0], [changes[0][1] if changes else 0]
    for (before, owner), (index, other) in pairwise(changes):
        if other != owner and (before + index) // 2 > cuts[-1]:
            cuts.append((before + index) // 2)
            owners.append(other)
    released: list[int | None] = []
    for (start, end), owner in zip(pairwise([*cuts, len(sides[0])]), owners, strict=True):
        part = best_line(sides[owner][start:end], moves).released
        released += [None if output is None else output + start for output in part]
    return tuple(released)


# --- policies compared by what they leave open ----------------------------------------------------


@dataclass(frozen=True)
class ComparedPolicy:
    """What one policy leaves open, to everybody and to those who know the value roughly."""

    name: str
    counts: OpenRecords
    """To somebody who knows nothing about the moved column but its range and step."""
    known: tuple[int, ...]
    """To somebody who knows its value to within each of some distances: records left open."""


def compare_policies(
    hypothesis: str,
    columns: Mapping[str, LatticeColumn],
    reach: object,
    known_within: Sequence[object] = (),
) -> tuple[ComparedPolicy, ...]:
    """Compare blurring, stretching and meeting within one reach on data with a step.

    A record is open to somebody who knows the moved value to within a distance if a record of
    the other side, no further away than that, is released alike. The last line is `meet` made
    for each distance (``known_within``), the most that any policy leaves open then. Farokhi 2021,
    Theorem 4, corrected. Exact, by looking at every record.

    Args:
        hypothesis: column >= expression over other columns; the column is moved.
        columns: the lattice of every column.
        reach: the furthest that a value may be moved.
        known_within: the distances.

    Example:
        >>> from hartley.policies.hypotheses.hypothesis import LatticeColumn
        >>> for row in compare_policies("x >= 5", {"x": LatticeColumn(0, 10, 1)}, 2, [1, 2, 4]):
        ...     print(row.name, row.counts.open, row.known)
        blur 5 (2, 4, 5)
        stretch 4 (0, 4, 4)
        meet 8 (0, 0, 8)
        meet made for it 8 (2, 4, 8)
    """
    threshold, read = Threshold.parse(hypothesis), Hypothesis.parse(hypothesis)
    refuse_many(columns, list(columns))
    box = Box({name: Interval(column.low, column.high) for name, column in columns.items()})
    moved = threshold.column
    distances = [parse_number(within, name="known_within") for within in known_within]
    steps = [math.floor(distance / columns[moved].step) for distance in distances]
    records = [
        {
            name: column.value(index)
            for (name, column), index in zip(columns.items(), at, strict=True)
        }
        for at in itertools.product(*(range(column.last + 1) for column in columns.values()))
    ]
    holds = np.array([read.holds(record) for record in records])
    shape = tuple(column.last + 1 for column in columns.values())
    own = np.indices(shape)[list(columns).index(moved)].ravel()

    def compared(name: str, outputs: NDArray[Any], known: Sequence[int]) -> ComparedPolicy:
        gaps = _gaps(outputs.ravel(), own, holds)
        near = tuple(sum(gap <= most for gap in gaps) for most in known)
        return ComparedPolicy(name, count_outputs_open(holds, outputs), near)

    def near_line(policy: BlurringPolicy | StretchPolicy) -> ComparedPolicy:
        codes: dict[tuple[Fraction, ...], int] = {}
        released = (tuple(policy.release(record).values()) for record in records)
        outputs = np.array([codes.setdefault(values, len(codes)) for values in released])
        return compared(policy.kind, outputs, steps)

    meet = MeetPolicy(read, columns, [moved], reach)
    made = [
        MeetPolicy(read, columns, [moved], reach, known_within=distance) for distance in distances
    ]
    meeting = compared("meet", release_codes(meet), steps)
    known = [
        compared("", release_codes(policy), [most]).known[0]
        for policy, most in zip(made, steps, strict=True)
    ]
    return (
        near_line(BlurringPolicy(threshold, reach, box)),  # type: ignore[arg-type]  # read there
        near_line(StretchPolicy(threshold, reach, box)),  # type: ignore[arg-type]  # read there
        meeting,
        ComparedPolicy("meet made for it", meeting.counts, tuple(known)),
    )


def _gaps(
    outputs: NDArray[np.int64], places: NDArray[np.int64], holds: NDArray[np.bool_]
) -> list[int]:
    """Return how far each open record lies from the nearest of the other side, released alike."""
    groups: dict[int, tuple[list[int], list[int]]] = {}
    listed = zip(outputs.tolist(), places.tolist(), holds.tolist(), strict=True)
    for output, place, side in listed:
        groups.setdefault(output, ([], []))[side].append(place)
    return [
        min(abs(place - other) for other in others[max(0, at - 1) : at + 1])
        for sides in groups.values()
        if all(sides)
        for mine, others in (sides, sides[::-1])
        for place in mine
        for at in [bisect.bisect_left(others, place)]
    ]
