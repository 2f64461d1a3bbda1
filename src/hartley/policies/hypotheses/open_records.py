"""How many records a policy leaves open, counted exactly, and how many any policy could."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.boxes.box import Box, Interval
from hartley.boxes.intervals import UNIT, double_error
from hartley.boxes.polynomial import slope_ranges
from hartley.boxes.volumes import volume
from hartley.errors import OptionError
from hartley.exact import bits_at_most, log_ratio
from hartley.files import one_line
from hartley.policies.hypotheses.meeting import (
    MOST_RECORDS,
    HidingPolicy,
    meeting_places,
    open_grid,
    step_by,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.boxes.expression import Expression
    from hartley.policies.hypotheses.hypothesis import Hypothesis, LatticeColumn
    from hartley.policies.hypotheses.meeting import MeetPolicy
    from hartley.policies.hypotheses.sides import IntegerForm
    from hartley.tables.release_rules import Tree


PARTS = 64
"""A range is cut into this many parts to bound the slope of the line."""


@dataclass(frozen=True)
class OpenRecords:
    r"""How a release leaves a hypothesis open, counted over all possible records.

    .. math:: PrivX = \log_2 \frac{N}{N - R}, \qquad \varepsilon_X = \frac{R}{N - R}

    Counted in records: merging or splitting outputs cannot raise it. Priv, equation 10 of Farokhi
    2021, counts outputs and is given beside it. Exact.

    Example:
        >>> counted = OpenRecords(records=11, open=4, pairs=2, outputs=2)
        >>> counted.epsilon, counted.success, round(counted.bits, 6), round(counted.priv, 6)
        (Fraction(4, 7), Fraction(9, 11), 0.652077, 0.36257)
    """

    records: int
    """N: all possible records."""
    open: int
    """R: those whose release leaves the hypothesis open."""
    pairs: int
    """E: the sum over outputs of the smaller number of records on either side."""
    outputs: int
    """O: the outputs that leave it open."""

    @property
    def decided(self) -> int:
        """The records whose release decides the hypothesis."""
        return self.records - self.open

    @property
    def share(self) -> Fraction:
        """The share of all possible records that is left open."""
        return Fraction(self.open, self.records)

    @property
    def epsilon(self) -> Fraction | None:
        """R / (N - R); None where nothing is decided."""
        return Fraction(self.open, self.decided) if self.decided else None

    @property
    def bits(self) -> float:
        """PrivX in bits, never above the truth; infinite where nothing is decided."""
        return bits_at_most(self.records, self.decided) if self.decided else math.inf

    @property
    def priv(self) -> float:
        """Priv by equation 10, in bits, where decided records are released as they are."""
        return log_ratio(self.decided + self.outputs, self.decided) if self.decided else math.inf

    @property
    def success(self) -> Fraction:
        """How often the best test is right where every possible record is equally likely."""
        return 1 - Fraction(self.pairs, self.records)

    def __add__(self, other: OpenRecords) -> OpenRecords:
        return OpenRecords(*map(operator.add, vars(self).values(), vars(other).values()))


@dataclass(frozen=True)
class OpenShare:
    r"""At least which share of all that records could be a release leaves open.

    .. math:: PrivX \ge \log_2 \frac{1}{1 - share}

    For records that cannot be counted, since some of their values have no step. A bound.
    """

    share: Fraction
    reached: bool = True
    """Whether the volume behind it is known as closely as was wished; else more may be open."""

    @property
    def bits(self) -> float:
        """PrivX in bits, never above the truth; infinite where nothing is decided."""
        decided = 1 - self.share
        return bits_at_most(decided.denominator, decided.numerator) if decided else math.inf


@dataclass(frozen=True)
class OpenHypothesis:
    """A hypothesis that a column of a policy leaves open on data with a step, and how far."""

    hypothesis: str
    columns: Mapping[str, LatticeColumn] = field(hash=False)
    """Every column that it names."""
    move: tuple[str, ...]
    errors: tuple[Fraction, ...]
    """The furthest that a value of every moved column is moved."""
    counts: OpenRecords | OpenShare
    how: str
    """What is released near the line, in a sentence."""
    distance_to_partner: tuple[Fraction, ...] | None = None
    """How far two records that are released as one lie apart at most, in every moved column;
    None where they are at any distance within reach of the line."""
    known_within: tuple[Fraction, ...] | None = None
    """To within what somebody may know the moved values; None where that is not allowed for."""
    rounding: str | None = None
    """How values between the steps are read; None where they are refused."""
    ranges: Mapping[str, Interval] = field(default_factory=dict, hash=False)
    """The columns that it names without a step."""
    possible: str | None = None
    """The condition that every possible record fulfils; None where all are possible."""
    most: int | None = None
    """No policy within the same reach leaves it open for more records; None where not known."""


def count_outputs_open(holds: NDArray[Any], outputs: NDArray[Any]) -> OpenRecords:
    """Count the open records of a release that is given record by record."""
    sides, codes = np.asarray(holds).ravel().astype(bool), np.asarray(outputs).ravel()
    size = int(codes.max()) + 1 if codes.size else 0
    above = np.bincount(codes[sides], minlength=size)
    below = np.bincount(codes[~sides], minlength=size)
    shared = (above > 0) & (below > 0)
    return OpenRecords(
        records=int(codes.size),
        open=int((above + below)[shared].sum()),
        pairs=int(np.minimum(above, below).sum()),
        outputs=int(shared.sum()),
    )


def count_line(first: NDArray[np.int64], last: int, distance: int) -> OpenRecords:
    """Count the open records of many fibres with one moved column, each by a formula.

    On a fibre with U + 1 values of which the first k are below the line, `meet` with partners D
    apart leaves min(k, D) + min(U + 1 - k, D) records open where both sides have values, the most
    that any policy with such partners does. Exact; constant work a fibre.
    """
    fibres = int(first.size)
    k = first[(first > 0) & (first <= last)]
    below, above = np.minimum(k, distance), np.minimum(last + 1 - k, distance)
    if last < distance:  # every record of a fibre is released as its middle
        pairs, outputs = np.minimum(below, above), np.ones_like(k)
    else:
        p, q = distance - distance // 2, distance // 2
        pairs, outputs = np.zeros_like(k), np.zeros_like(k)
        # One output a distance from either end takes in all that would go beyond it.
        start = np.maximum(k - below + p, np.maximum(k - q, p + 1))
        end = np.minimum(k + p, np.minimum(k + above - q, last - q))
        inner = np.maximum(end - start, 0)
        pairs, outputs = pairs + inner, outputs + inner
        for place in {p, last - q}:
            # From below the line a record goes to min(x + p, U - q), from above to max(x - q, p).
            lower = (last - distance, k) if place == last - q else (place - p, place - p + 1)
            upper = (k, distance + 1) if place == p else (place + q, place + q + 1)
            smaller = np.minimum(_overlap((k - below, k), lower), _overlap((k, k + above), upper))
            pairs, outputs = pairs + smaller, outputs + (smaller > 0)
    return OpenRecords(
        records=fibres * (last + 1),
        open=int((below + above).sum()),
        pairs=int(pairs.sum()),
        outputs=int(outputs.sum()),
    )


def _overlap(first: tuple[Any, Any], second: tuple[Any, Any]) -> NDArray[np.int64]:
    """Count the whole numbers that two half-open intervals share."""
    shared = np.minimum(first[1], second[1]) - np.maximum(first[0], second[0])
    return np.asarray(np.maximum(shared, 0))


def count_bands(
    near: NDArray[np.int64], line: NDArray[np.int64], beyond: NDArray[np.int64], last: int
) -> OpenRecords:
    """Count the open records of many fibres on which everything near a line becomes the line."""
    below, above = line - near, beyond - line
    smaller = np.minimum(below, above)
    shared = smaller > 0
    return OpenRecords(
        records=int(line.size) * (last + 1),
        open=int((below + above)[shared].sum()),
        pairs=int(smaller.sum()),
        outputs=int(shared.sum()),
    )


def count_open(policy: MeetPolicy) -> OpenRecords:
    """Count the records that a policy `meet` leaves open, over all of its lattice.

    With one moved column a sum over the fibres, each by its line; with several, every record is
    released and the outputs are counted. Exact; refused beyond 4 million fibres, or records.

    Example:
        >>> from hartley.policies.hypotheses.hypothesis import LatticeColumn
        >>> from hartley.policies.hypotheses.meeting import MeetPolicy
        >>> half = LatticeColumn(0, 10, "0.5")
        >>> count_open(MeetPolicy("x >= 5", {"x": half}, ["x"], 1))
        OpenRecords(records=21, open=8, pairs=4, outputs=4)
    """
    if len(policy.move) == 1:
        (name,) = policy.move
        last, distance = policy.columns[name].last, policy.distances[0]
        first = first_above(policy.form, policy.columns, name, rising=policy.signs[name] > 0)
        return count_line(first, last, distance)
    refuse_many(policy.columns, list(policy.columns))
    outputs = release_codes(policy)
    holds = policy.holds(open_grid(policy.columns, policy.columns))
    return count_outputs_open(np.broadcast_to(holds, outputs.shape), outputs)


def release_codes(policy: MeetPolicy) -> NDArray[Any]:
    """Return what a policy `meet` releases for every record of its lattice, as a whole number."""
    indices = open_grid(policy.columns, policy.columns)
    released = indices | policy.release_indices(indices)
    codes: Any = 0
    for name, column in policy.columns.items():
        codes = codes * (column.last + 1) + released[name]
    shape = tuple(column.last + 1 for column in policy.columns.values())
    return np.asarray(np.broadcast_to(codes, shape))


def refuse_many(columns: Mapping[str, LatticeColumn], names: Sequence[str]) -> None:
    """Refuse to count more records, or fibres, than can be looked at one by one."""
    size = math.prod(columns[name].last + 1 for name in names)
    if size > MOST_RECORDS:
        raise OptionError(
            f"The lattice has {size:,} combinations of {', '.join(names)}, too many to count",
            hint=f"declare coarser steps: up to {MOST_RECORDS:,} are counted one by one",
        )


def first_above(
    form: IntegerForm, columns: Mapping[str, LatticeColumn], name: str, *, rising: bool
) -> NDArray[np.int64]:
    """Return for every fibre where the hypothesis changes, by bisection in whole numbers.

    The first index at which a rising hypothesis holds, or a falling one fails counted from the
    other end, so that `count_line` counts both; U + 1 where it never does.
    """
    others = [other for other in columns if other != name]
    refuse_many(columns, others)
    grid = open_grid(columns, others) if others else {}
    shape = tuple(columns[other].last + 1 for other in others)
    last = columns[name].last
    low = np.zeros(shape, np.int64)
    high = np.full(shape, last + 1, np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        index = middle if rising else last - middle
        holds = form.at(grid | {name: np.clip(index, 0, last)})
        reached = np.broadcast_to(np.asarray(holds), shape).astype(bool) & (middle <= last)
        high = np.where((low < high) & (reached | (middle > last)), middle, high)
        low = np.where((low < high) & ~reached & (middle <= last), middle + 1, low)
    return low.ravel()


def ball(
    norm: str, radii: Sequence[int], steps: Sequence[Fraction], reach: Fraction
) -> NDArray[np.bool_]:
    """Return which moves a norm allows, as an array of truth values centred on no move."""
    axes = np.meshgrid(*(np.arange(-r, r + 1) for r in radii), indexing="ij")
    allowed = np.ones(axes[0].shape, bool)
    if norm == "sup":
        return allowed
    for place in np.ndindex(*allowed.shape):
        sizes = [abs(int(axis[place])) * step for axis, step in zip(axes, steps, strict=True)]
        length = sum(sizes) if norm == "l1" else sum(size * size for size in sizes)
        allowed[place] = length <= (reach if norm == "l1" else reach * reach)
    return allowed


def coverable(
    holds: NDArray[Any], moves: NDArray[np.bool_], possible: NDArray[Any] | None = None
) -> NDArray[np.bool_]:
    """Return the records that some policy within the moves could leave open: an upper bound.

    A record is coverable if some record within reach of it has records of both sides within
    reach. What is open under any policy is coverable. One dilation for each of three sets.

    Args:
        holds: whether the hypothesis holds, an axis a moved column.
        moves: which moves are allowed, from ``ball``.
        possible: which records can occur; all if left out.

    Example:
        >>> coverable(np.arange(11) >= 5, ball("sup", [1], [Fraction(1)], Fraction(1))).sum()
        np.int64(4)
    """
    from scipy.ndimage import binary_dilation

    sides = np.asarray(holds, bool)
    can_be = np.ones(sides.shape, bool) if possible is None else np.asarray(possible, bool)
    near = [binary_dilation(side & can_be, moves) for side in (sides, ~sides)]
    return np.asarray(binary_dilation(near[0] & near[1], moves) & can_be)


def count_coverable(policy: MeetPolicy) -> int | None:
    """Return how many records no policy within the same norm leaves open more than.

    The records of the lattice that are ``coverable``; in the corners of a box no policy may reach
    all of them. None where what somebody knows limits a policy further, or where the norm allows
    too many moves to look at. Exact.
    """
    columns, reach = policy.columns, policy.reach[0]
    shape = tuple(column.last + 1 for column in columns.values())
    radii = [
        math.floor(reach / column.step) if name in policy.move else 0
        for name, column in columns.items()
    ]
    looks = math.prod(shape) * math.prod(2 * radius + 1 for radius in radii)
    if policy.known_within is not None or looks > 10**8:
        return None
    moves = ball(policy.norm, radii, [column.step for column in columns.values()], reach)
    holds = np.broadcast_to(policy.holds(open_grid(columns, columns)), shape)
    return int(coverable(holds, moves).sum())


def most_pairs(holds: NDArray[Any], moves: NDArray[np.bool_]) -> int:
    """Return the largest E of any policy within the moves: a maximum matching of the two sides.

    Records of either side are joined where they share an output within reach. Twice as many
    records can be left open at least, so 2 E is a lower bound of the most and ``coverable`` an
    upper one; the most itself is NP-hard to find in general. Hopcroft and Karp 1973.

    Example:
        >>> most_pairs(np.arange(11) >= 5, ball("sup", [1], [Fraction(1)], Fraction(1)))
        2
    """
    sides = np.asarray(holds, bool)
    flat, near = sides.ravel(), near_places(sides.shape, moves)
    above, below, _ = meeting_pairs(flat, np.ones_like(flat), near)
    return int((match(above, below, (flat.size, flat.size)) >= 0).sum())


def near_places(shape: tuple[int, ...], moves: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Return for every place the places within the moves of it; moves are alike in both ways."""
    numbers = np.arange(math.prod(shape)).reshape(shape)
    offsets = np.argwhere(moves) - [size // 2 for size in moves.shape]
    near = []
    for place in np.ndindex(*shape):
        reached = offsets + place
        inside = ((reached >= 0) & (reached < shape)).all(axis=1)
        near.append(numbers[tuple(reached[inside].T)])
    return near


def meeting_pairs(
    sides: NDArray[np.bool_], possible: NDArray[np.bool_], near: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return all pairs of records of either side that can meet, and the first place of each."""
    keys = []
    for place, records in enumerate(near):
        present = records[possible[records]]
        above, below = present[sides[present]], present[~sides[present]]
        codes = (above[:, None] * sides.size + below[None, :]).ravel()
        keys.append(np.stack([codes, np.full(codes.size, place)]))
    codes, places = np.concatenate(keys, axis=1)
    pairs, first = np.unique(codes, return_index=True)
    return *np.divmod(pairs, sides.size), places[first]


def match(
    rows: Sequence[int] | NDArray[np.int64],
    columns: Sequence[int] | NDArray[np.int64],
    shape: tuple[int, int],
) -> NDArray[np.int32]:
    """Return a maximum matching of rows and columns that are joined: a column a row, or -1."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    graph = csr_matrix((np.ones(len(rows), np.int8), (rows, columns)), shape)
    return np.asarray(maximum_bipartite_matching(graph, perm_type="column"))


# --- beside columns without a step: a line in doubles, and its error ------------------------------


class ContinuousMeetPolicy(HidingPolicy):
    r"""Release records from either side of a line over values without a step at common places.

    One column on a step is moved: x >= line over the other columns, of which some have a range and
    no step. On every fibre the policy is that of ``MeetPolicy``: indices k that are certainly below
    the line and have k + D certainly above it meet those. The line is computed in doubles; its
    error over all of the ranges is bounded beforehand, and an index closer to the line than that is
    on neither side for certain, stays where it is and is no partner. So every moved record is open,
    whatever rounding does.

    .. math:: share \ge \frac{2D\, V - 2 V_{near}}{U + 1}

    with V the share of the fibres that have D values on either side of the line, from below by
    certified volume, and V_near that of fibres whose line may lie on a value, from above.
    Farokhi 2021, Theorem 4, replaced for data with a step. A bound.

    Args:
        hypothesis: a comparison of the moved column with an expression over the others.
        columns: the lattice of the moved column.
        ranges: the ranges of the other columns.
        move: the column that is moved, alone in a list.
        reach: the furthest that a value may be moved.
        known_within: somebody may know the value to within so much.

    Example:
        >>> from hartley.policies.hypotheses.hypothesis import LatticeColumn
        >>> policy = ContinuousMeetPolicy(
        ...     "kg >= cm/2", {"kg": LatticeColumn(0, 100, 1)}, {"cm": Interval(0, 200)}, ["kg"], 5
        ... )
        >>> round(float(policy.count_open().share), 6)  # 20 of 101 values, for 82 % of the lines
        0.162376
    """

    def __init__(  # noqa: PLR0913 - each is one choice of the user's
        self,
        hypothesis: Hypothesis | str,
        columns: Mapping[str, LatticeColumn],
        ranges: Mapping[str, Interval],
        move: Sequence[str],
        reach: object,
        *,
        known_within: object = None,
    ) -> None:
        self._read([hypothesis], columns, move, reach, known_within=known_within, ranges=ranges)

    def _check(self) -> None:
        if self.hypothesis.line_column is None or (self.hypothesis.line_column,) != self.move:
            raise OptionError(
                f"The hypothesis '{one_line(self.hypothesis.text)}' names columns without a step, "
                "and does not compare the moved column with an expression over them",
                hint="declare the steps of all columns, or write weight >= 30*(height/100)**2",
            )
        names = set(self.hypothesis.names)
        if set(self.columns) != set(self.move) or {*self.columns, *self.ranges} != names:
            raise OptionError(
                "Beside columns without a step, the moved column alone has one",
                hint="declare low and high of the others, or the steps of all",
            )
        if self.distances[0] < 1:
            raise OptionError(
                "The reach, or what is known beforehand, is below one step: nothing can be hidden",
                hint="allow values to be moved by a step or more",
            )
        if self.line_error > Fraction(1, 2**20):  # steps: it would decide too little
            raise OptionError(
                f"In doubles the line of '{one_line(self.hypothesis.text)}' is not known well "
                "enough within the declared ranges",
                hint="declare narrower ranges or a coarser step, or write it with smaller numbers",
            )

    @property
    def name(self) -> str:
        """The moved column."""
        return self.move[0]

    @property
    def lattice(self) -> LatticeColumn:
        """Its lattice."""
        return self.columns[self.name]

    @property
    def line(self) -> Expression:
        """Where the hypothesis changes, as an index that need not be whole."""
        first, second = self.hypothesis.clause[1].arguments
        is_first = first.operation == "var" and first.arguments[0] == self.name
        line: Expression = second if is_first else first
        return (line - self.lattice.low) / self.lattice.step

    @cached_property
    def line_error(self) -> Fraction:
        """How far the line in doubles is from the true one at most, in steps."""
        error = double_error(self.line, self.ranges)
        # Twice as much leaves room for the sum and the difference with it.
        error = 2 * error + 4 * UNIT * (self.lattice.last + 1)
        return Fraction(math.ceil(error * 2**80), 2**80)  # up, to what a double holds

    @cached_property
    def trees(self) -> dict[str, Tree]:
        """The index that is released, as a formula over the index and the other columns."""
        last, distance, here = self.lattice.last, self.distances[0], ("var", self.name)
        # The line is cut off beyond the range, where its size would cost digits.
        line = ("max", ("min", self.line.to_tree(), ("const", str(last + 2))), ("const", "-2"))
        error = ("const", str(self.line_error))
        surely_below, surely_above = ("-", line, error), ("+", line, error)
        up, down = step_by(self.name, distance, 0, last), step_by(self.name, -distance, 0, last)
        lower, upper = meeting_places(self.name, last, distance, rising=True)
        rises = ("and", ("<", here, surely_below), ("<", surely_above, up))
        falls = ("and", ("<", surely_above, here), ("<", down, surely_below))
        return {self.name: ("if", rises, lower, ("if", falls, upper, here))}

    @property
    def peak(self) -> int:
        """No whole number on the way to a release is larger in size."""
        return 2 * self.lattice.last + 2 * self.distances[0] + 4

    def count_open(self, *, gap: float = 1e-6) -> OpenShare:
        """Return which share of all that records could be is left open, from below."""
        last, distance = self.lattice.last, self.distances[0]
        box = Box(dict(self.ranges))
        # Between these the first index above has D values below it, and D from it on.
        low, high = Fraction(distance - 1), Fraction(last + 1 - distance)
        if low >= high:
            return OpenShare(Fraction(0))
        full = Interval(low, high, low_closed=False, high_closed=False)
        fibres = volume(box, self.line, full, gap=gap)
        share = fibres.low / box.volume
        # At most the share of the fibres whose line is closer to a value than its error.
        near = min(share, *(map(self._share_near_values, self.line.names)), Fraction(1))
        least = max(Fraction(0), (2 * distance * share - 2 * near) / (last + 1))
        return OpenShare(least, fibres.reached)

    def _share_near_values(self, name: str) -> Fraction:
        # A line that rises or falls by L at least for every unit of a column is within e of a given
        # whole number on a length of 2e/L at most. Where its slope may be zero a whole part counts.
        side, total = self.ranges[name], Fraction(0)
        part = side.length / PARTS
        for place in range(PARTS):
            ends = Interval(side.low + part * place, side.low + part * (place + 1))
            slope = slope_ranges(self.line, dict(self.ranges) | {name: ends})[name]
            low, high = (0.0, 0.0) if slope is None else slope
            if isinstance(low, float) or isinstance(high, float) or low <= 0 <= high:
                total += Fraction(1, PARTS)
                continue
            values = math.floor(max(abs(low), abs(high)) * ends.length) + 2
            length = values * 4 * self.line_error / max(low, -high)
            total += min(length, ends.length) / side.length
        return total
