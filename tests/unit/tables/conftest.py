"""What the tests of tables share: files to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Write a text or bytes and return the path: ``file("a,b\\n1,2\\n")``."""

    def write(content: str | bytes, name: str = "t.csv") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
