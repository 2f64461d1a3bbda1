"""Anonymized tables: k records or households share their keys, and no release loses less."""

import json
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings, strategies as st

from hartley import OptionError, anonymity, anonymize
from hartley.datasets.people import people
from hartley.errors import ColumnError
from hartley.policies.hierarchy import key_levels
from hartley.reports.render import page
from hartley.studies.release import generalisation as lattice
from hartley.studies.release.generalisation import KeyPoints, search_lattice
from hartley.tables.opening import open_table

JOBS = {
    "cook": ["food", "work"],
    "baker": ["food", "work"],
    "nurse": ["health", "work"],
    None: ["none", "none"],
}
WIDTHS = [10, 20]
ROWS = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 60)), st.sampled_from(list(JOBS))),
    min_size=1,
    max_size=25,
).filter(lambda rows: any(r[0] is not None for r in rows) and any(r[1] for r in rows))


def generalised(age, job, levels):
    """Return the keys of a record at the given levels."""
    shown = age
    if levels[0] == 3:
        shown = "*"
    elif levels[0] and age is not None:
        width = WIDTHS[levels[0] - 1]
        shown = f"[{age // width * width}, {age // width * width + width})"
    return shown, [job, *JOBS[job], "*"][levels[1]]


def plain_best(rows, k, suppressible):
    """Return the least loss of all levels, trying every one."""
    ages, jobs = {age for age, _ in rows}, {job for _, job in rows}
    best = None
    for levels in product(range(4), range(4)):
        sizes = Counter(generalised(*row, levels) for row in rows)
        gone = sum(size for size in sizes.values() if size < k)
        if gone > suppressible:
            continue
        groups = [
            Counter(generalised(age, "cook", levels)[0] for age in ages),
            Counter(generalised(1, job, levels)[1] for job in jobs),
        ]
        loss = Fraction(0)
        for row in rows:
            shown = generalised(*row, levels)
            for i, all_values in enumerate((ages, jobs)):
                lost = Fraction(groups[i][shown[i]] - 1, max(len(all_values) - 1, 1))
                loss += lost if sizes[shown] >= k else 1
        loss /= 2 * len(rows)
        best = loss if best is None else min(best, loss)
    return best


def table_of(rows):
    columns = {"age": pa.array([r[0] for r in rows], pa.int64())}
    return pa.table(columns | {"job": [r[1] for r in rows], "id": list(range(len(rows)))})


@pytest.mark.slow
@given(rows=ROWS, k=st.integers(1, 4), share=st.sampled_from(["0", "0.2", "1/2"]))
@settings(max_examples=30, deadline=None)
def test_full_domain_loses_least_of_all_levels_and_is_k_anonymous(rows, k, share):
    if len(rows) < k:
        return
    table = table_of(rows)
    release = anonymize(
        table,
        ["age", "job"],
        k,
        keep="id",
        hierarchy={"age": WIDTHS, "job": JOBS},
        suppress=share,
    )
    suppressible = int(Fraction(share) * len(rows))
    assert release.loss == plain_best(rows, k, suppressible)
    assert release.suppressed <= suppressible
    assert release.table.num_rows == len(rows) - release.suppressed
    levels = [level for level, _ in release.levels]
    for row in release.table.to_pylist():
        age, job = generalised(*rows[row["id"]], levels)
        assert (row["age"], row["job"]) == (age, job)
    recheck(release)


def recheck(release):
    """Count what was released by an independent road."""
    if not release.table.num_rows:
        return
    some = [key for key in release.keys if release.table[key].null_count < release.table.num_rows]
    if some:
        report = anonymity(release.table, keys=some)
        assert report.k >= release.k
        if len(some) == len(release.keys):
            assert report.classes == release.classes


@pytest.mark.slow
@given(rows=ROWS, k=st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_mondrian_is_k_anonymous_and_keeps_every_record_in_its_span(rows, k):
    if len(rows) < k:
        return
    release = anonymize(table_of(rows), ["age", "job"], k, method="mondrian", keep="id")
    assert sorted(release.table["id"].to_pylist()) == list(range(len(rows)))
    for row in release.table.to_pylist():
        shown, age = row["age"], rows[row["id"]][0]
        if isinstance(shown, str) and shown.startswith("["):
            low, high = shown[1:-1].split(" .. ")
            assert high == "missing" if age is None else int(low) <= age
            assert age is None or high == "missing" or age <= int(high)
        else:
            assert str(shown) == str(age)
    assert 0 <= release.loss <= 1
    recheck(release)


@pytest.mark.parametrize("method", ["full-domain", "mondrian"])
@pytest.mark.parametrize("k", [2, 7, 50])
def test_people_become_k_anonymous_over_several_keys(method, k):
    keys = ["age", "sex", "region", "job"]
    options = {"hierarchy": {"age": [5, 10, 50]}, "suppress": 0.05}
    release = anonymize(people(600), keys, k, method=method, **(options if "f" in method else {}))
    report = anonymity(release.table, keys=keys)
    assert (report.k >= k, report.classes) == (True, release.classes)
    assert release.table.column_names == keys
    assert release.suppressed <= 30


def test_keys_of_many_values_are_found_by_sorting():
    rows = {"a": list(range(400)), "b": list(range(400)), "x": [0, 1] * 200}
    release = anonymize(rows, ["a", "b"], 2, method="mondrian", keep="x")
    report = anonymity(release.table, keys=["a", "b"])
    assert (report.k, report.classes) == (2, 144)
    released = release.table.to_pylist()
    assert sum(row["x"] for row in released) == 200
    assert [row["a"] for row in released] == sorted(row["a"] for row in released)


def test_mondrian_loses_no_more_than_one_level_for_everybody():
    keys = ["age", "sex"]
    boxes = anonymize(people(600), keys, 5, method="mondrian")
    levels = anonymize(people(600), keys, 5, hierarchy={"age": [5, 10, 50]})
    assert boxes.loss < levels.loss


def test_what_already_is_k_anonymous_is_released_as_it_is():
    table = {"age": [1.5, 1.5, None, None], "x": [1, 2, 3, 4]}
    for method in ("full-domain", "mondrian"):
        release = anonymize(table, "age", 2, method=method, keep="x")
        assert release.table.to_pydict() == table
        assert (release.loss, release.classes) == (0, 2)
    assert "age is released at level 0 of 1, as it is." in anonymize(table, "age", 2).sentences


TEXTS = open_table({"age": [31, 32, None], "job": ["cook", "nurse", "cook"], "when": [1, 2, 3]})


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], 2), {}, "key column is missing"),
        ((["age", "age"], 2), {}, "named twice"),
        (("age", 0), {}, "not a whole number"),
        (("age", True), {}, "not a whole number"),
        (("age", 4), {}, "k = 4 is larger than the 3 rows of the dict"),
        (("agee", 2), {}, "'agee' is not in the dict"),
        (("age", 2), {"method": "magic"}, "method 'magic' is unknown"),
        (("age", 2), {"suppress": 1}, "not between 0 and 1"),
        (("age", 2), {"suppress": "some"}, "is not a number"),
        (("age", 2), {"method": "mondrian", "suppress": 0.1}, "no bins, hierarchies or"),
        (("age", 2), {"hierarchy": {"job": JOBS}}, "'job' has a hierarchy but is not a key"),
        (("job", 2), {"hierarchy": {"job": [10]}}, "does not hold numbers"),
        (("age", 2), {"hierarchy": {"age": "10"}}, "not a list of widths"),
        (("age", 2), {"hierarchy": {"age": [10, 15]}}, "do not nest"),
        (("age", 2), {"hierarchy": {"age": [0]}}, "not a positive number"),
        (("age", 2), {"hierarchy": {"age": 10}}, "not a list of widths"),
        (
            ("job", 2),
            {"hierarchy": {"job": {"cook": ["a"]}}},
            "Row 2 of the dict, column 'job', has a value that its hierarchy lacks",
        ),
        (
            ("age", 2),
            {"hierarchy": {"age": {31: ["a"]}}},
            "Row 2 of the dict, column 'age', .*lacks, the first of 2 such values",
        ),
        (("age", 2), {"keep": "age"}, "'age' is named twice"),
        (("age", 2), {"keep": "job", "confidential": ["job"]}, "'job' is named twice"),
        (("age", 2), {"keep": "jobs"}, "'jobs' is not in the dict"),
    ],
)
def test_bad_input_is_refused_in_a_sentence_without_values(arguments, options, message):
    with pytest.raises((OptionError, ColumnError), match=message) as caught:
        anonymize(TEXTS, *arguments, **options)
    assert "nurse" not in str(caught.value)


@pytest.mark.parametrize("number", [float("inf"), 10**17 + 1])
def test_numbers_that_lie_in_no_exact_bin_are_refused(number):
    with pytest.raises(ColumnError, match="too large for exact bins") as caught:
        anonymize({"x": [number, number - 1]}, "x", 2, hierarchy={"x": [1, 10]})
    assert "1" not in str(caught.value)


@pytest.mark.parametrize("width", ["1e400", "1e-400", 10**400])
def test_bins_of_hundreds_of_digits_are_refused(width):
    with pytest.raises(ColumnError, match="too large for exact bins"):
        anonymize({"x": [1.5, 2.5]}, "x", 2, hierarchy={"x": [width]})


def test_the_edges_of_fine_bins_are_told_in_full():
    far = {"x": [1234.5671, 1234.5672, 1234.5683, 1234.5684]}
    release = anonymize(far, "x", 2, hierarchy={"x": ["0.001"]})
    assert release.table["x"].to_pylist()[1:3] == ["[1234.567, 1234.568)", "[1234.568, 1234.569)"]


def test_one_group_may_be_named_without_a_list_and_k_may_come_from_numpy():
    groups = {"cook": "work", "nurse": "work", "none": "rest"}
    table = {"job": ["cook", "nurse", "none", "none"]}
    release = anonymize(table, "job", np.int64(2), hierarchy={"job": groups})
    assert release.table["job"].to_pylist() == ["rest", "rest", "work", "work"]
    assert json.dumps(release.to_dict())


@pytest.mark.parametrize("method", ["full-domain", "mondrian"])
def test_a_column_that_nobody_named_is_not_released(method, tmp_path):
    marked = {"row": range(40), "name": [f"NAME-{i}" for i in range(40)]}
    table = pa.table(marked | {"age": [i % 7 for i in range(40)], "ill": ["a", "b"] * 20})
    release = anonymize(table, "age", 3, method=method, confidential="ill")
    assert release.table.column_names == ["age", "ill"]
    assert (release.kept, release.confidential, release.withheld) == (("ill",), ("ill",), 2)
    assert any("2 columns of the table" in sentence for sentence in release.sentences)
    assert "NAME" not in release.write(tmp_path / "out.csv").read_text()
    assert anonymize(table, "age", 3, method=method).table.column_names == ["age"]


KEPT = st.lists(
    st.tuples(
        st.sampled_from([20, 30, None]), st.sampled_from("abc"), st.sampled_from([1.5, None])
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(rows=KEPT)
def test_whom_kept_columns_single_out_is_counted_exactly(rows):
    rows = [(20, "a", 1.5), *rows]
    ages, texts, numbers = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"age": ages, "text": texts, "number": pa.array(numbers, pa.float64())})
    release = anonymize(table, "age", 1, keep="text", confidential="number")

    def alone(places):
        times = Counter(tuple(row[place] for place in places) for row in rows)
        return sum(times[tuple(row[place] for place in places)] == 1 for row in rows)

    text, number = release.singling.columns
    assert (text.alone, text.with_keys) == (alone([1]), alone([0, 1]))
    assert (number.alone, number.with_keys) == (alone([2]), alone([0, 2]))
    assert (release.singling.together, release.singling.rows) == (alone([0, 1, 2]), len(rows))
    named = " ".join(release.sentences)
    assert ("text, released as it is" in named) == (text.with_keys > 0)
    assert ("Yet " in release.headline) == (release.singling.together > 0)
    counts = release.to_dict()["singled_out"]["columns"][0]
    assert (counts["column"], counts["alone"], counts["with_keys"]) == (
        "text",
        text.alone,
        text.with_keys,
    )


def test_a_kept_column_that_identifies_everybody_is_named_in_the_headline():
    table = {"age": [30, 30, 40, 40], "id": [7, 8, 9, 10], "blank": [None] * 4}
    release = anonymize(table, "age", 2, keep=["id", "blank"])
    assert (
        "anonymous over age. Yet id, released as it is, singles out 4 of 4 people together with "
        "the keys: leave out what nobody needs, or make it a key that is coarsened. What it tells"
    ) in release.headline
    assert "identifies everybody: 4 of 4 people by itself" in " ".join(release.sentences)
    assert [column.alone for column in release.singling.columns] == [4, 0]
    twice = anonymize(table | {"name": list("abcd")}, "age", 2, keep=["id", "name"])
    assert "Yet id and name, released as they are, single out 4 of 4 people" in twice.headline
    both = {"age": [30] * 8, "a": [1, 1, 2, 2] * 2, "b": list("xyxyzwzw")}
    jointly = anonymize(both, "age", 2, keep="a", confidential="b")
    assert [column.with_keys for column in jointly.singling.columns] == [0, 0]
    assert "Yet a and b, released as they are, single out 8 of 8 people" in jointly.headline
    assert jointly.to_dict()["headline"] == jointly.headline


def test_what_is_kept_is_released_as_it_is_written(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("id,age\n12345678901234567890,30\n12345678901234567891,31\n007,32\n07,33\n")
    release = anonymize(path, "age", 2, keep="id", hierarchy={"age": [2]}).table
    ids = ["007", "07", "12345678901234567890", "12345678901234567891"]
    assert sorted(release["id"].to_pylist()) == ids
    assert anonymize(path, "id", 1).table["id"].to_pylist() == ids


def test_a_lattice_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(lattice, "MOST_NODES", 3)
    with pytest.raises(OptionError, match="allow 4 combinations of levels"):
        anonymize(TEXTS, ["age", "job"], 2)


@pytest.mark.parametrize("method", ["full-domain", "mondrian"])
def test_records_that_count_as_alike_are_alike_in_the_file_too(tmp_path, method):
    key = pa.array([float("nan"), None, 0.0, -0.0, 1.5, 1.5], from_pandas=False)
    release = anonymize(pa.table({"key": key, "kept": key}), "key", 2, keep="kept", method=method)
    assert release.levels in (None, ((0, 1),))  # as it is
    lines = release.write(tmp_path / "out.csv").read_text().splitlines()[1:]
    assert sorted(Counter(lines).values()) == [2, 2, 2]
    assert release.singling.together == 0


# --- people who live together: k counts households ------------------------------------------------


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


# --- the search for the levels that lose least, against a walk over every node --------------------


def random_lattice(seed):
    rng = np.random.default_rng(seed)
    n, keys = int(rng.integers(8, 80)), int(rng.integers(1, 4))
    columns = [rng.integers(0, int(rng.integers(1, 20)), n).tolist() for _ in range(keys)]
    values = [sorted(set(column)) for column in columns]
    codes = [[v.index(x) for x in column] for v, column in zip(values, columns, strict=True)]
    points, members, counts = np.unique(
        np.array(codes).T, axis=0, return_inverse=True, return_counts=True
    )
    levels = [key_levels("a", v, [2, 4, 8] if rng.random() < 0.7 else None) for v in values]
    k, suppressible = int(rng.integers(1, 5)), int(rng.choice([0, n // 10, n // 3]))
    return KeyPoints(points, counts, members.ravel(), values), levels, k, suppressible


def least_by_definition(points, levels, k, suppressible):
    """The least loss over all nodes whose small classes hold few enough records."""
    losses = []
    for node in product(*(range(len(of_key)) for of_key in levels)):
        groups = [
            tuple(
                int(of_key[at].groups[code])
                for of_key, at, code in zip(levels, node, row, strict=True)
            )
            for row in points.codes.tolist()
        ]
        sizes = {}
        for group, count in zip(groups, points.counts.tolist(), strict=True):
            sizes[group] = sizes.get(group, 0) + count
        total, gone = Fraction(0), 0
        for row, group, count in zip(
            points.codes.tolist(), groups, points.counts.tolist(), strict=True
        ):
            if sizes[group] < k:
                gone += count
                total += count * len(levels)
                continue
            for of_key, at, code, values in zip(levels, node, row, points.values, strict=True):
                same = int((of_key[at].groups == of_key[at].groups[code]).sum())
                total += Fraction(count * (same - 1), max(len(values) - 1, 1))
        if gone <= suppressible:
            losses.append(total / int(points.counts.sum()))
    return min(losses)


@pytest.mark.parametrize("seed", range(25))
def test_no_node_loses_less_than_the_one_that_is_found(seed):
    table = random_lattice(seed)
    assert sum(search_lattice(*table).losses) == least_by_definition(*table)


def test_few_of_many_nodes_are_tried(monkeypatch):
    group, tried = lattice._group, []
    monkeypatch.setattr(lattice, "_group", lambda *given: tried.append(1) or group(*given))
    rng = np.random.default_rng(1)
    codes = np.unique(rng.integers(0, 64, (400, 4)), axis=0)
    counts, members = np.ones(len(codes), np.int64), np.arange(len(codes))
    levels = [key_levels("a", list(range(64)), [2, 4, 8, 16, 32])] * 4
    search_lattice(KeyPoints(codes, counts, members, [list(range(64))] * 4), levels, 5, 20)
    assert len(tried) < 400  # of 7 ** 4 = 2,401
