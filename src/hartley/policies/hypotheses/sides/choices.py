"""Lists of values as formulas over indices: nested choices, by bisection."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.engines.maps.formula import Tree
    from hartley.policies.hypotheses.lattice import LatticeColumn

ZERO, ONE = ("const", "0"), ("const", "1")


def runs(values: Sequence[int]) -> list[tuple[int, Tree]]:
    """Return where a list changes its value, and the value from there on.

    Example:
        >>> runs([7, 7, 3])
        [(0, ('const', '7')), (2, ('const', '3'))]
    """
    return starts([("const", str(value)) for value in values])


def starts(trees: Sequence[Tree]) -> list[tuple[int, Tree]]:
    """Return the places of a list of formulas at which another one begins, and that one."""
    return [
        (place, tree) for place, tree in enumerate(trees) if not place or tree != trees[place - 1]
    ]


def chosen(value: Tree, listed: Sequence[tuple[int, Tree]]) -> Tree:
    """Return the formula of the last start that is not above a value, by bisection.

    Example:
        >>> chosen(("var", "x"), runs([7, 7, 3]))
        ('if', ('<', ('var', 'x'), ('const', '2')), ('const', '7'), ('const', '3'))
    """
    if len(listed) == 1:
        return listed[0][1]
    middle = len(listed) // 2
    below = ("<", value, ("const", str(listed[middle][0])))
    return ("if", below, chosen(value, listed[:middle]), chosen(value, listed[middle:]))


def place_tree(names: Sequence[str], columns: Mapping[str, LatticeColumn]) -> Tree:
    """Return the number of a combination of indices, the last column running fastest."""
    tree: Tree = ZERO
    for place, name in enumerate(names):
        size = ("const", str(columns[name].last + 1))
        tree = ("+", ("*", tree, size), ("var", name)) if place else ("var", name)
    return tree
