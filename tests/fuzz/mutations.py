"""Change a valid document: its tokens, its lines, its bytes, how deep it is nested."""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib

NUMBERS = (
    "0", "-0", "1", "-1", "007", "0x10", "1_000", "1e400", "-1e400", "1e-400", "1e999999999",
    "1e-999999999", "nan", "inf", "-inf", "NaN", "Infinity", "1e308", "1.8e308", "5e-324",
    "9" * 400, "-" + "9" * 399, "9" * 5000, "0." + "0" * 500 + "1", "3.", ".5", "1e", "1/3", "1/0",
    "0/0", "9" * 5000 + "/7", "1/" + "7" * 5000, "7/" + "3" * 200_000, "٣", "½", "Ⅷ", "\uff11",
    "18446744073709551616", "-9223372036854775809", "9007199254740993", "0.1", "1e17", "1e5",
    "true", "null", '"5"', "2**9", "1e3/2", "+4", "--4", "4 4", "0b1", "1j", "10**10**10",
)  # fmt: skip
DATES = (
    "10000-01-01", "0000-00-00", "0001-01-01", "9999-12-31", "2023-02-30", "-0001-01-01",
    "1970-01-01", "1970-01-01T00:00:00Z", "1970-01-01T24:61:61", "12:00:00", "99999999-01-01",
    "DATE '10000-01-01'", "DATE '0000-00-00'", "DATE '0001-01-01' - 1", "2024-W01-1", "20240101",
)  # fmt: skip
TEXTS = (
    "", " ", "\t", "x" * 300, "x" * 5000, "Ω" * 300, "a\nb", "a\r\nb", "a\x00b", "\x1b[31m", "'",
    '"', "\\", "`", "\u202e", "\u2028", "\ufeff", "\ud800", "é", "e\u0301", "\u017f", "İ", "[/]",
    "[bold]", "%s%n", "{0}", "{{7*7}}", "../../etc", "-", "--", "=1+1", "@x", "*", "ROW", "rows",
    "NULL", "None", "__import__", "lambda: 0", "x" + " x" * 200, "age,sex", "a.b", "a b", "1",
    "true", "SELECT", "' OR 1=1 --", "; DROP TABLE t", "x-y", "class", "sum", "mean(height)",
    "\uff41\uff47\uff45",
)  # fmt: skip
VALUES = (
    "[]", "{}", "[[]]", '""', '"a"', "true", "false", "null", "[1]", "[1, 2, 3]", '["a", "a"]',
    "[1, 1]", "[2, 1]", "[0, 1e308]", "[-1e308, 1e308]", '{"a": 1}', "{a = 1}", "[nan, 1]",
    '["", ""]', "[1, inf]", "[0.1, 0.2, 0.30000000000000004]", "[1970-01-01, 9999-12-31]",
    '["F", "M", "F"]', "[0001-01-01, 10000-01-01]", '["0000-00-00", "9999-12-31"]', "1970-01-01",
    "'" + "x" * 999 + "'", "[" * 30 + "]" * 30, "[" * 100 + "]" * 100, "[" * 3000 + "]" * 3000,
    '{"a":' * 900 + "1" + "}" * 900, "[" + "1," * 3000 + "1]", '["a", 1]', "[true, false]",
    "[[1, 2], [3]]", '["1/3", "2/3"]',
)  # fmt: skip
DEPTHS = (1, 2, 30, 70, 200, 2000, 20_000)
BYTES = (
    b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"\x1a", b"\xf5",
)  # fmt: skip
TOKEN = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'|\d[\w./-]*|\w+|[^\w\s]')
NUMBER = re.compile(r"-?\d[\d./e-]*")
SETTING = re.compile(r"(?m)^([ \t]*[\w.\"-]+[ \t]*=[ \t]*|[ \t]*\"\w+\":[ \t]*)(.+?)(,?)$")


def mutate(document: str, luck) -> bytes:
    """Return a document with a few changes, as the bytes of a file."""
    if luck.random() < 0.5:
        rebuilt = rebuild(document, luck)
        if rebuilt is not None:
            return rebuilt.encode("utf-8", "surrogatepass")
    for _ in range(luck.choice((1, 1, 1, 1, 1, 2, 2, 3, 5))):
        document = luck.choice(CHANGES)(document, luck)
    data = document.encode("utf-8", "surrogatepass")
    return luck.choice(ENCODINGS)(data, luck) if luck.random() < 0.15 else data


# --- structure ----------------------------------------------------------------------------------


class Raw(str):
    """A value as it is to be written."""

    __slots__ = ()


def rebuild(document, luck) -> str | None:
    """Change what a TOML or JSON document says, so that it can still be parsed; None of others."""
    try:
        content, write = json.loads(document), json.dumps
        if not isinstance(content, dict):
            return None
    except ValueError:
        try:
            content, write = tomllib.loads(document), as_toml
        except ValueError:
            return None
        if not content:
            return None
    for _ in range(luck.choice((1, 1, 2, 3))):
        holder, key = luck.choice(_places(content) or [(content, next(iter(content)))])
        _change_place(holder, key, luck, toml=write is as_toml)
        if not content:
            break
    return write(content)


def _places(content):
    places, waiting = [], [content]
    while waiting:
        holder = waiting.pop()
        keys = holder if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            places.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])
    return places


def _change_place(holder, key, luck, *, toml):
    value = holder[key]
    written = {
        "number": lambda: luck.choice((-1, 0, 1, 2, 3, 1.5, -0.25, 10**17, 1e300, 2**63, 10**50)),
        "text": lambda: luck.choice(TEXTS + NUMBERS + DATES),
        "raw": lambda: Raw(luck.choice(NUMBERS[:30])) if toml else 1e17,
        "type": lambda: luck.choice((True, [], {}, "", [value], {"a": value}, [value, value])),
        "near": lambda: _near(value, luck),
    }
    change = luck.choice((*written, "near", "near", "number", "remove", "name", "double"))
    if change == "remove":
        del holder[key]
    elif change == "name" and isinstance(holder, dict):
        holder[luck.choice(TEXTS)] = holder.pop(key)
    elif change == "double" and isinstance(holder, list):
        holder.append(value)
    else:
        holder[key] = written.get(change, written["near"])()


def _near(value, luck):
    """Return something of the same type, or what can be written the same way."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return luck.choice((-value, value + 1, value * 10, value / 3, value - 0.5, 0))
    if isinstance(value, str) and re.fullmatch(r"[\d./-]+", value):
        return luck.choice(
            (f"-{value}", f"{value}0", "0", "1/3", "1e9", "1e-9", "1e399", value[:1])
        )
    if isinstance(value, list):
        return luck.choice((value[::-1], value[:1], value + value, value[1:]))
    return luck.choice(
        ("private", "keep", "merging", "quantizer", "stretch", "age", "mean(age)", "x")
    )


def as_toml(content: dict) -> str:
    """Write every table inline: what is meant is tested, not how it is laid out."""
    return "".join(f"{json.dumps(key)} = {_inline(value)}\n" for key, value in content.items())


def _inline(value) -> str:
    if isinstance(value, Raw):
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return str(value) if isinstance(value, dt.date) else json.dumps(value)


# --- text ---------------------------------------------------------------------------------------


def _other_number(text, luck):
    return _replaced(text, NUMBER, lambda _: luck.choice(NUMBERS + DATES), luck)


def _other_text(text, luck):
    def change(match):
        token, new = match[0], luck.choice(TEXTS)
        quote = token[0] if token[0] in "\"'" else ""
        return f"{quote}{json.dumps(new)[1:-1] if luck.random() < 0.5 else new}{quote}"

    return _replaced(text, TOKEN, change, luck)


def _other_value(text, luck):
    new = luck.choice((VALUES, NUMBERS, DATES))
    return _replaced(text, SETTING, lambda m: m[1] + luck.choice(new) + m[3], luck)


def _other_token(text, luck):
    tokens = TOKEN.findall(text) or [""]
    return _replaced(text, TOKEN, lambda _: luck.choice(tokens), luck)


def _nested(text, luck):
    depth, pair = luck.choice(DEPTHS), luck.choice(("()", "[]", "{}", "- ", "NOT \x01", "abs()"))
    opening, closing = pair[:-1] if len(pair) > 2 else pair[0], pair[-1].strip("\x01 ")
    opening = opening if pair != "NOT \x01" else "NOT "
    return _replaced(text, TOKEN, lambda m: opening * depth + m[0] + closing * depth, luck)


def _repeated(text, luck):
    times = luck.choice((2, 20, 200, 3000))
    joint = luck.choice(("", " ", ",", "+", "*", "**", " AND ", " or ", ".", "/", "\n"))
    return _replaced(text, TOKEN, lambda m: joint.join([m[0]] * times), luck)


def _lines(text, luck):
    lines = text.split("\n")
    at, other = luck.randrange(len(lines)), luck.randrange(len(lines))
    change = luck.choice(("remove", "double", "swap", "join"))
    if change == "remove":
        del lines[at]
    elif change == "double":
        lines.insert(other, lines[at])
    elif change == "swap":
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines[at : at + 2] = ["".join(lines[at : at + 2])]
    return "\n".join(lines)


def _cut(text, luck):
    begin = luck.randrange(len(text) + 1)
    end = min(len(text), begin + luck.choice((1, 1, 3, 20, len(text))))
    return text[:begin] + text[end:]


def _inserted(text, luck):
    at = luck.randrange(len(text) + 1)
    return text[:at] + luck.choice(TEXTS + tuple("()[]{}'\"=,:;#.+-*/<>!~^&|%$@\\")) + text[at:]


def _replaced(text, pattern, change, luck):
    matches = list(pattern.finditer(text))
    if not matches:
        return text
    match = luck.choice(matches)
    return text[: match.start()] + change(match) + text[match.end() :]


CHANGES = (
    *(_other_number, _other_text, _other_value, _other_token, _nested, _repeated, _lines, _cut),
    *(_other_number, _other_text, _other_value, _inserted),
)


# --- bytes --------------------------------------------------------------------------------------


def _flipped(data, luck):
    at = luck.randrange(len(data) or 1)
    return data[:at] + bytes([luck.randrange(256)]) + data[at + 1 :]


def _stray(data, luck):
    at = luck.randrange(len(data) + 1)
    return data[:at] + luck.choice(BYTES) + data[at:]


ENCODINGS = (
    *(_flipped, _flipped, _stray, _stray),
    lambda data, _: b"\xef\xbb\xbf" + data,
    lambda data, _: data.replace(b"\n", b"\r\n"),
    lambda data, _: data.replace(b"\n", b"\r"),
    lambda data, _: data.decode("utf-8", "replace").encode("utf-16"),
    lambda data, _: data.replace(b"e", "é".encode("latin-1")),
    lambda data, luck: data[: luck.randrange(len(data) + 1)],
    lambda data, _: data * 200,
    lambda _data, _: b"",
)
