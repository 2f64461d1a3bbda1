"""The best policy on one column, for any hypothesis: a table of what every value becomes."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    State = tuple[int, int]
    """The last representative of either side: one for which the hypothesis fails, one not."""


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
    """Count what a table of released indices leaves open.

    Example:
        >>> count_table([False, False, True, True], [0, 2, 2, 3]).open
        2
    """
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

    Args:
        sides: for every hypothesis and index whether it holds; None of a value that cannot occur.
        moves: by how many steps m a value may be moved.

    Example:
        >>> lines = [[x >= first for x in range(10)] for first in (3, 7)]
        >>> table = best_table(lines, 1)
        >>> table.open, count_table(lines[1], table.released).open
        (4, 4)
    """
    if len(sides) == 1:
        return best_line(sides[0], moves)
    candidates = [_cut_lines(sides, moves), *(best_line(row, moves).released for row in sides)]
    firsts = _thresholds(sides)
    if firsts:
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


def _thresholds(sides: Sequence[Sequence[bool | None]]) -> list[int]:
    """Return where each hypothesis changes; nothing where one changes twice or values lack."""
    changes = [_changes(row) for row in sides]
    if any(None in row for row in sides) or any(len(places) > 1 for places in changes):
        return []
    return sorted({index for places in changes for index in places})
