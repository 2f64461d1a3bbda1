"""The table of docs/console.md, row by row: which pages show what to whom."""

import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("console")]

ROOT = Path(__file__).parents[4]
ROLES = ("owner", "analyst", "auditor")
TABLE = {
    cells[0]: dict(zip(ROLES, cells[1:], strict=True))
    for line in re.findall(
        r"^\| (.+) \|$", (ROOT / "docs/console.md").read_text("utf-8"), re.MULTILINE
    )
    if len(cells := line.split(" | ")) == 4 and cells[1] in {"all", "own", "no"}
}
MINE = "SELECT COUNT(*) FROM people WHERE age >= 37"
THEIRS = "SELECT COUNT(*) FROM people WHERE age >= 71"
OTHER = "zacharias"


@pytest.fixture(scope="module")
def windows(house):
    """Browsers of an owner, an analyst and an auditor, beside another analyst who asks too."""
    accounts, ledger = house.service.accounts, house.service.ledger
    tokens = {"owner": house.owner_token, "other": house.analyst(OTHER)}
    for role in ("analyst", "auditor"):
        accounts.add(f"seen.{role}", role, by="owner")
        accounts.grant(f"seen.{role}", "people", by="owner")
        tokens[role] = accounts.issue_token(f"seen.{role}", scopes="ask", by="owner").text
    for name in ("owner", "seen.analyst", "seen.auditor"):
        ledger.record("people", "allowance", {"analyst": name, "bits": "2"})
    opened = {name: house.window(token) for name, token in tokens.items()}
    for name, window in opened.items():
        question = THEIRS if name == "other" else MINE
        window.get("/d/people/ask")
        window.post("/d/people/ask", question=question, quoted=question, spend="1 1.0")
        assert "Charged 1 bit" in window.reply.text
    return opened


def text_of(window, *paths):
    """Return what some pages show, as one text; errors and redirects show nothing."""
    replies = [window.get(path) for path in paths]
    return "\n".join(reply.text for reply in replies if reply.status_code == 200)


def pages_of(dataset="people"):
    return [f"/d/{dataset}/{page}" for page in ("ask", "budget", "history")]


def own_answers(window):
    rows = re.findall(r"/answers/(\w+)", window.get("/d/people/history").text)
    return [f"/d/people/answers/{row}" for row in rows]


def every_page(window):
    owners = ["/owner", f"/owner/accounts/{OTHER}", "/owner/datasets/people", "/reports"]
    paths = ["", *pages_of(), *own_answers(window), *owners, "/d/other/ask", "/nothing"]
    text = text_of(window, *paths)
    window.get("/d/people/ask")
    text += window.post("/d/people/price", question=MINE).text
    text += window.post("/d/people/price", question="SELECT COUNT(*) FROM other").text
    return text


def datasets(window):
    granted = text_of(window, *pages_of("people"))
    if not granted:
        return "no"
    return "all" if text_of(window, *pages_of("other")) else "granted"


def own_rows(window):
    text = text_of(window, *pages_of(), *own_answers(window))
    return "own" if "age &gt;= 37" in text and "1 of 2 bits spent" in text else "no"


def rows_of_others(window):
    return "all" if "age &gt;= 71" in every_page(window) else "no"


def names_of_accounts(window):
    return "all" if OTHER in every_page(window) else "no"


def tokens_and_allowances(window):
    shown = text_of(window, f"/owner/accounts/{OTHER}", "/owner/datasets/people")
    return "all" if "allowance" in shown and OTHER in shown else "no"


def totals(window):
    return "all" if "spent by all" in every_page(window) else "no"


def ledger_and_log(window):
    text = text_of(window, "/owner")
    return "all" if "The chain ends at row" in text and "Audit log" in text else "no"


def reports(window):
    query = "?dataset=people&columns=age&bits=3"
    paths = ("/reports", f"/reports/design{query}", f"/reports/design/page{query}")
    return "all" if text_of(window, *paths) else "no"


ROWS = {
    "Ask, Budget and History of a dataset": datasets,
    "own questions, answers and balance": own_rows,
    "questions and answers of others": rows_of_others,
    "names of other accounts, but for those of the owners": names_of_accounts,
    "tokens and allowances of other accounts": tokens_and_allowances,
    "what all accounts together have spent": totals,
    "end of the ledger and audit log": ledger_and_log,
    "reports": reports,
}


def test_the_table_has_these_rows_and_no_other():
    assert list(TABLE) == list(ROWS)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_table(windows, row, role):
    assert ROWS[row](windows[role]) == TABLE[row][role]


def test_an_analyst_cannot_tell_whether_an_account_exists(windows):
    """Every address under an account's name gives the same page, whether there is one or not."""
    window = windows["analyst"]
    for path in ("/owner/accounts/{}", "/owner/datasets/{}"):
        replies = [window.get(path.format(name)) for name in (OTHER, "nobody", "people")]
        assert {reply.status_code for reply in replies} == {403}
        assert len({re.sub(r"[0-9a-f]{64}", "", reply.text) for reply in replies}) == 1
    for name in (OTHER, "nobody"):
        window.get("/d/people/ask")
        for act in ("tokens", "grant", "withdraw", "allowance", "cap", "revoke"):
            path = f"/owner/accounts/{name}/{act}"
            assert window.post(path, csrf=window.csrf).status_code == 403
            window.get("/d/people/ask")
