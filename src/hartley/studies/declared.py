"""The columns that a design declares: ranges of numbers, or lists of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.errors import ColumnError
from hartley.exact import parse_step
from hartley.ranges.boxes.box import Interval
from hartley.studies.specification_fields import (
    as_written,
    read_number,
    read_weights,
    refuse_unknown,
)
from hartley.wording import exactly

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction

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
        column = cls(name, _read_range(name, fields["range"]), step)
        column._check_step()
        return column

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
        return cls(
            name,
            values=tuple(values),
            groups=_read_groups(name, fields["groups"], values) if "groups" in fields else None,
            hierarchy=_read_hierarchy(name, fields.get("hierarchy")),
            bits=_read_bits(name, fields["bits"]) if "bits" in fields else None,
            other=_read_other(name, fields.get("other")),
        )

    def _check_step(self) -> None:
        assert self.range is not None  # of a column of numbers
        if self.step is not None and self.step > self.range.length:
            raise ColumnError(
                f"The step of column '{self.name}' is larger than its range",
                hint="the values are low, low + step, low + 2 step ... up to high",
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


def _read_hierarchy(name: str, hierarchy: object) -> dict[Any, Any] | None:
    if hierarchy is None or isinstance(hierarchy, dict):
        return hierarchy
    raise ColumnError(
        f"The hierarchy of column '{name}' does not name the place above each value",
        hint='write for example hierarchy = { Paris = "France", France = "Europe" }',
    )


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
