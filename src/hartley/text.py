"""Numbers, counts and lists in sentences; one number formatter."""

from __future__ import annotations

import datetime as dt
import html
import math
import shlex
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, Self

from hartley.errors import printable, without_password

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


LONG = 400
"""Digits that are enough for every double, so that rounding happens once and where it is meant."""
EPOCH = dt.date(1970, 1, 1)
FULL = 12
"""A number with at most this many decimals is shown in full."""
ENDLESS = 9
"""Decimals of an exact number that has more of them than that."""
SIGNIFICANT = 6
"""Digits of a number for which nobody asked for more or fewer."""
NOUNS = {"person": "people", "entry": "entries", "query": "queries"}
VERBS = {"is": "are", "was": "were", "has": "have"}
"""Plurals that are more than an s more or less."""


Rounding = Literal["up", "down", "nearest"]
ROUNDINGS: dict[Rounding, Callable[[Fraction], int]] = {
    "up": math.ceil,
    "down": math.floor,
    "nearest": round,
}


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
    if math.isinf(bits):
        return "any number of bits"
    return _with_bits(number(bits, round="up", places=places))


def bits_down(bits: float, places: int = 3) -> str:
    """Write an amount of bits with at most so many decimals, rounded down.

    Example:
        >>> bits_down(1.0), bits_down(2.80735492)
        ('1 bit', '2.807 bits')
    """
    return _with_bits(number(bits, round="down", places=places))


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


def number(  # noqa: PLR0913 - each is one choice of the sentence
    value: float | Fraction,
    digits: int | None = None,
    *,
    round: Rounding,
    places: int | None = None,
    zeros: bool = False,
    short: bool = False,
    mark: Literal["sign", "words"] | None = None,
    slack: float = 0.0,
    infinite: str = "infinite",
) -> str:
    """Write a number in few digits: rounded up where a sentence says "at most".

    Without digits and places, six digits or as many as stand before the point.

    Args:
        value: the number.
        digits: the most digits to keep.
        round: whether to round it up, down or to the nearest.
        places: the most decimals to keep.
        zeros: keep zeros at the end.
        short: write an exponent below 0.0001 and from 10^10 on.
        mark: put a sign (≤, ≥) or words before a number that was rounded outward.
        slack: what doubles may have added to the number or taken from it.
        infinite: what to write for infinity.

    Example:
        >>> number(2.80735, round="up", places=2), number(3, round="up", places=2, zeros=True)
        ('2.81', '3.00')
        >>> number(57869.2, 4, round="down"), number(2.5e-12, 1, round="up")
        ('57,860', '3e-12')
        >>> number(Fraction(1, 3), round="nearest"), number(1234567.8, round="up")
        ('0.333333', '1,234,568')
        >>> number(Fraction(1, 3), 2, round="up", mark="words")
        'at most 0.34'
        >>> number(12344000001, 4, round="up", short=True)
        '1.235e+10'
    """
    if isinstance(value, float) and not math.isfinite(value):
        return infinite
    exact = Fraction(value)
    if digits is None and places is None:
        places, zeros = max(SIGNIFICANT - magnitude(exact), 0), True
        while places and (exact * 10 ** (places - 1)).denominator == 1:
            places -= 1
    elif digits is not None:
        places = digits - magnitude(exact)
    assert places is not None
    inward = Fraction(slack) * {"up": -1, "down": 1, "nearest": 0}[round]
    whole = ROUNDINGS[round]((exact + inward) * Fraction(10) ** places)
    kept = Decimal(whole).scaleb(-places, Context(prec=LONG))
    text = f"{kept:,.{max(places, 0)}f}" if zeros else plain_decimal(kept)
    if short:
        text = f"{float(kept):,.10g}"
    return (direction(text, exact, slack, words=mark == "words") if mark else "") + text


def magnitude(number: Fraction) -> int:
    """Return how many digits stand before the point; none or fewer where it begins with zeros."""
    if number == 0:
        return 1
    size = abs(number)
    digits = len(str(size.numerator)) - len(str(size.denominator))
    return digits + 1 if size >= Fraction(10) ** digits else digits


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
        places = next(places for places in range(FULL + 1) if (value * 10**places).denominator == 1)
        return number(value, round="nearest", places=places, zeros=True) + null, "exact", "0"
    places = max(3 - magnitude(error), 0) if error else ENDLESS
    while places and all((end * 10 ** (places - 1)).denominator == 1 for end in (value, low, high)):
        places -= 1
    fixed = partial(number, places=places, zeros=True)
    middle = Fraction(round(value * 10**places), 10**places)  # as it is shown
    error = max(middle - low, high - middle)
    ends = f"[{fixed(low, round='down')}, {fixed(high, round='up')}]"
    return fixed(middle, round="nearest") + null, ends, f"±{fixed(error, round='up')}"


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


def exactly_or_up(value: Fraction) -> str:
    """Write a number exactly where that is short, else with four digits, rounded up.

    Example:
        >>> exactly_or_up(Fraction(1, 2)), exactly_or_up(Fraction(75, 7))
        ('0.5', '10.72')
    """
    text = exactly(value)
    return text if "/" not in text else number(value, 4, round="up")


def times(ratio: Fraction, *, up: bool) -> str:
    """Write how many times as much something is, rounded up or down; from 100 on in whole times.

    Example:
        >>> times(Fraction(10, 3), up=True), times(Fraction(1201, 10), up=False)
        ('3.34 times', '120 times')
    """
    places = 0 if ratio >= 100 or ratio.denominator == 1 else 2 if ratio < 10 else 1
    text = number(ratio, round="up" if up else "down", places=places, zeros=True)
    return f"{text} times"


def percent(
    share: float | Fraction,
    of: int = 1,
    *,
    round: Rounding,
    places: int = 2,
    mark: Literal["sign", "words"] | None = None,
) -> str:
    """Write a share in percent, rounded as ``number`` does.

    Example:
        >>> percent(1, 3, round="up"), percent(1, 3, round="up", mark="words")
        ('33.34 %', 'at most 33.34 %')
        >>> percent(Fraction(1, 2), round="up", mark="words")
        '50 %'
    """
    return f"{number(100 * Fraction(share) / of, round=round, places=places, mark=mark)} %"


def share_text(share: Fraction) -> str:
    """Write a share of people to the nearest hundredth of a percent; 0 % and 100 % are exact.

    Example:
        >>> share_text(Fraction(1, 3)), share_text(Fraction(1, 10**6)), share_text(Fraction(1))
        ('33.33 %', 'under 0.01 %', '100 %')
    """
    if 0 < share < Fraction(1, 10_000):
        return "under 0.01 %"
    return (
        "over 99.99 %" if Fraction(9_999, 10_000) < share < 1 else percent(share, round="nearest")
    )


def command_line(*words: object) -> str:
    """Write a command of Hartley as a shell reads it, without passwords of addresses.

    Example:
        >>> command_line("scan", "my file.csv", "--header-line", 4)
        "hartley scan 'my file.csv' --header-line 4"
    """
    return f"hartley {shlex.join(without_password(str(word)) for word in words)}"


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


# --- notebooks ------------------------------------------------------------------------------------

NOTEBOOK = (
    "--soft: color-mix(in srgb, currentColor 65%, transparent); "
    "--line: color-mix(in srgb, currentColor 20%, transparent); --warn: #b4232a; "
)
"""The colours of a page, from those of the notebook, which may be dark."""


def in_notebook(content: str) -> str:
    """Return HTML for a notebook, with the style of the tables of pages."""
    style = files("hartley.reports").joinpath("templates", "tables.css").read_text("utf-8")
    return (
        f"<style>.hartley {{ {NOTEBOOK}\n{style}table {{ width: auto; }} }}</style>"
        f'<div class="hartley">{content}</div>'
    )


def html_table(names: Iterable[str], lines: Iterable[Iterable[str]], numbers: int = 0) -> str:
    """Return a table of texts for a notebook; the last columns may be of numbers."""
    headings = [*names]
    texts = len(headings) - numbers

    def row(tag: str, cells: Iterable[str]) -> str:
        kinds = ["" if place < texts else ' class="number"' for place in range(len(headings))]
        shown = zip(kinds, cells, strict=True)
        return "".join(f"<{tag}{kind}>{html.escape(text)}</{tag}>" for kind, text in shown)

    body = "".join(f"<tr>{row('td', line)}</tr>" for line in lines)
    return f"<table><thead><tr>{row('th', headings)}</tr></thead><tbody>{body}</tbody></table>"
