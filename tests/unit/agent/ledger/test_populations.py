"""Datasets about the same people share one budget, whatever happens and whoever asks."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hartley.agent.ledger import open_ledger
from hartley.agent.replay import replay
from hartley.errors import OptionError, Refused
from hartley.exact import floor_power
from hartley.trusted.ledger.chain import add_row, find
from hartley.trusted.ledger.rows import BEFORE_THE_FIRST
from hartley.trusted.ledger.state import one_part


def q(*keys):
    return [{"q": key} for key in keys]


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


def rechained(entries):
    found = []
    for number, entry in enumerate(entries, 1):
        previous = found[-1].hash if found else BEFORE_THE_FIRST
        fitting = replace(entry, sequence=number, previous=previous)
        found.append(replace(fitting, hash=fitting.expected_hash))
    return found


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
