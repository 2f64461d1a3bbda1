"""What the benchmarks found: rows of one table, on the terminal, in Markdown and in JSON.

The scripts of a peer import this too, so it needs the standard library alone until it prints.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from measure import Measurement, Ratio

Size = TypeVar("Size")
HEADINGS = (
    "benchmark",
    "size",
    "measured",
    "against",
    "quantity",
    "result",
    "rounds",
    "target",
    "",
)


@dataclass(frozen=True)
class Settings:
    """What a run of the benchmarks was asked for."""

    quick: bool = False
    tiny: bool = False
    """The least sizes at which everything runs, as a test does; then quick is true as well."""
    peers: bool = True
    rows: tuple[int, ...] = (10**7, 10**8)
    repeats: int = 5
    log: Callable[[str], None] = print

    def sized(self, full: Size, quick: Size, tiny: Size) -> Size:
        """Return the one of three sizes that was asked for."""
        return tiny if self.tiny else quick if self.quick else full


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    benchmark: str
    size: str
    product: str
    against: str
    quantity: str
    result: str
    rounds: str = "-"
    target: str = "-"
    met: bool | None = None
    """Whether the target is reached, where there is one."""
    value: float | None = None
    seconds: Mapping[str, Sequence[float]] | None = None
    """What was measured, kept out of the table: seconds of one machine are no promise."""

    def cells(self) -> tuple[str, ...]:
        """Return the texts of the columns."""
        verdict = {None: "", True: "met", False: "missed"}[self.met]
        return (
            self.benchmark,
            self.size,
            self.product,
            self.against,
            self.quantity,
            self.result,
            self.rounds,
            self.target,
            verdict,
        )


@dataclass(frozen=True)
class Topic:
    """What a row is about."""

    benchmark: str
    size: str
    product: str
    against: str
    quantity: str = "wall time"

    def missing(self, reason: str, *, missed: bool = False) -> Row:
        """Return the row of a comparison that could not be made; a target may be missed by it."""
        return Row(**asdict(self), result=reason, met=False if missed else None)

    def costs(self, found: Ratio, *, at_most: float | None = None, raw: Raw | None = None) -> Row:
        """Return the row that says how many times as much the product takes."""
        return Row(
            **asdict(self),
            result=f"{_short(found.value)} x",
            rounds=f"{_short(found.low)} to {_short(found.high)}",
            target="-" if at_most is None else f"at most {at_most:g} x",
            met=None if at_most is None else found.value <= at_most,
            value=found.value,
            seconds=raw,
        )

    def beats(self, found: Ratio, *, at_least: float | None = None, raw: Raw | None = None) -> Row:
        """Return the row that says how many times as fast the product is."""
        return Row(
            **asdict(self),
            result=f"{_short(found.value)} x as fast",
            rounds=f"{_short(found.low)} to {_short(found.high)}",
            target="-" if at_least is None else f"at least {at_least:g} x as fast",
            met=None if at_least is None else found.value >= at_least,
            value=found.value,
            seconds=raw,
        )

    def weighs(self, measured: Sequence[Measurement], *, at_most: float | None = None) -> Row:
        """Return the row that says how much memory the product takes at its peak."""
        peaks = [one.peak / 1e9 for one in measured]
        return Row(
            **asdict(self),
            result=f"{max(peaks):.2f} GB",
            rounds=f"{min(peaks):.2f} to {max(peaks):.2f}",
            target="-" if at_most is None else f"at most {at_most:g} GB",
            met=None if at_most is None else max(peaks) <= at_most,
            value=max(peaks),
        )

    def lasts(
        self, measured: Sequence[Measurement], quantity: str, at_most: float | None = None
    ) -> Row:
        """Return the row that says how many milliseconds something takes on this machine."""
        times = [1000 * float(getattr(one, quantity)) for one in measured]
        median = statistics.median(times)
        return Row(
            **asdict(self),
            result=f"{_short(median)} ms",
            rounds=f"{_short(min(times))} to {_short(max(times))}",
            target="-" if at_most is None else f"at most {at_most:,g} ms",
            met=None if at_most is None else median <= at_most,
            value=median,
        )


Raw = dict[str, list[float]]


def raw(measured: Mapping[str, Sequence[Measurement]], quantity: str, *names: str) -> Raw:
    """Return the seconds behind a ratio."""
    return {name: [float(getattr(one, quantity)) for one in measured[name]] for name in names}


def _short(number: float) -> str:
    """Return three significant digits, without powers of ten."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}" if number >= 1 else f"{number:.2g}"


# --- writing ----------------------------------------------------------------------------------


def surroundings(versions: Mapping[str, str], *, settings: Settings) -> dict[str, object]:
    """Return what a reader must know to judge the numbers."""
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "processors": os.cpu_count(),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "quick": settings.quick,
        "versions": dict(versions),
    }


def show(rows: Sequence[Row]) -> None:
    """Print the table, a section for each benchmark and size."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Benchmarks")
    for heading in ("measured", "against", "quantity", "result", "target", ""):
        table.add_column(heading)
    last = None
    for row in rows:
        if last != (row.benchmark, row.size):
            last = row.benchmark, row.size
            table.add_section()
            title = row.benchmark if row.size == "-" else f"{row.benchmark}, {row.size}"
            table.add_row(f"[bold]{title}[/bold]")
        _, _, measured, against, quantity, result, _, target, verdict = row.cells()
        table.add_row(measured, against, quantity, result, target, verdict)
    Console().print(table)


def write(rows: Sequence[Row], around: Mapping[str, object], *, markdown: Path, data: Path) -> None:
    """Write the table as Markdown and everything behind it as JSON."""
    for path in (markdown, data):
        path.parent.mkdir(parents=True, exist_ok=True)
    lines = [HEADINGS, ["---"] * len(HEADINGS), *(row.cells() for row in rows)]
    versions = around["versions"]
    assert isinstance(versions, dict)
    markdown.write_text(
        "# Benchmarks\n\n"
        "Ratios of the product against a peer, or against reading the data, measured in one run: "
        "the\nmedian of interleaved rounds, then the least and the largest ratio of a round. "
        "The answers of both sides\nwere equal wherever there is a ratio. "
        "`make bench` writes this file.\n\n"
        + (
            "Small sizes (`--quick`) without warming up: not what the targets are about.\n\n"
            if around["quick"]
            else ""
        )
        + f"- Date: {around['date']}\n"
        f"- Machine: {around['processors']} processors, {around['machine']}, {around['system']}, "
        f"Python {around['python']}\n"
        f"- Versions: {', '.join(f'{name} {version}' for name, version in versions.items())}\n\n"
        + "".join(f"| {' | '.join(line)} |\n" for line in lines),
        encoding="utf-8",
    )
    data.write_text(
        json.dumps({**around, "rows": [asdict(row) for row in rows]}, indent=1) + "\n",
        encoding="utf-8",
    )
