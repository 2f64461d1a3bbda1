"""Everything that is wrong with a configuration, without starting or changing anything."""

from __future__ import annotations

import math
import os
import ssl
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.agent.data import state_of
from hartley.agent.ledger.auditable_ledger import open_ledger
from hartley.agent.pricing.price import open_factor
from hartley.agent.quotes import check_same_schema
from hartley.engines.coded.copying import holds_copy, place_of
from hartley.errors import EngineError, HartleyError, InputError, OptionError
from hartley.exact import bits_at_least, floor_power
from hartley.service.accounts import open_accounts
from hartley.service.coverage import uncovered
from hartley.service.hosted_dataset import (
    hints_about_reading,
    open_data,
    place_of_copy,
    read_schema,
)
from hartley.service.settings import settings_and_mistakes
from hartley.wording import bits_up, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hartley.agent.ledger.auditable_ledger import Ledger
    from hartley.ranges.schema.schema import Schema
    from hartley.service.settings import DatasetSettings, ServiceSettings, Tls

PACKAGES = ("fastapi", "uvicorn", "httptools", "jinja2", "multipart")


def problems_of(
    path: str | Path, *, listen: str | None = None, workers: int | None = None
) -> list[HartleyError]:
    """Return everything that would keep a service from starting, each in one sentence.

    ``listen`` and ``workers`` are those of a command line, which count instead of the file's.
    """
    settings, mistakes = settings_and_mistakes(path)
    if settings is None:
        return mistakes
    try:
        settings = settings.changed(listen, workers)
    except OptionError as error:
        mistakes.append(error)
    return [*mistakes, *problems_of_settings(settings)]


def problems_of_settings(settings: ServiceSettings) -> list[HartleyError]:
    """Return what is wrong with settings that were read: files, ledger, schemas, port, TLS."""
    return [*_problems(settings)]


def _problems(settings: ServiceSettings) -> Iterator[HartleyError]:
    yield from _missing_packages()
    yield from _failure(lambda: settings.listen.bind().close())
    if settings.tls is not None:
        yield from _problems_of_tls(settings.tls)
    schemas: dict[str, Schema] = {}
    for dataset in settings.datasets.values():
        try:
            schemas[dataset.name] = _confirmed(dataset)
        except HartleyError as error:
            yield error
    try:
        ledger = _opened(settings.ledger) if settings.ledger else None
    except HartleyError as error:
        yield error
        ledger = None
    try:
        yield from _problems_of_caps(settings, ledger)
        for dataset in settings.datasets.values():
            schema = schemas.get(dataset.name)
            try:
                yield from _problems_of_dataset(dataset, schema, settings, ledger)
            except HartleyError as error:
                yield error
        try:
            yield from _problems_of_populations(schemas, ledger)
        except HartleyError as error:
            yield error
    finally:
        if ledger is not None:
            ledger.close()


def _failure(work: Callable[[], object]) -> Iterator[HartleyError]:
    try:
        work()
    except HartleyError as error:
        yield error


def _missing_packages() -> Iterator[HartleyError]:
    from importlib.util import find_spec

    for name in PACKAGES:
        if find_spec(name) is None:
            yield EngineError(
                f"The package {name} of the service is not installed",
                hint="pip install 'hartley[service]'",
            )


def _problems_of_tls(tls: Tls) -> Iterator[HartleyError]:
    unreadable = [
        InputError(
            f"The {key} of tls in [service], {path}, cannot be read",
            hint="check the path, and that the user of the service may read it",
        )
        for key, path in (("certificate", tls.certificate), ("key", tls.key))
        if not os.access(path, os.R_OK)
    ]
    yield from unreadable
    if unreadable:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key, "")
    except (ssl.SSLError, ValueError, OSError):
        yield InputError(
            "The certificate and the key of tls in [service] do not fit together",
            hint="give a certificate in PEM format with its own key, without a password",
        )


def _confirmed(dataset: DatasetSettings) -> Schema:
    schema = read_schema(dataset)
    schema.require_confirmed()
    return schema


def _opened(address: str) -> Ledger | None:
    """Open the ledger; None if it would be created by the first start."""
    path = None if "://" in address else Path(address)
    if path is not None and not path.exists():
        require_writable_folder(path)
        return None
    ledger = open_ledger(address, create=False)
    if ledger.only_reads:
        ledger.close()
        raise InputError(
            f"The ledger {ledger.name} of [service] is not writable",
            hint="let the user of the service write to the file and its folder",
        )
    return ledger


def require_writable_folder(ledger: Path) -> None:
    """Raise an error if the file of a ledger cannot be created."""
    folder = ledger.absolute().parent
    if not os.access(folder, os.W_OK):
        raise InputError(
            f"The ledger cannot be created in {folder}",
            hint="create the folder and let the user of the service write there, or name another "
            "file: ledger in [service], or --ledger",
        )


def _problems_of_caps(settings: ServiceSettings, ledger: Ledger | None) -> Iterator[HartleyError]:
    names = {name for dataset in settings.datasets.values() for name in dataset.analysts}
    if ledger is not None:
        with suppress(InputError):  # no accounts yet
            names |= {account.name for account in open_accounts(ledger, create=False).list()}
    for name in sorted({*settings.limits.bits_per_day} - names):
        yield InputError(
            f"The key bits_per_day in [limits] names the account '{name}', which there is not",
            hint="add it to analysts of a dataset, or with hartley account add",
        )


# --- datasets -------------------------------------------------------------------------------------


def _problems_of_dataset(
    dataset: DatasetSettings,
    schema: Schema | None,
    settings: ServiceSettings,
    ledger: Ledger | None,
) -> Iterator[HartleyError]:
    state = None if ledger is None else state_of(ledger, dataset.name)
    if state is None or ledger is None:
        yield from _problems_of_new(dataset, schema)
        yield from _problems_of_place(dataset)
        return
    if schema is not None:
        yield from _failure(lambda: check_same_schema(schema, state))
    if dataset.data is None or "://" not in dataset.data:
        place = place_of(place_of_copy(settings, dataset), state.version, None)
        if not holds_copy(place):
            yield InputError(
                f"The coded copy of '{dataset.name}' that the ledger records is missing",
                hint=f"set place in [datasets.{dataset.name}], or record the table as a new "
                "version with hartley ask --update",
            )
    budget = uncovered(ledger, dataset.name)
    if budget is not None:
        yield OptionError(
            f"The allowances of '{dataset.name}' exceed what is left of {budget}",
            hint="raise it or lower allowances: a refusal would show what others spent",
        )


def _problems_of_new(dataset: DatasetSettings, schema: Schema | None) -> Iterator[HartleyError]:
    """Yield what keeps the first start from recording a dataset."""
    where = f"[datasets.{dataset.name}]"
    for key in ("budget", "data"):
        if getattr(dataset, key) is None:
            yield OptionError(
                f"The key {key} in {where} is missing, and the dataset is new to the ledger",
                hint=f"add {key} = ...",
            )
    if dataset.data is not None:
        try:
            with hints_about_reading(dataset):
                table = open_data(dataset, dataset.data)
                if schema is not None:
                    table.require(schema.columns)
                    if "://" not in dataset.data:  # on a server, the first start looks at the rows
                        schema.check_rows(table)
        except HartleyError as error:
            yield InputError(f"The data of {where}: {error.problem}", hint=error.hint)
    if dataset.budget is not None and schema is not None:
        factor = open_factor(schema)
        if factor > floor_power(dataset.budget):
            yield OptionError(
                f"The budget in {where} is {dataset.budget} bits, and the open columns of the "
                f"schema alone cost {bits_up(bits_at_least(factor))}",
                hint="raise the budget, or make columns private",
            )


def _problems_of_place(dataset: DatasetSettings) -> Iterator[HartleyError]:
    folder = None if dataset.place is None or "://" in dataset.place else Path(dataset.place).parent
    if folder is not None and not (folder.is_dir() and os.access(folder, os.W_OK)):
        yield InputError(
            f"The key place in [datasets.{dataset.name}] names a folder that cannot be written to",
            hint=f"create {folder}, and let the user of the service write there",
        )


def _problems_of_populations(
    schemas: Mapping[str, Schema], ledger: Ledger | None
) -> Iterator[HartleyError]:
    """Yield populations that new datasets name, and that are absent or have too little left."""
    known = {} if ledger is None else {each.name: each for each in ledger.populations()}
    recorded = () if ledger is None else ledger.datasets()
    new: dict[str, list[str]] = {}
    for name, schema in schemas.items():
        if schema.population is not None and name not in recorded:
            new.setdefault(schema.population, []).append(name)
    for population, names in new.items():
        if population not in known:
            yield InputError(
                f"The schema of '{names[0]}' names the population '{population}', which the "
                "ledger does not have",
                hint=f"record its budget first: hartley ledger population '{population}' "
                "--budget BITS LEDGER",
            )
        elif not known[population].balance.holds(
            math.prod(open_factor(schemas[name]) for name in names)
        ):
            yield OptionError(
                f"The open columns of {listed([repr(name) for name in names])} cost more than is "
                f"left of the population '{population}'",
                hint="raise the budget of the population, or open fewer columns",
            )
