"""Load a table once: check it, code it, and record which version of the data is asked.

Every version has a coded copy of its own, whose name ends with that of the version. So the ledger
alone says which copy is asked: a copy without a row in the ledger is never opened, and nothing has
to be renamed after the row is written, which a crash could prevent.
"""

from __future__ import annotations

import glob
import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hartley.agent.certifying import RULES
from hartley.agent.ledger.entries import schema_version
from hartley.agent.pricing.price import open_factor
from hartley.engines.copying import code_table, holds_rows_of, open_coded
from hartley.engines.sources import open_table
from hartley.engines.stores import drop_copy, holds_copy, is_database
from hartley.errors import InputError, OptionError, Refused
from hartley.exact import bits_at_least, floor_power, parse_number

if TYPE_CHECKING:
    from hartley.agent.ledger.ledger import Ledger, State
    from hartley.engines.coded import CodedTable
    from hartley.engines.table import Table
    from hartley.ranges.schema import Schema

Place = str | os.PathLike[str]
SHOWN = 12
"""How much of the random name of a version a copy's name holds."""


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
    coded = open_coded(where, schema.codings, version=known.version, near=table)
    try:
        _refuse_other(table, coded)
        _remove_past(where, schema.name, ledger, place=place, present=known.version)
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
    coded = code_table(
        table,
        schema.codings,
        place=None if place is None else place_of(place, version, table),
        unit=schema.unit,
        rows_per_unit=schema.rows_per_unit,
        max_rows=schema.max_rows,
        version=version,
    )
    content |= {
        "open_factor": open_factor(schema),
        "rows": coded.rows if schema.rows == "public" else None,
        "version": version,
    }
    if kind != "erasure":  # which says as little as it can
        content["rules"] = RULES
    try:
        ledger.record(schema.name, kind, content, schema=under)
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


def _remove_past(
    where: str, dataset: str, ledger: Ledger, *, place: Place | None, present: str
) -> None:
    """Remove copies of earlier versions that a crash has left: they may hold who was erased."""
    path = Path(where)
    if place is None or not path.exists():  # no file
        return
    copies = path.parent.glob(f"{glob.escape(Path(place).stem)}.*{path.suffix}")
    if all(copy.name == path.name for copy in copies):
        return
    versions = [entry.told.get("version") for entry in ledger.entries(dataset)]
    for version in versions[: versions.index(present)]:  # later ones belong to somebody else
        if version is not None:
            remove_copy(place, version, None)


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


def is_file(place: Place, table: Table | None) -> bool:
    """Tell whether a coded copy is a DuckDB file, and not a table of another engine."""
    return table is None or table.engine == "duckdb" or is_database(place)


def place_of(place: Place, version: str, table: Table | None) -> str:
    """Return the place of the copy of one version.

    Example:
        >>> place_of("copies/people.duckdb", "0123456789abcdef", None)
        'copies/people.0123456789ab.duckdb'
    """
    path, mark = Path(place), version[:SHOWN]
    if is_file(place, table):
        return str(path.with_name(f"{path.stem}.{mark}{path.suffix}"))
    return f"{os.fspath(place).rstrip('/')}_{mark}"


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
        raise InputError(
            f"The table {table.name} is not the one that its coded copy was made of",
            hint="record it as a new version with update=True (--update): what was answered "
            "stays charged, and questions cost again",
        )
