"""The keys and mouse gestures that the help page lists, row by row, driven by real events.

The view is compared by the numbers of the session. Keys go to the widget that has the keyboard; the
clock of held keys is the test's own, so nothing sleeps and a second of holding is just a second.
"""

import json
import re

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QSettings, Qt, QTimer
from PySide6.QtGui import QKeySequence, QNativeGestureEvent, QPointingDevice
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QLineEdit,
    QScrollArea,
    QTableView,
    QTextEdit,
)

from tests.gui.events import (
    CTRL,
    LEFT,
    PLAIN,
    SHIFT,
    canvas,
    column,
    controller_of,
    drag,
    middle_of,
    move,
    open_files,
    place_of,
    press,
    put_away,
    settle,
    wheel,
)
from viewer.gui.qt.settings import DRAG_PANS, KEYS, Settings
from viewer.gui.session.choices import set_scheme
from viewer.gui.session.feeds.feed import ProblemsFeed
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.navigation import run_span_ns
from viewer.gui.timeline.view import HeldKeys, traveled
from viewer.gui.window.commands.menus import MOUSE_HELP
from viewer.gui.window.dialogs.command_palette import found_rows
from viewer.gui.window.dialogs.shortcuts import KeySheet, ShortcutsDialog
from viewer.gui.window.help.pages import text_of
from viewer.model.inference_views import Inferences
from viewer.render.layout import BandKind
from viewer.view.state import SliceRef

Key = Qt.Key
ALT = Qt.KeyboardModifier.AltModifier
AT = QPoint(700, 60)


@pytest.fixture
def attention(attention):
    attention.timeline.view.setFocus()
    return attention


@pytest.fixture
def tall(controller, qtbot, tmp_path):
    """A trace with more rows than the canvas can show."""
    path = tmp_path / "tall.csv"
    rows = [f"p,t{n},s{n},{n * 10},{1000 + n}" for n in range(80)]
    path.write_text("\n".join(["process,thread,name,start_ns,dur_ns", *rows]) + "\n")
    open_files(qtbot, controller, path)
    controller.timeline.view.setFocus()
    return controller


def view_range(controller):
    return controller.session.state.t0, controller.session.state.t1


def span(controller):
    return view_range(controller)[1] - view_range(controller)[0]


def type_key(qtbot, controller, key, held=Qt.KeyboardModifier.NoModifier):
    qtbot.keyClick(QApplication.focusWidget() or controller, key, held)


def hold(qtbot, controller, key, seconds):
    """Hold a key for a time on the clock of held keys."""
    held = controller.timeline.view._held
    now = [1_000.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(held, "clock", lambda: now[0])
        patch.setattr(held._timer, "start", lambda: None)  # the frames are those of this test
        qtbot.keyPress(controller.timeline.view, key)
        for _ in range(round(seconds * 100)):
            now[0] += 0.01
            held.step()
        qtbot.keyRelease(controller.timeline.view, key)
    assert not held.is_moving
    before = view_range(controller), controller.timeline.scene.scroll
    held.step()
    assert (view_range(controller), controller.timeline.scene.scroll) == before


def wide_slice(controller, least=30):
    """A slice that is wide enough in the view to be hit."""
    shown = controller.session.traces[0]
    for i in range(len(shown.trace.slices)):
        x0, x1 = (column(controller, t) for t in shown.span_ns(i))
        if x0 >= 0 and least <= x1 - x0 <= 300 and x1 < canvas(controller).width():
            return i
    raise AssertionError("no slice is wide enough")


# -- zoom ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "sign"), [(Key.Key_W, -1), (Key.Key_S, 1)])
@pytest.mark.parametrize("seconds", [0, 0.2, 0.5])
def test_w_and_s_held_zoom_around_the_mouse_faster_and_faster(attention, qtbot, key, sign, seconds):
    middle = canvas(attention).width() // 2
    # A test before may have left the mouse on the canvas of the window that they share.
    canvas(attention).setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)
    attention.session.set_range(681_000, 731_000) if sign < 0 else attention.session.set_range(
        706_000, 706_400
    )
    before, under = span(attention), attention.timeline.view.time_at(middle)
    hold(qtbot, attention, key, seconds)
    factor = 1.1**sign * np.exp(sign * 0.008 * traveled(seconds * 1000))
    assert span(attention) == pytest.approx(before * factor, rel=0.02, abs=1)
    # The mouse is elsewhere, so it is the middle that stays, as near as whole ns allow.
    assert abs(column(attention, under) - middle) <= 2 * (1 + 2 * middle / span(attention))


def test_ctrl_wheel_and_pinch_zoom_around_the_mouse(attention):
    view = attention.timeline.view
    under, before = view.time_at(AT.x()), span(attention)
    wheel(canvas(attention), AT, 1, held=CTRL)
    assert span(attention) == pytest.approx(before / 1.25, rel=1e-3)
    here = QPointF(AT)
    QApplication.sendEvent(
        canvas(attention),
        QNativeGestureEvent(
            Qt.NativeGestureType.ZoomNativeGesture, QPointingDevice.primaryPointingDevice(), 2,
            here, here, canvas(attention).mapToGlobal(here), 0.25, QPointF(),
        ),
    )  # fmt: skip
    assert span(attention) == pytest.approx(before / 1.25**2, rel=1e-3)
    assert abs(column(attention, under) - AT.x()) <= 1


def test_from_an_hour_to_one_ns_and_back_without_drift(controller, qtbot, tmp_path):
    path = tmp_path / "hour.csv"
    path.write_text(
        "process,thread,name,start_ns,dur_ns\np,t,a,0,3600000000000\np,t,b,1234567890123,1\n"
    )
    open_files(qtbot, controller, path)
    view, x = controller.timeline.view, 500
    controller.session.set_range(0, 3_600_000_000_000)
    under = view.time_at(x)
    notches = 0
    while span(controller) > 1:
        wheel(canvas(controller), QPoint(x, 50), 1, held=CTRL)
        notches += 1
    assert abs(view_range(controller)[0] - under) <= 1
    assert notches < 150
    for _ in range(notches):
        wheel(canvas(controller), QPoint(x, 50), -1, held=CTRL)
    assert abs(column(controller, under) - x) <= 2


# -- pan and scroll --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "sign"),
    [(Key.Key_A, -1), (Key.Key_D, 1), (Key.Key_Left, -1), (Key.Key_Right, 1)],
)
def test_a_d_and_the_arrows_pan(attention, qtbot, key, sign):
    attention.session.set_range(680_000, 690_000)
    per_px = span(attention) / canvas(attention).width()
    hold(qtbot, attention, key, 0.3)
    moved = view_range(attention)[0] - 680_000
    assert moved == pytest.approx(sign * (50 + 8 * traveled(300)) * per_px, abs=2)
    assert span(attention) == 10_000


@pytest.mark.parametrize("how", [{"notches": -1, "held": SHIFT}, {"sideways": -1}])
def test_shift_wheel_and_a_horizontal_swipe_pan(attention, how):
    under, before = attention.timeline.view.time_at(500), span(attention)
    wheel(canvas(attention), AT, **how)
    assert abs(column(attention, under) - 440) <= 1
    assert span(attention) == before


def test_after_alt_and_the_wheel_the_keys_are_not_those_of_the_menu(attention, qtbot):
    view = attention.timeline.view
    view.setFocus()
    qtbot.keyPress(view, Key.Key_Alt, ALT)
    wheel(canvas(attention), AT, -1, held=ALT)
    qtbot.keyRelease(view, Key.Key_Alt)
    assert view.hasFocus()
    # What a tap on Alt does alone.
    qtbot.keyPress(view, Key.Key_Alt, ALT)
    qtbot.keyRelease(view, Key.Key_Alt)
    assert attention.window.menuBar().hasFocus()
    qtbot.keyClick(attention.window.menuBar(), Key.Key_Escape)


def test_the_wheel_and_up_and_down_scroll_tracks(tall, qtbot):
    scene, before = tall.timeline.scene, view_range(tall)
    wheel(canvas(tall), AT, -1)
    assert scene.scroll == 60
    hold(qtbot, tall, Key.Key_Down, 0.2)
    assert scene.scroll == pytest.approx(60 + 60 + 8 * traveled(200), abs=1)
    hold(qtbot, tall, Key.Key_Up, 0)
    assert scene.scroll == pytest.approx(60 + 8 * traveled(200), abs=1)
    assert view_range(tall) == before


# -- mouse -----------------------------------------------------------------------------------------


def test_a_click_selects_and_a_double_click_zooms_too(attention, qtbot):
    index = wide_slice(attention)
    at = place_of(attention, index)
    qtbot.mouseClick(canvas(attention), LEFT, pos=at)
    assert attention.session.state.slice == SliceRef(0, index)
    qtbot.mouseDClick(canvas(attention), LEFT, pos=at)
    start, end = attention.session.traces[0].span_ns(index)
    air = max((end - start) // 50, 1)
    assert view_range(attention) == (start - air, end + air)


def row_line(controller):
    layout = controller.timeline.scene.layout
    return middle_of(controller, int(np.flatnonzero(layout.kind == BandKind.ROW)[0]))


@pytest.mark.parametrize("pans", [False, True])
def test_drag_selects_an_area_and_shift_drag_pans_or_the_other_way_round(attention, qtbot, pans):
    if pans:
        attention.commands.actions["view.drag_pans"].trigger()
    y, session = row_line(attention), attention.session
    t0, t1 = view_range(attention)
    width = canvas(attention).width()
    drag(canvas(attention), QPoint(200, y), QPoint(700, y + 8), held=SHIFT if pans else PLAIN)
    assert (session.state.area.t0, session.state.area.t1) == (
        t0 + 200 * (t1 - t0) // width, t0 + 700 * (t1 - t0) // width
    )  # fmt: skip
    assert view_range(attention) == (t0, t1)
    session.select_area(None)
    under = attention.timeline.view.time_at(400)
    drag(canvas(attention), QPoint(400, y), QPoint(500, y), held=PLAIN if pans else SHIFT)
    assert abs(column(attention, under) - 500) <= 1
    assert session.state.area is None


def test_what_dragging_does_is_kept(attention, qtbot):
    assert attention.settings.get(DRAG_PANS) is False
    attention.commands.actions["view.drag_pans"].trigger()
    assert attention.settings.get(DRAG_PANS) is True
    assert attention.commands.actions["view.drag_pans"].isChecked()
    attention.commands.actions["view.drag_pans"].trigger()
    assert not attention.timeline.view.drag_pans


def test_escape_takes_a_drag_back(attention, qtbot):
    y = row_line(attention)
    press(canvas(attention), QPoint(200, y))
    move(canvas(attention), QPoint(600, y), LEFT)
    assert attention.timeline.view._overlay.dragged is not None
    type_key(qtbot, attention, Key.Key_Escape)
    assert attention.timeline.view._overlay.dragged is None
    before = view_range(attention)
    press(canvas(attention), QPoint(200, y), held=SHIFT)
    move(canvas(attention), QPoint(600, y), LEFT, held=SHIFT)
    assert view_range(attention) != before
    type_key(qtbot, attention, Key.Key_Escape)
    assert view_range(attention) == before
    move(canvas(attention), QPoint(700, y))
    assert attention.session.state.area is None


def test_escape_takes_a_drag_of_the_headers_back_and_then_clears(attention, qtbot):
    column = attention.timeline.headers
    width, edge = column.width(), QPoint(column.width() - 1, 5)
    attention.session.select_slice(SliceRef(0, 0))
    press(column, edge)
    move(column, edge + QPoint(60, 0), LEFT)
    assert column.width() != width
    type_key(qtbot, attention, Key.Key_Escape)
    assert column.width() == width
    assert attention.session.state.slice == SliceRef(0, 0)
    type_key(qtbot, attention, Key.Key_Escape)
    assert attention.session.state.slice is None


# -- going about -----------------------------------------------------------------------------------


def test_f_fits_the_selection_and_f_again_all(attention, qtbot):
    session = attention.session
    index = wide_slice(attention)
    session.select_slice(SliceRef(0, index))
    start, end = session.traces[0].span_ns(index)
    type_key(qtbot, attention, Key.Key_F)
    air = max((end - start) // 50, 1)
    assert view_range(attention) == (start - air, end + air)
    type_key(qtbot, attention, Key.Key_F)
    assert view_range(attention)[0] < 0
    assert view_range(attention)[1] > session.group.span_ns


def test_full_stop_and_comma_step_along_the_track(attention, qtbot):
    session, slices = attention.session, attention.session.traces[0].trace.slices
    row = slices.row_of(wide_slice(attention))
    first = int(slices.row_ptr[row])
    session.select_slice(SliceRef(0, first))
    for _ in range(3):
        type_key(qtbot, attention, Key.Key_Period)
    assert session.state.slice == SliceRef(0, first + 3)
    for _ in range(5):
        type_key(qtbot, attention, Key.Key_Comma)
    assert session.state.slice == SliceRef(0, first)


def test_n_and_p_go_from_inference_to_inference_at_the_same_zoom_and_column(attention, qtbot):
    session = attention.session
    runs = session.traces[0].trace.runs

    def begin():
        return run_span_ns(session, 0, runs[session.state.run[1]])[0]

    session.set_range(begin() - 500, begin() + 20_000)
    seen = [session.state.run[1]]
    for key in (Key.Key_N, Key.Key_N, Key.Key_P, Key.Key_P, Key.Key_P):
        type_key(qtbot, attention, key)
        seen.append(session.state.run[1])
        assert view_range(attention) == (begin() - 500, begin() + 20_000)
    assert [runs[number].number for number in seen] == [2, 3, 4, 3, 2, 1]


def test_alt_left_and_right_walk_places_and_ctrl_z_undoes(attention, qtbot):
    session = attention.session
    places = [view_range(attention)]
    for t0 in (600_000, 650_000):
        session.set_range(t0, t0 + 10_000)
        places.append(view_range(attention))
    type_key(qtbot, attention, Key.Key_Left, ALT)
    type_key(qtbot, attention, Key.Key_Left, ALT)
    assert view_range(attention) == places[0]
    type_key(qtbot, attention, Key.Key_Right, ALT)
    assert view_range(attention) == places[1]
    set_scheme(session, "name")
    type_key(qtbot, attention, Key.Key_Z, CTRL)
    assert session.state.scheme == "operator"
    type_key(qtbot, attention, Key.Key_Z, CTRL | SHIFT)
    assert session.state.scheme == "name"


def test_a_held_key_is_one_step_of_undo(attention, qtbot):
    before = view_range(attention)
    hold(qtbot, attention, Key.Key_W, 0.4)
    assert view_range(attention) != before
    type_key(qtbot, attention, Key.Key_Z, CTRL)
    assert view_range(attention) == before


def test_escape_takes_back_one_thing_at_a_time(attention, qtbot):
    session = attention.session
    Search.of(session).set_query("linear")
    session.select_slice(SliceRef(0, 51))
    type_key(qtbot, attention, Key.Key_M)
    measured = session.state.measured
    assert measured == session.traces[0].span_ns(51)
    seen = []
    for _ in range(4):
        state = session.state
        seen.append((state.query, state.slice, state.measured))
        type_key(qtbot, attention, Key.Key_Escape)
    assert seen == [
        ("linear", SliceRef(0, 51), measured), ("", SliceRef(0, 51), measured),
        ("", None, measured), ("", None, None),
    ]  # fmt: skip


def test_brackets_go_along_a_flow(attention, qtbot):
    """The chunk takes what the linear before it has made, in the same run."""
    session = attention.session
    names = attention.session.traces[0].label
    session.select_slice(SliceRef(0, 48))
    settle(qtbot, attention)
    assert names(48) == "blocks.0.qkv · linear"
    type_key(qtbot, attention, Key.Key_BracketRight)
    settle(qtbot, attention)
    assert names(session.state.slice.index) == "blocks.0 · chunk"
    assert session._run_of(session.state.slice) == session._run_of(SliceRef(0, 48))
    type_key(qtbot, attention, Key.Key_BracketLeft)
    settle(qtbot, attention)
    assert session.state.slice == SliceRef(0, 48)


@pytest.mark.parametrize(("key", "held"), [(Key.Key_Slash, PLAIN), (Key.Key_F, CTRL)])
def test_slash_and_ctrl_f_search_enter_and_shift_enter_go_through_hits(attention, qtbot, key, held):
    session = attention.session
    type_key(qtbot, attention, key, held)
    field = attention.toolbar.search
    assert QApplication.focusWidget() is field
    qtbot.keyClicks(field, "op:chunk")
    hits = [
        i for i in range(len(session.traces[0].trace.slices))
        if any("chunk" in o.name for o in session.traces[0].table.operators(
            int(session.traces[0].trace.slices.key[i])))
    ]  # fmt: skip
    hits.sort(key=lambda i: session.traces[0].span_ns(i))
    assert len(hits) > 3
    reached = []
    for held_too in (PLAIN, PLAIN, PLAIN, SHIFT):
        type_key(qtbot, attention, Key.Key_Return, held_too)
        settle(qtbot, attention)
        reached.append(session.state.slice.index)
    at = hits.index(reached[0])
    following = [hits[(at + step) % len(hits)] for step in (0, 1, 2, 1)]
    assert reached == following
    type_key(qtbot, attention, Key.Key_Escape)
    assert session.state.query == ""
    assert QApplication.focusWidget() is attention.timeline.view


def test_the_field_has_the_keys_also_from_a_table_and_escape_gives_them_back(attention, qtbot):
    field, session = attention.toolbar.search, attention.session
    attention.docks.show_panel("search")
    for table, ask in (
        (attention.panels["search"].table, lambda table: qtbot.keyClick(table, Key.Key_Slash)),
        (
            attention.panels["operators"],
            lambda table: qtbot.keyClick(attention.window, Key.Key_F, CTRL),
        ),
    ):
        session.select_slice(None)
        table.setFocus()
        ask(table)
        assert field.hasFocus()
        assert field.help.isVisible()
        qtbot.keyClicks(field, "gelu")
        assert not field.help.isVisible()
        session.select_slice(SliceRef(0, 5))
        qtbot.keyClick(field, Key.Key_Escape)
        assert session.state.query == ""
        assert session.state.slice == SliceRef(0, 5)
        assert attention.timeline.view.hasFocus()
        assert not field.help.isVisible()


def test_f3_goes_from_hit_to_hit_and_down_to_their_list(attention, qtbot):
    session, field = attention.session, attention.toolbar.search
    Search.of(session).set_query("op:chunk")
    settle(qtbot, attention)
    reached = []
    for held in (PLAIN, PLAIN, SHIFT):
        qtbot.keyClick(attention.window, Key.Key_F3, held)
        reached.append(Search.of(session).position)
    assert reached[1] == reached[0] + 1
    assert reached[2] == reached[0]
    field.setFocus()
    qtbot.keyClick(field, Key.Key_Down)
    assert attention.panels["search"].table.hasFocus()


def test_h_dims_all_but_the_hits(attention, qtbot):
    Search.of(attention.session).set_query("linear")
    type_key(qtbot, attention, Key.Key_H)
    assert attention.session.state.only_hits
    type_key(qtbot, attention, Key.Key_H)
    assert not attention.session.state.only_hits


def test_r_makes_the_selection_an_area(attention, qtbot):
    session = attention.session
    session.select_slice(SliceRef(0, 51))
    type_key(qtbot, attention, Key.Key_R)
    area = session.state.area
    assert (area.t0, area.t1) == session.traces[0].span_ns(51)
    assert area.tracks == {(0, session.traces[0].trace.slices.track(51))}


def test_ctrl_a_selects_all_of_the_name_and_in_a_table_its_rows(attention, qtbot):
    session = attention.session
    session.select_slice(SliceRef(0, 51))
    shown = session.traces[0]
    named = [i for i in range(len(shown.trace.slices)) if shown.label(i) == shown.label(51)]
    type_key(qtbot, attention, Key.Key_A, CTRL)
    assert [ref.index for ref in session.state.slices] == named
    assert len(named) > 1
    # In a table it marks the rows of that.
    attention.docks.show_panel("events")
    attention.panels["events"].table.setFocus()
    before = session.state
    qtbot.keyClick(attention.panels["events"].table, Key.Key_A, CTRL)
    assert session.state == before
    marked = attention.panels["events"].table.selectionModel().selectedRows()
    assert len(marked) == attention.panels["events"].model.rowCount() > 1


def test_m_measures_and_shift_m_keeps_it_as_a_mark(attention, qtbot):
    session = attention.session
    session.select_slice(SliceRef(0, 51))
    type_key(qtbot, attention, Key.Key_M)
    assert session.state.measured == session.traces[0].span_ns(51)
    type_key(qtbot, attention, Key.Key_M, SHIFT)
    (mark,) = session.state.bookmarks
    assert (mark.t0, mark.t1) == session.traces[0].span_ns(51)
    bar = attention.timeline.bookmarks_bar
    qtbot.keyClick(bar.field, Key.Key_M)  # no command: it is the name
    qtbot.keyClick(bar.field, Key.Key_Return)
    (mark,) = session.state.bookmarks
    assert mark.name == "m"
    attention.timeline.view.setFocus()
    type_key(qtbot, attention, Key.Key_Delete)
    assert session.state.bookmarks == ()
    actions = attention.commands.actions
    assert not actions["mark.remove"].isEnabled()
    type_key(qtbot, attention, Key.Key_Z, CTRL)
    assert session.state.bookmarks == (mark,)
    assert actions["mark.keep"].isEnabled()
    session.show_inferences(Inferences.MEAN)
    assert actions["mark.keep"].isEnabled()  # it shows inferences as they ran


def test_without_a_selection_m_and_shift_m_are_about_the_time_under_the_mouse(attention, qtbot):
    type_key(qtbot, attention, Key.Key_M)
    assert attention.session.state.measured is None
    assert "point at the timeline" in attention.window.status.said.text()
    move(canvas(attention), AT)
    at = attention.timeline.view.time_at(AT.x())
    type_key(qtbot, attention, Key.Key_M)
    assert attention.session.state.measured == (at, at)
    type_key(qtbot, attention, Key.Key_Delete)
    assert attention.session.state.measured is None
    type_key(qtbot, attention, Key.Key_M, SHIFT)
    (mark,) = attention.session.state.bookmarks
    assert (mark.t0, mark.t1) == (at, at)


def test_f2_lets_the_name_of_a_mark_be_typed_and_delete_is_no_command_there(attention, qtbot):
    session = attention.session
    session.select_slice(SliceRef(0, 51))
    type_key(qtbot, attention, Key.Key_M, SHIFT)
    type_key(qtbot, attention, Key.Key_F2)
    editor = QApplication.focusWidget()
    assert isinstance(editor, QLineEdit)
    editor.selectAll()
    qtbot.keyClick(editor, Key.Key_Delete)
    assert len(session.state.bookmarks) == 1
    assert editor.text() == ""
    qtbot.keyClicks(editor, "warm up")
    qtbot.keyClick(editor, Key.Key_Return)
    qtbot.waitUntil(lambda: session.state.bookmarks[0].name == "warm up")
    assert session.state.slice == SliceRef(0, 51)


def test_ctrl_shift_p_opens_the_palette_and_question_mark_the_sheet(attention, qtbot):
    type_key(qtbot, attention, Key.Key_P, CTRL | SHIFT)
    assert attention.palette.isVisible()
    type_key(qtbot, attention, Key.Key_Escape)
    type_key(qtbot, attention, Key.Key_Question)
    sheet = attention.window.findChild(KeySheet)
    assert sheet.isVisible()
    sheet.close()


def test_q_hides_the_bottom_panels_and_shows_them(attention, qtbot):
    assert attention.docks.shows_bottom
    type_key(qtbot, attention, Key.Key_Q)
    assert not attention.docks.shows_bottom
    type_key(qtbot, attention, Key.Key_Q)
    assert attention.docks.shows_bottom


def test_wherever_the_keyboard_is_the_keys_are_the_same(attention, qtbot):
    settle(qtbot, attention)
    for widget in (
        attention.panels["operators"].table,
        attention.toolbar.run,
        attention.timeline.view,
    ):
        widget.setFocus()
        before = view_range(attention)
        for key in (Key.Key_D, Key.Key_W):
            type_key(qtbot, attention, key)
        assert view_range(attention) != before, widget
        type_key(qtbot, attention, Key.Key_Q)
        assert not attention.docks.shows_bottom
        type_key(qtbot, attention, Key.Key_Q)
        settle(qtbot, attention)


def test_letters_typed_into_a_field_move_nothing(attention, qtbot):
    before = attention.session.state
    attention.panels["operators"].filter.setFocus()
    qtbot.keyClicks(attention.panels["operators"].filter, "wasdfnpq.,")
    assert attention.panels["operators"].filter.text() == "wasdfnpq.,"
    assert attention.session.state == before
    assert attention.docks.shows_bottom


def test_wherever_the_focus_is_letters_move_the_timeline_and_command(attention, qtbot, monkeypatch):
    ProblemsFeed.of(attention.session).add_failure("/some/bad.etdp", "the file is empty")
    attention.session.select_operators(0, (9,))
    held = attention.timeline.view.findChild(HeldKeys)
    monkeypatch.setattr(held, "clock", lambda: 100.0)  # or a slow press is a repeat for it
    timer = held.findChild(QTimer)
    kinds = QTableView, QTextEdit, QAbstractButton, QScrollArea
    begin = view_range(attention)
    for dock in ("operators", "events", "source", "links", "problems"):
        attention.docks.show_panel(dock)
        settle(qtbot, attention)
        panel = attention.docks.by_name[dock]
        widgets = [w for kind in kinds for w in panel.findChildren(kind) if w.isVisible()]
        widgets += [panel] if isinstance(panel, QScrollArea) else []
        assert widgets, dock
        for widget in widgets:
            attention.session.set_range(*begin)
            widget.setFocus()
            qtbot.keyPress(widget, Key.Key_D)
            assert view_range(attention)[0] > begin[0], (dock, widget)
            qtbot.keyRelease(widget, Key.Key_D)
            assert not timer.isActive(), (dock, widget)


# -- the table of commands -------------------------------------------------------------------------


def test_the_page_of_the_keys_lists_the_keys_of_all_commands(controller):
    page = text_of("keys")
    rows = re.findall(r"^\| ([^|]+) \|", page.partition("## Mouse")[0], re.MULTILINE)
    listed = [key for row in rows for key in re.findall(r"`(\S+)`", row)]
    table = controller.commands
    assert sorted(listed) == sorted(key for id in table.commands for key in table.keys(id))


def test_the_page_of_the_keys_lists_all_mouse_gestures():
    rows = re.findall(r"^\| ([^|]+) \|", text_of("keys").partition("## Mouse")[2], re.MULTILINE)
    listed = {gesture.lower() for row in rows for gesture in row.split(", ")}
    known = {gesture.lower() for gestures, _ in MOUSE_HELP for gesture in gestures.split(", ")}
    assert listed - {"gesture"} == known


def test_no_two_commands_share_a_key_and_each_is_found_everywhere(controller):
    table = controller.commands
    taken = {}
    for id in table.commands:
        for sequence in table.actions[id].shortcuts():
            assert taken.setdefault(sequence.toString(), id) == id
    listed = {row.id: row for row in found_rows(table, "", [])}
    controller.commands.run("help.customize_keys")
    sheet = controller.window.findChild(ShortcutsDialog)
    texts = {
        sheet.model.item(row).data(Qt.ItemDataRole.UserRole): sheet.model.item(row).text().strip()
        for row in range(sheet.model.rowCount())
    }
    for id, command in table.commands.items():
        assert command.plain_title
        assert command.place
        assert (listed[id].title, texts[id]) == (command.plain_title, command.plain_title)
        assert found_rows(table, f"{command.plain_title} {command.place}", [])[0].id == id, id
    sheet.close()


HOSTILE = [
    "{", "[]", "7", "null", '"W"', "[" * 100_000, '{"view.zoom_in": "W"}', "\\x00",
    json.dumps({"view.zoom_in": [None, 3, "Shift", "A, B", "W" * 9999], "gone": ["W"]}),
    json.dumps({id: ["W"] for id in ("view.zoom_in", "view.panels", "file.quit", "help.keys")}),
]  # fmt: skip


@pytest.mark.parametrize("stored", HOSTILE)
def test_hostile_settings_never_break_the_start(qtbot, tmp_path, monkeypatch, stored):
    store = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    store.setValue(KEYS.name, stored)
    store.setValue("recent_commands", stored)
    store.setValue("drag_pans", stored)
    store.sync()
    made = controller_of(qtbot, tmp_path, monkeypatch)
    every = [k for id in made.commands.commands for k in made.commands.keys(id)]
    assert len(every) == len(set(every)) > 20
    made.commands.run("help.palette")
    put_away(made.window)


def test_chosen_keys_hold_after_a_restart(qtbot, tmp_path, monkeypatch):
    store = Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    store.set_keys({"view.panels": ["W"], "file.open": ["Ctrl+Shift+O"]})
    store.sync()
    made = controller_of(qtbot, tmp_path, monkeypatch)
    actions = made.commands.actions
    assert actions["view.panels"].shortcuts() == [QKeySequence("W")]
    assert made.commands.keys("view.zoom_in") == ("Ctrl+=", "Ctrl++")
    assert ("Open files", "Ctrl+Shift+O") in made.window.start_page._keys
    assert made.toolbar._buttons[0][0].toolTip() == "Open…  Ctrl+Shift+O"
    put_away(made.window)


# -- keys that are named in sentences --------------------------------------------------------------


def named(controller):
    """What is said on screen of keys, by where it stands."""
    controller.commands.commands["search.find"].run()
    help_of_search = controller.toolbar.search.help
    said = {
        "marks": controller.panels["marks"].sentence,
        "hits": controller.panels["search"].sentence,
        "search": controller.toolbar.search.toolTip(),
        "help of search": help_of_search._text.text().rpartition("clear · ")[2],
        "start page": " ".join(
            label.text() for label in controller.window.start_page.findChildren(QLabel)
        ),
    }
    controller.timeline.view.setFocus()
    return said


def test_sentences_name_the_keys_that_commands_have_now(attention, qtbot):
    said = named(attention)
    assert said["marks"].startswith("No bookmarks. Press M to measure")
    assert "Shift+M to add a bookmark" in said["marks"]
    assert "the search field (Ctrl+F or /)" in said["hits"]
    assert said["search"] == "Search  Ctrl+F or /"
    assert said["help of search"].startswith("H in the timeline: show only matches")
    commands = attention.commands
    for id, key in (
        ("mark.measure", "Ctrl+1"), ("mark.keep", "Ctrl+2"), ("search.find", "Ctrl+3"),
        ("view.only_hits", "Ctrl+4"), ("file.open", "Ctrl+5"),
    ):  # fmt: skip
        for old in commands.keys(id):
            commands.take_key(id, old)
        commands.give_key(id, key)
    said = named(attention)
    assert said["marks"].startswith("No bookmarks. Press Ctrl+1 to measure")
    assert "Ctrl+2 to add a bookmark" in said["marks"]
    assert "the search field (Ctrl+3)" in said["hits"]
    assert said["search"] == "Search  Ctrl+3"
    assert said["help of search"].startswith("Ctrl+4 in the timeline: show only matches")
    assert "Ctrl+5" in said["start page"]
    assert "Ctrl+O" not in said["start page"]


def test_a_command_without_a_key_is_named_by_where_it_stands(attention, qtbot):
    for id in ("mark.measure", "search.find"):
        for old in attention.commands.keys(id):
            attention.commands.take_key(id, old)
    said = named(attention)
    assert said["marks"].startswith("No bookmarks. Press “Measure” in")
    assert "(“Find” in the menu Edit)" in said["hits"]
