"""A ledger replayed and priced again."""

import json
import random
from dataclasses import replace

import pytest
from forgeries import problem_of, rechained

from hartley import Agent, Schema, open_ledger
from hartley.agent.replay import (
    may_answer,
    open_cells,
    replay,
    reprice,
    verify_prices,
)
from hartley.errors import EngineError, InputError
from hartley.trusted.ledger.rows import FIELDS, canonical
from hartley.trusted.precision import questions_of
from hartley.trusted.pricing.conditional_price import RULES
from hartley.trusted.questions.batch import Form, Question, Statistic, Test as Leaf, to_plain

OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"


def test_verifying_finds_a_price_that_was_too_low(agent):
    plan = agent.desk.plan("SELECT AVG(age) FROM people", None, 3)
    agent.ask(OLD)
    assert verify_prices(agent.ledger).holds
    cheap = [to_plain(question) for question in plan[0].questions]
    agent.ledger.reserve("people", None, cheap, lambda _: 2)
    assert agent.ledger.verify().holds
    report = verify_prices(agent.ledger)
    assert not report.holds
    assert "a price that differs" in report.problem
    assert report.first_bad == agent.ledger.head().sequence


def test_verifying_finds_open_columns_that_were_not_paid_for(agent):
    agent.ledger.record("people", "version", {"rows": 10, "open_factor": 1})
    assert agent.ledger.verify().holds
    report = verify_prices(agent.ledger)
    assert not report.holds
    assert "open columns" in report.problem


def test_charges_of_schemas_that_cannot_be_read_do_not_hold(agent):
    agent.ledger.record("else", "created", {"bits": 3, "schema": {"a": 1}, "rows": 2})
    agent.ledger.reserve("else", None, [{"q": 1}], lambda _: 2)
    agent.ask(OLD)
    report = verify_prices(agent.ledger)
    assert (report.holds, report.intact, report.repriced, report.unpriced) == (False, True, 1, 1)
    assert report.unchecked == (2, 3)
    assert report.sentence.startswith("The chain is not checked in full: the charge of rows 2, 3 ")


def test_a_charge_by_unknown_rules_does_not_hold_and_its_answer_is_not_served(
    agent, people, schema, ledger
):
    plan = agent.desk.plan(OLD, None, None)
    plain = [to_plain(question) for question in plan[0].questions]
    paid = agent.ledger.reserve("people", None, plain, lambda _: 1, rules="99")
    agent.ledger.commit(paid, ["9"])
    report = verify_prices(agent.ledger)
    assert (report.holds, report.intact, report.unchecked) == (False, True, (paid.sequence,))
    before = agent.ledger.head()
    for act in (agent.ask, agent.price):
        with pytest.raises(EngineError, match="pricing rules '99'"):
            act(OLD)
        with pytest.raises(EngineError, match="pricing rules '99'"):
            act("SELECT AVG(age) FROM people")
    with pytest.raises(EngineError, match="pricing rules '99'"):
        Agent(people, schema, ledger=ledger)
    assert agent.ledger.head() == before


def test_a_charge_by_unknown_rules_about_earlier_data_stops_an_agent_too(
    agent, people, schema, ledger
):
    """The budget covers all versions, so that what is left of it is not known."""
    agent.ledger.reserve("people", None, [{"q": 1}], lambda _: 1, rules="99")
    agent.ledger.reserve("people", None, [{"q": 2}], lambda _: 1, rules="3")
    agent.update(people)
    with Agent(None, schema, ledger=ledger) as again:
        for act in (agent.ask, agent.price, again.ask):
            with pytest.raises(EngineError, match="row 2 charges by the pricing rules '99'"):
                act(OLD)


def test_a_charge_by_unknown_rules_to_a_shared_budget_stops_an_agent_too(people, schema, ledger):
    shared = {**schema, "table": {"name": "people", "population": "all"}}
    other = {"bits": 3, "schema": {"table": {"population": "all"}}, "rules": "99", "rows": 2}
    with open_ledger(ledger) as opened:
        opened.record("all", "population", {"bits": 20})
        opened.record("else", "created", other)
    with Agent(people, shared, ledger=ledger, budget=12) as agent:
        for act in (agent.ask, agent.price):
            with pytest.raises(EngineError, match="row 2 charges by the pricing rules '99'"):
                act(OLD)


@pytest.mark.parametrize(
    "text", ["SELECT COUNT(*) FROM people", "SELECT COUNT(*) FROM people WHERE age < 0"]
)
def test_a_question_of_price_1_has_its_constant_answer(agent, text):
    answer = agent.ask(text)
    assert answer.bits == 0
    entries = agent.ledger.entries()
    assert verify_prices(agent.ledger).holds
    checks = (reprice, open_cells, None, may_answer)
    (commit,) = (entry for entry in entries if entry.kind == "commit")
    ((digest, right),) = commit.told["answers"].items()
    assert replay(entries, *checks)[1].holds
    for cell in range(11):
        content = canonical({**commit.told, "answers": {digest: str(cell)}})
        row = replace(commit, content=content)
        rows = [*entries[:-1], replace(row, hash=row.expected_hash)]
        assert replay(rows, *checks)[1].holds == (str(cell) == right), cell


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize(
    ("rows", "kind"),
    [("public", "open"), ("public", "public"), ("private", "open"), ("private", "private")],
)
def test_the_answers_of_an_honest_agent_hold(tmp_path, rows, kind, most):
    """Also where the number of rows is private, and free since an open column tells it."""
    table = {"name": "people", "unit": "who", "rows_per_unit": most, "rows": rows}
    table |= {"max_rows": 40} if rows == "private" else {}
    column = {"kind": "private", "range": [0, 2], "step": 1, "nullable": True}
    schema = {"table": table, "columns": {"a": column, "g": {"kind": kind, "values": ["x", "y"]}}}
    who = [each for each in range(4) for _ in range(most)]
    people = {"a": [each % 3 for each in who], "g": ["xy"[each % 2] for each in who], "who": who}
    with Agent(people, schema, ledger=tmp_path / "ledger.db", budget=60) as agent:
        questions = [
            f"SELECT {text} FROM people{where}"  # noqa: S608 - texts of questions
            for text in ("COUNT(*)", "SUM(a)", "VAR_POP(a)", "MEDIAN(a)")
            for where in ("", " WHERE a IS NULL", " WHERE a < 0", " WHERE a >= 0 OR a IS NULL")
        ]
        answers = agent.ask(questions, error=0, vacuous=True)
        assert all(answer.reading.only.error in {0, None} for answer in answers)
        assert answers[0].value == len(who)
        report = verify_prices(agent.ledger)
        assert report.holds, report.sentence


@pytest.fixture
def firms(tmp_path):
    """Six rows, in a ledger that is forged."""
    columns = {"v": {"kind": "private", "range": [0, 10], "step": 1}}
    columns["region"] = {"kind": "public", "values": ["n", "s"]}
    table = {"v": [3, 5, 5, 10, 10, 0], "region": list("nnnsss")}
    schema = {"table": {"name": "firms"}, "columns": columns}
    with Agent(table, schema, ledger=tmp_path / "ledger.db", budget=60) as agent:
        yield agent


def holds(rows):
    return replay(rechained(rows), reprice, open_cells, None, may_answer)[1].holds


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("MAX(v) FROM firms WHERE v = 10", {"10", "null"}),
        ("MEDIAN(v) FROM firms WHERE v = 5", {"5", "null"}),
        ("MIN(v) FROM firms WHERE v IN (1, 3) OR v >= 9", {"1", "3", "9", "10", "null"}),
        ("MAX(v) FROM firms WHERE region = 'n' AND (v < 2 OR v = 4)", {"0", "1", "4", "null"}),
        ("MAX(-v) FROM firms WHERE v >= 9", {"9", "10", "null"}),
        ("MEDIAN(v) FROM firms", set(map(str, range(11)))),
        ("SUM(v) FROM firms WHERE v = 3", {"0", "3", "6", "9", "12", "15", "18"}),
        (
            "SUM(v) FROM firms WHERE v >= 9",
            {"0", "9", "10", *map(str, range(18, 61))}
            - {
                *map(str, (21, 22, 23, 24, 25, 26, 31, 32, 33, 34, 35, 41, 42, 43, 44, 51, 52, 53)),
            },
        ),
        ("SUM(v - 9) FROM firms WHERE v = 8", set(map(str, range(48, 55)))),
        ("COUNT(*) FROM firms WHERE region = 'n'", set(map(str, range(7)))),
        ("SUM(v) FROM firms WHERE region = 'n' AND region = 's'", {"0"}),
    ],
)
def test_an_answer_is_one_that_the_rows_of_its_condition_can_give(firms, text, possible):
    firms.ask(f"SELECT {text}", error=0, vacuous=True)
    *rows, commit = firms.ledger.entries()
    assert holds([*rows, commit])
    ((digest, right),) = commit.told["answers"].items()
    cells = {*map(str, range(70)), "null"}
    told = {cell: canonical({**commit.told, "answers": {digest: cell}}) for cell in cells}
    found = {cell for cell in cells if holds([*rows, replace(commit, content=told[cell])])}
    assert right in found
    assert found == possible


@pytest.mark.parametrize("text", ["SELECT AVG(v) FROM firms", "SELECT MAX(v) FROM firms"])
def test_a_note_that_can_be_read_names_what_is_charged(firms, text):
    other = "SELECT COUNT(*) FROM firms WHERE v > 4"
    firms.ask(text, bits=2)
    firms.ask([text, "SELECT COUNT(*)\nFROM firms WHERE v > 3"], bits=2)  # the first is free
    firms.ask([text, other], bits=2)
    rows = firms.ledger.entries()
    assert holds(rows)
    for at, note in ((1, other), (1, f"{other}\n{text} WHERE v > 1"), (5, text)):
        content = canonical({**rows[at].told, "note": note})
        changed = [*rows[:at], replace(rows[at], content=content), *rows[at + 1 :]]
        assert not holds(changed)
        assert "note" in replay(rechained(changed), None, None, None, may_answer)[1].problem
    for note in ("a publication", f"{other}\n{text}"):
        content = canonical({**rows[1].told, "note": note})
        assert holds([rows[0], replace(rows[1], content=content), *rows[2:]])


def test_a_number_of_rows_that_the_charged_ranges_do_not_fit_is_found(firms):
    firms.ask("SELECT AVG(v) FROM firms", bits=1)
    rows = []
    for entry in firms.ledger.entries():
        told = {**entry.told, "rows": 60} if entry.kind == "created" else entry.told
        state = {**json.loads(entry.state), "rows": 60}
        rows.append(replace(entry, content=canonical(told), state=canonical(state)))
    assert replay(rechained(rows))[1].holds
    assert not holds(rows)


def test_a_time_is_one_and_a_clock_that_went_back_is_said(firms):
    firms.ask("SELECT AVG(v) FROM firms", bits=1)
    rows = firms.ledger.entries()
    report = replay(rechained([*rows[:2], replace(rows[2], time="whenever")]))[1]
    assert (report.holds, report.first_bad) == (False, 3)
    past = replace(rows[2], time="2020-01-01T00:00:00.000000Z")
    report = replay(rechained([*rows[:2], past]))[1]
    assert report.holds
    assert "Dated before the row before it: row 3." in report.sentence
    assert "dated" not in replay(rows)[1].sentence


def test_the_command_verifies_every_price(agent, ledger):
    from typer.testing import CliRunner

    from hartley.cli.ledger import ledger_app

    def verify(*words):
        return CliRunner().invoke(ledger_app, ["verify", str(ledger), *words])

    agent.ask([OLD, "SELECT AVG(age) FROM people"], bits=3)
    agent.allow("ann", 4)
    agent.ask([OLD, "SELECT COUNT(*) FROM people WHERE pay = 1"], analyst="ann")
    found = verify("--json")
    assert found.exit_code == 0
    content = json.loads(found.stdout)
    assert (content["charges_priced_again"], content["charges_not_priced_again"]) == (2, 0)
    assert "2 charges computed again" in verify("--text").stdout
    plan = agent.desk.plan("SELECT MEDIAN(age) FROM people", None, 3)
    dear = [to_plain(question) for question in plan[0].questions]
    agent.ledger.reserve("people", None, dear, lambda _: 9)
    found = verify("--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["first_bad_row"] == agent.ledger.head().sequence


@pytest.mark.parametrize(
    "question",
    [
        Question(Statistic.COUNT, Leaf("age", ((0, 4),)), None, None, 0, 9),
        Question(Statistic.SUM, Leaf("sex", ((0, 0),)), Form((("age", 1),), 0, 1), None, 0, 9),
    ],
)
def test_a_question_about_a_column_that_its_schema_lacks_is_one_sentence(question):
    sex = {"sex": {"kind": "private", "values": ["F", "M"]}}
    schema = Schema.read({"table": {"name": "people"}, "columns": sex}).to_toml()
    with pytest.raises(InputError, match="a column that its recorded schema does not have"):
        reprice(schema, [to_plain(question)], "1")


def test_a_private_number_of_rows_beside_open_columns_is_no_constant(tmp_path):
    columns = {"b": {"kind": "open", "range": [0, 1], "step": 1}}
    table = {"name": "t", "rows": "private", "max_rows": 2}
    schema, ledger = {"table": table, "columns": columns}, tmp_path / "l.db"
    with Agent({"b": [0, 1]}, schema, budget=4, ledger=ledger) as agent:
        assert agent.ask("SELECT COUNT(*) FROM t", error=0, vacuous=True).bits == 0
        assert verify_prices(agent.ledger).holds


# --- verify mutations ---

NOT_CHECKED = {
    ("any", "note"),
    ("any", "promise"),
    ("reserve", "analyst"),  # without an allowance
    ("commit", "analyst"),
    ("commit", "answers"),  # another cell of the range
    ("reserve", "questions"),  # without an answer: another question of the same price
    ("reserve", "rules"),  # of the last row: older ones by which it costs the same
}
"""As docs/ledger.md lists it, "What `verify` does not check"."""
WRONG = (None, True, 0, 1, -1, 7, "", "0", "1", "2", "99", "x", [], {})


def leaves(plain, path=()):
    yield path
    if isinstance(plain, (dict, list)):
        for word in plain if isinstance(plain, dict) else range(len(plain)):
            yield from leaves(plain[word], (*path, word))


def put(plain, path, value):
    if not path:
        return value
    copied = plain.copy()
    copied[path[0]] = put(plain[path[0]], path[1:], value)
    return copied


def forgeries(entry):
    """Yield the name of a value, and the row with another one."""
    for name in FIELDS[1:-2]:
        text = getattr(entry, name)
        if name not in {"content", "state"}:
            for other in ("", "0", "1", "2", "99", "ann", "x", text + "0"):
                yield name, replace(entry, **{name: other})
            continue
        plain = json.loads(text)
        for path in leaves(plain):
            for other in WRONG:
                word = path[0] if name == "content" and path else name
                yield word, replace(entry, **{name: canonical(put(plain, path, other))})


@pytest.fixture
def mutated_rows(agent, people):
    agent.ask("SELECT COUNT(*) FROM people WHERE age >= 50")
    agent.allow("ann", 3)
    agent.ask("SELECT AVG(age) FROM people", bits=2, analyst="ann")
    agent.set_budget(16)
    agent.update(people)
    agent.ask(["SELECT COUNT(*) FROM people", "SELECT MEDIAN(age) FROM people"], bits=1)
    desk = agent.desk  # a publication is charged, and its answer is not in the ledger
    questions = questions_of(desk.plan(["SELECT SUM(age) FROM people WHERE pay = 1"], 40, None))
    plain = [to_plain(question) for question in questions]
    agent.ledger.reserve(
        "people", None, plain, desk.prices(questions), note="publication", rules=RULES
    )
    return agent.ledger.entries()


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.15, pytest.param(1, marks=pytest.mark.long)])
def test_what_is_accepted_of_forged_rows_is_what_is_documented(mutated_rows, share):
    order = random.Random(29)  # noqa: S311 - nothing secret
    checks = (reprice, open_cells, None, may_answer)
    assert replay(mutated_rows, *checks)[1].holds
    assert problem_of(mutated_rows) is None
    accepted, tried = set(), 0
    for at, entry in enumerate(mutated_rows):
        for name, forged in forgeries(entry):
            if forged == entry or order.random() >= share:
                continue
            tried += 1
            if replay(
                rechained([*mutated_rows[:at], forged, *mutated_rows[at + 1 :]]),
                *checks,
            )[1].holds:
                accepted.add(("any" if name in {"time", "note", "promise"} else entry.kind, name))
    assert tried > 3000 * share
    assert accepted <= NOT_CHECKED, accepted - NOT_CHECKED
    assert share < 1 or accepted == NOT_CHECKED, NOT_CHECKED - accepted
