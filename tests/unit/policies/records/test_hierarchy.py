"""Hierarchies that contradict themselves are refused, and no value is shown."""

import pytest

from hartley.attacks.homogeneity import Similarity
from hartley.errors import ColumnError, HartleyError, OptionError
from hartley.policies.hierarchy import nested_levels, read_hierarchy
from hartley.studies.look.anonymity import anonymity
from hartley.studies.look.generalisation import anonymize
from hartley.tables.opening import open_table

TABLE = open_table({"job": ["SECRET-cook", "SECRET-nurse", None, "SECRET-smith"]})


@pytest.fixture
def read(tmp_path):
    """Read the lines of a hierarchy of the column of jobs, or of another column."""

    def read_lines(lines, column="job", table=TABLE):
        path = tmp_path / "groups.csv"
        path.write_text(lines, encoding="utf-8")
        return read_hierarchy(path, column, table)

    return read_lines


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("SECRET-a,x\nb,y\nSECRET-a,z\n", "lines 1 and 3 put one value into two"),
        ("SECRET-a,x,p\nb,x,q\n", "lines 1 and 2 put one group of level 1 into two groups of lev"),
        ("a,x,p\n\nb,y,p\nc,y,q\n", "lines 3 and 4 put one group of level 1 into two groups"),
        ("a,x,p,1\nb,y,p,1\nc,z,q,1\nd,y,p,2\n", "lines 1 and 4 put one group of level 2"),
        ("SECRET-a,SECRET-b\nSECRET-b,SECRET-a\n", "runs in a circle: lines 1 and 2 put"),
        ("a,b\nb,c\nc,a\n", "runs in a circle: lines 1, 2 and 3 put"),
        ("a,b,a\n", "runs in a circle: line 1 put"),
        ("a,x\nb\n", "gives line 2 no group, and line 1 1 group"),
        ("a,x,y\nb,x\n", "gives line 2 1 group, and line 1 2 groups"),
        ("a;x;y\n", "gives line 1 no group"),
        ("", "cannot be read or is empty"),
    ],
)
def test_lines_that_cannot_all_be_true_are_refused_by_their_numbers(read, lines, message):
    with pytest.raises((ColumnError, OptionError), match=message) as caught:
        read(lines)
    assert "SECRET" not in str(caught.value)
    assert "groups.csv" in str(caught.value)


def test_a_repeated_line_a_byte_order_mark_and_groups_named_like_values_are_no_mistake(read):
    found = read("\ufeffnurse,health,all\nnurse,health,all\nhealth,health,all\n,none,all\n")
    assert found == {
        "nurse": ("health", "all"),
        "health": ("health", "all"),
        None: ("none", "all"),
    }


def test_one_value_that_is_written_in_two_ways_is_one_value(read):
    ages = open_table({"age": [1, 2]})
    with pytest.raises(ColumnError, match="lines 1 and 2 put one value"):
        read("1,young\n01,old\n", "age", ages)
    with pytest.raises(
        OptionError, match=r"Line 2 of the hierarchy .* does not begin with a value"
    ) as told:
        read("1,young\nSECRET,old\n", "age", ages)
    assert "SECRET" not in str(told.value)
    with pytest.raises(ColumnError, match="circle"):  # the number 1 and the group named 1
        read("1,2\n2,1\n", "age", ages)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a": ["x", "p"], "b": ["x", "q"]}, "its entries 1 and 2 put one group of level 1"),
        ({"a": ["b"], "b": ["a"]}, "circle: its entries 1 and 2"),
        ({"a": ["x"], "b": ["x", "y"]}, "gives its entry 2 2 groups, and its entry 1 1 group"),
        ({"a": [], "b": []}, "gives its entry 1 no group"),
    ],
)
def test_a_mapping_is_held_to_the_same_even_for_values_that_do_not_occur(groups, message):
    with pytest.raises(ColumnError, match=message):
        nested_levels("job", ["a"], groups)


GROUPS = {"SECRET-cook": ["food"], "SECRET-nurse": ["care"], None: ["none"]}


@pytest.mark.parametrize(
    "use",
    [
        lambda table: anonymize(table, "job", 1, hierarchies={"job": GROUPS}),
        lambda table: anonymity(table, keys="key", confidential="job", hierarchy={"job": GROUPS}),
        lambda table: Similarity(["key"], hierarchy={"job": GROUPS}).attack(table),
    ],
)
def test_a_value_without_groups_is_named_by_its_row(use, tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("key,job\n1,SECRET-cook\n1,\n2,SECRET-smith\n2,SECRET-nurse\n")
    with pytest.raises(
        HartleyError, match=r"Row 3 of .*jobs.csv, column 'job', has a value.*lacks;"
    ) as caught:
        use(path)
    assert "SECRET" not in str(caught.value)


def test_a_missing_key_needs_groups_too():
    present = {value: groups for value, groups in GROUPS.items() if value is not None}
    present["SECRET-smith"] = ["craft"]
    with pytest.raises(ColumnError, match="Row 3 of the dict, column 'job'"):
        anonymize(TABLE, "job", 1, hierarchies={"job": present})
