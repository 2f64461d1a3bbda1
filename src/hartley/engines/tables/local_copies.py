"""Private copies of what the engine cannot read where it lies: standard input, other encodings."""

from __future__ import annotations

import codecs
import gzip
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.errors import TableError
from hartley.files import PrivateFolder, remember_input

if TYPE_CHECKING:
    from collections.abc import Sequence

CHUNK = 1 << 20
_SIGNATURES = (
    (b"PAR1", ".parquet"),
    (b"PK\x03\x04", ".xlsx"),
    (b"$FL", ".sav"),
    (b"<stata_dta>", ".dta"),
    (b"\x1f\x8b", ".csv.gz"),
)
"""The first bytes by which a file without a name is recognised; everything else is CSV."""


@dataclass
class LocalCopies:
    """A private folder for copies; it exists from the first copy until the table is given up."""

    folders: list[PrivateFolder] = field(default_factory=list)

    def place(self, name: str) -> Path:
        """Return a new place with the name of a file."""
        self.folders.append(PrivateFolder(Path(tempfile.gettempdir()), "hartley-copy"))
        return self.folders[-1].path / name

    def close(self) -> None:
        """Remove all copies."""
        for folder in self.folders:
            folder.close()


def spool_input(copies: LocalCopies) -> str:
    """Copy standard input to a private file whose ending says what it holds, and return its path.

    An input that was read before is empty, and refused as such.
    """
    stream: Any = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.closed:
        raise TableError("There is no standard input to read", hint="name a file instead of -")
    first = stream.read(CHUNK)
    if not first:
        raise TableError(
            "Standard input holds nothing, or was read before",
            hint="pipe a table into the command, and name - only once",
        )
    ending = next((end for mark, end in _SIGNATURES if first.startswith(mark)), ".csv")
    path = copies.place(f"standard-input{ending}")
    with path.open("wb") as file:
        file.write(first)
        shutil.copyfileobj(stream, file, CHUNK)
    remember_input(path)
    return str(path)


def in_utf8(path: str, encoding: str, copies: LocalCopies) -> str:
    """Copy a CSV file into UTF-8, in pieces of a megabyte, and return the path of the copy.

    A file that is no text of the named encoding is refused with the line where it is not.
    """
    if path.endswith(".zst"):
        raise TableError(
            f"The file {Path(path).name} is compressed and not UTF-8 text",
            hint="unpack it first, for example with zstd -d",
        )
    opener: Any = gzip.open if path.endswith(".gz") else open
    decoder = codecs.getincrementaldecoder(encoding)()
    target = copies.place(Path(path).name.removesuffix(".gz"))
    line = 1
    with opener(path, "rb") as source, target.open("wb") as copy:
        while True:
            chunk = source.read(CHUNK)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(encoding, errors="ignore")
                raise TableError(
                    f"The file {Path(path).name} is not {encoding} text in line "
                    f"{line + before.count(chr(10)):,}",
                    hint="name its encoding, for example with --encoding cp1252, latin-1 or utf-16",
                ) from None
            line += text.count("\n")
            copy.write(text.encode())  # the engine skips a byte order mark
            if not chunk:
                return str(target)


def suspected_encoding(path: str | Path, candidates: Sequence[str] = ("utf-8", "cp1252")) -> str:
    """Return the encoding that a CSV file seems to have: by its mark, or the first that fits.

    UTF-16 is recognised by its mark. A file that is no UTF-8 is taken for the encoding of Western
    Windows, which is a guess: no text says in which of the one-byte encodings it was written.
    """
    opener: Any = gzip.open if str(path).endswith(".gz") else open
    decoders = {name: codecs.getincrementaldecoder(name)() for name in candidates}
    with opener(path, "rb") as file:
        first = True
        while decoders:
            chunk = file.read(CHUNK)
            if first and chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return "utf-16"
            first = False
            for name in list(decoders):
                try:
                    decoders[name].decode(chunk, final=not chunk)
                except UnicodeDecodeError:
                    del decoders[name]
            if not chunk:
                break
    return next(iter(decoders), "latin-1")
