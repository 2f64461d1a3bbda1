"""Post-randomisation: every value is replaced by one that is drawn from its row of a matrix."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.table import names_of
from hartley.errors import ColumnError, OptionError
from hartley.exact import bits_at_least
from hartley.measures.anonymity import delta_disclosure, t_closeness
from hartley.measures.leakage import maximin_information, mutual_information, nonstochastic_leakage
from hartley.policies.column import ColumnPolicy, Draws, Output, read_list
from hartley.policies.random.matrix import (
    Coder,
    ExactMatrix,
    as_list,
    check_values,
    guessing_gain,
    invariant,
    odds_factor,
    read_values,
    retaining,
    without_dust,
    write_values,
)
from hartley.ranges.distribution import JointDistribution
from hartley.ranges.joint_range import as_counted
from hartley.ranges.relation import Relation
from hartley.tables.release_rules import Keep
from hartley.text import number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    from hartley.policies.distortion.curve import TradeoffResult
    from hartley.policies.random.matrix import Value

    Seed = int | bytes | None


# --- pram -----------------------------------------------------------------------------------------


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
        fields = {"matrix": exact, "values": known, "released": out, "columns": columns}
        for name, value in fields.items():
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
                "pairs in model.inputs (hartley.policies.reconstruct has E[X|Q] after such a rule)",
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
        from hartley.kernels.draws import alias_tables

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
        from hartley.kernels.draws import draw_rows

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
    """Return the 256-bit key of a draw: of the seed and the rule, or of fresh random bytes."""
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


four_digits = partial(number, digits=4, round="up", short=True)


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


# --- leakage --------------------------------------------------------------------------------------
# What a random rule still tells: for certain, by the best guess, in odds, on average.


def support_relation(matrix: ExactMatrix) -> Relation:
    """Return which values can be released for which, all that is certain about a random rule."""
    return Relation.from_pairs(
        list(zip(*(side.tolist() for side in np.nonzero(matrix.parts)), strict=True))
    )


@dataclass(frozen=True)
class ConfidentialLeakage:
    """What the release of a key tells about a confidential side, in bits."""

    average: float
    """I(W;X^), on average over all records."""
    unperturbed: float
    """I(W;X), what the key as it is would tell."""
    closeness: float
    """t: the divergence of the confidential side given the worst released value."""
    disclosure: float
    """delta: the largest |log2| by which a released value multiplies a probability."""


@dataclass(frozen=True)
class PramLeakage:
    """What a random rule tells about one record."""

    columns: tuple[str, ...]
    gain: Fraction
    """How many times as likely the best guess gets right: sum over y of max over x of P(y|x)."""
    maximal: float
    """Stochastic maximal leakage in bits, rounded up."""
    nonstochastic: float
    """L0: what some released value excludes for certain, in bits."""
    maximin: float
    """I*: what every released value settles for certain, in bits."""
    odds: Fraction | None
    """The largest factor by which odds between two values change; None where it is unbounded."""
    values: int
    confidential: ConfidentialLeakage | None = None
    about: tuple[str, ...] = ()
    """The confidential columns."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the release tells, each measure in plain words."""
        what = ", ".join(self.columns) or "the value"
        guess = (
            f"Whatever anybody wants to know about a record, the release of {what} multiplies the "
            f"chance to guess it by {four_digits(self.gain)} at most: {four_digits(self.maximal)} "
            "bits of stochastic maximal leakage."
        )
        return (guess, self._certain, self._odds, *self._about)

    @property
    def _certain(self) -> str:
        if self.nonstochastic == 0:
            return (
                "It tells nothing for certain: every released value may come from every value "
                "(L0 = I* = 0)."
            )
        possible = round(self.values / 2**self.nonstochastic)
        settled = (
            f"; and every released value settles {four_digits(self.maximin)} bits (I*)"
            if self.maximin
            else ", though nothing is settled by every one (I* = 0)"
        )
        return (
            f"Some released value leaves only {possible:,} of {self.values:,} values possible, for "
            f"certain: {four_digits(self.nonstochastic)} bits (L0){settled}."
        )

    @property
    def _odds(self) -> str:
        if self.odds is None:
            return (
                "Some released value rules out a value altogether, so the odds between two values "
                "can change without bound."
            )
        return (
            "A released value changes the odds between any two values by a factor of "
            f"{four_digits(self.odds)} at most."
        )

    @property
    def _about(self) -> tuple[str, ...]:
        if self.confidential is None:
            return ()
        measured, about = self.confidential, ", ".join(self.about) or "the confidential side"
        worst = (
            "excludes a value of it altogether (delta is infinite)"
            if math.isinf(measured.disclosure)
            else f"multiplies or divides a probability by {2**measured.disclosure:.4g} "
            f"(delta = {measured.disclosure:.4f} bits)"
        )
        average = (
            f"About {about} the release tells {measured.average:.4f} bits on average, of "
            f"{measured.unperturbed:.4f} that the values themselves tell."
        )
        most = f"The worst released value tells {measured.closeness:.4f} bits about it (t)"
        return average, f"{most}, and one {worst}."

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, ready for JSON; unbounded ones are null."""
        confidential = None
        if self.confidential is not None:
            numbers = vars(self.confidential)
            confidential = {n: v if math.isfinite(v) else None for n, v in numbers.items()}
        return {
            "maximal_leakage": self.maximal,
            "guessing_gain": str(self.gain),
            "nonstochastic_leakage": self.nonstochastic,
            "maximin_information": self.maximin,
            "odds_factor": None if self.odds is None else str(self.odds),
            "confidential": confidential,
            "sentences": list(self.sentences),
        }


def pram_leakage(
    pram: Pram, joint: ArrayLike | JointDistribution | None = None, *, about: tuple[str, ...] = ()
) -> PramLeakage:
    """Return what a rule tells about one record.

    Args:
        pram: the rule.
        joint: p(w, x) of a confidential side and the values, a row a confidential value; where
            it is given, the result also says what the release tells about that side.
        about: the names of the confidential columns.

    Example:
        >>> from hartley.policies.random.pram import Pram
        >>> leakage = pram_leakage(Pram.retaining("0.9", ["a", "b"]), [[0.5, 0.0], [0.0, 0.5]])
        >>> round(leakage.maximal, 6), leakage.nonstochastic, float(leakage.odds)
        (0.847997, 0.0, 9.0)
        >>> about = leakage.confidential
        >>> round(about.average, 4), round(about.disclosure, 4)
        (0.531, 2.3219)
    """
    matrix = pram.matrix
    gain, support = guessing_gain(matrix), support_relation(matrix)
    confidential = None
    if joint is not None:
        read = joint if isinstance(joint, JointDistribution) else JointDistribution.of(joint)
        if read.matrix.shape[1] != len(pram.values):
            raise OptionError(
                f"The joint distribution has {read.matrix.shape[1]} columns for "
                f"{len(pram.values)} values",
                hint="give one column per value of the matrix",
            )
        released = JointDistribution(read.matrix @ matrix.doubles)
        confidential = ConfidentialLeakage(
            average=mutual_information(released),
            unperturbed=mutual_information(read),
            closeness=t_closeness(released),
            disclosure=delta_disclosure(released),
        )
    return PramLeakage(
        columns=pram.columns,
        gain=gain,
        maximal=bits_at_least(gain.numerator, gain.denominator),
        nonstochastic=nonstochastic_leakage(support),
        maximin=maximin_information(support),
        odds=odds_factor(matrix),
        values=len(pram.values),
        confidential=confidential,
        about=about,
    )


# --- drawing --------------------------------------------------------------------------------------
# Draw the perturbed columns of a table, chunk by chunk, and count what was there and what came.


MOST_JUDGED = 2_000_000
"""So many released rows times secrets are judged together at most."""


class TableDraw:
    """What turns Arrow chunks of a table, in their order, into perturbed ones.

    With ``beside``, columns that are not drawn, it also counts the released rows.
    """

    def __init__(
        self, prams: Sequence[Pram], *, seed: Seed = None, beside: Sequence[str] | None = None
    ) -> None:
        self.prams = tuple(prams)
        self.beside = beside or ()
        self._counts = beside is not None
        self.classes: Any = None
        """The columns beside and the drawn places as c0, c1, ..., and n, how many rows have them;
        None where they are not counted, or too many."""
        self.before: list[NDArray[np.int64]] = [np.zeros(len(p.values), np.int64) for p in prams]
        self.after: list[NDArray[np.int64]] = [np.zeros(len(p.released), np.int64) for p in prams]
        self.changed = [0] * len(self.prams)
        """How many rows came out otherwise than they were, of each rule."""
        # Where each value stands among the released ones; -1 where it does not.
        places = [{value: place for place, value in enumerate(p.released)} for p in prams]
        self._same = [
            np.array([known.get(value, -1) for value in pram.values], np.int32)
            for pram, known in zip(prams, places, strict=True)
        ]
        self._seed = fresh_seed() if seed is None else seed
        self._row = 0
        self._coders: list[Coder] | None = None

    def __call__(self, chunk: Any) -> Any:  # noqa: ANN401 - Arrow carries no types
        """Return the next chunk with its columns drawn."""
        import pyarrow as pa

        if self._coders is None:
            schema = chunk.schema
            self._coders = [
                pram.coder([schema.field(name).type for name in pram.columns])
                for pram in self.prams
            ]
        places = []
        for place, (pram, coder) in enumerate(zip(self.prams, self._coders, strict=True)):
            codes = coder.encode([chunk.column(name) for name in pram.columns])
            _refuse_unknown(pram, codes, chunk)
            drawn = pram.draw(codes, seed=self._seed, first=self._row)
            places.append(drawn)
            self.before[place] += np.bincount(codes, minlength=len(pram.values))
            self.after[place] += np.bincount(drawn, minlength=len(pram.released))
            self.changed[place] += int((self._same[place][codes] != drawn).sum())
            for name, column in zip(pram.columns, coder.decode(drawn), strict=True):
                chunk = chunk.set_column(chunk.column_names.index(name), name, column)
        self._row += chunk.num_rows
        if self._counts:
            columns = [*(as_counted(chunk.column(name)) for name in self.beside), *places]
            names = [f"c{i}" for i in range(len(columns))]
            rows = pa.table([*columns, np.ones(chunk.num_rows, np.int64)], names=[*names, "n"])
            rows = rows if self.classes is None else pa.concat_tables([self.classes, rows])
            counts = rows.group_by(names).aggregate([("n", "sum")])
            self.classes = counts.select([*names, "n_sum"]).rename_columns([*names, "n"])
            if self.classes.num_rows > MOST_JUDGED:
                self._counts, self.classes = False, None
        return chunk


def _refuse_unknown(pram: Pram, codes: NDArray[np.int32], chunk: Any) -> None:  # noqa: ANN401 - likewise
    """Refuse a value that the matrix has no row for, without saying which."""
    if not codes.size or codes.min() >= 0:
        return
    columns = " and ".join(f"'{name}'" for name in pram.columns)
    missing = sum(chunk.column(name).null_count for name in pram.columns)
    if missing and not pram.takes_missing:
        raise ColumnError(
            f"A value of column {columns} is missing, for which the matrix has no row",
            hint="drop such rows, or make the missing value a value of the matrix: "
            "None in Python, {missing = true} in a file, --missing value of hartley pram",
        )
    raise ColumnError(
        f"Column {columns} holds a value that the matrix has no row for",
        hint="add a row to the matrix, or merge such values first",
    )
