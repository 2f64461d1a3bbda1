"""Everything that an analyst sees over HTTP, as the data of one person varies over its range.

The promise of the accountant: all transcripts together are at most floor(2^allowance), whatever
the analyst asks after what was seen before.
"""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_service import COUNT, Place, live_in_thread

from hartley.service.server import prepare
from hartley.service.settings import read_settings

ALLOWANCE = 3
OTHERS = [(1, "no"), (3, "yes")]
"""What the data of everybody else is."""
WORLDS = [(age, ill) for age in range(5) for ill in ("no", "yes")]
"""All that the data of one person can be."""
SCHEMA = """\
[table]
name = "people"
[columns.age]
kind = "private"
range = [0, 4]
step = 1
[columns.ill]
kind = "private"
values = ["no", "yes"]
"""
CONFIG = """\
[service]
ledger = "ledger.db"
[datasets.people]
schema = "people.toml"
data = "people.parquet"
budget = 8
"""


@pytest.fixture
def a_world(tmp_path_factory):
    """Make a service in which one person has given data; all else is the same."""

    def make(age, ill):
        folder = tmp_path_factory.mktemp("world")
        ages, ills = zip(*OTHERS, (age, ill), strict=True)
        pq.write_table(pa.table({"age": ages, "ill": ills}), folder / "people.parquet")
        (folder / "people.toml").write_text(SCHEMA)
        (folder / "config.toml").write_text(CONFIG)
        place = Place(folder, read_settings(folder / "config.toml"))
        place.tokens["owner"] = prepare(place.settings).text
        place.allow("owner", ALLOWANCE)
        return place

    return make


def seen(reply):
    """Return a reply without names that are drawn at random for every service."""
    content = reply.json()
    for part in (content, content.get("error", {})):
        for name in ("question_id", "request_id", "given"):
            part.pop(name, None)
    return f"{reply.status_code} {content}"


def transcript(api):
    """Ask adaptively: each reply decides on the next question."""
    replies = []

    def ask(text, **wish):
        replies.append(seen(api.price(text, **wish)))
        reply = api.ask(text, **wish)
        replies.append(seen(reply))
        return str(reply.json().get("rows"))

    first = ask("SELECT SUM(age) FROM people", bits=1)
    condition = "age > 2" if "4" in first else "age < 2 AND ill = 'no'"
    second = ask(COUNT.replace("ill = 'yes'", condition), bits=1)
    if "1" in second:
        ask(COUNT, bits=1)
    ask("SELECT SUM(age) FROM people", bits=2)
    ask("SELECT MAX(age) FROM people", error=0)
    ask("SELECT MAX(age) FROM people", bits=1)
    ask("SELECT income FROM people", bits=1)
    rows = api.history()
    replies.append(str([(row["question"], row["bits"], row["answered"]) for row in rows]))
    replies.append(str(api.budget()))
    return "\n".join(replies)


@pytest.mark.slow
def test_one_person_causes_no_more_transcripts_than_the_allowance_allows(a_world):
    transcripts = {}
    for world in WORLDS:
        with live_in_thread(a_world(*world)) as live:
            transcripts[world] = transcript(live.api("owner"))
    different = set(transcripts.values())
    assert 2 < len(different) <= 2**ALLOWANCE
    for text in different:
        assert "500 " not in text
        assert text.count("409 ") + text.count("422 ") >= 1  # refusals are part of it
