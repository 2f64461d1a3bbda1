"""What the content of a row may hold: the fields of its kind, each in one form, and nothing else.

``tools/verify_ledger.py`` has rules of its own; a test compares the two on forged rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.rows.balances import cells_within, one_part, read_parts
from hartley.agent.ledger.rows.entries import read_integer
from hartley.exact import parse_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from hartley.agent.pricing.public_parts import PublicParts

_OPENED = frozenset({"open_charge", "open_factor", "rules"})
_GIVEN = frozenset({"account_given", "given"})
_PARTS = frozenset({"account_parts", "parts"})
_NOTE = frozenset({"note"})
CONTENT: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "created": (_OPENED | {"before", "bits", "promise", "rows", "schema", "version"}, _NOTE),
    "version": (_OPENED | {"rows", "version"}, _NOTE),
    "erasure": (_OPENED | {"rows", "version"}, frozenset()),  # a note could name the person
    "schema": (_OPENED | {"schema"}, _NOTE | {"rows", "version"}),
    # The charge is in rows that were brought from format 1.
    "budget": (frozenset({"before", "bits", "promise"}), _NOTE | {"open_charge"}),
    "allowance": (frozenset({"analyst", "before", "bits"}), _NOTE),
    "period": (frozenset({"before", "bits", "name", "per"}), _NOTE),
    "population": (frozenset({"before", "bits", "promise"}), _NOTE),
    "migrated": (frozenset({"format", "hash", "sequence"}), frozenset()),
    "reserve": (frozenset({"fresh", "questions", "version"}), _NOTE | _GIVEN | _PARTS),
    "commit": (frozenset({"answers", "version"}), frozenset()),
}
"""The fields that the content of each kind of row must have, and those that it may have."""
FORMS: Mapping[str, type] = {
    **dict.fromkeys(("analyst", "hash", "note", "open_charge", "promise", "rules", "version"), str),
    **dict.fromkeys(("account_given", "fresh", "given", "questions"), list),
    "answers": dict,
}
"""The fields that are texts, lists and objects."""


def check_content(kind: str, content: Mapping[str, Any]) -> None:
    """Raise ValueError for a content that no ledger writes."""
    needed, allowed = CONTENT[kind]
    names = content.keys()
    rows = content.get("rows")
    if not (
        needed <= names <= needed | allowed
        # A price names rows for the dataset and for the account, or for neither.
        and (names >= _GIVEN or not names & (_GIVEN | _PARTS))
        and (kind != "schema" or ("rows" in names) == ("version" in names))
        and all(type(content[name]) is form for name, form in FORMS.items() if name in names)
        and all(content.get(name, "-") for name in ("analyst", "version"))
        and (rows is None or (type(rows) is int and rows >= 0))
    ):
        raise ValueError(kind)


def check_bits(content: Mapping[str, Any], before: Fraction | None) -> None:
    """Raise ValueError unless a row spells its bits, and the bits before it, as a ledger does."""
    bits = parse_number(content["bits"], name="the number of bits")
    cells_within(bits)  # refuses what is out of reach
    known = None if before is None else str(before)
    if str(bits) != content["bits"] or content["before"] != known:
        raise ValueError(content["bits"])


def charged_parts(content: Mapping[str, Any], word: str, cells: int) -> PublicParts:
    """Return what a row charges every type of the public columns; its cells are the largest."""
    if word not in content:
        return one_part(cells)
    parts = read_parts(content[word])
    if parts.most != cells or not parts.cuts:
        raise ValueError(word)
    return parts


def charges_open(content: Mapping[str, Any]) -> bool:
    """Whether an event charges its open columns: new data all of them, a factor of 0 never."""
    if "open_charge" not in content:
        return True
    charge = read_integer(content["open_charge"])
    factor = read_integer(content.get("open_factor", content["open_charge"]))  # in old formats
    return charge == factor >= 1 if "version" in content else min(charge, factor) >= 1
