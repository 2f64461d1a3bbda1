"""People with several rows in anonymize, and what releases tell, by the definitions."""

# ruff: noqa: S311 - random cases, not secrets

import random
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from hartley import ColumnError, OptionError, anonymity, anonymize, microaggregate, pram, release
from hartley.policies.column import KeptColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantized_column import QuantizedColumn
from hartley.policies.quantizer import UniformQuantizer
from hartley.policies.random.pram import Pram
from hartley.studies.look.verdict import Verdict
from hartley.studies.release.disclosure import telling_columns
from hartley.studies.release.generalisation import KeyPoints
from hartley.tables.counts import count_alone
from hartley.tables.opening import open_table

ORACLES = {  # rows as person, class, value; k by people; told
    "B": ("1ax 1ax 1ax 1ax 1ax 2ay", 2, 1),
    "C": ("1ax 1ax 1ax 1ax 1ax 1ax 2ap 3aq 4ar 5as", 5, 1),
    "D": ("1ax 2ax 3bx 4by", 2, 2),
    "E": ("1ax 1by 2ax 3ay 3by 4bx", 3, 0),
    "E merged": ("1ax 1ay 2ax 3ay 3ay 4ax", 4, 0),
}


def table_of(rows):
    persons, classes, values = zip(*rows.split(), strict=True)
    return {"person": list(persons), "ward": list(classes), "ill": list(values)}


@pytest.mark.parametrize("name", ORACLES)
def test_k_and_who_is_told_by_the_oracles(name):
    rows, k, told = ORACLES[name]
    table = table_of(rows)
    report = anonymity(table, keys="ward", confidential="ill", unit="person")
    people = len(set(table["person"]))
    assert (report.k, report.verdict.told, report.verdict.people) == (k, told, people)
    if name in "BC":  # a secret of their own each
        with pytest.raises(OptionError, match="'ill' is released and tells person, which says"):
            anonymize(table, "ward", k, confidential="ill", unit="person")
    else:
        made = anonymize(table, "ward", k, confidential="ill", unit="person")
        assert (made.levels[0][0], made.suppressed, made.units) == (0, 0, people)
        assert made.verdict == made.checked["ill"].verdict == report.verdict
    if people > k:
        assert anonymize(table, "ward", k + 1, unit="person").levels[0][0] == 1
    else:
        with pytest.raises(OptionError, match=f"larger than the {people} people of the dict"):
            anonymize(table, "ward", k + 1, unit="person")


def test_by_rows_the_first_oracle_would_be_six_anonymous():
    table = table_of("1ax 1ax 1ax 1ax 1ax 1ax 2bx 3bx")
    assert anonymize(table, "ward", 2).levels == ((0, 1),)
    assert anonymize(table, "ward", 2, unit="person").levels == ((1, 1),)


KINDS = list(product(range(3), range(2)))
CLASSES = [c for size in (1, 2, 3) for c in combinations_with_replacement(KINDS, size)]


def told(rows):
    columns = np.array([(person, at, value) for at, kinds in rows for person, value in kinds]).T
    return Verdict.of_people(*columns, ["r"], ["s"]).told


@pytest.mark.parametrize("part", range(8))
def test_merging_classes_exposes_nobody_more(part):
    everybody = (2, ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)))  # both values occur
    for first, second in list(product(CLASSES, CLASSES))[part * 5 :: 40]:
        assert told([(0, first + second), everybody]) <= told([(0, first), (1, second), everybody])
        rows = [(0, person) for person, _ in first] + [(1, person) for person, _ in second]
        pairs = np.unique(rows, axis=0).T
        counts = np.bincount([at for at, _ in rows])
        points = KeyPoints(
            np.arange(2)[:, None],
            counts,
            np.array([at for at, _ in rows]),
            [[0, 1]],
            {"person": pairs},
        )
        lost = []
        for groups in ([0, 1], [0, 0]):
            members = [{p for at, p in rows if groups[at] == group} for group in groups]
            large = np.array([len(people) >= 2 for people in members])
            lost.append({p for at, p in rows if not large[at]})
            assert points.lost(large) == len(lost[-1])
        assert lost[1] <= lost[0]


@pytest.mark.parametrize("seed", range(30))
def test_no_level_loses_less_where_people_are_counted(seed):
    draw = random.Random(seed)
    n, people, homes = draw.randint(6, 30), draw.randint(4, 12), draw.randint(3, 8)
    keys = [(draw.randrange(12), draw.randrange(4)) for _ in range(n)]
    persons = [draw.randrange(people) for _ in range(n)]
    lives = [draw.randrange(homes) for _ in range(n)]
    with_homes = seed % 2
    k, share = draw.randint(1, 3), draw.choice([Fraction(0), Fraction(1, 4)])
    amount = min(len(set(persons)), len(set(lives)) if with_homes else n)
    if amount < max(k, 2):
        return
    widths = [1, 2, 4, 100]
    losses = []
    for a, b in product(range(4), range(2)):
        coarse = [(x // widths[a], y if b == 0 else 0) for x, y in keys]
        sizes = {
            c: min(
                len({p for p, at in zip(persons, coarse, strict=True) if at == c}),
                len({h for h, at in zip(lives, coarse, strict=True) if at == c})
                if with_homes
                else n,
            )
            for c in coarse
        }
        stays = [sizes[c] >= k for c in coarse]
        lost = {p for p, stay in zip(persons, stays, strict=True) if not stay}
        if len(lost) > share * len(set(persons)):
            continue
        total = Fraction(0)
        for (x, y), stay in zip(keys, stays, strict=True):
            for value, at, width in ((x, 0, widths[a]), (y, 1, 1 if b == 0 else 100)):
                span = {key[at] for key in keys}
                same = {other for other in span if other // width == value // width}
                total += Fraction(len(same) - 1, max(len(span) - 1, 1)) if stay else 1
        losses.append((total / (2 * n), len(lost)))
    columns = {"x": [x for x, _ in keys], "y": [y for _, y in keys], "who": persons, "home": lives}
    homes = {"confirmed": True, "columns": {"home": {"role": "household"}}}
    made = anonymize(
        columns,
        ["x", "y"],
        k,
        hierarchy={"x": [2, 4]},
        suppress=share,
        unit="who",
        roles=homes if with_homes else None,
    )
    assert (made.loss, made.units_suppressed) in losses
    assert made.loss == min(losses)[0]


def test_rows_of_one_person_do_not_stand_together():
    draw = random.Random(1)
    ages = [draw.randrange(20, 60) for _ in range(60)]
    table = {"who": [i // 3 for i in range(60)], "age": ages, "ill": draw.choices("abc", k=60)}
    made = anonymize(table, "age", 4, confidential="ill", bins={"age": [10, 20]}, unit="who")
    rows = list(zip(*made.table.to_pydict().values(), strict=True))
    assert rows == sorted(rows)
    assert "who" not in made.table.column_names
    text = " ".join(made.sentences)
    assert "keep their order" not in text
    assert "The rows are written sorted" in text
    assert "60 of 60 rows" in made.headline
    assert made.to_dict()["units"] == 20


def test_people_who_can_be_followed_by_a_rare_value_are_said():
    table = {
        "who": [1, 1, 2, 2, 3, 4, 5, 5],
        "age": [30] * 8,
        "ill": ["x", "x", "flu", "flu", "flu", "y", None, None],
    }
    made = anonymize(table, "age", 2, confidential="ill", unit="who")
    assert made.linked == {"ill": 1}  # y is in one row alone, flu is of several people
    assert "1 person can be followed from row to row by ill" in " ".join(made.sentences)


def test_a_column_that_tells_whose_row_it_is_is_refused():
    who = [i // 10 for i in range(200)]
    table = {"who": who, "age": [30 + i % 2 for i in range(200)], "room": [f"r{w}" for w in who]}
    with pytest.raises(OptionError, match="'room' is released and tells who, which says whose"):
        anonymize(table, "age", 2, keep="room", unit="who")
    assert anonymize(table, "age", 2, unit="who").levels == ((0, 1),)


SOME = {"who": [1, 1, 2, 3], "one": [7] * 4, "no": [None] * 4, "age": [30] * 4}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "no"}, "The unit 'no' names nobody in any row of the dict"),
        ({"unit": "one"}, "'one' has one value only, so that all rows are of one"),
        ({"unit": "age"}, "'age' says whose row it is, so it cannot be released"),
        ({"unit": "who", "keep": "who"}, "'who' says whose row it is, so it cannot be rel"),
        ({"unit": "whom"}, "'whom' is not in the dict"),
        ({"unit": "who", "k": 4}, "k = 4 is larger than the 3 people of the dict"),
        ({"unit": "who", "method": "mondrian"}, "Mondrian counts rows, and 'who' says whose row"),
        ({"allow_dependence": "age"}, "dependence of column 'age' is allowed, which is not"),
    ],
)
def test_bad_units_are_refused(options, message):
    with pytest.raises((OptionError, ColumnError), match=message):
        anonymize(SOME, "age", **{"k": 2, **options})


# --- columns that undo a release ------------------------------------------------------------------


def schools(rows=400, noise=0):
    draw = random.Random(2)
    names = ["a", "b", "c", "d", "e", "f", "g", "h"]
    at = [draw.randrange(8) for _ in range(rows)]
    years = [draw.randrange(8) if draw.random() < noise else place for place in at]
    return {
        "school": [names[place] for place in at],
        "years": years,
        "sex": draw.choices("FM", k=rows),
        "same": [1] * rows,
        "number": list(range(rows)),
        "blank": [None if place == 0 else "x" for place in at],
    }


GROUPS = {"school": {name: ["low" if name < "e" else "high"] for name in "abcdefgh"}}
SENTENCE = (
    "Column 'years' is released as it is and tells school, which is coarsened; "
    "hint: make it a key, or leave it out"
)


@pytest.mark.parametrize("noise", [0, 0.01])
@pytest.mark.parametrize("role", ["keep", "confidential"])
def test_a_twin_of_a_coarsened_key_is_refused_unless_allowed(role, noise):
    table, options = schools(noise=noise), {"hierarchy": GROUPS, role: ["sex", "years"]}
    with pytest.raises(OptionError) as refused:
        anonymize(table, "school", 60, **options)
    assert str(refused.value) == SENTENCE
    made = anonymize(table, "school", 60, allow_dependence="years", **options)
    assert "years is released as it is and tells school, which is coarsened." in made.headline
    assert made.to_dict()["undone"] == [
        {"column": "years", "key": "school", "changed": "coarsened"}
    ]
    assert not anonymize(table, "school", 2, **options).undone  # released as it is


def test_what_is_looked_at_and_what_is_not():
    table = pa.table(schools())
    pairs = set(telling_columns(table, table.column_names, table.column_names))
    assert {pair for pair in pairs if pair[0] != pair[1]} == {
        ("school", "years"),
        ("years", "school"),
        ("school", "blank"),
        ("years", "blank"),
    }


def test_a_box_that_is_undone_is_refused():
    with pytest.raises(OptionError) as refused:
        anonymize(schools(), "school", 60, method="mondrian", keep="years")
    assert str(refused.value) == SENTENCE


def test_averages_perturbed_and_released_columns_that_are_undone_are_refused(tmp_path):
    table = schools() | {"code": [f"c{year}" for year in schools()["years"]]}
    with pytest.raises(
        OptionError, match="'code' is released as it is and tells years, which is a"
    ):
        microaggregate(table, 3, "years", keep="code")
    made = microaggregate(table, 3, "years", keep="code", allow_dependence="code")
    assert "code is released as it is and tells years, which is averaged." in made.headline
    out = tmp_path / "out.parquet"
    wish = {"columns": "school", "retain": "0.8", "keep": "years", "seed": 1}
    with pytest.raises(
        OptionError, match="'years' is released as it is and tells school, which is p"
    ):
        pram(table, out=out, **wish)
    assert not out.exists()
    drawn = pram(table, out=out, allow_dependence=["years"], **wish)
    assert "years is released as it is and tells school, which is perturbed." in drawn.headline
    policy = PolicyDocument(
        (QuantizedColumn("years", UniformQuantizer(0, 8, 2)), KeptColumn("code"))
    )
    with pytest.raises(
        OptionError, match="'code' is released as it is and tells years, which is c"
    ):
        release(table, policy, tmp_path / "cells.csv")
    released = release(table, policy, tmp_path / "cells.csv", allow_dependence="code")
    assert "code is released as it is and tells years, which is coarsened." in released.headline


# --- verdicts -------------------------------------------------------------------------------------


def test_every_release_has_the_verdict_of_its_rows(tmp_path):
    draw = random.Random(3)
    table = {
        "age": [draw.randrange(20, 60) for _ in range(80)],
        "ill": draw.choices("aaab", k=80),
        "pay": draw.choices(["low", "high", None], k=80),
    }
    made = anonymize(table, "age", 3, bins={"age": [5, 10]}, confidential=["ill", "pay"])
    averages = microaggregate(table, 3, "age", confidential=["ill", "pay"])
    cells = PolicyDocument(
        (QuantizedColumn("age", UniformQuantizer(20, 60, 8)), *map(KeptColumn, ("ill", "pay")))
    )
    written = release(table, cells, tmp_path / "out.parquet", confidential=["ill", "pay"])
    file = pa.parquet.read_table(tmp_path / "out.parquet")
    for result, rows in ((made, made.table), (averages, averages.released), (written, file)):
        for name in ("ill", "pay"):
            pairs = [
                (age, value)
                for age, value in zip(*(rows[n].to_pylist() for n in ("age", name)), strict=True)
                if value is not None
            ]
            codes = [sorted({pair[i] for pair in pairs}) for i in range(2)]
            numbers = [[codes[i].index(pair[i]) for pair in pairs] for i in range(2)]
            expected = Verdict.of_people(
                np.arange(len(pairs)), *map(np.array, numbers), ["age"], [name]
            )
            verdict = result.verdicts[name]
            for field in ("people", "told", "known", "ruled_out", "left", "gain", "shift"):
                assert getattr(verdict, field) == getattr(expected, field)
        assert result.verdict is max(result.verdicts.values(), key=lambda one: one.exposed)
        assert result.verdict.sentence in result.headline
        assert result.to_dict()["verdict"] == result.verdict.to_dict()


def test_without_a_confidential_column_the_headline_says_that_none_was_asked_for(tmp_path):
    table = {"age": [20, 20, 30, 30], "sex": list("FMFM")}
    out = tmp_path / "out.csv"
    policy = PolicyDocument((QuantizedColumn("age", UniformQuantizer(20, 60, 8)),))
    for result in (
        anonymize(table, "age", 2),
        microaggregate(table, 2, "age"),
        pram(table, out=out, columns="sex", retain="0.9"),
        release(table, policy, out),
    ):
        assert "was not asked: no column is confidential." in result.headline
        assert result.verdict is None
        assert result.to_dict()["verdict"] is None


def test_a_key_without_any_value_tells_nothing():
    table = {"age": [None, None, 40], "ill": ["a", "b", "a"]}
    made = anonymize(table, "age", 2, confidential="ill", suppress="1/3")
    assert made.table["age"].null_count == made.table.num_rows == 2
    assert made.verdict.word == "nothing"


@pytest.mark.parametrize(
    ("confidential", "message"),
    [("sex", "no confidential column 'sex'"), (["age", "ill"], "Every released column is conf")],
)
def test_a_release_has_something_to_look_for_people_by(confidential, message, tmp_path):
    table = {"age": [20, 30], "ill": ["a", "b"], "sex": ["F", "M"]}
    policy = PolicyDocument((KeptColumn("age"), KeptColumn("ill")))
    with pytest.raises(OptionError, match=message):
        release(table, policy, tmp_path / "out.csv", confidential=confidential)


@pytest.mark.parametrize("seed", range(20))
def test_a_matrix_is_judged_by_what_it_makes_likely(seed, tmp_path):
    draw = random.Random(seed)
    values, n = list("abc")[: draw.randint(2, 3)], draw.randint(6, 40)
    rows = [[draw.choice([0, 0, 1, 3]) for _ in values] for _ in values]
    for place, row in enumerate(rows):
        row[place] += 1
    matrix = [[str(Fraction(entry, sum(row))) for entry in row] for row in rows]
    side = values + [draw.choice(values) for _ in range(n)]
    ill = [draw.choice("xy") if value == "a" else draw.choice("yyyyyyyyyyz") for value in side]
    out = tmp_path / "out.parquet"
    report = pram(
        {"side": side, "ill": ill},
        Pram(matrix, values, column="side"),
        out,
        confidential="ill",
        seed=seed,
    )
    drawn = pa.parquet.read_table(out)["side"].to_pylist()
    usual = {w: Fraction(ill.count(w), len(ill)) for w in set(ill)}
    chance = {}  # of a secret together with a released value
    for value, secret in zip(side, ill, strict=True):
        for place, seen in enumerate(values):
            entry = Fraction(matrix[values.index(value)][place]) / len(side)
            chance[secret, seen] = chance.get((secret, seen), 0) + entry
    after = {
        seen: {w: chance[w, seen] / sum(chance[x, seen] for x in usual) for w in usual}
        for seen in set(drawn)
    }
    several = len(usual) > 1
    told = [s for s in drawn if several and max(after[s].values()) == 1]
    verdict = report.verdict
    assert verdict.told == len(told)
    assert verdict.told_alone == sum(told.count(s) == 1 for s in told)
    for c, people in verdict.known.items():
        assert people == sum(
            s in told or any(after[s][w] >= c > usual[w] for w in usual) for s in drawn
        )
    assert verdict.ruled_out == sum(not all(after[s].values()) for s in drawn)
    assert verdict.left == min(sum(p > 0 for p in after[s].values()) for s in drawn)
    assert verdict.guess_right == sum(max(chance[w, s] for w in usual) for s in values)
    assert verdict.guess_right_before == max(usual.values())
    assert verdict.gain == max(after[s][w] / usual[w] for s in after for w in usual)
    assert verdict.shift == max(sum(abs(after[s][w] - usual[w]) for w in usual) for s in after) / 2
    assert verdict.largest_share == max(max(after[s].values()) for s in after)
    assert verdict.guess_right >= verdict.guess_right_before


def test_a_kept_column_is_judged_beside_the_matrix(tmp_path):
    table = {"side": list("ab") * 20, "age": [20] * 20 + [30] * 20, "ill": ["x"] * 20 + ["y"] * 20}
    report = pram(
        table,
        out=tmp_path / "out.csv",
        columns="side",
        retain="1/2",
        keep="age",
        confidential="ill",
    )
    assert (report.verdict.told, report.verdict.released) == (40, ("side", "age"))
    assert report.to_dict()["release"]["verdict"]["word"] == "tells"


WHOSE = {"confirmed": True, "columns": {"who": {"role": "unit"}, "age": {"role": "key"}}}


def test_the_unit_of_the_roles_counts_people():
    table = {"who": [1, 1, 2], "age": [20, 20, 30]}
    assert anonymize(table, k=2, roles=WHOSE).units == 2
    with pytest.raises(OptionError, match="k = 3 is larger than the 2 people of the dict"):
        anonymize(table, k=3, roles=WHOSE)
    with pytest.raises(OptionError, match="'who' is the unit and is never released"):
        anonymize(table, "age", 2, keep="who", roles=WHOSE)


@pytest.mark.parametrize("role", ["unit", "household"])
def test_what_counts_rows_refuses_by_name_who_has_several(role, tmp_path):
    table = {"who": [1, 1, 2], "age": [20, 30, 40], "sex": list("FMF")}
    roles = {"confirmed": True, "columns": {"who": {"role": role}, "age": {"role": "key"}}}
    says = "whose row it is" if role == "unit" else "which of them are of one household"
    out = tmp_path / "out.csv"
    rule = Pram.retaining("0.9", ["F", "M"], column="sex")
    for make in (
        lambda: microaggregate(table, 2, roles=roles),
        lambda: pram(table, out=out, columns="sex", retain="0.9", roles=roles),
        lambda: pram(table, rule, out, roles=roles),
        # Mondrian takes no bins either, but would count rows without them too.
        lambda: anonymize(table, "age", 2, method="mondrian", bins={"age": [5]}, roles=roles),
    ):
        with pytest.raises(OptionError, match=f"counts rows, and 'who' says {says}"):
            make()
    assert not out.exists()


LEAVES = {
    "id": [f"p{i}" for i in range(40)],
    "hh": [i // 2 for i in range(40)],
    "w": [1.5, 2.5] * 20,
    "note": ["x", "y"] * 20,
    "age": [20 + i % 10 for i in range(40)],
    "sex": list("FMMF") * 10,
}


@pytest.mark.parametrize(
    ("role", "column", "is_a"),
    [
        ("household", "hh", "the household"),
        ("weight", "w", "a sampling weight"),
        ("undecided", "note", "undecided"),
        ("unit", "hh", "the unit"),
    ],
)
@pytest.mark.parametrize("option", ["keep", "confidential", "keys", "policy"])
def test_what_the_roles_withhold_leaves_by_no_option(role, column, is_a, option, tmp_path):
    columns = {"age": {"role": "key"}, "sex": {"role": "kept"}, column: {"role": role}}
    roles = {"confirmed": True, "columns": columns}
    rule = Pram.retaining("0.9", ["F", "M"], column="sex")
    out = tmp_path / "out.csv"
    asked = column.upper() if option == "keys" else column  # found in any case
    makes = {
        "keys": [lambda: anonymize(LEAVES, asked, 2, roles=roles)],
        "keep": [
            lambda: anonymize(LEAVES, "age", 2, keep=asked, roles=roles),
            lambda: microaggregate(LEAVES, 2, "age", keep=asked, roles=roles),
            lambda: pram(LEAVES, rule, out, keep=asked, roles=roles),
            lambda: pram(LEAVES, out=out, columns="sex", retain="0.9", keep=asked, roles=roles),
        ],
        "confidential": [
            lambda: anonymize(LEAVES, "age", 2, confidential=asked, roles=roles),
            lambda: microaggregate(LEAVES, 2, "age", confidential=asked, roles=roles),
        ],
        "policy": [
            lambda: pram(LEAVES, PolicyDocument((rule, KeptColumn(column))), out, roles=roles)
        ],
    }
    for make in makes[option]:
        with pytest.raises(OptionError) as refused:
            make()
        people = "counts rows, and 'hh' says" in str(refused.value)  # refused before
        said = f"Column '{asked}' is {is_a} and is never released"
        assert said in str(refused.value) or (people and role in {"household", "unit"})
        assert "give it another role" in str(refused.value) or people
    assert not out.exists()


# --- copies ---------------------------------------------------------------------------------------


def test_a_copy_of_a_coarsened_key_is_refused_in_a_table_of_any_size():
    ages, codes = [31, 31, 38, 45, 46], list("ppqrs")
    table = {"age": ages, "code": codes}
    with pytest.raises(OptionError, match="'code' is released as it is and tells age, which is"):
        anonymize(table, "age", 2, keep="code", bins={"age": [10]})
    for other in (list("pqpqr"), list("ppqrr"), list("ppppp")):  # tell less, and nothing
        assert anonymize(table | {"code": other}, "age", 2, keep="code", bins={"age": [10]})


DIFFERENT = [57, 31, 38, 45, 46, 20, 22, 71, 90]


@pytest.mark.parametrize(
    ("copy", "refused"),
    [
        (DIFFERENT, True),
        ([f"{age}" for age in DIFFERENT], True),
        ([age * 12 + 5 for age in DIFFERENT], True),  # in months
        ([2026 - age for age in DIFFERENT], True),  # the year of birth
        ([3, 9, 1, 7, 8, 2, 4, 6, 5], False),  # as all different values are copies of all others
    ],
)
def test_of_columns_of_different_values_those_in_one_order_are_copies(copy, refused):
    table = {"age": DIFFERENT, "copy": copy}
    assert bool([*telling_columns(table, ["copy"], ["age"])]) == refused
    few = {name: values[:3] for name, values in table.items()}  # in one order by chance
    assert bool([*telling_columns(few, ["copy"], ["age"])]) == (
        [*map(str, copy[:3])] == [*map(str, DIFFERENT[:3])]
    )


@pytest.mark.parametrize("seed", range(40))
def test_copies_that_repeat_are_found_as_a_bijection_says(seed):
    draw = random.Random(seed)
    rows = draw.randint(2, 9)
    table = {name: [draw.randrange(3) for _ in range(rows)] for name in "ab"}
    pairs = {*zip(*table.values(), strict=True)}
    sizes = [len({*values}) for values in table.values()]
    copies = len(pairs) == sizes[0] == sizes[1] and 2 <= sizes[0] < rows
    found = bool([*telling_columns(table, "a", "b")])
    assert found == copies or (found and len(pairs) == sizes[0])  # or follows, by evidence


def test_a_copy_of_an_identifier_is_refused(tmp_path):
    roles = {
        "confirmed": True,
        "columns": {
            "id": {"role": "identifier"},
            "age": {"role": "key"},
            "sex": {"role": "kept"},
            "same": {"role": "kept"},
        },
    }
    table = LEAVES | {"same": [f"p{i}" for i in range(40)]}
    path = tmp_path / "t.csv"
    pa.csv.write_csv(pa.table(table), path)
    said = "'same' is released and tells id, which is never released"
    makes = [partial(anonymize, k=2), partial(microaggregate, k=2)]
    makes.append(partial(pram, out=tmp_path / "o.csv", columns="sex", retain="1"))
    for source, make in product((table, path, open_table(path)), makes):
        with pytest.raises(OptionError, match=said):
            make(source, roles=roles)
    assert anonymize(table | {"same": list("ab") * 20}, k=2, roles=roles).kept == ("sex", "same")


def test_a_copy_of_the_household_is_refused():
    columns = {"hh": {"role": "household"}, "age": {"role": "key"}, "same": {"role": "kept"}}
    table = LEAVES | {"same": [f"h{i // 2}" for i in range(40)]}
    with pytest.raises(OptionError, match="'same' is released and tells hh, which is never"):
        anonymize(table, k=2, roles={"confirmed": True, "columns": columns})


def test_people_with_several_rows_are_singled_out_as_people():
    table = {
        "who": [1, 1, 2, 2, 3, 3, 4, 4],
        "age": [30] * 8,
        "ill": ["a", "a", "b", "c", "c", "d", "d", "d"],
    }
    made = anonymize(table, "age", 2, confidential="ill", unit="who")
    # a is of person 1 alone, in two rows; b of person 2.
    assert (made.singling.together, made.singling.rows) == (2, 4)
    assert "Yet ill, released as it is, singles out 2 of 4 people" in made.headline


DATA = Path(__file__).parents[4] / "shared" / "data"


@pytest.mark.skipif(not (DATA / "heart").exists(), reason="needs ../shared/data/heart")
def test_measured_numbers_of_the_heart_table_single_people_out():
    lines = (DATA / "heart" / "processed.hungarian.data").read_text().split()
    rows = [line.split(",") for line in lines]
    table = {"age": [int(row[0]) for row in rows], "chol": [row[4] for row in rows]}
    made = anonymize(table, "age", 5, confidential="chol", bins={"age": [5, 10]})
    pairs = Counter(zip(*made.table.to_pydict().values(), strict=True))
    alone = sum(times == 1 for times in pairs.values())
    assert made.singling.columns[0].alone == 84
    assert f"Yet chol, released as it is, singles out {alone} of 294 people" in made.headline


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "young_people").exists(), reason="needs ../shared/data")
def test_answers_of_a_survey_single_everybody_out():
    table = pa.csv.read_csv(DATA / "young_people" / "responses.csv")
    answers = ["Politics", "Reading", "Religion", "Finances", "Health", "Getting angry", "Giving"]
    made = anonymize(table, "Age", 5, confidential=answers, bins={"Age": [5, 10]}, suppress=0.05)
    rows = Counter(zip(*made.table.to_pydict().values(), strict=True))
    alone = sum(times == 1 for times in rows.values())
    assert made.singling.together == alone > 900
    said = "Yet Politics, Reading and 5 more columns, released as they are, single out "
    assert (
        f"{said}{alone} of {made.table.num_rows:,} people together with the keys" in made.headline
    )
    assert made.headline.index("Yet ") < made.headline.index("From Age")
    shown = made.report()
    assert said in shown.headline
    assert f"{shown.headline} {shown.lead}" == made.to_dict()["headline"] == made.headline


def test_a_file_is_sorted_by_what_is_released(tmp_path):
    draw = random.Random(4)
    table = {
        "age": [draw.randrange(20, 60) for _ in range(40)],
        "ill": draw.choices(["a", "b", None], k=40),
    }
    made = anonymize(table, "age", 3, bins={"age": [10]}, confidential="ill")
    averages = microaggregate(table, 3, "age", confidential="ill")
    for result in (made, averages):
        written = pa.parquet.read_table(result.write(tmp_path / f"{result.k}.parquet"))
        rows = [(a, i is None, i) for a, i in zip(*written.to_pydict().values(), strict=True)]
        assert rows == sorted(rows)
        assert "The rows are written sorted" in " ".join(result.sentences)
    assert averages.released["ill"].to_pylist() == table["ill"]


def test_how_far_the_work_is_is_told():
    seen = []
    table = {"age": list(range(60)), "zip": [i % 7 for i in range(60)]}
    anonymize(
        table,
        ["age", "zip"],
        4,
        bins={"age": [2, 4, 8], "zip": [2, 4]},
        progress=lambda what, share: seen.append((what, share)),
    )
    assert list(dict.fromkeys(what for what, _ in seen)) == ["read", "count", "search", "write"]
    for step in ("read", "count", "search", "write"):
        shares = [share for what, share in seen if what == step]
        assert shares == sorted(shares)
        assert (shares[0], shares[-1]) == (0.0, 1.0)
    seen.clear()
    microaggregate(table, 4, "age", progress=lambda what, share: seen.append((what, share)))
    assert seen == [("group", 0.0), ("group", 1.0), ("judge", 0.0), ("judge", 1.0)]


def _alone(rows, columns, unit, household):
    """Count people by the definition: the smaller of people and households of their class is 1."""
    classes = {}
    for at, row in enumerate(rows):
        classes.setdefault(tuple(row[c] for c in columns), []).append((at, row))
    found = set()
    for members in classes.values():
        people = {row[unit] if unit else at for at, row in members}
        homes = {row[household] for _, row in members} if household else people
        found |= people if min(len(people), len(homes)) == 1 else set()
    return len(found)


@pytest.mark.parametrize("seed", range(6))
def test_people_alone_are_those_whom_no_other_person_or_household_is_like(seed):
    draw = random.Random(seed)
    rows = [
        {"a": draw.choice([1, 2, None]), "b": draw.choice("xy"), "u": draw.randrange(4), "h": h}
        for h in draw.choices(range(3), k=draw.randint(1, 8))
    ]
    table = open_table({name: [row[name] for row in rows] for name in "abuh"})
    for columns in (["a"], ["a", "b"]):
        for who in ((None, None), ("u", None), (None, "h"), ("u", "h")):
            assert count_alone(table, columns, *who) == _alone(rows, columns, *who), who


HOMES = {
    "age": [20] * 6 + [30] * 6,
    "home": [i // 2 for i in range(12)],
    "ill": ["hiv"] * 2 + ["flu"] * 10,
}


def test_a_release_counts_households_again():
    roles = {
        "confirmed": True,
        "columns": {
            "age": {"role": "key", "levels": [10, 20]},
            "home": {"role": "household"},
            "ill": {"role": "confidential"},
        },
    }
    made = anonymize(HOMES, k=3, roles=roles)
    told = made.to_dict()
    again = anonymity(HOMES, roles=roles)
    assert made.levels == ((0, 3),)
    assert told["check"]["k"] == again.k == 3
    assert told["check"]["people"]["among_few"] == again.people.among_few == 12
    assert made.singling.together == 2  # one household alone has (20, hiv)


def test_a_column_that_tells_a_finer_level_than_the_released_one_is_refused():
    table = {"age": list(range(20, 60)) * 2, "ill": ["a", "b"] * 40}
    table["decade"] = [age // 10 * 10 for age in table["age"]]
    bins = {"age": [10, 20]}
    with pytest.raises(OptionError, match=r"tells age \(level 1\), which is coarsened further"):
        anonymize(table, "age", 40, keep="decade", confidential="ill", bins=bins)
    made = anonymize(
        table, "age", 40, keep="decade", confidential="ill", bins=bins, allow_dependence="decade"
    )
    assert "decade is released as it is and tells age (level 1)" in made.headline
    made = anonymize(table, "age", 20, keep="decade", confidential="ill", bins=bins)
    assert not made.undone  # released in decades, age says as much itself


def test_an_identifier_that_repeats_stands_in_the_headline_and_leaves_under_no_other_name():
    columns = {
        "person": {"role": "identifier"},
        "case": {"role": "key", "levels": [5]},
        "ward": {"role": "key"},
    }
    roles = {"confirmed": True, "columns": columns}
    table = {
        "person": [p for p in range(10) for _ in range(5)],
        "case": [1000 + p * 37 % 101 for p in range(10) for _ in range(5)],
        "ward": ["north", "south"] * 25,
    }
    with pytest.raises(OptionError, match="'case' is released and tells person"):
        anonymize(table, ["case"], 5, roles=roles)
    columns["case"] = {"role": "undecided"}
    made = anonymize(table, k=5, roles=roles)
    assert made.headline.endswith("give it the role unit if it names people.")


def test_a_kept_column_that_another_one_is_computed_from_is_no_copy_of_itself(tmp_path):
    columns = (
        KeptColumn("height", Fraction(100), Fraction(250)),
        QuantizedColumn("index", UniformQuantizer(0, 200, 100), of="weight/(height/100)**2"),
    )
    document = PolicyDocument(
        columns, design={"columns": {"height": ["100", "250"], "weight": ["30", "200"]}}
    )
    table = {"height": [160.0, 171.0, 182.0], "weight": [60.0, 71.0, 82.0]}
    assert release(table, document, tmp_path / "out.csv").rows == 3
