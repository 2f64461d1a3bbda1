"""Which room may import which, and no cycles."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "hartley"

ROOTS = {"errors", "lazy", "exact", "text", "files", "inputs", "report", "version"}
READ = ROOTS | {"engines", "tables", "schema"}
RANGES = READ | {"kernels", "ranges", "boxes", "knowledge"}
POLICIES = RANGES | {"measures", "policies"}
STUDIES = POLICIES | {"guarantees", "attacks", "datasets"}
MAY_IMPORT = {
    "errors": set(),
    "lazy": set(),
    "exact": {"errors"},
    "text": {"errors", "exact"},
    "files": {"errors", "exact"},
    "inputs": set(),
    "report": set(),
    "version": set(),
    "kernels": ROOTS,
    "engines": ROOTS,
    "tables": ROOTS | {"engines"},
    "schema": ROOTS | {"engines", "tables"},
    "ranges": ROOTS | {"kernels", "engines", "tables"},
    "boxes": ROOTS | {"kernels", "engines", "tables", "ranges"},
    "knowledge": ROOTS | {"kernels", "engines", "tables"},
    "measures": RANGES,
    "policies": RANGES | {"measures"},
    "guarantees": POLICIES,
    "results": ROOTS | {"guarantees"},
    "trusted": ROOTS | {"engines", "schema", "results", "guarantees"},
    "agent": READ | {"knowledge", "results", "trusted", "guarantees"},
    "attacks": POLICIES | {"guarantees"},
    "datasets": READ | {"ranges"},
    "studies": STUDIES,
    "papers": STUDIES | {"agent", "studies"},
    "reports": ROOTS | {"studies", "attacks", "papers"},
    "service": STUDIES | {"results", "trusted", "agent", "studies", "reports"},
    "client": ROOTS | {"results"},
    "__main__": {"cli"},
}
CLAIMS = {f"hartley.guarantees.{name}" for name in ("promise", "accountant")}
"""Guarantees as data. They import the roots, and those who answer questions no other guarantees."""
MAY_ASK = {"hartley.studies.check.publication", "hartley.studies.attack"}
"""Studies that price publications as the agent prices questions, or attack what it answered."""
OWNERS = {
    "numba": {"kernels"},
    "clarabel": {"policies", "measures"},
    "flint": {"policies", "measures", "boxes"},
    "tomli_w": {"policies"},
    "ibis": {"engines", "tables"},
    "duckdb": {"engines"},
    "sqlglot": {"engines", "tables", "trusted", "agent"},
    "matplotlib": {"reports"},
    "jinja2": {"reports", "service"},
    "fastapi": {"service"},
    "starlette": {"service"},
    "uvicorn": {"service"},
    "typer": {"cli"},
}
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__"
)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imports_of(path: Path) -> frozenset[str]:
    return frozenset(imports_in(ast.parse(path.read_text()), path))


def imports_in(tree: ast.AST, path: Path) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_room_imports_only_what_it_may(path):
    room = room_of(path)
    ours = {name for name in imports_of(path) if name.split(".")[0] == "hartley"}
    doors = {"hartley", "hartley.__main__"}
    assert not doors & ours, "nothing inside the package imports its front doors"
    rooms = {name.split(".")[1] for name in ours} - {room}
    if room == "report":
        rooms -= {"reports"}  # a result shows itself: the one import upwards, on use
    if room != "cli":
        more = {"agent", "trusted"} if name_of(path) in MAY_ASK else set()
        assert rooms <= MAY_IMPORT[room] | more
    if room in {"agent", "trusted", "results"}:
        modules = {".".join(name.split(".")[:3]) for name in ours if "guarantees" in name}
        assert modules - {"hartley.guarantees"} <= CLAIMS
    if name_of(path) in CLAIMS:
        roots = {module.stem for module in PACKAGE.glob("*.py")}
        assert {name.split(".")[1] for name in ours} <= roots | {"guarantees"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_heavy_package_is_imported_in_its_own_room(path):
    for package, rooms in OWNERS.items():
        if any(name.split(".")[0] == package for name in imports_of(path)):
            assert room_of(path) in rooms


@pytest.mark.parametrize("name", ["to_pyarrow_batches", "RecordBatchReader.from_batches"])
def test_only_one_module_makes_streams_of_batches(name):
    """Such a stream declares types without a look; engines/dialect.py looks."""
    callers = {path.name for path in MODULES if name in path.read_text()}
    assert callers == {"dialect.py"}


def import_graph() -> nx.DiGraph:
    """Return which module imports which when it runs, also within functions."""
    known = {name_of(path) for path in MODULES}
    graph = nx.DiGraph()
    for path in MODULES:
        graph.add_edges_from((name_of(path), name) for name in imports_that_run(path) & known)
    graph.remove_edge(
        "hartley.report", "hartley.reports.render"
    )  # on use, by print() and notebooks
    graph.remove_edges_from(nx.selfloop_edges(graph))
    assert graph.number_of_edges() > 40
    return graph


def imports_that_run(path: Path) -> set[str]:
    """Return the imports of a module but those for types, even where both name one module."""
    tree = ast.parse(path.read_text())
    run = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    return imports_in(ast.Module(run, []), path)


def test_modules_import_each_other_without_cycles():
    tied = [part for part in nx.strongly_connected_components(import_graph()) if len(part) > 1]
    assert tied == []


def test_chains_of_imports_are_short():
    longest = nx.dag_longest_path(import_graph())
    assert len(longest) <= 28, " -> ".join(longest)


@pytest.mark.parametrize("room", sorted(MAY_IMPORT.keys() - {"__main__", *ROOTS, "reports"}))
def test_a_folder_holds_few_modules(room):
    folders = [folder for folder in (PACKAGE / room).rglob("*") if folder.is_dir()]
    for folder in [PACKAGE / room, *folders]:
        modules = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
        assert len(modules) <= 15, f"{folder.name} holds {len(modules)} modules: {modules}"


def test_every_room_is_in_the_table_and_none_is_empty():
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] != "_"}
    assert rooms <= MAY_IMPORT.keys() | {"cli"}
    for room in rooms:
        assert [path for path in (PACKAGE / room).rglob("*.py") if path.stem != "__init__"], room


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, hartley; "
        "print([m for m in ('numpy','pandas','duckdb','ibis','numba','matplotlib','typer')"
        " if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


ENGINE_NAMES = {"duckdb", "postgres", "postgresql", "pyspark", "spark", "polars"}
MAY_NAME_ENGINES = {
    "trusted/ledger/postgres.py": "the database of a ledger, which is no engine",
    "trusted/questions/parsing.py": "the grammar in which questions are read, on any engine",
    "tables/opening.py": "the libraries whose data frames are opened or refused",
    "studies/check/doctor.py": "the packages that are looked for, one by one",
}


def texts_of(path: Path) -> set[str]:
    """Return every text of a module but its docstrings, which explain."""
    tree = ast.parse(path.read_text())
    explained = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) not in explained
    }


def test_only_the_engines_name_an_engine():
    """Who tells engines apart asks for a capability; a new engine then is one new file."""
    naming = {
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if path.parent != PACKAGE / "engines"
        and any(text.lower() in ENGINE_NAMES for text in texts_of(path))
    }
    assert naming == MAY_NAME_ENGINES.keys()
