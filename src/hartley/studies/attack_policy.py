"""Attack a released table by its policy file alone, and compare the result with the promise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hartley.adversaries.policy import PolicyInversion
from hartley.errors import HartleyError, OptionError
from hartley.guarantees.certify import certify
from hartley.policies.document import PolicyDocument
from hartley.ranges.boxes.category_list import CategoryList
from hartley.ranges.boxes.stepped_range import SteppedRange
from hartley.ranges.schema.schema import Schema

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hartley.adversaries.policy_finding import PolicyFinding
    from hartley.policies.column import Declared


def attack_policy(  # noqa: PLR0913 - each is one thing that may be known
    policy: PolicyDocument | str | os.PathLike[str],
    released: object,
    *,
    data: object = None,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    steps: Mapping[str, object] | None = None,
    known: Sequence[str] = (),
    known_within: Mapping[str, object] | None = None,
    known_rounded: Mapping[str, object] | None = None,
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
        policy: the policy, or the path of its file.
        released: the released table, whatever ``open_table`` opens.
        data: the true table, its rows in the order of the released one; needed where something is
            known of the true values.
        schema: the public schema, which says more about the possible values: steps and lists.
        steps: the steps of columns, by column; they count before those of a schema.
        known: columns whose true value is known of every record.
        known_within: for columns known to within a distance of the true value, the distance.
        known_rounded: for columns known rounded to the nearest multiple of a step, the step.

    Example:
        >>> from hartley.policies.kinds import KeptColumn, LineColumn
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
        tuple(known),
        known_within or {},
        known_rounded or {},
    )
    finding = attack.attack(document, released, data)
    return replace(finding, promise=_promise(document))


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


def _promise(document: PolicyDocument) -> str:
    try:
        return certify(document).claim
    except HartleyError as error:
        return f"nothing, because it cannot be made ({error.problem})."
