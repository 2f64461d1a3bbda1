"""How many cells a set of contributions can reach: boundaries crossed, and regions between them.

This implements the paragraphs *Boundaries* and *Regions* of docs/accountant.md, section "One batch,
one row per person".

The one fact behind every price: b boundaries on a line leave at most b + 1 pieces, and families of
b_1, ..., b_J parallel hyperplanes cut a space of d dimensions into at most

    sum over i <= d of e_i(b_1, ..., b_J)

regions, e_i the elementary symmetric sums (each region has a deepest point, which is where at most
d hyperplanes of different families meet).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from hartley.trusted.questions.batch import COUNT, SQUARES, SUM

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Container,
        Iterable,
        Mapping,
        Sequence,
        Set as AbstractSet,
    )

    from hartley.trusted.pricing.atoms import Asked, IntRange
    from hartley.trusted.questions.batch import Question


# --- regions --------------------------------------------------------------------------------------


T = TypeVar("T")
Vector: TypeAlias = tuple[tuple[str, int | Fraction], ...]


@dataclass(frozen=True, slots=True)
class CellGrid:
    """The cells of a question: their width, and where they begin."""

    over: int
    under: int
    """The step is over / under."""
    least: int
    most: int
    constant: bool
    """Whether one cell holds every value."""
    anchored: bool = True
    """Whether order statistics use where cells begin; without it, finer never costs less."""
    lengths: set[int] | None = field(default=None, compare=False)
    """If given, collects every length that is measured in cells."""

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(question: Question) -> CellGrid:
        """Return the cells of a question."""
        step, least, most = question.step, question.least, question.most
        # The step as two integers: ceil and floor are then exact, and quicker than fractions.
        over, under = step.numerator, step.denominator
        return CellGrid(over, under, least, most, over > (most - least) * under)

    @property
    def levels(self) -> int:
        """How many cells the whole range has; one more at times without their place."""
        if not self.anchored:
            # As ceil(length / step), like all that a search for steps measures: its price jumps
            # only where a length divided by a whole number is a step.
            return self.crossed(self.most - self.least + 1)
        return 1 + (self.most - self.least) * self.under // self.over

    def crossed(self, length: int) -> int:
        """Return how many boundaries a range of a length can have inside: ceil(length / step).

        Proved: proofs/Grid.v, lone_sum.
        """
        if self.lengths is not None:
            self.lengths.add(length)
        return -(-length * self.under // self.over)

    def counted(self, rows: int) -> int:
        """Return how many boundaries a count can pass with a number of rows."""
        # A count has one boundary a row at most. Lengths of counts are not collected: no search
        # scales their steps.
        return min(rows, -(-rows * self.under // self.over))

    def between(self, low: int, high: int) -> int:
        """Return how many boundaries lie above low and up to high, in their real place.

        Proved: proofs/Grid.v, clamp_crosses.
        """
        if not self.anchored:
            # Real places can make a coarser step cost more: between 3 and 4 lies no boundary of
            # step 3 and one of step 4. A search needs a price that never grows with the step.
            return min(self.crossed(high - low), self.levels - 1)
        least, under, over = self.least, self.under, self.over
        return (high - least) * under // over - (low - least) * under // over


def crossings(asked: Asked, span: IntRange, grid: CellGrid, window: int | None = None) -> int:
    """Return how many boundaries separate the contributions of one record of an atom.

    ``span`` is the range of the direction over the atom, ``window`` how far it can still vary by
    what was answered before. Values lie ``scale`` apart, so there are never more boundaries that
    matter than gaps between values.

    Proved: proofs/Question.v, crossings_cut.
    """
    if grid.constant or asked.statistic is COUNT:
        return 0  # every record of an atom counts alike: "a count is constant in an atom"
    # The direction takes whole values, so boundaries between the same two of them count once.
    gaps = span[1] - span[0]
    narrower = window is not None and window < gaps
    if window is not None and narrower:
        gaps = window
    length = abs(asked.scale) * gaps
    if asked.statistic is SUM:
        return min(grid.crossed(length), gaps)
    first, last = value_range(asked, span)
    if asked.statistic is SQUARES:
        return min(_squares_crossed(asked, span, grid, gaps), gaps)
    # An order statistic is V(x) clamped between two of the others' values: nobody's data shift its
    # boundaries, so those at their real places count, and not ceil(length / step).
    # A known column varies, or earlier answers leave a window somewhere: the place is not known.
    if narrower or last - first > length:
        return min(grid.crossed(length), grid.between(first, last), gaps)
    return min(grid.between(first, last), gaps)


def value_range(asked: Asked, span: IntRange) -> IntRange:
    """Return the range of the form."""
    scale, shift = asked.scale, asked.shift
    low, high = span if scale > 0 else (span[1], span[0])
    return scale * low + shift[0], scale * high + shift[1]


def _squares_crossed(asked: Asked, span: IntRange, grid: CellGrid, gaps: int | None = None) -> int:
    first, last = value_range(asked, span)
    if first < 0 < last:
        # The square falls and then rises, so each side of zero has boundaries of its own.
        return grid.crossed(first * first) + grid.crossed(last * last)
    return grid.crossed(square_length(asked, span, gaps))


def square_length(asked: Asked, span: IntRange, gaps: int | None = None) -> int:
    """Return a bound on the distance between the squares of two records of an atom."""
    first, last = value_range(asked, span)
    # Where known columns vary, the form runs further than one record moves it: the records of one
    # type lie no further apart than the length, and squares differ most at the far end.
    length = abs(asked.scale) * (span[1] - span[0] if gaps is None else gaps)
    if first >= 0:
        return last * last - (last - length) ** 2
    if last <= 0:
        return first * first - (first + length) ** 2
    return max(first * first, last * last)


def contribution_range(asked: Asked, span: IntRange) -> IntRange:
    """Return the range in which a counted record moves a sum or a sum of squares."""
    if asked.statistic is COUNT:
        return 1, 1
    low, high = value_range(asked, span)
    if asked.statistic is SUM:
        return low, high
    squares = (low * low, high * high)
    return (0 if low <= 0 <= high else min(squares)), max(squares)  # zero need not be an end


def crossings_of_hull(asked: Asked, span: IntRange, grid: CellGrid) -> int:
    """Return how many boundaries separate the contributions of an atom and no contribution.

    Proved: proofs/Grid.v, lone_filtered_sum.
    """
    if grid.constant:
        return 0
    low, high = contribution_range(asked, span)
    values = span[1] - span[0] + 1
    if low <= 0 <= high:
        hull = high - low
        # Zero is one more value, unless the form itself takes it.
        exact = asked.statistic is SUM and asked.shift[0] == asked.shift[1]
        values -= exact and low % asked.scale == 0
    else:
        hull = high if low > 0 else -low
    return min(grid.crossed(hull), values)


def crossings_with_zero(asked: Asked, span: IntRange, grid: CellGrid) -> int:
    """Return the same along the form itself, counting twice for a square that changes sign."""
    if asked.statistic is SQUARES:
        low, high = value_range(asked, span)
        if low < 0 < high:
            return min(_squares_crossed(asked, span, grid), span[1] - span[0] + 1)
    return crossings_of_hull(asked, span, grid)


def independent_groups(
    items: Iterable[tuple[T, AbstractSet[str]]],
) -> list[tuple[list[T], set[str]]]:
    """Split things into groups that share no column; those without a column are one group.

    Example:
        >>> [group for group, _ in independent_groups([(1, {"a"}), (2, {"b"}), (3, {"a", "c"})])]
        [[1, 3], [2]]
    """
    groups: list[tuple[list[T], set[str]]] = []
    members: list[T] = []
    group_columns: set[str] = set()
    for item, touched in items:
        # Mostly it belongs to the group of the item before.
        if not touched or not touched <= group_columns:
            columns = touched or {""}  # no column has an empty name
            linked = [group for group in groups if not group[1].isdisjoint(columns)]
            if not linked:
                groups.append(([], set()))
            members, group_columns = linked[0] if linked else groups[-1]
            for merged in linked[1:]:
                members += merged[0]
                group_columns |= merged[1]
                merged[1].clear()  # marks it as merged: the last line leaves it out
            group_columns |= columns
        members.append(item)
    return [(members, columns - {""}) for members, columns in groups if columns]


@lru_cache(maxsize=4096)
def _linked(vectors: tuple[Vector, ...]) -> list[tuple[list[int], int, set[str]]]:
    """Split vectors into parts without a common column: their places, rank, columns."""
    parts = independent_groups(
        [(k, {column for column, _ in vector}) for k, vector in enumerate(vectors)]
    )
    return [
        (places, 1 if len(places) == 1 else rank([vectors[k] for k in places]), columns)
        for places, columns in parts
    ]


def rank(vectors: Sequence[Vector]) -> int:
    """Return the rank of vectors, by exact elimination."""
    rows = [{column: times for column, times in vector if times} for vector in vectors]
    independent = 0
    while rows:
        pivot = rows.pop()
        if not pivot:
            continue
        independent += 1
        column, top = next(iter(pivot.items()))
        for k, row in enumerate(rows):
            if column in row:
                factor = Fraction(row[column]) / top
                new = {c: row.get(c, 0) - factor * pivot.get(c, 0) for c in {**row, **pivot}}
                rows[k] = {c: times for c, times in new.items() if times}
    return independent


def product_within(factor: Callable[[T], int], items: Iterable[T], limit: float) -> int | None:
    """Return the product of factors, none below 1; None if some need not be known for a limit.

    Example:
        >>> product_within(len, ["ab", "abc"], 2), product_within(len, ["ab", "abc", "a"], 2)
        (6, None)
    """
    product = 1
    for item in items:
        if product > limit:
            return None
        product *= factor(item)
    return product


def elementary(amounts: Sequence[int], most: int) -> int:
    """Return the sum of the elementary symmetric sums e_0 to e_most.

    Proved: proofs/Regions.v, regions.

    Example:
        >>> elementary([2, 3], 1), elementary([2, 3], 2)  # 1 + 5, and 1 + 5 + 6
        (6, 12)
    """
    if most >= len(amounts):
        return prod([1 + amount for amount in amounts])
    if most == 1:
        return 1 + sum(amounts)
    sums = [1] + [0] * most
    for amount in amounts:
        for i in range(most, 0, -1):
            sums[i] += amount * sums[i - 1]
    return sum(sums)


def regions(
    crossed: Mapping[Vector, int],
    codes: Callable[[str, int], int] | None = None,
    held: int = 0,
) -> int:
    """Return a bound on the regions into which hyperplanes of some directions cut a space.

    Every direction is crossed at least once. Parallel ones cut at most once each; parts without a
    common column multiply; in a part, no more directions meet than its rank, and no more regions
    are hit than it has points: ``codes`` of every column among the classes that are ``held``.

    Proved: proofs/Span.v, rank_le_span.

    Example:
        >>> a, b, both = (("a", 1),), (("b", 1),), (("a", 1), ("b", 1))
        >>> regions({a: 2, b: 3}), regions({a: 1, b: 1, both: 1})
        (12, 7)
    """
    total, amounts = 1, list(crossed.values())
    for places, dimension, columns in _linked(tuple(crossed)):
        # Each region is charged to hyperplanes that meet in one flat, and those have independent
        # directions: no more of them than the rank (paragraph *Regions*).
        if len(places) == 1:
            part_regions = 1 + amounts[places[0]]
        else:
            part_regions = elementary([amounts[k] for k in places], dimension)
        if codes is not None:
            points = 1
            for column in columns:
                points *= codes(column, held)
            part_regions = min(part_regions, points)
        total *= part_regions
    return total


# --- public parts ---------------------------------------------------------------------------------
# Whole numbers by the type of the public columns: prices, and what was spent on every type.
#
# A person's public columns are known and do not vary. So a person loses only what was charged for
# the own type, and types that different batches are about share a budget (docs/accountant.md,
# "Paths").

MOST_PARTS = 512
"""Beyond this many parts, neighbouring runs of codes are merged, and the larger number is kept."""

Cuts: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Columns by name, each with the codes at which its runs begin; a missing value is the last one."""


@dataclass(frozen=True)
class PublicParts:
    """A whole number for every type of the public columns.

    Columns are cut into runs of codes. A part is one run of every column; the numbers of all parts
    are listed with the last column running fastest. There is one way to write a function.

    Example:
        >>> north = PublicParts.of((("region", (0, 1)),), (4, 1))
        >>> south = PublicParts.of((("region", (0, 2, 3)),), (1, 4, 1))
        >>> north.times(south).most, north.times(north).most
        (4, 16)
    """

    cuts: Cuts = ()
    cells: tuple[int, ...] = (1,)

    @classmethod
    def of(cls, cuts: Cuts, cells: tuple[int, ...]) -> PublicParts:
        """Return a function in its shortest form: runs with equal numbers are one run."""
        if len(cuts) == 1:  # as below, without blocks: most prices depend on one column
            ((name, starts),) = cuts
            firsts = [run for run, c in enumerate(cells) if not run or c != cells[run - 1]]
            short = ((name, tuple([starts[run] for run in firsts])),) if len(firsts) > 1 else ()
            return cls(short, tuple([cells[run] for run in firsts]))
        runs, numbers = dict(cuts), cells
        for name, starts in cuts:
            later = prod([len(runs[other]) for other, _ in cuts if other > name])
            blocks = [numbers[at : at + later] for at in range(0, len(numbers), later)]
            size = len(starts)
            slices = [blocks[run::size] for run in range(size)]
            different = [run for run in range(size) if not run or slices[run] != slices[run - 1]]
            if len(different) < size:
                rows = range(0, len(blocks), size)
                numbers = tuple([c for row in rows for run in different for c in blocks[row + run]])
                runs[name] = tuple([starts[run] for run in different])
        return cls(tuple([(name, runs[name]) for name, _ in cuts if len(runs[name]) > 1]), numbers)

    @property
    def most(self) -> int:
        """The largest of the numbers."""
        return max(self.cells)

    def times(
        self, other: PublicParts, multiply: Callable[[int, int], int] = int.__mul__
    ) -> PublicParts:
        """Multiply two functions, type by type."""
        return self._joined(other, multiply)

    def smaller(self, other: PublicParts) -> PublicParts:
        """Return the smaller of two bounds, type by type."""
        return self._joined(other, min)

    def _joined(self, other: PublicParts, join: Callable[[int, int], int]) -> PublicParts:
        if not self.cuts and not other.cuts:
            return PublicParts((), (join(self.cells[0], other.cells[0]),))
        starts: dict[str, set[int]] = {}
        for name, codes in (*self.cuts, *other.cuts):
            starts.setdefault(name, set()).update(codes)
        cuts = _coarse({name: sorted(starts[name]) for name in sorted(starts)})
        return PublicParts.of(cuts, tuple(map(join, self._over(cuts), other._over(cuts))))

    def _over(self, cuts: Cuts) -> Sequence[int]:
        """Return the largest number in each part of other cuts."""
        if cuts == self.cuts:
            return self.cells
        if len(cuts) == 1:  # as below, where every wanted run meets one own run
            begins = cuts[0][1]
            starts = self.cuts[0][1] if self.cuts else begins[:1]
            if set(starts) <= set(begins):
                return [self.cells[bisect_right(starts, low) - 1] for low in begins]
        own, step = dict(self.cuts), len(self.cells)
        columns = []
        for name, begins in cuts:
            starts = own.get(name, begins[:1])  # one run, where the numbers do not depend on it
            step //= len(starts)
            ends = (*[code - 1 for code in begins[1:]], starts[-1])
            # Where the numbers of the own runs begin that each wanted run meets: mostly one.
            columns.append(
                [
                    [
                        run * step
                        for run in range(
                            bisect_right(starts, low) - 1, bisect_right(starts, max(low, high))
                        )
                    ]
                    for low, high in zip(begins, ends, strict=True)
                ]
            )
        return [max([self.cells[sum(at)] for at in product(*part)]) for part in product(*columns)]


def _coarse(cuts: dict[str, list[int]]) -> Cuts:
    """Merge neighbouring runs of the column with most of them, until there are few parts."""
    while prod([len(starts) for starts in cuts.values()]) > MOST_PARTS:
        name = max(cuts, key=lambda each: len(cuts[each]))
        cuts[name] = cuts[name][::2]
    return tuple([(name, tuple(starts)) for name, starts in cuts.items()])


# --- coarse counts --------------------------------------------------------------------------------
# Counts in cells of several rows: how many vectors of cells the rows of one person can cause.
#
# This implements docs/accountant.md, section "Coarse counts". Where a person has several rows, a
# count in cells of w rows costs less than the exact one.


class CoarseCount(NamedTuple):
    """The step of a count, and the rows that it may count or not."""

    over: int
    under: int
    """The step is over / under."""
    varying: dict[int, int]
    """By the place of a type, how many of its rows may count."""

    @property
    def step(self) -> int:
        """The step, rounded down: boundaries that lie nearer bound the true ones."""
        return max(self.over // self.under, 1)


def drop_implied_counts(questions: Collection[Question]) -> tuple[Question, ...]:
    """Leave out coarse counts that finer ones of the same batch decide."""
    counts = [question for question in questions if question.statistic is COUNT]
    if all(question.step == 1 for question in counts):
        return tuple(questions)
    steps: dict[Question, list[Fraction]] = {}
    for question in counts:
        steps.setdefault(replace(question, step=Fraction(1)), []).append(question.step)

    def decided(question: Question) -> bool:
        finer = steps.get(replace(question, step=Fraction(1)), ())
        # One cell holds a whole number of finer ones. A count of one cell costs nothing.
        coarse = 1 < question.step <= _range(question)
        return coarse and any(
            step <= 1 or (step < question.step and (question.step / step).denominator == 1)
            for step in finer
        )

    return tuple(question for question in questions if not decided(question))


def with_exact_counts(questions: Collection[Question]) -> tuple[Question, ...] | None:
    """Return a batch with exact counts instead of those in several steps; None if there is none.

    An exact count decides the same count in every step, so its price bounds that of all of them.
    """
    coarse = [
        question
        for question in questions
        if question.statistic is COUNT
        and question.step != 1  # most counts are exact
        and 1 < question.step <= _range(question)
    ]
    if not coarse:
        return None
    exact = {question: replace(question, step=Fraction(1)) for question in coarse}
    if len(set(exact.values())) == len(coarse):
        return None
    return tuple(dict.fromkeys(exact.get(question, question) for question in questions))


def _range(question: Question) -> int:
    return question.most - question.least


def cells_with_coarse(
    numbers: Sequence[int],
    counts: Mapping[int, CoarseCount],
    together: Collection[Collection[int]],
    others: Callable[[Container[int]], int],
) -> int | None:
    """Return how many vectors of cells questions have, coarse counts of disjoint filters together.

    "A vector of answers is a vector of its parts": families of disjoint counts multiply with each
    other and with the price of the other questions. None if no count is coarse.

    ``counts`` are those of ``numbers`` that have several cells, ``together`` names for each kind of
    records the questions that count it, and ``others`` prices some of the questions.
    """
    coarse = [n for n in numbers if n in counts and counts[n].over > counts[n].under]
    if not coarse:
        return None
    bounds = []
    # Exact counts share the rows with coarse ones, or are priced with the other questions.
    for chosen in ([n for n in numbers if n in counts], coarse):
        rest = {*numbers} - {*chosen}
        families = disjoint_families(chosen, together)
        bounds.append(prod(_family([counts[n] for n in family]) for family in families))
        bounds[-1] *= others(rest) if rest else 1
    return min(bounds)


def _family(counts: Sequence[CoarseCount]) -> int:
    # A type whose rows all count for one filter, or all for none, shares nothing.
    amounts = {place: rows for count in counts for place, rows in count.varying.items()}
    return vectors_of_counts(
        [(count.step, sum(count.varying.values())) for count in counts], sum(amounts.values())
    )


def vectors_of_counts(counts: Iterable[tuple[int, int]], rows: int) -> int:
    r"""Return how many vectors of cells the counts of disjoint filters can have, at most.

    .. math:: \#\{(j_1, ..., j_m) : \sum_q need_q(j_q) \le r\},
        need_q(0) = 0, need_q(j) = 1 + (j - 1) w_q

    ``counts`` are the steps w, whole numbers, each with how many of all ``rows`` it may count. The
    j-th boundary above everybody else's count is at least 1 + (j - 1) w rows away, and a row counts
    for one of the filters only. A bound that is attained. Linear in the rows times the counts.

    Proved: proofs/Several.v, coarse_counts.

    Example:
        >>> [vectors_of_counts([(step, 10)], 10) for step in (10, 5, 4, 2, 1)]
        [2, 3, 4, 6, 11]
        >>> [vectors_of_counts([(step, 10)] * 6, 10) for step in (1, 2, 5, 10)]
        [8008, 1335, 250, 64]
    """
    ways = [1] + [0] * rows  # by the rows that the boundaries need together
    for step, most in counts:
        passed = -(-most // step)  # the most boundaries that this count can pass
        # The ways with at least one boundary of this count: a sum of every step-th number, which
        # each place takes over from the one a step before.
        more = [0] * (rows + 1)
        for used in range(1, rows + 1):
            more[used] = ways[used - 1]
            if used >= step:
                more[used] += more[used - step]
            if (beyond := used - 1 - passed * step) >= 0:
                more[used] -= ways[beyond]
        ways = [none + several for none, several in zip(ways, more, strict=True)]
    return sum(ways)


def disjoint_families(
    numbers: Sequence[int], together: Iterable[Collection[int]]
) -> list[list[int]]:
    """Split questions so that no record counts for two of a family; each goes where it first fits.

    ``together`` names for each kind of records the questions that count it.

    Example:
        >>> disjoint_families([0, 1, 2], [{0}, {1, 2}, {2}])
        [[0, 1], [2]]
    """
    beside: dict[int, set[int]] = {number: set() for number in numbers}
    for kind in together:
        counted = [number for number in kind if number in beside]
        for number in counted:
            beside[number].update(counted)
    families: list[list[int]] = []
    members: list[set[int]] = []
    for number in numbers:
        for family, inside in zip(families, members, strict=True):
            if beside[number].isdisjoint(inside):
                family.append(number)
                inside.add(number)
                break
        else:
            families.append([number])
            members.append({number})
    return families
