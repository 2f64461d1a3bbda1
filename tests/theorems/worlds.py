"""Tiny tables of a few people, and everything that one of them could be."""

# ruff: noqa: S311 - random tables, not secrets

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import prod
from typing import Any

import pyarrow as pa
from drawing import draw_select
from plain_sql import EPOCH, Column, answer


def draw_world(seed: int, *, most: int | None = None, publishes: bool = False) -> World:
    """Return a world of its own for every seed, with at most so many secrets."""
    rng = random.Random(seed)
    limit = rng.choice([6, 8, 8, 10, 12, 12, 24]) if most is None else most
    changes = rng.choice([0, 0, 0, 1, 1, 2])
    versions = [_first_version(rng)]
    for _ in range(changes):
        versions.append(_next_version(versions[-1], rng))
    victim = rng.randrange(versions[0].people)
    secrets = _secrets(versions, victim, limit, rng)
    factor = versions[0].open_factor
    spare = rng.choice([2, Fraction(33, 10), 5, 7, 9, 12, 16])
    budget = spare + (factor - 1).bit_length()
    return World(seed, versions, victim, secrets, budget, publishes=publishes)


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
                [raw_value(column, row[column.name], between[column.name]) for _, row in listed],
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

    seed: int
    versions: list[Version]
    victim: int
    secrets: list[tuple[Any, ...]]
    """What the victim's rows could be: one entry a version."""
    budget: Fraction | int
    attained: list[int] = field(default_factory=lambda: [0, 0])
    """How many places of the tree were charged, and at how many every answer occurred."""
    chosen: dict[Any, Any] = field(default_factory=dict)
    """The question that was picked at a place of the tree, so that other runs need not think."""
    publishes: bool = False
    """Whether tables are published too, booked in the same ledger."""

    def pick(self, place: str, number: int, version: int, rng: random.Random) -> Any:
        """Draw a question; often the one, of several, that tells most secrets apart."""
        known = self.chosen.get((place, number))
        if known is None:
            held = self.versions[version]
            known = draw_select(held.columns, rng)
            if rng.random() < 0.75:
                others = [draw_select(held.columns, rng) for _ in range(5)]
                known = max(
                    [known, *others], key=lambda select: self._told_apart(select, held, version)
                )
            self.chosen[place, number] = known
        return known

    def _told_apart(self, select: Any, held: Version, version: int) -> int:
        secrets = dict.fromkeys(secret[version] for secret in self.secrets)
        return len(
            {
                repr(answer(select, held.truth(self.victim, secret), held.columns))
                for secret in secrets
            }
        )


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


def raw_value(column: Column, value: Any, between: list[float]) -> Any:
    """Return a value that snaps or clamps to the one of the grid."""
    if value is None:
        return None
    if column.values:
        undeclared = 97 if isinstance(column.values[0], int) else "zz"
        return value if value in column.values else undeclared
    place = int((value - column.low) / column.step)
    draw, raw = between[place], value
    if draw > 0.8 and place in {0, column.points - 1}:
        raw += 400 * column.step * (-1 if place == 0 else 1)  # far outside the range
    elif draw > 0.6 and not column.date:
        raw += column.step * Fraction(3, 10)
    return EPOCH + dt.timedelta(days=int(raw)) if column.date else float(raw)


def _multisets(kinds: int, size: int) -> int:
    return len(list(combinations_with_replacement(range(kinds), size)))


# --- schemas and tables -------------------------------------------------------------------------


def _column(name: str, kind: str, rng: random.Random) -> Any:
    nullable = rng.random() < 0.35
    draw = rng.random()
    if draw < 0.55:
        low = rng.choice([0, 0, 0, 1, -2, -1, Fraction(-1, 2), 10, Fraction(-1, 3)])
        step = rng.choice([1, 1, 1, 2, Fraction(1, 2), Fraction(1, 3), Fraction(1, 10), 5])
        points = rng.choice([1, 2, 2, 3, 3, 4, 4, 5, 6])
        return Column(
            name, kind, nullable=nullable, low=Fraction(low), step=Fraction(step), points=points
        )
    if draw < 0.68:
        day = Fraction((dt.date(2024, 2, 27) - EPOCH).days + rng.randrange(3))
        step = Fraction(rng.choice([1, 1, 2, 7]))
        points = rng.choice([2, 3, 4])
        return Column(name, kind, nullable=nullable, low=day, step=step, points=points, date=True)
    values = rng.choice([("x", "y"), ("x",), ("x", "y", "it's"), (True, False), (1, 2), (True,)])
    other = rng.random() < 0.4 and not isinstance(values[0], bool)
    return Column(name, kind, values=values, other=other, nullable=nullable)


def _first_version(rng: random.Random) -> Version:
    rows = "private" if rng.random() < 0.35 else "public"
    unit = "who" if rng.random() < 0.55 else None
    r = rng.choice([1, 2, 2, 3]) if unit else 1
    kinds = ["private", "private", "private", "open"]
    if rows == "public" or unit is not None:
        kinds += ["public", "public"]
    # Often so small that every secret is tried: then as much can occur as is charged.
    most = (12, 4, 3) if rng.random() < 0.6 else (48, 16, 9)
    while True:
        number = rng.choice([1, 2, 2, 3, 3, 4])
        listed = ["private", *(rng.choice(kinds) for _ in range(number - 1))]
        rng.shuffle(listed)
        columns = {
            name: _column(name, kind, rng) for name, kind in zip("abcd", listed, strict=False)
        }
        hidden = prod(len(c.domain) for c in columns.values() if c.kind != "public")
        opened = prod(len(c.domain) for c in columns.values() if c.kind == "open")
        if 2 <= hidden <= most[r - 1] and opened <= 6:
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
    return Version(event, columns, unit, r, rows, most, bits, people, others, known, sizes, order)


def _next_version(before: Version, rng: random.Random) -> Version:
    """Return the version after an update, an erasure or a change of the schema."""
    event = rng.choice(["version", "version", "erasure", "schema", "schema"])
    columns, r, rows = before.columns, before.rows_per_unit, before.rows
    if event == "schema":
        columns, r, rows = _changed_schema(before, rng)
    fresh = _peopled(
        event, columns, before.unit, r, rows, before.default_bits, before.people, before.public, rng
    )
    if event != "schema":
        fresh = replace(fresh, max_rows=before.max_rows)
    if event == "erasure" and before.unit is not None:
        gone = rng.randrange(before.people)
        fresh = replace(fresh, sizes=fresh.sizes | {gone: 0}, others=fresh.others | {gone: []})
    return fresh


def _changed_schema(before: Version, rng: random.Random) -> tuple[dict[str, Any], int, str]:
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
        candidate = _column(name, column.kind, rng)
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
