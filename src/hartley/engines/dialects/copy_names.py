"""Names of coded copies on servers, and errors about the place of a copy."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hartley.engines.dialects.dialect import Place, Store

LONGEST_NAME = 63 - len("_about_owner")
"""PostgreSQL cuts longer names off."""


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
