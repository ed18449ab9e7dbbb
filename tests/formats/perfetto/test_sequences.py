"""Clocks of a Perfetto file: steps that are summed up, and times that no clock can have."""

import numpy as np
import pytest

from tests.formats.perfetto.test_reader import BEGIN, CLEARED, END, NEEDS, Writer, slices_of
from viewer.formats import open_file
from viewer.formats.perfetto.sequences import LATEST, sum_times

TOO_LATE = "events whose times do not fit 64 bits: left out"


def summed(steps, base, unit):
    return sum_times(np.array(steps, np.int64), base, unit).tolist()


def test_steps_of_a_clock_are_summed_in_its_unit():
    assert summed([1, 2, 0, 4], 3000, 1000) == [4000, 6000, 6000, 10_000]
    assert summed([], 5, 7) == []


def test_steps_end_before_a_time_that_does_not_fit():
    assert summed([1, 2**40, 1], 0, 2**30) == [2**30]
    assert summed([0, 0, 1, 0], 9, 2**63) == [9, 9]
    assert summed([1], 2**63, 1) == summed([-1], 0, 1) == []
    assert summed([2**61], LATEST - 2**61, 1) == [LATEST]
    assert summed([2**61], LATEST - 2**61 + 1024, 1) == []


def trace_of(path, clock, times):
    """A slice at 10 on the main clock, and one per pair of times on clock 64 with these fields."""
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    packet = w.packet(1, sequence_flags=CLEARED | NEEDS)
    packet.clock_snapshot.clocks.add(clock_id=6, timestamp=5000)
    packet.clock_snapshot.clocks.add(clock_id=64, **clock)
    w.event(10, BEGIN, 11, "first")
    w.event(30, END, 11)
    for number, time in enumerate(times):
        packet = w.packet(1, timestamp=time, timestamp_clock_id=64, sequence_flags=NEEDS)
        packet.track_event.type, packet.track_event.track_uuid = (BEGIN, END)[number % 2], 11
        packet.track_event.name = "late"
    return open_file(str(w.save(path)))


@pytest.mark.parametrize(
    ("clock", "times"),
    [
        ({"timestamp": 0, "is_incremental": True, "unit_multiplier_ns": 2**62}, (1, 9)),
        ({"timestamp": 2**64 - 1, "is_incremental": True}, (1, 1)),
        ({"timestamp": 1, "unit_multiplier_ns": 2**64 - 1}, (3, 4)),
        ({"timestamp": 1, "unit_multiplier_ns": 1000}, (2**63, 2**64 - 1)),
    ],
)
def test_events_at_times_that_do_not_fit_are_counted_and_left_out(tmp_path, clock, times):
    trace = trace_of(tmp_path, clock, times)
    assert slices_of(trace) == {("app", "worker", "first", 10, 20, 0): 1}
    assert [(p.count, p.kind) for p in trace.problems] == [(2, TOO_LATE)]
