"""The trade-off between what a perturbed release tells and how far it is from the truth."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import check_base
from hartley.measures.leakage import mutual_information
from hartley.policies.distortion.curve import (
    OBJECTIVES,
    CurveTerms,
    TradeoffResult,
    trace_curve,
    wanted_gap,
)
from hartley.policies.distortion.problem import (
    Problem,
    Sees,
    as_number,
    check_tolerance,
    check_values,
    check_wish,
    covariance,
    gaussian_joint,
    looks_at_secret,
    numeric_columns,
    read_distortion,
    read_joint,
    read_secret_distortion,
    rule_inputs,
    sorted_places,
)
from hartley.policies.distortion.search import Solver, SolverAnswer
from hartley.policies.distortion.worst_case import LEAST_TOLERANCE, WorstCase, trace_worst
from hartley.policies.distortion.worst_case_limits import LIMITS
from hartley.ranges.distribution import JointDistribution
from hartley.text import unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hartley.policies.distortion.curve import Objective, TradeoffCurve
    from hartley.policies.distortion.search import Method


class PrivacyDistortion:
    r"""The least that a perturbed key tells about a confidential side, for a mean distortion.

    .. math:: R(D) = \min_{P(\hat x|x) :\, E\, d(X, \hat X) \le D} I(W; \hat X)

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, eq. (2): the release is drawn from the key X
    alone, so W - X - X^ is a Markov chain. R(D) is convex and does not grow. Every answer carries a
    certified gap: a lower bound of what any rule costs, from the dual problem, computed with every
    rounding error subtracted. Small alphabets are solved to about 1e-12 by interior points
    (|X^| |X|^3 operations a step, some 30 steps), large ones by accelerated multiplicative
    updates (two products of matrices a step), ordered keys from coarse to fine. Where interior
    points stall, the updates go on from there. The certificates are about rules that release one
    of the listed values; the means of what is behind these (``hartley.policies.reconstruct``) may
    do better.

    Args:
        joint: p(w, x), a row a confidential value and a column a key value; or a
            JointDistribution.
        distortion: a matrix, a row a key value and a column a released value; "squared",
            "absolute" (sums over the key's columns) or "zero_one"; a dict from each key value to
            its path of ever wider groups, for the number of levels until two values meet; or a
            function of two key values. A distortion d(w, x, x^) that depends on the confidential
            value too is an array with an axis for each, or a function of three values.
        base: of the logarithms; risks and lam count in its unit.
        values: the key values; 0, 1, 2, ... if left out.
        method: "second" or "first" order alone; "auto" takes the second for small alphabets, and
            the first where that stalls.
        objective: what risk means. "mutual_information" I(W;X^) is the paper's, an average. Of
            the worst case are "t_closeness", the largest divergence of p(w|x^) from p(w) over the
            released values; "delta_disclosure", the largest |log p(w|x^)/p(w)|; and
            "maximal_leakage", log sum_x^ max_w p(x^|w). Those are solved by interior points
            for every ``method``, |X^| |X|^2 (|X| + |W|) operations a step: some 30 steps within a
            risk, a few hundred within a distortion or for a lam.
        sees: what a rule draws from. "key" is the paper's P(x^|x); "both" are rules P(x^|w, x),
            for which the pair (w, x) takes the place of the key (``rule_inputs`` shows why the
            certificates stay valid). They are never worse, and need the confidential value of
            every record when it is released.
        confidential_values: those that a distortion of three values gets; 0, 1, 2, ... if left
            out.

    Example:
        >>> model = PrivacyDistortion([[0.5, 0.0], [0.0, 0.5]], "zero_one")
        >>> answer = model.solve(distortion=0.11)
        >>> round(answer.risk, 4)  # 1 - H(0.11), as for any source that is released directly
        0.5001
        >>> joint = [[0.375, 0.125], [0.125, 0.375]]
        >>> for sees in ("key", "both"):  # seeing w, it is enough to turn a third of the likelier
        ...     quiet = PrivacyDistortion(joint, "zero_one", sees=sees).solve(risk=0)
        ...     print(round(quiet.distortion, 6))
        0.5
        0.25
    """

    def __init__(  # noqa: PLR0913 - each is one choice of the user's
        self,
        joint: JointDistribution | ArrayLike,
        distortion: object,
        *,
        base: float = 2,
        values: Sequence[Any] | None = None,
        method: Method = "auto",
        objective: Objective = "mutual_information",
        sees: Sees = "key",
        confidential_values: Sequence[Any] | None = None,
    ) -> None:
        check_base(base)
        if objective not in OBJECTIVES:
            raise OptionError(
                f"There is no objective called {objective}",
                hint=f"choose from {', '.join(OBJECTIVES)}",
            )
        if method not in {"auto", "first", "second"}:
            raise OptionError(
                f"There is no method called {method}", hint="choose from auto, first, second"
            )
        if sees not in {"key", "both"}:
            raise OptionError(
                f"A rule cannot see {sees}",
                hint="choose key, or both for the key and the confidential side",
            )
        self.joint = read_joint(joint)
        secrets, keys = self.joint.matrix.shape
        self.values = check_values(values, keys)
        named = check_values(confidential_values, secrets, "confidential", "row")
        self.base = base
        points = None
        if looks_at_secret(distortion):
            occurs = self.joint.matrix > 0
            read = read_secret_distortion(distortion, named, self.values, occurs)
        else:
            read, points = read_distortion(distortion, self.values)
        self.released = self.values if read.shape[-1] == keys else tuple(range(read.shape[-1]))
        inputs = rule_inputs(self.joint.matrix, read, sees)
        self.sees: Sees = sees
        self.distortion = inputs.distortion
        """d(x, x^), a row an input of a rule: for a distortion of three values, its mean."""
        self.inputs: tuple[Any, ...] = self.values
        """What a rule draws from, one a row of its matrix: key values, or pairs (w, x)."""
        if inputs.secrets is not None and inputs.keys is not None:
            pairs = zip(inputs.secrets.tolist(), inputs.keys.tolist(), strict=True)
            self.inputs, points = tuple((named[w], self.values[x]) for w, x in pairs), None
        self._seen = JointDistribution(inputs.joint)
        self.squared = isinstance(distortion, str) and distortion == "squared"
        self.reference: tuple[float, float] | None = None
        """Correlation and variance of a Gaussian to compare with, for squared distortion."""
        self.confidential_values: tuple[Any, ...] | None = (
            None if confidential_values is None else named
        )
        """Of the rows of the joint distribution, where they have names."""
        self.rows: int | None = None
        self.notes: tuple[str, ...] = ()
        problem = Problem.of(inputs.joint, self.distortion, 1.0)
        self.objective = objective
        self._average = average = Solver.of(problem, points, method)
        self._solver: Solver | WorstCase
        self._trace: Callable[..., TradeoffCurve]
        if objective == "mutual_information":
            self._solver, self._tolerance = average, 1e-10  # interior points reach it
            self._trace = partial(trace_curve, average)
        else:
            worst = WorstCase(average, objective)
            self._solver, self._tolerance = worst, LEAST_TOLERANCE
            self._trace = partial(trace_worst, worst)

    # --- where problems come from -------------------------------------------------------------

    @classmethod
    def from_table(  # noqa: PLR0913 - each is one choice of the user's
        cls,
        table: object,
        *,
        confidential: str | Sequence[str],
        key: str | Sequence[str],
        distortion: object = "squared",
        base: float = 2,
        bins: Any = None,  # noqa: ANN401 - a mapping, checked by the relation
        missing: str = "released",
        method: Method = "auto",
        objective: Objective = "mutual_information",
        sees: Sees = "key",
    ) -> PrivacyDistortion:
        """Take the relative frequencies of a table's rows for the joint distribution.

        A column may be confidential and a key at once: then the key determines that part of the
        confidential side. With the same columns on both sides R(D) is Shannon's rate-distortion
        function (Section 4.5 of the paper).

        Args:
            table: anything that ``hartley.open_table`` takes.
            confidential: the column or columns to protect.
            key: the column or columns that are released perturbed; they may be confidential, too.
            distortion: as in the constructor; functions and paths get tuples of several columns.
                An array is in the order of ``values``, and of ``confidential_values`` where it
                has three axes: both sorted, where they compare.
            base: of the logarithms.
            bins: the width of the bins of numeric columns, by name.
            missing: "released" makes missing a value of the key, which is released, and leaves out
                rows whose confidential value is missing; "value" makes it a value of both sides;
                "drop" leaves out every row with a missing value.
            method: as in the constructor.
            objective: as in the constructor.
            sees: as in the constructor.

        Example:
            >>> people = {"age": [30, 30, 40, 40], "sick": ["yes", "no", "no", "no"]}
            >>> model = PrivacyDistortion.from_table(people, confidential="sick", key="age")
            >>> model.values, round(model.largest_risk, 4)
            ((30, 40), 0.3113)
        """
        from hartley.ranges.relation import Relation

        relation = Relation.from_table(
            table, secret=confidential, released=key, bins=bins, missing=missing
        )
        secrets, keys = relation.summary.secrets, relation.summary.released
        inputs = relation.pairs().counts.size if sees == "both" else keys
        if max(secrets * inputs, keys * inputs) > 50_000_000:
            raise OptionError(
                f"The key has {keys:,} values and the confidential side {secrets:,}, too many for "
                "a matrix of probabilities",
                hint="give numeric columns in bins, or fewer columns",
            )
        joint = JointDistribution.from_relation(relation)
        listed, hidden = relation.released_range, relation.secret_range
        order = sorted_places(listed)
        # Only a distortion of three values depends on the order of the confidential ones.
        rows = sorted_places(hidden) if looks_at_secret(distortion) else range(len(hidden))
        if isinstance(distortion, str):  # refuses with the names of the columns
            read_distortion(distortion, listed, relation.released_names)
        model = cls(
            joint.matrix[np.ix_(rows, order)],
            distortion,
            base=base,
            values=[listed[place] for place in order],
            method=method,
            objective=objective,
            sees=sees,
            confidential_values=[hidden[place] for place in rows],
        )
        sentences = (
            relation.left_out_sentence,
            *(relation.view.missing_notes if relation.view else ()),
        )
        model.notes = tuple(note for note in (*sentences, relation.note) if note)
        model.rows = relation.rows
        if model.squared and objective == "mutual_information" and sees == "key":
            model.reference = covariance(joint.matrix, relation.secret_range, listed)
        return model

    @classmethod
    def gaussian(  # noqa: PLR0913 - each is one choice of the user's
        cls,
        *,
        rho: float,
        points: int = 31,
        reach: float = 3.0,
        distortion: object = "squared",
        base: float = 2,
        method: Method = "auto",
        objective: Objective = "mutual_information",
    ) -> PrivacyDistortion:
        """Take a standard bivariate Gaussian of correlation rho, on a grid.

        W, X and X^ lie on so many equidistant points from -reach to reach; the density is sampled
        there and normalised (Section 6.1 of the paper: rho 0.95, 31 points, reach 3).

        Example:
            >>> model = PrivacyDistortion.gaussian(rho=0.95, points=31, base=math.e)
            >>> round(model.solve(lam=1.22).cost, 6)
            0.851259
        """
        joint, grid = gaussian_joint(rho, points, reach)
        model = cls(
            joint, distortion, base=base, values=grid.tolist(), method=method, objective=objective
        )
        if model.squared and objective == "mutual_information":
            model.reference = float(rho), 1.0
        return model

    # --- what can be reached ------------------------------------------------------------------

    @property
    def least_distortion(self) -> float:
        """The distortion of the most faithful release."""
        return self._average.least

    @property
    def constant_distortion(self) -> float:
        """The distortion of the best release that is always the same and tells nothing."""
        return self._average.constant

    @property
    def largest_distortion(self) -> float:
        """The distortion of the worst release of all."""
        return float(self._seen.matrix.sum(axis=0) @ self.distortion.max(axis=1))

    @property
    def largest_risk(self) -> float:
        """What the key itself tells about the confidential side, for instance I(W;X)."""
        return self._measure(self.joint, base=self.base)

    @property
    def _measure(self) -> Callable[..., float]:
        if self.objective == "mutual_information":
            return mutual_information
        return LIMITS[self.objective].measure

    # --- answers ------------------------------------------------------------------------------

    def solve(
        self,
        *,
        lam: float | None = None,
        distortion: float | None = None,
        risk: float | None = None,
        tolerance: float | None = None,
    ) -> TradeoffResult:
        """Return the best rule for a lam, within a distortion, or within a risk.

        Args:
            lam: minimise distortion + lam * risk.
            distortion: minimise the risk with at most this mean distortion. From the distortion
                of a constant release on, such a release is the answer, which tells nothing.
            risk: minimise the distortion with at most this risk.
            tolerance: the gap to reach, as a share of how much more a constant release distorts
                than the most faithful one; 1e-10 if left out, 1e-9 where the worst case counts.
                Where a method stalls, the next one goes on. An answer may still miss it, above all
                of a large alphabet: ``reached`` and the sentences say so, and the gap is true in
                any case.

        Example:
            >>> model = PrivacyDistortion([[0.5, 0.0], [0.0, 0.5]], "zero_one")
            >>> model.solve(risk=0).distortion, model.solve(distortion=0).risk
            (0.5, 1.0)
            >>> model.solve(distortion=100).risk
            0.0
        """
        if sum(wish is not None for wish in (lam, distortion, risk)) != 1:
            raise OptionError(
                "Exactly one of lam, distortion and risk is needed",
                hint="for example solve(lam=1.5)",
            )
        if tolerance is None:
            tolerance = self._tolerance
        check_tolerance(tolerance)
        if lam is not None:
            weight = as_number(lam) / math.log(self.base)
            if not 0 < weight < math.inf:
                raise OptionError(f"The lam {lam} is not a positive number", hint="write lam=1.5")
            return self._result(self._solver.at_weight(weight, tolerance), tolerance)
        if distortion is not None:
            low, high = self.least_distortion, self.largest_distortion
            target = check_wish(distortion, "distortion", low, high, "")
            return self._result(self._solver.at_distortion(target, tolerance), tolerance)
        # A rule that sees the confidential value can tell more about it than the key does.
        most = self._measure(self._seen, base=self.base)
        target = check_wish(risk, "risk", 0.0, most, f" {unit_of(self.base)}")
        nats = target * math.log(self.base)
        return self._result(self._solver.at_risk(nats, tolerance), tolerance)

    def curve(
        self,
        *,
        points: int = 24,
        tolerance: float = 1e-6,
        reconstruct: bool = False,
        progress: Callable[[str, float], None] | None = None,
    ) -> TradeoffCurve:
        """Return the whole curve R(D), between bounds that are certified everywhere.

        Each next lam is the slope of the chord where the bounds lie farthest apart. Above, the
        curve is below the chords of its points (mixtures of rules); below, above the tangents that
        the certificates prove. Where the worst case counts, it need be neither convex nor
        continuous: there each next limit of the risk is where most is unknown, and above are the
        mixtures of neighbouring rules, one by one.

        Args:
            points: how many rules to compute.
            tolerance: of each of them.
            reconstruct: also work out the squared distortion of E[X|Q] after each of them
                (Proposition 3 of the paper). Those means need not be values of the key, so that
                they may do better than the bounds, which are about rules that release such values.
            progress: called with the share of them that is done.

        Example:
            >>> curve = PrivacyDistortion([[0.5, 0.0], [0.0, 0.5]], "zero_one").curve(points=5)
            >>> curve.upper(0.25) >= curve.lower(0.25) > 0.1
            True
        """
        if not (isinstance(points, (int, np.integer)) and points >= 3):
            raise OptionError(
                f"A curve needs more points than {points}", hint="give 3 points or more"
            )
        check_tolerance(tolerance)
        numbers = (self._seen.matrix.sum(axis=0), self._key_numbers()) if reconstruct else None
        terms = CurveTerms(self.base, self.objective, self.largest_risk, self.reference, numbers)
        tell = progress or (lambda _kind, _share: None)
        return self._trace(terms, points=points, tolerance=tolerance, progress=tell)

    def _key_numbers(self) -> NDArray[np.float64]:
        """Return the key of every input of a rule as a row of numbers."""
        if not self.squared:
            raise OptionError(
                "The mean is the best estimate for squared distortion only",
                hint="leave out reconstruct, or measure squared distortion",
            )
        keys = self.values if self.sees == "key" else [key for _, key in self.inputs]
        return np.column_stack(numeric_columns(keys, "squared"))

    def _result(self, answer: SolverAnswer, tolerance: float) -> TradeoffResult:
        nats = math.log(self.base)
        return TradeoffResult(
            matrix=answer.rule,
            distortion=answer.distortion,
            risk=answer.risk / nats,
            lam=answer.weight * nats,
            gap=answer.gap,
            base=self.base,
            values=self.released,
            least_risk=answer.least_risk / nats,
            largest_risk=self.largest_risk,
            steps=answer.steps,
            scores=answer.scores,
            objective=self.objective,
            wanted_gap=wanted_gap(tolerance, self._solver.scale),
            sees=self.sees,
        )
