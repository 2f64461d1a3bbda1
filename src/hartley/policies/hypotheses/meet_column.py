"""Columns of a policy file that are moved so that a hypothesis stays open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from hartley.engines.maps.lattice_index import IndexFormula
from hartley.errors import OptionError
from hartley.exact import LARGEST_EXACT_INTEGER
from hartley.policies.column import ColumnPolicy, HiddenSide, Output, read_list, read_number
from hartley.policies.hypotheses.integer_form import substitute
from hartley.policies.hypotheses.lattice import LatticeColumn, read_lattices
from hartley.policies.hypotheses.meeting import MeetPolicy
from hartley.policies.hypotheses.monotone import NotMonotone
from hartley.policies.hypotheses.open_records import OpenHypothesis, count_open
from hartley.policies.hypotheses.table_policy import TablePolicy
from hartley.wording import counted, exact_text, exactly, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from hartley.policies.hypotheses.meeting import Norm, Rounding

NORMS, ROUNDINGS = ("sup", "l1", "l2"), ("nearest", "down")


@dataclass(frozen=True)
class MeetColumn(ColumnPolicy):
    """One or several columns on a step, released so that a hypothesis about the record stays open.

    Records from either side of the hypothesis are released at common places: by a formula where
    it is monotone (``MeetPolicy``), by tables else (``TablePolicy``).
    Which side a record lies on is decided in whole numbers, and what is released is one function
    of an index, so that two records that are released alike are alike in every digit.

    Example:
        >>> column = MeetColumn.from_fields("meet", "x", {
        ...     "hypothesis": "x >= 5", "low": "0", "high": "10", "step": "1", "reach": "1",
        ... })
        >>> column.columns, column.error, column.leaves_open().counts.open
        (('x',), Fraction(1, 1), 4)
    """

    policy: MeetPolicy | TablePolicy

    kind = "meet"
    kinds = ("meet",)
    needed = ("hypothesis", "low", "high", "step", "reach")
    optional = ("move", "others", "known_within", "norm", "round")

    def __post_init__(self) -> None:
        if self.policy.peak > LARGEST_EXACT_INTEGER:
            raise OptionError(
                "On these steps the hypothesis takes whole numbers of more than 53 binary digits, "
                "which engines would round",
                hint="declare coarser steps, or write its numbers with fewer digits",
            )
        self.to_rules()

    # --- a file -----------------------------------------------------------------------------

    @classmethod
    def from_fields(cls, kind: str, name: str, fields: Mapping[str, object]) -> MeetColumn:
        """Build it from the fields of a file."""
        _ = kind  # there is one
        move = _read_move(name, fields.get("move"))
        ends = [_read_each(fields[field], field, move) for field in ("low", "high", "step")]
        moved = {
            column: LatticeColumn(*numbers)
            for column, numbers in zip(move, zip(*ends, strict=True), strict=True)
        }
        hypothesis = fields["hypothesis"]
        if not isinstance(hypothesis, str):
            raise OptionError(
                "The field 'hypothesis' is not text", hint='write for example "weight >= 100"'
            )
        return cls(
            hiding_policy(
                hypothesis,
                moved | read_lattices(fields.get("others", {}), moved),
                move,
                _read_numbers(fields["reach"], "reach"),
                known_within=_read_numbers(fields["known_within"], "known_within")
                if "known_within" in fields
                else None,
                norm=cast("Norm", _read_choice(fields.get("norm", "sup"), "norm", NORMS)),
                rounding=None
                if "round" not in fields
                else cast("Rounding", _read_choice(fields["round"], "round", ROUNDINGS)),
            )
        )

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        policy = self.policy
        several = {"move": list(policy.move)} if len(policy.move) > 1 else {}
        lattices = [policy.columns[name] for name in policy.move]
        ends = {
            field: _write([getattr(lattice, field) for lattice in lattices])
            for field in ("low", "high", "step")
        }
        others = {name: c.texts() for name, c in policy.columns.items() if name not in policy.move}
        fields: dict[str, Any] = {"hypothesis": policy.hypothesis.text} | several | ends
        fields["reach"] = _write(policy.reach)
        if policy.known_within is not None:
            fields["known_within"] = _write(policy.known_within)
        if policy.norm != "sup":
            fields["norm"] = policy.norm
        if policy.rounding is not None:
            fields["round"] = policy.rounding
        return fields | ({"others": others} if others else {})

    # --- a release --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The column, or the first of several."""
        return self.policy.move[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are moved."""
        return self.policy.move

    def to_rules(self) -> tuple[IndexFormula, ...]:
        """Return what an engine executes: an index chosen exactly, then the value of the index."""
        policy = self.policy
        sides = {
            name: column.side(name, policy.rounding if name in policy.move else None)
            for name, column in policy.columns.items()
        }
        return tuple(
            IndexFormula(
                name,
                substitute(sides[name].value_tree(), {name: policy.trees[name]}),
                tuple(sides.values()),
            )
            for name in policy.move
        )

    # --- a promise --------------------------------------------------------------------------

    @property
    def range(self) -> tuple[Fraction, Fraction] | None:
        """The declared range; None of several columns."""
        if len(self.columns) > 1:
            return None
        lattice = self.policy.columns[self.name]
        return lattice.low, lattice.high

    @property
    def error(self) -> Fraction:
        """The furthest that a value is moved, in any column."""
        return max(self.policy.errors)

    def error_of(self, name: str) -> Fraction:
        """Return the furthest that a value of one column is moved."""
        return self.policy.errors[self.columns.index(name)]

    def outputs(self) -> Output:
        """Return that every value of the lattice can come out."""
        lattices = [self.policy.columns[name] for name in self.columns]
        count = math.prod(lattice.last + 1 for lattice in lattices)
        return Output(", ".join(self.columns), count, frozenset(self.policy.columns))

    @property
    def lattice(self) -> Mapping[str, LatticeColumn]:
        """The columns that are read on a step."""
        return self.policy.columns

    def leaves_open(self) -> OpenHypothesis:
        """Return what the hypothesis is, and how many records leave it open."""
        policy = self.policy
        return OpenHypothesis(
            hypothesis=policy.hypothesis.text,
            columns=policy.columns,
            move=policy.move,
            errors=policy.errors,
            counts=count_open(policy) if isinstance(policy, MeetPolicy) else policy.count_open(),
            how=self._how(),
            apart=policy.apart,
            known_within=policy.known_within,
            rounding=policy.rounding,
        )

    def _how(self) -> str:
        """Say which records are released as one."""
        policy = self.policy
        if isinstance(policy, TablePolicy):
            return "Where it changes, records of either side are released as one, by a table."
        apart = [
            f"{counted(distance, 'step')} of {name}"
            for name, distance in zip(policy.move, policy.distances, strict=True)
            if distance
        ]
        return f"Records of either side that lie {listed(apart)} apart are released as one."

    def hidden_side(self) -> HiddenSide:
        """Return the hypothesis, in the form that an attack evaluates."""
        hypothesis = self.policy.hypothesis
        return HiddenSide(hypothesis.text, hypothesis.clause)

    def sentence(self) -> str:
        """Say what is released near the line."""
        errors = [
            f"{name} by up to {exactly(error)}"
            for name, error in zip(self.columns, self.policy.errors, strict=True)
        ]
        return (
            f"Near where {self.policy.hypothesis} changes, records from either side are released "
            f"as one, moving {listed(errors)}; every other record is released as it is"
            + (", rounded to the step." if self.policy.rounding else ".")
        )


def hiding_policy(  # noqa: PLR0913 - each is one choice of the user's
    hypothesis: str,
    columns: Mapping[str, LatticeColumn],
    move: Sequence[str],
    reach: object,
    *,
    known_within: object = None,
    norm: Norm = "sup",
    rounding: Rounding | None = None,
) -> MeetPolicy | TablePolicy:
    """Return the policy that leaves a hypothesis open: a formula, or tables on one column.

    Example:
        >>> hiding_policy("x == 5", {"x": LatticeColumn(0, 10, 1)}, ["x"], 1).count_open().open
        3
    """
    try:
        return MeetPolicy(
            hypothesis,
            columns,
            move,
            reach,
            known_within=known_within,
            norm=norm,
            rounding=rounding,
        )
    except NotMonotone:
        if len(move) > 1 or known_within is not None or norm != "sup" or rounding is not None:
            raise
        alone = reach[0] if isinstance(reach, list) and len(reach) == 1 else reach
        return TablePolicy(hypothesis, columns, move, alone)


def _read_move(name: str, move: object) -> list[str]:
    names = [name] if move is None else read_list(move, "move")
    if not all(isinstance(column, str) for column in names) or names[:1] != [name]:
        raise OptionError(
            f"The columns to move do not begin with '{name}'",
            hint="list the columns that are moved together, the named one first",
        )
    return names


def _read_numbers(value: object, field: str) -> list[Fraction] | Fraction:
    if isinstance(value, list):
        return [read_number(item, field) for item in value]
    return read_number(value, field)


def _read_each(value: object, field: str, move: Sequence[str]) -> list[Fraction]:
    """Read one number a moved column, or one for all."""
    numbers = _read_numbers(value, field)
    if not isinstance(numbers, list):
        return [numbers] * len(move)
    if len(numbers) != len(move):
        raise OptionError(
            f"The field '{field}' has {len(numbers)} numbers for {counted(len(move), 'column')}",
            hint="give one for all, or one for each in the order of 'move'",
        )
    return numbers


def _read_choice(value: object, field: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise OptionError(
            f"The field '{field}' is unknown", hint=f"choose from {', '.join(choices)}"
        )
    return str(value)


def _write(numbers: Sequence[Fraction]) -> str | list[str]:
    texts = [exact_text(number) for number in numbers]
    return texts[0] if len(texts) == 1 else texts
