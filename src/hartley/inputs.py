"""Kinds of input: what a parameter takes in Python, and how the same is written in a shell.

A public function says the kind of each parameter in its signature, as ``bins: Settings = None``.
The command line makes its options of the signature and of the ``Args`` of the docstring.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

__all__ = ["InputKind", "Literal", "formerly"]


@dataclass(frozen=True)
class InputKind:
    """How a value is written in a shell."""

    name: str
    form: str
    """What stands for the value in the help, such as COL=STEP."""
    help: str = ""
    """The help where every command means the same; else the ``Args`` of the function say it."""
    argument: bool = False
    """Whether a shell names it by its place, without an option."""
    repeats: bool = False
    example: str = ""
    """What a hint says to write, where the form is no example."""


Rows = Annotated[
    Any,
    InputKind(
        "rows",
        "TABLE...",
        "Files of rows: Parquet, CSV, Excel, SPSS, Stata or SAS, or - for standard input; "
        "several are read as one table.",
        argument=True,
        repeats=True,
    ),
]
"""A table, in all forms that ``open_table`` takes; in a shell the files of one table."""
MoreRows = Annotated[Any, InputKind("more_rows", "TABLE", repeats=True)]
"""A second table, read as the first one is."""
Columns = Annotated[str | Sequence[str], InputKind("columns", "COL[,COL]", repeats=True)]
ColumnGroups = Annotated[
    str | Sequence[str | Sequence[str]], InputKind("column_groups", "COL[,COL]", repeats=True)
]
"""Columns, of which those of one group belong together."""
RowType = Any
"""``ROW``, the record itself, which a shell writes as a column of this name."""
Ends = Annotated[str | Sequence[object], InputKind("text", "LOW:HIGH")]
"""Two numbers, such as "0:10" or (0, 10)."""
Column = Annotated[str, InputKind("text", "COL")]
Settings = Annotated[Mapping[str, object], InputKind("settings", "COL=STEP", repeats=True)]
Lists = Annotated[
    Mapping[str, Sequence[object]],
    InputKind("lists", "COL=W,W,...", repeats=True, example="COL=5,10,20"),
]
Sweeps = Annotated[
    Mapping[str, str | Sequence[object]],
    InputKind("setting", "COL=LOW:HIGH[:BY]", example="COL=1:50"),
]
Groups = Annotated[Mapping[str, Any], InputKind("groups", "COL=FILE", repeats=True)]
"""For columns, the groups of every value from narrow to wide; in a shell CSV files of them."""
Marks = Annotated[Mapping[str, str], InputKind("settings", "MARK=MEANING", repeats=True)]
Texts = Annotated[Sequence[Any], InputKind("texts", "TEXT", repeats=True)]
Condition = Annotated[str, InputKind("text", "CONDITION")]
Text = Annotated[str, InputKind("text", "TEXT")]
Errors = Annotated[str | Sequence[object], InputKind("text", "LOW:HIGH[:N]")]
Seed = Annotated[int | str | bytes | None, InputKind("number", "N")]
Number = Annotated[Any, InputKind("text", "NUMBER")]
"""A number that is read exactly: a text, a whole number, a decimal or a fraction."""
Size = Annotated[int | str, InputKind("text", "SIZE")]
Files = Annotated[Any, InputKind("files", "[OUTPUT]...", argument=True, repeats=True)]
InputFile = Annotated[str | os.PathLike[str], InputKind("path", "FILE")]
Document = Annotated[Any, InputKind("path", "FILE")]
"""A document of Hartley: its path, its content, or what was read from it before."""
DesignFile = Annotated[Any, InputKind("design", "SPEC", argument=True)]
PolicyFile = Annotated[Any, InputKind("path", "POLICY", argument=True)]
Address = Annotated[str | os.PathLike[str], InputKind("address", "ADDRESS")]
"""A path or the address of something in a database."""
Workload = Annotated[Any, InputKind("path", "QUESTIONS", argument=True)]
"""Questions with their wishes; in a shell the file that holds them."""
LedgerSource = Annotated[Any, InputKind("address", "FILE|URL")]
"""A ledger that is open, or the file or the address of one."""
LedgerAddress = Annotated[str | os.PathLike[str], InputKind("address", "LEDGER", argument=True)]
OutputFile = Annotated[str | os.PathLike[str], InputKind("output", "FILE")]
RolesSource = Annotated[
    Any,
    InputKind(
        "roles",
        "FILE",
        "The confirmed roles of the columns, as hartley scan --draft writes them; columns that "
        "you do not name on the command line are taken from there.",
    ),
]
Few = Annotated[
    int,
    InputKind(
        "number",
        "K",
        "Count the people in groups of fewer than this many with the same values.",
    ),
]
Progress = Annotated[Callable[[str, float], None], InputKind("progress", "")]
"""Called with the name of the current step and the share of it that is done."""
PythonOnly = Annotated[T, InputKind("python", "")]
"""What a shell has no option for."""


def formerly(
    convert: Callable[[Any], Any] = lambda value: value, **names: str
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Accept old names of parameters for one version, with a warning that says the new ones.

    Args:
        convert: what makes of a value under the old name one for the new name.
        names: the old name of each parameter.

    Example:
        >>> @formerly(few="k")
        ... def count(few=5): return few
        >>> import warnings
        >>> with warnings.catch_warnings(record=True, action="always") as said:
        ...     count(k=3), str(said[0].message)
        (3, 'The parameter k of count is now called few')
    """

    def accept(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def accepting(*given: P.args, **named: P.kwargs) -> T:
            for new, old in names.items():
                if old in named:
                    message = f"The parameter {old} of {function.__name__} is now called {new}"
                    warnings.warn(message, DeprecationWarning, stacklevel=2)
                    named[new] = convert(named.pop(old))
            return function(*given, **named)

        return accepting

    return accept
