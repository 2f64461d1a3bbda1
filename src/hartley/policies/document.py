"""A policy saved as a readable, versioned file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, cast

import tomli_w

from hartley.boxes.box import CategoryList, Interval
from hartley.errors import HartleyError, InputError
from hartley.files import parse_toml, read_text_file, whole_file
from hartley.policies.kinds import read_column
from hartley.policies.quantizer import Aggregate
from hartley.text import value_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from hartley.policies.column import ColumnPolicy
    from hartley.policies.hypotheses.lines import LinePolicy
    from hartley.policies.random.pram import Pram
    from hartley.tables.release_rules import Rule

FORMAT = 1
WIDEST_LINE = 96
"""Longer lists are wrapped, and longer tables get a section of their own."""


@dataclass(frozen=True)
class PolicyDocument:
    """How the columns of a table are released; a column that is not named is not released.

    Example:
        >>> from hartley.policies.column import KeptColumn
        >>> from hartley.policies.quantized_column import QuantizedColumn
        >>> from hartley.policies.quantizer import UniformQuantizer
        >>> heights = QuantizedColumn("height", UniformQuantizer(100, 250, 150))
        >>> policy = PolicyDocument((heights, KeptColumn("sex")), title="Heights by sex")
        >>> print(policy.to_toml())  # doctest: +ELLIPSIS
        # What is released of each column; a column that is not named here is not released.
        format = 1
        title = "Heights by sex"
        <BLANKLINE>
        [[columns]]
        name = "height"
        kind = "quantizer"
        low = "100"
        high = "250"
        levels = 150
        rule = "corrected"
        <BLANKLINE>
        [[columns]]
        name = "sex"
        kind = "keep"
        <BLANKLINE>
        >>> PolicyDocument.from_toml(policy.to_toml()) == policy
        True
    """

    columns: tuple[ColumnPolicy, ...]
    title: str | None = None
    design: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What it was designed for: text, whole numbers, truth values, lists and dicts of them."""
    format: int = FORMAT

    def __post_init__(self) -> None:
        names = [name for column in self.columns for name in column.columns]
        if not names:
            raise InputError("The policy releases no column", hint="name at least one")
        doubled = [
            name for name in names if [other.lower() for other in names].count(name.lower()) > 1
        ]
        if doubled:
            raise InputError(
                f"The policy names column '{doubled[0]}' twice, ignoring case",
                hint="give every column one policy",
            )
        object.__setattr__(self, "design", _as_lists(dict(self.design)))
        columns = tuple(column.as_designed(self.design) for column in self.columns)
        object.__setattr__(self, "columns", columns)
        others = [column for column in columns if not isinstance(column.query, Aggregate)]
        if others and self.aggregates:
            raise InputError(
                f"The policy releases {self.aggregates[0]} of a whole table beside "
                f"'{others[0].name}' of every row",
                hint="write two policies",
            )
        for column in columns:
            if column.needs_ranges:
                column.check_ranges(self.ranges)
        self.to_toml()

    @property
    def ranges(self) -> dict[str, tuple[Fraction, Fraction]]:
        """The declared ranges of the columns of the table, by column.

        Those of columns that are quantized, stretched or kept as they are, and those of the
        section [design], which columns that stand in queries have.
        """
        listed = self.design.get("columns", {})
        if not isinstance(listed, dict):
            raise InputError(
                "The columns of the design are not a table",
                hint='write for example columns = {height = ["100", "250"]}',
            )
        ranges = {}
        for name, ends in listed.items():
            if not isinstance(ends, list) or len(ends) != 2:
                raise InputError(
                    f"The declared range of column '{name}' does not have two ends",
                    hint='write for example ["100", "250"]',
                )
            interval = Interval.of((ends[0], ends[1]))
            ranges[name] = (interval.low, interval.high)
        return ranges | {
            column.name: column.range
            for column in self.columns
            if column.range is not None and column.query is None
        }

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """What is released of the whole table, in the order of the columns; empty if by rows."""
        queries = (column.query for column in self.columns)
        return tuple(query for query in queries if isinstance(query, Aggregate))

    def to_map(self) -> tuple[Rule, ...]:
        """Return what an engine executes, one rule a released column; draws follow after it."""
        return tuple(rule for column in self.columns for rule in column.to_rules())

    @property
    def prams(self) -> tuple[Pram, ...]:
        """The columns that are released perturbed at random."""
        return tuple(cast("Pram", column) for column in self.columns if column.is_random)

    @property
    def lines(self) -> dict[str, LinePolicy]:
        """How columns without a step hide on which side of a line they lie, by column."""
        policies = {
            column.name: column.hides(self.ranges)
            for column in self.columns
            if column.needs_ranges and column.lattice is None
        }
        return {name: policy for name, policy in policies.items() if policy is not None}

    @property
    def stepped(self) -> dict[str, ColumnPolicy]:
        """The columns that leave a hypothesis open on data with a step, by name."""
        return {column.name: column for column in self.columns if column.lattice is not None}

    @property
    def categories(self) -> dict[str, tuple[object, ...]]:
        """The values that columns list, by column, where they list some.

        Example:
            >>> from hartley.policies.random.pram import Pram
            >>> PolicyDocument((Pram.retaining(0.5, ["F", "M"]).on("sex"),)).categories
            {'sex': ('F', 'M')}
        """
        listed: dict[str, tuple[object, ...]] = {}
        for column in self.columns:
            draws = column.draws()
            if draws is None:
                listed |= {
                    name: values.values
                    for name, values in column.declared_values().items()
                    if isinstance(values, CategoryList)
                }
            elif len(column.columns) == 1:
                listed[column.name] = draws.values
            else:  # drawn together: a value of each column in every tuple
                listed |= dict(zip(column.columns, zip(*draws.values, strict=True), strict=True))
        return listed

    @property
    def digest(self) -> str:
        """The SHA-256 fingerprint of what the policy says, however its file is laid out."""
        text = json.dumps(self._content(), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def _content(self) -> dict[str, Any]:
        """Return everything that the policy says, as plain values."""
        head = {"title": self.title} if self.title is not None else {}
        columns = [
            {"name": column.name, "kind": column.kind} | column.to_fields()
            for column in self.columns
        ]
        design = {"design": dict(self.design)} if self.design else {}
        return {"format": self.format} | head | design | {"columns": columns}

    def to_toml(self) -> str:
        """Return the policy as the text of a file."""
        content = self._content()
        columns, design = content.pop("columns"), content.pop("design", {})
        lines = [
            "# What is released of each column; a column that is not named here is not released."
        ]
        lines += _toml_fields(content)
        heads = [("[design]", design)] * bool(design) + [("[[columns]]", c) for c in columns]
        for head, fields in heads:
            # A table that does not fit its line gets a section of its own.
            sections = {
                key: item
                for key, item in fields.items()
                if isinstance(item, dict) and len(_toml_value(item)) > WIDEST_LINE - 20
            }
            short = {key: item for key, item in fields.items() if key not in sections}
            lines += ["", head, *_toml_fields(short)]
            for key, section in sections.items():
                lines += ["", f"{head[:-1]}.{_toml_key(key)}]", *_toml_fields(section)]
        return "\n".join(lines) + "\n"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the policy to a file, whole or not at all."""
        with whole_file(path) as half:
            half.write_text(self.to_toml(), encoding="utf-8", newline="\n")
        return Path(path)

    @classmethod
    def from_toml(cls, text: str, *, name: str = "the policy") -> PolicyDocument:
        """Read a policy from the text of a file, which messages call by a name."""
        what = name.removeprefix("the ")
        return _read(parse_toml(text, what=what, kind=InputError), name)

    @classmethod
    def load(cls, path: str | os.PathLike[str] | Mapping[str, Any]) -> PolicyDocument:
        """Read a policy from a file, or from a dict of what stands in one."""
        if isinstance(path, Mapping):
            return _read(dict(path), "the policy")
        if not isinstance(path, (str, os.PathLike)):
            raise InputError(
                f"A {type(path).__name__} is no policy",
                hint="pass a PolicyDocument, the path of its file, or a dict of what stands there",
            )
        text = read_text_file(path, what="policy file", kind=InputError)
        return cls.from_toml(text, name=f"the policy file {path}")


# tomli-w writes keys and values. The layout is ours: it would put every number of a matrix, and
# both ends of a range, on a line of its own, which nobody can read.


def _toml_fields(fields: Mapping[str, Any]) -> list[str]:
    """Return a line, or a list wrapped over several, for every field."""
    return [f"{_toml_key(name)} = {_toml_value(value)}" for name, value in fields.items()]


def _toml_key(name: object) -> str:
    """Return a name as it stands before an equals sign."""
    if not isinstance(name, str):
        raise InputError(
            f"A {type(name).__name__} cannot name something in a policy file", hint="use text"
        )
    _check_plain(name)
    return tomli_w.dumps({name: 0}).removesuffix(" = 0\n")


def _toml_value(value: object) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(_toml_fields(value)) + "}"
    if isinstance(value, (list, tuple)):
        if any(isinstance(item, (list, tuple, dict)) for item in value):
            return _toml_list([_toml_value(item) for item in value])
        return _toml_list(_toml_plain(value))
    return _toml_plain([value])[0]


def _toml_plain(values: Sequence[object]) -> list[str]:
    """Return texts, whole numbers and truth values as TOML writes them."""
    for value in values:
        _check_plain(value)
    # It writes one item a line, between a line with the bracket and another.
    return [line[4:-1] for line in tomli_w.dumps({"": list(values)}).split("\n")[1:-2]]


def _check_plain(value: object) -> None:
    """Refuse what would not be read again as it was: numbers that are not whole, half letters."""
    if isinstance(value, str) and (
        value.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in value)
    ):
        return
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return
    raise InputError(
        f"A {type(value).__name__} cannot be written to a policy file",
        hint="write numbers that are not whole as text",
    )


def _toml_list(items: list[str]) -> str:
    """Return a list on one line, or wrapped where it is long."""
    if sum(len(item) + 2 for item in items) <= WIDEST_LINE - 20:
        return f"[{', '.join(items)}]"
    if any("\n" in item for item in items):
        # Not textwrap.indent, which would break text at other signs that end a line.
        return "\n".join(["[", *("  " + item.replace("\n", "\n  ") + "," for item in items), "]"])
    lines, current = [], ""
    for item in items:
        if current and len(current) + len(item) + 2 > WIDEST_LINE:
            lines.append(current)
            current = ""
        current += f" {item}," if current else f"  {item},"
    return "\n".join(["[", *lines, current, "]"])


def _read(content: dict[str, Any], name: str) -> PolicyDocument:
    """Turn the content of a file into a policy, or say which place makes no sense."""
    place = name[0].upper() + name[1:]
    if content.get("format") != FORMAT or isinstance(content.get("format"), bool):
        stated = value_text(content["format"]) if "format" in content else None
        complaint = "does not name a format" if stated is None else f"has format {stated}"
        raise InputError(f"{place} {complaint}", hint=f"this version reads format = {FORMAT}")
    unknown = [key for key in content if key not in ("format", "title", "design", "columns")]
    if unknown:
        raise InputError(
            f"{place} has the unknown field '{unknown[0]}'",
            hint="the fields are format, title, [design] and [[columns]]",
        )
    title, design = content.get("title"), content.get("design", {})
    if not isinstance(title, (str, NoneType)) or not isinstance(design, dict):
        raise InputError(
            f"{place} has a title or a design of the wrong form",
            hint='write title = "..." and a section [design]',
        )
    columns = content.get("columns")
    if not isinstance(columns, list) or not all(isinstance(column, dict) for column in columns):
        raise InputError(f"{place} has no columns", hint="write a section [[columns]] for each")
    try:
        read = tuple(read_column(column, number) for number, column in enumerate(columns, 1))
        return PolicyDocument(read, title, _as_text(design))
    except HartleyError as error:
        problem = error.problem[0].lower() + error.problem[1:]
        raise InputError(f"{place} is refused: {problem}", hint=error.hint) from None


def _as_text(value: Any) -> Any:  # noqa: ANN401 - as TOML has it
    """Keep numbers that are not whole as the text that they are written as."""
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_text(item) for key, item in value.items()}
    return str(value) if isinstance(value, Decimal) else value


def _as_lists(value: Any) -> Any:  # noqa: ANN401 - what a design holds
    """Turn tuples into lists, as which they are read again."""
    if isinstance(value, (list, tuple)):
        return [_as_lists(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_lists(item) for key, item in value.items()}
    return value
