"""Post-randomisation: every value is replaced by one that is drawn from its row of a matrix."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.maps.rules import Keep
from hartley.engines.tables.table import names_of
from hartley.errors import OptionError
from hartley.policies.column import ColumnPolicy, Draws, Output, read_list
from hartley.policies.perturbation.matrix import (
    ExactMatrix,
    guessing_gain,
    invariant,
    retaining,
    without_dust,
)
from hartley.policies.perturbation.values import (
    Coder,
    as_list,
    check_values,
    read_values,
    write_values,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    from hartley.policies.distortion.result import TradeoffResult
    from hartley.policies.perturbation.values import Value

    Seed = int | bytes | None


@dataclass(frozen=True, init=False)
class Pram(ColumnPolicy):
    r"""A random rule that replaces every value by one drawn from its row of a matrix.

    .. math:: P_{xy} = P(\hat X = y \mid X = x), \qquad \sum_y P_{xy} = 1

    The post-randomisation method (Gouweleeuw, Kooiman, Willenborg and de Wolf 1998). Rows are drawn
    one by one and independently. Probabilities are exact rationals: texts and fractions as they are
    written, up to a common denominator of 2^62; beyond that they are rounded as doubles are, to
    decimals of 15 digits whose rows add up to 1. A draw uses multiples of 2^-62, positive where the
    matrix is, and what is said about leakage counts that.

    Args:
        matrix: a row a value and a column a released value.
        values: the values, in the order of the rows; 0, 1, 2, ... if left out. Text, numbers or
            truth values; None is a missing value. Over several columns, tuples.
        column: the column, or the columns that are perturbed together.
        released: the released values, where they are not the values.

    Example:
        >>> coin = Pram([["0.9", "0.1"], ["0.2", "0.8"]], values=["no", "yes"], column="sick")
        >>> drawn = coin.draw(np.zeros(1000, int), seed=7)
        >>> int(drawn.sum())  # about a tenth
        92
    """

    matrix: ExactMatrix
    values: tuple[Value, ...]
    released: tuple[Value, ...]
    columns: tuple[str, ...] = ()

    kind = "pram"
    kinds = ("pram",)
    needed = ("values", "matrix")
    optional = ("columns", "released")
    is_random = True

    def __init__(
        self,
        matrix: ExactMatrix | ArrayLike | Sequence[Sequence[Any]],
        values: Sequence[Value] | None = None,
        *,
        column: str | Sequence[str] = (),
        released: Sequence[Value] | None = None,
    ) -> None:
        exact = ExactMatrix.of(matrix)
        columns = names_of(column)
        values, released = as_list(values), as_list(released)
        first = values[0] if values else None
        width = len(columns) or (len(first) if isinstance(first, tuple) else 1)
        for what, listed, size in (
            ("rows", values, exact.shape[0]),
            ("columns", values if released is None else released, exact.shape[1]),
        ):
            if listed is not None and len(listed) != size:
                raise OptionError(
                    f"The matrix has {size} {what} for {len(listed)} values",
                    hint="give one row per value and one column per released value",
                )
        if values is None:
            values = range(exact.shape[0])
            released = range(exact.shape[1]) if released is None else released
        known = check_values(values, width)
        out = known if released is None else check_values(released, width)
        out = known if out == known else out  # 1, 1.0 and True: in the form of the values
        for name, value in (
            *(("matrix", exact), ("values", known)),
            *(("released", out), ("columns", columns)),
        ):
            object.__setattr__(self, name, value)

    # --- where rules come from ----------------------------------------------------------------

    @classmethod
    def retaining(
        cls, probability: object, values: Sequence[Value], *, column: str | Sequence[str] = ()
    ) -> Pram:
        """Keep a value with a probability, else release any other with equal probability.

        Example:
            >>> Pram.retaining("0.8", ["a", "b", "c"]).matrix.texts()[0]
            ['0.8', '0.1', '0.1']
        """
        return cls(retaining(probability, len(values)), values, column=column)

    @classmethod
    def of_result(
        cls,
        result: TradeoffResult,
        values: Sequence[Value] | None = None,
        *,
        column: str | Sequence[str] = (),
    ) -> Pram:
        """Take the rule that the privacy-distortion solver found, without its numerical dust.

        Args:
            result: from ``PrivacyDistortion.solve``.
            values: the key values; the released ones if left out, where there are as many.
            column: the key column or columns.

        Example:
            >>> from hartley.policies.distortion.model import PrivacyDistortion
            >>> model = PrivacyDistortion([[0.5, 0.0], [0.0, 0.5]], "zero_one", values=["a", "b"])
            >>> Pram.of_result(model.solve(distortion=0.25)).matrix.texts()[0]
            ['0.75', '0.25']
        """
        if result.sees == "both":
            raise OptionError(
                "The rule draws from pairs of a confidential and a key value, and a rule of PRAM "
                "from the values of its columns alone",
                hint='solve with sees="key"; or draw from the matrix yourself, whose rows are the '
                "pairs in model.inputs (hartley.reconstruct has E[X|Q] after such a rule)",
            )
        keys = result.values if values is None else values
        same = list(keys) == list(result.values)
        rule = without_dust(result.matrix)
        return cls(rule, keys, column=column, released=None if same else result.values)

    def invariant(self, frequencies: ArrayLike) -> Pram:
        r"""Return a rule that preserves frequencies in expectation, in two stages.

        .. math:: \pi R = \pi, \qquad R = P Q, \quad Q_{yx} = \frac{\pi_x P_{xy}}{(\pi P)_y}

        Gouweleeuw et al. 1998. Checked, up to the 15 digits of an entry. Anybody who sees the
        matrix can work out the frequencies from it. Two products of matrices.

        Args:
            frequencies: of the values, or counts.

        Example:
            >>> rule = Pram.retaining("0.8", ["a", "b"]).invariant([90, 10])
            >>> rule.matrix.doubles[0].round(4).tolist()
            [0.9168, 0.0832]
        """
        shares = read_frequencies(frequencies, len(self.values))
        return Pram(invariant(self.matrix, shares), self.values, column=self.columns)

    def on(self, column: str | Sequence[str]) -> Pram:
        """Return the same rule for a column, or for several together."""
        released = None if self.released == self.values else self.released
        return Pram(self.matrix, self.values, column=column, released=released)

    # --- a column of a policy -----------------------------------------------------------------

    @property
    def name(self) -> str:
        """The column, or the first of several."""
        if not self.columns:
            raise OptionError(
                "The rule has no column yet", hint='write Pram(..., column="job") or .on("job")'
            )
        return self.columns[0]

    @property
    def takes_missing(self) -> bool:
        """Whether a missing value is a value of the matrix."""
        return any(
            None in value if isinstance(value, tuple) else value is None for value in self.values
        )

    def to_rules(self) -> tuple[Keep, ...]:
        """Return what an engine fetches; the draw follows, row by row."""
        return tuple(Keep(column) for column in self.columns)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        several = {"columns": list(self.columns)} if len(self.columns) > 1 else {}
        known = {"values": write_values(self.values)}
        if self.released != self.values:
            known["released"] = write_values(self.released)
        return several | known | {"matrix": self.matrix.texts()}

    @classmethod
    def read(
        cls,
        name: str,
        matrix: object,
        values: object,
        columns: object = None,
        released: object = None,
    ) -> Pram:
        """Build it from the fields of a file."""
        listed = [name] if columns is None else read_list(columns, "columns")
        if not all(isinstance(column, str) for column in listed) or listed[:1] != [name]:
            raise OptionError(
                f"The columns of the matrix do not begin with '{name}'",
                hint="list the columns that are perturbed together, the named one first",
            )
        if len(set(listed)) < len(listed):
            raise OptionError("A column of the matrix is named twice", hint="name it once")
        return cls(
            [read_list(row, "matrix") for row in read_list(matrix, "matrix")],
            read_values(values, "values"),
            column=listed,
            released=None if released is None else read_values(released, "released"),
        )

    @classmethod
    def from_fields(cls, kind: str, name: str, fields: Mapping[str, object]) -> Pram:
        """Build it from the fields of a file."""
        _ = kind  # there is one
        return cls.read(name, **fields)

    def outputs(self) -> Output:
        """Return that nothing is counted: what is drawn at random is measured by its gain."""
        return Output(self.name, None, frozenset({self.name}))

    def guessing_gain(self) -> Fraction:
        """Return by how much a draw multiplies the chance of a guess, at most."""
        return guessing_gain(self.matrix)

    def draws(self) -> Draws:
        """Return which values come out for which, and how often."""
        return Draws(self.values, self.released, self.matrix)

    # --- draws --------------------------------------------------------------------------------

    @cached_property
    def tables(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """What draws in one look-up a row."""
        from hartley.kernels.draw import alias_tables

        return alias_tables(self.matrix.weights)

    def draw(self, codes: ArrayLike, *, seed: Seed = None, first: int = 0) -> NDArray[np.int32]:
        """Return a drawn place among the released values for every row.

        The number of a row in the whole table, the rule and the seed decide what is drawn for it,
        however the rows are cut into chunks or shared by threads. Rules that differ draw
        independently by the same seed. Some 15 ns a row.

        Args:
            codes: the place of every row's value.
            seed: to draw the same again; fresh random bytes of the system if left out. A number
                is for reproduction: anybody who guesses it knows what was drawn.
            first: the number of the first row.

        Example:
            >>> rule = Pram.retaining("0.5", ["a", "b"], column="x")
            >>> whole = rule.draw([0] * 20, seed=1)
            >>> whole[7:].tolist() == rule.draw([0] * 13, seed=1, first=7).tolist()
            True
        """
        from hartley.kernels.draw import draw_rows

        places = np.asarray(codes)
        if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
            raise OptionError("The codes are not one column of whole numbers", hint="pass places")
        if places.size and not 0 <= int(places.min()) <= int(places.max()) < len(self.values):
            raise OptionError(
                f"A code is outside the {len(self.values):,} positions of the value list",
                hint="count from 0, in the order of the values",
            )
        if isinstance(first, bool) or not isinstance(first, int) or not 0 <= first < 2**60:
            raise OptionError(
                "The number of the first row is not a whole number of 0 or more",
                hint="count from 0",
            )
        key = keystream_key(seed, self._text)
        return draw_rows(places.astype(np.int32), key, first, *self.tables)

    def coder(self, types: Sequence[Any]) -> Coder:
        """Return what codes Arrow columns of some types."""
        return Coder.of(self.columns, self.values, self.released, types)

    @cached_property
    def _text(self) -> str:
        """All of the rule as text: who sees two draws by one keystream learns more than of each."""
        parts = hashlib.sha256(self.matrix.parts.astype("<i8").tobytes()).hexdigest()
        sides = [write_values(self.values), write_values(self.released)]
        return json.dumps([list(self.columns), sides, self.matrix.whole, parts])


def keystream_key(seed: Seed, rule: str) -> NDArray[np.uint32]:
    """Return the 256-bit key of a draw: of the seed and the rule, or of fresh random bytes.

    Example:
        >>> keystream_key(1, "a rule").tolist() == keystream_key(1, "another").tolist()
        False
    """
    if seed is None:
        seed = fresh_seed()
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer, bytes)) or seed == b"":
        raise OptionError(
            "The seed is neither a whole number nor bytes", hint="write for example seed=7"
        )
    written = ["bytes", seed.hex()] if isinstance(seed, bytes) else ["number", f"{seed:x}"]
    text = json.dumps(["hartley pram 2", *written, rule])
    return np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u4").astype(np.uint32)


def fresh_seed() -> bytes:
    """Return random bytes of the operating system, as a seed that nobody can guess."""
    return secrets.token_bytes(32)


def read_frequencies(frequencies: ArrayLike, size: int) -> NDArray[np.float64]:
    """Return frequencies or counts as shares of 1, one a value."""
    try:
        read = np.asarray(frequencies, dtype=np.float64)
    except (TypeError, ValueError):
        read = np.empty(0)
    if read.shape != (size,):
        raise OptionError(
            f"The frequencies are not {size} numbers, one per value",
            hint="give one for every value",
        )
    if not np.isfinite(read).all() or read.min() < 0 or read.max() == 0:
        raise OptionError(
            "The frequencies are all zero, or one is negative",
            hint="give counts or shares of 0 or more",
        )
    scaled = read / read.max()  # so that the sum of large numbers is one too
    return np.asarray(scaled / scaled.sum())
