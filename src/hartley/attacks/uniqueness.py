"""The uniqueness attack: whose released values, or few known points, nobody else has."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from hartley.attacks.finding import AttackEstimate, AttackResult, interval_series, share
from hartley.engines.table import Table
from hartley.errors import ColumnError, OptionError
from hartley.exact import floor_power, parse_number
from hartley.policies.document import PolicyDocument
from hartley.policies.quantized_column import QuantizedColumn
from hartley.policies.quantizer import UniformQuantizer
from hartley.ranges.classes import combine_codes, encode_column
from hartley.report import Chart, Panel, Series
from hartley.tables.column_map import apply_map
from hartley.tables.counts import class_sizes, distinct_counts
from hartley.tables.opening import open_table
from hartley.tables.release_rules import Keep
from hartley.tables.view import prepare
from hartley.text import conjugate, count_of, few_digits, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hartley.kernels.games import Visits


Known: TypeAlias = int | Literal["all"]
LIMITS = (1, 2, 5, 10, 100)
"""Classes up to these sizes are shown together."""
LABELS = (
    "1",
    *(str(b) if b == a + 1 else f"{a + 1} to {b}" for a, b in itertools.pairwise(LIMITS)),
    f"over {LIMITS[-1]}",
)


@dataclass(frozen=True)
class Singled:
    """The share of people that a number of known points singles out."""

    known: Known
    share: AttackEstimate

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {"known": self.known, "share": self.share.to_dict()}


@dataclass(frozen=True)
class UniquenessFinding(AttackResult):
    """How many records, or people, have released values that nobody else has."""

    columns: tuple[str, ...]
    sizes: Mapping[int, int]
    """How many classes of equal records there are of each size, as released."""
    true_sizes: Mapping[int, int] | None
    """The same for the true values; None if nothing was changed."""
    people: int | None
    singled: tuple[Singled, ...]
    changed: bool
    """Whether a policy changed the values before release."""

    @property
    def records(self) -> int:
        """How many records there are."""
        return _records(self.sizes)

    @property
    def unique(self) -> int:
        """How many records differ from all others."""
        return self.sizes.get(1, 0)

    @property
    def unique_share(self) -> AttackEstimate:
        """The share of records that differ from all others; exact."""
        return AttackEstimate.exact(self.unique / self.records)

    @property
    def number(self) -> AttackEstimate:
        """The share of people singled out by the most points, or of records that are unique."""
        return self.singled[-1].share if self.singled else self.unique_share

    @property
    def measured(self) -> str:
        """What the number is."""
        return "share of people singled out" if self.singled else "share of unique records"

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        how = ", as the policy releases them" if self.changed else ""
        if self.singled:
            last = self.singled[-1]
            return (
                f"{_points(last.known)} out {few_digits(100 * last.share.value)} % of "
                f"{self.people:,} people{how}."
            )
        return (
            f"{few_digits(100 * self.unique_share.value)} % of {self.records:,} records are unique "
            f"on {listed(self.columns)}{how}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        said = []
        for singled in self.singled:
            share, sure = singled.share, "exactly"
            if not share.is_exact:
                sure = (
                    f"between {few_digits(100 * share.low)} % and {few_digits(100 * share.high)} % "
                    f"with {100 * share.confidence:.4g} % confidence"
                )
            out = f"out {few_digits(100 * share.value)} % of the people"
            said.append(f"{_points(singled.known)} {out}, {sure}.")
        said.append(
            f"{self.unique:,} of {self.records:,} records share their released values with no "
            f"other; there are {sum(self.sizes.values()):,} different ones."
        )
        if self.true_sizes is not None:
            before = 100 * self.true_sizes.get(1, 0) / _records(self.true_sizes)
            said.append(f"On the true values {few_digits(before)} % of the records are unique.")
        return tuple(said)

    def chart(self) -> Chart:
        """Return a chart: the share singled out by number of points, or the sizes of classes."""
        if self.singled:
            shares = [singled.share for singled in self.singled]
            known = [str(singled.known) for singled in self.singled]
            line = interval_series("people", known, shares, "points")
            panel = Panel("known points", "share of people singled out", (line,), from_zero=True)
            return Chart("Uniqueness of people", (panel,))
        shown = [("as released", self.sizes)]
        if self.true_sizes is not None:
            shown.insert(0, ("true values", self.true_sizes))
        bars = tuple(Series(label, LABELS, _shares(sizes), kind="bars") for label, sizes in shown)
        panel = Panel("records with the same values", "share of records", bars, from_zero=True)
        return Chart("Uniqueness of records", (panel,))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        true = self.true_sizes
        return {
            "attack": "uniqueness",
            **self._said(),
            "columns": list(self.columns),
            "records": self.records,
            "classes": sum(self.sizes.values()),
            "unique": self.unique,
            "unique_share": self.unique_share.value,
            "true_unique": None if true is None else true.get(1, 0),
            "people": self.people,
            "singled": [singled.to_dict() for singled in self.singled],
            "by_policy": self.changed,
        }


def _records(sizes: Mapping[int, int]) -> int:
    return sum(size * classes for size, classes in sizes.items())


def _shares(sizes: Mapping[int, int]) -> tuple[float, ...]:
    """Return the share of records in classes of each span of sizes."""
    held = np.array([size * classes for size, classes in sizes.items()], np.float64)
    records = np.bincount(np.searchsorted(LIMITS, list(sizes)), held, minlength=len(LABELS))
    return tuple((records / held.sum()).tolist())


def _points(known: Known) -> str:
    if known == "all":
        return "All points of somebody together single"
    return f"{count_of(known, 'known point')} {conjugate(known, 'singles')}"


@dataclass(frozen=True, eq=False)
class Uniqueness:
    r"""Counts records whose released values are unique, and people whom a few points single out.

    .. math:: \frac{|\{i : n(y_i) = 1\}|}{n}

    (Farokhi 2019, Noiseless Privacy, Fig. 6). Exact; the engine that holds the table groups it,
    in one pass. A missing value is a value of its own.

    With a ``person``, each row is a point of that person. The second number is then the share of
    people whom ``known`` of their different points, drawn uniformly, single out: nobody else has
    all of them (de Montjoye et al. 2013). Exact for one point and for all points; otherwise
    estimated from drawn people and points, with the interval of Clopper and Pearson.

    Args:
        table: a table: a file, a data frame, a database table or a dictionary of columns.
        columns: the released columns. By default, those of the policy.
        policy: how they are released. By default, as they are.
        person: the column that says whose row it is; it is not released.

    Example:
        >>> trips = {"who": [1, 1, 2, 2], "from": ["a", "b", "a", "c"]}
        >>> Uniqueness(trips, ["from"]).attack().number.value
        0.5
        >>> Uniqueness(trips, ["from"], person="who").attack(known=2).number.value
        1.0
    """

    table: object
    columns: Sequence[str] | None = None
    policy: PolicyDocument | None = None
    person: str | None = None

    def attack(
        self,
        known: Known | None = None,
        *,
        trials: int = 10_000,
        seed: int = 0,
        confidence: float = 0.95,
        progress: Callable[[str, float], None] | None = None,
    ) -> UniquenessFinding:
        """Count the unique records, and the people whom known points single out.

        Args:
            known: how many points of a person are known, or "all"; every smaller number is tried
                too. By default, only records are counted.
            trials: how many people and points are drawn for each number of points.
            seed: the seed of these draws, a whole number.
            confidence: how often an interval holds the true share.
            progress: called with the share of the work that is done.
        """
        if (known is not None) != (self.person is not None):
            raise OptionError(
                "Known points need the column of the person, and the other way round",
                hint="name both to single out people, or neither to count records",
            )
        if known is not None:
            _check_draws(known, trials, seed)
        view = prepare(self._released, self._columns, missing="value")
        singled: list[Singled] = []
        numbers: list[Known] = [known] if known == "all" else [*range(1, (known or 0) + 1)]
        for done, number in enumerate(numbers, 1):
            singled.append(self._single_out(number, trials, seed, confidence))
            if progress is not None:
                progress("draw", done / len(numbers))
        true_sizes = None
        if self.policy is not None and set(self._columns) <= set(self._opened.columns):
            true_sizes = class_sizes(prepare(self._opened, self._columns, missing="value"))
        return UniquenessFinding(
            self._columns,
            class_sizes(view),
            true_sizes,
            None if known is None else self._visits.person_at.size - 1,
            tuple(singled),
            self.policy is not None,
        )

    @cached_property
    def _opened(self) -> Table:
        opened = open_table(self.table)
        if self.person is not None:
            opened.require([self.person])
        return opened

    @property
    def _columns(self) -> tuple[str, ...]:
        """The released columns, checked."""
        if self.policy is None:
            listed = tuple(self.columns or ())
            self._opened.require(listed)
        else:
            named = [column.name for column in self.policy.columns]
            listed = tuple(self.columns or [name for name in named if name != self.person])
            for name in listed:
                if name not in named:
                    raise ColumnError(
                        f"Column '{name}' is not released by the policy",
                        hint=f"it releases {', '.join(named)}",
                    )
        if not listed:
            raise OptionError("No released column was named", hint="name at least one")
        for i, name in enumerate(listed):
            if name == self.person or name in listed[:i]:
                raise OptionError(
                    f"Column '{name}' is named twice", hint="name it once, released or the person"
                )
        return listed

    @cached_property
    def _released(self) -> Table:
        """The released table, with the person of each row."""
        if self.policy is None:
            return self._opened
        if self.policy.aggregates:
            raise OptionError(
                "The policy releases one answer about the whole table, not the records of people",
                hint="attack a release of rows",
            )
        rules = [rule for rule in self.policy.to_map() if rule.column != self.person]
        if self.person is not None:
            rules.append(Keep(self.person))
        mapped = apply_map(self._opened, rules, ranges=self.policy.ranges)
        return Table(mapped.expression, self._opened.name)

    @cached_property
    def _visits(self) -> Visits:
        """Who has which released point; the engine finds the distinct pairs."""
        from hartley.kernels.games import visits_of

        assert self.person is not None
        view = prepare(self._released, [self.person, *self._columns], missing="value")
        counts = distinct_counts(view)
        counts = counts.filter(counts.column("c0").is_valid())  # a point without a person
        encoded = [encode_column(counts.column(f"c{i}")) for i in range(len(view.columns))]
        points, _ = combine_codes(
            [codes for codes, _ in encoded[1:]], [len(values) for _, values in encoded[1:]]
        )
        if not points.size:
            raise ColumnError(
                f"Column '{self.person}' of {self._opened.name} has no values",
                hint="choose another",
            )
        return visits_of(encoded[0][0], np.unique(points, return_inverse=True)[1])

    def _single_out(self, known: Known, trials: int, seed: int, confidence: float) -> Singled:
        from hartley.kernels.games import singled_out

        visits = self._visits
        each = np.diff(visits.person_at)
        if known == 1:
            return Singled(1, AttackEstimate.exact(_alone_by_one(visits)))
        if known == "all" or known >= each.max():
            alone = singled_out(visits, 0, np.uint64(0), 0)
            return Singled(known, AttackEstimate.exact(int(alone.sum()) / alone.size))
        # Each number of points gets draws of its own.
        key = np.random.SeedSequence([seed, known]).generate_state(1, np.uint64)[0]
        alone = singled_out(visits, known, np.uint64(key), trials)
        return Singled(known, share(int(alone.sum()), trials, confidence=confidence))


def grid_policy(ranges: Mapping[str, tuple[object, object]], bits: object) -> PolicyDocument:
    """Return the policy that releases points on a grid of boxes, with a number of bits per point.

    Each coordinate has floor(2^(bits/2)) equal cells, so that a point of two coordinates has at
    most 2^bits boxes (Farokhi 2019, Noiseless Privacy, Section V.C, rounded down). A record of
    several points, such as the two ends of a trip, costs the bits once for each point.

    Args:
        ranges: the least and the largest value of every coordinate, by column.
        bits: the budget of a point.

    Example:
        >>> policy = grid_policy({"lat": ("40.49", "40.92"), "lon": ("-74.27", "-73.68")}, 5)
        >>> [column.quantizer.levels for column in policy.columns]
        [5, 5]
    """
    levels = floor_power(parse_number(bits, name="the budget in bits") / 2)
    return PolicyDocument(
        tuple(
            QuantizedColumn(name, UniformQuantizer(low, high, levels))  # type: ignore[arg-type]  # read there
            for name, (low, high) in ranges.items()
        )
    )


def _alone_by_one(visits: Visits) -> float:
    """Return the share of people whom one of their points, drawn uniformly, singles out; exact."""
    rare = np.diff(visits.point_at)[visits.points] == 1
    alone = np.add.reduceat(rare, visits.person_at[:-1], dtype=np.int64)
    each = np.diff(visits.person_at)
    # Exact: people with equally many points are added up as whole numbers first.
    sizes, at = np.unique(each, return_inverse=True)
    totals = np.bincount(at, alone).astype(np.int64).tolist()
    summed = sum(
        (Fraction(total, size) for total, size in zip(totals, sizes.tolist(), strict=True)),
        Fraction(0),
    )
    return float(summed / each.size)


def _check_draws(known: Known, trials: int, seed: int) -> None:
    if known != "all" and (not isinstance(known, int) or known < 1):
        raise OptionError(f"The number of known points is {known}", hint="give 1 or more, or 'all'")
    if not isinstance(trials, int) or trials < 1:
        raise OptionError(f"{trials} trials cannot be drawn", hint="draw at least one")
    if not isinstance(seed, int) or seed < 0:
        raise OptionError(f"The seed {seed} is not a whole number", hint="give 0, 1, 2, ...")
