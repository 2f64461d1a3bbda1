"""The policy for hypotheses of any kind: tables of released places, and which policy is best."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hartley.errors import OptionError
from hartley.policies.hypotheses.lines import best_table, count_table
from hartley.policies.hypotheses.meeting import HidingPolicy, MeetPolicy, NotMonotone, open_grid
from hartley.policies.hypotheses.open_records import (
    ContinuousMeetPolicy,
    OpenRecords,
    ball,
    coverable,
    match,
    meeting_pairs,
    near_places,
)
from hartley.policies.hypotheses.sides import (
    IntegerForm,
    chosen,
    evaluate,
    place_tree,
    runs,
    starts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.boxes.box import Interval
    from hartley.policies.hypotheses.hypothesis import Hypothesis, LatticeColumn
    from hartley.policies.hypotheses.lines import LineTable
    from hartley.policies.hypotheses.meeting import Norm, Rounding
    from hartley.tables.release_rules import Tree


MOST_PROGRAM_RECORDS = 600
"""Of so many coverable records the best table is looked for by an integer program."""
MOST_TABLE_RECORDS = 2**16
"""Up to this many records are written down in tables."""
MOST_RUNS = 2000
"""Up to this many stretches of values that move alike are sent to an engine."""
MOST_BOX_RECORDS, MOST_WINDOW = 4096, 225
"""Records of a fibre with several moved columns, and how many of them lie within reach of one."""
MOST_REACH = 64
"""The search grows with the cube of the reach, in steps."""


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
    nodes: int = 500,
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
    limit = int(coverable(sides, moves, can_be).sum())
    near = near_places(sides.shape, moves)
    flat, present = sides.ravel(), can_be.ravel()
    above, below, meeting = meeting_pairs(flat, present, near)
    joined = match(above, below, (flat.size, flat.size))[above] == below
    proposals = [(sorted({int(output) for output in meeting[joined]}), False)]
    if 0 < limit <= MOST_PROGRAM_RECORDS:
        proposals.append(_program_outputs(flat, present, near, nodes))
    tables = []
    for outputs, finished in proposals:
        released = _assigned(flat, present, near, outputs)
        opened = count_table(_marked(flat, present), released).open
        tables.append(BoxTable(tuple(released), opened, limit, finished))
    return max(tables, key=lambda table: (table.open, table.finished))


def _marked(sides: NDArray[np.bool_], possible: NDArray[np.bool_]) -> list[bool | None]:
    """Return the side of every record; None of one that cannot occur."""
    pairs = zip(sides.tolist(), possible.tolist(), strict=True)
    return [side if can_be else None for side, can_be in pairs]


def _program_outputs(
    flat: NDArray[np.bool_], can_be: NDArray[np.bool_], near: list[NDArray[np.int64]], nodes: int
) -> tuple[list[int], bool]:
    r"""Return the open outputs that an integer program proposes, and whether it came to its end.

    .. math:: \max \sum_r c_r, \quad c_r \le \sum_{y \sim r} z_y, \quad
        \sum_{a \sim y} p_{ay} = z_y, \quad \sum_{y \sim a} p_{ay} \le 1, \quad z_y \in \{0, 1\}

    and the same p for the other side. Only z has to be whole: given z, representatives p are a
    flow in a bipartite graph. Of equal coverage more outputs are better.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_matrix

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
    flat: NDArray[np.bool_],
    can_be: NDArray[np.bool_],
    near: list[NDArray[np.int64]],
    outputs: list[int],
) -> list[int]:
    """Send every record to an open output within reach; all others stay where they are."""
    released = list(range(flat.size))
    opened = outputs
    while True:  # outputs without a representative of either side of their own are not open
        representatives = [_represented(opened, near, can_be & (flat == side)) for side in (0, 1)]
        complete = [y for y in opened if all(y in taken for taken in representatives)]
        if len(complete) == len(opened):
            break
        opened = complete
    counts = {y: [1, 1] for y in opened}
    taken = {r: y for of_side in representatives for y, r in of_side.items()}
    for r in np.flatnonzero(can_be).tolist():
        if r in taken:
            released[r] = taken[r]
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
    edges = [(i, int(r)) for i, y in enumerate(outputs) for r in near[y] if members[r]]
    if not edges:
        return {}
    rows, columns = zip(*edges, strict=True)
    matching = match(rows, columns, (len(outputs), len(near)))
    return {outputs[i]: int(r) for i, r in enumerate(matching) if r >= 0}


class TablePolicy(HidingPolicy):
    """Release values by the best table for every fibre, for hypotheses of any kind.

    Fibres, which the columns that are not moved fix, are independent of each other. For one moved
    column and one hypothesis the table of ``best_line`` leaves the most records open that any
    policy within the reach does which releases values on the same steps; several hypotheses share
    one table (``best_table``). For several moved columns ``best_box`` proposes a table, which is
    counted exactly; ``most`` bounds what any policy could do.
    Farokhi 2021, Theorem 4, replaced for data with a step. What is open is exact. Grows with the
    number of records, and with the cube of the reach in steps or with an integer program.

    Args:
        hypothesis: what is to stay open, or its text, or a list of several.
        columns: the lattice of every column that hypotheses and ``possible`` name.
        move: the columns that are moved.
        reach: the furthest that a value may be moved: one number for all, or one a column, as a
            list in the order of ``move`` or by name.
        possible: a condition that every possible record fulfils; all are possible if left out.
        norm: how a single reach for several columns is measured, "l1" or "l2"; a reach a column
            ("sup") if left out.
        released: tables that were found before: for every fibre the released places of its
            records, the last moved column running fastest.

    Example:
        >>> from hartley.policies.hypotheses.hypothesis import LatticeColumn
        >>> policy = TablePolicy("5 <= x <= 8", {"x": LatticeColumn(0, 20, 1)}, ["x"], 1)
        >>> policy.count_open()
        OpenRecords(records=21, open=8, pairs=4, outputs=4)
    """

    distance_to_partner: ClassVar[None] = None
    """The two sides of an output lie at any distance within reach of it."""

    def __init__(  # noqa: PLR0913 - each is one choice of the user's
        self,
        hypothesis: Hypothesis | str | Sequence[Hypothesis | str],
        columns: Mapping[str, LatticeColumn],
        move: Sequence[str],
        reach: object,
        *,
        possible: Hypothesis | str | None = None,
        norm: Norm = "sup",
        released: Sequence[Sequence[int]] = (),
    ) -> None:
        beside: dict[str, Any] = {"possible": possible, "norm": norm, "released": released}
        self._read(hypothesis, columns, move, reach, **beside)
        if len(self.move) > 1 and not self.released:  # found once, part of the policy from now on
            object.__setattr__(self, "released", self.places)

    def _check(self) -> None:
        named = {name for text in self.hypotheses for name in text.names}
        idle = [name for name in self.move if name not in named]
        if not self.move or len(set(self.move)) < len(self.move) or idle:
            raise OptionError(
                "The columns to move are not different ones that a hypothesis names",
                hint='write for example move = ["weight"]',
            )
        if set(self.columns) != set(self.names):
            raise OptionError(
                "The declared columns are not those that the hypothesis names",
                hint=f"declare low, high and step of {', '.join(self.names)}",
            )
        records = math.prod(column.last + 1 for column in self.columns.values())
        if records > MOST_TABLE_RECORDS or max(self.moves) > MOST_REACH:
            raise OptionError(
                "The hypothesis takes tables (it is not monotone, one of several, or some records "
                "are impossible), which are too large to be looked for",
                hint=f"declare coarser steps: up to {MOST_TABLE_RECORDS:,} records, and a reach of "
                f"up to {MOST_REACH} steps",
            )
        self._check_moves()
        if self.released:
            self._check_released()
        parts = sum(
            len(runs(self._shifts(places, axis)))
            for places in set(self.places)
            for axis in range(len(self.move))
        )
        if parts > MOST_RUNS:
            raise OptionError(
                f"The best tables for the hypothesis have {parts:,} different parts, too many to "
                "be executed",
                hint=f"declare coarser steps: up to {MOST_RUNS:,} are executed",
            )

    def _check_moves(self) -> None:
        if len(self.move) > 1 and self.also:
            raise OptionError(
                "Several hypotheses are hidden together by moving one column",
                hint="move one column, or write a policy for each, with columns of its own",
            )
        window = math.prod(2 * most + 1 for most in self.moves)
        if len(self.move) > 1 and (
            math.prod(self.shape) > MOST_BOX_RECORDS or window > MOST_WINDOW
        ):
            raise OptionError(
                "The hypothesis is not monotone, and there are too many records to look for a "
                f"table that moves {', '.join(self.move)} together",
                hint=f"declare coarser steps: up to {MOST_BOX_RECORDS:,} combinations of them, and "
                f"{MOST_WINDOW:,} within reach of one; or move one column alone",
            )
        if not any(self.moves):
            raise OptionError(
                "The reach is below one step: nothing can be hidden",
                hint="allow values to be moved by a step or more",
            )
        if not self._is_possible.any():
            raise OptionError(
                f"No record on the declared steps fulfils '{self.possible}'",
                hint="check the condition, the ranges and the steps",
            )

    def _check_released(self) -> None:
        """Refuse tables of another size, and those that move a value too far."""
        fibres, size = self._is_possible.shape
        tables = np.array(self.released) if {*map(len, self.released)} == {size} else None
        if tables is None or len(tables) != fibres or tables.min() < 0 or tables.max() >= size:
            raise OptionError(
                "The field 'released' does not hold a place for every record",
                hint=f"give {fibres:,} lists of {size:,} whole numbers from 0 to {size - 1:,}",
            )
        allowed = self._allowed_moves
        offsets = [
            to - here + most
            for to, here, most in zip(
                np.unravel_index(tables, self.shape),
                np.unravel_index(np.arange(size), self.shape),
                self.moves,
                strict=True,
            )
        ]
        inside = np.logical_and.reduce(
            [(o >= 0) & (o <= 2 * most) for o, most in zip(offsets, self.moves, strict=True)]
        )
        if not inside.all() or not allowed[tuple(offsets)].all():
            raise OptionError(
                "A table of the field 'released' moves a value further than the reach",
                hint="let hartley design write the policy again",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that hypotheses and the condition name, in the order of their appearance."""
        texts = [*self.hypotheses, *([] if self.possible is None else [self.possible])]
        return tuple(dict.fromkeys(name for text in texts for name in text.names))

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values every moved column has."""
        return tuple(self.columns[name].last + 1 for name in self.move)

    @property
    def _others(self) -> list[str]:
        # In the order of the text, since a file does not keep that of a table.
        return [name for name in self.names if name not in self.move]

    def _at_all(self, condition: Hypothesis) -> NDArray[np.bool_]:
        """Return where a condition holds: a row a fibre, a column a record of it."""
        names = [*self._others, *self.move]
        shape = tuple(self.columns[name].last + 1 for name in names)
        sides = IntegerForm.of(condition, self.columns).at(open_grid(self.columns, names))
        flat = np.broadcast_to(sides, shape).reshape(-1, math.prod(self.shape))
        return np.asarray(flat.astype(bool))

    @cached_property
    def _sides(self) -> tuple[NDArray[np.bool_], ...]:
        """Where every hypothesis holds."""
        return tuple(map(self._at_all, self.hypotheses))

    @cached_property
    def _is_possible(self) -> NDArray[np.bool_]:
        """Which records are possible."""
        if self.possible is None:
            size = math.prod(column.last + 1 for column in self.columns.values())
            return np.ones((size // math.prod(self.shape), math.prod(self.shape)), bool)
        return self._at_all(self.possible)

    @cached_property
    def tables(self) -> tuple[LineTable, ...]:
        """The table of every fibre, the last of the other columns running fastest.

        Counted for the first hypothesis.
        """
        if self.released:
            return tuple(itertools.starmap(self._counted, enumerate(self.released)))
        known: dict[bytes, LineTable] = {}
        tables = []
        for fibre, possible in enumerate(self._is_possible):
            key = b"".join([possible.tobytes(), *(sides[fibre].tobytes() for sides in self._sides)])
            if key not in known:
                known[key] = self._table(fibre)
            tables.append(known[key])
        return tuple(tables)

    def _marked(self, fibre: int) -> list[list[bool | None]]:
        """Return for every hypothesis where it holds on a fibre; None of impossible records."""
        return [_marked(sides[fibre], self._is_possible[fibre]) for sides in self._sides]

    def _counted(self, fibre: int, table: Sequence[int]) -> LineTable:
        possible = self._is_possible[fibre].tolist()
        released = [out if can_be else None for out, can_be in zip(table, possible, strict=True)]
        return count_table(self._marked(fibre)[0], released)

    def _table(self, fibre: int) -> LineTable:
        if len(self.move) == 1:
            return best_table(self._marked(fibre), self.moves[0])
        sides, possible = (
            array[fibre].reshape(self.shape) for array in (self._sides[0], self._is_possible)
        )
        return self._counted(fibre, best_box(sides, self._allowed_moves, possible).released)

    @cached_property
    def _allowed_moves(self) -> NDArray[np.bool_]:
        steps = [self.columns[name].step for name in self.move]
        return ball(self.norm, self.moves, steps, self.reach[0])

    @cached_property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """For every fibre the released place of every record; an impossible one stays."""
        return tuple(
            tuple(here if place is None else place for here, place in enumerate(table.released))
            for table in self.tables
        )

    @property
    def most(self) -> int:
        """No policy within the reach leaves the hypothesis open for more records; exact.

        The best table of one moved column is known, where it was not given; else every record that
        is coverable counts.
        """
        if len(self.move) == 1 and not self.also and not self.released:
            return self.count_open().open
        shape, moves = self.shape, self._allowed_moves
        return sum(
            int(coverable(sides.reshape(shape), moves, possible.reshape(shape)).sum())
            for sides, possible in zip(self._sides[0], self._is_possible, strict=True)
        )

    def count_open(self, which: int = 0) -> OpenRecords:
        """Count the records that leave one of the hypotheses open, over all possible ones."""
        tables = self.tables
        if which:
            tables = tuple(
                count_table(self._marked(fibre)[which], table.released)
                for fibre, table in enumerate(tables)
            )
        return OpenRecords(
            records=int(self._is_possible.sum()),
            open=sum(table.open for table in tables),
            pairs=sum(table.pairs for table in tables),
            outputs=sum(table.outputs for table in tables),
        )

    def open_at(self, indices: Mapping[str, Any], which: int = 0) -> NDArray[np.bool_]:
        """Tell of arrays of indices which records leave a hypothesis open."""
        opened = np.zeros(self._is_possible.shape, bool)
        for fibre, table in enumerate(self.tables):
            tally: dict[int | None, set[bool]] = {}
            marked = self._marked(fibre)[which]
            for side, output in zip(marked, table.released, strict=True):
                if side is not None and output is not None:
                    tally.setdefault(output, set()).add(side)
            opened[fibre] = [len(tally.get(output, ())) == 2 for output in table.released]
        fibres, own = (
            np.asarray(evaluate(place_tree(names, self.columns), indices))
            for names in (self._others, self.move)
        )
        return np.asarray(opened[fibres, own])

    @cached_property
    def trees(self) -> dict[str, Tree]:
        """The indices that are released, as formulas over indices: nested choices."""
        fibre, own = (place_tree(names, self.columns) for names in (self._others, self.move))
        trees: dict[str, Tree] = {}
        for axis, name in enumerate(self.move):
            leaves = [chosen(own, runs(self._shifts(places, axis))) for places in self.places]
            trees[name] = ("+", ("var", name), chosen(fibre, starts(leaves)))
        return trees

    def _shifts(self, places: Sequence[int], axis: int) -> list[int]:
        """Return by how many steps a column of every record of a fibre is moved."""
        here = np.unravel_index(np.arange(len(places)), self.shape)[axis]
        shifts: list[int] = (np.unravel_index(np.array(places), self.shape)[axis] - here).tolist()
        return shifts

    @property
    def possible_form(self) -> IntegerForm | None:
        """The condition in whole numbers that every possible record fulfils."""
        return None if self.possible is None else IntegerForm.of(self.possible, self.columns)

    @property
    def peak(self) -> int:
        """No integer on the way to a release is larger in size."""
        condition = 0 if self.possible_form is None else self.possible_form.peak
        sizes = [column.last + 1 for column in self.columns.values()]
        return max(condition, len(self.tables) + 2 * max(*sizes, math.prod(self.shape)))


def hiding_policy(  # noqa: PLR0913 - each is one choice of the user's
    hypothesis: str | Sequence[str],
    columns: Mapping[str, LatticeColumn],
    move: Sequence[str],
    reach: object,
    *,
    known_within: object = None,
    norm: Norm = "sup",
    rounding: Rounding | None = None,
    ranges: Mapping[str, Interval] | None = None,
    possible: str | None = None,
    released: Sequence[Sequence[int]] = (),
    search: bool = True,
) -> HidingPolicy:
    """Return the policy that leaves hypotheses open: a formula where it can be, tables else."""
    texts = [hypothesis] if isinstance(hypothesis, str) else list(hypothesis)
    directed = {"known_within": known_within, "round": rounding}
    used = [field for field, value in directed.items() if value is not None]
    if ranges:
        wanted = {
            "several hypotheses": len(texts) > 1,
            "several moved columns": len(move) > 1,
            "the field 'norm'": norm != "sup",
            "the field 'round'": rounding is not None,
            "the field 'possible'": possible is not None,
        }
        for what in (what for what, is_wanted in wanted.items() if is_wanted):
            name = next(iter(ranges))
            raise OptionError(
                f"Column '{name}' has no step, beside which there is no rule for {what}",
                hint=f"declare the step of '{name}', or leave the other out",
            )
        beside: dict[str, Any] = {"known_within": known_within}
        return ContinuousMeetPolicy(texts[0], columns, ranges, move, reach, **beside)
    if len(texts) == 1 and possible is None and not released:
        try:
            beside = {"known_within": known_within, "norm": norm, "rounding": rounding}
            return MeetPolicy(texts[0], columns, move, reach, **beside)
        except NotMonotone:
            if used or (norm != "sup" and len(move) == 1):
                raise
            if len(move) > 1 and not search:
                raise OptionError(
                    "A hypothesis that is not monotone in several moved columns takes tables, "
                    "which the policy does not hold",
                    hint="let hartley design look for them and write the policy: the field "
                    "'released' holds them",
                ) from None
    elif used:
        raise OptionError(
            f"The field '{used[0]}' is for one hypothesis of one direction, with every value "
            "possible",
            hint="leave it out, or write one monotone hypothesis without "
            + ("others beside it" if len(texts) > 1 else "possible and released"),
        )
    return TablePolicy(texts, columns, move, reach, possible=possible, norm=norm, released=released)
