"""Rows with their lines: legal cells of several lines stay, and a wrong quote costs its own row."""

import csv
import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.runtime_files import snpe_csv
from tests.paths import DATA
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats import open_file, text_rows
from viewer.formats.text_rows import NUL, UNCLOSED, UNFIT, RowReader, TableRows
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock

WIDTH = 3
CELLS = st.sampled_from(
    [
        "a",
        "",
        " b ",
        "12",
        'x"y',
        '5" disk',
        "two\nlines",
        'say "so"',
        "a,b",
        "\n",
        '"',
        ',"\n',
        "é",
    ]
)
ROWS = st.lists(st.lists(CELLS, min_size=WIDTH, max_size=WIDTH), max_size=12)
PLAIN = st.lists(
    st.lists(st.sampled_from(["a", "", "12", "b c"]), min_size=WIDTH, max_size=WIDTH),
    min_size=1,
    max_size=12,
)


def parts_of(text: str, size: int) -> Iterator[list[str]]:
    lines = io.StringIO(text, newline="\n").readlines()
    return (lines[at : at + size] for at in range(0, len(lines), size))


def read(text: str, size: int = 3) -> list[list[str] | None]:
    return [row for _, row in RowReader(parts_of(text, size), ",", width=WIDTH)]


@given(rows=ROWS, size=st.integers(1, 9))
def test_legal_rows_are_those_of_the_csv_module_with_their_lines(rows, size):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    found = list(RowReader(parts_of(out.getvalue(), size), ",", width=WIDTH))
    assert [row for _, row in found] == rows
    lengths = [1 + "".join(row).count("\n") for row in rows]
    assert [line for line, _ in found] == [1 + sum(lengths[:at]) for at in range(len(rows))]


@given(rows=PLAIN, size=st.integers(1, 9), data=st.data())
def test_a_quote_too_many_at_the_start_of_a_cell_costs_its_row(rows, size, data):
    at = data.draw(st.integers(0, len(rows) - 1))
    cell = data.draw(st.integers(0, WIDTH - 1))
    lines = [",".join(['"' * (at == row and cell == column) + text
                       for column, text in enumerate(cells)])
             for row, cells in enumerate(rows)]  # fmt: skip
    text = "\n".join(lines) + "\n"
    assert read(text, size) == [None if row == at else cells for row, cells in enumerate(rows)]


@given(rows=PLAIN, size=st.integers(1, 9), data=st.data())
def test_a_lost_closing_quote_costs_its_row(rows, size, data):
    at = data.draw(st.integers(0, len(rows) - 1))
    lines = [
        ",".join(f'"{cell}, "' if column == 0 else cell for column, cell in enumerate(cells))
        for cells in rows
    ]
    lines[at] = lines[at].replace(', "', ", ", 1)
    expected = [[f"{cells[0]}, ", *cells[1:]] for cells in rows]
    found = read("\n".join(lines) + "\n", size)
    assert [row for number, row in enumerate(found) if number != at] == (
        expected[:at] + expected[at + 1 :]
    )
    assert found[at] is None


@given(text=st.text('",\nxy', max_size=60), size=st.integers(1, 9))
def test_every_line_is_in_a_row_and_the_work_is_bounded(text, size):
    class Counting(RowReader):
        fed = 0

        def _fed(self):
            for line in super()._fed():
                self.fed += 1
                yield line

    reader = Counting(parts_of(text, size), ",", width=WIDTH)
    numbers = [line for line, _ in reader]
    count = len(io.StringIO(text, newline="\n").readlines())
    assert numbers == sorted(set(numbers))
    assert numbers[:1] == ([1] if count else [])
    assert reader.fed <= count * (2 * WIDTH + 1)


def rows_of(tmp_path, text: str | bytes):
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    builder = TraceBuilder(str(path), "", "", Clock())
    rows = TableRows(str(path), builder, no_progress, never_cancelled)
    found = []
    for line, row in rows:
        if not rows.header:
            rows.header = row
        elif rows.fits(line, row):
            found.append((line, row))
    return found, [(p.kind, p.count, p.first) for p in builder.build().problems]


@pytest.mark.parametrize("chunk", [1, 30, 1 << 19])
def test_a_cell_of_several_lines_is_whole_at_the_edge_of_a_chunk(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(text_rows, "CHUNK", chunk)
    text = "a,b\n" + "".join(f'"one\ntwo, {n}",{n}\n' for n in range(9))
    found, problems = rows_of(tmp_path, text)
    assert found == [(2 + 2 * n, [f"one\ntwo, {n}", str(n)]) for n in range(9)]
    assert problems == []


@pytest.mark.parametrize(
    ("text", "lines", "problems"),
    [
        ("a,b\n1,2\n3,4", [2, 3], []),
        ("a,b\n1,2\n\n , \n3,4\n", [2, 5], []),
        ('a,b\n1,2\n"3,4\n5,6\n', [2, 4], [(UNCLOSED, 1, "line 3")]),
        ("a,b,c\n1,2,3\n4,5,67,8,9\n", [2], [(UNFIT, 2, "line 3")]),
        ("a,b\n1,2,3\n4\n", [], [(UNFIT, 3, "line 2")]),
        ("a,b\n1\0,2\n\0\0\n3,4\n", [2, 4], [(NUL, 3, "line 2")]),
        (b"a,b\n\xff,2\n", [2], [("invalid UTF-8: replaced", 1, "line 2")]),
    ],
)
def test_what_is_no_row_is_counted_with_its_line(tmp_path, text, lines, problems):
    found, counted = rows_of(tmp_path, text)
    assert [line for line, _ in found] == lines
    assert counted == problems


def test_rows_above_the_header_that_fit_it_are_counted(tmp_path):
    lines = snpe_csv(1).splitlines()
    path = tmp_path / "snpe.csv"
    path.write_text("\n".join(["made by hand", *lines[1:3], *lines]))
    (problem,) = open_file(str(path)).problems
    assert (problem.kind, problem.count) == ("row above the header: left out", 2)
    assert problem.first == "line 2"


@pytest.mark.parametrize(
    ("name", "slices", "problem"),
    [
        ("snpe/quote_swallows_snpe.csv", 9, (UNCLOSED, 1, "line 3")),
        ("tflite/tflite_header_damaged.txt", 3,
         ("row without a table that is known: left out", 3, "line 13")),
    ],
)  # fmt: skip
def test_a_damaged_file_shows_its_other_rows(name, slices, problem):
    trace = open_file(str(DATA / "regress" / name))
    assert len(trace.slices) == slices
    assert problem in [(p.kind, p.count, p.first) for p in trace.problems]


def test_files_one_after_another_are_read_on(tmp_path):
    path = tmp_path / "both.csv"
    path.write_text(snpe_csv(1) + snpe_csv(1))
    trace = open_file(str(path))
    assert len(trace.slices) == 2 * (len(snpe_csv(1).splitlines()) - 1)
    assert trace.problems == ()
