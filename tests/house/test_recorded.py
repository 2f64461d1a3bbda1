"""Commands and public functions say what was recorded, entry by entry; see ``recorded.py``."""

import difflib
import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SHOWN = 12


def program():
    spec = importlib.util.spec_from_file_location("recorded", HERE / "recorded.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


recorded = program()


@pytest.mark.long  # before and after a change that is to move nothing
@pytest.mark.parametrize(
    "group",
    [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in recorded.GROUPS],
)
def test_a_group_says_what_was_recorded(group):
    told = differences(recorded.read(group), recorded.found(group))
    if told:
        pytest.fail(told, pytrace=False)


def differences(before, after):
    """Name every entry that is missing, new or other than it was, with a few of its lines."""
    told = []
    for name in sorted(before.keys() | after.keys()):
        sides = [
            each[name].splitlines() if name in each else ["(no entry)"] for each in (before, after)
        ]
        lines = [*difflib.unified_diff(*sides, "recorded", "now", n=1, lineterm="")][2:]
        if lines:
            more = [f"... {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
            told.append("\n".join([f"{recorded.HEADING}{name}", *lines[:SHOWN], *more]))
    return "\n\n".join(told)


def test_a_difference_is_named_and_shown():
    told = differences({"a": "1\n2", "b": "1", "c": "0"}, {"a": "1\n3", "c": "0", "d": "4"})
    assert told.splitlines() == [
        *("=== a", "@@ -1,2 +1,2 @@", " 1", "-2", "+3", ""),
        *("=== b", "@@ -1 +1 @@", "-1", "+(no entry)", ""),
        *("=== d", "@@ -1 +1 @@", "-(no entry)", "+4"),
    ]


def test_what_is_recorded_is_no_more_than_a_reader_can_keep_and_names_no_machine():
    texts = {path.stem: path.read_text(encoding="utf-8") for path in recorded.RECORDED.iterdir()}
    assert set(texts) == set(recorded.GROUPS)
    assert sum(len(text.encode()) for text in texts.values()) < 1_500_000
    for text in texts.values():
        assert not any(word in text for word in ("/tmp/", "/home/", "/root/", "/dev/shm"))  # noqa: S108
