"""Check published tables: what anybody can work out from all of them together."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from json import dumps
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hartley.errors import InputError, OptionError
from hartley.files import one_line
from hartley.inputs import formerly
from hartley.knowledge.cover import Cover, Selections, cover, relation_words
from hartley.knowledge.table_bounds import Inference, categories_of, read_contributors, universes
from hartley.knowledge.table_system import NoTableFits
from hartley.measures.rules import Frequency, read_rule
from hartley.studies.check.check_report import (
    KNOWN,
    CheckedCell,
    CheckedStatistic,
    CheckReport,
    PlacedCell,
    effects_now,
)
from hartley.studies.check.judging import RuleChecker
from hartley.studies.check.publication import (
    LedgerAnswers,
    PublishedNumbers,
    clamped_rows,
    describe_publication,
    price_publication,
    publication_questions,
    read_ledger,
    read_schema,
    refuse_impossible,
    select,
)
from hartley.tables.crosstab import (
    Crosstab,
    Rounding,
    read_marks,
    read_totals,
    unnamed_totals,
    with_all_totals,
)
from hartley.tables.described import (
    Descriptions,
    read_description,
    read_descriptions,
)
from hartley.tables.published import (
    RESULTS,
    read_crosstab,
    read_manifest,
    read_results_folder,
    with_places,
)
from hartley.tables.row_files import PARQUET_ENDINGS, FileFormat, refuse_parts
from hartley.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hartley.inputs import (
        Address,
        Column,
        Document,
        Files,
        InputFile,
        Marks,
        Progress,
        PythonOnly,
        Text,
        Texts,
    )
    from hartley.schema.schema import Schema
    from hartley.studies.check.publication import Publication
    from hartley.tables.described import CategoryTree


@formerly(rule="rules")
def check(  # noqa: C901, PLR0913, PLR0915 - each is one choice of the user's
    *outputs: Files,
    spec: Document | None = None,
    rule: Texts | None = None,
    insider: Literal["none", "sole", "holdings", "all"] = "none",
    table: Address | None = None,
    contributor: Column | None = None,
    schema: Document | None = None,
    marks: Marks | None = None,
    rounding: Text | None = None,
    left: int = 2,
    exact: bool = False,
    against: Address | None = None,
    charge: bool = False,
    reserve: bool = False,
    dbt: InputFile | None = None,
    before: PythonOnly[Callable[[CheckReport], None] | None] = None,
    progress: Progress | None = None,
) -> CheckReport:
    r"""Find out what published tables together reveal, and prove it.

    Every cell gets two intervals. No table that fits all that is published lies outside the outer
    one, which multipliers of the sums prove; the ends of the inner one are attained by whole tables
    that fit. A cell is disclosed by its outer interval, protected by its inner one, and open
    otherwise: nothing is guessed. Exact for tables of two dimensions, each a tree; sound in both
    directions for more. The cost grows with the hidden cells: with a linear programme for ends
    that neither sums nor earlier tables settle.

    Args:
        outputs: Published tables: CSV, Parquet, Excel or JSON files, or results folders of ACRO. In
            Python, also tables that were read before.
        spec: What the files do not say, in a file such as outputs.toml.
        rule: A rule: frequency<10 (the default), p%=10, dominance=2,90, homogeneous or
            homogeneous>=95%; repeatable. In Python, a list of rules or of their texts.
        insider: What contributors know: the cells that they have alone (sole), their own part of
            every sum (holdings), or both (all).
        table: The microdata behind the outputs. In Python, rules about contributions and insiders
            need it.
        contributor: The column that names the contributor. In Python, without one every row is
            another.
        schema: The public schema of the microdata. In Python, it decides how conditions lie to each
            other, and with it the bits of a person are computed.
        marks: What a mark means: hidden, a number or a range such as 1-4; repeatable.
        rounding: How files are rounded, such as "nearest 5".
        left: How many values must stay possible for a cell that its mark or rounding shows to be
            small.
        exact: Search for whole tables where ends are not settled otherwise; slow.
        against: An agent's ledger: its answers are known too.
        charge: Book the publication in that ledger, at the price of all that --spec describes. In
            Python, of all that ``spec`` describes: the outputs have to follow it, and never change
            the price.
        reserve: Book it by its description alone, before there are files.
        dbt: The target/manifest.json of dbt: models with hartley in their meta are outputs.
        before: called with the finished report before anything is booked; if it raises an error,
            nothing is.
        progress: called with the name of the current step and the share of it that is done.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "a.csv")
        ...     _ = path.write_text("region,n\nnorth,15\nsouth,x\nwest,x\nTotal,23\n")
        ...     report = check(path, rule=["frequency<11"])
        >>> report.headline
        '2 cells of 1 output are disclosed.'
        >>> [cell.outer for cell in report.cells if cell.verdict == "disclosed"]
        [(0, 8), (0, 8)]
    """
    wanted = tuple(read_rule(r) if isinstance(r, str) else r for r in rule or (Frequency(10),))
    if insider not in {"none", *KNOWN}:
        raise OptionError(
            f"The insider '{insider}' is unknown", hint="write none, sole, holdings or all"
        )
    if left < 2:
        raise OptionError(f"{left} values left hide nothing", hint="ask for 2 or more")
    described = _described(spec, marks, rounding)
    named = [part for each in outputs for part in (each if isinstance(each, list) else [each])]
    if dbt is not None:
        files, models = read_manifest(dbt)
        named += files
        described = replace(described, outputs={**models.outputs, **described.outputs})
    known_schema = read_schema(schema)
    answers = _answers(against, known_schema, charge=charge or reserve)
    if table is not None and known_schema is not None and answers.conditions is not None:
        table = clamped_rows(table, known_schema, answers.conditions)
    tell = progress or (lambda _what, _share: None)
    judge = RuleChecker(wanted, left, exact, insider, partial(tell, "bound"))
    reads = insider != "none" or judge.rests_on_contributions
    publication = None
    if charge or reserve:
        publication, described = describe_publication(
            described, known_schema, against, answers, wanted, insider, contributor, reads=reads
        )
    if reserve and publication is not None:
        if named or charge or table is not None:
            raise OptionError(
                "A reservation is made before there are outputs",
                hint="leave files, table= and charge= out, or charge instead of reserving",
            )
        priced = price_publication(publication.questions, publication.schema)
        report = CheckReport((), tuple(map(str, wanted)), insider, left, (), (), (), *priced)
        return _booked(replace(report, publication=publication.number), publication, before)
    tell("read", 0.0)
    tables, notes = read_outputs(named, described)
    tell("read", 1.0)
    notes += _undeclared(tables, described.trees)
    if publication is not None:
        refuse_impossible(tables, described, publication.schema, answers.rows)
        how = "computed as described, not checked"
        how = how if table is None else "compared with the microdata, clamped to the schema"
        notes.append(f"The outputs are {how}.")
    tables, zeros, unsaid = _unlisted(named, described, tables)
    notes += unsaid
    tables = [read_totals(table, described.trees) for table in tables]
    zeros = {path: read_totals(table, described.trees) for path, table in zeros.items()}
    notes += [_doubt(table, described) for table in tables if table.reading == "untested"]
    if len(tables) > 1 and not all(t.where or "where" in t.described for t in tables):
        notes.append("Outputs without where are taken to be about all rows.")
    notes += answers.notes
    published = list(tables)
    tables += answers.tables
    judge.check_data(given=table is not None)
    parts: list[CheckedStatistic] = []
    for statistic in sorted({t.statistic for t in tables}):
        group = sorted(
            (t for t in tables if t.statistic == statistic), key=lambda t: (t.digest, t.name)
        )
        parts += _check_statistic(
            _Job(
                group,
                described.trees,
                known_schema,
                judge,
                table,
                contributor,
                answers.conditions,
                zeros,
            ),
            parts,
            notes,
        )
    effects, bits, questions, now = None, None, [], None
    if known_schema is not None:
        outputs_of = list(map(PublishedNumbers.of, published))
        questions = publication_questions(outputs_of, known_schema, contributor, reads=reads)
        effects, bits = price_publication(questions, known_schema)
        if table is not None:
            now = effects_now(published, described.trees, known_schema, table)
    report = CheckReport(
        outputs=tuple(sorted((t.name, t.digest) for t in published)),
        rules=tuple(map(str, wanted)),
        insider=insider,
        left=left,
        statistics=tuple(parts),
        notes=tuple(dict.fromkeys(notes)),
        guesses=tuple(f"{t.name}: {guess}" for t in tables for guess in t.guesses),
        effects=effects,
        bits=bits,
        now=now,
        trees=described.trees,
        contributor=contributor,
        schema=known_schema,
        questions=tuple(questions),
        conditions=answers.conditions,
        publication=None if publication is None else publication.number,
    )
    return _booked(report, publication, before)


def _undeclared(tables: Sequence[Crosstab], trees: Sequence[CategoryTree]) -> list[str]:
    """Name categories that may be totals."""
    return [
        f"'{one_line(key, 40)}' of {dim} in {table.name} is the sum of all others, and is read as "
        "a category: if it is a total, declare it with total."
        for table in tables
        for dim, key in unnamed_totals(table, trees)
    ]


def _booked(
    report: CheckReport,
    publication: Publication | None,
    before: Callable[[CheckReport], None] | None,
) -> CheckReport:
    """Book a publication when all that can fail is done, whatever the verdict is."""
    if before is not None:
        before(report)
    if publication is None:
        return report
    return replace(report, notes=(*report.notes, publication.book()))


def _answers(
    against: str | os.PathLike[str] | None, schema: Schema | None, *, charge: bool
) -> LedgerAnswers:
    if against is None:
        if charge:
            raise OptionError("No ledger is named to charge", hint="give against= (--against)")
        return LedgerAnswers()
    if schema is None:
        raise OptionError(
            "The answers of a ledger are about the columns of a schema",
            hint="give the schema that the agent was asked under (--schema)",
        )
    return read_ledger(against, schema)


def _described(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Descriptions | None,
    marks: Mapping[str, str] | None,
    rounding: str | None,
) -> Descriptions:
    if spec is None:
        described = Descriptions()
    else:
        described = spec if isinstance(spec, Descriptions) else read_descriptions(spec)
    changes: dict[str, Any] = {}
    if marks:
        changes["marks"] = read_marks(marks)
    if rounding is not None:
        changes["rounding"] = None if rounding == "none" else Rounding.parse(rounding)
    if not changes:
        return described
    return replace(
        described,
        outputs={name: replace(output, **changes) for name, output in described.outputs.items()},
        default=replace(described.default, **changes),
    )


def read_outputs(
    outputs: Sequence[str | os.PathLike[str] | Crosstab], described: Descriptions
) -> tuple[list[Crosstab], list[str]]:
    """Read all outputs of a check; also return what there is to say about them."""
    if not outputs:
        raise OptionError("No output was named", hint="name the files that are published")
    tables: list[Crosstab] = []
    notes: list[str] = []
    for output in outputs:
        if isinstance(output, Crosstab):
            tables.append(output)
            continue
        if not isinstance(output, (str, os.PathLike)):
            raise OptionError(
                f"A {type(output).__name__} is no published table", hint="name the file that is"
            )
        place = Path(output)
        if os.path.isdir(place):  # noqa: PTH112 - names of any length
            if not (place / RESULTS).is_file():
                raise OptionError(
                    f"{output} is a folder without {RESULTS}",
                    hint="name files, or the folder that acro.finalise() wrote",
                )
            more, said = read_results_folder(str(output), described)
            tables += more
            notes += said
        else:
            tables.append(read_crosstab(str(output), described.of(str(output))))
            is_parquet = place.suffix.lower() in PARQUET_ENDINGS
            refuse_parts([str(place)], FileFormat.PARQUET if is_parquet else FileFormat.CSV)
    if len({table.path for table in tables if table.path}) < sum(bool(t.path) for t in tables):
        raise OptionError("An output is named twice", hint="name every file once")
    return [_in_finest_units(table, tables) for table in tables], notes


def _in_finest_units(table: Crosstab, tables: Sequence[Crosstab]) -> Crosstab:
    """Read a rounded output again if others show more decimals: 5 may be 2.5, and not just 3."""
    places = max(other.places for other in tables if other.statistic == table.statistic)
    if table.path is None or places == table.places or "rounding" not in table.described:
        return table
    return read_crosstab(table.path, read_description({**table.described, "decimals": places}))


def _unlisted(
    named: Sequence[str | os.PathLike[str] | Crosstab],
    described: Descriptions,
    tables: list[Crosstab],
) -> tuple[list[Crosstab], dict[str | None, Crosstab], list[str]]:
    """Read outputs whose unlisted cells nobody describes as if these were hidden, and zero."""
    if not any("labels" in table.described for table in tables):
        return tables, {}, []

    def read(absent: str) -> list[Crosstab]:
        meant = {
            name: replace(output, absent=output.absent or absent)
            for name, output in described.outputs.items()
        }
        return read_outputs(named, replace(described, outputs=meant))[0]

    listed, zeros, notes = [], {}, []
    for table, hidden, zero in zip(tables, read("hidden"), read("zero"), strict=True):
        inside = sum(None not in cell.keys for cell in table.cells)
        every = prod(len(table.categories(dim)) for dim in table.dims)
        doubtful = inside < every or zero.cells != table.cells
        doubtful &= table.absent is None and "labels" in table.described
        listed.append(hidden if doubtful else table)
        if doubtful:
            zeros[table.path] = zero
            notes.append(
                f"{table.name} does not list every cell, and nobody says whether such cells are "
                'hidden or zero: it was judged as both; state absent = "hidden" or "zero".'
            )
    return listed, zeros, notes


@dataclass(frozen=True)
class _Job:
    """The outputs of one statistic, and what they are judged with."""

    tables: list[Crosstab]
    trees: Sequence[CategoryTree]
    schema: Schema | None
    judge: RuleChecker
    data: object
    contributor: str | None
    resolved: Mapping[str, Any] | None
    zeros: Mapping[str | None, Crosstab]
    """Outputs in which nobody says what is not listed, by their paths: as if it were zero."""


def _check_statistic(  # noqa: C901 - a loop for every assumption
    job: _Job, before: list[CheckedStatistic], notes: list[str]
) -> list[CheckedStatistic]:
    places = max(table.places for table in job.tables)
    tables = [with_places(table, places) for table in job.tables]
    divided = universes(tables)
    parts: list[CheckedStatistic] = []
    for group in divided.groups:
        parts.append(_check_group(group, _selections(group, job), job, len(before) + len(parts)))
    said: dict[frozenset[tuple[str, str]], set[str]] = {}
    for cell in (cell for part in parts for cell in part.cells if divided.joined or job.zeros):
        said.setdefault(_keys(cell), set()).add("disclosed" if cell.suspected else cell.verdict)

    def news(part: CheckedStatistic) -> list[CheckedCell]:
        bad = [c for c in part.cells if c.verdict in {"disclosed", "open"}]
        return [c for c in bad if not said.get(_keys(c), set()) & {"disclosed", c.verdict}]

    for group in divided.groups:
        zero = [with_places(job.zeros.get(table.path, table), places) for table in group]
        if zero == list(group):
            continue
        try:
            part = _check_group(zero, _selections(zero, job), job, len(before) + len(parts))
        except InputError:
            continue  # no table fits: they are not zero
        parts.append(_assumed(part, news(part), "if what is not listed is zero"))
    # Assumptions are about the outputs alone: the microdata could tell, but nobody else.
    job = replace(job, data=None)
    for small, large in divided.nested:
        # The smaller output may be a part of the larger one; nobody says so.
        condition = f"rows of {small.name} in {large.name}"
        pair = [replace(large, where=None), replace(small, where=condition)]
        try:
            part = _check_group(pair, Selections.part(condition), job, len(before) + len(parts))
        except InputError:
            continue
        notes.append(
            f"{small.name} is nowhere larger than {large.name}: if it is a part of it, the "
            "differences follow; declare with where which rows each output is about."
        )
        cells = [c for c in part.cells if c.derived and c.verdict in {"disclosed", "open"}]
        parts.append(_assumed(part, cells, f"if {small.name} is a part"))
    for group, others in divided.joined:
        for more in ([*others], *([other] for other in others if len(others) > 1)):
            tables = [*group, *more]
            try:
                number = len(before) + len(parts)
                part = _check_group(tables, _selections(tables, job), job, number)
            except InputError:
                continue  # no table fits: they are not about the same rows
            names = listed([table.name for table in more])
            notes.append(
                f"{names} may be about the same rows as {listed([t.name for t in group])}: "
                "declare with where which rows each output is about."
            )
            if cells := news(part):
                parts.append(_assumed(part, cells, f"if {names} is about these rows"))
            break
    return parts


def _keys(cell: CheckedCell) -> frozenset[tuple[str, str]]:
    return frozenset(cell.keys.items())


def _assumed(
    part: CheckedStatistic, cells: Sequence[CheckedCell], condition: str
) -> CheckedStatistic:
    """Return the cells that follow only from an undeclared assumption, all of them open."""
    doubtful = [
        replace(
            cell,
            verdict="open",
            certain=False,
            why=f"{condition}: {cell.why}",
            suspected=cell.verdict == "disclosed" or cell.suspected,
        )
        for cell in cells
    ]
    return replace(part, cells=tuple(doubtful), assumed=True)


def _selections(tables: Sequence[Crosstab], job: _Job) -> Selections:
    conditions = sorted({table.where for table in tables if table.where})
    return select(conditions, categories_of(tables, job.trees), job.schema, job.resolved)


def _doubt(table: Crosstab, described: Descriptions) -> str:
    """Say what an untested total can be, and what declares it."""
    totals = any(None in cell.keys for cell in (*table.cells, *table.left_out))
    be = "its total may be that of all labels, of the shown ones only, or some labels are subtotals"
    known = {table.path, Path(table.path or "").name} & set(described.outputs)
    where = "what describes it already (its block, or its meta in dbt):" if known else "a block:"
    block = f"[[outputs]]\nfile = {dumps(table.path, ensure_ascii=False)}\n" if not known else ""
    return (
        f"{table.name}: {be if totals else 'some labels may be sums of others'}; that is neither "
        "declared nor tested, so no hidden cell is called protected. Declare total, margins or "
        "trees; where totals are those of all labels and no label is a subtotal (or "
        f'"shown", if they leave hidden cells out), add to outputs.toml {where}\n{block}margins = '
        '"all"'
    )


def _check_group(
    tables: Sequence[Crosstab], selections: Selections, job: _Job, number: int
) -> CheckedStatistic:
    """Judge outputs together; where a total is untested, as both kinds of totals.

    Totals that can be those of the shown cells are left out first: whatever all other tables fit
    is then certain in both readings.
    """
    part = _judged(tables, selections, job, number)
    if all(table.reading != "untested" for table in tables):
        return part
    other, reading = part, "if totals are those of all labels"
    if not any(None in cell.keys for table in tables for cell in table.cells):
        reading = "if no label is the sum of others"
    if any(table.left_out for table in tables):
        reading = "whether totals are those of all labels or of the shown ones"
        try:
            other = _judged(list(map(with_all_totals, tables)), selections, job, number)
        except InputError:
            reading = "if totals are those of the shown cells"
    first, second = ({cell.cell: cell for cell in mine.cells} for mine in (part, other))
    cells = [_doubted(first.get(at), second.get(at), reading) for at in sorted({*first, *second})]
    return replace(part, cells=tuple(cell for cell in cells if cell is not None))


def _doubted(
    shown: CheckedCell | None, whole: CheckedCell | None, reading: str
) -> CheckedCell | None:
    """Return the verdict that two readings of totals allow: nothing is protected by them."""
    both = [cell for cell in (shown, whole) if cell is not None]
    bad = [cell for cell in both if cell.verdict == "disclosed"]
    if len(bad) == 2:
        told = bad[0].stated[0] == bad[0].stated[1] and bad[0].why == bad[1].why
        return bad[0] if told else replace(bad[0], why=f"{bad[0].why}, {reading}")
    if shown is None and both[0].verdict == "safe":  # a total of the shown cells
        return None
    if all(cell.verdict == "safe" and cell.stated[0] == cell.stated[1] for cell in both):
        return both[0]
    why = "its totals are neither declared nor tested"
    if bad:
        kind = "shown cells" if bad[0] is shown else "all labels"
        why = f"if totals are those of the {kind}: {bad[0].why}".replace("the all", "all")
    return replace(
        (bad or both)[0],
        outer=both[0].outer,
        inner=both[0].inner,
        verdict="open",
        rule=(bad or both)[0].rule or "untested total",
        why=why,
        certain=False,
        suspected=bool(bad),
    )


def _judged(
    tables: Sequence[Crosstab], selections: Selections, job: _Job, number: int
) -> CheckedStatistic:
    joint = cover(tables, job.trees, selections)
    known = None
    if job.data is not None and joint.axes:  # not what a ledger alone says of all rows
        signed = bool((joint.system.low < 0).any())
        known = read_contributors(
            joint, tables[0], selections, job.data, job.contributor, signed=signed
        )
    placed: dict[int, list[PlacedCell]] = {}
    for output, place, cell in joint.stated:
        source, stated = tables[output], tables[output].cells[place]
        placed.setdefault(cell, []).append(
            PlacedCell(source.name, source.path, stated.line, stated.text)
        )
    counts = tables[0].statistic == "count"
    try:
        inference = Inference(joint.system, None if known is None else known.truth, joint.axes)
        views = job.judge.views(joint, inference, sorted(placed), known, counts=counts)
        cells = job.judge.judge(joint, views, placed, number, known, counts=counts)
    except NoTableFits as error:
        raise _no_table(joint, tables, error, given=known is not None) from None
    return CheckedStatistic(
        statistic=tables[0].statistic,
        outputs=tuple(sorted(table.name for table in tables)),
        places=tables[0].places,
        dims=joint.dims,
        cells=tuple(cells),
        joint=joint,
        views=tuple(views),
        known=known,
        tables=tuple(tables),
        selections=selections,
        categories=categories_of(tables, job.trees),
    )


def _no_table(
    joint: Cover, tables: Sequence[Crosstab], error: NoTableFits, *, given: bool
) -> InputError:
    names = ", ".join(table.name for table in tables)
    if given:
        with suppress(NoTableFits):
            Inference(joint.system)
            return InputError(
                f"The microdata do not have the numbers of {names}",
                hint="give the table that the outputs were made from, and the conditions of each",
            )
    return InputError(
        f"No table fits {names}: {relation_words(joint, error.relation)} cannot hold",
        hint="check the totals; if the numbers are rounded, declare --rounding, if some labels are "
        "sums of others, [[trees]], and if totals are those of the shown cells only, margins = "
        '"shown"',
    )
