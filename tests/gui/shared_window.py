"""One window for the tests of a module, for as long as each of them leaves it as it found it.

A new window takes 0.2 s of CPU time, and a sample in it as much again. Tests share both:

    @pytest.fixture
    def attention(shared_window):
        return shared_window.showing_sample("attention_xnnpack")

Each test starts with the first view and an empty history. What an earlier test changed is taken
back: the view, the layout, the settings and their folder, shortcuts, dialogs and messages. If other
files are open, all are closed, and those that the next test needs are opened. If the window still
differs from a new one after that, the next test gets a new one.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

import msgspec
import shiboken6
from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QModelIndex,
    QPoint,
    QSettings,
    QSize,
    Qt,
    QTimer,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDialog,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTreeView,
    QWidget,
)

from tests.gui.dark_theme import dark_theme
from tests.gui.events import SAMPLE, open_files, put_away, release_modifiers, settle
from viewer.formats import open_file
from viewer.gui.qt.settings import HEADER_WIDTH
from viewer.gui.session.feeds.feed import ProblemsFeed
from viewer.gui.session.feeds.numbers import NumbersFeed
from viewer.gui.session.feeds.references import NumbersChoice
from viewer.gui.timeline.view import HeldKeys
from viewer.gui.window.controller import WindowController
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.shell import PROGRESS_AFTER_MS
from viewer.render.stacking import Density
from viewer.view.sessions.session_file import SavedPanels
from viewer.view.state import ViewState
from viewer.workspace.link_choices import Choices
from viewer.workspace.workspace import Workspace

# The packages whose objects a test may change; what panels show follows from the open files.
_PACKAGES = ("viewer.gui.window.", "viewer.gui.session.file_jobs", "viewer.gui.qt.command_table")
_PLAIN = (str, int, float, bool, bytes, Enum, type(None))
# Attributes that may differ: times, and what is set again before it is used.
_VOLATILE = {
    "autosave._last_start",
    "autosave._timer",
    "commands._able",
    "docks._counts",
    "exports._counts",
    "layout._inferences",
    "palette._recent",
    "search.help",
    "start_page._gone",
    "start_page._is_stale",
    "start_page._pictures",
    "start_page._replaced",
    "session_files._in_file",
    "session_files._told",
}


@dataclass(frozen=True)
class Baseline:
    """The state at the start of a test, and what it must be again at its end."""

    workspace: Workspace
    choices: Choices
    view: ViewState
    docks: dict[str, tuple[int, ...]]
    settings: dict[str, object]
    controls: list[tuple[QWidget, object]]
    parts: dict[str, object]


class SharedWindow:
    """Creates a window on first use, and a new one if a test did not leave it as it was.

    make: builds a controller whose settings are in `store`, which lies in a folder of its own.
    """

    def __init__(self, make: Callable[[], WindowController], store: Path, qtbot) -> None:
        self._make, self._path, self._qtbot = make, store, qtbot
        self._controller: WindowController | None = None
        self._paths: tuple[str | Path, ...] = ()
        self._baseline: Baseline | None = None
        self._empty: Baseline | None = None
        self._focus: QWidget | None = None
        self._size = QSize()
        self._choices = SavedPanels()

    def showing_sample(self, key: str) -> WindowController:
        """A window with a bundled sample open, and nothing done since."""
        return self.showing(*SAMPLE[key].paths())

    def showing(self, *paths: str | Path) -> WindowController:
        """A window with these files open, or with none, and nothing done since."""
        if self._controller is not None and not self._is_reset(paths):
            self.destroy()
        if self._controller is None:
            self._controller, self._paths = self._make(), ()
            self._size = self._controller.window.size()
            self._empty = self._baseline = self._noted(self._controller.docks.unshown)
        if paths != self._paths:
            open_files(self._qtbot, self._controller, *paths)
            self._paths = paths
            docks = self._controller.docks
            self._baseline = self._noted(self._controller.window, docks.unshown)
        return self._controller

    def destroy(self) -> None:
        """Close the window, if there is one, and forget its settings."""
        controller, self._controller = self._controller, None
        if controller is not None and shiboken6.isValid(controller.window):
            put_away(controller.window)
        self._stored().clear()
        self._clear_folder()

    # -- what a test can change ----------------------------------------------------------------

    def _noted(self, *roots: QWidget) -> Baseline:
        """Note what a test can change, and how it is now."""
        assert self._controller is not None
        window, docks = self._controller.window, self._controller.docks
        settle(self._qtbot, self._controller)
        self._focus = window.focusWidget()
        self._choices = docks.choices
        timeline = self._controller.timeline  # its fields follow the view, and come and go
        controls = [
            control
            for kind in (QLineEdit, QComboBox, QHeaderView, QTreeView)
            for root in roots
            for control in root.findChildren(kind)
            if not timeline.isAncestorOf(control)
        ]
        return self._now(controls)

    def _now(self, controls: Iterable[QWidget]) -> Baseline:
        assert self._controller is not None
        session, store = self._controller.session, self._stored()
        view = session.state
        if session.is_empty:
            view = replace(view, t0=0, t1=0)  # of no time
        return Baseline(
            session.workspace,
            session.workspace.choices,
            view,
            _places(self._controller.docks),
            {key: store.value(key) for key in store.allKeys()},
            [(control, _value(control)) for control in controls],
            _parts(self._controller),
        )

    def _stored(self) -> QSettings:
        return QSettings(str(self._path), QSettings.Format.IniFormat)

    # -- taking it back ------------------------------------------------------------------------

    def _is_reset(self, paths: tuple[str | Path, ...]) -> bool:
        """Take back what was done; whether the window is as it was with its files, or with none."""
        controller, baseline = self._controller, self._baseline
        assert controller is not None
        assert baseline is not None
        window, session = controller.window, controller.session
        if not shiboken6.isValid(window) or not window.isVisible():
            return False
        controller.work.cancel()
        controller.loader._reader = open_file
        self._qtbot.waitUntil(lambda: not controller.work.is_busy)
        self._close_dialogs()
        _restore_preferences(controller)
        if paths == self._paths and session.workspace is baseline.workspace:
            self._restore_view(baseline)
            now = self._now(control for control, _ in baseline.controls)
            if now == baseline:
                return True
        self._close_files()
        now = self._now(control for control, _ in self._empty.controls)
        return now == replace(self._empty, workspace=now.workspace)

    def _close_dialogs(self) -> None:
        controller = self._controller
        for other in QApplication.topLevelWidgets():
            if other is not controller.window and other.isVisible():
                other.close()
        controller.palette.put_away()
        controller.help.leave_tour()
        for name in ("tour", "window"):  # are made when they are first needed
            part = getattr(controller.help, name)
            if part is not None:
                setattr(controller.help, name, None)
                for made in (getattr(part, "callout", None), part):
                    if made is not None:
                        shiboken6.delete(made)
        if controller.recordings.dialog is not None:
            shiboken6.delete(controller.recordings.dialog)
            controller.recordings.dialog = None
        controller.perfetto_ui.close()
        controller.drops.dialog = None
        status, message = controller.window.status, controller.window.message
        status.end()
        status._late.setInterval(PROGRESS_AFTER_MS)
        message.dismiss()
        controller.opener._errors.clear()
        controller.opener._earlier = ()
        ProblemsFeed.of(controller.session).failures.clear()
        ProblemsFeed.of(controller.session).refresh()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def _restore_view(self, baseline: Baseline) -> None:
        """Show the files as at first."""
        controller = self._controller
        session, docks = controller.session, controller.docks
        self._restore_controls(baseline)
        session.show_inferences(baseline.view.inferences)
        session.restore_view(baseline.view)
        self._restore_size()
        is_in_order = _tabs(docks) == baseline.parts["tabs"]
        if not is_in_order:
            for area in docks.areas.values():
                area.show_tabs([], [], "")
        if not is_in_order or _places(docks) != baseline.docks or docks.choices != self._choices:
            # What was measured is rounded: with no sizes, panels have those of the design.
            sizes = tuple(baseline.parts["docks.sizes"])
            docks.restore(msgspec.structs.replace(self._choices, sizes=sizes))
        controller.timeline.scene.scroll_to(0)
        self._restore_settings(baseline)
        self._restore_input()
        if _source_place(controller) != baseline.parts["place"]:
            controller.panels["source"]._reopen()  # without a selection it keeps what it shows
        if self._focus is not None:
            self._focus.setFocus()
        settle(self._qtbot, controller)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QApplication.sendEvent(controller.timeline.view, QEvent(QEvent.Type.Leave))
        if controller.window.status.said.text() != baseline.parts["said"]:
            controller.window.status.show_text(str(baseline.parts["said"]))
        controller.commands.refresh()

    def _close_files(self) -> None:
        """Close all files, and make the window what it was before any was opened."""
        controller, empty = self._controller, self._empty
        self._restore_settings(empty)
        controller.session.close_all()
        settle(self._qtbot, controller)
        controller.autosave.save()
        controller.autosave._last_start = -1.0  # what is opened is saved at once
        controller.autosave._has_failed = False
        controller.session_files._reported = {}
        controller.opener._companions.clear()
        controller.close_guard._closed = controller.close_guard._kept_work = None
        NumbersFeed.of(controller.session).restore(NumbersChoice())
        self._restore_controls(empty)
        self._restore_size()
        controller.docks.default = SavedPanels()
        controller.docks.restore(SavedPanels())
        self._restore_settings(empty)
        self._clear_folder()
        self._restore_input()
        controller.refresh()
        self._paths, self._baseline = (), empty
        settle(self._qtbot, controller)

    def _restore_controls(self, baseline: Baseline) -> None:
        for control, value in baseline.controls:
            _set_value(control, value)

    def _restore_size(self) -> None:
        controller = self._controller
        if controller.window.size() != self._size:
            controller.window.resize(self._size)
            if controller.session.is_empty:
                controller.docks.fit_width()
            self._qtbot.waitUntil(lambda: not controller.docks.needs_relayout)

    def _restore_settings(self, baseline: Baseline) -> None:
        store = self._stored()
        for key in set(store.allKeys()) - baseline.settings.keys():
            store.remove(key)
        for key, value in baseline.settings.items():
            store.setValue(key, value)
        self._controller.window.start_page.refresh_recent()

    def _clear_folder(self) -> None:
        """Remove what was saved beside the settings."""
        for path in self._path.parent.iterdir():
            if path != self._path:
                with suppress(OSError):
                    path.unlink()

    def _restore_input(self) -> None:
        """Make the window active, with no key held."""
        window = self._controller.window
        window.activateWindow()
        self._qtbot.waitUntil(window.isActiveWindow)
        release_modifiers(window)
        window.findChild(HeldKeys).release_all()  # or a key would go on from where it was released


def _restore_preferences(controller: WindowController) -> None:
    """Choose what a new window has, as a user would."""
    dark_theme()
    view, commands = controller.view_settings, controller.commands
    if view.density is not Density.AUTOMATIC:
        view.set_density(Density.AUTOMATIC)
    if view.drag_pans:
        view.toggle_drag_pans()
    if view.moves_smoothly:
        view.toggle_motion()
    if not view.shows_legend:
        view.toggle_legend()
    if not view.shows_flows:
        view.toggle_flows()
    controller.timeline.set_header_width(HEADER_WIDTH.default)
    if commands.own_keys:
        commands.reset_keys()


def _parts(controller: WindowController) -> dict[str, object]:
    """The plain attributes of what a window is made of, by part and name."""
    parts = {**vars(controller), **vars(controller.window)}
    values: dict[str, object] = {}
    for name, part in parts.items():
        if type(part).__module__.startswith(_PACKAGES):
            for attribute, value in vars(part).items():
                key = f"{name}.{attribute}"
                if key not in _VOLATILE and not attribute.startswith("__"):
                    values[key] = _plain(value)
    for id, action in controller.commands.actions.items():
        keys = tuple(key.toString() for key in action.shortcuts())
        values[id] = action.text(), keys, action.isEnabled(), action.isChecked()
    values["dialogs"] = sorted(type(d).__name__ for d in controller.window.findChildren(QDialog))
    values["problems"] = controller.panels["problems"].count
    values["said"] = controller.window.status.said.text()
    values["place"] = _source_place(controller)
    values["numbers"] = NumbersFeed.of(controller.session).choice
    docks = controller.docks
    values["tabs"] = _tabs(docks)
    values["titles"] = [docks.title(name) for name in docks.by_name]
    for name, panel in docks.by_name.items():
        if panel.isVisible():
            values[name] = [_text(w) for w in panel.findChildren(QWidget) if w.isVisible()]
    return values


def _source_place(controller: WindowController) -> tuple[object, str]:
    source = controller.panels["source"]
    return source.place, source.calls.text() if source.place else ""


def _text(widget: QWidget) -> tuple[type, str]:
    """What a widget of a panel says."""
    is_text = isinstance(widget, QLabel | QAbstractButton)
    return type(widget), widget.text() if is_text else ""


def _plain(value: object) -> object:
    """A value that can be compared later; of an object, its type."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, QTimer):
        return value.interval()
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, set | frozenset):
        return {one for one in value if isinstance(one, _PLAIN)}
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items() if isinstance(key, _PLAIN)}
    return type(value)


def _tabs(docks: Docks) -> list[tuple[str, ...]]:
    """The tabs of each area, in their order."""
    return [tuple(area.names) for area in docks.areas.values()]


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
    """What a user chose in a control: a text, an entry, a column to sort by, opened rows."""
    if not shiboken6.isValid(control):
        return None
    if isinstance(control, QHeaderView):
        order = control.sortIndicatorSection(), control.sortIndicatorOrder()
        # Tables of operators are sorted by the second column once they have been seen.
        return None if order[0] == -1 or order == (1, Qt.SortOrder.DescendingOrder) else order
    if isinstance(control, QTreeView):
        return _opened(control, control.rootIndex())
    return control.currentIndex() if isinstance(control, QComboBox) else control.text()


def _opened(view: QTreeView, parent: QModelIndex) -> list[object]:
    """The rows below another one that are open, each with those in it."""
    model = view.model()
    if model is None:
        return []
    rows = (model.index(row, 0, parent) for row in range(model.rowCount(parent)))
    return [(row.row(), _opened(view, row)) for row in rows if view.isExpanded(row)]


def _open(view: QTreeView, parent: QModelIndex, opened: dict[int, list[object]]) -> None:
    """Open these rows below another one, and close the others."""
    for number in range(view.model().rowCount(parent)):
        row = view.model().index(number, 0, parent)
        if number in opened or view.isExpanded(row):
            _open(view, row, dict(opened.get(number, ())))
        view.setExpanded(row, number in opened)


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
    elif isinstance(control, QTreeView):
        _open(control, control.rootIndex(), dict(value))
    elif isinstance(control, QHeaderView):
        control.setSortIndicator(*(value or (-1, Qt.SortOrder.DescendingOrder)))
