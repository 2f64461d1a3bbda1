"""The comparison with noise and k-anonymity is fair, and shows what it says."""

import dataclasses
import math

import numpy as np
import pytest

from figures import failed, sources
from hartley import UniformQuantizer, dataset
from hartley.attacks import MembershipGame
from hartley.papers import beyond
from hartley.papers.beyond import (
    GAUSSIAN,
    KNOWING,
    LAPLACE,
    LINKAGE,
    MEMBERSHIP,
    METHODS,
    by_cells,
    by_noise,
    draw_games,
    grouped,
    in_boxes,
    largest_error,
    linked,
    noise_scale,
    play,
)

fig1 = beyond.fig1()


@pytest.fixture(scope="module", **sources())
def numbers(request):
    return fig1.compute(
        request.param, homes=120, budgets=(1, 2, 3, 4), games=6000, trips=3000, sides=(8, 16, 32)
    )


@pytest.fixture(scope="module")
def readings():
    return dataset("solar_homes", homes=60, days=1).readings()[:, 0]


def test_the_findings_hold(numbers):
    assert failed(fig1, numbers) == []


def test_the_picture_names_the_data_that_it_shows(numbers):
    chart = fig1.plot(numbers)
    assert ("Smart Grid Smart City customer trial" in chart.note) == (not numbers.synthetic)
    assert chart.source == numbers.source
    assert chart.note.endswith(numbers.source)


def test_every_method_faces_every_adversary_and_noise_the_error_of_cells(numbers):
    for attack in (MEMBERSHIP, KNOWING, LINKAGE):
        errors = [[row.error for row in numbers.of(attack, method)] for method in METHODS]
        assert all(errors)
        assert errors[0] == errors[1] == errors[2]
    assert len(fig1.plot(numbers).panels) == 3


@pytest.mark.parametrize("levels", [8, 24])
def test_the_games_are_those_of_the_compiled_adversary(readings, levels):
    """Two programs that play the same game by other code: their intervals meet."""
    random = np.random.default_rng(3)
    drawn = draw_games(len(readings), 4, 6000, random)
    mine = play(readings, by_cells(8.0, levels, 3), drawn, random)
    game = MembershipGame(readings, people=4, policy=UniformQuantizer(0, 8, levels), range=(0, 8))
    for theirs in game.play(6000, seed=5).strategies:
        if theirs.name in mine:
            found = mine[theirs.name]
            assert found.low <= theirs.advantage.high
            assert theirs.advantage.low <= found.high


def test_a_game_has_different_people():
    drawn = draw_games(9, 7, 400, np.random.default_rng(0))
    everyone = np.column_stack((drawn.candidates, drawn.others))
    assert everyone.shape == (400, 8)
    assert all(len(set(row)) == 8 for row in everyone.tolist())
    assert 120 < drawn.second.sum() < 280


def test_noise_keeps_its_error_95_times_in_100():
    zeros = np.zeros(200_000)
    for method in (LAPLACE, GAUSSIAN):
        noise = by_noise(method, 0.5, 1.0).change(zeros, np.random.default_rng(1))
        assert np.mean(np.abs(noise) > 0.5) == pytest.approx(0.05, abs=0.003)


def test_the_promises_of_noise_are_those_of_the_textbook():
    laplace, gaussian = (by_noise(m, 0.6, 0.25) for m in (LAPLACE, GAUSSIAN))
    assert laplace.strength == pytest.approx(0.25 * math.log(20) / 0.6)
    assert gaussian.strength == pytest.approx((0.25 * 1.959964 / 0.6) ** 2 / 2, rel=1e-6)
    assert noise_scale(LAPLACE, 0.6) == pytest.approx(0.6 / math.log(20))


def test_without_noise_or_cells_whoever_knows_all_others_always_wins(readings):
    random = np.random.default_rng(0)
    drawn = draw_games(len(readings), 4, 500, random)
    sure = dataclasses.replace(by_cells(8.0, 2, 1), change=lambda means, _: means)
    assert play(readings, sure, drawn, random)["knows all others"].value == 1.0


def test_one_cell_tells_nobody_anything(readings):
    random = np.random.default_rng(2)
    drawn = draw_games(len(readings), 4, 4000, random)
    for found in play(readings, by_cells(8.0, 1, 0), drawn, random).values():
        assert found.low < 0.03


def test_the_largest_error_of_a_mean_is_that_of_the_worst_group(readings):
    from itertools import combinations

    some = readings[:7, :5]
    off = some - grouped(some, 2)
    groups = [off[list(rows)].mean(axis=0) for rows in combinations(range(7), 3)]
    assert largest_error(off, 3) == pytest.approx(np.abs(groups).max())


def test_a_trip_in_a_box_is_linked_as_often_as_boxes_are_shared():
    points = np.random.default_rng(4).uniform(0, 1, (500, 2))
    boxes = in_boxes(points, np.zeros(2), np.ones(2), 6)
    shared = len(np.unique(boxes, axis=0)) / 500
    assert linked(points, boxes, sure=True).value == pytest.approx(shared)
    assert np.abs(points - boxes).max() <= 1 / 12


def test_the_findings_would_notice_wrong_numbers(numbers):
    turned = dataclasses.replace(
        numbers,
        rows=tuple(
            dataclasses.replace(row, success=dataclasses.replace(row.success, low=0, high=1))
            for row in numbers.rows
        ),
        beyond=0.2,
        epsilon=0.1,
    )
    assert sum(not claim.holds for claim in fig1.findings(turned)) >= 5
