from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from hartley import OptionError
from hartley.boxes.box import CategoryList, SteppedRange

ENDS = st.fractions(-9, 9, max_denominator=30)


@given(ENDS, st.fractions(0, 9, max_denominator=7), st.fractions("1/30", 3, max_denominator=30))
def test_places_are_the_numbers_of_a_loop(low, length, step):
    numbers, number = [], low
    while number <= low + length:
        numbers.append(number)
        number += step
    stepped = SteppedRange(low, low + length, step)
    assert stepped.size == len(numbers)
    places = list(range(len(numbers)))
    assert [stepped.number(place) for place in places] == numbers
    assert stepped.doubles(places).tolist() == [float(number) for number in numbers]


@given(ENDS, ENDS)
def test_places_between_two_numbers_are_those_that_lie_there(low, high):
    stepped = SteppedRange(Fraction(-2), Fraction(3), Fraction(2, 7))
    first, last = stepped.between(low, high)
    inside = [k for k in range(stepped.size) if low <= stepped.number(k) <= high]
    assert list(range(first, last + 1)) == inside


def test_numbers_that_doubles_do_not_hold_as_quotients_are_rounded_one_by_one():
    fine = SteppedRange(Fraction(1, 3), Fraction(2), Fraction(1, 10**17))
    assert fine.doubles([0, 5]).tolist() == [float(fine.number(0)), float(fine.number(5))]


@pytest.mark.parametrize("ends", [(0, 1, 0), (1, 0, 1), (0, 1, -1)])
def test_a_range_without_numbers_is_refused(ends):
    with pytest.raises(OptionError, match="A step is not positive, or a range ends before"):
        SteppedRange(*map(Fraction, ends))


def test_what_stands_for_all_other_values_is_none_of_them():
    for values in (("other", "other "), (1, 2), (True,)):
        assert CategoryList(values, complete=False).other() not in values
    assert CategoryList((True, False), complete=False).other() is None
