"""Code blocks in the README and the docs run, and show what really comes out."""

import doctest
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import hartley
from command_line import run
from hartley.policies.document import PolicyDocument
from hartley.studies.release.specification import Specification

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, kind: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text()) if found == kind]


def having(kind: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, kind)]


@pytest.mark.slow
@pytest.mark.parametrize("page", having("python"), ids=lambda page: page.stem)
def test_python_blocks_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "page"}
    for text in blocks(page, "python"):
        exec(compile(text, page.name, "exec"), space)  # noqa: S102 - the project's own pages


@pytest.mark.slow
@pytest.mark.parametrize("page", having("console"), ids=lambda page: page.stem)
def test_console_blocks_of_a_page_show_what_comes_out(page, tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for text in blocks(page, "console"):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            words = shlex.split(command)
            assert words[0] == "hartley"
            ran = run(*words[1:], cwd=tmp_path)
            assert ran.returncode == 0, ran.stderr
            squeezed, wanted = (re.sub(r"[ \t]+", " ", t) for t in (ran.stdout, expected))
            matches = doctest.OutputChecker().check_output(wanted, squeezed, doctest.ELLIPSIS)
            assert matches, f"{command}\n{ran.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_of_a_kind_that_is_checked(page):
    assert {kind for kind, _ in BLOCK.findall(page.read_text())} <= {
        "python",
        "console",
        "sh",
        "text",
        "toml",
    }


@pytest.mark.parametrize("page", having("toml"), ids=lambda page: page.stem)
def test_designs_on_a_page_can_be_read_and_policies_too(page):
    for text in blocks(page, "toml"):
        if "format" in tomllib.loads(text):
            PolicyDocument.from_toml(text)
        else:
            Specification.read(tomllib.loads(text))


def test_make_knows_the_targets_that_the_readme_names():
    for target in re.findall(r"make (\w+)", "".join(blocks(ROOT / "README.md", "sh"))):
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_the_first_picture_of_the_readme_comes_before_any_symbol_and_shows_current_numbers():
    before, _, rest = (ROOT / "README.md").read_text().partition("![")
    # Plain words: no formula, no letter of another alphabet.
    assert re.fullmatch(r"[\w\s.,:;*#'()-]+", before, re.ASCII), before
    words, _, target = re.match(r"(.*?)\](\()(.*?)\)", rest, re.DOTALL).groups()
    assert (ROOT / target).is_file()
    people = hartley.people().to_pydict()
    assert f"{len(people['age']):,} synthetic people" in words
    for step, numbers in ((1, ("2", "92", "1,292", "4,610")), (10, ("1", "3", "51", "2,867"))):
        ages = [age // step for age in people["age"]]
        for added, number in zip(("sex", "region", "job", "height"), numbers, strict=True):
            columns = ("sex", "region", "job", "height")
            shown = columns[: columns.index(added) + 1]
            groups = Counter(zip(ages, *(people[name] for name in shown), strict=True))
            assert f"{sum(size == 1 for size in groups.values()):,}" == number
            assert re.search(rf"\b{number}\b", words)


@pytest.mark.slow
def test_the_picture_of_the_readme_is_what_its_script_draws(tmp_path):
    path = tmp_path / "alone.svg"
    subprocess.run([sys.executable, ROOT / "examples" / "picture.py", path], check=True)
    # Ids and coordinates may differ with the version of matplotlib, what is written does not.
    drawn, stored = (
        re.findall(r"<text[^>]*>([^<]+)", text.read_text())
        for text in (path, ROOT / "docs" / "pictures" / "alone.svg")
    )
    assert drawn == stored
    assert "age in years" in drawn
