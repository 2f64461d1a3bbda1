"""Ask a private table five questions: what the last part of ``make demo`` shows."""

# ruff: noqa: INP001, T201 - a script that prints what it finds

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.padding import Padding

import hartley

CONSOLE = Console(highlight=False)
SCHEMA = Path(__file__).with_name("people.schema.toml")
BUDGET = 12
QUESTIONS = (
    (
        "How old are people, to half a year or better?",
        "SELECT AVG(age) FROM people",
        {"error": 0.5},
    ),
    (
        "How many have diabetes?",
        "SELECT COUNT(*) FROM people WHERE diagnosis = 'diabetes'",
        {"bits": 1},
    ),
    (
        "What do people earn, region by region, for 3 bits?",
        "SELECT region, AVG(income) FROM people GROUP BY region",
        {"bits": 3},
    ),
    (
        "How tall is the person in the middle, to 4 cm?",
        "SELECT MEDIAN(height) FROM people",
        {"error": 4},
    ),
    (
        "How often do women and men see a doctor, for 1 bit?",
        "SELECT sex, AVG(visits) FROM people GROUP BY sex",
        {"bits": 1},
    ),
)


def ask_five(out: str | Path, table: object = None) -> None:
    """Make a ledger afresh and ask it five questions about the sample table.

    Args:
        out: the folder that the ledger lies in; an older one is removed.
        table: the sample table; people who do not exist if left out.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("ledger.db*"), *folder.glob("hartley.*.head")):
        old.unlink()  # the note too: it says that a ledger of this name has had rows
    with hartley.Agent(
        hartley.people() if table is None else table,
        SCHEMA,
        budget=BUDGET,
        ledger=folder / "ledger.db",
    ) as agent:
        print("Nobody sees the table; an agent answers questions about it, truthfully.")
        print(agent.summary().split("\n")[0])
        print(f"The column sex is open: {agent.spent:g} bit is paid for it once.\n")
        for why, text, wish in QUESTIONS:
            print(f"{why}\n  {text}")
            show(agent.ask(text, **wish))
        why, text, wish = QUESTIONS[0]
        print("The first question again\n  " + text)
        show(agent.ask(text, **wish))
        refuse(agent, "SELECT AVG(weight) FROM people", error=0)
        print(f"\nWhat was asked and charged: hartley ledger show {folder / 'ledger.db'}")


def show(answer: object) -> None:
    """Print the numbers of an answer, the intervals that hold the truth, and what they cost."""
    CONSOLE.print(Padding(answer, (0, 0, 1, 4), expand=False))


def refuse(agent: hartley.Agent, text: str, **wish: object) -> None:
    """Ask for more than is left, and print why it is refused."""
    print(f"Exact weights?\n  {text}")
    try:
        agent.ask(text, **wish)
    except hartley.Refused as refused:
        print(f"    refused: {refused.problem[0].lower()}{refused.problem[1:]}")


if __name__ == "__main__":
    ask_five(sys.argv[1] if len(sys.argv) > 1 else "out")
