"""The view and its history after files were opened, linked again or reloaded. No Qt."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.dataclasses import replace
from viewer.model.inference_views import Inferences
from viewer.render.arrangement import TrackView
from viewer.view import visible_ranges
from viewer.view.clock_groups import ClockGroups, clock_groups, group_key
from viewer.view.history import History, Version
from viewer.view.open_trace import OpenTrace
from viewer.view.sessions.saved_view import MOST_SLICES, kept_view, shown_view
from viewer.view.state import SliceRef, SliceSet, ViewState
from viewer.workspace.open_paths import OpenFile
from viewer.workspace.user_choices import ChosenPhases
from viewer.workspace.workspace import Workspace


def view_after_opening(
    state: ViewState, history: History, before: Sequence[OpenTrace], now: Sequence[OpenTrace]
) -> ViewState:
    """Return the view after files were opened or linked again; adapts the history.

    before, now: all open traces.
    """
    groups = clock_groups(now)
    moves = visible_ranges.axis_moves(before, now)
    state = replace(state, slice=None, others=(), operators=None, area=None)
    # Whether a statement about clocks came with the files that were opened.
    keys = [[group_key(open_trace) for open_trace in some] for some in (before, now[: len(before)])]
    if keys[0] != keys[1] or any(open_trace.place.reason for open_trace in now[len(before) :]):
        history.clear()  # earlier states are of other axes
        state = visible_ranges.regrouped(state, groups, before, now)
    else:
        state = visible_ranges.with_axes_moved(state, groups, moves)
    state = visible_ranges.opened(state, groups, now)
    # A trace that was linked again keeps its slices, and so the identity of their array.
    starts = [id(t.file.slices.start) for t in now[: len(before)]]
    if starts != [id(t.file.slices.start) for t in before]:
        # View states refer to traces and slices by position, which is no longer valid.
        history.clear()
        tracks = TrackView(filter=state.tracks.filter, order=state.tracks.order)
        return replace(state, run=None, file=None, tracks=tracks)
    history.adapt(lambda past: visible_ranges.adapted(past, state, groups, moves))
    if any(t.file is not previous.file for t, previous in zip(now, before, strict=False)):
        history.adapt(_without_view_slices)  # of other phases, other inferences are typical
    if any(
        t.table.program is not previous.table.program
        for t, previous in zip(now, before, strict=False)
    ):
        history.without_operators()
    return state


def keep_phases_of_opened(
    history: History, before: Sequence[OpenTrace], phases: ChosenPhases
) -> None:
    """Let earlier views have the phases that were chosen for files as these were opened."""
    earlier = {shown.file.path for shown in before}
    opened = {path: chosen for path, chosen in phases.items() if path not in earlier}
    if opened:
        history.adapt(lambda past: replace(past, phases={**opened, **past.phases}))


def _without_view_slices(past: ViewState) -> ViewState:
    if past.inferences is Inferences.AS_RUN:
        return past
    return replace(past, slice=None, others=(), operators=None, area=None)


def replaced_files(before: Workspace, now: Workspace) -> tuple[OpenFile, ...]:
    """Return the earlier contents of the files that a workspace has read again."""
    return tuple(
        file
        for path, file in before.files.items()
        if path in now.files and now.files[path].item is not file.item
    )


def version_of(
    files: tuple[OpenFile, ...], state: ViewState, history: History, traces: Sequence[OpenTrace]
) -> Version:
    """Return files that are about to be replaced, with the view of all open traces.

    Frees the versions next to this one, so that there is never more than one.
    """
    history.earlier = history.later = None
    return Version(
        files,
        state,
        history,
        tuple(t.file.slices.start for t in traces),
        tuple(t.table.program for t in traces),
    )


def shown_again(
    replaced: Version,
    version: Version | None,
    traces: tuple[Sequence[OpenTrace], Sequence[OpenTrace]],
    groups: ClockGroups,
    *,
    is_undo: bool,
) -> tuple[ViewState, History]:
    """Return the view and the history after files were replaced.

    replaced: the contents until now, which the history keeps. version: the contents that undo or
    redo brought back, with their view and history; None after a reload. traces, groups: as in
    `view_after_reload`.
    """
    before, now = traces
    exact = None if version is None else _returned(version, replaced.state.inferences, now)
    state, history = exact or (view_after_reload(replaced.state, before, now, groups), History())
    if is_undo:
        history.later = replaced
    else:
        history.earlier = replaced
    return state, history


def _returned(
    version: Version, inferences: Inferences, traces: Sequence[OpenTrace]
) -> tuple[ViewState, History] | None:
    """Return the view and the history of a version whose files are open again.

    None if other files were opened since, or inferences are displayed in another way.
    """
    starts = [t.file.slices.start for t in traces]
    if version.state.inferences is not inferences or len(starts) != len(version.starts):
        return None
    if any(now is not then for now, then in zip(starts, version.starts, strict=True)):
        return None
    state = version.state
    if any(t.table.program is not p for t, p in zip(traces, version.programs, strict=True)):
        state = replace(state, operators=None)
        version.history.without_operators()
    return state, version.history


def view_after_reload(
    state: ViewState, before: Sequence[OpenTrace], now: Sequence[OpenTrace], groups: ClockGroups
) -> ViewState:
    """Return a view of the earlier traces for the current ones: all that still makes sense.

    Times are kept from the start of each profile, tracks by process and thread, slices by their
    row in the file if they still have the same name, operators by number if they do. before, now:
    all open traces, inferences as they ran. groups: the clock groups as displayed now.
    """
    inputs = [t.file.path for t in before]
    open_keys = {group.key for group in clock_groups(before)}
    saved = kept_view(state, before, inputs)
    start = replace(state, slice=None, others=(), operators=None, area=None, run=None)
    view_state, _ = shown_view(saved, start, now, inputs)
    # Bookmarks of files that were closed are not in a saved view.
    closed = tuple(mark for mark in state.bookmarks if mark.clock and mark.clock not in open_keys)
    view_state = replace(
        view_state, inferences=state.inferences, bookmarks=(*view_state.bookmarks, *closed)
    )
    view_state = _with_same_slices(view_state, state, before, now)
    view_state = _with_same_operators(view_state, before, now)
    return visible_ranges.restored(view_state, groups, now)


def _with_same_slices(
    view_state: ViewState, state: ViewState, before: Sequence[OpenTrace], now: Sequence[OpenTrace]
) -> ViewState:
    """Return a view without selected slices that have another name than the one in their row."""
    few = len(state.others) <= MOST_SLICES
    first = () if state.slice is None else (state.slice,)
    # Of another display of inferences, no slice was kept.
    as_run = state.inferences is Inferences.AS_RUN
    kept = (state.slices if few else SliceSet.of_refs(first)) if as_run else ()
    known = {_name(before, ref) for ref in kept}
    slice_refs = [ref for ref in view_state.slices if _name(now, ref) in known]
    main = (
        view_state.slice
        if view_state.slice in slice_refs
        else slice_refs[0]
        if slice_refs
        else None
    )
    others = SliceSet.of_refs(slice_refs).without(main) if main is not None else ()
    return replace(view_state, slice=main, others=others if len(others) else ())


def _name(traces: Sequence[OpenTrace], ref: SliceRef) -> tuple[str, int, str]:
    """Return the file of a slice, its row there, and its name."""
    file = traces[ref.trace].file
    return file.path, int(file.slices.source_row[ref.index]), file.name(ref.index)


def _with_same_operators(
    view_state: ViewState, before: Sequence[OpenTrace], now: Sequence[OpenTrace]
) -> ViewState:
    """Return a view without highlighted operators that are others in the current program."""
    if view_state.operators is None:
        return view_state
    number, operators = view_state.operators
    program = now[number].table.program
    path = now[number].file.path
    earlier = next((t.table.program for t in before if t.file.path == path), None)
    if program is None or earlier is None:
        return replace(view_state, operators=None)
    if program is earlier:
        return view_state
    same = tuple(
        i
        for i in operators
        if i < len(earlier.operators) and program.operators[i].label == earlier.operators[i].label
    )
    return replace(view_state, operators=(number, same) if same else None)
