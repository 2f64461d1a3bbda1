"""Sums of hidden cells against all unions of them, and against all whole tables that fit."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from hartley.studies.check.certificate import save_certificate, verify_check
from hartley.studies.check.check import check

LEVELS = ("none", "sole", "holdings", "all")
MOST = 150_000
"""A world with more tables than this is drawn again."""


def in_cell(place, atom, parents):
    """Tell whether an atom belongs to a cell, named by a node for each dimension."""
    return all(
        node in {key, "Total"} or key in parents.get(node, ())
        for node, key in zip(place, atom, strict=True)
    )


class Firms:
    """Random firms, what they contribute to the atoms of a table, and what is published of it."""

    shapes = ((1, 3), (1, 4), (1, 5), (2, 2), (2, 3), (3, 3), (2, 2, 2), (2, 2, 2))

    def __init__(self, seed, folder):
        draw = random.Random(seed)  # noqa: S311 - a table to publish
        shape = draw.choice(self.shapes)
        self.dims = "rcd"[: len(shape)]
        self.atoms = list(itertools.product(*map(range, shape)))
        self.parts = np.zeros((draw.randint(2, 5), len(self.atoms)), np.int64)
        for firm, atom in itertools.product(range(len(self.parts)), range(len(self.atoms))):
            if draw.random() < 0.45:
                self.parts[firm, atom] = draw.choice([1, 1, 2, 3, 6, 10])
        self.truth = self.parts.sum(axis=0)
        tree = len(shape) == 2 and shape[0] == 1 and shape[1] > 3 and draw.random() < 0.5
        self.parents = {"P": (0, 1)} if tree else {}
        self.rounded = draw.random() < 0.15
        hide = draw.choice([0.5, 0.8, 1.0])
        self.stated = []
        self.hidden = np.ones(len(self.atoms), bool)
        lines = [",".join([*self.dims, "n"])]
        nodes = [[*range(size), "Total"] for size in shape]
        nodes[-1][-1:] = [*self.parents, "Total"]
        for place in itertools.product(*nodes):
            mask = np.array([in_cell(place, atom, self.parents) for atom in self.atoms])
            value, grand = int(self.truth[mask].sum()), set(place) == {"Total"}
            chance = 0.15 if "Total" in place else hide
            if grand and self.rounded:  # every number of a rounded output is a multiple
                text, ends = self.round(value)
            elif not grand and draw.random() < chance:
                text, ends = "x", (0, None)
            elif self.rounded:
                text, ends = self.round(value)
            else:
                text, ends = str(value), (value, value)
            lines.append(",".join([*map(str, place), text]))
            self.stated.append((mask, *ends))
            if place in self.atoms and ends[0] == ends[1]:
                self.hidden[self.atoms.index(place)] = False
        self.path = folder / "t.csv"
        self.path.write_text("\n".join(lines) + "\n")
        self.rule = draw.choice(["p%=10", "p%=30", "p%=100", "dominance=1,70", "dominance=2,80"])

    @staticmethod
    def round(value):
        near = (value + 1) // 3 * 3
        return str(near), (max(0, near - 1), near + 1)

    def report(self, insider):
        block = {"file": "t.csv", "statistic": "sum(v)", "dims": [*self.dims], "margins": "all"}
        if self.rounded:
            block["rounding"] = "nearest 3"
        trees = [{"dim": "c", "P": ["0", "1"]}] if self.parents else []
        listed = [
            (*map(str, atom), f"firm {f}", int(self.parts[f, a]))
            for f in range(len(self.parts))
            for a, atom in enumerate(self.atoms)
            if self.parts[f, a]
        ]
        data = {
            name: list(values)
            for name, values in zip([*self.dims, "f", "v"], zip(*listed, strict=True), strict=True)
        }
        spec = {"outputs": [block], "trees": trees}
        options = {"rule": [self.rule], "table": data, "contributor": "f", "insider": insider}
        return check(self.path, spec=spec, **options), data

    def fitting(self):
        """Return all whole tables that fit, atom by atom; None if there are too many."""
        tables = np.zeros((1, len(self.atoms)), np.int64)
        for atom in range(len(self.atoms)):
            most = min(high for mask, _, high in self.stated if mask[atom] and high is not None)
            tables = np.repeat(tables, most + 1, axis=0)
            tables[:, atom] = np.tile(np.arange(most + 1), len(tables) // (most + 1))
            for mask, low, high in self.stated:
                if mask[atom] and high is not None:
                    sums = tables[:, mask].sum(axis=1)
                    done = not mask[atom + 1 :].any()
                    tables = tables[(sums <= high) & ((sums >= low) | (not done))]
            if len(tables) > MOST:
                return None
        return tables


def needs(rule, parts):
    """Return what a sum of these contributions must be able to be; None if it is safe."""
    top = sorted(parts.tolist(), reverse=True)
    name, numbers = rule.split("=")
    if name == "p%":
        p = Fraction(numbers)
        first, second = [*top, 0, 0][:2]
        unsafe = 100 * (sum(top) - first - second) < p * first
        return second + (1 + p / 100) * first if unsafe else None
    n, c = map(int, numbers.split(","))
    return Fraction(100 * sum(top[:n]), c) if 100 * sum(top[:n]) > c * sum(top) else None


def parties(firms):
    """Return whose part must not be told: everybody alone, or any n together."""
    together = 1 if firms.rule.startswith("p%") else int(firms.rule.split("=")[1].split(",")[0])
    return [*itertools.combinations(range(len(firms.parts)), together)]


def questions(firms, insider):
    """Return for each pair what the attacker has, where alone, what is needed, and the unit."""
    factor = Fraction(firms.rule.split("=")[1].split(",")[-1])
    on_top = firms.rule.startswith("p%")
    if on_top:  # the rule itself lets contributors know their own part
        insider = {"none": "holdings", "sole": "all"}.get(insider, insider)
    factor = 1 + factor / 100 if on_top else 100 / factor
    alone = (firms.parts > 0).sum(axis=0) == 1
    for attacker in [None, *(range(len(firms.parts)) if insider != "none" else ())]:
        own = np.zeros(len(firms.atoms), np.int64)
        known = np.zeros(len(firms.atoms), bool)
        if attacker is not None:
            mine = firms.parts[attacker]
            known = alone & (mine > 0) & (insider in {"sole", "all"})
            own = np.where(known | (insider in {"holdings", "all"}), mine, 0)
        for party in parties(firms):
            if party == (attacker,):
                continue
            part = firms.parts[list(party)].sum(axis=0)
            least = factor.numerator * part + factor.denominator * own * on_top
            least = np.where(firms.hidden & ~known & (part > 0), least, 0)
            yield own, known, least, factor.denominator


def some_table(firms, own, known, least):
    """Tell whether some table fits, whole or not, that an attacker takes for possible."""
    masks = np.array([mask for mask, *_ in firms.stated], float)
    ends = [(low, np.inf if high is None else high) for _, low, high in firms.stated]
    low, high = np.array(ends, float).T
    top = np.where(known, own, np.inf)
    bounds = np.column_stack([np.maximum(own, least), np.maximum(top, least)])
    sides = np.vstack([masks, -masks]), np.append(high, -low)
    bounded = np.isfinite(sides[1])
    solved = linprog(np.zeros(own.size), sides[0][bounded], sides[1][bounded], bounds=bounds)
    return solved.status == 0


def subsets(cells):
    sizes = range(1, len(cells) + 1)
    return [list(union) for n in sizes for union in itertools.combinations(cells, n)]


def judge_alone(firms, tables, flagged):
    """Compare all unions with the rule itself; return the cells that it is about."""
    blamed = np.zeros(len(firms.atoms), bool)
    for union in subsets(np.flatnonzero(firms.hidden).tolist()):
        sums = tables[:, union].sum(axis=1)
        need = needs(firms.rule, firms.parts[:, union].sum(axis=1))
        if need is not None and sums.max() < need:
            assert flagged[union].any()
            blamed[union] = True
    return blamed


def compare(firms, insider, tables, folder):
    """Compare all verdicts at one level; return how many questions no table answers."""
    report, data = firms.report(insider)
    said = {tuple(c.keys.get(d) for d in firms.dims): c.verdict for c in report.cells}
    hidden = firms.hidden
    named = [said.get(tuple(map(str, atom)), "safe") for atom in firms.atoms]
    flagged = np.array([verdict in {"disclosed", "open"} for verdict in named])
    unsafe = [needs(firms.rule, firms.parts[:, a]) is not None for a in range(len(firms.atoms))]
    failing, blamed = 0, np.array(unsafe) & ~hidden
    for own, known, least, unit in questions(firms, insider):
        fit = tables[(tables >= own).all(axis=1) & (tables == own)[:, known].all(axis=1)]
        cells = np.flatnonzero(least)
        one = bool((unit * fit >= least).all(axis=1).any())
        for union in subsets(cells.tolist()):
            if unit * fit[:, union].sum(axis=1).max() < least[union].sum():
                assert not one
                assert flagged[union].any()
        if not one:
            failing += 1
            assert flagged[cells].any()
            if not some_table(firms, own, known, least / unit):
                blamed |= least > 0
    blamed |= judge_alone(firms, tables, flagged)
    if insider not in {"sole", "all"}:
        assert not (np.array([v == "disclosed" for v in named]) & ~blamed).any()
    saved = save_certificate(report, folder / "c.json")
    assert verify_check([firms.path], saved, data).counts == report.counts
    return failing


def enumerate_firms(folder, seeds):
    """Compare tables with every attacker; return how many there were, and what failed."""
    checked = failing = 0
    for seed in seeds:
        firms = Firms(seed, folder)
        tables = firms.fitting() if firms.truth.sum() else None
        if tables is None:
            continue
        assert (tables == firms.truth).all(axis=1).any()
        failing += sum(compare(firms, insider, tables, folder) for insider in LEVELS)
        checked += 1
    return checked, failing


@pytest.mark.slow
def test_no_union_of_hidden_cells_tells_a_part_unnoticed(tmp_path):
    checked, failing = enumerate_firms(tmp_path, range(12))
    assert checked > 8
    assert failing > 100


@pytest.mark.long
def test_no_union_of_many_tables_tells_a_part_unnoticed(tmp_path):
    checked, _ = enumerate_firms(tmp_path, range(100, 1900))
    assert checked > 1500


class Counts:
    """Random counts, small ones marked as such, with what is published of them."""

    def __init__(self, seed, folder):
        draw = random.Random(seed)  # noqa: S311 - a table to publish
        shape = draw.choice([(4,), (5,), (2, 3), (3, 3), (2, 2, 2), (2, 2, 2)])
        self.dims, self.k = "rcd"[: len(shape)], draw.choice([3, 4, 5])
        self.atoms = list(itertools.product(*map(range, shape)))
        self.truth = np.array([draw.choice([0, 1, 1, 1, 2, 2, 3, 7]) for _ in self.atoms])
        self.stated = []
        lines = [",".join([*self.dims, "n"])]
        self.places = [*itertools.product(*([*range(size), "Total"] for size in shape))]
        for place in self.places:
            mask = np.array([in_cell(place, atom, {}) for atom in self.atoms])
            value, inner = int(self.truth[mask].sum()), "Total" not in place
            text, ends = str(value), (value, value)
            if 0 < value < self.k and draw.random() < (0.9 if inner else 0.5):
                text, ends = f"<{self.k}", (1, self.k - 1)
            elif draw.random() < (0.4 if inner else 0.05):
                text, ends = "x", (0, None)
            lines.append(",".join([*map(str, place), text]))
            self.stated.append((mask, *ends))
        self.stated[-1] = (self.stated[-1][0], *2 * [int(self.truth.sum())])
        lines[-1] = ",".join([*lines[-1].split(",")[:-1], str(self.truth.sum())])
        self.path = folder / "t.csv"
        self.path.write_text("\n".join(lines) + "\n")

    fitting = Firms.fitting

    def compare(self, tables, folder):
        """Compare every union with all tables that fit; return how many are small and known."""
        block = {"file": "t.csv", "dims": [*self.dims], "margins": "all"}
        report = check(self.path, spec={"outputs": [block]}, rule=[f"frequency<{self.k}"])
        said = {tuple(c.keys.get(d) for d in self.dims): c.verdict for c in report.cells}
        named = np.array([said.get(tuple(map(str, atom)), "safe") for atom in self.atoms])
        spread = np.ptp(tables, axis=0)
        blamed = (tables.max(axis=0) < self.k) & (tables.max(axis=0) > 0)
        marked = [mask.nonzero()[0][0] for mask, _, high in self.stated if mask.sum() == 1 and high]
        blamed[[a for a in marked if spread[a]]] = False
        small = 0
        for union in subsets(np.flatnonzero(spread).tolist()):
            sums = tables[:, union].sum(axis=1)
            if 0 < sums[0] < self.k and not np.ptp(sums):
                small += 1
                blamed[union] = True
                assert set(named[union]) <= {"disclosed", "open"}
                for place, (mask, *_) in zip(self.places, self.stated, strict=True):
                    if set(np.flatnonzero(mask)) <= set(union):  # a hidden total inside it
                        name = tuple(None if key == "Total" else str(key) for key in place)
                        assert said[name] in {"disclosed", "open"} or not np.ptp(
                            tables[:, mask].sum(axis=1)
                        )
        assert not ((named == "disclosed") & ~blamed).any()
        saved = save_certificate(report, folder / "c.json")
        assert verify_check([self.path], saved).counts == report.counts
        return small


def enumerate_counts(folder, seeds):
    checked = small = 0
    for seed in seeds:
        counts = Counts(seed, folder)
        tables = counts.fitting()
        if tables is not None:
            checked += 1
            small += counts.compare(tables, folder)
    return checked, small


def test_no_union_of_small_counts_is_known_unnoticed(tmp_path):
    checked, small = enumerate_counts(tmp_path, range(40))
    assert checked > 30
    assert small > 8


@pytest.mark.long
def test_no_union_of_small_counts_of_many_tables_is_known_unnoticed(tmp_path):
    checked, _ = enumerate_counts(tmp_path, range(1000, 3000))
    assert checked > 1500
