"""A file of people for several tests, and the module published_outputs that some import."""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def people(tmp_path):
    """A file of 5000 people with a job, a sex and an age."""
    random = np.random.default_rng(5)
    table = pa.table(
        {
            "job": random.choice(["care", "none", "trade"], 5000, p=[0.6, 0.3, 0.1]),
            "sex": random.choice(["F", "M"], 5000),
            "age": random.integers(18, 90, 5000),
        }
    )
    pq.write_table(table, tmp_path / "people.parquet")
    return tmp_path / "people.parquet"
