"""What a column of an undescribed table seems to be, and why: from its distinct values alone.

A column arrives as its distinct values and how many rows hold each. Everything that looks at texts
looks at the distinct ones, so that a column of a few codes costs nothing however many rows it has.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.kernels.uniques import narrow_codes
from hartley.ranges.joint_range import as_counted
from hartley.tables.row_files import TOTALS
from hartley.text import count_of, listed, percent

if TYPE_CHECKING:
    from numpy.typing import NDArray


# --- written values -------------------------------------------------------------------------------
# How the values of a column are written: markers of missing values, spaces, commas, dates.

_MARKERS = """\
?|na|n/a|nan|null|-|--|---|.|..|*|#n/a|#na|#null!|missing|(missing)|<na>|(null)|nil|#value!|k.a.|n.a.
|n.d.|not available|not applicable|no data|keine angabe"""
MARKERS = frozenset({"", *_MARKERS.replace("\n", "").split("|")})
"""Texts that hardly ever mean anything but a missing value, in lower case."""
SENTINELS = (-9, -99, -999, -9999, 99, 999, 9999, 99999, 999999)
"""Numbers that often stand for a missing value where no other number is near."""
FEW_MARKERS = 3
SHOWN_FROM = 3
"""A text that stands among numbers or dates is named only if so many rows hold it: it may be
private."""

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_WHOLE = r"^[+-]?\d+$"
_COMMA = r"^[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?$"
_THOUSANDS = r"^[+-]?\d{1,3}(,\d{3})+$"
_ISO = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?(Z| UTC)?)?)?$"
_DAYS = r"^(?P<first>\d{1,2})(?P<by>[./-])(?P<second>\d{1,2})[./-](?P<year>\d{4}|\d{2})$"


@dataclass(frozen=True)
class WrittenValues:
    """The distinct values of a column, cleaned, and how they were written."""

    values: Any
    """Without missing ones and suspected markers, texts without spaces around them; Arrow."""
    counts: NDArray[np.int64]
    """How many rows hold each."""
    holds: str
    is_text: bool
    """Whether the values are texts in the table, whatever they seem to mean."""
    numbers: NDArray[np.float64]
    """The values as numbers, where they are numbers."""
    markers: tuple[str, ...] = ()
    stray_rows: int = 0
    decimal_comma: bool = False
    dates: str | None = None
    suspicions: tuple[str, ...] = ()

    @property
    def low(self) -> float:
        """The least number."""
        return float(self.numbers.min(initial=np.inf))

    @property
    def high(self) -> float:
        """The largest number."""
        return float(self.numbers.max(initial=-np.inf))

    @property
    def texts(self) -> Any:  # noqa: ANN401 - Arrow carries no types
        """The values as texts."""
        import pyarrow as pa

        return self.values if self.is_text else self.values.cast(pa.string())

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many characters each has."""
        import pyarrow.compute as pc

        return np.asarray(pc.utf8_length(self.texts)).astype(np.int64)

    @property
    def code_length(self) -> int | None:
        """The length of all values, if they are codes of equally many characters with digits."""
        if self.holds == "whole numbers" and self.low < 0:
            return None
        if self.holds not in ("texts", "whole numbers") or not len(self.lengths):
            return None
        width = int(self.lengths[0])
        same = bool((self.lengths == width).all()) and 3 <= width <= 12
        return width if same and self.share_matching(r"^[A-Z0-9]*\d[A-Z0-9 -]*$") == 1 else None

    def share_matching(self, pattern: str) -> float:
        """Return the share of the values that match a pattern."""
        return float(np.mean(_matches(self.texts, pattern))) if len(self.counts) else 0.0


def read_values(column: Any) -> tuple[WrittenValues, NDArray[Any]]:  # noqa: ANN401 - an Arrow column
    """Return the distinct values of an Arrow column, cleaned, and the code of every row.

    A missing value has the last code. Texts that differ by spaces around them alone are one value,
    and suspected markers are missing values: the codes are those of the table as a draft of its
    roles reads it.
    """
    import pyarrow as pa

    column = as_counted(column)
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_null(flat.type):
        none = np.zeros(0)
        nothing = WrittenValues(
            flat[:0], none.astype(np.int64), "nothing", is_text=False, numbers=none
        )
        return nothing, np.zeros(len(flat), np.uint8)
    encoded = flat.dictionary_encode()
    width = len(encoded.dictionary)
    codes = encoded.indices.fill_null(width).to_numpy(zero_copy_only=False)
    counts = np.bincount(codes, minlength=width + 1)[:width]
    if pa.types.is_string(flat.type) or pa.types.is_large_string(flat.type):
        values, moved = _read_texts(encoded.dictionary, counts)
        return values, narrow_codes(moved, len(values.values))[codes]
    return _read_typed(encoded.dictionary, counts), narrow_codes(codes, width)


def _read_typed(values: Any, counts: NDArray[np.int64]) -> WrittenValues:  # noqa: ANN401 - Arrow
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, numbers = values.type, np.zeros(0)
    if pa.types.is_boolean(kind):
        holds = "truth values"
    elif pa.types.is_temporal(kind):
        holds = "dates"
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        holds = "whole numbers" if _are_whole(numbers) else "numbers"
    else:
        holds = "other values"
    said = _sentinels(numbers, counts)
    return WrittenValues(
        values, counts, holds, is_text=False, numbers=numbers, suspicions=tuple(said)
    )


def _are_whole(numbers: NDArray[np.float64]) -> bool:
    return bool(np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all())


def _read_texts(
    raw: Any,  # noqa: ANN401 - Arrow carries no types
    counts: NDArray[np.int64],
) -> tuple[WrittenValues, NDArray[np.int64]]:
    """Clean distinct texts; also return the new code of every old one, missing ones last."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(raw)
    stray = np.asarray(pc.not_equal(raw, trimmed))
    lower = pc.utf8_lower(trimmed)
    marked = np.asarray(pc.is_in(lower, pa.array(sorted(MARKERS))))
    marked |= _texts_among_others(trimmed, counts, marked)
    cleaned = pc.if_else(pa.array(marked), pa.scalar(None, trimmed.type), trimmed)
    encoded = cleaned.dictionary_encode()
    values, width = encoded.dictionary, len(encoded.dictionary)
    moved = np.append(encoded.indices.fill_null(width).to_numpy(zero_copy_only=False), width)
    held = np.bincount(moved[:-1], weights=counts, minlength=width + 1)[:width].astype(np.int64)
    shown = trimmed.filter(pa.array(marked)).to_pylist()
    markers = tuple(sorted({text for text in shown if text}))
    said = _said_of_texts(values, held, int(counts[stray].sum()), markers, counts[marked])
    meaning, more = _meaning(values, held)
    return (
        WrittenValues(
            values,
            held,
            is_text=True,
            markers=markers,
            stray_rows=int(counts[stray].sum()),
            suspicions=(*said, *more),
            **meaning,
        ),
        moved,
    )


def _texts_among_others(
    texts: Any,  # noqa: ANN401 - Arrow carries no types
    counts: NDArray[np.int64],
    marked: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Tell which few texts stand among numbers or dates, as markers do."""
    none = np.zeros(len(texts), bool)
    for pattern in (_NUMBER, _COMMA, _ISO, _DAYS):
        usual = _matches(texts, pattern)
        others = ~usual & ~marked
        if usual.sum() > max(10 * others.sum(), 5) and 0 < others.sum() <= FEW_MARKERS:
            return others & (counts >= SHOWN_FROM)
    return none


def _said_of_texts(
    values: Any,  # noqa: ANN401 - Arrow carries no types
    counts: NDArray[np.int64],
    stray_rows: int,
    markers: tuple[str, ...],
    marked: NDArray[np.int64],
) -> list[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    said = []
    if stray_rows:
        said.append(f"{count_of(stray_rows, 'row')} with spaces around the value")
    if marked.size:
        shown = listed(f"'{marker}'" for marker in markers) if markers else "spaces alone"
        verb = "seems" if len(markers) <= 1 else "seem"
        said.append(
            f"{shown} {verb} to mark missing values, in {count_of(int(marked.sum()), 'row')}"
        )
    totals = _matches(values, TOTALS)
    if totals.any() and counts[totals].sum() <= FEW_MARKERS:
        words = listed(f"'{word}'" for word in values.filter(pa.array(totals)).to_pylist())
        held = count_of(int(counts[totals].sum()), "row")
        said.append(f"{words} in {held} may be a total and no person")
    folded = pc.utf8_lower(values).dictionary_encode()
    variants = np.bincount(np.asarray(folded.indices), minlength=len(folded.dictionary)) > 1
    if variants.any():
        rows = int(counts[variants[np.asarray(folded.indices)]].sum())
        said.append(
            f"{count_of(int(variants.sum()), 'value')} written in capitals and in small letters, "
            f"in {count_of(rows, 'row')}"
        )
    return said


def _meaning(  # noqa: PLR0911 - one way of writing after the other
    values: Any,  # noqa: ANN401 - Arrow carries no types
    counts: NDArray[np.int64],
) -> tuple[dict[str, Any], list[str]]:
    """Tell what texts mean: numbers, dates or themselves; and what is doubtful about that."""
    nothing: dict[str, Any] = {"holds": "texts", "numbers": np.zeros(0)}
    if not len(values):
        return nothing | {"holds": "nothing"}, []
    if _matches(values, _NUMBER).all():
        if _matches(values, r"^[+-]?0\d").any():
            return nothing, ["numbers with leading zeros: codes, kept as they are written"]
        numbers = _parsed(values)
        whole = bool(_matches(values, _WHOLE).all()) or _are_whole(numbers)
        holds = "whole numbers" if whole else "numbers"
        return {"holds": holds, "numbers": numbers}, _sentinels(numbers, counts)
    if _matches(values, _COMMA).all():
        import pyarrow.compute as pc

        plain = pc.replace_substring(pc.replace_substring(values, ".", ""), ",", ".")
        numbers, doubtful = _parsed(plain), _matches(values, _THOUSANDS)
        comma = _matches(values, ",")
        said = ["decimal commas"]
        if doubtful[comma].all() and comma.any():
            said = ["commas that could separate decimals or thousands"]
        meaning = {"holds": "numbers", "numbers": numbers, "decimal_comma": True}
        return meaning, [*said, *_sentinels(numbers, counts)]
    if _matches(values, _ISO).all():
        return nothing | {"holds": "dates"}, []
    if _matches(values, _DAYS).all():
        return _days(values, nothing)
    return nothing, []


def _days(values: Any, nothing: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:  # noqa: ANN401 - Arrow
    """Tell whether the day or the month stands first, by the numbers that no month has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.extract_regex(values, pattern=_DAYS)
    first, second = (
        np.asarray(pc.cast(pc.struct_field(parts, name), pa.int64()))
        for name in ("first", "second")
    )
    separators = pc.unique(pc.struct_field(parts, "by")).to_pylist()
    years = pc.unique(pc.utf8_length(pc.struct_field(parts, "year"))).to_pylist()
    if len(separators) > 1 or len(years) > 1 or min(first.min(), second.min()) < 1:
        return nothing, ["dates that are written in several ways"]
    by, year = separators[0], "%Y" if years == [4] else "%y"
    day_first = f"%d{by}%m{by}{year}"
    if second.max() <= 12 < first.max() <= 31:
        return nothing | {"holds": "dates", "dates": day_first}, ["dates with the day first"]
    if first.max() <= 12 < second.max() <= 31:
        month_first = f"%m{by}%d{by}{year}"
        return nothing | {"holds": "dates", "dates": month_first}, ["dates with the month first"]
    if max(first.max(), second.max()) <= 12:
        said = "dates of which nothing says whether the day or the month stands first"
        return nothing | {"holds": "dates", "dates": day_first}, [f"{said}; the day is assumed"]
    return nothing, ["texts that look like dates, but some are none"]


def _sentinels(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> list[str]:
    """Name a number that may stand for a missing value: far from all others, and not rare."""
    finite = numbers[np.isfinite(numbers)]
    if finite.size < 5:
        return []
    said = []
    for mark in SENTINELS:
        rest = finite[finite != mark]
        if rest.size == finite.size:
            continue
        spread = rest.max() - rest.min()
        far = mark > rest.max() + spread or (
            mark < rest.min() - spread / 2 or mark < 0 <= rest.min()
        )
        rows = int(counts[numbers == mark].sum())
        if far and rows >= SHOWN_FROM:
            said.append(f"{mark} may mark missing values, in {count_of(rows, 'row')}")
    return said


def _matches(texts: Any, pattern: str) -> NDArray[np.bool_]:  # noqa: ANN401 - Arrow carries no types
    import pyarrow.compute as pc

    return np.asarray(pc.match_substring_regex(texts, pattern))


def _parsed(texts: Any) -> NDArray[np.float64]:  # noqa: ANN401 - Arrow carries no types
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.replace_substring_regex(texts, pattern=r"^\+", replacement="")
    return np.asarray(pc.cast(plain, pa.float64()))


# --- column names ---------------------------------------------------------------------------------
# What the name of a column says about it, in English, German, French, Spanish, Italian, Dutch and
# Polish words.

_SPELLED = {228: "ae", 246: "oe", 252: "ue", 223: "ss", 322: "l", 196: "Ae", 214: "Oe", 220: "Ue"}
_LINKS = ("", "s", "n", "en", "er")
"""What may stand between joined words."""
_LONG_PART = 5
"""A known word of so many letters tells what one means that begins or ends with it."""
_LONG_KEY = 7
"""Shorter ends of keys are those of other words too: vaccination, estate."""


@cache
def _word_lists() -> dict[str, set[str]]:
    lists: dict[str, set[str]] = {}
    file = Path(__file__).parents[1] / "column_words.txt"
    for line in file.read_text(encoding="utf-8").splitlines():
        name, _, words = line.partition(": ")
        lists.setdefault(name, set()).update(words.split())
    return lists


def name_hint(name: str) -> str | None:
    """Return what a name says of a column: a role, "remark", "unclear" or nothing.

    Example:
        >>> [name_hint(name) for name in ("patient_id", "BirthDate", "hh_id", "q17", "countryName")]
        ['identifier', 'key', 'household', None, 'key']
        >>> [name_hint(name) for name in ("Hauptdiagnose", "statetax", "age_at_diagnosis")]
        ['confidential', 'confidential', 'unclear']
    """
    parts = _parts(name)
    said = {meaning for part in parts for meaning in _meanings(part)}
    if "wgt" in name.lower() or (
        {"weight", "weights"} & {*parts} and {"sampling", "sample", "household"} & {*parts}
    ):
        return "weight"
    numbered = "id" in parts or "ids" in parts or (parts and "numbered" in _meanings(parts[-1]))
    named = (numbered or "name" in said) and ("people" in said or "place" not in said)
    if named or numbers_people(name) == "number":
        said.add("identifier")
    if {"confidential", "key"} <= said and "identifier" not in said:
        return next((role for role in ("household", "weight") if role in said), "unclear")
    if "time" in said:
        said.add("key")
    order = ("household", "weight", "identifier", "confidential", "key", "remark")
    if "remark" in said and "confidential" not in said:
        return "remark"
    return next((role for role in order if role in said), None)


def numbers_people(name: str) -> str | None:
    """Return whether a name is a number of people ("number"), or people alone ("people").

    Such a column identifies people however many rows each of them has.

    Example:
        >>> [numbers_people(name) for name in ("customer_id", "Patientennummer", "Customer")]
        ['number', 'number', 'people']
        >>> numbers_people("customer_age") is None
        True
    """
    lists, parts = _word_lists(), _parts(name)
    people = [part for part in parts if "people" in _meanings(part)]
    others = {*parts} - {*people}
    if not people or others - lists["number"]:
        return None
    return "number" if others else "people"


def _says(name: str, what: str) -> bool:
    """Tell whether a list of words holds one of a name's."""
    return any(what in _meanings(part) for part in _parts(name))


def _parts(name: str) -> list[str]:
    """Return the words of a name; of joined ones those that mean something."""
    letters = name.translate(_SPELLED)
    plain = unicodedata.normalize("NFKD", letters).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain).lower())
    return [part for word in words for part in _split(word)]


def _meanings(word: str) -> set[str]:
    """Return the lists that hold a word, or its singular."""
    for form in (word, word.removesuffix("s")):
        held = {name for name, words in _word_lists().items() if form in words} - {"given"}
        if held:
            return held
    return set()


def _split(word: str) -> list[str]:
    """Split a joined word, and return its last part that has a meaning, with what it numbers."""
    if _meanings(word):
        return [word]
    # Other short endings than that of "kartennr" stand behind people alone: "patientid".
    found = re.fullmatch(r"(...+?)(nr|id|no)", word)
    if found and (found[2] == "nr" or "people" in _meanings(found[1])):
        return [*found.groups()]
    if joined := _joined(word):
        told = [part for part in joined if _meanings(part) - {"nothing", "number"}]
        if "numbered" in _meanings(joined[-1]) or "name" in _meanings(joined[-1]):
            return joined
        return told[-1:] or joined[-1:]
    sizes = range(len(word) - 1, _LONG_PART - 1, -1)
    ends = [
        word[-size:]
        for size in sizes
        if (meanings := _meanings(word[-size:])) and (size >= _LONG_KEY or "key" not in meanings)
    ]
    # What begins like a key may be anything else about it.
    begins = [
        word[:size] for size in sizes if _meanings(word[:size]) & {"identifier", "confidential"}
    ]
    return (ends or begins or [word])[:1]


def _joined(word: str) -> list[str]:
    """Return the known words of three letters or more that make up a word; none if others do."""
    for size in range(len(word) - 3, 2, -1):
        head, rest = word[:size], word[size:]
        if not _meanings(head):
            continue
        for link in _LINKS:
            tail = rest.removeprefix(link) if rest.startswith(link) else ""
            if len(tail) < 3:
                continue
            if _meanings(tail):
                return [head, tail]
            if further := _joined(tail):
                return [head, *further]
    return []


# --- scanned column -------------------------------------------------------------------------------


IDENTIFIER = "identifier"
KEY = "quasi-identifier candidate"
CONFIDENTIAL = "confidential candidate"
CONSTANT = "constant"
FREE_TEXT = "free text"
DATE = "date"
CODES = "code list"
WEIGHT = "sampling weight"
LIGHT = 20
"""A column that is called weight and stays below holds no weights of bodies."""
HOUSEHOLD = "household"

ROLES = {
    IDENTIFIER: "identifier",
    FREE_TEXT: "identifier",
    KEY: "key",
    DATE: "key",
    CODES: "undecided",
    CONFIDENTIAL: "confidential",
    CONSTANT: "kept",
    WEIGHT: "weight",
    HOUSEHOLD: "household",
}
"""The role that a draft gives to a column of each kind; free text is never released by a draft."""
KNOWN = frozenset({KEY, DATE, CODES})
"""What others may know of somebody."""

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
FEW_DECIMALS = 20

_STREET = (
    r"(?i)^\d+[a-z]?,? .*\b(street|st|road|rd|avenue|ave|lane|ln|drive|dr|rue|boulevard|bd)\b|"
    r"(str\.?|strasse|stra\x{df}e|gasse|weg|platz|allee|straat|laan|weg) ?\d+ ?[a-z]?$|"
    r"^(rue|via|viale|piazza|calle|avenida|plaza|ul\.|ulica|aleja) .*\d+ ?[a-z]?$"
)
_PATTERNS = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$",
    "universal identifiers (UUID)": r"^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
    "bank account numbers (IBAN)": r"^[A-Z]{2}\d{2}[ ]?([A-Z0-9]{4}[ ]?){3,7}[A-Z0-9]{0,4}$",
    "addresses in a network": r"^\d{1,3}(\.\d{1,3}){3}$|^https?://",
    "phone numbers": r"^\+\d[\d ()/-]{6,}$|^\(?0\d{2,5}\)?[ /-]\d[\d -]{4,}$",
    "numbers of a social insurance": r"^\d{3}-\d{2}-\d{4}$|^756\.\d{4}\.\d{4}\.\d{2}$",
    "streets with a number": _STREET,
}
_SECRET_PATTERNS = {
    "diagnoses (ICD-10)": r"^[A-TV-Z]\d[0-9AB](\.[0-9A-Z]{1,4}|\d{1,2})?[-+*!]?$",
    "medicines (ATC)": r"^[A-V]\d\d[A-Z]{2}\d\d$",
}
_POSTCODE = r"^[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}$|^\d{4} [A-Z]{2}$|^\d{2}-\d{3}$|^\d{5}-\d{4}$"
FEW_CODES = 5
"""Fewer different values have the form of diagnoses or postcodes by chance."""


_SAID = {
    "confidential": (CONFIDENTIAL, "its name suggests something that people keep to themselves"),
    "key": (KEY, "its name suggests something that others know about a person"),
    "unclear": (
        CODES,
        "its name suggests both what others know and what people keep to themselves",
    ),
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

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return self.holds in {"numbers", "whole numbers"}


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

    @property
    def nearly_all_differ(self) -> bool:
        return self.present >= FEW_ROWS and self.different >= NEARLY_ALL * self.present

    @property
    def share_different(self) -> str:
        """How many of its values are different."""
        share = percent(self.different, self.present, round="up", mark="words")
        return f"{share} of its values are different"


def scan_column(name: str, column: Any, rows: int) -> CodedColumn:  # noqa: ANN401 - an Arrow column
    """Look at one column."""
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
    suspicions = list(values.suspicions)
    if what == CONFIDENTIAL and facts.nearly_all_differ:
        once = f"{facts.once:,} of its values occur once"
        suspicions.append(f"{once}: released as it is, it singles people out")
    scanned = ScannedColumn(
        name=name,
        what=what,
        why=why,
        # Where a value is missing, that is something to know.
        role="undecided" if what == CONSTANT and facts.present < rows else ROLES[what],
        holds=values.holds,
        different=facts.different,
        missing=rows - facts.present,
        once=facts.once,
        suspicions=tuple(suspicions),
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
    values, hint = facts.values, facts.hint
    if not facts.present:
        return CONSTANT, "it is empty"
    if (found := _judge_by_shape(facts) or _judge_by_person(facts)) is not None:
        return found
    # The only row of a table shares its values with nobody; a sample may have one weight for all.
    # Nobody weighs so little: where people are weighed and not counted, the column stays in too.
    light = _parts(facts.name) == ["weight"] and values.numbers.size > 0 and values.high < LIGHT
    fits = (hint == "weight" or light) and values.numbers.size > 0 and values.low > 0
    if facts.different == 1 and facts.rows > 1 and not fits:
        return CONSTANT, "every row has the same value"
    if fits or (hint == "household" and facts.different < facts.present):
        return (WEIGHT if fits else HOUSEHOLD), f"its name says {'weight' if fits else hint}"
    if (differs := _differs(facts)) is not None:
        return IDENTIFIER, differs
    if values.holds == "dates":
        written = f" written as {values.dates}" if values.dates else ""
        return DATE, f"its values are dates{written}"
    if hint in _SAID:
        # The numbers of a few places say nothing, and may be how much people like them.
        few = values.holds == "whole numbers" and facts.different <= FEW_DECIMALS
        if not (hint == "key" and few and _says(facts.name, "place")):
            return _SAID[hint]
    return _judge_by_values(facts)


def _judge_by_shape(facts: _Facts) -> tuple[str, str] | None:
    """Judge by the form of the values alone; None if it says nothing."""
    if facts.values.is_text:
        for shape, pattern in _PATTERNS.items():
            if facts.values.share_matching(pattern) > NEARLY_SURE:
                return IDENTIFIER, f"its values look like {shape}"
        if (coded := _coded_shape(facts)) is not None:
            return coded
    if _is_prose(facts):
        return FREE_TEXT, "its values are long texts of many words, in which anything can stand"
    named = facts.values.is_text and facts.different >= FEW_CODES
    if named and facts.values.share_matching(_given()) > NEARLY_SURE:
        return IDENTIFIER, "its values look like names of people"
    return None


@cache
def _given() -> str:
    """Return the pattern of texts that hold a given name."""
    return rf"(?i)(^|[\s,;.])({'|'.join(sorted(_word_lists()['given']))})($|[\s,;.])"


def _judge_by_person(facts: _Facts) -> tuple[str, str] | None:
    """Judge by a name that says free text, or who somebody is."""
    about = numbers_people(facts.name)
    if facts.hint == "remark" and facts.values.holds == "texts" and facts.different > 1:
        return FREE_TEXT, "its name says that anything can stand in it"
    if facts.hint == "identifier" or (about == "people" and facts.different >= FEW_ROWS):
        said = "says so" if about is None else "numbers people"
        many = count_of(facts.different, "different value")
        return IDENTIFIER, f"its name {said}, and it has {many}"
    return None


def _judge_by_values(facts: _Facts) -> tuple[str, str]:
    many, holds = count_of(facts.different, "different value"), facts.values.holds
    if holds == "texts" and facts.different > max(2, facts.present // 3):
        return IDENTIFIER, f"texts with {many} in {count_of(facts.present, 'row')}"
    if holds == "texts" and facts.different > MOST_CODES:
        return KEY, f"{many}, of which {facts.once:,} occur once"
    measured = FEW_DECIMALS if holds == "numbers" else FEW_NUMBERS
    # Numbers of equally many digits may be those of cards or contracts.
    coded = holds == "whole numbers" and (facts.values.code_length or 0) >= LONG_CODE
    if holds in {"numbers", "whole numbers"} and facts.different > measured and not coded:
        return CONFIDENTIAL, f"an amount with {many}, as if measured"
    return CODES, f"{holds} with {many}"


def _coded_shape(facts: _Facts) -> tuple[str, str] | None:
    """Say whether values have the form of diagnoses, medicines or postcodes."""
    import pyarrow.compute as pc

    values, hint = facts.values, facts.hint
    if facts.different < FEW_CODES or hint == "identifier" or numbers_people(facts.name):
        return None
    # Numbers behind one letter may be those of people: P0001.
    begun = pc.unique(pc.utf8_slice_codeunits(values.texts, 0, 1))
    sure = not facts.nearly_all_differ and len(begun) > 1
    if sure or hint in {"confidential", "unclear"}:
        for shape, pattern in _SECRET_PATTERNS.items():
            if values.share_matching(pattern) > NEARLY_SURE:
                return CONFIDENTIAL, f"its values look like {shape}"
    if values.share_matching(_POSTCODE) > NEARLY_SURE and (
        _says(facts.name, "postcode") or not facts.nearly_all_differ
    ):
        return KEY, "its values look like postcodes"
    return None


def _differs(facts: _Facts) -> str | None:  # noqa: PLR0911 - one line a reason
    """Say why values identify people by how many there are; None if they do not seem to."""
    values = facts.values
    if values.holds not in {"texts", "whole numbers"}:
        return None
    if facts.nearly_all_differ:
        if values.holds == "texts" and (facts.hint != "key" or values.code_length is None):
            return facts.share_different
        dense = values.high - values.low + 1 <= 2 * facts.present
        if facts.hint is None and (dense or (values.code_length or 0) >= LONG_CODE):
            return f"{facts.share_different}, and they are numbered or have equally many digits"
    if facts.hint is not None or facts.present < FEW_ROWS:
        return None
    if (values.code_length or 0) >= LONG_CODE and facts.different >= NEARLY_SURE * facts.present:
        return f"{facts.share_different}, and they are equally long codes"
    complete = values.high - values.low + 1 == facts.different > FEW_NUMBERS
    if values.holds == "whole numbers" and complete and values.low in {0, 1}:
        return f"it numbers something from {values.low:.0f} to {values.high:,.0f} without a gap"
    return None


def _is_prose(facts: _Facts) -> bool:
    import pyarrow.compute as pc

    values = facts.values
    if values.holds != "texts" or facts.different < min(FEW_ROWS, max(3, facts.present // 2)):
        return False
    words = np.asarray(pc.count_substring_regex(values.texts, pattern=r"\s+")) + 1
    many = np.average(words, weights=values.counts) >= MANY_WORDS
    return bool(many and np.average(values.lengths, weights=values.counts) >= LONG_TEXT)


# --- how it could be coarsened -----------------------------------------------------------------


def _coarsening(facts: _Facts, what: str) -> tuple[tuple[Any, ...], int | None, tuple[int, ...]]:
    """Return widths or periods, a mask and least sizes of categories, for the draft of a key."""
    values = facts.values
    levels: tuple[Any, ...] = ()
    if what not in KNOWN:
        return (), None, ()
    if values.holds == "dates":
        return ("month", "quarter", "year"), None, ()
    width = values.code_length
    postcode = _says(facts.name, "postcode") or values.share_matching(_POSTCODE) > NEARLY_SURE
    coded = values.holds == "texts" and facts.different > FEW_DECIMALS
    if width is not None and (postcode or coded):
        return (), min(2, width - 1), ()
    if values.holds in ("numbers", "whole numbers") and facts.different > 10:
        levels = nested_widths(values.low, values.high, whole=values.holds == "whole numbers")
    tenth = max(facts.rows // 100, 5)
    categories = values.holds == "texts" and facts.different > 5
    return levels, None, (tenth, 5 * tenth) if categories else ()


def nested_widths(low: float, high: float, *, whole: bool) -> tuple[Any, ...]:
    """Return three nesting widths of bins for numbers in a range: about 16, 8 and 4 bins."""
    span = max(high - low, 1e-12)
    exponent = int(np.floor(np.log10(span / 16)))
    first = next(
        digit * 10**place if place >= 0 else float(f"{digit}e{place}")
        for place in range(exponent, max(exponent, 0) + 3)
        for digit in (1, 2, 5)
        if digit * 10.0**place >= span / 16 and (not whole or digit * 10.0**place >= 2)
    )
    return tuple(first * times if whole else float(f"{first * times:.12g}") for times in (1, 2, 4))
