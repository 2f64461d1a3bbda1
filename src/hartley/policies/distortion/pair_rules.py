"""Rules and distortions that look at the confidential value too: the pair (w, x) is the key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Sees: TypeAlias = Literal["key", "both"]


@dataclass(frozen=True, eq=False)
class RuleInputs:
    """What a rule draws from: the law of its inputs and how far each is from every release."""

    joint: Floats
    """p(w, input): a row a confidential value, a column an input."""
    distortion: Floats
    """d(input, c): a row an input, a column a released value."""
    secrets: NDArray[np.intp] | None = None
    """The place of the confidential value in every input; None where the inputs are the keys."""
    keys: NDArray[np.intp] | None = None
    """The place of the key value in every input, likewise."""


def rule_inputs(joint: Floats, distortion: Floats, sees: Sees) -> RuleInputs:
    r"""Reduce rules and distortions that see the confidential value to ordinary problems.

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, Sections 4.1 and 4.4, name distortions
    d(w, x, c) and rules p(c|w, x), and leave them aside. Both are problems of the same kind:

    *Rules of the key alone*, P(c|x), have W and C independent given X. Then

    .. math:: E\, d(W, X, C) = \sum_{x,c} p(x) P(c|x)\, \bar d(x,c), \qquad
              \bar d(x,c) = \sum_w p(w|x)\, d(w,x,c)

    so that only the mean distortion counts.

    *Rules of both*, P(c|w, x): take the pair V = (W, X) for the key, over the pairs that occur.
    Its law is p(w', (w, x)) = p(w, x) where w' = w, else 0; W - V - C is a Markov chain for every
    rule, I(W; C) is the same number, and d(w, x, c) is a distortion of V. Each rule of both is a
    rule of V and the other way round, so that a bound from the dual problem of V bounds them all.
    A rule of X alone is one that ignores w: rules of both are never worse.

    Exact, but for the rounding of the mean. |W| |X| |C| operations.

    Args:
        joint: p(w, x), a row a confidential value.
        distortion: d(x, c), or d(w, x, c) with an axis for each.
        sees: "key" for rules of the key alone, "both" for rules that see the pair.

    Example:
        >>> joint = np.array([[0.4, 0.1], [0.0, 0.5]])
        >>> triple = np.zeros((2, 2, 2))
        >>> triple[0, 1] = 6.0  # only the pair (0, 1) is ever distorted
        >>> rule_inputs(joint, triple, "key").distortion.round(9).tolist()  # 6 / (1 + 5)
        [[0.0, 0.0], [1.0, 1.0]]
        >>> rule_inputs(joint, triple, "both").joint.tolist()  # the pairs 00, 01 and 11
        [[0.4, 0.1, 0.0], [0.0, 0.0, 0.5]]
    """
    if sees == "key":
        if distortion.ndim == 2:
            return RuleInputs(joint, distortion)
        given = joint / joint.sum(axis=0)
        return RuleInputs(joint, np.einsum("wx,wxc->xc", given, distortion))
    secrets, keys = np.nonzero(joint)
    pairs = np.zeros((joint.shape[0], secrets.size))
    pairs[secrets, np.arange(secrets.size)] = joint[secrets, keys]
    seen = distortion[keys] if distortion.ndim == 2 else distortion[secrets, keys]
    return RuleInputs(pairs, seen, secrets, keys)
