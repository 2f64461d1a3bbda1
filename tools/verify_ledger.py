"""Check a ledger of Hartley without Hartley: one file, the standard library alone, for auditors.

Run: python -I -S verify_ledger.py ledger.jsonl [--head head.json], or hartley-verify. Each row that
'hartley ledger export' wrote is computed again from those before it: its hash, the state after it,
and every budget, in exact integers. The exit code is 0 if all of it holds, 1 if not (the first bad
row is named), and 2 if the file cannot be read.

Not checked: prices, and new schemas for the same data ('hartley ledger verify' checks both); the
answers, and texts that nothing is computed from (notes, rules, promises in words); times, but that
periods go on; without a head, whether rows were replaced with all later hashes, or last ones lost.
"""

from __future__ import annotations

import argparse
import bisect
import decimal
import hashlib
import itertools
import json
import math
import re
import sys
import tomllib
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace as Row
from typing import Any

COUNT = re.compile(r"[1-9][0-9]{0,31000}")  # floor(2^100000) has 30,103 digits
RATIONAL = re.compile(r"(0|[1-9][0-9]{0,1999})(/[1-9][0-9]{0,1999})?")
CELL_INDEX = re.compile(r"0|[1-9][0-9]*|null")
TIME = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z")
ODD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
# In the order of hashing. The account is an analyst with an allowance, or '' for the other budget.
FIELDS = (
    *("sequence", "time", "dataset", "analyst", "account", "kind", "content", "cells"),
    *("account_cells", "schema", "rules", "state", "previous", "hash"),
)
NEW, GIVEN = {"open_charge", "open_factor", "rules"}, {"account_given", "given"}
# Kind of row -> fields that its content must have, and may have. No note may name an erased person.
CONTENT: dict[str, tuple[set[str], set[str]]] = {
    "created": (NEW | {"before", "bits", "promise", "rows", "schema", "version"}, {"note"}),
    "version": (NEW | {"rows", "version"}, {"note"}),
    "erasure": (NEW | {"rows", "version"}, set()),
    "schema": (NEW | {"schema"}, {"note", "rows", "version"}),
    "budget": ({"before", "bits", "promise"}, {"note", "open_charge"}),  # the last from format 1
    "allowance": ({"analyst", "before", "bits"}, {"note"}),
    "period": ({"before", "bits", "name", "per"}, {"note"}),
    "population": ({"before", "bits", "promise"}, {"note"}),
    "migrated": ({"format", "hash", "sequence"}, set()),
    "reserve": ({"fresh", "questions", "version"}, {"note", *GIVEN, "account_parts", "parts"}),
    "commit": ({"answers", "version"}, set()),
}
TEXTS = ("analyst", "hash", "note", "open_charge", "promise", "rules", "version")


class BrokenError(Exception):
    """Raised for a ledger that does not hold."""


def require(condition: object, problem: str) -> None:
    """Raise an error that names the problem unless a condition holds."""
    if not condition:
        raise BrokenError(problem)


def canonical(value: object) -> str:
    """Write plain values as JSON in the one way that a ledger writes them."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Read JSON; raise ValueError unless it is canonical: written again, it is the same text."""
    # So nothing hides: no field named twice, NaN, 1e999 or spaces; nor numbers of > 4,300 digits.
    value = json.loads(text)
    if canonical(value) != text:
        raise ValueError
    return value


def digest(*parts: str) -> str:
    """Return the SHA-256 of texts, each preceded by its length so that none runs into the next."""
    texts = [part.encode() for part in parts]
    return hashlib.sha256(b"".join(b"%d:%b" % (len(text), text) for text in texts)).hexdigest()


def read_count(text: str) -> int:
    """Read a whole number of 1 or more, written in the one way that a ledger writes it."""
    require(COUNT.fullmatch(text), "has a charge that is not a whole number of 1 or more")
    return int(Decimal(text))  # exact; int(text) refuses more than 4,300 digits


def read_bits(text: str) -> Fraction:
    """Read a number of bits: a rational in lowest terms."""
    bits = Fraction(text) if RATIONAL.fullmatch(text) else Fraction(-1)
    require(0 <= bits <= 100_000 and str(bits) == text, "has an invalid number of bits")
    return bits


def within(product: int, bits: Fraction) -> bool:
    """Tell whether product <= floor(2^bits), exactly; for a whole number that is <= 2^bits."""
    whole = math.floor(bits)
    if bits == whole or product.bit_length() != whole + 1:
        return product <= 1 << whole
    # Now both lie between 2^whole and twice that. 2^bits is irrational, so it is not the product,
    # and enough digits of the logarithms say which is larger. Python rounds each of the results
    # below correctly to so many digits.
    digits, difference, doubt = 25, Decimal(0), Decimal(0)
    while abs(difference) <= doubt:
        digits *= 2
        with decimal.localcontext(prec=digits):
            power = Decimal(2).ln() * bits.numerator / bits.denominator
            difference, doubt = power - Decimal(product).ln(), power.scaleb(3 - digits)
    return difference > 0


def read_content(kind: str, text: str) -> dict[str, Any]:
    """Read the content of a row; raise an error for what a ledger does not write."""
    content: dict[str, Any] = parse(text)
    needed, allowed = CONTENT[kind]
    right = needed <= content.keys() <= needed | allowed
    right &= content.keys() >= GIVEN or not content.keys() & {*GIVEN, "account_parts", "parts"}
    right &= kind != "schema" or ("rows" in content) == ("version" in content)
    right &= all(type(content.get(word, "")) is str for word in TEXTS)
    right &= all(type(content.get(word, [])) is list for word in ("fresh", "questions"))
    right &= all(content.get(word, "-") for word in ("analyst", "version"))
    rows = content.get("rows")
    right &= rows is None or (type(rows) is int and rows >= 0)
    require(right, "lacks a field, or has one that a ledger does not write")
    return content


def read_terms(schema: object) -> list[str | None]:
    """Return the unit and the population that a schema names: TOML as text, or nested dicts."""
    try:
        plain = tomllib.loads(schema, parse_float=Decimal) if isinstance(schema, str) else schema
    except (ValueError, ArithmeticError, RecursionError):
        plain = None  # not recorded by an agent
    table = plain.get("table", plain) if isinstance(plain, dict) else {}
    words = [table.get(word) if type(table) is dict else None for word in ("unit", "population")]
    return [word if isinstance(word, str) and word else None for word in words]


def name_period(per: str, time: str) -> str:
    """Name the year, quarter or month of a time, as text that sorts."""
    require(TIME.fullmatch(time), "has an invalid time")
    names = {"year": time[:4], "quarter": f"{time[:4]}-Q{(int(time[5:7]) + 2) // 3}"}
    return {**names, "month": time[:7]}[per]


# {"spent": the largest product of charges}, and where the types of the public columns differ,
# {"parts": {"cuts": column -> codes at which its runs begin, "cells": the product of each type}}.
# A type is one run of every column; they are listed with the last column running fastest.
Spent = dict[str, Any]


def list_types(cuts: dict[str, Any]) -> list[dict[str, int]]:
    """Return all types: a run of every column, by its first code."""
    return [dict(zip(cuts, codes, strict=True)) for codes in itertools.product(*cuts.values())]


def number_of(spent: Spent, kind: dict[str, int]) -> int:
    """Return the product of a type."""
    parts, place = spent.get("parts", {"cuts": {}, "cells": [spent["spent"]]}), 0
    for column, starts in sorted(parts["cuts"].items()):
        place = place * len(starts) + bisect.bisect_right(starts, kind[column]) - 1
    return read_count(parts["cells"][place])


def check_parts(spent: Spent) -> dict[str, list[int]]:
    """Return the cuts, if parts have their one form: each run differs from the one before it."""
    parts = spent.get("parts", {"cuts": {}, "cells": [spent["spent"]]})
    cuts, types = parts["cuts"], list_types(parts["cuts"])
    right = {*parts} == {"cells", "cuts"} and len(parts["cells"]) == len(types)
    for column, starts in cuts.items():
        right = right and len(starts) > 1 and starts[0] == 0
        right = right and canonical(starts) == canonical(sorted({0, *map(int, starts)}))
        for start in starts[1:]:
            pairs = [(kind, {**kind, column: start - 1}) for kind in types if kind[column] == start]
            right = right and any(number_of(spent, a) != number_of(spent, b) for a, b in pairs)
    most = max(map(read_count, parts["cells"]))
    right = right and ("parts" in spent) == (len(types) > 1) and most == read_count(spent["spent"])
    require(right, "has parts that a ledger does not write")
    return cuts


def multiplied(before: Spent, price: Spent, after: Spent) -> Spent:
    """Return what a row says was spent after it, if it is the product for every public type."""
    runs: dict[str, set[int]] = {}
    for column, starts in (pair for e in (before, price, after) for pair in check_parts(e).items()):
        runs.setdefault(column, set()).update(starts)
    types = list_types(runs)
    for kind in types:
        excess = number_of(after, kind) - number_of(before, kind) * number_of(price, kind)
        # Beyond 512 types some are merged: the largest number stands for all of them.
        right = excess == 0 or (excess > 0 and len(types) > 512)
        require(right, "gives a state other than that of the rows")
    return {word: after[word] for word in ("parts", "spent") if word in after}


@dataclass
class Dataset:
    """What the rows so far say about a dataset: the state as they write it, and what was paid."""

    state: dict[str, Any]
    # The state of each allowance by analyst, and of the part of the budget outside of them ('').
    accounts: dict[str, Spent] = field(default_factory=lambda: {"": {"bits": None, "spent": "1"}})
    schema: str = ""
    rules: str = ""
    unit: str | None = None  # the column that names the person; None if one row is one person
    versions: set[str] = field(default_factory=set)
    paid: dict[str, set[str]] = field(default_factory=dict)  # question -> accounts charged for it
    answered: set[str] = field(default_factory=set)
    reserves: dict[int, str] = field(default_factory=dict)  # row about these data -> account

    @property
    def product(self) -> int:
        """What the budget bounds: charges, and the factors of open columns over all versions."""
        return read_count(self.state["open"]) * read_count(self.state["spent"])

    def charge(self, row: Row, told: dict[str, Any]) -> None:
        """Charge what a row says, check the budgets, and that the row gives this state."""
        said, account, period = parse(row.state), self.accounts[row.account], self.state["period"]
        price, own_price = (
            {"spent": cells, **({"parts": told[word]} if word in told else {})}
            for cells, word in ((row.cells, "parts"), (row.account_cells, "account_parts"))
        )
        asked = price if row.kind == "reserve" else {"spent": "1"}  # open columns are apart
        charges = [(self.state, asked, said), (account, own_price, said["account"])]
        charges += [(period, price, said["period"])] if period else []
        for place, factor, after in charges:
            product = multiplied(place, factor, after)
            place.pop("parts", None)
            place.update(product)
        budget, allotted = Fraction(self.state["budget"]), Fraction(self.state["allotted"])
        require(within(self.product, budget), "exceeds the budget of the dataset")
        require(allotted <= budget, "lets the allowances exceed the budget")
        # Open columns may use up the part that no allowance sets aside; then it takes no question.
        own = budget - allotted if account["bits"] is None else Fraction(account["bits"])
        fits = row.kind not in {"reserve", "allowance"} or within(read_count(account["spent"]), own)
        require(fits, "exceeds what its account may spend")
        if period:
            fits = within(read_count(period["spent"]), Fraction(period["bits"]))
            require(fits, "exceeds the part of its period")
        absent = {word for word in ("period", "population") if not self.state[word]}
        state = {word: self.state[word] for word in self.state.keys() - absent}
        same = row.state == canonical({**state, "account": account})
        require(same, "gives a state other than that of the rows")
        require((row.schema, row.rules) == (self.schema, self.rules), "names a schema not in force")

    def enter_period(self, row: Row, told: dict[str, Any], last: str) -> None:
        """Begin the period of a row, or set another; a clock that is set back opens none again."""
        old = new = self.state["period"]
        if old:
            require(row.time >= last, "is dated before the row before it")
            name = name_period(old["per"], row.time)
            if name > old["name"]:
                old = new = {"bits": old["bits"], "name": name, "per": old["per"], "spent": "1"}
        if row.kind == "period":
            per, before = told["per"], f"{old['bits']} per {old['per']}" if old else None
            if per is None or per != old.get("per"):
                new = {"name": name_period(per, row.time), "per": per, "spent": "1"} if per else {}
            new = {**new, "bits": str(read_bits(told["bits"]))} if per else {}
            known = {"before": before, **{word: new.get(word) for word in ("bits", "name", "per")}}
            require(told == {**told, **known}, "is wrong about its period")
        self.state["period"] = new

    def renew(self, row: Row, told: dict[str, Any]) -> None:
        """Set new data, a new schema, or both; every version pays for all of its open columns."""
        charge, factor = read_count(told["open_charge"]), read_count(told["open_factor"])
        require(charge == factor or "version" not in told, "does not charge for all open columns")
        if "schema" in told:
            # Charges are counted per unit, and a population counts all charges of its datasets.
            unit, population = read_terms(told["schema"])
            uncharged, former = self.product == 1, self.state["population"]
            require(self.unit == unit or (uncharged and "version" in told), "changes the unit")
            require(uncharged or former in {None, population}, "leaves its population")
            self.unit, self.schema = unit, digest("schema", canonical(told["schema"]))[:16]
            self.state |= {"population": population, "schema_row": row.sequence}
        if "version" in told:
            require(told["version"] not in self.versions, "names a version that was used before")
            self.versions.add(told["version"])
            self.state |= {"rows": told["rows"], "version": told["version"]}
        opened = str(Decimal(read_count(self.state["open"]) * charge))
        self.state |= {"factor": told["open_factor"], "open": opened}
        self.rules, self.reserves = told["rules"], {}  # nothing is told yet
        # The public types of new data are others: all of them begin at the largest number.
        for spent in (self.state, self.state["period"], *self.accounts.values()):
            spent.pop("parts", None)

    def reserve(self, row: Row, told: dict[str, Any]) -> None:
        """Charge for questions that the account was not charged for before."""
        name = ("question", row.dataset, self.state["version"], self.schema)
        require(told["version"] == name[2], "is about another version of the data")
        keys = [digest(*name, canonical(question)) for question in told["questions"]]
        again = any(row.account in self.paid.get(key, ()) for key in keys)
        require(keys and len({*keys}) == len(keys) and not again, "charges twice, or for nothing")
        fresh = [place for place, key in enumerate(keys) if key not in self.paid]
        right = canonical(told["fresh"]) == canonical(fresh)
        require(right, "is wrong about which questions nobody was charged for")
        require(fresh or row.cells == "1", "charges the dataset for questions that were paid for")
        # A price may rest on earlier charges about the same data, and for an account on its own
        # alone: other rows would make it too small, or show an analyst what others asked.
        own = {at: payer for at, payer in self.reserves.items() if payer == row.account}
        for word, allowed in (("given", self.reserves), ("account_given", own)):
            usable = [at for at in allowed if at in told.get(word, [])]  # in their order
            right = canonical(told.get(word, [])) == canonical(usable)
            require(right, "is priced from a row that it must not use")
        for key in keys:
            self.paid.setdefault(key, set()).add(row.account)
        self.reserves[row.sequence] = row.account
        self.rules = row.rules  # a batch may be priced by newer rules

    def commit(self, told: dict[str, Any]) -> None:
        """Answer questions that were charged for, each once."""
        require(told["answers"] and told["version"] in self.versions, "has no answer or version")
        for key, answer in told["answers"].items():
            require(key in self.paid, "answers a question that nobody was charged for")
            require(key not in self.answered, "answers a question twice")
            require(CELL_INDEX.fullmatch(answer), "holds an answer that is not a cell index")
            self.answered.add(key)


def set_bits(place: dict[str, Any], word: str, told: dict[str, Any]) -> Fraction:
    """Set a budget or an allowance, and return by how much it grows."""
    old, bits = place.get(word), read_bits(told["bits"])
    require(told["before"] == old, "is wrong about the bits before it")
    place[word] = told["bits"]
    return bits - Fraction(old or 0)


class Ledger:
    """The rows so far, and what they say."""

    def __init__(self) -> None:
        self.hashes = ["0" * 64]  # of the rows; the first stands for the row before the first
        self.time = ""  # of the last row
        self.datasets: dict[str, Dataset] = {}
        self.populations: dict[str, str] = {}  # name -> budget
        self.shared: dict[str, int] = {}  # name -> the product that this budget bounds
        self.migrated: dict[str, Any] = {}  # where the ledger ended in format 1, if it had that

    def step(self, row: Row) -> None:
        """Check one more row: first the chain, then what it says."""
        require(row.sequence == len(self.hashes), "is missing, or is not where its number says")
        require(row.previous == self.hashes[-1], "does not follow the row before it")
        texts = [str(getattr(row, name)) for name in FIELDS[:-1]]
        require(row.hash == digest("hartley ledger 2", *texts), "was changed after it was written")
        require("\0" not in "".join(texts), "holds a character that a ledger cannot store")
        told, name = read_content(row.kind, row.content), row.account
        if row.kind == "population":
            rest = (row.dataset, row.analyst, row.schema, row.rules, row.cells, row.account_cells)
            require(name and rest == ("", "", "", "", "1", "1"), "is not about a population")
            set_bits(self.populations, name, told)
            state = canonical({"budget": told["bits"], "spent": "1"})
            require(row.state == state, "gives a state other than that of the rows")
        else:
            name = self._change_dataset(row, told)
        if name is not None:
            require(name in self.populations, "is about an unknown population")
            members = [e for e in self.datasets.values() if e.state["population"] == name]
            self.shared[name] = math.prod(each.product for each in members)
            fits = within(self.shared[name], Fraction(self.populations[name]))
            require(fits, "exceeds a shared budget")
            require(len({each.unit for each in members}) < 2, "mixes units in a population")
        self.hashes.append(row.hash)
        self.time = row.time  # periods begin by it

    def _change_dataset(self, row: Row, told: dict[str, Any]) -> str | None:
        new = row.dataset not in self.datasets
        require(row.dataset and new == (row.kind == "created"), "lacks its dataset, or repeats it")
        if new:
            state: dict[str, Any] = {"allotted": "0", "factor": "1", "open": "1", "spent": "1"}
            state |= {"budget": None, "period": {}, "population": None}
            self.datasets[row.dataset] = Dataset(state)
        dataset, asks = self.datasets[row.dataset], row.kind in {"reserve", "commit"}
        dataset.enter_period(row, told, self.time)
        own = asks and row.analyst in dataset.accounts
        holder = row.analyst if own else told.get("analyst", "")
        require(row.account == holder and (asks or row.analyst == holder), "has a wrong account")
        charge = told["open_charge"] if "open_factor" in told else "1"
        stated = row.cells == row.account_cells == charge or row.kind == "reserve"
        require(stated, "charges a factor other than it states")
        if row.kind in {"created", "budget"}:
            set_bits(dataset.state, "budget", told)
        if "open_factor" in told:
            dataset.renew(row, told)
        elif row.kind == "allowance":
            account = dataset.accounts.setdefault(holder, {"bits": None, "spent": "1"})
            allotted = Fraction(dataset.state["allotted"]) + set_bits(account, "bits", told)
            dataset.state["allotted"] = str(allotted)
        elif row.kind == "reserve":
            dataset.reserve(row, told)
        elif row.kind == "commit":
            dataset.commit(told)
        elif row.kind == "migrated":
            self.migrated = told
        dataset.charge(row, told)
        population: str | None = dataset.state["population"]
        return population


def read_object(text: bytes, names: tuple[str, ...], what: str) -> dict[str, Any]:
    """Read a JSON object with these fields: two of them whole numbers, the others text."""
    try:
        plain: dict[str, Any] = parse(text.decode("ascii").removesuffix("\n"))
        types = {name: type(value) for name, value in plain.items()}
    except ODD:
        types = {}
    if types != {name: int if name in {"format", "sequence"} else str for name in names}:
        raise ValueError(f"{what} is not in the form that Hartley writes")
    return plain


def read_ledger(path: Path, head_path: Path | None) -> Ledger:
    """Check every row of an export, and that the row of a saved head is among them."""
    ledger = Ledger()
    with path.open("rb") as file:
        lines = iter(lambda: file.readline(2**28), b"")  # a longer line is refused
        end = read_object(next(lines, b""), ("format", "hash", "ledger", "sequence"), "line 1")
        if (end["ledger"], end["format"]) != ("hartley", 2):
            raise ValueError("it is not an export of a ledger of format 2")
        for number, line in enumerate(lines, 1):
            row = Row(**read_object(line, FIELDS, f"line {number + 1}"))
            try:
                ledger.step(row)
            except BrokenError as error:
                raise BrokenError(f"row {number} {error}") from None
            except ODD:
                raise BrokenError(f"row {number} is not one that a ledger writes") from None
    last = len(ledger.hashes) - 1
    same = (end["sequence"], end["hash"]) == (last, ledger.hashes[-1] if last else "")
    require(same, f"row {last} ends it, but its first line names row {end['sequence']}")
    if head_path is not None:
        with head_path.open("rb") as file:
            head = read_object(file.read(10_000), ("format", "hash", "sequence"), "the saved head")
        if head["format"] != 2 and head != ledger.migrated:
            raise ValueError("the saved head is of another format, whose rows are not in an export")
        same = dict(enumerate(ledger.hashes)).get(head["sequence"]) == head["hash"]
        same = same or head["format"] != 2
        require(same, f"row {head['sequence']} is missing, or differs from the saved head")
    return ledger


def report(ledger: Ledger) -> str:
    """Return one sentence, and a line for every budget: what was charged of it, in whole bits."""
    budgets = [(f"{name!r}", e.product, e.state["budget"]) for name, e in ledger.datasets.items()]
    for name, bits in ledger.populations.items():
        budgets.append((f"population {name!r}", ledger.shared[name], bits))
    text = f"The ledger holds: rows {len(ledger.hashes) - 1:,}, datasets {len(ledger.datasets):,}; "
    text += "prices were not computed again, which 'hartley ledger verify' does."
    for name, product, bits in budgets:
        most = (product - 1).bit_length()  # log2(product), rounded up
        text += f"\n{name}: at most {most:,} bits charged, of a budget of {bits}"
    return text.encode("ascii", "backslashreplace").decode()


def main(arguments: list[str] | None = None) -> int:
    """Check the ledger that the command line names; return the exit code."""
    parser = argparse.ArgumentParser("hartley-verify", description="Check an exported ledger.")
    parser.add_argument("export", type=Path, help="a file that 'hartley ledger export' wrote")
    parser.add_argument("--head", type=Path, help="a saved head, which must be in the ledger")
    chosen = parser.parse_args(arguments)
    try:
        code, text = 0, report(read_ledger(chosen.export, chosen.head))
    except BrokenError as error:
        code, text = 1, f"The ledger does not hold: {error}."
    except (OSError, ValueError) as error:
        code, text = 2, f"The ledger cannot be read: {error}."
    sys.stdout.write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
