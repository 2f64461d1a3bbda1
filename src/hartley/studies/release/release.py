"""Release a table by a policy, and report what was written, clamped and left out."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from hartley.boxes.enclosure import range_bounds
from hartley.boxes.intervals import float_above, float_below
from hartley.engines.table import names_of
from hartley.errors import ColumnError, InputError, OptionError
from hartley.files import check_files, write_all_or_none
from hartley.guarantees.verify import conditions_of
from hartley.inputs import formerly
from hartley.policies.document import PolicyDocument
from hartley.policies.kinds import kind_of
from hartley.policies.quantizer import Aggregate, parse_query
from hartley.policies.random.pram import TableDraw
from hartley.ranges.classes import single_out
from hartley.ranges.relation import FEW, check_group_size
from hartley.report import Readable, Report, Section
from hartley.studies.look.exposure import ORDER, ReleasedPeople, as_written, released_people
from hartley.studies.release.disclosure import Disclosing, Undone, find_undone, verdicts_on
from hartley.tables.column_map import apply_map
from hartley.tables.counts import exact_totals
from hartley.tables.opening import open_table
from hartley.tables.release_rules import (
    count_at_ends,
    least_distance,
    lie_on_lattice,
    look_for_step,
)
from hartley.tables.view import as_texts
from hartley.tables.writing import output_format, refuse_overwriting, write_record, write_table
from hartley.text import conjugate, count_of, exactly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.table import Table
    from hartley.guarantees.promise import Certificate
    from hartley.inputs import Columns, Few, OutputFile, PolicyFile, Progress, PythonOnly, Rows
    from hartley.policies.column import ColumnPolicy
    from hartley.policies.hypotheses.lines import LinePolicy
    from hartley.policies.random.pram import Seed
    from hartley.ranges.classes import Singling
    from hartley.tables.column_map import ColumnCounts, MapCounts


# --- answer ---------------------------------------------------------------------------------------
# Release one number of a whole table: the cell in which a mean or a total lies.


def release_answers(  # noqa: PLR0913 - what ``release`` takes
    table: Table,
    document: PolicyDocument,
    out: str | os.PathLike[str],
    *,
    people: int,
    strict: bool,
    spreadsheet_safe: bool = False,
) -> tuple[ReleasedColumn, ...]:
    """Write one row: for every query of a policy its released value and the ends of its cell.

    The total is exact on every engine, and so is the cell. A table of another number of
    people than the policy promises something about is refused, and so is one with missing values:
    of a mean one person could move it further, of a total it could leave its range.
    """
    ranges = document.ranges
    for query in document.aggregates:
        if query.column not in ranges:
            raise InputError(
                f"The policy releases {query}, but declares no range of '{query.column}'",
                hint=f'write in [design]: columns = {{{query.column} = ["100", "250"]}}',
            )
    read = dict.fromkeys(query.column for query in document.aggregates)
    _, totals = exact_totals(table, {name: ranges[name] for name in read}, strict=strict)
    columns: list[ReleasedColumn] = []
    record: list[tuple[str, float]] = []
    for column, asked in zip(document.columns, document.aggregates, strict=True):
        total = totals[asked.column]
        refuse_missing(str(asked), total.counts)
        if total.present != people:
            raise ColumnError(
                f"{table.name} holds {total.present:,} values of '{asked.column}', but the policy "
                f"promises {asked} over {people:,} people",
                hint=f"design the release again, for people = {total.present}",
            )
        cells, name = column.cells, column.name
        assert cells is not None  # only columns in cells have queries
        cell = cells.cell(total.total / (total.present if asked.function == "mean" else 1))
        low, high = cells.ends(cell)
        record += [
            (name, float(cells.middle(cell))),
            (f"{name}_low", float_below(low)),
            (f"{name}_high", float_above(high)),
        ]
        columns.append(replace(_released(column, total.counts), people=total.present))
    if len({name.lower() for name, _ in record}) < len(record):
        raise InputError(
            "Two columns of the release would have one name",
            hint="no answer may be named like another with _low or _high behind it",
        )
    write_record(dict(record), out, spreadsheet_safe=spreadsheet_safe)
    return tuple(columns)


def refuse_missing(what: str, counts: ColumnCounts) -> None:
    """Refuse values that are missing, or undefined, where a promise does not allow for them."""
    lost = counts.missing + counts.undefined
    if lost:
        raise ColumnError(
            f"{count_of(lost, 'value')} of '{what}' "
            f"{conjugate(lost, 'is')} missing, which the promise of the policy does not "
            "allow for",
            hint="leave these rows out of the table, or design a release that counts them",
        )


# --- release --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReleasedColumn:
    """How one column was released: counts of rows, never a value of the data."""

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
    """The largest distance that a value of the declared range is moved; None for categories."""
    of: str | None = None
    """The query that is released, where it is not the column of that name."""
    people: int | None = None
    """How many values an answer was computed from; None for rows."""
    between: int = 0
    """Off the declared step or list, released as if on it."""
    listed: bool = False
    """Whether the error holds only for the values that the cells were designed from."""

    @property
    def accuracy(self) -> str | None:
        """How far a release may be off, in a sentence; None for categories."""
        if self.error is None:
            return None
        if not self.error:
            where = " where it lies on its declared step or list" if self.between else ""
            return f"{self.name} is released as it is{where}."
        what, where = (
            ("its value", "in its declared range")
            if self.of is None
            else (self.of, "in the declared ranges")
        )
        if self.listed:
            where = "that the policy was designed for"
        error = exactly(self.error)
        return f"{self.name} is released within {error} of {what}, for values {where}."

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        # For an answer, the counts are about the column of its query.
        query = None if self.of is None else parse_query(self.of)
        read = query.column if isinstance(query, Aggregate) else self.name
        became = "released as such" if self.people is None else "left out"
        became = "replaced by what was drawn" if kind_of(self.kind).is_random else became
        cases = [
            (self.missing, f"missing and {{was}} {became}"),
            (self.below + self.above, "outside the declared range and {was} clamped to it"),
            (self.unknown, "in no group and {was} released as the label for all others"),
            (self.between, "off the declared step or list and {was} released as if on it"),
            (self.undefined, "without a value of the formula and {was} released as missing"),
        ]
        return tuple(
            f"{count_of(rows, 'value')} of {read} {conjugate(rows, 'is')} "
            f"{what.format(was=conjugate(rows, 'was'))}."
            for rows, what in cases
            if rows
        )


@dataclass(frozen=True)
class ReleaseReport(Disclosing, Readable):
    """What a release wrote, in numbers and in plain sentences."""

    table: str
    path: str
    policy_digest: str
    rows: int
    strict: bool
    columns: tuple[ReleasedColumn, ...]
    withheld: tuple[str, ...]
    """The columns of the table that the policy does not name."""
    people: ReleasedPeople | None = None
    """Whom the released rows single out or leave among few; None for an answer."""
    certificate: Certificate | None = None
    """What was promised, where a certificate was written."""

    @property
    def told(self) -> tuple[str, ...]:
        """Whom the rows leave unique or among few, and what they tell; nothing of an answer."""
        counts = None if self.people is None else self.people.counts
        few = (counts.sentence,) if counts is not None and counts.among_few else ()
        return () if self.is_answer else (*few, *super().told)

    @property
    def made(self) -> str:
        """The release in one sentence."""
        if self.is_answer:
            answers = [f"{column.of} over {column.people:,} people" for column in self.columns]
            return (
                f"{' and '.join(answers)} of {self.table} {conjugate(len(answers), 'was')} "
                f"released to {Path(self.path).name}."
            )
        columns = count_of(len(self.columns), "column")
        return (
            f"{count_of(self.rows, 'row')} of {self.table} with {columns} "
            f"{conjugate(self.rows, 'was')} released to {Path(self.path).name}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        errors = [column.accuracy for column in self.columns if column.accuracy is not None]
        handled = [sentence for column in self.columns for sentence in column.sentences]
        withheld, more = ", ".join(self.withheld[:20]), len(self.withheld) - 20
        if more > 0:  # a survey may have hundreds
            withheld += f" and {more:,} more"
        rest = [f"Not released: {withheld}."] if self.withheld else []
        drawn = [column.name for column in self.columns if kind_of(column.kind).is_random]
        if drawn:
            rest.append(
                f"Drawn at random, row by row: {', '.join(drawn)}. Another draw of the same rows "
                "tells as much again: release one draw only."
            )
        people = () if self.people is None else self.people.sentences
        return (*errors, *handled, *rest, *people, *self.judgements, self.order)

    @property
    def order(self) -> str:
        """What the order of the rows may tell; of an answer, how exact it is."""
        return (
            "Each value was clamped to its declared range and cut off to a binary fraction, then "
            "all were added exactly."
            if self.is_answer
            else ORDER
        )

    @property
    def is_answer(self) -> bool:
        """Whether one row was released for the whole table."""
        return any(column.people is not None for column in self.columns)

    def report(self) -> Report:
        """Return the release in sections: what a reader should know of it."""
        told = Section("What was released", (self.order,), self.sentences[:-1])
        headline, lead = self.said
        title = f"Release of {self.table}"
        return Report(title, headline, self.verdict_tiles, (told,), lead=lead)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON; exact numbers become text."""
        head = {"format": 1, "headline": self.headline, "sentences": list(self.sentences)}
        content = asdict(replace(self, certificate=None, verdicts={}, singling=None))
        content |= {"withheld": list(self.withheld), **self.disclosed()}
        content["columns"] = [
            column | {"error": None if column["error"] is None else str(column["error"])}
            for column in content["columns"]
        ]
        content["people"] = None if self.people is None else self.people.to_dict()
        del content["certificate"], content["singling"]
        promise = {} if self.certificate is None else {"promise": self.certificate.to_dict()}
        return head | content | promise


@formerly(few="k")
def release(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    policy: PolicyFile,
    out: OutputFile,
    *,
    certificate: OutputFile | None = None,
    strict: bool = False,
    seed: PythonOnly[Seed] = None,
    progress: Progress | None = None,
    spreadsheet_safe: bool = False,
    few: Few | None = FEW,
    confidential: Columns | None = None,
    allow_dependence: Columns | None = None,
) -> ReleaseReport:
    r"""Write a table as a policy releases it: only the columns that it names, whole or not at all.

    The table is read twice, once to count what lies outside the policy and once to release it,
    streaming, on the engine that holds it; every engine gives the same numbers, bit for bit. Kept
    numbers of a CSV file that a double would round stay as they are written: one more reading. A
    policy for the mean or the total of a column releases one row: the released value and the ends
    of its cell. A column that is perturbed at random is drawn row by row. After an error or an
    interruption no file is left; a process that is killed leaves at most a hidden file,
    ``.NAME.*.part``, beside the file that it was writing.

    Args:
        table: a table, in all forms that ``open_table`` takes, or one already open.
        policy: The policy file. In Python, also a policy, or a dict of what stands in its file.
        out: The .parquet or .csv file to write.
        certificate: Also write the certificate of the policy, once the release is written. In
            Python, the policy must be given by the path of its file; both files are written, or
            none.
        strict: Refuse a table with values that are missing or outside the declared ranges. In
            Python, they are clamped and counted otherwise, and so are values off a declared step or
            list, in no group, or without a value of a formula.
        seed: of what is drawn at random, to draw the same again; fresh random bytes if left out.
        progress: called with the name of the current step and the share of it that is done.
        spreadsheet_safe: Put a single quote before texts in a CSV file that a spreadsheet would run
            as a formula. In Python, those that begin with = + - @, a tab or the end of a line.
        few: Count the people in groups of fewer than this many with the same values. In Python,
            they are counted in the file that was written, which is read once more; None counts
            nobody.
        confidential: Released columns that nobody should learn; a verdict says what the others
            tell about each.
        allow_dependence: Columns to release unchanged although they tell one that is coarsened.

    Example:
        >>> import tempfile
        >>> from hartley.policies.quantized_column import QuantizedColumn
        >>> from hartley.policies.quantizer import UniformQuantizer
        >>> ages = PolicyDocument((QuantizedColumn("age", UniformQuantizer(0, 100, 10)),))
        >>> people = {"age": [17, 30, 120], "name": ["Ann", "Ben", "Cem"]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = release(people, ages, Path(folder, "ages.parquet"))
        >>> print(report.made)
        3 rows of the dict with 1 column were released to ages.parquet.
        >>> print(*report.sentences[:3], sep="\n")
        age is released within 5 of its value, for values in its declared range.
        1 value of age is outside the declared range and was clamped to it.
        Not released: name.
    """
    document = policy if isinstance(policy, PolicyDocument) else PolicyDocument.load(policy)
    path = policy if isinstance(policy, (str, os.PathLike)) else None
    if certificate is not None and path is None:
        raise OptionError(
            "No certificate can be written, because the policy is not in a file",
            hint="save the policy and pass the path of its file",
        )
    promised = None if certificate is None else sound_certificate(document).bind(path or "")
    check_group_size(FEW if few is None else few)
    opened = open_table(table)
    read = {"table": opened.paths, "policy": () if path is None else (os.fspath(path),)}
    refuse_overwriting(read, out)
    if certificate is not None:
        check_files({"release": Path(out), "certificate": Path(certificate)}, read)
    draw = TableDraw(document.prams, seed=seed) if document.prams else None
    hidden = () if confidential is None else names_of(confidential)
    keys = _keys_beside(document, hidden)
    with write_all_or_none():
        report = release_drawn(
            opened,
            document,
            out,
            draw,
            strict=strict,
            progress=progress,
            spreadsheet_safe=spreadsheet_safe,
            few=few,
            confidential=hidden,
            allow_dependence=allow_dependence,
        )
        verdicts = verdicts_on(as_written(out), keys, hidden) if hidden else {}
        if certificate is not None and promised is not None:
            promised.save(certificate)
    return replace(report, certificate=promised, verdicts=verdicts)


def _keys_beside(document: PolicyDocument, confidential: Sequence[str]) -> tuple[str, ...]:
    """Return the columns by which people are looked for: all but the confidential ones."""
    released = [name for column in document.columns for name in column.columns]
    for name in confidential:
        if name not in released or document.aggregates:
            raise OptionError(
                f"The policy releases no confidential column '{name}' of every row",
                hint="leave it out; hartley audit measures what other columns tell about it",
            )
    keys = tuple(name for name in released if name not in confidential)
    if not keys:
        raise OptionError(
            "Every released column is confidential, so that nothing tells about them",
            hint="leave one out of the confidential columns",
        )
    return keys


def sound_certificate(document: PolicyDocument) -> Certificate:
    """Return what a policy promises; refuse it if nobody could rely on it."""
    from hartley.guarantees.verify import certify

    promised = certify(document)
    promised.refuse_unsound()
    return promised


def release_drawn(  # noqa: PLR0913 - what ``release`` takes, and what draws
    table: Table,
    document: PolicyDocument,
    out: str | os.PathLike[str],
    draw: TableDraw | None,
    *,
    strict: bool = False,
    progress: Progress | None = None,
    spreadsheet_safe: bool = False,
    few: int | None = None,
    confidential: Sequence[str] = (),
    allow_dependence: str | Sequence[str] | None = None,
) -> ReleaseReport:
    """Write an open table by a policy; ``draw`` counts the values before and after the draw."""
    output_format(out, spreadsheet_safe=spreadsheet_safe)  # before the rows are counted
    opened = as_matrices_say(table, document)
    tell = progress or (lambda _what, _share: None)
    conditions = conditions_of(document)
    people: ReleasedPeople | None = None
    singling: Singling | None = None
    undone: tuple[Undone, ...] = ()
    tell("count", 0.0)
    if document.aggregates:
        assert conditions.people is not None  # the promise of an answer is about so many
        columns = release_answers(
            opened,
            document,
            out,
            people=conditions.people,
            strict=strict,
            spreadsheet_safe=spreadsheet_safe,
        )
        rows = 1
        tell("count", 1.0)
        tell("release", 1.0)
    else:
        as_it_is = [column for column in document.columns if column.is_kept or column.error == 0]
        changed = {
            name: "perturbed" if column.is_random else "coarsened"
            for column in document.columns
            if column not in as_it_is
            for name in read_by(column)
        }
        kept = [name for column in as_it_is for name in column.columns]
        undone = find_undone(opened, kept, changed, allow_dependence)
        mapped = apply_map(opened, document.to_map(), strict=strict, ranges=document.ranges)
        before = mapped.counts_before_writing
        accept = partial(_refuse_missing, conditions.complete)
        accept(before)
        for line in conditions.lines:
            _refuse_coarse(opened, line)
            if line.spreads:
                _refuse_crowded_ends(opened, line)
        tell("count", 1.0)
        counts = write_table(
            mapped,
            out,
            progress=lambda share: tell("release", share),
            change=draw,
            accept=accept,  # where a formula has no value is known once all is written
            spreadsheet_safe=spreadsheet_safe,
        )
        named = [(name, column) for column in document.columns for name in column.columns]
        rows, columns = (
            counts.rows,
            tuple(
                replace(_released(column, column_counts), name=name, error=column.error_of(name))
                for (name, column), column_counts in zip(named, counts.columns, strict=True)
            ),
        )
        assert rows == before.rows
        if few is not None:
            drawn = [name for pram in document.prams for name in pram.columns]
            people = released_people(out, few, confidential=confidential, drawn=drawn)
        if people is not None:  # the file can be read back
            free = [c.name for c in document.columns if c.is_kept and c.range is None]
            beside = [name for name, _ in named if name not in {*free, *drawn}]
            singling = single_out(as_written(out), beside, free, confidential)
    read = {name for column in document.columns for name in read_by(column)}
    return ReleaseReport(
        table=opened.name,
        path=str(out),
        policy_digest=document.digest,
        rows=rows,
        strict=strict,
        columns=columns,
        withheld=tuple(name for name in opened.columns if name not in read),
        people=people,
        undone=undone,
        singling=singling,
    )


def _refuse_missing(complete: frozenset[str], counts: MapCounts) -> None:
    """Refuse missing values that a promise does not allow for."""
    for column in counts.columns:
        if column.column in complete:
            refuse_missing(column.column, column)


def _refuse_coarse(table: Table, line: LinePolicy) -> None:
    """Refuse rounded values near a line, which would be hidden as if every number were possible.

    Stretching may move rounded values of either side to different places, so that the release
    shows the side. Blurring moves them onto the line, but there are values on both sides of it
    only if the reach is not below the step.
    """
    side = line.box[line.column]
    where = table, line.column, side.low, side.high
    if not look_for_step(*where).shows_step and not lie_on_lattice(*where):
        return
    if line.spreads:
        raise ColumnError(
            f"The values of column '{line.column}' of {table.name} are rounded to a step, and "
            "stretching may hide none of them",
            hint="declare the step of every column and design the release again: meet hides them",
        )
    distance = least_distance(*where)
    if distance is not None and Fraction(distance) > line.reach:
        raise ColumnError(
            f"No two values of column '{line.column}' of {table.name} lie as close as the reach, "
            "so that the line may show the side",
            hint="allow values to be moved by the step that they lie on, or more",
        )


def _refuse_crowded_ends(table: Table, line: LinePolicy) -> None:
    """Refuse values at an end of the range, clamped to it or not, that the band may reach.

    Numbers that are not rounded hardly ever lie there. Those that do are equal and are stretched
    to the end of the band, where no value from the other side of the line is released.
    """
    side = line.box[line.column]
    below, above = count_at_ends(table, line.column, side.low, side.high)
    if not below and not above:
        return
    reached, _ = range_bounds(line.hypothesis.line, line.box)
    crowd = (below if reached.low - line.reach <= side.low else 0) + (
        above if reached.high + line.reach >= side.high else 0
    )
    if crowd:
        raise ColumnError(
            f"{count_of(crowd, 'value')} of column '{line.column}' of {table.name} "
            f"{conjugate(crowd, 'lies')} at or beyond an end of the declared range that is "
            "within reach of the line, where stretching shows the side",
            hint='declare a range that ends beyond all values, or kind = "blur"',
        )


def as_matrices_say(table: Table, document: PolicyDocument) -> Table:
    """Read CSV columns as text where a matrix is about text: 007 is not 7 there."""
    texts = set()
    for pram in document.prams:
        table.require(pram.columns)
        for place, name in enumerate(pram.columns):
            parts = (v[place] if len(pram.columns) > 1 else v for v in pram.values)
            if all(isinstance(part, (str, NoneType)) for part in parts):
                texts.add(name)
    return as_texts(table, texts) if texts else table


def read_by(column: ColumnPolicy) -> tuple[str, ...]:
    """Return the columns of a table that one of a policy reads."""
    query = column.query
    if query is None:
        return column.columns
    return (query.column,) if isinstance(query, Aggregate) else tuple(query.names)


def _released(column: ColumnPolicy, counts: ColumnCounts) -> ReleasedColumn:
    return ReleasedColumn(
        name=column.name,
        kind=column.kind,
        missing=counts.missing,
        below=counts.below,
        above=counts.above,
        unknown=counts.unknown,
        undefined=counts.undefined,
        between=counts.between,
        error=column.error,
        of=column.of,
        listed=column.lists_values,
    )
