"""Chooses the page that the window shows, and divides the space between page and docks."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, cast

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from viewer.gui.panels.base.panel_spec import Presence
from viewer.gui.qt.widgets.labels import EmptyNote
from viewer.gui.session.feeds.derived import DerivedTracks
from viewer.gui.session.session import Session
from viewer.gui.timeline.strip import ABOVE
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.panel_registry import PanelRegistry
from viewer.gui.window.frame.shell import Shell
from viewer.program.executables import Executable
from viewer.program.program import Program
from viewer.view.open_trace import OpenTrace
from viewer.workspace.workspace import Workspace

RESIZE_SETTLES_MS = 120
UNVEILED_AFTER_MS = 1000
RECORD_ALONE = (
    "This file has no timing data",
    "Its operators are below. To see their times, also open a profile: an ETDump or a profile as "
    "CSV.",
)
PROGRAM_ALONE = (
    "A program file has no timing data",
    "Its instructions, delegates and sizes are below. To see times, also open its ETDump; for "
    "operators and source lines, open the ETRecord of the model.",
)


class FileOfSession:
    """One open file, with the programs that belong to no other, as panels look at a session.

    What panels ask of files is of this one; all else is of the session.
    """

    def __init__(self, session: Session, number: int) -> None:
        self._session = session
        open_trace = session.traces[number]
        others = [other for other in session.traces if other is not open_trace]
        self.traces = [open_trace]
        self.workspace = space = copy(session.workspace)
        for of_trace, kind in ((_programs_of, "programs"), (_executables_of, "executables")):
            mine = of_trace(space, open_trace)
            foreign = [program for other in others for program in of_trace(space, other)]
            every = getattr(space, kind)
            setattr(space, kind, [p for p in every if p in mine or p not in foreign])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def _programs_of(space: Workspace, open_trace: OpenTrace) -> list[Program]:
    """Return the program that a file is linked to, and those that it could be linked to."""
    linked = [] if open_trace.table.program is None else [open_trace.table.program]
    candidates = space.candidates(open_trace.file)
    return linked + [c.program for c in candidates if c.trace_match.match.belongs]


def _executables_of(space: Workspace, open_trace: OpenTrace) -> list[Executable]:
    return list(filter(None, [space.what_ran(open_trace.file)]))


class WindowLayout(QObject):
    """Manages the shell's current page, and the docks around it with their sizes.

    `docks` holds the panels. `note` is the page shown while only records or sources are open,
    `program_note` that while only program files are.
    `unveiled_empty` is emitted if an expected profile did not arrive and the window is painted
    again.
    """

    unveiled_empty = Signal()

    def __init__(
        self, session: Session, timeline: Timeline, panels: PanelRegistry, shell: Shell
    ) -> None:
        super().__init__(shell)
        self._session, self._timeline, self._shell = session, timeline, shell
        self._panels = panels
        self._inferences = session.state.inferences  # when heights were last divided
        self._only = session.state.strips.only  # the clocks that had strips then, () for all
        self._file = ""  # path of the one that the user switched to, "" for all open files
        self._paths: list[str] = []  # of the open files
        self._resized = self._timer(RESIZE_SETTLES_MS, self._fit_width)
        # Delayed, because layouts must update first.
        self._crowded = self._timer(RESIZE_SETTLES_MS, self._show_hidden_rows)
        self._unveil = self._timer(0, self._show_again)
        # Children, so that none fires once the window is gone.
        self._widths = self._timer(0, self._share_width)
        self._heights = self._timer(0, self._share_height)
        self.note = EmptyNote(*RECORD_ALONE, shell.theme)
        self.program_note = EmptyNote(*PROGRAM_ALONE, shell.theme)
        for page in (timeline, self.note, self.program_note):
            shell.pages.addWidget(page)
        # After the pages, for the tab order.
        self.docks = Docks(shell, panels.panels, panels.pages, panels.table)
        panels.follow(self.docks.take_page)
        self.docks.rearranged.connect(self._widths.start)
        self.docks.rearranged.connect(self._heights.start)
        shell.resized.connect(self._resized.start)
        shell.message.changed.connect(self._crowded.start)
        for signal in (session.query_changed, session.bookmarks_changed, session.compared):
            signal.connect(self._offer_for_view)
        session.selection_changed.connect(self._follow_selection)
        session.strips_changed.connect(self._follow_strips)
        session.file_shown.connect(self._open_at_home)
        self._tracks, self._drawn = DerivedTracks.of(session), 0  # of queries
        self._tracks.changed.connect(self._follow_tracks)
        session.run_picked.connect(self._follow_file)

    def _timer(self, ms: int, run: Callable[[], None]) -> QTimer:
        timer = QTimer(self, interval=ms, singleShot=True)
        timer.timeout.connect(run)
        return timer

    @Slot()
    def make_room(self) -> None:
        """Lay out the docks for a large profile while painting is suspended.

        The layout takes as long as updating all panels, and anything painted in between would be
        painted again.
        """
        if self._session.is_empty:
            self._shell.setUpdatesEnabled(False)
            self.docks.show_all(True)
            self._unveil.start(UNVEILED_AFTER_MS)  # in case the profile does not arrive

    @Slot()
    def _show_again(self) -> None:
        self._shell.setUpdatesEnabled(True)
        if self._session.is_empty:
            self.unveiled_empty.emit()

    def show_page(self) -> None:
        """Show the page and docks for what is open, and divide the space between them."""
        session, shell = self._session, self._shell
        if self._paths != session.workspace.paths:
            self._file, self._paths = "", session.workspace.paths
        page: QWidget = self.note
        if session.is_empty:
            page = shell.start_page
        elif session.traces:
            page = self._timeline
        elif not any(program.methods for program in session.workspace.programs):
            page = self.program_note
        previous = shell.pages.currentWidget()
        shell.pages.setCurrentWidget(page)
        self._offer_for_files()
        self._offer_for_view()
        self.docks.show_all(not session.is_empty)
        others = self._inferences is not session.state.inferences
        if not session.is_empty and (previous is not page or others):
            if previous is not page:
                self._widths.start()
            self._inferences = session.state.inferences
            self.docks.fit_width()
            if previous is not page is self.program_note:
                for spec in self._panels.table.pages.values():
                    if spec.leads:
                        self.docks.show_panel(spec.id)
            self._heights.start()
        if not shell.updatesEnabled():
            QTimer.singleShot(0, self._unveil, partial(self._unveil.start, 0))

    def show_added_rows(self) -> None:
        """Make space for the rows of an added file, after the layouts have updated."""
        self._crowded.start()

    @Slot()
    def _fit_width(self) -> None:
        """Lay out the docks again after the window became narrow or wide."""
        if self._session.is_empty:
            return
        if self.docks.needs_relayout:
            self.docks.fit_width()
            self.docks.share_width()
            self._share_height()
        elif self._session.traces and self._timeline.content_height < self._shell.pages.height():
            self._share_height()  # no blank canvas in a window that became taller

    @Slot()
    def _share_width(self) -> None:
        """Divide the width as designed, or as the user arranged it."""
        self.docks.share_width()

    # -- panels ----------------------------------------------------------------------------------

    def show_count(self, page: str, count: int) -> None:
        """Show the number of rows of a page, and open or close it for them."""
        if self.docks.show_count(page, count) and not self._panels.table.pages[page].in_view:
            self._offer_for_files()

    def _offer_for_files(self) -> None:
        """Open the panels that have something to show for the open files."""
        before = self.docks.shown_areas
        self._offer(in_view=False)
        if self.docks.shown_areas != before:
            self._widths.start()

    @Slot()
    def _offer_for_view(self) -> None:
        """Open the panels of a search, a selection of several slices, and bookmarks."""
        self._offer(in_view=True)

    def _offer(self, *, in_view: bool) -> None:
        session, panels = self._session, self._panels
        files, number = session, self._number
        if number is not None:
            files = cast(Session, FileOfSession(session, number))
        presence = {
            name: Presence.NOTHING
            if session.is_empty
            else spec.presence(session if spec.of_all or in_view else files)
            for name, spec in panels.table.pages.items()
            if spec.in_view is in_view
        }
        self.docks.offer(presence)
        for name, has in presence.items():
            if has is Presence.OPEN and panels.table.pages[name].counts:
                panels.make(name)

    @Slot(int)
    def _open_at_home(self, number: int) -> None:
        """Show the tabs that a file has which the user switched to, and those of no other.

        If it has other tabs than the file before, they are as it alone would open with; the panel
        with the focus stays in front.
        """
        before, self._file = self.docks.open_panels, self._session.traces[number].file.path
        focused = self.docks.panel_with_focus
        self._offer_for_files()
        if self.docks.open_panels != before:
            self.docks.go_home(focused)

    @Slot()
    def _follow_file(self) -> None:
        """Show the tabs of all files again, once another one than that is selected."""
        if self._file and self._number != self._session.current_trace:
            self._file = ""
            self._offer_for_files()

    @property
    def _number(self) -> int | None:
        """The position of the file that the user switched to; None for all open files."""
        traces = enumerate(self._session.traces)
        return next((i for i, trace in traces if trace.file.path == self._file), None)

    @Slot()
    def _follow_selection(self) -> None:
        """Bring up the panels that are about what is selected, until it is cleared."""
        session = self._session
        self._follow_file()
        self._offer_for_view()
        for name, spec in self._panels.table.pages.items():
            if spec.is_called_up is not None:
                follow = self.docks.call_up if spec.is_called_up(session) else self.docks.dismiss
                follow(name)

    # -- heights ---------------------------------------------------------------------------------

    @Slot()
    def _follow_strips(self) -> None:
        """Divide the height again when a comparison shows fewer strips, or ends."""
        only = self._session.state.strips.only
        if only != self._only:
            self._only = only
            self._heights.start()

    @Slot()
    def _follow_tracks(self) -> None:
        """Make space for more tracks of queries."""
        before, self._drawn = self._drawn, self._tracks.count
        if self._drawn > before:
            self._crowded.start()

    @Slot()
    def _share_height(self) -> None:
        """Give the timeline the height of its rows."""
        rows = self._timeline.content_height if self._session.traces else ABOVE + 100
        self.docks.fit_height(self._shell.pages.height(), rows)

    @Slot()
    def _show_hidden_rows(self) -> None:
        """Give the timeline more height if a message or an added file pushes rows out of view."""
        self._shell.lay_out()  # on a busy machine, the message may not be laid out yet
        rows = self._timeline.content_height
        if self._session.traces and rows > self._shell.pages.height():
            self._share_height()
