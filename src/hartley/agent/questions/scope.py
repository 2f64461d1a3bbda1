"""The scope of a question: which table and which columns its names mean."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.agent.questions.statement import EXAMPLE, ONE_TABLE, Statement, shorten, unexpected
from hartley.wording import first_of

if TYPE_CHECKING:
    from hartley.errors import Refused
    from hartley.ranges.schema.schema import Column, Schema

SHOWN_COLUMNS = 20
FUNCTION_HINT = (
    "in SELECT: COUNT, SUM, AVG, VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP, MIN, MAX, MEDIAN and "
    "QUANTILE; in GROUP BY: FLOOR(column / width) and BIN(column, width); in WHERE: none"
)
NAMED = {
    "Window": ("A window function", "use GROUP BY"),
    "Subquery": ("A subquery", "write the filter itself in WHERE"),
    "Select": ("A subquery", "write the filter itself in WHERE"),
    "Exists": ("EXISTS", "write the filter itself in WHERE"),
    "Distinct": ("DISTINCT", "use GROUP BY; its groups come from the schema"),
    "Filter": ("FILTER", "put the condition into WHERE and ask each part on its own"),
    "Like": ("LIKE", "list the values: column IN ('a', 'b')"),
    "ILike": ("ILIKE", "list the values: column IN ('a', 'b')"),
    "Glob": ("GLOB", "list the values: column IN ('a', 'b')"),
    "SimilarTo": ("SIMILAR TO", "list the values: column IN ('a', 'b')"),
    "RegexpLike": ("A regular expression", "list the values: column IN ('a', 'b')"),
    "Case": ("CASE", "put the condition into WHERE and ask each case on its own"),
    "If": ("IF", "put the condition into WHERE and ask each case on its own"),
    "Cast": ("A cast", "columns have the types of the schema; write dates as DATE '2020-01-31'"),
    "TryCast": ("A cast", "columns have the types of the schema"),
    "Placeholder": ("A placeholder", "write the value itself"),
    "Parameter": ("A placeholder", "write the value itself"),
    "Star": ("*", "rows are never shown; COUNT(*) counts them"),
    "Tuple": ("A list of values here", "compare one column at a time"),
    "Mod": ("The remainder %", "use +, -, * and / with constants, or IN"),
    "IntDiv": ("The whole division //", "in GROUP BY write FLOOR(column / width)"),
    "Interval": ("An interval", "add days as plain numbers: day >= DATE '2020-01-31' + 30"),
    "NullSafeEQ": ("IS NOT DISTINCT FROM", "use = together with IS NULL"),
    "NullSafeNEQ": ("IS DISTINCT FROM", "use <> together with IS NULL"),
    "PercentileCont": ("An interpolated quantile", "use QUANTILE(column, p), a value of the table"),
    "ApproxQuantile": ("An approximate quantile", "use QUANTILE(column, p)"),
    "IgnoreNulls": ("IGNORE NULLS", "leave it out; missing values never count"),
    "Rollup": ("ROLLUP", "group by each list of columns on its own"),
    "Cube": ("CUBE", "group by each list of columns on its own"),
    "GroupingSets": ("GROUPING SETS", "group by each list of columns on its own"),
    "Order": ("ORDER BY inside a function", "leave it out"),
}
BARE = "columns stand in comparisons, in numbers such as a + 2*b and in GROUP BY"


@dataclass(frozen=True)
class Scope:
    """A statement, and the schema that its names refer to."""

    statement: Statement
    schema: Schema
    alias: str
    """The name that the text gives to the table."""

    def column(self, node: Any) -> Column:  # noqa: ANN401 - a column of sqlglot's
        """Return the column that a name means, or refuse it."""
        name, table = node.name, node.args.get("table")
        if unexpected(node, "this", "table") or not hasattr(node.this, "args"):
            raise self.refuse(node)
        if table is not None and table.name.casefold() not in {
            self.alias.casefold(),
            self.schema.name.casefold(),
        }:
            raise self.refusal(
                f"The table '{shorten(table.name)}' is not the one being asked",
                f"the table is {self.schema.name}",
                node,
            )
        unit = self.schema.unit
        if unit is not None and name.casefold() == unit.casefold():
            raise self.refusal(
                f"The column '{unit}' names the person and is never used",
                f"the columns are {self._first_columns()}",
                node,
            )
        return self._allowed(self._named(name, node), node)

    def _named(self, name: str, node: Any) -> Column:  # noqa: ANN401 - a column of sqlglot's
        columns = self.schema.columns
        if name in columns:
            return columns[name]
        alike = [known for known in columns if known.casefold() == name.casefold()]
        if len(alike) == 1:  # a schema may have both 'Straße' and 'STRASSE'
            return columns[alike[0]]
        folded = {known.casefold(): known for known in columns}
        close = difflib.get_close_matches(name.casefold(), folded, n=1)
        guess = f"did you mean {folded[close[0]]}? " if close else ""
        if not close and getattr(node.this, "quoted", False):
            guess = "use single quotes for text; "
        raise self.refusal(
            f"The table {self.schema.name} has no column '{shorten(name)}'",
            f"{guess}the columns are {self._first_columns()}",
            node,
        )

    def _allowed(self, column: Column, node: Any) -> Column:  # noqa: ANN401 - a column of sqlglot's
        if self.schema.rows == "private" and column.kind == "public":
            raise self.refusal(
                f"The column '{column.name}' is public row by row, which shows who is in the table",
                "where the number of rows is private, use open and private columns",
                node,
            )
        return column

    def _first_columns(self) -> str:
        names = [name for name in self.schema.columns if name != self.schema.unit]
        return first_of(names, SHOWN_COLUMNS)

    def refusal(
        self,
        problem: str,
        hint: str,
        node: Any = None,  # noqa: ANN401 - any part of a tree
    ) -> Refused:
        """Return a refusal that points at a part of the text."""
        return self.statement.refusal(problem, hint, node)

    def refuse(self, node: Any, hint: str | None = None) -> Refused:  # noqa: ANN401 - likewise
        """Return a refusal that names a part of the tree that is not allowed in its place."""
        from sqlglot import exp

        kind = type(node).__name__
        if kind in NAMED:
            what, alternative = NAMED[kind]
        elif isinstance(node, exp.Column):
            what, alternative = f"The column {self.column(node).name} on its own", BARE
        elif isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
            name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            what, alternative = f"The function {shorten(name, 30).upper()} here", FUNCTION_HINT
        else:
            what, alternative = f"'{self.spelled(node)}' here", f"write for example {EXAMPLE}"
        return self.refusal(f"{what} is not answered", hint or alternative, node)

    def spelled(self, node: Any) -> str:  # noqa: ANN401 - any part of a tree
        """Return a part of the tree as it is written in the text."""
        place = self.statement.place(node)
        return shorten(self.statement.text[slice(*place)] if place else type(node).__name__)


def open_scope(statement: Statement, schema: Schema) -> Scope:
    """Check the table of a statement; raise an error if it is not that of the schema."""
    from sqlglot import exp

    args = statement.select.args
    source = args.get("from_") or args.get("from")
    if source is None:
        raise statement.refusal(
            "The question names no table", f"write FROM {schema.name} after the SELECT list"
        )
    table = source.this
    if isinstance(table, exp.Subquery):
        raise statement.refusal(
            "A subquery is not answered", "write the filter itself in WHERE", table
        )
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise statement.refusal(
            "Only a table given by its name can be asked", f"write FROM {schema.name}", table
        )
    if table.args.get("joins"):
        raise statement.refusal("A join is not answered", ONE_TABLE, table)
    alias = table.args.get("alias")
    if unexpected(table, "this", "alias") or (alias is not None and unexpected(alias, "this")):
        raise statement.refusal(
            "Only a table given by its plain name can be asked",
            f"write FROM {schema.name}, without a schema, a sample or a version",
            table,
        )
    if table.name.casefold() != schema.name.casefold():
        raise statement.refusal(
            f"The table '{shorten(table.name)}' is not known here",
            f"the table is {schema.name}",
            table,
        )
    return Scope(statement, schema, table.alias or table.name)
