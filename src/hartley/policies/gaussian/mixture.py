"""The bound from above: a mixture of the key itself and a constant."""

from __future__ import annotations

import math

from hartley.errors import OptionError
from hartley.policies.distortion.input import as_number


def mutual_information_bound(
    *, information: float, constant_distortion: float, distortion: float
) -> float:
    r"""Return an upper bound on what the best rule within a distortion tells, by a mixture of two.

    .. math:: R(D) \le I(W;X) \,(1 - D / D_0)

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, eq. (9): the key itself with probability
    1 - D / D0, a constant of distortion D0 else; with squared distortion, D0 is the total variance
    of the key. A bound for any joint distribution and any distortion that is 0 for the truth.

    Args:
        information: what the key itself tells.
        constant_distortion: the distortion of releasing the same value for everybody.
        distortion: that is allowed.

    Example:
        >>> mutual_information_bound(information=2.0, constant_distortion=4.0, distortion=1.0)
        1.5
    """
    if not as_number(constant_distortion) > 0 or not as_number(information) >= 0:
        raise OptionError(
            f"There is no bound for an information of {information} and a distortion of "
            f"{constant_distortion}",
            hint="give what the key tells, and the positive distortion of a constant release",
        )
    share = check_distortion(distortion) / constant_distortion
    return 0.0 if share >= 1 else float(information * (1 - share))


def check_distortion(distortion: object) -> float:
    """Return a distortion as a number, refusing what is none."""
    number = as_number(distortion)
    if not 0 <= number < math.inf:
        raise OptionError(
            f"The distortion {distortion} is not a number of 0 or more",
            hint="give the mean squared distance of key and release, for example 0.5",
        )
    return number
