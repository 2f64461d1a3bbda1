"""Figures by name: which there are, what they say, and what happens without data."""

from __future__ import annotations

import sys
from dataclasses import FrozenInstanceError, fields, is_dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from hartley.errors import OptionError, TableError
from hartley.papers import figure as reproducing
from hartley.papers.figure import (
    Claim,
    Figure,
    choose_figures,
    figure_names,
    load_figure,
    reproduce,
)
from hartley.report import Chart, Panel, Series

PAPERS = Path(reproducing.__file__).parent
HERE = ("A/1", "A/2", "A/3", "C/1", "C/2", "C/3", "C/4", "D/4", "D/5", "D/6", "D/7", "D/8")


def test_every_function_of_a_figure_is_listed_in_order_and_nothing_else():
    papers = {p.stem: import_module(f"hartley.papers.{p.stem}") for p in PAPERS.glob("*.py")}
    functions = {
        f"{paper.upper() if len(paper) == 1 else paper}/{name[3:]}"
        for paper, module in papers.items()
        for name in vars(module)
        if name[:3] == "fig" and name[3:].isdigit()
    }
    assert set(figure_names()) == functions
    assert list(figure_names()) == sorted(
        figure_names(), key=lambda name: (name.split("/")[0], int(name.split("/")[1]))
    )
    assert set(HERE) <= set(figure_names())


def test_names_are_found_without_loading_a_figure(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("hartley.papers.a")]:
        monkeypatch.delitem(sys.modules, name)
    assert "A/1" in figure_names()
    assert "hartley.papers.a" not in sys.modules


@pytest.mark.parametrize("name", figure_names())
def test_a_figure_says_what_it_is_and_computes_by_keywords(name):
    figure = load_figure(name)
    assert figure.name == name
    assert figure.shows.endswith(".")
    assert figure.title[0].isupper()
    parameters = signature(figure.compute).parameters
    assert ("data" in parameters) == (figure.data is not None)
    assert figure.data is None or parameters["data"].default == "synthetic"
    assert all(p.kind == p.KEYWORD_ONLY for n, p in parameters.items() if n != "data")
    assert "progress" in parameters


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [("a", HERE[:3]), (" A/2 ", ("A/2",)), ("d/5", ("D/5",)), ("C", HERE[3:7])],
)
def test_a_paper_or_a_figure_is_chosen_in_any_case(wanted, chosen):
    assert choose_figures(wanted) == chosen


@pytest.mark.parametrize("wanted", ["Z", "A/9", "", "A/", "/", "A/1/2", "D/04"])
def test_an_unknown_figure_is_refused_with_all_that_there_are(wanted):
    with pytest.raises(OptionError, match=r"there are A/1, 2, 3; .*; or all"):
        choose_figures(wanted)


def test_a_whole_paper_is_no_figure():
    with pytest.raises(OptionError, match="no single figure"):
        load_figure("A")


@pytest.mark.parametrize("name", ["A/1", "C/1", "D/7"])
def test_numbers_are_frozen(name):
    numbers = load_figure(name).compute()
    assert is_dataclass(numbers)
    with pytest.raises(FrozenInstanceError):
        setattr(numbers, fields(numbers)[0].name, None)


def test_a_claim_says_whether_it_holds():
    assert str(Claim("It falls.", holds=False)) == "does not hold: It falls."


def test_a_figure_that_needs_no_data_ignores_where_they_are(tmp_path):
    (found,) = reproduce("D/7", tmp_path)
    assert not found.problem
    assert not found.synthetic
    assert found.origin == "no data: computed from the theory"


def test_figures_without_their_data_say_so_and_the_others_go_on(tmp_path):
    found = {outcome.figure.name: outcome for outcome in reproduce("C", tmp_path)}
    assert found["C/1"].chart is not None
    for name in ("C/2", "C/3", "C/4"):
        assert found[name].chart is None
        assert "heart disease" in found[name].problem
        assert found[name].to_dict()["problem"] == found[name].problem
        assert not found[name].claims


def test_an_unknown_name_is_refused_before_anything_is_computed():
    with pytest.raises(OptionError):
        reproduce("nothing")


def invented(compute):
    line = Series("leak", (1.0, 2.0), (2.0, 1.0))
    return Figure(
        name="A/1",
        title="Invented",
        shows="Nothing.",
        compute=compute,
        plot=lambda synthetic: Chart("Invented", (Panel("x", "y", (line,)),), synthetic=synthetic),
        claims=lambda synthetic: (Claim("It is made up.", holds=synthetic),),
        data="young_people",
    )


def test_progress_begins_at_zero_and_ends_at_one(monkeypatch):
    def compute(data, *, progress):
        assert data == "synthetic"
        progress(0.5)
        return True

    monkeypatch.setattr(reproducing, "load_figure", lambda _: invented(compute))
    told = []
    (found,) = reproduce("A/1", progress=lambda name, share: told.append((name, share)))
    assert told == [("A/1", 0.0), ("A/1", 0.5), ("A/1", 1.0)]
    assert found.synthetic
    assert found.origin == "synthetic young people data"
    assert found.to_dict()["findings"] == [{"sentence": "It is made up.", "holds": True}]


def test_a_mistake_in_a_figure_is_no_missing_data(monkeypatch):
    def compute(_data, **_):
        raise ZeroDivisionError

    monkeypatch.setattr(reproducing, "load_figure", lambda _: invented(compute))
    with pytest.raises(ZeroDivisionError):
        list(reproduce("A/1"))


def test_a_table_that_cannot_be_read_is_a_problem_of_its_figure(monkeypatch):
    def compute(_data, **_):
        raise TableError("The file is damaged", hint="download it again")

    monkeypatch.setattr(reproducing, "load_figure", lambda _: invented(compute))
    (found,) = reproduce("A/1", Path("data"))
    assert found.problem == "The file is damaged; hint: download it again"
