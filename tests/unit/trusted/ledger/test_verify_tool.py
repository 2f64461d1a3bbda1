"""The tool that verifies an exported ledger without this package, and forgeries."""

import ast
import json
import math
import random
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import old_format
import pytest
from forgeries import (
    DRUGS,
    RECORDED,
    ROOT,
    TOOL,
    VISITS,
    Priced,
    ask,
    compare,
    exported,
    forged,
    problem_of,
    rechained,
    restated,
    tool,
)
from hypothesis import given, strategies as st

from hartley import open_ledger
from hartley.agent.replay import replay
from hartley.errors import HartleyError, Stale
from hartley.exact import floor_power
from hartley.trusted.ledger.rows import FIELDS, STRANGE, Entry, canonical


def test_a_rich_ledger_holds_with_the_head_of_every_row(rich, tmp_path, run):
    assert {entry.kind for entry in rich} == set(tool.CONTENT) - {"migrated"}
    path = exported(tmp_path / "rich.jsonl", rich)
    assert run(path)[0] == 0
    for entry in rich[::7]:
        head = {"format": 2, "hash": entry.hash, "sequence": entry.sequence}
        (tmp_path / "head.json").write_text(canonical(head) + "\n")
        assert run(path, "--head", tmp_path / "head.json")[0] == 0


def test_an_export_of_the_package_holds_and_its_budgets_are_shown(tmp_path, run, filled):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        rows = filled(ledger)
        ledger.export(tmp_path / "ledger.jsonl")
        ledger.save_head(tmp_path / "head.json")
        spent = ledger.state("people").balance.spent
    code, text = run(tmp_path / "ledger.jsonl", "--head", tmp_path / "head.json")
    assert code == 0
    assert f"rows {rows}, datasets 2" in text
    assert "hartley ledger verify" in text
    charged = math.ceil(math.log2(spent))
    assert f"'people': at most {charged} bits charged, of a budget of 15\n" in text


def test_the_recorded_ledger_of_the_first_release_holds(run):
    code, text = run(RECORDED / "ledger.jsonl", "--head", RECORDED / "head.json")
    assert code == 0
    assert "population 'town'" in text


def test_an_empty_ledger_holds(tmp_path, run):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.export(tmp_path / "ledger.jsonl")
    assert run(tmp_path / "ledger.jsonl")[0] == 0


def test_a_ledger_brought_from_format_1_holds_and_knows_its_last_old_head(
    sqlite_place, tmp_path, run
):
    address, rows = sqlite_place.fresh(), old_format.rows()
    old_format.write(sqlite_place, address, rows)
    with open_ledger(address) as ledger:
        ledger.export(tmp_path / "ledger.jsonl")
    codes = []
    for row in (rows[-1], rows[-2]):
        head = {"format": 1, "hash": row[-1], "sequence": row[0]}
        (tmp_path / "head.json").write_text(canonical(head))
        codes.append(run(tmp_path / "ledger.jsonl", "--head", tmp_path / "head.json")[0])
    assert codes == [0, 2]


def test_prices_rest_on_no_row_from_before_a_schema_that_came_back(tmp_path):
    first, second = {"name": "p"}, {"name": "p", "more": 1}
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.record("p", "created", {"bits": 9, "schema": first, "rows": 1})
        ask(ledger, "p", None, [1], Priced(2), answers=False)
        for schema in (second, first):
            ledger.record("p", "schema", {"schema": schema})
        with pytest.raises(Stale):
            ask(ledger, "p", None, [2], Priced(2, (2,), (2,)), answers=False)
        ask(ledger, "p", None, [2], Priced(2), answers=False)
        entries = ledger.entries()
        assert problem_of(entries) is None
        told = {**entries[-1].told, "given": [2]}
        rows = rechained([*entries[:-1], replace(entries[-1], content=canonical(told))])
        assert problem_of(rows) == (5, "is priced from a row that it must not use")
        assert replay(rows)[1].first_bad == 5


# --- budgets, to the last cell --------------------------------------------------------------------


def with_bits(entries, kind, bits, account=""):
    """Set the bits of every row of a kind, and all states after it, to another number."""
    rows = []
    for entry in entries:
        content, state = json.loads(entry.content), json.loads(entry.state)
        if entry.kind == kind:
            content["bits"] = str(bits)
        if kind == "population":
            if entry.kind == kind:
                state["budget"] = str(bits)
        elif kind == "created" and entry.dataset:
            state["budget"] = str(bits)
        elif state.get("allotted", "0") != "0":
            state["allotted"] = str(bits)
            if entry.account == account:
                state["account"]["bits"] = str(bits)
        rows.append(replace(entry, content=canonical(content), state=canonical(state)))
    return rechained(rows)


@pytest.mark.parametrize(
    ("kind", "account", "product"),
    [("created", "", 105), ("population", "", 105), ("allowance", "ann", 35)],
)
def test_a_budget_holds_exactly_up_to_its_last_cell(spender, kind, account, product):
    exact = math.log2(product)
    for bits in (
        *(Fraction(number, 1000) for number in range(int(exact * 1000) - 2, int(exact * 1000) + 4)),
        *(Fraction(number, 7) for number in range(int(exact * 7) - 1, int(exact * 7) + 3)),
        Fraction(math.ceil(exact)),
        Fraction(math.floor(exact)),
    ):
        rows = with_bits(spender, kind, bits, account)
        if kind == "created" and bits < 9:
            rows = with_bits(rows, "allowance", Fraction(6), "ann")  # allowances fit too
        fits = product <= floor_power(bits)
        assert (problem_of(rows) is None) == fits, bits
        # Of a population the package also compares the promise in words.
        assert kind == "population" or replay(rows)[1].holds == fits


def test_allowances_are_hard_parts_of_the_budget(spender):
    assert problem_of(with_bits(spender, "allowance", Fraction(20), "ann")) is None
    said = problem_of(with_bits(spender, "allowance", Fraction(20) + Fraction(1, 10**9), "ann"))
    assert said == (3, "lets the allowances exceed the budget")


@given(st.integers(1, 2000), st.fractions(0, 12, max_denominator=40))
def test_a_product_is_within_bits_if_its_power_is(product, bits):
    assert tool.within(product, bits) == (product**bits.denominator <= 2**bits.numerator)


@pytest.mark.parametrize("product", [2, 3, 5, 1000, 10**30 + 1, 3**4000])
def test_bits_that_agree_with_a_logarithm_in_300_digits_are_told_apart(product):
    with localcontext() as context:
        context.prec = 350
        bits = Fraction(Decimal(product).ln() / Decimal(2).ln())
    nudge = Fraction(1, 10**300)
    assert tool.within(product, bits + nudge)
    assert not tool.within(product, bits - nudge)


def test_numbers_of_thousands_of_digits_are_read(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.record("p", "created", {"bits": 100_000, "schema": {}, "rows": 1})
        ask(ledger, "p", None, [1], 3**60000)
        entries = ledger.entries()
    assert problem_of(entries) is None
    assert tool.within(3**60000, Fraction(199_999, 2))
    assert problem_of([*rechained([*entries[:1], replace(entries[1], cells="9" * 40000)])])[0] == 2


# --- files ----------------------------------------------------------------------------------------


def test_a_shortened_ledger_is_found_by_its_first_line_or_by_a_saved_head(rich, tmp_path, run):
    last = rich[-1]
    head = {"format": 2, "hash": last.hash, "sequence": last.sequence}
    (tmp_path / "head.json").write_text(canonical(head))
    for length in (0, 1, 20, len(rich) - 1):
        path = exported(tmp_path / "short.jsonl", rich[:length])
        assert run(path)[0] == 0
        code, text = run(path, "--head", tmp_path / "head.json")
        assert code == 1
        assert f"row {last.sequence} is missing" in text
        path = exported(tmp_path / "cut.jsonl", rich[:length], sequence=last.sequence)
        assert run(path)[0] == 1
    replaced = rechained([replace(rich[0], time="2001-01-01T00:00:00.000000Z"), *rich[1:]])
    path = exported(tmp_path / "replaced.jsonl", replaced)
    assert run(path)[0] == 0
    assert run(path, "--head", tmp_path / "head.json")[0] == 1


def test_the_first_bad_row_is_named(rich, tmp_path, run):
    rows = [*rich[:9], replace(rich[9], cells="77"), *rich[10:]]
    code, text = run(exported(tmp_path / "bad.jsonl", rows))
    assert (code, text) == (
        1,
        "The ledger does not hold: row 10 was changed after it was written.\n",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"account":', '{"account":"","account":'),  # named twice
        ('"sequence":', '"sequence": '),  # spaces
        ('"sequence":2,', '"sequence":NaN,'),
        ('"sequence":2,', '"sequence":2.0,'),
        ('"sequence":2,', '"sequence":true,'),
        ('"sequence":2,', f'"sequence":{"9" * 5000},'),
        ('"time":', '"tide":'),
        ('"time":"', '"time":"ä'),
        ('"time":"', '"extra":1,"time":"'),
        ('"time":', '"time":1,"z":'),
        ("{", "[" * 3000 + "{"),
        ("}\n", "\n"),
    ],
    ids=str.splitlines(
        "twice\nspaces\nNaN\nfloat\ntrue\nhuge\nrenamed\nä\nmore\nnumber\ndeep\ncut"
    ),
)
def test_a_line_that_no_export_has_cannot_be_read(rich, tmp_path, run, old, new):
    path = exported(tmp_path / "odd.jsonl", rich)
    lines = path.read_text().splitlines(keepends=True)
    assert old in lines[2]
    lines[2] = lines[2].replace(old, new, 1) if old != "}\n" else lines[2][:-3] + new
    path.write_text("".join(lines), encoding="utf-8")
    code, text = run(path)
    assert code == 2
    assert "line 3" in text


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]\n", "null", "SQLite format 3\0", '{"ledger":"hartley","format":2}\n'],
)
def test_another_file_cannot_be_read(tmp_path, run, text):
    path = tmp_path / "file"
    path.write_text(text)
    assert run(path)[0] == 2
    assert run(tmp_path / "missing")[0] == 2
    assert run(RECORDED / "ledger.jsonl", "--head", path)[0] == 2


def test_a_newer_format_cannot_be_read(rich, tmp_path, run):
    assert run(exported(tmp_path / "new.jsonl", rich, format=3))[0] == 2


@pytest.mark.parametrize(
    "content",
    [
        *("[]", "null", "{", '{"bits":NaN}', '{"a":1,"a":1}', '"x"', "1e999", '{"a": 1}', "[[["),
        *("1", '{"bits":"1/0"}', "NaN"),
    ],
)
def test_content_that_is_not_canonical_is_a_bad_row(rich, content):
    for at in range(len(rich)):
        rows = rechained([*rich[:at], replace(rich[at], content=content)])
        assert problem_of(rows)[0] == at + 1
        assert replay(rows)[1].first_bad == at + 1


def test_names_that_no_terminal_can_show_are_escaped(tmp_path, run):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.record("pä", "created", {"bits": 3, "schema": {}, "rows": 1})
        ledger.export(tmp_path / "ledger.jsonl")
    assert "'p\\xe4'" in run(tmp_path / "ledger.jsonl")[1]


# --- what an auditor relies on --------------------------------------------------------------------


def test_the_tool_is_one_short_file_of_the_standard_library():
    text = TOOL.read_text()
    assert len(text.splitlines()) <= 420  # with its comments: all that an auditor reads
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module)
            assert node.level == 0
    assert {name.split(".")[0] for name in imported} <= sys.stdlib_module_names
    assert "float(" not in text


def test_the_tool_runs_alone(tmp_path):
    words = [sys.executable, "-I", "-S", str(TOOL), str(RECORDED / "ledger.jsonl")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The ledger holds: rows 37, datasets 3; ")
    done = subprocess.run(words[:4], capture_output=True, text=True, check=False)
    assert done.returncode == 2


def test_the_tool_is_installed_from_its_one_home():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["scripts"]["hartley-verify"] == "hartley_verify:main"
    targets = project["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["force-include"] == {"tools/verify_ledger.py": "hartley_verify.py"}
    assert "/tools" in targets["sdist"]["include"]


@pytest.mark.parametrize(
    ("statistic", "answer", "inside"),
    [
        *(("count", "0", True), ("count", "3", True), ("count", "5", False)),
        *(("count", "null", False), ("order statistic", "null", True)),
        *(("order statistic", "9" * 5000, False), ("sum", "30", False)),
    ],
)
def test_an_answer_is_a_cell_of_the_range_and_step_of_its_question(
    tmp_path, statistic, answer, inside
):
    asked = {"range": ["0", "10"], "statistic": statistic, "step": "5/2" if answer != "3" else "3"}
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.record("p", "created", {"bits": 3, "schema": {}, "rows": 1})
        paid = ledger.reserve("p", None, [asked], lambda _: 2)
        ledger.commit(paid, [None if answer == "null" else answer])
        entries = ledger.entries()
    assert (problem_of(entries) is None) == inside


# --- verify forgeries ---

# --- changed rows, with hashes that fit -----------------------------------------------------------

FREE = {
    "created": {"note", "promise"},
    "version": {"note"},
    "schema": {"note"},
    "budget": {"note", "promise"},
    "allowance": {"note"},
    "population": {"note", "promise"},
    "migrated": {"hash", "sequence"},
    "reserve": {"account_given", "given", "note", "questions"},
    "commit": {"answers", "version"},
}
"""Parts of a content that no balance is computed from: texts; what prices alone depend on; answers,
which only the data could contradict, and which of its versions they are about, which the digest of
the question says already."""


def is_free(before, after):
    """Tell whether two rows differ in nothing that a balance depends on."""
    names = {name for name in FIELDS[:-2] if getattr(before, name) != getattr(after, name)}
    if before.account == "" and before.kind in {"reserve", "commit"}:
        names -= {"analyst"}  # an analyst without an allowance
    if before.kind == "reserve":
        names -= {"rules"}  # which prices alone depend on
    if names <= {"time"}:
        return True
    if names - {"time"} != {"content"}:
        return False
    old, new = before.told, after.told
    changed = {word for word in old.keys() | new.keys() if old.get(word) != new.get(word)}
    if "answers" in changed and old["answers"].keys() != new["answers"].keys():
        return False
    return changed <= FREE.get(before.kind, set())


def one_character_changed(entry, order, tries):
    """Yield a row with one character of one field changed."""
    for name in ("time", "dataset", "analyst", "account", "kind", "content", "cells"):
        yield from _changed(entry, name, order, tries * (5 if name == "content" else 1))
    for name in ("account_cells", "schema", "rules", "state"):
        yield from _changed(entry, name, order, tries)


def _changed(entry, name, order, tries):
    text = getattr(entry, name)
    for _ in range(tries if text else 1):
        at = order.randrange(len(text)) if text else 0
        other = order.choice([mark for mark in '0123a"b }' if mark != text[at : at + 1]])
        yield replace(entry, **{name: text[:at] + other + text[at + 1 :]})


@pytest.mark.slow
@pytest.mark.parametrize("source", ["rich", "recorded"])
def test_one_changed_character_is_found_or_free_and_the_package_agrees(source, request):
    if source == "rich":
        entries, tries = request.getfixturevalue("rich"), 2
    else:
        lines = (RECORDED / "ledger.jsonl").read_text().splitlines()[1:]
        entries, tries = [Entry(**json.loads(line)) for line in lines], 1
    order = random.Random(11)  # noqa: S311 - nothing secret
    free = bad = 0
    for at, entry in enumerate(entries):
        for changed in one_character_changed(entry, order, tries):
            said = compare(rechained([*entries[:at], changed, *entries[at + 1 :]]))
            assert said is not None or is_free(entry, changed), (entry, changed)
            free += said is None
            bad += said is not None
    assert free >= 40
    assert bad >= 400


def reworded(entry, order, entries):
    """Return a row with one value in its content or state changed, or a field of another row."""
    name = order.choice(["content", "state", "field"])
    if name == "field":
        word = order.choice(FIELDS[1:-2])
        return replace(entry, **{word: getattr(order.choice(entries), word)})
    plain = json.loads(getattr(entry, name))
    word = order.choice(sorted(plain))
    others = [json.loads(getattr(each, name)).get(word) for each in entries]
    plain[word] = order.choice([None, "", "0", "1", "-1", 0, -1, True, [], {}, "1/2", *others])
    if order.random() < 0.2:
        plain[order.choice(["note", "given", "version", "extra"])] = plain.pop(word)
    return replace(entry, **{name: canonical(plain)})


@pytest.mark.slow
def test_the_tool_and_the_package_agree_on_random_forgeries(rich):
    order = random.Random(5)  # noqa: S311 - nothing secret
    accepted = 0
    for _ in range(1500):
        at = order.randrange(len(rich))
        accepted += (
            compare(rechained([*rich[:at], reworded(rich[at], order, rich), *rich[at + 1 :]]))
            is None
        )
    assert 20 <= accepted <= 700


@pytest.mark.slow
def test_the_tool_and_the_package_agree_on_rows_that_are_removed_doubled_or_moved(rich):
    order = random.Random(6)  # noqa: S311 - nothing secret
    for _ in range(300):
        rows = list(rich)
        row = rows.pop(order.randrange(len(rows)))
        for _ in range(order.randrange(3)):  # left out, moved, or doubled
            rows.insert(order.randrange(len(rows) + 1), row)
        compare(rechained(rows))
        assert rows == rich[: len(rows)] or problem_of(rows) is not None  # with the old hashes


# --- forgeries whose states fit, so that only what they mean can be found -------------------------


def forgery(entries, order):
    """Return rows with one lie in them, before the states are made to fit it."""
    rows = list(entries)
    at = order.randrange(len(rows))
    entry, content = rows[at], dict(rows[at].told)
    number = str(order.choice([0, 1, 1, 2, 3, 5, 9, 200, 5000, 10**6]))
    fields, lie = {}, order.randrange(5)
    if lie == 0:
        fields = {order.choice(["cells", "account_cells"]): number}
    elif lie == 1 and "open_charge" in content and entry.kind != "budget":
        words = order.choice([["open_charge"], ["open_charge", "open_factor"]])
        content |= dict.fromkeys(words, number)
        fields = {"cells": number, "account_cells": number}
    elif lie == 1 and "bits" in content:
        content["bits"] = order.choice(
            ["0", "1", "3", "4", "9/2", "7", "31/3", "13", "29", "100001"]
        )
    elif lie == 2 and "version" in content:
        names = [row.told["version"] for row in rows if "version" in row.told]
        content["version"] = order.choice(names)
    elif lie == 2 and "schema" in content:
        content["schema"] = order.choice([VISITS, DRUGS, {}, {"table": {"unit": "person"}}])
    elif lie == 3:
        who = order.choice(["", "ann", "bob", "eve"])
        fields = {"analyst": who, "account": order.choice([who, entry.account])}
    else:
        del rows[at]
        for _ in range(order.randrange(3)):
            rows.insert(order.randrange(len(rows) + 1), entry)
        return rows
    rows[at] = replace(entry, content=canonical(content), **fields)
    return rows


@pytest.mark.slow
def test_the_tool_and_the_package_agree_on_forgeries_whose_states_fit(rich):
    order = random.Random(8)  # noqa: S311 - nothing secret
    assert restated(rich) == rich
    said = Counter()
    for _ in range(1500):
        try:
            rows = restated(forgery(rich, order))
        except (*STRANGE, HartleyError):  # no state follows from it
            continue
        said[(compare(rows) or (0, ""))[1]] += 1
    assert said.total() >= 800
    for problem in (
        "exceeds the budget of the dataset",
        "lets the allowances exceed the budget",
        "exceeds what its account may spend",
        "exceeds a shared budget",
        "charges twice, or for nothing",
        "names a version that was used before",
        "has a charge that is not a whole number of 1 or more",
        "does not charge for all open columns",
        "has a wrong account",
        "changes the unit",
        "leaves its population",
        "is priced from a row that it must not use",
        "is wrong about what is new",
        "charges the dataset for questions that were paid for",
        "",
    ):
        assert said[problem] > 0, problem


# --- forgeries that hold together -----------------------------------------------------------------


@pytest.mark.parametrize("charge", ["0", "-2", "1", "02", "5"])
def test_open_columns_are_charged_in_full(tmp_path, charge):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.record("p", "created", {"bits": 3, "schema": {}, "rows": 1, "open_factor": 2})
        (entry,) = ledger.entries()
    state = {"open": charge, "account spent": charge}
    more = {"cells": charge, "account_cells": charge}
    row = forged(entry, content={"open_charge": charge}, state=state, **more)
    assert problem_of(rechained([row])) is not None


@pytest.fixture(scope="module")
def given_rows(folder):
    """Rows of two datasets, two accounts, two versions; the last row can name any before it."""
    with open_ledger(folder / "given.db") as ledger:
        ledger.record("p", "created", {"bits": 20, "schema": {}, "rows": 1})  # 1
        ledger.record("q", "created", {"bits": 20, "schema": {}, "rows": 1})
        ledger.record("p", "allowance", {"analyst": "ann", "bits": 9})
        ask(ledger, "p", None, [1], Priced(2))  # 4: of another version
        ledger.record("p", "version", {"rows": 1})  # 6
        ask(ledger, "q", None, [1], Priced(2))  # 7: of another dataset
        ask(ledger, "p", None, [1], Priced(2))  # 9: of another account
        ask(ledger, "p", "ann", [2], Priced(2))  # 11
        ask(ledger, "p", "ann", [3], Priced(2, (9, 11), (11,)), answers=False)  # 13
        ask(ledger, "p", "ann", [4], Priced(2), answers=False)
        return ledger.entries()


@pytest.mark.parametrize("word", ["given", "account_given"])
@pytest.mark.parametrize(
    "named",
    [[], [4], [7], [9], [11], [9, 11], [11, 9], [11, 11], [10], [13], [14], [0], [True], ["11"]],
)
def test_a_price_rests_on_earlier_charges_about_the_same_data_alone(given_rows, word, named):
    allowed = named in ([], [11]) or (word == "given" and named in ([9], [9, 11]))
    rows = list(given_rows)
    rows[12] = forged(rows[12], content={word: named})
    said = compare(rechained(rows))
    assert (said is None) == allowed
    if not allowed:
        assert said[0] == 13


def test_a_version_is_never_used_again(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.record("p", "created", {"bits": 3, "schema": {}, "rows": 1, "version": "ab" * 8})
        ledger.record("p", "version", {"rows": 1, "version": "cd" * 8})
        entries = ledger.entries()
    again = {"version": "ab" * 8}
    rows = rechained([entries[0], forged(entries[1], content=again, state=again)])
    assert problem_of(rows) == (2, "names a version that was used before")
    assert not replay(rows)[1].holds


def test_a_dataset_that_was_charged_keeps_its_unit_and_its_population(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.record("town", "population", {"bits": 9})
        ledger.record("drugs", "created", {"bits": 3, "schema": DRUGS, "rows": 1})
        ask(ledger, "drugs", None, [1])
        ledger.record("drugs", "schema", {"schema": {**DRUGS, "more": 1}})
        entries = ledger.entries()
    for table, problem in (
        ({"unit": "house", "population": "town"}, "changes the unit"),
        ({"unit": "person"}, "leaves its population"),
        ({"unit": "person", "population": "city"}, "leaves its population"),
    ):
        row = forged(entries[-1], content={"schema": {"table": table}})
        rows = rechained([*entries[:-1], row])
        assert problem_of(rows) == (5, problem)
        assert not replay(rows)[1].holds


def test_datasets_of_a_population_have_one_unit(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.record("town", "population", {"bits": 9})
        for name in ("drugs", "visits"):
            ledger.record(name, "created", {"bits": 3, "schema": DRUGS, "rows": 1})
        entries = ledger.entries()
    schema = {"table": {"unit": "house", "population": "town"}}
    rows = restated([*entries[:-1], forged(entries[-1], content={"schema": schema})])
    assert problem_of(rows) == (3, "mixes units in a population")
    assert replay(rows)[1].first_bad == 3


@pytest.mark.parametrize("answer", ["-1", "01", "", "1.5", "NULL", "٣", "1 "])
def test_an_answer_is_a_cell_index(rich, answer):
    at = next(at for at, entry in enumerate(rich) if entry.kind == "commit")
    answers = dict.fromkeys(rich[at].told["answers"], answer)
    rows = rechained([*rich[:at], forged(rich[at], content={"answers": answers})])
    assert problem_of(rows) == (at + 1, "holds no cell index")
    assert not replay(rows)[1].holds


@pytest.mark.parametrize(
    "bits", ["40/2", "20.0", "2e1", " 20", "+20", "020", "-1", "100001", "inf"]
)
def test_bits_are_spelled_in_one_way_and_within_reach(spender, bits):
    rows = rechained([spender[0], forged(spender[1], content={"bits": bits})])
    assert problem_of(rows) == (2, "has an invalid number of bits")


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("sequence", 7, "is missing, or is not where its number says"),
        ("previous", "ab" * 32, "does not follow the row before it"),
        ("cells", "3", "was changed after it was written"),
    ],
)
def test_every_link_of_the_chain_is_checked(rich, field, value, problem):
    row = replace(rich[5], **{field: value})
    row = row if field == "cells" else replace(row, hash=row.expected_hash)
    assert problem_of([*rich[:5], row]) == (6, problem)


def test_characters_that_no_store_holds_are_found(rich):
    for text in ("a\0b", "\ud800"):
        rows = [replace(rich[0], time=text)]
        if text == "a\0b":
            rows = rechained(rows)
        assert problem_of(rows)[0] == 1
        assert not replay(rows)[1].holds
