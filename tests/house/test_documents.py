"""Code blocks in the README and the docs run, and show what really comes out."""

import doctest
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, kind: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text()) if found == kind]


def having(kind: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, kind)]


@pytest.mark.parametrize("page", having("python"), ids=lambda page: page.stem)
def test_python_blocks_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "page"}
    for text in blocks(page, "python"):
        exec(compile(text, page.name, "exec"), space)  # noqa: S102 - the project's own pages


@pytest.mark.parametrize("page", having("console"), ids=lambda page: page.stem)
def test_console_blocks_of_a_page_show_what_comes_out(page, tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for text in blocks(page, "console"):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            words = shlex.split(command)
            assert words[0] == "hartley"
            found = subprocess.run(
                [sys.executable, "-m", "hartley.cli", *words[1:]],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert found.returncode == 0, found.stderr
            squeezed, wanted = (re.sub(r"[ \t]+", " ", t) for t in (found.stdout, expected))
            matches = doctest.OutputChecker().check_output(wanted, squeezed, doctest.ELLIPSIS)
            assert matches, f"{command}\n{found.stdout}"


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
    }


def test_make_knows_the_targets_that_the_readme_names():
    for target in re.findall(r"make (\w+)", "".join(blocks(ROOT / "README.md", "sh"))):
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)
