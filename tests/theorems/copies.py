"""How the agents of a world get their tables: names that repeat, and copies that are made once."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import duckdb

from hartley.agent import agent as opening_agent
from hartley.engines.coded_table import open_coded
from hartley.engines.registry import EMBEDDED
from hartley.engines.table import Table
from hartley.tables.opening import open_table
from hartley.trusted import data as loading
from hartley.trusted.ledger import chain as appending, state

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def fixed_names() -> Iterator[None]:
    """Draw the same random names and the same times in every run."""
    drawn = iter(range(10**9))

    def name(size: int) -> str:
        return hashlib.sha256(f"name {next(drawn)}".encode()).hexdigest()[: 2 * size]

    def moment() -> str:
        return f"2024-01-01T00:00:00.{next(drawn):06}Z"

    names = SimpleNamespace(token_hex=name)
    with (
        mock.patch.object(loading, "secrets", names),
        mock.patch.object(state, "secrets", names),
        mock.patch.object(appending, "now", moment),
    ):
        yield


def on_files(table: Any, _: str) -> tuple[Any, dict[str, Any]]:
    """Hold a table where an agent holds data by itself: in a file beside its ledger."""
    return table, {}


@dataclass
class Template:
    """What is made once for all secrets of a world: other secrets only change the coded rows.

    Coding a table takes most of the time of a short life. What a schema makes of raw values is
    compared here with codes of our own whenever it is done.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    plans: dict[int, tuple[dict[Any, Any], dict[Any, Any]]] = field(
        default_factory=lambda: defaultdict(lambda: ({}, {}))
    )
    """Of every version the plans and prices of questions: functions of public things alone."""
    problems: list[str] = field(default_factory=list)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        real_open, real_code = opening_agent.open_table, loading.code_table

        def open_table(data: Any) -> Any:
            if isinstance(data, Coded):
                return data if data.key in self.files else real_open(data.table)
            return real_open(data)

        def code_table(table: Any, codings: Any, **more: Any) -> Any:
            if isinstance(table, Coded):
                return self._quickly(table, codings, **more)
            return real_code(table, codings, **more)

        with (
            mock.patch.object(opening_agent, "open_table", open_table),
            mock.patch.object(loading, "code_table", code_table),
        ):
            yield

    def keep(self, coded: Coded, place: Path) -> None:
        """Remember the file of a copy that the package has made; look whether it is right."""
        if coded.key in self.files:
            return
        beside_it = place.with_name("look.duckdb")  # the agent has the other one open
        beside_it.write_bytes(place.read_bytes())
        with duckdb.connect(str(beside_it)) as connection:
            found = connection.execute("SELECT * FROM coded").fetchall()
        beside_it.unlink()
        if Counter(found) != Counter(coded.rows):
            self.problems.append(f"coded otherwise: {coded.key}: {found} {coded.rows}")
        self.files[coded.key] = place.read_bytes()

    def _quickly(
        self,
        coded: Coded,
        codings: Any,
        *,
        place: Any,
        version: str,
        owner: Any,
        **_: Any,
    ) -> Any:
        Path(place).write_bytes(self.files[coded.key])
        with duckdb.connect(str(place)) as connection:
            ((content,),) = connection.execute("SELECT content FROM about").fetchall()
            note = json.loads(content) | {"version": version, "rows": len(coded.rows)}
            connection.execute("DELETE FROM coded")
            if coded.rows:
                marks = ", ".join("?" * len(coded.rows[0]))
                connection.executemany(f"INSERT INTO coded VALUES ({marks})", coded.rows)  # noqa: S608 - question marks
            connection.execute("UPDATE about SET content = ?", [json.dumps(note)])
        return open_coded(place, codings, version=version, owner=owner)


class Coded(Table):
    """A table as an owner has it, and the codes that its schema makes of it."""

    dialect = EMBEDDED

    def __init__(self, table: Any, key: str, rows: list[tuple[int | None, ...]]) -> None:
        super().__init__(None, "coded")
        self.__dict__.update(table=table, key=key, rows=rows)

    @property
    def backend(self) -> Any:
        return anything().backend

    @classmethod
    def of(cls, version: Any, victim: int, secret: Any) -> Coded:
        columns = list(version.columns.values())
        rows = [
            tuple(None if row[c.name] is None else c.grid.index(row[c.name]) for c in columns)
            for row in version.truth(victim, secret)
        ]
        return cls(version.table(victim, secret), repr(version.schema), rows)


@cache
def anything() -> Table:
    """Return a table on the embedded engine, which the agent tries before it is asked."""
    return open_table({"x": [1]})
