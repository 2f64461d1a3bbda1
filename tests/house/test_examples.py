"""Generated examples are the same in every run, whatever ran before."""

import sys
from types import ModuleType

from hypothesis.internal.conjecture.providers import HypothesisProvider


def test_no_example_comes_from_the_source_of_a_module(tmp_path, monkeypatch):
    path = tmp_path / "loaded.py"
    path.write_text("ODD = 918_273_645\n")
    module = ModuleType("loaded")
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "loaded", module)
    assert len(HypothesisProvider(None)._local_constants) == 0
