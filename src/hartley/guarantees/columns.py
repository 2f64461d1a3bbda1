"""Promises of categories, hypotheses and records."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hartley.boxes.enclosure import expression_text, range_bounds
from hartley.boxes.expression import variables
from hartley.errors import InputError, OptionError, printable
from hartley.exact import bits_at_least, bits_at_most, floor_power, parse_number
from hartley.guarantees.consequences import (
    ROUGH,
    estimation_error,
    of_hypothesis_privacy,
    of_noiseless_privacy,
)
from hartley.guarantees.promise import UNRELATED, A, B, Consequence, D, Promise, nothing_promised
from hartley.policies.column import Output  # noqa: TC001 - other modules import it from here
from hartley.text import (
    bits_up,
    conjugate,
    count_of,
    exactly,
    exactly_or_up,
    listed,
    number,
    plural,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hartley.boxes.box import Box
    from hartley.policies.categories import CategoryMerging
    from hartley.policies.document import PolicyDocument
    from hartley.policies.hypotheses.lines import LinePolicy
    from hartley.policies.hypotheses.open_records import OpenHypothesis, OpenRecords
    from hartley.policies.random.pram import Pram
    from hartley.ranges.relation import Relation


# --- records --------------------------------------------------------------------------------------
# The promise for records that are released one by one: local noiseless privacy.

Missing = Literal["counted", "refused", "ruled out"]
"""What becomes of a missing value: it is released as missing, which is one more output a column;
a strict release refuses it; or a policy for numbers alone says nothing about it."""
Together: TypeAlias = "Sequence[tuple[tuple[str, ...], int]]"
"""Names of columns, and how many values they take jointly at most, missing ones aside."""
INSIDE = "every value lies in its declared range, or is clamped to it first"
ROWS = "one row is one person, and neither the number nor the order of the rows tells anything"
STRICT = (
    "no value is missing: it holds for a strict release alone, and that a table was refused is not "
    "counted"
)
MISSING: Mapping[Missing, tuple[str, ...]] = {
    "counted": (
        "a missing value is released as missing, which counts as one output a column",
        ROWS,
    ),
    "refused": (STRICT, ROWS),
    "ruled out": (),
}


def promise_records(  # noqa: PLR0913 - what is known of a record beside its outputs
    columns: Sequence[Output],
    lengths: Mapping[str, Fraction],
    budget: object,
    *,
    missing: Missing = "ruled out",
    together: Together = (),
    more: tuple[Consequence, ...] = (),
) -> Promise:
    """Certify how many releases a record can have: the product over its columns.

    Farokhi 2019 (Noiseless Privacy), Definition 2, with Theorem 6 over the columns. Exact. Columns
    that release one query several times count together; ``lengths`` are those of the declared
    ranges.
    """
    sizes = count_outputs(columns, missing)
    parameters: dict[str, Any] = {
        "outputs": {printable(name): size for name, size in sizes.items()},
        "missing": missing,
        "budget": budget_text(budget),
    }
    assumptions = (
        *MISSING[missing],
        UNRELATED,
        f"of the record nothing but {names(columns)} is released",
    )
    if None in sizes.values():
        return _promise_nothing(sizes, assumptions, parameters)
    outputs = count_together(sizes, missing, together)
    bits = bits_at_least(outputs)
    errors = (_estimation(name, length, columns, sizes) for name, length in lengths.items())
    exact = [printable(column.name) for column in columns if column.is_exact]
    return Promise(
        kind="local noiseless privacy",
        claim=(
            "Whatever a person's record is, its release is one of at most "
            f"{count_of(outputs, 'value')}: {bits_up(bits)} about the person."
            + compare_budget(budget, outputs)
            + (
                f" {' and '.join(exact)} {conjugate(len(exact), 'is')} released exactly."
                if exact
                else ""
            )
        ),
        value=bits,
        theorem=f"{B}, Definition 2",
        rule="printed",
        sound=budget is None or outputs <= floor_power(budget),
        certainty="exact",
        assumptions=(INSIDE, *assumptions),
        consequences=(*of_noiseless_privacy(outputs, *errors), *more),
        parameters=parameters,
    )


def count_outputs(columns: Iterable[Output], missing: Missing) -> dict[str, int | None]:
    """Return how many values each column is released as; None where they are not bounded."""
    one_more = 1 if missing == "counted" else 0
    return {
        column.name: None if column.count is None else column.count + one_more for column in columns
    }


def count_together(sizes: Mapping[str, int | None], missing: Missing, together: Together) -> int:
    """Return in how many ways the bounded columns of a record come out jointly, at most."""
    one_more = 1 if missing == "counted" else 0  # the query is missing in all of them, or in none
    grouped = {name for names, _ in together for name in names}
    counts = [size for name, size in sizes.items() if size is not None and name not in grouped]
    for names, jointly in together:
        counts.append(min(jointly + one_more, math.prod(sizes[name] or 1 for name in names)))
    return math.prod(counts)


def _estimation(
    name: str, length: Fraction, columns: Sequence[Output], sizes: Mapping[str, int | None]
) -> Consequence:
    """Return the error about one column of the table, from all that is computed from it."""
    counts = [
        # An estimate is about a value that is not missing, so missing is not one of its outputs.
        sizes[column.name] if column.computed else column.count
        for column in columns
        if name in column.reads
    ]
    return estimation_error(length, math.prod(c or 1 for c in counts), of=printable(name))


def _promise_nothing(
    sizes: Mapping[str, int | None], assumptions: tuple[str, ...], parameters: dict[str, Any]
) -> Promise:
    """Certify that nothing is promised, since some column is released unchanged."""
    rest = [size for size in sizes.values() if size is not None]
    beside = (
        f" Beside that, the release of a record is one of at most {math.prod(rest):,} values."
        if rest
        else ""
    )
    unbounded = [printable(name) for name, size in sizes.items() if size is None]
    return Promise(
        kind="local noiseless privacy",
        claim=f"{nothing_promised(unbounded)}.{beside}",
        value=math.inf,
        theorem=f"{B}, Definition 2",
        rule="printed",
        sound=False,
        certainty="bound",
        assumptions=assumptions,
        parameters=parameters,
    )


def compare_budget(budget: object, outputs: int) -> str:
    """Return the sentence that says whether this many outputs keep a budget."""
    if budget is None:
        return ""
    allowed = floor_power(budget)
    told = "" if outputs <= allowed else f", which allows {count_of(allowed, 'value')}"
    return _budget_kept(budget, keeps=outputs <= allowed, beside=told)


def _budget_kept(budget: object, *, keeps: bool, beside: str = "") -> str:
    if budget is None:
        return ""
    bits = parse_number(budget, name="the budget in bits")
    asked = f"the budget of {exactly(bits)} {plural(bits, 'bit')}"
    return f" That {'keeps' if keeps else 'breaks'} {asked}{beside}."


def names(columns: Iterable[Output]) -> str:
    """List the names of columns in a sentence."""
    return ", ".join(printable(column.name) for column in columns)


def budget_text(budget: object) -> str | None:
    """Write a budget in the one way in which a certificate says it."""
    return None if budget is None else str(parse_number(budget, name="the budget in bits"))


# --- categories -----------------------------------------------------------------------------------
# The promise for categories that are merged or perturbed at random: a bound on the leakage.

ALL_THERE_IS = (
    "what was counted is all that is possible (whoever can exclude some of it otherwise learns "
    "more)"
)


def promise_leakage(
    merging: CategoryMerging, records: Relation | Mapping[Any, int], budget: object
) -> Promise:
    r"""Certify how many secrets every released category leaves possible.

    .. math:: L_0(X;Y) = \log_2 \frac{|[X]|}{\min_y |[X|y]|}

    Farokhi 2019, eq. 6, counted again from the groups. Exact. Linear in the number of pairs.
    ``records`` tells how many each category has, or is a relation whose released side they are.
    """
    from hartley.policies.categories import Secrets

    secrets = Secrets.of(records)
    groups: dict[str, list[int]] = {}
    for code, category in enumerate(secrets.categories):
        groups.setdefault(merging.label(category), []).append(code)
    sizes = [size for codes in groups.values() if (size := secrets.size(codes))]
    total, smallest = secrets.total, min(sizes)
    bits = bits_at_least(total, smallest)
    keeps_budget = budget is None or ratio_within(total, smallest, budget)
    column = printable(merging.column)
    return Promise(
        kind="leakage",
        claim=(
            f"Whatever is released of {column}, at least {smallest:,} of "
            f"{total:,} {plural(total, 'secret')} stay possible: it tells at most "
            f"{bits_up(bits)}.{_budget_kept(budget, keeps=keeps_budget)}"
        ),
        value=bits,
        theorem=f"{A}, equation 6",
        rule="printed",
        sound=keeps_budget,
        certainty="exact",
        assumptions=(ALL_THERE_IS, f"nothing but {column} is released"),
        parameters={
            "secrets": total,
            "smallest": smallest,
            "groups": len(sizes),
            "budget": budget_text(budget),
        },
    )


def ratio_within(total: int, smallest: int, bits: object) -> bool:
    """Say whether a ratio of counts is at most 2^bits, exactly.

    Example:
        >>> ratio_within(12, 3, 2), ratio_within(13, 3, 2)
        (True, False)
        >>> ratio_within(3, 1, "1.58"), ratio_within(3, 1, "1.59")
        (False, True)
    """
    bound = parse_number(bits, name="the budget in bits")
    if bound < 0:
        raise OptionError(f"No release leaks {bits} bits", hint="give 0 bits or more")
    if bound >= total.bit_length():
        return True
    if bound.denominator == 1:
        return total <= smallest << int(bound)
    # Irrational, so never equal: enough digits settle it.
    with localcontext() as context:
        context.prec = len(str(total)) + 80
        power = Decimal(2) ** (Decimal(bound.numerator) / Decimal(bound.denominator))
        return total <= smallest * power


THEOREM = "Issa, Wagner and Kamath 2020, Theorem 1"
COMPOSITION = "Issa, Wagner and Kamath 2020, composition"
LOCAL = "Kasiviswanathan et al. 2011, local privacy"
UNGUESSED = (
    "whoever sees the release does not know the seed, nor can predict the keystream of ChaCha20 "
    "that was drawn from; a seed that can be guessed, or that another table was drawn by, promises "
    "nothing"
)
ONCE = "the table is drawn from once: every further draw adds as many bits again"
CHOSEN = (
    "the matrices do not depend on the table or are not shown: what they tell of it is not counted"
)
NOT_NOISELESS = (
    "It is drawn at random, so that no certificate of noiseless privacy, which is about "
    "deterministic releases, applies."
)


def promise_perturbation(document: PolicyDocument, budget: object) -> Promise:
    r"""Certify how much better a guess about a record gets by its perturbed release.

    .. math:: \tilde L_\star = \log_2 \prod_j \sum_{y} \max_{x} P_j(y|x)

    Issa, Wagner and Kamath 2020, over all the released columns: given the record they are drawn
    independently, so that the sum over combinations is at most the product. A deterministic
    column counts with the number of its outputs, missing among them. A bound, from the exact
    rationals of the matrices and of what is drawn by them, rounded up. Linear in their sizes.
    """
    hiding = document.lines | document.stepped
    if hiding:
        raise InputError(
            f"The policy moves '{next(iter(hiding))}' near a line and perturbs "
            f"'{document.prams[0].name}' at random, which no one certificate covers",
            hint="write two policies",
        )
    gains = {", ".join(column.columns): column.guessing_gain() for column in document.columns}
    shown = {printable(name): gain and str(gain) for name, gain in gains.items()}
    listed = ", ".join(printable(name) for name in gains)
    unbounded = [printable(name) for name, gain in gains.items() if gain is None]
    gain = math.prod((gain or Fraction(1) for gain in gains.values()), start=Fraction(1))
    bits = math.inf if unbounded else bits_at_least(gain.numerator, gain.denominator)
    keeps_budget = not unbounded and (
        budget is None or ratio_within(gain.numerator, gain.denominator, budget)
    )
    return Promise(
        kind="stochastic maximal leakage",
        claim=_category_claim(gain, bits, unbounded, budget, keeps_budget=keeps_budget),
        value=bits,
        theorem=THEOREM,
        rule="printed",
        sound=keeps_budget,
        certainty="bound",
        assumptions=(
            *((INSIDE,) if len(document.prams) < len(document.columns) else ()),
            ROWS,
            UNRELATED,
            UNGUESSED,
            ONCE,
            CHOSEN,
            f"of the record nothing but {listed} is released",
        ),
        consequences=tuple(
            consequence for pram in document.prams for consequence in _consequences(pram)
        ),
        parameters={"gains": shown, "missing": "counted", "budget": budget_text(budget)},
    )


def _category_claim(
    gain: Fraction, bits: float, unbounded: list[str], budget: object, *, keeps_budget: bool
) -> str:
    times = (
        f"multiplies the chance to guess it by {number(gain, 4, round='up', short=True)} at most"
    )
    if unbounded:
        return (
            f"{nothing_promised(unbounded)}. "
            f"The rest of the record {times}, whatever anybody wants to know. {NOT_NOISELESS}"
        )
    return (
        "Whatever anybody wants to know about a person, the release of the person's record "
        f"{times}: {bits_up(bits)} of stochastic maximal leakage."
        f"{_budget_kept(budget, keeps=keeps_budget)} {NOT_NOISELESS}"
    )


def _consequences(pram: Pram) -> tuple[Consequence, ...]:
    """Return what follows for one perturbed column, or several that are drawn together."""
    from hartley.policies.random.pram import pram_leakage

    leakage = pram_leakage(pram)
    name = printable(", ".join(pram.columns))
    _, certain, odds = leakage.sentences[:3]
    factor = math.inf if leakage.odds is None else float(leakage.odds)
    if leakage.odds is not None and Fraction(factor) < leakage.odds:
        factor = math.nextafter(factor, math.inf)
    values = count_of(len(pram.values), "value")
    return (
        Consequence(
            f"guesses about {name}",
            leakage.maximal,
            f"About {name}, of {values}: {bits_up(leakage.maximal)} of maximal leakage; k draws of "
            "the same record tell k times as much at most.",
            COMPOSITION,
        ),
        Consequence(
            f"certainty about {name}", leakage.nonstochastic, certain, "Farokhi 2019, eq. 6"
        ),
        Consequence(f"odds of {name}", factor, odds, LOCAL),
    )


# --- open records ---------------------------------------------------------------------------------
# What is promised of data with a step: how many possible records leave a hypothesis open.


def promise_open(opened: OpenHypothesis) -> Promise:
    r"""Certify a policy on data with a step by the number of records that it leaves open.

    .. math:: \log_2 \frac{N}{N - R}

    with R of N possible records open: an output of theirs has possible records on either side.
    Farokhi 2021, Theorem 4, corrected and counted in records. Exact; beside columns without a step
    a share of all that records could be, from below.
    """
    from hartley.policies.hypotheses.open_records import OpenShare

    counts, hypothesis = opened.counts, printable(opened.hypothesis)
    if not counts.share:
        raise OptionError(
            f"No possible record leaves open whether {hypothesis}: on every fibre one side is out "
            "of reach",
            hint="allow values to be moved further, or check the ranges and units of the columns",
        )
    share = number(100 * counts.share, 4, round="down")
    if isinstance(counts, OpenShare):  # of all that records could be, where a column has no step
        sides = opened.ranges.items()
        ranges = {printable(name): [str(side.low), str(side.high)] for name, side in sides}
        claim = _open_claim(opened, f"At least {share} % of all that records could be is")
        claim += "" if counts.reached else f" More may be open: {ROUGH}."
        consequences: tuple[Consequence, ...] = ()
        parameters: dict[str, Any] = {"ranges": ranges, "open_share": share}
    else:
        many = f"{counts.open:,} of the {counts.records:,} possible records ({share} %)"
        claim = _open_claim(opened, f"{many} {conjugate(counts.open, 'is')}")
        consequences = _of_open_records(counts)
        parameters = {
            name: getattr(counts, name) for name in ("records", "open", "outputs", "pairs")
        }
    condition = {} if opened.possible is None else {"possible": printable(opened.possible)}
    return Promise(
        kind="hypothesis privacy",
        claim=claim,
        value=counts.bits,
        theorem=f"{D}, Theorem 4",
        rule="corrected",
        sound=True,
        certainty="bound" if isinstance(counts, OpenShare) else "exact",
        assumptions=tuple(_assumptions(opened)),
        consequences=consequences,
        parameters={
            "hypothesis": printable(opened.hypothesis),
            "columns": {printable(name): column.texts() for name, column in opened.columns.items()},
            "move": [printable(name) for name in opened.move],
            "error": [str(error) for error in opened.errors],
        }
        | condition
        | parameters,
    )


def _open_claim(opened: OpenHypothesis, how_many: str) -> str:
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
    if opened.distance_to_partner is None:
        yield f"nobody who tests it knows more about {names} than its range and step"
    else:
        closer = listed(
            (
                f"{printable(name)} to within less than {exactly(distance)}"
                for name, distance in zip(opened.move, opened.distance_to_partner, strict=True)
                if distance
            ),
            joint="or",
        )
        yield f"nobody who tests it knows {closer} already: to them, fewer records or none are open"
    yield UNRELATED


def _of_open_records(counts: OpenRecords) -> tuple[Consequence, ...]:
    return (
        Consequence(
            "success of a test",
            float(number(counts.success, 12, round="down")),
            "Were every possible record equally likely, the best test of the hypothesis would be "
            f"right with probability {number(counts.success, 4, round='down')} or more: "
            "this much is not hidden.",
            f"{D}, Theorem 2",
        ),
        Consequence(
            "Priv by outputs",
            counts.priv,
            "Counted in outputs, as equation 10 does, Priv is "
            f"{number(max(counts.priv, 0), 4, round='down')} bits. Merging outputs that decide "
            "would raise it and protect nobody, so policies are compared by their open records.",
            f"{D}, equation 10",
        ),
    )


# --- hypotheses -----------------------------------------------------------------------------------
# The promise against a hypothesis about a person: the share of records that leave it open.

NOTHING_ELSE = (
    "whoever tests the hypothesis knows the declared ranges and what is released, and nothing else "
    "about the record"
)
STEPLESS = "(of rounded ones it may hide none)"
POSSIBLE = "every combination of values in the declared ranges is possible"


def promise_line(policy: LinePolicy) -> Promise:
    """Certify a policy against a hypothesis by the share of records that it leaves open.

    log(mu(X) / mu(decided records)) (Farokhi 2021, Theorem 4, corrected). Of values that are
    stretched that is Priv, eq. 9, too. The policy as printed collapses its band onto a curve,
    which has no volume among the outputs: its records are left open, and yet Priv = 0.
    """
    refuse_certain(policy)
    total, band = policy.box.volume, policy.band()
    hidden = Fraction(band.low)
    epsilon = None if hidden == total else hidden / (total - hidden)
    left_open = math.inf if epsilon is None else bits_at_most(*(1 + epsilon).as_integer_ratio())
    column, reach = printable(policy.column), exactly_or_up(policy.reach)
    text = f"{policy.column} = {expression_text(policy.hypothesis.line)}"
    line = f"{reach} of the line {printable(text)}"
    share = f"{number(100 * hidden / total, 4, round='down')} % of all that records could be"
    most = number(100 * min(band.high / total, Fraction(1)), 4, round="up")
    private = f"{'infinitely' if epsilon is None else number(epsilon, 4, round='down')}-private"
    bits = number(max(left_open, 0), 4, round="down")
    if policy.spreads:
        fine_enough = f"the values of {column} have no step {STEPLESS}"
        claim = (
            f"For values of {column} that have no step: within {line} the release does not show on "
            f"which side of it a record lies: that is {share}. Elsewhere it does show. "
            f"It is {private}, Priv = {bits} bits."
        )
    else:
        fine_enough = f"neighbouring possible values of {column} lie no further apart than {reach}"
        claim = (
            f"Within {line} the line itself is released, which does not show on which side of it "
            f"a record lies: that is {share}. Elsewhere it does show. Counted in records it is "
            f"{private}, {bits} bits; by the volume of outputs, of which a line has none, Priv = 0."
        )
    return Promise(
        kind="hypothesis privacy",
        claim=(
            f"{claim} No value is moved further than {reach}."
            + ("" if band.reached else f" More may be hidden, up to {most} %: {ROUGH}.")
        ),
        value=left_open,
        theorem=f"{D}, Theorem 4",
        rule="corrected",
        sound=True,
        certainty="exact" if band.exact else "bound",
        assumptions=(
            fine_enough,
            INSIDE,
            "no value is missing",
            POSSIBLE,
            NOTHING_ELSE,
            UNRELATED,
        ),
        consequences=of_hypothesis_privacy(
            epsilon if policy.spreads else Fraction(0), 1 - policy.confused()
        ),
        parameters={
            "hypothesis": printable(str(policy.hypothesis)),
            "box": plain_box(policy.box),
            "error": str(policy.error),
        },
    )


def refuse_certain(policy: LinePolicy) -> None:
    """Refuse a hypothesis that the declared ranges alone decide."""
    (column,) = variables(policy.column)
    above, _ = range_bounds(column - policy.hypothesis.line, policy.box)
    if above.low >= 0 or above.high <= 0:
        holds = (above.low >= 0) == (policy.hypothesis.sign[0] == ">")
        raise OptionError(
            f"The declared ranges decide whether {policy.column} {policy.hypothesis.sign} "
            f"{expression_text(policy.hypothesis.line)}: "
            f"it is {'' if holds else 'not '}so everywhere",
            hint="there is nothing to hide; check the ranges and the units of the columns",
        )


def plain_box(box: Box) -> dict[str, list[str]]:
    """Return a box as plain values."""
    return {printable(n): [str(side.low), str(side.high)] for n, side in box.sides.items()}


COARSER = (
    "the columns of the line are known as they are (where they are released otherwise, no more is "
    "decided)"
)


def promise_lines(document: PolicyDocument) -> Promise:
    """Certify the columns that are moved near a line, and say what is not promised beside.

    Of several lines the weakest promise counts.
    """
    names = list(document.lines)
    promises = [
        _with_rest(document, promise_line(line), {name}, set(line.hypothesis.line.names))
        for name, line in document.lines.items()
    ]
    for name, column in document.stepped.items():
        every = column.all_left_open()
        for opened in every:
            moved = set(opened.move)
            read = {*opened.columns, *opened.ranges} - moved
            promises.append(_with_rest(document, promise_open(opened), moved, read))
            names.append(name if len(every) == 1 else f"{name}, {printable(opened.hypothesis)}")
    weakest = min(promises, key=lambda promise: (promise.sound, promise.value))
    rest = _rest(document)
    if len(promises) == 1:
        return replace(weakest, claim=f"{weakest.claim} {rest}")
    consequences = [
        consequence.about(name, "Of")
        for promise, name in zip(promises, names, strict=True)
        for consequence in promise.consequences
    ]
    claims = [promise.claim for promise in promises]
    return replace(
        weakest,
        claim=" ".join([*claims, rest]),
        sound=all(promise.sound for promise in promises),
        certainty="exact" if all(p.certainty == "exact" for p in promises) else "bound",
        consequences=tuple(consequences),
        parameters={"lines": [promise.parameters for promise in promises]},
    )


def _with_rest(
    document: PolicyDocument, promise: Promise, moved: set[str], read: set[str]
) -> Promise:
    """Return a promise about moved columns, or none where another column shows their values."""
    leaking = [
        printable(other.name)
        for other in document.columns
        if not moved & set(other.columns) and moved & other.outputs().reads
    ]
    kept_names = {column.name for column in document.columns if column.is_kept}
    if not kept_names.issuperset(read):
        promise = replace(promise, assumptions=(*promise.assumptions, COARSER))
    if not leaking:
        return promise
    names = listed(printable(name) for name in sorted(moved))
    return replace(
        promise,
        claim=(
            f"Nothing is promised about {names}: what the policy hides near a "
            f"line shows in {' and '.join(leaking)}, computed from its true value."
        ),
        value=0.0,
        sound=False,
        certainty="exact",
        consequences=(),
    )


def _rest(document: PolicyDocument) -> str:
    """Say what is told by everything that has no line."""
    sizes: dict[str, int | None] = {}
    for column in document.columns:
        # On a step no value is missing: a release refuses such a table.
        missing: Missing = "counted" if column.lattice is None else "ruled out"
        sizes |= count_outputs([column.outputs()], missing)
    unbounded = [printable(name) for name, size in sizes.items() if size is None]
    few = [(printable(name), size) for name, size in sizes.items() if size is not None]
    parts = [f"{', '.join(unbounded)} can take any value"] if unbounded else []
    if few:
        many = math.prod(size for _, size in few)
        parts.append(f"{', '.join(name for name, _ in few)} together {many:,} values")
    return f"Nothing else is promised about a person: {', and '.join(parts)}."
