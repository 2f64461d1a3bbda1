"""Verdicts on cells: each rule against what is proved and what whole tables attain."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import OptionError
from hartley.guarantees.table_certificate import needed, read_holdings, stated_holdings
from hartley.kernels.sums import FAR
from hartley.knowledge.cover import lines_of
from hartley.knowledge.hidden_sums import (
    ONE_PERSON,
    HullPoint,
    OneTable,
    TableHull,
    exact_sums_alone,
    hidden_sums,
    known_union,
    remainders,
    with_sums,
)
from hartley.knowledge.table_bounds import Inference
from hartley.knowledge.table_system import HIGH
from hartley.measures.rules import Dominance, Frequency, Homogeneous, PPercent
from hartley.studies.check.check_report import VERDICTS, CheckedCell, CheckedView, Opinion
from hartley.text import exact_text, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.knowledge.cover import Cover
    from hartley.knowledge.hidden_sums import Change
    from hartley.knowledge.table_bounds import Contributors
    from hartley.measures.rules import Rule
    from hartley.studies.check.check_report import PlacedCell

MOST_WIDENED = 20_000
"""Both ends are searched for at most this many cells."""
MOST_VARIED = 2
"""So often in vain more tables are looked for to show that no small sum of cells is known."""
MOST_NAMED = 4
"""Other cells of a sum that are named."""
SINGLED_OUT = "singled out"
"""Stands for a rule: a count that nobody published is exactly one person."""


@dataclass(frozen=True)
class RuleChecker:
    """The rules, and how thoroughly they are followed."""

    rules: tuple[Rule, ...]
    left: int = 2
    exact: bool = False
    insider: str = "none"
    tell: Callable[[float], None] = field(default=lambda _share: None, compare=False)
    """Called with the share of the cells whose ends are found."""

    @property
    def rests_on_contributions(self) -> bool:
        """Whether a rule looks at what each contributor adds."""
        return any(isinstance(rule, (PPercent, Dominance)) for rule in self.rules)

    def check_data(self, *, given: bool) -> None:
        """Refuse rules that need microdata where there are none."""
        for rule in self.rules:
            if isinstance(rule, (PPercent, Dominance)) and not given:
                raise OptionError(
                    f"The rule {rule} needs the contributions to each cell",
                    hint="give the microdata: table= and contributor= (--table, --contributor)",
                )
        if self.insider != "none" and not given:
            raise OptionError(
                "What contributors know is known from the microdata only",
                hint="give the microdata: table= (--table)",
            )

    def views(
        self,
        joint: Cover,
        inference: Inference,
        published: Sequence[int],
        known: Contributors | None,
        *,
        counts: bool = True,
    ) -> list[CheckedView]:
        """Judge all cells as anybody sees them, and then as each insider does."""
        unknown = [c for c in published if inference.outer_low[c] < inference.outer_high[c]]
        inference.widen(unknown[:MOST_WIDENED], exact=self.exact, tell=self.tell)
        # Thresholds are about counts, shares about sums.
        about = (Frequency, Homogeneous) if counts else (PPercent, Dominance)
        mine = replace(self, rules=tuple(r for r in self.rules if isinstance(r, about)))
        opinions = mine._settled(joint, inference, known, counts)  # noqa: SLF001 - the same judge
        unions = {} if known is None or counts else mine._unions(joint, inference, known)  # noqa: SLF001 - likewise
        views = [CheckedView(inference, opinions, unions=unions)]
        if self.insider in {"sole", "all"} and known is not None:
            views += mine._insiders(joint, inference, known, counts)  # noqa: SLF001 - likewise
        return views

    def judge(  # noqa: PLR0913 - all that a cell is judged from
        self,
        joint: Cover,
        views: Sequence[CheckedView],
        placed: Mapping[int, Sequence[PlacedCell]],
        number: int,
        known: Contributors | None,
        *,
        counts: bool = True,
    ) -> list[CheckedCell]:
        """Return every published cell and every derived cell that a rule is about."""
        opinions: dict[int, Opinion] = {}
        inference, before = views[0].inference, -1
        shown: list[int] = []
        # Ends of derived cells are shown, and what that settles may leave other sums of cells.
        while before != (before := int((inference.outer_low < inference.outer_high).sum())):
            for view in views:
                said = [*self._remainders(joint, view.inference, known, counts)]
                said += self._small_cells(joint, view) if counts else _tight(joint, view)
                for opinion in (*view.opinions.values(), *said):
                    told = opinion
                    if view.knows:
                        who = listed([joint.name(cell) for cell, _ in view.knows])
                        told = replace(
                            opinion, why=f"for the sole contributor of {who}: {told.why}"
                        )
                    _keep_worst(opinions, told)
            flagged = [c for c, o in opinions.items() if o.verdict in {"disclosed", "open"}]
            # Those of protected ones are no news.
            shown = [cell for cell in flagged if cell not in placed]
            for c in shown:  # the same cell by another name is enough, if it is judged as badly
                _keep_worst(opinions, replace(opinions[c], cell=int(joint.same[c])))
            shown = sorted({int(joint.same[c]) for c in shown} - set(placed))
            inference.widen(shown[:MOST_WIDENED], exact=self.exact)
        return [
            _cell(
                joint,
                inference,
                opinions.get(cell, _safe(cell)),
                placed.get(cell, ()),
                number,
                counts=counts,
            )
            for cell in sorted({*placed, *shown})
        ]

    # --- rules ------------------------------------------------------------------------------

    def _settled(
        self,
        joint: Cover,
        inference: Inference,
        known: Contributors | None,
        counts: bool,  # noqa: FBT001 - a fact about the statistic
    ) -> dict[int, Opinion]:
        """Judge all cells, and those that are open once more with both of their ends.

        What is found out about one cell can settle another, and an end that a rule did not ask for
        can settle the cell: one that is certainly empty is no open one.
        """
        opinions = self._opinions(joint, inference, known, counts)
        doubtful = sorted(cell for cell, o in opinions.items() if o.verdict == "open")
        if not doubtful:
            return opinions
        lines = [joint.system.relation(o.line)[0] for o in opinions.values() if o.line is not None]
        inference.widen([*doubtful, *lines][:MOST_WIDENED], exact=self.exact)
        return self._opinions(joint, inference, known, counts)

    def _opinions(
        self,
        joint: Cover,
        inference: Inference,
        known: Contributors | None,
        counts: bool,  # noqa: FBT001 - a fact about the statistic
    ) -> dict[int, Opinion]:
        """Return the worst that the rules say about each cell."""
        opinions: dict[int, Opinion] = {}
        for rule in self.rules:
            if isinstance(rule, Frequency):
                said = self._frequency(rule, joint, inference)
            elif isinstance(rule, Homogeneous):
                said = self._homogeneous(rule, joint, inference)
            elif known is not None:
                said = self._contributions(rule, inference, known)
            else:
                continue
            for opinion in said:
                _keep_worst(opinions, opinion)
        if counts:  # whatever the rules are, a derived count of exactly 1 is named
            one = (inference.outer_low == 1) & (inference.outer_high == 1) & ~joint.published
            for cell in np.flatnonzero(one).tolist():
                told = Opinion(cell, "disclosed", SINGLED_OUT, "it is known exactly")
                _keep_worst(opinions, told)
        return opinions

    def _frequency(self, rule: Frequency, joint: Cover, inference: Inference) -> Iterator[Opinion]:
        k, name = rule.threshold, str(rule)
        low, high = inference.outer_low, inference.outer_high
        for cell in np.flatnonzero((low < k) & (high > 0)).tolist():
            if joint.system.high[cell] < k:
                yield self._few_values(cell, name, inference)
            elif inference.reach(cell, k):
                yield Opinion(cell, "protected", name, f"a table that fits has {k} or more")
            elif inference.outer_high[cell] < k:
                yield _small(inference, cell, name, f"below {k}")
            else:
                yield Opinion(cell, "open", name, f"no table with {k} or more was found")

    def _few_values(self, cell: int, name: str, inference: Inference) -> Opinion:
        """Judge a cell that the publication itself shows to be small."""
        inference.widen([cell], exact=self.exact)
        ends = inference.range(cell)
        assert ends.low is not None
        assert ends.high is not None
        if ends.high - ends.low + 1 < self.left:
            return _small(inference, cell, name, "one of very few")
        for value in range(ends.low, ends.high + 1):
            if len(inference.values(cell)) >= self.left:
                break
            inference.attain(cell, value)
        if len(inference.values(cell)) >= self.left:
            return Opinion(cell, "protected", name, "tables that fit have different numbers")
        return Opinion(cell, "open", name, "not enough different numbers were found")

    def _homogeneous(
        self, rule: Homogeneous, joint: Cover, inference: Inference
    ) -> Iterator[Opinion]:
        """Judge lines: if somebody is in one, at least two categories must be possible.

        With a share below everybody, no category may certainly hold it. Categories that the
        conditions of the outputs rule out by themselves do not count: that everybody with a = 'p'
        has the category p is no news.
        """
        name = str(rule)
        ends = inference.outer_low, inference.outer_high, inference.least, inference.most
        for r in lines_of(joint).tolist():
            parent, children = joint.system.relation(r)
            mine = [child for child in children if joint.possible[child]]
            if len(mine) < 2 or not inference.outer_high[parent]:
                continue
            line = joint.name(parent)
            if rule.share < 1:
                share = f"{exact_text(100 * rule.share)} % of {line}"
                reasons = {
                    "disclosed": f"at least {share} have this category",
                    "protected": f"a table that fits has less than {share} in it",
                    "open": f"whether {share} have this category is not settled",
                }
                for cell, verdict in rule.verdicts(ends, parent, mine):
                    yield Opinion(cell, verdict, name, reasons[verdict], line=r)
                continue
            if sum(inference.most[child] > 0 for child in mine) >= 2:
                continue
            possible = [child for child in mine if inference.outer_high[child] > 0]
            attained = sum(inference.reach(child, 1) for child in possible)
            if attained >= 2:
                continue
            possible = [child for child in possible if inference.outer_high[child] > 0]
            if len(possible) == 1 and (attained or inference.outer_low[parent] > 0):
                why = f"everybody in {line} has this category"
                yield Opinion(possible[0], "disclosed", name, why, line=r)
            elif possible:
                why = f"{line}: no second category was found"
                yield Opinion(possible[0], "open", name, why, line=r)

    def _contributions(
        self, rule: PPercent | Dominance, inference: Inference, known: Contributors
    ) -> Iterator[Opinion]:
        name, largest = str(rule), rule.parts
        if (inference.system.low < 0).any():
            raise negative_shares(rule)
        for cell in np.flatnonzero(known.number).tolist():
            need = rule.need(known.parts(cell, largest))
            if need is None:
                continue
            if inference.reach(cell, ceil(need)):
                yield Opinion(cell, "protected", name, "a table that fits is large enough")
            elif inference.outer_high[cell] < ceil(need):
                yield Opinion(cell, "disclosed", name, "no table that fits is large enough")
            else:
                yield Opinion(cell, "open", name, "no table that is large enough was found")

    # --- sums of hidden cells ---------------------------------------------------------------

    def _remainders(
        self,
        joint: Cover,
        inference: Inference,
        known: Contributors | None,
        counts: bool,  # noqa: FBT001 - a fact about the statistic
    ) -> Iterator[Opinion]:
        """Judge sums of hidden cells that are known exactly as if they were cells."""
        sums = remainders(joint, inference.outer_low, inference.outer_high)
        hidden = hidden_sums(joint, inference.outer_low, inference.outer_high)
        for cells, left in sums.items():
            alone = counts and left == ONE_PERSON
            found = [(SINGLED_OUT, "is exactly one person")] if alone else []
            amounts = [] if counts or known is None else [n for n, _ in known.together(cells)]
            for rule in self.rules:
                if isinstance(rule, Frequency) and counts and 0 < left.total < rule.threshold:
                    found.append((str(rule), "is known exactly"))
                if isinstance(rule, (PPercent, Dominance)) and amounts and needed(rule, amounts):
                    found.append((str(rule), _tells(str(rule))))
            for name, what in found:
                for cell in with_sums(cells, hidden):
                    why = f"{_with(joint, cell, dict.fromkeys(cells, 1))}it {what}"
                    yield Opinion(cell, "disclosed", name, why)

    def _small_cells(self, joint: Cover, view: CheckedView) -> Iterator[Opinion]:
        """Judge cells that are small by themselves: no sum with them may be known and small.

        If a table has all numbers that are known exactly, and k or more in the cell, then every
        sum with the cell that follows from these numbers is k or more. So sums are not listed.
        """
        inference = view.inference
        marked = [rule for rule in self.rules if isinstance(rule, Frequency)]
        largest = max((rule.threshold for rule in marked), default=0)
        unknown = inference.outer_low < inference.outer_high
        self._widen_beside(joint, inference, (joint.system.high < largest) & unknown)
        low, high = inference.outer_low, inference.outer_high
        small = {str(rule): (rule.threshold, joint.system.high < rule.threshold) for rule in marked}
        small[SINGLED_OUT] = (ONE_PERSON.total + 1, joint.published & (high == 1))
        view.means, view.changes, view.known_unions = {}, {}, []
        hidden, sums = hidden_sums(joint, low, high), remainders(joint, low, high)
        alone: Inference | None = None
        for name, (k, mine) in small.items():
            cells = np.flatnonzero(mine & (low < high)).tolist()
            if name != SINGLED_OUT:
                means = _means(inference, cells, k, view.changes)
                view.means |= {cell: (k, mean) for cell, mean in means.items()}
            for cell in [c for c in cells if view.means.get(c, (0, None))[0] < k]:
                if alone is None:
                    settled = exact_sums_alone(joint.system, low, high)
                    first = inference.first_table() if inference.has_witness else None
                    alone = Inference(settled, first, joint.axes, narrow=False)
                proof = {} if alone.reach(cell, k) else alone.proof(cell, HIGH)
                found = known_union(joint, alone.system, proof) if proof else None
                told: list[int] = []
                if found is not None and 0 < found[1] < k:
                    published = sums.get(tuple(found[0]), ONE_PERSON).published
                    if name == SINGLED_OUT and published:
                        continue
                    view.known_unions.append(proof)
                    told = with_sums(found[0], hidden)
                    for c in told:
                        why = f"{_with(joint, c, dict.fromkeys(found[0], 1))}it is known exactly"
                        yield Opinion(c, "disclosed", name, why)
                if cell not in told and name != SINGLED_OUT:
                    why = "whether a small sum with it is known was not found out"
                    yield Opinion(cell, "open", name, why)

    def _widen_beside(self, joint: Cover, inference: Inference, about: NDArray[np.bool_]) -> None:
        """Find the ends of the numbers beside some cells that nobody published, too.

        What is known exactly among them may leave a sum of the cells.
        """
        beside = np.isin(inference.component_of, np.unique(inference.component_of[about]))
        beside &= (inference.component_of >= 0) & ~joint.published
        unknown = np.flatnonzero(beside & (inference.outer_low < inference.outer_high))
        inference.widen(unknown[:MOST_WIDENED].tolist(), exact=self.exact)

    def _unions(
        self, joint: Cover, inference: Inference, known: Contributors
    ) -> dict[str, OneTable]:
        """Ask for each rule about contributions what weighted sums of hidden cells tell."""
        written = stated_holdings(joint, known, self.rules, self.insider)
        tables: list[NDArray[np.int64]] = []
        unions = {}
        for rule, (holdings, mine) in read_holdings(written, self.rules, self.insider).items():
            base = inference.first_table()
            unions[rule] = OneTable(joint.system, base, holdings, exact=self.exact, tables=tables)
            unions[rule].ask(mine)
        return unions

    # --- insiders ---------------------------------------------------------------------------

    def _insiders(
        self,
        joint: Cover,
        inference: Inference,
        known: Contributors,
        counts: bool,  # noqa: FBT001 - a fact about the statistic
    ) -> Iterator[CheckedView]:
        """Let every sole contributor know the cells that they have alone."""
        unknown = inference.outer_low < inference.outer_high
        for cells in known.sole(unknown):
            values = known.truth[cells].tolist()
            inside = Inference(joint.system.knowing(cells, values), known.truth, joint.axes)
            opinions = self._settled(joint, inside, known, counts)
            for cell in cells:
                opinions.pop(cell, None)  # the own cell is no news
            yield CheckedView(inside, opinions, tuple(zip(cells, values, strict=True)))


def negative_shares(rule: Rule) -> OptionError:
    """Return the refusal of a rule about shares of sums that can be negative."""
    return OptionError(
        f"The rule {rule} is about contributions that are not negative",
        hint="leave it out, or publish the sums of positive and negative values apart",
    )


def _safe(cell: int) -> Opinion:
    return Opinion(cell, "safe", "", "no rule is about it")


def _cell(  # noqa: PLR0913 - what a cell is made from
    joint: Cover,
    inference: Inference,
    opinion: Opinion,
    places: Sequence[PlacedCell],
    number: int,
    *,
    counts: bool,
) -> CheckedCell:
    cell = opinion.cell
    ends = inference.range(cell)
    low, high = int(joint.system.low[cell]), int(joint.system.high[cell])
    keys = zip(joint.dims, joint.keys(cell), strict=True)
    return CheckedCell(
        system=number,
        cell=cell,
        keys={dim: key for dim, key in keys if key is not None},
        stated=(None if low <= -FAR else low, None if high >= FAR else high),
        outer=(ends.low, ends.high),
        inner=(ends.least, ends.most),
        verdict=opinion.verdict,
        rule=opinion.rule,
        why=opinion.why,
        places=tuple(places),
        singled_out=counts and not places and ends.low == ends.high == 1,
    )


def _with(joint: Cover, cell: int, weights: Mapping[int, int]) -> str:
    """Name the other cells of a weighted sum."""
    others = [
        joint.name(c) if len({*weights.values()}) == 1 else f"{w} times {joint.name(c)}"
        for c, w in sorted(weights.items())
        if c != cell
    ]
    if len(others) > MOST_NAMED:
        others[MOST_NAMED - 1 :] = [f"{len(others) - MOST_NAMED + 1} more cells"]
    return f"together with {listed(others)} " if others else ""


def _tells(rule: str) -> str:
    few = "one contributor's part" if rule.startswith(("p%", "dominance=1,")) else "a joint part"
    return f"tells {few}"


def _tight(joint: Cover, view: CheckedView) -> Iterator[Opinion]:
    """Say what the answers about sums of hidden cells mean for these cells."""
    hidden = hidden_sums(joint, view.inference.outer_low, view.inference.outer_high)
    for rule, asked in view.unions.items():
        for tight in asked.proofs:
            who = "for a contributor who knows their own part: " if tight.attacker else ""
            if tight.attacker and asked.holdings.insider == "sole":
                mine = asked.holdings.fixed & (asked.holdings.attacker == tight.attacker)
                cells = [joint.name(cell) for cell in asked.holdings.cell[mine].tolist()]
                who = f"for the sole contributor of {listed(cells)}: "
            for cell in with_sums(tight.weights, hidden):
                why = f"{who}{_with(joint, cell, tight.weights)}it {_tells(rule)}"
                yield Opinion(cell, "disclosed", rule, why)
        for cell in asked.doubtful():
            yield Opinion(cell, "open", rule, "no table with enough room in all cells was found")


def _means(
    inference: Inference, cells: Sequence[int], k: int, changes: dict[Change, int]
) -> dict[int, HullPoint]:
    """Return means of whole tables that have k in cells, and no number below zero."""
    found: dict[int, HullPoint] = {}
    left, parts = [*cells], np.unique(inference.component_of[[*cells]]).tolist()
    vain = 0
    while left and vain < MOST_VARIED:
        before = len(left)
        hull = TableHull(inference.first_table(), *inference.differences())
        means = {cell: hull.towards(cell, k) for cell in left}
        for part in parts:
            mine = [c for c in left if means[c] is None and inference.component_of[c] == part]
            if mine:
                means |= hull.search(inference.components[part].cells, mine, k)
        for cell, mean in means.items():
            if mean is not None and (hull.value(cell, mean) or 0) >= k:
                found[cell] = hull.numbered(mean, changes)
        left = [cell for cell in left if cell not in found]
        vain = vain + 1 if len(left) == before else 0
        for part in {int(inference.component_of[cell]) for cell in left}:
            inference.vary(part)
    return found


def _small(inference: Inference, cell: int, name: str, otherwise: str) -> Opinion:
    """Judge a cell that is certainly small: disclosed, unless it may be certainly zero."""
    ends = inference.range(cell)
    if ends.low == ends.high:
        return Opinion(cell, "disclosed", name, "it is known exactly")
    if ends.low == 0 and not inference.reach(cell, 1):
        if not inference.outer_high[cell]:
            return _safe(cell)
        # Nobody may be in it at all; a bound alone does not say that somebody is.
        return Opinion(cell, "open", name, "no table with somebody in it was found")
    return Opinion(cell, "disclosed", name, f"every table that fits is {otherwise}")


def _keep_worst(opinions: dict[int, Opinion], opinion: Opinion) -> None:
    before = opinions.get(opinion.cell)
    if before is None or VERDICTS.index(opinion.verdict) < VERDICTS.index(before.verdict):
        opinions[opinion.cell] = opinion
