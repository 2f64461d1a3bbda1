"""The roles of columns: the file, its refusals, and what opening a table by them leaves out."""

import datetime as dt
from fractions import Fraction

import pytest

from hartley import ReadingOptions, Roles, anonymize, microaggregate, pram
from hartley.engines.table import Kind
from hartley.errors import ColumnError, InputError, OptionError
from hartley.schema import open_with_roles
from hartley.schema.roles import ColumnRole, chosen_columns

FILE = """\
confirmed = false          # nothing is released by a draft
[reading]
null = ["?", "", "NA"]
trim = true
encoding = "utf-8"
decimal = "."
[columns.person]
role = "identifier"        # never released
[columns.age]
role = "key"
levels = [5, 10, 20]       # widths of bins, nesting
[columns.birth]
role = "key"
levels = ["month", "quarter", "year"]
[columns.zip]
role = "key"
mask = 2                   # digits hidden, one more each level
[columns.job]
role = "key"
hierarchy = "jobs.csv"
[columns.diagnosis]
role = "confidential"
[columns.weight]
role = "weight"            # sampling weight; also "household", "kept"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "roles.toml"
    path.write_text(FILE)
    return path


def confirmed(**columns):
    return {"confirmed": True, "columns": {name: {"role": role} for name, role in columns.items()}}


def test_a_file_is_read(file):
    roles = Roles.read(file)
    assert not roles.confirmed
    assert roles.reading == ReadingOptions(null=("?", "", "NA"), trim=True)
    assert roles.named("key") == ("age", "birth", "zip", "job")
    assert roles.columns["age"].levels == (Fraction(5), Fraction(10), Fraction(20))
    assert roles.columns["birth"].levels == ("month", "quarter", "year")
    assert roles.columns["zip"].mask == 2
    assert roles.columns["job"].hierarchy == file.parent / "jobs.csv"
    assert roles.columns["weight"].role == "weight"
    assert "other" not in roles.columns


def test_a_draft_is_refused_until_it_is_confirmed(file):
    with pytest.raises(OptionError, match=r"roles.toml are a draft that nobody has confirmed"):
        Roles.confirmed_by_owner(file)
    file.write_text(FILE.replace("confirmed = false", "confirmed = true"))
    assert Roles.confirmed_by_owner(file).confirmed
    file.write_text(FILE.replace("confirmed = false", ""))
    with pytest.raises(OptionError, match="draft"):
        Roles.confirmed_by_owner(file)


def test_what_is_written_is_read_again(tmp_path):
    columns = [
        ColumnRole("age", "key", (Fraction(1, 2), Fraction(1)), why="a reason\nin two lines"),
        ColumnRole("född år", "key", levels=("year",)),
        ColumnRole('a "b"', "identifier", why="why"),
        ColumnRole("person", "unit", why="why"),
        ColumnRole("zip", "key", mask=2, why="why"),
        ColumnRole("job", "key", rare=(10, 50), why="why"),
        ColumnRole("q1", "undecided", why="a code list"),
    ]
    reading = ReadingOptions(null=("?",), trim=True, decimal=",", dates="day-first")
    path = tmp_path / "roles.toml"
    draft = Roles(confirmed=False, columns={c.name: c for c in columns}, reading=reading)
    path.write_text(draft.to_toml())
    roles = Roles.read(path)
    assert list(roles.columns.values()) == columns
    assert roles.reading == reading
    assert not roles.confirmed
    # No role waits behind a # to be released, and the role is the first line of every entry.
    lines = path.read_text().splitlines()
    assert not [line for line in lines if line.startswith("# [") or "# role" in line]
    entries = [at for at, line in enumerate(lines) if line.startswith("[columns.")]
    assert all(lines[at + 1].startswith("role = ") for at in entries)
    path.write_text(draft.confirm().to_toml())
    assert Roles.confirmed_by_owner(path).columns == roles.columns


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'role = "identifier" ',
            'role = "identifyer" ',
            "unknown role; hint: did you mean identif",
        ),
        ('role = "identifier" ', "", "Column 'person' of the roles roles.toml has no role"),
        ("mask = 2", "mask = 0", "a mask that hides no character"),
        ("mask = 2", "masks = 2", "unknown setting 'masks'; hint: did you mean mask"),
        ("mask = 2", "mask = 2\nrare = 3", "has mask and rare"),
        ("mask = 2", "rare = [5, 2]", "merges rare values below sizes that do not grow"),
        ('"month", "quarter"', '"year", "month"', "periods that do not nest"),
        ('"month", "quarter"', '"week", "month"', "periods that do not nest"),
        ("levels = [5, 10, 20]", "levels = 5", "levels that are no list"),
        ('role = "confidential"', 'role = "confidential"\nmask = 1', "but is confidential"),
        ('role = "identifier" ', 'role = "identifier"\nmask = 1 ', "mask, but is an identifier"),
        ("trim = true", "trims = true", "no option for reading a table in the roles roles.toml"),
        ("confirmed = false", 'confirmed = "yes"', "confirmed of the roles roles.toml is not true"),
        ("confirmed = false", "confirmd = true", "unknown setting 'confirmd'"),
    ],
)
def test_mistakes_are_named(file, old, new, message):
    assert old in FILE
    file.write_text(FILE.replace(old, new, 1))
    with pytest.raises(OptionError, match=message):
        Roles.read(file)


def test_the_unit_stays_to_be_counted_and_is_never_released():
    table, roles = open_with_roles({"Person": [1, 1], "age": [3, 4]}, confirmed(Person="unit"))
    assert (table.columns, roles.named("unit")) == (("Person", "age"), ("Person",))
    with pytest.raises(OptionError, match="'PERSON' is the unit and is never released"):
        chosen_columns(roles, ["PERSON"], "key", what="key")
    with pytest.raises(ColumnError, match="Column 'Person' of the roles is not in the dict"):
        open_with_roles({"age": [3]}, roles)
    with pytest.raises(OptionError, match="has mask, but is the unit; hint: only keys"):
        Roles.read({"columns": {"person": {"role": "unit", "mask": 1}}})
    with pytest.raises(OptionError, match="The roles name 2 units, a and b; hint: make b an ident"):
        Roles.read(confirmed(a="unit", b="unit"))


@pytest.mark.parametrize("role", ["key", "confidential", "kept", "undecided"])
def test_others_give_all_undecided_columns_a_role(role):
    given = confirmed(q1="undecided", q2="undecided", age="key") | {"others": role}
    roles = Roles.read(given)
    assert set(roles.named(role)) >= {"q1", "q2"}
    assert ("age" in roles.named("undecided"), roles.columns["age"].role) == (False, "key")
    # What is not released may be missing: the release of these roles can be opened by them.
    if role == "undecided":
        assert open_with_roles({"age": [3]}, roles)[0].columns == ("age",)
    else:
        with pytest.raises(ColumnError, match="'q1' of the roles is not in"):
            open_with_roles({"age": [3]}, roles)


@pytest.mark.parametrize(
    "role", ["identifier", "unit", "weight", "household", "secret", 5, ["key"]]
)
def test_others_are_no_role_that_only_one_column_can_have(role):
    with pytest.raises(OptionError, match=r'no role .* hint: write others = "confidential"'):
        Roles.read(confirmed(q1="undecided") | {"others": role})


def test_files_that_are_none(tmp_path):
    with pytest.raises(
        InputError, match=r"none.toml cannot be read; hint: check the path; hartley"
    ):
        Roles.read(tmp_path / "none.toml")
    with pytest.raises(OptionError, match="name no column"):
        Roles.read({"confirmed": True})
    with pytest.raises(OptionError, match="A int holds no roles"):
        Roles.read(5)


def test_identifiers_are_dropped_whatever_their_case():
    table, roles = open_with_roles({"Name": ["Ann"], "age": [3]}, confirmed(Name="identifier"))
    assert table.columns == ("age",)
    assert roles.named("identifier") == ("Name",)
    again, _ = open_with_roles(table, roles)
    assert again.columns == ("age",)


def test_identifiers_of_csv_files_do_not_come_back_with_their_texts(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("name,age\nAnn,030\nBob,40\n")
    table, _ = open_with_roles(path, confirmed(name="identifier", age="key"))
    assert table.columns == ("age",)
    assert tuple(table.texts.columns) == ("age",)


def test_the_unit_of_an_agent_stays():
    roles = confirmed(person="identifier", name="identifier")
    table, _ = open_with_roles({"person": [1], "name": ["x"], "age": [3]}, roles, unit="person")
    assert table.columns == ("person", "age")


def test_roles_that_do_not_fit_a_table():
    with pytest.raises(ColumnError, match="Column 'sex' of the roles is not in the dict"):
        open_with_roles({"age": [1]}, confirmed(sex="key"))
    with pytest.raises(ColumnError, match="Every column of the dict is an identifier"):
        open_with_roles({"name": ["x"]}, confirmed(name="identifier"))


def test_an_identifier_that_is_not_found_hides_nothing_quietly():
    # Misspelled, or renamed on the way in: the column would stay in the table under another name.
    roles = confirmed(person="identifier", age="key")
    with pytest.raises(ColumnError, match=r"identifier 'person' of the roles is not in the dict"):
        open_with_roles({"persn": ["Ann"], "age": [3]}, roles)
    # A release by the same roles has neither the identifier nor a column without a role.
    released, _ = open_with_roles({"age": [3]}, roles)
    assert released.columns == ("age",)


def test_columns_are_those_that_were_named_or_those_of_the_role():
    roles = Roles.read(confirmed(person="identifier", age="key", ill="confidential"))
    assert chosen_columns(roles, None, "key", what="key") == ("age",)
    assert chosen_columns(roles, ["ill"], "key", what="key") == ("ill",)
    assert chosen_columns(roles, [], "kept", what="") == ()
    with pytest.raises(OptionError, match="'person' is an identifier and is never released"):
        chosen_columns(roles, ["person"], "key", what="key")
    with pytest.raises(OptionError, match=r'No kept column is named; hint: .* the role "kept"'):
        chosen_columns(roles, None, "kept", what="kept")
    with pytest.raises(OptionError, match="in a file of roles"):
        chosen_columns(None, None, "key", what="key")


CODES = {
    "confirmed": True,
    "columns": {
        "plz": {"role": "key", "mask": 2},
        "ward": {"role": "kept"},
        "zip": {"role": "key", "mask": 1},
        "age": {"role": "key", "levels": [10]},
        "visits": {"role": "confidential"},
    },
}


def coded_file(tmp_path):
    path = tmp_path / "people.csv"
    lines = [f"0{1060 + i % 2},00{i % 3},{7000 + i % 2},{20 + i % 9},{i % 4}" for i in range(24)]
    path.write_text("plz,ward,zip,age,visits\n" + "\n".join(lines) + "\n")
    return path


def test_codes_keep_their_zeros(tmp_path):
    path = coded_file(tmp_path)
    table, _ = open_with_roles(path, CODES)
    assert [table.kind(name) for name in table.columns] == [
        Kind.TEXT,  # masked, and with zeros
        Kind.TEXT,  # with zeros
        Kind.TEXT,  # masked
        Kind.INTEGER,  # put into bins, so that it counts something
        Kind.INTEGER,
    ]
    assert set(table.expression.plz.to_pyarrow().to_pylist()) == {"01060", "01061"}
    release = anonymize(path, k=2, roles=CODES)
    assert {value[:3] for value in release.table["plz"].to_pylist()} == {"010"}
    assert set(release.table["ward"].to_pylist()) == {"000", "001", "002"}
    with pytest.raises(OptionError, match="holds numbers to average"):
        microaggregate(path, 2, roles={**CODES, "columns": {"plz": CODES["columns"]["plz"]}})


def test_a_perturbation_by_roles_leaves_dates_alone(tmp_path):
    people = {
        "sex": ["F", "M"] * 10,
        "birth": [dt.date(1990, 1, 1 + i) for i in range(20)],
        "ill": ["flu", "flu", "hiv", "hiv"] * 5,
    }
    columns = {"sex": {"role": "key"}, "birth": {"role": "key"}, "ill": {"role": "confidential"}}
    roles = {"confirmed": True, "columns": columns}
    report = pram(people, out=tmp_path / "out.csv", retain="0.9", roles=roles, seed=1)
    assert [column.title for column in report.columns] == ["sex"]
    assert report.release.withheld == ("birth",)
    with pytest.raises(ColumnError, match="Every key of the roles is a date"):
        pram(
            {"birth": people["birth"]},
            out=tmp_path / "dates.csv",
            retain="0.9",
            roles={"confirmed": True, "columns": {"birth": {"role": "key"}}},
        )
