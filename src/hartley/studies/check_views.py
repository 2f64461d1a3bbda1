"""What each attacker knows of published tables, and what the rules say about the cells then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.ranges.tables.inference import Inference


@dataclass(frozen=True)
class Opinion:
    """What one rule says about one cell."""

    cell: int
    verdict: str
    rule: str
    why: str
    line: int | None = None
    """The relation of a line in which everybody has one category."""


@dataclass(frozen=True)
class CheckedView:
    """What one attacker knows, and what each rule says about the cells then."""

    inference: Inference
    opinions: Mapping[int, Opinion]
    knows: tuple[int, int] | None = None
    """A cell and its number, which a sole contributor knows; None for anybody."""
