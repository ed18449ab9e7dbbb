"""The headers column by mouse and keys: fold, pin, hide, drag, resize, and the menu of a header."""

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu, QToolTip

from tests.gui.events import CTRL, LEFT, SHIFT, canvas, drag, middle_of, move, press, release, wheel
from viewer.gui.session.choices import arrange_tracks
from viewer.gui.timeline import header_painting
from viewer.gui.timeline.scene.scene import row_height
from viewer.gui.timeline.track_headers import NARROWEST, WIDTH
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind
from viewer.render.arrangement import TrackOrder
from viewer.render.layout import BandKind
from viewer.view.clock_groups import ClockGroups

OPENED: list[QMenu] = []
LONG = "worker " + "very " * 30 + "long"


def profile(path, *threads):
    """A trace with one slice per thread: (name, start, length); nested ones have two rows.

    All of them are on one clock.
    """
    builder = TraceBuilder(path, "test", "", Clock("ns", domain="test"))
    for name, start, length in threads:
        builder.add(
            track=builder.track(path, name), start=np.array([start, start]),
            end=np.array([start + length, start + length // 2]), name=builder.intern(name),
            key=builder.key(KeyKind.PLAIN, name),
        )  # fmt: skip
    return builder.build()


@pytest.fixture(autouse=True)
def menus(monkeypatch):
    """Menus are noted and not shown: a shown one would take the keyboard of the machine."""
    monkeypatch.setattr(QMenu, "popup", lambda menu, at: OPENED.append(menu))
    yield
    OPENED.clear()


@pytest.fixture
def tracks(harness):
    """Two processes: a with three tracks of two rows, b with one."""
    a = profile("a.csv", ("cpu 10", 0, 100), ("cpu 2", 50, 400), ("<b>gpu</b>", 20, 200))
    harness.session.add([a, profile("b.csv", (LONG, 0, 90))])
    harness.settle()
    return harness


def headers(harness):
    return harness.timeline.headers


def view(harness):
    return harness.session.state.tracks


def names(harness):
    """The titles from top to bottom."""
    scene = harness.timeline.scene
    parts = [scene.header_bands.part_of(band) for band in scene.header_bands.titles()]
    return [p[1] if isinstance(p[1], str) else scene.track_list.names[scene.track_list.track_of(p)]
            for p in parts]  # fmt: skip


def at(harness, part, x=60):
    """A point on the title of a part."""
    return QPoint(x, middle_of(harness, harness.timeline.scene.header_bands.first_band(part)))


def click(harness, point, button=LEFT):
    press(headers(harness), point, button)
    release(headers(harness), point, button)


def pick(harness, point, *titles):
    """Open the menu at a point and choose an entry, or one of a menu in it; the entries' titles."""
    event = QContextMenuEvent(
        QContextMenuEvent.Reason.Mouse, point, headers(harness).mapToGlobal(point)
    )
    QApplication.sendEvent(headers(harness), event)
    menu = OPENED.pop()
    offered = [action.text() for action in menu.actions()]
    for title in titles:
        action = next(a for a in menu.actions() if a.text() == title)
        if action.menu():
            menu = action.menu()
        else:
            action.trigger()
    return offered


def test_what_was_opened_stands_as_in_the_files(tracks):
    assert names(tracks) == ["a.csv", "cpu 10", "cpu 2", "<b>gpu</b>", "b.csv", LONG]


def test_a_chevron_folds_a_track_of_several_rows(tracks):
    band = tracks.timeline.scene.header_bands.first_band((0, 1))
    move(headers(tracks), at(tracks, (0, 1), 14))
    click(tracks, at(tracks, (0, 1), 14))
    assert view(tracks).collapsed == {(0, 1)}
    layout = tracks.timeline.scene.layout
    assert [layout.track[band], layout.track[band + 1]] == [1, 2]
    click(tracks, at(tracks, (0, 1), 60))
    assert view(tracks).collapsed == {(0, 1)}, "its name is no chevron"
    click(tracks, at(tracks, (0, 1), 14))
    assert view(tracks).collapsed == frozenset()


def test_the_buttons_under_the_mouse_pin_and_hide(tracks):
    column = headers(tracks)
    bare = column.grab().toImage()
    move(column, at(tracks, (0, 1)))
    assert column.grab().toImage() != bare
    click(tracks, at(tracks, (0, 1), column.width() - 40))
    assert view(tracks).pinned == ((0, 1),)
    assert names(tracks) == ["cpu 2", "a.csv", "cpu 10", "<b>gpu</b>", "b.csv", LONG]
    click(tracks, at(tracks, (0, 2), column.width() - 18))
    assert view(tracks).hidden == {(0, 2)}
    click(tracks, at(tracks, (0, 1), column.width() - 40))
    assert view(tracks).pinned == ()
    assert names(tracks) == ["a.csv", "cpu 10", "cpu 2", "b.csv", LONG]
    tracks.session.undo()
    assert view(tracks).pinned == ((0, 1),)


def test_a_track_is_dragged_among_those_of_its_process(tracks):
    column = headers(tracks)
    start, end = at(tracks, (0, 0)), at(tracks, (0, 2)) + QPoint(0, 40)
    press(column, start)
    move(column, start + QPoint(0, 30), LEFT)
    lined = column.grab().toImage()
    move(column, end, LEFT)
    assert column.grab().toImage() != lined, "the line follows the mouse"
    assert names(tracks)[:4] == ["a.csv", "cpu 10", "cpu 2", "<b>gpu</b>"]
    release(column, end)
    assert names(tracks)[:4] == ["a.csv", "cpu 2", "<b>gpu</b>", "cpu 10"]
    drag(column, at(tracks, (0, 0)), at(tracks, (0, 2)) - QPoint(0, 12))
    assert names(tracks)[:4] == ["a.csv", "cpu 2", "cpu 10", "<b>gpu</b>"]
    # However far it is dragged, it stays in its process.
    drag(column, at(tracks, (0, 1)), QPoint(60, column.height() - 2))
    assert names(tracks) == ["a.csv", "cpu 10", "<b>gpu</b>", "cpu 2", "b.csv", LONG]
    tracks.session.undo()
    assert names(tracks)[:4] == ["a.csv", "cpu 2", "cpu 10", "<b>gpu</b>"]


def test_a_drag_to_where_a_part_stands_is_no_change(tracks):
    past = tracks.session.history.can_undo
    drag(headers(tracks), at(tracks, (0, 1)), at(tracks, (0, 1)) + QPoint(0, 14))
    assert view(tracks).moved == ()
    assert tracks.session.history.can_undo == past


def test_a_process_is_dragged_and_not_folded_by_it(tracks):
    drag(headers(tracks), at(tracks, (1, "b.csv")), at(tracks, (0, "a.csv")) - QPoint(0, 10))
    assert names(tracks)[:3] == ["b.csv", LONG, "a.csv"]
    assert view(tracks).collapsed == frozenset()


def test_pinned_tracks_are_dragged_among_themselves(tracks):
    for track in (0, 1, 2):
        arrange_tracks(tracks.session, view(tracks).pinned_or_not((0, track)))
    drag(headers(tracks), at(tracks, (0, 2)), at(tracks, (0, 0)) - QPoint(0, 12))
    assert view(tracks).pinned == ((0, 2), (0, 0), (0, 1))
    assert view(tracks).moved == ()


def test_a_track_is_pinned_or_unpinned_by_where_it_is_dropped(tracks):
    arrange_tracks(tracks.session, view(tracks).pinned_or_not((0, 2)).pinned_or_not((1, 0)))
    drag(headers(tracks), at(tracks, (0, 1)), at(tracks, (1, 0)) - QPoint(0, 12))
    assert view(tracks).pinned == ((0, 2), (0, 1), (1, 0))
    drag(headers(tracks), at(tracks, (0, 2)), at(tracks, (0, 0)) - QPoint(0, 12))
    assert names(tracks) == ["cpu 2", LONG, "a.csv", "<b>gpu</b>", "cpu 10", "b.csv"]
    tracks.session.undo()
    assert view(tracks).pinned == ((0, 2), (0, 1), (1, 0))


@pytest.mark.parametrize("row", [1, 3])
def test_the_lower_edge_of_a_row_makes_all_rows_of_its_process_higher(tracks, row):
    scene, column = tracks.timeline.scene, headers(tracks)
    edge = int(scene.layout.y[row] + scene.layout.height[row])
    press(column, QPoint(60, edge - 1))
    for by in (5, 9, 10):
        move(column, QPoint(60, edge - 1 + by * row), LEFT)
    release(column, QPoint(60, edge - 1 + 10 * row))
    rows = scene.layout.kind == BandKind.ROW
    assert set(scene.layout.height[rows & (scene.layout.trace == 0)]) == {40}
    assert set(scene.layout.height[rows & (scene.layout.trace == 1)]) == {30}
    assert int(scene.layout.y[row] + scene.layout.height[row]) == edge + 10 * row
    tracks.session.undo()
    assert view(tracks).heights == (), "a drag is one step of undo"


def test_a_drag_that_goes_on_can_be_taken_back(tracks):
    scene, column = tracks.timeline.scene, headers(tracks)
    edge, width = int(scene.layout.y[1] + scene.layout.height[1]), column.width()
    height = QPoint(60, edge)
    for begin, end in (
        (height, height + QPoint(0, 12)),
        (at(tracks, (0, 0)), at(tracks, (0, 0)) + QPoint(0, 60)),
        (QPoint(width - 1, 5), QPoint(width + 60, 5)),
    ):
        press(column, begin)
        move(column, end, LEFT)
        assert column.cancel_drag()
        assert (view(tracks).heights, view(tracks).moved, column.width()) == ((), (), width)
        release(column, end)
        assert (view(tracks).heights, view(tracks).moved, column.width()) == ((), (), width)
        assert not tracks.session.history.can_undo
        assert not column.cancel_drag(), "there is none any more"


def test_rows_get_no_higher_or_lower_than_can_be_read(tracks):
    scene, column = tracks.timeline.scene, headers(tracks)
    for by, height in ((500, 60), (-500, 8)):
        edge = int(scene.layout.y[1] + scene.layout.height[1])
        drag(column, QPoint(60, edge), QPoint(60, edge + by))
        assert scene.layout.height[1] == height
        assert not tracks.window.grab().isNull()


@pytest.mark.parametrize("part", ["canvas", "headers"])
def test_ctrl_and_shift_turn_the_wheel_into_row_heights(tracks, part):
    onto = canvas(tracks) if part == "canvas" else headers(tracks)
    here = at(tracks, (0, 1))
    before = (tracks.session.state.t0, tracks.session.state.t1)
    wheel(onto, here, 2, held=CTRL | SHIFT)
    assert row_height(tracks.timeline.scene, (0, "a.csv")) == 32
    wheel(onto, here, -1, held=CTRL | SHIFT)
    assert row_height(tracks.timeline.scene, (0, "a.csv")) == 30
    assert (tracks.session.state.t0, tracks.session.state.t1) == before


def test_the_menu_of_a_header_does_what_it_says(tracks):
    offered = pick(tracks, at(tracks, (0, 1)), "Pin on top")
    assert offered[:4] == ["Pin on top", "Hide", "Collapse", "Hide all others"]
    assert view(tracks).pinned == ((0, 1),)
    assert pick(tracks, at(tracks, (0, 1)), "Unpin")[0] == "Unpin"
    pick(tracks, at(tracks, (0, 1)), "Hide all others")
    assert names(tracks) == ["a.csv", "cpu 2"]
    pick(tracks, at(tracks, (0, 1)), "Show all")
    pick(tracks, at(tracks, (0, 1)), "Row height", "High (44 px)")
    assert view(tracks).heights == (((0, "a.csv"), 44),)
    pick(tracks, at(tracks, (0, "a.csv")), "Sort", "By name")
    assert names(tracks) == ["a.csv", "<b>gpu</b>", "cpu 2", "cpu 10", "b.csv", LONG]
    pick(tracks, at(tracks, (0, "a.csv")), "Sort", "Busiest first")
    assert names(tracks)[:4] == ["a.csv", "cpu 2", "<b>gpu</b>", "cpu 10"]
    pick(tracks, at(tracks, (0, "a.csv")), "Sort", "By first slice")
    assert names(tracks)[:4] == ["a.csv", "cpu 10", "<b>gpu</b>", "cpu 2"]
    assert view(tracks).order is TrackOrder.TIME
    pick(tracks, at(tracks, (0, "a.csv")), "Hide")
    assert names(tracks) == ["b.csv", LONG]
    first, last = tracks.session.traces[1].whole_span_ns
    pick(tracks, at(tracks, (1, 0)), "Zoom to this file")
    air = (last - first) // 50
    assert (tracks.session.state.t0, tracks.session.state.t1) == (first - air, last + air)


def test_the_edge_of_the_column_sets_its_width_and_that_is_told(tracks):
    column, edge, told = headers(tracks), QPoint(WIDTH - 1, 300), []
    tracks.timeline.header_width_changed.connect(told.append)
    drag(column, edge, edge + QPoint(104, 0))
    assert column.width() == tracks.timeline.corner.width() == WIDTH + 104
    first = tracks.timeline.legend.classes[0]
    assert first.mapTo(tracks.timeline, QPoint(0, 0)).x() > column.width()
    assert told[-1] == WIDTH + 104
    drag(column, QPoint(column.width() - 1, 300), QPoint(3, 300))
    assert column.width() == NARROWEST
    assert not tracks.window.grab().isNull()
    here = QPointF(column.width() - 1, 300)
    double = QMouseEvent(
        QEvent.Type.MouseButtonDblClick, here, column.mapToGlobal(here), LEFT, LEFT,
        Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(column, double)
    assert column.width() == WIDTH


def test_a_tip_says_a_name_in_full_and_makes_no_markup_of_it(tracks, monkeypatch):
    told = []
    monkeypatch.setattr(QToolTip, "showText", lambda where, text, widget: told.append(text))
    for part in ((1, 0), (0, 2)):
        point = at(tracks, part)
        QApplication.sendEvent(
            headers(tracks), QHelpEvent(QEvent.Type.ToolTip, point, QPoint(0, 0))
        )
    assert LONG in told[0]
    assert "&lt;b&gt;gpu&lt;/b&gt; · a.csv" in told[1]


def test_the_keyboard_walks_folds_and_hides(tracks, qtbot):
    column = headers(tracks)
    column.setFocus(Qt.FocusReason.TabFocusReason)
    assert column.current == (0, "a.csv")
    qtbot.keyClick(column, Qt.Key.Key_Down)
    qtbot.keyClick(column, Qt.Key.Key_Down)
    assert column.current == (0, 1)
    qtbot.keyClick(column, Qt.Key.Key_Left)
    assert view(tracks).collapsed == {(0, 1)}
    qtbot.keyClick(column, Qt.Key.Key_Left)
    assert view(tracks).collapsed == {(0, 1)}
    qtbot.keyClick(column, Qt.Key.Key_Right)
    assert view(tracks).collapsed == frozenset()
    qtbot.keyClick(column, Qt.Key.Key_Delete)
    assert view(tracks).hidden == {(0, 1)}
    assert column.current == (0, "a.csv"), "the keyboard is on something that is shown"
    for _ in range(9):
        qtbot.keyClick(column, Qt.Key.Key_Down)
    assert column.current == (1, 0)


def test_the_menu_key_opens_the_menu_of_the_current_header(tracks):
    column = headers(tracks)
    column.setFocus(Qt.FocusReason.TabFocusReason)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(0, 0), QPoint(0, 0))
    QApplication.sendEvent(column, event)
    assert "Hide all others" in [action.text() for action in OPENED.pop().actions()]


def test_closing_while_something_is_dragged_is_no_fault(tracks):
    column = headers(tracks)
    press(column, at(tracks, (0, 0)))
    move(column, at(tracks, (0, 2)), LEFT)
    tracks.session.close_all()
    move(column, QPoint(60, 500), LEFT)
    release(column, QPoint(60, 500))
    assert view(tracks).moved == ()
    tracks.open_sample("attention_xnnpack")
    assert not column.grab().isNull()


def test_what_is_hidden_while_it_is_dragged_is_not_moved(tracks):
    column, end = headers(tracks), at(tracks, (0, 2)) + QPoint(0, 20)
    press(column, at(tracks, (0, 0)))
    move(column, end, LEFT)
    arrange_tracks(tracks.session, view(tracks).without((0, 0)))
    release(column, end)
    assert view(tracks).moved == ()


def test_an_undo_while_rows_are_dragged_stays_undone_alone(tracks):
    scene, column = tracks.timeline.scene, headers(tracks)
    edge = int(scene.layout.y[1] + scene.layout.height[1])
    press(column, QPoint(60, edge))
    move(column, QPoint(60, edge + 8), LEFT)
    tracks.session.undo()
    assert view(tracks).heights == ()
    move(column, QPoint(60, edge + 9), LEFT)
    release(column, QPoint(60, edge + 9))
    tracks.session.undo()
    assert view(tracks).heights == ()


def test_what_rows_hold_is_looked_up_once_and_anew_for_other_files(tracks, monkeypatch):
    asked = []
    monkeypatch.setattr(header_painting, "row_hint", lambda trace, row: asked.append(row) or "")
    tracks.session.close_all()
    for path in ("c.csv", "d.csv"):
        tracks.session.add([profile(path, ("cpu", 0, 100), ("gpu", 20, 200))])
        tracks.settle()
        headers(tracks).grab()
        rows = len(asked)
        assert rows >= 2
        for _ in range(3):
            headers(tracks).grab()
        assert len(asked) == rows
        tracks.session.close_all()
        asked.clear()


def test_no_header_of_a_closed_file_is_current_before_the_scene_follows(tracks):
    column = headers(tracks)
    column.setFocus()
    assert column.current == (0, "a.csv")
    tracks.session.groups = ClockGroups()
    assert column.current is None
