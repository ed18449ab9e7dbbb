"""Which page the window shows, and how page and docks share its room, as files come and go."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from viewer.gui.qt.widgets.empty_note import EmptyNote
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import ABOVE, Timeline
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.shell import Shell

RESIZE_SETTLES_MS = 120
UNVEILED_AFTER_MS = 1000
RECORD_ALONE = (
    "A record holds the model, not a run",
    "Its operators are below. To see what they cost, open the profile of a run too: an ETDump that "
    "the runtime wrote with its event tracer on, or a profile as CSV.",
)


class WindowLayout(QObject):
    """The page of the shell, and the docks around it with their sizes.

    `docks`: those of the panels. `note`: the page while only a record is open. `unveiled_empty`:
    what room was made for has not come, and the window is painted again.
    """

    unveiled_empty = Signal()

    def __init__(
        self, session: Session, timeline: Timeline, panels: dict[str, QWidget], shell: Shell
    ) -> None:
        super().__init__(shell)
        self._session, self._timeline, self._shell = session, timeline, shell
        self._inferences = session.state.inferences  # as which the heights were shared
        self._resized = self._timer(RESIZE_SETTLES_MS, self._fit_width)
        # Layouts have to follow first.
        self._crowded = self._timer(RESIZE_SETTLES_MS, self._show_hidden_rows)
        self._unveil = self._timer(0, self._show_again)
        self.note = EmptyNote(*RECORD_ALONE, shell.theme)
        for page in (timeline, self.note):
            shell.pages.addWidget(page)
        self.docks = Docks(shell, panels)  # after the pages: Tab goes on from them
        shell.resized.connect(self._resized.start)
        shell.message.changed.connect(self._crowded.start)

    def _timer(self, ms: int, run: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(ms)
        timer.timeout.connect(run)
        return timer

    @Slot()
    def make_room(self) -> None:
        """Lay out the docks for a large profile while the window looks as before: that takes as
        long as all panels take to follow, and what is painted before both is painted again."""
        if self._session.is_empty:
            self._shell.setUpdatesEnabled(False)
            self.docks.show_all(True)
            self._unveil.start(UNVEILED_AFTER_MS)  # should it not come after all

    @Slot()
    def _show_again(self) -> None:
        self._shell.setUpdatesEnabled(True)
        if self._session.is_empty:
            self.unveiled_empty.emit()

    def show_page(self) -> None:
        """Show the page and the docks for what is open, and share the room between them."""
        session, shell = self._session, self._shell
        page: QWidget = self.note
        if session.is_empty:
            page = shell.start_page
        elif session.traces:
            page = self._timeline
        was = shell.pages.currentWidget()
        shell.pages.setCurrentWidget(page)
        self.docks.show_all(not session.is_empty)
        others = self._inferences is not session.state.inferences
        if not session.is_empty and (was is not page or others):
            if was is not page:
                QTimer.singleShot(0, self.docks.share_width)
            self._inferences = session.state.inferences
            self.docks.fit_width()
            QTimer.singleShot(0, self._share_height)
        if not shell.updatesEnabled():
            QTimer.singleShot(0, partial(self._unveil.start, 0))

    def show_added_rows(self) -> None:
        """Make room for the rows of a file that was added, once layouts have followed."""
        self._crowded.start()

    @Slot()
    def _fit_width(self) -> None:
        """Lay the docks out again when the window has become narrow, or wide again."""
        if not self._session.is_empty and self.docks.is_misfit:
            self.docks.fit_width()
            self.docks.share_width()
            self._share_height()

    @Slot()
    def _share_height(self) -> None:
        """The timeline gets the height of its rows."""
        rows = self._timeline.content_height if self._session.traces else ABOVE + 100
        self.docks.fit_height(self._shell.pages.height(), rows)

    @Slot()
    def _show_hidden_rows(self) -> None:
        """A message above the timeline, or another file in it, must not push rows out of view."""
        self._shell.lay_out()  # on a busy machine the message may have no place yet
        rows = self._timeline.content_height
        if self._session.traces and rows > self._shell.pages.height():
            self._share_height()
