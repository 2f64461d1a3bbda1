"""The table of docs/operations.md, row by row: what the service shows to whom."""

import re
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from hartley import Agent
from hartley.service.accounts import open_accounts
from hartley.service.app import create_app
from hartley.service.settings import read_settings
from hartley.trusted.ledger.store import read_secret
from servers import serving

ROOT = Path(__file__).parents[3]
ROLES = ("owner", "analyst", "auditor")
LINES = re.findall(r"^\| (.+) \|$", (ROOT / "docs/operations.md").read_text(), re.MULTILINE)
TABLE = {
    cells[0]: dict(zip(("owner", "analyst", "auditor", "operator"), cells[1:], strict=True))
    for line in LINES
    if len(cells := line.split(" | ")) == 5 and cells[0] not in {"what", "---"}
}
MINE = "SELECT COUNT(*) FROM people WHERE age >= 40"
THEIRS = "SELECT COUNT(*) FROM people WHERE age >= 77"
pytestmark = pytest.mark.slow


@contextmanager
def running(settings):
    """Run a worker; yield a client of it that seems to come through a proxy."""
    headers = {"X-Forwarded-For": "203.0.113.9"}
    with (
        serving(create_app(settings)) as url,
        httpx.Client(base_url=url, headers=headers, timeout=150) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Two datasets, of which one is granted; an owner, two analysts and an auditor."""
    folder = tmp_path_factory.mktemp("service")
    sections = []
    for name in ("people", "patients"):
        (folder / f"{name}.toml").write_text(
            f'[table]\nname = "{name}"\n'
            '[columns.age]\nkind = "private"\nrange = [0, 100]\nstep = 1\n'
        )
        sections.append(f'[datasets.{name}]\nschema = "{name}.toml"\n')
        with Agent(
            {"age": [30, 41, 83]}, folder / f"{name}.toml", ledger=folder / "ledger.db", budget=16
        ) as agent:
            for account in (*ROLES, "other"):
                agent.allow(account, 3)
    (folder / "config.toml").write_text('[service]\nledger = "ledger.db"\n' + "".join(sections))
    tokens = {}
    with open_accounts(str(folder / "ledger.db")) as accounts:
        tokens["owner"] = accounts.first_owner().text
        for name, role in (("analyst", "analyst"), ("auditor", "auditor"), ("other", "analyst")):
            accounts.add(name, role, by="owner")
            accounts.grant(name, "people", by="owner")
            tokens[name] = accounts.issue_token(name, scopes="ask", by="owner").text
        key = read_secret(accounts.ledger.store).key.hex()
    with running(read_settings(folder / "config.toml")) as client:

        def call(role, method, path, **body):
            headers = {"Authorization": f"Bearer {tokens[role]}"}
            return client.request(method, path, headers=headers, json=body or None)

        for name in ("other", *ROLES):
            question = THEIRS if name == "other" else MINE
            body = {"question": question, "bits": 1, "vacuous": True}
            assert call(name, "POST", "/v1/datasets/people/ask", **body).status_code == 200
        yield SimpleNamespace(call=call, tokens=tokens, key=key)


def seen(service, role, path):
    """Return the text of a reply, None where the service does not show it."""
    reply = service.call(role, "GET", path)
    assert reply.status_code in {200, 403, 404}
    return reply.text if reply.status_code == 200 else None


def both_or_granted(service, role, path):
    """Return what a role sees of two datasets, one of which is granted."""
    if seen(service, role, path.format("people")) is None:
        return "no"
    return "granted" if seen(service, role, path.format("patients")) is None else "all"


def every_page(service, role):
    """Return everything that a role can read, as one text."""
    paths = [
        *("/v1/me", "/v1/datasets", "/v1/accounts", "/v1/audit?limit=1000", "/v1/ledger/head"),
        *("/v1/tokens?account=other", "/v1/accounts/other", "/v1/allowances?dataset=people"),
        *("/metrics", "/readyz", "/healthz", "/openapi.json"),
        *(
            f"/v1/datasets/people{part}"
            for part in ("", "/schema", "/history?limit=100", "/budget", "/versions", "/dummy")
        ),
    ]
    text = "\n".join(seen(service, role, path) or "" for path in paths)
    for row in service.call(role, "GET", "/v1/datasets/people/history").json()["rows"]:
        text += seen(service, role, f"/v1/datasets/people/answers/{row['id']}") or ""
    return text


def names_of_datasets(service, role):
    names = service.call(role, "GET", "/v1/datasets").json()["datasets"]
    return {("people",): "granted", ("people", "patients"): "all"}[tuple(names)]


def schemas(service, role):
    ways = {
        both_or_granted(service, role, "/v1/datasets/{}" + part)
        for part in ("", "/schema", "/dummy?rows=2")
    }
    for name in ("people", "patients"):
        asked = f"SELECT COUNT(*) FROM {name}"  # noqa: S608 - a question
        reply = service.call(role, "POST", f"/v1/datasets/{name}/price", question=asked, bits=1)
        assert (reply.status_code == 404) == (name == "patients" and "granted" in ways)
    (way,) = ways
    return way


def own_questions(service, role):
    text = every_page(service, role)
    budget = service.call(role, "GET", "/v1/datasets/people/budget").json()
    return "own" if MINE in text and budget["spent_bits"] == 1.0 else "no"


def questions_of_others(service, role):
    return "all" if "age >= 77" in every_page(service, role) else "no"


def spending(service, role):
    text = seen(service, role, "/v1/allowances?dataset=people")
    return "all" if text is not None and "other" in text else "no"


def accounts_and_tokens(service, role):
    texts = [seen(service, role, path) for path in ("/v1/accounts", "/v1/tokens?account=other")]
    assert len({text is None for text in texts}) == 1
    return "no" if texts[0] is None else "all"


def text_of_a_token(service, role):
    page = every_page(service, role)
    assert not any(token.split("_")[2] in page for token in service.tokens.values())
    reply = service.call(role, "POST", "/v1/tokens", account="other", scope="price")
    return "once" if reply.status_code == 201 and "hartley_" in reply.text else "no"


def audit_log(service, role):
    return "no" if seen(service, role, "/v1/audit") is None else "all"


def head_and_verification(service, role):
    begun = service.call(role, "POST", "/v1/ledger/verify").status_code
    shown = seen(service, role, "/v1/ledger/head")
    assert (begun == 202) == (shown is not None)
    return "no" if shown is None else "all"


def metrics(service, role):
    return "no" if seen(service, role, "/metrics") is None else "all"


def key_of_the_ledger(service, role):
    return "all" if service.key in every_page(service, role) else "no"


def no_route(service, role):
    """Look for a route to rows of the ledger, copies or logs, which stay on the machine."""
    paths = service.call(role, "GET", "/openapi.json").json()["paths"]
    found = [
        path for path in paths if re.search("rows|entries|export|backup|copy|copies|log$", path)
    ]
    return "all" if found else "no"


PROBES = {
    "names of datasets": names_of_datasets,
    "schemas, invented rows, prices": schemas,
    "own questions, answers, allowance": own_questions,
    "questions and answers of others": questions_of_others,
    "what every account may spend and has spent": spending,
    "accounts, and tokens without their secrets": accounts_and_tokens,
    "text of a token": text_of_a_token,
    "audit log": audit_log,
    "head of the ledger, and its verification": head_and_verification,
    "metrics": metrics,
    "rows of the ledger": no_route,
    "key of the ledger": key_of_the_ledger,
    "coded copy: the data": no_route,
    "logs": no_route,
}


def test_every_row_of_the_table_is_tried():
    assert list(TABLE) == list(PROBES)


@pytest.mark.parametrize("what", PROBES)
@pytest.mark.parametrize("role", ROLES)
def test_a_role_sees_what_the_table_says(service, role, what):
    assert PROBES[what](service, role) == TABLE[what][role]


def test_the_configuration_to_start_from_can_be_read():
    settings = read_settings(ROOT / "deploy" / "config.toml")
    assert settings.limits.bits_per_day == {"bi": "0"}
    assert settings.datasets["people"].analysts == ("ana", "bi")
