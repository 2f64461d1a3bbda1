"""Report how anonymous the records of a table are, and which attacks still succeed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hartley.engines.tables.sources import open_table
from hartley.engines.tables.table import Kind
from hartley.engines.tables.view import missing_note, prepare
from hartley.errors import OptionError
from hartley.exact import check_base
from hartley.kernels.cube import ClassCounts
from hartley.measures import anonymity as measures, reidentification as risks
from hartley.measures.closeness import (
    delta_disclosure,
    equal_closeness,
    hierarchical_closeness,
    ordered_closeness,
    t_closeness,
)
from hartley.policies.records.hierarchy import nested_levels, read_hierarchy
from hartley.ranges.relations.classes import count_classes, population_sizes
from hartley.ranges.relations.people import FEW, PeopleCounts, check_k
from hartley.ranges.schema.roles import chosen_columns, open_for
from hartley.studies.anonymity_findings import (
    SKEWED,
    AnonymityReport,
    ConfidentialFindings,
    SampledPopulation,
)
from hartley.studies.record_exposure import counts_more, record_exposure, with_exposure
from hartley.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hartley.engines.tables.view import View, ViewColumn
    from hartley.policies.records.hierarchy import Level
    from hartley.ranges.relations.classes import KeyClasses
    from hartley.ranges.schema.roles import RolesSource

    Progress = Callable[[str, float], None]
    """Called with the name of the current step and the share of it that is done."""


def anonymity(  # noqa: PLR0913 - each is one choice of the user's
    table: object,
    *,
    keys: str | Sequence[str] | None = None,
    confidential: str | Sequence[str] | None = None,
    ordered: Sequence[str] | Mapping[str, Sequence[object]] | None = None,
    hierarchy: Mapping[str, Mapping[object, Sequence[object]]] | None = None,
    population: object = None,
    base: float = 2,
    k: int = FEW,
    roles: RolesSource | None = None,
    progress: Progress | None = None,
) -> AnonymityReport:
    r"""Measure k-anonymity and its refinements, and say which attacks still succeed.

    .. math:: k = \min_i n_i, \quad L_0 = \log_2 \frac{n}{k}

    Records with equal keys form a class; a missing key is a value of its own. Each confidential
    column is measured by itself, over the records that have a value of it: distinct, entropy and
    recursive l-diversity, p-sensitivity, alpha, t-closeness by the earth mover's distance (equal,
    ordered, hierarchical) and by KL, delta-disclosure; values absent from a class count zero
    there. Fractions are exact, logarithms rounded. One pass over the rows per confidential column.
    A large table is never loaded: memory grows with the number of cells, classes times values, not
    with the number of rows.

    Args:
        table: anything that ``Relation.from_table`` reads, or a table already open.
        keys: the columns by which somebody could be recognised; with roles, by default the keys.
        confidential: the columns whose values should stay unknown; with roles, by default the
            confidential ones.
        ordered: confidential columns whose values have an order, or for each such column its
            values in order; numbers and times are ordered if it is left out.
        hierarchy: for confidential columns, the groups of every value from narrow to wide.
        population: a table of everybody who could be in the table, with the same keys written in
            the same way; without one the journalist's risk is bounded by the prosecutor's.
        base: of the logarithms, 2 counts bits; also that of delta-disclosure.
        k: people who share their keys with fewer, themselves included, are counted.
        roles: the confirmed roles of the columns: ``Roles``, a dict or a TOML file. With a
            household or a sampling weight among them, people are counted by these too, and the
            keys are held in memory.
        progress: called with the name of the current step and the share of it that is done.

    Example:
        >>> ill = ["flu", "flu", "flu", "flu", "hiv", "flu"]
        >>> ward = {"age": ["20-29"] * 3 + ["30-39"] * 3, "ill": ill}
        >>> report = anonymity(ward, keys="age", confidential="ill")
        >>> print(report.headline)
        the dict is 3-anonymous over age, but still reveals a confidential value for 3 records.
        >>> report.leakage, report["ill"].equal_closeness
        (1.0, Fraction(1, 6))
    """
    check_base(base)
    check_k(k)
    opened, known_roles = open_for(table, roles)
    named = (
        _names(chosen_columns(known_roles, keys, "key", what="key"), "keys"),
        _names(chosen_columns(known_roles, confidential, "confidential", what=""), "confidential"),
    )
    if known_roles is not None and hierarchy is None:
        hierarchy = {
            name: read_hierarchy(role.hierarchy, name, opened)
            for name in named[1]
            if (role := known_roles.columns.get(name)) is not None and role.hierarchy is not None
        }
    _check_roles(*named, ordered, hierarchy)
    view = prepare(opened, [*named[0], *named[1]], missing="value")
    tell = progress or (lambda _what, _share: None)
    at = list(range(len(named[0])))
    tell("count", 0.0)
    findings = []
    first: ClassCounts | None = None
    for i, column in enumerate(named[1]):
        tally = count_classes(view, at, len(at) + i)
        known = view.columns[len(at) + i]
        first = first or (None if known.missing else tally.counts)
        ordering = _ordering(column, known.kind, tally, ordered)
        levels = _levels(view, known, tally, (hierarchy or {}).get(column))
        findings.append(_findings(known, tally, ordering, levels, base))
        tell("count", (i + 1) / len(named[1]))
    classes = first or count_classes(view, at).counts
    sampled, held, everybody = _population(view, named[0], classes, population)
    people = PeopleCounts.of_classes(classes.sizes, k)
    if counts_more(known_roles):
        people = with_exposure(people, record_exposure(opened, named[0], roles=known_roles))
    tell("count", 1.0)
    return AnonymityReport(
        table=opened.name,
        keys=named[0],
        rows=classes.rows,
        classes=len(classes),
        k=risks.k_anonymity(classes),
        unique=risks.unique_records(classes),
        leakage=risks.record_leakage(classes, base=base),
        prosecutor=risks.prosecutor_risk(classes),
        journalist=risks.journalist_risk(held),
        marketer=risks.marketer_risk(sampled, None if everybody is None else held),
        population=everybody,
        base=base,
        sizes=risks.size_bands(classes.sizes),
        confidential=tuple(findings),
        people=people,
        notes=tuple(missing_note(c.name, c.missing) for c in view.columns[: len(at)] if c.missing),
    )


def leaking_release(records: Sequence[object], k: int) -> list[object]:
    r"""Release records k-anonymously and reveal k of them: Farokhi's counterexample.

    .. math:: \tilde f(x) = (x_1, \dots, x_k, f(x)_{k+1}, \dots, f(x)_n)

    Farokhi 2019, Proposition V.1 (corrected: over continuous records d0 is minus infinity, and
    L0 and the maximin information are infinite): where the first k records are equal, they may
    be released as they are, beside any k-anonymous release f of the others, here one that
    suppresses them. Everybody is indistinguishable from at least k - 1 others, and yet the values
    of k people are revealed: over records with v possible values L0 = I* = log2 v, the largest
    possible, which grows with v without bound. Exact. Linear in the number of records.

    Args:
        records: the records, of which the first k are equal.
        k: how many must be alike; no others, or at least k, may follow the first k.

    Example:
        >>> leaking_release([7, 7, 1, 2], 2)
        [7, 7, '*', '*']
        >>> from hartley.measures.leakage import nonstochastic_leakage
        >>> from hartley.ranges.relations.relation import Relation
        >>> worlds = [[x, x, y, z] for x in range(8) for y in range(8) for z in range(8)]
        >>> relation = Relation.from_pairs((w[0], tuple(leaking_release(w, 2))) for w in worlds)
        >>> nonstochastic_leakage(relation)
        3.0
    """
    n = len(records)
    if k < 1 or n < k or k < n < 2 * k:
        raise OptionError(
            f"{counted(n, 'record')} cannot be released this way with k = {k}",
            hint="give k records, or at least 2k, and a k of 1 or more",
        )
    if any(record != records[0] for record in records[:k]):
        raise OptionError(f"The first {k} records are not equal", hint="put k equal records first")
    return [*records[:k], *["*"] * (n - k)]


# --- input ------------------------------------------------------------------------------------


def _names(names: str | Sequence[str], what: str) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else tuple(names)
    if what == "keys" and not listed:
        raise OptionError("There is no key column", hint="name at least one column as a key")
    for i, name in enumerate(listed):
        if name in listed[:i]:
            raise OptionError(f"Column '{name}' is named twice", hint="name it once")
    return listed


def _check_roles(
    keys: Sequence[str],
    confidential: Sequence[str],
    ordered: Sequence[str] | Mapping[str, Sequence[object]] | None,
    hierarchy: Mapping[str, object] | None,
) -> None:
    if isinstance(ordered, str):
        raise OptionError("The ordered columns are not a list", hint="put the name in a list")
    for column in confidential:
        if column in keys:
            raise OptionError(
                f"Column '{column}' is both a key and confidential", hint="give it one role"
            )
    for column in (*(ordered or ()), *(hierarchy or ())):
        if column not in confidential:
            raise OptionError(
                f"Column '{column}' has an order or a hierarchy but is not confidential",
                hint="name it under confidential, or leave it out",
            )


def _ordering(
    column: str,
    kind: Kind,
    tally: KeyClasses,
    ordered: Sequence[str] | Mapping[str, Sequence[object]] | None,
) -> NDArray[np.int64] | None:
    """Return the place of every value in the order; None of values that have none."""
    natural = kind.numeric or kind is Kind.TIME if ordered is None else column in ordered
    if not natural:
        return None
    if not isinstance(ordered, Mapping):
        return np.arange(tally.counts.width)  # the values are listed in their order
    places = {value: place for place, value in enumerate(ordered[column])}
    if len(places) < len(ordered[column]) or any(value not in places for value in tally.values):
        raise OptionError(
            f"The order of column '{column}' lacks a value that the table has, or has one twice",
            hint="list every value once",
        )
    return np.argsort(np.argsort([places[value] for value in tally.values]))


# --- what is found ----------------------------------------------------------------------------


def _population(
    view: View, keys: tuple[str, ...], classes: ClassCounts, population: object
) -> tuple[ClassCounts, NDArray[np.int64], SampledPopulation | None]:
    """Return classes, how large they are among everybody, and who that is; or the table itself."""
    if population is None:
        return classes, classes.sizes, None
    everybody = prepare(open_table(population), keys, missing="value")
    at = {f"c{i}": f"c{i}" for i in range(len(keys))}
    narrow = replace(
        view, expression=view.expression.select(**at), columns=view.columns[: len(keys)]
    )
    sizes, held = population_sizes(narrow, everybody)
    sampled = ClassCounts.from_cells(np.arange(sizes.size), np.zeros_like(sizes), sizes)
    return sampled, held, SampledPopulation(everybody.table.name, everybody.rows, int(held.min()))


def _levels(
    view: View,
    column: ViewColumn,
    tally: KeyClasses,
    groups: Mapping[object, Sequence[object]] | None,
) -> list[Level] | None:
    if groups is None:
        return None
    return nested_levels(column.name, tally.values, groups, view.table)


def _findings(
    column: ViewColumn,
    tally: KeyClasses,
    ordering: NDArray[np.int64] | None,
    levels: list[Level] | None,
    base: float,
) -> ConfidentialFindings:
    classes = tally.counts
    distinct = measures.distinct_diversity(classes)
    alike, skewed = measures.homogeneous_rows(classes), measures.skewed_rows(classes, SKEWED)
    moved = ordering is not None and bool((np.diff(ordering) < 0).any())
    placed = tally.in_order(ordering) if moved and ordering is not None else tally
    return ConfidentialFindings(
        column=column.name,
        rows=classes.rows,
        left_out=column.missing,
        classes=len(classes),
        values=classes.width,
        distinct=distinct,
        entropy=measures.entropy_diversity(classes),
        recursive=tuple(
            (length, measures.recursive_diversity(classes, length))
            for length in sorted({2, max(distinct, 2)})
        ),
        alpha=measures.alpha_share(classes),
        equal_closeness=equal_closeness(tally),
        ordered_closeness=None if ordering is None else ordered_closeness(placed),
        hierarchical_closeness=None
        if levels is None
        else hierarchical_closeness(tally, [level.groups for level in levels]),
        kullback_leibler=t_closeness(tally, base=base),
        delta=delta_disclosure(tally, base=base),
        delta_of_present=measures.delta_of_present(classes, base=base),
        homogeneous_classes=alike[0],
        homogeneous_rows=alike[1],
        skewed_classes=skewed[0],
        skewed_rows=skewed[1],
    )
