"""The registry of kinds: which classes may release one column of a policy.

A kind is one class derived from ``ColumnPolicy``, and one line of the table below.
``CONTRIBUTING.md`` shows it with a complete example.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from hartley.errors import HartleyError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.policies.column import ColumnPolicy

KINDS: dict[str, str | type[ColumnPolicy]] = {
    "quantizer": "quantized_column:QuantizedColumn",
    "cuts": "quantized_column:CutColumn",
    "merging": "categories:MergedColumn",
    "stretch": "hypotheses.hiding_columns:LineColumn",
    "blur": "hypotheses.hiding_columns:LineColumn",
    "meet": "hypotheses.hiding_columns:MeetColumn",
    "keep": "column:KeptColumn",
    "pram": "random.pram:Pram",
}
"""The class of every kind, or where it is, by the word for it in a policy file."""

Kind = TypeVar("Kind", bound="type[ColumnPolicy]")


def kind_of(word: str) -> type[ColumnPolicy]:
    """Return the class that a word of a policy file stands for; its module is imported on use.

    Example:
        >>> kind_of("keep").__name__
        'KeptColumn'
    """
    kind = KINDS[word]
    if isinstance(kind, str):
        module, name = kind.split(":")
        found: type[ColumnPolicy] = getattr(import_module(f"hartley.policies.{module}"), name)
        kind = KINDS[word] = found
    return kind


def register(kind: Kind) -> Kind:
    """Make a kind known to policy files; also as a decorator.

    Example:
        >>> from hartley.policies.column import KeptColumn
        >>> register(KeptColumn) is kind_of("keep")
        True
    """
    for word in kind.kinds:
        if word not in KINDS:
            KINDS[word] = kind
        elif kind_of(word) is not kind:
            raise InputError(
                f"The kind '{word}' is registered already, by {kind_of(word).__name__}",
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
    kind = kind_of(word)
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
