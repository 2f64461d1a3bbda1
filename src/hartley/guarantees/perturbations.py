"""What is promised where columns are perturbed at random: stochastic maximal leakage."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import InputError, printable
from hartley.exact import bits_at_least
from hartley.guarantees.leakage import asked_budget, ratio_within
from hartley.guarantees.promise import UNRELATED, Consequence, Promise, counted, up_bits
from hartley.guarantees.records import INSIDE, ROWS, budget_text, outputs_of
from hartley.policies.columns import LineColumn, Pram, columns_of
from hartley.policies.perturbation.leakage import guessing_gain, pram_leakage, rounded_up

if TYPE_CHECKING:
    from hartley.policies.columns import ColumnPolicy
    from hartley.policies.document import PolicyDocument

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
    lines = [column.name for column in document.columns if isinstance(column, LineColumn)]
    if lines:
        raise InputError(
            f"The policy moves '{lines[0]}' near a line and perturbs '{document.prams[0].name}' at "
            "random, which no one certificate covers",
            hint="write two policies",
        )
    gains = {", ".join(columns_of(column)): _gain(column) for column in document.columns}
    shown = {printable(name): gain and str(gain) for name, gain in gains.items()}
    listed = ", ".join(printable(name) for name in gains)
    unbounded = [printable(name) for name, gain in gains.items() if gain is None]
    gain = math.prod((gain or Fraction(1) for gain in gains.values()), start=Fraction(1))
    bits = math.inf if unbounded else bits_at_least(gain.numerator, gain.denominator)
    kept = not unbounded and (
        budget is None or ratio_within(gain.numerator, gain.denominator, budget)
    )
    return Promise(
        kind="stochastic maximal leakage",
        claim=_claim(gain, bits, unbounded, budget, kept=kept),
        value=bits,
        unit="bits",
        theorem=THEOREM,
        rule="printed",
        sound=kept,
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
        consequences=tuple(one for pram in document.prams for one in _consequences(pram)),
        parameters={"gains": shown, "missing": "counted", "budget": budget_text(budget)},
    )


def _gain(column: ColumnPolicy) -> Fraction | None:
    """Return by how much a column multiplies the chance of a guess; None where by anything."""
    if isinstance(column, Pram):
        return guessing_gain(column.matrix)
    outputs = outputs_of(column).count
    return None if outputs is None else Fraction(outputs + 1)


def _claim(gain: Fraction, bits: float, unbounded: list[str], budget: object, *, kept: bool) -> str:
    times = f"multiplies the chance to guess it by {rounded_up(gain)} at most"
    if unbounded:
        many = len(unbounded) != 1
        return (
            f"Nothing is promised about a person: {' and '.join(unbounded)} can take any value and "
            f"{'are' if many else 'is'} released as {'they are' if many else 'it is'}. "
            f"The rest of the record {times}, whatever anybody wants to know. {NOT_NOISELESS}"
        )
    told = (
        "" if budget is None else f" That {'keeps' if kept else 'breaks'} {asked_budget(budget)}."
    )
    return (
        "Whatever anybody wants to know about a person, the release of the person's record "
        f"{times}: {up_bits(bits)} of stochastic maximal leakage.{told} {NOT_NOISELESS}"
    )


def _at_least(number: Fraction) -> float:
    """Return the least double that is not below an exact number."""
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)


def _consequences(pram: Pram) -> tuple[Consequence, ...]:
    """Return what follows for one perturbed column, or several that are drawn together."""
    found = pram_leakage(pram)
    name = printable(", ".join(pram.columns))
    _, certain, odds = found.sentences[:3]
    factor = math.inf if found.odds is None else _at_least(found.odds)
    values = counted(len(pram.values), "value")
    return (
        Consequence(
            f"guesses about {name}",
            found.maximal,
            f"About {name}, of {values}: {up_bits(found.maximal)} of maximal leakage; k draws of "
            "the same record tell k times as much at most.",
            COMPOSITION,
        ),
        Consequence(f"certainty about {name}", found.nonstochastic, certain, "Farokhi 2019, eq. 6"),
        Consequence(f"odds of {name}", factor, odds, LOCAL),
    )
