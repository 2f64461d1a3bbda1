"""Which policy leaves a hypothesis open: a formula where there is one, tables else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.policies.hypotheses.continuous_meet import ContinuousMeetPolicy
from hartley.policies.hypotheses.lattice import LatticeColumn  # noqa: TC001 - the example uses it
from hartley.policies.hypotheses.meeting import MeetPolicy
from hartley.policies.hypotheses.monotone import NotMonotone
from hartley.policies.hypotheses.table_policy import TablePolicy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.policies.hypotheses.meeting import Norm, Rounding
    from hartley.ranges.boxes.box import Interval


def hiding_policy(  # noqa: PLR0913 - each is one choice of the user's
    hypothesis: str | Sequence[str],
    columns: Mapping[str, LatticeColumn],
    move: Sequence[str],
    reach: object,
    *,
    known_within: object = None,
    norm: Norm = "sup",
    rounding: Rounding | None = None,
    ranges: Mapping[str, Interval] | None = None,
    possible: str | None = None,
    released: Sequence[Sequence[int]] = (),
    search: bool = True,
) -> MeetPolicy | TablePolicy | ContinuousMeetPolicy:
    """Return the policy that leaves hypotheses open: a formula where it can be, tables else.

    Args:
        hypothesis: what is to stay open, or several.
        columns: the lattices of all columns that have a step.
        move: the columns that are moved.
        reach: the furthest that a value may be moved: one number for all, or one a column, as a
            list in the order of ``move`` or by name.
        known_within: to within what somebody may know the moved values.
        norm: how a single reach for several columns is measured.
        rounding: how values between the steps are read.
        ranges: the columns that have no step.
        possible: a condition that every possible record fulfils.
        released: tables that were found before.
        search: whether tables for several moved columns are looked for, which takes an integer
            program. What it finds depends on the solver, so a policy file holds the tables.

    Example:
        >>> hiding_policy("x == 5", {"x": LatticeColumn(0, 10, 1)}, ["x"], 1).count_open().open
        3
    """
    texts = [hypothesis] if isinstance(hypothesis, str) else list(hypothesis)
    directed = {"known_within": known_within, "round": rounding}
    used = [field for field, value in directed.items() if value is not None]
    if ranges:
        _refuse_beside(
            next(iter(ranges)),
            {
                "several hypotheses": len(texts) > 1,
                "several moved columns": len(move) > 1,
                "the field 'norm'": norm != "sup",
                "the field 'round'": rounding is not None,
                "the field 'possible'": possible is not None,
            },
        )
        return ContinuousMeetPolicy(
            texts[0], columns, ranges, move, reach, known_within=known_within
        )
    if len(texts) == 1 and possible is None and not released:
        try:
            return MeetPolicy(
                texts[0],
                columns,
                move,
                reach,
                known_within=known_within,
                norm=norm,
                rounding=rounding,
            )
        except NotMonotone:
            if used or (norm != "sup" and len(move) == 1):
                raise
            if len(move) > 1 and not search:
                raise OptionError(
                    "A hypothesis that is not monotone in several moved columns takes tables, "
                    "which the policy does not hold",
                    hint="let hartley design look for them and write the policy: the field "
                    "'released' holds them",
                ) from None
    elif used:
        raise OptionError(
            f"The field '{used[0]}' is for one hypothesis of one direction, with every value "
            "possible",
            hint=f"leave it out, or write one monotone hypothesis without {_tabled(texts)}",
        )
    return TablePolicy(texts, columns, move, reach, possible=possible, norm=norm, released=released)


def _tabled(texts: Sequence[str]) -> str:
    return "others beside it" if len(texts) > 1 else "possible and released"


def _refuse_beside(name: str, wanted: Mapping[str, bool]) -> None:
    """Refuse what has no rule beside a column without a step."""
    for what, is_wanted in wanted.items():
        if is_wanted:
            raise OptionError(
                f"Column '{name}' has no step, beside which there is no rule for {what}",
                hint=f"declare the step of '{name}', or leave the other out",
            )
