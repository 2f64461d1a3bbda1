"""A published table: its dimensions, and for every cell the interval that it states."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import compress, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.errors import EngineError, InputError, OptionError, TableError
from hartley.files import one_line, parse_json, read_text_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from hartley.tables.described import CategoryTree, OutputDescription


HIDDEN = frozenset(["", "x", "*", ":", "..", "c", "[c]", "d", "nan", "[redacted]"])
"""Marks of a hidden cell that need no declaration, in lower case."""
TIMES = " \u00d7 "
"""Between the categories of a cell."""
LARGEST = 2**52
"""The largest number of a cell, in units of its last digit."""
PLAIN = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]*))?")
BELOW = re.compile(r"<\s*([0-9]+)")
NUMERIC = re.compile(r"[+-]?[0-9][0-9 .,'\u00a0\u202f]*")
SEPARATED = {
    decimal: re.compile(
        rf"[+-]?(?:[0-9]+|[0-9]{{1,3}}(?:([ {other}'\u00a0\u202f])[0-9]{{3}}(?:\1[0-9]{{3}})*))"
        rf"(?:[{decimal}][0-9]*)?"
    )
    for decimal, other in (".,", ",.")
}
"""Numbers with a declared decimal sign: another sign may separate groups of three digits."""
ROUNDINGS = ("nearest", "controlled", "random", "midpoint")
EXCEL = (".xlsx", ".xlsm")
MOST_CELLS = 5_000_000
NUMBERS = ("count", "n", "freq", "frequency", "value", "obs", "sum")
"""Names of the column of numbers in a table with one cell a line."""
FEWEST_PARTS = 2
"""One category that equals the only other one is no sum."""
MOST_STEPS = 20_000
"""Steps of the search for a category that is the sum of others; beyond, nothing is tested."""
MOST_LINES = 30
"""Lines that this search looks at."""

Interval = tuple[int, int | None]
"""The smallest and the largest whole number; None is no end."""


@dataclass(frozen=True)
class Rounding:
    """How the numbers of a table were rounded, and which numbers one of them can stand for."""

    kind: str
    base: int

    @classmethod
    def parse(cls, text: str) -> Rounding:
        """Read a rounding such as 'nearest 5'."""
        kind, _, base = text.strip().partition(" ")
        if kind not in ROUNDINGS or not base.strip().isdigit():
            raise OptionError(
                f"The rounding '{one_line(text)}' is unknown",
                hint="write nearest 5, controlled 3, random 3 or midpoint 6",
            )
        number = int(base)
        if number < 2:
            raise OptionError(
                f"The base {number} of a rounding is smaller than 2", hint="give the base, or none"
            )
        if kind == "midpoint" and number % 2:
            raise OptionError(
                f"The base {number} of a midpoint rounding is odd", hint="give an even base"
            )
        return cls(kind, number)

    def fits(self, value: int) -> bool:
        """Tell whether the rounding can give a number."""
        if self.kind == "midpoint":
            return value == 0 or value % self.base == self.base // 2
        return value % self.base == 0

    def round(self, value: int) -> int:
        """Return what a number is rounded to, where the number alone decides."""
        if self.kind == "midpoint":
            return 0 if value == 0 else (value - 1) // self.base * self.base + self.base // 2
        if self.kind == "nearest":
            return (value + self.base // 2) // self.base * self.base
        raise OptionError(
            f"What {self.kind} rounding gives is not decided by the number alone",
            hint="only nearest and midpoint rounding can be repeated",
        )

    def interval(self, value: int, *, signed: bool = False) -> tuple[int, int]:
        """Return the smallest and the largest number that is rounded to a value."""
        half = (self.base - 1) // 2
        if self.kind == "midpoint":
            ends = (0, 0) if value == 0 else (value - half, value + self.base // 2)
        elif self.kind == "nearest":  # a half is rounded up
            ends = value - self.base // 2, value + half
        else:
            ends = value - self.base + 1, value + self.base - 1
        return (ends[0] if signed else max(ends[0], 0)), ends[1]


@dataclass(frozen=True)
class Marking:
    """How the text of a cell is read: declared marks, the rounding, the decimal sign."""

    marks: Mapping[str, Interval]
    rounding: Rounding | None = None
    decimal: str | None = None

    def read(self, text: str) -> tuple[str, Interval | Fraction | int]:
        """Return what kind of cell a text makes, and its interval or its number."""
        token = text.strip()
        if token in self.marks:
            ends = self.marks[token]
            return ("hidden" if ends == (0, None) else "mark"), ends
        if token.isascii() and token.isdigit():  # nearly all cells
            return "number", int(token)
        if token.casefold() in HIDDEN:
            return "hidden", (0, None)
        below = BELOW.fullmatch(token)
        if below is not None:
            most = int(below[1]) - 1
            if most < 1:
                raise OptionError(f"The mark '{token}' leaves no number", hint="check the mark")
            return "mark", (1, most)
        return "number", self._number(token)

    def is_value(self, text: str) -> bool:
        """Tell whether a text can be a cell of the body of a table."""
        try:
            self.read(text)
        except InputError:
            return bool(NUMERIC.fullmatch(text.strip())) or text.strip().endswith("%")
        return True

    def _number(self, token: str) -> Fraction:
        if token.endswith("%"):
            raise OptionError(
                "A cell holds a percentage, and its base is not published with it",
                hint="publish counts, or leave the table of percentages out",
            )
        plain = PLAIN.fullmatch(token)
        if self.decimal is not None and NUMERIC.fullmatch(token):
            separated = SEPARATED[self.decimal].fullmatch(token)
            digits = token.replace(separated[1] or "", "") if separated is not None else ""
            plain = PLAIN.fullmatch(digits.replace(self.decimal, "."))
        if plain is not None:
            return Fraction(plain[0].rstrip("."))
        if NUMERIC.fullmatch(token):
            raise OptionError(
                f"The number '{one_line(token, 30)}' can be read in two ways",
                hint='declare decimal = "," if a comma begins the decimals, decimal = "." if it '
                "separates thousands, or write it without separators",
            )
        raise OptionError(
            f"The mark '{one_line(token, 30)}' is not declared",
            hint=f'declare it, for example --marks "{one_line(token, 30)}=hidden" or =1-4',
        )


def read_marks(declared: Mapping[str, object]) -> dict[str, Interval]:
    """Return the interval of each declared mark."""
    marks: dict[str, Interval] = {}
    for mark, meaning in declared.items():
        words = str(meaning).strip()
        ends = re.fullmatch(r"([0-9]+)(?:\s*-\s*([0-9]+))?", words)
        if words == "hidden":
            marks[mark] = (0, None)
        elif ends is not None and int(ends[1]) <= int(ends[2] or ends[1]) <= LARGEST:
            marks[mark] = (int(ends[1]), int(ends[2] or ends[1]))
        else:
            raise OptionError(
                f"The mark '{one_line(mark, 30)}' is declared as '{one_line(words, 30)}'",
                hint="declare a mark as hidden, as a number or as a range such as 1-4",
            )
    return marks


class PublishedCell(NamedTuple):
    """A cell of a published table, and the interval that it states in units of the last digit."""

    keys: tuple[str | None, ...]
    """A category of each dimension; None is the total."""
    low: int | None
    high: int | None
    kind: str
    """number, rounded, mark, hidden, or absent for one that the table does not list."""
    text: str
    line: int

    @property
    def exact(self) -> bool:
        """Whether one number alone is left."""
        return self.low is not None and self.low == self.high


@dataclass(frozen=True)
class Crosstab:
    """A published table, read completely."""

    name: str
    path: str | None
    digest: str
    """The SHA-256 of the file."""
    dims: tuple[str, ...]
    statistic: str
    """count, or sum(column)."""
    where: str | None
    """The condition of the rows that the table is about; None for all of them."""
    cells: tuple[PublishedCell, ...]
    places: int
    """Decimals of the last published digit; intervals count units of it."""
    guesses: tuple[str, ...]
    """What the file does not say and was guessed, in sentences."""
    described: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What was declared about the file, or recorded with it; read again, it gives the same."""
    absent: str | None = None
    """Whether a cell that the table does not list is zero or hidden; None where nobody says."""
    signed: bool = False
    """Whether its numbers can be negative."""
    reading: str | None = None
    """How its totals are known: complete (no cell is open), declared, tested or untested."""
    left_out: tuple[PublishedCell, ...] = ()
    """Totals that can be those of the shown cells, where nobody knows."""

    def categories(self, dim: str) -> set[str]:
        """Return the categories of a dimension, without its total."""
        return {key for key in set(self.columns[self.dims.index(dim)]) if key is not None}

    @cached_property  # a table can have a million cells
    def columns(self) -> tuple[tuple[str | None, ...], ...]:
        """The keys of all cells, one column for each dimension."""
        if not self.cells:
            return ((),) * len(self.dims)
        return tuple(zip(*map(itemgetter(0), self.cells), strict=True))


# --- files of published tables as grids of texts --------------------------------------------------


@dataclass(frozen=True)
class TextGrid:
    """The texts of a file, row by row, each row with its line."""

    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    block: bool
    """Whether it comes from a spreadsheet, in which a header can take several lines."""
    short: frozenset[int] = frozenset()
    """The lines with fewer cells than the widest one."""


def read_grid(path: Path, sheet: str | None = None) -> TextGrid:
    r"""Read a file as a grid of texts; empty rows are left out."""
    suffix = path.suffix.lower()
    if suffix in EXCEL:
        rows = _read_excel(path, sheet)
    elif suffix in {".parquet", ".pq"}:
        rows = _read_parquet(path)
    elif suffix == ".json":
        rows = _read_json(path)
    else:
        rows = _read_csv(path)
    stripped = [tuple(map(str.strip, row)) for row in rows]
    filled = list(map(any, stripped))
    lines = list(compress(range(1, len(stripped) + 1), filled))
    if len(lines) < len(stripped):
        stripped = list(compress(stripped, filled))
    lengths = list(map(len, stripped))
    width = max(lengths, default=0)
    if not stripped or width < 2:
        raise TableError(
            f"{path} holds no table", hint="a table has a line of names and columns of numbers"
        )
    if len(stripped) * width > MOST_CELLS:
        raise TableError(
            f"{path} has more than {MOST_CELLS:,} cells", hint="check that it is a published table"
        )
    short = frozenset(line for line, n in zip(lines, lengths, strict=True) if n < width)
    if short:
        stripped = [row + ("",) * (width - len(row)) for row in stripped]
    return TextGrid(tuple(stripped), tuple(lines), block=suffix in EXCEL, short=short)


def _read_csv(path: Path) -> list[list[str]]:
    text = read_text_file(path, what="table", kind=TableError)
    # The last lines, since titles stand above.
    lines = list(islice(filter(str.strip, reversed(text.splitlines())), 20))

    def agreement(delimiter: str) -> tuple[int, int]:
        counts = Counter(line.count(delimiter) for line in lines if delimiter in line)
        return max(((times, count) for count, times in counts.items()), default=(0, 0))

    delimiter = max(",;\t|", key=agreement)
    try:
        return list(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise TableError(
            f"{path} cannot be read as CSV: {one_line(str(error))}", hint="check its quotes"
        ) from None


def _read_parquet(path: Path) -> list[list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, partitioning=None)  # names of folders are no column
    except (OSError, pa.ArrowException):
        raise TableError(f"{path} cannot be read as Parquet", hint="check the file") from None
    if table.num_rows * table.num_columns > MOST_CELLS:
        raise TableError(
            f"{path} has more than {MOST_CELLS:,} cells", hint="check that it is a published table"
        )
    names, metadata = list(table.column_names), table.schema.metadata or {}
    described = parse_json(metadata.get(b"pandas", b"{}").decode(), what="description of the table")
    # pandas keeps the row names of a crosstab in columns of their own, at the end
    kept = described.get("index_columns", []) if isinstance(described, dict) else []
    index = [name for name in kept if isinstance(name, str) and name in names]
    ordered = [*index, *(name for name in names if name not in index)]
    columns = [table.column(name).to_pylist() for name in ordered]
    return [ordered, *([_text(value) for value in row] for row in zip(*columns, strict=True))]


def _read_json(path: Path) -> list[list[str]]:
    """Read a list of records, or the cells of each row by name."""
    content = parse_json(
        read_text_file(path, what="table", kind=TableError), what=f"table {path}", kind=TableError
    )
    if isinstance(content, list) and content and all(isinstance(row, dict) for row in content):
        names = list(dict.fromkeys(name for row in content for name in row))
        return [names, *([_text(row.get(name)) for name in names] for row in content)]
    if isinstance(content, dict) and content and all(isinstance(c, dict) for c in content.values()):
        names = list(dict.fromkeys(name for column in content.values() for name in column))
        rows = [[name, *(_text(column.get(name)) for column in content.values())] for name in names]
        return [["", *content], *rows]
    raise TableError(
        f"{path} is not a table of records",
        hint='write a list such as [{"region": "north", "n": 12}]',
    )


def _read_excel(path: Path, sheet: str | None) -> list[list[str]]:
    try:
        import openpyxl  # type: ignore[import-untyped]  # it ships no types
    except ImportError:
        raise EngineError(
            "Excel files need the package openpyxl", hint="pip install 'hartley[tables]'"
        ) from None
    try:
        book = openpyxl.load_workbook(path, data_only=True)
    except FileNotFoundError:
        raise TableError(f"The table {path} cannot be read", hint="check the path") from None
    except Exception:  # noqa: BLE001 - the package raises errors of many others
        raise TableError(f"{path} cannot be read as an Excel file", hint="save it again") from None
    names = list(map(str, book.sheetnames))
    if sheet is None and len(names) > 1:
        raise TableError(
            f"{path} has {len(names)} sheets", hint=f'name one: sheet = "{one_line(names[0], 30)}"'
        )
    if sheet is not None and sheet not in names:
        raise TableError(
            f"{path} has no sheet '{one_line(sheet)}'",
            hint=f"it has {one_line(', '.join(names))}",
        )
    page: Any = book[sheet or names[0]]
    merged = [str(area) for area in page.merged_cells.ranges]
    if merged:
        raise TableError(
            f"{path} has merged cells at {merged[0]}",
            hint="unmerge them and write every name in its own cell",
        )
    rows: list[Any] = []
    cells = 0
    for row in page.iter_rows(values_only=True):
        cells += len(row)
        if cells > MOST_CELLS:
            raise TableError(
                f"The sheet has more than {MOST_CELLS:,} cells",
                hint="check that it is a published table",
            )
        rows.append(row)
    if any(value is None for row in rows for value in row):
        _refuse_formulas(path, page.title, rows)
    return [[_text(value) for value in row] for row in rows]


def _refuse_formulas(path: Path, sheet: str, rows: list[Any]) -> None:
    """Refuse formulas whose results are not stored."""
    # A program that only writes a workbook leaves them out, and a reader who opens it sees the
    # numbers. Read as empty cells they would count as hidden.
    import openpyxl

    page: Any = openpyxl.load_workbook(path)[sheet]
    for formulas, values in zip(page.iter_rows(), rows, strict=True):
        for cell, value in zip(formulas, values, strict=True):
            if value is None and cell.data_type == "f":
                raise TableError(
                    f"{path} has a formula without its result at {cell.coordinate}",
                    hint="open it in a spreadsheet program and save it, or write the numbers",
                )


def _text(value: object) -> str:
    if value is None or value != value:  # NaN differs from itself  # noqa: PLR0124
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # pandas stores counts beside a missing one as floats
    return str(value)


def header_rows(
    rows: list[tuple[str, ...]], lines: list[int], grid: TextGrid, described: OutputDescription
) -> int:
    """Count the lines of the header; more than one if a line names the dimensions of the rows."""
    if described.value is not None:  # a list of cells
        return 1
    for at in range(1, min(6, len(rows) - 1)):  # a header has at most 6 lines
        keys = sum(map(bool, rows[at]))
        first = rows[at][:keys]
        if not keys or not all(first) or keys == len(rows[at]):
            continue
        if described.dims is None:
            named = grid.block or at > 1
            listing = keys == len(rows[at]) - 1 and rows[0][-1].casefold() in NUMBERS
            filled = any(_holds_numbers(row[keys:], described.marking) for row in rows[1:at])
            if named and listing:
                return 1  # an empty cell in a list of cells
            if named and (filled or keys == len(rows[at]) - 1):
                raise TableError(
                    f"line {lines[at]} names the dimensions, or is a row that hides all its cells",
                    hint='declare the dims, those of the rows first: dims = ["region", "sex"]',
                )
        else:  # the first data row may hide all of its cells
            named = set(first) <= set(described.dims) and len(first) < len(described.dims)
        return at + 1 if named else 1
    return 1


def _holds_numbers(cells: Sequence[str], marking: Marking) -> bool:
    """Tell whether texts can be the cells of a row; categories can be numbers too, as years are."""
    return all(map(marking.is_value, cells)) and any(
        character.isdigit() for text in cells for character in text
    )


# --- what the totals of a published table are totals of: declared, tested, or neither -------------

_Line = dict[str | None, "PublishedCell"]
"""The cells of a table along one dimension; None is its total."""


def read_totals(table: Crosstab, trees: Iterable[CategoryTree] = ()) -> Crosstab:
    """Decide what the totals of a table are totals of, and leave out those of the shown cells.

    A total is declared by ``margins``, or by a tree of its dimension. It is tested if complete
    lines add up, every category is above zero in one of them (a sum of others would count twice
    there), and the total of a line with hidden cells is above what the line shows. A dimension
    without a total is tested if in complete lines no category is the sum of others. Where cells are
    hidden, a wrong reading of a total can fit as well: one that is neither declared nor tested
    protects nothing.
    """
    trees = tuple(trees)
    margins = table.described.get("margins")
    if margins == "shown":
        shown = _without_shown_totals(table, trees)
        if shown is None:
            raise TableError(
                f"{table.name}: the totals are declared as those of the shown cells, and they are "
                "not",
                hint='declare margins = "all"',
            )
        return replace(shown, reading="declared", left_out=())
    if margins == "all":
        return replace(table, reading="declared")
    if table.absent != "hidden" and all(cell.exact for cell in table.cells):
        return replace(table, reading="complete")
    grown = {tree.dim for tree in trees}
    guessed = [at for at, dim in enumerate(table.dims) if dim not in grown]
    if not guessed or (not table.signed and all(_is_tested(table, at) for at in guessed)):
        return replace(table, reading="tested" if guessed else "declared")
    said = tuple(f"{g}, not tested" if "is the total of" in g else g for g in table.guesses)
    table = replace(table, guesses=said, reading="untested")
    return _without_shown_totals(table, trees) or table


def with_all_totals(table: Crosstab) -> Crosstab:
    """Return a table whose totals are taken as those of all categories."""
    return replace(table, cells=(*table.cells, *table.left_out), left_out=())


def _along(table: Crosstab, at: int) -> list[_Line]:
    """Return the lines of a table along one dimension."""
    lines: dict[tuple[str | None, ...], _Line] = {}
    for cell in table.cells:
        lines.setdefault(cell.keys[:at] + cell.keys[at + 1 :], {})[cell.keys[at]] = cell
    return list(lines.values())


def _is_tested(table: Crosstab, at: int) -> bool:
    """Tell whether the lines along a dimension show that no category is the sum of others."""
    keys = table.categories(table.dims[at])
    lines = _along(table, at)
    if table.absent == "hidden":
        return len(keys) < FEWEST_PARTS and not any(None in line for line in lines)
    listed = [line for line in lines if len(line) - (None in line) == len(keys)]
    if table.absent == "zero":
        listed = lines
    whole = [line for line in listed if all(cell.exact for cell in line.values())]
    numbers = [{key: cell.low or 0 for key, cell in line.items()} for line in whole]
    if not any(None in line for line in lines):
        return not _has_sums(numbers, sorted(keys))
    adding = [line for line in numbers if None in line]
    if any(2 * line[None] != sum(line.values()) for line in adding):
        return False
    hiding = [line for line in lines if any(_is_open(c) for k, c in line.items() if k is not None)]
    return {key for line in adding for key, n in line.items() if n} >= keys and (
        not hiding or any(map(_is_above, hiding))
    )


def _is_open(cell: PublishedCell) -> bool:
    """Tell whether a total of the shown cells may leave a cell out."""
    return cell.kind in {"hidden", "mark"} and not cell.exact


def _is_above(line: _Line) -> bool:
    """Tell whether the total of a line is certainly more than what the line shows."""
    highs = [cell.high for key, cell in line.items() if key is not None and cell.kind != "hidden"]
    total = line[None].low if None in line else None
    return total is not None and None not in highs and total > sum(high or 0 for high in highs)


def _has_sums(lines: Sequence[dict[str | None, int]], keys: Sequence[str]) -> bool:
    """Tell whether some category can be the sum of others in all complete lines."""
    if len(keys) < FEWEST_PARTS:
        return False
    if not lines:
        return True
    rows = [tuple(line.get(key, 0) for line in lines[:MOST_LINES]) for key in keys]
    steps = 0
    for at, whole in enumerate(rows):
        rest = sorted((row for i, row in enumerate(rows) if i != at), reverse=True)
        rest = [row for row in rest if all(map(int.__le__, row, whole))]
        if not any(whole):
            if rest:
                return True
            continue
        tries = [(0, whole)]
        while tries:
            steps += 1
            place, left = tries.pop()
            if steps > MOST_STEPS or not any(left):
                return True
            tries += [
                (i + 1, tuple(map(int.__sub__, left, rest[i])))
                for i in range(place, len(rest))
                if any(rest[i]) and all(map(int.__le__, rest[i], left))
            ]
    return False


def _without_shown_totals(table: Crosstab, trees: Sequence[CategoryTree]) -> Crosstab | None:
    """Leave out totals of the shown cells only, as ACRO computes them; None if one is another."""
    # Read as totals of all cells they would make every hidden cell zero.
    inside = [cell for cell in table.cells if None not in cell.keys]
    top = [_tops(table.categories(dim), [t for t in trees if t.dim == dim]) for dim in table.dims]
    totals = {cell.keys: cell for cell in table.cells if None in cell.keys}
    parts: dict[tuple[str | None, ...], list[PublishedCell]] = {keys: [] for keys in totals}
    for pattern in {tuple(key is None for key in keys) for keys in totals}:
        for cell in inside:
            each = list(zip(cell.keys, pattern, top, strict=True))
            keys = tuple(None if summed else key for key, summed, _ in each)
            if keys in parts and all(key in tops for key, summed, tops in each if summed):
                parts[keys].append(cell)
    dropped = set()
    for keys, total in totals.items():
        shown = [cell for cell in parts[keys] if not _is_open(cell)]
        marks = [cell for cell in parts[keys] if _is_open(cell) and cell.kind == "mark"]
        hides = len(shown) + len(marks) < len(parts[keys]) or table.absent == "hidden"
        # Where nothing is hidden, the total of what is shown is the total: it says what marks
        # leave open, and a wrong one must be found.
        if _meets(total, shown):
            dropped |= {keys} if hides or marks else set()
        elif hides and not _meets(total, [*shown, *marks]):
            return None
        elif hides:
            dropped.add(keys)
    return replace(
        table,
        cells=tuple(cell for cell in table.cells if cell.keys not in dropped),
        left_out=tuple(totals[keys] for keys in totals if keys in dropped),
    )


def _meets(total: PublishedCell, parts: Iterable[PublishedCell]) -> bool:
    """Tell whether a total can be the sum of some cells."""
    parts = list(parts)
    low = sum(cell.low or 0 for cell in parts)
    high = sum(cell.high or 0 for cell in parts)
    return (total.high is None or low <= total.high) and (total.low is None or total.low <= high)


def _tops(labels: Collection[str], trees: Sequence[CategoryTree]) -> set[str]:
    """Return the categories that a total adds up: those that are parts of no other one listed."""
    tops = set(labels) - {parent for tree in trees[1:] for parent in tree.parents}
    for tree in trees[:1]:
        above = {part: parent for parent, parts in tree.parents.items() for part in parts}
        for label in labels:
            node = label
            while node in above:
                node = above[node]
                if node in labels:
                    tops.discard(label)
    return tops


def unnamed_totals(table: Crosstab, trees: Iterable[CategoryTree] = ()) -> list[tuple[str, str]]:
    """Return (dimension, category) for what looks like a total and is read as a category.

    Such a category equals the sum of all others in every line that shows all of its numbers. Read
    as a category it hides the relation that gives cells away. Cost: one pass over the cells for
    each dimension.
    """
    suspects: list[tuple[str, str]] = []
    for at, dim in enumerate(table.dims):
        parents = {parent for tree in trees if tree.dim == dim for parent in tree.parents}
        possible: set[str] | None = None
        for line in _along(table, at):
            cells = {key: cell for key, cell in line.items() if key not in parents}
            numbers = {key: cell.low or 0 for key, cell in cells.items() if cell.exact}
            if None in cells:  # the dimension has a total
                possible = set()
            if len(numbers) < len(cells) or len(cells) <= FEWEST_PARTS or not any(numbers.values()):
                continue
            whole = sum(numbers.values())
            halves = {key for key, number in numbers.items() if key and 2 * number == whole}
            possible = halves if possible is None else possible & halves
        suspects += [(dim, key) for key in sorted(possible or ())]
    return suspects
