"""Copying the selected slices, or the rows of the focused table, in each format."""

import json

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QAbstractItemView, QMenu

from tests.gui.events import move, settle
from viewer.gui.qt.clipboard import CopyFormat, formatted
from viewer.gui.qt.widgets.tables import offer_markdown
from viewer.gui.session import bookmarks
from viewer.gui.session.choices import toggle_strip
from viewer.gui.timeline.picture import ViewPicture
from viewer.gui.window.menu_bar import CANVAS_MENU
from viewer.model.inference_views import Inferences
from viewer.view.state import SliceRef, SliceSet


@pytest.fixture
def two_clocks(shared_window, data):
    """Two profiles, each on a clock of its own."""
    names = ("cnn_xnnpack_x10.etdp", "cnn_portable_x10.etdp")
    return shared_window.showing(*(data / "etdump" / name for name in names))


def copied(controller, id):
    controller.commands.actions[id].trigger()
    return QGuiApplication.clipboard().text()


def chosen(controller):
    shown = controller.session.traces[0]
    number = next(i for i in range(len(shown.trace.slices)) if shown.link(i).operators)
    controller.session.select_slice(SliceRef(0, number))
    controller.timeline.view.setFocus()
    return shown, number


def test_a_slice_is_copied_as_text_markdown_json_and_ns(attention):
    shown, number = chosen(attention)
    start, end = shown.span_ns(number)
    text = copied(attention, "edit.copy")
    assert text.splitlines()[1].split("\t")[:3] == [
        shown.label(number), str(start), str(end - start),
    ]  # fmt: skip
    assert f"| {shown.label(number)} | {start} | {end - start} |" in copied(
        attention, "edit.copy_markdown"
    )
    (row,) = json.loads(copied(attention, "edit.copy_json"))
    assert (row["Name"], row["Duration, ns"]) == (shown.label(number), end - start)
    assert copied(attention, "edit.copy_ns") == str(end - start)


def test_copied_durations_are_those_of_details_and_search(shared_window, data):
    """At 800 MHz a cycle is 1.25 ns, and both ends of a slice are rounded down."""
    controller = shared_window.showing(data / "torq" / "compile_c3_taskid_mtu.csv")
    session, shown = controller.session, controller.session.traces[0]
    spans = [shown.span_ns(i) for i in range(len(shown.trace.slices))]
    session.select_slices(SliceSet({0: np.arange(len(spans))}), SliceRef(0, 0))
    lengths = copied(controller, "edit.copy_ns").splitlines()
    assert lengths == [str(end - start) for start, end in spans]


def test_a_slice_on_a_separate_clock_has_no_copied_duration(shared_window, data):
    controller = shared_window.showing(data / "etdump" / "SYN_qnn_like.etdp")
    shown = controller.session.traces[0]
    native = next(i for i in range(len(shown.trace.slices)) if shown.native(i) is not None)
    controller.session.select_slice(SliceRef(0, native))
    controller.timeline.view.setFocus()
    assert copied(controller, "edit.copy").splitlines()[1].split("\t")[2] == ""
    controller.commands.actions["edit.copy_ns"].trigger()
    assert controller.window.status.said.text() == "The selected slices have no duration in ns"


def test_ctrl_c_on_the_canvas_copies_the_slice(attention, qtbot):
    shown, number = chosen(attention)
    QGuiApplication.clipboard().clear()
    qtbot.keySequence(attention.timeline.view, "Ctrl+C")
    assert shown.label(number) in QGuiApplication.clipboard().text()


def test_rows_of_the_focused_table_are_copied(attention):
    attention.commands.actions["panel.operators"].trigger()
    table = attention.panels["operators"].table
    table.setFocus()
    assert table.hasFocus()
    table.selectRow(1)
    rows = json.loads(copied(attention, "edit.copy_json"))
    assert len(rows) == 1
    assert attention.window.status.said.text() == "Copied 1 row as JSON"
    assert copied(attention, "edit.copy_markdown").splitlines()[1].startswith("| --- |")


def test_what_was_copied_from_a_table_is_told(attention):
    attention.commands.actions["panel.operators"].trigger()
    table, said = attention.panels["operators"].table, attention.window.status.said
    table.copy_all()
    count = table.model().rowCount()
    assert said.text() == f"Copied {count} rows as TSV"
    text = QGuiApplication.clipboard().text()
    assert len(text.splitlines()) == count + 1
    menu = QMenu()
    offer_markdown(menu, "Copy table as TSV", table.copy_all)
    menu.actions()[0].trigger()
    assert said.text() == f"Copied {count} rows as Markdown"
    assert QGuiApplication.clipboard().text() == formatted(text, CopyFormat.MARKDOWN)


def test_without_rows_to_copy_the_clipboard_keeps_its_picture(attention):
    picture = QImage(3, 2, QImage.Format.Format_RGB32)
    attention.commands.actions["panel.events"].trigger()
    table = attention.panels["events"].table
    table.clearSelection()
    table.setFocus()
    assert table.hasFocus()
    for form in ("edit.copy", "edit.copy_json"):
        QGuiApplication.clipboard().setImage(picture)
        attention.commands.actions[form].trigger()
        assert QGuiApplication.clipboard().image().size() == picture.size()


def test_the_selection_is_measured_although_the_mouse_is_over_another_clock(two_clocks):
    session, timeline = two_clocks.session, two_clocks.timeline
    session.select_slice(SliceRef(1, 5))
    move(timeline.strips[0].view.viewport(), QPoint(60, 20))
    two_clocks.commands.actions["mark.measure"].trigger()
    state = session.state
    assert (state.measured, state.measured_on) == (session.traces[1].span_ns(5), state.clock)
    assert session.group.traces == (1,)


def test_a_moment_under_the_mouse_is_bookmarked_on_the_clock_there(two_clocks):
    session, second = two_clocks.session, two_clocks.timeline.strips[1]
    move(second.view.viewport(), QPoint(60, 20))
    two_clocks.commands.actions["mark.keep"].trigger()
    (mark,) = session.state.bookmarks
    assert (mark.t0, mark.clock) == (second.view.time_at(60), second.scene.clock)
    two_clocks.timeline.bookmarks_bar.field.done.emit(True)


def test_images_of_the_timeline_and_of_panels_go_to_the_clipboard(attention, qtbot):
    """Those of the timeline as sharp as in a file; of panels what is in sight."""
    clipboard = QGuiApplication.clipboard()
    attention.commands.run("edit.copy_timeline")
    picture = clipboard.image()
    expected = ViewPicture(attention.timeline).image()
    assert (picture.size(), picture.pixelColor(200, 200)) == (
        expected.size(), expected.pixelColor(200, 200),
    )  # fmt: skip
    assert attention.window.status.said.text() == "Copied an image of the timeline"
    for name in ("operators", "summary", "source", "graph"):
        attention.docks.show_panel(name, by_hand=True)
        settle(qtbot, attention)
        inside = attention.docks.panels[attention.docks.page_of(name)]
        inside.setFocus()
        focus = inside.findChildren(QAbstractItemView) or [inside]
        focus[0].setFocus()
        name = attention.docks.focused_panel
        attention.commands.run("edit.copy_panel")
        picture = clipboard.image()
        panel = attention.docks.panels[name]
        assert picture.size() == panel.size() * panel.devicePixelRatio()
        title = attention.docks.title(name)
        assert attention.window.status.said.text() == f"Copied an image of {title}"
        corners = range(0, picture.width(), 3), range(0, picture.height(), 3)
        assert len({picture.pixel(x, y) for x in corners[0] for y in corners[1]}) > 5


def test_the_menu_of_the_timeline_offers_its_image():
    assert "edit.copy_timeline" in CANVAS_MENU


# -- Shift+M: its field always opens, and the first bookmark moves no row --------------------------


def press_shift_m(controller, qtbot):
    view = controller.timeline.view
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_M, Qt.KeyboardModifier.ShiftModifier)
    settle(qtbot, controller)
    return controller.timeline.bookmarks_bar.field


@pytest.mark.parametrize("way", Inferences)
@pytest.mark.parametrize("selected", [False, True])
def test_its_field_opens_whatever_is_selected_or_shown(attention, qtbot, way, selected):
    """What is typed then is a name: T would filter tracks, and W zoom."""
    session = attention.session
    if selected:
        session.select_slice(SliceRef(0, 7))
    session.show_inferences(way)
    settle(qtbot, attention)
    field = press_shift_m(attention, qtbot)
    assert field.isVisible()
    assert attention.window.focusWidget() is field
    before = session.state.t0, session.state.t1
    qtbot.keyClicks(field, "T?wm")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert [bookmark.name for bookmark in session.state.bookmarks] == ["T?wm"]
    assert (session.state.t0, session.state.t1) == before
    assert session.state.inferences is Inferences.AS_RUN
    assert not attention.timeline.corner.filter.hasFocus()


def test_without_a_selection_and_with_the_mouse_elsewhere_it_is_in_the_middle(attention, qtbot):
    state = attention.session.state
    press_shift_m(attention, qtbot)
    (bookmark,) = attention.session.state.bookmarks
    first, last = state.times
    assert bookmark.t0 == bookmark.t1 == (first + last) // 2


def test_a_span_with_a_bookmark_is_renamed_and_escape_keeps_it(attention, qtbot):
    attention.session.select_slice(SliceRef(0, 7))
    qtbot.keyClick(press_shift_m(attention, qtbot), Qt.Key.Key_Return)
    field = press_shift_m(attention, qtbot)
    assert field.isVisible()
    assert field.text() == "Bookmark 1"
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert [bookmark.name for bookmark in attention.session.state.bookmarks] == ["Bookmark 1"]
    field = press_shift_m(attention, qtbot)
    qtbot.keyClicks(field, "slow")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert [bookmark.name for bookmark in attention.session.state.bookmarks] == ["slow"]


def test_a_collapsed_clock_is_expanded_for_it(shared_window, data, qtbot):
    names = ("cnn_xnnpack_x10.etdp", "cnn_portable_x10.etdp")
    controller = shared_window.showing(*(data / "etdump" / name for name in names))
    session = controller.session
    toggle_strip(session, session.group.key)
    settle(qtbot, controller)
    assert controller.timeline.strip.is_collapsed
    controller.commands.run("mark.keep")
    settle(qtbot, controller)
    assert not controller.timeline.strip.is_collapsed
    assert controller.timeline.bookmarks_bar.field.isVisible()


@pytest.mark.parametrize("height", [700, 900])
def test_the_first_bookmark_moves_no_row_and_the_last_one_none_back(attention, qtbot, height):
    controller, session = attention, attention.session
    controller.window.resize(1600, height)
    view, strip = controller.timeline.view, controller.timeline.strip

    def places():
        rect = view.viewport().rect()
        corner = view.viewport().mapTo(controller.window, QPoint(0, 0))
        return corner, rect.size(), strip.scene.scroll, strip.scene.layout.total_height

    before = None
    while before != places():  # the splitters follow the new size of the window in a later turn
        before = places()
        settle(qtbot, controller)
        qtbot.wait(100)
    lowered = strip.overview.height()
    assert controller.timeline.bookmarks_bar.isHidden()
    bookmarks.keep(session, (session.state.times[0] + 5))
    settle(qtbot, controller)
    assert controller.timeline.bookmarks_bar.isVisible()
    assert places() == before
    assert strip.overview.height() < lowered
    assert strip.corner.filter.geometry().bottom() < strip.overview.height()
    bookmarks.remove(session, 0)
    settle(qtbot, controller)
    assert controller.timeline.bookmarks_bar.isHidden()
    assert places() == before
