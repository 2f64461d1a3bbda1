"""SQL text to a tree; names to columns."""

from __future__ import annotations

import difflib
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import local
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from hartley.errors import Refused
from hartley.text import join_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot import Dialect, exp
    from sqlglot.errors import ParseError
    from sqlglot.tokenizer_core import Token, TokenType

    from hartley.schema.schema import Column, Schema

    Node: TypeAlias = Any
    """A part of a tree of sqlglot's, which carries no types."""


# --- known trees ----------------------------------------------------------------------------------
# Trees of earlier questions, used again for a text that differs in its constants alone.
#
# Parsing takes longest of all that is done to a text, and many texts ask the same with other
# numbers. Which tree the parser makes of plain comparisons, sums and aggregates does not depend
# on what a number or a quoted text says, so the constants of a known tree are replaced.
# Everything else is parsed.

MOST_TREES = 256
"""Trees that are kept."""
MOST_TOKENS = 200
"""The longest text whose tree is kept."""
WORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP_BY", "AND", "OR", "NOT", "BETWEEN", "IN", "ALIAS", "VAR"),
    *("L_PAREN", "R_PAREN", "COMMA", "STAR", "PLUS", "DASH", "SLASH", "NUMBER", "STRING"),
    *("EQ", "NEQ", "LT", "LTE", "GT", "GTE"),
)
"""The kinds of tokens that a kept text may have; no keyword here looks into a constant."""
CALLED = {"COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "VARIANCE", "STDDEV"}
"""Functions that a kept text may call; others may be read differently for other constants."""

Shape: TypeAlias = "tuple[tuple[TokenType, str | None], ...]"
"""The tokens of a text without its constants."""


class KnownTree(NamedTuple):
    """A tree, and the tokens that its parts were read from."""

    select: exp.Select
    constants: list[tuple[dict[str, Any], int]]
    """The arguments of each constant, and its token."""
    places: list[tuple[dict[str, Any], int]]
    """What the parser noted about where each name and constant is, and its token."""

    def filled(self, tokens: Sequence[Token]) -> exp.Select:
        """Return the tree of a text of the same shape: as the parser would have made it."""
        for arguments, at in self.constants:
            arguments["this"] = tokens[at].text
        for place, at in self.places:
            token = tokens[at]
            place["line"], place["col"] = token.line, token.col
            place["start"], place["end"] = token.start, token.end
        return self.select


_TREES: dict[Shape, KnownTree] = {}


@cache
def _kinds() -> tuple[frozenset[TokenType], frozenset[TokenType], TokenType]:
    """Return the kinds of tokens of kept texts, those of constants among them, and of names."""
    from sqlglot.tokenizer_core import TokenType

    constants = frozenset({TokenType.NUMBER, TokenType.STRING})
    return frozenset({TokenType[word] for word in WORDS}), constants, TokenType.VAR


def shape_of(tokens: Sequence[Token]) -> Shape | None:
    """Return what the tree of a text depends on; None if it may depend on the constants too."""
    known, constants, name = _kinds()
    if len(tokens) > MOST_TOKENS:
        return None
    shape: list[tuple[TokenType, str | None]] = []
    before = ""
    for token in tokens:
        kind, text = token.token_type, token.text
        if kind not in known or token.comments:
            return None
        if kind in constants:
            shape.append((kind, None))
        else:
            # A parenthesis after a name is a call; after a keyword its text is that keyword.
            if text == "(" and before and before not in CALLED:
                return None
            shape.append((kind, text))
        before = text.upper() if kind is name else ""
    return tuple(shape)


def take_tree(shape: Shape) -> KnownTree | None:
    """Take the tree of a shape, if there is one; only one thread at a time can have it."""
    return _TREES.pop(shape, None)


def keep_tree(shape: Shape, tree: KnownTree) -> None:
    """Keep a tree, or give it back."""
    if len(_TREES) >= MOST_TREES:
        _TREES.clear()
    _TREES[shape] = tree


def known_tree(select: exp.Select, tokens: Sequence[Token]) -> KnownTree | None:
    """Return the tree of a text for texts of the same shape; None if a constant is not in it."""
    from sqlglot import exp

    _, kinds, _ = _kinds()
    starts = {token.start: at for at, token in enumerate(tokens)}
    constants: list[tuple[dict[str, Any], int]] = []
    places: list[tuple[dict[str, Any], int]] = []
    for part in select.walk():
        at = starts.get(part.meta["start"]) if "start" in part.meta else None
        if at is not None and part.meta["end"] == tokens[at].end:
            places.append((part.meta, at))
        elif "start" in part.meta:
            return None  # it spans several tokens
        if isinstance(part, exp.Literal):
            if at is None or part.name != tokens[at].text:
                return None
            constants.append((part.args, at))
    own = {at for at, token in enumerate(tokens) if token.token_type in kinds}
    if {at for _, at in constants} != own or len(constants) != len(own):
        return None
    return KnownTree(select, constants, places)


# --- statement ------------------------------------------------------------------------------------
# From SQL text to one SELECT over one table that contains only what is allowed, or a refusal.
#
# The text is read by a real parser and checked against an allow-list: everything else is refused,
# with its place in the text and a hint at what would work instead. No part of the text is ever
# passed to an engine.

DIALECT = "duckdb"
MOST_CHARACTERS = 20_000
"""The longest question; a longer one is refused before it is read."""
MOST_DEPTH = 60
"""The deepest nesting of parentheses."""

ELSEWHERE = "ask each part on its own and combine the answers yourself; that costs nothing more"
ONE_TABLE = "ask about one table at a time; the owner can provide a joined table as a dataset"
CLAUSES = {
    "with": ("WITH", "A common table expression", "write one SELECT with its filter in WHERE"),
    "distinct": ("DISTINCT", "DISTINCT", "use GROUP BY; its groups come from the schema"),
    "into": ("INTO", "SELECT INTO", "an answer is returned, never stored as a table"),
    "joins": ("JOIN", "A join", ONE_TABLE),
    "laterals": ("LATERAL", "A lateral join", ONE_TABLE),
    "pivots": ("PIVOT", "PIVOT", "use GROUP BY and reshape the answer yourself"),
    "having": ("HAVING", "HAVING", "every group is answered; drop groups from the answer yourself"),
    "qualify": ("QUALIFY", "QUALIFY", "filter rows with WHERE"),
    "windows": ("WINDOW", "A window function", "use GROUP BY"),
    "order": ("ORDER", "ORDER BY", "groups come in the schema's order; sort the answer yourself"),
    "limit": ("LIMIT", "LIMIT", "every group is answered; take what you need from the answer"),
    "offset": ("OFFSET", "OFFSET", "every group is answered; take what you need from the answer"),
    "sample": (None, "Sampling", "leave it out; answers are about the whole table"),
    "locks": ("FOR", "Locking", "leave it out; nothing is ever written"),
    "kind": (None, "SELECT AS", "write SELECT, then what you want to know"),
}  # fmt: skip
COMPARED = {"=", "==", "<>", "!=", "<", "<=", ">", ">=", "IS", "NOT", "NULL", "TRUE", "FALSE"}
STATEMENTS = {
    "WITH": ("A common table expression", "write one SELECT with its filter in WHERE"),
    "(": ("A SELECT in parentheses", "write the SELECT without parentheses around it"),
    "FROM": ("A question that begins with FROM", "write SELECT ... FROM ..."),
}
EXAMPLE = "SELECT AVG(height) FROM people WHERE age >= 40"


@dataclass(frozen=True)
class Statement:
    """A parsed SELECT, and its text."""

    text: str
    tokens: Sequence[Token]
    select: exp.Select

    def place(self, node: Node) -> tuple[int, int] | None:
        """Return the begin and end of a part of the tree in the text, None if unknown.

        The parser gives the places of names and numbers. The words around them are added here: the
        name of a function, a NULL that is compared, parentheses that would be cut in two.
        """
        from sqlglot import exp

        while hasattr(node, "walk"):
            metas = [part.meta for part in node.walk() if "start" in part.meta]
            if metas:
                break
            node = node.parent
        else:
            return None
        begin, end = min(m["start"] for m in metas), max(m["end"] for m in metas) + 1
        before = [t for t in self.tokens if t.start < begin]
        called = isinstance(node, exp.Func) and not isinstance(node, exp.Connector)
        if called and "start" not in node.meta and before and _raw(self.text, before[-1]) == "(":
            begin = _begin(before, 2, begin)  # its name and a parenthesis
        elif isinstance(node, (exp.Subquery, exp.Select)):
            begin = _begin(before, 2, begin)  # a parenthesis and SELECT
        elif any(isinstance(part, (exp.Null, exp.Boolean)) for part in node.walk()):
            for token in self.tokens:
                if token.start >= end and _raw(self.text, token).upper() not in COMPARED:
                    break
                end = max(end, token.end + 1)
        return self._balanced(begin, end)

    def _balanced(self, begin: int, end: int) -> tuple[int, int]:
        signs = [(t.start, _raw(self.text, t)) for t in self.tokens]
        brackets = [(at, sign) for at, sign in signs if sign in ("(", ")")]
        depth = lowest = 0
        for at, sign in brackets:
            if begin <= at < end:
                depth += 1 if sign == "(" else -1
                lowest = min(lowest, depth)
        for at, sign in brackets:
            if at >= end and depth > lowest and sign == ")":
                depth, end = depth - 1, at + 1
        for at, sign in reversed(brackets):
            if at < begin and lowest < 0 and sign == "(":
                lowest, begin = lowest + 1, at
        return begin, end

    def word(self, *words: str) -> tuple[int, int] | None:
        """Return the first place of one of some words in the text."""
        for token in self.tokens:
            if _raw(self.text, token).upper().split()[:1] in [[word] for word in words]:
                return token.start, token.end + 1
        return None

    def refusal(
        self,
        problem: str,
        hint: str,
        node: Node = None,
        *,
        place: tuple[int, int] | None = None,
    ) -> Refused:
        """Return a refusal that points at a part of the text, or at all of it."""
        place = place or self.place(node) or (0, len(self.text))
        return Refused(problem, hint=hint, text=self.text, place=place)


@contextmanager
def reading(text: str) -> Iterator[Statement]:
    """Read the text of a question: one SELECT with a FROM, a WHERE and a GROUP BY at most.

    The tree is valid until the end of the block: it may be that of an earlier text, with the
    constants of this one.

    Example:
        >>> with reading("SELECT COUNT(*) FROM people LIMIT 3"):
        ...     pass
        Traceback (most recent call last):
        hartley.errors.Refused: LIMIT is not answered; hint: every group is ...
    """
    tokens = _tokens(text)
    _check_beginning(text, tokens)
    shape = shape_of(tokens)
    known = None if shape is None else take_tree(shape)
    if known is None:
        tree = _tree(text, tokens)
        known = None if shape is None else known_tree(tree, tokens)
    else:
        tree = known.filled(tokens)
    try:
        statement = Statement(text, tokens, tree)
        _check_clauses(statement)
        yield statement
    finally:
        if known is not None and shape is not None:
            keep_tree(shape, known)


def shorten(text: str, length: int = 60) -> str:
    """Return a piece of a text on one line, no longer than wanted."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _raw(text: str, token: Token) -> str:
    """Return a token as it is written in the text, including quotation marks."""
    return text[token.start : token.end + 1]


def _begin(before: Sequence[Token], words: int, otherwise: int) -> int:
    """Return where the last few of some words begin."""
    return before[-words].start if len(before) >= words else otherwise


def _refused(text: str, problem: str, hint: str, place: tuple[int, int] | None = None) -> Refused:
    return Refused(problem, hint=hint, text=text, place=place or (0, len(text)))


@cache
def _dialect() -> Dialect:
    from sqlglot import Dialect

    return Dialect.get_or_raise(DIALECT)


_OF_THREAD = local()


def _split(text: str) -> Sequence[Token]:
    """Split a text with the tokenizer of this thread: one can read many texts, but not at once."""
    tokenizer = getattr(_OF_THREAD, "tokenizer", None)
    if tokenizer is None:
        tokenizer = _OF_THREAD.tokenizer = _dialect().tokenizer_class(dialect=_dialect())
    tokens: Sequence[Token] = tokenizer.tokenize(text)
    return tokens


def _tokens(text: str) -> Sequence[Token]:
    from sqlglot import errors

    if len(text) > MOST_CHARACTERS:
        raise _refused(
            text,
            f"A question of {len(text):,} characters is too long",
            f"the longest has {MOST_CHARACTERS:,} characters; ask in several parts",
        )
    try:
        tokens = _split(text)
    except (errors.SqlglotError, ValueError, IndexError):
        raise _refused(
            text, "The question cannot be read", "close every quotation mark and comment"
        ) from None
    if text.count("(") <= MOST_DEPTH:
        return tokens
    depth = 0
    for token in tokens:
        depth += (_raw(text, token) == "(") - (_raw(text, token) == ")")
        if depth > MOST_DEPTH:
            raise _refused(
                text,
                f"The question is nested more than {MOST_DEPTH} parentheses deep",
                "leave out parentheses that change nothing",
                (token.start, token.end + 1),
            )
    return tokens


def _check_beginning(text: str, tokens: Sequence[Token]) -> None:
    """Refuse anything that is not a SELECT by name, before it is parsed."""
    first = next((token for token in tokens if _raw(text, token) != ";"), None)
    if first is None:
        raise _refused(text, "The question is empty", f"write for example {EXAMPLE}")
    place = first.start, first.end + 1
    name = _raw(text, first).upper()
    if name != "SELECT":
        problem, hint = STATEMENTS.get(
            name, (f"A statement that begins with '{shorten(first.text, 20)}'", "")
        )
        hint = hint or f"questions only read, and begin with SELECT: {EXAMPLE}"
        raise _refused(text, f"{problem} is not answered", hint, place)
    ended = False
    for token in tokens if ";" in text else ():
        if ended and _raw(text, token) != ";":
            raise _refused(
                text,
                "Several statements in one text are not answered",
                "ask one SELECT at a time, or a list of questions as a batch",
                (token.start, token.end + 1),
            )
        ended = ended or _raw(text, token) == ";"


def _tree(text: str, tokens: Sequence[Token]) -> exp.Select:
    from sqlglot import errors, exp

    try:
        trees = [tree for tree in _dialect().parser().parse(list(tokens), text) if tree is not None]
    except errors.ParseError as error:
        raise _unreadable(text, tokens, error) from None
    except RecursionError:
        raise  # explained by the caller, which has the whole text
    except Exception:  # noqa: BLE001 - the parser met a text that its authors did not foresee
        raise _refused(
            text, "The question cannot be read", f"write for example {EXAMPLE}"
        ) from None
    tree = trees[0] if trees else None
    if isinstance(tree, exp.SetOperation):
        operators = [t for t in tokens if _raw(text, t).upper() in ("UNION", "EXCEPT", "INTERSECT")]
        place = (operators[0].start, operators[0].end + 1) if operators else None
        name = type(tree).__name__.upper()
        raise _refused(text, f"{name} is not answered", ELSEWHERE, place)
    if not isinstance(tree, exp.Select):
        raise _refused(text, "The question is not a plain SELECT", f"write for example {EXAMPLE}")
    return tree


def _unreadable(text: str, tokens: Sequence[Token], error: ParseError) -> Refused:
    details = error.errors[0] if error.errors else {}
    spot = (details.get("line"), details.get("col"))
    near = [token for token in tokens if (token.line, token.col) == spot]
    place = (near[0].start, near[0].end + 1) if near else None
    where = f" near '{shorten(text[slice(*place)], 20)}'" if place else ""
    return _refused(
        text, f"The question cannot be read{where}", f"write for example {EXAMPLE}", place
    )


def _check_clauses(statement: Statement) -> None:
    """Refuse by name every clause but SELECT, FROM, WHERE and GROUP BY."""
    select = statement.select
    for name, value in select.args.items():
        clause = name.rstrip("_")
        if not value or clause in ("expressions", "from", "where", "group"):
            continue
        word, what, hint = CLAUSES.get(
            clause, (None, f"The clause {clause.upper()}", "leave it out")
        )
        node = value[0] if isinstance(value, list) else value
        placed = any("start" in part.meta for part in getattr(node, "walk", list)())
        places = [
            statement.word(word) if word else None,
            statement.place(node) if placed else None,
        ]
        known = [place for place in places if place]
        place = (known[0][0], max(end for _, end in known)) if known else None
        raise statement.refusal(f"{what} is not answered", hint, place=place)
    group = select.args.get("group")
    if group is not None and unexpected(group, "expressions"):
        raise statement.refusal(
            "Only a plain GROUP BY is answered",
            "list the columns, for example GROUP BY region",
            place=statement.word("GROUP"),
        )


def unexpected(node: Node, *allowed: str) -> bool:
    """Tell whether a part of the tree has more arguments than allowed."""
    return any(value and name not in allowed for name, value in node.args.items())


# --- scope ----------------------------------------------------------------------------------------
# The scope of a question: which table and which columns its names mean.

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

    def column(self, node: Node) -> Column:
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
        column = self._named(name, node)
        if self.schema.rows == "private" and column.kind == "public":
            raise self.refusal(
                f"The column '{column.name}' is public row by row, which shows who is in the table",
                "where the number of rows is private, use open and private columns",
                node,
            )
        return column

    def _named(self, name: str, node: Node) -> Column:
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

    def _first_columns(self) -> str:
        names = [name for name in self.schema.columns if name != self.schema.unit]
        return join_first(names, 20)

    def refusal(self, problem: str, hint: str, node: Node = None) -> Refused:
        """Return a refusal that points at a part of the text."""
        return self.statement.refusal(problem, hint, node)

    def refuse(self, node: Node, hint: str | None = None) -> Refused:
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

    def spelled(self, node: Node) -> str:
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
