"""What the headline of a reconstruction says, beside what its sentences say."""

import pytest

from hartley import Agent, Differencing, OptionError, Reconstruction, transcripts_of

COLUMNS = {
    "job": {"kind": "private", "values": ["x", "y"]},
    "pay": {"kind": "private", "range": [0, 50], "step": 1},
}
PEOPLE = {"job": ["x", "x", "y", "y"], "pay": [1, 20, 30, 50]}


@pytest.fixture
def ask(tmp_path):
    def asked(*texts, people=PEOPLE, known=True, columns=COLUMNS, table=None, **wish):
        schema = {"table": {"name": "t", **(table or {})}, "columns": columns}
        place = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        with Agent(people, schema, budget=60, ledger=place) as agent:
            for text in texts:
                agent.ask(text, **wish)
            return transcripts_of(agent.ledger, data=people if known else None)

    return asked


def test_the_headline_says_what_is_settled_in_each_part_and_for_how_many(ask):
    """A part with one record left of two beside one with a few of many: both are said."""
    told = ask("SELECT COUNT(*) FROM t WHERE job = 'x'", "SELECT SUM(pay) FROM t", bits=4)
    finding = Reconstruction().attack(*told)
    assert finding.headline == (
        "2 answers settle job of 4 of 4 people for an adversary who knows everybody else, "
        "and settle no value for one who knows nothing about the others."
    )
    (job,) = (s for s in finding.sentences if s.startswith("Of job"))
    (pay,) = (s for s in finding.sentences if s.startswith("Of pay"))
    assert job.endswith("left with a single record for 4 of 4 people.")
    assert "of 51 records for all 4" in pay
    assert finding.fewest.left == 1  # as the headline says, and not the part with most records
    listed = finding.to_dict()["knowing_everybody_else"]
    assert listed["fewest_records_left"] == 1
    assert {"columns": ["job"], "rows": 4} in listed["settled"]


def test_nobody_is_settled_where_at_least_two_records_are_left(ask):
    finding = Reconstruction().attack(*ask("SELECT SUM(pay) FROM t", bits=2))
    assert finding.headline.startswith(
        "1 answer settles nobody's record, even for an adversary who knows"
    )
    assert f"at least {finding.fewest.left:,} are left to each of 4 people" in finding.headline
    assert finding.fewest.left > 1


@pytest.mark.slow
def test_without_the_table_only_what_is_shown_is_said(ask):
    sure = Reconstruction().attack(*ask("SELECT SUM(pay) FROM t", bits=2, known=False))
    assert sure.headline == "1 answer settles no value of any of 4 people."
    unsure = Reconstruction(most=0).attack(*ask("SELECT SUM(pay) FROM t", bits=2, known=False))
    assert unsure.headline == "1 answer is not shown to settle any value of any of 4 people."
    zero = {"job": ["x"] * 4, "pay": [0] * 4}
    found = Reconstruction().attack(
        *ask("SELECT SUM(pay) FROM t", people=zero, known=False, error=0)
    )
    assert found.headline == "1 answer settles pay of 4 of 4 people."


def test_all_that_was_charged_is_not_said_to_be_more(ask):
    """51 answers of 51 cells: rounded up and down they would be 5.68 within 5.67 bits."""
    finding = Reconstruction().attack(*ask("SELECT SUM(pay) FROM t", error=0))
    assert finding.transcripts == finding.charged == 51
    assert finding.sentences[0].endswith(
        "learns exactly the 5.67 bits that were charged about one person."
    )


@pytest.mark.slow
def test_with_several_rows_a_person_rows_are_counted(ask):
    people = {"who": [1, 1, 2, 2], **PEOPLE}
    told = ask(
        "SELECT SUM(pay) FROM t", people=people, table={"unit": "who", "rows_per_unit": 2}, error=0
    )
    assert "pay of 4 of 4 rows" in Reconstruction().attack(*told).headline


@pytest.mark.parametrize("attack", [Reconstruction(), Differencing()])
def test_no_answer_that_can_be_used_is_not_called_no_answer_asked(attack):
    with pytest.raises(OptionError, match="older versions") as refused:
        attack.attack()
    assert "ask the agent something first" not in str(refused.value)


@pytest.mark.slow
def test_order_statistics_and_large_ranges_are_not_denied(ask):
    finding = Differencing().attack(*ask("SELECT MIN(pay), MAX(pay) FROM t", bits=12))
    assert (finding.worst.after, finding.worst.before) == (50, 51)  # nobody is below 1
    columns = {**COLUMNS, "pay": {"kind": "private", "range": [0, 100_000], "step": 1}}
    told = ask("SELECT SUM(pay) FROM t", columns=columns, error=0)
    assert Differencing(4).attack(*told).worst.after == 1


def test_no_row_at_all_cannot_be_isolated(ask):
    with pytest.raises(OptionError, match="rows from 1"):
        Differencing(0).attack(*ask("SELECT SUM(pay) FROM t", bits=1))
