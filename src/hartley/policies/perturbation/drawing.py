"""Draw the perturbed columns of a table, chunk by chunk, and count what was there and what came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import ColumnError
from hartley.policies.perturbation.pram import fresh_seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hartley.policies.perturbation.pram import Pram, Seed
    from hartley.policies.perturbation.values import Coder


class TableDraw:
    """What turns Arrow chunks of a table, in their order, into perturbed ones.

    Example:
        >>> import pyarrow as pa
        >>> from hartley.policies.perturbation.pram import Pram
        >>> swap = Pram([[0, 1], [1, 0]], ["F", "M"], column="sex")
        >>> draw = TableDraw([swap])
        >>> draw(pa.table({"age": [30, 40], "sex": ["F", "M"]})).to_pydict()
        {'age': [30, 40], 'sex': ['M', 'F']}
        >>> draw.before[0].tolist(), draw.after[0].tolist(), draw.changed
        ([1, 1], [1, 1], [2])
    """

    def __init__(self, prams: Sequence[Pram], *, seed: Seed = None) -> None:
        self.prams = tuple(prams)
        self.before: list[NDArray[np.int64]] = [np.zeros(len(p.values), np.int64) for p in prams]
        self.after: list[NDArray[np.int64]] = [np.zeros(len(p.released), np.int64) for p in prams]
        self.changed = [0] * len(self.prams)
        """How many rows came out otherwise than they were, of each rule."""
        self._same = [_same_places(pram) for pram in self.prams]
        self._seed = fresh_seed() if seed is None else seed
        self._row = 0
        self._coders: list[Coder] | None = None

    def __call__(self, chunk: Any) -> Any:  # noqa: ANN401 - Arrow carries no types
        """Return the next chunk with its columns drawn."""
        if self._coders is None:
            schema = chunk.schema
            self._coders = [
                pram.coder([schema.field(name).type for name in pram.columns])
                for pram in self.prams
            ]
        for place, (pram, coder) in enumerate(zip(self.prams, self._coders, strict=True)):
            codes = coder.encode([chunk.column(name) for name in pram.columns])
            _refuse_unknown(pram, codes, chunk)
            drawn = pram.draw(codes, seed=self._seed, first=self._row)
            self._count(place, codes, drawn)
            for name, column in zip(pram.columns, coder.decode(drawn), strict=True):
                chunk = chunk.set_column(chunk.column_names.index(name), name, column)
        self._row += chunk.num_rows
        return chunk

    def _count(self, place: int, codes: NDArray[np.int32], drawn: NDArray[np.int32]) -> None:
        pram = self.prams[place]
        self.before[place] += np.bincount(codes, minlength=len(pram.values))
        self.after[place] += np.bincount(drawn, minlength=len(pram.released))
        self.changed[place] += int((self._same[place][codes] != drawn).sum())


def _same_places(pram: Pram) -> NDArray[np.int32]:
    """Return where each value stands among the released ones; -1 where it does not."""
    known = {value: place for place, value in enumerate(pram.released)}
    return np.array([known.get(value, -1) for value in pram.values], np.int32)


def _refuse_unknown(pram: Pram, codes: NDArray[np.int32], chunk: Any) -> None:  # noqa: ANN401 - likewise
    """Refuse a value that the matrix has no row for, without saying which."""
    if not codes.size or codes.min() >= 0:
        return
    columns = " and ".join(f"'{name}'" for name in pram.columns)
    missing = sum(chunk.column(name).null_count for name in pram.columns)
    if missing and not pram.takes_missing:
        raise ColumnError(
            f"A value of column {columns} is missing, for which the matrix has no row",
            hint="drop such rows, or make the missing value a value of the matrix: "
            "None in Python, {missing = true} in a file, --missing value of hartley pram",
        )
    raise ColumnError(
        f"Column {columns} holds a value that the matrix has no row for",
        hint="add a row to the matrix, or merge such values first",
    )
