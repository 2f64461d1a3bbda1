"""Covariances and means of named columns: from a CSV file or a mapping."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import ColumnError, InputError, OptionError
from hartley.exact import parse_number
from hartley.files import read_text_file

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MEAN = "mean"
MOST_COLUMNS = 200
HINT = "first line: an empty field and the columns; then a column and its covariances in each line"


@dataclass(frozen=True, eq=False)
class NamedCovariance:
    """The covariances of named columns, and their means where they are known.

    Example:
        >>> known = NamedCovariance.of({"a": {"a": 1, "b": 0.5}, "b": {"a": 0.5, "b": 2}})
        >>> known.covariance_of(["b", "a"]).tolist(), known.mean is None
        ([[2.0, 0.5], [0.5, 1.0]], True)
    """

    names: tuple[str, ...]
    matrix: Floats
    mean: Floats | None = None

    @classmethod
    def of(
        cls, source: Mapping[str, Mapping[str, Any]] | str | os.PathLike[str]
    ) -> NamedCovariance:
        """Read a mapping from each column to its covariances, or the path of a CSV file."""
        if isinstance(source, Mapping):
            names = [name for name in source if name != MEAN or MEAN in source[name]]
            wanted = [*names, *([MEAN] if MEAN in source and MEAN not in names else [])]
            rows = [[name, *(_entry(source[name], other) for other in names)] for name in wanted]
            return cls._of_lines(["", *names], rows, "The covariance")
        text = read_text_file(source, what="covariance", kind=InputError)
        try:
            reader = csv.reader(io.StringIO(text, newline=""))
            lines = [[cell.strip() for cell in line] for line in reader if any(line)]
        except csv.Error:
            raise InputError(f"The covariance {source} cannot be read", hint=HINT) from None
        if len(lines) < 2:
            raise InputError(f"The file {source} contains no covariances", hint=HINT)
        return cls._of_lines(lines[0], lines[1:], f"The covariance {source}")

    @classmethod
    def _of_lines(
        cls, head: Sequence[str], lines: Sequence[Sequence[Any]], what: str
    ) -> NamedCovariance:
        """Take names and rows of numbers, the row of means last or missing."""
        names = tuple(head[1:])
        rows = {str(line[0]): line[1:] for line in lines}
        means = rows.pop(MEAN, None) if MEAN not in names else None
        if len(names) > MOST_COLUMNS:
            raise InputError(
                f"{what} has {len(names):,} columns, too many to compute with exactly",
                hint=f"choose up to {MOST_COLUMNS}",
            )
        doubled = len(set(names)) < len(names) or len(rows) + (means is not None) < len(lines)
        if not names or doubled or set(rows) != set(names):
            raise InputError(f"{what} does not have one row and one column per name", hint=HINT)
        if any(len(row) != len(names) for row in (*rows.values(), means or names)):
            raise InputError(f"{what} has rows of different lengths", hint=HINT)
        matrix = np.array([_numbers(rows[name], what) for name in names])
        mean = None if means is None else np.array(_numbers(means, what))
        return cls(names, matrix, mean)

    def covariance_of(self, columns: Sequence[str]) -> Floats:
        """Return the covariances of some columns, in their order; one may be named twice."""
        places = self._places(columns)
        return self.matrix[np.ix_(places, places)]

    def mean_of(self, columns: Sequence[str]) -> Floats | None:
        """Return the means of some columns, if there are any."""
        return None if self.mean is None else self.mean[self._places(columns)]

    def _places(self, columns: Sequence[str]) -> list[int]:
        for name in columns:
            if name not in self.names:
                raise ColumnError(
                    f"The covariances do not name the column '{name}'",
                    hint=f"choose from {', '.join(self.names[:12])}",
                )
        return [self.names.index(name) for name in columns]


def _entry(row: object, name: str) -> object:
    """Return what a row of a mapping holds for a column."""
    if not isinstance(row, Mapping) or name not in row:
        raise OptionError(
            f"The covariance lacks an entry of column '{name}'",
            hint="give every column its covariances with all columns, as a mapping",
        )
    return row[name]


def _numbers(row: Sequence[Any], what: str) -> list[float]:
    """Read the numbers of a row: texts exactly, then as doubles."""
    try:
        numbers = [
            float(parse_number(entry, name="a covariance") if isinstance(entry, str) else entry)
            for entry in row
        ]
    except (OptionError, TypeError, ValueError, OverflowError):
        raise InputError(
            f"{what} contains an entry that is not a number", hint="write decimals: 12.5"
        ) from None
    return numbers
