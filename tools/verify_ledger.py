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
Spent = dict[str, Any]  # the largest product of charges, and each type's where they differ
NOTHING: Spent = {"spent": "1"}


class BrokenError(Exception):
    """Raised for a ledger that does not hold."""


def require(condition: object, problem: str) -> None:
    """Raise an error that names the problem unless a condition holds."""
    if not condition:
        raise BrokenError(problem)


def within(product: int, bits: Fraction) -> bool:
    """Tell whether product <= floor(2^bits), exactly; for a whole number that is <= 2^bits."""
    # No float takes part: log2(product) and bits are compared by whole parts, then binary digit by
    # digit. If bits is not whole, 2^bits is irrational, so some digit differs.
    whole, part = divmod(bits, 1)
    size, precision = product.bit_length() - 1, 64  # size is the whole part of log2(product)
    if part == 0 or size != whole:
        return product <= 1 << whole
    while True:
        # low / 2^precision <= product / 2^size <= high / 2^precision, a number from 1 to 2. Its
        # square has twice the logarithm, so the next binary digit is 1 if the square is >= 2.
        low, rest = (product << precision) >> size, part
        high = low + 1
        for _ in range(precision):
            low, high, rest = low * low >> precision, (high * high >> precision) + 1, 2 * rest
            digit = low >> (precision + 1)
            if digit != high >> (precision + 1):
                break  # too far apart to know the digit
            if digit != int(rest):
                return digit < int(rest)
            low, high, rest = low >> digit, (high >> digit) + 1, rest - digit
        precision *= 2


def read_count(text: str) -> int:
    """Read a whole number of 1 or more, written in the one way that a ledger writes it."""
    require(COUNT.fullmatch(text), "has a charge that is not a whole number of 1 or more")
    return int(Decimal(text))  # exact; int(text) refuses more than 4,300 digits


def read_bits(content: dict[str, Any], before: Fraction | None) -> Fraction:
    """Return the bits that a row sets: a rational in lowest terms."""
    text, known = content["bits"], None if before is None else str(before)
    require(content["before"] == known, "is wrong about the bits before it")
    bits = Fraction(text) if RATIONAL.fullmatch(text) else Fraction(-1)
    require(0 <= bits <= 100_000 and str(bits) == text, "has an invalid number of bits")
    return bits


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


def read_content(kind: str, text: str) -> dict[str, Any]:
    """Read the content of a row; raise an error for fields that a ledger does not write."""
    content: dict[str, Any] = parse(text)
    needed, allowed = CONTENT[kind]
    complete = needed <= content.keys() <= needed | allowed
    complete &= ("given" in content) == ("account_given" in content)
    complete &= kind != "schema" or ("rows" in content) == ("version" in content)
    names = [content.get(word, "-") for word in ("analyst", "version")]
    complete &= all(type(name) is str and name for name in names)
    require(complete, "lacks a field, or has one that a ledger does not write")
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


def multiplied(before: Spent, price: Spent, after: Spent) -> Spent:
    """Return what a row says was spent after it, if it is the product for every public type."""
    runs: dict[str, set[int]] = {}  # of every public column, the codes at which runs begin
    for parts in (each["parts"] for each in (before, price, after) if "parts" in each):
        size = math.prod(map(len, parts["cuts"].values()))
        known = {*parts} == {"cells", "cuts"} and len(parts["cells"]) == size
        require(known, "has parts that a ledger does not write")
        for column, starts in parts["cuts"].items():
            require(starts[0] == 0 and starts == sorted({*starts}), "cuts a column wrongly")
            runs.setdefault(column, set()).update(starts)
    most, many = 0, math.prod(map(len, runs.values())) > 512
    for codes in itertools.product(*runs.values()):
        kind, numbers = dict(zip(runs, codes, strict=True)), []
        for each in (before, price, after):
            parts, place = each.get("parts", {"cells": [each["spent"]], "cuts": {}}), 0
            for column, starts in sorted(parts["cuts"].items()):  # the last column runs fastest
                place = place * len(starts) + bisect.bisect_right(starts, kind[column]) - 1
            numbers.append(read_count(parts["cells"][place]))
        # Beyond 512 types some are merged: the largest number stands for all of them.
        wrong = numbers[2] - numbers[0] * numbers[1]
        require(wrong == 0 or (many and wrong > 0), "gives a state other than that of the rows")
        most = max(most, numbers[2])
    require(most == read_count(after["spent"]), "gives a state other than that of the rows")
    return {word: after[word] for word in ("parts", "spent") if word in after}


def name_period(per: str, time: str) -> str:
    """Name the year, quarter or month of a time, as text that sorts."""
    require(TIME.fullmatch(time), "has an invalid time")
    names = {"year": time[:4], "quarter": f"{time[:4]}-Q{(int(time[5:7]) + 2) // 3}"}
    return {**names, "month": time[:7]}[per]


@dataclass
class Dataset:
    """What the rows so far say about a dataset."""

    budget: Fraction
    allowances: dict[str, Fraction] = field(default_factory=dict)  # by analyst
    accounts: dict[str, Spent] = field(default_factory=lambda: {"": NOTHING})  # their charges
    open: int = 1  # the product of the factors of the open columns, over all versions
    factor: int = 1  # that of the present schema
    spent: Spent = field(default_factory=lambda: NOTHING)  # the charges for questions
    period: dict[str, Any] = field(default_factory=dict)  # bits per year, quarter or month
    in_period: Spent = field(default_factory=lambda: NOTHING)  # all charges in the present one
    product: int = 1  # what the budget bounds
    version: str = ""
    rows: int | None = None
    schema: str = ""
    schema_row: int = 0
    rules: str = ""
    unit: str | None = None  # the column that names the person; None if one row is one person
    population: str | None = None  # datasets of one population share its budget
    versions: set[str] = field(default_factory=set)
    paid: dict[str, set[str]] = field(default_factory=dict)  # question -> accounts charged for it
    answered: set[str] = field(default_factory=set)
    reserves: dict[int, str] = field(default_factory=dict)  # row about these data -> account
    charges: dict[int, int] = field(default_factory=dict)  # row -> cells

    def check(self, row: Row, content: dict[str, Any]) -> None:
        """Charge what a row says, check the budgets, and that the row gives this state."""
        said, prices = parse(row.state), []
        for cells, word in ((row.cells, "parts"), (row.account_cells, "account_parts")):
            prices.append({"spent": cells} | ({"parts": content[word]} if word in content else {}))
            multiplied(NOTHING, prices[-1], prices[-1])
        asked = prices[0] if row.kind == "reserve" else NOTHING  # open columns are apart
        self.spent = multiplied(self.spent, asked, said)
        account = multiplied(self.accounts[row.account], prices[1], said["account"])
        self.accounts[row.account] = account
        if self.period:
            self.in_period = multiplied(self.in_period, prices[0], said["period"])
            part = within(read_count(self.in_period["spent"]), Fraction(self.period["bits"]))
            require(part, "exceeds the part of its period")
        self.product = self.open * read_count(self.spent["spent"])
        bits = self.allowances.get(row.account)
        allotted = sum(self.allowances.values(), Fraction(0))
        require(within(self.product, self.budget), "exceeds the budget of the dataset")
        require(allotted <= self.budget, "lets the allowances exceed the budget")
        # Open columns may use up the part that no allowance sets aside; then it takes no question.
        own = self.budget - allotted if bits is None else bits
        fits = within(read_count(account["spent"]), own) or row.kind not in {"reserve", "allowance"}
        require(fits, "exceeds what its account may spend")
        state = {
            "account": {"bits": None if bits is None else str(bits), **account},
            "allotted": str(allotted),
            "budget": str(self.budget),
            **{word: str(Decimal(getattr(self, word))) for word in ("factor", "open")},
            **self.spent,
            **({"period": self.period | self.in_period} if self.period else {}),
            **{word: getattr(self, word) for word in ("rows", "schema_row", "version")},
            **({} if self.population is None else {"population": self.population}),
        }
        require(row.state == canonical(state), "gives a state other than that of the rows")
        require((row.schema, row.rules) == (self.schema, self.rules), "names a schema not in force")

    def enter_period(self, row: Row, content: dict[str, Any], last: str) -> None:
        """Begin the period of a row, or set another; a clock that is set back opens none again."""
        if self.period:
            require(row.time >= last, "is dated before the row before it")
            name = name_period(self.period["per"], row.time)
            if name > self.period["name"]:
                self.period, self.in_period = {**self.period, "name": name}, NOTHING
        if row.kind == "period":
            old, per = self.period, content["per"]
            before = f"{old['bits']} per {old['per']}" if old else None
            if per is None or per != old.get("per"):
                self.period = {"name": name_period(per, row.time), "per": per} if per else {}
                self.in_period = NOTHING
            if self.period:
                self.period["bits"] = str(read_bits({**content, "before": None}, None))
            known = [*map(self.period.get, ("bits", "name", "per")), before]
            said = [content[word] for word in ("bits", "name", "per", "before")]
            require(said == known, "is wrong about its period")

    def renew(self, row: Row, content: dict[str, Any]) -> None:
        """Set new data, a new schema, or both; every version pays for all of its open columns."""
        charge, factor = read_count(content["open_charge"]), read_count(content["open_factor"])
        full = charge == factor or "version" not in content
        require(full, "does not charge for all open columns")
        if "schema" in content:
            # Charges are counted per unit, and a population counts all charges of its datasets.
            unit, population = read_terms(content["schema"])
            uncharged = self.product == 1
            require(self.unit == unit or (uncharged and "version" in content), "changes the unit")
            require(uncharged or self.population in {None, population}, "leaves its population")
            self.unit, self.population, self.schema_row = unit, population, row.sequence
            self.schema = digest("schema", canonical(content["schema"]))[:16]
        if "version" in content:
            self.version, self.rows = content["version"], content["rows"]
            require(self.version not in self.versions, "names a version that was used before")
            self.versions.add(self.version)
        self.factor, self.rules = factor, content["rules"]
        self.open *= charge
        self.reserves = {}  # nothing is told yet
        # The public types of new data are others: all of them begin at the largest number.
        self.spent, self.in_period = ({"spent": e["spent"]} for e in (self.spent, self.in_period))
        self.accounts = {who: {"spent": each["spent"]} for who, each in self.accounts.items()}

    def reserve(self, row: Row, content: dict[str, Any]) -> None:
        """Charge for questions that the account was not charged for before."""
        now, questions = (self.version, self.schema), content["questions"]
        require(content["version"] == self.version, "is about another version of the data")
        keys = [digest("question", row.dataset, *now, canonical(each)) for each in questions]
        again = any(row.account in self.paid.get(key, ()) for key in keys)
        require(keys and len({*keys}) == len(keys) and not again, "charges twice, or for nothing")
        fresh = [place for place, key in enumerate(keys) if key not in self.paid]
        require(content["fresh"] == fresh, "is wrong about which questions nobody was charged for")
        require(fresh or row.cells == "1", "charges the dataset for questions that were paid for")
        # A price may rest on earlier charges about the same data, and for an account on its own
        # alone: other rows would make it too small, or show an analyst what others asked.
        own = {at: payer for at, payer in self.reserves.items() if payer == row.account}
        for word, allowed in (("given", self.reserves), ("account_given", own)):
            named = content.get(word, [])
            right = all(type(at) is int and at in allowed for at in named)
            right &= named == sorted({*named})
            require(right, "is priced from a row that it must not use")
        for key in keys:
            self.paid.setdefault(key, set()).add(row.account)
        self.reserves[row.sequence] = row.account
        self.rules = row.rules  # a batch may be priced by newer rules

    def commit(self, content: dict[str, Any]) -> None:
        """Answer questions that were charged for, each once."""
        known = content["answers"] and content["version"] in self.versions
        require(known, "has no answer or version")
        for key, answer in content["answers"].items():
            require(key in self.paid, "answers a question that nobody was charged for")
            require(key not in self.answered, "answers a question twice")
            require(CELL_INDEX.fullmatch(answer), "holds an answer that is not a cell index")
            self.answered.add(key)


class Ledger:
    """The rows so far, and what they say."""

    def __init__(self) -> None:
        self.hashes = ["0" * 64]  # of the rows; the first stands for the row before the first
        self.time = ""  # of the last row
        self.datasets: dict[str, Dataset] = {}
        self.populations: dict[str, Fraction] = {}  # name -> budget
        self.shared: dict[str, int] = {}  # name -> the product that this budget bounds
        self.migrated: dict[str, Any] = {}  # where the ledger ended in format 1, if it had that

    def step(self, row: Row) -> None:
        """Check one more row: first the chain, then what it says."""
        require(row.sequence == len(self.hashes), "is missing, or is not where its number says")
        require(row.previous == self.hashes[-1], "does not follow the row before it")
        texts = [str(getattr(row, name)) for name in FIELDS[:-1]]
        require(row.hash == digest("hartley ledger 2", *texts), "was changed after it was written")
        require("\0" not in "".join(texts), "holds a character that a ledger cannot store")
        content, name = read_content(row.kind, row.content), row.account
        if row.kind == "population":
            rest = (row.dataset, row.analyst, row.schema, row.rules, row.cells, row.account_cells)
            require(name and rest == ("", "", "", "", "1", "1"), "is not about a population")
            self.populations[name] = read_bits(content, self.populations.get(name))
            state = canonical({"budget": content["bits"], "spent": "1"})
            require(row.state == state, "gives a state other than that of the rows")
        else:
            name = self._change_dataset(row, content)
        if name is not None:
            require(name in self.populations, "is about an unknown population")
            members = [each for each in self.datasets.values() if each.population == name]
            self.shared[name] = math.prod(each.product for each in members)
            require(within(self.shared[name], self.populations[name]), "exceeds a shared budget")
            require(len({each.unit for each in members}) < 2, "mixes units in a population")
        self.hashes.append(row.hash)
        self.time = row.time  # periods begin by it

    def _change_dataset(self, row: Row, content: dict[str, Any]) -> str | None:
        new = row.dataset not in self.datasets
        require(row.dataset and new == (row.kind == "created"), "lacks its dataset, or repeats it")
        if new:
            self.datasets[row.dataset] = Dataset(read_bits(content, None))
        dataset, asks = self.datasets[row.dataset], row.kind in {"reserve", "commit"}
        dataset.enter_period(row, content, self.time)
        own = asks and row.analyst in dataset.accounts
        holder = row.analyst if own else content.get("analyst", "")
        require(row.account == holder and (asks or row.analyst == holder), "has a wrong account")
        charge = content["open_charge"] if "open_factor" in content else "1"
        stated = row.cells == row.account_cells == charge or row.kind == "reserve"
        require(stated, "charges a factor other than it states")
        if row.kind == "reserve":
            dataset.reserve(row, content)
        elif row.kind == "commit":
            dataset.commit(content)
        elif row.kind == "budget":
            dataset.budget = read_bits(content, dataset.budget)
        elif row.kind == "allowance":
            dataset.allowances[holder] = read_bits(content, dataset.allowances.get(holder))
            dataset.accounts.setdefault(holder, NOTHING)
        elif row.kind == "migrated":
            self.migrated = content
        elif row.kind != "period":
            dataset.renew(row, content)
        dataset.check(row, content)
        dataset.charges[row.sequence] = read_count(row.cells)
        return dataset.population


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
        known = dict(enumerate(ledger.hashes)).get(head["sequence"])
        require(
            head["format"] != 2 or known == head["hash"],
            f"row {head['sequence']} is missing, or differs from the saved head",
        )
    return ledger


def report(ledger: Ledger) -> str:
    """Return one sentence, and a table of what was charged of every budget."""

    def bits_up(product: int) -> str:
        tries = itertools.count(100 * (product.bit_length() - 1))
        hundredths = next(each for each in tries if within(product, Fraction(each, 100)))
        return f"{hundredths // 100:,}.{hundredths % 100:02}"

    lines = [("", "rows", "bits charged", "of budget", "largest row")]
    for name, each in ledger.datasets.items():
        row = max(each.charges, key=each.charges.__getitem__)
        numbers = str(len(each.charges)), bits_up(each.product), str(each.budget)
        lines.append((ascii(name), *numbers, f"{row} ({bits_up(each.charges[row])} bits)"))
    for name, budget in ledger.populations.items():
        lines.append((f"population {name!a}", "", bits_up(ledger.shared[name]), str(budget), ""))
    text = f"The ledger holds: rows {len(ledger.hashes) - 1:,}, datasets {len(ledger.datasets):,}; "
    text += "prices were not computed again, which 'hartley ledger verify' does."
    return "\n".join([text, *("  ".join(f"{cell:>16.40}" for cell in line) for line in lines)])


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
