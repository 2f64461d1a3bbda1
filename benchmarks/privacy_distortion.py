"""Privacy against distortion: certified answers against a cone solver and the paper's own descent.

The problem of Section 6.1 of the paper: a bivariate Gaussian of correlation 0.95 on n points from
-3 to 3, squared distortion, lambda 1.22 per nat. Everything is timed end to end, from the joint
distribution to the rule; every rule is certified by the same plain formula, outside the timing.
Where the worst case counts, the least distortion within half a nat is found, beside HiGHS for the
two objectives that are linear programmes. All run on one BLAS thread, because threads only disturb
matrices of this size.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from environments import PeerMissing, peer_python
from measure import Job, Work, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from measure import Rounds

NAME = "privacy-distortion"
LAMBDA, RHO, REACH = 1.22, 0.95, 3.0
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
COLD, COARSE = "certified, cold start", "certified, coarse to fine"
CONES = "cvxpy with Clarabel"
DESCENT = "projected descent of 2008, 32,000 steps"
STEPS, STEP = 32_000, 1e-4
HIGHS = "SciPy with HiGHS"
WORST = ("t_closeness", "delta_disclosure", "maximal_leakage")
WORST_RISK = 0.5
"""Nats within which the worst case has to stay."""


# --- jobs in a child process ------------------------------------------------------------------


def _problem(points: int) -> Any:  # noqa: ANN401 - NumPy arrays, imported on use
    """Return p(x,w), a row a key value, and the squared distances."""
    import numpy as np

    grid = np.linspace(-REACH, REACH, points)
    w, x = grid[None, :], grid[:, None]
    density = np.exp(-(w * w - 2 * RHO * w * x + x * x) / (2 * (1 - RHO * RHO)))
    return density / density.sum(), (grid[:, None] - grid[None, :]) ** 2


def _told(points: int, rule: Any, scores: Any = None) -> dict[str, float]:  # noqa: ANN401 - arrays
    """Return what a rule costs and how near the best it surely is, by the plain formulas."""
    import numpy as np

    joint, d = _problem(points)
    p, given = joint.sum(axis=1), joint / joint.sum(axis=1)[:, None]
    rule = np.maximum(rule, 0)
    rule /= rule.sum(axis=1)[:, None]
    mass = p[:, None] * rule
    u, t = given.T @ mass, mass.sum(axis=0)
    secret = joint.sum(axis=0)[:, None]
    live = u > 0
    risk = (u[live] * np.log((u / (secret * np.where(t > 0, t, 1)))[live])).sum()
    cost = (mass * d).sum() + LAMBDA * risk
    bounds = []
    # A rule with zeros proves nothing of itself: a little of the uniform one is mixed in.
    for share in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8) if scores is None else (0,):
        mixed = given.T @ (p[:, None] * ((1 - share) * rule + share / points))
        y = np.log(mixed / secret / mixed.sum(axis=0)) if scores is None else scores
        slack = d + LAMBDA * (given @ (y - np.log((secret * np.exp(y)).sum(axis=0))))
        bounds.append(p @ slack.min(axis=1))
    return {"cost": float(cost), "gap": float(cost - max(bounds))}


def certified(points: int, tolerance: float, coarse: bool) -> Job:  # noqa: FBT001 - from JSON
    """Solve with the product; told that the key is ordered, it starts on a coarse grid."""
    import math

    import numpy as np

    from hartley.policies.distortion.model import PrivacyDistortion

    joint, d = _problem(points)
    grid = np.linspace(-REACH, REACH, points).tolist()

    def run() -> Any:  # noqa: ANN401 - an answer of the product
        model = PrivacyDistortion(joint.T, "squared" if coarse else d, base=math.e, values=grid)
        return model.solve(lam=LAMBDA, tolerance=tolerance)

    def describe(answer: Any) -> dict[str, float]:  # noqa: ANN401 - likewise
        return _told(points, answer.matrix, answer.scores) | {"claimed": answer.gap}

    PrivacyDistortion(_problem(3)[0].T, _problem(3)[1]).solve(lam=1.0)
    return Job(run, describe)


def with_cvxpy(points: int) -> Job:
    """Solve with cvxpy's relative entropies and the interior-point solver Clarabel."""
    import cvxpy as cp
    import numpy as np

    joint, d = _problem(points)
    p, given = joint.sum(axis=1), joint / joint.sum(axis=1)[:, None]
    secret = joint.sum(axis=0)[:, None]

    def run() -> Any:  # noqa: ANN401 - a NumPy array, imported on use
        mass = cp.Variable((points, points), nonneg=True)
        product = secret @ cp.reshape(cp.sum(mass, axis=0), (1, points), order="C")
        risk = cp.sum(cp.rel_entr(given.T @ mass, product))
        cost = cp.sum(cp.multiply(d, mass)) + LAMBDA * risk
        cp.Problem(cp.Minimize(cost), [cp.sum(mass, axis=1) == p]).solve(solver=cp.CLARABEL)
        return np.asarray(mass.value) / p[:, None]

    return Job(run, lambda rule: _told(points, rule))


def descent(points: int) -> Job:
    """Go down the gradient by small steps, each projected back onto the rules, as the paper did."""
    import numpy as np

    joint, d = _problem(points)
    given = joint / joint.sum(axis=1)[:, None]
    p, secret = joint.sum(axis=1)[:, None], joint.sum(axis=0)[:, None]
    places = np.arange(1, points + 1)

    def run() -> Any:  # noqa: ANN401 - a NumPy array, imported on use
        rule = np.full((points, points), 1 / points)
        for _ in range(STEPS):
            u = given.T @ (p * rule)
            logs = np.log(np.maximum(u, 1e-300) / secret / np.maximum(u.sum(axis=0), 1e-300))
            rule = rule - STEP * p * (d + LAMBDA * (given @ logs))
            ordered = -np.sort(-rule, axis=1)
            excess = (np.cumsum(ordered, axis=1) - 1) / places
            kept = (ordered > excess).sum(axis=1) - 1
            rule = np.maximum(rule - excess[np.arange(points), kept][:, None], 0)
        return rule

    return Job(run, lambda rule: _told(points, rule))


def worst_case(points: int, objective: Any) -> Job:  # noqa: ANN401 - one of WORST, from JSON
    """Find the least distortion within a worst-case risk with the product, certified to 1e-6."""
    import math

    from hartley.policies.distortion.model import PrivacyDistortion

    joint, d = _problem(points)

    def run() -> Any:  # noqa: ANN401 - an answer of the product
        model = PrivacyDistortion(joint.T, d, base=math.e, objective=objective)
        return model.solve(risk=WORST_RISK, tolerance=1e-6)

    PrivacyDistortion(_problem(3)[0].T, _problem(3)[1], objective=objective).solve(risk=0.1)
    return Job(run, lambda answer: {"cost": answer.distortion, "gap": answer.gap})


def with_highs(points: int, objective: str) -> Job:
    """Solve the same linear programme with the faster method of HiGHS for its size."""
    import math

    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, eye, hstack, kron, vstack

    joint, d = _problem(points)
    method = "highs-ds" if points <= 31 else "highs-ipm"

    def run() -> Any:  # noqa: ANN401 - a result of SciPy's
        p = joint.sum(axis=1)
        ratios = (joint / p[:, None] / joint.sum(axis=0)).T
        equal = kron(np.ones((1, points)), eye(points), format="csr")
        if objective == "delta_disclosure":
            limits = np.vstack([ratios - math.exp(WORST_RISK), math.exp(-WORST_RISK) - ratios])
            rows = kron(eye(points), limits, format="csr")
            right = np.zeros(rows.shape[0])
            return linprog(d.T.ravel(), A_ub=rows, b_ub=right, A_eq=equal, b_eq=p, method=method)
        peaks = kron(eye(points), -np.ones((points, 1)))
        total = np.concatenate([np.zeros(points * points), np.ones(points)])
        rows = vstack([hstack([kron(eye(points), ratios), peaks]), csr_matrix(total)], format="csr")
        right = np.append(np.zeros(rows.shape[0] - 1), math.exp(WORST_RISK))
        cost = np.append(d.T.ravel(), np.zeros(points))
        equal = hstack([equal, csr_matrix((points, points))], format="csr")
        return linprog(cost, A_ub=rows, b_ub=right, A_eq=equal, b_eq=p, method=method)

    return Job(run, lambda solved: {"cost": float(solved.fun)})


TASKS = {
    "certified": certified,
    "cvxpy": with_cvxpy,
    "descent": descent,
    "worst_case": worst_case,
    "highs": with_highs,
}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Compare at 31 and 101 points; beyond, where no peer goes, show what is certified."""
    few = settings.sized(31, 31, 5)
    rows = _compare(settings, few, {COLD: 1.0})
    rows += [row for name in WORST for row in _worst(settings, few, name)]
    if settings.quick:
        return rows
    rows += _compare(settings, 101, {COLD: 8.0, COARSE: 20.0})
    rows += [row for name in WORST for row in _worst(settings, 101, name)]
    for points, tolerance, aim in ((301, 1e-5, 1e-5), (1001, 1e-4, 5e-4)):
        rows += _alone(settings, points, tolerance, aim)
    return rows


def _compare(settings: Settings, points: int, aims: Mapping[str, float]) -> list[Row]:
    settings.log(f"{NAME}: {points} points")
    works = [
        _work(name, "certified", points=points, tolerance=1e-6, coarse=name == COARSE)
        for name in aims
    ]
    missing: dict[str, str] = {}
    try:
        python = peer_python("cvxpy", allowed=settings.peers)
        peer = task(CONES, __file__, "cvxpy", {"points": points}, python=python)
        works.append(replace(peer, variables=ONE_THREAD))
    except PeerMissing as reason:
        missing[CONES] = str(reason)
    if points <= 31:
        works.append(_work(DESCENT, "descent", points=points))
    rounds = measure_together(works, repeats=min(settings.repeats, 1 if points > 31 else 3))
    missing |= rounds.failed
    rows = []
    for name, aim in aims.items():
        topic = Topic(NAME, f"{points} points", name, CONES)
        rows += _rows(topic, rounds, missing, None if settings.quick else aim)
        rows += _gaps(topic, rounds, name, 1e-6)
    rows += _gaps(Topic(NAME, f"{points} points", CONES, "-"), rounds, CONES, None)
    if DESCENT in rounds.found:
        best, stuck = (rounds.found[name][0].answer["cost"] for name in (next(iter(aims)), DESCENT))
        rows.append(
            Row(
                benchmark=NAME,
                size=f"{points} points",
                product=DESCENT,
                against="the certified optimum",
                quantity="cost",
                result=f"{100 * (stuck / best - 1):.1f} % higher",
                value=stuck / best,
            )
        )
    return rows


def _alone(settings: Settings, points: int, tolerance: float, aim: float) -> list[Row]:
    settings.log(f"{NAME}: {points} points")
    work = _work(COARSE, "certified", points=points, tolerance=tolerance, coarse=True)
    rounds = measure_together([work], repeats=1)
    topic = Topic(NAME, f"{points} points", COARSE, "-")
    if COARSE in rounds.failed:
        return [topic.missing(rounds.failed[COARSE], missed=True)]
    return _gaps(topic, rounds, COARSE, aim)


def _worst(settings: Settings, points: int, objective: str) -> list[Row]:
    """Show what is certified in the worst case, and the time beside another solver's."""
    settings.log(f"{NAME}: {points} points, {objective}")
    name = objective.replace("_", " ")
    works = [_work(name, "worst_case", points=points, objective=objective)]
    if objective != "t_closeness":
        works.append(_work(HIGHS, "highs", points=points, objective=objective))
    rounds = measure_together(works, repeats=min(settings.repeats, 1 if points > 31 else 3))
    topic = Topic(NAME, f"{points} points", name, HIGHS)
    if name in rounds.failed:
        return [topic.missing(rounds.failed[name], missed=True)]
    rows = _gaps(topic, rounds, name, 1e-6)
    return rows if len(works) == 1 else [*_rows(topic, rounds, rounds.failed, None), *rows]


def _rows(topic: Topic, rounds: Rounds, missing: Mapping[str, str], aim: float | None) -> list[Row]:
    names = topic.product, topic.against
    for name in names:
        if name in missing:
            return [topic.missing(missing[name])]
    return [
        replace(topic, quantity=quantity).beats(
            ratio(rounds.found[topic.against], rounds.found[topic.product], field),
            at_least=aim,
            raw=raw(rounds.found, field, *names),
        )
        for quantity, field in (("wall time", "seconds"), ("CPU time", "cpu"))
    ]


def _gaps(topic: Topic, rounds: Rounds, name: str, aim: float | None) -> list[Row]:
    """Return the row that says how near the best an answer is proved to be."""
    if name not in rounds.found:
        return []
    measured = rounds.found[name]
    gap = max(one.answer.get("claimed", one.answer["gap"]) for one in measured)
    return [
        Row(
            benchmark=topic.benchmark,
            size=topic.size,
            product=topic.product,
            against="-",
            quantity="certified gap",
            result=f"{gap:.1e}",
            target="-" if aim is None else f"at most {aim:.0e}",
            met=None if aim is None else gap <= aim,
            value=gap,
            seconds=raw(rounds.found, "seconds", name),
        )
    ]


def _work(name: str, task_name: str, **options: float | str) -> Work:
    return replace(task(name, __file__, task_name, options), variables=ONE_THREAD)


if __name__ == "__main__" and not serve(TASKS):
    parser = argparse.ArgumentParser(description="Measure the privacy-distortion solver alone.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    asked = parser.parse_args()
    found = run(Settings(quick=asked.quick, peers=not asked.no_peers, repeats=1))
    show(found)
    for row in found:
        print(row.size, row.product, row.quantity, row.result, dict(row.seconds or {}))
