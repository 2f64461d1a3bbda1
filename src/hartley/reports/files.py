"""Write a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hartley.errors import InputError


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write to a temporary name beside the file, then move it into place.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_whole(Path(folder) / "note.txt", "done").read_text())
        done
    """
    target = Path(path).resolve()  # a link stays a link
    if target.exists() and not target.is_file():
        raise InputError(
            f"{target} is not a file that can be written", hint="give the name of a plain file"
        )
    data = content.encode() if isinstance(content, str) else content
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError:
        raise InputError(
            f"The file {target} cannot be written",
            hint="check that its folder exists and may be written to",
        ) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise InputError(
            f"The file {target} cannot be written",
            hint="check that it is no folder and that the disk has room",
        ) from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(path)
