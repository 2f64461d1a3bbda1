"""The coded copy and the one gate to it."""

from __future__ import annotations

import json
import re
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from hartley.engines.codes import (
    UNIT,
    UNKNOWN,
    coded_rows,
    draw_seeds,
    keeper,
    read_sums,
    row_sums_query,
    sealed,
)
from hartley.engines.dialect import relation_of
from hartley.engines.registry import EMBEDDED
from hartley.engines.table import run
from hartley.errors import ColumnError, EngineError, InputError, TableError
from hartley.text import conjugate, count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.engines.codes import ColumnCoding, Owner, RowSums, Seeds, Watch
    from hartley.engines.dialect import Dialect, Place, Store
    from hartley.engines.table import Table


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
FORMAT = 1
UNREADABLE = LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError
"""What a note of another form raises where it is read."""
MARK = 12
"""The number of digits of a version's random name in the name of its copy."""
SOME_MARK = rf"[0-9a-f]{{{MARK}}}"


# --- the one gate through which statements reach a copy -------------------------------------------
#
# A statement is a tree: one SELECT of counts and sums of codes. It becomes text here alone. What
# has no words here cannot be written, so nothing else reaches an engine; and of values only whole
# numbers can.


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
        """Return the statement in the SQL of an engine."""
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

    @property
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
        row: list[int | None] = []
        for value in self._fetched(query, self.store.fetch_row):
            if value is None or type(value) is int:
                row.append(value)
            elif isinstance(value, Decimal) and value.is_finite() and value == int(value):
                row.append(int(value))
            else:
                raise EngineError(
                    f"The engine {self.engine} did not answer with whole numbers",
                    hint="look at the engine with hartley doctor; what was charged stays paid",
                )
        return row

    def _fetched(self, query: CodeStatement, fetch: Callable[[str], T]) -> T:
        """Run one statement: the only way to the engine."""
        # A statement is a tree, never text: a single SELECT over the coded copy that counts, adds
        # and compares codes with whole numbers. Nothing else can be written.
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
                f"The engine {self.engine} could not read the coded copy",
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


# --- making a copy in a place that the owner names, and opening it --------------------------------


@dataclass(frozen=True)
class CopyJob:
    """A table to be copied, and the checks before the copy counts."""

    table: Table
    rows: Any
    """The Ibis expression of the codes."""
    codings: tuple[ColumnCoding, ...]
    check: Callable[[Store], str] = lambda _: ""
    """Raises an error for codes that the schema does not allow, or returns the note about them."""
    ledger: str = ""
    """The random name of the ledger that the copy is made for, which an unfinished one carries."""
    seeds: Seeds = field(default_factory=draw_seeds)
    """The seeds of the hashes by which the rows of table and copy are compared."""

    @property
    def source(self) -> Dialect:
        """The dialect of the engine that holds the table."""
        return self.table.dialect

    @property
    def integers(self) -> tuple[str, ...]:
        """The narrowest type of every column of codes."""
        return tuple(coding.integer for coding in self.codings)

    def query(self) -> str:
        """Return the statement that computes the codes."""
        self.rows.limit(0).to_pyarrow()  # so that Ibis registers the lists of categories
        return str(self.table.backend.compile(self.rows))

    def sums_query(self, relation: str, copy: Store, dialect: Dialect | None = None) -> str:
        """Return the statement that adds up the rows of the table, to be compared with a copy."""
        portable, dialect = self.source is not copy.dialect, dialect or self.source
        return row_sums_query(self.codings, relation, self.seeds, dialect, portable=portable)

    def sums_of(self, copy: Store) -> RowSums:
        """Add up the rows of a copy."""
        return read_sums(copy.fetch_row(self.sums_query(relation_of(copy), copy, copy.dialect)))

    def compare(self, expected: Sequence[object], copy: Store) -> None:
        """Raise an error if a copy does not hold the rows of the coding statement."""
        if self.sums_of(copy) != read_sums(expected):
            raise EngineError(
                f"The coded copy of {self.table.name} does not hold the rows that the engine "
                f"{self.table.engine} coded, so nothing was recorded",
                hint="if the table changed meanwhile, copy it again; else look at the engine with "
                "hartley doctor",
            )


def code_table(  # noqa: PLR0913 - each is a promise of the schema, by its name
    table: Table,
    codings: Sequence[ColumnCoding],
    *,
    place: Place | None = None,
    unit: str | None = None,
    rows_per_unit: int = 1,
    max_rows: int | None = None,
    version: str | None = None,
    owner: Owner | None = None,
) -> CodedTable:
    """Copy a table as whole numbers, and check what its schema promises.

    A place that ends in .duckdb is a file, for any engine; ``schema.table`` is a table of the same
    PostgreSQL database; on Spark a name is a table and anything with a slash a folder of Parquet
    files. By default, the copy lives as long as the connection: in memory, in a temporary table or
    in a checkpoint. The unit, which names the person, is not copied. A version, a name for this
    state of the data, is random by default; the owner recognises the copy by its digest.
    """
    if not table.dialect.keeps_copies:
        table.dialect.refuse_copies()
    sources = _states(table)  # before anything is read
    rows = coded_rows(table, codings, unit)
    if unit is not None:
        _check_units(table, rows, codings, unit, rows_per_unit)
        rows = rows.drop(UNIT)
    name = secrets.token_hex(16) if version is None else version

    def check(store: Store) -> str:
        count = _check_codes(table, store, codings, max_rows)
        note = {"format": FORMAT, "version": name, "rows": count, "columns": _described(codings)}
        return json.dumps(note | {"sources": sources, "ledger": ledger})

    ledger = "" if owner is None else owner.ledger
    job = CopyJob(table, rows, tuple(codings), check, ledger)
    kept_by = table.dialect if place is None else keeper(place, table)
    store, note = run(table, lambda: kept_by.make_copy(job, place))
    digest = watch = None
    if place is not None:
        if owner is not None:
            digest, watch = run(
                table, lambda: sealed(place, codings, name, owner, table, fresh=True)
            )
        store = store or kept_by.open_copy(place, table)[0]
    assert store is not None
    return CodedTable(tuple(codings), json.loads(note)["rows"], name, store, sources, digest, watch)


def open_coded(
    place: Place,
    codings: Sequence[ColumnCoding],
    *,
    version: str | None = None,
    near: Table | None = None,
    owner: Owner | None = None,
) -> CodedTable:
    """Open an existing coded copy for reading."""
    digest = watch = None
    try:
        if owner is not None and version is not None:
            digest, watch = sealed(place, codings, version, owner, near)
        store, content = keeper(place, near).open_copy(place, near)
    except (InputError, EngineError):
        raise
    except Exception:  # noqa: BLE001 - every failure of an engine, in one sentence
        raise InputError(
            f"There is no coded copy {Path(place).name} that can be opened",
            hint="check the name, or make the copy first",
        ) from None
    wrong = "was changed after it was made", "make a new copy in another place"
    with suppress(*UNREADABLE):
        note = json.loads(content)
        if note["format"] != FORMAT or note["columns"] != _described(codings):
            wrong = "was made for another schema", "make a new copy in another place"
        elif version is not None and note["version"] != version:
            wrong = "holds another version of the data", "open the copy of this version"
        else:
            rows, name = int(note["rows"]), str(note["version"])
            sources = tuple(FileState(*state) for state in note.get("sources", ()))
            opened = CodedTable(tuple(codings), rows, name, store, sources, digest, watch)
            if opened.count() == note["rows"]:
                return opened
    store.close()
    raise InputError(f"The coded copy {Path(place).name} {wrong[0]}", hint=wrong[1])


def holds_rows_of(coded: CodedTable, table: Table, *, thorough: bool = False) -> bool:
    """Tell whether a copy holds the rows of a table, in any order.

    Unless it is ``thorough``, untouched files are not read again, and on engines other than the
    embedded one, where a table may be too large to be read every time, only the number of rows is
    compared.
    """
    if not thorough and table.paths and _states(table) == coded.sources:
        return True
    counted = run(table, table.expression.count().to_pyarrow).as_py()
    always = table.dialect is coded.dialect and coded.dialect.reads_whole_copies
    if counted != coded.rows or not (thorough or always):
        return bool(counted == coded.rows)
    job = CopyJob(table, coded_rows(table, coded.codings), coded.codings)
    text = run(table, lambda: job.sums_query(f"({job.query()})", coded.store))
    expected = read_sums(run(table, lambda: table.dialect.fetch_row(table.backend, text)))
    return job.sums_of(coded.store) == expected


def _states(table: Table) -> tuple[FileState, ...]:
    stats = [(str(Path(path).absolute()), Path(path).stat()) for path in table.paths]
    return tuple(FileState(path, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for path, s in stats)


def _described(codings: Sequence[ColumnCoding]) -> list[dict[str, Any]]:
    """Return how columns are coded as plain values, which a file stores unchanged."""
    text: str = json.dumps([asdict(coding) for coding in codings], default=str)
    plain: list[dict[str, Any]] = json.loads(text)
    return plain


def is_database(place: Place | None) -> bool:
    """Tell whether a place is a file of the embedded engine."""
    return place is not None and EMBEDDED.claims(place)


def is_file(place: Place, near: Table | None) -> bool:
    """Tell whether a copy is a file, and not a table or folder of a server."""
    return keeper(place, near).copies_are_files


def holds_copy(place: Place, near: Table | None = None) -> bool:
    """Tell whether a place holds a finished copy."""
    return keeper(place, near).holds_copy(place, near)


def drop_copy(place: Place, near: Table | None = None, *, seconds: int = 0) -> None:
    """Remove a copy that is no longer used; open files can still be read."""
    keeper(place, near).drop_copy(place, near, seconds=seconds)


def place_of(place: Place, version: str, near: Table | None) -> str:
    """Return the place of the copy of one version."""
    return keeper(place, near).copy_place(place, version[:MARK])


def marks_at(place: Place, near: Table | None) -> set[str]:
    """Return the marks of all versions that have a copy at a place, finished or not."""
    return keeper(place, near).copy_marks(place, near, SOME_MARK)


def ledger_of(copy: Place, near: Table | None) -> str | None:
    """Return the random name of the ledger that a copy was made for, None if it has none."""
    dialect = keeper(copy, near)
    try:
        name = dialect.copy_ledger(copy, near)
        if name is None:
            store, note = dialect.open_copy(copy, near)
            store.close()
            name = json.loads(note).get("ledger")
    except Exception:  # noqa: BLE001 - not a copy of ours, or one that cannot be read
        return None
    return str(name) if name else None


def unfinished_folders(place: Place, ledger: str) -> list[Path]:
    """Return the folders in which copies for a ledger were begun and not finished."""
    path = Path(place)
    wanted = (
        rf"\.{re.escape(path.stem)}\.{SOME_MARK}{re.escape(path.suffix)}\.{re.escape(ledger)}\."
        r"[a-z0-9_]+\.part"
    )
    folder = path.absolute().parent
    return [entry for entry in folder.iterdir() if re.fullmatch(wanted, entry.name)]


def _check_units(
    table: Table, rows: Any, codings: Sequence[ColumnCoding], unit: str, most: int
) -> None:
    """Raise an error for missing units, units with too many rows, or varying public columns."""
    public = {} if most == 1 else {i: c.column for i, c in enumerate(codings) if c.constant}
    grouped = rows.group_by(UNIT).aggregate(
        n=rows.count(),
        **{f"low{i}": rows[f"c{i}"].min() for i in public},
        **{f"high{i}": rows[f"c{i}"].max() for i in public},
        **{f"present{i}": rows[f"c{i}"].count() for i in public},
    )
    known = grouped[UNIT].notnull()
    aggregates = {
        "missing": known.ifelse(0, grouped.n).sum(),
        "crowded": (known & (grouped.n > most)).sum(),
        "most": known.ifelse(grouped.n, 0).max(),
    }
    for i in public:
        present = grouped[f"present{i}"]
        varied = (present > 0) & (
            (present < grouped.n) | (grouped[f"low{i}"] < grouped[f"high{i}"])
        )
        aggregates[f"varied{i}"] = varied.sum()
    counts = run(table, grouped.aggregate(**aggregates).to_pyarrow).to_pylist()[0]
    if counts["missing"]:
        raise ColumnError(
            f"The unit '{unit}' of {table.name} is missing in {count_of(counts['missing'], 'row')}",
            hint="give every row a unit, or drop the rows",
        )
    if counts["crowded"]:
        raise ColumnError(
            f"More than {count_of(most, 'row')} of {table.name} belong to one '{unit}' in "
            f"{count_of(counts['crowded'], 'case')}, in one of them "
            f"{count_of(counts['most'], 'row')}",
            hint=f"write rows_per_unit = {counts['most']} or more, or keep fewer rows of them",
        )
    for i, column in public.items():
        if counts[f"varied{i}"]:
            raise ColumnError(
                f"The public column '{column}' of {table.name} varies within "
                f"{count_of(counts[f'varied{i}'], 'unit')}",
                hint="make it open or private, or give every unit one value",
            )


def _check_codes(
    table: Table, store: Store, codings: Sequence[ColumnCoding], max_rows: int | None
) -> int:
    """Raise an error for codes that the schema does not allow; return the number of rows."""
    aggregates = ["count(*) AS n"]
    for i in range(len(codings)):
        unknown = f"count(CASE WHEN c{i} = {UNKNOWN} THEN 1 END)"
        aggregates += [f"count(c{i}) AS a{i}", f"{unknown} AS b{i}", f"max(c{i}) AS d{i}"]
    query = f"SELECT {', '.join(aggregates)} FROM {relation_of(store)}"  # noqa: S608 - our own names
    rows, *counts = store.fetch_row(query)
    for i, coding in enumerate(codings):
        present, strange, largest = counts[3 * i : 3 * i + 3]
        assert largest is None or largest < coding.points
        missing = 0 if coding.nullable else rows - present
        for count, what, hint in (
            (strange, "outside the values of the schema", "list them or add other"),
            (missing, "missing", "fill them in or write nullable = true"),
        ):
            if count:
                raise ColumnError(
                    f"{count_of(count, 'value')} of column '{coding.column}' of {table.name} "
                    f"{conjugate(count, 'is')} {what}",
                    hint=hint,
                )
    if max_rows is not None and rows > max_rows:
        raise TableError(
            f"{table.name} has {count_of(rows, 'row')}, more than the schema's max_rows",
            hint="raise max_rows, which is public, or keep fewer rows",
        )
    return int(rows)
