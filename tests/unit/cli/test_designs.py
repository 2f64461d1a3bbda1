"""From a design to a release and back, through the command line."""

import json
import os
import shutil
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

import hartley
from command_line import run, run_process
from hartley.cli import main

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("designs")
    assert run("sample", folder / "people.parquet").returncode == 0
    shutil.copytree(EXAMPLES, folder / "examples")
    return folder


def call(monkeypatch, capsys, *words):
    """Run a command in this process, and return its exit code and what it printed."""
    monkeypatch.setattr(sys, "argv", ["hartley", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    shown = capsys.readouterr()
    return stop.value.code, shown.out, shown.err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["height", "bmi", "people"])
def test_an_example_is_designed_released_and_verified(folder, name, monkeypatch, capsys):
    policy, certificate, page = (folder / f"{name}.{end}" for end in ("toml", "json", "html"))
    spec = folder / "examples" / f"{name}.design.toml"
    code, out, err = call(
        monkeypatch, capsys, "design", spec, "-o", policy, "--html", page, "--json"
    )
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["files"] == {"policy": str(policy), "html": str(page)}
    assert found["policy"] == policy.read_text()
    assert found["headline"] in page.read_text().replace("\xa0", " ").replace("&gt;", ">")
    released = folder / f"{name}.out.parquet"
    words = ("release", folder / "people.parquet", policy, "-o", released)
    code, out, err = call(monkeypatch, capsys, *words, "--certificate", certificate, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["promise"]["sound"]
    code, out, err = call(monkeypatch, capsys, "verify", policy, certificate, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["holds"]
    assert released.exists()


@pytest.mark.slow
def test_the_mean_height_is_one_row_within_half_a_centimetre(folder):
    policy, out = folder / "mean.toml", folder / "mean.parquet"
    run("design", folder / "examples" / "height.design.toml", "-o", policy)
    assert run("release", folder / "people.parquet", policy, "-o", out).returncode == 0
    (row,) = pyarrow.parquet.read_table(out).to_pylist()
    heights = hartley.people().column("height").to_pylist()
    assert abs(row["height"] - sum(heights) / len(heights)) <= 0.5


@pytest.mark.slow
def test_weights_near_obesity_are_moved_by_five_at_most(folder):
    policy, out = folder / "moved.toml", folder / "moved.parquet"
    run("design", folder / "examples" / "bmi.design.toml", "-o", policy)
    assert run("release", folder / "people.parquet", policy, "-o", out).returncode == 0
    released = pyarrow.parquet.read_table(out).to_pylist()
    moved = 0
    for row, truth in zip(released, hartley.people().to_pylist(), strict=True):
        line = 30 * (truth["height"] / 100) ** 2
        if abs(truth["weight"] - line) <= 5:
            moved += row["weight"] != truth["weight"]
            assert abs(row["weight"] - truth["weight"]) <= 5 + 1e-9
        else:
            assert row["weight"] == truth["weight"]
    assert moved > 100


@pytest.mark.slow
def test_a_terminal_gets_text_and_a_progress_bar(folder, in_terminal):
    policy = folder / "shown.toml"
    spec = folder / "examples" / "people.design.toml"
    code, screen = in_terminal("design", spec, "-o", policy, "--certificate", folder / "shown.json")
    assert code == 0
    assert "A record is released as one of 16 combinations" in screen
    assert "It assumes that" not in " ".join(screen.split())
    code, verified = in_terminal("verify", policy, folder / "shown.json", "--details")
    assert code == 0
    assert "It assumes that" in " ".join(verified.split())
    out = folder / "shown.parquet"
    code, screen = in_terminal("release", folder / "people.parquet", policy, "-o", out)
    assert code == 0
    assert "Releasing rows" in screen
    assert "5,000 rows of people.parquet with 3 columns were released" in screen


# --- mistakes -------------------------------------------------------------------------------------


SPEC = 'objective = "maximin"\nquery = "mean(height)"\nerror = 0.5\npeople = 5000\n'
RANGE = "[columns.height]\nrange = [100, 250]\n"


# --- certificates ---------------------------------------------------------------------------------


@pytest.fixture
def certified(folder, tmp_path, monkeypatch, capsys):
    policy, certificate = tmp_path / "policy.toml", tmp_path / "certificate.json"
    spec = folder / "examples" / "people.design.toml"
    words = ("design", spec, "-o", policy, "--certificate", certificate)
    assert call(monkeypatch, capsys, *words)[0] == 0
    return policy, certificate


def test_a_certificate_does_not_hold_after_one_byte_of_the_policy_changed(
    certified, monkeypatch, capsys
):
    policy, certificate = certified
    text = policy.read_text()
    policy.write_text(text.replace("# What", "# what", 1))
    code, out, err = call(monkeypatch, capsys, "verify", policy, certificate)
    assert (code, out) == (2, "")
    assert "another policy file" in err


def test_a_certificate_does_not_hold_after_its_number_changed(certified, monkeypatch, capsys):
    policy, certificate = certified
    content = json.loads(certificate.read_text())
    content["value"] = 1.0
    certificate.write_text(json.dumps(content))
    code, _, err = call(monkeypatch, capsys, "verify", policy, certificate)
    assert code == 2
    assert "; hint: " in err


def test_a_policy_that_breaks_its_promise_is_not_verified(tmp_path, monkeypatch, capsys):
    spec, policy, certificate = (tmp_path / name for name in ("d.toml", "p.toml", "c.json"))
    spec.write_text(
        'objective = "bits"\nbits = 1\nquery = "mean(x)"\npeople = 2\nrule = "printed"\n'
        "[columns.x]\nrange = [0, 1]\n"
    )
    words = ("design", spec, "-o", policy, "--certificate", certificate)
    code, out, _ = call(monkeypatch, capsys, *words, "--json")
    assert code == 0
    assert json.loads(out)["sound"] is False
    code, _, err = call(monkeypatch, capsys, "verify", policy, certificate)
    assert code == 2
    assert "does not keep what was asked for" in err


def test_no_certificate_is_given_where_missing_values_would_break_it(
    certified, tmp_path, monkeypatch, capsys
):
    policy, _ = certified
    table, out, certificate = (tmp_path / name for name in ("t.csv", "o.csv", "new.json"))
    table.write_text("age,sex,region\n30,F,north\n,M,south\n")
    words = ("release", table, policy, "-o", out)
    code, _, err = call(monkeypatch, capsys, *words, "--certificate", certificate)
    assert code == 2
    assert "1 value of 'age' is missing, which the promise of the policy does not allow for" in err
    assert not out.exists()
    assert not certificate.exists()
    code, _, err = call(monkeypatch, capsys, *words, "--strict")
    assert code == 2
    assert not out.exists()
    code, _, err = call(monkeypatch, capsys, *words)  # whether or not a certificate is wanted
    assert code == 2
    assert "which the promise of the policy does not allow for" in err
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["180"] * 4, "holds 4 values of 'height', but the policy promises mean(height) over 5"),
        (["180"] * 6, "holds 6 values of 'height', but the policy promises mean(height) over 5"),
        (["180"] * 5 + [""], "1 value of 'mean(height)' is missing"),
    ],
)
def test_an_answer_is_released_for_its_people_alone(tmp_path, monkeypatch, capsys, rows, expected):
    spec, policy, table, out, certificate = (
        tmp_path / name for name in ("d.toml", "p.toml", "t.csv", "o.csv", "c.json")
    )
    spec.write_text(SPEC.replace("5000", "5") + RANGE)
    assert call(monkeypatch, capsys, "design", spec, "-o", policy)[0] == 0
    table.write_text("height,name\n" + "".join(f"{row},a\n" for row in rows))
    plain = ("release", table, policy, "-o", out)
    words = (*plain, "--certificate", certificate)
    for refused in (words, plain):
        code, _, err = call(monkeypatch, capsys, *refused)
        assert code == 2
        assert expected in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.toml", "p.toml", "t.csv"]
    table.write_text("height,name\n" + "180,a\n" * 5)
    assert call(monkeypatch, capsys, *words)[0] == 0
    assert call(monkeypatch, capsys, "verify", policy, certificate)[0] == 0
    assert len(out.read_text().splitlines()) == 2


def test_values_outside_are_clamped_and_counted_or_refused(
    certified, tmp_path, monkeypatch, capsys
):
    policy, _ = certified
    table, out = tmp_path / "t.csv", tmp_path / "o.csv"
    table.write_text("age,sex,region\n30,F,north\n130,M,south\n")
    code, shown, _ = call(monkeypatch, capsys, "release", table, policy, "-o", out, "--json")
    assert code == 0
    assert json.loads(shown)["columns"][0]["above"] == 1
    out.unlink()
    code, _, err = call(monkeypatch, capsys, "release", table, policy, "-o", out, "--strict")
    assert code == 2
    assert "'age'" in err
    assert not out.exists()


def test_a_table_without_a_header_is_read_with_names(certified, tmp_path, monkeypatch, capsys):
    policy, _ = certified
    table, out = tmp_path / "t.csv", tmp_path / "o.csv"
    table.write_text("30,F,north\n?,M,south\n")
    words = ("release", table, policy, "-o", out, "--names", "age,sex,region", "--null", "?")
    code, _, err = call(monkeypatch, capsys, *words)
    assert code == 2
    assert (
        "1 value of 'age' is missing" in err
    )  # read as missing, which these bits leave no room for
    table.write_text("30,F,north\n?,M,south\n".replace("?", "40"))
    assert call(monkeypatch, capsys, *words)[0] == 0
    assert out.read_text().splitlines()[0] == '"age","sex","region"'


# --- interruptions --------------------------------------------------------------------------------


def test_an_interrupted_release_leaves_neither_a_table_nor_a_certificate(
    certified, folder, tmp_path, monkeypatch, capsys
):
    policy, _ = certified
    out, certificate = tmp_path / "o.parquet", tmp_path / "new.json"
    before = sorted(tmp_path.iterdir())

    replace = Path.replace

    def stop(self, target):
        if tmp_path in Path(target).parents:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", stop)  # the last step, when all rows are written
    words = ("release", folder / "people.parquet", policy, "-o", out, "--certificate", certificate)
    code, _, err = call(monkeypatch, capsys, *words)
    assert code == 130
    assert "nothing was left half-written" in err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_a_signal_while_rows_are_written_leaves_nothing(certified, folder, tmp_path):
    policy, _ = certified
    out, certificate = tmp_path / "o.csv", tmp_path / "new.json"
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "sitecustomize.py").write_text(
        "import os, signal\n"
        "import pyarrow.csv\n"
        "write = pyarrow.csv.CSVWriter\n"
        "class Writer:\n"
        "    def __init__(self, *words, **more):\n"
        "        self.inner = write(*words, **more)\n"
        "    def __getattr__(self, name):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        return getattr(self.inner, name)\n"
        "    def __enter__(self):\n"
        "        return self\n"
        "    def __exit__(self, *error):\n"
        "        self.inner.close()\n"
        "pyarrow.csv.CSVWriter = Writer\n"
    )
    before = sorted(tmp_path.iterdir())
    words = ("release", folder / "people.parquet", policy, "-o", out, "--certificate", certificate)
    path = os.pathsep.join([str(tmp_path / "start"), os.environ.get("PYTHONPATH", "")])
    found = run_process(*words, env=os.environ | {"PYTHONPATH": path})
    assert found.returncode == 130, found.stderr
    assert "Interrupted" in found.stderr
    assert sorted(tmp_path.iterdir()) == before
