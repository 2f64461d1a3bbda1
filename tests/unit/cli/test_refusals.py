"""A mistake is one sentence with a hint and exit code 2, before anything is written."""

import ast
import json
import re
import shlex
from pathlib import Path

import pytest

import hartley
from command_line import run
from hartley.cli.commands import load_commands
from hartley.cli.refusals import CALL, in_shell

# ruff: noqa: E501 - one refusal a line
REFUSALS = r"""
audit nope.csv --secret a --released b | There is no file nope.csv
audit . --secret a --released b | . is a folder
audit bad.parquet --secret a --released b | not a readable Parquet file
audit people.csv --secret agee --released sex | did you mean 'age'?
audit people.csv --secret age --released sex --bins sex=2 | 'sex'
audit people.csv --secret age --released sex --bins age=0 | 'age' is 0
audit people.csv --secret age --released sex --bins age=-3 | 'age' is -3
audit people.csv --secret age --released sex --bins age | COL=STEP
audit people.csv --secret age --released sex --bins age=2 --bins age=3 | names column 'age' twice
audit people.csv --secret age --released sex --missing keep | 'keep'
audit people.csv --secret age --released sex --sweep sex=1:5 | 'sex'
audit people.csv --secret age --released sex --sweep age=1:5 | not released
audit people.csv --secret age --released sex --sweep age | not of the form COL=1:50
audit people.csv --secret age --released sex,sex | 'sex' is named twice
audit people.csv --secret age --released , | no column
audit people.csv --secret age --released sex --memory-limit lots | 'lots'
audit people.csv --secret age --released sex --hypothesis 'age >' | cannot be read
audit people.csv --secret age --released sex --hypothesis 'age > 0' | true for every
audit people.csv --secret age --released sex --few 0 | not a whole number of 2 or more
audit people.csv --released sex | The option --secret is missing
audit people.csv --secret age --released sex --risks out.txt | out.txt
anonymity people.csv | name some of the columns
anonymity people.csv --keys sex --confidential age --hierarchy age=none.csv | cannot be read
anonymize people.csv --keys diagnosis -k 2 --bins diagnosis=5 --hierarchy diagnosis=ill.csv -o o.csv | has bins and a hierarchy
anonymize people.csv --keys age -k 2 --hierarchy age=ill.csv -o o.csv --force --html ill.csv | overwrite the hierarchy
anonymize absent.csv --keys a -k 2 -o out.txt | names no format
anonymize people.csv --keys age -k 2 --method best -o o.csv | 'best'
microaggregate people.csv -k 5 --columns age --method kmeans -o o.csv | method 'kmeans' is unknown
microaggregate people.csv -k 5 --columns age -o out.txt | ending of out.txt
microaggregate people.csv -k 5 --columns age --method univariate --raw -o o.csv | make no difference
microaggregate 'peo*.csv' -k 5 -o people.csv --force | would overwrite the table
microaggregate people.duckdb::people -k 5 -o o.csv --html people.duckdb | would overwrite the table
microaggregate empty.csv -k 5 -o o.csv | empty.csv has no rows
attack homogeneity people.csv --keys agee --confidential job | agee
attack homogeneity people.csv --keys age --confidential job --near age=1 | not confidential
attack homogeneity people.csv --keys age --confidential job --near job | not of the form
attack guessing people.csv --secret age --released sex --attribute job | no column of the secret side
attack hypothesis people.csv --secret age --released sex --hypothesis age | hypothesis
attack reconstruction none.db | none.db
attack reconstruction ledger.db --dataset towns | no dataset 'towns'
attack reconstruction ledger.db --data everybody.csv | 240 rows
attack reconstruction ledger.db --schema other.toml | differs from the one in the
attack policy policy.toml released.csv --step weight | --step weight is not of the form COL=STEP
attack policy policy.toml released.csv --step weight=x | step for column 'weight'
attack policy policy.toml released.csv --known weight | there is no true table
attack policy policy.toml released.csv --schema none.toml | none.toml
attack policy policy.toml released.csv --html policy.toml | policy.toml would overwrite
attack policy released.csv released.csv | The policy file
attack policy released.csv policy.toml | policy.toml is no table but settings
release policy.toml people.csv -o x.csv | perhaps two arguments are swapped
anonymize people.csv --keys sex -k 0 -o o.csv | hint: write for example --k 5
price 'SELECT AVG(visits) FROM people' --schema people.toml | hint: give --rows, or the ledger
attack membership homes.csv --people 3 --bits 2 | need a range
attack membership homes.csv --people 3 --range 0:9 --bits 2 --levels 2 | budget
attack membership homes.csv --people 3 --range 9 | no colon
attack membership homes.csv --people 3 --range a:b | not a number
attack membership homes.csv --people 3 --drop both | 'both'
attack membership homes.csv --people 3 --columns h0...h9 | h0...h9
attack membership homes.csv --people 3 --policy sex.toml | by pram
attack load-monitoring power.csv --train some | share to learn from
attack load-monitoring power.csv --total man | 'man'
attack load-monitoring power.csv --total main --policy policy.toml | by blur
attack uniqueness trips.csv --columns x --bits 2 | grid
attack uniqueness trips.csv --grid x=0:4 | grid
attack uniqueness trips.csv --grid x --bits 2 | COL=LOW:HIGH
attack uniqueness trips.csv --columns x --person who --known -1 | -1
attack uniqueness trips.csv --columns x --policy none.toml | none.toml
curve people.csv --key agee --confidential diagnosis | agee
curve people.csv --key diagnosis --confidential age | not a number
curve people.csv --key age --confidential diagnosis --distortion odd | called odd
curve people.csv --key age --confidential diagnosis --objective odd | objective called odd
curve people.csv --key age --confidential diagnosis --csv people.csv | overwrite
gaussian people.csv --key height --confidential job --share 0.5 | 'job' of people.csv does not hold numbers
gaussian people.csv --key height --confidential weight --share 2 | not from 0 to 1
gaussian people.csv --key height --confidential weight | Exactly one of distortion and share
gaussian people.csv --key height --confidential weight --share 0.5 --round height | not of the form COL=STEP
gaussian people.csv --key height --confidential weight --share 0.5 -o o.csv --html o.csv | would overwrite
pram people.csv --column job -o o.csv | No matrix is given
pram people.csv --retain 0.5 -o o.csv | No column to perturb
pram people.csv --retain 0.5 --column '' -o o.csv | No column to perturb
pram people.csv --column job --retain 0.5 --lam 1 -o o.csv | Both retain and lam
pram people.csv --column jbo --retain 0.5 -o o.csv | did you mean 'job'
pram people.csv --column job --retain 2 -o o.csv | cannot be kept with probability 2
pram people.csv --column job --retain 0.5 --missing no -o o.csv | is unknown
pram people.csv --column job --risk 0.1 -o o.csv | needs confidential columns
pram people.csv --column job --confidential sex --risk 9 -o o.csv | No perturbation reaches a risk of 9
pram people.csv --policy p.toml --invariant -o o.csv | already names the columns and matrices
pram people.csv --policy p.toml -o o.csv | cannot be read
pram people.csv --column job --matrix m.csv -o o.csv | cannot be read
pram people.csv --column job --retain 0.5 --certificate c.json -o o.csv | no policy file is written
pram people.csv --column sex --retain 0.5 --keep age --certificate c.json --policy-out p.toml -o o.csv | age can take any value and is released as it is
design nope.toml | The design nope.toml cannot be read
design height.design.toml --certificate c.json | No certificate can be written
design height.design.toml -o height.design.toml --force | would overwrite the design
design height.design.toml -o p.toml --html p.toml | would overwrite the policy
design height.design.toml -o no/such/p.toml | does not exist
tradeoff none.toml | none.toml
tradeoff height.design.toml --errors 10:1 | end before they begin
tradeoff height.design.toml --errors 1 | not of the form LOW:HIGH
tradeoff height.design.toml --errors nan:1 | is not a number
tradeoff height.design.toml --plot curve.txt | not end in a known picture format
tradeoff height.design.toml --csv both.svg --plot both.svg | would overwrite
release people.csv policy.toml -o people.csv --force | would overwrite the table
release people.csv policy.toml -o policy.toml --force | would overwrite the policy
release people.csv nope.toml -o x.csv | nope.toml cannot be read
release nope.csv policy.toml -o x.csv | no file nope.csv
release people.csv height.design.toml -o x.csv | height.design.toml does not name a format
release people.csv policy.toml -o x.doc | x.doc
verify policy.toml nope.json | nope.json cannot be read
verify policy.toml height.design.toml | not a certificate
check outputs.csv --fail-on sometimes | sometimes
check outputs.csv --fail-above 3 | schema
check outputs.csv --marks s | not of the form MARK=MEANING
check outputs.csv --insider some | 'some' is unknown
estimate people.csv policy.toml | perturbs no column at random
sample people.xlsx | neither .parquet nor .csv
sample some.csv --like iris | There is no data set 'iris'
reproduce Z/9 | There is no figure 'Z/9'; hint: there are A/1, 2, 3
reproduce A/1 --data nowhere | There is no file or folder nowhere
"""


@pytest.mark.parametrize("line", REFUSALS.strip().splitlines())
def test_a_mistake_is_one_sentence_with_a_hint_and_writes_nothing(folder, line):
    command, _, sentence = line.rpartition(" | ")
    (folder / "bad.parquet").write_text("no parquet here")
    (folder / "empty.csv").write_text("a,b\n")
    (folder / "other.toml").write_text((folder / "people.toml").read_text().replace("20", "30"))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = run(*shlex.split(command))
    assert (done.returncode, done.stdout) == (2, "")
    (told,) = done.stderr.strip().splitlines()
    assert told.startswith("Error: ")
    assert "; hint: " in told
    assert sentence in told
    assert before == {path: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "nope.csv", "--secret", "a", "--released", "b"),
        ("price", "SELECT age FROM people", "--schema", "people.toml", "--rows", 9),
        ("ledger", "show", "none.db"),
        ("schema", "check", "none.toml"),
        ("attack", "policy", "released.csv", "policy.toml"),
        ("doctor", "--nonsense"),
        ("nonsense",),
    ],
)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("way", ["option", "variable", "text"])
def test_a_failure_is_json_where_json_is_wanted(monkeypatch, words, way):
    monkeypatch.delenv("HARTLEY_OUTPUT", raising=False)
    if way != "option":
        monkeypatch.setenv("HARTLEY_OUTPUT", "json")
    done = run(*words, *{"option": ["--json"], "text": ["--text"]}.get(way, []))
    assert done.returncode == 2
    if way == "text":
        assert done.stdout == ""
        return
    ((kind, told),) = json.loads(done.stdout).items()
    assert kind == ("refused" if words[0] == "price" else "error")
    assert told["reason"] in done.stderr
    assert told["hint"]


# --- hints ----------------------------------------------------------------------------------------


def hints():
    """Return every hint in the code: the constant parts, with {} for what is filled in."""

    def text(node):
        match node:
            case ast.Constant(value=str(value)):
                return value
            case ast.JoinedStr(values=values):
                return "".join(map(text, values))
            case ast.BinOp(left=left, right=right):
                return text(left) + text(right)
            case ast.IfExp(body=body, orelse=other):
                return f"{text(body)}; {text(other)}"
        return "{}"

    package = Path(hartley.__file__).parent
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                yield path.relative_to(package).as_posix(), text(node.value)


def options():
    commands = [*load_commands().values()]
    for command in commands:
        commands += getattr(command, "commands", {}).values()
        yield from ((part.name, part.opts[0]) for part in command.params)


PYTHON_ALONE = re.compile(
    "boxes/|guarantees/|kernels/|measures/|policies/|ranges/|client/connection.py: pass seconds"
    "|client/remote_agent.py: pass one of|results/answer.py|datasets/meters.py|exact.py|tables/opening"
    "|trusted/ledger/state.py: leave it out, or give secrets"
)
"""Rooms and functions that no command reaches with such a mistake."""
NO_PYTHON = re.compile(
    r"-- |SELECT|HARTLEY_DEBUG|--marks|--grid|dominance=|mean\(|sum\(|total\(|scale, such as|acro.finalise|compare_policies|numeric\("
    r"|reconstruct and pass"
)
"""Words of questions, rules and files that look alike."""


def test_a_hint_names_options_in_the_shell():
    names = dict(options())
    wrong = [
        (place, told)
        for place, hint in hints()
        if not PYTHON_ALONE.match(f"{place}: {hint}") and not NO_PYTHON.search(hint)
        for told in [in_shell(hint, names)]
        if re.search(rf"(?<![\w-]){CALL}(?![^ ]*\))|\bhartley\.", told)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("ask for it anyway with vacuous=True (--vacuous)", "ask for it anyway with --vacuous"),
        ("give spec=, schema= and against= (--spec, --schema)", "give --spec, --schema"),
        ("for example share=0.25 for a quarter", "for example --share 0.25 for a quarter"),
        ("write -- bits=2, -- share=1", "write -- bits=2, -- share=1"),
        ("or hartley.plan, or hartley.policies.reconstruct(x)", "or hartley plan, or hartley."),
        ("with open_table(..., null=) (--null), or convert it", "with --null, or convert it"),
    ],
)
def test_python_words_are_left_out_of_a_hint(hint, told):
    assert in_shell(hint, {"share": "--share", "bits": "--bits"}).startswith(told)


def test_no_class_of_a_library_is_named():
    package = Path(hartley.__file__).parent
    named = [
        path.name
        for path in sorted(package.rglob("*.py"))
        if re.search(r"\(\{type\((error|e|cause)\)\.__name__", path.read_text("utf-8"))
    ]
    assert named == []
    done = run("ledger", "show", "postgresql://nobody@127.0.0.1:1/x")
    assert done.returncode == 1
    assert "does not answer; hint:" in done.stderr


SPEC = 'objective = "maximin"\nquery = "mean(height)"\nerror = 0.5\npeople = 5000\n'
RANGE = "[columns.height]\nrange = [100, 250]\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SPEC.replace("error", "eror") + RANGE, "did you mean 'error'?"),
        (SPEC + RANGE.replace("[100, 250]", "[250, 100]"), "is reversed"),
        (SPEC + RANGE.replace("[100, 250]", "[nan, 250]"), "is not a number"),
        (SPEC + RANGE.replace("250]", "inf]"), "is not a number"),
        (SPEC.replace("0.5", "0") + RANGE, "is not positive"),
        (
            SPEC.replace("mean(height)", "1/(height - 120)").replace("people = 5000\n", "") + RANGE,
            "divides by zero",
        ),
        (SPEC + "bits = 3\n" + RANGE, "both an error and bits"),
        (SPEC + "[columns.weight]\nrange = [0, 1]\n", "'height', which has no range"),
        ("objective = [", "is not TOML"),
    ],
)
def test_a_design_that_makes_no_sense_is_one_sentence_and_writes_nothing(tmp_path, text, expected):
    spec = tmp_path / "x.design.toml"
    spec.write_text(text)
    done = run("design", spec, "-o", tmp_path / "policy.toml", "--html", tmp_path / "page.html")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.strip().splitlines()
    assert "; hint: " in line
    assert expected in line
    assert list(tmp_path.iterdir()) == [spec]
