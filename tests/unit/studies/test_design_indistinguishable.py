"""Designs that keep two values of a person apart by no more than some bits."""

import math
from dataclasses import replace

import pytest

from hartley.errors import InputError, OptionError
from hartley.guarantees.verify import certify
from hartley.policies.document import PolicyDocument
from hartley.studies.release.design import design


def cells(designed):
    (column,) = designed.document.columns
    return column.quantizer


def told_apart(**fields):
    mean = {"query": "mean(x)", "people": 5, "columns": {"x": {"range": [0, 1]}}}
    wanted = {"objective": "indistinguishability"} | mean | fields
    return design({name: value for name, value in wanted.items() if value is not None})


@pytest.mark.parametrize(("bits", "levels", "printed"), [(1, 9, 1), (2, 14, 5), (3, 24, 15)])
def test_the_most_cells_that_keep_the_values_of_a_person_apart(bits, levels, printed):
    found = told_apart(bits=bits)
    assert (cells(found).levels, found.certificate.value) == (levels, bits)
    assert found.certificate.kind == "indistinguishability"
    assert (found.certificate.sound, found.certificate.certainty) == (True, "exact")
    assert "more equal cells would break them" in " ".join(found.sentences)
    assert cells(told_apart(bits=bits, rule="printed")).levels == printed
    again = certify(PolicyDocument.from_toml(found.document.to_toml()))
    assert again.claim == found.certificate.claim
    # The number of cells that one fifth of the range meets counts for those who know the others.
    (more,) = [c for c in again.consequences if c.name == "to whoever knows the others"]
    assert more.value == pytest.approx(math.log2(math.ceil(levels / 5) + 1))


def test_one_column_that_outweighs_the_others_gets_more_cells():
    columns = {"a": {"range": [0, 1]}, "b": {"range": [0, 1]}}
    found = told_apart(bits=2, query="a + b/10", people=None, columns=columns)
    assert (cells(found).levels, found.certificate.value) == (11, 2.0)
    assert found.certificate.needs_strict
    assert "every column of the query is the value of another person" in str(found.certificate)


def test_a_total_over_many_people_and_what_breaks_the_budget():
    many = told_apart(bits=1, query="total(x)", people=10**6)
    assert cells(many).levels == 2 * 10**6 - 1
    (column,) = many.document.columns
    finer = replace(column, quantizer=replace(column.quantizer, levels=2 * 10**6))
    broken = certify(replace(many.document, columns=(finer,)))
    assert not broken.sound
    assert "breaks the budget of 1 bit" in broken.claim


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"query": "x*x", "people": None}, "is not linear"),
        ({"query": "x", "people": None}, "one person alone"),
        ({"people": 1}, "one person alone"),
        ({"error": 1}, "both an error and bits"),
        ({"sensitivity": 1}, "has no meaning"),
    ],
)
def test_a_design_that_cannot_be_indistinguishable_is_refused(fields, words):
    with pytest.raises((InputError, OptionError), match=words):
        told_apart(bits=2, **fields)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('of = "mean(x)"', 'of = "x*x"'),
        lambda text: text.replace('columns = {x = ["0", "1"]}', ""),
        lambda text: (
            text + '\n[[columns]]\nname = "y"\nkind = "quantizer"\nlow = "0"\n'
            'high = "1"\nlevels = 3\nof = "mean(y)"\n'
        ),
        lambda text: text.replace('high = "1"', 'high = "2"'),
    ],
)
def test_a_policy_file_that_does_not_fit_its_objective_is_not_certified(change):
    document = PolicyDocument.from_toml(change(told_apart(bits=2).document.to_toml()))
    with pytest.raises((InputError, OptionError)):
        certify(document)
