"""What owners and auditors do: accounts, tokens, allowances, versions, verification."""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.agent.replay import verify_prices
from hartley.engines.coded_table import code_table
from hartley.engines.probes import probe_engine
from hartley.engines.registry import EMBEDDED
from hartley.errors import HartleyError, InputError, OptionError
from hartley.exact import bits_at_least, parse_number
from hartley.schema.schema import Schema
from hartley.service.account_tables import change
from hartley.service.hosting import hints_about_reading, open_data
from hartley.service.identity import Role, TokenScope
from hartley.service.logs import is_alive
from hartley.service.own_rows import OwnBalance, require_covered, set_allowance, uncovered
from hartley.service.replies import forbidden, not_found
from hartley.tables.opening import open_table
from hartley.trusted.pricing.price import open_factor
from hartley.trusted.questions.question import parse
from hartley.trusted.statistics import totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.schema.roles import Roles
    from hartley.service.hosting import HostedDataset, OpenVersion
    from hartley.service.identity import Identity, ServiceAccount
    from hartley.service.service import Service

LONGEST_TOKEN_DAYS = 3660
PATTERN = frozenset("*?[]{}")
"""Characters of a pattern that matches files."""
SELF_CHECK_SECONDS, WRITE_SECONDS, LOOK_SECONDS = 60.0, 2.0, 0.5
"""For how long results count: of the engine's self-check, of a write to the ledger, of a look."""
DUMMY_ROWS, AT_LEAST = 400, 40
DUMMY_SCHEMA = {
    "table": {"name": "invented"},
    "columns": {
        "sex": {"kind": "private", "values": ["F", "M"]},
        "age": {"kind": "private", "range": [0, 100], "step": 1},
    },
}


class Administration:
    """The acts of owners, each a row in the audit log, and what auditors may read."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._accounts, self._ledger = service.accounts, service.ledger
        self._changing = threading.Lock()
        self._jobs: dict[str, dict[str, Any]] = {}
        self.drafts: dict[str, Roles] = {}
        """What the columns of raw tables seem to be, by datasets."""

    @staticmethod
    def require(identity: Identity, *roles: Role) -> None:
        """Raise an error if an account has none of some roles, or a token of an owner no scope."""
        if identity.role not in roles:
            words = " or ".join(role.value for role in roles)
            raise forbidden(f"Only an {words} may do this", "use a token of such an account")
        # An owner can issue tokens that spend: a token for prices must not do that.
        if identity.role is Role.OWNER and not identity.scope.includes(TokenScope.ASK):
            raise forbidden(
                "This token of an owner may see prices or repeat answers, and nothing else",
                "use a token with the scope 'ask'",
            )

    # --- accounts and tokens ---

    def accounts(self, identity: Identity) -> list[dict[str, Any]]:
        """List the accounts."""
        self.require(identity, Role.OWNER)
        return [account.to_dict() for account in self._accounts.list()]

    def account(self, identity: Identity, name: str) -> dict[str, Any]:
        """Return one account with its tokens."""
        self.require(identity, Role.OWNER)
        return self._known(name).to_dict() | {
            "spent_today_bits": self._accounts.spent_today(name),
            "tokens": [token.to_dict() for token in self._accounts.tokens(name)],
        }

    def add_account(self, identity: Identity, name: str, role: str) -> dict[str, Any]:
        """Add an account, which sees no dataset yet."""
        self.require(identity, Role.OWNER)
        return self._accounts.add(name, role, by=identity.account).to_dict()

    def revoke_account(self, identity: Identity, name: str) -> None:
        """Revoke an account with its tokens and sessions."""
        self.require(identity, Role.OWNER)
        self._known(name)
        self._accounts.revoke_account(name, by=identity.account)

    def grant(self, identity: Identity, name: str, dataset: str) -> None:
        """Let an account see a dataset, with an allowance of 0 bits unless it has one."""
        self.require(identity, Role.OWNER)
        hosted = self._changeable(identity, dataset)
        self._known(name)
        self._accounts.grant(name, dataset, by=identity.account)
        hosted.own(name)

    def withdraw(self, identity: Identity, name: str, dataset: str) -> None:
        """Withdraw a dataset from an account; what it spent stays spent."""
        self.require(identity, Role.OWNER)
        self._known(name)
        self._accounts.withdraw(name, dataset, by=identity.account)

    def set_daily_cap(self, identity: Identity, name: str, bits: object) -> None:
        """Set the bits that an account may spend in a day, in all datasets; None for no cap."""
        self.require(identity, Role.OWNER)
        self._known(name)
        self._accounts.set_daily_cap(name, bits, by=identity.account)

    def issue_token(
        self,
        identity: Identity,
        name: str,
        *,
        scope: str,
        days: float | None = None,
        label: str | None = None,
    ) -> dict[str, Any]:
        """Issue a token; its text is in this reply and nowhere else."""
        self.require(identity, Role.OWNER)
        self._known(name)
        if days is not None and not 0 < days <= LONGEST_TOKEN_DAYS:
            raise OptionError(
                f"The token does not expire after 0 to {LONGEST_TOKEN_DAYS:,} days",
                hint="leave the days out for a token that does not expire",
            )
        issued = self._accounts.issue_token(
            name,
            scopes=scope,
            expires=None if days is None else timedelta(days=days),
            label=label,
            by=identity.account,
        )
        return {"token_id": issued.token_id, "token": issued.text}

    def revoke_token(self, identity: Identity, token_id: str) -> None:
        """Revoke a token."""
        self.require(identity, Role.OWNER)
        try:
            self._accounts.revoke_token(token_id, by=identity.account)
        except InputError:
            raise not_found("token") from None

    def audit(self, identity: Identity, *, after: int, limit: int) -> dict[str, Any]:
        """Return a page of the audit log."""
        self.require(identity, Role.OWNER, Role.AUDITOR)
        most = self._service.settings.limits.rows
        if not 1 <= limit <= most:
            raise OptionError(f"The limit is not from 1 to {most:,}", hint="ask for fewer rows")
        if not 0 <= after < 2**62:
            raise OptionError("There is no such row", hint="use the field next of a page")
        rows = self._accounts.audit(after=after, limit=limit)
        return {
            "rows": [asdict(row) for row in rows],
            "next": rows[-1].sequence if len(rows) == limit else None,
        }

    def _known(self, name: str) -> ServiceAccount:
        try:
            return self._accounts.get(name)
        except InputError:
            raise not_found("account") from None

    def _changeable(self, identity: Identity, dataset: str) -> HostedDataset:
        """Return a dataset whose rows in the ledger are about to change."""
        self._service.resources.guard.check()
        return self._service.dataset(identity, dataset)

    # --- budgets ---

    def totals(self, identity: Identity, dataset: str) -> dict[str, Any]:
        """Return the budget of a dataset, all charges, and the allowance of every account."""
        self.require(identity, Role.OWNER)
        self._service.dataset(identity, dataset)
        overview = self._ledger.overview(dataset)
        state = overview.state
        return {
            "dataset": dataset,
            "budget_bits": str(state.budget),
            "spent_bits": state.balance.spent_bits,
            "remaining_bits": state.remaining,
            "open_bits": bits_at_least(state.open_factor),
            "free_bits": str(state.free.bits),
            "batches": overview.batches,
            "questions": overview.questions,
            "broken": overview.broken,
            "uncovered": uncovered(self._ledger, dataset),
            "allowances": {
                account: OwnBalance(
                    str(balance.bits), balance.spent_bits, balance.remaining
                ).to_dict()
                for account, balance in state.allowances.items()
            },
        }

    def set_allowance(
        self, identity: Identity, dataset: str, name: str, bits: object
    ) -> dict[str, Any]:
        """Set the part of the budget that one account may spend."""
        self.require(identity, Role.OWNER)
        self._changeable(identity, dataset)
        self._known(name)
        with self._changing:
            wanted = set_allowance(
                self._ledger,
                self._accounts,
                dataset=dataset,
                account=name,
                bits=bits,
                by=identity.account,
            )
        return {"dataset": dataset, "account": name, "allowance_bits": str(wanted)}

    def set_budget(self, identity: Identity, dataset: str, bits: object) -> dict[str, Any]:
        """Change the budget of a dataset; returns the new promise."""
        self.require(identity, Role.OWNER)
        self._changeable(identity, dataset)
        wanted = parse_number(bits, name="the budget")

        def check() -> None:  # while nobody else writes
            before = self._ledger.state(dataset).budget
            if wanted < before:
                require_covered(self._ledger, dataset, more_bits=before - wanted)

        entry = self._ledger.record(dataset, "budget", {"bits": str(wanted)}, check=check)
        self._accounts.note(identity.account, "set budget", dataset, str(wanted))
        return {
            "dataset": dataset,
            "budget_bits": str(wanted),
            "promise": str(entry.told["promise"]),
        }

    # --- versions ---

    def versions(self, identity: Identity, dataset: str) -> dict[str, Any]:
        """Name the versions of a dataset, the present one last."""
        self.require(identity, Role.OWNER)
        self._service.dataset(identity, dataset)
        return {"dataset": dataset, "versions": self._ledger.versions().get(dataset, [])}

    def add_version(
        self,
        identity: Identity,
        dataset: str,
        *,
        data: str | None = None,
        schema: str | None = None,
        erasure: bool = False,
    ) -> dict[str, Any]:
        """Replace the table of a dataset by a new version; earlier charges stay.

        ``data`` and ``schema`` are names of files next to the configured ones; by default the
        configured table is read again. ``erasure`` says that a person was removed.
        """
        self.require(identity, Role.OWNER)
        hosted = self._changeable(identity, dataset)
        settings = self._service.settings.datasets[dataset]
        table, changed = _beside(settings.data, data, "data"), None
        if schema is not None:
            changed = Schema.read(_beside(settings.schema, schema, "schema"))
        if changed is not None and erasure:
            raise OptionError(
                "A version is either an erasure or has a changed schema",
                hint="record two versions, one after the other",
            )
        with self._changing:
            present = hosted.schema
            factor = open_factor(changed or present)

            def check() -> None:
                require_covered(self._ledger, dataset, more_charges=factor)

            check()  # before the table is coded, and again while nobody else writes
            with hints_about_reading(settings), hosted.agent(present) as agent:
                opened = open_data(settings, table)
                if changed is None:
                    agent.update(opened, erasure=erasure, check=check)
                else:
                    agent.change_schema(changed, opened, check=check)
            kind = "erasure" if erasure else "version" if changed is None else "schema"
            state = self._ledger.state(dataset)
            self._accounts.note(identity.account, f"add {kind}", dataset, state.version)
        return {
            "dataset": dataset,
            "version": state.version,
            "schema_version": state.schema_version,
            "rows": state.rows,
        }

    # --- the raw table ---

    def raw_table(self, identity: Identity, dataset: str) -> str:
        """Return the configured table of a dataset, which its reports and its release read."""
        self.require(identity, Role.OWNER)
        self._service.dataset(identity, dataset)
        return _beside(self._service.settings.datasets[dataset].data, None, "data")

    # --- the ledger ---

    def head(self, identity: Identity) -> dict[str, Any]:
        """Return the end of the chain, to be kept elsewhere."""
        self.require(identity, Role.OWNER, Role.AUDITOR)
        head = self._ledger.head()
        if head is None:
            raise not_found("row of the ledger")
        content: dict[str, Any] = json.loads(head.to_json())
        return content

    def begin_verification(self, identity: Identity) -> dict[str, Any]:
        """Begin to replay the whole ledger; it takes as long as the ledger is."""
        self.require(identity, Role.OWNER, Role.AUDITOR)
        folder, known = self._service.settings.runtime, [*self._jobs]
        if folder is not None:
            known = [path.name.partition(".")[2] for path in folder.glob("verify.*")]
        for content in map(self._load, known):  # one at a time: it reads everything
            if content.get("status") == "running" and is_alive(content["process"]):
                return {"job": content["job"], "status": "running"}
        job = secrets.token_hex(8)
        self._accounts.note(identity.account, "verify ledger", job)
        self._save(job, {"job": job, "status": "running", "begun": _now(), "process": os.getpid()})
        threading.Thread(
            target=self._verify, args=(job,), name=f"verify-{job}", daemon=True
        ).start()
        return {"job": job, "status": "running"}

    def _verify(self, job: str) -> None:
        content: dict[str, Any] = {"job": job, "begun": self._load(job).get("begun")}
        content["process"] = os.getpid()
        try:
            report = verify_prices(self._ledger)
        except Exception:  # noqa: BLE001 - reported with the job
            self._save(job, content | {"status": "failed", "problem": "it failed"})
            return
        content |= {
            "status": "done",
            "ended": _now(),
            "holds": report.holds,
            "rows": report.rows,
            "charges_priced_again": report.repriced,
            "charges_not_priced_again": report.unpriced,
            "first_bad_row": report.first_bad,
            "sentence": report.sentence,
            "head": None if report.head is None else json.loads(report.head.to_json()),
        }
        self._save(job, content)

    def verification(self, identity: Identity, job: str) -> dict[str, Any]:
        """Return how far a verification is, or what it found."""
        self.require(identity, Role.OWNER, Role.AUDITOR)
        content = self._load(job)
        if not content:
            raise not_found("verification")
        if content["status"] == "running" and not is_alive(content["process"]):
            content |= {"status": "failed", "problem": "the worker was stopped"}
        return {name: value for name, value in content.items() if name != "process"}

    def _save(self, job: str, content: dict[str, Any]) -> None:
        self._jobs[job] = content
        folder = self._service.settings.runtime
        if folder is not None:  # another worker may be asked how far it is
            beside = folder / f"new-verify.{job}"
            beside.write_text(json.dumps(content))
            beside.replace(folder / f"verify.{job}")

    def _load(self, job: str) -> dict[str, Any]:
        folder = self._service.settings.runtime
        if folder is not None and job.isalnum():
            with suppress(OSError, ValueError):
                content: dict[str, Any] = json.loads((folder / f"verify.{job}").read_text())
                return content
        return dict(self._jobs.get(job, {}))


def _beside(configured: str | Path | None, name: str | None, what: str) -> str:
    """Return a file in the folder of the configured one: a stolen token reads no other folder."""
    if configured is None:
        raise OptionError(
            f"The configuration of the dataset has no key {what}",
            hint=f"add {what} = ... to its section and start the service again",
        )
    if name is None:
        return str(configured)
    # A pattern would open every file that it matches, and its error would name them.
    plain = name not in {"", ".", ".."} and Path(name).name == name and not set(name) & PATTERN
    if "://" in str(configured) or not plain:
        raise OptionError(
            f"The field {what} is not the name of one file",
            hint=f"put the file next to the configured {what}, and give its name alone",
        )
    path = Path(configured).with_name(name)
    if not path.exists():
        raise InputError(
            f"There is no file of this name next to the configured {what}",
            hint="check the spelling",
        )
    return str(path)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# --- whether a worker can answer: ledger writable, copies open, engine exact ---


def readiness(service: Service) -> dict[str, str | None]:
    """Return each check with its problem, None where there is none.

    Anybody may ask, so nothing is computed for every request.
    """
    checks: dict[str, str | None] = {}

    def check(what: str, seconds: float, work: Callable[[], object]) -> None:
        now, checked = time.monotonic(), service.checked
        if what not in checked or now - checked[what][0] > seconds:
            checked[what] = (now, _problem(work))
        checks[what] = checked[what][1]

    check("ledger", WRITE_SECONDS, lambda: _write(service))
    check("engine", SELF_CHECK_SECONDS, self_check)
    for name, hosted in service.hosted.items():
        check(f"dataset {name}", LOOK_SECONDS, partial(hosted.run, _check_copy))
        check(f"budget {name}", LOOK_SECONDS, partial(_check_cover, service, name))
    return checks


def _problem(work: Callable[[], object]) -> str | None:
    try:
        work()
    except HartleyError as error:
        return error.problem
    except Exception:  # noqa: BLE001 - its message may name files
        return "it failed"
    return None


def _write(service: Service) -> None:
    # The mark of the accounts is random: what is the same as before is not written, so a full disk
    # would seem writable.
    service.ledger.store.write(change)
    service.resources.guard.check()


def _check_copy(opened: OpenVersion) -> None:
    opened.agent.trusted.data.coded.check_unchanged()


def _check_cover(service: Service, dataset: str) -> None:
    budget = uncovered(service.ledger, dataset)
    if budget is not None:
        raise HartleyError(
            f"The allowances exceed what is left of {budget}", hint="raise it, or lower allowances"
        )


def self_check() -> None:
    """Raise an error unless the engine passes its probes and answers about invented rows exactly.

    The rows are invented from a schema, so the right answers are counted here, without the engine.
    """
    failed = [probe.name for probe in probe_engine(EMBEDDED, EMBEDDED.open()) if not probe.holds]
    if failed:
        raise HartleyError(f"The engine fails the probe '{failed[0]}'", hint="see hartley doctor")
    schema = Schema.read(DUMMY_SCHEMA)
    rows = schema.dummy_data(DUMMY_ROWS)
    people = list(zip(rows["sex"].to_pylist(), rows["age"].to_pylist(), strict=True))
    ages = [int(age) for sex, age in people if sex == "F" and age >= AT_LEAST]
    coded = code_table(open_table(rows), schema.codings)
    try:
        for text, expected in (("COUNT(*)", len(ages)), ("SUM(age)", sum(ages))):
            where = f"sex = 'F' AND age >= {AT_LEAST}"
            question = f"SELECT {text} FROM invented WHERE {where}"  # noqa: S608 - our own words
            selection = parse(question, schema, DUMMY_ROWS)
            if totals(coded, selection.questions) != [expected]:
                raise HartleyError(
                    f"The engine gives a wrong {text} of invented rows", hint="see hartley doctor"
                )
    finally:
        coded.close()
