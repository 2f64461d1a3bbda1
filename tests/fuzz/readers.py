"""Every way in which a document gets into Hartley: a function of Python, or a command."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import documents as valid

import hartley
from hartley import Roles, Schema, open_ledger, price, transcripts_of
from hartley.agent.replay import reprice
from hartley.cli.main import main
from hartley.exact import floor_power, parse_number, parse_step
from hartley.guarantees.promise import Certificate
from hartley.guarantees.verify import certify
from hartley.policies.document import PolicyDocument
from hartley.policies.hierarchy import read_hierarchy
from hartley.policies.hypotheses.hypothesis import Hypothesis
from hartley.policies.hypotheses.lines import Threshold
from hartley.policies.quantizer import parse_query
from hartley.studies.check.certificate import certify_tables, verify_check
from hartley.studies.release.specification import Specification
from hartley.tables.opening import open_table
from hartley.tables.view import evaluate_condition
from hartley.trusted.ledger.rows import Head, terms_of
from hartley.trusted.pricing.conditional_price import RULES

if TYPE_CHECKING:
    from pathlib import Path

SLOW_AT_FIRST = {
    "microaggregate": ("--columns", "age,height"),
    "anonymize": ("--keys", "age,sex"),
}
"""Commands whose kernels are compiled when they are first used on a machine."""


class Said(Exception):  # noqa: N818 - what it is
    """The sentence that a command ended with."""


class Unsaid(Exception):  # noqa: N818 - what it is
    """A command ended with something else than a result or one sentence."""


@dataclass
class Stage:
    """A folder with everything valid that a reader needs beside the changed document."""

    folder: Path
    documents: dict[str, tuple[str, ...]]
    table: object = None
    files: dict[str, str] = field(default_factory=dict)
    columns: dict[str, list[object]] = field(default_factory=dict)


def prepare(folder: Path) -> Stage:
    """Make the stage: a table, policies with certificates, a ledger, its export and its head."""
    os.environ["HARTLEY_DEBUG"] = "1"  # what is no sentence shall be seen
    os.environ["COLUMNS"] = "100"
    for name, text in {"people.csv": valid.TABLE, "schema.toml": valid.ASKED}.items():
        (folder / name).write_text(text)
    certificates = []
    for number, text in enumerate(valid.POLICIES):
        policy = folder / f"policy{number}.toml"
        policy.write_text(text)
        certificates.append(certify(PolicyDocument.load(policy)).bind(policy).to_json())
    agent = hartley.Agent(
        str(folder / "people.csv"), folder / "schema.toml", budget=12, ledger=folder / "ledger.db"
    )
    with agent:
        agent.ask("SELECT AVG(age) FROM people", bits=1)
        recorded = agent.ledger.state("people").schema
        agent.ledger.export(folder / "ledger.jsonl")
        head = agent.ledger.save_head(folder / "head.json")
    documents = {
        "schema": valid.SCHEMAS,
        "recorded": (recorded,),
        "design": valid.DESIGNS,
        "policy": valid.POLICIES,
        "certificate": tuple(certificates),
        "export": ((folder / "ledger.jsonl").read_text(),),
        "head": (head.to_json(),),
        "hierarchy": valid.HIERARCHIES,
        "roles": valid.ROLES,
        "matrix": valid.MATRICES,
        "covariance": valid.COVARIANCES,
        "condition": valid.CONDITIONS,
        "query": valid.QUERIES,
        "question": valid.QUESTIONS,
        "workload": valid.WORKLOADS,
        "number": valid.NUMBERS,
        "table": (valid.TABLE,),
        "output": valid.OUTPUTS,
        "description": valid.DESCRIPTIONS,
        "manifest": valid.MANIFESTS,
        "proofs": (_proofs(folder),),
    }
    for name, words in SLOW_AT_FIRST.items():
        command(name, folder / "people.csv", *words, "-k", 2, "-o", folder / "out.csv")
    (folder / "design.toml").write_text(valid.DESIGNS[2])
    table = open_table(str(folder / "people.csv"))
    columns = table.expression.to_pyarrow().to_pydict()
    return Stage(folder, documents, table, columns=columns)


def _proofs(folder: Path) -> str:
    """Check an output, and return the certificate of it."""
    output = folder / "output.csv"
    output.write_text(valid.OUTPUTS[0])
    return certify_tables(hartley.check(output)).to_json()


TEXT_NOTE = "Text, since 0.2; for JSON: --json or HARTLEY_OUTPUT=json\n"


def command(*words: object) -> None:
    """Run a command in this process; raise what it said, and whether that was a sentence."""
    errors, shown = io.StringIO(), io.StringIO()
    force = ("--force",) if "-o" in words else ()  # what an earlier run wrote is replaced
    before, sys.argv = sys.argv, ["hartley", *map(str, words), *force]
    try:
        with redirect_stdout(shown), redirect_stderr(errors):
            main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv = before
    text = errors.getvalue().removeprefix(TEXT_NOTE)
    if code == 0 or (code == 2 and "Usage: hartley" in text and "Invalid value" in text):
        return
    if words[:2] == ("ledger", "verify") and code == 1 and not text and shown.getvalue():
        return  # a ledger that does not hold is what was asked about
    sentence, _, place = text.removeprefix("Error: ").partition("\n")
    if code not in (1, 2) or not text.startswith("Error: "):
        raise Unsaid(f"exit code {code}: {text[:2000]}")
    if place and (place.count("\n") > 2 or max(map(len, place.split("\n"))) > 200):
        raise Unsaid(f"more than a sentence and a place: {text[:2000]}")
    raise Said(sentence)


# --- readers ------------------------------------------------------------------------------------


def _file(stage: Stage, name: str, document: bytes) -> Path:
    path = stage.folder / name
    path.write_bytes(document)
    return path


def _word(document: bytes) -> str:
    """Return what a shell would pass on: no word holds a zero byte."""
    return document.replace(b"\0", b"").decode("utf-8", "surrogateescape")


def _schema(document, stage, luck):
    path = _file(stage, "changed.schema.toml", document)
    (
        lambda: Schema.read(path).to_toml(),
        lambda: command("schema", "check", path, "--table", stage.folder / "people.csv"),
        lambda: command("schema", "describe", path, "--text"),
        lambda: command("schema", "dummy", path, stage.folder / "dummy.csv", "--rows", 5),
        lambda: price("SELECT COUNT(*) FROM people WHERE age > 30", path, rows=10),
    )[luck.randrange(5)]()


def _recorded(document, stage, _luck):
    text = document.decode("utf-8", "surrogateescape")
    terms_of(text)
    with open_ledger(stage.folder / "ledger.db", create=False) as ledger:
        reprice(text, ledger.history("people")[0].questions, RULES)


def _design(document, stage, luck):
    path = _file(stage, "changed.design.toml", document)
    (
        lambda: Specification.load(path),
        lambda: command("design", path, "--text", "-o", stage.folder / "designed.toml"),
        lambda: hartley.design(path),
    )[luck.randrange(3)]()


def _policy(document, stage, luck):
    path = _file(stage, "changed.policy.toml", document)
    people, out = stage.folder / "people.csv", stage.folder / "out.csv"
    (
        lambda: certify(PolicyDocument.load(path)),
        lambda: command("release", people, path, "-o", out, "--text"),
        lambda: command("estimate", people, path, "--text"),
        lambda: command("pram", people, "--policy", path, "-o", out, "--text"),
    )[luck.choice((0, 0, 1, 1, 2, 3))]()


def _certificate(document, stage, luck):
    path = _file(stage, "changed.json", document)
    policy = stage.folder / f"policy{luck.randrange(len(valid.POLICIES))}.toml"
    if luck.random() < 0.5:
        Certificate.load(path).check(policy)
    else:
        command("verify", policy, path, "--text")


def _export(document, stage, luck):
    path = _file(stage, "changed.jsonl", document)
    target = stage.folder / "restored.db"
    try:
        if luck.random() < 0.5:
            with open_ledger(target) as ledger:
                ledger.restore(path)
                ledger.verify(reprice)
                transcripts_of(ledger)
        else:
            command("ledger", "restore", path, target, "--text")
    finally:
        for name in stage.folder.glob("restored.db*"):
            name.unlink()


def _head(document, stage, luck):
    path = _file(stage, "changed.head", document)
    option = luck.choice(("--head", "--from"))
    if luck.random() < 0.5:
        Head.from_json(document.decode("utf-8", "surrogateescape"))
    else:
        command("ledger", "verify", stage.folder / "ledger.db", option, path, "--text")


def _hierarchy(document, stage, luck):
    path = _file(stage, "changed.csv", document)
    column = luck.choice(("region", "region", "age", "seen", "height"))
    people, out = stage.folder / "people.csv", stage.folder / "out.csv"
    (
        lambda: read_hierarchy(path, column, stage.table),
        lambda: command(
            "anonymize", people, "--keys", f"{column},sex", "--hierarchy", f"{column}={path}",
            "-k", 2, "-o", out, "--text",
        ),
    )[luck.randrange(2)]()  # fmt: skip


def _roles(document, stage, luck):
    path = _file(stage, "changed.roles.toml", document)
    people, out = stage.folder / "people.csv", stage.folder / "out.csv"
    (
        lambda: Roles.read(path),
        lambda: command("anonymity", people, "--roles", path, "--text"),
        lambda: command("anonymize", people, "--roles", path, "-k", 2, "-o", out, "--text"),
        lambda: command("schema", "draft", people, "--roles", path),
    )[luck.choice((0, 0, 0, 1, 2, 3))]()


def _matrix(document, stage, luck):
    path = _file(stage, "changed.matrix.csv", document)
    column = luck.choice(("sex", "sex", "age", "height"))
    people, out = stage.folder / "people.csv", stage.folder / "out.csv"
    command("pram", people, "--column", column, "--matrix", path, "-o", out, "--text")


def _covariance(document, stage, luck):
    path = _file(stage, "changed.covariance.csv", document)
    people, out = stage.folder / "people.csv", stage.folder / "out.csv"
    words = ("--covariance", path, "--key", "height", "--confidential", "age", "--text")
    (
        lambda: command("gaussian", *words, "--share", "0.5"),
        lambda: command("gaussian", people, *words, "--distortion", 9, "-o", out),
        lambda: command("gaussian", *words, "--share", "0.25", "--standardise", "--entropy", 4),
    )[luck.randrange(3)]()


def _condition(document, stage, luck):
    text = _word(document)
    sides = ("--secret", "age,sex,region", "--released", "height")
    people = stage.folder / "people.csv"
    (
        lambda: evaluate_condition(document.decode("utf-8", "surrogateescape"), stage.columns),
        lambda: command("audit", people, *sides, "--hypothesis", text, "--text"),
        lambda: command("attack", "hypothesis", people, *sides, "--hypothesis", text, "--json"),
    )[luck.choice((0, 0, 0, 1, 2))]()


def _query(document, _stage, luck):
    text = document.decode("utf-8", "surrogateescape")
    ranges = {"age": {"range": [0, 100]}, "height": {"range": [100, 250]}}
    query = {"objective": "maximin", "query": text, "error": 50, "columns": ranges}
    line = {"objective": "hypothesis", "hypothesis": text, "error": 5, "columns": ranges}
    (
        lambda: str(parse_query(text)),
        lambda: str(Threshold.parse(text).line),
        lambda: Hypothesis.parse(text).names,
        lambda: Specification.read(query),
        lambda: Specification.read(line),
    )[luck.randrange(5)]()


def _question(document, stage, luck):
    text = document.decode("utf-8", "surrogateescape")
    schema, ledger = stage.folder / "schema.toml", stage.folder / "ledger.db"
    words = luck.choice((("--bits", 1), ("--error", "0.5"), ("--explain",), ()))
    (
        lambda: price(text, schema, rows=6, error=luck.choice((None, 1, "0.5"))),
        lambda: command("price", _word(document), "--schema", schema, "--rows", 6, *words),
        lambda: command("ask", _word(document), "--schema", schema, "--ledger", ledger, "--text"),
    )[luck.choice((0, 0, 1, 2))]()


def _workload(document, stage, luck):
    path = _file(stage, "changed.sql", document)
    schema, ledger = stage.folder / "schema.toml", stage.folder / "ledger.db"
    (
        lambda: hartley.read_workload(path),
        lambda: hartley.plan(path, schema, rows=6, budget=luck.choice((None, 3))),
        lambda: command("plan", path, "--schema", schema, "--rows", 6, "--budget", 3, "--text"),
        lambda: command("price", "--file", path, "--schema", schema, "--ledger", ledger, "--json"),
    )[luck.randrange(4)]()


def _number(document, stage, luck):
    text = _word(document)
    people, schema = stage.folder / "people.csv", stage.folder / "schema.toml"
    out, question = stage.folder / "out.csv", "SELECT AVG(age) FROM people"
    audit = ("audit", people, "--secret", "sex", "--released", "age", "--text")
    (
        lambda: parse_number(text, name="the number"),
        lambda: parse_step(text, column="age"),
        lambda: floor_power(text),
        lambda: command(*audit, "--bins", f"age={text}"),
        lambda: command(*audit, "--bins", text),
        lambda: command(*audit, "--missing", text),
        lambda: command(*audit, "--null", text),
        lambda: command(*audit, "--names", text),
        lambda: command(*audit, "--sweep", f"age={text}"),
        lambda: command(*audit, "--memory-limit", text),
        lambda: command("price", question, "--schema", schema, "--rows", 6, "--error", text),
        lambda: command("price", question, "--schema", schema, "--rows", text),
        lambda: command("price", question, "--schema", schema, "--rows", 6, f"--bits={text}"),
        lambda: command(
            "anonymize", people, "--keys", "age", "--bins", f"age={text}", "-k", 2, "-o", out
        ),
        lambda: command(
            "anonymize", people, "--keys", "sex", "-k", 2, "--suppress", text, "-o", out
        ),
        lambda: command("pram", people, "--column", "sex", f"--retain={text}", "-o", out),
        lambda: command("microaggregate", people, "--columns", "age", "-k", text, "-o", out),
        lambda: command(
            "attack", "homogeneity", people, "--keys", "sex", "--confidential", "age",
            "--near", f"age={text}",
        ),
        lambda: command("tradeoff", stage.folder / "design.toml", f"--errors={text}"),
    )[luck.randrange(19)]()  # fmt: skip


def _table(document, stage, luck):
    path = _file(stage, "changed.table.csv", document)
    schema, out = stage.folder / "schema.toml", stage.folder / "out.csv"
    columns = luck.choice(
        (("sex", "age"), ("region", "sex,age"), ("ROW", "seen"), ("age", "height"))
    )
    (
        lambda: command("audit", path, "--secret", columns[0], "--released", columns[1], "--text"),
        lambda: command("audit", path, "--secret", "sex", "--released", "age", "--bins", "age=10"),
        lambda: command("schema", "draft", path, "--text"),
        lambda: command("schema", "check", schema, "--table", path, "--text"),
        lambda: command("release", path, stage.folder / "policy1.toml", "-o", out, "--text"),
        lambda: command("release", path, stage.folder / "policy3.toml", "-o", out, "--text"),
        lambda: command("anonymize", path, "--keys", "age,sex", "-k", 2, "-o", out, "--text"),
        lambda: command(
            "anonymity", path, "--keys", "age,sex", "--confidential", "region", "--text"
        ),
        lambda: command("pram", path, "--column", "sex", "--retain", "0.8", "-o", out, "--text"),
        lambda: command("microaggregate", path, "--columns", "age,height", "-k", 2, "-o", out),
        lambda: command(
            "gaussian", path, "--key", "age", "--confidential", "height", "--share", "0.5",
            "--missing", "drop", "-o", out,
        ),
    )[luck.randrange(11)]()  # fmt: skip


def _output(document, stage, luck):
    path = _file(stage, luck.choice(("changed.csv", "changed.json", "changed.xlsx")), document)
    rounding = luck.choice((None, "nearest 3"))
    (
        lambda: hartley.check(path, rounding=rounding),
        lambda: command("check", path, "--rule", "homogeneous", "--fail-on", "never", "--text"),
    )[luck.randrange(2)]()


def _description(document, stage, _luck):
    hartley.check(stage.folder / "output.csv", spec=_file(stage, "changed.outputs.toml", document))


def _manifest(document, stage, _luck):
    (stage.folder / "target").mkdir(exist_ok=True)
    path = _file(stage, "target/manifest.json", document)
    command("check", "--dbt", path, "--fail-on", "never", "--text")


def _proof(document, stage, luck):
    path = _file(stage, "changed.proofs.json", document)
    if luck.random() < 0.5:
        verify_check([stage.folder / "output.csv"], path)
    else:
        command("verify", stage.folder / "output.csv", path, "--text")


READERS = {
    "schema": _schema,
    "recorded": _recorded,
    "design": _design,
    "policy": _policy,
    "certificate": _certificate,
    "export": _export,
    "head": _head,
    "hierarchy": _hierarchy,
    "roles": _roles,
    "matrix": _matrix,
    "covariance": _covariance,
    "condition": _condition,
    "query": _query,
    "question": _question,
    "workload": _workload,
    "number": _number,
    "table": _table,
    "output": _output,
    "description": _description,
    "manifest": _manifest,
    "proofs": _proof,
}
