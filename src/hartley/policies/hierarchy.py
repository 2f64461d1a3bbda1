"""Hierarchies of the values of a column: levels of nested groups, up to one group of all values."""

from __future__ import annotations

import csv
import datetime as dt
import io
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.table import run
from hartley.errors import ColumnError, OptionError
from hartley.exact import parse_step
from hartley.files import read_text_file
from hartley.tables.counts import first_row_with
from hartley.tables.opening import open_table
from hartley.tables.reading import check_periods, is_period, period_name
from hartley.tables.view import LARGEST_BIN, bin_numbers
from hartley.text import count_of, exact_text, listed, plural

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hartley.engines.table import Table
    from hartley.schema.roles import ColumnRole, Roles

    Groups = tuple[Any, ...]
    """The groups of one value, from narrow to wide."""
    Hierarchy = Mapping[Any, object] | Sequence[object]
    """The group of every value, or its groups from narrow to wide; or the widths of nested bins."""


MOST_VALUES = 1_000_000
"""Distinct values that a rule looks at one by one."""


@dataclass(frozen=True)
class Level:
    """One level of a hierarchy: the group of every value, and the label of every group."""

    groups: NDArray[np.int64]
    labels: tuple[Any, ...]

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """How many values share the group of each value."""
        sizes: NDArray[np.int64] = np.bincount(self.groups, minlength=len(self.labels))[self.groups]
        return sizes


def key_levels(
    column: str, values: Sequence[Any], hierarchy: Hierarchy | None, table: Table | None = None
) -> list[Level]:
    """Return all levels of a key, from the values themselves to one group of all.

    Values stand in the order of their codes, a missing one, None, last. A hierarchy gives every
    value its groups from narrow to wide; or, of numbers, the widths of bins, each a multiple of
    the one before, or, of dates, periods such as "month" and "year"; None leaves the two outermost
    levels. The table is where the values come from, so that a value can be named by its row.
    """
    whole = Level(np.zeros(len(values), np.int64), ("*",))
    own = Level(np.arange(len(values)), tuple(values))
    if hierarchy is None:
        return [own, whole]
    if isinstance(hierarchy, Mapping):
        return [own, *nested_levels(column, values, hierarchy, table), whole]
    if isinstance(hierarchy, (list, tuple)) and any(map(is_period, hierarchy)):
        return [own, *_periods(column, values, hierarchy), whole]
    return [own, *_bins(column, values, hierarchy), whole]


def nested_levels(
    column: str, values: Sequence[Any], groups: Mapping[Any, object], table: Table | None = None
) -> list[Level]:
    """Return the levels between the values and the whole, and refuse groups that do not nest."""
    # No value is named in a refusal: a value of the table by its row, where the table is given, and
    # an entry of the hierarchy by its number.
    every = {
        value: tuple(path) if isinstance(path, (list, tuple)) else (path,)
        for value, path in groups.items()
    }
    _refuse_contradictions(
        [(value, *path) for value, path in every.items()],
        f"The hierarchy of column '{column}'",
        lambda *places: f"its {plural(len(places), 'entry')} {listed(map('{:,}'.format, places))}",
    )
    lacking = [value for value in values if value not in every]
    if lacking:
        raise _lacking(column, lacking, table)
    paths = [every[value] for value in values]
    return [_level(path[level] for path in paths) for level in range(len(paths[0]))]


def _level(names: Iterable[Any]) -> Level:
    """Return a level, given the group of every value by name."""
    numbers: dict[Any, int] = {}
    codes = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
    return Level(codes, tuple(numbers))


def _lacking(column: str, lacking: Sequence[Any], table: Table | None) -> ColumnError:
    """Return the error of values without groups, the first named by its place in the table."""
    row = None if table is None else first_row_with(table, column, lacking)
    place = f"Column '{column}'"
    if table is not None and row is not None:
        place = f"Row {row:,} of {table.name}, column '{column}',"
    more = f", the first of {len(lacking):,} such values" if len(lacking) > 1 else ""
    return ColumnError(
        f"{place} has a value that its hierarchy lacks{more}",
        hint="give every value its groups, a missing one too (None, or an empty field of a file)",
    )


def _refuse_contradictions(
    paths: Sequence[Groups], what: str, places: Callable[..., str], numbers: Sequence[int] = ()
) -> None:
    """Refuse entries, each a value and its groups, that cannot all be true."""
    # ``places`` names entries in a sentence by their ``numbers``, which are 1, 2, ... if left out.
    at = numbers or range(1, len(paths) + 1)
    depth = len(paths[0]) if paths else 0
    for number, path in zip(at, paths, strict=True):
        if len(path) == 1 or len(path) != depth:
            few, many = (
                count_of(n - 1, "group") if n > 1 else "no group" for n in (len(path), depth)
            )
            raise ColumnError(
                f"{what} gives {places(number)} {few}"
                + (f", and {places(at[0])} {many}" if len(path) != depth else ""),
                hint="give every value the same number of groups, at least one",
            )
    for level in range(depth - 1):
        above: dict[Any, tuple[Any, int]] = {}
        for number, path in zip(at, paths, strict=True):
            group, first = above.setdefault(path[level], (path[level + 1], number))
            if group != path[level + 1]:
                member = f"one group of level {level}" if level else "one value"
                raise ColumnError(
                    f"{what} contradicts itself: {places(first, number)} put {member} into two "
                    f"groups of level {level + 1}",
                    hint="put every value, and every group, into one group of the next level",
                )
    _refuse_circles(paths, what, places, at)


def _refuse_circles(
    paths: Sequence[Groups], what: str, places: Callable[..., str], numbers: Sequence[int]
) -> None:
    """Refuse names that are above themselves; a group may have the name of its only member."""
    steps = {
        step: number
        for number, path in zip(numbers, paths, strict=True)
        for step in itertools.pairwise(path)
        if step[0] != step[1]
    }
    parents: dict[Any, set[Any]] = {}
    for child, parent in steps:
        parents.setdefault(child, set()).add(parent)
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        circle = error.args[1]  # from a parent to its child, and so on
        entries = {steps[child, parent] for parent, child in itertools.pairwise(circle)}
        raise ColumnError(
            f"{what} runs in a circle: {places(*sorted(entries))} put a name above itself",
            hint="give the groups names that no value or narrower group has",
        ) from None


def read_hierarchy(
    path: str | os.PathLike[str], column: str, table: object
) -> dict[Any, tuple[str, ...]]:
    r"""Read the groups of the values of a column from a CSV file, refusing lines that contradict.

    Each line holds a value and its groups, from narrow to wide; an empty value is the missing one.
    Values are read in the type of the column. A line may repeat another one.

    Args:
        path: the file.
        column: the column whose values have groups.
        table: the table that holds it: anything that ``open_table`` opens.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "ages.csv")
        ...     _ = file.write_text("31,thirties\n45,forties\n")
        ...     read_hierarchy(file, "age", {"age": [31, 45]})
        {31: ('thirties',), 45: ('forties',)}
    """
    import pyarrow as pa

    opened = open_table(table)
    opened.require([column])
    kind = opened.expression.schema().to_pyarrow().field(column).type
    text = read_text_file(path, what="hierarchy")
    try:
        reader = csv.reader(io.StringIO(text, newline=""))
        lines = [(reader.line_num, line) for line in reader if line]
    except csv.Error:
        lines = []
    if not lines:
        raise OptionError(
            f"The hierarchy {path} of column '{column}' cannot be read or is empty",
            hint="write a value and its groups, separated by commas, in each line",
        )
    texts = pa.array([text or None for _, (text, *_) in lines], pa.string())
    try:
        values = texts.cast(kind).to_pylist()
    except pa.ArrowException:
        raise OptionError(
            f"Line {_first_unreadable(lines, kind)} of the hierarchy {path} does not begin with "
            f"a value of column '{column}', which holds {kind}",
            hint="write a value as the column holds it, then its groups",
        ) from None
    numbers = [number for number, _ in lines]
    entries = [(value, *groups) for value, (_, (_, *groups)) in zip(values, lines, strict=True)]
    what = f"The hierarchy {path} of column '{column}'"

    def places(*some: int) -> str:
        return f"{plural(len(some), 'line')} {listed(map('{:,}'.format, some))}"

    _refuse_contradictions(entries, what, places, numbers)
    written = [tuple(line) for _, line in lines]  # so that a value 5 and a group "5" are one name
    _refuse_circles(written, what, places, numbers)
    return {value: tuple(groups) for value, *groups in entries}


def _first_unreadable(lines: Sequence[tuple[int, list[str]]], kind: Any) -> int:  # noqa: ANN401 - an Arrow type
    """Return the number of the first line whose value is none of a kind."""
    import pyarrow as pa

    for number, (text, *_) in lines:
        try:
            pa.array([text or None], pa.string()).cast(kind)
        except pa.ArrowException:
            return number
    return lines[0][0]


def _bins(column: str, values: Sequence[Any], widths: Sequence[object]) -> list[Level]:
    """Return levels of bins; a missing value stays missing."""
    present = [value for value in values if value is not None]
    listed = isinstance(widths, Iterable) and not isinstance(widths, str)
    if not listed or any(isinstance(value, (str, bool)) for value in present):
        raise ColumnError(
            f"Column '{column}' does not hold numbers, or its bins are not a list of widths",
            hint="give text a hierarchy that names the groups of every value",
        )
    steps = [parse_step(width, column=column) for width in widths]
    for narrow, wide in itertools.pairwise(steps):
        if (wide / narrow).denominator != 1 or wide == narrow:
            raise OptionError(
                f"The bins of column '{column}' do not nest",
                hint="make every width a multiple of the one before, for example 5, 10, 20",
            )
    try:
        numbers = np.array([float(value) for value in present])
    except (TypeError, ValueError):
        raise ColumnError(
            f"Column '{column}' does not hold numbers and cannot be put into bins",
            hint="give it a hierarchy that names the groups of every value",
        ) from None
    reach = np.abs(numbers).max(initial=1.0)
    # The step first: a float times an integer of hundreds of digits overflows.
    if any(
        max(step.numerator, step.denominator) > LARGEST_BIN
        or reach * step.denominator > LARGEST_BIN
        for step in steps
    ):
        raise ColumnError(
            f"Column '{column}' holds infinite numbers, or numbers too large for exact bins",
            hint="clip or remove them first, or give wider bins with fewer decimals",
        )
    levels = []
    for step in steps:
        bins, groups = np.unique(bin_numbers(numbers, step), return_inverse=True)
        labels: list[Any] = [
            f"[{exact_text(number * step)}, {exact_text((number + 1) * step)})"
            for number in bins.tolist()
        ]
        if len(present) < len(values):  # missing ones, which come last
            groups, labels = np.append(groups, len(labels)), [*labels, None]
        levels.append(Level(groups, tuple(labels)))
    return levels


def _periods(column: str, values: Sequence[Any], periods: Sequence[object]) -> list[Level]:
    """Return levels of periods of dates; a missing value stays missing."""
    words = check_periods(periods, f"The hierarchy of column '{column}'")
    if any(not isinstance(value, (dt.date, NoneType)) for value in values):
        raise ColumnError(
            f"Column '{column}' does not hold dates and cannot be put into {words[0]}s",
            hint="give numbers the widths of bins; dates that begin with the day are read with "
            "--dates day-first",
        )
    return [
        _level(None if value is None else period_name(value, word) for value in values)
        for word in words
    ]


# --- rules of a file of roles: periods, masks, intervals, rare values -----------------------------


def hierarchies_of(table: Table, roles: Roles, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Return the hierarchies that roles give to columns, ready for ``anonymize``."""
    rules = {name: _rule(table, roles.columns[name]) for name in columns if name in roles.columns}
    return {name: rule for name, rule in rules.items() if rule is not None}


def _rule(table: Table, column: ColumnRole) -> Hierarchy | None:
    if column.levels:
        return column.levels
    if column.hierarchy is not None:
        return read_hierarchy(column.hierarchy, column.name, table)
    if column.mask is not None:
        return mask_codes([value for value, _ in _counts(table, column.name)], column.mask)
    if column.rare:
        return merge_rare(dict(_counts(table, column.name)), column.rare)
    return None


def mask_codes(codes: Sequence[Any], hidden: int) -> dict[Any, tuple[str | None, ...]]:
    """Return masked codes: the first level hides some characters at the end, each further one more.

    A code that is shorter than others is filled up in front, so that all levels hide all codes
    alike; the last level hides every character. Missing codes stay missing.
    """
    texts = {code: None if code is None else str(code) for code in codes}
    longest = max((len(text) for text in texts.values() if text is not None), default=1)
    cuts = [longest - number for number in range(min(hidden, longest), longest + 1)]
    return {
        code: tuple(
            None if text is None else text.rjust(longest)[:cut] + "*" * (longest - cut)
            for cut in cuts
        )
        for code, text in texts.items()
    }


def merge_rare(counts: Mapping[Any, int], least: Sequence[int]) -> dict[Any, tuple[Any, ...]]:
    """Return the groups of values: level by level, values in fewer rows are merged into one."""
    label = "other"
    while label in counts:
        label = f"({label})"
    return {
        value: tuple(
            None if value is None else str(value) if number >= size else label for size in least
        )
        for value, number in counts.items()
    }


def _counts(table: Table, column: str) -> list[tuple[Any, int]]:
    """Return the distinct values of a column, and how many rows hold each."""
    value = table.expression[column]
    grouped = table.expression.group_by(value=value).aggregate(n=table.expression.count())
    rows = run(table, grouped.limit(MOST_VALUES + 1).to_pyarrow)
    if rows.num_rows > MOST_VALUES:
        raise ColumnError(
            f"Column '{column}' of {table.name} has more than {MOST_VALUES:,} different values",
            hint="give it the role identifier, or a hierarchy as a file",
        )
    return list(zip(rows["value"].to_pylist(), rows["n"].to_pylist(), strict=True))
