"""Published tables as people really write them, and every mistake in one sentence."""

import gc
import json
import shutil
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from hartley.errors import InputError
from hartley.tables.crosstab import Rounding, read_totals, unnamed_totals
from hartley.tables.described import (
    CategoryTree,
    Descriptions,
    OutputDescription,
    read_description,
    read_descriptions,
)
from hartley.tables.published import read_crosstab, read_manifest, read_results_folder, with_places

ACRO = Path(__file__).parents[2] / "fixtures" / "acro"
WIDE = "region,F,M,Total\nnorth,12,x,20\nsouth,5,6,11\n"


def read(tmp_path, text, name="a.csv", **fields):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_crosstab(str(path), read_description(fields))


def ends(table):
    return {cell.keys: (cell.low, cell.high) for cell in table.cells}


def workbook(folder, *rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(folder / "a.xlsx")
    return str(folder / "a.xlsx")


def test_a_wide_table_and_a_list_of_cells_say_the_same(tmp_path):
    wide = read(tmp_path, WIDE, dims=["region", "sex"])
    long = "region;sex;n\nnorth;F;12\nnorth;M;x\nnorth;Total;20\n"
    long += "south;F;5\nsouth;M;6\nsouth;Total;11\n"
    assert ends(wide) == ends(read(tmp_path, long))
    assert wide.dims == ("region", "sex")
    assert wide.guesses == ("'Total' is the total of sex",)
    assert wide.cells[1].line == 2


def test_parquet_excel_and_json_say_the_same(tmp_path):
    frame = pd.DataFrame(
        {"F": [12, 5], "M": [None, 6], "Total": [20, 11]},
        index=pd.Index(["north", "south"], name="region"),
    )
    expected = ends(read(tmp_path, WIDE, dims=["region", "sex"]))
    described = OutputDescription(dims=("region", "sex"))
    frame.to_parquet(tmp_path / "a.parquet")
    frame.reset_index().to_json(tmp_path / "a.json", orient="records")
    for name in ("a.parquet", "a.json"):
        assert ends(read_crosstab(str(tmp_path / name), described)) == expected
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:  # a title block above the table
        frame.rename_axis(columns="sex").to_excel(book, startrow=3)
        book.book.active["A1"] = "Table 1: people by region and sex"
    table = read_crosstab(str(tmp_path / "a.xlsx"), OutputDescription())
    assert (ends(table), table.dims[0]) == (expected, "region")


def test_two_dimensions_above_the_columns(tmp_path):
    text = "year,2020,2020,2021,2021\nsex,F,M,F,M\nregion,,,,\nnorth,1,2,3,4\nsouth,5,6,7,8\n"
    table = read(tmp_path, text)
    assert table.dims == ("region", "year", "sex")
    assert ends(table)["south", "2021", "F"] == (7, 7)


def test_a_row_that_hides_all_its_cells_is_no_header(tmp_path):
    table = read(tmp_path, "region,F,M\nnorth,,\nsouth,5,6\n", dims=["region", "sex"])
    assert ends(table)["north", "F"] == (0, None)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("region,n\na,12\nb,\nTotal,20\n", ("b",)),
        ("region,sex,count\na,F,12\na,M,\nb,F,3\nb,M,4\n", ("a", "M")),
    ],
)
def test_an_empty_cell_of_a_list_is_hidden_and_begins_no_header(tmp_path, text, hidden):
    table = read(tmp_path, text)
    assert ends(table)[hidden] == (0, None)
    assert len(table.cells) == text.count("\n") - 1
    path = workbook(tmp_path, *([cell or None for cell in row.split(",")] for row in text.split()))
    assert ends(read_crosstab(path, OutputDescription())) == ends(table)
    content = [dict(zip(text.split("\n")[0].split(","), line.split(","), strict=True))
               for line in text.splitlines()[1:]]  # fmt: skip
    assert ends(read(tmp_path, json.dumps(content), "a.json")) == ends(table)


def test_a_row_without_numbers_below_rows_with_numbers_is_asked_about(tmp_path):
    text = "region,F,M\nnorth,12,8\nsouth,,\nTotal,20,9\n"
    with pytest.raises(InputError, match="line 3 names the dimensions, or is a row that hides"):
        read(tmp_path, text)
    table = read(tmp_path, text, dims=["region", "sex"])
    assert ends(table)["south", "M"] == (0, None)
    years = "sex,F,F\nyear,2020,2021\nregion,,\nnorth,1,2\n"
    with pytest.raises(InputError, match="line 3 names the dimensions"):
        read(tmp_path, years)
    assert read(tmp_path, years, dims=["region", "sex", "year"]).cells[1].keys[-1] == "2021"


def test_a_formula_without_its_result_is_refused(tmp_path):
    """Everybody else sees the number: read as an empty cell it would count as hidden."""
    path = workbook(tmp_path, ["region", "n"], ["a", 12], ["b", "x"], ["Total", "=20+0"])
    with pytest.raises(InputError, match="formula without its result at B4") as caught:
        read_crosstab(path, OutputDescription())
    assert "save" in caught.value.hint


def test_separators_of_thousands_are_read_where_the_decimal_sign_is_declared(tmp_path):
    text = 'r,n\na,"1,234"\nb,"1 234 567.50"\nc,x\n'
    table = read(tmp_path, text, statistic="sum(pay)", decimal=".")
    assert ends(table) == {("a",): (12_340, 12_340), ("b",): (12_345_675, 12_345_675),
                           ("c",): (0, None)}  # fmt: skip
    for broken in ("1,23", "12,3456", ",5", "1,,234", "1.234,5"):
        with pytest.raises(InputError, match=r"read in two ways|not declared"):
            read(tmp_path, f'r,n\na,"{broken}"\nb,1\n', statistic="sum(pay)", decimal=".")


def test_every_mark_and_rounding(tmp_path):
    text = "r,n\na,x\nb,*\nc,:\nd,..\ne,[c]\nf,D\ng,NaN\nh,[REDACTED]\ni,\nj,<5\nk,low\nl,7.0\n"
    table = read(tmp_path, text, marks={"low": "1-4"})
    cells = ends(table)
    assert {cells[key,] for key in "abcdefghi"} == {(0, None)}
    assert cells["j",] == cells["k",] == (1, 4)
    assert cells["l",] == (7, 7)
    rounded = ends(read(tmp_path, "r,n\na,0\nb,10\nc,<5\n", rounding="nearest 5"))
    assert rounded == {("a",): (0, 2), ("b",): (8, 12), ("c",): (1, 4)}


@pytest.mark.parametrize(
    ("rounding", "base", "rounded"),
    [
        ("nearest", 5, lambda v: (v + 2) // 5 * 5),
        ("nearest", 10, lambda v: (v + 5) // 10 * 10),
        ("midpoint", 6, lambda v: 0 if v == 0 else (v - 1) // 6 * 6 + 3),
    ],
)
def test_an_interval_holds_exactly_what_is_rounded_to_it(rounding, base, rounded):
    for value in range(60):
        if Rounding(rounding, base).fits(value):
            low, high = Rounding(rounding, base).interval(value)
            assert list(range(low, high + 1)) == [v for v in range(100) if rounded(v) == value]


def test_sums_count_the_last_digit(tmp_path):
    table = read(tmp_path, "r,n\na,1.25\nb,3\n", statistic="sum(pay)")
    assert table.places == 2
    assert ends(table) == {("a",): (125, 125), ("b",): (300, 300)}
    comma = read(tmp_path, "r;n\na;1 234,5\nb;1.000\n", statistic="sum(pay)", decimal=",")
    assert ends(comma) == {("a",): (12345, 12345), ("b",): (10000, 10000)}


@pytest.mark.parametrize(
    ("text", "fields", "problem"),
    [
        *(
            ("r,c\na,3\nb,4\n", {"dims": list(dims)}, "declared dims")
            for dims in ("rcd", "rcde", "rcdefg")
        ),
        ("r;n\na;1 234,5\n", {}, "can be read in two ways"),
        ("r,F,M\na,12 %,88 %\n", {}, "percentage"),
        ("r,n\na,0.5\nb,0.5\n", {}, "count has decimals"),
        ("r,n\na,-3\n", {"statistic": "sum(pay)"}, "negative"),
        ("r,n\na,3\na,4\n", {}, "occurs twice"),
        ("r,F,M,All,Total\na,1,2,3,3\n", {}, "2 totals, All and Total"),
        ("r,F,M\na,1,suppressed\n", {"dims": ["r", "s"]}, "'suppressed' is not declared"),
        ("r,n\na,7\n", {"rounding": "nearest 5"}, "not one that rounding to nearest 5 gives"),
        ("r,n\na,7\n", {"rounding": "nearest 1"}, "smaller than 2"),
        ("r,n\na,7\n", {"statistic": "mean(pay)"}, "not covered"),
        ("r,n\na,7\n", {"dims": ["r", "s", "t"]}, "declared dims"),
        ("r,n\na,7\n", {"total": "Sum"}, "no dimension has the total 'Sum'"),
        ("r,n\na,7\n", {"colour": "red"}, "unknown field 'colour'"),
        ("r,n\na,7\n", {"absent": "maybe"}, "absent"),
        ("nothing\n", {}, "holds no table"),
        ("r,F,M\na,1,2\nb,3\n", {}, "line 3 has fewer cells"),
        ("r,n\na,7\n", {"rounding": {"a": "nearest 5"}}, "rounding"),
        ("r,n\na,7\n", {"rounding": ["nearest 5"]}, "rounding"),
        ("r,n\na,99999999999999999\n", {}, "too large"),
        ("r,n\na,<99999999999999999999999\n", {}, "too large"),
        ("r,n\na,x\nb,1\n", {"statistic": "sum(pay)", "bounds": [0, 10**20]}, "too large"),
    ],
)
def test_a_mistake_is_one_sentence_with_a_hint(tmp_path, text, fields, problem):
    with pytest.raises(InputError, match=problem) as caught:
        read(tmp_path, text, **fields)
    assert caught.value.hint


@pytest.mark.parametrize(
    "label", ["Gesamt", "Insgesamt", "Totaal", "Total général", "Suma", "Totale", "TOTAL"]
)
def test_totals_of_other_languages_are_totals(tmp_path, label):
    table = read(tmp_path, f"r,n\na,7\nb,x\n{label},12\n")
    assert ends(table)[None,] == (12, 12)
    assert table.guesses[-1] == f"'{label}' is the total of r"


TREE = CategoryTree("r", {"up": ("a", "b")})


@pytest.mark.parametrize(
    ("text", "trees", "suspects"),
    [
        ("r,n\na,7\nb,5\nalle,12\n", (), [("r", "alle")]),
        ("r,n\na,7\nb,5\nalle,13\n", (), []),
        ("r,n\na,7\nb,7\n", (), []),  # two equal numbers
        ("r,n\na,7\nb,x\nalle,12\n", (), []),  # nothing shows that it is one
        ("r,n\na,7\nb,5\nup,12\n", (TREE,), []),
        ("r,n\na,7\nb,5\nc,2\nup,12\nalle,14\n", (TREE,), [("r", "alle")]),
        ("r,n\na,7\nb,5\nalle,12\nTotal,24\n", (), []),
        ("r,F,M,X\na,1,2,3\nb,2,2,4\n", (), [("columns", "X")]),
        ("r,F,M,X\na,1,2,3\nb,2,2,5\n", (), []),
        ("r,F,M,X\na,1,2,3\nb,x,2,5\n", (), [("columns", "X")]),
        ("r,F,M,X\na,0,0,0\nb,0,0,0\n", (), []),
    ],
)
def test_a_category_that_is_the_sum_of_all_others_is_suspected(tmp_path, text, trees, suspects):
    assert unnamed_totals(read(tmp_path, text), trees) == suspects


def test_finer_units_leave_open_ends_open(tmp_path):
    fields = {"statistic": "sum(pay)", "bounds": [-5, 9]}
    table = with_places(read(tmp_path, "r,n\na,x\nb,-2\nTotal,x\n", **fields), 1)
    assert ends(table) == {("a",): (-50, 90), ("b",): (-20, -20), (None,): (None, None)}


def test_merged_cells_and_unnamed_sheets_are_refused(tmp_path):
    path = workbook(tmp_path, ["r", "F", "M"], ["a", 1, 2])
    book = openpyxl.load_workbook(path)
    book.create_sheet("second")
    book.save(path)
    with pytest.raises(InputError, match="2 sheets"):
        read_crosstab(path, OutputDescription())
    named = OutputDescription(sheet="Sheet")
    assert len(read_crosstab(path, named).cells) == 2
    book["Sheet"].merge_cells("B1:C1")
    book.save(path)
    with pytest.raises(InputError, match="merged cells at B1:C1"):
        read_crosstab(path, named)


def test_descriptions_and_trees_are_checked():
    with pytest.raises(InputError, match="twice"):
        CategoryTree("r", {"a": ("x", "y"), "b": ("y", "z")})
    with pytest.raises(InputError, match="cycle"):
        CategoryTree("r", {"a": ("b",), "b": ("a",)})
    with pytest.raises(InputError, match="unknown part"):
        read_descriptions({"output": []})
    with pytest.raises(InputError, match="a file twice"):
        read_descriptions({"outputs": [{"file": "a"}, {"file": "a"}]})


def test_the_totals_of_shown_cells_are_not_taken_for_totals(tmp_path):
    text = "r,F,M,All\na,12,x,12\nb,5,6,11\nAll,17,6,23\n"
    table = read_totals(read(tmp_path, text, dims=["r", "s"]))
    totals = {keys for keys in ends(table) if None in keys}
    assert totals == {("b", None), (None, "F")}  # nothing is hidden in these lines
    assert table.reading == "untested"
    assert {cell.keys for cell in table.left_out} == {("a", None), (None, "M"), (None, None)}
    shown = read_totals(read(tmp_path, text, dims=["r", "s"], margins="shown"))
    assert (ends(shown), shown.reading, shown.left_out) == (ends(table), "declared", ())
    whole = read(tmp_path, "r,F,M,All\na,12,x,20\nb,5,6,11\n", dims=["r", "s"])
    assert ends(whole)["a", None] == (20, 20)


def results_folder(folder):
    """Copy the results of ACRO; return their list, as a file and as what it holds."""
    shutil.copytree(ACRO, folder, dirs_exist_ok=True)
    return folder / "results.json", json.loads((folder / "results.json").read_text())


def test_a_results_folder_of_acro():
    tables, notes = read_results_folder(str(ACRO), Descriptions())
    assert [table.name for table in tables] == [f"acro/output_{i}_0.csv" for i in range(3)]
    assert {table.dims for table in tables} == {("region", "diagnosis")}
    assert [len(read_totals(table).cells) for table in tables] == [36, 36, 46]
    assert {read_totals(table).reading for table in tables} == {"declared"}
    assert any("no table" in note for note in notes)
    listed = json.loads((ACRO / "results.json").read_text())["results"]
    assert len(listed) == len(tables) + len(notes)


def test_a_table_of_means_in_a_results_folder_is_left_out(tmp_path):
    path, content = results_folder(tmp_path)
    means = "region,asthma,cancer\ncentre,41.5,37.2\neast,40.1,\n"
    (tmp_path / "output_0_0.csv").write_text(means)  # ACRO says nothing else about it
    content["results"]["output_1"]["fair"]["statbarn"] = "LinearAggregations"
    content["results"]["output_2"].pop("fair")
    path.write_text(json.dumps(content))
    tables, notes = read_results_folder(str(tmp_path), Descriptions())
    assert [Path(table.name).name for table in tables] == ["output_2_0.csv"]
    assert [note.split(" ")[0] for note in notes if "holds no counts" in note] == [
        "output_0",
        "output_1",
    ]
    block = {"file": "output_1_0.csv", "statistic": "sum(visits)"}
    tables, _ = read_results_folder(str(tmp_path), read_descriptions({"outputs": [block]}))
    assert [table.statistic for table in tables] == ["sum(visits)", "count"]
    content["results"]["output_2"]["command"] = "a.crosstab(t.r, t.d, values=t.v, aggfunc='sum')"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="lists no table"):
        read_results_folder(str(tmp_path), Descriptions())


@pytest.mark.parametrize(
    "text",
    [
        "g,F,M,Total\na,12,.,20\nb,5,6,11\n",
        "g,F,M,Total\na,.,5,20\nb,.,6,11\n",
        "g,F,M\na,12,.\nb,5,6\n",
        "g,n\na,12\nb,.\n",
        "g,h,people\na,u,12\na,v,-\n",
    ],
)
def test_a_sign_among_numbers_is_a_mark_that_is_not_declared(tmp_path, text):
    with pytest.raises(InputError, match=r"the mark '[.-]' is not declared") as caught:
        read(tmp_path, text)
    assert "--marks" in caught.value.hint
    mark = "-" if "-" in text else "."
    assert read(tmp_path, text, marks={mark: "hidden"}).cells


def test_signs_can_be_categories(tmp_path):
    table = read(tmp_path, "region,result,people\na,+,12\na,-,30\n")
    assert table.categories("result") == {"+", "-"}


def manifest(folder, **model):
    node = {"resource_type": "model", "name": "wards"} | model
    place = folder / "target" / "manifest.json"
    place.parent.mkdir(exist_ok=True)
    other = {"resource_type": "model", "name": "other", "config": {}}
    place.write_text(json.dumps({"nodes": {"model.p.wards": node, "model.p.other": other}}))
    return place


def test_models_of_dbt_are_outputs(tmp_path):
    config = {"location": "wards.csv", "meta": {"hartley": {"dims": ["ward"], "margins": "all"}}}
    files, described = read_manifest(manifest(tmp_path, config=config))
    assert files == [str(tmp_path / "wards.csv")]
    assert described.of(files[0]).dims == ("ward",)
    files, _ = read_manifest(manifest(tmp_path, meta={"hartley": {"file": "other.csv"}}))
    assert files == [str(tmp_path / "other.csv")]


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ({}, "No model of .* is published"),
        ({"meta": {"hartley": {}}}, "its file is not known"),
        ({"meta": {"hartley": {"file": "a.csv", "dim": ["a"]}}}, "unknown field 'dim'"),
    ],
)
def test_a_manifest_without_outputs_is_refused(tmp_path, model, problem):
    with pytest.raises(InputError, match=problem):
        read_manifest(manifest(tmp_path, **model))


def test_the_garbage_collector_runs_again_after_a_table_and_after_a_mistake(tmp_path):
    assert gc.isenabled()
    read(tmp_path, WIDE)
    assert gc.isenabled()
    with pytest.raises(InputError):
        read(tmp_path, "r,n\na,3\na,4\n")
    assert gc.isenabled()
    gc.disable()
    try:
        read(tmp_path, WIDE)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_equal_texts_state_the_same_but_a_hidden_total_has_no_bounds(tmp_path):
    text = "r,n\na,x\nb,x\nc,-4\nd,-4\nTotal,x\n"
    table = read(tmp_path, text, statistic="sum(pay)", bounds=[-9, 9], value="n", margins="all")
    assert ends(table) == {
        ("a",): (-9, 9),
        ("b",): (-9, 9),
        ("c",): (-4, -4),
        ("d",): (-4, -4),
        (None,): (None, None),
    }
    assert [cell.line for cell in table.cells] == [2, 3, 4, 5, 6]
    assert [cell.text for cell in table.cells] == ["x", "x", "-4", "-4", "x"]


@pytest.mark.parametrize(
    ("command", "counts"),
    [
        ("x = a.crosstab(t.r, t.d)", True),
        ("    a.crosstab(index=[t.r, t.s], columns=t.d, margins=True)", True),
        ('a.crosstab(t.r, t.d, t.v, None, None, "mean")', False),
        ("a.crosstab(t.r, t.d, values=t.v, aggfunc=np.mean)", False),
        ("a.crosstab(*parts)", False),
        ("a.crosstab(t.r, t.d, **options)", False),
        ("x = a.crosstab(", False),
        ("", False),
    ],
)
def test_means_of_an_older_results_folder_are_no_counts(tmp_path, command, counts):
    path, content = results_folder(tmp_path)
    content["results"]["output_2"] |= {"command": command, "fair": None}
    path.write_text(json.dumps(content))
    tables, notes = read_results_folder(str(tmp_path), Descriptions())
    assert len(tables) == 2 + counts
    assert any("output_2 of" in note and 'statistic = "count"' in note for note in notes) != counts
    block = {"file": "output_2_0.csv", "statistic": "count"}
    assert len(read_results_folder(str(tmp_path), read_descriptions({"outputs": [block]}))[0]) == 3
