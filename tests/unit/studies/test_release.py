"""Releases from table and policy to file and report."""

import json
import math
import shutil
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import CertificateError, ColumnError, InputError, OptionError, TableError
from hartley.guarantees.promise import Certificate
from hartley.guarantees.verify import certify
from hartley.policies import CutColumn, KeptColumn, LineColumn, MergedColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.optimal import optimal_quantizer
from hartley.policies.quantizer import UniformQuantizer
from hartley.studies.release.design import design
from hartley.studies.release.release import release
from hartley.tables.column_map import apply_map
from hartley.tables.opening import open_table

AS_TEXT = pyarrow.csv.ConvertOptions(column_types={"id": pa.string()})
POLICY = PolicyDocument(
    (
        QuantizedColumn("height", UniformQuantizer(100, 250, 15)),
        QuantizedColumn("weight", UniformQuantizer(-50, 50, 10), of="10/(weight - 60)"),
        MergedColumn("job", (("nurse", "doctor"), ("teacher",)), ("health", "school"), "rest"),
        CutColumn("income", (Fraction(0), Fraction(1, 3), Fraction(1)), (Fraction(0), Fraction(1))),
        KeptColumn("sex"),
    )
)


@pytest.fixture
def people():
    return pa.table(
        {
            "name": ["SECRET-A", "SECRET-B", "SECRET-C", "SECRET-D"],
            "height": [171.5, math.nan, 300.0, 90.0],
            "weight": [60.0, 61.0, None, 20.0],
            "job": ["nurse", "SECRET-SPY", "teacher", None],
            "income": [0.2, 0.5, 7.0, 1 / 3],
            "sex": ["F", None, "M", "M"],
            "diagnosis": ["SECRET"] * 4,
        }
    )


@pytest.fixture
def report(people, tmp_path):
    return release(people, POLICY, tmp_path / "out.parquet")


def test_only_what_the_policy_names_is_released(report):
    rows = pq.read_table(report.path)
    assert rows.column_names == ["height", "weight", "job", "income", "sex"]
    assert rows["height"].to_pylist() == [175.0, None, 245.0, 105.0]
    assert rows["job"].to_pylist() == ["health", "rest", "school", None]
    assert rows["income"].to_pylist() == [0.0, 1.0, 1.0, 1.0]
    assert report.withheld == ("name", "diagnosis")
    assert "SECRET" not in str(rows.to_pydict())


def test_a_report_counts_what_was_met_and_knows_the_errors(report):
    counts = {
        column.name: (
            *(column.missing, column.below, column.above, column.unknown, column.undefined),
            column.error,
        )
        for column in report.columns
    }
    assert counts == {
        "height": (1, 1, 1, 0, 0, Fraction(5)),
        "weight": (1, 0, 0, 0, 1, Fraction(5)),
        "job": (1, 0, 0, 1, 0, None),
        "income": (0, 0, 1, 0, 0, Fraction(2, 3)),
        "sex": (1, 0, 0, 0, 0, Fraction(0)),
    }
    assert report.rows == 4
    assert report.policy_digest == POLICY.digest


def test_a_report_speaks_in_plain_sentences(report):
    assert report.made == "4 rows of the table with 5 columns were released to out.parquet."
    assert report.sentences == (
        "height is released within 5 of its value, for values in its declared range.",
        "weight is released within 5 of 10/(weight - 60), for values in the declared ranges.",
        "income is released within 2/3 of its value, for values in its declared range.",
        "sex is released as it is.",
        "1 value of height is missing and was released as such.",
        "2 values of height are outside the declared range and were clamped to it.",
        "1 value of weight is missing and was released as such.",
        "1 value of weight is without a value of the formula and was released as missing.",
        "1 value of job is missing and was released as such.",
        "1 value of job is in no group and was released as the label for all others.",
        "1 value of income is outside the declared range and was clamped to it.",
        "1 value of sex is missing and was released as such.",
        "Not released: name, diagnosis.",
        "By what is released, 4 people of 4 (100 %) stand among fewer than 5, and 4 are unique.",
        (
            "sex, released as it is, singles people out: 2 of 4 people by itself, 4 together with "
            "the keys."
        ),
        "The rows keep their order: if that tells something, the release tells it too.",
    )


def test_a_sentence_names_few_of_many_withheld_columns(tmp_path):
    table = {"sex": ["F", "M"]} | {f"q{i}": [1, 2] for i in range(300)}
    report = release(table, PolicyDocument((KeptColumn("sex"),)), tmp_path / "out.csv")
    said = next(sentence for sentence in report.sentences if "Not released" in sentence)
    assert said.endswith("q18, q19 and 280 more.")
    assert len(report.to_dict()["withheld"]) == 300


def test_a_report_becomes_plain_json_without_a_value_of_the_data(report):
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert content["format"] == 1
    assert content["columns"][3]["error"] == "2/3"
    assert content["columns"][2]["error"] is None
    assert content["headline"] == report.headline
    assert "SECRET" not in json.dumps(content)


def test_a_policy_may_be_a_file_and_the_table_too(people, tmp_path):
    pq.write_table(people, tmp_path / "people.parquet")
    path = POLICY.save(tmp_path / "policy.toml")
    report = release(str(tmp_path / "people.parquet"), path, tmp_path / "out.csv")
    assert report.table == "people.parquet"
    assert (tmp_path / "out.csv").read_text().count("\n") == 5


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_strict_release_refuses_and_leaves_nothing(people, tmp_path, ending):
    with pytest.raises(ColumnError, match=r"1 value of column 'height' is missing"):
        release(people, POLICY, tmp_path / f"out.{ending}", strict=True)
    assert list(tmp_path.iterdir()) == []


def test_a_strict_release_of_values_within_the_policy_succeeds(people, tmp_path):
    policy = PolicyDocument(POLICY.columns[-1:])
    clean = people.slice(0, 1)
    assert release(clean, policy, tmp_path / "out.parquet", strict=True).strict


def test_releasing_again_changes_nothing_more(people, tmp_path):
    policy = PolicyDocument((POLICY.columns[0], POLICY.columns[4]))
    release(people, policy, tmp_path / "one.parquet")
    again = release(tmp_path / "one.parquet", policy, tmp_path / "two.parquet")
    assert pq.read_table(tmp_path / "one.parquet") == pq.read_table(tmp_path / "two.parquet")
    assert again.columns[0].below == again.columns[0].above == 0


def test_the_table_is_not_overwritten_by_its_release(people, tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(people, path)
    before = path.read_bytes()
    (tmp_path / "link.parquet").symlink_to(path)
    sources = (path, str(path), [path], open_table(path), str(tmp_path / "peop*.parquet"))
    for out in (path, tmp_path / "link.parquet"):
        for source in sources:
            with pytest.raises(OptionError, match=r"overwrite the table people\.parquet"):
                release(source, POLICY, out)
    assert path.read_bytes() == before


def test_a_csv_table_already_open_is_not_overwritten_either(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex\nF\nM\n")
    with pytest.raises(OptionError, match=r"overwrite the table people\.csv"):
        release(open_table(path), PolicyDocument((KeptColumn("sex"),)), path)
    assert path.read_text() == "sex\nF\nM\n"


def test_the_policy_is_not_overwritten_by_its_release(people, tmp_path):
    path = POLICY.save(tmp_path / "policy.csv")
    before = path.read_bytes()
    with pytest.raises(OptionError, match=r"overwrite the policy policy\.csv"):
        release(people, path, path)
    assert path.read_bytes() == before


def test_progress_is_told_for_counting_and_releasing(people, tmp_path):
    shares = []
    release(
        people,
        POLICY,
        tmp_path / "out.csv",
        progress=lambda what, share: shares.append((what, share)),
    )
    assert shares[:2] == [("count", 0.0), ("count", 1.0)]
    assert shares[-1] == ("release", 1.0)


def test_a_missing_policy_file_is_refused(people, tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.toml cannot be read"):
        release(people, tmp_path / "nowhere.toml", tmp_path / "out.csv")


def test_one_row_is_spoken_of_as_one(people, tmp_path):
    policy = PolicyDocument(POLICY.columns[-1:])
    report = release(people.slice(0, 1), policy, tmp_path / "out.csv")
    assert report.made == "1 row of the table with 1 column was released to out.csv."


@pytest.mark.slow
def test_another_file_that_is_there_is_replaced(people, tmp_path):
    pq.write_table(people, tmp_path / "people.parquet")
    shutil.copy(tmp_path / "people.parquet", tmp_path / "copy.parquet")
    release(tmp_path / "people.parquet", POLICY, tmp_path / "copy.parquet")
    assert pq.read_table(tmp_path / "copy.parquet").num_rows == 4


def test_a_query_of_a_row_is_released_under_its_name(tmp_path):
    policy = PolicyDocument(
        (QuantizedColumn("size", UniformQuantizer(0, 12, 12), of="x1**2 + 2*x2**2"),),
        design={"columns": {"x1": ["-2", "2"], "x2": ["-2", "2"]}},
    )
    table = {"x1": [0.0, 2.0, 9.0, None], "x2": [1.0, -2.0, 0.0, 0.0], "name": list("ABCD")}
    report = release(table, policy, tmp_path / "out.parquet")
    assert pq.read_table(report.path).to_pydict() == {"size": [2.5, 11.5, 4.5, None]}
    assert report.withheld == ("name",)
    assert report.sentences[:3] == (
        "size is released within 0.5 of x1**2 + 2*x2**2, for values in the declared ranges.",
        "1 value of size is missing and was released as such.",
        "1 value of size is outside the declared range and was clamped to it.",
    )


def test_cells_of_listed_values_promise_their_error_for_these_alone(tmp_path):
    best = optimal_quantizer(None, [0, 1, 4, 5, 6, 7], 2, "leakage")
    policy = PolicyDocument((CutColumn.cut("age", best),))
    report = release({"age": [0, 4, 7]}, policy, tmp_path / "out.csv")
    assert report.sentences[0] == (
        "age is released within 2 of its value, for values that the policy was designed for."
    )
    assert (tmp_path / "out.csv").read_text().split() == ['"age"', "2", "2", "6"]


# --- what the promise of a policy asks of the table ---------------------------------------------


def designed(tmp_path, **spec):
    """Design a release and save its policy, as a user of Python or of the shell would."""
    plan = design({"objective": "bits", **spec})
    return plan, plan.document.save(tmp_path / "policy.toml")


@pytest.mark.slow
def test_a_release_has_no_more_outputs_than_its_design_promised(tmp_path):
    plan, policy = designed(tmp_path, bits=2, columns={"age": {"range": [0, 100]}})
    assert plan.certificate.needs_strict
    ages = {"age": [10.0, 30.0, 60.0, 90.0, None]}
    for how in (plan.document, policy, str(policy)):
        with pytest.raises(ColumnError, match="1 value of 'age' is missing, which the promise"):
            release(ages, how, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    steps = []
    with pytest.raises(ColumnError):
        release(ages, policy, tmp_path / "out.csv", progress=lambda what, _: steps.append(what))
    assert set(steps) == {"count"}  # refused before a row is written
    release({"age": ages["age"][:4]}, policy, tmp_path / "out.parquet")
    released = pq.read_table(tmp_path / "out.parquet")["age"].to_pylist()
    assert len(set(released)) == 4 == 2**plan.certificate.value
    # Room for one more output, and a missing value is released.
    roomy, _ = designed(tmp_path, bits="2.33", columns={"age": {"range": [0, 100]}})
    assert (roomy.document.columns[0].quantizer.levels, roomy.certificate.needs_strict) == (5, True)
    counted = PolicyDocument(plan.document.columns)
    assert 2 ** certify(counted).value == pytest.approx(5)
    release(ages, counted, tmp_path / "five.parquet")
    assert len(set(pq.read_table(tmp_path / "five.parquet")["age"].to_pylist())) == 5


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_formula_without_a_value_is_missing_too_and_nothing_is_left(tmp_path, ending):
    column = QuantizedColumn("ratio", UniformQuantizer(0, 4, 4), of="a/b")
    table = {"a": [1.0, 2.0, 3.0], "b": [1.0, 0.0, 2.0]}
    strict = PolicyDocument((column,), design={"bits": "2"})
    assert certify(strict).needs_strict
    out = tmp_path / f"out.{ending}"
    with pytest.raises(ColumnError, match="1 value of 'ratio' is missing, which the promise"):
        release(table, strict, out)
    assert list(tmp_path.iterdir()) == []
    release(table, PolicyDocument((column,)), out)
    assert out.exists()


def test_a_declared_sensitivity_promises_nothing_about_missing_values(tmp_path):
    column = QuantizedColumn("sum", UniformQuantizer(0, 2, 4), of="a + b")
    policy = PolicyDocument((column,), design={"sensitivity": "1"})
    assert certify(policy).needs_strict
    with pytest.raises(ColumnError, match="'sum' is missing"):
        release({"a": [1.0, None], "b": [0.0, 1.0]}, policy, tmp_path / "out.csv")


def line(kind, reach="4.3", **changes):
    fields = {"line": "30*(height/100)**2", "low": "30", "high": "200"} | changes
    return PolicyDocument(
        (
            LineColumn.read(kind, "weight", reach=reach, **fields),
            KeptColumn("height", Fraction(120), Fraction(220)),
        )
    )


@pytest.mark.slow
def test_a_line_takes_no_missing_value_of_its_columns_and_any_of_others(tmp_path):
    policy = PolicyDocument((*line("blur").columns, KeptColumn("sex")))
    table = {"weight": [70, 73, 90], "height": [170, 171, 172], "sex": ["F", None, "M"]}
    release(table, policy, tmp_path / "out.csv")
    for name in ("weight", "height"):
        missing = table | {name: [*table[name][:2], None]}
        with pytest.raises(ColumnError, match=f"1 value of '{name}' is missing"):
            release(missing, policy, tmp_path / "none.csv")
    assert not (tmp_path / "none.csv").exists()


# --- rounded values near a line -----------------------------------------------------------------


def grid(step, low=30, high=200):
    """All weights on a step beside one height: what an adversary knows to be possible."""
    steps = range(int(low / step), int(high / step) + 1)
    return {"weight": [float(step * k) for k in steps], "height": [170] * len(steps)}


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 3)])
def test_rounded_weights_are_not_stretched(tmp_path, step):
    with pytest.raises(ColumnError, match="'weight' of the dict are rounded to a step"):
        release(grid(step), line("stretch"), tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def decided(table, policy):
    """Count the records whose release shows the side, when every given record is possible."""
    moved = [columns["weight"] for columns in release_rows(table, policy)]
    sides = {}
    for weight, height, out in zip(table["weight"], table["height"], moved, strict=True):
        obese = Fraction(weight) >= 30 * (Fraction(height) / 100) ** 2
        sides.setdefault((height, out), set()).add(obese)
    return sum(len(sides[h, out]) == 1 for h, out in zip(table["height"], moved, strict=True))


def release_rows(table, policy):
    mapped = apply_map(open_table(table), policy.to_map(), ranges=policy.ranges)
    return mapped.expression.to_pyarrow().to_pylist()


@pytest.mark.slow
def test_what_is_refused_would_have_been_decided_and_what_is_allowed_is_not(tmp_path):
    whole = grid(Fraction(1))
    assert decided(whole, line("stretch")) == 171  # all of them, though 8 were promised
    blurred = decided(whole, line("blur"))
    assert blurred == 171 - 9  # 83 to 91, which lies 4.3 from the line at 86.7
    release(whole, line("blur"), tmp_path / "out.csv")


@pytest.mark.slow
def test_a_reach_below_the_step_hides_nothing_and_is_refused(tmp_path):
    # 86.7 is the line: 87 lies within 0.5 of it, and 86 does not.
    coarse = line("blur", reach="0.5")
    assert decided(grid(Fraction(1)), coarse) == 171
    with pytest.raises(
        ColumnError, match=r"No two values of column .weight. of the dict lie as close as the reach"
    ):
        release(grid(Fraction(1)), coarse, tmp_path / "out.csv")
    release(grid(Fraction(1, 10)), coarse, tmp_path / "out.csv")


def test_weights_without_a_step_are_stretched(tmp_path):
    weights = np.random.default_rng(5).uniform(30, 200, 500).tolist()
    report = release(
        {"weight": weights, "height": [170] * 500}, line("stretch"), tmp_path / "out.parquet"
    )
    assert report.rows == 500


def test_pounds_in_kilograms_are_not_stretched_though_all_weigh_differently(tmp_path):
    pounds = np.random.default_rng(2).choice(np.arange(90, 400), 60, replace=False)
    table = {"weight": (pounds / 2.2046226218).tolist(), "height": [170] * 60}
    with pytest.raises(ColumnError, match="'weight' of the dict are rounded to a step"):
        release(table, line("stretch"), tmp_path / "out.parquet")


@pytest.mark.slow
def test_values_clamped_to_an_end_in_reach_of_the_line_are_not_stretched(tmp_path):
    weights = np.random.default_rng(5).uniform(31, 199, 50).tolist()
    heavy = {"weight": [*weights, 230.0, 250.0], "height": [170] * 50 + [255, 255]}
    near = PolicyDocument(
        (
            LineColumn.read("stretch", "weight", line="195", reach="8", low="30", high="200"),
            KeptColumn("height", Fraction(120), Fraction(220)),
        )
    )
    # What is clamped comes out at 200, and nothing from below 195 does.
    out = [row["weight"] for row in release_rows(heavy, near)]
    assert [w >= 195 for w, o in zip(heavy["weight"], out, strict=True) if o == 200] == [True] * 2
    with pytest.raises(
        ColumnError, match=r"2 values of column 'weight' .* within reach of the line"
    ):
        release(heavy, near, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []
    # Far from the line they tell what the release tells anyway.
    report = release(heavy, line("stretch"), tmp_path / "out.parquet")
    assert report.columns[0].above == 2


@pytest.mark.parametrize(
    "column",
    [
        KeptColumn("x", Fraction(0), Fraction(0)),
        CutColumn.read("x", edges=["-1", "0", "1"], values=["-1e-399", "1e-399"]),
    ],
    ids=["kept", "cuts"],
)
def test_minus_zero_is_no_output_of_its_own(tmp_path, column):
    policy = PolicyDocument((column,))
    out = tmp_path / "out.csv"
    release({"x": [0.0, -0.0, -5.0, 5.0, None]}, policy, out)
    assert set(out.read_text().splitlines()[1:]) == {"0", ""}
    assert certify(policy).value == 1.0  # two outputs: a zero, and a missing one


def test_a_release_and_its_certificate_are_written_together(people, tmp_path):
    policy, out, certificate = (tmp_path / name for name in ("p.toml", "out.csv", "c.json"))
    heights = PolicyDocument((QuantizedColumn("height", UniformQuantizer(100, 250, 15)),))
    heights.save(policy)
    release(people, policy, out, certificate=certificate)
    assert Certificate.load(certificate) == certify(heights).bind(policy)
    out.unlink()
    certificate.unlink()
    with pytest.raises(InputError):
        release(people, policy, out, certificate=certificate, strict=True)
    with pytest.raises(OptionError, match="would overwrite the release"):
        release(people, policy, out, certificate=out)
    with pytest.raises(OptionError, match="would overwrite the policy"):
        release(people, policy, out, certificate=policy)
    with pytest.raises(OptionError, match="the policy is not in a file"):
        release(people, heights, out, certificate=certificate)
    assert list(tmp_path.iterdir()) == [policy]


def test_no_certificate_is_written_that_nobody_could_rely_on(people, tmp_path):
    policy, out, certificate = (tmp_path / name for name in ("p.toml", "out.csv", "c.json"))
    kept = PolicyDocument((KeptColumn("height"),))
    kept.save(policy)
    with pytest.raises(CertificateError, match="Nothing is promised"):
        release(people, policy, out, certificate=certificate)
    assert list(tmp_path.iterdir()) == [policy]
    assert "Yet height, released as it is, singles out" in release(people, policy, out).headline


def test_whom_columns_beside_cells_single_out_is_said(tmp_path):
    table = {"age": [31, 32, 41, 42], "cost": [7, 8, 8, 8], "ill": list("xxyy")}
    policy = PolicyDocument(
        (
            QuantizedColumn("age", UniformQuantizer(0, 100, 10)),
            *map(KeptColumn, ("cost", "ill")),
        )
    )
    report = release(table, policy, tmp_path / "o.csv", confidential="ill")
    # In cells of ten years, 7 and 8 occur once each in the thirties.
    assert [one.with_keys for one in report.singling.columns] == [2, 0]
    assert "Yet cost, released as it is, singles out 2 of 4 people together" in report.headline
    assert report.to_dict()["singled_out"]["together"] == 2


def test_a_csv_file_with_a_header_alone_has_no_rows(tmp_path):
    """Its columns look like text, which is not what is wrong with it."""
    (tmp_path / "people.csv").write_text("kg,cm\n")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'format = 1\n[[columns]]\nname = "kg"\nkind = "quantizer"\nlow = "0"\nhigh = "10"\n'
        "levels = 2\n"
    )
    with pytest.raises(TableError, match="has no rows") as caught:
        release(tmp_path / "people.csv", policy, tmp_path / "out.csv")
    assert caught.value.hint


BIG = 2**60


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    "texts",
    [
        [f"1234567890123456789{end}" for end in range(4)],
        [str(-(2**63)), str(2**63 - 1), "0.5"],
        [str(BIG + 1), str(BIG), "0.5"],
        ["0.1234567890123456789", "0.1234567890123456788"],
        ["1e400", "1e-400", "1.23456789e-320"],
    ],
)
def test_numbers_that_doubles_round_are_kept_as_they_are_written(tmp_path, texts, ending):
    (tmp_path / "a.csv").write_text("\n".join(["id", *texts]) + "\n")
    policy = PolicyDocument((KeptColumn("id"),))
    report = release(tmp_path / "a.csv", policy, tmp_path / f"out.{ending}", strict=True)
    written = pa.csv.read_csv if ending == "csv" else pq.read_table
    options = {} if ending == "parquet" else {"convert_options": AS_TEXT}
    assert written(report.path, **options)["id"].to_pylist() == texts
    assert report.people.counts.unique == len(texts)
    ranged = PolicyDocument((KeptColumn("id", Fraction(0), Fraction(2**40)),))
    with pytest.raises(ColumnError, match="would round; hint: keep it without a range"):
        release(tmp_path / "a.csv", ranged, tmp_path / "other.csv")


def test_numbers_that_doubles_hold_stay_numbers(tmp_path):
    texts = ["0.30000000000000004", "9007199254740991", "1000000000000000000000", "0", "-1.50"]
    (tmp_path / "a.csv").write_text("\n".join(["x", *texts]) + "\n")
    report = release(
        tmp_path / "a.csv", PolicyDocument((KeptColumn("x"),)), tmp_path / "out.parquet"
    )
    assert pq.read_table(report.path)["x"].to_pylist() == [*map(float, texts)]


def test_a_policy_may_be_a_dict_of_what_stands_in_its_file(people, tmp_path):
    content = {"format": 1, "columns": [{"name": "sex", "kind": "keep"}]}
    document = PolicyDocument((KeptColumn("sex"),))
    report = release(people, content, tmp_path / "out.csv")
    assert report.policy_digest == document.digest
    with pytest.raises(OptionError, match="the policy is not in a file"):
        release(people, content, tmp_path / "out.csv", certificate=tmp_path / "c.json")
    with pytest.raises(InputError, match="The policy does not name a format"):
        release(people, {"columns": []}, tmp_path / "out.csv")
    with pytest.raises(InputError, match="A int is no policy; hint: pass a PolicyDocument"):
        release(people, 3, tmp_path / "out.csv")


# --- one number of a whole table ------------------------------------------------------------------

HEIGHTS = [170.25, 181.5, 165.0, 190.0]


def answering(of="mean(height)", cells=None, people=4, **design):
    return PolicyDocument(
        (QuantizedColumn("answer", cells or UniformQuantizer(100, 250, 150), of=of),),
        design={"people": people, "columns": {"height": ["100", "250"]}} | design,
    )


def test_one_row_holds_the_middle_of_the_cell_and_its_edges(tmp_path):
    report = release(
        {"height": HEIGHTS, "name": list("ABCD")}, answering(), tmp_path / "out.parquet"
    )
    released = pq.read_table(report.path).to_pydict()
    assert released == {"answer": [176.5], "answer_low": [176.0], "answer_high": [177.0]}
    assert sum(HEIGHTS) / 4 == 176.6875
    assert report.rows == 1
    assert report.withheld == ("name",)


def test_a_report_speaks_of_the_answer(tmp_path):
    heights = [*HEIGHTS, 300.0]
    report = release({"height": heights}, answering(people=5), tmp_path / "out.csv")
    assert report.headline == "mean(height) over 5 people of the dict was released to out.csv."
    assert report.sentences == (
        "answer is released within 0.5 of mean(height), for values in the declared ranges.",
        "1 value of height is outside the declared range and was clamped to it.",
        (
            "Each value was clamped to its declared range and cut off to a binary fraction, then "
            "all were added exactly."
        ),
    )
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert content["columns"][0]["people"] == 5
    assert "176" not in json.dumps(content["columns"])


@pytest.mark.slow
@settings(max_examples=12)
@given(st.lists(st.integers(100 * 64, 250 * 64), min_size=4, max_size=30))
def test_the_cell_is_that_of_the_exact_answer(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("answer") / "out.parquet"
    heights = [step / 64 for step in steps]
    people = len(heights)
    total = UniformQuantizer(100 * people, 250 * people, 77)
    columns = (
        QuantizedColumn("mean", UniformQuantizer(100, 250, 900), of="mean(height)"),
        QuantizedColumn("sum", total, of="total(height)"),
        CutColumn("cut", (100, 170, 250), (150, 200), of="mean(height)"),
    )
    design = {"people": people, "columns": {"height": ["100", "250"]}}
    release({"height": heights}, PolicyDocument(columns, design=design), path)
    (row,) = pq.read_table(path).to_pylist()
    exact = sum(map(Fraction, heights))
    cell = math.floor((exact / people - 100) / Fraction(1, 6))
    assert row["mean"] == float(100 + (2 * min(cell, 899) + 1) * Fraction(1, 12))
    assert Fraction(row["mean_low"]) <= exact / people <= Fraction(row["mean_high"])
    assert row["sum"] == float(total.middle(total.cell(exact)))
    assert row["sum_low"] <= exact <= row["sum_high"]
    assert row["cut"] == (150 if exact / people < 170 else 200)


@pytest.mark.parametrize("of", ["mean(height)", "total(height)"])
@pytest.mark.parametrize("people", [1, 3, 5, 5000])
def test_a_table_of_other_people_than_promised_is_refused(tmp_path, of, people):
    cells = UniformQuantizer(100 * people, 250 * people, 9) if of.startswith("t") else None
    with pytest.raises(ColumnError, match="the dict holds 4 values of 'height', but the policy"):
        release({"height": HEIGHTS}, answering(of, cells, people), tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", [None, math.nan])
@pytest.mark.parametrize("people", [4, 5])
def test_a_missing_value_is_no_person_and_no_zero(tmp_path, missing, people):
    table = {"height": pa.array([*HEIGHTS, missing], pa.float64())}
    with pytest.raises(
        ColumnError, match=r"1 value of 'mean\(height\)' is missing, which the prom"
    ):
        release(pa.table(table), answering(people=people), tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_strict_release_of_an_answer_refuses_what_it_would_clamp_or_leave_out(tmp_path):
    for value, words in ((None, "missing"), (300.0, "outside the declared range")):
        with pytest.raises(ColumnError, match=f"1 value of column 'height' is {words}"):
            release({"height": [*HEIGHTS, value]}, answering(), tmp_path / "out.csv", strict=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (answering(people="many"), "does not say over how many people"),
        (answering(people=0), "does not say over how many people"),
        (answering(columns={"weight": ["0", "1"]}), "declares no range of 'height'"),
        (answering(of="mean(size)", columns={"size": ["0", "1"]}), "'size' is not in"),
    ],
)
def test_a_policy_that_leaves_open_what_an_answer_needs_is_refused(tmp_path, document, words):
    with pytest.raises(InputError, match=words):
        release({"height": HEIGHTS}, document, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_names_that_would_coincide_are_refused(tmp_path):
    cells = UniformQuantizer(100, 250, 3)
    columns = tuple(QuantizedColumn(name, cells, of="mean(height)") for name in ("a", "A_low"))
    with pytest.raises(InputError, match="would have one name"):
        release(
            {"height": HEIGHTS},
            PolicyDocument(columns, design=answering().design),
            tmp_path / "o.csv",
        )
