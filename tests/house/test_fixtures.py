"""What earlier versions wrote still opens, holds and answers the same; so do recorded calls.

The files are in ``tests/fixtures``, one folder a version, with the program that made them. Nothing
here writes to them: ledgers and copies are put back into a folder of the test, as an operator does.
"""

import importlib.util
import json
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import hartley

FIXTURES = Path(__file__).parents[1] / "fixtures"
# The calls were recorded under the names of their version, and those must go on working.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

VERSIONS = sorted(path for path in FIXTURES.glob("v*") if path.is_dir())
UNCHARGED = {"figures", "slow figures", "certificates", "designs", "releases"}
"""What charges nobody."""


def program():
    spec = importlib.util.spec_from_file_location("record", FIXTURES / "record.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


record = program()
calls = record.calls


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def files(pattern):
    """Return test cases: one a recorded file that fits a pattern."""
    found = [path for version in VERSIONS for path in sorted(version.glob(pattern))]
    assert found, f"no fixture is like {pattern}"
    return [pytest.param(path, id=str(path.relative_to(FIXTURES))) for path in found]


# --- the ledger and its copies ------------------------------------------------------------------


@pytest.fixture(params=VERSIONS, ids=lambda version: version.name)
def town(request, tmp_path):
    """A recorded ledger with its copies, put back for this test alone."""
    return record.restore(request.param / "ledger", tmp_path / "town")


def shown(ledger):
    return json.loads(record.command(["ledger", "show", str(ledger), "--json"]))


def test_a_recorded_ledger_holds_and_every_price_in_it(town):
    words = ["ledger", "verify", str(town / "ledger.db"), "--head", str(town / "head.json")]
    report = json.loads(record.command([*words, "--json"]))
    assert report["holds"]
    assert report["charges_not_priced_again"] == 0
    charges = [charge for one in read(town / "shown.json")["datasets"] for charge in one["charges"]]
    assert report["charges_priced_again"] >= len(charges) > 10
    assert report["head"]["sequence"] == read(town / "head.json")["sequence"] == report["rows"]


def test_a_recorded_ledger_shows_the_same_balances_and_charges(town):
    assert calls.same(read(town / "shown.json"), shown(town / "ledger.db"))


def test_a_recorded_ledger_exports_the_same_rows(town, tmp_path):
    with hartley.open_ledger(town / "ledger.db", create=False) as ledger:
        ledger.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (town / "ledger.jsonl").read_bytes()


def test_a_recorded_ledger_serves_its_answers_again_for_nothing(town):
    rows = read(town / "head.json")["sequence"]
    for dataset, analyst, questions, wish, answers in read(town / "asked.json"):
        schema = town / f"{dataset}.schema.toml"
        with hartley.Agent(None, schema, ledger=town / "ledger.db") as agent:
            reply = agent.ask(questions, analyst=analyst, **wish)
            assert agent.ledger.head().sequence == rows  # nothing was charged to anybody
        assert reply.bits == 0
        assert record.rows_of(reply) == answers


def test_recorded_copies_answer_new_questions_the_same(town):
    for dataset, questions, wish, bits, answers in read(town / "fresh.json"):
        schema = town / f"{dataset}.schema.toml"
        with hartley.Agent(None, schema, ledger=town / "ledger.db") as agent:
            reply = agent.ask(questions, **wish)
        # Charges fall with what was told before; without any they would be those of before.
        assert 0 < reply.bits <= float.fromhex(bits)
        assert record.rows_of(reply) == answers


def test_a_recorded_table_is_that_of_its_copy(town):
    for dataset in record.SCHEMAS:
        schema, ledger = town / f"{dataset}.schema.toml", town / "ledger.db"
        hartley.Agent(town / f"{dataset}.parquet", schema, ledger=ledger).close()
    people = pq.read_table(town / "people.parquet").slice(1)
    with pytest.raises(hartley.InputError, match="differs from the one"):
        hartley.Agent(people, town / "people.schema.toml", ledger=town / "ledger.db")


@pytest.mark.slow
def test_a_recorded_export_restores_the_ledger(town):
    """An export holds no digest of the copies, so that the tables are passed once."""
    fresh = town / "restored.db"
    done = json.loads(
        record.command(["ledger", "restore", str(town / "ledger.jsonl"), str(fresh), "--json"])
    )
    assert done["forgotten"] == 0
    assert calls.same(read(town / "shown.json"), shown(fresh))
    dataset, questions, wish, bits, answers = read(town / "fresh.json")[0]
    (copy,) = town.glob(f"ledger.db.{dataset}.*.duckdb")
    place = copy.with_name(f"ledger.db.{dataset}.duckdb")
    schema, table = town / f"{dataset}.schema.toml", town / f"{dataset}.parquet"
    with hartley.Agent(table, schema, ledger=fresh, place=place) as agent:
        reply = agent.ask(questions, **wish)
    assert (reply.bits.hex(), record.rows_of(reply)) == (bits, answers)


def test_a_recorded_copy_that_was_changed_is_refused(town):
    (copy,) = town.glob("ledger.db.people.*.duckdb")
    content = bytearray(copy.read_bytes())
    content[-100] ^= 1
    copy.write_bytes(content)
    with pytest.raises(hartley.HartleyError, match="changed"):
        hartley.Agent(None, town / "people.schema.toml", ledger=town / "ledger.db")


# --- policies, certificates, schemas ------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("path", files("policies/*.rows.csv"))
def test_a_recorded_policy_releases_the_same_rows(path, tmp_path):
    source = path.with_name(path.name.replace(".rows.csv", ".toml"))
    policy = hartley.PolicyDocument.load(source)
    table = pq.read_table(path.parents[1] / "table.parquet")
    calls.release(policy, tmp_path / "rows.csv", table)
    assert (tmp_path / "rows.csv").read_bytes() == path.read_bytes()
    again = hartley.PolicyDocument.load(policy.save(tmp_path / "again.toml"))
    assert (again, again.digest) == (policy, policy.digest)


@pytest.mark.slow
@pytest.mark.parametrize("path", files("*/*.certificate.json"))
def test_a_recorded_certificate_holds_for_its_policy(path):
    name = path.name.removesuffix(".certificate.json").removesuffix(".budget")
    ending = "policy.toml" if path.parent.name == "designs" else "toml"
    certificate = hartley.Certificate.load(path)
    certificate.check(path.with_name(f"{name}.{ending}"))
    assert calls.same(read(path), certificate.to_dict())


@pytest.mark.slow
@pytest.mark.parametrize("path", files("designs/*.design.toml"))
def test_a_recorded_specification_designs_the_same_policy(path):
    found = hartley.design(path)
    name = path.name.removesuffix(".design.toml")
    policy = path.with_name(f"{name}.policy.toml")
    assert found.document == hartley.PolicyDocument.load(policy)
    certificate = read(path.with_name(f"{name}.certificate.json"))
    certificate |= changed(path.parents[1]).get("designs", {}).get(name, {})
    assert calls.same(certificate, found.certificate.bind(policy).to_dict())


@pytest.mark.parametrize("path", files("schemas/*.schema.toml"))
def test_a_recorded_schema_is_understood_the_same(path, tmp_path):
    schema = hartley.Schema.read(path)
    name = path.name.removesuffix(".schema.toml")
    assert calls.same(read(path.with_name(f"{name}.json")), record.understood(schema))
    again = tmp_path / "again.toml"
    again.write_text(schema.to_toml(), encoding="utf-8")
    assert hartley.Schema.read(again) == schema


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_a_recorded_policy_of_every_kind_is_there(version):
    texts = [path.read_text(encoding="utf-8") for path in version.glob("policies/*.toml")]
    kinds = {line.split('"')[1] for text in texts for line in text.splitlines() if "kind =" in line}
    assert kinds >= {"quantizer", "cuts", "merging", "stretch", "blur", "keep", "pram"}


# --- commands and calls -------------------------------------------------------------------------


@pytest.mark.parametrize("path", files("commands/*.json"))
def test_a_command_prints_the_same_json(path, monkeypatch):
    monkeypatch.chdir(path.parents[1])
    printed = json.loads(record.command([*calls.words(record.COMMANDS[path.stem]), "--json"]))
    rough = path.stem in record.ROUGH_COMMANDS
    recorded, found = (
        calls.plain(calls.Rough(content) if rough else content) for content in (read(path), printed)
    )
    assert differences(recorded, found, tolerance(path.parents[1])) == []


def tolerance(version):
    probe = read(version / "results.json")["probe"]
    return calls.SAME_MACHINE if probe == calls.probe() else calls.OTHER_MACHINE


def differences(recorded, found, within):
    """Return the labels of results that are missing or not as they were."""
    return [
        label
        for label, value in recorded.items()
        if label not in found or not calls.same(value, found[label], within)
    ]


@pytest.fixture(scope="module")
def results():
    """What calls return today, a group at a time, for all versions."""
    known = {}

    def of(group):
        if group not in known:
            known[group] = calls.results(group)
        return known[group]

    return of


@pytest.mark.slow
@pytest.mark.parametrize(
    "group",
    [
        pytest.param(group, marks=pytest.mark.long) if group in calls.LONG else group
        for group in calls.GROUPS
    ],
)
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_calls_return_what_was_recorded(version, group, results):
    recorded = read(version / "results.json")["results"].get(group, {})
    expected = recorded | changed(version).get(group, {})
    assert differences(expected, results(group), tolerance(version)) == []


def changed(version):
    """Return the results that a later version changed on purpose; the file says why."""
    path = version / "changed.json"
    return read(path)["results"] if path.exists() else {}


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_what_changed_since_is_charged_less_and_nothing_else(version):
    recorded = read(version / "results.json")["results"]
    for group, values in changed(version).items():
        for label, now in () if group in UNCHARGED else values.items():
            before = recorded[group][label]
            if any(map(any, before.get("vacuous", ()) if isinstance(before, dict) else ())):
                # The quote was for an answer that says nothing, which nobody was charged for.
                assert (charge_of(before), charge_of(now)) == (0, 1)
                assert not any(map(any, now["vacuous"]))
                continue
            if label == "deviation":  # costs the same; less error is promised for it
                assert charge_of(now) == charge_of(before)
                assert worst_of(now) < worst_of(before)
                assert now | {"errors": before["errors"]} == before
                continue
            assert charge_of(now) < charge_of(before)
            if label != "sum error":  # which is answered in finer cells, known by then
                assert beside_the_charge(now) == beside_the_charge(before)


def charge_of(result):
    """Return the bits or cells that a recorded result names."""
    if isinstance(result, str):
        return float.fromhex(result)
    if isinstance(result, list):
        return sum(map(charge_of, result))
    if "bits" in result:
        return float.fromhex(result["bits"])
    return float(result.get("charged") or result["charged_cells"])


def worst_of(result):
    """Return the promised error of a recorded price for one number."""
    (((_, error),),) = result["errors"]
    return Fraction(error)


def beside_the_charge(result):
    """Return everything of a recorded result but what was charged."""
    if isinstance(result, list):
        return [beside_the_charge(each) for each in result]
    charges = {"bits", "charged", "charged_cells", "charged_bits"}
    fields = {} if isinstance(result, str) else result
    return {name: value for name, value in fields.items() if name not in charges}


def test_the_first_version_recorded_hundreds_of_results():
    recorded = read(FIXTURES / "v0_1_0" / "results.json")["results"]
    assert sum(map(len, recorded.values())) >= 500
    assert set(recorded) == set(calls.GROUPS)


def test_a_comparison_notices_the_last_bit():
    assert not calls.same((0.1).hex(), (0.1 + 2**-56).hex())
    assert not calls.same({"a": ["1/3"]}, {"a": ["1/4"]})
    assert not calls.same({"a": 1}, {"b": 1})
    assert not calls.same([1], [1, 2])
    assert not calls.same(True, 1)  # noqa: FBT003 - the values are what is compared
    assert not calls.same("~0.123456789", "~0.123456790")
    assert calls.same({"a": "…"}, {"a": "Any other sentence will do.", "b": 2})
    assert calls.same(["…", "…"], ["…"])
    assert not calls.same(["…", 1], ["…"])
    assert calls.same("~0.123456789012", "~0.123456789013", 1e-8)
