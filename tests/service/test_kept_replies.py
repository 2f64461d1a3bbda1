"""A kept reply is sent again only while it is what the ledger would give."""

import pytest

AVERAGE = "SELECT AVG(age) FROM people"
COUNT = "SELECT COUNT(*) FROM people WHERE ill = 'yes'"


@pytest.fixture
def kept(live):
    """Count the replies that were kept and sent again."""
    sent = []
    replies = live.app.state.cache
    original = replies.find

    async def find(key, token):
        body = await original(key, token)
        sent.append(body is not None)
        return body

    replies.find = find
    return sent


def repeat(api, text=AVERAGE, **wish):
    wish = wish or {"bits": 2}
    return api.ask(text, **wish).json()


def test_a_repeat_is_kept_and_has_the_same_bytes(live, kept):
    api = live.api("ana")
    assert api.ask(bits=2).json()["bits"] == 2
    replies = [api.ask(bits=2).content]
    while not any(kept):  # a reply is kept after it was sent, so one more may be too early
        replies.append(api.ask(bits=2).content)
        assert len(replies) < 20
    assert len(set(replies)) == 1


def test_the_balance_is_right_after_every_own_charge(live):
    api = live.api("ana")
    for _ in range(3):
        repeat(api)
    assert api.ask(COUNT, bits=1).json()["spent_bits"] == 3
    assert repeat(api)["spent_bits"] == 3
    assert repeat(api)["remaining_bits"] == 7
    live.place.allow("ana", 12)  # by another process
    assert repeat(api)["remaining_bits"] == 9


def test_charges_of_others_leave_a_reply_as_it_is(live, kept):
    api = live.api("ana")
    while not any(kept):
        repeat(api)
    live.api("ben").ask(COUNT, bits=1)
    del kept[:]
    assert repeat(api)["remaining_bits"] == 8
    assert kept == [True]


def test_a_finer_answer_that_was_paid_for_later_is_given(live):
    api = live.api("ana")
    coarse = [repeat(api) for _ in range(3)][-1]["rows"][0]["AVG(age)"]
    fine = repeat(api, AVERAGE, bits=5)["rows"][0]["AVG(age)"]
    assert fine["error"] < coarse["error"]
    assert repeat(api)["rows"][0]["AVG(age)"] == fine


def test_tokens_grants_and_accounts_are_looked_at_every_time(live, kept, wait_until):
    issued = live.place.issue("ana")
    api, owner = live.api(token=issued.text), live.api("owner")
    while not any(kept):
        repeat(api)
    owner.delete("/v1/accounts/ana/datasets/people")
    wait_until(lambda: api.ask(bits=2).status_code == 404, 1)
    owner.put("/v1/accounts/ana/datasets/people")
    wait_until(lambda: api.ask(bits=2).status_code == 200, 1)
    repeat(api)
    owner.delete(f"/v1/tokens/{issued.token_id}")
    wait_until(lambda: api.ask(bits=2).status_code == 401, 1)


def test_a_reply_belongs_to_one_token_and_one_body(live, kept):
    for _ in range(3):
        repeat(live.api("ana"))
    assert live.api("ben").ask(bits=2).json()["bits"] == 2
    price = live.api(token=live.place.issue("ana", "price").text)
    assert price.ask(bits=2).status_code == 403
    del kept[:]
    assert repeat(live.api("ana"), AVERAGE, bits=2, vacuous=True)["bits"] == 0
    assert kept == [False]


def test_a_new_version_makes_a_reply_invalid(live):
    api = live.api("ana")
    for _ in range(3):
        assert repeat(api, COUNT, error=0)["rows"][0]["COUNT(*)"]["value"] == 15
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"region": ["north"] * 8, "age": list(range(8)), "ill": ["yes"] * 8})
    pq.write_table(table, live.place.folder / "people.parquet")
    added = live.api("owner").post("/v1/datasets/people/versions", json={"erasure": True})
    assert added.status_code == 201
    assert repeat(api, COUNT, error=0)["rows"][0]["COUNT(*)"]["value"] == 8


def test_without_kept_replies_everything_comes_from_the_ledger(a_place, served_here):
    with served_here(a_place(service="keep_replies = false")) as live:
        api = live.api("ana")
        assert [repeat(api)["bits"] for _ in range(4)] == [2, 0, 0, 0]
        assert 'outcome="kept"' not in live.api().get("/metrics").text
