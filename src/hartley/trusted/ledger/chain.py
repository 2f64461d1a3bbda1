"""Inside a transaction: read the state of a dataset, and add a row to the chain."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError, Refused, Stale
from hartley.exact import parse_number, read_integer, write_integer
from hartley.trusted.ledger.rows import (
    BEFORE_THE_FIRST,
    NULL,
    STRANGE,
    broken,
    canonical,
    chained,
    check_name,
    digest,
    now,
    problem_of_schema,
    question_digest,
    terms_of,
    unreadable,
)
from hartley.trusted.ledger.state import (
    Account,
    Balance,
    DatasetState,
    Population,
    after_event,
    cells_within,
    check_event,
    check_words,
    normalize_event,
    one_part,
    promise,
    read_state,
    required_field,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hartley.trusted.ledger.rows import Entry, Terms
    from hartley.trusted.ledger.store import Transaction
    from hartley.trusted.pricing.regions import PublicParts


# --- populations ----------------------------------------------------------------------------------
# Populations: datasets about the same people share a budget, inside a transaction.


@dataclass(frozen=True)
class Fund:
    """The budget of a population after some row, and the charges to the population itself."""

    budget: Fraction
    spent: int = 1

    def written(self) -> str:
        """Return the text that a row stores."""
        return canonical({"budget": str(self.budget), "spent": write_integer(self.spent)})


def read_fund(entry: Entry) -> Fund:
    """Read the state of a population after one of its rows."""
    try:
        plain = json.loads(entry.state)
        return Fund(Fraction(plain["budget"]), read_integer(plain["spent"]))
    except STRANGE:
        raise unreadable(entry) from None


def find_population(
    transaction: Transaction, name: str, dataset: str = "", state: DatasetState | None = None
) -> Population | None:
    """Return the state of a population, or None if it is not in the ledger.

    ``dataset`` counts with a new state, also if it is no member yet.
    """
    row = transaction.latest("", name)
    if row is None:
        return None
    fund = read_fund(row)
    mark = f'"population":{canonical(name)}'  # cheaper than reading all the others
    rows = [row for row in transaction.latest_of_all() if mark in row.state]
    states = {row.dataset: read_state(row)[0] for row in rows}
    members = {dataset: each for dataset, each in states.items() if each.population == name}
    if state is not None:
        members[dataset] = state
    # Theorem (population): the product over all datasets, their open columns counted over all
    # versions, and what is charged to the population itself.
    spent = fund.spent * math.prod(member.open * member.spent for member in members.values())
    return Population(name, Balance(fund.budget, spent), tuple(sorted(members)))


def check_member(
    transaction: Transaction,
    dataset: str,
    before: DatasetState | None,
    after: DatasetState,
    terms: Terms,
) -> None:
    """Raise an error if an event would break the promise of the population."""
    former = None if before is None else before.population
    # The promise of a population is about everything that its datasets revealed, so a dataset with
    # charges cannot leave. For the same reason a dataset joins with its whole history.
    if before is not None and former is not None and after.population != former and before.charged:
        raise Refused(
            f"The dataset '{dataset}' cannot leave the population '{former}' any more, because "
            "its charges count for all datasets of the population",
            hint=f'keep population = "{former}" in its schema',
        )
    if after.population is None:
        return
    name = check_name(after.population, what="population")
    population = find_population(transaction, name, dataset, after)
    if population is None:
        raise OptionError(
            f"The ledger has no population '{name}', which the schema of '{dataset}' names",
            hint='record its budget first: ledger.record(name, "population", {"bits": ...}) '
            f"(hartley ledger population '{name}' --budget BITS LEDGER)",
        )
    # "The same unit is needed because the person whose data vary must be one in all datasets."
    for other, its_terms in member_terms(transaction, population.datasets, dataset).items():
        if its_terms.unit != terms.unit:
            raise OptionError(
                f"The dataset '{dataset}' has a different unit from '{other}' of the population "
                f"'{name}': {terms.protected_unit}, not {its_terms.protected_unit}",
                hint="use the same column to identify people in all datasets of a population",
            )
    problem = problem_of_population(name, population.balance)
    if problem:
        known = None if before is None else find_population(transaction, name)
        raise Refused(
            f"The dataset '{dataset}' does not fit: {problem}",
            hint="raise the budget of the population first, or open fewer columns",
            remaining=None if known is None else known.balance.remaining,
        )


def member_terms(
    transaction: Transaction, datasets: tuple[str, ...], leaving_out: str
) -> dict[str, Terms]:
    """Return the terms of the schemas of some datasets, by name."""
    terms = {}
    for row in transaction.latest_of_all():
        if row.dataset in datasets and row.dataset != leaving_out:
            declared = transaction.entry(read_state(row)[0].schema_row)
            terms[row.dataset] = terms_of(declared.told.get("schema") if declared else None)
    return terms


def problem_of_population(name: str, balance: Balance) -> str | None:
    """Return the problem if the charges to a population exceed its budget."""
    if balance.holds(1):
        return None
    return f"the charges to the population '{name}' exceed its budget"


def settle_population(content: Mapping[str, Any], before: Fund | None) -> dict[str, Any]:
    """Return the event of a population in the form that the ledger stores."""
    check_words("population", content)
    bits = parse_number(required_field(content, "bits", "population"), name="the number of bits")
    cells_within(bits)  # refuses what is out of reach
    return {
        **({"note": str(content["note"])} if "note" in content else {}),
        "before": None if before is None else str(before.budget),
        "bits": str(bits),
        "promise": promise(bits, of=" of all its datasets together"),
    }


def add_population(transaction: Transaction, name: str, content: Mapping[str, Any]) -> Entry:
    """Record a population or its new budget; raise an error if more is already spent."""
    row = transaction.latest("", name)
    before = None if row is None else read_fund(row)
    settled = settle_population(content, before)
    fund = replace(before or Fund(Fraction(0)), budget=Fraction(settled["bits"]))
    known = None if before is None else find_population(transaction, name)
    spent = 1 if known is None else known.balance.spent
    if not Balance(fund.budget, spent).holds(1):
        raise OptionError(
            f"The budget of the population '{name}' cannot be set: the charges so far exceed it",
            hint="give more bits",
        )
    return _append(
        transaction,
        dataset="",
        analyst="",
        account=name,
        kind="population",
        content=canonical(settled),
        cells="1",
        account_cells="1",
        schema="",
        rules="",
        state=fund.written(),
    )


# --- chain ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowPlace:
    """Where a row goes: the dataset, the analyst, the charged account, and their states."""

    dataset: str
    analyst: str
    holder: str
    """The analyst, or empty for the part of the budget that no allowance sets aside."""
    state: DatasetState
    account: Account
    population: Population | None = None
    """The population whose budget the dataset shares."""
    time: str = ""
    """Of the next row, if its period depends on it."""
    last_hash: str = ""
    """The hash of the dataset's last row, by which all of its rows are the same or not."""

    @property
    def balance(self) -> Balance:
        """The balance of the account."""
        own = self.state.balance_of(self.account)
        return own if self.population is None else replace(own, population=self.population)

    def charged(self, cells: PublicParts, account_cells: PublicParts, rules: str) -> RowPlace:
        """Return the place after a charge for questions to the dataset and to the account."""
        after = self.state.after(cells, rules)
        shared = self.population
        return replace(
            self,
            state=after,
            account=self.account.charged(account_cells),
            population=None if shared is None else shared.after(self.state.spent, after.spent),
        )


def find(transaction: Transaction, dataset: str, analyst: str = "") -> RowPlace:
    """Return the state of a dataset and of an analyst's account."""
    check_name(dataset, what="dataset")
    check_name(analyst, what="analyst", empty=True)
    latest = transaction.latest(dataset)
    if latest is None:
        raise OptionError(
            f"The ledger has no dataset '{dataset}'", hint="record its creation first"
        )
    # Every row holds the state of its dataset and its account after it, so the last row of each is
    # enough: no balance is added up again, and a long ledger is as fast as a short one.
    state, account = read_state(latest)
    time = ""
    if state.period is not None:
        time = _no_earlier(transaction.last())  # so no period is opened again
        state = state.at(time)
    own = None
    if analyst:  # often the last one who asked: then it is the row that was read already
        own = latest if latest.account == analyst else transaction.latest(dataset, analyst)
    holder = analyst if own is not None else ""
    if latest.account != holder:
        row = own or transaction.latest(dataset, "")
        if row is None:
            raise broken(f"the row that created '{dataset}' is missing")
        then, account = read_state(row)
        account = state.own(account, then)
    population = shared_by(transaction, state)
    return RowPlace(dataset, analyst, holder, state, account, population, time, latest.hash)


def shared_by(transaction: Transaction, state: DatasetState) -> Population | None:
    """Return the population of a dataset, if it has one."""
    if state.population is None:
        return None
    population = find_population(transaction, state.population)
    if population is None:
        raise broken(f"the rows of the population '{state.population}' are missing")
    return population


def schema_of(transaction: Transaction, dataset: str, state: DatasetState) -> Any:  # noqa: ANN401 - any plain value
    """Return the recorded text of a dataset's present schema."""
    declared = transaction.entry(state.schema_row)
    if declared is None or declared.dataset != dataset or "schema" not in declared.told:
        raise broken(f"the row with the schema of '{dataset}' is missing")
    return declared.told["schema"]


def add_row(  # noqa: PLR0913 - the parts of a row, each by name
    transaction: Transaction,
    place: RowPlace,
    kind: str,
    content: Mapping[str, Any],
    *,
    cells: int = 1,
    account_cells: int = 1,
    time: str | None = None,
) -> Entry:
    """Append a row, with the state of the dataset in the place."""
    return _append(
        transaction,
        time,
        place.time,
        dataset=place.dataset,
        analyst=place.analyst,
        account=place.holder,
        kind=kind,
        content=canonical(content),
        cells=write_integer(cells),
        account_cells=write_integer(account_cells),
        schema=place.state.schema,
        rules=place.state.rules,
        state=place.state.written(place.account),
    )


def _append(
    transaction: Transaction, time: str | None = None, present: str = "", **values: str
) -> Entry:
    """Append a row at a given time, or now; then never before the last row."""
    last = transaction.last()
    entry = chained(last, time=time or _no_earlier(last, present), **values)
    transaction.append(entry)
    return entry


def _no_earlier(last: Entry | None, present: str = "") -> str:
    """Return the present time, or that of the last row if a clock was set back."""
    return max(present or now(), "" if last is None else last.time)


def add_event(
    transaction: Transaction,
    dataset: str,
    kind: str,
    content: Mapping[str, Any],
    schema: str | None = None,
) -> Entry:
    """Check an event against the state of the dataset, and append it."""
    analyst = ""
    if kind == "allowance":
        analyst = check_name(content.get("analyst"), what="analyst")
    known = transaction.latest(dataset)
    if kind == "created":
        if known is not None:
            raise OptionError(
                f"The ledger has a dataset '{dataset}' already",
                hint="record a changed table as a new version of it; its budget never starts again",
            )
        state, account, time = None, Account(), ""
    else:
        # Checked in the transaction that writes: the state may have changed since the preparation.
        place = find(transaction, dataset, analyst)
        state, account = place.state, place.account
        time = place.time or _no_earlier(transaction.last())
        check_current(state, None, schema)
        if analyst and place.holder != analyst:
            account = Account()  # begins with nothing spent
    settled = normalize_event(kind, content, state, account, time)
    # Answers are stored by version: a reused name would give the answers of other data.
    if settled.get("version") in transaction.versions(dataset):
        raise OptionError(
            "The version of the data was used before", hint="give new data a new random name"
        )
    _check_terms(transaction, dataset, kind, settled, state, account)
    return add_settled(transaction, dataset, analyst, kind, settled, state, account, time)


def _check_terms(  # noqa: PLR0913, PLR0917 - an event and how things stood before it
    transaction: Transaction,
    dataset: str,
    kind: str,
    settled: Mapping[str, Any],
    state: DatasetState | None,
    account: Account,
) -> None:
    """Raise an error if a schema would weaken charges or exceed the budget of the population."""
    after, charged = after_event(state, account, kind, settled, 0)
    check_event(state, after, charged, kind)
    before = None if state is None else terms_of(schema_of(transaction, dataset, state))
    terms = terms_of(settled["schema"]) if "schema" in settled else before
    if state is not None and before is not None and terms is not None and "schema" in settled:
        problem = problem_of_schema(before, terms, settled, charged=state.charged, rows=state.rows)
        if problem:
            raise Refused(
                f"The schema of '{dataset}' cannot be changed in this way: {problem}",
                hint="keep the unit; for another unit create another dataset, whose budget adds "
                "to this one"
                if state.charged and before.unit != terms.unit
                else "give the data with it, as a new version",
            )
    if terms is not None and kind in {"created", "version", "erasure", "schema"}:
        check_member(transaction, dataset, state, after, terms)


def add_settled(  # noqa: PLR0913, PLR0917 - an event and how things stood before it
    transaction: Transaction,
    dataset: str,
    analyst: str,
    kind: str,
    settled: Mapping[str, Any],
    state: DatasetState | None,
    account: Account,
    time: str | None = None,
) -> Entry:
    """Append a checked event."""
    last = transaction.last()
    row = 1 if last is None else last.sequence + 1
    after, charged = after_event(state, account, kind, settled, row)
    check_event(state, after, charged, kind)
    cells = after.open // (1 if state is None else state.open)  # what this row charges
    place = RowPlace(dataset, analyst, analyst, after, charged)
    return add_row(transaction, place, kind, settled, cells=cells, account_cells=cells, time=time)


def check_current(state: DatasetState, version: str | None, schema: str | None) -> None:
    """Raise an error if the data or the schema were replaced meanwhile."""
    for given, present, what in (
        (version, state.version, "data have a new version"),
        (schema, state.schema, "schema was changed"),
    ):
        if given is not None and given != present:
            raise Stale(
                f"Nothing was asked, changed or charged, because the {what} in the meantime",
                hint="open the dataset again, and repeat the call",
            )


# --- migrations -----------------------------------------------------------------------------------
# Migrations of a ledger from an older format to the present one.
#
# Format 1 had one dataset per ledger: rows without dataset, account and state, and answers in the
# order of the questions of the row that reserved them. Its chain is checked first, its rows stay
# next to the new ones under another name, and the last new row contains the hash of its last row,
# so that a head saved before the migration can still be checked.

COLUMNS = "sequence, time, analyst, kind, content, cells, schema, rules, previous, hash"


@dataclass(frozen=True)
class OldEntry:
    """A row of format 1."""

    sequence: int
    time: str
    analyst: str
    kind: str
    content: str
    cells: str
    schema: str
    rules: str
    previous: str
    hash: str

    @property
    def expected_hash(self) -> str:
        """The hash of the row's fields."""
        values = [getattr(self, name) for name in COLUMNS.split(", ")[:-1]]
        return digest("hartley ledger 1", *map(str, values))


def migrate(
    transaction: Transaction, version: int, create_tables: Callable[[Transaction], None]
) -> None:
    """Migrate a store from an older format to the present one, inside one transaction."""
    if version != 1:
        raise broken(f"its format {version} is unknown")
    rows = transaction.run(f"SELECT {COLUMNS} FROM hartley_entries ORDER BY sequence", ())  # noqa: S608 - our own words
    entries = [OldEntry(*row) for row in rows]
    head = transaction.run("SELECT sequence, hash FROM hartley_head", ())[0]
    _check_chain(entries, head)
    for table in ("entries", "head"):
        transaction.run(f"ALTER TABLE hartley_{table} RENAME TO hartley_{table}_1", ())
    create_tables(transaction)
    if not entries:
        return
    dataset = json.loads(entries[0].content)["dataset"]
    reserved: dict[int, list[str]] = {}
    for entry in entries:
        _carry_over(transaction, dataset, entry, reserved)
    place = find(transaction, dataset)
    content = {"format": 1, "hash": entries[-1].hash, "sequence": entries[-1].sequence}
    add_row(transaction, place, "migrated", content)


def _check_chain(entries: list[OldEntry], head: tuple[int, str]) -> None:
    previous = BEFORE_THE_FIRST
    for number, entry in enumerate(entries, 1):
        if (entry.sequence, entry.previous) != (number, previous):
            raise broken(f"row {number} is missing")
        if entry.hash != entry.expected_hash:
            raise broken(f"row {number} was changed")
        previous = entry.hash
    if tuple(head) != ((len(entries), previous) if entries else (0, "")):
        raise broken("its last rows are missing")


def _carry_over(
    transaction: Transaction, dataset: str, entry: OldEntry, reserved: dict[int, list[str]]
) -> None:
    """Write an old row as a new one, and remember the questions that it reserves."""
    old_content = json.loads(entry.content)
    if entry.kind == "reserve":
        reserved[entry.sequence] = _carry_reserve(transaction, dataset, entry, old_content)
    elif entry.kind == "commit":
        texts = [NULL if answer is None else answer for answer in old_content["answers"]]
        answers = dict(zip(reserved[old_content["reserve"]], texts, strict=True))
        place = find(transaction, dataset, entry.analyst)
        content = {"answers": answers, "version": place.state.version}
        row = add_row(transaction, place, "commit", content, time=entry.time)
        transaction.note_answers(answers, row.sequence)
    else:
        before = None if entry.kind == "created" else find(transaction, dataset)
        state, account = (before.state, before.account) if before else (None, Account())
        old_content.pop("dataset", None)
        if entry.kind in {"created", "budget"}:
            old_content |= {
                "before": None if state is None else str(state.budget),
                "promise": promise(parse_number(old_content["bits"], name="the budget")),
            }
        else:
            old_content["rules"] = entry.rules
        old_content["open_charge"] = old_content.get("open_factor", "1")
        add_settled(transaction, dataset, "", entry.kind, old_content, state, account, entry.time)


def _carry_reserve(
    transaction: Transaction, dataset: str, entry: OldEntry, old_content: dict[str, Any]
) -> list[str]:
    place = find(transaction, dataset, entry.analyst)
    state, cells = place.state, read_integer(entry.cells)
    after = replace(
        place,
        state=state.after(one_part(cells), state.rules),
        account=place.account.charged(one_part(cells)),
    )
    content = {
        "fresh": list(range(len(old_content["questions"]))),
        "version": state.version,
        **old_content,
    }
    row = add_row(
        transaction, after, "reserve", content, cells=cells, account_cells=cells, time=entry.time
    )
    digests = [
        question_digest(dataset, state.version, state.schema, canonical(question))
        for question in old_content["questions"]
    ]
    transaction.note_asked(digests, place.holder, row.sequence)
    return digests
