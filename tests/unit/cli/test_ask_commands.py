import importlib.util
import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hartley.cli import main
from hartley.cli.refusals import WIDTH, marked, pointed_at
from hartley.datasets.people import people
from hartley.errors import EngineError, OptionError, Refused
from hartley.tables.opening import open_table
from hartley.trusted import data as holding

EXAMPLES = Path(__file__).parents[3] / "examples"
SCHEMA = str(EXAMPLES / "people.schema.toml")
MEAN = "SELECT AVG(age) FROM people"
TALL = "SELECT AVG(height) FROM people"


@pytest.fixture
def call(monkeypatch, capsys):
    """Run a command in this process; return its exit code and what it printed on both streams."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["hartley", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "people.parquet"
    pq.write_table(people(1000), path)
    return path


@pytest.fixture
def asked(call, table, tmp_path):
    """Ask a first question, and return where the ledger lies."""
    ledger = tmp_path / "ledger.db"
    words = ("--table", table, "--schema", SCHEMA, "--ledger", ledger, "--budget", "8")
    code, out, err = call("ask", MEAN, "--error", "0.5", *words, "--text")
    assert (code, err) == (0, "")
    assert "charged 1 bit; spent 2 bits, of which 1 bit for open columns, 6 bits left" in out
    return ledger


@pytest.mark.slow
def test_a_repeat_needs_neither_table_nor_budget_and_is_free(call, asked):
    words = ("--schema", SCHEMA, "--ledger", asked)
    code, out, _ = call("ask", MEAN, "--error", "0.5", *words, "--json")
    answer = json.loads(out)
    assert code == 0
    assert (answer["bits"], answer["spent_bits"], answer["remaining_bits"]) == (0, 2, 6)
    (row,) = answer["rows"]
    truth = sum(people(1000)["age"].to_pylist()) / 1000
    assert row["AVG(age)"]["low"] <= truth <= row["AVG(age)"]["high"]


@pytest.mark.slow
def test_several_questions_are_one_batch(call, asked):
    count = "SELECT COUNT(*) FROM people WHERE job = 'care'"
    words = ("--schema", SCHEMA, "--ledger", asked)
    code, out, _ = call("ask", count, "SELECT AVG(height) FROM people", *words, "--json")
    batch = json.loads(out)
    assert code == 0
    assert batch["answers"][0]["question"] == count
    assert batch["bits"] == 2
    code, out, _ = call("ask", count, "SELECT AVG(height) FROM people", *words, "--text")
    assert count in out
    assert "free: nothing more is due" in out


@pytest.mark.slow
def test_a_refusal_points_at_the_place_and_exits_with_2(call, asked):
    text = "SELECT AVG(aeg)\nFROM people"
    words = ("--schema", SCHEMA, "--ledger", asked)
    code, out, err = call("ask", text, *words, "--text")
    assert (code, out) == (2, "")
    first, line, carets = err.splitlines()
    assert first.startswith("Error: The table people has no column 'aeg'; hint: did you mean age?")
    assert line == "  SELECT AVG(aeg)"
    assert carets == "             ^^^"


@pytest.mark.slow
def test_a_refusal_is_also_json_where_json_is_wanted(call, asked):
    words = ("--schema", SCHEMA, "--ledger", asked, "--json")
    code, out, err = call("ask", "SELECT MEDIAN(income) FROM people", "--error", "0", *words)
    refused = json.loads(out)["refused"]
    assert code == 2
    assert err.startswith(f"Error: {refused['reason']}; hint: ")
    assert refused["requested_bits"] > refused["remaining_bits"] == 6
    code, out, _ = call(
        "price", "SELECT age FROM people", "--schema", SCHEMA, "--rows", 9, "--json"
    )
    refused = json.loads(out)["refused"]
    assert code == 2
    start, end = refused["place"]
    assert refused["question"][start:end] == "age"


@pytest.mark.slow
def test_a_pending_answer_exits_with_1_and_is_finished_later(call, asked, monkeypatch):
    def fail(*_):
        raise EngineError("The engine is away", hint="wait")

    words = ("--schema", SCHEMA, "--ledger", asked, "--text")
    with monkeypatch.context() as away:
        away.setattr(holding, "totals", fail)
        code, out, err = call("ask", "SELECT AVG(visits) FROM people", *words)
    assert (code, out) == (1, "")
    assert (
        err
        == "Error: The answer is pending; hint: ask the same again later; it is paid for already\n"
    )
    code, out, _ = call("ask", "SELECT AVG(visits) FROM people", *words)
    assert code == 0
    assert "free: nothing more is due; spent 3 bits, of which 1 bit for open columns" in out
    assert "5 bits left" in out


@pytest.mark.slow
def test_a_slip_in_the_name_of_the_ledger_makes_no_new_one(call, asked):
    slip = asked.with_name("leger.db")
    code, _, err = call("ask", MEAN, "--schema", SCHEMA, "--ledger", slip)
    assert code == 2
    assert "does not exist" in err
    assert not slip.exists()


@pytest.mark.slow
def test_a_changed_table_is_refused_until_it_is_recorded(call, asked, tmp_path):
    changed = tmp_path / "people.parquet"
    pq.write_table(people(1001), changed)
    words = ("--schema", SCHEMA, "--ledger", asked, "--table", changed, "--text")
    code, _, err = call("ask", MEAN, "--bits", 1, *words)
    assert code == 2
    assert "people.parquet differs from the one its coded copy was made from" in err
    code, out, _ = call("ask", MEAN, "--bits", 1, *words, "--update")
    assert code == 0
    assert "charged 1 bit; spent 4 bits, of which 2 bits for open columns, 4 bits left" in out


@pytest.mark.slow
def test_an_answer_that_says_nothing_is_refused_with_the_next_price_unless_it_is_wished(
    call, asked
):
    words = ("--bits", 0, "--schema", SCHEMA, "--ledger", asked, "--text")
    code, out, err = call("ask", TALL, *words)
    assert (code, out) == (2, "")
    assert (
        "AVG(height) would be no narrower than the schema; hint: 1 bit (--bits 1) gives ±0.0495; "
        in err
    )
    assert "--vacuous" in err
    code, out, _ = call("price", TALL, *words)
    assert code == 0
    assert (
        "Vacuous: AVG(height) would say no more than the schema; 1 bit (--bits 1) gives ±0.0495."
        in out
    )
    code, out, _ = call("price", TALL, *words, "--vacuous")
    assert (code, "Vacuous" in out) == (0, False)
    code, out, _ = call("ask", TALL, *words, "--vacuous")
    assert code == 0
    assert "[120, 220]" in out
    assert "free: it tells nothing" in out


@pytest.mark.parametrize("bits", [0, "0.5"])
def test_a_coarser_wish_is_answered_with_what_is_known_already(call, asked, bits):
    words = ("--bits", bits, "--schema", SCHEMA, "--ledger", asked, "--text")
    code, out, _ = call("ask", MEAN, *words)
    assert code == 0
    assert "±0.038" in out
    assert "free: nothing more is due" in out


@pytest.mark.slow
def test_a_price_says_what_is_due_and_why(call, asked):
    words = ("--error", "0.5", "--schema", SCHEMA, "--ledger", asked)
    code, out, _ = call("price", MEAN, *words, "--text", "--explain")
    assert code == 0
    assert out.startswith(
        "The price is 0 bits now, and 1 bit alone.\nAVG(age): within 0.038 of the truth\n"
        "Certain for age (18 to 95 years in steps of 1): other numbers count as the nearest.\n"
        "Next useful price alone: 1.585 bits (--bits 1.585) give ±0.019.\n"
        "Left: 6 bits.\n\n1 question: one person's data can lead to at most 2 different answers"
    )
    _, out, _ = call("price", MEAN, *words, "--json")
    found = json.loads(out)
    assert (found["bits_alone"], found["bits"], found["affordable"]) == (1, 0, True)
    assert found["due_bits"] == 0  # the former name of bits


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--rows", "0"), "The number of rows 0 is not positive"),
        (("--rows", "-3"), "The number of rows -3 is not positive"),
        ((), "The number of rows is not known"),
        (("--rows", "9", "--error", "1", "--bits", "1"), "Both an error and bits were given"),
        (("--rows", "9", "--error", "much"), "The error is not a number"),
        (("--rows", "9", "--bits", "-1"), "bits"),
        (("--ledger", "nowhere.db"), "The file of the ledger 'nowhere.db' does not exist"),
    ],
)
def test_a_wish_that_makes_no_sense_is_one_sentence(call, words, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = call("price", MEAN, "--schema", SCHEMA, *words, "--text")
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert problem in err
    assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_tables_of_a_duckdb_file_are_asked_by_their_address(call, table, tmp_path):
    import duckdb

    with duckdb.connect(str(tmp_path / "store.duckdb")) as connection:
        connection.read_parquet(str(table)).create("folk")
    words = ("--schema", SCHEMA, "--ledger", tmp_path / "l.db", "--budget", 8, "--json")
    source = f"{tmp_path / 'store.duckdb'}::folk"
    code, out, _ = call("ask", MEAN, "--error", "0.5", "--table", source, *words)
    assert code == 0
    assert json.loads(out)["bits"] == 1


# --- where the culprit stands -----------------------------------------------------------------


def test_only_a_refusal_with_a_place_is_pointed_at():
    assert pointed_at(OptionError("No", hint="yes")) == "No; hint: yes"
    assert pointed_at(Refused("No", hint="yes", text="SELECT 1")) == "No; hint: yes"


@pytest.mark.parametrize("start", [0, 3, 60, 150, 290, 299])
@pytest.mark.parametrize("length", [1, 5, 140])
def test_a_long_line_is_cut_around_the_place(start, length):
    text = "".join(chr(ord("a") + i % 26) for i in range(300))
    line, carets = marked(text, start, start + length).splitlines()
    assert len(line) <= WIDTH + WIDTH // 2
    begin = carets.index("^")
    shown = line[begin : begin + carets.count("^")]
    assert shown == text[start : start + length][: len(shown)]
    assert len(shown) == min(length, 300 - start) or line.endswith("...")


def test_wide_and_unprintable_characters_keep_the_carets_in_their_place():
    line, carets = marked("a = '東京' AND b\x1b = 1", 16, 17).splitlines()
    assert line == "  a = '東京' AND b\\x1b = 1"
    assert carets == "  " + " " * 21 + "^"


def test_a_place_at_the_end_is_still_marked():
    assert marked("SELECT", 6, 6) == "  SELECT\n        ^"
    assert marked("", 0, 0) == "  \n  ^"
    assert marked("SELECT\n", 99, 120).endswith("^")


# --- the demonstration ------------------------------------------------------------------------


@pytest.mark.slow
def test_the_demonstration_asks_five_questions_afresh_every_time(tmp_path, capsys, table):
    spec = importlib.util.spec_from_file_location("ask_demo", EXAMPLES / "ask_demo.py")
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    demo.CONSOLE.file = None
    for _ in range(2):
        demo.ask_five(tmp_path / "out", open_table(str(table)))
        out = capsys.readouterr().out
        assert out.count("certainly within") == 6
        assert out.count("    charged ") == 5
        assert out.count("free: nothing more is due") == 1
        assert "refused: the question costs" in out


@pytest.mark.slow
def test_a_table_that_the_schema_command_reads_can_be_asked_and_priced(call, tmp_path):
    """A CSV file without a header line, in which '?' marks what is missing."""
    table, schema, ledger = tmp_path / "t.csv", tmp_path / "t.toml", tmp_path / "l.db"
    table.write_text("3,a\n?,b\n5,?\n")
    schema.write_text(
        '[table]\nname = "t"\n[columns.age]\nkind = "private"\nrange = [0, 9]\nstep = 1\n'
        'nullable = true\n[columns.sort]\nkind = "private"\nvalues = ["a", "b"]\nnullable = true\n'
    )
    reading = ("--table", table, "--null", "?", "--names", "age,sort")
    code, _, err = call("schema", "check", schema, *reading, "--json")
    assert (code, err) == (0, "")
    text = "SELECT COUNT(*) FROM t WHERE age IS NULL"
    code, out, err = call("price", text, "--schema", schema, *reading, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["questions"][0]["levels"] == ["4"]  # none to three of three rows
    words = ("--schema", schema, "--ledger", ledger, "--json")
    code, out, err = call("ask", text, *reading, *words, "--budget", 9)
    assert (code, err) == (0, "")
    assert json.loads(out)["rows"][0]["COUNT(*)"]["value"] == 1
    code, out, _ = call("ask", text, *reading, *words)
    assert (code, json.loads(out)["bits"]) == (0, 0)


OFFICE = "SELECT AVG(income) AS y FROM people WHERE job = 'office'"


@pytest.mark.slow
def test_an_error_is_kept_if_enough_rows_count(call, asked):
    words = ("--error", 500, "--schema", SCHEMA, "--ledger", asked)
    code, _, err = call("ask", OFFICE, *words, "--text")
    assert (code, "--min-rows" in err) == (2, True)
    code, out, _ = call("price", OFFICE, *words, "--min-rows", 100, "--json")
    quote = json.loads(out)
    assert (code, quote["cells"]) == (0, "4")
    assert quote["questions"][0]["errors_if_rows_count"]["100"] == {"y": "999/2"}
    assert quote["questions"][0]["next_prices"]["above"]["bits_alone"] > 2
    code, out, _ = call("ask", OFFICE, *words, "--min-rows", 100, "--json")
    assert (code, json.loads(out)["rows"][0]["y"]["promised"]) == (0, True)
    few = OFFICE.replace("office", "care") + " AND age >= 75"
    code, out, _ = call("ask", few, *words, "--min-rows", 100, "--text")
    assert (code, "(not promised)" in out) == (0, True)
    code, _, err = call("ask", few, *words, "--min-rows", "0.5", "--text")
    assert (code, "least number of rows" in err) == (2, True)


def test_a_price_names_the_errors_of_rows_and_the_next_prices(call):
    words = ("--schema", SCHEMA, "--rows", 5000, "--bits", 2, "--text")
    code, out, _ = call("price", OFFICE, *words)
    assert code == 0
    assert "y: within 49,950 of the truth; 4,995 if at least 10 rows count, 499.5 if 100, " in out
    assert (
        "Next useful prices: 1.585 bits (--bits 1.585) give ±1,000 if 100 rows count, ±10," in out
    )
    wish = ("--error", 500, "--min-rows", 100, "--curve", "--text")
    code, out, _ = call("price", OFFICE, *words[:4], *wish)
    assert (code, "Next useful price after 2 bits" in out) == (0, True)


@pytest.mark.slow
def test_a_part_of_the_budget_for_every_year_stops_questions(call, asked):
    code, out, _ = call("ledger", "budget", asked, "--per-year", "2", "--text")
    assert code == 0
    assert "Dataset people: 2 of 8 bits are spent over all time." in out
    assert "Of that, at most 2 bits in every year; of those for 20" in out
    words = ("--schema", SCHEMA, "--ledger", asked, "--text")
    code, _, err = call("ask", TALL, "--bits", "3", *words)
    assert code != 0
    assert "The question costs 3 bits and the part of the year 20" in err
    assert "when the next year begins" in err
    code, out, _ = call("ledger", "show", asked, "--json")
    (dataset,) = json.loads(out)["datasets"]
    assert (code, dataset["period"]["balance"]["remaining_bits"]) == (0, 2)
    code, out, _ = call("ledger", "budget", asked, "--no-period", "--total", "8.5", "--text")
    assert (code, out.splitlines()[-1]) == (0, "The budget has no parts by period.")
    assert "of 8.5 bits are spent" in out
    assert "of 8.5 bits spent" in call("ledger", "show", asked, "--text")[1]
    assert call("ledger", "budget", asked, "--total", "9", "--text")[0] == 0
    code, out, _ = call("ledger", "show", asked, "--json")
    (dataset,) = json.loads(out)["datasets"]
    assert "period" not in dataset
    assert dataset["balance"]["bits"] == "9"
    assert call("ask", TALL, "--bits", "3", *words)[0] == 0
    assert call("ledger", "budget", asked, "--per-year", "1", "--per-month", "1")[0] == 2
    assert call("ledger", "verify", asked, "--text")[0] == 0
