"""Errors are one tree, say a problem and a hint, and travel between processes."""

from __future__ import annotations

import copy
import pickle
from inspect import getmembers, isclass

import pytest

from hartley import errors
from hartley.errors import (
    ColumnError,
    EngineError,
    HartleyError,
    InputError,
    OptionError,
    TableError,
    UndefinedMeasure,
)

KINDS = [kind for _, kind in getmembers(errors, isclass) if issubclass(kind, Exception)]


def drawn_tree() -> dict[str, str]:
    """Read the tree at the top of the module: every class and the class above it."""
    above, parents = [], {}
    for line in errors.__doc__.splitlines():
        words = line.lstrip(" │├└─").split()
        if not words or words[0] not in {kind.__name__ for kind in KINDS}:
            continue
        depth = (len(line) - len(line.lstrip(" │├└─"))) // 4
        above = [*above[: depth - 1], words[0]]
        parents[words[0]] = above[-2] if len(above) > 1 else "Exception"
    return parents


def test_the_tree_drawn_at_the_top_is_the_tree_of_the_classes():
    assert drawn_tree() == {kind.__name__: kind.__bases__[0].__name__ for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_the_message_is_the_problem_and_the_hint(kind):
    error = kind("The table is empty", hint="pass another")
    assert str(error) == "The table is empty; hint: pass another"
    assert (error.problem, error.hint) == ("The table is empty", "pass another")


def pickled(error: HartleyError) -> HartleyError:
    return pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("travel", [copy.copy, copy.deepcopy, pickled])
def test_an_error_survives_the_way_between_processes(kind, travel):
    error = kind("The table is empty", hint="pass another")
    arrived = travel(error)
    assert type(arrived) is kind
    assert str(arrived) == str(error)
    assert (arrived.problem, arrived.hint) == (error.problem, error.hint)


@pytest.mark.parametrize("kind", KINDS)
def test_a_hint_is_never_left_out(kind):
    with pytest.raises(TypeError, match="hint"):
        kind("The table is empty")


@pytest.mark.parametrize("kind", [TableError, ColumnError, OptionError])
def test_the_users_mistakes_are_input_errors(kind):
    assert issubclass(kind, InputError)


@pytest.mark.parametrize("kind", [UndefinedMeasure, EngineError])
def test_what_is_not_the_users_mistake_is_no_input_error(kind):
    assert issubclass(kind, HartleyError)
    assert not issubclass(kind, InputError)


@pytest.mark.parametrize("name", ["x" * 5000, "two words " * 300, "é" * 500])
def test_a_message_repeats_no_more_than_a_line_of_what_somebody_wrote(name):
    error = InputError(f"Column '{name}' is not in people.csv", hint=f"did you mean '{name}'?")
    assert len(error.problem) < 160
    assert len(error.hint) < 160
    assert error.problem.startswith("Column '")
    assert error.problem.endswith("' is not in people.csv")
