"""Generalise the values of a column step by step: groups that nest, up to one that holds all."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.view import LARGEST_BIN, bin_numbers
from hartley.errors import ColumnError, OptionError
from hartley.exact import parse_step, shown_exactly

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    Hierarchy = Mapping[Any, object] | Sequence[object]
    """The group of every value, or its groups from narrow to wide; or the widths of nested bins."""

EVERYTHING = "*"
"""The label of the group that holds all values."""


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


def key_levels(column: str, values: Sequence[Any], hierarchy: Hierarchy | None) -> list[Level]:
    """Return all levels of a key, from the values themselves to one group of all.

    Args:
        column: the name that messages use.
        values: the values in the order of their codes, a missing one, None, last.
        hierarchy: for every value its groups from narrow to wide; or, of numbers, the widths of
            bins, each a multiple of the one before; None for the two outermost levels alone.

    Example:
        >>> [level.labels for level in key_levels("age", [31, 38, 45], [10])]
        [(31, 38, 45), ('[30, 40)', '[40, 50)'), ('*',)]
    """
    whole = Level(np.zeros(len(values), np.int64), (EVERYTHING,))
    own = Level(np.arange(len(values)), tuple(values))
    if hierarchy is None:
        return [own, whole]
    if isinstance(hierarchy, Mapping):
        return [own, *nested_levels(column, values, hierarchy), whole]
    return [own, *_bins(column, values, hierarchy), whole]


def nested_levels(column: str, values: Sequence[Any], groups: Mapping[Any, object]) -> list[Level]:
    """Return the levels between the values and the whole, and refuse groups that do not nest.

    Example:
        >>> jobs = {"nurse": ["health"], "doctor": ["health"], "cook": ["food"]}
        >>> nested_levels("job", ["cook", "doctor", "nurse"], jobs)[0].groups
        array([0, 1, 1])
    """
    named = [groups[value] for value in values if value in groups]
    paths = [tuple(path) if isinstance(path, (list, tuple)) else (path,) for path in named]
    depths = {len(path) for path in paths}
    if len(paths) < len(values) or len(depths) != 1:
        raise ColumnError(
            f"The hierarchy of column '{column}' lacks a value or has values of different depth",
            hint="give every value as many groups as all others, a missing one too (None, or an "
            "empty field of a file)",
        )
    levels = []
    below: NDArray[np.int64] = np.arange(len(values))
    for depth in range(depths.pop()):
        numbers: dict[object, int] = {}
        codes = np.array([numbers.setdefault(path[depth], len(numbers)) for path in paths])
        if len(set(zip(below.tolist(), codes.tolist(), strict=True))) > int(below.max()) + 1:
            raise ColumnError(
                f"The hierarchy of column '{column}' puts one group into two",
                hint="let every group lie in one group of the next level",
            )
        levels.append(Level(codes, tuple(numbers)))
        below = codes
    return levels


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
    if any(max(reach * step.denominator, step.numerator) > LARGEST_BIN for step in steps):
        raise ColumnError(
            f"Column '{column}' holds infinite numbers, or numbers too large for exact bins",
            hint="clip or remove them first, or give wider bins with fewer decimals",
        )
    return [_bin_level(numbers, step, has_missing=len(present) < len(values)) for step in steps]


def _bin_level(numbers: NDArray[np.float64], step: Fraction, *, has_missing: bool) -> Level:
    bins, groups = np.unique(bin_numbers(numbers, step), return_inverse=True)
    labels: list[Any] = [
        f"[{shown_exactly(number * step)}, {shown_exactly((number + 1) * step)})"
        for number in bins.tolist()
    ]
    if has_missing:
        groups, labels = np.append(groups, len(labels)), [*labels, None]
    return Level(groups, tuple(labels))
