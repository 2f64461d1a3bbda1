"""Numbers, counts and lists in sentences, rounded so that the sentence stays true.

A sentence that says "at most" needs its number rounded up, one that says "at least" needs it
rounded down: the names say which way. Exact numbers are written exactly wherever that is short.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONG = 400
"""Digits that are enough for every double, so that rounding happens once and where it is meant."""
EPOCH = dt.date(1970, 1, 1)
FULL = 12
"""A number with at most this many decimals is shown in full."""
SIGNIFICANT = 6
"""Digits of a number for which nobody asked for more or fewer."""
NOUNS = {"person": "people", "entry": "entries", "query": "queries"}
VERBS = {"is": "are", "was": "were", "has": "have"}
"""Plurals that are more than an s more or less."""


# --- lists and counts -----------------------------------------------------------------------------


def listed(words: Iterable[object], *, joint: str = "and") -> str:
    """Write a list as people do.

    Example:
        >>> listed(["age"]), listed(["age", "sex"]), listed(["age", "sex", "zip"], joint="or")
        ('age', 'age and sex', 'age, sex or zip')
    """
    *first, last = map(str, words)
    return f"{', '.join(first)} {joint} {last}" if first else last


def first_of(words: Sequence[str], most: int, *, joint: str = ", ", rest: str = "…") -> str:
    """Write the first words of a list that may be long.

    Example:
        >>> first_of(["age", "sex", "zip"], 2), first_of(["age", "sex"], 2)
        ('age, sex, …', 'age, sex')
    """
    return joint.join([*words[:most], *([rest] if len(words) > most else [])])


def counted(number: int, noun: str) -> str:
    """Write a number of things.

    Example:
        >>> counted(1, "value"), counted(1500, "value"), counted(2, "class"), counted(3, "person")
        ('1 value', '1,500 values', '2 classes', '3 people')
    """
    return f"{number:,} {noun_for(number, noun)}"


def noun_for(number: float | Fraction, noun: str) -> str:
    """Return a noun as it stands behind a number.

    Example:
        >>> noun_for(1, "row"), noun_for(2, "row"), noun_for(0, "batch"), noun_for(2, "person")
        ('row', 'rows', 'batches', 'people')
    """
    if number == 1:
        return noun
    return NOUNS.get(noun) or f"{noun}{'es' if noun.endswith(('s', 'x', 'ch')) else 's'}"


def verb_for(number: float | Fraction, verb: str) -> str:
    """Return a verb as it stands behind a number of things.

    Example:
        >>> verb_for(1, "is"), verb_for(2, "is"), verb_for(0, "has"), verb_for(3, "tells")
        ('is', 'are', 'have', 'tell')
    """
    return verb if number == 1 else VERBS.get(verb) or verb.removesuffix("s")


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


def marked_bits(bits: float, *, up: bool = True, words: bool = False) -> str:
    """Write bits rounded outward, and say so where they were rounded: with a sign, or in words.

    Example:
        >>> marked_bits(1.5849625), marked_bits(1.5849625, up=False, words=True), marked_bits(2.0)
        ('≤ 1.585 bits', 'at least 1.584 bits', '2 bits')
    """
    text = bits_up(bits) if up else bits_down(bits)
    return direction(text.split()[0], bits, 1e-12, words=words) + text


def _with_bits(number: str) -> str:
    return f"{number} bit" if number == "1" else f"{number} bits"


def price_words(bits: float, alone: float) -> str:
    """Write a price in a sentence, and what it would be alone where that is more."""
    rest = f" now, and {marked_bits(alone, words=True)} alone" if bits < alone else ""
    return f"The price is {marked_bits(bits, words=True)}{rest}."


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


def decimal_text(number: Fraction, most_places: int | None = None) -> str:
    """Write an exact number as a file keeps it: all its decimals, or a fraction if they never end.

    With most_places, also as a fraction where it has more decimals than that.

    Example:
        >>> [decimal_text(Fraction(text)) for text in ("5/2", "-7000", "1/3")]
        ['2.5', '-7000', '1/3']
        >>> decimal_text(Fraction("0.125"), most_places=2)
        '1/8'
    """
    rest, digits = number.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        digits = max(digits, power)
    if rest > 1 or (most_places is not None and digits > most_places):
        return str(number)
    scaled = abs(number.numerator) * 10**digits // number.denominator
    whole = str(scaled).rjust(digits + 1, "0")
    sign = "-" if number < 0 else ""
    return sign + (f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole)


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


def direction(
    text: str, number: float | Fraction, slack: float = 0.0, *, words: bool = False
) -> str:
    """Return what to put before a number that was rounded outward: nothing if it is exact.

    Args:
        text: the number as it is shown.
        number: the number itself.
        slack: what doubles may have added to it or taken from it.
        words: words for a sentence, instead of signs for a table.

    Example:
        >>> [direction("1.59", 1.585), direction("1.58", 1.585), direction("2.00", 2.0)]
        ['≤ ', '≥ ', '']
        >>> direction("33.34", Fraction(100, 3), words=True)
        'at most '
    """
    if isinstance(number, float) and not math.isfinite(number):
        return ""
    beyond = Fraction(text.replace(",", "")) - Fraction(number)
    if abs(beyond) <= Fraction(slack):
        return ""
    upper, lower = ("at most ", "at least ") if words else ("≤ ", "≥ ")
    return upper if beyond > 0 else lower


# --- numbers that are estimated -------------------------------------------------------------------


def as_date(days: Fraction) -> dt.date | Fraction:
    """Return the date that many days after 1970-01-01, if calendars have it."""
    try:
        return EPOCH + dt.timedelta(days=math.floor(days))
    except OverflowError:
        return days


def interval_words(
    low: Fraction | None, high: Fraction | None, *, may_be_null: bool, date: bool
) -> tuple[str, str, str]:
    """Write the value, the interval and the error of a number that is certainly within two others.

    Example:
        >>> interval_words(Fraction(1), Fraction(4), may_be_null=False, date=False)
        ('2.5', '[1.0, 4.0]', '±1.5')
    """
    if low is None or high is None:
        return "NULL", "NULL", ""
    null = " or NULL" if may_be_null else ""
    value, error = (low + high) / 2, (high - low) / 2
    if date:
        first, last = as_date(low), as_date(Fraction(math.ceil(high)))
        if first == last:
            return f"{as_date(value)}{null}", "exact", "0"
        return f"{as_date(value)}{null}", f"[{first}, {last}]", f"±{math.ceil(error)} days"
    if not error and (value * 10**FULL).denominator == 1:
        digits = next(digits for digits in range(FULL + 1) if (value * 10**digits).denominator == 1)
        return rounded(value, digits) + null, "exact", "0"
    finest = 3 - magnitude(error) if error else SIGNIFICANT - magnitude(value)
    digits = max(finest, 0)
    while digits and all((end * 10 ** (digits - 1)).denominator == 1 for end in (value, low, high)):
        digits -= 1
    middle = Fraction(round(value * 10**digits), 10**digits)  # as it is shown
    error = max(middle - low, high - middle)
    ends = f"[{rounded(low, digits, up=False)}, {rounded(high, digits, up=True)}]"
    return rounded(middle, digits) + null, ends, f"±{rounded(error, digits, up=True)}"
