"""Rate limits: so many a minute for each account, counted over all workers."""

import pytest

from hartley.service.lanes import Rates
from hartley.service.replies import ServiceError


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def refused(rates, account="ana", kind="asks", count=1):
    try:
        rates.take(account, kind, 6, count)
    except ServiceError as error:
        return error.retry_after
    return None


def test_a_minute_has_so_many_and_they_come_back_evenly():
    clock = Clock()
    rates = Rates(clock=clock)
    assert [refused(rates) for _ in range(7)] == [None] * 6 + [10]
    assert refused(rates, "ben") is None
    assert refused(rates, kind="prices") is None
    clock.now += 10
    assert [refused(rates), refused(rates)] == [None, 10]
    clock.now += 1000
    assert [refused(rates) for _ in range(7)] == [None] * 6 + [10]


def test_a_batch_counts_its_questions():
    rates = Rates(clock=Clock())
    assert refused(rates, count=5) is None
    assert refused(rates, count=2) == 10
    assert refused(rates) is None


def test_a_batch_of_more_than_a_minute_has_is_taken_when_nothing_was_asked():
    clock = Clock()
    rates = Rates(clock=clock)
    assert refused(rates, count=9) is None
    assert refused(rates, count=9) == 60
    clock.now += 60
    assert refused(rates, count=9) is None


def test_workers_count_together(tmp_path):
    clock = Clock()
    first, second = Rates(tmp_path, clock=clock), Rates(tmp_path, clock=clock)
    assert [refused(first) for _ in range(3)] == [None] * 3
    assert [refused(second) for _ in range(4)] == [None] * 3 + [10]
    first.close()
    second.close()


def test_many_accounts_do_not_disturb_each_other_much():
    clock = Clock()
    rates = Rates(clock=clock)
    for number in range(2000):
        clock.now += 0.001
        assert refused(rates, f"account{number}") is None
    assert [refused(rates, "account1999") for _ in range(6)][-1] is not None


def test_time_that_goes_backwards_gives_nothing():
    clock = Clock()
    rates = Rates(clock=clock)
    for _ in range(6):
        assert refused(rates) is None
    clock.now -= 500
    assert refused(rates) is not None
    with pytest.raises(ServiceError) as refusal:
        rates.take("ana", "asks", 6)
    assert (refusal.value.status, refusal.value.code) == (429, "rate")
