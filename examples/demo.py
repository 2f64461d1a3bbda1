"""Audit, design, release, verify, audit again, then ask: what ``make demo`` shows."""

# ruff: noqa: INP001, S603, T201 - a script that runs the commands and prints what they say

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from ask_demo import ask_five

COLUMNS = "age,sex,region"
MADE = (
    *("people.parquet", "audit.html", "policy.toml", "design.html", "released.parquet"),
    *("certificate.json", "after.html", "ledger.db*", "hartley.*.head"),
)
"""What the demonstration writes; no command replaces a file unless it is told to."""


def main(out: str) -> None:
    """Run every command, say what it found, and compare the leakage before and after."""
    Path(out).mkdir(exist_ok=True)
    for pattern in MADE:
        for file in Path(out).glob(pattern):
            file.unlink()
    table, released = f"{out}/people.parquet", f"{out}/released.parquet"
    policy, certificate = f"{out}/policy.toml", f"{out}/certificate.json"
    show("A table of people who do not exist.", f"hartley sample {table}")
    before = show(
        "What would age, sex and region as they are tell about whose record it is?",
        f"hartley audit {table} --secret ROW --released {COLUMNS} --sweep age=1:50 "
        f"--html {out}/audit.html",
    )
    show(
        "The most useful release that tells at most 4 bits about a person.",
        f"hartley design examples/people.design.toml -o {policy} --html {out}/design.html",
    )
    show(
        "The table as that policy releases it, and what is promised.",
        f"hartley release {table} {policy} -o {released} --certificate {certificate} --strict",
    )
    show(
        "Does the promise hold? Everything is computed again.",
        f"hartley verify {policy} {certificate}",
    )
    after = show(
        "What do age, sex and region as released tell?",
        f"hartley audit {released} --secret ROW --released {COLUMNS} --html {out}/after.html",
    )
    print("                                        before    after")
    for what, find in (
        ("bits that a released row tells at most", leakage),
        ("records that stay possible, at worst", left),
        ("different released rows", lambda report: report["released_values"]),
    ):
        print(f"{what:<38}{find(before):>8,}{find(after):>9,}")
    print(
        "\nThe certificate bounds how many releases a record can have: 16, which are 4 bits. How"
        "\nfar the rarest of them narrows down whose record it is depends on the table; the audit"
        "\ncounts that."
    )
    pages = "audit.html (before), design.html and after.html"
    print(f"\nOpen {pages} in {out}/ with a browser.\n")
    ask_five(out, table)
    print(
        "\nThe same for many people, with accounts and a console in the browser:"
        "\n  hartley demo\nIt prints the address to open and a token to log in with."
    )


def show(why: str, command: str) -> dict[str, Any]:
    """Run a command, print the sentence that it ends in, and return all that it says."""
    print(f"{why}\n  $ {command}")
    words = [sys.executable, "-m", "hartley.cli", *shlex.split(command)[1:], "--json"]
    found = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    content: dict[str, Any] = json.loads(found.stdout)
    told = content.get("headline") or content.get("claim") or f"{content.get('rows'):,} rows."
    print(textwrap.indent(textwrap.fill(told, 94), "  "), end="\n\n")
    return content


def leakage(report: dict[str, Any]) -> float:
    """Return how far the most telling released row narrows whose record it is, rounded up."""
    found: dict[str, float] = {finding["name"]: finding["value"] for finding in report["findings"]}
    return math.ceil(found["nonstochastic_leakage"] * 100) / 100


def left(report: dict[str, Any]) -> int:
    """Return how many records the most telling released row leaves possible."""
    return int(report["narrowest"][0]["secrets_left"])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "out")
