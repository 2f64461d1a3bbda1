"""What a check of published tables found, in numbers and in sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING, Any

from hartley.readable import ReadableResult
from hartley.wording import bits_down, bits_up, counted, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.engines.crosstabs.crosstab import Crosstab
    from hartley.engines.crosstabs.description import CategoryTree
    from hartley.ranges.schema.schema import Schema
    from hartley.ranges.tables.contributors import Contributors
    from hartley.ranges.tables.cover import Cover, Selections
    from hartley.ranges.tables.inference import Inference
    from hartley.studies.check_effects import EffectsNow
    from hartley.studies.check_views import CheckedView

VERDICTS = ("disclosed", "open", "protected", "safe")
"""From the worst to the best."""
KNOWN = {
    "sole": "the hidden cells that they have alone",
    "holdings": "their own part of every sum",
    "all": "their own part of every sum, and where they are alone",
}
"""What each kind of insider knows."""


@dataclass(frozen=True)
class PlacedCell:
    """Where a cell is published: the output, its line, its text there."""

    output: str
    path: str | None
    line: int
    text: str


@dataclass(frozen=True)
class CheckedCell:
    """A cell: what is stated about it, what follows, and the verdict."""

    system: int
    """Which statistic it belongs to, by its place among those of the report."""
    cell: int
    keys: dict[str, str]
    """Its categories; dimensions that are not named are totals."""
    stated: tuple[int | None, int | None]
    outer: tuple[int | None, int | None]
    inner: tuple[int | None, int | None]
    verdict: str
    rule: str
    """The rule that decides; empty for a cell that no rule is about."""
    why: str
    places: tuple[PlacedCell, ...]
    """Where it is published; empty for a derived cell."""
    singled_out: bool = False
    """Whether it is derived and certainly one person."""
    certain: bool = True
    """Whether it follows from what is declared, and from no assumption about the outputs."""
    suspected: bool = False
    """Whether it is open, and an assumption about the outputs that fits discloses it."""

    @property
    def name(self) -> str:
        """Its categories in words."""
        return ", ".join(f"{dim} {key}" for dim, key in self.keys.items()) or "everything"

    @property
    def derived(self) -> bool:
        """Whether nobody published it."""
        return not self.places

    @property
    def exact(self) -> bool:
        """Whether both ends of the outer interval are attained."""
        return self.outer == self.inner

    def interval(self, places: int = 0) -> str:
        """Write the outer interval in the unit of the publication."""
        low, high = (None if end is None else decimal(end, places) for end in self.outer)
        if low is None or high is None:
            if low is None:
                return "any number" if high is None else f"{high} or less"
            return f"{low} or more"
        return f"exactly {low}" if low == high else f"{low} to {high}"

    def to_dict(self, *, values: bool = True) -> dict[str, Any]:
        """Return it as plain values; without numbers on request."""
        numbers = {"stated": self.stated, "outer": self.outer, "inner": self.inner}
        return {
            "keys": self.keys,
            **({name: list(ends) for name, ends in numbers.items()} if values else {}),
            "verdict": self.verdict,
            "rule": self.rule,
            "derived": self.derived,
            "singled_out": self.singled_out,
            "suspected": self.suspected,
            "why": self.why if values else self.verdict,
            "places": [{"output": place.output, "line": place.line} for place in self.places],
        }


def decimal(number: int, places: int) -> str:
    """Write units of the last digit as a number.

    Example:
        >>> decimal(1250, 2), decimal(7, 0), decimal(-1250, 2)
        ('12.50', '7', '-12.50')
    """
    if not places:
        return f"{number:,}"
    sign, size = "-" if number < 0 else "", abs(number)
    return f"{sign}{size // 10**places:,}.{size % 10**places:0{places}d}"


@dataclass(frozen=True)
class CheckedStatistic:
    """All outputs of one statistic about one set of rows, and the cells that were judged."""

    statistic: str
    outputs: tuple[str, ...]
    places: int
    dims: tuple[str, ...]
    cells: tuple[CheckedCell, ...]
    unknown: int
    """Cells that are not settled."""
    size: int
    joint: Cover
    views: tuple[CheckedView, ...]
    """What anybody sees, and then what each insider does."""
    known: Contributors | None = None
    """What the microdata say, where they were given."""
    tables: tuple[Crosstab, ...] = ()
    selections: Selections | None = None
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    assumed: bool = False
    """Whether it rests on an assumption about the outputs that nobody declared."""

    @property
    def inference(self) -> Inference:
        """What anybody can work out."""
        return self.views[0].inference


@dataclass(frozen=True)
class CheckReport(ReadableResult):
    """What anybody can work out from published tables together."""

    outputs: tuple[tuple[str, str], ...]
    """Each: its name and the SHA-256 of its file."""
    rules: tuple[str, ...]
    insider: str
    left: int
    statistics: tuple[CheckedStatistic, ...]
    notes: tuple[str, ...]
    guesses: tuple[str, ...]
    effects: int | None = None
    """How many different publications one person can cause; None without a schema."""
    bits: float | None = None
    now: EffectsNow | None = None
    """The same for the people of these data; None without microdata."""
    trees: tuple[CategoryTree, ...] = ()
    contributor: str | None = None
    schema: Schema | None = None
    questions: tuple[str, ...] = ()
    """All that the publication reads, as questions to an agent."""
    conditions: Mapping[str, Any] | None = None
    """The conditions of answers of a ledger, as its agent resolved them; None without a ledger."""
    publication: str | None = None
    """The number under which it is booked in a ledger."""

    @property
    def cells(self) -> tuple[CheckedCell, ...]:
        """All cells that were judged, the worst first."""
        every = [cell for statistic in self.statistics for cell in statistic.cells]
        return tuple(sorted(every, key=lambda cell: (VERDICTS.index(cell.verdict), cell.system)))

    @property
    def counts(self) -> dict[str, int]:
        """How many cells have each verdict."""
        return {v: sum(cell.verdict == v for cell in self.cells) for v in VERDICTS}

    @property
    def singled_out(self) -> int:
        """How many derived cells are certainly one person."""
        return sum(cell.singled_out and cell.certain for cell in self.cells)

    @property
    def verdict(self) -> str:
        """The worst verdict of all cells."""
        return next((v for v in VERDICTS if self.counts[v]), "safe")

    @property
    def headline(self) -> str:
        """The check in one sentence."""
        if not self.outputs:
            return f"The publication {self.publication} is reserved, and no output was checked."
        counts, tables = self.counts, counted(len(self.outputs), "output")
        if counts["disclosed"]:
            disclosed = counted(counts["disclosed"], "cell")
            derived = sum(c.verdict == "disclosed" and c.derived for c in self.cells)
            by = f", {derived:,} of them published nowhere" if derived else ""
            verb = "is" if counts["disclosed"] == 1 else "are"
            more = ""
            if self.singled_out:
                more = f" {counted(self.singled_out, 'derived cell')} "
                more += f"{'is' if self.singled_out == 1 else 'are'} exactly one person."
            return f"{disclosed} of {tables} {verb} disclosed{by}.{more}"
        if counts["open"]:
            verb = "is" if counts["open"] == 1 else "are"
            suspected = sum(cell.suspected for cell in self.cells)
            by = f", {suspected:,} of them disclosed under an assumption that fits"
            return (
                f"No cell of {tables} is proved to be disclosed; "
                f"{counted(counts['open'], 'cell')} {verb} open{by if suspected else ''}."
            )
        return f"No cell of {tables} is disclosed, and every protected one has its witnesses."

    @property
    def sentences(self) -> list[str]:
        """What else there is to say."""
        lines = [f"Rules: {listed(self.rules)}." if self.rules else "No rule was applied."]
        if self.insider != "none":
            lines.append(f"Contributors are taken to know {KNOWN[self.insider]}.")
        if self.effects is not None and self.bits is not None:
            # Only a power of two has a whole number of bits.
            at_most = "at most " if self.effects & (self.effects - 1) else ""
            lines.append(
                f"One person can cause {self.effects:,} different publications: "
                f"{at_most}{bits_up(self.bits)} about a person, whatever the data are."
            )
        if self.now is not None and self.effects is not None:
            about = "" if self.now.exact else "at least "
            lines.append(
                f"Of these data, not a promise: with its pattern held fixed, one person can cause "
                f"{about}{self.now.fewest:,} to {self.now.most:,} of {self.effects:,} publications "
                f"({bits_down(log2(self.now.fewest))} to {bits_up(log2(self.now.most))})."
            )
        return [*lines, *(f"Guessed: {guess}." for guess in self.guesses), *self.notes]

    def to_dict(self, *, values: bool = True) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        return {
            "format": 1,
            "headline": self.headline,
            "verdict": self.verdict,
            "outputs": [{"name": name, "sha256": digest} for name, digest in self.outputs],
            "rules": list(self.rules),
            "insider": self.insider,
            "counts": self.counts,
            "singled_out": self.singled_out,
            "effects": self.effects,
            "bits": self.bits,
            "publication": self.publication,
            "here_and_now": None
            if self.now is None
            else {
                "fewest": self.now.fewest,
                "most": self.now.most,
                "exact": self.now.exact,
                "promise": False,
            },
            "notes": list(self.notes),
            "guesses": list(self.guesses),
            "statistics": [
                {
                    "statistic": part.statistic,
                    "outputs": list(part.outputs),
                    "decimals": part.places,
                    "cells": [cell.to_dict(values=values) for cell in part.cells],
                }
                for part in self.statistics
            ],
        }
