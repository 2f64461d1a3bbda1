"""What an answer promises, as a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.agent.ledger.entries import write_integer
from hartley.agent.pricing.price import RULE_VERSION
from hartley.exact import bits_at_least
from hartley.guarantees.certificate import Certificate
from hartley.guarantees.promise import UNRELATED, shown_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.ranges.schema.schema import Schema

RULES = str(RULE_VERSION)
"""The version of the pricing rules; a charge is priced again by those that it was made under."""
LONG = 10**15
"""A larger number is shown as a power of two."""


def certificate_of(texts: Sequence[str], cells: int, schema: Schema) -> Certificate:
    """Return what is promised of a batch: how many answers one person's data can produce.

    Example:
        >>> from hartley.ranges.schema.schema import Schema
        >>> sex = {"sex": {"kind": "private", "values": ["F", "M"]}}
        >>> people = Schema.read({"table": {"name": "people"}, "columns": sex})
        >>> print(certificate_of(["SELECT COUNT(*) FROM people WHERE sex = 'F'"], 2, people).claim)
        Whatever the data of one person is, the answers take one of at most 2 values.
    """
    who = "one row is one person" if schema.unit is None else f"'{schema.unit}' names the person"
    rows = schema.rows_per_unit
    number = f"{cells:,}" if cells < LONG else f"2^{shown_up(bits_at_least(cells))}"
    return Certificate(
        kind="noiseless privacy",
        claim=(
            "Whatever the data of one person is, the answers take one of at most "
            f"{number} value{'s' if cells != 1 else ''}."
        ),
        value=bits_at_least(cells),
        unit="bits",
        theorem="Farokhi 2019 (Noiseless Privacy), Definition 1, with the accountant's theorem",
        rule="corrected",
        sound=True,
        certainty="bound",
        assumptions=(
            f"{who}, who has at most {rows} row{'s' if rows != 1 else ''}",
            "everybody else's data stays fixed",
            UNRELATED,
            "the schema, public columns and the number of rows are known to everybody"
            if schema.rows == "public"
            else "the schema and public columns are known to everybody",
            "the truth is the table clamped to its ranges and snapped to its steps",
        ),
        parameters={"questions": list(texts), "cells": write_integer(cells), "rules": RULES},
    )
