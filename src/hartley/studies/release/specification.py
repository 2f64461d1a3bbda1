"""What a release is wanted for: the file that ``hartley design`` reads."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hartley.boxes.box import Box, Interval
from hartley.boxes.enclosure import check_defined, range_bounds
from hartley.boxes.exact_range import known_range
from hartley.boxes.expression import Expression, variables
from hartley.errors import ColumnError, InputError, OptionError
from hartley.files import parse_toml, read_text_file
from hartley.guarantees.answers import raised, reach_bounds
from hartley.policies.hypotheses.hypothesis import Hypothesis, LatticeColumn
from hartley.policies.hypotheses.lines import Threshold
from hartley.policies.quantizer import Aggregate, parse_query
from hartley.policies.vector import outside
from hartley.studies.release.fields import (
    DeclaredColumn,
    is_query_list,
    policies_for,
    read_bits,
    read_choice,
    read_error,
    read_hypotheses,
    read_known_within,
    read_move,
    read_objective,
    read_people,
    read_query_weights,
    read_sensitivity,
    read_text,
    readable,
    split_queries,
    weigh,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from fractions import Fraction

    from hartley.boxes.exact_range import KnownRange
    from hartley.policies.vector import Norm
    from hartley.studies.release.fields import Objective


@dataclass(frozen=True)
class Specification:
    """What a release is wanted for, read and checked: an objective, a limit, declared columns.

    Example:
        >>> wanted = Specification.read({
        ...     "objective": "maximin", "query": "mean(height)", "error": "0.5", "people": 5000,
        ...     "columns": {"height": {"range": [100, 250]}},
        ... })
        >>> str(wanted.aggregate), str(wanted.answer_range), wanted.reach
        ('mean(height)', '[100, 250]', Fraction(3, 100))
    """

    objective: Objective
    columns: Mapping[str, DeclaredColumn]
    query: str | None = None
    """An expression over columns, or mean(COLUMN) or total(COLUMN)."""
    error: Fraction | None = None
    bits: Fraction | None = None
    people: int | None = None
    """How many people a mean or a total is over."""
    sensitivity: Fraction | None = None
    """How far one person's data can move the query, where it is less than the query's range."""
    hypothesis: str | None = None
    """What is to stay open about a record, or the first of several such."""
    also: tuple[str, ...] = ()
    """More hypotheses that the same release is to leave open."""
    possible: str | None = None
    """A condition that every possible record fulfils."""
    policy: Literal["stretch", "blur", "meet"] = "stretch"
    move: tuple[str, ...] = ()
    """The columns that may be moved to hide a hypothesis, where it does not say which."""
    known_within: tuple[Fraction, ...] | None = None
    """To within what somebody may know the moved values beforehand."""
    move_norm: Literal["sup", "l1", "l2"] = "sup"
    """How the error of several moved columns is measured."""
    rounding: Literal["nearest", "down"] | None = None
    """How moved values between the steps are read; refused if left out."""
    rule: Literal["corrected", "printed"] = "corrected"
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    """How much the error of a column matters; one that is not named has weight 1."""
    name: str | None = None
    """What the answer of a query is released as."""
    title: str | None = None
    parts: tuple[Specification, ...] = ()
    """Of several queries that are released together, each as a design of its own."""
    norm: Norm = "sup"
    """Whether the error of several queries is the largest, or the length of their vector."""

    # --- reading ------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Specification:
        """Read a design from a TOML file."""
        text = read_text_file(path, what="design", kind=InputError)
        return cls.read(parse_toml(text, what=f"design {path}", kind=InputError))

    @classmethod
    def of(cls, spec: Specification | Mapping[str, Any] | str | Path) -> Specification:
        """Return a design as it is, from its content, or from the path of its file."""
        if isinstance(spec, Specification):
            return spec
        return cls.load(spec) if isinstance(spec, (str, Path)) else cls.read(spec)

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Specification:
        """Read a design from the content of a file; whatever makes no sense is refused."""
        if is_query_list(content):
            return cls._read_together(content)
        objective = read_objective(content)
        if "norm" in content and objective != "hypothesis":
            raise InputError(
                "The norm puts the errors of several queries together, but there is one query",
                hint='leave it out, or write query = ["mean(height)", "mean(weight)"]',
            )
        columns = _read_columns(content.get("columns"))
        hypotheses = read_hypotheses(content)
        found = cls(
            objective=objective,
            columns=columns,
            query=read_text(content, "query"),
            error=read_error(content["error"]) if "error" in content else None,
            bits=read_bits(content["bits"]) if "bits" in content else None,
            people=read_people(content["people"]) if "people" in content else None,
            sensitivity=read_sensitivity(content.get("sensitivity")),
            hypothesis=hypotheses[0] if hypotheses else None,
            also=hypotheses[1:],
            possible=read_text(content, "possible"),
            policy=read_choice(content, "policy", policies_for(content, columns)),
            move=read_move(content),
            known_within=read_known_within(content.get("known_within")),
            move_norm=read_choice(content, "norm", ("sup", "l1", "l2")),
            rounding=read_choice(content, "round", ("nearest", "down"))
            if "round" in content
            else None,
            rule=read_choice(content, "rule", ("corrected", "printed")),
            weights=weigh(content.get("weights"), columns),
            name=read_text(content, "name"),
            title=read_text(content, "title"),
        )
        found._check()
        return found

    @classmethod
    def _read_together(cls, content: Mapping[str, Any]) -> Specification:
        """Read a design whose query is a list."""
        parts = tuple(map(cls.read, split_queries(content)))
        one_error = "error" in content and not isinstance(content["error"], (list, tuple))
        weights = read_query_weights(
            content.get("weights"), tuple(str(part.query) for part in parts)
        )
        if content.get("weights") == "range":
            weights = {str(part.query): 1 / part.answer_range.length for part in parts}
        return cls(
            objective=parts[0].objective,
            columns=_read_columns(content.get("columns")),
            error=parts[0].error if one_error else None,
            bits=parts[0].bits,
            people=parts[0].people,
            weights=weights,
            title=read_text(content, "title"),
            parts=parts,
            norm=read_choice(content, "norm", ("sup", "euclidean")),
        )

    # --- what it says -------------------------------------------------------------------------

    @cached_property
    def _parsed(self) -> Aggregate | Expression | None:
        return None if self.query is None else parse_query(self.query)

    @property
    def aggregate(self) -> Aggregate | None:
        """A query about the whole table: the mean or the total of a column."""
        return self._parsed if isinstance(self._parsed, Aggregate) else None

    @property
    def expression(self) -> Expression | None:
        """A query that is answered record by record."""
        return self._parsed if isinstance(self._parsed, Expression) else None

    @cached_property
    def threshold(self) -> Threshold | None:
        """The hypothesis: a column, and the line that it is compared with.

        None of another hypothesis, which only the policy `meet` hides.
        """
        if self.hypothesis is None:
            return None
        if self.policy != "meet":
            return Threshold.parse(self.hypothesis)
        try:
            threshold = None if self.also else Threshold.parse(self.hypothesis)
        except OptionError:
            return None
        if threshold is None:
            return None
        return threshold if (threshold.column,) == self.moved else None

    @cached_property
    def moved(self) -> tuple[str, ...]:
        """The columns that are moved to hide the hypothesis."""
        assert self.hypothesis is not None  # the objective needs it
        if self.move:
            return self.move
        column = Hypothesis.parse(self.hypothesis).line_column
        if column is None:
            raise InputError(
                f"The hypothesis '{self.hypothesis}' does not say which column is to be moved",
                hint='write for example move = ["weight"], or a list of several',
            )
        return (column,)

    @property
    def lattice(self) -> dict[str, LatticeColumn]:
        """The steps and ranges of all columns of numbers that have a step."""
        return {
            name: LatticeColumn(column.range.low, column.range.high, column.step)
            for name, column in self.columns.items()
            if column.range is not None and column.step is not None
        }

    @property
    def unstepped(self) -> dict[str, Interval]:
        """The ranges of all columns of numbers that have no step."""
        return {
            name: column.range
            for name, column in self.columns.items()
            if column.range is not None and column.step is None
        }

    @property
    def box(self) -> Box:
        """The declared ranges of all columns of numbers."""
        return Box({n: c.range for n, c in self.columns.items() if c.range is not None})

    @property
    def answer_range(self) -> Interval:
        """Where the answer of the query lies: exact where it can be, else a little too wide."""
        if self.aggregate is not None:
            side = self.box[self.aggregate.column]
            times = 1 if self.aggregate.function == "mean" else self.people or 1
            return Interval(side.low * times, side.high * times)
        reached = self.known_range.outer
        if self.range_is_exact:
            return reached
        return readable(reached.low, reached.high, self.error)

    @property
    def range_is_exact(self) -> bool:
        """Whether the answer comes up to both ends of its range."""
        return self.aggregate is not None or self.known_range.exact

    @cached_property
    def known_range(self) -> KnownRange:
        """What is known about the range of a query that is answered record by record."""
        assert self.expression is not None  # a design with such a query
        return known_range(self.expression, self.box)

    @cached_property
    def reach(self) -> Fraction:
        """How far one person's data can move the answer of the query.

        Of a mean over n people the range divided by n, of a total the range. A record that is
        answered by itself belongs to one person, who can move the answer over all its range.
        """
        if self.aggregate is not None:
            shared = self.people or 1 if self.aggregate.function == "mean" else 1
            return self.box[self.aggregate.column].length / shared
        if self.sensitivity is None:
            return self.answer_range.length
        assert self.expression is not None  # checked when the design was read
        # One column alone is no more than one person's data, whatever was declared.
        return raised(self.sensitivity, reach_bounds(self.expression, self.box))

    # --- checks -------------------------------------------------------------------------------

    def _check(self) -> None:
        if self.hypothesis is not None:
            self._check_hypothesis(self.hypothesis)
        elif self.query is not None:
            self._check_query(self.query)
        elif self.people is not None or self.name is not None or self.sensitivity is not None:
            raise InputError(
                "The design releases records column by column, but has settings for a query",
                hint='write query = "mean(height)", or leave out people, name and sensitivity',
            )
        for name in self.weights:
            if name not in self.columns or not self.columns[name].is_numeric:
                raise ColumnError(
                    f"A weight names column '{name}', which gets no bits",
                    hint="give weights to the declared columns of numbers",
                )
        if self.query is not None and self.weights:
            raise InputError(
                "Weights say how much the errors of columns matter, but there is one query",
                hint="leave out the weights, or the query",
            )

    def _check_query(self, query: str) -> None:
        self._check_ranges("query", query)
        if self.aggregate is not None:
            self._check_aggregate(self.aggregate)
            return
        if self.people is not None:
            raise InputError(
                f"The query '{query}' is answered for every record, so 'people' has no meaning",
                hint="leave it out, or ask for mean(COLUMN) or total(COLUMN)",
            )
        assert self.expression is not None  # not an aggregate
        if not self.expression.names:
            raise InputError(
                f"The query '{query}' names no column",
                hint=f"the columns are {', '.join(self.columns)}",
            )
        self._check_used(self.expression.names, "query", query)
        if self.objective == "indistinguishability" and self.expression.linear() is None:
            raise InputError(
                f"The query '{query}' is not linear, so the objective indistinguishability has no "
                "rule for it",
                hint='ask for a mean, a total or a weighted sum, or use objective = "bits"',
            )
        check_defined(self.expression, self.box)
        uncomputed = outside(self.expression, self.box.sides)
        if uncomputed is not None:
            raise InputError(
                f"The query '{query}' takes {uncomputed} of numbers for which it is not computed",
                hint="exp takes numbers from -32 to 32, log those from 2^-64 to 2^64; use other "
                "units",
            )
        if self.answer_range.length == 0:
            raise InputError(
                f"The query '{query}' is the same everywhere", hint="there is nothing to hide in it"
            )
        if self.sensitivity is not None and self.sensitivity > self.answer_range.length:
            raise InputError(
                "The sensitivity is larger than the range of the query",
                hint=f"the query has values in {self.answer_range}",
            )

    def _check_aggregate(self, query: Aggregate) -> None:
        self._check_used((query.column,), "query", str(query))
        if self.people is None:
            raise InputError(
                f"The query '{query}' is about many people, but 'people' is missing",
                hint="write for example people = 5000",
            )
        if self.sensitivity is not None:
            raise InputError(
                f"The sensitivity of {query} follows from its range and its people",
                hint="leave it out",
            )

    def _check_hypothesis(self, hypothesis: str) -> None:
        self._check_ranges("hypothesis", hypothesis)
        self._check_steps(hypothesis)
        if self.policy == "meet":
            # Everything else is checked where the policy is made.
            texts = (hypothesis, *self.also, *([self.possible] if self.possible else []))
            names = tuple(name for text in texts for name in Hypothesis.parse(text).names)
            self._check_used(names, "hypothesis", hypothesis)
            return
        found = Threshold.parse(hypothesis)
        names = (found.column, *found.line.names)
        self._check_used(names, "hypothesis", hypothesis)
        check_defined(found.line, self.box)
        (column,) = variables(found.column)
        above, _ = range_bounds(column - found.line, self.box)
        on_top = found.line_is_above
        never_below = above.low >= 0 if on_top else above.low > 0
        if never_below or (above.high < 0 if on_top else above.high <= 0):
            raise InputError(
                f"The hypothesis '{hypothesis}' is decided everywhere: {found.column} is never "
                f"{'below' if never_below else 'above'} the line",
                hint="there is nothing to hide; check the ranges and the units of the columns",
            )

    def _check_steps(self, hypothesis: str) -> None:
        """Raise an error if a column lacks a step that its policy needs, or has one too many."""
        bare = [name for name, column in self.columns.items() if column.step is None]
        needed = self.moved if self.policy == "meet" else tuple(self.columns)
        if self.policy == "meet" or (self.policy == "blur" and len(bare) < len(self.columns)):
            missing = [name for name in bare if name in needed]
            if missing:
                raise ColumnError(
                    f"Column '{missing[0]}' has no step, but on which side of '{hypothesis}' a "
                    "record lies is decided exactly",
                    hint=f"write step = ... in [columns.{missing[0]}], the step that values are "
                    "recorded in",
                )
        elif self.policy == "stretch" and len(bare) < len(self.columns):
            raise ColumnError(
                "Stretching may hide none of the values that lie on a step",
                hint='use policy = "meet" or "blur", or leave out the steps',
            )
        extra = [self.move, self.known_within, self.rounding, self.move_norm != "sup"]
        if self.policy != "meet" and any([*extra, self.also, self.possible]):
            raise InputError(
                f"The policy {self.policy} has no use for move, known_within, norm, round, "
                "possible or several hypotheses",
                hint='use policy = "meet", which takes a step for every column',
            )

    def _check_ranges(self, what: str, text: str) -> None:
        for name, column in self.columns.items():
            if not column.is_numeric:
                raise ColumnError(
                    f"Column '{name}' holds categories, but the {what} '{text}' takes numbers",
                    hint=f"leave out [columns.{name}], or give it a range",
                )
            if column.step is not None and what == "query":
                raise ColumnError(
                    f"Column '{name}' has a step, which the {what} '{text}' makes no use of",
                    hint="leave it out; steps count where records are released column by column",
                )

    def _check_used(self, names: tuple[str, ...], what: str, text: str) -> None:
        missing = [name for name in names if name not in self.columns]
        if missing:
            close = difflib.get_close_matches(missing[0], list(self.columns), n=1)
            raise ColumnError(
                f"The {what} '{text}' names column '{missing[0]}', which has no range",
                hint=f"did you mean '{close[0]}'?"
                if close
                else f"write [columns.{missing[0]}] and below it range = [low, high]",
            )
        idle = [name for name in self.columns if name not in names]
        if idle:
            raise ColumnError(
                f"Column '{idle[0]}' is declared, but the {what} '{text}' does not name it",
                hint="leave it out: what a design does not use is not released",
            )


# --- fields -------------------------------------------------------------------------------------


def _read_columns(columns: object) -> dict[str, DeclaredColumn]:
    if not isinstance(columns, dict) or not columns:
        raise InputError(
            "The design declares no columns", hint="write [columns.height] and range = [100, 250]"
        )
    return {name: DeclaredColumn.read(name, fields) for name, fields in columns.items()}
