"""Attack the trusted agent: enumerate what one person's data can make an outsider see.

Written from the promise (docs/accountant.md, docs/questions.md, docs/ledger.md). A world is a tiny
table in which one person's rows vary over everything that they could be. For each of these a fresh
agent, with a real ledger on a real engine, meets the same strategy: a function of the transcript
so far that picks the next batch, analyst or owner's act. The transcript is all that an outsider
sees: answers, refusals, quotes, balances, and the rows of the ledger with the cells in them. Times
and random names are fixed, so that whatever else differs between two runs tells of the person.

The long run, about half an hour on one core:

    python tests/theorems/transcripts.py --strategies 500 --seed 1
"""

from __future__ import annotations

import argparse
import hashlib
import json
import importlib.util
import inspect
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import duckdb

from hartley.agent import agent as agent_module, loading
from hartley.agent.agent import Agent
from hartley.agent.ledger import appending, standing
from hartley.agent.quoting import Wish
from hartley.agent.repricing import verify_prices
from hartley.engines.copying import open_coded
from hartley.errors import HartleyError, Pending, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def beside(name: str) -> Any:
    """Load a module of this folder, which is no package."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
    return sys.modules[name]


sql = beside("plain_sql")
worlds = beside("worlds")

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
    told: str
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
            for _ in range(length):
                rng = random.Random(f"{self.world.seed} {self.transcript}")
                self._step(lambda rng=rng: self._act(rng))
            self._step(self._finish)
        finally:
            if self.agent is not None:
                self.agent.close()
        return self

    def _step(self, act: Callable[[], str]) -> None:
        """Do something and add all that an outsider sees of it to the transcript."""
        before, listed = self.transcript, len(self.asked)
        told = act()
        entries = [] if self.agent is None else self.agent.ledger.entries()
        fresh = entries[self.rows_seen :]
        self.rows_seen = len(entries)
        if self.agent is not None:
            told += self._standing()
        told += "".join(f"\nROW {entry.fields}" for entry in fresh)
        told = told.replace(str(self.folder), "FOLDER")
        self.transcript = hashlib.sha256((before + told).encode()).hexdigest()
        charge, total = self.owed, 1
        for entry in fresh:
            charge *= int(entry.cells) if entry.kind == "reserve" else 1
        self.owed = charge if "Pending" in told else self.owed
        for entry in entries:
            total *= int(entry.cells)
        limit = floor_power(self.agent.state.budget) if self.agent is not None else 1
        if total > limit:
            self._problem("the charges pass the budget", f"{total} > {limit}")
        for analyst in self.allowed:
            own = [int(e.account_cells) for e in entries if e.account == analyst]
            if prod(own) > floor_power(self.agent.state.allowances[analyst].bits):
                self._problem("the charges pass an allowance", f"{analyst} {own}")
        count = sum(len(asked.selects) for asked in self.asked[listed:])
        self.steps.append(
            Step(before, self.transcript, charge, total, limit, self.version, told, count)
        )

    def _standing(self) -> str:
        """Return what the owner and every analyst see of the account."""
        state, ledger = self.agent.state, self.agent.ledger
        balances = [ledger.balance("t", analyst) for analyst in (None, "ann", "bob")]
        pending = [(one.questions, one.cells) for one in _pending(ledger)]
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
            place = loading.place_of(self.agent._place, version, None)
            self.template.keep(data, Path(place))
            self._share_plans()

    def _share_plans(self) -> None:
        if self.template is not None:
            plans, prices = self.template.plans[self.version]
            object.__setattr__(self.agent._held.desk, "plans", plans)
            object.__setattr__(self.agent._held, "_prices", prices)

    def _act(self, rng: random.Random) -> str:
        draw = rng.random()
        if draw < 0.12 and self.version + 1 < len(self.world.versions):
            return self._change_data()
        if draw < 0.16:
            return self._owner("set_budget", rng.choice(["1", "2.5", "4", "6", "8", "10"]))
        if draw < 0.21:
            analyst = rng.choice(["ann", "bob"])
            told = self._owner("allow", analyst, rng.choice(["1", "2", "1.585", "3"]))
            if told.endswith("None"):
                self.allowed.add(analyst)
            return told
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
        selects, wishes = [], []
        for number in range(rng.choice([1, 1, 1, 2, 2, 3])):
            drawn = random.Random(rng.random())
            select = self.world.pick(self.transcript, number, self.version, drawn)
            if selects and rng.random() < 0.15:
                select = rng.choice(selects)
                self.used["duplicate in a batch"] += 1
            wish = _draw_wish(select, columns, rng)
            selects.append(select)
            wishes.append(Wish(sql.spell_select(select, columns, rng), **wish))
        fresh = Asked(
            self.version, "", rng.choice(ANALYSTS), selects, wishes, rng.random() < 0.6, []
        )
        return self._ask(fresh, rng)

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
            select = worlds.draw_select(sql, columns, rng)
            again.selects.append(select)
            wish = _draw_wish(select, columns, rng)
            again.wishes.append(Wish(sql.spell_select(select, columns, rng), **wish))
            return self._ask(again, rng, before=before, free=False)
        self.used["repeat"] += 1
        return self._ask(again, rng, before=before)

    def _ask(
        self, asked: Asked, rng: random.Random, *, before: Asked | None = None, free: bool = True
    ) -> str:
        asked.account = asked.analyst if asked.analyst in self.allowed else ""
        broken = rng.random() < 0.03
        quote, told = self._quote(asked) if rng.random() < 0.6 else (None, "")
        batch: Any = asked.wishes
        if len(batch) == 1 and rng.random() < 0.7:
            batch = batch[0]
        options: dict[str, Any] = {"analyst": asked.analyst}
        if VACUOUS:
            options["vacuous"] = asked.vacuous
        told += f"\nASK {asked.analyst} {batch} {options}"
        failing = mock.patch("hartley.agent.holding.totals", side_effect=RuntimeError("no engine"))
        try:
            if broken:
                self.used["engine fails"] += 1
                with failing:
                    answers = self.agent.ask(batch, **options)
            else:
                answers = self.agent.ask(batch, **options)
        except Pending as error:
            if not broken:
                self._problem("pending although the engine works", asked.wishes)
            return f"{told}\n{refusal(error)}"
        except HartleyError as error:
            if quote is not None and quote.affordable and not (VACUOUS and not asked.vacuous):
                self._problem("refused although affordable", f"{asked.wishes} {error}")
            self.used["refused" if isinstance(error, Refused) else "not understood"] += 1
            return f"{told}\n{refusal(error)}"
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody may see it
            self._problem("an error of no kind", f"{asked.wishes} {error!r}")
            return f"{told}\n{type(error)}"
        listed = list(answers) if isinstance(batch, list) else [answers]
        asked.readings = [one.reading for one in listed]
        if quote is not None and not quote.affordable and quote.due:
            self._problem("answered although not affordable", asked.wishes)
        if quote is not None and quote.due != listed[0].bits:
            self._problem("charged otherwise than quoted", f"{asked.wishes} {quote.due} {listed[0].bits}")
        if before is not None:
            self._check_repeat(before, asked, listed, free=free)
        counted: Counter[str] = Counter()
        columns = self.world.versions[self.version].columns
        for place, answer in enumerate(listed):
            self._check_answer(asked, place, answer, quote)
            counted += self._features(asked.selects[place], columns)
            wish = asked.wishes[place]
            counted["error=" if wish.error is not None else "bits=" if wish.bits is not None else "default wish"] += 1
        counted["batch of several"] += len(listed) > 1
        self.nodes.append((self.transcript, counted, len(listed)))
        self.asked.append(asked)
        shown = [(one.to_dict(), str(one), one.reading, one.bits, one.caption) for one in listed]
        return f"{told}\n{shown}"

    def _features(self, select: Any, columns: dict[str, Any]) -> Counter[str]:
        key = "features of", self.version, select
        if key not in self.world.chosen:
            self.world.chosen[key] = sql.features(select, columns)
        return self.world.chosen[key]

    def _quote(self, asked: Asked) -> tuple[Any, str]:
        more = {"vacuous": asked.vacuous} if "vacuous" in inspect.signature(Agent.price).parameters else {}
        try:
            quote = self.agent.price(asked.wishes, analyst=asked.analyst, **more)
            return quote, f"QUOTE {quote.to_dict()} {quote} {quote.explanation}"
        except HartleyError as error:
            return None, f"QUOTE {refusal(error)}"

    # --- what must hold of an answer ---

    def _problem(self, kind: str, about: object) -> None:
        self.problems.append(f"{kind}: world {self.world.seed}, version {self.version}: {about}")

    def _check_repeat(
        self, before: Asked, asked: Asked, listed: list[Any], *, free: bool
    ) -> None:
        if free and before.account == asked.account and listed[0].bits != 0:
            self._problem("a repeat is not free", f"{before.wishes} -> {asked.wishes}")
        for reading, answer in zip(before.readings, listed, strict=False):
            if reading.rows != answer.reading.rows or reading.groups != answer.reading.groups:
                self._problem("a repeat is not equal", f"{before.wishes} -> {asked.wishes}")

    def _check_answer(self, asked: Asked, place: int, answer: Any, quote: Any) -> None:
        version = self.world.versions[self.version]
        rows = version.truth(self.world.victim, self.secret[self.version])
        select, wish, reading = asked.selects[place], asked.wishes[place], answer.reading
        expected = sql.answer(select, rows, version.columns)
        about = f"{wish} with {rows}"
        groups = [tuple(_told_key(key) for key in keys) for keys in reading.groups]
        if groups != [tuple(_expected_key(part, key, version.columns) for part, key in zip(group, select.keys, strict=True)) for group, _ in expected]:
            self._problem("other groups", f"{about}: {groups}")
            return
        promised = dict(quote.errors[place]) if quote is not None else {}
        records = answer.to_dict()["rows"]
        for (_, numbers), estimates, record in zip(expected, reading.rows, records, strict=True):
            for one, number, estimate, label in zip(
                select.aggregates, numbers, estimates, reading.labels, strict=True
            ):
                said = f"{label} in {about}: {number} told as {estimate}"
                if number is None:
                    if not estimate.may_be_null:
                        self._problem("NULL not told", said)
                    continue
                if estimate.is_null:
                    self._problem("NULL told of a number", said)
                    continue
                root = sql.is_root(one)
                ends = [(estimate.low, estimate.high)]
                shown = record[label]
                if not estimate.date and len(set(reading.labels)) == len(reading.labels):
                    ends.append((Fraction(shown["low"]), Fraction(shown["high"])))
                for low, high in ends:
                    inside = (low <= 0 or low**2 <= number) and number <= high**2 and high >= 0
                    if not (inside if root else low <= number <= high):
                        self._problem("the truth is outside", said)
                most = promised.get(label)
                if wish.error is not None and (most is None or Fraction(str(wish.error)) < most):
                    most = Fraction(str(wish.error))
                if most is not None and estimate.error > most:
                    self._problem("wider than promised", f"{said}; {most}")
                if not root and most is not None and abs(estimate.value - number) > most:
                    self._problem("farther off than promised", f"{said}; {most}")


def refusal(error: HartleyError) -> str:
    """Return everything that a refusal says."""
    return f"{type(error).__name__} {error} {sorted(vars(error).items(), key=repr)}"


def _pending(ledger: Any) -> list[Any]:
    return ledger.pending("t")


def _draw_wish(select: Any, columns: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    draw = rng.random()
    if draw < 0.2:
        return {}
    if draw < 0.7:
        return {"bits": rng.choice([0, 1, 1, 2, 2, 3, 4, 6, "1.5", "1.585", "2.33"])}
    forms = [one.form for one in select.aggregates if one.form is not None]
    widths = [
        sum(abs(times) * (columns[name].high - columns[name].low) for name, times in form.terms)
        for form in forms
    ]
    widest = max(widths, default=Fraction(1))
    part = rng.choice([0, 0, Fraction(1, 4), Fraction(1, 2), Fraction(1, 2), 1, 2])
    return {"error": str(widest * part)}


def _reworded(select: Any, columns: dict[str, Any], rng: random.Random) -> str:
    where = sql.reword(select.where, columns, rng)
    return sql.spell_select(sql.Select(select.aggregates, where, select.keys), columns, rng)


def _told_key(key: Any) -> Any:
    return key.shown if key.value is None else (type(key.value).__name__, str(key.value))


def _expected_key(part: Any, key: Any, columns: dict[str, Any]) -> Any:
    if part is None:
        return "(missing)"
    if part is sql.OTHER:
        return "(other)"
    if columns[key.column].date and key.spelling != "floor":
        part = worlds.EPOCH + worlds.dt.timedelta(days=int(part))
    return type(part).__name__, str(part)


def floor_power(bits: Fraction) -> int:
    """Return floor(2^bits), by whole numbers alone."""
    exponent = Fraction(bits)
    power, root = 2**exponent.numerator, exponent.denominator
    low, high = 1, 2 ** (exponent.numerator // root + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**root <= power else (low, middle)
    return low


# --- all that one person could be ---------------------------------------------------------------


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
        mock.patch.object(standing, "secrets", names),
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
        real_open, real_code = loading.open_table, loading.code_table

        def open_table(data: Any) -> Any:
            if isinstance(data, Coded):
                return data if data.key in self.files else real_open(data.table)
            return real_open(data)

        def code_table(table: Any, codings: Any, **more: Any) -> Any:
            if isinstance(table, Coded):
                return self._quickly(table, codings, **more)
            return real_code(table, codings, **more)

        with (
            mock.patch.object(loading, "open_table", open_table),
            mock.patch.object(agent_module, "open_table", open_table),
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

    def _quickly(self, coded: Coded, codings: Any, *, place: Any, version: str, **_: Any) -> Any:
        Path(place).write_bytes(self.files[coded.key])
        with duckdb.connect(str(place)) as connection:
            ((content,),) = connection.execute("SELECT content FROM about").fetchall()
            note = json.loads(content) | {"version": version, "rows": len(coded.rows)}
            connection.execute("DELETE FROM coded")
            if coded.rows:
                marks = ", ".join("?" * len(coded.rows[0]))
                connection.executemany(f"INSERT INTO coded VALUES ({marks})", coded.rows)
            connection.execute("UPDATE about SET content = ?", [json.dumps(note)])
        return open_coded(place, codings, version=version)


@dataclass(frozen=True)
class Coded:
    """A table as an owner has it, and the codes that its schema makes of it."""

    table: Any
    key: str
    rows: list[tuple[int | None, ...]]
    engine: str = "duckdb"

    @classmethod
    def of(cls, version: Any, victim: int, secret: Any) -> Coded:
        columns = list(version.columns.values())
        rows = [
            tuple(
                None if row[c.name] is None else c.grid.index(row[c.name]) for c in columns
            )
            for row in version.truth(victim, secret)
        ]
        return cls(version.table(victim, secret), repr(version.schema), rows)


def enumerate_world(
    world: Any, *, hold: Any = on_files, length: int | None = None
) -> tuple[list[Run], list[str]]:
    """Let every secret of a world meet its strategy; return the runs and what is wrong."""
    steps = random.Random(world.seed).choice([6, 7, 8, 9, 10]) if length is None else length
    shared = Path("/dev/shm")  # noqa: S108 - in memory, where there is such a folder
    runs, template = [], Template() if hold is on_files and world.seed % 8 else None
    twice = [world.secrets[0]] if world.seed % 5 == 0 else []  # whether nothing is random
    for secret in [*twice, *world.secrets]:
        with (
            tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder,
            fixed_names(),
            nullcontext() if template is None else template.in_use(),
        ):
            runs.append(Run(world, secret, Path(folder), hold, template).walk(steps))
    problems = [problem for run in runs for problem in run.problems]
    if twice and runs[0].transcript != runs[1].transcript:
        problems.append(f"not a function of the data: world {world.seed}")
    problems += [] if template is None else template.problems
    return runs, [*judge(world, runs), *problems]


def judge(world: Any, runs: list[Run]) -> list[str]:
    """Count transcripts, node by node and in all, and compare with what was charged."""
    problems = []
    for depth in range(max(len(run.steps) for run in runs)):
        reached = [run for run in runs if depth < len(run.steps)]
        totals = {run.steps[depth].after: run.steps[depth].total for run in reached}
        weight = sum(Fraction(1, total) for total in totals.values())
        most = max(run.steps[depth].limit for run in reached)
        if weight > 1 or len(totals) > most:
            problems.append(
                f"too many transcripts: world {world.seed}, step {depth}: {len(totals)} of at most "
                f"{most}, weight {weight}"
            )
        children: dict[Any, set[str]] = defaultdict(set)
        charges, texts = {}, {}
        for run in reached:
            step = run.steps[depth]
            told = zip(world.versions, run.secret, strict=True)
            opened = [version.opened(secret) for version, secret in told]
            node = step.before, tuple(opened[: step.version + 1])
            children[node].add(step.after)
            charges[node] = step.charge
            texts[node] = step.told
        for node, after in children.items():
            if len(after) > charges[node]:
                problems.append(
                    f"too many answers: world {world.seed}, step {depth}: {len(after)} where "
                    f"{charges[node]} were charged: {texts[node].partition('STANDING')[0][:1500]}"
                )
    return problems


@dataclass
class Tally:
    """What was tried, over many worlds."""

    strategies: int = 0
    agents: int = 0
    batches: int = 0
    questions: int = 0
    asked: int = 0
    transcripts: int = 0
    tight: int = 0
    features: Counter[str] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)
    schemas: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    problems: dict[tuple[str, int], str] = field(default_factory=dict)
    """The first one of every kind in every world."""

    def add(self, world: Any, runs: list[Run], problems: list[str]) -> None:
        self.strategies += 1
        self.agents += len(runs)
        self.transcripts += len({run.transcript for run in runs})
        nodes: dict[str, tuple[Counter[str], int]] = {}
        for run in runs:
            self.acts += run.used
            self.asked += sum(step.questions for step in run.steps)
            nodes |= {before: (counted, size) for before, counted, size in run.nodes}
        for counted, size in nodes.values():
            self.features += counted
            self.batches += 1
            self.questions += size
        first = world.versions[0]
        self.schemas[f"rows {first.rows}"] += 1
        self.schemas[f"rows_per_unit {first.rows_per_unit}"] += 1
        self.schemas["unit" if first.unit else "no unit"] += 1
        for column in first.columns.values():
            self.schemas[column.kind] += 1
            self.schemas["nullable"] += column.nullable
            self.schemas["other"] += column.other
        for problem in problems:
            kind = problem.partition(":")[0]
            self.kinds[kind] += 1
            self.problems.setdefault((kind, world.seed), problem)

    def __str__(self) -> str:
        lines = [
            f"{self.strategies} strategies, {self.agents} agents, {self.questions} adaptive questions "
            f"in {self.batches} batches at different places of the trees ({self.asked} asked in "
            f"all), {self.transcripts} transcripts"
        ]
        for name in ("schemas", "acts", "features", "kinds"):
            listed = sorted(getattr(self, name).items())
            lines.append(f"{name}: " + ", ".join(f"{key} {times}" for key, times in listed))
        return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Enumerate the transcripts of random agents.")
    parser.add_argument("--strategies", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--width", type=int, default=700, help="of what is said of a problem")
    options = parser.parse_args()
    tally, started = Tally(), time.monotonic()
    for number in range(options.strategies):
        world = worlds.draw_world(sql, options.seed * 1_000_000 + number)
        try:
            runs, problems = enumerate_world(world)
        except Exception as error:  # noqa: BLE001 - the other worlds are worth trying
            runs, problems = [], [f"an error outside of questions: world {world.seed}: {error!r}"]
        tally.add(world, runs, problems)
        for (_, seed), problem in tally.problems.items():
            if seed == world.seed:
                print(problem[: options.width], flush=True)
        if number % 25 == 24:
            spent = time.monotonic() - started
            print(f"... {number + 1} strategies, {tally.agents} agents, {tally.questions} questions, {spent:.0f} s", flush=True)
    print(tally)
    sys.exit(bool(tally.problems))


if __name__ == "__main__":
    main()
