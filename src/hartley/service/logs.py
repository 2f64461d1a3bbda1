"""Logs as JSON lines and metrics for Prometheus; neither holds a question, a token or a value."""

from __future__ import annotations

import json
import logging
import os
import threading
import traceback
from bisect import bisect_left
from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

LOGGER = logging.getLogger("hartley.service")
FIELDS = ("request_id", "method", "route", "status", "milliseconds", "account", "event", "problem")
"""What a line may hold beside its message; a field with another name is not written."""


class JsonLines(logging.Formatter):
    """Writes a record as one line of JSON.

    Of an exception only its type and places in the code are written: its message may repeat what
    somebody typed, or a value of the data.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        content: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": record.process,
            "message": record.getMessage() if _may_be_shown(record) else str(record.msg),
        }
        content |= {
            name: value for name in FIELDS if (value := getattr(record, name, None)) is not None
        }
        if record.exc_info and record.exc_info[1] is not None:
            content["exception"] = places_of(record.exc_info[1])
        return json.dumps(content, ensure_ascii=True, default=str)


def _may_be_shown(record: logging.LogRecord) -> bool:
    """Return whether no client wrote a part: warnings of the server quote bytes of clients."""
    harmless = record.name.startswith("uvicorn") and record.levelno < logging.WARNING
    return record.name == LOGGER.name or harmless


def places_of(error: BaseException) -> list[str]:
    """Return the types of an exception and of its causes, each with its places in the code."""
    places: list[str] = []
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        places.append(type(cause).__name__)
        places += [
            f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(cause.__traceback__)
        ]
        cause = cause.__cause__ or cause.__context__
    return places


def log_settings() -> dict[str, Any]:
    """Return how the server logs: everything as JSON lines to the standard error stream."""
    names = ("uvicorn", "uvicorn.error", "uvicorn.access", LOGGER.name)
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": "hartley.service.logs.JsonLines"}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "lines",
                "stream": "ext://sys.stderr",
            }
        },
        "loggers": {
            name: {"handlers": ["stderr"], "level": "INFO", "propagate": False} for name in names
        },
    }


# --- metrics ---

BUCKETS = (0.001, 0.005, 0.02, 0.08, 0.3, 1.0, 5.0, 30.0)
"""Upper ends of the classes of durations, in seconds."""
LAST = ("le", "+Inf")
ENDS = tuple(("le", f"{end:g}") for end in BUCKETS)
HELP = {
    "requests": "Requests by route, method and status.",
    "questions": "Questions by dataset and outcome.",
    "uncovered_allowances": "Refusals although the account's allowance was enough: see the budget.",
    "request_seconds": "Time to handle requests, by route.",
    "engine_admitted": "Questions in the lanes of the engine and in the queue.",
}
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counts of one worker, added up over all; no label names an account, question or value."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._counts: defaultdict[tuple[str, Labels], float] = defaultdict(float)
        self._gauges: dict[str, float] = {}

    def count(self, name: str, **labels: str) -> None:
        """Count one more event."""
        with self._lock:
            self._counts[f"{name}_total", tuple(sorted(labels.items()))] += 1

    def gauge(self, name: str, value: float) -> None:
        """Set a number that goes up and down."""
        self._gauges[name] = value

    def time(self, name: str, seconds: float, **labels: str) -> None:
        """Count a duration in its class."""
        plain = tuple(sorted(labels.items()))
        end = LAST if seconds > BUCKETS[-1] else ENDS[bisect_left(BUCKETS, seconds)]
        with self._lock:
            self._counts[f"{name}_sum", plain] += seconds
            self._counts[f"{name}_bucket", (*plain, end)] += 1

    def save(self) -> None:
        """Write what was counted where the other workers read it."""
        if self._folder is None:
            return
        path = self._folder / f"metrics.{os.getpid()}"
        beside = self._folder / f"new-metrics.{os.getpid()}"
        # Numbers for a screen need not be on the disk; a reader sees a whole file.
        with suppress(OSError):
            beside.write_text(json.dumps(self._counted()))
            beside.replace(path)

    def close(self) -> None:
        """Write a last time; the counters of a worker that ended still count."""
        self._gauges.clear()
        self.save()

    def text(self) -> str:
        """Return the counters of all workers in the text format of Prometheus."""
        self.save()
        totals: defaultdict[tuple[str, Labels], float] = defaultdict(float)
        gauges: defaultdict[str, float] = defaultdict(float)
        for content in self._contents():
            for name, labels, number in content["counts"]:
                totals[name, tuple((key, value) for key, value in labels)] += number
            for name, value in content["gauges"].items():
                gauges[name] += value
        complete = _cumulated(totals)
        lines = []
        for family, meaning in HELP.items():
            own = {key: n for key, n in complete.items() if key[0].rpartition("_")[0] == family}
            if family in gauges:
                own = {(family, ()): gauges[family]}
            if own:
                kind = "gauge" if family in gauges else "counter"
                kind = "histogram" if family.endswith("_seconds") else kind
                shown = f"hartley_{family}" + ("_total" if kind == "counter" else "")
                lines += [f"# HELP {shown} {meaning}", f"# TYPE {shown} {kind}"]
                for (name, labels), n in own.items():
                    words = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels)
                    lines.append(f"hartley_{name}{f'{{{words}}}' if labels else ''} {n:.15g}")
        return "\n".join(lines) + "\n"

    def _counted(self) -> dict[str, Any]:
        with self._lock:
            counts = [[name, list(labels), n] for (name, labels), n in self._counts.items()]
        return {"counts": counts, "gauges": dict(self._gauges)}

    def _contents(self) -> list[dict[str, Any]]:
        if self._folder is None:
            return [self._counted()]
        contents = []
        for path in self._folder.glob("metrics.*"):
            with suppress(OSError, ValueError):
                content = json.loads(path.read_text())
                if not is_alive(int(path.suffix[1:])):  # killed: what it counted still counts
                    content["gauges"] = {}
                contents.append(content)
        return contents


def is_alive(process: int) -> bool:
    """Tell whether a process of this machine runs."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _cumulated(totals: dict[tuple[str, Labels], float]) -> dict[tuple[str, Labels], float]:
    """Return counters in which a class of durations counts all shorter ones too."""
    timed = {(name, labels[:-1]) for name, labels in totals if name.endswith("_bucket")}
    complete = {key: n for key, n in totals.items() if not key[0].endswith("_bucket")}
    for name, plain in sorted(timed):
        number = 0.0
        for end in (*ENDS, LAST):
            number += totals.get((name, (*plain, end)), 0.0)
            complete[name, (*plain, end)] = number
        complete[f"{name.removesuffix('_bucket')}_count", plain] = number
    return complete


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
