"""Published tables read from files: one table, a results folder of ACRO, a dbt project."""

from __future__ import annotations

import ast
import csv
import gc
import io
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.errors import InputError, OptionError, TableError
from hartley.files import file_digest, one_line, parse_json, read_text_file
from hartley.tables.crosstab import (
    LARGEST,
    NUMBERS,
    TIMES,
    Crosstab,
    PublishedCell,
    Rounding,
    header_rows,
    read_grid,
)
from hartley.tables.described import Descriptions, read_description
from hartley.text import listed

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence
    from fractions import Fraction

    from hartley.tables.crosstab import Interval, Marking, TextGrid
    from hartley.tables.described import OutputDescription


TOTALS = (
    "total", "all", "sum", "ensemble", "insgesamt", "gesamt", "totaal", "total général", "suma",
    "totale",
)  # fmt: skip
"""Labels that are taken for a total where none is declared."""
COLUMNS = "columns"
"""The name of the dimension of the columns, where nothing names it."""
RESULTS = "results.json"
SUMMARY = "session_summary.csv"
METHODS = ("crosstab", "pivot_table")

_Stated = tuple[int | None, int | None, str]
"""The interval of a cell, in units of the last digit, and its kind."""


class NotACount(TableError):  # noqa: N818 - reads as what it says
    """A table of counts has decimals: it holds means, ratios or percentages."""


class _Entries(NamedTuple):
    """All cells as they are written, in columns: a table can have a million of them."""

    keys: list[tuple[str, ...]]
    """The categories of each cell."""
    texts: list[str]
    lines: list[int]


def read_crosstab(path: str, described: OutputDescription) -> Crosstab:
    r"""Read a published table from a CSV, Parquet, Excel or JSON file."""
    with collector_paused():
        grid = read_grid(Path(path), described.sheet)
        try:
            if len(grid.rows) < 2:  # no group has a row, and groups without rows are not listed
                dims, entries = described.dims or (), _Entries([], [], [])
                guesses: list[str] = []
            else:
                dims, entries, guesses = _laid_out(grid, described)
            # The cells of declared labels that the file does not list.
            known, labels = set(entries.keys), [described.labels.get(dim, ()) for dim in dims]
            added = [keys for keys in product(*labels) if dims and keys not in known]
            entries.keys.extend(added)
            entries.texts.extend(["0" if described.absent == "zero" else ""] * len(added))
            entries.lines.extend([1] * len(added))
            if not entries.keys:
                raise TableError(
                    f"{path} holds no table",
                    hint="a table has a line of names and columns of numbers",
                )
            return _crosstab(path, dims, entries, described, guesses)
        except InputError as error:
            if path in error.problem:
                raise
            raise type(error)(
                f"{path}: {error.problem[0].lower()}{error.problem[1:]}", hint=error.hint
            ) from None


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause Python's garbage collector while a table is read."""
    # A table is many small tuples and no cycle. The collector walks through all of them again and
    # again while they become more, which took more than half of the time.
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _laid_out(
    grid: TextGrid, described: OutputDescription
) -> tuple[tuple[str, ...], _Entries, list[str]]:
    """Find the header, the dimensions and the cells of a grid."""
    rows, lines = list(grid.rows), list(grid.lines)
    while len(rows) > 2 and sum(map(bool, rows[0])) < 2:  # a title above the table
        rows, lines = rows[1:], lines[1:]
    while (
        len(rows) > 2
        and sum(map(bool, rows[-1])) < 2
        and not described.marking.is_value(rows[-1][-1] or "?")
    ):  # a note below it
        rows, lines = rows[:-1], lines[:-1]
    head = header_rows(rows, lines, grid, described)
    names = rows[head - 1] if head > 1 else rows[0]
    body = list(zip(lines[head:], rows[head:], strict=True))
    short = [line for line in lines[head:] if line in grid.short]
    if short:  # what is missing is not hidden, and nobody can say which cell it is
        raise TableError(
            f"line {short[0]} has fewer cells than the others",
            hint="write every cell; one that is hidden has a mark, or is empty between separators",
        )
    marking = described.marking
    width = len(rows[0])
    if head > 1:  # the last line names the rows, those above it name the columns
        keys = sum(map(bool, names))
        dims = (*names[:keys], *(row[keys - 1] or COLUMNS for row in rows[: head - 1]))
        labels = [tuple(row[at] for row in rows[: head - 1]) for at in range(keys, width)]
        return _wide(dims, described, body, keys, labels)
    value = _value_column(names, described, body, marking)
    if value is not None:
        places = [at for at in range(width) if at != value]
        columns = list(zip(*rows[head:], strict=True))
        entries = _Entries(
            list(zip(*(columns[at] for at in places), strict=True)),
            list(columns[value]),
            lines[head:],
        )
        dims = tuple(names[at] or f"dimension {at + 1}" for at in places)
        guesses = [] if described.dims else [f"its dimensions are {listed(dims)}"]
        if described.dims and set(described.dims) != set(dims):
            raise _other_dims(described.dims, dims)
        return dims, entries, guesses
    keys = _key_columns(names, described, body, marking)
    dims = (*(name or f"dimension {at + 1}" for at, name in enumerate(names[:keys])), COLUMNS)
    return _wide(dims, described, body, keys, [(name,) for name in names[keys:]])


def _wide(
    dims: tuple[str, ...],
    described: OutputDescription,
    body: list[tuple[int, tuple[str, ...]]],
    keys: int,
    labels: list[tuple[str, ...]],
) -> tuple[tuple[str, ...], _Entries, list[str]]:
    """Return the cells of a table whose columns are categories too."""
    guesses = []
    if described.dims is None:
        guesses.append(f"its dimensions are {listed(dims)}")
    elif len(described.dims) != len(dims):
        raise _other_dims(described.dims, dims)
    else:
        matching = all(
            name == dim or name in {COLUMNS, ""} or name.startswith("dimension ")
            for name, dim in zip(dims, described.dims, strict=True)
        )
        if not matching:
            raise _other_dims(described.dims, dims)
        dims = described.dims
    if any(not part for label in labels for part in label):
        raise TableError(
            "a column has no name", hint="name every column, and write merged names in each cell"
        )
    entries = _Entries(
        [row[:keys] + label for _, row in body for label in labels],
        [text for _, row in body for text in row[keys:]],
        [line for line, _ in body for _ in labels],
    )
    return dims, entries, guesses


def _other_dims(declared: Sequence[str], present: Sequence[str]) -> TableError:
    return TableError(
        f"the declared dims are {one_line(listed(declared))}, but the table has "
        f"{one_line(listed(present))}",
        hint="declare them in the order of the file: those of the rows first",
    )


def _value_column(
    names: Sequence[str],
    described: OutputDescription,
    body: list[tuple[int, tuple[str, ...]]],
    marking: Marking,
) -> int | None:
    """Return the column of numbers of a table with one cell a line, None if it is laid out wide."""
    if described.value is not None:
        if described.value not in names:
            raise TableError(
                f"there is no column '{one_line(described.value)}'",
                hint=f"the columns are {one_line(', '.join(names))}",
            )
        return names.index(described.value)
    if described.dims is not None:
        others = [at for at, name in enumerate(names) if name not in described.dims]
        if set(described.dims) <= set(names):
            leading = tuple(names[: len(described.dims) - 1]) == described.dims[:-1]
            if len(others) > 1 and leading:  # a category has the name of the last dimension
                return None
            if len(others) != 1:
                raise TableError(
                    f"beside the dims there are {len(others)} columns",
                    hint='name the column of numbers: value = "count"',
                )
            return others[0]
        return None
    last = len(names) - 1
    if names[last].casefold() in NUMBERS:
        return last
    keys = _key_columns(names, described, body, marking)
    return last if keys == last else None


def _key_columns(
    names: Sequence[str],
    described: OutputDescription,
    body: list[tuple[int, tuple[str, ...]]],
    marking: Marking,
) -> int:
    """Count the first columns, which hold categories: up to the last that holds no numbers."""
    if described.dims is not None:
        named = 0
        most = min(len(described.dims), len(names)) - 1
        while named < most and names[named] in {described.dims[named], ""}:
            named += 1
        return max(named, 1)
    keys = 1
    for at in range(1, len(names)):
        texts = {row[at] for _, row in body}
        others = {text for text in texts if not marking.is_value(text)}
        signs = others and not any(map(str.isalnum, "".join(others)))
        if signs and (others < texts or len(others) == 1):
            marking.read(min(others))  # signs among numbers are marks, and no categories
        if others:
            keys = at + 1
    if keys == len(names):
        # Every column holds some text that is no number: name the mark, or ask for the dims.
        for _, row in body:
            marking.read(row[-1])
    return keys


def _crosstab(
    path: str,
    dims: tuple[str, ...],
    entries: _Entries,
    described: OutputDescription,
    guesses: list[str],
) -> Crosstab:
    totals = _totals(dims, entries, described, guesses)
    # Most texts occur many times: each is read once, the first in the file first.
    marking = described.marking
    read = {text: marking.read(text) for text in dict.fromkeys(entries.texts)}
    numbers = [number for _, number in read.values() if not isinstance(number, tuple)]
    bounds = described.bounds
    if bounds is None and any(number < 0 for number in numbers):
        raise TableError(
            "a cell is negative, and nothing bounds the sums of its cells",
            hint="declare what a cell can be, bounds = [-500, 2000], or publish the sums of "
            "positive and negative values apart",
        )
    places = _places([*numbers, *(bounds or ())], described)
    stated = {text: _stated(*said, described, 10**places) for text, said in read.items()}
    keys = _keys(entries, totals)
    ends = [stated[text] for text in entries.texts]
    if bounds is not None:
        unbounded: _Stated = (None, None, "hidden")
        ends = [
            # a hidden total is bounded by its parts
            unbounded if said[2] == "hidden" and None in mine else said
            for mine, said in zip(keys, ends, strict=True)
        ]
    lows, highs, kinds = zip(*ends, strict=True)
    columns = keys, lows, highs, kinds, entries.texts, entries.lines
    # What PublishedCell._make does, without a call of Python's for each of a million cells.
    cells = list(map(partial(tuple.__new__, PublishedCell), zip(*columns, strict=True)))
    return Crosstab(
        name=Path(path).name,
        path=path,
        digest=file_digest(path),
        dims=dims,
        statistic=described.statistic,
        where=described.where,
        cells=tuple(cells),
        places=places,
        guesses=tuple(guesses),
        absent=described.absent,
        signed=bounds is not None,
        described=described.to_dict(),
    )


def _places(numbers: Iterable[Fraction | int], described: OutputDescription) -> int:
    """Return how many decimals the numbers have, or are declared to have; counts have none."""
    places = described.decimals
    broken = [number for number in numbers if number.denominator > 1]
    while any((number * 10**places).denominator > 1 for number in broken):
        places += 1
        if places > 12:
            raise TableError("a number has more than 12 decimals", hint="publish fewer decimals")
    if places and described.statistic == "count":
        raise NotACount(
            "a count has decimals",
            hint='declare statistic = "sum(column)"; percentages without their base, means and '
            "ratios are not covered",
        )
    return places


def _keys(entries: _Entries, totals: Sequence[str | None]) -> list[tuple[str | None, ...]]:
    """Return the keys of all cells, with None for totals; refuse a cell that occurs twice."""
    columns: list[Sequence[str | None]] = [
        column if total is None else [None if key == total else key for key in column]
        for column, total in zip(zip(*entries.keys, strict=True), totals, strict=True)
    ]
    keys = list(zip(*columns, strict=True))
    if len(set(keys)) < len(keys):
        times = Counter(keys)
        twice = next(at for at, mine in enumerate(keys) if times[mine] > 1)
        raise TableError(
            f"the cell {one_line(TIMES.join(entries.keys[twice]))} occurs twice",
            hint="every combination of categories has one line",
        )
    return keys


def _stated(
    kind: str, said: Interval | Fraction | int, described: OutputDescription, scale: int
) -> _Stated:
    """Return the interval that a text states, in units, and the kind of the cell."""
    low, high, kind = _interval(kind, said, described, scale)
    if max(abs(low), abs(high or 0)) > LARGEST:
        raise TableError(
            "a number is too large to be computed with exactly",
            hint="publish it in thousands or millions",
        )
    return low, high, kind


def _interval(
    kind: str, said: Interval | Fraction | int, described: OutputDescription, scale: int
) -> tuple[int, int | None, str]:
    if isinstance(said, tuple):
        if kind == "hidden" and described.bounds is not None:
            low, high = described.bounds
            return int(low * scale), int(high * scale), kind
        return said[0] * scale, None if said[1] is None else said[1] * scale, kind
    value, rounding = int(said * scale), described.rounding
    if rounding is None:
        return value, value, "number"
    if value % scale or not rounding.fits(value // scale):
        raise TableError(
            f"the number {value // scale} is not one that rounding to {rounding.kind} "
            f"{rounding.base} gives",
            hint="check the rounding, or declare none",
        )
    finer = Rounding(rounding.kind, rounding.base * scale)
    return *finer.interval(value, signed=described.bounds is not None), "rounded"


def _totals(
    dims: tuple[str, ...],
    entries: _Entries,
    described: OutputDescription,
    guesses: list[str],
) -> list[str | None]:
    """Return the label of the total of each dimension, None where there is none."""
    totals: list[str | None] = []
    for dim, column in zip(dims, zip(*entries.keys, strict=True), strict=True):
        labels = set(column)
        if described.total is not None:
            totals.append(described.total if described.total in labels else None)
            continue
        possible = sorted(label for label in labels if label.casefold() in TOTALS)
        if len(possible) > 1:
            raise TableError(
                f"the dimension '{one_line(dim)}' has {len(possible)} totals, "
                f"{one_line(listed(possible))}",
                hint=f'declare one: total = "{one_line(possible[0], 30)}"',
            )
        totals.append(possible[0] if possible else None)
        if possible:
            guesses.append(f"'{possible[0]}' is the total of {dim}")
    if described.total is not None and totals and not any(totals) and not described.labels:
        raise TableError(
            f"no dimension has the total '{one_line(described.total)}'",
            hint="check its spelling, or leave it out",
        )
    return totals


def with_places(table: Crosstab, places: int) -> Crosstab:
    """Return a table with its intervals in finer units."""
    factor = 10 ** (places - table.places)
    if factor == 1:
        return table

    def finer(cells: Iterable[PublishedCell]) -> tuple[PublishedCell, ...]:
        return tuple(
            cell._replace(
                low=None if cell.low is None else cell.low * factor,
                high=None if cell.high is None else cell.high * factor,
            )
            for cell in cells
        )

    return replace(table, cells=finer(table.cells), left_out=finer(table.left_out), places=places)


# --- the results folder of ACRO: which of its files are published tables --------------------------


def read_results_folder(folder: str, described: Descriptions) -> tuple[list[Crosstab], list[str]]:
    """Read the tables of a results folder; also say what was left out.

    ACRO does not record which rows an output is about: without ``where`` in the description,
    nothing is known about that.
    """
    path = Path(folder, RESULTS)
    content = parse_json(read_text_file(path, what="list of outputs"), what=f"file {path}")
    results = content.get("results") if isinstance(content, dict) else None
    if not isinstance(results, dict):
        raise TableError(
            f"{path} lists no outputs of ACRO", hint="give the folder that acro.finalise() wrote"
        )
    tables, notes = [], []
    for name, result in sorted(results.items()):
        outputs = result.get("files", []) if isinstance(result, dict) else []
        names = [file.get("name") if isinstance(file, dict) else file for file in outputs]
        # A name with a folder in it would lead out of the results.
        files = [file for file in names if isinstance(file, str) and Path(file).name == file]
        if _property(result, "method") not in METHODS or not files:
            notes.append(f"{name} of {folder} is no table, and was left out.")
            continue
        for file in files:
            place = str(Path(folder, file))
            declared = described.of(place)
            if declared.margins is None and _property(result, "mitigation") == "suppress":
                declared = replace(declared, margins="shown")  # so does ACRO
            if declared.dims is None:
                declared = replace(declared, dims=_dims(folder, name))
            table = None
            with suppress(NotACount):
                if "statistic" in declared.stated or _counts(result):
                    table = read_crosstab(place, declared)
            if table is None:
                notes.append(
                    f"{name} of {folder} holds no counts as far as is known, and was left out; if "
                    f'it does, or sums, declare statistic = "count" or "sum(column)" for {file}.'
                )
                continue
            tables.append(replace(table, name=f"{Path(folder).name}/{file}"))
    if not tables:
        raise TableError(f"{path} lists no table", hint="check the folder")
    return tables, notes


def _dims(folder: str, name: str) -> tuple[str, ...] | None:
    """Return the dimensions that the summary of a session records for an output."""
    summary = Path(folder, SUMMARY)
    if not summary.is_file():
        return None
    for row in csv.DictReader(io.StringIO(read_text_file(summary, what="summary"))):
        if row.get("uid") == name and row.get("independent_variables"):
            return tuple(part.strip() for part in row["independent_variables"].split(";"))
    return None


def _property(result: Any, name: str) -> str:
    properties = result.get("properties", {}) if isinstance(result, dict) else {}
    return str(properties.get(name, "")) if isinstance(properties, dict) else ""


def _counts(result: Any) -> bool:
    """Tell whether a table counts: ACRO names the kind of its statistics, earlier ones the call."""
    fair = result.get("fair")
    kind = fair.get("statbarn") if isinstance(fair, dict) else None
    if kind is not None:
        return str(kind) == "Frequencies"
    try:
        written = ast.parse(str(result.get("command", "")).strip())
    except (SyntaxError, ValueError, RecursionError):  # a line of several
        return False
    calls = [
        call
        for call in ast.walk(written)
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "crosstab"
    ]
    # What is counted has an index and columns; values and how to sum them up come after these.
    return bool(calls) and all(
        len(call.args) <= 2
        and not any(isinstance(part, ast.Starred) for part in call.args)
        and {word.arg for word in call.keywords}.isdisjoint({None, "values", "aggfunc"})
        for call in calls
    )


# --- the manifest of a dbt project: which of its models are published, and what they are about ----


def read_manifest(path: str | os.PathLike[str]) -> tuple[list[str], Descriptions]:
    """Return the files of all models that are published, and what their meta says about them.

    A model is published if its ``meta`` has the part ``hartley``, with the fields of a block of
    ``outputs.toml``; ``file`` names what it is exported to, by default the ``location`` of an
    external model. Names of files count from the folder of the project.
    """
    content = parse_json(read_text_file(path, what="manifest"), what=f"manifest {path}")
    nodes = content.get("nodes") if isinstance(content, dict) else None
    if not isinstance(nodes, dict):
        raise OptionError(
            f"{path} is not a manifest of dbt", hint="give target/manifest.json, after dbt build"
        )
    project = Path(path).resolve().parent.parent
    files: list[str] = []
    outputs = {}
    for _, node in sorted(nodes.items()):
        config = node.get("config") if isinstance(node, dict) else None
        config = config if isinstance(config, dict) else {}
        block = _meta(node, config)
        if block is None:
            continue
        name = one_line(str(node.get("name", "")))
        fields = dict(block)
        file = fields.pop("file", None) or config.get("location")
        if not isinstance(file, str):
            raise OptionError(
                f"The model {name} is published, but its file is not known",
                hint="materialise it as external with a location, or name the file in its meta: "
                "hartley: {file: published.csv}",
            )
        files.append(str(project / file))
        outputs[files[-1]] = read_description(fields)
    if not files:
        raise OptionError(
            f"No model of {path} is published",
            hint="add meta: {hartley: {dims: [region, sex]}} to those that are",
        )
    return files, Descriptions(outputs)


def _meta(node: Any, config: dict[str, Any]) -> dict[str, Any] | None:
    """Return the part ``hartley`` of the meta of a model; dbt keeps it in two places."""
    if not isinstance(node, dict) or node.get("resource_type") != "model":
        return None
    for meta in (config.get("meta"), node.get("meta")):
        if isinstance(meta, dict) and isinstance(meta.get("hartley"), dict):
            block: dict[str, Any] = meta["hartley"]
            return block
    return None
