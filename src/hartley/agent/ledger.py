"""Ledger: holds a TrustedLedger; overview, export, backup."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

from hartley.errors import EngineError, InputError, OptionError
from hartley.exact import read_integer
from hartley.files import unwritable, whole_file
from hartley.trusted.ledger.chain import find, find_population, read_fund
from hartley.trusted.ledger.charging import as_prices, offer, plan, read_batch
from hartley.trusted.ledger.ledger import TrustedLedger, open_store, owner_state
from hartley.trusted.ledger.rows import (
    FIELDS,
    FORMAT,
    STRANGE,
    Entry,
    Head,
    broken,
    canonical,
    committed_answers,
    problem_of_schema,
    question_digest,
    terms_of,
    unreadable,
)
from hartley.trusted.ledger.state import read_state
from hartley.trusted.ledger.store import FIRST, PAGE, check_format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from hartley.agent.replay import LedgerReport, MayAnswer, OpenFactor, Replay, Reprice
    from hartley.trusted.ledger.charging import BatchPrices, ChargePlan, Offer, Reservation
    from hartley.trusted.ledger.ledger import State
    from hartley.trusted.ledger.rows import Terms
    from hartley.trusted.ledger.state import Balance, Population
    from hartley.trusted.ledger.store import LedgerStore, Transaction

    Price = Callable[[list[int]], int] | BatchPrices


# --- overview -------------------------------------------------------------------------------------
# What the owner of a ledger is shown: overviews, charges, populations, pending questions.


@dataclass(frozen=True)
class Overview:
    """The state of a dataset in a few numbers, and how much was asked."""

    state: State
    batches: int
    """The number of paid batches."""
    questions: int
    """Questions in them."""
    broken: str | None
    """Why the promise is broken, if a row of an earlier version broke it."""


@dataclass(frozen=True)
class Charge:
    """One batch that was paid for."""

    sequence: int
    time: str
    analyst: str
    version: str
    questions: tuple[Any, ...]
    answers: tuple[str | None, ...]
    """Cell indices as text, 'null' for NULL; None if there is no answer yet."""
    cells: int
    """The charge to the dataset, for the type of the public columns that costs most; for an
    analyst, that to the analyst's account.
    """
    note: str | None
    due: Fraction = Fraction(1)
    """By which factor the largest product of charges grew: that of the dataset, or the account."""


def read_overview(transaction: Transaction, dataset: str) -> Overview:
    """Return the state of a dataset and how much was asked, without reading charges."""
    state = owner_state(transaction, dataset)
    return Overview(
        state,
        *transaction.charges(dataset),
        broken=_broken_promise(transaction.schemas(dataset)),
    )


def _broken_promise(rows: Iterable[Entry]) -> str | None:
    """Return which row changed a schema in a way that is not allowed, if there is one."""
    before: Terms | None = None
    for row in rows:
        state = read_state(row)[0]
        try:
            terms = terms_of(row.told["schema"])
            charged = state.open // read_integer(row.cells) * state.spent > 1
            problem = (
                None
                if before is None
                else problem_of_schema(before, terms, row.told, charged=charged, rows=state.rows)
            )
        except STRANGE:
            raise unreadable(row) from None
        if problem:
            return f"row {row.sequence} changed the schema, and {problem}"
        before = terms
    return None


def add_budgets(transaction: Transaction) -> tuple[int, Fraction]:
    """Return the number of budgets in the ledger, counting a shared one once, and their sum."""
    budgets: dict[tuple[str, str], list[Fraction]] = {}
    for row in transaction.latest_of_all():
        state = read_state(row)[0]
        shared = state.population
        key = ("dataset", row.dataset) if shared is None else ("population", shared)
        budgets.setdefault(key, []).append(state.budget)
    bits = Fraction(0)
    for (kind, name), listed in budgets.items():
        fund = transaction.latest("", name) if kind == "population" else None
        bits += sum(listed) if fund is None else min(sum(listed), read_fund(fund).budget)
    return len(budgets), bits


def list_populations(transaction: Transaction) -> list[Population]:
    """Return the state of every population."""
    populations = [find_population(transaction, name) for name in transaction.populations()]
    return [population for population in populations if population is not None]


def list_pending(transaction: Transaction, dataset: str) -> list[Reservation]:
    """Return the charged questions about the present version that have no answer."""
    waiting = []
    state = find(transaction, dataset).state
    for row in transaction.unanswered(dataset):
        entry = transaction.entry(row)
        assert entry is not None  # unanswered() joins with the rows
        try:
            about, questions = (entry.told["version"], entry.schema), entry.told["questions"]
        except STRANGE:
            raise unreadable(entry) from None
        if about == (state.version, state.schema):  # otherwise its data are gone
            batch = read_batch(dataset, entry.analyst, questions)
            waiting.append(plan(transaction, batch).reservation(row))
    return waiting


def list_charges(transaction: Transaction, dataset: str, analyst: str | None) -> list[Charge]:
    """Return every paid batch, or those of one analyst, with the answers in the rows."""
    find(transaction, dataset)
    charges: list[tuple[Entry, Fraction]] = []
    answers: dict[str, str] = {}
    spent: dict[str, int] = {}
    for entry in transaction.checked(dataset):
        answers |= committed_answers(entry)
        state, account = read_state(entry)
        holder, after = ("", state.spent) if analyst is None else (entry.account, account.spent)
        if entry.kind == "reserve" and analyst in {None, entry.analyst}:
            charges.append((entry, Fraction(after, spent.get(holder, 1))))
        spent[holder] = after
    return [_charge(*charge, answers, own=analyst is not None) for charge in charges]


def _charge(entry: Entry, due: Fraction, answers: Mapping[str, str], *, own: bool) -> Charge:
    try:
        version, questions = entry.told["version"], tuple(entry.told["questions"])
        digests = [
            question_digest(entry.dataset, version, entry.schema, canonical(question))
            for question in questions
        ]
        return Charge(
            sequence=entry.sequence,
            time=entry.time,
            analyst=entry.analyst,
            version=version,
            questions=questions,
            answers=tuple(answers.get(digest) for digest in digests),
            cells=read_integer(entry.account_cells if own else entry.cells),
            note=entry.told.get("note"),
            due=due,
        )
    except STRANGE:
        raise unreadable(entry) from None


# --- lines ----------------------------------------------------------------------------------------
# The rows of a ledger as a file of JSON lines.

LONGEST_LINE = 2**28
"""The longest line in characters; a row holds a batch of questions and a few large numbers."""


def write_lines(transaction: Transaction, path: Path) -> int:
    """Write every row to a file; return how many."""
    rows = 0
    last = transaction.last()
    end = {"sequence": 0, "hash": ""} if last is None else vars(Head(last.sequence, last.hash))
    with path.open("x", encoding="ascii", newline="\n") as file:
        file.write(canonical({"ledger": "hartley", "format": FORMAT, **end}) + "\n")
        for entry in transaction.entries():
            file.write(canonical(dict(zip(FIELDS, entry.fields, strict=True))) + "\n")
            rows += 1
    return rows


def read_lines(path: Path) -> Iterator[Entry]:
    """Read the rows that were written."""
    with path.open(
        encoding="ascii", errors="replace"
    ) as file:  # rows never contain invalid characters
        first = _parsed(_line(file, path), path)
        try:
            if first["ledger"] != "hartley" or type(first["format"]) is not int:
                raise _unreadable(path)
            end = Head(first["sequence"], first["hash"]) if first["sequence"] != 0 else None
        except (*STRANGE, InputError):
            raise _unreadable(path) from None
        if not check_format(first["format"], f"'{path}'"):
            raise _unreadable(path)
        last = None
        while line := _line(file, path):
            last = _entry(line, path)
            yield last
        if (last and (last.sequence, last.hash)) != (end and (end.sequence, end.hash)):
            raise InputError(
                f"The file '{path}' does not end with the row that it names as its last",
                hint="it was cut off or changed; give another copy",
            )


def _line(file: TextIO, path: Path) -> str:
    line = file.readline(LONGEST_LINE)
    if len(line) == LONGEST_LINE:
        raise _unreadable(path)
    return line


def _parsed(line: str, path: Path) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise _unreadable(path) from None


def _entry(line: str, path: Path) -> Entry:
    try:
        entry = Entry(**_parsed(line, path))
    except TypeError:
        raise _unreadable(path) from None
    if type(entry.sequence) is not int or not all(isinstance(v, str) for v in entry.fields[1:]):
        raise _unreadable(path)
    return entry


def _unreadable(path: Path) -> InputError:
    return InputError(
        f"The file '{path}' is not an exported ledger",
        hint="give a file that 'hartley ledger export' or 'hartley ledger backup' wrote",
    )


# --- backup ---------------------------------------------------------------------------------------
# Exports, saved heads, backups and restores of a ledger.

SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True)
class Restored:
    """What a restore did."""

    rows: int
    """Rows in the ledger now."""
    added: int
    forgotten: int
    """Rows that the ledger lost; more than 0 only if that was forced."""
    head: Head | None


LONGEST_HEAD = 10_000


def read_head(path: Path) -> Head:
    """Read a head that was saved to a file."""
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST_HEAD).decode()
    except (OSError, ValueError):
        raise InputError(f"The head '{path}' cannot be read", hint="check the path") from None
    return Head.from_json(text)


def restore(store: LedgerStore, source: Path, *, force: bool = False) -> Restored:
    """Restore a ledger from a backup or an export.

    The chain of the backup is checked first. Rows are only added: if the ledger has rows that the
    backup lacks, nothing is changed unless forced, since their charges would be forgotten.
    """
    from hartley.agent.replay import replay

    # Checked before the ledger is locked, and compared with a second reading inside.
    state, report = replay(read_backup(source))
    if not report.holds and not (force and report.intact):
        raise EngineError(
            f"The backup '{source}' fails its check: {report.problem}",
            hint="nothing was changed; force it only if there is no other backup, since its "
            "promise is broken"
            if report.intact
            else "give another backup; nothing was changed",
        )

    def work(transaction: Transaction) -> Restored:
        shared_rows, lacking = _compare(transaction.entries(), read_backup(source))
        if lacking and not force:
            raise OptionError(
                f"The ledger has {lacking} rows that the backup lacks",
                hint="their charges would be lost and the promise void; force it only if nobody "
                "saw their answers",
            )
        if lacking:
            store.wipe(transaction)
            shared_rows = 0
        _add(transaction, read_backup(source), state, shared_rows)
        if transaction.head() != report.head:
            raise broken("the backup changed while it was read")
        return Restored(report.rows, report.rows - shared_rows, lacking, report.head)

    return store.write(work)


def read_backup(path: Path) -> Iterator[Entry]:
    """Read the rows of a backup or an export; the file itself is not changed."""
    try:
        with path.open("rb") as file:
            start = file.read(len(SQLITE))
    except OSError:
        raise InputError(f"The file '{path}' cannot be read", hint="check the path") from None
    if start != SQLITE:
        yield from read_lines(path)
        return
    from hartley.trusted.ledger.sqlite import SqliteLedgerStore, copy_with_log

    with tempfile.TemporaryDirectory(prefix="hartley-") as folder:
        try:
            copied = copy_with_log(path, Path(folder))
        except OSError as error:
            raise unwritable(f"A copy of '{path}' in {folder}", error) from None
        store = SqliteLedgerStore(Path(copied), create=False)
        try:
            store.read(lambda transaction: transaction.last())
            yield from _pages(store)
        finally:
            store.close()


def _pages(store: LedgerStore) -> Iterator[Entry]:
    def page(transaction: Transaction) -> list[Entry]:
        return list(islice(transaction.entries(start), PAGE))

    start = FIRST
    while rows := store.read(page):
        yield from rows
        start = rows[-1].sequence + 1


def _compare(present: Iterable[Entry], backup: Iterable[Entry]) -> tuple[int, int]:
    """Return how many first rows are the same, and how many others the present ledger has."""
    same = lacking = 0
    others = iter(backup)
    for entry in present:
        if lacking or entry != next(others, None):
            lacking += 1
        else:
            same += 1
    return same, lacking


def _add(transaction: Transaction, entries: Iterable[Entry], state: Replay, common: int) -> None:
    """Append the missing rows unchanged, and index them."""
    for entry in entries:
        if entry.sequence > common:
            transaction.append(entry)
    for (digest, account), row in state.asked.items():
        if row > common:
            transaction.note_asked([digest], account, row)
    for digest, (answer, row) in state.answers.items():
        if row > common:
            transaction.note_answers({digest: answer}, row)


def _whole(
    path: Path,
    write: Callable[[Path], object],
    *,
    replace: bool = False,
    private: bool = False,
) -> None:
    """Write a file completely or not at all; an existing file is not overwritten by accident."""
    if path.exists() and not replace:
        raise OptionError(f"The file '{path}' exists", hint="give it another name")
    if not path.absolute().parent.is_dir():
        raise OptionError(f"The folder of '{path}' does not exist", hint="create it first")
    with whole_file(path, private=private) as half:
        half.unlink()  # the writer creates the file
        write(half)


# --- ledger ---------------------------------------------------------------------------------------


class Ledger:
    """A durable, append-only, hash-chained record, used by many threads and processes at once.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = open_ledger(folder.name + "/ledger.db")
        >>> about = {"bits": 3, "schema": {"name": "people"}, "rows": 5000}
        >>> _ = ledger.record("people", "created", about)
        >>> paid = ledger.reserve("people", "ann", [{"count": "all"}], lambda new: 2)
        >>> [charge.cells for charge in ledger.history("people")], len(ledger.pending("people"))
        ([2], 1)
        >>> _ = ledger.commit(paid, ["7"])
        >>> ledger.reserve("people", "bob", [{"count": "all"}], lambda new: 2).answers
        ('7',)
        >>> ledger.state("people").spent, ledger.state("people").remaining
        (2, 2.0)
        >>> ledger.verify().holds
        True
        >>> ledger.close(); folder.cleanup()
    """

    def __init__(self, store: LedgerStore) -> None:
        self.trusted = TrustedLedger(store)
        """What charges and answers: all that an agent needs of a ledger."""
        self.store = store
        """The database, in which a service keeps tables beside the ledger's."""
        self.name, self.path = store.name, store.path
        """The name of the ledger for messages, and its file; None if a server holds it."""

    def close(self) -> None:
        """Close every connection."""
        self.trusted.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- charging ---

    def record(
        self,
        dataset: str,
        kind: str,
        content: Mapping[str, Any],
        *,
        schema: str | None = None,
        check: Callable[[], None] | None = None,
    ) -> Entry:
        """Record an event; raise an error if a promise would not hold afterwards.

        Args:
            dataset: the name of the dataset or of the population.
            kind: created (bits, schema, rows, open_factor, rules), version (rows), erasure of a
                person (rows), schema (schema, open_factor, open_charge; for new data also rows and
                version), budget (bits), allowance (analyst, bits), period (per: year, quarter or
                month, and the bits of each; both None to end it) or population (bits, shared by
                all datasets whose schema names it). Versions have random names, drawn if not
                given.
            content: the fields of the event, only public things.
            schema: the version of the schema that the event is based on; an error is raised if it
                is not the present one.
            check: called while nobody else writes; if it raises an error, nothing is recorded.

        The factor of the open columns is charged when a dataset is created, with every version
        and with a changed schema, unless its open_charge says less.
        """
        return self.trusted.record(dataset, kind, content, schema=schema, check=check)

    def reserve(  # noqa: PLR0913 - what a charge rests on, each by name
        self,
        dataset: str,
        analyst: str | None,
        questions: Sequence[Mapping[str, Any]],
        price: Price,
        *,
        note: str | None = None,
        version: str | None = None,
        schema: str | None = None,
        rules: str | None = None,
        check: Callable[[Transaction, int], None] | None = None,
    ) -> Reservation:
        """Charge for the questions that were not paid for; durable when this returns.

        Args:
            dataset: the name of the dataset.
            analyst: the analyst who asks; None if nobody is named.
            questions: resolved questions as plain values; equal ones are the same question.
            price: a function from places in the batch to cells, of questions and schema alone; or
                the prices of rules that look at earlier rows too.
            note: stored with the charge, for example the question as it was typed.
            version: the version of the data; an error is raised if it is not the present one.
            schema: the version of the schema, checked in the same way.
            rules: the version of the pricing rules, if it has changed.
            check: called with the charge to the account, in cells, inside the transaction that
                writes it; if it raises an error, nothing is charged. Not called for repeats.

        Raises Refused if the price exceeds the budget or the allowance; then nothing is recorded.
        Questions that were paid for are free: for the owner's budget if anybody paid, for an
        allowance if the same account paid. Costs one transaction, or none for a repeat.
        """
        given = {"note": note, "version": version, "schema": schema, "rules": rules}
        planned = self._planned(dataset, analyst, questions, **given)
        return self.trusted.reserve(planned, as_prices(price), check)

    def _planned(
        self,
        dataset: str,
        analyst: str | None,
        questions: Sequence[Mapping[str, Any]],
        **given: str | None,
    ) -> ChargePlan:
        batch = read_batch(dataset, analyst, questions, **given)
        return self.trusted.read(lambda t: plan(t, batch))

    def commit(
        self, reservation: Reservation, answers: Sequence[str | None], *, durable: bool = True
    ) -> Entry | None:
        """Record the answers of a reservation: cell indices as text, None for NULL.

        Known answers must be the same, and are not written again. Returns the new row, or None
        if there was nothing to write. With ``durable=False`` a file does not wait for the disk:
        after a power failure the questions may be pending again, but no charge is lost.
        """
        return self.trusted.commit(reservation, answers, durable=durable)

    def offer(
        self,
        dataset: str,
        analyst: str | None,
        questions: Sequence[Mapping[str, Any]],
        price: Price,
    ) -> Offer:
        """Return what ``reserve`` would charge for the same just now; nothing is charged."""
        return offer(self._planned(dataset, analyst, questions), as_prices(price))

    def affords(
        self,
        dataset: str,
        analyst: str | None,
        questions: Sequence[Mapping[str, Any]],
        price: Price,
    ) -> bool:
        """Return whether ``reserve`` would accept the same now; nothing is charged."""
        return self.offer(dataset, analyst, questions, price).refusal is None

    def uncharged_questions(
        self, dataset: str, analyst: str | None, questions: Sequence[Mapping[str, Any]]
    ) -> list[int]:
        """Return the places of the questions that an analyst's account would be charged for."""
        return list(self._planned(dataset, analyst, questions).unpaid)

    def answers(self, dataset: str, questions: Sequence[Mapping[str, Any]]) -> list[str | None]:
        """Return the answers that are known for the present version of the data.

        Each is a cell index as text, 'null' for NULL, or None if there is no answer yet.
        """
        texts = [canonical(question) for question in questions]

        def work(transaction: Transaction) -> list[str | None]:
            now = find(transaction, dataset).state
            digests = [question_digest(dataset, now.version, now.schema, text) for text in texts]
            known = transaction.paid(digests).answers
            return [known.get(digest) for digest in digests]

        return self.trusted.read(work)

    # --- what its owner is shown ---

    def datasets(self) -> list[str]:
        """Name the datasets."""
        return self.trusted.datasets()

    def versions(self) -> dict[str, list[str]]:
        """Return all versions of each dataset, the present one last."""
        return self.store.read(lambda t: t.all_versions())

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """Return the rows."""
        return self.store.read(lambda t: list(t.entries(dataset=dataset)))

    def state(self, dataset: str) -> State:
        """Return the state of a dataset with all allowances, for its owner."""
        return self.trusted.state(dataset)

    def balance(self, dataset: str, analyst: str | None = None) -> Balance:
        """Return the balance of an analyst: the account's allowance, or the part that all share."""
        return self.trusted.read_as(dataset, analyst, lambda _, place: place.balance)

    def overview(self, dataset: str) -> Overview:
        """Return the state of a dataset and how much was asked, without reading the charges."""
        return self.trusted.read(lambda t: read_overview(t, dataset))

    def added_budgets(self) -> tuple[int, Fraction]:
        """Return the number of budgets, counting a shared one once, and their sum in bits.

        If all datasets are about the same people, that sum can be learned about one of them.
        """
        return self.trusted.read(add_budgets)

    def populations(self) -> list[Population]:
        """Return the state of every population: datasets about the same people with one budget."""
        return self.trusted.read(list_populations)

    def pending(self, dataset: str) -> list[Reservation]:
        """Return the charged questions about the present version that have no answer."""
        return self.trusted.read(lambda t: list_pending(t, dataset))

    def history(self, dataset: str, analyst: str | None = None) -> list[Charge]:
        """Return every paid batch; for an analyst, only those with the analyst's own charges."""
        return self.trusted.read(lambda t: list_charges(t, dataset, analyst))

    # --- checking and keeping ---

    def verify(
        self,
        reprice: Reprice | None = None,
        head: Head | None = None,
        *,
        open_factor: OpenFactor | None = None,
        may_answer: MayAnswer | None = None,
        since: Head | None = None,
    ) -> LedgerReport:
        """Replay every row: hashes, balances, repeats, and prices if they can be computed.

        Args:
            reprice: a function from a schema, questions and the version of the rules to cells.
            head: a saved end of the chain.
            open_factor: a function from a schema and the version of the rules to the price of its
                open columns.
            may_answer: a function that tells whether a question can have an answer.
            since: the end of the chain at the last verification; only the rows after it are
                replayed.

        Detects every edit, removal, insertion and swap of rows, unless all later hashes were
        recomputed; with a head that was saved elsewhere, everything before that head.
        Linear in the number of rows.
        """
        from hartley.agent.replay import verify

        report = self.store.read(lambda t: verify(t, reprice, head, open_factor, since, may_answer))
        self.store.flush()  # what is given out names rows that stay
        return report

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write every row to a new file of JSON lines; return how many."""
        rows: list[int] = []
        _whole(
            Path(path), lambda part: rows.append(self.store.read(partial(write_lines, path=part)))
        )
        self.store.flush()
        return rows[0]

    def head(self) -> Head | None:
        """Return the end of the chain, which is on disk by then; None if it is empty."""
        return self.trusted.head()

    def save_head(self, path: str | os.PathLike[str]) -> Head:
        """Write the end of the chain to a file, to be kept apart; it replaces an older head."""
        head = self.head()
        if head is None:
            raise OptionError("The ledger is empty and has no head", hint="record something first")
        _whole(Path(path), lambda part: part.write_text(head.to_json() + "\n"), replace=True)
        return head

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a snapshot to a new file; questions may go on meanwhile."""

        def write(part: Path) -> None:
            if not self.store.copy_to(part):  # a file for SQLite, otherwise JSON lines
                self.store.read(lambda transaction: write_lines(transaction, part))

        _whole(Path(path), write, private=True)
        self.store.flush()

    def restore(self, path: str | os.PathLike[str], *, force: bool = False) -> Restored:
        """Add the rows of a backup or an export; rows are never lost unless forced."""
        done = restore(self.store, Path(path), force=force)
        self.trusted.seen = done.head
        return done


def open_ledger(address: str | os.PathLike[str], *, create: bool = True) -> Ledger:
    """Open a ledger: a file, ``sqlite:///file`` or ``postgresql://user@host/database``.

    Args:
        address: a file or a database; a path after three slashes is relative, after four absolute.
        create: whether to create the ledger if it does not exist.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with open_ledger(folder + "/ledger.db") as ledger:
        ...         ledger.datasets()
        []
    """
    return Ledger(open_store(address, create=create))


def opened_ledger(ledger: Ledger | str | os.PathLike[str], *, create: bool) -> Ledger:
    """Return an open ledger unchanged, and open a ledger that is named."""
    if isinstance(ledger, Ledger):
        return ledger
    if not isinstance(ledger, (str, os.PathLike)):
        raise OptionError(
            "The ledger is neither a path, an address nor an open ledger",
            hint="name the file of the ledger, for example 'ledger.db'",
        )
    return open_ledger(ledger, create=create)
