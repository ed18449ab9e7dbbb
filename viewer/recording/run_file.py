"""Reads how a session ran: `NNN.run.json`, beside its profile.

Only what a comparison and the axis of its times need. A file that is missing, damaged or of another
tool says nothing.
"""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from viewer.model.trace import Trace
from viewer.recording.device_clock import brackets_in, zero_of

if TYPE_CHECKING:
    from viewer.analysis.comparison.conditions import Conditions

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
    from viewer.analysis.comparison.conditions import Conditions  # of a comparison only

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
