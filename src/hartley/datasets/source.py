"""Find the file of a data set: a local copy, a copy in the cache, or a download."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast
from urllib.parse import urlsplit

from hartley.errors import EngineError, InputError, TableError
from hartley.files import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE_VARIABLE = "HARTLEY_DATA"
PATIENCE = 30.0
"""A download is given up after this many seconds without a byte."""
CHUNK = 1 << 20
DEEPEST = 2
"""How many folders below the named one are searched."""


@dataclass(frozen=True)
class Source:
    """Where a data set comes from, and the file names by which a copy is recognised."""

    name: str
    title: str
    page: str
    """The page on which its owner describes and offers it."""
    licence: str
    file: str
    """The official file name, under which a download is saved."""
    patterns: tuple[str, ...] = ()
    """Patterns of other file names for copies."""
    url: str | None = None
    """The address that openly serves it as one file; None if there is none."""
    sha256: str | None = None
    """The checksum of the file at that address, if it is known."""
    barrier: str | None = None
    """The reason why there is no address, as the end of a sentence."""


def cache_folder(cache: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that keeps downloads.

    This is the given folder, or the one in ``HARTLEY_DATA``, or the user's cache, in this order.

    Example:
        >>> cache_folder("downloads").name
        'downloads'
    """
    named = cache if cache is not None else os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        home = "~/Library/Caches"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "hartley"


def find_copy(
    source: Source,
    path: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> Path | None:
    """Return a copy of a data set, by its path or in the cache; None if there is no copy."""
    if path is not None:
        place = Path(path).expanduser()
        return _in_folder(source, place) if place.is_dir() else place if place.exists() else None
    folder = cache_folder(cache)
    return _in_folder(source, folder) if folder.is_dir() else None


def locate(
    source: Source,
    path: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    cache: str | os.PathLike[str] | None = None,
) -> Path:
    """Return the file of a data set, from a path, from the cache, or downloaded into it."""
    copy = find_copy(source, path, cache)
    if copy is not None:
        return copy
    if path is not None:
        if Path(path).expanduser().is_dir():
            raise TableError(
                f"The folder {path} contains no file of the {source.title}",
                hint=f"give the file a name like {source.file}, or name the file itself",
            )
        raise TableError(f"There is no file {path}", hint="check the spelling and the folder")
    if not download:
        raise TableError(
            f"There is no copy of the {source.title} in {cache_folder(cache)}",
            hint=_how_to_get(source),
        )
    if source.url is None:
        problem = f"The {source.title} cannot be downloaded: the set {source.barrier}"
        raise TableError(problem, hint=_by_hand(source, cache))
    return fetch(source.url, cache_folder(cache) / source.file, source.sha256, source.page)


def _how_to_get(source: Source) -> str:
    ask = "" if source.url is None else ", ask for the download"
    return f"name a copy{ask}, or use the synthetic twin; the data are at {source.page}"


def _by_hand(source: Source, cache: str | os.PathLike[str] | None) -> str:
    return f"get it from {source.page}, then name it or put it into {cache_folder(cache)}"


def _in_folder(source: Source, folder: Path) -> Path | None:
    """Return the first file with a known name in a folder or below, the official name first."""
    for pattern in (source.file, *source.patterns):
        for depth in range(DEEPEST + 1):
            files = sorted(filter(Path.is_file, folder.glob("*/" * depth + pattern)))
            if files:
                return files[0]
    return None


def fetch(url: str, target: Path, sha256: str | None = None, page: str = "") -> Path:
    """Download a file completely or not at all.

    The download is written to a temporary file in the same folder. It is moved into place only if
    all announced bytes arrived and the checksum, if it is known, agrees.

    Args:
        url: the address of the file.
        target: the file to write; its folder is created.
        sha256: the checksum that the file must have.
        page: where the file can be downloaded by hand, for the hint of an error.
    """
    host = urlsplit(url).hostname or "the file system"
    hint = f"try later, or get it from {page or url} and name the file"
    with contextlib.suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
    if not (target.parent.is_dir() and os.access(target.parent, os.W_OK)):
        raise InputError(
            f"The folder {target.parent} cannot be written to",
            hint=f"set {CACHE_VARIABLE} to another one",
        )
    with whole_file(target) as half:
        with half.open("wb") as file:
            digest, complete = _receive(url, host, file, hint)
        _refuse_partial(target.name, host, hint, complete=complete)
        _refuse_unknown(target.name, host, page or url, fits=sha256 in {None, digest})
    return target


def _refuse_partial(name: str, host: str, hint: str, *, complete: bool) -> None:
    if not complete:
        raise EngineError(f"The download of {name} from {host} was interrupted", hint=hint)


def _refuse_unknown(name: str, host: str, page: str, *, fits: bool) -> None:
    if not fits:
        raise EngineError(
            f"The file {name} from {host} differs from the known one",
            hint=f"its checksum differs; see {page} for a newer version",
        )


def _receive(url: str, host: str, file: IO[bytes], hint: str) -> tuple[str, bool]:
    """Copy the content of an address; return its checksum, and whether it is complete."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    digest, size = hashlib.sha256(), 0
    asked = Request(url, headers={"User-Agent": "hartley"})  # noqa: S310 - the project's own addresses
    try:
        with urlopen(asked, timeout=PATIENCE) as answer:  # noqa: S310 - likewise
            announced = answer.headers.get("Content-Length")
            while chunk := answer.read(CHUNK):
                digest.update(chunk)
                size += len(chunk)
                file.write(chunk)
    except HTTPException:
        return "", False
    except OSError as error:
        failure = "cannot be reached"
        if isinstance(error, HTTPError):
            error.close()
            failure = f"answered with error {error.code}"
        raise EngineError(f"The source {host} {failure}", hint=hint) from None
    return digest.hexdigest(), size > 0 and (announced is None or int(announced) == size)


def opened(path: Path, member: str = "*") -> IO[bytes]:
    """Open a file for reading; gzip and zip files are unpacked.

    Args:
        path: the file.
        member: a pattern for the file in a zip archive.
    """
    import gzip

    try:
        with path.open("rb") as file:
            start = file.read(4)
        if start[:2] == b"\x1f\x8b":
            return cast("IO[bytes]", gzip.open(path, "rb"))
        if start == b"PK\x03\x04":
            return _member(path, member)
        return path.open("rb")
    except OSError:
        raise TableError(f"The file {path} cannot be read", hint="check its permissions") from None
    except zipfile.BadZipFile:
        raise TableError(
            f"The archive {path} is damaged", hint="delete it and download it again"
        ) from None


def _member(path: Path, pattern: str) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    names = list(_matching(archive.namelist(), pattern))
    if not names:
        raise TableError(
            f"The archive {path} contains no file like {pattern}",
            hint="unpack it and name the file",
        )
    return archive.open(names[0])


def _matching(names: list[str], pattern: str) -> Iterator[str]:
    from fnmatch import fnmatch

    return (name for name in sorted(names) if fnmatch(name.lower(), pattern.lower()))
