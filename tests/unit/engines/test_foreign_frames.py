"""What open_table takes for a table, and what it refuses at once: nothing is collected for it."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from hartley import ColumnError, TableError, open_table

ROWS = {"a": [1, 2]}
ARROW = pa.table(ROWS)


class Cluster:
    """A data frame of a cluster, which may be larger than this machine."""

    columns = ("a",)

    def collect(self, *_, **__):
        raise AssertionError("the whole frame was fetched")

    toArrow = toPandas = to_pandas = compute = __arrow_c_stream__ = __iter__ = __len__ = collect  # noqa: N815


Spark = type("DataFrame", (Cluster,), {"__module__": "pyspark.sql.classic.dataframe"})
Connect = type("DataFrame", (Cluster,), {"__module__": "pyspark.sql.connect.dataframe"})
OnSpark = type("DataFrame", (Cluster,), {"__module__": "pyspark.pandas.frame"})
Derived = type("People", (Spark,), {"__module__": "mine"})
OTHERS = {name: getattr(Cluster, name) for name in ("columns", "collect", "compute")}
Dask = type("DataFrame", (), OTHERS | {"__module__": "dask.dataframe"})


@pytest.mark.parametrize("kind", [Spark, Connect, OnSpark, Derived])
def test_a_frame_of_spark_is_refused_before_it_is_fetched(kind):
    with pytest.raises(TableError, match=r"of the type .* of \w+, .*createOrReplaceTempView"):
        open_table(kind())
    with pytest.raises(ColumnError, match="Column 'a'"):
        open_table({"a": kind()})


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (Dask(), "DataFrame of dask"),
        (ds.dataset(ARROW), "InMemoryDataset of pyarrow"),
        (ARROW["a"], "ChunkedArray of pyarrow"),
        (pl.Series("a", [1]), "Series of polars"),
        (pd.Series([1]), "Series of pandas"),
        (np.array([(1,)], dtype=[("a", "i8")]), "ndarray of numpy"),
        ((row for row in [1]), "generator"),
        ([{"a": 1}], "list"),
        (pl.DataFrame, "type"),
        (None, "NoneType"),
    ],
)
def test_what_is_no_table_is_named_and_so_is_what_would_be_one(source, named):
    with pytest.raises(TableError, match=f"of the type {named}, is not .* a dict of columns"):
        open_table(source)


@pytest.mark.parametrize(
    "source",
    [
        ROWS, {"a": iter([1, 2])}, {"a": range(1, 3)}, {"a": np.array([1, 2])},
        ARROW, ARROW.to_batches()[0], ARROW.to_reader(), pd.DataFrame(ROWS), pl.DataFrame(ROWS),
        pl.LazyFrame(ROWS), duckdb.sql("FROM VALUES (1), (2) t(a)"),
    ],
    ids=lambda source: type(source).__name__,
)  # fmt: skip
def test_what_is_a_table_is_read(source):
    assert open_table(source).expression.to_pyarrow()["a"].to_pylist() == [1, 2]


def test_a_text_is_no_column_of_letters():
    with pytest.raises(ColumnError, match="Column 'a'"):
        open_table({"a": "xyz"})
