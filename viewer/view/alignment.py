"""Alignment of clock groups: what their anchors are, and the view with anchors at one place. No Qt.

Times of different clocks cannot be compared, so groups are aligned only on request, at something
that both have: an inference, an operator, a bookmark, or a place that the user chose by hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from viewer.arrays import Ints
from viewer.dataclasses import dataclass, replace
from viewer.model.figures import TimeScope, starts_in
from viewer.model.times import format_time
from viewer.model.trace import Run, RunKind
from viewer.view.clock_groups import (
    ClockGroup,
    Tie,
    aligned_keys,
    are_in_reach,
    axis_spans,
    moved_together,
    offset_ns,
)
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef, ViewState
from viewer.view.visible_ranges import (
    limited_range,
    run_in_view,
    run_span_ns,
    with_margin,
    with_ranges,
)

BY_HAND = "by hand"
_RUN = re.compile(r"start of [a-z]+ \d+")


@dataclass(frozen=True, slots=True)
class Anchor:
    """The moment of a clock group that is aligned: ns of its axis, and what it is.

    length_ns: how long what starts there takes, 0 if that does not matter for the view.
    """

    at_ns: int
    reason: str
    length_ns: int = 0


Anchors = Mapping[str, Anchor]


# -- anchors ---------------------------------------------------------------------------------------


def run_of_view(
    state: ViewState, groups: Sequence[ClockGroup], traces: Sequence[OpenTrace]
) -> tuple[int, int] | None:
    """Return the inference to align at as (trace, position in its runs), None without inferences.

    It is the picked one, else the one in view in the active group, else the first one that does not
    warm up, of the active group if possible.
    """
    if state.run is not None:
        return state.run
    active = [number for group in groups if group.key == state.clock for number in group.traces]
    for number in active:
        seen = run_in_view(traces[number], *state.times)
        if seen is not None:
            return number, seen
    others = [number for number in range(len(traces)) if number not in active]
    for number in (*active, *others):
        runs = _inferences(traces[number])
        if runs:
            return number, next((i for i, run in runs if not run.warms_up), runs[0][0])
    return None


def run_anchors(
    groups: Sequence[ClockGroup], traces: Sequence[OpenTrace], trace: int, position: int
) -> dict[str, Anchor]:
    """Return the start of one inference, and of those with the same number in other groups.

    trace, position: the inference, by its position in the runs of its trace. Methods are numbered
    separately: in other groups, an inference of the same name is preferred.
    """
    chosen = traces[trace].trace.runs[position]
    anchors = {}
    for group in groups:
        if trace in group.traces:
            anchors[group.key] = _run_anchor(traces[trace], chosen)
            continue
        runs = [(traces[n], run) for n in group.traces for run in _alike(traces[n], chosen)]
        runs.sort(key=lambda pair: pair[1].series != chosen.series)
        if runs:
            anchors[group.key] = _run_anchor(*runs[0])
    return anchors


def _run_anchor(open_trace: OpenTrace, run: Run) -> Anchor:
    start, end = run_span_ns(open_trace, run)
    return Anchor(start, f"start of {run.unit.label} {run.number}", end - start)


def _inferences(open_trace: OpenTrace) -> list[tuple[int, Run]]:
    runs = enumerate(open_trace.trace.runs)
    return [(number, run) for number, run in runs if run.kind is RunKind.INFERENCE]


def _alike(open_trace: OpenTrace, chosen: Run) -> list[Run]:
    """The inferences with the number of another one; those of its name are first."""
    runs = [run for _, run in _inferences(open_trace) if run.number == chosen.number]
    return sorted(runs, key=lambda run: run.series != chosen.series)


def slice_anchors(
    groups: Sequence[ClockGroup], traces: Sequence[OpenTrace], ref: SliceRef
) -> dict[str, Anchor]:
    """Return the start of a slice, and of the slice of the same operator in other groups.

    That is the slice with the same label on screen, at the same place among those of the inference
    with the same number. If either is not in an inference, it is the first one. For the slice of an
    inference, whose label has its number and method, it is that of `run_anchors`.
    """
    open_trace = traces[ref.trace]
    label, kind = open_trace.label(ref.index), _kind_of(open_trace, ref.index)
    run, span = inference_of(open_trace, ref.index), open_trace.span_ns(ref.index)
    if run is not None and span == run_span_ns(open_trace, run):
        return run_anchors(groups, traces, ref.trace, open_trace.trace.runs.index(run))
    reason = f"start of “{label}”"
    rows = _labeled(open_trace, label, kind, run).tolist()
    place = rows.index(ref.index)
    anchors = {}
    for group in groups:
        if ref.trace in group.traces:
            anchors[group.key] = Anchor(span[0], reason)
            continue
        for number in group.traces:
            match = _match(traces[number], label, kind, run, place)
            if match is not None:
                anchors[group.key] = Anchor(traces[number].span_ns(match)[0], reason)
                break
    return anchors


def inference_of(open_trace: OpenTrace, index: int) -> Run | None:
    """Return the inference in which slice `index` starts, None if in none."""
    slices = open_trace.trace.slices
    number = open_trace.trace.run_at(slices.track(index), int(slices.start[index]))
    run = None if number is None else open_trace.trace.runs[number]
    return run if run is not None and run.kind is RunKind.INFERENCE else None


def _match(open_trace: OpenTrace, label: str, kind: int, run: Run | None, place: int) -> int | None:
    if run is None or not _inferences(open_trace):
        rows = _labeled(open_trace, label, kind, None)
        return int(rows[0]) if len(rows) else None
    for other in _alike(open_trace, run):
        rows = _labeled(open_trace, label, kind, other)
        if len(rows) > place:
            return int(rows[place])
    return None


def _kind_of(open_trace: OpenTrace, index: int) -> int:
    return int(open_trace.trace.keys.kind[open_trace.trace.slices.key[index]])


def _labeled(open_trace: OpenTrace, label: str, kind: int, run: Run | None) -> Ints:
    """The slices with a label in an inference, or in the whole trace, in order of their starts.

    A call and the kernel in it can have one label, so only slices of one kind count: of the given
    one if there are any, else of that of the first.
    """
    trace = open_trace.trace
    if label not in open_trace.label_strings:
        return np.empty(0, np.int64)
    rows = np.flatnonzero(open_trace.labels == open_trace.label_strings.index(label))
    if run is not None:
        rows = starts_in(trace, TimeScope(run=run), rows)
    rows = rows[np.argsort(trace.slices.start[rows], kind="stable")]
    kinds = trace.keys.kind[trace.slices.key[rows]]
    if len(rows) and not (kinds == kind).any():
        kind = int(kinds[0])
    alike: Ints = rows[kinds == kind]
    return alike


def mark_anchors(groups: Sequence[ClockGroup], state: ViewState) -> dict[str, Anchor]:
    """Return the bookmark to align each group at.

    It is the current one, else the one of the same name, else the group's last one.
    """
    current = None if state.mark is None else state.bookmarks[state.mark]
    anchors = {}
    for group in groups:
        bookmarks = [mark for mark in state.bookmarks if mark.clock == group.key]
        if not bookmarks:
            continue
        named = [mark for mark in bookmarks if current is not None and mark.name == current.name]
        mark = current if current is not None and current in bookmarks else [*bookmarks, *named][-1]
        anchors[group.key] = Anchor(mark.t0, f"bookmark “{mark.name}”" if mark.name else "bookmark")
    return anchors


# -- views -----------------------------------------------------------------------------------------


def aligned(state: ViewState, groups: Sequence[ClockGroup], anchors: Anchors) -> ViewState:
    """Return a view with anchors at one place on screen, at one scale; other groups are not tied.

    It shows the longest of what starts there with a margin. If nothing has a length, the active
    group keeps its span, and moves only if its anchor is out of view. Anchors too far apart for
    int64 change nothing.
    """
    ties = {key: Tie(Fraction(1), anchor.at_ns, anchor.reason) for key, anchor in anchors.items()}
    if not are_in_reach(ties, axis_spans(groups)):
        return state
    result = replace(state.unstretched, ties=ties)
    lead = state.clock if state.clock in anchors else next(iter(anchors))
    t0, t1 = result.range_of(lead)
    at_ns, longest = anchors[lead].at_ns, max(anchor.length_ns for anchor in anchors.values())
    if longest:
        t0, t1 = with_margin(at_ns, at_ns + longest)
    elif not t0 <= at_ns < t1:
        t0, t1 = at_ns - (t1 - t0) // 2, at_ns - (t1 - t0) // 2 + (t1 - t0)
    return placed_by(state, with_ranges(result, {lead: (t0, t1)}), groups, lead)


def placed_by(
    before: ViewState, after: ViewState, groups: Sequence[ClockGroup], lead: str
) -> ViewState:
    """Return a view in which all groups tied to one follow its range, which is limited first."""
    span = limited_range(after, groups, lead, after.range_of(lead))
    ranges = {**after.all_ranges, lead: span}
    moved = moved_together(after.ties, ranges, lead, before.range_of(lead))
    return with_ranges(after, moved)


def following_run(
    before: ViewState,
    after: ViewState,
    groups: Sequence[ClockGroup],
    traces: Sequence[OpenTrace],
    run: tuple[int, int],
) -> ViewState:
    """Return a view of another inference, aligned at its start if the view before was at a run's.

    after: the view with the inference in view, and its group active. run: the inference, as (trace,
    position in its runs). Groups without it keep their anchors, as does a view that is aligned in
    another way.
    """
    keys = aligned_keys(after.ties)
    if after.clock not in keys or not all(_RUN.fullmatch(after.ties[key].reason) for key in keys):
        return after
    members = [group for group in groups if group.key in keys]
    anchors = run_anchors(members, traces, *run)
    moved = {
        key: replace(after.ties[key], anchor=anchor.at_ns, reason=anchor.reason)
        for key, anchor in anchors.items()
    }
    return placed_by(before, replace(after, ties={**after.ties, **moved}), groups, after.clock)


def shifted(state: ViewState, groups: Sequence[ClockGroup], clock: str, by_ns: int) -> ViewState:
    """Return a view with one group moved against the others by ns of its axis.

    As in panning, it shows later times if by_ns is positive. A group that is not aligned yet is
    aligned as everything is on screen now: with the aligned groups, else with the active one, or
    with the topmost other one. A move too far for int64 changes nothing.
    """
    keys = state.strips.ordered([group.key for group in groups])
    others = [key for key in keys if key != clock]
    if clock not in keys or not others:
        return state
    before, state = state, state.unstretched
    tied_keys = aligned_keys(state.ties)
    lead = next(
        (key for key in others if key in tied_keys),
        state.clock if state.clock in others else others[0],
    )
    ties = {**state.ties, lead: _tie_now(state, lead)}
    (first, last), (t0, t1) = state.range_of(lead), state.range_of(clock)
    lead_anchor = ties[lead].anchor
    if lead not in tied_keys or lead_anchor is None:
        lead_anchor = (first + last) // 2
        ties[lead] = replace(ties[lead], anchor=lead_anchor, reason=BY_HAND)
    tie = _tie_now(replace(state, ties=ties), clock)
    anchor = tie.anchor
    if clock not in tied_keys or anchor is None:
        anchor = round(t0 + (lead_anchor - first) * Fraction(t1 - t0, last - first))
    ties[clock] = replace(tie, anchor=anchor + by_ns, reason=BY_HAND)
    for key in tied_keys:
        # What is left of an alignment is no longer one with the group that was moved away.
        shared = sum(ties[other].reason == ties[key].reason for other in aligned_keys(ties))
        ties[key] = ties[key] if shared > 1 else replace(ties[key], reason=BY_HAND)
    if not are_in_reach(ties, axis_spans(groups)):
        return before
    moved = with_ranges(replace(state, ties=ties), {clock: (t0 + by_ns, t1 + by_ns)})
    limit = limited_range(moved, groups, moved.clock, (moved.t0, moved.t1))
    return moved if limit == (moved.t0, moved.t1) else placed_by(moved, moved, groups, moved.clock)


def _tie_now(state: ViewState, key: str) -> Tie:
    """The tie of a group, or one with its current span in proportion to those of tied groups."""
    own_tie = state.ties.get(key)
    if own_tie is not None:
        return own_tie
    t0, t1 = state.range_of(key)
    for other, tie in state.ties.items():
        first, last = state.range_of(other)
        return Tie(tie.scale * Fraction(t1 - t0, last - first))
    return Tie(Fraction(t1 - t0))


def at_same_scale(state: ViewState, groups: Sequence[ClockGroup]) -> ViewState:
    """Return a view in which all groups have the span of the active one, around their centers."""
    state = state.unstretched
    span = state.t1 - state.t0
    ranges = {}
    for group in groups:
        t0, t1 = state.range_of(group.key)
        start = (t0 + t1 - span) // 2
        ranges[group.key] = start, start + span
    tied = replace(state, ties={group.key: Tie() for group in groups})
    return with_ranges(tied, {**ranges, state.clock: (state.t0, state.t1)})


def with_zooms_locked(state: ViewState, groups: Sequence[ClockGroup]) -> ViewState:
    """Return a view in which all groups zoom together; nothing moves.

    Anchors are kept if all groups are aligned already. Nothing changes if the zooms differ too much
    for int64 to hold what is visible of one group when all of another is.
    """
    if len(aligned_keys(state.ties)) == len(groups):
        return state
    free = state.unstretched
    ranges = {group.key: free.range_of(group.key) for group in groups}
    ties = {key: Tie(Fraction(t1 - t0)) for key, (t0, t1) in ranges.items()}
    within = are_in_reach(ties, axis_spans(groups))
    return replace(free, ties=ties) if within else state


# -- texts -----------------------------------------------------------------------------------------


def alignment_text(state: ViewState, groups: Sequence[ClockGroup], clock: str) -> str:
    """Return how a group is tied: "", "zoom locked", "same scale", or what it is aligned at.

    For an aligned group it ends with what its times are shifted by against the topmost aligned
    group, if both have the same scale: "aligned: start of run 2, +1.200 ms".
    """
    tie = state.ties.get(clock)
    if tie is None:
        return ""
    tied_keys = aligned_keys(state.ties)
    if clock not in tied_keys:
        scales = {tie.scale for tie in state.ties.values()}
        return "same scale" if len(scales) == 1 else "zoom locked"
    keys = state.strips.ordered([group.key for group in groups])
    reference = next(key for key in keys if key in tied_keys)
    text = "stretched by pair" if clock in state.gaps else f"aligned: {tie.reason}"
    offset = offset_ns(state.ties, reference, clock)
    if not offset or tie.scale != state.ties[reference].scale:
        return text
    return f"{text}, {'+' if offset > 0 else ''}{format_time(offset)}"
