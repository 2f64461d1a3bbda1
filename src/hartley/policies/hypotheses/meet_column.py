"""Columns of a policy file that are moved so that a hypothesis stays open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from hartley.engines.maps.lattice_index import IndexFormula, RealSide
from hartley.errors import OptionError
from hartley.exact import LARGEST_EXACT_INTEGER
from hartley.numerals import exact_text
from hartley.policies.column import ColumnPolicy, HiddenSide, Output, read_list, read_number
from hartley.policies.hypotheses.continuous_meet import ContinuousMeetPolicy
from hartley.policies.hypotheses.hiding_policy import hiding_policy
from hartley.policies.hypotheses.lattice import LatticeColumn, read_others
from hartley.policies.hypotheses.meeting import MeetPolicy
from hartley.policies.hypotheses.open_records import (
    OpenHypothesis,
    count_coverable,
    count_open,
)
from hartley.policies.hypotheses.sides.integer_form import substitute
from hartley.policies.hypotheses.table_policy import TablePolicy
from hartley.wording import counted, exactly, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from hartley.policies.hypotheses.hypothesis import Hypothesis
    from hartley.policies.hypotheses.meeting import Norm, Rounding
    from hartley.policies.hypotheses.open_records import OpenRecords, OpenShare
    from hartley.ranges.boxes.box import Interval
    from hartley.ranges.boxes.signs import Clause

NORMS, ROUNDINGS = ("sup", "l1", "l2"), ("nearest", "down")


@dataclass(frozen=True)
class MeetColumn(ColumnPolicy):
    """One or several columns on a step, released so that a hypothesis about the record stays open.

    Records from either side of the hypothesis are released at common places: by a formula where
    it is monotone (``MeetPolicy``), by tables else (``TablePolicy``), by a line in doubles where
    other columns have no step (``ContinuousMeetPolicy``).
    Which side a record lies on is decided in whole numbers, and what is released is one function
    of an index, so that two records that are released alike are alike in every digit.

    Example:
        >>> column = MeetColumn.from_fields("meet", "x", {
        ...     "hypothesis": "x >= 5", "low": "0", "high": "10", "step": "1", "reach": "1",
        ... })
        >>> column.columns, column.error, column.leaves_open().counts.open
        (('x',), Fraction(1, 1), 4)
    """

    policy: MeetPolicy | TablePolicy | ContinuousMeetPolicy

    kind = "meet"
    kinds = ("meet",)
    needed = ("hypothesis", "low", "high", "step", "reach")
    optional = ("move", "others", "known_within", "norm", "round", "possible", "released")

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
        lattices, ranges = read_others(fields.get("others", {}), moved)
        return cls(
            hiding_policy(
                _read_hypotheses(fields["hypothesis"]),
                moved | lattices,
                move,
                _read_reach(fields["reach"], "reach"),
                known_within=_read_reach(fields["known_within"], "known_within")
                if "known_within" in fields
                else None,
                norm=cast("Norm", _read_choice(fields.get("norm", "sup"), "norm", NORMS)),
                rounding=None
                if "round" not in fields
                else cast("Rounding", _read_choice(fields["round"], "round", ROUNDINGS)),
                ranges=ranges,
                possible=_read_condition(fields.get("possible")),
                released=_read_tables(fields.get("released")),
                search=False,
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
        others |= {
            name: [exact_text(side.low), exact_text(side.high)]
            for name, side in self._ranges.items()
        }
        texts = [hypothesis.text for hypothesis in self._hypotheses]
        fields: dict[str, Any] = {"hypothesis": texts if len(texts) > 1 else texts[0]}
        fields |= several | ends
        fields["reach"] = _write(policy.reach)
        if policy.known_within is not None:
            fields["known_within"] = _write(policy.known_within)
        if policy.norm != "sup":
            fields["norm"] = policy.norm
        if policy.rounding is not None:
            fields["round"] = policy.rounding
        if self._possible is not None:
            fields["possible"] = self._possible.text
        if isinstance(policy, TablePolicy) and policy.released:
            fields["released"] = [list(places) for places in policy.released]
        return fields | ({"others": others} if others else {})

    @property
    def _hypotheses(self) -> tuple[Hypothesis, ...]:
        policy = self.policy
        return policy.hypotheses if isinstance(policy, TablePolicy) else (policy.hypothesis,)

    @property
    def _ranges(self) -> Mapping[str, Interval]:
        """The columns that are read without a step."""
        return self.policy.ranges if isinstance(self.policy, ContinuousMeetPolicy) else {}

    @property
    def _possible(self) -> Hypothesis | None:
        return self.policy.possible if isinstance(self.policy, TablePolicy) else None

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
        reals = tuple(RealSide(name, side.low, side.high) for name, side in self._ranges.items())
        form = policy.possible_form if isinstance(policy, TablePolicy) else None
        return tuple(
            IndexFormula(
                name,
                substitute(sides[name].value_tree(), {name: policy.trees[name]}),
                tuple(sides.values()),
                reals,
                None if form is None else form.tree,
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
        reads = frozenset({*self.policy.columns, *self._ranges})
        return Output(", ".join(self.columns), count, reads)

    @property
    def lattice(self) -> Mapping[str, LatticeColumn]:
        """The columns that are read on a step."""
        return self.policy.columns

    def leaves_open(self) -> OpenHypothesis:
        """Return what the hypothesis is, or the first of several, and what leaves it open."""
        return self.all_left_open()[0]

    def all_left_open(self) -> tuple[OpenHypothesis, ...]:
        """Return every hypothesis, and how many records leave it open."""
        return tuple(self._opened(place) for place in range(len(self._hypotheses)))

    def _opened(self, place: int) -> OpenHypothesis:
        policy = self.policy
        most = None
        if isinstance(policy, MeetPolicy):
            records = count_open(policy)
            counts: OpenRecords | OpenShare = records
            if policy.rounding is None:
                most = records.open if policy.norm == "sup" else count_coverable(policy)
        elif isinstance(policy, TablePolicy):
            counts = policy.count_open(place)
            most = None if policy.also else policy.most
        else:
            counts = policy.count_open()
        return OpenHypothesis(
            hypothesis=self._hypotheses[place].text,
            columns=policy.columns,
            move=policy.move,
            errors=policy.errors,
            counts=counts,
            how=self._how(),
            apart=policy.apart,
            known_within=policy.known_within,
            rounding=policy.rounding,
            ranges=self._ranges,
            possible=None if self._possible is None else self._possible.text,
            most=most,
        )

    def _how(self) -> str:
        """Say which records are released as one."""
        policy = self.policy
        if isinstance(policy, TablePolicy):
            which = "it changes" if len(self._hypotheses) == 1 else "one of the hypotheses changes"
            return f"Where {which}, records of either side are released as one, by a table."
        apart = [
            f"{counted(distance, 'step')} of {name}"
            for name, distance in zip(policy.move, policy.distances, strict=True)
            if distance
        ]
        return f"Records of either side that lie {listed(apart)} apart are released as one."

    def hidden_sides(self) -> tuple[HiddenSide, ...]:
        """Return the hypotheses, in the form that an attack evaluates."""
        policy = self.policy
        if not isinstance(policy, TablePolicy):
            return (HiddenSide(policy.hypothesis.text, policy.hypothesis.clause),)
        return tuple(
            HiddenSide(text.text, text.clause, opens=partial(policy.open_at, which=place))
            for place, text in enumerate(policy.hypotheses)
        )

    def possible_if(self) -> Clause | None:
        """Return the condition that every possible record fulfils."""
        return None if self._possible is None else self._possible.clause

    def sentence(self) -> str:
        """Say what is released near the line."""
        errors = [
            f"{name} by up to {exactly(error)}"
            for name, error in zip(self.columns, self.policy.errors, strict=True)
            if error  # in a norm the best move may be along one column alone
        ]
        texts = [str(hypothesis) for hypothesis in self._hypotheses]
        return (
            f"Near where {listed(texts, joint='or')} changes, records from either side are "
            f"released as one, moving {listed(errors)}; every other record is released as it is"
            + (", rounded to the step." if self.policy.rounding else ".")
        )


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


def _read_reach(value: object, field: str) -> object:
    """Read numbers like the others, or one by the name of every moved column."""
    if isinstance(value, dict):
        return {name: read_number(item, field) for name, item in value.items()}
    return _read_numbers(value, field)


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


def _read_hypotheses(value: object) -> str | list[str]:
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise OptionError(
            "The field 'hypothesis' is not text",
            hint='write for example "weight >= 100", or a list of several',
        )
    return [str(text) for text in texts] if len(texts) > 1 else str(texts[0])


def _read_condition(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise OptionError(
        "The field 'possible' is not text",
        hint='write a condition that every possible record fulfils: "weight >= height/4"',
    )


def _read_tables(value: object) -> list[list[int]]:
    tables = [] if value is None else read_list(value, "released")
    if not all(isinstance(table, list) and all(_is_whole(x) for x in table) for table in tables):
        raise OptionError(
            "The field 'released' is not a list of lists of whole numbers",
            hint="let hartley design write the policy",
        )
    return tables


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**32
