"""Everything that is wrong with a configuration, without starting or changing anything."""

from __future__ import annotations

import os
import ssl
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.agent.data import state_of
from hartley.agent.ledger.ledger import open_ledger
from hartley.agent.quotes import check_same_schema
from hartley.engines.coded.copying import holds_copy, place_of
from hartley.engines.tables.sources import open_table
from hartley.errors import EngineError, HartleyError, InputError, OptionError
from hartley.service.accounts import open_accounts
from hartley.service.coverage import uncovered
from hartley.service.hosted_dataset import place_of_copy, read_schema
from hartley.service.settings import settings_and_mistakes

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.agent.ledger.ledger import Ledger
    from hartley.ranges.schema.schema import Schema
    from hartley.service.settings import DatasetSettings, ServiceSettings, Tls

PACKAGES = ("fastapi", "uvicorn", "httptools", "jinja2", "multipart")


def problems_of(path: str | Path) -> list[HartleyError]:
    """Return everything that would keep a service from starting, each in one sentence."""
    settings, problems = settings_and_mistakes(path)
    return problems if settings is None else problems_of_settings(settings)


def problems_of_settings(settings: ServiceSettings) -> list[HartleyError]:
    """Return what is wrong with settings that were read: files, ledger, schemas, port, TLS."""
    problems: list[HartleyError] = []

    def attempt(work: Callable[[], object]) -> None:
        try:
            work()
        except HartleyError as error:
            problems.append(error)

    attempt(_check_packages)
    attempt(lambda: settings.listen.bind().close())
    if settings.tls is not None:
        tls = settings.tls
        attempt(lambda: _check_tls(tls))
    schemas: dict[str, Schema] = {}
    for name, dataset in settings.datasets.items():
        attempt(lambda name=name, dataset=dataset: schemas.update({name: _confirmed(dataset)}))  # type: ignore[misc]
    try:
        ledger = _opened(settings.ledger)
    except HartleyError as error:
        return [*problems, error]
    if ledger is None:
        attempt(lambda: _check_caps(settings, None))
        for dataset in settings.datasets.values():
            attempt(lambda dataset=dataset: _check_new(dataset))  # type: ignore[misc]
        return problems
    with closing(ledger):
        attempt(lambda: _check_caps(settings, ledger))
        for name, schema in schemas.items():
            dataset = settings.datasets[name]
            attempt(
                lambda dataset=dataset, schema=schema: _check_dataset(  # type: ignore[misc]
                    dataset, schema, settings, ledger
                )
            )
    return problems


def _check_packages() -> None:
    from importlib.util import find_spec

    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise EngineError(
            f"The package {missing[0]} of the service is not installed",
            hint="pip install 'hartley[service]'",
        )


def _check_tls(tls: Tls) -> None:
    for key, path in (("certificate", tls.certificate), ("key", tls.key)):
        if not os.access(path, os.R_OK):
            raise InputError(
                f"The {key} of tls in [service], {path}, cannot be read",
                hint="check the path, and that the user of the service may read it",
            )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key, "")
    except (ssl.SSLError, ValueError):
        raise InputError(
            "The certificate and the key of tls in [service] do not fit together",
            hint="give a certificate in PEM format with its own key, without a password",
        ) from None


def _confirmed(dataset: DatasetSettings) -> Schema:
    schema = read_schema(dataset)
    schema.require_confirmed()
    return schema


def _opened(address: str) -> Ledger | None:
    """Open the ledger; None if it would be created by the first start."""
    path = None if "://" in address else Path(address)
    if path is not None and not path.exists():
        if not os.access(path.parent, os.W_OK):
            raise InputError(
                f"The ledger of [service] cannot be created in {path.parent}",
                hint="create the folder, and let the user of the service write there",
            )
        return None
    ledger = open_ledger(address, create=False)
    if ledger.only_reads:
        ledger.close()
        raise InputError(
            f"The ledger {ledger.name} of [service] is not writable",
            hint="let the user of the service write to the file and its folder",
        )
    return ledger


def _check_caps(settings: ServiceSettings, ledger: Ledger | None) -> None:
    names = {name for dataset in settings.datasets.values() for name in dataset.analysts}
    if ledger is not None:
        with suppress(InputError):  # no accounts yet
            names |= {account.name for account in open_accounts(ledger, create=False).list()}
    missing = sorted({*settings.limits.bits_per_day} - names)
    if missing:
        raise InputError(
            f"The key bits_per_day in [limits] names the account '{missing[0]}', which there is "
            "not",
            hint="add it to analysts of a dataset, or with hartley account add",
        )


def _check_new(dataset: DatasetSettings) -> None:
    where = f"[datasets.{dataset.name}]"
    for key in ("budget", "data"):
        if getattr(dataset, key) is None:
            raise OptionError(
                f"The key {key} in {where} is missing, and the dataset is new to the ledger",
                hint=f"add {key} = ...",
            )
    try:
        open_table(dataset.data)
    except HartleyError as error:
        raise InputError(f"The data of {where}: {error.problem}", hint=error.hint) from None


def _check_dataset(
    dataset: DatasetSettings, schema: Schema, settings: ServiceSettings, ledger: Ledger
) -> None:
    state = state_of(ledger, dataset.name)
    if state is None:
        _check_new(dataset)
        return
    check_same_schema(schema, state)
    if dataset.data is None or "://" not in dataset.data:
        place = place_of(place_of_copy(settings, dataset), state.version, None)
        if not holds_copy(place):
            raise InputError(
                f"The coded copy of '{dataset.name}' that the ledger records is missing",
                hint=f"set place in [datasets.{dataset.name}], or record the table as a new "
                "version with hartley ask --update",
            )
    budget = uncovered(ledger, dataset.name)
    if budget is not None:
        raise OptionError(
            f"The allowances of '{dataset.name}' exceed what is left of {budget}",
            hint="raise it or lower allowances: a refusal would show what others spent",
        )
