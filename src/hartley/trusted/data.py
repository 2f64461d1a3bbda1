"""One version of the data: loaded, coded and checked against the ledger, ready for questions."""

from __future__ import annotations

import hmac
import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hartley.engines.coded_table import (
    MARK,
    Stopped,
    code_table,
    drop_copy,
    holds_copy,
    holds_rows_of,
    is_file,
    ledger_of,
    marks_at,
    open_coded,
    place_of,
    unfinished_folders,
)
from hartley.engines.codes import Owner
from hartley.engines.probes import require_tried
from hartley.errors import EngineError, HartleyError, InputError, OptionError, Pending, Refused
from hartley.exact import bits_at_least, floor_power, parse_number
from hartley.files import write_whole
from hartley.trusted.cells import cell_of, read_cells
from hartley.trusted.ledger.ledger import hash_at
from hartley.trusted.ledger.rows import Head, canonical, schema_version
from hartley.trusted.ledger.store import AnotherLedger, keep_digest, read_digest, read_secret
from hartley.trusted.precision import PriceDesk, check_same_schema, remember
from hartley.trusted.pricing.conditional_price import RULES
from hartley.trusted.pricing.price import open_factor, price
from hartley.trusted.questions.batch import Question, Statistic, columns_of
from hartley.trusted.statistics import totals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.engines.coded_table import CodedTable
    from hartley.engines.table import Table
    from hartley.results.answer import Reading
    from hartley.schema.schema import Schema
    from hartley.trusted.ledger.ledger import State, TrustedLedger
    from hartley.trusted.ledger.store import Transaction
    from hartley.trusted.questions.batch import Condition
    from hartley.trusted.questions.question import Selection


class LedgerHeadFile:
    """The note in a folder that records where a ledger ended."""

    at_once = True
    """Whether ``save`` writes it; otherwise it is written later."""

    def __init__(self, ledger: TrustedLedger, folder: Path) -> None:
        self._ledger, self._folder = ledger, folder.absolute()
        self._first: str | None = None
        self._file = ledger.store.path and os.path.relpath(ledger.store.path, self._folder)

    def path(self) -> Path | None:
        """Return the path of the note; None for a ledger without rows."""
        if self._first is None:  # no later row changes it
            first = self._ledger.store.read(lambda t: t.entry(1))
            if first is None:
                return None
            self._first = first.hash
        return self._folder / f"hartley.{self._first[:12]}.head"  # several may share a folder

    def check(self) -> None:
        """Raise an error if the ledger lacks the row that was noted last."""
        path = self.path()
        if path is None and self._file:
            name = canonical({"ledger": self._file})[1:-1].encode()
            for note in self._folder.glob("hartley.*.head"):
                with suppress(OSError):
                    if name in note.read_bytes():
                        raise self._older("has no rows, although one of this name had some", note)
        if path is None or not path.exists():
            return
        try:
            head = Head.from_json(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, InputError):
            raise InputError(
                f"The note {path.name}, which records where the ledger ended, cannot be read",
                hint="make it readable; if you remove it, an older ledger goes unnoticed this once",
            ) from None
        if self._ledger.store.read(lambda t: hash_at(t, head)) != head.hash:
            raise self._older("is older than the one last used here", path)

    def _older(self, problem: str, note: Path) -> InputError:
        return InputError(
            f"The ledger {self._ledger.store.name} {problem}, so recent charges and answers are "
            "missing from it",
            hint="put the newest ledger back; if it is lost, the promise does not cover "
            f"answers given since, and removing '{note}' accepts that",
        )

    def save(self) -> None:
        """Write where the ledger ends to the disk, if it is writable; a note never goes back.

        If another ledger is in its place, the last row that was seen is noted, which that may lack.
        """
        path = self.path()
        try:
            head = self._ledger.head()
        except AnotherLedger:
            head = self._ledger.seen
        if path is None or head is None:
            return
        # Without the note the check is weaker, but that is no reason to withhold a paid answer.
        with suppress(OSError, InputError):
            noted = path.read_text(encoding="utf-8") if path.exists() else None
            if noted is None or Head.from_json(noted).sequence < head.sequence:
                write_whole(path, canonical(vars(head) | {"ledger": self._file}) + "\n")


Place = str | os.PathLike[str]
PATIENCE = 2
"""Seconds to wait for readers of a copy that is to be removed."""


def load(  # noqa: PLR0913 - what a dataset is made of, each by name
    table: Table | None,
    schema: Schema,
    ledger: TrustedLedger,
    *,
    budget: object,
    place: Place | None,
    update: bool = False,
) -> CodedTable:
    """Open the coded copy of a dataset, create it for a new dataset, or replace it."""
    schema.require_confirmed()
    known = dataset_state(ledger, schema.name)
    if table is not None:
        require_tried(table.dialect, table.backend)
    note = ledger_head_file(ledger, place, in_file=place is not None and is_file(place, table))
    if note is not None:
        note.check()  # before anything is removed that an older ledger does not know
    remove_leftovers(ledger, schema.name, place, table)
    if known is None:
        return _create(table, schema, ledger, budget=budget, place=place)
    check_same_schema(schema, known)
    _check_budget(budget, known)
    if update:
        coded = replace_copy(table, schema, ledger, before=schema, place=place)
        remove_copy(place, known.version, table)
        return coded
    where = None if place is None else place_of(place, known.version, table)
    if where is None or not holds_copy(where, table):
        raise InputError(
            f"The coded copy of '{schema.name}' that the ledger records is missing",
            hint="name its place= (--place), or record the table as a new version with "
            "update=True (--update): earlier charges stay, and questions cost again",
        )
    owner = _owner(ledger)
    coded = open_coded(where, schema.codings, version=known.version, near=table, owner=owner)
    try:
        if owner is not None:
            _check_digest(coded, table, ledger)
        _refuse_other(table, coded)
    except BaseException:
        coded.close()
        raise
    return coded


def _create(
    table: Table | None,
    schema: Schema,
    ledger: TrustedLedger,
    *,
    budget: object,
    place: Place | None,
) -> CodedTable:
    """Make the coded copy and record the dataset."""
    if budget is None:
        raise OptionError(
            f"The ledger has no dataset '{schema.name}' yet, and no budget was given",
            hint="give the budget in bits: the most that all analysts together may learn about "
            "one person",
        )
    factor = open_factor(schema)
    if factor > floor_power(budget):
        raise Refused(
            f"The open columns of '{schema.name}' alone cost more than the budget",
            hint="raise the budget, or make columns private",
            requested=bits_at_least(factor),
            remaining=float(parse_number(budget, name="the budget")),
        )
    content = {"bits": str(budget), "schema": schema.to_toml()}
    return _recorded(table, schema, ledger, place, "created", content)


def replace_copy(  # noqa: PLR0913 - what a version is made of, each by name
    table: Table | None,
    schema: Schema,
    ledger: TrustedLedger,
    *,
    before: Schema,
    place: Place | None,
    kind: Literal["version", "erasure", "schema"] = "version",
    check: Callable[[], None] | None = None,
) -> CodedTable:
    """Make a new coded copy and record it as a new version; earlier charges stay."""
    content = {"schema": schema.to_toml()} if kind == "schema" else {}
    under = schema_version(before.to_toml())
    return _recorded(table, schema, ledger, place, kind, content, under, check)


def _recorded(  # noqa: PLR0913, PLR0917 - what a version is made of
    table: Table | None,
    schema: Schema,
    ledger: TrustedLedger,
    place: Place | None,
    kind: str,
    content: dict[str, Any],
    under: str | None = None,
    check: Callable[[], None] | None = None,
) -> CodedTable:
    """Code a table, then record it; a copy that cannot be recorded is removed."""
    if table is None:
        raise InputError(
            f"There is no coded copy of '{schema.name}' and no table to make it from",
            hint="pass the table (--table), or name the place of the copy (--place)",
        )
    version = secrets.token_hex(16)
    where = None if place is None else place_of(place, version, table)
    with ledger.store.making():  # no clean-up meanwhile: the ledger has no row for the copy yet
        coded = code_table(
            table,
            schema.codings,
            place=where,
            unit=schema.unit,
            rows_per_unit=schema.rows_per_unit,
            max_rows=schema.max_rows,
            version=version,
            owner=_owner(ledger),
        )
        content |= {
            "open_factor": open_factor(schema),
            "rows": coded.rows if schema.rows == "public" else None,
            "version": version,
        }
        if kind != "erasure":  # an erasure records as little as possible
            content["rules"] = RULES

        def check_copy() -> None:
            if check is not None:
                check()
            if coded.digest is not None and not holds_copy(str(where), table):
                raise InputError(
                    f"The coded copy of '{schema.name}' was removed before it was recorded",
                    hint="make sure that nothing else writes there, and try again",
                )

        try:
            ledger.record(
                schema.name, kind, content, schema=under, copy_digest=coded.digest, check=check_copy
            )
        except (InputError, Refused):  # nothing was recorded; after other errors it may have been
            coded.close()
            remove_copy(place, version, table)
            raise
        except BaseException:
            coded.close()
            raise
    return coded


def remove_copy(place: Place | None, version: str, table: Table | None) -> None:
    """Remove the copy of an old version; questions in progress may finish."""
    if place is not None:
        drop_copy(place_of(place, version, table), table)


def remove_leftovers(
    ledger: TrustedLedger, dataset: str, place: Place | None, near: Table | None
) -> None:
    """Remove copies left by a crash, since they may contain people who were erased.

    These are copies of earlier versions of the dataset, and copies made for this ledger that none
    of its rows records. No clean-up runs while a copy is recorded, and copies of another or an
    unknown ledger are never touched. What cannot be removed now is removed later.
    """
    owner = _owner(ledger)
    if place is None or owner is None:
        return

    def leftovers(versions: dict[str, list[str]]) -> list[str]:
        known = {version[:MARK] for listed in versions.values() for version in listed}
        past = {version[:MARK] for version in versions.get(dataset, [])[:-1]}
        copies = {mark: place_of(place, mark, near) for mark in marks_at(place, near)}
        return [
            copy
            for mark, copy in copies.items()
            if mark in past or (mark not in known and ledger_of(copy, near) == owner.ledger)
        ]

    def work(transaction: Transaction) -> None:
        for copy in leftovers(transaction.all_versions()):
            drop_copy(copy, near, seconds=PATIENCE)
        if is_file(place, near):
            for path in unfinished_folders(place, owner.ledger):
                shutil.rmtree(path, ignore_errors=True)

    with suppress(Exception):  # a failed clean-up must not prevent questions
        unfinished = is_file(place, near) and unfinished_folders(place, owner.ledger)
        if unfinished or leftovers(ledger.store.read(lambda t: t.all_versions())):
            ledger.store.sweep(work)


def ledger_head_file(
    ledger: TrustedLedger, place: Place | None, *, in_file: bool
) -> LedgerHeadFile | None:
    """Return the note of where the ledger ended; it lies next to copies in files, or the ledger."""
    beside = Path(place) if in_file and place is not None else ledger.store.path
    return None if place is None or beside is None else LedgerHeadFile(ledger, beside.parent)


def _owner(ledger: TrustedLedger) -> Owner | None:
    """Return how a ledger recognises its copies; None if it has no key and is read-only.

    Nothing can be charged to such a ledger, so no new question is answered. If charges are possible
    but there is no key, a changed copy could not be detected, so no copy is opened.
    """
    try:
        secret = read_secret(ledger.store)
    except (EngineError, Refused):
        if ledger.store.may_append():
            raise
        return None
    return Owner(secret.ledger, secret.key)


def _check_digest(coded: CodedTable, table: Table | None, ledger: TrustedLedger) -> None:
    """Raise an error if a copy was changed; a copy without a digest is compared once."""
    expected = read_digest(ledger.store, coded.version)
    if expected is None:
        if ledger.store.may_append():  # otherwise no new question is answered
            _adopt(coded, table, ledger)
    elif coded.digest is None or not hmac.compare_digest(coded.digest.encode(), expected.encode()):
        raise InputError(
            "The coded copy was changed after it was made, so its answers would be wrong",
            hint="record the table as a new version with update=True (--update): earlier "
            "charges stay, and questions cost again",
        )


def _adopt(coded: CodedTable, table: Table | None, ledger: TrustedLedger) -> None:
    """Record the digest of a copy that has none, after comparing all its rows with the table.

    Earlier versions of Hartley recorded none, and a ledger restored from a backup has lost it.
    """
    if table is None:
        raise InputError(
            "The ledger has no digest of the coded copy, so changes to it cannot be detected",
            hint="pass the table once (--table): its rows are compared with those of the copy",
        )
    if not holds_rows_of(coded, table, thorough=True):
        raise _other(table)
    assert coded.digest is not None  # set for every copy that is opened for its owner
    digest = coded.digest
    ledger.store.write(lambda t: keep_digest(ledger.store, t, coded.version, digest))


def dataset_state(ledger: TrustedLedger, dataset: str) -> State | None:
    """Return the state of a dataset, or None if it is not in the ledger."""
    return ledger.state(dataset) if dataset in ledger.datasets() else None


def _check_budget(budget: object, known: State) -> None:
    if budget is not None and parse_number(budget, name="the budget") != known.budget:
        raise OptionError(
            f"The budget of '{known.dataset}' is {known.budget} bits in the ledger",
            hint="leave it out, or change it with agent.set_budget() (hartley ledger budget)",
        )


def _refuse_other(table: Table | None, coded: CodedTable) -> None:
    """Raise an error if the data differ from the copy, since the copy gives the answers."""
    if table is not None and not holds_rows_of(coded, table):
        raise _other(table)


def _other(table: Table) -> InputError:
    return InputError(
        f"The table {table.name} differs from the one its coded copy was made from",
        hint="record it as a new version with update=True (--update): earlier charges stay, and "
        "questions cost again",
    )


MOST_REMEMBERED = 1000
MOST_ROWS = 100
"""Rows of an answer that is kept."""
TRIES = 3
"""Attempts with a failing engine before the answer is pending."""


@dataclass(frozen=True)
class DataVersion:
    """One version of the data, replaced as a whole, so that no question sees parts of two.

    Used by many threads at once; everything it caches is a function of public things.
    """

    schema: Schema
    coded: CodedTable
    _counts: dict[Condition, int] = field(default_factory=dict, repr=False, compare=False)
    _prices: dict[tuple[Question, ...], int] = field(
        default_factory=dict, repr=False, compare=False
    )
    _readings: dict[tuple[int, tuple[int | None, ...]], tuple[Selection, Reading]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def schema_version(self) -> str:
        """The version of the schema, as the ledger names it."""
        return schema_version(self.schema.to_toml())

    @cached_property
    def desk(self) -> PriceDesk:
        """Reads and prices questions, with the public number of rows of this version."""
        rows = self.schema.max_rows if self.schema.rows == "private" else self.coded.rows
        assert rows is not None  # a schema with private rows states their largest number
        return PriceDesk(self.schema, rows, self.public_count, self.coded.version)

    def public_count(self, condition: Condition) -> int | None:
        """Count rows by public columns alone, if the number of rows is public."""
        kinds = {self.schema.columns[name].kind for name in columns_of(condition)}
        if self.schema.rows == "private" or kinds - {"public"}:
            return None
        rows = self._counts.get(condition)
        if rows is None:
            count = Question(Statistic.COUNT, condition, None, None, 0, self.coded.rows)
            try:
                (rows,) = totals(self.coded, [count])
            except HartleyError:
                raise
            except Exception:  # noqa: BLE001 - what it says may hold private values
                raise EngineError(
                    f"The engine {self.coded.engine} could not count public columns",
                    hint="ask again later; nothing was charged",
                ) from None
            assert rows is not None
            remember(self._counts, condition, rows, MOST_REMEMBERED)
        return rows

    def price(self, questions: Sequence[Question], known: int | None = None) -> int:
        """Price questions in cells; prices are cached, and ``known`` is one that was computed."""
        key = tuple(questions)
        cells = self._prices.get(key)
        if cells is None:
            cells = price(key, self.schema).cells if known is None else known
            remember(self._prices, key, cells, MOST_REMEMBERED)
        return cells

    def reading(self, plan: Selection, cells: Sequence[int | None]) -> Reading:
        """Read the intervals of a plan from its cells; kept, since repeats read them again."""
        key = id(plan), tuple(cells)
        known = self._readings.get(key)
        if known is None or known[0] is not plan:  # an id may come back with another plan
            known = plan, read_cells(plan, cells)
            if len(known[1].rows) <= MOST_ROWS:
                remember(self._readings, key, known, MOST_REMEMBERED)
        return known[1]

    def cells(self, questions: Sequence[Question]) -> list[int | None]:
        """Run questions that are paid for, and return the cell of each total."""
        for _ in range(TRIES):
            try:
                results = totals(self.coded, questions)
                return [
                    cell_of(question, total)
                    for question, total in zip(questions, results, strict=True)
                ]
            except Stopped:  # cancelled by the operator of the engine, so not repeated at once
                break
            except Exception:  # noqa: BLE001, S112 - how an engine fails may depend on the data
                continue
        raise Pending(
            "The answer is pending", hint="ask the same again later; it is paid for already"
        )
