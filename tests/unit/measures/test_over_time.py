"""Leakage over time against every run of tiny systems, listed one by one."""

from itertools import pairwise, product

import networkx as nx
import pytest
from hypothesis import given, strategies as st

from hartley.errors import OptionError
from hartley.measures import leakage_over_time, trajectory_information
from hartley.ranges import FiniteSystem

STEPS = 3


@st.composite
def tables(draw):
    """Draw f and g as tables: where each disturbance leads, what each noise shows."""
    states = draw(st.integers(1, 4))
    pushes, blurs = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    move = st.tuples(*[st.integers(0, states - 1)] * pushes)
    show = st.tuples(*[st.integers(0, 2)] * blurs)
    moves = draw(st.tuples(*[move] * states))
    shows = draw(st.tuples(*[show] * states))
    initial = draw(st.sets(st.integers(0, states - 1), min_size=1))
    return moves, shows, tuple(sorted(initial))


def runs(moves, shows, initial, steps):
    """List every run: the states it passes and the outputs it shows."""
    pushes, blurs = range(len(moves[0])), range(len(shows[0]))
    for start in initial:
        for pushed in product(pushes, repeat=steps):
            states = [start]
            for push in pushed:
                states.append(moves[states[-1]][push])
            for blurred in product(blurs, repeat=steps + 1):
                yield (
                    tuple(states),
                    tuple(shows[x][v] for x, v in zip(states, blurred, strict=True)),
                )


def listed(pairs):
    """Return how many secrets there are, how few an output leaves, and how many classes."""
    left = {}
    for secret, output in pairs:
        left.setdefault(output, set()).add(secret)
    graph = nx.Graph()
    for some in left.values():
        nx.add_path(graph, some) if len(some) > 1 else graph.add_node(*some)
    return (
        len(set().union(*left.values())),
        min(map(len, left.values())),
        nx.number_connected_components(graph),
    )


SECRETS = {
    "current": lambda states: states[-1],
    "initial": lambda states: states[0],
    "trajectory": lambda states: states,
}


@pytest.mark.slow
@given(tables())
def test_every_count_is_that_of_all_runs(tables):
    moves, shows, initial = tables
    system = FiniteSystem.of(
        range(len(moves)),
        lambda x, w: moves[x][w],
        lambda x, v: shows[x][v],
        disturbances=range(len(moves[0])),
        noises=range(len(shows[0])),
        initial=initial,
    )
    for about, pick in SECRETS.items():
        found = leakage_over_time(system, STEPS, secret=about)
        for at in found:
            pairs = [(pick(x), y) for x, y in runs(moves, shows, initial, at.time)]
            values, fewest, classes = listed(pairs)
            assert (at.values, at.fewest) == (values, fewest)
            assert at.classes == (None if about == "trajectory" else classes)
        if about == "initial":
            assert all(a.leakage <= b.leakage for a, b in pairwise(found))


def test_a_long_watch_of_a_large_system_is_exact_and_quick():
    walk = FiniteSystem.of(
        range(30),
        lambda x, w: min(max(x + w, 0), 29),
        lambda x, v: (x + v) // 5,
        disturbances=(-1, 0, 1),
        noises=(0, 1),
    )
    last = leakage_over_time(walk, 40)[-1]
    assert last.values > 30 * 2**40  # a trajectory has at least two ways to go on
    assert 1 <= last.fewest < last.values
    first = leakage_over_time(walk, 40, secret="current")[-1]
    assert first.values == 30


def test_outputs_that_do_not_depend_on_the_state_tell_nothing():
    deaf = FiniteSystem.of(
        range(5), lambda x, w: (x + w) % 5, lambda _, v: v, disturbances=(1, 2), noises=(0, 1)
    )
    for secret in SECRETS:
        for at in leakage_over_time(deaf, 6, secret=secret):
            assert at.leakage == at.guessing == 0
            assert at.information in (0, None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"states": ()}, "cannot run"),
        ({"initial": ()}, "cannot run"),
        ({"noises": ()}, "cannot run"),
        ({"initial": (9,)}, "first state, 9, is not a state"),
        ({"step": lambda x, _: x + 1}, "state after 2, 3, is not a state"),
    ],
)
def test_a_system_that_cannot_run_is_refused(change, said):
    parts = {"states": range(3), "step": lambda x, _: x, "output": lambda x, _: x} | change
    with pytest.raises(OptionError, match=said):
        FiniteSystem.of(**parts)


def test_steps_and_secrets_that_make_no_sense_are_refused():
    still = FiniteSystem.of((0,), lambda x, _: x, lambda x, _: x)
    with pytest.raises(OptionError, match="number of steps"):
        leakage_over_time(still, -1)
    with pytest.raises(OptionError, match="'all' is unknown"):
        leakage_over_time(still, 1, secret="all")


def test_a_system_that_grows_beyond_bounds_is_refused_with_a_hint(monkeypatch):
    monkeypatch.setattr("hartley.ranges.dynamics.MOST_SETS", 3)
    watched = FiniteSystem.of(
        range(8), lambda x, w: (2 * x + w) % 8, lambda x, _: x % 2, disturbances=(0, 1)
    )
    with pytest.raises(OptionError, match="more than 3 different states"):
        leakage_over_time(watched, 5)


# --- maximin information of trajectories ---------------------------------------------------------


def system_of(moves, shows, initial):
    return FiniteSystem.of(
        range(len(moves)),
        lambda x, w: moves[x][w],
        lambda x, v: shows[x][v],
        disturbances=range(len(moves[0])),
        noises=range(len(shows[0])),
        initial=initial,
    )


@st.composite
def wider_tables(draw):
    """Draw systems of five states and three outputs, most of which confuse some of them."""
    moves = draw(st.tuples(*[st.tuples(*[st.integers(0, 4)] * 2)] * 5))
    shows = draw(st.tuples(*[st.tuples(*[st.integers(0, 3)] * 2)] * 5))
    return moves, shows, tuple(sorted(draw(st.sets(st.integers(0, 4), min_size=2))))


@given(st.one_of(tables(), wider_tables()))
def test_classes_of_trajectories_are_those_of_all_runs(drawn):
    found = trajectory_information(system_of(*drawn), STEPS)
    for at in found:
        trajectories, fewest, classes = listed(runs(*drawn, at.time))
        assert (at.trajectories, at.classes) == (trajectories, classes)
        assert 2**at.information * fewest <= trajectories * (1 + 1e-12)
    assert all(a.classes <= b.classes for a, b in pairwise(found))


def test_nodes_of_equal_states_may_part_again():
    """Two trajectories into one state are joined only through a third one, which leaves."""
    # 0 and 2 both move to 3; 1, which is confused with either of them, moves to 4 alone.
    moves = ((3, 3), (4, 4), (3, 3), (5, 5), (6, 6), (5, 5), (6, 6))
    shows = ((0, 0), (0, 1), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5))
    system = system_of(moves, shows, (0, 1, 2))
    # At first one class; then the outputs tell 3 from 4, and 0 -> 3 from 2 -> 3 by what was before.
    assert [at.classes for at in trajectory_information(system, 2)] == [1, 3, 3]
    assert listed(runs(moves, shows, (0, 1, 2), 2))[2] == 3


def test_a_long_watch_counts_far_more_classes_than_could_be_listed():
    clear = FiniteSystem.of(range(9), lambda x, w: (x + w) % 9, lambda x, _: x, disturbances=(0, 1))
    last = trajectory_information(clear, 100)[-1]
    assert last.classes == last.trajectories == 9 * 2**100
    assert last.information == pytest.approx(100 + 3.169925001442312)
    deaf = FiniteSystem.of(range(5), lambda x, w: (x + w) % 5, lambda *_: 0, disturbances=(1, 2))
    assert [at.information for at in trajectory_information(deaf, 50)] == [0] * 51
    third = FiniteSystem.of(
        range(9), lambda x, w: (x + w) % 9, lambda x, _: x // 3, disturbances=(0, 1)
    )
    assert trajectory_information(third, 25)[-1].classes == 55680


def test_trajectories_of_too_many_kinds_and_bad_steps_are_refused(monkeypatch):
    watched = FiniteSystem.of(
        range(8), lambda x, w: (2 * x + w) % 8, lambda x, _: x % 2, disturbances=(0, 1)
    )
    for steps in (-1, 1.5):
        with pytest.raises(OptionError, match="number of steps"):
            trajectory_information(watched, steps)
    monkeypatch.setattr("hartley.ranges.dynamics.MOST_NODES", 3)
    with pytest.raises(OptionError, match="More than 3 groups"):
        trajectory_information(watched, 5)


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        (lambda: trajectory_information(None, 2), "not a finite system"),
        (lambda: leakage_over_time([1, 2], 2), "not a finite system"),
        (lambda: trajectory_information(ONE_STATE, "3"), "number of steps"),
        (lambda: trajectory_information(ONE_STATE, steps=True), "number of steps"),
        (lambda: FiniteSystem.of([[1]], lambda x, _: x, lambda *_: 0), "A state of the system"),
        (lambda: FiniteSystem.of([1], lambda x, _: x, lambda *_: [0]), "An output of the system"),
        (lambda: FiniteSystem.of([1], lambda x, _: [x], lambda *_: 0), "The state after 1"),
        (lambda: FiniteSystem.of([1], 5, lambda *_: 0), "The step of the system"),
        (lambda: FiniteSystem.of([1], lambda x, _: x, None), "The output of the system"),
        (
            lambda: FiniteSystem.of(7, lambda x, _: x, lambda x, _: x),
            "states of the system are not",
        ),
    ],
)
def test_what_is_no_system_is_refused(run, problem):
    with pytest.raises(OptionError, match=problem):
        run()


ONE_STATE = FiniteSystem.of([0], lambda x, _: x, lambda x, _: x)
