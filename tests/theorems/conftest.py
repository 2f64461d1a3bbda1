"""Give every test of this folder the brute-force oracles."""

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the enumerator's modules import each other


@pytest.fixture(scope="session")
def oracle():
    """The module oracles.py beside this file, which shares nothing with the package."""
    spec = importlib.util.spec_from_file_location(
        "theorem_oracles", Path(__file__).with_name("oracles.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
