"""The results folder of ACRO: which of its files are published tables."""

from __future__ import annotations

import ast
import csv
import io
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.crosstabs.reading import NotACount, read_crosstab
from hartley.errors import TableError
from hartley.files import parse_json, read_text_file

if TYPE_CHECKING:
    from hartley.engines.crosstabs.crosstab import Crosstab
    from hartley.engines.crosstabs.description import Descriptions

RESULTS = "results.json"
SUMMARY = "session_summary.csv"
METHODS = ("crosstab", "pivot_table")


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
        files = _files(result)
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


def _files(result: Any) -> list[str]:
    listed = result.get("files", []) if isinstance(result, dict) else []
    names = [file.get("name") if isinstance(file, dict) else file for file in listed]
    # A name with a folder in it would lead out of the results.
    return [name for name in names if isinstance(name, str) and Path(name).name == name]


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
