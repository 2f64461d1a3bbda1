"""One BLAS thread while many small matrices are factored."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES = ("64_", "")
"""What the names of the functions end with where integers are wide, and where they are not."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let the OpenBLAS that NumPy and SciPy bring use one thread, then as many as before.

    Factors of matrices of a few hundred rows take microseconds, and its threads spend more than
    that waiting for each other: ten times and more on a busy machine. With another BLAS nothing
    happens. The setting holds for the whole process.

    Example:
        >>> with one_blas_thread():
        ...     all(ask() == 1 for ask, _ in _settings())
        True
    """
    before = [ask() for ask, _ in _settings()]
    for _, choose in _settings():
        choose(1)
    try:
        yield
    finally:
        for (_, choose), threads in zip(_settings(), before, strict=True):
            choose(threads)


@cache
def _settings() -> tuple[tuple[Any, Any], ...]:
    """Return, a library, the functions that tell and that set its number of threads."""
    import numpy as np
    import scipy

    found = []
    for package in (np, scipy):
        folder = Path(str(package.__file__)).parent.parent / f"{package.__name__}.libs"
        for file in sorted(folder.glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(file))
            except OSError:  # not of this platform
                continue
            for suffix in SUFFIXES:
                names = [f"scipy_openblas_{verb}_num_threads{suffix}" for verb in ("get", "set")]
                if all(hasattr(library, name) for name in names):
                    found.append((getattr(library, names[0]), getattr(library, names[1])))
                    break
    return tuple(found)
