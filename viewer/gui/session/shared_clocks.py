"""Puts files on one axis on request, and on axes of their own again; see the workspace's module.

Each function is one undo step and returns a sentence for the status bar. If it cannot do anything,
the sentence is the reason, which the function of the same name with `_obstacle` returns beforehand.
This module does not use Qt.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace

from viewer.gui.session.alignment import align_obstacle, view_obstacle
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import format_time, tick_to_ns
from viewer.view import group_ranges
from viewer.view.clock_groups import ClockGroup, clock_groups
from viewer.view.open_trace import OpenTrace, views_of
from viewer.workspace.workspace import Workspace


def stated_obstacle(session: Session) -> str:
    """Why `share_stated` is not possible; "" if it is."""
    if not session.workspace.clocks.apart_by_date:
        return "No files on several clocks state the time of day"
    return align_obstacle(session)


def share_stated(session: Session) -> str:
    """Put all files on one axis that state the time of day."""
    return stated_obstacle(session) or _change(session, lambda space: space.share_stated_clock())


def _neighbor(session: Session) -> ClockGroup | None:
    """The group of the strip above the active one, else below it; None if there is no other."""
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
    obstacle = separate_obstacle(session)
    if obstacle:
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
