"""The integer-coded copy of a table, and the one gate through which statements reach it.

A statement is a tree: one SELECT of counts and sums of codes. It becomes text here alone. What has
no words here cannot be written, so nothing else reaches an engine; and of values only whole numbers
can.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from hartley.engines.dialects.dialect import relation_of
from hartley.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.engines.coded.coding import ColumnCoding
    from hartley.engines.coded.digests import Watch
    from hartley.engines.dialects.dialect import Dialect, Store

T = TypeVar("T")

WORDS = {
    "and": "({} AND {})",
    "or": "({} OR {})",
    "=": "{} = {}",
    "<>": "{} <> {}",
    "<=": "{} <= {}",
    ">=": "{} >= {}",
    "between": "{} BETWEEN {} AND {}",
    "is null": "{} IS NULL",
    "is not null": "{} IS NOT NULL",
    "false": "FALSE",
    "null": "NULL",
    "case": "CASE WHEN {} THEN {} ELSE {} END",
    "+": "({} + {})",
    "-": "({} - {})",
    "*": "({} * {})",
    "count": "COUNT({})",
    "count rows": "COUNT(*)",
    "sum": "SUM({})",
    "min": "MIN({})",
    "max": "MAX({})",
    "filter": "{} FILTER (WHERE {})",
}
"""The parts of statements that all engines write alike."""
INTEGERS = ("INT", "BIGINT")
"""The types that all engines have under these names."""


class CodeColumn(NamedTuple):
    """A column of codes, by its number."""

    place: int


class Part(NamedTuple):
    """Something made of other parts: a key of ``WORDS``, "in" or "shift right"."""

    kind: str
    parts: tuple[Term, ...] = ()


class Cast(NamedTuple):
    """A part as another type of whole number."""

    part: Term
    type: str


Term: TypeAlias = "CodeColumn | Part | Cast | int"


class CodeStatement(NamedTuple):
    """The values of the rows of a condition, by groups with the same keys: columns k0.. and v0.."""

    keys: tuple[Term, ...]
    values: tuple[Term, ...]
    where: Term | None = None

    def text(self, dialect: Dialect, relation: str, columns: int) -> str:
        """Return the statement in the SQL of an engine.

        Args:
            dialect: the engine.
            relation: the copy, as that engine writes it.
            columns: how many columns the copy has.
        """
        quote = dialect.quote
        types = {*INTEGERS, dialect.wide_factor, dialect.wide_sum or "BIGINT"}

        def written(term: Term) -> str:
            if type(term) is int:  # True and False are no numbers
                return str(term)
            if isinstance(term, CodeColumn) and term.place in range(columns):
                return f"{quote}c{int(term.place)}{quote}"
            if isinstance(term, Cast) and term.type in types:
                return f"CAST({written(term.part)} AS {term.type})"
            if isinstance(term, Part):
                parts = [written(part) for part in term.parts]
                words = WORDS.get(term.kind)
                if words is not None and words.count("{}") == len(parts):
                    return words.format(*parts)
                if term.kind == "in" and len(parts) > 1:
                    return f"{parts[0]} IN ({', '.join(parts[1:])})"
                if term.kind == "shift right" and len(parts) == 2:
                    return dialect.shift_right.format(*parts)
            raise _not_allowed()

        keys = [written(key) for key in self.keys]
        named = [f"{key} AS {quote}k{i}{quote}" for i, key in enumerate(keys)]
        named += [f"{written(value)} AS {quote}v{i}{quote}" for i, value in enumerate(self.values)]
        text = f"SELECT {', '.join(named)} FROM {relation}"  # noqa: S608 - words of this module
        if self.where is not None:
            text += f" WHERE {written(self.where)}"
        return f"{text} GROUP BY {', '.join(keys)}" if keys else text


def _not_allowed() -> EngineError:
    """Return the error for anything that is no statement about a coded copy."""
    return EngineError(
        "A statement was stopped before it reached the engine",
        hint="only counts and sums over the coded copy are run; report this as a fault",
    )


# --- the copy ---------------------------------------------------------------------------------


class Stopped(EngineError):  # noqa: N818 - reads as what it says: the statement was stopped
    """A statement was ended from outside; running it again at once would fail in the same way."""


class FileState(NamedTuple):
    """The attributes by which an untouched file is recognised."""

    path: str
    size: int
    written: int
    """When its content was last written, in nanoseconds."""
    changed: int
    """When it was last changed in any way, also by being put in its place."""


@dataclass(frozen=True)
class CodedTable:
    """A table of codes: column i of the schema is ``ci``, NULL for missing values."""

    codings: tuple[ColumnCoding, ...]
    rows: int
    version: str
    """A random name of this state of the data; it says nothing about it."""
    store: Store = field(repr=False)
    sources: tuple[FileState, ...] = field(default=(), repr=False)
    """The files that it was made from, as they were; known only to its owner."""
    digest: str | None = field(default=None, repr=False)
    """The digest of the whole copy under the key of its owner; known only to the owner."""
    watch: Watch | None = field(default=None, repr=False)
    """Checks that a file stays unchanged; None for a copy in memory or on a server."""

    @property
    def dialect(self) -> Dialect:
        """The engine that keeps the copy: what it can do, and how."""
        return self.store.dialect

    @property
    def engine(self) -> str:
        """The name of that engine, as Ibis calls it."""
        return self.dialect.name

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of every column, by its name."""
        return {coding.column: i for i, coding in enumerate(self.codings)}

    def coding(self, column: str) -> ColumnCoding:
        """Return how a column is coded."""
        return self.codings[self.places[column]]

    def column(self, name: str) -> CodeColumn:
        """Return a column by the name that it has in the schema."""
        return CodeColumn(self.places[name])

    def run(self, query: CodeStatement) -> Any:
        """Run one statement and return its Arrow table."""
        return self._fetched(query, self.store.fetch)

    def run_for_row(self, query: CodeStatement) -> list[int | None]:
        """Run one statement without keys and return its only row: whole numbers, or None."""
        return [self._whole(value) for value in self._fetched(query, self.store.fetch_row)]

    def _whole(self, value: object) -> int | None:
        """Return a number as an engine gives it back; anything that is not whole is an error."""
        if value is None or type(value) is int:
            return value
        if isinstance(value, Decimal) and value.is_finite() and value == int(value):
            return int(value)
        raise EngineError(
            f"The engine {self.engine} did not answer with whole numbers",
            hint="look at the engine with hartley doctor; what was charged stays paid",
        )

    def _fetched(self, query: CodeStatement, fetch: Callable[[str], T]) -> T:
        """Run one statement: the only way to the engine.

        A statement is a tree, never text: a single SELECT over the coded copy that counts, adds and
        compares codes with whole numbers. Nothing else can be written.
        """
        if type(query) is not CodeStatement:
            raise _not_allowed()
        text = query.text(self.dialect, relation_of(self.store), len(self.codings))
        self.check_unchanged()
        try:
            fetched = fetch(text)
        except Exception as error:  # noqa: BLE001 - what the engine says may hold private values
            if self.dialect.passes_on_ctrl_c(error):
                raise KeyboardInterrupt from None
            raise (Stopped if self.dialect.was_stopped(error) else EngineError)(
                f"The engine {self.engine} could not read the coded copy ({type(error).__name__})",
                hint="check that the engine answers and ask again; what was charged stays paid",
            ) from None
        finally:
            if self.watch is not None:
                self.watch.note_touched()
        self.check_unchanged()
        return fetched

    def check_unchanged(self) -> None:
        """Raise an error if the file of the copy was changed after it was opened."""
        if self.watch is not None:
            self.watch.check()

    def count(self) -> int:
        """Count the rows; the result is ``rows`` unless somebody changed the copy."""
        (rows,) = self.run_for_row(CodeStatement((), (Part("count rows"),)))
        assert rows is not None  # a count
        return rows

    def close(self) -> None:
        """Close the connection and, for a copy in memory, drop the copy."""
        self.store.close()
