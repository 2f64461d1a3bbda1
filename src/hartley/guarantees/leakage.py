"""What is promised about the leakage of merged categories."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError, printable
from hartley.exact import bits_at_least, parse_number
from hartley.guarantees.promise import A, Promise, counted as number_of, exactly, up_bits
from hartley.guarantees.records import budget_text
from hartley.policies.grouping import Secrets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.policies.merging import CategoryMerging
    from hartley.ranges.relation import Relation

ALL_THERE_IS = (
    "what was counted is all that is possible (whoever can exclude some of it otherwise learns "
    "more)"
)


def promise_leakage(
    merging: CategoryMerging, counted: Relation | Mapping[Any, int], budget: object
) -> Promise:
    r"""Certify how many secrets every released category leaves possible.

    .. math:: L_0(X;Y) = \log_2 \frac{|[X]|}{\min_y |[X|y]|}

    Farokhi 2019, eq. 6, counted again from the groups. Exact. Linear in the number of pairs.

    Args:
        merging: the groups.
        counted: how many records each category has, or a relation whose released side they are.
        budget: the most bits that may leak.
    """
    secrets = Secrets.of(counted)
    groups: dict[str, list[int]] = {}
    for code, category in enumerate(secrets.categories):
        groups.setdefault(merging.label(category), []).append(code)
    sizes = [size for codes in groups.values() if (size := secrets.size(codes))]
    total, smallest = secrets.total, min(sizes)
    bits = bits_at_least(total, smallest)
    kept = budget is None or ratio_within(total, smallest, budget)
    told = (
        "" if budget is None else f" That {'keeps' if kept else 'breaks'} {asked_budget(budget)}."
    )
    column = printable(merging.column)
    return Promise(
        kind="leakage",
        claim=(
            f"Whatever is released of {column}, at least {smallest:,} of "
            f"{number_of(total, 'secret')} stay possible: it tells at most {up_bits(bits)}.{told}"
        ),
        value=bits,
        unit="bits",
        theorem=f"{A}, equation 6",
        rule="printed",
        sound=kept,
        certainty="exact",
        assumptions=(
            ALL_THERE_IS,
            f"nothing but {column} is released",
        ),
        parameters={
            "secrets": total,
            "smallest": smallest,
            "groups": len(sizes),
            "budget": budget_text(budget),
        },
    )


def asked_budget(budget: object) -> str:
    """Name a budget in a sentence."""
    bits = parse_number(budget, name="the budget in bits")
    return f"the budget of {exactly(bits)} bit{'' if bits == 1 else 's'}"


def ratio_within(total: int, smallest: int, bits: object) -> bool:
    """Say whether a ratio of counts is at most 2^bits, exactly.

    Example:
        >>> ratio_within(12, 3, 2), ratio_within(13, 3, 2)
        (True, False)
        >>> ratio_within(3, 1, "1.58"), ratio_within(3, 1, "1.59")
        (False, True)
    """
    bound = parse_number(bits, name="the budget in bits")
    if bound < 0:
        raise OptionError(f"No release leaks {bits} bits", hint="give 0 bits or more")
    if bound >= total.bit_length():
        return True
    if bound.denominator == 1:
        return total <= smallest << int(bound)
    # Irrational, so never equal: enough digits settle it.
    with localcontext() as context:
        context.prec = len(str(total)) + 80
        power = Decimal(2) ** (Decimal(bound.numerator) / Decimal(bound.denominator))
        return total <= smallest * power
