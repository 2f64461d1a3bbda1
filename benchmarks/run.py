"""Run all benchmarks and write one table of ratios.

``make bench`` measures everything, which takes some minutes and installs each peer in its own
environment. A full run writes ``results.md`` beside this file and ``out/benchmarks.json``; a
partial one writes both to ``out``, unless ``--out`` names a folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

import anonymity
import anonymity_peers
import ask
import ask_peers
import audit_rows
import check_tables
import comparison
import environments
import import_time
import mdav
import membership
import noiseless
import optimal_quantizer
import partition
import pram
import price
import privacy_distortion
import release_rows
import scan_table
import service
import volume
import whole_sessions
from results import Row, Settings, show, surroundings, write

HERE = Path(__file__).parent
OUT = HERE.parent / "out"
BENCHMARKS = {
    "audit_rows": audit_rows.run,
    "partition": partition.run,
    "ask": ask.run,
    "price": price.run,
    "sessions": whole_sessions.run,
    "service": service.run,
    "ask_peers": ask_peers.run,
    "release_rows": release_rows.run,
    "noiseless": noiseless.run,
    "optimal_quantizer": optimal_quantizer.run,
    "volume": volume.run,
    "privacy_distortion": privacy_distortion.run,
    "check_tables": check_tables.run,
    "anonymity": anonymity.run,
    "anonymity_peers": anonymity_peers.run,
    "mdav": mdav.run,
    "scan_table": scan_table.run,
    "pram": pram.run,
    "membership": membership.run,
    "comparison": comparison.run,
    "import_time": import_time.run,
}


def main() -> None:
    """Run what the command line asks for."""
    asked = _parser().parse_args()
    console = Console()
    settings = Settings(
        quick=asked.quick or asked.tiny,
        tiny=asked.tiny,
        peers=not asked.no_peers,
        rows=tuple(asked.rows),
        repeats=asked.repeats or (1 if asked.quick or asked.tiny else 5),
        log=lambda text: console.print(text, style="dim"),
    )
    rows: list[Row] = []
    for name in asked.only or BENCHMARKS:
        rows += BENCHMARKS[name](settings)
    around = surroundings(environments.versions(peers=settings.peers), settings=settings)
    show(rows)
    markdown, data = _targets(asked)
    write(rows, around, markdown=markdown, data=data)
    console.print(f"Written: {markdown.name} and {data.name}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Run all benchmarks and write one table.")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round each")
    parser.add_argument("--tiny", action="store_true", help="the least sizes at which all runs")
    parser.add_argument("--no-peers", action="store_true", help="install and run no peers")
    parser.add_argument(
        "--rows",
        type=_size,
        nargs="+",
        default=Settings.rows,
        help="sizes of the audited and released tables (default: 1e7 1e8)",
    )
    parser.add_argument("--repeats", type=int, help="rounds to take the median of")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, help="some benchmarks alone")
    parser.add_argument("--out", type=Path, help="folder to write the results to")
    return parser


def _size(text: str) -> int:
    """Return a number of rows, which may be written as 1e7."""
    return int(float(text))


def _targets(asked: argparse.Namespace) -> tuple[Path, Path]:
    """Return where the table and the data behind it are written."""
    if asked.out is not None:
        return asked.out / "results.md", asked.out / "results.json"
    partial = (
        asked.quick
        or asked.tiny
        or asked.no_peers
        or asked.only
        or tuple(asked.rows) != Settings.rows
    )
    return (OUT if partial else HERE) / "results.md", OUT / "benchmarks.json"


if __name__ == "__main__":
    main()
