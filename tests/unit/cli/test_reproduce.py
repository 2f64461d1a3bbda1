"""The command ``hartley reproduce``, as somebody runs it."""

import json

import pytest

import command_line


def run(*words, cwd="."):
    return command_line.run("reproduce", *words, cwd=cwd)


@pytest.mark.slow
def test_a_figure_as_json_names_its_files(tmp_path):
    found = run("d/7", "--out", tmp_path / "new" / "figures", "--json")
    assert (found.returncode, found.stderr) == (0, "")
    content = json.loads(found.stdout)
    (figure,) = content["figures"]
    assert (figure["figure"], figure["data"], figure["problem"]) == ("D/7", None, None)
    assert all(one["holds"] for one in figure["findings"])
    assert content["gallery"] is None
    for name in figure["files"]:
        assert (tmp_path / "new" / "figures" / name).stat().st_size > 100


@pytest.mark.slow
def test_a_figure_in_text_says_what_holds(tmp_path):
    found = run("C/1", "--text", cwd=tmp_path)
    assert found.returncode == 0
    assert found.stdout.count("✓") == 4
    assert "Folder: figures" in found.stdout
    assert (tmp_path / "figures" / "c-figure-1.csv").is_file()


@pytest.mark.slow
def test_figures_whose_data_are_missing_say_so_and_the_others_are_written(tmp_path):
    (tmp_path / "data").mkdir()
    found = run("C", "--data", tmp_path / "data", "--out", tmp_path, "--text")
    assert found.returncode == 2
    assert found.stdout.count("Not drawn:") == 3
    assert "heart disease" in found.stdout
    assert "Figures C/2, C/3, C/4 could not be drawn; hint: " in found.stderr
    assert (tmp_path / "c-figure-1.png").is_file()
    assert not (tmp_path / "c-figure-2.png").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("Z/9",), "There is no figure 'Z/9'; hint: there are A/1, 2, 3"),
        (("A/1", "--data", "nowhere"), "There is no file or folder nowhere"),
        (("A/1", "--out", __file__), "cannot be created"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(words, told, tmp_path):
    found = run(*words, cwd=tmp_path)
    assert found.returncode == 2
    assert told in found.stderr
    assert found.stderr.count("\n") == 1
    assert not found.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_terminal_shows_a_progress_bar(tmp_path, in_terminal):
    code, seen = in_terminal("reproduce", "D/7", "--out", tmp_path)
    assert code == 0
    assert "Drawing figures" in seen
    assert "Levels of a quantizer" in seen
