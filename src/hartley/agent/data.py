"""One version of the data: loaded, coded, checked against the ledger, ready to be asked."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from hartley.agent.answers.cells import cell_of
from hartley.agent.ledger.entries import Head, schema_version
from hartley.agent.pricing.given_price import RULES
from hartley.agent.pricing.price import open_factor, price
from hartley.agent.questions.batch import Question, Statistic, columns_of
from hartley.agent.quotes import Desk, check_same_schema
from hartley.agent.statistics.statistics import totals
from hartley.engines.coded.coded_copy import Stopped
from hartley.engines.coded.copying import (
    MARK,
    code_table,
    drop_copy,
    holds_copy,
    holds_rows_of,
    is_database,
    is_file,
    ledger_of,
    marks_at,
    open_coded,
    place_of,
    unfinished_folders,
)
from hartley.engines.coded.digests import Owner
from hartley.engines.dialects.registry import EMBEDDED
from hartley.engines.tables.sources import open_table
from hartley.errors import EngineError, HartleyError, InputError, OptionError, Pending, Refused
from hartley.exact import bits_at_least, floor_power, parse_number
from hartley.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.agent.ledger.ledger import Ledger, State
    from hartley.agent.questions.batch import Condition
    from hartley.engines.coded.coded_copy import CodedTable
    from hartley.engines.tables.table import Table
    from hartley.ranges.schema.schema import Schema


NAMED_DIGITS = 12
"""How much of the hash of the first row the name of the note holds: ledgers may share a folder."""


class HeadNote:
    """The note about one ledger in one folder."""

    def __init__(self, ledger: Ledger, folder: Path) -> None:
        self._ledger, self._folder = ledger, folder.absolute()

    def path(self) -> Path | None:
        """Return where the note is; None of a ledger without rows."""
        first = self._ledger.first_hash()
        if first is None:
            return None
        return self._folder / f"hartley.{first[:NAMED_DIGITS]}.head"

    def check(self) -> None:
        """Refuse a ledger that lacks the row which was noted last."""
        path = self.path()
        if path is None or not path.exists():
            return
        try:
            head = Head.from_json(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, InputError):
            raise InputError(
                f"The note {path.name}, which records where the ledger ended, cannot be read",
                hint="make it readable; if you remove it, an older ledger goes unnoticed this once",
            ) from None
        if not self._ledger.contains(head):
            raise InputError(
                f"The ledger {self._ledger.name} is older than the one last used here, so recent "
                "charges and answers are missing from it",
                hint="put the newest ledger back; if it is lost, the promise does not cover "
                f"answers given since, and removing {path.name} accepts that",
            )

    def save(self) -> None:
        """Note where the ledger ends now, on the disk; not where nothing can be written."""
        path, head = self.path(), self._ledger.head()
        if path is None or head is None:
            return
        text = head.to_json() + "\n"
        # What cannot be written is a weaker check, and no reason to withhold what is paid for.
        with suppress(OSError, InputError):
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                write_whole(path, text)


Place = str | os.PathLike[str]
PATIENCE = 2
"""Seconds to wait for others who still read a copy that is to be removed."""


def load(  # noqa: PLR0913 - what a dataset is made of, each by name
    data: object,
    schema: Schema,
    ledger: Ledger,
    *,
    budget: object,
    place: Place | None,
    update: bool = False,
) -> CodedTable:
    """Open the coded copy of a dataset, make it on the first day, or replace it.

    Args:
        data: whatever ``open_table`` takes; None where the copy is there already.
        schema: confirmed by the owner.
        ledger: where the dataset is recorded, or will be.
        budget: in bits, of a dataset that is not in the ledger yet.
        place: where the coded copy lives.
        update: whether the data are a new version of a dataset that the ledger knows.
    """
    schema.require_confirmed()
    known = state_of(ledger, schema.name)
    table = None if data is None else open_table(data)
    note = head_note(ledger, place, in_file=place is not None and is_file(place, table))
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
            hint="name its place=, or record the table as a new version with update=True: "
            "earlier charges stay, and questions cost again",
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
    table: Table | None, schema: Schema, ledger: Ledger, *, budget: object, place: Place | None
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
    ledger: Ledger,
    *,
    before: Schema,
    place: Place | None,
    kind: Literal["version", "erasure", "schema"] = "version",
) -> CodedTable:
    """Make a new coded copy and record it as a new version: what was charged stays charged.

    Args:
        table: the new table, whole.
        schema: of the new table.
        ledger: where the dataset is recorded.
        before: the schema that the dataset had; refused where it has another one by now.
        place: where the coded copies live.
        kind: why there is a new version.
    """
    content = {"schema": schema.to_toml()} if kind == "schema" else {}
    under = schema_version(before.to_toml())
    return _recorded(table, schema, ledger, place, kind, content, under)


def _recorded(  # noqa: PLR0913, PLR0917 - what a version is made of
    table: Table | None,
    schema: Schema,
    ledger: Ledger,
    place: Place | None,
    kind: str,
    content: dict[str, Any],
    under: str | None = None,
) -> CodedTable:
    """Code a table, then record it; a copy that is not recorded does not stay."""
    if table is None:
        raise InputError(
            f"There is no coded copy of '{schema.name}' and no table to make it from",
            hint="pass the table, or name the place of the copy",
        )
    version = secrets.token_hex(16)
    where = None if place is None else place_of(place, version, table)
    with ledger.making():  # nobody sweeps meanwhile, for the copy has no row yet
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
        if kind != "erasure":  # which says as little as it can
            content["rules"] = RULES

        def check() -> None:
            if coded.digest is not None and not holds_copy(str(where), table):
                raise InputError(
                    f"The coded copy of '{schema.name}' was removed before it was recorded",
                    hint="make sure that nothing else writes there, and try again",
                )

        try:
            ledger.record(
                schema.name, kind, content, schema=under, copy_digest=coded.digest, check=check
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
    """Remove the copy of a version that is asked no more; who is reading it may go on."""
    if place is not None:
        drop_copy(place_of(place, version, table), table)


def remove_leftovers(ledger: Ledger, dataset: str, place: Place | None, near: Table | None) -> None:
    """Remove copies that a crash has left: they may hold who was erased.

    These are copies of earlier versions of the dataset, and copies that were made for this ledger
    and that no row of it knows. A copy is recorded while nobody sweeps, and what another ledger, or
    nobody, is known to have made is never touched. What cannot be removed now is left for later.
    """
    owner = _owner(ledger)
    if place is None or owner is None:
        return

    def left(versions: dict[str, list[str]]) -> list[str]:
        known = {version[:MARK] for listed in versions.values() for version in listed}
        past = {version[:MARK] for version in versions.get(dataset, [])[:-1]}
        copies = {mark: place_of(place, mark, near) for mark in marks_at(place, near)}
        return [
            copy
            for mark, copy in copies.items()
            if mark in past or (mark not in known and ledger_of(copy, near) == owner.ledger)
        ]

    def work(versions: dict[str, list[str]]) -> None:
        for copy in left(versions):
            drop_copy(copy, near, seconds=PATIENCE)
        if is_file(place, near):
            for path in unfinished_folders(place, owner.ledger):
                shutil.rmtree(path, ignore_errors=True)

    with suppress(Exception):  # no reason to refuse questions
        unfinished = is_file(place, near) and unfinished_folders(place, owner.ledger)
        if unfinished or left(ledger.versions()):
            ledger.sweep(work)


def head_note(ledger: Ledger, place: Place | None, *, in_file: bool) -> HeadNote | None:
    """Return the note of where the ledger ended: beside copies in files, else beside the ledger."""
    beside = Path(place) if in_file and place is not None else ledger.path
    return None if place is None or beside is None else HeadNote(ledger, beside.parent)


def _owner(ledger: Ledger) -> Owner | None:
    """Return by what a ledger knows its copies; None of one without a key that cannot be written.

    Nothing can be charged to such a ledger, so nothing new is asked. Where charges are possible and
    the key is not to be had, nobody could tell whether a copy was changed, and none is opened.
    """
    try:
        secret = ledger.secret()
    except (EngineError, Refused):
        if not ledger.only_reads:
            raise
        return None
    return Owner(secret.ledger, secret.key)


def _check_digest(coded: CodedTable, table: Table | None, ledger: Ledger) -> None:
    """Refuse a copy that is not as it was recorded; one without a digest is compared once."""
    expected = ledger.copy_digest(coded.version)
    if expected is None:
        if not ledger.only_reads:  # else nothing new is asked
            _adopt(coded, table, ledger)
    elif coded.digest is None or not hmac.compare_digest(coded.digest.encode(), expected.encode()):
        raise InputError(
            "The coded copy was changed after it was made, so its answers would be wrong",
            hint="record the table as a new version with update=True (--update): earlier "
            "charges stay, and questions cost again",
        )


def _adopt(coded: CodedTable, table: Table | None, ledger: Ledger) -> None:
    """Keep the digest of a copy that has none, after all its rows were compared with the table.

    Earlier versions of Hartley kept none, and a ledger that was restored from a backup has lost it.
    """
    if table is None:
        raise InputError(
            "The ledger has no digest of the coded copy, so changes to it cannot be detected",
            hint="pass the table once (--table): its rows are compared with those of the copy",
        )
    if not holds_rows_of(coded, table, thorough=True):
        raise _other(table)
    assert coded.digest is not None  # it was opened for its owner
    ledger.keep_copy_digest(coded.version, coded.digest)


def state_of(ledger: Ledger, dataset: str) -> State | None:
    """Return how a dataset stands, or None where the ledger does not know it."""
    return ledger.state(dataset) if dataset in ledger.datasets() else None


def _check_budget(budget: object, known: State) -> None:
    if budget is not None and parse_number(budget, name="the budget") != known.budget:
        raise OptionError(
            f"The budget of '{known.dataset}' is {known.budget} bits in the ledger",
            hint="leave it out, or change it with agent.set_budget()",
        )


# --- places -------------------------------------------------------------------------------------


def lasting_place(place: Place | None, ledger: object, dataset: str) -> Place | None:
    """Return the place of coded copies, or that beside a ledger; no file moves with the process."""
    if place is None:
        place = _beside(ledger, dataset)
    return Path(place).absolute() if place is not None and is_database(place) else place


def _beside(ledger: object, dataset: str) -> Path | None:
    """Return the place of coded copies beside a ledger that is a file."""
    text = os.fspath(ledger) if isinstance(ledger, (str, os.PathLike)) else ""
    path = text.removeprefix("sqlite:///")
    if not path or "://" in path:
        return None
    name = re.sub(r"[^A-Za-z0-9_-]", "_", dataset)[:100]  # names that become alike share nothing
    return Path(path).with_name(f"{Path(path).name}.{name}{EMBEDDED.endings[0]}")


def _refuse_other(table: Table | None, coded: CodedTable) -> None:
    """Refuse data that are not those of the copy, which would answer for them."""
    if table is not None and not holds_rows_of(coded, table):
        raise _other(table)


def _other(table: Table) -> InputError:
    return InputError(
        f"The table {table.name} differs from the one its coded copy was made from",
        hint="record it as a new version with update=True (--update): earlier charges stay, and "
        "questions cost again",
    )


K = TypeVar("K")

MOST_REMEMBERED = 1000
TRIES = 3
"""How often a failing engine is asked before the answer is pending."""


@dataclass(frozen=True)
class Holding:
    """A version, replaced whole by the next: who asks never sees half of one and half of another.

    Used by many threads at once; what it remembers are functions of public things.
    """

    schema: Schema
    coded: CodedTable
    _counts: dict[Condition, int] = field(default_factory=dict, repr=False, compare=False)
    _prices: dict[tuple[Question, ...], int] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def schema_version(self) -> str:
        """The version of the schema, as the ledger names it."""
        return schema_version(self.schema.to_toml())

    @cached_property
    def desk(self) -> Desk:
        """Where questions are read and priced, by the public number of rows of this version."""
        rows = self.schema.max_rows if self.schema.rows == "private" else self.coded.rows
        assert rows is not None  # a schema with private rows says the most that there can be
        return Desk(self.schema, rows, self.public_count, self.coded.version)

    def public_count(self, condition: Condition) -> int | None:
        """Count rows by public columns alone, where the number of rows is public."""
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
            except Exception as error:  # noqa: BLE001 - what it says may hold private values
                raise EngineError(
                    f"The engine {self.coded.engine} could not count public columns "
                    f"({type(error).__name__})",
                    hint="ask again later; nothing was charged",
                ) from None
            assert rows is not None
            _remember(self._counts, condition, rows)
        return rows

    def price(self, questions: Sequence[Question]) -> int:
        """Price questions in cells; the same ones are often priced again."""
        key = tuple(questions)
        cells = self._prices.get(key)
        if cells is None:
            cells = price(key, self.schema).cells
            _remember(self._prices, key, cells)
        return cells

    def cells(self, questions: Sequence[Question]) -> list[int | None]:
        """Run questions that are paid for, and return the cell that each total lies in."""
        for _ in range(TRIES):
            try:
                results = totals(self.coded, questions)
                return [
                    cell_of(question, total)
                    for question, total in zip(questions, results, strict=True)
                ]
            except Stopped:  # by whoever runs the engine, so it is not asked again at once
                break
            except Exception:  # noqa: BLE001, S112 - how an engine fails may depend on the data
                continue
        raise Pending(
            "The answer is pending", hint="ask the same again later; it is paid for already"
        )


def _remember(known: dict[K, int], key: K, value: int) -> None:
    if len(known) >= MOST_REMEMBERED:
        known.clear()
    known[key] = value
