"""Cells beside the noise of differential privacy packages at equal error, against one adversary.

The same games as figure ``beyond/1``, with noise drawn by OpenDP and diffprivlib, each in its own
environment, in place of the textbook's. Cells keep their error always, noise in 95 of 100 cases,
since it has no largest error. The numbers are advantages in the membership game, 0 for a coin and
1 for certainty: not times, so there is no target; a peer's noise is checked to be the textbook's.
"""

from __future__ import annotations

import argparse
import tempfile
from array import array
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from environments import PeerMissing, peer_python
from measure import Job, WorkError, measure, serve, task
from results import Row, Settings, Topic, show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

NAME = "comparison"
BUDGETS, QUICK_BUDGETS = (1, 2, 3), (1, 2)
GAMES, QUICK_GAMES = 2000, 500
HOMES, SEED = 300, 0
GROUPS = ("k = 2", "k = 10", "k = 100")
LAPLACE, GAUSSIAN = "Laplace noise", "Gaussian noise"
PEERS = {"opendp": ("OpenDP", (LAPLACE, GAUSSIAN)), "diffprivlib": ("diffprivlib", (LAPLACE,))}
"""The name of each peer and the noise it draws; diffprivlib's Gaussian takes no deviation."""


# --- jobs in a child process ------------------------------------------------------------------


def opendp(wanted: Sequence[tuple[str, float]], count: int, path: str) -> Job:
    """Draw noise of every wanted kind and scale with OpenDP's measurements."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False))

    def run() -> None:
        with Path(path).open("wb") as file:
            for method, scale in wanted:
                if method == LAPLACE:
                    add = dp.m.make_laplace(space, dp.l1_distance(T=float), scale=scale)
                else:
                    add = dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=scale)
                array("d", add([0.0] * count)).tofile(file)

    return Job(run)


def diffprivlib(wanted: Sequence[tuple[str, float]], count: int, path: str) -> Job:
    """Draw Laplace noise of every wanted scale with diffprivlib's mechanism."""
    from diffprivlib.mechanisms import Laplace

    def run() -> None:
        with Path(path).open("wb") as file:
            for _, scale in wanted:
                add = Laplace(epsilon=1.0, delta=0.0, sensitivity=scale)
                array("d", [add.randomise(0.0) for _ in range(count)]).tofile(file)

    return Job(run)


TASKS: Mapping[str, Callable[..., Job]] = {"opendp": opendp, "diffprivlib": diffprivlib}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Play the games on cells, on groups and on the noise of every peer."""
    from hartley.papers.beyond import attack_homes, textbook_noise

    budgets = settings.sized(BUDGETS, QUICK_BUDGETS, (1,))
    games = settings.sized(GAMES, QUICK_GAMES, 100)
    settings.log(f"{NAME}: {games:,} games for each release")
    readings, play = _readings(), partial(attack_homes, budgets=budgets, games=games)
    textbook = play(readings, random=_random(), sample=textbook_noise)
    rows = [
        _told(cells, noise, noise.method)
        for cells, noise in _beside_cells(textbook)
        if noise.setting in GROUPS
    ]
    for peer, (name, methods) in PEERS.items():
        try:
            python = peer_python(peer, allowed=settings.peers)
            settings.log(f"{NAME}: {name}")
            drawn = _drawn(peer, python, methods, textbook, games * readings.shape[1])
        except (PeerMissing, WorkError) as reason:
            topic = Topic(NAME, "-", "cells", name, "advantage")
            rows.append(topic.missing(str(reason)))
            continue
        found = play(readings, random=_random(), sample=partial(_of_peer, drawn))
        for before, after in zip(textbook, found, strict=True):
            _check(before, after, name)
        rows += [
            _told(cells, noise, f"{noise.method} of {name}")
            for cells, noise in _beside_cells(found)
            if noise.method in methods
        ]
    return rows


def _readings() -> Any:  # noqa: ANN401 - an array; numpy is not imported in the scripts of peers
    from hartley.datasets.catalogue import dataset

    return dataset("solar_homes", homes=HOMES, days=1).readings()[:, 0]


def _random() -> Any:  # noqa: ANN401 - likewise
    import numpy as np

    return np.random.default_rng(SEED)


def _beside_cells(rows: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return every other release with the finest cells whose error is no smaller, by adversary.

    Where even the coarsest cells have a smaller error, they stand beside it.
    """
    found = []
    for row in rows:
        if row.method == "cells" or row.attack == "linkage":
            continue
        cells = [c for c in rows if (c.attack, c.method) == (row.attack, "cells")]
        coarser = [c for c in cells if c.error >= row.error]
        found.append((min(coarser or cells[:1], key=lambda c: c.error), row))
    return found


def _drawn(
    peer: str, python: str, methods: tuple[str, ...], textbook: Sequence[Any], count: int
) -> dict[tuple[str, float], Any]:
    """Let a peer draw all noise that the games need, in its own environment."""
    import numpy as np

    from hartley.papers.beyond import noise_scale

    errors = sorted({row.error for row in textbook if row.method in methods})
    wanted = [(method, noise_scale(method, error)) for method in methods for error in errors]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "noise")
        options = {"wanted": wanted, "count": count, "path": str(path)}
        measure(task(peer, __file__, peer, options, python=python))
        noise = np.fromfile(path).reshape(len(wanted), count)
    return dict(zip(wanted, noise, strict=True))


def _of_peer(drawn: Mapping[tuple[str, float], Any], *asked: Any) -> Any:  # noqa: ANN401 - arrays
    """Return the noise that a peer drew; the textbook's where it draws none of the kind."""
    from hartley.papers.beyond import textbook_noise

    method, scale, shape, _ = asked
    noise = drawn.get((method, scale))
    return textbook_noise(*asked) if noise is None else noise.reshape(shape)


def _check(before: Any, after: Any, name: str) -> None:  # noqa: ANN401 - rows, imported on use
    """Refuse the noise of a peer that is not the textbook's: intervals far apart."""
    room = 0.05
    if (
        before.success.low > after.success.high + room
        or after.success.low > before.success.high + room
    ):
        raise AssertionError(f"{name} draws another {after.method}: {after.success}")


def _told(cells: Any, other: Any, against: str) -> Row:  # noqa: ANN401 - likewise
    """Return the line that sets cells beside something else."""
    kept = "at most" if other.method == "k-anonymity" else "95 % within"
    found = other.success
    spread = max(found.high - found.value, found.value - found.low)
    return Row(
        benchmark=NAME,
        size=f"{kept} {other.error:.2g} kWh",
        product=f"cells, at most {cells.error:.2g} kWh",
        against=f"{against}, {other.setting}" if other.method == "k-anonymity" else against,
        quantity=f"advantage, {other.attack}",
        result=f"{cells.success.value:.3f} against {found.value:.3f} ± {spread:.3f}",
        value=found.value,
    )


def main() -> None:
    """Play, and print the table."""
    parser = argparse.ArgumentParser(description="Attack cells and the noise of peers.")
    parser.add_argument("--quick", action="store_true", help="few games")
    asked = parser.parse_args()
    show(run(Settings(quick=asked.quick)))


if __name__ == "__main__" and not serve(TASKS):
    main()
