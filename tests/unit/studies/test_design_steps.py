"""Designs against a hypothesis where columns declare a step, and their releases."""

import csv

import pytest

from hartley.errors import ColumnError, InputError
from hartley.guarantees.verify import verify
from hartley.reports import write_html
from hartley.studies.release.design import NO_STEP, design
from hartley.studies.release.release import release
from hartley.studies.release.tradeoff import tradeoff

OBESE = {
    "objective": "hypothesis",
    "hypothesis": "weight >= 30 * (height/100)**2",
    "error": 5,
    "columns": {
        "weight": {"range": [30, 200], "step": 1},
        "height": {"range": [120, 220], "step": 1},
    },
}
SUM = {
    "objective": "hypothesis",
    "hypothesis": "x + y >= 10",
    "error": 1,
    "columns": {"x": {"range": [0, 10], "step": 1}, "y": {"range": [0, 10], "step": 1}},
}


def test_meet_is_the_default_where_columns_declare_a_step():
    found = design(OBESE)
    assert [(column.name, column.kind) for column in found.document.columns] == [
        ("weight", "meet"),
        ("height", "keep"),
    ]
    assert found.headline == (
        "weight is moved by up to 5, so that 11.69 % of all possible records leave open whether "
        "weight >= 30 * (height/100)**2."
    )
    assert "No release that moves weight by at most 5 leaves more records open." in found.sentences
    assert found.certificate.parameters["open"] == 2020
    (band,) = [section.chart for section in found.report().sections if section.chart is not None]
    reached, _ = band.panels[0].series
    ends = zip(reached.low, reached.y, reached.high, strict=True)
    inside = [(y - low, high - y) for low, y, high in ends if 40 < y < 150]
    assert inside == [pytest.approx((10, 10))] * len(inside)
    assert ("11.69 %", "of all records leave it open") in found.figures


def test_without_a_step_stretching_stays_the_default_and_a_step_is_asked_for():
    bare = OBESE | {"columns": {name: {"range": [100, 200]} for name in ("weight", "height")}}
    found = design(bare)
    assert found.document.columns[0].kind == "stretch"
    assert NO_STEP in found.sentences
    assert NO_STEP not in design(OBESE).sentences


def test_blurring_counts_records_where_all_columns_have_a_step():
    found = design(OBESE | {"policy": "blur", "error": "4.3"})
    assert found.certificate.parameters["open"] == 872
    assert found.document.columns[0].step == 1


def test_what_somebody_may_know_is_passed_on():
    found = design(OBESE | {"known_within": 3})
    assert found.certificate.parameters["open"] == 606
    assert "leaves more records open to somebody who knows so much." in found.sentences[2]


@pytest.mark.parametrize("hypothesis", ["2*x + 1 >= 8", "x >= 3 or x >= 5", "3 <= x", "not x < 3"])
def test_any_monotone_hypothesis_on_one_column_is_designed(hypothesis, tmp_path):
    spec = SUM | {"hypothesis": hypothesis, "columns": {"x": {"range": [0, 10], "step": "1/2"}}}
    found = design(spec)
    assert found.certificate.parameters["open"] == 8
    write_html(found, tmp_path / "page.html")


def test_an_interval_is_hidden_by_tables(tmp_path):
    columns = {"kg": {"range": [40, 90], "step": 1}, "cm": {"range": [150, 190], "step": 10}}
    text = "18.5 <= kg/(cm/100)**2 < 25"
    found = design(SUM | {"hypothesis": text, "move": "kg", "error": 2, "columns": columns})
    path = found.document.save(tmp_path / "policy.toml")
    rows = [(kg, cm) for cm in range(150, 191, 10) for kg in range(40, 91)]
    table = {"kg": [kg for kg, _ in rows], "cm": [cm for _, cm in rows]}
    release(table, path, tmp_path / "out.csv", certificate=tmp_path / "certificate.json")
    assert verify(path, tmp_path / "certificate.json").sound
    lines = (tmp_path / "out.csv").read_text().split()[1:]
    sides = {}
    for (kg, cm), line in zip(rows, lines, strict=True):
        sides.setdefault(line, set()).add(185 * cm**2 <= 100_000 * kg < 250 * cm**2)
        assert abs(int(line.split(",")[0]) - kg) <= 2
    opened = sum(len(sides[line]) == 2 for line in lines)
    assert opened == found.certificate.parameters["open"] > 0
    assert "No release that moves kg by at most 2 leaves more records open." in found.sentences


def test_rounding_is_passed_on_and_promises_no_optimum():
    found = design(OBESE | {"round": "nearest"})
    assert found.document.columns[0].policy.moves == (4,)
    assert not any("leaves more records open" in sentence for sentence in found.sentences)


@pytest.mark.parametrize("move", [["x"], "y", ["x", "y"]])
def test_a_sum_is_hidden_by_the_columns_that_may_be_moved(move, tmp_path):
    found = design(SUM | {"move": move})
    names = [move] if isinstance(move, str) else move
    assert found.document.stepped[names[0]].columns == tuple(names)
    assert len(found.document.columns) == 3 - len(names)
    assert all(section.chart is None for section in found.report().sections)
    write_html(found, tmp_path / "page.html")
    rows = [(x, y) for x in range(11) for y in range(11)]
    table = {"x": [x for x, _ in rows], "y": [y for _, y in rows]}
    report = release(table, found.document, tmp_path / "out.csv")
    assert report.rows == 121
    with (tmp_path / "out.csv").open(newline="") as file:
        header, *lines = list(csv.reader(file))
    assert sorted(header) == ["x", "y"]
    sides = {}
    for (x, y), line in zip(rows, lines, strict=True):
        sides.setdefault(tuple(line), set()).add(x + y >= 10)
    opened = sum(len(sides[tuple(line)]) == 2 for line in lines)
    assert opened == found.certificate.parameters["open"]


@pytest.mark.slow
def test_a_release_of_a_design_is_verified_and_says_how_far_it_is_off(tmp_path):
    found = design(OBESE | {"error": "4.3"})
    path = found.document.save(tmp_path / "policy.toml")
    table = {"weight": [80, 90, 100], "height": [170, 171, 172]}
    report = release(
        table, path, tmp_path / "out.parquet", certificate=tmp_path / "certificate.json"
    )
    assert verify(path, tmp_path / "certificate.json").sound
    assert report.columns[0].error == 4
    assert "weight is released within 4 of its value" in report.sentences[0]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"weight": 80.5, "height": 170.0}, "'weight' is off the declared step of 1"),
        ({"weight": 80.0, "height": 170.5}, "'height' is off the declared step of 1"),
        ({"weight": 20.0, "height": 170.0}, "'weight' is outside the declared range"),
        ({"weight": 80.0, "height": 300.0}, "'height' is outside the declared range"),
        ({"weight": None, "height": 170.0}, "'weight' is missing"),
        ({"weight": 80.0, "height": None}, "'height' is missing"),
    ],
)
@pytest.mark.parametrize("policy", ["meet", "blur"])
def test_a_table_off_the_lattice_is_refused(tmp_path, policy, row, problem):
    table = {name: [100.0 if name == "weight" else 180.0, row[name]] for name in row}
    with pytest.raises(ColumnError, match=problem):
        release(table, design(OBESE | {"policy": policy}).document, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_design_that_rounds_takes_values_between_the_steps(tmp_path):
    document = design(OBESE | {"round": "nearest"}).document
    release({"weight": [80.4, 86.9], "height": [170, 170]}, document, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().split()[1:] == ["84,170", "83,170"]
    with pytest.raises(ColumnError, match="'height' is off"):
        release({"weight": [80.4], "height": [170.5]}, document, tmp_path / "no.csv")


BARE = {"weight": {"range": [30, 200], "step": 1}, "height": {"range": [120, 220]}}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"policy": "stretch"}, "may hide none of the values that lie on a step"),
        ({"columns": BARE, "move": ["height"]}, "'height' has no step"),
        ({"columns": BARE, "policy": "blur"}, "'height' has no step"),
        ({"policy": "blur", "known_within": 2}, "no use for"),
        ({"policy": "blur", "move": ["weight"]}, "no use for"),
        ({"move": ["age"]}, "'age' is moved"),
        ({"move": 3}, "does not list columns"),
        ({"hypothesis": "weight + height >= 250"}, "does not say which column"),
        ({"hypothesis": "weight >= age"}, "names column 'age'"),
        ({"hypothesis": "weight >= 100"}, "'height' is declared"),
        ({"error": "0.5"}, "below one step"),
        ({"known_within": "0.5"}, "less than a step"),
        ({"hypothesis": "weight == height", "move": ["weight", "height"]}, "too many records"),
        ({"hypothesis": "weight == height", "move": "weight", "known_within": 3}, "not monotone"),
        ({"norm": "l5"}, "norm 'l5' is unknown"),
        ({"round": "up"}, "round 'up' is unknown"),
        ({"norm": "l2"}, "not one comparison of a sum"),
        ({"hypothesis": "weight >= 500 + height"}, "No possible record leaves open"),
    ],
)
def test_a_mistake_is_one_sentence_with_a_hint(change, problem):
    with pytest.raises(InputError, match=problem) as caught:
        design(OBESE | change)
    assert caught.value.hint


def test_a_curve_is_about_values_without_a_step():
    with pytest.raises(InputError, match="without a step"):
        tradeoff(OBESE)


def test_other_columns_may_have_no_step():
    found = design(OBESE | {"columns": BARE})
    assert found.headline == (
        "weight is moved by up to 5, so that at least 11.69 % of all possible records leave open "
        "whether weight >= 30 * (height/100)**2."
    )
    assert 'others = {height = ["120", "220"]}' in found.document.to_toml()
    assert found.certificate.certainty == "bound"
    assert not any("leaves more records open" in sentence for sentence in found.sentences)


def test_several_hypotheses_are_hidden_by_one_release():
    ages = {"age": {"range": [0, 100], "step": 1}}
    wanted = {"objective": "hypothesis", "hypothesis": ["age >= 18", "age >= 65"], "error": 3}
    found = design(wanted | {"columns": ages})
    assert found.headline == (
        "age is moved by up to 3, so that at least 11.88 % of all possible records leave open "
        "each of age >= 18 and age >= 65."
    )
    lines = found.certificate.parameters["lines"]
    assert [(line["hypothesis"], line["open"]) for line in lines] == [
        ("age >= 18", 12),
        ("age >= 65", 12),
    ]
    assert found.document.design["hypothesis"] == ["age >= 18", "age >= 65"]


def test_what_is_impossible_is_said_in_the_design():
    ages = {"age": {"range": [0, 20], "step": 1}}
    wanted = {"objective": "hypothesis", "hypothesis": "age >= 10", "error": 2, "columns": ages}
    found = design(wanted | {"possible": "age not in (9, 10)"})
    assert found.certificate.parameters["possible"] == "age not in (9, 10)"
    # 8 and 11 meet at 9 or 10, 7 and 11 at 9, 8 and 12 at 10; nothing further apart does.
    assert found.certificate.parameters["open"] == 4
    with pytest.raises(InputError, match="No possible record leaves open"):
        design(wanted | {"possible": "age not in (8, 9, 10, 11)"})


def test_several_columns_without_a_direction_take_a_table():
    wanted = {
        "objective": "hypothesis",
        "hypothesis": "x == y",
        "move": ["x", "y"],
        "error": 1,
        "columns": {"x": {"range": [0, 9], "step": 1}, "y": {"range": [0, 9], "step": 1}},
    }
    found = design(wanted)
    opened = found.certificate.parameters["open"]
    assert 60 <= opened <= 70
    assert any(
        f"leaves more than 70 records open; whether one leaves more open than the {opened}" in text
        for text in found.sentences
    )
    again = type(found.document).from_toml(found.document.to_toml())
    assert again == found.document


def test_a_norm_names_the_columns_that_are_moved():
    wanted = SUM | {"hypothesis": "2*x + y >= 10", "move": ["x", "y"], "norm": "l1", "error": 2}
    found = design(wanted)
    assert found.headline.startswith("x is moved by up to 2, so that")
    assert "moving x by up to 2; every other" in found.sentences[0]


@pytest.mark.parametrize(
    ("norm", "error", "sentence"),
    [
        ("l1", "3", "by at most 3 in all leaves more than 144 records open;"),
        ("l2", "1.5", "by at most 1.5 in Euclidean distance leaves more records open."),
    ],
)  # fmt: skip
def test_what_no_release_within_a_norm_exceeds_is_said(norm, error, sentence):
    columns = {name: {"range": [0, 14], "step": 1} for name in ("x", "y")}
    made = design({
        "objective": "hypothesis", "hypothesis": "x + y >= 14", "move": ["x", "y"],
        "error": error, "norm": norm, "columns": columns,
    })  # fmt: skip
    start = "No release of values on the declared steps that moves x and y "
    assert start + sentence in " ".join(made.sentences)
