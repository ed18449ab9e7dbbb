"""What assistive technology is told, and what the keys alone reach: every control of the window."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QDialog,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QScrollBar,
    QTabBar,
    QWidget,
)

from tests.gui_events import open_sample, settle

CONTROLS = (
    QAbstractButton, QAbstractItemView, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit,
    QPlainTextEdit, QProgressBar,
)  # fmt: skip
ROLE = QAccessible.Role
NO_ROLE = {ROLE.NoRole, ROLE.Client, ROLE.Window}


def is_control(widget):
    """Something that people use, as opposed to what Qt makes inside of it."""
    if isinstance(widget, QScrollBar | QHeaderView | QTabBar):
        return False
    inside = widget.parent(), getattr(widget.parent(), "parent", lambda: None)()
    if any(isinstance(one, QComboBox | QAbstractSpinBox | QTabBar) for one in inside):
        return False
    if widget.objectName().startswith("qt_") or widget.focusProxy() is not None:
        return False
    if widget.isHidden() and isinstance(widget, QAbstractButton):
        return False  # it gets its text when there is something to press it for
    return isinstance(widget, CONTROLS) or bool(
        widget.focusPolicy().value & Qt.FocusPolicy.TabFocus.value and widget.isVisible()
    )


def told(widget):
    """(name, role) as a screen reader gets them."""
    interface = QAccessible.queryAccessibleInterface(widget)
    return interface.text(QAccessible.Text.Name), interface.role()


def unnamed(root):
    return sorted({
        f"{type(w).__module__}.{type(w).__name__} in {type(w.parent()).__name__} {w.objectName()}"
        for w in root.findChildren(QWidget)
        if is_control(w) and not told(w)[0].strip()
    })  # fmt: skip


# What is painted as a whole: Qt has no role for it, it is told by its name and description, and a
# table has the same in cells.
PAINTED = {"TimelineView", "Headers", "DetailsPanel", "LinksPanel", "GraphView", "StartPage"}


def without_role(root):
    return {
        type(w).__name__ for w in root.findChildren(QWidget)
        if is_control(w) and told(w)[1] in NO_ROLE
    } - PAINTED  # fmt: skip


def dialog_of(desk):
    """The dialog that was opened last."""
    return [d for d in desk.window.findChildren(QDialog) if d.isVisible()][-1]


@pytest.fixture(params=["attention_xnnpack", "torq_npu"])
def used(request, desk, qtbot):
    """The window with a sample open, each of its panels seen once."""
    open_sample(qtbot, desk, request.param)
    for name in desk._docks.by_name:
        desk._docks.bring(name)
        settle(qtbot, desk)
    return desk


def test_every_control_of_the_window_has_a_name_and_a_role(used):
    assert unnamed(used.window) == []
    assert without_role(used.window) == set()


def test_every_control_of_the_start_page_has_a_name_and_a_role(desk):
    assert unnamed(desk.window) == []
    assert without_role(desk.window) == set()


@pytest.mark.parametrize("command", ["help.about", "help.keys", "help.palette", "file.export"])
def test_every_control_of_a_dialog_has_a_name_and_a_role(desk, qtbot, command):
    open_sample(qtbot, desk, "delegate_handle_map")
    desk.commands.actions[command].trigger()
    settle(qtbot, desk)
    shown = desk.palette_box if command == "help.palette" else dialog_of(desk)
    assert shown.isVisible()
    assert unnamed(shown) == []
    assert without_role(shown) == set()
    qtbot.keyClick(shown.focusWidget() or shown, Qt.Key.Key_Escape)
    assert not shown.isVisible()


def test_what_the_timeline_shows_a_table_has_too(desk, qtbot):
    """All slices, with their names and lengths, in cells that are read one by one."""
    open_sample(qtbot, desk, "delegate_handle_map")
    events = desk.events.table.model()
    names = {events.index(row, 0).data() for row in range(events.rowCount())}
    assert len(names) > 5
    interface = QAccessible.queryAccessibleInterface(desk.events.table)
    assert interface.role() == ROLE.Table


def looks(widget):
    return widget.window().grab().toImage()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_tab_goes_round_all_that_is_in_sight_and_is_seen_everywhere(desk, qtbot, theme):
    open_sample(qtbot, desk, "attention_xnnpack")
    desk.commands.actions[f"view.theme_{theme}"].trigger()
    settle(qtbot, desk)
    window, view = desk.window, desk.timeline.view
    view.setFocus()
    passed, unseen = [], []
    while len(passed) < 100:
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
        settle(qtbot, desk)
        here = window.focusWidget()
        passed.append(here)
        with_focus = looks(here)
        here.clearFocus()
        settle(qtbot, desk)
        if looks(here) == with_focus:
            unseen.append(f"{type(here).__name__} {told(here)[0]}")
        here.setFocus(Qt.FocusReason.OtherFocusReason)
        if here is view:
            break
    assert passed[-1] is view
    assert len({type(stop) for stop in passed}) > 5
    assert unseen == []
    docks = desk._docks.by_name
    behind = {name for name, dock in docks.items() if dock.visibleRegion().isEmpty()}
    assert "model" in behind
    assert [n for n in behind for stop in passed if docks[n].isAncestorOf(stop)] == []


def test_a_click_brings_no_frame(desk, qtbot):
    open_sample(qtbot, desk, "attention_xnnpack")
    frame = desk.window._focus_frame
    desk.timeline.view.setFocus()
    qtbot.keyClick(desk.timeline.view, Qt.Key.Key_Tab)
    qtbot.keyClick(desk.window.focusWidget(), Qt.Key.Key_Tab, Qt.KeyboardModifier.ShiftModifier)
    assert frame.isVisible()
    assert frame.parent() is desk.timeline.view
    qtbot.mouseClick(desk.operators.table.viewport(), Qt.MouseButton.LeftButton)
    assert not frame.isVisible()
