"""Every public name exists, is documented and has an example; every command is documented."""

import ast
import inspect
import operator
import re
from pathlib import Path

import pytest

import hartley
from hartley.cli.commands import COMMANDS as LISTED, load_commands
from hartley.measures.registry import MEASURES as REGISTRY

ROOT = Path(__file__).parents[2]
ROOMS = sorted(hartley.MOVED)
NAMES = sorted(
    {*hartley.__all__} - {"__version__", "ROW"}
    | {f"{room}.{name}" for room, names in hartley.MOVED.items() for name in names}
)
COMMANDS = load_commands()
PARTS = {
    f"{name} {part}": command
    for name, group in COMMANDS.items()
    for part, command in getattr(group, "commands", {}).items()
}


def value_of(name):
    return operator.attrgetter(name)(hartley)


def test_there_are_few_public_names():
    assert len(hartley.__all__) - 1 <= 125


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_the_lazy_names_are_the_typed_names(room):
    tree = ast.parse((ROOT / "src/hartley" / room / "__init__.py").read_text())
    typed = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("hartley.")
        and all(alias.asname for alias in node.names)
        for alias in node.names
    }
    package = value_of(room) if room else hartley
    assert typed == set(package.__all__) - {"__version__"}
    assert set(dir(package)) == set(package.__all__)


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_of_a_room_hides_a_name_of_the_room(room):
    folder = ROOT / "src/hartley" / room
    assert not {path.stem for path in folder.iterdir()} & set(value_of(room).__all__)
    with pytest.raises(AttributeError, match=f"'hartley.{room}' has no attribute 'privacy'"):
        value_of(room).privacy  # noqa: B018 - the access is what is tested


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'measure_everything'"):
        hartley.measure_everything  # noqa: B018 - the access is what is tested


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_documented(name):
    value = value_of(name)
    first = (inspect.getdoc(value) or "").split("\n")[0]
    assert first.endswith((".", ":"))
    reference = (ROOT / "docs/reference.md").read_text()
    assert f"| `{name}` | {first} |" in reference


@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isfunction(value_of(name))])
def test_a_public_function_has_an_example(name):
    assert ">>>" in inspect.getdoc(value_of(name))


SOURCES = "Hartley|Farokhi|Nair|Shannon|Issa|Rebollo-Monedero|Brickell|Li, Li and"
MEASURES = [
    name
    for name in NAMES
    if getattr(value_of(name), "__module__", "").startswith("hartley.measures")
    and inspect.isfunction(value_of(name))
]


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_states_formula_source_certainty_and_cost(name):
    text = " ".join(inspect.getdoc(value_of(name)).split())
    assert ".. math::" in text
    assert re.search(rf"({SOURCES})[^.]* (19|20)\d\d|Corollary", text)
    assert re.search(r"\bExact\b|\bbound\b|Rounded to double precision", text)
    assert re.search(r"Linear|Near-linear|Constant time|Grows|One pass|Costs", text)
    if (
        REGISTRY[name.removeprefix("measures.")].unit == "logarithm"
    ):  # shares, counts and distances have no base
        assert "base" in inspect.signature(value_of(name)).parameters


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_and_its_options_are_documented(name):
    text = (ROOT / "docs/commands.md").read_text()
    section = text.split(f"## hartley {name}\n")[1].split("\n## ")[0]
    for parameter in COMMANDS[name].params:
        for option in parameter.opts if parameter.param_type_name == "option" else ():
            if option not in ("--json", "--details", "-h", "--help"):
                assert f"`{option}" in section
    assert COMMANDS[name].help


@pytest.mark.parametrize("name", sorted(PARTS))
def test_a_part_of_a_command_and_its_options_are_documented(name):
    text = (ROOT / "docs/commands.md").read_text()
    section = text.split(f"## hartley {name.split()[0]}\n")[1].split("\n## ")[0]
    assert f"`hartley {name}" in section
    for parameter in PARTS[name].params:
        for option in parameter.opts if parameter.param_type_name == "option" else ():
            if option not in ("--json", "--details", "-h", "--help"):
                assert f"`{option}" in section
    assert PARTS[name].help


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_list_of_commands_says_what_each_command_says_itself(name):
    assert LISTED[name].help == COMMANDS[name].help.split("\n")[0]


GROUPS = {
    "schema": "Schema",
    "ledger": "Ledger",
    "datasets": "Dataset",
    "account": "Accounts",
    "roles": "Roles",
}
"""Commands of many parts are the methods of a class; hartley.datasets is a package already."""


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"attack", "demo", "serve"}))
def test_a_command_and_its_function_have_one_name(name):
    public = GROUPS.get(name, name)
    assert public in NAMES
    if name not in GROUPS:
        value = getattr(hartley, name)
        assert inspect.isfunction(value)
        assert value.__name__ == name


OLD_NAMES = hartley.RENAMED | {
    name: f"{room}.{name}" for room, names in hartley.MOVED.items() for name in names
}


@pytest.mark.parametrize(("old", "new"), sorted(OLD_NAMES.items()))
def test_an_old_name_warns_and_works(old, new):
    with pytest.warns(DeprecationWarning, match=f"hartley.{old} is now called hartley.{new}"):
        value = getattr(hartley, old)
    assert value is value_of(new)
    assert old not in hartley.__all__


def test_no_drawer_without_a_name():
    bad = {"utils", "helpers", "common", "misc", "manager"}
    assert not [path for path in (ROOT / "src").rglob("*.py") if path.stem in bad]


def test_files_hold_no_address_of_a_package_registry():
    for path in ("constraints.txt", "pyproject.toml", "Makefile", ".ci/run"):
        assert "://" not in (ROOT / path).read_text()


def test_a_class_name_is_unique_in_the_package():
    homes: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src" / "hartley").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}
