"""Tests whether columns of a table are unrelated, given others or not, or form a Markov chain."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import OptionError
from hartley.exact import parse_step
from hartley.ranges.relations.values import encode_arrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Variable = str | Sequence[str]
    """A column, or several columns that make one variable together."""


def are_unrelated(
    table: object,
    variables: Sequence[Variable],
    *,
    given: Variable | None = None,
    bins: Mapping[str, object] | None = None,
    missing: str = "value",
) -> bool:
    r"""Return whether no variable says anything about the others, perhaps given one more.

    .. math:: [X_1, \dots, X_n | y] = [X_1 | y] \times \dots \times [X_n | y] \quad \forall y

    Definition II.1 of Farokhi 2019. Exact. Grows with the number of distinct rows.

    Example:
        >>> coins = {"one": [0, 0, 1, 1], "two": [0, 1, 0, 1], "sum": [0, 1, 1, 2]}
        >>> are_unrelated(coins, ["one", "two"])
        True
        >>> are_unrelated(coins, ["one", "two"], given="sum")
        False
    """
    if len(variables) < 2:
        raise OptionError("Unrelatedness needs at least two variables", hint="name two or more")
    wanted = [*variables, *([] if given is None else [given])]
    codes = _codes(table, wanted, bins, missing)
    condition = codes.pop() if given is not None else np.zeros_like(codes[0])
    return _product_given(codes, condition)


def is_markov_chain(
    table: object,
    variables: Sequence[Variable],
    *,
    bins: Mapping[str, object] | None = None,
    missing: str = "value",
) -> bool:
    r"""Return whether the variables form a Markov uncertainty chain in the given order.

    .. math:: X_1 - X_2 - \dots - X_n : \quad [X_i | x_j, x_l] = [X_i | x_j] \quad i < j < l

    For every three of them, the outer two are unrelated given the middle one (Ding and Farokhi
    2021, Section II). Exact. Grows with the number of distinct rows.

    Example:
        >>> is_markov_chain({"x": [1, 2, 3], "y": [1, 1, 2], "z": [0, 0, 0]}, ["x", "y", "z"])
        True
    """
    if len(variables) < 3:
        raise OptionError(
            "A Markov chain needs at least three variables", hint="name three or more"
        )
    codes = _codes(table, variables, bins, missing)
    return all(
        _product_given([codes[i], codes[k]], codes[j])
        for i, j, k in combinations(range(len(codes)), 3)
    )


def _codes(
    table: object,
    variables: Sequence[Variable],
    bins: Mapping[str, object] | None,
    missing: str,
) -> list[NDArray[np.int64]]:
    """Return the distinct rows of the variables, each variable as codes."""
    from hartley.engines.counting.pairs import distinct_counts
    from hartley.engines.tables.sources import open_table
    from hartley.engines.tables.table import names_of
    from hartley.engines.tables.view import prepare

    groups = [list(names_of(names)) for names in variables]
    columns = [name for names in groups for name in names]
    steps = {name: parse_step(step, column=name) for name, step in (bins or {}).items()}
    view = prepare(
        open_table(table), columns, steps=[steps.get(name) for name in columns], missing=missing
    )
    distinct = distinct_counts(view)
    codes, start = [], 0
    for names in groups:
        at = range(start, start + len(names))
        start += len(names)
        codes.append(
            encode_arrow(distinct.select([f"c{i}" for i in at]), [view.columns[i] for i in at])[0]
        )
    return codes


def _product_given(codes: list[NDArray[np.int64]], condition: NDArray[np.int64]) -> bool:
    """Return whether the joint range is a product of ranges under every value of the condition."""
    joint = condition
    for code in codes:
        _, joint = np.unique(joint * (code.max() + 1) + code, return_inverse=True)
    _, first = np.unique(joint, return_index=True)
    conditions = int(condition.max()) + 1
    together = np.bincount(condition[first], minlength=conditions)
    product = np.ones(conditions, np.int64)
    for code in codes:
        distinct = np.unique(condition * (code.max() + 1) + code)
        sizes = np.bincount(distinct // (code.max() + 1), minlength=conditions)
        product = np.minimum(product * sizes, joint.size + 1)  # more than there are rows is enough
    return bool((together == product).all())
