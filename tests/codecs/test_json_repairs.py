"""Bytes that are not UTF-8 in JSON: each is found as Python finds it, in one pass."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.codecs import json_repairs
from viewer.codecs.json_repairs import _Invalid

# Of whole characters of two, three and four bytes, of surrogates, and of none.
BYTES = b"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff\xed\xa0\xc0"
MANY = 300_000


def faults(text: bytes) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    position = 0
    while True:
        try:
            text[position:].decode()
        except UnicodeDecodeError as error:
            ranges.append((position + error.start, position + error.end))
            position += error.end
        else:
            return ranges


@pytest.mark.slow
@given(st.lists(st.sampled_from(BYTES), max_size=40).map(bytes), st.integers(4, 9))
def test_parts_have_the_faults_of_the_whole(text, window):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_repairs, "_WINDOW", window)
        assert _Invalid()[text] == faults(text)


@pytest.mark.slow
def test_many_faults_take_as_long_as_each():
    began = time.process_time()
    assert len(_Invalid()[b"\xff" * MANY]) == MANY
    assert time.process_time() - began < 5  # 0.2; with a copy of the rest for each, minutes
