"""Numbers, counts and lists in sentences, rounded so that the sentence stays true.

A sentence that says "at most" needs its number rounded up, one that says "at least" needs it
rounded down: the names say which way. Exact numbers are written exactly wherever that is short.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

LONG = 400
"""Digits that are enough for every double, so that rounding happens once and where it is meant."""
SIGNIFICANT = 6
"""Digits of a number for which nobody asked for more or fewer."""
LONGEST_VALUE = 80
"""Letters of one value of a table in a sentence."""
IRREGULAR = {"person": "people", "is": "are", "has": "have"}


# --- lists and counts -----------------------------------------------------------------------------


def listed(words: Iterable[object], *, joint: str = "and") -> str:
    """Write a list as people do.

    Example:
        >>> listed(["age"]), listed(["age", "sex"]), listed(["age", "sex", "zip"], joint="or")
        ('age', 'age and sex', 'age, sex or zip')
    """
    *first, last = map(str, words)
    return f"{', '.join(first)} {joint} {last}" if first else last


def counted(number: int, noun: str) -> str:
    """Write a number of things.

    Example:
        >>> counted(1, "value"), counted(1500, "value"), counted(2, "class"), counted(3, "person")
        ('1 value', '1,500 values', '2 classes', '3 people')
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun that Hartley's sentences count.

    Example:
        >>> plural("row"), plural("class"), plural("person")
        ('rows', 'classes', 'people')
    """
    return IRREGULAR.get(noun) or (f"{noun}es" if noun.endswith(("s", "x")) else f"{noun}s")


def at_most(number: int) -> str:
    """Write how many there are at most.

    Example:
        >>> at_most(0), at_most(1200)
        ('none', 'at most 1,200')
    """
    return f"at most {number:,}" if number else "none"


# --- bits -----------------------------------------------------------------------------------------


def bits_up(bits: float, places: int = 3) -> str:
    """Write an amount of bits with at most so many decimals, rounded up.

    Example:
        >>> bits_up(1.0), bits_up(2.80735492), bits_up(5792.4324100)
        ('1 bit', '2.808 bits', '5,792.433 bits')
    """
    return "any number of bits" if math.isinf(bits) else _with_bits(decimals_up(bits, places))


def bits_down(bits: float, places: int = 3) -> str:
    """Write an amount of bits with at most so many decimals, rounded down.

    Example:
        >>> bits_down(1.0), bits_down(2.80735492)
        ('1 bit', '2.807 bits')
    """
    return _with_bits(decimals_down(bits, places))


def _with_bits(number: str) -> str:
    return f"{number} bit" if number == "1" else f"{number} bits"


# --- exact numbers --------------------------------------------------------------------------------


def exactly(number: Fraction) -> str:
    """Write an exact number as a decimal where that takes at most nine places, else as a fraction.

    Example:
        >>> exactly(Fraction(1, 2)), exactly(Fraction(5000)), exactly(Fraction(1, 3))
        ('0.5', '5,000', '1/3')
    """
    scaled = number * 10**9
    if scaled.denominator != 1:
        return str(number)
    return plain_decimal(Decimal(int(scaled)).scaleb(-9, Context(prec=LONG)))


def decimal_text(number: Fraction) -> str:
    """Write an exact number as a file keeps it: all its decimals, or a fraction if they never end.

    Example:
        >>> [decimal_text(Fraction(text)) for text in ("5/2", "-7000", "1/3")]
        ['2.5', '-7000', '1/3']
    """
    rest, digits = number.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        digits = max(digits, power)
    if rest > 1:
        return str(number)
    scaled = abs(number.numerator) * 10**digits // number.denominator
    whole = str(scaled).rjust(digits + 1, "0")
    sign = "-" if number < 0 else ""
    return sign + (f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole)


def exactly_or_up(number: Fraction) -> str:
    """Write a number exactly where that is short, else with four digits, rounded up.

    Example:
        >>> exactly_or_up(Fraction(1, 2)), exactly_or_up(Fraction(75, 7))
        ('0.5', '10.72')
    """
    text = exactly(number)
    return digits_up(number, 4) if "/" in text else text


# --- rounded numbers ------------------------------------------------------------------------------


def rounded(number: Fraction, places: int | None = None, *, up: bool | None = None) -> str:
    """Write a number with so many decimals, rounded up, down or to the nearest.

    Without a number of places, six significant digits, and none more than the number needs.

    Example:
        >>> rounded(Fraction(2, 3), 2, up=False), rounded(Fraction(2, 3), 2, up=True)
        ('0.66', '0.67')
        >>> rounded(Fraction(1, 3)), rounded(Fraction(1234567)), rounded(Fraction(5, 2))
        ('0.333333', '1,234,567', '2.5')
    """
    if places is None:
        places = max(SIGNIFICANT - magnitude(number), 0)
        while places and (number * 10 ** (places - 1)).denominator == 1:
            places -= 1
    scaled = number * 10**places
    whole = round(scaled) if up is None else math.ceil(scaled) if up else math.floor(scaled)
    text = f"{abs(whole):0{places + 1}d}"
    front, back = (text[:-places], "." + text[-places:]) if places else (text, "")
    return f"{'-' if whole < 0 else ''}{int(front):,}{back}"


def magnitude(number: Fraction) -> int:
    """Return how many digits stand before the point; none or fewer where it begins with zeros."""
    if number == 0:
        return 1
    size = abs(number)
    digits = len(str(size.numerator)) - len(str(size.denominator))
    return digits + 1 if size >= Fraction(10) ** digits else digits


def two_decimals_up(number: float) -> str:
    """Write a number with two decimals, rounded up.

    Example:
        >>> two_decimals_up(2.5849625), two_decimals_up(3.0)
        ('2.59', '3.00')
    """
    if not math.isfinite(number):
        return str(number)
    return f"{math.ceil(Fraction(number) * 100) / 100:.2f}"


def decimals_up(number: float, places: int = 3) -> str:
    """Write a number with at most so many decimals, rounded up.

    Example:
        >>> decimals_up(2.80735492), decimals_up(3.0)
        ('2.808', '3')
    """
    return _decimals(number, places, ROUND_CEILING)


def decimals_down(number: float, places: int = 3) -> str:
    """Write a number with at most so many decimals, rounded down.

    Example:
        >>> decimals_down(2.80735492), decimals_down(3.0)
        ('2.807', '3')
    """
    return _decimals(number, places, ROUND_FLOOR)


def _decimals(number: float, places: int, rounding: str) -> str:
    last_place = Decimal(1).scaleb(-places)
    return plain_decimal(Decimal(number).quantize(last_place, rounding, Context(prec=LONG)))


def digits_up(number: float | Fraction, digits: int) -> str:
    """Write a number with so many digits, rounded up.

    Example:
        >>> digits_up(Fraction(1, 3), 5), digits_up(0.84799, 4), digits_up(9, 4)
        ('0.33334', '0.848', '9')
    """
    return _digits(number, digits, ROUND_CEILING)


def digits_down(number: float | Fraction, digits: int) -> str:
    """Write a number with so many digits, rounded down.

    Example:
        >>> digits_down(0.29999, 4), digits_down(57869.2, 4), digits_down(2.5e-12, 4)
        ('0.2999', '57,860', '2.499e-12')
    """
    return _digits(number, digits, ROUND_FLOOR)


def _digits(number: float | Fraction, digits: int, rounding: str) -> str:
    if isinstance(number, float) and not math.isfinite(number):
        return "infinite"
    numerator, denominator = number.as_integer_ratio()
    context = Context(prec=digits, rounding=rounding)
    return plain_decimal(context.divide(Decimal(numerator), Decimal(denominator)))


def plain_decimal(number: Decimal) -> str:
    """Write a decimal without zeros at its end, with an exponent only where it is far from one.

    Example:
        >>> plain_decimal(Decimal("1250.500")), plain_decimal(Decimal("2.50e-12"))
        ('1,250.5', '2.5e-12')
    """
    if number and not -6 <= number.adjusted() <= 15:
        return f"{number.normalize(Context(prec=LONG)):g}".replace("E", "e").replace("e+", "e")
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def two_digits_up(number: float) -> str:
    """Write a number with two digits, rounded up: a bound stays one.

    Example:
        >>> two_digits_up(17.42), two_digits_up(3.61e-10), two_digits_up(0.0)
        ('18', '3.7e-10', '0')
    """
    upward = Context(prec=2, rounding=ROUND_CEILING)
    return f"{float(upward.create_decimal_from_float(number)):g}"


def percent(share: float) -> str:
    """Write a share in percent with four digits, to the nearest: for what is estimated anyway.

    Example:
        >>> percent(0.123456), percent(0.5)
        ('12.35 %', '50 %')
    """
    return f"{100 * share:.4g} %"


def percent_up(share: Fraction | int, of: int = 1) -> str:
    """Write a share in percent, rounded up: no risk is shown smaller than it is.

    Example:
        >>> percent_up(1, 3), percent_up(Fraction(1, 2))
        ('33.34 %', '50 %')
    """
    return f"{math.ceil(Fraction(share) / of * 10_000) / 100:g} %"


# --- values of a table ----------------------------------------------------------------------------


def value_text(value: object, longest: int = LONGEST_VALUE) -> str:
    """Write a value of a table as people do, in one line and cut where it is long.

    Example:
        >>> value_text((17.5, "F", None)), value_text(1250.0), value_text("a" * 50, longest=5)
        ('17.5, F, missing', '1,250', 'aaaa…')
    """
    if isinstance(value, tuple):
        return ", ".join(value_text(part, longest) for part in value)
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 1e15
        return f"{int(value):,}" if whole else repr(value)
    text = "missing" if value is None else printable(str(value))
    return text if len(text) <= longest else text[: longest - 1] + "…"
