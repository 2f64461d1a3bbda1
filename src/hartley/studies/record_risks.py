"""How easily each record is found or given away, as a table to keep beside the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.maps.writing import write_arrow
from hartley.engines.tables.failures import run
from hartley.engines.tables.periods import in_periods, is_period
from hartley.engines.tables.sources import open_table
from hartley.engines.tables.view import prepare
from hartley.exact import parse_step
from hartley.ranges.relations.classes import combine_codes, encode_column

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.engines.tables.table import Table
    from hartley.studies.audit import AuditReport


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


def key_risks(table: object, keys: Sequence[str]) -> RecordRisks:
    """Return for every record how many share its keys, a missing key being a value.

    The keys are held in memory. Exact.

    Example:
        >>> key_risks({"age": [30, 30, 40]}, ["age"]).table["alike"].to_pylist()
        [2, 2, 1]
    """
    opened = open_table(table)
    codes = _codes(opened, keys, {})
    return RecordRisks.of_classes(np.bincount(codes)[codes], opened.paths)


def audit_risks(table: object, report: AuditReport) -> RecordRisks:
    """Return for every record how many share its released values, and how many secrets they leave.

    Records that the audit left out because a value is missing count as they would with missing as
    a value. The columns are held in memory. Exact.

    Example:
        >>> from hartley.studies.audit import audit
        >>> people = {"ill": ["flu", "flu", "hiv"], "sex": ["F", "F", "M"]}
        >>> risks = audit_risks(people, audit(people, secret="ill", released="sex"))
        >>> risks.table["secrets_left"].to_pylist(), risks.table["given_away"].to_pylist()
        ([1, 1, 1], [True, True, True])
    """
    opened = open_table(table)
    released = _codes(opened, report.released, report.bins)
    sizes = np.bincount(released)
    if report.secret_is_record:
        left = sizes[released]
    else:
        secret = _codes(opened, report.secret, {})
        pairs = np.unique(released.astype(np.int64) * (int(secret.max()) + 1) + secret)
        left = np.bincount(pairs // (int(secret.max()) + 1))[released]
    return RecordRisks.of_classes(
        sizes[released], opened.paths, secrets_left=left, given_away=left == 1
    )


def _codes(table: Table, columns: Sequence[str], bins: Mapping[str, str]) -> NDArray[np.int64]:
    """Return one code a record, equal exactly where all columns are."""
    periods = {name: step for name, step in bins.items() if is_period(step)}
    steps = {name: parse_step(s, column=name) for name, s in bins.items() if name not in periods}
    binned = in_periods(table, {n: p for n, p in periods.items() if n in columns})
    view = prepare(binned, columns, steps=[steps.get(name) for name in columns], missing="value")
    data = run(table, view.expression.to_pyarrow)
    encoded = [encode_column(data.column(f"c{i}")) for i in range(len(columns))]
    combined, _ = combine_codes([codes for codes, _ in encoded], [len(v) for _, v in encoded])
    return np.unique(combined, return_inverse=True)[1]
