"""Draws: a keystream that anybody can check, exact tables, the same whatever the chunks."""

import hashlib
import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hartley.kernels.draws import BITS, alias_tables, draw_rows, random_words

ZERO_KEY = np.zeros(8, np.uint32)
UNIT = 1 << BITS


def weights_of(shares):
    """Turn whole shares into weights that add up to 2^62."""
    total = sum(shares)
    weights = [UNIT * share // total for share in shares]
    weights[int(np.argmax(shares))] += UNIT - sum(weights)
    return weights


def test_the_words_are_the_keystream_of_chacha20():
    # The published stream of the all-zero key and nonce begins 76b8e0ad a0f13d90 405d6ae5 53 ...
    # Here each word's upper 12 bits are drawn, the tables being uniform over 4,096 values.
    uniform = np.full((1, 4096), UNIT // 4096)
    drawn = draw_rows(np.zeros(16, np.int32), ZERO_KEY, 0, *alias_tables(uniform))
    stream = bytes.fromhex(
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
    )
    words = np.frombuffer(stream, "<u8")
    assert drawn.tolist() == (words >> np.uint64(52)).tolist()
    assert random_words(ZERO_KEY, 0, 16).tolist() == words.tolist()
    assert random_words(ZERO_KEY, 5, 7).tolist() == words[5:12].tolist()
    assert random_words(ZERO_KEY, 3, 0).size == 0


@given(st.lists(st.lists(st.integers(0, 1000), min_size=5, max_size=5).filter(any), min_size=1))
def test_tables_give_every_value_its_weight_exactly(rows):
    weights = np.array([weights_of(row) for row in rows])
    thresholds, aliases = alias_tables(weights)
    capacity = UNIT // thresholds.shape[1]
    for row, wanted in enumerate(weights.tolist()):
        found = [0] * thresholds.shape[1]
        for cell, (threshold, alias) in enumerate(zip(thresholds[row], aliases[row], strict=True)):
            assert 0 <= threshold <= capacity
            found[cell] += int(threshold)
            found[alias] += capacity - int(threshold)
        assert found == [*wanted, 0, 0, 0]


@given(st.integers(1, 700), st.lists(st.integers(0, 700), max_size=6), st.integers(0, 10**12))
def test_chunks_change_nothing(rows, cuts, first):
    tables = alias_tables(np.array([weights_of([1, 2, 3]), weights_of([5, 0, 1])]))
    codes = (np.arange(rows) % 2).astype(np.int32)
    whole = draw_rows(codes, ZERO_KEY, first, *tables)
    ends = sorted({0, rows, *(cut for cut in cuts if cut < rows)})
    parts = [
        draw_rows(codes[low:high], ZERO_KEY, first + low, *tables)
        for low, high in itertools.pairwise(ends)
    ]
    assert np.concatenate(parts).tolist() == whole.tolist()


def test_threads_change_nothing():
    tables = alias_tables(np.array([weights_of(range(1, 12)), weights_of([1] * 11)]))
    codes = (np.arange(200_000) % 2).astype(np.int32)
    whole = draw_rows(codes, ZERO_KEY, 0, *tables)
    starts = range(0, codes.size, 10_007)
    with ThreadPoolExecutor(4) as pool:
        parts = pool.map(
            lambda low: draw_rows(codes[low : low + 10_007], ZERO_KEY, low, *tables), starts
        )
    assert np.concatenate(list(parts)).tolist() == whole.tolist()


@pytest.mark.parametrize("values", [1, 2, 3, 100])
def test_many_draws_have_the_frequencies_of_the_weights(values):
    # Chi-square beyond its mean by 6 standard deviations: below 1e-5 for a true generator, once
    # and for all, since the key is fixed.
    shares = np.arange(1, values + 1)
    key = np.frombuffer(hashlib.sha256(b"draws").digest(), "<u4").astype(np.uint32)
    tables = alias_tables(np.array([weights_of(shares.tolist())]))
    rows = 400_000
    found = np.bincount(draw_rows(np.zeros(rows, np.int32), key, 0, *tables), minlength=values)
    expected = rows * shares / shares.sum()
    square = float(((found - expected) ** 2 / expected).sum())
    assert square <= values - 1 + 6 * np.sqrt(2 * values)
