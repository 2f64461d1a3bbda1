"""Real files from a scan to a release: no identifier leaves, nobody stands among fewer than k."""

import collections
import csv
from pathlib import Path

import pytest

import hartley
from hartley import Roles

FOLDER = Path(__file__).parents[3].parent / "shared" / "data"

pytestmark = [
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason="real data are not committed; some stand in ../shared"
    ),
    pytest.mark.slow,
]
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


@pytest.mark.parametrize("name", IDENTIFYING)
def test_no_identifier_of_a_real_file_leaves(name, tmp_path):
    path = FOLDER / name
    report, draft = confirmed_draft(path, tmp_path)
    roles = Roles.read(draft)
    assert {*IDENTIFYING[name]} <= {*roles.named("identifier")}
    release = hartley.anonymize(path, k=5, suppress="0.1", roles=draft)
    out = release.write(tmp_path / "out.csv")
    with Path(out).open(newline="") as file:
        rows = list(csv.DictReader(file))
    hidden = {*roles.named("identifier", "weight", "household")}
    assert rows
    assert not hidden & rows[0].keys()
    assert rows[0].keys() <= {*roles.named("key", "confidential", "kept")}
    keys = roles.named("key")
    sizes = collections.Counter(tuple(row[key] for key in keys) for row in rows)
    assert min(sizes.values()) >= 5
    assert len(rows) >= 0.9 * report.rows


def test_times_of_trips_are_dates_and_what_marks_none_is_missing():
    path = FOLDER / "nyc_taxi" / "trips.csv.gz"
    if not path.exists():
        pytest.skip("the trips are not here")
    report = hartley.scan(path, largest=2)
    when = next(column for column in report.columns if column.name == "pickup_datetime")
    assert (when.what, when.role) == ("date", "key")
    assert when.markers == ("nodate",)
    assert when.levels == ("month", "quarter", "year")
