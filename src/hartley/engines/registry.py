"""The list of supported engines; any other is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.engines.duckdb import DUCKDB
from hartley.engines.polars import POLARS
from hartley.engines.postgres import POSTGRESQL
from hartley.engines.spark import SPARK
from hartley.errors import EngineError, OptionError
from hartley.text import listed

if TYPE_CHECKING:
    import os

    from hartley.engines.dialect import Dialect

DIALECTS: tuple[Dialect, ...] = (DUCKDB, POSTGRESQL, SPARK, POLARS)
EMBEDDED = DUCKDB
"""The engine that reads files, and frames unless another is named."""

_BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def dialect_of(backend: Any) -> Dialect:
    """Return the dialect of an Ibis connection; raise an error for other engines."""
    dialect = _BY_NAME.get(str(backend.name))
    if dialect is None:
        raise EngineError(
            f"The engine {backend.name} is not one that Hartley was tried with",
            hint=f"the engines are {listed(known.title for known in DIALECTS)}; hand over the rows "
            "as a data frame, or as a Parquet or CSV file, to have DuckDB read them",
        )
    return dialect


def frame_dialect(name: str | None) -> Dialect:
    """Return the engine for data frames by its name; DuckDB by default."""
    if name is None:
        return EMBEDDED
    able = {dialect.name: dialect for dialect in DIALECTS if dialect.holds_frames}
    if name not in able:
        raise OptionError(
            f"The engine '{name}' holds no data frames",
            hint=f"choose one of {', '.join(able)}, or leave it out",
        )
    return able[name]


def dialect_at(address: str | os.PathLike[str]) -> Dialect | None:
    """Return the engine of a database by its address; None for the name of a file of rows.

    Example:
        >>> dialect_at("people.duckdb"), dialect_at("people.csv")
        (DuckDB(), None)
    """
    return next((dialect for dialect in DIALECTS if dialect.claims(address)), None)
