"""Designs whose query is a list: read, drafted, certified, released and verified."""

import csv
import math
from fractions import Fraction

import pytest

import hartley
from hartley.errors import ColumnError, InputError, OptionError
from hartley.reports.render import page as page_of

BOTH = ["mean(height)", "mean(weight)"]
PEOPLE = {
    "people": 4,
    "columns": {"height": {"range": [100, 250]}, "weight": {"range": [30, 200]}},
}
SQUARE = {"columns": {"a": {"range": [0, 1]}, "b": {"range": [0, 1]}}}


def designed(**fields):
    return hartley.design(PEOPLE | {"objective": "maximin", "query": BOTH} | fields)


def levels(design):
    return tuple(column.levels for column in design.document.columns)


# --- the grids ------------------------------------------------------------------------------------


def test_the_fewest_cells_within_a_euclidean_error():
    design = designed(error=10, norm="euclidean")
    assert levels(design) == (10, 13)
    assert design.headline == (
        "mean(height) and mean(weight) are released together in 130 cells (10 × 13), never more "  # noqa: RUF001
        "than 9.95 in Euclidean distance from the truth: at most 4.322 bits about any one person."
    )
    (fewest,) = [sentence for sentence in design.sentences if "fewer cells" in sentence]
    assert fewest.endswith("has fewer cells; cells of other shapes are 82 or more.")


def test_the_fewest_cells_within_an_error_in_every_answer():
    design = designed(error=10)
    assert levels(design) == (8, 9)
    assert "No release within 10 in every answer has fewer cells." in design.sentences
    assert hartley.design(design.specification).document == design.document


def test_every_query_may_have_an_error_of_its_own():
    design = designed(error=["0.5", "1"])
    assert levels(design) == (150, 85)
    assert design.document.design["error"] == ["0.5", "1"]
    assert "never more than 0.5 and 1, respectively, from the truth" in design.headline
    assert (
        "No release within 0.5 for mean(height) and 1 for mean(weight) has fewer cells."
        in design.sentences
    )


def test_the_least_error_within_a_budget_of_one_person():
    means = {"people": 10, **SQUARE, "query": ["mean(a)", "mean(b)"], "objective": "bits"}
    expected = {1: (1, 10), 2: (10, 10), 3: (10, 30), 4: (30, 30)}
    for bits, cells in expected.items():
        design = hartley.design(means | {"bits": bits})
        assert levels(design) == cells
        assert (design.certificate.sound, design.certificate.value) == (True, float(bits))
        asked = f"{bits} {'bit' if bits == 1 else 'bits'} were asked for"
        best = "no other numbers of equal cells have a smaller largest error"
        assert design.sentences[2] == f"{asked}, and {best}."
    nine = hartley.design(means | {"bits": "3.17", "norm": "euclidean"})
    assert levels(nine) == (20, 20)


def test_weights_of_queries():
    wide = {"a": {"range": [0, 1]}, "b": {"range": [0, 100]}}
    means = {
        "people": 10,
        "columns": wide,
        "query": ["mean(a)", "mean(b)"],
        "objective": "bits",
        "bits": "3.17",
    }
    assert levels(hartley.design(means)) == (1, 80)
    by_range = hartley.design(means | {"weights": "range"})
    assert levels(by_range) == (20, 20)
    assert by_range.document.design["weights"] == {"mean(a)": "1", "mean(b)": "0.01"}
    by_hand = hartley.design(means | {"weights": {"mean(a)": 100}})
    assert levels(by_hand) == (20, 20)
    assert "smaller weighted largest error" in by_hand.sentences[2]


def test_records_get_all_their_queries():
    design = hartley.design({"objective": "bits", "bits": 4, "query": ["a", "b"], **SQUARE})
    assert [(column.name, column.of) for column in design.document.columns] == [
        ("a", None),
        ("b", None),
    ]
    assert levels(design) == (4, 4)
    assert (design.certificate.sound, design.certificate.needs_strict) == (True, True)
    assert design.headline.endswith("at most 4 bits about the person.")


def test_queries_that_share_columns_have_a_gap():
    design = hartley.design(
        {"objective": "maximin", "error": "0.25", "query": ["a + b", "a - b"], **SQUARE}
    )
    assert levels(design) == (4, 4)
    assert [column.name for column in design.document.columns] == ["answer_1", "answer_2"]
    assert (
        "Of the 16 cells 13 can hold an answer, and any release within 0.25 in every answer has "
        "8 or more." in design.sentences
    )
    # Engines compute in doubles, so that all sixteen count, and a missing value beside them.
    assert 2**design.certificate.value == pytest.approx(25)
    bits = hartley.design({"objective": "bits", "bits": 4, "query": ["a + b", "a - b"], **SQUARE})
    assert any("moved independently, which is more than they do" in s for s in bits.sentences)


def test_queries_that_are_not_linear_are_bracketed():
    design = hartley.design(
        {"objective": "maximin", "error": "0.25", "query": ["a*b", "a - b"], **SQUARE}
    )
    assert levels(design) == (2, 4)
    assert (
        "This release has 8 cells, and any release within 0.25 in every answer has 4 or more."
        in design.sentences
    )


def test_a_mean_and_a_total_of_one_column_are_one_answer():
    design = hartley.design(
        {
            "objective": "maximin",
            "error": 1,
            "query": ["mean(a)", "total(a)"],
            "people": 20,
            "columns": {"a": {"range": [0, 1]}},
        }
    )
    assert [column.name for column in design.document.columns] == ["mean_a", "total_a"]
    assert levels(design) == (1, 10)
    assert design.certificate.value == 1.0
    assert "No release within 1 in every answer has fewer cells." in design.sentences


# --- from a file to a release ---------------------------------------------------------------------


@pytest.mark.slow
def test_a_design_file_becomes_a_release_that_verifies(tmp_path):
    (tmp_path / "both.design.toml").write_text(
        'objective = "maximin"\nquery = ["mean(height)", "mean(weight)"]\nname = ["h", "w"]\n'
        'error = 10\nnorm = "euclidean"\npeople = 4\n'
        "[columns.height]\nrange = [100, 250]\n[columns.weight]\nrange = [30, 200]\n"
    )
    design = hartley.design(tmp_path / "both.design.toml")
    policy = design.document.save(tmp_path / "both.toml")
    assert hartley.PolicyDocument.load(policy) == design.document
    table = {"height": [150, 160, 170, 180], "weight": [50, 60, 70, 81], "name": list("abcd")}
    report = hartley.release(
        table, policy, tmp_path / "out.csv", certificate=tmp_path / "promise.json"
    )
    assert report.withheld == ("name",)
    certificate = hartley.verify(policy, tmp_path / "promise.json")
    assert certificate.to_dict()["claim"] == design.certificate.claim
    with (tmp_path / "out.csv").open() as file:
        (row,) = csv.DictReader(file)
    off = [float(row["h"]) - 165, float(row["w"]) - 65.25]
    assert math.hypot(*off) <= 10
    assert float(row["h_low"]) <= 165 < float(row["h_high"])
    assert design.document.design["query"] == BOTH
    assert design.document.design["norm"] == "euclidean"


def test_the_certificate_counts_what_one_person_can_produce():
    design = hartley.design(
        {"people": 2, **SQUARE, "query": ["mean(a)", "mean(b)"], "objective": "bits", "bits": 3}
    )
    grid = [Fraction(k, 12) for k in range(13)]
    tried = hartley.verify_exhaustively(design.document, people={"a": grid, "b": grid})
    assert tried <= round(2**design.certificate.value) <= 8


@pytest.mark.slow
def test_a_design_of_several_queries_is_drawn_and_written_as_a_page():
    design = designed(error=10)
    (chart,) = [section.chart for section in design.report().sections if section.chart is not None]
    assert [panel.ruler.name for panel in chart.panels] == [BOTH[0]] * 2 + [BOTH[1]] * 2
    assert chart.panels[1].ruler.reach == 37.5
    assert ("72", "cells") in design.figures
    page = page_of(design)
    assert "mean(height) and mean(weight) are released together" in page
    assert design.title == "Design of a release of mean(height) and mean(weight)"


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "kind", "problem"),
    [
        ({"query": []}, InputError, "not a list of texts"),
        ({"query": ["mean(height)", 3]}, InputError, "not a list of texts"),
        ({"query": ["mean(height)"] * 2}, InputError, "lists 'mean(height)' twice"),
        ({"query": ["mean(height)", "weight"]}, InputError, "of a whole table beside 'weight'"),
        ({"query": ["mean(height)"]}, InputError, "holds one query"),
        (
            {"query": ["mean(height)", "total(height)"]},
            ColumnError,
            "'weight' is declared, but no query",
        ),
        ({"query": [*BOTH, "mean(age)"]}, ColumnError, "names column 'age'"),
        ({"objective": "leakage"}, InputError, "is for one query"),
        ({"sensitivity": 3, "objective": "bits", "bits": 3}, InputError, "no meaning for several"),
        ({"rule": "printed", "objective": "bits", "bits": 3}, InputError, "no meaning for several"),
        ({"name": "both"}, InputError, "does not name every answer"),
        ({"name": ["h"]}, InputError, "does not name every answer"),
        ({"name": ["h", "h"]}, InputError, "lists 'h' twice"),
        ({"norm": "l1"}, InputError, "The norm 'l1' is unknown"),
        ({"error": [1]}, InputError, "There are 1 errors for 2 queries"),
        ({"error": [1, 0]}, OptionError, "is not positive"),
        ({"error": [1, 2], "norm": "euclidean"}, InputError, "one number for all queries"),
        ({"query": "mean(height)", "norm": "sup"}, InputError, "there is one query"),
        ({"objective": "bits", "bits": 3, "weights": 2}, InputError, "weights are not a table"),
        (
            {"objective": "bits", "bits": 3, "weights": {"height": 2}},
            InputError,
            "A weight names 'height'",
        ),
        (
            {"objective": "bits", "bits": 3, "weights": {"mean(height)": 0}},
            InputError,
            "is not positive",
        ),
        (
            {"objective": "bits", "bits": 17, "norm": "euclidean"},
            OptionError,
            "among up to 65,536 outputs",
        ),
        ({"error": "1e-13"}, OptionError, "more than can be told apart exactly"),
        ({"columns": {}}, InputError, "declares no columns"),
    ],
)
def test_what_makes_no_sense_is_refused(fields, kind, problem):
    error = {} if "bits" in fields else {"error": 10}
    content = PEOPLE | {"objective": "maximin", "query": BOTH} | error | fields
    with pytest.raises(kind, match=problem.replace("(", r"\(").replace(")", r"\)")):
        hartley.design(content)


def test_the_trade_off_is_for_one_query():
    with pytest.raises(OptionError, match="the design asks for several"):
        hartley.tradeoff(PEOPLE | {"objective": "maximin", "query": BOTH, "error": 10})
