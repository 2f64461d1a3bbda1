"""The paper's example of location-based services, as examples/location.py works it out."""

import importlib.util
import itertools
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow  # the rules of the example are solved for


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("location", ROOT / "examples" / "location.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["location"] = module  # where dataclasses look for their types
    spec.loader.exec_module(module)
    yield module
    del sys.modules["location"]


@pytest.fixture(scope="module")
def lines(example):
    return example.table()


def information(joint):
    """I(W;X) in bits, term by term."""
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    return sum(
        p * math.log2(p / rows[w] / columns[x]) for (w, x), p in np.ndenumerate(joint) if p > 0
    )


def test_the_law_is_one_and_everybody_asks_as_often(example):
    joint = example.where_people_are()
    assert joint.sum() == pytest.approx(1)
    assert joint.sum(axis=1) == pytest.approx(np.full(4, 0.25))


def test_without_noise_the_location_tells_what_it_tells(example, lines):
    joint = example.where_people_are()
    assert lines[0].bits == pytest.approx(information(joint))
    assert lines[0].guess == pytest.approx(joint.max(axis=0).sum())
    assert (lines[0].metres, lines[0].mean_metres, lines[0].seeing_metres) == (0, 0, 0)


def test_limits_are_kept_and_nearer_is_never_more_private(lines):
    limits = (0.75, 0.5, 0.25, 0.1, 0)
    for (before, after), share in zip(itertools.pairwise(lines), limits, strict=True):
        assert after.bits <= share * lines[0].bits + 1e-9
        assert after.metres > before.metres
        assert after.guess < before.guess
    assert lines[-1].guess == pytest.approx(0.25, abs=1e-4)


def test_means_and_rules_that_see_more_are_never_farther(lines):
    for line in lines[1:]:
        assert line.mean_metres < line.metres
        assert line.seeing_metres < line.metres
        assert 0.999 * line.metres <= line.least <= line.metres


def test_a_rule_of_ones_own_is_not_nearer_than_is_certified(example, lines):
    """Releasing the true cell with a probability, else the centre of the map."""
    joint = example.where_people_are()
    cells = np.array(example.CELLS, float)
    centre = example.CELLS.index(example.CENTRE)
    for keep in (0.9, 0.6, 0.3):
        rule = keep * np.eye(len(cells))
        rule[:, centre] += 1 - keep
        bits = information(joint @ rule)
        squares = np.square(cells[:, None] - cells[None, :]).sum(axis=2)
        metres = math.sqrt(float(joint.sum(axis=0) @ (rule * squares).sum(axis=1)))
        looser = max((line for line in lines if line.bits >= bits), key=lambda line: line.least)
        assert metres >= looser.least


@pytest.mark.slow
def test_the_printed_table_is_the_documented_one_and_the_picture_the_stored_one(
    example, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    example.main("location.svg")
    printed = capsys.readouterr().out.partition("\n\nNo rule")[0]
    assert printed in (ROOT / "docs" / "commands.md").read_text()
    drawn, stored = (
        re.findall(r"<text[^>]*>([^<]+)", path.read_text())
        for path in (tmp_path / "location.svg", ROOT / "docs" / "pictures" / "location.svg")
    )
    assert drawn == stored
    assert "bits about who it is" in drawn
