"""Linear programmes over one component of a table: the solver proposes, exact numbers decide."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BEYOND, FARTHEST = 1e6, 2.0**50
NEAR_WHOLE = 1e-6
"""A vertex this close to whole numbers is rounded, and then checked in whole numbers."""


class Proposal(NamedTuple):
    """What a solver returns: a point, and multipliers of the rows."""

    point: NDArray[np.float64]
    multipliers: NDArray[np.float64] | None


class TableProgramme:
    """Minimises sums of numbers with bounds, where signed sums have given values.

    Uses highspy if it is installed: only the cost changes from one solve to the next, and the
    simplex method starts from the last vertex. Otherwise scipy's HiGHS solves every programme anew.
    """

    def __init__(  # noqa: PLR0913 - the parts of a programme
        self,
        rows: Any,  # noqa: ANN401 - a sparse matrix of scipy's, untyped
        right: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        far: int,
        *,
        steps: int | None = None,
    ) -> None:
        self.rows, self.right = rows, right.astype(np.float64)
        self.steps = steps
        # A cell without an end gets one that is out of the way: an unbounded programme has no
        # vertex to harvest. No bound is proved from it, since proofs use the stated bounds.
        ends = np.abs(low[low > -far]).sum() + np.abs(right).sum()
        beyond = min(2.0 * float(ends) + BEYOND, FARTHEST)
        self.low = np.where(low <= -far, -beyond, low.astype(np.float64))
        self.high = np.where(high >= far, beyond, high.astype(np.float64))
        self._model: Any = _warm_model(self) if find_spec("highspy") else None
        self._cost = np.zeros(low.size)

    def solve(self, cost: NDArray[np.float64]) -> Proposal | None:
        """Return a vertex of least cost and the multipliers of the rows, None without one."""
        if self._model is not None:
            return self._solve_warm(cost)
        from scipy.optimize import linprog

        solved: Any = linprog(
            cost,
            A_eq=self.rows,
            b_eq=self.right,
            bounds=np.column_stack([self.low, self.high]),
            method="highs-ds",
            options={} if self.steps is None else {"maxiter": self.steps},
        )
        if solved.status != 0:
            return None
        return Proposal(solved.x, np.asarray(solved.eqlin.marginals))

    def _solve_warm(self, cost: NDArray[np.float64]) -> Proposal | None:
        import highspy

        changed = np.flatnonzero(cost != self._cost)
        self._model.changeColsCost(
            changed.size, changed.astype(np.int32), cost[changed].astype(np.float64)
        )
        self._cost = cost.copy()
        self._model.run()
        if self._model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._model.getSolution()
        return Proposal(np.array(solution.col_value), np.array(solution.row_dual))

    def solve_at(self, place: int, value: int) -> NDArray[np.float64] | None:
        """Return a vertex among the points with a given number at one place; None without one."""
        ends = self.low[place], self.high[place]
        cost = np.zeros(self.low.size)
        self._bound(place, (float(value), float(value)))
        try:
            proposal = self.solve(cost)
        finally:
            self._bound(place, ends)
        return None if proposal is None else proposal.point

    def _bound(self, place: int, ends: tuple[float, float]) -> None:
        self.low[place], self.high[place] = ends
        if self._model is not None:
            self._model.changeColBounds(place, *ends)

    def solve_whole(self, cost: NDArray[np.float64], nodes: int) -> NDArray[np.float64] | None:
        """Return a whole point of small cost, found within so many nodes; None without one."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        solved: Any = milp(
            cost,
            constraints=LinearConstraint(self.rows, self.right, self.right),
            bounds=Bounds(self.low, self.high),
            integrality=np.ones(cost.size),
            options={"node_limit": nodes},
        )
        return None if solved.x is None else np.asarray(solved.x)


def _warm_model(programme: TableProgramme) -> Any:  # noqa: ANN401 - highspy carries no types
    import highspy

    matrix = programme.rows.tocsr()
    model = highspy.Highs()  # type: ignore[no-untyped-call]  # it ships no complete types
    model.setOptionValue("output_flag", False)  # noqa: FBT003 - the name is in the option
    model.setOptionValue("threads", 1)
    model.setOptionValue("presolve", "off")
    model.setOptionValue("solver", "simplex")
    if programme.steps is not None:
        model.setOptionValue("simplex_iteration_limit", programme.steps)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = matrix.shape[1], matrix.shape[0]
    lp.col_cost_ = np.zeros(matrix.shape[1])
    lp.col_lower_ = programme.low
    lp.col_upper_ = programme.high
    lp.row_lower_ = lp.row_upper_ = programme.right
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = matrix.data.astype(np.float64)
    model.passModel(lp)
    return model
