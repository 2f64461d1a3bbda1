"""What the replies of a service can be: every field by its kind, checked before anything is used.

A form is a function that raises an error for a value that it does not allow, ``{name: form}`` for
these fields and perhaps more, ``{str: form}`` for any fields, ``[form]`` for a list, and
``(form,)`` for a value that may be null.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.exact import log_ratio, parse_number
from hartley.files import parse_toml

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that could steer a terminal, or turn the order of what is read."""
MOST_BITS = 2**64
EPOCH = dt.date(1970, 1, 1).toordinal()
MOST_WISHED, MOST_POINTS = 1000, 10_000
"""Bits of a price on a curve, and its prices."""


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
    _require(isinstance(value, str) and value.isascii() and value.isdigit() and int(value) > 0)


# --- answers --------------------------------------------------------------------------------------

CERTIFICATE = (
    _all("paragraph kind claim unit theorem rule certainty", text)
    | {"format": whole, "value": bits, "sound": truth, "policy_digest": (text,)}
    | {"assumptions": [text], "consequences": [{str: anything}], "parameters": {str: anything}}
)
NUMBER = _all("low high", (exact,)) | _all("may_be_null date promised", truth) | {"shown": [text]}
TABLE = {"keys": [text], "labels": [text], "rows": [{"keys": [text], "numbers": [NUMBER]}]}
ANSWER = (
    _all("question question_id", text)
    | _all("bits spent_bits open_bits remaining_bits", bits)
    | {"rows": [{str: anything}], "certificate": CERTIFICATE, "table": TABLE}
)


def answer(value: Any) -> None:  # noqa: ANN401 - nested plain values
    """Allow an answer: intervals, and the same numbers as doubles around them."""
    check(value, ANSWER)
    _require(max(value["bits"], value["open_bits"]) <= value["spent_bits"] + 1e-6)  # as rounded
    keys, labels = value["table"]["keys"], value["table"]["labels"]
    for row, plain in zip(value["table"]["rows"], value["rows"], strict=True):
        _require(len(row["keys"]) == len(keys) and plain.keys() == {*keys, *labels})
        for key in keys:  # a value of any column, which JSON has as it is
            _require(not isinstance(plain[key], (dict, list)))
            text(str(plain[key]))
        for label, number in zip(labels, row["numbers"], strict=True):
            _check_number(number, plain[label])


def _check_number(number: Any, plain: Any) -> None:  # noqa: ANN401 - nested plain values
    _require(len(number["shown"]) == 3 and plain["may_be_null"] is number["may_be_null"])
    doubles = [plain[name] for name in ("low", "value", "high", "error")]
    if number["low"] is None or number["high"] is None:
        _require(number["low"] is number["high"] and doubles == [None] * 4)
        return
    low, high = exact(number["low"]), exact(number["high"])
    _require(low <= high)
    if number["date"]:
        days = [dt.date.fromisoformat(day).toordinal() - EPOCH for day in doubles[:3]]
        first, middle, last = map(Fraction, days)
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


def answers(value: Any, texts: Sequence[str] | None, most_bits: float | None = None) -> None:  # noqa: ANN401 - nested plain values
    """Allow the answers to these questions, which cost the same and at most so many bits."""
    check(value, {"answers": [answer]})
    found = value["answers"]
    _require(found and all(each["bits"] == found[0]["bits"] for each in found))
    _require(texts is None or [each["question"] for each in found] == [*texts])
    _require(most_bits is None or found[0]["bits"] <= most_bits)


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


def quote(value: Any, texts: Sequence[str], more: Any = None) -> None:  # noqa: ANN401 - nested plain values
    """Allow the price of these questions."""
    check(value, QUOTE | (more or {}))
    _require([each["text"] for each in value["questions"]] == [*texts])
    _check_price(value)
    for question in value["questions"]:
        _check_rows(question)


def point(value: Any) -> None:  # noqa: ANN401 - nested plain values
    """Allow a price on a curve."""
    check(value, POINT)
    _check_price(value)
    _check_rows(value)
    _require(len(value["wish_bits"]) < 40 and exact(value["wish_bits"]) <= MOST_WISHED)


def _check_price(value: Any) -> None:  # noqa: ANN401 - nested plain values
    alone = log_ratio(int(value["cells"]))
    _require(math.isclose(value["bits_alone"], alone, rel_tol=1e-9, abs_tol=1e-9))


def _check_rows(value: Any) -> None:  # noqa: ANN401 - nested plain values
    check([*value["errors_if_rows_count"]], [cells])


def curve(value: Any, texts: Sequence[str]) -> None:  # noqa: ANN401 - nested plain values
    """Allow the curve of one question."""
    form = {"question": text, "text": text, "rows": whole, "complete": truth, "asked_bits": bits}
    (found,) = value["curves"]
    _require(len(found["points"]) <= MOST_POINTS)
    check(found, form | {"next_useful": (point,), "points": [point]})
    _require([found["question"]] == [*texts])


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


def plan(value: Any, texts: Sequence[str]) -> None:  # noqa: ANN401 - nested plain values
    """Allow a plan of these questions."""
    check(value, PLAN)
    named = [each["question"] for each in (*value["questions"], *value["excluded"])]
    _require(Counter(named) == Counter(texts))


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
    _require(value["next"] is None or (names and len(known) < MOST_ROWS))


def repeat(value: Any) -> None:  # noqa: ANN401 - nested plain values
    """Allow a row of the history with its answers, which may be missing."""
    check(value, CHARGE | {"answers": (anything,)})
    if value["answers"] is not None:
        answers(value, None)


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
