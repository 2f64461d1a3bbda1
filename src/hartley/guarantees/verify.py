"""Verify a saved certificate: compute everything in it again from its policy file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hartley.boxes.box import Box, Interval
from hartley.boxes.enclosure import expression_text
from hartley.boxes.expression import Expression, as_expression
from hartley.errors import CertificateError, HartleyError, InputError, OptionError, printable
from hartley.exact import floor_power, parse_number
from hartley.guarantees.answers import (
    MOST_CELLS_CUT,
    NOT_KNOWN,
    OTHERS,
    ReleasedAnswerClaim,
    answer_aggregate,
    certify_partial_query,
    influence,
    joint_leakage,
    leakage_given_others,
    promise_answers,
    promise_indistinguishability,
    promise_vector,
    raised,
    reach_bounds,
)
from hartley.guarantees.columns import (
    INSIDE,
    MISSING,
    STEPLESS,
    count_outputs,
    count_together,
    plain_box,
    promise_leakage,
    promise_line,
    promise_lines,
    promise_open,
    promise_perturbation,
    promise_records,
)
from hartley.guarantees.promise import UNRELATED, Certificate, Promise
from hartley.policies.column import Output
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import Aggregate, Quantizer
from hartley.text import count_of, exactly

__all__ = ["Certificate", "certify", "verify", "verify_certificate"]

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from hartley.guarantees.columns import Missing, Together
    from hartley.guarantees.promise import Consequence
    from hartley.policies.categories import CategoryMerging
    from hartley.policies.column import ColumnPolicy
    from hartley.policies.hypotheses.lines import LinePolicy
    from hartley.policies.hypotheses.meeting import HidingPolicy
    from hartley.policies.quantized_column import Allocation
    from hartley.policies.random.pram import Pram
    from hartley.policies.vector import VectorQuantizer
    from hartley.ranges.relation import Relation

    Query = Expression | str | Callable[..., Any]
    Hiding = LinePolicy | HidingPolicy
    Policy = (
        PolicyDocument | Quantizer | VectorQuantizer | Allocation | CategoryMerging | Hiding | Pram
    )


# --- documents ------------------------------------------------------------------------------------
# The promise of a policy file, computed from the file alone.

TOLD_APART = "indistinguishability"
"""The objective of a design that is certified by what tells two values of a person apart."""


@dataclass(frozen=True)
class Conditions:
    """The conditions on a table under which the promise of a policy file covers its release."""

    complete: frozenset[str] = frozenset()
    """The released columns that may hold no missing value."""
    people: int | None = None
    """How many rows the table has, one a person; None where any number will do."""
    lines: tuple[LinePolicy, ...] = ()
    """How columns are moved near a line: their values must be fine enough to be hidden."""


def conditions_of(document: PolicyDocument) -> Conditions:
    """Return what a release of a policy file must check of its table; costs nothing."""
    everything = frozenset(name for column in document.columns for name in column.columns)
    if document.aggregates:
        return Conditions(everything, people=_people(document))
    if document.prams:
        return Conditions()
    lines = tuple(document.lines.values())
    if lines or document.stepped:
        read = frozenset(name for line in lines for name in line.box.names)
        # Values that have no index are refused by the rule itself, missing ones among them.
        return Conditions(read & everything, lines=lines)
    if _moved(document) or document.design.get("objective") == TOLD_APART:
        return Conditions(everything)
    outputs = [column.outputs() for column in document.columns]
    together = _together(_expressions(document))
    strict = missing_of(outputs, document.design.get("bits"), together) == "refused"
    return Conditions(everything if strict else frozenset())


def promise_document(document: PolicyDocument, budget: object = None) -> Promise:
    """Return what a policy file promises.

    Everything is recomputed from the columns. Of the section [design] only what nobody could
    compute is read, and named as an assumption: declared ranges, the number of people, the
    sensitivity of a query, and the budget that the policy is held against.

    Args:
        document: the policy.
        budget: the bits that were asked for; by default the ``bits`` of its design.
    """
    asked = document.design.get("bits") if budget is None else budget
    if document.design.get("objective") == TOLD_APART:
        return _promise_told_apart(document, asked)
    if document.aggregates:
        return _promise_aggregates(document, asked)
    if document.prams:
        return promise_perturbation(document, asked)
    if document.lines or document.stepped:
        return promise_lines(document)
    expressions = _expressions(document)
    if _moved(document):
        return _promise_moved(document, *expressions[0], asked)
    return _promise_rows(document, expressions, asked)


def _moved(document: PolicyDocument) -> bool:
    """Tell whether the policy is one query that a person moves by no more than is declared."""
    return (
        "sensitivity" in document.design
        and len(document.columns) == 1
        and isinstance(document.columns[0].query, Expression)
    )


# --- records one by one -------------------------------------------------------------------------


def _promise_rows(
    document: PolicyDocument, expressions: list[tuple[ColumnPolicy, Expression]], budget: object
) -> Promise:
    outputs = [column.outputs() for column in document.columns]
    read = frozenset[str]().union(*(output.reads for output in outputs))
    # Only listed points are possible, so the error over all numbers does not apply.
    listed = {column.name for column in document.columns if column.lists_values}
    lengths = {
        name: high - low
        for name, (low, high) in document.ranges.items()
        if name in read and name not in listed
    }
    more: list[Consequence] = []
    for column, expression in expressions:
        consequences = _cells(document, column, expression)
        alone = len(expressions) == 1
        more += [each if alone else each.about(column.name) for each in consequences]
    together = _together(expressions)
    return promise_records(
        outputs,
        {name: length for name, length in lengths.items() if length},
        budget,
        missing=missing_of(outputs, budget, together),
        together=together,
        more=tuple(more),
    )


def _together(expressions: Sequence[tuple[ColumnPolicy, Expression]]) -> Together:
    """Return how many values columns that release one query take jointly, at most.

    They are computed from one number, so that they change where it passes an edge of one of them:
    the cells of the common refinement. Queries that differ are left to the product even where not
    all combinations are possible, because engines compute them in doubles, whose rounding may
    reach a combination that no exact value has.
    """
    by_query: dict[Expression, list[ColumnPolicy]] = {}
    for column, expression in expressions:
        by_query.setdefault(expression, []).append(column)
    together = []
    for columns in by_query.values():
        cells = [quantizer_of(column) for column in columns]
        if len(columns) > 1 and sum(quantizer.levels for quantizer in cells) <= MOST_CELLS_CUT:
            edges = {edge for quantizer in cells for edge in quantizer.edges[1:-1]}
            together.append((tuple(column.name for column in columns), 1 + len(edges)))
    return together


def missing_of(outputs: Sequence[Output], budget: object, together: Together = ()) -> Missing:
    """Count missing values, unless a budget is kept without them alone.

    By default a release gives missing values out as missing. A budget that leaves no room for
    that can be kept by a strict release, and then the promise says so.
    """
    if budget is None:
        return "counted"
    allowed = floor_power(budget)
    treated: tuple[Missing, Missing] = ("counted", "refused")
    with_missing, without = (
        count_together(count_outputs(outputs, missing), missing, together) for missing in treated
    )
    strict = without <= allowed < with_missing
    return "refused" if strict else "counted"


def _expressions(document: PolicyDocument) -> list[tuple[ColumnPolicy, Expression]]:
    """Return the columns that quantize an expression over the columns of a row."""
    return [
        (column, column.query)
        for column in document.columns
        if isinstance(column.query, Expression)
    ]


def _cells(
    document: PolicyDocument, column: ColumnPolicy, expression: Expression
) -> tuple[Consequence, ...]:
    """Return what the cells of an expression tell, where the ranges of its columns are known."""
    ranges = document.ranges
    if not expression.names or not all(name in ranges for name in expression.names):
        return ()
    box = Box({name: Interval(*ranges[name]) for name in expression.names})
    return joint_leakage(box, expression, quantizer_of(column))


def quantizer_of(column: ColumnPolicy) -> Quantizer:
    """Return the cells of a column that releases a query."""
    assert column.cells is not None  # only columns in cells have queries
    return column.cells


def _promise_moved(
    document: PolicyDocument, column: ColumnPolicy, expression: Expression, budget: object
) -> Promise:
    """Certify an answer that one person moves by no more than is declared."""
    reach = parse_number(document.design["sensitivity"], name="the sensitivity of the design")
    if reach < 0:
        raise InputError(
            "The sensitivity of the design is negative",
            hint="it is how far one person's data can move the query",
        )
    ranges = document.ranges
    if expression.names and all(name in ranges for name in expression.names):
        # One column alone is no more than one person's data.
        box = Box({name: Interval(*ranges[name]) for name in expression.names})
        reach = raised(reach, reach_bounds(expression, box))
    declared = f"one person's data moves {column.of} by {exactly(reach)} at most, as declared"
    return promise_answers(
        [ReleasedAnswerClaim(str(column.of), quantizer_of(column), reach)],
        budget,
        assumptions=(declared, OTHERS, UNRELATED, INSIDE, *MISSING["refused"][:1]),
        more=_cells(document, column, expression),
        parameters={"query": column.of, "sensitivity": str(reach), "missing": "refused"},
    )


# --- one answer for all -------------------------------------------------------------------------


def _promise_aggregates(document: PolicyDocument, budget: object) -> Promise:
    people = _people(document)
    ranges, answers = document.ranges, []
    more: list[Consequence] = []
    read: dict[str, list[str]] = {}
    for column in document.columns:
        query = column.query
        assert isinstance(query, Aggregate)  # a policy mixes them with nothing else
        if query.column not in ranges:
            raise InputError(
                f"The policy releases {query}, but declares no range of '{query.column}'",
                hint=f'write in [design]: columns = {{{query.column} = ["100", "250"]}}',
            )
        side = Interval(*ranges[query.column])
        answer, consequences = answer_aggregate(query, quantizer_of(column), side, people)
        answers.append(answer)
        alone = len(document.columns) == 1
        more += [each if alone else each.about(str(query)) for each in consequences]
        read[query.column] = [str(side.low), str(side.high)]
    return promise_answers(
        answers,
        budget,
        assumptions=(OTHERS, UNRELATED, INSIDE, _table(people)),
        more=tuple(more),
        parameters={
            "queries": [str(query) for query in document.aggregates],
            "people": people,
            "ranges": read,
            "missing": "ruled out",
        },
    )


def _promise_told_apart(document: PolicyDocument, budget: object) -> Promise:
    """Certify how many outputs tell one value of a person from another: what it is designed for."""
    (column, *others) = document.columns
    query, ranges = column.query, document.ranges
    linear = query.linear() if isinstance(query, Expression) else None
    if others or column.cells is None or (linear is None and not document.aggregates):
        raise InputError(
            "The policy is designed for indistinguishability, but releases no linear query alone",
            hint="release the mean or total of a column, or a weighted sum of columns, in cells",
        )
    names = (query.column,) if isinstance(query, Aggregate) else tuple(linear[0] if linear else ())
    missing = [name for name in names if name not in ranges]
    if missing or not names:
        raise InputError(
            f"The policy releases {column.of or column.name}, but declares no range of "
            f"'{missing[0] if missing else column.name}'",
            hint='write in [design]: columns = {height = ["100", "250"]}',
        )
    if isinstance(query, Aggregate):
        return _told_apart_by_aggregate(document, query, quantizer_of(column), budget)
    assert isinstance(query, Expression)  # a query that is linear
    promise = promise_indistinguishability(
        quantizer_of(column),
        query,
        Box({name: Interval(*ranges[name]) for name in names}),
        budget,
    )
    people = "every column of the query is the value of another person, and nobody is in two rows"
    return replace(
        promise,
        assumptions=(*promise.assumptions, people, MISSING["refused"][0]),
        parameters=promise.parameters | {"query": column.of, "missing": "refused"},
    )


def _told_apart_by_aggregate(
    document: PolicyDocument, query: Aggregate, cells: Quantizer, budget: object
) -> Promise:
    people = _people(document)
    side = Interval(*document.ranges[query.column])
    answer, consequences = answer_aggregate(query, cells, side, people)
    times = 1 if query.function == "mean" else people
    return certify_partial_query(
        cells,
        Interval(side.low * times, side.high * times),
        Fraction(1, people) if side.length else Fraction(0),
        budget,
        assumptions=(INSIDE, UNRELATED, NOT_KNOWN, _table(people)),
        more=(
            leakage_given_others(answer),
            *(each for each in consequences if each.name != TOLD_APART),
        ),
        parameters={
            "levels": cells.levels,
            "queries": [str(query)],
            "people": people,
            "missing": "ruled out",
        },
    )


def _table(people: int) -> str:
    return (
        f"the table has exactly {count_of(people, 'row')}, one a person, no value is missing, and "
        "the answer is exact before it is put into a cell"
    )


def _people(document: PolicyDocument) -> int:
    people = document.design.get("people")
    if isinstance(people, bool) or not isinstance(people, int) or people < 1:
        raise InputError(
            f"The policy releases {document.aggregates[0]}, but does not say over how many people",
            hint="write for example people = 5000 in its section [design]",
        )
    return people


# --- verify ---------------------------------------------------------------------------------------


FORMER = "(of rounded values the release shows the side)", STEPLESS
"""What version 0.1 said of stretched values, and what is said now: certificates of it hold."""


def verify(
    policy: str | os.PathLike[str], certificate: Certificate | str | os.PathLike[str]
) -> Certificate:
    """Compute a certificate again from its policy file; refuse one that cannot be relied on.

    Everything is recomputed: the certificate must belong to the file, every byte of it, what it
    says must hold, and it must promise what was asked for.

    Args:
        policy: the policy file.
        certificate: the certificate, or its file.

    Returns:
        The certificate, which holds.

    Raises:
        CertificateError: it belongs to another policy, does not hold, or promises nothing.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from hartley import PolicyDocument, UniformQuantizer, certify
        >>> from hartley.policies.quantized_column import QuantizedColumn
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "policy.toml")
        ...     ages = QuantizedColumn("age", UniformQuantizer(0, 100, 10))
        ...     _ = PolicyDocument((ages,)).save(path)
        ...     print(verify(path, certify(PolicyDocument.load(path)).bind(path)).sound)
        True
    """
    if isinstance(certificate, Certificate):
        known, name = certificate, "The certificate"
    else:
        known, name = Certificate.load(certificate), f"The certificate {certificate}"
    verify_certificate(known, policy)
    try:
        known.refuse_unsound()
    except CertificateError as error:
        raise CertificateError(
            f"{name} of the policy {policy} is nothing to rely on: "
            f"{error.problem[0].lower()}{error.problem[1:]}",
            hint=error.hint,
        ) from None
    return known


def verify_certificate(certificate: Certificate, path: str | os.PathLike[str]) -> None:
    """Verify that a certificate belongs to a policy file and that all it says holds.

    The fingerprint covers every byte of the file. Everything else is computed again from the
    policy; only the budget that it is held against is taken from the certificate, which says
    it in its claim too.

    Raises:
        CertificateError: the certificate is of another file, or something in it does not hold.

    Example:
        >>> import tempfile
        >>> from hartley.policies.quantized_column import QuantizedColumn
        >>> from hartley.policies.quantizer import UniformQuantizer
        >>> ages = PolicyDocument((QuantizedColumn("age", UniformQuantizer(0, 100, 7)),))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = ages.save(Path(folder, "ages.toml"))
        ...     certificate = Certificate.of(promise_document(ages)).bind(path)
        ...     verify_certificate(certificate, path)
        ...     _ = path.write_text(path.read_text() + " ")
        ...     verify_certificate(certificate, path)
        Traceback (most recent call last):
            ...
        hartley.errors.CertificateError: The certificate belongs to another policy file than ...
    """
    try:
        content = Path(path).read_bytes()
    except OSError:
        raise CertificateError(
            f"The policy file {path} cannot be read", hint="check the path"
        ) from None
    if certificate.policy_digest is None:
        raise CertificateError(
            "The certificate belongs to no policy file",
            hint="bind it to one when it is made: certify(policy).bind(path)",
        )
    if certificate.policy_digest != hashlib.sha256(content).hexdigest():
        raise CertificateError(
            f"The certificate belongs to another policy file than {path}",
            hint="the policy was changed or mistaken; certify it again",
        )
    _compare(certificate, _recompute(content, path, certificate.parameters.get("budget")))


def _recompute(content: bytes, path: str | os.PathLike[str], budget: object) -> Promise:
    """Compute the promise from the bytes that were compared: the file may change meanwhile."""
    try:
        document = PolicyDocument.from_toml(
            content.decode("utf-8-sig"), name=f"the policy file {path}"
        )
        return promise_document(document, budget)
    except (HartleyError, UnicodeDecodeError) as error:
        problem = getattr(error, "problem", "it is not text")
        raise CertificateError(
            f"Nothing can be certified of the policy file {path}: {problem}",
            hint=getattr(error, "hint", "certify a policy that hartley has written"),
        ) from None


def _compare(certificate: Certificate, promise: Promise) -> None:
    """Raise CertificateError if a field comes out differently when it is computed again."""
    saved, recomputed = certificate.to_dict(), Certificate.of(promise).to_dict()
    for name in (field.name for field in fields(Promise)):
        before, now = (json.dumps(each[name], sort_keys=True) for each in (saved, recomputed))
        if before.replace(*FORMER) == now.replace(*FORMER):
            continue
        raise CertificateError(
            f"The {name} of the certificate {'do' if name.endswith('s') else 'does'} not hold: "
            "recomputed from the policy, the result differs",
            hint="it was edited, or made by another version; certify the policy again",
        )


# ``Certificate.check`` is public and calls this; certificates themselves import no policies.
Certificate.verifier = verify_certificate


# --- certify --------------------------------------------------------------------------------------
# Compute the promise of a finished policy from the policy alone, without trusting its design.

MOST_SHOWN = 12
"""The sides of a larger box are not listed in a certificate."""


def certify(  # noqa: PLR0913 - what is given beside each kind of policy
    policy: Policy,
    budget: object = None,
    *,
    query: Query | Sequence[Query] | None = None,
    box: Box | None = None,
    sensitivity: object = None,
    counted: Relation | Mapping[Any, int] | None = None,
    against: Literal["knowing", "not knowing"] = "knowing",
) -> Certificate:
    """Return what a finished policy promises.

    A policy file is certified from its content alone. A policy that was built in Python contains
    less, so the query or the ranges are passed as arguments.

    Args:
        policy: what releases.
        budget: the bits that were asked for; whether the policy keeps to them is recomputed.
        query: the query whose answer a quantizer releases, over the people of ``box``; without
            one, the quantizer releases one person's own value. A vector quantizer has a list.
        box: the declared range of every person's value.
        sensitivity: how far one person's data can move the query, where that is not computed.
        counted: for merged categories, the relation or the counts of records whose leakage is
            certified; without them, the number of labels is.
        against: somebody "knowing" everybody else's data (noiseless privacy), or "not knowing"
            it (indistinguishability, of a linear query).

    Example:
        >>> from hartley.policies.quantizer import UniformQuantizer
        >>> from hartley.boxes.box import Box
        >>> quantizer = UniformQuantizer.for_bits(low=0, high=1, sensitivity="0.5", bits=1)
        >>> certify(quantizer, query="(x1 + x2)/2", box=Box.cube(0, 1, size=2)).value
        1.0
    """
    given = _Given(budget, query, box, sensitivity, counted, against)
    names = [kind.__name__ for kind in type(policy).__mro__ if kind.__name__ in _PROMISES]
    if not names:
        raise OptionError(
            f"A {type(policy).__name__} cannot be certified",
            hint="pass a policy, or PolicyDocument.load(path)",
        )
    return Certificate.of(_PROMISES[names[0]](policy, given))


@dataclass(frozen=True)
class _Given:
    """What is given beside a policy; each kind of policy reads what it needs."""

    budget: object
    query: Query | Sequence[Query] | None
    box: Box | None
    sensitivity: object
    counted: Relation | Mapping[Any, int] | None
    against: Literal["knowing", "not knowing"]


def _promise_pram(policy: Pram, given: _Given) -> Promise:
    named = policy if policy.columns else policy.on("the value")
    return promise_document(PolicyDocument((named,)), given.budget)


def _promise_meeting(policy: HidingPolicy, _: _Given) -> Promise:
    from hartley.policies.hypotheses.hiding_columns import MeetColumn

    column = MeetColumn(policy)
    if policy.also:
        return promise_lines(PolicyDocument((column,)))
    return promise_open(*column.all_left_open())


def _promise_cells(policy: Quantizer, given: _Given) -> Promise:
    box, query = given.box, given.query
    if isinstance(query, (list, tuple)):
        raise OptionError(
            "A quantizer releases one query, and several were given",
            hint="certify a VectorQuantizer, with one quantizer for each",
        )
    names = () if box is None else box.names
    expression = None if query is None else as_expression(query, names)  # type: ignore[arg-type]  # no list
    if given.against == "knowing":
        return _promise_quantizer(policy, expression, box, given.sensitivity, given.budget)
    if not policy.is_equal or expression is None or box is None:
        raise OptionError(
            "Indistinguishability needs equal cells, a linear query and the ranges of its people",
            hint="give a UniformQuantizer, query= and box=",
        )
    return promise_indistinguishability(policy, expression, box, given.budget)


def _promise_vector(policy: VectorQuantizer, given: _Given) -> Promise:
    if given.query is None or given.box is None or given.against != "knowing":
        raise OptionError(
            "Several answers are certified with their queries and the ranges of their people",
            hint="give query=[...] and box=",
        )
    from hartley.guarantees.exhaustive import queries_of

    parts, queries = queries_of(policy, given.query)
    expressions = [as_expression(query, given.box.names) for query in queries]
    return promise_vector(policy, parts, expressions, given.box, given.budget)


def _promise_allocation(policy: Allocation, given: _Given) -> Promise:
    outputs = [Output(name, n, frozenset({name})) for name, n in policy.levels.items()]
    lengths = {
        name: column.range.length
        for name, column in policy.columns.items()
        if column.points is None  # of listed points not every number is possible
    }
    return promise_records(outputs, lengths, given.budget)


def _promise_merging(policy: CategoryMerging, given: _Given) -> Promise:
    if given.counted is not None:
        return promise_leakage(policy, given.counted, given.budget)
    output = Output(policy.column, len(policy.groups), frozenset({policy.column}))
    return promise_records([output], {}, given.budget)


def _promise_quantizer(
    policy: Quantizer,
    expression: Expression | None,
    box: Box | None,
    sensitivity: object,
    budget: object,
) -> Promise:
    """Certify one person's own value, or an answer about many people in which each is one."""
    if expression is None and sensitivity is None:
        name, length = "the value", policy.high - policy.low
        own = Output(name, policy.outputs, frozenset({name}))
        return promise_records([own], {name: length} if length else {}, budget)
    person: Fraction | None = None
    if expression is not None and box is not None:
        reach = influence(expression, box, sensitivity)
        person = min((box[name].length for name in expression.names), default=None)
    elif sensitivity is None:
        raise OptionError(
            "How far one person can move this query is not known",
            hint="give sensitivity=, or box= with the ranges of its variables",
        )
    else:
        reach = parse_number(sensitivity, name="the sensitivity")
        if reach < 0:
            raise OptionError(
                "The sensitivity is negative",
                hint="it is how far one person's data can move the query",
            )
    asked = "the query" if expression is None else printable(expression_text(expression))
    more = (
        joint_leakage(box, expression, policy) if expression is not None and box is not None else ()
    )
    return promise_answers(
        [ReleasedAnswerClaim(asked, policy, reach, person or None)],
        budget,
        more=more,
        parameters={
            "query": None if expression is None else asked,
            "box": None if box is None or len(box.names) > MOST_SHOWN else plain_box(box),
            "sensitivity": str(reach),
        },
    )


_PROMISES: dict[str, Callable[[Any, _Given], Promise]] = {
    "PolicyDocument": lambda policy, given: promise_document(policy, given.budget),
    "Pram": _promise_pram,
    "LinePolicy": lambda policy, _: promise_line(policy),
    "HidingPolicy": _promise_meeting,
    "Quantizer": _promise_cells,
    "VectorQuantizer": _promise_vector,
    "Allocation": _promise_allocation,
    "CategoryMerging": _promise_merging,
}
"""What each kind of policy promises, by the name of its class: verifying one imports no other."""
