"""Anonymized tables of people who live together: k counts households."""

from itertools import product

import numpy as np
import pytest

from hartley import OptionError, anonymity, anonymize
from hartley.reports.render import page


def roles_of(**columns):
    return {"confirmed": True, "columns": {n: {"role": role} for n, role in columns.items()}}


ROLES = roles_of(age="key", zip="key", home="household")


def households_by_definition(release, homes):
    """For every class of the released keys, the households whose members are in it."""
    classes = {}
    for keys, home in zip(zip(*release, strict=True), homes, strict=True):
        classes.setdefault(keys, set()).add(home)
    return classes


def test_a_class_of_one_family_is_no_class():
    people = {"age": [30] * 4 + [40] * 4, "home": ["a"] * 4 + ["b", "c", "d", "e"]}
    rows = anonymize(people, "age", 4)
    homes = anonymize(people, k=4, roles=roles_of(age="key", home="household"))
    assert rows.levels == ((0, 1),)
    assert homes.levels == ((1, 1),)
    assert "counted in households" in homes.headline
    assert "other households, of 5" in homes.sentences[2]
    assert homes.sentences[2] in str(homes).replace("\n  ", " ")
    assert homes.sentences[2] in page(homes.report())
    assert homes.to_dict()["households"] == 5
    assert "households" not in rows.to_dict()


def test_the_household_is_not_released():
    people = {"age": [30, 30], "home": ["a", "b"]}
    release = anonymize(people, k=2, roles=roles_of(age="key", home="household"))
    assert release.table.column_names == ["age"]


@pytest.mark.parametrize("seed", range(12))
def test_the_release_loses_least_among_those_with_enough_households(seed):
    rng = np.random.default_rng(seed)
    n, k, suppress = int(rng.integers(12, 40)), int(rng.integers(2, 4)), rng.choice([0, 0.2])
    people = {
        "age": rng.integers(0, 12, n).tolist(),
        "zip": [f"{digits:02d}" for digits in rng.integers(0, 30, n)],
        "home": [None if h == 0 else f"h{h}" for h in rng.integers(0, max(n // 2, 4), n)],
    }
    homes = [home or f"alone {i}" for i, home in enumerate(people["home"])]
    widths = {"age": [3, 6], "zip": {z: [z[0]] for z in people["zip"]}}
    release = anonymize(people, k=k, hierarchy=widths, suppress=suppress, roles=ROLES)

    def coarse(node):
        ages = [a if not node[0] else a // (0, 3, 6, 1)[node[0]] for a in people["age"]]
        ages = ages if node[0] < 3 else ["*"] * n
        zips = [(z, z[0], "*")[node[1]] for z in people["zip"]]
        return list(zip(ages, zips, strict=True))

    def loss(node):
        keys = coarse(node)
        together = households_by_definition(zip(*keys, strict=True), homes)
        stays = [len(together[key]) >= k for key in keys]
        if n - sum(stays) > int(suppress * n):
            return None
        total = 0
        for at, name in enumerate(("age", "zip")):
            all_values = set(people[name])
            spans = {}
            for key, value in zip(keys, people[name], strict=True):
                spans.setdefault(key[at], set()).add(value)
            for key, stay in zip(keys, stays, strict=True):
                lost = (len(spans[key[at]]) - 1) / max(len(all_values) - 1, 1) if stay else 1
                total += lost
        return total / (2 * n)

    losses = [value for node in product(range(4), range(3)) if (value := loss(node)) is not None]
    assert float(release.loss) == pytest.approx(min(losses))
    node = [at for at, _ in release.levels]
    keys = coarse(node)
    together = households_by_definition(zip(*keys, strict=True), homes)
    kept = sum(len(together[key]) >= k for key in keys)
    assert release.rows - release.suppressed == kept == release.table.num_rows
    assert release.classes == sum(len(members) >= k for members in together.values())


def test_what_is_released_is_anonymous_for_whole_households_too():
    rng = np.random.default_rng(5)
    people = {
        "age": rng.integers(20, 60, 300).tolist(),
        "zip": rng.integers(10, 15, 300).tolist(),
        "home": rng.integers(0, 120, 300).tolist(),
    }
    release = anonymize(people, k=5, hierarchy={"age": [5, 10, 20]}, roles=ROLES)
    rows = {name: release.table.column(name).to_pylist() for name in ("age", "zip")}
    report = anonymity(rows | {"home": people["home"]}, keys=["age", "zip"], roles=ROLES)
    assert (report.people.among_few, report.people.household_among_few) == (0, 0)


def test_more_than_the_households_are_refused():
    people = {"age": [30, 30, 40], "zip": [1, 1, 1], "home": ["a", "a", "b"]}
    with pytest.raises(OptionError, match="k = 3 is larger than the 2 households"):
        anonymize(people, k=3, roles=ROLES)


def test_mondrian_which_counts_records_is_refused():
    people = {"age": [30, 30, 40], "zip": [1, 1, 1], "home": ["a", "a", "b"]}
    with pytest.raises(OptionError, match="'home' says which of them are of one household"):
        anonymize(people, k=2, method="mondrian", roles=ROLES)
