"""Release averages of records, and measure how anonymous a release of records is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hartley.engines.table import names_of
from hartley.errors import OptionError
from hartley.policies.generalisation import AnonymizedTable
from hartley.policies.microaggregation import METHODS, ColumnLoss, Microaggregation
from hartley.schema.roles import chosen_columns, open_with_roles
from hartley.studies.look.anonymity import anonymity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.schema.roles import RolesSource
    from hartley.studies.look.anonymity import AnonymityReport

__all__ = ["AnonymizedTable", "ColumnLoss", "Microaggregation", "check_release", "microaggregate"]

MISSING = "missing"


def microaggregate(  # noqa: PLR0913 - each is one choice of the user's
    table: object,
    k: int,
    columns: str | Sequence[str] | None = None,
    *,
    method: str = "mdav",
    standardise: bool = True,
    keep: str | Sequence[str] | None = None,
    roles: RolesSource | None = None,
) -> Microaggregation:
    """Replace the records of a table by averages of groups of at least k similar ones.

    Args:
        table: anything that ``open_table`` opens.
        k: the least size of a group, at least 2.
        columns: numeric columns to group by and to replace; None for all that are not kept, or
            with roles for the keys that are numbers.
        method: how to form groups: "mdav", "mu-approx", or "univariate", the optimum of one
            column. Each is a function of its own too, which says how it works.
        standardise: give every column the standard deviation 1 first, so that units do not count;
            of no effect on the univariate optimum.
        keep: columns to release as they are; all others are left out. With roles, by default the
            confidential columns and those with the role "kept".
        roles: the confirmed roles of the columns: ``Roles``, a dict or a TOML file; an identifier
            is never released.

    Example:
        >>> averages = microaggregate({"age": [20, 61, 22, 65, 63]}, 2, method="univariate")
        >>> averages.released["age"].to_pylist()
        [21.0, 63.0, 21.0, 63.0, 63.0]
    """
    if method not in METHODS:
        raise OptionError(
            f"The method '{method}' is unknown", hint=f"choose one of {', '.join(METHODS)}"
        )
    if roles is not None:
        table, known_roles = open_with_roles(table, roles)
        named = chosen_columns(known_roles, columns, "key", what="key")
        keep = chosen_columns(known_roles, keep, "confidential", "kept", what="")
        opened = table
        columns = [n for n in named if columns is not None or opened.kind(n).numeric]
        if not columns:
            raise OptionError(
                f"No key of {known_roles.file} holds numbers to average",
                hint="name numeric columns, or use anonymize for keys that are texts",
            )
    keep = () if keep is None else keep
    if method != "univariate":
        return METHODS[method](table, k, columns, standardise=standardise, keep=keep)
    if not standardise:
        raise OptionError(
            "Units make no difference to the univariate optimum",
            hint="leave out standardise=False (--raw)",
        )
    return METHODS[method](table, k, columns, keep=keep)


def check_release(
    release: AnonymizedTable | Microaggregation, *, confidential: str | Sequence[str] | None = None
) -> AnonymityReport:
    """Count the released rows again and report how anonymous they are.

    The columns that were coarsened or averaged are the keys: an adversary who knows somebody's true
    values finds their class. Nothing that the method claims is trusted.

    Args:
        release: what ``anonymize`` or a method of microaggregation returned.
        confidential: columns that should stay unknown; if left out those that were named so, and
            of a microaggregation all that were kept.

    Example:
        >>> from hartley.policies.microaggregation import mdav
        >>> people = {"age": [20, 61, 22, 65, 63], "ill": ["flu", "flu", "flu", "hiv", "flu"]}
        >>> report = check_release(mdav(people, 2, "age", keep="ill"))
        >>> report.k, report["ill"].homogeneous_rows
        (2, 2)
    """
    if isinstance(release, AnonymizedTable):
        rows, keys, hidden = release.table, release.keys, release.confidential
    else:
        rows, keys, hidden = release.released, release.columns, release.kept
    if confidential is not None:
        hidden = names_of(confidential)
    report = anonymity(
        _missing_as_value(rows, keys), keys=keys, confidential=_present(rows, hidden)
    )
    return replace(report, table="the release")


def _present(rows: Any, columns: Sequence[str]) -> list[str]:  # noqa: ANN401 - Arrow carries no types
    """Return the columns that hold a value at all: there is nothing to tell about the others."""
    return [
        name
        for name in columns
        if name not in rows.column_names or rows.column(name).null_count < rows.num_rows
    ]


def _missing_as_value(rows: Any, keys: Sequence[str]) -> Any:  # noqa: ANN401 - Arrow carries no types
    """Replace a key that is missing everywhere by one value, which tells just as little."""
    import pyarrow as pa

    for name in keys:
        if rows.column(name).null_count == rows.num_rows:
            at = rows.column_names.index(name)
            rows = rows.set_column(at, name, pa.array([MISSING] * rows.num_rows))
    return rows
