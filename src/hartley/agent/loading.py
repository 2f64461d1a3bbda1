"""Load a table once: check it, code it, and record which version of the data is asked.

Every version has a coded copy of its own, whose name ends with that of the version. So the ledger
alone says which copy is asked: a copy without a row in the ledger is never opened, and nothing has
to be renamed after the row is written, which a crash could prevent.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hartley.agent.certifying import RULES
from hartley.agent.heads import HeadNote
from hartley.agent.ledger.entries import schema_version
from hartley.agent.pricing.price import open_factor
from hartley.engines.coded import Owner
from hartley.engines.copy_jobs import is_database, is_file
from hartley.engines.copying import code_table, holds_rows_of, open_coded
from hartley.engines.leftovers import MARK, ledger_of, marks_at, place_of, unfinished_folders
from hartley.engines.sources import open_table
from hartley.engines.stores import drop_copy, holds_copy
from hartley.errors import EngineError, InputError, OptionError, Refused
from hartley.exact import bits_at_least, floor_power, parse_number

if TYPE_CHECKING:
    from hartley.agent.ledger.ledger import Ledger, State
    from hartley.engines.coded import CodedTable
    from hartley.engines.table import Table
    from hartley.ranges.schema import Schema

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
            f"The coded copy of '{schema.name}' that the ledger speaks of is not there",
            hint="name its place=, or record the table as a new version with update=True: what was "
            "answered stays charged, and questions cost again",
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
            f"The ledger holds no dataset '{schema.name}' and no budget was given",
            hint="give the budget in bits that everybody together may learn about one person",
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
                    hint="let nobody else write to its place, and try again",
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
            "The coded copy was changed after it was made, so it would answer falsely",
            hint="record the table as a new version with update=True (--update): what was answered "
            "stays charged, and questions cost again",
        )


def _adopt(coded: CodedTable, table: Table | None, ledger: Ledger) -> None:
    """Keep the digest of a copy that has none, after all its rows were compared with the table.

    Earlier versions of Hartley kept none, and a ledger that was restored from a backup has lost it.
    """
    if table is None:
        raise InputError(
            "The ledger holds no digest of the coded copy, so nobody can tell whether it was "
            "changed",
            hint="pass the table once (--table): its rows are compared with those of the copy",
        )
    if not holds_rows_of(coded, table, thorough=True):
        raise _other(table)
    assert coded.digest is not None  # it was opened for its owner
    ledger.keep_copy_digest(coded.version, coded.digest)


def state_of(ledger: Ledger, dataset: str) -> State | None:
    """Return how a dataset stands, or None where the ledger does not know it."""
    return ledger.state(dataset) if dataset in ledger.datasets() else None


def check_same_schema(schema: Schema, known: State) -> None:
    """Refuse a schema that is not the one under which the dataset is asked."""
    if known.schema != schema.to_toml():
        raise InputError(
            f"The schema of '{schema.name}' is not the one in the ledger",
            hint="record the change with agent.change_schema(), or pass the schema of the ledger",
        )


def _check_budget(budget: object, known: State) -> None:
    if budget is not None and parse_number(budget, name="the budget") != known.budget:
        raise OptionError(
            f"The budget of '{known.dataset}' is {known.budget} bits in the ledger",
            hint="leave it out, or change it with agent.set_budget(), an act of its own",
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
    return Path(path).with_name(f"{Path(path).name}.{name}.duckdb")


def _refuse_other(table: Table | None, coded: CodedTable) -> None:
    """Refuse data that are not those of the copy, which would answer for them."""
    if table is not None and not holds_rows_of(coded, table):
        raise _other(table)


def _other(table: Table) -> InputError:
    return InputError(
        f"The table {table.name} is not the one that its coded copy was made of",
        hint="record it as a new version with update=True (--update): what was answered "
        "stays charged, and questions cost again",
    )
