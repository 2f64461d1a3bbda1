"""A scan of people with several rows, against the definitions; and columns that say the same."""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from hartley import scan
from hartley.kernels.uniques import minimal_uniques_of_people
from hartley.studies.look.scan import _exposure
from hartley.studies.look.special_uniques import uniques_of_codes


def exposed(rows, k=3):
    """Return people, those unique and those among few, by the definition."""
    held = defaultdict(set)
    for person, *key in rows:
        held[tuple(key)].add(person)
    least = {
        person: min(len(held[tuple(key)]) for other, *key in rows if other == person)
        for person, *_ in rows
    }
    few = [size for size in least.values() if size < k]
    return least, few.count(1), len(few)


@pytest.mark.parametrize(
    ("rows", "people", "few", "unique"),
    [
        ("1a 1a 1a 1a 1a 1a", 1, 1, 1),
        ("1a 1a 1a 1a 1a 2a", 2, 2, 0),
        ("1a 1a 1a 1a 1a 1a 2a 3a 4a 5a", 5, 0, 0),
        ("1a 2a 3b 4b", 4, 4, 0),
        ("1a 1b 2a 3a 3b 4b", 4, 0, 0),
        ("1a 1a 2a 3a 3a 4a", 4, 0, 0),
    ],
)
def test_people_of_the_worked_examples(rows, people, few, unique):
    persons, classes = np.array([[int(r[0]) - 1, ord(r[1]) - 97] for r in rows.split()]).T
    _, counts = _exposure(classes, np.bincount(classes), persons, 3)
    assert (counts.rows, counts.among_few, counts.unique) == (people, few, unique)


def visits(seed, rows=60, people=25):
    rng = np.random.default_rng(seed)
    return {
        "patient_id": [f"P{i}" for i in [*range(people), *rng.integers(0, people, rows - people)]],
        "age": (20 + rng.integers(0, 4, rows)).tolist(),
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "region": rng.choice(["N", "S", "W"], rows).tolist(),
        "diagnosis": rng.choice(["flu", "hiv", "cold"], rows, p=[0.8, 0.1, 0.1]).tolist(),
    }


@pytest.mark.parametrize("seed", range(12))
def test_a_scan_counts_people_and_not_rows(seed):
    table = visits(seed)
    report = scan(table, k=3)
    assert report.unit == "patient_id"
    assert report.keys == ("age", "sex", "region")
    persons = table["patient_id"]
    rows = list(zip(persons, *(table[name] for name in report.keys), strict=True))
    least, unique, few = exposed(rows)
    assert (report.people.rows, report.people.unique, report.people.among_few) == (25, unique, few)
    assert report.class_sizes.tolist() == [least[person] for person in persons]
    assert report.most_rows == max(Counter(persons).values())
    said = f"60 rows of 25 people; the most rows of one person are {report.most_rows}."
    assert said in " ".join(str(report).split())
    assert sum(band.records for band in report.sizes) == 25
    assert sum(b.records for b in report.sizes if b.high == 1) == unique
    # Told: the others of the class cannot hold all rows of its commonest diagnosis.
    held, stays = defaultdict(Counter), Counter(rows)
    for (_, *key), ill in zip(rows, table["diagnosis"], strict=True):
        held[tuple(key)][ill] += 1
    told = {
        person
        for (person, *key), times in stays.items()
        for ills in [held[tuple(key)]]
        if times > sum(ills.values()) - max(ills.values())
    }
    assert report.given_away == {"diagnosis": len(told)}
    assert report.to_dict()["verdicts"]["diagnosis"]["told"] == len(told)


def singled_out(columns, persons, largest):
    """Return for every row the minimal combinations whose class is of one person."""
    found = [set() for _ in persons]
    for size in range(1, largest + 1):
        for chosen in combinations(range(len(columns)), size):
            held = defaultdict(set)
            keys = list(zip(*(columns[at] for at in chosen), strict=True))
            for key, person in zip(keys, persons, strict=True):
                held[key].add(person)
            for row, key in enumerate(keys):
                if len(held[key]) == 1 and not any({*part} < {*chosen} for part in found[row]):
                    found[row].add(chosen)
    return found


@pytest.mark.parametrize("seed", range(30))
def test_combinations_that_leave_one_person_alone(seed):
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 30)), int(rng.integers(1, 5))
    codes = [rng.integers(0, rng.integers(1, 5), rows) for _ in range(columns)]
    persons = rng.integers(0, rng.integers(1, 12), rows)
    expected = singled_out([c.tolist() for c in codes], persons.tolist(), 3)
    names = tuple(f"q{at}" for at in range(columns))
    uniques = uniques_of_codes("t", names, codes, largest=3, persons=persons)
    for row in range(rows):
        assert {*uniques.of(row)} == {tuple(names[at] for at in c) for c in expected[row]}
    alone = {person for person, found in zip(persons.tolist(), expected, strict=True) if found}
    assert uniques.singled_out == len(alone)
    for combination in uniques.combinations:
        chosen = tuple(names.index(name) for name in combination.columns)
        who = {p for p, found in zip(persons.tolist(), expected, strict=True) if chosen in found}
        assert combination.records == len(who)


def test_columns_of_many_values_are_numbered_on_the_way():
    rng = np.random.default_rng(0)
    codes = [rng.permutation(np.arange(900) % 300) for _ in range(4)]
    persons = np.arange(900) % 450
    parts = minimal_uniques_of_people(codes, persons, 2).parts
    expected = singled_out([c.tolist() for c in codes], persons.tolist(), 2)
    found = [set() for _ in persons]
    for mask, records in parts:
        for record in records:
            found[record].add(tuple(at for at in range(4) if mask >> at & 1))
    assert found == expected


def test_a_row_without_a_unit_is_a_person_of_its_own():
    table = visits(1)
    table["patient_id"] = [None if i % 10 == 0 else p for i, p in enumerate(table["patient_id"])]
    report = scan(table)
    people = len({p for p in table["patient_id"] if p}) + 6
    assert report.people.rows == people


@pytest.mark.parametrize(
    ("name", "values", "is_unit"),
    [
        ("PatNr", [i % 40 for i in range(60)], True),
        ("Customer", [i % 40 for i in range(60)], True),
        ("Customer", [i % 10 for i in range(60)], False),  # perhaps kinds of them
        ("surname", [f"n{i % 40}" for i in range(60)], False),
        ("email", [f"a{i % 40}@b.at" for i in range(60)], False),
        ("case", [f"C{i:05d}" for i in range(60)], False),  # nobody has several rows
        ("patient_id", ["P1"] * 60, False),
    ],
)
def test_which_column_is_the_unit(name, values, is_unit):
    report = scan({name: values, "age": [i % 50 for i in range(60)]})
    assert (report.unit == name) == is_unit
    assert (report.roles.named("unit") == (name,)) == is_unit
    hint = f"{name} has 40 values in 60 rows: give it the role unit if it names people."
    assert (hint in report.headline) == (name in {"surname", "email"})


def test_of_two_units_the_one_with_more_values_is_taken():
    table = {
        "customer_id": [i % 30 for i in range(90)],
        "patient_id": [i % 45 for i in range(90)],
        "age": [i % 7 for i in range(90)],
    }
    report = scan(table)
    assert report.roles.named("unit", "identifier") == ("customer_id", "patient_id")
    assert report.unit == "patient_id"


# --- columns that say the same --------------------------------------------------------------------


def roles_of(report):
    return {column.name: column.role for column in report.columns}


def test_what_tells_a_key_is_not_released_beside_it():
    rng = np.random.default_rng(4)
    education = rng.integers(0, 6, 600)
    noisy = np.where(rng.random(600) < 0.01, 0, education)
    table = {
        "education": [f"e{i}" for i in education],
        "income_class": education.tolist(),  # confidential by its name, and the same in numbers
        "x": noisy.tolist(),
        "sex": rng.choice(["F", "M"], 600).tolist(),
        "salary": rng.integers(0, 90_000, 600).tolist(),
        "constant": ["c"] * 600,
    }
    report = scan(table, largest=2)
    assert roles_of(report) == {
        "education": "key",
        "income_class": "undecided",
        "x": "undecided",
        "sex": "key",
        "salary": "confidential",
        "constant": "kept",
    }
    said = {column.name: column.why for column in report.columns}
    assert "says the same as education, which is a key" in said["income_class"]
    assert "says the same as education, which is a key" in said["x"]


def test_what_tells_the_unit_is_an_identifier():
    persons = [i % 60 for i in range(600)]
    table = {
        "patient_id": persons,
        "cost_unit": [f"c{p * 7 % 60}" for p in persons],
        "age": [20 + p % 9 for p in persons],
    }
    report = scan(table, largest=2)
    assert roles_of(report) == {"patient_id": "unit", "cost_unit": "identifier", "age": "key"}


def test_a_key_that_follows_from_another_one_can_be_its_groups():
    rng = np.random.default_rng(6)
    zips = rng.integers(1000, 1040, 900)
    table = {"zip": [str(z) for z in zips], "county": [f"c{z // 10}" for z in zips]}
    report = scan(table)
    assert report.roles.named("key") == ("zip", "county")
    assert "county follows from zip: its groups can be a hierarchy for zip." in report.sentences


def test_independent_columns_say_nothing_of_each_other():
    rng = np.random.default_rng(7)
    table = {f"q{i}": rng.integers(0, 3, 500).tolist() for i in range(8)}
    table["missing"] = [None if i % 2 else 1 for i in range(500)]
    assert scan(table, largest=1).dependences == ()


def test_the_headline_opens_with_the_worst_about_people():
    table = {"sex": ["F", "M"] * 500, "diagnosis": ["flu", "hiv"] * 499 + ["hiv", "flu"]}
    headline = scan(table).headline
    # The diagnosis tells the sex, so that a draft does not release it; what it would tell is said.
    assert headline.startswith("the dict: From sex, nobody's diagnosis is certain, but that of all")
    assert "As it is, nobody is unique by sex, and 0 stand among fewer than 5." in headline
    table["age"] = list(range(1000))
    assert scan(table).headline.startswith("the dict: As it is, 1,000 people (100 %) are unique by")


@pytest.mark.parametrize("times", [1, 2])
def test_missing_secrets_that_one_group_lacks_more_often_are_not_nothing(times):
    rows = [("a", "flu")] * 5 + [("a", "hiv")] * 5 + [("b", "flu")] * 5 + [("b", "hiv")] * 5
    more = [("a", None)] * 8 + [("b", None)] * 2
    for lacking, word in ((more, "shifts"), ([("a", None)] * 4 + [("b", None)] * 4, "nothing")):
        people = [*rows, *lacking]
        sex, ill = zip(*people * times, strict=True)
        table = {"sex": list(sex), "diagnosis": list(ill)}
        if times == 2:
            table["patient_id"] = [f"P{k:03d}" for k in range(len(people))] * 2
        report = scan(table)
        assert (report.unit is None) == (times == 1)
        verdict = report.verdicts["diagnosis"]
        assert verdict.word == word, report.headline
        if word == "shifts":
            assert (verdict.left_out, verdict.absent) == (
                10 * times,
                (Fraction(2, 12), Fraction(8, 18)),
            )
