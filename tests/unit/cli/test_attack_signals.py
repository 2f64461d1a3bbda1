import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from hartley.attacks.load_monitoring import LoadMonitoring
from hartley.attacks.membership import MembershipGame
from hartley.attacks.uniqueness import Uniqueness, grid_policy
from hartley.cli.main import app
from hartley.errors import InputError
from hartley.policies import CutColumn, KeptColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import UniformQuantizer


def run(*words):
    return CliRunner().invoke(app, ["attack", *map(str, words)], catch_exceptions=False)


def told(*words):
    found = json.loads(run(*words, "--json").stdout)
    del found["evidence"]
    return found


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(1)
    days = {"home": np.repeat(np.arange(12), 3), "day": np.tile(np.arange(3), 12)}
    days |= {f"h{h}": random.gamma(2, 1, 36).round(2) for h in range(4)}
    on = random.random((2, 400)) < 0.4
    home = {"fridge": on[0] * 100.0, "oven": on[1] * 900.0}
    home["main"] = home["fridge"] + home["oven"] + 40
    trips = {
        "who": random.integers(0, 20, 300),
        "x": random.integers(0, 40, 300),
        "y": random.integers(0, 40, 300),
    }
    for name, content in (("homes", days), ("home", home), ("trips", trips)):
        pa.parquet.write_table(pa.table(content), tmp_path / f"{name}.parquet")
    return tmp_path


# --- membership ---------------------------------------------------------------------------------

HOMES = ("--person", "home", "--order", "day", "--people", "3", "--games", "300", "--seed", "2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "options"),
    [
        ((), {}),
        (("--range", "0:20"), {"range": (0, 20)}),
        # Mean of three over 20: K = 4, so floor(3 * 20 / (20/3)) = 9 cells.
        (("--range", "0:20", "--bits", "2"), {"policy": UniformQuantizer(0, 20, 9)}),
        (("--range", "0:20", "--levels", "5"), {"policy": UniformQuantizer(0, 20, 5)}),
        (
            ("--range", "0:20", "--bits", "2", "--aggregate", "sum"),
            {"policy": UniformQuantizer(0, 60, 9), "aggregate": "sum"},
        ),
    ],
)
def test_membership_prints_what_the_game_finds(folder, words, options):
    table = str(folder / "homes.parquet")
    if "--range" in words:
        options = options | {"range": (0, 20)}
    game = MembershipGame(table, people=3, person="home", order="day", **options)
    assert told("membership", table, *HOMES, *words) == game.play(300, seed=2).to_dict()


@pytest.mark.slow
def test_membership_leaves_out_times_instead_of_people_on_demand(folder):
    path = folder / "gaps.parquet"
    table = pa.parquet.read_table(folder / "homes.parquet").to_pydict()
    table["h1"][4] = None
    pa.parquet.write_table(pa.table(table), path)
    assert told("membership", path, *HOMES)["left_out"] == 1
    found = told("membership", path, *HOMES, "--drop", "times")
    assert (found["left_out"], found["times_left_out"]) == (0, 1)
    assert (found["drawn_from"], found["readings"]) == (12, 11)
    with pytest.raises(InputError, match="'both'"):
        run("membership", path, *HOMES, "--drop", "both")


def test_membership_takes_a_policy_file_of_one_column_or_of_all_readings(folder):
    table, path = folder / "homes.parquet", folder / "policy.toml"
    one = UniformQuantizer(0, 12, 6)
    PolicyDocument((QuantizedColumn("mean", one),)).save(path)
    game = {"people": 3, "person": "home", "order": "day"}
    expected = MembershipGame(str(table), **game, policy=one).play(300, seed=2).to_dict()
    assert told("membership", table, *HOMES, "--policy", path) == expected
    cuts = CutColumn.read("h2", edges=["0", "1", "9"], values=["0.5", "4"])
    PolicyDocument((QuantizedColumn("h1", one), cuts)).save(path)
    several = MembershipGame(str(table), **game, columns=["h1", "h2"], policy=[one, cuts.quantizer])
    words = (*HOMES, "--policy", path)
    assert (
        told("membership", table, *words, "--columns", "h1,h2")
        == several.play(300, seed=2).to_dict()
    )
    with pytest.raises(InputError, match="columns of readings in order"):
        run("membership", table, *words)
    with pytest.raises(InputError, match="--bits"):
        run("membership", table, *words, "--bits", "2")


def test_membership_takes_all_columns_from_one_to_another(folder):
    table = str(folder / "homes.parquet")
    game = MembershipGame(
        table, people=3, person="home", order="day", columns=["h0", "h1", "h2", "h3"]
    )
    expected = game.play(300, seed=2).to_dict()
    assert told("membership", table, *HOMES, "--columns", "h0...h2,h3") == expected
    with pytest.raises(InputError, match=r"h0\.\.\.h9"):
        run("membership", table, *HOMES, "--columns", "h0...h9")


# --- load ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_load_prints_what_load_monitoring_finds(folder):
    table = str(folder / "home.parquet")
    found = told(
        "load", table, "--total", "main", "--train", "100", "--range", "0:1100", "--bits", "3"
    )
    direct = LoadMonitoring(table, total="main", train=100)
    assert found == direct.attack(UniformQuantizer(0, 1100, 8)).to_dict()
    one = told("load", table, "--appliances", "oven", "--total", "main", "--states", "2")
    assert one["appliances"][0]["name"] == "oven"
    assert len(one["appliances"]) == 1


def test_load_takes_a_policy_file_of_one_signal(folder):
    table, path = str(folder / "home.parquet"), folder / "policy.toml"
    PolicyDocument((QuantizedColumn("main", UniformQuantizer(0, 1100, 3)),)).save(path)
    found = told("load", table, "--total", "main", "--policy", path)
    direct = LoadMonitoring(table, total="main").attack(UniformQuantizer(0, 1100, 3))
    assert found == direct.to_dict()
    both = tuple(QuantizedColumn(name, UniformQuantizer(0, 9, 3)) for name in ("a", "b"))
    PolicyDocument(both).save(path)
    with pytest.raises(InputError, match="2 columns"):
        run("load", table, "--total", "main", "--policy", path)
    PolicyDocument((KeptColumn("main"),)).save(path)
    with pytest.raises(InputError, match="by keep"):
        run("load", table, "--total", "main", "--policy", path)


# --- uniqueness ---------------------------------------------------------------------------------

GRID = ("--grid", "x=0:40", "--grid", "y=0:40", "--bits", "6")


@pytest.mark.slow
def test_uniqueness_prints_what_the_attack_finds(folder):
    table = str(folder / "trips.parquet")
    assert (
        told("uniqueness", table, "--columns", "x,y")
        == Uniqueness(table, ["x", "y"]).attack().to_dict()
    )
    policy = grid_policy({"x": (0, 40), "y": (0, 40)}, 6)
    assert told("uniqueness", table, *GRID) == Uniqueness(table, policy=policy).attack().to_dict()
    people = Uniqueness(table, ["x", "y"], policy, "who")
    words = ("--columns", "x", "--columns", "y", *GRID, "--person", "who")
    drawn = told("uniqueness", table, *words, "--known", "2", "--trials", "500", "--seed", "4")
    assert drawn == people.attack(2, trials=500, seed=4).to_dict()
    assert told("uniqueness", table, *words, "--known", "all") == people.attack("all").to_dict()
    path = folder / "policy.toml"
    policy.save(path)
    assert told("uniqueness", table, "--policy", path) == told("uniqueness", table, *GRID)


# --- mistakes -----------------------------------------------------------------------------------
