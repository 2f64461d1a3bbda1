"""Names of rows, which say nothing about how many rows there are."""

from hypothesis import given, strategies as st

from hartley.service.own_rows import LAST, RowIds

IDS = RowIds(b"a key")


@given(st.integers(1, LAST - 1))
def test_a_name_leads_back_to_its_row(sequence):
    assert IDS.number(IDS.name(sequence)) == sequence


@given(st.integers(1, 10**6))
def test_names_of_neighbours_and_of_other_ledgers_differ(sequence):
    names = {IDS.name(sequence), IDS.name(sequence + 1), RowIds(b"another").name(sequence)}
    assert len({name[:4] for name in names} | {name[-4:] for name in names}) >= 4


@given(st.text(max_size=20))
def test_what_is_no_name_is_no_row(text):
    number = IDS.number(text)
    assert number is None or IDS.name(number) == text


def test_no_bit_of_the_number_shows():
    """The first names are spread: every bit is set in about half of them."""
    names = [int(IDS.name(sequence), 16) for sequence in range(1, 257)]
    for bit in range(64):
        assert 80 < sum(name >> bit & 1 for name in names) < 176
