"""Write what is made from the registry of measures: tables of the docs, typed names of the package.

python tools/measure_tables.py           writes the files anew
python tools/measure_tables.py --check   names those that differ, and exits with 1
"""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import hartley
import hartley.measures
from hartley.measures.registry import HOMES, MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hartley.measures.registry import MeasureEntry

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- from the registry: {} -->\n", "<!-- end -->"


def reference_table(entries: Iterable[MeasureEntry]) -> str:
    """Return a table of names: what each is, which ranges it takes, how certain it is."""
    lines = ["| name | what it is | takes | certainty |", "| --- | --- | --- | --- |"]
    for entry in entries:
        lines.append(
            _row(
                _code(entry.name), _first_line(entry.name), ", ".join(entry.takes), entry.certainty
            )
        )
        lines += [_row(_code(name), _first_line(name), "", "") for name in entry.results]
    return "\n".join(lines) + "\n"


def notation_table() -> str:
    """Return a table of symbols: what each means, where it is defined, what it is called here."""
    lines = ["| symbol | in words | defined in | here |", "| --- | --- | --- | --- |"]
    lines += [
        _row(_escaped(entry.notation or entry.symbol), entry.title, entry.source, _code(entry.name))
        for entry in MEASURES.values()
    ]
    return "\n".join(lines) + "\n"


def typed_names() -> str:
    """Return the imports that tell type checkers what ``hartley.measures`` exports."""
    names = defaultdict(list)
    for name, home in HOMES.items():
        names[home].append(name)
    lines = ["if TYPE_CHECKING:"]
    for home in sorted(names):
        listed = [f"{name} as {name}" for name in sorted(names[home], key=_classes_first)]
        line = f"    from {home} import {', '.join(listed)}"
        if len(line) > 100 or len(listed) > 1:
            line = f"    from {home} import (\n        " + ",\n        ".join(listed) + ",\n    )"
        lines.append(line)
    return "\n".join(lines) + "\n"


def made_files() -> dict[Path, str]:
    """Return every file that is made, or made in part, from the registry: its whole text."""
    public = [entry for entry in MEASURES.values() if entry.name in hartley.__all__]
    others = [entry for entry in MEASURES.values() if entry.name not in hartley.__all__]
    reference, notation = (ROOT / "docs" / f"{page}.md" for page in ("reference", "notation"))
    package = Path(inspect.getfile(hartley.measures))
    text = _replaced(reference.read_text(), "hartley", reference_table(public))
    before, _, _ = package.read_text().partition("if TYPE_CHECKING:\n")
    return {
        reference: _replaced(text, "hartley.measures", reference_table(others)),
        notation: _replaced(notation.read_text(), "symbols", notation_table()),
        package: before + typed_names(),
    }


def _replaced(text: str, name: str, table: str) -> str:
    begin = BEGIN.format(name)
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(END)
    return f"{before}{begin}\n{table}\n{END}{after}"


def _first_line(name: str) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(getattr(hartley.measures, name)) or "").split("\n")[0]


def _classes_first(name: str) -> tuple[bool, str]:
    return name.islower(), name


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _code(name: str) -> str:
    """Return a name as it is written after ``hartley.``."""
    return f"`{name if name in hartley.__all__ else f'measures.{name}'}`"


def _escaped(symbol: str) -> str:
    return symbol.replace("|", r"\|").replace("*", r"\*")


def main() -> int:
    """Write the files, or check them."""
    different = {path: text for path, text in made_files().items() if path.read_text() != text}
    for path, text in different.items():
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
        if "--check" not in sys.argv:
            path.write_text(text)
    return int(bool(different) and "--check" in sys.argv)


if __name__ == "__main__":
    raise SystemExit(main())
