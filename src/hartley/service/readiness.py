"""Whether a worker can answer: the ledger is writable, the copies are open, the engine is exact."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hartley.agent.questions.question import parse
from hartley.agent.statistics.statistics import totals
from hartley.engines.coded.copying import code_table
from hartley.engines.dialects.probes import probe_engine
from hartley.engines.dialects.registry import EMBEDDED
from hartley.engines.tables.sources import open_table
from hartley.errors import HartleyError
from hartley.ranges.schema.schema import Schema
from hartley.service.accounts.tables import change
from hartley.service.coverage import uncovered

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.service.hosted_dataset import OpenVersion
    from hartley.service.service import Service

SELF_CHECK_SECONDS, WRITE_SECONDS, LOOK_SECONDS = 60.0, 2.0, 0.5
"""For how long results count: of the engine's self-check, of a write to the ledger, of a look."""
DUMMY_ROWS, AT_LEAST = 400, 40
DUMMY_SCHEMA = {
    "table": {"name": "invented"},
    "columns": {
        "sex": {"kind": "private", "values": ["F", "M"]},
        "age": {"kind": "private", "range": [0, 100], "step": 1},
    },
}


def readiness(service: Service) -> dict[str, str | None]:
    """Return each check with its problem, None where there is none."""
    checks = {
        "ledger": _lasting(service, "ledger", WRITE_SECONDS, lambda: _write(service)),
        "engine": _lasting(service, "engine", SELF_CHECK_SECONDS, self_check),
    }
    for name, hosted in service.hosted.items():
        # Anybody may ask, so nothing is computed for every request.
        for what, work in (
            (f"dataset {name}", lambda hosted=hosted: hosted.run(_check_copy)),
            (f"budget {name}", lambda name=name: _check_cover(service, name)),
        ):
            checks[what] = _lasting(service, what, LOOK_SECONDS, work)
    return checks


def _problem(work: Callable[[], object]) -> str | None:
    try:
        work()
    except HartleyError as error:
        return error.problem
    except Exception as error:  # noqa: BLE001 - its message may name files
        return f"it failed ({type(error).__name__})"
    return None


def _write(service: Service) -> None:
    """Write to the database of the ledger: the mark of the accounts, which is random anyway.

    A database does not write what is the same as before, and would seem writable on a full disk.
    """
    service.ledger.store.write(change)
    service.resources.guard.check()


def _check_copy(opened: OpenVersion) -> None:
    held = opened.agent._ready()  # noqa: SLF001 - the copy is the agent's own
    held.coded.check_unchanged()


def _check_cover(service: Service, dataset: str) -> None:
    budget = uncovered(service.ledger, dataset)
    if budget is not None:
        raise HartleyError(
            f"The allowances exceed what is left of {budget}", hint="raise it, or lower allowances"
        )


def _lasting(service: Service, name: str, seconds: float, work: Callable[[], object]) -> str | None:
    """Return the problem of a check that is made only every so often, however often it is asked."""
    now, checked = time.monotonic(), service.checked
    if name not in checked or now - checked[name][0] > seconds:
        checked[name] = (now, _problem(work))
    return checked[name][1]


def self_check() -> None:
    """Raise an error unless the engine passes its probes and answers about invented rows exactly.

    The rows are invented from a schema, so the right answers are counted here, without the engine.
    """
    failed = [probe.name for probe in probe_engine(EMBEDDED, EMBEDDED.open()) if not probe.holds]
    if failed:
        raise HartleyError(f"The engine fails the probe '{failed[0]}'", hint="see hartley doctor")
    schema = Schema.read(DUMMY_SCHEMA)
    rows = schema.dummy_data(DUMMY_ROWS)
    people = list(zip(rows["sex"].to_pylist(), rows["age"].to_pylist(), strict=True))
    ages = [int(age) for sex, age in people if sex == "F" and age >= AT_LEAST]
    coded = code_table(open_table(rows), schema.codings)
    try:
        for text, expected in (("COUNT(*)", len(ages)), ("SUM(age)", sum(ages))):
            where = f"sex = 'F' AND age >= {AT_LEAST}"
            question = f"SELECT {text} FROM invented WHERE {where}"  # noqa: S608 - our own words
            selection = parse(question, schema, DUMMY_ROWS)
            if totals(coded, selection.questions) != [expected]:
                raise HartleyError(
                    f"The engine gives a wrong {text} of invented rows", hint="see hartley doctor"
                )
    finally:
        coded.close()
