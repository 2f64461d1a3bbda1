"""The roles of the columns of a table, in one file that all commands read: roles.toml.

The file says which column identifies people, which are keys that others may know, which are
confidential, and how the table is to be read. A draft is made by ``scan`` and refused by everything
until its owner has confirmed it.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.table import Table, names_of
from hartley.errors import ColumnError, InputError, OptionError
from hartley.exact import parse_step
from hartley.files import parse_toml, read_text_file
from hartley.schema.schema import refuse_unknown, toml_key, toml_text
from hartley.tables.opening import open_table
from hartley.tables.reading import AS_WRITTEN, ReadingOptions, check_periods, is_period
from hartley.tables.view import as_texts, run
from hartley.text import decimal_text, join_first, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

RELEASED = ("key", "confidential", "kept")
RULED = ("key", "confidential")
NEVER_RELEASED = ("identifier", "unit")
WITHHELD = (*NEVER_RELEASED, "undecided", "weight", "household")
"""Roles of which nothing leaves; a look at the table may use those but the first two."""
ROLES = (*NEVER_RELEASED, "undecided", *RELEASED, "weight", "household")
MOST_LEVELS = 20
_COLUMN = ("role", "levels", "mask", "hierarchy", "rare")
_RULES = ("levels", "mask", "hierarchy", "rare")
_A = {
    "identifier": "an identifier",
    "unit": "the unit",
    "weight": "a sampling weight",
    "household": "the household",
}
HEADER = """\
# A DRAFT, made by looking at the data. Look at every column and correct its role:
#   identifier    never released          unit       whose row it is: never released, counted
#   key           others may know it: it is coarsened
#   confidential  released, but measured  kept       released as it is
#   weight        a sampling weight       household  which people live together
#   undecided     not released, like a weight and a household
# Writing others = "confidential" below gives all undecided columns that role. Then write
# confirmed = true.
"""


@dataclass(frozen=True)
class ColumnRole:
    """The role of one column, and the rule by which it is coarsened if it is a key."""

    name: str
    role: str
    levels: tuple[Fraction | str, ...] = ()
    """Widths of nesting bins of numbers, or periods of dates, from narrow to wide."""
    mask: int | None = None
    """How many characters at the end of a code the first level hides; each further level hides
    one more."""
    hierarchy: Path | None = None
    """A CSV file with the groups of every value."""
    rare: tuple[int, ...] = ()
    """Values in fewer rows than this are merged, level by level."""
    why: str = field(default="", compare=False)
    """Why a draft gives it this role."""


@dataclass(frozen=True)
class Roles:
    """The roles of the columns of a table, and how it is read.

    Example:
        >>> roles = Roles.read({
        ...     "confirmed": True,
        ...     "columns": {"person": {"role": "identifier"}, "age": {"role": "key"}},
        ... })
        >>> roles.named("identifier"), roles.named("key")
        (('person',), ('age',))
    """

    confirmed: bool
    columns: Mapping[str, ColumnRole]
    reading: ReadingOptions = AS_WRITTEN
    file: str = "the roles"
    """The name of the file, for messages."""

    @classmethod
    def read(cls, source: Roles | Mapping[str, Any] | str | os.PathLike[str]) -> Roles:
        """Read roles from a TOML file or from a dict of the same form; a draft is read too."""
        if isinstance(source, Roles):
            return source
        if isinstance(source, Mapping):
            return _read(source, "the roles", Path())
        if not isinstance(source, (str, os.PathLike)):
            raise OptionError(
                f"A {type(source).__name__} holds no roles",
                hint="pass Roles, a dict or the path of a TOML file",
            )
        path = Path(source)
        if not os.path.exists(path):  # noqa: PTH110 - names of any length
            raise InputError(
                f"The roles {path.name} cannot be read",
                hint="check the path; hartley scan TABLE --draft roles.toml makes a first one",
            )
        text = read_text_file(path, what="roles", kind=InputError)
        content = parse_toml(text, what=f"roles {path.name}", kind=InputError)
        return _read(content, f"the roles {path.name}", path.parent)

    @classmethod
    def confirmed_by_owner(
        cls, source: Roles | Mapping[str, Any] | str | os.PathLike[str]
    ) -> Roles:
        """Read roles, and refuse a draft."""
        roles = cls.read(source)
        if not roles.confirmed:
            raise OptionError(
                f"{_begun(roles.file)} are a draft that nobody has confirmed",
                hint="correct every role, then write confirmed = true at the top",
            )
        return roles

    def named(self, *roles: str) -> tuple[str, ...]:
        """Return the columns that have one of some roles, in the order of the file."""
        return tuple(column.name for column in self.columns.values() if column.role in roles)

    def confirm(self) -> Roles:
        """Return the roles as confirmed: whoever calls this has looked at every column.

        Example:
            >>> draft = Roles.read({"columns": {"age": {"role": "key"}}})
            >>> draft.confirmed, draft.confirm().confirmed
            (False, True)
        """
        return replace(self, confirmed=True)

    def to_toml(self) -> str:
        """Return the roles as the text of a file, with a comment for every column of a draft."""
        lines = [] if self.confirmed else HEADER.splitlines()
        lines += [f"confirmed = {toml_text(self.confirmed)}", "", "[reading]"]
        reading = self.reading
        always = {name: getattr(reading, name) for name in ("null", "trim", "encoding", "decimal")}
        settings = always | {"null": list(reading.null)} | reading.to_dict()
        lines += [f"{name} = {toml_text(value)}" for name, value in settings.items()]
        for column in self.columns.values():
            comment = "".join(c if c.isprintable() else " " for c in column.why)
            lines += ["", *([f"# {comment}"] if comment else []), *_column_lines(column)]
        return "\n".join(lines) + "\n"

    def refuse_identifiers(
        self,
        columns: Iterable[str],
        doing: str = "released",
        roles: Sequence[str] = NEVER_RELEASED,
    ) -> None:
        """Raise an error for an identifier, the unit, or another role that leaves in no form."""
        # Spelled in another case, the engine would find it all the same.
        hidden = {name.lower(): self.columns[name].role for name in self.named(*roles)}
        for column in columns:
            if column.lower() in hidden:
                role = hidden[column.lower()]
                raise OptionError(
                    f"Column '{column}' is {_A.get(role, role)} and is never {doing}",
                    hint=f"leave it out, or give it another role in {self.file}",
                )


RolesSource = Roles | Mapping[str, Any] | str | os.PathLike[str]
"""Roles, a dict of the form of a file, or the path of one."""


def open_with_roles(
    source: object, roles: RolesSource, *, unit: str | None = None
) -> tuple[Table, Roles]:
    """Open a table as its confirmed roles say: read by their options, and without identifiers.

    Everything that takes roles opens its table here, so that an identifier reaches no measure and
    no release, whoever names it.

    Args:
        source: anything that ``open_table`` opens, or a table already open.
        roles: the roles; a draft is refused.
        unit: the column that says whose row it is, which an agent needs and never shows.

    Example:
        >>> roles = {"confirmed": True, "columns": {"name": {"role": "identifier"}}}
        >>> table, _ = open_with_roles({"name": ["Ann", "Bob"], "age": [30, 40]}, roles)
        >>> table.columns
        ('age',)
    """
    confirmed = Roles.confirmed_by_owner(roles)
    table = source if isinstance(source, Table) else open_table(source, reading=confirmed.reading)
    hidden = [name for name in confirmed.named("identifier") if name != unit]
    for name in confirmed.columns:
        absent = name not in hidden and name not in table.columns
        if absent and name not in confirmed.named("undecided"):
            raise ColumnError(
                f"Column '{name}' of {confirmed.file} is not in {table.name}",
                hint=f"the columns are {join_first(table.columns, 12)}",
            )
    # Spelled in another case, the engine would find it all the same.
    lower = {name.lower() for name in hidden}
    dropped = [name for name in table.columns if name.lower() in lower]
    _refuse_lost_identifiers(table, confirmed, hidden, dropped)
    table = as_texts(table, _codes(table, confirmed))
    if not dropped:
        return table, confirmed
    if len(dropped) == len(table.columns):
        raise ColumnError(
            f"Every column of {table.name} is an identifier, so that nothing is left",
            hint=f"give a column another role in {confirmed.file}",
        )
    texts = None if table.texts is None else table.texts.drop(*dropped)
    shown = replace(
        table,
        expression=table.expression.drop(*dropped),
        texts=texts,
        hidden=table.hidden | {*dropped},
    )
    return shown, confirmed


def _codes(table: Table, roles: Roles) -> list[str]:
    """Return the columns of CSV files whose digits are codes: masked ones, and those like 01067."""
    # Read as numbers they would lose their zeros, and be averaged.
    if table.texts is None:
        return []
    released = [
        column
        for column in roles.columns.values()
        if column.role in RELEASED
        and column.name in table.columns
        and table.kind(column.name).numeric
        and not column.levels  # bins are of numbers, however these are written
    ]
    masked = [column.name for column in released if column.mask is not None]
    others = [column.name for column in released if column.mask is None]
    if not others:
        return masked
    zeros = {f"c{i}": table.texts[n].re_search("^[+-]?0[0-9]").any() for i, n in enumerate(others)}
    answers = run(table, table.texts.aggregate(**zeros).to_pyarrow).to_pylist()[0]
    return [*masked, *(name for i, name in enumerate(others) if answers[f"c{i}"])]


def _refuse_lost_identifiers(
    table: Table, roles: Roles, hidden: Sequence[str], dropped: Sequence[str]
) -> None:
    """Raise an error for an identifier that is missing where a column without a role stands."""
    # It may be that column, misspelled or renamed. What was released by the roles has neither.
    present = {name.lower() for name in (*dropped, *table.hidden)}
    lost = [name for name in hidden if name.lower() not in present]
    others = [name for name in table.columns if name not in roles.columns and name not in dropped]
    if lost and others:
        raise ColumnError(
            f"The identifier '{lost[0]}' of {roles.file} is not in {table.name}",
            hint=f"give {join_first(others, 4)} a role, or leave '{lost[0]}' out of {roles.file}",
        )


def open_for(source: object, roles: RolesSource | None) -> tuple[Table, Roles | None]:
    """Open a table, by its roles where there are some."""
    return (open_table(source), None) if roles is None else open_with_roles(source, roles)


def chosen_columns(
    roles: Roles | None, given: str | Sequence[str] | None, *which: str, what: str
) -> tuple[str, ...]:
    """Return the columns that were named, or else those that have a role.

    If there are none, the error calls them ``what``; nothing is missed if that is empty.
    """
    columns = names_of(given) if given is not None else () if roles is None else roles.named(*which)
    if roles is not None:
        roles.refuse_identifiers(columns)
    if not columns and what and given is None:
        raise OptionError(
            f"No {what} column is named",
            hint=f'name one, or give one the role "{which[0]}" in '
            f"{'a file of roles' if roles is None else roles.file}",
        )
    return columns


def _column_lines(column: ColumnRole) -> list[str]:
    lines = [f"[columns.{toml_key(column.name)}]", f"role = {toml_text(column.role)}"]
    # Rules of a column that is no key yet wait until it is one.
    if column.levels and column.role == "key":
        shown = (toml_text(n) if isinstance(n, str) else decimal_text(n) for n in column.levels)
        lines.append(f"levels = [{', '.join(shown)}]")
    if column.mask is not None and column.role == "key":
        lines.append(f"mask = {column.mask}")
    if column.rare and column.role == "key":
        lines.append(f"rare = {toml_text(list(column.rare))}")
    if column.hierarchy is not None and column.role in RULED:
        lines.append(f"hierarchy = {toml_text(str(column.hierarchy))}")
    return lines


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


def _read(content: Mapping[str, Any], file: str, folder: Path) -> Roles:
    refuse_unknown(content, ("confirmed", "others", "reading", "columns"), _begun(file))
    confirmed = content.get("confirmed", False)
    if not isinstance(confirmed, bool):
        raise OptionError(
            f"The setting confirmed of {file} is not true or false", hint="write confirmed = true"
        )
    columns = content.get("columns", {})
    if not isinstance(columns, Mapping) or not columns:
        raise OptionError(
            f"{_begun(file)} name no column", hint='write [columns.NAME] and role = "key"'
        )
    others = content.get("others", "undecided")
    if others not in (*RELEASED, "undecided"):
        raise OptionError(
            f"The setting others of {file} is no role that many columns can have",
            hint='write others = "confidential"',
        )
    read = [_column(str(name), fields, file, folder) for name, fields in columns.items()]
    read = [replace(c, role=others) if c.role == "undecided" else c for c in read]
    units = [column.name for column in read if column.role == "unit"]
    if len(units) > 1:
        raise OptionError(
            f"{_begun(file)} name {len(units)} units, {listed(units)}",
            hint=f"make {units[1]} an identifier",
        )
    return Roles(
        confirmed,
        {column.name: column for column in read},
        _reading(content.get("reading", {}), file),
        file,
    )


def _reading(fields: object, file: str) -> ReadingOptions:
    if not isinstance(fields, Mapping):
        raise OptionError(f"The reading of {file} is no section", hint="begin it with [reading]")
    try:
        return ReadingOptions.from_dict(fields)
    except OptionError as error:
        raise OptionError(f"{error.problem} in {file}", hint=error.hint) from None


def _column(name: str, fields: object, file: str, folder: Path) -> ColumnRole:
    where = f"Column '{name}' of {file}"
    if not isinstance(fields, Mapping):
        raise OptionError(
            f"{where} has no role", hint=f'write [columns.{toml_key(name)}] and role = "key"'
        )
    refuse_unknown(fields, _COLUMN, where)
    role = fields.get("role")
    if role not in ROLES:
        close = difflib.get_close_matches(str(role), ROLES, n=1)
        raise OptionError(
            f"{where} has {'no role' if role is None else 'an unknown role'}",
            hint=f"did you mean {close[0]}?" if close else f"choose {listed(ROLES, joint='or')}",
        )
    given = [rule for rule in _RULES if rule in fields]
    if len(given) > 1:
        raise OptionError(f"{where} has {listed(given)}", hint="give one of them")
    if given and role not in RULED:
        raise OptionError(
            f"{where} has {given[0]}, but is {_A.get(role, role)}",
            hint="only keys are coarsened: leave it out, or make it a key",
        )
    if given and role == "confidential" and given != ["hierarchy"]:
        raise OptionError(
            f"{where} has {given[0]}, but is confidential",
            hint="a confidential column can have a hierarchy alone",
        )
    hierarchy = fields.get("hierarchy")
    if hierarchy is not None and not isinstance(hierarchy, str):
        raise OptionError(f"{where} has a hierarchy that is no file", hint="use quotes")
    return ColumnRole(
        name,
        role,
        levels=_levels(fields.get("levels", ()), name, where),
        mask=_mask(fields.get("mask"), where),
        hierarchy=None if hierarchy is None else folder / hierarchy,
        rare=_rare(fields.get("rare", ()), where),
    )


def _levels(levels: object, name: str, where: str) -> tuple[Fraction | str, ...]:
    if not isinstance(levels, (list, tuple)) or len(levels) > MOST_LEVELS:
        raise OptionError(f"{where} has levels that are no list", hint="write levels = [5, 10, 20]")
    if any(map(is_period, levels)):
        return check_periods(levels, where)
    return tuple(parse_step(level, column=name) for level in levels)


def _mask(mask: object, where: str) -> int | None:
    if mask is None:
        return None
    if isinstance(mask, bool) or not isinstance(mask, int) or mask < 1:
        raise OptionError(f"{where} has a mask that hides no character", hint="write mask = 2")
    return mask


def _rare(rare: object, where: str) -> tuple[int, ...]:
    sizes = (rare,) if isinstance(rare, int) else rare
    if (
        not isinstance(sizes, (list, tuple))
        or any(isinstance(size, bool) or not isinstance(size, int) or size < 2 for size in sizes)
        or list(sizes) != sorted(set(sizes))
    ):
        raise OptionError(
            f"{where} merges rare values below sizes that do not grow from 2 on",
            hint="write rare = [10, 100]",
        )
    return tuple(sizes)
