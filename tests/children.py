"""Children of a process of tests: forked, listened to and killed."""

from __future__ import annotations

import json
import os
import select
import signal
import time
import traceback


def fork():
    """Fork; a child that hangs ends by itself, and the test with it."""
    child = os.fork()
    signal.alarm(100)
    return child


def started(work):
    """Start a child that does something, given where it tells; return it and where to listen."""
    result, told = os.pipe()
    child = fork()
    if not child:
        try:
            work(told)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - whoever started us reads it
            traceback.print_exc()
        os._exit(1)
    os.close(told)
    return child, result


def tell(told, content):
    """Tell a JSON value of any length."""
    text = json.dumps(content).encode()
    while text:
        text = text[os.write(told, text) :]


def heard(child, result):
    """Return the value that a child tells until it ends."""
    with os.fdopen(result) as file:
        content = file.read()
    assert os.waitpid(child, 0)[1] == 0, "a child failed"
    return json.loads(content)


def killed_while(work, order, *, lines, patience):
    """Start a child, kill it some time after it told some lines, and return them all."""
    child, result = started(
        lambda told: work(lambda content: os.write(told, b"%s\n" % json.dumps(content).encode()))
    )
    text = b""
    wanted = order.choice(lines)
    while text.count(b"\n") < wanted and (part := os.read(result, 65536)):
        text += part
    end = time.perf_counter() + order.random() * patience
    while (left := end - time.perf_counter()) > 0:
        if select.select([result], [], [], left)[0]:
            text += os.read(result, 65536)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    while part := os.read(result, 65536):
        text += part
    os.close(result)
    assert os.WIFSIGNALED(status), f"ended by itself with {status}: {text!r}"
    return [json.loads(line) for line in text.splitlines() if line]
