"""A served dataset: its agent and its paid answers."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from hartley.agent.agent import Agent, default_copy_folder
from hartley.agent.replay import ANY_STEP
from hartley.errors import HartleyError, InputError, OptionError, Pending, Refused
from hartley.files import parse_toml
from hartley.results.answer import Answer
from hartley.schema.schema import Schema
from hartley.service.own_rows import LaterNote, own_balance, own_place
from hartley.service.replies import busy, not_found, shown_answer
from hartley.tables.opening import open_table
from hartley.tables.reading import ReadingOptions
from hartley.trusted.cells import read_cells
from hartley.trusted.ledger.chain import find
from hartley.trusted.ledger.charging import plan, read_batch
from hartley.trusted.ledger.rows import NULL, digest
from hartley.trusted.precision import questions_of
from hartley.trusted.pricing.price import certificate_of, price
from hartley.trusted.questions.batch import from_plain, to_plain
from hartley.trusted.questions.question import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hartley.agent.ledger import Ledger
    from hartley.engines.table import Table
    from hartley.guarantees.promise import Certificate
    from hartley.results.quote import Wish
    from hartley.service.own_rows import LedgerGuard, OwnCharge
    from hartley.service.settings import DatasetSettings, ServiceSettings
    from hartley.trusted.ledger.chain import RowPlace
    from hartley.trusted.ledger.charging import Batch, ChargePlan
    from hartley.trusted.precision import PriceDesk
    from hartley.trusted.pricing.regions import PublicParts
    from hartley.trusted.questions.batch import Question
    from hartley.trusted.questions.question import Selection

T = TypeVar("T")
MOST_REMEMBERED = 10_000
"""Questions that are known to be repeats, in each version."""


# --- answers that an account has paid for, read from the ledger again ---


@dataclass(frozen=True)
class PaidQuestions:
    """Questions of an account in the cells that it knows, ready to be looked up."""

    plans: tuple[Selection, ...]
    questions: tuple[Question, ...]
    batch: Batch
    schema: Schema
    _shown: list[tuple[object, list[dict[str, Any]]]] = field(
        default_factory=list, repr=False, compare=False
    )
    """What was shown last, with the recorded answers and the asking account it rests on."""

    @cached_property
    def certificate(self) -> Certificate:
        """What is promised of the answers; priced only where there are some."""
        texts = [selection.text for selection in self.plans]
        cells = price(self.questions, self.schema).cells
        return certificate_of(texts, self.questions, cells, self.schema)

    def look_up(self, ledger: Ledger) -> ChargePlan | None:
        """Return what the ledger records; None if something is not paid for or not answered.

        Raises Stale if the data or the schema were replaced meanwhile.
        """
        planned = ledger.store.read(lambda t: plan(t, self.batch))
        return planned if planned.complete else None

    def contents(self, planned: ChargePlan) -> list[dict[str, Any]]:
        """Return the recorded answers as plain values, computed once while they are the same."""
        # The balance of an allowance is a function of the asking account alone.
        own = planned.place.account
        now = planned.answers, own if own.bits is not None else own_balance(planned.place)
        for known, contents in tuple(self._shown):  # of one thread, whatever others do meanwhile
            if known == now:
                return contents
        contents = [shown_answer(answer) for answer in self.answers(planned)]
        self._shown[:] = [(now, contents)]
        return contents

    def answers(self, planned: ChargePlan) -> tuple[Answer, ...]:
        """Return the recorded answers, which cost nothing any more, with the account's balance."""
        cells = {
            question: None if text == NULL else int(text or 0)
            for question, text in zip(self.questions, planned.answers, strict=True)
        }
        names = dict(zip(self.questions, planned.digests, strict=True))
        own = own_balance(planned.place)
        return tuple(
            Answer(
                text=selection.text,
                reading=read_cells(selection, [cells[asked] for asked in selection.questions]),
                bits=0.0,
                spent=own.spent,
                remaining=own.remaining,
                certificate=self.certificate,
                question_id=digest(*(names[asked] for asked in selection.questions))[:16],
            )
            for selection in self.plans
        )


def reopened(
    desk: PriceDesk, ledger: Ledger, analyst: str, charge: OwnCharge
) -> tuple[Answer, ...]:
    """Return the answers of a row again, in the cells that it paid for; no wish is needed.

    What the row repeated from earlier rows is shown in the finest cells that the account knows.
    Raises an error, as for an absent row, if the account did not pay for all of it.
    """
    selections = _selections(charge.note, desk)
    paid = [from_plain(question) for question in charge.questions]
    steps = {replace(question, step=ANY_STEP): question.step for question in paid}
    plans = [
        known.with_steps(
            [steps.get(replace(asked, step=ANY_STEP), asked.step) for asked in known.questions]
        )
        for known in desk.known_plans(selections, ledger.trusted, analyst)
    ]
    questions = tuple(questions_of(plans))
    batch = read_batch(
        desk.schema.name,
        analyst,
        [to_plain(question) for question in questions],
        version=charge.version,
        schema=charge.schema,
    )
    paid_for = PaidQuestions(tuple(plans), questions, batch, desk.schema)
    planned = paid_for.look_up(ledger)
    if planned is None:
        raise not_found("answer")
    return paid_for.answers(planned)


def _selections(note: str, desk: PriceDesk) -> list[Selection]:
    """Read the questions in the note of a row, which may have several lines each."""
    lines, selections = note.split("\n"), []
    while lines:
        # The longest run of lines that is a question: a comment may stand after a whole one.
        for end in range(len(lines), 0, -1):
            with suppress(Refused):
                selections.append(parse("\n".join(lines[:end]), desk.schema, desk.rows))
                lines = lines[end:]
                break
        else:
            raise not_found("answer")
    return selections


# --- one dataset in one worker: an agent over the present version ---


@dataclass
class OpenVersion:
    """An agent over one version, closed after its last user when another version replaces it."""

    agent: Agent
    version: str
    schema_version: str
    note: LaterNote | None = None
    holders: set[str] = field(default_factory=set)
    """Accounts that are known to have an allowance, which no event takes away."""
    repeats: dict[object, tuple[PaidQuestions, PublicParts]] = field(default_factory=dict)
    """Questions that accounts have paid for, each with what the account had spent by then."""
    users: int = 0
    retired: bool = False

    def close(self) -> None:
        """Write the note of where the ledger ends, and close the agent."""
        if self.note is not None:
            self.note.write()
        self.agent.close()


def place_of_copy(settings: ServiceSettings, dataset: DatasetSettings) -> str:
    """Return where the coded copy of a dataset is: as set, or next to the ledger file."""
    place = dataset.place or default_copy_folder(None, settings.ledger, dataset.name)
    return str(place or settings.folder / f"{dataset.name}.duckdb")


def read_schema(dataset: DatasetSettings) -> Schema:
    """Read the schema of a dataset, which must be of the table that its section names."""
    schema = Schema.read(dataset.schema)
    if schema.name != dataset.name:
        raise OptionError(
            f"The schema of [datasets.{dataset.name}] is of the table '{schema.name}'",
            hint=f"name the section [datasets.{schema.name}]",
        )
    return schema


def open_data(dataset: DatasetSettings, data: object) -> Table:
    """Open a table of a dataset, whose files are written as its settings say."""
    return open_table(data, reading=dataset.reading)


@contextmanager
def hints_about_reading(dataset: DatasetSettings) -> Iterator[None]:
    """Let errors about a file, which name options of a shell, name the configuration too."""
    try:
        yield
    except InputError as error:
        options = [each.name for each in fields(ReadingOptions) if f"--{each.name}" in error.hint]
        if not options:
            raise
        hint = f"{error.hint}; in a configuration, set {options[0]} in "
        hint += f"[datasets.{dataset.name}.reading]"
        raise type(error)(error.problem, hint=hint) from None


class HostedDataset:
    """A dataset of the service, used by many threads."""

    def __init__(
        self,
        dataset: DatasetSettings,
        settings: ServiceSettings,
        ledger: Ledger,
        guard: LedgerGuard,
    ) -> None:
        self.name, self._dataset, self.ledger, self._guard = dataset.name, dataset, ledger, guard
        self.place = place_of_copy(settings, dataset)
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._open: OpenVersion | None = None

    # --- the present version ---

    @property
    def near(self) -> str | None:
        """The address of a database that keeps the coded copy itself; None for a file."""
        data = self._dataset.data
        return data if data is not None and "://" in data else None

    def agent(self, schema: Schema) -> Agent:
        """Open an agent over the coded copy."""
        near = None if self.near is None else open_data(self._dataset, self.near)
        return Agent(near, schema, ledger=self.ledger, place=self.place)

    def open(self) -> None:
        """Open the present version, unless it is open already."""
        with self._using():
            pass

    def close(self) -> None:
        """Close the agent."""
        with self._lock:
            opened, self._open = self._open, None
        if opened is not None:
            self._retire(opened)

    @contextmanager
    def _using(self, replacing: OpenVersion | None = None) -> Iterator[OpenVersion]:
        """Use the open version, or the one that replaces a version that is not the present one."""
        with self._lock:
            opened = self._open
            if opened is not None and opened is not replacing:
                opened.users += 1
            else:
                opened = None
        if opened is None:
            opened = self._reopened(replacing)
        try:
            yield opened
        finally:
            with self._lock:
                opened.users -= 1
                last = opened.retired and not opened.users
            if last:
                opened.close()

    def _reopened(self, old: OpenVersion | None) -> OpenVersion:
        """Open the version that the ledger records now, and count the caller as its user."""
        with self._opening:
            with self._lock:
                if self._open is not None and self._open is not old:  # another thread was quicker
                    self._open.users += 1
                    return self._open
            state = self.ledger.state(self.name)
            schema = Schema.read(parse_toml(str(state.schema), what="recorded schema"))
            agent = self.agent(schema)
            file = agent.trusted.head_file
            note = None if file is None else LaterNote(file)
            agent.trusted.head_file = note  # type: ignore[assignment]  # see LaterNote
            fresh = OpenVersion(agent, state.version, state.schema_version, note, users=1)
            with self._lock:
                self._open = fresh
        if old is not None:
            self._retire(old)
        return fresh

    def _retire(self, opened: OpenVersion) -> None:
        with self._lock:
            unused = not opened.retired and not opened.users
            opened.retired = True
        if unused:
            opened.close()

    def run(self, work: Callable[[OpenVersion], T], *, check: bool = True) -> T:
        """Run work with the present version; if it was replaced meanwhile, once more.

        Nothing is charged for a version that is not the present one, so a second attempt is safe.
        Without ``check``, work looks itself whether its version is the present one.
        """
        self._guard.check()
        old = None
        for _ in range(2):
            with self._using(replacing=old) as opened:
                try:
                    if not check or self._is_present(opened):
                        return work(opened)
                except Pending:
                    raise  # charged for this version: a second attempt would charge for the next
                except HartleyError:
                    if self._is_present(opened):
                        raise
                old = opened
        raise busy("The dataset is being replaced", "ask again; nothing was charged")

    def _is_present(self, opened: OpenVersion) -> bool:
        state = self.ledger.store.read(lambda t: find(t, self.name)).state
        return (state.version, state.schema) == (opened.version, opened.schema_version)

    def write_note(self) -> None:
        """Write where the ledger ends next to the copy."""
        with self._lock:
            note = None if self._open is None else self._open.note
        if note is not None:
            note.write()

    # --- what is asked ---

    @property
    def schema(self) -> Schema:
        """The schema of the present version."""
        return self.run(lambda opened: opened.agent.schema)

    @property
    def shares_population(self) -> bool:
        """Whether datasets about the same people share a budget with this one."""
        with self._lock:
            opened = self._open
        return opened is None or opened.agent.schema.population is not None

    def own(self, analyst: str) -> RowPlace:
        """Return how the account of an analyst stands."""
        return own_place(self.ledger, self.name, analyst)

    def require_holder(self, opened: OpenVersion, analyst: str) -> None:
        """Make sure that an analyst has an allowance, with a look at the ledger the first time."""
        if analyst not in opened.holders:
            self.own(analyst)
            if len(opened.holders) >= MOST_REMEMBERED:
                opened.holders.clear()
            opened.holders.add(analyst)

    def is_free_repeat(self, analyst: str, wishes: Sequence[Wish]) -> bool:
        """Tell whether questions were found to be a repeat in the version that is open."""
        with self._lock:
            opened = self._open
        return opened is not None and _key(analyst, wishes) in opened.repeats

    def seems_new(
        self,
        opened: OpenVersion,
        analyst: str,
        wishes: Sequence[Wish],
        admit: Callable[[Sequence[Selection]], None],
    ) -> bool:
        """Tell whether an account was never charged for some of the questions, as far as is known.

        It looks at no row that was added since the last question here; ``admit`` may refuse plans.
        """
        desk = opened.agent.desk
        plans = desk.plan(list(wishes), None, None)
        admit(plans)
        return self._is_unknown(desk, plans, analyst)

    def repeat(
        self,
        opened: OpenVersion,
        analyst: str,
        wishes: Sequence[Wish],
        admit: Callable[[Sequence[Selection]], None] = lambda _: None,
        *,
        may_ask: bool = False,
    ) -> list[dict[str, Any]] | None:
        """Return recorded answers if the account has paid for all of them; None otherwise.

        ``admit`` may refuse the plans of questions that are not known to be repeats. With
        ``may_ask``, new questions are asked next, so that they need not be looked up.
        """
        key = _key(analyst, wishes)
        known = opened.repeats.get(key)
        if known is not None:
            questions, spent = known
            planned = questions.look_up(self.ledger)
            # What the account was charged for since may have told it the same in finer cells.
            if planned is not None and planned.place.account.parts == spent:
                return questions.contents(planned)
        desk = opened.agent.desk
        read = desk.plan(list(wishes), None, None)
        admit(read)
        if may_ask:
            desk.earlier.read(self.ledger.trusted)  # only what was added since it was read last
            if self._is_unknown(desk, read, analyst):
                return None
        based = {"version": opened.version, "schema": opened.schema_version}
        plans, planned = desk.look_up(read, self.ledger.trusted, analyst, **based)
        if not planned.complete:
            return None
        questions = PaidQuestions(plans.plans, plans.questions, planned.batch, desk.schema)
        if len(opened.repeats) >= MOST_REMEMBERED:
            opened.repeats.clear()
        opened.repeats[key] = (questions, planned.place.account.parts)
        return questions.contents(planned)

    @staticmethod
    def _is_unknown(desk: PriceDesk, plans: Sequence[Selection], analyst: str) -> bool:
        """Return whether an account was never charged for some question of plans, at any step."""
        told = desk.earlier.told(analyst)
        return any(told.finest(asked) is None for plan in plans for asked in plan.questions)


def _key(analyst: str, wishes: Sequence[Wish]) -> object:
    return analyst, *(
        (wish.text, repr(wish.error), repr(wish.bits), repr(wish.min_rows)) for wish in wishes
    )
