"""The parent process: it prepares ledger and copies, starts the workers and restarts dead ones."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.agent.agent import Agent, new_ledger_file, remove_unused_ledger
from hartley.agent.ledger import open_ledger
from hartley.errors import EngineError, InputError, OptionError
from hartley.service.accounts import open_accounts
from hartley.service.administration import self_check
from hartley.service.hosting import hints_about_reading, open_data, place_of_copy, read_schema
from hartley.service.identity import Role
from hartley.service.own_rows import own_place
from hartley.service.settings import require_writable_folder, unknown_account
from hartley.trusted.data import dataset_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hartley.agent.ledger import Ledger
    from hartley.service.accounts import Accounts
    from hartley.service.identity import IssuedToken
    from hartley.service.settings import DatasetSettings, ServiceSettings

BACKLOG = 2048
WORKER_SECONDS = 30
"""Seconds that a worker may take to answer its parent before it is replaced."""
EXTRA_SECONDS = 5
"""Seconds after the time limit of a question that a worker may take to end."""
CONFIGURATION = "configuration"
"""Who acts in the audit log where the file of settings does."""


def prepare(settings: ServiceSettings) -> IssuedToken | None:
    """Create the ledger, copies and accounts; return the first owner's token if it is new.

    Raises an error if the engine fails its self-check, since answers would not be exact. If nothing
    was recorded by then, no new ledger is left behind.
    """
    self_check()
    with _ledger_kept_if_used(settings.ledger) as ledger:
        new = {name for name in settings.datasets if dataset_state(ledger.trusted, name) is None}
        for dataset in settings.datasets.values():
            _prepare_dataset(dataset, settings, ledger, new=dataset.name in new)
        accounts = open_accounts(ledger)
        for dataset in settings.datasets.values():
            for analyst in dataset.analysts:
                _prepare_analyst(accounts, ledger, analyst, dataset.name, new=dataset.name in new)
        _prepare_caps(accounts, settings)
        return accounts.first_owner()  # at last: its token is shown once, and only by a success


@contextmanager
def _ledger_kept_if_used(address: str) -> Iterator[Ledger]:
    """Open a ledger; after an error, remove its file if it was made here and has no row."""
    new_file = new_ledger_file(address)
    if new_file is not None:
        require_writable_folder(new_file)
    try:
        with closing(open_ledger(address)) as ledger:
            yield ledger
    except BaseException:
        if new_file is not None:
            remove_unused_ledger(new_file)
        raise


def _prepare_dataset(
    dataset: DatasetSettings, settings: ServiceSettings, ledger: Ledger, *, new: bool
) -> None:
    schema = read_schema(dataset)
    if new and dataset.budget is None:
        raise OptionError(
            f"The dataset '{dataset.name}' is new, and [datasets.{dataset.name}] has no budget",
            hint="add budget = BITS, or --budget BITS after a table: the most that all analysts "
            "together may learn about a person",
        )
    data = dataset.data
    with hints_about_reading(dataset):
        agent = Agent(
            # A copy that exists is not made again.
            open_data(dataset, data) if data is not None and (new or "://" in data) else None,
            schema,
            ledger=ledger,
            budget=dataset.budget if new else None,
            place=place_of_copy(settings, dataset),
        )
    agent.close()


def _prepare_analyst(
    accounts: Accounts, ledger: Ledger, analyst: str, dataset: str, *, new: bool
) -> None:
    """Add an account that the settings name; afterwards its grants are the owner's to change."""
    known = {account.name: account for account in accounts.list()}
    if analyst not in known:
        accounts.add(analyst, Role.ANALYST, by=CONFIGURATION)
    elif not new or known[analyst].revoked is not None:
        return
    accounts.grant(analyst, dataset, by=CONFIGURATION)
    own_place(ledger, dataset, analyst)


def _prepare_caps(accounts: Accounts, settings: ServiceSettings) -> None:
    known = {account.name: account for account in accounts.list() if account.revoked is None}
    for name, bits in settings.limits.bits_per_day.items():
        if name not in known:
            raise unknown_account(name)
        cap = known[name].daily_cap
        if cap is None or str(cap) != bits:
            accounts.set_daily_cap(name, bits, by=CONFIGURATION)


def serve(
    settings: ServiceSettings,
    *,
    made: Callable[[IssuedToken | None], None] = lambda _: None,
    ready: Callable[[str, IssuedToken | None], None] = lambda *_: None,
) -> None:
    """Run the service until SIGTERM or Ctrl-C, and return when every worker has ended.

    Args:
        settings: the settings.
        made: called with the token of the first owner if it is new, before workers start: it is
            handed over even if no worker can start.
        ready: called with the address and the same, once a worker accepts connections.
    """
    try:
        from hartley.service.supervisor import Supervisor
    except ImportError:
        raise EngineError(
            "The packages of the service are not installed",
            hint="pip install 'hartley[service]'",
        ) from None
    opened = settings.listen.bind()
    runtime = Path(tempfile.mkdtemp(prefix="hartley-service-"))  # readable by this user alone
    try:
        token = prepare(settings)
        try:
            made(token)
        except BaseException:
            if token is not None:  # nobody has seen it
                with open_accounts(settings.ledger) as accounts:
                    accounts.revoke_token(token.token_id, by=CONFIGURATION)
            raise
        host, port = opened.getsockname()[:2]
        scheme = "http" if settings.tls is None else "https"
        shown = f"[{host}]" if ":" in host else host
        supervisor = Supervisor(
            _configured(replace(settings, runtime=runtime)),
            [opened],
            lambda: ready(f"{scheme}://{shown}:{port}", token),
        )
        supervisor.run()
        if any(process.exitcode == 3 for process in supervisor.processes):  # uvicorn's own code
            raise EngineError(
                "A worker of the service could not start",
                hint="see the line before this one, and run hartley serve --check",
            )
    finally:
        opened.close()
        shutil.rmtree(runtime, ignore_errors=True)


def _configured(settings: ServiceSettings):  # type: ignore[no-untyped-def]  # noqa: ANN202 - uvicorn's
    from uvicorn import Config

    from hartley.service.app import EnvelopeProtocol, create_app
    from hartley.service.logs import log_settings

    tls = settings.tls
    return Config(
        # An object and not a name: settings travel to workers in a pipe, not in the environment
        # or on a command line, where a password of the ledger's database could be seen.
        partial(create_app, settings),
        factory=True,
        workers=settings.workers,
        log_config=log_settings(),
        access_log=False,  # the service writes its own lines, without paths
        server_header=False,
        proxy_headers=False,  # the address of a client decides whether a proxy is trusted
        http=EnvelopeProtocol,
        ws="none",
        lifespan="on",
        timeout_worker_healthcheck=WORKER_SECONDS,
        backlog=BACKLOG,
        timeout_graceful_shutdown=int(settings.question_seconds) + EXTRA_SECONDS,
        ssl_certfile=None if tls is None else str(tls.certificate),
        ssl_keyfile=None if tls is None else str(tls.key),
    )


def hand_over(token: IssuedToken, folder: Path, *, terminal: bool) -> str:
    """Return the sentence that hands the owner's token over: in a terminal, or by a private file.

    What is written to a pipe ends in a log, so the token is never written there.
    """
    if terminal:
        return (
            f"The owner's token, shown this once:\n\n  {token.text}\n\n"
            "Keep it safe; other accounts and tokens are made with it."
        )
    path = folder / "owner.token"
    if path.exists():  # perhaps of another service
        path = folder / f"owner.{token.token_id}.token"
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(token.text + "\n")
    except OSError:
        raise InputError(
            f"The owner's token cannot be written to {path}",
            hint="issue one with hartley account token owner LEDGER --out FILE, and start the "
            "service again",
        ) from None
    user = f"user {os.getuid()}" if hasattr(os, "getuid") else "you"
    return f"The owner's token is in {path}, readable by {user} alone: move it to a safe place."
