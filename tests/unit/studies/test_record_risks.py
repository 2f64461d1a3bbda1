"""The risk of every record, and the people that audits and anonymity reports count."""

from collections import Counter

import numpy as np
import pytest

from hartley import ROW, OptionError, anonymity, audit
from hartley.studies.look.exposure import audit_risks, key_risks


def table(seed, rows=60):
    rng = np.random.default_rng(seed)
    missing = rng.random(rows) < 0.1
    return {
        "age": rng.integers(20, 30, rows).tolist(),
        "sex": [
            None if m else s for m, s in zip(missing, rng.choice(["F", "M"], rows), strict=True)
        ],
        "ill": rng.choice(["flu", "hiv", "cold"], rows).tolist(),
    }


@pytest.mark.parametrize("seed", range(4))
def test_people_and_risks_follow_their_definitions(seed):
    people = table(seed)
    report = audit(people, secret="ill", released=["age", "sex"], few=4)
    keys = list(zip(people["age"], people["sex"], strict=True))
    alike, left = Counter(keys), {}
    for key, ill in zip(keys, people["ill"], strict=True):
        left.setdefault(key, set()).add(ill)
    assert report.people.unique == sum(alike[key] == 1 for key in keys)
    assert report.people.among_few == sum(alike[key] < 4 for key in keys)
    assert report.people.given_away == sum(len(left[key]) == 1 for key in keys)
    assert report.to_dict()["people"]["given_away"] == report.people.given_away
    risks = audit_risks(people, report).table
    assert risks["alike"].to_pylist() == [alike[key] for key in keys]
    assert risks["secrets_left"].to_pylist() == [len(left[key]) for key in keys]
    assert risks["given_away"].to_pylist() == [len(left[key]) == 1 for key in keys]
    assert risks["row"].to_pylist() == list(range(1, 61))
    again = anonymity(people, keys=["age", "sex"], few=4)
    assert again.people.among_few == report.people.among_few
    assert again.people.sentence in again.sentences
    assert key_risks(people, ["age", "sex"]).table["alike"].to_pylist() == [
        alike[key] for key in keys
    ]


def test_records_as_secrets_and_bins():
    people = {"age": [20, 21, 30, 31, 39], "sex": ["F"] * 5}
    report = audit(people, secret=ROW, released="age", bins={"age": 10})
    assert (report.people.given_away, report.people.unique, report.people.among_few) == (0, 0, 5)
    assert audit_risks(people, report).table["secrets_left"].to_pylist() == [2, 2, 3, 3, 3]


def test_a_sweep_counts_people_at_every_step():
    people = {"age": [20, 21, 30, 31, 39], "ill": ["a", "b", "a", "a", "a"]}
    report = audit(people, secret="ill", released="age", sweep={"age": [1, 10, 50]}, few=3)
    assert [point.given_away for point in report.sweep] == [5, 3, 0]
    assert [point.among_few for point in report.sweep] == [5, 2, 0]


def test_the_sentence_of_people():
    people = {"age": [20, 20, 30], "ill": ["a", "b", "a"]}
    assert audit(people, secret="ill", released="age").people.sentence == (
        "The secret of 1 person of 3 (at most 33.34 %) is given away; 3 people of 3 (100 %) stand "
        "among fewer than 5, and 1 is unique."
    )
    with pytest.raises(OptionError, match="k is not a whole number of 2 or more"):
        audit(people, secret="ill", released="age", few=1)


def test_an_audit_needs_columns_or_roles():
    people = {"age": [20, 20, 30], "ill": ["a", "b", "a"]}
    with pytest.raises(OptionError, match="No secret column is named"):
        audit(people, released="age")
    roles = {
        "confirmed": True,
        "columns": {"age": {"role": "key"}, "ill": {"role": "confidential"}},
    }
    assert (
        audit(people, roles=roles).to_dict()
        == audit(people, secret="ill", released="age").to_dict()
    )
