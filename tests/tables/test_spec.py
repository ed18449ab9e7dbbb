"""A column is defined once: its value, its missing values, and its former names."""

from fractions import Fraction
from types import SimpleNamespace

from viewer.tables.columns import CALLED_FROM, ColumnSpec, TableSpec, former, ticks_and_ns

SELF = ticks_and_ns("self", "Time of it", "time.self", lake=2)
TABLE = TableSpec(
    "parts",
    (
        ColumnSpec("name", "category", "Name", "name"),
        ColumnSpec("text", "string", "Text", lambda row: row.name[:1]),
        *SELF,
        CALLED_FROM,
        *former("own", SELF),
    ),
)


def part(name, ticks):
    return SimpleNamespace(name=name, rate=Fraction(5, 4), time=SimpleNamespace(self=ticks))


def test_a_row_has_the_columns_with_a_value():
    assert TABLE.row(part("a", 3)) == {
        "name": "a", "text": "a", "self_ticks": 3, "self_ns": 3, "own_ticks": 3, "own_ns": 3,
    }  # fmt: skip
    assert "called_from" in TABLE.names


def test_an_empty_category_is_missing_and_an_empty_text_is_not():
    row = TABLE.row(part("", None))
    assert (row["name"], row["text"], row["self_ns"]) == (None, "", None)


def test_rows_are_arrays_of_values():
    columns = TABLE.arrays([part("a", 4), part("b", 8)])
    assert columns["name"].tolist() == ["a", "b"]
    assert columns["self_ns"].tolist() == columns["own_ns"].tolist() == [5, 10]


def test_a_former_name_states_the_new_one_and_is_in_no_later_schema():
    ticks, ns = former("own", SELF)
    assert (ticks.name, ticks.meaning) == ("own_ticks", "Former name of self_ticks")
    assert (ns.name, ns.lake, SELF[1].lake) == ("own_ns", 0, 2)
