"""A policy saved as a readable, versioned file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from hartley.errors import HartleyError, InputError
from hartley.files import parse_toml, read_text_file, whole_file
from hartley.policies.kinds import (
    CutColumn,
    KeptColumn,
    LineColumn,
    MergedColumn,
    Pram,
    QuantizedColumn,
    columns_of,
    query_of,
    rules_of,
)
from hartley.policies.quantizers.query import Aggregate
from hartley.policies.toml import is_long, toml_fields, toml_key
from hartley.ranges.boxes.box import Interval

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from hartley.engines.maps.rules import Rule
    from hartley.policies.kinds import ColumnPolicy

FORMAT = 1
FIELDS = {
    "quantizer": (("low", "high", "levels"), ("rule", "of")),
    "cuts": (("edges", "values"), ("spans", "of")),
    "merging": (("groups", "labels"), ("other",)),
    "stretch": (("line", "reach", "low", "high"), ()),
    "blur": (("line", "reach", "low", "high"), ()),
    "keep": ((), ("low", "high")),
    "pram": (("values", "matrix"), ("columns", "released")),
}
"""For every kind of column the fields that it needs and those that it may have."""


@dataclass(frozen=True)
class PolicyDocument:
    """How the columns of a table are released; a column that is not named is not released.

    Example:
        >>> from hartley.policies.quantizers.quantizer import UniformQuantizer
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
        names = [name for column in self.columns for name in columns_of(column)]
        if not names:
            raise InputError("The policy releases no column", hint="name at least one")
        doubled = [
            name for name in names if [other.lower() for other in names].count(name.lower()) > 1
        ]
        if doubled:
            raise InputError(
                f"The policy names column '{doubled[0]}' twice, case aside",
                hint="give every column one policy",
            )
        object.__setattr__(self, "design", _as_lists(dict(self.design)))
        self._check_queries()
        self._check_lines()
        self.to_toml()

    def _check_queries(self) -> None:
        """One row for all people has no place beside one row for each of them."""
        whole = [column for column in self.columns if isinstance(query_of(column), Aggregate)]
        if whole and len(whole) < len(self.columns):
            (other, *_) = [column for column in self.columns if column not in whole]
            raise InputError(
                f"The policy releases {query_of(whole[0])} of a whole table beside '{other.name}' "
                "of every row",
                hint="write two policies",
            )

    def _check_lines(self) -> None:
        """A line over other columns needs their ranges, or nothing is known about its band."""
        for column in self.columns:
            for name in column.expression.names if isinstance(column, LineColumn) else ():
                if name not in self.ranges:
                    raise InputError(
                        f"The line of column '{column.name}' depends on '{name}', which has no "
                        "declared range",
                        hint=f"add column '{name}' with low and high, for example of kind keep",
                    )

    @property
    def ranges(self) -> dict[str, tuple[Fraction, Fraction]]:
        """The declared ranges of the columns of the table, by column.

        Those of columns that are quantized, stretched or kept as they are, and those of the
        section [design], which columns that stand in queries have.
        """
        named = {
            column.name: column.range
            for column in self.columns
            if column.range is not None and query_of(column) is None
        }
        return self._designed_ranges() | named

    def _designed_ranges(self) -> dict[str, tuple[Fraction, Fraction]]:
        listed = self.design.get("columns", {})
        if not isinstance(listed, dict):
            raise InputError(
                "The columns of the design are not a table",
                hint='write for example columns = {height = ["100", "250"]}',
            )
        found = {}
        for name, ends in listed.items():
            if not isinstance(ends, list) or len(ends) != 2:
                raise InputError(
                    f"The declared range of column '{name}' has not two ends",
                    hint='write for example ["100", "250"]',
                )
            interval = Interval.of((ends[0], ends[1]))
            found[name] = (interval.low, interval.high)
        return found

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """What is released of the whole table, in the order of the columns; empty if by rows."""
        found = (query_of(column) for column in self.columns)
        return tuple(query for query in found if isinstance(query, Aggregate))

    def to_map(self) -> tuple[Rule, ...]:
        """Return what an engine executes, one rule a released column; draws follow after it."""
        return tuple(rule for column in self.columns for rule in rules_of(column))

    @property
    def prams(self) -> tuple[Pram, ...]:
        """The columns that are released perturbed at random."""
        return tuple(column for column in self.columns if isinstance(column, Pram))

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

    # --- files ------------------------------------------------------------------------------

    def to_toml(self) -> str:
        """Return the policy as the text of a file."""
        content = self._content()
        columns, design = content.pop("columns"), content.pop("design", {})
        lines = [
            "# What is released of each column; a column that is not named here is not released."
        ]
        lines += toml_fields(content)
        for head, fields in [("[design]", design)] * bool(design) + [
            ("[[columns]]", column) for column in columns
        ]:
            sections = {key: item for key, item in fields.items() if is_long(item)}
            lines += [
                "",
                head,
                *toml_fields({k: v for k, v in fields.items() if k not in sections}),
            ]
            for key, section in sections.items():
                lines += ["", f"{head[:-1]}.{toml_key(key)}]", *toml_fields(section)]
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
    def load(cls, path: str | os.PathLike[str]) -> PolicyDocument:
        """Read a policy from a file."""
        text = read_text_file(path, what="policy file", kind=InputError)
        return cls.from_toml(text, name=f"the policy file {path}")


# --- reading ------------------------------------------------------------------------------------


def _read(content: dict[str, Any], name: str) -> PolicyDocument:
    """Turn the content of a file into a policy, or say which place makes no sense."""
    place = _sentence(name)
    if content.get("format") != FORMAT or isinstance(content.get("format"), bool):
        told = f"has format {content['format']}" if "format" in content else "names no format"
        raise InputError(f"{place} {told}", hint=f"this version reads format = {FORMAT}")
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
        read = tuple(_read_column(column, number) for number, column in enumerate(columns, 1))
        return PolicyDocument(read, title, _as_text(design))
    except HartleyError as error:
        problem = error.problem[0].lower() + error.problem[1:]
        raise InputError(f"{place} is refused: {problem}", hint=error.hint) from None


def _read_column(fields: dict[str, Any], number: int) -> ColumnPolicy:
    name, kind = fields.get("name"), fields.get("kind")
    if not isinstance(name, str) or not name:
        raise InputError(f"Column {number} has no name", hint='write name = "..."')
    place = f"Column {number} ('{name}')"
    if not isinstance(kind, str) or kind not in FIELDS:
        told = "has no kind" if kind is None else f"has the unknown kind {kind!r}"
        raise InputError(f"{place} {told}", hint=f"the kinds are {', '.join(FIELDS)}")
    needed, allowed = FIELDS[kind]
    given = {key: value for key, value in fields.items() if key not in ("name", "kind")}
    missing = [key for key in needed if key not in given]
    if missing:
        raise InputError(
            f"{place} has no '{missing[0]}'", hint=f"a {kind} needs {', '.join(needed)}"
        )
    unknown = [key for key in given if key not in (*needed, *allowed)]
    if unknown:
        raise InputError(
            f"{place} has the unknown field '{unknown[0]}'",
            hint=f"a {kind} has {', '.join(('name', 'kind', *needed, *allowed))}",
        )
    return _build_column(name, kind, given, place)


def _build_column(name: str, kind: str, given: dict[str, Any], place: str) -> ColumnPolicy:
    readers: dict[str, Callable[..., ColumnPolicy]] = {
        "quantizer": QuantizedColumn.read,
        "cuts": CutColumn.read,
        "merging": MergedColumn.read,
        "keep": KeptColumn.read,
        "pram": Pram.read,
    }
    try:
        if kind in readers:
            return readers[kind](name, **given)
        return LineColumn.read("stretch" if kind == "stretch" else "blur", name, **given)
    except HartleyError as error:
        problem = error.problem[0].lower() + error.problem[1:]
        raise InputError(f"{place} makes no sense: {problem}", hint=error.hint) from None


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


def _sentence(name: str) -> str:
    return name[0].upper() + name[1:]
