"""Checking published tables: all ends of a table, determined cells, and verifying a certificate.

Beside each number stands its peer in the same run: a cold programme of scipy's for every end, and
a warm programme of HiGHS for every cell.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hartley.guarantees.table_certificate import verify_tables
from hartley.kernels.sums import FAR
from hartley.knowledge.cover import Cover, cover
from hartley.knowledge.table_bounds import Inference
from hartley.knowledge.table_system import Bounds, TableProgramme
from hartley.studies.check.certificate import save_certificate
from hartley.studies.check.check import check
from hartley.tables.crosstab import Crosstab, PublishedCell
from hartley.tables.described import read_descriptions
from hartley.tables.published import read_crosstab
from measure import Ratio
from results import Row, Settings, Topic, show

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "published tables"
SIDE, CUBE, SAMPLE = 100, 46, 10
QUICK_SIDE, QUICK_CUBE, QUICK_SAMPLE = 20, 8, 2
LEAST_ENDS, LEAST_DETERMINED, MOST_OF_CHECK = 20, 100, 0.05


def published(table: np.ndarray, hidden: np.ndarray) -> Crosstab:
    """Return a table with all its totals, some cells hidden."""
    cells = []
    shape = table.shape
    for index in np.ndindex(*(n + 1 for n in shape)):
        keys = tuple(None if i == n else f"{i:03d}" for i, n in zip(index, shape, strict=True))
        place = tuple(slice(None) if i == n else i for i, n in zip(index, shape, strict=True))
        value = int(table[place].sum())
        known = None in keys or not hidden[index]
        cells.append(
            PublishedCell(keys, value if known else 0, value if known else None, "", "", 1)
        )
    dims = tuple(f"d{i}" for i in range(len(shape)))
    return Crosstab("t", None, "", dims, "count", None, tuple(cells), 0, ())


def draw(
    shape: tuple[int, ...], share: float, seed: int, large: float = 0.7
) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    table = generator.negative_binomial(large, 0.04, shape)
    hidden = ((table > 0) & (table < 5)) | (generator.random(shape) < share)
    return table, hidden


def unknown_part(joint: Cover) -> tuple[object, np.ndarray, np.ndarray]:
    """Return the relations among hidden cells, their right sides, and the place of each cell."""
    from scipy.sparse import csr_array

    system = joint.system
    rows = np.repeat(np.arange(system.relations), np.diff(system.start))
    matrix = csr_array(
        (system.factor.astype(float), (rows, system.column)), shape=(system.relations, system.size)
    )
    unknown = system.low < system.high
    right = -(matrix @ np.where(unknown, 0, system.low))
    matrix = matrix.tocsc()[:, np.flatnonzero(unknown)].tocsr()
    used = np.flatnonzero(np.diff(matrix.indptr))
    return matrix[used], right[used], np.cumsum(unknown) - 1


def cold_ends(joint: Cover, cells: list[int], sample: int) -> float:
    """Return the seconds that cold programmes of scipy take for all ends, from a sample of them."""
    from scipy.optimize import linprog

    matrix, right, place = unknown_part(joint)
    started = time.perf_counter()
    for cell in cells[:sample]:
        for sign in (1.0, -1.0):
            cost = np.zeros(matrix.shape[1])
            cost[place[cell]] = sign
            linprog(cost, A_eq=matrix, b_eq=right, bounds=(0, None), method="highs")
    return (time.perf_counter() - started) * len(cells) / min(sample, len(cells))


def warm_ends(joint: Cover, cells: list[int], sample: int) -> float:
    """Return the seconds that warm programmes take for all ends, from a sample of them."""
    matrix, right, place = unknown_part(joint)
    size = matrix.shape[1]
    low, high = np.zeros(size, np.int64), np.full(size, FAR, np.int64)
    programme = TableProgramme(matrix, right.astype(np.int64), low, high)
    programme.solve(np.zeros(size))
    started = time.perf_counter()
    for cell in cells[:: max(len(cells) // sample, 1)][:sample]:
        for sign in (1.0, -1.0):
            cost = np.zeros(size)
            cost[place[cell]] = sign
            programme.solve(cost)
    return (time.perf_counter() - started) * len(cells) / sample


def times_faster(topic: Topic, ours: float, theirs: float, least: float | None) -> Row:
    """Return the row that says how many times as fast the product is, measured once."""
    factor = theirs / ours
    seconds = {topic.product: [ours], topic.against: [theirs]}
    return topic.beats(Ratio(factor, factor, factor), at_least=least, raw=seconds)


def two_dimensions(side: int, sample: int, least: float | None) -> Row:
    """Find all ends of a table of two dimensions."""
    table, hidden = draw((side, side), 0.02, 3)
    joint = cover([published(table, hidden)])
    cells = np.flatnonzero(joint.system.high >= FAR).tolist()
    Inference(cover([published(table[:3, :3], hidden[:3, :3])]).system)  # compile
    started = time.perf_counter()
    inference = Inference(joint.system)
    inference.widen(cells)
    ours = time.perf_counter() - started
    exact = sum(inference.range(cell).exact for cell in cells)
    solves = sum(component.solves for component in inference.components)
    theirs = cold_ends(joint, cells, sample)
    size = f"all ends, {joint.system.size:,} cells, {len(cells):,} hidden"
    product = f"{solves} solves, {exact:,} exact"
    topic = Topic(NAME, size, product, "cold programmes of scipy")
    return times_faster(topic, ours, theirs, least)


def scattered(side: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return large numbers and hidden cells at random places, so many for every line of the cube.

    Every hidden cell is in three lines. With few of them some line always has a single one left,
    and subtracting settles everything; with more that stops early, although the lines together
    still determine nearly all cells: that needs elimination. Shares from 0.80 to 0.84 were tried,
    and 0.83 is one at which elimination has work to do.
    """
    generator = np.random.default_rng(seed)
    table = generator.integers(100, 1000, (side, side, side))
    hidden = np.zeros(table.size, bool)
    hidden[generator.choice(table.size, int(share * 3 * side**2), replace=False)] = True
    return table, hidden.reshape(table.shape)


def determined(
    sample: int, table: np.ndarray, hidden: np.ndarray, how: str, least: float | None
) -> Row:
    """Find the cells that are determined by adding and subtracting."""
    joint = cover([published(table, hidden)])
    cells = np.flatnonzero(joint.system.high >= FAR).tolist()
    bounds = Bounds(joint.system)
    bounds.follow()
    followed = sum(int(bounds.low[cell] == bounds.high[cell]) for cell in cells)
    started = time.perf_counter()
    inference = Inference(joint.system)
    ours = time.perf_counter() - started
    settled = sum(inference.range(cell).settled for cell in cells)
    theirs = warm_ends(joint, cells, sample)
    size = f"determined cells, {how}, {joint.system.size:,} cells, {len(cells):,} hidden"
    product = f"{settled:,} determined, {followed:,} by following bounds alone"
    topic = Topic(NAME, size, product, "a warm programme a cell")
    return times_faster(topic, ours, theirs, least)


def with_totals(table: np.ndarray) -> np.ndarray:
    """Return a table with a total at the end of every dimension."""
    for axis in range(table.ndim):
        table = np.concatenate([table, table.sum(axis=axis, keepdims=True)], axis=axis)
    return table


def write_table(
    path: Path, dims: str, table: np.ndarray, hidden: np.ndarray, base: int = 1
) -> dict[str, object]:
    """Write a table with all totals, one cell a line, and return its description.

    Args:
        path: the file.
        dims: the names of the dimensions, one letter each.
        table: the counts.
        hidden: which of them are hidden.
        base: what the numbers are rounded to.
    """
    lines, shape = [",".join([*dims, "n"])], table.shape
    for index, number in np.ndenumerate(with_totals(table)):
        keys = [
            "Total" if i == n else f"{dim}{i:03d}"
            for i, n, dim in zip(index, shape, dims, strict=True)
        ]
        shown = "Total" in keys or not hidden[index]
        lines.append(",".join([*keys, str((number + base // 2) // base * base) if shown else "x"]))
    path.write_text("\n".join(lines) + "\n")
    described: dict[str, object] = {"file": path.name, "dims": list(dims), "margins": "all"}
    return described if base == 1 else described | {"rounding": f"nearest {base}"}


def write_tree(path: Path, groups: int, size: int, columns: int) -> list[dict[str, object]]:
    """Write a table whose rows are grouped, and return its description and that of the tree."""
    table, hidden = draw((groups * size, columns), 0.0, 4)
    rows = {f"a{i:03d}": (table[i], hidden[i]) for i in range(groups * size)}
    nothing = np.zeros(columns, bool)
    tree = {f"A{g}": [f"a{i:03d}" for i in range(g * size, (g + 1) * size)] for g in range(groups)}
    sums = {g: sum(rows[kid][0] for kid in kids) for g, kids in tree.items()}
    rows |= {g: (row, nothing) for g, row in sums.items()} | {"Total": (table.sum(axis=0), nothing)}
    lines = ["a,b,n"]
    for name, (row, mine) in rows.items():
        lines += [f"{name},b{j:03d},{'x' if mine[j] else row[j]}" for j in range(columns)]
        lines.append(f"{name},Total,{row.sum()}")
    path.write_text("\n".join(lines) + "\n")
    return [{"file": path.name, "dims": ["a", "b"], "margins": "all"}, {"dim": "a"} | tree]


def shapes(folder: Path, side: int, cube: int) -> dict[str, tuple[list[Path], dict[str, object]]]:
    """Write tables of many shapes; return the files of each, and how they are described."""
    nothing = np.zeros((cube,) * 3, bool)
    small, middle, large = (min(most, 2 * side) for most in (12, 30, 40))
    drawn = {
        "two dimensions, small": (*draw((6, 5), 0.1, 1), 1),
        "two dimensions": (*draw((middle, middle), 0.05, 1), 1),
        "two dimensions, large": (*draw((side, side), 0.02, 3), 1),
        "two dimensions, four of ten cells hidden": (*draw((large, large), 0.4, 6), 1),
        "two dimensions, rounded to 5": (draw((large, large), 0, 9)[0], nothing[:1, :1, 0], 5),
        "three dimensions, small": (*draw((small,) * 3, 0, 5, large=1.0), 1),
        "three dimensions, nothing hidden": (draw((cube,) * 3, 0, 5, large=1.6)[0], nothing, 1),
        "three dimensions, small ones hidden": (*draw((cube,) * 3, 0, 5, large=1.6), 1),
        "three dimensions, hidden at random": (*scattered(cube, 0.83, 7), 1),
    }
    made: dict[str, tuple[list[Path], dict[str, object]]] = {}
    for number, (name, (table, hidden, base)) in enumerate(drawn.items()):
        path = folder / f"t{number}.csv"
        mine = np.broadcast_to(hidden, table.shape)
        described = write_table(path, "abc"[: table.ndim], table, mine, base)
        made[name] = [path], {"outputs": [described]}
    described, tree = write_tree(folder / "tree.csv", 8, 5, min(20, 2 * side))
    made["a tree"] = [folder / "tree.csv"], {"outputs": [described], "trees": [tree]}
    everybody, _ = draw((large, 25), 0, 12)
    part = np.random.default_rng(1).binomial(everybody, 0.95)
    paths = [folder / "all.csv", folder / "part.csv"]
    outputs = [
        write_table(path, "ab", table, (table > 0) & (table < 10))
        for path, table in zip(paths, (everybody, part), strict=True)
    ]
    outputs[1]["where"] = "c >= 20"
    made["two outputs, one a part of the other"] = paths, {"outputs": outputs}
    return made


def least_time(work: Callable[[], object], times: int) -> float:
    """Return the least CPU time of some runs: other programs run beside it."""
    spent = []
    for _ in range(times):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return min(spent)


def verifying(side: int, cube: int, most: float | None) -> list[Row]:
    """Compare the CPU time of verifying a certificate with that of the check."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for shape, (paths, spec) in shapes(folder, side, cube).items():
            kept = {}

            def run(paths: list[Path] = paths, spec: object = spec, kept: dict = kept) -> None:
                kept["report"] = check(*paths, spec=spec, rule=["frequency<5"])

            def read(paths: list[Path] = paths, spec: object = spec) -> None:
                for path in paths:
                    read_crosstab(str(path), read_descriptions(spec).of(str(path)))

            checked = least_time(run, 1)
            if checked < 1:
                checked = min(checked, least_time(run, 4))
            cells = sum(part.joint.system.size for part in kept["report"].statistics)
            saved = save_certificate(kept["report"], folder / "c.json")
            verified = least_time(lambda p=paths, c=saved: verify_tables(p, c), 3)
            reading = least_time(read, 3)
            share = verified / checked
            rows.append(
                Row(
                    benchmark=NAME,
                    size=f"{shape}, {cells:,} cells",
                    product="verify",
                    against="check",
                    quantity="CPU time",
                    result=f"{100 * share:.1f} % (reading alone {100 * reading / checked:.1f} %)",
                    target="-" if most is None else f"at most {100 * most:g} %",
                    met=None if most is None else share <= most,
                    value=share,
                    seconds={"check": [checked], "verify": [verified], "reading": [reading]},
                )
            )
    return rows


def run(settings: Settings) -> list[Row]:
    """Measure everything; without peers, verifying alone."""
    side, cube, sample = settings.sized(
        (SIDE, CUBE, SAMPLE), (QUICK_SIDE, QUICK_CUBE, QUICK_SAMPLE), (4, 4, 1)
    )
    rows = compared(side, cube, sample, quick=settings.quick) if settings.peers else []
    settings.log(f"{NAME}: verifying, {side} and {cube} categories")
    return rows + verifying(side, cube, None if settings.quick else MOST_OF_CHECK)


def compared(side: int, cube: int, sample: int, *, quick: bool) -> list[Row]:
    """Measure everything that has a peer."""
    ends, cells = (None, None) if quick else (LEAST_ENDS, LEAST_DETERMINED)
    few, large = max(sample // 5, 1), (cube,) * 3
    return [
        two_dimensions(side, sample, ends),
        determined(few, *draw(large, 0.0, 5, large=1.6), "small ones hidden", cells),
        determined(few, *scattered(cube, 0.83, 7), "hidden at random", cells),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--side", type=int, default=SIDE, help="categories of each of two dimensions"
    )
    parser.add_argument(
        "--cube", type=int, default=CUBE, help="categories of each of three dimensions"
    )
    parser.add_argument(
        "--sample", type=int, default=SAMPLE, help="programmes of the peer that are timed"
    )
    parser.add_argument(
        "--only-verify", action="store_true", help="leave out everything that has a peer"
    )
    chosen = parser.parse_args()
    rows = []
    if not chosen.only_verify:
        rows = compared(chosen.side, chosen.cube, chosen.sample, quick=False)
    show(rows + verifying(chosen.side, chosen.cube, MOST_OF_CHECK))


if __name__ == "__main__":
    main()
