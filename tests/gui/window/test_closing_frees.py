"""What is closed goes out of memory: by Close all, by reading again, and with a window."""

import gc
import weakref

import pytest
from PySide6.QtCore import Qt

from tests.gui.app.test_windows import delete_closed, take
from tests.gui.app.test_windows import windows as windows
from tests.gui.events import SAMPLE, canvas, move, open_files, open_sample, place_of, settle
from viewer.gui.session import navigation
from viewer.gui.session.coloring import set_scheme
from viewer.gui.session.search import Search
from viewer.model.inference_views import Inferences
from viewer.view.state import Area, SliceRef

CTRL = Qt.KeyboardModifier.ControlModifier


def held_by(desk):
    """Weak references to what is large: columns, links, programs and the workspace itself."""
    space = desk.session.workspace
    held = {"workspace": weakref.ref(space)}
    for number, trace in enumerate(space.traces):
        for name in ("start", "end", "name", "key"):
            held[f"{number} {name}"] = weakref.ref(getattr(trace.slices, name))
        held[f"{number} links"] = weakref.ref(desk.session.traces[number].table)
    for number, program in enumerate(space.programs):
        held[f"program {number}"] = weakref.ref(program)
    return held


def alive(held):
    delete_closed()  # cards that a panel has put away
    gc.collect()
    return [name for name, one in held.items() if one() is not None]


def use_all(qtbot, desk):
    """Bring every panel to the front with something to show, as hours of work would."""
    session = desk.session
    for name in desk.docks.by_name:
        desk.docks.show_panel(name)
        settle(qtbot, desk)
    Search.of(session).set_query("o")
    settle(qtbot, desk)
    session.select_area(Area(0, session.span_ns(), frozenset({(0, 0)})))
    settle(qtbot, desk)
    for inferences in (Inferences.MEAN, Inferences.AS_RUN):
        session.show_inferences(inferences)
    session.select_slice(SliceRef(0, 5), reveal=True)
    settle(qtbot, desk)
    if session.traces[0].table.program is not None:
        session.select_operators(0, (1,))
    set_scheme(session, "name")
    navigation.fit_all(session)
    settle(qtbot, desk)
    move(canvas(desk), place_of(desk, 5))
    assert desk.timeline.view.tip.isVisible()


@pytest.mark.parametrize("sample", ["attention_xnnpack", "delegate_handle_map", "torq_npu"])
def test_close_all_frees_what_was_open(desk, qtbot, sample):
    open_sample(qtbot, desk, sample)
    use_all(qtbot, desk)
    held = held_by(desk)
    assert len(alive(held)) == len(held)
    qtbot.keyClick(desk.window, Qt.Key.Key_W, CTRL)
    settle(qtbot, desk)
    assert alive(held) == []


def test_an_area_that_many_panels_counted_is_freed_too(desk, qtbot, monkeypatch):
    """Of a large trace it is counted off the GUI thread, and kept."""
    for module in (
        "panels.details.panel",
        "panels.events.panel",
        "panels.search.panel",
        "session.selection_statistics",
    ):
        monkeypatch.setattr(f"viewer.gui.{module}.AT_ONCE", -1)
    open_sample(qtbot, desk, "attention_xnnpack")
    use_all(qtbot, desk)
    desk.docks.show_panel("details")
    desk.session.select_area(Area(0, desk.session.span_ns(), frozenset({(0, 0)})))
    settle(qtbot, desk)
    held = held_by(desk)
    qtbot.keyClick(desk.window, Qt.Key.Key_W, CTRL)
    settle(qtbot, desk)
    assert alive(held) == []


def test_reading_again_frees_what_was_read_before(desk, qtbot):
    open_sample(qtbot, desk, "attention_xnnpack")
    use_all(qtbot, desk)
    held = held_by(desk)
    with qtbot.waitSignal(desk.session.files_added, timeout=20_000):
        qtbot.keyClick(desk.window, Qt.Key.Key_F5)
    settle(qtbot, desk)
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
