"""Check a ledger of Hartley without Hartley: one file, the standard library alone, for auditors.

Run: python -I -S verify_ledger.py ledger.jsonl [--head head.json], or hartley-verify. Each row of
an export is computed again from those before it: its hash, the state after it, and every budget, in
exact integers. Exit code: 0 if all holds, 1 if not (the first bad row is named), 2 if unreadable.

Not checked: prices, and new schemas for the same data ('hartley ledger verify' checks both);
answers, but that each is a cell in the range that its question names (those whose question names
none are counted); texts that nothing is computed from (notes, rules, promises in words); whether a
time is right, but that periods go on; without a head, whether rows were replaced with all later
hashes, or the last ones lost.
"""

import argparse
import hashlib
import itertools
import json
import math
import re
import sys
import tomllib
from bisect import bisect
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace as Row
from typing import Any

COUNT = re.compile(r"[1-9][0-9]{0,31000}")  # floor(2^100000) has 30,103 digits
RATIONAL = re.compile(r"(0|[1-9][0-9]{0,1999})(/[1-9][0-9]{0,1999})?")
TIME = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-[0-9]{2}T([0-9]{2}:){2}[0-9]{2}\.[0-9]{6}Z")
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
TYPES = {"answers": dict, "parts": dict, "account_parts": dict, "fresh": list, "questions": list}
TYPES |= dict.fromkeys(("hash", "note", "open_charge", "promise", "rules", "version"), str)
# {"spent": the largest product of charges}, and where the types of the public columns differ,
# {"parts": {"cuts": column -> codes at which its runs begin, "cells": the product of each type}}.
# A type is one run of every column; they are listed with the last column running fastest.
Spent = dict[str, Any]
# Write plain values as JSON in the one way that a ledger writes them.
canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


class BrokenError(ValueError):
    """Raised for a ledger that does not hold."""


def require(condition: object, problem: str) -> None:
    """Raise an error that names the problem unless a condition holds."""
    if not condition:
        raise BrokenError(problem)


def parse(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Read JSON; raise ValueError unless it is canonical: written again, it is the same text."""
    # So nothing hides: no field named twice, NaN, 1e999 or spaces; nor numbers of > 4,300 digits.
    value = json.loads(text)
    if canonical(value) != text:
        raise ValueError
    return value


def digest(*parts: str) -> str:
    """Return the SHA-256 of texts, each preceded by its length so that none runs into the next."""
    texts = map(str.encode, parts)
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


def within(product: int, bits: Fraction, digits: int = 50) -> bool:
    """Tell whether product <= floor(2^bits), exactly; for a whole number that is <= 2^bits."""
    whole = math.floor(bits)
    if bits == whole or product.bit_length() != whole + 1:
        return product <= 1 << whole
    # Now both lie between 2^whole and twice that. 2^bits is irrational, so it is not the product:
    # enough digits of the logarithms, which Python rounds correctly, say which is larger.
    with localcontext(prec=digits):
        power = Decimal(2).ln() * bits.numerator / bits.denominator
        difference = power - Decimal(product).ln()
        doubtful = abs(difference) <= power.scaleb(3 - digits)
    return within(product, bits, 2 * digits) if doubtful else difference > 0


def read_types(spent: Spent) -> tuple[dict[str, list[int]], dict[tuple[int, ...], int]]:
    """Return the cuts and the number of every type, if they are in their one form."""
    parts = spent.get("parts")
    cells, cuts = ([spent["spent"]], {}) if parts is None else (parts["cells"], parts["cuts"])
    numbers = dict(zip(itertools.product(*cuts.values()), map(read_count, cells), strict=True))
    runs = {name: sorted({0, *(abs(int(code)) for code in cuts[name])}) for name in cuts}
    right = canonical(parts) == canonical({"cells": [*cells], "cuts": runs} if cuts else None)
    right &= read_count(spent["spent"]) == max(numbers.values())
    for place, starts in enumerate(runs.values()):  # each run differs from the one before it
        slices = [[n for codes, n in numbers.items() if codes[place] == start] for start in starts]
        right &= len(starts) > 1 and all(a != b for a, b in itertools.pairwise(slices))
    require(right, "has parts that a ledger does not write")
    return cuts, numbers


def multiply(place: Spent, price: Spent, after: Spent) -> None:
    """Put in place what a row says was spent after it, if it is the product for every type."""
    factors, cuts = [read_types(spent) for spent in (after, place, price)], dict[str, set[int]]()
    for name, starts in (pair for own, _ in factors for pair in own.items()):
        cuts.setdefault(name, set()).update(starts)
    for codes in itertools.product(*cuts.values()):
        kind = dict(zip(cuts, codes, strict=True))
        new, old, factor = (
            numbers[tuple(run[bisect(run, kind[name]) - 1] for name, run in own.items())]
            for own, numbers in factors
        )
        # Beyond 512 types some are merged: the largest number stands for all of them.
        merged = new > old * factor and math.prod(map(len, cuts.values())) > 512
        require(new == old * factor or merged, "gives a wrong state")
    place.pop("parts", None)
    place.update({word: after[word] for word in ("parts", "spent") if after.get(word)})


class Dataset:
    """What the rows so far say about a dataset: the state as they write it, and what was paid."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {"allotted": "0", "open": "1", "period": {}, "spent": "1"}
        self.accounts: dict[str, Spent] = {"": {"bits": None, "spent": "1"}}  # '' has no allowance
        self.schema = self.rules = ""
        self.unit: str | None = None  # the column that names the person; None: a row is a person
        self.product = 1  # what the budget bounds: charges, and the open columns of all versions
        self.versions, self.answered = set[str](), set[str]()
        self.paid: dict[str, set[str]] = {}  # question -> accounts charged for it
        self.asked: dict[str, Any] = {}  # the same -> what was asked
        self.without_range = 0  # answers to questions that name no range
        self.reserves: dict[int, str] = {}  # row about these data -> account

    def change(self, row: Row, body: dict[str, Any], last: str) -> None:
        """Change the state by a row, and check that it is the one that the row gives."""
        asks = row.kind in {"reserve", "commit"}
        if self.state["period"] or row.kind == "period":
            self.enter_period(row, body, last)
        holder = row.analyst if asks and row.analyst in self.accounts else body.get("analyst", "")
        require(row.account == holder and (asks or row.analyst == holder), "has a wrong account")
        charge = body["open_charge"] if "open_factor" in body else "1"
        stated = row.cells == row.account_cells == charge or row.kind == "reserve"
        require(stated, "charges a factor other than it states")
        if row.kind in {"created", "budget"}:
            set_bits(self.state, "budget", body)
        if "open_factor" in body:
            self.renew(row, body)
        elif row.kind == "allowance":
            account = self.accounts.setdefault(holder, {"bits": None, "spent": "1"})
            allotted = Fraction(self.state["allotted"]) + set_bits(account, "bits", body)
            self.state["allotted"] = str(allotted)
        elif row.kind == "reserve":
            self.reserve(row, body)
        elif row.kind == "commit":
            require(body["answers"] and body["version"] in self.versions, "has no answers or data")
            for key, answer in body["answers"].items():
                require(key in self.paid, "answers a question that nobody was charged for")
                require(key not in self.answered, "answers a question twice")
                require(re.fullmatch("0|[1-9][0-9]*|null", answer), "holds no cell index")
                self.check_range(self.asked[key], answer)
                self.answered.add(key)
        stated, account, part = parse(row.state), self.accounts[row.account], self.state["period"]
        parts, account_parts = body.get("parts"), body.get("account_parts")
        asked = row.cells if row.kind == "reserve" else "1"  # open columns are counted apart
        multiply(self.state, {"spent": asked, "parts": parts}, stated)
        multiply(account, {"spent": row.account_cells, "parts": account_parts}, stated["account"])
        if part:
            multiply(part, {"spent": row.cells, "parts": parts}, stated["period"])
            require(within(read_count(part["spent"]), Fraction(part["bits"])), "exceeds its period")
        self.product = read_count(self.state["open"]) * read_count(self.state["spent"])
        budget, allotted = Fraction(self.state["budget"]), Fraction(self.state["allotted"])
        require(within(self.product, budget), "exceeds the budget of the dataset")
        require(allotted <= budget, "lets the allowances exceed the budget")
        # Open columns may use up the part that no allowance sets aside; then it takes no question.
        own = budget - allotted if account["bits"] is None else Fraction(account["bits"])
        fits = row.kind not in {"reserve", "allowance"} or within(read_count(account["spent"]), own)
        require(fits, "exceeds what its account may spend")
        # A row leaves out a period or population that there is not; its rows may be null.
        state = {word: value for word, value in self.state.items() if value or word == "rows"}
        require(row.state == canonical({**state, "account": account}), "gives a wrong state")
        require((row.schema, row.rules) == (self.schema, self.rules), "names a schema not in force")

    def check_range(self, question: Any, answer: str) -> None:  # noqa: ANN401 - any JSON value
        """Check that an answer is a cell of its question; only an order statistic is ever null."""
        if type(question) is not dict or not question.keys() >= {"range", "statistic", "step"}:
            self.without_range += 1  # no agent asked it
            return
        least, most = map(int, question["range"])
        null = question["statistic"] == "order statistic"
        inside = answer != "null" and int(answer) <= (most - least) // Fraction(question["step"])
        require(inside or (null and answer == "null"), "holds a cell outside of its range")

    def enter_period(self, row: Row, body: dict[str, Any], last: str) -> None:
        """Begin the period of a row, or set another; a clock that is set back opens none again."""
        part = self.state["period"]
        require(row.time >= last or not part, "is dated before the row before it")
        year, quarter = row.time[:4], (int(row.time[5:7]) + 2) // 3
        names = {"year": year, "quarter": f"{year}-Q{quarter}", "month": row.time[:7]}
        new = {per: {"name": name, "per": per, "spent": "1"} for per, name in names.items()}
        if part and names[part["per"]] > part["name"]:
            part = {**new[part["per"]], "bits": part["bits"]}
        if row.kind == "period":
            before = f"{part['bits']} per {part['per']}" if part else None
            per, bits = body["per"], str(read_bits(body["bits"])) if body["per"] else None
            part = {**(part if per == part.get("per") else new[per]), "bits": bits} if per else {}
            known = {"before": before, "bits": bits, "name": part.get("name"), "per": per or None}
            require(body == {**body, **known}, "is wrong about its period")
        self.state["period"] = part

    def renew(self, row: Row, body: dict[str, Any]) -> None:
        """Set new data, a new schema, or both; every version pays for all of its open columns."""
        charge, factor = read_count(body["open_charge"]), read_count(body["open_factor"])
        version = body.get("version")
        require(charge == factor or not version, "does not charge for all open columns")
        if "schema" in body:
            # Charges are counted per unit, and a population counts all charges of its datasets.
            plain: Any = body["schema"]  # TOML as text, or nested dicts
            try:
                if type(plain) is str:
                    plain = tomllib.loads(plain, parse_float=Decimal)
                table = plain.get("table", plain)
                words = [table.get("unit"), table.get("population")]
            except (ArithmeticError, AttributeError, RecursionError, ValueError):
                words = [None, None]  # not recorded by an agent
            unit, population = (word if type(word) is str and word else None for word in words)
            former = self.state.get("population")
            require(self.unit == unit or (self.product == 1 and version), "changes the unit")
            require(self.product == 1 or former in {None, population}, "leaves its population")
            self.unit, self.schema = unit, digest("schema", canonical(body["schema"]))[:16]
            self.state |= {"population": population, "schema_row": row.sequence}
        if version:
            require(version not in self.versions, "names a version that was used before")
            self.versions.add(version)
            self.state |= {"rows": body["rows"], "version": version}
        self.state["open"] = str(Decimal(read_count(self.state["open"]) * charge))
        # Of new data no answer is known, and the public types are others: all begin at the largest.
        self.state["factor"], self.rules, self.reserves = body["open_factor"], body["rules"], {}
        for spent in (self.state, self.state["period"], *self.accounts.values()):
            spent.pop("parts", None)

    def reserve(self, row: Row, body: dict[str, Any]) -> None:
        """Charge for questions that the account was not charged for before."""
        name = ("question", row.dataset, self.state["version"], self.schema)
        require(body["version"] == name[2], "is about another version of the data")
        keys = [digest(*name, canonical(question)) for question in body["questions"]]
        again = any(row.account in self.paid.get(key, ()) for key in keys)
        require(keys and len({*keys}) == len(keys) and not again, "charges twice, or for nothing")
        fresh = [place for place, key in enumerate(keys) if key not in self.paid]
        require(canonical(body["fresh"]) == canonical(fresh), "is wrong about what is new")
        require(fresh or row.cells == "1", "charges the dataset for questions that were paid for")
        # A price may rest on earlier charges about the same data, and for an account on its own
        # alone: other rows would make it too small, or show an analyst what others asked.
        own = [at for at, payer in self.reserves.items() if payer == row.account]
        for word, allowed in (("given", self.reserves), ("account_given", own)):
            named = body.get(word, [])
            usable = canonical([at for at in allowed if at in named])  # in their order
            require(canonical(named) == usable, "is priced from a row that it must not use")
        for key, question in zip(keys, body["questions"], strict=True):
            self.paid.setdefault(key, set()).add(row.account)
            self.asked[key] = question
        self.reserves[row.sequence] = row.account
        self.rules = row.rules  # a batch may be priced by newer rules


def set_bits(place: dict[str, Any], word: str, body: dict[str, Any]) -> Fraction:
    """Set a budget or an allowance, and return by how much it grows."""
    old, bits = place.get(word), read_bits(body["bits"])
    require(body["before"] == old, "is wrong about the bits before it")
    place[word] = body["bits"]
    return bits - Fraction(old or 0)


class Ledger:
    """The rows so far, and what they say."""

    def __init__(self) -> None:
        self.hashes, self.time = ["0" * 64], ""  # of all rows, and one before them; of the last
        self.datasets: dict[str, Dataset] = {}
        self.populations: dict[str, str] = {}  # name -> budget
        self.budgets: dict[str, tuple[int, str]] = {}  # in words -> what was charged, bits
        self.migrated: dict[str, Any] = {}  # where the ledger ended in format 1, if it had that

    def step(self, row: Row) -> None:
        """Check one more row: first the chain, then what it says."""
        require(row.sequence == len(self.hashes), "is missing, or is not where its number says")
        require(row.previous == self.hashes[-1], "does not follow the row before it")
        texts = [str(getattr(row, name)) for name in FIELDS[:-1]]
        require(row.hash == digest("hartley ledger 2", *texts), "was changed after it was written")
        require(TIME.fullmatch(row.time), "has an invalid time")
        require("\0" not in "".join(texts), "holds a character that a ledger cannot store")
        body, population, (needed, allowed) = parse(row.content), row.account, CONTENT[row.kind]
        names, rows = body.keys(), body.get("rows")
        right = needed <= names <= needed | allowed
        right &= names >= GIVEN or not names & {*GIVEN, "account_parts", "parts"}
        right &= row.kind != "schema" or ("rows" in names) == ("version" in names)
        right &= all(type(body.get(word, kind())) is kind for word, kind in TYPES.items())
        right &= all(body.get(word, "-") for word in ("analyst", "version"))
        right &= rows is None or (type(rows) is int and rows >= 0)
        require(right, "lacks a field, or has one that a ledger does not write")
        if row.kind == "population":
            rest = [row.dataset, row.analyst, row.schema, row.rules, row.cells, row.account_cells]
            require(population and rest == ["", "", "", "", "1", "1"], "is not about a population")
            set_bits(self.populations, population, body)
            state = {"budget": body["bits"], "spent": "1"}
            require(row.state == canonical(state), "gives a wrong state")
        else:
            new = row.dataset not in self.datasets
            require(row.dataset and new == (row.kind == "created"), "names a wrong dataset")
            dataset = self.datasets.setdefault(row.dataset, Dataset())
            dataset.change(row, body, self.time)
            self.budgets[repr(row.dataset)] = (dataset.product, dataset.state["budget"])
            population = dataset.state.get("population")
        if population is not None:
            require(population in self.populations, "is about an unknown population")
            members = [e for e in self.datasets.values() if e.state.get("population") == population]
            product, bits = math.prod(e.product for e in members), self.populations[population]
            require(within(product, Fraction(bits)), "exceeds a shared budget")
            require(len({each.unit for each in members}) < 2, "mixes units in a population")
            self.budgets[f"population {population!r}"] = (product, bits)
        self.migrated = body if row.kind == "migrated" else self.migrated
        self.hashes.append(row.hash)
        self.time = row.time  # periods begin by it


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
            except ODD as error:
                problem = error if type(error) is BrokenError else "is not one that a ledger writes"
                raise BrokenError(f"row {number} {problem}") from None
    last = len(ledger.hashes) - 1
    same = (end["sequence"], end["hash"]) == (last, ledger.hashes[-1] if last else "")
    require(same, f"row {last} ends it, but its first line names row {end['sequence']}")
    if head_path is not None:
        head = read_object(head_path.read_bytes(), ("format", "hash", "sequence"), "the saved head")
        if head["format"] != 2 and head != ledger.migrated:
            raise ValueError("the saved head is of another format, whose rows are not in an export")
        same = (head["sequence"], head["hash"]) in enumerate(ledger.hashes) or head["format"] != 2
        require(same, f"row {head['sequence']} is missing, or differs from the saved head")
    return ledger


def main(arguments: list[str] | None = None) -> int:
    """Check the ledger that the command line names; return the exit code."""
    parser = argparse.ArgumentParser("hartley-verify", description="Check an exported ledger.")
    parser.add_argument("export", type=Path, help="a file that 'hartley ledger export' wrote")
    parser.add_argument("--head", type=Path, help="a saved head, which must be in the ledger")
    chosen = parser.parse_args(arguments)
    try:
        ledger = read_ledger(chosen.export, chosen.head)
        code, rows, datasets = 0, len(ledger.hashes) - 1, len(ledger.datasets)
        text = f"The ledger holds: rows {rows:,}, datasets {datasets:,}; prices were not computed "
        text += "again, which 'hartley ledger verify' does."
        if loose := sum(each.without_range for each in ledger.datasets.values()):
            text += f"\nNot checked: answers whose question names no range, {loose:,}"
        for name, (product, bits) in ledger.budgets.items():
            most = (product - 1).bit_length()  # log2(product), rounded up
            text += f"\n{name}: at most {most:,} bits charged, of a budget of {bits}"
    except BrokenError as error:
        code, text = 1, f"The ledger does not hold: {error}."
    except (OSError, ValueError) as error:
        code, text = 2, f"The ledger cannot be read: {error}."
    sys.stdout.write(text.encode("ascii", "backslashreplace").decode() + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
