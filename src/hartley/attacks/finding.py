"""The result of an attack: a sentence, a number with its uncertainty, and a chart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from hartley.errors import ColumnError, OptionError, TableError
from hartley.report import Chart, Panel, Readable, Report, Section, Series, Tile
from hartley.tables.opening import open_table
from hartley.tables.view import OF_COLUMN, left_out_sentence, run
from hartley.text import count_of, few_digits, number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.engines.table import Table


@dataclass(frozen=True)
class AttackEstimate:
    """A number and the interval that holds the true one.

    ``confidence`` is how often such an interval holds it; 1 means that the number is exact or the
    interval is certain.
    """

    value: float
    low: float
    high: float
    confidence: float = 1.0

    @classmethod
    def exact(cls, value: float) -> AttackEstimate:
        """Return an estimate without uncertainty."""
        return cls(value, value, value)

    @property
    def is_exact(self) -> bool:
        """Whether the number has no uncertainty."""
        return self.low == self.high and self.confidence == 1

    def in_words(self) -> str:
        """Say how certain the number is."""
        if self.is_exact:
            return "exact"
        outward = partial(number, digits=4, short=True, infinite="∞")
        low = outward(self.low, round="down", slack=1e-12 * abs(self.low))
        high = outward(self.high, round="up", slack=1e-12 * abs(self.high))
        sure = f"with {100 * self.confidence:.4g} % confidence"
        return f"between {low} and {high} {sure if self.confidence < 1 else 'for certain'}"

    def covers(self, value: float) -> bool:
        """Tell whether a number lies in the interval."""
        return self.low <= value <= self.high

    def to_dict(self) -> dict[str, float]:
        """Return the estimate as plain values, ready for JSON."""
        return dict(vars(self))


class AttackResult(Readable):
    """What every attack returns: its number, its sentences and its picture."""

    if TYPE_CHECKING:
        # Not at run time, where a dataclass would take a property for the default of its field.
        @property
        def headline(self) -> str:
            """The result in one sentence."""

        @property
        def sentences(self) -> tuple[str, ...]:
            """The details, one sentence each."""

        @property
        def number(self) -> AttackEstimate:
            """The main number of the attack, with its uncertainty."""

        @property
        def measured(self) -> str:
            """What the number is."""

        def chart(self) -> Chart:
            """Return a chart of the result."""

        def to_dict(self) -> dict[str, Any]:
            """Return the finding as plain values, ready for JSON."""

    def _said(self) -> dict[str, Any]:
        """Return what the JSON of every finding begins with."""
        return {
            "headline": self.headline,
            "sentences": list(self.sentences),
            "number": self.number.to_dict(),
        }

    def report(self) -> Report:
        """Return the finding in sections."""
        chart, number = self.chart(), self.number
        found = Section("What was found", points=self.sentences)
        picture = Section("The picture", chart=chart, table=chart.grid(), page_only=True)
        return Report(
            f"{chart.title} (synthetic data)" if chart.synthetic else chart.title,
            self.headline,
            (Tile(few_digits(number.value), f"{self.measured}, {number.in_words()}"),),
            (found, picture) if self.sentences else (picture,),
            "Exact numbers are counted; numbers with a confidence are estimated from trials. If "
            "one attack fails, another may still succeed.",
        )


def no_answer() -> OptionError:
    """Return the error for an agent that has no answers an attack can use."""
    return OptionError(
        "There is no answer to attack",
        hint="ask about the present version of the data; answers about older versions, and those "
        "that depend on too many values at once, are not used",
    )


def interval_series(
    label: str,
    places: Sequence[str],
    estimates: Sequence[AttackEstimate],
    kind: Literal["bars", "points"] = "bars",
) -> Series:
    """Return estimates with their intervals, to be drawn."""
    values, low, high = (
        tuple(getattr(estimate, end) for estimate in estimates) for end in ("value", "low", "high")
    )
    return Series(label, tuple(places), values, kind, low=low, high=high)


def share(hits: int, trials: int, *, confidence: float = 0.95) -> AttackEstimate:
    r"""Estimate how often something happens from independent trials.

    The interval is that of Clopper and Pearson (1934): it holds the true share at least as often
    as ``confidence`` says, for any number of trials.
    """
    from scipy.stats import beta

    if not 0 <= hits <= trials or trials < 1:
        raise OptionError(
            f"{hits} hits in {trials} trials are impossible", hint="play at least once"
        )
    rest = (1 - confidence) / 2
    low = float(beta.ppf(rest, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.isf(rest, hits + 1, trials - hits)) if hits < trials else 1.0
    return AttackEstimate(hits / trials, low, high, confidence)


def advantage(wins: int, games: int, *, confidence: float = 0.95) -> AttackEstimate:
    r"""Return the advantage over a coin toss of a player who won this many games.

    .. math:: \mathrm{Adv} = 2 |P - 1/2|

    (Farokhi 2020, Section V.A). The interval follows from that of the share of games won; it
    covers 0 unless the results rule out a fair coin.
    """
    won = share(wins, games, confidence=confidence)
    ends = sorted((2 * abs(won.low - 0.5), 2 * abs(won.high - 0.5)))
    low = 0.0 if won.covers(0.5) else ends[0]
    return AttackEstimate(2 * abs(won.value - 0.5), low, ends[1], confidence)


# --- disclosure -----------------------------------------------------------------------------------
# The findings of attacks on the classes of a k-anonymous table: counts and shares, no values.

Attack = Literal["homogeneity", "similarity", "skewness"]
ORDER: tuple[Attack, ...] = ("homogeneity", "similarity", "skewness")
"""From the attack that reveals most, the value itself, to the one that reveals least."""


@dataclass(frozen=True)
class Disclosure:
    """For how many people one attack learns one confidential column."""

    attack: Attack
    column: str
    learned: str
    """What is learned, in words that fit after 'learns'."""
    people: int
    classes: int
    """How many classes of equal keys the attack succeeds on."""
    smallest: int | None
    """The size of the smallest of them; None if it succeeds on none."""
    rows: int
    """How many people have a value in the column."""

    @property
    def sentence(self) -> str:
        """Say how far the attack gets."""
        name = self.attack.capitalize()
        if not self.people:
            return f"{name} attack on {self.column}: it fails, no class reveals {self.learned}."
        classes = count_of(self.classes, "class")
        return (
            f"{name} attack on {self.column}: it learns {self.learned} for {self.people:,} of "
            f"{self.rows:,} people ({percent(self.people, self.rows, round='up')}), in {classes}, "
            f"the smallest of {self.smallest:,}."
        )


@dataclass(frozen=True)
class Guess:
    """How often the likeliest value of a column is right, with the keys and without."""

    column: str
    with_keys: Fraction
    without_keys: Fraction

    @property
    def sentence(self) -> str:
        """Say what the keys are worth to a guesser."""
        return (
            f"Guessing the most common {self.column} of a person's class is right for "
            f"{percent(self.with_keys, round='up')} of the people, and without the keys for "
            f"{percent(self.without_keys, round='up')}."
        )


@dataclass(frozen=True)
class TableFinding(AttackResult):
    """What one or several attacks learn from the classes of a table; exact.

    No value of the table appears: only counts and shares.
    """

    table: str
    keys: tuple[str, ...]
    rows: int
    classes: int
    k: int
    """The size of the smallest class."""
    disclosures: tuple[Disclosure, ...]
    guesses: tuple[Guess, ...]
    left_out: Mapping[str, int]
    """By column, how many people are not counted because their value is missing."""
    notes: tuple[str, ...] = ()
    measured: ClassVar[str] = "share of people whose value is learned"

    @property
    def worst(self) -> Disclosure:
        """What the most revealing successful attack learns about the most people."""
        successful = [disclosure for disclosure in self.disclosures if disclosure.people]
        return min(
            successful or self.disclosures[:1],
            key=lambda disclosure: (ORDER.index(disclosure.attack), -disclosure.people),
        )

    @property
    def number(self) -> AttackEstimate:
        """The share of people whose value the most revealing attack learns; exact."""
        return AttackEstimate.exact(self.worst.people / self.worst.rows)

    @property
    def headline(self) -> str:
        """The result in one sentence, and one more for each column with missing values."""
        worst, learned = self.worst, ", and no attack on its classes succeeds."
        if worst.people:
            learned = (
                f", but an adversary who knows the keys still learns {worst.learned} for "
                f"{worst.people:,} of {worst.rows:,} people."
            )
        summary = f"{self.table} is {self.k:,}-anonymous over {', '.join(self.keys)}{learned}"
        left_out = (
            left_out_sentence(rows, [name], of=OF_COLUMN) for name, rows in self.left_out.items()
        )
        return " ".join((summary, *left_out))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        learned = (disclosure.sentence for disclosure in self.disclosures)
        return (*learned, *(guess.sentence for guess in self.guesses), *self.notes)

    def chart(self) -> Chart:
        """Return the share of people for each attack, and how often a guess is right."""
        attacks = [
            a for a in ORDER if any(disclosure.attack == a for disclosure in self.disclosures)
        ]
        learned = tuple(self._bars(attack) for attack in attacks)
        columns = tuple(guess.column for guess in self.guesses)
        with_keys = tuple(float(guess.with_keys) for guess in self.guesses)
        without = tuple(float(guess.without_keys) for guess in self.guesses)
        guessed = (
            Series("with the keys", columns, with_keys, "bars"),
            Series("without", columns, without, "bars", tone=5),
        )
        return Chart(
            f"Attacks on the classes of {self.table}",
            (
                Panel(
                    "column", "share of people", learned, "Learned by the attack", from_zero=True
                ),
                Panel("column", "share of people", guessed, "Guessed right", from_zero=True),
            ),
        )

    def _bars(self, attack: Attack) -> Series:
        columns = tuple(dict.fromkeys(disclosure.column for disclosure in self.disclosures))
        shares = tuple(
            max(
                (
                    disclosure.people / disclosure.rows
                    for disclosure in self.disclosures
                    if (disclosure.attack, disclosure.column) == (attack, column)
                ),
                default=0.0,
            )
            for column in columns
        )
        return Series(attack, columns, shares, "bars", tone=ORDER.index(attack))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "format": 1,
            **self._said(),
            "table": self.table,
            "keys": list(self.keys),
            "rows": self.rows,
            "classes": self.classes,
            "k": self.k,
            "rows_left_out": dict(self.left_out),
            "attacks": [vars(disclosure) for disclosure in self.disclosures],
            "guesses": [
                vars(guess)
                | {"with_keys": float(guess.with_keys), "without_keys": float(guess.without_keys)}
                for guess in self.guesses
            ],
        }


def join_findings(findings: Sequence[TableFinding]) -> TableFinding:
    """Return several attacks on one table as one finding, the most revealing attack first."""
    first = findings[0]
    disclosures = [disclosure for finding in findings for disclosure in finding.disclosures]
    disclosures.sort(key=lambda disclosure: (ORDER.index(disclosure.attack), -disclosure.people))
    return replace(
        first,
        disclosures=tuple(disclosures),
        guesses=tuple(dict.fromkeys(guess for finding in findings for guess in finding.guesses)),
        left_out={name: n for finding in findings for name, n in finding.left_out.items()},
        notes=tuple(dict.fromkeys(note for finding in findings for note in finding.notes)),
    )


# --- readings -------------------------------------------------------------------------------------
# The readings of people over time: one row per person, and as whole numbers on a grid.

Drop: TypeAlias = Literal["people", "times"]


@dataclass(frozen=True)
class ReadingGrid:
    """Readings as whole multiples of a unit, one row per person."""

    codes: NDArray[np.float64]
    unit: Fraction
    exact: bool
    """Whether the multiples are the readings as given, not the nearest ones."""

    @classmethod
    def of(cls, readings: NDArray[np.float64], *, group: int) -> ReadingGrid:
        """Find the unit: a decimal one where the readings are short decimals, else a power of 2."""
        # The sum of one reading per person of the group is an exact double, with room for one more.
        bits = 52 - int(group).bit_length()
        largest = float(np.abs(readings).max())
        for decimals in range(10):
            if largest * 10.0**decimals >= 2.0**bits:
                break
            codes = np.rint(readings * 10.0**decimals)
            if np.array_equal(codes / 10.0**decimals, readings):
                return cls(codes + 0.0, Fraction(1, 10**decimals), exact=True)
        places = min(40, bits) - int(np.frexp(largest)[1])
        codes = np.rint(np.ldexp(readings, places)) + 0.0
        exact = np.array_equal(np.ldexp(codes, -places), readings)
        return cls(codes, Fraction(2) ** -places, exact=exact)


@dataclass(frozen=True)
class Readings:
    """The readings of people at the same times, and how many people or times were left out."""

    values: NDArray[np.float64]
    """One row per person, one column per time."""
    times: NDArray[np.int64]
    """Which of all times these are, counted from 0."""
    people_left_out: int
    times_left_out: int


def readings_of(
    source: object,
    *,
    person: str | None = None,
    order: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Drop = "people",
) -> Readings:
    """Return complete readings: one row per person, with a reading at every time."""
    if drop not in ("people", "times"):
        raise OptionError(
            f"The choice '{drop}' of what to drop for missing readings is unknown",
            hint="choose 'people' or 'times'",
        )
    paths = isinstance(source, (list, tuple)) and all(isinstance(item, str) for item in source)
    if isinstance(source, (np.ndarray, list, tuple)) and not paths:
        if person is not None or order is not None or columns is not None:
            raise OptionError(
                "Columns were named, but the readings are an array",
                hint="pass a table, or name no columns",
            )
        values = _from_array(source)
        return Readings(values, np.arange(values.shape[1]), 0, 0)
    return _complete(_from_table(table := open_table(source), person, order, columns), table, drop)


def _from_array(source: object) -> NDArray[np.float64]:
    try:
        values = np.asarray(source, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            "The readings are not an array of numbers",
            hint="give every person the same number of readings",
        ) from None
    if values.ndim < 2 or values.size == 0:
        raise OptionError(
            "The readings do not have one row per person", hint="pass an array of people x readings"
        )
    values = values.reshape(values.shape[0], -1)
    if not np.isfinite(values).all():
        raise OptionError(
            "The readings hold missing or infinite numbers",
            hint="leave out these people or these times first",
        )
    return values


def _from_table(
    table: Table, person: str | None, order: str | None, columns: Sequence[str] | None
) -> NDArray[np.float64]:
    """Return the readings of a table, one row per person, with NaN for missing readings."""
    keys = [name for name in (person, order) if name is not None]
    listed = [name for name in columns or numeric_columns(table) if name not in keys]
    table.require([*keys, *listed])
    if len(keys) == 1:
        raise OptionError(
            "The columns of the person and of the order go together",
            hint="name both if a person has several rows, otherwise neither",
        )
    if not listed:
        raise ColumnError(f"{table.name} has no column of numbers", hint="name columns of readings")
    require_numbers(table, listed)
    arrow = run(table, table.expression.select(*keys, *listed).to_pyarrow)
    rows = np.column_stack([as_doubles(arrow.column(name)) for name in listed])
    rows[~np.isfinite(rows)] = np.nan
    if rows.size == 0:
        raise TableError(f"{table.name} has no rows", hint="pass a table with at least one row")
    if person is not None and order is not None:
        rows = _spread(table, rows, _codes(arrow.column(person)), _codes(arrow.column(order)))
    return rows


def numeric_columns(table: Table) -> list[str]:
    """Return the columns of numbers."""
    return [name for name in table.columns if table.kind(name).numeric]


def require_numbers(table: Table, columns: Sequence[str]) -> None:
    """Raise an error for columns that do not hold numbers."""
    for name in columns:
        if not table.kind(name).numeric:
            raise ColumnError(
                f"Column '{name}' of {table.name} holds {table.kind(name)} values, not numbers",
                hint="name only columns of numbers",
            )


def as_doubles(column: Any) -> NDArray[np.float64]:  # noqa: ANN401 - Arrow carries no types
    """Return a column of an Arrow table as doubles."""
    doubles: NDArray[np.float64] = column.cast("float64").to_numpy().astype(np.float64)
    return doubles


def _complete(rows: NDArray[np.float64], table: Table, drop: Drop) -> Readings:
    """Leave out the people, or the times, with a missing reading."""
    missing = np.isnan(rows)
    if drop == "times":
        whole = ~missing.any(axis=0)
        if not whole.any():
            raise TableError(
                f"At no time does everybody in {table.name} have a reading",
                hint="leave out the people with few readings, or drop people instead of times",
            )
        return Readings(rows[:, whole], np.flatnonzero(whole), 0, int((~whole).sum()))
    complete = ~missing.any(axis=1)
    if not complete.any():
        raise TableError(
            f"Nobody in {table.name} has a reading at every time",
            hint="drop times with missing readings instead of people",
        )
    return Readings(rows[complete], np.arange(rows.shape[1]), int((~complete).sum()), 0)


def _codes(column: Any) -> tuple[NDArray[np.int64], int]:  # noqa: ANN401 - Arrow carries no types
    """Number the values of a column in their order."""
    from hartley.ranges.classes import encode_column

    codes, values = encode_column(column)
    return codes, len(values)


def _spread(
    table: Table,
    rows: NDArray[np.float64],
    person: tuple[NDArray[np.int64], int],
    order: tuple[NDArray[np.int64], int],
) -> NDArray[np.float64]:
    """Give every person one row, with NaN for missing times."""
    times = person[0] * order[1] + order[0]
    if np.unique(times).size < times.size:
        raise TableError(
            f"{table.name} has several rows of one person at the same place in the order",
            hint="name a column that orders the rows of every person",
        )
    spread = np.full((person[1] * order[1], rows.shape[1]), np.nan)
    spread[times] = rows
    return spread.reshape(person[1], -1)
