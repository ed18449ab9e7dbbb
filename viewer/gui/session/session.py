"""The state of a window: what is open, what is visible, what is selected, and the history.

Timeline and panels know the session but not one another. The view is one immutable `ViewState`; all
changes to it are made here, can be undone, and are announced by signals. Changes of open files,
links or the inference view are computed on a copy of the workspace, off the GUI thread if the
traces are large. Until the copy is ready, everything stays as it was.

Times are ns on the axis of a clock group; files that share a clock are in one group, whose axis
starts at 0 with the earliest of them. `state.t0` and `t1` are the range of the active group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Self

from PySide6.QtCore import QObject, Qt, Signal, Slot

from viewer.dataclasses import replace
from viewer.gui.qt.background import Latest
from viewer.gui.session.workspace_edits import (
    Edit,
    Edited,
    ShownWorkspace,
    WorkspaceEdits,
    count_linked,
    find_outliers,
    opening,
    returning,
    slices_of_all,
    work_out_view,
)
from viewer.model.figures import TimeScope, starts_in
from viewer.model.inference_views import Inferences
from viewer.model.trace import RunKind, Trace
from viewer.program.executables import Executable
from viewer.program.program import Program
from viewer.view import after_edit, visible_ranges
from viewer.view.clock_groups import ClockGroup, ClockGroups, clock_groups
from viewer.view.history import History
from viewer.view.open_trace import AT_ONCE, OpenTrace, Views, Work, views_of
from viewer.view.selection import SelectedSpan, current_trace, nearest_slice, scope_of
from viewer.view.state import Area, SliceRef, SliceSet, ViewState
from viewer.view.visible_ranges import first_state
from viewer.workspace.link_choices import NO_CHOICES, Choices
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.workspace.open_paths import OpenFile


# Range changes closer together than this, in seconds, are one undo step (a burst of the wheel).
BURST = 0.5


class Session(QObject):
    """The open workspace, its view, and the history of the view; lives on the GUI thread.

    prepare: more work for each trace that is opened, besides what the session does; pure functions,
    which may run in a thread.
    """

    about_to_change = Signal()  # for slow work: a turn before `workspace_changed`, for large traces
    workspace_changed = Signal()  # files, links or their order; anything may differ
    files_added = Signal(object)  # after `workspace_changed`; choices not applied: list[str]
    files_replaced = Signal(object, str)  # paths: list[str]; "reload", "undo" or "redo"
    range_jumped = Signal(object)  # unless moved by hand; the previous ViewState
    range_changed = Signal()
    clock_activated = Signal()
    strips_changed = Signal()  # their arrangement, or how they are tied
    tracks_changed = Signal()  # the visible ones, or their order
    coloring_changed = Signal()  # the scheme, or the highlighted class
    bookmarks_changed = Signal()  # or the measurement
    query_changed = Signal()  # or whether only hits are shown
    ruler_changed = Signal()
    compared = Signal()  # other arms
    derived_changed = Signal()  # other queries are drawn as tracks
    selection_changed = Signal()
    run_picked = Signal()  # the inference that costs are computed for
    history_changed = Signal()
    columns_remembered = Signal()  # `workspace.choices.remembered` changed
    sources_changed = Signal()  # the folders searched for the sources that programs name
    source_requested = Signal(str, int)  # recorded path, line
    revealed = Signal(object)  # a SliceRef to scroll into view
    file_fitted = Signal(int)  # number of the trace that is now shown from start to end
    file_shown = Signal(int)  # number of the trace that was switched to

    def __init__(self, parent: QObject | None = None, prepare: Sequence[Work] = ()) -> None:
        super().__init__(parent)
        self.workspace = Workspace()
        self.traces: list[OpenTrace] = []
        self.state = ViewState()
        # Tells how the first files are shown: its `inferences` and `warm_up` apply.
        self.preferred: Callable[[], ViewState] = ViewState
        self.first_view_note = ""
        self.noted_file = 0  # the number of the trace that the note is about
        self.groups = ClockGroups()
        self.selected_span = SelectedSpan()
        self.history = History()
        self._in_step = False
        self._last_range_change = float("-inf")
        # Views of the inferences of open traces, made on first use.
        self.views: Views = {}
        self._prepare = (count_linked, find_outliers, *prepare)
        self._edits = WorkspaceEdits(self._shown_now, self._prepare, self)
        self._edits.about_to_change.connect(self.about_to_change)
        self._edits.done.connect(self._show_edited)
        self._edits.failed.connect(lambda sentence: self.files_added.emit([sentence]))
        self._viewing = Latest(self, self._view_made)
        self._requested = Inferences.AS_RUN  # the view that `_viewing` computes

    # -- files -------------------------------------------------------------------------------

    def add(
        self,
        items: Sequence[Trace | Program | Executable],
        choices: Choices = NO_CHOICES,
        found_for: Mapping[str, str] | None = None,
    ) -> None:
        """Open items that were read; resets the view only if nothing was open before.

        An item whose path is open replaces it; undo brings the old one back. `choices` come from
        the command line. `found_for` maps the path of an item that was found automatically to the
        trace that it belongs to.
        """
        self.edit_workspace(opening(items, choices, found_for or {}, self.files_added.emit))

    def restore_view(self, state: ViewState) -> None:
        """Show a saved view of the open files, and clear the history; the inference view stays."""
        self.history.clear()
        self._last_range_change = float("-inf")
        view_state = replace(state, inferences=self.state.inferences)
        view_state = visible_ranges.restored(view_state, self.groups, self.traces)
        self._apply(view_state.at_choices(self.workspace.choices))

    def close_all(self) -> None:
        """Close every file and reset the view."""
        self._edits.clear()
        self._viewing.cancel()
        self.workspace, self.views = Workspace(self.workspace.choices.lasting), {}
        self._rebuild(reset=True)

    def edit_workspace(self, edit: Edit) -> None:
        """Queue a change, shown once links and views are ready; `files_added` reports failures."""
        self._edits.submit(edit)

    def edit_workspace_now(self, change: Callable[[Workspace], object]) -> None:
        """Apply a change that no link, label or cost depends on; it must not raise. No signals."""
        self.workspace = copy(self.workspace)
        change(self.workspace)
        self._edits.catch_up(change)

    def _shown_now(self) -> ShownWorkspace:
        view_state = self.state if self.workspace.traces else self.preferred()
        return self.workspace, {Inferences.AS_RUN, view_state.inferences}, self.views

    @Slot(object)
    def _show_edited(self, done: Edited) -> None:
        self.state = self.state.with_gaps({})
        self.history.without_gaps()
        first = done.edit.adds and not self.workspace.traces
        shows_first = first and bool(done.space.traces)
        replaced = () if shows_first else after_edit.replaced_files(self.workspace, done.space)
        as_run = [self.as_run(i) for i in range(len(self.traces))] if replaced else []
        requested = self._requested if self._viewing.pending else None
        self._viewing.cancel()  # it was computing views of the previous workspace
        self.workspace, self.views = done.space, done.views
        if replaced:
            self._show_replaced(replaced, as_run, done.edit)
        else:
            self._rebuild(reset=first)
        if done.complaint:
            self.files_added.emit([done.complaint])
        else:
            done.edit.then(done.result)
        if replaced:
            self.files_replaced.emit([file.item.path for file in replaced], done.edit.step)
        if requested is not None:
            self.show_inferences(requested)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show: no profile, operator or executable."""
        return self.workspace.is_empty

    @property
    def group(self) -> ClockGroup:
        """The active clock group."""
        return self.groups.by_key(self.state.clock)

    def activate(self, clock: str) -> None:
        """Make a clock group the one that keys act on; not a step of the history."""
        if clock in self.groups.keys:
            self.change(self.state.on(clock), remember=False)

    def _rebuild(self, *, reset: bool) -> None:
        before = self.traces
        self._last_range_change = float("-inf")  # a longer burst is a step of its own
        if reset:
            self.state = first_state(self.workspace, self.preferred())
        self._show(self.state.inferences)
        if reset:
            self.history.clear()
            state, self.first_view_note = visible_ranges.reset(self.state, self.groups, self.traces)
            self.noted_file = 0
            self.state = state.at_choices(self.workspace.choices)
        else:
            self.state = after_edit.view_after_opening(
                self.state, self.history, before, self.traces
            ).at_choices(self.workspace.choices)
            after_edit.keep_phases_of_opened(self.history, before, self.state.phases)
        self._emit_all()

    def _show_replaced(
        self, replaced: tuple[OpenFile, ...], before: Sequence[OpenTrace], edit: Edit
    ) -> None:
        """Show files that were read again; `before` are the earlier traces, as they ran."""
        self._show(self.state.inferences)
        state, self.history = after_edit.shown_again(
            after_edit.version_of(replaced, self.state, self.history, before),
            edit.returns_to,
            (before, [self.as_run(i) for i in range(len(self.traces))]),
            self.groups,
            is_undo=edit.is_undo,
        )
        self._last_range_change = float("-inf")
        self.state = state.at_choices(self.workspace.choices)
        self._emit_all()

    def _emit_all(self) -> None:
        for signal in (
            self.workspace_changed,
            self.range_changed,
            self.tracks_changed,
            self.coloring_changed,
            self.selection_changed,
            self.run_picked,
            self.bookmarks_changed,
            self.query_changed,
            self.ruler_changed,
            self.compared,
            self.clock_activated,
            self.strips_changed,
        ):
            signal.emit()
        self.history_changed.emit()

    def _show(self, inferences: Inferences) -> None:
        """Update `traces` to the workspace, with inferences shown as given."""
        space = self.workspace
        self.views = views_of(space, {inferences}, self.views)
        self.traces = [self.views[trace, inferences] for trace in space.traces]
        self.groups = clock_groups(self.traces)

    def as_run(self, number: int) -> OpenTrace:
        """An open trace with its inferences as they ran, regardless of how they are shown."""
        return self.views[self.traces[number].file, Inferences.AS_RUN]

    def show_inferences(self, inferences: Inferences) -> None:
        """Display inferences in one of the ways of `Inferences`, and zoom to all."""
        self._viewing.cancel()
        if inferences is self.state.inferences:
            return
        ready = all((trace, inferences) in self.views for trace in self.workspace.traces)
        if not ready and slices_of_all(self.workspace) > AT_ONCE:
            self._requested = inferences
            arguments = self.workspace, inferences, self.views, self._prepare
            self._viewing.submit(work_out_view, *arguments)
            return
        self._show(inferences)
        self.change(
            replace(
                visible_ranges.everything(self.state, self.groups),
                inferences=inferences,
                slice=None,
                others=(),
                area=None,
                run=None,
                tracks=self.state.tracks.of_processes(),
                measured=None,
            )
        )

    @Slot(object)
    def _view_made(self, answer: tuple[Inferences, Views]) -> None:
        inferences, self.views = answer
        self.show_inferences(inferences)

    # -- the visible range -------------------------------------------------------------------

    def set_range(self, t0: int, t1: int, *, now: float | None = None) -> None:
        """Show [t0, t1) ns of the active clock group, limited to its axis plus a margin.

        `now` (s) joins bursts for undo. Groups that are tied to it follow.
        """
        t0, t1 = visible_ranges.limited(self.state, self.groups, (t0, t1))
        if (t0, t1) == (self.state.t0, self.state.t1):
            return
        joins = now is not None and now - self._last_range_change < BURST
        state, by_hand = replace(self.state, t0=t0, t1=t1), now is not None
        self.change(state, remember=not joins, by_hand=by_hand)
        self._last_range_change = float("-inf") if now is None else now

    # -- selection ---------------------------------------------------------------------------

    def select_slice(
        self, ref: SliceRef | None, *, reveal: bool = False, keep_area: bool = False
    ) -> None:
        """Select one slice and highlight its operators; None clears the selection.

        `reveal` brings the slice into view, in the same undo step. `keep_area` keeps a selected
        area as the cost scope, for a slice that was chosen within it.
        """
        if ref is None:
            self.clear_selection()
            return
        linked = self.traces[ref.trace].link(ref.index).operators
        operators = (ref.trace, linked) if linked else None
        run = self._run_of(ref) if self.state.run is not None else None
        state = replace(
            self._on_trace(ref.trace),
            slice=ref,
            others=(),
            operators=operators,
            area=self.state.area if keep_area else None,
            run=run or self.state.run,
        )
        if reveal:
            self._reveal(state, ref)
        else:
            self.change(state)

    def _on_trace(self, trace: int) -> ViewState:
        """The current state with the clock group of a trace active."""
        return self.state.on(self.groups.of(trace).key)

    def _run_of(self, ref: SliceRef) -> tuple[int, int] | None:
        """The inference that contains a slice as (trace, run), None if there is none."""
        trace = self.traces[ref.trace].trace
        number = trace.run_at(trace.slices.track(ref.index), int(trace.slices.start[ref.index]))
        is_inference = number is not None and trace.runs[number].kind is RunKind.INFERENCE
        return (ref.trace, number) if number is not None and is_inference else None

    def select_operators(self, trace: int, operators: tuple[int, ...]) -> None:
        """Highlight all slices of some operators, and reveal the nearest; keeps the area."""
        view_state = self._on_trace(trace)
        state = replace(view_state, slice=None, others=(), operators=(trace, operators))
        open_trace = self.traces[trace]
        if len(slices := open_trace.slices_of(operators)):
            inside = starts_in(open_trace.trace, self.scope(trace), slices)
            middle = sum(state.times) // 2
            nearest = nearest_slice(open_trace, inside if len(inside) else slices, middle)
            self._reveal(state, SliceRef(trace, nearest))
        else:
            self.change(state)

    def select_slices(
        self, slices: SliceSet, first: SliceRef, *, reveal: bool = False, keep_area: bool = False
    ) -> None:
        """Select several slices; `first` is shown in Details. Highlights no operators."""
        if len(slices) <= 1:
            self.select_slice(first, reveal=reveal, keep_area=keep_area)
            return
        area = self.state.area if keep_area else None
        others = slices.without(first)
        view_state = self._on_trace(first.trace)
        state = replace(view_state, slice=first, others=others, operators=None, area=area)
        if reveal:
            self._reveal(state, first)
        else:
            self.change(state)

    def select_area(self, area: Area | None) -> None:
        """Select a time range on some tracks; None clears the selection."""
        view_state = self._on_trace(min(area.tracks)[0]) if area and area.tracks else self.state
        self.change(replace(view_state, slice=None, others=(), operators=None, area=area))

    def clear_selection(self) -> None:
        """Clear the selection, including the area and highlighted operators."""
        self.select_area(None)

    def scope(self, trace: int, *, ranges: bool = True) -> TimeScope:
        """The scope of a trace's costs; see `scope_of`."""
        return scope_of(self.state, self.traces, trace, ranges=ranges)

    def _reveal(self, state: ViewState, ref: SliceRef) -> None:
        """Change to a state with the slice visible, as one history step.

        Shows its track if needed, and moves the range only if the slice is entirely outside.
        """
        self.change(visible_ranges.revealed(state, self.groups, self.traces, ref))
        self.revealed.emit(ref)

    @property
    def current_trace(self) -> int | None:
        """The trace that panels show; see `current_trace`."""
        return current_trace(self.state, self.group)

    def number_of(self, open_trace: OpenTrace) -> int | None:
        """The index of an open trace, None if it was closed or linked again since."""
        return next((i for i, trace in enumerate(self.traces) if trace is open_trace), None)

    # -- history -----------------------------------------------------------------------------

    def undo(self) -> None:
        """Undo the last change of the view, or the reload before it."""
        if version := self.history.take_earlier():
            self.edit_workspace(returning(version, self.files_added.emit, is_undo=True))
        else:
            self._return(self.history.undo(self.state))

    def redo(self) -> None:
        """Redo the change that was undone last."""
        if version := self.history.take_later():
            self.edit_workspace(returning(version, self.files_added.emit, is_undo=False))
        else:
            self._return(self.history.redo(self.state))

    def go_back(self) -> None:
        """Return to the previously visited range and selection."""
        self._return(self.history.back(self.state))

    def go_forward(self) -> None:
        """Return to where `go_back` came from."""
        self._return(self.history.forward(self.state))

    def _return(self, state: ViewState) -> None:
        self._last_range_change = float("-inf")
        if state != self.state:
            self._apply(state)
        self.history_changed.emit()

    def change(self, state: ViewState, *, remember: bool = True, by_hand: bool = False) -> None:
        """Show a new state; `remember` adds an undo step, `by_hand` moves the range unanimated."""
        state = visible_ranges.tied(self.state, state)
        if state == self.state:
            return
        self._last_range_change = float("-inf")  # any other change ends a burst
        if remember and not self._in_step:
            self.history.record(self.state, state)
        self._apply(state, by_hand=by_hand, goes_on=by_hand and not remember)

    @contextmanager
    def one_step(self) -> Iterator[None]:
        """Combine all view changes made inside into one undo step."""
        before, was_in_step, self._in_step = self.state, self._in_step, True
        try:
            yield
        finally:
            self._in_step = was_in_step
            if not was_in_step and self.state != before:
                self.history.record(before, self.state)
                self.history_changed.emit()

    def _apply(self, state: ViewState, *, by_hand: bool = False, goes_on: bool = False) -> None:
        trace, old = self.current_trace, self.state
        if (old.ties or state.ties) and old.clock_choices == state.clock_choices:
            state = visible_ranges.within_limits(state, self.groups)
        self.state = state
        moved = old.all_ranges != state.all_ranges
        if moved or old.inferences is not state.inferences:
            self.first_view_note = ""
        if old.clock_choices != state.clock_choices:
            clocks, delegates, shared = state.clock_choices
            self.edit_workspace_now(
                lambda space: space.choose(
                    replace(
                        space.choices, clocks=clocks, delegate_clocks=delegates, same_clocks=shared
                    )
                )
            )
        if old.inferences is not state.inferences or old.clock_choices != state.clock_choices:
            self._show(state.inferences)
            self.state = visible_ranges.within_limits(state, self.groups)
            self._emit_all()
            self._link_phases(old)
            return
        if moved:
            if not by_hand:
                self.range_jumped.emit(old)
            self.range_changed.emit()
        others = self.current_trace != trace
        for changed, signal in (
            (old.clock != state.clock, self.clock_activated),
            (old.strip_choices != state.strip_choices, self.strips_changed),
            (old.tracks != state.tracks, self.tracks_changed),
            ((old.scheme, old.lit) != (state.scheme, state.lit), self.coloring_changed),
            (old.selection != state.selection or others, self.selection_changed),
            (_figures_of(old) != _figures_of(state) or others, self.run_picked),
            (old.marking != state.marking, self.bookmarks_changed),
            ((old.query, old.only_hits) != (state.query, state.only_hits), self.query_changed),
            (old.ruler is not state.ruler, self.ruler_changed),
            (old.compared != state.compared, self.compared),
            ((old.derived, old.charts) != (state.derived, state.charts), self.derived_changed),
        ):
            if changed:
                signal.emit()
        if not goes_on or self.history.ways(old) != self.history.ways(self.state):
            self.history_changed.emit()
        self._link_phases(old)

    def _link_phases(self, old: ViewState) -> None:
        """Show the inferences in the phases of the current state, which differ from earlier ones.

        What depends on phases, as links do, is computed in a thread if traces are large.
        """
        phases = self.state.phases
        if old.phases != phases:
            self.edit_workspace(
                Edit(lambda space: space.choose(replace(space.choices, phases=phases)))
            )


class OfSession(QObject):
    """What a session has at most one of, as its child."""

    @classmethod
    def of(cls, session: Session) -> Self:
        """The session's object of this class, created on first use."""
        child = session.findChild(cls, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return child if isinstance(child, cls) else cls(session)


def _figures_of(state: ViewState) -> tuple[object, ...]:
    """Which inferences figures are of."""
    return state.run, state.warm_up, state.phase
