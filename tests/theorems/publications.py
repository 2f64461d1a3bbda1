"""Publications of tiny tables, enumerated: one person's data vary over all that they could be.

Written from the promise (docs/check.md): a publication is any function of the counts and sums of
its cells, and of contributions where a rule reads them. Nothing here looks at how a price is found.
The long run, a few minutes on one core:

    python tests/theorems/publications.py --worlds 2500 --seed 1
"""

# ruff: noqa: S311 - random tables, not secrets
# ruff: noqa: T201 - a program that prints what it met

from __future__ import annotations

import argparse
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

from hartley import Schema
from hartley.studies.check.publication import (
    PublishedNumbers,
    price_publication,
    publication_questions,
)

CONDITIONS = {
    "age >= 1": lambda r: r["age"] is not None and r["age"] >= 1,
    "g = 'a'": lambda r: r["g"] == "a",
    "age = 0 OR g = 'b'": lambda r: r["age"] == 0 or r["g"] == "b",
}


class Publishing:
    """A schema, the description of a publication, and how its files come about."""

    def __init__(self, seed: int) -> None:
        self.draw = draw = random.Random(seed)
        self.seed = seed
        self.unit = draw.random() < 0.5
        self.rows_per_unit = draw.choice([1, 2]) if self.unit else 1
        self.private = draw.random() < 0.4
        self.columns: dict[str, list[Any]] = {"g": ["a", "b"], "age": [0, 1]}
        low = draw.choice([0, 0, 0, 1, -1])
        self.columns["v"] = [low, low + 1, low + 2][: draw.choice([1, 2, 2, 3])]
        if draw.random() < 0.4:
            self.columns["h"] = ["p", "q"]
        self.nullable = [name for name in ("g", "v", "age") if draw.random() < 0.2]
        self.other = draw.random() < 0.2
        public = draw.random() < 0.25 and not self.private
        self.public = ["g"] if public else []
        if self.other:
            self.columns["g"].append("other")
        for name in self.nullable:
            self.columns[name].append(None)
        self.contributor = draw.choice([None, None, "unit" if self.unit else None, "firm"])
        self.reads = draw.random() < 0.4
        if self.contributor == "firm" and self.reads:
            self.columns["firm"] = [1, 2]
        else:
            self.contributor = "unit" if self.contributor == "unit" else None
        self.outputs = [self._output() for _ in range(draw.choice([1, 1, 2]))]

    def _output(self) -> dict[str, Any]:
        draw = self.draw
        dims = draw.choice([["g"], ["g"], ["age"], ["g", "age"], *([["h"], ["g", "h"]])])
        sums = draw.random() < 0.6
        complete = sums and draw.random() < 0.3
        treatments = ["plain", "rounded"]
        if not complete:
            treatments += ["hidden", "hidden", "people", "absent", "secondary", "withheld", "small"]
            treatments += ["mean", "mean"] if sums else []
            treatments += ["p%", "p%", "p%"] if sums and self.reads else []
        return {
            "dims": [dim for dim in dims if dim in self.columns] or ["g"],
            "statistic": "sum(v)" if sums else "count",
            "where": draw.choice([None, None, *CONDITIONS]),
            "complete": complete,
            "treatment": draw.choice(treatments),
            "k": draw.choice([2, 3]),
            "margin": draw.random() < 0.5,
        }

    # --- what is handed to the package ---

    @property
    def schema(self) -> dict[str, Any]:
        def section(name: str, values: list[Any]) -> dict[str, Any]:
            told: dict[str, Any] = {"kind": "public" if name in self.public else "private"}
            held = [value for value in values if value not in {None, "other"}]
            if isinstance(held[0], str):
                told["values"] = held
            else:
                told |= {"range": [held[0], held[-1]], "step": 1}
            told |= {"other": True} if "other" in values else {}
            return told | ({"nullable": True} if None in values else {})

        table: dict[str, Any] = {"name": "t"}
        if self.private:
            table |= {"rows": "private", "max_rows": 40}
        if self.unit:
            table |= {"unit": "who", "rows_per_unit": self.rows_per_unit}
        return {
            "table": table,
            "columns": {name: section(name, values) for name, values in self.columns.items()},
        }

    @property
    def options(self) -> dict[str, Any]:
        who = {"unit": "who", None: None}.get(self.contributor, self.contributor)
        return {"contributor": who, "rule": ["p%=10" if self.reads else "frequency<3"]}

    def blocks(self) -> list[dict[str, Any]]:
        blocks = []
        for number, output in enumerate(self.outputs):
            block = {name: output[name] for name in ("dims", "statistic")}
            block |= {"file": f"o{number}.csv", "where": output["where"] or "all rows"}
            if output["complete"]:
                block["complete"] = True
            else:
                block["absent"] = "hidden"
            if output["margin"]:
                block |= {"total": "Total", "margins": "all"}
            if output["statistic"] != "count" and self.columns["v"][0] < 0:
                block["bounds"] = [-40, 80]
            blocks.append(block)
        return blocks

    def price(self) -> int:
        outputs = [
            PublishedNumbers("o", tuple(o["dims"]), o["statistic"], o["where"], o["complete"])
            for o in self.outputs
        ]
        schema = Schema.read(self.schema)
        questions = publication_questions(
            outputs, schema, self.options["contributor"], reads=self.reads
        )
        return price_publication(questions, schema)[0]

    # --- people ---

    def records(self, public: tuple[Any, ...]) -> list[dict[str, Any]]:
        every = [
            dict(zip(self.columns, values, strict=True))
            for values in product(*self.columns.values())
        ]
        return [r for r in every if tuple(r[name] for name in self.public) == public]

    def data(self, public: tuple[Any, ...], rows: int) -> list[tuple[dict[str, Any], ...]]:
        """Return all that one person's rows can be; public columns and public numbers are fixed."""
        sizes = range(self.rows_per_unit + 1) if self.private else [rows]
        mine = self.records(public)
        return [held for size in sizes for held in combinations_with_replacement(mine, size)]

    def somebody(self) -> tuple[tuple[Any, ...], int]:
        public = tuple(self.draw.choice(self.columns[name]) for name in self.public)
        return public, self.draw.randint(0 if self.private else 1, self.rows_per_unit)

    def others(self) -> list[tuple[dict[str, Any], ...]]:
        people = []
        for _ in range(self.draw.randint(0, 5)):
            public, rows = self.somebody()
            mine = self.records(public)
            people.append(tuple(self.draw.choice(mine) for _ in range(rows)))
        return people

    # --- files ---

    def publish(self, people: list[tuple[dict[str, Any], ...]]) -> tuple[Any, ...]:
        rows = [(who, row) for who, held in enumerate(people) for row in held]
        return tuple(self._file(output, rows) for output in self.outputs)

    def _file(self, output: dict[str, Any], rows: list[tuple[int, Any]]) -> tuple[Any, ...]:
        condition = CONDITIONS.get(output["where"], lambda _: True)
        inside = [(who, row) for who, row in rows if condition(row)]
        labels = [self.columns[dim] for dim in output["dims"]]
        cells: dict[tuple[Any, ...], Any] = {}
        parts = {}
        for keys in product(*labels):
            mine = [
                (who, row)
                for who, row in inside
                if tuple(row[dim] for dim in output["dims"]) == keys
            ]
            cells[keys] = self._number(output, mine)
            parts[keys] = mine
        shown = self._treated(output, cells, parts)
        if shown is None:
            return ("withheld",)
        if output["margin"]:
            total = self._number(output, inside)
            shown["Total",] = 3 * (total // 3) if output["treatment"] == "rounded" else total
        return tuple(shown.items())

    def _number(self, output: dict[str, Any], mine: list[tuple[int, Any]]) -> int:
        if output["statistic"] == "count":
            return len(mine)
        return sum(row["v"] or 0 for _, row in mine)

    def _treated(  # noqa: C901, PLR0911 - one case a treatment
        self, output: dict[str, Any], cells: Any, parts: Any
    ) -> dict[Any, Any] | None:
        treatment, k = output["treatment"], output["k"]
        sizes = {keys: len(mine) for keys, mine in parts.items()}
        people = {keys: len({who for who, _ in mine}) for keys, mine in parts.items()}
        small = {keys for keys, size in sizes.items() if 0 < size < k}
        if treatment == "rounded":
            return {keys: 3 * (number // 3) for keys, number in cells.items()}
        if treatment == "hidden":
            return {keys: "x" if keys in small else n for keys, n in cells.items()}
        if treatment == "people":
            return {keys: "x" if people[keys] < k else n for keys, n in cells.items()}
        if treatment == "absent":
            return {keys: n for keys, n in cells.items() if sizes[keys]}
        if treatment == "withheld":
            return None if small else dict(cells)
        if treatment == "small":  # a reviewer leaves out cells in which nobody has a value
            valued = {k for k, mine in parts.items() if any(r["v"] is not None for _, r in mine)}
            count = output["statistic"] == "count"
            return {keys: n for keys, n in cells.items() if count or keys in valued}
        if treatment == "secondary":
            if small:
                rest = [keys for keys in cells if keys not in small]
                small |= set(sorted(rest, key=lambda keys: (sizes[keys], str(keys)))[:1])
            return {keys: "x" if keys in small else n for keys, n in cells.items()}
        if treatment == "mean":
            values = {k: [r["v"] for _, r in m if r["v"] is not None] for k, m in parts.items()}
            return {k: Fraction(sum(v), len(v)) if v else "" for k, v in values.items()}
        if treatment == "p%":
            return {k: "x" if self._unsafe(parts[k]) else n for k, n in cells.items()}
        return dict(cells)

    def _unsafe(self, mine: list[tuple[int, Any]]) -> bool:
        parts: Counter[Any] = Counter()
        for place, (who, row) in enumerate(mine):
            name = {"unit": who, "firm": row.get("firm"), None: place}[self.contributor]
            parts[name] += abs(row["v"] or 0)
        largest = sorted(parts.values(), reverse=True)
        return bool(largest) and 10 * sum(largest[2:]) < largest[0]


def enumerate_publications(seed: int, databases: int = 8) -> tuple[int, int, str | None]:
    """Return the price of a publication, the most that one person caused, and what is wrong."""
    world = Publishing(seed)
    price, most = world.price(), 0
    for _ in range(databases):
        others, (public, rows) = world.others(), world.somebody()
        files = {world.publish([held, *others]) for held in world.data(public, rows)}
        most = max(most, len(files))
    wrong = f"world {seed}: {most} publications at the price of {price}: {world.outputs}"
    return price, most, wrong if most > price else None


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("--worlds", type=int, default=2500)
    words.add_argument("--seed", type=int, default=1)
    asked = words.parse_args()
    attained = 0
    for seed in range(asked.seed, asked.seed + asked.worlds):
        price, most, wrong = enumerate_publications(seed)
        attained += most == price > 1
        if wrong:
            print(wrong)
    print(f"{asked.worlds} publications, {attained} at their price")


if __name__ == "__main__":
    main()
