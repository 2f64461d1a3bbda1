"""Any hypothesis on several moved columns: a table of released places, and what any could do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.policies.hypotheses.best_line import count_table
from hartley.policies.hypotheses.open_records import coverable

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_PROGRAM_RECORDS = 600
"""Of so many coverable records the best table is looked for by an integer program."""
MOST_NODES = 500
"""So many nodes of its tree are looked at; then the best table so far counts."""


@dataclass(frozen=True)
class BoxTable:
    """What is released for every record of a box, and what that leaves open."""

    released: tuple[int, ...]
    """By place, the last axis running fastest."""
    open: int
    """R: the records that are left open, counted exactly."""
    coverable: int
    """No policy leaves more open, shown exactly."""
    finished: bool
    """Whether an integer program came to its end: in doubles it found no policy that is better."""

    @property
    def is_best(self) -> bool:
        """Whether no policy leaves more open, shown exactly."""
        return self.open == self.coverable


def best_box(
    holds: NDArray[Any],
    moves: NDArray[np.bool_],
    possible: NDArray[Any] | None = None,
    *,
    nodes: int = MOST_NODES,
) -> BoxTable:
    """Return a policy on several columns that leaves many records open: the most, if it is small.

    Which outputs are open decides everything: each needs a record of either side of its own within
    reach, and every record within reach of an open output can be left open. An integer program
    (HiGHS) proposes the outputs; representatives are then found by exact matching, and what is
    open is counted by the definition. Beyond 600 coverable records, or if its tree ends early, the
    maximum matching of the two sides proposes them, which leaves 2 E records open at least. The
    most is NP-hard to find in general: ``coverable`` is the bound that holds in any case.

    Args:
        holds: whether the hypothesis holds, an axis a moved column.
        moves: which moves are allowed, from ``ball``.
        possible: which records can occur; all if left out.
        nodes: how many nodes of the search tree are looked at.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.policies.hypotheses.open_records import ball
        >>> x, y = np.indices((4, 4))
        >>> table = best_box(x == y, ball("sup", [1, 1], [Fraction(1)] * 2, Fraction(1)))
        >>> table.open, table.coverable
        (16, 16)
    """
    sides = np.asarray(holds, bool)
    can_be = np.ones(sides.shape, bool) if possible is None else np.asarray(possible, bool)
    reached = coverable(sides, moves, can_be)
    near = _near(sides.shape, moves)
    proposals: list[tuple[list[int], bool]] = []
    matched = _matched_outputs(sides, can_be, near)
    proposals.append((matched, False))
    if 0 < reached.sum() <= MOST_PROGRAM_RECORDS:
        chosen, finished = _program_outputs(sides, can_be, near, nodes)
        proposals.append((chosen, finished))
    best: BoxTable | None = None
    for outputs, finished in proposals:
        table = _assigned(sides, can_be, near, outputs)
        counts = count_table(_marked(sides, can_be), list(table))
        here = BoxTable(tuple(table), counts.open, int(reached.sum()), finished)
        if best is None or (here.open, here.finished) > (best.open, best.finished):
            best = here
    assert best is not None  # there is at least one proposal
    return best


def _marked(sides: NDArray[np.bool_], possible: NDArray[np.bool_]) -> list[bool | None]:
    """Return the side of every record; None of one that cannot occur."""
    pairs = zip(sides.ravel().tolist(), possible.ravel().tolist(), strict=True)
    return [side if can_be else None for side, can_be in pairs]


def _near(shape: tuple[int, ...], moves: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Return for every place the places within the moves of it; moves are alike in both ways."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    offsets = np.argwhere(moves) - [size // 2 for size in moves.shape]
    near = []
    for place in np.ndindex(*shape):
        reached = offsets + place
        inside = ((reached >= 0) & (reached < shape)).all(axis=1)
        near.append(numbers[tuple(reached[inside].T)])
    return near


def _matched_outputs(
    sides: NDArray[np.bool_], possible: NDArray[np.bool_], near: list[NDArray[np.int64]]
) -> list[int]:
    """Return outputs at which the pairs of a maximum matching of the two sides meet."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    flat, can_be = sides.ravel(), possible.ravel()
    keys = []
    for output, places in enumerate(near):
        present = places[can_be[places]]
        above, below = present[flat[present]], present[~flat[present]]
        codes = (above[:, None] * flat.size + below[None, :]).ravel()
        keys.append(np.stack([codes, np.full(codes.size, output)]))
    pairs, first = np.unique(np.concatenate(keys, axis=1)[0], return_index=True)
    if not pairs.size:
        return []
    meeting = np.concatenate(keys, axis=1)[1][first]
    rows, columns = np.divmod(pairs, flat.size)
    graph = csr_matrix((np.ones(pairs.size, np.int8), (rows, columns)), (flat.size, flat.size))
    matching = maximum_bipartite_matching(graph, perm_type="column")
    joined = matching[rows] == columns
    return sorted({int(output) for output in meeting[joined]})


def _program_outputs(
    sides: NDArray[np.bool_],
    possible: NDArray[np.bool_],
    near: list[NDArray[np.int64]],
    nodes: int,
) -> tuple[list[int], bool]:
    r"""Return the open outputs that an integer program proposes, and whether it came to its end.

    .. math:: \max \sum_r c_r, \quad c_r \le \sum_{y \sim r} z_y, \quad
        \sum_{a \sim y} p_{ay} = z_y, \quad \sum_{y \sim a} p_{ay} \le 1, \quad z_y \in \{0, 1\}

    and the same p for the other side. Only z has to be whole: given z, representatives p are a
    flow in a bipartite graph. Of equal coverage more outputs are better.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_matrix

    flat, can_be = sides.ravel(), possible.ravel()
    outputs = [
        y
        for y, places in enumerate(near)
        if (can_be[places] & flat[places]).any() and (can_be[places] & ~flat[places]).any()
    ]
    number = {y: i for i, y in enumerate(outputs)}
    covered = sorted({int(r) for y in outputs for r in near[y] if can_be[r]})
    record = {r: i for i, r in enumerate(covered)}
    edges = [(int(r), y) for y in outputs for r in near[y] if can_be[r]]
    # Variables: z of every output, c of every record, p of every record beside an output.
    z, c, p = 0, len(outputs), len(outputs) + len(covered)
    size = p + len(edges)
    entries: list[tuple[int, int, float]] = []
    lower: list[float] = []
    upper: list[float] = []

    def row(low: float, high: float) -> int:
        lower.append(low)
        upper.append(high)
        return len(lower) - 1

    coverage = {r: row(-np.inf, 0) for r in covered}
    once = {r: row(-np.inf, 1) for r in covered}
    both = {(y, side): row(0, 0) for y in outputs for side in (False, True)}
    for r, line in coverage.items():
        entries.append((line, c + record[r], 1.0))
    for (y, _), line in both.items():
        entries.append((line, z + number[y], -1.0))
    for place, (r, y) in enumerate(edges):
        entries.append((coverage[r], z + number[y], -1.0))
        entries.append((once[r], p + place, 1.0))
        entries.append((both[y, bool(flat[r])], p + place, 1.0))
    rows, columns, values = zip(*entries, strict=True)
    matrix = coo_matrix((values, (rows, columns)), (len(lower), size)).tocsr()
    worth = np.zeros(size)
    worth[z:c], worth[c:p] = -1.0, -(len(outputs) + 1.0)
    whole = np.zeros(size)
    whole[z:c] = 1
    answer = milp(
        worth,
        integrality=whole,
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, lower, upper),
        options={"node_limit": nodes, "mip_rel_gap": 0.0},
    )
    if answer.x is None:
        return [], False
    return [y for y in outputs if answer.x[z + number[y]] > 0.5], answer.status == 0


def _assigned(
    sides: NDArray[np.bool_],
    possible: NDArray[np.bool_],
    near: list[NDArray[np.int64]],
    outputs: list[int],
) -> list[int]:
    """Send every record to an open output within reach; all others stay where they are.

    Outputs that get no representative of either side of their own are not open and are left out.
    """
    flat, can_be = sides.ravel(), possible.ravel()
    released = list(range(flat.size))
    opened = outputs
    while True:
        representatives = [_represented(opened, near, can_be & (flat == side)) for side in (0, 1)]
        complete = [y for y in opened if all(y in taken for taken in representatives)]
        if len(complete) == len(opened):
            break
        opened = complete
    counts = {y: [1, 1] for y in opened}
    taken = set()
    for chosen in representatives:
        for y, r in chosen.items():
            released[r] = y
            taken.add(r)
    for r in np.flatnonzero(can_be).tolist():
        if r in taken:
            continue
        choices = [y for y in near[r].tolist() if y in counts]
        if choices:  # where its side is in the minority, then where it stays
            side = int(flat[r])
            y = min(choices, key=lambda y: (counts[y][side] - counts[y][1 - side], y != r, y))
            counts[y][side] += 1
            released[r] = y
    return released


def _represented(
    outputs: list[int], near: list[NDArray[np.int64]], members: NDArray[np.bool_]
) -> dict[int, int]:
    """Return a record of one side for every output, each its own, for as many as there can be."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    edges = [(i, int(r)) for i, y in enumerate(outputs) for r in near[y] if members[r]]
    if not edges:
        return {}
    rows, columns = zip(*edges, strict=True)
    graph = csr_matrix((np.ones(len(edges), np.int8), (rows, columns)), (len(outputs), len(near)))
    matching = maximum_bipartite_matching(graph, perm_type="column")
    return {outputs[i]: int(r) for i, r in enumerate(matching) if r >= 0}
