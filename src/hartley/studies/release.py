"""Release a table by a policy: what was written, what was met, how far off it can be."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.column_map import apply_map
from hartley.engines.sources import open_table
from hartley.engines.writing import write_table
from hartley.errors import OptionError
from hartley.policies.document import PolicyDocument

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from hartley.engines.column_map import ColumnCounts
    from hartley.policies.columns import ColumnPolicy

    Progress = Callable[[str, float], None]
    """Told what is being done and which share of it is done."""


@dataclass(frozen=True)
class ReleasedColumn:
    """What became of one column; counts of rows, never a value."""

    name: str
    kind: str
    missing: int
    """NULL or NaN, released as missing."""
    below: int
    """Below the declared range, clamped to its lower end."""
    above: int
    """Above the declared range, clamped to its upper end."""
    unknown: int
    """In no group, released as the label for all others."""
    undefined: int
    """Without a value of the formula, released as missing."""
    error: Fraction | None
    """The furthest that a value of the declared range is moved; None of categories."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        told = [
            (self.missing, "missing and {was} released as such"),
            (self.below + self.above, "outside the declared range and {was} clamped to it"),
            (self.unknown, "in no group and {was} released as the label for all others"),
            (self.undefined, "without a value of the formula and {was} released as missing"),
        ]
        return tuple(
            f"{_values(rows)} of {self.name} {'is' if rows == 1 else 'are'} "
            f"{what.format(was='was' if rows == 1 else 'were')}."
            for rows, what in told
            if rows
        )


@dataclass(frozen=True)
class ReleaseReport:
    """What a release wrote, in numbers and in plain sentences."""

    table: str
    path: str
    policy_digest: str
    rows: int
    strict: bool
    columns: tuple[ReleasedColumn, ...]
    withheld: tuple[str, ...]
    """The columns of the table that the policy does not name."""

    @property
    def headline(self) -> str:
        """The release in one sentence."""
        many = len(self.columns) != 1
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return (
            f"{rows} of {self.table} with {len(self.columns)} column{'s' * many} "
            f"{'was' if self.rows == 1 else 'were'} released to {Path(self.path).name}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        errors = [
            f"{column.name} is released within {_shown(column.error)} of its value, for values in "
            "its declared range."
            if column.error
            else f"{column.name} is released as it is."
            for column in self.columns
            if column.error is not None
        ]
        met = [sentence for column in self.columns for sentence in column.sentences]
        rest = [f"Not released: {', '.join(self.withheld)}."] if self.withheld else []
        order = "The rows keep their order: if that tells something, the release tells it too."
        return (*errors, *met, *rest, order)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON; exact numbers become text."""
        head = {"format": 1, "headline": self.headline, "sentences": list(self.sentences)}
        content = asdict(self) | {"withheld": list(self.withheld)}
        content["columns"] = [
            column | {"error": None if column["error"] is None else str(column["error"])}
            for column in content["columns"]
        ]
        return head | content


def release(
    table: object,
    policy: PolicyDocument | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    strict: bool = False,
    progress: Progress | None = None,
) -> ReleaseReport:
    r"""Write a table as a policy releases it: only the columns that it names, nothing half done.

    The table is read twice, once to count what lies outside the policy and once to release it,
    streaming, on the engine that holds it; every engine gives the same numbers, bit for bit.

    Args:
        table: whatever ``Relation.from_table`` reads, or a table already open.
        policy: a policy or the path of its file.
        out: the Parquet or CSV file to write.
        strict: refuse a table with a value that is missing, outside its declared range, in no
            group or without a value of a formula, instead of clamping and counting.
        progress: told what is being done and which share of it.

    Example:
        >>> import tempfile
        >>> from hartley.policies.columns import QuantizedColumn
        >>> from hartley.policies.quantizer import UniformQuantizer
        >>> ages = PolicyDocument((QuantizedColumn("age", UniformQuantizer(0, 100, 10)),))
        >>> people = {"age": [17, 30, 120], "name": ["Ann", "Ben", "Cem"]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = release(people, ages, Path(folder, "ages.parquet"))
        >>> print(report.headline)
        3 rows of the dict with 1 column were released to ages.parquet.
        >>> print(*report.sentences[:3], sep="\n")
        age is released within 5 of its value, for values in its declared range.
        1 value of age is outside the declared range and was clamped to it.
        Not released: name.
    """
    _refuse_overwriting(table, out)
    document = policy if isinstance(policy, PolicyDocument) else PolicyDocument.load(policy)
    opened = open_table(table)
    mapped = apply_map(opened, document.to_map(), strict=strict)
    tell = progress or (lambda _what, _share: None)
    tell("count", 0.0)
    expected = mapped.counts.rows
    tell("count", 1.0)
    counts = write_table(mapped, out, progress=lambda share: tell("release", share))
    assert counts.rows == expected
    names = {column.name for column in document.columns}
    return ReleaseReport(
        table=opened.name,
        path=str(out),
        policy_digest=document.digest,
        rows=counts.rows,
        strict=strict,
        columns=tuple(map(_released, document.columns, counts.columns)),
        withheld=tuple(name for name in opened.columns if name not in names),
    )


def _released(column: ColumnPolicy, met: ColumnCounts) -> ReleasedColumn:
    return ReleasedColumn(
        name=column.name,
        kind=column.kind,
        missing=met.missing,
        below=met.below,
        above=met.above,
        unknown=met.unknown,
        undefined=met.undefined,
        error=column.error,
    )


def _refuse_overwriting(table: object, out: str | os.PathLike[str]) -> None:
    """Refuse to replace the table by its release: the only copy of the truth would be lost."""
    paths = table if isinstance(table, (list, tuple)) else [table]
    for path in paths:
        if not isinstance(path, (str, Path)) or not Path(path).exists() or not Path(out).exists():
            continue
        if Path(path).samefile(out):
            raise OptionError(
                f"The release would overwrite the table {Path(path).name} itself",
                hint="write it to another file",
            )


def _values(rows: int) -> str:
    return "1 value" if rows == 1 else f"{rows:,} values"


def _shown(number: Fraction) -> str:
    """Show an exact number as a decimal where that is exact, else as a fraction.

    Example:
        >>> _shown(Fraction(1, 2)), _shown(Fraction(5)), _shown(Fraction(1, 3))
        ('0.5', '5', '1/3')
    """
    decimal = f"{float(number):g}"
    return decimal if Fraction(decimal) == number else str(number)
