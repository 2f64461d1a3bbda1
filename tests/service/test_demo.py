"""``hartley demo``: a service to try, with tokens of an analyst and of an owner."""

import re

import pytest
from small_service import above, until

from command_line import run_process

TOKEN = re.compile(r"hartley_[0-9a-f]{16}_[0-9a-f]{64}")
pytestmark = pytest.mark.slow


def test_a_demonstration_can_be_used_at_once_and_started_again(tmp_path, start):
    for number, charged in enumerate([1, 0]):
        folder = tmp_path / f"said{number}"
        folder.mkdir()
        live = start(folder, "demo", tmp_path / "d")
        until(lambda live=live: "Stop it with Ctrl-C" in live.out.read_text())
        live.url = re.search(r"http://[0-9.:]+/", live.out.read_text())[0]
        analyst, owner = TOKEN.findall(live.out.read_text())
        reply = live.api(token=analyst).ask(above(40), bits=1)
        assert (reply.status_code, reply.json()["bits"]) == (200, charged)
        assert live.api(token=owner).get("/v1/accounts").status_code == 200
        assert live.stop() == 0


@pytest.mark.parametrize("kind", ["a file", "in a file"])
def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path, kind):
    taken = tmp_path / "taken"
    taken.touch()
    done = run_process("demo", taken if kind == "a file" else taken / "d")
    assert done.returncode == 2
    for words in ("taken", "cannot be", "hint: "):
        assert words in done.stderr
    assert "inside Hartley" not in done.stderr
