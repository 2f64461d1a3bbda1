"""The machine-checked proofs and the package: the same prices, and links both ways.

Without Coq, prices are compared with 2,900 that the extracted program gave; with Coq, the program
is built and compared on 35,000 random batches. ``make proof`` checks the proofs themselves.
"""
# ruff: noqa: S311 - random cases, not secrets

import ast
import importlib
import json
import random
import re
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import ceil
from pathlib import Path

import proved_prices as proved
import pytest
import z3

from hartley.trusted.pricing import after_answers as told_parts, one_row, regions
from hartley.trusted.pricing.after_answers import EarlierAnswers, PartPricing
from hartley.trusted.pricing.atoms import PartedAtoms
from hartley.trusted.pricing.conditional_price import cells_in_cell, conditional_price
from hartley.trusted.pricing.price import price
from hartley.trusted.pricing.regions import vectors_of_counts
from hartley.trusted.pricing.several_rows import choices
from hartley.trusted.questions.batch import Either, Test

ROOT = Path(__file__).parents[2]
PROOFS = ROOT / "proofs"
STATEMENT = re.compile(r"^(?:Theorem|Corollary) ([\w']+)", re.MULTILINE)
LINK = re.compile(r"Proved: proofs/(\w+)\.v, ([\w']+)")

pytestmark = pytest.mark.xdist_group("proofs")  # the oracle is built once


# --- the same prices ------------------------------------------------------------------------------


@cache
def kept(word="price"):
    """Return the kept batches of one column, or of several, as schema, questions and price."""
    read = {"price": proved.read, "columns": proved.read_columns}[word]
    rows = json.loads(proved.KEPT.read_text())
    return [(*read(numbers), cells) for kind, cells, numbers in rows if kind == word]


def differing(batches):
    return sum(price(questions, schema).cells != cells for schema, questions, cells in batches)


def test_prices_are_those_of_the_extracted_program():
    assert len(kept()) == proved.AMOUNT
    assert differing(kept()) == 0


def test_prices_of_several_columns_are_those_of_the_extracted_program():
    assert len(kept("columns")) == proved.AMOUNT_OF_COLUMNS
    assert differing(kept("columns")) == 0


def test_kept_prices_are_of_many_kinds():
    prices = [cells for _, _, cells in kept()]
    assert set(prices) >= set(range(1, 10))
    assert sum(cells > 2 for cells in prices) > proved.AMOUNT / 2
    schemas = [schema for schema, _, _ in kept()]
    assert sum(schema.rows == "private" for schema in schemas) > 100
    assert sum(schema.columns["x"].nullable for schema in schemas) > 100
    asked = [question.statistic for _, questions, _ in kept() for question in questions]
    assert min(asked.count(statistic) for statistic in proved.STATISTICS) > 500


def floor_for_ceil(monkeypatch):
    monkeypatch.setattr(
        regions.CellGrid, "crossed", lambda grid, length: length * grid.under // grid.over
    )


def one_boundary_too_few(monkeypatch):
    crossings = regions.crossings
    monkeypatch.setattr(one_row, "crossings", lambda *of: max(crossings(*of) - 1, 0))


def hull_one_short(monkeypatch):
    hull = regions.crossings_of_hull
    monkeypatch.setattr(one_row, "crossings_of_hull", lambda *of: max(hull(*of) - 1, 0))


def families_without_agreement_of_orders(monkeypatch):
    monkeypatch.setattr(one_row, "_orders_agree", lambda *_: True)


def outside_forgotten(monkeypatch):
    single = one_row.single

    def inside_only(k, listed, *rest):
        return single(k, [atom for atom in listed if k in atom.alive], *rest)

    monkeypatch.setattr(one_row, "single", inside_only)


MUTANTS = [
    floor_for_ceil,
    one_boundary_too_few,
    hull_one_short,
    families_without_agreement_of_orders,
    outside_forgotten,
]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_rule_differs_from_kept_prices(mutant, monkeypatch):
    mutant(monkeypatch)
    assert differing(kept()) > 0


def rank_one_short(monkeypatch):
    elementary = regions.elementary
    short = lambda amounts, most: elementary(amounts, max(most - 1, 1))  # noqa: E731
    monkeypatch.setattr(regions, "elementary", short)


def rank_one_too_large(monkeypatch):
    rank = regions.rank
    monkeypatch.setattr(regions, "rank", lambda vectors: rank(vectors) + 1)


def points_of_a_component_ignored(monkeypatch):
    all_regions = regions.regions
    monkeypatch.setattr(one_row, "regions", lambda crossed, *_: all_regions(crossed))


WRONG_FOR_COLUMNS = [rank_one_short, rank_one_too_large, points_of_a_component_ignored]


@pytest.mark.parametrize("mutant", WRONG_FOR_COLUMNS)
def test_a_wrong_rule_for_several_columns_differs(mutant, monkeypatch):
    regions._linked.cache_clear()
    mutant(monkeypatch)
    wrong = differing(kept("columns"))
    regions._linked.cache_clear()
    assert wrong > 0


# --- the same prices after what was told (rule version 2) ----------------------------------------


def kept_given():
    """Return the kept cases with what they cost by the proof alone: never more than alone."""
    rows = json.loads(proved.KEPT.read_text())
    return [(proved.read_given(numbers), cells) for kind, cells, numbers in rows if kind == "given"]


def compared(cases):
    """Return how many prices are below what is proved, above it, and lowered by what was told.

    A price above is sound: groups without a common column take the largest of their parts each, and
    a window is looked at by its length, not by its place.
    """
    below = above = lowered = 0
    for case, cells in cases:
        alone = price(case.asked, case.schema).cells
        told = EarlierAnswers(case.schema, [*case.filters, *case.sums])
        ours, proof = conditional_price(case.asked, told).cells, min(cells, alone)
        below += ours < proof
        above += ours > proof
        lowered += ours < alone
    return below, above, lowered


def test_prices_after_what_was_told_are_those_of_the_extracted_program():
    cases = kept_given()
    assert len(cases) == proved.AMOUNT_OF_GIVEN
    below, above, lowered = compared(cases)
    assert below == 0
    assert above <= len(cases) // 10
    assert lowered >= len(cases) // 4


def a_sum_tells_its_filter(monkeypatch):
    filters, sums = EarlierAnswers.filters, EarlierAnswers.sums

    def more(told, private, known):
        return [*filters(told, private, known), *sums(told, private)]

    monkeypatch.setattr(EarlierAnswers, "filters", more)


def window_one_short(monkeypatch):
    window = PartPricing._window

    def shorter(part, told, asked):
        right = window(part, told, asked)
        return right and right._replace(length=max(right.length - 1, 0))

    monkeypatch.setattr(PartPricing, "_window", shorter)


def window_where_the_filter_is_open(monkeypatch):
    windows = told_parts._windows
    everywhere = lambda sums, _: windows(sums, {window.terms for window in sums})  # noqa: E731
    monkeypatch.setattr(told_parts, "_windows", everywhere)
    monkeypatch.setattr(told_parts, "_usable", lambda sums, *_: tuple(sums))


def the_first_part_alone(monkeypatch):
    within = PartedAtoms.within

    def first(parted, ranges):
        parts = within(parted, ranges)
        return parts and dict([next(iter(parts.items()))])

    monkeypatch.setattr(PartedAtoms, "within", first)


def a_missing_value_is_told(monkeypatch):
    """A told filter is taken for its complement too: nothing is left of a nullable column."""
    add = EarlierAnswers.add

    def both(told, question, row):
        add(told, question, row)
        if isinstance(question.where, Either) and len(question.where.parts) == 1:
            for test in question.where.parts[0].parts:
                present = ((0, told.schema.columns[test.column].points - 1),)
                whole = replace(question, where=Test(test.column, present))
                add(told, whole, row)

    monkeypatch.setattr(EarlierAnswers, "add", both)


WRONG_AFTER_TOLD = [
    a_sum_tells_its_filter,
    window_one_short,
    window_where_the_filter_is_open,
    the_first_part_alone,
    a_missing_value_is_told,
]


@pytest.mark.parametrize("mutant", WRONG_AFTER_TOLD)
def test_a_wrong_rule_after_what_was_told_falls_below_the_proof(mutant, monkeypatch):
    mutant(monkeypatch)
    assert compared(kept_given())[0] > 0


@pytest.fixture(scope="module")
def oracle():
    """The extracted program, built here."""
    if not (shutil.which("coqc") and shutil.which("ocamlfind")):
        pytest.fail(
            "Coq is missing; hint: run tools/need-coq, or apt-get install coq ocaml-findlib"
        )
    subprocess.run([proved.ORACLE / "build"], check=True, capture_output=True, timeout=600)
    return proved


@pytest.mark.long
@pytest.mark.parametrize("word", ["price", "columns", "given"])
def test_kept_prices_are_the_programs_own(oracle, word):
    rows = [row for row in json.loads(proved.KEPT.read_text()) if row[0] == word]
    assert oracle.proved_prices(word, [row[2] for row in rows]) == [row[1] for row in rows]


def wrong_batches(oracle, word, batches, written):
    cells = oracle.proved_prices(word, [written(*batch) for batch in batches])
    pairs = zip(batches, cells, strict=True)
    return [batch for batch, proved_cells in pairs if price(*batch[::-1]).cells != proved_cells]


@pytest.mark.long
def test_random_batches_cost_what_is_proved(oracle):
    rng = random.Random(20_000)
    batches = [proved.draw_batch(rng) for _ in range(20_000)]
    assert not wrong_batches(oracle, "price", batches, proved.written)[:3]


@pytest.mark.long
def test_random_batches_of_several_columns_cost_what_is_proved(oracle):
    rng = random.Random(10_000)
    batches = [proved.draw_columns(rng) for _ in range(10_000)]
    assert not wrong_batches(oracle, "columns", batches, proved.written_columns)[:3]


@pytest.mark.long
def test_random_batches_after_what_was_told_cost_no_less_than_is_proved(oracle):
    rng = random.Random(5_000)
    cases = [proved.draw_given(rng) for _ in range(5_000)]
    cells = oracle.proved_prices("given", map(proved.written_given, cases))
    below, above, _ = compared(zip(cases, cells, strict=True))
    assert below == 0
    assert above <= len(cases) // 10


@pytest.mark.long
def test_rule_s_is_that_of_the_proof(oracle):
    rng = random.Random(2_000)
    steps = [
        [Fraction(rng.randint(1, 40), rng.randint(1, 6)) for _ in range(2)] for _ in range(2_000)
    ]
    lines = (
        " ".join(["held", *(str(n) for s in both for n in s.as_integer_ratio())]) for both in steps
    )
    for (told, asked), cells in zip(steps, oracle.ask_oracle(lines), strict=True):
        whole = 1 + -(-(ceil(told) - 1) // asked)  # proofs/Grid.v, rule_S_whole
        assert cells_in_cell(told, asked) == min(cells, whole)


@pytest.mark.long
def test_coarse_counts_are_those_of_the_proof(oracle):
    rng = random.Random(3_000)
    cases = [
        (rows, [rng.randint(1, rows) for _ in range(rng.randint(1, 5))])
        for rows in (rng.randint(1, 12) for _ in range(3_000))
    ]
    lines = (" ".join(map(str, ["coarse", rows, *steps])) for rows, steps in cases)
    ours = [vectors_of_counts([(step, rows) for step in steps], rows) for rows, steps in cases]
    assert oracle.ask_oracle(lines) == ours


@pytest.mark.long
def test_numbers_of_multisets_are_those_of_the_proof(oracle):
    cases = [(points, rows) for points in range(1, 12) for rows in range(9)]
    lines = (f"multisets {points} {rows}" for points, rows in cases)
    assert oracle.ask_oracle(lines) == [choices(points, rows) for points, rows in cases]


@pytest.mark.long
def test_sums_of_elementary_sums_are_those_of_the_proof(oracle):
    rng = random.Random(5_000)
    cases = [
        (rng.randint(0, 5), [rng.randint(0, 9) for _ in range(rng.randint(0, 6))])
        for _ in range(5_000)
    ]
    lines = (" ".join(map(str, ["elementary", most, *amounts])) for most, amounts in cases)
    ours = [regions.elementary(amounts, most) for most, amounts in cases]
    assert oracle.ask_oracle(lines) == ours


# --- links both ways ------------------------------------------------------------------------------


def stated():
    """Return every theorem of the proofs as module and name."""
    files = [
        line for line in (PROOFS / "_CoqProject").read_text().splitlines() if line.endswith(".v")
    ]
    return [
        (name.removesuffix(".v"), theorem)
        for name in files
        for theorem in STATEMENT.findall((PROOFS / name).read_text())
    ]


def table():
    """Return the table of proofs/README.md: theorem, words, section, functions, state."""
    lines = (PROOFS / "README.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    return [row for row in rows if row[0].startswith("`proofs/")]


def test_the_list_of_theorems_is_that_of_the_files():
    listed = (PROOFS / "theorems.txt").read_text().splitlines()
    assert listed == [" ".join(theorem) for theorem in stated()]


def test_every_file_is_built_and_says_what_it_proves():
    files = {path.name for path in PROOFS.glob("*.v")} - {"Assumptions.v"}
    assert files == set((PROOFS / "_CoqProject").read_text().split()[3:])
    for name in files:
        assert re.match(r"\(\*\* \w", (PROOFS / name).read_text()), name


def test_no_proof_is_left_open():
    for path in PROOFS.glob("*.v"):
        left = re.findall(
            r"\b(?:Axiom|Parameter|Conjecture|Admitted)\b|\badmit\.", path.read_text()
        )
        assert not left, path.name


def test_every_theorem_has_a_place():
    linked = [re.fullmatch(r"`proofs/(\w+)\.v, ([\w']+)`", row[0]).groups() for row in table()]
    assert linked == stated()


def test_every_place_exists():
    page = (ROOT / "docs" / "accountant.md").read_text()
    for theorem, _, section, functions, state in table():
        assert state in {"machine-checked", "in parts", "enumerated only"}, theorem
        assert section == "none" or f"# {section}\n" in page or f"**{section}" in page, theorem
        for path in re.findall(r"`(hartley[\w.]+)`", functions):
            assert found(path) is not None, path


def found(path):
    """Return the object of a dotted path; None where there is none."""
    words = path.split(".")
    for size in range(len(words), 0, -1):
        try:
            thing = importlib.import_module(".".join(words[:size]))
        except ModuleNotFoundError:
            continue
        for word in words[size:]:
            thing = getattr(thing, word, None)
        return thing
    return None


def docstrings():
    """Return every docstring of the package with the place where it stands."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text()
        if "Proved: " not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield f"{path.name}:{getattr(node, 'name', '')}", ast.get_docstring(node) or ""


def test_docstrings_name_theorems_that_are_there():
    theorems = set(stated())
    for place, text in docstrings():
        links = LINK.findall(text)
        assert len(links) == text.count("Proved: "), f"{place}: write Proved: proofs/File.v, name"
        for link in links:
            assert link in theorems, f"{place}: {link}"


# --- a second opinion -----------------------------------------------------------------------------


def refuted(claim, *facts):
    """Return whether a claim fails for some whole numbers; False is a proof for all of them."""
    solver = z3.Solver()
    solver.set("timeout", 60_000)
    solver.add(*facts, z3.Not(claim))
    answer = solver.check()
    assert answer != z3.unknown, solver.reason_unknown()
    return answer == z3.sat


def in_cell(value, number, step):
    return z3.And(number * step <= value, value < number * step + step)


def test_z3_agrees_on_rule_s():
    a, b, g, old, start, end, v, w, between = z3.Ints("a b g old start end v w between")
    # The old cell begins at old, the new cells of v and w begin at start and end.
    facts = [
        *(a > 0, b > 0, g > 0),
        *(old <= v, v <= w, w < old + a),
        *(start <= v, v < start + b, end <= w, w < end + b),
        start + b - old == g * between,  # both are multiples of the common divisor g
    ]
    assert not refuted(end - start <= a + b - g - 1, *facts)
    m, n, i, j, k = z3.Ints("m n i j k")
    places = [a == g * m, b == g * n, old == i * a, start == j * b, end == k * b]
    assert refuted(end - start <= a + b - g - 2, *facts, *places)


def test_z3_agrees_on_the_lone_sum():
    step, rest, low, length, v, w, first, last, ceil = z3.Ints(
        "step rest low length v w first last ceil"
    )
    facts = [
        *(step > 0, low <= v, v <= w, w <= low + length),
        *(in_cell(rest + v, first, step), in_cell(rest + w, last, step)),
        *(ceil * step >= length, (ceil - 1) * step < length),
    ]
    assert not refuted(last - first <= ceil, *facts)
    assert refuted(last - first <= ceil - 1, *facts)


def test_z3_agrees_on_the_clamp():
    step, below, above, v, w = z3.Ints("step below above v w")
    first, last, start, end = z3.Ints("first last start end")

    def clamp(value):
        return z3.If(value < below, below, z3.If(value > above, above, value))

    facts = [
        *(step > 0, below <= above, v <= w),
        *(in_cell(v, first, step), in_cell(w, last, step)),
        *(in_cell(clamp(v), start, step), in_cell(clamp(w), end, step)),
    ]
    assert not refuted(end - start <= last - first, *facts)
    assert refuted(end - start <= last - first - 1, *facts)
