"""Where a time comes from: measured, rounded, placed, estimated, derived, sampled or unfinished.

Readers state it per slice (`Slices.timing`); `timings` answers for the slices of any trace. The
texts are those of tables and exports; several are joined: "placed, rounded".
"""

from __future__ import annotations

from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.model.native_units import holds_value
from viewer.model.queries import NATIVE_DURATION, WITHOUT_END, foreign
from viewer.model.times import NARROW_SPACE
from viewer.model.trace import Slices

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
