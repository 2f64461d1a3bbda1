"""Columns of a policy file that are moved so that a hypothesis stays open."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from hartley.boxes.box import Box, Interval
from hartley.boxes.expression import parse_expression, variables
from hartley.boxes.intervals import running_error
from hartley.errors import InputError, OptionError
from hartley.exact import LARGEST_EXACT_INTEGER
from hartley.policies.column import ColumnPolicy, HiddenSide, Output, read_list, read_number
from hartley.policies.hypotheses.hypothesis import Hypothesis, LatticeColumn, read_others
from hartley.policies.hypotheses.lines import BlurringPolicy, StretchPolicy, Threshold
from hartley.policies.hypotheses.meeting import HidingPolicy, MeetPolicy
from hartley.policies.hypotheses.open_records import (
    ContinuousMeetPolicy,
    OpenHypothesis,
    count_bands,
    count_coverable,
    count_open,
    first_above,
)
from hartley.policies.hypotheses.sides import IntegerForm, substitute
from hartley.policies.hypotheses.tables import TablePolicy, hiding_policy
from hartley.tables.column_map import IndexFormula, RealSide
from hartley.tables.release_rules import Formula
from hartley.text import count_of, exact_text, exactly, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.boxes.expression import Clause, Expression
    from hartley.policies.hypotheses.lines import LinePolicy
    from hartley.policies.hypotheses.meeting import Norm, Rounding
    from hartley.policies.hypotheses.open_records import OpenRecords, OpenShare
    from hartley.tables.release_rules import Tree


NORMS, ROUNDINGS = ("sup", "l1", "l2"), ("nearest", "down")


@dataclass(frozen=True)
class MeetColumn(ColumnPolicy):
    """One or several columns on a step, released so that a hypothesis about the record stays open.

    Records from either side of the hypothesis are released at common places: by a formula where
    it is monotone (``MeetPolicy``), by tables else (``TablePolicy``), by a line in doubles where
    other columns have no step (``ContinuousMeetPolicy``).
    Which side a record lies on is decided in whole numbers, and what is released is one function
    of an index, so that two records that are released alike are alike in every digit.

    Example:
        >>> column = MeetColumn.from_fields("meet", "x", {
        ...     "hypothesis": "x >= 5", "low": "0", "high": "10", "step": "1", "reach": "1",
        ... })
        >>> column.columns, column.error, column.all_left_open()[0].counts.open
        (('x',), Fraction(1, 1), 4)
    """

    policy: HidingPolicy

    kind = "meet"
    kinds = ("meet",)
    needed = ("hypothesis", "low", "high", "step", "reach")
    optional = ("move", "others", "known_within", "norm", "round", "possible", "released")

    def __post_init__(self) -> None:
        if self.policy.peak > LARGEST_EXACT_INTEGER:
            raise OptionError(
                "On these steps the hypothesis takes whole numbers of more than 53 binary digits, "
                "which engines would round",
                hint="declare coarser steps, or write its numbers with fewer digits",
            )
        self.to_rules()

    @classmethod
    def from_fields(cls, kind: str, name: str, fields: Mapping[str, object]) -> MeetColumn:
        """Build it from the fields of a file."""
        _ = kind  # there is one
        move = _read_move(name, fields.get("move"))
        ends = [_read_each(fields[field], field, move) for field in ("low", "high", "step")]
        moved = {
            column: LatticeColumn(*numbers)
            for column, numbers in zip(move, zip(*ends, strict=True), strict=True)
        }
        lattices, ranges = read_others(fields.get("others", {}), moved)
        return cls(
            hiding_policy(
                _read_hypotheses(fields["hypothesis"]),
                moved | lattices,
                move,
                _read_reach(fields["reach"], "reach"),
                known_within=_read_reach(fields["known_within"], "known_within")
                if "known_within" in fields
                else None,
                norm=cast("Norm", _read_choice(fields.get("norm", "sup"), "norm", NORMS)),
                rounding=None
                if "round" not in fields
                else cast("Rounding", _read_choice(fields["round"], "round", ROUNDINGS)),
                ranges=ranges,
                possible=_read_condition(fields.get("possible")),
                released=_read_tables(fields.get("released")),
                search=False,
            )
        )

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        policy = self.policy
        several = {"move": list(policy.move)} if len(policy.move) > 1 else {}
        lattices = [policy.columns[name] for name in policy.move]
        ends = {
            field: _write([getattr(lattice, field) for lattice in lattices])
            for field in ("low", "high", "step")
        }
        others = {name: c.texts() for name, c in policy.columns.items() if name not in policy.move}
        others |= {
            name: [exact_text(side.low), exact_text(side.high)]
            for name, side in policy.ranges.items()
        }
        texts = [hypothesis.text for hypothesis in policy.hypotheses]
        fields: dict[str, Any] = {"hypothesis": texts if len(texts) > 1 else texts[0]}
        fields |= several | ends
        fields["reach"] = _write(policy.reach)
        if policy.known_within is not None:
            fields["known_within"] = _write(policy.known_within)
        if policy.norm != "sup":
            fields["norm"] = policy.norm
        if policy.rounding is not None:
            fields["round"] = policy.rounding
        if policy.possible is not None:
            fields["possible"] = policy.possible.text
        if policy.released:
            fields["released"] = [list(places) for places in policy.released]
        return fields | ({"others": others} if others else {})

    @property
    def name(self) -> str:
        """The column, or the first of several."""
        return self.policy.move[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are moved."""
        return self.policy.move

    def to_rules(self) -> tuple[IndexFormula, ...]:
        """Return what an engine executes: an index chosen exactly, then the value of the index."""
        policy = self.policy
        sides = {
            name: column.side(name, policy.rounding if name in policy.move else None)
            for name, column in policy.columns.items()
        }
        reals = tuple(RealSide(name, side.low, side.high) for name, side in policy.ranges.items())
        form = policy.possible_form if isinstance(policy, TablePolicy) else None
        return tuple(
            IndexFormula(
                name,
                substitute(sides[name].value_tree(), {name: policy.trees[name]}),
                tuple(sides.values()),
                reals,
                None if form is None else form.tree,
            )
            for name in policy.move
        )

    @property
    def range(self) -> tuple[Fraction, Fraction] | None:
        """The declared range; None of several columns."""
        if len(self.columns) > 1:
            return None
        lattice = self.policy.columns[self.name]
        return lattice.low, lattice.high

    @property
    def error(self) -> Fraction:
        """The furthest that a value is moved, in any column."""
        return max(self.policy.errors)

    def error_of(self, name: str) -> Fraction:
        """Return the furthest that a value of one column is moved."""
        return self.policy.errors[self.columns.index(name)]

    def outputs(self) -> Output:
        """Return that every value of the lattice can come out."""
        lattices = [self.policy.columns[name] for name in self.columns]
        count = math.prod(lattice.last + 1 for lattice in lattices)
        reads = frozenset({*self.policy.columns, *self.policy.ranges})
        return Output(", ".join(self.columns), count, reads)

    @property
    def lattice(self) -> Mapping[str, LatticeColumn]:
        """The columns that are read on a step."""
        return self.policy.columns

    def all_left_open(self) -> tuple[OpenHypothesis, ...]:
        """Return every hypothesis, and how many records leave it open."""
        return tuple(self._opened(place) for place in range(len(self.policy.hypotheses)))

    def _opened(self, place: int) -> OpenHypothesis:
        policy = self.policy
        most = None
        counts: OpenRecords | OpenShare
        if isinstance(policy, MeetPolicy):
            counts = records = count_open(policy)
            if policy.rounding is None:
                most = records.open if policy.norm == "sup" else count_coverable(policy)
        elif isinstance(policy, TablePolicy):
            counts = policy.count_open(place)
            most = None if policy.also else policy.most
        else:
            assert isinstance(policy, ContinuousMeetPolicy)  # there are three
            counts = policy.count_open()
        return OpenHypothesis(
            hypothesis=policy.hypotheses[place].text,
            columns=policy.columns,
            move=policy.move,
            errors=policy.errors,
            counts=counts,
            how=self._how(),
            distance_to_partner=policy.distance_to_partner,
            known_within=policy.known_within,
            rounding=policy.rounding,
            ranges=policy.ranges,
            possible=None if policy.possible is None else policy.possible.text,
            most=most,
        )

    def _how(self) -> str:
        """Say which records are released as one."""
        policy = self.policy
        if isinstance(policy, TablePolicy):
            which = "one of the hypotheses changes" if policy.also else "it changes"
            return f"Where {which}, records of either side are released as one, by a table."
        apart = [
            f"{count_of(distance, 'step')} of {name}"
            for name, distance in zip(policy.move, policy.distances, strict=True)
            if distance
        ]
        return f"Records of either side that lie {listed(apart)} apart are released as one."

    def hidden_sides(self) -> tuple[HiddenSide, ...]:
        """Return the hypotheses, in the form that an attack evaluates."""
        policy = self.policy
        if not isinstance(policy, TablePolicy):
            return (HiddenSide(policy.hypothesis.text, policy.hypothesis.clause),)
        return tuple(
            HiddenSide(text.text, text.clause, opens=partial(policy.open_at, which=place))
            for place, text in enumerate(policy.hypotheses)
        )

    def possible_if(self) -> Clause | None:
        """Return the condition that every possible record fulfils."""
        return None if self.policy.possible is None else self.policy.possible.clause

    def sentence(self) -> str:
        """Say what is released near the line."""
        errors = [
            f"{name} by up to {exactly(error)}"
            for name, error in zip(self.columns, self.policy.errors, strict=True)
            if error  # in a norm the best move may be along one column alone
        ]
        texts = [str(hypothesis) for hypothesis in self.policy.hypotheses]
        return (
            f"Near where {listed(texts, joint='or')} changes, records from either side are "
            f"released as one, moving {listed(errors)}; every other record is released as it is"
            + (", rounded to the step." if self.policy.rounding else ".")
        )


def _read_move(name: str, move: object) -> list[str]:
    names = [name] if move is None else read_list(move, "move")
    if not all(isinstance(column, str) for column in names) or names[:1] != [name]:
        raise OptionError(
            f"The columns to move do not begin with '{name}'",
            hint="list the columns that are moved together, the named one first",
        )
    return names


def _read_numbers(value: object, field: str) -> list[Fraction] | Fraction:
    if isinstance(value, list):
        return [read_number(item, field) for item in value]
    return read_number(value, field)


def _read_reach(value: object, field: str) -> object:
    """Read numbers like the others, or one by the name of every moved column."""
    if isinstance(value, dict):
        return {name: read_number(item, field) for name, item in value.items()}
    return _read_numbers(value, field)


def _read_each(value: object, field: str, move: Sequence[str]) -> list[Fraction]:
    """Read one number a moved column, or one for all."""
    numbers = _read_numbers(value, field)
    if not isinstance(numbers, list):
        return [numbers] * len(move)
    if len(numbers) != len(move):
        raise OptionError(
            f"The field '{field}' has {len(numbers)} numbers for {count_of(len(move), 'column')}",
            hint="give one for all, or one for each in the order of 'move'",
        )
    return numbers


def _read_choice(value: object, field: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise OptionError(
            f"The field '{field}' is unknown", hint=f"choose from {', '.join(choices)}"
        )
    return str(value)


def _write(numbers: Sequence[Fraction]) -> str | list[str]:
    texts = [exact_text(number) for number in numbers]
    return texts[0] if len(texts) == 1 else texts


def _read_hypotheses(value: object) -> str | list[str]:
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise OptionError(
            "The field 'hypothesis' is not text",
            hint='write for example "weight >= 100", or a list of several',
        )
    return [str(text) for text in texts] if len(texts) > 1 else str(texts[0])


def _read_condition(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise OptionError(
        "The field 'possible' is not text",
        hint='write a condition that every possible record fulfils: "weight >= height/4"',
    )


def _read_tables(value: object) -> list[list[int]]:
    tables = [] if value is None else read_list(value, "released")
    if not all(
        isinstance(table, list) and all(type(x) is int and 0 <= x < 2**32 for x in table)
        for table in tables
    ):
        raise OptionError(
            "The field 'released' is not a list of lists of whole numbers",
            hint="let hartley design write the policy",
        )
    return tables


@dataclass(frozen=True)
class LineColumn(ColumnPolicy):
    """A column moved near a line over other columns, to hide on which side of it a value lies.

    ``stretch`` spreads each side of the line over the whole band: with g the line, r the reach,
    a = max(g - r, low) and b = min(g + r, high), a value x in [g, b] becomes
    a + (x - g)(b - a)/(b - g), one in [a, g) becomes a + (x - a)(b - a)/(g - a), where a < g < b
    (Farokhi 2021, Theorem 4, corrected), and x = g as one below it where the ``sign`` of the
    hypothesis is > or <=. ``blur`` releases g for all x in [g - r, g + r] (as printed). Every other
    value is released as it is.

    With a ``step``, and low, high and step of the columns of the line in ``others``, a column that
    is blurred is read by its indices: what lies near the line is decided in whole numbers, and the
    records that are left open are counted. Stretching takes no step: it may hide none then.

    Example:
        >>> line = {"line": "30*(height/100)**2", "reach": 5, "low": 30, "high": 200}
        >>> obese = LineColumn.read("stretch", "weight", **line)
        >>> obese.error, obese.expression.names
        (Fraction(5, 1), ('height',))
    """

    kind: Literal["stretch", "blur"]
    name: str
    line: str
    """An expression over other columns; kept as it is written."""
    reach: Fraction
    """The furthest that a value is moved: 1/rho."""
    low: Fraction
    high: Fraction
    step: Fraction | None = None
    """The step that the values lie on; None where it is not declared."""
    others: Mapping[str, LatticeColumn] = field(default_factory=dict, hash=False)
    """Low, high and step of the columns of the line, where the step is declared."""
    sign: str = ">="
    """How the hypothesis compares the column with the line: >=, >, <= or <."""

    kinds = ("stretch", "blur")
    needed = ("line", "reach", "low", "high")
    optional = ("step", "others", "sign")
    needs_ranges = True

    def __post_init__(self) -> None:
        if self.reach <= 0:
            raise OptionError(
                f"The reach {self.reach} is not positive",
                hint="give the furthest that a value may be moved",
            )
        if self.name in self.expression.names:
            raise OptionError(
                f"The line of column '{self.name}' depends on the column itself",
                hint="write it over other columns",
            )
        _ = self.hypothesis  # refuses another sign
        if self.step is not None:
            self._check_step()
        elif self.others:
            raise OptionError(
                f"Other columns have steps, but column '{self.name}' has none",
                hint="declare its step as well, or leave out 'others'",
            )
        self.to_rule()

    def _check_step(self) -> None:
        if self.kind == "stretch":
            raise OptionError(
                "Stretching may hide none of the values that lie on a step",
                hint='use kind = "meet", or "blur"',
            )
        names = self.expression.names
        if set(self.others) != set(names):
            raise OptionError(
                f"The line of column '{self.name}' takes low, high and step of "
                f"{', '.join(names) or 'no other column'}",
                hint='write for example others = {height = ["120", "220", "1"]}',
            )
        if max(form.peak for form in self._forms().values()) > LARGEST_EXACT_INTEGER:
            raise OptionError(
                "On these steps the line takes whole numbers of more than 53 binary digits, which "
                "engines would round",
                hint="declare coarser steps, or write its numbers with fewer digits",
            )

    @classmethod
    def read(cls, kind: Literal["stretch", "blur"], name: str, **fields: object) -> LineColumn:
        """Build it from the fields of a file."""
        line = fields["line"]
        if not isinstance(line, str):
            raise OptionError(
                "The field 'line' is not text", hint='write for example line = "30*(height/100)**2"'
            )
        reach, low, high = (read_number(fields[key], key) for key in ("reach", "low", "high"))
        step = read_number(fields["step"], "step") if "step" in fields else None
        others, ranges = read_others(fields.get("others", {}), {name: step})
        for other in ranges:
            raise OptionError(
                f"The other column '{other}' is not given by low, high and step",
                hint='write for example others = {height = ["120", "220", "1"]}',
            )
        return cls(kind, name, line, reach, low, high, step, others, str(fields.get("sign", ">=")))

    @classmethod
    def from_fields(cls, kind: str, name: str, fields: Mapping[str, object]) -> LineColumn:
        """Build it from the fields of a file."""
        return cls.read(cast("Literal['stretch', 'blur']", kind), name, **fields)

    def as_designed(self, design: Mapping[str, Any]) -> LineColumn:
        """Return it with the sign that was designed for, which version 0.1 wrote there alone."""
        try:
            asked = Threshold.parse(str(design.get("hypothesis")))
        except OptionError:
            return self
        is_asked = self.sign == ">=" and (asked.column, asked.line) == (self.name, self.expression)
        return replace(self, sign=asked.sign) if is_asked else self

    def check_ranges(self, ranges: Mapping[str, tuple[Fraction, Fraction]]) -> None:
        """Refuse a line over columns without ranges: nothing would be known about its band.

        With a step, the ranges of these columns are part of this one.
        """
        for name in self.expression.names:
            if name not in ranges and self.step is None:
                raise InputError(
                    f"The line of column '{self.name}' depends on '{name}', which has no "
                    "declared range",
                    hint=f"add column '{name}' with low and high, for example of kind keep",
                )

    @property
    def expression(self) -> Expression:
        """The line as an expression over other columns."""
        return parse_expression(self.line)

    @property
    def hypothesis(self) -> Threshold:
        """What is hidden: on which side of the line a value lies."""
        return Threshold(self.name, self.expression, self.sign)

    @property
    def range(self) -> tuple[Fraction, Fraction]:
        """The range that the policy is made for."""
        return self.low, self.high

    @property
    def error(self) -> Fraction:
        """The largest distance between a value of the range and what is released."""
        return self.reach

    def to_rule(self) -> Formula | IndexFormula:
        """Return what an engine executes."""
        if self.step is not None:
            return self._stepped_rule()
        x, g = ("var", self.name), self.expression.to_tree()
        r, low, high = (("const", str(number)) for number in (self.reach, *self.range))
        if self.kind == "blur":
            (own,) = variables(self.name)
            # A value at the end of the band counts as in it, whatever rounding makes of the
            # difference. The reach and the sum are rounded themselves; few values lie so near.
            error = running_error(own - self.expression)
            slack = ("+", error, ("*", r, ("const", str(Fraction(1, 2**51)))))
            tree: Tree = ("if", ("<=", ("abs", ("-", x, g)), ("+", r, slack)), g, x)
        else:
            is_above = ("<=" if self.hypothesis.line_is_above else "<", g, x)
            tree = _stretch(x, g, r, low, high, is_above)
        return Formula(self.name, tree, *self.range)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        numbers = {"reach": self.reach, "low": self.low, "high": self.high}
        fields: dict[str, Any] = {"line": self.line}
        fields |= {name: str(value) for name, value in numbers.items()}
        if self.step is not None:
            fields["step"] = exact_text(self.step)
        if self.others:
            fields["others"] = {name: column.texts() for name, column in self.others.items()}
        if self.sign != ">=":
            fields["sign"] = self.sign
        return fields

    def outputs(self) -> Output:
        """Return that any value can come out; the line is read beside the column itself."""
        return Output(self.name, None, frozenset({self.name, *self.expression.names}))

    def hides(self, ranges: Mapping[str, tuple[Fraction, Fraction]]) -> LinePolicy:
        """Return the policy by which it hides on which side of the line a value lies."""
        names = self.name, *self.expression.names
        box = Box({name: Interval(*ranges[name]) for name in names})
        policy = StretchPolicy if self.kind == "stretch" else BlurringPolicy
        return policy(self.hypothesis, self.reach, box)

    @property
    def lattice(self) -> Mapping[str, LatticeColumn] | None:
        """The columns that are read on a step; None where no step is declared."""
        if self.step is None:
            return None
        return {self.name: LatticeColumn(self.low, self.high, self.step)} | dict(self.others)

    def _forms(self) -> dict[str, IntegerForm]:
        """Where a value reaches the near end of the band, the line, and passes the far end."""
        (x,) = variables(self.name)
        line, lattice = self.expression, self.lattice
        assert lattice is not None  # of a column with a step
        clauses: dict[str, Clause] = {
            "near": (">=", x - (line - self.reach)),
            "line": (">=" if self.hypothesis.line_is_above else ">", x - line),
            "beyond": (">", x - (line + self.reach)),
        }
        return {
            name: IntegerForm.of(Hypothesis(name, clause), lattice)
            for name, clause in clauses.items()
        }

    def _stepped_rule(self) -> IndexFormula:
        """Return a rule that decides in whole numbers which values lie near the line."""
        lattice = self.lattice
        assert lattice is not None  # of a column with a step
        sides = {name: column.side(name) for name, column in lattice.items()}
        values = {name: side.value_tree() for name, side in sides.items()}
        forms = self._forms()
        # The line is one function of the other columns, so that a fibre has one double for it.
        line = substitute(self.expression.to_tree(), values)
        inside = ("<", forms["beyond"].tree, forms["near"].tree)
        tree = ("if", inside, line, values[self.name])
        return IndexFormula(self.name, tree, tuple(sides.values()))

    def all_left_open(self) -> tuple[OpenHypothesis, ...]:
        """Return what the line hides, and how many records leave it open, where steps are known."""
        lattice = self.lattice
        if lattice is None:
            return ()
        near, line, beyond = (
            first_above(form, lattice, self.name, rising=True) for form in self._forms().values()
        )
        opened = OpenHypothesis(
            hypothesis=f"{self.name} {self.sign} {self.line}",
            columns=lattice,
            move=(self.name,),
            errors=(self.reach,),
            counts=count_bands(near, line, beyond, lattice[self.name].last),
            how=f"Within {exactly(self.reach)} of the line, the line itself is released.",
        )
        return (opened,)

    def sentence(self) -> str:
        """Say what is released near the line."""
        how = (
            f"the line itself is released for {self.name}"
            if self.kind == "blur"
            else f"{self.name} is stretched so that what is released can come from either side, "
            "if its values have no step"
        )
        near = f"Within {exactly(self.reach)} of the line {self.line}"
        return f"{near}, {how}; every other value is released as it is."

    def hidden_sides(self) -> tuple[HiddenSide, ...]:
        """Return on which side of the line a value lies, hidden as far as the reach."""
        (own,) = variables(self.name)
        text, clause = f"{self.name} {self.sign} {self.line}", self.hypothesis.clause
        return (HiddenSide(text, clause, own - self.expression, self.reach),)

    def rises_between(self) -> tuple[Expression, ...]:
        """Return the line: each side of it is released in order, and either begins at the band."""
        return (self.expression,)


def _stretch(  # noqa: PLR0913, PLR0917 - what the formula has
    x: Tree, g: Tree, r: Tree, low: Tree, high: Tree, is_above: Tree
) -> Tree:
    """Return the formula that stretches both sides of a line over its band."""
    first, last = ("-", g, r), ("+", g, r)
    a, b = ("max", first, low), ("min", last, high)

    def spread(start: Tree, end: Tree) -> Tree:
        return ("+", a, ("/", ("*", ("-", x, start), ("-", b, a)), ("-", end, start)))

    inside = ("and", ("<=", first, x), ("<=", x, last))  # x lies in [low, high] already
    crossed = ("and", ("<", a, g), ("<", g, b))
    moved = ("if", is_above, spread(g, b), spread(a, g))
    # Rounding alone could step over the end of the band. Few values lie in it: asked first.
    return ("if", inside, ("if", crossed, ("min", b, moved), x), x)
