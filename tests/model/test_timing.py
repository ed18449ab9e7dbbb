"""Where the times of slices come from, as flags and as text."""

from dataclasses import replace

import numpy as np
import pytest

from viewer.model.building.builder import TraceBuilder
from viewer.model.timing import (
    TIMING_TEXTS,
    Timing,
    kinds_of_time,
    parse_timing,
    timing_of,
    timing_sentence,
    timing_text,
    timings,
)
from viewer.model.trace import Clock, Column, KeyKind, Slices

XNNPACK = Timing.PLACED | Timing.ROUNDED


def made(*, timing=None, derived=None, native=None) -> Slices:
    """Four slices one after another."""
    builder = TraceBuilder("a.csv", "Profile CSV", "", Clock())
    start = np.arange(4) * 10
    columns = {}
    if native is not None:
        columns["native_dur"] = Column(np.arange(4), np.array(native))
    builder.add(
        track=builder.track("p", "t"),
        start=start,
        end=start + 5,
        name=builder.intern("a"),
        key=builder.key(KeyKind.PLAIN, "a"),
        derived=None if derived is None else np.array(derived),
        columns=columns,
        timing=None if timing is None else np.array(timing, np.uint8),
    )
    return builder.build().slices


@pytest.mark.parametrize(
    ("timing", "text"),
    [
        (Timing.MEASURED, "measured"),
        (XNNPACK, "placed, rounded"),
        (Timing.ESTIMATED, "estimated"),
        (Timing.DERIVED, "derived"),
    ],
)
def test_a_combination_is_its_words(timing, text):
    assert timing_text(timing) == text
    assert parse_timing(text) == timing


def test_every_text_is_read_back_and_others_are_not():
    assert [parse_timing(text) for text in TIMING_TEXTS] == list(range(16))
    assert (parse_timing(""), parse_timing("rounded, placed"), parse_timing("x")) == (0, None, None)


def test_what_a_file_measured_needs_no_array():
    slices = made(timing=[0, 0, 0, 0])
    assert slices.timing is None
    assert timings(slices).tolist() == [0, 0, 0, 0]
    assert kinds_of_time(slices) == ("measured",)


def test_derived_slices_are_that_alone_and_a_clock_of_its_own_places_a_slice():
    slices = made(
        timing=[0, XNNPACK, XNNPACK, Timing.ESTIMATED],
        derived=[False, False, True, False],
        native=[True, False, False, False],
    )
    expected = [Timing.PLACED, XNNPACK, Timing.DERIVED, Timing.ESTIMATED]
    assert timings(slices).tolist() == expected
    assert [timing_of(slices, i) for i in range(4)] == expected
    assert kinds_of_time(slices) == ("placed", "rounded", "estimated", "derived")
    assert [timing_sentence(slices, i) for i in range(4)] == [
        "start and length placed for drawing",
        "start placed, duration rounded to 1\u202fµs",
        "derived",
        "estimated, not measured",
    ]
    assert slices.timing is not None
    assert not slices.timing.flags.writeable
    assert timing_sentence(replace(slices, columns={}), 0) == "measured"
