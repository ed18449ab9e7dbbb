"""Legacy events, further counter values, and what is not read, in files of any kind."""

import random

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.formats.perfetto.test_reader import BEGIN, COUNTER, END, Writer, slices_of
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file


def legacy(w, phase, ts, name, track=11, **fields):
    event = w.packet(timestamp=ts).track_event
    event.track_uuid, event.name = track, name
    event.legacy_event.phase = ord(phase)
    for key, value in fields.items():
        setattr(event.legacy_event, key, value)
    return event


def problems(trace):
    return {p.kind: (p.count, p.first) for p in trace.problems}


def test_very_many_async_ids_share_a_track_of_their_name(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    for i in range(150):
        legacy(w, "b", 10 * i, "request", unscoped_id=i)
        legacy(w, "e", 10 * i + 25, "request", unscoped_id=i)
    found = slices_of(open_file(str(w.save(tmp_path))))
    assert found == {("app", "request", "request", 10 * i, 25, 0): 1 for i in range(150)}


def test_a_nameless_end_closes_the_innermost_begin_of_its_id(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    legacy(w, "b", 10, "a", unscoped_id=1)
    legacy(w, "b", 20, "b", unscoped_id=1)
    legacy(w, "e", 30, "", unscoped_id=1)
    legacy(w, "e", 90, "", unscoped_id=1)
    for packet in w.trace.packet[-2:]:
        packet.track_event.ClearField("name")
    assert slices_of(open_file(str(w.save(tmp_path)))) == {
        ("app", "a · 0x1", "a", 10, 80, 0): 1, ("app", "a · 0x1", "b", 20, 10, 1): 1
    }  # fmt: skip


def test_what_is_not_read_is_counted_with_its_first_place(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    w.event(10, BEGIN, 11, "a").source_location.line_number = 5
    w.event(20, END, 11).log_message.body_iid = 1
    legacy(w, "b", 30, "no id")
    legacy(w, "s", 40, "no id")
    legacy(w, "f", 41, "no slice", unscoped_id=1)
    legacy(w, "C", 50, "old counter")
    w.event(60, pb.TrackEvent.TYPE_STATE, 11, "state")
    w.event(70, BEGIN, 11, "b").legacy_event.bind_id = 4
    w.event(80, END, 11).thread_time_delta_us = 4
    w.event(90, COUNTER, 11, counter_value=3)
    w.packet(timestamp=95).sys_stats.meminfo.add()
    assert problems(open_file(str(w.save(tmp_path)))) == {
        "field source_location of TrackEvent: not shown": (1, "event 0"),
        "field log_message of TrackEvent: not shown": (1, "event 1"),
        "async events without an id: left out": (1, "event 2"),
        "flow events without an id: left out": (1, "event 3"),
        "flow events without a slice, or without a destination: left out": (1, "event 4"),
        "track event of phase 'C': not shown": (1, "event 5"),
        "track event of type TYPE_STATE: not shown": (1, "event 6"),
        "bind_id without a direction: not shown as a flow": (1, "event 7"),
        "thread times or instructions relative to a missing descriptor: not shown": (1, "event 8"),
        "counter values on a track that is not a counter: left out": (1, "event 9"),
        "packets of sys_stats: not shown": (1, "packet 12"),
    }


def test_flows_that_lead_nowhere_are_counted_together(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    w.event(10, BEGIN, 11, "a").flow_ids.append(7)
    w.event(20, END, 11)
    legacy(w, "s", 15, "lone", unscoped_id=1)
    assert problems(open_file(str(w.save(tmp_path)))) == {
        "flow events without a slice, or without a destination: left out": (2, "event 2")
    }


def test_a_system_trace_without_track_events_says_what_it_is(tmp_path):
    w = Writer()
    for ts in (1, 2, 3):
        w.packet(timestamp=ts).sys_stats.meminfo.add()
    w.packet(timestamp=4).process_stats.processes.add(pid=1)
    with pytest.raises(UnreadableFile) as refused:
        open_file(str(w.save(tmp_path)))
    assert "a Perfetto trace without events that Opscope shows" in str(refused.value)
    assert "sys_stats, process_stats" in str(refused.value) or "process_stats, sys_stats" in str(
        refused.value
    )
    assert "track_event" in refused.value.remedy


NUMBERS = (0, 1, 11, 21, 2**31 - 1, 2**62, 2**63 - 1)


@pytest.mark.parametrize("seed", range(30))
def test_hostile_legacy_events_and_counters(tmp_path, seed):
    """Any values in any fields: a trace, and no more slices than events."""
    dice = random.Random(seed)
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    d = w.packet(9).track_descriptor
    d.uuid, d.parent_uuid, d.name = 21, dice.choice((0, 11, 21)), "counter"
    d.counter.is_incremental = bool(seed % 2)
    d.counter.unit_multiplier = dice.choice((-1, 0, 2**62))
    for _ in range(200):
        packet = w.packet(dice.choice((1, 2)), timestamp=dice.choice((0, 5, 2**40, 2**63 - 1)))
        packet.sequence_flags = dice.choice((0, 0, 0, 1))
        if dice.random() < 0.1:
            defaults = packet.trace_packet_defaults.track_event_defaults
            defaults.extra_counter_track_uuids.extend(dice.choices(NUMBERS, k=2))
        event, old = packet.track_event, packet.track_event.legacy_event
        event.type = dice.choice((0, 0, 0, 1, 2, 4, 5))
        event.track_uuid = dice.choice(NUMBERS)
        event.name = dice.choice(("", "a", "b"))
        old.phase = dice.choice([0, 2**31 - 1, *b"BEXIiRbneSTpFstfCM"])
        for field in dice.sample(
            ("unscoped_id", "local_id", "global_id", "bind_id", "pid_override", "tid_override",
             "duration_us", "flow_direction", "instant_event_scope", "id_scope"), 4,
        ):  # fmt: skip
            most = (
                3 if field[-5:] in ("ction", "scope") else 2**31 - 1 if "_over" in field else None
            )
            value = dice.choice([n for n in NUMBERS if most is None or n <= most])
            setattr(old, field, str(value) if field == "id_scope" else value)
        event.extra_counter_values.extend(dice.choices(NUMBERS, k=dice.randrange(4)))
        event.extra_counter_track_uuids.extend(dice.choices(NUMBERS, k=dice.randrange(3)))
        event.extra_double_counter_values.extend([float("nan"), -1e308][: dice.randrange(3)])
        event.thread_time_absolute_us = dice.choice(NUMBERS)
    trace = open_file(str(w.save(tmp_path)))
    assert len(trace.slices) <= 200
    assert (trace.slices.end >= trace.slices.start).all()
