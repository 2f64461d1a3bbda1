"""Games of guessing, played many times: membership, trajectories; and the groups of mu-Approx."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hartley.kernels.draws import Steps, inlined, release
from hartley.kernels.neighbours import (
    Tree,
    build_tree,
    least_distance,
    nearest_rows,
    plain_mdav,
    squared_distance,
)
from hartley.kernels.pairs import (
    compiled,
    find_root,
    join,
    number_trees,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


CORRELATION, SQUARED_ERROR, PEAKS, CONSISTENCY = range(4)
"""Columns of the outcomes, one a strategy."""
SHIFTS = tuple(np.uint64(1 + strategy) for strategy in range(4))
TIE = 1e-9
"""Correlations nearer than this, or squared errors in proportion, are equal: a coin decides."""
READINGS_A_TASK = 4_000_000
"""A task of a thread is a number of games with about so many readings in all."""
FEW = 16
"""How many nearest neighbours of each row are listed at most; farther ones are searched for."""
GOLDEN, FIRST, SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
S27, S30, S31, S32, ONE = (np.uint64(shift) for shift in (27, 30, 31, 32, 1))


summing = partial(compiled, fastmath=("reassoc", "nsz"))
"""Compiles with sums in any order: the rounding is far smaller than what counts as a tie."""


# --- membership: which of two candidates was in the group whose aggregate was released? -----------
#
# Readings are whole numbers on a grid (codes), so that the sum of a group, its cell and what is
# consistent with that cell are exact. A game draws its random numbers from the seed and its own
# number, so the result does not depend on the thread that plays it.


class Profiles(NamedTuple):
    """The readings of everybody, one row a person, and what the strategies need of each row."""

    codes: NDArray[Any]
    """Whole numbers, as 32-bit integers or doubles, so small that the sum of a group fits too."""
    peaks: NDArray[np.uint8]
    moments: NDArray[np.float64]
    """Of each person the sum, the sum of squares, and one over the number of readings times their
    deviation, 0 where all are equal."""


class Rules(NamedTuple):
    """Who plays: the size of the group, and the candidates where they are always the same."""

    group: int
    first: int
    second: int
    """Both -1 where every game draws its own candidates."""


@compiled
def mixed(state: np.uint64) -> np.uint64:
    """Return the scrambled state of SplitMix64 (Steele, Lea and Flood 2014)."""
    state = (state ^ (state >> S30)) * FIRST
    state = (state ^ (state >> S27)) * SECOND
    return state ^ (state >> S31)


@compiled
def first_state(seed: np.uint64, game: np.uint64) -> np.uint64:
    """Return the state with which the random numbers of one game, or of one trial, begin."""
    return mixed(seed ^ mixed(game + ONE))


@compiled
def bounded_draw(state: np.uint64, below: int) -> np.int64:
    """Return the whole number below a bound that a state stands for; even to one part in 2^32."""
    # The upper 32 bits times a bound below 2^32 fit into 64 bits; no division, no rejection.
    return np.int64(((mixed(state) >> S32) * np.uint64(below)) >> S32)


@inlined
def _draw_game(
    seed: np.uint64,
    game: np.uint64,
    rules: Rules,
    order: NDArray[np.int64],
    swaps: NDArray[np.int64],
) -> np.uint64:
    """Move the candidates and the others of a game to the front; return the bits of its coins."""
    state = first_state(seed, game)
    # The first steps of a Fisher-Yates shuffle; candidates that are fixed stay in their places.
    # Every swap is noted, so that `_undo` restores the order without copying it.
    for place in range(2 if rules.first >= 0 else 0, rules.group + 1):
        state += GOLDEN
        other = place + bounded_draw(state, order.size - place)
        swaps[place] = other
        order[place], order[other] = order[other], order[place]
    return mixed(state + GOLDEN)


@inlined
def _undo(rules: Rules, order: NDArray[np.int64], swaps: NDArray[np.int64]) -> None:
    """Restore the order, so that the next game does not depend on this one."""
    start = 2 if rules.first >= 0 else 0
    for place in range(rules.group, start - 1, -1):
        other = swaps[place]
        order[place], order[other] = order[other], order[place]


@compiled
def _first_order(people: int, rules: Rules) -> NDArray[np.int64]:
    order = np.arange(people)
    if rules.first >= 0:
        order[0], order[rules.first] = order[rules.first], order[0]
        at = 0
        for i in range(people):
            if order[i] == rules.second:
                at = i
        order[1], order[at] = order[at], order[1]
    return order


@compiled
def drawn_games(
    seed: np.uint64, first: int, count: int, people: int, rules: Rules
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return who plays in some games, the two candidates before the others, and their coins.

    Bit 0 of the coins says which candidate takes part; bit 1 + s decides ties of strategy s.
    """
    order, swaps = _first_order(people, rules), np.zeros(rules.group + 1, np.int64)
    who = np.empty((count, rules.group + 1), np.int64)
    coins = np.empty(count, np.uint64)
    for game in range(count):
        coins[game] = _draw_game(seed, np.uint64(first + game), rules, order, swaps)
        who[game] = order[: rules.group + 1]
        _undo(rules, order, swaps)
    return who, coins


@inlined
def _add_up(
    codes: NDArray[Any], who: NDArray[np.int64], truth: np.int64, group: int, sums: NDArray[Any]
) -> None:
    """Add up the readings of the candidate who takes part and of the others."""
    first = np.uint64(who[truth])
    for t in range(sums.size):
        sums[t] = codes[first, t]
    for i in range(2, group + 1):
        row = np.uint64(who[i])
        for t in range(sums.size):
            sums[t] += codes[row, t]


@summing
def _moments(
    padded: NDArray[np.float64],
    codes: NDArray[Any],
    peaks: NDArray[np.uint8],
    first: np.uint64,
    second: np.uint64,
) -> tuple[float, float, float, float, float]:
    """Return the sums over released numbers that the strategies compare candidates by."""
    # Sums of the numbers, each less the first one, of their squares and of their products with the
    # readings of both candidates, and how many more peaks the release shares with the first one.
    # The release is padded by one place on both sides, where nobody has a peak.
    start = padded[1]  # numbers near zero: less is lost when squares are subtracted later
    total = square = with_first = with_second = more = 0.0
    for t in range(padded.size - 2):
        value = padded[t + 1] - start
        total += value
        square += value * value
        with_first += value * codes[first, t]
        with_second += value * codes[second, t]
        peak = (padded[t + 1] > padded[t]) & (padded[t + 1] >= padded[t + 2])
        difference = float(np.int32(peaks[first, t]) - np.int32(peaks[second, t]))
        more += difference if peak else 0.0
    return total, square, with_first, with_second, more


@inlined
def _compare(
    padded: NDArray[np.float64],
    codes: NDArray[Any],
    peaks: NDArray[np.uint8],
    moments: NDArray[np.float64],
    pair: tuple[np.uint64, np.uint64],
) -> tuple[float, float, float]:
    """Return by how much the first candidate fits better, by three strategies; 0 for a tie."""
    first, second = pair
    total, square, with_first, with_second, more = _moments(padded, codes, peaks, first, second)
    size, start = padded.size - 2, padded[1]
    sum_first, squares_first, scale_first = moments[first, 0], moments[first, 1], moments[first, 2]
    sum_second, squares_second = moments[second, 0], moments[second, 1]
    scale_second = moments[second, 2]
    # Both correlations have the factor 1 / sqrt(spread), which is left out: the comparison with
    # TIE is squared instead. A constant release has no spread and is a tie.
    spread = size * square - total * total
    better = (size * with_first - sum_first * total) * scale_first
    better -= (size * with_second - sum_second * total) * scale_second
    correlation = better if better * better > TIE * TIE * spread else 0.0
    # The squared error of the second candidate less that of the first, multiplied out: the squares
    # of the release cancel, and `start` is added to it again.
    better = squares_second - squares_first
    better += 2 * (with_first - with_second + start * (sum_first - sum_second))
    level = square + 2 * start * total + size * start * start
    error = better if abs(better) > TIE * (squares_first + squares_second + level) else 0.0
    return correlation, error, more


@inlined
def _outcome(score: float, coin: np.uint64, truth: np.int64) -> int:
    """Return 2 or -2 for a choice by score, 1 or -1 by a coin; positive where it is right."""
    # Without branches: half of them would be mispredicted. A positive score names candidate 0.
    by_coin = np.int64(score == 0)
    named = by_coin * np.int64(coin) + (1 - by_coin) * np.int64(score < 0)
    return (2 - by_coin) * (1 - 2 * (named ^ truth))  # type: ignore[return-value]  # a whole number


@compiled
def _play(  # noqa: PLR0913, PLR0917 - a compiled loop takes plain arrays
    seed: np.uint64,
    first: int,
    profiles: Profiles,
    steps: Steps,
    rules: Rules,
    out: NDArray[np.int8],
) -> None:
    """Play the games from a number on and write the outcome of every strategy in each."""
    people, size = profiles.codes.shape
    order, swaps = _first_order(people, rules), np.zeros(rules.group + 1, np.int64)
    sums, padded = np.empty(size, profiles.codes.dtype), np.zeros(size + 2)
    codes, peaks, moments = profiles.codes, profiles.peaks, profiles.moments
    runs, equal = steps.runs, steps.equal
    for game in range(out.shape[0]):
        coins = _draw_game(seed, np.uint64(first + game), rules, order, swaps)
        truth = np.int64(coins & ONE)
        _add_up(codes, order, truth, rules.group, sums)
        other = np.uint64(order[1 - truth])
        excluded = release(sums, codes, other, padded, steps, runs, equal, rules.group)
        pair = (np.uint64(order[0]), np.uint64(order[1]))
        scores = _compare(padded, codes, peaks, moments, pair)
        out[game, 0] = _outcome(scores[0], (coins >> SHIFTS[0]) & ONE, truth)
        out[game, 1] = _outcome(scores[1], (coins >> SHIFTS[1]) & ONE, truth)
        out[game, 2] = _outcome(scores[2], (coins >> SHIFTS[2]) & ONE, truth)
        # Only the candidate who did not take part can be excluded: the score is 0 or names the
        # other one, so consistency is never wrong except by its coin.
        by_exclusion = float((1 - 2 * truth) * excluded)
        out[game, 3] = _outcome(by_exclusion, (coins >> SHIFTS[3]) & ONE, truth)
        _undo(rules, order, swaps)


@compiled
def count_outcomes(out: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return in how many games each strategy was right, and in how many a coin decided.

    Example:
        >>> count_outcomes(np.array([[2, -1, 1, 1], [2, -2, -1, 2]], np.int8))
        (array([2, 0, 1, 2]), array([0, 1, 2, 1]))
    """
    wins, coins = np.zeros(4, np.int64), np.zeros(4, np.int64)
    for game in range(out.shape[0]):
        for s in range(4):
            wins[s] += out[game, s] > 0
            coins[s] += abs(out[game, s]) == 1
    return wins, coins


def play_games(  # noqa: PLR0913 - what a game is made of
    profiles: Profiles,
    steps: Steps,
    rules: Rules,
    *,
    games: int,
    seed: int,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Iterator[NDArray[np.int8]]:
    """Yield the outcomes of games in their order, some at a time, one row a game.

    The columns are the strategies; 2 is a right and -2 a wrong choice by score, 1 and -1 the
    same by a coin. The number of threads changes only the time.
    """
    # A whole number of any size is a seed; all its bits count.
    key = np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    step = max(1, READINGS_A_TASK // (profiles.codes.shape[1] * (rules.group + 4)))
    starts = range(0, games, step)

    def play(start: int) -> NDArray[np.int8]:
        out = np.empty((min(step, games - start), 4), np.int8)
        _play(key, start, profiles, steps, rules, out)
        return out

    pool = ThreadPoolExecutor(threads or os.cpu_count() or 1, thread_name_prefix="hartley-games")
    try:
        for start, out in zip(starts, pool.map(play, starts), strict=True):
            yield out
            if progress is not None:
                progress(min(1.0, (start + step) / games))
    finally:
        pool.shutdown(cancel_futures=True)


# --- trajectories: who is the only one at all places where somebody is known to have been? --------


class Visits(NamedTuple):
    """Which points everybody visited and who visited each point, both in ascending order."""

    person_at: NDArray[np.int64]
    """Where the points of each person begin, and the end of the last."""
    points: NDArray[np.int64]
    point_at: NDArray[np.int64]
    people: NDArray[np.int64]


def visits_of(people: NDArray[np.int64], points: NDArray[np.int64]) -> Visits:
    """Return the visits of distinct pairs of a person and a point, both numbered from 0."""
    by_person, by_point = np.lexsort((points, people)), np.lexsort((people, points))
    return Visits(
        np.concatenate(([0], np.cumsum(np.bincount(people)))),
        points[by_person],
        np.concatenate(([0], np.cumsum(np.bincount(points)))),
        people[by_point],
    )


@compiled
def _holds(values: NDArray[np.int64], wanted: int) -> bool:
    """Tell whether sorted values hold a wanted one."""
    at = np.searchsorted(values, wanted)
    return bool(at < values.size and values[at] == wanted)


@compiled
def _is_alone(visits: Visits, person: int, known: NDArray[np.int64]) -> bool:
    """Tell whether nobody else visited all the known points of a person."""
    # Another person at all known points is at the rarest one too: only its visitors are checked.
    rarest = known[0]
    for i in range(1, known.size):
        size = visits.point_at[known[i] + 1] - visits.point_at[known[i]]
        if size < visits.point_at[rarest + 1] - visits.point_at[rarest]:
            rarest = known[i]
    for at in range(visits.point_at[rarest], visits.point_at[rarest + 1]):
        other = visits.people[at]
        if other == person:
            continue
        theirs = visits.points[visits.person_at[other] : visits.person_at[other + 1]]
        shared = True
        for i in range(known.size):
            if not _holds(theirs, known[i]):
                shared = False
                break
        if shared:
            return False
    return True


@compiled
def singled_out(visits: Visits, known: int, seed: np.uint64, trials: int) -> NDArray[np.bool_]:
    """Draw a person and some of their points in every trial; tell if nobody else has them all.

    A person who has fewer points is known by all of them. With zero trials everybody is checked
    once, by all their points; ``known`` and the seed are not used then.

    Example:
        >>> visits = visits_of(np.array([0, 0, 1]), np.array([0, 1, 0]))
        >>> singled_out(visits, 0, np.uint64(0), 0)
        array([ True, False])
    """
    people = visits.person_at.size - 1
    alone = np.empty(trials or people, np.bool_)
    longest = 0
    for person in range(people):
        longest = max(longest, visits.person_at[person + 1] - visits.person_at[person])
    held = np.empty(longest, np.int64)
    for trial in range(alone.size):
        state = first_state(seed, np.uint64(trial))
        person = int(bounded_draw(state, people)) if trials else trial
        theirs = visits.points[visits.person_at[person] : visits.person_at[person + 1]]
        chosen = min(known, theirs.size) if trials else theirs.size
        held[: theirs.size] = theirs
        # The first steps of a Fisher-Yates shuffle; nothing is drawn where all points are known.
        for place in range(chosen if chosen < theirs.size else 0):
            state += GOLDEN
            other = place + bounded_draw(state, theirs.size - place)
            held[place], held[other] = held[other], held[place]
        alone[trial] = _is_alone(visits, person, held[:chosen])
    return alone


# --- mu-Approx: grow a forest of short edges, cut it, and divide what is too large ----------------


class Edges(NamedTuple):
    """Pairs of rows and their squared distances."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    length: NDArray[np.float64]


def mu_approx_groups(points: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Return the group of every row by mu-Approx, of integers from ``integer_points``.

    Every component of fewer than k records is joined to another by its shortest outgoing edge,
    round by round; trees of more than max(2k - 1, 3k - 5) records lose their longest edge that
    leaves k records on both sides, as long as there is one; what is still larger than 2k - 1 is
    divided by MDAV (after Domingo-Ferrer, Sebe and Solanas 2008). Of edges of one length the one
    between the smaller rows counts as shorter. About n log n log k for points in few columns; a
    cut also costs the size of its tree, and a tree of m records that cannot be cut m^2 / k.
    """
    size = points.shape[0]
    if size < 2 * k:
        return np.zeros(size, np.int32)
    edges = grow_forest(points, k)
    cut = cut_forest(edges, size, k, max(2 * k - 1, 3 * k - 5))
    remaining = Edges(edges.first[~cut], edges.second[~cut], edges.length[~cut])
    return np.asarray(divide_trees(points, trees_of(remaining, size), k))


@compiled
def _enclosed(tree: Tree, component: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return for every node of a tree the component that all its rows are in, or -1."""
    leaves = tree.alive.size
    inside = np.full(2 * leaves, -1, np.int32)
    for leaf in range(leaves):
        whole = component[tree.rows[tree.start[leaf]]]
        for place in range(tree.start[leaf] + 1, tree.start[leaf + 1]):
            if component[tree.rows[place]] != whole:
                whole = np.int32(-1)
        inside[leaves + leaf] = whole
    for node in range(leaves - 1, 0, -1):
        if inside[2 * node] == inside[2 * node + 1]:
            inside[node] = inside[2 * node]
    return inside


@compiled
def _nearest_outside(
    tree: Tree, inside: NDArray[np.int32], component: NDArray[np.int32], row: int, limit: float
) -> tuple[int, float]:
    """Return the nearest row of another component and how far it is; -1 beyond the limit."""
    leaves, ours, target = tree.alive.size, component[row], tree.points[tree.place[row]]
    nodes, bounds = tree.nodes, tree.bounds
    nodes[0], bounds[0], top = 1, 0.0, 1
    nearest, best = -1, limit
    while top > 0:
        top -= 1
        node, bound = nodes[top], bounds[top]
        if inside[node] == ours or bound > best:
            continue
        # A box at exactly the best distance can only win by a smaller row. As long as no row is
        # known it is opened: a row at the limit itself may decide a tie between two edges.
        if bound == best and 0 <= nearest < tree.boxes[node, -1]:
            continue
        if node < leaves:
            farther, nearer = 2 * node, 2 * node + 1
            bounds[top] = least_distance(tree, farther, target)
            bounds[top + 1] = least_distance(tree, nearer, target)
            if bounds[top] < bounds[top + 1]:
                farther, nearer = nearer, farther
                bounds[top], bounds[top + 1] = bounds[top + 1], bounds[top]
            # The nearer box is on top of the stack: it is opened first and lowers the best early.
            nodes[top], nodes[top + 1] = farther, nearer
            top += 2
            continue
        for place in range(tree.start[node - leaves], tree.start[node - leaves + 1]):
            other = tree.rows[place]
            if component[other] == ours:
                continue
            distance = squared_distance(tree.points, place, target)
            if distance < best or (distance == best and (nearest < 0 or other < nearest)):
                nearest, best = other, distance
    return nearest, best


@compiled
def _list_nearest(tree: Tree, few: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return for every row a few others nearest to it, nearest first, and how far they are."""
    size = tree.rows.size
    others, lengths = np.empty((size, few), np.int32), np.empty((size, few))
    distances, rows = np.empty(few + 1), np.empty(few + 1, np.int64)
    for place in range(size):  # neighbours in the tree search the same leaves
        row = tree.rows[place]
        nearest_rows(tree, tree.points[place], row, distances, rows)
        # The heap is sorted by distance and then by row; the row itself comes first and is dropped.
        by_row = np.argsort(rows)
        order = by_row[np.argsort(distances[by_row], kind="mergesort")][1:]
        for i in range(few):
            others[row, i], lengths[row, i] = rows[order[i]], distances[order[i]]
    return others, lengths


@compiled
def grow_forest(points: NDArray[np.float64], k: int) -> Edges:
    """Return the edges that join every component of fewer than k rows to others.

    Every round, each component of fewer than k rows is joined by its shortest outgoing edge
    (Boruvka 1926). Components only grow: the nearest row outside remains the nearest until it is
    inside, and its distance is a lower bound for the next one.
    """
    size = points.shape[0]
    tree = build_tree(points, np.arange(size))
    # A component of fewer than k rows holds at most k - 2 neighbours of a row, so one of k - 1
    # listed neighbours is outside: the tree is searched again only where k - 1 exceeds FEW.
    others, lengths = _list_nearest(tree, min(k - 1, FEW))
    parent, component = np.arange(size).astype(np.int32), np.arange(size).astype(np.int32)
    sizes, best = np.ones(size, np.int32), np.empty(size, np.int32)
    near, apart, seen = others[:, 0].copy(), lengths[:, 0].copy(), np.ones(size, np.int32)
    first, second, length = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    edges, before = 0, -1
    while edges > before:
        _choose(tree, component, sizes, k, (near, apart, best))
        before = edges
        for root in range(size):
            row = best[root]
            if row < 0:
                continue
            above, beyond = find_root(parent, row), find_root(parent, near[row])
            # Edges are ordered strictly, so the choices of one round close no circle; the ends are
            # already joined only if the other side has chosen the same edge.
            if above == beyond:
                continue
            whole = sizes[above] + sizes[beyond]
            sizes[join(parent, above, beyond)] = whole
            first[edges], second[edges], length[edges] = row, near[row], apart[row]
            edges += 1
        for row in range(size):
            component[row] = find_root(parent, row)
        # The list of a row is sorted, so its first entry outside is the nearest row outside.
        # `near` is -1 only after a search, when the list is used up: it is no index here.
        for row in range(size):
            while seen[row] < others.shape[1] and component[near[row]] == component[row]:
                near[row], apart[row] = others[row, seen[row]], lengths[row, seen[row]]
                seen[row] += 1
    return Edges(first[:edges].copy(), second[:edges].copy(), length[:edges].copy())


@compiled
def _choose(
    tree: Tree,
    component: NDArray[np.int32],
    sizes: NDArray[np.int32],
    k: int,
    edges: tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]],
) -> None:
    """Find for every component of fewer than k rows the row with its shortest outgoing edge."""
    near, apart, best = edges
    inside = _enclosed(tree, component)
    best[:] = -1
    # Rows whose nearest is still outside come first, since they need no search; the best of them
    # limits the search of the other rows.
    for known in (True, False):
        for row in tree.rows:  # neighbours in the tree search the same leaves
            root = component[row]
            if sizes[root] >= k or (near[row] >= 0 and component[near[row]] != root) != known:
                continue
            held = best[root]
            if not known:
                limit = np.inf if held < 0 else apart[held]
                # The last known distance is a lower bound, also where a search ended at its limit.
                if apart[row] > limit:
                    continue
                near[row], apart[row] = _nearest_outside(tree, inside, component, row, limit)
            if near[row] >= 0 and (held < 0 or _is_shorter(near, apart, row, held)):
                best[root] = row


@compiled
def _is_shorter(near: NDArray[np.int32], apart: NDArray[np.float64], row: int, held: int) -> bool:
    """Tell whether the edge of a row is shorter than the one held; row numbers decide ties."""
    mine = (apart[row], min(row, near[row]), max(row, near[row]))
    return mine < (apart[held], min(held, near[held]), max(held, near[held]))


@compiled
def _hang(edges: Edges, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the parent of every row (a root is its own) and the rows in preorder."""
    start = np.zeros(size + 1, np.int64)
    for i in range(edges.first.size):
        start[edges.first[i] + 1] += 1
        start[edges.second[i] + 1] += 1
    start = np.cumsum(start)
    ends, filled = np.empty(2 * edges.first.size, np.int64), start.copy()
    for i in range(edges.first.size):
        ends[filled[edges.first[i]]] = edges.second[i]
        ends[filled[edges.second[i]]] = edges.first[i]
        filled[edges.first[i]] += 1
        filled[edges.second[i]] += 1
    above, order = np.full(size, -1, np.int64), np.empty(size, np.int64)
    waiting, reached = np.empty(size, np.int64), 0
    for root in range(size):
        if above[root] >= 0:
            continue
        above[root], waiting[0], height = root, root, 1
        while height > 0:
            height -= 1
            row = waiting[height]
            order[reached] = row
            reached += 1
            for end in ends[start[row] : start[row + 1]]:
                if above[end] < 0:
                    above[end], waiting[height] = row, end
                    height += 1
    return above, order


@compiled
def cut_forest(edges: Edges, size: int, k: int, limit: int) -> NDArray[np.bool_]:
    """Tell which edges of trees larger than a limit to cut, longest first.

    Trees only shrink, so an edge that cannot be cut when its turn comes cannot be cut later.
    """
    above, order = _hang(edges, size)
    below, place = np.ones(size, np.int64), np.empty(size, np.int64)
    root = np.arange(size)
    for i in range(size - 1, -1, -1):
        row = order[i]
        place[row] = i
        if above[row] != row:
            below[above[row]] += below[row]
    for row in order:
        root[row] = root[above[row]]
    # `below` counts the rows below a row, itself included, that are still in its tree; `hanging`
    # counts them before any cut, which is how many places they take in `order`.
    hanging = below.copy()
    cut = np.zeros(edges.first.size, np.bool_)
    for edge in _longest_first(edges):
        row, parent = edges.first[edge], edges.second[edge]
        if above[row] != parent:
            row = parent
        top = root[row]
        if below[row] < k or below[top] <= limit or below[top] - below[row] < k:
            continue
        cut[edge] = True
        node = row
        while node != top:
            node = above[node]
            below[node] -= below[row]
        for i in range(place[row], place[row] + hanging[row]):
            if root[order[i]] == top:  # the others were cut off before
                root[order[i]] = row
    return cut


@compiled
def _longest_first(edges: Edges) -> NDArray[np.int64]:
    """Rank edges by length, edges of equal length by their rows."""
    smaller = np.minimum(edges.first, edges.second)
    larger = np.maximum(edges.first, edges.second)
    ranked = np.argsort(larger, kind="mergesort")
    ranked = ranked[np.argsort(smaller[ranked], kind="mergesort")]
    return ranked[np.argsort(edges.length[ranked], kind="mergesort")][::-1]


@compiled
def trees_of(edges: Edges, size: int) -> NDArray[np.int32]:
    """Return the number of the tree of every row."""
    parent = np.arange(size).astype(np.int32)
    for i in range(edges.first.size):
        join(parent, edges.first[i], edges.second[i])
    return number_trees(parent)


@compiled
def divide_trees(
    points: NDArray[np.float64], trees: NDArray[np.int32], k: int
) -> NDArray[np.int32]:
    """Return groups: trees of up to 2k - 1 rows as they are, larger ones divided by MDAV."""
    rows = np.argsort(trees, kind="mergesort")
    labels = np.empty(trees.size, np.int32)
    first, groups = 0, 0
    while first < rows.size:
        end = first
        while end < rows.size and trees[rows[end]] == trees[rows[first]]:
            end += 1
        inside = rows[first:end]
        if end - first < 2 * k:
            labels[inside] = groups
            groups += 1
        else:
            parts = plain_mdav(points[inside], k)
            labels[inside] = parts + np.int32(groups)
            groups += parts.max() + 1
        first = end
    return labels
