"""What an attack by uniqueness found, in numbers, words and bars."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from hartley.adversaries.finding import Estimate
from hartley.chart import Chart, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Mapping

Known: TypeAlias = int | Literal["all"]
LIMITS = (1, 2, 5, 10, 100)
"""Classes up to these sizes are shown together."""
LABELS = (
    "1",
    *(str(b) if b == a + 1 else f"{a + 1} to {b}" for a, b in itertools.pairwise(LIMITS)),
    f"over {LIMITS[-1]}",
)


@dataclass(frozen=True)
class Singled:
    """How many people some known points single out."""

    known: Known
    share: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {"known": self.known, "share": self.share.to_dict()}


@dataclass(frozen=True)
class UniquenessFinding:
    """How many records, or people, are alone with what is released of them."""

    columns: tuple[str, ...]
    sizes: Mapping[int, int]
    """How many classes of equal records there are of each size, as released."""
    true_sizes: Mapping[int, int] | None
    """The same of the true values; None where nothing was changed."""
    people: int | None
    singled: tuple[Singled, ...]
    changed: bool
    """Whether a policy changed what is released."""

    @property
    def records(self) -> int:
        """How many records there are."""
        return _records(self.sizes)

    @property
    def unique(self) -> int:
        """How many records nobody else shares."""
        return self.sizes.get(1, 0)

    @property
    def unique_share(self) -> Estimate:
        """The share of records that nobody else shares; exact."""
        return Estimate.exact(self.unique / self.records)

    @property
    def number(self) -> Estimate:
        """The share of people singled out by the most points, or of records that are unique."""
        return self.singled[-1].share if self.singled else self.unique_share

    @property
    def measured(self) -> str:
        """What the number is."""
        return "share of people singled out" if self.singled else "share of unique records"

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        how = ", as the policy releases them" if self.changed else ""
        if self.singled:
            last = self.singled[-1]
            return (
                f"{_points(last.known)} out {_percent(last.share.value)} of {self.people:,} "
                f"people{how}."
            )
        return (
            f"{_percent(self.unique_share.value)} of {self.records:,} records are unique on "
            f"{_listed(self.columns)}{how}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What else is to be said, a sentence each."""
        said = [
            f"{_points(one.known)} out {_percent(one.share.value)} of the people, "
            f"{_sure(one.share)}."
            for one in self.singled
        ]
        said.append(
            f"{self.unique:,} of {self.records:,} records share their released values with no "
            f"other; there are {sum(self.sizes.values()):,} different ones."
        )
        if self.true_sizes is not None:
            before = self.true_sizes.get(1, 0) / _records(self.true_sizes)
            said.append(f"On the true values {_percent(before)} of the records are unique.")
        return tuple(said)

    def chart(self) -> Chart:
        """Return the share singled out by each number of points, or the sizes of classes."""
        if self.singled:
            shares = [one.share for one in self.singled]
            line = Series(
                "people",
                tuple(str(one.known) for one in self.singled),
                tuple(one.value for one in shares),
                kind="points",
                low=tuple(one.low for one in shares),
                high=tuple(one.high for one in shares),
            )
            panel = Panel("known points", "share of people singled out", (line,), from_zero=True)
            return Chart("Uniqueness of people", (panel,))
        shown = [("as released", self.sizes)]
        if self.true_sizes is not None:
            shown.insert(0, ("true values", self.true_sizes))
        bars = tuple(Series(label, LABELS, _shares(sizes), kind="bars") for label, sizes in shown)
        panel = Panel("records with the same values", "share of records", bars, from_zero=True)
        return Chart("Uniqueness of records", (panel,))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        true = self.true_sizes
        return {
            "attack": "uniqueness",
            "headline": self.headline,
            "sentences": list(self.sentences),
            "number": self.number.to_dict(),
            "columns": list(self.columns),
            "records": self.records,
            "classes": sum(self.sizes.values()),
            "unique": self.unique,
            "unique_share": self.unique_share.value,
            "true_unique": None if true is None else true.get(1, 0),
            "people": self.people,
            "singled": [one.to_dict() for one in self.singled],
            "by_policy": self.changed,
        }


# --- words --------------------------------------------------------------------------------------


def _records(sizes: Mapping[int, int]) -> int:
    return sum(size * classes for size, classes in sizes.items())


def _shares(sizes: Mapping[int, int]) -> tuple[float, ...]:
    """Return the share of records in classes of each span of sizes."""
    held = np.array([size * classes for size, classes in sizes.items()], np.float64)
    found = np.bincount(np.searchsorted(LIMITS, list(sizes)), held, minlength=len(LABELS))
    return tuple((found / held.sum()).tolist())


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _percent(value: float) -> str:
    return f"{100 * value:.4g} %"


def _points(known: Known) -> str:
    if known == "all":
        return "All points of somebody together single"
    return "1 known point singles" if known == 1 else f"{known} known points single"


def _sure(found: Estimate) -> str:
    if found.is_exact:
        return "exactly"
    between = f"between {_percent(found.low)} and {_percent(found.high)}"
    return f"{between} with {100 * found.confidence:.4g} % confidence"
