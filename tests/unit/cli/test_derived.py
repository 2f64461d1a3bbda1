"""Every derived command: it is its function, its help is plain, and its files are safe."""

import html
import inspect
import json
import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import command_line
import hartley
from hartley.agent.agent import ask
from hartley.cli.commands import ATTACKS, COMMANDS, load_commands
from hartley.cli.derive import GATES, gate_words, named
from hartley.datasets.people import people
from hartley.schema.draft import draft_schema
from hartley.studies import attack

CALLS = {
    "scan": ("people.csv -k 3", lambda: hartley.scan("people.csv", k=3)),
    "audit": (
        "people.csv --secret diagnosis --released age,sex --bins age=25 --sweep age=1:5",
        lambda: hartley.audit(
            "people.csv",
            secret="diagnosis",
            released=["age", "sex"],
            bins={"age": "25"},
            sweep={"age": "1:5"},
        ),
    ),
    "anonymity": (
        (
            "people.csv --keys sex,region --confidential diagnosis --hierarchy diagnosis=ill.csv "
            "--population everybody.csv --few 7"
        ),
        lambda: hartley.anonymity(
            "people.csv",
            keys=["sex", "region"],
            confidential="diagnosis",
            hierarchy={
                "diagnosis": {
                    ill: (str(ill == "none"),) for ill in {*people(120)["diagnosis"].to_pylist()}
                }
            },
            population="everybody.csv",
            few=7,
        ),
    ),
    "attack homogeneity": (
        "people.csv --keys age,sex --confidential diagnosis,visits --near visits=2 --times 3",
        lambda: attack.attack_homogeneity(
            "people.csv",
            keys=["age", "sex"],
            confidential=["diagnosis", "visits"],
            near={"visits": 2},
            times=3,
        ),
    ),
    "attack guessing": (
        "people.csv --secret ROW --released age,sex --bins age=20",
        lambda: attack.attack_guessing(
            "people.csv", secret="ROW", released=["age", "sex"], bins={"age": 20}
        ),
    ),
    "attack hypothesis": (
        "people.csv --secret income --released job --hypothesis 'income >= 20000'",
        lambda: attack.attack_hypothesis(
            "people.csv", secret="income", released="job", hypothesis="income >= 20000"
        ),
    ),
    "attack uniqueness": (
        (
            "trips.csv --columns x,y --person who --known 2 --trials 200 --grid x=0:20 "
            "--grid y=0:20 --bits 6"
        ),
        lambda: attack.attack_uniqueness(
            "trips.csv",
            ["x", "y"],
            person="who",
            known=2,
            trials=200,
            grid={"x": "0:20", "y": (0, 20)},
            bits=6,
        ),
    ),
    "attack membership": (
        (
            "homes.csv --person home --order day --columns h0...h2 --people 3 --games 300 --seed 2 "
            "--range 0:20 --bits 2"
        ),
        lambda: attack.attack_membership(
            "homes.csv",
            person="home",
            order="day",
            columns="h0...h2",
            people=3,
            games=300,
            seed=2,
            span=(0, 20),
            bits=2,
        ),
    ),
    "attack load-monitoring": (
        "power.csv --total main --train 100 --range 0:1100 --levels 8",
        lambda: attack.attack_load_monitoring(
            "power.csv", total="main", train=100, span="0:1100", levels=8
        ),
    ),
    "attack policy": (
        "policy.toml released.csv --step weight=0.1 --data people.csv --known-within weight=1",
        lambda: hartley.attack_policy(
            "policy.toml",
            "released.csv",
            steps={"weight": "0.1"},
            data="people.csv",
            known_within={"weight": 1},
        ),
    ),
    "attack reconstruction": (
        "ledger.db --data people.csv",
        lambda: attack.attack_reconstruction("ledger.db", data="people.csv"),
    ),
    "attack differencing": (
        "ledger.db --data people.csv --rows 60",
        lambda: attack.attack_differencing("ledger.db", data="people.csv", rows=60),
    ),
    "design": ("height.design.toml", lambda: hartley.design("height.design.toml")),
    "tradeoff": (
        "height.design.toml --errors 1:10:3",
        lambda: hartley.tradeoff("height.design.toml", errors="1:10:3"),
    ),
    "curve": (
        (
            "people.csv --key age --confidential diagnosis --bins age=25 --points 3 --objective "
            "t_closeness"
        ),
        lambda: hartley.curve(
            "people.csv",
            key="age",
            confidential="diagnosis",
            bins={"age": 25},
            points=3,
            objective="t_closeness",
        ),
    ),
    "release": (
        "people.csv policy.toml -o out.csv --few 3",
        lambda: hartley.release("people.csv", "policy.toml", "out.csv", few=3),
    ),
    "anonymize": (
        "people.csv --keys age,sex --bins age=5,10,50 -k 4 --suppress 0.05 -o out.csv",
        lambda: hartley.anonymize(
            "people.csv", ["age", "sex"], 4, bins={"age": [5, 10, 50]}, suppress="0.05"
        ),
    ),
    "microaggregate": (
        "people.csv -k 4 --columns age,height --keep sex --raw -o out.csv",
        lambda: hartley.microaggregate("people.csv", 4, ["age", "height"], keep="sex", raw=True),
    ),
    "pram": (
        "people.csv --column sex --matrix sex.csv --keep age --seed 3 -o out.csv",
        lambda: hartley.pram(
            "people.csv", out="out.csv", columns="sex", matrix="sex.csv", keep="age", seed=3
        ),
    ),
    "estimate": (
        "people.csv sex.toml --project",
        lambda: hartley.estimate("people.csv", "sex.toml", project=True),
    ),
    "gaussian": (
        "--covariance known.csv --key x --confidential w --distortion 0.25",
        lambda: hartley.gaussian(
            covariance="known.csv", key="x", confidential="w", distortion=0.25
        ),
    ),
    "check": (
        "outputs.csv --rule frequency<5 --marks s=hidden --show-values --fail-on never",
        lambda: hartley.check("outputs.csv", rule=["frequency<5"], marks={"s": "hidden"}),
    ),
    "plan": (
        "questions.sql --schema people.toml --rows 100 --budget 4",
        lambda: hartley.plan(Path("questions.sql"), "people.toml", rows=100, budget=4),
    ),
    "doctor": ("", hartley.doctor),
}
"""For every derived command the words of a shell, and the call that returns the same."""


DERIVED = {
    name: each for name, each in COMMANDS.items() if ":" in each.home and ".cli." not in each.home
}
DERIVED |= {f"attack {name}": each for name, each in ATTACKS.items()}
LOADED = load_commands()
LEAVES = {
    f"{name} {part}".strip(): leaf
    for name, command in LOADED.items()
    for part, leaf in {"": command, **getattr(command, "commands", {})}.items()
}


def run(name, *more):
    return command_line.run(*name.split(), *shlex.split(CALLS[name][0]), *more)


def options_of(name):
    return {option.name: option for option in LEAVES[name].params}


def test_every_derived_command_is_called_here():
    assert {*CALLS} == {*DERIVED}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_command_says_what_its_function_returns(name, folder):
    command = DERIVED[name]
    page = ["--html", "page.html"] if "html" in options_of(name) else []
    done = run(name, "--json", *page)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told.pop("evidence")["command"].startswith(f"hartley {name}")
    for key in ["files"] if command.files else filter(None, command.writes.values()):
        told.pop(key, None)
    result = CALLS[name][1]()
    results = result if isinstance(result, tuple) else (result,)
    expected = json.loads(json.dumps([each.to_dict() for each in results]))
    assert told.get(f"{name}s", [told]) == expected
    force = ["--force"] if "force" in options_of(name) else []
    text = " ".join(run(name, "--text", *force).stdout.split())
    for each in results:
        headline = getattr(each, "headline", "")
        assert headline in text
        if page:
            shown = html.unescape((folder / "page.html").read_text()).replace("\xa0", " ")
            report = each.report()
            assert report.headline in shown
            assert report.lead in shown


# --- options are parameters -----------------------------------------------------------------------

OF_THE_SHELL = {
    "details",
    "json",
    "junit",
    "sarif",
    "fail_on",
    "fail_above",
    "script",
    "force",
    "help",
}
READING = {*inspect.signature(hartley.ReadingOptions).parameters}


@pytest.mark.parametrize("name", DERIVED)
def test_every_option_is_a_parameter_and_every_parameter_an_option(name):
    command = DERIVED[name]
    function = inspect.unwrap(named(command.home))
    found = {
        key: each
        for key, each in inspect.signature(function).parameters.items()
        if not each.annotation.startswith("PythonOnly") and key != "progress"
    }
    shown = options_of(name)
    more = OF_THE_SHELL | {*command.writes} | {*command.flags}
    more |= READING if {"table", "released"} & {*found} else set()
    assert {*found} <= {*shown}
    assert {*shown} - {*found} <= more
    for key, parameter in found.items():
        option = shown[key]
        word = option.opts[0].removeprefix("--").replace("-", "_")
        if option.param_type_name == "option":
            assert word in {key, command.names.get(key)}
        if key not in command.required and option.param_type_name == "option":
            default = parameter.default
            assert option.required == (default is inspect.Parameter.empty)
            if default not in (inspect.Parameter.empty, None, ()):
                assert str(option.default) == str(default)


OF_A_SERVICE = {"url", "token_file", "dataset", "certificates", "insecure"}
"""Options of ``hartley.connect``, whose agent has the same methods."""
BY_HAND = {
    "ask": (ask, {}, {"file"} | OF_A_SERVICE, set()),
    "price": (
        hartley.price,
        {"question": "questions"},
        {"file", "table", "explain", "curve", "html", "csv"} | OF_A_SERVICE,
        set(),
    ),
    "schema draft": (draft_schema, {}, {"out"}, set()),
    "schema check": (hartley.Schema.check_rows, {}, {"schema"}, {"self"}),
    "schema describe": (hartley.Schema.describe, {}, {"schema"}, {"self"}),
    "schema dummy": (hartley.Schema.dummy_data, {"rows": "n"}, {"schema", "file"}, {"self"}),
    "ledger verify": (
        hartley.Ledger.verify,
        {},
        {"ledger"},
        {"self", "reprice", "open_factor", "may_answer"},
    ),
    "ledger export": (hartley.Ledger.export, {"file": "path"}, {"ledger", "head"}, {"self"}),
    "ledger backup": (hartley.Ledger.backup, {"file": "path"}, {"ledger"}, {"self"}),
    "ledger restore": (hartley.Ledger.restore, {"file": "path"}, {"ledger"}, {"self", "force"}),
    "reproduce": (hartley.reproduce, {}, {"out"}, {"progress"}),
}
"""Of commands written by hand: the function, options with another name than its parameter, options
that are output, the method's object or a service, and parameters for Python alone."""
OF_NO_FUNCTION = {
    *("attack", "schema", "ledger", "account", "attack load", "attack reconstruct"),
    *("roles", "serve", "demo", "verify", "datasets", "sample", "ledger show", "ledger budget"),
    *("ledger population", "account add", "account allow", "account list", "account revoke"),
    "account token",
}
"""Groups and former names; what asks in a terminal, keeps running, or shows one ledger or account:
methods of what is opened, one by one."""


def test_every_command_is_compared_with_a_function_or_named_as_none():
    assert {*LEAVES} == {*DERIVED} | {*BY_HAND} | OF_NO_FUNCTION
    assert not {*BY_HAND} & OF_NO_FUNCTION


@pytest.mark.parametrize("name", BY_HAND)
def test_an_option_of_a_command_by_hand_is_a_parameter_too(name):
    function, names, output, python = BY_HAND[name]
    options = {option.name for option in LEAVES[name].params} - OF_THE_SHELL - READING - output
    shown = {names.get(option, option) for option in options}
    assert shown == {*inspect.signature(function).parameters} - python


@pytest.mark.parametrize("name", DERIVED)
def test_a_function_that_can_take_long_tells_its_progress_and_the_command_shows_it(name):
    parameters = inspect.signature(inspect.unwrap(named(DERIVED[name].home))).parameters
    assert ("progress" in parameters) == bool(DERIVED[name].progress)


@pytest.mark.usefixtures("folder")
def test_a_check_tells_how_far_it_is():
    told = []
    hartley.check("outputs.csv", progress=lambda what, share: told.append((what, share)))
    for kind in COMMANDS["check"].progress:
        shares = [share for what, share in told if what == kind]
        assert shares == sorted(shares)
        assert shares[-1] == 1
        assert min(shares) >= 0
    assert {what for what, _ in told} == {*COMMANDS["check"].progress}


@pytest.mark.parametrize("name", DERIVED)
def test_the_first_line_of_the_help_is_that_of_the_function(name):
    assert LEAVES[name].help.startswith(DERIVED[name].help)


# --- help -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEAVES)
def test_help_is_a_full_sentence_in_plain_words(name):
    leaf = LEAVES[name]
    texts = [option.help for option in leaf.params if option.name != "help"]
    texts += [leaf.help.partition("[dim]")[0].strip()]
    for text in texts:
        assert not re.search(r"[{}]|\bdict\b|``|hartley\.|Whether|In Python", text), text
        assert re.match(r"[A-Z]", text), text
        assert text.endswith("."), text


def test_the_groups_of_the_help():
    shown = command_line.run("--help").stdout
    titles = re.findall(r"╭─ (\w+) ─", shown)
    assert titles == ["Options", "Look", "Release", "Ask", "Check", "Research"]
    listed = re.findall(r"^│ ([a-z]+)  ", shown, re.MULTILINE)
    assert listed == [*COMMANDS]


# --- files ----------------------------------------------------------------------------------------

WRITERS = [
    (name, option)
    for name, command in DERIVED.items()
    for option in ("html", "csv", "risks", "out", "certificate", "policy_out", "plot", "junit")
    if option in options_of(name) and CALLS[name][0]
]
READS = re.compile(r"\w[\w.]*\.(?:csv|toml|db)")


def call_with(name, option, file):
    words = CALLS[name][0].replace("-o out.csv", "") if option == "out" else CALLS[name][0]
    more = ["--policy-out", "more.toml"] if (name, option) == ("pram", "certificate") else []
    more = ["-o", "made.toml"] if (name, option) == ("design", "certificate") else more
    flag = f"--{option.replace('_', '-')}"
    return command_line.run(*name.split(), *shlex.split(words), flag, file, *more, "--force")


@pytest.mark.parametrize(("name", "option"), WRITERS)
def test_no_file_overwrites_what_is_read_or_has_no_folder(name, option, folder):
    read = READS.search(CALLS[name][0])[0]
    before = {path: path.read_bytes() for path in folder.iterdir()}
    told = call_with(name, option, read)
    assert (told.returncode, told.stdout) == (2, "")
    assert f"{read} would overwrite the " in told.stderr
    told = call_with(name, option, "nowhere/file.csv")
    assert (told.returncode, told.stdout) == (2, "")
    assert "nowhere/file.csv does not exist; hint: " in told.stderr
    assert before == {path: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CALLS if "html" in options_of(name)])
def test_files_are_replaced_only_by_force_and_a_script_repeats_them(name, folder):
    done = run(name, "--html", "page.html", "--script", "again.sh", "--text")
    assert done.returncode == 0, done.stderr
    assert "page.html" in done.stdout
    script = (folder / "again.sh").read_text()
    assert f"hartley {name}" in script
    assert "--script" not in script
    page = (folder / "page.html").read_bytes()
    again = run(name, "--html", "page.html")
    assert (again.returncode, again.stdout) == (2, "")
    assert "exists already; hint: " in again.stderr
    assert (folder / "page.html").read_bytes() == page
    assert run(name, "--html", "page.html", "--force").returncode == 0


# --- gates ----------------------------------------------------------------------------------------

GATED = [name for name, command in DERIVED.items() if command.gate]


@pytest.mark.slow
@pytest.mark.parametrize("name", GATED)
def test_a_gate_stops_with_three_and_refuses_what_is_no_limit(name, folder):
    files = ("--junit", "gate.xml", "--sarif", "gate.json")
    if name != "check":  # whose bits need a schema
        limit = "0" if GATES[DERIVED[name].gate].limit == "BITS" else "-1"
        stopped = run(name, "--fail-above", limit, *files)
        assert stopped.returncode == 3, stopped.stderr
        assert stopped.stdout
        suite = ET.fromstring((folder / "gate.xml").read_text())  # noqa: S314 - our own file
        assert int(suite.get("failures")) > 0
        assert json.loads((folder / "gate.json").read_text())["runs"][0]["results"]
        assert run(name, "--fail-above", "999").returncode == 0
    assert run(name, "--fail-above", "much").returncode == 2
    words = GATES[DERIVED[name].gate].words
    if words:
        refused = run(name, "--fail-on", "sometimes")
        assert refused.returncode == 2
        assert all(word in refused.stderr for word in gate_words(GATES[DERIVED[name].gate]))
        assert run(name, "--fail-on", "never").returncode == 0


# --- old names ------------------------------------------------------------------------------------

T = {"a": [1, 1, 2, 2], "b": [1, 2, 3, 3]}
OLD = {
    "k of audit is now called few": lambda: hartley.audit(T, secret="ROW", released="a", k=3),
    "k of anonymity is now called few": lambda: hartley.anonymity(T, keys="a", k=3),
    "hierarchies of anonymize is now called hierarchy": lambda: hartley.anonymize(
        T, "a", 2, hierarchies={"a": [5]}
    ),
    "standardise of microaggregate is now called raw": lambda: hartley.microaggregate(
        T, 2, standardise=True
    ),
}


@pytest.mark.parametrize("message", OLD)
def test_an_old_name_works_with_a_warning(message):
    with pytest.warns(DeprecationWarning, match=message):
        assert OLD[message]().headline
