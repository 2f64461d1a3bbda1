"""How the values of a column are written: markers of missing values, spaces, commas, dates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.kernels.minimal_uniques import narrow_codes
from hartley.ranges.relations.classes import as_counted
from hartley.wording import counted, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

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

    @cached_property
    def _texts(self) -> Any:  # noqa: ANN401 - Arrow carries no types
        import pyarrow as pa

        return self.values if self.is_text else self.values.cast(pa.string())

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        import pyarrow.compute as pc

        return np.asarray(pc.utf8_length(self._texts)).astype(np.int64)

    @property
    def mean_length(self) -> float:
        """The average number of characters of a row."""
        return float(np.average(self._lengths, weights=self.counts)) if len(self.counts) else 0.0

    @property
    def mean_words(self) -> float:
        """The average number of words of a row."""
        import pyarrow.compute as pc

        if not len(self.counts):
            return 0.0
        spaces = np.asarray(pc.count_substring_regex(self._texts, pattern=r"\s+"))
        return float(np.average(spaces + 1, weights=self.counts))

    @property
    def code_length(self) -> int | None:
        """The length of all values, if they are codes of equally many characters with digits."""
        if self.holds == "whole numbers" and self.low < 0:
            return None
        if self.holds not in ("texts", "whole numbers") or not len(self._lengths):
            return None
        width = int(self._lengths[0])
        same = bool((self._lengths == width).all()) and 3 <= width <= 12
        return width if same and self.share_matching(r"^[A-Z0-9]*\d[A-Z0-9 -]*$") == 1 else None

    def share_matching(self, pattern: str) -> float:
        """Return the share of the values that match a pattern."""
        return float(np.mean(_matches(self._texts, pattern))) if len(self.counts) else 0.0

    def is_numbering(self, present: int) -> bool:
        """Tell whether whole numbers number the rows, or are codes of equally many digits."""
        dense = self.high - self.low + 1 <= 2 * present
        width = self.code_length
        return dense or (width is not None and width >= 5)


def read_values(column: Any) -> tuple[WrittenValues, NDArray[Any]]:  # noqa: ANN401 - an Arrow column
    """Return the distinct values of an Arrow column, cleaned, and the code of every row.

    A missing value has the last code. Texts that differ by spaces around them alone are one value,
    and suspected markers are missing values: the codes are those of the table as a draft of its
    roles reads it.

    Example:
        >>> import pyarrow as pa
        >>> values, codes = read_values(pa.array([" 1,5", "2,25", "?"]))
        >>> values.holds, values.numbers, values.markers, codes
        ('numbers', array([1.5 , 2.25]), ('?',), array([0, 1, 2], dtype=uint8))
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
    import pyarrow.compute as pc

    said = []
    if stray_rows:
        said.append(f"{counted(stray_rows, 'row')} with spaces around the value")
    if marked.size:
        shown = listed(f"'{marker}'" for marker in markers) if markers else "spaces alone"
        verb = "seems" if len(markers) <= 1 else "seem"
        said.append(
            f"{shown} {verb} to mark missing values, in {counted(int(marked.sum()), 'row')}"
        )
    folded = pc.utf8_lower(values).dictionary_encode()
    variants = np.bincount(np.asarray(folded.indices), minlength=len(folded.dictionary)) > 1
    if variants.any():
        rows = int(counts[variants[np.asarray(folded.indices)]].sum())
        said.append(
            f"{counted(int(variants.sum()), 'value')} written in capitals and in small letters, in "
            f"{counted(rows, 'row')}"
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
            said.append(f"{mark} may mark missing values, in {counted(rows, 'row')}")
    return said


def _matches(texts: Any, pattern: str) -> NDArray[np.bool_]:  # noqa: ANN401 - Arrow carries no types
    import pyarrow.compute as pc

    return np.asarray(pc.match_substring_regex(texts, pattern))


def _parsed(texts: Any) -> NDArray[np.float64]:  # noqa: ANN401 - Arrow carries no types
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.replace_substring_regex(texts, pattern=r"^\+", replacement="")
    return np.asarray(pc.cast(plain, pa.float64()))
