"""A column moved near a line over other columns, as a policy file says it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, cast

from hartley.engines.maps.lattice_index import IndexFormula
from hartley.engines.maps.rules import Formula
from hartley.errors import InputError, OptionError
from hartley.exact import LARGEST_EXACT_INTEGER
from hartley.numerals import exact_text
from hartley.policies.column import ColumnPolicy, HiddenSide, Output, read_number
from hartley.policies.hypotheses.blurring import BlurringPolicy, StretchPolicy, Threshold
from hartley.policies.hypotheses.hypothesis import Hypothesis
from hartley.policies.hypotheses.lattice import LatticeColumn, read_lattices
from hartley.policies.hypotheses.open_records import OpenHypothesis, count_bands, first_above
from hartley.policies.hypotheses.sides.integer_form import IntegerForm, substitute
from hartley.ranges.boxes.box import Box, Interval
from hartley.ranges.boxes.expression import parse_expression, variables
from hartley.ranges.boxes.rounding_errors import running_error
from hartley.wording import exactly

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.engines.maps.formula import Tree
    from hartley.policies.hypotheses.blurring import LinePolicy
    from hartley.ranges.boxes.expression import Expression
    from hartley.ranges.boxes.signs import Clause


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
        others = read_lattices(fields.get("others", {}), {name: step})
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
            tree = _blur(x, g, r, running_error(own - self.expression))
        else:
            is_above = ("<=" if self.hypothesis.line_is_above else "<", g, x)
            tree = _stretch(x, g, r, low, high, is_above)
        return Formula(self.name, tree, *self.range)

    def to_rules(self) -> tuple[Formula | IndexFormula]:
        """Return what an engine executes."""
        return (self.to_rule(),)

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

    # --- values on a step -------------------------------------------------------------------

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

    def leaves_open(self) -> OpenHypothesis | None:
        """Return what the line hides, and how many records leave it open, where steps are known."""
        lattice = self.lattice
        if lattice is None:
            return None
        near, line, beyond = (
            first_above(form, lattice, self.name, rising=True) for form in self._forms().values()
        )
        return OpenHypothesis(
            hypothesis=f"{self.name} {self.sign} {self.line}",
            columns=lattice,
            move=(self.name,),
            errors=(self.reach,),
            counts=count_bands(near, line, beyond, lattice[self.name].last),
            how=f"Within {exactly(self.reach)} of the line, the line itself is released.",
        )

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

    def hidden_side(self) -> HiddenSide:
        """Return on which side of the line a value lies, hidden as far as the reach."""
        (own,) = variables(self.name)
        text, clause = f"{self.name} {self.sign} {self.line}", self.hypothesis.clause
        return HiddenSide(text, clause, own - self.expression, self.reach)

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


def _blur(x: Tree, g: Tree, r: Tree, error: Tree) -> Tree:
    """Return the formula that releases the line for everything close to it.

    A value at the end of the band counts as in it, whatever rounding makes of the difference.
    """
    # The reach and the sum are rounded themselves; few values lie so near.
    slack = ("+", error, ("*", r, ("const", str(Fraction(1, 2**51)))))
    return ("if", ("<=", ("abs", ("-", x, g)), ("+", r, slack)), g, x)
