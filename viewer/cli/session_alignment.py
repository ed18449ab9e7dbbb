"""The alignment of clocks in session files on a command line."""

from __future__ import annotations

import os
from collections.abc import Sequence

from viewer.codecs.reading import UnreadableFile, never_cancelled
from viewer.model.times import tick_to_ns
from viewer.view.sessions.saved_choices import choices_of
from viewer.view.sessions.session_file import SavedSession, find_inputs, read
from viewer.view.sessions.session_head import is_session
from viewer.view.ties import Tie, shifts_of
from viewer.workspace.workspace import Workspace


def alignment_of(
    files: Sequence[str], workspace: Workspace
) -> tuple[dict[int, tuple[int, str]], list[str]]:
    """Return what aligns the open traces, as `PerfettoOptions.shifts`, and messages.

    That is the alignment of the first session file that has one. files: of the command line; those
    that cannot be read are skipped. A profile at another clock rate than in the session is not
    aligned, since its moment is a time at that rate.
    """
    keys = [workspace.clocks.place(trace).key for trace in workspace.traces]
    complaints: list[str] = []
    for path in filter(is_session, files):
        try:
            saved = read(path)
        except UnreadableFile:
            continue
        ties = _anchors(saved, path, workspace, complaints)
        shifts = shifts_of(ties, keys)
        if shifts:
            return shifts, complaints
    return {}, complaints


def _anchors(
    saved: SavedSession, path: str, workspace: Workspace, complaints: list[str]
) -> dict[str, Tie]:
    """Return the anchors of a session's clocks, by the keys of their axes, in ns of their axes."""
    clocks = () if saved.view is None else saved.view.clocks
    if not any(one.tie is not None for one in clocks):
        return {}
    found = find_inputs(saved, os.path.dirname(os.path.abspath(path)), never_cancelled)
    paths = [one.path for one in found]
    chosen = dict(choices_of(saved.choices, paths).clocks)
    traces = {trace.path: trace for trace in workspace.traces}
    ties: dict[str, Tie] = {}
    for one in clocks:
        place = paths[one.input] if 0 <= one.input < len(paths) else None
        trace = None if place is None else traces.get(place)
        if trace is None or one.tie is None or one.tie.anchor_ns is None:
            continue
        rate = workspace.clocks.ns_per_tick(trace)
        if rate != chosen.get(trace.path, trace.clock.ns_per_tick):
            complaints.append(f"{trace.path}: not aligned, since its clock rate differs in {path}")
            continue
        start = tick_to_ns(trace.start, rate) + workspace.clocks.offset_ns(trace)
        tie = Tie(anchor=start + one.tie.anchor_ns, reason=one.tie.reason)
        ties.setdefault(workspace.clocks.place(trace).key, tie)
    return ties
