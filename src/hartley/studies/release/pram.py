"""Perturb columns of a table at random, report the leakage, and estimate frequencies from it."""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hartley.engines.table import Kind, names_of
from hartley.errors import ColumnError, InputError, OptionError
from hartley.files import check_files, read_text_file, write_all_or_none
from hartley.inputs import formerly
from hartley.policies.column import KeptColumn
from hartley.policies.distortion.model import PrivacyDistortion
from hartley.policies.document import PolicyDocument
from hartley.policies.random.estimates import (
    MOST_CELLS,
    FrequencyEstimate,
    estimate_from_counts,
    least_leaking,
    short_value,
)
from hartley.policies.random.matrix import MOST_VALUES, ExactMatrix
from hartley.policies.random.pram import (
    MOST_JUDGED,
    Pram,
    PramLeakage,
    TableDraw,
    pram_leakage,
)
from hartley.policies.random.reconstruction import ReconstructedRelease, reconstruct, risks_of_both
from hartley.ranges.classes import encode_column
from hartley.ranges.counting import Pairs
from hartley.ranges.distribution import JointDistribution, largest_ratio
from hartley.ranges.joint_range import as_counted
from hartley.ranges.relation import FEW, Relation, check_group_size
from hartley.report import (
    Chart,
    Grid,
    Heading,
    Heat,
    Panel,
    Readable,
    Report,
    Section,
    Series,
    Tile,
)
from hartley.schema.roles import chosen_columns, open_with_roles
from hartley.studies.look.exposure import usual_width
from hartley.studies.look.verdict import (
    CERTAINTIES,
    CERTAINTY,
    MANY_VALUES,
    NearbyPeople,
    Verdict,
    worst,
)
from hartley.studies.release.disclosure import (
    Disclosing,
    refuse_people,
    refuse_unreleased,
    verdicts_on,
)
from hartley.studies.release.release import (
    as_matrices_say,
    read_by,
    release_drawn,
    sound_certificate,
)
from hartley.tables.column_map import apply_map
from hartley.tables.counts import distinct_counts, distinct_values
from hartley.tables.opening import open_table
from hartley.tables.release_rules import Keep
from hartley.tables.view import keep_texts, prepare
from hartley.tables.writing import output_format, refuse_overwriting
from hartley.text import conjugate, count_of, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from hartley.engines.table import Table
    from hartley.guarantees.promise import Certificate
    from hartley.inputs import (
        ColumnGroups,
        Columns,
        Document,
        Few,
        InputFile,
        Number,
        OutputFile,
        PolicyFile,
        Progress,
        PythonOnly,
        Rows,
    )
    from hartley.policies.random.pram import Seed
    from hartley.schema.roles import RolesSource
    from hartley.studies.look.exposure import ReleasedPeople
    from hartley.studies.release.release import ReleaseReport

    Rules = Pram | Sequence[Pram] | PolicyDocument | str | os.PathLike[str]


# --- pram rules -----------------------------------------------------------------------------------
# Rules of perturbation for a table: from a probability, from a file, or the best trade-off.

FROM_TABLE = (
    "The values of the matrix were taken from the table: anybody who sees the policy file learns "
    "which values occur."
)
OPTIMAL = (
    "The matrix was computed from the frequencies of the table: anybody who sees it learns "
    "something about them."
)
INVARIANT = (
    "The frequencies are preserved in expectation; anybody who sees the matrix can compute them "
    "from it."
)
VALUES_ALONE = (
    "What is certified about the best rule is about rules that release values of the column; the "
    "estimates that took their place may do better."
)
RECONSTRUCTED = (
    "The estimates were computed from the frequencies of the table, and their digits stand in the "
    "release: what they tell about these frequencies is not counted here. In Python, "
    "hartley.policies.reconstruct takes public frequencies instead."
)


@dataclass(frozen=True)
class FoundRule:
    """A rule for columns of a table, with notes on how it was computed."""

    pram: Pram
    notes: tuple[str, ...] = ()
    reconstruction: ReconstructedRelease | None = None
    """What replacing the released values by estimates did, where that was wanted."""


@dataclass(frozen=True)
class RuleWish:
    """How rules are computed: from a probability, from a file, or the best one for a wish."""

    retain: object = None
    matrix: str | os.PathLike[str] | None = None
    lam: float | None = None
    distortion: float | None = None
    risk: float | None = None
    distance: str = "zero_one"
    confidential: tuple[str, ...] = ()
    invariant: bool = False
    reconstruct: bool = False
    missing: str = "refuse"

    @property
    def given(self) -> dict[str, float]:
        """The wishes for the best rule that are not None."""
        wishes = {"lam": self.lam, "distortion": self.distortion, "risk": self.risk}
        return {name: wish for name, wish in wishes.items() if wish is not None}


def check_rule_choice(columns: Sequence[Sequence[str]], rules: object, wish: RuleWish) -> None:
    """Refuse, before any work, a call that gives a matrix in two ways or in none."""
    ways = {"retain": wish.retain, "matrix": wish.matrix, "policy": rules, **wish.given}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        raise OptionError(
            f"Both {' and '.join(given[:2])} give a matrix" if given else "No matrix is given",
            hint="give one of retain, matrix, policy, distortion, lam and risk",
        )
    if rules is not None and (columns or wish.invariant or wish.reconstruct):
        raise OptionError(
            "A policy file already names the columns and matrices",
            hint="leave out the columns, invariant and reconstruct",
        )
    if wish.invariant and wish.reconstruct:
        raise OptionError(
            "Estimates have other frequencies than the values, so invariant and reconstruct "
            "exclude each other",
            hint="give one of them",
        )
    if rules is None and not all(columns or [()]):
        raise OptionError("No column to perturb is named", hint="add a column")


def choose_rule(table: Table, columns: Sequence[str], wish: RuleWish) -> FoundRule:
    """Return the rule for one group of columns, computed in the way that was chosen."""
    if wish.retain is not None:
        rule = retaining_rule(table, columns, wish.retain, missing=wish.missing)
    elif wish.matrix is not None:
        rule = matrix_rule(table, columns, wish.matrix)
    else:
        rule = best_rule(table, columns, wish)
    if wish.invariant:
        rule = invariant_rule(table, rule, missing=wish.missing)
    return reconstructed_rule(table, rule, wish) if wish.reconstruct else rule


def retaining_rule(
    table: Table, columns: Sequence[str], probability: object, *, missing: str = "refuse"
) -> FoundRule:
    """Return the rule that keeps the values of a table's columns with a probability.

    Over several columns the values are all combinations of those that each column has.
    """
    column_counts = [count_values(table, [name], missing) for name in columns]
    sides = [[value for (value,) in counts] for counts in column_counts]
    size = int(np.prod([len(side) for side in sides], dtype=float))
    if size > MOST_VALUES:
        raise OptionError(
            f"The columns {', '.join(columns)} have {size:,} combinations of values, too many for "
            "one matrix",
            hint="perturb them one by one: --column once for each",
        )
    values = sides[0] if len(sides) == 1 else list(itertools.product(*sides))
    return FoundRule(Pram.retaining(probability, values, column=tuple(columns)), (FROM_TABLE,))


def best_rule(table: Table, columns: Sequence[str], wish: RuleWish) -> FoundRule:
    """Return the best rule for a wish: the one that tells least about confidential columns.

    Without confidential columns it is the rule of least stochastic maximal leakage, which bounds
    the guessing of anything.
    """
    if len(wish.given) != 1:
        raise OptionError(
            "Give one of --lam, --distortion and --risk", hint="for example --distortion 0.2"
        )
    counts = count_values(table, columns, wish.missing)
    if not wish.confidential:
        if wish.distortion is None:
            raise OptionError(
                "A price or a limit of the risk needs confidential columns",
                hint="name them with --confidential, or give --distortion",
            )
        values = [value[0] if len(columns) == 1 else value for value in counts]
        best = least_leaking(
            list(counts.values()), wish.distance, wish.distortion, values=values, column=columns
        )
        note = (
            f"Of all rules with a mean {wish.distance.replace('_', '-')} distortion of "
            f"{best.distortion:.4g}, this one has the least maximal leakage."
        )
        return FoundRule(best.pram, (note, FROM_TABLE, OPTIMAL))
    model = PrivacyDistortion.from_table(
        table,
        confidential=list(wish.confidential),
        key=list(columns),
        distortion=wish.distance,
    )
    result = model.solve(**wish.given)
    pram = Pram.of_result(result, model.values, column=tuple(columns))
    return FoundRule(pram, (*result.sentences[:3], FROM_TABLE, OPTIMAL))


def invariant_rule(table: Table, rule: FoundRule, *, missing: str = "refuse") -> FoundRule:
    """Return the rule made invariant for the frequencies of a table."""
    pram = rule.pram
    frequencies = _frequencies(table, pram, missing)
    if pram.released != pram.values:
        raise OptionError(
            "A rule that releases new values cannot preserve frequencies",
            hint="leave out --invariant",
        )
    return FoundRule(pram.invariant(frequencies), (*rule.notes, INVARIANT))


def reconstructed_rule(table: Table, chosen: FoundRule, wish: RuleWish) -> FoundRule:
    """Return the rule with the best estimate of the truth for every value that it releases.

    The law is that of the perturbed columns in the table, with the confidential ones beside them
    for what is told. Other columns that are kept are left out of it: estimates that used them
    would depend on more than what the rule releases.
    """
    pram = chosen.pram
    frequencies = _frequencies(table, pram, wish.missing)
    step = reconstruct(pram, frequencies, distortion=wish.distance)
    joint = joint_frequencies(table, pram, wish.confidential or None)
    if joint is not None:  # it lacks rows without a confidential value, the frequencies do not
        law = JointDistribution(joint)
        before, after = risks_of_both(law, (pram.matrix, step.matrix))
        step = replace(step, risk_before=before, risk=after)
    certified = (VALUES_ALONE,) if wish.given and not step.is_fixed else ()
    return FoundRule(step.pram, (*chosen.notes, *certified, RECONSTRUCTED), step)


def _frequencies(table: Table, pram: Pram, missing: str) -> list[int]:
    """Return how often the values of a matrix occur; refuse a table with others."""
    counts = count_values(table, pram.columns, missing)
    keys = [value if isinstance(value, tuple) else (value,) for value in pram.values]
    if not counts.keys() <= set(keys):
        raise _without_row(pram)
    return [counts.get(key, 0) for key in keys]


def _without_row(pram: Pram) -> ColumnError:
    return ColumnError(
        f"Column '{pram.name}' holds a value that the matrix has no row for",
        hint="add a row to the matrix, or merge such values first",
    )


def joint_frequencies(
    table: Table, pram: Pram, confidential: str | Sequence[str] | None
) -> NDArray[np.float64] | None:
    """Return how often confidential values and the values of a matrix occur together.

    A column may be on both sides: then it is counted as what it is, a function of the key.
    """
    if confidential is None:
        return None
    relation = Relation.from_table(
        table, secret=confidential, released=list(pram.columns), missing="value"
    )
    pairs = relation.pairs()
    known = {value: place for place, value in enumerate(pram.values)}
    places = [known.get(value, -1) for value in relation.released_range]
    if min(places) < 0:
        raise _without_row(pram)
    joint = np.zeros((pairs.sizes[0], len(pram.values)), np.int64)
    joint[pairs.secret, np.array(places)[pairs.released]] = pairs.counts
    secrets = relation.secret_range
    absent = np.array([None in s if isinstance(s, tuple) else s is None for s in secrets])
    joint = joint[~absent]
    return np.asarray(joint / joint.sum())


def count_values(table: Table, columns: Sequence[str], missing: str) -> dict[tuple[Any, ...], int]:
    """Return how often every combination of values occurs, in their order where they compare."""
    if missing not in ("refuse", "value"):
        raise OptionError(
            f"The treatment of missing values '{missing}' is unknown",
            hint="choose 'refuse' or 'value'",
        )
    view = prepare(table, columns, missing="value")
    lost = next((column for column in view.columns if column.missing), None)
    if missing == "refuse" and lost is not None:
        raise ColumnError(
            f"{count_of(lost.missing, 'value')} of column '{lost.name}' "
            f"{conjugate(lost.missing, 'is')} missing",
            hint="drop such rows, or make missing a value that is perturbed too: --missing value",
        )
    combinations = distinct_counts(view)
    if combinations.num_rows > MOST_VALUES:
        raise OptionError(
            f"{', '.join(columns)} has {combinations.num_rows:,} values, too many for a matrix",
            hint="put numbers into cells or merge categories first (hartley design, release)",
        )
    sides = [combinations.column(f"c{place}").to_pylist() for place in range(len(columns))]
    rows = list(zip(zip(*sides, strict=True), combinations.column("n").to_pylist(), strict=True))
    rows.sort(key=lambda row: [(part is None, 0 if part is None else part) for part in row[0]])
    return dict(rows)


# --- matrices in files --------------------------------------------------------------------------


def matrix_rule(table: Table, columns: Sequence[str], path: str | os.PathLike[str]) -> FoundRule:
    """Read a matrix from a CSV file: released values in the first line, values in the first column.

    Numbers are exact as they are written, fractions such as 1/3 too; an empty name is the missing
    value. One column only.
    """
    if len(columns) != 1:
        raise OptionError(
            "A matrix in a CSV file is for one column",
            hint="write several columns in a policy file",
        )
    kind = prepare(table, columns, missing="value").table.kind(columns[0])
    text = read_text_file(path, what="matrix", kind=InputError)
    try:
        rows = csv.reader(io.StringIO(text, newline=""))
        lines = [[cell.strip() for cell in line] for line in rows if line]
    except csv.Error:
        raise InputError(f"The matrix {path} cannot be read", hint="write it as CSV") from None
    if len(lines) < 2 or any(len(line) != len(lines[0]) for line in lines) or len(lines[0]) < 2:
        raise InputError(
            f"The file {path} contains no matrix",
            hint="first line: an empty field and the released values; then a value and its "
            "probabilities in each line",
        )
    released = [_as_kind(name, kind, path) for name in lines[0][1:]]
    values = [_as_kind(line[0], kind, path) for line in lines[1:]]
    matrix = ExactMatrix.of([line[1:] for line in lines[1:]])
    same = values == released
    pram = Pram(matrix, values, column=tuple(columns), released=None if same else released)
    return FoundRule(pram)


def _as_kind(name: str, kind: Kind, path: str | os.PathLike[str]) -> Any:  # noqa: ANN401 - by the column
    """Read a name as a value of a column."""
    if not name:
        return None
    truths: Mapping[str, bool] = {"true": True, "false": False}
    try:
        if kind is Kind.INTEGER:
            return int(name)
        if kind is Kind.REAL:
            return float(name)
        if kind is Kind.BOOLEAN:
            return truths[name.lower()]
    except (ValueError, KeyError):
        raise InputError(
            f"A name in the matrix {path} is not a value of a column of {kind} values",
            hint="write the names as the column holds its values",
        ) from None
    return name


# --- pram -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PerturbedColumn:
    """One rule, the values before and after it, its leakage, and the estimates it allows."""

    pram: Pram
    before: NDArray[np.int64]
    """How many rows had each value; only the owner of the table knows this."""
    after: NDArray[np.int64]
    """How many rows have each released value."""
    changed: int
    leakage: PramLeakage
    estimate: FrequencyEstimate | None
    """From the perturbed rows alone; None where the matrix is singular."""
    not_estimable: str | None = None
    """Why there is no estimate."""

    @property
    def title(self) -> str:
        """The columns, as a sentence names them."""
        return ", ".join(self.pram.columns)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        rows = int(self.before.sum())
        changed = (
            f"{self.title} was changed in {self.changed:,} of {rows:,} rows "
            f"({100 * self.changed / rows:.1f} %)."
        )
        estimated = (
            (f"The frequencies of {self.title} cannot be estimated. {self.not_estimable}.",)
            if self.estimate is None
            else self.estimate.sentences
        )
        return (changed, *self.leakage.sentences, *estimated)

    def sections(self) -> tuple[Section, ...]:
        """Return what is to be said of the column: sentences, its matrix, its frequencies."""
        title = self.title
        matrix = (
            "Each row is a value in the table, and shows how likely it is released as each of the "
            "values."
        )
        frequencies = (
            "The frequencies in the table, those in the release, and those that anybody can "
            "estimate from the release and the matrix."
        )
        return (
            Section(title, points=self.sentences),
            Section(f"Matrix of {title}", (matrix,), chart=self._matrix(), page_only=True),
            Section(
                f"Frequencies of {title}",
                (frequencies,),
                chart=self._frequencies(),
                table=self._table(),
                page_only=True,
            ),
        )

    def _matrix(self) -> Chart:
        """Return the matrix: a row per value, a column per released value; darker is likelier."""
        rule = self.pram.matrix.doubles
        rows, columns = rule.shape
        heat = Heat(
            "probability",
            tuple(map(tuple, rule[::-1].tolist())),
            *(0, columns, 0, rows),
            names=(
                tuple(map(short_value, self.pram.values[::-1])),
                tuple(map(short_value, self.pram.released)),
            ),
        )
        size = 7.2, min(max(2.4, 0.36 * rows + 1.4), 6.4)
        labels = f"{self.title} as released", f"{self.title} in the table"
        return Chart("", (Panel(*labels, heat=heat, size=size),))

    def _frequencies(self) -> Chart:
        """Return the true, the released and the estimated frequencies, ± 2 standard errors."""
        names = tuple(map(short_value, self.pram.values))
        if len(set(names)) < len(names):  # each place has a name of its own
            names = tuple(f"{place}. {name}" for place, name in enumerate(names, 1))
        before = tuple((self.before / self.before.sum()).tolist())
        series = [Series("in the table", names, before, "bars", tone=0)]
        if self._comparable:
            after = tuple((self.after / self.after.sum()).tolist())
            series.append(Series("as released", names, after, "bars", tone=9))
        if self.estimate is not None:
            shares, errors = self.estimate.shares, 2 * self.estimate.errors
            y, low, high = (
                tuple(numbers.tolist()) for numbers in (shares, shares - errors, shares + errors)
            )
            label = "estimated from the release, ± 2 standard errors"
            series.append(Series(label, names, y, "points", low=low, high=high, tone=2))
        panel = Panel(self.title, "share of the rows", tuple(series), size=(7.2, 3.6))
        return Chart("", (panel,))

    def _table(self) -> Grid:
        rows, total, estimate = [], int(self.before.sum()), self.estimate
        for place, value in enumerate(self.pram.values):
            released = f"{self.after[place] / total:.4f}" if self._comparable else "-"
            estimated = (
                ("-", "-")
                if estimate is None
                else (f"{estimate.shares[place]:.4f}", f"{estimate.errors[place]:.4f}")
            )
            known = f"{self.before[place] / total:.4f}"
            rows.append((short_value(value), known, released, *estimated))
        numbers = ("in the table", "as released", "estimated", "standard error")
        headings = (Heading("value", "name"), *(Heading(name, "number") for name in numbers))
        return Grid(headings, tuple(rows), folded="The numbers")

    @property
    def _comparable(self) -> bool:
        """Whether the released values are those of the table."""
        return self.pram.released == self.pram.values

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON, without the table's own frequencies."""
        return {
            "columns": list(self.pram.columns),
            "values": len(self.pram.values),
            "changed": self.changed,
            "released_rows": self.after.tolist(),
            "leakage": self.leakage.to_dict(),
            "estimate": None if self.estimate is None else self.estimate.to_dict(),
            "not_estimable": self.not_estimable,
        }


@dataclass(frozen=True, eq=False)
class PramReport(Disclosing, Readable):
    """What a random perturbation wrote, in numbers and in plain sentences."""

    release: ReleaseReport
    columns: tuple[PerturbedColumn, ...]
    policy: PolicyDocument
    seeded: bool
    """Whether the user chose the seed."""
    notes: tuple[str, ...]
    certificate: Certificate | None = None
    """What was promised, where a certificate was written."""
    reconstructions: tuple[ReconstructedRelease, ...] = ()
    """What replacing released values by estimates did, a rule each, where that was wanted."""

    @property
    def people(self) -> ReleasedPeople | None:
        """Whom the released rows single out, leave among few, or give away."""
        return self.release.people

    @property
    def made(self) -> str:
        """The release in one sentence."""
        titles = " and ".join(column.title for column in self.columns)
        return f"{self.release.made[:-1]}, {titles} perturbed at random."

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        each = (sentence for column in self.columns for sentence in column.sentences)
        return (*each, *self.general)

    @property
    def general(self) -> tuple[str, ...]:
        """What a reader should know beyond the perturbed columns."""
        seed = (
            "The seed was chosen, so the draw can be repeated. Anybody who guesses or learns the "
            "seed can undo much of the perturbation; do not use it for another table."
            if self.seeded
            else "The draw was made with fresh random bytes of the system and cannot be repeated."
        )
        steps = (sentence for step in self.reconstructions for sentence in step.sentences)
        return (*steps, seed, *self.release.sentences, *self.notes)

    def report(self, *, estimate: bool = False) -> Report:
        """Return the perturbation in sections, with a table of the estimates if asked for."""
        private = (
            "This page shows the true frequencies of the perturbed columns. Do not publish it with "
            "the release; readers only need the policy file and its certificate."
        )
        owner = Section("For the owner of the table", (private,), page_only=True, warning=True)
        estimates = (
            Section(f"Estimated frequencies of {column.title}", table=column.estimate.table())
            for column in self.columns
            if estimate and column.estimate is not None
        )
        headline, lead = self.said
        return Report(
            f"Random perturbation of {self.release.table}",
            headline,
            (
                *self.verdict_tiles,
                Tile(f"{self.release.rows:,}", "rows released"),
                *(
                    Tile(
                        number(column.leakage.maximal, round="up", places=2, zeros=True),
                        f"bits that {column.title} reveals at most",
                    )
                    for column in self.columns[:3]
                ),
            ),
            (
                owner,
                *(section for column in self.columns for section in column.sections()),
                Section("What to know", (self.release.order,), self.general),
                *estimates,
            ),
            "Every number of bits is rounded up.",
            lead,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        return {
            "format": 1,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "seeded": self.seeded,
            "notes": list(self.notes),
            "columns": [column.to_dict() for column in self.columns],
            "people": None if self.people is None else self.people.to_dict(),
            "reconstruction": [step.to_dict() for step in self.reconstructions],
            "release": self.release.to_dict(),
            **self.disclosed(),
            **({} if self.certificate is None else {"promise": self.certificate.to_dict()}),
        }


@formerly(policy="rules", few="k")
def pram(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    policy: Document | None = None,
    out: OutputFile | None = None,
    *,
    columns: ColumnGroups = (),
    retain: Number | None = None,
    matrix: InputFile | None = None,
    distortion: float | None = None,
    lam: float | None = None,
    risk: float | None = None,
    distance: Literal["zero_one", "squared", "absolute"] = "zero_one",
    invariant: bool = False,
    reconstruct: bool = False,
    missing: Literal["refuse", "value"] = "refuse",
    keep: Columns | None = None,
    seed: Seed = None,
    confidential: Columns | None = None,
    policy_out: OutputFile | None = None,
    certificate: OutputFile | None = None,
    notes: PythonOnly[Sequence[str]] = (),
    progress: Progress | None = None,
    spreadsheet_safe: bool = False,
    allow_dependence: Columns | None = None,
    roles: RolesSource | None = None,
    few: Few | None = FEW,
) -> PramReport:
    """Write a table with columns perturbed at random; a column that is not named is not released.

    The rules are given, or computed for columns from one of ``retain``, ``matrix``,
    ``distortion``, ``lam`` and ``risk``. Rows are streamed: memory does not grow with them. The
    draw for a row depends only on the seed, the rule and the number of the row; a database that
    returns rows in no fixed order may number them differently next time. Every value must have a
    row of the matrix, a missing one too. All files are written, or none.

    Args:
        table: a table, in all forms that ``open_table`` takes, or one already open.
        policy: A policy file with the matrices. In Python, also a rule, several for columns that
            are perturbed independently, or a policy; without one the rules are computed for
            columns.
        out: The .parquet or .csv file to write.
        columns: The column to perturb, or columns to perturb together; repeat the option for
            columns to perturb independently. In Python, a list of columns that are perturbed
            independently; a list in the list holds columns that are perturbed together.
        retain: Keep a value with probability P, otherwise release any other value with equal
            probability.
        matrix: A CSV file: released values in the first line, true values in the first column.
        distortion: Use the best matrix of at most this mean distortion.
        lam: Use the best matrix when one bit of risk costs L units of distortion.
        risk: Use the best matrix of at most this risk in bits.
        distance: How the best matrix measures how far a released value is from the truth.
        invariant: Make the matrix preserve the frequencies of the columns on average.
        reconstruct: Release the best estimate of the truth for every drawn value: the mean for
            squared distance, the median for absolute, the likeliest value for zero_one. In Python,
            it distorts less and tells no more about a record; but the estimates are computed from
            the table and so tell something about it, which no certificate counts.
        missing: Refuse a table with missing values (refuse), or perturb missing like any other
            value (value).
        keep: Columns to release unchanged; columns that are not named are not released. In Python,
            with roles by default the confidential ones and those whose role is "kept".
        seed: Make the draw repeatable; anybody who knows N can undo it. Default: fresh random
            bytes.
        confidential: Columns to protect; the report says what the release reveals about them.
        policy_out: Also write the matrices as a policy.
        certificate: Also write the certificate of the policy; needs a policy file, given or
            written.
        notes: what else a reader should know.
        progress: called with the name of the current step and the share of it that is done.
        spreadsheet_safe: Put a single quote before texts in a CSV file that a spreadsheet would run
            as a formula.
        allow_dependence: Columns to release unchanged although they tell one that is perturbed.
        roles: the confirmed roles of the columns: ``Roles``, a dict or a TOML file. Without rules
            and columns, the keys that hold no numbers are perturbed; an identifier is never
            released.
        few: Count the people in groups of fewer than this many with the same values. In Python,
            they are counted in the file that was written, which is read once more; None counts
            nobody.

    Example:
        >>> import tempfile
        >>> people = {"sex": ["F", "M"] * 500, "age": [20, 20, 30, 30] * 250}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     out = f"{folder}/out.parquet"
        ...     report = pram(people, out=out, columns="sex", retain="0.9", keep="age", seed=1)
        >>> "sex perturbed at random." in report.headline
        True
        >>> column = report.columns[0]
        >>> column.changed, [round(share, 2) for share in column.estimate.shares.tolist()]
        (114, [0.51, 0.49])
    """
    if out is None:
        raise OptionError("No file to write is named", hint="give out=, a .parquet or .csv file")
    if roles is not None:
        table, columns, keep, confidential = _by_roles(
            table, policy, columns, keep, confidential, roles
        )
    keep = () if keep is None else keep
    about = () if confidential is None else names_of(confidential)
    wish = RuleWish(
        retain=retain,
        matrix=matrix,
        lam=lam,
        distortion=distortion,
        risk=risk,
        distance=distance,
        confidential=about,
        invariant=invariant,
        reconstruct=reconstruct,
        missing=missing,
    )
    groups = [names_of(group) for group in names_of(columns)]
    check_rule_choice(groups, policy, wish)
    if certificate is not None and reconstruct:
        # A certificate assumes that a rule does not depend on the table or is not shown. The
        # estimates depend on it and are shown: with all their digits they give counts away.
        raise OptionError(
            "No certificate covers estimates that are computed from the table and released",
            hint="leave out certificate, or reconstruct a rule by public frequencies with "
            "hartley.policies.reconstruct and pass that",
        )
    output_format(out, spreadsheet_safe=spreadsheet_safe)  # before anything is counted
    check_group_size(FEW if few is None else few)
    opened = open_table(table)
    path = policy if isinstance(policy, (str, os.PathLike)) else None
    if certificate is not None and policy_out is None and (path is None or keep):
        raise OptionError(
            "No certificate can be written, because no policy file is written",
            hint="write the policy too: policy_out= (--policy-out)",
        )
    read = {"table": opened.paths, "policy": () if path is None else (os.fspath(path),)}
    read["matrix"] = () if matrix is None else (os.fspath(matrix),)
    refuse_overwriting(read, out)
    beside = {"policy": policy_out, "certificate": certificate}
    if any(beside.values()):
        written = {"release": out, **beside}
        check_files({name: Path(file) if file else None for name, file in written.items()}, read)
    chosen: list[FoundRule] = []
    if policy is None:
        chosen = [choose_rule(opened, group, wish) for group in groups]
        made = policy_of([rule.pram for rule in chosen], keep)
        notes = (*dict.fromkeys(note for rule in chosen for note in rule.notes), *notes)
    else:
        made = policy_of(policy, keep)
    if not made.prams:
        raise OptionError(
            "The policy perturbs no column at random",
            hint='add a column of kind "pram", or use hartley.release',
        )
    promised = None if certificate is None else sound_certificate(made)
    others = [name for column in made.columns if not column.is_random for name in column.columns]
    others = [name for name in others if name not in about]
    draw = TableDraw(made.prams, seed=seed, beside=others if about else None)
    joints = [joint_frequencies(opened, rule, about or None) for rule in made.prams]
    with write_all_or_none():
        released = release_drawn(
            opened,
            made,
            out,
            draw,
            progress=progress,
            spreadsheet_safe=spreadsheet_safe,
            few=few,
            confidential=about,
            allow_dependence=allow_dependence,
        )
        released = replace(released, verdicts=_verdicts(opened, made, draw, about) if about else {})
        if policy_out is not None:
            made.save(policy_out)
        if certificate is not None and promised is not None:
            promised = promised.bind(policy_out or path or "")
            promised.save(certificate)
    left_out = prepare(opened, about, missing="drop").left_out_sentence if about else ""
    return PramReport(
        released,
        tuple(
            _perturbed(draw, place, pram_leakage(rule, joint, about=about))
            for place, (rule, joint) in enumerate(zip(made.prams, joints, strict=True))
        ),
        made,
        seeded=seed is not None,
        notes=(*notes, left_out) if left_out else tuple(notes),
        certificate=promised,
        reconstructions=tuple(rule.reconstruction for rule in chosen if rule.reconstruction),
        verdicts=released.verdicts,
        undone=released.undone,
        singling=released.singling,
    )


def _by_roles(  # noqa: PLR0913, PLR0917 - what ``pram`` was given
    source: object,
    rules: Rules | None,
    columns: str | Sequence[str | Sequence[str]],
    keep: str | Sequence[str] | None,
    confidential: str | Sequence[str] | None,
    roles: RolesSource,
) -> tuple[Table, Any, Any, Any]:
    """Return the table without identifiers, and columns as roles name them where nobody did."""
    table, known_roles = open_with_roles(source, roles)
    refuse_people("A draw", known_roles.named("unit"), known_roles.named("household"))
    if rules is None and not columns:
        keys = chosen_columns(known_roles, None, "key", what="key")
        # A matrix is about texts, truth values or numbers: a draw of dates would release true ones.
        drawn = [name for name in keys if table.kind(name) is not Kind.TIME]
        columns = [name for name in drawn if not table.kind(name).numeric] or drawn
        if not columns:
            raise ColumnError(
                f"Every key of {known_roles.file} is a date, which no matrix perturbs",
                hint="name other columns to perturb, or coarsen dates with hartley.anonymize",
            )
    named = [name for group in names_of(columns) for name in names_of(group)]
    if rules is None:
        kept = chosen_columns(known_roles, keep, "confidential", "kept", what="")
        keep = [name for name in kept if name not in named]
        hidden = chosen_columns(known_roles, confidential, "confidential", what="")
        confidential = hidden or None
    policy = policy_of(() if rules is None else rules, keep or ())
    read = [name for column in policy.columns for name in read_by(column)]
    as_it_is = [column.name for column in policy.columns if column.is_kept]
    refuse_unreleased(source, known_roles, [*named, *read], as_it_is)
    return table, columns, keep, confidential


def _verdicts(
    table: Table, policy: PolicyDocument, draw: TableDraw, about: tuple[str, ...]
) -> dict[str, Verdict]:
    """Return for each confidential column what the released rows tell of it.

    Where these are too many, each rule is judged alone, and so are the other columns together.
    """
    import pyarrow as pa

    beside, named = draw.beside, {name for rule in draw.prams for name in rule.columns}
    hidden = [name for name in about if name not in named]
    rules = [rule for rule in policy.to_map() if rule.column in named.union(beside)]
    read = as_matrices_say(keep_texts(table, hidden), policy)
    mapped = apply_map(read, [*rules, *map(Keep, hidden)], ranges=policy.ranges)
    table = replace(read, expression=mapped.expression, texts=None)
    counted = [pa.table({"c0": range(len(after)), "n": after}) for after in draw.after]
    verdicts = {}
    for name in about:
        whole = draw.classes and _judge(table, draw.prams, beside, draw.classes, name)
        if not whole:
            sides = zip(draw.prams, counted, strict=True)
            drawn = (_judge(table, (rule,), (), classes, name) for rule, classes in sides)
            known = verdicts_on(table, beside, [name]).values() if beside else ()
            whole = replace(worst([*filter(None, drawn), *known]), apart=True)
        verdicts[name] = whole
    return verdicts


def _judge(
    table: Table,
    prams: Sequence[Pram],
    beside: Sequence[str],
    classes: Any,  # noqa: ANN401 - Arrow carries no types
    secret: str,
) -> Verdict | None:
    """Return what released rows tell: the table gives the prior, the matrices the posterior.

    The people of a class are those who were released with its values. None if too many rows of
    several columns could be released.
    """
    import pyarrow as pa

    released = (*(name for rule in prams for name in rule.columns), *beside)
    names = list(dict.fromkeys((*released, secret)))
    cells = distinct_values(table, names)
    column = {name: as_counted(cells.column(i)) for i, name in enumerate(names)}
    rows, kept = classes.num_rows, np.zeros(classes.num_rows + cells.num_rows, np.int64)
    for i, name in enumerate(beside):
        ours = classes.column(i).cast(column[name].type)
        codes, kinds = encode_column(pa.chunked_array([*ours.chunks, *column[name].chunks]))
        kept = np.unique(kept * len(kinds) + codes, return_inverse=True)[1]
    secrets, values = encode_column(column[secret])
    # Counted: what is beside, true values of each rule, secrets, of which a missing one is last.
    shape = [int(kept.max()) + 1, len(values) + (values[-1] is not None)]
    size = math.prod([*shape, *(max(rule.matrix.shape) for rule in prams)])
    if size > MOST_JUDGED and len(prams) + len(beside) > 1:
        return None
    weights: NDArray[Any] = np.zeros([shape[0], *(len(r.values) for r in prams), shape[1]], int)
    sides = [[column[name] for name in rule.columns] for rule in prams]
    coders = [rule.coder([c.type for c in side]) for rule, side in zip(prams, sides, strict=True)]
    true = [coder.encode(side) for coder, side in zip(coders, sides, strict=True)]
    np.add.at(weights, (kept[rows:], *true, secrets), cells.column("n").to_numpy())
    *each, left_out = weights.sum(axis=tuple(range(len(prams) + 1))).tolist()
    usual, total = np.array(each, object), sum(each)
    for rule in prams:
        weights = _drawn(weights, rule.matrix.parts)
    weights = np.moveaxis(weights, 1, -1)  # of all rows that can be released, and each secret
    right = Fraction(weights[..., :-1].max(axis=-1).sum(), weights[..., :-1].sum())

    *places, people = (
        classes.column(i).to_numpy() for i in range(len(beside), classes.num_columns)
    )
    masses = weights[(kept[:rows], *places)][people > 0]
    people, lacking, alike = people[people > 0], masses[:, -1], masses.sum(axis=1)
    absent = 1 - largest_ratio(alike - lacking, alike), largest_ratio(lacking, alike)
    everybody, there = int(people.sum()), lacking < alike
    masses, people = masses[there, :-1], people[there]
    sizes, left = masses.sum(axis=1), (masses > 0).sum(axis=1)
    told = (left == 1) & (usual.size > 1)
    held, fair = masses * total, usual * sizes[:, None]

    def count(holds: NDArray[np.bool_]) -> int:
        return int(people[holds].sum())

    known = {}
    for c in CERTAINTIES:
        a, b = c.numerator, c.denominator
        near = (masses * b >= a * sizes[:, None]) & (usual * b < a * total)
        known[c] = count(told | near.any(axis=1))
    many = table.kind(secret).numeric and MANY_VALUES[0] < usual.size <= MANY_VALUES[1]
    width, within = usual_width(values) if many else None, None
    if width is not None:
        at, numbers = np.nonzero(masses)
        pairs = Pairs(numbers, at, masses[at, numbers], masses.shape[::-1])
        within = NearbyPeople.of_pairs(pairs, values[: usual.size], width, known, (usual, people))
    return Verdict(
        released=released,
        secret=(secret,),
        people=everybody,
        groups=people.size,
        values=usual.size,
        told=count(told),
        told_alone=count(told & (people == 1)),
        told_uncommon=count(told & (usual[masses.argmax(axis=1)] < max(each))),
        known=known,
        certainty=CERTAINTY if known[CERTAINTY] or not known[CERTAINTIES[-1]] else CERTAINTIES[-1],
        ruled_out=count(left < usual.size),
        left=int(left.min()),
        guess_right=right,
        guess_right_before=Fraction(max(each), total),
        largest_share=largest_ratio(masses.max(axis=1), sizes),
        gain=largest_ratio(held, fair),
        shift=largest_ratio(abs(held - fair).sum(axis=1), sizes) / (2 * total),
        within=within,
        left_out=left_out,
        absent=absent,
    )


def _drawn(weights: NDArray[Any], parts: NDArray[np.int64]) -> NDArray[Any]:
    """Return whole numbers times a matrix along their second axis, which becomes the last.

    Exact: in limbs of 24 bits, since a machine word holds the sum of 4,000 of their products.
    """

    def limbs(numbers: NDArray[Any]) -> Iterator[NDArray[np.int64]]:
        while numbers.any():
            yield (numbers & (2**24 - 1)).astype(np.int64)
            numbers = numbers >> 24

    pairs = itertools.product(enumerate(limbs(weights)), enumerate(limbs(parts)))
    return sum(
        (np.tensordot(a, b, (1, 0)).astype(object) << 24 * (i + j) for (i, a), (j, b) in pairs),
        np.array(0, object),
    )


def _perturbed(draw: TableDraw, place: int, leakage: PramLeakage) -> PerturbedColumn:
    pram, after = draw.prams[place], draw.after[place]
    estimate, reason = None, None
    try:
        estimate = estimate_from_counts(after, pram)
    except OptionError as error:
        reason = error.problem
    return PerturbedColumn(
        pram, draw.before[place], after, draw.changed[place], leakage, estimate, reason
    )


def policy_of(rules: Rules, keep: str | Sequence[str] = ()) -> PolicyDocument:
    """Return the policy of rules or of a file, with the columns to keep added."""
    kept = tuple(KeptColumn(name) for name in names_of(keep))
    if isinstance(rules, Pram):
        rules = (rules,)
    if isinstance(rules, Sequence) and not isinstance(rules, str):
        return PolicyDocument((*rules, *kept))
    policy = rules if isinstance(rules, PolicyDocument) else PolicyDocument.load(rules)
    return replace(policy, columns=(*policy.columns, *kept)) if kept else policy


# --- estimates ----------------------------------------------------------------------------------


@formerly(policy="rules")
def estimate(
    table: Rows,
    policy: PolicyFile,
    *,
    joint: bool = False,
    project: bool = False,
) -> tuple[FrequencyEstimate, ...]:
    """Estimate the frequencies before the perturbation from a perturbed table, without bias.

    Args:
        table: The perturbed table. In Python, anything that ``open_table`` takes.
        policy: The policy file that the table was perturbed with. In Python, also its rules.
        joint: Estimate the frequencies of combinations of all perturbed columns. In Python, the
            columns were drawn independently; otherwise each rule is estimated by itself.
        project: Project the estimates onto frequencies from 0 to 1, which biases them.

    Example:
        >>> rule = Pram.retaining("0.9", ["no", "yes"], column="sick")
        >>> (sick,) = estimate({"sick": ["no"] * 820 + ["yes"] * 180}, rule)
        >>> sick.shares.round(6).tolist()
        [0.9, 0.1]
    """
    rules = policy_of(policy)
    if not rules.prams:
        raise OptionError(
            "The policy perturbs no column at random", hint='it has no column of kind "pram"'
        )
    opened = as_matrices_say(open_table(table), rules)
    groups = [rules.prams] if joint else [(pram,) for pram in rules.prams]
    return tuple(
        estimate_from_counts(_counts(opened, prams), prams, project=project) for prams in groups
    )


def _counts(table: Table, prams: Sequence[Pram]) -> NDArray[np.int64]:
    """Count the rows of every combination of released values, an axis a rule."""
    shape = tuple(len(pram.released) for pram in prams)
    if np.prod(shape, dtype=float) > MOST_CELLS:
        raise OptionError(
            f"There are more than {MOST_CELLS:,} combinations of values to estimate",
            hint="estimate the columns one by one",
        )
    names = [name for pram in prams for name in pram.columns]
    combinations = distinct_counts(prepare(table, names, missing="value"))
    counts, at, start = np.zeros(shape, np.int64), [], 0
    for pram in prams:
        columns = [combinations.column(f"c{start + k}") for k in range(len(pram.columns))]
        start += len(pram.columns)
        back = Pram(np.eye(len(pram.released)), pram.released, column=pram.columns)
        codes = back.coder([column.type for column in columns]).encode(columns)
        if codes.min() < 0:
            raise ColumnError(
                f"Column '{pram.name}' of {table.name} holds a value that the policy never "
                "releases",
                hint="pass the table that was perturbed by this policy",
            )
        at.append(codes)
    np.add.at(counts, tuple(at), combinations.column("n").to_numpy())
    return counts
