"""Processes that use the accounts of one service at once, or are killed while they do.

A process of its own, with nothing but accounts in it, so that it can fork.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import traceback

from hartley.errors import HartleyError, Refused
from hartley.service.accounts import open_accounts


def in_processes(number, work):
    """Run work(k) in so many processes at once; return what each of them returns."""
    start_reads, start_writes = os.pipe()
    pipes, children = [], []
    for k in range(number):
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.alarm(80)  # a child that hangs ends by itself
                os.close(start_writes)
                os.read(start_reads, 1)  # until all exist
                os.write(writes, json.dumps(work(k)).encode())
                code = 0
            except BaseException:  # noqa: BLE001 - a child must not go on as its parent
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writes)
        pipes.append(reads)
        children.append(child)
    os.close(start_writes)
    texts = []
    for reads in pipes:
        with os.fdopen(reads) as pipe:
            texts.append(pipe.read())
    for child in children:
        _, status = os.waitpid(child, 0)
        assert status == 0, "a process failed"
    return [json.loads(text) for text in texts]


def first_owner(address, processes):
    """Start a service several times at once."""

    def work(_):
        with open_accounts(address) as accounts:
            token = accounts.first_owner()
            return None if token is None else token.text

    return in_processes(processes, work)


def spend(address, processes, questions):
    """Let processes spend for one account under a daily cap; return what each could spend."""
    with open_accounts(address) as accounts:
        accounts.ledger.record("people", "created", {"bits": 100, "schema": {}, "rows": 9})
        accounts.add("ana", "analyst", by="owner")
        accounts.set_daily_cap("ana", "10.5", by="owner")

    def work(k):
        cells = []
        with open_accounts(address) as accounts:
            check = accounts.charge_check(accounts.identity_of("ana"))
            for number in range(questions):
                price = 2 + (k + number) % 3
                try:
                    paid = accounts.ledger.reserve(
                        "people", "ana", [{"q": [k, number]}], lambda _, c=price: c, check=check
                    )
                except Refused:
                    continue
                cells.append(paid.account_cells)
        return cells

    return in_processes(processes, work)


def acts(address, seed, kills):
    """Kill processes in the middle of acts; return how many acts were reported as done."""
    order = random.Random(seed)  # noqa: S311 - nothing secret
    reported = 0
    for round_number in range(kills):
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reads)
            try:
                with open_accounts(address) as accounts:
                    for number in range(1000):
                        name = f"a{round_number}-{number}"
                        accounts.add(name, "analyst", by="test")
                        os.write(writes, b"1")
                        accounts.issue_token(name, scopes="ask", by="test")
                        os.write(writes, b"1")
                        accounts.grant(name, "people", by="test")
                        os.write(writes, b"1")
            except HartleyError:
                pass
            os._exit(0)
        os.close(writes)
        for _ in range(order.randrange(1, 12)):
            reported += len(os.read(reads, 1))
        os.kill(child, signal.SIGKILL)
        with os.fdopen(reads, "rb") as pipe:
            reported += len(pipe.read())
        os.waitpid(child, 0)
    return reported


if __name__ == "__main__":
    mode, address, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    modes = {"first_owner": first_owner, "spend": spend, "acts": acts}
    sys.stdout.write(json.dumps(modes[mode](address, **settings)))
