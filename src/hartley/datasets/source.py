"""Find the file of a data set: a local copy, a copy in the cache, or a download."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import zipfile
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import numpy as np

from hartley.errors import ColumnError, EngineError, InputError, TableError
from hartley.files import whole_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


CACHE_VARIABLE = "HARTLEY_DATA"
PATIENCE = 30.0
"""A download is given up after this many seconds without a byte."""
CHUNK = 1 << 20
DEEPEST = 2
"""How many folders below the named one are searched."""
MISSING = ("", "?", "NA", "NaN", "nan", "NULL")
"""The texts that stand for a missing value in the files."""
DAMAGES = (EOFError, OSError, UnicodeDecodeError, zipfile.BadZipFile, zlib.error)
"""The errors that reading a damaged file or archive can raise."""
HALF_HOURS = tuple(f"{end // 60 % 24}:{end % 60:02d}" for end in range(30, 1441, 30))
"""The 48 columns of a day of half-hour readings, each named after the end of its half hour."""


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

    @property
    def origin(self) -> str:
        """What it is, and where it comes from, in a few words."""
        return f"{self.title} ({self.licence}), from {self.page}"


def cache_folder(cache: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of downloads: the given one, that in HARTLEY_DATA, or the user's cache."""
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
            hint=f"name a copy{'' if source.url is None else ', ask for the download'}, or use the "
            f"synthetic twin; the data are at {source.page}",
        )
    if source.url is None:
        raise TableError(
            f"The {source.title} cannot be downloaded: the set {source.barrier}",
            hint=f"get it from {source.page}, then name it or put it into {cache_folder(cache)}",
        )
    return fetch(source.url, cache_folder(cache) / source.file, source.sha256, source.page)


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
        if not complete:
            raise EngineError(
                f"The download of {target.name} from {host} was interrupted", hint=hint
            )
        if sha256 not in {None, digest}:
            raise EngineError(
                f"The file {target.name} from {host} differs from the known one",
                hint=f"its checksum differs; see {page or url} for a newer version",
            )
    return target


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
    """Open a file for reading; gzip and zip files are unpacked."""
    import gzip

    try:
        with path.open("rb") as file:
            start = file.read(4)
        if start[:2] == b"\x1f\x8b":
            return cast("IO[bytes]", gzip.open(path, "rb"))
        return _member(path, member) if start == b"PK\x03\x04" else path.open("rb")
    except OSError:
        raise TableError(f"The file {path} cannot be read", hint="check its permissions") from None
    except zipfile.BadZipFile:
        raise TableError(
            f"The archive {path} is damaged", hint="delete it and download it again"
        ) from None


def _member(path: Path, pattern: str) -> IO[bytes]:
    from fnmatch import fnmatch

    archive = zipfile.ZipFile(path)
    names = [name for name in archive.namelist() if fnmatch(name.lower(), pattern.lower())]
    if not names:
        raise TableError(
            f"The archive {path} contains no file like {pattern}",
            hint="unpack it and name the file",
        )
    return archive.open(min(names))


def read_csv(  # noqa: PLR0913 - how a file is written, each by name
    path: Path,
    title: str,
    *,
    names: Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    skip: int = 0,
    member: str = "*.csv",
    delimiter: str = ",",
) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
    """Read comma-separated values; with ``names``, the file has no header."""
    import pyarrow as pa
    import pyarrow.csv

    try:
        with opened(path, member) as file:
            return pyarrow.csv.read_csv(
                file,
                pyarrow.csv.ReadOptions(skip_rows=skip, column_names=names),
                pyarrow.csv.ParseOptions(delimiter=delimiter),
                pyarrow.csv.ConvertOptions(
                    column_types=types, null_values=list(MISSING), strings_can_be_null=True
                ),
            )
    except (pa.ArrowException, *DAMAGES):
        raise not_the_file(path, title) from None


def first_lines(path: Path, lines: int = 2, member: str = "*.csv") -> list[str]:
    """Return the first lines of a file, to recognise its layout."""
    try:
        with opened(path, member) as file:
            texts = [file.readline(1 << 16).decode("utf-8", "replace") for _ in range(lines)]
    except DAMAGES:
        raise TableError(f"The file {path} is damaged", hint="download it again") from None
    return [text.strip().removeprefix("\ufeff") for text in texts]


def typed(table: Any, types: Mapping[str, Any], path: Path, title: str) -> Any:  # noqa: ANN401 - pyarrow tables
    """Return the named columns with the given types; a cast that would round is an error."""
    import pyarrow as pa

    absent = [name for name in types if name not in table.column_names]
    if absent:
        raise not_the_file(path, title, f"it has no column '{absent[0]}'")
    try:
        return pa.table({name: table.column(name).cast(kind) for name, kind in types.items()})
    except pa.ArrowException:
        raise not_the_file(path, title) from None


def not_the_file(path: Path, title: str, why: str = "") -> TableError:
    """Return the error for a file that does not have the expected layout."""
    problem = f"The file {path} is not in a layout of the {title}"
    return TableError(
        problem + (f": {why}" if why else ""), hint="download the official file again"
    )


@dataclass(frozen=True)
class Dataset:
    """A table with its name, units and origin; generated data are marked as synthetic.

    Example:
        >>> import pyarrow as pa
        >>> two = Dataset("ages", pa.table({"age": [30, None]}), synthetic=True, source="By hand.")
        >>> two.title, two.rows, two.numbers("age").tolist()
        ('ages (synthetic)', 2, [30.0, nan])
        >>> two.complete("age").rows
        1
    """

    name: str
    table: Any = field(repr=False)
    """A pyarrow table."""
    synthetic: bool
    source: str
    """One sentence that says where the table comes from."""
    units: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The unit of each column that has one."""
    notes: tuple[str, ...] = field(default=(), repr=False)
    """Sentences that a reader of the numbers must know."""

    @classmethod
    def of(cls, source: Source, table: Any, /, *, why: str = "", **more: Any) -> Dataset:  # noqa: ANN401 - its fields
        """Return the table of a source; ``why`` says that a synthetic one is about nobody."""
        origin = f"Synthetic, drawn by a seeded generator after the {source.title}: {why}."
        known: dict[str, Any] = {
            "synthetic": bool(why),
            "source": origin if why else f"{source.origin}.",
        }
        return cls(source.name, table, **known | more)

    @property
    def title(self) -> str:
        """The name for a figure or a table; it says so if the data are synthetic."""
        return f"{self.name} (synthetic)" if self.synthetic else self.name

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.table.num_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.table.column_names)

    def numbers(self, column: str) -> NDArray[np.float64]:
        """Return a column as double precision numbers, with NaN for missing values."""
        import pyarrow as pa

        try:
            values = self.table.column(self._known(column)).cast(pa.float64())
        except pa.ArrowInvalid:
            raise ColumnError(
                f"Column '{column}' of {self.name} does not hold numbers", hint="choose another one"
            ) from None
        numbers: NDArray[np.float64] = values.to_numpy().astype(np.float64, copy=False)
        return numbers

    def complete(self, *columns: str) -> Dataset:
        """Return the rows in which the named columns, or all of them, have values."""
        import pyarrow.compute as pc

        filled = np.ones(self.rows, dtype=bool)
        for column in columns or self.columns:
            filled &= pc.is_valid(self.table.column(self._known(column))).to_numpy()
        return replace(self, table=self.table.filter(filled))

    def readings(self, category: str = "GC") -> NDArray[np.float64]:
        """Return half-hour readings as an array of homes x days x 48, in kWh.

        Homes and days are in increasing order. Days on which any home misses a reading are left
        out. A table of mean profiles has one day.

        Args:
            category: GC general consumption, CL controlled load, GG gross generation.
        """
        import pyarrow as pa

        if not {"Customer", "Consumption Category", *HALF_HOURS} <= set(self.columns):
            raise TableError(
                f"The data set {self.name} has no half-hour readings",
                hint="use solar_homes, or a table with its columns",
            )
        kinds = self.table.column("Consumption Category").to_numpy(zero_copy_only=False)
        table = self.table.filter(kinds == category)
        values = np.column_stack([table.column(name).to_numpy() for name in HALF_HOURS])
        homes, home = np.unique(table.column("Customer").to_numpy(), return_inverse=True)
        dates = table.column("date").cast(pa.int32()).fill_null(-1)  # mean profiles have none
        days, day = np.unique(dates.to_numpy(), return_inverse=True)
        grid = np.full((homes.size, days.size, len(HALF_HOURS)), np.nan)
        grid[home, day] = values
        whole = ~np.isnan(grid).any(axis=(0, 2))
        if not whole.any():
            raise TableError(
                f"No day of {self.name} has readings of category '{category}' of every home",
                hint="use fewer homes, or another category",
            )
        return np.ascontiguousarray(grid[:, whole])

    def to_dict(self) -> dict[str, object]:
        """Return the description of the table, without its rows, as plain values."""
        return {
            "name": self.name,
            "synthetic": self.synthetic,
            "source": self.source,
            "rows": self.rows,
            "columns": list(self.columns),
            "units": dict(self.units),
            "notes": list(self.notes),
        }

    def _known(self, column: str) -> str:
        if column not in self.columns:
            raise ColumnError(
                f"The data set {self.name} has no column '{column}'",
                hint=f"its columns are {', '.join(self.columns[:20])}",
            )
        return column
