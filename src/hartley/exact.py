"""Exact numbers: logarithms of ratios of integers, steps as rationals, outward rounding."""

from __future__ import annotations

import math
import re
import sys
from decimal import MAX_EMAX, MAX_PREC, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import TYPE_CHECKING

from hartley.errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# --- exact ----------------------------------------------------------------------------------------


MOST_DIGITS = 400
"""Of a number that somebody wrote: more than any double has, few enough to compute with exactly."""
NUMBER = re.compile(
    r"[+-]?(?P<whole>[0-9]*)\.?(?P<part>[0-9]*)(?:[eE](?P<power>[+-]?[0-9]{1,4})|/(?P<below>[0-9]+))?"
)
"""Digits as a keyboard has them: Python would take 1_000 and the digits of any script too."""
LARGEST_EXACT_INTEGER = 2**53
"""Every integer up to this size is a double, exactly."""


def log_ratio(numerator: int, denominator: int = 1, *, base: float = 2) -> float:
    r"""Return the logarithm of a ratio of integers, accurate to a few units in the last place.

    .. math:: \log_b (n / d)

    The integers may be of any size. A ratio near one loses nothing to cancellation, a ratio of
    zero is minus infinity and a denominator of zero is plus infinity, as the papers agree.
    An integer power of two is exact in base 2. Constant time for machine-sized integers.

    Example:
        >>> log_ratio(8), log_ratio(1, 4), log_ratio(0, 3), log_ratio(3, 0)
        (3.0, -2.0, -inf, inf)
        >>> log_ratio(2**4000 * 3, 2**4000)
        1.584962500721156
    """
    check_base(base)
    if numerator < 0 or denominator < 0 or numerator == denominator == 0:
        raise OptionError(
            f"The ratio {numerator}/{denominator} has no logarithm",
            hint="sizes of ranges are counts, and at least one of the two is positive",
        )
    if numerator == 0:
        return -math.inf
    if denominator == 0:
        return math.inf
    if numerator < 2 * denominator and denominator < 2 * numerator:
        near_one = math.log1p((numerator - denominator) / denominator)
        return near_one if base == math.e else near_one / math.log(base)
    try:
        ratio = numerator / denominator  # correctly rounded, whatever the size of the integers
    except OverflowError:
        ratio = 0.0
    return in_base(math.log2(ratio) if ratio > 1e-300 else _log2(numerator, denominator), base)


def _log2(numerator: int, denominator: int) -> float:
    """Return the base-2 logarithm of a ratio that no double holds."""
    excess = [max(number.bit_length() - 64, 0) for number in (numerator, denominator)]
    mantissas = math.log2((numerator >> excess[0]) / (denominator >> excess[1]))
    return mantissas + (excess[0] - excess[1])


def in_base(bits: float, base: float) -> float:
    """Turn a number of bits into the unit of another base.

    Example:
        >>> in_base(1.0, 4)
        0.5
    """
    check_base(base)
    return bits if base == 2 else bits / math.log2(base)


def floor_power(bits: object, *, what: str = "budget") -> int:
    """Return the largest whole number of outputs within a budget: floor(2^bits), exactly.

    ``what`` is what an error calls the number of bits. Costs a few products of so many bits.

    Example:
        >>> floor_power(3), floor_power(1.5), floor_power("0.5"), floor_power(0)
        (8, 2, 1, 1)
    """
    budget = parse_number(bits, name=f"the {what} in bits")
    if budget < 0 or budget > 100_000:
        raise OptionError(
            f"The {what} of {bits} bits is out of reach", hint="give 0 bits or more, up to 100,000"
        )
    if budget.denominator == 1:
        return 1 << int(budget)
    whole, part = divmod(budget, 1)
    spare = 64
    while True:  # the power is irrational, so enough digits tell it from a whole number
        low, high = _power_bounds(part, whole + spare)
        if low >> spare == high >> spare:
            return low >> spare
        spare *= 2


def _power_bounds(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Return whole numbers around 2^(bits + exponent), few of them apart.

    The exponent is p/q between 0 and 1, so this is the root y of y^q = 2^p, by Newton's method with
    growing precision. The result is checked on both sides with powers that are rounded outward.
    """
    p, q = exponent.numerator, exponent.denominator
    lost = q.bit_length() + 8  # a power makes relative errors q times as large
    with localcontext() as context:
        context.prec = 40 + lost // 3
        known = 3 * context.prec
        root = int(Decimal(2) ** (Decimal(p) / Decimal(q)) * Decimal(1 << known))
    precisions = []
    width = bits + 2 * lost + 8
    while width > known:
        precisions.append(width)
        width = (width + lost) // 2 + 4
    for width in reversed(precisions):
        root, known = root << width - known, width
        power, shift = _power(root, -known, q, width + lost, up=False)
        # y - y (y^q - 2^p) / (q 2^p): near the root, 2^p stands for y^q.
        root -= root * (_shifted(power, shift - p + known) - (1 << known)) // (q << known)
    while True:
        slack = 1 << 2 * lost
        low, high = root - slack, root + slack
        below, above = (_power(end, -known, q, known + lost, up=end is low) for end in (low, high))
        if _at_most(below, p) and not _at_most(above, p):
            return _shifted(low, bits - known), _shifted(high, bits - known) + 1
        lost += 8


def _power(number: int, shift: int, times: int, width: int, *, up: bool) -> tuple[int, int]:
    """Return (number 2^shift)^times as such a pair of at most so many bits, rounded up or down."""
    power, total = number, shift
    for digit in f"{times:b}"[1:]:
        for factor, more in ((power, total), *([(number, shift)] if digit == "1" else [])):
            power, total = power * factor, total + more
            excess = power.bit_length() - width
            if excess > 0:
                power, total = (power >> excess) + up, total + excess
    return power, total


def _at_most(pair: tuple[int, int], exponent: int) -> bool:
    """Whether number 2^shift is at most 2^exponent."""
    number, shift = pair
    return (number - 1).bit_length() <= exponent - shift


def _shifted(number: int, places: int) -> int:
    return number << places if places >= 0 else number >> -places


def round_up(logarithm: float) -> float:
    """Return a double that is surely above a logarithm of ours, so that a bound stays one.

    Ours are accurate to a few units in the last place, in any base; eight are added.

    Example:
        >>> 1.0 < round_up(1.0) < 1.0 + 1e-14
        True
    """
    return logarithm + 8 * math.ulp(logarithm)


def bits_at_least(numerator: int, denominator: int = 1) -> float:
    """Return the bits of a ratio of counts, never below the truth; a power of two is exact.

    Example:
        >>> bits_at_least(8), bits_at_least(12, 3), bits_at_least(3) > 1.584962500721156
        (3.0, 2.0, True)
    """
    if denominator == 1 and numerator > 0 and not numerator & (numerator - 1):
        return math.log2(numerator)  # exact, for integers of any size
    bits = log_ratio(numerator, denominator)
    exact = math.isinf(bits) or _is_power_of_two(numerator, denominator)
    return bits if exact else round_up(bits)


def bits_at_most(numerator: int, denominator: int = 1) -> float:
    """Return the bits of a ratio of counts, never above the truth, and none of less than one.

    Example:
        >>> bits_at_most(8), bits_at_most(3) < 1.584962500721157, bits_at_most(0)
        (3.0, True, 0.0)
    """
    if numerator <= denominator:
        return 0.0
    bits = log_ratio(numerator, denominator)
    if _is_power_of_two(numerator, denominator):
        return bits
    return max(2 * bits - round_up(bits), 0.0)


def _is_power_of_two(numerator: int, denominator: int) -> bool:
    if numerator <= 0 or numerator % denominator:
        return False
    ratio = numerator // denominator
    return ratio & (ratio - 1) == 0


def float_below(number: Fraction) -> float:
    """Return the largest double that is not above a number.

    Example:
        >>> float_below(Fraction(1, 3)) < Fraction(1, 3) < float_above(Fraction(1, 3))
        True
    """
    try:
        nearest = float(number)
    except OverflowError:  # beyond every double
        return sys.float_info.max if number > 0 else -math.inf
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def float_above(number: Fraction) -> float:
    """Return the smallest double that is not below a number."""
    return 0.0 - float_below(-number)  # turns -0.0 into 0.0


def check_base(base: float) -> None:
    """Refuse a base in which a logarithm would not measure information."""
    if not isinstance(base, (int, float)) or not (math.isfinite(base) and base > 1):
        is_number = isinstance(base, (int, float))
        raise OptionError(
            f"The logarithm base {base} is not larger than 1"
            if is_number
            else "The logarithm base is not a number",
            hint="use base=2 for bits, base=math.e for nats or base=10 for decimal digits",
        )


def check_bits(bits: object, *, name: str) -> float:
    """Return a number of bits as it is; refuse what is no number or a negative one.

    Prices are doubles, so a limit on them is compared as the double that it is.

    Example:
        >>> check_bits(1.5, name="most_bits=")
        1.5
    """
    if isinstance(bits, bool) or not isinstance(bits, (int, float)) or not bits >= 0:
        raise OptionError(
            f"{name} is not a number of bits", hint="pass a number that is not negative, as 1.5"
        )
    return bits


def parse_number(number: object, *, name: str) -> Fraction:
    """Return a number as the rational that the user wrote.

    Text and floats are read as decimals, so 0.1 means one tenth and not the nearest double.

    Example:
        >>> parse_number(0.1, name="the error"), parse_number("2.5e2", name="the error")
        (Fraction(1, 10), Fraction(250, 1))
    """
    try:
        if isinstance(number, bool):
            raise TypeError  # noqa: TRY301 - one place turns everything bad into one sentence
        if isinstance(number, Rational):
            return Fraction(int(number.numerator), int(number.denominator))
        return _read_number(number if isinstance(number, str) else repr(float(number)))  # type: ignore[arg-type]  # refused below
    except (TypeError, ValueError, ArithmeticError):
        raise OptionError(
            f"{name[0].upper()}{name[1:]} is not a number",
            hint=f"write a number, for example 10 or 0.5, of at most {MOST_DIGITS} digits",
        ) from None


def _read_number(text: str) -> Fraction:
    written = NUMBER.fullmatch(text.strip())
    if written is None or max(len(digits or "") for digits in written.groups()) > MOST_DIGITS:
        raise ValueError
    if abs(int(written["power"] or 0)) > MOST_DIGITS:
        raise ValueError  # a number that nobody means, and that takes for ever
    return Fraction(text)


def parse_step(step: object, *, column: str) -> Fraction:
    """Return a step as the positive rational number that the user wrote.

    Example:
        >>> parse_step("0.1", column="height"), parse_step(2.5, column="height")
        (Fraction(1, 10), Fraction(5, 2))
    """
    value = parse_number(step, name=f"the step for column '{column}'")
    if value <= 0:
        raise OptionError(
            f"The step for column '{column}' is {step}, not a positive number",
            hint="write a positive number, for example 10 or 0.5",
        )
    return value


# --- long integers --------------------------------------------------------------------------------
# Whole numbers of any size in decimal digits, which Python writes and reads in quadratic time.

DIGITS_AT_ONCE = 4000
"""Below the number of digits that Python converts by default."""
EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX)
"""Decimal numbers of any length, never rounded."""
FEW_DIGITS, FEW_BITS = 300, 1000
"""Numbers below this are written and read so fast that caching does not help."""
_DECIMALS: dict[int, Decimal] = {}
"""The products that were written last, in decimal."""
MOST_DECIMALS = 64


def write_integer(number: int) -> str:
    """Write a whole number of any size in decimal digits.

    Example:
        >>> write_integer(2**70)
        '1180591620717411303424'
    """
    return str(number) if number.bit_length() < FEW_BITS else str(_in_decimal(number))


def read_integer(text: str) -> int:
    """Read a number that `write_integer` wrote; raise ValueError for any other spelling.

    Long ones are cached, since balances are read often.

    Example:
        >>> read_integer("12")
        12
    """
    # Python's int() also reads "+2", "02", "1_0" and digits of other scripts. Of two spellings of
    # a number one would be a row that no ledger writes.
    if not (text.isascii() and text.isdigit()) or (text[0] == "0" and text != "0"):
        raise ValueError(text[:20])
    return int(text) if len(text) < FEW_DIGITS else _read_long(text)


@lru_cache(maxsize=64)
def _read_long(text: str) -> int:
    return int(text) if len(text) < DIGITS_AT_ONCE else int(Decimal(text))


def multiply(product: int, factor: int) -> int:
    """Return a product that is going to be written.

    Writing a large number takes time quadratic in its digits. In a ledger each product is the one
    before times a small factor, and multiplying decimals takes only linear time.

    Example:
        >>> write_integer(multiply(3**5000, 2)) == write_integer(2 * 3**5000)
        True
    """
    result = product * factor
    if result.bit_length() >= FEW_BITS and factor > 1:
        _keep_decimal(result, EXACT.multiply(_in_decimal(product), _in_decimal(factor)))
    return result


def _in_decimal(number: int) -> Decimal:
    known = _DECIMALS.get(number)
    if known is None:
        known = Decimal(number)
        if number.bit_length() >= FEW_BITS:
            _keep_decimal(number, known)
    return known


def _keep_decimal(number: int, decimal: Decimal) -> None:
    if len(_DECIMALS) >= MOST_DECIMALS:
        _DECIMALS.clear()
    _DECIMALS[number] = decimal


# --- multipliers ----------------------------------------------------------------------------------
# Multipliers that a solver proposes, as exact rationals: any of them prove a bound.

PRECISION = 2**40
"""Multipliers are whole numbers over this where no small denominator fits them."""
DENOMINATORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 60, 2520)
"""Tried first: a combination such as (x + y - z)/2 is then proved, and shown, as it is."""
NEAR = 1e-6
"""A multiplier this close to a multiple of a denominator is rounded to it."""


def over_one_denominator(prices: NDArray[np.float64]) -> list[tuple[tuple[int, ...], int]]:
    """Return multipliers as whole numbers over one denominator: a small one, then a precise one.

    Example:
        >>> import numpy as np
        >>> over_one_denominator(np.array([0.5, -1.0]))[0]
        ((1, -2), 2)
    """
    exact = [Fraction(float(price)) for price in prices]
    return [
        (tuple(round(price * d) for price in exact), d)
        for d in dict.fromkeys((small_denominator(prices), PRECISION))
    ]


def small_denominator(prices: NDArray[np.float64]) -> int:
    """Return the smallest common denominator that is near all multipliers."""
    for d in DENOMINATORS:
        if (abs(prices * d - (prices * d).round()) < NEAR).all():
            return d
    return PRECISION


def lifted(remainder: int, prime: int) -> Fraction | None:
    """Return the small rational that a remainder modulo a prime stands for, None without one.

    Wang's rational reconstruction: numerator and denominator below the root of half the prime.

    Example:
        >>> lifted(pow(2, -1, 101), 101), lifted(100, 101)
        (Fraction(1, 2), Fraction(-1, 1))
    """
    limit = int((prime // 2) ** 0.5)
    before, now = (prime, 0), (remainder % prime, 1)
    while now[0] > limit:
        quotient = before[0] // now[0]
        before, now = now, (before[0] - quotient * now[0], before[1] - quotient * now[1])
    if not now[1] or abs(now[1]) > limit:
        return None
    return Fraction(now[0], now[1])
