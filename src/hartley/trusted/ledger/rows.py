"""What a row says."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from hartley.errors import EngineError, HartleyError, InputError, OptionError
from hartley.exact import read_integer
from hartley.files import parse_json

# --- entries --------------------------------------------------------------------------------------
# The rows of the ledger and their hashes: a row counts if its hash fits and the chain goes on.

FORMAT = 2
"""The format of the rows and of the store around them."""
EVENTS = ("created", "version", "schema", "budget", "allowance", "period", "erasure", "migrated")
"""The kinds of events, which happen to a dataset without a question."""
KINDS = (*EVENTS, "reserve", "commit", "population")
BEFORE_THE_FIRST = "0" * 64
"""Used as the hash of the row before the first."""
NULL = "null"
"""The answer of a question whose value is NULL, as text."""
CELL_INDEX = re.compile(rf"0|[1-9][0-9]*|{NULL}")
"""An answer: the number of a cell, or NULL."""
LONGEST_NAME = 200
LARGEST_SEQUENCE = 2**63 - 1
"""The largest number that a row can have in a database."""
STRANGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""The errors of reading a row that no ledger wrote."""


@dataclass(frozen=True)
class Head:
    """The end of a chain: enough to detect later that an older backup replaced the ledger."""

    sequence: int
    hash: str
    format: int = FORMAT

    def __post_init__(self) -> None:
        if (
            type(self.sequence) is not int
            or type(self.format) is not int
            or not isinstance(self.hash, str)
            or not 1 <= self.sequence <= LARGEST_SEQUENCE
            or self.format < 1
        ):
            raise InputError(
                "The head is not in the format that a ledger writes",
                hint="give the number of a row, from 1, a hash as text, and a format",
            )

    def to_json(self) -> str:
        """Write the head as one line."""
        return canonical({"format": self.format, "hash": self.hash, "sequence": self.sequence})

    @classmethod
    def from_json(cls, text: str) -> Head:
        """Read a head that was saved."""
        try:
            content = parse_json(text, what="saved head", kind=InputError)
            return cls(content["sequence"], content["hash"], content["format"])
        except (*STRANGE, InputError):
            raise InputError(
                "The saved head cannot be read",
                hint='give one line such as {"format":2,"hash":"...","sequence":7}',
            ) from None


@dataclass(frozen=True)
class Entry:
    """One row, all of it public: what was charged or declared, and the state after it."""

    sequence: int
    time: str
    """UTC, to the microsecond."""
    dataset: str
    analyst: str
    """The analyst who asked; empty if nobody is named."""
    account: str
    """The charged account: the analyst's allowance, or empty for the rest of the budget."""
    kind: str
    content: str
    """Canonical JSON."""
    cells: str
    """The charge to the dataset, a whole number: for the type of public columns that costs most."""
    account_cells: str
    """The charge to the account."""
    schema: str
    """Version of the schema that the row was made under."""
    rules: str
    """Version of the pricing rules."""
    state: str
    """The state of the dataset and the account after the row, as canonical JSON."""
    previous: str
    hash: str = ""

    @property
    def fields(self) -> tuple[int | str, ...]:
        """Everything, in order."""
        values: tuple[int | str, ...] = IN_ORDER(self)
        return values

    @property
    def expected_hash(self) -> str:
        """The hash of the row's fields."""
        # ``previous`` is among the fields, so a hash covers the row and all rows before it.
        return _hash_of(*self.fields[:-1])

    @cached_property
    def told(self) -> dict[str, Any]:
        """The content as plain values; do not change them."""
        content: dict[str, Any] = json.loads(self.content)
        return content


FIELDS = tuple(field.name for field in fields(Entry))
IN_ORDER = attrgetter(*FIELDS)


@lru_cache(maxsize=64, typed=True)
def _hash_of(*values: int | str) -> str:
    """Hash the fields of a row; cached, since the rows of a repeat are checked at every call.

    Only fields of the same types and the same characters are looked up, so a changed row is hashed
    again.
    """
    return digest(f"hartley ledger {FORMAT}", *map(str, values))


def digest(*parts: str) -> str:
    """Return the SHA-256 of several texts, each preceded by its length, so that none can run over.

    Example:
        >>> digest("ab", "c") == digest("a", "bc")
        False
    """
    texts = [part.encode() for part in parts]
    return hashlib.sha256(b"".join([b"%d:%b" % (len(text), text) for text in texts])).hexdigest()


@lru_cache(maxsize=256)
def question_digest(dataset: str, version: str, schema: str, question: str) -> str:
    """Return the key of a resolved question: of public text alone, never of data.

    The schema is included, since the same codes mean other values under another schema. A digest of
    data must never be shown: somebody who knows all rows but one could hash every candidate for it.
    """
    return digest("question", dataset, version, schema, question)


def schema_version(schema: Mapping[str, Any] | str) -> str:
    """Return the version of a schema: a short hash, the same for equal schemas."""
    return digest("schema", canonical(schema))[:16]


def canonical(value: object) -> str:
    """Write plain values as JSON in the canonical form of the ledger.

    Example:
        >>> canonical({"b": [1, None], "a": "x"})
        '{"a":"x","b":[1,null]}'
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise OptionError(
            "A value for the ledger cannot be written as JSON",
            hint="give text, whole numbers, lists and dicts with text as keys; fractions as text",
        ) from None


def now() -> str:
    """Return the time, UTC, as text that sorts."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def check_name(name: object, *, what: str, empty: bool = False) -> str:
    """Raise an error for a name that could confuse a store, a table or a reader."""
    good = isinstance(name, str) and name.isprintable() and len(name) <= LONGEST_NAME
    if not good or not (name or empty):
        raise OptionError(
            f"The name of the {what} is empty, too long or not printable",
            hint=f"give 1 to {LONGEST_NAME} printable characters",
        )
    return str(name)


def chained(last: Entry | None, **values: str) -> Entry:
    """Return a row with its number and its hash, after another row or as the first."""
    entry = Entry(
        sequence=1 if last is None else last.sequence + 1,
        previous=BEFORE_THE_FIRST if last is None else last.hash,
        **values,
    )
    return replace(entry, hash=entry.expected_hash)


NO_NOTE = "the record of its last row is missing"


def broken(problem: str) -> EngineError:
    """Return the error for a damaged ledger; nothing is written to it."""
    return EngineError(
        f"The ledger cannot be used: {problem}",
        hint="run 'hartley ledger verify' on it, and restore a backup",
    )


def check_hash(entry: Entry) -> None:
    """Raise an error if a row was changed."""
    try:
        good = entry.hash == entry.expected_hash
    except STRANGE:
        good = False
    if not good:
        raise broken(f"row {entry.sequence} was changed")


def continued(entry: Entry, previous: object, end: object, end_hash: object) -> Entry:
    """Return a row after checking that it and its place in the chain are unchanged."""
    # The row's own hash detects an edit that did not recompute it. An edit that did is detected by
    # the row after it, or for the last row by the note, which still have the old hash.
    check_hash(entry)
    if end is None:
        raise broken(NO_NOTE)
    if previous is None and end != entry.sequence:
        raise broken(f"the row after row {entry.sequence} is missing")
    if (end_hash if previous is None else previous) != entry.hash:
        raise broken(f"row {entry.sequence} was changed, and its hash with it")
    return entry


def charged_digests(entry: Entry) -> frozenset[str]:
    """Return the questions that a row charges for."""
    if entry.kind != "reserve":
        return frozenset()
    try:
        return _digests_in(entry.dataset, entry.schema, entry.content)
    except (*STRANGE, HartleyError):
        raise unreadable(entry) from None


@lru_cache(maxsize=64)
def _digests_in(dataset: str, schema: str, content: str) -> frozenset[str]:
    """Return the digests of the questions in the content of a row; cached: a tenth of a repeat."""
    told = json.loads(content)
    return frozenset(
        [
            question_digest(dataset, told["version"], schema, canonical(question))
            for question in told["questions"]
        ]
    )


def committed_answers(entry: Entry) -> Mapping[str, str]:
    """Return the answers in a row, by the digest of their question."""
    if entry.kind != "commit":
        return {}
    try:
        return _answers_in(entry.content)
    except STRANGE:
        raise unreadable(entry) from None


@lru_cache(maxsize=64)
def _answers_in(content: str) -> Mapping[str, str]:
    """Return the answers in the content of a row; nobody can change them."""
    return MappingProxyType(dict(json.loads(content)["answers"]))


def unreadable(entry: Entry) -> EngineError:
    """Return the error for a row whose hash fits but whose content no ledger writes."""
    return broken(f"row {entry.sequence} is not in the format that a ledger writes")


# --- terms ----------------------------------------------------------------------------------------
# The parts of a recorded schema that charges depend on, and which of them may change.
#
# A charge bounds what one unit can lose, so it means nothing for another unit. All else in a
# schema is about the version of the data that it came with: the charges for that version were
# made under it. The argument is in docs/accountant.md, "Versions and schemas that change".


@dataclass(frozen=True)
class Terms:
    """The parts of a schema that charges depend on; defaults if no agent recorded it."""

    unit: str | None = None
    """The column that names the person; None if one row is one person."""
    population: str | None = None
    rows_per_unit: int = 1
    private_rows: bool = False
    max_rows: int | None = None
    columns: Mapping[str, tuple[object, str]] = field(default_factory=dict)
    """The kind of every column, and the rest of it as canonical text."""

    @property
    def protected_unit(self) -> str:
        """Whom a charge protects."""
        return "one row" if self.unit is None else f"a value of '{self.unit}'"


def terms_of(schema: object) -> Terms:
    r"""Read a recorded schema: the text of a TOML file, or nested dicts.

    Example:
        >>> terms_of('[table]\nname = "visits"\nunit = "patient"\nrows_per_unit = 3').unit
        'patient'
        >>> terms_of({"table": {"population": "town"}}).population
        'town'
    """
    if isinstance(schema, str):
        return _read(schema)
    return _terms(schema) if isinstance(schema, Mapping) else Terms()


@lru_cache(maxsize=64)
def _read(text: str) -> Terms:
    try:
        # Not as floats: steps that differ in the twentieth digit are different steps.
        return _terms(tomllib.loads(text, parse_float=Decimal))
    except (ValueError, ArithmeticError, RecursionError):  # includes TOMLDecodeError
        return Terms()


def _terms(schema: Mapping[str, Any]) -> Terms:
    table = schema.get("table", schema)
    table = table if isinstance(table, Mapping) else {}
    columns = schema.get("columns")
    return Terms(
        unit=_text(table.get("unit")),
        population=_text(table.get("population")),
        rows_per_unit=_count(table.get("rows_per_unit")) or 1,
        private_rows=table.get("rows") == "private",
        max_rows=_count(table.get("max_rows")),
        columns={
            str(name): (
                column.get("kind"),
                canonical({str(k): str(value) for k, value in column.items() if k != "kind"}),
            )
            for name, column in (columns.items() if isinstance(columns, Mapping) else ())
            if isinstance(column, Mapping)
        },
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    return value if type(value) is int else None


def problem_of_schema(
    before: Terms, after: Terms, settled: Mapping[str, Any], *, charged: bool, rows: int | None
) -> str | None:
    """Return the problem if an event changes a schema in a way that is not allowed.

    ``charged`` says whether anything was charged for any version, open columns included.
    """
    # "The unit stays once anything was charged": c children for one row are up to c^r for r rows.
    if charged and before.unit != after.unit:
        return (
            f"earlier charges were counted for {before.protected_unit} and mean nothing for "
            f"{after.protected_unit}"
        )
    full = read_integer(settled["open_charge"]) >= read_integer(settled["open_factor"])
    # New data: each version is priced under its own schema, so all else may change.
    if "version" in settled:
        return None if full else "new data must be charged for all of their open columns"
    return _problem_of_same_data(before, after, rows, full_charge=full)


def _problem_of_same_data(
    before: Terms, after: Terms, rows: int | None, *, full_charge: bool
) -> str | None:
    """Return the problem if a schema changes something that the unchanged data do not allow.

    The data were checked and coded under their first schema, and charges were made for what was
    private in it. A removed column could come back as another one.
    """
    most_rows = before.max_rows or rows or 0
    problems = [
        (
            before.unit != after.unit,
            "the number of rows per person was never checked for that unit",
        ),
        (after.rows_per_unit < before.rows_per_unit, "a person may have more rows than it allows"),
        (before.private_rows and not after.private_rows, "the number of rows is private"),
        (
            (after.max_rows or most_rows) < most_rows
            or (before.max_rows is not None and after.max_rows is None),
            "there may be more rows than it allows",
        ),
    ]
    for name, (known_kind, known_values) in before.columns.items():
        kind, values = after.columns.get(name, (None, None))
        problems += [
            (values is None, f"column '{name}' is still in the data"),
            (values != known_values, f"column '{name}' was coded in another way"),
            (kind == "public" != known_kind, f"column '{name}' is private"),
            (
                kind == "open" != known_kind and not full_charge,
                f"opening column '{name}' must be charged for all open columns",
            ),
        ]
    return next((problem for wrong, problem in problems if wrong), None)
