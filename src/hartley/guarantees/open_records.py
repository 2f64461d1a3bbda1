"""What is promised of data with a step: how many possible records leave a hypothesis open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError, printable
from hartley.guarantees.consequences import ROUGH
from hartley.guarantees.promise import UNRELATED, Consequence, D, Promise
from hartley.numerals import digits_down, exactly_or_up
from hartley.policies.hypotheses.open_records import OpenShare
from hartley.wording import exactly, listed, verb_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hartley.policies.hypotheses.open_records import OpenHypothesis, OpenRecords


def promise_open(opened: OpenHypothesis) -> Promise:
    r"""Certify a policy on data with a step by the number of records that it leaves open.

    .. math:: \log_2 \frac{N}{N - R}

    with R of N possible records open: an output of theirs has possible records on either side.
    Farokhi 2021, Theorem 4, corrected and counted in records. Exact; beside columns without a step
    a share of all that records could be, from below.
    """
    counts, hypothesis = opened.counts, printable(opened.hypothesis)
    if not counts.share:
        raise OptionError(
            f"No possible record leaves open whether {hypothesis}: on every fibre one side is out "
            "of reach",
            hint="allow values to be moved further, or check the ranges and units of the columns",
        )
    if isinstance(counts, OpenShare):
        return _promise_share(opened, counts)
    return Promise(
        kind="hypothesis privacy",
        claim=_claim(opened, _counted(counts)),
        value=counts.bits,
        unit="bits",
        theorem=f"{D}, Theorem 4",
        rule="corrected",
        sound=True,
        certainty="exact",
        assumptions=tuple(_assumptions(opened)),
        consequences=(_success(counts), _by_outputs(counts)),
        parameters=_parameters(opened)
        | {
            "records": counts.records,
            "open": counts.open,
            "outputs": counts.outputs,
            "pairs": counts.pairs,
        },
    )


def _promise_share(opened: OpenHypothesis, counts: OpenShare) -> Promise:
    """Certify a share of all that records could be, where some columns have no step."""
    share = digits_down(100 * counts.share, 4)
    ranges = {
        printable(name): [str(side.low), str(side.high)] for name, side in opened.ranges.items()
    }
    return Promise(
        kind="hypothesis privacy",
        claim=_claim(opened, f"At least {share} % of all that records could be is")
        + ("" if counts.reached else f" More may be open: {ROUGH}."),
        value=counts.bits,
        unit="bits",
        theorem=f"{D}, Theorem 4",
        rule="corrected",
        sound=True,
        certainty="bound",
        assumptions=tuple(_assumptions(opened)),
        consequences=(),
        parameters=_parameters(opened) | {"ranges": ranges, "open_share": share},
    )


def _counted(counts: OpenRecords) -> str:
    return (
        f"{counts.open:,} of the {counts.records:,} possible records "
        f"({digits_down(100 * counts.share, 4)} %) {verb_for(counts.open, 'is')}"
    )


def _claim(opened: OpenHypothesis, how_many: str) -> str:
    names = _moved(opened)
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
        f"{how_many} left open: "
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
    lattices += [
        f"{printable(name)} from {exactly(side.low)} to {exactly(side.high)}, any number between"
        for name, side in opened.ranges.items()
    ]
    which = (
        "every combination of values on the declared steps"
        if opened.possible is None
        else f"every combination of values on the declared steps with {printable(opened.possible)}"
    )
    yield f"{which} is possible: {listed(lattices)}"
    if opened.possible is not None:
        yield "no other record occurs (a release refuses a table that has one)"
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


def _success(counts: OpenRecords) -> Consequence:
    success = counts.success
    return Consequence(
        "success of a test",
        float(digits_down(success, 12)),
        "Were every possible record equally likely, the best test of the hypothesis would be right "
        f"with probability {digits_down(success, 4)} or more: this much is not hidden.",
        f"{D}, Theorem 2",
    )


def _by_outputs(counts: OpenRecords) -> Consequence:
    priv = counts.priv
    return Consequence(
        "Priv by outputs",
        priv,
        f"Counted in outputs, as equation 10 does, Priv is {digits_down(priv, 4)} bits. Merging "
        "outputs that decide would raise it and protect nobody, so policies are compared by their "
        "open records.",
        f"{D}, equation 10",
    )


def _parameters(opened: OpenHypothesis) -> dict[str, Any]:
    condition = {} if opened.possible is None else {"possible": printable(opened.possible)}
    return {
        "hypothesis": printable(opened.hypothesis),
        "columns": {printable(name): column.texts() for name, column in opened.columns.items()},
        "move": [printable(name) for name in opened.move],
        "error": [str(error) for error in opened.errors],
    } | condition
