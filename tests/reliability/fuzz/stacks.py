"""Grammars of sampled profiles: real ones with other stacks, and values around every limit."""

from __future__ import annotations

import gzip
import json
from typing import Any

from tests.builders import sampled
from tests.formats.perfetto.test_relative_times import random_trace
from tests.reliability.fuzz.values import HOSTILE, Dice, name, number, number_text, tick


def _stacks(dice: Dice) -> list[tuple[str, ...]]:
    stacks = sampled.random_stacks(dice.randrange(1000), dice.choice((0, 1, 5, 20)))
    if dice.random() < 0.1:
        stacks.append(tuple(f"f{i % dice.choice((1, 3, 1000))}" for i in range(700)))
    if dice.random() < 0.3:
        stacks = [tuple(name(dice) for _ in stack) for stack in stacks]
    return stacks


def _changed(value: Any, dice: Dice, chance: float) -> Any:
    """Return a JSON value, of which some parts are others; nothing recurses deeper than it."""
    if dice.random() < chance:
        return dice.choice(HOSTILE) if dice.random() < 0.5 else number(dice)
    if isinstance(value, dict):
        return {key: _changed(inner, dice, chance) for key, inner in value.items()}
    if isinstance(value, list):
        return [_changed(inner, dice, chance) for inner in value]
    return value


def _file(data: bytes, dice: Dice) -> bytes:
    if dice.random() < 0.6:
        raw = json.dumps(_changed(json.loads(data), dice, dice.choice((0.003, 0.02))))
        data = raw.encode("utf-8", "surrogatepass")
    return gzip.compress(data, 1, mtime=0) if dice.random() < 0.05 else data


def speedscope(dice: Dice) -> bytes:
    """Return a sampled or an evented profile of speedscope."""
    stacks = _stacks(dice)
    unit = dice.choice(("nanoseconds", "microseconds", "seconds", "none", "bytes", "x"))
    if dice.random() < 0.4:
        times = sorted(tick(dice) for _ in range(len(stacks) + 1))
        return _file(sampled.evented(stacks, times, unit), dice)
    weights = [dice.choice((1, 0, 2.5, tick(dice))) for _ in stacks]
    return _file(sampled.speedscope(stacks, weights, unit, startValue=tick(dice)), dice)


def cpu_profile(dice: Dice) -> bytes:
    """Return a CPU profile of V8."""
    stacks = _stacks(dice)
    deltas = [dice.choice((1, 100, 0, -3, tick(dice))) for _ in stacks]
    return _file(sampled.cpu_profile(stacks, deltas, with_parents=dice.random() < 0.5), dice)


def firefox(dice: Dice) -> bytes:
    """Return a processed profile of Firefox."""
    stacks = _stacks(dice)
    times = [dice.choice((i, i / 3, tick(dice))) for i in range(len(stacks))]
    made = sampled.firefox(
        stacks, times, is_shared=dice.random() < 0.5, with_deltas=dice.random() < 0.5
    )
    return _file(made, dice)


def collapsed(dice: Dice) -> bytes:
    """Return collapsed stacks, some of whose lines are none."""
    stacks = _stacks(dice)
    lines = sampled.collapsed(stacks, [tick(dice) for _ in stacks])
    found = []
    for line in lines.split(b"\n"):
        if dice.random() < 0.05:
            line += dice.choice((b" ", b"\r", b";", b" 5", b"\t1", number_text(dice).encode()))
        found.append(line)
    return _packed(b"\n".join(found), dice)


def _packed(data: bytes, dice: Dice) -> bytes:
    return gzip.compress(data, 1, mtime=0) if dice.random() < 0.05 else data


def perf_trace(dice: Dice) -> bytes:
    """Return a Perfetto trace of samples."""
    stacks = [stack or ("idle",) for stack in _stacks(dice)]
    times = [tick(dice) % 2**64 for _ in stacks]
    names = [[one.encode("utf-8", "replace").decode() for one in stack] for stack in stacks]
    trace = sampled.perf_samples([tuple(one) for one in names], times, threads=dice.choice((1, 3)))
    for packet in trace.packet:
        if dice.random() < 0.05:
            packet.perf_sample.callstack_iid = dice.choice((0, 1, 9, 2**64 - 1))
        if dice.random() < 0.05:
            packet.perf_sample.tid = dice.choice((0, 1, 100, 2**32 - 1))
        if dice.random() < 0.05:
            packet.timestamp_clock_id = dice.choice((1, 3, 6, 64))
        if dice.random() < 0.03:
            packet.sequence_flags = dice.choice((0, 1, 2, 3))
    raw: bytes = trace.SerializeToString()
    return raw


def old_trace(dice: Dice) -> bytes:
    """Return a Perfetto trace with times relative to thread descriptors."""
    made, _ = random_trace(dice.randrange(1000))
    for packet in made.trace.packet:
        if dice.random() < 0.03:
            packet.previous_packet_dropped = 1
        if packet.HasField("thread_descriptor") and dice.random() < 0.2:
            packet.thread_descriptor.reference_timestamp_us = _signed(dice)
        if packet.HasField("track_event") and dice.random() < 0.03:
            packet.track_event.timestamp_delta_us = _signed(dice)
        if packet.HasField("track_event") and dice.random() < 0.03:
            packet.track_event.thread_time_delta_us = _signed(dice)
    raw: bytes = made.trace.SerializeToString()
    return raw[: dice.randrange(60)] if dice.random() < 0.1 else raw


def _signed(dice: Dice) -> int:
    return max(min(number(dice), 2**63 - 1), -(2**63))
