"""Read a saved certificate that anybody may have written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hartley.errors import CertificateError, InputError
from hartley.files import parse_json
from hartley.guarantees.promise import Consequence

if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT = 2
"""Format 1 did not say that people must be unrelated, nor that stretched values have no step."""
LARGEST = 2_000_000
"""A certificate has a few kilobytes; more characters than these are not read."""
DEEPEST = 8
"""How deep parameters may be nested."""
INFINITIES = {"infinity": math.inf, "-infinity": -math.inf}
RULES, CERTAINTIES = ("corrected", "printed"), ("exact", "bound")


def read_certificate(text: str, name: str) -> dict[str, Any]:
    """Return the fields of a certificate, each of the right type, or refuse it in one sentence."""
    place = f"{name[0].upper()}{name[1:]}"
    content = _parse(text, place)
    form = repr(content.pop("format", None))  # neither true nor 1.0
    if form == "1":
        raise CertificateError(
            f"{place} was written by an earlier version, whose certificates left out that people "
            "must be unrelated",
            hint="certify the policy again, with hartley release --certificate",
        )
    if form != repr(FORMAT):
        raise CertificateError(
            f"{place} has a format that this version does not know",
            hint="use the version of Hartley that wrote it, or a newer one",
        )
    try:
        return _read(content, FIELDS)
    except (ValueError, TypeError, KeyError):
        raise _no_certificate(place) from None


def _parse(text: str, place: str) -> dict[str, Any]:
    if len(text) > LARGEST:
        raise _no_certificate(place)
    try:
        content = parse_json(text, what="certificate", kind=InputError)
    except InputError:
        raise _no_certificate(place) from None
    if not isinstance(content, dict):
        raise _no_certificate(place)
    return content


def _no_certificate(place: str) -> CertificateError:
    return CertificateError(
        f"{place} is not a certificate",
        hint="pass a file that hartley has written, as it was written",
    )


def _read(content: object, readers: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Read exactly these fields."""
    if not isinstance(content, dict) or content.keys() != readers.keys():
        raise TypeError
    return {key: reader(content[key]) for key, reader in readers.items()}


# --- types --------------------------------------------------------------------------------------


def _text(value: object) -> str:
    # What does not print could steer the terminal of whoever looks at the certificate.
    if not isinstance(value, str) or not value.isprintable():
        raise TypeError
    return value


def _number(value: object) -> float:
    if isinstance(value, str):
        return INFINITIES[value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    if isinstance(value, int) and abs(value) > 2**53:
        raise ValueError
    return float(value)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _choice(choices: tuple[str, ...]) -> Callable[[object], str]:
    def read(value: object) -> str:
        if value not in choices:
            raise ValueError
        return _text(value)

    return read


def _or_none(reader: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else reader(value)


def _all(reader: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def read(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise TypeError
        return tuple(reader(item) for item in value)

    return read


def _parameters(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    found = _plain(value, DEEPEST)
    assert isinstance(found, dict)  # as it came
    return found


def _plain(value: object, depth: int) -> object:
    """Let plain values pass, nested a few times."""
    if depth == 0:
        raise ValueError
    if isinstance(value, dict):
        return {_text(key): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth - 1) for item in value]
    return _text(value) if isinstance(value, str) else value


CONSEQUENCE: dict[str, Callable[[Any], Any]] = {
    "name": _text,
    "value": _or_none(_number),
    "sentence": _text,
    "theorem": _text,
}
FIELDS: dict[str, Callable[[Any], Any]] = {
    "paragraph": _text,
    "kind": _text,
    "claim": _text,
    "value": _number,
    "unit": _text,
    "theorem": _text,
    "rule": _choice(RULES),
    "sound": _truth,
    "certainty": _choice(CERTAINTIES),
    "assumptions": _all(_text),
    "consequences": _all(lambda value: Consequence(**_read(value, CONSEQUENCE))),
    "parameters": _parameters,
    "policy_digest": _or_none(_text),
}
