"""A process that asks and is killed at a chosen step, or while it finishes a late question."""

import asyncio
import json
import os
import signal
import sys

from slow_engine import EndlessStatements

from hartley import Wish
from hartley.engines.duckdb import EmbeddedStore
from hartley.service.accounts import Accounts
from hartley.service.replies import ServiceError
from hartley.service.service import Service
from hartley.service.settings import read_settings
from hartley.trusted.agent import TrustedAgent
from hartley.trusted.ledger.ledger import TrustedLedger

STEPS = {
    "before the charge": (TrustedLedger, "reserve"),
    "after the charge": (TrustedAgent, "_finish"),
    "before the answer is recorded": (TrustedLedger, "commit"),
    "before the reply is kept": (Accounts, "keep_reply"),
}


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


async def ask_with_a_key(service, identity, step, key, bodies):
    setattr(*STEPS[step], die)
    wishes = [Wish(text, bits=bits) for text, bits in json.loads(bodies)]
    await service.ask(identity, "people", wishes, batch=len(wishes) > 1, key=key)


async def leave_pending(service, identity, text):
    endless = EndlessStatements()
    EmbeddedStore.run = endless.run
    endless.on.set()
    code = "busy"
    while code == "busy":  # a busy machine may be late before the charge
        try:
            await service.ask(identity, "people", [Wish(text, bits="1")])
        except ServiceError as error:
            code = error.code
    assert code == "pending", code
    assert service.lanes._finishing is not None
    die()


async def main(config, token, *words):
    service = Service(read_settings(config))
    service.open()
    act = ask_with_a_key if len(words) > 1 else leave_pending
    await act(service, service.accounts.authenticate(token), *words)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
