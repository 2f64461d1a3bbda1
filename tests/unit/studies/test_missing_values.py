"""Audits, reports on anonymity and attacks treat a missing value alike, and count alike."""

from collections import defaultdict

import pytest
from hypothesis import given, settings, strategies as st

from hartley.attacks.guessing import BruteForceGuessing, HypothesisTesting
from hartley.attacks.homogeneity import Homogeneity
from hartley.attacks.uniqueness import Uniqueness
from hartley.errors import ColumnError
from hartley.policies.distortion.model import PrivacyDistortion
from hartley.ranges.relation import ROW, Relation
from hartley.studies.look.anonymity import anonymity
from hartley.studies.look.audit import audit
from hartley.studies.release.curve import curve

BLANKS = {
    "sex": ["F", "M", "F", "M", None, None],
    "ill": ["flu", "flu", "hiv", "hiv", "hiv", "hiv"],
}
"""Nobody is told by a sex that is there; whoever has none has hiv."""
ROWS = st.lists(
    st.tuples(st.sampled_from(["F", "M", None]), st.sampled_from(["flu", "hiv", None])),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(rows=ROWS)
def test_audit_anonymity_and_attacks_count_the_same_people(rows):
    rows = [("F", "flu"), ("M", "hiv"), *rows]
    table = {"sex": [sex for sex, _ in rows], "ill": [ill for _, ill in rows]}
    known = [row for row in rows if row[1] is not None]
    values, everybody = defaultdict(set), defaultdict(int)
    for sex, ill in rows:
        everybody[sex] += 1
        if ill is not None:
            values[sex].add(ill)
    given_away = sum(len(values[sex]) == 1 for sex, _ in known)
    left_out = len(rows) - len(known)

    told = audit(table, secret="ill", released="sex")
    report = anonymity(table, keys="sex", confidential="ill")
    homogeneity = Homogeneity(["sex"], ["ill"]).attack(table)
    relation = Relation.from_table(table, secret="ill", released="sex")
    guessing = BruteForceGuessing().attack(relation)
    testing = HypothesisTesting("ill = 'hiv'").attack(relation)

    alone = sum(one.rows for one in told.narrowest if one.secrets_left == 1)
    assert alone == given_away == report["ill"].homogeneous_rows
    assert homogeneity.worst.people == guessing.found_at_once == given_away
    assert sum(testing.rows_decided) == given_away
    rows_counted = told.rows, report["ill"].rows, homogeneity.worst.rows, guessing.rows
    assert {*rows_counted, sum(testing.rows)} == {len(known)}
    omitted = told.rows_dropped, report["ill"].left_out, guessing.rows_left_out
    assert {*omitted, testing.rows_left_out, homogeneity.left_out.get("ill", 0)} == {left_out}
    for finding in (told, report, homogeneity, guessing, testing):
        assert ("in which ill is missing" in finding.headline) == (left_out > 0)

    # Who somebody is: nobody is left out, whatever is blank.
    records = audit(table, secret=ROW, released="sex")
    assert (records.rows, records.rows_dropped, report.rows) == (len(rows), 0, len(rows))
    assert records.narrowest[0].secrets_left == report.k == min(everybody.values())
    unique = Uniqueness(table, ["sex"]).attack()
    assert unique.records == len(rows)


def test_a_blank_key_is_a_value_of_the_solver_and_its_curve():
    model = PrivacyDistortion.from_table(
        BLANKS, confidential="ill", key="sex", distortion="zero_one"
    )
    assert (None in model.values, model.rows) == (True, 6)
    assert model.largest_risk > 0  # of the rows that have a sex it would be 0
    report = curve(BLANKS, confidential="ill", key="sex", distortion="zero_one", points=3)
    assert report.notes == ("Missing values of sex, in 2 rows, count as one value of their own.",)
    turned = {"sex": BLANKS["ill"], "ill": BLANKS["sex"]}
    report = curve(turned, confidential="ill", key="sex", distortion="zero_one", points=3)
    assert report.notes == ("2 rows in which ill is missing are left out.",)


def test_a_missing_number_is_no_distance_and_the_refusal_says_what_to_do():
    ages = {"age": [30, 30, 40, None], "ill": ["flu", "hiv", "flu", "hiv"]}
    with pytest.raises(ColumnError, match=r"not a number.*--missing drop"):
        curve(ages, confidential="ill", key="age", points=3)
    dropped = curve(ages, confidential="ill", key="age", points=3, missing="drop")
    assert "1 row in which age is missing is left out." in dropped.notes
