"""An annotated profile saved as a workbook is the trace of its CSV."""

import csv
import zipfile

import pytest

from tests.builders.workbooks import workbook
from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.torq.annotated_xlsx import _COLUMNS

TITLES = {column: title for title, column in _COLUMNS.items()}
FILES = ["annotated_a0_nss.csv", "annotated_a1_host.csv", "annotated_a3_latest.csv",
         "annotated_a3_latest_2inv.csv"]  # fmt: skip


def cell(text):
    """A cell as pandas writes it: numbers and truth values are no texts."""
    if text in ("True", "False"):
        return text == "True"
    try:
        return float(text)
    except ValueError:
        return text or None


def saved(name, tmp_path):
    with (DATA / "torq" / name).open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter=";")
    path = tmp_path / "profile.xlsx"
    path.write_bytes(workbook([[TITLES[c] for c in header], *([cell(c) for c in r] for r in rows)]))
    return path


@pytest.mark.parametrize("name", FILES)
def test_it_is_the_trace_of_the_csv(name, tmp_path):
    path = saved(name, tmp_path)
    trace, alone = open_file(str(path)), open_file(str(DATA / "torq" / name))
    assert trace.path == str(path)
    assert (trace.format, trace.generation) == (alone.format, alone.generation)
    for column in ("start", "end"):
        assert getattr(trace.slices, column).tolist() == getattr(alone.slices, column).tolist()
    assert list(map(trace.name, range(len(trace.slices)))) == list(
        map(alone.name, range(len(alone.slices)))
    )
    assert [p.kind for p in trace.problems] == [p.kind for p in alone.problems]


def test_another_workbook_says_what_it_is(tmp_path):
    path = tmp_path / "book.xlsx"
    path.write_bytes(workbook([["a", "b"]], "Sheet1"))
    with pytest.raises(UnreadableFile, match="an Office document, and no annotated profile"):
        open_file(str(path))
    path.write_bytes(workbook([["a", "b"], [1, 2]]))
    with pytest.raises(UnreadableFile, match="the sheet Detailed Performance Data: it is not"):
        open_file(str(path))


def test_a_damaged_workbook_says_so(tmp_path):
    path = saved(FILES[0], tmp_path)
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(UnreadableFile, match="this Office document is damaged"):
        open_file(str(path))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "x")
    with pytest.raises(UnreadableFile, match="it is no workbook"):
        open_file(str(path))
