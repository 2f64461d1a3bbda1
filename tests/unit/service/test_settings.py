"""CONFIG.toml: everything that it may say, and every mistake in one sentence with a hint."""

import pytest

from hartley.errors import OptionError
from hartley.service.settings import read_settings, settings_and_mistakes

WHOLE = """\
[service]
listen = "127.0.0.1:9000"
workers = 3
ledger = "ledger.db"
body_limit = "2MiB"
engine_lanes = 2
queue = 0
question_seconds = 1.5
pending_seconds = 20
keep_replies = false
tls = { certificate = "cert.pem", key = "key.pem" }
trusted_proxy = ["10.0.0.2", "::1"]
user_header = "X-Remote-User"
[datasets.people]
schema = "people.schema.toml"
budget = 16
data = "people.parquet"
analysts = ["ana", "bi"]
[datasets.more]
schema = "more.toml"
place = "copies/more.duckdb"
[limits]
prices_per_minute = 5
asks_per_minute = 6
bits_per_day = { bi = 0, ana = 2.5 }
questions_per_batch = 7
rows = 8
"""


def test_everything_that_can_be_set(tmp_path):
    (tmp_path / "c.toml").write_text(WHOLE)
    settings = read_settings(tmp_path / "c.toml")
    assert (str(settings.listen), settings.workers) == ("127.0.0.1:9000", 3)
    assert settings.ledger == str(tmp_path / "ledger.db")
    assert (settings.body_limit, settings.engine_lanes, settings.queue) == (2 << 20, 2, 0)
    assert (settings.question_seconds, settings.keep_replies) == (1.5, False)
    assert settings.pending_seconds == 20
    assert settings.tls.certificate == tmp_path / "cert.pem"
    assert settings.proxy.addresses == ("10.0.0.2", "::1")
    people = settings.datasets["people"]
    assert (people.budget, people.analysts) == ("16", ("ana", "bi"))
    assert people.data == str(tmp_path / "people.parquet")
    assert settings.datasets["more"].place == str(tmp_path / "copies/more.duckdb")
    assert settings.limits.bits_per_day == {"bi": "0", "ana": "2.5"}
    assert (settings.limits.rows, settings.limits.questions_per_batch) == (8, 7)


def test_a_database_is_no_path(tmp_path):
    text = WHOLE.replace('"ledger.db"', '"postgresql://host/db"')
    (tmp_path / "c.toml").write_text(text)
    assert read_settings(tmp_path / "c.toml").ledger == "postgresql://host/db"


MISTAKES = {
    'listen = "127.0.0.1:9000"': [
        "listen = 8080",
        'listen = "here"',
        'listen = "h:99999"',
        'listen = ":80"',
        'listen = "h\\u0000:80"',
    ],
    "workers = 3": ["workers = 0", "workers = true", 'workers = "2"'],
    'ledger = "ledger.db"': ["", "ledger = 7", 'ledger = " "', 'ledger = "a\\u0000b"'],
    'body_limit = "2MiB"': ["body_limit = 65536", 'body_limit = "2GB"', 'body_limit = "999MiB"'],
    "engine_lanes = 2": ["engine_lanes = 0"],
    "queue = 0": ["queue = -1"],
    "question_seconds = 1.5": ["question_seconds = 0", 'question_seconds = "soon"'],
    "pending_seconds = 20": ["pending_seconds = 1", "pending_seconds = 1e9", "pending_seconds = 0"],
    "keep_replies = false": ["keep_replies = 1"],
    'tls = { certificate = "cert.pem", key = "key.pem" }': [
        'tls = { key = "k" }',
        "tls = 1",
        'tls = { certificate = "c\\u0000", key = "k" }',
    ],
    'trusted_proxy = ["10.0.0.2", "::1"]': [
        'trusted_proxy = "10.0.0.2"',
        'trusted_proxy = ["p"]',
        "",
    ],
    'user_header = "X-Remote-User"': ['user_header = "a b"', ""],
    'schema = "people.schema.toml"': ["", "schema = 1"],
    "budget = 16": ['budget = "much"', "budget = -1", "budget = true"],
    'analysts = ["ana", "bi"]': ['analysts = "ana"', 'analysts = ["a b"]', 'analysts = ["Ana"]'],
    "prices_per_minute = 5": ["prices_per_minute = 0", "per_minute = 5"],
    "bits_per_day = { bi = 0, ana = 2.5 }": ["bits_per_day = 3", "bits_per_day = { bi = -1 }"],
    "[datasets.more]": ['[datasets."a/b"]', "[others]"],
}


@pytest.mark.parametrize(
    ("line", "wrong"), [(line, wrong) for line, listed in MISTAKES.items() for wrong in listed]
)
def test_each_mistake_is_one_sentence_that_names_its_key(tmp_path, line, wrong):
    path = tmp_path / "c.toml"
    path.write_text(WHOLE.replace(line, wrong, 1))
    _, mistakes = settings_and_mistakes(path)
    (mistake,) = mistakes
    assert isinstance(mistake, OptionError)
    key = (wrong or line).split(" ")[0].strip('[]"').split(".")[-1].strip('"')
    assert key in mistake.problem
    assert mistake.hint
    with pytest.raises(OptionError):
        read_settings(path)


def test_a_port_of_thousands_of_digits(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text(WHOLE.replace(":9000", f":{'1' * 5000}"))
    assert "The key listen" in settings_and_mistakes(path)[1][0].problem


def test_all_mistakes_are_told_at_once(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text("[service]\nworkers = 0\nqueue = -1\n[limits]\nrows = 0\n")
    _, mistakes = settings_and_mistakes(path)
    words = " ".join(mistake.problem for mistake in mistakes)
    assert all(key in words for key in ("workers", "queue", "rows", "ledger", "dataset"))


def test_a_file_that_is_no_toml(tmp_path):
    (tmp_path / "c.toml").write_text("= 1")
    assert "TOML" in settings_and_mistakes(tmp_path / "c.toml")[1][0].problem
    assert "cannot be read" in settings_and_mistakes(tmp_path / "absent.toml")[1][0].problem
