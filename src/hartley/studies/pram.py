"""Perturb columns of a table at random, report the leakage, and estimate frequencies from it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.counting.pairs import distinct_counts
from hartley.engines.maps.writing import check_form, refuse_overwriting
from hartley.engines.tables.sources import open_table
from hartley.engines.tables.table import Kind, names_of
from hartley.engines.tables.view import prepare
from hartley.errors import ColumnError, OptionError
from hartley.files import check_files, written_together
from hartley.policies.document import PolicyDocument
from hartley.policies.kinds import KeptColumn
from hartley.policies.perturbation.drawing import TableDraw
from hartley.policies.perturbation.frequencies import (
    MOST_CELLS,
    FrequencyEstimate,
    estimate_from_counts,
)
from hartley.policies.perturbation.leakage import PramLeakage, pram_leakage
from hartley.policies.perturbation.pram import Pram
from hartley.ranges.relations.classes import Singling, single_out
from hartley.ranges.relations.people import FEW, check_wanted_k
from hartley.ranges.schema.roles import chosen_columns, open_with_roles
from hartley.readable import ReadableResult
from hartley.studies.pram_rules import RuleWish, check_rule_choice, choose_rules, joint_counts
from hartley.studies.release import as_matrices_say, release_drawn

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hartley.engines.tables.table import Table
    from hartley.guarantees.certificate import Certificate
    from hartley.policies.perturbation.pram import Seed
    from hartley.policies.perturbation.reconstruction import ReconstructedRelease
    from hartley.ranges.schema.roles import RolesSource
    from hartley.studies.pram_rules import FoundRule
    from hartley.studies.release import ReleaseReport
    from hartley.studies.released_people import ReleasedPeople

    Progress = Callable[[str, float], None]
    """Called with the name of the current step and the share of it that is done."""
    Rules = Pram | Sequence[Pram] | PolicyDocument | str | os.PathLike[str]

NOBODY = Singling(rows=0, columns=(), together=0)

__all__ = [
    "FrequencyEstimate",
    "PerturbedColumn",
    "PramReport",
    "estimate",
    "joint_frequencies",
    "pram",
]


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
class PramReport(ReadableResult):
    """What a random perturbation wrote, in numbers and in plain sentences."""

    release: ReleaseReport
    columns: tuple[PerturbedColumn, ...]
    policy: PolicyDocument
    seeded: bool
    """Whether the user chose the seed."""
    notes: tuple[str, ...] = ()
    singling: Singling = NOBODY
    """How many records the kept columns single out by themselves."""
    certificate: Certificate | None = None
    """What was promised, where a certificate was written."""
    reconstructions: tuple[ReconstructedRelease, ...] = ()
    """What replacing released values by estimates did, a rule each, where that was wanted."""

    @property
    def people(self) -> ReleasedPeople | None:
        """Whom the released rows single out, leave among few, or give away."""
        return self.release.people

    @property
    def headline(self) -> str:
        """The release in one sentence, and a warning if kept columns undo the perturbation."""
        titles = " and ".join(column.title for column in self.columns)
        made = f"{self.release.headline[:-1]}, {titles} perturbed at random."
        return f"{made} {self.singling.warning}".rstrip()

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
        return (*steps, seed, *self.release.sentences, *self.singling.sentences, *self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        return {
            "format": 1,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "seeded": self.seeded,
            "notes": list(self.notes),
            "columns": [column.to_dict() for column in self.columns],
            "singled_out": self.singling.to_dict(),
            "people": None if self.people is None else self.people.to_dict(),
            "reconstruction": [step.to_dict() for step in self.reconstructions],
            "release": self.release.to_dict(),
        }


def pram(  # noqa: PLR0913 - each is one choice of the user's
    table: object,
    rules: Rules | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    columns: str | Sequence[str | Sequence[str]] = (),
    retain: object = None,
    matrix: str | os.PathLike[str] | None = None,
    distortion: float | None = None,
    lam: float | None = None,
    risk: float | None = None,
    distance: str = "zero_one",
    invariant: bool = False,
    reconstruct: bool = False,
    missing: str = "refuse",
    keep: str | Sequence[str] | None = None,
    seed: Seed = None,
    confidential: str | Sequence[str] | None = None,
    policy_out: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    notes: Sequence[str] = (),
    progress: Progress | None = None,
    spreadsheet_safe: bool = False,
    roles: RolesSource | None = None,
    k: int | None = FEW,
) -> PramReport:
    """Write a table with columns perturbed at random; a column that is not named is not released.

    The rules are given, or computed for columns from one of ``retain``, ``matrix``,
    ``distortion``, ``lam`` and ``risk``. Rows are streamed: memory does not grow with them. The
    draw for a row depends only on the seed, the rule and the number of the row; a database that
    returns rows in no fixed order may number them differently next time. Every value must have a
    row of the matrix, a missing one too. All files are written, or none.

    Args:
        table: anything that ``open_table`` opens.
        rules: a rule, several for columns that are perturbed independently, or a policy.
        out: the Parquet or CSV file to write.
        columns: where no rules are given, the columns to perturb independently of each other; a
            list in the list holds columns that are perturbed together.
        retain: keep a value with this probability, else release any other with equal chances.
        matrix: a CSV file with the matrix of one column.
        distortion: use the best matrix of at most this mean distortion.
        lam: use the best matrix at this price of a bit of risk.
        risk: use the best matrix of at most this risk in bits.
        distance: how far a released value is from the truth: "zero_one", "squared" or "absolute".
        invariant: preserve the frequencies of the columns on average.
        reconstruct: release for every drawn value the best estimate of the truth from it instead:
            the mean for squared distance, the median for absolute, the likeliest value for
            zero_one. It distorts less and tells no more about a record; but the estimates are
            computed from the table and so tell something about it, which no certificate counts.
        missing: "refuse" missing values, or make missing a "value" that is perturbed too.
        keep: other columns to release as they are; with roles, by default the confidential ones
            and those with the role "kept".
        seed: a whole number to draw the same again; fresh random bytes of the system if left out.
        confidential: columns that the best matrix protects; the report says how much the perturbed
            columns tell about them.
        policy_out: also write the matrices as a policy file.
        certificate: also write what the policy promises; needs a policy file, given or written.
        notes: what else a reader should know.
        progress: called with the name of the current step and the share of it that is done.
        spreadsheet_safe: quote texts of a CSV file that a spreadsheet would take for formulas.
        roles: the confirmed roles of the columns: ``Roles``, a dict or a TOML file. Without rules
            and columns, the keys that hold no numbers are perturbed; an identifier is never
            released.
        k: people who share their released values with fewer, themselves included, are counted in
            the file that was written, which is read once more; None counts nobody.

    Example:
        >>> import tempfile
        >>> people = {"sex": ["F", "M"] * 500, "age": [20, 30] * 500}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     out = f"{folder}/out.parquet"
        ...     report = pram(people, out=out, columns="sex", retain="0.9", keep="age", seed=1)
        >>> report.headline[-24:]
        'sex perturbed at random.'
        >>> column = report.columns[0]
        >>> column.changed, [round(share, 2) for share in column.estimate.shares.tolist()]
        (114, [0.51, 0.49])
    """
    if out is None:
        raise OptionError("No file to write is named", hint="give out=, a .parquet or .csv file")
    if roles is not None:
        table, columns, keep, confidential = _by_roles(
            table, rules, columns, keep, confidential, roles
        )
    keep = () if keep is None else keep
    about = () if confidential is None else names_of(confidential)
    wish = RuleWish(lam, distortion, risk, distance, about)
    groups = [names_of(group) for group in names_of(columns)]
    check_rule_choice(
        groups,
        rules,
        wish,
        retain=retain,
        matrix=matrix,
        invariant=invariant,
        reconstruct=reconstruct,
    )
    if certificate is not None and reconstruct:
        # A certificate assumes that a rule does not depend on the table or is not shown. The
        # estimates depend on it and are shown: with all their digits they give counts away.
        raise OptionError(
            "No certificate covers estimates that are computed from the table and released",
            hint="leave out certificate, or reconstruct a rule by public frequencies with "
            "hartley.reconstruct and pass that",
        )
    check_form(out, spreadsheet_safe=spreadsheet_safe)  # before anything is counted
    check_wanted_k(k)
    opened = open_table(table)
    path = None if rules is None or isinstance(rules, (Pram, PolicyDocument)) else rules
    path = path if isinstance(path, (str, os.PathLike)) else None
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
    if rules is None:
        chosen = choose_rules(
            opened,
            groups,
            wish,
            retain=retain,
            matrix=matrix,
            invariant=invariant,
            missing=missing,
            reconstruct=reconstruct,
        )
        policy = policy_of([rule.pram for rule in chosen], keep)
        notes = (*dict.fromkeys(note for rule in chosen for note in rule.notes), *notes)
    else:
        policy = policy_of(rules, keep)
    if not policy.prams:
        raise OptionError(
            "The policy perturbs no column at random",
            hint='add a column of kind "pram", or use hartley.release',
        )
    promised = None if certificate is None else _promised(policy)
    with written_together():
        report = _perturb(
            opened,
            policy,
            out,
            seed=seed,
            about=about,
            notes=notes,
            progress=progress,
            spreadsheet_safe=spreadsheet_safe,
            k=k,
        )
        if policy_out is not None:
            policy.save(policy_out)
        if certificate is not None and promised is not None:
            promised = promised.bind(policy_out or path or "")
            promised.save(certificate)
    steps = tuple(rule.reconstruction for rule in chosen if rule.reconstruction is not None)
    return replace(report, certificate=promised, reconstructions=steps)


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
    known_roles.refuse_identifiers([*named, *names_of(keep or ())])
    if rules is None:
        kept = chosen_columns(known_roles, keep, "confidential", "kept", what="")
        keep = [name for name in kept if name not in named]
        hidden = chosen_columns(known_roles, confidential, "confidential", what="")
        confidential = hidden or None
    return table, columns, keep, confidential


def _promised(policy: PolicyDocument) -> Certificate:
    """Return the certificate of a policy; refuse one that nobody could rely on."""
    from hartley.guarantees.certify import certify

    promised = certify(policy)
    promised.refuse_unsound()
    return promised


def _perturb(  # noqa: PLR0913 - what ``pram`` was given
    table: Table,
    policy: PolicyDocument,
    out: str | os.PathLike[str],
    *,
    seed: Seed,
    about: tuple[str, ...],
    notes: Sequence[str],
    progress: Progress | None,
    spreadsheet_safe: bool,
    k: int | None,
) -> PramReport:
    """Draw and write the rows, and compute how much they tell."""
    draw = TableDraw(policy.prams, seed=seed)
    joints = [joint_frequencies(table, rule, about or None) for rule in policy.prams]
    released = release_drawn(
        table,
        policy,
        out,
        draw,
        progress=progress,
        spreadsheet_safe=spreadsheet_safe,
        k=k,
        confidential=about,
    )
    columns = tuple(
        _perturbed(draw, place, pram_leakage(rule, joint, about=about))
        for place, (rule, joint) in enumerate(zip(policy.prams, joints, strict=True))
    )
    free = [column.name for column in policy.columns if column.is_kept and column.range is None]
    left_out = prepare(table, about, missing="drop").left_out_sentence if about else ""
    return PramReport(
        released,
        columns,
        policy,
        seeded=seed is not None,
        notes=tuple(note for note in (*notes, left_out) if note),
        singling=single_out(table, (), free) if free else NOBODY,
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
    """Return the policy of rules, of a file or given as it is, with columns to keep added."""
    kept_columns = tuple(KeptColumn(name) for name in names_of(keep))
    if isinstance(rules, PolicyDocument):
        policy = rules
    elif isinstance(rules, Pram):
        return PolicyDocument((rules, *kept_columns))
    elif isinstance(rules, Sequence) and not isinstance(rules, str):
        return PolicyDocument((*rules, *kept_columns))
    else:
        policy = PolicyDocument.load(rules)
    return (
        PolicyDocument((*policy.columns, *kept_columns), policy.title, policy.design)
        if kept_columns
        else policy
    )


def joint_frequencies(
    table: Table, pram: Pram, confidential: str | Sequence[str] | None
) -> NDArray[np.float64] | None:
    """Return the relative frequencies of confidential values and the values of a matrix."""
    counts = joint_counts(table, pram, confidential)
    return None if counts is None else counts / counts.sum()


# --- estimates ----------------------------------------------------------------------------------


def estimate(
    table: object, rules: Rules, *, joint: bool = False, project: bool = False
) -> tuple[FrequencyEstimate, ...]:
    """Estimate the frequencies before the perturbation from a perturbed table, without bias.

    Args:
        table: the perturbed table, anything that ``open_table`` opens.
        rules: the rules or the policy that it was perturbed by.
        joint: estimate the frequencies of the combinations of all perturbed columns together,
            which were drawn independently; otherwise of each rule by itself.
        project: move the estimates to the nearest frequencies from 0 to 1, which biases them.

    Example:
        >>> rule = Pram.retaining("0.9", ["no", "yes"], column="sick")
        >>> (sick,) = estimate({"sick": ["no"] * 820 + ["yes"] * 180}, rule)
        >>> sick.shares.round(6).tolist()
        [0.9, 0.1]
    """
    policy = policy_of(rules)
    if not policy.prams:
        raise OptionError(
            "The policy perturbs no column at random", hint='it has no column of kind "pram"'
        )
    opened = as_matrices_say(open_table(table), policy)
    groups = [policy.prams] if joint else [(pram,) for pram in policy.prams]
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
