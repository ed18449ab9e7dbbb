"""The text of the option --columns: what it states, and what is wrong with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.formats.table.stated_columns import ROLES, StatedColumns, parse_columns

NAME = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=8).map(str.strip)


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from([role for role in ROLES if role != "end"]), NAME, min_size=1)
)
def test_any_names_of_columns_come_back(given):
    stated = StatedColumns(tuple(given.items()))
    assert parse_columns(stated.text()) == stated


def test_units_are_read_in_every_spelling():
    assert parse_columns("unit=µs, dur = Took").given == (("unit", "us"), ("dur", "Took"))
    assert parse_columns("unit=Milliseconds").get("unit") == "ms"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "write it as WHAT=COLUMN"),
        ("start", "write it as WHAT=COLUMN"),
        ("begin=x", "WHAT is one of name, start, dur, end, phase, process, thread, identifier"),
        ("start=a,start=b", "start is stated twice"),
        ("start=c,dur=a,end=b", "state two of start, dur and end, not all"),
        ("unit=minutes", "the unit is one of s, ms, us, ns, ps"),
        ("decimal=dot", "it is one of point, comma"),
    ],
)
def test_other_texts_say_what_is_wrong(text, said):
    with pytest.raises(ValueError, match=said):
        parse_columns(text)
