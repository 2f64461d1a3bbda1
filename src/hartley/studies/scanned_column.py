"""What a column of an undescribed table seems to be, and why: from its distinct values alone.

A column arrives as its distinct values and how many rows hold each. Everything that looks at texts
looks at the distinct ones, so that a column of a few codes costs nothing however many rows it has.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.numerals import percent_at_most
from hartley.studies.column_names import name_hint, numbers_people
from hartley.studies.written_values import WrittenValues, read_values
from hartley.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

IDENTIFIER = "identifier"
KEY = "quasi-identifier candidate"
CONFIDENTIAL = "confidential candidate"
CONSTANT = "constant"
FREE_TEXT = "free text"
DATE = "date"
CODES = "code list"
WEIGHT = "sampling weight"
HOUSEHOLD = "household"

ROLES = {
    IDENTIFIER: "identifier",
    FREE_TEXT: "identifier",
    KEY: "key",
    DATE: "key",
    CODES: "key",
    CONFIDENTIAL: "confidential",
    CONSTANT: "kept",
    WEIGHT: "weight",
    HOUSEHOLD: "household",
}
"""The role that a draft gives to a column of each kind; free text is never released by a draft."""

NEARLY_ALL = 0.95
"""From this share of different values on, nearly every row has a value of its own."""
FEW_ROWS = 20
"""In fewer rows, different values are no sign of anything."""
MOST_CODES = 100
LONG_TEXT = 30
MANY_WORDS = 4
LONG_CODE = 5
"""Codes of so many characters are rarely those of few categories."""
NEARLY_SURE = 0.8
"""The share of values of a form that makes a column one of that form."""
FEW_NUMBERS = 200
"""Whole numbers with more different values were measured rather than asked."""

_PATTERNS = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$",
    "universal identifiers (UUID)": r"^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
    "bank account numbers (IBAN)": r"^[A-Z]{2}\d{2}[ ]?([A-Z0-9]{4}[ ]?){3,7}[A-Z0-9]{0,4}$",
    "addresses in a network": r"^\d{1,3}(\.\d{1,3}){3}$|^https?://",
    "phone numbers": r"^\+\d[\d ()/-]{6,}$|^\(?0\d{2,5}\)?[ /-]\d[\d -]{4,}$",
}


@dataclass(frozen=True)
class ScannedColumn:
    """What a column seems to be, and what is suspicious about how it is written."""

    name: str
    what: str
    """One of: identifier, quasi-identifier candidate, confidential candidate, constant, free text,
    date, code list, sampling weight, household."""
    why: str
    role: str
    """The role that a draft gives it."""
    holds: str
    """The kind of its values: whole numbers, numbers, dates, texts, truth values, nothing."""
    different: int
    missing: int
    """Rows without a value, suspected markers included."""
    once: int
    """Rows whose value nobody else has."""
    suspicions: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    """Texts that seem to stand for a missing value."""
    strays: bool = False
    """Whether values have spaces around them."""
    decimal_comma: bool = False
    dates: str | None = None
    """How texts that seem to be dates are written, as in "%d.%m.%Y"; None for others."""
    levels: tuple[Any, ...] = ()
    """Widths of nested bins, or periods, that a draft offers."""
    mask: int | None = None
    """How many characters a draft hides first."""
    rare: tuple[int, ...] = ()
    """Values in fewer rows than these are merged, in a draft."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True)
class CodedColumn:
    """A column as it would be read with what the scan suspects: a code for every row."""

    codes: NDArray[Any]
    width: int
    """How many codes there are; a missing value has the last one."""
    scanned: ScannedColumn


@dataclass(frozen=True)
class _Facts:
    """What is known about a column before it is judged."""

    name: str
    rows: int
    values: WrittenValues
    hint: str | None = None
    different: int = 0
    present: int = 0
    once: int = 0
    suspicions: list[str] = field(default_factory=list)

    @property
    def nearly_all_differ(self) -> bool:
        return self.present >= FEW_ROWS and self.different >= NEARLY_ALL * self.present


def scan_column(name: str, column: Any, rows: int) -> CodedColumn:  # noqa: ANN401 - an Arrow column
    """Look at one column.

    Example:
        >>> import pyarrow as pa
        >>> sex = scan_column("sex", pa.array(["F", " F", "M", "?"]), 4)
        >>> sex.codes, sex.scanned.what, sex.scanned.markers
        (array([0, 0, 1, 2], dtype=uint8), 'quasi-identifier candidate', ('?',))
    """
    values, codes = read_values(column)
    width = len(values.values) + 1
    facts = _Facts(
        name,
        rows,
        values,
        hint=name_hint(name),
        different=len(values.values),
        present=int(values.counts.sum()),
        once=int((values.counts == 1).sum()),
    )
    what, why = _judge(facts)
    levels, mask, rare = _coarsening(facts, what)
    scanned = ScannedColumn(
        name=name,
        what=what,
        why=why,
        role=ROLES[what],
        holds=values.holds,
        different=facts.different,
        missing=rows - facts.present,
        once=facts.once,
        suspicions=tuple(_suspicions(facts, what)),
        markers=values.markers,
        strays=bool(values.stray_rows),
        decimal_comma=values.decimal_comma,
        dates=values.dates,
        levels=levels,
        mask=mask,
        rare=rare,
    )
    return CodedColumn(codes, width, scanned)


# --- what it is -------------------------------------------------------------------------------


def _judge(facts: _Facts) -> tuple[str, str]:  # noqa: PLR0911 - one line a kind, the surest first
    if not facts.present:
        return CONSTANT, "it has no values"
    named = _identifier(facts)
    if named is not None:
        return IDENTIFIER, named
    # The only row of a table shares its values with nobody; a sample may have one weight for all.
    if facts.different == 1 and facts.rows > 1 and not _weighs(facts):
        return CONSTANT, "every row has the same value"
    for hint, what in (("household", HOUSEHOLD), ("weight", WEIGHT)):
        if facts.hint == hint and _fits(facts, hint):
            return what, f"its name says {hint}"
    if facts.values.holds == "dates":
        written = f" written as {facts.values.dates}" if facts.values.dates else ""
        return DATE, f"its values are dates{written}"
    if _is_prose(facts):
        return FREE_TEXT, "its values are long texts of many words, in which anything can stand"
    if facts.hint == "confidential":
        return CONFIDENTIAL, "its name suggests something that people keep to themselves"
    if facts.hint == "key":
        return KEY, "its name suggests something that others know about a person"
    return _judge_by_values(facts)


def _judge_by_values(facts: _Facts) -> tuple[str, str]:
    many = counted(facts.different, "different value")
    if facts.values.holds in ("texts", "truth values"):
        few = facts.different <= min(MOST_CODES, max(2, facts.present // 3))
        if few:
            return CODES, f"{many} in {counted(facts.present, 'row')}"
        return KEY, f"{many}, of which {facts.once:,} occur once"
    if facts.different <= 20:
        return CODES, f"{facts.values.holds} with {many}"
    if facts.values.holds == "whole numbers" and facts.different <= FEW_NUMBERS:
        return KEY, f"whole numbers with {many}"
    return CONFIDENTIAL, f"an amount with {many}, as if measured"


def _identifier(facts: _Facts) -> str | None:  # noqa: PLR0911 - one line a reason
    """Say why a column identifies people; None if it does not seem to."""
    values = facts.values
    if values.is_text:
        for what, pattern in _PATTERNS.items():
            if values.share_matching(pattern) > NEARLY_SURE:
                return f"its values look like {what}"
    if values.holds not in {"texts", "whole numbers"} or _is_prose(facts):
        return None
    named = facts.hint == "identifier"
    if facts.nearly_all_differ:
        differs = f"{percent_at_most(facts.different, facts.present)} of its values are different"
        if values.holds == "texts" and facts.hint not in {"key", "confidential"}:
            return differs
        if named or (facts.hint is None and values.is_numbering(facts.present)):
            reason = (
                "its name says so" if named else "they are numbered or have equally many digits"
            )
            return f"{differs}, and {reason}"
    repeated = _repeated_identifier(facts)
    if repeated is not None:
        return repeated
    # An identifier of people with several rows each: many values, but not one for every row.
    many = facts.different >= max(FEW_ROWS, facts.present // 20)
    all_differ = facts.present < FEW_ROWS and facts.different == facts.present
    if named and (many or all_differ or facts.different == 1):
        return f"its name says so, and it has {counted(facts.different, 'different value')}"
    return None


def _repeated_identifier(facts: _Facts) -> str | None:
    """Say why a column identifies people though several rows share its values."""
    values, about = facts.values, numbers_people(facts.name)
    many = counted(facts.different, "different value")
    if about == "number" or (about == "people" and facts.different >= FEW_ROWS):
        return f"its name numbers people, and it has {many}"
    if facts.hint is not None or facts.present < FEW_ROWS:
        return None
    if (values.code_length or 0) >= LONG_CODE and facts.different >= NEARLY_SURE * facts.present:
        differs = f"{percent_at_most(facts.different, facts.present)} of its values are different"
        return f"{differs}, and they are equally long codes"
    complete = values.high - values.low + 1 == facts.different > FEW_NUMBERS
    if values.holds == "whole numbers" and complete and values.low in {0, 1}:
        return f"it numbers something from {values.low:.0f} to {values.high:,.0f} without a gap"
    return None


def _weighs(facts: _Facts) -> bool:
    return facts.hint == "weight" and _fits(facts, "weight")


def _fits(facts: _Facts, hint: str) -> bool:
    if hint == "household":
        return facts.different < facts.present
    return facts.values.holds in ("numbers", "whole numbers") and facts.values.low > 0


def _is_prose(facts: _Facts) -> bool:
    values = facts.values
    if values.holds != "texts" or facts.different < min(FEW_ROWS, max(3, facts.present // 2)):
        return False
    return values.mean_words >= MANY_WORDS and values.mean_length >= LONG_TEXT


# --- how it could be coarsened -----------------------------------------------------------------


def _coarsening(facts: _Facts, what: str) -> tuple[tuple[Any, ...], int | None, tuple[int, ...]]:
    """Return widths or periods, a mask and least sizes of categories, for the draft of a key."""
    values = facts.values
    if what not in {KEY, DATE, CODES}:
        return (), None, ()
    if values.holds == "dates":
        return ("month", "quarter", "year"), None, ()
    width = values.code_length
    if width is not None and (
        facts.different > 20 or re.search("zip|post|plz", facts.name, re.IGNORECASE)
    ):
        return (), min(2, width - 1), ()
    if values.holds in ("numbers", "whole numbers") and facts.different > 10:
        return (
            nested_widths(values.low, values.high, whole=values.holds == "whole numbers"),
            None,
            (),
        )
    if values.holds == "texts" and facts.different > 5:
        tenth = max(facts.rows // 100, 5)
        return (), None, (tenth, 5 * tenth)
    return (), None, ()


def nested_widths(low: float, high: float, *, whole: bool) -> tuple[Any, ...]:
    """Return three nesting widths of bins for numbers in a range: about 16, 8 and 4 bins.

    Example:
        >>> nested_widths(17, 90, whole=True), nested_widths(0.0, 1.0, whole=False)
        ((5, 10, 20), (0.1, 0.2, 0.4))
    """
    span = max(high - low, 1e-12)
    exponent = int(np.floor(np.log10(span / 16)))
    first = next(
        digit * 10**place if place >= 0 else float(f"{digit}e{place}")
        for place in range(exponent, max(exponent, 0) + 3)
        for digit in (1, 2, 5)
        if digit * 10.0**place >= span / 16 and (not whole or digit * 10.0**place >= 2)
    )
    return tuple(first * times if whole else float(f"{first * times:.12g}") for times in (1, 2, 4))


# --- what is suspicious ------------------------------------------------------------------------


def _suspicions(facts: _Facts, what: str) -> list[str]:
    values = facts.values
    said = list(values.suspicions)
    if what == CONFIDENTIAL and facts.nearly_all_differ:
        said.append(
            f"{facts.once:,} of its values occur once: released as it is, it singles people out"
        )
    if what == CONSTANT and not facts.present:
        said.append("it is empty")
    return said
