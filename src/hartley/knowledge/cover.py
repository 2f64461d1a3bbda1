"""Published tables laid over each other: one set of cells, all relations among them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product, repeat
from json import dumps
from math import inf, prod
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import InputError, OptionError, TableError
from hartley.files import one_line
from hartley.kernels.sums import FAR
from hartley.knowledge.table_system import HIGH, LOW, LinearSystem, NoTableFits, whole_end
from hartley.tables.crosstab import TIMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.knowledge.table_bounds import Inference
    from hartley.knowledge.table_system import Multipliers, TableComponent
    from hartley.tables.crosstab import Crosstab
    from hartley.tables.described import CategoryTree


# --- cover ----------------------------------------------------------------------------------------


MOST_CELLS = 3_000_000
"""Cells of all tables together, those that nobody published included."""
SELECTION = "selection"
"""The name of the dimension that conditions make."""

BAND = re.compile(r"(<)?\s*([0-9]+)\s*(?:[-\u2013]\s*([0-9]+)|(\+))?")
"""A label that is a range of whole numbers: 0-19, 20, <20 or 80+."""

Keys = tuple[str | None, ...]
"""A category of each dimension; None is everything."""


@dataclass(frozen=True)
class CoverAxis:
    """A dimension: its categories, None for all of it, and which of them are sums of others.

    Example:
        >>> axis = CoverAxis.of("region", {"north", "south"}, ())
        >>> axis.nodes, axis.sums
        ((None, 'north', 'south'), ((0, (1, 2)),))
    """

    name: str
    nodes: tuple[str | None, ...]
    sums: tuple[tuple[int, tuple[int, ...]], ...]
    """(parent, children), by their places among the nodes."""

    @classmethod
    def of(cls, name: str, categories: Iterable[str], trees: Iterable[CategoryTree]) -> CoverAxis:
        """Build a dimension from its categories and its trees.

        The total is the sum of the categories at the top of each tree and of those beside it.
        """
        mine = [tree for tree in trees if tree.dim == name]
        parts = {part for tree in mine for kids in tree.parents.values() for part in kids}
        parents = {parent for tree in mine for parent in tree.parents}
        nodes = (None, *sorted({*categories, *parts, *parents}))
        place = {node: at for at, node in enumerate(nodes)}
        leaves = [node for node in nodes if node is not None and node not in parents]
        sums = []
        for inside in [dict(tree.parents) for tree in mine] or [{}]:
            below = {part for kids in inside.values() for part in kids}
            top = [node for node in (*leaves, *inside) if node not in below]
            _check_leaves(name, inside, leaves)
            if top:  # an output may publish the total of a dimension alone
                sums.append((0, tuple(sorted(place[node] for node in top))))
            sums += [
                (place[parent], tuple(sorted(place[part] for part in kids)))
                for parent, kids in inside.items()
            ]
        return cls(name, nodes, tuple(dict.fromkeys(sums)))

    @cached_property
    def leaves_below(self) -> tuple[frozenset[int], ...]:
        """The leaves of each node, by their places."""
        children: dict[int, tuple[int, ...]] = {}
        for parent, kids in self.sums:
            children.setdefault(parent, kids)

        def below(node: int) -> frozenset[int]:
            if node not in children:
                return frozenset([node])
            return frozenset().union(*map(below, children[node]))

        return tuple(below(node) for node in range(len(self.nodes)))

    @property
    def leaves(self) -> tuple[int, ...]:
        """The places of the categories that are sums of no others."""
        return tuple(sorted(self.leaves_below[0]))


def _check_leaves(name: str, inside: Mapping[str, Sequence[str]], leaves: Sequence[str]) -> None:
    """Refuse a tree whose parent is built from a parent of another tree: order would decide."""
    strange = [part for kids in inside.values() for part in kids]
    strange = [part for part in strange if part not in leaves and part not in inside]
    if strange:
        raise OptionError(
            f"A tree of '{name}' uses '{one_line(strange[0])}', which another tree explains",
            hint="list its parts instead",
        )


@dataclass(frozen=True)
class Selections:
    """Which conditions can hold together, and for which categories.

    Example:
        >>> Selections.nothing().conditions
        ()
    """

    conditions: tuple[str, ...]
    patterns: tuple[tuple[bool, ...], ...]
    """Every combination of true and false that some record has, one entry a condition."""
    dims: tuple[str, ...] = ()
    """The dimensions that the conditions look at."""
    possible: Mapping[tuple[str, ...], frozenset[int]] = field(default_factory=dict)
    """For categories of these dimensions, the patterns that some record has."""

    @classmethod
    def nothing(cls) -> Selections:
        """Return that there are no conditions."""
        return cls((), ((),))

    @classmethod
    def part(cls, condition: str) -> Selections:
        """Return one condition about columns of its own: it can hold or not, everywhere."""
        return cls((condition,), ((True,), (False,)))

    def words(self, pattern: tuple[bool, ...]) -> str:
        """Say which conditions a pattern fulfils."""
        held = [c for c, true in zip(self.conditions, pattern, strict=True) if true]
        failed = [c for c, true in zip(self.conditions, pattern, strict=True) if not true]
        words = " and ".join(held) or "not " + " and not ".join(f"({c})" for c in failed)
        if held and failed:
            words += " but not " + " nor ".join(f"({c})" for c in failed)
        return words

    @cached_property
    def axis(self) -> CoverAxis:
        """The conditions as a dimension: every pattern is a category, a condition a sum of them."""
        names = [self.words(pattern) for pattern in self.patterns]
        nodes, sums = [None, *names], [(0, tuple(range(1, 1 + len(names))))]
        for at, condition in enumerate(self.conditions):
            kids = tuple(1 + p for p, pattern in enumerate(self.patterns) if pattern[at])
            if len(kids) == 1 and nodes[kids[0]] not in self.conditions[:at]:
                nodes[kids[0]] = condition
            else:  # a sum of several patterns, or another spelling of the same rows
                sums.append((len(nodes), kids))
                nodes.append(condition)
        return CoverAxis(SELECTION, tuple(nodes), tuple(sums))


@dataclass(frozen=True)
class Cover:
    """The cells of all outputs together, as a system of whole numbers.

    Every combination of categories and totals of all dimensions is a cell; what is published
    bounds some of them.
    """

    axes: tuple[CoverAxis, ...]
    system: LinearSystem
    stated: tuple[tuple[int, int, int], ...]
    """(output, place of its cell, cell), for everything that is published."""
    ruled_out: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """The cells that no record can be in, whatever is published."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many categories and totals each dimension has."""
        return tuple(len(axis.nodes) for axis in self.axes)

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions."""
        return tuple(axis.name for axis in self.axes)

    def keys(self, cell: int) -> Keys:
        """Return the categories of a cell."""
        keys: list[str | None] = []
        for axis in reversed(self.axes):
            cell, place = divmod(cell, len(axis.nodes))
            keys.append(axis.nodes[place])
        return tuple(reversed(keys))

    def name(self, cell: int) -> str:
        """Return the categories of a cell in words."""
        keys = [key for key in self.keys(cell) if key is not None]
        return TIMES.join(keys) or "everything"

    def cell(self, keys: Mapping[str, str | None]) -> int:
        """Return the cell of some categories; dimensions that are not named are totals."""
        places = [axis.nodes.index(keys.get(axis.name)) for axis in self.axes]
        return int(np.ravel_multi_index(places, self.shape))

    @cached_property
    def atoms(self) -> NDArray[np.int64]:
        """The cells that are sums of no others."""
        grids = np.ix_(*(np.array(axis.leaves) for axis in self.axes))
        return np.ravel_multi_index(grids, self.shape).ravel().astype(np.int64)

    def add_up(self, tables: NDArray[np.int64]) -> None:
        """Fill in every sum of a table, or of several in rows, dimension by dimension."""
        shaped = tables.reshape((*tables.shape[:-1], *self.shape))  # perhaps of no axis
        for at, axis in enumerate(self.axes, tables.ndim - 1):
            moved = np.moveaxis(shaped, at, 0)
            for node, below in enumerate(axis.leaves_below):
                if below != {node}:
                    moved[node] = moved[sorted(below)].sum(axis=0)

    def above(self, atoms: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all cells that atoms are parts of, and the place of the atom for each of them."""
        places = np.unravel_index(atoms, self.shape)
        sets = [
            [[n for n, leaves in enumerate(axis.leaves_below) if leaf in leaves] for leaf in nodes]
            for axis, nodes in ((axis, range(len(axis.nodes))) for axis in self.axes)
        ]
        cells, of = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for chosen in product(*(range(max(map(len, mine))) for mine in sets)):
            cell, inside = np.zeros(atoms.size, np.int64), np.ones(atoms.size, bool)
            for at, which in enumerate(chosen):
                node = np.array([mine[which] if which < len(mine) else -1 for mine in sets[at]])
                inside &= node[places[at]] >= 0
                cell = cell * self.shape[at] + node[places[at]]
            cells.append(cell[inside])
            of.append(np.flatnonzero(inside))
        return np.concatenate(cells), np.concatenate(of)

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """Which cells some record can be in: conditions rule others out by what they say."""
        records = np.zeros(self.system.size, np.int64)
        records[self.atoms] = 1
        records[self.ruled_out] = 0
        self.add_up(records)
        return records > 0

    @cached_property
    def same(self) -> NDArray[np.int64]:
        """For cells nobody published, the cell that they are by another name; else the cell itself.

        A sum of a single part that is possible is that part.
        """
        system, cells = self.system, np.arange(self.system.size)
        relation = np.repeat(np.arange(system.relations), np.diff(system.start))
        part = self.possible[system.column]
        part[system.start[:-1]] = False  # the sum itself
        single = np.bincount(relation[part], minlength=system.relations) == 1
        sums, parts = (
            system.column[system.start[:-1]][single],
            system.column[part & single[relation]],
        )
        same = cells.copy()
        for _ in range(sum(1 + len(axis.sums) for axis in self.axes)):
            same[sums] = same[parts]
        shown = same.copy()
        shown[same[self.published]] = cells[self.published]
        named: NDArray[np.int64] = np.where(self.published, cells, shown[same])
        return named

    @cached_property
    def published(self) -> NDArray[np.bool_]:
        """Which cells some output states something about."""
        mask = np.zeros(self.system.size, bool)
        mask[np.fromiter(map(itemgetter(2), self.stated), np.int64, len(self.stated))] = True
        return mask

    @cached_property
    def along(self) -> NDArray[np.int64]:
        """The dimension that each relation adds up along, in the order of the system."""
        lengths = [self.system.size // len(a.nodes) * len(a.sums) for a in self.axes]
        return np.repeat(np.arange(len(self.axes)), lengths)


def cover(
    tables: Sequence[Crosstab],
    trees: Sequence[CategoryTree] = (),
    selections: Selections | None = None,
) -> Cover:
    """Lay published tables of one statistic over each other.

    Their numbers are in units of the same last digit; trees say which categories are sums of
    others, selections how the conditions of the tables lie to each other.

    Example:
        >>> from hartley.tables.crosstab import Crosstab, PublishedCell
        >>> def cells(*numbers):
        ...     return tuple(PublishedCell((key,), n, n, "number", str(n), 1) for key, n in numbers)
        >>> a = Crosstab("a", None, "", ("sex",), "count", None, cells(("F", 3), ("M", 4)), 0, ())
        >>> joint = cover([a])
        >>> joint.keys(1), int(joint.system.low[1])
        (('F',), 3)
    """
    chosen = selections or Selections.nothing()
    names = sorted({dim for table in tables for dim in table.dims})
    axes = [
        CoverAxis.of(
            name,
            {key for table in tables if name in table.dims for key in table.categories(name)},
            trees,
        )
        for name in names
    ]
    if chosen.conditions:
        axes.append(chosen.axis)
    shape = tuple(len(axis.nodes) for axis in axes)
    if prod(shape) > MOST_CELLS:
        raise OptionError(
            f"The outputs together have {prod(shape):,} cells",
            hint=f"check fewer outputs at once; the limit is {MOST_CELLS:,}",
        )
    signed = {table.signed for table in tables}
    if len(signed) > 1:
        raise OptionError(
            f"The sums of {next(t.name for t in tables if not t.signed)} have no bounds, and those "
            "of another output have",
            hint="declare bounds for every output of the same column",
        )
    low = np.full(prod(shape), -FAR if True in signed else 0, np.int64)
    high = np.full(prod(shape), FAR, np.int64)
    frame = Cover(tuple(axes), LinearSystem.of([], low, high), ())
    stated: list[tuple[int, int, int]] = []
    for number, table in enumerate(tables):
        stated += _state(frame, table, number, low, high)
    ruled_out = _ruled_out(frame, chosen)
    low[ruled_out] = high[ruled_out] = 0
    start, column, sign = _relations(axes, shape)
    system = LinearSystem(start, column, sign, low, high)
    _check_sizes(system)
    return Cover(tuple(axes), system, tuple(stated), ruled_out)


def _state(
    frame: Cover,
    table: Crosstab,
    number: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> list[tuple[int, int, int]]:
    """Narrow the bounds of the cells that a table states something about."""
    strides = [prod(frame.shape[i + 1 :]) for i in range(len(frame.shape))]
    number_of_cells = len(table.cells)
    index, inside = np.zeros(number_of_cells, np.int64), np.ones(number_of_cells, bool)
    for axis, stride in zip(frame.axes, strides, strict=True):
        if axis.name in table.dims:
            place = {node: at for at, node in enumerate(axis.nodes)}
            keys = table.columns[table.dims.index(axis.name)]
            places = np.fromiter(map(place.__getitem__, keys), np.int64, number_of_cells)
            index += stride * places
            inside &= places > 0  # the first node is the total
        elif axis.name == SELECTION and table.where:
            index += stride * axis.nodes.index(table.where)
    lows = np.array([-FAR if cell.low is None else cell.low for cell in table.cells], np.int64)
    highs = np.array([FAR if cell.high is None else cell.high for cell in table.cells], np.int64)
    low[index], high[index] = np.maximum(low[index], lows), np.minimum(high[index], highs)
    for cell in index[low[index] > high[index]].tolist():
        raise _contradiction(frame, table, cell)
    stated = list(zip(repeat(number), range(number_of_cells), index.tolist(), strict=False))
    for missing in _absent(frame, table, np.unique(index[inside]).size):
        where = {SELECTION: table.where} if table.where else {}
        zero = frame.cell(dict(zip(table.dims, missing, strict=True)) | where)
        low[zero], high[zero] = max(low[zero], 0), min(high[zero], 0)
        if low[zero] > high[zero]:
            raise _contradiction(frame, table, zero)
    return stated


def _contradiction(frame: Cover, table: Crosstab, cell: int) -> InputError:
    return InputError(
        f"{table.name} and another output state different numbers for {one_line(frame.name(cell))}",
        hint="declare with where which rows each output is about, and the rounding",
    )


def _absent(frame: Cover, table: Crosstab, inside: int) -> Iterable[tuple[str, ...]]:
    """Return the cells that a table does not list and that are zero, or ask.

    Args:
        frame: the dimensions.
        table: the table.
        inside: how many different cells it lists that are no totals.
    """
    categories = [sorted(table.categories(dim)) for dim in table.dims]
    for dim, present in zip(table.dims, categories, strict=True):
        axis = next(axis for axis in frame.axes if axis.name == dim)
        below = [axis.leaves_below[axis.nodes.index(key)] for key in present]
        missing = set(axis.leaves) - set().union(*below) if below else set()
        cuts = _trees_of_bands(axis) if present and missing else ""
        if cuts:
            raise TableError(
                f"{table.name} and another output cut '{one_line(dim)}' into bands that overlap",
                hint=f"write at the top of outputs.toml (--spec): trees = [{cuts}]",
            )
        if present and missing and table.absent is None:
            raise TableError(
                f"{table.name} has no category '{one_line(str(axis.nodes[min(missing)]))}' of "
                f"'{dim}', which another output has",
                hint='say whether such cells are zero or were not published: absent = "zero" or '
                '"hidden"; if labels are sums of others, declare [[trees]]',
            )
        if table.absent == "zero":
            present += [str(axis.nodes[at]) for at in sorted(missing)]
    # Where only totals are published, no cell inside is missing.
    if not inside or inside == prod(map(len, categories)):
        return []
    listed_keys = {cell.keys for cell in table.cells}
    absent = [keys for keys in product(*categories) if keys not in listed_keys]
    if absent and table.absent is None:
        raise TableError(
            f"{table.name} does not list the cell {one_line(TIMES.join(absent[0]))}",
            hint='say whether such cells are zero or were not published: absent = "zero" or '
            '"hidden"; if numbers were read as labels because of a mark, declare it: '
            '--marks "s=hidden"',
        )
    return absent if table.absent == "zero" else []


def _trees_of_bands(axis: CoverAxis) -> str:
    """Write bands of whole numbers that overlap as sums of the pieces that they share.

    Example:
        >>> _trees_of_bands(CoverAxis.of("age", {"0-1", "2+", "0-2"}, ()))
        '{dim = "age", "0-2" = ["0-1", "2"]}, {dim = "age", "2+" = ["2", "3+"]}'
    """
    bands: dict[tuple[float, float], str] = {}
    for label in axis.nodes[1:]:
        found = BAND.fullmatch(str(label).strip())
        if found is None or len(axis.sums) > 1:
            return ""
        below, low, high, more = found.groups()
        begin = -inf if below else int(low)
        bands[begin, inf if more else int(low) if below else int(high or low) + 1] = str(label)
    cuts = sorted({end for ends in bands for end in ends})
    named = dict(bands)
    for begin, end in pairwise(cuts):
        last = "+" if end == inf else "" if end - begin == 1 else f"-{int(end) - 1}"
        named.setdefault((begin, end), f"<{end}" if begin == -inf else f"{begin}{last}")
    blocks: list[dict[str, list[str]]] = []
    for (low, high), label in sorted(bands.items()):
        parts = [named[piece] for piece in pairwise(cuts) if low <= piece[0] and piece[1] <= high]
        if len(parts) > 1:
            free = (b for b in blocks if not set(parts) & {part for k in b.values() for part in k})
            block = next(free, None)
            if block is None:
                blocks.append(block := {})
            block[label] = parts
    return ", ".join(
        f"{{dim = {dumps(axis.name, ensure_ascii=False)}, "
        + ", ".join(
            f"{dumps(label, ensure_ascii=False)} = {dumps(parts, ensure_ascii=False)}"
            for label, parts in block.items()
        )
        + "}"
        for block in blocks
    )


def _ruled_out(frame: Cover, chosen: Selections) -> NDArray[np.int64]:
    """Return the cells that no record can be in, by the conditions alone."""
    cells = [np.empty(0, np.int64)]
    for keys, patterns in chosen.possible.items() if chosen.dims else ():
        for number in range(len(chosen.patterns)):
            if number in patterns:
                continue
            places: list[NDArray[np.int64]] = []
            for other in frame.axes:
                if other.name == SELECTION:
                    places.append(np.array([1 + number]))
                elif other.name in chosen.dims:
                    key = keys[chosen.dims.index(other.name)]
                    places.append(np.array([other.nodes.index(key)]))
                else:
                    places.append(np.arange(len(other.nodes)))
            cells.append(np.ravel_multi_index(np.ix_(*places), frame.shape).ravel())
    return np.concatenate(cells).astype(np.int64)


def _relations(
    axes: Sequence[CoverAxis], shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return all sums along all dimensions, as rows of a sparse matrix."""
    nothing = np.empty(0, np.int64)
    lengths, columns, signs = [nothing], [nothing], [nothing]
    strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
    for at, axis in enumerate(axes):
        others = [np.arange(size) if i != at else np.array([0]) for i, size in enumerate(shape)]
        base = np.ravel_multi_index(np.ix_(*others), shape).ravel()
        for parent, kids in axis.sums:
            members = strides[at] * np.array([parent, *kids])
            columns.append((base[:, None] + members[None, :]).ravel())
            signs.append(np.tile(np.array([-1] + [1] * len(kids)), base.size))
            lengths.append(np.full(base.size, 1 + len(kids)))
    start = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return (
        start.astype(np.int64),
        np.concatenate(columns).astype(np.int64),
        np.concatenate(signs).astype(np.int64),
    )


def _check_sizes(system: LinearSystem) -> None:
    """Refuse numbers whose sums one word does not hold."""
    ends = np.abs(np.concatenate([system.low, system.high]))
    largest = int(ends[ends < FAR].max(initial=1))
    if largest * int(np.diff(system.start).max(initial=1)) >= FAR // 4:
        raise OptionError(
            "The numbers are too large to be added exactly",
            hint="publish them in thousands or millions",
        )


def lines_of(joint: Cover) -> NDArray[np.int64]:
    """Return the relations that split people into categories; conditions are none."""
    split = [axis.name != SELECTION for axis in joint.axes]
    long = np.diff(joint.system.start) > 2
    return np.flatnonzero(long & np.array(split, bool)[joint.along])


def relation_words(joint: Cover, relation: int) -> str:
    """Name a relation by its total and some of its parts.

    Example:
        >>> from hartley.tables.crosstab import Crosstab, PublishedCell
        >>> cells = tuple(PublishedCell((k,), 1, 1, "number", "1", 1) for k in ("F", "M"))
        >>> sexes = Crosstab("a", None, "", ("sex",), "count", None, cells, 0, ())
        >>> relation_words(cover([sexes]), 0)
        'everything = F + M'
    """
    parent, children = joint.system.relation(relation)
    names = [joint.name(child) for child in children]
    shown = names if len(names) <= 4 else [*names[:2], "…", names[-1]]
    return f"{joint.name(parent)} = {' + '.join(shown)}"


# --- combinations ---------------------------------------------------------------------------------
# What a weighted sum of numbers can be: bounds with multipliers, and tables at its ends.

MOST_SEARCHED = 5_000
"""In a component of more unknown numbers than this, no whole table is searched for a sum."""
NODES = 2_000
"""The most nodes of such a search."""


@dataclass(frozen=True)
class CombinationRange:
    """What a weighted sum can be: never outside low to high, and certainly both least and most."""

    low: int | None
    """None is no end."""
    high: int | None
    below: Multipliers
    """Multipliers of the relations that prove ``low`` from what was stated."""
    above: Multipliers
    least: int | None
    """The smallest sum of a whole table that was checked; None where none was found."""
    most: int | None
    tables: tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]
    """Whole tables with these two sums."""


def combination_range(
    inference: Inference, weights: Mapping[int, int], *, search: bool = False
) -> CombinationRange:
    r"""Find out what a weighted sum of numbers can be.

    For any multipliers y of the relations A,

    .. math:: c \cdot x = (c - y A) \cdot x \ge \sum_k \min(d_k l_k, d_k u_k), \qquad d = c - y A

    and the best y, which a linear programme proposes, is that of all linear combinations of
    the relations at once. Parts of the system that share no relation are looked at one by one.

    With ``search``, whole tables are searched for ends that no vertex of a programme attains.

    Example:
        >>> from hartley.kernels.sums import FAR
        >>> from hartley.knowledge.table_bounds import Inference
        >>> from hartley.knowledge.table_system import LinearSystem
        >>> row = LinearSystem.of([(3, [0, 1, 2])], [0, 0, 0, 9], [FAR, FAR, 4, 9])
        >>> sums = combination_range(Inference(row), {0: 2, 1: 2})
        >>> sums.low, sums.high, sums.least, sums.most, sums.below
        (10, 18, 10, 18, {0: Fraction(2, 1)})
    """
    parts: dict[int, dict[int, int]] = {}
    for cell, weight in weights.items():
        if weight:
            parts.setdefault(int(inference.component_of[cell]), {})[cell] = weight
    fixed = parts.pop(-1, {})
    settled = sum(weight * int(inference.bounds.low[cell]) for cell, weight in fixed.items())
    sums = [_PartSum.of(inference, name, part, search=search) for name, part in parts.items()]
    outer: list[int | None] = []
    proofs: list[Multipliers] = []
    for side in (LOW, HIGH):
        bounds = [part.outer[side] for part in sums]
        known = [end for end in bounds if end is not None]
        end = whole_end(settled + sum(known, Fraction(0)), side)
        outer.append(end if len(known) == len(bounds) else None)
        used = {r: y for part in sums for r, y in part.multipliers[side].items()}
        proofs.append(inference.bounds.proof(weights, side, used))
    low, high = outer
    if low is not None and high is not None and low > high:
        raise NoTableFits(next(iter(proofs[LOW]), 0))
    attained = all(part.tables for part in sums)
    inner = [settled + sum(part.inner[side] for part in sums) for side in (LOW, HIGH)]
    if not attained:
        return CombinationRange(low, high, proofs[LOW], proofs[HIGH], None, None, (None, None))
    tables = _whole_table(inference, sums, LOW), _whole_table(inference, sums, HIGH)
    return CombinationRange(low, high, proofs[LOW], proofs[HIGH], inner[LOW], inner[HIGH], tables)


@dataclass
class _PartSum:
    """A weighted sum of numbers of one component."""

    component: TableComponent
    weights: Mapping[int, int]
    cost: NDArray[np.int64]
    """The weights, by the places of the component."""
    outer: list[Fraction | None]
    multipliers: list[Multipliers]
    inner: list[int]
    tables: list[NDArray[np.int64]]
    """Tables of the component with the least and the largest sum; empty if none is known."""
    long: bool
    """Whether sums may be longer than a machine word."""

    @classmethod
    def of(
        cls, inference: Inference, name: int, weights: Mapping[int, int], *, search: bool
    ) -> _PartSum:
        component = inference.components[name]
        cost = np.zeros(component.cells.size, np.int64)
        for cell, weight in weights.items():
            cost[inference.place_in[cell]] = weight
        ends = np.abs(np.concatenate([component.low, component.high])).astype(np.float64)
        long = float(np.abs(cost).sum()) * float(ends.max()) >= FAR / 2
        part = cls(component, weights, cost, [None, None], [{}, {}], [0, 0], [], long)
        for table in component.tables:
            part.attain(table)
        now = inference.bounds.low, inference.bounds.high
        for side in (LOW, HIGH):
            part.outer[side] = inference.system.bound(weights, {}, side, now)
            if component.programme is not None and not part.reached(side):
                part.solve(inference, side)
        if search and component.programme is not None and cost.size <= MOST_SEARCHED:
            for side in (LOW, HIGH):
                if not part.reached(side):
                    towards = cost if side == LOW else -cost
                    point = component.programme.solve_whole(towards.astype(np.float64), NODES)
                    if point is not None:
                        part.harvest(inference, point)
        return part

    def solve(self, inference: Inference, side: int) -> None:
        """Ask a programme for an end; keep what exact numbers confirm."""
        assert self.component.programme is not None
        sign = 1 if side == LOW else -1
        proposal = self.component.programme.solve((sign * self.cost).astype(np.float64))
        self.component.solves += 1
        if proposal is None:
            return
        self.harvest(inference, proposal.point)
        if proposal.multipliers is None or not np.isfinite(proposal.multipliers).all():
            return
        now = inference.bounds.low, inference.bounds.high
        for proposed in self.component.combinations(sign * proposal.multipliers):
            self.prove(side, inference.system.bound(self.weights, proposed, side, now), proposed)
            if self.reached(side):
                break

    def prove(self, side: int, bound: Fraction | None, multipliers: Multipliers) -> None:
        """Keep a bound that is narrower than the one before."""
        before = self.outer[side]
        if bound is not None and (
            before is None or (bound > before if side == LOW else bound < before)
        ):
            self.outer[side], self.multipliers[side] = bound, multipliers

    def reached(self, side: int) -> bool:
        """Tell whether a table attains the outer end, as a whole number."""
        end = self.outer[side]
        if not self.tables or end is None:
            return False
        return self.inner[side] == whole_end(end, side)

    def attain(self, table: NDArray[np.int64]) -> bool:
        """Let a table that fits widen what is attained; tell whether it does."""
        total = int((self.cost.astype(object) if self.long else self.cost) @ table)
        if not self.tables:
            self.inner, self.tables = [total, total], [table, table]
            return True
        wider = total < self.inner[LOW], total > self.inner[HIGH]
        for side in (LOW, HIGH):
            if wider[side]:
                self.inner[side], self.tables[side] = total, table
        return any(wider)

    def harvest(self, inference: Inference, point: NDArray[np.float64]) -> None:
        """Keep a point that is a whole table and fits."""
        table = self.component.witness_table(point)
        if table is not None and self.attain(table):
            inference.harvest(self.component, table, keep=True)


def _whole_table(inference: Inference, sums: list[_PartSum], side: int) -> NDArray[np.int64] | None:
    """Put the tables of all components together; None where one of them has none."""
    whole = np.where(inference.bounds.low == inference.bounds.high, inference.bounds.low, 0)
    mine = {id(part.component): part.tables[side] for part in sums}
    for component in inference.components:
        table = mine.get(id(component))
        if table is None:
            if not component.tables:
                return None
            table = component.tables[0]
        whole[component.cells] = table
    return whole
