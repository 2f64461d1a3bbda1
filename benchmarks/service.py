"""A service under load: repeats, kept replies, new questions and price curves, on SQLite.

``hartley serve`` runs with two workers, and a client beside it in a process of its own keeps some
connections busy. The client and everything else on the machine take their part of the cores, so
every rate is given twice: by the clock, and by the CPU time of workers and client together, as it
would be on two cores that do nothing else. What waits for a disk is in the first alone.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import Job, Work, measure, serve, task
from results import Row, Settings, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NAME = "service"
WORKERS, CONNECTIONS, FEW_CONNECTIONS = 2, 16, 8
SECONDS, QUICK_SECONDS = 10.0, 3.0
ROWS, BUDGET, ALLOWANCE = 5000, 10_000, 9000
START_SECONDS = 120
CORES = 2
POINTS, MOST_BITS = 12, "3.75"
"""A curve up to these bits has a point for each price of 2 to 13 cells."""
SCHEMA = """\
[table]
name = "people"
[columns.region]
kind = "public"
values = ["north", "south", "east", "west"]
[columns.age]
kind = "private"
range = [18, 97]
step = 1
[columns.income]
kind = "private"
range = [0, 200000]
step = 100
"""
CONFIG = """\
[service]
listen = "127.0.0.1:{port}"
workers = {workers}
ledger = "ledger.db"
keep_replies = {kept}
[datasets.people]
schema = "people.toml"
data = "people.parquet"
budget = {budget}
[limits]
asks_per_minute = 10000000
prices_per_minute = 10000000
"""
AVERAGE = "SELECT AVG(age) FROM people"
LEDGER, KEPT = "repeats through the ledger", "repeats with kept replies"
NEW, CURVE = "new questions", f"price curves of {POINTS} points"
LEAST = {LEDGER: 2000, KEPT: 8000, NEW: 200}
MOST_MILLISECONDS = 80
"""Of a price curve."""


# --- the service ------------------------------------------------------------------------------


@contextmanager
def served(*, kept: bool) -> Iterator[tuple[int, str, int]]:
    """Run a service; yield its port, the token of its owner and the id of its process."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from hartley.agent.ledger import open_ledger

    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), _free_port()
        regions = ("north", "south", "east", "west")
        table = {
            "region": [regions[i % 4] for i in range(ROWS)],
            "age": [18 + 7 * i % 80 for i in range(ROWS)],
            "income": [100 * (37 * i % 2001) for i in range(ROWS)],
        }
        pq.write_table(pa.table(table), folder / "people.parquet")
        (folder / "people.toml").write_text(SCHEMA)
        config = folder / "config.toml"
        config.write_text(
            CONFIG.format(
                port=port, workers=WORKERS, kept="true" if kept else "false", budget=BUDGET
            )
        )
        with (folder / "out.txt").open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "hartley.cli", "serve", str(config)],
                stdout=out,
                stderr=subprocess.DEVNULL,
                stdin=subprocess.DEVNULL,
            )
        try:
            _wait(lambda: len(_workers(process.pid)) == WORKERS and " at http" in _said(folder))
            with open_ledger(folder / "ledger.db") as ledger:
                about = {"analyst": "owner", "bits": str(ALLOWANCE)}
                ledger.record("people", "allowance", about)
            yield port, (folder / "owner.token").read_text().strip(), process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _said(folder: Path) -> str:
    return (folder / "out.txt").read_text(errors="replace")


def _wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + START_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("The service did not start")
        time.sleep(0.05)


def _workers(parent: int) -> list[int]:
    """Return the ids of the worker processes."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [
        int(child)
        for child in children
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def _cpu(processes: list[int]) -> float:
    """Return the seconds of CPU time that processes have used."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


# --- the client -------------------------------------------------------------------------------


def _request(token: str, route: str, body: Mapping[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    head = (
        f"POST /v1/datasets/people/{route} HTTP/1.1\r\nHost: bench\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


class Connection(asyncio.Protocol):
    """One connection that always has one request under way."""

    def __init__(self, requests: Iterator[bytes], times: list[float], end: float) -> None:
        self._requests, self._times, self._end = requests, times, end
        self._received, self._begun = b"", 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._begun = time.perf_counter()
        self._transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        """Note how long a reply took, and send the next request until the end."""
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        if not head.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(AssertionError(self._received.decode(errors="replace")))
            self._transport.close()
            return
        now = time.perf_counter()
        self._times.append(now - self._begun)
        self._received = b""
        if now < self._end:
            self._send()
        else:
            self._transport.close()
            self.done.set_result(None)


def load(kind: str, seconds: float) -> Job:
    """Keep a service busy, and describe rates and times."""

    def run() -> dict[str, float]:
        with served(kept=kind == "kept") as (port, token, parent):
            workers = _workers(parent)
            numbers = itertools.count()
            asked = {"question": AVERAGE, "bits": 2}
            kinds: dict[str, Callable[[], bytes]] = {
                "ledger": lambda: _request(token, "ask", asked),
                "kept": lambda: _request(token, "ask", asked),
                "new": lambda: _request(token, "ask", _new(next(numbers))),
                "curve": lambda: _request(
                    token,
                    "price",
                    {"question": _average(next(numbers)), "curve": True, "most": MOST_BITS},
                ),
            }
            make = kinds[kind]
            few = FEW_CONNECTIONS if kind == "new" else 1 if kind == "curve" else CONNECTIONS
            if kind in {"ledger", "kept"}:
                fixed = make()
                make = lambda: fixed  # noqa: E731 - the same bytes every time
            asyncio.run(_busy(port, make, few, min(seconds, 1.0)))  # every worker has seen it
            everybody = [*workers, os.getpid()]
            before, begun = _cpu(everybody), time.perf_counter()
            times = asyncio.run(_busy(port, make, few, seconds))
            wall, cpu = time.perf_counter() - begun, _cpu(everybody) - before
        times.sort()
        return {
            "rate": len(times) / wall,
            "cpu_rate": CORES * len(times) / max(cpu, 1e-3),
            "median": 1000 * statistics.median(times),
            "p99": 1000 * times[int(0.99 * (len(times) - 1))],
        }

    return Job(run)


async def _busy(
    port: int, make: Callable[[], bytes], connections: int, seconds: float
) -> list[float]:
    loop, times = asyncio.get_running_loop(), []
    requests = iter(make, None)
    end = time.perf_counter() + seconds
    opened = [
        await loop.create_connection(lambda: Connection(requests, times, end), "127.0.0.1", port)
        for _ in range(connections)
    ]
    await asyncio.gather(*(connection.done for _, connection in opened))
    return times


def _new(number: int) -> dict[str, Any]:
    """Return a question that was not asked before: 2,000 thresholds in each of four regions."""
    region = ("north", "south", "east", "west")[number % 4]
    text = f"SELECT COUNT(*) FROM people WHERE region = '{region}' AND income > {25 * number}"
    return {"question": text, "bits": 1, "vacuous": True}


def _average(number: int) -> str:
    return f"SELECT AVG(income) FROM people WHERE age > {18 + number % 60}"


TASKS: Mapping[str, Callable[..., Job]] = {"load": load}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure what a service answers in a second, and how long its replies take."""
    seconds = settings.sized(SECONDS, QUICK_SECONDS, 0.2)
    size, rows = f"{WORKERS} workers, SQLite", []
    kinds = ((LEDGER, "ledger"), (KEPT, "kept"), (NEW, "new"), (CURVE, "curve"))
    for name, kind in settings.sized(kinds, kinds, kinds[2:3]):
        settings.log(f"{NAME}: {name}")
        found = [measure(_work(name, kind, seconds)).answer for _ in range(settings.repeats)]
        for quantity, key in (("rate by the clock", "rate"), ("rate by CPU time", "cpu_rate")):
            rows.append(_rate(size, name, quantity, [each[key] for each in found]))
        for quantity, key in (("median", "median"), ("99 % within", "p99")):
            most = MOST_MILLISECONDS if (name, key) == (CURVE, "median") else None
            rows.append(_time(size, name, quantity, [each[key] for each in found], most))
    return rows


def _rate(size: str, name: str, quantity: str, rates: list[float]) -> Row:
    median, least = statistics.median(rates), LEAST.get(name)
    return Row(
        *(NAME, size, name, "-", quantity, f"{median:,.0f}/s"),
        rounds=f"{min(rates):,.0f} to {max(rates):,.0f}",
        target="-" if least is None else f"at least {least:,}/s",
        met=None if least is None else median >= least,
        value=median,
    )


def _time(size: str, name: str, quantity: str, times: list[float], most: float | None) -> Row:
    median = statistics.median(times)
    return Row(
        *(NAME, size, name, "-", quantity, f"{median:.1f} ms"),
        rounds=f"{min(times):.1f} to {max(times):.1f}",
        target="-" if most is None else f"at most {most:g} ms",
        met=None if most is None else median <= most,
        value=median,
    )


def _work(name: str, kind: str, seconds: float) -> Work:
    return task(name, __file__, "load", {"kind": kind, "seconds": seconds})


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Measure a service under load.")
    parser.add_argument("--quick", action="store_true", help="a few seconds, one round each")
    parser.add_argument("--repeats", type=int, help="rounds to take the median of")
    asked = parser.parse_args()
    show(run(Settings(quick=asked.quick, repeats=asked.repeats or (1 if asked.quick else 3))))


if __name__ == "__main__" and not serve(TASKS):
    main()
