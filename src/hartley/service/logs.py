"""Logs as JSON lines: what happened and how long it took, never a question, a token or a value."""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

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
            "message": record.getMessage() if record.name == LOGGER.name else _own(record),
        }
        content |= {
            name: value for name in FIELDS if (value := getattr(record, name, None)) is not None
        }
        if record.exc_info and record.exc_info[1] is not None:
            content["exception"] = places_of(record.exc_info[1])
        return json.dumps(content, ensure_ascii=True, default=str)


def _own(record: logging.LogRecord) -> str:
    """Return the message of the server; its warnings about requests quote bytes of clients."""
    if record.name.startswith("uvicorn") and record.levelno < logging.WARNING:
        return record.getMessage()
    return str(record.msg)


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
