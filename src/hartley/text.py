"""Numbers, counts and lists in sentences; one number formatter."""

from __future__ import annotations

import datetime as dt
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from hartley.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# --- wording --------------------------------------------------------------------------------------
# Numbers, counts and lists in sentences, rounded so that the sentence stays true.
#
# A sentence that says "at most" needs its number rounded up, one that says "at least" needs it
# rounded down: the names say which way. Exact numbers are written exactly wherever that is short.

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


def join_first(words: Sequence[str], most: int, *, joint: str = ", ", rest: str = "…") -> str:
    """Write the first words of a list that may be long.

    Example:
        >>> join_first(["age", "sex", "zip"], 2), join_first(["age", "sex"], 2)
        ('age, sex, …', 'age, sex')
    """
    return joint.join([*words[:most], *([rest] if len(words) > most else [])])


def count_of(number: int, noun: str) -> str:
    """Write a number of things.

    Example:
        >>> count_of(1, "value"), count_of(1500, "class"), count_of(3, "person")
        ('1 value', '1,500 classes', '3 people')
    """
    return f"{number:,} {plural(number, noun)}"


def plural(number: float | Fraction, noun: str) -> str:
    """Return a noun as it stands behind a number.

    Example:
        >>> plural(1, "row"), plural(2, "row"), plural(0, "batch"), plural(2, "person")
        ('row', 'rows', 'batches', 'people')
    """
    if number == 1:
        return noun
    return NOUNS.get(noun) or f"{noun}{'es' if noun.endswith(('s', 'x', 'ch')) else 's'}"


def conjugate(number: float | Fraction, verb: str) -> str:
    """Return a verb as it stands behind a number of things.

    Example:
        >>> conjugate(1, "is"), conjugate(2, "is"), conjugate(0, "has"), conjugate(3, "tells")
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


def bits_text(bits: float, *, up: bool = True, words: bool = False) -> str:
    """Write bits rounded outward, and say so where they were rounded: with a sign, or in words.

    Example:
        >>> bits_text(1.5849625), bits_text(1.5849625, up=False, words=True), bits_text(2.0)
        ('≤ 1.585 bits', 'at least 1.584 bits', '2 bits')
    """
    text = bits_up(bits) if up else bits_down(bits)
    return direction(text.split()[0], bits, 1e-12, words=words) + text


def _with_bits(number: str) -> str:
    return f"{number} bit" if number == "1" else f"{number} bits"


def price_words(bits: float, alone: float) -> str:
    """Write a price in a sentence, and what it would be alone where that is more."""
    rest = f" now, and {bits_text(alone, words=True)} alone" if bits < alone else ""
    return f"The price is {bits_text(bits, words=True)}{rest}."


def distinct(names: list[str]) -> list[str]:
    """Number repeated names, so that each column of the answer has its own.

    Example:
        >>> distinct(["n", "n", "m"])
        ['n', 'n (2)', 'm']
    """
    unique: dict[str, None] = {}  # in order; a list would be searched once for every name
    tried: dict[str, int] = {}
    for name in names:
        number, numbered = tried.get(name, 1), name
        while numbered in unique:
            number += 1
            numbered = f"{name} ({number})"
        tried[name] = number
        unique[numbered] = None
    return list(unique)


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


# --- numerals -------------------------------------------------------------------------------------
# Numbers as reports show them: percentages, few digits, narrow cells of tables, values.
#
# The names say which way a number is rounded, as in ``wording``, on which these functions rest.
# No answer of an agent needs them.

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
