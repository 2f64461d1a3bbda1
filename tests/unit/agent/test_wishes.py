"""A wish for an error gets the best answer at its price."""

from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hartley.results.quote import Wish
from hartley.schema.schema import Schema
from hartley.trusted.precision import PriceDesk, questions_of
from hartley.trusted.pricing.price import price

PEOPLE = Schema.read(
    {
        "table": {"name": "people"},
        "columns": {
            "age": {"kind": "private", "range": [0, 100], "step": 1},
            "income": {"kind": "private", "range": [0, 5000], "step": 10, "nullable": True},
            "sex": {"kind": "public", "values": ["F", "M"]},
        },
    }
)
TEXTS = (
    "SELECT AVG(age) FROM people",
    "SELECT SUM(income) FROM people WHERE age >= 50",
    "SELECT MEDIAN(age), COUNT(*) FROM people WHERE income > 100",
    "SELECT VAR_POP(age), SUM(income) FROM people",
)


@pytest.mark.slow
@given(st.sampled_from(TEXTS), st.fractions(Fraction(1, 10), 2000, max_denominator=10))
@settings(max_examples=60)
def test_an_error_buys_the_finest_steps_of_its_price(text, error):
    from hartley.trusted.precision import steps_for_error, worst_errors
    from hartley.trusted.questions.question import parse

    desk = PriceDesk(PEOPLE, 1000)
    (told,) = desk.plan(Wish(text, error=error), None, None)
    plain = parse(text, PEOPLE, 1000)
    coarse = plain.with_steps(steps_for_error(plain, error))
    assert price(told.questions, PEOPLE).cells <= price(coarse.questions, PEOPLE).cells
    assert all(
        new <= old for new, old in zip(worst_errors(told), worst_errors(coarse), strict=True)
    )
    assert all(found <= error for found in worst_errors(told))


@pytest.mark.parametrize("error", ["0.5", "0.2", 3])
def test_wishes_of_the_same_price_are_the_same_question(error):
    desk = PriceDesk(PEOPLE, 1000)
    plans = desk.plan([Wish(TEXTS[0], error=error), Wish(TEXTS[0], bits=1)], None, None)
    assert len(questions_of(plans)) == 1
