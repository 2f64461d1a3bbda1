import pytest
from hypothesis import given, strategies as st

from hartley.agent.workload import parse_workload, read_workload
from hartley.errors import OptionError
from hartley.results.plan import WorkloadEntry
from hartley.results.quote import Wish

COUNT, MEAN = "SELECT COUNT(*) FROM people", "SELECT AVG(age) FROM people"


def plain(entries):
    return [
        (entry.wish.text, entry.wish.bits, entry.wish.error, str(entry.weight)) for entry in entries
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"-- bits=2\n{COUNT};\n-- weight=3\n{MEAN}",
        f"{COUNT}; -- bits=2\n{MEAN} -- weight=3",
        f"{COUNT} -- bits=2\n;\n{MEAN}; /* weight=3 */",
        f"-- a remark; a semicolon\n{COUNT}; --BITS = 2\n\n;; /* weight=3 */ {MEAN};\n-- the end",
        COUNT.replace(" FROM", " /* bits=2 */ FROM") + f";\n-- weight=3\n{MEAN}",
    ],
)
def test_a_wish_stands_before_inside_or_behind_its_question(text):
    entries = plain(parse_workload(text))
    assert [(" ".join(words.split()), *rest) for words, *rest in entries] == [
        (COUNT, "2", None, "1"),
        (MEAN, None, None, "3"),
    ]


def test_a_comment_behind_a_semicolon_belongs_to_the_question_before_and_below_to_the_next():
    entries = parse_workload(f"{COUNT}; -- weight=2\n-- weight=5\n{MEAN};")
    assert [entry.weight for entry in entries] == [2, 5]


def test_texts_with_semicolons_and_signs_of_comments_stay_whole():
    text = "SELECT COUNT(*) FROM people WHERE job = ';-- bits=3 /*' -- bits=1"
    (entry,) = parse_workload(text)
    assert entry.wish == Wish(text.rpartition(" -- ")[0], bits="1")


def test_several_settings_share_a_comment():
    (entry,) = parse_workload(f"-- error=0.5, weight=1/2\n{MEAN}")
    assert plain([entry]) == [(MEAN, None, "0.5", "1/2")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no question"),
        (" ;; -- nothing", "no question"),
        ("SELECT 'a", "cannot be read"),
        (f"{COUNT};\n-- bits=2", "bits=2 at the end of the file belongs to no question"),
        (f"{COUNT} -- bits=", "gives bits= no value"),
        (f"{COUNT} -- bits=2 because", "cannot be read as a wish"),
        (f"{COUNT} -- weight=0", "not positive"),
        (f"{COUNT} -- weight=much", "not a number"),
        (f"-- bits=2\n{COUNT} -- bits=3", "two comments with bits="),
        (f"-- bits=2\n{COUNT} -- error=3", "with bits= and with error="),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(text, words):
    with pytest.raises(OptionError, match=words):
        parse_workload(text)


def test_a_file_has_at_most_a_thousand_questions():
    assert len(parse_workload(f"{COUNT};" * 1000)) == 1000
    with pytest.raises(OptionError, match="more than 1,000 questions"):
        parse_workload(f"{COUNT};" * 1001)


def test_a_file_is_read_and_a_missing_one_is_named(tmp_path):
    path = tmp_path / "questions.sql"
    path.write_text(f"{COUNT}; -- bits=2", encoding="utf-8")
    assert plain(read_workload(path)) == [(COUNT, "2", None, "1")]
    with pytest.raises(OptionError, match=r"file of questions .*absent.sql cannot be read"):
        read_workload(tmp_path / "absent.sql")


@given(
    st.lists(
        st.tuples(
            st.sampled_from([COUNT, MEAN, f"{MEAN} WHERE job = '; -- x'", f"{COUNT} -- bits=9"]),
            st.sampled_from([None, "2", "1.585"]),
            st.sampled_from([1, 3, "0.25"]),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_what_is_written_is_read_back(parts):
    entries = [
        WorkloadEntry(
            Wish(text, bits=bits), parse_workload(f"{COUNT} -- weight={weight}")[0].weight
        )
        for text, bits, weight in parts
    ]
    again = parse_workload("".join(entry.to_sql() for entry in entries))
    without = [entry.wish.text.removesuffix(" -- bits=9") for entry in entries]
    assert [entry.wish.text for entry in again] == without
    assert [(e.wish.bits, e.weight) for e in again] == [(e.wish.bits, e.weight) for e in entries]
