"""A ledger as format 1 wrote it: one dataset, rows without dataset, account and state."""

from __future__ import annotations

import json

from hartley.trusted.ledger.rows import digest

FIELDS = "sequence, time, analyst, kind, content, cells, schema, rules, previous, hash"
TABLES = (
    """CREATE TABLE hartley_head (one INTEGER PRIMARY KEY, format INTEGER NOT NULL,
    sequence {whole} NOT NULL, hash TEXT NOT NULL)""",
    """CREATE TABLE hartley_entries (sequence {whole} PRIMARY KEY, time TEXT NOT NULL,
    analyst TEXT NOT NULL, kind TEXT NOT NULL, content TEXT NOT NULL, cells TEXT NOT NULL,
    schema TEXT NOT NULL, rules TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL)""",
)
CREATED = {
    "bits": "10",
    "dataset": "people",
    "open_factor": "3",
    "rows": 50,
    "rules": "1",
    "schema": {"name": "people"},
    "version": "aaaaaaaaaaaaaaaa",
}
ROWS = (
    ("", "created", CREATED, "3"),
    ("ann", "reserve", {"questions": [{"q": 1}, {"q": 2}], "note": "SELECT 1"}, "4"),
    ("ann", "commit", {"reserve": 2, "answers": ["7", None]}, "1"),
    ("bob", "reserve", {"questions": [{"q": 3}]}, "2"),
    ("", "budget", {"bits": "25/2"}, "1"),
    ("", "version", {"rows": 51, "open_factor": "3", "version": "bbbbbbbbbbbbbbbb"}, "3"),
    ("", "schema", {"schema": {"name": "people", "more": 1}, "open_factor": "1"}, "1"),
    ("bob", "reserve", {"questions": [{"q": 1}]}, "5"),
    ("", "erasure", {"rows": 50, "open_factor": "1", "version": "cccccccccccccccc"}, "1"),
)


def rows():
    """Return the rows with their hashes."""
    found, previous = [], "0" * 64
    for number, (analyst, kind, content, cells) in enumerate(ROWS, 1):
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        time = f"2025-01-01T00:00:{number:02}.000000Z"
        values = [number, time, analyst, kind, text, cells, "s1", "1", previous]
        previous = digest("hartley ledger 1", *map(str, values))
        found.append((*values, previous))
    return found


def write(place, address, entries, *, version=1):
    """Write such a ledger into an empty store."""
    whole = "INTEGER" if place.name == "sqlite" else "BIGINT"
    last = entries[-1] if entries else (0, "")
    marks = ", ".join("?" * len(FIELDS.split(", ")))
    place.run(
        address,
        *((table.format(whole=whole), ()) for table in TABLES),
        ("INSERT INTO hartley_head VALUES (1, ?, ?, ?)", (version, last[0], last[-1])),
        *(
            (f"INSERT INTO hartley_entries ({FIELDS}) VALUES ({marks})", row)  # noqa: S608 - our own words
            for row in entries
        ),
    )
