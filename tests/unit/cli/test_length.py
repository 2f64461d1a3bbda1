"""Every command about the people sample takes at most 25 lines of 100 columns, unless asked."""

import io
import shlex
import shutil
from pathlib import Path

import pytest
from rich.console import Console

import command_line
from hartley.cli.commands import ATTACKS, COMMANDS
from hartley.report import Grid, Heading, Report, Section
from hartley.reports.render import page, print_report

EXAMPLES = Path(__file__).parents[3] / "examples"
WIDTH, MOST = 100, 25
COMMANDS_OF_PEOPLE = {
    "scan": "people.csv --html scan.html",
    "audit": "people.csv --secret diagnosis --released age,sex --bins age=10 --sweep age=1:50",
    "audit ROW": "people.csv --secret ROW --released age,sex,region --html audit.html",
    "anonymity": "people.csv --keys age,sex --confidential diagnosis,income",
    "attack homogeneity": "people.csv --keys age,sex --confidential diagnosis,job",
    "attack guessing": "people.csv --secret diagnosis --released age,sex",
    "attack hypothesis": "people.csv --secret income --released job --hypothesis 'income > 20000'",
    "design": "people.design.toml -o policy.toml --certificate c.json --html d.html --force",
    "tradeoff": "bmi.design.toml --errors 1:10:3",
    "release": "people.csv policy.toml -o released.csv --certificate r.json",
    "verify": "policy.toml c.json",
    "anonymize": "people.csv --keys age,sex --confidential diagnosis --bins age=5,10 -k 5 "
    "--suppress 0.05 -o anonymous.csv",
    "microaggregate": "people.csv --columns age,height,weight -k 5 --keep diagnosis -o m.csv",
    "pram": "people.csv --column region --column sex --retain 0.8 --seed 7 -o p.csv "
    "--policy-out p.toml --certificate p.json",
    "gaussian": "people.csv --key height --confidential weight --share 0.25 -o noisy.csv",
    "curve": "people.csv --key age --confidential diagnosis --bins age=10 --points 5",
    "price": "'SELECT AVG(income) FROM people' --schema people.schema.toml --rows 5000",
    "schema check": "people.schema.toml",
    "schema describe": "people.schema.toml",
    "sample": "more.csv --rows 20",
}
"""In this order: some commands read what others have written."""
SHOWN_WHOLE = {
    *("estimate", "doctor", "datasets", "reproduce", "ask", "plan", "ledger", "account"),
    *("serve", "demo", "check", "attack", "roles"),
}
"""Answers and lists that were asked for, and commands that are not about the people sample."""


def lines_of(text):
    return sum(max(-(-len(line) // WIDTH), 1) for line in text.splitlines())


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Run all commands and return what each printed."""
    folder = tmp_path_factory.mktemp("length")
    for path in EXAMPLES.glob("*.toml"):
        shutil.copy(path, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hartley.cli.derive.console", lambda: Console(width=WIDTH, highlight=False))
        runs = {"data": command_line.run("sample", "people.csv", cwd=folder)}
        for name, words in COMMANDS_OF_PEOPLE.items():
            command = name.removesuffix(" ROW").split()
            runs[name] = command_line.run(*command, *shlex.split(words), cwd=folder)
    return runs


def test_no_command_is_forgotten():
    first = {name.split()[0] for name in COMMANDS_OF_PEOPLE}
    assert first | SHOWN_WHOLE == {*COMMANDS}
    assert {name for name in COMMANDS_OF_PEOPLE if name.startswith("attack ")} <= {
        f"attack {name}" for name in ATTACKS
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS_OF_PEOPLE)
def test_a_command_takes_at_most_25_lines(shown, name):
    assert shown[name].returncode == 0, shown[name].stderr
    assert shown[name].stderr.splitlines()[-1:] == [
        "Text, since 0.2; for JSON: --json or HARTLEY_OUTPUT=json"
    ]
    assert 0 < lines_of(shown[name].stdout) <= MOST, shown[name].stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["release", "pram"])
def test_that_rows_keep_their_order_is_said_at_once(shown, name):
    assert "The rows keep their order" in shown[name].stdout


# --- what is left out -----------------------------------------------------------------------------


def section(title, *, points=0, rows=0, **more):
    table = Grid((Heading("value"),), tuple((f"{title} row {k}",) for k in range(rows)))
    return Section(
        title,
        (f"{title} begins.",),
        tuple(f"{title} point {k}." for k in range(points)),
        table=table if rows else None,
        **more,
    )


def printed(sections, most=MOST):
    console = Console(width=WIDTH, highlight=False, file=io.StringIO())
    report = Report("Audit of people.csv", "Nobody is told.", (), tuple(sections))
    print_report(report, console, most)
    return console.file.getvalue()


def test_details_are_left_out_and_named():
    sections = [section("First"), section("Measures", rows=3, details=True), section("Last")]
    text = printed(sections)
    assert "--details prints more: Measures" in text
    assert "Measures begins" not in text
    whole = printed(sections, None)
    assert "Measures row 2" in whole
    assert "--details" not in whole


def test_a_page_folds_details_and_names_itself_in_its_title():
    sections = (section("First"), section("Measures", rows=3, details=True))
    text = page(Report("Audit of people.csv", "Nobody is told.", (), sections))
    assert "<title>Audit of people.csv · Hartley</title>" in text
    assert '<p class="kicker">Audit of people.csv</p>' in text
    before, folded, after = text.partition("<details><summary>Measures</summary>")
    assert "First begins." in before
    assert "Measures row 2" in after.partition("</details>")[0]
    assert "Measures begins." not in before
    assert folded


def test_one_table_of_ten_rows_and_five_points_are_shown():
    text = printed(
        [section("First", points=3), section("A", points=4, rows=11), section("B", rows=2)]
    )
    assert text.count("point") == 5
    assert ("A row 4" in text, "A row 10" in text, "B row 0" in text) == (True, False, False)
    assert "--details prints more: A, B" in text
    assert "A row 9" in printed([section("A", rows=10)])
    assert "A row 10" not in printed([section("A", rows=11)])


@pytest.mark.parametrize("many", [1, 5, 40])
def test_warnings_and_commands_are_never_left_out(many):
    filler = [section(f"Part {k}", points=4, rows=9) for k in range(many)]
    warned = section("Beware", warning=True)
    following = Section("What to do next", commands=("hartley scan people.csv",))
    for sections in ([*filler, warned, following], [warned, *filler, following]):
        text = printed(sections)
        assert lines_of(text) <= MOST
        assert "Beware begins." in text
        assert "  hartley scan people.csv\n" in text
        assert text.index("Beware begins.") < text.index("hartley scan")


def test_commands_are_shown_below_a_headline_that_takes_all_lines():
    following = Section("What to do next", ("Then:",), commands=("hartley scan people.csv",))
    console = Console(width=WIDTH, highlight=False, file=io.StringIO())
    print_report(Report("Scan", "Somebody is told. " * 200, (), (following,)), console, MOST)
    assert "  hartley scan people.csv\n" in console.file.getvalue()


def test_a_section_that_is_shown_whole_is_not_named():
    assert "--details" not in printed([section("First", points=5, rows=3)])


@pytest.mark.parametrize(
    ("words", "value", "expected"),
    [
        ((), None, "text and a line"),
        ((), "json", "JSON"),
        ((), "text", "text"),
        (("--text",), "json", "text"),
        (("--text",), None, "text"),
        (("--json",), None, "JSON"),
    ],
)
def test_a_pipe_gets_text_unless_json_is_asked_for(monkeypatch, words, value, expected):
    if value is None:
        monkeypatch.delenv("HARTLEY_OUTPUT", raising=False)
    else:
        monkeypatch.setenv("HARTLEY_OUTPUT", value)
    ran = command_line.run("schema", "describe", EXAMPLES / "people.schema.toml", *words)
    assert ran.returncode == 0
    assert ran.stdout.startswith("{") == (expected == "JSON")
    line = "Text, since 0.2; for JSON: --json or HARTLEY_OUTPUT=json\n"
    assert ran.stderr == (line if expected == "text and a line" else "")


def test_a_terminal_is_told_nothing(in_terminal):
    code, screen = in_terminal("schema", "describe", EXAMPLES / "people.schema.toml")
    assert code == 0
    assert "since 0.2" not in screen


@pytest.mark.slow
def test_a_terminal_sees_a_bar_while_a_command_works(in_terminal, tmp_path):
    command_line.run("sample", tmp_path / "p.csv", "--rows", 300, "--text")
    words = ("anonymize", tmp_path / "p.csv", "--keys", "age,sex", "--bins", "age=20", "-k", 5)
    code, screen = in_terminal(*words, "-o", tmp_path / "out.csv")
    assert code == 0
    assert "Reading rows" in screen
