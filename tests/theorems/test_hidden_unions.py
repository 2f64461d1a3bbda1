"""Sums of hidden cells against all unions of them, and against all whole tables that fit."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from hartley.studies.check import check
from hartley.studies.check_certificate import save_certificate, verify_check

LEVELS = ("none", "sole", "holdings", "all")
MOST = 150_000
"""A world with more tables than this is drawn again."""


class Firms:
    """Random firms, what they contribute to the atoms of a table, and what is published of it."""

    def __init__(self, seed, folder):
        draw = random.Random(seed)  # noqa: S311 - a table to publish
        self.rows, self.columns = draw.choice([(1, 3), (1, 4), (1, 5), (2, 2), (2, 3), (3, 3)])
        self.atoms = list(itertools.product(range(self.rows), range(self.columns)))
        self.parts = np.zeros((draw.randint(2, 5), len(self.atoms)), np.int64)
        for firm, atom in itertools.product(range(len(self.parts)), range(len(self.atoms))):
            if draw.random() < 0.45:
                self.parts[firm, atom] = draw.choice([1, 1, 2, 3, 6, 10])
        self.truth = self.parts.sum(axis=0)
        self.tree = self.rows == 1 and self.columns > 3 and draw.random() < 0.5
        self.rounded = draw.random() < 0.15
        hide = draw.choice([0.5, 0.8])
        self.stated = []
        self.hidden = np.ones(len(self.atoms), bool)
        lines = ["r,c,n"]
        for r, c in itertools.product([*range(self.rows), "Total"], self.nodes):
            mask = np.array([r in {i, "Total"} and self.below(c, j) for i, j in self.atoms])
            value, inner = int(self.truth[mask].sum()), "Total" not in {str(r), str(c)}
            grand = mask.all() and r == c == "Total"
            if not grand and draw.random() < (hide if inner else 0.15):
                text, ends = "x", (0, None)
            elif self.rounded and not grand:
                near = (value + 1) // 3 * 3
                text, ends = str(near), (max(0, near - 1), near + 1)
            else:
                text, ends = str(value), (value, value)
            lines.append(f"{r},{c},{text}")
            self.stated.append((mask, *ends))
            if (r, c) in self.atoms and ends[0] == ends[1]:
                self.hidden[self.atoms.index((r, c))] = False
        if self.rounded:  # a total that is no multiple of the base would be read as rounded too
            lines[-1] = lines[-1].rsplit(",", 1)[0] + f",{(self.truth.sum() + 1) // 3 * 3}"
            near = int(self.truth.sum() + 1) // 3 * 3
            self.stated[-1] = (np.ones(len(self.atoms), bool), max(0, near - 1), near + 1)
        self.path = folder / "t.csv"
        self.path.write_text("\n".join(lines) + "\n")
        self.rule = draw.choice(["p%=10", "p%=30", "p%=100", "dominance=1,70", "dominance=2,80"])

    @property
    def nodes(self):
        return [*range(self.columns), *(["P"] if self.tree else []), "Total"]

    def below(self, node, column):
        return node in {column, "Total"} or (node == "P" and column < 2)

    def report(self, insider):
        block = {"file": "t.csv", "statistic": "sum(v)", "dims": ["r", "c"], "margins": "all"}
        if self.rounded:
            block["rounding"] = "nearest 3"
        trees = [{"dim": "c", "P": ["0", "1"]}] if self.tree else []
        listed = [
            (str(r), str(c), f"firm {f}", int(self.parts[f, a]))
            for f in range(len(self.parts))
            for a, (r, c) in enumerate(self.atoms)
            if self.parts[f, a]
        ]
        data = {
            name: list(values)
            for name, values in zip("rcfv", zip(*listed, strict=True), strict=True)
        }
        spec = {"outputs": [block], "trees": trees}
        options = {"rules": [self.rule], "table": data, "contributor": "f", "insider": insider}
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
    """Return whose part must not be told: everybody, or the largest of cells and of remainders."""
    if firms.rule.startswith("p%"):
        return [(firm,) for firm in range(len(firms.parts))]
    n = int(firms.rule.split("=")[1].split(",")[0])
    found = set()
    for mask, low, high in firms.stated:
        parts = firms.parts[:, mask & firms.hidden if low == high else mask].sum(axis=1)
        order = np.argsort(-parts, kind="stable")
        if order.size <= n or parts[order[n - 1]] > parts[order[n]]:  # without a tie
            found.add(tuple(sorted(firm for firm in order[:n].tolist() if parts[firm])))
    return sorted(found - {()})


def questions(firms, insider):
    """Return for each pair what the attacker has, where alone, what is needed, and the unit."""
    factor = Fraction(firms.rule.split("=")[1].split(",")[-1])
    on_top = firms.rule.startswith("p%")
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
    """Compare cells and remainders with the rule itself; return the cells that it is about."""
    blamed = np.zeros(len(firms.atoms), bool)
    told = [mask & firms.hidden for mask, low, high in firms.stated if low == high]
    for union in subsets(np.flatnonzero(firms.hidden).tolist()):
        sums = tables[:, union].sum(axis=1)
        need = needs(firms.rule, firms.parts[:, union].sum(axis=1))
        if need is not None and sums.max() < need:
            if len(union) == 1 or any(np.flatnonzero(mask).tolist() == union for mask in told):
                assert flagged[union].any()
            if len(union) == 1 or not np.ptp(sums):
                blamed[union] = True
    return blamed


def compare(firms, insider, tables, folder):
    """Compare all verdicts at one level; return how many questions no table answers."""
    report, data = firms.report(insider)
    said = {(cell.keys.get("r"), cell.keys.get("c")): cell.verdict for cell in report.cells}
    hidden = firms.hidden
    named = [said.get((str(r), str(c)), "safe") for r, c in firms.atoms]
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
