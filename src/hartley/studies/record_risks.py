"""How easily each record is found or given away, as a table to keep beside the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.maps.writing import write_arrow
from hartley.engines.tables.sources import open_table
from hartley.studies.record_exposure import (
    RecordExposure,
    class_codes,
    encoded_columns,
    record_exposure,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.ranges.schema.roles import RolesSource
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
        return cls.of_exposure(RecordExposure(sizes), sources, **more)

    @classmethod
    def of_exposure(
        cls,
        exposure: RecordExposure,
        sources: tuple[str, ...] = (),
        **more: Any,  # noqa: ANN401 - further columns
    ) -> RecordRisks:
        """Return the risks of records, those of their households and those estimated by weights."""
        import pyarrow as pa

        columns: dict[str, Any] = {
            "row": np.arange(1, exposure.alike.size + 1),
            "alike": exposure.alike,
        }
        if exposure.household_alike is not None:
            columns["household_alike"] = exposure.household_alike
        columns["risk"] = 1 / exposure.least_alike
        if exposure.estimated_risk is not None:
            columns["estimated_risk"] = exposure.estimated_risk
        return cls(pa.table(columns | more), sources)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the risks as Parquet or CSV, by the ending of the path."""
        return write_arrow(self.table, path, self.sources)


def key_risks(
    table: object, keys: Sequence[str], *, roles: RolesSource | None = None
) -> RecordRisks:
    """Return for every record how many share its keys, a missing key being a value.

    The keys are held in memory. Exact, but for the estimate by sampling weights.

    Args:
        table: anything that ``open_table`` opens.
        keys: the columns by which somebody could be recognised.
        roles: the confirmed roles, for households and sampling weights: see ``record_exposure``.

    Example:
        >>> key_risks({"age": [30, 30, 40]}, ["age"]).table["alike"].to_pylist()
        [2, 2, 1]
    """
    opened = open_table(table)
    exposure = record_exposure(opened, keys, roles=roles)
    return RecordRisks.of_exposure(exposure, opened.paths)


def audit_risks(
    table: object, report: AuditReport, *, roles: RolesSource | None = None
) -> RecordRisks:
    """Return for every record how many share its released values, and how many secrets they leave.

    Records that the audit left out because a value is missing count as they would with missing as
    a value. The columns are held in memory. Exact, but for the estimate by sampling weights.

    Example:
        >>> from hartley.studies.audit import audit
        >>> people = {"ill": ["flu", "flu", "hiv"], "sex": ["F", "F", "M"]}
        >>> risks = audit_risks(people, audit(people, secret="ill", released="sex"))
        >>> risks.table["secrets_left"].to_pylist(), risks.table["given_away"].to_pylist()
        ([1, 1, 1], [True, True, True])
    """
    opened = open_table(table)
    exposure = record_exposure(opened, report.released, bins=report.bins, roles=roles)
    if report.secret_is_record:
        secrets_left = exposure.alike
    else:
        released = class_codes(encoded_columns(opened, report.released, report.bins))
        secret = class_codes(encoded_columns(opened, report.secret, {}))
        pairs = np.unique(released.astype(np.int64) * (int(secret.max()) + 1) + secret)
        secrets_left = np.bincount(pairs // (int(secret.max()) + 1))[released]
    return RecordRisks.of_exposure(
        exposure, opened.paths, secrets_left=secrets_left, given_away=secrets_left == 1
    )
