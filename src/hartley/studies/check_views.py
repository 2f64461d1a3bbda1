"""What each attacker knows of published tables, and what the rules say about the cells then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.ranges.tables.inference import Inference
    from hartley.ranges.tables.one_table import Change, HullPoint, OneTable
    from hartley.ranges.tables.system import Multipliers


@dataclass(frozen=True)
class Opinion:
    """What one rule says about one cell."""

    cell: int
    verdict: str
    rule: str
    why: str
    line: int | None = None
    """The relation of a line in which everybody has one category."""


@dataclass
class CheckedView:
    """What one attacker knows, and what each rule says about the cells then."""

    inference: Inference
    opinions: Mapping[int, Opinion]
    knows: tuple[tuple[int, int], ...] = ()
    """Cells and their numbers, which a sole contributor knows; none for anybody."""
    unions: Mapping[str, OneTable] = field(default_factory=dict)
    """What was asked about sums of hidden cells under each rule, for all attackers."""
    means: dict[int, tuple[int, HullPoint]] = field(default_factory=dict)
    """For cells whose marks say that they are small, a threshold and a mean of tables with it."""
    changes: dict[Change, int] = field(default_factory=dict)
    """The changes of the first table that these means are made of, numbered."""
    known_unions: list[Multipliers] = field(default_factory=list)
    """Combinations of relations that tell a small sum of cells."""
