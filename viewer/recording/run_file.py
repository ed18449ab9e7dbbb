"""Reads how a session ran, `NNN.run.json` beside its profile, and places it on the device's clock.

ExecuTorch counts ns of CLOCK_MONOTONIC from the start of its process, so a dump does not say when
that was. The device's time before an inference is at most that of its start, and the time after it
at least that of its end: bounds of the offset between the two clocks, which get narrow with many
inferences. If they contradict each other, the times are of something else, and nothing is stated.
So it is with a file that is missing, damaged or of another tool.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from viewer.dataclasses import dataclass, replace
from viewer.model.times import tick_to_ns
from viewer.model.timing import STEADY
from viewer.model.trace import ClockZero, Trace

if TYPE_CHECKING:
    from viewer.analysis.comparison.sessions import Conditions


# The device's ns before and after an inference; None where it is not known.
Bracket = tuple[int | None, int | None]
MOST_BRACKETS = 400
SOURCE = "opscope record"
_FARTHEST = 1 << 62
# `logcat -v monotonic -v usec`: the runner logs it after an inference, before the next one.
_ITERATION = re.compile(
    r"^\s*([0-9]{1,9})\.([0-9]{6})\s.{0,80}?\bExecuTorch\s*: .{0,200}?\bIteration ([0-9]{1,6}) "
    r"of [0-9]",
    re.MULTILINE,
)
_US = 1000


def zero_of(trace: Trace, brackets: Sequence[Bracket]) -> ClockZero | None:
    """Return what the device's clock showed at tick 0 of a dump, and the error of that.

    None if the brackets are not of its inferences, or say nothing.
    """
    interval = offset_of(trace, brackets)
    if interval is None:
        return None
    low, high = interval
    middle = (low + high) // 2
    return ClockZero(STEADY, middle, SOURCE, high - middle)


def offset_of(trace: Trace, brackets: Sequence[Bracket]) -> tuple[int, int] | None:
    """Return the least and the most ns between tick 0 of a dump and 0 of the device's clock.

    None if the brackets are not of its inferences, in their order, or contradict each other.
    """
    runs, rate = list(trace.inferences()), trace.clock.ns_per_tick
    is_cut = len(brackets) == MOST_BRACKETS
    if len(brackets) != len(runs) and not (is_cut and len(runs) > MOST_BRACKETS):
        return None
    if any(b.start < a.end for a, b in pairwise(runs)):
        return None  # the clock restarted, or they are of several threads
    lows, highs = [], []
    for run, (before, after) in zip(runs, brackets, strict=False):
        # Ticks and ns are rounded down: the truth is up to one of them later.
        if before is not None:
            lows.append(before - tick_to_ns(run.start + 1, rate) - 1)
        if after is not None and run.finished:
            highs.append(after + 1 - tick_to_ns(run.end, rate))
    if not lows or not highs or max(lows) > min(highs):
        return None
    return max(lows), min(highs)


def brackets_in(value: object) -> list[Bracket]:
    """Return the brackets in a part of a `run.json`; none if any is no bracket."""
    if not isinstance(value, list):
        return []
    brackets: list[Bracket] = []
    for pair in value[:MOST_BRACKETS]:
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_time, pair)):
            return []
        brackets.append((pair[0], pair[1]))
    return brackets


def _is_time(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _FARTHEST


def logged_brackets(output: str, count: int) -> list[Bracket]:
    """Return the brackets of `count` inferences in the log of a runner, as Android stamps it.

    Each line lies between the end of an inference and the start of the next one.
    """
    stamps: dict[int, int] = {}
    for seconds, us, number in _ITERATION.findall(output):
        stamps[int(number)] = int(seconds) * 10**9 + int(us) * _US
    if not stamps:
        return []
    after = {number: ns + _US - 1 for number, ns in stamps.items()}  # it is rounded down
    return [(stamps.get(i - 1), after.get(i)) for i in range(1, min(count, MOST_BRACKETS) + 1)]


SCHEMA = "opscope-run/1"
SUFFIX = ".run.json"
_MOST_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class SystemTrace:
    """The trace of the whole device that was recorded meanwhile. size: in bytes."""

    name: str
    size: int


def conditions_of(profile: str) -> Conditions:
    """Return the conditions of the session of a profile; unknown ones without a file about it."""
    return conditions_in(_facts_of(profile))


def clocked(trace: Trace) -> tuple[Trace, SystemTrace | None]:
    """Return a profile with its place on the clock of its device, and its system trace.

    The profile is the same if its session does not state the former, and the latter may be None.
    """
    facts = None if trace.clock.zeros else _facts_of(trace.path)
    if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
        return trace, None
    if brackets := brackets_in(facts.get("host_monotonic_ns")):
        zero = zero_of(trace, brackets)
        if zero is not None:
            trace = replace(trace, clock=replace(trace.clock, zeros=(zero,)))
    system = facts.get("system_trace")
    name, size = (system.get("name"), system.get("bytes")) if isinstance(system, dict) else (0, 0)
    is_stated = isinstance(name, str) and isinstance(size, int) and not isinstance(size, bool)
    return trace, SystemTrace(name, size) if is_stated else None  # type: ignore[arg-type]


def _facts_of(profile: str) -> object:
    """Return the contents of the file about the session of a profile; None without one."""
    path = f"{os.path.splitext(profile)[0]}{SUFFIX}"
    with suppress(OSError, ValueError, RecursionError), open(path, "rb") as file:
        data = file.read(_MOST_BYTES + 1)
        if len(data) <= _MOST_BYTES:
            facts: object = json.loads(data.decode("utf-8-sig"))
            return facts
    return None


def conditions_in(facts: object) -> Conditions:
    """Return the conditions in the contents of such a file; unknown ones for another file."""
    from viewer.analysis.comparison.sessions import Conditions  # of a comparison only

    if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
        return Conditions()
    order, before = facts.get("order"), facts.get("before")
    before = before if isinstance(before, dict) else {}
    hashes = facts.get("sha256")
    hashes = hashes if isinstance(hashes, dict) else {}
    of = before.get("temperature_of")
    started = facts.get("started")
    seconds = None
    with suppress(ValueError, OverflowError):
        seconds = datetime.fromisoformat(started).timestamp() if isinstance(started, str) else None
    return Conditions(
        str(facts.get("recording") or ""),
        order if isinstance(order, int) and not isinstance(order, bool) and order > 0 else None,
        seconds,
        _number(before.get("temperature_c")),
        of if isinstance(of, str) else "",
        _number(facts.get("frequency_khz")),
        program if isinstance(program := hashes.get("program"), str) else "",
    )


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]
