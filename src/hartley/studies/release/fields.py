"""The fields of a specification, read and checked."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from hartley.boxes.box import Interval
from hartley.errors import ColumnError, InputError, OptionError
from hartley.exact import parse_number, parse_step
from hartley.files import one_line
from hartley.policies.quantizer import Aggregate, levels_for_error, parse_query
from hartley.text import exactly, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


# --- specification fields -------------------------------------------------------------------------
# Fields of a design, read one by one; whatever makes no sense is one sentence with a hint.

Objective = Literal["maximin", "leakage", "bits", "indistinguishability", "hypothesis"]
NEEDS = {
    "maximin": ("query", "error"),
    "leakage": ("query", "error"),
    "bits": ("bits",),
    "indistinguishability": ("query", "bits"),
    "hypothesis": ("hypothesis", "error"),
}
"""For every objective the fields that it needs."""
MAY_HAVE = {
    "maximin": ("people", "name", "norm"),
    "leakage": ("people", "name"),
    "bits": ("query", "people", "name", "norm", "sensitivity", "weights", "rule"),
    "indistinguishability": ("people", "name", "rule"),
    "hypothesis": ("policy", "move", "known_within", "norm", "round", "possible"),
}
"""For every objective the fields that it may have besides."""
EXAMPLES = {
    "query": 'query = "mean(height)", or query = "height" for every record',
    "error": "error = 0.5, the furthest that the release may be off",
    "bits": "bits = 3, the most that the release may tell about one person",
    "hypothesis": 'hypothesis = "weight >= 30*(height/100)**2"',
}
FIELDS = (
    *("title", "objective", "query", "name", "error", "bits", "people", "sensitivity"),
    *("hypothesis", "policy", "move", "known_within", "norm", "round", "possible"),
    *("rule", "weights", "columns"),
)
MOST_BITS = 1000
"""More than this no release of numbers tells."""


def as_written(value: object) -> object:
    """Return a number of a file as it is written there, and anything else unchanged."""
    return str(value) if isinstance(value, Decimal) else value


def read_number(value: object, name: str) -> Fraction:
    """Read a number as it is written; not a number, infinite and truth values are refused.

    Example:
        >>> read_number(Decimal("0.1"), "the error")
        Fraction(1, 10)
        >>> read_number(float("nan"), "the error")
        Traceback (most recent call last):
        hartley.errors.OptionError: The error is not a number; hint: ...
    """
    return parse_number(as_written(value), name=name)


def refuse_unknown(fields: Iterable[str], known: Iterable[str], place: str) -> None:
    """Refuse a field that nobody reads, most likely a misspelled one."""
    for field in fields:
        if field not in known:
            close = difflib.get_close_matches(str(field), list(known), n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"it may have {', '.join(known)}"
            raise InputError(f"{place} has the unknown field '{field}'", hint=hint)


def read_objective(content: Mapping[str, Any]) -> Objective:
    """Read the objective of a design, and refuse fields that it lacks or has no use for."""
    refuse_unknown(content, FIELDS, "The design")
    objective = content.get("objective")
    if not isinstance(objective, str) or objective not in get_args(Objective):
        told = "names no objective" if objective is None else f"has the objective {objective!r}"
        known = f"choose from {', '.join(get_args(Objective))}"
        random = "matrices of random perturbation are designed by hartley pram"
        raise InputError(f"The design {told}", hint=random if objective == "pram" else known)
    _check_fields(content, objective)
    return cast("Objective", objective)


def _check_fields(content: Mapping[str, Any], objective: str) -> None:
    """Refuse what is missing for an objective, and what has no meaning for it."""
    if "error" in content and "bits" in content:
        raise InputError(
            "The design gives both an error and bits",
            hint='give bits with objective = "bits" or "indistinguishability", and an error with '
            "every other",
        )
    needed, allowed = NEEDS[objective], (*MAY_HAVE[objective], "title", "objective", "columns")
    missing = [name for name in needed if name not in content]
    if missing:
        raise InputError(
            f"The objective {objective} needs '{missing[0]}'",
            hint=f"write {EXAMPLES[missing[0]]}",
        )
    for name in content:
        if name not in (*needed, *allowed):
            raise InputError(
                f"The field '{name}' has no meaning for the objective {objective}",
                hint=f"it has {', '.join((*needed, *MAY_HAVE[objective]))}",
            )


def read_text(content: Mapping[str, Any], name: str) -> str | None:
    """Read a field of text; None where it is left out."""
    text = content.get(name)
    if text is None:
        return None
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"The field '{name}' is not text", hint=f'write {name} = "..."')
    return text.strip()


def read_hypotheses(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Read one hypothesis or a list of several; none where it is left out."""
    texts = content.get("hypothesis", [])
    several = texts if isinstance(texts, list) else [texts]
    if not all(isinstance(text, str) and text.strip() for text in several):
        raise InputError(
            "The field 'hypothesis' is not text",
            hint='write hypothesis = "weight >= 100", or a list of several',
        )
    return tuple(text.strip() for text in several)


def read_choice(content: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> Any:  # noqa: ANN401 - one of the choices
    """Read a field that has some possible values, the first by default."""
    chosen = content.get(name, choices[0])
    if chosen not in choices:
        quoted = listed((f"'{choice}'" for choice in choices), joint="or")
        raise InputError(f"The {name} {chosen!r} is unknown", hint=f"choose {quoted}")
    return chosen


def read_move(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Read which columns may be moved, one or a list; none where it is left out."""
    move = content.get("move", [])
    names = [move] if isinstance(move, str) else move
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(
            "The field 'move' does not list columns", hint='write for example move = ["weight"]'
        )
    return tuple(names)


def read_known_within(value: object) -> tuple[Fraction, ...] | None:
    """Read to within what somebody may know moved values; None where it is left out."""
    if value is None:
        return None
    numbers = value if isinstance(value, list) else [value]
    return tuple(read_number(number, "known_within") for number in numbers)


def read_error(value: object) -> Fraction:
    """Read how far a release may be off."""
    error = read_number(value, "the error")
    if error <= 0:
        raise OptionError(
            f"The error {exactly(error)} is not positive",
            hint="a release within an error of 0 is the truth; give how far it may be off",
        )
    return error


def read_bits(value: object) -> Fraction:
    """Read a budget; one that allows a single output is refused, for that tells nothing."""
    bits = read_number(value, "the budget in bits")
    if bits <= 0:
        raise OptionError(
            f"The budget of {exactly(bits)} bits is not positive",
            hint="give at least 1 bit, or release nothing",
        )
    if bits < 1:  # floor(2^bits) outputs
        raise OptionError(
            f"A budget of {exactly(bits)} bits allows a single output, which tells nothing",
            hint="give at least 1 bit, which two outputs take",
        )
    if bits > MOST_BITS:
        raise OptionError(
            f"The budget of {exactly(bits)} bits is more than any release of numbers tells",
            hint=f"give fewer, up to {MOST_BITS:,} bits",
        )
    return bits


def read_people(value: object) -> int:
    """Read how many people a query is about."""
    people = read_number(value, "the number of people")
    if people.denominator != 1 or people < 1:
        raise OptionError(
            f"There cannot be {exactly(people)} people", hint="write for example people = 5000"
        )
    if people >= 2**63:
        raise OptionError(
            "There cannot be so many people", hint="write how many people the table is about"
        )
    return int(people)


def read_sensitivity(value: object) -> Fraction | None:
    """Read how far one person can move a query; None where it is left out."""
    if value is None:
        return None
    found = read_number(value, "the sensitivity")
    if found <= 0:
        raise OptionError(
            f"The sensitivity {exactly(found)} is not positive",
            hint="it is how far one person's data can move the query",
        )
    return found


def read_weights(weights: object) -> dict[str, Fraction]:
    """Read how much the errors of columns matter."""
    if not isinstance(weights, (dict, type(None))):
        raise InputError(
            "The weights are not a table", hint='write weights = { height = 2 }, or "range"'
        )
    found = {
        name: read_number(value, f"the weight of column '{name}'")
        for name, value in (weights or {}).items()
    }
    for name, weight in found.items():
        if weight <= 0:
            raise OptionError(
                f"The weight of column '{name}' is not positive",
                hint="leave out a column that does not matter",
            )
    return found


def readable(low: Fraction, high: Fraction, error: Fraction | None) -> Interval:
    """Round a range that is too wide already outward, to ends that a file can show.

    Never so far that the error would take another cell; then the ends stay as they are.
    """
    digits = 10 ** max(0, 9 - len(str(int(high - low))))
    rounded = Interval(
        Fraction((low * digits).__floor__(), digits), Fraction((high * digits).__ceil__(), digits)
    )
    if error is not None:
        needed = levels_for_error(high - low, error)
        if levels_for_error(rounded.length, error) > needed:
            return Interval(low, high)
    return rounded


# --- declared -------------------------------------------------------------------------------------
# The columns that a design declares: ranges of numbers, or lists of categories.

NUMERIC = ("range", "step")
CATEGORICAL = ("values", "groups", "hierarchy", "bits", "other")


@dataclass(frozen=True)
class DeclaredColumn:
    """What a column could hold: a range of numbers, perhaps in steps, or some categories.

    Example:
        >>> height = DeclaredColumn.read("height", {"range": [100, 250], "step": "0.5"})
        >>> print(height.range, height.step)
        [100, 250] 1/2
        >>> DeclaredColumn.read("sex", {"values": ["F", "M"]}).values
        ('F', 'M')
    """

    name: str
    range: Interval | None = None
    """None of a column of categories."""
    step: Fraction | None = None
    values: tuple[object, ...] = ()
    """Every category that can occur; empty of a column of numbers."""
    groups: tuple[tuple[str, tuple[object, ...]], ...] | None = None
    """Labels and the categories that are released as each."""
    hierarchy: Mapping[Any, Any] | None = None
    """For every category and every place but the roots, the place above it."""
    bits: Fraction | None = None
    """The most that the category may tell."""
    other: str | None = None
    """What is released for a category that is not listed; None refuses such values."""

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers."""
        return self.range is not None

    @classmethod
    def read(cls, name: str, fields: object) -> DeclaredColumn:
        """Read the fields of a section ``[columns.NAME]``."""
        if not isinstance(fields, dict):
            raise ColumnError(
                f"Column '{name}' is not described by fields",
                hint=f"write [columns.{name}] and below it range = [100, 250]",
            )
        refuse_unknown(fields, (*NUMERIC, *CATEGORICAL), f"Column '{name}'")
        if "values" in fields:
            return cls._read_categories(name, fields)
        if "range" not in fields:
            raise ColumnError(
                f"Column '{name}' has no range",
                hint="write range = [100, 250], or values = [...] for categories",
            )
        alien = [field for field in fields if field not in NUMERIC]
        if alien:
            raise ColumnError(
                f"Column '{name}' has a range, so '{alien[0]}' has no meaning",
                hint="a column of numbers has range and step",
            )
        step = parse_step(as_written(fields["step"]), column=name) if "step" in fields else None
        span = _read_range(name, fields["range"])
        if step is not None and step > span.length:
            raise ColumnError(
                f"The step of column '{name}' is larger than its range",
                hint="the values are low, low + step, low + 2 step ... up to high",
            )
        return cls(name, span, step)

    @classmethod
    def _read_categories(cls, name: str, fields: Mapping[str, Any]) -> DeclaredColumn:
        alien = [field for field in fields if field not in CATEGORICAL]
        if alien:
            raise ColumnError(
                f"Column '{name}' lists values, so '{alien[0]}' has no meaning",
                hint=f"a column of categories has {', '.join(CATEGORICAL)}",
            )
        values = fields["values"]
        plain = isinstance(values, (list, tuple)) and all(
            isinstance(value, (str, int)) and not isinstance(value, bool) for value in values
        )
        if not plain or not values or len(set(values)) < len(values):
            raise ColumnError(
                f"The values of column '{name}' are not a list of different categories",
                hint='write for example values = ["north", "south"]',
            )
        how = [field for field in ("groups", "hierarchy", "bits") if field in fields]
        if "groups" in how and len(how) > 1:
            raise ColumnError(
                f"Column '{name}' has groups, so '{how[1]}' has no meaning",
                hint="give the groups, or the bits and perhaps a hierarchy to find them",
            )
        if how == ["hierarchy"]:
            raise ColumnError(
                f"Column '{name}' has a hierarchy but no bits",
                hint="write for example bits = 1, the most that the category may tell",
            )
        hierarchy = fields.get("hierarchy")
        if not isinstance(hierarchy, (dict, NoneType)):
            raise ColumnError(
                f"The hierarchy of column '{name}' does not name the place above each value",
                hint='write for example hierarchy = { Paris = "France", France = "Europe" }',
            )
        return cls(
            name,
            values=tuple(values),
            groups=_read_groups(name, fields["groups"], values) if "groups" in fields else None,
            hierarchy=hierarchy,
            bits=_read_bits(name, fields["bits"]) if "bits" in fields else None,
            other=_read_other(name, fields.get("other")),
        )


def _read_range(name: str, ends: object) -> Interval:
    if not isinstance(ends, (list, tuple)) or len(ends) != 2:
        raise ColumnError(
            f"The range of column '{name}' is not given by two ends",
            hint="write for example range = [100, 250]",
        )
    low, high = (
        read_number(end, f"the {which} end of the range of column '{name}'")
        for which, end in zip(("low", "high"), ends, strict=True)
    )
    if low > high:
        raise ColumnError(
            f"The range of column '{name}' is reversed: {exactly(low)} is larger than "
            f"{exactly(high)}",
            hint="write the smaller end first",
        )
    if low == high:
        raise ColumnError(
            f"The range of column '{name}' is empty: it holds {exactly(low)} alone",
            hint="leave out a column whose value is known, or widen its range",
        )
    return Interval(low, high)


def _read_groups(
    name: str, groups: object, values: Iterable[object]
) -> tuple[tuple[str, tuple[object, ...]], ...]:
    if not isinstance(groups, dict) or not all(
        isinstance(g, (list, tuple)) for g in groups.values()
    ):
        raise ColumnError(
            f"The groups of column '{name}' are not lists with labels",
            hint='write for example groups = { coast = ["north", "west"], inland = ["south"] }',
        )
    listed = [value for group in groups.values() for value in group]
    if sorted(map(repr, listed)) != sorted(map(repr, values)) or not all(groups.values()):
        raise ColumnError(
            f"The groups of column '{name}' do not hold every listed value once",
            hint="put every one of its values into one group",
        )
    return tuple((label, tuple(group)) for label, group in groups.items())


def _read_bits(name: str, bits: object) -> Fraction:
    number = read_number(bits, f"the bits of column '{name}'")
    if number < 0:
        raise ColumnError(
            f"The bits of column '{name}' are negative",
            hint="0 bits join all its values, 1 bit leaves half of them possible",
        )
    return number


def _read_other(name: str, other: object) -> str | None:
    if other is None or other is False:
        return None
    if other is True or isinstance(other, str):
        return "other" if other is True else other
    raise ColumnError(
        f"The field 'other' of column '{name}' is not a label",
        hint='write for example other = "other"',
    )


def policies_for(
    content: Mapping[str, Any], columns: Mapping[str, DeclaredColumn]
) -> tuple[str, str, str]:
    """Return the policies against a hypothesis, the default first: `meet` for data with a step."""
    has_step = content.get("objective") == "hypothesis" and any(
        column.step is not None for column in columns.values()
    )
    return ("meet", "stretch", "blur") if has_step else ("stretch", "blur", "meet")


def weigh(weights: object, columns: Mapping[str, DeclaredColumn]) -> dict[str, Fraction]:
    """Read weights; "range" measures every error as a part of its column's range."""
    if weights != "range":
        return read_weights(weights)
    return {name: 1 / c.range.length for name, c in columns.items() if c.range is not None}


# --- query list -----------------------------------------------------------------------------------
# A design whose query is a list: what each of the queries would be as a design of its own.

ONE_QUERY_ONLY = ("sensitivity", "rule")
"""Fields that have a meaning for one query alone."""


def is_query_list(content: Mapping[str, Any]) -> bool:
    """Tell whether a design asks for several queries together."""
    return isinstance(content.get("query"), (list, tuple))


def split_queries(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the content of a design for each of its queries."""
    objective = read_objective(content)
    if objective not in ("maximin", "bits"):
        raise InputError(
            f"The objective {objective} is for one query, and several were given",
            hint='use objective = "maximin" or "bits", or design each query by itself',
        )
    for name in ONE_QUERY_ONLY:
        if name in content:
            raise InputError(
                f"The field '{name}' has no meaning for several queries", hint="leave it out"
            )
    queries = _read_texts(content["query"], "query")
    if len(queries) == 1:
        raise InputError("The list of queries holds one query", hint="write it without brackets")
    parsed = [parse_query(query) for query in queries]
    about_table = [isinstance(query, Aggregate) for query in parsed]
    if any(about_table) and not all(about_table):
        whole, row = (queries[about_table.index(kind)] for kind in (True, False))
        raise InputError(
            f"The design asks for {one_line(whole)} of a whole table beside '{one_line(row)}' of "
            "every record",
            hint="write two designs",
        )
    names = _read_names(content.get("name"), queries)
    errors = _read_errors(content.get("error"), queries, content.get("norm"))
    columns = content.get("columns")
    declared = columns if isinstance(columns, dict) else {}
    used = [(query.column,) if isinstance(query, Aggregate) else query.names for query in parsed]
    idle = [name for name in declared if not any(name in of for of in used)]
    if idle:
        raise ColumnError(
            f"Column '{idle[0]}' is declared, but no query names it",
            hint="leave it out: what a design does not use is not released",
        )
    parts = []
    for query, called, error, needed in zip(queries, names, errors, used, strict=True):
        part = {
            key: value for key, value in content.items() if key in ("objective", "bits", "people")
        }
        own = {column: fields for column, fields in declared.items() if column in needed}
        part |= {"query": query, "columns": own or columns}
        part |= {} if error is None else {"error": error}
        parts.append(part | ({} if called is None else {"name": called}))
    return parts


def read_query_weights(weights: object, queries: tuple[str, ...]) -> dict[str, Fraction]:
    """Read how much the error of each query matters; those of "range" follow from the ranges."""
    if weights is None or weights == "range":
        return {}
    if not isinstance(weights, dict):
        raise InputError(
            "The weights are not a table", hint='write weights = { "mean(height)" = 2 }, or "range"'
        )
    read = {}
    for query, weight in weights.items():
        if query not in queries:
            raise InputError(
                f"A weight names '{one_line(query)}', which the design does not ask for",
                hint=f"the queries are {listed(map(one_line, queries))}",
            )
        read[query] = read_number(weight, f"the weight of '{one_line(query)}'")
        if read[query] <= 0:
            raise InputError(
                f"The weight of '{one_line(query)}' is not positive",
                hint="leave out a query that does not matter",
            )
    return read


def _read_texts(items: object, field: str) -> list[str]:
    texts = [item.strip() if isinstance(item, str) else "" for item in items]  # type: ignore[attr-defined]  # a list
    if not texts or not all(texts):
        raise InputError(
            f"The field '{field}' is not a list of texts",
            hint='write query = ["mean(height)", "mean(weight)"]',
        )
    doubled = [text for text in texts if texts.count(text) > 1]
    if doubled:
        raise InputError(
            f"The field '{field}' lists '{one_line(doubled[0])}' twice", hint="list it once"
        )
    return texts


def _read_names(names: object, queries: list[str]) -> list[str | None]:
    if names is None:
        return [None] * len(queries)
    if not isinstance(names, (list, tuple)) or len(names) != len(queries):
        raise InputError(
            "The field 'name' does not name every answer",
            hint=f"write a list of {len(queries)} names, in the order of the queries",
        )
    return list(_read_texts(names, "name"))


def _read_errors(error: object, queries: list[str], norm: object) -> list[Any]:
    if not isinstance(error, (list, tuple)):
        return [error] * len(queries)
    if norm == "euclidean":
        raise InputError(
            "A Euclidean error is one number for all queries",
            hint='write error = 10, or leave out norm = "euclidean"',
        )
    if len(error) != len(queries):
        raise InputError(
            f"There are {len(error)} errors for {len(queries)} queries",
            hint="write one error for all of them, or one for each",
        )
    return list(error)
