"""Policy files that make no sense are refused with their name and the place."""

import string
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import InputError
from hartley.files import file_digest
from hartley.policies import KeptColumn
from hartley.policies.document import PolicyDocument

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
