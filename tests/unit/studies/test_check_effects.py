"""The publications that one person can cause here and now, compared with doing it."""

import itertools
import random

import pytest

from hartley.studies.check.check import check

ROWS, COLUMNS = ["a", "b", "c"], ["w", "x", "y", "z"]
SCHEMA = {
    "table": {"name": "t"},
    "columns": {
        "r": {"kind": "private", "values": ROWS},
        "c": {"kind": "private", "values": COLUMNS},
    },
}


def nearest(value):
    return str((value + 2) // 5 * 5)


def marked(value):
    return "<5" if 0 < value < 5 else str(value)


def publish(records, write):
    """Return the text of the table with all its totals."""
    lines = ["r," + ",".join([*COLUMNS, "Total"])]
    for row in [*ROWS, "Total"]:
        inside = [c for r, c in records if row in {r, "Total"}]
        cells = [sum(column in {c, "Total"} for c in inside) for column in [*COLUMNS, "Total"]]
        lines.append(",".join([row, *map(write, cells)]))
    return "\n".join(lines) + "\n"


def by_doing_it(records, write, *, public=False):
    """Replace every record by every other, publish again, and count the different files."""
    counts = []
    for i, (row, _) in enumerate(records):
        files = {
            publish([*records[:i], other, *records[i + 1 :]], write)
            for other in itertools.product([row] if public else ROWS, COLUMNS)
        }
        counts.append(len(files))
    return min(counts), max(counts)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("write", "rounding"), [(nearest, "nearest 5"), (marked, None), (str, None)]
)
def test_counts_are_those_of_doing_it(tmp_path, seed, write, rounding):
    draw = random.Random(seed)  # noqa: S311 - a table to publish
    records = [(draw.choice(ROWS), draw.choice(COLUMNS)) for _ in range(40)]
    path = tmp_path / "t.csv"
    path.write_text(publish(records, write))
    data = {"r": [r for r, _ in records], "c": [c for _, c in records]}
    spec = {"outputs": [{"file": "t.csv", "dims": ["r", "c"]}]}
    for public in (False, True):
        kind = {"kind": "public" if public else "private"}
        columns = SCHEMA["columns"] | {"r": SCHEMA["columns"]["r"] | kind}
        report = check(
            path, spec=spec, schema=SCHEMA | {"columns": columns}, table=data, rounding=rounding
        )
        assert report.effects == (4 if public else 12)
        assert report.now.exact
        assert (report.now.fewest, report.now.most) == by_doing_it(records, write, public=public)
        assert "not a promise" in " ".join(report.sentences)
    if write is str:
        assert report.now.most == 4


def test_hidden_cells_are_held_fixed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("r,n\na,x\nb,x\nc,12\n")
    data = {"r": ["a"] * 3 + ["b"] * 4 + ["c"] * 12, "c": ["w"] * 19}
    report = check(path, schema=SCHEMA, table=data)
    assert (report.now.fewest, report.now.most, report.now.exact) == (2, 2, False)
    assert report.effects == 3
    assert report.to_dict()["here_and_now"]["promise"] is False


def test_too_many_records_are_left_out(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("r,n\na,3\nb,4\nc,12\n")
    data = {"r": ["a"] * 3 + ["b"] * 4 + ["c"] * 12}
    monkeypatch.setattr("hartley.studies.check.check_report.MOST_RECORDS", 2)
    assert check(path, schema=SCHEMA, table=data).now is None
