"""Brute-force oracles: plain sets, dicts, fractions and enumeration, written from the papers.

A joint range is any collection of pairs (secret, released). Nothing here imports the package.
"""

import math
from collections import defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import chain, combinations, product

# --- ranges -----------------------------------------------------------------------------------


def swap(pairs):
    return [(released, secret) for secret, released in pairs]


def secret_range(pairs):
    return {secret for secret, _ in pairs}


def released_range(pairs):
    return {released for _, released in pairs}


def conditional_ranges(pairs):
    """Map every released value y to the set [X|y].

    >>> conditional_ranges([(1, "a"), (2, "a"), (2, "b")]) == {"a": {1, 2}, "b": {2}}
    True
    """
    found = defaultdict(set)
    for secret, released in pairs:
        found[released].add(secret)
    return dict(found)


def sizes(pairs):
    """Return the number of secrets and the size of every conditional range."""
    return len(secret_range(pairs)), [len(xs) for xs in conditional_ranges(pairs).values()]


def compose(first, second):
    """Return the joint range of X and Z for a chain X - Y - Z of two joint ranges."""
    after = conditional_ranges(swap(second))
    return sorted({(x, z) for x, y in first for z in after[y]}, key=repr)


def unrelated_product(*ranges):
    """Return the joint range of (X1, X2, ..) and (Y1, Y2, ..) for unrelated pairs (Xi, Yi)."""
    return [tuple(zip(*chosen, strict=True)) for chosen in product(*ranges)]


# --- logarithms -------------------------------------------------------------------------------


def log2(ratio):
    ratio = Fraction(ratio)
    if ratio == 0:
        return -math.inf
    return math.log2(ratio.numerator) - math.log2(ratio.denominator)


def decimal_log2(ratio):
    """Return the base-2 logarithm of a positive fraction to fifty digits."""
    with localcontext() as context:
        context.prec = 50
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln() / Decimal(2).ln()


# --- partitions -------------------------------------------------------------------------------


def merge_overlapping(sets):
    """Join sets that share a member, again and again, until no two do.

    >>> sorted(map(sorted, merge_overlapping([{1, 2}, {3}, {2, 4}])))
    [[1, 2, 4], [3]]
    """
    blocks = [set(block) for block in sets]
    while True:
        meeting = next(((a, b) for a, b in combinations(blocks, 2) if a & b), None)
        if meeting is None:
            return {frozenset(block) for block in blocks}
        a, b = meeting
        blocks = [block for block in blocks if block is not a and block is not b] + [a | b]


def overlap_classes(pairs):
    """Return the overlap partition of the secrets."""
    return merge_overlapping(conditional_ranges(pairs).values())


def set_partitions(items):
    """Yield every partition of a list into non-empty blocks.

    >>> len(list(set_partitions([1, 2, 3, 4])))
    15
    """
    if not items:
        yield []
        return
    head, *tail = items
    for blocks in set_partitions(tail):
        yield [[head], *blocks]
        for i, block in enumerate(blocks):
            yield [*blocks[:i], [head, *block], *blocks[i + 1 :]]


def attributes(pairs):
    """Yield every attribute of the secret, up to the names of its values, as a dict."""
    for blocks in set_partitions(sorted(secret_range(pairs), key=repr)):
        yield {x: number for number, block in enumerate(blocks) for x in block}


def guessing_ratio(pairs, attribute):
    """Return |[U]| / min |[U|y]| for the attribute U of the secret."""
    left = [len({attribute[x] for x in xs}) for xs in conditional_ranges(pairs).values()]
    return Fraction(len(set(attribute.values())), min(left))


def most_within(secrets, budget):
    """Return the largest |X| - m + 1 over all m with |X|/m <= 2^budget, by trying every m.

    >>> most_within(8, 2.0)
    7
    """
    with localcontext() as context:
        context.prec = 60
        fewest = secrets * (-Decimal(budget) * Decimal(2).ln()).exp() - Decimal("1e-40")
        return max(secrets - m + 1 for m in range(1, secrets + 1) if m >= fewest)


def sub_alphabets(pairs):
    """Yield the joint range of every non-empty set of secrets that the sender may use."""
    secrets = sorted(secret_range(pairs), key=repr)
    chosen = chain.from_iterable(combinations(secrets, n) for n in range(1, len(secrets) + 1))
    for kept in map(set, chosen):
        yield [(x, y) for x, y in pairs if x in kept]


def symmetric_ratio(pairs):
    """Return the ratio whose logarithm is the symmetrised leakage."""
    secrets, left = sizes(pairs)
    released, right = sizes(swap(pairs))
    return min(Fraction(secrets, min(left)), Fraction(released, min(right)))


# --- zero-error communication -----------------------------------------------------------------


def confusable(pairs):
    """Map every secret to the other secrets that share a released value with it."""
    found = {x: set() for x in secret_range(pairs)}
    for xs in conditional_ranges(pairs).values():
        for x in xs:
            found[x] |= xs - {x}
    return found


def strong_square(graph):
    """Return the strong product of a graph with itself."""
    return {
        (a, b): set(product(graph[a] | {a}, graph[b] | {b})) - {(a, b)}
        for a, b in product(graph, graph)
    }


def independence_number(graph):
    """Return the size of the largest set of vertices without an edge, by branching.

    >>> independence_number({x: {(x + 1) % 5, (x - 1) % 5} for x in range(5)})
    2
    """
    if not graph:
        return 0
    vertex = min(graph, key=lambda v: (len(graph[v]), repr(v)))

    def without(gone):
        return {v: near - gone for v, near in graph.items() if v not in gone}

    taken = 1 + independence_number(without(graph[vertex] | {vertex}))
    if len(graph[vertex]) <= 1:
        return taken
    return max(taken, independence_number(without({vertex})))


def packing_number(pairs):
    """Return max sum w_x with sum over [X|y] of w_x <= 1, by the simplex method in fractions.

    The optimum is proved before it is returned: a feasible packing and a feasible cover of the
    same weight.

    >>> packing_number([(x, y % 5) for x in range(5) for y in (x, x + 1)])
    Fraction(5, 2)
    """
    secrets = sorted(secret_range(pairs), key=repr)
    ranges = list(conditional_ranges(pairs).values())
    packing, cover = _simplex([[int(x in xs) for x in secrets] for xs in ranges])
    weight = dict(zip(secrets, packing, strict=True))
    assert min(*packing, *cover, 0) == 0
    assert all(sum(weight[x] for x in xs) <= 1 for xs in ranges)
    assert all(sum(v for v, xs in zip(cover, ranges, strict=True) if x in xs) >= 1 for x in secrets)
    assert sum(packing) == sum(cover)
    return sum(packing)


def _simplex(matrix):
    """Maximise sum w with matrix w <= 1 and w >= 0; return w and the dual, by Bland's rule."""
    height, width = len(matrix), len(matrix[0])
    rows = [
        [Fraction(n) for n in (*row, *(int(i == j) for j in range(height)), 1)]
        for i, row in enumerate(matrix)
    ]
    goal = [Fraction(-1)] * width + [Fraction(0)] * (height + 1)
    basis = list(range(width, width + height))
    while (entering := next((j for j in range(width + height) if goal[j] < 0), None)) is not None:
        _, _, pivot = min(
            (row[-1] / row[entering], basis[i], i)
            for i, row in enumerate(rows)
            if row[entering] > 0
        )
        basis[pivot] = entering
        rows[pivot] = [value / rows[pivot][entering] for value in rows[pivot]]
        for row in (*rows[:pivot], *rows[pivot + 1 :], goal):
            factor = row[entering]
            row[:] = [a - factor * b for a, b in zip(row, rows[pivot], strict=True)]
    solution = dict(zip(basis, (row[-1] for row in rows), strict=True))
    return [solution.get(j, Fraction(0)) for j in range(width)], goal[width:-1]
