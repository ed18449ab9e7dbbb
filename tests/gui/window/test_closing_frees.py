"""What is closed goes out of memory: by Close all, by reading again, and with a window."""

import gc
import weakref

import pytest
from PySide6.QtCore import QCoreApplication, Qt

from tests.gui.app.test_windows import delete_closed, take
from tests.gui.app.test_windows import windows as windows
from tests.gui.events import (
    SAMPLE,
    canvas,
    controller_of,
    move,
    open_files,
    open_sample,
    place_of,
    put_away,
    settle,
)
from viewer.gui.session import navigation
from viewer.gui.session.choices import set_scheme
from viewer.gui.session.feeds.search import Search
from viewer.gui.window import controller as window_controller
from viewer.model.inference_views import Inferences
from viewer.view.state import Area, SliceRef

pytestmark = pytest.mark.slow

CTRL = Qt.KeyboardModifier.ControlModifier


def held_by(controller):
    """Weak references to what is large: columns, links, programs and the workspace itself."""
    space = controller.session.workspace
    held = {"workspace": weakref.ref(space)}
    for number, trace in enumerate(space.traces):
        for name in ("start", "end", "name", "key"):
            held[f"{number} {name}"] = weakref.ref(getattr(trace.slices, name))
        held[f"{number} links"] = weakref.ref(controller.session.traces[number].table)
    for number, program in enumerate(space.programs):
        held[f"program {number}"] = weakref.ref(program)
    return held


def alive(held):
    delete_closed()  # cards that a panel has put away
    gc.collect()
    return [name for name, one in held.items() if one() is not None]


def use_all(qtbot, controller):
    """Bring every panel to the front with something to show, as hours of work would."""
    session = controller.session
    for name in controller.docks.by_name:
        controller.docks.show_panel(name)
        settle(qtbot, controller)
    Search.of(session).set_query("o")
    settle(qtbot, controller)
    session.select_area(Area(0, session.group.span_ns, frozenset({(0, 0)})))
    settle(qtbot, controller)
    for inferences in (Inferences.MEAN, Inferences.AS_RUN):
        session.show_inferences(inferences)
    session.select_slice(SliceRef(0, 5), reveal=True)
    settle(qtbot, controller)
    if session.traces[0].table.program is not None:
        session.select_operators(0, (1,))
    set_scheme(session, "name")
    navigation.fit_all(session)
    settle(qtbot, controller)
    move(canvas(controller), place_of(controller, 5))
    assert controller.timeline.view.tip.isVisible()


@pytest.mark.parametrize(
    "sample",
    [
        "attention_xnnpack",
        pytest.param("delegate_handle_map", marks=pytest.mark.nightly),
        pytest.param("torq_npu", marks=pytest.mark.nightly),
    ],
)
def test_close_all_frees_what_was_open(controller, qtbot, sample):
    open_sample(qtbot, controller, sample)
    use_all(qtbot, controller)
    held = held_by(controller)
    assert len(alive(held)) == len(held)
    qtbot.keyClick(controller.window, Qt.Key.Key_W, CTRL)
    settle(qtbot, controller)
    assert alive(held) == []


def test_an_area_that_many_panels_counted_is_freed_too(controller, qtbot, monkeypatch):
    """Of a large trace it is counted off the GUI thread, and kept."""
    for module in (
        "panels.details.panel",
        "panels.events",
        "panels.search",
        "session.feeds.selection",
    ):
        monkeypatch.setattr(f"viewer.gui.{module}.AT_ONCE", -1)
    open_sample(qtbot, controller, "attention_xnnpack")
    use_all(qtbot, controller)
    controller.docks.show_panel("details")
    controller.session.select_area(Area(0, controller.session.group.span_ns, frozenset({(0, 0)})))
    settle(qtbot, controller)
    held = held_by(controller)
    qtbot.keyClick(controller.window, Qt.Key.Key_W, CTRL)
    settle(qtbot, controller)
    assert alive(held) == []


def test_reading_twice_again_frees_what_was_read_first(controller, qtbot):
    """Undo holds the last version alone."""
    open_sample(qtbot, controller, "attention_xnnpack")
    use_all(qtbot, controller)
    held = held_by(controller)
    for _ in range(2):
        with qtbot.waitSignal(controller.session.files_added, timeout=20_000):
            qtbot.keyClick(controller.window, Qt.Key.Key_F5)
        settle(qtbot, controller)
    assert alive(held) == []


def test_a_closed_window_frees_what_it_had_open(windows, qtbot):
    (first,) = windows.all
    open_files(qtbot, first.controller, SAMPLE["plain_csv"].paths()[0])
    second = take(qtbot, windows, *SAMPLE["attention_xnnpack"].paths())
    use_all(qtbot, second.controller)
    held = held_by(second.controller) | {"session": weakref.ref(second.controller.session)}
    second.close()
    del second
    assert alive(held) == []


def test_a_window_that_is_gone_runs_nothing_more(qtbot, tmp_path, monkeypatch):
    """Not even the return of its freed memory, which waits for a second."""
    ran = []
    monkeypatch.setattr(window_controller, "FREED_AFTER_MS", 0)
    monkeypatch.setattr(window_controller, "release_freed", lambda: ran.append("freed"))
    made = controller_of(qtbot, tmp_path, monkeypatch)
    qtbot.waitUntil(lambda: ran == ["freed"])
    made.refresh()
    put_away(made.window)
    QCoreApplication.processEvents()
    assert ran == ["freed"]
