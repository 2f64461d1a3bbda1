"""Probes: small questions with known answers, which an engine must pass before it is used.

Exact answers depend on how an engine adds, shifts, rounds, compares and treats missing values. Each
probe tests one of these things in the way that our statements use it; all probes are one statement
over four rows, so they take milliseconds, once per connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from hartley.errors import EngineError

if TYPE_CHECKING:
    from hartley.engines.dialect import Dialect

WRITTEN_IN = "duckdb"
"""The SQL of all texts here; sqlglot writes them in that of the others."""
ROWS = """
SELECT CAST(4611686018427387904 AS BIGINT) AS big, CAST(999999999999999999 AS BIGINT) AS wide,
       CAST(-7 AS INT) AS n, CAST('NaN' AS DOUBLE) AS x, 'a' AS t
UNION ALL SELECT 4611686018427387904, 999999999999999999, 7, CAST('-0.0' AS DOUBLE), 'A'
UNION ALL SELECT 4611686018427387904, 999999999999999999, NULL, CAST('0.0' AS DOUBLE), 'a '
UNION ALL SELECT 4611686018427387904, 999999999999999999, 0, NULL, 'ä'
"""


@dataclass(frozen=True)
class Probe:
    """One question to an engine, with its answer and the right answer."""

    name: str
    expected: int
    answer: int | None

    @property
    def holds(self) -> bool:
        """Whether the answer is the right one."""
        return self.answer == self.expected


def require_tried(dialect: Dialect, backend: Any) -> None:
    """Raise an error for an engine whose version was not tested or that fails a probe."""
    if getattr(backend, "hartley_probed", False):
        return
    dialect.require_tried_version()
    failed = [probe.name for probe in probe_engine(dialect, backend) if not probe.holds]
    if failed:
        raise EngineError(
            f"The engine {dialect.describe(backend)} fails the probe '{failed[0]}', so its "
            "answers would not be exact",
            hint="look at all probes with hartley doctor --engine ADDRESS, and use another "
            "version or other settings",
        )
    backend.hartley_probed = True


def probe_engine(dialect: Dialect, backend: Any) -> list[Probe]:
    """Ask every probe, all in one statement."""
    if dialect.sql:
        questions = [(name, expected) for name, _, expected in sql_questions(dialect)]
        answers = dialect.fetch_row(backend, sql_statement(dialect))
    else:
        rows, asked = expression_questions(dialect)
        questions = [(name, expected) for name, (_, expected) in asked.items()]
        query = rows.aggregate(**{f"p{i}": value for i, (value, _) in enumerate(asked.values())})
        (row,) = backend.to_pyarrow(query).to_pylist()
        answers = tuple(row.values())
    return [
        Probe(name, expected, None if answer is None else int(answer))
        for (name, expected), answer in zip(questions, answers, strict=True)
    ]


@cache
def sql_statement(dialect: Dialect) -> str:
    """Return the one statement that asks every probe."""
    import sqlglot

    asked = ", ".join(f"{text} AS p{i}" for i, (_, text, _) in enumerate(sql_questions(dialect)))
    query = f"SELECT {asked} FROM ({ROWS}) AS probes"  # noqa: S608 - our own words
    (text,) = sqlglot.transpile(query, read=WRITTEN_IN, write=dialect.sql)
    return text.replace("bytes_of_t", dialect.text_bytes_sql)  # which sqlglot would rewrite


def sql_questions(dialect: Dialect) -> list[tuple[str, str, int]]:
    """List the probes: a name, an aggregate over the four rows, and the right answer."""
    exact = "big" if dialect.wide_sum is None else f"CAST(big AS {dialect.wide_sum})"
    kind = dialect.wide_factor
    product = f"CAST(wide AS {kind}) * CAST(wide AS {kind})"
    if dialect.wide_sum is not None:
        product = f"CAST({product} AS {dialect.wide_sum})"
    third = "CAST('0.1' AS DOUBLE) * CAST('3.0' AS DOUBLE)"
    tenth = "CAST(n AS DOUBLE) / CAST('10.0' AS DOUBLE)"  # not -7 times the double nearest to 0.1
    half = "FLOOR(CAST(n AS DOUBLE) / CAST('2.0' AS DOUBLE))"
    residue = "CAST(2147483646 AS BIGINT) * CAST(2147483646 AS BIGINT) % 2147483647"
    whole = "MAX(CAST(FLOOR(CAST('9007199254740991.0' AS DOUBLE)) AS BIGINT))"
    case = "CASE WHEN n < 0 THEN 300 WHEN n = 0 THEN 2 ELSE -1 END"
    questions = [
        ("sums beyond 64 bits", f"SUM({exact})", 2**64),
        ("products beyond 64 bits", f"SUM({product})", 4 * (10**18 - 1) ** 2),
        ("sums of decimals", "SUM(CAST(wide AS DECIMAL(18, 0)))", 4 * (10**18 - 1)),
        ("sums of small numbers", "CAST(SUM(n) FILTER (WHERE n <= 0) AS BIGINT)", -7),
        ("-7 shifted right", "MIN(n >> 1)", -4),
        ("-7 divided by 2 and rounded down", f"CAST(MIN({half}) AS BIGINT)", -4),
        ("-7 modulo 2", "MIN(n % 2)", -1),
        ("remainders", f"MAX({residue})", 1),
        ("quotients rounded once", _count(f"{tenth} = CAST('-0.7' AS DOUBLE)"), 1),
        ("large doubles as whole numbers", whole, 2**53 - 1),
        ("doubles read from text", _count(f"{third} = CAST('0.30000000000000004' AS DOUBLE)"), 4),
        ("NaN is one value", _count("x = CAST('NaN' AS DOUBLE)"), 1),
        ("NaN is above all numbers", _count("x > CAST('1e308' AS DOUBLE)"), 1),
        ("-0.0 is 0.0", _count("x = CAST('0.0' AS DOUBLE)"), 2),
        ("NOT of a missing value", _count("NOT n > 0"), 2),
        ("OR of a missing value", _count("n > 0 OR t = 'a '"), 2),
        ("IN of a missing value", _count("NOT n IN (7, 8)"), 2),
        ("BETWEEN of a missing value", _count("n BETWEEN -7 AND 0"), 2),
        ("small numbers of a CASE", f"SUM(CAST({case} AS SMALLINT))", 300),
        ("different texts differ", _count("t = 'a'"), 1),
        ("different texts are counted apart", "COUNT(DISTINCT t)", 4),
        ("texts as bytes", _count("bytes_of_t = 'C3A4'"), 1),
    ]
    if dialect.searches_lists:  # the others are never asked for an order of texts
        questions.append(("order of texts", _count("t < 'a' AND t >= 'A' OR t > 'z'"), 2))
    return questions


def _count(condition: str) -> str:
    return f"COUNT(*) FILTER (WHERE {condition})"


# --- engines that are asked in expressions --------------------------------------------------------


def expression_questions(dialect: Dialect) -> tuple[Any, dict[str, tuple[Any, int]]]:
    """Return four rows, aggregates of Ibis over them, and the right answers.

    For an engine without SQL. These test the same quirks, in the ways that audits and releases use.
    """
    import ibis
    import pyarrow as pa

    rows = ibis.memtable(
        pa.table(
            {
                "big": pa.array([2**62] * 4, pa.int64()),
                "wide": pa.array([10**18 - 1] * 4, pa.int64()),
                "n": pa.array([-7, 7, None, 0], pa.int32()),
                "x": pa.array([float("nan"), -0.0, 0.0, None], pa.float64()),
                "t": pa.array(["a", "A", "a ", "ä"], pa.string()),
                "w": pa.array(["9007199254740993", "0.7", "-0.0", "1e-5"], pa.string()),
            }
        )
    )

    def double(text: str) -> Any:
        return ibis.literal(text).cast("float64")

    n, x, t = rows.n, rows.x, rows.t
    real = n.cast("float64")
    half = dialect.floor(dialect.divide(real, double("2.0")))
    case = ibis.cases((n < 0, 300), (n == 0, 2), else_=-1).cast("int16")
    tenth = dialect.divide(real, double("10.0"))
    read, parsed = rows.w.cast("float64"), dialect.as_doubles(rows.w.cast("decimal(38, 6)"))
    asked = {
        "sums beyond 64 bits": (dialect.exact_sum(rows.big), 2**64),
        "sums of decimals": (dialect.exact_sum(rows.wide), 4 * (10**18 - 1)),
        "sums of small numbers": (n.sum(where=n <= 0), -7),
        "-7 divided by 2 and rounded down": (half.cast("int64").min(), -4),
        "quotients rounded once": ((tenth == double("-0.7")).sum(), 1),
        "products rounded once": ((real * double("0.1") == double("0.7000000000000001")).sum(), 1),
        "large doubles as whole numbers": (
            dialect.floor(real.fill_null(0.0) + double("9007199254740984.0")).cast("int64").max(),
            2**53 - 1,
        ),
        "doubles read from text": ((read == double("0.70000000000000001")).sum(), 1),
        "decimals as doubles": ((parsed == double("9007199254740992.0")).sum(), 1),
        "NaN is found": (x.isnan().sum(), 1),
        "NaN is above all numbers": ((x > double("1e308")).sum(), 1),
        "-0.0 is 0.0": ((x == double("0.0")).sum(), 2),
        "-0.0 and 0.0 are one group": (dialect.count_distinct(x), 2),
        "missing values are not counted": (dialect.count_distinct(n), 3),
        "NOT of a missing value": ((~(n > 0)).sum(), 2),
        "OR of a missing value": (((n > 0) | (t == "a ")).sum(), 2),
        "IN of a missing value": ((~n.isin([7, 8])).sum(), 2),
        "BETWEEN of a missing value": (n.between(-7, 0).sum(), 2),
        "small numbers of a CASE": (case.sum(), 300),
        "a CASE without a match is missing": (ibis.cases((n > 0, n)).count(), 1),
        "different texts differ": ((t == "a").sum(), 1),
        "different texts are counted apart": (dialect.count_distinct(t), 4),
    }
    return rows, asked
