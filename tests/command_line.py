"""The command line as tests call it: in this process, or in one of its own where that matters."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from typing import TYPE_CHECKING
from unittest import mock

from hartley.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def run(*words: object, cwd: Path | str = ".") -> subprocess.CompletedProcess[str]:
    """Run a command in this process: the packages are loaded once for all tests."""
    arguments = ["hartley", *map(str, words)]
    screens = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    with (
        mock.patch.object(sys, "argv", arguments),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(screens[0]),
        contextlib.redirect_stderr(screens[1]),
    ):
        try:
            main()
        except SystemExit as ending:
            code = ending.code
    shown, complained = (_content(screen) for screen in screens)
    return subprocess.CompletedProcess(arguments, int(code or 0), shown, complained)


def run_process(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, with another environment or standard input."""
    return subprocess.run(
        [sys.executable, "-m", "hartley.cli", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def _content(screen: io.TextIOWrapper) -> str:
    screen.flush()
    return screen.buffer.getvalue().decode()
