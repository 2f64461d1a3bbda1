"""A Gaussian confidential side and key, read from their covariances and checked."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import ColumnError, InputError, OptionError, TableError
from hartley.exact import parse_number
from hartley.files import read_text_file
from hartley.policies.gaussian.certificate import Dyadic, minors
from hartley.tables.column_map import refuse_no_rows
from hartley.tables.view import run
from hartley.text import conjugate, count_of, listed

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hartley.engines.table import Table

    Floats = NDArray[np.float64]


# --- model ----------------------------------------------------------------------------------------


NEGLIGIBLE = 1e-12
"""A share of a variance so small that rounding may have made it."""
LEAST = 1e-150
"""Smaller variances would be lost to the range of doubles."""
WRONG = 1e-8
"""A negative eigenvalue of the correlations, so large that rounding cannot have made it."""

DISCRETE = (
    "A discrete confidential side has no differential entropy: for one this is a comparison and "
    "no bound."
)
"""What the sentences of every Gaussian bound say about discrete data."""


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """Covariances of linearly independent coordinates of both sides.

    The key is ``spread`` times its coordinates, so that distortions of the key are weighted ones
    of the coordinates.
    """

    secret: Floats
    cross: Floats
    """Of the secret's coordinates (rows) and the key's."""
    key: Floats
    spread: Floats
    kept: tuple[int, ...]
    """Which components of the key are its coordinates."""
    reduced: bool
    """Whether components of the confidential side depend on the others."""
    notes: tuple[str, ...]

    @cached_property
    def exact(self) -> ExactModel:
        """The same numbers without rounding."""
        spread = Dyadic.of(self.spread)
        return ExactModel(
            Dyadic.of(self.secret), Dyadic.of(self.cross), Dyadic.of(self.key), spread.T @ spread
        )

    @cached_property
    def roots(self) -> tuple[Floats, Floats]:
        """Lower triangular square roots of both covariances."""
        secret, key = map(np.linalg.cholesky, (self.secret, self.key))
        return np.asarray(secret, np.float64), np.asarray(key, np.float64)

    @cached_property
    def whitened(self) -> Floats:
        """The cross-covariance of coordinates that are uncorrelated and of variance 1."""
        of_secret, of_key = self.roots
        return np.linalg.solve(of_key, np.linalg.solve(of_secret, self.cross).T).T

    @cached_property
    def weight(self) -> Floats:
        """What noise in the whitened coordinates of the key costs, as a share of its variance."""
        root = self.spread @ self.roots[1]
        return np.asarray(root.T @ root / self.variance)

    @cached_property
    def variance(self) -> float:
        """The total variance of the key: the distortion of releasing its mean."""
        return float((self.exact.weight @ self.exact.key).trace())

    @property
    def determined(self) -> bool:
        """Whether some combination of the confidential side is one of the key, up to rounding."""
        return bool(np.linalg.norm(self.whitened, 2) ** 2 > 1 - NEGLIGIBLE)


@dataclass(frozen=True, eq=False)
class ExactModel:
    """A model's covariances without rounding."""

    secret: Dyadic
    cross: Dyadic
    key: Dyadic
    weight: Dyadic

    @property
    def joint(self) -> Dyadic:
        """The covariance of both sides together."""
        return Dyadic.joined([[self.secret, self.cross], [self.cross.T, self.key]])


def read_gaussian(confidential: object, key: object, cross: object) -> GaussianModel:
    """Check covariances and reduce both sides to coordinates that are linearly independent."""
    w, x = _covariance(confidential, "confidential side"), _covariance(key, "key")
    between = _cross(cross, w.shape[0], x.shape[0])
    deviations = np.sqrt(np.concatenate([w.diagonal(), x.diagonal()]))
    joint = np.block([[w, between], [between.T, x]])
    _check_joint(joint, deviations)
    kept_w, kept_x = _independent(w), _independent(x)
    notes = []
    if len(kept_w) < w.shape[0]:
        notes.append(
            f"{w.shape[0] - len(kept_w)} of the {w.shape[0]} confidential columns follow from the "
            "others or are constant, up to rounding; they are left out, as if they did so exactly."
        )
    if len(kept_x) < x.shape[0]:
        notes.append(
            f"{x.shape[0] - len(kept_x)} of the {x.shape[0]} key columns follow from the others "
            "or are constant, up to rounding; they are taken to do so exactly, in a release too."
        )
    spread = _spread(x, kept_x)
    secret, between = w[np.ix_(kept_w, kept_w)], between[np.ix_(kept_w, kept_x)]
    inner = x[np.ix_(kept_x, kept_x)]
    between, shrunk = _shrunk(secret, between, inner)
    if shrunk:
        notes.append(
            "The covariances belong to no distribution by a rounding error: those between the two "
            f"sides were made smaller by {shrunk:.1g} of themselves."
        )
    reduced = len(kept_w) < w.shape[0]
    return GaussianModel(
        secret, between, inner, spread, tuple(map(int, kept_x)), reduced, tuple(notes)
    )


def _covariance(matrix: object, side: str) -> Floats:
    """Return a covariance as a matrix, refusing what is none."""
    checked = finite_numbers(matrix, f"covariance of the {side}")
    checked = checked.reshape(1, 1) if checked.ndim == 0 else checked
    if checked.ndim != 2 or checked.shape[0] != checked.shape[1] or checked.size == 0:
        raise OptionError(
            f"The covariance of the {side} is not a square matrix",
            hint="give one row and one column per column of the table, or a number for a single "
            "column",
        )
    variances = checked.diagonal()
    if variances.min() < 0:
        raise OptionError(
            f"The covariance of the {side} holds a negative variance",
            hint="give variances of 0 or more on the diagonal",
        )
    if variances.max() == 0:
        raise OptionError(
            f"The {side} does not vary, so there is nothing to tell",
            hint="choose columns with several values",
        )
    if variances[variances > 0].min() < LEAST:
        raise OptionError(
            f"The covariance of the {side} holds a variance below {LEAST}",
            hint="measure the columns in smaller units",
        )
    if np.abs(checked - checked.T).max() > WRONG * variances.max():
        raise OptionError(
            f"The covariance of the {side} is not symmetric",
            hint="give the same covariance on both sides of the diagonal",
        )
    return (checked + checked.T) / 2


def finite_numbers(matrix: object, name: str) -> Floats:
    """Return numbers that can be computed with; refuse everything else."""
    try:
        numbers = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if not np.isfinite(numbers).all() or np.abs(numbers).max(initial=0.0) > 1e150:
        raise OptionError(
            f"The {name} contains an entry that is not a number",
            hint="give finite numbers below 1e150",
        )
    return numbers


def _cross(cross: object, rows: int, columns: int) -> Floats:
    checked = finite_numbers(cross, "cross-covariance")
    if checked.ndim < 2 and checked.size == rows * columns and 1 in {rows, columns}:
        checked = checked.reshape(rows, columns)
    if checked.shape != (rows, columns):
        shape = " x ".join(map(str, checked.shape)) or "a single number"
        raise OptionError(
            f"The cross-covariance is {shape}, not {rows} x {columns}",
            hint="give one row per confidential column and one column per key column",
        )
    return checked


def _check_joint(joint: Floats, deviations: Floats) -> None:
    """Refuse covariances that no two sides have."""
    varies = deviations > 0
    scale = np.outer(deviations, deviations)[np.ix_(varies, varies)]
    smallest = np.linalg.eigvalsh(joint[np.ix_(varies, varies)] / scale)[0]
    if smallest < -WRONG or joint[~varies].any():
        raise OptionError(
            "No distribution has these covariances: some combination of the columns would have "
            "a negative variance",
            hint="compute all of them from the same complete rows",
        )


def _independent(covariance: Floats) -> list[int]:
    """Return components that the others follow from (Cholesky's method, largest pivot first)."""
    deviations = np.sqrt(covariance.diagonal())
    safe = np.where(deviations > 0, deviations, 1.0)
    rest = covariance / np.outer(safe, safe)
    independent: list[int] = []
    while len(independent) < len(rest) and (most := rest.diagonal().max()) > NEGLIGIBLE * len(rest):
        # The larger variance first among equals: rounding then matters least.
        place = int(np.lexsort((-deviations, -(rest.diagonal() / most).round(9)))[0])
        independent.append(place)
        rest = rest - np.outer(rest[:, place], rest[place]) / rest[place, place]
        rest[place] = rest[:, place] = 0.0
    return sorted(independent)


def _spread(covariance: Floats, independent: list[int]) -> Floats:
    """Return the matrix that gives all components from the independent ones."""
    size = covariance.shape[0]
    if len(independent) == size:
        return np.eye(size)
    inner = covariance[np.ix_(independent, independent)]
    root = np.sqrt(inner.diagonal())
    solved = np.linalg.solve(inner / np.outer(root, root), covariance[independent] / root[:, None])
    spread = (solved / root[:, None]).T
    spread[independent] = np.eye(len(independent))
    return np.asarray(spread)


def _shrunk(secret: Floats, cross: Floats, key: Floats) -> tuple[Floats, float]:
    """Make the cross-covariance smaller until no combination has a negative variance."""
    share = 0.0
    while True:
        smaller = cross * (1 - share)
        blocks: Any = [[secret, smaller], [smaller.T, key]]
        if minors(Dyadic.of(np.block(blocks))) is not None:
            return smaller, share
        share = max(4 * share, 2.0**-52)


# --- columns --------------------------------------------------------------------------------------
# Numeric columns of a table, and their means and covariances.


@dataclass(frozen=True, eq=False)
class NumericColumns:
    """Columns of numbers without a gap, and columns beside them as they are."""

    names: tuple[str, ...]
    values: Floats
    """A row a record, a column a name."""
    beside: Any
    """An Arrow table of the other columns, of the same rows."""
    dropped: int = 0
    """Rows that were left out because a number is missing or infinite."""

    @property
    def left_out_sentence(self) -> str:
        """Which rows were left out; empty where none was."""
        if not self.dropped:
            return ""
        return (
            f"{count_of(self.dropped, 'row')} in which {listed(self.names, joint='or')} is missing "
            f"or infinite {conjugate(self.dropped, 'is')} left out."
        )

    def of(self, names: Sequence[str]) -> Floats:
        """Return some of the columns, in the order of their names; one may be named twice."""
        return self.values[:, [self.names.index(name) for name in names]]


def read_numeric(
    table: Table, names: Sequence[str], beside: Sequence[str] = (), *, missing: str = "refuse"
) -> NumericColumns:
    """Read numeric columns of a table, and others as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if missing not in ("refuse", "drop"):
        raise OptionError(
            f"The treatment of missing values '{missing}' is unknown",
            hint="choose 'refuse' or 'drop'",
        )
    columns = list(dict.fromkeys(names))
    named = [*columns, *beside]
    for name in named:
        if named.count(name) > 1:
            raise ColumnError(
                f"Column '{name}' is named twice",
                hint="a column is released perturbed or as it is, once",
            )
    table.require(named)
    for name in columns:
        if not table.kind(name).numeric:
            refuse_no_rows(table)  # a CSV file with a header alone has columns of text
            raise ColumnError(
                f"Column '{name}' of {table.name} does not hold numbers, so it has no covariance",
                hint="choose numeric columns, and name texts that mean missing (--null NA); for "
                "categories use PrivacyDistortion and Pram (hartley curve, hartley pram)",
            )
    rows = run(table, table.expression.select(*named).to_pyarrow)
    if rows.num_rows == 0:
        raise TableError(f"{table.name} has no rows", hint="give a table that has rows")
    values = np.column_stack(
        [
            pc.fill_null(rows.column(place).cast(pa.float64(), safe=False), np.nan).to_numpy()
            for place in range(len(columns))
        ]
    )
    whole = np.isfinite(values)
    if missing == "refuse" and not whole.all():
        name = columns[int(np.flatnonzero(~whole.all(axis=0))[0])]
        raise ColumnError(
            f"Column '{name}' of {table.name} has missing or infinite values",
            hint="leave out these records first, or drop them: --missing drop",
        )
    complete = whole.all(axis=1)
    if not complete.any():
        raise TableError(
            f"No row of {table.name} has a number in every column", hint="choose other columns"
        )
    rest = rows.select(list(range(len(columns), len(named))))
    if not complete.all():
        values, rest = values[complete], rest.filter(pa.array(complete))
    return NumericColumns(tuple(columns), values, rest, int((~complete).sum()))


def moments(values: Floats) -> tuple[Floats, Floats]:
    """Return the means and the covariances of rows of numbers, each row as likely as any other."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused by name
        centre = values.mean(axis=0)
        centred = values - centre
        return centre, centred.T @ centred / len(values)


def check_names(confidential: Sequence[str], key: Sequence[str]) -> None:
    """Refuse a column that is named twice on one side."""
    for side in (confidential, key):
        for name in side:
            if list(side).count(name) > 1:
                raise ColumnError(f"Column '{name}' is named twice", hint="name it once a side")


# --- covariance file ------------------------------------------------------------------------------
# Covariances and means of named columns: from a CSV file or a mapping.

MEAN = "mean"
MOST_COLUMNS = 200
HINT = "first line: an empty field and the columns; then a column and its covariances in each line"


@dataclass(frozen=True, eq=False)
class NamedCovariance:
    """The covariances of named columns, and their means where they are known."""

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
