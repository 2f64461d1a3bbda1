"""The commands hartley pram and hartley estimate."""

import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hartley.cli.main import app
from hartley.datasets.people import people
from hartley.errors import CertificateError, InputError, OptionError
from hartley.guarantees.verify import certify
from hartley.policies.document import PolicyDocument


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(people(rows=2000), path)
    return path


def run(*words):
    more = ["--force"] if words[0] in {"pram", "release"} else []  # tests write a file twice
    result = CliRunner().invoke(app, [*(str(word) for word in words), *more])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


@pytest.mark.slow
def test_a_column_is_perturbed_certified_verified_and_estimated(table, tmp_path):
    files = {name: tmp_path / name for name in ("out.parquet", "p.toml", "c.json", "page.html")}
    out, policy, certificate, page = files.values()
    common = ("--column", "region", "--column", "sex", "--retain", "0.8", "--seed", 3)
    written = ("-o", out, "--policy-out", policy, "--certificate", certificate, "--html", page)
    told = json.loads(run("pram", table, *common, *written, "--invariant", "--json"))
    assert told["files"]["policy"] == str(policy)
    assert told["promise"]["kind"] == "stochastic maximal leakage"
    assert [column["columns"] for column in told["columns"]] == [["region"], ["sex"]]
    assert [pram.name for pram in PolicyDocument.load(policy).prams] == ["region", "sex"]
    assert "Do not publish it" in page.read_text()
    assert "holds for the policy" in run("verify", policy, certificate, "--text")
    found = json.loads(run("estimate", out, policy, "--json"))["estimates"]
    assert found[1]["shares"] == told["columns"][1]["estimate"]["shares"]
    assert "standard error" in run("estimate", out, policy, "--joint", "--project", "--text")
    again = tmp_path / "again.parquet"
    run("pram", table, "--policy", policy, "--seed", 3, "-o", again)
    assert pq.read_table(again) == pq.read_table(out)
    assert "Drawn at random" in run("release", table, policy, "-o", again, "--text")


@pytest.mark.slow
def test_the_best_rules_and_matrices_of_files_are_taken(table, tmp_path):
    out = tmp_path / "out.csv"
    best = ("--column", "job", "--confidential", "diagnosis", "--distortion", "0.4")
    text = run("pram", table, *best, "-o", out, "--text", "--estimate")
    assert "certified" in text
    assert "About diagnosis the release tells" in text
    assert "least maximal leakage" in run(
        *("pram", table, "--column", "job", "--distortion", "0.4", "-o", out, "--details")
    )
    (tmp_path / "matrix.csv").write_text(",F,M\nF,0.9,0.1\nM,0.1,0.9\n")
    swap = ("--column", "sex", "--matrix", tmp_path / "matrix.csv", "--keep", "age")
    text = run("pram", table, *swap, "-o", out, "--text", "--estimate")
    assert "0.848 bits of stochastic maximal leakage" in text
    assert "± standard error" in text
    assert out.read_text().startswith('"sex","age"')


def test_what_is_kept_as_it_is_cannot_be_certified_and_nothing_is_written(table, tmp_path):
    files = {name: tmp_path / name for name in ("out.parquet", "p.toml", "c.json")}
    out, policy, certificate = files.values()
    words = ("pram", table, "--column", "region", "--retain", "0.8", "--keep", "age", "-o", out)
    written = ("--policy-out", policy, "--certificate", certificate)
    with pytest.raises(CertificateError, match="age can take any value and is released as it is"):
        run(*words, *written)
    assert list(tmp_path.iterdir()) == []
    told = json.loads(run(*words, "--policy-out", policy, "--json"))
    assert told["singled_out"]["columns"][0]["column"] == "age"
    # A certificate of such a policy, however it was made, is refused with the reason.
    certify(PolicyDocument.load(policy)).bind(policy).save(certificate)
    with pytest.raises(
        CertificateError, match=r"nothing to rely on: nothing is promised.*: age can"
    ):
        run("verify", policy, certificate)


def test_a_table_that_the_policy_does_not_fit_is_said_to_be_none_of_it(table, tmp_path):
    policy, out = tmp_path / "p.toml", tmp_path / "out.parquet"
    run(
        "pram", table, "--column", "diagnosis", "--retain", "0.5", "--policy-out", policy, "-o", out
    )
    (fits,) = json.loads(run("estimate", out, policy, "--json"))["estimates"]
    assert fits["fits"]
    assert "does not fit" not in run("estimate", out, policy, "--text")
    (told,) = json.loads(run("estimate", table, policy, "--json"))["estimates"]
    assert not told["fits"]
    assert told["standard_errors_outside"] > 5
    text = " ".join(run("estimate", table, policy, "--project", "--text").split())
    assert "The table does not fit the policy" in text


def test_what_no_certificate_covers_leaves_no_release(table, tmp_path):
    policy, out, certificate = (tmp_path / name for name in ("p.toml", "out.csv", "c.json"))
    policy.write_text(
        """format = 1

[[columns]]
name = "sex"
kind = "pram"
values = ["F", "M"]
matrix = [["0.9", "0.1"], ["0.1", "0.9"]]

[[columns]]
name = "age"
kind = "blur"
line = "50"
reach = "5"
low = "0"
high = "120"
"""
    )
    with pytest.raises(InputError, match="no one certificate covers"):
        run("pram", table, "--policy", policy, "-o", out, "--certificate", certificate)
    assert list(tmp_path.iterdir()) == [policy]


@pytest.mark.slow
def test_estimates_can_be_released_by_the_command(table, tmp_path):
    out, page = tmp_path / "out.csv", tmp_path / "page.html"
    words = ("pram", table, "--column", "age", "--retain", "0.7", "--distance", "squared")
    told = json.loads(run(*words, "--reconstruct", "-o", out, "--html", page, "--json"))
    (step,) = told["reconstruction"]
    assert step["distortion"] < step["distortion_before"]
    assert "distortion falls from" in page.read_text()
    with pytest.raises(OptionError, match="No certificate covers"):
        run(*words, "--reconstruct", "-o", out, "--policy-out", tmp_path / "p.toml",
            "--certificate", tmp_path / "c.json")  # fmt: skip
