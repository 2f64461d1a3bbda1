"""Verdicts on cells: each rule against what is proved and what whole tables attain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import OptionError
from hartley.kernels.propagation import FAR
from hartley.measures.sensitivity import Dominance, Frequency, Homogeneous, PPercent
from hartley.ranges.tables.cover import SELECTION
from hartley.ranges.tables.inference import Inference
from hartley.ranges.tables.system import LinearSystem
from hartley.studies.check_report import VERDICTS, CheckedCell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.measures.sensitivity import Rule
    from hartley.ranges.tables.cover import Cover
    from hartley.studies.check_report import PlacedCell

MOST_WIDENED = 20_000
"""Both ends are searched for at most this many cells."""


@dataclass(frozen=True)
class Known:
    """What the microdata say."""

    truth: NDArray[np.int64]
    amounts: Mapping[int, Mapping[object, Fraction]]
    """For each atom, what every contributor adds to it."""
    named: bool
    """Whether contributors have names, so that one can be in several atoms."""

    def largest(self, joint: Cover, cell: int) -> list[Fraction]:
        """Return the contributions to a cell, the largest first."""
        sums: dict[object, Fraction] = {}
        for atom in atoms_of(joint, cell):
            for who, amount in self.amounts.get(atom, {}).items():
                name = who if self.named else (atom, who)
                sums[name] = sums.get(name, Fraction(0)) + amount
        return sorted(sums.values(), reverse=True)


def atoms_of(joint: Cover, cell: int) -> list[int]:
    """Return the atoms that a cell is the sum of."""
    places = np.unravel_index(cell, joint.shape)
    below = [
        np.array(sorted(axis.leaves_below[int(place)]))
        for axis, place in zip(joint.axes, places, strict=True)
    ]
    atoms: list[int] = np.ravel_multi_index(np.ix_(*below), joint.shape).ravel().tolist()
    return atoms


@dataclass(frozen=True)
class _Opinion:
    """What one rule says about one cell."""

    cell: int
    verdict: str
    rule: str
    why: str


@dataclass(frozen=True)
class Judge:
    """The rules, and how thoroughly they are followed."""

    rules: tuple[Rule, ...]
    left: int = 2
    exact: bool = False
    insider: str = "none"

    def check_data(self, *, given: bool) -> None:
        """Refuse rules that need microdata where there are none."""
        for rule in self.rules:
            if isinstance(rule, (PPercent, Dominance)) and not given:
                raise OptionError(
                    f"The rule {rule} needs the contributions to each cell",
                    hint="give the microdata: table= and contributor= (--table, --contributor)",
                )
        if self.insider == "sole" and not given:
            raise OptionError(
                "Sole contributors are known from the microdata only",
                hint="give the microdata: table= (--table)",
            )

    def judge(  # noqa: PLR0913 - cells, what is known about them, and where they stand
        self,
        joint: Cover,
        inference: Inference,
        placed: Mapping[int, Sequence[PlacedCell]],
        known: Known | None,
        number: int,
        *,
        counts: bool = True,
    ) -> list[CheckedCell]:
        """Return every published cell and every derived cell that a rule is about."""
        published = sorted(placed)
        unknown = [c for c in published if inference.outer_low[c] < inference.outer_high[c]]
        inference.widen(unknown[:MOST_WIDENED], exact=self.exact)
        opinions: dict[int, _Opinion] = {}
        mine = replace(self, rules=tuple(rule for rule in self.rules if _is_about(rule, counts)))
        for opinion in mine._opinions(joint, inference, known):  # noqa: SLF001 - the same judge
            _keep_worst(opinions, opinion)
        if self.insider == "sole" and known is not None:
            for opinion in mine._insiders(joint, inference, known):  # noqa: SLF001 - likewise
                _keep_worst(opinions, opinion)
        flagged = [c for c, o in opinions.items() if o.verdict != "safe" and c not in placed]
        # Ends of derived cells are shown; those of protected ones are no news.
        shown = sorted(c for c in flagged if opinions[c].verdict in {"disclosed", "open"})
        inference.widen(shown[:MOST_WIDENED], exact=self.exact)
        return [
            mine._cell(joint, inference, cell, opinions.get(cell), placed.get(cell, ()), number)  # noqa: SLF001 - likewise
            for cell in sorted({*published, *shown})
        ]

    def _cell(  # noqa: PLR0913, PLR0917 - what a cell is made from
        self,
        joint: Cover,
        inference: Inference,
        cell: int,
        opinion: _Opinion | None,
        places: Sequence[PlacedCell],
        number: int,
    ) -> CheckedCell:
        found = inference.range(cell)
        high = int(joint.system.high[cell])
        keys = zip(joint.dims, joint.keys(cell), strict=True)
        verdict = opinion or _Opinion(cell, "safe", "", "no rule is about it")
        counts = any(isinstance(rule, Frequency) for rule in self.rules)
        return CheckedCell(
            system=number,
            cell=cell,
            keys={dim: key for dim, key in keys if key is not None},
            stated=(int(joint.system.low[cell]), None if high >= FAR else high),
            outer=(found.low, found.high),
            inner=(found.least, found.most),
            verdict=verdict.verdict,
            rule=verdict.rule,
            why=verdict.why,
            places=tuple(places),
            singled_out=counts and not places and found.low == found.high == 1,
        )

    # --- rules ------------------------------------------------------------------------------

    def _opinions(
        self, joint: Cover, inference: Inference, known: Known | None
    ) -> Iterator[_Opinion]:
        for rule in self.rules:
            if isinstance(rule, Frequency):
                yield from self._frequency(rule, joint, inference)
            elif isinstance(rule, Homogeneous):
                yield from self._homogeneous(rule, joint, inference)
            elif known is not None:
                yield from self._contributions(rule, joint, inference, known)

    def _frequency(self, rule: Frequency, joint: Cover, inference: Inference) -> Iterator[_Opinion]:
        k, name = rule.threshold, str(rule)
        low, high = inference.outer_low, inference.outer_high
        for cell in np.flatnonzero((low < k) & (high > 0)).tolist():
            if joint.system.high[cell] < k:
                yield self._few_values(cell, name, inference)
            elif inference.reach(cell, k):
                yield _Opinion(cell, "protected", name, f"a table that fits has {k} or more")
            elif inference.outer_high[cell] < k:
                yield _Opinion(cell, "disclosed", name, _says(inference, cell, f"below {k}"))
            else:
                yield _Opinion(cell, "open", name, f"no table with {k} or more was found")

    def _few_values(self, cell: int, name: str, inference: Inference) -> _Opinion:
        """Judge a cell of which the publication itself says that it is small."""
        inference.widen([cell], exact=self.exact)
        found = inference.range(cell)
        assert found.high is not None
        if found.high - found.low + 1 < self.left:
            return _Opinion(cell, "disclosed", name, _says(inference, cell, "one of very few"))
        if inference.attained(cell) >= self.left:
            return _Opinion(cell, "protected", name, "tables that fit have different numbers")
        return _Opinion(cell, "open", name, "not enough different numbers were found")

    def _homogeneous(
        self, rule: Homogeneous, joint: Cover, inference: Inference
    ) -> Iterator[_Opinion]:
        system, name = joint.system, str(rule)
        lengths = np.diff(system.start)
        along = _axis_of_relations(joint)
        for r in np.flatnonzero(lengths > 2).tolist():
            if joint.axes[along[r]].name == SELECTION:
                continue
            parent, children = system.relation(r)
            possible = [c for c in children if inference.outer_high[c] > 0]
            if inference.outer_low[parent] < 1:
                continue
            line = joint.name(parent)
            if len(possible) == 1:
                why = f"everybody in {line} has this category"
                yield _Opinion(possible[0], "disclosed", name, why)
            elif len(possible) < len(children) or len(possible) == 2:
                attained = sum(inference.reach(c, 1) for c in possible)
                if attained < 2:
                    why = f"{line}: no second category was found"
                    yield _Opinion(possible[0], "open", name, why)

    def _contributions(
        self, rule: PPercent | Dominance, joint: Cover, inference: Inference, known: Known
    ) -> Iterator[_Opinion]:
        name = str(rule)
        for cell in range(joint.system.size):
            need = rule.need(known.largest(joint, cell))
            if need is None:
                continue
            yield _reaching(inference, cell, ceil(need), name)

    # --- insiders ---------------------------------------------------------------------------

    def _insiders(self, joint: Cover, inference: Inference, known: Known) -> Iterator[_Opinion]:
        """Let every sole contributor of a hidden cell know that cell, one at a time."""
        system = joint.system
        unknown = np.flatnonzero(inference.outer_low < inference.outer_high).tolist()
        for cell in unknown:
            if len(known.largest(joint, cell)) != 1:
                continue
            low, high = system.low.copy(), system.high.copy()
            low[cell] = high[cell] = known.truth[cell]
            inside = Inference(
                LinearSystem(system.start, system.column, system.sign, low, high), known.truth
            )
            who = f"the sole contributor of {joint.name(cell)}"
            for opinion in self._opinions(joint, inside, known):
                if opinion.cell == cell or opinion.verdict == "safe":
                    continue
                yield _Opinion(
                    opinion.cell, opinion.verdict, opinion.rule, f"for {who}: {opinion.why}"
                )


def _is_about(rule: Rule, counts: bool) -> bool:  # noqa: FBT001 - a fact about the statistic
    """Tell whether a rule is about a statistic: thresholds are about counts, shares about sums."""
    return isinstance(rule, (Frequency, Homogeneous)) == counts


def _reaching(inference: Inference, cell: int, least: int, name: str) -> _Opinion:
    """Judge a sum that must be able to be large enough."""
    if inference.reach(cell, least):
        return _Opinion(cell, "protected", name, "a table that fits is large enough")
    if inference.outer_high[cell] < least:
        return _Opinion(cell, "disclosed", name, "no table that fits is large enough")
    return _Opinion(cell, "open", name, "no table that is large enough was found")


def _says(inference: Inference, cell: int, otherwise: str) -> str:
    found = inference.range(cell)
    if found.low == found.high:
        return "it is known exactly"
    return f"every table that fits is {otherwise}"


def _axis_of_relations(joint: Cover) -> list[int]:
    """Return the dimension that each relation adds up along, in the order of the system."""
    along: list[int] = []
    for at, axis in enumerate(joint.axes):
        others = joint.system.size // len(axis.nodes)
        along += [at] * (others * len(axis.sums))
    return along


def _keep_worst(opinions: dict[int, _Opinion], opinion: _Opinion) -> None:
    before = opinions.get(opinion.cell)
    if before is None or VERDICTS.index(opinion.verdict) < VERDICTS.index(before.verdict):
        opinions[opinion.cell] = opinion
