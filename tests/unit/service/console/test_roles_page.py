"""The owner's page of roles: what columns seem to be, people counted, a release."""

import csv
import io
import re
from collections import Counter
from html import unescape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley.schema.roles import ROLES
from hartley.service.console.roles import FIELD, MEANINGS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("console")]

PAGE = "/owner/datasets/people"
ROWS = {
    "patient_name": [f"Ann {chr(65 + n % 26)}{n}" for n in range(40)],
    "age": [20 + n % 9 for n in range(39)] + [77],
    "sex": ["F", "M"] * 20,
    "diagnosis": ["flu", "cold", "asthma", "none"] * 10,
    "<b>note": ["x"] * 20 + ["y"] * 20,
}


@pytest.fixture(scope="module")
def raw(house):
    """The configured table of the house, replaced by one with names in it."""
    path = house.service.settings.datasets["people"].data
    before = pq.read_table(path)
    pq.write_table(pa.table(ROWS), path)
    yield house
    pq.write_table(before, path)


@pytest.fixture
def owner(raw):
    window = raw.window(raw.owner_token)
    assert window.get(f"{PAGE}/roles").status_code == 200
    return window


def chosen(window):
    """The roles that the menus of the last page show."""
    menus = re.findall(r'<select name="role of ([^"]*)".*?</select>', window.reply.text, re.DOTALL)
    picked = re.findall(r'<option value="(\w+)" selected>', window.reply.text)
    return dict(zip(map(unescape, menus), picked, strict=True))


def sent(window, path="roles", **fields):
    roles = {
        FIELD + name: role for name, role in (chosen(window) | fields.pop("roles", {})).items()
    }
    return window.post(f"{PAGE}/{path}", **{"k": "5"} | roles | fields)


def counts(window):
    tiles = re.findall(r"<dt>(.*?)</dt><dd>([\d,]+)</dd>", window.reply.text)
    return tuple(int(number.replace(",", "")) for _, number in tiles)


def by_hand(keys, k=5):
    classes = Counter(zip(*(ROWS[key] for key in keys), strict=True))
    alone = sum(n for n in classes.values() if n == 1)
    return alone, sum(n for n in classes.values() if n < k)


def test_the_page_has_a_menu_and_a_reason_for_every_column(owner):
    assert chosen(owner).keys() == ROWS.keys()
    assert chosen(owner)["patient_name"] == "identifier"
    assert set(MEANINGS) == set(ROLES)
    text = owner.reply.text
    assert "<b>note" not in text, "names of columns are escaped"
    assert owner.reply.text.count("<select") == len(ROWS)
    assert not any(name in text for name in ROWS["patient_name"]), "no value of an identifier"
    assert "unsafe-inline" not in owner.reply.headers["content-security-policy"]
    assert "Roles of the columns" in owner.get(PAGE).text


@pytest.mark.parametrize("keys", [["age"], ["sex"], ["age", "sex"], ["age", "sex", "diagnosis"]])
@pytest.mark.parametrize("k", [2, 5])
def test_people_are_counted_by_the_chosen_keys(owner, keys, k):
    roles = {name: "key" if name in keys else "undecided" for name in ROWS}
    assert sent(owner, roles=roles, k=str(k)).status_code == 200
    assert counts(owner) == by_hand(keys, k)
    assert chosen(owner) == roles, "the menus show what was chosen"
    hidden = [name for name in ROWS if name not in keys]
    assert f"Not released: {', '.join(hidden)}." in unescape(owner.reply.text)


def test_without_a_key_nobody_is_looked_for(owner):
    sent(owner, roles=dict.fromkeys(ROWS, "undecided"))
    assert "No column is a key" in owner.reply.text


@pytest.mark.parametrize(
    ("roles", "fields", "problem"),
    [
        ({"age": "unit", "sex": "unit"}, {}, "2 units, age and sex"),
        ({"age": "owner"}, {}, "unknown role"),
        ({}, {"k": "1"}, "is no size of a group"),
        ({}, {"k": "x" * 50}, "is no size of a group"),
        (dict.fromkeys(ROWS, "identifier") | {"age": "key"}, {"k": "99999999"}, ""),
    ],
)
def test_roles_that_contradict_themselves_are_refused_in_one_sentence(
    owner, roles, fields, problem
):
    reply = sent(owner, roles=roles, **fields)
    assert (reply.status_code, problem in unescape(reply.text)) == (422 if problem else 200, True)
    assert reply.text.count("<select") == len(ROWS), "the menus are there to go on"


def test_nothing_is_released_before_the_roles_are_confirmed_and_the_name_is_written(owner, raw):
    keys = {"age": "key", "sex": "key", "diagnosis": "confidential", "<b>note": "undecided"}
    before = len(raw.service.accounts.audit(limit=1000))
    assert sent(owner, "release", roles=keys).status_code == 422
    assert "Nobody has confirmed these roles" in owner.reply.text
    assert len(raw.service.accounts.audit(limit=1000)) == before
    sent(owner, "release", roles=keys, confirmed="yes")
    assert "5-anonymous" in owner.reply.text
    fields = {
        unescape(name): unescape(value)
        for name, value in re.findall(
            r'<input type="hidden" name="([^"]+)" value="([^"]*)">', owner.reply.text
        )
    }
    fields.pop("csrf", None)
    assert owner.post(f"{PAGE}/release.csv", **fields, again="peopel").status_code == 422
    owner.get(f"{PAGE}/roles")
    reply = owner.post(f"{PAGE}/release.csv", **fields, again="people")
    assert reply.headers["content-disposition"].endswith("people-k5.csv")
    released = list(csv.DictReader(io.StringIO(reply.text)))
    assert set(released[0]) == {"age", "sex", "diagnosis"}
    assert min(Counter((row["age"], row["sex"]) for row in released).values()) >= 5
    log = raw.service.accounts.audit(limit=1000)
    assert (log[-1].act, log[-1].subject, log[-1].detail) == ("anonymize table", "people", "k = 5")


def test_the_page_without_a_table_says_what_is_missing(raw, monkeypatch):
    from dataclasses import replace

    settings = raw.service.settings.datasets
    monkeypatch.setitem(settings, "people", replace(settings["people"], data=None))
    window = raw.window(raw.owner_token)
    assert "has no key data" in window.get(f"{PAGE}/roles").text
