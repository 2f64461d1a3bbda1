"""The consequences of a certified claim, each with its number."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.exact import bits_at_least, bits_at_most, float_below
from hartley.guarantees.promise import A, B, Consequence, D
from hartley.text import at_most, bits_down, bits_up, number

if TYPE_CHECKING:
    from hartley.boxes.cut_box import CutBox

ROUGH = "the volume was not enclosed as closely as wished, since that takes too many boxes"
MOST_BALLS, MOST_CORNERED = 10_000, 3
"""Up to so many cells, in so many dimensions, are measured one by one."""


def of_noiseless_privacy(outputs: int, *errors: Consequence) -> tuple[Consequence, ...]:
    """Return what follows when one person's data can produce at most this many outputs."""
    bits, twice = bits_at_least(outputs), bits_at_least(outputs**2)
    return (
        Consequence(
            "information leakage",
            bits,
            "To whoever knows everybody else's data, what the release tells about one person, "
            f"I⋆(Xᵢ;Y) ≤ L₀ˢ(Xᵢ;Y) ≤ L₀(Y;Xᵢ), is at most {bits_up(bits)}; I⋆ to whoever knows "
            "less as well, where people are unrelated. This does not bound L₀(Xᵢ;Y): a single rare "
            "output may still narrow the person's value further.",
            f"{B}, Theorem 1",
        ),
        Consequence(
            "zero-error capacity",
            bits,
            f"A stream of such answers carries at most {bits_up(bits)} an answer about one person "
            "without error, given everybody else's data; without that knowledge too where people "
            "are unrelated.",
            f"{B}, Theorem 2",
        ),
        Consequence(
            "hypothesis tests",
            1.0 if outputs > 1 else -math.inf,
            "Whoever tests which of two given values a person has, knowing everything else, "
            + (
                "either decides it, which is 1 bit, or learns nothing."
                if outputs > 1
                else "learns nothing."
            ),
            f"{B}, Theorem 3, sharpened",
        ),
        *errors,
        Consequence(
            "stochastic maximal leakage",
            bits,
            "Were the data random, the maximal leakage about one person given everybody else's "
            f"data is at most {bits_up(bits)}, whatever the law; without that knowledge too where "
            "the person is independent of the others.",
            f"{B}, Theorem 5",
        ),
        Consequence(
            "composition",
            twice,
            "Another release about the same people adds its bits, whichever query it answers and "
            f"however it was chosen: two like this one tell at most {bits_up(twice)} "
            "about one person.",
            f"{B}, Theorem 6, also adaptive",
        ),
        Consequence(
            "post-processing",
            bits,
            f"Whatever is computed from the release tells no more: at most {bits_up(bits)}.",
            f"{B}, Theorem 7",
        ),
    )


def estimation_error(
    length: Fraction, outputs: int, *, of: str = "a person's value"
) -> Consequence:
    r"""Return the least error of an estimate of a value whose range was equally likely before.

    .. math:: E|X - \hat X|^p \ge \frac{\rho\,\mu^{p+1}}{(p+1)\,2^p N^p}, \qquad \rho = 1/\mu

    Farokhi 2019 (Noiseless Privacy), Theorem 4, corrected: for any p > 0, with rho a lower bound
    of the density of the value given everything else. Attained by N equal cells. The value is
    that of p = 1, rounded down.
    """
    absolute = length / (4 * outputs)
    root = float_below(length / (2 * outputs)) / math.sqrt(3) * (1 - 1e-15)
    return Consequence(
        "estimation error",
        float_below(absolute),
        f"Whoever knows everything else and thinks every number in the range of {of} equally "
        f"likely errs by {number(absolute, 4, round='down')} on average at least, and by "
        f"{number(root, 4, round='down')} in the root mean square.",
        f"{B}, Theorem 4, corrected",
    )


def indistinguishability(telling: int) -> Consequence:
    """Return what follows when this many outputs can tell one value of a person from another."""
    return Consequence(
        "indistinguishability",
        bits_at_least(telling),
        f"To somebody who knows nothing about the others, {at_most(telling)} of the outputs can "
        "tell one value of a person from another.",
        f"{D}, Theorem 5, sharp",
    )


def maximin_of_cells(cut: CutBox) -> Consequence:
    """Return how much the cells of a query tell about all its data, whatever their volumes."""
    from hartley.measures.leakage import maximin_information

    agreed = maximin_information(cut)
    return Consequence(
        "maximin information",
        agreed,
        f"The answer tells {bits_up(agreed)} about all the data together: in which of "
        f"{len(cut.outputs):,} cells it lies.",
        f"{A}, Theorem IV.2",
    )


def of_cells(cut: CutBox) -> tuple[Consequence, ...]:
    """Return what the cells of a quantized query tell about all its data together."""
    from hartley.measures.leakage import nonstochastic_leakage

    leaked = nonstochastic_leakage(cut)
    error, source = _reconstruction(cut)
    known, loose = cut.smallest, ""
    if not known.reached:
        least = bits_at_most(*(cut.total / known.high).as_integer_ratio())
        loose = f" It is {bits_down(least)} at least: {ROUGH}."
    return (
        maximin_of_cells(cut),
        Consequence(
            "leakage",
            leaked,
            (
                "How far the most telling answer narrows all the data together is not bounded."
                if math.isinf(leaked)
                else "The most telling answer narrows all the data together by "
                f"{bits_up(leaked)} at most."
            )
            + loose,
            f"{A}, Theorem IV.3",
        ),
        Consequence(
            "reconstruction error",
            error,
            "Whoever reconstructs all the data from the answer may err by "
            f"{number(max(error, 0), 4, round='down')} or more, whatever the answer is."
            + (f" This may be far too little: {ROUGH}." if loose else ""),
            f"{A}, {source}",
        ),
    )


def _reconstruction(cut: CutBox) -> tuple[float, str]:
    """Return the smallest error of a reconstruction and its source."""
    from hartley.measures.estimation import smallest_error, smallest_error_bound

    # Exact for linear queries of few variables, or of many that count alike; else the radius of a
    # ball as large as the smallest cell.
    form = cut.query.linear()
    if form is not None and len(cut.outputs) <= MOST_BALLS:
        lengths = {side.length for side in cut.box.sides.values()}
        weights = {abs(form[0].get(name, Fraction(0))) for name in cut.box.names}
        if len(cut.box.names) <= MOST_CORNERED or len(lengths) == len(weights) == 1:
            return smallest_error(cut) * (1 - 1e-15), "equation 7"
    return smallest_error_bound(cut), "Theorem II.2"


def of_hypothesis_privacy(epsilon: Fraction | None, success: Fraction) -> tuple[Consequence, ...]:
    """Return what follows when a release is epsilon-private against a hypothesis.

    ``epsilon`` is what Priv promises by volume of outputs, None if nothing is decided at all;
    ``success`` is how often the best test is right at least.
    """
    leak = 0.0 if epsilon is None else math.inf
    if epsilon:
        leak = bits_at_least(*(1 + 1 / epsilon).as_integer_ratio())
    return (
        Consequence(
            "information leakage",
            leak,
            "What the hypothesis tells about the output, L₀(Y;H), is "
            + ("not bounded by it." if math.isinf(leak) else f"at most {bits_up(leak)}."),
            f"{D}, Proposition 1, corrected",
        ),
        Consequence(
            "success of a test",
            float_below(success),
            "Were both hypotheses equally likely and the data spread evenly under each, the best "
            f"test would be right with probability {number(success, 4, round='down')} or more: "
            "this much is not hidden.",
            f"{D}, Theorem 3, sharpened",
        ),
        Consequence(
            "limits of Priv",
            None,
            "Priv measures the volume of outputs: stretching those that decide nothing would raise "
            "it and protect nobody, so it is no help to compare policies by Priv alone.",
            f"{D}, equation 9",
        ),
    )
