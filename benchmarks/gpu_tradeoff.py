"""Privacy against distortion for 16,384 key values on a GPU: what is certified, in how long.

Self-contained: ``python benchmarks/gpu_tradeoff.py`` where PyTorch is installed (CUDA if there is
one), with the package on the path (``PYTHONPATH=src``). It needs NumPy and SciPy besides, prints
one line of JSON a stage, and takes about 30 GB of GPU memory for n = 16,384. The same functions run
on NumPy arrays: ``--device numpy``.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from hartley.policies.distortion.problem import Problem, normalised
from hartley.policies.distortion.search import solve_first, spread, start_coarse, stood_for

LAMBDA, RHO, REACH = 1.22, 0.95, 3.0


def main() -> None:
    asked = _parser().parse_args()
    began = time.perf_counter()
    grid = np.linspace(-REACH, REACH, asked.points)
    problem = _problem(grid, grid)
    _say("made", began, n=asked.points)
    rule, scores = _start(problem, grid, asked.coarse, asked.secrets)
    _say("coarse start", began, n=asked.coarse)
    move, device = _mover(asked.device)
    large = Problem(
        move(problem.given),
        move(problem.key),
        move(problem.secret),
        move(problem.distortion),
        LAMBDA,
    )

    def told(step: int, gap: float) -> bool:
        _say("steps", began, step=step, gap=gap)
        return time.perf_counter() - began > asked.seconds

    found = solve_first(
        large,
        tolerance=asked.tolerance,
        rule=move(rule),
        scores=move(scores),
        most=asked.steps,
        stop=told,
    )
    _say(
        "done",
        began,
        n=asked.points,
        gap=found.gap,
        cost=found.cost,
        bound=found.bound,
        steps=found.steps,
        device=device,
    )


def _problem(keys: Any, secrets: Any) -> Problem:  # noqa: ANN401 - NumPy arrays
    """Return the Gaussian of Section 6.1, the density sampled at these points."""
    w, x = secrets[:, None], keys[None, :]
    density = np.exp(-(w * w - 2 * RHO * w * x + x * x) / (2 * (1 - RHO * RHO)))
    density /= density.sum()
    return Problem.of(density, (keys[:, None] - keys[None, :]) ** 2, LAMBDA)


def _start(problem: Problem, grid: Any, size: int, secrets: int) -> tuple[Any, Any]:  # noqa: ANN401 - arrays
    """Solve on few key values and few confidential ones; interpolate the scores by splines.

    Scores are smooth in the confidential value: straight lines between few of them would lose as
    much of the bound as few key values do, splines lose next to nothing.
    """
    from scipy.interpolate import CubicSpline

    some = spread(grid.size, secrets)
    joint = (problem.given[:, some] * stood_for(some)).T * problem.key
    medium = Problem.of(joint / joint.sum(), problem.distortion, LAMBDA)
    start = start_coarse(medium, grid, size=size, tolerance=1e-7)
    shares = CubicSpline(grid[some], np.eye(some.size))(grid)
    released = np.zeros(grid.size)
    released[spread(grid.size, size)] = 1  # those in between only blur what was found
    return normalised(start.rule * released), shares @ start.scores


def _mover(device: str) -> tuple[Any, str]:
    """Return what carries an array to the device, and the name of the device."""
    if device == "numpy":
        return np.asarray, "NumPy"
    import torch

    place = device if device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name(0) if place.startswith("cuda") else "PyTorch on the CPU"

    def move(array: Any) -> Any:  # noqa: ANN401 - arrays of two libraries
        if isinstance(array, np.ndarray):
            return torch.as_tensor(np.ascontiguousarray(array), device=place)
        return array

    return move, name


def _say(stage: str, began: float, **numbers: Any) -> None:  # noqa: ANN401 - plain values
    seconds = round(time.perf_counter() - began, 1)
    print(json.dumps({"stage": stage, **numbers, "seconds": seconds}), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Certify a large problem on a GPU.")
    parser.add_argument("--points", type=int, default=16_384)
    parser.add_argument("--coarse", type=int, default=257, help="key values of the start")
    parser.add_argument("--secrets", type=int, default=257, help="confidential values of the start")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=480.0)
    parser.add_argument("--device", default="auto", help="auto, cuda, cpu or numpy")
    return parser


if __name__ == "__main__":
    main()
