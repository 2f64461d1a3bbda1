"""Several processes use the accounts of one service at once, or are killed while they do."""

import math

import pytest

from hartley import open_ledger
from hartley.exact import floor_power
from hartley.service.accounts import open_accounts

pytestmark = pytest.mark.slow


def test_of_many_starts_at_once_one_gets_the_token_of_the_owner(drive, place):
    address = place.fresh()
    texts = drive("first_owner", address, processes=6)
    (text,) = [text for text in texts if text is not None]
    with open_accounts(address) as accounts:
        assert accounts.authenticate(text).role == "owner"
        assert [account.name for account in accounts.list()] == ["owner"]
        assert len(accounts.audit()) == 1
        assert accounts.first_owner() is None


def test_processes_together_never_exceed_a_daily_cap_and_use_all_of_it(drive, place):
    address = place.fresh()
    spent = drive("spend", address, processes=4, questions=12)
    cells = [cell for each in spent for cell in each]
    most = floor_power("10.5")
    assert math.prod(cells) <= most  # 2^10.5 is 1448.15...: in exact integers
    assert math.prod(cells) * 2 > most  # no question of one bit was left that would fit
    with open_ledger(address) as ledger:
        rows = ledger.history("people")
        assert sorted(row.cells for row in rows) == sorted(cells)
    with open_accounts(address) as accounts:
        assert accounts.spent_today("ana") == pytest.approx(math.log2(math.prod(cells)))


def test_a_kill_leaves_every_act_whole(drive, place):
    address = place.fresh()
    open_accounts(address).close()
    reported = drive("acts", address, seed=3, kills=6)
    with open_accounts(address) as accounts:
        rows = accounts.audit(limit=10_000)
        names = {row.subject for row in rows if row.act == "add account"}
        issued = {row.detail.split()[0] for row in rows if row.act == "issue token"}
        granted = {row.subject for row in rows if row.act == "grant"}
        everyone = accounts.list()
        assert {account.name for account in everyone} == names
        assert {account.name for account in everyone if account.datasets} == granted
        tokens = {token.token_id for name in names for token in accounts.tokens(name)}
        assert tokens == issued
        # What was reported is there, and at most one act a kill was done and not reported.
        assert reported <= len(rows) <= reported + 6
        assert [row.sequence for row in rows] == list(range(1, len(rows) + 1))
