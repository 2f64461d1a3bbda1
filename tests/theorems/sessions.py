"""One life of an agent: a strategy asks it, and all that an outsider sees is written down."""

# ruff: noqa: S311 - random strategies, not secrets

from __future__ import annotations

import hashlib
import inspect
import json
import random
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from math import log2, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from checks import wrong_numbers
from copies import Coded
from drawing import draw_select
from plain_sql import features, reword, spell_select

from hartley import Agent, Wish
from hartley.agent.replay import verify_prices
from hartley.errors import HartleyError, Pending, Refused
from hartley.studies.check.check import check
from hartley.trusted import data as holding, data as loading

if TYPE_CHECKING:
    from collections.abc import Callable

    from copies import Template

ANALYSTS = (None, None, "ann", "bob")
VACUOUS = "vacuous" in inspect.signature(Agent.ask).parameters
"""Whether answers as wide as the schema's range must be asked for by name."""


@dataclass(frozen=True)
class Step:
    """What one step added to a transcript."""

    before: str
    after: str
    charge: int
    """The product of what was charged for questions."""
    total: int
    """The product of all charges so far, open columns included."""
    limit: int
    """floor(2^B) by the budget of the moment."""
    version: int
    text: str
    """All that an outsider saw of the step."""
    questions: int


@dataclass
class Asked:
    """A batch that was answered, to be asked again."""

    version: int
    account: str
    analyst: str | None
    selects: list[Any]
    wishes: list[Wish]
    vacuous: bool
    readings: list[Any]


@dataclass
class Run:
    """One agent, asked by the strategy of a world while the victim has one secret."""

    world: Any
    secret: tuple[Any, ...]
    folder: Path
    hold: Callable[[Any, str], tuple[Any, dict[str, Any]]]
    template: Template | None = None
    held: int = 0
    transcript: str = ""
    seen: list[str] = field(default_factory=list)
    """What the strategy looks at: intervals, and what was refused, however that is worded."""
    place: str = ""
    """Where in the tree of the strategy the run is."""
    version: int = 0
    steps: list[Step] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    allowed: set[str] = field(default_factory=set)
    used: Counter[str] = field(default_factory=Counter)
    nodes: list[tuple[str, Counter[str], int]] = field(default_factory=list)
    rows_seen: int = 0
    owed: int = 1
    """What was charged for answers that are still pending: they may differ when they come."""
    agent: Any = None

    # --- the walk ---

    def walk(self, length: int) -> Run:
        """Follow the strategy to its end."""
        try:
            self._step(self._create)
            if self.agent is None:
                return self
            for number in range(length):
                self.place = f"{self.world.seed} {number} {self.seen}"
                rng = random.Random(self.place)
                self._step(lambda rng=rng: self._act(rng))
            self._step(self._finish)
        finally:
            if self.agent is not None:
                self.agent.close()
        return self

    def _step(self, act: Callable[[], str]) -> None:
        """Do something and add all that an outsider sees of it to the transcript."""
        before, listed = self.transcript, len(self.asked)
        text = act()
        entries = [] if self.agent is None else self.agent.ledger.entries()
        fresh = entries[self.rows_seen :]
        self.rows_seen = len(entries)
        if self.agent is not None:
            text += self._standing()
        text += "".join(f"\nROW {entry.fields}" for entry in fresh)
        text = text.replace(str(self.folder), "FOLDER")
        self.transcript = hashlib.sha256((before + text).encode()).hexdigest()
        # The victim's public columns are fixed: only what their type was charged counts.
        charged = self._charged(entries, "parts")
        asked = [n for n, e in zip(charged, entries, strict=True) if e.kind == "reserve"]
        new = sum(entry.kind == "reserve" for entry in fresh)
        charge, total = self.owed * prod(asked[len(asked) - new :]), prod(charged)
        self.owed = charge if "Pending" in text else self.owed
        limit = floor_power(self.agent.state.budget) if self.agent is not None else 1
        if total > limit:
            self._problem("the charges pass the budget", f"{total} > {limit}")
        for analyst in self.allowed:
            paid = zip(self._charged(entries, "account_parts"), entries, strict=True)
            own = [cells for cells, entry in paid if entry.account == analyst]
            if prod(own) > floor_power(self.agent.state.allowances[analyst].bits):
                self._problem("the charges pass an allowance", f"{analyst} {own}")
        count = sum(len(asked.selects) for asked in self.asked[listed:])
        self.steps.append(
            Step(before, self.transcript, charge, total, limit, self.version, text, count)
        )

    def _charged(self, entries: list[Any], word: str) -> list[int]:
        """Return what every row charges people with the victim's public columns."""
        charges, version = [], -1
        for entry in entries:
            content = json.loads(entry.content)
            version += entry.kind not in {"reserve", "commit"} and "version" in content
            charge = entry.cells if word == "parts" else entry.account_cells
            if word in content:
                about, place = self.world.versions[version], 0
                for name, starts in sorted(content[word]["cuts"].items()):
                    value = about.public[self.world.victim][name]
                    code = about.columns[name].domain.index(value)
                    place = place * len(starts) + sum(start <= code for start in starts) - 1
                self.used["charged by public columns"] += 1
                charge = content[word]["cells"][place]
            charges.append(int(charge))
        return charges

    def _standing(self) -> str:
        """Return what the owner and every analyst see of the account."""
        state, ledger = self.agent.state, self.agent.ledger
        balances = [ledger.balance("t", analyst) for analyst in (None, "ann", "bob")]
        pending = [(batch.questions, batch.cells) for batch in ledger.pending("t")]
        return f"\nSTANDING {state} {balances} {pending} {self.agent.spent} {self.agent.remaining}"

    def _create(self) -> str:
        version = self.world.versions[0]
        data, more = self._held(0)
        self.more = more
        try:
            self.agent = Agent(
                data,
                version.schema,
                ledger=self.folder / "ledger.db",
                budget=str(self.world.budget),
                **more,
            )
        except HartleyError as error:
            self.used["not created"] += 1
            return f"CREATED not: {refusal(error)}"
        self._keep(data)
        return "CREATED"

    def _held(self, place: int) -> tuple[Any, dict[str, Any]]:
        """Return the table of a version, as the agent is to be given it."""
        version, secret = self.world.versions[place], self.secret[place]
        if self.template is not None:
            return Coded.of(version, self.world.victim, secret), {}
        self.held += 1
        return self.hold(version.table(self.world.victim, secret), f"{self.held}")

    def _keep(self, data: Any) -> None:
        """Let the runs of a world share what takes long: the coded copy, and plans of questions."""
        if self.template is not None:
            version = self.agent.state.version
            place = loading.place_of(self.agent.trusted._place, version, None)
            self.template.keep(data, Path(place))
            self._share_plans()

    def _share_plans(self) -> None:
        if self.template is not None:
            plans, prices = self.template.plans[self.version]
            object.__setattr__(self.agent.desk, "plans", plans)
            object.__setattr__(self.agent.trusted.data, "_prices", prices)

    def _act(self, rng: random.Random) -> str:  # noqa: PLR0911 - one for each act
        if self.world.publishes and rng.random() < 0.4:
            edge = ""
            if rng.random() < 0.4:  # what is left is exactly some cells
                cells = self.agent.ledger.balance("t").spent * rng.choice([1, 2, 3, 4, 6])
                edge = self._owner("set_budget", str(bits_of(cells)))
            return edge + self._publish(rng)
        draw = rng.random()
        if draw < 0.12 and self.version + 1 < len(self.world.versions):
            return self._change_data()
        if draw < 0.16:
            return self._owner("set_budget", rng.choice(["1", "2.5", "4", "6", "8", "10"]))
        if draw < 0.21:
            analyst = rng.choice(["ann", "bob"])
            text = self._owner("allow", analyst, rng.choice(["1", "2", "1.585", "3"]))
            if text.endswith("None"):
                self.allowed.add(analyst)
            return text
        if draw < 0.24:
            return self._reopen()
        present = [asked for asked in self.asked if asked.version == self.version]
        if draw < 0.4 and present:
            return self._again(rng.choice(present), rng)
        return self._ask_new(rng)

    # --- owners' acts ---

    def _owner(self, act: str, *values: str) -> str:
        self.used[act] += 1
        try:
            return f"{act} {values}: {getattr(self.agent, act)(*values)}"
        except HartleyError as error:
            return f"{act} {values}: {refusal(error)}"

    def _change_data(self) -> str:
        place = self.version + 1
        version = self.world.versions[place]
        data, _ = self._held(place)
        try:
            if version.event == "schema":
                self.agent.change_schema(version.schema, data)
            else:
                self.agent.update(data, erasure=version.event == "erasure")
        except HartleyError as error:
            self.used[f"{version.event} refused"] += 1
            self.seen.append(type(error).__name__)
            return f"{version.event}: {refusal(error)}"
        self.used[version.event] += 1
        self.version = place
        self._keep(data)
        return f"{version.event}: done"

    def _reopen(self) -> str:
        self.used["reopen"] += 1
        self.agent.close()
        schema = self.world.versions[self.version].schema
        data = None
        if self.more:  # a copy on another engine is found through a table there
            data, _ = self._held(self.version)
        self.agent = Agent(data, schema, ledger=self.folder / "ledger.db", **self.more)
        self._share_plans()
        return "reopened"

    def _publish(self, rng: random.Random) -> str:
        """Book a table by its description, and show it with small cells hidden or left out."""
        held = self.world.versions[self.version]
        columns = list(held.columns.values())
        dim = rng.choice(columns)
        summed = rng.choice([None, *(c for c in columns if c.numeric and not c.date)])
        block = {
            "file": "o.csv",
            "dims": [dim.name],
            "statistic": "count" if summed is None else f"sum({summed.name})",
            "where": "all rows",
            **({} if summed is None else {"bounds": [-(10**6), 10**6]}),
        }
        k, listed = rng.choice([0, 2, 3]), rng.random() < 0.5
        options = {"schema": held.schema, "against": self.folder / "ledger.db", "reserve": True}
        try:
            report = check(spec={"outputs": [block]}, **options)
        except HartleyError as error:
            self.used["publication refused"] += 1
            self.seen.append(type(error).__name__)
            return f"PUBLISHED not: {block} {refusal(error)}"
        rows = held.truth(self.world.victim, self.secret[self.version])
        shown = {}
        for value in dim.domain:
            mine = [row for row in rows if row[dim.name] == value]
            number = len(mine)
            if summed is not None:
                number = sum(row[summed.name] or 0 for row in mine)
            if mine or listed:
                shown[str(value)] = "x" if 0 < len(mine) < k else str(number)
        self.used["publication"] += 1
        self.seen.append(str(shown))
        return f"PUBLISHED {block} {report.to_dict()} {shown}"

    def _finish(self) -> str:
        """Return what is written at the end: the summary, the history, the exported ledger."""
        report = verify_prices(self.agent.ledger)
        if not report.holds or report.unpriced:
            self._problem("verify does not hold", f"{report.sentence} {report.unpriced} unpriced")
        self.agent.ledger.export(self.folder / "ledger.jsonl")
        exported = (self.folder / "ledger.jsonl").read_text()
        return f"{self.agent.summary()}\n{self.agent.history()}\n{report}\n{exported}"

    # --- questions ---

    def _ask_new(self, rng: random.Random) -> str:
        columns = self.world.versions[self.version].columns
        selects = self._draw_batch(rng)
        wishes = [
            Wish(spell_select(select, columns, rng), **_draw_wish(select, columns, rng))
            for select in selects
        ]
        analyst, vacuous = rng.choice(ANALYSTS), rng.random() < 0.6
        return self._ask(Asked(self.version, "", analyst, selects, wishes, vacuous, []), rng)

    def _draw_batch(self, rng: random.Random) -> list[Any]:
        selects = [
            self.world.pick(self.place, number, self.version, random.Random(rng.random()))
            for number in range(rng.choice([1, 1, 1, 2, 2, 3]))
        ]
        draw = rng.random()
        if draw < 0.1:
            self.used["duplicate in a batch"] += 1
            selects.append(rng.choice(selects))
        elif draw < 0.25:  # the same of everybody and of nobody, whom a scan must keep apart
            self.used["everybody and nobody in a batch"] += 1
            select = rng.choice(selects)
            both = [replace(select, where=None), replace(select, where=("constant", False))]
            rng.shuffle(both)
            selects = [*selects[:1], *both] if draw < 0.15 else both
        return selects

    def _again(self, before: Asked, rng: random.Random) -> str:
        """Ask what was answered once more, perhaps in other words, inside a batch, by another."""
        columns = self.world.versions[self.version].columns
        wishes = before.wishes
        if rng.random() < 0.6:
            self.used["repeat in other words"] += 1
            wishes = [
                Wish(_reworded(select, columns, rng), wish.error, wish.bits)
                for select, wish in zip(before.selects, wishes, strict=True)
            ]
        analyst = before.analyst if rng.random() < 0.6 else rng.choice(ANALYSTS)
        again = Asked(
            self.version, "", analyst, list(before.selects), list(wishes), before.vacuous, []
        )
        if rng.random() < 0.25:
            self.used["repeat inside a batch"] += 1
            select = draw_select(columns, rng)
            again.selects.append(select)
            wish = _draw_wish(select, columns, rng)
            again.wishes.append(Wish(spell_select(select, columns, rng), **wish))
            return self._ask(again, rng, before=before, free=False)
        self.used["repeat"] += 1
        return self._ask(again, rng, before=before)

    def _ask(
        self, asked: Asked, rng: random.Random, *, before: Asked | None = None, free: bool = True
    ) -> str:
        asked.account = asked.analyst if asked.analyst in self.allowed else ""
        broken = rng.random() < 0.03
        quote, text = self._quote(asked) if rng.random() < 0.6 else (None, "")
        alone = len(asked.wishes) == 1 and rng.random() < 0.7
        text += f"\nASK {asked.analyst} {asked.wishes} {asked.vacuous}"
        try:
            answers = self._answers(asked, alone=alone, broken=broken)
        except HartleyError as error:
            self._check_refusal(error, asked, quote, broken=broken)
            self.seen.append(type(error).__name__)
            return f"{text}\n{refusal(error)}"
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody may see it
            self._problem("an error of no kind", f"{asked.wishes} {error!r}")
            return f"{text}\n{type(error)}"
        self._check_charge(asked, quote, answers[0].bits)
        if before is not None:
            self._check_repeat(before, asked, answers, free=free)
        for place, answer in enumerate(answers):
            self._check_answer(asked, place, answer, quote)
        self.nodes.append((self.transcript, self._counted(asked), len(answers)))
        self.seen += [
            str([(e.low, e.high) for row in answer.reading.rows for e in row]) for answer in answers
        ]
        asked.readings = [answer.reading for answer in answers]
        self.asked.append(asked)
        shown = [
            (answer.to_dict(), str(answer), answer.reading, answer.bits, answer.caption)
            for answer in answers
        ]
        return f"{text}\n{shown}"

    def _answers(self, asked: Asked, *, alone: bool, broken: bool) -> list[Any]:
        options: dict[str, Any] = {"analyst": asked.analyst}
        if VACUOUS:
            options["vacuous"] = asked.vacuous
        failing: Any = nullcontext()
        if broken:
            self.used["engine fails"] += 1
            failing = mock.patch.object(holding, "totals", side_effect=RuntimeError("no engine"))
        with failing:
            if alone:
                return [self.agent.ask(asked.wishes[0], **options)]
            return list(self.agent.ask(asked.wishes, **options))

    def _counted(self, asked: Asked) -> Counter[str]:
        """Count the parts of SQL in a batch that was answered."""
        counted = Counter({"batch of several": int(len(asked.selects) > 1)})
        for select, wish in zip(asked.selects, asked.wishes, strict=True):
            counted += self._features(select)
            wished = "error=" if wish.error is not None else "bits="
            counted["default wish" if wish.error is wish.bits is None else wished] += 1
        return counted

    def _features(self, select: Any) -> Counter[str]:
        key = "features of", self.version, select
        if key not in self.world.chosen:
            columns = self.world.versions[self.version].columns
            self.world.chosen[key] = features(select, columns)
        return self.world.chosen[key]

    def _quote(self, asked: Asked) -> tuple[Any, str]:
        more = (
            {"vacuous": asked.vacuous}
            if "vacuous" in inspect.signature(Agent.price).parameters
            else {}
        )
        try:
            quote = self.agent.price(asked.wishes, analyst=asked.analyst, **more)
            return quote, f"QUOTE {quote.to_dict()} {quote} {quote.explanation}"
        except HartleyError as error:
            return None, f"QUOTE {refusal(error)}"

    # --- what must hold of an answer ---

    def _problem(self, kind: str, about: object) -> None:
        self.problems.append(f"{kind}: world {self.world.seed}, version {self.version}: {about}")

    def _check_refusal(
        self, error: HartleyError, asked: Asked, quote: Any, *, broken: bool
    ) -> None:
        if isinstance(error, Pending):
            if not broken:
                self._problem("pending although the engine works", asked.wishes)
            return
        if quote is not None and quote.affordable and (asked.vacuous or not VACUOUS):
            self._problem("refused although affordable", f"{asked.wishes} {error}")
        self.used["refused" if isinstance(error, Refused) else "not understood"] += 1

    def _check_charge(self, asked: Asked, quote: Any, bits: float) -> None:
        if quote is None:
            return
        if not quote.affordable:
            self._problem("answered although not affordable", asked.wishes)
        if quote.bits != bits:
            self._problem("charged otherwise than quoted", f"{asked.wishes} {quote.bits} {bits}")

    def _check_repeat(self, before: Asked, asked: Asked, listed: list[Any], *, free: bool) -> None:
        if free and before.account == asked.account and listed[0].bits != 0:
            self._problem("a repeat is not free", f"{before.wishes} -> {asked.wishes}")
        for reading, answer in zip(before.readings, listed, strict=False):
            # Where the account was told finer cells meanwhile, a repeat is answered in these.
            if reading.groups != answer.reading.groups or not _agree(reading, answer.reading):
                self._problem("a repeat contradicts", f"{before.wishes} -> {asked.wishes}")

    def _check_answer(self, asked: Asked, place: int, answer: Any, quote: Any) -> None:
        version = self.world.versions[self.version]
        rows = version.truth(self.world.victim, self.secret[self.version])
        promised = dict(quote.errors[place]) if quote is not None else {}
        for kind, about in wrong_numbers(
            asked.selects[place], asked.wishes[place], answer, rows, version.columns, promised
        ):
            self._problem(kind, f"{asked.wishes[place]} with {rows}: {about}")


def refusal(error: HartleyError) -> str:
    """Return everything that a refusal says."""
    return f"{type(error).__name__} {error} {sorted(vars(error).items(), key=repr)}"


def _draw_wish(select: Any, columns: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    draw = rng.random()
    if draw < 0.2:
        return {}
    if draw < 0.7:
        return {"bits": rng.choice([0, 1, 1, 2, 2, 3, 4, 6, "1.5", "1.585", "2.33"])}
    forms = [aggregate.form for aggregate in select.aggregates if aggregate.form is not None]
    widths = [
        sum(abs(times) * (columns[name].high - columns[name].low) for name, times in form.terms)
        for form in forms
    ]
    widest = max(widths, default=Fraction(1))
    part = rng.choice([0, 0, Fraction(1, 4), Fraction(1, 2), Fraction(1, 2), 1, 2])
    return {"error": str(widest * part)}


def _reworded(select: Any, columns: dict[str, Any], rng: random.Random) -> str:
    where = reword(select.where, columns, rng)
    return spell_select(replace(select, where=where), columns, rng)


def floor_power(bits: Fraction) -> int:
    """Return floor(2^bits), by whole numbers alone."""
    exponent = Fraction(bits)
    power, root = 2**exponent.numerator, exponent.denominator
    low, high = 1, 2 ** (exponent.numerator // root + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**root <= power else (low, middle)
    return low


def bits_of(cells: int) -> Fraction:
    """Return a budget that is exactly so many cells, up to some thousand: one more is above it."""
    bits = Fraction(int(10_000 * log2(cells)), 10_000)
    while floor_power(bits) < cells:
        bits += Fraction(1, 10_000)
    return bits


def _agree(before: Any, after: Any) -> bool:
    """Whether every interval of an answer has something in common with that of an earlier one."""
    numbers = zip(chain(*before.rows), chain(*after.rows), strict=True)
    return all(
        old == new
        or old.low is None
        or new.low is None
        or max(old.low, new.low) <= min(old.high, new.high)
        for old, new in numbers
    )
