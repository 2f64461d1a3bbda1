"""A policy file with a column of every kind."""

import pytest

EXAMPLE = """\
format = 1
title = "Health survey"

[design]
objective = "bits"
bits = 12
weights = ["1", "2.5"]

[[columns]]
name = "height"
kind = "quantizer"
low = "100"
high = "250"
levels = 150

[[columns]]
name = "income"
kind = "cuts"
edges = ["0", "1e3", "1/3e4", "100000"]
values = ["500", "2000.5", "50000"]

[[columns]]
name = "job"
kind = "merging"
labels = ["health", "school"]
groups = [["nurse", "doctor"], ["teacher"]]
other = "rest"

[[columns]]
name = "weight"
kind = "stretch"
line = "30 * (height/100)**2"
reach = "5"
low = 30
high = 200.0

[[columns]]
name = "sex"
kind = "keep"
"""
EXAMPLE = EXAMPLE.replace("1/3e4", "10000/3")


@pytest.fixture(scope="session")
def example():
    """The text of the file."""
    return EXAMPLE
