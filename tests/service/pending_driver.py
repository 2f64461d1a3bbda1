"""A process that is killed while it finishes a question that is paid for and late."""

import asyncio
import os
import signal
import sys

from slow_engine import EndlessStatements

from hartley import Wish
from hartley.engines.duckdb import EmbeddedStore
from hartley.service.replies import ServiceError
from hartley.service.service import Service
from hartley.service.settings import read_settings


async def main(config, token, text):
    endless = EndlessStatements()
    EmbeddedStore.run = endless.run
    service = Service(read_settings(config))
    service.open()
    endless.on.set()
    identity = service.accounts.authenticate(token)
    code = "busy"
    while code == "busy":  # a busy machine may be late before the charge
        try:
            await service.ask(identity, "people", [Wish(text, bits="1")])
        except ServiceError as error:
            code = error.code
    assert code == "pending", code
    assert service.lanes._finishing is not None
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
