import gzip
import hashlib
import re
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from hartley import EngineError, HartleyError, InputError, TableError, dataset
from hartley.datasets import source as room
from hartley.datasets.catalogue import ENTRIES
from hartley.datasets.source import Source, cache_folder, fetch, find_copy, locate, opened

CONTENT = b"age\n" + b"31\n" * 1000


class Handler(BaseHTTPRequestHandler):
    """Serve a file whole, cut off, unannounced, or not at all."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path == "/absent":
            self.send_error(404)
            return
        self.send_response(200)
        if self.path != "/unannounced":
            self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[:500] if self.path == "/cut" else CONTENT)

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def serving():
    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def server():
    with serving() as server:
        yield server


def at(server, path):
    return f"http://127.0.0.1:{server.server_port}/{path}"


def made(url=None, **fields):
    page = "https://example.org/ages"
    return Source("ages", "ages of people", page, "none", "ages.csv", url=url, **fields)


@pytest.mark.parametrize("path", ["whole", "unannounced"])
def test_a_download_is_kept_whole_and_not_asked_for_twice(server, tmp_path, path):
    server.asked.clear()
    source = made(at(server, path), sha256=hashlib.sha256(CONTENT).hexdigest())
    for _ in range(2):
        found = locate(source, download=True, cache=tmp_path / "new" / "cache")
        assert found == tmp_path / "new" / "cache" / "ages.csv"
        assert found.read_bytes() == CONTENT
    assert server.asked == [f"/{path}"]


def test_a_file_address_can_be_fetched(tmp_path):
    (tmp_path / "origin").write_bytes(CONTENT)
    found = fetch((tmp_path / "origin").as_uri(), tmp_path / "cache" / "ages.csv")
    assert found.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("path", "sha256", "told"),
    [
        ("cut", None, "The download of ages.csv from 127.0.0.1 was interrupted"),
        ("whole", "0" * 64, "differs from the known one"),
        ("absent", None, "127.0.0.1 answered with error 404"),
    ],
)
def test_a_bad_download_leaves_nothing_behind(server, tmp_path, path, sha256, told):
    source = made(at(server, path), sha256=sha256)
    with pytest.raises(EngineError, match=told) as caught:
        locate(source, download=True, cache=tmp_path)
    assert "https://example.org/ages" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_an_older_copy_outlives_a_failed_download(server, tmp_path):
    target = tmp_path / "ages.csv"
    target.write_text("older")
    with pytest.raises(EngineError):
        fetch(at(server, "cut"), target)
    assert [path.name for path in tmp_path.iterdir()] == ["ages.csv"]
    assert target.read_text() == "older"


def test_a_source_out_of_reach_is_one_sentence(tmp_path):
    with serving() as gone:
        url = at(gone, "whole")
    with pytest.raises(EngineError, match=r"^The source 127\.0\.0\.1 cannot be reached; hint: try"):
        fetch(url, tmp_path / "ages.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'file'} cannot be written to")):
        fetch("http://127.0.0.1:9/never", tmp_path / "file" / "ages.csv")


def test_nothing_is_downloaded_unless_asked(server, tmp_path):
    server.asked.clear()
    with pytest.raises(TableError, match="no copy of the ages of people"):
        locate(made(at(server, "whole")), cache=tmp_path)
    assert server.asked == []


@pytest.mark.parametrize("name", [name for name, one in ENTRIES.items() if one.source.url is None])
def test_a_set_that_is_not_openly_served_says_why_and_where(name, tmp_path):
    entry = ENTRIES[name]
    with pytest.raises(TableError, match="cannot be downloaded: the set ") as caught:
        dataset(name, "download", cache=tmp_path)
    assert entry.source.page in caught.value.hint
    assert str(tmp_path) in caught.value.hint


def test_addresses_are_safe_and_checksums_have_their_length():
    for entry in ENTRIES.values():
        source = entry.source
        assert (source.url is None) != (source.barrier is None)
        assert source.url is None or source.url.startswith("https://")
        assert source.sha256 is None or re.fullmatch("[0-9a-f]{64}", source.sha256)


def test_a_copy_is_found_by_its_path_in_a_folder_and_below_it(tmp_path):
    source = made(patterns=("*ages*.csv.gz",))
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "my_ages_2014.csv.gz").write_bytes(b"")
    assert locate(source, tmp_path) == deep / "my_ages_2014.csv.gz"
    (tmp_path / "a" / "ages.csv").mkdir()  # a folder is no copy
    (deep / "ages.csv").write_bytes(b"")
    assert locate(source, tmp_path) == deep / "ages.csv"  # the official name comes first
    assert locate(source, deep / "my_ages_2014.csv.gz") == deep / "my_ages_2014.csv.gz"
    assert find_copy(source, tmp_path / "a" / "b" / "none.csv") is None


def test_a_path_that_leads_nowhere_is_named(tmp_path):
    with pytest.raises(TableError, match="There is no file"):
        locate(made(), tmp_path / "ages.csv")
    with pytest.raises(TableError, match="contains no file of the ages of people"):
        locate(made(), tmp_path)


def test_the_cache_is_where_the_user_says(tmp_path, monkeypatch):
    monkeypatch.setenv("HARTLEY_DATA", str(tmp_path / "named"))
    assert cache_folder() == tmp_path / "named"
    assert cache_folder(tmp_path / "given") == tmp_path / "given"
    monkeypatch.delenv("HARTLEY_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(room.sys, "platform", "linux")
    assert cache_folder() == tmp_path / "cache" / "hartley"
    monkeypatch.setattr(room.sys, "platform", "darwin")
    assert cache_folder() == Path.home() / "Library" / "Caches" / "hartley"
    monkeypatch.setattr(room.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "hartley"


def test_wrappings_are_seen_by_their_content_not_by_their_name(tmp_path):
    (tmp_path / "plain.gz").write_bytes(CONTENT)
    (tmp_path / "packed.csv").write_bytes(gzip.compress(CONTENT))
    with zipfile.ZipFile(tmp_path / "many.data", "w") as archive:
        archive.writestr("README.txt", "no")
        archive.writestr("folder/Ages.CSV", CONTENT)
    for name in ("plain.gz", "packed.csv", "many.data"):
        with opened(tmp_path / name, "*.csv") as file:
            assert file.read() == CONTENT
    with pytest.raises(TableError, match="contains no file like"):
        opened(tmp_path / "many.data", "*.dat")


def test_a_damaged_archive_is_one_sentence(tmp_path):
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(HartleyError, match="is damaged"):
        opened(tmp_path / "broken.zip")
