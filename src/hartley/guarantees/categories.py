"""The promise for categories that are merged or perturbed at random: a bound on the leakage."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.errors import InputError, OptionError, printable
from hartley.exact import bits_at_least, parse_number
from hartley.guarantees.promise import UNRELATED, A, Consequence, Promise
from hartley.guarantees.records import INSIDE, ROWS, budget_text
from hartley.numerals import factor_up
from hartley.policies.categories.merging import Secrets
from hartley.policies.perturbation.leakage import pram_leakage
from hartley.wording import bits_up, counted, exactly, noun_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.policies.categories.merging import CategoryMerging
    from hartley.policies.document import PolicyDocument
    from hartley.policies.perturbation.pram import Pram
    from hartley.ranges.relations.relation import Relation


ALL_THERE_IS = (
    "what was counted is all that is possible (whoever can exclude some of it otherwise learns "
    "more)"
)


def promise_leakage(
    merging: CategoryMerging, records: Relation | Mapping[Any, int], budget: object
) -> Promise:
    r"""Certify how many secrets every released category leaves possible.

    .. math:: L_0(X;Y) = \log_2 \frac{|[X]|}{\min_y |[X|y]|}

    Farokhi 2019, eq. 6, counted again from the groups. Exact. Linear in the number of pairs.

    Args:
        merging: the groups.
        records: how many records each category has, or a relation whose released side they are.
        budget: the most bits that may leak.
    """
    secrets = Secrets.of(records)
    groups: dict[str, list[int]] = {}
    for code, category in enumerate(secrets.categories):
        groups.setdefault(merging.label(category), []).append(code)
    sizes = [size for codes in groups.values() if (size := secrets.size(codes))]
    total, smallest = secrets.total, min(sizes)
    bits = bits_at_least(total, smallest)
    keeps_budget = budget is None or ratio_within(total, smallest, budget)
    budget_sentence = (
        ""
        if budget is None
        else f" That {'keeps' if keeps_budget else 'breaks'} {asked_budget(budget)}."
    )
    column = printable(merging.column)
    return Promise(
        kind="leakage",
        claim=(
            f"Whatever is released of {column}, at least {smallest:,} of "
            f"{total:,} {noun_for(total, 'secret')} stay possible: it tells at most "
            f"{bits_up(bits)}."
            f"{budget_sentence}"
        ),
        value=bits,
        unit="bits",
        theorem=f"{A}, equation 6",
        rule="printed",
        sound=keeps_budget,
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
    return f"the budget of {exactly(bits)} {noun_for(bits, 'bit')}"


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


THEOREM = "Issa, Wagner and Kamath 2020, Theorem 1"
COMPOSITION = "Issa, Wagner and Kamath 2020, composition"
LOCAL = "Kasiviswanathan et al. 2011, local privacy"
UNGUESSED = (
    "whoever sees the release does not know the seed, nor can predict the keystream of ChaCha20 "
    "that was drawn from; a seed that can be guessed, or that another table was drawn by, promises "
    "nothing"
)
ONCE = "the table is drawn from once: every further draw adds as many bits again"
CHOSEN = (
    "the matrices do not depend on the table or are not shown: what they tell of it is not counted"
)
NOT_NOISELESS = (
    "It is drawn at random, so that no certificate of noiseless privacy, which is about "
    "deterministic releases, applies."
)


def promise_perturbation(document: PolicyDocument, budget: object) -> Promise:
    r"""Certify how much better a guess about a record gets by its perturbed release.

    .. math:: \tilde L_\star = \log_2 \prod_j \sum_{y} \max_{x} P_j(y|x)

    Issa, Wagner and Kamath 2020, over all the released columns: given the record they are drawn
    independently, so that the sum over combinations is at most the product. A deterministic
    column counts with the number of its outputs, missing among them. A bound, from the exact
    rationals of the matrices and of what is drawn by them, rounded up. Linear in their sizes.

    Args:
        document: the policy, with one perturbed column at least.
        budget: the bits that were asked for; whether they are kept is part of the claim.
    """
    hiding = document.lines | document.stepped
    if hiding:
        raise InputError(
            f"The policy moves '{next(iter(hiding))}' near a line and perturbs "
            f"'{document.prams[0].name}' at random, which no one certificate covers",
            hint="write two policies",
        )
    gains = {", ".join(column.columns): column.guessing_gain() for column in document.columns}
    shown = {printable(name): gain and str(gain) for name, gain in gains.items()}
    listed = ", ".join(printable(name) for name in gains)
    unbounded = [printable(name) for name, gain in gains.items() if gain is None]
    gain = math.prod((gain or Fraction(1) for gain in gains.values()), start=Fraction(1))
    bits = math.inf if unbounded else bits_at_least(gain.numerator, gain.denominator)
    keeps_budget = not unbounded and (
        budget is None or ratio_within(gain.numerator, gain.denominator, budget)
    )
    return Promise(
        kind="stochastic maximal leakage",
        claim=_claim(gain, bits, unbounded, budget, keeps_budget=keeps_budget),
        value=bits,
        unit="bits",
        theorem=THEOREM,
        rule="printed",
        sound=keeps_budget,
        certainty="bound",
        assumptions=(
            *((INSIDE,) if len(document.prams) < len(document.columns) else ()),
            ROWS,
            UNRELATED,
            UNGUESSED,
            ONCE,
            CHOSEN,
            f"of the record nothing but {listed} is released",
        ),
        consequences=tuple(
            consequence for pram in document.prams for consequence in _consequences(pram)
        ),
        parameters={"gains": shown, "missing": "counted", "budget": budget_text(budget)},
    )


def _claim(
    gain: Fraction, bits: float, unbounded: list[str], budget: object, *, keeps_budget: bool
) -> str:
    times = f"multiplies the chance to guess it by {factor_up(gain)} at most"
    if unbounded:
        many = len(unbounded) != 1
        return (
            f"Nothing is promised about a person: {' and '.join(unbounded)} can take any value and "
            f"{'are' if many else 'is'} released as {'they are' if many else 'it is'}. "
            f"The rest of the record {times}, whatever anybody wants to know. {NOT_NOISELESS}"
        )
    budget_sentence = (
        ""
        if budget is None
        else f" That {'keeps' if keeps_budget else 'breaks'} {asked_budget(budget)}."
    )
    return (
        "Whatever anybody wants to know about a person, the release of the person's record "
        f"{times}: {bits_up(bits)} of stochastic maximal leakage.{budget_sentence} {NOT_NOISELESS}"
    )


def _at_least(number: Fraction) -> float:
    """Return the least double that is not below an exact number."""
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)


def _consequences(pram: Pram) -> tuple[Consequence, ...]:
    """Return what follows for one perturbed column, or several that are drawn together."""
    leakage = pram_leakage(pram)
    name = printable(", ".join(pram.columns))
    _, certain, odds = leakage.sentences[:3]
    factor = math.inf if leakage.odds is None else _at_least(leakage.odds)
    values = counted(len(pram.values), "value")
    return (
        Consequence(
            f"guesses about {name}",
            leakage.maximal,
            f"About {name}, of {values}: {bits_up(leakage.maximal)} of maximal leakage; k draws of "
            "the same record tell k times as much at most.",
            COMPOSITION,
        ),
        Consequence(
            f"certainty about {name}", leakage.nonstochastic, certain, "Farokhi 2019, eq. 6"
        ),
        Consequence(f"odds of {name}", factor, odds, LOCAL),
    )
