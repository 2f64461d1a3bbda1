"""Functions that numba compiles on first use, with the result kept for later processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numba

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function on first use, and keep the result where a cache can be written."""
    try:
        return numba.njit(nogil=True, cache=True)(function)  # type: ignore[return-value]  # called like the function
    except RuntimeError:  # nowhere to write: compile anew in every process
        return numba.njit(nogil=True)(function)  # type: ignore[return-value]  # called like the function
