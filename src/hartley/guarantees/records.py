"""The promise for records that are released one by one: local noiseless privacy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hartley.errors import printable
from hartley.exact import bits_at_least, floor_power, parse_number
from hartley.guarantees.consequences import estimation_error, of_noiseless_privacy
from hartley.guarantees.promise import UNRELATED, B, Promise
from hartley.policies.column import Output  # noqa: TC001 - other modules import it from here
from hartley.wording import bits_up, counted, exactly, noun_for, verb_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from hartley.guarantees.promise import Consequence
    from hartley.policies.column import ColumnPolicy

Missing = Literal["counted", "refused", "ruled out"]
"""What becomes of a missing value: it is released as missing, which is one more output a column;
a strict release refuses it; or a policy for numbers alone says nothing about it."""
Together: TypeAlias = "Sequence[tuple[tuple[str, ...], int]]"
"""Names of columns, and how many values they take jointly at most, missing ones aside."""
INSIDE = "every value lies in its declared range, or is clamped to it first"
ROWS = "one row is one person, and neither the number nor the order of the rows tells anything"
STRICT = (
    "no value is missing: it holds for a strict release alone, and that a table was refused is not "
    "counted"
)
MISSING: Mapping[Missing, tuple[str, ...]] = {
    "counted": (
        "a missing value is released as missing, which counts as one output a column",
        ROWS,
    ),
    "refused": (STRICT, ROWS),
    "ruled out": (),
}


def outputs_of(column: ColumnPolicy) -> Output:
    """Return how many different releases a column of a policy has, over all records.

    Cells that are released alike count once. A column that is kept, or moved near a line, can
    take any value; one whose range is a single number cannot.

    Example:
        >>> from hartley.policies.kinds import MergedColumn
        >>> outputs_of(MergedColumn("job", (("nurse", "doctor"), ("smith",)), ("a", "b"))).count
        2
    """
    return column.outputs()


def promise_records(  # noqa: PLR0913 - what is known of a record beside its outputs
    columns: Sequence[Output],
    lengths: Mapping[str, Fraction],
    budget: object,
    *,
    missing: Missing = "ruled out",
    together: Together = (),
    more: tuple[Consequence, ...] = (),
) -> Promise:
    """Certify that a record has at most so many releases: the product over its columns.

    Farokhi 2019 (Noiseless Privacy), Definition 2, with Theorem 6 over the columns. Exact. Columns
    that release one query several times count together.

    Args:
        columns: what is released of a record.
        lengths: how long the declared range of each column of the table is.
        budget: the bits that were asked for; whether they are kept is part of the claim.
        missing: what becomes of missing values.
        together: columns of one query, and how many values they take jointly at most.
        more: what else is known to follow.
    """
    sizes = count_outputs(columns, missing)
    parameters: dict[str, Any] = {
        "outputs": {printable(name): size for name, size in sizes.items()},
        "missing": missing,
        "budget": budget_text(budget),
    }
    assumptions = (
        *MISSING[missing],
        UNRELATED,
        f"of the record nothing but {names(columns)} is released",
    )
    if None in sizes.values():
        return _promise_nothing(sizes, assumptions, parameters)
    outputs = count_together(sizes, missing, together)
    bits = bits_at_least(outputs)
    errors = (_estimation(name, length, columns, sizes) for name, length in lengths.items())
    return Promise(
        kind="local noiseless privacy",
        claim=(
            "Whatever a person's record is, its release is one of at most "
            f"{counted(outputs, 'value')}: {bits_up(bits)} about the person."
            + compare_budget(budget, outputs)
        ),
        value=bits,
        unit="bits",
        theorem=f"{B}, Definition 2",
        rule="printed",
        sound=budget is None or outputs <= floor_power(budget),
        certainty="exact",
        assumptions=(INSIDE, *assumptions),
        consequences=(*of_noiseless_privacy(outputs, *errors), *more),
        parameters=parameters,
    )


def count_outputs(columns: Iterable[Output], missing: Missing) -> dict[str, int | None]:
    """Return how many values each column is released as; None where they are not bounded."""
    one_more = 1 if missing == "counted" else 0
    return {
        column.name: None if column.count is None else column.count + one_more for column in columns
    }


def count_together(sizes: Mapping[str, int | None], missing: Missing, together: Together) -> int:
    """Return in how many ways the bounded columns of a record come out jointly, at most.

    Example:
        >>> count_together({"a": 4, "b": 3, "c": 2}, "ruled out", [(("a", "b"), 6)])
        12
    """
    one_more = 1 if missing == "counted" else 0  # the query is missing in all of them, or in none
    grouped = {name for names, _ in together for name in names}
    counts = [size for name, size in sizes.items() if size is not None and name not in grouped]
    for names, jointly in together:
        counts.append(min(jointly + one_more, math.prod(sizes[name] or 1 for name in names)))
    return math.prod(counts)


def _estimation(
    name: str, length: Fraction, columns: Sequence[Output], sizes: Mapping[str, int | None]
) -> Consequence:
    """Return the error about one column of the table, from all that is computed from it."""
    counts = [
        # An estimate is about a value that is not missing, so missing is not one of its outputs.
        sizes[column.name] if column.computed else column.count
        for column in columns
        if name in column.reads
    ]
    return estimation_error(length, math.prod(c or 1 for c in counts), of=printable(name))


def _promise_nothing(
    sizes: Mapping[str, int | None], assumptions: tuple[str, ...], parameters: dict[str, Any]
) -> Promise:
    """Certify that nothing is promised, since some column is released as it is."""
    unbounded = [printable(name) for name, size in sizes.items() if size is None]
    are = "it is" if len(unbounded) == 1 else "they are"
    rest = [size for size in sizes.values() if size is not None]
    beside = (
        f" Beside that, the release of a record is one of at most {math.prod(rest):,} values."
        if rest
        else ""
    )
    return Promise(
        kind="local noiseless privacy",
        claim=(
            f"Nothing is promised about a person: {' and '.join(unbounded)} can take any value and "
            f"{verb_for(len(unbounded), 'is')} released as {are}.{beside}"
        ),
        value=math.inf,
        unit="bits",
        theorem=f"{B}, Definition 2",
        rule="printed",
        sound=False,
        certainty="bound",
        assumptions=assumptions,
        parameters=parameters,
    )


def compare_budget(budget: object, outputs: int) -> str:
    """Say whether a budget is kept, as a sentence to add.

    Example:
        >>> compare_budget(1, 3)
        ' That breaks the budget of 1 bit, which allows 2 values.'
    """
    if budget is None:
        return ""
    allowed, bits = floor_power(budget), parse_number(budget, name="the budget in bits")
    asked = f"the budget of {exactly(bits)} {noun_for(bits, 'bit')}"
    if outputs <= allowed:
        return f" That keeps {asked}."
    return f" That breaks {asked}, which allows {counted(allowed, 'value')}."


def names(columns: Iterable[Output]) -> str:
    """List the names of columns in a sentence."""
    return ", ".join(printable(column.name) for column in columns)


def budget_text(budget: object) -> str | None:
    """Write a budget in the one way in which a certificate says it."""
    return None if budget is None else str(parse_number(budget, name="the budget in bits"))
