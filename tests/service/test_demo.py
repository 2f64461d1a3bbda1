"""``hartley demo``: a service to try, with tokens of an analyst and of an owner."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
COUNT = "SELECT COUNT(*) FROM people WHERE age > 40"
TOKEN = re.compile(r"hartley_[0-9a-f]{16}_[0-9a-f]{64}")


def demo(folder, *words, **streams):
    return subprocess.Popen(
        [sys.executable, "-m", "hartley.cli", "demo", str(folder), *words],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        **streams,
    )


@pytest.mark.slow
def test_a_demonstration_can_be_used_at_once_and_started_again(tmp_path, wait_until):
    for start, charged in enumerate([1, 0]):
        said = tmp_path / f"said{start}.txt"
        with said.open("wb") as out:
            process = demo(tmp_path / "d", "--listen", "127.0.0.1:0", stdout=out, stderr=out)
        try:
            wait_until(lambda said=said: "Stop it with Ctrl-C" in said.read_text())
            url = re.search(r"http://[0-9.:]+/", said.read_text())[0]
            analyst, owner = TOKEN.findall(said.read_text())
            with httpx.Client(base_url=url, timeout=100, trust_env=False) as api:
                bearer = {"Authorization": f"Bearer {analyst}"}
                body = {"question": COUNT, "bits": 1}
                reply = api.post("/v1/datasets/people/ask", json=body, headers=bearer)
                assert (reply.status_code, reply.json()["bits"]) == (200, charged)
                bearer = {"Authorization": f"Bearer {owner}"}
                assert api.get("/v1/accounts", headers=bearer).status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(100) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["a file", "in a file"])
def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path, kind):
    taken = tmp_path / "taken"
    taken.touch()
    folder = taken if kind == "a file" else taken / "d"
    process = demo(folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 2
    assert b"taken" in said
    assert b"cannot be" in said
    assert b"hint: " in said
    assert b"inside Hartley" not in said
