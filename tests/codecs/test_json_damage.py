"""Repairs of JSON with hostile strings take as long as the text is, and no square of it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.codecs.json_repairs import Repair

# Quotes that are escaped, bare, or without an end; what ends objects; numbers and escapes that are
# repaired.
FRAGMENTS = (
    '"', '\\"', "\\", "\\\\", "},{", '},{"ph":"X"', '},{\\"ph\\":\\"X\\"', "[", ":", ",", "nan",
    "-inf ", "\\u12", "\\x", "\n", "\x01", "é", " ",
)  # fmt: skip
LONG = 100_000
SECONDS = 5  # of text that takes 0.1; the square of it took minutes


@pytest.mark.slow
@pytest.mark.parametrize("head", ["", '"', '{"x":"'])
@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_long_texts_of_one_fragment_are_repaired_at_once(head, fragment):
    text = head + fragment * (LONG // len(fragment))
    began = time.process_time()
    for is_escaped in (True, False):
        Repair(text, is_escaped=is_escaped)
    assert time.process_time() - began < SECONDS


@pytest.mark.slow
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join))
def test_only_what_follows_a_quote_without_an_end_differs_from_a_scan_of_each_quote(text):
    repaired = Repair(text).text
    end = _end_of_strings(text)
    if end == len(text):
        return
    # It is no JSON before the repair, nor after it: the string has no end.
    assert repaired.startswith(Repair(text[:end]).text + '"')
    assert _end_of_strings(repaired) < len(repaired)


def _end_of_strings(text: str) -> int:
    """Where the first quote is that no quote closes; the length of a text without such a quote."""
    position = 0
    while (begin := text.find('"', position)) >= 0:
        position = begin + 1
        while position < len(text) and text[position] != '"':
            position += 1 + (text[position] == "\\")
        if position >= len(text):
            return begin
        position += 1
    return len(text)
