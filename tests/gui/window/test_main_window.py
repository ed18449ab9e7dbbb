"""The window before its controller: it is there at once, and what is asked of it is not lost."""

import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QPoint, QSettings, QSize, Qt
from PySide6.QtWidgets import QPushButton

from tests.gui.dark_theme import dark_theme
from tests.gui.events import SAMPLE, answer_file_dialog, drop, has_controller, open_files, put_away
from viewer.gui.qt.background import Latest
from viewer.gui.qt.settings import PANEL_LAYOUT, WINDOW_GEOMETRY, Settings
from viewer.gui.session import navigation
from viewer.gui.window.frame import start_page
from viewer.gui.window.main_window import MainWindow

DEMO, DEMO_RECORD = SAMPLE["delegate_handle_map"].paths()


@pytest.fixture
def bare(qtbot, qapp, tmp_path, monkeypatch):
    """A shown window; its controller is made once it has been painted and events are looked at."""
    monkeypatch.setattr(start_page, "_draw", lambda samples, width: {})
    settings = Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    window = MainWindow(dark_theme(), settings)
    window.resize(1600, 900)
    window.show()
    assert not has_controller(window)
    yield window
    put_away(window)


def furnished(qtbot, window):
    qtbot.waitUntil(lambda: has_controller(window), timeout=20_000)
    return window.controller


def opened(qtbot, controller):
    qtbot.waitUntil(lambda: bool(controller.session.traces), timeout=20_000)
    return controller.session.workspace.paths


@pytest.mark.slow
def test_the_first_window_waits_for_qt_alone():
    """numpy takes 70 ms, pyqtgraph 200 ms and the controller 250 ms more to be imported."""
    code = (
        "import sys, viewer.cli, viewer.gui.app.application, viewer.gui.window.main_window\n"
        "print(*sys.modules)"
    )
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    ).stdout.split()
    assert "viewer.gui.window.frame.start_page" in modules
    assert not {
        "numpy",
        "pandas",
        "pyqtgraph",
        "viewer.gui.window.controller",
        "viewer.gui.session.session",
    } & set(modules)


def test_the_desk_comes_by_itself_and_moves_nothing(bare, qtbot):
    qtbot.waitExposed(bare)
    first = bare.pages.mapTo(bare, QPoint()), bare.pages.size(), list(bare.menus)
    controller = furnished(qtbot, bare)
    qtbot.waitUntil(controller.toolbar.isVisible)
    assert (bare.pages.mapTo(bare, QPoint()), bare.pages.size(), list(bare.menus)) == first
    assert bare.pages.currentWidget() is bare.start_page
    assert all(menu.actions() for menu in bare.menus.values())
    assert not controller.docks.shown_areas


def test_panels_lie_alike_whether_the_window_or_the_desk_came_first(bare, controller, qtbot):
    late = furnished(qtbot, bare)
    places = []
    for one in (late, controller):
        open_files(qtbot, one, DEMO, DEMO_RECORD)
        docks = one.docks.by_name
        places.append({name: dock.geometry() for name, dock in docks.items() if dock.isVisible()})
    assert places[0] == places[1]
    assert places[0].keys() == {"summary", "operators", "source"}


def test_files_that_are_asked_for_first_are_opened_then(bare, qtbot):
    bare.open([DEMO])
    assert bare.pages.currentWidget() is bare.reading
    bare.open_one(DEMO_RECORD)
    bare.open([])
    controller = furnished(qtbot, bare)
    assert opened(qtbot, controller) == [DEMO, DEMO_RECORD]
    assert bare.pages.currentWidget() is controller.timeline


def test_files_that_are_dropped_first_are_opened(bare, qtbot):
    assert drop(SimpleNamespace(window=bare), [DEMO])
    assert opened(qtbot, bare.controller) == [DEMO]


def test_the_first_button_asks_for_files_at_once(bare, qtbot, monkeypatch):
    answer_file_dialog(monkeypatch, DEMO)
    button = next(b for b in bare.start_page.findChildren(QPushButton) if b.property("primary"))
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert opened(qtbot, bare.controller) == [DEMO]


def test_its_parts_are_made_one_a_turn_and_are_those_of_the_desk(bare):
    parts = bare.panels
    turns = 0
    while parts.prepare():
        turns += 1
    assert turns == 1  # the timeline; panels come when they are shown
    assert not parts.pages.existing
    timeline, operators = parts.timeline, parts["operators"]
    assert (bare.controller.timeline, bare.controller.panels["operators"]) == (timeline, operators)


def test_closing_between_two_parts_makes_no_desk(bare, qtbot):
    bare._prepare()
    assert bare._next_panel.isActive()
    bare.close()
    assert not bare._next_panel.isActive()
    qtbot.wait(0)
    assert not has_controller(bare)


def test_a_desk_that_is_asked_for_is_there(bare):
    assert bare.controller is bare.controller
    assert bare.controller.window is bare


def test_closing_at_once_keeps_the_default_layout(bare):
    bare.settings.set(PANEL_LAYOUT, '{"closed": ["graph"]}')
    bare.open([DEMO])
    bare.close()
    assert not has_controller(bare)
    assert not bare.settings.get(WINDOW_GEOMETRY).isEmpty()
    assert bare.settings.get(PANEL_LAYOUT) == '{"closed": ["graph"]}'


def test_closing_while_the_desk_is_imported_makes_none(bare, qtbot):
    qtbot.waitUntil(lambda: bare._importer.pending or has_controller(bare), timeout=20_000)
    made = has_controller(bare)
    bare.close()
    qtbot.wait(0)
    assert has_controller(bare) is made


def test_it_is_no_larger_than_the_screen(bare):
    room = bare.screen().availableGeometry().size()
    assert MainWindow(bare.theme, bare.settings).size() == QSize(1600, 900).boundedTo(room)


def test_settling_leaves_the_processor_to_what_it_waits_for(controller, monkeypatch):
    gate = threading.Event()
    latest = controller.window.findChildren(Latest)[0]
    latest.submit(gate.wait)
    asked = []
    pending = Latest.pending.fget
    monkeypatch.setattr(Latest, "pending", property(lambda x: asked.append(1) or pending(x)))
    controller.window.settle(0.2)
    monkeypatch.undo()
    gate.set()
    latest.cancel()
    assert len(asked) < 1000


def test_settling_ends_when_all_is_answered(attention, qtbot):
    began = time.monotonic()
    attention.window.settle()
    assert time.monotonic() - began < 2
    assert attention.window.picture_png().startswith(b"\x89PNG")


def test_pictures_wait_for_the_end_of_a_motion(attention):
    motion = attention.timeline.scene.animation
    motion.enabled = True
    navigation.fit_all(attention.session)
    assert motion.is_moving
    attention.window.settle()
    assert not motion.is_moving
