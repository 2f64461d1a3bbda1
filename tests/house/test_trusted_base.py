"""The trusted base: what one person has to read to believe an answer of the agent, counted.

Everything that ``hartley.trusted.agent`` can reach belongs to it: imports at the top of a module,
inside functions and for types alike, and what Python runs of the packages on the way. A package may
offer more names than that, imported on first use; no module of the base asks a package for a name.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import hartley

SOURCE = Path(__file__).parents[2] / "src"
PACKAGE = SOURCE / "hartley"
ROOT = "hartley.trusted.agent"
OUTSIDE = {
    *("policies", "measures", "attacks", "studies", "papers", "reports", "datasets"),
    *("tables", "ranges", "boxes", "knowledge", "kernels", "agent", "service", "client", "cli"),
}
"""Rooms that no answer rests on."""
CLAIMS = ("promise", "accountant")
"""The modules of guarantees that are data; the others compute promises again from policies."""


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in PACKAGE.rglob("*.py")}
TRUSTED = sorted(name for name in MODULES if name.startswith("hartley.trusted."))


@cache
def tree_of(name):
    return ast.parse(MODULES[name].read_text())


def is_package(name):
    return MODULES[name].stem == "__init__"


def run_on_the_way(package):
    """Return what Python runs of a package when something inside it is imported."""
    passed_over = (ast.FunctionDef, ast.If)
    return ast.Module([node for node in tree_of(package).body if not isinstance(node, passed_over)])


@cache
def imported_by(name):
    """Name our modules that one imports, wherever in it, and the packages around them."""
    targets = set()
    for node in ast.walk(run_on_the_way(name) if is_package(name) else tree_of(name)):
        if isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            targets |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    around = {
        ".".join(parts[:length])
        for parts in (target.split(".") for target in targets)
        for length in range(2, len(parts))  # the front door imports everything, and only on use
    }
    return (targets | around) & MODULES.keys() - {name, "hartley"}


@cache
def reached_from(start):
    """Return every module that one can reach, each with a module that imports it."""
    importer = {start: None}
    waiting = [start]
    for name in waiting:
        for target in sorted(imported_by(name) - importer.keys()):
            importer[target] = name
            waiting.append(target)
    return importer


def counted(names):
    """Return the lines of modules that hold more than a docstring."""
    return {
        name: len(MODULES[name].read_text().splitlines())
        for name in sorted(names)
        if len(tree_of(name).body) > 1
    }


def statements(name):
    """Return how many statements a module has; docstrings count as none."""
    return sum(
        isinstance(node, ast.stmt)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in ast.walk(tree_of(name))
    )


def room_of(name):
    return name.split(".")[1]


def test_the_trusted_base_is_counted(capsys):
    """The size is shown and not limited: code is never moved to satisfy a count."""
    importer = reached_from(ROOT)
    lines = counted(importer)
    assert len(lines) > 40, "the walk over imports finds nothing"
    total = f"{len(lines)} files, {sum(lines.values()):,} lines, {sum(map(statements, lines)):,}"
    with capsys.disabled():
        sys.stdout.write(f"\nThe trusted base: {total} statements\n")


def test_nothing_in_the_trusted_base_inherits_from_an_agent_or_a_ledger():
    bases = {
        ast.unparse(base)
        for name in MODULES
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    }
    assert "Protocol" in bases, "the walk over classes finds nothing"
    assert {base for base in bases if base.endswith(("Agent", "Ledger"))} == set()


def test_the_files_to_read_are_in_the_trusted_base():
    page = (SOURCE.parent / "docs" / "architecture.md").read_text()
    section = page.split("## What to read to believe an answer\n")[1].split("\n## ")[0]
    named = {name_of(PACKAGE / path) for path in re.findall(r"`(\w+/[\w/]+\.py)`", section)}
    tests = {name_of(PACKAGE / "tests/house/test_trusted_base.py")}
    assert len(named) > 25
    assert named - tests <= reached_from(ROOT).keys()


@pytest.mark.slow
def test_nothing_that_an_answer_does_not_rest_on_is_in_the_trusted_base():
    importer = reached_from(ROOT)
    strangers = {name: by for name, by in importer.items() if room_of(name) in OUTSIDE}
    assert strangers == {}, "each with the module that imports it"
    guarantees = {name for name in importer if room_of(name) == "guarantees"}
    assert "hartley.guarantees.promise" in guarantees
    assert guarantees - {"hartley.guarantees"} <= {f"hartley.guarantees.{name}" for name in CLAIMS}


def test_the_trusted_base_takes_modules_from_packages_and_no_names():
    """Or it would run what a package imports only when a name is asked for."""
    for name in reached_from(ROOT):
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.ImportFrom) and node.module in MODULES:
                asked = {f"{node.module}.{alias.name}" for alias in node.names}
                assert not is_package(node.module) or asked <= MODULES.keys(), (name, node.module)


def test_what_an_answer_runs_is_in_the_trusted_base(tmp_path):
    """What the walk over imports says, seen from a process that opens a copy and answers."""
    age = {"age": {"kind": "private", "range": [0, 100], "step": 1}}
    schema = hartley.Schema.read({"table": {"name": "people"}, "columns": age})
    path, place = tmp_path / "ledger.db", tmp_path / "copy.duckdb"
    hartley.Agent({"age": [30, 40]}, schema, ledger=path, place=place, budget=4).close()
    (tmp_path / "schema.toml").write_text(schema.to_toml())
    code = """
import sys
from pathlib import Path
from hartley.trusted.agent import TrustedAgent
from hartley.trusted.ledger.ledger import TrustedLedger, open_store
from hartley.schema.schema import Schema

folder = Path(sys.argv[1])
schema = Schema.read(folder / "schema.toml")
ledger = TrustedLedger(open_store(folder / "ledger.db"))
agent = TrustedAgent(None, schema, ledger=ledger, place=folder / "copy.duckdb")
question = "SELECT COUNT(*) FROM people WHERE age > 20"
assert agent.ask(question).bits == 1
print(*(name for name in sys.modules if name.startswith("hartley.")))
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert ROOT in loaded
    assert len(loaded) > 40
    loaded -= {"hartley.version"}  # one line, which the front door imports
    assert loaded <= reached_from(ROOT).keys()


def test_an_agent_that_runs_loads_no_policies():
    """What the walk over imports says, seen from a process."""
    code = (
        "import sys, hartley.trusted.agent; "
        "print([m for m in sys.modules if m.startswith(('hartley.policies', 'hartley.measures'))])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_data(name):
    rooms = {room_of(target) for target in reached_from(f"hartley.guarantees.{name}")}
    roots = {path.stem for path in PACKAGE.glob("*.py")}
    assert rooms <= roots | {"guarantees"}


@pytest.mark.slow
def test_the_recomputation_is_not_data():
    """Or the walk would not see what the rest of the tests is about."""
    rooms = {room_of(name) for name in reached_from("hartley.guarantees.verify")}
    assert {"policies", "measures"} <= rooms


# --- inside the base ---


def subroom_of(name):
    """Return the folder of a module inside the base; None of a module beside the folders."""
    parts = name.split(".")
    return parts[2] if len(parts) > 3 or MODULES[name].stem == "__init__" else None


def test_a_folder_of_the_base_never_imports_a_module_beside_the_folders():
    upwards = {
        (name, target)
        for name in TRUSTED
        for target in imported_by(name)
        if subroom_of(name) and target in TRUSTED and not subroom_of(target)
    }
    assert upwards == set()


def test_no_two_folders_of_the_base_import_each_other():
    edges = {
        (subroom_of(name), subroom_of(target)): (name, target)
        for name in TRUSTED
        for target in imported_by(name)
        if target in TRUSTED and subroom_of(name) != subroom_of(target)
    }
    edges = {pair: modules for pair, modules in edges.items() if None not in pair}
    assert edges.keys() >= {("pricing", "questions"), ("ledger", "pricing")}
    both_ways = {pair: modules for pair, modules in edges.items() if pair[::-1] in edges}
    assert both_ways == {}


def test_the_walk_of_a_question_fits_one_screen():
    (agent,) = [node for node in tree_of(ROOT).body if getattr(node, "name", "") == "TrustedAgent"]
    (ask,) = [node for node in agent.body if getattr(node, "name", "") == "ask"]
    docstring = ask.body[0]
    assert ask.end_lineno - docstring.end_lineno <= 50
