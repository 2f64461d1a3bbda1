"""Events and questions that make no sense are refused without trace."""

import math

import pytest

from hartley.agent.ledger import open_ledger
from hartley.errors import InputError, OptionError


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("created", {"bits": 1}),
        ("created", {"schema": {}}),
        ("version", {"rows": -1}),
        ("version", {"rows": True}),
        ("version", {"rows": 1, "fingerprint": "ab"}),
        ("version", {"rows": 1, "version": "mine"}),
        ("version", {"rows": 1, "version": "A" * 16}),
        ("erasure", {"rows": 1, "note": "Ann Smith"}),
        ("schema", {}),
        ("schema", {"schema": {1, 2}}),
        ("schema", {"schema": {}, "open_factor": 0}),
        ("schema", {"schema": {}, "open_factor": 1.5}),
        ("budget", {"bits": "many"}),
        ("budget", {"bits": -1}),
        ("budget", {"bits": 1e9}),
        ("budget", {}),
        ("allowance", {"bits": 1}),
        ("allowance", {"bits": 1, "analyst": "a\0b"}),
        ("allowance", {"bits": 1, "analyst": ""}),
        ("reserve", {}),
        ("migrated", {}),
    ],
)
def test_an_event_that_makes_no_sense_is_refused_without_trace(ledger, kind, content):
    head = ledger.head()
    with pytest.raises(OptionError, match="; hint: "):
        ledger.record("people", kind, content)
    assert ledger.head() == head


def test_a_dataset_is_created_once_and_before_anything_else(ledger, about, q, two):
    with pytest.raises(OptionError, match="already"):
        ledger.record("people", "created", about())
    for act in (
        lambda: ledger.record("x", "version", {"rows": 1}),
        lambda: ledger.reserve("x", None, q(1), two),
        lambda: ledger.state("x"),
        lambda: ledger.answers("x", q(1)),
        lambda: ledger.history("x"),
        lambda: ledger.pending("x"),
        lambda: ledger.balance("x"),
    ):
        with pytest.raises(OptionError, match="no dataset 'x'"):
            act()


def test_a_batch_holds_questions_that_can_be_written(ledger, q, two):
    for questions in ([], [{"x": {1}}], [{"x": math.nan}], [{(1, 2): 3}]):
        with pytest.raises(OptionError):
            ledger.reserve("people", None, questions, two)
    for name in ("a\nb", "x" * 201, "\ud800"):
        with pytest.raises(OptionError):
            ledger.reserve("people", name, q(1), two)


def test_names_of_any_script_are_kept(ledger, two):
    name = "Zoë 日本 😀 'x' \"%s?"
    ledger.record("people", "allowance", {"analyst": name, "bits": 1})
    ledger.reserve("people", name, [{"ä": "\0\ud800"}], two, note="SELECT 'ß'")
    assert list(ledger.state("people").allowances) == [name]
    assert ledger.verify().holds


@pytest.mark.parametrize("prefix", ["", "sqlite:///"])
@pytest.mark.parametrize("create", [True, False])
def test_a_folder_is_no_ledger(tmp_path, prefix, create):
    with pytest.raises(InputError, match="is a folder, not a file; hint: add the name"):
        open_ledger(f"{prefix}{tmp_path}", create=create)
    assert not [*tmp_path.iterdir()]
