"""What assistive technology is told, and what the keys alone reach: every control of the window."""

import gc

import pytest
import shiboken6
from PySide6.QtCore import QEvent, QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QScrollBar,
    QTabBar,
    QWidget,
)

from tests.gui.events import open_sample, settle
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session import navigation
from viewer.gui.session.choices import arrange_tracks
from viewer.gui.window.frame.status import spoken_text
from viewer.resources import resource
from viewer.view.state import SliceRef

# What has the focus, and the current node of a graph: decided when it is painted.
PAINTS = True

CONTROLS = (
    QAbstractButton, QAbstractItemView, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit,
    QPlainTextEdit, QProgressBar,
)  # fmt: skip
ROLE, EVENT = QAccessible.Role, QAccessible.Event
RESOURCES = resource()
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


def face(thing):
    """What a screen reader meets of a widget, or of what is painted in one."""
    return QAccessible.queryAccessibleInterface(thing)


def told(widget):
    """(name, role) as a screen reader gets them."""
    interface = face(widget)
    return interface.text(QAccessible.Text.Name), interface.role()


def unnamed(root):
    return sorted({
        f"{type(w).__module__}.{type(w).__name__} in {type(w.parent()).__name__} {w.objectName()}"
        for w in root.findChildren(QWidget)
        if is_control(w) and not told(w)[0].strip()
    })  # fmt: skip


def without_role(root):
    return {
        type(w).__name__ for w in root.findChildren(QWidget)
        if is_control(w) and told(w)[1] in NO_ROLE
    }  # fmt: skip


def dialog_of(controller):
    """The dialog that was opened last."""
    return [d for d in controller.window.findChildren(QDialog) if d.isVisible()][-1]


@pytest.fixture(params=["attention_xnnpack", "torq_npu"])
def used(request, shared_window, qtbot):
    """The window with a sample open, each of its panels seen once."""
    controller = shared_window.showing_sample(request.param)
    for name in controller.docks.by_name:
        controller.docks.show_panel(name)
        settle(qtbot, controller)
    return controller


def test_every_control_of_the_window_has_a_name_and_a_role(used):
    assert unnamed(used.window) == []
    assert without_role(used.window) == set()


def test_no_control_describes_itself_by_markup(used):
    """Qt takes the tooltip for the description where there is none."""
    described = {face(w).text(QAccessible.Text.Description) for w in
                 used.window.findChildren(QWidget) if w.isVisible() and face(w)}  # fmt: skip
    assert any("Slices by reason" in text for text in described)
    assert [text for text in described if "</" in text] == []


def test_every_control_of_the_start_page_has_a_name_and_a_role(controller):
    assert unnamed(controller.window) == []
    assert without_role(controller.window) == set()


@pytest.mark.parametrize(
    "command", ["help.about", "help.keys", "help.palette", "file.export", "edit.preferences"]
)
def test_every_control_of_a_dialog_has_a_name_and_a_role(shared_window, qtbot, command):
    controller = shared_window.showing_sample("delegate_handle_map")
    controller.commands.actions[command].trigger()
    settle(qtbot, controller)
    shown = controller.palette if command == "help.palette" else dialog_of(controller)
    assert shown.isVisible()
    assert unnamed(shown) == []
    assert without_role(shown) == set()
    qtbot.keyClick(shown.focusWidget() or shown, Qt.Key.Key_Escape)
    assert not shown.isVisible()


def test_what_the_timeline_shows_a_table_has_too(shared_window, qtbot):
    """All slices, with their names and lengths, in cells that are read one by one."""
    controller = shared_window.showing_sample("delegate_handle_map")
    events = controller.panels["events"].table.model()
    names = {events.index(row, 0).data() for row in range(events.rowCount())}
    assert len(names) > 5
    assert face(controller.panels["events"].table).role() == ROLE.Table


def test_the_timeline_is_a_chart_that_tells_the_visible_range_and_what_is_selected(
    attention, qtbot
):
    controller = attention
    controller.session.set_range(200_000, 900_000)
    controller.session.select_slice(SliceRef(0, 7))
    settle(qtbot, controller)
    view = controller.timeline.view
    assert told(view) == ("Timeline", ROLE.Chart)
    for kind in (QAccessible.Text.Value, QAccessible.Text.Description):
        said = face(view).text(kind)
        assert said.startswith("200.000 – 900.000\N{NARROW NO-BREAK SPACE}µs visible. ")
        assert spoken_text(controller.session).rstrip(".") in said


def test_headers_are_items_of_a_tree(shared_window, qtbot):
    controller = shared_window.showing_sample("attention_xnnpack")
    headers = controller.timeline.headers
    tree = face(headers)
    assert told(headers) == ("Processes and tracks", ROLE.Tree)
    assert tree.childCount() == 2
    items = [tree.child(i) for i in range(2)]
    names = [item.text(QAccessible.Text.Name) for item in items]
    assert names == ["attn_xnnpack_x5.etdp", "forward · attn_xnnpack_x5.etdp"]
    assert {item.role() for item in items} == {ROLE.TreeItem}
    assert [tree.indexOfChild(item) for item in items] == [0, 1]
    assert [tree.indexOfChild(face(controller.timeline.view)), tree.child(2)] == [-1, None]
    assert items[0].parent().object() is headers
    middle = items[1].rect().center()
    assert tree.childAt(middle.x(), middle.y()).object() is items[1].object()
    assert [item.state().expanded for item in items] == [True, True]


def test_the_item_that_the_keys_are_at_has_the_focus_and_tells_that_it_is_folded(
    shared_window, qtbot
):
    controller = shared_window.showing_sample("attention_xnnpack")
    headers = controller.timeline.headers
    headers.setFocus()
    qtbot.keyClick(headers, Qt.Key.Key_Down)
    here = face(headers).focusChild()
    assert here.text(QAccessible.Text.Name) == "forward · attn_xnnpack_x5.etdp"
    assert here.state().focused
    assert not face(headers).child(0).state().focused
    qtbot.keyClick(headers, Qt.Key.Key_Left)
    assert here.state().collapsed
    arrange_tracks(controller.session, controller.session.state.tracks.without(headers.current))
    settle(qtbot, controller)
    assert face(headers).childCount() == 1


def test_the_graph_is_a_graphic_that_tells_the_operator_the_keys_are_at(shared_window, qtbot):
    controller = shared_window.showing_sample("delegate_handle_map")
    controller.session.select_operators(0, (0,))
    controller.docks.show_panel("graph")
    settle(qtbot, controller)
    view = controller.panels["graph"].view
    qtbot.waitUntil(lambda: view.current >= 0)
    name = view.picture.looks[view.current].name
    assert told(view) == ("Graph of operators", ROLE.Graphic)
    for kind in (QAccessible.Text.Value, QAccessible.Text.Description):
        assert face(view).text(kind).startswith(f"{name}, ")
    assert view.accessibleDescription() in face(view).text(QAccessible.Text.Description) + "."


@pytest.fixture
def announced(monkeypatch):
    """What assistive technology gets, as (who, event, words)."""
    heard = []

    def hear(event):
        words = event.message() if isinstance(event, QAccessibleAnnouncementEvent) else ""
        heard.append((event.object(), event.type(), words))

    monkeypatch.setattr(QAccessible, "isActive", lambda: True)
    monkeypatch.setattr(QAccessible, "updateAccessibility", hear)
    return heard


def test_what_the_keys_select_is_announced(shared_window, qtbot, announced):
    controller = shared_window.showing_sample("attention_xnnpack")
    announced.clear()
    controller.session.select_slice(SliceRef(0, 7))
    assert (
        controller.timeline.view,
        EVENT.Announcement,
        spoken_text(controller.session),
    ) in announced
    controller.docks.show_panel("graph")
    settle(qtbot, controller)
    view = controller.panels["graph"].view
    qtbot.waitUntil(lambda: view.current is not None)
    view.setFocus()
    first = view.current
    announced.clear()
    qtbot.keyClick(view, Qt.Key.Key_Down)
    if view.current is first:
        qtbot.keyClick(view, Qt.Key.Key_Right)
    assert view.current is not first
    assert (view, EVENT.Announcement, view.accessible_value()) in announced
    headers = controller.timeline.headers
    headers.setFocus()
    announced.clear()
    qtbot.keyClick(headers, Qt.Key.Key_Down)
    item = face(headers).child(1).object()
    assert [(who, event) for who, event, _ in announced] == [(item, EVENT.Focus)]
    qtbot.keyClick(headers, Qt.Key.Key_Left)
    assert (item, EVENT.StateChanged) in [(who, event) for who, event, _ in announced]


@has_role(ROLE.Chart)
class Painted(QWidget):
    def accessible_value(self):
        return "a value"


@pytest.mark.slow
def test_a_face_lives_as_long_as_its_widget_and_no_longer(qapp):
    """However it is deleted: a crash here is a reason to do without faces of our own."""
    for number in range(100):
        widget = Painted()
        widget.setAccessibleDescription("described.")
        assert face(widget).role() == ROLE.Chart
        if number % 25 == 0:
            gc.collect()
        assert face(widget).text(QAccessible.Text.Value) == "a value. described"
        if number % 2:
            shiboken6.delete(widget)
        else:
            widget.deleteLater()
        del widget
        qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()


def looks(widget):
    """What is painted of a widget, and around it."""
    place = QRect(widget.mapTo(widget.window(), QPoint()), widget.size())
    return widget.window().grab(place.adjusted(-8, -8, 8, 8)).toImage()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_tab_goes_round_all_that_is_in_sight_and_is_seen_everywhere(attention, qtbot, theme):
    controller = attention
    controller.commands.actions[f"view.theme_{theme}"].trigger()
    settle(qtbot, controller)
    window, view = controller.window, controller.timeline.view
    view.setFocus()
    passed, unseen = [], []
    while len(passed) < 100:
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
        settle(qtbot, controller)
        here = window.focusWidget()
        passed.append(here)
        with_focus = looks(here)
        here.clearFocus()
        settle(qtbot, controller)
        if looks(here) == with_focus:
            unseen.append(f"{type(here).__name__} {told(here)[0]}")
        here.setFocus(Qt.FocusReason.OtherFocusReason)
        if here is view:
            break
    assert passed[-1] is view
    assert len({type(stop) for stop in passed}) > 5
    assert unseen == []
    docks = controller.docks.by_name
    behind = {name for name, panel in docks.items() if not panel.isVisible()}
    assert "model" in behind
    assert [n for n in behind for stop in passed if docks[n].isAncestorOf(stop)] == []


def unseen_stops(root, qtbot):
    """Controls that Tab comes to, and that look there as they look without the keys."""
    passed, unseen = [], []
    for _ in range(100):
        qtbot.keyClick(root.focusWidget() or root, Qt.Key.Key_Tab)
        QApplication.processEvents()
        here = root.focusWidget()
        if passed and here is passed[-1]:
            continue  # from link to link in a text
        if here in passed:
            break
        passed.append(here)
        with_keys = looks(here)
        here.clearFocus()
        QApplication.processEvents()
        if looks(here) == with_keys:
            unseen.append(f"{type(here).__name__} {told(here)[0]}")
        here.setFocus(Qt.FocusReason.OtherFocusReason)
    return len(passed), unseen


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_where_the_keys_are_is_seen_on_the_start_page(controller, qtbot, theme):
    controller.commands.actions[f"view.theme_{theme}"].trigger()
    count, unseen = unseen_stops(controller.window, qtbot)
    assert count > 10
    assert unseen == []


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize(
    "command", ["help.about", "help.keys", "help.here", "file.export", "edit.preferences"]
)
def test_where_the_keys_are_is_seen_in_a_dialog(shared_window, qtbot, command, theme):
    controller = shared_window.showing_sample("delegate_handle_map")
    controller.commands.actions[f"view.theme_{theme}"].trigger()
    controller.commands.actions[command].trigger()
    settle(qtbot, controller)
    shown = controller.help.window if command == "help.here" else dialog_of(controller)
    count, unseen = unseen_stops(shown, qtbot)
    assert count > 1
    assert unseen == []


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_where_the_keys_are_is_seen_while_a_folder_is_chosen_from(controller, qtbot, theme):
    controller.commands.actions[f"view.theme_{theme}"].trigger()
    controller.drops.take([str(RESOURCES / "samples/delegate_handle_map")])
    qtbot.waitUntil(lambda: controller.drops.dialog is not None)
    assert unnamed(controller.drops.dialog) == []
    count, unseen = unseen_stops(controller.drops.dialog, qtbot)
    assert count == 5
    assert unseen == []


def test_a_click_brings_no_frame(shared_window, qtbot):
    controller = shared_window.showing_sample("attention_xnnpack")
    frame = controller.window._focus_frame
    controller.timeline.view.setFocus()
    qtbot.keyClick(controller.timeline.view, Qt.Key.Key_Tab)
    qtbot.keyClick(
        controller.window.focusWidget(), Qt.Key.Key_Tab, Qt.KeyboardModifier.ShiftModifier
    )
    assert frame.isVisible()
    assert frame.parent() is controller.timeline.view
    qtbot.mouseClick(controller.panels["operators"].table.viewport(), Qt.MouseButton.LeftButton)
    assert not frame.isVisible()


def test_the_timeline_describes_itself_by_what_is_selected(attention):
    view = attention.timeline.view
    assert view.accessibleName() == "Timeline"
    assert view.accessibleDescription() == (
        "Slices by process and thread. W: Zoom in. S: Zoom out. A: Pan left. D: Pan right. "
        "full stop: Next slice in row. comma: Previous slice in row. Ctrl+F: "
        "Find. question mark: Keyboard shortcuts…."
    )
    attention.session.select_slice(SliceRef(0, 7))
    assert view.accessibleDescription() == spoken_text(attention.session)
    navigation.step_slice(attention.session, 1)
    assert "blocks.0.qkv · linear" in view.accessibleDescription()
    attention.session.clear_selection()
    attention.commands.give_key("view.zoom_in", "E")
    assert " E: Zoom in." not in view.accessibleDescription()
    attention.commands.take_key("view.zoom_in", "W")
    assert "thread. Ctrl+=: Zoom in. S: Zoom out." in view.accessibleDescription()


def cut_controls(panel):
    """Buttons and boxes of a panel that are smaller than their texts, or beyond its edge."""
    cut = []
    for widget in (*panel.findChildren(QAbstractButton), *panel.findChildren(QComboBox)):
        if not widget.isVisible() or widget.objectName().startswith("qt_"):
            continue
        edge = widget.mapTo(panel, widget.rect().bottomRight())
        scrolls = any(isinstance(around, QAbstractScrollArea) for around in parents(widget, panel))
        if (
            widget.width() < widget.minimumSizeHint().width()
            or widget.height() < widget.fontMetrics().height()
            or not (scrolls or panel.rect().contains(edge))
        ):
            cut.append(f"{type(widget).__name__} {told(widget)[0]}")
    return cut


def parents(widget, panel):
    """What is between a widget and the panel that it is in."""
    while (widget := widget.parentWidget()) not in (None, panel):
        yield widget


@pytest.fixture
def twice_as_large(theme, monkeypatch):
    """The fonts of the system at 200 %; windows made from now on have them."""
    monkeypatch.setattr(Theme, "_scale_of", lambda theme, font_size: 2.0)
    theme.set_font_size("normal")
    yield
    monkeypatch.undo()
    theme.set_font_size("normal")


@pytest.mark.slow
@pytest.mark.parametrize("key", ["attention_xnnpack", "torq_npu"])
def test_no_panel_cuts_a_button_or_a_text_in_a_small_window_with_large_fonts(
    twice_as_large, controller, qtbot, key
):
    """1024 px and 200 %: what a panel needs at least it gets, and scrolls."""
    controller.window.resize(1024, 768)
    open_sample(qtbot, controller, key)
    cut, checked = {}, 0
    for name, panel in controller.docks.by_name.items():
        controller.docks.show_panel(name, by_hand=True)
        settle(qtbot, controller)
        if not panel.isVisible():
            continue
        checked += 1
        cut[name] = cut_controls(panel)
        cut[name] += [
            label.text() for label in panel.findChildren(QLabel)
            if label.isVisible() and label.wordWrap()
            and label.height() < label.heightForWidth(label.width())
        ]  # fmt: skip
        if panel.height() < panel.minimumSizeHint().height():
            cut[name].append("its least height")
    assert controller.window.width() == 1024
    assert checked > 15
    assert {name: texts for name, texts in cut.items() if texts} == {}
