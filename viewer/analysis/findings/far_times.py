"""Slices that are so far from the others that the timeline shows no other time.

One event with the time 0 next to times since 1970 makes a trace 51 years long, and the rest of it
is less than a pixel. So is what a 32-bit counter that wrapped leaves behind. *The rest* are the
other slices, at least two thirds of all. Loads and breaks are part of ordinary traces, so a
distance counts only if it is a thousand times what the rest takes, and longer than an ordinary
pause; or a multiple of 2^32 ticks from a time of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from viewer.analysis.findings.finding import (
    NO_GAIN,
    Family,
    FamilyAnswer,
    Finding,
    FindingContext,
    NotReported,
    TimeView,
    joined,
    plural,
)
from viewer.arrays import Bools, Ints, parts_of
from viewer.model.times import LAP, NARROW_SPACE, counted, format_time, group_digits
from viewer.model.trace import Trace

# The rest is invisible: less than a pixel of a window.
TIMES = 1000
FEW = Fraction(1, 3)
_MINUTE = 60 * 10**9
_DAY = 24 * 60 * _MINUTE
# Longer pauses than these are none: between parts of a file, and between inferences or a load and
# its inferences. No slice is as long as a month.
_PAUSE, _RUN_PAUSE, _LONGEST = 10 * _MINUTE, _DAY, 30 * _DAY
_UNITS = (
    ("year", 365.25 * _DAY), ("day", _DAY), ("hour", 60 * _MINUTE), ("minute", _MINUTE)
)  # fmt: skip
_SAMPLE = 4096
_MOST_STEPS = 4  # several strays, each far from the next
_RULE = (
    f"Reported when at most {FEW.numerator}/{FEW.denominator} of the slices are away from all "
    f"others by at least {group_digits(TIMES)} times what those take: for {_PAUSE // _MINUTE} "
    "minutes or more (a day if they are inferences or loads, a month if they reach to the others), "
    "or by multiples of 2^32 ticks."
)


@dataclass(frozen=True, slots=True)
class FarTimes:
    """The rest of a trace, in ticks, and the slices that are far from it, ascending."""

    start: int
    end: int
    before: Ints
    after: Ints

    @property
    def rest(self) -> TimeView:
        """Where the rest is, with the instants at its end."""
        return TimeView(self.start, self.end + 1)


def far_times(trace: Trace) -> FarTimes | None:
    """Return the slices that are far from all others; None if there are none."""
    rest: tuple[int, int] | None = None
    low, high = trace.start, trace.end
    for _ in range(_MOST_STEPS):
        closer = _without_far(trace, low, high)
        if closer is None:
            break
        low, high = rest = closer
    if rest is None:
        return None
    is_before, is_after = _outside(trace, low, high)
    return FarTimes(low, high, np.flatnonzero(is_before), np.flatnonzero(is_after))


def _without_far(trace: Trace, low: int, high: int) -> tuple[int, int] | None:
    """Return the first and the last tick without the slices far from the others, if any are.

    low, high: what is outside is known to be far.
    """
    slices = trace.slices
    count, reach = len(slices), (high - low) // TIMES
    if not reach or count < 2:
        return None
    # The rest has the third around the median. A sample rules out most traces at once.
    starts = slices.start[:: max(count // _SAMPLE, 1)]
    starts = np.sort(starts[(starts >= low) & (starts <= high)])
    if not len(starts):
        return None
    size = len(starts)
    early, middle, late = (int(starts[i]) for i in (size // 3, size // 2, (2 * size - 1) // 3))
    if late - early > 2 * reach:
        return None
    is_before, is_after = _outside(trace, middle - reach, middle + reach)
    far = np.flatnonzero(is_before | is_after)
    if not len(far) or len(far) > FEW * count:
        return None
    rest = ~(is_before | is_after)
    first, last = int(slices.start[rest].min()), int(slices.end[rest].max())
    far = far[(slices.start[far] >= low) & (slices.end[far] <= high)]
    return (first, last) if len(far) and _are_far(trace, far, first, last) else None


def _outside(trace: Trace, low: int, high: int) -> tuple[Bools, Bools]:
    """Which slices start before a range, and which others end after it."""
    slices = trace.slices
    before, after = np.zeros(len(slices), np.bool_), np.zeros(len(slices), np.bool_)
    for part in parts_of(len(slices)):
        before[part] = slices.start[part] < low
        after[part] = slices.end[part] > high
    after &= ~before
    return before, after


def _are_far(trace: Trace, far: Ints, first: int, last: int) -> bool:
    """Whether all of some slices are as far from the ticks first to last as the rule says."""
    start, end = trace.slices.start[far], trace.slices.end[far]
    took = max(last - first, 1)
    reaches = (start <= last) & (end >= first)
    # Differences may exceed int64 by far less than float64 rounds.
    starts, ends = start.astype(np.float64), end.astype(np.float64)
    away = np.maximum(first - ends, starts - last)
    away = np.where(reaches, np.maximum(first - starts, ends - last), away)
    if float(away.min()) < TIMES * took:
        return False
    pause = _PAUSE
    if any(run.end < first or run.start > last for run in trace.runs):
        pause = _RUN_PAUSE
    least = np.where(reaches, _LONGEST, pause)
    is_lap = ~reaches & ((start - first) % LAP <= took) & (took < LAP // TIMES)
    is_far: Bools = (away * float(trace.clock.ns_per_tick) >= least) | is_lap
    return bool(is_far.all())


def far(context: FindingContext, far_slices: FarTimes | None) -> FamilyAnswer:
    """Report slices that are far from all others, and where the rest is."""
    trace = context.trace
    if len(trace.slices) < 2:
        return NotReported(Family.FAR_TIMES, "there is no more than one slice", _RULE, False)
    if far_slices is None:
        why = "no slices are far from all others"
        return NotReported(Family.FAR_TIMES, why, _RULE, True)
    start, end = trace.slices.start, trace.slices.end
    before, after = far_slices.before, far_slices.after
    sides = [
        _side(
            context,
            before,
            far_slices.start - end[before],
            far_slices.start - start[before],
            "before",
        ),
        _side(context, after, start[after] - far_slices.end, end[after] - far_slices.end, "after"),
    ]
    return [
        Finding(
            Family.FAR_TIMES,
            f"Zoom to the rest: {joined([*filter(None, sides)])}",
            NO_GAIN,
            _detail(context, far_slices),
            _RULE,
            far_slices.rest,
        )
    ]


def _side(context: FindingContext, index: Ints, away: Ints, reach: Ints, side: str) -> str:
    """Describe the slices on one side of the rest: "3 slices are 51 years before it".

    away: how far each is. reach: how far its other end is, for those that reach to the rest.
    """
    if not len(index):
        return ""
    away = np.where(away > 0, away, reach)
    distance = _distance(context, int(away.min()), int(away.max()))
    return f"{counted(len(index), 'slice')} {plural(len(index), 'is', 'are')} {distance} {side} it"


def _distance(context: FindingContext, nearest: int, farthest: int) -> str:
    near, most = (_long_time(float(ticks * context.rate)) for ticks in (nearest, farthest))
    return near if near == most or farthest < 1.1 * nearest else f"{near} to {most}"


def _detail(context: FindingContext, far_slices: FarTimes) -> str:
    trace, count = context.trace, len(far_slices.before) + len(far_slices.after)
    rest = counted(len(trace.slices) - count, "other slice")
    took = _long_time(float((far_slices.end - far_slices.start) * context.rate))
    whole = _long_time(float((trace.end - trace.start) * context.rate))
    index = np.concatenate([far_slices.before[:100], far_slices.after[:100]]).tolist()
    names = list(dict.fromkeys(trace.name(i) for i in index))
    return f"The {rest} take {took} of {whole}. Far away: {joined(names)}."


def _long_time(ns: float) -> str:
    """Format a time of years, days, hours or minutes: "51 years", "2.5 days"; else as others."""
    unit, size = next(((unit, size) for unit, size in _UNITS if ns >= size), ("", 1))
    if not unit:
        return format_time(round(ns))
    value = f"{ns / size:.1f}".removesuffix(".0") if ns < 10 * size else f"{round(ns / size)}"
    return f"{value}{NARROW_SPACE}{unit}{'' if value == '1' else 's'}"
