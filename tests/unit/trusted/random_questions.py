"""Random schemas, tables and questions, and an oracle that reads them.

The oracle builds its own tree of a question, writes it as SQL and evaluates it row by row in
three-valued logic; it shares nothing with the code that reads the SQL.
"""

# ruff: noqa: S608 - texts of questions, of random questions
# ruff: noqa: S311 - random cases, not secrets

import datetime as dt
import math
import operator
import random
from fractions import Fraction

from hartley import Column, Schema
from hartley.trusted.questions.batch import All, Either, Statistic, Test as Leaf
from hartley.trusted.questions.question import parse

EPOCH = dt.date(1970, 1, 1)
SIGNS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
SHARES = ["0", "0.1", "0.25", "1/3", "0.5", "0.9", "1"]

# --- random schemas, tables and questions -------------------------------------------------------


def numeric(random_, name):
    low = Fraction(random_.randint(-6, 6), random_.choice([1, 2]))
    step = random_.choice([Fraction(1), Fraction(1, 2), Fraction(3, 2), Fraction(2)])
    high = low + random_.randint(0, 6) * step
    null = random_.random() < 0.5
    return Column(name, role(random_), low=low, high=high, step=step, nullable=null)


def coded(name, points, kind="private", **more):
    """Return a numeric column whose values are its codes."""
    high = Fraction(points - 1)
    return Column(name, kind, low=Fraction(0), high=high, step=Fraction(1), **more)


def coded_schema(*columns, rows="public", most=None, unit=None, per=1):
    """Return the schema of such columns; ``most`` rows where their number is private."""
    named = {column.name: column for column in columns}
    return Schema("people", named, unit, per, rows, None if rows == "public" else most)


def role(random_):
    return random_.choice(["private", "open"])


def random_schema(random_):
    day = Fraction(random_.randint(-400, 400))
    columns = [
        numeric(random_, "a"),
        numeric(random_, "b"),
        Column("d", role(random_), low=day, high=day + 28, step=Fraction(7), date=True),
        Column(
            *("c", role(random_)),
            values=("x", "y", "it's"),
            other=random_.random() < 0.5,
            nullable=random_.random() < 0.5,
        ),
        Column("t", role(random_), values=(True, False), nullable=random_.random() < 0.5),
        Column("g", role(random_), values=(1, 2, 4)),
    ]
    rows = random_.choice(["public", "private"])
    return Schema("people", {c.name: c for c in columns}, rows=rows, max_rows=20)


def random_table(random_, schema):
    codes = [
        {
            name: None if column.nullable and random_.random() < 0.3 else pick(random_, column)
            for name, column in schema.columns.items()
        }
        for _ in range(random_.choice([0, 1, 1, 2, 2, 3, 8, 20]))
    ]
    return codes, [{n: meaning(schema.columns[n], k) for n, k in row.items()} for row in codes]


def pick(random_, column):
    return random_.choice([0, column.points - 1, random_.randrange(column.points)])


def meaning(column, code):
    if code is None:
        return None
    if column.values is None:
        return column.low + code * column.step
    return column.values[code] if code < len(column.values) else "undeclared"


# A predicate is (text, how tightly it binds, function of a row); 3 binds a comparison.


def decimal(number):
    return str(int(number)) if number.denominator == 1 else str(float(number))


def compare(sign, left, right):
    return None if left is None or right is None else SIGNS[sign](left, right)


def numeric_leaf(random_, schema):
    name = random_.choice("ab")
    column = schema.columns[name]
    factor = Fraction(random_.choice([1, 1, 2, -1, -3]), random_.choice([1, 1, 2]))
    add = Fraction(random_.randint(-3, 3))
    sign = random_.choice(list(SIGNS))
    bound = factor * meaning(column, random_.randrange(column.points)) + add
    if sign not in ("=", "<>"):
        bound += random_.choice([0, 0, Fraction(1, 4), -5, 40])
    text = f"{decimal(factor)} * {name} + {decimal(add)}" if factor != 1 or add else name
    turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    if random_.random() < 0.3:
        text = f"{decimal(bound)} {turned.get(sign, sign)} {text}"
    else:
        text = f"{text} {sign} {decimal(bound)}"
    return (
        *(text, 3),
        lambda row: compare(sign, None if row[name] is None else factor * row[name] + add, bound),
    )


def range_leaf(random_, schema):
    name = random_.choice("ab")
    low, high = (
        meaning(schema.columns[name], pick(random_, schema.columns[name])) + random_.choice([-1, 0])
        for _ in range(2)
    )
    word = random_.choice(["", "NOT "])
    return (
        f"{name} {word}BETWEEN {decimal(low)} AND {decimal(high)}",
        3,
        lambda row: None if row[name] is None else (low <= row[name] <= high) == (not word),
    )


def quoted(value):
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).upper() if isinstance(value, bool) else decimal(Fraction(value))


def list_leaf(random_, schema):
    name = random_.choice("abcg")
    column = schema.columns[name]
    points = [k for k in range(column.points) if meaning(column, k) != "undeclared"]
    values = [meaning(column, random_.choice(points)) for _ in range(random_.randint(1, 3))]
    word = random_.choice(["", "NOT "])
    text = f"{name} {word}IN ({', '.join(map(quoted, values))})"
    if len(values) == 1 and random_.random() < 0.5:
        text = f"{name} {'<>' if word else '='} {quoted(values[0])}"
    return (
        *(text, 3),
        lambda row: None if row[name] is None else (row[name] in values) == (not word),
    )


def truth_leaf(random_, schema):
    kind = random_.randrange(4)
    if kind == 0:
        return "t", 3, lambda row: row["t"]
    wanted = random_.random() < 0.5
    if kind == 1:
        return f"t = {quoted(wanted)}", 3, lambda row: compare("=", row["t"], wanted)
    word = random_.choice(["", "NOT "])
    if kind == 2:
        return (
            f"t IS {word}{quoted(wanted)}",
            3,
            lambda row: (row["t"] is wanted) == (not word),
        )
    name = random_.choice(list(schema.columns))
    return f"{name} IS {word}NULL", 3, lambda row: (row[name] is None) == (not word)


def ordered_leaf(random_, schema):
    sign = random_.choice(["<", "<=", ">", ">="])
    if random_.random() < 0.5:
        bound = random_.randint(0, 5)
        return f"g {sign} {bound}", 3, lambda row: compare(sign, row["g"], bound)
    day = schema.columns["d"].low + random_.randint(-3, 30)
    text = (EPOCH + dt.timedelta(days=int(day))).isoformat()
    word = random_.choice(["DATE ", ""])
    return f"d {sign} {word}'{text}'", 3, lambda row: compare(sign, row["d"], day)


LEAVES = [numeric_leaf, range_leaf, list_leaf, truth_leaf, ordered_leaf]


def conjunction(*truths):
    return False if False in truths else None if None in truths else True


def negated(truth):
    return None if truth is None else not truth


def random_predicate(random_, schema, depth):
    if depth == 0 or random_.random() < 0.3:
        return random_.choice(LEAVES)(random_, schema)
    kind = random_.choice(["AND", "OR", "NOT"])
    if kind == "NOT":
        text, _, holds = bracketed(random_predicate(random_, schema, depth - 1), 3, random_)
        return f"NOT {text}", 2, lambda row: negated(holds(row))
    binds = 1 if kind == "AND" else 0
    parts = [
        bracketed(random_predicate(random_, schema, depth - 1), binds, random_)
        for _ in range(random_.randint(2, 3))
    ]
    checks = [part[2] for part in parts]
    text = f" {kind} ".join(part[0] for part in parts)
    if kind == "AND":
        return text, 1, lambda row: conjunction(*(check(row) for check in checks))
    return text, 0, lambda row: negated(conjunction(*(negated(check(row)) for check in checks)))


def bracketed(part, binds, random_):
    text, tight, holds = part
    return (
        (text, tight, holds)
        if tight > binds and random_.random() < 0.8
        else (f"({text})", 3, holds)
    )


def random_form(random_):
    """Return the text of a number and its value in a row, None where a column is missing."""
    if random_.random() < 0.4:
        name = random_.choice("ab")
        return name, lambda row: row[name]
    first = Fraction(random_.choice([1, 2, -1, 3]), random_.choice([1, 1, 2]))
    second = Fraction(random_.choice([0, 0, 1, -2]))
    add = Fraction(random_.randint(-2, 2), random_.choice([1, 4]))

    def value(row):
        if row["a"] is None or (second and row["b"] is None):
            return None
        return first * row["a"] + (second * row["b"] if second else 0) + add

    more = f" + {decimal(second)} * b" if second else ""
    return f"{decimal(first)} * a{more} + {decimal(add)}", value


def random_aggregate(random_):
    """Return the text of an aggregate and what it makes of rows."""
    kind = random_.choice(["COUNT", "SUM", "AVG", "VAR", "VAR", "MIN", "MAX", "MEDIAN", "QUANTILE"])
    text, value = random_form(random_)
    if kind == "COUNT":
        name = random_.choice(["*", "a", "c", "t"])
        return f"COUNT({name})", lambda rows: Fraction(
            sum(name == "*" or row[name] is not None for row in rows)
        )
    if kind == "VAR":
        return random_spread(random_, text, value)
    share = random_.choice(SHARES)
    if kind == "QUANTILE":
        spelled = random_.choice(
            [
                f"QUANTILE({text}, {share})",
                f"PERCENTILE_DISC({share}) WITHIN GROUP (ORDER BY {text})",
            ]
        )
    else:
        spelled = f"{kind}({text})"
    share = {"MIN": Fraction(0), "MEDIAN": Fraction(1, 2), "MAX": Fraction(1)}.get(
        kind, Fraction(share)
    )

    def compute(rows):
        found = sorted(value(row) for row in rows if value(row) is not None)
        if kind == "SUM":
            return Fraction(sum(found))
        if not found:
            return None
        if kind == "AVG":
            return Fraction(sum(found)) / len(found)
        return found[max(math.ceil(share * len(found)), 1) - 1]

    return spelled, compute


def random_spread(random_, text, value):
    name = random_.choice(
        ["VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV_POP", "STDDEV_SAMP", "STDDEV"]
    )

    def compute(rows):
        found = [value(row) for row in rows if value(row) is not None]
        divisor = len(found) - (not name.endswith("POP"))
        if divisor <= 0:
            return None
        mean = Fraction(sum(found)) / len(found)
        variance = sum((x - mean) ** 2 for x in found) / divisor
        return Root(variance) if name.startswith("STD") else variance

    return f"{name}({text})", compute


class Root:
    """A root known by its square, compared exactly."""

    def __init__(self, square):
        self.square = square

    def __ge__(self, low):
        return low <= 0 or low**2 <= self.square

    def __le__(self, high):
        return high >= 0 and self.square <= high**2

    def __float__(self):
        return math.sqrt(self.square)


def random_grouping(random_):
    """Return the text of a grouping and the key of a row as the answer shows it."""
    kind = random_.randrange(6)
    if kind == 0:
        return None
    if kind in (1, 2):
        width = Fraction(random_.choice([1, 2, 3, 5]), random_.choice([1, 2]))

        def number(row):
            return None if row["a"] is None else math.floor(row["a"] / width)

        if kind == 1:
            return f"FLOOR(a / {decimal(width)})", number
        return (
            f"BIN(a, {decimal(width)})",
            lambda row: None if row["a"] is None else width * number(row),
        )
    name = ["b", "c", "t"][kind - 3]
    return name, lambda row: row[name]


# --- evaluating resolved questions on codes -----------------------------------------------------


def holds(condition, row):
    if isinstance(condition, Leaf):
        code = row[condition.column]
        if code is None:
            return condition.missing
        return any(low <= code <= high for low, high in condition.codes)
    found = [holds(part, row) for part in condition.parts]
    assert isinstance(condition, (All, Either))
    return all(found) if isinstance(condition, All) else any(found)


def total_of(question, codes):
    rows = [row for row in codes if holds(question.where, row)]
    if question.statistic is Statistic.COUNT:
        return len(rows)
    values = sorted(
        question.form.constant + sum(c * row[name] for name, c in question.form.terms)
        for row in rows
    )
    if question.statistic is Statistic.SUM:
        return sum(values)
    if question.statistic is Statistic.SQUARES:
        assert question.least < 0 or not values or values[0] >= 0
        return sum(value**2 for value in values)
    rank = max(math.ceil(question.quantile * len(values)), 1)
    return values[rank - 1] if values else None


def random_steps(random_, selection):
    steps = []
    for question in selection.questions:
        span = question.most - question.least
        fine = random_.random() < 0.4 or question.statistic is Statistic.COUNT
        step = Fraction(1) if fine else Fraction(random_.randint(1, 4 * span + 4), 3)
        steps.append(Fraction(span + 1) if random_.random() < 0.1 else max(step, Fraction(1, 3)))
    return steps


class Case:
    """One random question over one random table."""

    def __init__(self, seed):
        random_ = self.random = random.Random(seed)
        self.schema = random_schema(random_)
        self.codes, self.table = random_table(random_, self.schema)
        text, _, self.filter = random_predicate(random_, self.schema, random_.randint(0, 3))
        aggregates = [random_aggregate(random_) for _ in range(random_.randint(1, 3))]
        self.computes = [compute for _, compute in aggregates]
        parts = [f"{spelled} AS n{i}" for i, (spelled, _) in enumerate(aggregates)]
        self.spelled = [spelled for spelled, _ in aggregates]
        self.grouping = random_grouping(random_)
        self.filtered = random_.random() < 0.8
        where = f" WHERE {text}" if self.filtered else ""
        if self.grouping is None:
            self.text = f"SELECT {', '.join(parts)} FROM people{where}"
        else:
            by = self.grouping[0]
            self.text = f"SELECT {by}, {', '.join(parts)} FROM people{where} GROUP BY {by}"
        rows = len(self.table) if self.schema.rows == "public" else 20
        self.selection = parse(self.text, self.schema, rows)

    def truths(self):
        """Return for each group the true numbers, in the order of the answer."""
        kept = [row for row in self.table if not self.filtered or self.filter(row) is True]
        if self.grouping is None:
            return [[compute(kept) for compute in self.computes]]
        found, seen = [], 0
        for (key,) in self.selection.groups:
            value = "undeclared" if key.shown == "(other)" else key.value
            group = [row for row in kept if self.grouping[1](row) == value]
            seen += len(group)
            found.append([compute(group) for compute in self.computes])
        assert seen == len(kept), "every row belongs to one group"
        return found

    def totals(self):
        return [total_of(question, self.codes) for question in self.selection.questions]


def assert_contains(estimate, truth):
    if truth is None:
        assert estimate.may_be_null
    else:
        assert not estimate.is_null
        assert truth >= estimate.low
        assert truth <= estimate.high
