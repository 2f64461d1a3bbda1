"""Accounts, tokens, sessions, the audit log and kept replies, on a file and on a server."""

import math
import sqlite3
import threading
from datetime import datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from hartley.agent.ledger import open_ledger
from hartley.errors import EngineError, InputError, OptionError, Refused
from hartley.service.accounts import Role, TokenScope, open_accounts
from hartley.service.accounts.identity import new_token, token_id_of, verifier_of, widest_scope
from hartley.service.accounts.keyed_requests import KeyedRequest

BY = {"by": "owner"}


@pytest.fixture
def token(accounts):
    return accounts.issue_token("ana", scopes="ask", **BY)


# --- accounts ---


def test_an_account_begins_with_nothing(accounts):
    account = accounts.get("ana")
    assert (account.role, account.revoked, account.datasets, account.daily_cap) == (
        Role.ANALYST,
        None,
        frozenset(),
        None,
    )
    assert account.created == "2026-03-01T09:30:00.000000Z"
    assert [each.name for each in accounts.list()] == ["ana", "owner"]
    assert accounts.tokens("ana") == []


@pytest.mark.parametrize("name", ["", "Ana", "a b", "-a", "a" * 65, "a\n", "é", None, "a;b"])
def test_a_name_that_could_confuse_is_refused(accounts, name):
    with pytest.raises(OptionError, match="name of the account"):
        accounts.add(name, "analyst", **BY)


def test_a_name_is_never_used_twice(accounts):
    accounts.revoke_account("ana", **BY)
    with pytest.raises(InputError, match="There is an account 'ana' already"):
        accounts.add("ana", "analyst", **BY)


def test_mistakes_name_the_culprit(accounts):
    with pytest.raises(OptionError, match="no role 'king'; hint: use owner, analyst or auditor"):
        accounts.add("bob", "king", **BY)
    with pytest.raises(OptionError, match="first owner"):
        accounts.add("owner", "analyst", **BY)
    accounts.revoke_account("ana", **BY)
    with pytest.raises(InputError, match="no account 'bob'"):
        accounts.get("bob")
    for act in (
        lambda: accounts.issue_token("ana", scopes="ask", **BY),
        lambda: accounts.grant("ana", "people", **BY),
        lambda: accounts.revoke_account("ana", **BY),
        lambda: accounts.set_daily_cap("ana", 1, **BY),
    ):
        with pytest.raises(InputError, match="'ana' is revoked"):
            act()


def test_the_last_owner_stays(accounts):
    with pytest.raises(Refused, match="last owner"):
        accounts.revoke_account("owner", **BY)
    accounts.add("second", "owner", **BY)
    accounts.revoke_account("owner", **BY)
    assert accounts.get("owner").revoked == "2026-03-01T09:30:00.000000Z"


def test_a_grant_is_seen_and_withdrawn(accounts, token):
    accounts.grant("ana", "people", **BY)
    accounts.grant("ana", "people", **BY)
    identity = accounts.authenticate(token.text)
    assert (identity.sees("people"), identity.sees("patients")) == (True, False)
    accounts.withdraw("ana", "people", **BY)
    assert not accounts.authenticate(token.text).sees("people")
    owner = accounts.issue_token("owner", scopes="price", **BY)
    assert accounts.authenticate(owner.text).sees("anything")


def test_a_cap_is_an_exact_number(accounts):
    accounts.set_daily_cap("ana", "1.1", **BY)
    assert accounts.get("ana").daily_cap == Fraction(11, 10)
    accounts.set_daily_cap("ana", None, **BY)
    assert accounts.get("ana").daily_cap is None
    for bad in (-1, "many", float("nan"), 10**9):
        with pytest.raises(OptionError):
            accounts.set_daily_cap("ana", bad, **BY)


# --- tokens ---


def test_a_token_is_its_account_and_only_a_verifier_is_kept(accounts, token, place, address):
    identity = accounts.authenticate(token.text)
    assert (identity.account, identity.role, identity.scope, identity.token_id) == (
        "ana",
        Role.ANALYST,
        TokenScope.ASK,
        token.token_id,
    )
    secret = token.text.split("_")[2]
    assert len(secret) == 64  # 256 bits
    assert secret not in repr(token)
    rows = place.run(address, "SELECT * FROM hartley_service_tokens")
    assert verifier_of(token.text) in rows[0]
    assert not any(secret in str(value) or token.text in str(value) for value in rows[0])
    assert secret not in repr(accounts.tokens("ana"))
    assert secret not in repr(accounts.audit())


def test_every_invalid_token_is_none(accounts, token, hands):
    expiring = accounts.issue_token("ana", scopes="ask", expires=timedelta(hours=1), **BY)
    revoked = accounts.issue_token("ana", scopes="ask", **BY)
    accounts.revoke_token(revoked.token_id, **BY)
    accounts.add("bob", "analyst", **BY)
    of_revoked_account = accounts.issue_token("bob", scopes="ask", **BY)
    accounts.revoke_account("bob", **BY)
    assert accounts.authenticate(expiring.text) is not None
    hands.move(hours=1)
    unknown, _ = new_token()
    other_secret = f"hartley_{token.token_id}_{'0' * 64}"
    for text in (
        expiring.text,
        revoked.text,
        of_revoked_account.text,
        unknown.text,
        other_secret,
        token.text[:-1],
        token.text + "0",
        token.text + "\n",
        " " + token.text,
        token.text.upper(),
        "",
        "\ud800",
        "x" * 10_000,
        "hartley_\x00",
    ):
        assert accounts.authenticate(text) is None
    assert accounts.authenticate(token.text).account == "ana"


def test_every_invalid_token_takes_the_same_statements(accounts, token, monkeypatch):
    """What a token is wrong about cannot be seen from the work that is done for it."""
    revoked = accounts.issue_token("ana", scopes="ask", **BY)
    accounts.revoke_token(revoked.token_id, **BY)
    store, seen = accounts.ledger.store, []
    read = store.read

    def counting(work):
        def observed(transaction):
            run = transaction.run
            transaction.run = lambda statement, values: (
                seen[-1].append(statement.split("WHERE")[0]),
                run(statement, values),
            )[1]
            return work(transaction)

        seen.append([])
        return read(observed)

    monkeypatch.setattr(store, "read", counting)
    for text in (revoked.text, new_token()[0].text, token.text[:-1], "", token.text[:-1] + "g"):
        assert accounts.authenticate(text) is None
    assert len(seen) == 5
    assert len({len(statements) for statements in seen}) == 1


def test_the_widest_scope_counts(accounts):
    token = accounts.issue_token("ana", scopes=["price", "repeat"], **BY)
    assert accounts.authenticate(token.text).scope is TokenScope.REPEAT
    for bad in ("all", [], ["price", "x"]):
        with pytest.raises(OptionError, match="scope"):
            accounts.issue_token("ana", scopes=bad, **BY)


@given(st.lists(st.sampled_from(list(TokenScope)), min_size=1))
def test_the_widest_scope_includes_every_one_named_and_is_one_of_them(scopes):
    widest = widest_scope(scopes)
    assert widest in scopes
    assert all(widest.includes(scope) for scope in scopes)


def test_scopes_are_ordered():
    order = ["price", "repeat", "ask"]
    for i, scope in enumerate(order):
        assert [TokenScope(scope).includes(other) for other in order] == [j <= i for j in range(3)]


def test_an_expiry_is_in_the_future_and_has_a_zone(accounts, hands):
    for bad in (hands.time, timedelta(0), hands.time - timedelta(1), datetime(2030, 1, 1)):  # noqa: DTZ001 - what is refused
        with pytest.raises(OptionError, match="expiry"):
            accounts.issue_token("ana", scopes="ask", expires=bad, **BY)


def test_a_label_is_short_and_printable(accounts):
    token = accounts.issue_token("ana", scopes="ask", label="laptop", **BY)
    assert accounts.tokens("ana")[0].label == "laptop"
    assert accounts.tokens("ana")[0].token_id == token.token_id
    for bad in ("x" * 101, "a\x1b"):
        with pytest.raises(OptionError, match="label"):
            accounts.issue_token("ana", scopes="ask", label=bad, **BY)


def test_the_last_use_is_written_once_a_minute(accounts, other_worker, token, hands):
    assert accounts.tokens("ana")[0].last_used is None
    seen = []
    for _ in range(130):
        for worker in (accounts, other_worker):
            worker.authenticate(token.text)
            worker.flush()
        seen.append(accounts.tokens("ana")[0].last_used)
        hands.move(seconds=1)
    assert len(set(seen)) == 3
    assert seen[0] == "2026-03-01T09:30:00.000000Z"


def test_revoking_an_unknown_token_is_a_mistake_and_twice_is_none(accounts, token):
    with pytest.raises(InputError, match="no token"):
        accounts.revoke_token("0" * 16, **BY)
    accounts.revoke_token(token.token_id, **BY)
    acts = len(accounts.audit())
    accounts.revoke_token(token.token_id, **BY)
    assert len(accounts.audit()) == acts


@given(st.text(max_size=120))
def test_a_text_that_is_no_token_has_an_id_that_no_token_has(text):
    assert token_id_of(text) == "-" * 16


@given(st.data())
def test_one_changed_character_changes_id_or_verifier(data):
    issued, verifier = new_token()
    at = data.draw(st.integers(0, len(issued.text) - 1))
    character = data.draw(st.characters().filter(lambda c: c != issued.text[at]))
    changed = issued.text[:at] + character + issued.text[at + 1 :]
    assert verifier_of(changed) != verifier == verifier_of(issued.text)


def test_a_use_does_not_wait_for_the_disk_and_survives_its_failure(accounts, token, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def failing(_):
        begun.set()
        assert go_on.wait(120)
        raise EngineError("The disk is full", hint="make room")

    monkeypatch.setattr(accounts.ledger.store, "write", failing)
    assert accounts.authenticate(token.text).account == "ana"  # while nothing is written yet
    assert begun.wait(120)
    go_on.set()
    accounts.flush()
    assert accounts.tokens("ana")[0].last_used is None


@pytest.mark.parametrize("text", ["\x00", "\ud800", "x" * 10_000, "a'; DROP TABLE x; --"])
def test_a_text_that_a_database_cannot_hold_names_nothing(accounts, text):
    assert accounts.identity_of(text) is None
    for act in (
        lambda: accounts.get(text),
        lambda: accounts.revoke_account(text, **BY),
        lambda: accounts.revoke_token(text, **BY),
        lambda: accounts.tokens(text),
        lambda: accounts.withdraw("ana", text, **BY) or accounts.grant(text, "people", **BY),
    ):
        with pytest.raises(InputError):
            act()
    accounts.note(text, text, text, text)
    assert accounts.audit()[-1].who.isprintable()


def test_numbers_that_a_database_cannot_hold_are_no_rows(accounts):
    assert accounts.audit(after=2**70) == []
    assert accounts.audit(after=-(2**70), limit=2**70) == accounts.audit()
    with pytest.raises(OptionError, match="too far away"):
        accounts.issue_token("ana", scopes="ask", expires=timedelta(days=10**8), **BY)


# --- other workers ---


def test_a_revocation_counts_in_other_workers_within_a_second(accounts, other_worker, token, hands):
    assert other_worker.authenticate(token.text) is not None
    accounts.revoke_token(token.token_id, **BY)
    assert accounts.authenticate(token.text) is None
    hands.move(seconds=0.5)
    assert other_worker.authenticate(token.text) is None


def test_a_look_for_one_token_forgets_all_that_are_older(accounts, other_worker, token, hands):
    second = accounts.issue_token("ana", scopes="ask", **BY)
    for each in (token, second):
        assert other_worker.authenticate(each.text) is not None
    for each in (token, second):
        accounts.revoke_token(each.token_id, **BY)
    hands.move(seconds=0.5)
    for each in (token, second, token, second):  # the first call looks, the others remember
        assert other_worker.authenticate(each.text) is None


def test_revoked_accounts_and_grants_count_in_other_workers(accounts, other_worker, token, hands):
    assert not other_worker.authenticate(token.text).sees("people")
    accounts.grant("ana", "people", **BY)
    hands.move(seconds=0.5)
    assert other_worker.authenticate(token.text).sees("people")
    accounts.revoke_account("ana", **BY)
    hands.move(seconds=0.5)
    assert other_worker.authenticate(token.text) is None


def test_what_is_remembered_needs_no_database(accounts, token, hands, monkeypatch):
    identity = accounts.authenticate(token.text)
    monkeypatch.setattr(accounts.ledger.store, "read", None)
    hands.move(seconds=0.2)
    assert accounts.authenticate(token.text) == identity
    hands.move(seconds=0.1)
    with pytest.raises(TypeError):  # too old: it would ask the database
        accounts.authenticate(token.text)


def test_an_expired_token_is_not_remembered_as_valid(accounts, hands):
    token = accounts.issue_token("ana", scopes="ask", expires=timedelta(seconds=0.1), **BY)
    assert accounts.authenticate(token.text) is not None
    hands.move(seconds=0.1)
    assert accounts.authenticate(token.text) is None


# --- sessions ---


def test_a_session_carries_its_identity_and_a_text_for_forms(accounts, token):
    identity = accounts.authenticate(token.text)
    first, second = (accounts.begin_session(identity, lifetime=timedelta(1)) for _ in range(2))
    assert accounts.session(first).identity == identity
    assert accounts.session(first).csrf != accounts.session(second).csrf
    assert accounts.session(first).csrf == accounts.session(first).csrf
    assert first not in repr(accounts.session(first))
    for bad in ("", first[:-1], token.text, "\ud800"):
        assert accounts.session(bad) is None
    accounts.end_session(first)
    assert accounts.session(first) is None
    assert accounts.session(second) is not None


def test_a_session_is_kept_as_a_verifier_alone(accounts, token, place, address):
    text = accounts.begin_session(accounts.authenticate(token.text), lifetime=timedelta(1))
    (row,) = place.run(address, "SELECT * FROM hartley_service_sessions")
    assert text not in row
    assert accounts.session(text).csrf not in row


@pytest.mark.parametrize("how", ["token", "account", "time", "expiry", "end"])
def test_a_session_ends_in_every_worker(accounts, other_worker, hands, how):
    token = accounts.issue_token("ana", scopes="ask", expires=timedelta(hours=2), **BY)
    identity = accounts.authenticate(token.text)
    lifetime = timedelta(hours=1 if how == "time" else 9)
    text = accounts.begin_session(identity, lifetime=lifetime)
    assert other_worker.session(text) is not None
    match how:
        case "token":
            accounts.revoke_token(token.token_id, **BY)
        case "account":
            accounts.revoke_account("ana", **BY)
        case "end":
            accounts.end_session(text)
        case "time":
            hands.move(hours=1)
        case "expiry":  # a session does not outlive its token
            hands.move(hours=2)
    hands.move(seconds=0.5)
    assert other_worker.session(text) is None


def test_a_session_of_a_token_that_was_revoked_meanwhile_is_none(accounts, token):
    identity = accounts.authenticate(token.text)
    accounts.revoke_token(token.token_id, **BY)
    text = accounts.begin_session(identity, lifetime=timedelta(hours=1))
    assert accounts.session(text) is None


def test_sessions_that_are_over_are_removed(accounts, token, hands, place, address):
    identity = accounts.authenticate(token.text)
    accounts.begin_session(identity, lifetime=timedelta(hours=1))
    hands.move(hours=2)
    accounts.begin_session(identity, lifetime=timedelta(hours=1))
    assert place.run(address, "SELECT count(*) FROM hartley_service_sessions") == [(1,)]


def test_an_account_that_a_proxy_names(accounts):
    identity = accounts.identity_of("ana")
    assert (identity.account, identity.scope, identity.token_id) == ("ana", TokenScope.ASK, None)
    assert accounts.identity_of("nobody") is None
    text = accounts.begin_session(identity, lifetime=timedelta(hours=1))
    assert accounts.session(text).identity == identity
    accounts.revoke_account("ana", **BY)
    assert accounts.identity_of("ana") is None
    assert accounts.session(text) is None
    with pytest.raises(InputError, match="revoked"):
        accounts.begin_session(identity, lifetime=timedelta(hours=1))


# --- audit log ---


def test_every_act_is_a_row_by_pages(accounts, token):
    accounts.grant("ana", "people", **BY)
    accounts.set_daily_cap("ana", 2, **BY)
    accounts.withdraw("ana", "people", **BY)
    accounts.revoke_token(token.token_id, by="second")
    accounts.revoke_account("ana", **BY)
    accounts.note("owner", "allowance", "people", "ana 4")
    rows = accounts.audit()
    assert [(row.who, row.act, row.subject, row.detail) for row in rows] == [
        ("test", "add account", "owner", "owner"),
        ("owner", "add account", "ana", "analyst"),
        ("owner", "issue token", "ana", f"{token.token_id} ask"),
        ("owner", "grant", "ana", "people"),
        ("owner", "set daily cap", "ana", "2"),
        ("owner", "withdraw", "ana", "people"),
        ("second", "revoke token", "ana", token.token_id),
        ("owner", "revoke account", "ana", ""),
        ("owner", "allowance", "people", "ana 4"),
    ]
    assert [row.sequence for row in rows] == list(range(1, 10))
    assert accounts.audit(after=3, limit=2) == rows[3:5]
    assert accounts.audit(after=9) == accounts.audit(limit=-1) == []


@pytest.mark.parametrize("statement", ["UPDATE hartley_service_audit SET who = 'x'", "DELETE FROM"])
def test_the_database_keeps_the_rows_of_the_audit_log(accounts, place, address, statement):
    before = accounts.audit()
    full = statement if "SET" in statement else f"{statement} hartley_service_audit"
    with pytest.raises(Exception, match="rows of the audit log stay"):
        place.run(address, full)
    assert accounts.audit() == before


def test_a_refused_act_leaves_no_row(accounts):
    before = accounts.audit()
    with pytest.raises(Refused):
        accounts.revoke_account("owner", **BY)
    assert accounts.audit() == before


# --- replies ---


def keyed(account="ana", key="k1", digest="d1"):
    return KeyedRequest(account, key, digest)


def test_a_reply_is_kept_for_a_day_and_for_its_request_alone(accounts, other_worker, hands):
    assert accounts.bound_key(keyed()) is None
    assert accounts.keep_reply(keyed(), "first") == "first"
    assert other_worker.keep_reply(keyed(), "second") == "first"
    assert other_worker.bound_key(keyed()).reply == "first"
    assert accounts.bound_key(keyed("bob")) is None  # keys belong to an account
    with pytest.raises(InputError, match="another request"):
        accounts.bound_key(keyed(digest="d2"))
    with pytest.raises(InputError, match="another request"):
        accounts.keep_reply(keyed(digest="d2"), "x")
    hands.move(hours=24)
    assert accounts.bound_key(keyed()) is None
    assert accounts.keep_reply(keyed(digest="d2"), "third") == "third"


def test_old_replies_are_removed(accounts, hands, place, address):
    for number in range(3):
        accounts.keep_reply(keyed(key=f"k{number}"), "reply")
    hands.move(hours=25)
    accounts.keep_reply(keyed(key="new"), "reply")
    assert place.run(address, "SELECT count(*) FROM hartley_service_replies") == [(1,)]


@pytest.mark.parametrize("key", ["", "x" * 201, "a\n", "é"])
def test_a_bad_key_is_refused(key):
    with pytest.raises(OptionError, match="idempotency key"):
        keyed(key=key)


def test_a_key_is_bound_with_the_charge_or_not_at_all(accounts, other_worker):
    ledger = accounts.ledger
    about = {"bits": 30, "schema": {"name": "people"}, "rows": 5}
    ledger.record("people", "created", about)
    ledger.record("people", "allowance", {"analyst": "ana", "bits": "20"})

    def charge(request, question, cells, *, fail=False):
        def check(transaction, _):
            accounts.bind_key(transaction, request, "people")
            if fail:
                raise Refused("no", hint="no")

        return ledger.reserve("people", "ana", [{"count": question}], lambda _: cells, check=check)

    with pytest.raises(Refused):
        charge(keyed(), 1, 3, fail=True)
    assert accounts.bound_key(keyed()) is None
    charge(keyed(key="k0"), 0, 5)
    charge(keyed(), 1, 3)
    for seen in (accounts, other_worker):
        assert seen.bound_key(keyed()).reply is None
        assert seen.bound_key(keyed()).bits == pytest.approx(math.log2(3), abs=1e-12)
    # The same key with another request is refused before it is charged.
    before = ledger.state("people").spent
    with pytest.raises(InputError, match="another request"):
        charge(keyed(digest="d2"), 2, 3)
    with pytest.raises(InputError, match="would be charged again"):
        charge(keyed(), 3, 3)
    assert ledger.state("people").spent == before
    assert accounts.keep_reply(keyed(), "reply") == "reply"
    assert other_worker.bound_key(keyed()).reply == "reply"


# --- opening ---


def test_accounts_are_opened_by_their_address(place):
    address = place.fresh()
    with pytest.raises(InputError):
        open_accounts(address, create=False)
    with open_accounts(address) as accounts:
        accounts.add("ana", "analyst", by="x")
    with open_accounts(address, create=False) as accounts:
        assert accounts.get("ana").name == "ana"


def test_a_ledger_without_accounts_gets_them_only_where_asked(place):
    address = place.fresh()
    with open_ledger(address) as ledger:
        with pytest.raises(InputError, match="has no accounts"):
            open_accounts(ledger, create=False)
        open_accounts(ledger).close()
        assert ledger.datasets() == []  # still open


def test_a_backup_of_the_ledger_has_no_accounts(accounts, token, tmp_path):
    target = tmp_path / "backup"
    if accounts.ledger.path is None:
        accounts.ledger.record("people", "created", {"bits": 1, "schema": {}, "rows": 1})
    accounts.ledger.backup(target)
    content = target.read_bytes()
    assert verifier_of(token.text).encode() not in content
    assert token.token_id.encode() not in content
    if accounts.ledger.path is not None:
        with sqlite3.connect(target) as connection:
            names = connection.execute("SELECT name FROM sqlite_master").fetchall()
        connection.close()
        assert not [name for (name,) in names if "service" in name]
