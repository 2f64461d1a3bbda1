"""What a release is wanted for is read exactly, and every mistake is one sentence with a hint."""

from fractions import Fraction

import pytest

from hartley.errors import InputError
from hartley.studies.release.specification import Specification

HEIGHT = {"height": {"range": [100, 250]}}
BOTH = {"weight": {"range": [0, 200]}, "height": {"range": [0, 250]}}
SQUARE = {"x1": {"range": [-2, 2]}, "x2": {"range": [-2, 2]}}


def maximin(**fields):
    wanted = {"objective": "maximin", "query": "mean(height)", "error": "0.5", "people": 5}
    return {**wanted, "columns": HEIGHT} | fields


def bits(**fields):
    return {"objective": "bits", "bits": 3, "columns": HEIGHT} | fields


def hypothesis(**fields):
    wanted = {"objective": "hypothesis", "hypothesis": "weight >= 30*(height/100)**2", "error": 5}
    return {**wanted, "columns": BOTH} | fields


def without(content, *names):
    return {name: value for name, value in content.items() if name not in names}


def category(**fields):
    return bits(columns={"job": {"values": ["nurse", "doctor", "smith"]} | fields})


MISTAKES = [
    # fields
    ({}, "names no objective", "maximin"),
    (maximin(objective="best"), "objective 'best'", "choose from"),
    (maximin(objective=3), "objective 3", "choose from"),
    (maximin(eror=1), "unknown field 'eror'", "did you mean 'error'?"),
    (without(maximin(), "error"), "needs 'error'", "error = 0.5"),
    (without(maximin(), "query"), "needs 'query'", "mean(height)"),
    (without(bits(), "bits"), "needs 'bits'", "bits = 3"),
    (without(hypothesis(), "hypothesis"), "needs 'hypothesis'", "weight >= 30"),
    (maximin(bits=3), "both an error and bits", 'objective = "bits"'),
    (bits(error=3), "both an error and bits", "give bits"),
    (maximin(hypothesis="a > b"), "'hypothesis' has no meaning", "it has query"),
    (hypothesis(query="mean(height)"), "'query' has no meaning", "it has hypothesis"),
    (bits(people=5), "column by column", "leave out people"),
    # numbers
    (maximin(error=0), "error 0 is not positive", "how far it may be off"),
    (maximin(error=-1), "error -1 is not positive", "how far it may be off"),
    (maximin(error=float("nan")), "error is not a number", "for example 10"),
    (maximin(error=float("inf")), "error is not a number", "for example 10"),
    (maximin(error="wide"), "error is not a number", "for example 10"),
    (maximin(error=True), "error is not a number", "for example 10"),
    (bits(bits=0), "0 bits is not positive", "at least 1 bit"),
    (bits(bits=-2), "-2 bits is not positive", "at least 1 bit"),
    (bits(bits="0.9"), "0.9 bits allows a single output", "at least 1 bit"),
    (bits(bits=float("nan")), "budget in bits is not a number", "for example"),
    (bits(bits=5000), "5,000 bits", "fewer"),
    (maximin(people=0), "0 people", "people = 5000"),
    (maximin(people="2.5"), "2.5 people", "people = 5000"),
    *(
        (maximin(people=people), "There cannot be so many people", "how many people")
        for people in (10**30, "1e30", 2**63)
    ),
    (maximin(people="many"), "number of people is not a number", "for example"),
    (without(maximin(), "people"), "'people' is missing", "people = 5000"),
    (without(maximin(query="total(height)"), "people"), "'people' is missing", "people = 5000"),
    # columns
    (without(maximin(), "columns"), "declares no columns", "[columns.height]"),
    (maximin(columns=[]), "declares no columns", "[columns.height]"),
    (maximin(columns={"height": 3}), "'height' is not described", "range = [100, 250]"),
    (maximin(columns={"height": {}}), "'height' has no range", "range = [100, 250]"),
    (maximin(columns={"height": {"rnge": [1, 2]}}), "unknown field 'rnge'", "'range'"),
    (maximin(columns={"height": {"range": [250, 100]}}), "reversed", "smaller end first"),
    (maximin(columns={"height": {"range": [5, 5]}}), "empty: it holds 5 alone", "widen"),
    (maximin(columns={"height": {"range": [1, 2, 3]}}), "not given by two ends", "[100, 250]"),
    (maximin(columns={"height": {"range": "wide"}}), "not given by two ends", "[100, 250]"),
    (
        maximin(columns={"height": {"range": [0, float("inf")]}}),
        "high end of the range of column 'height' is not a number",
        "for example",
    ),
    (
        maximin(columns={"height": {"range": [float("nan"), 1]}}),
        "low end of the range of column 'height' is not a number",
        "for example",
    ),
    (
        bits(columns={"height": {"range": [0, 1], "step": 0}}),
        "step for column 'height'",
        "positive",
    ),
    (bits(columns={"height": {"range": [0, 1], "step": 2}}), "larger than its range", "low + step"),
    (maximin(columns={"height": {"range": [0, 1], "step": 1}}), "has a step", "leave it out"),
    (bits(columns={"a": {"range": [0, 1], "bits": 1}}), "'bits' has no meaning", "range and step"),
    # queries
    (maximin(query="mean(hight)"), "names column 'hight'", "did you mean 'height'?"),
    (maximin(query="mean(income)"), "names column 'income'", "[columns.income]"),
    (maximin(query="mean(height) + 1"), "mean of a column as a part", "alone"),
    (maximin(query="sum(height)"), "total of a column", "total(COLUMN)"),
    (maximin(query="height >"), "cannot be read", "for example"),
    (maximin(query="median(height)"), "uses median", "use abs"),
    (maximin(query=7), "'query' is not text", 'query = "..."'),
    (maximin(query="height"), "'people' has no meaning", "leave it out"),
    (without(maximin(query="3"), "people"), "names no column", "height"),
    (without(maximin(query="height - height"), "people"), "the same everywhere", "nothing"),
    (
        without(maximin(query="1/(height - 200)"), "people"),
        "divides by zero somewhere",
        "is never zero",
    ),
    (
        without(maximin(query="log(height - 100)"), "people"),
        "logarithm of a number that is not positive",
        "always positive",
    ),
    (
        without(maximin(query="sqrt(height - 200)"), "people"),
        "square root of a negative",
        "never negative",
    ),
    (maximin(columns=BOTH), "'weight' is declared, but", "not released"),
    (maximin(columns={"height": {"values": ["tall"]}}), "holds categories", "a range"),
    (bits(query="mean(height)", people=5, sensitivity=1), "follows from its range", "leave it out"),
    (bits(query="height", sensitivity=500), "larger than the range", "[100, 250]"),
    (bits(query="height", sensitivity=0), "sensitivity 0 is not positive", "one person"),
    # weights
    (bits(weights={"income": 1}), "names column 'income'", "declared columns"),
    (bits(weights={"height": 0}), "weight of column 'height' is not positive", "leave out"),
    (bits(weights={"height": "nan"}), "weight of column 'height' is not a number", "example"),
    (bits(weights=[1]), "weights are not a table", "weights = {"),
    (bits(query="height", weights={"height": 1}), "there is one query", "leave out"),
    # hypotheses
    (hypothesis(hypothesis="weight = 3"), "does not compare", "column >= expression"),
    (hypothesis(hypothesis="2*weight >= height*weight"), "does not compare", "column >= "),
    (hypothesis(hypothesis="weight >= hight"), "names column 'hight'", "'height'?"),
    (hypothesis(hypothesis="weight >= -1 + 0*height"), "never below", "check the ranges"),
    (hypothesis(hypothesis="weight >= 201 + height"), "never above", "check the ranges"),
    (hypothesis(hypothesis="weight >= 1/height"), "divides by zero", "never zero"),
    (hypothesis(policy="noise"), "policy 'noise' is unknown", "'stretch', 'blur' or 'meet'"),
    (bits(rule="loose"), "rule 'loose' is unknown", "'corrected' or 'printed'"),
    # categories
    (category(values=[]), "not a list of different", 'values = ["north"'),
    (category(values=["a", "a"]), "not a list of different", 'values = ["north"'),
    (category(values="a"), "not a list of different", 'values = ["north"'),
    (category(range=[0, 1]), "'range' has no meaning", "categories has"),
    (category(groups={"all": ["nurse"]}), "every listed value once", "one group"),
    (category(groups=["nurse"]), "not lists with labels", "groups = {"),
    (category(groups={"all": ["nurse"]}, bits=1), "'bits' has no meaning", "give the groups"),
    (category(hierarchy={"nurse": "care"}), "hierarchy but no bits", "bits = 1"),
    (category(hierarchy=3, bits=1), "does not name the place above", "hierarchy = {"),
    (category(bits=-1), "are negative", "0 bits"),
    (category(other=3), "is not a label", 'other = "other"'),
]


@pytest.mark.parametrize(("content", "problem", "hint"), MISTAKES)
def test_a_mistake_is_one_sentence_that_names_the_culprit_and_ends_with_a_hint(
    content, problem, hint
):
    with pytest.raises(InputError) as caught:
        Specification.read(content)
    assert problem in caught.value.problem
    assert hint in caught.value.hint
    assert "\n" not in str(caught.value)


def test_a_file_is_read_to_the_last_digit(tmp_path):
    path = tmp_path / "height.design.toml"
    path.write_text(
        'objective = "maximin"\nquery = "mean(height)"\npeople = 5000\n'
        "error = 0.12345678901234567890123\n[columns.height]\nrange = [100, 250.1]\n"
    )
    wanted = Specification.load(path)
    assert wanted.error == Fraction("0.12345678901234567890123")
    assert wanted.answer_range.high == Fraction("250.1")
    assert wanted.reach == Fraction("150.1") / 5000
    assert Specification.of(str(path)) == Specification.of(path) == Specification.of(wanted)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("objective = ", "is not TOML"), (b"\xff\xfe", "cannot be read"), (None, "cannot be read")],
)
def test_a_file_that_is_no_design_says_so(tmp_path, text, problem):
    path = tmp_path / "x.toml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=problem):
        Specification.load(path)


def test_a_total_spans_everybody_and_one_person_moves_it_by_a_whole_range():
    wanted = Specification.read(maximin(query="total(height)", people=4))
    assert (wanted.answer_range.low, wanted.answer_range.high) == (400, 1000)
    assert wanted.reach == 150
    assert Specification.read(maximin(people=2**63 - 1)).people == 2**63 - 1


def test_a_record_that_is_answered_by_itself_is_one_persons():
    wanted = Specification.read(without(maximin(query="x1**2 + 2*x2**2", columns=SQUARE), "people"))
    assert (wanted.answer_range.low, wanted.answer_range.high) == (0, 12)
    assert wanted.reach == 12


@pytest.mark.parametrize(
    "text",
    [
        "weight >= 30*(height/100)**2",
        "weight > 30*(height/100)**2",
        "weight < 30*(height/100)**2",
        "30*(height/100)**2 <= weight",
    ],
)
def test_a_hypothesis_may_be_written_in_every_direction(text):
    threshold = Specification.read(hypothesis(hypothesis=text)).threshold
    assert (threshold.column, str(threshold.line)) == ("weight", "30*(height/100)**2")


def test_a_range_that_is_not_exact_is_rounded_outward_to_ends_that_can_be_read():
    one = maximin(query="exp(x)", error=1, columns={"x": {"range": [0, 1]}})
    wanted = Specification.read(without(one, "people"))
    low, high = wanted.answer_range.low, wanted.answer_range.high
    assert low <= 1
    assert 0 <= float(high) - 2.718281828459045 < 1e-6
    assert len(str(high)) < 25
