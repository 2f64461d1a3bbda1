"""How long the product takes to start, against packages that its users import anyway.

Whole processes are measured, the start of the interpreter included.
"""

from __future__ import annotations

import sys
from pathlib import Path

from measure import Work, measure_together, ratio
from results import Row, Settings, Topic, raw

NAME = "import time"
HELP = "hartley --help"
PRODUCTS = ("import hartley", HELP)
PEERS = ("import numpy", "import pandas", "bare interpreter")


def run(settings: Settings) -> list[Row]:
    """Measure imports and the help of the command line."""
    settings.log(NAME)
    missing: dict[str, str] = {}
    works = [
        Work("bare interpreter", (sys.executable, "-c", "pass")),
        *(
            Work(name, (sys.executable, "-c", name))
            for name in (*PRODUCTS, *PEERS)
            if name.startswith("import ")
        ),
    ]
    command = Path(sys.executable).with_name("hartley")
    if command.exists():
        works.append(Work(HELP, (str(command), "--help")))
    else:
        missing[HELP] = "the command is not installed beside the interpreter"
    if not settings.quick:
        measure_together(works, repeats=1)  # so that the first round finds the files in memory
    rounds = measure_together(works, repeats=1 if settings.quick else 2 * settings.repeats)
    missing |= rounds.failed
    if HELP not in missing and "Usage" not in rounds.found[HELP][0].answer:
        missing[HELP] = "the command prints no help"
    rows = []
    for product in PRODUCTS:
        for peer in PEERS:
            topic = Topic(NAME, "-", product, peer, "wall time of the whole process")
            if product in missing or peer in missing:
                rows.append(topic.missing(missing.get(product) or missing[peer]))
                continue
            times = ratio(rounds.found[product], rounds.found[peer], "seconds")
            rows.append(topic.costs(times, raw=raw(rounds.found, "seconds", product, peer)))
    return rows
