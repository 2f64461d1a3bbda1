"""Replies that are kept for a repeated request, and keys that are bound with a charge."""

import math

import pytest

from hartley.errors import InputError, OptionError, Refused
from hartley.service.identity import KeyedRequest


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
    assert place.run(address, ("SELECT count(*) FROM hartley_service_replies", ())) == [(1,)]


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
