"""Where the panels lie: the timeline as tall as its rows, panels as tabs where room is short."""

import pytest
from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QLabel, QMainWindow, QTabBar, QToolButton

from tests.gui.events import open_sample, settle
from viewer.gui.qt.settings import WINDOW_STATE_VERSION
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.frame.docks import TIMELINE_SHARE, Docks
from viewer.model.inference_views import Inferences

NAMES = (
    "summary",
    "details", "operators", "model", "graph", "statistics", "events", "estimates", "findings",
    "source", "links",
    "delegation", "handle_map", "problems", "untimed", "selection", "marks", "search",
    "program",
)  # fmt: skip


def fellows(controller, name):
    dock = controller.docks.by_name[name]
    tabs = controller.window.tabifiedDockWidgets(dock)
    return {other for other, d in controller.docks.by_name.items() if d in tabs}


@pytest.mark.parametrize("front", ["operators", "events"])
def test_the_timeline_is_as_tall_as_its_rows_whichever_tab_is_in_front(attention, qtbot, front):
    timeline: Timeline = attention.timeline
    attention.docks.show_panel(front)
    settle(qtbot, attention)
    for view in (Inferences.ALIGNED, Inferences.MEAN, Inferences.AS_RUN):
        attention.session.show_inferences(view)
        settle(qtbot, attention)
        most = (timeline.height() + attention.docks.by_name[front].height()) * TIMELINE_SHARE
        assert timeline.height() == pytest.approx(min(timeline.content_height, most), abs=30)


def test_widths_that_the_user_chose_stay_when_the_runs_are_aligned(attention, qtbot):
    side = attention.docks.by_name["summary"]
    attention.window.resizeDocks([side], [500], Qt.Orientation.Horizontal)
    settle(qtbot, attention)
    attention.session.show_inferences(Inferences.ALIGNED)
    settle(qtbot, attention)
    assert side.width() == 500


def test_the_bottom_comes_back_as_it_was(attention, qtbot):
    docks = attention.docks
    docks.show_panel("events")
    docks.show_panel("links")
    settle(qtbot, attention)
    before = [docks.by_name[name].width() for name in ("events", "links")]
    for _ in range(2):
        qtbot.keyClick(attention.window, Qt.Key.Key_Q)
        settle(qtbot, attention)
    assert attention.events.isVisible()
    assert attention.links.isVisible()
    assert not attention.problems.visibleRegion().boundingRect().isValid()
    after = [docks.by_name[name].width() for name in ("events", "links")]
    assert after == pytest.approx(before, abs=4)


def test_panels_become_tabs_as_room_gets_short_and_part_again(attention, qtbot):
    sizes = []
    for width in (1300, 1000, 1300, 1600):
        attention.window.resize(width, 900)
        qtbot.waitUntil(lambda: not attention.docks.needs_relayout)
        settle(qtbot, attention)
        sizes.append((fellows(attention, "details"), fellows(attention, "source")))
    tabs = {"links", "delegation", "problems", "untimed", "marks", "search"}
    assert sizes[0] == (tabs | {"source", "summary"}, tabs | {"details", "summary"})
    left = {
        "operators", "model", "findings", "graph", "statistics", "events", "estimates",
        "handle_map", "selection", "program",
    }  # fmt: skip
    assert sizes[1] == (tabs | {"summary"}, left)
    assert sizes[2] == sizes[0]
    assert sizes[3] == ({"summary"}, tabs)


def test_in_a_narrow_window_both_halves_of_the_bottom_have_room(attention, qtbot):
    attention.window.resize(1000, 700)
    qtbot.waitUntil(lambda: not attention.docks.needs_relayout)
    settle(qtbot, attention)
    left, right = (attention.docks.by_name[name].width() for name in ("operators", "summary"))
    assert right > 0.8 * left


def test_in_a_narrow_window_no_button_of_the_toolbar_is_squeezed(attention, qtbot):
    toolbar = attention.toolbar
    in_full = toolbar.link_state.text()
    attention.window.resize(1000, 700)
    qtbot.waitUntil(lambda: toolbar.width() == 1000)
    settle(qtbot, attention)
    assert toolbar.link_state.text() == "100\u202f% linked · match 1.00"
    buttons = toolbar.findChildren(QToolButton, options=Qt.FindChildOption.FindDirectChildrenOnly)
    squeezed = [b.text() for b in buttons if b.isVisible() and b.width() < b.sizeHint().width()]
    assert not squeezed
    attention.window.resize(1600, 900)
    qtbot.waitUntil(lambda: toolbar.width() == 1600)
    assert toolbar.link_state.text() == in_full


def titled(docks):
    """The docks that have a title bar."""
    return {name for name, dock in docks.by_name.items() if dock.titleBarWidget() is None}


def test_only_a_dock_without_a_tab_has_a_title_of_its_own(attention):
    assert titled(attention.docks) == set()
    docks = attention.docks.by_name
    attention.window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, docks["links"])
    assert titled(attention.docks) == {"links"}


def bare_window(qtbot, shown_first):
    """A window with nothing but docks."""
    window = QMainWindow()
    qtbot.addWidget(window)
    window.setCentralWidget(QLabel())
    window.resize(1600, 900)
    if shown_first:
        window.show()
    return window, Docks(window, {name: QLabel() for name in NAMES})


@pytest.mark.parametrize("shown_first", [False, True])
def test_every_group_of_tabs_has_one_bar_and_it_is_in_reach(qtbot, shown_first):
    """A bar that Qt makes twice stays behind the panels for good; to drag it ends the process."""
    window, docks = bare_window(qtbot, shown_first)
    docks.restore(QByteArray())
    window.show()
    docks.show_all(True)
    for width in (1600, 1300, 1000, 1600):
        window.resize(width, 900)
        docks.fit_width()
        for _ in range(2):  # a bar that is left over goes in the second turn
            QCoreApplication.processEvents()
        bars = [bar for bar in window.findChildren(QTabBar) if bar.count()]
        titles = [bar.tabText(i) for bar in bars for i in range(bar.count())]
        assert len(bars) == (3 if width == 1600 else 2)
        assert len(titles) == len(set(titles)) >= 13
        for bar in bars:
            assert window.childAt(bar.mapTo(window, bar.rect().center())) is bar


@pytest.mark.parametrize("shown_first", [False, True])
@pytest.mark.parametrize("stored", ["as it lay", "by another program"])
def test_a_stored_layout_leaves_no_bar_over_the_menus(qtbot, shown_first, stored):
    """Docks that were tabs before the window is shown, and are restored, leave empty bars."""
    state = QByteArray(b"nothing that Qt knows")
    if stored == "as it lay":
        was = QMainWindow()
        qtbot.addWidget(was)
        was.setCentralWidget(QLabel())
        was.resize(1600, 900)
        before = Docks(was, {name: QLabel() for name in NAMES})
        before.restore(QByteArray())
        was.show()
        before.show_all(True)
        before.show_panel("graph")
        state = was.saveState(WINDOW_STATE_VERSION)
    window, docks = bare_window(qtbot, shown_first)
    docks.restore(state)
    docks.show_all(False)
    window.show()
    docks.show_all(True)
    QCoreApplication.processEvents()
    bars = window.findChildren(QTabBar)
    assert len(bars) == 3
    assert sum(bar.count() for bar in bars) == len(NAMES)
    assert window.width() == 1600
    assert titled(docks) == set()
    for bar in bars:
        assert window.childAt(bar.mapTo(window, bar.rect().center())) is bar


def test_to_close_all_and_open_again_leaves_no_widget_behind(attention, qtbot):
    def parts():
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        return sum(len(dock.children()) for dock in attention.docks.by_name.values())

    before = parts()
    for _ in range(3):
        attention.session.close_all()
        settle(qtbot, attention)
        open_sample(qtbot, attention, "attention_xnnpack")
    assert parts() == before
