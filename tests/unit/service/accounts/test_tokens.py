"""Tokens: only a verifier is kept, and every invalid one is treated alike."""

import threading
from datetime import datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from hartley.errors import EngineError, InputError, OptionError
from hartley.service.identity import (
    Role,
    TokenScope,
    new_token,
    token_id_of,
    verifier_of,
    widest_scope,
)

BY = {"by": "owner"}


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
    rows = place.run(address, ("SELECT * FROM hartley_service_tokens", ()))
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


def test_an_expired_token_is_not_remembered_as_valid(accounts, hands):
    token = accounts.issue_token("ana", scopes="ask", expires=timedelta(seconds=0.1), **BY)
    assert accounts.authenticate(token.text) is not None
    hands.move(seconds=0.1)
    assert accounts.authenticate(token.text) is None
