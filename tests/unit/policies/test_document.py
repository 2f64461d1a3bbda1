"""Policy files: what they say, written and read back, bound by fingerprints."""

import dataclasses
import hashlib
import tomllib
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hartley.engines.cells import CutCells, UniformCells
from hartley.errors import InputError
from hartley.files import file_digest
from hartley.policies import CutColumn, KeptColumn, MergedColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import UniformQuantizer
from hartley.tables.release_rules import Keep, Lookup

# --- what is said --------------------------------------------------------------------------------


def test_a_file_says_what_every_column_becomes(example):
    policy = PolicyDocument.from_toml(example)
    height, income, job, weight, sex = policy.to_map()
    assert height == UniformCells("height", Fraction(100), Fraction(250), 150)
    edges = (Fraction(0), Fraction(1000), Fraction(10000, 3), Fraction(100000))
    assert income == CutCells("income", edges, (500.0, 2000.5, 50000.0))
    pairs = (("nurse", "health"), ("doctor", "health"), ("teacher", "school"))
    assert job == Lookup("job", pairs, "rest")
    assert (weight.column, weight.low, weight.high) == ("weight", 30, 200)
    assert sex == Keep("sex")
    assert policy.title == "Health survey"
    assert policy.design == {"objective": "bits", "bits": 12, "weights": ["1", "2.5"]}


def test_the_format_of_the_specification_is_read():
    text = 'format = 1\n[[columns]]\nname = "height"\nkind = "quantizer"\nlow = "100"\n'
    policy = PolicyDocument.from_toml(text + 'high = "250"\nlevels = 150\n')
    assert policy.columns == (QuantizedColumn("height", UniformQuantizer(100, 250, 150)),)


def test_the_largest_error_is_known_of_every_column(example):
    errors = [column.error for column in PolicyDocument.from_toml(example).columns]
    assert errors == [Fraction(1, 2), Fraction(50000), None, Fraction(5), Fraction(0)]


# --- round trips ---------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = texts.filter(bool)
numbers = st.fractions(max_denominator=10**6).filter(lambda number: abs(number) < 2**48)
categories = st.one_of(
    st.lists(texts, min_size=1, max_size=9, unique=True),
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=9, unique=True),
)


@st.composite
def columns(draw, name):
    kind = draw(st.sampled_from(["quantizer", "cuts", "merging", "keep", "clamp"]))
    low, high = sorted(draw(st.lists(numbers, min_size=2, max_size=2)))
    if kind == "quantizer":
        levels, rule = draw(st.integers(1, 10**4)), draw(st.sampled_from(["corrected", "printed"]))
        return QuantizedColumn(name, UniformQuantizer(low, high, levels, rule))
    if kind == "cuts":
        edges = sorted(draw(st.lists(numbers, min_size=2, max_size=9, unique=True)))
        return CutColumn(name, tuple(edges), tuple(draw(numbers) for _ in edges[1:]))
    if kind == "merging":
        values = draw(categories)
        cut = draw(st.integers(1, len(values)))
        groups = tuple(tuple(group) for group in (values[:cut], values[cut:]) if group)
        labels = draw(st.lists(texts, min_size=len(groups), max_size=len(groups)))
        return MergedColumn(name, groups, tuple(labels), draw(st.none() | texts))
    return KeptColumn(name) if kind == "keep" else KeptColumn(name, low, high)


@st.composite
def documents(draw):
    called = draw(st.lists(names, min_size=1, max_size=5, unique_by=str.lower))
    plain = st.one_of(texts, st.integers(-(2**63), 2**63 - 1), st.booleans())
    design = st.dictionaries(names, plain | st.lists(plain, max_size=30), max_size=4)
    kept = tuple(draw(columns(name)) for name in called)
    return PolicyDocument(kept, draw(st.none() | texts), draw(design))


@pytest.mark.slow
@settings(max_examples=50)
@given(documents())
def test_a_policy_survives_being_written_and_read_and_any_toml_reader_finds_its_columns(policy):
    text = policy.to_toml()
    found = [(column["name"], column["kind"]) for column in tomllib.loads(text)["columns"]]
    assert found == [(column.name, column.kind) for column in policy.columns]
    again = PolicyDocument.from_toml(text)
    assert again == policy
    assert again.to_toml() == text
    assert again.digest == policy.digest
    assert again.to_map() == policy.to_map()


def test_a_line_survives_as_it_is_written(example, tmp_path):
    policy = PolicyDocument.from_toml(example)
    assert PolicyDocument.load(policy.save(tmp_path / "p.toml")) == policy
    assert 'line = "30 * (height/100)**2"' in (tmp_path / "p.toml").read_text()


def test_saving_leaves_one_file_and_replaces_the_one_before(tmp_path):
    policy = PolicyDocument((KeptColumn("a"),))
    for _ in range(2):
        policy.save(tmp_path / "p.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["p.toml"]


def test_a_long_list_is_wrapped_into_readable_lines():
    edges = tuple(Fraction(k, 7) for k in range(500))
    text = PolicyDocument((CutColumn("x", edges, edges[1:]),)).to_toml()
    assert max(map(len, text.splitlines())) <= 100


def test_a_document_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PolicyDocument((KeptColumn("a"),)).title = "b"


# --- fingerprints --------------------------------------------------------------------------------


def test_the_digest_ignores_layout_and_notation_but_nothing_that_means_something(example):
    policy = PolicyDocument.from_toml(example)
    same = example.replace('low = "100"', 'low    = "200/2"  # cm').replace(
        "levels = 150", "levels = 1_50"
    )
    assert PolicyDocument.from_toml(same).digest == policy.digest
    for old, new in [
        ('low = "100"', 'low = "101"'),
        ("levels = 150", "levels = 151"),
        ("levels = 150", 'levels = 150\nrule = "printed"'),
        ('"nurse", "doctor"', '"doctor", "nurse"'),
        ('reach = "5"', 'reach = "5.0000000001"'),
        ('name = "sex"', 'name = "Sex"'),
        ('"stretch"', '"blur"'),
        ('other = "rest"\n', ""),
        ("Health survey", "Health surveys"),
        ("bits = 12", "bits = 13"),
    ]:
        assert example.count(old) == 1
        assert PolicyDocument.from_toml(example.replace(old, new)).digest != policy.digest


def test_the_digest_is_the_same_on_every_machine_and_in_every_version():
    policy = PolicyDocument(
        (QuantizedColumn("age", UniformQuantizer(0, 100, 10)), KeptColumn("sex"))
    )
    text = (
        '{"columns":[{"high":"100","kind":"quantizer","levels":10,"low":"0","name":"age",'
        '"rule":"corrected"},{"kind":"keep","name":"sex"}],"format":1}'
    )
    assert policy.digest == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.slow
def test_every_changed_byte_of_a_file_shows(example, tmp_path):
    path = PolicyDocument.from_toml(example).save(tmp_path / "policy.toml")
    content, before = path.read_bytes(), file_digest(path)
    assert before == hashlib.sha256(content).hexdigest()
    digest = PolicyDocument.load(path).digest
    harmless = 0
    for at in range(0, len(content), 3):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert file_digest(path) != before
        changed = loaded_or_refused(path)
        if changed is not None and changed.digest == digest:
            harmless += 1
            assert changed == PolicyDocument.from_toml(content.decode())
    assert harmless < 60  # the comment at the top


def loaded_or_refused(path):
    try:
        return PolicyDocument.load(path)
    except InputError:
        return None
