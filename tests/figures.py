"""What the tests of figures share: real data beside the synthetic, and findings that fail."""

from pathlib import Path

import pytest

REAL = Path(__file__).parents[2] / "shared" / "data"


def sources(*needed):
    """Return the synthetic data and, where they are here, the real ones, as parameters of a test.

    The data sets are not committed; some are in ../shared.
    """
    return {"params": ["synthetic", pytest.param(REAL, marks=here(*needed))]} | {
        "ids": ["synthetic", "real"]
    }


def here(*needed):
    """Skip a test where these folders of data are not beside the repository."""
    missing = not all((REAL / folder).is_dir() for folder in needed or ("",))
    return pytest.mark.skipif(missing, reason="the data are not committed; they are in ../shared")


def failed(figure, numbers):
    """Return the findings of a figure that do not hold."""
    return [str(claim) for claim in figure.findings(numbers) if not claim.holds]
