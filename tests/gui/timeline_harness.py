"""A timeline on screen over a session of its own, without the window around it."""

from functools import cache
from pathlib import Path

import shiboken6
from PySide6.QtWidgets import QVBoxLayout, QWidget

from tests.gui.events import SAMPLE, release_modifiers, settle
from viewer.formats import open_file
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.trace_rasters import prepare
from viewer.gui.timeline.timeline import Timeline

SIZE = 1227, 482  # px: what the timeline has at most in a window of 1600x900

# What is read of a file is never changed, so that tests can share it.
_read_once = cache(open_file)


class TimelineHarness:
    """A session, the timeline over it, and the widget that they are in.

    What takes a controller to find these takes a harness too: `tests.gui.events`.
    """

    def __init__(self, qtbot, theme: Theme) -> None:
        self.theme, self._qtbot = theme, qtbot
        self.window = QWidget()
        theme.apply_to(self.window)
        self.session = Session(self.window, [prepare])
        self.timeline = Timeline(self.session, theme)
        column = self._column = QVBoxLayout(self.window)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.timeline)
        self.window.resize(*SIZE)
        self.window.show()
        self.window.activateWindow()
        qtbot.waitUntil(self.window.isActiveWindow)
        release_modifiers(self.window)
        self.timeline.view.setFocus()

    def open(self, *paths: str | Path) -> None:
        """Read files, and wait until all of them is shown."""
        self.session.add([open_file(str(path)) for path in paths])
        self.settle()

    def open_sample(self, key: str) -> None:
        """Show a bundled sample."""
        self.session.add([_read_once(path) for path in SAMPLE[key].paths()])
        self.settle()

    def add(self, widget: QWidget) -> None:
        """Put another widget of the same session below the timeline."""
        self._column.addWidget(widget)
        self.window.resize(self.window.width(), SIZE[1] + widget.sizeHint().height())
        self.settle()

    def settle(self) -> None:
        """Wait for answers of the background and for layouts."""
        settle(self._qtbot, self)

    def put_away(self) -> None:
        """Destroy it before its theme goes: a later style sheet must not polish it again."""
        self.window.hide()
        shiboken6.delete(self.window)
