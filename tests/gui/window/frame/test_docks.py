"""Where the panels lie: the timeline as tall as its rows, panels as tabs where room is short."""

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QSettings, Qt
from PySide6.QtWidgets import QLabel, QMainWindow, QMenu, QToolButton

from tests.gui.dark_theme import dark_theme
from tests.gui.events import controller_of, open_files, open_sample, put_away, settle
from tests.gui.window.shown import ATTENTION, DOCKS, shown_docks
from viewer.gui.panels.base.panel_spec import PanelArea, Presence
from viewer.gui.qt.settings import PANEL_LAYOUT, Settings
from viewer.gui.session.feeds.search import Search
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.frame.docks import TIMELINE_SHARE, Docks
from viewer.gui.window.frame.panel_registry import DEFAULT, MadeOnUse, stored_layout
from viewer.gui.window.frame.panel_table import TABLE
from viewer.gui.window.main_window import MainWindow
from viewer.model.inference_views import Inferences
from viewer.view.sessions.session_file import SavedPanels
from viewer.view.state import Area, SliceRef

SIDE, LEFT, RIGHT = PanelArea
MODEL_TABS = ("operators", "calls", "model", "graph", "delegation")


def tabs(controller):
    """The tabs of each area, in their order."""
    return {area: part.names for area, part in controller.docks.areas.items() if part.names}


def width_of(qtbot, controller, width):
    controller.window.resize(width, 900)
    qtbot.waitUntil(lambda: not controller.docks.needs_relayout)
    settle(qtbot, controller)


@pytest.mark.parametrize("front", ["operators", "events"])
def test_the_timeline_is_as_tall_as_its_rows_whichever_tab_is_in_front(attention, qtbot, front):
    timeline: Timeline = attention.timeline
    attention.docks.show_panel(front)
    settle(qtbot, attention)
    for view in (Inferences.ALIGNED, Inferences.MEAN, Inferences.AS_RUN):
        attention.session.show_inferences(view)
        settle(qtbot, attention)
        most = (timeline.height() + attention.docks.areas[LEFT].height()) * TIMELINE_SHARE
        assert timeline.height() == pytest.approx(min(timeline.content_height, most), abs=30)


def test_widths_that_the_user_chose_stay_when_the_runs_are_aligned(attention, qtbot):
    side = attention.docks.areas[SIDE]
    dock = side.parentWidget()
    attention.window.resizeDocks([dock], [500], Qt.Orientation.Horizontal)
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
    assert attention.panels["events"].isVisible()
    assert attention.panels["links"].isVisible()
    assert not attention.panels["source"].isVisible()
    after = [docks.by_name[name].width() for name in ("events", "links")]
    assert after == pytest.approx(before, abs=4)


def test_panels_become_tabs_as_room_gets_short_and_come_back_in_order(attention, qtbot):
    wide = {SIDE: ("summary", "details"), LEFT: MODEL_TABS, RIGHT: ("source",)}
    assert tabs(attention) == wide
    narrow = {LEFT: (*MODEL_TABS, "summary", "details"), RIGHT: ("source",)}
    for width, expected in (
        (1300, narrow),
        (1000, {LEFT: (*MODEL_TABS, "summary", "details", "source")}),
        (1300, narrow),
        (1600, wide),
    ):
        width_of(qtbot, attention, width)
        assert tabs(attention) == expected
        is_wide = width == 1600
        assert attention.docks.areas[LEFT].front == ("operators" if is_wide else "summary")
    assert shown_docks(attention) == DOCKS


def test_in_a_narrow_window_both_halves_of_the_bottom_have_room(attention, qtbot):
    width_of(qtbot, attention, 1300)
    left, right = (attention.docks.areas[area].width() for area in (LEFT, RIGHT))
    assert right > 0.8 * left


def test_in_a_narrow_window_no_button_of_the_toolbar_is_squeezed(attention, qtbot):
    toolbar = attention.toolbar
    in_full = toolbar.link_state.text()
    attention.window.resize(1000, 700)
    qtbot.waitUntil(lambda: toolbar.width() == 1000)
    settle(qtbot, attention)
    assert toolbar.link_state.text() == "Linked · 100\u202f% of time"
    buttons = toolbar.findChildren(QToolButton, options=Qt.FindChildOption.FindDirectChildrenOnly)
    squeezed = [b.text() for b in buttons if b.isVisible() and b.width() < b.sizeHint().width()]
    assert not squeezed
    attention.window.resize(1600, 900)
    qtbot.waitUntil(lambda: toolbar.width() == 1600)
    assert toolbar.link_state.text() == in_full


def test_a_panel_without_content_has_no_tab_and_the_menu_opens_it(attention, qtbot):
    docks = attention.docks
    assert not docks.is_open("program")
    assert not docks.is_open("sizes")
    menu = QMenu()
    docks.fill(menu)
    action = next(a for a in menu.actions() if a.text() == "Program")
    assert not action.isChecked()
    action.trigger()
    settle(qtbot, attention)
    assert attention.panels["sizes"].isVisible()
    assert action.isChecked()
    assert docks.choices.opened == ("program",)
    action.trigger()
    assert not docks.is_open("program")
    assert docks.choices.opened == ()


def test_a_command_opens_what_was_closed(attention, qtbot):
    docks = attention.docks
    docks.close_panel("graph")
    assert tabs(attention)[LEFT] == ("operators", "calls", "model", "delegation")
    assert docks.choices.closed == ("graph",)
    assert not docks.is_open("graph")
    attention.commands.run("panel.graph")
    assert tabs(attention)[LEFT] == ("operators", "calls", "model", "delegation", "graph")
    assert docks.areas[LEFT].front == "graph"
    assert docks.choices.closed == ()


@pytest.mark.parametrize("width", [1600, 1300, 1000])
def test_a_tab_that_opens_by_itself_comes_last_and_moves_no_other(attention, qtbot, width):
    session, docks = attention.session, attention.docks
    width_of(qtbot, attention, width)
    first = tabs(attention)

    def places():
        return {
            name: (area, tabs.bar.tabRect(at).left())
            for area, tabs in docks.areas.items()
            for at, name in enumerate(tabs.names)
            if tabs.bar.isTabVisible(at)
        }

    for name, opens in (
        ("list", lambda: session.select_area(Area(0, 10**6, frozenset({(0, 0)})))),
        ("memory", lambda: docks.show_panel("memory")),
        ("program", lambda: docks.show_panel("program")),
        ("checks", lambda: docks.show_panel("links")),
    ):
        before = places()
        opens()
        qtbot.waitUntil(lambda name=name: docks.is_open(name))
        after = places()
        area = after[name][0]
        assert docks.areas[area].names[-1] == name
        assert {own: at for own, at in before.items() if after.get(own, at) != at} == {}
    session.close_all()
    open_sample(qtbot, attention, "attention_xnnpack")
    assert tabs(attention) == first, "files start with the order of the panel table"


def test_a_search_and_bookmarks_open_their_panels_and_close_them(attention, qtbot):
    session, docks = attention.session, attention.docks
    Search.of(session).set_query("linear")
    qtbot.waitUntil(lambda: docks.is_open("search"))
    assert docks.areas[RIGHT].front == "source", "a search does not hide what is in front"
    settle(qtbot, attention)
    assert docks.title("search") != "Search"
    Search.of(session).set_query("")
    qtbot.waitUntil(lambda: not docks.is_open("search"))
    assert not docks.is_open("list")
    session.select_slice(SliceRef(0, 20))
    attention.commands.run("mark.keep")
    assert docks.is_open("marks")


def test_the_list_follows_what_was_last_searched_selected_or_bookmarked(attention, qtbot):
    session, docks = attention.session, attention.docks
    panel = docks.panels["list"]
    Search.of(session).set_query("linear")
    qtbot.waitUntil(lambda: docks.is_open("search"))
    session.select_area(Area(0, 10**6, frozenset({(0, 0)})))
    assert panel.mode == "selection"
    session.select_slice(SliceRef(0, 20))
    attention.commands.run("mark.keep")
    assert panel.mode == "marks"
    Search.of(session).set_query("")
    qtbot.waitUntil(lambda: not session.state.query)
    assert panel.mode == "marks", "what it shows stays"
    settle(qtbot, attention)
    docks.show_panel("search")
    attention.panels["search"].setFocus()
    assert panel.mode == "search"


def test_an_area_brings_up_selection_until_it_is_cleared(attention, qtbot):
    session, docks = attention.session, attention.docks
    attention.timeline.view.setFocus()
    t0, t1 = session.state.t0, session.state.t1
    session.select_area(Area(t0, t1, frozenset({(0, 0)})))
    settle(qtbot, attention)
    assert docks.areas[RIGHT].front == "list"
    assert attention.panels["selection"].isVisible()
    session.clear_selection()
    settle(qtbot, attention)
    assert docks.areas[RIGHT].front == "source"
    assert not docks.is_open("selection")


def test_in_a_narrow_window_a_slice_brings_up_details_but_a_row_of_a_table_does_not(
    attention, qtbot
):
    docks = attention.docks
    width_of(qtbot, attention, 1300)
    attention.timeline.view.setFocus()
    attention.session.select_slice(SliceRef(0, 20))
    assert docks.areas[LEFT].front == "details"
    attention.session.clear_selection()
    assert docks.areas[LEFT].front == "summary"
    docks.show_panel("operators")
    attention.panels["operators"].table.setFocus()
    attention.session.select_operators(0, (9,))
    assert docks.areas[LEFT].front == "operators"


def bare_window(qtbot, width=1600):
    """A window with nothing but panels, all of which have content."""
    window = QMainWindow()
    qtbot.addWidget(window)
    window.setCentralWidget(QLabel())
    window.resize(width, 900)
    labels = MadeOnUse(TABLE.panels, lambda name: QLabel())
    docks = Docks(window, labels, MadeOnUse(TABLE.pages, labels.__getitem__), TABLE)
    docks.restore(SavedPanels())
    docks.offer(dict.fromkeys(docks.by_name, Presence.OPEN))
    window.show()
    docks.show_all(True)
    docks.fit_width()
    QCoreApplication.processEvents()
    return window, docks


def test_sizes_and_choices_come_back_in_the_next_window(qtbot):
    window, docks = bare_window(qtbot)
    window.resizeDocks([docks.areas[SIDE].parentWidget()], [480], Qt.Orientation.Horizontal)
    docks.close_panel("graph")
    docks.show_panel("model", by_hand=True)
    QCoreApplication.processEvents()
    saved = docks.choices
    _other, later = bare_window(qtbot)
    later.restore(saved)
    later.share_width()
    QCoreApplication.processEvents()
    assert later.areas[SIDE].width() == 480
    assert not later.is_open("graph")
    assert later.areas[LEFT].front == "model"


@pytest.mark.parametrize("sizes", [(), (0, 0, 0), (1,), (10**9, 1, 1), (-1, 5, 5)])
def test_a_stored_layout_that_does_not_fit_gives_the_default(qtbot, sizes):
    _, docks = bare_window(qtbot)
    docks.share_width()
    QCoreApplication.processEvents()
    before = {area: part.size() for area, part in docks.areas.items()}
    gone = ("gone",)
    docks.restore(SavedPanels(gone, gone, gone, gone, gone, sizes))
    docks.share_width()
    QCoreApplication.processEvents()
    assert {area: part.size() for area, part in docks.areas.items()} == before
    assert (docks.choices.opened, docks.choices.closed, docks.choices.recent) == ((), (), ())


@pytest.mark.parametrize("text", ["", "{", "[]", '{"sizes": "a"}', '{"opened": [1]}', "\ud800"])
def test_a_setting_that_is_no_layout_gives_the_default(text):
    assert stored_layout(text) == DEFAULT


def test_what_the_user_makes_the_default_is_there_in_the_next_window(qtbot, tmp_path):
    store = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    settings = Settings(store)
    for is_own in (False, True, False):
        window = MainWindow(dark_theme(), settings)
        window.show()
        controller = window.controller
        open_sample(qtbot, controller, "attention_xnnpack")
        assert ("program" in controller.docks.choices.opened) is is_own
        if is_own:
            controller.commands.run("layout.reset")
            assert "program" not in controller.docks.choices.opened
        else:
            controller.docks.show_panel("program", by_hand=True)
            if not settings.get(PANEL_LAYOUT):
                controller.commands.run("layout.keep")
        put_away(window)


def opening(controller):
    """What files open with: the tabs of each area, those in front, and the sizes."""
    docks = controller.docks
    return {
        area: (part.names, part.front, part.width(), part.height())
        for area, part in docks.areas.items()
        if part.isVisible()
    }


@pytest.mark.parametrize("width", [1024, 1280, 1600])
def test_no_tab_widens_its_dock(attention, qtbot, width):
    width_of(qtbot, attention, width)
    docks = attention.docks

    def widths():
        return {area: part.width() for area, part in docks.areas.items() if part.isVisible()}

    docks.show_panel("checks")
    docks.show_panel("list")
    settle(qtbot, attention)
    before = widths()
    for name in docks.by_name:
        docks.show_panel(name)
        settle(qtbot, attention)
        assert widths() == before, name


def test_layouts_show_what_they_are_called_after(attention, qtbot):
    docks, run = attention.docks, attention.commands.run
    home = opening(attention)
    run("layout.timeline")
    settle(qtbot, attention)
    assert docks.shown_areas == frozenset()
    run("layout.source")
    settle(qtbot, attention)
    assert docks.shown_areas == {LEFT, RIGHT}
    assert docks.areas[RIGHT].width() > docks.areas[LEFT].width()
    assert docks.areas[RIGHT].front == "source"
    run("layout.compare")
    settle(qtbot, attention)
    assert docks.areas[SIDE].front == "compare"
    run("layout.default")
    settle(qtbot, attention)
    assert opening(attention) == home


def test_a_panel_floats_and_comes_back(attention, qtbot):
    docks = attention.docks
    attention.panels["operators"].table.setFocus()
    attention.commands.run("layout.float")
    window = attention.panels["operators"].window()
    assert window is not attention.window
    assert window.windowTitle() == "Operators"
    assert docks.is_shown("operators")
    assert "operators" not in docks.areas[LEFT].names
    docks.show_panel("operators")
    assert docks.areas[LEFT].front == "calls"
    window.close()
    assert attention.panels["operators"].window() is attention.window
    assert "operators" in docks.areas[LEFT].names
    attention.docks.float_panel("summary")
    attention.session.close_all()
    assert docks.floating == ()


def test_a_profile_without_a_record_has_no_tab_that_needs_one(controller, qtbot):
    open_files(qtbot, controller, ATTENTION)
    assert tabs(controller) == {
        SIDE: ("summary", "details"),
        LEFT: ("operators",),
        RIGHT: ("calls", "checks"),
    }


@pytest.mark.parametrize("width", [1024, 1280, 1920])
def test_the_button_after_the_last_tab_is_in_sight(attention, qtbot, width):
    width_of(qtbot, attention, width)
    for area in attention.docks.areas.values():
        if area.isVisible():
            end = area.more.mapTo(attention.window, QPoint(area.more.width(), 0)).x()
            assert end <= area.mapTo(attention.window, QPoint(area.width(), 0)).x()


def test_to_close_all_and_open_again_leaves_no_widget_behind(attention, qtbot):
    def parts():
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        return sum(len(panel.children()) for panel in attention.docks.by_name.values())

    before = parts()
    for _ in range(3):
        attention.session.close_all()
        settle(qtbot, attention)
        open_sample(qtbot, attention, "attention_xnnpack")
    assert parts() == before


def test_a_panel_comes_into_the_window_when_it_is_first_shown(qtbot, qapp, tmp_path, monkeypatch):
    controller = controller_of(qtbot, tmp_path, monkeypatch)
    open_sample(qtbot, controller, "attention_xnnpack")
    docks, window = controller.docks, controller.window
    bookmarks = docks.by_name["marks"]
    assert window.isAncestorOf(docks.by_name["operators"])
    assert bookmarks.parent() is docks.unshown
    docks.show_panel("marks")
    assert window.isAncestorOf(bookmarks)
    assert bookmarks.isVisible()
    put_away(window)
