"""The rows of coded copies as numbers that can be added: equal sums, equal multisets of rows.

Every row becomes two hashes of all its codes, and the hashes of all rows are added exactly, so the
sums say whether two tables hold the same rows, each as often, in whatever order. With drawn seeds
an accident that leaves both sums alone has a chance of about 2^-120. With seeds that only a key
gives, nobody without the key can change rows and keep the sums.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.coded.coding import ColumnCoding

PART = 2**30
"""Codes are packed into parts below this, so that a product of two parts fits into 64 bits."""
PRIME = 2**31 - 1
Seeds = tuple[int, int, int, int]


@dataclass(frozen=True)
class RowSums:
    """How many rows there are, and two sums of their hashes."""

    rows: int
    first: int
    second: int


def draw_seeds() -> Seeds:
    """Draw four numbers from 2^30 to the prime."""
    one, two, three, four = (PART + secrets.randbelow(PRIME - PART) for _ in range(4))
    return one, two, three, four


def seeds_from(secret: bytes) -> Seeds:
    """Return the seeds that 32 secret bytes give, the same every time."""
    words = [int.from_bytes(secret[start : start + 8]) for start in range(0, 32, 8)]
    one, two, three, four = (PART + word % (PRIME - PART) for word in words)
    return one, two, three, four


def row_sums_query(
    codings: Sequence[ColumnCoding],
    relation: str,
    seeds: Seeds,
    dialect: str,
    *,
    portable: bool = False,
) -> str:
    """Return the statement that adds up the rows of a relation.

    Args:
        codings: how its columns are coded; they are called c0, c1, ...
        relation: the name of a table, or a query in parentheses.
        seeds: of the hashes.
        dialect: of the engine that runs it: duckdb, postgres or spark.
        portable: whether the sums are to be compared with those of another engine, which needs
            hashes made of plain arithmetic.
    """
    parts = _packed([part for i, coding in enumerate(codings) for part in _parts(i, coding)])
    listed = ", ".join(f"{part} AS x{i}" for i, part in enumerate(parts))
    names = [f"x{i}" for i in range(len(parts))]
    hashes = _arithmetic(names, seeds) if portable else _native(names, seeds, dialect)
    # PostgreSQL would put the text of every part wherever it is used, and compute it again.
    fence = " OFFSET 0" if dialect == "postgres" else ""
    return (
        f"SELECT COUNT(*) AS n, SUM(CAST({hashes[0]} AS DECIMAL(38, 0))) AS a, "  # noqa: S608 - our own words
        f"SUM(CAST({hashes[1]} AS DECIMAL(38, 0))) AS b "
        f"FROM (SELECT {listed} FROM {relation} AS rows_of_codes{fence}) AS parts_of_rows"
    )


def read_sums(values: Sequence[object]) -> RowSums:
    """Return what the statement gave; sums of no rows are missing."""
    rows, first, second = (0 if value is None else int(str(value)) for value in values)
    return RowSums(rows, first, second)


# --- parts ------------------------------------------------------------------------------------


def _parts(i: int, coding: ColumnCoding) -> list[tuple[str, int]]:
    """Return a column as whole numbers from 0 on, each with its number of values.

    Codes from -1 on that are allowed, a missing one and all that no column may hold differ, so
    that a broken copy cannot look like a sound one.
    """
    code, points = f"c{i}", coding.points
    if points + 3 < PART:
        text = (
            f"CASE WHEN {code} IS NULL THEN {points + 1} WHEN {code} BETWEEN -1 AND {points - 1} "
            f"THEN CAST({code} AS BIGINT) + 1 ELSE {points + 2} END"
        )
        return [(text, points + 3)]
    known = f"COALESCE(CAST({code} AS BIGINT), 0)"
    return [
        (f"CASE WHEN {code} IS NULL THEN 1 ELSE 0 END", 2),
        (f"({known} & {PART - 1})", PART),
        (f"(({known} >> 30) & {PART - 1})", PART),
        (f"(({known} >> 60) & 15)", 16),
    ]


def _packed(parts: list[tuple[str, int]]) -> list[str]:
    """Pack small numbers into fewer, as digits of one."""
    packed: list[tuple[str, int]] = []
    for text, size in parts:
        if packed and packed[-1][1] * size <= PART:
            before, sizes = packed[-1]
            packed[-1] = f"({before} * {size} + {text})", sizes * size
        else:
            packed.append((f"CAST({text} AS BIGINT)", size))
    return [text for text, _ in packed]


# --- hashes -----------------------------------------------------------------------------------


def _native(parts: Sequence[str], seeds: Seeds, dialect: str) -> tuple[str, str]:
    """Hash with the engine's own function: fast, and of 64 bits."""
    wide = seeds[0] << 31 | seeds[1], seeds[2] << 31 | seeds[3]
    listed = ", ".join(parts)
    if dialect == "duckdb":
        one, other = (f"HASH(CAST({seed} AS BIGINT), {listed})" for seed in wide)
    elif dialect == "postgres":
        # Its hash of a whole number folds 64 bits into 32; that of a text keeps all.
        text = " || '|' || ".join(f"CAST({part} AS TEXT)" for part in parts)
        one, other = (f'HASHTEXTEXTENDED(({text}) COLLATE "C", {seed})' for seed in wide)
    else:
        one, other = (f"XXHASH64(CAST({seed} AS BIGINT), {listed})" for seed in wide)
    return one, other


def _arithmetic(parts: Sequence[str], seeds: Seeds) -> tuple[str, str]:
    """Hash with products and remainders, which are the same everywhere.

    Four polynomials in the seeds modulo a prime below 2^31; a product of two of them depends on
    no sum of columns alone, and fits into 64 bits.
    """
    polynomials = []
    for seed in seeds:
        value = f"CAST({seed} AS BIGINT)"
        for part in parts:
            value = f"(({value} * {seed} + {part}) % {PRIME})"
        polynomials.append(value)
    one, two, three, four = polynomials
    return f"({one} * {two})", f"({three} * {four})"
