"""Real data, where they are at hand: the synthetic tables resemble them, and roles are found."""

import collections
import csv
from pathlib import Path

import numpy as np
import pytest

import hartley
from hartley import Roles, dataset

FOLDER = Path(__file__).parents[3].parent / "shared" / "data"

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="real data are not committed; some stand in ../shared"
)


def both(name, real=FOLDER, **options):
    read, made = dataset(name, real), dataset(name, **options)
    assert read.table.schema.equals(made.table.schema)
    return read, made


def medians_agree(read, made, columns, tolerance):
    """Compare medians, in units of the real deviation."""
    for name in columns:
        real, drawn = read.numbers(name), made.numbers(name)
        assert abs(np.nanmedian(real) - np.nanmedian(drawn)) < tolerance * np.nanstd(real), name


def deviations_agree(read, made, columns, factor):
    for name in columns:
        ratio = np.nanstd(made.numbers(name)) / np.nanstd(read.numbers(name))
        assert 1 / factor < ratio < factor, (name, ratio)


def ranks(values):
    return np.argsort(np.argsort(values, axis=0), axis=0).astype(float)


def correlations_agree(read, made, columns, tolerance):
    """Compare correlations of ranks."""
    found = [
        np.corrcoef(ranks(np.column_stack([one.complete(*columns).numbers(c) for c in columns])).T)
        for one in (read, made)
    ]
    assert np.abs(found[0] - found[1]).max() < tolerance


def missing(one):
    return np.array([one.table.column(name).null_count for name in one.columns]) / one.rows


def test_patients_resemble_the_hungarian_ones():
    read, made = both("hungarian", rows=3000)
    measured = ("age", "trestbps", "chol", "thalach")
    medians_agree(read, made, measured, 0.15)
    deviations_agree(read, made, measured, 1.15)
    correlations_agree(read, made, measured, 0.12)
    assert np.abs(missing(read) - missing(made)).max() < 0.03
    for name in ("sex", "cp", "fbs", "restecg", "exang", "num", "oldpeak"):
        assert abs(np.nanmean(read.numbers(name)) - np.nanmean(made.numbers(name))) < 0.1, name
    tens = [np.nanmean(one.numbers("trestbps") % 10 == 0) for one in (read, made)]
    assert abs(tens[0] - tens[1]) < 0.07
    ill = [np.corrcoef(one.numbers("num"), one.numbers("oldpeak"))[0, 1] for one in (read, made)]
    assert abs(ill[0] - ill[1]) < 0.12


def test_young_people_have_the_bodies_of_the_survey():
    read, made = both("young_people", rows=4000)
    body = ("Age", "Height", "Weight")
    medians_agree(read, made, body, 0.15)
    deviations_agree(read, made, body, 1.2)
    correlations_agree(read, made, body, 0.12)
    assert np.abs(missing(read) - missing(made)).max() < 0.02
    heavy = []
    for one in (read, made):
        index = one.numbers("Weight") / (one.numbers("Height") / 100) ** 2
        heavy.append(np.nanmean(index >= 30))
    assert 0.5 < heavy[1] / heavy[0] < 2
    for name in read.columns:
        if str(read.table.schema.field(name).type) == "string":
            words = [
                set(one.table.column(name).unique().drop_null().to_pylist()) for one in (read, made)
            ]
            assert words[0] == words[1], name


@pytest.mark.slow
def test_homes_have_the_mean_days_of_the_solar_homes():
    file = FOLDER / "smart_meter" / "ausgrid_mean_profiles_2012_2013.csv"
    read, made = both("solar_homes", file)
    real, drawn = read.readings()[:, 0], made.readings().mean(axis=1)
    assert real.shape == drawn.shape == (300, 48)
    assert np.abs(real.mean(axis=0) - drawn.mean(axis=0)).max() < 0.07  # kWh in half an hour
    totals = [np.quantile(one.sum(axis=1), (0.05, 0.25, 0.5, 0.75, 0.95)) for one in (real, drawn)]
    assert np.abs(totals[1] / totals[0] - 1).max() < 0.15
    apart = [np.median(np.corrcoef(one)[np.triu_indices(300, 1)]) for one in (real, drawn)]
    assert abs(apart[0] - apart[1]) < 0.15


@pytest.mark.parametrize("category", ["CL", "GG"])
def test_heaters_and_panels_have_the_mean_days_of_the_solar_homes(category):
    file = FOLDER / "smart_meter" / "ausgrid_mean_profiles_2012_2013.csv"
    read = dataset("solar_homes", file)
    made = dataset("solar_homes", days=100, categories=(category,))
    real, drawn = (one.readings(category).mean(axis=1) for one in (read, made))
    homes = [one.shape[0] for one in (real, drawn)]
    assert abs(homes[0] - homes[1]) < 30
    assert 0.6 < drawn.sum(axis=1).mean() / real.sum(axis=1).mean() < 1.5
    assert np.corrcoef(real.mean(axis=0), drawn.mean(axis=0))[0, 1] > 0.85


@pytest.mark.slow
def test_readings_wander_as_those_of_real_homes_do():
    """The nearest public homes with daily readings are of another trial: wide tolerances."""
    found = []
    for one in (dataset("solar_homes", FOLDER), dataset("solar_homes", homes=20)):
        values = one.readings()
        logs = np.log(values + 0.02)
        logs -= logs.mean(axis=1, keepdims=True)
        next_ = [np.corrcoef(home[:, 1:].ravel(), home[:, :-1].ravel())[0, 1] for home in logs]
        found.append((np.median(logs.std(axis=(1, 2))), np.median(next_)))
    assert np.abs(np.subtract(*found)).max() < 0.2


@pytest.mark.slow
def test_trips_are_as_long_and_as_gathered_as_real_ones():
    read, made = both("taxi", trips=128_000)
    places = read.columns[1:]
    medians_agree(read, made, places, 0.2)
    deviations_agree(read, made, places, 1.25)
    lengths, unique = [], []
    for one in (read, made):
        x, y, u, v = (one.numbers(name) for name in places)
        lengths.append(
            np.quantile(np.hypot((u - x) * 84.3, (v - y) * 111.2), (0.25, 0.5, 0.75, 0.95))
        )
        cells = np.floor(np.stack([(x + 75) * 114, (y - 40) * 149, (u + 75) * 114, (v - 40) * 149]))
        keys = (cells.T @ [1e9, 1e6, 1e3, 1]).astype(np.int64)
        unique.append((np.unique(keys, return_counts=True)[1] == 1).sum() / keys.size)
    assert np.abs(lengths[1] / lengths[0] - 1).max() < 0.15
    assert 0.6 < unique[1] / unique[0] < 1.7  # boxes of about 750 m


@pytest.mark.parametrize(("name", "apart"), [("census", 0.2), ("tarragona", 0.25)])
def test_the_reference_sets_are_resembled(name, apart):
    read, made = both(name, rows=4000)
    medians_agree(read, made, read.columns, 0.12)
    deviations_agree(read, made, read.columns, 1.45)
    correlations_agree(read, made, read.columns, apart)


IDENTIFYING = {
    "sdc/testdata.csv": (),
    "young_people/responses.csv": (),
    "adult/age_hours_income.csv": (),
    "smart_meter/ausgrid_mean_profiles_2012_2013.csv": ("Customer",),
}
"""The files, and the columns of them that number people."""


def confirmed_draft(path, folder):
    """Scan a file, and confirm the draft as it stands."""
    report = hartley.scan(path)
    draft = report.write_draft(folder / "roles.toml")
    with pytest.raises(hartley.OptionError, match="draft that nobody has confirmed"):
        hartley.anonymize(path, k=5, roles=draft)
    draft.write_text(draft.read_text().replace("confirmed = false", "confirmed = true"))
    return report, draft


@pytest.mark.slow
@pytest.mark.parametrize("name", IDENTIFYING)
def test_no_identifier_of_a_real_file_leaves(name, tmp_path):
    path = FOLDER / name
    report, draft = confirmed_draft(path, tmp_path)
    roles = Roles.read(draft)
    assert {*IDENTIFYING[name]} <= {*roles.named("identifier", "unit")}
    release = hartley.anonymize(path, k=5, suppress="0.1", roles=draft)
    out = release.write(tmp_path / "out.csv")
    with Path(out).open(newline="") as file:
        rows = list(csv.DictReader(file))
    hidden = {*roles.named("identifier", "unit", "weight", "household")}
    assert rows
    assert not hidden & rows[0].keys()
    assert rows[0].keys() <= {*roles.named("key", "confidential", "kept")}
    keys = roles.named("key")
    sizes = collections.Counter(tuple(row[key] for key in keys) for row in rows)
    assert min(sizes.values()) >= 5
    assert len(rows) >= 0.9 * report.rows


@pytest.mark.slow
def test_times_of_trips_are_dates_and_what_marks_none_is_missing():
    path = FOLDER / "nyc_taxi" / "trips.csv.gz"
    if not path.exists():
        pytest.skip("the trips are not here")
    report = hartley.scan(path, largest=2)
    when = next(column for column in report.columns if column.name == "pickup_datetime")
    assert (when.what, when.role) == ("date", "key")
    assert when.markers == ("nodate",)
    assert when.levels == ("month", "quarter", "year")
