"""Use a ledger that can only be read, as somebody who may not write; started by the tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from typer.testing import CliRunner

from hartley import Agent
from hartley.cli.main import app
from hartley.errors import HartleyError

KNOWN = "SELECT COUNT(*) FROM people WHERE age > 40"
NEW = "SELECT COUNT(*) FROM people WHERE age > 50"


def outcome(act):
    try:
        return str(act())
    except HartleyError as error:
        return f"{type(error).__name__}: {error}"


def use(ledger, schema, elsewhere):
    """Do everything that reads, and try all that writes."""
    run = CliRunner()
    commands = {
        "verify": ["ledger", "verify", ledger, "--json"],
        "show": ["ledger", "show", ledger, "--json"],
        "export": ["ledger", "export", ledger, f"{elsewhere}/x.jsonl", "--json"],
        "backup": ["ledger", "backup", ledger, f"{elsewhere}/x.db", "--json"],
        "price": ["price", NEW, "--schema", schema, "--ledger", ledger, "--json"],
        "repeat": ["ask", KNOWN, "--schema", schema, "--ledger", ledger, "--json"],
    }
    found = {name: run.invoke(app, words).exit_code for name, words in commands.items()}
    with Agent(None, schema, ledger=ledger) as agent:
        agent.ledger.save_head(f"{elsewhere}/head")
        found["answer"] = outcome(lambda: agent.ask(KNOWN).value)
        found["new"] = outcome(lambda: agent.ask(NEW).value)
        found["budget"] = outcome(lambda: agent.set_budget(9))
        found["summary"] = outcome(agent.summary)
        found["rows"] = agent.ledger.verify().rows
    found["left"] = sorted(path.name for path in Path(ledger).parent.iterdir())
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(use(*sys.argv[1:])))
