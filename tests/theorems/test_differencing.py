"""What combinations of answers settle, against every table that could have led to them.

An agent answers; which tables fit is enumerated here from the questions in its ledger alone, by
their definitions. Nothing of the programme that is tested takes part in that.
"""

import importlib.util
from dataclasses import replace
from itertools import combinations, product
from math import ceil
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings, strategies as st

from hartley import Agent, Schema, transcripts_of
from hartley.attacks import differencing
from hartley.attacks.differencing import Differencing
from hartley.errors import Refused
from hartley.trusted.questions.batch import from_plain

spec = importlib.util.spec_from_file_location(
    "enumerator", Path(__file__).with_name("enumerator.py")
)
enumerator = importlib.util.module_from_spec(spec)
spec.loader.exec_module(enumerator)

COLUMNS = {
    "who": {"kind": "public", "values": ["a", "b", "c"]},
    "age": {"kind": "private", "range": [20, 21], "step": 1, "nullable": True},
    "pay": {"kind": "private", "range": [0, 4], "step": 1},
}
KINDS = {"who": pa.string(), "age": pa.int64(), "pay": pa.int64()}
ASKED = ["COUNT(*)", "SUM(pay)", "AVG(pay)", "SUM(2*pay - age)", "VAR_POP(pay)", "MEDIAN(pay)"]
TESTS = ["who = 'a'", "who = 'b'", "who <> 'c'", "pay >= 2", "age = 21", "age IS NULL", "pay = 4"]
LINEAR = {"count", "sum", "sum of squares"}


@st.composite
def sessions(draw):
    """Return a few people, a few questions about them, and what the table is."""
    rows = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "who": st.sampled_from(["a", "b", "c"]),
                    "age": st.sampled_from([None, 20, 21]),
                    "pay": st.integers(0, 4),
                }
            ),
            min_size=2,
            max_size=3,
        )
    )
    wishes = []
    for _ in range(draw(st.integers(1, 4))):
        tests = draw(st.lists(st.sampled_from(TESTS), max_size=2, unique=True))
        where = f" WHERE {draw(st.sampled_from([' AND ', ' OR '])).join(tests)}" if tests else ""
        what = draw(st.sampled_from(ASKED))
        text = f"SELECT {what} FROM t{where}"  # noqa: S608 - a question to an agent
        wishes.append((text, draw(st.sampled_from([1, 2, 9]))))
    columns = draw(st.sampled_from([("who", "pay"), ("who", "age"), ("age", "pay")]))
    table = draw(st.sampled_from([{}, {}, {"rows": "private", "max_rows": 3}]))
    return rows, wishes, columns, table


def asked(folder, rows, wishes, columns, table):
    """Ask an agent; return its schema, the questions with their cells, and both transcripts."""
    schema = {"table": {"name": "t", **table}, "columns": {n: COLUMNS[n] for n in columns}}
    if table and "who" in columns:  # who is there is private, so nothing of them is public
        schema["columns"]["who"] = {**COLUMNS["who"], "kind": "open"}
    data = pa.table({n: pa.array([row[n] for row in rows], KINDS[n]) for n in columns})
    with Agent(data, schema, budget=30, ledger=folder / "ledger.db") as agent:
        for text, bits in wishes:
            if any(name in text for name in COLUMNS if name not in columns):
                continue
            try:
                agent.ask(text, bits=bits)
            except Refused:
                continue
        told = {
            from_plain(plain): None if answer == "null" else int(answer)
            for charge in agent.history()
            for plain, answer in zip(charge.questions, charge.answers, strict=True)
        }
        known = transcripts_of(agent.ledger, data=data)
        return Schema.read(schema), told, known, transcripts_of(agent.ledger)


def number(question, record):
    """Return what one row adds to a total."""
    if not enumerator.passes(question.where, record):
        return 0
    if question.form is None:
        return 1
    value = enumerator.value(question.form, record)
    return value * value if question.statistic.value == "sum of squares" else value


def cell(question, table):
    """Answer a question about a table of codes, by its definition."""
    if question.statistic.value in LINEAR:
        total = sum(number(question, record) for record in table)
    else:
        values = sorted(
            enumerator.value(question.form, record)
            for record in table
            if enumerator.passes(question.where, record)
        )
        if not values:
            return None
        total = values[max(ceil(question.quantile * len(values)), 1) - 1]
    return (total - question.least) // question.step


def fitting(told, possible):
    """Return every table with the same answers; None in the place of a row that is not there."""
    tables = []
    for table in product(*possible):
        there = [record for record in table if record is not None]
        if all(cell(question, there) == answer for question, answer in told.items()):
            tables.append(table)
    return tables


def total(part, costs, rows):
    """Return the total of a target over a table of records of a transcript."""
    found = 0
    for place, record in rows:
        group = part.transcript.groups[place]
        at = group.records.tolist().index(record)
        found += int(costs[place][part.relaxed.kinds[place].kinds[at]])
    return found


def record_of(transcript, row):
    """Return the number of the record that stands for a row, or for none."""
    codes = []
    for i, name in enumerate(transcript.columns):
        if row is None:
            codes.append(-2)
            continue
        starts = {code for code in transcript.records[:, i].tolist() if code >= 0}
        codes.append(-1 if row[name] is None else max(c for c in starts if c <= row[name]))
    return transcript.records.tolist().index(codes)


@settings(
    max_examples=20, deadline=None, phases=[Phase.generate]
)  # a table takes seconds to shrink
@given(sessions(), st.integers(1, 2), st.booleans())
def test_totals_are_bounded_by_and_settled_only_with_all_tables_that_fit(
    tmp_path_factory, session, within, blind
):
    rows, wishes, columns, table = session
    folder = tmp_path_factory.mktemp("t")
    schema, told, known, unknown = asked(folder, rows, wishes, columns, table)
    transcripts = unknown if blind else known
    if not told:
        return
    coded = [code(schema, row) for row in rows]
    public = [n for n in columns if schema.columns[n].kind == "public"]
    seen = not blind and not table
    every = enumerator.World(schema).records
    possible = [
        [r for r in every if not seen or all(r[n] == row[n] for n in public)] for row in coded
    ]
    if table:
        possible = [[*every, None]] * table["max_rows"]
    tables = fitting(told, possible)
    assert tables
    finding = Differencing(within).attack(*transcripts)
    assert finding.left_out == 0
    assert not finding.untried
    assert all(difference.verify() for difference in finding.differences)
    for transcript in transcripts:
        part = differencing._Part(transcript, within)
        records = [[record_of(transcript, row) for row in one] for one in tables]
        group_of = {
            int(r): place for place, group in enumerate(transcript.groups) for r in group.records
        }
        for target in part.targets():
            found = part.difference(target, 200_000, tried=True)
            if target.one_row:
                (atom,) = target.atoms
                kinds = part.relaxed.kinds[atom.group]
                mine = [k for k, theirs in enumerate(atom.kinds) if theirs]
                wanted = {
                    int(target.costs[0][mine.index(kind)])
                    for one in records
                    for record in one
                    if group_of[record] == atom.group
                    for kind in [
                        kinds.kinds[transcript.groups[atom.group].records.tolist().index(record)]
                    ]
                    if atom.kinds[kind]
                }
                if found is None:
                    assert not wanted
                    continue
            else:
                wanted = {
                    total(part, target.costs, [(group_of[r], r) for r in one]) for one in records
                }
            if not wanted:
                continue
            assert found.low <= min(wanted)
            assert max(wanted) <= found.high
            assert found.at_least <= len(wanted) <= found.after
            assert (found.verdict == "settled") <= (len(wanted) == 1)
            assert (found.verdict == "not settled") <= (len(wanted) > 1)
            # So small a table is followed to its end: nothing may stay open.
            assert found.exact
            assert found.after == len(wanted)
    if seen:
        assert_nothing_is_missed(finding, told, tables, coded, every, public)


def code(schema, row):
    found = {}
    for name, column in schema.columns.items():
        value = row[name]
        if value is None:
            found[name] = None
        else:
            found[name] = column.values.index(value) if column.values else value - int(column.low)
    return found


def assert_nothing_is_missed(finding, told, tables, *rows_and_public):
    """Look for anybody whom the answers settle, by the rows that share public values."""
    coded, every, public = rows_and_public
    groups = {}
    for i, row in enumerate(coded):
        groups.setdefault(tuple(row[n] for n in public), []).append(i)
    settled = {one.rows for one in finding.isolating if one.verdict == "settled"}
    for size in range(1, len(groups) + 1):
        for chosen in combinations(groups.values(), size):
            people = [i for group in chosen for i in group]
            if len(people) > finding.within:
                continue
            for question in told:
                if question.statistic.value not in LINEAR:
                    continue
                varies = all(
                    len(
                        {
                            number(question, r)
                            for r in every
                            if all(r[n] == coded[group[0]][n] for n in public)
                        }
                    )
                    > 1
                    for group in chosen
                )
                left = {sum(number(question, one[i]) for i in people) for one in tables}
                if varies and len(left) == 1:
                    # Rows that nothing asked tells apart are settled one by one.
                    assert min(settled, default=99) <= len(people)


# --- planted ------------------------------------------------------------------------------------

TOWN = {"pay": {"kind": "private", "range": [0, 50], "step": 1}}


def town(folder, people, *texts, budget=60, **wish):
    names = list(dict.fromkeys(people["who"]))
    columns = {**TOWN, "who": {"kind": "public", "values": names}}
    schema = {"table": {"name": "town"}, "columns": columns}
    with Agent(people, schema, budget=budget, ledger=folder / "town.db") as agent:
        for text in texts:
            agent.ask(f"SELECT {text}", **(wish or {"error": 0}))
        return transcripts_of(agent.ledger, data=people), transcripts_of(agent.ledger)


def test_the_third_person_is_found_by_subtracting_two_answers_from_one(tmp_path):
    people = {"who": ["eve", "a", "b"], "pay": [37, 32, 14]}
    texts = [f"SUM(pay) FROM town{where}" for where in ("", " WHERE who='a'", " WHERE who='b'")]
    known, blind = town(tmp_path, people, *texts)
    for transcripts in (known, blind):
        finding = Differencing().attack(*transcripts)
        assert finding.headline.startswith("Combining 3 answers isolates a single row")
        assert (finding.worst.low, finding.worst.after, finding.worst.rows) == (37, 1, 1)
        assert [str(term.times) for term in finding.worst.combination] == ["1", "-1", "-1"]
        assert finding.number.is_exact
        assert "37" not in " ".join([finding.headline, *finding.sentences])


def test_a_changed_multiplier_proves_nothing(tmp_path):
    people = {"who": ["eve", "a", "b"], "pay": [37, 32, 14]}
    texts = [f"SUM(pay) FROM town{where}" for where in ("", " WHERE who='a'", " WHERE who='b'")]
    known, _ = town(tmp_path, people, *texts)
    worst = Differencing().attack(*known).worst
    assert worst.verify()
    for relation, multiplier in worst.below.multipliers.items():
        for change in (1, -1):
            changed = {**worst.below.multipliers, relation: multiplier + change}
            assert not replace(worst, below=replace(worst.below, multipliers=changed)).verify()
    assert not replace(worst, low=worst.low + 1).verify()
    assert not replace(worst, below=replace(worst.below, target={0: 1})).verify()


def test_halves_of_answers_are_combined(tmp_path):
    """Eve is half of eve + a plus eve + b less a + b."""
    people = {"who": ["eve", "a", "b", "c"], "pay": [37, 32, 14, 9]}
    pairs = [("eve", "a"), ("eve", "b"), ("a", "b")]
    texts = [f"SUM(pay) FROM town WHERE who='{one}' OR who='{two}'" for one, two in pairs]
    known, _ = town(tmp_path, people, *texts)
    settled = [one for one in Differencing().attack(*known).isolating if one.verdict == "settled"]
    assert sorted(one.low for one in settled) == [14, 32, 37]
    assert {str(term.times) for one in settled for term in one.combination} == {"1/2", "-1/2"}


def test_a_total_of_rows_that_nobody_counted_is_settled_without_the_table(tmp_path):
    people = {"who": ["eve", "eve", *["a"] * 9], "pay": [20, 30, *[10] * 9]}
    texts = "SUM(pay) FROM town", "SUM(pay) FROM town WHERE who <> 'eve'"
    _, blind = town(tmp_path, people, *texts)
    finding = Differencing().attack(*blind)
    assert finding.worst is None
    assert "settles a total of rows that public columns tell apart" in finding.headline
    assert "not known without the true table" in " ".join(finding.sentences)


def test_answers_about_everybody_isolate_nobody_and_all_combinations_were_tried(tmp_path):
    people = {"who": ["eve", *["a"] * 30], "pay": [37, *range(30)]}
    known, _ = town(tmp_path, people, "SUM(pay) FROM town", bits=1)
    finding = Differencing().attack(*known)
    assert finding.headline.startswith("No combination of 1 answer tells anything about a single")
    assert finding.number.is_exact
    assert not finding.untried


def test_what_was_not_tried_is_not_denied(tmp_path, monkeypatch):
    people = {"who": ["eve", *["a"] * 30], "pay": [37, *range(30)]}
    known, _ = town(tmp_path, people, "SUM(pay) FROM town", bits=1)
    monkeypatch.setattr(differencing, "MOST_TARGETS", 0)
    finding = Differencing().attack(*known)
    assert finding.headline.endswith("not all were tried.")
    assert any("only pairs of answers" in sentence for sentence in finding.sentences)
    assert finding.number.high > 0
    assert all(one.verdict != "not settled" for one in finding.few)


@pytest.mark.parametrize("pay", [0, 50])
def test_a_total_at_its_end_settles_everybody_in_it(tmp_path, pay):
    people = {"who": ["a"] * 5 + ["b"] * 5, "pay": [pay] * 5 + [20] * 5}
    known, _ = town(tmp_path, people, "SUM(pay) FROM town WHERE who = 'a'")
    finding = Differencing().attack(*known)
    assert finding.headline == "One answer leaves 1 of 51 possible values to any one of 5 rows."
