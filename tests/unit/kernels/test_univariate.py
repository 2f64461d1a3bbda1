import numpy as np
import pytest
from hypothesis import given, strategies as st

from hartley.kernels.neighbours import univariate_groups


def partitions(items, k):
    """Return every way to divide items into sets of at least k, whether neighbours or not."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for mask in range(2 ** len(rest)):
        block = [first, *(item for i, item in enumerate(rest) if mask >> i & 1)]
        if len(block) >= k:
            others = [item for i, item in enumerate(rest) if not mask >> i & 1]
            yield from ([block, *more] for more in partitions(others, k))


def loss(blocks):
    return sum(((np.array(block) - np.mean(block)) ** 2).sum() for block in blocks)


@pytest.mark.slow
@given(st.data(), st.integers(2, 3))
def test_no_partition_at_all_loses_less(data, k):
    values = data.draw(st.lists(st.integers(-20, 20).map(float), min_size=k, max_size=8))
    labels = univariate_groups(np.array(values), k)
    blocks = [np.array(values)[labels == label] for label in range(labels.max() + 1)]
    assert k <= min(map(len, blocks)) <= max(map(len, blocks)) < 2 * k
    assert loss(blocks) == pytest.approx(min(map(loss, partitions(values, k))), abs=1e-9)


@pytest.mark.slow
def test_large_numbers_do_not_cancel():
    values = 1e9 + np.array([0.0, 0.25, 0.5, 100.0, 100.25, 100.5, 100.75])
    assert univariate_groups(values, 3).tolist() == [0, 0, 0, 1, 1, 1, 1]
