"""Numbers as reports show them: percentages, few digits, narrow cells of tables, values.

The names say which way a number is rounded, as in ``wording``, on which these functions rest. No
answer of an agent needs them.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, Self

from hartley.errors import printable
from hartley.wording import decimal_text, direction, exactly, magnitude, plain_decimal, rounded

LONGEST_CELL = 8
"""Characters of an exact number in a narrow table."""
LONGEST_VALUE = 80
"""Letters of one value of a table in a sentence."""


def at_most(number: int) -> str:
    """Write how many there are at most.

    Example:
        >>> at_most(0), at_most(1200)
        ('none', 'at most 1,200')
    """
    return f"at most {number:,}" if number else "none"


def unit_of(base: float) -> str:
    """Return what information counted with a base is counted in.

    Example:
        >>> unit_of(2), unit_of(math.e), unit_of(3)
        ('bits', 'nats', 'log3 units')
    """
    return {2: "bits", math.e: "nats", 10: "digits"}.get(base, f"log{base:g} units")


def exact_text(number: Fraction) -> str:
    """Write an exact number as a decimal where that is short, else as a fraction; no separators.

    Example:
        >>> [exact_text(Fraction(text)) for text in ("9/10", "1/3", "5000", "1/1" + 18 * "0")]
        ['0.9', '1/3', '5000', '0.000000000000000001']
    """
    return str(number) if number.denominator > 10**18 else decimal_text(number)


def exactly_or_up(number: Fraction) -> str:
    """Write a number exactly where that is short, else with four digits, rounded up.

    Example:
        >>> exactly_or_up(Fraction(1, 2)), exactly_or_up(Fraction(75, 7))
        ('0.5', '10.72')
    """
    text = exactly(number)
    return digits_up(number, 4) if "/" in text else text


def two_decimals_up(number: float, slack: float = 0.0) -> str:
    """Write a number with two decimals, rounded up; slack is what doubles have added to it.

    Example:
        >>> two_decimals_up(2.5849625), two_decimals_up(3.0), two_decimals_up(1.23 + 1e-15, 1e-9)
        ('2.59', '3.00', '1.23')
    """
    if not math.isfinite(number):
        return str(number)
    return f"{math.ceil(Fraction(number) * 100 - Fraction(slack)) / 100:.2f}"


def two_decimals_down(number: float, slack: float = 0.0) -> str:
    """Write a number with two decimals, rounded down; slack is what doubles have taken from it.

    Example:
        >>> two_decimals_down(1.239), two_decimals_down(3 - 1e-15, 1e-9)
        ('1.23', '3.00')
    """
    if not math.isfinite(number):
        return str(number)
    return f"{math.floor(Fraction(number) * 100 + Fraction(slack)) / 100:.2f}"


def digits_up(number: float | Fraction, digits: int) -> str:
    """Write a number with so many digits, rounded up.

    Example:
        >>> digits_up(Fraction(1, 3), 5), digits_up(0.84799, 4), digits_up(9, 4)
        ('0.33334', '0.848', '9')
    """
    return _digits(number, digits, ROUND_CEILING)


def digits_down(number: float | Fraction, digits: int) -> str:
    """Write a number with so many digits, rounded down; what is below zero is written as 0.

    Amounts of information are never negative: less than zero is what rounding has left.

    Example:
        >>> digits_down(0.29999, 4), digits_down(57869.2, 4), digits_down(2.5e-12, 4)
        ('0.2999', '57,860', '2.499e-12')
    """
    return "0" if number <= 0 else _digits(number, digits, ROUND_FLOOR)


def _digits(number: float | Fraction, digits: int, rounding: str) -> str:
    if isinstance(number, float) and not math.isfinite(number):
        return "infinite"
    numerator, denominator = number.as_integer_ratio()
    context = Context(prec=digits, rounding=rounding)
    return plain_decimal(context.divide(Decimal(numerator), Decimal(denominator)))


def six_decimals(number: float, *, up: bool) -> str:
    """Write an amount with six decimals, rounded up or down.

    Example:
        >>> six_decimals(0.1, up=True), six_decimals(0.1, up=False), six_decimals(math.inf, up=True)
        ('0.100001', '0.100000', 'infinitely many')
    """
    return "infinitely many" if math.isinf(number) else rounded(Fraction(number), 6, up=up)


def factor_up(number: float | Fraction) -> str:
    """Write a factor with four digits, rounded up, and with an exponent from 10^10 on.

    Example:
        >>> factor_up(Fraction(9, 5)), factor_up(0.84799), factor_up(Fraction(12344000001))
        ('1.8', '0.848', '1.235e+10')
    """
    # Certificates keep these texts: digits_up writes numbers from 10^10 on in another way.
    return f"{float(digits_up(number, 4).replace(',', '')):,.10g}"


def times(ratio: Fraction, *, up: bool) -> str:
    """Write how many times as much something is, rounded up or down; from 100 on in whole times.

    Example:
        >>> times(Fraction(10, 3), up=True), times(Fraction(1201, 10), up=False)
        ('3.34 times', '120 times')
    """
    places = 0 if ratio >= 100 or ratio.denominator == 1 else 2 if ratio < 10 else 1
    return f"{rounded(ratio, places, up=up)} times"


def two_digits_up(number: float) -> str:
    """Write a number with two digits, rounded up: a bound stays one.

    Example:
        >>> two_digits_up(17.42), two_digits_up(3.61e-10), two_digits_up(0.0)
        ('18', '3.7e-10', '0')
    """
    upward = Context(prec=2, rounding=ROUND_CEILING)
    return f"{float(upward.create_decimal_from_float(number)):g}"


def percent(share: float, digits: int = 4) -> str:
    """Write a share in percent with so many digits, to the nearest: where no side is the safe one.

    Example:
        >>> percent(0.123456), percent(0.5), percent(1 / 3, digits=3)
        ('12.35 %', '50 %', '33.3 %')
    """
    return f"{100 * share:.{digits}g} %"


def percent_up(share: Fraction | int, of: int = 1) -> str:
    """Write a share in percent, rounded up: no risk is shown smaller than it is.

    Example:
        >>> percent_up(1, 3), percent_up(Fraction(1, 2))
        ('33.34 %', '50 %')
    """
    return f"{math.ceil(Fraction(share) / of * 10_000) / 100:g} %"


def percent_at_most(share: Fraction | int, of: int = 1, *, words: bool = True) -> str:
    """Write a share in percent, and say so where it was rounded up: in words, or with a sign.

    Example:
        >>> percent_at_most(1, 3), percent_at_most(1, 2), percent_at_most(1, 3, words=False)
        ('at most 33.34 %', '50 %', '≤ 33.34 %')
    """
    text = percent_up(share, of)
    return direction(text.removesuffix(" %"), 100 * Fraction(share) / of, words=words) + text


def tenth_percent_up(share: float) -> str:
    """Write a share that was rounded up to a double in percent with one decimal, rounded up.

    Example:
        >>> tenth_percent_up(0.12301), tenth_percent_up(0.1)
        ('12.4 %', '10 %')
    """
    return f"{math.ceil(share * 1000) / 10:g} %"


def percent_down(part: int, whole: int) -> str:
    """Write a share in percent with two digits, rounded down.

    Example:
        >>> percent_down(2, 3), percent_down(1, 20), percent_down(3, 3)
        ('66 %', '5.0 %', '100 %')
    """
    share = Fraction(100 * part, whole)
    return f"{rounded(share, max(2 - magnitude(share), 0), up=False)} %"


def cell_exact(number: Fraction) -> str:
    """Write an exact number; one that is not short with five digits, rounded up.

    Example:
        >>> cell_exact(Fraction(1, 2)), cell_exact(Fraction(1, 3))
        ('0.5', '0.33334')
    """
    text = exactly(number)
    return text if "/" not in text and len(text) <= LONGEST_CELL else digits_up(number, 5)


def cell_up(number: float) -> str:
    """Write a number with two decimals, from a thousand on with none, rounded up.

    Example:
        >>> cell_up(2.801), cell_up(5792.4)
        ('2.81', '5,793')
    """
    return f"{math.ceil(number):,}" if number >= 1000 else two_decimals_up(number)


def cell_down(number: float) -> str:
    """Write a number with three digits, rounded down, and with an exponent below a thousandth.

    Example:
        >>> cell_down(2.8284), cell_down(57869.2), cell_down(0.000034567), cell_down(0)
        ('2.82', '57,800', '3.45e-5', '0')
    """
    if not 0 < number < 1e-3:
        return digits_down(number, 3)
    below = Context(prec=3, rounding=ROUND_FLOOR).create_decimal(Decimal(number))
    return f"{below:.2e}".replace("e-0", "e-")


def cell_count(number: int) -> str:
    """Write a count, from a thousand million on with an exponent.

    Example:
        >>> cell_count(12_000), cell_count(2**40)
        ('12,000', '1.10e+12')
    """
    return f"{number:,}" if number < 10**9 else f"{number:.2e}"


def few_digits(number: float, digits: int = 4) -> str:
    """Write a number in a few digits, to the nearest; whole ones in full.

    Example:
        >>> few_digits(0.123456), few_digits(1234567.0), few_digits(float("inf"))
        ('0.1235', '1,234,567', '∞')
    """
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    if float(number).is_integer() and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.0f}" if 10**digits <= abs(number) < 1e15 else f"{number:.{digits}g}"


def interval_end(number: float, *, up: bool, digits: int = 4) -> str:
    """Write an end of an interval in a few digits that do not make the interval smaller.

    Example:
        >>> interval_end(0.41234, up=False), interval_end(0.41234, up=True)
        ('0.4123', '0.4124')
    """
    if not number or math.isinf(number):
        return few_digits(number, digits)
    unit = 10.0 ** (math.floor(math.log10(abs(number))) - digits + 1)
    nearest = round(number / unit) * unit
    outside = nearest >= number if up else nearest <= number
    if not outside and not math.isclose(nearest, number, rel_tol=1e-12):
        nearest += unit if up else -unit
    return few_digits(nearest, digits)


class BinnedNumber(float):
    """The middle of a bin, as a number; as text it is the bin itself.

    Example:
        >>> binned = BinnedNumber(6, Fraction(10))
        >>> binned, value_text(binned), value_text(BinnedNumber(-1, Fraction(1, 2)))
        (65.0, '[60, 70)', '[-0.5, 0)')
    """

    def __new__(cls, place: int, step: Fraction) -> Self:
        """Return the bin that reaches from place times step to the next multiple."""
        middle = (2 * place + 1) * step.numerator / (2 * step.denominator)
        number = super().__new__(cls, middle)
        number._bin = (place, step)
        return number

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self._bin

    def bin_text(self) -> str:
        """Return the bin: its low end belongs to it, its high end does not."""
        place, step = self._bin
        return f"[{decimal_text(place * step)}, {decimal_text((place + 1) * step)})"

    _bin: tuple[int, Fraction]


def value_text(value: object, longest: int = LONGEST_VALUE) -> str:
    """Write a value of a table as people do, in one line and cut where it is long.

    Example:
        >>> value_text((17.5, "F", None)), value_text(1250.0), value_text("a" * 50, longest=5)
        ('17.5, F, missing', '1,250', 'aaaa…')
    """
    if isinstance(value, BinnedNumber):
        return value.bin_text()
    if isinstance(value, tuple):
        return ", ".join(value_text(part, longest) for part in value)
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 1e15
        return f"{int(value):,}" if whole else repr(value)
    text = "missing" if value is None else printable(str(value))
    return text if len(text) <= longest else text[: longest - 1] + "…"
