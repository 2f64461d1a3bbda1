"""Datasets about the same people, with one budget and one unit."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from forgeries import q, rechained
from hypothesis import given, settings, strategies as st

from hartley import Agent, Schema, open_ledger
from hartley.agent.replay import replay
from hartley.errors import EngineError, OptionError, Refused
from hartley.exact import floor_power
from hartley.trusted.ledger.chain import add_row, find
from hartley.trusted.ledger.rows import BEFORE_THE_FIRST, Terms, terms_of
from hartley.trusted.ledger.state import one_part


def two(_):
    return 2


def schema(name, **table):
    return {"table": {"name": name, **table}, "columns": {"age": {"kind": "private"}}}


def about(name, bits=8, population="town", **more):
    given = {} if population is None else {"population": population}
    unit = {key: more.pop(key) for key in ("unit",) if key in more}
    return {"bits": bits, "schema": schema(name, **given, **unit), "rows": 9, **more}


@pytest.fixture
def town(place):
    """A ledger with a population of 3 bits and two datasets of 8 bits in it."""
    with open_ledger(place.fresh()) as ledger:
        ledger.record("town", "population", {"bits": 3})
        for name in ("a", "b"):
            ledger.record(name, "created", about(name))
        yield ledger


def test_three_datasets_about_the_same_people_never_tell_more_than_their_budget(town):
    town.record("c", "created", about("c"))
    town.reserve("a", None, q(1), two)
    town.reserve("b", "ann", q(1), two)
    assert town.state("c").remaining == 1.0
    town.reserve("c", None, q(1), two)
    for name in ("a", "b", "c"):
        with pytest.raises(Refused, match="population 'town'") as caught:
            town.reserve(name, None, q(2), two)
        assert (caught.value.requested, caught.value.remaining) == (1.0, 0.0)
        assert not town.affords(name, None, q(2), two)
        assert "population 'town'" in town.offer(name, None, q(2), two).refusal.problem
        assert town.affords(name, None, q(1), two)  # a repeat is free
        assert town.balance(name).left == 1
        assert town.balance(name).tightest == "the budget of the population 'town'"
    (population,) = town.populations()
    assert population.datasets == ("a", "b", "c")
    assert population.balance.spent == 8
    assert town.verify().holds


def test_the_budgets_of_the_members_hold_too(town):
    town.record("c", "created", about("c", bits=1))
    town.reserve("c", None, q(1), two)
    with pytest.raises(Refused, match="0 bits are left"):
        town.reserve("c", None, q(2), two)
    assert town.state("c").balance.tightest == ""
    assert town.reserve("a", None, q(2), two).balance.left == 2


def test_open_columns_count_with_every_version(town):
    town.record("c", "created", about("c", open_factor=2))
    assert town.populations()[0].balance.spent == 2
    for kind in ("version", "erasure"):
        town.record("c", kind, {"rows": 9})
    for act in (
        lambda: town.record("c", "version", {"rows": 9}),
        lambda: town.record("c", "erasure", {"rows": 9}),
        lambda: town.record("c", "schema", {"schema": schema("c", population="town", x=1)}),
        lambda: town.record("d", "created", about("d", open_factor=2)),
    ):
        head = town.head()
        with pytest.raises(Refused, match="population 'town'"):
            act()
        assert town.head() == head
    town.record("town", "population", {"bits": 4})
    town.record("c", "version", {"rows": 9})
    assert town.verify().holds


def test_a_dataset_joins_with_its_whole_history_or_not_at_all(town):
    town.record("c", "created", about("c", population=None, open_factor=2))
    town.reserve("c", None, q(1), two)
    town.record("c", "version", {"rows": 3})
    town.reserve("a", None, q(1), two)
    joined = {"schema": schema("c", population="town"), "open_charge": 1}
    with pytest.raises(Refused, match="does not fit"):
        town.record("c", "schema", joined)
    assert town.populations()[0].datasets == ("a", "b")
    entry = town.record("town", "population", {"bits": 4})
    assert entry.told["before"] == "3"
    assert "16 different transcripts of all its datasets" in entry.told["promise"]
    town.record("c", "schema", joined)
    assert town.populations()[0].balance.spent == 16
    for name in ("a", "b", "c"):
        with pytest.raises(Refused):
            town.reserve(name, None, q(9), two)
    assert town.verify().holds


def test_a_budget_is_never_lowered_below_what_is_spent(town):
    town.reserve("a", None, q(1), two)
    town.reserve("b", None, q(1), two)
    with pytest.raises(OptionError, match="the charges so far exceed"):
        town.record("town", "population", {"bits": "1.9"})
    town.record("town", "population", {"bits": 2})
    with pytest.raises(Refused):
        town.reserve("a", None, q(2), two)
    for content in ({}, {"bits": "x"}, {"bits": -1}, {"bits": 1, "unit": "id"}):
        with pytest.raises(OptionError):
            town.record("town", "population", content)
    for name in ("", "a\nb", "x" * 201):
        with pytest.raises(OptionError, match="population"):
            town.record(name, "population", {"bits": 1})


def test_a_population_is_left_only_before_anything_was_charged(town):
    town.record("village", "population", {"bits": 5})
    town.record("a", "schema", {"schema": schema("a")})
    town.record("a", "schema", {"schema": schema("a", population="village")})
    town.reserve("a", None, q(1), two)
    for other in ({}, {"population": "town"}):
        with pytest.raises(Refused, match="cannot leave the population 'village'"):
            town.record("a", "schema", {"schema": schema("a", **other)})
    assert {each.name: each.datasets for each in town.populations()} == {
        "town": ("b",),
        "village": ("a",),
    }
    assert town.verify().holds


def test_a_population_must_be_known_and_of_one_unit(town):
    with pytest.raises(OptionError, match=r"no population 'city'.*hartley ledger population"):
        town.record("c", "created", about("c", population="city"))
    with pytest.raises(OptionError, match="a different unit from 'a'"):
        town.record("c", "created", about("c", unit="id"))
    town.record("c", "created", about("c", population=None, unit="id"))
    with pytest.raises(OptionError, match="different unit"):
        town.record("c", "schema", {"schema": schema("c", population="town", unit="id")})
    assert town.datasets() == ["a", "b", "c"]


def test_rows_of_populations_travel(town, sqlite_place, tmp_path):
    town.reserve("a", None, q(1), two)
    town.export(tmp_path / "x")
    town.backup(tmp_path / "y")
    for name in ("x", "y"):
        with open_ledger(sqlite_place.fresh()) as copy:
            copy.restore(tmp_path / name)
            assert copy.entries() == town.entries()
            assert copy.populations() == town.populations()
            assert copy.verify().holds


def test_a_dataset_may_be_called_like_its_population(place):
    with open_ledger(place.fresh()) as ledger:
        ledger.record("town", "population", {"bits": 1})
        ledger.record("town", "created", about("town"))
        ledger.reserve("town", "town", q(1), two)
        with pytest.raises(Refused):
            ledger.reserve("town", "town", q(2), two)
        assert ledger.datasets() == ["town"]
        assert ledger.verify().holds


# --- many at once -------------------------------------------------------------------------------


@pytest.mark.slow
def test_processes_that_ask_several_datasets_never_pass_the_shared_budget(place, drive):
    address, bits = place.fresh(), "23.5"
    found = drive("shared", address, processes=6, keys=15, bits=bits)
    assert all(one["refused"] for one in found)
    with open_ledger(address) as ledger:
        report = ledger.verify()
        assert report.holds, report.problem
        states = [ledger.state(name) for name in ledger.datasets()]
        charged = math.prod(
            charge.cells for name in ledger.datasets() for charge in ledger.history(name)
        )
        opened = [entry for entry in ledger.entries() if entry.kind in {"created", "version"}]
        spent = charged * 2 ** len(opened)
        assert spent == math.prod(state.open_factor * state.spent for state in states)
        assert spent == ledger.populations()[0].balance.spent
        assert floor_power(bits) // 2 < 2 * spent <= 2 * floor_power(bits)  # and hardly less
        paid = sum(len(ledger.history(name)) for name in ledger.datasets())
        assert paid == sum(one["paid"] for one in found)


# --- a plain model ------------------------------------------------------------------------------

NAMES, POPULATIONS, UNITS = ("a", "b", "c"), ("", "p", "p", "r"), ("", "", "id")
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from(NAMES), st.integers(0, 4)),
        st.tuples(st.just("ask"), st.sampled_from(NAMES), st.integers(0, 4)),
        st.tuples(st.just("version"), st.sampled_from(NAMES)),
        st.tuples(
            st.just("create"),
            st.sampled_from(NAMES),
            st.sampled_from(POPULATIONS),
            st.sampled_from(UNITS),
            st.integers(1, 2),
        ),
        st.tuples(
            st.just("schema"),
            st.sampled_from(NAMES),
            st.sampled_from(POPULATIONS),
            st.sampled_from(UNITS),
            st.integers(1, 2),
        ),
        st.tuples(st.just("population"), st.sampled_from(["p", "r"]), st.integers(0, 5)),
        st.tuples(st.just("budget"), st.sampled_from(NAMES), st.integers(0, 6)),
    ),
    max_size=30,
)


class Town:
    """The rules once more, as plain lists of charges from which everything is counted anew."""

    def __init__(self):
        self.shared = {}
        self.datasets = {}

    def told(self, name):
        return math.prod(self.datasets[name]["charges"])

    def fits(self):
        """Whether every budget holds what was charged to it."""
        for name, data in self.datasets.items():
            if self.told(name) > 2 ** data["bits"]:
                return False
        for population, bits in self.shared.items():
            members = [n for n, d in self.datasets.items() if d["population"] == population]
            if math.prod(self.told(name) for name in members) > 2**bits:
                return False
            if len({self.datasets[name]["unit"] for name in members}) > 1:
                return False
        wanted = {d["population"] for d in self.datasets.values()} - {""}
        return wanted <= self.shared.keys()

    def attempt(self, change):
        """Change something, or leave all as it was where a budget would not hold it."""
        before = (
            dict(self.shared),
            {n: {**d, "charges": list(d["charges"])} for n, d in self.datasets.items()},
        )
        if change() is not False and self.fits():
            return True
        self.shared, self.datasets = before
        return False

    def act(self, kind, name, *values):
        if kind not in {"create", "population"} and name not in self.datasets:
            return False
        return self.attempt(lambda: getattr(self, kind)(name, *values))

    def ask(self, name, key):
        data = self.datasets[name]
        if (data["version"], key) not in data["paid"]:
            data["paid"] = data["paid"] | {(data["version"], key)}
            data["charges"].append(2 + key % 2)

    def version(self, name):
        self.datasets[name]["charges"].append(self.datasets[name]["factor"])
        self.datasets[name]["version"] += 1

    def create(self, name, population, unit, factor):
        if name in self.datasets:
            return False
        self.datasets[name] = {
            "bits": 5, "population": population, "unit": unit, "factor": factor,
            "charges": [factor], "version": 0, "paid": frozenset(),
        }  # fmt: skip
        return True

    def schema(self, name, population, unit, factor):
        data = self.datasets[name]
        if self.told(name) > 1 and data["unit"] != unit:
            return False
        if self.told(name) > 1 and data["population"] not in {"", population}:
            return False
        data |= {"population": population, "unit": unit, "factor": factor}
        self.version(name)
        return True

    def population(self, name, bits):
        self.shared[name] = bits

    def budget(self, name, bits):
        self.datasets[name]["bits"] = bits


def perform(ledger, number, what):
    kind, name, *values = what
    try:
        if kind == "ask":
            ledger.reserve(name, None, q(values[0]), lambda _: 2 + values[0] % 2)
        elif kind in {"create", "schema"}:
            population, unit, factor = values
            table = {k: v for k, v in (("population", population), ("unit", unit)) if v}
            content = {
                "schema": schema(name, number=number, **table),
                "rows": 1,
                "open_factor": factor,
                "version": f"{number:016x}",
            }
            if kind == "create":
                ledger.record(name, "created", {**content, "bits": 5})
            else:
                ledger.record(name, "schema", content)
        elif kind == "version":
            ledger.record(name, "version", {"rows": 1})
        else:
            ledger.record(name, kind, {"bits": values[0]})
    except (Refused, OptionError):
        return False
    return True


@pytest.mark.slow
@settings(max_examples=80)
@given(ACTS)
def test_whatever_happens_every_budget_is_that_of_the_plain_rules(tmp_path_factory, acts):
    folder, town = tmp_path_factory.mktemp("acts"), Town()
    with open_ledger(folder / "ledger.db") as ledger:
        for number, what in enumerate(acts):
            assert perform(ledger, number, what) == town.act(*what), what
            assert {each.name: int(each.balance.bits) for each in ledger.populations()} == (
                town.shared
            )
            for each in ledger.populations():
                members = {n for n, d in town.datasets.items() if d["population"] == each.name}
                assert set(each.datasets) == members
                assert each.balance.spent == math.prod(town.told(name) for name in members)
            for name in town.datasets:
                assert ledger.state(name).balance.spent == town.told(name)
        report = ledger.verify()
        assert report.holds, report.problem
        middle = ledger.entries()[len(ledger.entries()) // 2] if ledger.entries() else None
        if middle is not None:
            from hartley.trusted.ledger.rows import Head

            again = ledger.verify(since=Head(middle.sequence, middle.hash))
            assert again.holds, again.problem
            assert again.head == report.head


# --- forged histories ---------------------------------------------------------------------------


def test_verify_finds_a_charge_that_the_population_does_not_hold(town):
    town.reserve("a", None, q(1), lambda _: 4)

    def forge(transaction):
        at = find(transaction, "b")
        after = replace(
            at,
            state=replace(at.state, parts=one_part(4)),
            account=replace(at.account, parts=one_part(4)),
        )
        told = {"fresh": [0], "questions": q(1), "version": at.state.version}
        add_row(transaction, after, "reserve", told, cells=4, account_cells=4)

    town.store.write(forge)
    report = town.verify()
    assert (report.holds, report.first_bad) == (False, 5)
    assert "population 'town' exceed its budget" in report.problem


@pytest.mark.parametrize(
    ("row", "name", "old", "new"),
    [
        (1, "state", '"budget":"3"', '"budget":"30"'),
        (1, "state", '"spent":"1"', '"spent":"0"'),
        (1, "content", '"bits":"3"', '"bits":"30"'),
        (1, "content", "at most 8", "at most 9"),
        (1, "account", "town", "city"),
        (1, "account", "town", ""),
        (1, "dataset", "", "a"),
        (1, "cells", "1", "2"),
        (1, "analyst", "", "ann"),
        (2, "state", ',"population":"town"', ""),
        (2, "content", '"population":"town"', '"population":"city"'),
    ],
)
def test_verify_finds_a_population_that_was_forged(town, row, name, old, new):
    entries = town.entries()
    value = getattr(entries[row - 1], name)
    forged = value.replace(old, new) if old else new
    assert forged != value
    changed = replace(entries[row - 1], **{name: forged})
    _, report = replay(rechained([*entries[: row - 1], changed, *entries[row:]]))
    assert not report.holds


def test_verify_finds_members_that_leave_or_have_another_unit(town, place):
    town.reserve("a", None, q(1), two)
    entries = town.entries()
    with open_ledger(place.fresh()) as other:  # the same without the rules of a population
        other.record("a", "created", about("a", population=None))
        other.record("b", "created", about("b", population=None, unit="id"))
        strange = other.entries()[1]
    joined = replace(
        strange,
        content=strange.content.replace('"name":"b"', '"name":"b","population":"town"'),
    )
    for forged in ([entries[0], entries[1], joined], [*entries[1:]]):
        assert not replay(rechained(forged))[1].holds


def test_a_population_of_fractions_of_bits_is_the_floor_of_its_power(place):
    with open_ledger(place.fresh()) as ledger:
        ledger.record("town", "population", {"bits": "7/3"})
        for name in ("a", "b"):
            ledger.record(name, "created", about(name))
        assert floor_power(Fraction(7, 3)) == 5
        ledger.reserve("a", None, q(1), lambda _: 2)
        with pytest.raises(Refused):
            ledger.reserve("b", None, q(1), lambda _: 3)
        ledger.reserve("b", None, q(1), lambda _: 2)


# --- units ---

DATA = {"id": [1, 1, 2, 3], "age": [30, 40, 50, 60], "sex": ["F", "F", "M", "F"]}
FEW = {name: values[1:] for name, values in DATA.items()}
AGE = {"kind": "private", "range": [0, 127], "step": 1}
SEX = {"kind": "private", "values": ["F", "M"]}


def unit_schema(columns=None, **table):
    return {"table": {"name": "people", **table}, "columns": columns or {"age": AGE, "sex": SEX}}


def written(*args, **table):
    return Schema.read(unit_schema(*args, **table)).to_toml()


BY_ID = {"unit": "id", "rows_per_unit": 2}
CHANGES = [({}, BY_ID), (BY_ID, {}), (BY_ID, {"unit": "house", "rows_per_unit": 2})]


@pytest.mark.parametrize(("before", "after"), CHANGES)
@pytest.mark.parametrize("form", [unit_schema, written])
@pytest.mark.parametrize("charge", ["question", "open column", "earlier version"])
def test_the_unit_stays_once_anything_was_charged(place, before, after, form, charge):
    with open_ledger(place.fresh()) as ledger:
        factor = 2 if charge == "open column" else 1
        about = {"schema": form(**before), "rows": 4, "open_factor": factor}
        ledger.record("people", "created", {"bits": 9, **about})
        if charge != "open column":
            ledger.reserve("people", None, q(1), lambda _: 2)
        if charge == "earlier version":
            ledger.record("people", "version", {"rows": 4})
        head = ledger.head()
        for version in ({}, {"rows": 4, "version": "c" * 16}):
            with pytest.raises(Refused, match="earlier charges were counted for"):
                ledger.record("people", "schema", {"schema": form(**after), **version})
        assert ledger.head() == head
        assert ledger.verify().holds
        same = {"schema": form(**before, default_bits=2), "rows": 4, "version": "d" * 16}
        ledger.record("people", "schema", same)
        assert ledger.overview("people").broken is None


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_before_anything_was_charged_the_unit_may_be_another(place, before, after):
    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", {"bits": 9, "schema": written(**before), "rows": 4})
        ledger.reserve("people", None, q(1), lambda _: 1)  # a constant tells nothing
        changed = {"schema": written(**after), "rows": 4, "version": "c" * 16}
        ledger.record("people", "schema", changed)
        assert ledger.verify().holds


def test_a_charge_between_check_and_record_counts(place):
    """The rule is looked at in the transaction that writes, not before it."""
    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", {"bits": 9, "schema": written(), "rows": 4})
        write = ledger.store.write

        def later(work, **settings):
            ledger.store.write = write
            ledger.reserve("people", None, q(1), lambda _: 2)
            return write(work, **settings)

        ledger.store.write = later
        with pytest.raises(Refused, match="counted for one row"):
            ledger.record("people", "schema", {"schema": written(**BY_ID)})
        assert ledger.state("people").spent == 2


@pytest.mark.slow
def test_an_agent_keeps_its_unit_and_its_summary_true(tmp_path):
    with Agent(FEW, unit_schema(), ledger=tmp_path / "l.db", budget=4) as agent:
        agent.ask("SELECT COUNT(*) FROM people WHERE age > 40")
        before, files = agent.ledger.head(), sorted(tmp_path.iterdir())
        with pytest.raises(Refused, match=r"counted for one row.*; hint: keep the unit"):
            agent.change_schema(unit_schema(**BY_ID), DATA)
        assert agent.ledger.head() == before
        assert sorted(tmp_path.iterdir()) == files  # no copy stays
        assert agent.ask("SELECT COUNT(*) FROM people WHERE age > 40").bits == 0
        assert "broken" not in agent.summary()


@pytest.mark.slow
def test_more_or_fewer_rows_of_the_same_unit_are_fine_with_new_data(tmp_path):
    one = {"unit": "id", "rows_per_unit": 1}
    with Agent(FEW, unit_schema(**one), ledger=tmp_path / "l.db", budget=9) as agent:
        agent.ask("SELECT SUM(age) FROM people", bits=1)
        agent.change_schema(unit_schema(**BY_ID), DATA)
        agent.ask("SELECT SUM(age) FROM people", bits=1)
        agent.change_schema(unit_schema(**one), FEW)
        agent.change_schema(unit_schema(**one, rows="private", max_rows=9), FEW)
        agent.change_schema(unit_schema({"age": AGE, "sex": {**SEX, "kind": "open"}}, **one), FEW)
        agent.change_schema(unit_schema({"age": AGE}, **one), FEW)
        assert agent.ledger.verify().holds


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (unit_schema(**BY_ID), unit_schema(unit="id"), "more rows than it allows"),
        (
            unit_schema(rows="private", max_rows=9),
            unit_schema(rows="private", max_rows=8),
            "more rows than it allows",
        ),
        (unit_schema(rows="private", max_rows=9), unit_schema(), "number of rows is private"),
        (
            unit_schema(),
            unit_schema({"age": AGE, "sex": {**SEX, "kind": "public"}}),
            "column 'sex' is private",
        ),
        (unit_schema(), unit_schema({"age": {**AGE, "step": "127"}}), "column 'age' was coded"),
        (
            unit_schema(),
            unit_schema({"age": AGE, "sex": {**SEX, "kind": "open"}}),
            "opening column 'sex'",
        ),
        (unit_schema(), unit_schema({"age": AGE}), "column 'sex' is still in the data"),
        (unit_schema(), unit_schema(rows="private", max_rows=3), "more rows than it allows"),
        (unit_schema(), unit_schema(**BY_ID), "the number of rows per person was never checked"),
    ],
)
def test_the_same_data_stay_what_their_charges_were_made_for(place, before, after, problem):
    with open_ledger(place.fresh()) as ledger:
        about = {"bits": 9, "schema": Schema.read(before).to_toml(), "rows": 4}
        ledger.record("people", "created", about)
        changed = {"schema": Schema.read(after).to_toml(), "open_factor": 2, "open_charge": 1}
        with pytest.raises(Refused, match=problem):
            ledger.record("people", "schema", changed)
        new_data = {"rows": 4, "version": "c" * 16}
        with pytest.raises(Refused, match="new data must be charged for all of their open columns"):
            ledger.record("people", "schema", {**changed, **new_data})
        ledger.record("people", "schema", {**changed, **new_data, "open_charge": 2})
        assert ledger.verify().holds


def test_a_column_does_not_come_back_opened_for_nothing(tmp_path):
    with Agent(FEW, unit_schema(), ledger=tmp_path / "l.db", budget=4) as agent:
        ledger = agent.ledger
        with pytest.raises(Refused, match="column 'age' is still in the data"):
            ledger.record("people", "schema", {"schema": written({"sex": SEX})})
        opened = {"schema": written({"age": {**AGE, "kind": "open"}, "sex": SEX})}
        with pytest.raises(Refused, match="opening column 'age' must be charged"):
            ledger.record("people", "schema", {**opened, "open_factor": 128, "open_charge": 1})
        assert agent.ask("SELECT COUNT(*) FROM people WHERE age > 40").bits == 1


# --- histories of the time before the rule --------------------------------------------------------


@pytest.fixture
def broken(monkeypatch, place):
    """A ledger with such an event, as the program wrote it once."""
    address = place.fresh()
    with monkeypatch.context() as patch:
        patch.setattr("hartley.trusted.ledger.chain.problem_of_schema", lambda *_, **__: None)
        with open_ledger(address) as ledger:
            ledger.record("people", "created", {"bits": 9, "schema": written(), "rows": 4})
            ledger.reserve("people", None, q(1), lambda _: 2)
            ledger.record("people", "schema", {"schema": written(**BY_ID), "open_charge": 1})
    return address


def test_a_history_that_broke_the_rule_opens_and_is_reported(broken):
    with open_ledger(broken) as ledger:
        ledger.reserve("people", None, q(2), lambda _: 2)
        report = ledger.verify()
        assert (report.holds, report.intact, report.first_bad, report.rows) == (False, True, 3, 4)
        assert "row 3 changes the schema of 'people'" in report.problem
        assert report.sentence.startswith("The chain is intact, but its promise is broken: row 3")
        assert "row 3 changed the schema" in ledger.overview("people").broken


@pytest.mark.slow
def test_a_summary_says_that_its_promise_is_broken(monkeypatch, tmp_path):
    with Agent(FEW, unit_schema(), ledger=tmp_path / "l.db", budget=4) as agent:
        agent.ask("SELECT COUNT(*) FROM people WHERE age > 40")
        with monkeypatch.context() as patch:
            patch.setattr("hartley.trusted.ledger.chain.problem_of_schema", lambda *_, **__: None)
            agent.change_schema(unit_schema(**BY_ID), DATA)
        assert agent.summary().splitlines()[-1].startswith("That promise is broken: row 4 changed")


def test_such_a_history_is_restored_only_by_force(broken, place, tmp_path):
    with open_ledger(broken) as ledger:
        ledger.export(tmp_path / "x")
    with open_ledger(place.fresh()) as other:
        with pytest.raises(EngineError, match=r"row 3 changes the schema.*; hint: nothing was"):
            other.restore(tmp_path / "x")
        assert other.head() is None
        other.restore(tmp_path / "x", force=True)
        assert not other.verify().holds


def test_force_does_not_restore_a_chain_that_was_changed(broken, place, tmp_path):
    with open_ledger(broken) as ledger:
        ledger.export(tmp_path / "x")
    text = (tmp_path / "x").read_text()
    (tmp_path / "y").write_text(text.replace('"analyst":""', '"analyst":"eve"', 1))
    with open_ledger(place.fresh()) as other, pytest.raises(EngineError, match="was changed"):
        other.restore(tmp_path / "y", force=True)


def test_a_promise_that_was_broken_does_not_hide_a_row_that_was_changed(broken):
    with open_ledger(broken) as ledger:
        ledger.reserve("people", None, q(2), lambda _: 2)
        entries = ledger.entries()
    for at in range(4):
        rows = [replace(entry, time="x") if n == at else entry for n, entry in enumerate(entries)]
        _, report = replay(rows)
        assert (report.holds, report.intact, report.first_bad) == (False, False, at + 1)
    assert entries[0].previous == BEFORE_THE_FIRST


@pytest.mark.parametrize("rows", ["9" * 5000, "[" * 5000, "1e999999999"])
def test_a_recorded_schema_with_what_nobody_reads_says_nothing(rows):
    assert terms_of(f"[table]\nrows = {rows}\n") == Terms()


def test_steps_that_differ_far_behind_the_point_are_different_steps():
    one, other = (
        terms_of(f'[columns.x]\nkind = "private"\nstep = 0.1{"0" * 20}{digit}\n').columns["x"]
        for digit in "12"
    )
    assert one != other
