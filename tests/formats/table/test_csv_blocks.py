"""A CSV in blocks reads like the csv module's rows, wherever the blocks are cut.

pyarrow and the reader of lines read the same rows, and pyarrow reads them where it can.
"""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.formats.table import csv_rows
from viewer.formats.table.csv_rows import UNCLOSED, CsvBlock, Shape, blocks

SHAPE = Shape(",", 3, (1,), (0, 2))
TEXTS = [
    "a",
    "",
    "007",
    "NA",
    "null",
    "true",
    " x ",
    "é",
    "\ufffd",
    "\tt",
    "#",
    "'",
    "soft max 0x1",
]
QUOTED = ['"q,1"', '"two\nlines"', '"a ""b"""', '5" disk', ' "s"', '"u"v', '"\r\n"']
NUMBERS = [
    "0",
    "-5",
    "+7",
    " 8 ",
    "9.0",
    "007",
    "-0",
    "1e3",
    "0x10",
    "0XA",
    "",
    "x",
    "1_0",
    '"3"',
    "-",
]
LIMITS = [str(n + i) for n in (2**63, -(2**63), 2**62) for i in (-2, -1, 0, 1)]
WIDTHS = ["{},{},{}", "{},{},{},", "{},{},{},more", "{},{},{},,", "{},{}", "{}", "", "  "]


@st.composite
def tables(draw):
    """Mostly rows of the header's width, and some of any other."""
    texts = st.sampled_from(draw(st.sampled_from([TEXTS, [*TEXTS, *QUOTED]])))
    numbers = st.sampled_from(draw(st.sampled_from([["1", "2"], ["1", *NUMBERS, *LIMITS]])))
    widths = st.sampled_from(draw(st.sampled_from([WIDTHS[:1], WIDTHS[:4], WIDTHS])))
    ends = st.sampled_from(["\n", "\r\n"])
    rows = draw(st.lists(st.tuples(widths, texts, numbers, texts, ends), max_size=30))
    return "".join(width.format(*cells) + end for width, *cells, end in rows)


def rows_of_block(block: CsvBlock | None):
    if block is None:
        return None
    (values, ok), odd = block.numbers[1], block.odd.get(1)
    texts = [[part.distinct[code] for code in part.codes.tolist()] for part in block.texts.values()]
    numbers = [v if good else None for v, good in zip(values.tolist(), ok.tolist(), strict=True)]
    first = None if odd is None else (odd[0], odd[1].strip())
    return list(zip(numbers, *texts, (block.faults > 0).tolist(), strict=True)), first


@pytest.mark.slow
@given(text=tables())
def test_the_rows_are_those_of_its_lines(text):
    if not text:
        return
    found = csv_rows.parsed(text.encode(), SHAPE)
    if found is None:
        assert '"' in text  # quotes that do not fit, or may not
    else:
        assert rows_of_block(found) == rows_of_block(csv_rows.block_of(text, SHAPE))


@pytest.mark.parametrize(
    "text",
    [
        "a,1,b\n" * 9,
        "a,1,b,\n" * 9,
        "a,1\n" * 9,
        '"a, x",1,"b\nc"\n' * 9,
        "max 0x10,1,b\n" * 9,
        "a,1.5,b\n" * 9,
    ],
    ids=["plain", "a comma too many", "a cell too few", "quoted", "hexadecimal", "no whole number"],
)
def test_lines_are_not_needed(text, monkeypatch):
    expected = rows_of_block(csv_rows.block_of(text, SHAPE))
    monkeypatch.setattr(csv_rows, "block_of", None)
    assert rows_of_block(csv_rows.parsed(text.encode(), SHAPE)) == expected


def test_a_hexadecimal_number_is_no_time():
    block = csv_rows.parsed(b"a,1,b\na,0x10,b\n", SHAPE)
    assert block is not None
    assert block.numbers[1][1].tolist() == [True, False]
    assert block.odd == {1: (1, "0x10")}


@pytest.mark.parametrize("text", ['a,1,"b\n', '"a\n', 'a,1,b\na,1,"b,,,,,\n', '"a"\n"b'])
def test_a_quote_open_at_the_end_is_noticed(text):
    assert csv_rows.parsed(text.encode(), SHAPE) is None


def test_invalid_bytes_are_counted():
    block = csv_rows.parsed(b"a\xff,1,b\xfe\xef\xbf\xbd\n", SHAPE)
    assert block is not None
    assert block.replaced == 2
    assert block.texts[0].distinct == ["a\ufffd"]


WORDS = ["a", "", "007", "12345678901234567890", "1.50", "NA", "true", "x y", "é"]
CELLS = st.sampled_from([*WORDS, '"q,1"', '"two\nlines"'])
TIMES = st.sampled_from(["0", "-5", "+7", " 8 ", "9.0", str(2**61), "1e3", "", "x", str(2**63)])
ROWS = st.lists(st.tuples(CELLS, TIMES, CELLS, st.sampled_from(["", ",", ",more"])), max_size=40)


class InOrder:
    """A file that is only read in order, like one that is packed."""

    def __init__(self, text: bytes) -> None:
        file = io.BytesIO(text)
        self.read, self.readline, self.tell = file.read, file.readline, file.tell


def rows_of(text: bytes):
    found = []
    for block, _ in blocks(InOrder(text), "file.csv", SHAPE):
        values, ok = block.numbers[1]
        texts = [
            [block.texts[n].distinct[code] for code in block.texts[n].codes.tolist()]
            for n in SHAPE.texts
        ]
        numbers = [
            v if good else None for v, good in zip(values.tolist(), ok.tolist(), strict=True)
        ]
        found += zip(texts[0], numbers, texts[1], (block.faults > 0).tolist(), strict=True)
        assert len(found[-block.rows :] if block.rows else []) == block.rows
    return found


def number(cell: str) -> int | None:
    """A whole number as the format has it."""
    whole, dot, rest = cell.strip().partition(".")
    if (dot and rest.strip("0")) or not whole.lstrip("+-").isdigit():
        return None
    return int(whole) if abs(int(whole)) < 2**62 else None


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 17, 64, 1 << 20])
@given(rows=ROWS)
def test_rows_are_those_of_the_csv_module(size, rows):
    # Only a row of the header's width may have cells of several lines.
    text = "".join(f"{a},{b},{c}{'' if chr(10) in a + c else end}\n" for a, b, c, end in rows)
    expected = [
        (row[0], number(row[1]), row[2], "".join(row[3:4]) != "")
        for row in csv.reader(io.StringIO(text, newline=""))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_rows, "BLOCK", size)
        assert rows_of(text.encode()) == expected


def test_a_column_of_distinct_texts_is_read_the_same(monkeypatch):
    monkeypatch.setattr(csv_rows, "BLOCK", 256)
    text = "".join(f"{n:03},{n},same\n" for n in range(200))
    assert rows_of(text.encode()) == [(f"{n:03}", n, "same", False) for n in range(200)]


@pytest.mark.parametrize("block", [1, 100, 1 << 20])
def test_a_cell_in_quotes_is_in_one_block(monkeypatch, block):
    monkeypatch.setattr(csv_rows, "BLOCK", block)
    monkeypatch.setattr(csv_rows, "block_in_order", lambda *_: None)
    note = "line 1\nline, 2\n"
    text = "".join(f'"op {n}",{n},"{note}"\n' for n in range(50))
    assert rows_of(text.encode()) == [(f"op {n}", n, note, False) for n in range(50)]


def test_a_quote_that_is_only_a_character_may_be_anywhere(monkeypatch):
    monkeypatch.setattr(csv_rows, "BLOCK", 100)
    text = "".join(f'5" disk,{n},"a, b"\n' for n in range(51))
    assert rows_of(text.encode()) == [('5" disk', n, "a, b", False) for n in range(51)]


@pytest.mark.parametrize("block", [1, 100, 1 << 20])
def test_a_quote_that_is_never_closed_costs_its_row(monkeypatch, block):
    monkeypatch.setattr(csv_rows, "BLOCK", block)
    text = "a,1,c\n" * 60 + 'a,1,"c\n' + "a,1,c\n" * 60
    found = list(blocks(InOrder(text.encode()), "file.csv", SHAPE))
    faults = np.concatenate([part.faults for part, _ in found])
    assert faults.tolist() == [0] * 60 + [UNCLOSED] + [0] * 60
    assert found[-1][1] == len(text)


def test_the_place_behind_each_block_is_told(monkeypatch):
    monkeypatch.setattr(csv_rows, "BLOCK", 64)
    text = b"ab,1,c\n" * 50
    places = [at for _, at in blocks(InOrder(text), "file.csv", SHAPE)]
    assert places == sorted(places)
    assert places[-1] == len(text)
    assert np.diff([0, *places]).max() <= 2 * 64


def test_the_place_of_what_was_read_ahead_is_told(monkeypatch):
    monkeypatch.setattr(csv_rows, "BLOCK", 64)
    text = b'5" disk,1,c\n' * 51
    found = list(blocks(InOrder(text), "file.csv", SHAPE))
    assert sum(block.rows for block, _ in found) == 51
    places = [at for _, at in found]
    assert places == sorted(places)
    assert places[-1] == len(text)


@pytest.mark.parametrize("quoted", ["", '"q",1,c\n'])
def test_spaces_before_the_first_cell_stay_wherever_the_parser_gets_its_next_piece(quoted):
    # 1 MB, mostly spaces: the parser takes a quarter of that at once, of a block or of a stream.
    cells = [f"{n:>99}" for n in range(10_000)]
    text = quoted + "".join(f"{cell},1,c\n" for cell in cells)
    found = rows_of(text.encode())
    assert [row[0] for row in found[-len(cells) :]] == cells
