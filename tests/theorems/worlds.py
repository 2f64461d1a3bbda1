"""Tiny tables of a few people, everything that one of them could be, and questions about them."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import prod
from typing import Any

import pyarrow as pa

EPOCH = dt.date(1970, 1, 1)


def draw_world(sql: Any, seed: int, *, most: int | None = None) -> World:
    """Return a world of its own for every seed, with at most so many secrets."""
    rng = random.Random(seed)
    limit = rng.choice([4, 5, 6, 6, 8, 8, 10, 12, 24]) if most is None else most
    changes = rng.choice([0, 0, 1, 1, 2])
    versions = [_first_version(sql, rng)]
    for _ in range(changes):
        versions.append(_next_version(sql, versions[-1], rng))
    victim = rng.randrange(versions[0].people)
    secrets = _secrets(versions, victim, limit, rng)
    factor = versions[0].open_factor
    spare = rng.choice([1, 2, Fraction(33, 10), 4, 6, 8, 10, 14])
    return World(sql, seed, versions, victim, secrets, spare + (factor - 1).bit_length())


@dataclass(frozen=True)
class Version:
    """One state of the table, all of it but what one person has."""

    event: str
    columns: dict[str, Any]
    unit: str | None
    rows_per_unit: int
    rows: str
    max_rows: int | None
    default_bits: str
    people: int
    others: dict[int, list[dict[str, Any]]]
    """The rows of every person as the schema has them; the victim's entry is not used."""
    public: dict[int, dict[str, Any]]
    """What everybody knows of every person."""
    sizes: dict[int, int]
    """How many rows every person has, where that is public."""
    order: int
    """Seed of the order of rows and of values between the points of the grid."""

    @property
    def schema(self) -> dict[str, Any]:
        table: dict[str, Any] = {"name": "t", "default_bits": self.default_bits, "rows": self.rows}
        if self.unit is not None:
            table |= {"unit": self.unit, "rows_per_unit": self.rows_per_unit}
        if self.max_rows is not None:
            table["max_rows"] = self.max_rows
        return {"table": table, "columns": {c.name: section(c) for c in self.columns.values()}}

    def named(self, kind: str) -> list[Any]:
        return [column for column in self.columns.values() if column.kind == kind]

    @property
    def open_factor(self) -> int:
        """How many values the open columns of one person have."""
        m = prod(len(column.domain) for column in self.named("open"))
        r = self.rows_per_unit
        if not self.named("open"):
            return 1
        return _multisets(m, r) if self.rows == "public" else _multisets(m + 1, r)

    def secrets(self, person: int) -> list[tuple[tuple[Any, ...], ...]]:
        """Return everything that the rows of a person could hold, besides what is public."""
        if self.event == "erasure" and self.sizes.get(person) == 0:
            return [()]
        hidden = [c for c in self.columns.values() if c.kind != "public"]
        records = list(product(*(column.domain for column in hidden)))
        least = self.sizes[person] if self.rows == "public" else 0
        most = self.sizes[person] if self.rows == "public" else self.rows_per_unit
        return [
            chosen
            for size in range(least, most + 1)
            for chosen in combinations_with_replacement(records, size)
        ]

    def rows_of(self, person: int, secret: tuple[tuple[Any, ...], ...]) -> list[dict[str, Any]]:
        hidden = [c.name for c in self.columns.values() if c.kind != "public"]
        return [dict(zip(hidden, record, strict=True)) | self.public[person] for record in secret]

    def opened(self, secret: tuple[tuple[Any, ...], ...]) -> tuple[Any, ...]:
        """Return what the open columns say of a person with these rows."""
        hidden = [c for c in self.columns.values() if c.kind != "public"]
        places = [k for k, column in enumerate(hidden) if column.kind == "open"]
        if not places:
            return ()
        return tuple(sorted(repr([record[k] for k in places]) for record in secret))

    def table(self, victim: int, secret: tuple[tuple[Any, ...], ...]) -> pa.Table:
        """Return the table that an owner would load: not yet clamped or snapped."""
        listed = [
            (person, row)
            for person in range(self.people)
            for row in (
                self.rows_of(victim, secret) if person == victim else self.others.get(person, [])
            )
        ]
        raw = random.Random(self.order)
        between = {
            column.name: [raw.random() for _ in range(len(column.domain))]
            for column in self.columns.values()
        }
        listed.sort(key=lambda at: (at[0] * 7919 + self.order) % 31)
        data = {
            column.name: pa.array(
                [
                    raw_value(column, row[column.name], between[column.name])
                    for _, row in listed
                ],
                arrow_type(column),
            )
            for column in self.columns.values()
        }
        if self.unit is not None:
            data[self.unit] = pa.array([f"p{person}" for person, _ in listed], pa.string())
        return pa.table(data)

    def truth(self, victim: int, secret: tuple[tuple[Any, ...], ...]) -> list[dict[str, Any]]:
        """Return the rows that are asked: on the grid, in no order."""
        rows = self.rows_of(victim, secret)
        return [*rows, *(r for p, listed in self.others.items() if p != victim for r in listed)]


@dataclass(frozen=True)
class World:
    """Several versions of a tiny table, and all that one person's data could be in them."""

    sql: Any
    seed: int
    versions: list[Version]
    victim: int
    secrets: list[tuple[Any, ...]]
    """What the victim's rows could be: one entry a version."""
    budget: Fraction | int
    chosen: dict[tuple[str, int], Any] = field(default_factory=dict)
    """The question that was picked at a place of the tree, so that other runs need not think."""

    def pick(self, place: str, number: int, version: int, rng: random.Random) -> Any:
        """Draw a question; often the one, of several, that tells most secrets apart."""
        known = self.chosen.get((place, number))
        if known is None:
            held = self.versions[version]
            known = draw_select(self.sql, held.columns, rng)
            if rng.random() < 0.65:
                others = [draw_select(self.sql, held.columns, rng) for _ in range(3)]
                known = max([known, *others], key=lambda select: self._told_apart(select, held, version))
            self.chosen[place, number] = known
        return known

    def _told_apart(self, select: Any, held: Version, version: int) -> int:
        secrets = dict.fromkeys(secret[version] for secret in self.secrets)
        return len({
            repr(self.sql.answer(select, held.truth(self.victim, secret), held.columns))
            for secret in secrets
        })


def section(column: Any) -> dict[str, Any]:
    """Return a column as the schema file has it."""
    told: dict[str, Any] = {"kind": column.kind}
    if column.values:
        told |= {"values": list(column.values)}
        if column.other:
            told["other"] = True
    elif column.date:
        ends = [EPOCH + dt.timedelta(days=int(end)) for end in (column.low, column.high)]
        told |= {"range": [str(end) for end in ends]}
        if column.step != 1:
            told["step"] = int(column.step)
    else:
        told |= {"range": [str(column.low), str(column.high)], "step": str(column.step)}
    return told | ({"nullable": True} if column.nullable else {})


def arrow_type(column: Any) -> pa.DataType:
    if column.values:
        kinds = {bool: pa.bool_(), int: pa.int64(), str: pa.string()}
        return kinds[type(column.values[0])]
    return pa.date32() if column.date else pa.float64()


def raw_value(column: Any, value: Any, between: list[float]) -> Any:
    """Return a value that snaps or clamps to the one of the grid."""
    if value is None:
        return None
    if column.values:
        if value in column.values:
            return value
        return 97 if isinstance(column.values[0], int) else "zz"
    place = int((value - column.low) / column.step)
    off = between[place]
    if column.date:
        day = EPOCH + dt.timedelta(days=int(value))
        far = dt.timedelta(days=400)
        if off > 0.8 and value == column.low:
            return day - far
        return day + far if off > 0.8 and value == column.high else day
    if off > 0.8 and value == column.low:
        return float(value - 3 * column.step)
    if off > 0.8 and value == column.high:
        return float(value + 5 * column.step)
    return float(value) if off < 0.6 else float(value + column.step * Fraction(3, 10))


def _multisets(kinds: int, size: int) -> int:
    return len(list(combinations_with_replacement(range(kinds), size)))


# --- schemas and tables -------------------------------------------------------------------------


def _column(sql: Any, name: str, kind: str, rng: random.Random) -> Any:
    nullable = rng.random() < 0.35
    draw = rng.random()
    if draw < 0.55:
        low = rng.choice([0, 0, 0, 1, -2, -1, Fraction(-1, 2), 10, Fraction(-1, 3)])
        step = rng.choice([1, 1, 1, 2, Fraction(1, 2), Fraction(1, 3), Fraction(1, 10), 5])
        points = rng.choice([1, 2, 2, 3, 3, 4, 4, 5, 6])
        return sql.Column(
            name, kind, nullable=nullable, low=Fraction(low), step=Fraction(step), points=points
        )
    if draw < 0.68:
        day = Fraction((dt.date(2024, 2, 27) - EPOCH).days + rng.randrange(3))
        step = Fraction(rng.choice([1, 1, 2, 7]))
        points = rng.choice([2, 3, 4])
        return sql.Column(
            name, kind, nullable=nullable, low=day, step=step, points=points, date=True
        )
    values = rng.choice([("x", "y"), ("x",), ("x", "y", "it's"), (True, False), (1, 2), (True,)])
    other = rng.random() < 0.4 and not isinstance(values[0], bool)
    return sql.Column(name, kind, values=values, other=other, nullable=nullable)


def _first_version(sql: Any, rng: random.Random) -> Version:
    rows = "private" if rng.random() < 0.35 else "public"
    unit = "who" if rng.random() < 0.55 else None
    r = rng.choice([1, 2, 2, 3]) if unit else 1
    kinds = ["private", "private", "private", "open"]
    if rows == "public" or unit is not None:
        kinds += ["public", "public"]
    while True:
        number = rng.choice([1, 2, 2, 3, 3, 4])
        listed = ["private", *(rng.choice(kinds) for _ in range(number - 1))]
        rng.shuffle(listed)
        columns = {
            name: _column(sql, name, kind, rng)
            for name, kind in zip("abcd", listed, strict=False)
        }
        hidden = prod(len(c.domain) for c in columns.values() if c.kind != "public")
        opened = prod(len(c.domain) for c in columns.values() if c.kind == "open")
        if 2 <= hidden <= (48 if r == 1 else 16 if r == 2 else 9) and opened <= 6:
            break
    return _peopled(
        "created",
        columns,
        unit,
        r,
        rows,
        rng.choice(["1", "1", "2", "1.585", "0"]),
        rng.choice([1, 2, 3, 4, 5]),
        {},
        rng,
    )


def _peopled(  # noqa: PLR0913, PLR0917 - what a version is made of
    event: str,
    columns: dict[str, Any],
    unit: str | None,
    r: int,
    rows: str,
    bits: str,
    people: int,
    public: dict[int, dict[str, Any]],
    rng: random.Random,
) -> Version:
    """Give every person rows that the schema allows."""
    known = {
        person: {
            column.name: public.get(person, {}).get(column.name, rng.choice(column.domain))
            for column in columns.values()
            if column.kind == "public"
        }
        for person in range(people)
    }
    sizes = {
        person: (rng.choice([0, *range(1, r + 1), r]) if unit else 1) if person else r
        for person in range(people)
    }
    others = {
        person: [
            known[person]
            | {c.name: rng.choice(c.domain) for c in columns.values() if c.kind != "public"}
            for _ in range(sizes[person])
        ]
        for person in range(people)
    }
    most = people * r + rng.choice([0, 0, 1, 3]) if rows == "private" else None
    order = rng.randrange(10**6)
    return Version(
        event, columns, unit, r, rows, most, bits, people, others, known, sizes, order
    )


def _next_version(sql: Any, before: Version, rng: random.Random) -> Version:
    """Return the version after an update, an erasure or a change of the schema."""
    event = rng.choice(["version", "version", "erasure", "schema", "schema"])
    columns, r, rows = before.columns, before.rows_per_unit, before.rows
    if event == "schema":
        columns, r, rows = _changed_schema(sql, before, rng)
    fresh = _peopled(
        event, columns, before.unit, r, rows, before.default_bits, before.people, before.public, rng
    )
    if event != "schema":
        fresh = replace(fresh, max_rows=before.max_rows)
    if event == "erasure" and before.unit is not None:
        gone = rng.randrange(before.people)
        fresh = replace(
            fresh, sizes=fresh.sizes | {gone: 0}, others=fresh.others | {gone: []}
        )
    return fresh


def _changed_schema(
    sql: Any, before: Version, rng: random.Random
) -> tuple[dict[str, Any], int, str]:
    """Change one thing of the schema: a range, a step, values, a kind, rows, or nothing."""
    columns, r, rows = dict(before.columns), before.rows_per_unit, before.rows
    draw = rng.random()
    if draw < 0.15 and before.unit is not None and r < 2:
        return columns, r + 1, rows
    if draw < 0.25 and not (before.unit is None and before.named("public")):
        return columns, r, "private" if rows == "public" else "public"
    name = rng.choice([c.name for c in columns.values() if c.kind != "public"] or list(columns))
    column = columns[name]
    if column.kind == "public":
        return columns, r, rows
    if draw < 0.45 and len(column.domain) <= 3:
        kind = "private" if column.kind == "open" else "open"
        if kind == "private" or len(before.named("private")) > 1:
            columns[name] = type(column)(**{**vars(column), "kind": kind})
            return columns, r, rows
    for _ in range(50):
        candidate = _column(sql, name, column.kind, rng)
        small = len(candidate.domain) <= len(column.domain) + 1
        if candidate.numeric == column.numeric and candidate.date == column.date and small:
            columns[name] = candidate
            break
    return columns, r, rows


def _secrets(
    versions: list[Version], victim: int, limit: int, rng: random.Random
) -> list[tuple[Any, ...]]:
    """Return all that the victim could have in all versions, or many of them where it is much."""
    choices = [version.secrets(victim) for version in versions]
    if prod(map(len, choices)) <= limit:
        return list(product(*choices))
    base = tuple(rng.choice(listed) for listed in choices)
    chosen = {base: None}
    share = max(2, limit * 2 // (3 * len(choices)))
    for place, listed in enumerate(choices):
        # One version varies alone: what it tells is not hidden by the others.
        for secret in listed if len(listed) <= share else rng.sample(listed, share):
            chosen[(*base[:place], secret, *base[place + 1 :])] = None
    for _ in range(10 * limit):
        if len(chosen) >= limit:
            break
        chosen[tuple(rng.choice(listed) for listed in choices)] = None
    return list(chosen)


# --- questions ----------------------------------------------------------------------------------

FUNCTIONS = [
    *("COUNT", "COUNT", "SUM", "SUM", "SUM", "AVG", "AVG", "MIN", "MAX", "MEDIAN", "QUANTILE"),
    *("VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV_POP", "STDDEV_SAMP", "STDDEV"),
    *("QUANTILE_DISC", "PERCENTILE_DISC"),
]


def draw_select(sql: Any, columns: dict[str, Any], rng: random.Random) -> Any:
    listed = tuple(
        _aggregate(sql, columns, rng) for _ in range(rng.choice([1, 1, 1, 1, 2, 2, 3]))
    )
    where = draw_condition(sql, columns, rng, 2) if rng.random() < 0.72 else None
    keys: tuple[Any, ...] = ()
    if rng.random() < 0.28:
        chosen = rng.sample(list(columns.values()), min(len(columns), rng.choice([1, 1, 1, 2])))
        keys = tuple(_key(sql, column, rng) for column in chosen)
    return sql.Select(listed, where, keys)


def _key(sql: Any, column: Any, rng: random.Random) -> Any:
    if column.numeric and rng.random() < 0.6:
        width = Fraction(rng.choice([1, 2, 3])) * rng.choice([column.step, column.step, 1])
        return sql.Key(column.name, rng.choice(["bin", "floor"]), width)
    return sql.Key(column.name)


def _aggregate(sql: Any, columns: dict[str, Any], rng: random.Random) -> Any:
    function = rng.choice(FUNCTIONS)
    numbers = [c for c in columns.values() if c.numeric and not c.date]
    dates = [c for c in columns.values() if c.date]
    if function == "COUNT" or not numbers + dates:
        name = rng.choice([None, *columns])
        return sql.Aggregate("COUNT", None, name)
    p = None
    if function in {"QUANTILE", "QUANTILE_DISC", "PERCENTILE_DISC"}:
        p = Fraction(rng.choice(["0", "1/4", "1/3", "1/2", "0.9", "1", "2/3"]))
    if dates and (not numbers or rng.random() < 0.3):
        if len(dates) > 1 and rng.random() < 0.4:
            first, second = rng.sample(dates, 2)
            form = sql.Form(((first.name, Fraction(1)), (second.name, Fraction(-1))))
        else:
            form = sql.Form(((rng.choice(dates).name, Fraction(1)),))
            if function == "SUM" and rng.random() < 0.9:
                function = "AVG"
        return sql.Aggregate(function, form, None, p)
    return sql.Aggregate(function, _form(sql, numbers, rng), None, p)


def _form(sql: Any, numbers: list[Any], rng: random.Random) -> Any:
    first = rng.choice(numbers).name
    if rng.random() < 0.6:
        return sql.Form(((first, Fraction(1)),))
    factors = [1, -1, 2, -2, 3, Fraction(1, 2), Fraction(-1, 3)]
    terms = [(first, Fraction(rng.choice(factors)))]
    if rng.random() < 0.6:
        second = rng.choice(numbers).name
        times = Fraction(rng.choice([*factors, *([0] if rng.random() < 0.3 else [])]))
        terms.append((second, times))
    constant = Fraction(rng.choice([0, 0, 1, -3, Fraction(1, 2)]))
    return sql.Form(tuple(terms), constant)


def draw_condition(sql: Any, columns: dict[str, Any], rng: random.Random, depth: int) -> Any:
    draw = rng.random()
    if draw < 0.07:
        return ("constant", rng.random() < 0.4)
    if depth and draw < 0.35:
        inner = tuple(
            draw_condition(sql, columns, rng, depth - 1) for _ in range(rng.choice([2, 2, 3]))
        )
        return (rng.choice(["and", "or"]), inner)
    if depth and draw < 0.47:
        return ("not", draw_condition(sql, columns, rng, depth - 1))
    flags = [c for c in columns.values() if c.values and isinstance(c.values[0], bool)]
    if flags and draw < 0.57:
        return ("is true", ("flag", rng.choice(flags).name), rng.random() < 0.5)
    column = rng.choice(list(columns.values()))
    if draw < 0.62:
        return ("missing", column.name, rng.random() < 0.5)
    return _number_test(sql, column, rng) if column.numeric else _category_test(column, rng)


def _category_test(column: Any, rng: random.Random) -> Any:
    if isinstance(column.values[0], bool) and rng.random() < 0.4:
        return ("flag", column.name)
    if rng.random() < 0.5:
        return ("equals", column.name, rng.choice(["=", "<>"]), rng.choice(column.values))
    size = rng.choice([1, len(column.values), len(column.values)])
    return ("in", column.name, tuple(rng.sample(column.values, size)), rng.random() < 0.5)


def _number_test(sql: Any, column: Any, rng: random.Random) -> Any:
    plain = sql.Form(((column.name, Fraction(1)),))
    draw = rng.random()
    if draw < 0.15:
        size = rng.choice([1, 1, 2, column.points])
        values = tuple(rng.sample(column.grid, min(size, column.points)))
        return ("in", column.name, values, rng.random() < 0.4)
    if draw < 0.3:
        return ("compare", plain, rng.choice(["=", "<>"]), rng.choice(column.grid))
    if draw < 0.5:
        low, high = (_threshold(column, rng) for _ in range(2))
        if rng.random() < 0.8:
            low, high = min(low, high), max(low, high)
        return ("between", plain, low, high, rng.random() < 0.3)
    operator, value = rng.choice(["<", "<=", ">", ">="]), _threshold(column, rng)
    if draw < 0.62 and not column.date:
        times = Fraction(rng.choice([2, -1, -3, Fraction(1, 2)]))
        shift = Fraction(rng.choice([0, 1, -2]))
        return ("compare", sql.Form(((column.name, times),), shift), operator, times * value + shift)
    return ("compare", plain, operator, value)


def _threshold(column: Any, rng: random.Random) -> Fraction:
    draw = rng.random()
    if draw < 0.15:
        far = rng.choice([1, 1, 10]) * column.step
        return rng.choice([column.low - far, column.high + far])
    value = rng.choice(column.grid)
    return value if draw < 0.85 or column.date else value + column.step / 2
