"""Cells of a workbook: places, types, and what is refused."""

import io
import zipfile

import pytest

from tests.builders.workbooks import workbook
from viewer.codecs.reading import UnreadableFile
from viewer.formats.torq.annotated_xlsx import MOST_COLUMNS, NoSheet, number_text, rows_of_sheet

ROWS = [["name", "a < b & c"], ["x", 1.5, None, True], [], ["", None, -3, False]]


def rows(data, title="t"):
    return list(rows_of_sheet(zipfile.ZipFile(io.BytesIO(data)), title))


@pytest.mark.parametrize("inline", [False, True])
def test_cells_are_texts_at_their_places(inline):
    assert rows(workbook(ROWS, "t", inline=inline)) == [
        ["name", "a < b & c"], ["x", "1.5", "", "True"], [], ["", "", "-3", "False"]
    ]  # fmt: skip


def test_columns_beyond_z():
    row = rows(workbook([list(range(60))], "t"))[0]
    assert row == [str(number) for number in range(60)]
    assert len(rows(workbook([list(range(1000))], "t"))[0]) == MOST_COLUMNS


@pytest.mark.parametrize(
    ("value", "text"),
    [("4812337551.125", "4812337551.125"), ("0.0", "0"), ("1E-3", "0.001"), ("1e300", "1e300"),
     ("2E3", "2000"), ("x", "x"), ("nan", "nan"), ("100", "100")],
)  # fmt: skip
def test_numbers_have_no_exponent(value, text):
    assert number_text(value) == text


def test_entities_are_refused_before_they_grow():
    bomb = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    with pytest.raises(NoSheet, match="document type"):
        rows(workbook(ROWS, "t", doctype=bomb))


def test_another_sheet_and_damaged_xml_are_named():
    with pytest.raises(NoSheet, match=r'no sheet "t" \(it has: other\)'):
        rows(workbook(ROWS, "other"))
    with pytest.raises(NoSheet, match="XML is damaged"):
        rows(workbook(ROWS, "t", doctype="<oops"))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("word/document.xml", "<a/>")
    with pytest.raises(NoSheet, match="no workbook"):
        rows(out.getvalue())


@pytest.mark.slow
def test_a_bomb_is_not_unpacked():
    data = workbook([["x"]], "t", doctype=" " * (64 << 20))
    with pytest.raises(UnreadableFile, match="grows 150 times"):
        rows(data)
