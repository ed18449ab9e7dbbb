"""One window for the tests of a module, for as long as each of them leaves it as it found it.

A new window with a sample takes half a second. Tests that only scroll, select and read can share
one:

    @pytest.fixture
    def attention(shared_window):
        return shared_window.showing_sample("attention_xnnpack")

Each test starts with the first view and an empty history. If an earlier test left other files,
settings or another layout, the next one gets a new window.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import shiboken6
from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, QPoint, QSettings, QSize
from PySide6.QtWidgets import QApplication, QComboBox, QHeaderView, QLineEdit, QWidget

from tests.gui.dark_theme import dark_theme
from tests.gui.events import SAMPLE, open_files, put_away, release_modifiers, settle
from viewer.gui.qt.settings import RECENT_COMMANDS, THEME, WINDOW_STATE_VERSION
from viewer.gui.timeline.held_keys import HeldKeys
from viewer.gui.window.controller import WindowController
from viewer.gui.window.frame.docks import Docks, PanelChoices
from viewer.view.state import ViewState
from viewer.workspace.workspace import Workspace

# Settings that the shared window resets by itself.
RESTORED = (RECENT_COMMANDS, THEME)


@dataclass(frozen=True)
class Baseline:
    """The state at the start of a test, and what it must be again at its end."""

    workspace: Workspace
    view: ViewState
    docks: dict[str, tuple[int, ...]]
    settings: dict[str, object]
    controls: list[object]


class SharedWindow:
    """Creates a window on first use, and a new one if a test did not leave it as it was.

    make: builds a controller whose settings are in `store`.
    """

    def __init__(self, make: Callable[[], WindowController], store: Path, qtbot) -> None:
        self._make, self._store, self._qtbot = make, str(store), qtbot
        self._controller: WindowController | None = None
        self._paths: tuple[str | Path, ...] | None = None
        self._baseline: Baseline | None = None
        self._controls: list[QWidget] = []
        self._focus: QWidget | None = None
        self._layout, self._size = QByteArray(), QSize()
        self._choices = PanelChoices()

    def showing_sample(self, key: str) -> WindowController:
        """A window with a bundled sample open, and nothing done since."""
        return self.showing(*SAMPLE[key].paths())

    def showing(self, *paths: str | Path) -> WindowController:
        """A window with these files open, and nothing done since."""
        if self._controller is not None and not self._is_reset():
            self.destroy()
        if self._controller is None:
            self._controller, self._paths = self._make(), None
            self._size = self._controller.window.size()
        if paths != self._paths:
            if self._paths:
                self._controller.session.close_all()
            if paths:
                open_files(self._qtbot, self._controller, *paths)
            self._paths = paths
            self._focus = self._controller.window.focusWidget()
            self._layout = self._controller.window.saveState(WINDOW_STATE_VERSION)
            self._choices = self._controller.docks.choices
            self._controls = [
                control
                for kind in (QLineEdit, QComboBox, QHeaderView)
                for root in (self._controller.window, self._controller.docks.unshown)
                for control in root.findChildren(kind)
            ]
            self._baseline = self._now()
        return self._controller

    def destroy(self) -> None:
        """Close the window, if there is one."""
        controller, self._controller = self._controller, None
        if controller is not None and shiboken6.isValid(controller.window):
            put_away(controller.window)
        store = QSettings(self._store, QSettings.Format.IniFormat)
        store.clear()
        store.sync()

    def _now(self) -> Baseline:
        assert self._controller is not None
        session = self._controller.session
        store = QSettings(self._store, QSettings.Format.IniFormat)
        names = [setting.name for setting in RESTORED]
        return Baseline(
            session.workspace,
            session.state,
            _places(self._controller.docks),
            {key: store.value(key) for key in store.allKeys() if key not in names},
            [_value(control) for control in self._controls],
        )

    def _is_reset(self) -> bool:
        """Reset the window; whether it is as it was before the first test."""
        controller, baseline = self._controller, self._baseline
        assert controller is not None
        assert baseline is not None
        window = controller.window
        if not shiboken6.isValid(window) or not window.isVisible():
            return False
        if controller.session.workspace is not baseline.workspace or controller.work.is_busy:
            return False
        for other in QApplication.topLevelWidgets():
            if other is not window and other.isVisible():
                other.close()
        dark_theme()
        controller.palette.put_away()
        for setting in RESTORED:
            controller.settings.reset(setting)
        controller.window.message.dismiss()
        for control, value in zip(self._controls, baseline.controls, strict=True):
            _set_value(control, value)
        controller.session.show_inferences(baseline.view.inferences)
        controller.session.restore_view(baseline.view)
        if window.size() != self._size:
            window.resize(self._size)
            self._qtbot.waitUntil(lambda: not controller.docks.needs_relayout)
        if _places(controller.docks) != baseline.docks:
            controller.docks.restore(self._layout, self._choices)
        controller.timeline.scene.scroll_to(0)
        window.activateWindow()
        self._qtbot.waitUntil(window.isActiveWindow)
        release_modifiers(window)
        window.findChild(HeldKeys).release_all()  # or a key would go on from where it was released
        if self._focus is not None:
            self._focus.setFocus()
        settle(self._qtbot, controller)
        QCoreApplication.processEvents()
        QApplication.sendEvent(controller.timeline.view, QEvent(QEvent.Type.Leave))
        return self._now() == baseline


def _places(docks: Docks) -> dict[str, tuple[int, ...]]:
    """The open panels, with the positions of those that are not behind others."""
    return {
        name: (*panel.mapTo(panel.window(), QPoint()).toTuple(), *panel.size().toTuple())
        if panel.isVisible()
        else ()
        for name, panel in docks.by_name.items()
        if docks.is_shown(name)
    }


def _value(control: QWidget) -> object:
    """What a user chose in a control: a text, an entry, a column to sort by."""
    if not shiboken6.isValid(control):
        return None
    if isinstance(control, QHeaderView):
        return control.sortIndicatorSection(), control.sortIndicatorOrder()
    return control.currentIndex() if isinstance(control, QComboBox) else control.text()


def _set_value(control: QWidget, value: object) -> None:
    """Choose a value in a control as a user would, if it has another one."""
    if not shiboken6.isValid(control) or _value(control) == value:
        return
    # The clear button of the other fields fades out while the next test runs.
    if isinstance(control, QLineEdit) and not control.isClearButtonEnabled():
        control.setText(str(value))
    elif isinstance(control, QComboBox):
        assert isinstance(value, int)
        control.setCurrentIndex(value)
        control.activated.emit(value)
