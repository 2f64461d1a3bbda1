"""Numbers without a step that a policy could have released a record from: a search over doubles.

Between certain places a release never falls as the column rises (``rises_between``), so that the
doubles which come out as one value lie side by side. Their first and last are found by halving,
each try executed by the engine as a release is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.boxes.box import CategoryList, Interval, SteppedRange
from hartley.boxes.expression import ExactColumn, Expression, nonnegative_at, truth_at
from hartley.boxes.intervals import float_above, float_below
from hartley.tables.release_rules import Formula, Lookup
from hartley.tables.writing import match_inputs, release_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.boxes.expression import Clause
    from hartley.policies.column import ColumnPolicy, Declared, Draws, HiddenSide
    from hartley.policies.document import PolicyDocument
    from hartley.tables.release_rules import Rule

    Codes = NDArray[np.uint64]


MOST_INPUTS = 5_000_000
"""More inputs than this are not tried."""
MOST_SEARCHED = 400_000
"""More records, times the pieces of their column, are not searched for."""
SIGN = np.uint64(1 << 63)
ONE = np.uint64(1)


# --- inputs tried one by one ----------------------------------------------------------------------


@dataclass(frozen=True)
class KnownWindows:
    """Between which ends a value is known to lie: each window once, and which one a record has."""

    ends: tuple[tuple[Fraction, Fraction], ...]
    which: NDArray[np.int64]

    def spread(self, action: Callable[[Fraction, Fraction], tuple[float, float]]) -> Any:  # noqa: ANN401 - two arrays
        """Return two numbers a record, computed once for each window."""
        pairs = np.array([action(*pair) for pair in self.ends]).reshape(-1, 2)
        return pairs[self.which].T


@dataclass(frozen=True)
class ObservedRecords:
    """The different released records of a part, without those in which something is missing."""

    outputs: tuple[Any, ...]
    """The released values, an Arrow array a column."""
    fixed: Mapping[str, Any]
    """The values of the known columns, an Arrow array each."""
    rows: NDArray[np.int64]
    """How many rows of the table have the record."""
    windows: Mapping[str, KnownWindows] = field(default_factory=dict)
    """Between which ends the value of a column is known to lie, by column."""
    left_out: int = 0
    """Rows in which a value is missing."""

    @property
    def size(self) -> int:
        """How many different records there are."""
        return len(self.rows)

    def fibres(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return a record of every combination of known values, and which one each record has."""
        if not self.fixed:
            return np.zeros(min(self.size, 1), np.int64), np.zeros(self.size, np.int64)
        codes = [array.dictionary_encode() for array in self.fixed.values()]
        joint = np.stack([code.indices.to_numpy(zero_copy_only=False) for code in codes])
        _, first, which = np.unique(joint, axis=1, return_index=True, return_inverse=True)
        return first.astype(np.int64), which.reshape(-1).astype(np.int64)


@dataclass(frozen=True)
class PossibleInputs:
    """What is possible for each of the observed records of a part."""

    part: PolicyPart
    observed: ObservedRecords
    counts: tuple[NDArray[np.float64], ...]
    """How many values of each unknown column are possible; 0 where no input fits. As doubles, since
    numbers without a step may be more than an integer holds."""
    least: tuple[NDArray[np.float64], ...]
    largest: tuple[NDArray[np.float64], ...]
    """The ends of what is possible of each unknown column; NaN of categories."""
    boundless: NDArray[np.bool_]
    """Whether a value that no list names is possible."""
    can_hold: tuple[NDArray[np.bool_], ...] = ()
    """Whether each hidden hypothesis can be true."""
    can_fail: tuple[NDArray[np.bool_], ...] = ()
    """Whether it can be false."""
    promised: tuple[NDArray[np.bool_], ...] = ()
    """Whether the policy is meant to leave it open."""
    best_guess: NDArray[np.float64] | None = None
    """How likely the best guess of what was drawn from is, if all values are alike before."""
    stepped: bool = True
    """Whether values were tried one by one, and not intervals of numbers without a step."""


def try_inputs(part: PolicyPart, observed: ObservedRecords) -> PossibleInputs:
    """Try every input on the engine, by the rules that release, and see which records come out."""
    import pyarrow as pa

    lists = _listed_inputs(part, observed)
    _, which = observed.fibres()
    sides = [_listed_sides(part, side, lists) for side in part.hidden]
    flags: dict[str, NDArray[Any]] = {"rest": lists.rest.astype(np.int8)}
    for i, side in enumerate(sides):
        flags |= {f"hold{i}": side.can_hold, f"fail{i}": side.can_fail, f"near{i}": side.near}
    places = {f"place{i}": lists.places[name] for i, name in enumerate(part.unknown)}
    # An input that cannot occur belongs to no fibre, so that no record comes from it.
    notes = {"fibre": np.where(lists.possible, lists.fibre, -1), **places, **flags}
    records: dict[str, Any] = {"record": np.arange(observed.size), "fibre": which}
    records |= {f"y{i}": array for i, array in enumerate(observed.outputs)}
    windows = [i for i, name in enumerate(part.unknown) if name in observed.windows]
    for i in windows:
        domain = part.domains[part.unknown[i]]
        assert isinstance(domain, SteppedRange)  # others have no distance, which is refused
        low, high = observed.windows[part.unknown[i]].spread(domain.between)
        records |= {f"low{i}": low, f"high{i}": high}
    matched = match_inputs(
        pa.table(records),
        pa.table(lists.sources),
        pa.table(notes),
        part.rules,
        ranges=part.ranges,
        windows=windows,
        places=len(part.unknown),
    )
    spread = partial(_spread, matched, observed.size)
    least, largest = (
        tuple(_value_of(part.domains[n], spread(f"{end}{i}")) for i, n in enumerate(part.unknown))
        for end in ("least", "largest")
    )
    holds, fails, every, some = (
        [spread(f"{flag}{i}", 0.0) > 0 for i in range(len(sides))]
        for flag in ("max_hold", "max_fail", "min_near", "max_near")
    )
    return PossibleInputs(
        part,
        observed,
        tuple(spread(f"possible{i}", 0.0) for i in range(len(part.unknown))),
        least,
        largest,
        spread("max_rest", 0.0) > 0,
        tuple(holds),
        tuple(fails),
        tuple(
            side.crosses[which] & is_promised(every[i], some[i], holds[i] & fails[i])
            for i, side in enumerate(sides)
        ),
    )


def is_promised(
    every: NDArray[np.bool_], some: NDArray[np.bool_], is_open: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell which records a policy is to leave open, by which of their inputs it is to hide.

    A record that is decided counts only if all its inputs are to be hidden: then its true one is.
    """
    return every | (some & is_open)


def try_draws(part: PolicyPart, observed: ObservedRecords) -> PossibleInputs:
    """Look up which values have a positive chance to be drawn as the released ones."""
    import pyarrow as pa

    draws = part.draws
    assert draws is not None
    before, after = np.nonzero(draws.chances.parts > 0)
    notes: dict[str, Any] = {}
    fibre = np.zeros(len(before), np.int64)
    which = np.zeros(observed.size, np.int64)
    for name, drawn_from in part.by_column(draws.values).items():
        values = list(dict.fromkeys(drawn_from))
        codes = np.array([values.index(value) for value in drawn_from], np.int64)
        if name in part.unknown:
            notes[f"place{part.unknown.index(name)}"] = codes[before]
            continue
        # A column that is known beside the draw: only values of the matrix that have it count.
        known = observed.fixed[name].to_pylist()
        numbers = {value: i for i, value in enumerate(values)}
        fibre = fibre * (len(values) + 1) + codes[before]
        which = which * (len(values) + 1) + np.array([numbers.get(v, len(values)) for v in known])
    released = {value: i for i, value in enumerate(draws.released)}
    columns = [array.to_pylist() for array in observed.outputs]
    rows = zip(*columns, strict=True) if len(columns) > 1 else columns[0]
    drawn = np.array([released.get(value, -1) for value in rows], np.int64)
    chances = draws.chances.doubles[before, after]
    matched = match_inputs(
        pa.table({"record": np.arange(observed.size), "fibre": which, "y0": drawn}),
        None,
        pa.table({"fibre": fibre, "y0": after.astype(np.int64), **notes, "chance": chances}),
        (),
        ranges={},
        places=len(part.unknown),
    )
    spread = partial(_spread, matched, observed.size)
    nothing = np.full(observed.size, np.nan)
    with np.errstate(invalid="ignore"):
        best = spread("max_chance", 0.0) / spread("total")
    return PossibleInputs(
        part,
        observed,
        tuple(spread(f"possible{i}", 0.0) for i in range(len(part.unknown))),
        (nothing,) * len(part.unknown),
        (nothing,) * len(part.unknown),
        np.zeros(observed.size, bool),
        best_guess=best,
    )


def count_inputs(part: PolicyPart, fibres: int) -> int:
    """Return how many inputs there are to try."""
    return fibres * math.prod(size_of(part.domains[name]) or 1 for name in part.unknown)


def size_of(domain: Declared | None) -> int | None:
    """Return how many values there are; None where there is no list of them."""
    if isinstance(domain, SteppedRange):
        return domain.size
    if isinstance(domain, CategoryList):
        return len(domain.values) + (domain.other() is not None)
    return None


@dataclass(frozen=True)
class _ListedInputs:
    """All inputs of a part, those of one combination of known values after the other."""

    fibre: NDArray[np.int64]
    places: Mapping[str, NDArray[np.int64]]
    sources: Mapping[str, Any]
    rest: NDArray[np.bool_]
    """Whether a value stands for all that are not listed."""
    fibres: int
    exact: Mapping[str, ExactColumn]
    possible: NDArray[np.bool_]
    """Whether it can occur, by what the policies say."""


def _listed_inputs(part: PolicyPart, observed: ObservedRecords) -> _ListedInputs:
    import pyarrow as pa

    first, _ = observed.fibres()
    sizes = [size_of(part.domains[name]) or 1 for name in part.unknown]
    each = math.prod(sizes)
    fibre = np.repeat(np.arange(len(first)), each)
    grids = np.unravel_index(np.tile(np.arange(each), len(first)), sizes) if sizes else ()
    places = dict(zip(part.unknown, (grid.astype(np.int64) for grid in grids), strict=True))
    sources: dict[str, Any] = {}
    exact: dict[str, ExactColumn] = {}
    rest = np.zeros(len(fibre), bool)
    for name, array in observed.fixed.items():
        sources[name] = array.take(pa.array(first[fibre]))
        numbers = known_numbers(array, first[fibre], part.domains.get(name))
        exact |= {} if numbers is None else {name: numbers}
    for name, place in places.items():
        domain = part.domains[name]
        if isinstance(domain, SteppedRange):
            sources[name] = domain.doubles(place)
            exact[name] = ExactColumn(sources[name], partial(_number_at, domain, place))
            continue
        assert isinstance(domain, CategoryList)  # every number of a range cannot be listed
        other = [value for value in (domain.other(),) if value is not None]
        sources[name] = pa.array([*domain.values, *other]).take(pa.array(place))
        if not domain.complete:
            rest |= place == len(domain.values)
    possible = np.ones(len(fibre), bool)
    for condition in part.conditions:
        possible &= truth_at(condition, exact)[0]
    return _ListedInputs(fibre, places, sources, rest, len(first), exact, possible)


def _number_at(domain: SteppedRange, place: NDArray[np.int64], i: int) -> Fraction:
    return domain.number(int(place[i]))


def known_numbers(
    array: Any,  # noqa: ANN401 - Arrow carries no types
    which: NDArray[np.int64],
    domain: Declared | None,
) -> ExactColumn | None:
    """Return some rows of a known column as exact numbers; None where it holds no numbers."""
    import pyarrow as pa

    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if not any(is_kind(array.type) for is_kind in kinds):
        return None
    doubles = array.cast("float64").to_numpy(zero_copy_only=False)
    return ExactColumn(doubles[which], lambda i: exact_number(array[int(which[i])].as_py(), domain))


def exact_number(value: float, domain: Declared | None) -> Fraction:
    """Return the number that a double stands for: on a step, or the decimal that it prints as."""
    if isinstance(domain, SteppedRange):
        number = domain.number(round((Fraction(value) - domain.low) / domain.step))
        if float(number) == value:
            return number
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


@dataclass(frozen=True)
class _Sides:
    """Of every input, whether a hypothesis can hold and can fail, and is to be left open."""

    can_hold: NDArray[np.int8]
    can_fail: NDArray[np.int8]
    near: NDArray[np.int8]
    crosses: NDArray[np.bool_]
    """Of every combination of known values, whether both occur for it."""


def _listed_sides(part: PolicyPart, side: HiddenSide, lists: _ListedInputs) -> _Sides:
    can_hold, can_fail = (flags & lists.possible for flags in truth_at(side.clause, lists.exact))
    within = slack_outside(side)
    if side.opens is not None:  # of the places of all inputs on the steps that policies declare
        steps = {name: s for policy in part.policies for name, s in (policy.lattice or {}).items()}
        indices = {
            name: np.rint((lists.exact[name].doubles - float(s.low)) / float(s.step)).astype(int)
            for name, s in steps.items()
        }
        near = np.asarray(side.opens(indices), bool)
    elif within is None:
        near = _is_moved(part, lists)
    else:
        near = ~nonnegative_at(within, lists.exact)[1]
    holds, fails = (
        np.any(flags.reshape(lists.fibres, -1), axis=1) for flags in (can_hold, can_fail)
    )
    crosses: NDArray[np.bool_] = np.logical_and(holds, fails)
    return _Sides(can_hold.astype(np.int8), can_fail.astype(np.int8), near.astype(np.int8), crosses)


def slack_outside(side: HiddenSide) -> Expression | None:
    """Return what is negative for records that need not be left open; None without a distance."""
    if side.distance is None or side.reach is None:
        return None
    return Expression("const", (side.reach,)) - abs(side.distance)


def _is_moved(part: PolicyPart, lists: _ListedInputs) -> NDArray[np.bool_]:
    """Return which inputs are not released as they are."""
    import pyarrow as pa

    released = release_rows(pa.table(lists.sources), part.rules, part.ranges)
    changed = np.zeros(len(lists.fibre), bool)
    for name in part.unknown:
        if name in released.column_names:
            values = released.column(name).to_numpy()
            changed |= values != np.asarray(lists.sources[name])
    return changed


def _spread(matched: Any, size: int, name: str, default: float = math.nan) -> NDArray[np.float64]:  # noqa: ANN401 - Arrow carries no types
    """Return a number of the records that some input fits, spread over all records."""
    spread = np.full(size, default)
    spread[matched.column("record").to_numpy()] = matched.column(name).to_numpy()
    return spread


def _value_of(domain: Declared, place: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers at some places; NaN of categories and where there is no place."""
    if not isinstance(domain, SteppedRange):
        return np.full(len(place), np.nan)
    present = ~np.isnan(place)
    values = np.full(len(place), np.nan)
    values[present] = domain.doubles(place[present].astype(np.int64))
    return values


# --- columns of a policy that have to be worked out together --------------------------------------


@dataclass(frozen=True)
class PolicyPart:
    """Columns of a policy that have to be worked out together, since they read the same columns."""

    policies: tuple[ColumnPolicy, ...]
    unknown: tuple[str, ...]
    """The columns of the table that somebody wants to work out."""
    fixed: tuple[str, ...]
    """The columns that they read too and that are known: released as they are, or known anyway."""
    domains: Mapping[str, Declared]
    """The values that columns of the table can have, as far as that is known."""
    ranges: Mapping[str, tuple[Fraction, Fraction]]
    """The declared ranges of the policy."""

    @property
    def released(self) -> tuple[str, ...]:
        """The released columns."""
        return tuple(name for policy in self.policies for name in policy.columns)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What an engine executes for them."""
        return tuple(rule for policy in self.policies for rule in policy.to_rules())

    @property
    def hidden(self) -> tuple[HiddenSide, ...]:
        """The hypotheses that they hide."""
        return tuple(side for policy in self.policies for side in policy.hidden_sides())

    @property
    def conditions(self) -> tuple[Clause, ...]:
        """What every possible record fulfils, as far as the policies say."""
        clauses = (policy.possible_if() for policy in self.policies)
        return tuple(clause for clause in clauses if clause is not None)

    @property
    def draws(self) -> Draws | None:
        """What is drawn at random, if that is all there is."""
        return self.policies[0].draws() if len(self.policies) == 1 else None

    @property
    def texts(self) -> frozenset[str]:
        """The released columns that hold text, whatever a CSV file has there."""
        lookups = (rule for rule in self.rules if isinstance(rule, Lookup))
        lists = {rule.column: rule.labels for rule in lookups}
        if self.draws is not None:
            lists |= self.by_column(self.draws.released)
        return frozenset(name for name, values in lists.items() if _are_texts(values))

    @property
    def text_inputs(self) -> frozenset[str]:
        """The columns of the true table that hold text, whatever a CSV file has there."""
        lists = {
            name: domain.values
            for name, domain in self.domains.items()
            if isinstance(domain, CategoryList)
        }
        if self.draws is not None:
            lists |= self.by_column(self.draws.values)
        return frozenset(name for name, values in lists.items() if _are_texts(values))

    def by_column(self, drawn: Sequence[Any]) -> dict[str, tuple[Any, ...]]:
        """Return what is drawn together, column by column."""
        columns = zip(*drawn, strict=True) if len(self.released) > 1 else (tuple(drawn),)
        return dict(zip(self.released, columns, strict=True))


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) or value is None for value in values)


def parts_of(
    document: PolicyDocument, domains: Mapping[str, Declared], known: Collection[str]
) -> list[PolicyPart]:
    """Group the columns of a policy that read an unknown column in common.

    A column that is released as it is, or known, ties nothing together: once it is known, what
    others read beside it is worked out for each of them alone.
    """
    fixed = {column.name for column in document.columns if column.is_kept} | set(known)
    groups: list[tuple[list[ColumnPolicy], set[str]]] = []
    for column in document.columns:
        if column.is_kept:
            continue
        members, unknown = [column], read_by(column) - fixed
        separate = []
        for group in groups:
            if group[1] & unknown:
                members, unknown = [*group[0], *members], unknown | group[1]
            else:
                separate.append(group)
        groups = [*separate, (members, unknown)]
    return [
        PolicyPart(
            tuple(members),
            tuple(sorted(unknown)),
            tuple(sorted(read_by(*members) & fixed)),
            domains,
            document.ranges,
        )
        for members, unknown in groups
    ]


def read_by(*columns: ColumnPolicy) -> set[str]:
    """Return the columns of the table that columns of a policy read."""
    names: set[str] = set()
    for column in columns:
        names |= set(column.columns) if column.draws() is not None else column.outputs().reads
    return names


# --- numbers without a step, searched for ---------------------------------------------------------


def in_order(numbers: NDArray[np.float64]) -> Codes:
    """Return doubles as whole numbers in the same order, neighbours next to each other."""
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.uint64)
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def from_order(codes: Codes) -> NDArray[np.float64]:
    """Return the doubles that whole numbers in order stand for."""
    bits = np.where(codes & SIGN, codes ^ SIGN, ~codes)
    return bits.view(np.float64)


def can_be_searched(part: PolicyPart) -> bool:
    """Tell whether the one unknown column of a part is released in order, piece by piece."""
    if len(part.unknown) != 1 or not isinstance(part.domains.get(part.unknown[0]), Interval):
        return False
    return all(policy.rises_between() is not None for policy in part.policies)


def search_inputs(part: PolicyPart, observed: ObservedRecords) -> PossibleInputs:
    """Find for every record the doubles that come out as it, on the engine."""
    pieces = _Pieces(part, observed)
    first, end = pieces.starts, pieces.ends
    for rule, values in zip(part.rules, observed.outputs, strict=True):
        first, end = pieces.narrow(rule, values, first, end)
    (name,) = part.unknown
    if name in observed.windows:
        low, high = in_order(
            observed.windows[name].spread(lambda low, high: (float_below(low), float_above(high)))
        )
        first = np.maximum(first, low[:, None])
        end = np.minimum(end, high[:, None] + ONE)
    fits = end > first
    last = np.where(fits, end - ONE, first)
    zeros = (first < SIGN) & (last >= SIGN)  # minus zero and zero are one number
    counts = np.where(fits, (last - first).astype(np.float64) + 1 - zeros, 0.0)
    least = np.where(fits, from_order(first), np.inf).min(axis=1)
    largest = np.where(fits, from_order(last), -np.inf).max(axis=1)
    possible = fits.any(axis=1)
    sides = [_hidden(part, observed, side, first, last, fits) for side in part.hidden]
    return PossibleInputs(
        part,
        observed,
        (counts.sum(axis=1),),
        (np.where(possible, least, np.nan),),
        (np.where(possible, largest, np.nan),),
        np.zeros(observed.size, bool),
        tuple(can_hold for can_hold, _, _ in sides),
        tuple(can_fail for _, can_fail, _ in sides),
        tuple(promised for _, _, promised in sides),
        stepped=False,
    )


class _Pieces:
    """For every record, the pieces of its column's range on which the release never falls."""

    def __init__(self, part: PolicyPart, observed: ObservedRecords) -> None:
        self.part, self.observed = part, observed
        (self.column,) = part.unknown
        domain = part.domains[self.column]
        assert isinstance(domain, Interval)  # asked before
        self.range = domain
        ends = in_order(np.array([float(domain.low), float(domain.high)]))
        places = [p for policy in part.policies for p in policy.rises_between() or ()]
        # The place itself is a piece: either side may have it, as the sign of a hypothesis says.
        starts = [np.full(observed.size, ends[0])] + [
            np.clip(in_order(self._place(place)) + shift, ends[0], ends[1] + ONE)
            for place in places
            for shift in (np.uint64(0), ONE)
        ]
        self.starts: Codes = np.sort(np.stack(starts, axis=1), axis=1)
        after = np.full((observed.size, 1), ends[1] + ONE)
        self.ends: Codes = np.concatenate([self.starts[:, 1:], after], axis=1)

    def _place(self, place: Expression) -> NDArray[np.float64]:
        """Return where a piece begins, computed in doubles as the release computes it."""
        if place.operation == "const":
            return np.full(self.observed.size, float(place.arguments[0]))
        low, high = self.range.low, self.range.high
        rule = Formula(self.column, place.to_tree(), low, high)
        anything = np.full(self.observed.size, float(low))
        records = np.arange(self.observed.size)
        values = self._release(rule, records, anything)
        # Where the place has no value, the release has none and the record is not asked for.
        return np.where(np.isnan(values), float(low), values)

    def _release(
        self, rule: Rule, records: NDArray[np.int64], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        import pyarrow as pa

        known = {name: array.take(pa.array(records)) for name, array in self.observed.fixed.items()}
        inputs = pa.table(known | {self.column: values})
        released = release_rows(inputs, [rule], self.part.ranges).column(0)
        doubles: NDArray[np.float64] = released.cast("float64").to_numpy()
        return doubles

    def narrow(self, rule: Rule, released: Any, first: Codes, end: Codes) -> tuple[Codes, Codes]:  # noqa: ANN401 - Arrow carries no types
        """Return where the doubles of each piece that a rule releases as a value begin and end."""
        target = np.asarray(released.cast("float64").to_numpy(zero_copy_only=False))
        records, pieces = first.shape
        which = np.repeat(np.arange(records), pieces)
        # From here on, two searches in one: first double not below the value, first above it.
        rows = np.concatenate([which, which])
        above = np.repeat([False, True], records * pieces)
        low = np.tile(first.reshape(-1), 2)
        high = np.tile(np.maximum(first, end).reshape(-1), 2)
        while (active := np.flatnonzero(low < high)).size:
            tries = int(np.clip(400_000 // active.size, 2, 64))
            at, gap = low[active, None], (high[active] - low[active])[:, None]
            step, more = gap // np.uint64(tries), gap % np.uint64(tries)
            turns = np.arange(tries, dtype=np.uint64)[None, :]
            points = np.minimum(at + step * turns + np.minimum(turns, more), at + gap - ONE)
            values = self._release(
                rule, np.repeat(rows[active], tries), from_order(points.reshape(-1))
            ).reshape(points.shape)
            wanted = target[rows[active], None]
            reached = np.where(above[active, None], values > wanted, values >= wanted)
            before = (~reached).sum(axis=1)
            every = np.arange(len(active))
            low[active] = np.where(
                before > 0, points[every, np.maximum(before, 1) - 1] + ONE, low[active]
            )
            high[active] = np.where(
                before < tries, points[every, np.minimum(before, tries - 1)], high[active]
            )
        begins, stops = low.reshape(2, records, pieces)
        return begins, stops


def _hidden(  # noqa: PLR0913, PLR0917 - the doubles of each piece, and whether there are any
    part: PolicyPart,
    observed: ObservedRecords,
    side: HiddenSide,
    first: Codes,
    last: Codes,
    fits: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return of every record whether a hypothesis can hold, can fail and is to be left open."""
    (name,) = part.unknown
    domain = part.domains[name]
    assert isinstance(domain, Interval)  # asked before
    records, pieces = first.shape
    which = np.repeat(np.arange(records), pieces)
    within = slack_outside(side)
    can_hold, can_fail = np.zeros((2, records), bool)
    every = np.logical_and(fits.any(axis=1), within is not None)
    some = np.zeros(records, bool)
    for codes in (first, last):  # a side is left once at most between them
        points = _points(part, observed, which, from_order(codes.reshape(-1)))
        holds, fails = (flags.reshape(records, pieces) for flags in truth_at(side.clause, points))
        can_hold |= (holds & fits).any(axis=1)
        can_fail |= (fails & fits).any(axis=1)
        if within is not None:
            close = ~nonnegative_at(within, points)[1].reshape(records, pieces)
            every &= (close | ~fits).all(axis=1)
            some |= (close & fits).any(axis=1)
    places = np.arange(records)
    ends = [np.full(records, float(end)) for end in (domain.low, domain.high)]
    low, high = (_points(part, observed, places, values) for values in ends)
    (low_holds, low_fails), (high_holds, high_fails) = (
        truth_at(side.clause, points) for points in (low, high)
    )
    crosses = (low_fails & high_holds) | (low_holds & high_fails)
    return can_hold, can_fail, crosses & is_promised(every, some, can_hold & can_fail)


def _points(
    part: PolicyPart,
    observed: ObservedRecords,
    which: NDArray[np.int64],
    values: NDArray[np.float64],
) -> dict[str, ExactColumn]:
    """Return records, each with a value of the unknown column, as exact numbers."""
    (name,) = part.unknown
    points = {name: ExactColumn(values, lambda i: exact_number(float(values[i]), None))}
    for other, array in observed.fixed.items():
        numbers = known_numbers(array, which, part.domains.get(other))
        points |= {} if numbers is None else {other: numbers}
    return points


def pieces_of(part: PolicyPart) -> int:
    """Return how many pieces the range of the unknown column falls into."""
    return 1 + 2 * sum(len(policy.rises_between() or ()) for policy in part.policies)
