"""What the engine tests share: values that no message may repeat, and the search for them."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest

NUMBER = 987_654_321


@pytest.fixture(scope="session")
def refused():
    """Expect a well-said refusal: ``with refused(ColumnError, "'age'", "people.csv"): ...``.

    The message is one line, names the culprit, carries a hint and repeats no planted value; and
    no other exception hides behind it whose words might.
    """

    @contextmanager
    def expect(kind, *named):
        with pytest.raises(kind) as caught:
            yield caught
        message = str(caught.value)
        assert type(caught.value) is kind
        assert re.fullmatch(r"[^\n\r]+; hint: [^\n\r]+", message)
        for planted in ("SECRET-7741", "SECRET", "7741", str(NUMBER), "9.87654321", f"{NUMBER:,}"):
            assert planted not in message
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        for name in named:
            assert name in message

    return expect
