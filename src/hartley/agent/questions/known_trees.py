"""Trees of earlier questions, used again for a text that differs in its constants alone.

Parsing takes longest of all that is done to a text, and many texts ask the same with other
numbers. Which tree the parser makes of plain comparisons, sums and aggregates does not depend on
what a number or a quoted text says, so the constants of a known tree are replaced. Everything
else is parsed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp
    from sqlglot.tokenizer_core import Token, TokenType

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
