"""Real statements over a coded copy that run until somebody ends them."""

import threading

import duckdb

from hartley.engines.dialect import stoppable
from hartley.engines.duckdb import EmbeddedStore

ENDLESS = "SELECT COUNT(*) FROM coded, range(1000000000000) AS many"


class EndlessStatements:
    """While ``on`` is set, the engine first computes something endless for every statement.

    ``release`` ends that, and the statement itself follows; a time limit ends both.
    """

    def __init__(self):
        self.on, self.begun, self.released = (threading.Event() for _ in range(3))
        self.count, self._cursors = 0, []
        run = EmbeddedStore.run

        def slow(store, text):
            if self.on.is_set():
                self.count += 1
                self._run(store)
            return run(store, text)

        self.run = slow

    def _run(self, store):
        with store._connection.cursor() as cursor, stoppable(cursor.interrupt):
            self._cursors.append(cursor)
            self.begun.set()
            try:
                cursor.execute(ENDLESS).fetchall()
            except duckdb.InterruptException:
                if not self.released.is_set():
                    raise
            finally:
                self._cursors.remove(cursor)

    def release(self):
        """Let all statements that run come to their end, and be quick from now on."""
        self.on.clear()
        self.released.set()
        waiting = threading.Event()
        while self._cursors:  # an engine forgets what came before its start
            for cursor in tuple(self._cursors):
                cursor.interrupt()
            waiting.wait(0.02)
