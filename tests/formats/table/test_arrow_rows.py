"""pyarrow and the reader of lines read the same rows, and pyarrow reads them where it can."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.formats.table import arrow_rows, csv_lines
from viewer.formats.table.csv_rows import CsvBlock, Shape

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


def rows_of(block: CsvBlock | None):
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
    found = arrow_rows.parsed(text.encode(), SHAPE)
    if found is None:
        assert '"' in text  # quotes that do not fit, or may not
    else:
        assert rows_of(found) == rows_of(csv_lines.block_of(text, SHAPE))


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
    expected = rows_of(csv_lines.block_of(text, SHAPE))
    monkeypatch.setattr(arrow_rows, "block_of", None)
    assert rows_of(arrow_rows.parsed(text.encode(), SHAPE)) == expected


def test_a_hexadecimal_number_is_no_time():
    block = arrow_rows.parsed(b"a,1,b\na,0x10,b\n", SHAPE)
    assert block is not None
    assert block.numbers[1][1].tolist() == [True, False]
    assert block.odd == {1: (1, "0x10")}


@pytest.mark.parametrize("text", ['a,1,"b\n', '"a\n', 'a,1,b\na,1,"b,,,,,\n', '"a"\n"b'])
def test_a_quote_open_at_the_end_is_noticed(text):
    assert arrow_rows.parsed(text.encode(), SHAPE) is None


def test_invalid_bytes_are_counted():
    block = arrow_rows.parsed(b"a\xff,1,b\xfe\xef\xbf\xbd\n", SHAPE)
    assert block is not None
    assert block.replaced == 2
    assert block.texts[0].distinct == ["a\ufffd"]
