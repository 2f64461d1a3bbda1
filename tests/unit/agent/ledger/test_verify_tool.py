"""The auditors' verifier accepts what the package writes, to the last cell of a budget."""

import ast
import json
import math
import subprocess
import sys
import tomllib
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import old_format
import pytest
from forgeries import RECORDED, ROOT, TOOL, Priced, ask, exported, problem_of, rechained, tool
from hypothesis import given, strategies as st

from hartley.agent.ledger import open_ledger
from hartley.agent.replay import replay
from hartley.errors import Stale
from hartley.exact import floor_power
from hartley.trusted.ledger.rows import canonical


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
    ["[]", "null", "{", '{"bits":NaN}', '{"a":1,"a":1}', '"x"', "1e999", '{"a": 1}', "[[["],
)
def test_content_that_is_not_canonical_is_a_bad_row(rich, content):
    for at in (0, 2, 8, 9):
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
