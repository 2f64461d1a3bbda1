"""How many records share their values, counted by the engine that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.engines.view import run

if TYPE_CHECKING:
    from hartley.engines.view import View


def class_sizes(view: View) -> dict[int, int]:
    """Return how many classes of equal records there are of each size.

    The engine groups the rows and then the sizes, so that few numbers leave it: at most the
    square root of twice the rows. One pass over the rows.

    Example:
        >>> from hartley.engines.sources import open_table
        >>> from hartley.engines.view import prepare
        >>> class_sizes(prepare(open_table({"a": [1, 1, 2, 3]}), ["a"]))
        {1: 2, 2: 1}
    """
    rows = view.expression
    classes = rows.group_by([rows[name] for name in rows.columns]).aggregate(size=rows.count())
    sizes = classes.group_by("size").aggregate(classes=classes.count()).order_by("size")
    found = run(view.table, sizes.to_pyarrow)
    return {
        int(size): int(number)
        for size, number in zip(
            found.column("size").to_pylist(), found.column("classes").to_pylist(), strict=True
        )
    }
