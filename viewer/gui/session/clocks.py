"""Clocks of the open files: their rates, the ruler's unit, alignment, and files on one axis.

Functions that align, tie zooms, or put files on one axis are one undo step each and return a
sentence for the status bar: what was done, and which groups were left out. If they cannot do
anything, the sentence is the reason, which a function with `_obstacle` in its name returns
beforehand. This module does not use Qt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from fractions import Fraction

from viewer.dataclasses import dataclass, replace
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.text import display_name
from viewer.model.times import format_time, tick_to_ns
from viewer.view import alignment
from viewer.view import visible_ranges as group_ranges
from viewer.view.alignment import Anchors
from viewer.view.clock_groups import ClockGroup, aligned_keys, clock_groups, group_title
from viewer.view.open_trace import OpenTrace, views_of
from viewer.view.selection import nearest_slice
from viewer.view.state import RulerUnit, SliceRef, ViewState
from viewer.view.visible_ranges import with_ticks_kept
from viewer.workspace.clocks import DEBUG_INFO, can_choose_clock
from viewer.workspace.workspace import Workspace

# Usual clock rates of NPUs, offered for clocks whose rate no file states.
CYCLE_RATES = ("800 MHz", "100 MHz")


def clock_trace(session: Session) -> int | None:
    """The trace whose clock rate can be chosen: the current one, else the first, else None."""
    adjustable = [
        i for i, open_trace in enumerate(session.traces) if can_choose_clock(open_trace.file)
    ]
    return _current_or_first(session, adjustable)


def set_clock(session: Session, trace: int | None, ns_per_tick: Fraction | None) -> None:
    """Choose how long a tick of a trace lasts; None restores the rate of its file.

    The visible range and the selected area stay at the same ticks of that trace. `trace` None sets
    the rate for cycles in debug info, which only plans of jobs use. Raises ValueError as
    `Workspace.set_clock` does.
    """
    inferences = session.state.inferences
    space = copy(session.workspace)
    if trace is None:
        space.set_clock(DEBUG_INFO, ns_per_tick)
        session.change(replace(session.state, clocks=space.choices.clocks))
        return
    space.set_clock(session.traces[trace].file.path, ns_per_tick)
    if space.choices.clocks == session.state.clocks:
        return
    views = views_of(space, {inferences}, session.views)
    traces = [views[t, inferences] for t in space.traces]
    axes = session.traces[trace].axis, traces[trace].axis
    group = next(group for group in clock_groups(traces) if trace in group.traces)
    state = with_ticks_kept(session.state, group, trace, *axes)
    session.change(replace(state, clocks=space.choices.clocks))


@dataclass(frozen=True, slots=True)
class DelegateClock:
    """A delegate's clock in an open trace; ns_per_tick: the rate that the user stated, or None."""

    trace: int
    name: str
    ns_per_tick: Fraction | None


def delegate_clocks(session: Session) -> list[DelegateClock]:
    """The clocks of delegates in all open traces, trace by trace."""
    rates = session.state.delegate_clocks
    return [
        DelegateClock(i, name, rates.get((open_trace.file.path, name)))
        for i, open_trace in enumerate(session.traces)
        for name in open_trace.facts.delegate_clocks
    ]


def set_delegate_clock(
    session: Session, trace: int, name: str, ns_per_tick: Fraction | None
) -> None:
    """State how long a cycle or tick of a delegate's clock lasts; None: unknown.

    Nothing moves. Raises ValueError as `Workspace.set_delegate_clock` does.
    """
    space = copy(session.workspace)
    space.set_delegate_clock(session.traces[trace].file.path, name, ns_per_tick)
    session.change(session.state.at_choices(space.choices))


def set_ruler(session: Session, unit: RulerUnit) -> None:
    """Choose the unit that the ruler shows."""
    session.change(replace(session.state, ruler=unit))


def cycle_trace(session: Session) -> int | None:
    """The trace whose cycles the ruler can show: the current one, else the first, None if none."""
    counted = [i for i, t in enumerate(session.traces) if t.trace.clock.unit == "cycle"]
    return _current_or_first(session, counted)


def cycle_trace_on(session: Session, group: ClockGroup) -> int | None:
    """The trace of a clock group whose cycles its ruler can show, None if none counts cycles."""
    counted = (i for i in group.traces if session.traces[i].trace.clock.unit == "cycle")
    chosen = cycle_trace(session)
    return chosen if chosen in group.traces else next(counted, None)


def _current_or_first(session: Session, traces: Sequence[int]) -> int | None:
    current = session.current_trace
    return current if current in traces else traces[0] if traces else None


TOO_FAR = "Not aligned: the times are too far apart"


def tie_obstacle(session: Session) -> str:
    """Why zooms cannot be tied together; "" if they can."""
    return "" if len(session.groups) > 1 else "Open a second file with another clock first"


def align_obstacle(session: Session) -> str:
    """Why nothing can be aligned, not even by hand; "" if it can."""
    return view_obstacle(session) or tie_obstacle(session)


def view_obstacle(session: Session) -> str:
    """Why the view does not show when anything ran; "" if it does."""
    is_as_run = session.state.inferences is Inferences.AS_RUN
    return "" if is_as_run else "Show inferences as they ran first"


def run_obstacle(session: Session) -> str:
    """Why `align_at_run` is not possible; "" if it is."""
    with_runs = sum(
        any(True for number in group.traces for _ in session.traces[number].file.inferences())
        for group in session.groups
    )
    return align_obstacle(session) or ("" if with_runs > 1 else "No inferences on another clock")


def align_at_run(session: Session) -> str:
    """Align the starts of one inference: the picked one, the one in view, or a typical one."""
    obstacle = run_obstacle(session)
    run = alignment.run_of_view(session.state, session.groups, session.traces)
    if obstacle or run is None:
        return obstacle
    anchors = alignment.run_anchors(session.groups, session.traces, *run)
    aligned = session.traces[run[0]].trace.runs[run[1]]
    return _align(session, session.state, anchors, f"{aligned.unit.label} {aligned.number}")


def operator_obstacle(session: Session) -> str:
    """Why `align_at_operator` is not possible; "" if it is, though it may find no other slice."""
    chosen = session.state.slice is not None or session.state.operators is not None
    return align_obstacle(session) or ("" if chosen else "Select a slice first")


def align_at_operator(session: Session) -> str:
    """Align the starts of the selected slice and of those of the same operator on other clocks."""
    if obstacle := operator_obstacle(session):
        return obstacle
    ref = _selected(session)
    if ref is None:
        return "The selected operator has no slice"
    anchors = alignment.slice_anchors(session.groups, session.traces, ref)
    clock = session.groups.of(ref.trace).key
    what = anchors[clock].reason.removeprefix("start of ")
    run = alignment.inference_of(session.traces[ref.trace], ref.index)
    if run is not None and what.startswith("“"):  # not the slice of the inference itself
        what = f"{what} of {run.unit.label} {run.number}"
    return _align(session, session.state.on(clock), anchors, what)


def _selected(session: Session) -> SliceRef | None:
    """The selected slice, else that of the selected operators nearest to the center of the view."""
    state = session.state
    if state.slice is not None or state.operators is None:
        return state.slice
    trace, operators = state.operators
    slices = session.traces[trace].slices_of(operators)
    t0, t1 = state.times_of(session.groups.of(trace).key)
    if not len(slices):
        return None
    return SliceRef(trace, nearest_slice(session.traces[trace], slices, (t0 + t1) // 2))


def bookmark_obstacle(session: Session) -> str:
    """Why `align_at_bookmarks` is not possible; "" if it is."""
    marked = {mark.clock for mark in session.state.bookmarks}
    count = sum(group.key in marked for group in session.groups)
    return align_obstacle(session) or ("" if count > 1 else "No bookmark on another clock")


def align_at_bookmarks(session: Session) -> str:
    """Align a bookmark of each group: the current one, one of its name, or the last one."""
    if obstacle := bookmark_obstacle(session):
        return obstacle
    anchors = alignment.mark_anchors(session.groups, session.state)
    return _align(session, session.state, anchors, "bookmark")


def _align(session: Session, state: ViewState, anchors: Anchors, what: str) -> str:
    """Align groups at anchors unless there is only one; what: that which the others lack."""
    lacking = [group for group in session.groups if group.key not in anchors]
    missing = f"no {what} in {_names(session, lacking)}" if lacking else ""
    if len(anchors) < 2:
        return f"Not aligned: {missing}"
    moved = alignment.aligned(state, session.groups, anchors)
    if moved is state:
        return TOO_FAR
    session.change(moved)
    reasons = list(dict.fromkeys(anchor.reason for anchor in anchors.values()))
    clock_groups = [group for group in session.groups if group.key in anchors]
    sentence = f"Aligned at {' and '.join(reasons)}: {_names(session, clock_groups)}"
    return f"{sentence} · {missing}" if missing else sentence


def _names(session: Session, groups: Iterable[ClockGroup]) -> str:
    return ", ".join(group_title(group, session.traces) for group in groups)


def shift_by_hand(session: Session, clock: str, by_ns: int, *, joins: bool = False) -> str:
    """Move one group against the others by ns of its axis; positive shows later times, as `pan`.

    Aligns it as it is on screen if it is not aligned yet. `joins` merges this into the previous
    undo step, as while the user drags.
    """
    if obstacle := align_obstacle(session):
        return obstacle
    moved = alignment.shifted(session.state, session.groups, clock, by_ns)
    if moved is session.state:
        return TOO_FAR
    session.change(moved, remember=not joins, by_hand=True)
    aligned = set(aligned_keys(moved.ties))
    clock_groups = [group for group in session.groups if group.key in aligned]
    return f"Aligned by hand: {_names(session, clock_groups)}"


def use_same_scale(session: Session) -> str:
    """Give all groups the span of the active one, and keep it so; ends an alignment."""
    if obstacle := tie_obstacle(session):
        return obstacle
    session.change(alignment.at_same_scale(session.state, session.groups))
    return "All clocks have the same scale and zoom together"


def are_zooms_locked(session: Session) -> bool:
    """Whether all groups zoom together."""
    ties = session.state.ties
    return len(session.groups) > 1 and all(group.key in ties for group in session.groups)


def lock_zooms(session: Session) -> str:
    """Let all groups zoom together; what is aligned stays so only if all groups are."""
    if obstacle := tie_obstacle(session):
        return obstacle
    locked = alignment.with_zooms_locked(session.state, session.groups)
    if locked is session.state and not are_zooms_locked(session):
        return "Not locked: the zooms of the clocks differ too much"
    session.change(locked)
    return "All clocks zoom together"


def release_obstacle(session: Session) -> str:
    """Why `release` is not possible; "" if it is."""
    return "" if session.state.ties else "No clocks are aligned or locked"


def release_ties(session: Session) -> str:
    """Let every group zoom and pan independently; nothing moves."""
    if obstacle := release_obstacle(session):
        return obstacle
    session.change(replace(session.state.unstretched, ties={}))
    return "Every clock zooms and pans independently"


def alignment_text(session: Session, clock: str) -> str:
    """How a group is tied, for the header of its strip; "" if it is not."""
    return alignment.alignment_text(session.state, session.groups, clock)


def stated_obstacle(session: Session) -> str:
    """Why `share_stated` is not possible; "" if it is."""
    if not session.workspace.clocks.apart_by_date:
        return "No files on several clocks state the time of day"
    return align_obstacle(session)


def share_stated(session: Session) -> str:
    """Put all files on one axis that state the time of day."""
    return stated_obstacle(session) or _change(session, lambda space: space.share_stated_clock())


def _neighbor(session: Session) -> ClockGroup | None:
    """The group of the strip above the active one, else below it."""
    keys = session.state.strips.shown(session.groups.keys)
    if session.group.key not in keys or len(keys) < 2:
        return None
    index = keys.index(session.group.key)
    return session.groups.by_key(keys[index - 1 if index else 1])


def share_obstacle(session: Session) -> str:
    """Why `share` is not possible; "" if it may be, though the files may contradict it."""
    if _neighbor(session) is None:
        return "Open a second file with another clock first"
    return align_obstacle(session)


def share(session: Session) -> str:
    """State that the active strip and the one above it, else below, are of one clock."""
    other = _neighbor(session)
    obstacle = share_obstacle(session)
    if obstacle or other is None:
        return obstacle
    numbers = sorted((other.traces[0], session.group.traces[0]))
    paths = [session.traces[number].file.path for number in numbers]
    return _change(session, lambda space: space.share_clock(paths))


def separate_obstacle(session: Session) -> str:
    """Why `separate` is not possible; "" if it is."""
    paths = {session.traces[number].file.path for number in session.group.traces}
    if not any(paths & set(same_clock.paths) for same_clock in session.state.same_clocks):
        return "The files of this clock were not put on one axis by you"
    return view_obstacle(session)


def separate(session: Session) -> str:
    """Put the files of the active clock on axes of their own again."""
    if obstacle := separate_obstacle(session):
        return obstacle
    path = session.traces[session.group.traces[0]].file.path
    _change(session, lambda space: space.separate_clock(path))
    return "These files have clocks of their own again"


def _change(session: Session, change: Callable[[Workspace], None]) -> str:
    """Change which files share a clock; returns which are on one axis with the active one now."""
    space = copy(session.workspace)
    try:
        change(space)
    except ValueError as error:
        return f"Not on one axis: {error}"
    views = views_of(space, {session.state.inferences}, session.views)
    now = [views[trace, session.state.inferences] for trace in space.traces]
    groups = clock_groups(now)
    state = group_ranges.regrouped(session.state, groups, session.traces, now)
    session.change(replace(state, same_clocks=space.choices.same_clocks))
    titles = (display_name(now[number].file.path) for number in session.group.traces)
    reason = now[session.group.traces[0]].place.reason
    doubts = space.clocks.doubts
    return " · ".join([f"On one axis: {', '.join(titles)}", *filter(None, [reason, *doubts])])


def shared_clocks(session: Session) -> list[str]:
    """A note per trace: the earlier file whose clock it shares, and how much later it starts.

    Also why, if the user put them on one axis. The note is "" if the trace shares no clock, or
    either file has no slices.
    """
    return [_shared_clock(session, open_trace) for open_trace in session.traces]


def _shared_clock(session: Session, open_trace: OpenTrace) -> str:
    first = session.workspace.clocks.same_clock(open_trace.file)[0]
    if first is open_trace.file or not (len(first.slices) and len(open_trace.file.slices)):
        return ""
    clocks = session.workspace.clocks
    start, start_here = (
        tick_to_ns(trace.start, clocks.ns_per_tick(trace)) + clocks.place(trace).shift_ns
        for trace in (first, open_trace.file)
    )
    later, reason = start_here - start, open_trace.place.reason
    when = f"{format_time(abs(later))} {'later' if later > 0 else 'earlier'}"
    what = f"{'on one axis with' if reason else 'clock of'} {display_name(first.path)}"
    note = f"{what}, starts {when if later else 'at the same time'}"
    return f"{note} · {reason}" if reason else note
