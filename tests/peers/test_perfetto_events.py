"""Flows, counters and legacy events of Perfetto traces beside those of trace_processor.

Where it differs, the test says what the file states and that we follow it.
"""

from collections import Counter

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.formats.perfetto.test_reader import BEGIN, CLEARED, COUNTER, END, INSTANT, NEEDS, Writer
from tests.peers.events import events_of_both
from tests.peers.trace_processor import TraceProcessor

pytestmark = pytest.mark.slow

IN, OUT, INOUT = 1, 2, 3
THREADS = """
    select slice.name, tid from slice join thread_track on thread_track.id = slice.track_id
    join thread using (utid)
"""


class Legacy(Writer):
    """A trace of two threads of one process, with legacy events."""

    def __init__(self) -> None:
        super().__init__()
        self.thread(11, 5, 6, "main", "app")
        self.thread(12, 5, 7, "gpu")

    def slice(self, name, start, end, track=11, **legacy):
        """A slice, with fields of its legacy event."""
        event = self.event(start, BEGIN, track, name)
        for key, value in legacy.items():
            setattr(event.legacy_event, key, value)
        self.event(end, END, track)
        return event

    def legacy(self, phase, ts, name="", track=11, category="", **fields):
        """An event with a phase and no type."""
        event = self.packet(timestamp=ts).track_event
        event.track_uuid = track
        if name:
            event.name = name
        if category:
            event.categories.append(category)
        event.legacy_event.phase = ord(phase)
        for key, value in fields.items():
            setattr(event.legacy_event, key, value)
        return event

    def some(self):
        """Slices on both threads."""
        self.slice("x", 10, 20)
        self.slice("p", 25, 35, 12)
        self.slice("y", 30, 40)
        self.slice("q", 50, 60, 12)

    def counter(self, uuid, name, **fields):
        """Describe a counter."""
        d = self.packet(9).track_descriptor
        d.uuid, d.parent_uuid = uuid, 1005
        if name:
            d.name = name
        d.counter.SetInParent()
        for key, value in fields.items():
            setattr(d.counter, key, value)


def both(tmp_path, w):
    """What is read and what trace_processor has: flows, slices and counter values."""
    return events_of_both(w.save(tmp_path))


# -- flows ----------------------------------------------------------------------------------------


def bound(w):
    w.slice("a", 10, 20, bind_id=7, flow_direction=OUT)
    w.slice("b", 30, 40, 12, bind_id=7, flow_direction=INOUT)
    w.slice("c", 50, 60, bind_id=7, flow_direction=IN)
    w.slice("d", 70, 80, bind_id=7, flow_direction=IN)
    w.slice("lone", 90, 95, bind_id=8, flow_direction=IN)


def bound_and_flow_ids(w):
    w.slice("a", 10, 20, bind_id=7, flow_direction=OUT)
    w.slice("b", 30, 40, 12).terminating_flow_ids.append(7)
    w.slice("c", 50, 60, bind_id=7, flow_direction=IN)


def bound_async(w):
    for ts, phase, direction in ((10, "b", OUT), (15, "n", INOUT), (20, "e", 0)):
        fields = {"bind_id": 3, "flow_direction": direction} if direction else {}
        w.legacy(phase, ts, f"as {phase}" if phase == "n" else "as", category="c", unscoped_id=1,
                 **fields)  # fmt: skip
    w.slice("c", 50, 60, bind_id=3, flow_direction=IN)


def phases(w):
    w.some()
    w.legacy("s", 12, "f", category="c", unscoped_id=1)
    w.legacy("t", 26, "f", 12, category="c", unscoped_id=1)
    w.legacy("f", 55, "f", 12, category="c", unscoped_id=1, bind_to_enclosing=True)
    w.legacy("f", 56, "g", 12, category="c", unscoped_id=1, bind_to_enclosing=True)
    w.legacy("f", 57, "f", 12, category="d", unscoped_id=1, bind_to_enclosing=True)


def next_slice(w):
    w.some()
    w.legacy("s", 12, "f", category="c", unscoped_id=1)
    w.legacy("f", 38, "f", 12, category="c", unscoped_id=1)


def ends_carry_ids(w):
    first, second = w.slice("long", 0, 100), w.slice("short", 50, 60, 12)
    w.slice("last", 120, 130).flow_ids.append(4)
    second.flow_ids.append(4)
    assert first.track_uuid == 11
    for packet in w.trace.packet:
        if packet.timestamp == 100:
            packet.track_event.flow_ids.append(4)


def instants(w):
    w.slice("a", 0, 10).flow_ids.append(4)
    w.event(20, INSTANT, 12, "mark").flow_ids.append(4)


@pytest.mark.parametrize(
    "made",
    [bound, bound_and_flow_ids, bound_async, phases, next_slice, ends_carry_ids, instants],
)
def test_flows_as_in_the_engine(tmp_path, made):
    w = Legacy()
    made(w)
    _, ours, theirs = both(tmp_path, w)
    assert ours[:2] == theirs[:2]
    assert ours[0]


def test_a_flow_leads_as_its_events_state(tmp_path):
    """trace_processor ignores the second begin of an id, and takes ids alone that are unscoped."""
    w = Legacy()
    w.some()
    for start, end, id in ((12, 26, 1), (32, 55, 1)):
        w.legacy("s", start, "f", unscoped_id=id)
        w.legacy("f", end, "f", 12, unscoped_id=id, bind_to_enclosing=True)
    w.legacy("s", 13, "g", local_id=1)
    w.legacy("f", 56, "g", 12, local_id=1, bind_to_enclosing=True)
    _, ours, theirs = both(tmp_path, w)
    assert ours[0] == Counter([("x", "p"), ("y", "q"), ("x", "q")])
    assert theirs[0] == Counter([("x", "p"), ("x", "q")])


# -- legacy async events and instants -------------------------------------------------------------


def nested(w):
    w.legacy("b", 10, "load", category="io", unscoped_id=1)
    w.legacy("b", 20, "part", category="io", unscoped_id=1)
    w.legacy("n", 25, "half", category="io", unscoped_id=1)
    w.legacy("e", 30, "part", category="io", unscoped_id=1)
    w.legacy("e", 90, "load", 12, category="io", unscoped_id=1)


def by_category(w):
    for ts, phase, category in (
        (10, "b", "io"), (20, "b", "net"), (30, "e", "io"), (60, "e", "net")
    ):  # fmt: skip
        w.legacy(phase, ts, f"load {category}", category=category, unscoped_id=1)


def local_and_global(w):
    w.thread(13, 8, 9, "other", "app 2")
    for ts, phase, track, field in (
        (10, "b", 11, "local_id"), (20, "b", 13, "local_id"), (30, "e", 12, "local_id"),
        (70, "e", 13, "local_id"), (15, "b", 11, "global_id"), (90, "e", 13, "global_id"),
    ):  # fmt: skip
        w.legacy(phase, ts, f"{field} {'g' if field[0] == 'g' else track == 13}", track,
                 category="c", **{field: 5})  # fmt: skip


def scoped(w):
    for ts, phase, scope in ((10, "b", "A"), (20, "b", "B"), (30, "e", "A"), (60, "e", "B")):
        w.legacy(phase, ts, "load", category="io", unscoped_id=1, id_scope=scope)


def older(w):
    w.legacy("S", 10, "load", category="io", unscoped_id=1)
    w.legacy("S", 15, "other", category="io", unscoped_id=1)
    w.legacy("T", 20, "load", category="io", unscoped_id=1)
    w.legacy("F", 40, "other", category="io", unscoped_id=1)
    w.legacy("F", 90, "load", category="io", unscoped_id=1)


def instant_scopes(w):
    w.slice("a", 0, 100)
    for ts, scope in ((10, 1), (20, 2), (30, 3), (40, 0)):
        w.legacy("I", ts, f"scope {scope}", instant_event_scope=scope)


@pytest.mark.parametrize(
    "made", [nested, by_category, local_and_global, scoped, older, instant_scopes]
)
def test_legacy_slices_as_in_the_engine(tmp_path, made):
    w = Legacy()
    made(w)
    _, ours, theirs = both(tmp_path, w)
    assert ours[1] == theirs[1]
    assert len(ours[1]) > 1


def test_async_slices_that_do_not_nest_keep_their_lengths(tmp_path):
    w = Legacy()
    for ts, phase, name in ((10, "b", "a"), (20, "b", "b"), (40, "e", "a"), (90, "e", "b")):
        w.legacy(phase, ts, name, category="io", unscoped_id=1)
    trace, ours, theirs = both(tmp_path, w)
    assert ours[1] == Counter([("a", 10, 30), ("b", 20, 70)])
    assert theirs[1] == Counter([("a", 10, 30), ("b", 20, 20)])
    assert {(t.process, t.thread) for t in trace.tracks if t.thread[0] == "a"} == {
        ("app", "a · 0x1")
    }


def test_an_end_with_another_name_ends_the_innermost_slice(tmp_path):
    """Perfetto documents that an end need not repeat the name. trace_processor leaves it open."""
    w = Legacy()
    for ts, kind, name in ((10, BEGIN, "a"), (20, BEGIN, "b"), (30, END, "c"), (40, END, "a")):
        w.event(ts, kind, 11, name)
    _, ours, theirs = both(tmp_path, w)
    assert ours[1] == Counter([("a", 10, 30), ("b", 20, 10)])
    assert theirs[1] == Counter([("a", 10, 30), ("b", 20, -1)])


def test_events_of_another_process_and_thread(tmp_path):
    w = Legacy()
    d = w.packet(2, sequence_flags=CLEARED).track_descriptor
    d.uuid = 33
    d.thread.pid, d.thread.tid, d.thread.thread_name = 5, 40, "own"
    w.packet(2, timestamp=0).thread_descriptor.pid = 5
    w.trace.packet[-1].thread_descriptor.tid = 40
    for ts, phase, tid in ((10, "B", 41), (30, "E", 41), (20, "B", 0), (50, "E", 0)):
        event = w.packet(2, timestamp=ts).track_event
        event.name, event.legacy_event.phase = f"on {tid}", ord(phase)
        if tid:
            event.legacy_event.tid_override = tid
    trace, ours, theirs = both(tmp_path, w)
    assert ours[1] == theirs[1] == Counter([("on 41", 10, 20), ("on 0", 20, 30)])
    assert {(t.process, t.thread) for t in trace.tracks} >= {("app", "thread 41"), ("app", "own")}


def test_events_with_a_phase_and_track_0_are_on_the_thread_of_their_sequence(tmp_path):
    w = Legacy()
    described = w.packet(sequence_flags=CLEARED).track_descriptor
    described.uuid, described.thread.pid, described.thread.tid = 12, 5, 7
    for ts, phase in ((10, "B"), (40, "E")):
        w.legacy(phase, ts, "of gpu", track=0)
    w.event(20, BEGIN, 0, "of the trace")
    w.event(30, END, 0)
    trace, ours, theirs = both(tmp_path, w)
    assert ours[1] == theirs[1] == Counter([("of gpu", 10, 30), ("of the trace", 20, 10)])
    with TraceProcessor(tmp_path / "made.pftrace") as peer:
        assert peer.rows(THREADS) == [("of gpu", 7)]
    s = trace.slices
    found = {trace.name(i): trace.tracks[s.track(i)] for i in range(len(s))}
    assert {name: (t.process, t.thread) for name, t in found.items()} == {
        "of gpu": ("app", "gpu"), "of the trace": ("Trace", "events without a track"),
    }  # fmt: skip


# -- counters -------------------------------------------------------------------------------------


def further_values(w):
    w.counter(21, "ints")
    w.counter(22, "below")
    w.counter(23, "real")
    for number, (ints, real) in enumerate((((1, -5), 0.5), ((2, -6), -0.5))):
        event = w.slice(f"s{number}", 100 * number, 100 * number + 50)
        event.extra_counter_track_uuids.extend([21, 22])
        event.extra_counter_values.extend(ints)
        event.extra_double_counter_track_uuids.append(23)
        event.extra_double_counter_values.append(real)


def values_by_default(w):
    w.counter(21, "ints")
    w.counter(22, "real")
    packet = w.packet(1, sequence_flags=CLEARED | NEEDS)
    defaults = packet.trace_packet_defaults.track_event_defaults
    defaults.track_uuid = 11
    defaults.extra_counter_track_uuids.append(21)
    defaults.extra_double_counter_track_uuids.append(22)
    for ts, type, value in ((10, BEGIN, -4), (20, END, 6), (30, INSTANT, 7)):
        event = w.packet(1, timestamp=ts, sequence_flags=NEEDS).track_event
        event.type = type
        if type != END:
            event.name = f"n{ts}"
        event.extra_counter_values.append(value)
        event.extra_double_counter_values.append(value / 8)


def incremental(w):
    """On two sequences, one of which clears its state, in another order than the times."""
    w.counter(21, "one", is_incremental=True, unit_multiplier=10)
    w.counter(22, "two", is_incremental=True)
    for sequence, ts, uuid, value, flags in (
        (1, 10, 21, 5, CLEARED | NEEDS), (2, 15, 22, 7, CLEARED | NEEDS), (1, 20, 21, -8, NEEDS),
        (2, 55, 22, 3, NEEDS), (1, 30, 21, 2, CLEARED | NEEDS), (1, 40, 21, 1, NEEDS),
        (2, 45, 22, -30, NEEDS),
    ):  # fmt: skip
        event = w.packet(sequence, timestamp=ts, sequence_flags=flags).track_event
        event.type, event.track_uuid, event.counter_value = COUNTER, uuid, value
        if uuid == 21:
            event.extra_counter_track_uuids.append(22)
            event.extra_counter_values.append(100)


def thread_counters(w):
    w.counter(21, "", type=pb.CounterDescriptor.COUNTER_THREAD_TIME_NS)
    w.counter(22, "", type=pb.CounterDescriptor.COUNTER_THREAD_INSTRUCTION_COUNT)
    w.event(10, COUNTER, 21, counter_value=1000)
    w.event(20, COUNTER, 22, counter_value=77)


@pytest.mark.parametrize("made", [further_values, values_by_default, incremental, thread_counters])
def test_counters_as_in_the_engine(tmp_path, made):
    w = Legacy()
    made(w)
    trace, ours, theirs = both(tmp_path, w)
    assert ours[2] == theirs[2]
    assert len(ours[2]) > 1
    assert trace.problems == ()


def test_thread_times_of_older_events(tmp_path):
    w = Legacy()
    event = w.slice("a", 10, 20)
    event.thread_time_absolute_us, event.thread_instruction_count_absolute = 5, 300
    event = w.event(30, INSTANT, 11, "b")
    event.thread_time_absolute_us, event.thread_instruction_count_absolute = 6, 400
    trace, ours, theirs = both(tmp_path, w)
    assert Counter(
        {(name.split(" › ")[1], ts, value): n for (name, ts, value), n in ours[2].items()}
    ) == theirs[2]  # fmt: skip
    assert [(c.process, c.name, c.unit) for c in trace.counters] == [
        ("app", "main › thread_time", "ns"), ("app", "main › thread_instruction_count", "")
    ]  # fmt: skip


def test_values_without_a_counter_cost_themselves_alone(tmp_path):
    """trace_processor leaves out the whole event."""
    w = Legacy()
    w.counter(21, "ints")
    event = w.slice("a", 10, 20)
    event.extra_counter_track_uuids.append(21)
    event.extra_counter_values.extend([1, 2])
    trace, ours, theirs = both(tmp_path, w)
    assert ours[1] == Counter([("a", 10, 10)])
    assert theirs[1] == Counter()
    assert ours[2] == Counter([("ints", 10, 1)])
    assert [(p.kind, p.count, p.first) for p in trace.problems] == [
        ("further counter values of events without a counter: left out", 1, "event 0")
    ]
