"""Compute the promise of a finished policy from the policy alone, without trusting its design."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Literal

from hartley.errors import OptionError, printable
from hartley.exact import parse_number
from hartley.guarantees.answers import (
    ReleasedAnswerClaim,
    of_query,
    promise_answers,
    promise_indistinguishability,
    reach_of,
)
from hartley.guarantees.categories import promise_leakage
from hartley.guarantees.documents import promise_document
from hartley.guarantees.exhaustive import queries_of, verify_exhaustively
from hartley.guarantees.hypotheses import plain_box, promise_line, promise_lines
from hartley.guarantees.open_records import promise_open
from hartley.guarantees.records import promise_records
from hartley.guarantees.vectors import promise_vector
from hartley.guarantees.verify import Certificate  # able to compute itself again
from hartley.policies.categories.merging import CategoryMerging
from hartley.policies.column import Output
from hartley.policies.document import PolicyDocument
from hartley.policies.hypotheses.blurring import LinePolicy
from hartley.policies.hypotheses.continuous_meet import ContinuousMeetPolicy
from hartley.policies.hypotheses.meet_column import MeetColumn
from hartley.policies.hypotheses.meeting import MeetPolicy
from hartley.policies.hypotheses.table_policy import TablePolicy
from hartley.policies.perturbation.pram import Pram
from hartley.policies.quantizers.allocation import Allocation
from hartley.policies.quantizers.quantizer import Quantizer
from hartley.policies.quantizers.vector import VectorQuantizer
from hartley.ranges.boxes.enclosure import shown
from hartley.ranges.boxes.expression import Expression, as_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from hartley.guarantees.promise import Promise
    from hartley.ranges.boxes.box import Box
    from hartley.ranges.relations.relation import Relation

    Query = Expression | str | Callable[..., Any]
    Hiding = LinePolicy | MeetPolicy | TablePolicy | ContinuousMeetPolicy
    Policy = (
        PolicyDocument | Quantizer | VectorQuantizer | Allocation | CategoryMerging | Hiding | Pram
    )

__all__ = ["certify", "verify_exhaustively"]

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
        >>> from hartley.policies.quantizers.quantizer import UniformQuantizer
        >>> from hartley.ranges.boxes.box import Box
        >>> quantizer = UniformQuantizer.for_bits(low=0, high=1, sensitivity="0.5", bits=1)
        >>> certify(quantizer, query="(x1 + x2)/2", box=Box.cube(0, 1, size=2)).value
        1.0
    """
    given = _Given(budget, query, box, sensitivity, counted, against)
    return Certificate.of(_promise(policy, given))


@dataclass(frozen=True)
class _Given:
    """What is given beside a policy; each kind of policy reads what it needs."""

    budget: object
    query: Query | Sequence[Query] | None
    box: Box | None
    sensitivity: object
    counted: Relation | Mapping[Any, int] | None
    against: Literal["knowing", "not knowing"]


@singledispatch
def _promise(policy: object, given: _Given) -> Promise:
    """Return what a policy promises; a function of its own for each kind of policy."""
    _ = given
    raise OptionError(
        f"A {type(policy).__name__} cannot be certified",
        hint="pass a policy, or PolicyDocument.load(path)",
    )


@_promise.register(PolicyDocument)
def _promise_file(policy: PolicyDocument, given: _Given) -> Promise:
    return promise_document(policy, given.budget)


@_promise.register(Pram)
def _promise_pram(policy: Pram, given: _Given) -> Promise:
    named = policy if policy.columns else policy.on("the value")
    return promise_document(PolicyDocument((named,)), given.budget)


@_promise.register(LinePolicy)
def _promise_hypothesis(policy: LinePolicy, given: _Given) -> Promise:
    _ = given
    return promise_line(policy)


@_promise.register(MeetPolicy)
@_promise.register(TablePolicy)
@_promise.register(ContinuousMeetPolicy)
def _promise_meeting(
    policy: MeetPolicy | TablePolicy | ContinuousMeetPolicy, given: _Given
) -> Promise:
    _ = given
    column = MeetColumn(policy)
    if len(column.all_left_open()) > 1:
        return promise_lines(PolicyDocument((column,)))
    return promise_open(column.leaves_open())


@_promise.register(Quantizer)
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
    return _promise_indistinguishability(policy, expression, box, given.budget)


@_promise.register(VectorQuantizer)
def _promise_vector(policy: VectorQuantizer, given: _Given) -> Promise:
    if given.query is None or given.box is None or given.against != "knowing":
        raise OptionError(
            "Several answers are certified with their queries and the ranges of their people",
            hint="give query=[...] and box=",
        )
    parts, queries = queries_of(policy, given.query)
    expressions = [as_expression(query, given.box.names) for query in queries]
    return promise_vector(policy, parts, expressions, given.box, given.budget)


@_promise.register(Allocation)
def _promise_allocation(policy: Allocation, given: _Given) -> Promise:
    outputs = [Output(name, n, frozenset({name})) for name, n in policy.levels.items()]
    lengths = {
        name: column.range.length
        for name, column in policy.columns.items()
        if column.points is None  # of listed points not every number is possible
    }
    return promise_records(outputs, lengths, given.budget)


@_promise.register(CategoryMerging)
def _promise_merging(policy: CategoryMerging, given: _Given) -> Promise:
    if given.counted is not None:
        return promise_leakage(policy, given.counted, given.budget)
    output = Output(policy.column, len(policy.groups), frozenset({policy.column}))
    return promise_records([output], {}, given.budget)


def _promise_value(policy: Quantizer, budget: object) -> Promise:
    """Certify one person's own value, released in cells."""
    length = policy.high - policy.low
    name = "the value"
    return promise_records(
        [Output(name, policy.outputs, frozenset({name}))],
        {name: length} if length else {},
        budget,
    )


def _promise_quantizer(
    policy: Quantizer,
    expression: Expression | None,
    box: Box | None,
    sensitivity: object,
    budget: object,
) -> Promise:
    """Certify one person's own value, or an answer about many people in which each is one."""
    if expression is None and sensitivity is None:
        return _promise_value(policy, budget)
    person: Fraction | None = None
    if expression is not None and box is not None:
        reach = reach_of(expression, box, sensitivity)
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
    asked = "the query" if expression is None else printable(shown(expression))
    more = of_query(box, expression, policy) if expression is not None and box is not None else ()
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


def _promise_indistinguishability(
    policy: Quantizer,
    expression: Expression | None,
    box: Box | None,
    budget: object,
) -> Promise:
    if not policy.is_equal or expression is None or box is None:
        raise OptionError(
            "Indistinguishability needs equal cells, a linear query and the ranges of its people",
            hint="give a UniformQuantizer, query= and box=",
        )
    return promise_indistinguishability(policy, expression, box, budget)
