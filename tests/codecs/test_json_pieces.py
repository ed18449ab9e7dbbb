"""Objects, their numbers and the pieces of text between, beside Python's own parsers."""

import json
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.cell_spans import padded, spans_of
from viewer.codecs.json_pieces import NumberMembers, Numbers, Objects, Pieces, ShortTexts, key_end


@pytest.mark.parametrize("separators", [None, (",", ":")])
def test_numbers_are_found_by_key(separators):
    given = [
        {"name": "at: 3", "ts": i, "args": {"External id": -i, "tid": [i], "t": str(i)}, "dur": 1.5}
        for i in range(20)
    ]
    objects = Objects(json.dumps(given, separators=separators)[1:-1].encode())
    members = NumberMembers.of(objects)

    def found(*keys: str) -> list[float]:
        start = members.with_keys([key_end(key) for key in keys])
        return [json.JSONDecoder().raw_decode(objects.text.decode(), at)[0] for at in start]

    assert found("ts") == list(range(20))
    assert found("External id") == [-i for i in range(20)]
    assert found("s", "tid", "t", "name", "id") == []
    assert found("dur", "ts")[:4] == [0, 1.5, 1, 1.5]
    assert members.changing(objects) == {key_end("ts"): 1.0, key_end("External id"): 1.0}


def test_pieces_are_the_text_around_numbers():
    text = b'{"ts":12,"a":0,"dur":7},{"b":1},{"ts":3}'
    objects = Objects(text)
    start = np.array([6, 21, 38])
    pieces = Pieces.of(objects, start, start + np.array([2, 1, 1]))
    spans = zip(pieces.begin.tolist(), pieces.end.tolist(), strict=True)
    assert [text[a:b] for a, b in spans] == [
        b'{"ts":', b',"a":0,"dur":', b"}", b'{"b":1}', b'{"ts":', b"}"
    ]  # fmt: skip
    assert pieces.first.tolist() == [0, 3, 4]
    assert pieces.number.tolist() == [0, 1, 4]


NUMBERS = st.one_of(
    st.integers(-(10**18) + 1, 10**18 - 1).map(str),
    st.decimals(-(10**12), 10**12, places=6, allow_nan=False).map("{:f}".format),
    st.decimals(0, 10**9, places=3, allow_nan=False).map("{:f}".format),
    st.text("0123456789-.e ", max_size=22),
)


@pytest.mark.slow
@given(st.lists(NUMBERS.map(str.encode), min_size=1, max_size=30))
def test_numbers_are_those_of_json(cells):
    text, start, end = spans_of(cells)
    found = Numbers.at(padded(text), start)
    whole, fractions, exact = found.integers(), found.fractions(), found.are_exact()
    times = found.are_times(10**15)
    us = found.thousandths()
    for i, cell in enumerate(cells):
        if not found.good[i] or found.end[i] != end[i]:
            # What is left: long numbers, exponents, and what is no number.
            digits = cell.removeprefix(b"-").partition(b".")
            try:
                json.loads(cell)
            except ValueError:
                continue
            assert b"e" in cell or len(digits[0]) > 18 or len(digits[2]) > 8 or cell != cell.strip()
            continue
        value = json.loads(cell)
        if found.places[i] < 0:
            assert type(value) is int
            assert whole[i] == value
        else:
            assert found.places[i] == len(cell.partition(b".")[2])
            assert not exact[i] or fractions[i] == value
        if times[i]:
            assert us[0][i] + Decimal(int(us[1][i])) / 1000 == Decimal(cell.decode()) * 1000
    assert not times[found.minus].any()


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
@given(given_cells=st.lists(st.binary(min_size=1, max_size=8), min_size=1, max_size=50))
def test_short_texts_are_found_once_they_are_known(count, given_cells):
    # Of all sizes for so many words; equal ends and beginnings occur.
    shortest = 4 * count + 1 if count > 1 else 0
    cells = [(cell * 128)[: shortest + len(cell) * (count // 2 or 1) - 1] for cell in given_cells]
    text, start, end = spans_of(cells)
    codes_of = {cell: code for code, cell in enumerate(dict.fromkeys(cells))}
    table = ShortTexts(count)
    assert (table.find(padded(text), start, end - start) == -1).all()
    first = np.array([cells.index(cell) for cell in codes_of])
    table.add(padded(text), start[first], (end - start)[first], np.array(list(codes_of.values())))
    codes = table.find(padded(text), start, end - start).tolist()
    # Two texts may belong in one place: then the first is not found.
    assert all(code in (-1, codes_of[cell]) for code, cell in zip(codes, cells, strict=True))
    assert codes.count(-1) < len(codes)


@pytest.mark.parametrize("at", range(33, 65))
def test_texts_that_differ_in_one_byte_are_two(at):
    text = bytes(range(1, 65)).ljust(64 + 8, b" ")
    other = text[: at - 1] + b"\xff" + text[at:]
    table, one = ShortTexts(8), np.array([0])
    table.add(padded(text), one, np.array([at]), np.array([7]))
    assert table.find(padded(text), one, np.array([at])).tolist() == [7]
    assert table.find(padded(other), one, np.array([at])).tolist() == [-1]
    assert table.find(padded(text), one, np.array([at - 1])).tolist() == [-1]


def test_thousands_of_short_texts_are_found_and_more_are_not():
    cells = [b"operator number %d" % i for i in range(10_000, 30_000)]
    text, start, end = spans_of(cells)
    table = ShortTexts(4)
    for begin in range(0, 20_000, 1000):
        part = slice(begin, begin + 1000)
        table.add(padded(text), start[part], (end - start)[part], np.arange(begin, begin + 1000))
    codes = table.find(padded(text), start, end - start)
    is_found = codes >= 0
    assert (codes[is_found] == np.flatnonzero(is_found)).all()
    assert 7000 < np.count_nonzero(is_found) < 8192
