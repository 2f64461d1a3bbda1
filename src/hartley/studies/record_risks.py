"""How easily each record is found or given away, as a table to keep beside the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.maps.writing import write_arrow

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RecordRisks:
    """One line for every record, in the order of the table; rows are counted from 1.

    No value of a record is in it. It is as confidential as the table: it names whom to look for.
    """

    table: Any
    """An Arrow table."""
    sources: tuple[str, ...] = ()
    """The files of the table, which nothing may overwrite."""

    @classmethod
    def of_classes(
        cls,
        sizes: NDArray[np.int64],
        sources: tuple[str, ...] = (),
        **more: Any,  # noqa: ANN401 - further columns
    ) -> RecordRisks:
        """Return the risks of records, given how many share what is known about each.

        Example:
            >>> RecordRisks.of_classes(np.array([1, 2, 2])).table["risk"].to_pylist()
            [1.0, 0.5, 0.5]
        """
        import pyarrow as pa

        columns = {"row": np.arange(1, sizes.size + 1), "alike": sizes, "risk": 1 / sizes, **more}
        return cls(pa.table(columns), sources)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the risks as Parquet or CSV, by the ending of the path."""
        return write_arrow(self.table, path, self.sources)
