"""What the measures' tests share."""

from __future__ import annotations

import pytest

from hartley import Relation


@pytest.fixture(scope="session")
def single() -> Relation:
    """One value a side, in three rows."""
    return Relation.from_pairs([(1, "a")] * 3)
