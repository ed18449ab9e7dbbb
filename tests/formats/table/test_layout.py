"""The layout of tables: separator, header, units and first rows; hostile heads are no tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.formats.table.layout import layout_of
from viewer.formats.table.time_texts import split_unit


@pytest.mark.parametrize(
    ("text", "names", "lines"),
    [
        ("a,b\n1,2\n", ("a", "b"), 1),
        ("sep=;\na;b\n1;2\n", ("a", "b"), 2),
        ("# x\n\n# a,b\n1,2\n3,4\n", ("a", "b"), 3),
        ("# a,b\nc,d\n1,2\n", ("c", "d"), 2),
        ("1,2\n3,4\n", ("column 1", "column 2"), 0),
        ('"two\nlines",b\n1,2\n', ("two lines", "b"), 2),
        ("a;b, c;d, e\n1;2,5;3,5\n", ("a", "b, c", "d, e"), 1),
        ("a\tb\n1,5\t2,5\n", ("a", "b"), 1),
        ("dur,dur,,x\n1,2,3,4\n", ("dur", "dur (2)", "", "x"), 1),
        ("a,b,\n1,2,\n", ("a", "b"), 1),
        ("a,b\n0,1,2\n1,3,4\n", ("", "a", "b"), 1),
        ("a,b,c\n1,2\n1,2,3\n", ("a", "b", "c"), 1),
    ],
)
def test_names_and_lines_before_the_rows(text, names, lines):
    layout = layout_of(text, whole=True)
    assert (layout.names, layout.lines) == (names, lines)


def test_a_row_of_units_is_no_row():
    layout = layout_of("name,start,dur\n,[us],ms\na,1,2\n", whole=True)
    assert layout.units == ("", "us", "ms")
    assert (layout.rows, layout.row_lines, layout.lines) == ((("a", "1", "2"),), (3,), 2)


def test_a_name_that_is_a_unit_is_a_row():
    layout = layout_of("name,start_us,dur_us\ns,x,y\nms,1,2\n", whole=True)
    assert len(layout.rows) == 2


def test_the_cut_line_of_a_head_is_no_row():
    assert layout_of("a,b\n1,2\n3,", whole=False).rows == (("1", "2"),)
    assert layout_of("a,b", whole=False) is None


@pytest.mark.parametrize(
    "text", ["", "\n\n", "one\ntwo\n", "# a\n# b\n", "sep=;", "sep=,\n", "\0,\0\n"]
)
def test_other_texts_are_no_tables(text):
    layout = layout_of(text, whole=True)
    assert layout is None or not layout.number_columns


@given(st.text(alphabet='a1,;\t|"\n#= ', max_size=60), st.booleans())
def test_any_text_has_a_layout_or_none(text, whole):
    layout = layout_of(text, whole=whole)
    if layout is not None:
        assert len(layout.names) == len(layout.units) >= 2
        assert len(layout.rows) == len(layout.row_lines)
        assert 0 <= layout.lines <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("start_us", ("start", "us")), ("dur (ms)", ("dur", "ms")), ("Start (ns)", ("Start", "ns")),
        ("durationNs", ("duration", "ns")), ("Start [µs]", ("Start", "us")),
        ("time in seconds", ("time", "s")), ("dur.ns", ("dur", "ns")), ("us", ("us", "")),
        ("status", ("status", "")), ("process", ("process", "")), ("dur_min", ("dur_min", "")),
        ("start (cycles)", ("start", "cycle")),
        ("exec_time_ns", ("exec_time", "ns")), ("ns_since_start", ("since_start", "ns")),
    ],
)  # fmt: skip
def test_units_of_names(name, expected):
    assert split_unit(name) == expected
