"""Grammars of the trace formats of other tools: Perfetto protobuf and Chrome JSON."""

from __future__ import annotations

import gzip
import json
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.reliability.fuzz.values import HOSTILE, Dice, count, name, number, number_text, tick

_INCREMENTAL = pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
_NEEDS = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
_PHASES = "BEXiIMCstfbneSTFpPNODRcVv("


def perfetto(dice: Dice) -> bytes:
    """Return a Perfetto trace of descriptors, interned texts, clocks and track events."""
    trace = pb.Trace()
    uuids = [dice.choice((0, 1, 2, 3, 5, 2**63, 2**64 - 1)) for _ in range(1 + count(dice, 5))]
    for uuid in uuids:
        if dice.random() < 0.85:
            _descriptor(trace.packet.add(), uuid, uuids, dice)
    for _ in range(count(dice, 24)):
        packet = trace.packet.add()
        packet.trusted_packet_sequence_id = dice.choice((1, 1, 1, 1, 2, 0, 2**32 - 1))
        how = dice.random()
        if how < 0.08:
            _clocks(packet, dice)
        elif how < 0.14:
            _defaults(packet, uuids, dice)
        else:
            _event(packet, uuids, dice)
        if dice.random() < 0.15:
            packet.sequence_flags = dice.choice((_INCREMENTAL, _NEEDS, _INCREMENTAL | _NEEDS, 255))
    if dice.random() < 0.05:
        packets = list(trace.packet)
        dice.shuffle(packets)
        trace = pb.Trace(packet=packets)
    raw: bytes = trace.SerializeToString()
    return gzip.compress(raw, 1, mtime=0) if dice.random() < 0.03 else raw


def _text(dice: Dice) -> str:
    return name(dice).encode("utf-8", "replace").decode()


def _descriptor(packet: Any, uuid: int, uuids: list[int], dice: Dice) -> None:
    packet.trusted_packet_sequence_id = dice.choice((1, 1, 2))
    one = packet.track_descriptor
    one.uuid = uuid
    kind = dice.randrange(6)
    if kind <= 1:
        one.thread.pid, one.thread.tid = (
            dice.choice((0, 1, 4, -5)),
            dice.choice((0, 1, 5, 2**31 - 1)),
        )
        one.thread.thread_name = _text(dice)
    elif kind == 2:
        one.process.pid, one.process.process_name = dice.choice((0, 1, 4)), _text(dice)
    elif kind == 3:
        one.counter.unit_multiplier = dice.choice((0, 1, -1, 1000, 2**63 - 1))
        one.counter.is_incremental = dice.random() < 0.4
        one.counter.type = dice.choice((0, 0, 1, 2))
        one.counter.unit_name = _text(dice)
    if dice.random() < 0.6:
        one.name = _text(dice)
    if dice.random() < 0.4:
        one.parent_uuid = dice.choice(uuids)
    if dice.random() < 0.2:
        one.child_ordering, one.sibling_order_rank = dice.randrange(4), number(dice) % 2**31


def _clocks(packet: Any, dice: Dice) -> None:
    snapshot = packet.clock_snapshot
    snapshot.primary_trace_clock = dice.choice((0, 1, 3, 6))
    for _ in range(1 + count(dice, 3)):
        clock = snapshot.clocks.add()
        clock.clock_id = dice.choice((1, 3, 6, 64, 65, 70))
        clock.timestamp = tick(dice) % 2**64
        if dice.random() < 0.4:
            clock.is_incremental = dice.random() < 0.7
            clock.unit_multiplier_ns = dice.choice((0, 1, 1000, 10**9, 2**63, 2**64 - 1))


def _defaults(packet: Any, uuids: list[int], dice: Dice) -> None:
    if dice.random() < 0.6:
        defaults = packet.trace_packet_defaults
        defaults.timestamp_clock_id = dice.choice((0, 1, 6, 64, 65))
        defaults.track_event_defaults.track_uuid = dice.choice(uuids)
        if dice.random() < 0.4:
            defaults.track_event_defaults.extra_counter_track_uuids.extend(uuids[:2])
    interned = packet.interned_data
    for _ in range(count(dice, 3)):
        for entries in (interned.event_names, interned.event_categories,
                        interned.debug_annotation_names):  # fmt: skip
            entries.add(iid=dice.choice((0, 1, 2, 3, 2**63)), name=_text(dice))


def _event(packet: Any, uuids: list[int], dice: Dice) -> None:
    packet.timestamp = tick(dice) % 2**64
    if dice.random() < 0.15:
        packet.timestamp_clock_id = dice.choice((1, 3, 6, 64, 65, 127, 255))
    event = packet.track_event
    if dice.random() < 0.9:
        event.type = dice.choice((1, 1, 1, 2, 2, 2, 3, 4))
    if dice.random() < 0.9:
        event.track_uuid = dice.choice(uuids)
    if dice.random() < 0.7:
        event.name = _text(dice)
    elif dice.random() < 0.7:
        event.name_iid = dice.choice((1, 2, 3, 2**63))
    if dice.random() < 0.3:
        event.categories.append(_text(dice))
    if dice.random() < 0.1:
        event.category_iids.append(dice.choice((1, 2, 9)))
    if event.type == 4 or dice.random() < 0.05:
        if dice.random() < 0.5:
            event.counter_value = number(dice) % 2**63
        else:
            event.double_counter_value = dice.choice((0.5, -1.0, float("nan"), float("inf"), 1e308))
    if dice.random() < 0.25:
        flows = dice.choice((event.flow_ids, event.terminating_flow_ids, event.flow_ids_old))
        flows.append(dice.choice((0, 1, 1, 2, 2**64 - 1)))
    for _ in range(count(dice, 3) if dice.random() < 0.4 else 0):
        _argument(event.debug_annotations.add(), dice, 0)
    if dice.random() < 0.12:
        old = event.legacy_event
        old.phase = ord(dice.choice(_PHASES))
        if dice.random() < 0.5:
            old.duration_us = number(dice) % 2**63
        if dice.random() < 0.5:
            old.unscoped_id = dice.choice((1, 2, 2**64 - 1))
        if dice.random() < 0.3:
            old.bind_id, old.flow_direction = dice.choice((1, 2)), dice.randrange(4)
        if dice.random() < 0.3:
            old.pid_override, old.tid_override = dice.choice((1, -1)), dice.choice((1, 7))
        if dice.random() < 0.2:
            old.thread_duration_us = number(dice) % 2**63
    if dice.random() < 0.04:
        event.correlation_id = number(dice) % 2**64
    if dice.random() < 0.04:
        event.extra_counter_values.append(number(dice) % 2**63)


def _argument(one: Any, dice: Dice, depth: int) -> None:
    if dice.random() < 0.7:
        one.name = dice.choice(("operator", "start_ticks", "dur_ticks", "identifier", "run",
            "timing",
                                "derived", "event", "column x", _text(dice)))  # fmt: skip
    elif dice.random() < 0.7:
        one.name_iid = dice.choice((1, 2, 9))
    kind = dice.randrange(9 if depth < 4 else 6)
    if kind == 0:
        one.bool_value = dice.random() < 0.5
    elif kind == 1:
        one.uint_value = number(dice) % 2**64
    elif kind == 2:
        one.int_value = max(min(number(dice), 2**63 - 1), -(2**63))
    elif kind == 3:
        one.double_value = dice.choice((0.5, float("nan"), 1e308, -0.0))
    elif kind == 4:
        one.string_value = _text(dice)
    elif kind == 5:
        one.legacy_json_value = dice.choice(("{}", "[1]", "{", "NaN", '"x"', "[" * 500))
    elif kind == 6:
        one.pointer_value = number(dice) % 2**64
    else:
        inner = one.dict_entries if kind == 7 else one.array_values
        for _ in range(count(dice, 3)):
            _argument(inner.add(), dice, depth + 1)


def chrome(dice: Dice) -> bytes:
    """Return a Chrome trace: a list of events or an object of them, packed or not."""
    events: list[Any] = [_chrome_event(dice) for _ in range(count(dice, 24))]
    tree: Any = events
    if dice.random() < 0.6:
        tree = {"traceEvents": events, "displayTimeUnit": dice.choice(("ms", "ns", 5))}
        if dice.random() < 0.3:
            tree["baseTimeNanoseconds"] = dice.choice((0, 10**18, number(dice), "5"))
            tree["schemaVersion"] = 1
        if dice.random() < 0.3:
            keys = [str(number(dice) % 6) for _ in range(count(dice, 6))]
            tree["stackFrames"] = {
                key: {"name": name(dice), "parent": dice.choice((None, *keys, *HOSTILE))}
                for key in keys
            }
        if dice.random() < 0.2:
            tree["samples"] = [
                {"tid": dice.choice((1, 2, "1", None)), "ts": dice.choice((tick(dice), "x", 1.5)),
                 "name": name(dice), "sf": number(dice) % 6}
                for _ in range(count(dice, 8))
            ]  # fmt: skip
        if dice.random() < 0.1:
            tree[name(dice)] = dice.choice(HOSTILE)
        if dice.random() < 0.1:
            tree = dict(reversed(tree.items()))
    separators = dice.choice(((",", ":"), (", ", ": "), (",\n", ": ")))
    raw = json.dumps(tree, separators=separators, ensure_ascii=dice.random() < 0.7)
    data = raw.encode("utf-8", "surrogatepass")
    return gzip.compress(data, 1, mtime=0) if dice.random() < 0.05 else data


def _chrome_event(dice: Dice) -> Any:
    if dice.random() < 0.01:
        return dice.choice(HOSTILE)
    phase = dice.choice("XXXXXXBBEEEiICMstfbneSTFNODPP")
    time: Any = tick(dice)
    if dice.random() < 0.3:
        time = dice.choice((time / 8, str(time), number_text(dice), 4477201916037.886, None, -time))
    event: dict[str, Any] = {
        "ph": phase,
        "name": dice.choice((name(dice), name(dice), 5, None)),
        "ts": time,
        "pid": dice.choice((1, 1, 1, 2, "x", None, number(dice))),
        "tid": dice.choice((1, 1, 2, "main", None, number(dice))),
    }
    if phase == "X":
        event["dur"] = dice.choice(
            (dice.randrange(100), 0, 0.125, -1, number_text(dice), tick(dice))
        )
    if phase == "M":
        event["name"] = dice.choice(
            ("process_name", "thread_name", "process_labels", "thread_sort_index", name(dice))
        )
        event["args"] = {"name": name(dice), "labels": name(dice), "sort_index": number(dice)}
    elif phase == "C":
        event["args"] = {name(dice): dice.choice((1, 0.5, number(dice), "x")) for _ in range(2)}
    elif phase == "P" and dice.random() < 0.4:
        inner = {
            "nodes": [
                {"id": i, "parent": dice.choice((None, 0, 1, 5)), "callFrame": dice.choice(
                    ({"functionName": name(dice), "lineNumber": number(dice)}, 5))}
                for i in range(count(dice, 5))
            ],
            "samples": [number(dice) for _ in range(count(dice, 6))],
        }  # fmt: skip
        event["name"] = dice.choice(("Profile", "ProfileChunk", "ProfileChunk"))
        event["args"] = {
            "data": {"startTime": tick(dice), "cpuProfile": dice.choice((inner, inner, 5)),
                     "timeDeltas": [dice.choice((1, -1, tick(dice), "x")) for _ in range(6)]}
        }  # fmt: skip
    elif dice.random() < 0.1:
        event["name"] = "[memory]"
        event["args"] = {
            "Bytes": number(dice), "Device Type": dice.choice((0, 1, number(dice), "x")),
            "Device Id": number(dice), "Total Allocated": dice.choice((1, number(dice), 0.5)),
        }  # fmt: skip
    elif dice.random() < 0.1:
        event["args"] = {
            "event_block": dice.choice(("Execute", "Default", name(dice))),
            "iteration": dice.choice((0, 1, number(dice))), "is_delegated_op": dice.random() < 0.5,
            "op_types": dice.choice((["aten.add.Tensor"], [], None, 5)),
        }  # fmt: skip
    elif dice.random() < 0.4:
        event["args"] = dice.choice(
            ({"External id": dice.randrange(5), "Sequence number": 3, "Fwd thread id": 0},
             {"op_name": "Conv", "provider": "CPUExecutionProvider"}, {"Python id": 1,
                 "Python parent id": 0},
             {name(dice): dice.choice(HOSTILE)}, dice.choice(HOSTILE))
        )  # fmt: skip
    if phase in "PX" and dice.random() < 0.2:
        event["sf"] = dice.choice((number(dice) % 6, str(number(dice) % 6), None, [], 2**70))
    if phase in "stfbneSTF" or (phase == "P" and dice.random() < 0.5) or dice.random() < 0.05:
        event["id"] = dice.choice((1, 1, 2, "0x1", "a", None, number(dice)))
        event["bp"] = dice.choice(("e", "e", "x"))
    if dice.random() < 0.6:
        event["cat"] = dice.choice(
            ("cpu_op", "python_function", "kernel", "Node", "Session", "ac2g", "fwdbwd", name(dice))
        )
    if dice.random() < 0.05:
        event.pop(dice.choice(list(event)))
    if dice.random() < 0.1:
        event = dict(reversed(event.items()))
    return event
