"""Attack the trusted agent: enumerate what one person's data can make an outsider see.

Written from the promise (docs/accountant.md, docs/questions.md, docs/ledger.md). A world is a tiny
table in which one person's rows vary over everything that they could be. For each of these a fresh
agent, with a real ledger on a real engine, meets the same strategy: a function of the transcript
so far that picks the next batch, analyst or owner's act. The transcript is all that an outsider
sees: answers, refusals, quotes, balances, and the rows of the ledger with the cells in them. Times
and random names are fixed, so that whatever else differs between two runs tells of the person.

The long run, about half an hour on one core:

    python tests/theorems/transcripts.py --strategies 500 --seed 1
"""

# ruff: noqa: S311 - random strategies, not secrets
# ruff: noqa: T201 - a program that prints what it met

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from copies import Template, fixed_names, on_files
from sessions import Run
from worlds import draw_world


def enumerate_world(
    world: Any, *, hold: Any = on_files, length: int | None = None
) -> tuple[list[Run], list[str]]:
    """Let every secret of a world meet its strategy; return the runs and what is wrong."""
    steps = random.Random(world.seed).choice([6, 7, 8, 9, 10]) if length is None else length
    shared = Path("/dev/shm")  # noqa: S108 - in memory, where there is such a folder
    runs, template = [], Template() if hold is on_files and world.seed % 8 else None
    twice = [world.secrets[0]] if world.seed % 5 == 0 else []  # whether nothing is random
    for secret in [*twice, *world.secrets]:
        with (
            tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder,
            fixed_names(),
            nullcontext() if template is None else template.in_use(),
        ):
            runs.append(Run(world, secret, Path(folder), hold, template).walk(steps))
    problems = [problem for run in runs for problem in run.problems]
    if twice and runs[0].transcript != runs[1].transcript:
        problems.append(f"not a function of the data: world {world.seed}")
    problems += [] if template is None else template.problems
    return runs, [*judge(world, runs), *problems]


ORDERS = re.compile(r"MEDIAN|QUANTILE|PERCENTILE|MIN|MAX|PUBLISHED \{", re.IGNORECASE)


def judge(world: Any, runs: list[Run]) -> list[str]:
    """Count transcripts, node by node and in all, and compare with what was charged."""
    problems, world.attained[:] = [], [0, 0]
    for depth in range(max(len(run.steps) for run in runs)):
        reached = [run for run in runs if depth < len(run.steps)]
        totals = {run.steps[depth].after: run.steps[depth].total for run in reached}
        weight = sum(Fraction(1, total) for total in totals.values())
        most = max(run.steps[depth].limit for run in reached)
        if weight > 1 or len(totals) > most:
            problems.append(
                f"too many transcripts: world {world.seed}, step {depth}: {len(totals)} of at most "
                f"{most}, weight {weight}"
            )
        children: dict[Any, set[str]] = defaultdict(set)
        charges, texts = {}, {}
        for run in reached:
            step = run.steps[depth]
            # An order statistic tells its filter, which its answers may not show, and a table is
            # charged with the cells that it hides. One node can then
            # have more answers than its charge; what is bounded is the whole tree, above.
            if any(ORDERS.search(earlier.text) for earlier in run.steps[:depth]):
                continue
            told = zip(world.versions, run.secret, strict=True)
            opened = [version.opened(secret) for version, secret in told]
            node = step.before, tuple(opened[: step.version + 1])
            children[node].add(step.after)
            charges[node] = step.charge
            texts[node] = step.text
        for node, after in children.items():
            world.attained[0] += charges[node] > 1
            world.attained[1] += charges[node] > 1 and len(after) == charges[node]
            if len(after) > charges[node]:
                problems.append(
                    f"too many answers: world {world.seed}, step {depth}: {len(after)} where "
                    f"{charges[node]} were charged: {texts[node].partition('STANDING')[0][:1500]}"
                )
    return problems


@dataclass
class Tally:
    """What was tried, over many worlds."""

    strategies: int = 0
    agents: int = 0
    batches: int = 0
    questions: int = 0
    asked: int = 0
    transcripts: int = 0
    charged: int = 0
    """Places of the trees where something was charged."""
    attained: int = 0
    """Those where as many answers occurred as were charged."""
    features: Counter[str] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)
    schemas: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    problems: dict[tuple[str, int], str] = field(default_factory=dict)
    """The first one of every kind in every world."""

    def add(self, world: Any, runs: list[Run], problems: list[str]) -> None:
        self.strategies += 1
        self.agents += len(runs)
        self.transcripts += len({run.transcript for run in runs})
        self.charged += world.attained[0]
        self.attained += world.attained[1]
        nodes: dict[str, tuple[Counter[str], int]] = {}
        for run in runs:
            self.acts += run.used
            self.asked += sum(step.questions for step in run.steps)
            nodes |= {before: (counted, size) for before, counted, size in run.nodes}
        for counted, size in nodes.values():
            self.features += counted
            self.batches += 1
            self.questions += size
        first = world.versions[0]
        self.schemas[f"rows {first.rows}"] += 1
        self.schemas[f"rows_per_unit {first.rows_per_unit}"] += 1
        self.schemas["unit" if first.unit else "no unit"] += 1
        for column in first.columns.values():
            self.schemas[column.kind] += 1
            self.schemas["nullable"] += column.nullable
            self.schemas["other"] += column.other
        for problem in problems:
            kind = problem.partition(":")[0]
            self.kinds[kind] += 1
            self.problems.setdefault((kind, world.seed), problem)

    def __str__(self) -> str:
        lines = [
            f"{self.strategies} strategies, {self.agents} agents",
            f"{self.questions} adaptive questions in {self.batches} batches at different places",
            f"{self.asked} questions asked in all, {self.transcripts} transcripts",
            f"{self.charged} places charged, at {self.attained} every answer paid for occurred",
        ]
        for name in ("schemas", "acts", "features", "kinds"):
            listed = sorted(getattr(self, name).items())
            lines.append(f"{name}: " + ", ".join(f"{key} {times}" for key, times in listed))
        return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Enumerate the transcripts of random agents.")
    parser.add_argument("--strategies", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="which strategy to begin with")
    parser.add_argument("--width", type=int, default=700, help="of what is said of a problem")
    options = parser.parse_args()
    tally, started = Tally(), time.monotonic()
    for number in range(options.first, options.first + options.strategies):
        world = draw_world(options.seed * 1_000_000 + number)
        try:
            runs, problems = enumerate_world(world)
        except Exception as error:  # noqa: BLE001 - the other worlds are worth trying
            runs, problems = [], [f"an error outside of questions: world {world.seed}: {error!r}"]
        tally.add(world, runs, problems)
        for (_, seed), problem in tally.problems.items():
            if seed == world.seed:
                print(problem[: options.width], flush=True)
        if number % 25 == 24:
            spent = time.monotonic() - started
            met = f"{tally.strategies} strategies, {tally.agents} agents"
            print(f"... {met}, {tally.questions} questions, {spent:.0f} s", flush=True)
    print(tally)
    sys.exit(bool(tally.problems))


if __name__ == "__main__":
    main()
