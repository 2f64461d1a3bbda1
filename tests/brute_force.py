"""What tests of policies try: every set partition, and problems of a solver drawn at random."""

import numpy as np


def set_partitions(items):
    """Yield all set partitions, each as a list of lists.

    >>> sum(1 for _ in set_partitions(range(5)))
    52
    """
    items = list(items)
    if not items:
        yield []
        return
    for smaller in set_partitions(items[1:]):
        yield [[items[0]], *smaller]
        for k, cell in enumerate(smaller):
            yield [*smaller[:k], [items[0], *cell], *smaller[k + 1 :]]


def random_problem(seed, largest):
    """Return a joint distribution, a distortion and the generator, for what else is drawn."""
    rng = np.random.default_rng(seed)
    secrets, keys, released = rng.integers(2, largest + 1, 3)
    joint = rng.random((secrets, keys)) ** rng.choice([1, 3])
    if rng.random() < 0.3:
        joint *= rng.random((secrets, keys)) < 0.6
    joint[:, joint.sum(axis=0) == 0] += 0.1
    joint[joint.sum(axis=1) == 0] += 0.1
    joint /= joint.sum()
    return joint, rng.random((keys, released)), rng
