"""Nobody but the policies themselves asks of which kind a policy is."""

import ast
from pathlib import Path

import pytest

from hartley.policies.column import ColumnPolicy
from hartley.policies.kinds import KINDS, kind_of
from hartley.policies.quantizer import Quantizer

PACKAGE = Path(__file__).parents[2] / "src" / "hartley"
OUTSIDE = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if path.relative_to(PACKAGE).parts[0] not in {"policies", "__init__.py"}
)
ALLOWED = {
    # What a caller passes is one rule, a list of them, a policy or the path of a file.
    ("studies/release/pram.py", "Pram"),
}


def subclasses(kind):
    return {kind, *(each for below in kind.__subclasses__() for each in subclasses(below))}


for each in KINDS:
    kind_of(each)  # imports it
KIND_NAMES = {kind.__name__ for kind in subclasses(ColumnPolicy) | subclasses(Quantizer)} - {
    "Quantizer"
}  # cells or none is a question to a caller; which cells is not


def asked_kinds(tree):
    """The kinds that a module asks for: by isinstance, by type() or in a case of match."""
    for node in ast.walk(tree):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if is_call and node.func.id in {"isinstance", "issubclass"}:
            asked = node.args[1]
        elif isinstance(node, ast.MatchClass):
            asked = node.cls
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node.left):
            asked = node
        else:
            continue
        names = {part.id for part in ast.walk(asked) if isinstance(part, ast.Name)}
        yield from names & KIND_NAMES


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_outside_the_policies_asks_for_a_kind(path):
    place = path.relative_to(PACKAGE).as_posix()
    found = {(place, name) for name in asked_kinds(ast.parse(path.read_text()))}
    assert found <= ALLOWED, "let the kind answer, by a property or method of ColumnPolicy"


def test_every_allowed_question_is_still_asked():
    asked = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in OUTSIDE
        for name in asked_kinds(ast.parse(path.read_text()))
    }
    assert asked == ALLOWED


def test_the_question_is_recognised():
    for code in (
        "isinstance(column, (str, QuantizedColumn))",
        "match column:\n    case KeptColumn(): pass",
        "type(column) is Pram",
    ):
        assert list(asked_kinds(ast.parse(code)))


def test_every_kind_has_one_class_that_names_its_fields():
    assert {"quantizer", "cuts", "merging", "stretch", "blur", "keep", "pram"} <= KINDS.keys()
    for word in KINDS:
        kind = kind_of(word)
        assert word in kind.kinds
        assert not set(kind.needed) & set(kind.optional)
        for methods in (
            ("read", "from_fields"),
            ("to_fields",),
            ("to_rule", "to_rules"),
            ("outputs",),
        ):
            own = [getattr(kind, m, None) is not getattr(ColumnPolicy, m, None) for m in methods]
            assert any(own), (word, methods)
