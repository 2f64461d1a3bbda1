"""A process that asks with an idempotency key and is killed at a chosen step."""

import asyncio
import json
import os
import signal
import sys

from hartley import Wish
from hartley.service.accounts import Accounts
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


async def main(config, token, step, key, bodies):
    service = Service(read_settings(config))
    service.open()
    identity = service.accounts.authenticate(token)
    owner, name = STEPS[step]
    setattr(owner, name, die)
    wishes = [Wish(text, bits=bits) for text, bits in json.loads(bodies)]
    await service.ask(identity, "people", wishes, batch=len(wishes) > 1, key=key)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
