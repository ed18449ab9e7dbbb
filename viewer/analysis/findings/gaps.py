"""Findings about time in which nothing, or only DMA, is active.

*Between instructions*: for each inference, from the start of its first DELEGATE_CALL to the end of
its last, the time on its thread covered only by `Method::execute`: no call, kernel, delegate event
or move instruction. *Between NSS jobs*: for each inference, from the start of the first job to the
end of the last, the time without a job; the host may be active in it. *No unit*: the idle time of
`viewer.analysis.statistics.npu_units`. *Only DMA*: time with DMA or CDMA but neither slice units
nor CSS.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from viewer.analysis.findings.finding import (
    Family,
    FamilyAnswer,
    Finding,
    FindingContext,
    NotReported,
    TimeSpan,
    joined,
    percent,
    share_text,
)
from viewer.analysis.links.labels import key_labels
from viewer.analysis.statistics.npu_units import UnitOverview
from viewer.arrays import Ints
from viewer.model import intervals
from viewer.model.intervals import Intervals
from viewer.model.queries import foreign, units_of
from viewer.model.scope import inferences_text
from viewer.model.times import counted
from viewer.model.trace import KeyKind, Run, Unit
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
