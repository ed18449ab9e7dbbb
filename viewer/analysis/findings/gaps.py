"""Findings about empty time: nothing or only DMA is active, or slices are far from all others.

*Between instructions*: for each inference, from the start of its first DELEGATE_CALL to the end of
its last, the time on its thread covered only by `Method::execute`. *Between NSS jobs*: for each
inference, from the start of the first job to the end of the last, the time without a job; the host
may be active in it.

*Far from others*: one event with the time 0 next to times since 1970 makes a trace 51 years long.
So is what a 32-bit counter that wrapped leaves behind. *The rest* are the other slices, at least
two thirds of all. Loads and breaks are part of ordinary traces, so a distance counts only if it is
a thousand times what the rest takes, and longer than an ordinary pause; or a multiple of 2^32
ticks.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from viewer.analysis.findings.finding import (
    NO_GAIN,
    Family,
    FamilyAnswer,
    Finding,
    FindingContext,
    NotReported,
    TimeSpan,
    TimeView,
    joined,
    percent,
    plural,
    share_text,
)
from viewer.analysis.links.labels import key_labels
from viewer.analysis.statistics.npu_units import UnitOverview
from viewer.arrays import Bools, Ints, parts_of
from viewer.dataclasses import dataclass, replace
from viewer.model import intervals
from viewer.model.figures import inferences_text
from viewer.model.intervals import Intervals
from viewer.model.queries import foreign, units_of
from viewer.model.times import LAP, NARROW_SPACE, counted, format_time, group_digits
from viewer.model.trace import KeyKind, Run, Trace, Unit
from viewer.model.warm_up import counted_inferences

# 5% of an inference; the runtime's overhead between two calls is less.
GAPS_SHARE = Fraction(1, 20)
# If transfers without concurrent compute take a quarter of the time, they limit the program.
DMA_SHARE = Fraction(1, 4)

_UNITS = (Unit.DMA_IN, Unit.DMA_OUT, Unit.CDMA, Unit.SLICE, Unit.CSS)
_DMA = _UNITS[:3]
_GAPS_RULE = (
    f"Reported when gaps are at least {percent(GAPS_SHARE)} of the time: of an inference, between "
    "its first delegate call and its last, when no event runs; of an NPU, between its jobs, or "
    "when no unit is active."
)
_DMA_RULE = (
    f"Reported when DMA is active without a compute unit for at least {percent(DMA_SHARE)} of the "
    "time."
)


def gaps(context: FindingContext, overview: UnitOverview) -> FamilyAnswer:
    """Report idle time between instructions, between NSS jobs, or of all NPU units."""
    if _has_units(context):
        return _idle_units(context, overview)
    if (context.trace.keys.kind == KeyKind.DELEGATE_CALL).any():
        return _between_calls(context)
    if any(track.unit is Unit.NSS for track in context.trace.tracks):
        return _between_jobs(context)
    why = "the file has no delegate calls, NSS jobs or NPU units"
    return NotReported(Family.GAPS, why, _GAPS_RULE, False)


def dma(context: FindingContext, overview: UnitOverview) -> FamilyAnswer:
    """Report time in which only DMA is active."""
    if not _has_units(context):
        why = "the file does not list when DMA and compute units are active"
        return NotReported(Family.DMA, why, _DMA_RULE, False)
    context = _with_warm_up(context)
    first, last, _ = context.within.span
    rows = {row.key: row.ticks for row in overview.rows(first, last)}
    alone, overall = rows["only_dma"], rows["overall"]
    where = overview.longest("only_dma", first, last)
    if where is None or alone < DMA_SHARE * overall:
        why = f"only DMA is active for {share_text(alone, overall)} of {context.scope}"
        return NotReported(Family.DMA, why, _DMA_RULE, True)
    start, end = where
    return [
        Finding(
            Family.DMA,
            "Overlap DMA with compute",
            context.gain_of(alone, overall, context.scope),
            f"Compute units are active for {share_text(rows['compute'], overall)} of "
            f"{context.time(overall)}. The longest interval without them is "
            f"{context.time(end - start)}{_transfers_in(context, start, end)}.",
            _DMA_RULE,
            TimeSpan(start, end, _tracks_of(context, *_UNITS)),
        )
    ]


def _with_warm_up(context: FindingContext) -> FindingContext:
    """Return the context that covers everything: the overview of units has no inferences."""
    return replace(context, within=replace(context.within, warm_up=True))


def _has_units(context: FindingContext) -> bool:
    """Return whether the trace has tracks for both transfers and compute."""
    units = {track.unit for track in context.trace.tracks}
    return bool(units & {*_DMA}) and bool(units & {Unit.SLICE, Unit.CSS})


def _transfers_in(context: FindingContext, start: int, end: int) -> str:
    """Return ", during transfers of tosa.conv2d@L11": the transfers in a time range."""
    slices = context.trace.slices
    index = np.flatnonzero(np.isin(units_of(context.trace), _DMA))
    index = index[(slices.start[index] < end) & (slices.end[index] > start)]
    labels = key_labels(context.links)
    names = dict.fromkeys(labels[key] for key in slices.key[index].tolist())
    return f", during transfers of {joined(list(names))}" if names else ""


def _tracks_of(context: FindingContext, *units: Unit) -> tuple[int, ...]:
    return tuple(i for i, track in enumerate(context.trace.tracks) if track.unit in units)


def _idle_units(context: FindingContext, overview: UnitOverview) -> FamilyAnswer:
    context = _with_warm_up(context)
    first, last, _ = context.within.span
    rows = {row.key: row.ticks for row in overview.rows(first, last)}
    idle, overall = rows["idle"], rows["overall"]
    where = overview.longest("idle", first, last)
    if where is None or idle < GAPS_SHARE * overall:
        why = f"no unit is active for {share_text(idle, overall)} of {context.scope}"
        return NotReported(Family.GAPS, why, _GAPS_RULE, True)
    return [
        Finding(
            Family.GAPS,
            "Keep the NPU units busy",
            context.gain_of(idle, overall, context.scope),
            f"No unit is active for {context.time(idle)} of {context.time(overall)}; the longest "
            f"interval is {context.time(where[1] - where[0])}.",
            _GAPS_RULE,
            TimeSpan(*where, _tracks_of(context, *_UNITS)),
        )
    ]


def _runs(context: FindingContext) -> list[Run]:
    if context.run is not None:
        return [context.run]
    return counted_inferences(context.trace, warm_up=context.within.warm_up)


def _between_calls(context: FindingContext) -> FamilyAnswer:
    trace, segments = context.trace, context.work.segments
    slices = trace.slices
    is_call = (trace.keys.kind == KeyKind.DELEGATE_CALL)[slices.key]
    is_call[foreign(slices)] = False
    calls = np.flatnonzero(is_call)
    on = slices.tracks_of(calls)
    gaps_of_tracks: list[tuple[int, Intervals]] = []
    runs = _runs(context)
    for track in sorted({run.track for run in runs}):
        calls_of_track = calls[on == track]
        hulls = _hulls(
            [run for run in runs if run.track == track],
            slices.start[calls_of_track],
            slices.end[calls_of_track],
        )
        lo, hi = np.searchsorted(segments.track, np.array([track, track + 1])).tolist()
        busy = segments.start[lo:hi], segments.end[lo:hi]
        gaps_of_tracks.append((track, intervals.subtract(hulls, busy)))
    return _gaps_answer(
        context, gaps_of_tracks, "instructions", sum(run.end - run.start for run in runs)
    )


def _between_jobs(context: FindingContext) -> FamilyAnswer:
    trace, slices = context.trace, context.trace.slices
    jobs = np.flatnonzero(units_of(trace) == Unit.NSS)
    start, end = slices.start[jobs], slices.end[jobs]
    runs = _runs(context)
    if runs:
        hulls, whole = _hulls(runs, start, end), sum(run.end - run.start for run in runs)
    elif len(jobs):
        hulls = np.array([start.min()]), np.array([end.max()])
        whole = trace.end - trace.start
    else:
        hulls, whole = (start, end), 0
    track = _tracks_of(context, Unit.NSS)[0]
    free = intervals.subtract(hulls, (start, end))
    return _gaps_answer(context, [(track, free)], "NSS jobs", whole)


def _hulls(runs: list[Run], start: Ints, end: Ints) -> Intervals:
    """Return per run the span from first start to last end of the slices that start in it.

    Runs without such slices are left out.
    """
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    lo = np.searchsorted(start, np.array([run.start for run in runs], np.int64))
    hi = np.searchsorted(start, np.array([run.end for run in runs], np.int64))
    has = hi > lo
    lo, hi = lo[has], hi[has]
    if not len(lo):
        return start[:0], end[:0]
    stops = np.array([int(end[a:b].max()) for a, b in zip(lo.tolist(), hi.tolist(), strict=True)])
    return start[lo], stops


def _gaps_answer(
    context: FindingContext, gaps_of_tracks: list[tuple[int, Intervals]], between: str, whole: int
) -> FamilyAnswer:
    """Report the gaps if they reach the threshold.

    gaps_of_tracks: (track, gaps) pairs. between: what the gaps are between. whole: the ticks that
    the share is relative to.
    """
    count = sum(len(start) for _, (start, _) in gaps_of_tracks)
    total = sum(int((end - start).sum()) for _, (start, end) in gaps_of_tracks)
    scope = context.scope
    if context.run is None and any(context.trace.inferences()):
        scope = inferences_text(context.trace, context.within)
    if not count or total < GAPS_SHARE * whole:
        why = f"gaps between {between} are {share_text(total, whole)} of {scope}"
        return NotReported(Family.GAPS, why, _GAPS_RULE, True)
    length, track, start = max(
        (int((end - start).max()), track, int(start[np.argmax(end - start)]))
        for track, (start, end) in gaps_of_tracks
        if len(start)
    )
    return [
        Finding(
            Family.GAPS,
            f"Close gaps between {between}",
            context.gain(total, whole)
            if context.is_timed
            else context.gain_of(total, whole, scope),
            f"{counted(count, 'gap')} in {scope}, {context.time(total)} in total; the longest is "
            f"{context.time(length)}.",
            _GAPS_RULE,
            TimeSpan(start, start + length, (track,)),
        )
    ]


# The rest is invisible: less than a pixel of a window.
TIMES = 1000
FEW = Fraction(1, 3)
_MINUTE = 60 * 10**9
_DAY = 24 * 60 * _MINUTE
# Longer pauses than these are none: between parts of a file, and between inferences or a load and
# its inferences. No slice is as long as a month.
_PAUSE, _RUN_PAUSE, _LONGEST = 10 * _MINUTE, _DAY, 30 * _DAY
_LONG_UNITS = (
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
    unit, size = next(((unit, size) for unit, size in _LONG_UNITS if ns >= size), ("", 1))
    if not unit:
        return format_time(round(ns))
    value = f"{ns / size:.1f}".removesuffix(".0") if ns < 10 * size else f"{round(ns / size)}"
    return f"{value}{NARROW_SPACE}{unit}{'' if value == '1' else 's'}"
