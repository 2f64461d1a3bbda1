"""Policies saved as files."""

import dataclasses
import hashlib
import string
import tomllib
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hartley import InputError, PolicyDocument, UniformQuantizer
from hartley.engines.cells import CutCells, UniformCells
from hartley.files import file_digest
from hartley.policies import CutColumn, KeptColumn, MergedColumn, QuantizedColumn
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


# --- policy files that make no sense are refused with their name and the place --------------------


HEIGHT = 'name = "height"\nkind = "quantizer"\nlow = "100"\nhigh = "250"\nlevels = 150\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not name a format"),
        ("format = 2", "has format 2"),
        ("format = true\n[[columns]]\n" + HEIGHT, "has format True"),
        ('format = "1"\n[[columns]]\n' + HEIGHT, "has format 1"),
        ('format = "' + "x" * 200 + '"', "has format " + "x" * 79 + "…;"),
        ("format = 1", "has no columns"),
        ("format = 1\ncolumns = 3", "has no columns"),
        ("format = 1\ncolumns = []", "releases no column"),
        ("format = 1\ncolumns = [1]", "has no columns"),
        ("format = 1\ncolour = 3\n[[columns]]\n" + HEIGHT, "unknown field 'colour'"),
        ("format = 1\ntitle = 3\n[[columns]]\n" + HEIGHT, "title or a design of the wrong form"),
        ("format = 1\ndesign = 3\n[[columns]]\n" + HEIGHT, "title or a design of the wrong form"),
        (
            "format = 1\n[design]\na = {b = 1979-05-27}\n[[columns]]\n" + HEIGHT,
            "date cannot be written",
        ),
        ("format = \n", "is not TOML: .*line 1"),
        ('format = 1\n[[columns]]\nkind = "keep"', "column 1 has no name"),
        ("format = 1\n[[columns]]\nname = 3", "column 1 has no name"),
        ('format = 1\n[[columns]]\nname = "a"', r"column 1 \('a'\) has no kind"),
        ('format = 1\n[[columns]]\nname = "a"\nkind = "noise"', "unknown kind 'noise'"),
        ('format = 1\n[[columns]]\nname = "a"\nkind = []', "unknown kind"),
        ('format = 1\n[[columns]]\nname = "a"\nkind = "keep"\nlow = "1"', "only one end"),
        (
            'format = 1\n[[columns]]\nname = "a"\nkind = "keep"\nlevels = 1',
            "unknown field 'levels'",
        ),
        ("format = 1\n" + 2 * ("[[columns]]\n" + HEIGHT), "names column 'height' twice"),
        (
            "format = 1\n[[columns]]\n" + HEIGHT + "[[columns]]\n" + HEIGHT.replace("h", "H", 1),
            "twice, ignoring case",
        ),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_its_name_and_the_place(tmp_path, text, words):
    path = tmp_path / "my.policy.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words) as refused:
        PolicyDocument.load(path)
    assert str(path) in str(refused.value)
    assert "; hint: " in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("levels = 150\n", "", "has no 'levels'"),
        ("levels", "level", "has no 'levels'"),
        ("levels = 150", "levels = 150\nlevel = 3", "unknown field 'level'"),
        ("levels = 150", "levels = 0", "cannot have 0 levels"),
        ("levels = 150", "levels = true", "'levels' is not a whole number"),
        ("levels = 150", "levels = 1.5", "'levels' is not a whole number"),
        ("levels = 150", 'levels = 150\nrule = "best"', "rule 'best' is unknown"),
        ('"250"', '"50"', "is empty"),
        ('"250"', '"tall"', "'high' is not a .*number"),
        ('"250"', "nan", "'high' is not a .*number"),
        ('"250"', "true", "'high' is not a .*number"),
        ('"250"', '["250"]', "'high' is not a .*number"),
        ('"100"', '"1/0"', "'low' is not a .*number"),
        ("levels = 150", "levels = 10000000000000000", "too fine"),
    ],
)
def test_a_column_that_makes_no_sense_is_refused_with_its_place(old, new, words):
    text = "format = 1\n[[columns]]\n" + HEIGHT.replace(old, new)
    with pytest.raises(InputError, match=words) as refused:
        PolicyDocument.from_toml(text, name="the policy file p.toml")
    assert str(refused.value).startswith("The policy file p.toml is refused: column 1 ('height') ")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ('kind = "cuts"\nedges = ["0"]\nvalues = []', "1 edges and 0 values"),
        ('kind = "cuts"\nedges = ["0", "2", "1"]\nvalues = ["1", "1"]', "do not increase"),
        ('kind = "cuts"\nedges = "0"\nvalues = ["1"]', "'edges' is not a list"),
        ('kind = "cuts"\nedges = [0, 1]\nvalues = [[]]', "'values' is not a .*number"),
        ('kind = "cuts"\nedges = [0, 1]\nvalues = ["1e400"]', "too large"),
        ('kind = "merging"\ngroups = [["a"]]\nlabels = []', "1 groups but 0 labels"),
        ('kind = "merging"\ngroups = ["a"]\nlabels = ["A"]', "'groups' is not a list"),
        ('kind = "merging"\ngroups = [["a"], ["a"]]\nlabels = ["A", "B"]', "in two groups"),
        ('kind = "merging"\ngroups = [["a", 1]]\nlabels = ["A"]', "not all text"),
        ('kind = "merging"\ngroups = [[0.5]]\nlabels = ["A"]', "not all text"),
        ('kind = "merging"\ngroups = [["a"]]\nlabels = ["A"]\nother = 3', "not all text"),
        ('kind = "merging"\ngroups = []\nlabels = []', "not all text"),
        (
            'kind = "blur"\nline = "y"\nreach = "1"\nlow = "0"\nhigh = "9"',
            "depends on 'y', which has no",
        ),
    ],
)
def test_other_kinds_are_refused_with_their_place_too(fields, words):
    with pytest.raises(InputError, match=words) as refused:
        PolicyDocument.from_toml('format = 1\n[[columns]]\nname = "x"\n' + fields)
    assert str(refused.value).startswith("The policy is refused: ")
    assert "'x'" in str(refused.value)


@given(st.text(string.printable, max_size=80))
def test_any_text_is_a_policy_or_a_refusal(text):
    for content in (text, "format = 1\n" + text, "format = 1\n[[columns]]\n" + text):
        with pytest.raises(InputError, match="; hint: "):
            PolicyDocument.from_toml(content)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=150)
def test_a_file_with_a_piece_torn_out_is_a_policy_or_a_refusal(example, data):
    start = data.draw(st.integers(0, len(example)))
    end = data.draw(st.integers(start, len(example)))
    try:
        found = PolicyDocument.from_toml(example[:start] + example[end:])
    except InputError:
        return
    assert PolicyDocument.from_toml(found.to_toml()) == found


def test_bytes_that_are_no_text_and_files_that_are_not_there_are_refused(tmp_path):
    path = tmp_path / "p.toml"
    with pytest.raises(InputError, match=r"p\.toml cannot be read"):
        PolicyDocument.load(path)
    with pytest.raises(InputError, match=r"p\.toml cannot be read"):
        file_digest(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"p\.toml cannot be read"):
        PolicyDocument.load(path)


@pytest.mark.parametrize("value", [0.5, Decimal("0.5"), None, 2**70, "\ud800", {1, 2}, {"a": None}])
def test_what_a_file_cannot_hold_exactly_is_refused(value):
    with pytest.raises(InputError, match="cannot be written to a policy file"):
        PolicyDocument((KeptColumn("a"),), design={"b": value})
