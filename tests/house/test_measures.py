"""The registry lists every measure, and what is made from it is up to date."""

import ast
import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import hartley
import hartley.measures
from hartley.measures.registry import AUDITED, HOMES, MEASURES
from hartley.ranges.relation import Relation
from hartley.studies.look.audit import find_all

ROOT = Path(__file__).parents[2]
FAMILIES = {
    path.stem: ast.parse(path.read_text())
    for path in (ROOT / "src/hartley/measures").glob("*.py")
    if path.stem not in ("__init__", "registry")
}


def functions_with_a_formula():
    """Return (module, name) of every public function whose docstring states a formula."""
    return {
        (module, node.name)
        for module, tree in FAMILIES.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and ".. math::" in (ast.get_docstring(node) or "")
    }


def test_every_measure_has_an_entry_and_every_entry_a_measure():
    assert {(entry.module, entry.name) for entry in MEASURES.values()} == functions_with_a_formula()


def test_what_is_made_from_the_registry_is_up_to_date():
    path = ROOT / "tools" / "measure_tables.py"
    spec = importlib.util.spec_from_file_location("measure_tables", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    made = tool.made_files()
    assert {path.name for path in made} == {"reference.md", "notation.md", "__init__.py"}
    for path, text in made.items():
        assert path.read_text() == text, "run python tools/measure_tables.py"


@pytest.mark.parametrize("name", sorted(HOMES))
def test_a_measure_is_imported_from_the_room(name):
    value = getattr(hartley.measures, name)
    assert value.__module__ == HOMES[name]
    assert value.__name__ == name
    assert name not in FAMILIES, "a module of that name would hide the measure"


def test_the_room_lists_its_names_and_no_others():
    assert dir(hartley.measures) == hartley.measures.__all__ == sorted(HOMES)
    with pytest.raises(AttributeError, match=r"'hartley.measures' has no attribute 'privacy'"):
        hartley.measures.privacy  # noqa: B018 - the access is what is tested


def test_importing_the_room_or_the_registry_loads_no_measure():
    code = (
        "import sys, hartley.measures, hartley.measures.registry as r; "
        "print(sorted(m for m in sys.modules if m == 'numpy' or m in set(r.HOMES.values())))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("entry", MEASURES.values(), ids=lambda entry: entry.name)
def test_an_entry_agrees_with_its_function(entry):
    parameters = inspect.signature(entry.function).parameters
    if entry.unit == "logarithm":
        assert "base" in parameters
    words = inspect.getdoc(entry.function)
    certain = {"exact": "Exact", "bound": "bound", "estimate": "Rounded to double precision"}
    assert certain[entry.certainty] in " ".join(words.split())
    assert entry.title
    assert entry.symbol
    assert entry.source


def test_an_audit_reports_the_measures_that_have_a_sentence_in_their_order():
    findings, _ = find_all(Relation.from_pairs([(0, "a"), (1, "a"), (2, "b")]))
    assert [finding.name for finding in findings] == [entry.name for entry in AUDITED]
    assert len(findings) == 15
    assert all(entry.unit == "logarithm" and "relation" in entry.takes for entry in AUDITED)
