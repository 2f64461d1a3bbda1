"""What is promised of data with a step: how many possible records leave a hypothesis open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError, printable
from hartley.guarantees.promise import UNRELATED, Consequence, D, Promise
from hartley.wording import digits_down, exactly, exactly_or_up, listed, verb_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hartley.policies.hypotheses.open_records import OpenHypothesis


def promise_open(opened: OpenHypothesis) -> Promise:
    r"""Certify a policy on data with a step by the number of records that it leaves open.

    .. math:: \log_2 \frac{N}{N - R}

    with R of N possible records open: an output of theirs has possible records on either side.
    Farokhi 2021, Theorem 4, corrected and counted in records. Exact.
    """
    counts, hypothesis = opened.counts, printable(opened.hypothesis)
    if not counts.open:
        raise OptionError(
            f"No possible record leaves open whether {hypothesis}: on every fibre one side is out "
            "of reach",
            hint="allow values to be moved further, or check the ranges and units of the columns",
        )
    return Promise(
        kind="hypothesis privacy",
        claim=_claim(opened),
        value=counts.bits,
        unit="bits",
        theorem=f"{D}, Theorem 4",
        rule="corrected",
        sound=True,
        certainty="exact",
        assumptions=tuple(_assumptions(opened)),
        consequences=(_success(opened), _by_outputs(opened)),
        parameters=_parameters(opened),
    )


def _claim(opened: OpenHypothesis) -> str:
    counts, names = opened.counts, _moved(opened)
    errors = listed(
        f"{printable(name)} by at most {exactly_or_up(error)}"
        for name, error in zip(opened.move, opened.errors, strict=True)
    )
    known = ""
    if opened.known_within is not None:
        within = listed(
            f"{printable(name)} to within {exactly(known)}"
            for name, known in zip(opened.move, opened.known_within, strict=True)
        )
        known = f", and {within}"
    rounded = (
        ""
        if opened.rounding is None
        else f" Values of {names} between the steps are rounded "
        + ("to the nearest one" if opened.rounding == "nearest" else "down")
        + " first; this counts the records on the steps."
    )
    return (
        f"{counts.open:,} of the {counts.records:,} possible records "
        f"({digits_down(100 * counts.share, 4)} %) {verb_for(counts.open, 'is')} left open: "
        "somebody who knows the policy, the steps and ranges, every other column and every other "
        f"record{known} finds a possible record on each side of {printable(opened.hypothesis)}. "
        f"Possible, not equally likely. Elsewhere the release decides. {printable(opened.how)} "
        f"The release moves {errors}.{rounded}"
    )


def _moved(opened: OpenHypothesis) -> str:
    return listed(printable(name) for name in opened.move)


def _assumptions(opened: OpenHypothesis) -> Iterator[str]:
    names = _moved(opened)
    lattices = [column.sentence(printable(name)) for name, column in opened.columns.items()]
    yield f"every combination of values on the declared steps is possible: {listed(lattices)}"
    if opened.rounding is None:
        unfit = "missing, outside its range or off its step"
    else:
        unfit = f"missing or outside its range, and none but those of {names} off its step"
    yield f"no value is {unfit} (a release refuses such a table)"
    yield (
        f"nothing else that is computed from {names} is released, and no other version of it: a "
        "second one with another line, reach or step may decide together with this one"
    )
    if opened.apart is None:
        yield f"nobody who tests it knows more about {names} than its range and step"
    else:
        closer = listed(
            (
                f"{printable(name)} to within less than {exactly(distance)}"
                for name, distance in zip(opened.move, opened.apart, strict=True)
                if distance
            ),
            joint="or",
        )
        yield f"nobody who tests it knows {closer} already: to them, fewer records or none are open"
    yield UNRELATED


def _success(opened: OpenHypothesis) -> Consequence:
    success = opened.counts.success
    return Consequence(
        "success of a test",
        float(digits_down(success, 12)),
        "Were every possible record equally likely, the best test of the hypothesis would be right "
        f"with probability {digits_down(success, 4)} or more: this much is not hidden.",
        f"{D}, Theorem 2",
    )


def _by_outputs(opened: OpenHypothesis) -> Consequence:
    priv = opened.counts.priv
    return Consequence(
        "Priv by outputs",
        priv,
        f"Counted in outputs, as equation 10 does, Priv is {digits_down(priv, 4)} bits. Merging "
        "outputs that decide would raise it and protect nobody, so policies are compared by their "
        "open records.",
        f"{D}, equation 10",
    )


def _parameters(opened: OpenHypothesis) -> dict[str, Any]:
    counts = opened.counts
    return {
        "hypothesis": printable(opened.hypothesis),
        "columns": {printable(name): column.texts() for name, column in opened.columns.items()},
        "move": [printable(name) for name in opened.move],
        "error": [str(error) for error in opened.errors],
        "records": counts.records,
        "open": counts.open,
        "outputs": counts.outputs,
        "pairs": counts.pairs,
    }
