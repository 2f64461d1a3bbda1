"""Checks of published tables against the enumeration of all tables of people that fit."""

import itertools
import random
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from hartley.knowledge import table_bounds as inference
from hartley.knowledge.cover import SELECTION, cover
from hartley.knowledge.table_system import Bounds, LinearSystem, NoTableFits
from hartley.measures.rules import Homogeneous
from hartley.studies.check.certificate import save_certificate, verify_check
from hartley.studies.check.check import check
from hartley.tables.crosstab import Crosstab, PublishedCell, Rounding
from hartley.tables.described import CategoryTree

CATEGORIES = {"a": ["p", "q", "r"], "b": ["s", "t", "u"], "c": ["v", "w"]}
CONDITIONS = {
    "age >= 1": lambda r: r["age"] >= 1,
    "age >= 2": lambda r: r["age"] >= 2,
    "age < 2": lambda r: r["age"] < 2,
    "a = 'p'": lambda r: r["a"] == "p",
    "age >= 1 AND a = 'p'": lambda r: r["age"] >= 1 and r["a"] == "p",
    "a = 'q' OR age = 0": lambda r: r["a"] == "q" or r["age"] == 0,
}
ENDLESS = 10**9
MOST = 60_000
"""A world with more tables than this is drawn again."""


def every_table(people, kinds):
    """Return every way to put at most so many people into kinds of records, as rows."""
    return np.array(
        [
            np.bincount(places, minlength=kinds)
            for number in range(people + 1)
            for places in itertools.combinations_with_replacement(range(kinds), number)
        ]
    )


class World:
    """Random people, random outputs about them, and what each published cell states."""

    def __init__(self, seed, folder):
        self.draw = random.Random(seed)  # noqa: S311 - tables to publish
        draw = self.draw
        self.dims = draw.choice([["a"], ["a", "b"], ["a", "b"], ["a", "c"], ["a", "b", "c"]])
        self.categories = {d: CATEGORIES[d][: draw.choice([2, 3])] for d in self.dims}
        self.conditions = draw.sample(sorted(CONDITIONS), draw.choice([0, 0, 1, 2]))
        ages = [0, 1, 2] if self.conditions else [0]
        self.records = [
            dict(zip([*self.dims, "age"], values, strict=True))
            for values in itertools.product(*self.categories.values(), ages)
        ]
        self.tree = len(self.categories["a"]) == 3 and draw.random() < 0.4
        self.truth = np.zeros(len(self.records), int)
        for _ in range(draw.randint(1, 5)):
            self.truth[draw.randrange(len(self.records))] += 1
        self.stated, self.paths, self.blocks = [], [], []
        for number in range(draw.choice([1, 2, 3])):
            self.publish(folder / f"o{number}.csv", first=number == 0)
        per_record = [
            min((high for mask, _, high in self.stated if mask[i]), default=ENDLESS)
            for i in range(len(self.records))
        ]
        everybody = [high for mask, _, high in self.stated if mask.all()]
        self.most = min([sum(per_record), *everybody])

    def inside(self, dims, keys, where):
        def is_inside(record):
            if where and not CONDITIONS[where](record):
                return False
            return all(
                key in {"Total", record[dim]} or (key == "P" and record[dim] in {"p", "q"})
                for dim, key in zip(dims, keys, strict=True)
            )

        return np.array([is_inside(record) for record in self.records])

    def publish(self, path, *, first):
        draw = self.draw
        dims = [d for d in self.dims if first or draw.random() < 0.8] or self.dims[:1]
        where = None if first or not self.conditions else draw.choice([None, *self.conditions])
        rounding = draw.choice([None, None, Rounding("nearest", 3), Rounding("midpoint", 6)])
        extra = ["Total"] if draw.random() < 0.8 else []
        nodes = [
            [*self.categories[d], *(["P"] if self.tree and d == "a" else []), *extra] for d in dims
        ]
        lines = [",".join([*dims, "n"])]
        hidden = draw.choice([0.2, 0.5, 0.7])
        for keys in itertools.product(*nodes):
            mask = self.inside(dims, keys, where)
            value = int(self.truth[mask].sum())
            total = "Total" in keys
            if draw.random() < (0.1 if total or rounding else hidden):
                text, ends = "x", (0, ENDLESS)
            elif rounding is not None:
                text = str(rounding.round(value))
                ends = rounding.interval(rounding.round(value))
            elif 0 < value < 4 and not total and draw.random() < 0.3:
                text, ends = "<4", (1, 3)
            else:
                text, ends = str(value), (value, value)
            lines.append(",".join([*keys, text]))
            self.stated.append((mask, *ends))
        path.write_text("\n".join(lines) + "\n")
        block = {"file": path.name, "dims": dims, "margins": "all"}
        if where:
            block["where"] = where
        if rounding is not None:
            block["rounding"] = f"{rounding.kind} {rounding.base}"
        self.blocks.append(block)
        self.paths.append(path)

    @property
    def spec(self):
        trees = [{"dim": "a", "P": ["p", "q"]}] if self.tree else []
        return {"outputs": self.blocks, "trees": trees}

    @property
    def schema(self):
        columns = {d: {"kind": "private", "values": v} for d, v in self.categories.items()}
        age = {"kind": "private", "range": [0, 2], "step": 1}
        return {"table": {"name": "t"}, "columns": columns | {"age": age}}

    def fitting(self):
        tables = every_table(self.most, len(self.records))
        for mask, low, high in self.stated:
            sums = tables[:, mask].sum(axis=1)
            tables = tables[(low <= sums) & (sums <= high)]
        return tables

    def mask(self, part, cell):
        """Return the kinds of records of a cell of a checked part, by its keys."""
        joint, chosen = part.joint, part.selections
        keys = dict(zip(joint.dims, joint.keys(cell), strict=True))
        node = keys.pop(SELECTION, None)
        named = {dim: key for dim, key in keys.items() if key is not None}
        mask = self.inside(list(named), list(named.values()), None)
        if node is not None:
            at = chosen.axis.nodes.index(node)
            for i, record in enumerate(self.records):
                held = tuple(CONDITIONS[c](record) for c in chosen.conditions)
                if 1 <= at <= len(chosen.patterns):
                    mask[i] &= held == chosen.patterns[at - 1]
                else:
                    mask[i] &= CONDITIONS[node](record)
        return mask


def worlds(folder, seeds):
    for seed in seeds:
        world = World(seed, folder)
        if comb(world.most + len(world.records), len(world.records)) <= MOST:
            yield world


def expected(part, values, k, left, cell):
    """Return the verdict of frequency<k that follows from all tables that fit."""
    low, high = min(values), max(values)
    if high == 0 or low >= k:
        return "safe"
    if part.joint.system.high[cell] < k:
        return "disclosed" if len(values) < left else "protected"
    return "disclosed" if high < k else "protected"


def one_category(part, possible):
    """Return the cells in which everybody of some line is, from all tables that fit."""
    joint, alone = part.joint, set()
    for relation in range(joint.system.relations):
        parent, children = joint.system.relation(relation)
        changed = [
            axis.name
            for axis, a, b in zip(
                joint.axes, joint.keys(parent), joint.keys(children[0]), strict=True
            )
            if a != b
        ]
        sensible = [child for child in children if joint.possible[child]]
        if changed == [SELECTION] or len(sensible) < 2:
            continue
        there = [child for child in children if possible[child]]
        alone |= set(there) if len(there) == 1 else set()
    return alone


def small_sums(part, world, tables, k):
    """Return the atoms of sums that are the same below k in all tables, though the atoms vary."""
    joint, sums = part.joint, {}
    masks = {atom: world.mask(part, atom) for atom in joint.atoms.tolist()}
    varying = {a: m for a, m in masks.items() if np.ptp(tables[:, m].sum(axis=1))}
    for cell in range(joint.system.size):
        mask = world.mask(part, cell)
        inside = frozenset(a for a, m in varying.items() if m.any() and mask[m].all())
        total = tables[:, mask].sum(axis=1)
        if inside and not np.ptp(total):
            steady = [m for a, m in masks.items() if a not in varying and mask[m].all()]
            sums[inside] = int(total[0] - sum(tables[0, m].sum() for m in steady))
    before = 0
    while len(sums) > before:
        before = len(sums)
        for large, small in itertools.permutations(list(sums), 2):
            if small < large:
                sums[large - small] = sums[large] - sums[small]
    return {cell for cells, total in sums.items() if 0 < total < k for cell in cells}


def compare(world, *, exact=True):
    k, left = world.draw.choice([2, 3, 4, 5]), world.draw.choice([2, 3])
    schema = world.schema if world.conditions else None
    rules = [f"frequency<{k}", "homogeneous"]
    report = check(*world.paths, spec=world.spec, rule=rules, left=left, schema=schema)
    (part,) = report.statistics
    tables = world.fitting()
    assert len(tables)
    values = {
        cell: set(tables[:, world.mask(part, cell)].sum(axis=1).tolist())
        for cell in range(part.joint.system.size)
    }
    alone = one_category(part, {cell: max(mine) > 0 for cell, mine in values.items()})
    together = small_sums(part, world, tables, k)
    alone |= set(part.joint.same[sorted(alone)].tolist())  # a cell by another name is that cell
    reported = {cell.cell: cell for cell in part.cells}
    for cell, mine in values.items():
        ends = part.inference.range(cell)
        assert ends.low <= min(mine)
        assert ends.high is None or max(mine) <= ends.high
        assert ends.least is None or {ends.least, ends.most} <= mine
        verdict = expected(part, mine, k, left, cell)
        verdict = "disclosed" if cell in alone | together else verdict
        if cell not in reported:
            other = reported.get(int(part.joint.same[cell]))
            assert verdict != "disclosed" or (other is not None and other.verdict == verdict)
            assert other is None or values[other.cell] == mine
            continue
        said = reported[cell]
        assert said.verdict in {"open", verdict, "protected" if verdict == "safe" else verdict}
        if exact and len(part.joint.axes) <= 2:
            assert said.verdict == verdict
            assert not said.places or said.outer == said.inner == (min(mine), max(mine))
        if said.outer == (min(mine), max(mine)):
            assert said.singled_out == (not said.places and mine == {1})
    return report


def lines_with(part):
    """Return every line of categories that its conditions leave two of: its total and its cells."""
    joint = part.joint
    for relation in range(joint.system.relations):
        parent, children = joint.system.relation(relation)
        by_condition = (
            SELECTION in joint.dims
            and len({joint.keys(cell)[:-1] for cell in (parent, *children)}) == 1
        )
        possible = [child for child in children if joint.possible[child]]
        if not by_condition and len(possible) > 1:
            yield parent, possible


@pytest.mark.slow
@pytest.mark.parametrize("share", ["0.6", "2/3", "0.75", "0.95"])
def test_a_category_of_nearly_everybody_is_that_of_all_tables(tmp_path, share):
    seen = dict.fromkeys(("disclosed", "protected", "open", "safe"), 0)
    for world in worlds(tmp_path, range(60)):
        rule = Homogeneous(Fraction(share))
        schema = world.schema if world.conditions else None
        report = check(*world.paths, spec=world.spec, rule=[rule], schema=schema)
        (part,) = report.statistics
        tables = world.fitting()
        counts = {
            cell: tables[:, world.mask(part, cell)].sum(axis=1)
            for cell in range(part.joint.system.size)
        }
        certain, possible, unsettled = set(), set(), set()
        for total, cells in lines_with(part):
            there = counts[total] > 0
            sizes = list(map(int, counts[total][there]))
            if (part.joint.system.low[cells] < part.joint.system.high[cells]).any():
                unsettled |= {*cells}  # not published whole
            for cell in cells:
                numbers = map(int, counts[cell][there])
                held = [Fraction(x, n) >= rule.share for x, n in zip(numbers, sizes, strict=True)]
                certain |= {cell} if held and all(held) else set()
                possible |= {cell} if any(held) else set()
        for cells in (certain, unsettled):  # a cell by another name is that cell
            cells |= {*part.joint.same[sorted(cells)].tolist()}
        said = {cell.cell: cell for cell in part.cells}
        for cell in counts:
            judged = said.get(cell)
            if judged is None:  # a cell by another name, or one that nobody published
                assert int(part.joint.same[cell]) in said or cell not in certain
                continue
            if judged.rule == "singled out":
                continue
            seen[judged.verdict] += 1
            assert judged.verdict != "disclosed" or cell in certain
            assert judged.verdict != "protected" or cell not in certain
            assert judged.verdict != "safe" or cell not in possible
            assert cell in unsettled or judged.verdict in {"disclosed", "safe"}
        saved = save_certificate(report, tmp_path / "certificate.json")
        assert verify_check(world.paths, saved).counts == report.counts
    assert min(seen.values()) > 3, seen


@pytest.mark.slow
def test_verdicts_and_intervals_are_those_of_all_tables(tmp_path):
    checked = 0
    for world in worlds(tmp_path, range(60)):
        report = compare(world)
        saved = save_certificate(report, tmp_path / "certificate.json")
        assert verify_check(world.paths, saved).counts == report.counts
        checked += 1
    assert checked > 25


@pytest.mark.slow
def test_without_programmes_nothing_is_guessed(tmp_path, monkeypatch):
    """Boxes and windows alone leave more open, but say nothing wrong."""
    monkeypatch.setattr(inference, "MOST_UNKNOWNS", 2)
    for world in worlds(tmp_path, range(60, 100)):
        compare(world, exact=False)


def stated(cells):
    listed = [PublishedCell(keys, *ends, "number", "", 1) for keys, ends in cells.items()]
    dims = tuple(f"d{i}" for i in range(len(next(iter(cells)))))
    return Crosstab("t", None, "", dims, "count", None, tuple(listed), 0, ())


def number_of_tables(joint):
    """Count the whole tables that fit a system: choose a free cell, try every value, go on."""
    system = joint.system

    def count(low, high):
        try:
            bounds = Bounds(LinearSystem(system.start, system.column, system.factor, low, high))
            bounds.follow()
        except NoTableFits:
            return 0
        free = np.flatnonzero(bounds.low < bounds.high)
        if not free.size:
            return int(system.fits(bounds.low))
        cell, total = free[-1], 0
        for value in range(bounds.low[cell], bounds.high[cell] + 1):
            lower, upper = bounds.low.copy(), bounds.high.copy()
            lower[cell] = upper[cell] = value
            total += count(lower, upper)
        return total

    return count(system.low, system.high)


def with_margins(table):
    cells = {}
    for keys in itertools.product(*([None, *map(str, range(n))] for n in table.shape)):
        index = tuple(slice(None) if key is None else int(key) for key in keys)
        cells[keys] = int(table[index].sum())
    return cells


@pytest.mark.parametrize(
    ("table", "hidden", "tables"),
    [
        ([[20, 50, 10], [8, 19, 22], [17, 32, 12]], [(1, 0), (1, 2), (2, 0), (2, 2)], 26),
        ([[3, 8, 12], [9, 20, 7], [6, 11, 30]], [(0, 0), (0, 1), (2, 0), (2, 1)], 10),
        ([[1, 1, 7, 1, 0], [1, 0, 0, 2, 8]], None, 10),
    ],
)
def test_how_many_tables_fit(table, hidden, tables):
    whole = np.array(table)
    small = [tuple(place) for place in np.argwhere((whole > 0) & (whole <= 2)).tolist()]
    names = {tuple(map(str, place)) for place in (hidden or small)}
    cells = {}
    for keys, value in with_margins(whole).items():
        is_hidden = keys in names or (hidden is None and 0 < value <= 2)
        cells[keys] = (0, None) if is_hidden else (value, value)
    assert number_of_tables(cover([stated(cells)])) == tables


@pytest.mark.parametrize(("hidden", "tables"), [("ABKLM", 35), ("ABKLMN", 385)])
def test_how_many_tables_fit_linked_trees(hidden, tables):
    numbers = {"A": 2, "B": 2, "I": 8, "J": 8, "K": 3, "L": 3, "M": 3, "N": 7}
    trees = (
        CategoryTree("d0", {"c1": ("A", "B", "I", "J"), "c2": ("K", "L", "M", "N")}),
        CategoryTree("d0", {"BIG": ("L", "M"), "small": ("A", "B", "I", "J", "K", "N")}),
    )
    cells = {(k,): (0, None) if k in hidden else (v, v) for k, v in numbers.items()}
    for tree in trees:
        for parent, parts in tree.parents.items():
            total = sum(numbers[part] for part in parts)
            cells[parent,] = total, total
    cells[None,] = sum(numbers.values()), sum(numbers.values())
    assert number_of_tables(cover([stated(cells)], trees)) == tables
