"""Former home of the measures of continuous ranges; every name still imports, with a warning."""

from __future__ import annotations

import warnings
from importlib import import_module

_MOVED = {
    "IntervalAnalysis": "hypothesis.IntervalAnalysis",
    "analyse_intervals": "hypothesis.analyse_intervals",
    "Estimate": "estimation.CellEstimate",
    "best_estimator": "estimation.best_estimator",
    "largest_error": "estimation.largest_error",
    "largest_error_bound": "estimation.largest_error_bound",
    "smallest_error": "estimation.smallest_error",
    "smallest_error_bound": "estimation.smallest_error_bound",
    "conditional_entropy": "entropy.conditional_entropy",
    "hartley_entropy": "entropy.hartley_entropy",
    "relative_disarray": "entropy.relative_disarray",
    "information_transmission": "leakage.information_transmission",
    "nonstochastic_information": "leakage.nonstochastic_information",
    "nonstochastic_leakage": "leakage.nonstochastic_leakage",
    "maximin_information": "leakage.maximin_information",
}


def __getattr__(name: str) -> object:
    if name not in _MOVED:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    module, new = _MOVED[name].split(".")
    warnings.warn(
        f"{__name__}.{name} is now hartley.measures.{module}.{new}",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(import_module(f"hartley.measures.{module}"), new)
