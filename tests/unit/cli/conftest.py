import os
import pty
import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def in_terminal():
    """Run a command as a person at a terminal does; return its exit code and what it showed."""

    def run(*words):
        reader, writer = pty.openpty()
        child = subprocess.Popen(
            [sys.executable, "-m", "hartley.cli", *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
        )
        os.close(writer)
        screen = b""
        while True:
            try:
                part = os.read(reader, 65536)
            except OSError:  # the child has closed its side
                break
            if not part:
                break
            screen += part
        os.close(reader)
        return child.wait(), screen.decode()

    return run
