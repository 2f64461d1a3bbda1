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
from hartley.service.coverage import uncovered

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.agent.ledger.store import Transaction
    from hartley.service.hosted_dataset import OpenVersion
    from hartley.service.service import Service

SELF_CHECK_SECONDS = 60.0
"""For how long the result of the engine's self-check counts."""
DUMMY_ROWS, AT_LEAST = 400, 40
DUMMY_SCHEMA = {
    "table": {"name": "invented"},
    "columns": {
        "sex": {"kind": "private", "values": ["F", "M"]},
        "age": {"kind": "private", "range": [0, 100], "step": 1},
    },
}
_checked: list[tuple[float, str | None]] = []


def readiness(service: Service) -> dict[str, str | None]:
    """Return each check with its problem, None where there is none."""
    checks = {"ledger": _problem(lambda: _write_nothing(service)), "engine": _engine()}
    for name, hosted in service.hosted.items():
        checks[f"dataset {name}"] = _problem(lambda hosted=hosted: hosted.run(_check_copy))  # type: ignore[misc]
        checks[f"budget {name}"] = _problem(lambda name=name: _check_cover(service, name))  # type: ignore[misc]
    return checks


def _problem(work: Callable[[], object]) -> str | None:
    try:
        work()
    except HartleyError as error:
        return error.problem
    except Exception as error:  # noqa: BLE001 - its message may name files
        return f"it failed ({type(error).__name__})"
    return None


def _write_nothing(service: Service) -> None:
    """Take the writer's lock and write what is there already, so that nothing changes."""

    def work(transaction: Transaction) -> None:
        transaction.run("UPDATE hartley_head SET format = format", ())

    service.ledger.store.write(work)


def _check_copy(opened: OpenVersion) -> None:
    held = opened.agent._ready()  # noqa: SLF001 - the copy is the agent's own
    held.coded.check_unchanged()


def _check_cover(service: Service, dataset: str) -> None:
    budget = uncovered(service.ledger, dataset)
    if budget is not None:
        raise HartleyError(
            f"The allowances exceed what is left of {budget}", hint="raise it, or lower allowances"
        )


def _engine() -> str | None:
    """Return the problem of the engine; checked once a minute, since it takes milliseconds."""
    now = time.monotonic()
    if not _checked or now - _checked[-1][0] > SELF_CHECK_SECONDS:
        _checked[:] = [(now, _problem(self_check))]
    return _checked[-1][1]


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
