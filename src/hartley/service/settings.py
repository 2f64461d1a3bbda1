"""The settings of a service: CONFIG.toml, read completely before anything starts."""

from __future__ import annotations

import ipaddress
import math
import os
import re
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger import open_ledger
from hartley.engines.coded_table import holds_copy, place_of
from hartley.errors import EngineError, HartleyError, InputError, OptionError
from hartley.exact import bits_at_least, floor_power, parse_number
from hartley.files import parse_toml, read_text_file
from hartley.service.accounts import open_accounts
from hartley.service.hosting import hints_about_reading, open_data, place_of_copy, read_schema
from hartley.service.identity import ACCOUNT_NAME
from hartley.service.own_rows import uncovered
from hartley.tables.reading import AS_WRITTEN, ReadingOptions
from hartley.text import bits_up, listed
from hartley.trusted.data import dataset_state
from hartley.trusted.precision import check_same_schema
from hartley.trusted.pricing.price import open_factor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hartley.agent.ledger import Ledger
    from hartley.schema.schema import Schema

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
"""Of a dataset: it stands in addresses and in the ledger."""
PORT = re.compile(r"[0-9]{1,5}")
HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
SIZE = re.compile(r"([1-9][0-9]{0,6})\s*(KiB|MiB)")
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}
LARGEST_BODY = 64 << 20
MOST_WORKERS = 64
PENDING_TIMES = 20
"""How many times question_seconds a question that is paid for may take, if nothing is set."""
PACKAGES = ("fastapi", "uvicorn", "httptools", "jinja2", "multipart")


@dataclass(frozen=True)
class Listen:
    """The address that the service listens on."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def read(cls, text: object) -> Listen | None:
        """Return an address from its text; None if it is not one.

        Example:
            >>> Listen.read("[::1]:8080"), Listen.read("8080")
            (Listen(host='::1', port=8080), None)
        """
        host, _, port = text.rpartition(":") if isinstance(text, str) else ("", "", "")
        if not host or not host.isprintable() or not PORT.fullmatch(port) or int(port) >= 1 << 16:
            return None
        return cls(host.strip("[]"), int(port))

    def bind(self) -> socket.socket:
        """Open the socket that all workers accept connections on."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        opened = socket.socket(family, socket.SOCK_STREAM)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind((self.host, self.port))
        except OSError as error:
            opened.close()
            raise OptionError(
                f"The service cannot listen on {self}: {error.strerror or 'it is no address here'}",
                hint="choose another address for listen in [service], or stop what uses this one",
            ) from None
        opened.set_inheritable(True)
        return opened


@dataclass(frozen=True)
class Tls:
    """The files of a certificate."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class TrustedProxy:
    """A reverse proxy that has identified the user, and the header in which it names them."""

    addresses: tuple[str, ...]
    user_header: str


@dataclass(frozen=True)
class DatasetSettings:
    """One dataset of the service."""

    name: str
    schema: Path
    budget: str | None = None
    """In bits; read when the dataset is created, afterwards the ledger's counts."""
    data: str | None = field(default=None, repr=False)
    """The table; needed until its coded copy exists. Its address may hold a password."""
    analysts: tuple[str, ...] = ()
    """Accounts that may use the dataset, each with an allowance of 0 bits until the owner sets
    one."""
    place: str | None = None
    """The place of the coded copy; next to the ledger file by default."""
    reading: ReadingOptions = AS_WRITTEN
    """How the files of the table are written."""


@dataclass(frozen=True)
class LimitSettings:
    """Limits on what one account may do."""

    prices_per_minute: int = 600
    asks_per_minute: int = 60
    """New questions; a repeat does not count."""
    bits_per_day: Mapping[str, str] = field(default_factory=dict)
    """By account; 0 leaves prices and repeats."""
    questions_per_batch: int = 100
    numbers_per_request: int = 2000
    """Numbers in all answers of one request, counted over groups."""
    lanes_per_account: int | None = None
    """Lanes of one worker that an account may use at once; None for half of them."""
    rows: int = 10_000
    """Rows of one reply: invented rows, pages of the history and of the audit log."""


@dataclass(frozen=True)
class ServiceSettings:
    """Everything that CONFIG.toml says."""

    ledger: str = field(repr=False)
    """Its address may hold a password."""
    datasets: Mapping[str, DatasetSettings]
    listen: Listen = Listen("127.0.0.1", 8080)
    workers: int = 2
    body_limit: int = 64 << 10
    engine_lanes: int = 4
    queue: int = 64
    question_seconds: float = 30.0
    pending_seconds: float = 600.0
    """How long a question that is paid for may go on, after its caller was told that it is
    pending."""
    keep_replies: bool = True
    """Whether workers keep rendered replies to repeats."""
    tls: Tls | None = None
    proxy: TrustedProxy | None = None
    limits: LimitSettings = LimitSettings()
    folder: Path = Path()
    """The folder of CONFIG.toml, which relative paths start from."""
    runtime: Path | None = None
    """A private folder that the workers of one service share; None for a single process."""

    def changed(self, listen: str | None, workers: int | None) -> ServiceSettings:
        """Return settings with the address and the number of workers of a command line."""
        settings = self
        if listen is not None:
            address = Listen.read(listen)
            if address is None:
                raise OptionError(
                    f"The option --listen {listen} is not an address with a port",
                    hint="write --listen 127.0.0.1:8080",
                )
            settings = replace(settings, listen=address)
        if workers is not None:
            if not 1 <= workers <= MOST_WORKERS:
                raise OptionError(
                    f"The option --workers is not from 1 to {MOST_WORKERS}",
                    hint="write --workers 2",
                )
            settings = replace(settings, workers=workers)
        return settings


def read_settings(path: str | Path) -> ServiceSettings:
    """Read CONFIG.toml; the first mistake is an error that names its key.

    Example:
        >>> import tempfile
        >>> text = 'service.ledger = "ledger.db"; datasets.people.schema = "people.toml"'
        >>> text = text.replace("; ", chr(10))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "config.toml").write_text(text)
        ...     settings = read_settings(Path(folder, "config.toml"))
        >>> str(settings.listen), settings.workers, list(settings.datasets)
        ('127.0.0.1:8080', 2, ['people'])
    """
    settings, mistakes = settings_and_mistakes(path)
    if mistakes or settings is None:
        raise mistakes[0]
    return settings


def settings_and_mistakes(
    path: str | Path,
) -> tuple[ServiceSettings | None, list[HartleyError]]:
    """Return what could be read of CONFIG.toml, None if nothing, and every mistake in it.

    Instead of what is wrong stands a default: an empty ledger, any free port.
    """
    try:
        text = read_text_file(path, what="configuration")
        content = parse_toml(text, what=f"configuration {Path(path).name}")
    except HartleyError as error:
        return None, [error]
    reader = _SettingsReader(content, Path(path).absolute().parent)
    return reader.read(), reader.mistakes


class _SettingsReader:
    """Reads the sections one by one and collects what is wrong."""

    def __init__(self, content: Mapping[str, Any], folder: Path) -> None:
        self.content, self.folder = content, folder
        self.mistakes: list[HartleyError] = []

    def wrong(self, problem: str, hint: str) -> None:
        self.mistakes.append(OptionError(problem, hint=hint))

    def read(self) -> ServiceSettings:
        self.known(self.content, "service, datasets, limits", "the configuration")
        service = self.section(self.content, "service", "[service]")
        keys = "listen, workers, ledger, body_limit, engine_lanes, queue, question_seconds, "
        keys += "pending_seconds, keep_replies, tls, trusted_proxy, user_header"
        self.known(service, keys, "[service]")
        return ServiceSettings(  # in the order in which mistakes are told
            listen=self.listen(service.get("listen", "127.0.0.1:8080")),
            ledger=self.address(service, "ledger", "[service]", 'write ledger = "ledger.db"') or "",
            workers=self.whole(service, "workers", 2, (1, MOST_WORKERS)),
            engine_lanes=self.whole(service, "engine_lanes", 4, (1, 256)),
            queue=self.whole(service, "queue", 64, (0, 100_000)),
            body_limit=self.size(service.get("body_limit", "64KiB")),
            question_seconds=(seconds := self.seconds(service, "question_seconds", 30, 3600)),
            pending_seconds=self.pending_seconds(service, seconds),
            keep_replies=self.keep_replies(service.get("keep_replies", True)),
            tls=self.tls(service.get("tls")),
            proxy=self.proxy(service),
            datasets=self.datasets(),
            limits=self.limits(),
            folder=self.folder,
        )

    # --- [service] ---

    def listen(self, value: object) -> Listen:
        listen = Listen.read(value)
        if listen is None:
            self.wrong(
                "The key listen in [service] is not an address with a port",
                'write listen = "127.0.0.1:8080"',
            )
        return listen or Listen("127.0.0.1", 0)

    def keep_replies(self, value: object) -> bool:
        if not isinstance(value, bool):
            self.wrong("The key keep_replies in [service] is not true or false", "leave it out")
        return bool(value)

    def size(self, value: object) -> int:
        match = SIZE.fullmatch(value) if isinstance(value, str) else None
        number = int(match[1]) * UNITS[match[2]] if match else 0
        if not 0 < number <= LARGEST_BODY:
            self.wrong(
                "The key body_limit in [service] is not a size of up to 64MiB",
                'write body_limit = "64KiB"',
            )
        return number

    def seconds(self, service: Mapping[str, Any], key: str, usual: float, most: int) -> float:
        number = 0.0
        with suppress(HartleyError):
            number = float(parse_number(service.get(key, usual), name=key))
        if not 0 < number <= most:
            self.wrong(
                f"The key {key} in [service] is not a number of seconds up to {most}",
                f"write {key} = {usual:g}",
            )
        return number

    def pending_seconds(self, service: Mapping[str, Any], least: float) -> float:
        usual = PENDING_TIMES * (least or 30)
        number = self.seconds(service, "pending_seconds", usual, 86_400)
        if 0 < number < least:
            self.wrong(
                "The key pending_seconds in [service] is less than question_seconds",
                f"write pending_seconds = {usual:g}, or leave it out",
            )
        return number

    def tls(self, value: object) -> Tls | None:
        if value is None:
            return None
        given = value if isinstance(value, Mapping) else {}
        if {*given} != {"certificate", "key"} or not all(
            isinstance(path, str) and path and "\0" not in path for path in given.values()
        ):
            self.wrong(
                "The key tls in [service] does not name a certificate and a key",
                'write tls = { certificate = "cert.pem", key = "key.pem" }',
            )
            return None
        return Tls(self.folder / given["certificate"], self.folder / given["key"])

    def proxy(self, service: Mapping[str, Any]) -> TrustedProxy | None:
        addresses, header = service.get("trusted_proxy"), service.get("user_header")
        if addresses is None and header is None:
            return None
        if not isinstance(addresses, list) or not addresses or not all(map(_is_address, addresses)):
            self.wrong(
                "The key trusted_proxy in [service] is not a list of IP addresses",
                'write trusted_proxy = ["10.0.0.2"]; user_header is trusted from these alone',
            )
            return None
        if not isinstance(header, str) or not HEADER.fullmatch(header):
            self.wrong(
                "The key user_header in [service] is not the name of a header",
                'write user_header = "X-Remote-User", and let the proxy remove that header from '
                "requests",
            )
            return None
        return TrustedProxy(tuple(addresses), header)

    # --- [datasets.NAME] ---

    def datasets(self) -> dict[str, DatasetSettings]:
        listed = self.section(self.content, "datasets", "[datasets.NAME]")
        if not listed:
            self.wrong(
                "The configuration names no dataset",
                'add a section [datasets.NAME] with schema = "NAME.schema.toml"',
            )
        datasets = {}
        for name in listed:
            where = f"[datasets.{name}]"
            section = self.section(listed, name, where)
            if not NAME.fullmatch(name):
                self.wrong(
                    f"The name of {where} cannot stand in an address",
                    "use letters, digits, '.', '_' and '-', at most 63 of them",
                )
            self.known(section, "schema, budget, data, analysts, place, reading", where)
            schema = self.text(section, "schema", where, 'write schema = "people.schema.toml"')
            data, place = (
                self.address(section, key, where, f'write {key} = "..."', needed=False)
                for key in ("data", "place")
            )
            if schema is None:
                continue
            datasets[name] = DatasetSettings(
                name=name,
                schema=self.folder / schema,
                budget=self.bits(section.get("budget"), f"budget in {where}"),
                data=data,
                analysts=self.names(section.get("analysts", []), f"analysts in {where}"),
                place=place,
                reading=self.reading(section, name),
            )
        return datasets

    def reading(self, section: Mapping[str, Any], name: str) -> ReadingOptions:
        where = f"[datasets.{name}.reading]"
        try:
            return ReadingOptions.from_dict(self.section(section, "reading", where))
        except HartleyError as error:
            self.wrong(f"In {where}: {error.problem}", error.hint)
            return AS_WRITTEN

    # --- [limits] ---

    def limits(self) -> LimitSettings:
        section = self.section(self.content, "limits", "[limits]")
        keys = "prices_per_minute, asks_per_minute, questions_per_batch, rows, "
        keys += "numbers_per_request, lanes_per_account"
        self.known(section, f"{keys}, bits_per_day", "[limits]")
        default = LimitSettings()
        numbers = {
            key: self.whole(section, key, getattr(default, key) or 1, (1, 10_000_000), "[limits]")
            for key in keys.split(", ")
            if key in section
        }
        caps = section.get("bits_per_day", {})
        if not isinstance(caps, Mapping):
            self.wrong(
                "The key bits_per_day in [limits] does not give bits by account",
                "write bits_per_day = { bi = 0 }",
            )
            caps = {}
        self.names(list(caps), "bits_per_day in [limits]")
        by_account = {
            account: self.bits(bits, f"bits_per_day of '{account}' in [limits]") or "0"
            for account, bits in caps.items()
        }
        return LimitSettings(**numbers, bits_per_day=by_account)

    # --- values ---

    def section(self, content: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
        value = content.get(key, {})
        if isinstance(value, Mapping):
            return value
        self.wrong(f"{where} is not a section", f"write it as {where} on a line of its own")
        return {}

    def known(self, section: Mapping[str, Any], keys: str, where: str) -> None:
        for key in sorted({*section} - {*keys.split(", ")}):
            self.wrong(f"There is no key '{key}' in {where}", f"its keys are {keys}")

    def text(
        self, section: Mapping[str, Any], key: str, where: str, hint: str, *, needed: bool = True
    ) -> str | None:
        value = section.get(key)
        if value is None and not needed:
            return None
        if isinstance(value, str) and value.strip() and "\0" not in value:
            return value
        problem = "is missing" if value is None else "is not text"
        self.wrong(f"The key {key} in {where} {problem}", hint)
        return None

    def whole(
        self,
        section: Mapping[str, Any],
        key: str,
        default: int,
        ends: tuple[int, int],
        where: str = "[service]",
    ) -> int:
        value = section.get(key, default)
        if type(value) is int and ends[0] <= value <= ends[1]:
            return value
        self.wrong(
            f"The key {key} in {where} is not a whole number from {ends[0]} to {ends[1]:,}",
            f"write {key} = {default}",
        )
        return default

    def bits(self, value: object, what: str) -> str | None:
        if value is None:
            return None
        try:
            number = None if isinstance(value, bool) else parse_number(value, name=f"the {what}")
        except HartleyError:
            number = None
        if number is None or number < 0:
            self.wrong(f"The key {what} is not a number of bits", "write a number from 0")
            return None
        return str(value)

    def names(self, value: object, what: str) -> tuple[str, ...]:
        if isinstance(value, list) and all(
            isinstance(name, str) and ACCOUNT_NAME.fullmatch(name) for name in value
        ):
            return tuple(dict.fromkeys(value))
        self.wrong(
            f"The key {what} does not list names of accounts",
            'write for example ["ana", "bi"]: lower-case letters, digits and . _ @ + -',
        )
        return ()

    def address(
        self, section: Mapping[str, Any], key: str, where: str, hint: str, *, needed: bool = True
    ) -> str | None:
        """Return a path relative to the configuration, or the address of a database as it is."""
        text = self.text(section, key, where, hint, needed=needed)
        if text is None or ("://" in text and not text.startswith("sqlite:///")):
            return text
        return str(self.folder / text.removeprefix("sqlite:///"))


def _is_address(value: object) -> bool:
    try:
        ipaddress.ip_address(str(value))
    except ValueError:
        return False
    return isinstance(value, str)


# --- everything that is wrong with a configuration, without starting or changing anything ---


def problems_of(
    path: str | Path, *, listen: str | None = None, workers: int | None = None
) -> list[HartleyError]:
    """Return everything that would keep a service from starting, each in one sentence.

    ``listen`` and ``workers`` of a command line count instead of the file's.
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
    for name in PACKAGES:
        if find_spec(name) is None:
            yield EngineError(
                f"The package {name} of the service is not installed",
                hint="pip install 'hartley[service]'",
            )
    yield from _caught(lambda: settings.listen.bind().close())
    if settings.tls is not None:
        yield from _problems_of_tls(settings.tls)
    schemas: dict[str, Schema] = {}
    for dataset in settings.datasets.values():
        try:
            schema = read_schema(dataset)
            schema.require_confirmed()
            schemas[dataset.name] = schema
        except HartleyError as error:
            yield error
    ledger = None
    try:
        ledger = _opened(settings.ledger) if settings.ledger else None
    except HartleyError as error:
        yield error
    try:
        yield from _problems_of_caps(settings, ledger)
        for dataset in settings.datasets.values():
            of = schemas.get(dataset.name)
            yield from _caught(partial(_problems_of_dataset, dataset, of, settings, ledger))
        yield from _caught(lambda: _problems_of_populations(schemas, ledger))
    finally:
        if ledger is not None:
            ledger.close()


def _caught(work: Callable[[], Iterable[HartleyError] | None]) -> Iterator[HartleyError]:
    """Yield the problems that work yields, and the one that ends it."""
    try:
        yield from work() or ()
    except HartleyError as error:
        yield error


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


def _opened(address: str) -> Ledger | None:
    """Open the ledger; None if it would be created by the first start."""
    path = None if "://" in address else Path(address)
    if path is not None and not path.exists():
        require_writable_folder(path)
        return None
    ledger = open_ledger(address, create=False)
    if not ledger.store.may_append():
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
        yield unknown_account(name)


def unknown_account(name: str) -> InputError:
    """Return what is wrong with a daily cap of an account that does not exist."""
    return InputError(
        f"The key bits_per_day in [limits] names the account '{name}', which there is not",
        hint="add it to analysts of a dataset, or with hartley account add",
    )


def _problems_of_dataset(
    dataset: DatasetSettings,
    schema: Schema | None,
    settings: ServiceSettings,
    ledger: Ledger | None,
) -> Iterator[HartleyError]:
    state = None if ledger is None else dataset_state(ledger.trusted, dataset.name)
    if state is None or ledger is None:
        yield from _problems_of_new(dataset, schema)
        yield from _problems_of_place(dataset)
        return
    if schema is not None:
        yield from _caught(lambda: check_same_schema(schema, state))
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
