"""What answers leave of one row, against every table that could have led to them.

The agent answers; which tables are consistent, and which answers a row can cause, is enumerated
here from the questions in the ledger alone, by enumerator.py beside this file.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil

import enumerator
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hartley import Agent, Schema, transcripts_of
from hartley.attacks.differencing import Differencing
from hartley.attacks.reconstruction import Reconstruction
from hartley.errors import Refused
from hartley.knowledge.transcript import AnswerCell, one_row_left, possible_records
from hartley.knowledge.transcript_bounds import Relaxation
from hartley.trusted.questions.batch import from_plain

COLUMNS = {
    "place": {"kind": "public", "values": ["a", "b"]},
    "sex": {"kind": "open", "values": ["F", "M"]},
    "age": {"kind": "private", "range": [20, 24], "step": 1, "nullable": True},
    "pay": {"kind": "private", "range": [0, 3], "step": 1},
}
NUMBERS = st.sampled_from(["age", "pay", "age + pay", "2*pay - age"])
TESTS = st.sampled_from(
    ["age >= 22", "pay = 3", "pay < 2", "age IS NULL", "place = 'a'", "sex = 'F'", "NOT age = 21"]
)


@st.composite
def questions(draw, columns=tuple(COLUMNS)):
    """Return the SQL of one question, and what it may cost."""
    kinds = ["COUNT(*)", "SUM({})", "AVG({})", "VAR_POP({})", "MIN({})", "MEDIAN({})", "MAX({})"]
    what = draw(st.sampled_from(kinds)).format(draw(NUMBERS))
    tests = draw(st.lists(TESTS, max_size=2))
    where = f"WHERE {draw(st.sampled_from([' AND ', ' OR '])).join(tests)}" if tests else ""
    text = f"SELECT {what} FROM t {where}"  # noqa: S608 - a question to an agent
    unknown = [name for name in COLUMNS if name not in columns]
    if any(name in text for name in unknown):
        text = "SELECT COUNT(*) FROM t WHERE pay >= 2"
    return text, draw(st.sampled_from([1, 2, 3]))


def tables(columns, least, most):
    row = st.fixed_dictionaries(
        {name: _values(COLUMNS[name]) for name in columns if name in COLUMNS}
    )
    return st.lists(row, min_size=least, max_size=most)


def _values(column):
    if "values" in column:
        return st.sampled_from(column["values"])
    low, high = column["range"]
    numbers = st.integers(low, high)
    return st.none() | numbers if column.get("nullable") else numbers


def asked(folder, people, columns, wishes, **table):
    """Ask an agent, and return its schema, its ledger's questions and cells, and transcripts."""
    schema = {
        "table": {"name": "t", **table},
        "columns": {name: COLUMNS[name] for name in columns},
    }
    data = {name: [row[name] for row in people] for name in columns}
    kinds = {"place": pa.string(), "sex": pa.string(), "age": pa.int64(), "pay": pa.int64()}
    arrow = pa.table({name: pa.array(values, kinds[name]) for name, values in data.items()})
    with Agent(arrow, schema, budget=14, ledger=folder / "ledger.db") as agent:
        for text, bits in wishes:
            try:
                agent.ask(text, bits=bits)
            except Refused:
                continue
        heard = {
            from_plain(plain): None if answer == "null" else int(answer)
            for charge in agent.history()
            for plain, answer in zip(charge.questions, charge.answers, strict=True)
        }
        found = transcripts_of(agent.ledger, data=arrow), transcripts_of(agent.ledger)
        return Schema.read(schema), heard, *found


def coded(schema, row):
    """Return the codes of a row of values."""
    found = {}
    for name, column in schema.columns.items():
        value = row[name]
        if value is None:
            found[name] = None
        elif column.values is not None:
            found[name] = column.values.index(value)
        else:
            found[name] = value - int(column.low)
    return found


def cell(question, table):
    """Answer a question about a table of codes, by its definition."""
    values = [
        1 if question.form is None else enumerator.value(question.form, record)
        for record in table
        if enumerator.passes(question.where, record)
    ]
    kind = question.statistic.value
    if kind == "order statistic":
        if not values:
            return None
        rank = max(ceil(question.quantile * len(values)), 1)
        total = sorted(values)[rank - 1]
    else:
        total = sum(v * v if kind == "sum of squares" else v for v in values)
    return (total - question.least) // question.step


def possible(heard, groups):
    """Return for every row which records it has in some table with the same answers."""
    found = [set() for _ in groups]
    for table in product(*groups):
        if all(cell(question, table) == told for question, told in heard.items()):
            for row, record in zip(found, table, strict=True):
                row.add(tuple(record.items()))
    return found


def records_of(schema):
    return enumerator.World(schema).records


def values_left(schema, left, column):
    place = list(schema.columns).index(column)
    return {record[place][1] for record in left}


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_exact_ranges_are_those_of_all_consistent_tables_and_bounds_hold_them(
    data, tmp_path_factory
):
    columns = data.draw(st.sampled_from([("age", "pay"), ("place", "pay"), ("sex", "pay")]))
    rows = data.draw(tables(columns, 2, 3 if "age" not in columns else 2))
    wishes = data.draw(st.lists(questions(columns), min_size=1, max_size=4))
    schema, heard, told, untold = asked(tmp_path_factory.mktemp("t"), rows, columns, wishes)
    if not heard:
        return
    truth = [coded(schema, row) for row in rows]
    hidden = [name for name in columns if schema.columns[name].kind == "private"]
    shown = [name for name in columns if name not in hidden]
    every = records_of(schema)
    near = [[r for r in every if all(r[n] == row[n] for n in shown)] for row in truth]
    for transcripts, groups in ((told, near), (untold, [every] * len(rows))):
        left = possible(heard, groups)
        assert all(tuple(row.items()) in one for row, one in zip(truth, left, strict=True))
        for part in transcripts:
            assert part.left_out == 0
            exact = possible_records(part)
            relaxed = Relaxation(part)
            for place, group in enumerate(part.groups):
                mine = [one for one, row in zip(left, truth, strict=True) if _in(part, group, row)]
                for i, name in enumerate(part.columns):
                    if name not in hidden:
                        continue
                    wanted = set().union(*(values_left(schema, one, name) for one in mine))
                    kept = group.records[exact[place]]
                    assert _values_of(part, kept, i) == wanted
                    assert part.values(i, kept) == len(wanted)
                    reach = relaxed.bound_one_row(place, part.records[group.records, i])
                    starts = {_start(part, i, code) for code in wanted - {None}}
                    assert all(reach[0] <= code <= reach[1] for code in starts)


def _in(part, group, row):
    """Whether a true row belongs to a group: some record of it has the row's codes."""
    codes = [_start(part, i, row[name]) for i, name in enumerate(part.columns)]
    return any((part.records[r] == codes).all() for r in group.records)


def _start(part, column, code):
    """Return the code that stands for a code in a column that is cut into pieces."""
    if code is None:
        return -1
    return max(c for c in np.unique(part.records[:, column]).tolist() if 0 <= c <= code)


def _values_of(part, records, column):
    found = set()
    for record in records.tolist():
        code = int(part.records[record, column])
        width = int(part.widths[record, column])
        found |= {None} if code < 0 else set(range(code, code + width))
    return found


@settings(max_examples=18, deadline=None)
@given(data=st.data())
def test_a_row_causes_as_many_answers_as_enumerated_and_never_more_than_charged(
    data, tmp_path_factory
):
    secret = data.draw(st.booleans())
    columns = ("sex", "age", "pay") if secret else ("place", "sex", "age", "pay")
    rows = data.draw(tables(columns, 1, 6))
    wishes = data.draw(st.lists(questions(columns), min_size=1, max_size=5))
    table = {"rows": "private", "max_rows": 7} if secret else {}
    schema, heard, told, _ = asked(tmp_path_factory.mktemp("t"), rows, columns, wishes, **table)
    if not heard:
        return
    finding = Reconstruction(most=20_000).attack(*told)
    truth = [coded(schema, row) for row in rows]
    assert finding.truth_inside
    assert finding.keeps_promise, finding.headline
    most, fewest = 1, 10**9
    shown = [name for name in columns if schema.columns[name].kind != "private"]
    every = records_of(schema)
    for i, row in enumerate(truth):
        others = truth[:i] + truth[i + 1 :]
        mine = [[r] for r in every if all(r[name] == row[name] for name in shown)]
        answers = {
            id(one): tuple(cell(question, others + one) for question in heard) for one in mine
        }
        own = tuple(cell(question, truth) for question in heard)
        most = max(most, len(set(answers.values())))
        fewest = min(fewest, sum(found == own for found in answers.values()))
    assert finding.transcripts <= finding.charged
    assert finding.transcripts >= most  # parts are combined, so a worse row than any may be meant
    if len(told) == 1:
        untouched = 1
        for name, column in schema.columns.items():
            if column.kind == "private" and name not in told[0].columns:
                untouched *= column.size
        mine = [one for one in one_row_left(told[0]) if one.type != _absent_type(told[0])]
        assert min(one.left for one in mine) * untouched == fewest
        assert max(one.transcripts for one in mine) == most


def _absent_type(part):
    """With an open column, rows that are not there are of a type of their own."""
    if part.types is None or part.truth is None or (part.records[-1] != -2).any():
        return None
    return int(part.types[-1])


# --- planted leaks ------------------------------------------------------------------------------


@pytest.fixture
def town(tmp_path):
    """Ask about everybody, and about everybody but one person whom a public column tells apart."""
    columns = {
        "who": {"kind": "public", "values": ["eve", "others"]},
        "pay": {"kind": "private", "range": [0, 50], "step": 1},
    }
    data = {"who": ["eve", *["others"] * 20], "pay": [37, *range(10, 30)]}

    def ask(*wishes, budget=40):
        place = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        schema = {"table": {"name": "town"}, "columns": columns}
        with Agent(data, schema, budget=budget, ledger=place) as agent:
            for text, wish in wishes:
                agent.ask(text, **wish)
            return transcripts_of(agent.ledger, data=data)

    return ask


ALL, BUT_ONE = "SELECT SUM(pay) FROM town", "SELECT SUM(pay) FROM town WHERE who = 'others'"


def test_differencing_and_reconstruction_find_a_person_whom_fine_answers_give_away(town):
    told = town((ALL, {"error": 0}), (BUT_ONE, {"error": 0}))
    finding = Differencing().attack(*told)
    assert finding.worst.rows == 1
    assert (finding.worst.after, finding.worst.before) == (1, 51)
    assert "isolates a single row" in finding.headline
    rebuilt = Reconstruction().attack(*told)
    assert rebuilt.worst.values == 1
    assert rebuilt.worst.rows == 1
    assert rebuilt.keeps_promise
    assert rebuilt.alone == 21


def test_coarse_answers_within_a_small_budget_leave_nearly_everything(town):
    told = town((ALL, {"bits": 1}), (BUT_ONE, {"bits": 1}), budget=4)
    rebuilt = Reconstruction().attack(*told)
    assert rebuilt.transcripts <= 4
    assert rebuilt.worst.excluded < 0.05
    assert Differencing().attack(*told).number.value < 0.05


def test_nothing_is_found_in_answers_about_everybody(town):
    told = town((ALL, {"bits": 1}), budget=4)
    assert Reconstruction().attack(*told).worst.excluded == 0
    finding = Differencing().attack(*told)
    assert finding.number.value == 0
    assert finding.headline.startswith("No combination of 1 answer tells anything about a single")


def test_a_lie_about_the_table_is_seen(town):
    (told,) = town((ALL, {"error": 0}))
    moved = told.truth.copy()
    moved[[10, 11]] += [-1, 1]
    finding = Reconstruction().attack(replace(told, truth=moved))
    assert finding.truth_inside is False
    assert any("NOT among" in sentence for sentence in finding.sentences)


def test_a_linear_programme_bounds_what_is_too_much_to_enumerate(town):
    told = town((ALL, {"error": 0}), (BUT_ONE, {"error": 0}))
    finding = Reconstruction(most=0).attack(*told)
    assert not finding.worst.exact
    assert finding.worst.values == 1  # of the one whom both answers isolate
    assert finding.truth_inside


def test_steps_are_rational_numbers_and_answers_stay_in_whole_ones():
    ones = np.ones(3, np.int64)
    told = AnswerCell("", ones > 0, ones, 1, (2, 3), least=-3, step=Fraction(7, 3))
    assert told.cells(np.array([-3, -1, 0, 2, 10**12])).tolist() == [
        int((n + 3) // Fraction(7, 3)) for n in (-3, -1, 0, 2, 10**12)
    ]
