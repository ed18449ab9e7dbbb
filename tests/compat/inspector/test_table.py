"""The two forms of the inspector's table: tab-separated text and a boxed grid."""

import csv
import io

from viewer.compat.inspector.answers import AnswerTable, shown_ops


def tsv(sheet: AnswerTable) -> str:
    file = io.BytesIO()
    sheet.write_tsv(file)
    return file.getvalue().decode()


def test_cells_of_every_kind():
    sheet = AnswerTable({"name": ["a\tb", 'say "x"'], "ms": [5e-05, None], "ops": [["x"], []],
                   "is": [True, False]})  # fmt: skip
    assert tsv(sheet) == (
        '\tname\tms\tops\tis\n0\t"a\tb"\t5e-05\t[\'x\']\tTrue\n1\t"say ""x"""\t\t[]\tFalse\n'
    )


def test_a_table_reads_back_whatever_its_names():
    names = ["tab\t", "line\nend", "", "ü☃", '"', "\ud800"]
    read = list(csv.reader(io.StringIO(tsv(AnswerTable({"name": names}))), delimiter="\t"))
    assert [row[1] for row in read[1:]] == [*names[:-1], "?"]


def test_numbers_stand_by_their_decimal_point():
    """As `tabulate(frame, headers="keys", tablefmt="fancy_grid")` has this very table."""
    sheet = AnswerTable({"name": ["a", "b", "c", "d"], "x (ms)": [0.0068310001, 5e-05, 12.0, None]})
    assert list(sheet.grid()) == [
        "╒════╤════════╤═══════════╕",
        "│    │ name   │    x (ms) │",
        "╞════╪════════╪═══════════╡",
        "│  0 │ a      │  0.006831 │",
        "├────┼────────┼───────────┤",
        "│  1 │ b      │  5e-05    │",
        "├────┼────────┼───────────┤",
        "│  2 │ c      │ 12        │",
        "├────┼────────┼───────────┤",
        "│  3 │ d      │           │",
        "╘════╧════════╧═══════════╛",
    ]


def test_a_table_without_rows_is_a_header():
    assert list(AnswerTable({"name": []}).grid()) == [
        "╒════╤════════╕",
        "│    │ name   │",
        "╘════╧════════╛",
    ]
    assert tsv(AnswerTable({"name": []})) == "\tname\n"


def test_a_row_of_the_grid_is_one_line_whatever_an_identifier_holds():
    lines = list(AnswerTable({"name": ["a\nb\x1b[31m", "卷积"]}).grid())
    assert len(lines) == 7
    assert "a\\nb\\x1b[31m" in lines[3]
    assert lines[5] == "│  1 │ 卷积         │"


def test_operators_from_five_on_are_counted():
    assert shown_ops(["a", "b", "c", "d"]) == ["a", "b", "c", "d"]
    assert shown_ops(["a", "b", "c", "d", "e"]) == "['a', 'b' ... 'e'] (5 total)"
