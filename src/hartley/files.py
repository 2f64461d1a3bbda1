"""Writing files completely or not at all, privately and synced, and reading files with limits.

The readers limit size, depth and digits: a bad input leads to an error of one sentence, never to a
traceback or to a machine that runs out of memory.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import math
import os
import re
import shutil
import signal
import stat
import tempfile
import threading
import tomllib
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakSet

from hartley.errors import HartleyError, InputError, OptionError
from hartley.exact import MOST_DIGITS, parse_number, read_integer

try:
    import fcntl

    HAS_LOCKS = True
except ImportError:  # no clean-up on such a system
    HAS_LOCKS = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from fractions import Fraction

T = TypeVar("T")
LOCK = ".lock"
LONGEST_LABEL = 200
"""Characters of a file's name that the name of its folder repeats; file systems allow 255."""
MOST_BYTES = 64 << 20
DEEPEST = 64


# --- private folders ----------------------------------------------------------------------------


class PrivateFolder:
    """A folder that only this user can enter; it is removed with everything in it.

    The process that makes it holds a lock in it until it ends. The next process that makes a folder
    with the same label removes folders without a held lock: their processes were killed.
    """

    def __init__(self, parent: Path, label: str) -> None:
        label = label[:LONGEST_LABEL]
        _sweep(parent, label)
        self.path = Path(tempfile.mkdtemp(prefix=f".{label}.", suffix=".part", dir=parent))
        self._maker, self._lock = os.getpid(), -1
        _PRIVATE_FOLDERS.add(self)
        if HAS_LOCKS:
            self._lock = os.open(self.path / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            with contextlib.suppress(OSError):  # a file system without locks: no clean-up
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Remove the folder; doing it twice does nothing."""
        if os.getpid() == self._maker:  # a forked process leaves it to its parent
            shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_PRIVATE_FOLDERS: WeakSet[PrivateFolder] = WeakSet()


def remove_private_folders() -> None:
    """Remove every private folder of this process, which is about to end at once."""
    for folder in list(_PRIVATE_FOLDERS):
        folder.close()


def _sweep(parent: Path, label: str) -> None:
    """Remove folders with a label that belong to this user and whose processes have ended."""
    if not HAS_LOCKS:
        return
    for folder in list(parent.glob(f".{glob.escape(label)}.*.part")):
        with contextlib.suppress(OSError):
            about = folder.lstat()  # a link is not followed: it may lead anywhere
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
                continue
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)


# --- whole files --------------------------------------------------------------------------------


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM until the block ends, so that they do not interrupt its moves."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    held: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    ours = {number: handler for number, handler in before.items() if handler is not None}
    try:
        for number in ours:
            signal.signal(number, lambda caught, _frame: held.append(caught))
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        if held:
            signal.raise_signal(held[0])


@dataclass
class _Together:
    """Files that are complete and wait for others before they appear under their names."""

    staged: list[tuple[Path, Path, PrivateFolder]] = field(default_factory=list)

    def appear(self) -> None:
        """Move every file into its place, or leave every place as it was."""
        befores: dict[Path, Path] = {}
        for _, target, folder in self.staged if len(self.staged) > 1 else ():
            if target.exists():
                befores[target] = folder.path / ".before"
                _keep(target, befores[target])
        with _undisturbed():
            moved: list[Path] = []
            try:
                for half, target, _ in self.staged:
                    half.replace(target)
                    moved.append(target)
            except BaseException:
                for target in reversed(moved):
                    if target in befores:
                        befores[target].replace(target)
                    else:
                        target.unlink(missing_ok=True)
                raise
        for folder_of_targets in {target.parent for _, target, _ in self.staged}:
            sync_folder(folder_of_targets)

    def close(self) -> None:
        for _, _, folder in self.staged:
            folder.close()


_TOGETHER: ContextVar[_Together | None] = ContextVar("together", default=None)


@contextlib.contextmanager
def write_all_or_none() -> Iterator[None]:
    """Make all files written inside the block appear when it ends, or none of them.

    A file system moves one file at a time, so only a crash of the machine between two moves can
    leave some of them; an error or an interruption cannot.
    """
    if _TOGETHER.get() is not None:  # an outer block decides when they appear
        yield
        return
    together = _Together()
    mark = _TOGETHER.set(together)
    try:
        yield
        together.appear()
    except OSError as error:
        raise unwritable("The files", error) from None
    finally:
        _TOGETHER.reset(mark)
        together.close()


def content_of(path: str | os.PathLike[str]) -> Path:
    """Return where the content of a path is: inside a block, its temporary place."""
    together = _TOGETHER.get()
    target = Path(os.path.realpath(path))
    waiting = {} if together is None else {place: half for half, place, _ in together.staged}
    return waiting.get(target, Path(path))


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[Path]:
    """Yield a private file to write to, and move it to a path if the block succeeds.

    It is then as readable as other files, unless it is to stay ``private``.

    An error or an interruption leaves the path unchanged. Leftovers of a killed process are removed
    when the same path is written again. A link stays a link: the file it points to is replaced.
    """
    together = _TOGETHER.get()
    staging = None
    try:
        target = _plain_target(path)
        staging = PrivateFolder(target.parent, target.name)
        half, mode = _empty_file(staging.path / target.name)
        yield half
        half.chmod(0o600 if private else mode)
        _sync(half)
        alone = _Together([(half, target, staging)])
        if together is None:
            alone.appear()
        else:
            together.staged += alone.staged
            staging = None  # removed by the block, once all files appeared
    except OSError as error:
        raise unwritable(f"The file {path}", error) from None
    finally:
        if staging is not None:
            staging.close()


def _plain_target(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path leads to; raise an error for a folder or a device."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"{path} is a folder, not a file", hint="add the name of a file")
    if target.exists() and not target.is_file():
        raise InputError(
            f"{path} is not a file that can be written", hint="give the name of a plain file"
        )
    return target


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file completely or not at all."""
    with whole_file(path) as half:
        half.write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(path)


def refuse_existing(path: str | os.PathLike[str]) -> None:
    """Raise an error for a draft that would replace a file: its owner may have corrected it."""
    if os.path.lexists(path):
        raise InputError(
            f"The file {path} exists already", hint="choose another name for the draft"
        )


def _empty_file(path: Path) -> tuple[Path, int]:
    """Make an empty file that nobody else can read; return the permissions for the finished file.

    The process's umask cannot be read without changing it for all threads, so a file is created
    and its permissions are read.
    """
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
    finally:
        os.close(handle)
    path.chmod(0o600)
    return path, mode


def _keep(path: Path, name: Path) -> None:
    """Keep a file under a second name; by a copy if the file system has no hard links."""
    try:
        os.link(path, name)
    except OSError:
        shutil.copy2(path, name)


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that a renamed file survives a crash."""
    with contextlib.suppress(OSError):  # some systems cannot open a folder, and need not
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def unwritable(what: str, error: OSError) -> InputError:
    """Return the error for something that cannot be written, with the reason if it is known.

    Example:
        >>> print(unwritable("The file a.csv", OSError(errno.ENOSPC, "")))
        The file a.csv cannot be written: the disk is full; hint: make room, or write elsewhere
    """
    reasons = {
        errno.ENOSPC: ("the disk is full", "make room, or write elsewhere"),
        errno.EDQUOT: ("the disk quota is used up", "make room, or write elsewhere"),
        errno.EFBIG: ("it is larger than is allowed here", "raise the limit, or write elsewhere"),
        errno.EROFS: ("the disk is read-only", "write elsewhere"),
        errno.EACCES: ("that is not permitted", "check who may write to its folder"),
        errno.EPERM: ("that is not permitted", "check who may write to its folder"),
        errno.ENOENT: ("its folder does not exist", "create the folder first"),
        errno.ENOTDIR: ("its folder does not exist", "create the folder first"),
        errno.EEXIST: ("a file of that name exists already", "choose another name"),
        errno.ENAMETOOLONG: ("its name is too long", "give it a shorter one"),
        errno.EMFILE: ("too many files are open", "close some, or raise the limit"),
    }
    reason = reasons.get(error.errno or 0)
    if reason is None:
        return InputError(f"{what} cannot be written", hint="check its folder and disk")
    return InputError(f"{what} cannot be written: {reason[0]}", hint=reason[1])


# --- guarded readers ----------------------------------------------------------------------------


def read_text_file(
    path: str | os.PathLike[str], *, what: str, kind: type[InputError] = OptionError
) -> str:
    """Read a file of UTF-8 text that a person or a program wrote, of a sensible size."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        hint = "check the spelling and the folder"
        if isinstance(error, IsADirectoryError):
            hint = "it is a folder; add the name of a file"
        raise kind(f"The {what} {path} cannot be read", hint=hint) from None
    if len(content) > MOST_BYTES:
        raise kind(
            f"The {what} {path} is larger than {MOST_BYTES >> 20} MiB",
            hint="check that it is the right file",
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise kind(
            f"The {what} {path} cannot be read: line {line} is not UTF-8 text",
            hint="save it as UTF-8",
        ) from None


STANDARD_INPUT = "-"
"""The name of a file on standard input."""
_read_input: list[str] = []
"""The fingerprint of standard input, once it was read: it can be read only once."""


def remember_input(copy: Path) -> None:
    """Remember the fingerprint of standard input, given a copy of it."""
    _read_input[:] = [file_digest(copy)]


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 fingerprint of a file; of standard input, once it was read."""
    if os.fspath(path) == STANDARD_INPUT and _read_input:
        return _read_input[0]
    try:
        with content_of(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        raise InputError(f"The file {path} cannot be read", hint="check the path") from None


def parse_json(text: str, *, what: str, kind: type[InputError] = OptionError) -> Any:  # noqa: ANN401 - nested plain values
    """Read JSON of a sensible size, depth and precision, in which no object names a field twice."""
    try:
        content = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_different_fields
        )
    except RecursionError:
        raise _too_deep(what, kind) from None
    except ValueError as error:
        place = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise kind(f"The {what} is not valid JSON{place}", hint="check that line") from None
    _check_plain(content, what, kind)
    return content


def parse_toml(text: str, *, what: str, kind: type[InputError] = OptionError) -> dict[str, Any]:
    """Read TOML of a sensible size, depth and precision; decimals stay what was written.

    Example:
        >>> parse_toml("error = 0.1", what="design")
        {'error': Decimal('0.1')}
    """
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except RecursionError:
        raise _too_deep(what, kind) from None
    except (ValueError, ArithmeticError) as error:  # includes TOMLDecodeError
        problem = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "a strange number"
        raise kind(f"The {what} is not TOML: {one_line(problem)}", hint="check that line") from None
    _check_plain(content, what, kind)
    return content


def one_line(text: str, most: int = 120) -> str:
    """Shorten the part of an input that an error repeats to one line.

    Example:
        >>> one_line("x" * 500, 10)
        'xxxxxxx...'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def _refuse_constant(name: str) -> float:
    raise ValueError(name)  # NaN and Infinity are no JSON


def _different_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raise an error for an object with a repeated field, since readers treat it differently."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError
    return content


def _check_plain(content: object, what: str, kind: type[InputError]) -> None:
    """Raise an error for deep nesting and for numbers with too many digits."""
    level, depth = [content], 0
    while level:
        if depth > DEEPEST:
            raise _too_deep(what, kind)
        below: list[object] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
            elif not _is_sensible(value):
                raise kind(
                    f"The {what} holds a number that is out of reach",
                    hint=f"write numbers of at most {MOST_DIGITS} digits",
                )
        level, depth = below, depth + 1


def _is_sensible(value: object) -> bool:
    if isinstance(value, float):
        return value - value == 0  # neither infinite nor NaN
    if isinstance(value, int):
        return value.bit_length() <= 3 * MOST_DIGITS
    if isinstance(value, Decimal):
        digits = value.as_tuple()
        sized = len(digits.digits) <= MOST_DIGITS and abs(value.adjusted()) < MOST_DIGITS
        return sized or not value.is_finite()  # the reader of the field has a better message
    return True


def _too_deep(what: str, kind: type[InputError]) -> InputError:
    return kind(
        f"The {what} is nested more than {DEEPEST} levels deep", hint="write it less nested"
    )


# --- plain values -------------------------------------------------------------------------------
# Readers of what JSON holds: each returns a value of its kind, and raises an error for any other.

UNREADABLE = (HartleyError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError)
"""What readers raise for a value of another form."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that could steer a terminal, or turn the order of what is read."""
MOST_BITS = 2**64
LONGEST_INTEGER = 40_000
"""Digits of a number of cells: more than 100,000 bits have."""


def require(holds: object) -> None:
    """Raise ValueError unless something holds."""
    if not holds:
        raise ValueError


def as_text(value: object) -> str:
    """Return a text that steers no terminal."""
    if not isinstance(value, str) or CONTROL.search(value):
        raise ValueError
    return value


def as_truth(value: object) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise TypeError
    return value


def as_whole(value: object) -> int:
    """Return a whole number from 0 on."""
    if type(value) is not int or value < 0:
        raise ValueError
    return value


def as_bits(value: object) -> float:
    """Return a number of bits that somebody can be charged."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError
    require(0 <= value < MOST_BITS and math.copysign(1, value) > 0)  # not -0.0
    return value


def as_exact(value: object) -> Fraction:
    """Return the exact number that a text writes."""
    return parse_number(as_text(value), name="a number")


def as_error(value: object) -> Fraction:
    """Return the exact number that a text writes, which is not negative."""
    require((error := as_exact(value)) >= 0)
    return error


def as_cells(value: object) -> int:
    """Return the whole number above 0 that a text writes in digits."""
    text = as_text(value)
    require(len(text) <= LONGEST_INTEGER and text != "0")
    return read_integer(text)


def or_none(read: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """Return a reader that also takes null."""
    return lambda value: None if value is None else read(value)


def each(read: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    """Return a reader of lists."""

    def read_list(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise TypeError
        return tuple(map(read, value))

    return read_list


# --- files that are read and written in one call -----------------------------------------------


def check_files(
    written: Mapping[str, Path | None], read: Mapping[str, Iterable[str | Path]]
) -> None:
    """Raise an error early for outputs that overwrite an input or each other, or have no folder.

    Example:
        >>> check_files({"release": Path("out.csv"), "report": None}, {"table": ["people.csv"]})
    """
    seen: dict[Path, str] = {
        place.resolve(): what
        for what, paths in read.items()
        for path in paths
        for place in _named_files(str(path))
    }
    for what, path in written.items():
        if path is None:
            continue
        place = path.resolve()
        if place in seen:
            raise OptionError(
                f"The {what} {path} would overwrite the {seen[place]}", hint="give it another name"
            )
        if not place.parent.is_dir():
            raise OptionError(
                f"The folder of the {what} {path} does not exist",
                hint="create it, or choose another",
            )
        seen[place] = what


def _named_files(name: str) -> Iterator[Path]:
    """Yield the files that a path, a pattern or the address of a table in a database names."""
    yield Path(name)
    yield Path(name.partition("::")[0])
    yield from map(Path, glob.glob(name, recursive=True))  # noqa: PTH207 - also absolute patterns
