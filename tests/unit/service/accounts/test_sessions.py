"""Sessions and what other workers know: whatever is revoked ends everywhere."""

from datetime import timedelta

import pytest

from hartley.errors import InputError
from hartley.service.identity import TokenScope

BY = {"by": "owner"}


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
    (row,) = place.run(address, ("SELECT * FROM hartley_service_sessions", ()))
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
    assert place.run(address, ("SELECT count(*) FROM hartley_service_sessions", ())) == [(1,)]


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
