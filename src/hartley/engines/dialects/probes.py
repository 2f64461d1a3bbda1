"""Small questions with known answers, put to an engine before it is trusted with others.

Exact answers rest on how an engine adds, shifts, rounds, compares and treats missing values. Each
probe asks one of these things in the way that our statements use it; all probes are one statement
over four rows, so they take milliseconds, once a connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

from hartley.engines.tables.table import fetch_row, spark_session
from hartley.errors import EngineError

OLDEST_DUCKDB, FIRST_UNTRIED_DUCKDB = (1, 4), (1, 5)
"""The versions of DuckDB that answers were tried with; a test compares them with pyproject.toml."""
NAMES = {"duckdb": "DuckDB", "postgres": "PostgreSQL", "pyspark": "Spark"}
DIALECTS = {"duckdb": "duckdb", "postgres": "postgres", "pyspark": "spark"}

ROWS = """
SELECT CAST(4611686018427387904 AS BIGINT) AS big, CAST(999999999999999999 AS BIGINT) AS wide,
       CAST(-7 AS INT) AS n, CAST('NaN' AS DOUBLE) AS x, 'a' AS t
UNION ALL SELECT 4611686018427387904, 999999999999999999, 7, CAST('-0.0' AS DOUBLE), 'A'
UNION ALL SELECT 4611686018427387904, 999999999999999999, NULL, CAST('0.0' AS DOUBLE), 'a '
UNION ALL SELECT 4611686018427387904, 999999999999999999, 0, NULL, 'ä'
"""
"""In DuckDB's dialect, as all texts here; sqlglot writes them in those of the others."""

TEXT_BYTES = {
    "duckdb": "HEX(t)",
    "postgres": "UPPER(ENCODE(CONVERT_TO(t, 'UTF8'), 'hex'))",
    "pyspark": "HEX(t)",
}


@dataclass(frozen=True)
class Probe:
    """One question to an engine, and whether it answered as it must."""

    name: str
    expected: int
    answer: int | None

    @property
    def holds(self) -> bool:
        """Whether the answer is the right one."""
        return self.answer == self.expected


def require_tried(backend: Any) -> None:
    """Refuse an engine of a version that was not tried, or one that fails a probe.

    Args:
        backend: an Ibis connection; it is probed once.

    Example:
        >>> from hartley.engines.dialects.embedded import connect
        >>> require_tried(connect())
    """
    if backend.name not in NAMES or getattr(backend, "hartley_probed", False):
        return
    if backend.name == "duckdb":
        _require_tried_version()
    failed = [probe.name for probe in probe_engine(backend) if not probe.holds]
    if failed:
        raise EngineError(
            f"The engine {describe_engine(backend)} fails the probe '{failed[0]}', so its answers "
            "would not be exact",
            hint="look at all probes with hartley doctor --engine ADDRESS, and use another "
            "version or other settings",
        )
    backend.hartley_probed = True


@cache
def require_tried_library() -> None:
    """Refuse the DuckDB that is installed if it was not tried or fails a probe; once a process."""
    import duckdb

    with duckdb.connect() as connection:
        require_tried(SimpleNamespace(name="duckdb", con=connection))


def _require_tried_version() -> None:
    import duckdb

    version = tuple(int(part) for part in duckdb.__version__.split(".")[:2])
    if not OLDEST_DUCKDB <= version < FIRST_UNTRIED_DUCKDB:
        raise EngineError(
            f"The engine DuckDB {duckdb.__version__} is not one of the versions that were tried",
            hint=f"pip install '{tried_duckdb()}', which another package may have replaced",
        )


def tried_duckdb() -> str:
    """Return the tried versions as a requirement.

    Example:
        >>> tried_duckdb()
        'duckdb>=1.4,<1.5'
    """
    oldest, first_untried = (
        ".".join(map(str, version)) for version in (OLDEST_DUCKDB, FIRST_UNTRIED_DUCKDB)
    )
    return f"duckdb>={oldest},<{first_untried}"


def describe_engine(backend: Any) -> str:
    """Return the name and the version of an engine."""
    if backend.name == "duckdb":
        import duckdb

        return f"DuckDB {duckdb.__version__}"
    if backend.name == "postgres":
        return f"PostgreSQL {backend.con.info.parameter_status('server_version')}"
    return f"Spark {spark_session(backend).version}"


def probe_engine(backend: Any) -> list[Probe]:
    """Ask every probe, all in one statement."""
    answers = fetch_row(backend, _statement(backend.name))
    return [
        Probe(name, expected, None if answer is None else int(answer))
        for (name, _, expected), answer in zip(_questions(backend.name), answers, strict=True)
    ]


@cache
def _statement(engine: str) -> str:
    import sqlglot

    asked = ", ".join(f"{text} AS p{i}" for i, (_, text, _) in enumerate(_questions(engine)))
    query = f"SELECT {asked} FROM ({ROWS}) AS probes"  # noqa: S608 - our own words
    (text,) = sqlglot.transpile(query, read="duckdb", write=DIALECTS[engine])
    return text.replace("bytes_of_t", TEXT_BYTES[engine])  # which sqlglot would rewrite


def _questions(engine: str) -> list[tuple[str, str, int]]:
    """List what is asked: a name, an aggregate over the four rows, and the right answer."""
    embedded = engine == "duckdb"
    exact = "big" if embedded else "CAST(big AS DECIMAL(38, 0))"
    kind = "INT128" if embedded else "DECIMAL(18, 0)"
    product = f"CAST(wide AS {kind}) * CAST(wide AS {kind})"
    if not embedded:
        product = f"CAST({product} AS DECIMAL(38, 0))"
    third = "CAST('0.1' AS DOUBLE) * CAST('3.0' AS DOUBLE)"
    half = "FLOOR(CAST(n AS DOUBLE) / CAST('2.0' AS DOUBLE))"
    residue = "CAST(2147483646 AS BIGINT) * CAST(2147483646 AS BIGINT) % 2147483647"
    questions = [
        ("sums beyond 64 bits", f"SUM({exact})", 2**64),
        ("products beyond 64 bits", f"SUM({product})", 4 * (10**18 - 1) ** 2),
        ("sums of decimals", "SUM(CAST(wide AS DECIMAL(18, 0)))", 4 * (10**18 - 1)),
        ("sums of small numbers", "CAST(SUM(n) FILTER (WHERE n <= 0) AS BIGINT)", -7),
        ("-7 shifted right", "MIN(n >> 1)", -4),
        ("-7 divided by 2 and rounded down", f"CAST(MIN({half}) AS BIGINT)", -4),
        ("-7 modulo 2", "MIN(n % 2)", -1),
        ("remainders", f"MAX({residue})", 1),
        ("large doubles as whole numbers", _whole_double(), 2**53 - 1),
        ("doubles read from text", _count(f"{third} = CAST('0.30000000000000004' AS DOUBLE)"), 4),
        ("NaN is one value", _count("x = CAST('NaN' AS DOUBLE)"), 1),
        ("NaN is above all numbers", _count("x > CAST('1e308' AS DOUBLE)"), 1),
        ("-0.0 is 0.0", _count("x = CAST('0.0' AS DOUBLE)"), 2),
        ("NOT of a missing value", _count("NOT n > 0"), 2),
        ("OR of a missing value", _count("n > 0 OR t = 'a '"), 2),
        ("IN of a missing value", _count("NOT n IN (7, 8)"), 2),
        ("BETWEEN of a missing value", _count("n BETWEEN -7 AND 0"), 2),
        ("small numbers of a CASE", _case_sum(), 300),
        ("different texts differ", _count("t = 'a'"), 1),
        ("different texts are counted apart", "COUNT(DISTINCT t)", 4),
        ("texts as bytes", _count("bytes_of_t = 'C3A4'"), 1),
    ]
    if embedded:  # the others are never asked for an order of texts
        questions.append(("order of texts", _count("t < 'a' AND t >= 'A' OR t > 'z'"), 2))
    return questions


def _whole_double() -> str:
    return "MAX(CAST(FLOOR(CAST('9007199254740991.0' AS DOUBLE)) AS BIGINT))"


def _case_sum() -> str:
    return "SUM(CAST(CASE WHEN n < 0 THEN 300 WHEN n = 0 THEN 2 ELSE -1 END AS SMALLINT))"


def _count(condition: str) -> str:
    return f"COUNT(*) FILTER (WHERE {condition})"
