"""One window for the tests of a module, for as long as each of them leaves it as it found it.

To build a window and to open a sample in it takes half a second. Tests that only move, select and
look can share one:

    @pytest.fixture
    def attention(shared_window):
        return shared_window.showing_sample("attention_xnnpack")

A test starts with the first view and an empty history. If an earlier test left other files,
settings or another layout, it gets a new window.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import shiboken6
from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, QSettings, QSize
from PySide6.QtWidgets import QApplication, QComboBox, QHeaderView, QLineEdit, QWidget

from tests.gui.events import SAMPLE, canvas, open_files, put_away, release_modifiers, settle
from viewer.gui.qt.settings import RECENT_COMMANDS, THEME
from viewer.gui.window.controller import WindowController
from viewer.gui.window.frame.docks import Docks
from viewer.view.state import ViewState
from viewer.workspace.workspace import Workspace

# Settings that the shared window takes back by itself.
RESTORED = (RECENT_COMMANDS, THEME)


@dataclass(frozen=True)
class Found:
    """What a test finds when it starts, and must leave behind."""

    workspace: Workspace
    view: ViewState
    docks: dict[str, tuple[int, ...]]
    sheet: str
    settings: dict[str, object]
    controls: list[object]


class SharedWindow:
    """Makes a window when it is first asked for, and again where one was not left as it was.

    make: builds a controller whose settings are in `store`.
    """

    def __init__(self, make: Callable[[], WindowController], store: Path, qtbot) -> None:
        self._make, self._store, self._qtbot = make, str(store), qtbot
        self._controller: WindowController | None = None
        self._paths: tuple[str | Path, ...] = ()
        self._found: Found | None = None
        self._controls: list[QWidget] = []
        self._focus: QWidget | None = None
        self._layout, self._size = QByteArray(), QSize()

    def showing_sample(self, key: str) -> WindowController:
        """A window with a bundled sample open, and nothing done since."""
        return self.showing(*SAMPLE[key].paths())

    def showing(self, *paths: str | Path) -> WindowController:
        """A window with these files open, and nothing done since."""
        if self._controller is not None and not self._is_reset():
            self.destroy()
        if self._controller is None:
            self._controller, self._paths = self._make(), ()
            self._size = self._controller.window.size()
        if paths != self._paths:
            if self._paths:
                self._controller.session.close_all()
            open_files(self._qtbot, self._controller, *paths)
            self._paths = paths
            self._focus = self._controller.window.focusWidget()
            self._layout = self._controller.window.saveState()
            self._controls = [
                control
                for kind in (QLineEdit, QComboBox, QHeaderView)
                for control in self._controller.window.findChildren(kind)
            ]
            self._found = None
        if self._found is None:
            self._found = self._now()
        return self._controller

    def destroy(self) -> None:
        """Close the window, if there is one."""
        controller, self._controller = self._controller, None
        if controller is not None and shiboken6.isValid(controller.window):
            put_away(controller.window, QApplication.instance())
        store = QSettings(self._store, QSettings.Format.IniFormat)
        store.clear()
        store.sync()

    def _now(self) -> Found:
        assert self._controller is not None
        session = self._controller.session
        store = QSettings(self._store, QSettings.Format.IniFormat)
        names = [setting.name for setting in RESTORED]
        return Found(
            session.workspace,
            session.state,
            _places(self._controller.docks),
            QApplication.instance().styleSheet(),
            {key: store.value(key) for key in store.allKeys() if key not in names},
            [_value(control) for control in self._controls],
        )

    def _is_reset(self) -> bool:
        """Whether the window could be brought back to what the first test found."""
        controller, found = self._controller, self._found
        assert controller is not None
        window = controller.window
        if found is None or not shiboken6.isValid(window) or not window.isVisible():
            return False
        if controller.session.workspace is not found.workspace or controller.work.is_busy:
            return False
        for other in QApplication.topLevelWidgets():
            if other is not window and other.isVisible():
                other.close()
        controller.theme.set_choice("dark")
        controller.palette.put_away()
        for setting in RESTORED:
            controller.settings.reset(setting)
        controller.window.message.dismiss()
        controller.session.show_inferences(found.view.inferences)
        controller.session.restore_view(found.view)
        if window.size() != self._size:
            window.resize(self._size)
            self._qtbot.waitUntil(lambda: not controller.docks.needs_relayout)
        window.restoreState(self._layout)
        controller.timeline.scene.scroll_to(0)
        QApplication.sendEvent(canvas(controller), QEvent(QEvent.Type.Leave))
        window.activateWindow()
        self._qtbot.waitUntil(window.isActiveWindow)
        release_modifiers(window)
        if self._focus is not None:
            self._focus.setFocus()
        settle(self._qtbot, controller)
        QCoreApplication.processEvents()
        return self._now() == found


def _places(docks: Docks) -> dict[str, tuple[int, ...]]:
    """The docks that are open, and where those are that are not behind others."""
    return {
        name: () if dock.visibleRegion().isEmpty() else dock.geometry().getRect()
        for name, dock in docks.by_name.items()
        if not dock.isHidden()
    }


def _value(control: QWidget) -> object:
    """What a user chose in a control: a text, an entry, a column to sort by."""
    if not shiboken6.isValid(control):
        return None
    if isinstance(control, QHeaderView):
        return control.sortIndicatorSection(), control.sortIndicatorOrder()
    return control.currentIndex() if isinstance(control, QComboBox) else control.text()
