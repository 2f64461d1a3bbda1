"""Whether a worker can answer: the ledger is writable, the copies are open, the engine is exact."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hartley.agent.data import Holding
from hartley.agent.quotes import Desk
from hartley.agent.statistics.statistics import totals
from hartley.engines.coded.copying import code_table
from hartley.engines.dialects.probes import probe_engine
from hartley.engines.dialects.registry import EMBEDDED
from hartley.engines.tables.sources import open_table
from hartley.errors import HartleyError
from hartley.ranges.schema.schema import Schema
from hartley.service.coverage import uncovered

if TYPE_CHECKING:
    from hartley.agent.ledger.store import Transaction
    from hartley.service.hosted_dataset import OpenVersion
    from hartley.service.service import Service

SELF_CHECK_SECONDS = 60.0
"""For how long the result of the engine's self-check counts."""
DUMMY_ROWS = 400
DUMMY_SCHEMA = {
    "table": {"name": "invented"},
    "columns": {
        "sex": {"kind": "private", "values": ["F", "M"]},
        "age": {"kind": "private", "range": [0, 100], "step": 1},
    },
}
_last: dict[str, tuple[float, str | None]] = {}


def readiness(service: Service) -> dict[str, str | None]:
    """Return each check with its problem, None where there is none."""
    checks: dict[str, str | None] = {"ledger": _writable(service), "engine": self_check()}
    for name, hosted in service.hosted.items():
        checks[f"dataset {name}"] = _problem(lambda hosted=hosted: hosted.run(_open_copy))  # type: ignore[misc]
        if checks[f"dataset {name}"] is None:
            budget = uncovered(service.ledger, name)
            checks[f"budget {name}"] = None if budget is None else f"{budget} is too small"
    return checks
