"""Scanning a table that nobody described."""

import tomllib
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from hartley import OptionError, Roles, TableError, scan
from hartley.engines.table import Kind
from hartley.studies.look.scanned_column import name_hint, nested_widths, read_values, scan_column
from hartley.studies.look.special_uniques import special_uniques
from hartley.tables.opening import open_table
from hartley.tables.reading import in_periods


def column_of(values, name="x"):
    return scan_column(name, pa.array(values), len(values)).scanned


def people(rows=400, seed=3):
    rng = np.random.default_rng(seed)
    return {
        "patient": [f"P{i:05d}" for i in range(rows)],
        "age": rng.integers(18, 90, rows).tolist(),
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "city": rng.choice(["Ulm", "Graz", "Bern", "Metz"], rows).tolist(),
        "income": (rng.integers(10_000, 90_000, rows) + 0.5).tolist(),
        "country": ["AT"] * rows,
    }


# --- counts, against their definition -----------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_uniques_scores_and_people_follow_their_definitions(seed):
    rng = np.random.default_rng(seed)
    n, columns = int(rng.integers(20, 60)), 5
    cells = rng.integers(0, rng.integers(2, 5, columns), (n, columns))
    table = {f"q{i}": cells[:, i].tolist() for i in range(columns)} | {
        "diagnosis": rng.choice(["a", "b"], n).tolist()
    }
    report = scan(table, k=4)
    assert report.keys == tuple(f"q{i}" for i in range(columns) if len(set(cells[:, i])) > 1)
    asked = [report.uniques.columns.index(name) for name in report.keys]
    assert asked == list(range(len(report.keys)))
    rows = list(zip(*(table[name] for name in report.keys), strict=True))
    expected = special_uniques(table, report.keys)  # which is tested against its definition
    assert report.uniques.scores == expected.scores
    assert [report.uniques.of(i) for i in range(n)] == [expected.of(i) for i in range(n)]
    times = Counter(rows)
    assert report.people.unique == sum(times[row] == 1 for row in rows)
    assert report.people.among_few == sum(times[row] < 4 for row in rows)
    assert report.class_sizes.tolist() == [times[row] for row in rows]
    held = {}
    for row, ill in zip(rows, table["diagnosis"], strict=True):
        held.setdefault(row, set()).add(ill)
    assert report.given_away == {"diagnosis": sum(len(held[row]) == 1 for row in rows)}
    whole = Counter(zip(*table.values(), strict=True))
    assert report.duplicates == sum(times - 1 for times in whole.values())


def test_the_scores_of_the_literature():
    rows = [(1, 1, 1, 1), (1, 2, 1, 1), (2, 1, 1, 1), (2, 2, 1, 2), (3, 1, 1, 2), (1, 1, 2, 1)]
    table = {f"q{i}": list(column) for i, column in enumerate(zip(*rows, strict=True))}
    assert scan(table).uniques.scores == [1, 4, 4, 6, 8, 6]


def test_a_missing_confidential_value_gives_nothing_away():
    table = {"age": [1, 1, 2, 2], "diagnosis": ["a", None, "b", None]}
    assert scan(table).given_away == {"diagnosis": 2}


# --- columns --------------------------------------------------------------------------------------


def test_columns_are_told_apart():
    report = scan(people())
    assert [(column.name, column.what, column.role) for column in report.columns] == [
        ("patient", "identifier", "identifier"),
        ("age", "quasi-identifier candidate", "key"),
        ("sex", "quasi-identifier candidate", "key"),
        ("city", "quasi-identifier candidate", "key"),
        ("income", "confidential candidate", "confidential"),
        ("country", "constant", "kept"),
    ]


def test_numbers_that_identify():
    rng = np.random.default_rng(1)
    digits = rng.choice(90_000, 300, replace=False) + 10_000
    assert column_of(digits.tolist()).what == "identifier"
    assert column_of(list(range(300))).what == "identifier"
    assert column_of([float(i) for i in range(300)]).what == "identifier"
    # An amount: nearly all differ, but the numbers are neither dense nor equally long.
    amounts = (rng.pareto(1.2, 300) * 20_000).astype(int).tolist()
    assert column_of(amounts).what == "confidential candidate"
    assert column_of(amounts, "patient_id").what == "identifier"
    visits = [f"P{i % 60}" for i in range(300)]
    assert column_of(visits, "patient_id").what == "identifier"
    assert column_of(visits, "ward").what == "code list"


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        # Readings of few customers: each has many rows, and the number is theirs all the same.
        ("customer_id", [1 + i % 10 for i in range(400)], "numbers people"),
        ("Customer", [1 + i % 60 for i in range(400)], "numbers people"),
        ("Kunde Nr.", [7, 7, 8, 9] * 20, "numbers people"),
        ("Patientennummer", ["A1", "A2", "A3"] * 20, "numbers people"),
        ("v3", [i % 300 for i in range(900)], "without a gap"),
        # A few people with two rows each.
        ("ref", [f"P{max(i, 40):05d}" for i in range(400)], "equally long codes"),
        ("name", ["Ann"], "its name says so"),
        ("name", ["Ann"] * 30, "its name says so"),
        ("x", ["ann@mail.example"] * 30, "e-mail"),
    ],
)
def test_identifiers_that_repeat(name, values, why):
    column = column_of(values, name)
    assert (column.what, column.role) == ("identifier", "identifier")
    assert why in column.why


@pytest.mark.parametrize(
    ("name", "values", "what"),
    [
        ("customer", ["yes", "no"] * 30, "code list"),
        ("region_id", [1, 2, 3] * 30, "code list"),
        ("Country", [1, 2, 3, 4, 5] * 30, "code list"),  # how much people like it
        ("hours", [i % 300 for i in range(900)], "quasi-identifier candidate"),
        ("customer_age", [i % 60 for i in range(400)], "quasi-identifier candidate"),
        # One row: a value that all rows share is not public for that.
        ("age", [33], "quasi-identifier candidate"),
        ("diagnosis", ["hiv"], "confidential candidate"),
        ("x", ["a"], "code list"),
    ],
)
def test_what_is_no_identifier(name, values, what):
    assert column_of(values, name).what == what


@pytest.mark.parametrize(
    ("values", "looks"),
    [
        ([f"a{i}@mail.example" for i in range(9)] + ["none given"], "e-mail"),
        ([f"+43 1 {i:07d}" for i in range(9)], "phone"),
        ([f"10.0.{i}.1" for i in range(9)], "network"),
    ],
)
def test_values_that_look_like_identifiers(values, looks):
    column = column_of(values)
    assert column.what == "identifier"
    assert looks in column.why


def test_free_text_is_never_released_by_a_draft():
    notes = [
        f"The patient number {i} came in with pain in the left arm and a cough" for i in range(40)
    ]
    column = column_of(notes)
    assert (column.what, column.role) == ("free text", "identifier")


def test_dates_and_codes():
    assert column_of(["2020-01-31", "2020-02-01"] * 20).what == "date"
    codes = column_of(["A1", "B2", "C3"] * 20)
    assert (codes.what, codes.holds) == ("code list", "texts")
    zips = column_of([f"{i:05d}" for i in (1010, 8010, 6020)] * 20, "zip")
    assert (zips.what, zips.holds, zips.mask) == ("quasi-identifier candidate", "texts", 2)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Age", "key"),
        ("dateOfBirth", "key"),
        ("patient_id", "identifier"),
        ("E-Mail", "identifier"),
        ("Einkommen", "confidential"),
        ("country_name", "key"),
        ("fnlwgt", "weight"),
        ("Befund", "confidential"),
        ("Größe (cm)", "key"),
        ("household_weights", "weight"),
        ("hh_id", "household"),
        ("x7", None),
    ],
)
def test_names(name, hint):
    assert name_hint(name) == hint


def test_widths_nest_and_cover():
    for low, high, whole in ((17, 90, True), (0, 1, False), (0, 5, True), (-3e6, 8e9, True)):
        widths = nested_widths(low, high, whole=whole)
        assert all(float(b / a).is_integer() for a, b in pairwise(widths))
        assert (high - low) / widths[0] <= 16
        assert not whole or all(type(width) is int for width in widths)


# --- how values are written -----------------------------------------------------------------------


def test_markers_and_spaces():
    values, codes = read_values(pa.array([" F", "F", "?", "m", "M ", " ? ", None, "N/A"]))
    assert values.markers == ("?", "N/A")
    assert values.values.to_pylist() == ["F", "m", "M"]
    assert codes.tolist() == [0, 0, 3, 1, 2, 3, 3, 3]
    assert values.stray_rows == 3
    said = " ".join(values.suspicions)
    assert "3 rows with spaces" in said
    assert "'?' and 'N/A' seem to mark missing values, in 3 rows" in said
    assert "1 value written in capitals and in small letters, in 2 rows" in said


def test_a_text_among_numbers_is_named_if_several_rows_hold_it():
    numbers = [str(i) for i in range(40)]
    assert read_values(pa.array([*numbers, *["refused"] * 5]))[0].markers == ("refused",)
    alone = read_values(pa.array([*numbers, "Anna Huber"]))[0]
    assert alone.markers == ()
    assert "Anna" not in " ".join(alone.suspicions)


def test_a_text_among_dates_marks_missing_ones():
    days = [f"2015-01-{day:02d} 13:08:24 UTC" for day in range(1, 28)]
    values, codes = read_values(pa.array([*days, "nodate", "nodate", "nodate"]))
    assert (values.holds, values.markers) == ("dates", ("nodate",))
    assert codes[-3:].tolist() == [27, 27, 27]
    values, _ = read_values(pa.array([*days, "nodate"]))  # one row alone may be private
    assert (values.holds, values.markers) == ("texts", ())


@pytest.mark.parametrize(
    ("text", "is_date"),
    [
        ("2015-01-27 13:08:24 UTC", True),
        ("2015-01-27T13:08:24Z", True),
        ("2015-01-27T13:08:24.125Z", True),
        ("2015-01-27T13:08:24+02:00", False),  # the engine would forget the hours
        ("2015-01-27 13:08 UTC", False),
    ],
)
def test_what_is_called_a_date_can_be_put_into_months(text, is_date, tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("when,n\n" + f"{text},1\n" * 30)
    values, _ = read_values(pa.array([text] * 30))
    assert (values.holds == "dates") == is_date
    table = open_table(path)
    assert (table.kind("when") is Kind.TIME) == is_date
    if is_date:
        months = in_periods(table, {"when": "month"}).expression.when.to_pyarrow()
        assert set(months.to_pylist()) == {"2015-01"}


def test_one_weight_for_everybody_is_a_weight():
    weights = scan_column("sampling_weight", pa.array([2.5] * 30), 30).scanned
    assert (weights.what, weights.role) == ("sampling weight", "weight")
    assert scan_column("sampling_weight", pa.array([0.0] * 30), 30).scanned.role == "kept"


def test_decimal_commas():
    values, _ = read_values(pa.array(["1.234,5", "0,25", "-3"]))
    assert values.decimal_comma
    assert values.numbers.tolist() == [1234.5, 0.25, -3.0]
    assert values.suspicions == ("decimal commas",)
    doubtful, _ = read_values(pa.array(["1,234", "5,678", "12"]))
    assert "thousands" in doubtful.suspicions[0]


@pytest.mark.parametrize(
    ("texts", "dates", "said"),
    [
        (["31.12.1999", "01.02.2000"], "%d.%m.%Y", "the day first"),
        (["12/31/1999", "02/01/2000"], "%m/%d/%Y", "the month first"),
        (["01/02/1999", "02/01/2000"], "%d/%m/%Y", "nothing says"),
        (["31-12-99", "01-02-00"], "%d-%m-%y", "the day first"),
        (["31.12.1999", "12.31.1999"], None, "some are none"),
        (["31.12.1999", "1/2/2000"], None, "several ways"),
    ],
)
def test_dates_written_by_days(texts, dates, said):
    values, _ = read_values(pa.array(texts))
    assert values.dates == dates
    assert said in values.suspicions[0]


def test_numbers_that_stand_for_a_missing_value():
    ages = [20, 30, 40, 50, 60, 999, 999, 999]
    assert read_values(pa.array(ages))[0].suspicions == ("999 may mark missing values, in 3 rows",)
    assert read_values(pa.array([990, 995, 998, 999, 999, 999, 1005]))[0].suspicions == ()


# --- the report -----------------------------------------------------------------------------------


def test_a_report_shows_no_value_of_an_identifier_and_reads_well():
    table = people()
    report = scan(table)
    shown = str(report) + str(report.to_dict()) + report.draft_roles()
    assert not any(value in shown for value in table["patient"])
    assert report.headline.startswith("the dict: As it is, ")
    assert report.headline.endswith("400 rows of 6 columns.")
    assert "patient identifies people and must not be released." in report.sentences
    assert report.commands == ()  # a dict has no name to paste


def test_a_draft_is_read_again_and_not_confirmed(tmp_path):
    report = scan(people())
    path = report.write_draft(tmp_path / "roles.toml")
    roles = Roles.read(path)
    assert not roles.confirmed
    assert roles.named("identifier") == ("patient",)
    assert roles.named("key") == ("age", "sex", "city")
    with pytest.raises(OptionError, match="draft that nobody has confirmed; hint: correct"):
        Roles.confirmed_by_owner(path)
    with pytest.raises(Exception, match="exists already"):
        report.write_draft(path)


def test_doubtful_columns_are_undecided_in_a_draft_and_counted():
    rng = np.random.default_rng(5)
    table = {f"q{i}": rng.integers(0, 4, 200).tolist() for i in range(300)}
    report = scan(table)
    assert len(report.keys) == 8
    assert len(report.undecided) == len(Roles.read(tomllib.loads(report.draft_roles())).columns)
    assert len(report.uniques.columns) + len(report.not_combined) == 300


def test_risks_have_a_line_for_every_record(tmp_path):
    report = scan(people(50))
    path = report.risks.write(tmp_path / "risks.csv")
    lines = path.read_text().splitlines()
    assert lines[0] == '"row","alike","risk","score"'
    assert len(lines) == 51
    assert report.risks.table["alike"].to_pylist() == report.class_sizes.tolist()


def test_sizes_count_everybody_once():
    report = scan(people())
    assert sum(band.records for band in report.sizes) == 400
    assert sum(b.records for b in report.sizes if b.high < 5) == report.people.among_few


def test_refusals():
    with pytest.raises(OptionError, match="k is not a whole number of 2 or more"):
        scan(people(30), k=1)
    with pytest.raises(TableError, match="has no rows"):
        scan({"a": []})


def test_a_table_of_amounts_alone_is_averaged(tmp_path):
    rng = np.random.default_rng(7)
    path = tmp_path / "firms.csv"
    rows = rng.normal(1000, 300, (60, 2)).round(2)
    path.write_text("sales,costs\n" + "\n".join(f"{a},{b}" for a, b in rows))
    first, second, third = scan(path).commands
    assert first.endswith("--draft roles.toml")
    assert second.endswith("--secret ROW --released sales,costs")
    assert "microaggregate" in third
    assert third.endswith("--columns sales,costs -k 5 -o released.csv")


def test_a_line_of_too_many_fields_is_refused_wherever_it_stands(tmp_path):
    lines = [f"{i % 7},a" for i in range(30_000)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["age,job", *lines, "1,a,b", *lines]))
    with pytest.raises(TableError, match=r"Line 30,002 of people.csv has 3 fields, the header 2"):
        scan(path)
