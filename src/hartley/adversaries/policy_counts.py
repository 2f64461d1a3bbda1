"""Count over all released records what is left possible, and what is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.adversaries.policy_finding import CLASSES, ColumnInversion, HiddenHypothesis
from hartley.adversaries.policy_inputs import size_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.adversaries.policy_inputs import PossibleInputs


def column_inversions(possible: PossibleInputs) -> list[ColumnInversion]:
    """Return what is left of every unknown column of a part."""
    part, draws = possible.part, possible.part.draws
    sizes = {name: size_of(part.domains.get(name)) for name in part.unknown}
    for place, name in enumerate(() if draws is None else part.released):
        assert draws is not None
        several = len(part.released) > 1
        sizes[name] = len({value[place] if several else value for value in draws.values})
    return [_column(possible, i, sizes[name]) for i, name in enumerate(part.unknown)]


def _column(possible: PossibleInputs, i: int, values: int | None) -> ColumnInversion:
    observed, counts = possible.observed, possible.counts[i]
    least, largest = possible.least[i], possible.largest[i]
    rows, fits = observed.rows, counts > 0
    single = fits & (counts == 1) & ~possible.boundless
    widths = largest - least
    classes = np.searchsorted([most for _, most in CLASSES], np.maximum(counts, 1))
    total = int(rows.sum())
    by_class = np.bincount(classes[fits], rows[fits], len(CLASSES)) / max(total, 1)
    has_width = bool(fits.any()) and not np.isnan(widths[fits]).any()
    best = possible.best_guess
    return ColumnInversion(
        name=possible.part.unknown[i],
        rows=total,
        left_out=observed.left_out,
        impossible=int(rows[~fits].sum()),
        single=int(rows[single].sum()),
        fewest=int(counts[fits].min()) if fits.any() else 0,
        typical=int(middle_of(counts[fits], rows[fits])),
        values=values,
        narrowest=float(widths[fits].min()) if has_width else None,
        typical_width=middle_of(widths[fits], rows[fits]) if has_width else None,
        boundless=int(rows[fits & possible.boundless].sum()),
        best_guess=None if best is None or not fits.any() else float(best[fits].max()),
        stepped=possible.stepped,
        shares=tuple(by_class.tolist()),
        records=_records(possible, possible=counts, least=least, largest=largest),
    )


def hidden_hypotheses(possible: PossibleInputs, beyond: str) -> list[HiddenHypothesis]:
    """Return for how many records each hypothesis that a part hides is decided."""
    observed, hypotheses = possible.observed, []
    for i, side in enumerate(possible.part.hidden):
        can_hold, can_fail = possible.can_hold[i], possible.can_fail[i]
        decided = can_hold ^ can_fail
        promised = possible.promised[i]
        hypotheses.append(
            HiddenHypothesis(
                text=side.text,
                true=int(observed.rows[can_hold & ~can_fail].sum()),
                false=int(observed.rows[~can_hold & can_fail].sum()),
                open=int(observed.rows[can_hold & can_fail].sum()),
                promised=0 if beyond else int(observed.rows[promised].sum()),
                broken=0 if beyond else int(observed.rows[promised & decided].sum()),
                stepped=possible.stepped,
                beyond=beyond,
                records=_records(possible, can_hold=can_hold, can_fail=can_fail),
            )
        )
    return hypotheses


def _records(inputs: PossibleInputs, **numbers: NDArray[Any]) -> Any:  # noqa: ANN401 - Arrow carries no types
    """Return the different records as an Arrow table, with what is possible for each."""
    import pyarrow as pa

    observed = inputs.observed
    values = {
        "released": dict(zip(inputs.part.released, observed.outputs, strict=True)),
        "known": dict(observed.fixed),
    }
    columns = {
        name: pa.StructArray.from_arrays(list(arrays.values()), list(arrays))
        for name, arrays in values.items()
        if arrays
    }
    return pa.table({"rows": observed.rows, **numbers, **columns})


def middle_of(numbers: NDArray[np.float64], rows: NDArray[np.int64]) -> float:
    """Return the number of the record in the middle, the lower one of two.

    Example:
        >>> middle_of(np.array([9.0, 1.0]), np.array([2, 3]))
        1.0
    """
    if not len(numbers):
        return 0.0
    order = np.argsort(numbers, kind="stable")
    reached = np.cumsum(rows[order])
    return float(numbers[order][np.searchsorted(reached, (reached[-1] + 1) // 2)])
