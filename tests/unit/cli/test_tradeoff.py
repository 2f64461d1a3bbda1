"""The command ``hartley tradeoff``, as somebody runs it."""

import json

import pytest

import command_line

SPEC = """
objective = "maximin"
query = "mean(height)"
error = 0.5
people = 20
[columns.height]
range = [100, 250]
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "height.design.toml"
    path.write_text(SPEC)
    return path


def run(*words):
    return command_line.run("tradeoff", *words)


@pytest.mark.slow
def test_a_curve_as_json_writes_what_is_asked_for(spec, tmp_path):
    files = {name: tmp_path / f"curve.{name}" for name in ("html", "csv", "png")}
    found = run(
        *(spec, "--errors", "1:10:3", "--html", files["html"], "--csv", files["csv"]),
        *("--plot", files["png"], "--json"),
    )
    assert (found.returncode, found.stderr) == (0, "")
    content = json.loads(found.stdout)
    assert [point["error"] for point in content["points"]] == [10.0, 3.16, 1.0, 0.5]
    assert content["files"] == {
        "picture": str(files["png"]),
        "table": str(files["csv"]),
        "page": str(files["html"]),
    }
    assert content["headline"] in files["html"].read_text()
    assert files["csv"].read_text().count("\n") == 5
    assert files["png"].read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_curve_in_a_terminal_is_a_table_with_a_progress_bar(spec, in_terminal):
    code, text = in_terminal("tradeoff", spec, "--errors", "1:10:3")
    assert code == 0
    assert "Measuring points" in text
    assert "150 equal cells" in text
    assert "least L₀" in text
