"""A question that takes longer than its time limit: charged once, pending, and then finished."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from small_service import COUNT, TRUTH, above, ask_and_die, ask_until, live_in_thread, value

pytestmark = pytest.mark.slow
SETTINGS = "question_seconds = 2\npending_seconds = 900\nengine_lanes = 1\nqueue = 4"


def check_finished(place, api, finished):
    """The answer is right, free by now, and was charged once."""
    assert (finished["bits"], finished["spent_bits"], value(finished)) == (0, 1, TRUTH)
    (row,) = api.history()
    assert (row["bits"], row["answered"]) == (1, True)
    assert not place.verify()


def test_a_question_over_the_limit_is_charged_once_and_finished(a_place, endless):
    place = a_place(service=SETTINGS)
    with live_in_thread(place) as live:
        ana, ben, lanes = live.api("ana"), live.api("ben"), live.service.lanes
        endless.on.set()
        ask_until(ana, "pending")
        assert lanes._finishing is not None
        computed = endless.count
        ask_until(ana, "pending")  # it is waited for, and not computed twice
        assert endless.count == computed
        assert ana.spent == 1
        endless.on.clear()
        # The only lane is free, for the same account and for others.
        assert ask_until(ben, "answered", above(50))["bits"] == 1
        assert lanes._finishing is not None
        with ThreadPoolExecutor(1) as pool:
            finished = pool.submit(ask_until, ana, "answered")  # shown as soon as it is finished
            endless.release()
            finished = finished.result(100)
        assert lanes._finishing is None
        assert endless.count == computed  # its answer was recorded, and is a repeat now
        check_finished(place, ana, finished)


def test_a_service_that_ends_does_not_wait_for_what_is_being_finished(a_place, endless):
    place = a_place(service=SETTINGS)
    with live_in_thread(place) as live:
        endless.on.set()
        ask_until(live.api("ana"), "pending")
        assert live.service.lanes._finishing is not None
    endless.on.clear()
    assert len(place.verify()) == 1
    with live_in_thread(place) as live:
        check_finished(place, live.api("ana"), ask_until(live.api("ana"), "answered"))


def test_a_worker_that_is_killed_while_it_finishes_loses_nothing(a_place, endless):
    place = a_place(service=SETTINGS)
    ask_and_die(place, COUNT)
    with live_in_thread(place) as live:
        ana = live.api("ana")
        assert ana.spent == 1
        endless.on.set()
        ask_until(ana, "pending")  # paid for by the worker that was killed, and late again
        assert live.service.lanes._finishing is not None
        endless.release()
        check_finished(place, ana, ask_until(ana, "answered"))
