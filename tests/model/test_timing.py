"""Where the times of slices come from, as flags and as text."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.times import format_bounded, format_time, plain_spaces
from viewer.model.timing import (
    TIMING_TEXTS,
    Timing,
    is_rounded_zero,
    kinds_of_time,
    parse_timing,
    rounded_zeros,
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
        (Timing.PLACED | Timing.SAMPLED, "placed, sampled"),
        (Timing.UNFINISHED, "unfinished"),
    ],
)
def test_a_combination_is_its_words(timing, text):
    assert timing_text(timing) == text
    assert parse_timing(text) == timing


def test_every_text_is_read_back_and_others_are_not():
    assert [parse_timing(text) for text in TIMING_TEXTS] == list(range(64))
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


def test_what_is_cut_to_0_has_a_bound_that_n_of_them_share():
    shown = [format_bounded(0, zeros, 1000) for zeros in (0, 1, 3, 1234)]
    assert list(map(plain_spaces, shown)) == ["0", "< 1 µs", "< 3 µs", "< 1.234 ms"]
    assert plain_spaces(format_bounded(0, 2, 1250.5)) == "< 2.501 µs"
    assert format_bounded(2000, 5, 1000) == format_time(2000)


@given(st.lists(st.integers(0, 999), min_size=1, max_size=20))
def test_the_bound_holds_for_whatever_was_cut(ns):
    """XNNPACK cuts to whole µs: n events of 0 took less than n µs together."""
    bound = plain_spaces(format_bounded(0, len(ns), 1000)).removeprefix("< ").removesuffix(" µs")
    assert sum(ns) < int(bound) * 1000


def test_only_a_duration_of_0_that_the_file_cuts_is_a_rounded_zero(data):
    trace = open_file(str(data / "etdump" / "attn_xnnpack_x5.etdp"))
    slices = trace.slices
    found = rounded_zeros(slices)
    assert len(found)
    for i in found.tolist():
        assert slices.start[i] == slices.end[i]
        assert is_rounded_zero(slices, i)
    measured = np.flatnonzero((slices.start == slices.end) & (timings(slices) == 0))
    assert not np.isin(measured, found).any()
    assert len(rounded_zeros(replace(slices, timing=None))) == 0
