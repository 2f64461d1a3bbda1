"""The agent of a service: the verbs of ``Agent``, over HTTP."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from hartley.client.connection import ServiceConnection
from hartley.errors import InputError, OptionError
from hartley.exact import check_bits, parse_number
from hartley.files import (
    as_bits,
    as_error,
    as_text,
    as_truth,
    as_whole,
    each,
    or_none,
    parse_toml,
    require,
)
from hartley.results.answer import Answer, BatchAnswer
from hartley.results.codec import SLACK
from hartley.results.plan import Plan, PriceCurve
from hartley.results.quote import Quote, Wish
from hartley.text import bits_down, bits_up, count_of, exactly, listed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Mapping, Sequence

    from hartley.results.answer import Reading

T = TypeVar("T")
WISHES = ("error", "bits", "min_rows")
PAGE = 200
"""Rows of the history in one request."""
MOST_ROWS = 1_000_000
"""Of a history: pages that never end are not read for ever."""
ADDED = re.compile(r"…?( \(\d+\))?$")
"""What a label has that its question has not: where it was cut, or which of equal ones it is."""
CHARGE: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("id", "time", "question"), as_text),
    **dict.fromkeys(("bits", "added_bits"), as_bits),
    **dict.fromkeys(("answered", "present"), as_truth),
}
BUDGET: dict[str, Callable[[Any], Any]] = {
    "allowance_bits": as_error,
    "daily_cap_bits": or_none(as_error),
    **dict.fromkeys(("spent_bits", "remaining_bits", "record_bits", "spent_today_bits"), as_bits),
}
ABOUT: dict[str, Callable[[Any], Any]] = {
    "rows": or_none(as_whole),
    "record_bits": as_bits,
    "description": as_text,
}


@dataclass(frozen=True)
class RemoteCharge:
    """One batch that the account paid for."""

    row: str
    """The name of the row, by which its answers can be seen again."""
    time: str
    question: str
    bits: float
    """Its price after the account's earlier rows, which a daily cap counts."""
    added: float
    """What it added to what the account has spent: the ``bits`` of its answer. Less than its price
    where questions about different public groups share the allowance."""
    answered: bool
    present: bool
    """Whether it is about the present version of the data."""


class RemoteSchema:
    """The public schema of a dataset of a service."""

    def __init__(self, connection: ServiceConnection, name: str) -> None:
        self._connection, self.name = connection, name

    @cached_property
    def _about(self) -> dict[str, Any]:
        def read(reply: Any) -> dict[str, Any]:  # noqa: ANN401 - nested plain values
            require(reply["name"] == self.name)
            return _fields(reply, ABOUT)

        return self._connection.get("datasets", self.name, read=read)

    @property
    def rows(self) -> int | None:
        """The public number of rows; None if it is private."""
        rows: int | None = self._about["rows"]
        return rows

    @property
    def record_bits(self) -> float:
        """The size of a record in bits."""
        return float(self._about["record_bits"])

    def describe(self) -> str:
        """Return the schema in words."""
        return str(self._about["description"])

    __str__ = describe

    def to_toml(self) -> str:
        """Return the schema as the text of a file that ``Schema.read`` reads."""
        return self._connection.get("datasets", self.name, "schema", read=_read_schema)

    def dummy_data(self, n: int = 1000, seed: int = 0) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
        """Return an Arrow table of invented rows over the schema's domain, to write queries on."""
        import pyarrow as pa

        declared = parse_toml(self.to_toml(), what="schema")["columns"]

        def read(reply: Any) -> Any:  # noqa: ANN401 - nested plain values, and a table
            columns = {as_text(name): values for name, values in reply["columns"].items()}
            for name, values in columns.items():
                require(isinstance(values, list) and len(values) == n)
                require(not {list, dict} & {*map(type, values)})
                fields = declared.get(name, {})
                ends = fields.get("range") or fields.get("values") or [None]
                if isinstance(ends[0], dt.date):
                    columns[name] = [or_none(dt.date.fromisoformat)(day) for day in values]
            return pa.table(columns)

        path = ("datasets", self.name, "dummy")
        return self._connection.get(*path, read=read, rows=n, seed=seed)


class RemoteAgent:
    """One dataset of a service, seen by one account: what ``Agent`` does, over HTTP.

    Every number of bits is of the account alone. Requests that fail are sent again with the same
    idempotency key, so that nothing is charged twice.
    """

    def __init__(self, connection: ServiceConnection, dataset: str) -> None:
        self._connection, self.dataset = connection, dataset
        self.schema = RemoteSchema(connection, dataset)

    def __repr__(self) -> str:
        return f"<dataset {self.dataset} of the service at {self._connection.host}>"

    def price(
        self,
        question: object,
        *,
        error: object = None,
        bits: object = None,
        min_rows: object = None,
        vacuous: bool = False,
    ) -> Quote:
        """Return what questions would cost the account now; nothing is spent.

        Args:
            question: SQL, a wish, or a list of them: a batch.
            error: the largest error that the answers may have.
            bits: the price of each question, instead of an error. By default, the schema's.
            min_rows: from how many rows on averages and spreads keep the error.
            vacuous: whether to accept answers that say no more than the schema.
        """
        body = _asked(question, error, bits, min_rows, vacuous=vacuous)
        return self._price(body)

    def ask(  # noqa: PLR0913 - each is one choice of the user's
        self,
        question: object,
        *,
        error: object = None,
        bits: object = None,
        min_rows: object = None,
        vacuous: bool = False,
        given: Quote | Sequence[str] | None = None,
        most_bits: float | None = None,
    ) -> Answer | BatchAnswer:
        """Answer a question, or a batch of them, if the account's allowance covers its price.

        Args:
            question: SQL, a wish, or a list of them: a batch, priced together.
            error: the largest error that the answers may have.
            bits: the price of each question, instead of an error. By default, the schema's.
            min_rows: from how many rows on averages and spreads keep the error.
            vacuous: whether to pay even for an answer that certainly says no more than the schema.
            given: a quote, which is then not exceeded: nothing is charged if more is due by now. Or
                its rows, which the price is to rest on.
            most_bits: what may be charged at most; ``Stale`` is raised if more is due by now.

        Returns:
            an ``Answer``, or a ``BatchAnswer`` for a list.
        """
        body = _asked(question, error, bits, min_rows, vacuous=vacuous)
        if most_bits is not None:
            most_bits = check_bits(most_bits, name="most_bits=")
        if isinstance(given, Quote):
            most_bits = given.bits if most_bits is None else min(given.bits, most_bits)
        if given is not None:
            body["given"] = list(given.given if isinstance(given, Quote) else given)
        if most_bits is not None:
            body["most_bits"] = most_bits
        # One key for all attempts of this call: a reply that was lost on the way is not paid twice.
        key, alone = str(uuid.uuid4()), "question" in body

        def read(reply: Any) -> BatchAnswer:  # noqa: ANN401 - nested plain values
            content = {"bits": reply["bits"], "answers": [reply]} if alone else reply
            return _read_answers(content, _wishes(body), most_bits)

        batch = self._post("ask", body, read, key=key)
        return batch[0] if alone else batch

    def curve(
        self,
        question: object,
        *,
        error: object = None,
        bits: object = None,
        min_rows: object = None,
        most: object = 16,
    ) -> PriceCurve:
        """Return the prices of a question at which some error becomes smaller, up to some bits."""
        body = _asked(question, error, bits, min_rows) | {"curve": True, "most": _number(most)}
        return self._post("price", body, partial(_read_curve, asked=_wishes(body)))

    def plan(
        self,
        questions: Sequence[object],
        *,
        budget: object = None,
        weights: Sequence[object] | None = None,
        absolute: bool = False,
        vacuous: bool = False,
    ) -> Plan:
        """Plan a workload: its price as one batch and one by one, and how to share a budget.

        Args:
            questions: SQL or wishes.
            budget: the bits that the batch may cost; shared so that the largest error is smallest.
            weights: how much the error of each question matters.
            absolute: whether to compare errors as numbers, not as shares of ranges.
            vacuous: whether to accept answers that say no more than the schema.
        """
        body = _asked(list(questions), None, None, vacuous=vacuous) | {"absolute": absolute}
        if budget is not None:
            body["budget"] = _number(budget)
        if weights is not None:
            body["weights"] = [_number(weight) for weight in weights]
        read = partial(_read_plan, asked=_wishes(body), budget=body.get("budget"))
        return self._post("plan", body, read)

    def explain(
        self,
        question: object,
        *,
        error: object = None,
        bits: object = None,
        min_rows: object = None,
    ) -> str:
        """Explain a price: its atoms and factors."""
        body = _asked(question, error, bits, min_rows, vacuous=True) | {"explain": True}
        return self._price(body).explanation

    def _price(self, body: dict[str, Any]) -> Quote:
        return self._post("price", body, partial(_read_quote, body=body))

    def _post(
        self,
        verb: str,
        body: dict[str, Any],
        read: Callable[[Any], T],
        key: str | None = None,
    ) -> T:
        text = body.get("question")
        path = ("datasets", self.dataset, verb)
        return self._connection.post(*path, body=body, read=read, key=key, text=text)

    # --- the account ---

    def history(self) -> list[RemoteCharge]:
        """Return every batch that the account paid for, oldest first."""
        charges: dict[str, RemoteCharge] = {}
        after: str | None = None

        def read(reply: Any) -> str | None:  # noqa: ANN401 - nested plain values
            page = {charge.row: charge for charge in each(_read_charge)(reply["rows"])}
            require(len(page) == len(reply["rows"]) <= PAGE and not page.keys() & charges.keys())
            charges.update(page)
            following = or_none(as_text)(reply["next"])
            require(following is None or (page and len(charges) < MOST_ROWS))
            return following

        path = ("datasets", self.dataset, "history")
        while True:
            after = self._connection.get(*path, read=read, after=after, limit=PAGE)
            if after is None:
                return list(charges.values())

    def answers(self, charge: RemoteCharge | str) -> BatchAnswer | None:
        """Return the answers of a row of the history again, for free; None if there are none."""
        row = charge.row if isinstance(charge, RemoteCharge) else charge
        if not isinstance(row, str):
            raise OptionError(
                "answers() takes a row of the history or its name",
                hint="pass one of those of history(), as agent.answers(agent.history()[-1])",
            )

        def read(reply: Any) -> BatchAnswer | None:  # noqa: ANN401 - nested plain values
            found, answers = _read_charge(reply), reply["answers"]
            require(found.row == row)
            require(isinstance(charge, str) or charge.question == found.question)
            require((answers is not None) == (found.answered and found.present))
            if answers is None:
                return None
            asked = [Wish(answer["question"]) for answer in answers]
            require("\n".join(wish.text for wish in asked) == found.question)
            return _read_answers({"bits": 0.0, "answers": answers}, asked, 0.0)

        path = ("datasets", self.dataset, "answers", row)
        return self._connection.get(*path, read=read)

    def _budget(self) -> dict[str, Any]:
        """Return the account's balance: allowance and cap exactly, the rest in bits."""

        def read(reply: Any) -> dict[str, Any]:  # noqa: ANN401 - nested plain values
            budget = _fields(reply, BUDGET)
            both = budget["spent_bits"] + budget["remaining_bits"] - SLACK
            require(reply["dataset"] == self.dataset and both <= budget["allowance_bits"])
            return budget

        return self._connection.get("datasets", self.dataset, "budget", read=read)

    def _of_budget(self, name: str) -> float:
        return float(self._budget()[name])

    @property
    def spent(self) -> float:
        """What the account has spent of its allowance, in bits."""
        return self._of_budget("spent_bits")

    @property
    def remaining(self) -> float:
        """What is left of the account's allowance, in bits."""
        return self._of_budget("remaining_bits")

    def summary(self) -> str:
        """Return a few lines about what the account may spend, has spent and asked."""
        budget, charges = self._budget(), self.history()
        allowed, cap = budget["allowance_bits"], budget["daily_cap_bits"]
        size, spent = bits_down(budget["record_bits"]), bits_up(budget["spent_bits"])
        lines = [
            (
                f"Dataset {self.dataset}: the account may spend {exactly(allowed)} of the "
                f"{size} of a record."
            ),
            f"Spent {spent}; {bits_down(budget['remaining_bits'])} left.",
            f"Paid for: {count_of(len(charges), 'batch')}.",
        ]
        if cap is not None:
            today = bits_up(budget["spent_today_bits"])
            lines.append(f"At most {exactly(cap)} bits a day; spent today: {today}.")
        return "\n".join(lines)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _asked(
    question: object,
    error: object,
    bits: object,
    min_rows: object = None,
    *,
    vacuous: bool = False,
) -> dict[str, Any]:
    """Return the body of a request: one question, or a list of them."""
    body: dict[str, Any] = {"vacuous": vacuous}
    body |= {
        name: _number(value)
        for name, value in (("error", error), ("bits", bits), ("min_rows", min_rows))
        if value is not None
    }
    if isinstance(question, (list, tuple)):
        return body | {"questions": [_wish(each) for each in question]}
    wish = _wish(question)
    return body | ({"question": wish} if isinstance(wish, str) else wish)


def _wish(question: object) -> str | dict[str, Any]:
    """Return a question for JSON: a text, or the fields of a wish."""
    if isinstance(question, str):
        return question
    if not isinstance(question, Wish):
        raise InputError(
            "A question is neither a text nor a wish", hint="write SQL, or a list of questions"
        )
    named = ((name, getattr(question, name)) for name in WISHES)
    wishes = {name: _number(value) for name, value in named if value is not None}
    return {"question": str(question.text), **wishes} if wishes else str(question.text)


def _wishes(body: Mapping[str, Any]) -> list[Wish]:
    """Return the questions of a body with what was wished for, which its reply is held against."""
    asked = [body] if "question" in body else body["questions"]
    fields = [{"question": one} if isinstance(one, str) else one for one in asked]
    wishes = [Wish(one["question"], *map(one.get, WISHES)) for one in fields]
    return [wish.or_else(*map(body.get, WISHES)) for wish in wishes]


def _number(value: object) -> int | str:
    """Return a number for JSON without rounding it: whole numbers, others as text."""
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)


def connect(  # noqa: PLR0913 - what a connection is made of, each by name
    url: str,
    *,
    token: str,
    dataset: str | None = None,
    timeout: float = 60.0,
    attempts: int = 5,
    certificates: str | os.PathLike[str] | None = None,
    insecure: bool = False,
) -> RemoteAgent:
    """Connect to a dataset of a service, which then answers like an ``Agent``.

    Needs no package beyond Hartley's own. Requests that fail are sent again, and nothing is charged
    twice. Costs one request.

    Args:
        url: the address of the service, like https://hartley.example.org.
        token: the token that an owner of the service issued.
        dataset: its name; needed if the account sees several.
        timeout: seconds to wait for one reply.
        attempts: how often a request is sent at most.
        certificates: a file of certificates to trust instead of the system's.
        insecure: whether to send the token without encryption to another machine.

    Example:
        >>> connect("http://hartley.example.org", token="hartley_1_2")
        Traceback (most recent call last):
            ...
        hartley.errors.OptionError: The token would be sent to 'hartley.example.org' without \
encryption; hint: use https://, or allow it in a network that you trust: insecure=True (--insecure)
    """
    connection = ServiceConnection(
        url,
        token,
        timeout=timeout,
        attempts=attempts,
        certificates=certificates,
        insecure=insecure,
    )
    try:
        names = connection.get("datasets", read=lambda reply: each(as_text)(reply["datasets"]))
        return RemoteAgent(connection, _chosen(dataset, names))
    except BaseException:
        connection.close()
        raise


def _chosen(dataset: str | None, names: Sequence[str]) -> str:
    """Return the dataset to connect to: the one named, or the only one that the account sees."""
    if dataset is None and len(names) == 1:
        return names[0]
    if dataset is not None and dataset in names:
        return dataset
    problem = (
        f"The account sees {count_of(len(names), 'dataset')}"
        if dataset is None
        else f"The account sees no dataset '{dataset}'"
    )
    hint = "ask an owner to grant one"
    if names:
        hint = f"choose {listed(names, joint='or')} with dataset= (--dataset)"
    raise InputError(problem, hint=hint)


# --- replies --------------------------------------------------------------------------------------
# A result that contradicts itself is no result; here each is held against what was asked.


def _fields(
    reply: Mapping[str, Any], readers: Mapping[str, Callable[[Any], Any]]
) -> dict[str, Any]:
    return {name: read(reply[name]) for name, read in readers.items()}


def _read_charge(row: Mapping[str, Any]) -> RemoteCharge:
    charge = RemoteCharge(*_fields(row, CHARGE).values())
    require(charge.added <= charge.bits + SLACK)
    return charge


def _read_schema(reply: object) -> str:
    text = as_text(reply)
    for column in parse_toml(text, what="schema")["columns"].values():
        require(isinstance(column, dict))
    return text


def _read_answers(reply: Any, asked: Sequence[Wish], most_bits: float | None) -> BatchAnswer:  # noqa: ANN401 - nested plain values
    """Read the answers to these questions, which cost the same and at most so many bits."""
    batch = BatchAnswer.from_dict(reply)
    for answer, wish in zip(batch, asked, strict=True):
        require(answer.text == wish.text)
        require(answer.certificate.parameters["questions"] == [wish.text for wish in asked])
        _check_reading(answer.reading, wish)
    require(most_bits is None or batch.bits <= most_bits)
    _check_charge(batch.bits, asked)
    return batch


def _check_reading(reading: Reading, wish: Wish) -> None:
    """Require one row, or those of a GROUP BY, and errors as they were wished for."""
    _check_labels(reading.labels, wish.text)
    require("group" in wish.text.casefold() if reading.keys else len(reading.rows) == 1)
    for estimate in (estimate for row in reading.rows for estimate in row):
        require(estimate.promised or wish.min_rows is not None)
        if wish.error is not None and estimate.promised and estimate.error is not None:
            require(estimate.error <= parse_number(wish.error, name="the error"))


def _check_labels(labels: Collection[str], question: str) -> None:
    """Require labels that are pieces of the question, cut or numbered."""
    bare = _bare(question)
    require(labels and all(_bare(ADDED.sub("", label)) in bare for label in labels))


def _bare(text: str) -> str:
    return "".join(text.replace('"', "").split())


def _check_charge(charge: float, asked: Sequence[Wish]) -> None:
    """Require a charge of at most the bits that were wished for."""
    wished = [parse_number(wish.bits, name="a price") for wish in asked if wish.bits is not None]
    require(len(wished) < len(asked) or charge <= sum(wished) + Fraction(SLACK))


def _read_quote(reply: Any, body: Mapping[str, Any]) -> Quote:  # noqa: ANN401 - nested plain values
    """Read the price of these questions, the same in numbers and in words."""
    quote, asked = Quote.from_dict(reply), _wishes(body)
    require(quote.texts == tuple(wish.text for wish in asked))
    require(reply["text"] == str(quote) and quote.affordable is not None)
    require("explanation" in reply or not body.get("explain"))
    _check_charge(quote.bits, asked)
    for errors, wish in zip(quote.errors, asked, strict=True):
        _check_labels(dict(errors), wish.text)
        if wish.error is not None and wish.min_rows is None:
            most = parse_number(wish.error, name="the error")
            require(all(error <= most for _, error in errors))
    return quote


def _read_curve(reply: Any, asked: Sequence[Wish]) -> PriceCurve:  # noqa: ANN401 - nested plain values
    """Read the curve of one question."""
    ((content,), (wish,)) = reply["curves"], asked
    curve = PriceCurve.from_dict(content)
    require(curve.text == wish.text)
    for point in curve.points:
        _check_labels(dict(point.errors), wish.text)
    return curve


def _read_plan(reply: Any, asked: Sequence[Wish], budget: object) -> Plan:  # noqa: ANN401 - nested plain values
    """Read a plan of these questions for a budget."""
    plan = Plan.from_dict(reply)
    named = [question.text for question in plan.questions]
    named += [text for text, _ in plan.excluded]
    require(Counter(named) == Counter(wish.text for wish in asked))
    for question in plan.questions:
        _check_labels(dict(question.errors), question.text)
    if plan.fits and budget is not None:
        require(plan.bits <= parse_number(budget, name="the budget") + Fraction(SLACK))
    return plan
