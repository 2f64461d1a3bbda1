"""Ledgers that show all that can happen, forged rows, and what the two verifiers say about them."""

import importlib.util
import json
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from hartley.agent.replay import replay
from hartley.trusted.ledger.charging import BatchPrices, RowPrice
from hartley.trusted.ledger.rows import BEFORE_THE_FIRST, FIELDS, canonical
from hartley.trusted.ledger.state import Account, after_event, promise
from hartley.trusted.pricing.regions import PublicParts

ROOT = Path(__file__).parents[4]
TOOL = ROOT / "tools" / "verify_ledger.py"
RECORDED = ROOT / "tests" / "fixtures" / "v0_1_0" / "ledger"


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


tool = load("hartley_verify", TOOL)


# --- ledgers that the package writes --------------------------------------------------------------


class Priced(BatchPrices):
    """Prices that name earlier rows, as those of version 2 of the rules do."""

    by_holder = True

    def __init__(self, cells, given=(), own=()):
        super().__init__()
        self._cells, self._given, self._own = cells, given, own

    def compute(self, indices, holder):
        return RowPrice(self._cells * len(indices), self._given if holder is None else self._own)


class ByType(BatchPrices):
    """Prices by the code of one public column, the same for everybody; they may name rows."""

    by_holder = True

    def __init__(self, *cells, column="region", given=()):
        super().__init__()
        self._parts = PublicParts.of(((column, tuple(range(len(cells)))),), cells)
        self._given = given

    def compute(self, indices, holder):  # noqa: ARG002 - the same for everybody
        return RowPrice(self._parts.most, self._given, self._parts)


def q(*keys):
    """Write down questions: q(1, 2)."""
    return [{"q": key} for key in keys]


def forbidden(_):
    """Return no price, since it must not be asked for."""
    raise AssertionError("the price was asked for")


def ask(ledger, dataset, who, keys, price=2, **more):
    answers = more.pop("answers", True)
    pays = price if isinstance(price, BatchPrices) else lambda new: price * len(new)
    paid = ledger.reserve(dataset, who, q(*keys), pays, **more)
    if answers:
        ledger.commit(paid, [str(key) if key % 3 else None for key in keys])
    return paid


VISITS = '[table]\nname = "visits"\nunit = "person"\npopulation = "town"\nmax_rows = 90\n'
DRUGS = {"table": {"name": "drugs", "unit": "person", "population": "town"}}


def write_rich(ledger):
    """Let everything happen: populations, allowances, versions, schemas, budgets, prices."""
    ledger.record("town", "population", {"bits": "61/2", "note": "one town"})
    ledger.record("empty", "population", {"bits": 0})
    ledger.record("visits", "created", {"bits": "41/3", "schema": VISITS, "open_factor": 2})
    ledger.record("drugs", "created", {"bits": 12, "schema": DRUGS, "rows": 40, "note": "new"})
    ledger.record("other", "created", {"bits": 6, "schema": {"name": "other"}, "rows": 7})
    ledger.record("visits", "allowance", {"analyst": "ann", "bits": "9/2"})
    ledger.record("visits", "allowance", {"analyst": "bob", "bits": 4, "note": "for May"})
    ask(ledger, "visits", "ann", [1, 2], note="SELECT 1")
    ask(ledger, "visits", "bob", [2, 3])  # one of them was paid for by another account
    ask(ledger, "visits", "bob", [1, 3])  # nothing is new to the dataset
    first = ask(ledger, "visits", "eve", [3], Priced(2), rules="2").sequence
    prices = Priced(2, (first,), (first,))
    second = ask(ledger, "visits", None, [5], prices, rules="2").sequence
    ask(ledger, "visits", "ann", [6], Priced(1, (first, second), ()), rules="2")
    ask(ledger, "drugs", "ann", [1], 3)
    waiting = ask(ledger, "drugs", "ann", [2], 1, answers=False)
    ledger.record("drugs", "version", {"rows": 41, "open_factor": 2})
    ledger.commit(waiting, ["4"])  # about the version before
    ask(ledger, "drugs", None, [1], 2, answers=False)
    ledger.record("visits", "budget", {"bits": 17})
    ledger.record("town", "population", {"bits": 40})
    ledger.record("visits", "schema", {"schema": f"{VISITS}default_bits = 2\n", "open_charge": 1})
    ask(ledger, "visits", "ann", [1], 1)
    ledger.record("drugs", "erasure", {"rows": 40})
    more = {"schema": {**DRUGS, "more": [1, 2.5, None]}, "rows": 50, "version": "ab" * 8}
    ledger.record("drugs", "schema", {**more, "open_factor": 3})
    ledger.record("visits", "allowance", {"analyst": "ann", "bits": 5})
    joins = {"schema": {"name": "other", "population": "empty"}, "rows": 8}
    ledger.record("other", "schema", {**joins, "version": "cd" * 8})
    ledger.record("other", "budget", {"bits": 0, "note": ""})
    ledger.record("visits", "period", {"per": "year", "bits": "7/2"})
    ask(ledger, "visits", "ann", [7], 2)
    ledger.record("visits", "period", {"per": "month", "bits": 2, "note": "fewer"})


def exported(path, entries, **end):
    """Write rows as an export does."""
    last = entries[-1] if entries else None
    named = {"sequence": last.sequence if last else 0, "hash": last.hash if last else ""}
    lines = [{"ledger": "hartley", "format": 2, **named, **end}]
    lines += [dict(zip(FIELDS, entry.fields, strict=True)) for entry in entries]
    path.write_text("".join(canonical(line) + "\n" for line in lines))
    return path


# --- forged rows ----------------------------------------------------------------------------------


def rechained(entries):
    """Number the rows and compute their hashes again."""
    rows = []
    for number, entry in enumerate(entries, 1):
        previous = rows[-1].hash if rows else BEFORE_THE_FIRST
        row = replace(entry, sequence=number, previous=previous)
        rows.append(replace(row, hash=row.expected_hash))
    return rows


def forged(entry, *, content=None, state=None, **fields):
    """Change some values of a row's content and state."""
    new_state = json.loads(entry.state)
    for path, value in (state or {}).items():
        (new_state["account"] if path == "account spent" else new_state)[path.split()[-1]] = value
    text = canonical({**entry.told, **(content or {})})
    return replace(entry, content=text, state=canonical(new_state), **fields)


def restated(entries):
    """Give every row the state, the schema and the words that follow from the rows before it."""
    states, accounts, funds, rows = {}, {}, {}, []
    for number, entry in enumerate(entries, 1):
        content, key = dict(entry.told), (entry.dataset, entry.account)
        state, account = states.get(entry.dataset), accounts.get(key, Account())
        if entry.kind == "population":
            before, bits = funds.get(entry.account), Fraction(content["bits"])
            content["before"] = None if before is None else str(before)
            content["promise"] = promise(bits, of=" of all its datasets together")
            funds[entry.account] = bits
            state, names = canonical({"budget": content["bits"], "spent": "1"}), ("", "")
        else:
            if entry.kind in {"created", "budget"}:
                content["before"] = None if state is None else str(state.budget)
                content["promise"] = promise(Fraction(content["bits"]))
            elif entry.kind == "allowance":
                content["before"] = None if account.bits is None else str(account.bits)
            if entry.kind == "reserve":
                state = state.after(PublicParts((), (int(entry.cells),)), entry.rules)
                account = account.charged(PublicParts((), (int(entry.account_cells),)))
                content["version"] = state.version
            elif entry.kind != "commit":
                state, account = after_event(state, account, entry.kind, content, number)
            states[entry.dataset], accounts[key] = state, account
            state, names = state.written(account), (state.schema, state.rules)
        more = {"state": state, "schema": names[0], "rules": names[1]}
        rows.append(replace(entry, content=canonical(content), **more))
    return rechained(rows)


# --- what the verifiers say -----------------------------------------------------------------------


def problem_of(entries):
    """Return the first row that the tool rejects and why, or None."""
    ledger = tool.Ledger()
    for number, entry in enumerate(entries, 1):
        try:
            ledger.step(tool.Row(**vars(entry)))
        except tool.BrokenError as error:
            return number, str(error)
        except tool.ODD:
            return number, "odd"
    return None


def refusal(entries):
    """Return why the tool rejects rows, or None."""
    problem = problem_of(entries)
    return None if problem is None else problem[1]


def is_left_to_the_package(entries, report):
    """Tell whether rows are refused for new schemas, or for a population's promise in words."""
    return "changes the schema" in report.problem or (
        entries[report.first_bad - 1].kind == "population" and "format" in report.problem
    )


def compare(entries):
    """Check that tool and package agree on rows; return what the tool says."""
    said, report = problem_of(entries), replay(entries)[1]
    if said is None:
        assert report.holds or is_left_to_the_package(entries, report), report.problem
    elif report.holds:
        raise AssertionError(said)
    elif report.intact or report.first_bad != said[0]:
        assert "changes the schema" in report.problem or said[0] < report.first_bad, (said, report)
    return said
