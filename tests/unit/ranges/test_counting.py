"""Listed pairs, tallies of large tables and their summaries agree with counting by hand."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from dataclasses import fields
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from hartley import open_table
from hartley.errors import EngineError
from hartley.kernels.pairs import PairCounter, PairTally
from hartley.ranges import counting as summary
from hartley.ranges.counting import Pairs, Summary, tally_pairs
from hartley.tables import counts as counting
from hartley.tables.view import prepare


@st.composite
def codes(draw):
    """Draw rows of codes in which every code occurs, as listed pairs need."""
    drawn = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=60))
    secret, released = (np.array(side) for side in zip(*drawn, strict=True))
    secret, released = (np.unique(side, return_inverse=True)[1] for side in (secret, released))
    return secret, released, (int(secret.max()) + 1, int(released.max()) + 1)


def gathered(drawn) -> Pairs:
    secret, released, sizes = drawn
    return Pairs.gather(secret, released, np.ones(secret.size, np.int64), sizes)


def counted(drawn) -> Counter[tuple[int, int]]:
    return Counter(zip(drawn[0].tolist(), drawn[1].tolist(), strict=True))


@given(codes())
def test_gathered_pairs_are_distinct_ordered_and_counted(drawn):
    pairs = gathered(drawn)
    found = list(zip(pairs.released.tolist(), pairs.secret.tolist(), strict=True))
    assert found == sorted((y, x) for x, y in counted(drawn))
    assert pairs.counts.tolist() == [counted(drawn)[x, y] for y, x in found]


@pytest.mark.slow
@given(codes())
def test_gathering_again_changes_nothing_and_counts_add_up(drawn):
    once = gathered(drawn)
    twice = Pairs.gather(
        *(np.concatenate([side, side]) for side in (once.secret, once.released, once.counts)),
        once.sizes,
    )
    assert (twice.secret == once.secret).all()
    assert (twice.released == once.released).all()
    assert (twice.counts == 2 * once.counts).all()


@given(codes())
def test_the_secrets_of_a_released_code_are_its_conditional_range(drawn):
    pairs = gathered(drawn)
    for released in range(pairs.sizes[1]):
        expected = sorted(x for x, y in counted(drawn) if y == released)
        assert pairs.secrets_of(released).tolist() == expected


@pytest.mark.slow
@given(codes(), st.data())
def test_distinct_images_count_what_is_left_of_an_attribute(drawn, data):
    pairs = gathered(drawn)
    image = data.draw(st.lists(st.integers(0, 3), min_size=pairs.sizes[0], max_size=pairs.sizes[0]))
    left = pairs.distinct_images(np.array(image)).tolist()
    for released in range(pairs.sizes[1]):
        assert left[released] == len({image[x] for x, y in counted(drawn) if y == released})


@given(codes())
def test_labels_are_the_same_by_scipy_by_the_kernel_and_by_networkx(drawn):
    by_scipy = gathered(drawn).labels()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary, "SCIPY_UP_TO", 0)
        by_kernel = gathered(drawn).labels()
    np.testing.assert_array_equal(by_scipy, by_kernel)
    graph = nx.Graph([(x, ("y", y)) for x, y in counted(drawn)])
    components = [
        {node for node in found if not isinstance(node, tuple)}
        for found in nx.connected_components(graph)
    ]
    components.sort(key=min)
    assert by_scipy.tolist() == [
        next(i for i, members in enumerate(components) if x in members) for x in range(drawn[2][0])
    ]


@given(codes())
def test_the_summary_is_what_counting_by_hand_gives(drawn):
    found, by_hand = Summary.of_pairs(gathered(drawn)), counted(drawn)
    beside, back = defaultdict(set), defaultdict(set)
    for x, y in by_hand:
        beside[y].add(x)
        back[x].add(y)
    secret_rows = Counter(drawn[0].tolist())
    assert (found.rows, found.pairs) == (drawn[0].size, len(by_hand))
    assert (found.secrets, found.released) == drawn[2]
    assert found.secret_rows.tolist() == [secret_rows[x] for x in range(found.secrets)]
    assert found.secret_sizes.tolist() == [len(beside[y]) for y in range(found.released)]
    assert found.released_sizes.tolist() == [len(back[x]) for x in range(found.secrets)]
    assert found.classes == len(set(found.secret_labels.tolist()))
    assert found.row_bits == pytest.approx(sum(n * math.log2(n) for n in by_hand.values()))
    peaks = [max(by_hand[x, y] / secret_rows[x] for x in left) for y, left in beside.items()]
    assert found.peak_share == pytest.approx(sum(peaks))
    for x, y in by_hand:
        assert found.secret_labels[x] == found.released_labels[y]


@pytest.mark.slow
@given(codes(), st.integers(0, 5), st.integers(0, 5))
def test_a_tally_with_codes_that_never_occur_has_the_same_summary(drawn, gap, offset):
    secret, released, sizes = drawn
    spread = secret * (gap + 1) + offset, released * (gap + 1) + offset
    widths = [int(side.max()) + 3 for side in spread]
    tally = PairTally(secrets=widths[0], released=widths[1])
    tally.add((spread[1] << tally.secret_bits) | spread[0])
    found, secrets, shown = Summary.of_tally(tally.finish())
    assert secrets.tolist() == (np.arange(sizes[0]) * (gap + 1) + offset).tolist()
    assert shown.tolist() == (np.arange(sizes[1]) * (gap + 1) + offset).tolist()
    listed = Summary.of_pairs(gathered(drawn))
    for field in fields(Summary):
        np.testing.assert_allclose(
            getattr(found, field.name), getattr(listed, field.name), rtol=1e-12
        )


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_records_are_summarised_as_though_they_were_listed(counts):
    found = Summary.of_records(np.array(counts))
    released = np.repeat(np.arange(len(counts)), counts)
    pairs = gathered((np.arange(released.size), released, (released.size, len(counts))))
    listed = Summary.of_pairs(pairs)
    for field in fields(Summary):
        np.testing.assert_allclose(
            getattr(found, field.name), getattr(listed, field.name), rtol=1e-12
        )


def test_counts_beyond_32_bits_add_up_exactly():
    one = np.array([0])
    pairs = Pairs.gather(one, one, np.array([2**62 - 1]), (1, 1))
    assert Summary.of_pairs(pairs).rows == 2**62 - 1


# --- large tables: two ways that agree and leave nothing behind -----------------------------------


@pytest.fixture
def view():
    random = np.random.default_rng(11)
    columns = {
        "text": random.choice(["x", "y", "z"], 500).tolist(),
        "number": random.integers(-5, 5, 500).tolist(),
        "real": random.choice([0.5, -0.0, 0.0, 2.5], 500).tolist(),
    }
    return prepare(open_table(columns), ["text", "number", "real"])


def settings_of(view):
    (limit,) = view.table.backend.con.execute("SELECT current_setting('memory_limit')").fetchone()
    return limit, sorted(view.table.backend.list_tables())


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 1])
def test_tables_and_settings_of_the_engine_are_left_as_they_were(view, limit):
    before = settings_of(view)
    tally = tally_pairs(view, [0], [1, 2], memory_limit=limit)
    assert tally.spilled == (limit is not None)
    assert settings_of(view) == before


@pytest.mark.parametrize("limit", [None, 1])
def test_tables_and_settings_are_put_back_after_a_failure(view, limit, monkeypatch):
    before = settings_of(view)

    def fail(*_: object) -> None:
        raise RuntimeError("SECRET-7741")

    monkeypatch.setattr(counting, "_stream", fail)
    with pytest.raises(EngineError, match=r"^[^7]*; hint: "):
        tally_pairs(view, [0], [1, 2], memory_limit=limit)
    assert settings_of(view) == before


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_progress_rises_to_one_however_the_rows_are_cut(view, limit, batch, monkeypatch):
    monkeypatch.setattr(counting, "BATCH", batch)
    told: list[float] = []
    tally_pairs(view, [0], [1], memory_limit=limit, progress=told.append)
    assert told == sorted(told)
    assert 0 < told[0] <= told[-1] == 1.0


def test_both_ways_of_counting_agree(view):
    kernel = tally_pairs(view, [0, 2], [1]).tally
    engine = tally_pairs(view, [0, 2], [1], memory_limit=1).tally
    for name in ("secret_rows", "released_rows", "secrets_seen", "released_seen", "labels"):
        np.testing.assert_array_equal(getattr(kernel, name), getattr(engine, name))
    assert kernel.row_bits == pytest.approx(engine.row_bits, rel=1e-12)
    assert kernel.peak_share == pytest.approx(engine.peak_share, rel=1e-12)


def test_integers_spread_too_wide_are_numbered_by_the_engine(monkeypatch):
    view = prepare(open_table({"a": [0, 10**9, 5, 5], "b": [1, 2, 3, 4]}), ["a", "b"])
    tally = tally_pairs(view, [0], [1])
    assert (tally.secret.low, tally.secret.width) == (None, 3)
    assert (tally.released.low, tally.released.width) == (1, 4)
    monkeypatch.setattr(counting, "WIDEST_CODE", 3)
    assert tally_pairs(view, [0], [1]).released.low is None


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("scale", [1, 10**6, 10**8, 10**9])
def test_what_is_likely_is_exact_in_tables_of_any_size(seed, scale):
    draw = random.Random(seed)  # noqa: S311 - random cases, not secrets
    sizes = draw.randint(1, 4), draw.randint(1, 4)
    cells = {(x, x % sizes[1]) for x in range(sizes[0])} | {
        (y % sizes[0], y) for y in range(sizes[1])
    }
    cells |= {(draw.randrange(sizes[0]), draw.randrange(sizes[1])) for _ in range(6)}
    # Counts that differ by little: shares whose products differ in the last digits alone.
    counts = {cell: scale * draw.randint(1, 3) + draw.choice([0, 0, 1]) for cell in cells}
    secret, released = np.array(list(counts)).T
    pairs = Pairs.gather(secret, released, np.array(list(counts.values())), sizes)
    counter = PairCounter(secrets=sizes[0], released=sizes[1])
    counter.add(pairs.secret, pairs.released, pairs.counts)
    order = np.random.default_rng(seed).permutation(pairs.secret.size)
    counter.add_shares(pairs.secret[order], pairs.released[order], pairs.counts[order])
    total = sum(counts.values())
    held = [sum(n for (x, _), n in counts.items() if x == one) for one in range(sizes[0])]
    for found in (Summary.of_pairs(pairs), Summary.of_tally(counter.finish())[0]):
        assert found.likely.dtype == (object if total >= 2**31 else np.int64)
        for y in range(sizes[1]):
            here = {x: n for (x, at), n in counts.items() if at == y}
            size = sum(here.values())
            raised = max((Fraction(n, held[x]), n, held[x]) for x, n in here.items())
            above = [x for x, n in here.items() if Fraction(n, size) > Fraction(held[x], total)]
            assert found.likely[:, y].tolist() == [
                *max((n, held[x]) for x, n in here.items()),
                *raised[1:],
                sum(here[x] for x in above),
                sum(held[x] for x in above),
            ]
