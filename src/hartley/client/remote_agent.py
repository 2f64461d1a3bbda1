"""The agent of a service: the verbs of ``Agent``, over HTTP."""

from __future__ import annotations

import datetime as dt
import uuid
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

from hartley.client import connection as forms
from hartley.client.connection import ServiceConnection
from hartley.client.remote_prices import RemoteCurve, RemotePlan, RemoteQuote
from hartley.client.remote_results import RemoteAnswer, RemoteBatch, RemoteCharge
from hartley.errors import InputError, OptionError
from hartley.exact import check_bits
from hartley.files import parse_toml
from hartley.text import bits_down, bits_up, counted, exactly, listed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

WISHES = ("error", "bits", "min_rows")
PAGE = 200
"""Rows of the history in one request."""


class RemoteSchema:
    """The public schema of a dataset of a service."""

    def __init__(self, connection: ServiceConnection, name: str) -> None:
        self._connection, self.name = connection, name

    @cached_property
    def _about(self) -> dict[str, Any]:
        form = partial(forms.about, dataset=self.name)
        about: dict[str, Any] = self._connection.get("datasets", self.name, form=form)
        return about

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
        return str(self._connection.get("datasets", self.name, "schema", form=forms.schema))

    def dummy_data(self, n: int = 1000, seed: int = 0) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
        """Return an Arrow table of invented rows over the schema's domain, to write queries on."""
        import pyarrow as pa

        declared = parse_toml(self.to_toml(), what="schema")["columns"]
        made = []

        def form(reply: Any) -> None:  # noqa: ANN401 - nested plain values
            columns = forms.dummy(reply, n)
            for name, fields in declared.items():
                ends = fields.get("range") or fields.get("values") or [None]
                if name in columns and isinstance(ends[0], dt.date):
                    columns[name] = [
                        None if text is None else dt.date.fromisoformat(text)
                        for text in columns[name]
                    ]
            made.append(pa.table(columns))

        self._connection.get("datasets", self.name, "dummy", form=form, rows=n, seed=seed)
        return made[0]


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
    ) -> RemoteQuote:
        """Return what questions would cost the account now; nothing is spent.

        Args:
            question: SQL, a wish, or a list of them: a batch.
            error: the largest error that the answers may have.
            bits: the price of each question, instead of an error. By default, the schema's.
            min_rows: from how many rows on averages and spreads keep the error.
            vacuous: whether to accept answers that say no more than the schema.
        """
        body = _asked(question, error, bits, min_rows, vacuous=vacuous)
        return RemoteQuote(
            self._post("price", body, partial(forms.quote_form, asked=_wishes(body)))
        )

    def ask(  # noqa: PLR0913 - each is one choice of the user's
        self,
        question: object,
        *,
        error: object = None,
        bits: object = None,
        min_rows: object = None,
        vacuous: bool = False,
        given: RemoteQuote | Sequence[str] | None = None,
        most_bits: float | None = None,
    ) -> RemoteAnswer | RemoteBatch:
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
            a ``RemoteAnswer``, or a ``RemoteBatch`` for a list.
        """
        body = _asked(question, error, bits, min_rows, vacuous=vacuous)
        if most_bits is not None:
            most_bits = check_bits(most_bits, name="most_bits=")
        if isinstance(given, RemoteQuote):
            most_bits = given.bits if most_bits is None else min(given.bits, most_bits)
            given = given.given
        if given is not None:
            body["given"] = list(given)
        if most_bits is not None:
            body["most_bits"] = most_bits
        # One key for all attempts of this call: a reply that was lost on the way is not paid twice.
        alone = "question" in body

        def form(reply: Any) -> None:  # noqa: ANN401 - nested plain values
            forms.answers({"answers": [reply]} if alone else reply, _wishes(body), most_bits)

        reply = self._post("ask", body, form, key=str(uuid.uuid4()))
        return RemoteAnswer.read(reply) if alone else _batch(reply)

    def curve(
        self,
        question: object,
        *,
        error: object = None,
        bits: object = None,
        min_rows: object = None,
        most: object = 16,
    ) -> RemoteCurve:
        """Return the prices of a question at which some error becomes smaller, up to some bits."""
        body = _asked(question, error, bits, min_rows) | {"curve": True, "most": _number(most)}
        reply = self._post("price", body, partial(forms.curve, asked=_wishes(body)))
        return RemoteCurve(reply["curves"][0])

    def plan(
        self,
        questions: Sequence[object],
        *,
        budget: object = None,
        weights: Sequence[object] | None = None,
        absolute: bool = False,
        vacuous: bool = False,
    ) -> RemotePlan:
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
        form = partial(forms.plan, asked=_wishes(body), budget=body.get("budget"))
        return RemotePlan(self._post("plan", body, form))

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
        more = {"explanation": forms.text}
        form = partial(forms.quote_form, asked=_wishes(body), more=more)
        return RemoteQuote(self._post("price", body, form)).explanation

    def _post(
        self,
        verb: str,
        body: dict[str, Any],
        form: Callable[[Any], None],
        key: str | None = None,
    ) -> Any:  # noqa: ANN401 - nested plain values
        text = body.get("question")
        path = ("datasets", self.dataset, verb)
        return self._connection.post(*path, body=body, form=form, key=key, text=text)

    # --- the account ---

    def history(self) -> list[RemoteCharge]:
        """Return every batch that the account paid for, oldest first."""
        charges: list[RemoteCharge] = []
        after: str | None = None
        path, known = ("datasets", self.dataset, "history"), set[str]()
        form = partial(forms.page, known=known, most=PAGE)
        while True:
            page = self._connection.get(*path, form=form, after=after, limit=PAGE)
            charges += map(RemoteCharge.read, page["rows"])
            known.update(charge["id"] for charge in page["rows"])
            after = page["next"]
            if after is None:
                return charges

    def answers(self, charge: RemoteCharge | str) -> RemoteBatch | None:
        """Return the answers of a row of the history again, for free; None if there are none."""
        row, question = (
            (charge.row, charge.question) if isinstance(charge, RemoteCharge) else (charge, None)
        )
        if not isinstance(row, str):
            raise OptionError(
                "answers() takes a row of the history or its name",
                hint="pass one of those of history(), as agent.answers(agent.history()[-1])",
            )
        form = partial(forms.repeat, row=row, question=question)
        reply = self._connection.get("datasets", self.dataset, "answers", row, form=form)
        return None if reply["answers"] is None else _batch(reply)

    def _budget(self) -> dict[str, Any]:
        """Return the account's balance: allowance and cap exactly, the rest in bits."""
        form = partial(forms.budget, dataset=self.dataset)
        budget = self._connection.get("datasets", self.dataset, "budget", form=form)
        exact = {"allowance_bits", "daily_cap_bits"}
        return {
            name: None if value is None else Fraction(value) if name in exact else float(value)
            for name, value in budget.items()
            if name in forms.BUDGET and name != "dataset"
        }

    def _of_budget(self, name: str) -> float:
        budget = self._budget()
        return float(budget[name])

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
            f"Paid for: {counted(len(charges), 'batch')}.",
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


def _wish(question: Any) -> str | dict[str, Any]:  # noqa: ANN401 - a text, or a wish of the agent
    """Return a question for JSON: a text, or the fields of an object like ``Wish``."""
    if isinstance(question, str):
        return question
    try:
        text, named = question.text, {name: getattr(question, name) for name in WISHES}
    except AttributeError:
        raise InputError(
            "A question is neither a text nor a wish", hint="write SQL, or a list of questions"
        ) from None
    wishes = {name: _number(value) for name, value in named.items() if value is not None}
    return {"question": str(text), **wishes} if wishes else str(text)


def _wishes(body: dict[str, Any]) -> list[forms.SentQuestion]:
    """Return the questions of a body with what was wished for, which its reply is held against."""
    common = {name: body[name] for name in WISHES if name in body}
    listed = [body] if "question" in body else body["questions"]
    found = []
    for each in listed:
        own = {"question": each} if isinstance(each, str) else each
        wish = own if own.keys() & {"error", "bits"} else common | own
        found.append(forms.SentQuestion(own["question"], *map(wish.get, WISHES)))
    return found


def _batch(reply: Any) -> RemoteBatch:  # noqa: ANN401 - nested plain values
    return RemoteBatch(tuple(map(RemoteAnswer.read, reply["answers"])))


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
encryption; hint: use https://, or allow it in a network that you trust: insecure=True, --insecure
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
        names = connection.get("datasets", form=forms.DATASETS)["datasets"]
        return RemoteAgent(connection, _chosen(dataset, names))
    except BaseException:
        connection.close()
        raise


def _chosen(dataset: str | None, names: list[str]) -> str:
    """Return the dataset to connect to: the one named, or the only one that the account sees."""
    if dataset is None and len(names) == 1:
        return names[0]
    if dataset is not None and dataset in names:
        return dataset
    problem = (
        f"The account sees {counted(len(names), 'dataset')}"
        if dataset is None
        else f"The account sees no dataset '{dataset}'"
    )
    hint = "ask an owner to grant one"
    if names:
        hint = f"choose {listed(names, joint='or')} with dataset= or --dataset"
    raise InputError(problem, hint=hint)
