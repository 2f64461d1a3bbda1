"""Fields of a design, read one by one; whatever makes no sense is one sentence with a hint."""

from __future__ import annotations

import difflib
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from hartley.errors import InputError, OptionError
from hartley.exact import parse_number
from hartley.policies.quantizers.calibration import levels_for_error
from hartley.ranges.boxes.box import Interval
from hartley.wording import exactly, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Objective = Literal["maximin", "leakage", "bits", "indistinguishability", "hypothesis"]
NEEDS = {
    "maximin": ("query", "error"),
    "leakage": ("query", "error"),
    "bits": ("bits",),
    "indistinguishability": ("query", "bits"),
    "hypothesis": ("hypothesis", "error"),
}
"""For every objective the fields that it needs."""
MAY_HAVE = {
    "maximin": ("people", "name", "norm"),
    "leakage": ("people", "name"),
    "bits": ("query", "people", "name", "norm", "sensitivity", "weights", "rule"),
    "indistinguishability": ("people", "name", "rule"),
    "hypothesis": ("policy", "move", "known_within", "norm", "round", "possible"),
}
"""For every objective the fields that it may have besides."""
FIELDS = (
    *("title", "objective", "query", "name", "error", "bits", "people", "sensitivity"),
    *("hypothesis", "policy", "move", "known_within", "norm", "round", "possible"),
    *("rule", "weights", "columns"),
)
MOST_BITS = 1000
"""More than this no release of numbers tells."""


def as_written(value: object) -> object:
    """Return a number of a file as the text that it is written as, anything else as it is."""
    return str(value) if isinstance(value, Decimal) else value


def read_number(value: object, name: str) -> Fraction:
    """Read a number as it is written; not a number, infinite and truth values are refused.

    Example:
        >>> read_number(Decimal("0.1"), "the error")
        Fraction(1, 10)
        >>> read_number(float("nan"), "the error")
        Traceback (most recent call last):
        hartley.errors.OptionError: The error is not a number; hint: ...
    """
    return parse_number(as_written(value), name=name)


def refuse_unknown(fields: Iterable[str], known: Iterable[str], place: str) -> None:
    """Refuse a field that nobody reads, most likely a misspelled one."""
    for field in fields:
        if field not in known:
            close = difflib.get_close_matches(str(field), list(known), n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"it may have {', '.join(known)}"
            raise InputError(f"{place} has the unknown field '{field}'", hint=hint)


def read_objective(content: Mapping[str, Any]) -> Objective:
    """Read the objective of a design, and refuse fields that it lacks or has no use for."""
    refuse_unknown(content, FIELDS, "The design")
    objective = content.get("objective")
    if not isinstance(objective, str) or objective not in get_args(Objective):
        told = "names no objective" if objective is None else f"has the objective {objective!r}"
        known = f"choose from {', '.join(get_args(Objective))}"
        random = "matrices of random perturbation are designed by hartley pram"
        raise InputError(f"The design {told}", hint=random if objective == "pram" else known)
    _check_fields(content, objective)
    return cast("Objective", objective)


def _check_fields(content: Mapping[str, Any], objective: str) -> None:
    """Refuse what is missing for an objective, and what has no meaning for it."""
    if "error" in content and "bits" in content:
        raise InputError(
            "The design gives both an error and bits",
            hint='give bits with objective = "bits" or "indistinguishability", and an error with '
            "every other",
        )
    needed, allowed = NEEDS[objective], (*MAY_HAVE[objective], "title", "objective", "columns")
    missing = [name for name in needed if name not in content]
    if missing:
        raise InputError(
            f"The objective {objective} needs '{missing[0]}'",
            hint=f"write {_example(missing[0])}",
        )
    for name in content:
        if name not in (*needed, *allowed):
            raise InputError(
                f"The field '{name}' has no meaning for the objective {objective}",
                hint=f"it has {', '.join((*needed, *MAY_HAVE[objective]))}",
            )


def _example(name: str) -> str:
    return {
        "query": 'query = "mean(height)", or query = "height" for every record',
        "error": "error = 0.5, the furthest that the release may be off",
        "bits": "bits = 3, the most that the release may tell about one person",
        "hypothesis": 'hypothesis = "weight >= 30*(height/100)**2"',
    }[name]


def read_text(content: Mapping[str, Any], name: str) -> str | None:
    """Read a field of text; None where it is left out."""
    text = content.get(name)
    if text is None:
        return None
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"The field '{name}' is not text", hint=f'write {name} = "..."')
    return text.strip()


def read_hypotheses(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Read one hypothesis or a list of several; none where it is left out."""
    texts = content.get("hypothesis", [])
    several = texts if isinstance(texts, list) else [texts]
    if not all(isinstance(text, str) and text.strip() for text in several):
        raise InputError(
            "The field 'hypothesis' is not text",
            hint='write hypothesis = "weight >= 100", or a list of several',
        )
    return tuple(text.strip() for text in several)


def read_choice(content: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> Any:  # noqa: ANN401 - one of the choices
    """Read a field that has some possible values, the first by default."""
    chosen = content.get(name, choices[0])
    if chosen not in choices:
        quoted = listed((f"'{choice}'" for choice in choices), joint="or")
        raise InputError(f"The {name} {chosen!r} is unknown", hint=f"choose {quoted}")
    return chosen


def read_move(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Read which columns may be moved, one or a list; none where it is left out."""
    move = content.get("move", [])
    names = [move] if isinstance(move, str) else move
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(
            "The field 'move' does not list columns", hint='write for example move = ["weight"]'
        )
    return tuple(names)


def read_known_within(value: object) -> tuple[Fraction, ...] | None:
    """Read to within what somebody may know moved values; None where it is left out."""
    if value is None:
        return None
    numbers = value if isinstance(value, list) else [value]
    return tuple(read_number(number, "known_within") for number in numbers)


def read_error(value: object) -> Fraction:
    """Read how far a release may be off."""
    error = read_number(value, "the error")
    if error <= 0:
        raise OptionError(
            f"The error {exactly(error)} is not positive",
            hint="a release within an error of 0 is the truth; give how far it may be off",
        )
    return error


def read_bits(value: object) -> Fraction:
    """Read a budget; one that allows a single output is refused, for that tells nothing."""
    bits = read_number(value, "the budget in bits")
    if bits <= 0:
        raise OptionError(
            f"The budget of {exactly(bits)} bits is not positive",
            hint="give at least 1 bit, or release nothing",
        )
    if bits < 1:  # floor(2^bits) outputs
        raise OptionError(
            f"A budget of {exactly(bits)} bits allows a single output, which tells nothing",
            hint="give at least 1 bit, which two outputs take",
        )
    if bits > MOST_BITS:
        raise OptionError(
            f"The budget of {exactly(bits)} bits is more than any release of numbers tells",
            hint=f"give fewer, up to {MOST_BITS:,} bits",
        )
    return bits


def read_people(value: object) -> int:
    """Read how many people a query is about."""
    people = read_number(value, "the number of people")
    if people.denominator != 1 or people < 1:
        raise OptionError(
            f"There cannot be {exactly(people)} people", hint="write for example people = 5000"
        )
    if people >= 2**63:
        raise OptionError(
            "There cannot be so many people", hint="write how many people the table is about"
        )
    return int(people)


def read_sensitivity(value: object) -> Fraction | None:
    """Read how far one person can move a query; None where it is left out."""
    if value is None:
        return None
    found = read_number(value, "the sensitivity")
    if found <= 0:
        raise OptionError(
            f"The sensitivity {exactly(found)} is not positive",
            hint="it is how far one person's data can move the query",
        )
    return found


def read_weights(weights: object) -> dict[str, Fraction]:
    """Read how much the errors of columns matter."""
    if not isinstance(weights, (dict, type(None))):
        raise InputError(
            "The weights are not a table", hint='write weights = { height = 2 }, or "range"'
        )
    found = {
        name: read_number(value, f"the weight of column '{name}'")
        for name, value in (weights or {}).items()
    }
    for name, weight in found.items():
        if weight <= 0:
            raise OptionError(
                f"The weight of column '{name}' is not positive",
                hint="leave out a column that does not matter",
            )
    return found


def readable(low: Fraction, high: Fraction, error: Fraction | None) -> Interval:
    """Round a range that is too wide already outward, to ends that a file can show.

    Never so far that the error would take another cell; then the ends stay as they are.
    """
    digits = 10 ** max(0, 9 - len(str(int(high - low))))
    rounded = Interval(
        Fraction((low * digits).__floor__(), digits), Fraction((high * digits).__ceil__(), digits)
    )
    if error is not None:
        needed = levels_for_error(high - low, error)
        if levels_for_error(rounded.length, error) > needed:
            return Interval(low, high)
    return rounded
