"""Aligns clock groups on request, and ties their zooms.

Each function is one undo step and returns a sentence for the status bar: what was aligned, and
which groups were left out. If it cannot do anything, the sentence is the reason, which the function
of the same name with `_obstacle` returns beforehand. This module does not use Qt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from viewer.gui.session.session import Session
from viewer.model.inferences.inference_views import Inferences
from viewer.view import alignment
from viewer.view.alignment import Anchors
from viewer.view.clock_groups import ClockGroup, group_title
from viewer.view.selected_slices import nearest_slice
from viewer.view.state import SliceRef, ViewState
from viewer.view.ties import aligned_keys

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
    obstacle = operator_obstacle(session)
    if obstacle:
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
    obstacle = bookmark_obstacle(session)
    if obstacle:
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
    obstacle = align_obstacle(session)
    if obstacle:
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
    obstacle = tie_obstacle(session)
    if obstacle:
        return obstacle
    session.change(alignment.at_same_scale(session.state, session.groups))
    return "All clocks have the same scale and zoom together"


def are_zooms_locked(session: Session) -> bool:
    """Whether all groups zoom together."""
    ties = session.state.ties
    return len(session.groups) > 1 and all(group.key in ties for group in session.groups)


def lock_zooms(session: Session) -> str:
    """Let all groups zoom together; what is aligned stays so only if all groups are."""
    obstacle = tie_obstacle(session)
    if obstacle:
        return obstacle
    locked = alignment.with_zooms_locked(session.state, session.groups)
    if locked is session.state and not are_zooms_locked(session):
        return "Not locked: the zooms of the clocks differ too much"
    session.change(locked)
    return "All clocks zoom together"


def release_obstacle(session: Session) -> str:
    """Why `release` is not possible; "" if it is."""
    return "" if session.state.ties else "No clocks are aligned or locked"


def release(session: Session) -> str:
    """Let every group zoom and pan independently; nothing moves."""
    obstacle = release_obstacle(session)
    if obstacle:
        return obstacle
    session.change(replace(session.state.unstretched, ties={}))
    return "Every clock zooms and pans independently"


def alignment_text(session: Session, clock: str) -> str:
    """How a group is tied, for the header of its strip; "" if it is not."""
    return alignment.alignment_text(session.state, session.groups, clock)
