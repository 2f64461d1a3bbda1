"""Rules of perturbation for a table: from a probability, from a file, or the best trade-off."""

from __future__ import annotations

import csv
import io
import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.counting.pairs import distinct_counts
from hartley.engines.tables.table import Kind
from hartley.engines.tables.view import prepare
from hartley.errors import ColumnError, InputError, OptionError
from hartley.files import read_text_file
from hartley.policies.distortion.model import PrivacyDistortion
from hartley.policies.perturbation.best_matrix import least_leaking
from hartley.policies.perturbation.matrix import MOST_VALUES, ExactMatrix
from hartley.policies.perturbation.pram import Pram
from hartley.policies.perturbation.reconstruction import (
    ReconstructedRelease,
    reconstruct,
    risks_of_both,
)
from hartley.ranges.relations.distribution import JointDistribution
from hartley.ranges.relations.relation import Relation
from hartley.wording import counted, verb_for

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.engines.tables.table import Table

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
    "hartley.reconstruct takes public frequencies instead."
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
    """What the best rule should meet: one of three wishes, and how distortion is measured."""

    lam: float | None = None
    distortion: float | None = None
    risk: float | None = None
    distance: str = "zero_one"
    confidential: tuple[str, ...] = ()

    @property
    def given(self) -> dict[str, float]:
        """The wishes that are not None."""
        wishes = {"lam": self.lam, "distortion": self.distortion, "risk": self.risk}
        return {name: wish for name, wish in wishes.items() if wish is not None}


def check_rule_choice(  # noqa: PLR0913 - what ``hartley.pram`` was given
    columns: Sequence[Sequence[str]],
    rules: object,
    wish: RuleWish,
    *,
    retain: object,
    matrix: object,
    invariant: bool,
    reconstruct: bool = False,
) -> None:
    """Refuse, before any work, a call that gives a matrix in two ways or in none.

    Example:
        >>> ways = {"retain": "0.8", "matrix": None}
        >>> check_rule_choice([["sex"]], None, RuleWish(), **ways, invariant=True)
    """
    ways = {"retain": retain, "matrix": matrix, "policy": rules, **wish.given}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        raise OptionError(
            f"Both {' and '.join(given[:2])} give a matrix" if given else "No matrix is given",
            hint="give one of retain, matrix, policy, distortion, lam and risk",
        )
    if rules is not None and (columns or invariant or reconstruct):
        raise OptionError(
            "A policy file already names the columns and matrices",
            hint="leave out the columns, invariant and reconstruct",
        )
    if invariant and reconstruct:
        raise OptionError(
            "Estimates have other frequencies than the values, so invariant and reconstruct "
            "exclude each other",
            hint="give one of them",
        )
    if rules is None and not all(columns or [()]):
        raise OptionError("No column to perturb is named", hint="add a column")


def choose_rules(  # noqa: PLR0913 - what ``hartley.pram`` was given
    table: Table,
    columns: Sequence[Sequence[str]],
    wish: RuleWish,
    *,
    retain: object,
    matrix: str | os.PathLike[str] | None,
    invariant: bool,
    missing: str,
    reconstruct: bool = False,
) -> list[FoundRule]:
    """Return a rule for each group of columns, computed in the way that was chosen."""
    chosen = []
    for names in columns:
        if retain is not None:
            rule = retaining_rule(table, names, retain, missing=missing)
        elif matrix is not None:
            rule = matrix_rule(table, names, matrix)
        else:
            rule = best_rule(table, names, wish, missing=missing)
        if invariant:
            rule = invariant_rule(table, rule, missing=missing)
        if reconstruct:
            rule = reconstructed_rule(table, rule, wish, missing=missing)
        chosen.append(rule)
    return chosen


def retaining_rule(
    table: Table, columns: Sequence[str], probability: object, *, missing: str = "refuse"
) -> FoundRule:
    """Return the rule that keeps the values of a table's columns with a probability.

    Over several columns the values are all combinations of those that each column has.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> table = open_table({"sex": ["F", "M", "F"]})
        >>> retaining_rule(table, ["sex"], "0.8").pram.values
        ('F', 'M')
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


def best_rule(
    table: Table, columns: Sequence[str], wish: RuleWish, *, missing: str = "refuse"
) -> FoundRule:
    """Return the best rule for a wish: the one that tells least about confidential columns.

    Without confidential columns it is the rule of least stochastic maximal leakage, which bounds
    the guessing of anything.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> table = open_table({"age": [30, 30, 40, 40], "sick": ["yes", "no", "no", "no"]})
        >>> rule = best_rule(table, ["age"], RuleWish(distortion=0.5, confidential=("sick",)))
        >>> rule.pram.matrix.shape
        (2, 2)
    """
    if len(wish.given) != 1:
        raise OptionError(
            "Give one of --lam, --distortion and --risk", hint="for example --distortion 0.2"
        )
    counts = count_values(table, columns, missing)
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


def reconstructed_rule(
    table: Table, chosen: FoundRule, wish: RuleWish, *, missing: str = "refuse"
) -> FoundRule:
    """Return the rule with the best estimate of the truth for every value that it releases.

    The law is that of the perturbed columns in the table, with the confidential ones beside them
    for what is told. Other columns that are kept are left out of it: estimates that used them
    would depend on more than what the rule releases.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> table = open_table({"dose": [0, 0, 0, 10]})
        >>> chosen = retaining_rule(table, ["dose"], "0.8")
        >>> better = reconstructed_rule(table, chosen, RuleWish(distance="squared"))
        >>> [round(dose, 2) for dose in better.pram.released]
        [0.77, 5.71]
    """
    pram = chosen.pram
    step = reconstruct(pram, _frequencies(table, pram, missing), distortion=wish.distance)
    joint = joint_counts(table, pram, wish.confidential or None)
    if joint is not None:  # it lacks rows without a confidential value, the frequencies do not
        law = JointDistribution(joint / joint.sum())
        before, after = risks_of_both(law, (pram.matrix, step.matrix))
        step = replace(step, risk_before=before, risk=after)
    certified = (VALUES_ALONE,) if wish.given and not step.is_fixed else ()
    return FoundRule(step.pram, (*chosen.notes, *certified, RECONSTRUCTED), step)


def _frequencies(table: Table, pram: Pram, missing: str) -> list[int]:
    """Return how often the values of a matrix occur; refuse a table with others."""
    counts = count_values(table, pram.columns, missing)
    keys = [value if isinstance(value, tuple) else (value,) for value in pram.values]
    if not counts.keys() <= set(keys):
        raise ColumnError(
            f"Column '{pram.name}' holds a value that the matrix has no row for",
            hint="add a row to the matrix, or merge such values first",
        )
    return [counts.get(key, 0) for key in keys]


def joint_counts(
    table: Table, pram: Pram, confidential: str | Sequence[str] | None
) -> NDArray[np.int64] | None:
    """Return how often confidential values and the values of a matrix occur together.

    A column may be on both sides: then it is counted as what it is, a function of the key.
    """
    if confidential is None:
        return None
    relation = Relation.from_table(table, secret=confidential, released=list(pram.columns))
    pairs = relation.pairs()
    known = {value: place for place, value in enumerate(pram.values)}
    places = [known.get(value, -1) for value in relation.released_range]
    if min(places) < 0:
        raise ColumnError(
            f"Column '{pram.name}' holds a value that the matrix has no row for",
            hint="add a row to the matrix, or merge such values first",
        )
    joint = np.zeros((pairs.sizes[0], len(pram.values)), np.int64)
    joint[pairs.secret, np.array(places)[pairs.released]] = pairs.counts
    return joint


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
            f"{counted(lost.missing, 'value')} of column '{lost.name}' "
            f"{verb_for(lost.missing, 'is')} missing",
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
