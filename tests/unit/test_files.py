import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from hartley.errors import InputError, OptionError
from hartley.files import (
    DEEPEST,
    PrivateFolder,
    parse_json,
    parse_toml,
    read_text_file,
    remove_private_folders,
    whole_file,
    write_all_or_none,
    write_whole,
)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


# --- private folders ------------------------------------------------------------------------------


def test_a_private_folder_and_what_is_staged_in_it_are_closed_to_others(tmp_path):
    with PrivateFolder(tmp_path, "copy") as folder:
        assert mode_of(folder.path) == 0o700
    with whole_file(tmp_path / "table.csv") as half:
        assert mode_of(half) == 0o600
        assert mode_of(half.parent) == 0o700


KILLED = """
import os, signal, sys
from pathlib import Path
from hartley.files import PrivateFolder
folder = PrivateFolder(Path(sys.argv[1]), "copy")
(folder.path / "rows").write_text("private")
print(folder.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_goes_with_the_next_folder_of_the_label(tmp_path):
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    left = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    assert Path(left, "rows").exists()
    with PrivateFolder(tmp_path, "other"):
        assert Path(left).exists()  # another label's
    with PrivateFolder(tmp_path, "copy"):
        assert not Path(left).exists()


def test_a_folder_whose_maker_lives_is_not_swept(tmp_path):
    with PrivateFolder(tmp_path, "copy") as mine, PrivateFolder(tmp_path, "copy") as other:
        assert mine.path.exists()
        assert other.path.exists()


def test_a_link_that_looks_like_a_left_folder_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / ".lock").write_text("")
    (tmp_path / ".copy.x.part").symlink_to(precious)
    with PrivateFolder(tmp_path, "copy"):
        assert precious.exists()


def test_a_forked_process_leaves_the_folder_to_its_maker(tmp_path):
    with PrivateFolder(tmp_path, "copy") as folder:
        child = os.fork()
        if not child:  # pragma: no cover - another process
            remove_private_folders()
            os._exit(0)
        os.waitpid(child, 0)
        assert folder.path.exists()


# --- whole files ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_gets_the_mode_of_the_process_without_a_change_of_its_mask(tmp_path):
    before = os.umask(0o027)
    try:
        seen = []
        done = threading.Event()

        def watch():
            while not done.is_set():
                (tmp_path / "probe").touch(0o666)
                seen.append(mode_of(tmp_path / "probe"))
                (tmp_path / "probe").unlink()

        watcher = threading.Thread(target=watch)
        watcher.start()
        for _ in range(200):
            write_whole(tmp_path / "note", "x")
        done.set()
        watcher.join()
        assert mode_of(tmp_path / "note") == 0o640
        assert set(seen) == {0o640}
    finally:
        os.umask(before)


def test_a_link_stays_a_link_for_every_kind_of_file(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", "new")
    with whole_file(tmp_path / "link") as half:
        half.write_text("newer")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "newer"


def test_a_device_is_never_replaced_by_a_file():
    with pytest.raises(InputError, match="not a file that can be written"):
        write_whole("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)  # noqa: PTH116 - what lies there


def test_files_written_together_appear_together_or_not_at_all(tmp_path, monkeypatch):
    (tmp_path / "table").write_text("old table")
    before = sorted(tmp_path.iterdir())

    def replace(self, target):
        if self.name == "certificate":  # the second one to be moved
            raise OSError(28, "full")
        os.replace(self, target)  # noqa: PTH105 - what is tested

    def write_both():
        with write_all_or_none():
            write_whole(tmp_path / "table", "new table")
            write_whole(tmp_path / "certificate", "{}")
            assert (tmp_path / "table").read_text() == "old table"
            monkeypatch.setattr(Path, "replace", replace)

    with pytest.raises(InputError, match="the disk is full"):
        write_both()
    monkeypatch.undo()
    assert (tmp_path / "table").read_text() == "old table"
    assert sorted(tmp_path.iterdir()) == before
    with write_all_or_none():
        write_whole(tmp_path / "table", "new table")
        write_whole(tmp_path / "certificate", "{}")
    assert (tmp_path / "table").read_text() == "new table"
    assert (tmp_path / "certificate").read_text() == "{}"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("move", [1, 2])
def test_a_signal_between_two_moves_parts_no_files(tmp_path, monkeypatch, number, move):
    (tmp_path / "table").write_text("old")
    moves = []

    def replace(self, target):
        os.replace(self, target)  # noqa: PTH105 - what is tested
        moves.append(target)
        if len(moves) == move:
            signal.raise_signal(number)

    def interrupt(*_):
        raise KeyboardInterrupt

    def write_both():
        with write_all_or_none():
            write_whole(tmp_path / "table", "new")
            write_whole(tmp_path / "certificate", "new")
            monkeypatch.setattr(Path, "replace", replace)

    before = signal.signal(number, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            write_both()
        assert signal.getsignal(number) is interrupt
    finally:
        signal.signal(number, before)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "table": "new",
        "certificate": "new",
    }


def test_a_full_disk_and_a_closed_folder_are_named_as_such(tmp_path):
    with pytest.raises(InputError, match="its folder does not exist"):
        write_whole(tmp_path / "nowhere" / "note", "x")
    with pytest.raises(InputError, match="its name is too long"):
        write_whole(tmp_path / ("n" * 300), "x")
    with pytest.raises(InputError, match="disk is full"), whole_file(tmp_path / "note"):
        raise OSError(28, "No space left on device")


# --- readers --------------------------------------------------------------------------------------

HOSTILE_JSON = {
    "nested": "[" * 100_000,
    "nested and closed": "[" * (DEEPEST + 2) + "]" * (DEEPEST + 2),
    "infinite": "1e400",
    "constant": "NaN",
    "digits": "9" * 500,
    "more digits": "9" * 5000,
    "cut": '{"a": ',
    "empty": "",
}


@pytest.mark.parametrize("text", HOSTILE_JSON.values(), ids=HOSTILE_JSON)
def test_hostile_json_is_one_short_sentence(text):
    with pytest.raises(OptionError) as refused:
        parse_json(text, what="certificate")
    assert len(str(refused.value)) < 300
    assert "certificate" in str(refused.value)


HOSTILE_TOML = {
    "nested": "a = " + "[" * 10_000,
    "nested and closed": "a = " + "[" * (DEEPEST + 2) + "]" * (DEEPEST + 2),
    "exponent": "a = 1e999999999",
    "digits": "a = " + "9" * 500,
    "more digits": "a = " + "9" * 5000,
    "decimals": "a = 0." + "1" * 500,
    "year": "a = 10000-01-01",
    "no value": "a =",
}


@pytest.mark.parametrize("text", HOSTILE_TOML.values(), ids=HOSTILE_TOML)
def test_hostile_toml_is_one_short_sentence(text):
    with pytest.raises(OptionError) as refused:
        parse_toml(text, what="design")
    assert len(str(refused.value)) < 300
    assert "design" in str(refused.value)


def test_a_file_that_is_no_text_is_named_with_the_line(tmp_path):
    (tmp_path / "policy.toml").write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(OptionError, match="line 2 is not UTF-8"):
        read_text_file(tmp_path / "policy.toml", what="policy file")
    with pytest.raises(OptionError, match="it is a folder"):
        read_text_file(tmp_path, what="policy file")


def test_what_people_write_is_read(tmp_path):
    (tmp_path / "a.toml").write_text("\ufefferror = 0.1\n", encoding="utf-8")
    text = read_text_file(tmp_path / "a.toml", what="design")
    assert str(parse_toml(text, what="design")["error"]) == "0.1"
    assert parse_json(json.dumps({"a": [1, 2.5, None]}), what="x") == {"a": [1, 2.5, None]}


# --- signals --------------------------------------------------------------------------------------

STOPPED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
import hartley.files
from hartley.cli import main
from hartley.errors import TableError

def stop(*words, **more):
    with hartley.files.whole_file(sys.argv[2]) as half:
        half.write_text("half")
        try:
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        except KeyboardInterrupt:
            raise TableError("The file people.csv cannot be read", hint="blamed") from None

module = sys.modules["hartley.cli.main"]
module.app = stop
sys.argv[0] = "hartley"
main()
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_cleans_up_and_blames_no_file(tmp_path, name, code):
    command = [sys.executable, "-c", STOPPED_WHILE_WRITING, name, str(tmp_path / "out")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr
    assert "Interrupted" in ended.stderr
    assert "people.csv" not in ended.stderr
    assert list(tmp_path.iterdir()) == []


STUCK = """
import os, signal, sys, threading
import hartley.cli
module = sys.modules["hartley.cli.main"]

def wait(*words, **more):
    thread = threading.Thread(target=threading.Event().wait)  # never ends, and is no daemon
    thread.start()
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        thread.join()

module.PATIENCE = 0.2
module.app = wait
module.main()
"""


def test_a_thread_that_waits_for_ever_does_not_keep_an_interrupted_command():
    ended = subprocess.run([sys.executable, "-c", STUCK], timeout=60, check=False)
    assert ended.returncode == 128 + signal.SIGTERM


def test_json_that_names_a_field_twice_is_refused():
    with pytest.raises(OptionError, match="not valid JSON"):
        parse_json('{"budget": 1, "budget": 2}', what="certificate")


# --- another user ---------------------------------------------------------------------------------

NOBODY = 65534


@pytest.fixture
def open_folder():
    """A folder that every user may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def seen_by_another(folder):
    """Return every byte that another user finds in a folder and below."""
    found = subprocess.run(
        ["find", str(folder), "-type", "f", "-exec", "cat", "{}", "+"],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        check=False,
        cwd="/",
    )
    return found.stdout


as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")


@as_root
def test_another_user_can_look_where_we_look(open_folder):
    (open_folder / "open").write_text("public")
    assert seen_by_another(open_folder) == b"public"  # so that the tests below can fail


@pytest.mark.slow
@as_root
def test_another_user_reads_nothing_that_is_staged_or_spilled(open_folder):
    with PrivateFolder(open_folder, "spill") as folder, whole_file(open_folder / "out") as half:
        (folder.path / "rows").write_text("private")
        half.write_text("private")
        assert seen_by_another(open_folder) == b""
    (open_folder / "out").unlink()  # which is done, and for everybody
    script = (
        "from hartley.engines.registry import EMBEDDED\n"
        "engine = EMBEDDED.open()\n"
        "con = engine.con\n"
        "con.execute(\"SET memory_limit = '60MB'\")\n"
        "con.execute('SET threads = 1')\n"
        "con.execute('SET enable_progress_bar = false')\n"
        "con.execute('CREATE TEMP TABLE t AS SELECT range AS a, md5(range::VARCHAR) AS b "
        "FROM range(2000000)')\n"
        "print('ready', flush=True)\n"
        "input()\n"
    )
    environment = os.environ | {"TMPDIR": str(open_folder)}
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as engine:
        assert engine.stdout.readline() == "ready\n"
        spilled = [path for path in open_folder.rglob("*") if path.stat().st_size > 10**6]
        assert spilled  # there is something to see
        assert seen_by_another(open_folder) == b""
        engine.communicate("\n")
    assert list(open_folder.glob(".hartley-spill*")) == []


@pytest.mark.slow
@as_root
def test_another_user_reads_nothing_of_a_copy_while_it_is_made_and_after(open_folder, monkeypatch):
    from fractions import Fraction

    from hartley.engines import duckdb
    from hartley.engines.coded_table import code_table
    from hartley.engines.codes import ColumnCoding
    from hartley.tables.opening import open_table

    fill, looks = duckdb._fill, []

    def look(connection, job):
        note = fill(connection, job)
        held = [path for path in open_folder.rglob("*") if path.is_file()]
        looks.append((seen_by_another(open_folder), any(".wal" in path.name for path in held)))
        return note

    monkeypatch.setattr(duckdb, "_fill", look)
    age = ColumnCoding("age", 101, low=Fraction(0), step=Fraction(1))
    table = open_table({"age": [20, 30, 70] * 1000})
    code_table(table, [age], place=open_folder / "people.duckdb").close()
    assert looks == [(b"", True)]  # the write-ahead file was there, and nobody saw it
    assert seen_by_another(open_folder) == b""
