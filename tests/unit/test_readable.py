"""Results as short texts and as HTML, and what an agent shows of itself."""

import copy
import json
import pickle
from fractions import Fraction

import pytest

import hartley
from hartley.errors import OptionError, Refused
from hartley.tables.view import evaluate_condition
from hartley.text import BinnedNumber, value_text

TABLE = {"age": [31, 35, 42, 48, 67], "sex": ["F", "F", "M", "M", "<b>"]}


@pytest.mark.parametrize("kind", ["audit", "anonymity", "anonymize", "doctor"])
def test_the_results_of_functions_can_be_read(kind):
    made = {
        "audit": lambda: hartley.audit(TABLE, secret="age", released="sex"),
        "anonymity": lambda: hartley.anonymity(TABLE, keys="sex", confidential="age"),
        "anonymize": lambda: hartley.anonymize(TABLE, keys="sex", k=2),
        "doctor": hartley.doctor,
    }[kind]()
    first, *rest = str(made).splitlines()
    assert not first.startswith(("AuditReport(", "AnonymityReport(", "<", "Diagnosis("))
    assert any(line.startswith("• ") for line in rest)
    assert "<b>" in made._repr_html_()
    assert "<b></td>" not in made._repr_html_(), "values of a table are escaped"


def test_an_agent_shows_its_schema_and_budget_and_nothing_of_the_data(tmp_path):
    columns = {"age": {"kind": "private", "range": [0, 127], "step": 1}}
    with hartley.Agent(
        {"age": [3, 99, 5]},
        {"table": {"name": "people"}, "columns": columns},
        budget=9,
        ledger=tmp_path / "ledger.db",
    ) as agent:
        assert repr(agent) == "<agent for people: budget 9 bits, 0 bits spent, 9 bits left>"
        agent.ask("SELECT MAX(age) FROM people", bits=3)
        for shown in (repr(agent), str(agent), agent._repr_html_()):
            assert "3 bits spent, 6 bits left" in shown
            assert "99" not in shown
        assert "0 to 127" in agent._repr_html_()
        assert "private" in str(agent)
    assert repr(agent) == "<agent for people: closed>"


@pytest.mark.parametrize(
    ("place", "step", "text"),
    [
        (6, "10", "[60, 70)"),
        (-1, "0.5", "[-0.5, 0)"),
        (3, "0.1", "[0.3, 0.4)"),
        (1, "1/3", "[1/3, 2/3)"),
    ],
)
def test_a_bin_is_written_as_an_interval_and_is_its_middle(place, step, text):
    binned = BinnedNumber(place, Fraction(step))
    assert value_text((binned, "F")) == f"{text}, F"
    assert binned == float((2 * place + 1) * Fraction(step) / 2)
    for copied in (copy.deepcopy(binned), pickle.loads(pickle.dumps(binned))):  # noqa: S301 - ours
        assert value_text(copied) == text
    assert json.dumps([binned]) == json.dumps([float(binned)])


def test_the_bins_of_an_audit_are_intervals():
    report = hartley.audit(TABLE, secret="sex", released="age", bins={"age": 10})
    shown = {value_text(narrowing.released) for narrowing in report.narrowest}
    assert shown == {"[30, 40)", "[40, 50)", "[60, 70)"}
    assert "[60, 70)" in report.worst_attribute or "[30, 40)" in report.worst_attribute


def test_a_secret_that_is_also_released_is_warned_about():
    report = hartley.audit(TABLE, secret=["age", "sex"], released=["sex"])
    assert "Warning: sex is secret and also released" in report.notes[0]
    assert "also released" not in str(hartley.audit(TABLE, secret="age", released="sex"))


def test_text_in_double_quotes_gets_a_hint(tmp_path):
    with pytest.raises(OptionError, match="hint: use single quotes for text; the columns are sex"):
        evaluate_condition('sex = "F"', {"sex": ["F"]})
    with pytest.raises(OptionError, match="hint: the columns are sex"):
        evaluate_condition("sxe = 'F'", {"sex": ["F"]})
    columns = {"sex": {"kind": "private", "values": ["F", "M"]}}
    schema = {"table": {"name": "people"}, "columns": columns}
    with (
        hartley.Agent({"sex": ["F"]}, schema, budget=9, ledger=tmp_path / "l.db") as agent,
        pytest.raises(Refused, match="with constants; use single quotes for text"),
    ):
        agent.price('SELECT COUNT(*) FROM people WHERE sex = "Female"')
