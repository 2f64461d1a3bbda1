"""The command line: one file a command, put together here."""

from __future__ import annotations

from hartley.cli.main import main

__all__ = ["main"]
