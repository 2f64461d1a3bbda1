"""Read a published policy backwards: what its file alone gives away about released records."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.attacks.policy_finding import (
    ColumnInversion,
    OutputCount,
    PolicyFinding,
    column_inversions,
    hidden_hypotheses,
)
from hartley.attacks.policy_search import (
    MOST_INPUTS,
    MOST_SEARCHED,
    KnownWindows,
    ObservedRecords,
    can_be_searched,
    count_inputs,
    exact_number,
    parts_of,
    pieces_of,
    read_by,
    search_inputs,
    size_of,
    try_draws,
    try_inputs,
)
from hartley.boxes.box import CategoryList, Interval, SteppedRange
from hartley.engines.table import names_of
from hartley.errors import ColumnError, HartleyError, OptionError, TableError
from hartley.exact import parse_number, parse_step
from hartley.guarantees.verify import certify
from hartley.policies.document import PolicyDocument
from hartley.schema.schema import Schema
from hartley.tables.opening import open_table
from hartley.tables.view import as_texts
from hartley.tables.writing import count_different, count_present, distinct_records, side_by_side
from hartley.text import exactly, listed

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from hartley.attacks.policy_search import PolicyPart
    from hartley.engines.table import Table
    from hartley.inputs import Columns, Document, MoreRows, PolicyFile, Rows, Settings
    from hartley.policies.column import Declared


TRUTH = "known "
"""How columns of the true table are called beside those of the released one."""


@dataclass(frozen=True)
class PolicyInversion:
    r"""Works out from a published policy which inputs a released record can have come from.

    .. math:: [X \mid y] = \{x : \pi(x) = y\}

    The pre-image of every released record under the policy :math:`\pi`, restricted to what is known
    beside it. Values on a step and categories are all tried, by the rules and on the engine that
    release, so that rounding in doubles counts as it is. Numbers without a step are searched for
    among all doubles, where a policy releases them in order. Of what is drawn at random, every
    value with a positive chance is possible. Exact: the true record is never ruled out, if its
    values are among the possible ones, those outside a range taken as its nearest end. Costs one
    execution of the policy over all possible values, for each combination of known ones.

    Args:
        steps: the step of columns whose values are rounded, by column; the values are low, low +
            step, ... up to high of the declared range.
        values: the values that columns can have, where more is known than the policy says.
        known: columns whose true value is known of every record.
        known_within: for columns whose true value is known to within a distance, the distance.
        known_rounded: for columns known rounded to the nearest multiple of a step, the step.

    Example:
        >>> from hartley.policies.quantized_column import QuantizedColumn
        >>> from hartley.policies.quantizer import UniformQuantizer
        >>> ages = PolicyDocument((QuantizedColumn("age", UniformQuantizer(0, 10, 3)),))
        >>> released = {"age": [10 / 6, 5.0, 50 / 6]}
        >>> finding = PolicyInversion(steps={"age": 1}).attack(ages, released)
        >>> finding.columns[0].fewest, finding.columns[0].values  # 0 1 2 3, 4 5 6, 7 8 9 10
        (3, 11)
    """

    steps: Mapping[str, object] = field(default_factory=dict)
    values: Mapping[str, Declared] = field(default_factory=dict)
    known: Sequence[str] = ()
    known_within: Mapping[str, object] = field(default_factory=dict)
    known_rounded: Mapping[str, object] = field(default_factory=dict)

    def attack(
        self, policy: PolicyDocument | str | os.PathLike[str], released: object, data: object = None
    ) -> PolicyFinding:
        """Return what is left possible of every record of a released table.

        Args:
            policy: the policy, or the path of its file.
            released: the released table, whatever ``open_table`` opens.
            data: the true table, its rows in the order of the released one; needed where
                something is known of the true values.
        """
        document = policy if isinstance(policy, PolicyDocument) else PolicyDocument.load(policy)
        if document.aggregates:
            raise OptionError(
                f"The policy releases {document.aggregates[0]} of a whole table, from which no "
                "record can be worked out by itself",
                hint="hartley verify says how much the answer tells about one person",
            )
        names = [name for column in document.columns for name in column.columns]
        self._check_names(document)
        parts = parts_of(document, self._domains(document), self.known)
        opened = open_table(released)
        opened.require(names)
        table = as_texts(opened, frozenset[str]().union(*(part.texts for part in parts)))
        if not count_present(table, ())[0]:
            raise TableError(f"{table.name} has no rows", hint="pass a table with at least one row")
        beside = self._beside(table, names, data, parts)
        columns: dict[str, ColumnInversion] = {}
        hypotheses, underived = [], []
        for part in parts:
            observed = self._observe(part, beside)
            reason = _obstacle(part, observed)
            if reason is not None:
                underived.append((part.unknown or part.released, reason))
                continue
            work_out = search_inputs if can_be_searched(part) else try_inputs
            possible = (work_out if part.draws is None else try_draws)(part, observed)
            columns |= {column.name: column for column in column_inversions(possible)}
            moved = {name for policy in part.policies for name in policy.columns}
            beyond = [name for name in self._known_names if name in moved]
            hypotheses += hidden_hypotheses(possible, listed(beyond) if beyond else "")
        if underived and not columns and not hypotheses:
            unknown, reason = underived[0]
            raise OptionError(
                f"Nothing can be worked out about {listed(unknown)}: {reason}",
                hint="give the steps of the columns, or a schema that has them",
            )
        columns |= self._settled(document, beside, columns, underived)
        return PolicyFinding(
            table=table.name,
            columns=tuple(columns.values()),
            hypotheses=tuple(hypotheses),
            outputs=tuple(
                OutputCount(", ".join(c.columns), count, count_different(table, c.columns))
                for c in document.columns
                if not c.is_random and (count := c.outputs().count) is not None
            ),
            underived=tuple(underived),
            knowledge=self._knowledge(),
        )

    @property
    def _windowed(self) -> tuple[str, ...]:
        return (*self.known_within, *self.known_rounded)

    @property
    def _known_names(self) -> tuple[str, ...]:
        return (*self.known, *self._windowed)

    def _check_names(self, document: PolicyDocument) -> None:
        """Refuse knowledge about columns that the policy does not read."""
        read, names = read_by(*document.columns), self._known_names
        strange = [name for name in (*self.steps, *names) if name not in read]
        if strange:
            raise ColumnError(
                f"The policy does not read column '{strange[0]}'",
                hint=f"it reads {', '.join(sorted(read))}",
            )
        doubled = [name for name in names if names.count(name) > 1]
        if doubled:
            raise OptionError(
                f"Two things are said to be known of column '{doubled[0]}'", hint="say one of them"
            )

    def _beside(
        self, table: Table, released: Sequence[str], data: object, parts: Sequence[PolicyPart]
    ) -> Table:
        """Return the released table with what is known of the true one beside it."""
        names = self._known_names
        if not names:
            return table
        if data is None:
            raise OptionError(
                f"The true values of '{names[0]}' are to be known, but there is no true table",
                hint="pass the table that was released as well, with its rows in the same order",
            )
        texts = frozenset[str]().union(*(part.text_inputs for part in parts))
        truth = as_texts(open_table(data), texts)
        return side_by_side(table, released, truth, {TRUTH + name: name for name in names})

    def _knowledge(self) -> tuple[str, ...]:
        said = [f"{name} is known exactly." for name in self.known]
        said += [
            f"{name} is known to within {exactly(_distance(name, distance))}."
            for name, distance in self.known_within.items()
        ]
        said += [
            f"{name} is known rounded to multiples of {exactly(parse_step(step, column=name))}."
            for name, step in self.known_rounded.items()
        ]
        return tuple(said)

    def _domains(self, document: PolicyDocument) -> dict[str, Declared]:
        """Return the values that columns can have: as known, with a step, or as the policy says."""
        domains: dict[str, Declared] = {
            name: Interval(*ends) for name, ends in document.ranges.items()
        }
        for column in document.columns:
            domains |= column.declared_values()
        domains |= self.values
        for name, step in self.steps.items():
            width, domain = parse_step(step, column=name), domains.get(name)
            if domain is None or isinstance(domain, CategoryList):
                raise OptionError(
                    f"Column '{name}' has a step but no declared range to take it in",
                    hint="declare its range in the policy, or pass a schema",
                )
            domains[name] = SteppedRange(domain.low, domain.high, width)
        return domains

    def _observe(self, part: PolicyPart, beside: Table) -> ObservedRecords:
        """Return the different records of a part, with what is known beside them."""
        truths = [name for name in part.fixed if name in self.known]
        as_released = [name for name in part.fixed if name not in self.known]
        windowed = [name for name in part.unknown if name in self._windowed]
        names = [*part.released, *as_released, *(TRUTH + name for name in (*truths, *windowed))]
        records = distinct_records(beside, names)
        # What is drawn may be a missing value: then that is what it was drawn as.
        complete = np.ones(records.num_rows, bool)
        for i in range(0 if part.draws is None else len(part.released), len(names)):
            complete &= records.column(i).is_valid().to_numpy()
        rows = records.column("rows").to_numpy()
        left_out = int(rows[~complete].sum())
        present = records.filter(complete)
        arrays = [present.column(i).combine_chunks() for i in range(len(names))]
        place = {name: i for i, name in enumerate(names)}
        fixed = {name: arrays[place[name]] for name in as_released}
        fixed |= {name: arrays[place[TRUTH + name]] for name in truths}
        windows = {name: self._window(name, arrays[place[TRUTH + name]], part) for name in windowed}
        return ObservedRecords(
            tuple(arrays[: len(part.released)]),
            fixed,
            present.column("rows").to_numpy().astype(np.int64),
            windows,
            left_out,
        )

    def _window(self, name: str, truth: Any, part: PolicyPart) -> KnownWindows:  # noqa: ANN401 - Arrow carries no types
        """Return between which numbers the true values of a column are known to lie."""
        domain = part.domains.get(name)
        if part.draws is not None or isinstance(domain, CategoryList):
            raise OptionError(
                f"Column '{name}' has categories, which are not known to within a distance",
                hint="say that it is known, or leave it out",
            )
        code = truth.dictionary_encode()
        try:
            numbers = [exact_number(value, domain) for value in code.dictionary.to_pylist()]
        except (OptionError, TypeError, ValueError):
            raise ColumnError(
                f"Column '{name}' of the true table does not hold numbers",
                hint="only numbers are known to within a distance",
            ) from None
        if isinstance(domain, (Interval, SteppedRange)):
            # A value outside a range is taken as its nearest end, as a release does.
            numbers = [min(max(number, domain.low), domain.high) for number in numbers]
        if name in self.known_within:
            distance = _distance(name, self.known_within[name])
        else:
            step = parse_step(self.known_rounded[name], column=name)
            numbers = [math.floor(number / step + Fraction(1, 2)) * step for number in numbers]
            distance = step / 2
        ends = tuple((number - distance, number + distance) for number in numbers)
        return KnownWindows(ends, code.indices.to_numpy().astype(np.int64))

    def _settled(
        self,
        document: PolicyDocument,
        beside: Table,
        columns: Mapping[str, ColumnInversion],
        underived: list[tuple[tuple[str, ...], str]],
    ) -> dict[str, ColumnInversion]:
        """Return the columns that are released as they are, and those that were known before."""
        skipped = {name for names, _ in underived for name in names} | set(columns)
        as_is = [column.name for column in document.columns if column.is_kept]
        names = [name for name in (*as_is, *self.known) if name not in skipped]
        places = {name: TRUTH + name if name in self.known else name for name in names}
        rows, counts = count_present(beside, tuple(places.values()))
        settled = {}
        for name, place in places.items():
            present = counts[place]
            settled[name] = ColumnInversion(
                *(name, present, rows - present),
                single=present,
                fewest=int(present > 0),
                typical=int(present > 0),
                released_as_is=name not in self.known,
                known=name in self.known,
            )
        return settled


def _obstacle(part: PolicyPart, observed: ObservedRecords) -> str | None:
    """Say in half a sentence why a part cannot be worked out; None where it can."""
    if any(policy.draws() is not None for policy in part.policies):
        alone = len(part.policies) == 1
        return None if alone else "what is drawn at random is read by another released column too"
    if can_be_searched(part):
        few = observed.size * pieces_of(part) <= MOST_SEARCHED
        return None if few else f"it has no step, and {observed.size:,} different records"
    for name in part.unknown:
        domain = part.domains.get(name)
        if domain is None:
            return f"the possible values of '{name}' are not declared"
        if size_of(domain) is None:
            return f"'{name}' has no step, and its values cannot be tried one by one"
    inputs = count_inputs(part, len(observed.fibres()[0]))
    if inputs <= MOST_INPUTS:
        return None
    return f"{inputs:,} inputs are possible, and no more than {MOST_INPUTS:,} are tried"


def _distance(name: str, distance: object) -> Fraction:
    number = parse_number(distance, name=f"the distance of column '{name}'")
    if number < 0:
        raise OptionError(
            f"The distance to within which '{name}' is known is negative",
            hint="give 0 or a positive number",
        )
    return number


def attack_policy(  # noqa: PLR0913 - each is one thing that may be known
    policy: PolicyFile,
    released: Rows,
    *,
    steps: Settings | None = None,
    schema: Document | None = None,
    data: MoreRows | None = None,
    known: Columns = (),
    known_within: Settings | None = None,
    known_rounded: Settings | None = None,
) -> PolicyFinding:
    r"""Work out from which inputs released records can come, and compare with the certificate.

    .. math:: [X \mid y] = \{x : \pi(x) = y\}

    Everybody may read a policy :math:`\pi`, so a release is only as good as its pre-images. For
    every released record this counts the values that are possible in each column, and whether a
    hypothesis that the policy hides is decided, by the consistent test (Farokhi 2021, Theorems 1
    and 2). It says so loudly if a record is decided that the policy is to leave open, if more
    values occur than it promises, or if a record cannot come from it. Exact, doubles included; the
    true record is never ruled out. Costs one execution of the policy over all possible values.

    Args:
        policy: The policy file. In Python, also a policy.
        released: the released table, in all forms that ``open_table`` takes.
        steps: The step on which the values of a column lie, counted from the low end of its range;
            without one, every double of the range is possible. In Python, a step by column, which
            counts before that of a schema.
        schema: The public schema, in TOML: steps, ranges and lists of possible values. In Python,
            also its content.
        data: The true table, its rows in the order of the released one; it is needed only for what
            is known beside the release.
        known: Columns whose true values the adversary knows, from the true table.
        known_within: A column that the adversary knows to within this distance of its true value.
        known_rounded: A column that the adversary knows rounded to the nearest multiple of this
            step.

    Example:
        >>> from hartley.policies.column import KeptColumn
        >>> from hartley.policies.hypotheses.hiding_columns import LineColumn
        >>> near = {"line": "h/2", "reach": 2, "low": 0, "high": 20}
        >>> blurred = LineColumn.read("blur", "w", **near)
        >>> policy = PolicyDocument((blurred, KeptColumn.read("h", 0, 30)))
        >>> released = {"w": [10.0, 10.0, 17.0], "h": [20.0, 20.0, 20.0]}  # of 8, 12 and 17
        >>> finding = attack_policy(policy, released, steps={"w": 1})
        >>> finding.hypotheses[0].open, finding.hypotheses[0].decided, finding.keeps_promise
        (2, 1, True)
    """
    document = policy if isinstance(policy, PolicyDocument) else PolicyDocument.load(policy)
    if data is not None and not (known or known_within or known_rounded):
        raise OptionError(
            "The true table is given, but nothing is said to be known of it",
            hint="name what is known: known (--known), known_within or known_rounded; or leave "
            "the true table out",
        )
    attack = PolicyInversion(
        steps or {},
        {} if schema is None else _values(Schema.read(schema)),
        names_of(known),
        known_within or {},
        known_rounded or {},
    )
    finding = attack.attack(document, released, data)
    try:
        promise = certify(document).claim
    except HartleyError as error:
        promise = f"nothing, because it cannot be made ({error.problem})."
    return replace(finding, promise=promise)


def _values(schema: Schema) -> dict[str, Declared]:
    """Return what a schema says about possible values; of dates nothing, which no policy reads."""
    values: dict[str, Declared] = {}
    for name, column in schema.columns.items():
        if column.values is not None:
            values[name] = CategoryList(column.values, complete=not column.other)
        elif not column.date and column.low is not None and column.high is not None:
            assert column.step is not None  # a numeric column has one
            values[name] = SteppedRange(column.low, column.high, column.step)
    return values
