"""Numbers of a verdict against their definitions, counted anew person by person."""

# ruff: noqa: S311 - random cases, not secrets

import html
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import hartley
from hartley import Relation
from hartley.errors import HartleyError, OptionError
from hartley.ranges import counting
from hartley.ranges.counting import Pairs, Summary
from hartley.reports.render import page
from hartley.studies.check.gate import audit_gate
from hartley.studies.look.exposure import audit_risks
from hartley.studies.look.verdict import ONE_ROW, NearbyPeople, Verdict, worst

SHARES = (Fraction(2, 3), Fraction(9, 10), Fraction(19, 20), Fraction(99, 100))


def defined(rows):
    """The numbers of a verdict, by the definitions; rows are (person, class, value)."""
    persons, classes, values = (set(column) for column in zip(*rows, strict=True))
    inside = {c: {p for p, at, _ in rows if at == c} for c in classes}
    holders = {x: {p for p, _, value in rows if value == x} for x in values}
    cell = {
        (c, x): [p for p, at, value in rows if (at, value) == (c, x)]
        for c in classes
        for x in values
    }
    total, top = len(persons), max(map(len, holders.values()))
    told, alone, uncommon = set(), set(), set()
    for c in classes:
        every = sum(len(cell[c, x]) for x in values)
        most = max(len(cell[c, x]) for x in values)
        for p in inside[c]:
            if len(values) > 1 and sum((q, at) == (p, c) for q, at, _ in rows) > every - most:
                told.add(p)
                if len(inside[c]) == 1:
                    alone.add(p)
                if any(len(cell[c, x]) == most and len(holders[x]) < top for x in values):
                    uncommon.add(p)
    share = {(c, x): Fraction(len(set(cell[c, x])), len(inside[c])) for c, x in cell}
    usual = {x: Fraction(len(holders[x]), total) for x in values}
    known = {
        k: len(told.union(*(inside[c] for c, x in cell if share[c, x] >= k > usual[x])))
        for k in SHARES
    }
    left = [
        len({x for at in classes if p in inside[at] for x in values if cell[at, x]})
        for p in persons
    ]
    stands = sum(map(len, inside.values()))
    return {
        "people": total,
        "groups": len(classes),
        "values": len(values),
        "told": len(told),
        "told_alone": len(alone),
        "told_uncommon": len(uncommon),
        "known": known,
        "ruled_out": sum(number < len(values) for number in left),
        "left": min(left),
        "gain": max(share[c, x] / usual[x] for c, x in cell),
        "shift": max(sum(abs(share[c, x] - usual[x]) for x in values) / 2 for c in classes),
        "largest_share": max(share.values()),
        "guess_right": Fraction(
            sum(max(len(set(cell[c, x])) for x in values) for c in classes), stands
        ),
        "guess_right_before": Fraction(
            max(sum(len(set(cell[c, x])) for c in classes) for x in values), stands
        ),
    }


def agree(verdict, rows):
    """Whether a verdict has the numbers of the definitions."""
    expected = defined(rows)
    assert verdict.guess_right >= verdict.guess_right_before
    assert {name: getattr(verdict, name) for name in expected} == expected


@pytest.mark.parametrize("seed", range(150))
def test_of_people_with_several_rows(seed):
    draw = random.Random(seed)
    people, classes, values = (draw.randint(1, most) for most in (8, 4, 4))
    rows = [
        (draw.randrange(people), draw.randrange(classes), draw.randrange(values))
        for _ in range(draw.randint(1, 14))
    ]
    agree(Verdict.of_people(*np.array(rows).T, ["r"], ["s"], "2/3"), rows)


@pytest.mark.parametrize("seed", range(150))
def test_of_people_with_one_row_each_in_either_way(seed):
    draw = random.Random(seed)
    classes, values = draw.randint(1, 4), draw.randint(1, 4)
    rows = [
        (person, draw.randrange(classes), min(draw.randrange(values), draw.randrange(values)))
        for person in range(draw.randint(1, 16))
    ]
    agree(Verdict.of_people(*np.array(rows).T, ["r"], ["s"], "2/3"), rows)
    summary = Relation.from_pairs([(x, c) for _, c, x in rows]).summary
    agree(Verdict.of_summary(summary, ["r"], ["s"], "2/3"), rows)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("1ax 1ax 1ax 1ax 1ax 1ax", 0),
        ("1ax 1ax 1ax 1ax 1ax 2ay", 1),
        ("1ax 1ax 1ax 1ax 1ax 1ax 2ap 3aq 4ar 5as", 1),
        ("1ax 2ax 3bx 4by", 2),
        ("1ax 1by 2ax 3ay 3by 4bx", 0),
        ("1ax 1ax 2ax 3ax 3ax 4ax", 0),
    ],
)
def test_who_is_told_with_several_rows_each(rows, told):
    numbers = [[int(r[0]), ord(r[1]), ord(r[2])] for r in rows.split()]
    assert Verdict.of_people(*np.array(numbers).T, ["r"], ["s"]).told == told


def ward(*rows):
    """The verdict of rows "class value times"."""
    pairs = [(value, at) for at, value, times in map(str.split, rows) for _ in range(int(times))]
    return Verdict.of_summary(Relation.from_pairs(pairs).summary, ["ward"], ["diagnosis"])


def test_nearly_everybody_is_no_comfort():
    verdict = ward("A cancer 999", "A flu 1", "B flu 999", "B cancer 1")
    assert verdict.word == "nearly tells"
    assert set(verdict.known.values()) == {2000}
    assert (verdict.guess_right, verdict.guess_right_before) == (
        Fraction(999, 1000),
        Fraction(1, 2),
    )
    assert verdict.gain == Fraction(999, 500)
    assert verdict.sentence == (
        "From ward, nobody's diagnosis is certain, but that of all people is known with at least "
        "95 % certainty: in the surest group 99.9 % have the same value. A guess from ward is "
        "right for 99.9 % of people, without it for 50 %."
    )


def test_the_first_word_that_applies():
    assert ward("A flu 2", "B hiv 2").word == "tells"
    assert ward("A flu 2", "A hiv 2", "B hiv 1", "B flu 1", "B cold 1").word == "rules out"
    assert ward("A flu 2", "A hiv 2", "B hiv 1", "B flu 2").word == "shifts"
    assert ward("A flu 2", "A hiv 2", "B hiv 3", "B flu 3").word == "nothing"


def test_what_the_table_tells_anyway_is_not_counted_as_known():
    assert ward("A flu 97", "A hiv 3", "B flu 48", "B hiv 2").known[Fraction(19, 20)] == 0


def test_the_sentence_speaks_of_99_percent_where_95_says_nobody():
    verdict = ward("A flu 199", "A hiv 1", "B flu 180", "B hiv 9")
    assert verdict.known[Fraction(19, 20)] == 0
    assert "known with at least 99 % certainty" in verdict.sentence


LONG_SHARES = ["0.951234567890123", "0.9512345678901234567", Fraction(10**10 - 1, 10**10)]
"""Products of these with counts do not fit into a machine word."""


def test_many_people_are_counted_exactly_at_the_finest_certainty():
    pairs = Pairs(
        np.array([0, 1, 0, 1]),
        np.array([0, 0, 1, 1]),
        np.array([999_999_000, 1_000, 1_000, 999_999_000]),
        (2, 2),
    )
    summary = Summary.of_pairs(pairs)
    known = Verdict.of_summary(summary, ["r"], ["s"], "0.999999").known
    assert known[Fraction("0.999999")] == 2_000_000_000
    known = Verdict.of_summary(summary, ["r"], ["s"], "0.5000009").known
    assert known[Fraction("0.5000009")] == 2_000_000_000


@pytest.mark.parametrize("certainty", ["1", "0.5", "nan", "often", 0, *LONG_SHARES])
def test_a_certainty_is_a_share_above_one_half(certainty):
    summary = Relation.from_pairs([(1, 2)]).summary
    with pytest.raises(OptionError):
        Verdict.of_summary(summary, ["r"], ["s"], certainty)


def test_the_worst_of_several_has_most_people_told():
    first, second = ward("A flu 2", "B hiv 2"), ward("A flu 3", "B hiv 2")
    assert worst([first, second]) is second


# --- verdicts of audits and of anonymity, by rows and by a unit -----------------------------------


@pytest.mark.parametrize(
    ("released", "numbers"),
    [
        (
            ["age", "sex", "region"],
            (481, 92, 44, [632, 481, 481], 4968, 1, 3491, "2500/73", "tells"),
        ),
        (["job"], (0, 0, 0, [0, 0, 0], 0, 6, 3401, "20000/10147", "shifts")),
    ],
)
def test_the_sample_of_people(released, numbers):
    report = hartley.audit(hartley.people(5000), secret="diagnosis", released=released)
    verdict = report.verdict
    assert verdict.guess_right_before == Fraction(3401, 5000)
    assert numbers == (
        verdict.told,
        verdict.told_alone,
        verdict.told_uncommon,
        [verdict.known[Fraction(share)] for share in ("0.9", "0.95", "0.99")],
        verdict.ruled_out,
        verdict.left,
        verdict.guess_right * 5000,
        str(verdict.gain),
        verdict.word,
    )
    content = report.to_dict()
    assert content["verdict"] == verdict.to_dict()
    assert content["headline"].startswith(verdict.sentence)
    assert content["people"]["given_away"] == content["verdict"]["told"]
    keyed = hartley.anonymity(hartley.people(5000), keys=released, confidential="diagnosis")
    assert keyed.verdict.to_dict() == verdict.to_dict() == keyed["diagnosis"].verdict.to_dict()
    assert f"{keyed.k}-anonymous" in keyed.headline
    assert verdict.sentence in keyed.headline


HEART = Path(__file__).parents[4] / "shared" / "data" / "heart" / "processed.hungarian.data"


@pytest.mark.skipif(not HEART.exists(), reason=f"needs {HEART.name}")
@pytest.mark.parametrize(
    ("at", "numbers"),
    [
        (2, (0, 0, 0, [106, 0, 0], 0, 2, "11/14", "4067/2173", "shifts", "49/53")),
        (0, (20, 4, 5, [31, 20, 20], 20, 1, "2/3", "147/53", "tells", "1")),
    ],
)
def test_the_heart_table(at, numbers):
    lines = [line.split(",") for line in HEART.read_text().split()]
    table = {"known": [line[at] for line in lines], "num": [line[-1] for line in lines]}
    verdict = hartley.audit(table, secret="num", released="known").verdict
    assert verdict.people == 294
    assert verdict.guess_right_before == Fraction(94, 147)
    assert numbers == (
        verdict.told,
        verdict.told_alone,
        verdict.told_uncommon,
        [verdict.known[Fraction(share)] for share in ("0.9", "0.95", "0.99")],
        verdict.ruled_out,
        verdict.left,
        str(verdict.guess_right),
        str(verdict.gain),
        verdict.word,
        str(verdict.largest_share),
    )


@pytest.mark.parametrize("seed", range(25))
def test_what_a_unit_makes_of_audit_anonymity_and_risks(seed):
    draw = random.Random(seed)
    rows = [
        (draw.randrange(5), draw.choice("abc"), draw.choice("xyz"))
        for _ in range(draw.randint(6, 20))
    ]
    table = {
        name: list(column)
        for name, column in zip(("who", "at", "ill"), zip(*rows, strict=True), strict=True)
    }
    if min(len(set(table["ill"])), len(set(table["who"]))) == 1:
        pytest.skip("nothing to tell")
    inside = {c: {p for p, at, _ in rows if at == c} for c in table["at"]}
    least = {p: min(len(inside[at]) for q, at, _ in rows if q == p) for p in table["who"]}
    report = hartley.audit(table, secret="ill", released="at", unit="who", few=3)
    keyed = hartley.anonymity(table, keys="at", confidential="ill", unit="who", few=3)
    agree_with_table = defined(rows)
    for verdict in (report.verdict, keyed.verdict):
        for name in ("told", "told_alone", "told_uncommon", "ruled_out", "left", "gain", "people"):
            assert getattr(verdict, name) == agree_with_table[name]
    for one in (report, keyed):
        assert (one.people.rows, one.people.unique, one.people.among_few) == (
            len(least),
            sum(n == 1 for n in least.values()),
            sum(n < 3 for n in least.values()),
        )
        assert ONE_ROW not in one.notes
    assert (keyed.rows, keyed.k) == (len(rows), min(map(len, inside.values())))
    risks = audit_risks(table, report).table
    assert risks["alike"].to_pylist() == [len(inside[at]) for at in table["at"]]
    assert risks["risk"].to_pylist() == [1 / least[p] for p in table["who"]]
    told = {
        p for p, gone in zip(table["who"], risks["given_away"].to_pylist(), strict=True) if gone
    }
    assert len(told) == report.verdict.told
    record = hartley.audit(table, secret="ROW", released="at", unit="who").verdict
    assert (record.told, record.left) == (
        sum(n == 1 for n in least.values()),
        min(least.values()),
    )


@pytest.mark.parametrize(
    ("rows", "k", "few", "unique", "told"),
    [
        ("1ax 1ax 1ax 1ax 1ax 2ay", 2, 2, 0, 1),
        ("1ax 1ax 1ax 1ax 1ax 1ax 2ap 3aq 4ar 5as", 5, 0, 0, 1),
        ("1ax 2ax 3bx 4by", 2, 4, 0, 2),
        ("1ax 1by 2ax 3ay 3by 4bx", 3, 0, 0, 0),
        ("1ax 1ay 2ax 3ay 3ay 4ax", 4, 0, 0, 0),
    ],
)
def test_the_people_of_small_tables(rows, k, few, unique, told):
    table = dict(zip(("who", "at", "ill"), map(list, zip(*rows.split(), strict=True)), strict=True))
    keyed = hartley.anonymity(table, keys="at", confidential="ill", unit="who", few=3)
    people = keyed.people
    assert (keyed.k, people.among_few, people.unique, keyed.verdict.told) == (k, few, unique, told)


def test_rows_without_a_unit_are_people_of_their_own_and_weights_count_people():
    table = {"who": [1, 1, None, None], "at": list("aaaa"), "ill": list("xxyz"), "w": [2, 2, 3, 3]}
    report = hartley.audit(table, secret="ill", released="at", unit="who")
    assert report.people.rows == 3
    columns = {"at": {"role": "key"}, "ill": {"role": "confidential"}, "w": {"role": "weight"}}
    roles = {"confirmed": True, "columns": columns}
    weighed = hartley.audit(table, unit="who", roles=roles)
    once = {"at": list("aaa"), "ill": list("xyz"), "w": [2, 3, 3]}
    assert weighed.people.expected == hartley.audit(once, roles=roles).people.expected


def test_a_household_counts_where_it_is_coarser_than_a_unit():
    table = {"who": [1, 2, 3, 4], "home": [1, 1, 1, 2], "at": list("aaab"), "ill": list("xyxy")}
    columns = {
        "home": {"role": "household"},
        "at": {"role": "key"},
        "ill": {"role": "confidential"},
    }
    keyed = hartley.anonymity(table, unit="who", roles={"confirmed": True, "columns": columns})
    assert (keyed.k, keyed.people.unique) == (1, 4)


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("ill", "so it cannot be released or secret"),
        ("at", "so it cannot be released or secret"),
        ("none", "names nobody in any row"),
        ("one", "all rows are of one person"),
        ("gone", "no column 'gone'|has no column|is not"),
    ],
)
def test_a_unit_that_tells_nobody_apart_is_refused(unit, words):
    table = {
        "at": [1, 1, 2],
        "ill": [1, 2, 3],
        "none": [None] * 3,
        "one": [1] * 3,
        "who": [1, 2, 2],
    }
    for refused in (
        lambda: hartley.audit(table, secret="ill", released="at", unit=unit),
        lambda: hartley.anonymity(table, keys="at", confidential="ill", unit=unit),
    ):
        with pytest.raises(HartleyError, match=words) as error:
            refused()
        assert "; hint: " in str(error.value)


def test_an_identifier_that_repeats_stands_in_the_headline():
    table = {"who": [1, 1, 2], "at": [1, 1, 2], "ill": [1, 2, 2]}
    columns = {
        "who": {"role": "identifier"},
        "at": {"role": "key"},
        "ill": {"role": "confidential"},
    }
    roles = {"confirmed": True, "columns": columns}
    said = "who has 2 values in 3 rows: give it the role unit if it names people."
    for made in (hartley.audit, hartley.anonymity):
        assert said in made(table, roles=roles).headline
        counted = made(table, roles=roles, unit="who")
        assert said not in counted.headline
        assert counted.people.rows == 2


def test_secrets_that_are_missing_in_some_classes_are_not_nothing():
    ward = {"at": list("aabbb"), "ill": ["x", "y", "x", "y", None]}
    for report in (
        hartley.audit(ward, secret="ill", released="at"),
        hartley.anonymity(ward, keys="at", confidential="ill"),
    ):
        assert report.verdict.word == "shifts"
        assert (
            "but it is missing in 1 row, which is left out: 33.33 % of one group, 0 % of another"
            in report.headline
        )
    even = {"at": list("aaabbb"), "ill": ["x", "y", None] * 2}
    assert hartley.audit(even, secret="ill", released="at").verdict.word == "nothing"


def test_several_secrets_have_verdicts_of_their_own_and_together():
    table = {"at": list("aabb"), "s": list("xyxy"), "t": list("ppqq")}
    report = hartley.audit(table, secret=["s", "t"], released="at")
    assert [one.secret for one in report.verdicts] == [("s",), ("t",), ("s", "t")]
    assert [one.word for one in report.verdicts] == ["nothing", "tells", "rules out"]
    assert report.verdict.secret == ("t",)
    shifted = {"at": list("aaabbb"), "s": list("xyzxyz"), "t": list("ppqpqq")}
    assert hartley.audit(shifted, secret=["s", "t"], released="at").verdict.word != "nothing"


def test_points_of_a_sweep_carry_who_is_told_and_nearly():
    people = hartley.people(300)
    report = hartley.audit(people, secret="diagnosis", released="age", sweep={"age": [5, 20]})
    for point in report.sweep:
        verdict = hartley.audit(
            people, secret="diagnosis", released="age", bins={"age": point.step}
        ).verdict
        assert (point.told, point.known) == (verdict.told, verdict.nearly_told)
    units = [i // 2 for i in range(300)]
    table = people.append_column("who", [units])
    report = hartley.audit(
        table, secret="diagnosis", released="age", unit="who", sweep={"age": [20]}
    )
    assert (
        report.sweep[0].told
        == hartley.audit(
            table, secret="diagnosis", released="age", unit="who", bins={"age": 20}
        ).verdict.told
    )


def test_a_confidential_column_is_judged_at_each_level_of_its_groups(tmp_path):
    (tmp_path / "ill.csv").write_text("flu,lung\ncold,lung\nhiv,blood\nleukaemia,blood\n")
    table = {"at": list("aabb"), "ill": ["flu", "cold", "hiv", "leukaemia"], "who": [1, 2, 3, 4]}
    columns = {
        "at": {"role": "key"},
        "ill": {"role": "confidential", "hierarchy": str(tmp_path / "ill.csv")},
    }
    roles = {"confirmed": True, "columns": columns}
    for made in (hartley.audit, hartley.anonymity):
        for unit in (None, "who"):
            verdict = made(table, roles=roles, unit=unit).verdict
            assert verdict.told == 4
            assert verdict.secret == ("ill (level 1 of its groups)",)


@pytest.mark.parametrize("seed", range(40))
def test_within_a_distance_against_its_definition(seed):
    draw = random.Random(seed)
    scale = draw.choice([1, 10, 7])
    rows = [(draw.randrange(12) / scale, draw.randrange(3)) for _ in range(draw.randint(2, 16))]
    width = Fraction(draw.randint(1, 40), draw.choice([1, 10]))
    exact = [(Fraction(repr(v)), c) for v, c in rows]
    told, known = set(), {share: set() for share in SHARES}
    for c in {c for _, c in rows}:
        mine = [v for v, at in exact if at == c]
        for v in mine:
            inside = Fraction(sum(v <= x <= v + width for x in mine), len(mine))
            usual = Fraction(sum(v <= x <= v + width for x, _ in exact), len(exact))
            if inside == 1 > usual:
                told.add(c)
            for share in SHARES:
                if inside >= share > usual:
                    known[share].add(c)
    size = {c: sum(at == c for _, at in rows) for c in range(3)}
    table = dict(zip(("value", "at"), map(list, zip(*rows, strict=True)), strict=True))
    relation = Relation.from_table(table, secret="value", released="at")
    near = NearbyPeople.of_pairs(relation.pairs(), relation.secret_range, width, SHARES)
    assert near.told == sum(size[c] for c in told)
    assert near.known == {
        share: sum(size[c] for c in told | classes) for share, classes in known.items()
    }


def test_incomes_of_the_sample_within_twenty_thousand():
    people = hartley.people(5000)
    by_job = hartley.audit(people, secret="income", released="job", within=20000).verdict
    near = by_job.within
    assert (near.told, *near.known.values()) == (0, 454, 454, 454)
    assert "Within 20,000, it is known of 454 of 4,885 people" in by_job.sentence
    near = hartley.audit(people, secret="income", released=["age", "sex"], within=20000)
    assert list(near.verdict.to_dict()["within"]["known"].values()) == [397, 158, 107]
    assert near.verdict.within.told == 107
    assert hartley.audit(people, secret="income", released="job").verdict.within is not None


@pytest.mark.parametrize(
    ("secret", "options", "words"),
    [
        ("income", {"within": 0}, "not above zero"),
        ("income", {"within": "far"}, "not a number"),
        ("job", {"within": 5}, "No distance"),
        ("income", {"within": 5, "unit": "age"}, "with a unit"),
        ("job", {"certainty": 1}, "between one half and one"),
    ],
)
def test_bad_distances_and_certainties(secret, options, words):
    with pytest.raises(OptionError, match=words):
        hartley.audit(hartley.people(50), secret=secret, released="sex", **options)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["A flu 1", "B hiv 2", "B flu 2"], "is certain, because nobody else has their values."),
        (["A flu 1", "B hiv 2"], "is certain, of 1 of them because nobody else has their values."),
        (["A flu 2", "B hiv 2"], "of all people is certain. "),
    ],
)
def test_a_sentence_says_of_how_many_it_is_certain_because_they_are_alone(rows, said):
    assert said in ward(*rows).sentence


# --- what a gate, a sweep and a page are told -----------------------------------------------------


def test_people_are_counted_whether_or_not_a_secret_is_missing():
    table = {
        "at": ["a"] * 4 + ["b"] * 4 + ["c"],
        "s": ["x", "y"] * 4 + ["x"],
        "t": ["u", "v"] * 4 + [None],
    }
    for missing in ("released", "value", "drop"):
        report = hartley.audit(table, secret=["s", "t"], released="at", few=3, missing=missing)
        assert (report.people.rows, report.people.unique, report.people.among_few) == (9, 1, 1)
        assert (report.verdict.told, report.people.given_away) == (1, 1)
        for reason in ("unique", "few", "told"):
            assert audit_gate(report, reason)[0].findings
    bare = {"at": table["at"], "s": ["x", "y"] * 4 + [None]}  # alone, and nothing is known of them
    for made in (
        hartley.audit(bare, secret="s", released="at", few=2),
        hartley.anonymity(bare, keys="at", confidential="s", few=2),
    ):
        assert (made.people.unique, made.people.rows, made.verdict.people) == (1, 9, 8)
    ages = bare | {"at": [1] * 4 + [2] * 4 + [30]}
    report = hartley.audit(ages, secret="s", released="at", few=2, sweep={"at": [1, 40]})
    assert [point.among_few for point in report.sweep] == [1, 0]


@pytest.mark.parametrize("unit", [None, "who"])
def test_people_of_a_drop_are_those_with_all_released_values(unit):
    table = {"at": ["a", "a", "b", None], "ill": ["x", "y", None, "y"], "who": [1, 2, 3, 4]}
    report = hartley.audit(table, secret="ill", released="at", missing="drop", unit=unit)
    assert (report.people.rows, report.people.unique, report.verdict.people) == (3, 1, 2)


@pytest.mark.parametrize("unit", [None, "who"])
def test_points_of_a_sweep_say_what_an_audit_of_the_same_bins_says(unit):
    table = {
        "age": list(range(40)),
        "s": ["x"] * 20 + ["y"] * 20,
        "t": [str(i % 7) for i in range(40)],
        "who": list(range(40)),
    }
    more = {"secret": ["s", "t"], "released": "age", "unit": unit, "few": 3}
    report = hartley.audit(table, sweep={"age": [1, 3, 20]}, **more)
    assert min(point.told for point in report.sweep) > 0
    for point in report.sweep:
        single = hartley.audit(table, bins={"age": point.step}, **more)
        assert (point.told, point.known, point.given_away, point.among_few) == (
            single.verdict.told,
            single.verdict.nearly_told,
            single.people.given_away,
            single.people.among_few,
        )
    assert report.to_dict()["people"]["given_away"] == report.verdict.told


@pytest.mark.parametrize("seed", range(60))
def test_missing_secrets_are_compared_by_people(seed):
    draw = random.Random(seed)
    couples = {c: range(draw.randint(1, 4)) for c in "ab"}
    rows = [(f"{c}{i}{x}", c, x) for c, each in couples.items() for i in each for x in "xy"]
    lacking = [(p, c, None) for p, c, _ in rows for _ in range(draw.choice([0, 0, 1, 3]))]
    names = ("who", "at", "ill")
    table = dict(zip(names, map(list, zip(*rows, *lacking, strict=True)), strict=True))
    share = {
        c: Fraction(
            len({p for p, at, _ in lacking if at == c}), len({p for p, at, _ in rows if at == c})
        )
        for c in "ab"
    }
    verdict = hartley.audit(table, secret="ill", released="at", unit="who").verdict
    assert verdict == hartley.anonymity(table, keys="at", confidential="ill", unit="who").verdict
    assert verdict.absent == (min(share.values()), max(share.values()))
    assert verdict.word == ("nothing" if share["a"] == share["b"] else "shifts")


def test_an_infinite_number_is_within_a_distance_of_itself_alone():
    infinite = float("inf")
    table = {
        "at": ["a"] * 5 + ["b"] * 36,
        "pay": [100, 101, 102, 103, 104.0, *range(34), infinite, -infinite],
    }
    verdict = hartley.audit(table, secret="pay", released="at", within=5).verdict
    assert (verdict.within.told, verdict.within.width) == (5, 5)
    assert hartley.audit(table, secret="pay", released="at").verdict.within is not None
    table["pay"][5:8] = [None] * 3
    valued = hartley.audit(table, secret="pay", released="at", within=5, missing="value").verdict
    assert valued.within.told == 5
    endless = {"at": list("aab"), "pay": [infinite, infinite, -infinite]}
    known = hartley.audit(endless, secret="pay", released="at", within=1).verdict.within
    assert (known.told, set(known.known.values())) == (3, {3})


def test_people_who_are_counted_by_the_billion_have_an_exact_verdict():
    counts = np.array([2_999_000_000, 1_000_000, 1_000_000, 2_999_000_000])
    pairs = Pairs(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), counts, (2, 2))
    verdict = Verdict.of_summary(Summary.of_pairs(pairs), ["ward"], ["diagnosis"], "0.9995")
    assert (verdict.word, verdict.people) == ("nearly tells", 6_000_000_000)
    assert list(verdict.known.values()) == [6_000_000_000] * 3 + [6_000_000_000]
    assert verdict.guess_right == verdict.largest_share == Fraction(2999, 3000)
    assert verdict.gain == Fraction(2999, 1500)
    assert verdict.shift == Fraction(2999, 3000) - Fraction(1, 2)
    near = NearbyPeople.of_pairs(pairs, [1, 9], Fraction(2), SHARES)
    assert (near.told, near.known[Fraction(99, 100)]) == (0, 6_000_000_000)


def test_a_table_of_counts_of_billions_of_rows_is_audited(monkeypatch):
    monkeypatch.setattr(counting, "MOST_ROWS", 99)  # as if products of more were too wide
    people = hartley.people(300)
    report = hartley.audit(people, secret="diagnosis", released=["age", "sex"])
    monkeypatch.undo()
    expected = hartley.audit(people, secret="diagnosis", released=["age", "sex"])
    assert report.verdicts == expected.verdicts
    assert report.findings == expected.findings


def test_households_count_in_every_command_with_and_without_a_unit():
    table = {"home": [1, 1, 2, 3], "at": list("aabb"), "ill": list("xyxy"), "who": [1, 2, 3, 4]}
    columns = {
        "home": {"role": "household"},
        "at": {"role": "key"},
        "ill": {"role": "confidential"},
    }
    for unit in (None, "who"):
        more = {"unit": unit, "roles": {"confirmed": True, "columns": columns}}
        keyed, report = (made(table, few=2, **more) for made in (hartley.anonymity, hartley.audit))
        assert keyed.k == 1
        for people in (keyed.people, report.people):
            assert (people.rows, people.unique, people.among_few) == (4, 2, 2)
        made = hartley.anonymize(table, k=2, hierarchy={"at": {"a": ["c"], "b": ["c"]}}, **more)
        assert made.levels == ((1, 2),)


def test_the_first_sentence_is_the_headline_and_the_others_stand_below():
    report = hartley.audit(hartley.people(300), secret="diagnosis", released="job")
    shown = report.report()
    first, *others = report.verdict.sentences
    assert shown.headline == first
    assert shown.lead.startswith(others[0])
    assert report.headline == f"{shown.headline} {shown.lead}"
    on_page = html.unescape(page(report)).replace("\xa0", " ")
    assert f"<h1>{first}</h1>" in on_page
    assert others[0] in on_page
    assert report.to_dict()["verdict"]["sentence"] == " ".join(report.verdict.sentences)
    keyed = hartley.anonymity(hartley.people(300), keys="job", confidential="diagnosis")
    assert keyed.report().headline.endswith(first)
    assert keyed.headline == f"{keyed.report().headline} {keyed.report().lead}"


@pytest.mark.parametrize("seed", range(20))
def test_a_guess_at_the_record_is_no_better_without_the_release(seed):
    draw = random.Random(seed)
    rows = [(draw.randrange(5), draw.randrange(3)) for _ in range(draw.randint(1, 12))]
    verdict = Verdict.of_records(*np.array(rows).T, ["r"])
    stays = {*rows}
    classes = {c: {p for p, at in stays if at == c} for _, c in rows}
    assert verdict.guess_right == Fraction(len(classes), len(stays))
    most = max(sum(p == one for p, _ in stays) for one, _ in rows)
    assert verdict.guess_right_before == Fraction(most, len(stays)) <= verdict.guess_right
    least = [min(len(classes[c]) for p, c in stays if p == one) for one in {p for p, _ in rows}]
    assert (verdict.told, verdict.left) == (least.count(1), min(least))
    assert verdict.ruled_out == sum(n < len(least) for n in least)
