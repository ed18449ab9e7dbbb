"""Times relative to a ThreadDescriptor, as in Chrome's traces of 2019 to 2021."""

import random

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.formats.samples.test_reader import problems
from viewer.formats import open_file

BEGIN, END = ord("B"), ord("E")


class OldTrace:
    """Events of phases B, E and X with names that are interned, on some packet sequences."""

    def __init__(self) -> None:
        self.trace = pb.Trace()
        self._names: dict[int, dict[str, int]] = {}

    def packet(self, sequence):
        return self.trace.packet.add(trusted_packet_sequence_id=sequence)

    def thread(self, sequence, time, *, cleared=True, thread_time=0, instructions=0):
        """A descriptor: pid 10, the sequence is the tid. It restarts the differences."""
        packet = self.packet(sequence)
        if cleared:
            packet.sequence_flags = 1
            self._names[sequence] = {}
        own = packet.thread_descriptor
        own.pid, own.tid, own.thread_name = 10, sequence, f"t{sequence}"
        own.reference_timestamp_us, own.reference_thread_time_us = time, thread_time
        own.reference_thread_instruction_count = instructions

    def event(self, sequence, phase, name, delta=None, absolute=None, duration=0, **more):
        packet = self.packet(sequence)
        packet.sequence_flags = 2
        names = self._names[sequence]
        if name and name not in names:
            names[name] = len(names) + 1
            packet.interned_data.event_names.add(iid=names[name], name=name)
        event = packet.track_event
        if delta is not None:
            event.timestamp_delta_us = delta
        if absolute is not None:
            event.timestamp_absolute_us = absolute
        legacy = event.legacy_event
        legacy.phase = phase
        if name:
            legacy.name_iid = names[name]
        if duration:
            legacy.duration_us = duration
        for field, value in more.items():
            setattr(event, field, value)
        return packet

    def save(self, folder):
        path = folder / "old.pftrace"
        path.write_bytes(self.trace.SerializeToString())
        return path


def random_trace(seed):
    """A trace of two threads, and its slices: (thread, name, start, duration) in ns."""
    dice, made, meant = random.Random(seed), OldTrace(), []
    time, open_ = {}, {}
    for sequence in (1, 2):
        time[sequence], open_[sequence] = dice.randint(0, 10**12), []
        made.thread(sequence, time[sequence])
    for _ in range(200):
        sequence = dice.choice((1, 2))
        if dice.random() < 0.05:
            time[sequence] += dice.randint(0, 1000)
            made.thread(sequence, time[sequence], cleared=dice.random() < 0.5)
        delta = dice.choice((0, 1, 7, 10_000))
        time[sequence] += delta
        stack, now = open_[sequence], 1000 * time[sequence]
        if stack and dice.random() < 0.5:
            name, begin = stack.pop()
            meant.append((f"t{sequence}", name, begin, now - begin))
            made.event(sequence, END, "", delta)
        elif len(stack) < 5 and dice.random() < 0.7:
            stack.append((dice.choice("abc"), now))
            made.event(sequence, BEGIN, stack[-1][0], delta)
        else:
            # An absolute time is that of its event alone.
            at = time[sequence] + 3
            made.event(sequence, ord("I"), "mark", None, at)
            meant.append((f"t{sequence}", "mark", 1000 * at, 0))
            time[sequence] -= delta
    for sequence, stack in open_.items():
        while stack:
            name, begin = stack.pop()
            made.event(sequence, END, "", 1)
            time[sequence] += 1
            meant.append((f"t{sequence}", name, begin, 1000 * time[sequence] - begin))
    return made, sorted(meant)


def slices(trace):
    s = trace.slices
    return sorted(
        (trace.tracks[s.track(i)].thread, trace.name(i), int(s.start[i]),
         int(s.end[i] - s.start[i]))
        for i in range(len(s))
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_differences_add_up_from_the_last_descriptor(tmp_path, seed):
    made, meant = random_trace(seed)
    trace = open_file(str(made.save(tmp_path)))
    assert slices(trace) == meant
    assert trace.problems == ()


def test_blocks_of_a_file_go_on_with_the_differences(tmp_path, monkeypatch):
    monkeypatch.setattr("viewer.formats.perfetto.packets.BLOCK", 300)
    made, meant = random_trace(3)
    assert slices(open_file(str(made.save(tmp_path)))) == meant


def test_lost_packets_end_the_reference(tmp_path):
    made = OldTrace()
    made.thread(1, 100)
    made.event(1, BEGIN, "a", 5)
    made.event(1, END, "", 5)
    made.event(1, ord("I"), "lost", 5).previous_packet_dropped = 1
    made.thread(1, 500)
    made.event(1, ord("I"), "b", 5)
    trace = open_file(str(made.save(tmp_path)))
    assert slices(trace) == [("t1", "a", 105_000, 5000), ("t1", "b", 505_000, 0)]


def test_without_a_descriptor_an_event_has_no_time(tmp_path):
    made = OldTrace()
    made.thread(1, 100)
    made._names[2] = {}
    made.event(2, BEGIN, "a", 5).sequence_flags = 1
    made.event(1, ord("I"), "b", 5)
    trace = open_file(str(made.save(tmp_path)))
    assert slices(trace) == [("t1", "b", 105_000, 0)]
    assert problems(trace) == {
        "events with times relative to a descriptor that is missing: left out": 1
    }


def test_times_are_of_the_monotonic_clock_if_a_snapshot_relates_it(tmp_path):
    made = OldTrace()
    snapshot = made.packet(9).clock_snapshot
    snapshot.clocks.add(clock_id=6, timestamp=1_000_000)
    snapshot.clocks.add(clock_id=3, timestamp=400_000)
    made.thread(1, 500)
    made.event(1, ord("X"), "a", 100, duration=7)
    made.event(1, ord("I"), "b", absolute=900)
    trace = open_file(str(made.save(tmp_path)))
    assert slices(trace) == [("t1", "a", 1_200_000, 7000), ("t1", "b", 1_500_000, 0)]


def test_thread_times_and_instructions_are_counters(tmp_path):
    made = OldTrace()
    made.thread(1, 0, thread_time=50, instructions=1000)
    made.event(1, BEGIN, "a", 10, thread_time_delta_us=4, thread_instruction_count_delta=100)
    made.event(1, END, "", 10, thread_time_delta_us=6, thread_instruction_count_delta=20)
    trace = open_file(str(made.save(tmp_path)))
    found = {c.name: (c.tick.tolist(), c.value.tolist()) for c in trace.counters}
    assert found == {
        "t1 › thread_time": ([10_000, 20_000], [54_000, 60_000]),
        "t1 › thread_instruction_count": ([10_000, 20_000], [1100, 1120]),
    }


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1, 2**52])
def test_hostile_differences_cost_their_events(tmp_path, value):
    made = OldTrace()
    made.thread(1, 100)
    made.event(1, ord("I"), "far", value)
    made.event(1, ord("I"), "near", 1)
    made.thread(1, value, cleared=False)
    made.event(1, ord("I"), "other", 1)
    trace = open_file(str(made.save(tmp_path)))
    assert ("t1", "near", 101_000, 0) in slices(trace)
    assert len(trace.slices) <= 2
