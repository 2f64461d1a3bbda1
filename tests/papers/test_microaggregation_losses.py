"""Information losses of microaggregation that were published or measured with other software."""

from pathlib import Path

import numpy as np
import pytest

from hartley.studies import mdav, mu_approx

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "sdc"
CENSUS, TARRAGONA = FOLDER / "CASCrefmicrodata.csv", FOLDER / "Tarragona.csv"
DATA_IS_HERE = pytest.mark.skipif(
    not (CENSUS.is_file() and TARRAGONA.is_file()),
    reason="the CASC data is not committed; it stands in ../shared",
)


@DATA_IS_HERE
@pytest.mark.parametrize(
    ("file", "rows", "k", "percent"),
    [
        (CENSUS, 1080, 3, 5.69),
        (CENSUS, 1080, 5, 9.09),
        (CENSUS, 1080, 10, 14.16),
        (TARRAGONA, 834, 3, 16.93),
        (TARRAGONA, 834, 5, 22.46),
        (TARRAGONA, 834, 10, 33.19),
    ],
)
def test_mdav_loses_what_was_published(file, rows, k, percent):
    averages = mdav(file, k)
    assert (averages.rows, len(averages.columns)) == (rows, 13)
    assert round(100 * averages.information_loss, 2) == percent


@DATA_IS_HERE
@pytest.mark.parametrize("file", [CENSUS, TARRAGONA])
@pytest.mark.parametrize("k", [3, 5, 10])
def test_mu_approx_loses_about_what_mdav_does(file, k):
    fixed, grown = mdav(file, k), mu_approx(file, k)
    assert grown.information_loss == pytest.approx(fixed.information_loss, rel=0.25)
    assert k <= grown.sizes.min() <= grown.sizes.max() < 2 * k


@pytest.mark.parametrize(
    ("rows", "standardise", "loss"),
    [
        (10_000, True, 0.02984),  # as sdcMicro gives, which standardises
        (10_000, False, 0.02959),
        (100_000, True, 0.00999),
        (100_000, False, 0.00999),
    ],
)
def test_mdav_loses_on_normal_numbers_what_other_software_does(rows, standardise, loss):
    numbers = np.random.default_rng(1).standard_normal((rows, 4)).round(6)
    table = {f"x{column}": numbers[:, column] for column in range(4)}
    averages = mdav(table, 5, standardise=standardise)
    assert round(averages.information_loss, 5) == loss
    assert set(averages.sizes.tolist()) == {5}
