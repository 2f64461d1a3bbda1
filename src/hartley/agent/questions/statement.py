"""From SQL text to one SELECT over one table that contains only what is allowed, or a refusal.

The text is read by a real parser and checked against an allow-list: everything else is refused,
with its place in the text and a hint at what would work instead. No part of the text is ever
passed to an engine.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import local
from typing import TYPE_CHECKING, Any

from hartley.agent.questions.known_trees import keep_tree, known_tree, shape_of, take_tree
from hartley.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot import Dialect, exp
    from sqlglot.tokenizer_core import Token

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

    def place(self, node: Any) -> tuple[int, int] | None:  # noqa: ANN401 - any part of a tree
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
        node: Any = None,  # noqa: ANN401 - any part of a tree
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
        yield _statement(text, tokens, tree)
    finally:
        if known is not None and shape is not None:
            keep_tree(shape, known)


def _statement(text: str, tokens: Sequence[Token], tree: exp.Select) -> Statement:
    statement = Statement(text, tokens, tree)
    _check_clauses(statement)
    return statement


def shorten(text: str, length: int = 60) -> str:
    """Return a piece of a text on one line, no longer than wanted.

    Example:
        >>> shorten("age   >=  40", 8)
        'age >= …'
    """
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


def _unreadable(text: str, tokens: Sequence[Token], error: Any) -> Refused:  # noqa: ANN401 - sqlglot's
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
    if group is not None and set(_set_args(group)) - {"expressions"}:
        raise statement.refusal(
            "Only a plain GROUP BY is answered",
            "list the columns, for example GROUP BY region",
            place=statement.word("GROUP"),
        )


def _set_args(node: Any) -> list[str]:  # noqa: ANN401 - any part of a tree
    return [name for name, value in node.args.items() if value]


def unexpected(node: Any, *allowed: str) -> bool:  # noqa: ANN401 - any part of a tree
    """Tell whether a part of the tree has more arguments than allowed."""
    return bool(set(_set_args(node)) - set(allowed))
