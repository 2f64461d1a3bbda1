"""The state of a dataset, and how each kind of event changes it."""

from __future__ import annotations

import json
import math
import re
import secrets
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError, Refused
from hartley.exact import (
    bits_at_least,
    bits_at_most,
    floor_power,
    multiply,
    parse_number,
    read_integer,
    write_integer,
)
from hartley.text import bits_down, bits_up, conjugate, exactly, plural
from hartley.trusted.ledger.rows import (
    LARGEST_SEQUENCE,
    STRANGE,
    canonical,
    check_name,
    schema_version,
    terms_of,
    unreadable,
)
from hartley.trusted.pricing.regions import PublicParts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.trusted.ledger.rows import Entry


# --- balances -------------------------------------------------------------------------------------
# Budgets, also by period, and what was charged of them, in exact integers.

ONE_PART = PublicParts()
"""All types of the public columns, with nothing charged."""
PERIODS = {"year": 12, "quarter": 3, "month": 1}
"""The periods that a budget can have parts for, and how many months each has."""
TIME = re.compile(r"\d{4}-(0[1-9]|1[0-2])-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


def one_part(cells: int) -> PublicParts:
    """Return one number for all types of the public columns."""
    return PublicParts((), (cells,))


def write_parts(parts: PublicParts, word: str = "parts") -> dict[str, Any]:
    """Return numbers by public type as a row stores them; nothing where all types have one."""
    if not parts.cuts:
        return {}
    cuts = {name: list(starts) for name, starts in parts.cuts}
    return {word: {"cells": [write_integer(cells) for cells in parts.cells], "cuts": cuts}}


def read_parts(plain: Mapping[str, Any]) -> PublicParts:
    """Read what ``write_parts`` wrote; raise ValueError for anything else."""
    cuts = tuple((name, tuple(starts)) for name, starts in sorted(plain["cuts"].items()))
    parts = PublicParts(cuts, tuple(map(read_integer, plain["cells"])))
    codes = [list(starts) for _, starts in cuts]
    good = all(
        starts[0] == 0 and starts == sorted({*starts}) and all(type(code) is int for code in starts)
        for starts in codes
    ) and len(parts.cells) == math.prod(map(len, codes))
    # A text or an object would be read number by number too.
    good &= plain.keys() == {"cells", "cuts"} and type(plain["cells"]) is list
    if not good or min(parts.cells) < 1 or parts != PublicParts.of(cuts, parts.cells):
        raise ValueError
    return parts


@dataclass(frozen=True)
class Population:
    """Datasets about the same people, and the budget that they share."""

    name: str
    balance: Balance
    """All charges to its datasets, including open columns, and to the population itself."""
    datasets: tuple[str, ...]

    def after(self, before: int, after: int) -> Population:
        """Return the population after a charge that changes the product of one of its datasets."""
        spent = self.balance.spent // before * after  # a product with this factor
        return replace(self, balance=replace(self.balance, spent=spent))


@dataclass(frozen=True)
class Balance:
    """The budget and the charges of a dataset, of an allowance, or of the rest of the budget."""

    bits: Fraction
    spent: int
    """The product of all charges."""
    population: Population | None = None
    """The population whose budget counts too, if datasets share one."""

    @property
    def limit(self) -> int:
        """The largest product allowed: floor(2^bits)."""
        return cells_within(self.bits)

    def holds(self, cells: int) -> bool:
        """Tell whether a further charge fits, without the cost of a division."""
        # The condition of the theorem: M times all charges times this one is at most floor(2^B),
        # in exact integers. The budget of the population must hold it too.
        wider = self.population
        return self.spent * cells <= self.limit and (wider is None or wider.balance.holds(cells))

    @property
    def left(self) -> int:
        """The largest number of cells of a further charge; 0 if nothing is left."""
        own = self.limit // self.spent
        return own if self.population is None else min(own, self.population.balance.left)

    @property
    def tightest(self) -> str:
        """Which budget is used up first, in words; empty if it is this one."""
        wider = self.population
        if wider is None or wider.balance.left >= self.limit // self.spent:
            return ""
        return f"the budget of the population '{wider.name}'"

    @property
    def spent_bits(self) -> float:
        """The bits spent, rounded up."""
        return bits_at_least(self.spent)

    @property
    def remaining(self) -> float:
        """The bits left, rounded down."""
        return bits_at_most(self.left)


@lru_cache(maxsize=1024)
def cells_within(bits: Fraction) -> int:
    """Return floor(2^bits), cached."""
    return floor_power(bits)


def promise(bits: Fraction, *, of: str = "") -> str:
    """Return the promise of a budget in words.

    Example:
        >>> from fractions import Fraction
        >>> print(promise(Fraction(4)))
        all analysts together see at most 16 different transcripts as the data of one person varies
    """
    limit = cells_within(bits)
    number = f"{limit:,}" if limit < 10**15 else f"2^{bits}"
    return (
        f"all analysts together see at most {number} different transcripts{of} as the data of one "
        "person varies"
    )


# --- periods --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Period:
    """A part of the budget for every year, quarter or month, and what was charged in this one."""

    per: str
    bits: Fraction
    name: str
    """The year, quarter or month, as text that sorts: 2027, 2027-Q1 or 2027-01."""
    parts: PublicParts = ONE_PART
    """The product of the charges in it for every type of the public columns, open ones included."""

    @property
    def balance(self) -> Balance:
        """The balance of the period."""
        return Balance(self.bits, self.parts.most)

    @property
    def words(self) -> str:
        """Name the period in a sentence."""
        return f"the {self.per} {self.name}"

    @property
    def following(self) -> str:
        """The day on which the next period begins, such as 2028-01-01."""
        year, place = int(self.name[:4]), self.name[5:].removeprefix("Q")
        month = int(place or 1) * PERIODS[self.per] + 1 if place else 13
        return f"{year + month // 13:04}-{1 if month == 13 else month:02}-01"

    def at(self, time: str) -> Period:
        """Return the period of a time; one that a clock set back would open again stays closed."""
        name = period_name(self.per, time)
        return self if name <= self.name else Period(self.per, self.bits, name)

    def charged(self, cells: PublicParts) -> Period:
        """Return the period after one more charge."""
        return replace(self, parts=self.parts.times(cells, multiply))

    def renewed(self) -> Period:
        """Return the period for new data or another schema."""
        return replace(self, parts=one_part(self.parts.most))


def period_name(per: str, time: str) -> str:
    """Name the year, quarter or month of a time.

    Example:
        >>> period_name("quarter", "2027-05-01T00:00:00.000000Z")
        '2027-Q2'
    """
    if not TIME.fullmatch(time):
        raise ValueError(time)
    if per == "quarter":
        return f"{time[:4]}-Q{(int(time[5:7]) + 2) // 3}"
    return time[:4] if per == "year" else time[:7]


def period_words(period: Period | None) -> str:
    """Say what one person can lose in the present period, and what is left of that.

    Example:
        >>> from fractions import Fraction
        >>> period_words(Period("year", Fraction(8), "2027")).split("; ")[1]
        'of those for 2027, 0 bits are spent and 8 bits left until 2028-01-01'
    """
    if period is None:
        return "the budget has no parts by period"
    spent, remaining = period.balance.spent_bits, period.balance.remaining
    return (
        f"at most {exactly(period.bits)} {plural(period.bits, 'bit')} in every {period.per}; "
        f"of those for {period.name}, {bits_up(spent)} {conjugate(spent, 'is')} spent and "
        f"{bits_down(remaining)} left until {period.following}"
    )


# --- state ----------------------------------------------------------------------------------------


MAY_SAY: Mapping[str, frozenset[str]] = {
    "created": frozenset({"bits", "open_factor", "schema", "rules", "rows", "version", "note"}),
    "version": frozenset({"rows", "open_factor", "rules", "version", "note"}),
    "erasure": frozenset({"rows", "open_factor", "version"}),  # no note: it could name the person
    "schema": frozenset(
        {"schema", "open_factor", "open_charge", "rules", "note", "rows", "version"}
    ),
    "budget": frozenset({"bits", "note"}),
    "allowance": frozenset({"analyst", "bits", "note"}),
    "period": frozenset({"bits", "per", "note"}),
    "population": frozenset({"bits", "note"}),
}
"""The fields that each kind of event may have, all of them public."""
RANDOM = re.compile(r"[0-9a-f-]{16,64}")


@dataclass(frozen=True)
class Account:
    """The allowance of an analyst, or, without bits, the part of the budget outside allowances."""

    bits: Fraction | None = None
    parts: PublicParts = ONE_PART
    """The product of its charges for every type of the public columns."""

    @property
    def spent(self) -> int:
        """The largest product: what one person lost to it at most."""
        return self.parts.most

    def charged(self, cells: PublicParts) -> Account:
        """Return the account after one more charge."""
        return replace(self, parts=self.parts.times(cells, multiply))

    def renewed(self) -> Account:
        """Return the account for new data or another schema, whose types are others."""
        return replace(self, parts=one_part(self.spent))


@dataclass(frozen=True)
class DatasetState:
    """The state of a dataset after some row."""

    budget: Fraction
    allotted: Fraction
    """The sum of the allowances."""
    open: int
    """The product of the factors of the open columns, over all versions."""
    factor: int
    """The factor of the present schema, charged again with every version."""
    parts: PublicParts
    """The product of the charges of all questions, for every type of the public columns."""
    version: str
    rows: int | None
    """The public number of rows; None if it is private."""
    schema_row: int
    """The row that holds the present schema."""
    schema: str
    rules: str
    population: str | None = None
    """The population whose budget it shares, according to its schema."""
    period: Period | None = None
    """The part of the budget for the present year, quarter or month."""

    @property
    def spent(self) -> int:
        """The largest product of charges for questions: what one person lost to them at most."""
        return self.parts.most

    @property
    def charged(self) -> bool:
        """Whether anything was ever charged, open columns included."""
        return self.open * self.spent > 1

    def after(self, cells: PublicParts, rules: str) -> DatasetState:
        """Return the state after one more charge for questions.

        Recorded even where the largest product does not rise: left out, a part could be asked about
        as long as it is not the largest, and then be larger than it says.
        """
        return replace(
            self,
            parts=self.parts.times(cells, multiply),
            period=None if self.period is None else self.period.charged(cells),
            rules=rules,
        )

    def at(self, time: str) -> DatasetState:
        """Return the state at a time, in its period."""
        return self if self.period is None else replace(self, period=self.period.at(time))

    def own(self, account: Account, then: DatasetState) -> Account:
        """Return an account as it was then, for the present data and schema."""
        same = (self.version, self.schema_row) == (then.version, then.schema_row)
        return account if same else account.renewed()

    @property
    def balance(self) -> Balance:
        """The balance of all analysts together."""
        # ``open`` is the factor M of the theorem, over all versions.
        return Balance(self.budget, self.open * self.spent)

    def balance_of(self, account: Account) -> Balance:
        """The balance of one account."""
        # Allowances are hard partitions: their bits add up to no more than the budget, so the
        # products of all accounts together stay within floor(2^B).
        return Balance(self.free if account.bits is None else account.bits, account.spent)

    @property
    def free(self) -> Fraction:
        """The part of the budget outside allowances."""
        return self.budget - self.allotted

    def written(self, account: Account) -> str:
        """Return the text of both that a row stores."""
        shared: dict[str, Any] = {} if self.population is None else {"population": self.population}
        if self.period is not None:
            shared["period"] = {
                "bits": str(self.period.bits),
                "name": self.period.name,
                "per": self.period.per,
                "spent": write_integer(self.period.parts.most),
                **write_parts(self.period.parts),
            }
        return canonical(
            {
                **shared,
                **write_parts(self.parts),
                "account": {
                    "bits": None if account.bits is None else str(account.bits),
                    "spent": write_integer(account.spent),
                    **write_parts(account.parts),
                },
                "allotted": str(self.allotted),
                "budget": str(self.budget),
                "factor": write_integer(self.factor),
                "open": write_integer(self.open),
                "rows": self.rows,
                "schema_row": self.schema_row,
                "spent": write_integer(self.spent),
                "version": self.version,
            }
        )


@lru_cache(maxsize=64)
def _read_state(text: str, schema: str, rules: str) -> tuple[DatasetState, Account]:
    """Read the text of a state; cached, since the last row of a dataset is read often."""
    plain = json.loads(text)
    bits = plain["account"]["bits"]
    account = Account(None if bits is None else Fraction(bits), _spent(plain["account"]))
    period = plain.get("period")
    state = DatasetState(
        budget=Fraction(plain["budget"]),
        allotted=Fraction(plain["allotted"]),
        open=read_integer(plain["open"]),
        factor=read_integer(plain["factor"]),
        parts=_spent(plain),
        version=plain["version"],
        rows=plain["rows"],
        schema_row=plain["schema_row"],
        schema=schema,
        rules=rules,
        population=plain.get("population"),
        period=None
        if period is None
        else Period(period["per"], Fraction(period["bits"]), period["name"], _spent(period)),
    )
    return state, account


def read_state(entry: Entry) -> tuple[DatasetState, Account]:
    """Read the state of the dataset and the account after a row."""
    try:
        state, account = _read_state(entry.state, entry.schema, entry.rules)
    except STRANGE:
        raise unreadable(entry) from None
    if type(state.schema_row) is not int or not 0 < state.schema_row <= LARGEST_SEQUENCE:
        raise unreadable(entry)
    return state, account


def _spent(plain: Mapping[str, Any]) -> PublicParts:
    spent = read_integer(plain["spent"])
    parts = read_parts(plain["parts"]) if "parts" in plain else one_part(spent)
    if parts.most != spent:
        raise ValueError
    return parts


# --- events -------------------------------------------------------------------------------------


def normalize_event(
    kind: str,
    content: Mapping[str, Any],
    state: DatasetState | None,
    account: Account | None,
    time: str = "",
) -> dict[str, Any]:
    """Return an event in the form that the ledger stores: checked, complete, numbers as text.

    A version that is not given is drawn at random; raising a budget shows the new promise.
    """
    # Events are public. Only known fields are stored, so nothing private can get in.
    check_words(kind, content)
    settled: dict[str, Any] = {name: str(content[name]) for name in ("note",) if name in content}
    if kind == "period":
        assert state is not None  # the event follows the creation
        return settled | _settle_period(content, state, time)
    if kind in {"created", "schema"}:
        settled["schema"] = required_field(content, "schema", kind)
    # A schema with a version is for new data: both are charged in one row.
    if kind in {"created", "version", "erasure"} or (kind == "schema" and "version" in content):
        settled["rows"] = _rows(content.get("rows"))
        settled["version"] = _version(content.get("version"))
    if kind in {"created", "version", "erasure", "schema"}:
        factor = _factor(content.get("open_factor", 1 if state is None else state.factor))
        settled["open_factor"] = write_integer(factor)
        settled["open_charge"] = write_integer(_factor(content.get("open_charge", factor)))
        rules = content.get("rules", "1" if state is None else state.rules)
        settled["rules"] = check_name(str(rules), what="pricing rules")
    if kind in {"created", "budget", "allowance"}:
        bits = parse_number(required_field(content, "bits", kind), name="the number of bits")
        settled["bits"] = str(bits)
        cells_within(bits)  # refuses what is out of reach
        if kind == "allowance":
            settled["analyst"] = check_name(content.get("analyst"), what="analyst")
            settled["before"] = str(account.bits) if account and account.bits is not None else None
        else:
            settled["before"] = None if state is None else str(state.budget)
            settled["promise"] = promise(bits)
    return settled


def _settle_period(content: Mapping[str, Any], state: DatasetState, time: str) -> dict[str, Any]:
    """Return what a period may lose, or that there are no periods any more."""
    per, before = required_field(content, "per", "period"), state.period
    settled: dict[str, Any] = {
        "before": None if before is None else f"{before.bits} per {before.per}"
    }
    if per is None:
        return settled | {"bits": None, "name": None, "per": None}
    if per not in PERIODS:
        raise OptionError(
            f"There is no period '{per}'", hint=f"give one of {', '.join(PERIODS)}, or None"
        )
    bits = parse_number(required_field(content, "bits", "period"), name="the number of bits")
    cells_within(bits)  # refuses what is out of reach
    same = before is not None and before.per == per
    name = before.name if before is not None and same else period_name(per, time)
    return settled | {"bits": str(bits), "name": name, "per": per}


def check_words(kind: str, content: Mapping[str, Any]) -> None:
    """Raise an error for fields that an event of a kind does not have."""
    strange = sorted(set(map(str, content)) - MAY_SAY[kind])
    if strange:
        raise OptionError(
            f"An event of the kind {kind} has no field '{strange[0]}'",
            hint=f"its fields are {', '.join(sorted(MAY_SAY[kind]))}",
        )


def after_event(
    state: DatasetState | None, account: Account, kind: str, settled: Mapping[str, Any], row: int
) -> tuple[DatasetState, Account]:
    """Return the state of a dataset and an account after an event in a row of the ledger."""
    ends = kind == "period" and settled["per"] is None
    bits = Fraction(settled["bits"]) if "bits" in settled and not ends else Fraction(0)
    if state is None:
        state = DatasetState(bits, Fraction(0), 1, 1, ONE_PART, "", None, row, "", "")
    elif kind == "migrated":
        return state, account
    elif kind == "period":
        period = None
        if settled["per"] is not None:
            period = Period(settled["per"], bits, settled["name"])
            if state.period is not None and state.period.per == period.per:
                period = replace(state.period, bits=bits)
        return replace(state, period=period), account
    elif kind == "budget":
        return replace(state, budget=bits), account
    if kind == "allowance":
        allotted = state.allotted - (account.bits or 0) + bits
        return replace(state, allotted=allotted), replace(account, bits=bits)
    # Every version of the data has open columns of its own to pay for: the factors multiply.
    charge = read_integer(settled["open_charge"])
    state = replace(
        state,
        open=multiply(state.open, charge),
        factor=read_integer(settled["open_factor"]),
        rules=settled["rules"],
        # The types of other data, or under another schema, are others: all begin at the largest.
        parts=one_part(state.spent),
        period=None if state.period is None else state.period.renewed().charged(one_part(charge)),
    )
    if "version" in settled:
        state = replace(state, version=settled["version"], rows=settled["rows"])
    if "schema" in settled:
        version = schema_version(settled["schema"])
        population = terms_of(settled["schema"]).population
        state = replace(state, schema=version, schema_row=row, population=population)
    # The account of an event that charges open columns is the one that no allowance sets aside.
    return state, account.renewed().charged(one_part(charge))


def problem_after(state: DatasetState, account: Account, kind: str) -> str | None:
    """Return which promise an event breaks, if any."""
    if not state.balance.holds(1):
        return "the charges so far exceed the budget"
    if state.allotted > state.budget:
        return "the allowances together exceed the budget"
    if state.period is not None and not state.period.balance.holds(1):
        return f"the charges in {state.period.words} exceed its part of the budget"
    if kind == "allowance" and not state.balance_of(account).holds(1):
        return "the analyst has already spent more than the allowance"
    return None


def check_event(
    before: DatasetState | None, state: DatasetState, account: Account, kind: str
) -> None:
    """Raise an error if a promise would not hold after an event."""
    problem = problem_after(state, account, kind)
    if problem is None:
        return
    if kind in {"budget", "allowance", "period"}:
        hint = "give more bits"
        if state.balance.holds(1) and state.allotted > state.budget:
            hint = "give more bits, or lower the allowances first"
            if kind == "allowance":
                hint = "give fewer bits, or raise the budget first"
        raise OptionError(f"The {kind} cannot be set: {problem}", hint=hint)
    charge = state.open // (1 if before is None else before.open)
    limit = "budget"
    if state.period is not None and state.balance.holds(1):
        limit = f"part of {state.period.words}"
    raise Refused(
        f"The open columns cost {bits_up(bits_at_least(charge))}: {problem}",
        hint=f"raise the {limit} first, or open fewer columns",
        requested=bits_at_least(charge),
        remaining=None if before is None else before.balance.remaining,
    )


# --- fields of an event --------------------------------------------------------------------------


def required_field(content: Mapping[str, Any], name: str, kind: str) -> Any:  # noqa: ANN401 - any plain value
    """Return a field that an event must have."""
    if name not in content:
        raise OptionError(
            f"An event of the kind {kind} lacks '{name}'",
            hint=f"its fields are {', '.join(sorted(MAY_SAY[kind]))}",
        )
    return content[name]


def _version(version: object) -> str:
    """Return a random name; a given name must be random too, which only its form can show.

    It is public. From a name computed from the data, somebody who knows all rows but one could
    find that row.
    """
    if version is None:
        return secrets.token_hex(8)
    if isinstance(version, str) and RANDOM.fullmatch(version):
        return version
    raise OptionError(
        "The version of the data is not a random name",
        hint="leave it out, or give secrets.token_hex(8); never compute it from the data",
    )


def _rows(rows: object) -> int | None:
    if rows is None or (isinstance(rows, int) and not isinstance(rows, bool) and rows >= 0):
        return rows
    raise OptionError(
        "The number of rows is not a whole number",
        hint="give the public number of rows, or None if it is private",
    )


def _factor(factor: object) -> int:
    if isinstance(factor, str) and factor.isascii() and factor.isdigit():
        return _factor(read_integer(factor.lstrip("0") or "0"))
    if isinstance(factor, int) and not isinstance(factor, bool) and factor >= 1:
        return factor
    raise OptionError(
        "The factor of the open columns is not a whole number of 1 or more",
        hint="give the number of values that one person's open columns can have; 1 if none is open",
    )


# --- contents -------------------------------------------------------------------------------------
# What the content of a row may hold: the fields of its kind, each in one form, and nothing else.
#
# ``tools/verify_ledger.py`` has rules of its own; a test compares the two on forged rows.

_OPENED = frozenset({"open_charge", "open_factor", "rules"})
_GIVEN = frozenset({"account_given", "given"})
_PARTS = frozenset({"account_parts", "parts"})
_NOTE = frozenset({"note"})
CONTENT: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "created": (_OPENED | {"before", "bits", "promise", "rows", "schema", "version"}, _NOTE),
    "version": (_OPENED | {"rows", "version"}, _NOTE),
    "erasure": (_OPENED | {"rows", "version"}, frozenset()),  # a note could name the person
    "schema": (_OPENED | {"schema"}, _NOTE | {"rows", "version"}),
    # The charge is in rows that were brought from format 1.
    "budget": (frozenset({"before", "bits", "promise"}), _NOTE | {"open_charge"}),
    "allowance": (frozenset({"analyst", "before", "bits"}), _NOTE),
    "period": (frozenset({"before", "bits", "name", "per"}), _NOTE),
    "population": (frozenset({"before", "bits", "promise"}), _NOTE),
    "migrated": (frozenset({"format", "hash", "sequence"}), frozenset()),
    "reserve": (frozenset({"fresh", "questions", "version"}), _NOTE | _GIVEN | _PARTS),
    "commit": (frozenset({"answers", "version"}), frozenset()),
}
"""The fields that the content of each kind of row must have, and those that it may have."""
FORMS: Mapping[str, type] = {
    **dict.fromkeys(("analyst", "hash", "note", "open_charge", "promise", "rules", "version"), str),
    **dict.fromkeys(("account_given", "fresh", "given", "questions"), list),
    "answers": dict,
}
"""The fields that are texts, lists and objects."""


def check_content(kind: str, content: Mapping[str, Any]) -> None:
    """Raise ValueError for a content that no ledger writes."""
    needed, allowed = CONTENT[kind]
    names = content.keys()
    rows = content.get("rows")
    if not (
        needed <= names <= needed | allowed
        # A price names rows for the dataset and for the account, or for neither.
        and (names >= _GIVEN or not names & (_GIVEN | _PARTS))
        and (kind != "schema" or ("rows" in names) == ("version" in names))
        and all(type(content[name]) is form for name, form in FORMS.items() if name in names)
        and all(content.get(name, "-") for name in ("analyst", "version"))
        and (rows is None or (type(rows) is int and rows >= 0))
    ):
        raise ValueError(kind)


def check_bits(content: Mapping[str, Any], before: Fraction | None) -> None:
    """Raise ValueError unless a row spells its bits, and the bits before it, as a ledger does."""
    bits = parse_number(content["bits"], name="the number of bits")
    cells_within(bits)  # refuses what is out of reach
    known = None if before is None else str(before)
    if str(bits) != content["bits"] or content["before"] != known:
        raise ValueError(content["bits"])


def charged_parts(content: Mapping[str, Any], word: str, cells: int) -> PublicParts:
    """Return what a row charges every type of the public columns; its cells are the largest."""
    if word not in content:
        return one_part(cells)
    parts = read_parts(content[word])
    if parts.most != cells or not parts.cuts:
        raise ValueError(word)
    return parts


def charges_open(content: Mapping[str, Any]) -> bool:
    """Whether an event charges its open columns: new data all of them, a factor of 0 never."""
    if "open_charge" not in content:
        return True
    charge = read_integer(content["open_charge"])
    factor = read_integer(content.get("open_factor", content["open_charge"]))  # in old formats
    return charge == factor >= 1 if "version" in content else min(charge, factor) >= 1
