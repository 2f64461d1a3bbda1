"""A resolved batch: conditions over codes, forms of codes, and the integer statistics asked for.

Everything here is in integers. A row has one code per column, 0 to points - 1, or none if the value
is missing; a condition is a set of rows; a statistic is one integer per table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, order=True)
class Test:
    """The rows whose code of one column lies in closed ranges, or is missing."""

    column: str
    codes: tuple[tuple[int, int], ...]
    """Closed ranges of codes, in order, neither overlapping nor adjacent."""
    missing: bool = False
    """Whether a missing value passes too."""
    __test__: ClassVar[bool] = False  # pytest would collect a class of this name


@dataclass(frozen=True)
class All:
    """The rows that pass every part; all rows if there is no part."""

    parts: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Either:
    """The rows that pass some part; no row if there is no part."""

    parts: tuple[Condition, ...] = ()


Condition: TypeAlias = Test | All | Either
"""A set of rows for which a WHERE clause is TRUE in three-valued logic, without negations."""


def columns_of(condition: Condition) -> Iterator[str]:
    """Return the columns that a condition uses, some of them several times."""
    if isinstance(condition, Test):
        yield condition.column
    else:
        for part in condition.parts:
            yield from columns_of(part)


@dataclass(frozen=True)
class Form:
    """A whole number per row: constant + sum of coefficients times codes, in multiples of a unit.

    Example:
        >>> height = Form((("height", 1),), 200, Fraction(1, 2))  # 100 cm in steps of 0.5 cm
        >>> height.unit * (height.constant + 140)
        Fraction(170, 1)
    """

    terms: tuple[tuple[str, int], ...]
    """Columns in alphabetical order, each with a nonzero coefficient."""
    constant: int
    unit: Fraction


class Statistic(StrEnum):
    """What is computed for the rows of a question."""

    COUNT = "count"
    SUM = "sum"
    SQUARES = "sum of squares"
    """The sum of squares of a form that is never negative, so that it grows with the form."""
    ORDER = "order statistic"


COUNT, SUM, SQUARES, ORDER = Statistic
"""The same, by names of their own: looking one up in its class takes several times as long."""


@dataclass(frozen=True)
class Question:
    """One integer statistic of the rows of a condition, answered in cells of a step.

    The answer is floor((statistic - least) / step). Two questions are the same exactly when all
    their fields are, so a question is its own key.
    """

    statistic: Statistic
    where: Condition
    """Which rows count: the filter, and every column of the form present."""
    form: Form | None
    """None of a count."""
    quantile: Fraction | None
    """The p of an order statistic, the ceil(p n)-th smallest value; 0 is the smallest."""
    least: int
    """The smallest value that the statistic can have, by the schema alone; where cells begin."""
    most: int
    """The largest."""
    step: Fraction = Fraction(1)

    def __hash__(self) -> int:
        """Hash all fields, once: a question is looked up often, and its tree may be large."""
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            of = (self.statistic, self.where, self.form, self.quantile, self.least, self.most)
            known = hash((*of, self.step))
            object.__setattr__(self, "_hash", known)
        return known

    def __getstate__(self) -> dict[str, Any]:
        """Leave the hash out of copies and pickles: hashes of texts differ between processes."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}


def columns_named(question: Question) -> frozenset[str]:
    """Name the columns that a question looks at, in its condition or its form."""
    form = () if question.form is None else question.form.terms
    return frozenset([*columns_of(question.where), *(column for column, _ in form)])


def to_plain(question: Question) -> dict[str, Any]:
    """Return a question as plain values, ready for JSON; equal questions give equal values.

    Example:
        >>> people = Question(Statistic.COUNT, All(), None, None, 0, 10)
        >>> to_plain(people)["where"], from_plain(to_plain(people)) == people
        ({'all': []}, True)
    """
    form, quantile = question.form, question.quantile
    return {
        "statistic": question.statistic.value,
        "where": _plain_condition(question.where),
        "form": None
        if form is None
        else [[list(term) for term in form.terms], form.constant, str(form.unit)],
        "quantile": None if quantile is None else str(quantile),
        # JSON readers elsewhere may not hold a large integer.
        "range": [str(question.least), str(question.most)],
        "step": str(question.step),
    }


def from_plain(plain: dict[str, Any]) -> Question:
    """Return the question that ``to_plain`` wrote."""
    form, quantile = plain["form"], plain["quantile"]
    least, most = map(int, plain["range"])
    return Question(
        Statistic(plain["statistic"]),
        _condition(plain["where"]),
        None
        if form is None
        else Form(tuple((name, c) for name, c in form[0]), form[1], Fraction(form[2])),
        None if quantile is None else Fraction(quantile),
        least,
        most,
        Fraction(plain["step"]),
    )


def _plain_condition(condition: Condition) -> dict[str, Any]:
    if isinstance(condition, Test):
        codes = [list(pair) for pair in condition.codes]
        return {"column": condition.column, "codes": codes, "missing": condition.missing}
    key = "all" if isinstance(condition, All) else "either"
    return {key: [_plain_condition(part) for part in condition.parts]}


def _condition(plain: dict[str, Any]) -> Condition:
    if "column" in plain:
        codes = tuple((low, high) for low, high in plain["codes"])
        return Test(plain["column"], codes, plain["missing"])
    kind, parts = (All, plain["all"]) if "all" in plain else (Either, plain["either"])
    return kind(tuple(_condition(part) for part in parts))
