"""The tables that are audited, written once, and what must be found in them.

A secret x takes 10^5 values and a released y 10^6, both spread by a hash. The lower half of the
secrets is released as even numbers and the upper half as odd ones, so that the overlap partition
never has fewer than two classes, and exactly two once there are enough rows.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / ".data"
SECRETS, RELEASED = 10**5, 10**6
SECRET_BITS = 17
MOST_EDGES = 10**7
"""From so many rows on, the first of them join all secrets that ever will be joined."""

NARROW, WIDE, TEXT = "32-bit integers", "64-bit integers", "text"
"""The kinds of columns; narrow ones are the hardest to keep up with, being quickest to read."""


def table_path(rows: int, kind: str) -> Path:
    """Return where a table is kept."""
    return FOLDER / f"{kind.replace(' ', '-')}-{rows}.parquet"


def reference_path(rows: int) -> Path:
    """Return where the facts about a table are kept; text stands for the same integers."""
    return FOLDER / f"reference-{rows}.json"


def write_table(rows: int, kind: str) -> None:
    """Write a table as Parquet, unless it is there."""
    import duckdb

    path = table_path(rows, kind)
    if path.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    hidden, shown = {
        NARROW: ("x::INTEGER", "y::INTEGER"),
        WIDE: ("x::BIGINT", "y::BIGINT"),
        TEXT: ("'secret-' || x", "'released-' || y"),
    }[kind]
    half = path.with_suffix(".part")
    with duckdb.connect() as connection:
        connection.execute(f"""
            COPY (
                SELECT {hidden} AS x, {shown} AS y FROM (
                    SELECT x, 2 * (hash(i + 1000000007) % {RELEASED // 2})
                        + (x >= {SECRETS // 2})::INTEGER AS y
                    FROM (SELECT i, hash(i) % {SECRETS} AS x FROM range({rows}) AS t(i))
                )
            ) TO '{half}' (FORMAT parquet)
        """)
    half.replace(path)


def write_reference(rows: int) -> None:
    """Find with NumPy's sort and scipy's components all that the measures need, once."""
    import duckdb
    import numpy as np

    path = reference_path(rows)
    if path.exists():
        return
    with duckdb.connect() as connection:
        query = f"SELECT y::BIGINT * {1 << SECRET_BITS} + x AS k FROM '{table_path(rows, NARROW)}'"
        keys = connection.execute(query).fetchnumpy()[
            "k"
        ]  # of their own, so that they can be sorted
    classes = _count_classes(keys[:MOST_EDGES])
    keys.sort()
    secret_rows = np.bincount(keys & ((1 << SECRET_BITS) - 1), minlength=SECRETS)
    released_rows = np.bincount(keys >> SECRET_BITS, minlength=RELEASED)
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(first, append=rows)
    pairs = keys[first]
    del keys, first
    secret, released = pairs & ((1 << SECRET_BITS) - 1), pairs >> SECRET_BITS
    begins = np.flatnonzero(np.diff(released, prepend=-1))
    secret_sizes, released_sizes = np.diff(begins, append=pairs.size), np.bincount(secret)
    released_sizes = released_sizes[released_sizes > 0]
    facts = {
        "rows": rows,
        "pairs": int(pairs.size),
        "secrets": int(np.count_nonzero(secret_rows)),
        "released": int(np.count_nonzero(released_rows)),
        "fewest_secrets": int(secret_sizes.min()),
        "most_secrets": int(secret_sizes.max()),
        "fewest_released": int(released_sizes.min()),
        "most_released": int(released_sizes.max()),
        "classes": classes,
        "peak_share": math.fsum(np.maximum.reduceat(counts / secret_rows[secret], begins)),
        "mutual_bits": math.log2(rows)
        + (_row_bits(counts) - _row_bits(secret_rows) - _row_bits(released_rows)) / rows,
    }
    path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _row_bits(counts: Any) -> float:  # noqa: ANN401 - a NumPy array, imported on use
    import numpy as np

    present = counts[counts > 1]
    return float(np.sum(present * np.log2(present)))


def _count_classes(keys: Any) -> int:  # noqa: ANN401 - a NumPy array, imported on use
    """Return how many classes the overlap partition of packed pairs has."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    secret, released = keys & ((1 << SECRET_BITS) - 1), (keys >> SECRET_BITS) + SECRETS
    nodes = SECRETS + RELEASED
    edges = coo_array((np.ones(keys.size, np.int8), (secret, released)), shape=(nodes, nodes))
    _, labels = connected_components(edges, directed=False)
    return int(np.unique(labels[secret]).size)


def expected_measures(facts: Mapping[str, Any]) -> dict[str, float]:
    """Return what every measure must be, from the formulas of the papers."""
    secrets, released, pairs = facts["secrets"], facts["released"], facts["pairs"]
    leakage = math.log2(secrets / facts["fewest_secrets"])
    return {
        "hartley_entropy": math.log2(secrets),
        "conditional_entropy": math.log2(facts["most_secrets"]),
        "relative_disarray": math.log2(facts["fewest_secrets"]),
        "nonstochastic_information": math.log2(secrets / facts["most_secrets"]),
        "nonstochastic_leakage": leakage,
        "symmetric_leakage": min(leakage, math.log2(released / facts["fewest_released"])),
        "information_transmission": math.log2(secrets * released / pairs),
        "maximin_information": math.log2(facts["classes"]),
        "guessing_leakage": leakage,
        "maximal_guessing_leakage": math.log2(secrets - facts["fewest_secrets"] + 1),
        "identifiability": leakage,
        "maximal_leakage": math.log2(facts["peak_share"]),
        "mutual_information": facts["mutual_bits"],
    }
