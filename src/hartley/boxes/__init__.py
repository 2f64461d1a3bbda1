"""WHAT COULD BE TRUE, for numbers in intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "box": ("IntervalUnion",),
        "expression": (
            "parse_expression",
            "variables",
        ),
        "volumes": (
            "Volume",
            "volume",
        ),
        "zonotope": ("Zonotope",),
    },
)

if TYPE_CHECKING:
    from hartley.boxes.box import IntervalUnion as IntervalUnion
    from hartley.boxes.expression import (
        parse_expression as parse_expression,
        variables as variables,
    )
    from hartley.boxes.volumes import Volume as Volume, volume as volume
    from hartley.boxes.zonotope import Zonotope as Zonotope
