"""Numbers as people write them: the right time, or a question, and never another time."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.formats.table.time_cells import Numbers
from viewer.formats.table.time_texts import EXPONENTS

SPACES = (" ", "\u00a0", "\u202f", "\u2009", "'", "’", "_")
UNITS = st.sampled_from(tuple(EXPONENTS))


def amounts(numbers: Numbers, texts: list[str], unit: str) -> list[Fraction | None]:
    """The times of texts in ns, None for those without."""
    cells = numbers.parse(texts, unit)
    assert not numbers.question
    ns, ps = cells.ns.copy(), cells.ps.copy()
    numbers.settle(ns, ps, cells.meaning)
    return [
        int(ns[i]) + Fraction(int(ps[i]), 1000) if cells.usable[i] else None
        for i in range(len(texts))
    ]


@st.composite
def written(draw, decimal: str):
    """A number, and a way to write it with a decimal separator."""
    whole = draw(st.integers(0, 10**7))
    digits = draw(st.text("0123456789", max_size=3))
    marks = [mark for mark in (*SPACES, ",", ".", "") if mark != decimal]
    mark = draw(st.sampled_from(marks))
    text = f"{whole:,}".replace(",", mark) + (f"{decimal}{digits}" if digits else "")
    sign = draw(st.sampled_from(("", "-", "+")))
    value = Fraction(f"{whole}.{digits or 0}")
    return sign + text, -value if sign == "-" else value


@pytest.mark.slow
@given(st.lists(written(","), min_size=1, max_size=8), UNITS, st.sampled_from(",;\t|"))
def test_a_time_is_right_or_asked_for_with_a_decimal_comma(pairs, unit, separator):
    check(pairs, unit, separator)


@pytest.mark.slow
@given(st.lists(written("."), min_size=1, max_size=8), UNITS, st.sampled_from(",;\t|"))
def test_a_time_is_right_or_asked_for_with_a_decimal_point(pairs, unit, separator):
    check(pairs, unit, separator)


def check(pairs, unit, separator):
    texts = [text for text, _ in pairs]
    numbers = Numbers(separator)
    numbers.parse(texts, unit)
    if numbers.question:
        return
    scale = Fraction(10) ** EXPONENTS[unit]
    found = amounts(Numbers(separator), texts, unit)
    for (text, value), amount in zip(pairs, found, strict=True):
        if separator == "," and text.lstrip("+-").count(".") == 1 and "," not in text:
            continue  # where commas separate columns, one point is that of decimals
        assert amount is None or abs(amount - value * scale) <= Fraction(1, 2000), text


@pytest.mark.slow
@given(st.lists(written(","), min_size=1, max_size=8), UNITS)
def test_a_stated_separator_reads_every_number(pairs, unit):
    scale = Fraction(10) ** EXPONENTS[unit]
    found = amounts(Numbers(";", "comma"), [text for text, _ in pairs], unit)
    for (text, value), amount in zip(pairs, found, strict=True):
        assert amount is not None, text
        assert abs(amount - value * scale) <= Fraction(1, 2000), text


@pytest.mark.parametrize(
    ("texts", "separator", "expected"),
    [
        (["1e3", "2.5E-1", "1E+2"], ",", [1000, Fraction(1, 4), 100]),
        (["1.234", "0.5"], ";", [Fraction(1234, 1000), Fraction(1, 2)]),
        (["1.234", "1.234.567"], ";", [1234, 1234567]),
        (["1,234", "0,5"], ";", [Fraction(1234, 1000), Fraction(1, 2)]),
        (["1,234", "12.5"], ";", [1234, Fraction(25, 2)]),
        (["1,234", "1,234,567"], ",", [1234, 1234567]),
        (["1.234"], ",", [Fraction(1234, 1000)]),
        (["0.123", "1.234"], "\t", [Fraction(123, 1000), Fraction(1234, 1000)]),
        (["1234.567", "1.234"], "|", [Fraction(1234567, 1000), Fraction(1234, 1000)]),
        (["1'234.5", "12 345"], ",", [Fraction(12345, 10), 12345]),
        ([".5", "5.", "+3", " 7 "], ",", [Fraction(1, 2), 5, 3, 7]),
    ],
)
def test_the_file_shows_what_its_numbers_mean(texts, separator, expected):
    assert amounts(Numbers(separator), texts, "ns") == expected


@pytest.mark.parametrize(
    "text",
    ["", "n/a", "NaN", "inf", "1 23", "1,23,456", "1.2.3", "12 m", "0x10", "1_0", "--1", "++1",
     "+-1", "1e", "1e999", "٣", "1,234.5.6", "[NULL]", "9" * 40],
)  # fmt: skip
def test_other_texts_are_no_times(text):
    assert amounts(Numbers(","), [text], "ns") == [None]


@pytest.mark.parametrize("texts", [["1,234"], ["1.234"], ["999.999", "5"], ["-1,234", "7"]])
def test_a_number_with_two_meanings_is_asked_for(texts):
    numbers = Numbers(";")
    numbers.parse(texts, "us")
    assert "may separate decimals or thousands" in numbers.question


@pytest.mark.parametrize("texts", [["1,5", "1.5"], ["1.234,5", "1,234.5"], ["1,234,567", "0,5"]])
def test_a_file_that_shows_both_separators_is_asked_for(texts):
    numbers = Numbers(";")
    numbers.parse(texts, "us")
    assert "a decimal point" in numbers.question
    assert "a decimal comma" in numbers.question


def test_what_later_rows_show_also_counts_for_earlier_ones():
    numbers = Numbers(";")
    early = numbers.parse(["1,234"], "us")
    assert numbers.question
    numbers.parse(["0,5"], "us")
    assert not numbers.question
    numbers.settle(early.ns, early.ps, early.meaning)
    assert (early.ns.tolist(), early.ps.tolist()) == ([1234], [0])
    assert early.ns.dtype == np.int64
