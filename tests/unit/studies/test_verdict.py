"""Numbers of a verdict against their definitions, counted anew person by person."""

# ruff: noqa: S311 - random cases, not secrets

import random
from fractions import Fraction

import numpy as np
import pytest

from hartley import Relation
from hartley.errors import OptionError
from hartley.studies.look.verdict import Verdict, worst

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
        "guess_right_before": Fraction(top, total),
    }


def agree(verdict, rows):
    """Whether a verdict has the numbers of the definitions."""
    expected = defined(rows)
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


@pytest.mark.parametrize("certainty", ["1", "0.5", "nan", "often", 0])
def test_a_certainty_is_a_share_above_one_half(certainty):
    summary = Relation.from_pairs([(1, 2)]).summary
    with pytest.raises(OptionError):
        Verdict.of_summary(summary, ["r"], ["s"], certainty)


def test_the_worst_of_several_has_most_people_told():
    first, second = ward("A flu 2", "B hiv 2"), ward("A flu 3", "B hiv 2")
    assert worst([first, second]) is second
