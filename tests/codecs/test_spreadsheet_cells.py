"""Texts as cells for spreadsheets: which are changed, how, and that each comes back."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.codecs.spreadsheet_cells import harmless, original


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+x",
        "-conv",
        "@x",
        "  =1",
        "\t1",
        "\r1",
        "\n=1",
        "＝1",
        "－x",
        "\u200b=1",
        "-",
        "-5 ns",
    ],
)
def test_what_a_spreadsheet_takes_for_a_formula_gets_an_apostrophe(text):
    assert harmless(text) == f"'{text}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "conv",
        "a=b",
        "-5",
        "+5",
        "-.5",
        "-1.5e-3",
        "'quoted",
        '["a", "b"]',
        "a\tb",
        "a\nb",
        "C:\\y",
    ],
)
def test_all_else_is_unchanged(text):
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\x00b\x7f\x9b", "a\\x00b\\x7f\\x9b"),
        ("\x0b=1", "\\x0b=1"),
        ("\\x1b", "\\\\x1b"),
        ("\\\x1b", "\\\\\\x1b"),
        ("=\x1b", "'=\\x1b"),
        ("'=1", "''=1"),
    ],
)
def test_control_characters_are_escapes(text, cell):
    assert harmless(text) == cell


def test_no_two_texts_become_the_same_cell():
    parts = ["'", "=", "\\", "x", "1", "b", "\x1b", " ", "-"]
    texts = ["".join(some) for n in range(5) for some in itertools.product(parts, repeat=n)]
    cells = list(map(harmless, texts))
    assert len(set(cells)) == len(texts)
    assert list(map(original, cells)) == texts


@given(st.text())
def test_any_text_comes_back(text):
    assert original(harmless(text)) == text


@pytest.mark.parametrize("cell", ["=1", "'quoted", "'", "'-5", "\\x41", "\x1b"])
def test_what_was_not_written_so_is_unchanged(cell):
    assert original(cell) == cell
