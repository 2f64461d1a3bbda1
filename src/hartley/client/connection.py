"""HTTP with the standard library."""

from __future__ import annotations

import datetime as dt
import http.client
import io
import json
import math
import os
import random
import re
import selectors
import ssl
import threading
import time
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from hartley.errors import (
    EngineError,
    HartleyError,
    InputError,
    NotPermitted,
    OptionError,
    Pending,
    Refused,
    ReplyError,
    Stale,
)
from hartley.exact import log_ratio, parse_number
from hartley.files import parse_json, parse_toml
from hartley.text import EPOCH, interval_words, marked_bits, price_words, rounded

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Collection, Mapping, Sequence


# --- reply forms ----------------------------------------------------------------------------------
# What the replies of a service can be: every field by its kind, checked before anything is used.
#
# A form is a function that raises an error for a value that it does not allow, ``{name: form}``
# for these fields and perhaps more, ``{str: form}`` for any fields, ``[form]`` for a list, and
# ``(form,)`` for a value that may be null.

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that could steer a terminal, or turn the order of what is read."""
ADDED = re.compile(r"…?( \(\d+\))?$")
"""What a label has that its question has not: where it was cut, or which of equal ones it is."""
MOST_BITS = 2**64
SLACK = 1e-6
"""Bits that doubles may add."""
MOST_WISHED, MOST_POINTS = 1000, 10_000
"""Bits of a price on a curve, and its prices."""


class SentQuestion(NamedTuple):
    """A question as it was sent: its text, and the error or the bits that were wished for."""

    text: str
    error: object = None
    bits: object = None
    min_rows: object = None


def check(value: Any, form: Any) -> None:  # noqa: ANN401 - nested plain values, and their form
    """Raise an error if a value is not of a form."""
    if isinstance(form, tuple):
        if value is not None:
            check(value, form[0])
    elif isinstance(form, list):
        _require(isinstance(value, list))
        for each in value:
            check(each, form[0])
    elif isinstance(form, dict):
        _require(isinstance(value, dict))
        for name in value if str in form else form:
            text(name)
            check(value[name], form.get(str) or form[name])
    else:
        form(value)


def _require(holds: object) -> None:
    if not holds:
        raise ValueError


def _all(names: str, form: Any) -> dict[Any, Any]:  # noqa: ANN401 - a form
    return dict.fromkeys(names.split(), form)


# --- single values --------------------------------------------------------------------------------


def anything(_: object) -> None:
    """Allow every value."""


def text(value: object) -> None:
    """Allow a text that no terminal is steered by."""
    _require(isinstance(value, str) and not CONTROL.search(value))


def truth(value: object) -> None:
    """Allow true and false."""
    _require(isinstance(value, bool))


def whole(value: object) -> None:
    """Allow a whole number from 0 on."""
    _require(type(value) is int and value >= 0)


def bits(value: object) -> None:
    """Allow a number of bits that somebody can be charged."""
    _require(type(value) in {int, float} and 0 <= value < MOST_BITS)  # type: ignore[operator]  # numbers
    _require(math.copysign(1, value) > 0)  # type: ignore[arg-type]  # a number, and not -0.0


def exact(value: object) -> Fraction:
    """Allow an exact number as text, and return it."""
    _require(isinstance(value, str))
    return parse_number(value, name="a number")


def error(value: object) -> None:
    """Allow the text of an exact number that is not negative."""
    _require(exact(value) >= 0)


def cells(value: Any) -> None:  # noqa: ANN401 - a plain value
    """Allow the digits of a whole number above 0."""
    _require(isinstance(value, str) and value.isascii() and value.isdigit() and value.strip("0"))


# --- answers --------------------------------------------------------------------------------------

CERTIFICATE = (
    _all("paragraph kind claim unit theorem rule certainty", text)
    | {"format": whole, "value": bits, "sound": truth, "policy_digest": (text,)}
    | {"assumptions": [text], "consequences": [{str: anything}]}
    | {"parameters": {"cells": cells, "questions": [text]}}
)
NUMBER = _all("low high", (exact,)) | _all("may_be_null date promised", truth) | {"shown": [text]}
TABLE = {"keys": [text], "labels": [text], "rows": [{"keys": [text], "numbers": [NUMBER]}]}
ANSWER = (
    _all("question question_id", text)
    | _all("bits spent_bits open_bits remaining_bits", bits)
    | {"rows": [{str: anything}], "certificate": CERTIFICATE, "table": TABLE}
)


def answers(value: Any, asked: Sequence[SentQuestion], most_bits: float | None = None) -> None:  # noqa: ANN401 - nested plain values
    """Allow the answers to these questions, which cost the same and at most so many bits."""
    check(value, {"answers": [ANSWER]})
    texts = [wish.text for wish in asked]
    for each, wish in zip(value["answers"], asked, strict=True):
        _require(each["question"] == wish.text and each["bits"] == value["answers"][0]["bits"])
        _require(max(each["bits"], each["open_bits"]) <= each["spent_bits"] + SLACK)
        _require(most_bits is None or each["bits"] <= most_bits)
        _check_certificate(each["certificate"], texts)
        _check_charge(each["bits"], each["certificate"]["value"], asked)
        _check_table(each["table"], each["rows"], wish)
    _require(asked)


def _check_table(table: Any, rows: Any, wish: SentQuestion) -> None:  # noqa: ANN401 - nested plain values
    """Require one row without keys, or those of a GROUP BY, each also as plain values."""
    keys, labels = table["keys"], table["labels"]
    _check_labels(labels, wish)
    _require((rows and "group" in wish.text.casefold()) if keys else len(rows) == 1)
    for row, plain in zip(table["rows"], rows, strict=True):
        _require(plain.keys() == {*keys, *labels})
        for key, shown in zip(keys, row["keys"], strict=True):
            _check_key(plain[key], shown)
        for label, number in zip(labels, row["numbers"], strict=True):
            _check_number(number, plain[label])
            _require(number["promised"] or wish.min_rows is not None)
            if wish.error is not None and number["promised"] and number["low"] is not None:
                off = (exact(number["high"]) - exact(number["low"])) / 2
                _require(off <= parse_number(wish.error, name="the error"))


def _check_key(plain: object, shown: str) -> None:
    """Require the value of a column that is shown: as JSON has it, or rounded to a double."""
    if isinstance(plain, float):
        _require(plain == float(exact(shown)))
    else:
        _require(plain is None or isinstance(plain, (str, int)))
        _require(shown == ("(missing)" if plain is None else str(plain)))


def _check_labels(labels: Collection[str], wish: SentQuestion) -> None:
    """Require labels that are pieces of the question, cut or numbered."""
    question = _bare(wish.text)
    _require(labels and all(_bare(ADDED.sub("", label)) in question for label in labels))


def _bare(text: str) -> str:
    return "".join(text.replace('"', "").split())


def _check_certificate(value: Any, texts: list[str]) -> None:  # noqa: ANN401 - nested plain values
    """Require a sound promise about these questions, with the same number wherever it is said."""
    number = value["parameters"]["cells"]
    alone = float(Decimal(number).log10()) / math.log10(2)  # of any number of digits
    _require(value["sound"] and value["parameters"]["questions"] == texts)
    _require(math.isclose(value["value"], alone, rel_tol=1e-9, abs_tol=1e-9))
    _require(len(number) > 15 or f" {int(number):,} value" in value["claim"])  # else in words
    _require(value["paragraph"].startswith(value["claim"]))


def _check_charge(charge: float, alone: float, asked: Sequence[SentQuestion]) -> None:
    """Require a charge of at most the price alone, and at most the bits that were wished for."""
    _require(charge <= alone + SLACK)
    wished = [parse_number(wish.bits, name="a price") for wish in asked if wish.bits is not None]
    _require(len(wished) < len(asked) or charge <= sum(wished) + Fraction(SLACK))


def _check_number(number: Any, plain: Any) -> None:  # noqa: ANN401 - nested plain values
    _require(plain["may_be_null"] is number["may_be_null"])
    _require(plain.get("promised", True) is number["promised"])
    doubles = [plain[name] for name in ("low", "value", "high", "error")]
    low, high = (None if number[end] is None else exact(number[end]) for end in ("low", "high"))
    named = {name: number[name] for name in ("may_be_null", "date")}
    _require(tuple(number["shown"]) == interval_words(low, high, **named))
    if low is None or high is None:
        _require(low is high and doubles == [None] * 4)
        return
    _require(low <= high)
    if number["date"]:
        first, middle, last = (
            Fraction((dt.date.fromisoformat(day) - EPOCH).days) for day in doubles[:3]
        )
        _require(first == math.floor(low) and last == math.ceil(high))
        check(doubles[3], bits)
    else:
        _require(
            {*map(type, doubles)} <= {int, float}
        )  # a text may be a number of a billion digits
        first, middle, last, off = map(Fraction, doubles)
        _require(float(low) >= first <= low and float(high) <= last >= high)
        _require(math.isclose(off, (high - low) / 2, rel_tol=1e-9, abs_tol=1e-300))
        _require(math.isclose(first, low, rel_tol=1e-9) and math.isclose(last, high, rel_tol=1e-9))
    _require(first <= middle <= last)


# --- prices ---------------------------------------------------------------------------------------

ERRORS = {str: error}
USEFUL = {"bits_alone": bits, "bits": (bits,), "errors": ERRORS, "if_so_many_rows_count": (whole,)}
PRICED = {"text": text, "levels": [cells], "worst_errors": ERRORS, "vacuous": [text]} | {
    "useful_prices": [USEFUL],
    "errors_if_rows_count": {str: ERRORS},
    "next_prices": _all("below above", (USEFUL,)),
}
QUOTE = (
    _all("bits_alone bits", bits)
    | _all("due_bits remaining_bits", (bits,))
    | {"text": text, "cells": cells, "given": [text], "affordable": (truth,), "refusal": (text,)}
    | {"questions": [PRICED], "certificate": CERTIFICATE}
)
POINT = (
    _all("bits_alone bits", bits)
    | {"due_bits": (bits,), "cells": cells, "charged_cells": (cells,), "due_cells": (error,)}
    | _all("worst_errors errors_if_all_rows_count", ERRORS)
    | {"wish_bits": error, "errors_if_rows_count": {str: ERRORS}, "vacuous": [text], "paid": truth}
)


def quote_form(value: Any, asked: Sequence[SentQuestion], more: Any = None) -> None:  # noqa: ANN401 - nested plain values
    """Allow the price of these questions, the same in numbers and in words."""
    check(value, QUOTE | (more or {}))
    texts, words = [wish.text for wish in asked], value["text"]
    _require([each["text"] for each in value["questions"]] == texts)
    _check_certificate(value["certificate"], texts)
    _require(value["certificate"]["parameters"]["cells"] == value["cells"])
    _check_charge(value["bits"], value["bits_alone"], asked)
    _require(words.split("\n")[0] == price_words(value["bits"], value["bits_alone"]))
    for question, wish in zip(value["questions"], asked, strict=True):
        _check_price(value, question, wish)
        for label, text_of_error in question["worst_errors"].items():
            off = exact(text_of_error)
            said = f"within {rounded(off, up=True)} of the truth" if off else "exact"
            _require(f"\n{label}: {said}" in words)
            if wish.error is not None and wish.min_rows is None:
                _require(off <= parse_number(wish.error, name="the error"))
    left, refusal = value["remaining_bits"], value["refusal"]
    _require(value["affordable"] is (refusal is None))
    end = [] if left is None else [f"Left: {marked_bits(left, up=False, words=True)}."]
    end += [] if refusal is None else [f"It would be refused: {refusal}."]
    _require(words.endswith("\n".join(end)))


def point(value: Any, wish: SentQuestion) -> None:  # noqa: ANN401 - nested plain values
    """Allow a price on a curve."""
    check(value, POINT)
    _check_price(value, value, wish)
    _require(value["errors_if_all_rows_count"].keys() == value["worst_errors"].keys())
    _require(len(value["wish_bits"]) < 40 and exact(value["wish_bits"]) <= MOST_WISHED)


def _check_price(value: Any, question: Any, wish: SentQuestion) -> None:  # noqa: ANN401 - nested plain values
    """Require a price that is at most the price alone, and errors of numbers of the question."""
    alone = log_ratio(int(value["cells"]))
    _require(math.isclose(value["bits_alone"], alone, rel_tol=1e-9, abs_tol=1e-9))
    _require(value["bits"] <= alone + SLACK and value["due_bits"] in {None, value["bits"]})
    _check_labels(question["worst_errors"], wish)
    if_rows = question["errors_if_rows_count"]
    check([*if_rows], [cells])
    _require(question["worst_errors"].keys() >= {*question["vacuous"]})
    for errors in if_rows.values():
        _require(errors and question["worst_errors"].keys() >= errors.keys())


def curve(value: Any, asked: Sequence[SentQuestion]) -> None:  # noqa: ANN401 - nested plain values
    """Allow the curve of one question."""
    form = {"question": text, "text": text, "rows": whole, "complete": truth, "asked_bits": bits}
    (found,) = value["curves"]
    _require(len(found["points"]) <= MOST_POINTS)
    (wish,) = asked
    of_wish = partial(point, wish=wish)
    check(found, form | {"next_useful": (of_wish,), "points": [of_wish]})
    _require(found["question"] == wish.text)


ORDER = {"places": [whole], "bits": bits, "charges_bits": [bits]}
PLANNED = (
    {"question": text, "chosen": truth, "price_alone_bits": bits}
    | _all("weight weighted_error", error)
    | _all("bits error min_rows", (error,))
    | _all("worst_errors errors_if_all_rows_count", ERRORS)
)
PLAN = (
    _all("text errors_as", text)
    | _all("batch_bits batch_alone_bits", bits)
    | _all("refusal limited_by", (text,))
    | _all("fits sharing_proved", (truth,))
    | {"batch_cells": error, "budget_cells": (cells,), "largest_weighted_error": (error,)}
    | {"given_order": ORDER, "best_order": ORDER | {"proved": truth}, "shared": truth}
    | {"remaining_bits": (bits,), "period": ({str: anything},), "questions": [PLANNED]}
    | {"excluded": [{"question": text, "reason": text}]}
)


def plan(value: Any, asked: Sequence[SentQuestion], budget: object = None) -> None:  # noqa: ANN401 - nested plain values
    """Allow a plan of these questions for a budget."""
    check(value, PLAN)
    named = [each["question"] for each in (*value["questions"], *value["excluded"])]
    _require(Counter(named) == Counter(wish.text for wish in asked))
    for each in value["questions"]:
        _check_labels(each["worst_errors"], SentQuestion(each["question"]))
        _require(each["errors_if_all_rows_count"].keys() == each["worst_errors"].keys())
    if value["fits"]:
        _require(value["refusal"] is None)
        _require(budget is None or exact(str(budget)) >= value["batch_bits"] - Fraction(SLACK))


# --- the account, the dataset, refusals -----------------------------------------------------------

CHARGE = (
    _all("id time question", text) | _all("bits added_bits", bits) | _all("answered present", truth)
)
BUDGET = {"allowance_bits": error, "daily_cap_bits": (error,), "dataset": text} | _all(
    "spent_bits remaining_bits record_bits spent_today_bits", bits
)
ABOUT = {"name": text, "rows": (whole,), "record_bits": bits, "description": text}
DATASETS = {"datasets": [text]}
MOST_ROWS = 1_000_000
"""Of a history: pages that never end are not read for ever."""
REFUSAL = {"error": {"code": text, "message": text, "hint": text}}


def page(value: Any, known: set[str], most: int) -> None:  # noqa: ANN401 - nested plain values
    """Allow a page of so many rows, none of them known from an earlier page."""
    check(value, {"rows": [CHARGE], "next": (text,)})
    names = {row["id"] for row in value["rows"]}
    _require(len(names) == len(value["rows"]) <= most and not names & known)
    _require(all(row["added_bits"] <= row["bits"] + SLACK for row in value["rows"]))
    _require(value["next"] is None or (names and len(known) < MOST_ROWS))


def repeat(value: Any, row: str, question: str | None) -> None:  # noqa: ANN401 - nested plain values
    """Allow a row of the history with its answers, which are free and may be missing."""
    check(value, CHARGE | {"answers": ([{"question": text}],)})
    _require(value["id"] == row and question in {None, value["question"]})
    _require((value["answers"] is not None) == (value["answered"] and value["present"]))
    if value["answers"] is not None:
        asked = [SentQuestion(each["question"]) for each in value["answers"]]
        _require("\n".join(wish.text for wish in asked) == value["question"])
        answers(value, asked, 0.0)


def budget(value: Any, dataset: str) -> None:  # noqa: ANN401 - nested plain values
    """Allow the balance of an account: what is spent and what is left are the allowance."""
    check(value, BUDGET)
    both = value["spent_bits"] + value["remaining_bits"] - SLACK
    _require(value["dataset"] == dataset and both <= exact(value["allowance_bits"]))


def about(value: Any, dataset: str) -> None:  # noqa: ANN401 - nested plain values
    """Allow the description of a dataset."""
    check(value, ABOUT)
    _require(value["name"] == dataset)


def schema(value: Any) -> None:  # noqa: ANN401 - a plain value
    """Allow the text of a schema."""
    text(value)
    check(parse_toml(value, what="schema")["columns"], {str: {str: anything}})


def dummy(value: Any, rows: int) -> dict[str, list[Any]]:  # noqa: ANN401 - nested plain values
    """Allow so many invented rows, and return them by column."""
    check(value, {"columns": {str: [anything]}})
    for column in value["columns"].values():
        _require(len(column) == rows and not {list, dict} & {*map(type, column)})
    return dict(value["columns"])


# --- service connection ---------------------------------------------------------------------------
# Requests to a service: over TLS, with limits and time-outs, repeated without a second charge.

UNREADABLE = (HartleyError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError)
"""What a reply of another form raises where it is read."""
JSON = "application/json"
LARGEST_REPLY = 64 * 2**20
"""Bytes of a reply that are read."""
LONGEST_PAUSE = 30.0
"""Seconds between two attempts, whatever the service says."""
TRY_AGAIN = {429, 502, 503, 504}
"""Statuses after which the same request can succeed: too many, or not ready."""
KINDS: dict[str | int, type[HartleyError]] = {
    "pending": Pending,
    400: InputError,
    401: NotPermitted,
    403: NotPermitted,
    404: InputError,
    405: InputError,
    413: InputError,
    415: InputError,
    422: OptionError,
}
"""The errors of the agent that errors of a service stand for, by code or status."""
ONE_WORD = re.compile("[!-~]+")
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class _Until(io.RawIOBase):
    """The bytes of a socket until a moment, however many pieces they come in."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self._sock, self._end = sock, end
        self._raw = sock.makefile("rb", buffering=0)

    def makefile(self, *_: object) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - as the base class has it
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _reply_until(end: float, sock: Any, *args: Any, **named: Any) -> http.client.HTTPResponse:  # noqa: ANN401 - as http.client calls it
    return http.client.HTTPResponse(_Until(sock, end), *args, **named)  # type: ignore[arg-type]  # only its makefile is used


class ServiceConnection:
    """A service at an address, and the token that is sent to it and nowhere else.

    Every request can be repeated: those that charge carry an idempotency key, and the ledger makes
    equal questions free. Redirects are not followed, since they would carry the token away.

    Args:
        url: the address, like https://hartley.example.org; a path before /v1 is kept.
        token: the token, as its owner shows it once.
        timeout: seconds to wait for one reply.
        attempts: how often a request is sent at most.
        certificates: a file of certificates to trust instead of the system's.
        insecure: whether to send the token without encryption to another machine.
        pause: waits so many seconds.
    """

    def __init__(  # noqa: PLR0913 - what a connection is made of, each by name
        self,
        url: str,
        token: str,
        *,
        timeout: float = 60.0,
        attempts: int = 5,
        certificates: str | os.PathLike[str] | None = None,
        insecure: bool = False,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        readable = isinstance(url, str) and url.isprintable() and " " not in url
        try:
            parts = urlsplit(url if readable else "")
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        known = parts.scheme in {"http", "https"} and parts.path.isascii()
        if not known or not parts.hostname:
            raise OptionError(
                "The address of the service cannot be read",
                hint="write https://host or https://host:port",
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise OptionError(
                "The address of the service holds more than host, port and path",
                hint="give the token apart from the address",
            )
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and not insecure:
            raise OptionError(
                f"The token would be sent to '{parts.hostname}' without encryption",
                hint="use https://, or allow it in a network that you trust: "
                "insecure=True, --insecure",
            )
        if not isinstance(token, str) or not ONE_WORD.fullmatch(token):
            raise OptionError(
                "The token is empty or not of the form that a service issues",
                hint="it begins with hartley_ and is one word",
            )
        for name, value, kinds in (("timeout", timeout, (int, float)), ("attempts", attempts, int)):
            right = isinstance(value, kinds) and not isinstance(value, bool)
            if not right or not 0 < value <= threading.TIMEOUT_MAX:
                raise OptionError(
                    f"{name}= is no number above 0 that can be used",
                    hint="pass seconds, as timeout=60, and a whole number, as attempts=5",
                )
        self.host, self._port, self._prefix = parts.hostname, port, parts.path.rstrip("/")
        self._token, self._timeout, self._attempts = token, timeout, attempts
        self._pause = pause
        self._context = _trusted(certificates) if parts.scheme == "https" else None
        self._own = threading.local()

    def __repr__(self) -> str:
        return f"<connection to {self.host}>"

    def get(self, *path: str, form: Any = anything, **query: object) -> Any:  # noqa: ANN401 - nested plain values
        """Return the reply to a GET, which has a form (see ``reply_forms``)."""
        chosen = {name: str(value) for name, value in query.items() if value is not None}
        words = f"?{urlencode(chosen)}" if chosen else ""
        return self._reply("GET", _path(path) + words, None, {}, form)

    def post(
        self,
        *path: str,
        body: Mapping[str, Any],
        form: Any = anything,  # noqa: ANN401 - what nested plain values can be
        key: str | None = None,
        text: str | None = None,
    ) -> Any:  # noqa: ANN401 - nested plain values
        """Return the reply to a POST; ``text`` is the question that a refusal points into."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return self._reply("POST", _path(path), json.dumps(body).encode(), headers, form, text)

    def close(self) -> None:
        """Close the connection of this thread; another request opens a new one."""
        connection = getattr(self._own, "connection", None)
        self._own.connection = None
        if connection is not None:
            connection.close()

    # --- one request, several attempts ---

    def _reply(  # noqa: PLR0913, PLR0917 - the parts of a request, and what it expects
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: dict[str, str],
        form: Any,  # noqa: ANN401 - what nested plain values can be
        text: str | None = None,
    ) -> Any:  # noqa: ANN401 - nested plain values
        for attempts_left in reversed(range(self._attempts)):
            waited = 0.1 * 2 ** (self._attempts - attempts_left - 1)
            try:
                status, reply_headers, content = self._send(method, path, body, headers)
            except ssl.SSLCertVerificationError:
                raise EngineError(
                    f"The certificate of '{self.host}' is not trusted",
                    hint="name a file with that of its authority: certificates= or --certificates",
                ) from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                # Whether the request arrived is not known; it is sent again with the same key. Who
                # waited for a reply until the end does not wait for another.
                if not attempts_left or isinstance(error, TimeoutError):
                    raise self._silent(error) from None
            else:
                if status == 200:
                    return self._checked(content, reply_headers.get_content_type(), form)
                if status not in TRY_AGAIN or not attempts_left:
                    raise self._refusal(status, content, text) from None
                waited = max(waited, _seconds(reply_headers.get("Retry-After")))
            # A little apart, so that many clients do not come back at the same moment.
            self._pause(min(waited, LONGEST_PAUSE) * random.uniform(1.0, 1.25))  # noqa: S311 - nothing secret
        raise AssertionError

    def _send(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        end = time.monotonic() + self._timeout
        connection = self._opened()
        connection.response_class = partial(_reply_until, end)  # type: ignore[assignment]  # called
        if connection.sock is not None:
            connection.sock.settimeout(self._timeout)
            with selectors.DefaultSelector() as unread:
                unread.register(connection.sock, selectors.EVENT_READ)
                if unread.select(0):  # closed, or about to reply to what was not asked
                    connection.close()
        sent = {
            "Accept": JSON,
            "Authorization": f"Bearer {self._token}",
            "User-Agent": "hartley-client",
            **({} if body is None else {"Content-Type": JSON}),
            **headers,
        }
        try:
            connection.request(method, self._prefix + path, body=body, headers=sent)
            with connection.getresponse() as response:
                content = response.read(LARGEST_REPLY + 1)
        except BaseException:
            self.close()  # half a conversation cannot be continued
            raise
        if len(content) > LARGEST_REPLY:
            self.close()
            raise EngineError(
                f"The reply of '{self.host}' is too long", hint="ask for fewer rows at once"
            )
        if response.length:  # the service ended within its reply: what came is not all of it
            self.close()
            raise http.client.IncompleteRead(content, response.length)
        return response.status, response.headers, content

    def _opened(self) -> http.client.HTTPConnection:
        """Return the connection of this thread; one from before a fork belongs to the parent."""
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None or self._own.process != os.getpid():
            if self._context is None:
                connection = http.client.HTTPConnection(
                    self.host, self._port, timeout=self._timeout
                )
            else:
                connection = http.client.HTTPSConnection(
                    self.host, self._port, timeout=self._timeout, context=self._context
                )
            self._own.connection, self._own.process = connection, os.getpid()
        return connection

    def _read(self, content: bytes, kind: str = JSON) -> Any:  # noqa: ANN401 - nested plain values
        """Read JSON or a text that does not repeat the token, which nothing may show."""
        text = content.decode()
        reply = parse_json(text, what="reply of the service") if kind == JSON else text
        # Half a character, which an escape can be, is in no text that could be shown.
        if self._token in json.dumps(reply, ensure_ascii=False).encode().decode():
            raise ValueError
        return reply

    def _checked(self, content: bytes, kind: str, form: Any) -> Any:  # noqa: ANN401 - nested plain values
        """Return a reply of the expected form; anything else is refused before it is used."""
        try:
            reply = self._read(content, kind)
            check(reply, form)
        except UNREADABLE:
            self.close()  # what follows may be the rest of it
            raise ReplyError(
                f"The reply of the service at '{self.host}' is cut off, does not fit the request "
                "or itself, or is not in the form that this version of Hartley reads",
                hint="ask again, which is free where it was charged; if it stays so, use the "
                "version of Hartley that the service runs",
            ) from None
        return reply

    def _refusal(self, status: int, content: bytes, text: str | None) -> HartleyError:
        """Return the error of the agent that an error of the service stands for."""
        try:
            reply = self._read(content)
            check(reply, REFUSAL)
        except UNREADABLE:
            self.close()
            return ReplyError(
                f"The service at '{self.host}' replies with status {status}",
                hint="check its address, and that of a proxy before it, and ask again; what was "
                "charged is not charged again",
            )
        return _error(status, reply["error"], text)

    def _silent(self, error: Exception) -> EngineError:
        return EngineError(
            f"The service at '{self.host}' does not answer ({type(error).__name__})",
            hint="check the address and ask again; what was charged is not charged again",
        )


def _trusted(certificates: str | os.PathLike[str] | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(
            cafile=None if certificates is None else os.fspath(certificates)
        )
    except (OSError, TypeError, ValueError):
        raise InputError(
            "The file of trusted certificates cannot be read", hint="name a file in PEM format"
        ) from None


def _path(parts: tuple[str, ...]) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in ("v1", *parts))


def _seconds(text: str | None) -> float:
    """Return the seconds of a Retry-After; 0 for a date or anything else."""
    return float(text) if text is not None and text.isascii() and text.isdigit() else 0.0


def _error(status: int, fields: dict[str, Any], text: str | None) -> HartleyError:
    code, message, hint = (fields[name] for name in ("code", "message", "hint"))
    if code == "stale":
        return Stale(message, hint=hint)
    if status == 409:
        requested, remaining = (
            _if(fields, f"{name}_bits", bits) for name in ("requested", "remaining")
        )
        return Refused(message, hint=hint, requested=requested, remaining=remaining)
    if code == "question":
        place = _if(fields, "place", [whole])
        if text is None or place is None or len(place) != 2:
            return Refused(message, hint=hint)
        return Refused(message, hint=hint, text=text, place=(place[0], place[1]))
    if code == "token":  # the hint of the service is for those who write requests by hand
        hint = "ask the owner of the service for a token"
    kind = KINDS.get(code) or KINDS.get(status) or EngineError
    return kind(message, hint=hint)


def _if(fields: dict[str, Any], name: str, form: Any) -> Any:  # noqa: ANN401 - plain values
    """Return a field that helps where it is of its form, and is left out otherwise."""
    try:
        check(fields.get(name), form)
    except UNREADABLE:
        return None
    return fields.get(name)
