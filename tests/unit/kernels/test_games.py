"""Games and forests of the kernel against the same ones made slowly."""

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import CutQuantizer, UniformQuantizer
from hartley.attacks import MembershipGame
from hartley.kernels import draws as releasing, games as kernel
from hartley.kernels.games import Rules, drawn_games, mu_approx_groups
from hartley.kernels.neighbours import integer_points, line_clusters, plain_mdav

# --- Games played by the kernel against the same games played slowly, in exact fractions ----------


SEED = 5


def key_of(seed):
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


def outcomes(game, count, **options):
    return np.concatenate(list(game.outcomes(count, seed=SEED, **options)))


# --- the slow games -----------------------------------------------------------------------------


def signed_square(number):
    return number * abs(number)


def correlation(one, seen):
    """Return the sign and the square of the correlation, times the square of a common factor."""
    size = len(seen)
    shared = sum(a * b for a, b in zip(one, seen, strict=True)) * size - sum(one) * sum(seen)
    spread = size * sum(a * a for a in one) - sum(one) ** 2
    return Fraction(signed_square(shared), spread) if spread else Fraction(0)


def squared_error(one, seen):
    return sum((a - b) ** 2 for a, b in zip(one, seen, strict=True))


def peaks(values):
    inner = range(1, len(values) - 1)
    return {t for t in inner if values[t - 1] < values[t] and values[t] >= values[t + 1]}


def release(policies, aggregates):
    """Return the cell of every aggregate and what is released for it."""
    if policies is None:
        return list(aggregates), list(aggregates)
    pairs = list(zip(itertools.cycle(policies), aggregates))
    cells = [policy.cell(value) for policy, value in pairs]
    values = [
        policy.middle(cell) if isinstance(policy, UniformQuantizer) else policy.released[cell]
        for (policy, _), cell in zip(pairs, cells, strict=True)
    ]
    return cells, values


def explained(candidate, policies, cells, *, group, reach, times):  # noqa: PLR0913 - one game
    """Tell whether some whole readings of the others explain every cell, by trying them all."""
    others = {sum(some) for some in itertools.product(reach, repeat=group - 1)}
    for t, cell in enumerate(cells):
        tried = [Fraction(candidate[t] + rest, times) for rest in others]
        found = [release(policies and [policies[t % len(policies)]], [value])[0] for value in tried]
        if [cell] not in found:
            return False
    return True


def slow_game(readings, who, coins, policies, *, group, aggregate, reach):  # noqa: PLR0913 - one game
    """Return what every strategy makes of one game: 2 right, -2 wrong, 1 and -1 by a coin."""
    truth = int(coins) & 1
    members = [who[truth], *who[2:]]
    times = group if aggregate == "mean" else 1
    sums = [sum(int(readings[i][t]) for i in members) for t in range(len(readings[0]))]
    cells, values = release(policies, [Fraction(total, times) for total in sums])
    seen = [value if aggregate == "mean" else value / group for value in values]
    candidates = [[int(x) for x in readings[i]] for i in who[:2]]
    possible = [
        explained(one, policies, cells, group=group, reach=reach, times=times) for one in candidates
    ]
    assert possible[truth]
    scores = [
        [correlation(one, seen) for one in candidates],
        [-squared_error(one, seen) for one in candidates],
        [len(peaks(one) & peaks(seen)) for one in candidates],
        possible,
    ]
    results = []
    for s, (first, second) in enumerate(scores):
        tie = first == second
        named = (int(coins) >> (1 + s)) & 1 if tie else int(second > first)
        results.append((1 if tie else 2) * (1 if named == truth else -1))
    return results


@st.composite
def uniform(draw):
    """Draw equal cells, many with edges that sums of whole readings reach exactly."""
    low, levels = draw(st.integers(-3, 4)), draw(st.integers(1, 7))
    thirds = st.fractions(Fraction(1, 7), 2, max_denominator=7)
    width = draw(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2)]) | thirds)
    return UniformQuantizer(low, low + levels * width, levels)


@st.composite
def cuts(draw):
    number = st.fractions(-2, 8, max_denominator=6)
    edges = sorted(draw(st.sets(number, min_size=2, max_size=6)))
    value = st.integers(-4, 9)  # drawn with repeats: several cells may release one number
    return CutQuantizer(tuple(edges), tuple(draw(value) for _ in edges[1:]))


@st.composite
def played(draw):
    group = draw(st.integers(1, 3))
    people = draw(st.integers(group + 1, 6))
    size = draw(st.integers(1, 6))
    row = st.lists(st.integers(-2, 5), min_size=size, max_size=size)
    readings = draw(st.lists(row, min_size=people, max_size=people))
    policy = draw(st.sampled_from(["none", "one", "one", "several"]))
    if policy == "none":
        policies = None
    elif policy == "one":
        policies = [draw(uniform() | cuts())]
    else:
        policies = [draw(uniform()) for _ in range(size)]
    return readings, group, policies, draw(st.sampled_from(["mean", "sum"]))


def reached(policies):
    """Tell whether every cell releases a number of its own, as the slow adversary takes it."""
    return policies is None or all(
        isinstance(one, UniformQuantizer) or len(set(one.released)) == one.levels
        for one in policies
    )


@pytest.mark.slow
@settings(max_examples=150)
@given(played())
def test_every_strategy_decides_every_game_as_exact_fractions_do(drawn):
    readings, group, policies, aggregate = drawn
    game = MembershipGame(
        readings,
        people=group,
        policy=policies and (policies[0] if len(policies) == 1 else policies),
        aggregate=aggregate,
    )
    found = outcomes(game, 12)
    who, coins = drawn_games(key_of(SEED), 0, 12, len(readings), Rules(group, -1, -1))
    flat = [x for row in readings for x in row]
    expected = [
        slow_game(
            readings, who[i].tolist(), coins[i], policies,
            group=group, aggregate=aggregate, reach=range(min(flat), max(flat) + 1),
        )
        for i in range(12)
    ]  # fmt: skip
    strategies = 4 if reached(policies) else 3
    assert found[:, :strategies].tolist() == [row[:strategies] for row in expected]
    # Where cells share a number, the hull may leave more possible, never less.
    certain, slow = np.abs(found[:, 3]) == 2, np.abs([row[3] for row in expected]) == 2
    assert (found[certain, 3] == 2).all()
    assert not (certain & ~slow).any()


def excluded(profiles, steps, members, row):
    """Ask the kernel whether the release of a group excludes somebody, who may be in it."""
    sums = profiles.codes[members].sum(axis=0, dtype=profiles.codes.dtype)
    padded = np.zeros(sums.size + 2)
    group = len(members)
    return releasing.release(
        sums, profiles.codes, np.uint64(row), padded, steps, steps.runs, steps.equal, group
    )


doubles = st.floats(-1e6, 1e6, allow_subnormal=False) | st.integers(-900, 900).map(
    lambda x: x / 100
)


@pytest.mark.slow
@settings(max_examples=100)
@given(
    st.lists(st.lists(doubles, min_size=4, max_size=4), min_size=4, max_size=6),
    st.none() | uniform() | cuts() | st.lists(uniform() | cuts(), min_size=4, max_size=4),
    st.sampled_from(["mean", "sum"]),
)
def test_who_takes_part_is_never_excluded_whatever_the_doubles(readings, policy, aggregate):
    game = MembershipGame(readings, people=3, policy=policy, aggregate=aggregate)
    profiles, steps = game._profiles, game._steps
    for members in itertools.combinations(range(len(readings)), 3):
        for row in members:
            assert not excluded(profiles, steps, list(members), row)


@pytest.mark.slow
def test_who_takes_no_part_is_excluded_where_the_sum_cannot_be():
    game = MembershipGame([[1.0], [1.0], [1.0], [9.0]], people=3, policy=UniformQuantizer(0, 9, 3))
    profiles, steps = game._profiles, game._steps
    assert excluded(profiles, steps, [0, 1, 2], 3)  # 9 and two of 1 would be 11, a mean over 3
    assert not excluded(profiles, steps, [0, 1, 3], 2)


@pytest.mark.parametrize("levels", [1, 3, 12, 13, 49, 98, 147])
def test_a_sum_on_an_edge_lies_in_the_cell_that_begins_there(levels):
    # 49 (1/49) is less than 1 in doubles, so the quotient alone would miss an edge.
    quantizer = UniformQuantizer(0, 588, levels)
    game = MembershipGame([list(range(-3, 600))] * 2, people=1, policy=quantizer)
    profiles, steps = game._profiles, game._steps
    sums, padded = profiles.codes[0], np.zeros(605)
    releasing.release(sums, profiles.codes, np.uint64(1), padded, steps, steps.runs, steps.equal, 1)
    expected = [float(quantizer.middle(quantizer.cell(value))) for value in range(-3, 600)]
    assert padded[1:-1] == pytest.approx(expected)


def test_a_function_is_played_like_the_quantizer_that_it_computes():
    readings = np.random.default_rng(1).integers(0, 50, (9, 30)) / 10
    quantizer = UniformQuantizer(0, 5, 7)

    def same(values):
        # One reading has few decimals, so a hair does not move a mean over an edge.
        cells = np.clip(np.floor((values + 1e-9) * 7 / 5), 0, 6)
        return (2 * cells + 1) * 5 / 14

    one, other = (
        outcomes(MembershipGame(readings, people=4, policy=policy), 500)
        for policy in (quantizer, same)
    )
    assert (one == other).all()
    assert len({tuple(row) for row in one.tolist()}) > 4


# --- draws --------------------------------------------------------------------------------------


def test_the_number_of_threads_and_of_games_changes_no_game(monkeypatch):
    readings = np.random.default_rng(2).gamma(2, 1, (12, 40)).round(2)
    game = MembershipGame(readings, people=4, policy=UniformQuantizer(0, 8, 9))
    alone = outcomes(game, 3000, threads=1)
    monkeypatch.setattr(kernel, "READINGS_A_TASK", 10_000)
    assert (outcomes(game, 3000, threads=1) == alone).all()
    assert (outcomes(game, 3000, threads=2) == alone).all()
    assert (outcomes(game, 700, threads=3) == alone[:700]).all()


@pytest.mark.slow
def test_everybody_is_drawn_as_often_as_a_fair_draw_has_it():
    people, group, count = 7, 3, 70_000
    who, coins = drawn_games(key_of(1), 0, count, people, Rules(group, -1, -1))
    assert all(len(set(row)) == group + 1 for row in who[:2000].tolist())
    # Six standard deviations: a false alarm once in 10^8.
    share = 1 / people
    limit = 6 * (count * share * (1 - share)) ** 0.5
    for place in range(group + 1):
        assert (abs(np.bincount(who[:, place], minlength=people) - count * share) < limit).all()
    for bit in range(5):
        ones = ((coins >> np.uint64(bit)) & np.uint64(1)).sum()
        assert abs(int(ones) - count / 2) < 6 * (count / 4) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("pair", [(0, 1), (1, 0), (4, 2), (1, 4)])
def test_candidates_that_are_named_play_every_game(pair):
    who, _ = drawn_games(key_of(1), 0, 200, 5, Rules(2, *pair))
    assert {tuple(row) for row in who[:, :2].tolist()} == {pair}
    assert set(who[:, 2].tolist()) == set(range(5)) - set(pair)


# --- clusters -----------------------------------------------------------------------------------


def run_error(values, weights):
    mean = Fraction(sum(v * w for v, w in zip(values, weights, strict=True)), sum(weights))
    return sum(w * (v - mean) ** 2 for v, w in zip(values, weights, strict=True))


@given(
    st.dictionaries(st.integers(-20, 20), st.integers(1, 4), min_size=1, max_size=8),
    st.integers(1, 4),
)
def test_clusters_on_a_line_have_the_least_error_of_all_runs(counted, most):
    values = sorted(counted)
    weights = [counted[value] for value in values]
    centres = line_clusters(np.array(values, float), np.array(weights, float), most)
    number = min(most, len(values))
    best = min(
        sum(
            run_error(values[a:b], weights[a:b])
            for a, b in itertools.pairwise([0, *cut, len(values)])
        )
        for cut in itertools.combinations(range(1, len(values)), number - 1)
    )
    reached = sum(
        w * min((v - c) ** 2 for c in centres) for v, w in zip(values, weights, strict=True)
    )
    assert len(centres) == number
    assert reached == pytest.approx(float(best), abs=1e-9)


# --- forest ---------------------------------------------------------------------------------------


def key(points, one, other):
    return float(((points[one] - points[other]) ** 2).sum()), min(one, other), max(one, other)


def grown(points, k):
    """Grow the forest by trying every pair of rows in every round."""
    forest = nx.empty_graph(len(points))
    while small := [part for part in nx.connected_components(forest) if len(part) < k]:
        edges = [
            min(key(points, one, other) for one in part for other in forest if other not in part)
            for part in small
        ]
        forest.add_edges_from(
            (one, other, {"length": (length, one, other)}) for length, one, other in edges
        )
    assert nx.is_forest(forest)
    return forest


def cut(tree, k):
    """Cut the longest edge that may be cut, again and again."""
    if len(tree) <= max(2 * k - 1, 3 * k - 5):
        return [set(tree)]
    for one, other in sorted(tree.edges, key=lambda edge: tree.edges[edge]["length"], reverse=True):
        rest = tree.copy()
        rest.remove_edge(one, other)
        parts = [rest.subgraph(part) for part in nx.connected_components(rest)]
        if min(map(len, parts)) >= k:
            return [piece for part in parts for piece in cut(part, k)]
    return [set(tree)]


def reference(points, k):
    found = []
    forest = grown(points, k)
    for part in nx.connected_components(forest):
        for piece in cut(forest.subgraph(part), k):
            rows = np.array(sorted(piece))
            labels = plain_mdav(points[rows], k) if len(piece) >= 2 * k else np.zeros(len(rows))
            found += [set(rows[labels == label].tolist()) for label in np.unique(labels)]
    return sorted(found, key=min)


@st.composite
def tables(draw):
    k, columns = draw(st.integers(2, 6)), draw(st.integers(1, 2))
    largest = draw(st.sampled_from([2, 6, 10**6]))
    row = st.tuples(*[st.integers(-largest, largest)] * columns)
    return np.array(draw(st.lists(row, min_size=2 * k, max_size=50)), float), k


def groups(points, k):
    labels = mu_approx_groups(points, k)
    found = [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]
    return sorted(found, key=min)


@pytest.mark.slow
@given(tables())
def test_the_groups_are_those_of_the_method_carried_out_pair_by_pair(drawn):
    assert groups(*drawn) == reference(*drawn)


@pytest.mark.slow
@pytest.mark.parametrize("values", [2, 3, 1000])
@pytest.mark.parametrize("k", [5, 40])
def test_so_they_are_where_components_outgrow_the_neighbours_that_are_kept(values, k):
    points = np.random.default_rng(4).integers(0, values, (150, 2)).astype(float)
    assert groups(points, k) == reference(points, k)


@pytest.mark.parametrize("points", [np.sqrt(np.arange(40_000)), np.zeros(40_000)])
def test_groups_of_half_the_records_need_no_look_at_all_pairs(points):
    points[-1] = 300.0
    sizes = np.bincount(mu_approx_groups(integer_points(points[:, None]), 19_999))
    assert sizes.tolist() == [19_999, 20_001]


@pytest.mark.parametrize("k", [2, 3, 7, 30])
@pytest.mark.parametrize("law", ["normal", "tied", "growing"])
def test_every_group_has_k_to_twice_k_less_one_records(k, law):
    random = np.random.default_rng(5)
    points = {
        "normal": random.standard_normal((3000, 3)),
        "tied": random.integers(0, 5, (3000, 2)).astype(float),
        "growing": 1.01 ** np.arange(2000.0)[:, None],  # one long chain
    }[law]
    sizes = np.bincount(mu_approx_groups(integer_points(points), k))
    assert k <= sizes.min() <= sizes.max() < 2 * k


def test_fewer_than_twice_k_records_are_one_group():
    assert mu_approx_groups(np.arange(5.0)[:, None], 3).tolist() == [0] * 5
