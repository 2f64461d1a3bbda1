"""The commands of accounts, on the ledger of a service."""

import json
import sys

import pytest

from hartley import open_ledger
from hartley.cli import main
from hartley.errors import InputError
from hartley.service.accounts import open_accounts


@pytest.fixture
def call(monkeypatch, capsys):
    """Run a command in this process; return its exit code and what it printed on both streams."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["hartley", "account", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "ledger.db"
    with open_ledger(path) as opened:
        opened.record("people", "created", {"bits": 8, "schema": {}, "rows": 9})
    return path


def test_an_account_is_added_with_grant_allowance_and_cap(call, ledger):
    words = ("--dataset", "people", "--allowance", "2.5", "--daily-cap", 1, "--json")
    code, out, _ = call("add", "ana", ledger, *words)
    assert code == 0
    content = json.loads(out)
    assert (content["role"], content["datasets"]) == ("analyst", ["people"])
    assert content["daily_cap_bits"] == "1"
    with open_ledger(ledger) as opened:
        assert str(opened.balance("people", "ana").bits) == "5/2"
    with open_accounts(ledger) as accounts:
        acts = [(row.who, row.act) for row in accounts.audit()]
    assert acts == [
        ("command line", act) for act in ("add account", "grant", "set daily cap", "set allowance")
    ]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--role", "king"), "no role 'king'"),
        (("--dataset", "x"), "no dataset 'x'; hint: it has people"),
        (("--allowance", "1"), "without a dataset"),
        (("--dataset", "people", "--allowance", "-1"), "less than 0 bits"),
        (("--dataset", "people", "--allowance", "9"), "would be left for all allowances"),
        (("--daily-cap", "many"), "the daily cap"),
        (("--dataset", "people", "--daily-cap", "1e6"), "daily cap of 1e6 bits is out of reach"),
    ],
)
def test_a_mistake_adds_nothing(call, ledger, words, problem):
    code, out, err = call("add", "ana", ledger, *words)
    assert (code, out) == (2, "")
    assert problem.lower() in err.lower()
    with pytest.raises(InputError, match="has no accounts"):  # not even their tables
        open_accounts(ledger, create=False)
    with open_accounts(ledger) as accounts:
        assert accounts.list() == []


def test_a_name_that_cannot_be_used_makes_no_tables(call, ledger):
    code, _, err = call("add", "Ana Maria", ledger)
    assert (code, "name" in err) == (2, True)
    with pytest.raises(InputError, match="has no accounts"):
        open_accounts(ledger, create=False)


def test_a_token_is_shown_once_and_works(call, ledger):
    call("add", "ana", ledger)
    code, out, _ = call(
        "token", "ana", ledger, "--scope", "repeat", "--days", 2, "--label", "bi", "--json"
    )
    issued = json.loads(out)
    assert (code, issued["scope"]) == (0, "repeat")
    with open_accounts(ledger) as accounts:
        assert accounts.authenticate(issued["token"]).token_id == issued["id"]
    for way in ("--json", "--text"):
        code, out, _ = call("list", ledger, way)
        assert code == 0
        assert issued["id"] in out
        assert issued["token"] not in out
        assert issued["token"].split("_")[2] not in out
    code, out, _ = call("token", "ana", ledger, "--text")
    assert out.startswith("hartley_")
    assert "shown once" in out


def test_a_token_goes_to_a_private_file(call, ledger, tmp_path):
    call("add", "ana", ledger)
    file = tmp_path / "ana.token"
    code, out, _ = call("token", "ana", ledger, "--out", file)
    assert code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    with open_accounts(ledger) as accounts:
        assert accounts.authenticate(file.read_text().strip()).account == "ana"
        assert len(accounts.tokens("ana")) == 1
    assert file.read_text().strip() not in out
    code, _, err = call("token", "ana", ledger, "--out", file)
    assert code == 2
    assert "exists already" in err
    code, _, err = call("token", "ana", ledger, "--out", tmp_path / "no" / "file")
    assert code == 2
    with open_accounts(ledger) as accounts:  # what nobody has seen is not valid
        assert [token.revoked is None for token in accounts.tokens("ana")] == [True, False]


@pytest.mark.parametrize("words", [("--scope", "all"), ("--days", 0), ("--label", "x" * 200)])
def test_a_mistake_issues_nothing(call, ledger, words):
    call("add", "ana", ledger)
    code, _, err = call("token", "ana", ledger, *words)
    assert code == 2
    assert "hint:" in err
    with open_accounts(ledger) as accounts:
        assert accounts.tokens("ana") == []


def test_an_allowance_is_changed_and_only_lowered_for_a_revoked_account(call, ledger):
    call("add", "ana", ledger)
    call("add", "ben", ledger)

    def allow(name, bits, dataset="people"):
        return call("allow", name, ledger, "--dataset", dataset, "--allowance", bits, "--json")

    code, out, _ = allow("ana", 3)
    assert (code, json.loads(out)["allowance_bits"]) == (0, "3")
    with open_accounts(ledger) as accounts:
        assert accounts.get("ana").datasets == {"people"}
        assert [row.act for row in accounts.audit()][-2:] == ["set allowance", "grant"]
    for words, problem in (
        (("ana", -1), "less than 0 bits"),
        (("ana", 9), "would be left for all allowances"),
        (("cal", 1), "no account 'cal'"),
        (("ana", 1, "x"), "no dataset 'x'"),
    ):
        code, _, err = allow(*words)
        assert (code, problem in err) == (2, True), words
    call("revoke", "ana", ledger)
    assert "only be lowered" in allow("ana", 4)[2]
    assert "left for all allowances" in allow("ben", 6)[2]
    assert allow("ana", 0)[0] == 0
    assert allow("ben", 6)[0] == 0


def test_a_token_and_then_its_account_are_revoked(call, ledger):
    for name in ("ana", "bob"):
        call("add", name, ledger)
    tokens = [json.loads(call("token", "ana", ledger, "--json")[1]) for _ in range(2)]
    code, _, err = call("revoke", "bob", ledger, "--token", tokens[0]["id"])
    assert code == 2
    assert "has no token of this id" in err
    assert call("revoke", "ana", ledger, "--token", tokens[0]["id"])[0] == 0
    with open_accounts(ledger) as accounts:
        valid = [accounts.authenticate(token["token"]) is not None for token in tokens]
        assert valid == [False, True]
    assert call("revoke", "ana", ledger, "--text")[1] == (
        "Revoked the account ana and all its tokens.\n"
    )
    code, out, _ = call("list", ledger, "--name", "ana", "--json")
    assert json.loads(out)["accounts"][0]["revoked"] is not None
    assert call("list", ledger, "--name", "eve")[0] == 2


def test_a_typing_error_creates_no_ledger(call, tmp_path):
    code, _, err = call("add", "ana", tmp_path / "other.db")
    assert code == 2
    assert "does not exist" in err
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_without_accounts_lists_none(call, ledger):
    code, _, err = call("list", ledger)
    assert code == 2
    assert "has no accounts" in err
