"""Microaggregation: release every record as the average of a group of k or more similar ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.policies.records.group_averages import released_groups
from hartley.policies.records.points import read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.policies.records.group_averages import Microaggregation


def mdav(
    table: object,
    k: int,
    columns: str | Sequence[str] | None = None,
    *,
    standardise: bool = True,
    keep: str | Sequence[str] = (),
) -> Microaggregation:
    r"""Release the averages of groups found by the maximum distance to average vector method.

    .. math:: r = \arg\max_x \|x - \bar x\|, \quad s = \arg\max_x \|x - r\|

    The k - 1 records nearest to r form a group with it, those nearest to s another; this repeats
    while at least 3k records remain (Domingo-Ferrer and Mateo-Sanz 2002; Domingo-Ferrer and Torra
    2005). The method is computed exactly, with the same groups as by comparing all pairs; ties go
    to the earlier record. The groups are good, not optimal.
    Coordinates are rounded to 40 bits (fewer beyond four million records), so that sums are exact.
    About n^1.4 in few columns; in many columns it nears n^2 / k.

    Args:
        table: anything that ``open_table`` opens.
        k: the least size of a group, at least 2.
        columns: numeric columns to group by and to replace; None for all that are not kept.
        standardise: give every column the standard deviation 1 first, so that units do not count.
        keep: columns to release as they are; all others are left out.

    Example:
        >>> people = {"age": [20, 61, 22, 65, 63], "height": [170, 181, 172, 185, 183]}
        >>> averages = mdav(people, 2)
        >>> averages.groups.tolist(), averages.released["age"].to_pylist()
        ([0, 1, 0, 1, 1], [21.0, 63.0, 21.0, 63.0, 63.0])
        >>> round(averages.information_loss, 2)
        0.03
    """
    from hartley.kernels.mdav import integer_points, mdav_groups

    records = read_records(table, k, columns, keep)
    return released_groups(
        "mdav",
        records,
        k,
        lambda points, k: mdav_groups(integer_points(points), k),
        standardise=standardise,
    )


def mu_approx(
    table: object,
    k: int,
    columns: str | Sequence[str] | None = None,
    *,
    standardise: bool = True,
    keep: str | Sequence[str] = (),
) -> Microaggregation:
    """Release the averages of groups found by mu-Approx, which follow the shape of the data.

    A forest is grown by joining every component of fewer than k records through its shortest
    outgoing edge; trees of more than max(2k - 1, 3k - 5) records are cut where at least k stay on
    both sides, the longest edge first; what is still larger than 2k - 1 is divided by MDAV
    (after Domingo-Ferrer, Sebe and Solanas 2008; to cut the longest edge first and to divide by
    MDAV is the choice made here). A heuristic: no bound on the loss is claimed. Deterministic: of
    edges of one length the one between earlier records counts as shorter. About n log n log k in
    few columns.

    Args:
        table: anything that ``open_table`` opens.
        k: the least size of a group, at least 2.
        columns: numeric columns to group by and to replace; None for all that are not kept.
        standardise: give every column the standard deviation 1 first, so that units do not count.
        keep: columns to release as they are; all others are left out.

    Example:
        >>> averages = mu_approx({"age": [20, 61, 22, 65, 63]}, 2)
        >>> averages.groups.tolist(), averages.released["age"].to_pylist()
        ([0, 1, 0, 1, 1], [21.0, 63.0, 21.0, 63.0, 63.0])
    """
    from hartley.kernels.forest import mu_approx_groups
    from hartley.kernels.mdav import integer_points

    records = read_records(table, k, columns, keep)
    return released_groups(
        "mu-approx",
        records,
        k,
        lambda points, k: mu_approx_groups(integer_points(points), k),
        standardise=standardise,
    )


def univariate_microaggregation(
    table: object, k: int, column: str | None = None, *, keep: str | Sequence[str] = ()
) -> Microaggregation:
    r"""Release one column as averages of groups with the least loss of all.

    .. math:: \min \sum_g \sum_{x \in g} (x - \bar x_g)^2 \quad\text{subject to}\quad |g| \ge k

    The optimum, up to the rounding of sums (Hansen and Mukherjee 2003). One sort, then n k.

    Args:
        table: anything that ``open_table`` opens.
        k: the least size of a group, at least 2.
        column: the numeric column to replace; None for the only one that is not kept.
        keep: columns to release as they are; all others are left out.

    Example:
        >>> averages = univariate_microaggregation({"age": [20, 61, 22, 65, 63]}, 2)
        >>> averages.released["age"].to_pylist(), round(averages.information_loss, 4)
        ([21.0, 63.0, 21.0, 63.0, 63.0], 0.0047)
    """
    from hartley.kernels.univariate import univariate_groups

    records = read_records(table, k, column, keep)
    if len(records.columns) != 1:
        raise OptionError(
            f"The univariate optimum takes one column, not {len(records.columns)}",
            hint="name one column, or use the method mdav",
        )
    return released_groups(
        "univariate",
        records,
        k,
        lambda points, k: univariate_groups(points[:, 0], k),
        standardise=True,
    )


METHODS: dict[str, Callable[..., Microaggregation]] = {
    "mdav": mdav,
    "mu-approx": mu_approx,
    "univariate": univariate_microaggregation,
}
