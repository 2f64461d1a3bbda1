"""The registry of kinds: which classes may release one column of a policy.

A kind is one class derived from ``ColumnPolicy``, in a file of its own, and one line in the tuple
at the end of this module. ``CONTRIBUTING.md`` shows it with a complete example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hartley.errors import HartleyError, InputError
from hartley.policies.categories import MergedColumn
from hartley.policies.column import ColumnPolicy, KeptColumn
from hartley.policies.hypotheses.hiding_columns import LineColumn, MeetColumn
from hartley.policies.quantized_column import CutColumn, QuantizedColumn
from hartley.policies.random.pram import Pram

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.policies.quantizer import Query
    from hartley.tables.release_rules import Rule

__all__ = [
    "KINDS",
    "ColumnPolicy",
    "CutColumn",
    "KeptColumn",
    "LineColumn",
    "MeetColumn",
    "MergedColumn",
    "Pram",
    "QuantizedColumn",
    "columns_of",
    "query_of",
    "read_column",
    "register",
    "rules_of",
]

KINDS: dict[str, type[ColumnPolicy]] = {}
"""The class of every kind, by the word for it in a policy file."""

Kind = TypeVar("Kind", bound=type[ColumnPolicy])


def register(kind: Kind) -> Kind:
    """Make a kind known to policy files; also as a decorator.

    Example:
        >>> register(KeptColumn) is KINDS["keep"]
        True
    """
    for word in kind.kinds:
        known = KINDS.setdefault(word, kind)
        if known is not kind:
            raise InputError(
                f"The kind '{word}' is registered already, by {known.__name__}",
                hint="give the new kind a word of its own",
            )
    return kind


def read_column(fields: Mapping[str, object], number: int) -> ColumnPolicy:
    """Build a column from the fields of a policy file, or say which of them makes no sense.

    Args:
        fields: ``name``, ``kind`` and the fields of the kind.
        number: the place of the column in the file, for messages.

    Example:
        >>> read_column({"name": "sex", "kind": "keep"}, 1)
        KeptColumn(name='sex', low=None, high=None, step=None)
    """
    name, word = fields.get("name"), fields.get("kind")
    if not isinstance(name, str) or not name:
        raise InputError(f"Column {number} has no name", hint='write name = "..."')
    place = f"Column {number} ('{name}')"
    if not isinstance(word, str) or word not in KINDS:
        problem = "has no kind" if word is None else f"has the unknown kind {word!r}"
        raise InputError(f"{place} {problem}", hint=f"the kinds are {', '.join(KINDS)}")
    kind = KINDS[word]
    given = {key: value for key, value in fields.items() if key not in ("name", "kind")}
    missing = [key for key in kind.needed if key not in given]
    if missing:
        raise InputError(
            f"{place} has no '{missing[0]}'", hint=f"a {word} needs {', '.join(kind.needed)}"
        )
    known = (*kind.needed, *kind.optional)
    unknown = [key for key in given if key not in known]
    if unknown:
        raise InputError(
            f"{place} has the unknown field '{unknown[0]}'",
            hint=f"a {word} has {', '.join(('name', 'kind', *known))}",
        )
    try:
        return kind.from_fields(word, name, given)
    except HartleyError as error:
        problem = error.problem[0].lower() + error.problem[1:]
        raise InputError(f"{place} is invalid: {problem}", hint=error.hint) from None


def query_of(column: ColumnPolicy) -> Query | None:
    """Return the query that a column releases; None where it releases the table's own column."""
    return column.query


def columns_of(column: ColumnPolicy) -> tuple[str, ...]:
    """Return the names that a policy releases something under; several where it draws jointly.

    Example:
        >>> columns_of(KeptColumn("sex"))
        ('sex',)
    """
    return column.columns


def rules_of(column: ColumnPolicy) -> tuple[Rule, ...]:
    """Return what an engine executes, one rule a released name."""
    return column.to_rules()


for _kind in (
    QuantizedColumn,
    CutColumn,
    MergedColumn,
    LineColumn,
    MeetColumn,
    KeptColumn,
    Pram,
):
    register(_kind)
