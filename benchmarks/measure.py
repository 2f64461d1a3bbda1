"""Measure work in child processes: wall time, CPU time of all threads, peak memory.

Needs the standard library alone, so that the scripts of a peer can use it in any environment.

A benchmark script serves tasks. A task prepares (imports, opens files, warms up) and returns the
job that is timed; the job's result is described afterwards, outside the timing.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

TASK_FLAG = "--task"
BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024
"""The unit of ru_maxrss."""


@dataclass(frozen=True)
class Job:
    """What a task has prepared: what to time, and how to describe what came of it."""

    run: Callable[[], Any]
    describe: Callable[[Any], Any] = lambda result: result


@dataclass(frozen=True)
class Measurement:
    """What one child process took."""

    seconds: float
    """Wall time of the job alone; of the whole process where it serves no task."""
    cpu: float
    """CPU time of the job alone, all threads."""
    process_seconds: float
    process_cpu: float
    peak: int
    """Peak memory of the whole process, in bytes."""
    answer: Any


@dataclass(frozen=True)
class Work:
    """A command to measure, by name."""

    name: str
    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    """What the environment of the process holds besides."""


class WorkError(Exception):
    """A child process failed."""


def task(
    name: str,
    script: str,
    task_name: str,
    options: Mapping[str, Any] | None = None,
    *,
    python: str = sys.executable,
) -> Work:
    """Return the work of one task that a script serves."""
    command = (python, script, TASK_FLAG, task_name, json.dumps(dict(options or {})))
    return Work(name, command)


def serve(tasks: Mapping[str, Callable[..., Job]]) -> bool:
    """Do the task that the command line names, if it names one, and print what it took."""
    if TASK_FLAG not in sys.argv:
        return False
    name, options = sys.argv[sys.argv.index(TASK_FLAG) + 1 :][:2]
    given = json.loads(options)
    calls = int(given.pop("calls", 1))
    job = tasks[name](**given)
    walls = []
    result = None
    cpu = time.process_time()
    for _ in range(calls):
        wall = time.perf_counter()
        result = job.run()
        walls.append(time.perf_counter() - wall)
    cpu = (time.process_time() - cpu) / calls
    print(
        json.dumps(
            {"seconds": statistics.median(walls), "cpu": cpu, "answer": job.describe(result)}
        )
    )
    return True


def measure(work: Work) -> Measurement:
    """Run one child process to its end and return what it took."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        began = time.perf_counter()
        status, usage = _run(work, out, err)
        seconds = time.perf_counter() - began
        text = out.read_text(encoding="utf-8", errors="replace")
        if status != 0:
            complaint = err.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            last = complaint[-1] if complaint else f"exit status {status}"
            raise WorkError(f"failed: {last.partition('; hint: ')[0]}")
    cpu = usage.ru_utime + usage.ru_stime
    told = {"seconds": seconds, "cpu": cpu, "answer": text}
    if TASK_FLAG in work.command:
        told = json.loads(text.strip().splitlines()[-1])
    return Measurement(
        seconds=told["seconds"],
        cpu=told["cpu"],
        process_seconds=seconds,
        process_cpu=cpu,
        peak=usage.ru_maxrss * BYTES_PER_UNIT,
        answer=told["answer"],
    )


@dataclass(frozen=True)
class Rounds:
    """What several works took, round by round, by name; and why those that failed did."""

    found: dict[str, list[Measurement]]
    failed: dict[str, str]


def measure_together(works: Iterable[Work], *, repeats: int) -> Rounds:
    """Measure several works round by round, so that a busy machine disturbs all alike."""
    listed = list(works)
    rounds = Rounds({work.name: [] for work in listed}, {})
    for _ in range(repeats):
        for work in listed:
            if work.name in rounds.failed:
                continue
            try:
                rounds.found[work.name].append(measure(work))
            except WorkError as error:
                rounds.failed[work.name] = str(error)
                del rounds.found[work.name]
    return rounds


def _run(work: Work, out: Path, err: Path) -> tuple[int, Any]:
    """Start a process, wait for it and return its exit status and what it used."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    pid = os.posix_spawn(
        work.command[0],
        work.command,
        {**os.environ, **work.variables},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, str(out), flags, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, str(err), flags, 0o600),
        ],
    )
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage


# --- ratios ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ratio:
    """A ratio of medians, and the least and the largest ratio of any one round."""

    value: float
    low: float
    high: float


def ratio(over: Sequence[Measurement], under: Sequence[Measurement], quantity: str) -> Ratio:
    """Return how many times as much of a quantity one work takes as another.

    Args:
        over: the measurements of the one work, round by round.
        under: those of the other, in the same rounds.
        quantity: the name of a field of the measurements, such as "seconds" or "cpu".
    """
    above = [max(float(getattr(one, quantity)), 1e-9) for one in over]
    below = [max(float(getattr(one, quantity)), 1e-9) for one in under]
    rounds = [one / other for one, other in zip(above, below, strict=True)]
    return Ratio(statistics.median(above) / statistics.median(below), min(rounds), max(rounds))
