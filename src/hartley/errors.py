"""Every exception that Hartley raises on purpose.

::

    HartleyError
    ├── InputError            the user's mistake; the command line exits with 2
    │   ├── TableError        a table that cannot be read, is empty, or is no table
    │   ├── ColumnError       a column that is missing, doubled, or of the wrong kind
    │   ├── OptionError       a step, a base, a hypothesis or another argument that makes no sense
    │   └── CertificateError  a certificate that is none, or that does not hold for a policy
    ├── Refused               a question that the agent does not answer, and why; exits with 2 too
    │   ├── Stale             about data or a schema that somebody replaced meanwhile
    │   └── NotPermitted      by an account or a token that may not do this
    ├── Pending               an answer that is paid for and not there yet
    ├── UndefinedMeasure      a number that the theory does not define for this range
    └── EngineError           the engine or an optional package failed or is absent
        └── ReplyError        a reply that no service of this version gives

Every message is one sentence that names the culprit and ends with a hint. No message ever
carries a value taken from the data.
"""

from __future__ import annotations

import re


def printable(text: str) -> str:
    r"""Show control characters as escapes, so that no name or value can steer a terminal.

    Example:
        >>> print(printable("age" + chr(27)))
        age\x1b
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


_ADDRESS = re.compile(r"(?s)(?<![\w+.-])([\w+.-]{2,}:/(?:/|(?=.*@)))((?:.*@)?\S*)")
_QUERY = re.compile(r"(?<=\S)\?[^\s?=/]+=\S*?(?=['\").,;:]*(?:\s|$))")
_NO_SCHEME = re.compile(r"(?<!\S)(?:[^\s:]|:(?=//))*:(?!//)\S*@")
_PASSWORD = re.compile(
    r"(?i)\b((?:ssl)?password|passwd|pwd|\w+_token)\s*=\s*"
    r"""(?:'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|\\.|\S)+"""
)
_TABLE = re.compile(r"(?:::[^/\\@:?&=\[\]\s]+)?$")
_PLAIN = re.compile(
    r"(?:\$limit|application_name|connect_timeout|dbname|host|hostaddr|port|sslmode|sslrootcert"
    r"|target_session_attrs|user)=|(?i:options=-c(?:%20|\+)?search_path(?:%3D|=)[\w,]*$)"
)
"""Parameters of addresses that are no secrets."""


def without_password(text: str) -> str:
    """Return a text without the passwords, tokens and keys of the addresses in it.

    Whatever stands before the last @ may be one, but for the user of a database, and so
    may every parameter that is not known to be none, of an address or of the name of its file. What
    is left works where the password comes from the environment (PGPASSWORD, ~/.pgpass).

    Example:
        >>> without_password("postgresql://ann:a@b/c@host/people?password=d&sslmode=require::t")
        'postgresql://ann@host/people?sslmode=require::t'
        >>> without_password("s3://key:secret@bucket/people?token=1 or host=h password='a b'")
        's3://bucket/people or host=h password=...'
    """

    def masked(found: re.Match[str]) -> str:
        scheme, rest = found.groups()
        before, at, after = rest.rpartition("@")
        if re.search("[?;#]", before):  # of a password, or before a parameter with an @
            return f"{scheme}..."
        named = scheme in {"postgresql://", "postgres://"}
        user = re.split(r"[:/?#;&\s]", before, maxsplit=1)[0] if named else ""
        first = re.split(r"[?&;#](?=[^?&;#])", after, maxsplit=1)[0]
        who = f"{user}@" if at and user else ""
        return f"{scheme}{who}{first}{plain(after[len(first) :])}"

    def plain(query: str) -> str:
        table = "".join(_TABLE.findall(query))
        kept = "&".join(filter(_PLAIN.match, re.split("[?&;#]", query.removesuffix(table))))
        return f"?{kept}{table}" if kept else table

    text = _QUERY.sub(lambda found: plain(found[0]), _ADDRESS.sub(masked, text))
    return _PASSWORD.sub(r"\1=...", _NO_SCHEME.sub("...@", text))


LONGEST = 400
"""Characters of a problem or a hint: a name or a query that somebody typed can be of any length."""


LONGEST_PIECE = 120
"""Characters of what a message repeats: something in quotation marks, or a word."""
PIECE = re.compile(rf"'[^']*'|\S{{{LONGEST_PIECE + 1},}}")


def stated(text: str) -> str:
    """Return a problem or a hint as it is shown: printable, and nothing long repeated in full.

    Example:
        >>> len(stated("Column '" + "x" * 5000 + "' is unknown")) < 150
        True
    """
    pieces = PIECE.sub(
        lambda piece: shortened(piece[0], LONGEST_PIECE), printable(without_password(text))
    )
    return shortened(pieces)


def shortened(text: str, most: int = LONGEST) -> str:
    """Leave out the middle of a long text.

    Example:
        >>> shortened("Column 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is unknown", 30)
        "Column 'aaaa ... a' is unknown"
    """
    if len(text) <= most:
        return text
    end = most // 2 - 2
    return f"{text[: most - end - 5]} ... {text[-end:]}"


class HartleyError(Exception):
    """A problem, stated in one sentence, and a hint what to do about it.

    Example:
        >>> print(HartleyError("Column 'agee' is not in people.csv", hint="did you mean 'age'?"))
        Column 'agee' is not in people.csv; hint: did you mean 'age'?
    """

    def __init__(self, problem: str, *, hint: str) -> None:
        self.problem, self.hint = stated(problem), stated(hint)
        super().__init__(f"{self.problem}; hint: {self.hint}")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.problem, self.hint)


class InputError(HartleyError):
    """The user's mistake."""


class TableError(InputError):
    """A table that cannot be read, is empty, or is not a table."""


class ColumnError(InputError):
    """A column that is missing, doubled, or of the wrong kind."""


class OptionError(InputError):
    """An argument that makes no sense."""


class CertificateError(InputError):
    """A file that is not a certificate, or a certificate that does not hold for a policy."""


class Refused(HartleyError):  # noqa: N818 - reads as what it says: the question was refused
    """A question that the agent does not answer: by its text, the schema and the ledger alone."""

    def __init__(  # noqa: PLR0913 - what a caller may want to know, each by name
        self,
        problem: str,
        *,
        hint: str,
        text: str | None = None,
        place: tuple[int, int] | None = None,
        requested: float | None = None,
        remaining: float | None = None,
    ) -> None:
        super().__init__(problem, hint=hint)
        self.text, self.place = text, place
        """The question, and from where to where in it the culprit stands."""
        self.requested, self.remaining = requested, remaining
        """In bits, where a budget refuses."""

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_refusal, (type(self), self.problem, self.hint, dict(vars(self)))


class Stale(Refused):
    """A question or a change about data or a schema that somebody replaced meanwhile.

    Nothing was charged; what holds the dataset has to be opened again.
    """


class NotPermitted(Refused):
    """A question or an act that the account or its token may not do, whatever the budget is."""


class Pending(HartleyError):  # noqa: N818 - reads as what it says: the answer is pending
    """An answer that is paid for and that the engine could not give yet."""


class UndefinedMeasure(HartleyError):  # noqa: N818 - reads as what it says: the measure is undefined
    """A number that the theory does not define for this range."""


class EngineError(HartleyError):
    """The engine or an optional package failed or is absent."""


class ReplyError(EngineError):
    """A reply of a service that is cut off, or that no service of this version gives."""


def _rebuild(kind: type[HartleyError], problem: str, hint: str) -> HartleyError:
    """Rebuild an error that travelled between processes."""
    return kind(problem, hint=hint)


def _rebuild_refusal(
    kind: type[Refused], problem: str, hint: str, fields: dict[str, object]
) -> Refused:
    error = kind(problem, hint=hint)
    vars(error).update(fields)
    return error
