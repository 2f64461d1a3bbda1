"""The integer-coded copy of a table, and the one gate through which statements reach it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.errors import EngineError

if TYPE_CHECKING:
    from sqlglot import exp

    from hartley.engines.coded.coding import ColumnCoding
    from hartley.engines.coded.digests import Watch
    from hartley.engines.dialects.dialect import Dialect, Store

PARTS = frozenset(
    [
        *("Select", "From", "Table", "Identifier", "Where", "Group", "Alias"),
        *("Column", "Literal", "Null", "Boolean", "Star", "Paren", "Neg"),
        *("And", "Or", "Not", "EQ", "NEQ", "LTE", "GTE", "Between", "In", "Is"),
        *("Count", "Sum", "Min", "Max", "Filter", "Case", "If"),
        *("Add", "Sub", "Mul", "BitwiseRightShift", "Cast", "DataType", "DataTypeParam"),
    ]
)
"""The allowed parts of a statement: one SELECT of counts and sums over the coded copy."""


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

    def column(self, name: str) -> exp.Column:
        """Return a column by the name that it has in the schema."""
        from sqlglot import exp

        return exp.Column(this=exp.Identifier(this=f"c{self.places[name]}", quoted=True))

    def relation(self) -> exp.Table:
        """Return the table of codes itself."""
        from sqlglot import exp

        *outer, name = (exp.Identifier(this=part, quoted=True) for part in self.store.relation)
        return exp.Table(this=name, **dict(zip(("db", "catalog"), reversed(outer), strict=False)))

    def run(self, query: exp.Select) -> Any:
        """Run one statement and return its Arrow table: the only way to the engine.

        A statement is a tree, never text, and every part of it is checked: a single SELECT over
        the coded copy that counts, adds and compares codes with whole numbers.
        """
        self._check(query)
        text = query.sql(dialect=self.dialect.sql)
        self.check_unchanged()
        try:
            fetched = self.store.fetch(text)
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
        from sqlglot import exp

        counted = exp.alias_(exp.Count(this=exp.Star()), "n", quoted=True)
        rows: int = self.run(exp.select(counted).from_(self.relation())).column(0)[0].as_py()
        return rows

    def _check(self, query: exp.Select) -> None:
        from sqlglot import exp

        tables = 0
        sound = type(query) is exp.Select
        for node in query.walk() if isinstance(query, exp.Expression) else ():
            kind = type(node).__name__
            if isinstance(node, exp.Table):
                tables += 1
                sound &= node == self.relation()
            elif isinstance(node, exp.Column):
                sound &= not node.table and node.name[1:] in self._numbers
            sound &= kind in PARTS and not (kind == "Literal" and node.is_string)
            sound &= kind != "Select" or node is query
        if not sound or tables != 1:
            raise EngineError(
                "A statement was stopped before it reached the engine",
                hint="only counts and sums over the coded copy are run; report this as a fault",
            )

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return frozenset(str(i) for i in range(len(self.codings)))

    def close(self) -> None:
        """Close the connection and, for a copy in memory, drop the copy."""
        self.store.close()
