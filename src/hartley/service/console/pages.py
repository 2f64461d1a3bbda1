"""What pages are made of: the frame and templates, rounded numbers, refusals, copies, pictures."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
from dataclasses import dataclass
from difflib import SequenceMatcher
from fractions import Fraction
from functools import cache, partial
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hartley.reports.render import page_environment
from hartley.text import bits_down, bits_up, decimal_text, number

if TYPE_CHECKING:
    from collections.abc import Sequence

NUMBER = re.compile(r"[±-]?[\d,]+(?:\.(?P<decimals>\d+))?")
FIGURE_SPACE, POINT_SPACE = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"
PREFIX = "/console"
"""Where the pages are."""
STATIC = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files that pages load, with their types: all of them are ours."""
GUESS = re.compile(r"did you mean (?P<guess>'(?:[^']|'')*'|[^?]+)\?")
"""What the agent proposes instead of the refused part."""
EXAMPLE = re.compile(r"write for example '?(?P<text>SELECT .+?)'?$", re.IGNORECASE)
LITERAL = re.compile(r"'(?:[^']|'')*'")
PRICE = re.compile(r"\(--bits (?P<bits>\d+(?:\.\d+)?)\) gives? ")
"""The prices that a hint proposes."""
FRAMED_POLICY = (
    # As for every page, but for the widths and figures of a report, which have their style inside.
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ROW_HEIGHT = 26
"""Of the picture of one interval, in pixels."""
THINNEST = 0.7
"""The least width of an interval, in percent: an exact number is still seen."""
CURVE_HEIGHT = 168
FLOOR = 140
"""Where the smallest error lies in the picture of a curve, in pixels from above."""
CEILING = 14
EXACT_GAP = 22
"""How far below the smallest error an exact answer lies."""
DAYS_HEIGHT = 132


@dataclass(frozen=True)
class NavigationEntry:
    """A page in the bar at the top."""

    name: str
    address: str
    current: bool


@dataclass(frozen=True)
class Purse:
    """What is spent of the allowance, for the bar at the top."""

    words: str
    gauge: str


@dataclass(frozen=True)
class SignedIn:
    """Whose page it is, and the text that its forms carry."""

    account: str
    role: str
    csrf: str


@dataclass(frozen=True)
class PageFrame:
    """What every page has around its content."""

    session: SignedIn | None = None
    home: str = PREFIX
    pages: Sequence[NavigationEntry] = ()
    purse: Purse | None = None
    prefix: str = PREFIX

    @staticmethod
    def static(name: str) -> str:
        """Return the address of a file; it changes with the file, so it can be kept for ever."""
        return f"{PREFIX}/static/{_digest(name)}/{name}"


def render(template: str, frame: PageFrame, **content: Any) -> str:  # noqa: ANN401 - the values of the template
    """Return a page."""
    page: str = _environment().get_template(template).render(frame=frame, **content)
    return page


def asset(name: str) -> str:
    """Return the text of a template or of a file that pages load."""
    return files("hartley.service.console").joinpath("templates", name).read_text("utf-8")


def sentence(text: str) -> str:
    """Write a hint as sentences: each begins with a capital, and the last one ends."""
    whole = "? ".join(part[:1].upper() + part[1:] for part in text.split("? "))
    return whole if whole.endswith((".", "?", "!")) else whole + "."


def report_parts(text: str) -> tuple[str, str]:
    """Return the style of a report and what stands in its page, to show both in another page.

    Example:
        >>> report_parts("<style>p { margin: 0 }</style></head><body><main><p>1</p></main></body>")
        ('p { margin: 0 }', '<p>1</p>')
    """
    style = text.partition("<style>")[2].partition("</style>")[0]
    return style.strip(), text.partition("<main>")[2].rpartition("</main>")[0].strip()


@cache
def _environment() -> Any:  # noqa: ANN401 - jinja2 is imported on use
    environment = page_environment(asset)
    environment.filters |= {"sentence": sentence, "bits": bits_up, "minute": _minute}
    return environment


def _minute(time: str | None) -> str:
    return "" if time is None else time[:16].replace("T", " ")


@cache
def _digest(name: str) -> str:
    return hashlib.sha256(asset(name).encode()).hexdigest()[:16]


# --- numbers, rounded to the safe side: bits to three decimals, errors to three digits ---


bits_number = partial(number, round="up", places=3)
"""Bits that are spent or due, where a column or a tile names the unit."""
left_number = partial(number, round="down", places=3)
"""Bits that are left, allowed or in a record, likewise."""


def error_words(error: Fraction) -> str:
    """Write an error with three digits, rounded up.

    Example:
        >>> [error_words(Fraction(error)) for error in ("0.0569149", "33312", "0")]
        ['±0.057', '±33,400', 'exact']
    """
    return f"±{number(error, 3, round='up')}" if error else "exact"


def exact_bits(text: str) -> str:
    """Write an exact number of bits for a field in which it can be changed."""
    return decimal_text(Fraction(text))


def parse_bits(text: str) -> float:
    """Return an exact number of bits as a double, to draw it."""
    return float(Fraction(text))


def aligned(numbers: list[str]) -> list[str]:
    """Return numbers with spaces at their end, so that their points stand in one column.

    The spaces are as wide as a point and as digits; a text that is no number stays as it is.
    """
    matches = [NUMBER.fullmatch(text) for text in numbers]
    most = max((len(match["decimals"] or "") for match in matches if match), default=0)
    texts = []
    for text, match in zip(numbers, matches, strict=True):
        spaces = ""
        if match is not None and most:
            decimals = match["decimals"] or ""
            spaces = ("" if decimals else POINT_SPACE) + FIGURE_SPACE * (most - len(decimals))
        texts.append(text + spaces)
    return texts


# --- a refused question: the place underlined, and the hint as a button ---


@dataclass(frozen=True)
class Repair:
    """A button that does what a hint proposes; it prices, and never spends."""

    words: str
    field: str
    value: str
    action: str


@dataclass(frozen=True)
class ShownRefusal:
    """A refusal in the words of the page."""

    title: str
    problem: str
    hint: str
    before: str = ""
    culprit: str = ""
    after: str = ""
    repairs: Sequence[Repair] = ()


def shown_refusal(  # noqa: PLR0913 - the parts of a refusal, each by name
    text: str,
    problem: str,
    hint: str,
    *,
    address: str,
    place: tuple[int, int] | None = None,
    requested: float | None = None,
) -> ShownRefusal:
    """Return a refusal as the page shows it."""
    begin, end = place or (0, 0)
    title = "The budget does not cover it" if requested is not None else "Not answered"
    parts = (text[:begin], text[begin:end], text[end:])
    return ShownRefusal(title, problem, hint, *parts, _repairs(text, hint, place, address))


def _repairs(text: str, hint: str, place: tuple[int, int] | None, address: str) -> list[Repair]:
    guess, example = GUESS.search(hint), EXAMPLE.search(hint)
    price = f"{address}/price"
    if guess and place is not None:
        begin, end = place
        word = guess["guess"]
        corrected = text[:begin] + _corrected(text[begin:end], word) + text[end:]
        return [Repair(f"Price it with {word}", "example", corrected, price)]
    if example:
        return [Repair("Start from the example", "example", example["text"], price)]
    proposed = [match["bits"] for match in PRICE.finditer(hint)][:2]
    return [
        Repair(f"Price it at {bits} {'bit' if bits == '1' else 'bits'}", "wish", bits, price)
        for bits in proposed
    ]


def _corrected(culprit: str, guess: str) -> str:
    """Return the refused part with the guess in it, in the place of its closest literal if any."""
    literals = list(LITERAL.finditer(culprit))
    if not guess.startswith("'") or not literals:
        return guess
    closest = max(literals, key=lambda each: SequenceMatcher(None, each[0], guess).ratio())
    return culprit[: closest.start()] + guess + culprit[closest.end() :]


def copied_texts(
    question: str, wish: str, dataset: str, service: str
) -> tuple[tuple[str, str], ...]:
    """Return a question with its price as SQL, Python and curl to paste; none contains a token."""
    flat = " ".join(question.split()) if "--" not in question else question
    body = json.dumps({"question": question, "bits": wish}, ensure_ascii=False)
    from_shell = "os.environ['HARTLEY_TOKEN']"
    python = (
        "import os\n\nimport hartley\n\n"
        f"agent = hartley.connect({service!r}, token={from_shell}, dataset={dataset!r})\n"
        f"print(agent.ask({question!r}, bits={wish!r}))"
    )
    curl = " \\\n  ".join(
        (
            f"curl {shlex.quote(f'{service}/v1/datasets/{dataset}/ask')}",
            '-H "Authorization: Bearer $HARTLEY_TOKEN"',
            "-H 'Content-Type: application/json'",
            f"-d {shlex.quote(body)}",
        )
    )
    return (("SQL", f"/* bits={wish} */ {flat}"), ("Python", python), ("curl", curl))


# --- pictures as inline SVG: places along the page are percentages, colours come from classes ---


@dataclass(frozen=True)
class Scale:
    """A range of numbers, spread over the width of a picture."""

    low: float
    high: float

    def place(self, number: float) -> float:
        """Return where a number lies, in percent; what is outside lies at the edge."""
        if self.high <= self.low:
            return 50.0
        return round(100 * min(max((number - self.low) / (self.high - self.low), 0.0), 1.0), 3)


def zoomed(intervals: Sequence[tuple[float, float]], whole: Scale) -> Scale:
    """Return the part of a range that all intervals lie in, with some room on both sides."""
    low, high = min(ends[0] for ends in intervals), max(ends[1] for ends in intervals)
    room = (high - low or abs(high) / 100 or 1.0) / 10
    return Scale(max(low - room, whole.low), min(high + room, whole.high))


def draw_interval(low: float, high: float, scale: Scale, words: str) -> str:
    """Draw one interval as a bar on the line of its range."""
    begin, end = scale.place(low), scale.place(high)
    width = max(end - begin, THINNEST)
    start = min(max((begin + end - width) / 2, 0.0), 100 - width)
    middle = ROW_HEIGHT / 2
    return _svg(
        ROW_HEIGHT,
        words,
        f'<line class="rail" x1="0" x2="100%" y1="{middle:g}" y2="{middle:g}"/>',
        f'<rect class="bar" x="{start:.3f}%" width="{width:.3f}%" y="4" '
        f'height="{ROW_HEIGHT - 8}" rx="2"/>',
    )


@dataclass(frozen=True)
class DrawnPrice:
    """A price and the error that it buys, as the picture of a curve shows them."""

    bits: float
    error: float
    words: str
    """The error in words, such as ±0.4 or exact."""


def heights(errors: Sequence[float]) -> list[float]:
    """Return where errors lie in the picture: equal factors are equal distances; 0 is lowest."""
    positive = [math.log(error) for error in errors if error > 0]
    if not positive:
        return [float(FLOOR)] * len(errors)
    lowest = FLOOR - (EXACT_GAP if len(positive) < len(errors) else 0)
    least, most = min(positive), max(positive)
    spread = most - least or 1.0
    return [
        float(FLOOR)
        if error <= 0
        else round(lowest - (lowest - CEILING) * (math.log(error) - least) / spread, 2)
        for error in errors
    ]


def draw_curve(points: Sequence[DrawnPrice], chosen: int, label: str) -> str:
    """Draw the error of a number against its price, with a mark at the chosen price."""
    last = points[-1].bits
    scale = Scale(0.0, max(math.ceil(last), 1.0))
    xs, ys = [scale.place(point.bits) for point in points], heights([p.error for p in points])
    pairs = list(zip(xs, ys, strict=True))
    lines = [
        f'<line class="curve" x1="{x:g}%" y1="{y:g}" x2="{x2:g}%" y2="{y2:g}"/>'
        for (x, y), (x2, y2) in pairwise(pairs)
    ]
    dots = [f'<circle class="dot" cx="{x:g}%" cy="{y:g}" r="3.5"/>' for x, y in pairs]
    every = 1 if scale.high <= 8 else 2 if scale.high <= 16 else 8
    ticks = [
        f'<text class="tick" x="{scale.place(bits):g}%" y="{CURVE_HEIGHT - 6}" '
        f'text-anchor="{_anchor(scale.place(bits))}">{bits}</text>'
        for bits in range(0, int(scale.high) + 1, every)
    ]
    x, y = pairs[chosen]
    mark = f'<circle class="chosen" id="curve-mark" cx="{x:g}%" cy="{y:g}" r="7"/>'
    words = (
        f"Error of {label} against its price: {points[0].words} for {bits_up(points[0].bits)}, "
        f"{points[-1].words} for {bits_up(last)}; {points[chosen].words} for the chosen "
        f"{bits_up(points[chosen].bits)}"
    )
    ground = f'<line class="axis" x1="0" x2="100%" y1="{FLOOR + 8}" y2="{FLOOR + 8}"/>'
    return _svg(CURVE_HEIGHT, words, ground, *lines, *dots, mark, *ticks)


def draw_ends(points: Sequence[DrawnPrice]) -> str:
    """Draw the largest and the smallest error beside a curve, at the heights of their points."""
    ys = heights([point.error for point in points])
    texts = [
        f'<text class="tick" x="100%" y="{y + 4:g}" text-anchor="end">{escape(point.words)}</text>'
        for point, y in ((points[0], ys[0]), (points[-1], ys[-1]))
    ]
    return f'<svg aria-hidden="true" width="100%" height="{CURVE_HEIGHT}">{"".join(texts)}</svg>'


def draw_gauge(spent: float, budget: float, whole: float, *, height: int = 28) -> str:
    """Draw what is spent of a budget, on a bar as long as a person's record has bits."""
    scale = Scale(0.0, max(whole, budget, 1e-9))
    end, limit = scale.place(spent), scale.place(budget)
    words = (
        f"{bits_up(spent)} spent of a budget of {bits_down(budget)}; "
        f"a person's record holds {bits_down(whole)}"
    )
    parts = [f'<rect class="record" x="0" width="100%" y="0" height="{height}" rx="4"/>']
    if limit:
        parts.append(
            f'<rect class="budget" x="0" width="{limit:g}%" y="0" height="{height}" rx="4"/>'
        )
    if end:
        parts.append(f'<rect class="spent" x="0" width="{end:g}%" y="0" height="{height}" rx="4"/>')
    if 0 < limit < 100:
        parts.append(f'<line class="limit" x1="{limit:g}%" x2="{limit:g}%" y1="0" y2="{height}"/>')
    return _svg(height, words, *parts)


def draw_days(days: Sequence[tuple[str, float]]) -> str:
    """Draw the bits that were spent on each day as bars."""
    most = max((bits for _, bits in days), default=0.0) or 1.0
    floor, ceiling = DAYS_HEIGHT - 24, 20
    step = 100 / max(len(days), 7)
    parts = [f'<line class="axis" x1="0" x2="100%" y1="{floor}" y2="{floor}"/>']
    shown = {0, len(days) - 1} | ({*range(len(days))} if len(days) <= 7 else set())
    for place, (day, bits) in enumerate(days):
        tall = (floor - ceiling) * bits / most
        middle = step * (place + 0.5)
        if bits:
            parts.append(
                f'<rect class="bar" x="{step * place + step * 0.15:.3f}%" '
                f'width="{step * 0.7:.3f}%" y="{floor - tall:.1f}" height="{tall:.1f}" rx="2"/>'
            )
            if bits == most or len(days) <= 7:
                parts.append(
                    f'<text class="count" x="{middle:.3f}%" y="{floor - tall - 5:.1f}" '
                    f'text-anchor="{_anchor(middle)}">{escape(bits_number(bits))}</text>'
                )
        if place in shown:
            parts.append(
                f'<text class="tick" x="{middle:.3f}%" y="{DAYS_HEIGHT - 6}" '
                f'text-anchor="{_anchor(middle)}">{escape(day[5:])}</text>'
            )
    spent = [f"{bits_up(bits)} on {day}" for day, bits in days if bits]
    words = "Bits spent by day: " + ("; ".join(spent[-10:]) or "none")
    return _svg(DAYS_HEIGHT, words, *parts)


def _anchor(place: float) -> str:
    """Keep letters inside the picture: at its edges they begin or end at their place."""
    return "start" if place < 2 else "end" if place > 98 else "middle"


def _svg(height: int, words: str, *parts: str) -> str:
    return (
        f'<svg role="img" width="100%" height="{height}" aria-label="{escape(words)}">'
        f"{''.join(parts)}</svg>"
    )
