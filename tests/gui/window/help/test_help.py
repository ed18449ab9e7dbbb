"""Help for where the keyboard or the mouse is, and the tour through the window."""

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QTabBar

from tests.gui.events import canvas, open_sample, place_of, press, release, settle
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.selection import slices_of
from viewer.gui.window.frame.panel_table import TABLE
from viewer.model.inference_views import Inferences


@pytest.fixture
def attention(attention):
    """The window with the attention sample open, and the mouse outside of it."""
    QCursor.setPos(QPoint(5000, 5000))
    return attention


def click(controller, index):
    at = place_of(controller, index)
    press(canvas(controller), at)
    release(canvas(controller), at)


# -- help ------------------------------------------------------------------------------------------


def test_the_start_page_has_the_first_steps(controller):
    QCursor.setPos(QPoint(5000, 5000))
    controller.commands.run("help.here")
    assert controller.help.window.page == "index"
    assert controller.help.window.isVisible()
    assert not controller.help.window.isModal()


def test_help_is_on_the_dock_that_has_the_keyboard(attention, qtbot):
    for name in TABLE.pages:
        attention.commands.run(f"panel.{name}")
        settle(qtbot, attention)
        focus = attention.window.focusWidget()
        if attention.docks.by_name[name].isAncestorOf(focus):
            attention.help.show_help_here()
            assert attention.help.window.page == name
            attention.help.window.hide()
            attention.window.activateWindow()
            qtbot.waitUntil(attention.window.isActiveWindow)


def test_help_is_on_the_dock_under_the_mouse_while_the_keyboard_is_on_the_timeline(attention):
    attention.timeline.view.setFocus()
    assert attention.help.page_of(attention.timeline.view) == "timeline"
    table = attention.panels["operators"].table.viewport()
    assert attention.help.page_of(table) == "operators"
    QCursor.setPos(table.mapToGlobal(table.rect().center()))
    attention.help.show_help_here()
    assert attention.help.window.page == "operators"


def test_help_is_on_the_timeline_else(attention):
    attention.timeline.view.setFocus()
    attention.help.show_help_here()
    assert attention.help.window.page == "timeline"


def test_the_start_page_leads_to_how_formats_are_recorded(controller):
    controller.window.start_page.help_requested.emit()
    assert controller.help.window.page == "recording"


# -- the tour --------------------------------------------------------------------------------------


@pytest.fixture
def tour(attention, qtbot):
    """The tour at its first step, on the sample."""
    attention.help.start_tour()
    qtbot.waitUntil(lambda: attention.help.tour.callout.isVisible())
    return attention.help.tour


def wait_for_note(qtbot, tour):
    """Wait until the note has followed what it points at."""
    timers = tour.findChildren(QTimer)
    assert timers
    qtbot.waitUntil(lambda: not any(timer.isActive() for timer in timers))


def test_from_the_start_page_the_tour_opens_the_sample(controller, qtbot):
    controller.window.start_page.tour_requested.emit()
    qtbot.waitUntil(lambda: controller.help.tour.number == 1, timeout=20_000)
    assert [path.rpartition("/")[2] for path in controller.session.workspace.paths] == [
        "attn_xnnpack_x5.etdp",
        "attn_teal_xnnpack.etrecord",
    ]


def test_the_tour_points_at_a_slice_of_the_inferences_that_are_seen(attention, tour, qtbot):
    for way in (Inferences.MEAN, Inferences.ALIGNED, Inferences.AS_RUN):
        attention.session.show_inferences(way)
        settle(qtbot, attention)
        wait_for_note(qtbot, tour)  # an exception in a slot fails the test
        example = tour._example_now()
        assert example.index < len(attention.session.traces[0].trace.slices)
    tour.callout.next.click()
    assert attention.session.state.slice == example


def test_the_tour_follows_what_the_user_does(attention, tour, qtbot):
    assert tour.callout.accessibleName() == "Tour, step 1 of 4: Click a slice"
    attention.session.select_slice(tour._example())
    assert tour.shows_result
    assert "linear" in tour.callout.text.text()
    tour.callout.next.click()
    assert (tour.number, tour.shows_result) == (2, False)
    attention.panels["operators"].table.chosen.emit(0)
    assert tour.shows_result
    trace, operators = attention.session.state.operators
    count = len(slices_of(attention.session, trace, operators))
    assert f"{count} slices" in tour.callout.text.text()
    tour.callout.next.click()
    qtbot.keyClicks(attention.toolbar.search, "linear")
    qtbot.waitUntil(lambda: tour.shows_result)
    qtbot.waitUntil(lambda: not Search.of(attention.session).pending)
    hits = len(Search.of(attention.session).hits)
    assert tour.callout.text.text().startswith(f"{hits} slices found")
    # Who typed has the keyboard in the field: there W is a letter.
    assert (
        "Press Escape to clear the search and return to the timeline. There, W"
        in tour.callout.text.text()
    )
    tour.callout.next.click()
    assert (tour.number, tour.callout.next.text()) == (4, "&Done")
    assert "Ctrl+E" in tour.callout.text.text()
    tour.callout.next.click()
    assert not tour.is_on
    assert not tour.callout.isVisible()


def test_next_does_what_the_user_does_not(attention, tour, qtbot):
    tour.callout.next.click()
    assert attention.session.state.slice is not None
    assert tour.shows_result
    tour.callout.next.click()
    tour.callout.next.click()
    assert attention.session.state.operators is not None
    assert attention.session.state.slice is None
    tour.callout.next.click()
    tour.callout.next.click()
    qtbot.waitUntil(lambda: tour.shows_result)
    assert len(Search.of(attention.session).hits) > 0


def test_what_is_selected_already_does_not_hold_the_tour_up(attention, tour):
    """A second tour begins where the first one ended."""
    for _ in range(3):
        tour.callout.next.click()
    assert tour.number == 2
    rows = attention.session.traces[0].costs.table().rows
    most_expensive = max(rows, key=lambda row: row.ticks).operators
    assert attention.session.state.operators == (0, tuple(most_expensive))
    attention.session.select_slice(tour._example())
    tour.start()
    tour.callout.next.click()
    assert (tour.number, tour.shows_result) == (1, True)
    tour.callout.next.click()
    assert tour.number == 2


def test_escape_leaves_the_tour_first(attention, tour, qtbot):
    attention.session.select_slice(tour._example())
    qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    assert not tour.is_on
    assert not tour.callout.isVisible()
    assert attention.session.state.slice is not None
    qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    assert attention.session.state.slice is None


def test_the_tour_does_not_survive_that_files_are_closed(attention, tour, qtbot):
    attention.commands.run("file.close_all")
    settle(qtbot, attention)
    assert not tour.is_on
    assert not tour.callout.isVisible()


def test_the_callout_stands_beside_what_it_points_at_and_lets_it_be_used(attention, tour, qtbot):
    wait_for_note(qtbot, tour)
    callout = tour.callout
    place = tour._slice_rect(tour._example())
    assert not callout.geometry().intersects(place)
    assert attention.window.rect().contains(callout.geometry())
    # The frame around the slice lets the mouse through.
    over = attention.window.childAt(place.center())
    assert over is canvas(attention)
    assert attention.window.isEnabled()
    click(attention, tour._example().index)
    assert tour.shows_result


def test_with_less_motion_the_callout_jumps(attention, tour):
    assert not attention.view_settings.moves_smoothly
    tour.callout.next.click()
    tour._point()
    assert not tour.callout.animates
    assert tour.callout._animation.state() is tour.callout._animation.State.Stopped


def test_the_tour_needs_no_mouse(attention, tour, qtbot):
    assert attention.window.focusWidget() is tour.callout.next
    for _ in range(6):
        qtbot.keyClick(tour.callout.next, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: not Search.of(attention.session).pending)
    assert tour.number == 4
    qtbot.keyClick(tour.callout.next, Qt.Key.Key_Return)
    assert not tour.is_on
    assert attention.window.focusWidget() is attention.timeline.view


def test_the_tour_runs_over_what_is_open_if_that_has_operators(controller, qtbot):
    open_sample(qtbot, controller, "torq_npu")
    before = list(controller.session.workspace.paths)
    controller.help.start_tour()
    for _ in range(7):
        controller.help.tour.next()
        qtbot.waitUntil(lambda: not Search.of(controller.session).pending)
    assert not controller.help.tour.is_on
    assert controller.session.workspace.paths == before


@pytest.mark.parametrize("size", [(1920, 1080), (1280, 800)])
def test_no_note_covers_the_tabs_or_what_it_speaks_of(attention, tour, qtbot, size):
    window = attention.window
    window.resize(*size)
    window.settle()
    tour.callout.animates = False
    while True:
        tour._point()
        note, step = tour.callout.geometry(), tour._steps[tour.number - 1]
        spoken = step.result_area() if tour.shows_result and step.result_area else step.target()
        tabs = [tour._rect(bar) for bar in window.findChildren(QTabBar)]
        for part in (spoken, *tabs, *step.related_areas()):
            assert not note.intersects(part), (tour.number, tour.shows_result, note, part)
        if tour.number == 4:
            break
        was = tour.number, tour.shows_result
        tour.callout.next.click()
        qtbot.waitUntil(lambda was=was: (tour.number, tour.shows_result) != was)
        window.settle()
