"""The supervisor of worker processes: it never waits for one of them, so that it sees all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from uvicorn.supervisors.multiprocess import Multiprocess, Process

from hartley.service.logs import LOGGER

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from uvicorn import Config

START_SECONDS = 300
"""Seconds that a worker may take to answer for the first time: on a busy machine it reads its
modules for minutes, and one that is replaced meanwhile would begin with that again."""
NOT_STARTED = 3
"""The exit code of a worker that could not start, and would not at the next attempt either."""


class Worker(Process):
    """A worker that is asked for a sign of life, and not waited for.

    One that starts, or is killed while it does, answers nothing for seconds. If its parent waited,
    no other worker would be started again meanwhile, and no signal heard.
    """

    started = False
    """Whether it accepts connections."""
    _answered = False
    _asked: float | None = None

    def is_alive(self, timeout: float = 5) -> bool:
        """Tell whether the process runs, and has answered in so many seconds or still starts."""
        if not self.process.is_alive():
            return False
        try:
            while self.parent_conn.poll(0):
                self.started = bool(self.parent_conn.recv())
                self._answered, self._asked = True, None
            if self._asked is None:
                self.parent_conn.send(b"ping")
                self._asked = time.monotonic()
        except (OSError, EOFError):
            return False
        return time.monotonic() - self._asked <= (timeout if self._answered else START_SECONDS)


class Supervisor(Multiprocess):
    """Starts the workers, replaces those that end, and calls ``ready`` once one is up."""

    def __init__(
        self, config: Config, sockets: list[socket.socket], ready: Callable[[], None]
    ) -> None:
        super().__init__(config, sockets)
        self._ready: Callable[[], None] | None = ready

    def init_processes(self) -> None:
        """Start all workers."""
        self.processes = [self._start_worker() for _ in range(self.processes_num)]

    def _start_worker(self) -> Process:
        worker = Worker(self.config, self.sockets)
        worker.start()
        return worker

    def keep_subprocess_alive(self) -> None:
        """Replace every worker that ended or hangs; end if one could not start."""
        for index, worker in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            assert isinstance(worker, Worker)
            if worker.is_alive(timeout=self.config.timeout_worker_healthcheck):
                if worker.started and self._ready is not None:
                    ready, self._ready = self._ready, None
                    ready()
                continue
            worker.kill()
            worker.join()
            if worker.exitcode == NOT_STARTED:
                LOGGER.error("a worker could not start")
                self.should_exit.set()
                return
            LOGGER.warning("a worker ended and is replaced")
            self.processes[index] = self._start_worker()

    # Signals that change the number of workers or replace all of them at once.

    def handle_hup(self) -> None:
        """Do nothing: a terminal that is closed ends no service."""

    def handle_ttin(self) -> None:
        """Do nothing: the number of workers is set in the configuration."""

    handle_ttou = handle_ttin
