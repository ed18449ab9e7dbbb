"""How times were measured: by which clock, in which unit, and whether they are exact.

Readers state a `Timing` per slice (`Slices.timing`); the texts are those of tables and exports.
Delegates log on clocks of their own. Each slice with a `native_dur` has a `native_unit`: a unit of
time (`NS_PER`); cycles and ticks, of no known length until the user states a rate; any other unit,
such as bytes, is that of a value, which has no duration. A name may state its unit at its end:
"Accelerator (execute) time (us)", "DSP:after_context_freed (bytes)".

Clocks of an operating system have the names of Linux, without the prefix CLOCK_.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.model.queries import NATIVE_DURATION, NATIVE_UNIT, WITHOUT_END, foreign
from viewer.model.times import NARROW_SPACE
from viewer.model.trace import ClockZero, Slices

CYCLES, TICKS = "cycles", "ticks"
COUNTED = (CYCLES, TICKS)  # of unknown length
NS_PER = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_ALIASES = {
    "cycle": CYCLES, "tick": TICKS, "nsec": "ns", "usec": "us", "µs": "us", "μs": "us",
    "msec": "ms", "sec": "s",
}  # fmt: skip
_VALUES = frozenset(
    (
        "bytes", "byte", "count", "counts", "percent", "percentage", "%",
        "KB", "kB", "MB", "GB", "KiB", "MiB", "GiB", "Hz", "kHz", "KHz", "MHz", "GHz",
        "mV", "uV", "mA", "uA", "mW", "uW", "mJ", "uJ", "nJ", "pJ", "celsius", "°C", "inf/sec",
        "bytes/s", "B/s", "KB/s", "MB/s", "GB/s", "Bps", "KBps", "MBps", "GBps",
    )
)  # fmt: skip
# Words are units in any case; of "mW" and "MW" one is a million times the other.
_UNIT_WORDS = frozenset((*_ALIASES, CYCLES, TICKS, "us", "ns", "bytes", "byte", "count", "percent"))
_LAST = re.compile(r"(\s?)\(([^\s(),]{1,16})\)\s*\Z")


def stated_unit(name: str) -> str:
    """Return the unit at the end of a name; "" if it states none that is known."""
    match = _LAST.search(name) if ")" in name[-4:] else None
    if match is None:
        return ""
    space, text = match.groups()
    text = text.lower() if text.lower() in _UNIT_WORDS else text
    unit = _ALIASES.get(text, text)
    if unit == "s":
        return unit if space else ""  # "graph(s)" is a plural
    return unit if unit in NS_PER or unit in COUNTED or unit in _VALUES else ""


def possible_unit(name: str) -> str:
    """Return what is in the last parentheses of a name if it may be a unit; "" otherwise.

    It is one only where other names state theirs: "(F32)" and "(fused)" look alike.
    """
    match = _LAST.search(name)
    return match[2] if match and not any(c.isdigit() for c in match[2]) else ""


def without_unit(name: str) -> str:
    """Return a name without the unit at its end."""
    return _LAST.sub("", name).rstrip() if stated_unit(name) else name


def is_value(unit: str) -> bool:
    """Return whether a unit is that of a value, which has no duration."""
    return unit not in NS_PER and unit not in COUNTED


def values(slices: Slices) -> Ints:
    """Return the slices that hold a value instead of a time, ascending."""
    column = slices.columns.get(NATIVE_UNIT)
    if column is None or column.strings is None:
        return np.empty(0, np.int64)
    of_code = np.array([is_value(unit) for unit in column.strings], np.bool_)
    if not of_code.any():
        return np.empty(0, np.int64)
    is_native: Bools = of_code[column.values]
    return np.flatnonzero(is_native if column.valid is None else is_native & column.valid)


def holds_value(slices: Slices, i: int) -> bool:
    """Return whether a slice holds a value instead of a time."""
    column = slices.columns.get(NATIVE_UNIT)
    unit = None if column is None else column.value(i)
    return isinstance(unit, str) and is_value(unit)


Timings = NDArray[np.uint8]


class Timing(IntFlag):
    """Where the time of a slice comes from; several may apply."""

    MEASURED = 0  # start and duration as measured
    PLACED = 1  # the start is not measured: it was put where it fits
    ROUNDED = 2  # the duration was cut to whole µs
    ESTIMATED = 4  # start and duration were computed from a cost model
    DERIVED = 8  # Opscope computed the slice or its time, such as the mean of inferences
    SAMPLED = 16  # the sum of the samples in which a profiler saw it
    UNFINISHED = WITHOUT_END  # it has no end: it lasted at least to where it is drawn


# Of these, a difference between two recordings proves nothing.
UNMEASURED = Timing.ESTIMATED | Timing.DERIVED | Timing.SAMPLED | Timing.UNFINISHED
# The duration that a rounded slice may have lost at most, in ticks of an ETDump (assumed to be ns).
ROUNDING_TICKS = 1000
MEASURED, SEPARATOR = "measured", ", "
_WORDS = {flag: (flag.name or "").lower() for flag in Timing if flag}
TIMING_WORDS = (MEASURED, *_WORDS.values())
_WHOLE = sum(_WORDS)


def timing_text(timing: int) -> str:
    """The text of tables and exports: "measured", "placed, rounded"."""
    words = [word for flag, word in _WORDS.items() if timing & flag]
    return SEPARATOR.join(words) or MEASURED


# The text of every combination, by its number.
TIMING_TEXTS = tuple(timing_text(timing) for timing in range(_WHOLE + 1))
_BY_TEXT = {text: timing for timing, text in enumerate(TIMING_TEXTS)}


def parse_timing(text: str) -> int | None:
    """The combination that a text states, None if it is none; "" is measured."""
    return _BY_TEXT.get(text, None if text else 0)


def timings(slices: Slices) -> Timings:
    """The `Timing` of every slice.

    Derived slices are that alone; those on a clock of their own are placed.
    """
    found = np.zeros(len(slices), np.uint8) if slices.timing is None else slices.timing.copy()
    found[foreign(slices)] |= np.uint8(Timing.PLACED)
    if slices.derived is not None:
        found[slices.derived] = Timing.DERIVED
    found[found & Timing.DERIVED > 0] = Timing.DERIVED
    return found


def rounded_zeros(slices: Slices) -> Ints:
    """The slices of duration 0 that lasted longer: the file cuts their durations to whole µs."""
    if slices.timing is None:
        return np.empty(0, np.int64)
    found: Ints = np.flatnonzero(
        (slices.timing & np.uint8(Timing.ROUNDED) > 0) & (slices.start == slices.end)
    )
    return found


def is_rounded_zero(slices: Slices, i: int) -> bool:
    """Whether one slice is among `rounded_zeros`."""
    return slices.start[i] == slices.end[i] and bool(timing_of(slices, i) & Timing.ROUNDED)


def is_mostly_sampled(slices: Slices) -> bool:
    """Whether at least half of the slices are what a sampling profiler saw."""
    if slices.timing is None or not len(slices):
        return False
    return bool(2 * np.count_nonzero(slices.timing & np.uint8(Timing.SAMPLED)) >= len(slices))


def is_sampled(slices: Slices) -> bool:
    """Whether all slices are made of samples, so that no number of calls and no mean is known."""
    return slices.timing is not None and bool(
        len(slices) and (slices.timing & np.uint8(Timing.SAMPLED) > 0).all()
    )


def timing_of(slices: Slices, i: int) -> Timing:
    """The `Timing` of one slice, without computing the others."""
    if slices.derived is not None and slices.derived[i]:
        return Timing.DERIVED
    stated = Timing.MEASURED if slices.timing is None else Timing(int(slices.timing[i]))
    if stated & Timing.DERIVED:
        return Timing.DERIVED
    return stated | Timing.PLACED if has_own_clock(slices, i) else stated


def has_own_clock(slices: Slices, i: int) -> bool:
    """Whether a slice was timed by a clock of its own, so that its extent is for drawing only."""
    column = slices.columns.get(NATIVE_DURATION)
    return column is not None and column.value(i) is not None


def timing_sentence(slices: Slices, i: int) -> str:
    """Where the time of one slice comes from: "start placed, duration rounded to 1 µs"."""
    timing = timing_of(slices, i)
    if holds_value(slices, i):
        return "none: a value, drawn at the start of its call"
    if has_own_clock(slices, i):
        derived = "length derived from cumulative ones, " if timing & Timing.DERIVED else ""
        return f"{derived}start and length placed for drawing"
    parts = []
    if timing & Timing.PLACED:
        parts.append("start placed")
    if timing & Timing.ROUNDED:
        parts.append(f"duration rounded to 1{NARROW_SPACE}µs")
    if timing & Timing.ESTIMATED:
        parts.append("estimated, not measured")
    if timing & Timing.DERIVED:
        parts.append("derived")
    if timing & Timing.SAMPLED:
        parts.append("sampled: the time of the samples that saw it, not of its calls")
    if timing & Timing.UNFINISHED:
        parts.append("it has no end: at least the duration shown")
    return SEPARATOR.join(parts) or MEASURED


def kinds_of_time(slices: Slices) -> tuple[str, ...]:
    """The words that apply to any slice, "measured" first."""
    if slices.timing is None and slices.derived is None and not len(foreign(slices)):
        return (MEASURED,)
    every = timings(slices)
    found = np.flatnonzero(np.bincount(every)).tolist()
    words = [word for flag, word in _WORDS.items() if any(one & flag for one in found)]
    return (MEASURED, *words) if 0 in found else tuple(words)


TIME_OF_DAY = "REALTIME"  # ns since the UNIX epoch; steps when it is set
# They count from the boot, the second one not while the device sleeps.
BOOT, STEADY = "BOOTTIME", "MONOTONIC"
_NAMES = (TIME_OF_DAY, BOOT, STEADY)
_ZERO = re.compile(r"([A-Z]+) (-?[0-9]{1,40})(?: ±([0-9]{1,40}))? (\S[^;]{0,99})")


def zeros_text(zeros: Iterable[ClockZero]) -> str:
    """Return zeros as one text of an export's metadata; "" without any."""
    return "; ".join(
        f"{zero.name} {zero.ns}{f' ±{zero.error_ns}' if zero.error_ns else ''} {zero.source}"
        for zero in zeros
    )


def parse_zeros(text: str) -> tuple[ClockZero, ...]:
    """Return the zeros of a text; what `zeros_text` does not write is skipped."""
    zeros: dict[str, ClockZero] = {}
    for part in text.split("; "):
        match = _ZERO.fullmatch(part)
        if match is not None and match[1] in _NAMES:
            zero = ClockZero(match[1], int(match[2]), match[4], int(match[3] or 0))
            zeros.setdefault(match[1], zero)
    return tuple(zeros.values())
