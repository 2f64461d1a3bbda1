"""What tests of agents share, and modules beside the tests."""

import sys
from pathlib import Path

from agents import agent, ledger, let_fail, people, schema, with_columns  # noqa: F401 - fixtures

sys.path.insert(0, str(Path(__file__).parent))
