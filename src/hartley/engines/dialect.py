"""What Hartley needs from an engine: the Dialect class, streams of rows, statements that stop.

A new engine is a subclass of ``Dialect`` in a file of its own and one line in ``registry.py``. If
an engine cannot do something, a capability is false; other code asks for the capability, never for
the name of the engine.
"""

from __future__ import annotations

import math
import os
import re
import sys
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, TypeAlias

from hartley.errors import EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hartley.engines.coded_table import CopyJob
    from hartley.engines.table import Table

    Place: TypeAlias = str | os.PathLike[str]
    """The place of a coded copy: a file, a folder or the name of a table."""


STOPPED = ("interrupt", "cancel", "timeout", "timed out")
"""Words in an engine's errors that mean that a user or a limit ended a statement."""
LONGEST_NAME = 63 - len("_about_owner")
"""PostgreSQL cuts longer names off."""
LARGEST_DOUBLE = sys.float_info.max
TINY = 1e-200
"""Numbers closer to zero count as next to it; PostgreSQL would refuse to scale them."""
AGAIN_SECONDS = 0.02
"""After this time a statement is ended once more: an engine forgets what came before its start."""


# --- rows of a query in batches, in exactly the types that the query declares ---------------------
#
# Ibis declares types that it inferred, and passes on what the engine sends without a check: a
# CASE of small literals is declared as 8 bits and sent as 32. Code that reads the buffers by the
# declared type would read other numbers. So this is the only place that asks Ibis for batches.


def batches(expression: Any, size: int) -> Iterator[Any]:
    """Yield the rows of an Ibis table as Arrow record batches of the declared types.

    On some engines Ibis fetches all rows first; ``Dialect.batches`` avoids that where it can.
    """
    declared = declared_types(expression)
    for batch in expression.to_pyarrow_batches(chunk_size=size):
        yield as_declared(batch, declared)


def reader(expression: Any, size: int) -> Any:
    """Return the same batches as an Arrow reader, which an engine can consume."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(declared_types(expression), batches(expression, size))


def declared_types(expression: Any) -> Any:
    """Return the Arrow schema that an Ibis table declares."""
    return expression.schema().to_pyarrow().remove_metadata()


def as_declared(batch: Any, declared: Any) -> Any:
    """Return a batch or table in the declared types; raise an error for numbers that do not fit."""
    import pyarrow as pa

    if batch.schema.equals(declared):
        return batch
    try:
        return batch.cast(declared)
    except (pa.ArrowException, ValueError):
        raise EngineError(
            "The engine sent values that do not fit into the types of the query",
            hint="look with hartley doctor whether the engine is one that was tried",
        ) from None


# --- engines, their tables and copies as the others see them --------------------------------------


class Store(Protocol):
    """The store of a coded copy."""

    dialect: Dialect
    relation: tuple[str, ...]
    """The parts of the name of the table."""

    def fetch(self, text: str) -> Any:
        """Run a statement and return its Arrow table."""

    def fetch_row(self, text: str) -> tuple[Any, ...]:
        """Run a statement and return its only row."""
        return tuple(column[0].as_py() for column in self.fetch(text).columns)

    def close(self) -> None:
        """Release the connection and other resources."""


class Dialect:
    """An engine: its names, what it can do, and how it does it exactly."""

    name: ClassVar[str]
    """The name of its backend in Ibis."""
    title: ClassVar[str]
    """The name for messages."""
    sql: ClassVar[str] = ""
    """As sqlglot calls its SQL; empty where statements do not reach it as text."""
    quote: ClassVar[str] = '"'
    """The mark around the names of tables."""
    addresses: ClassVar[tuple[str, ...]] = ()
    """How addresses of its databases begin."""
    endings: ClassVar[tuple[str, ...]] = ()
    """How files of its databases end."""

    keeps_copies: ClassVar[bool] = True
    """Whether coded copies can be made of its tables, and the agent can ask them."""
    copies_are_files: ClassVar[bool] = False
    """Whether a coded copy is one file, of which all bytes can be compared."""
    codes_large_tables: ClassVar[bool] = False
    """Whether large tables are numbered in temporary tables and streamed to a kernel."""
    searches_lists: ClassVar[bool] = False
    """Whether it finds cells and labels quicker in lists than by nested cases."""
    writes_parquet: ClassVar[bool] = False
    """Whether it writes Parquet files itself."""
    holds_frames: ClassVar[bool] = False
    """Whether a data frame can be handed to it in this process."""
    skips_rows: ClassVar[bool] = False
    """Whether a scan with a WHERE is cheaper than one more FILTER in a statement."""
    reads_whole_copies: ClassVar[bool] = False
    """Whether a copy is compared with its table row by row whenever it is opened."""

    wide_factor: ClassVar[str] = "DECIMAL(18,0)"
    """The SQL type of factors whose product exceeds 64 bits."""
    wide_sum: ClassVar[str | None] = "DECIMAL(38,0)"
    """The SQL type in which sums beyond 64 bits are taken; None if it widens by itself."""
    shift_right: ClassVar[str] = "({} >> {})"
    """How a whole number is shifted right by some bits."""
    text_bytes_sql: ClassVar[str] = "HEX(t)"
    """The bytes of the text ``t`` in hexadecimal digits."""
    fence: ClassVar[str] = ""
    """What keeps the engine from computing the columns of a subquery again wherever one is used."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    # --- connections ---

    def claims(self, place: Place) -> bool:
        """Tell whether an address, or the name of a file, is that of one of its databases."""
        text = str(place)
        return text.startswith(self.addresses or ("\0",)) or text.lower().endswith(
            self.endings or ("\0",)
        )

    def connect(self, address: str) -> Any:
        """Connect to a database by its address, only to read it."""
        raise NotImplementedError

    def version(self, backend: Any) -> str:
        """Return the version of the engine behind a connection."""
        raise NotImplementedError

    def describe(self, backend: Any) -> str:
        """Return the name and the version of an engine."""
        return f"{self.title} {self.version(backend)}"

    def require_tried_version(self) -> None:
        """Raise an error for a version that was not tested."""

    def owns(self, frame: object) -> bool:
        """Tell whether a data frame is the engine's own, which it holds without a copy."""
        del frame
        return False

    def hold_frame(self, frame: Any, name: str) -> Any:
        """Return an Ibis table over a data frame or Arrow table of this process."""
        raise NotImplementedError

    # --- statements ---

    def fetch_row(self, backend: Any, text: str) -> tuple[Any, ...]:
        """Run a statement of our own on a connection and return its only row."""
        raise NotImplementedError

    @contextmanager
    def one_moment(self, backend: Any) -> Iterator[None]:
        """Run several statements on one snapshot, if the engine can."""
        del backend
        yield

    def batches(self, expression: Any, size: int) -> Iterator[Any]:
        """Yield rows as Arrow batches of the declared types, in memory that does not grow."""
        return batches(expression, size)

    def stop(self, backend: Any) -> None:
        """End what the engine was doing when Python was interrupted."""

    def failures(self) -> tuple[type[BaseException], ...]:
        """Return what the engine raises when it fails, whose words may hold private values."""
        return (Exception,)

    def was_interrupted(self, error: BaseException) -> bool:
        """Tell whether a statement failed because somebody interrupted it."""
        return "interrupt" in str(error).lower()

    def passes_on_ctrl_c(self, error: BaseException) -> bool:
        """Tell whether an error is how the engine passes Ctrl-C on."""
        del error
        return False

    def was_stopped(self, error: BaseException) -> bool:
        """Tell whether somebody, or a limit of the engine, ended a statement."""
        said = f"{type(error).__name__} {error}".lower()
        return any(word in said for word in STOPPED)

    @contextmanager
    def memory_limit(self, backend: Any, limit: int | None) -> Iterator[None]:
        """Limit the memory of the engine for a while, if it can be limited."""
        del backend, limit
        yield

    def drop_temporary(self, backend: Any, name: str) -> None:
        """Drop a temporary table of ours."""
        raise NotImplementedError

    def write_parquet(self, backend: Any, expression: Any, path: Path) -> tuple[int, list[int]]:
        """Write Parquet; return the number of rows and of missing values in every column."""
        raise NotImplementedError

    # --- exact arithmetic over Ibis columns ---

    most_exact_digits: ClassVar[float] = math.inf
    """Decimals of more digits become doubles by way of text: see ``as_doubles``."""

    def as_doubles(self, column: Any) -> Any:
        """Return numbers as doubles, each the nearest one."""
        dtype = column.type()
        digits = (dtype.precision or math.inf) if dtype.is_decimal() else 0
        if digits > self.most_exact_digits:
            column = column.cast("string")
        return column.cast("float64")

    def has_decimals(self, column: Any, digits: int) -> Any:
        """Return where a decimal has no more than so many digits after the point, exactly."""
        dtype = column.type()
        if dtype.scale is not None and dtype.scale <= digits:
            return column.notnull()
        # What does not fit after rounding up at the end of its type is no short decimal.
        narrow = column.try_cast(f"decimal(38, {digits})").try_cast(dtype)
        return narrow.notnull() & (column == narrow)

    def divide(self, dividend: Any, divisor: Any) -> Any:
        """Return the quotient of two doubles, rounded once."""
        return dividend / divisor

    def floor(self, value: Any) -> Any:
        """Round doubles down, without Ibis's detour over integers, which overflow."""
        return builtin("floor", ("float64",), "float64")(value)

    def exact_sum(self, integers: Any) -> Any:
        """Return the exact sum of integers of at most 18 digits."""
        # Spark takes a sum of 64-bit integers in 64 bits, where it overflows.
        return integers.cast("decimal(18, 0)").sum()

    def count_distinct(self, column: Any) -> Any:
        """Return how many different values a column has, without missing ones."""
        return column.nunique()

    def with_previous(self, rows: Any, column: str, name: str) -> Any:
        """Give every row, under a name, the next smaller value of a column of doubles."""
        import ibis

        values = rows[column]
        return rows.mutate(**{name: values.lag().over(ibis.window(order_by=values))})

    def text_bytes(self, text: Any) -> Any:
        """Return the bytes of a text in hexadecimal digits: a collation may take A for a."""
        return builtin("hex", ("string",), "string")(text)

    def is_nan_decimal(self, value: Any) -> Any | None:
        """Return where a decimal is NaN; None of an engine whose decimals have none."""
        del value
        return None

    def takes_zone_of_session(self, expression: Any, column: str) -> bool:
        """Tell whether times without a zone are read in that of the session."""
        del expression, column
        return False

    def hashes(self, parts: Sequence[str], seed: int) -> str:
        """Return the SQL of a hash of 64 bits of whole numbers, by the engine's own function."""
        raise NotImplementedError

    # --- coded copies ---

    def make_copy(self, job: CopyJob, place: Place | None) -> tuple[Store | None, str]:
        """Make a copy; return its store (None for a file) and the note about it.

        If the copy does not hold exactly the rows of the table, it is removed and an error raised.
        """
        del job, place
        self.refuse_copies()

    def open_copy(self, place: Place, near: Table | None) -> tuple[Store, str]:
        """Open a copy, with the note about it."""
        del place, near
        self.refuse_copies()

    def holds_copy(self, place: Place, near: Table | None) -> bool:
        """Tell whether a place holds a finished copy."""
        del place, near
        self.refuse_copies()

    def drop_copy(self, place: Place, near: Table | None, *, seconds: int = 0) -> None:
        """Remove a copy, waiting a number of seconds for its readers; 0 is no limit."""
        del place, near, seconds
        self.refuse_copies()

    def copy_place(self, place: Place, mark: str) -> str:
        """Return the place of the copy of one version, which a mark names."""
        return f"{str(place).rstrip('/')}_{mark}"

    def copy_marks(self, place: Place, near: Table | None, mark: str) -> set[str]:
        """Return the marks, each matching a pattern, of all copies at a place, finished or not."""
        del place, near, mark
        self.refuse_copies()

    def copy_ledger(self, place: Place, near: Table | None) -> str | None:
        """Return the note that names the ledger of an unfinished copy; None if there is none."""
        del place, near
        return None

    def refuse_copies(self) -> NoReturn:
        """Raise an error because the engine has no coded copies."""
        raise EngineError(
            f"The engine {self.title} keeps no coded copies, so no agent can answer from it",
            hint="pass the data frame or the file itself, which DuckDB then reads",
        )


def number(value: float) -> Any:
    """Return a double as every engine reads it, exactly.

    Text is the one form that all read as the nearest double: DuckDB takes 0.1 for a decimal.
    """
    import ibis

    return ibis.literal(repr(value)).cast("float64")


def null_unless(condition: Any, value: Any) -> Any:
    """Return a value where a condition holds, and NULL elsewhere."""
    import ibis

    return ibis.cases((condition, value))


def builtin(name: str, arguments: tuple[str, ...], result: str) -> Any:
    """Return a function of the engine's own as one of Ibis columns."""
    import ibis
    import ibis.expr.datatypes as dt

    def of_one(_one: Any) -> Any:
        """Stand for an engine's function of one argument."""

    def of_two(_one: Any, _other: Any) -> Any:
        """Stand for an engine's function of two arguments."""

    types = tuple(map(dt.dtype, arguments)), dt.dtype(result)
    stand_in = of_one if len(arguments) == 1 else of_two
    return ibis.udf.scalar.builtin(stand_in, name=name, signature=types)


def sql_name(parts: Sequence[str], *, more: str = "", quote: str = '"') -> str:
    """Write the name of a table.

    Example:
        >>> sql_name(("private", "people"), more="_about")
        '"private"."people_about"'
    """
    return ".".join(f"{quote}{part}{quote}" for part in (*parts[:-1], parts[-1] + more))


def relation_of(store: Store) -> str:
    """Write the name of the table of a store as its engine quotes it."""
    return sql_name(store.relation, quote=store.dialect.quote)


def name_parts(place: Place, *, most: int) -> tuple[str, ...]:
    """Split the name of a table; anything but plain letters, digits and underscores is refused."""
    parts = tuple(os.fspath(place).split("."))
    plain = all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", part) for part in parts)
    if not plain or len(parts) > most or len(parts[-1]) > LONGEST_NAME:
        raise InputError(
            f"The place {os.fspath(place)} for the coded copy is not the name of a table",
            hint="write for example private.people_coded, in plain letters, digits and underscores",
        )
    return parts


def marks_among(names: Iterable[str], name: str, mark: str) -> set[str]:
    """Return the marks in the names of tables or folders of copies; engines may change the case."""
    wanted = rf"{re.escape(name.lower())}_({mark})(_about|_about_owner)?"
    matches = (re.fullmatch(wanted, listed.lower()) for listed in names)
    return {match[1] for match in matches if match}


def taken(place: Place) -> InputError:
    """Return the error for a place that is already taken."""
    return InputError(
        f"The place {Path(place).name} for the coded copy is taken",
        hint="open the copy that is there, or choose another name for new data",
    )


def unwritable(target: Path) -> InputError:
    """Return the error for a place that cannot be written."""
    return InputError(
        f"The place {target.name} for the coded copy cannot be written",
        hint="check that its folder exists, may be written to and has room",
    )


# --- ending the statements of one piece of work from another thread, and those of no other --------

_PRESENT: ContextVar[StatementStop | None] = ContextVar("statement_stop", default=None)


class StatementStop:
    """Ends what an engine computes for one piece of work, and lets nothing else of it begin.

    The work runs inside ``present()``; any other thread may call ``stop()``. A statement is
    registered only while it runs and holds a connection of its own, so that no statement of
    another piece of work can be ended instead.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._stopped = False
        self._end: Callable[[], None] | None = None

    @contextmanager
    def present(self) -> Iterator[None]:
        """Let the statements that this thread runs in the block be stopped."""
        before = _PRESENT.set(self)
        try:
            yield
        finally:
            _PRESENT.reset(before)

    def stop(self) -> None:
        """End the statement that runs, if any, and return when it has ended."""
        with self._changed:
            self._stopped = True
            while self._end is not None:
                self._end()
                self._changed.wait(AGAIN_SECONDS)

    @contextmanager
    def running(self, end: Callable[[], None]) -> Iterator[None]:
        """Run a statement that ``end`` ends from another thread."""
        with self._changed:
            if self._stopped:
                raise InterruptedError("the work was stopped")
            self._end = end
        try:
            yield
        finally:
            with self._changed:
                self._end = None
                self._changed.notify_all()


@contextmanager
def stoppable(end: Callable[[], None]) -> Iterator[None]:
    """Run a statement that ``end`` ends if the present work is stopped."""
    stop = _PRESENT.get()
    if stop is None:
        yield
    else:
        with stop.running(end):
            yield
