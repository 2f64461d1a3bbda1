"""A small joint distribution, and a table to count one from."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def joint():
    """Two confidential values by three key values."""
    return np.array([[0.30, 0.10, 0.05], [0.10, 0.15, 0.30]])


@pytest.fixture(scope="session")
def table():
    """Eight people; one age is missing."""
    return {
        "age": [30, 30, 40, 40, 50, 50, 50, None],
        "sex": ["F", "M", "F", "M", "F", "F", "M", "M"],
        "sick": ["yes", "no", "no", "no", "yes", "no", "yes", "no"],
        "ward": [1, 1, 1, 2, 2, 2, 1, 1],
    }
