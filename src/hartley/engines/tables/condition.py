"""A condition over columns, written as SQL, checked against an allow-list before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.dialects.registry import EMBEDDED
from hartley.errors import OptionError
from hartley.files import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

MOST_CHARACTERS = 20_000
"""The longest condition; a longer one is refused before it is read."""
ALLOWED = frozenset(
    [
        "And",
        "Or",
        "Not",
        "Paren",
        "EQ",
        "NEQ",
        "GT",
        "GTE",
        "LT",
        "LTE",
        "Between",
        "In",
        "Is",
        "Like",
        "Null",
        "Boolean",
        "Literal",
        "Neg",
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Mod",
        "Pow",
        "Abs",
        "Column",
        "Identifier",
    ]
)


def evaluate_condition(text: str, columns: Mapping[str, Sequence[Any]]) -> NDArray[np.bool_]:
    """Return where a condition holds; a missing value makes it false.

    Example:
        >>> evaluate_condition("age >= 40 and sex = 'F'", {"age": [39, 41], "sex": ["F", "F"]})
        array([False,  True])
    """
    import sqlglot
    from sqlglot import exp

    from hartley.engines.tables.sources import open_table

    if len(text) > MOST_CHARACTERS:
        raise _refused(text, f"has more than {MOST_CHARACTERS:,} characters")
    try:
        tree = sqlglot.parse_one(text, dialect=EMBEDDED.sql)
    except (sqlglot.errors.SqlglotError, ValueError):
        raise _refused(text, "cannot be read") from None
    except RecursionError:
        raise _refused(text, "is nested too deep") from None
    for node in tree.walk():
        if type(node).__name__ not in ALLOWED:
            raise _refused(text, f"uses {type(node).__name__.lower()}")
        if isinstance(node, exp.Column) and node.name not in columns:
            quoted = "use single quotes for text; " if node.this.args.get("quoted") else ""
            raise OptionError(
                f"The condition '{one_line(text)}' names '{one_line(node.name)}', which is no "
                "secret column",
                hint=f"{quoted}the columns are {', '.join(columns)}",
            )
    table = open_table({name: list(values) for name, values in columns.items()})
    connection = table.backend.con
    try:
        condition = tree.sql(dialect=EMBEDDED.sql, identify=True)
        held = connection.execute(
            f"SELECT coalesce(({condition})::BOOLEAN, false) FROM hartley_source"  # noqa: S608 - allow-listed
        ).fetchnumpy()
    except RecursionError:
        raise _refused(text, "is nested too deep") from None
    except Exception:  # noqa: BLE001 - what the engine says may hold private values
        raise _refused(text, "does not fit the types of its columns") from None
    (truth,) = held.values()
    return np.asarray(truth, dtype=bool)


def _refused(text: str, why: str) -> OptionError:
    return OptionError(
        f"The condition '{one_line(text)}' {why}",
        hint="compare columns with values, for example age >= 50 and sex = 'F'",
    )
