"""The engines that every contract holds on: each started once, each holding the same tables."""

from __future__ import annotations

import datetime as dt
import gc
import math
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley.engines.coded_table import CodeStatement
from hartley.engines.registry import DUCKDB, POLARS, POSTGRESQL, SPARK
from servers import postgres

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.engines.coded_table import CodedTable
    from hartley.engines.dialect import Dialect

POSTGRES_TYPES = {
    pa.int64(): "bigint",
    pa.int16(): "smallint",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.decimal128(10, 2): "numeric(10, 2)",
    pa.decimal128(18, 17): "numeric(18, 17)",
    pa.decimal128(38, 18): "numeric(38, 18)",
}

SPARK_SOCKETS = "ignore:unclosed <socket:ResourceWarning"
"""Spark's gateway opens a socket for every result and leaves closing it to the collector."""


Upload = Callable[[str, pa.Table], Any]
"""Puts an Arrow table on an engine under a name and returns it as an Ibis table."""


@dataclass(frozen=True)
class Listed:
    """An engine that the contracts hold on. A new one is one more line in ``ENGINES``."""

    dialect: Dialect
    start: Callable[[], AbstractContextManager[Upload]]
    places: tuple[Callable[[str, Path], str], ...] = ()
    """Where coded copies may live, each from a name and a folder; none where none are kept."""
    marks: tuple[Any, ...] = ()
    slow: bool = False
    """Whether it takes its time over every statement, so that fewer are asked."""

    @property
    def name(self) -> str:
        return self.dialect.sql or self.dialect.name


class Engine:
    """One engine that was started: tables are handed in as Arrow and live there afterwards."""

    def __init__(self, listed: Listed, upload: Upload) -> None:
        self.listed, self.dialect, self.name = listed, listed.dialect, listed.name
        self._upload = upload
        self._tables: dict[str, Any] = {}

    def load(self, name: str, table: pa.Table) -> Any:
        """Return a table on the engine, uploaded on first use."""
        if name not in self._tables:
            self._tables[name] = self._upload(name, table)
        return self._tables[name]

    def place(self, name: str, folder: Path, kind: int = 0) -> str:
        """Return a place for a coded copy."""
        return self.listed.places[kind](name, folder)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.filterwarnings(SPARK_SOCKETS))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on every engine, or on those that can, or cannot, do what a mark names.

    ``@pytest.mark.needs("keeps_copies")`` asks for the engines with that capability, ``lacks`` for
    those without it, where the test is about the refusal, and ``only`` for one engine by its name.
    So none is left out silently.
    """
    if "engine" not in metafunc.fixturenames:
        return
    chosen = ENGINES
    for mark in metafunc.definition.iter_markers("needs"):
        chosen = [one for one in chosen if getattr(one.dialect, mark.args[0])]
    for mark in metafunc.definition.iter_markers("lacks"):
        chosen = [one for one in chosen if not getattr(one.dialect, mark.args[0])]
    for mark in metafunc.definition.iter_markers("only"):
        chosen = [one for one in chosen if one.name == mark.args[0]]
    marks = {one.name: [pytest.mark.xdist_group(one.name), *one.marks] for one in chosen}
    if "kind_of_place" not in metafunc.fixturenames:
        params = [pytest.param(one, marks=marks[one.name], id=one.name) for one in chosen]
        metafunc.parametrize("engine", params, indirect=True, scope="session")
        return
    pairs = [
        pytest.param(one, kind, marks=marks[one.name], id=f"{one.name}-{kind}")
        for one in chosen
        for kind in range(len(one.places))
    ]
    metafunc.parametrize(("engine", "kind_of_place"), pairs, indirect=True, scope="session")


@pytest.fixture(scope="session")
def listed() -> list[Listed]:
    """All engines that are under contract."""
    return ENGINES


@pytest.fixture(scope="session")
def started() -> Iterator[Callable[[Listed], Engine]]:
    """Start an engine on first use; all are stopped at the end."""
    engines: dict[str, Engine] = {}
    with ExitStack() as stack:

        def start(listed: Listed) -> Engine:
            if listed.name not in engines:
                engines[listed.name] = Engine(listed, stack.enter_context(listed.start()))
            return engines[listed.name]

        yield start


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest, started: Callable[[Listed], Engine]) -> Engine:
    return started(request.param)


@pytest.fixture(scope="session")
def kind_of_place(request: pytest.FixtureRequest) -> int:
    """The number of one of the kinds of places that the engine has for coded copies."""
    return int(request.param)


@pytest.fixture(scope="session")
def embedded() -> Iterator[Engine]:
    """DuckDB, on a connection of its own, with which the others are compared."""
    with start_duckdb() as upload:
        yield Engine(ENGINES[0], upload)


@contextmanager
def start_duckdb() -> Iterator[Upload]:
    backend = ibis.duckdb.connect()

    def upload(name: str, table: pa.Table) -> Any:
        backend.con.register("uploaded", table)
        backend.con.execute(f'CREATE TABLE "{name}" AS SELECT * FROM uploaded')  # noqa: S608 - our own name
        backend.con.unregister("uploaded")
        return backend.table(name)

    yield upload
    backend.disconnect()


@contextmanager
def start_polars() -> Iterator[Upload]:
    backend = ibis.polars.connect()
    yield backend.create_table


@contextmanager
def start_postgres() -> Iterator[Upload]:
    with postgres() as address:
        backend = ibis.connect(address)

        def upload(name: str, table: pa.Table) -> Any:
            columns = ", ".join(f'"{f.name}" {POSTGRES_TYPES[f.type]}' for f in table.schema)
            with backend.con.cursor() as cursor:
                cursor.execute(f'CREATE TABLE "{name}" ({columns})')
                with cursor.copy(f'COPY "{name}" FROM STDIN') as copy:
                    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                        copy.write_row(row)
            backend.con.commit()
            return backend.table(name)

        yield upload
        backend.disconnect()


@contextmanager
def start_spark() -> Iterator[Upload]:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    folder = tempfile.mkdtemp(prefix="hartley-spark-")
    options = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # start fast
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": folder,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    backend = ibis.pyspark.connect(session)

    def upload(name: str, table: pa.Table) -> Any:
        pq.write_table(table, f"{folder}/{name}.parquet")
        return backend.read_parquet(f"{folder}/{name}.parquet", table_name=name)

    yield upload
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "unclosed <socket", ResourceWarning)  # SPARK_SOCKETS
        gateway = SparkContext._gateway
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=30)
        SparkContext._gateway = SparkContext._jvm = None
        del session, gateway
        gc.collect()
    shutil.rmtree(folder, ignore_errors=True)


ENGINES = [
    Listed(DUCKDB, start_duckdb, (lambda name, folder: str(folder / f"{name}.duckdb"),)),
    Listed(POLARS, start_polars),
    Listed(
        POSTGRESQL,
        start_postgres,
        (lambda name, _: f"public.{name}",),
        (pytest.mark.postgres,),
    ),
    Listed(
        SPARK,
        start_spark,
        (lambda name, _: name, lambda name, folder: str(folder / name)),  # a table and a folder
        (pytest.mark.spark,),
        slow=True,
    ),
]
"""The engines, DuckDB first: the others are compared with it."""


# --- tables -------------------------------------------------------------------------------------


def beside(numbers: list[float]) -> list[float]:
    """Return numbers together with the doubles just below and just above."""
    return [
        number
        for centre in numbers
        for number in (math.nextafter(centre, -math.inf), centre, math.nextafter(centre, math.inf))
    ]


POOLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "count": (pa.int64(), list(range(-7, 8))),
    "wide": (pa.int64(), [-(10**12), -1, 0, 3, 10**9, 10**12]),
    "small": (pa.int16(), [-300, -1, 0, 7, 300]),
    "real": (
        pa.float64(),
        [0.0, -0.0, 1.5, -2.25, 1e300, 5e-324, math.inf, -math.inf, math.nan, math.nan],
    ),
    "tenths": (
        pa.float64(),
        [*beside([k / 10 for k in range(-9, 10)]), *(k * 0.1 for k in range(-9, 10)), math.nan],
    ),
    "weight": (pa.float64(), [*beside([k * 2.5 for k in range(-4, 5) if k]), 1.0, -1.0, -0.0]),
    "text": (
        pa.string(),
        ["", " ", "a", "A", "a ", "ä", "z", "Zürich", "日本", "😀", "it's", '"', "\\", "%", "NULL"],
    ),
    "flag": (pa.bool_(), [True, False]),
    "day": (
        pa.date32(),
        [dt.date(year, 2, 28) for year in (1900, 1969, 1970, 2024, 9999)],
    ),
    "moment": (
        pa.timestamp("us"),
        [dt.datetime(2024, 3, 31, 2, minute, 0, 1) for minute in range(0, 60, 15)],  # noqa: DTZ001 - a time without a zone is meant
    ),
    "money": (pa.decimal128(10, 2), [Decimal(cents) / 100 for cents in (-1, 0, 10, 99, 12345)]),
    "Blood pressure": (pa.int64(), [80, 90, 99, 100, 120, 121]),
    "select": (pa.string(), ["from", "where"]),
}
"""For every column its type and the values that it draws from."""


def generate(seed: int, rows: int, *, share_missing: float) -> pa.Table:
    """Return a table of drawn values, a share of them missing."""
    random = np.random.default_rng(seed)
    columns = {}
    for name, (kind, pool) in POOLS.items():
        drawn = random.integers(len(pool), size=rows)
        present = random.random(rows) >= share_missing
        values = [pool[at] if here else None for at, here in zip(drawn, present, strict=True)]
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


@pytest.fixture(scope="session")
def tables() -> dict[str, pa.Table]:
    """The generated tables, by name."""
    return {
        "full": generate(1, 300, share_missing=0.0),
        "holes": generate(2, 300, share_missing=0.2),
        "few": generate(3, 12, share_missing=0.1),
    }


@pytest.fixture(scope="session")
def codes_of() -> Callable[[CodedTable], list[tuple[int | None, ...]]]:
    """Return a function that fetches the rows of a coded copy."""

    def fetch(copy: CodedTable) -> list[tuple[int | None, ...]]:
        columns = [copy.column(coding.column) for coding in copy.codings]
        fetched = copy.run(CodeStatement((), tuple(columns)))
        return [tuple(row.values()) for row in fetched.to_pylist()]

    return fetch
